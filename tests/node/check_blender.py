# blender --background --factory-startup --python check_blender.py -- FOLDER
# Vertices posed by Blender agree with ours within 1e-5 of the diagonal. Blender knows eight influences per vertex.
import json
import os
import sys

import numpy

numpy.bool = bool  # the importer of Blender 3.4 is older than NumPy 1.24

import bpy  # noqa: E402

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "blender"))
from posed import posed, to_y_up  # noqa: E402

TOLERANCE = 1e-5
# Keys are at whole frames of this rate; Blender's importer rounds nothing else.
RATE = 1000.0


def load(folder, name):
    with open(os.path.join(folder, name + ".json")) as file:
        case = json.load(file)
    positions = numpy.fromfile(os.path.join(folder, name + ".f32"), dtype=numpy.float32)
    case["positions"] = positions.reshape(len(case["frames"]), case["vertices"], 3).astype(float)
    return case


def control_points(header, binary, part):
    """Control point of each vertex that Blender makes: per primitive those its indices use, in order."""
    out = []
    for primitive in header["meshes"][header["nodes"][part["node"]]["mesh"]]["primitives"]:
        accessor = header["accessors"][primitive["indices"]]
        view = header["bufferViews"][accessor["bufferView"]]
        kind = {5123: numpy.uint16, 5125: numpy.uint32}[accessor["componentType"]]
        offset = view.get("byteOffset", 0) + accessor.get("byteOffset", 0)
        used = numpy.unique(numpy.frombuffer(binary, kind, accessor["count"], offset))
        out.append(numpy.array(part["control_point"])[used] + part["first"])
    return numpy.concatenate(out)


def activate(name):
    """Plays the actions of one clip directly: their strips would start a frame late."""
    owners = [o for o in bpy.data.objects] + [m.shape_keys for m in bpy.data.meshes if m.shape_keys]
    for owner in owners:
        if not owner.animation_data:
            continue
        owner.animation_data.action = None
        for track in owner.animation_data.nla_tracks:
            track.mute = True
            if track.name == name:
                owner.animation_data.action = track.strips[0].action


def header_of(data):
    length = int.from_bytes(data[12:16], "little")
    return json.loads(data[20:20 + length]), data[28 + length:]


def can_be_read(path):
    """Blender's importer knows no compressed buffers."""
    with open(path, "rb") as file:
        header, _ = header_of(file.read())
    return not any("meshopt" in extension for extension in header.get("extensionsRequired", []))


def check(folder, name):
    case = load(folder, name)
    bpy.ops.wm.read_factory_settings(use_empty=True)
    bpy.context.scene.render.fps = int(RATE)
    bpy.ops.import_scene.gltf(filepath=case["file"], merge_vertices=False)
    for keys in bpy.data.shape_keys:
        for key in keys.key_blocks:  # sliders end at 0 and 1 unless told otherwise
            key.slider_min, key.slider_max = -10, 10
    with open(case["file"], "rb") as file:
        header, binary = header_of(file.read())
    points = [control_points(header, binary, part) for part in case["parts"]]
    meshes = [bpy.data.objects[header["nodes"][part["node"]]["name"]] for part in case["parts"]]
    largest = 0.0
    for f, frame in enumerate(case["frames"]):
        if frame["animation"] >= 0:
            activate(header["animations"][frame["animation"]]["name"])
            at = frame["time"] * RATE
            bpy.context.scene.frame_set(int(at), subframe=at - int(at))
        for mesh, point in zip(meshes, points):
            distances = numpy.linalg.norm(to_y_up(posed(mesh)) - case["positions"][f][point], axis=1)
            largest = max(largest, distances.max() / case["diagonal"])
    return len(case["frames"]), largest


def main():
    folder = sys.argv[sys.argv.index("--") + 1]
    failed = 0
    for entry in sorted(os.listdir(folder)):
        name = entry[:-5]
        if not entry.endswith(".json") or name.startswith("model-"):
            continue
        with open(os.path.join(folder, entry)) as file:
            case = json.load(file)
        if case["influences"] > 8 or name == "points" or not can_be_read(case["file"]):
            print("ok", name, "(not for Blender)")
            continue
        frames, largest = check(folder, name)
        good = largest <= TOLERANCE
        failed += 0 if good else 1
        print("ok" if good else "FAILED", name, "(%d frames, largest difference %.1e)" % (frames, largest))
    print("blender: %d failed" % failed)
    sys.exit(1 if failed else 0)


main()
