# blender --background --factory-startup --python check_skeleton.py -- RIG.glb...
# Every rig opens as one armature whose pose bones only rotate: over the whole clip each keeps its length and its
# distance from its parent's head within 1e-4 of the armature's size. At least one joint must bend, or nothing is shown.
import sys

import numpy

numpy.bool = bool  # the importer of Blender 3.4 is older than NumPy 1.24

import bpy  # noqa: E402

TOLERANCE = 1e-4


def lengths(armature):
    """Of every pose bone: its own length, and how far its head is from its parent's."""
    out = []
    for bone in armature.pose.bones:
        out.append((bone.tail - bone.head).length)
        out.append((bone.head - bone.parent.head).length if bone.parent else 0.0)
    return numpy.array(out)


def bend(armature):
    """Largest rotation of a pose bone against its rest, in radians."""
    return max(2 * numpy.arccos(min(1.0, abs(bone.matrix_basis.to_quaternion().w))) for bone in armature.pose.bones)


def check(path):
    bpy.ops.wm.read_factory_settings(use_empty=True)
    bpy.ops.import_scene.gltf(filepath=path)
    armatures = [o for o in bpy.data.objects if o.type == "ARMATURE"]
    assert len(armatures) == 1, f"{path}: {len(armatures)} armatures"
    armature = armatures[0]
    roots = [b.name for b in armature.data.bones if b.parent is None]
    assert len(roots) == 1, f"{path}: roots {roots}"
    heads = numpy.array([b.head_local for b in armature.data.bones])
    size = numpy.linalg.norm(heads.max(axis=0) - heads.min(axis=0))
    rest = numpy.array([x for b in armature.data.bones
                        for x in (b.length, (b.head_local - b.parent.head_local).length if b.parent else 0.0)])
    frames, worst, bent = 0, 0.0, 0.0
    for action in bpy.data.actions:
        if not any(curve.data_path.startswith("pose.bones") for curve in action.fcurves):
            continue
        armature.animation_data.action = action
        for frame in range(int(action.frame_range[0]), int(action.frame_range[1]) + 1):
            bpy.context.scene.frame_set(frame)
            worst = max(worst, numpy.abs(lengths(armature) - rest).max() / size)
            bent = max(bent, bend(armature))
            frames += 1
    print(f"{path}: {len(heads)} bones, {frames} frames, lengths within {worst:.2e}, "
          f"bends {numpy.degrees(bent):.0f} degrees", flush=True)
    assert worst <= TOLERANCE, f"{path}: a bone changes its length by {worst:.2e} of the armature's size"
    assert bent > 0.05, f"{path}: nothing bends"


for rig in sys.argv[sys.argv.index("--") + 1:]:
    check(rig)
