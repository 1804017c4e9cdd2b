"""Errors of a rig, and rigs made cheaper or better."""

from __future__ import annotations

from typing import Literal, Optional

from sinew import _core
from sinew._core import Rig, Sequence
from sinew._progress import Progress, callback_of
from sinew._types import Error, Report


def evaluate(rig: Rig, sequence: Sequence, threads: int = 0, truth: Optional[Rig] = None) -> Report:
    """How far a rig is from a sequence: what `sinew evaluate` says.

    A Report of e_rms (the papers' unit: 1000·sqrt(Σd²/3VF) over the radius of the rest pose), rmse_percent,
    max_percent (of the rest diagonal), max_distance (in the input's unit), distortion_percent, normal_degrees,
    played_degrees, worst_frame, worst_vertex, arrays per_frame_percent (F) and per_vertex_percent (V), and edges, how
    unevenly edges stretch in space and time (STED). Of a skeleton: inside, how much of it is in the body, at rest and
    posed. Vertices that another tool has put in another order, split or merged are matched by place and motion; then
    `matched` tells how well. truth: a known rig of the same mesh: skeleton, the joints that were found, and model, how
    far weights and transforms are from its own.
    Definitions: docs/conventions.md. Raises sinew.Error (kind 'input') where frames or vertices do not correspond.
    """
    return _core.evaluate(rig, sequence, threads, truth)


def reduce(
    rig: Rig,
    influences: int = 4,
    method: Literal["largest", "smooth", "geometry", "poisson"] = "geometry",
    examples: Optional[Sequence] = None,
    threads: int = 0,
    refit: Literal["auto", "always", "weights", "never"] = "auto",
    progress: Progress = None,
) -> Rig:
    """The rig with at most `influences` (>= 1) bones per vertex: what `sinew reduce` makes.

    examples: the sequence that the rig was made from; None: what the rig itself poses. method: from crude to fair,
    docs/algorithms/reduce.md. refit: then fit the weights and, where bones are free, their motion to the examples:
    'auto' where that lowers the error, 'always', the 'weights' alone or 'never'; at most 8 influences, several frames, no
    corrections. Sliders stay, and the motion with them. The report has the errors against the examples, e_rms_cut
    before that fit, and whether the rig is the refitted one.
    """
    with callback_of(progress) as callback:
        return _core.reduce(rig, examples, influences, method, refit, threads, callback)


def compress(
    rig: Rig,
    examples: Optional[Sequence] = None,
    blends_per_vertex: Optional[float] = None,
    virtual_bones: Optional[int] = None,
    max_error: Optional[float] = None,
    virtual_per_vertex: int = 2,
    bones_per_virtual: int = 0,
    keep_motion: bool = False,
    threads: int = 0,
    progress: Progress = None,
) -> Rig:
    """Two layers of sparse blends for a rig of many influences [Le & Deng 2013].

    One of three limits decides: blends_per_vertex over both layers (4), virtual_bones (>= 2), or max_error x 1000, of
    the weights or, with examples, over the dense fit. virtual_per_vertex: 2 to 4; bones_per_virtual: most bones of a
    virtual bone, 0: as many as a vertex has on average. examples: a sequence to stay close to instead of the weights;
    the motion of free affine bones is then fitted anew unless keep_motion. The result's weights are four influences for
    players that know only those; rig.two_layer holds the layers. Save with pack=True for the smallest file.
    """
    limits = [limit for limit in (blends_per_vertex, virtual_bones, max_error) if limit is not None]
    if len(limits) > 1:
        raise Error("blends_per_vertex, virtual_bones and max_error exclude each other", "usage")
    if max_error is not None and not max_error > 0:
        raise Error(f"max_error: {max_error} was given, a number above 0 is expected", "usage")
    with callback_of(progress) as callback:
        return _core.compress(
            rig,
            examples,
            4.0 if blends_per_vertex is None else blends_per_vertex,
            virtual_bones or 0,
            max_error or 0.0,
            virtual_per_vertex,
            bones_per_virtual,
            keep_motion,
            threads,
            callback,
        )


def correct(
    rig: Rig,
    sequence: Sequence,
    rank: int = 10,
    max_error: Optional[float] = None,
    iterations: int = 20,
    seed: int = 1,
    threads: int = 0,
    progress: Progress = None,
) -> Rig:
    """The rig with corrections of its rest pose, fitted to a sequence (docs/algorithms/corrections.md).

    rank: how many, 0 to 1000; max_error: instead as few as reach this E_RMS, > 0; iterations: rounds in the pose, >= 0.
    Corrections are written as morph targets, which every player of glTF shows.
    """
    if not 0 <= rank <= 1000:
        raise Error(f"rank: {rank} was given, 0 to 1000 is expected", "usage")
    if max_error is not None and not max_error > 0:
        raise Error(f"max_error: {max_error} was given, a number above 0 is expected", "usage")
    with callback_of(progress) as callback:
        return _core.correct(rig, sequence, rank, max_error or 0.0, iterations, seed, threads, callback)
