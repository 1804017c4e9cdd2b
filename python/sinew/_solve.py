"""Every solver behind one call."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Literal, Optional, Union

from sinew import _core
from sinew._core import Rig, Sequence
from sinew._progress import Progress, callback_of
from sinew._types import bytes_of

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

Method = Literal["ssdr", "kavan", "sma", "flats", "skeleton", "clusters"]
Quality = Literal["fast", "balanced", "best"]


def solve(
    frames: Union[ArrayLike, Sequence],
    faces: Union[ArrayLike, Iterable[Iterable[int]], None] = None,
    rest: Optional[ArrayLike] = None,
    bones: Optional[int] = None,
    method: Method = "ssdr",
    influences: Union[int, Literal["all"], None] = None,
    transforms: Optional[Literal["rigid", "affine"]] = None,
    quality: Quality = "balanced",
    progress: Progress = None,
    seed: int = 1,
    threads: int = 0,
    *,
    max_error: Optional[float] = None,
    min_bones: Optional[int] = None,
    max_bones: Optional[int] = None,
    smoothness: Optional[float] = None,
    iterations: Optional[int] = None,
    start: Optional[Literal["parts", "flats"]] = None,
    skeleton: bool = False,
    time: Optional[float] = None,
    work: Optional[float] = None,
    surface: Optional[float] = None,
    device: Optional[str] = None,
    corrections: int = 0,
    rig: Optional[Rig] = None,
    fit: Optional[Literal["weights", "motion", "all", "joints"]] = None,
    lock: Union[str, int, Iterable[Union[str, int]], None] = None,
    add_bones: Optional[int] = None,
    lock_vertices: Union[str, ArrayLike, None] = None,
    laplacian: Optional[Literal["rigidness", "graph"]] = None,
    rest_pose: Optional[bool] = None,
    epsilon: Optional[float] = None,
    weights: Optional[str] = None,
    flat_solver: Optional[Literal["gauss-newton", "alternating"]] = None,
    outliers: Optional[float] = None,
    quantile: Optional[float] = None,
    starts: Optional[int] = None,
    optimize_rest: Optional[bool] = None,
    clusters: Optional[int] = None,
    detail: Optional[Literal["low", "medium", "high"]] = None,
    free_joints: Optional[bool] = None,
    keep_all_bones: Optional[bool] = None,
    symmetric: Optional[bool] = None,
    drive_helpers: Optional[bool] = None,
    root: Optional[str] = None,
    checkpoint: Union[str, os.PathLike[str], None] = None,
    checkpoint_seconds: float = 60.0,
    memory_limit: Union[int, str, None] = None,
    times: Optional[ArrayLike] = None,
    fps: float = 30.0,
) -> Rig:
    """Finds bones, weights and motion for an animated mesh: `sinew solve` with the same options by the same names.

    The input
      frames        F×V×3 positions in any unit, or a Sequence (then leave faces, rest, times and fps out). Contiguous
                    float32 is read where it is: do not change it meanwhile. Everything else is converted.
      faces         T×k vertex numbers from 0, or a list of polygons of any sizes; None: points.
      rest          V×3 rest pose; None: the first frame.
      times, fps    F seconds, strictly increasing; None: fps frames per second (30).

    Every method
      bones         how many to ask for, 1 to 100000 (20; sma: found by epsilon; skeleton: as many as help).
      method        'ssdr' rigid or affine bones with sparse weights; 'kavan' affine bones and a rest pose of its own;
                    'sma' near-rigid parts by mean shift; 'flats' affine bones with dense weights, lowest error;
                    'skeleton' a joint hierarchy whose bones only rotate; 'clusters' one bone per vertex.
      quality       'fast', 'balanced' or 'best': how long to search.
      corrections   rank of corrections added to the rest pose, 0 to 1000 (0).
      progress      None, True (a bar), or a function of (step, fraction), fraction 0 to 1 or negative where unknown;
                    returning False stops the solve, which then gives its best model so far
                    (report['termination'] == 'cancelled') or, where it has none, raises Error of kind 'interrupted'.
      seed          of everything random, 0 to 2**64 - 1 (1).
      threads       0: all cores. The result does not depend on it.
      checkpoint    a file that keeps the state every checkpoint_seconds (60); the same call goes on from it.
      memory_limit  bytes, or text such as '4G': what would take more is refused at once. Frames that memory has no room
                    for stay in a file when they are read so: read(..., memory_limit=...), or numpy.memmap.

    Some methods
      influences    bones per vertex, or 'all' (4; flats: all). ssdr, kavan 1 to 8 or all; skeleton 1 to 8; sma, flats.
      transforms    'rigid' or 'affine' (ssdr: rigid; sma: affine).
      max_error     instead of bones: as few as reach this E_RMS, > 0. ssdr, flats, skeleton.
      min_bones, max_bones   bounds of that search (1, 128); for skeleton, max_bones is what bones is. ssdr, skeleton.
      smoothness    of the weights over the surface, at least 0 (0; skeleton: 1e-6). ssdr, skeleton.
      iterations    at most this many, at least 0. All methods.
      start         'parts' that move rigidly or 'flats' ('parts'). ssdr, kavan.
      time          seconds to look for a better answer, > 0, instead of a quality; work: the same in units of work, as
                    the report's remark tells them, for the same bits again. ssdr, kavan.
      device        'auto', 'cpu', 'cuda' or 'cuda:N', the GPU of that number ('auto'). ssdr, kavan.
      surface       how much normals count beside distances, 0 to 1000 (0). ssdr.
      skeleton      True is method='skeleton', and goes with no other.
      rig           a Rig of the same mesh to fit, and what of it: fit='weights', 'motion' or 'all' (ssdr), 'weights'
                    (sma), 'joints' (skeleton); the motion of a rig with joints is
                    that of its joints unless transforms is given. lock: bones that keep their motion, by name or
                    number (ssdr).
    Only ssdr: add_bones helper bones for rig, 0 to 1024 (0); lock_vertices, vertices that keep their weights: the name
      of a bone or colour set, or a mask of V; laplacian 'rigidness' or 'graph' ('rigidness'); rest_pose, move it as
      well (False).
    Only sma: epsilon, rotation tolerance, 1e-6 to 2 (0.05); weights 'nnls', 'tsvd' or 'bounded:D' ('nnls').
    Only flats: flat_solver 'gauss-newton' or 'alternating'; outliers, fraction of vertices beyond a facet, 0 to 0.5
      (chosen); quantile of the one-ring maps, 0.001 to 1 (0.5); starts, 1 to 1000000 (1; best: 400); optimize_rest.
    Only skeleton: detail 'low', 'medium' or 'high' ('medium'), how many bones where their number is open; clusters to
      start from, 1 to 1000 (64); keep_all_bones; free_joints, which may leave the body; symmetric, mirrored joints
      (None: where they nearly are; False: never); root, its name; add_bones as for ssdr without rig; drive_helpers by
      the joints (False).

    Returns a Rig whose report tells iterations, seconds, errors and termination. The lock of the interpreter is free
    meanwhile. Ctrl-C raises KeyboardInterrupt. Raises TypeError for values of the wrong type and sinew.Error: 'usage'
    for options out of range or not of this method, 'input' for arrays that cannot be accepted, 'unusable'.
    """
    options = _options(locals())
    sequence = _sequence(frames, faces, rest, times, fps)
    path = "" if checkpoint is None else os.fspath(checkpoint)
    with callback_of(progress) as callback:
        return _core.solve(sequence, options, callback, path, float(checkpoint_seconds), bytes_of("memory_limit", memory_limit))


def estimate(
    frames: Union[ArrayLike, Sequence],
    faces: Union[ArrayLike, Iterable[Iterable[int]], None] = None,
    rest: Optional[ArrayLike] = None,
    **options: Any,
) -> dict[str, float]:
    """What solve would take with the same arguments: {'memory_bytes', 'seconds'}.

    Memory is an upper bound, time right within a factor of about three (docs/limits.md).
    """
    sequence = _sequence(frames, faces, rest, options.pop("times", None), options.pop("fps", 30.0))
    return _core.estimate(sequence, _options(options))


_NOT_OPTIONS = frozenset("frames faces rest times fps progress checkpoint checkpoint_seconds memory_limit".split())
# Options that are off unless they are asked for: False is what their absence is. (symmetric has three states.)
_SWITCHES = frozenset("skeleton rest_pose optimize_rest free_joints keep_all_bones drive_helpers".split())


def _options(arguments: dict[str, Any]) -> dict[str, Any]:
    """Those of the arguments that say how to solve, without what is left to the method."""
    options = {name: value for name, value in arguments.items() if name not in _NOT_OPTIONS and value is not None}
    options = {name: value for name, value in options.items() if not (name in _SWITCHES and value is False)}
    if options.get("skeleton", False) is True and options.get("method", "ssdr") == "ssdr":
        options["method"] = "skeleton"
        del options["skeleton"]
    return options


def _sequence(frames: Any, faces: Any, rest: Any, times: Any, fps: float) -> Sequence:
    if not isinstance(frames, Sequence):
        return Sequence(frames, faces, rest, times, fps)
    if faces is not None or rest is not None or times is not None:
        raise TypeError("a Sequence brings its own faces, rest and times")
    return frames
