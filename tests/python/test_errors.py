"""Every documented error: a Python exception with a sentence, never a crash."""

import pickle

import numpy as np
import pytest

import sinew


def refused(kind, pattern, work):
    with pytest.raises(sinew.Error, match=pattern) as caught:
        work()
    assert caught.value.kind == kind


def nan_at(frames, f, v):
    spoiled = frames.copy()
    spoiled[f, v, 1] = np.nan
    return spoiled


def test_wrong_shapes_are_refused(limb):
    frames, faces = limb
    refused("input", r"frames: .* shape \(113, 3\) was given, F×V×3 is expected", lambda: sinew.solve(frames[0], faces))
    refused("input", r"shape \(9, 113, 2\)", lambda: sinew.solve(frames[:, :, :2], faces))
    refused("input", r"rest: .* V×3 is expected", lambda: sinew.solve(frames, faces, rest=frames))
    refused("input", "113 points per frame, the rest mesh has 100", lambda: sinew.Sequence(frames, None, frames[0, :100]))
    refused("input", r"times: .* F is expected", lambda: sinew.Sequence(frames, faces, times=np.zeros((9, 1))))
    refused("input", "8 times for 9 frames", lambda: sinew.Sequence(frames, faces, times=np.arange(8)))
    refused("input", "time of frame 3", lambda: sinew.Sequence(frames, faces, times=[0, 1, 2, 2, 4, 5, 6, 7, 8]))
    refused("input", "no frames", lambda: sinew.Sequence(np.zeros((0, 4, 3)), rest=np.zeros((4, 3))))
    refused("input", "no vertices", lambda: sinew.Sequence(np.zeros((4, 0, 3))))


def test_numbers_that_are_not_finite_are_refused(limb):
    frames, faces = limb
    refused("input", "frame 4, vertex 7: position is not finite", lambda: sinew.solve(nan_at(frames, 4, 7), faces))
    too_large = frames.astype(float)
    too_large[2, 3, 0] = 1e300
    with pytest.warns(RuntimeWarning, match="overflow"):
        refused("input", "frame 2, vertex 3", lambda: sinew.solve(too_large, faces))
    refused("input", "rest mesh", lambda: sinew.solve(frames, faces, rest=nan_at(frames, 0, 1)[0]))


def test_faces_out_of_range_are_refused(limb):
    frames = limb[0]
    refused("input", "113", lambda: sinew.solve(frames, np.array([[0, 1, 113]])))
    refused("input", "face 1 has vertex -1", lambda: sinew.solve(frames, [[0, 1, 2], [3, -1, 4]]))
    refused("input", str(2**40), lambda: sinew.solve(frames, [[0, 1, 2**40]]))
    refused("input", "2", lambda: sinew.solve(frames, [[0, 1]]))
    with pytest.raises(TypeError, match="integers"):
        sinew.solve(frames, np.array([[0.0, 1.0, 2.0]]))
    with pytest.raises(TypeError, match="faces"):
        sinew.solve(frames, 5)
    with pytest.raises(TypeError, match="faces"):
        sinew.solve(frames, [["a", "b", "c"]])


def test_what_is_no_array_of_numbers_is_a_type_error(limb):
    for value in ("text", [["a"]], {"a": 1}, np.array([1j]), object()):
        with pytest.raises(TypeError, match="numbers"):
            sinew.solve(value, limb[1])


def test_options_out_of_range_say_what_is_expected(sequence):
    for options, pattern in (
        (dict(bones=0), "bones: 0 was given, an integer from 1 to 100000"),
        (dict(bones=2**70), "bones: "),
        (dict(influences=0), "influences: 0 was given"),
        (dict(influences="most"), "influences: 'most' was given, a number from 1 up, or 'all'"),
        (dict(transforms="soft"), "transforms: 'soft' was given, 'rigid' or 'affine' is expected"),
        (dict(quality="good"), "quality: 'good' was given, 'fast', 'balanced' or 'best'"),
        (dict(method="magic"), "magic"),
        (dict(max_error=0), "max_error: 0 was given, a number above 0"),
        (dict(max_error=float("nan")), "max_error: nan"),
        (dict(smoothness=-1), "smoothness: -1 was given, a number of at least 0"),
        (dict(seed=-1), "seed: -1"),
        (dict(threads=-2), "threads: -2"),
        (dict(corrections=1001), "corrections: 1001"),
        (dict(method="sma", epsilon=3), "epsilon: 3 was given, a number from 1e-06 to 2"),
        (dict(method="sma", weights="bounded:-1"), "weights: 'bounded:-1'"),
        (dict(method="flats", outliers=0.7), "outliers"),
        (dict(method="flats", quantile=0), "quantile"),
        (dict(method="flats", starts=0), "starts"),
        (dict(method="skeleton", clusters=0), "clusters"),
        (dict(memory_limit="much"), "memory_limit: 'much'"),
        (dict(influences=9), "influences"),
    ):
        refused("usage", pattern, lambda options=options: sinew.solve(sequence, **options))


def test_options_of_the_wrong_type_are_type_errors(sequence):
    for options, pattern in (
        (dict(bones=2.5), "bones: 2.5 was given, an integer is expected"),
        (dict(bones="3"), "bones: '3'"),
        (dict(max_error="2"), "max_error: '2' was given, a number is expected"),
        (dict(method=3), "method: 3 was given, text"),
        (dict(rest_pose=1), "rest_pose: 1 was given, True or False"),
        (dict(skeleton=1), "skeleton: 1 was given, True or False"),
        (dict(method="skeleton", symmetric="no"), "symmetric: 'no' was given, True or False"),
        (dict(bones=False), "bones: False was given, an integer"),
        (dict(bones=True), "bones: True was given, an integer"),
        (dict(max_error=True), "max_error: True was given, a number"),
        (dict(method=False), "method: False was given, text"),
        (dict(influences=False), "influences: False was given, an integer"),
        (dict(rig="rig.glb"), "rig: 'rig.glb' was given, a Rig"),
        (dict(progress=5), "progress"),
        (dict(lock=[1.5]), "lock"),
        (dict(no_such_option=1), "no_such_option"),
    ):
        with pytest.raises(TypeError, match=pattern):
            sinew.solve(sequence, **options)
    assert sinew.solve(sequence, bones=np.int64(3), seed=np.uint8(1)).report["bones"] == 3


def test_options_that_exclude_each_other_are_refused(sequence, rig):
    for options, pattern in (
        (dict(bones=3, max_error=2.0), "exclude each other"),
        (dict(time=1.0, work=5.0), "time and work exclude each other"),
        (dict(time=1.0, quality="fast"), "time and quality exclude each other"),
        (dict(work=5.0, quality="best"), "work and quality exclude each other"),
        (dict(fit="weights"), "need rig"),
        (dict(lock=[0]), "need rig"),
        (dict(add_bones=1), "needs rig"),
        (dict(lock_vertices="0"), "needs rig"),
        (dict(rig=rig, bones=3), "brings its own bones"),
        (dict(rig=rig, start="flats"), "leave start out"),
        (dict(rig=rig, fit="joints"), "belongs to method='skeleton'"),
        (dict(rig=rig, fit="weights", lock="nobody"), "no bone of the given rig is called 'nobody'"),
        (dict(rig=rig, method="sma", fit="motion"), "fits weights"),
        (dict(rig=rig, method="sma", bones=2), "bones does not go with rig"),
        (dict(rig=rig, method="skeleton", fit="all"), "fit='joints' only"),
        (dict(method="skeleton", bones=3, max_bones=3), "give one of them"),
        (dict(method="skeleton", max_bones=3, max_error=3.0), "looks for the number of bones"),
        (dict(method="skeleton", influences="all"), "not all"),
        (dict(method="flats", transforms="rigid"), "affine bones only"),
        (dict(method="kavan", transforms="rigid"), "transforms is not something method='kavan' can do"),
        (dict(method="clusters", influences=2), "influences is not something method='clusters' can do"),
        (dict(epsilon=0.1), "epsilon is not something method='ssdr' can do"),
        (dict(symmetric=True), "symmetric is not something method='ssdr' can do"),
        (dict(symmetric=False), "symmetric is not something method='ssdr' can do"),
        (dict(method="flats", skeleton=True), "skeleton is not something method='flats' can do"),
        (dict(method="clusters", skeleton=True, bones=3), "skeleton is not something method='clusters' can do"),
    ):
        refused("usage", pattern, lambda options=options: sinew.solve(sequence, **options))
    with pytest.raises(TypeError, match="brings its own faces"):
        sinew.solve(sequence, [[0, 1, 2]])


def test_a_rig_of_another_mesh_is_refused(sequence, rig, limb):
    other = sinew.Sequence(limb[0][:, :50])
    refused("input", "113 vertices, the sequence 50", lambda: sinew.solve(other, rig=rig, fit="weights"))
    refused("input", "50", lambda: sinew.evaluate(rig, other))
    refused("input", "frames", lambda: sinew.evaluate(rig, sinew.Sequence(limb[0][:4], limb[1])))
    refused("input", "113 vertices .* the sequence 50", lambda: sinew.correct(rig, other))
    refused("input", "50", lambda: sinew.view(rig, other, "nowhere.html"))


def test_a_rig_of_bad_arrays_is_refused(rig):
    rest, faces, weights, T = rig.rest, rig.triangles, rig.dense_weights(), rig.transforms
    spoiled = T.copy()
    spoiled[1, 2, 0, 0] = np.inf
    for work, pattern in (
        (lambda: sinew.Rig(rest, faces, weights[:, :2], T), "weights: 2 columns, transforms has 3 bones"),
        (lambda: sinew.Rig(rest[:50], None, weights, T), "weights: 113 rows, rest has 50 vertices"),
        (lambda: sinew.Rig(rest, faces, -weights, T), "has weight -"),
        (lambda: sinew.Rig(rest, faces, weights, T[:, :, :2]), "transforms: .* F×B×3×4"),
        (lambda: sinew.Rig(rest, faces, weights, spoiled), "frame 1, bone 2 .* not finite"),
        (lambda: sinew.Rig(rest, faces, weights, 2 * T, rigid=True), "not rigid"),
        (lambda: sinew.Rig(rest, faces, rig.weights, T, bones=rig.bones + 1), "there are 3"),
        (lambda: sinew.Rig(rest, faces, weights, T, parents=[0, 1, 2]), "bone 0 has parent 0"),
        (lambda: sinew.Rig(rest, faces, weights, T, names=["a"]), "names: 1 entries"),
        (lambda: sinew.Rig(rest, faces, weights, T, heads=np.zeros((2, 3))), "heads: 2 entries"),
    ):
        refused("input", pattern, work)
    for fps in (0, -1, float("nan")):
        refused("usage", "fps: .* given, a number above 0", lambda fps=fps: sinew.Rig(rest, faces, weights, T, fps=fps))
    for names in (5, "abc", [1, 2, 3]):
        with pytest.raises(TypeError, match="names: a list of text is expected"):
            sinew.Rig(rest, faces, weights, T, names=names)


def test_refinements_refuse_what_they_cannot_do(rig, sequence):
    refused("usage", "magic", lambda: sinew.reduce(rig, method="magic"))
    refused("usage", "0 influences, expected at least 1", lambda: sinew.reduce(rig, influences=0))
    refused("usage", "refit: 'maybe' given", lambda: sinew.reduce(rig, refit="maybe"))
    refused("usage", "at most 8 influences", lambda: sinew.reduce(rig, influences=9, refit="always"))
    refused("usage", "exclude", lambda: sinew.compress(rig, blends_per_vertex=4, virtual_bones=5))
    refused("usage", "max_error", lambda: sinew.compress(rig, max_error=0))
    refused("usage", "expected 2 to 4", lambda: sinew.compress(rig, virtual_per_vertex=5))
    refused("usage", "rank: -1", lambda: sinew.correct(rig, sequence, rank=-1))
    refused("usage", "max_error", lambda: sinew.correct(rig, sequence, max_error=-1))
    two_layers = sinew.compress(sinew.solve(sequence, method="flats", bones=6), virtual_bones=12)
    refused("input", "two-layer", lambda: sinew.compress(two_layers))
    refused("input", "two-layer", lambda: sinew.reduce(two_layers))


def test_files_that_cannot_be_read_or_written_are_named(rig, sequence, tmp_path):
    refused("input", "nothing.npz", lambda: sinew.read(tmp_path / "nothing.npz"))
    (tmp_path / "broken.glb").write_bytes(b"glTF not really")
    refused("input", "broken.glb", lambda: sinew.read_rig(tmp_path / "broken.glb"))
    refused("output", "no_such_folder", lambda: rig.save(tmp_path / "no_such_folder" / "rig.glb"))
    refused("usage", "rig.txt", lambda: rig.save(tmp_path / "rig.txt"))
    refused("output", "no_such_folder", lambda: sequence.save(tmp_path / "no_such_folder" / "a.npz"))
    refused("usage", "select nothing", lambda: sinew.read(_saved(sequence, tmp_path), frames=slice(20, 30)))
    refused("usage", "frames", lambda: sinew.read(_saved(sequence, tmp_path), frames=slice(0, 5, 0)))
    with pytest.raises(TypeError, match="slice"):
        sinew.read(_saved(sequence, tmp_path), frames=5)
    with pytest.raises(TypeError, match="integers as bounds"):
        sinew.read(_saved(sequence, tmp_path), frames=slice("a"))
    assert len(sinew.read(_saved(sequence, tmp_path), frames=slice(np.int64(2), 2**80))) == 7
    refused("usage", "bounds from 0", lambda: sinew.read(_saved(sequence, tmp_path), frames=slice(-(2**80), 5)))
    refused("usage", "memory_limit: '0'", lambda: sinew.read(_saved(sequence, tmp_path), memory_limit="0"))
    lost = tmp_path / "no_such_folder"
    refused("output", "no_such_folder", lambda: sinew.read(tmp_path / "saved.npz", memory_limit=100, scratch=lost))
    with pytest.raises(IndexError, match="frame 9 of a rig with 9 frames"):
        rig.pose(9)


def _saved(sequence, folder):
    sequence.save(folder / "saved.npz")
    return folder / "saved.npz"


def test_errors_can_be_pickled():
    error = pickle.loads(pickle.dumps(sinew.Error("a sentence", "output")))
    assert (str(error), error.kind) == ("a sentence", "output")
