"""Evaluating, reducing, compressing and correcting: the same as the program's."""

import json

import numpy as np
import pytest

import sinew


@pytest.fixture(scope="module")
def dense(sequence):
    return sinew.solve(sequence, method="flats", bones=6)


@pytest.fixture
def files(sequence, dense, tmp_path):
    """The sequence and a dense rig as files, and what is read back from them."""
    sequence.save(tmp_path / "limb.npz")
    dense.save(tmp_path / "dense.glb")
    return tmp_path, sinew.read(tmp_path / "limb.npz"), sinew.read_rig(tmp_path / "dense.glb")


def test_errors_are_those_that_the_program_prints(files, program):
    folder, sequence, rig = files
    printed = json.loads(program("evaluate", folder / "dense.glb", folder / "limb.npz", "--json", "--per-vertex"))
    errors = sinew.evaluate(rig, sequence)
    assert set(errors) == set(printed["errors"]) | {"edges"}
    for name, value in printed["errors"].items():
        assert np.array_equal(errors[name], value), name
    assert errors["edges"] == printed["edges"]


def test_skeletons_are_compared_with_known_ones_as_by_the_program(program, tmp_path):
    sequence, truth = sinew.creature(vertices=700, walk_frames=9, wave_frames=0)
    truth.save(tmp_path / "truth.glb")
    sequence.save(tmp_path / "creature.npz")
    sinew.solve(sequence, skeleton=True, bones=12, quality="fast").save(tmp_path / "found.glb")
    printed = json.loads(
        program("evaluate", tmp_path / "found.glb", tmp_path / "creature.npz", "--truth", tmp_path / "truth.glb", "--json")
    )
    found = sinew.evaluate(
        sinew.read_rig(tmp_path / "found.glb"), sinew.read(tmp_path / "creature.npz"),
        truth=sinew.read_rig(tmp_path / "truth.glb"),
    )  # fmt: skip
    for part in ("inside", "skeleton", "model"):
        assert found[part] == printed[part], part
    assert len(found["skeleton"]["joints"]) > 5


def test_frames_without_clips_are_compared_with_a_rig_that_has_some(program, tmp_path):
    sequence, truth = sinew.creature(vertices=600, walk_frames=5, wave_frames=4, bulge=0, noise=0)
    truth.save(tmp_path / "truth.glb")
    sequence.save(tmp_path / "creature.npz")
    assert len(truth.clips) == 2 and sinew.read(tmp_path / "creature.npz").clips == []
    printed = json.loads(program("evaluate", tmp_path / "truth.glb", tmp_path / "creature.npz", "--json"))
    assert printed["between"]["places"] == 7  # none between the last frame of a clip and the first of the next


def test_vertices_in_another_order_are_matched_as_by_the_program(sequence, rig, program, tmp_path):
    order = np.random.default_rng(5).permutation(len(rig.rest))
    place = np.argsort(order)
    shuffled = sinew.Rig(rig.rest[order], place[rig.triangles], rig.dense_weights()[order], rig.transforms)
    errors = sinew.evaluate(shuffled, sequence)
    assert errors["matched"]["vertices"] == len(order) and errors["matched"]["left_out"] == 0
    assert errors["e_rms"] == pytest.approx(sinew.evaluate(rig, sequence)["e_rms"], rel=1e-4)
    assert "matched" not in sinew.evaluate(rig, sequence)


@pytest.mark.parametrize("method", ["largest", "smooth", "geometry", "poisson"])
@pytest.mark.parametrize("refit", [None, "always", "never"])
def test_reduced_rigs_are_those_of_the_program(method, refit, files, program):
    folder, sequence, rig = files
    wanted = {} if refit is None else {"refit": refit}
    reduced = sinew.reduce(rig, 2, method, sequence, **wanted)
    reduced.save(folder / "python.glb")
    printed = program(
        "reduce", folder / "dense.glb", "-o", folder / "program.glb", "--influences", 2, "--method", method,
        "--examples", folder / "limb.npz", "--json", *(["--refit", refit] if refit else []),
    )  # fmt: skip
    assert (folder / "python.glb").read_bytes() == (folder / "program.glb").read_bytes()
    facts = json.loads(printed)
    assert reduced.report["refitted"] == facts["refitted"] == (refit != "never")
    assert reduced.report["e_rms_cut"] == facts["e_rms_cut"]
    assert reduced.report["influences"] == facts["influences"]["after"] == 2


def test_rigs_are_reduced_without_examples_as_by_the_program(files, program):
    folder, _sequence, rig = files
    sinew.reduce(rig, 3).save(folder / "python.glb")
    program("reduce", folder / "dense.glb", "-o", folder / "program.glb", "--influences", 3)
    assert (folder / "python.glb").read_bytes() == (folder / "program.glb").read_bytes()


@pytest.mark.parametrize(
    "options",
    [
        dict(),
        dict(virtual_bones=14, virtual_per_vertex=3),
        dict(blends_per_vertex=3.5, bones_per_virtual=3, keep_motion=True),
        dict(max_error=5.0),
    ],
    ids=["default", "virtual", "blends", "error"],
)
@pytest.mark.parametrize("with_examples", [False, True])
@pytest.mark.parametrize("pack", [False, True])
def test_compressed_rigs_are_those_of_the_program(options, with_examples, pack, files, program):
    folder, sequence, rig = files
    compressed = sinew.compress(rig, sequence if with_examples else None, **options)
    compressed.save(folder / "python.glb", pack=pack)
    flags = [w for name, value in options.items() for w in ("--" + name.replace("_", "-"), value) if w is not True]
    flags += ["--examples", folder / "limb.npz"] if with_examples else []
    flags += ["--pack"] if pack else []
    program("compress", folder / "dense.glb", "-o", folder / "program.glb", *flags)
    assert (folder / "python.glb").read_bytes() == (folder / "program.glb").read_bytes()
    assert compressed.report["virtual_bones"] == len(compressed.two_layer["dictionary"]["values"])


@pytest.mark.parametrize("options", [dict(rank=3), dict(max_error=3.0), dict(rank=2, iterations=0, seed=5)])
def test_corrected_rigs_are_those_of_the_program(options, sequence, program, tmp_path):
    sequence.save(tmp_path / "limb.npz")
    read = sinew.read(tmp_path / "limb.npz")
    sinew.solve(read, bones=3).save(tmp_path / "rig.glb")
    rig = sinew.read_rig(tmp_path / "rig.glb")
    corrected = sinew.correct(rig, read, **options)
    corrected.save(tmp_path / "python.glb")
    flags = [w for name, value in options.items() for w in ("--" + name.replace("_", "-"), value)]
    program("correct", tmp_path / "rig.glb", tmp_path / "limb.npz", "-o", tmp_path / "program.glb", *flags)
    assert (tmp_path / "python.glb").read_bytes() == (tmp_path / "program.glb").read_bytes()
    assert corrected.report["errors"]["e_rms"] < sinew.evaluate(rig, read)["e_rms"]
    R = len(corrected.corrections["offsets"])
    assert corrected.corrections["offsets"].shape == (R, 113, 3)
    assert corrected.corrections["coefficients"].shape == (9, R)
    assert rig.corrections is None


def test_the_arrays_of_two_layers_say_what_pose_does(dense):
    rig = sinew.compress(dense, virtual_bones=14)
    rest = np.c_[rig.rest, np.ones(113)].astype(float)
    layers = rig.two_layer
    blend = np.zeros((14, 6))
    np.add.at(blend, (np.arange(14)[:, None], layers["dictionary"]["columns"]), layers["dictionary"]["values"])
    weights = np.zeros((113, 14))
    rows = np.arange(113)[:, None]
    np.add.at(weights, (rows, layers["coefficients"]["columns"]), layers["coefficients"]["values"])
    posed = np.einsum("vb,bij,vj->vi", weights @ blend, rig.transforms[5].astype(float), rest)
    assert np.allclose(rig.pose(5), posed, atol=1e-4)


def test_what_a_callback_stops_is_said(dense):
    with pytest.raises(sinew.Error) as caught:
        sinew.compress(dense, progress=lambda step, fraction: False)
    assert caught.value.kind == "interrupted"
    steps = set()

    def stop_at(name):
        return lambda step, fraction: steps.add(step) or step == name

    for name in ("", "reduce"):  # at once, and while weights and motion are fitted anew
        with pytest.raises(sinew.Error) as caught:
            sinew.reduce(dense, 2, progress=stop_at(name))
        assert caught.value.kind == "interrupted"
    assert len(steps) > 1
