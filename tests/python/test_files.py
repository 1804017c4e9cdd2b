"""Files, clips and the viewer page."""

import json
import re
import warnings

import numpy as np
import pytest

import sinew


@pytest.mark.parametrize("name", ["limb.npz", "limb.abc", "limb.usda", "limb.pc2", "limb.mdd", "limb"])
def test_sequences_come_back_as_they_were(name, sequence, tmp_path):
    sequence.save(tmp_path / name)
    back = sinew.read(str(tmp_path / name))
    assert np.array_equal(back.frames, sequence.frames)
    assert np.array_equal(back.corners, sequence.corners)
    assert np.array_equal(back.face_sizes, sequence.face_sizes)


def test_numpy_reads_what_is_written_and_the_other_way_round(limb, sequence, tmp_path):
    sequence.save(tmp_path / "ours.npz")
    with np.load(tmp_path / "ours.npz") as arrays:
        assert np.array_equal(arrays["frames"], limb[0])
    np.savez(tmp_path / "theirs.npz", frames=limb[0].astype(float), faces=np.array(limb[1][:104]))
    assert np.array_equal(sinew.read(tmp_path / "theirs.npz").frames, limb[0])


def test_frames_can_be_chosen_and_a_mesh_given_its_cache(sequence, limb, tmp_path):
    sequence.save(tmp_path / "limb.pc2")
    part = sinew.read(tmp_path / "limb.obj", tmp_path / "limb.pc2", frames=slice(1, 8, 3))
    assert np.array_equal(part.frames, limb[0][1:8:3])
    rested = sinew.read(tmp_path / "limb.pc2", rest="4")
    assert np.array_equal(rested.rest, limb[0][4])


def test_sequences_are_cut_and_sampled(limb, program, tmp_path):
    sequence = sinew.Sequence(*limb, fps=10)
    assert np.array_equal(sequence[2:8:2].frames, limb[0][2:8:2])
    assert np.allclose(sequence[2:8:2].times, sequence.times[2:8:2])
    twice = sequence.resample(20)
    assert np.allclose(twice.frames[::2], limb[0], atol=1e-6)
    assert np.allclose(twice.frames[1], (limb[0][0] + limb[0][1]) / 2, atol=1e-6)
    with pytest.raises(TypeError):
        sequence[3]
    for wrong in (slice(90, 95), slice(-3, None), slice(0, 5, 0)):
        with pytest.raises(sinew.Error):
            sequence[wrong]
    with pytest.raises(sinew.Error):
        sequence.resample(0)
    sequence.save(tmp_path / "limb.abc")
    program("convert", tmp_path / "limb.abc", "-o", tmp_path / "theirs.npz", "--fps", 25, "--frames", "1:12:3")
    ours = sinew.read(tmp_path / "limb.abc", fps=25, frames=slice(1, 12, 3))
    assert np.array_equal(ours.frames, sinew.read(tmp_path / "theirs.npz").frames) and len(ours) == 4


def test_several_clips_are_read_as_by_the_program(program, tmp_path):
    _sequence, truth = sinew.creature(vertices=600, walk_frames=4, wave_frames=5)
    truth.save(tmp_path / "rig.glb")
    program(
        "convert", tmp_path / "rig.glb", "-o", tmp_path / "theirs.npz", "--clip", "wave", "--clip", "walk",
        "--frames", "1:8",
    )  # fmt: skip
    ours = sinew.read(tmp_path / "rig.glb", clip=["wave", "walk"], frames=slice(1, 8))
    assert np.array_equal(ours.frames, sinew.read(tmp_path / "theirs.npz").frames)
    assert [clip["frames"] for clip in ours.clips] == [4, 3]
    assert [clip["name"] for clip in truth.clips] == ["walk", "wave"]
    assert sinew.read_rig(tmp_path / "rig.glb").clips == truth.clips


def mapped(path):
    """Whether a file is part of this process's memory."""
    with open("/proc/self/maps") as maps:
        return str(path) in maps.read()


def test_frames_that_memory_has_no_room_for_stay_in_their_file(sequence, tmp_path):
    sequence.save(tmp_path / "limb.pc2")
    whole = sinew.read(tmp_path / "limb.pc2")
    assert not mapped(tmp_path / "limb.pc2")
    paged = sinew.read(tmp_path / "limb.pc2", memory_limit="4K")
    assert mapped(tmp_path / "limb.pc2")
    assert np.array_equal(paged.frames, whole.frames)
    assert np.array_equal(sinew.solve(paged, bones=3).weights, sinew.solve(whole, bones=3).weights)
    kept = paged.frames
    del paged
    assert np.array_equal(kept, whole.frames)
    del kept
    assert not mapped(tmp_path / "limb.pc2")


def test_frames_of_numpys_own_maps_are_read_where_they_are(limb, sequence, tmp_path):
    np.save(tmp_path / "frames.npy", limb[0])
    frames = np.load(tmp_path / "frames.npy", mmap_mode="r")
    from_map = sinew.Sequence(frames, limb[1])
    assert np.shares_memory(from_map.frames, frames)
    assert np.array_equal(sinew.solve(from_map, bones=3).weights, sinew.solve(sequence, bones=3).weights)


@pytest.mark.parametrize("name", ["rig.glb", "rig.fbx", "rig.usda", "rig.usdz"])
def test_rigs_come_back_as_they_were(name, rig, tmp_path):
    rig.save(tmp_path / name)
    back = sinew.read_rig(tmp_path / name)
    assert np.allclose(back.pose_all(), rig.pose_all(), atol=1e-6)
    assert np.array_equal(back.weights, rig.weights) and np.array_equal(back.bones, rig.bones)
    assert back.names == rig.names and back.rigid and not back.skeleton
    assert np.allclose(back.heads, rig.heads) and np.allclose(back.tails, rig.tails)
    assert back.report == {}


def test_a_rig_read_as_a_sequence_is_posed(rig, tmp_path):
    rig.save(tmp_path / "rig.glb")
    assert np.allclose(sinew.read(tmp_path / "rig.glb").frames, rig.pose_all(), atol=1e-6)


def test_two_layers_read_as_a_sequence_are_posed_by_both(sequence, tmp_path):
    rig = sinew.compress(sinew.solve(sequence, method="flats", bones=6), virtual_bones=14)
    rig.save(tmp_path / "small.glb")
    frames = sinew.read(tmp_path / "small.glb").frames
    assert np.allclose(frames, rig.pose_all(), atol=1e-5)
    with pytest.warns(UserWarning, match="small.fbx: the format has no place for two layers"):
        rig.save(tmp_path / "small.fbx", bake_shear=True)


def test_animations_are_put_together_as_clips(limb):
    parts = [sinew.Sequence(limb[0][:4], limb[1], name="bend"), sinew.Sequence(limb[0][4:], limb[1], name="twist")]
    both = sinew.concatenate(parts)
    assert both.clips == [
        {"name": "bend", "first_frame": 0, "frames": 4},
        {"name": "twist", "first_frame": 4, "frames": 5},
    ]
    assert np.array_equal(both.frames, limb[0])
    assert len(sinew.solve(both, bones=3, quality="fast").transforms) == 9


def test_notes_of_a_solver_are_kept(sequence, tmp_path):
    rig = sinew.solve(sequence, method="sma", epsilon=0.2)
    assert 0 <= rig.notes["near_rigid_fraction"] <= 1
    rig.save(tmp_path / "rig.glb")
    assert sinew.read_rig(tmp_path / "rig.glb").notes == rig.notes


def test_what_is_mended_is_a_warning(rig, tmp_path):
    rig.save(tmp_path / "rig.glb")
    data = bytearray((tmp_path / "rig.glb").read_bytes())
    length = int.from_bytes(data[12:16], "little")
    header = json.loads(data[20 : 20 + length])
    accessor = header["accessors"][header["meshes"][0]["primitives"][0]["attributes"]["WEIGHTS_0"]]
    start = 28 + length + header["bufferViews"][accessor["bufferView"]].get("byteOffset", 0)
    start += accessor.get("byteOffset", 0)
    first = np.frombuffer(data, np.float32, 4, start)
    data[start : start + 16] = (first * 0.5).tobytes()
    (tmp_path / "rig.glb").write_bytes(data)
    with pytest.warns(UserWarning, match="weights"):
        sinew.read(tmp_path / "rig.glb")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning):
            sinew.read(tmp_path / "rig.glb")


viewer = pytest.mark.skipif(not sinew.has_viewer(), reason="this build has no viewer")


@viewer
def test_the_page_holds_the_rig_the_original_and_the_report(rig, sequence, tmp_path):
    sinew.view(rig, sequence, tmp_path / "limb.html")
    text = (tmp_path / "limb.html").read_text(encoding="utf-8")
    assert "sinew-original" in text
    facts = json.loads(re.search(r'<script id="sinew-data"[^>]*>(.*?)</script>', text, re.DOTALL).group(1))
    assert facts["name"] == "limb"
    assert facts["report"]["solve"]["iterations"] == rig.report["iterations"]
    assert facts["report"]["errors"]["e_rms"] == rig.report["errors"]["e_rms"]
    sinew.view(rig, None, tmp_path / "alone.html")
    assert '<script id="sinew-original"' not in (tmp_path / "alone.html").read_text(encoding="utf-8")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["alone.html", "limb.html"]


@viewer
def test_a_notebook_shows_the_page_inside_a_frame(rig, monkeypatch):
    html = rig._repr_html_()
    assert html.startswith('<iframe srcdoc="') and html.endswith("</iframe>")
    assert '"' not in html[len('<iframe srcdoc="') : html.index('" style=')]
    import sinew._files

    monkeypatch.setattr(sinew._files, "_MOST_INLINE", 1000)
    assert rig._repr_html_() is None


@viewer
def test_a_page_that_cannot_be_written_is_said(rig, tmp_path):
    with pytest.raises(sinew.Error) as caught:
        sinew.view(rig, None, tmp_path / "nowhere" / "page.html")
    assert caught.value.kind == "output"
