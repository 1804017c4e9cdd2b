"""Levels of detail, other meshes, edited poses, bounds, packed files and sliders: the same as the program's."""

import json
import struct

import numpy as np
import pytest

import sinew


@pytest.fixture(scope="module")
def creature():
    return sinew.creature(vertices=700, walk_frames=7, wave_frames=6)


@pytest.fixture
def files(creature, tmp_path):
    """A folder with creature.npz and rig.glb, and what is read back from them."""
    creature[0].save(tmp_path / "creature.npz")
    sinew.solve(creature[0], bones=9, quality="fast").save(tmp_path / "rig.glb")
    return tmp_path, sinew.read(tmp_path / "creature.npz"), sinew.read_rig(tmp_path / "rig.glb")


def same(folder):
    return (folder / "python.glb").read_bytes() == (folder / "program.glb").read_bytes()


def test_a_creature_is_posed_by_the_rig_that_made_it():
    sequence, truth = sinew.creature(vertices=600, walk_frames=3, wave_frames=4, bulge=0, noise=0)
    assert [clip["name"] for clip in sequence.clips] == ["walk", "wave"]
    assert np.abs(truth.pose_all() - sequence.frames).max() < 1e-5
    assert truth.skeleton
    again, _ = sinew.creature(vertices=600, walk_frames=3, wave_frames=4, seed=2)
    assert again.frames.shape != sequence.frames.shape or not np.array_equal(again.frames, sequence.frames)
    with pytest.raises(sinew.Error) as caught:
        sinew.creature(vertices=3)
    assert caught.value.kind == "usage"


@pytest.mark.parametrize(
    "options",
    [dict(triangles=500), dict(error=0.3, quadric_frames=4), dict(ratio=0.3, attributes=0.0, levels=3)],
    ids=["triangles", "error", "ratio"],
)
def test_levels_of_detail_are_those_of_the_program(options, files, program):
    folder, _sequence, rig = files
    levels = sinew.lod(rig, **options)
    if len(levels) == 1:
        levels[0].save(folder / "python.glb")
    else:
        rig.save(folder / "python.glb", levels=levels)
    flags = [word for name, value in options.items() for word in ("--" + name.replace("_", "-"), value)]
    facts = json.loads(program("lod", folder / "rig.glb", "-o", folder / "program.glb", "--json", *flags))
    assert same(folder)
    assert [level.report["triangles"] for level in levels] == [level["triangles"] for level in facts["levels"]]
    assert levels[0].report["frames"] == facts["frames"]
    distance = sinew.surface_distance(rig, levels[-1])
    assert distance["mean_percent"] == pytest.approx(facts["levels"][-1]["mean_percent"], rel=1e-4)
    read = sinew.read_levels(folder / "python.glb")
    assert [len(level.triangles) for level in read[-len(levels) :]] == [len(level.triangles) for level in levels]


@pytest.mark.parametrize("options", [dict(), dict(distance=0.01, degrees=80.0, influences=2)], ids=["default", "options"])
def test_weights_on_another_mesh_are_those_of_the_program(options, files, program):
    folder, _sequence, rig = files
    coarse = sinew.lod(rig, triangles=400)[0]
    sinew.Sequence(coarse.rest[None], coarse.triangles).save(folder / "other.npz")
    other = sinew.read(folder / "other.npz")
    given = sinew.transfer(rig, other, **options)
    given.save(folder / "python.glb")
    flags = [word for name, value in options.items() for word in ("--" + name, value)]
    facts = json.loads(program("transfer", folder / "rig.glb", folder / "other.npz", "-o", folder / "program.glb", "--json", *flags))
    assert same(folder)
    assert {name: facts[name] for name in given.report} == dict(given.report)
    arrays = sinew.transfer(rig, other.rest, other.triangles, **options)
    assert np.array_equal(arrays.weights, given.weights) and np.array_equal(arrays.bones, given.bones)


@pytest.mark.parametrize("options", [dict(), dict(joints=0.25, reach=0.2, corrections="rescale")], ids=["default", "options"])
def test_edited_rest_poses_are_those_of_the_program(options, files, program):
    folder, _sequence, rig = files
    moves = np.zeros_like(rig.rest)
    moves[:, 1] = 0.1 * np.maximum(0, rig.rest[:, 2])
    np.save(folder / "moves.npy", moves)
    edited = sinew.edit(rig, displacements=moves, **options)
    edited.save(folder / "python.glb")
    flags = [word for name, value in options.items() for word in ("--" + name, value)]
    program("edit", folder / "rig.glb", "--displacements", folder / "moves.npy", "-o", folder / "program.glb", *flags)
    assert same(folder)
    assert edited.report["same_faces"] and edited.report["moved_percent"] > 1
    moved = sinew.edit(rig, rest=rig.rest + moves, **options)
    assert np.array_equal(moved.transforms, edited.transforms)
    other = sinew.lod(rig, triangles=500)[0]
    assert not sinew.edit(rig, other.rest, other.triangles).report["same_faces"]


def test_bounds_are_those_of_the_program(files, program):
    folder, _sequence, rig = files
    facts = json.loads(program("bounds", folder / "rig.glb", "-o", folder / "program.glb", "--json"))
    rig.save(folder / "python.glb", bounds=True)
    assert same(folder)
    boxes = sinew.bounds(rig)
    assert np.array_equal(boxes["rest"], np.float32([facts["rest"]["min"], facts["rest"]["max"]]))
    assert list(boxes["clips"]) == [clip["name"] for clip in facts["clips"]] == ["walk", "wave"]
    for clip in facts["clips"]:
        assert np.array_equal(boxes["clips"][clip["name"]], np.float32([clip["min"], clip["max"]]))
    inside = rig.pose(9)
    assert (inside >= boxes["clips"]["wave"][0]).all() and (inside <= boxes["clips"]["wave"][1]).all()


@pytest.mark.parametrize("with_examples", [False, True])
@pytest.mark.parametrize(
    "options",
    [
        dict(),
        dict(quality="low", khr=True),
        dict(lossless=True, safe_names=True, strip_textures=True),
        dict(target="unity"),
        dict(target="godot"),
    ],
    ids=["default", "low", "lossless", "unity", "godot"],
)
def test_packed_files_are_those_of_the_program(options, with_examples, files, program):
    folder, sequence, _rig = files
    sinew.solve(sequence, bones=5, influences=6, quality="fast", transforms="affine").save(folder / "rig.glb")
    rig = sinew.read_rig(folder / "rig.glb")
    report = sinew.pack(rig, folder / "python.glb", sequence if with_examples else None, **options)
    flags = ["--examples", folder / "creature.npz"] if with_examples else []
    for name, value in options.items():
        flags += ["--" + name.replace("_", "-"), *([] if value is True else [value])]
    facts = json.loads(program("pack", folder / "rig.glb", "-o", folder / "program.glb", "--json", *flags))
    assert same(folder)
    assert report["bytes"]["after"] == facts["bytes"]["after"] == (folder / "python.glb").stat().st_size
    if "errors" in report:
        assert report["errors"]["e_rms"] == facts["after"]["e_rms"]
        assert report["parts"] == facts["parts"]


def test_an_error_for_a_packed_file_is_kept(files, limb):
    folder, sequence, rig = files
    most = 1.5 * sinew.evaluate(rig, sequence)["e_rms"]
    report = sinew.pack(rig, folder / "rough.glb", sequence, max_error=most)
    assert report["errors"]["e_rms"] <= most
    assert report["bytes"]["after"] < sinew.pack(rig, folder / "fine.glb", sequence)["bytes"]["after"]
    two = sinew.compress(sinew.solve(*limb, bones=4, influences="all"))
    sinew.pack(two, folder / "two.glb", only_two_layer=True)
    assert sinew.read(folder / "two.glb").frames.shape == limb[0].shape


def test_sliders_are_those_of_the_program(files, program):
    folder, sequence, _rig = files
    options = dict(bones=6, influences=3, sparsity=0.5, quality="fast", transforms="rigid", seed=3)
    flags = [word for name, value in options.items() for word in ("--" + name, value)]
    found = sinew.solve_blendshapes(sequence, **options)
    found.save(folder / "python.glb")
    facts = json.loads(
        program(
            "solve", folder / "creature.npz", "--blendshapes", "-o", folder / "program.glb", "--json",
            "--sliders", folder / "map.npz", *flags,
        )  # fmt: skip
    )
    assert same(folder)
    assert found.report["map"]["entries"] == facts["map"]["entries"] == len(found.sliders["entry_bone"])
    for kind in ("shapes", "expressions"):
        assert found.report["map"]["errors"][kind]["e_rms"] == pytest.approx(facts["map"]["errors"][kind]["e_rms"], rel=1e-4)
    again = sinew.read_rig(folder / "python.glb")
    with np.load(folder / "map.npz") as arrays:
        assert list(arrays["sliders"]) == again.sliders["names"]
        for name in ("entry_bone", "entry_slider", "entry_by"):
            assert np.array_equal(arrays[name], again.sliders[name]), name


def test_sliders_of_arrays_pose_what_they_say():
    sequence, _truth = sinew.creature(vertices=600, walk_frames=5, wave_frames=0, noise=0)
    shapes = sequence.frames[1:] - sequence.rest
    names = ["a", "b", "c", "d"]
    values = np.float32([[0, 0, 0, 0], [1, 0, 0, 0], [0.5, 0.25, 0, 1]])
    options = dict(bones=8, influences=3, quality="fast", sparsity=0.2)
    rig = sinew.solve_blendshapes(shapes, sequence.rest, sequence.triangles, names, values, **options)
    assert rig.sliders["names"] == names and len(rig.transforms) == 3
    posed = rig.pose_sliders(values)
    assert posed.shape == (3, *sequence.rest.shape)
    assert np.abs(posed - rig.pose_all()).max() < 1e-5
    assert np.abs(posed[0] - sequence.rest).max() < 1e-6
    few = sinew.reduce(rig, influences=2)
    assert few.sliders["names"] == names and np.abs(few.pose_sliders(values) - few.pose_all()).max() < 1e-5
    for wrong, kind in (
        (lambda: sinew.reduce(rig, influences=2, refit="always"), "usage"),
        (lambda: rig.pose_sliders(np.zeros((2, 3))), "input"),
        (lambda: rig.pose_sliders([[np.nan] * 4]), "input"),
        (lambda: sinew.solve_blendshapes(shapes[:, :-1], sequence.rest), "input"),
        (lambda: sinew.solve_blendshapes(shapes, sequence.rest, names=["a"]), "input"),
        (lambda: sinew.solve_blendshapes(shapes, sequence.rest, bones=0), "usage"),
        (lambda: sinew.solve_blendshapes(shapes, sequence.rest, quality="good"), "usage"),
    ):
        with pytest.raises(sinew.Error) as caught:
            wrong()
        assert caught.value.kind == kind
    with pytest.raises(TypeError):
        sinew.solve_blendshapes(sequence, sequence.rest)


def test_rigs_without_sliders_say_so(rig):
    assert rig.sliders is None
    with pytest.raises(sinew.Error):
        rig.pose_sliders([[1.0]])


@pytest.mark.parametrize(
    ("call", "kind"),
    [
        (lambda rig, path: sinew.lod(rig, triangles=5, ratio=0.1), "usage"),
        (lambda rig, path: sinew.lod(rig, triangles=0), "usage"),
        (lambda rig, path: sinew.lod(rig, levels=0), "usage"),
        (lambda rig, path: sinew.lod(rig, ratio=float("nan")), "usage"),
        (lambda rig, path: sinew.transfer(rig, rig, degrees=200.0), "usage"),
        (lambda rig, path: sinew.transfer(rig, rig, influences=0), "usage"),
        (lambda rig, path: sinew.transfer(rig, rig.rest + 1000, rig.triangles), "input"),
        (lambda rig, path: sinew.transfer(rig, rig.rest, [[0, 1, 10**6]]), "input"),
        (lambda rig, path: sinew.edit(rig), "usage"),
        (lambda rig, path: sinew.edit(rig, rig.rest[:-1]), "input"),
        (lambda rig, path: sinew.edit(rig, displacements=np.full_like(rig.rest, np.nan)), "input"),
        (lambda rig, path: sinew.edit(rig, rig.rest, corrections="lose"), "usage"),
        (lambda rig, path: sinew.pack(rig, path / "rig.fbx"), "usage"),
        (lambda rig, path: sinew.pack(rig, path / "rig.glb", quality="best"), "usage"),
        (lambda rig, path: sinew.pack(rig, path / "rig.glb", target="doom"), "usage"),
        (lambda rig, path: sinew.pack(rig, path / "rig.glb", max_error=0), "usage"),
        (lambda rig, path: sinew.pack(rig, path / "nowhere" / "rig.glb"), "output"),
        (lambda rig, path: rig.save(path / "rig.fbx", levels=[rig]), "usage"),
        (lambda rig, path: rig.save(path / "rig.usda", bounds=True), "usage"),
        (lambda rig, path: sinew.read_levels(path / "none.glb"), "input"),
    ],
)
def test_what_cannot_be_done_is_an_error_with_a_sentence(call, kind, rig, tmp_path):
    with pytest.raises(sinew.Error) as caught:
        call(rig, tmp_path)
    assert caught.value.kind == kind and len(str(caught.value)) > 10
    assert list(tmp_path.iterdir()) == []


def test_wrong_types_are_type_errors(rig, tmp_path):
    for call in (
        lambda: sinew.lod(rig, levels="3"),
        lambda: sinew.transfer(rig, "mesh.obj"),
        lambda: sinew.transfer(rig, rig, rig.triangles),
        lambda: sinew.pack("rig.glb", tmp_path / "rig.glb"),
        lambda: sinew.edit(rig, rest="unicorn"),
        lambda: sinew.evaluate(rig, rig),
        lambda: rig.save(tmp_path / "rig.glb", levels=[1]),
    ):
        with pytest.raises(TypeError):
            call()


def test_progress_stops_them_and_raises(files):
    folder, sequence, rig = files

    def stop(step, fraction):
        return False

    def fail(step, fraction):
        raise LookupError("from the callback")

    for call in (
        lambda progress: sinew.lod(rig, progress=progress),
        lambda progress: sinew.pack(rig, folder / "out.glb", progress=progress),
        lambda progress: sinew.surface_distance(rig, rig, progress=progress),
    ):
        with pytest.raises(sinew.Error) as caught:
            call(stop)
        assert caught.value.kind == "interrupted"
        with pytest.raises(LookupError, match="from the callback"):
            call(fail)
    assert not (folder / "out.glb").exists()


def test_names_are_made_safe_where_that_is_asked_for(sequence, tmp_path):
    rig = sinew.solve(sequence, bones=2, quality="fast")
    named = sinew.Rig(rig.rest, rig.triangles, rig.dense_weights(), rig.transforms, names=["Hüfte", "a b"])
    named.save(tmp_path / "rig.glb", safe_names=True)
    data = (tmp_path / "rig.glb").read_bytes()
    header = json.loads(data[20 : 20 + struct.unpack_from("<I", data, 12)[0]])
    names = {node.get("name", "") for node in header["nodes"]}
    assert {"a_b", "a_b_stretch"} <= names and not any(" " in name for name in names)
