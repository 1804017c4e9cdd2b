"""The package as a whole: types, documents, examples, and manners towards the rest of the process."""

import importlib.util
import os
import pathlib
import re
import subprocess
import sys

import numpy as np
import pytest

import sinew

PACKAGE = pathlib.Path(sinew.__file__).parent


def run(*arguments, **more):
    environment = dict(os.environ, PYTHONPATH=str(PACKAGE.parent), MPLBACKEND="Agg")
    return subprocess.run(
        [sys.executable, *map(str, arguments)], capture_output=True, text=True, env=environment, **more
    )


def test_the_version_is_that_of_the_library(source):
    declared = re.search(r"project\(sinew VERSION ([\d.]+)", (source / "CMakeLists.txt").read_text()).group(1)
    packaged = re.search(r'^version = "([\d.]+)"', (source / "python/pyproject.toml").read_text(), re.M).group(1)
    manifest = (source / "blender/sinew_rig/blender_manifest.toml").read_text()
    addon = re.search(r'^version = "([\d.]+)"', manifest, re.M).group(1)
    assert sinew.__version__ == declared == packaged == addon


def test_everything_public_is_documented():
    for name in sinew.__all__:
        assert name == "__version__" or getattr(sinew, name).__doc__, name
    for kind in (sinew.Rig, sinew.Sequence):
        for name in vars(kind):
            assert name.startswith("_") or getattr(kind, name).__doc__ or name == "name", f"{kind.__name__}.{name}"


def test_importing_it_does_not_import_numpy():
    done = run("-c", "import sys, sinew; sys.exit('numpy' in sys.modules)")
    assert done.returncode == 0, done.stderr


def test_nothing_is_said_at_exit_and_nothing_leaks(tmp_path):
    program = """
import numpy as np, sinew
frames = np.random.default_rng(1).random((4, 30, 3), np.float32)
kept = sinew.Sequence(frames)
rig = sinew.solve(kept, bones=2, quality="fast")
view = rig.weights
try:
    sinew.solve(frames, [[0, 1, 99]])
except sinew.Error as error:
    caught = error
"""
    done = run("-X", "dev", "-W", "error", "-c", program)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.skipif(not importlib.util.find_spec("mypy"), reason="mypy is not installed")
@pytest.mark.skipif(not (PACKAGE / "_core.pyi").exists(), reason="this build made no stubs")
def test_types_hold_under_strict_mypy(tmp_path):
    user = tmp_path / "user.py"
    user.write_text(
        """
import numpy as np
import numpy.typing as npt
import sinew

frames = np.zeros((2, 3, 3), np.float32)
rig: sinew.Rig = sinew.solve(frames, [[0, 1, 2]], bones=3, influences="all", progress=lambda step, fraction: None)
weights: npt.NDArray[np.float32] = rig.weights
names: list[str] = rig.names
error: float = rig.report["errors"]["e_rms"]
sequence: sinew.Sequence = sinew.read("a.glb", frames=slice(0, 3))
"""
    )
    wrong = tmp_path / "wrong.py"
    wrong.write_text("import sinew\nsinew.solve([], method='magic')\nsinew.solve([], bones='3')\n")
    good = run("-m", "mypy", "--strict", "--cache-dir", tmp_path / "cache", PACKAGE, user, cwd=tmp_path)
    assert good.returncode == 0, good.stdout
    bad = run("-m", "mypy", "--strict", "--cache-dir", tmp_path / "cache", wrong, cwd=tmp_path)
    assert bad.stdout.count("error: Argument") == 2, bad.stdout


def test_numpy_has_the_threads_and_results_that_it_has_without(sequence):
    threadpoolctl = pytest.importorskip("threadpoolctl")
    random = np.random.default_rng(3)
    A, B = random.random((300, 400)), random.random((400, 500))

    def pools():
        return [(pool["filepath"], pool["num_threads"]) for pool in threadpoolctl.threadpool_info()]

    with threadpoolctl.threadpool_limits(None):
        before, product = pools(), A @ B
        sinew.solve(sequence, bones=4)
        sinew.solve(sequence, bones=4, method="flats")
        assert pools() == before
        assert np.array_equal(A @ B, product)
    alone = sinew.solve(sequence, bones=4)
    with threadpoolctl.threadpool_limits(1):
        limited = sinew.solve(sequence, bones=4)
    assert np.array_equal(alone.weights, limited.weights)


EXAMPLES = {
    "npz_to_rig.py": ["limb.npz", "rig.glb", "error.png", "3"],
    "compare_methods.py": ["limb.npz", "3"],
    "trimesh_rig.py": ["rig.glb"],
    "vf_arrays.py": ["out.npz"],
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_run(name, limb, source, tmp_path):
    for module in re.findall(r"^import (matplotlib|trimesh)", (source / "python/examples" / name).read_text(), re.M):
        pytest.importorskip(module)
    np.savez(tmp_path / "limb.npz", frames=limb[0], faces=np.array(limb[1][:104]))
    done = run(source / "python/examples" / name, *EXAMPLES[name], cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    for target in EXAMPLES[name]:
        assert "." not in target or (tmp_path / target).stat().st_size > 1000
    assert done.stdout


def test_every_example_is_run(source):
    assert {path.name for path in (source / "python/examples").glob("*.py")} == set(EXAMPLES)


def test_the_document_is_true(source, tmp_path, monkeypatch):
    import doctest

    monkeypatch.chdir(tmp_path)
    results = doctest.testfile(
        str(source / "docs/python.md"), module_relative=False, optionflags=doctest.ELLIPSIS, verbose=False
    )
    assert results.failed == 0
    assert results.attempted > 20
