"""Bones that follow sliders."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Literal, Optional, Union

from sinew import _core
from sinew._core import Rig, Sequence
from sinew._progress import Progress, callback_of
from sinew._types import check_word

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


def solve_blendshapes(
    shapes: Union[str, os.PathLike[str], Sequence, ArrayLike],
    rest: Optional[ArrayLike] = None,
    faces: Union[ArrayLike, Iterable[Iterable[int]], None] = None,
    names: Optional[Iterable[str]] = None,
    values: Optional[ArrayLike] = None,
    *,
    fps: float = 30.0,
    bones: int = 40,
    influences: int = 8,
    transforms: Literal["rigid", "affine"] = "affine",
    sparsity: float = 0.9,
    quality: Literal["fast", "balanced", "best"] = "balanced",
    seed: int = 1,
    threads: int = 0,
    progress: Progress = None,
) -> Rig:
    """Bones that follow the sliders of a face by a sparse linear map: `sinew solve --blendshapes`.

    shapes      a .glb or .gltf with morph targets; a Sequence, of which every frame is a shape; or S×V×3 displacements.
    rest, faces, names, values   of such displacements: V×3 positions, faces as for solve(), S names (shape_0, ...), and
                F×S values of the sliders in the frames at `fps` per second; None: the sliders take turns.
    bones       how many, 1 to 1024 (40); influences per vertex, 1 to 8 (8); transforms 'rigid' or 'affine'.
    sparsity    share of all pairs of a bone and a slider that is left out, at least 0 and below 1 (0.9).
    quality, seed, threads, progress   as for solve().

    Returns a Rig with the motion of the frames. rig.sliders is the map, rig.pose_sliders(values) poses it anywhere, and
    rig.save('face.glb') keeps it in the file. The report has the errors of the frames and, in `map`, those of single
    shapes and of random expressions. docs/algorithms/blendshapes.md. Raises TypeError and sinew.Error as solve() does.
    """
    check_word("transforms", transforms, ("rigid", "affine"))
    check_word("quality", quality, ("fast", "balanced", "best"))
    called = names if names is None or isinstance(names, str) else list(names)
    with callback_of(progress) as callback:
        return _core.solve_blendshapes(
            shapes, rest, faces, called, values, fps, bones, influences, transforms, sparsity, quality, seed, threads,
            callback,
        )  # fmt: skip
