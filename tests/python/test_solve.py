"""Solving: the same bits as the program's, progress, interruption, threads."""

import inspect
import os
import re
import signal
import threading
import time

import numpy as np
import pytest

import sinew

# Every method, and every option of each at least once; rigs to fit, seconds and mirrored shapes have tests of their own.
CASES = {
    "ssdr": dict(bones=3),
    "ssdr-options": dict(
        bones=3, influences=2, transforms="affine", smoothness=1e-3, laplacian="graph", iterations=6, quality="fast"
    ),
    "ssdr-search": dict(max_error=20.0, min_bones=2, max_bones=6, seed=7),
    "ssdr-flats": dict(bones=3, start="flats", rest_pose=True, influences="all"),
    "ssdr-best": dict(bones=3, quality="best"),
    "ssdr-work": dict(bones=4, work=0.02),
    "ssdr-surface": dict(bones=3, surface=2.0, quality="fast"),
    "kavan": dict(method="kavan", bones=3, influences=3, iterations=5),
    "sma": dict(method="sma", epsilon=0.2, influences=3),
    "sma-options": dict(method="sma", bones=3, transforms="rigid", iterations=2, weights="bounded:0.1"),
    "flats": dict(method="flats", bones=3),
    "flats-options": dict(
        method="flats", bones=3, influences=3, flat_solver="alternating", outliers=0.1, quantile=0.7, starts=2,
        optimize_rest=True, iterations=3,
    ),
    "flats-search": dict(method="flats", max_error=20.0, quality="fast"),
    "skeleton": dict(method="skeleton", bones=3),
    "skeleton-options": dict(
        skeleton=True, max_bones=4, clusters=9, keep_all_bones=True, influences=3, smoothness=1e-5, iterations=8,
        quality="fast", root="auto", free_joints=True,
    ),
    "skeleton-open": dict(method="skeleton", clusters=8, quality="fast", detail="low"),
    "skeleton-helpers": dict(method="skeleton", bones=2, add_bones=2, drive_helpers=True, quality="fast"),
    "skeleton-search": dict(method="skeleton", max_error=20.0, quality="fast"),
    "clusters": dict(method="clusters", bones=4, iterations=3),
    "corrections": dict(bones=3, corrections=2),
}  # fmt: skip


def flags(options):
    """The same options for the program."""
    out = []
    for name, value in options.items():
        out.append("--" + ("no-" if value is False else "") + name.replace("_", "-"))
        if not isinstance(value, bool):
            out.append(value)
    return out


@pytest.mark.parametrize("name", CASES)
def test_same_file_as_the_program(name, sequence, program, tmp_path):
    options = CASES[name]
    sequence.save(tmp_path / "limb.npz")
    read = sinew.read(tmp_path / "limb.npz")
    sinew.solve(read, **options).save(tmp_path / "python.glb")
    program("solve", tmp_path / "limb.npz", "-o", tmp_path / "program.glb", *flags(options))
    assert (tmp_path / "python.glb").read_bytes() == (tmp_path / "program.glb").read_bytes()


def nearly_mirrored():
    """A tube that mirrors itself at rest; both elbows bend, a little differently, and nothing is measured exactly."""
    around = 0.1 + 2 * np.pi * np.arange(10) / 10
    x, angle = (grid.ravel() for grid in np.meshgrid(-6 + 0.25 * np.arange(49), around, indexing="ij"))
    radius = 0.5 + 0.06 * np.cos(2 * x)
    rest = np.stack([x, radius * np.cos(angle), 0.8 * radius * np.sin(angle)], axis=1)
    ring, side = (grid.ravel() for grid in np.meshgrid(np.arange(48), np.arange(10), indexing="ij"))
    a, b = 10 * ring + side, 10 * ring + (side + 1) % 10
    faces = np.stack([a, b, b + 10, a + 10], axis=1)
    frames = [rest]
    for f, (left, right) in enumerate(((20, 30), (35, 15), (45, 40), (20, 50)), 1):
        points = rest.copy()
        for elbow, degrees in ((-2.02, left), (2.0, right)):
            beyond = np.clip(np.sign(elbow) * (rest[:, 0] - elbow) + 0.5, 0, 1)[:, None]
            k, c, s = np.array([0, 0.6, 0.8]), np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
            arm = points - [elbow, 0, 0]
            turned = arm * c + np.cross(k, arm) * s + np.outer(arm @ k, k) * (1 - c)
            points = (1 - beyond) * points + beyond * (turned + [elbow, 0, 0])
        shake = 7 * np.arange(490)[:, None] + 131 * np.arange(3) + 977 * f
        frames.append(points + 0.03 * np.sin(shake))
    return sinew.Sequence(np.array(frames), faces)


def test_symmetric_has_three_states_as_the_program_has(program, tmp_path):
    nearly_mirrored().save(tmp_path / "tube.npz")
    read = sinew.read(tmp_path / "tube.npz")
    plain = dict(method="skeleton", max_bones=3, clusters=40, quality="fast", iterations=20)
    made = {}
    for symmetric in (None, False, True):
        options = plain if symmetric is None else dict(plain, symmetric=symmetric)
        sinew.solve(read, **options).save(tmp_path / "python.glb")
        program("solve", tmp_path / "tube.npz", "-o", tmp_path / "program.glb", *flags(options))
        made[symmetric] = (tmp_path / "python.glb").read_bytes()
        assert made[symmetric] == (tmp_path / "program.glb").read_bytes(), symmetric
    assert made[False] != made[None] and made[False] != made[True]


def test_seconds_come_to_work_that_gives_the_same_file(sequence, program, tmp_path):
    sequence.save(tmp_path / "limb.npz")
    timed = sinew.solve(sinew.read(tmp_path / "limb.npz"), bones=4, time=0.3)
    timed.save(tmp_path / "python.glb")
    work = re.search(r"--work ([0-9.e+-]+),", timed.report["remark"]).group(1)
    program("solve", tmp_path / "limb.npz", "-o", tmp_path / "program.glb", "--bones", 4, "--work", work)
    assert (tmp_path / "python.glb").read_bytes() == (tmp_path / "program.glb").read_bytes()


@pytest.mark.parametrize(
    "options",
    [
        dict(fit="weights"),
        dict(fit="motion", lock=[1]),
        dict(fit="all", lock="bone0", add_bones=1, lock_vertices="1"),
        dict(method="sma", fit="weights"),
    ],
    ids=["weights", "motion", "all", "sma"],
)
def test_fits_to_a_given_rig_are_those_of_the_program(options, sequence, rig, program, tmp_path):
    sequence.save(tmp_path / "limb.npz")
    rig.save(tmp_path / "given.glb")
    given = sinew.read_rig(tmp_path / "given.glb")
    if options.get("lock") == "bone0":
        options = dict(options, lock=given.names[0])
    sinew.solve(sinew.read(tmp_path / "limb.npz"), rig=given, **options).save(tmp_path / "python.glb")
    words = [str(w) for word in flags(options) for w in (word if isinstance(word, list) else [word])]
    program("solve", tmp_path / "limb.npz", "-o", tmp_path / "program.glb", "--rig", tmp_path / "given.glb", *words)
    assert (tmp_path / "python.glb").read_bytes() == (tmp_path / "program.glb").read_bytes()


def test_joints_of_a_given_skeleton_are_those_of_the_program(sequence, program, tmp_path):
    sequence.save(tmp_path / "limb.npz")
    read = sinew.read(tmp_path / "limb.npz")
    sinew.solve(read, skeleton=True, bones=3, quality="fast").save(tmp_path / "given.glb")
    given = sinew.read_rig(tmp_path / "given.glb")
    assert given.skeleton and list(given.parents).count(-1) == 1
    sinew.solve(read, skeleton=True, rig=given, fit="joints", iterations=5).save(tmp_path / "python.glb")
    program(
        "solve", tmp_path / "limb.npz", "-o", tmp_path / "program.glb", "--skeleton", "--rig", tmp_path / "given.glb",
        "--fit", "joints", "--iterations", 5,
    )  # fmt: skip
    assert (tmp_path / "python.glb").read_bytes() == (tmp_path / "program.glb").read_bytes()


def test_a_mask_locks_the_vertices_that_a_name_does(sequence, rig, tmp_path):
    mask = rig.dense_weights()[:, 1] >= 0.5
    assert 0 < mask.sum() < len(mask)
    by_mask = sinew.solve(sequence, rig=rig, fit="all", lock_vertices=mask)
    by_name = sinew.solve(sequence, rig=rig, fit="all", lock_vertices=rig.names[1])
    free = sinew.solve(sequence, rig=rig, fit="all")
    assert np.array_equal(by_mask.weights, by_name.weights)
    assert np.array_equal(by_mask.dense_weights()[mask], rig.dense_weights()[mask])
    assert not np.array_equal(free.dense_weights()[mask], rig.dense_weights()[mask])


def test_every_option_of_the_program_is_an_argument(program):
    """What only a command line needs is left out: files, printing, and estimate() for --dry-run."""
    options = set(re.findall(r"^\s+(?:-\w,)?--([a-z-]+)", program("solve", "--help"), re.MULTILINE))
    options -= {"help", "output", "report", "json", "progress", "keep-partial", "dry-run", "bake-shear", "normals", "safe-names", "allow-static", "scratch", "frames", "rest", "clip", "mesh", "fps"}
    options -= {"no-symmetric"}  # symmetric=False
    packed = {"pack", "pack-quality", "pack-error", "target", "lossless", "strip-textures", "khr"}  # sinew.pack
    faces = {"blendshapes", "sparsity", "sliders"}  # sinew.solve_blendshapes
    assert packed | faces <= options
    assert {"quality", "max_error", "target", "lossless", "strip_textures", "khr"} <= set(inspect.signature(sinew.pack).parameters)
    assert "sparsity" in inspect.signature(sinew.solve_blendshapes).parameters
    options -= packed | faces
    arguments = set(inspect.signature(sinew.solve).parameters)
    assert len(options) > 30
    assert {option.replace("-", "_") for option in options} <= arguments
    documented = sinew.solve.__doc__
    assert all(re.search(rf"\b{name}\b", documented) for name in arguments)


@pytest.mark.parametrize("command", ["correct", "reduce", "compress", "pack", "lod", "transfer", "edit", "bounds"])
def test_every_option_of_the_other_commands_is_an_argument(command, program):
    """What the file holds is for save(), what is read for read(), and what is printed for nobody."""
    options = set(re.findall(r"^\s+(?:-\w,)?--([a-z-]+)", program(command, "--help"), re.MULTILINE))
    options -= {"help", "output", "json", "frames", "rest", "clip", "mesh", "fps"}
    options -= {"bake-shear", "safe-names", "pack", "separate"} - set(inspect.signature(getattr(sinew, command)).parameters)
    options -= {"no-distance", "force"}  # surface_distance(); a guard of the program
    arguments = set(inspect.signature(getattr(sinew, command)).parameters)
    assert options and {option.replace("-", "_") for option in options} <= arguments
    documented = getattr(sinew, command).__doc__
    undescribed = {"rig", "sequence", "threads", "progress", "seed", "faces"}
    assert all(re.search(rf"\b{name}\b", documented) for name in arguments - undescribed)


def test_arrays_give_what_their_file_gives(limb, sequence, tmp_path):
    sequence.save(tmp_path / "limb.npz")
    from_file = sinew.solve(sinew.read(tmp_path / "limb.npz"), bones=3)
    from_arrays = sinew.solve(limb[0].astype(np.float64), limb[1], bones=3)
    assert np.array_equal(from_file.weights, from_arrays.weights)
    assert np.array_equal(from_file.transforms, from_arrays.transforms)


@pytest.mark.parametrize("method", ["ssdr", "sma", "flats", "skeleton", "clusters"])
def test_same_bits_for_one_and_three_threads(method, sequence):
    one, three = (sinew.solve(sequence, bones=3, method=method, quality="fast", threads=n) for n in (1, 3))
    assert np.array_equal(one.weights, three.weights)
    assert np.array_equal(one.transforms, three.transforms)


def test_the_report_is_a_dict_of_what_happened(rig, sequence):
    report = rig.report
    assert isinstance(report, dict)
    assert report["method"] == "ssdr" and report["bones"] == report["bones_asked"] == 3
    assert report["termination"] == "converged"
    assert report["iterations"][-1]["e_rms"] <= report["iterations"][0]["e_rms"]
    assert report["seconds"]["solve"] > 0
    again = sinew.evaluate(rig, sequence)
    assert report["errors"]["e_rms"] == again["e_rms"] > 0
    assert again["per_vertex_percent"].shape == (113,) and again["per_frame_percent"].shape == (9,)


def test_two_solves_at_once_give_what_each_gives_alone(sequence):
    options = [dict(bones=3), dict(bones=4, transforms="affine"), dict(method="flats", bones=3)]
    alone = [sinew.solve(sequence, **o) for o in options]
    together = [None] * 6

    def work(i):
        together[i] = sinew.solve(sequence, **options[i % 3])

    threads = [threading.Thread(target=work, args=(i,)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for i, rig in enumerate(together):
        assert np.array_equal(rig.weights, alone[i % 3].weights)
        assert np.array_equal(rig.transforms, alone[i % 3].transforms)


def test_other_threads_run_while_a_solve_does(large):
    counted = 0
    done = threading.Event()

    def count():
        nonlocal counted
        while not done.is_set():
            counted += 1
            time.sleep(0.0005)

    thread = threading.Thread(target=count)
    thread.start()
    try:
        before = counted
        sinew.solve(large, bones=20, quality="fast", threads=1)
        assert counted - before >= 50  # a solve that keeps the lock lets them run at its looks at Python alone
    finally:
        done.set()
        thread.join()


def test_progress_hears_steps_and_fractions(sequence):
    heard = []
    sinew.solve(sequence, bones=3, progress=lambda step, fraction: heard.append((step, fraction)))
    assert heard
    assert all(isinstance(step, str) and isinstance(fraction, float) and fraction <= 1 for step, fraction in heard)


@pytest.mark.parametrize("method", ["ssdr", "flats", "skeleton", "clusters"])
def test_a_progress_that_returns_false_ends_with_the_best_so_far(method, sequence):
    rig = sinew.solve(sequence, bones=4, method=method, progress=lambda step, fraction: False)
    assert rig.report["termination"] == "cancelled"
    assert rig.pose(0).shape == (113, 3)


def test_sma_has_nothing_yet_when_it_is_stopped_at_once(sequence):
    with pytest.raises(sinew.Error) as caught:
        sinew.solve(sequence, bones=4, method="sma", progress=lambda step, fraction: False)
    assert caught.value.kind == "interrupted"


def test_what_progress_raises_is_raised(sequence):
    def fail(step, fraction):
        raise LookupError("from the callback")

    for method in ("ssdr", "sma", "flats", "skeleton", "clusters"):
        with pytest.raises(LookupError, match="from the callback"):
            sinew.solve(sequence, bones=3, method=method, progress=fail)


def test_progress_true_shows_a_bar_and_wipes_it(sequence, capfd, monkeypatch):
    sinew.solve(sequence, bones=3, progress=True)
    assert "%" in capfd.readouterr().err
    import sys

    monkeypatch.setitem(sys.modules, "tqdm.auto", None)  # as if it were not installed
    sinew.solve(sequence, bones=3, progress=True)
    shown = capfd.readouterr().err
    assert "[#" in shown or "[-" in shown
    assert shown.endswith("\r\033[K")


def interrupt_after(seconds, work):
    """CPU seconds from Ctrl-C to KeyboardInterrupt: how busy the machine is does not count."""
    sent = []

    def send():
        sent.append(time.process_time())
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(seconds, send)
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            work()
            timer.join()
            time.sleep(5)  # the work was done before the signal: not what is tested
            pytest.fail("the work ended before it was interrupted")
        return time.process_time() - sent[0]
    finally:
        timer.cancel()


def test_ctrl_c_stops_a_solve(sequence):
    assert interrupt_after(0.3, lambda: sinew.solve(sequence, bones=12, quality="best", threads=1)) < 1


@pytest.mark.parametrize("method", ["ssdr", "kavan", "flats", "skeleton", "sma", "clusters"])
def test_ctrl_c_stops_a_solve_of_a_large_sequence_within_a_second(method, large):
    work = lambda: [sinew.solve(large, bones=20, method=method, threads=1) for _ in range(20)]  # noqa: E731
    assert interrupt_after(0.7, work) < 1


def test_a_checkpoint_is_taken_up_and_removed(sequence, tmp_path):
    path = tmp_path / "state"

    def stop(step, fraction):
        return step != "iterate"

    options = dict(bones=4, checkpoint=path, checkpoint_seconds=0)
    assert sinew.solve(sequence, progress=stop, **options).report["termination"] == "cancelled"
    assert path.exists()
    with pytest.raises(sinew.Error) as caught:
        sinew.solve(sequence, **dict(options, bones=5))
    assert caught.value.kind == "input"
    finished = sinew.solve(sequence, **options)
    assert finished.report["termination"] != "cancelled"
    assert not path.exists()


def test_switches_that_are_off_are_as_if_they_were_not_there(sequence):
    off = dict(rest_pose=False, optimize_rest=False, free_joints=False, keep_all_bones=False, drive_helpers=False)
    plain = sinew.solve(sequence, bones=3, quality="fast")
    assert np.array_equal(sinew.solve(sequence, bones=3, quality="fast", skeleton=False, **off).weights, plain.weights)


def test_an_estimate_knows_the_options(sequence):
    small, large = (sinew.estimate(sequence, bones=n) for n in (5, 50))
    assert 0 < small["memory_bytes"] < large["memory_bytes"]
    assert 0 < small["seconds"] < large["seconds"]
    with pytest.raises(sinew.Error) as caught:
        sinew.solve(sequence, bones=3, memory_limit="1M")
    assert caught.value.kind == "unusable"
    assert sinew.solve(sequence, bones=3, memory_limit="4G").report["bones"] == 3
