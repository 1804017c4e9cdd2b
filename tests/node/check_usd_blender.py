"""python check_usd_blender.py FOLDER: Blender as a module (PyPI bpy) poses what usd_cases wrote as we do, in every frame of
the clip that the skeleton is bound to and of sequences. Status 77: not installed."""
import json
import os
import sys

try:
    import bpy
    import numpy
except ImportError as error:
    print(f"skipped: {error}; script/bootstrap --full installs bpy")
    sys.exit(77)

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "blender"))
from posed import posed, to_y_up  # noqa: E402


def load(folder, name):
    with open(os.path.join(folder, name + ".json")) as file:
        case = json.load(file)
    positions = numpy.fromfile(os.path.join(folder, name + ".f32"), dtype=numpy.float32)
    case["positions"] = positions.reshape(len(case["codes"]), case["vertices"], 3).astype(float)
    return case


def check(folder, name, extension):
    case = load(folder, name)
    bpy.ops.wm.read_factory_settings(use_empty=True)
    bpy.ops.wm.usd_import(filepath=os.path.abspath(os.path.join(folder, name + extension)))
    for keys in bpy.data.shape_keys:
        for key in keys.key_blocks:  # sliders end at 0 and 1 unless told otherwise
            key.slider_min, key.slider_max = -10, 10
    # Pieces in the order of the file; the importer sorts objects by name.
    meshes = [o for o in bpy.data.objects if o.type == "MESH"]
    pieces = case.get("pieces") or [[0, case["vertices"]]]
    by_size = {len(o.data.vertices): o for o in meshes}
    if sorted(by_size) != sorted(count for _, count in pieces):
        return [f"meshes of {sorted(by_size)} vertices, expected {sorted(count for _, count in pieces)}"], ""
    clip = (case.get("clips") or [["", 0, len(case["codes"])]])[0]
    largest = 0.0
    for f in range(clip[1], clip[1] + clip[2]):
        code = case["codes"][f]
        bpy.context.scene.frame_set(int(numpy.floor(code)), subframe=code - numpy.floor(code))
        for first, count in pieces:
            difference = to_y_up(posed(by_size[count])) - case["positions"][f][first:first + count]
            largest = max(largest, numpy.linalg.norm(difference, axis=1).max() / case["diagonal"])
    tolerance = max(case["tolerance"], 1e-5)  # it turns what stands on Y: points are not as they were
    problems = [] if largest <= tolerance else [f"differs by {largest} of the diagonal"]
    return problems, f"{clip[2]} frames, largest difference {largest:.1e}"


def main():
    folder = sys.argv[1]
    names = sorted(entry[:-5] for entry in os.listdir(folder) if entry.endswith(".json"))
    if not names:
        sys.exit("no cases")
    failed = 0
    for name in names:
        for extension in (".usda", ".usdz"):
            problems, note = check(folder, name, extension)
            failed += bool(problems)
            print("FAILED" if problems else "ok", name + extension, f"({note})", *problems, flush=True)
    sys.exit(1 if failed else 0)


main()
