"""Rigs for other uses: levels of detail, other meshes, edited rest poses, bounds, small files for engines."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Literal, Optional, Union

from sinew import _core
from sinew._core import Rig, Sequence
from sinew._progress import Progress, callback_of
from sinew._refine import reduce
from sinew._types import Error, Report

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

Faces = Union["ArrayLike", Iterable[Iterable[int]], None]


def lod(
    rig: Rig,
    triangles: Optional[int] = None,
    error: Optional[float] = None,
    ratio: Optional[float] = None,
    levels: int = 1,
    quadric_frames: int = 24,
    attributes: float = 1.0,
    threads: int = 0,
    progress: Progress = None,
) -> list[Rig]:
    """Levels of detail that move as the rig does, the finest first: what `sinew lod` makes.

    One of three says how far the first level goes: `triangles`, at least 1; `error`, as few as keep every part of the
    surface within this % of the diagonal, > 0; `ratio` of the triangles there are, 0 to 1 (0.5). Each of the `levels`,
    1 to 16, has half the triangles (or twice the error) of the one before.
    quadric_frames: how many frames are looked at, 0 to 1000 (24); 0: the rest pose alone. attributes: how much textures,
    colours and given normals count, at least 0 (1).
    rig.save('lods.glb', levels=sinew.lod(rig, levels=3)) writes them into one file; sinew.surface_distance(rig, level)
    says how far a level is from the rig. docs/algorithms/rework.md
    """
    given = [name for name, value in (("triangles", triangles), ("error", error), ("ratio", ratio)) if value is not None]
    if len(given) > 1:
        raise Error(f"{' and '.join(given)} exclude each other", "usage")
    if triangles is not None and not 1 <= triangles <= 10**9:
        raise Error(f"triangles: {triangles} was given, 1 to 1000000000 is expected", "usage")
    if error is not None and not error > 0:
        raise Error(f"error: {error} was given, a number above 0 is expected", "usage")
    with callback_of(progress) as callback:
        return _core.lod(
            rig, triangles or 0, error or 0.0, 0.5 if ratio is None else ratio, levels, quadric_frames, attributes,
            threads, callback,
        )  # fmt: skip


def transfer(
    rig: Rig,
    mesh: Union[ArrayLike, Sequence, Rig],
    faces: Faces = None,
    distance: float = 0.05,
    degrees: float = 30.0,
    influences: Optional[int] = None,
    threads: int = 0,
    progress: Progress = None,
) -> Rig:
    """The rig's weights, bones and motion on another mesh of the character: what `sinew transfer` makes.

    mesh, faces   V×3 positions where the rig's rest pose is, and T×k faces or a list of polygons; or the rest pose of a
                  Sequence or of a Rig.
    distance, degrees   a vertex takes weights from the rig's surface within this share of its diagonal, > 0 (0.05), and
                  whose normal differs by at most this, 0 to 180 (30); the others are filled in smoothly.
    influences    bones per vertex; None: as many as the rig has.
    The report counts what was matched, filled and not reached. docs/algorithms/rework.md
    """
    if influences is not None and not 1 <= influences <= 65536:
        raise Error(f"influences: {influences} was given, 1 to 65536 is expected", "usage")
    with callback_of(progress) as callback:
        return _core.transfer(rig, mesh, faces, distance, degrees, influences or 0, threads, callback)


def edit(
    rig: Rig,
    rest: Union[ArrayLike, Sequence, Rig, None] = None,
    faces: Faces = None,
    displacements: Optional[ArrayLike] = None,
    joints: float = 1.0,
    reach: float = 0.05,
    corrections: Literal["keep", "drop", "rescale"] = "keep",
    threads: int = 0,
    progress: Progress = None,
) -> Rig:
    """The rig with an edited rest pose, which its animation carries along: what `sinew edit` makes.

    rest          V×3 positions of the rig's own vertices; or, with `faces`, another mesh in their place; or the rest
                  pose of a Sequence or of a Rig.
    displacements instead: V×3 to add to the rest pose.
    joints        how much of the move around them joints make, 0 to 1 (1).
    reach         what is around a joint, as a share of the diagonal, > 0 (0.05).
    corrections   'keep', 'drop', or 'rescale' them with the surface.
    """
    with callback_of(progress) as callback:
        return _core.edit(rig, rest, faces, displacements, joints, reach, corrections, threads, callback)


def bounds(rig: Rig, threads: int = 0) -> dict[str, Any]:
    """Where a rig is: boxes as 2×3 arrays of the lowest and the highest corner.

    `rest` is that of the rest pose, `clips` those of every clip by its name ('' where there is but one without a name),
    at its keys and half-way between them. rig.save('rig.glb', bounds=True) writes them, with a tree for collisions.
    """
    return _core.bounds(rig, threads)


def surface_distance(rig: Rig, other: Rig, threads: int = 0, progress: Progress = None) -> Report:
    """How far two surfaces with the same frames are from each other, % of the rest diagonal of the first.

    mean_percent and max_percent over both directions; forward_... from the first to the second, backward_... the other
    way; worst_frame. From points spread evenly over one surface to the nearest of the other, over all frames.
    """
    with callback_of(progress) as callback:
        return _core.surface_distance(rig, other, threads, callback)


def pack(
    rig: Rig,
    path: Union[str, os.PathLike[str]],
    examples: Optional[Sequence] = None,
    quality: Literal["low", "medium", "high"] = "medium",
    max_error: Optional[float] = None,
    target: Optional[Literal["babylon", "filament", "godot", "three", "unity", "unreal"]] = None,
    lossless: bool = False,
    strip_textures: bool = False,
    khr: bool = False,
    only_two_layer: bool = False,
    safe_names: bool = False,
    threads: int = 0,
    progress: Progress = None,
) -> Report:
    """Writes the smallest GLB of a rig for engines: what `sinew pack` writes (docs/shipping.md).

    path            the file, .glb.
    examples        the sequence that the rig was made from: errors are held against it; None: against what it poses.
    quality         'low', 'medium' or 'high': 1.1, 1.02 or 1.005 of the rig's E_RMS; without examples 0.05, 0.01 or
                    0.002 % of the diagonal.
    max_error       instead: the E_RMS that the file may have, > 0.
    target          the engine whose limits to keep: bones per vertex and per mesh, names.
    lossless        reorder and compress only, every number as it is.
    strip_textures  leave out images and what refers to them.
    khr             name the compression KHR_meshopt_compression instead of EXT_.
    only_two_layer  rest mesh, looks and two-layer model alone, for sinew's own players.
    safe_names      names of letters, digits, _ and - only.
    Returns a Report of bytes, parts (what each costs and shows), allowed, and errors of the file, read back.
    """
    if max_error is not None and not max_error > 0:
        raise Error(f"max_error: {max_error} was given, a number above 0 is expected", "usage")
    bones_per_mesh = 65536
    if target is not None:
        limits = _core.engines().get(target)
        if limits is None:
            raise Error(f"target: {target!r} was given, one of {', '.join(_core.engines())} is expected", "usage")
        rig = _within(rig, examples, target, limits, threads, progress)
        safe_names = safe_names or limits["safe_names"]
        bones_per_mesh = limits["bones"]
        if not limits["meshopt"]:  # it reads no compressed files
            if not os.fspath(path).lower().endswith(".glb"):
                raise Error(f"{os.fspath(path)}: packed rigs are .glb files", "usage")
            rig.save(path, safe_names=safe_names)
            return Report(bytes={"after": os.stat(path).st_size})
    with callback_of(progress) as callback:
        return _core.pack(
            rig, os.fspath(path), examples, quality, max_error or 0.0, lossless, strip_textures, khr, only_two_layer,
            safe_names, bones_per_mesh, threads, callback,
        )  # fmt: skip


def _within(
    rig: Rig, examples: Optional[Sequence], target: str, limits: dict[str, Any], threads: int, progress: Progress
) -> Rig:
    """The rig as the engine takes it."""
    if not rig.rigid and not limits["shear"]:
        raise Error(f"{target}: bones that stretch unevenly do not survive its import; solve with rigid bones", "unusable")
    most, influences = limits["bones"], limits["influences"]
    if not limits["meshopt"] and len(rig.names) > most:
        raise Error(f"{target}: a mesh may have {most} bones, the rig has {len(rig.names)}", "unusable")
    if int((rig.weights > 0).sum(axis=1).max(initial=0)) <= influences:
        return rig
    return reduce(rig, influences, examples=examples, threads=threads, progress=progress)
