"""Animation textures as OpenEXR's own library reads them: check_exr.py SINEW FOLDER

The positions of the texture are those of the frames that the program writes, its bones are rotations, and half floats
are the float numbers rounded.
"""
import json
import pathlib
import subprocess
import sys

import numpy
import OpenEXR

program, folder = sys.argv[1], pathlib.Path(sys.argv[2])
folder.mkdir(parents=True, exist_ok=True)


def run(*arguments):
    subprocess.run([program, *map(str, arguments)], check=True, capture_output=True)


def texels(name, *options):
    """Height×width×4 and the layout."""
    run("convert", folder / "rig.glb", "-o", folder / f"{name}.exr", *options)
    with OpenEXR.File(str(folder / f"{name}.exr")) as file:
        pixels = next(iter(file.channels().values())).pixels
    return pixels, json.loads((folder / f"{name}.json").read_text())


run("demo", "-o", folder, "--vertices", 600, "--frames", 6)
run("solve", folder / "creature.pc2", "-o", folder / "rig.glb", "--bones", 5, "--quality", "fast")
run("convert", folder / "rig.glb", "-o", folder / "frames.npz")
arrays = numpy.load(folder / "frames.npz")
frames, rest = arrays["frames"], arrays["rest"]
diagonal = numpy.linalg.norm(rest.max(axis=0) - rest.min(axis=0))

pixels, layout = texels("positions", "--positions", "--precision", "float", "--max-width", "100")
assert pixels.dtype == numpy.float32 and pixels.shape == (layout["height"], layout["width"], 4), pixels.shape
rows = layout["rows_per_frame"]
for f, frame in enumerate(frames):
    posed = pixels[f * rows : (f + 1) * rows].reshape(-1, 4)[: len(rest), :3] + rest
    assert numpy.abs(posed - frame).max() < 1e-5 * diagonal
    first = layout["first_row_of_normals"] + f * rows
    normals = pixels[first : first + rows].reshape(-1, 4)[: len(rest), :3]
    assert numpy.abs(numpy.linalg.norm(normals, axis=1) - 1).max() < 1e-5

bones, layout = texels("bones", "--precision", "float")
halves, half_layout = texels("halves", "--precision", "half")
assert bones.shape == (layout["frames"], 3 * len(layout["bones"]), 4) == halves.shape
assert halves.dtype == numpy.float16 and half_layout["precision"] == "half"
assert numpy.array_equal(bones.astype(numpy.float16), halves)
turns = bones.reshape(layout["frames"], -1, 3, 4)[..., :3]
identity = numpy.einsum("fbij,fbkj->fbik", turns, turns)
assert numpy.abs(identity - numpy.eye(3)).max() < 1e-4
assert half_layout["half_error_percent"]["max"] > 0
print("read alike by OpenEXR", getattr(OpenEXR, "__version__", ""))
