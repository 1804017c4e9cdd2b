"""Sinew Rig: an animated mesh becomes an armature with weights and motion (docs/blender.md)."""

bl_info = {  # for Blender before 4.2; later ones read blender_manifest.toml
    "name": "Sinew Rig",
    "author": "The sinew authors",
    "version": (0, 1, 0),
    "blender": (3, 4, 0),
    "location": "3D Viewport > Sidebar > Sinew",
    "description": "Turn animated meshes into armatures with weights and motion",
    "category": "Rigging",
}

from . import operators, panel, settings  # noqa: E402

_PARTS = (settings, operators, panel)


def register():
    for part in _PARTS:
        part.register()


def unregister():
    for part in reversed(_PARTS):
        part.unregister()
