"""What all tests share: a limb that bends twice, bulges and twists, so that nothing about it is symmetric."""

import os
import pathlib
import subprocess

import numpy as np
import pytest

import sinew


def make_limb(rings=14, sides=8, frames=9):
    """Frames F×V×3 in double, and quads as a list: a tapered tube with a cap of triangles at one end."""
    along = np.linspace(0, 3, rings)
    around = np.arange(sides) * 2 * np.pi / sides
    radius = 0.5 - 0.1 * along
    rest = np.stack(
        [
            np.repeat(along, sides),
            (radius[:, None] * np.cos(around)).ravel(),
            (1.3 * radius[:, None] * np.sin(around)).ravel(),
        ],
        axis=1,
    )
    rest = np.vstack([rest, [[3.2, 0.01, 0.02]]])
    posed = []
    for f in range(frames):
        points = rest.copy()
        for joint, degrees, axis in ((2.0, 9.0 * f, 2), (1.0, 7.0 * f, 1)):
            angle = np.radians(degrees) * np.clip((points[:, 0] - joint) / 0.3 + 0.5, 0, 1)
            a, b = (0, 1) if axis == 2 else (0, 2)
            x, y = points[:, a] - joint, points[:, b].copy()
            points[:, a] = joint + np.cos(angle) * x - np.sin(angle) * y
            points[:, b] = np.sin(angle) * x + np.cos(angle) * y
        points[:, 1] += 0.02 * f * np.exp(-(((rest[:, 0] - 1.0) / 0.2) ** 2))
        posed.append(points + [0.1 * f, 0, 0])
    quads = [
        [r * sides + s, r * sides + (s + 1) % sides, (r + 1) * sides + (s + 1) % sides, (r + 1) * sides + s]
        for r in range(rings - 1)
        for s in range(sides)
    ]
    last = (rings - 1) * sides
    cap = [[last + s, last + (s + 1) % sides, rings * sides] for s in range(sides)]
    return np.array(posed), quads + cap


@pytest.fixture(scope="session")
def limb():
    frames, faces = make_limb()
    return frames.astype(np.float32), faces


@pytest.fixture(scope="session")
def sequence(limb):
    return sinew.Sequence(limb[0], limb[1], name="limb")


@pytest.fixture(scope="session")
def rig(sequence):
    return sinew.solve(sequence, bones=3)


@pytest.fixture(scope="session")
def program():
    """The command line of the same build."""
    path = os.environ.get("SINEW_PROGRAM", "")
    if not os.path.exists(path):
        pytest.skip("SINEW_PROGRAM does not name the program of this build")

    def run(*arguments, status=0):
        done = subprocess.run([path, *map(str, arguments)], capture_output=True, text=True)
        assert done.returncode == status, done.stderr
        return done.stdout

    return run


@pytest.fixture(scope="session")
def source():
    """The root of the repository."""
    return pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def large():
    """As large as the sequences that people solve: work that takes a while."""
    return sinew.creature(vertices=8000, walk_frames=24, wave_frames=24)[0]


_skipped = 0


def pytest_runtest_logreport(report):
    global _skipped
    _skipped += report.skipped


def pytest_sessionfinish(session, exitstatus):
    """A skip is no pass: ctest counts what ends so as skipped."""
    if exitstatus == 0 and _skipped:
        session.exitstatus = 77
