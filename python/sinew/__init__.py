"""Animated meshes to skinned rigs, and skinned rigs cheap to play.

>>> import sinew
>>> rig = sinew.solve(frames, faces, bones=30)      # frames F×V×3, faces T×3 or a list of polygons
>>> rig.weights, rig.bones, rig.transforms          # V×K, V×K, F×B×3×4
>>> rig.save("rig.glb")

Everything is in docs/python.md. Positions keep the unit of the input; right-handed, +Y up, as in glTF.
"""

from sinew._core import Rig, Sequence, concatenate, creature, has_viewer, read_levels, read_rig
from sinew._core import version as __version__
from sinew._files import read, view
from sinew._refine import compress, correct, evaluate, reduce
from sinew._rework import bounds, edit, lod, pack, surface_distance, transfer
from sinew._sliders import solve_blendshapes
from sinew._solve import estimate, solve
from sinew._types import Error, Report

__all__ = [
    "Error",
    "Report",
    "Rig",
    "Sequence",
    "__version__",
    "bounds",
    "compress",
    "concatenate",
    "correct",
    "creature",
    "edit",
    "estimate",
    "evaluate",
    "has_viewer",
    "lod",
    "pack",
    "read",
    "read_levels",
    "read_rig",
    "reduce",
    "solve",
    "solve_blendshapes",
    "surface_distance",
    "transfer",
    "view",
]
