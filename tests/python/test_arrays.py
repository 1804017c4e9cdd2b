"""Arrays in and out: what is copied, what is not, and who keeps what alive."""

import gc
import weakref

import numpy as np
import pytest

import sinew


def address(array):
    return array.__array_interface__["data"][0]


def test_contiguous_float32_is_used_where_it_lies(limb):
    frames, faces = limb
    sequence = sinew.Sequence(frames, faces)
    assert address(sequence.frames) == address(frames)
    assert np.shares_memory(sequence.frames, frames)


@pytest.mark.parametrize(
    "change",
    [
        lambda a: a.astype(np.float64),
        lambda a: a.astype(">f4"),
        lambda a: np.asfortranarray(a),
        lambda a: np.repeat(a, 2, axis=1)[:, ::2],
        lambda a: a.tolist(),
    ],
    ids=["float64", "big-endian", "fortran", "strided", "list"],
)
def test_other_arrays_are_converted(limb, change):
    frames, faces = limb
    changed = change(frames)
    sequence = sinew.Sequence(changed, faces)
    assert sequence.frames.dtype == np.float32
    assert np.array_equal(sequence.frames, frames)
    assert not np.shares_memory(sequence.frames, np.asarray(changed))


def test_misaligned_float32_is_converted(limb):
    frames, faces = limb
    raw = np.zeros(frames.nbytes + 1, np.uint8)
    misaligned = raw[1:].view(np.float32).reshape(frames.shape)
    misaligned[:] = frames
    assert np.array_equal(sinew.Sequence(misaligned, faces).frames, frames)


def test_frames_live_as_long_as_the_sequence_needs_them(limb):
    frames = limb[0].copy()
    kept = weakref.ref(frames)
    sequence = sinew.Sequence(frames, limb[1])
    del frames
    gc.collect()
    assert kept() is not None
    assert np.array_equal(sequence.frames, limb[0])
    del sequence
    gc.collect()
    assert kept() is None


def test_views_outlive_the_rig(sequence):
    rig = sinew.solve(sequence, bones=3, quality="fast")
    views = [rig.weights, rig.bones, rig.transforms, rig.rest, rig.times, rig.parents, rig.heads, rig.tails]
    views += [rig.pose_all(), rig.dense_weights()]
    copies = [view.copy() for view in views]
    kept = weakref.ref(rig) if hasattr(rig, "__weakref__") else None
    del rig
    gc.collect()
    [np.empty(100000) for _ in range(50)]  # memory that was let go would be taken by these
    for view, copy in zip(views, copies):
        assert np.array_equal(view, copy)
    assert kept is None or kept() is not None


def test_views_of_a_rig_are_not_copies(rig):
    for name in ("weights", "bones", "transforms", "rest", "times", "parents", "heads", "tails"):
        assert address(getattr(rig, name)) == address(getattr(rig, name)), name


def test_views_cannot_be_written_to(rig, sequence):
    small = sinew.compress(sinew.solve(sequence, method="flats", bones=6, quality="fast"), virtual_bones=12)
    arrays = [rig.weights, rig.bones, rig.transforms, rig.rest, rig.times, rig.parents, rig.heads, rig.tails]
    arrays += [array for layer in small.two_layer.values() for array in layer.values()]
    for array in (*arrays, sequence.frames, sequence.rest):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0


def test_a_read_only_array_is_accepted(limb):
    frames = limb[0].copy()
    frames.flags.writeable = False
    assert address(sinew.Sequence(frames, limb[1]).frames) == address(frames)


def test_shapes_and_types_are_those_documented(rig, sequence):
    V, F, B, K = 113, 9, 3, rig.weights.shape[1]
    expected = {
        "weights": ((V, K), np.float32),
        "bones": ((V, K), np.uint32),
        "transforms": ((F, B, 3, 4), np.float32),
        "rest": ((V, 3), np.float32),
        "times": ((F,), np.float64),
        "parents": ((B,), np.int32),
        "heads": ((B, 3), np.float32),
        "tails": ((B, 3), np.float32),
    }
    for name, (shape, kind) in expected.items():
        array = getattr(rig, name)
        assert (array.shape, array.dtype) == (shape, kind), name
    assert rig.dense_weights().shape == (V, B)
    assert rig.pose(2).shape == (V, 3)
    assert rig.pose_all().shape == (F, V, 3)
    assert len(rig.names) == B
    assert sequence.frames.shape == (F, V, 3)
    assert len(sequence) == F


def test_the_arrays_say_what_pose_does(rig):
    dense = rig.dense_weights().astype(float)
    rest = np.c_[rig.rest, np.ones(len(rig.rest))].astype(float)
    for f in (0, 4, 8):
        posed = np.einsum("vb,bij,vj->vi", dense, rig.transforms[f].astype(float), rest)
        assert np.allclose(rig.pose(f), posed, atol=1e-5)
    assert np.array_equal(rig.pose_all()[4], rig.pose(4))
    assert np.array_equal(rig.pose(-1), rig.pose(8))


def test_sparse_and_dense_weights_agree(rig):
    dense = np.zeros((113, 3), np.float32)
    for k in range(rig.weights.shape[1]):
        np.add.at(dense, (np.arange(113), rig.bones[:, k]), rig.weights[:, k])
    assert np.array_equal(rig.dense_weights(), dense)


def test_sparse_weights_are_packed_whatever_their_number_and_order():
    """Rows in several parts, slots without weight, and a bone that is named twice."""
    random = np.random.default_rng(5)
    V, B = 700, 40
    bones = random.integers(0, B, (V, 5))
    values = random.random((V, 5)) * (random.random((V, 5)) < 0.7)
    bones[:, 4] = bones[:, 0]
    dense = np.zeros((V, B))
    np.add.at(dense, (np.arange(V)[:, None], bones), values)
    T = np.tile(np.eye(3, 4), (2, B, 1, 1))
    rest = random.random((V, 3))
    sparse, whole = sinew.Rig(rest, None, values, T, bones=bones), sinew.Rig(rest, None, dense, T)
    assert np.array_equal(sparse.weights, whole.weights) and np.array_equal(sparse.bones, whole.bones)


def test_faces_may_be_an_array_or_polygons(limb):
    frames, polygons = limb
    quads = polygons[:104]
    as_array = sinew.Sequence(frames, np.array(quads))
    as_list = sinew.Sequence(frames, quads)
    assert np.array_equal(as_array.corners, as_list.corners)
    assert np.array_equal(as_array.face_sizes, as_list.face_sizes)
    for other in ([tuple(q) for q in quads], [np.array(q) for q in quads], [np.int32(q).tolist() for q in quads]):
        assert np.array_equal(sinew.Sequence(frames, other).corners, as_list.corners)
    some = [quads[0], np.array(quads[1]), [np.int64(v) for v in quads[2]], tuple(quads[3])]
    assert np.array_equal(sinew.Sequence(frames, some).corners, as_list.corners[:16])
    mixed = sinew.Sequence(frames, polygons)
    assert sorted(set(mixed.face_sizes)) == [3, 4]
    assert mixed.triangles.shape == (2 * 104 + 8, 3)
    assert sinew.Sequence(frames).face_sizes.size == 0


def test_a_rest_pose_and_times_are_taken(limb):
    rest = limb[0][3] + 1
    sequence = sinew.Sequence(limb[0], limb[1], rest, fps=25)
    assert np.array_equal(sequence.rest, rest)
    assert sequence.times[1] == 1 / 25
    times = np.arange(9) ** 2 + 0.5
    assert np.array_equal(sinew.Sequence(limb[0], limb[1], times=times).times, times)
    assert np.array_equal(sinew.Sequence(limb[0]).rest, limb[0][0])


def test_a_rig_made_of_its_own_arrays_poses_alike(rig):
    same = sinew.Rig(
        rig.rest,
        rig.triangles,
        rig.weights,
        rig.transforms,
        bones=rig.bones,
        names=rig.names,
        parents=rig.parents,
        heads=rig.heads,
        tails=rig.tails,
        times=rig.times,
        rigid=True,
    )
    assert np.allclose(same.pose_all(), rig.pose_all(), atol=1e-6)
    assert same.names == rig.names
    dense = sinew.Rig(rig.rest, rig.triangles, rig.dense_weights(), rig.transforms)
    assert np.allclose(dense.pose_all(), rig.pose_all(), atol=1e-6)


def test_reprs_say_what_there_is(rig, sequence):
    assert repr(sequence) == "Sequence('limb', 113 vertices, 112 faces, 9 frames)"
    assert repr(rig).startswith("Rig(113 vertices, 3 rigid bones, ")
    assert "E_RMS" in repr(rig)
    assert repr(rig.report).startswith("Report(method: ssdr, bones_asked: 3, bones: 3, device: ") and ", termination: " in repr(rig.report)
