# blender --background --factory-startup --python check_fbx_blender.py -- FOLDER
# python check_fbx_blender.py -- FOLDER, with Blender as a module (PyPI bpy)
# Vertices of our FBX files posed by Blender agree with ours in every frame within 1e-4 of the diagonal; clips, vertex
# groups and materials are there.
import json
import os
import sys

import numpy

numpy.bool = bool  # the importer of Blender 3.4 is older than NumPy 1.24

import bpy  # noqa: E402

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "blender"))
from posed import in_world, posed, to_y_up  # noqa: E402

TOLERANCE = 1e-4


def load(folder, name):
    with open(os.path.join(folder, name + ".json")) as file:
        case = json.load(file)
    floats = numpy.fromfile(os.path.join(folder, name + ".f32"), dtype=numpy.float32).reshape(-1, case["vertices"], 3)
    case["rest"], case["positions"] = floats[0].astype(float), floats[1:].astype(float)
    return case


def activate(stack):
    """Gives every object its action of one animation stack: OBJECT|STACK|LAYER."""
    owners = list(bpy.data.objects) + [m.shape_keys for m in bpy.data.meshes if m.shape_keys]
    for owner in owners:
        if owner.animation_data:
            owner.animation_data.action = None
    found = 0
    for action in bpy.data.actions:
        names = action.name.split("|")
        if len(names) < 2 or names[1] != stack:
            continue
        for owner in owners:
            if owner.name == names[0] or (action.id_root == "KEY" and owner in list(bpy.data.shape_keys)):
                if (action.id_root == "KEY") == (owner in list(bpy.data.shape_keys)):
                    owner.animation_data_create()
                    owner.animation_data.action = action
                    if hasattr(action, "slots"):  # Blender 4.4 and later
                        owner.animation_data.action_slot = action.slots[0]
                    found += 1
    return found


def written(names):
    """Names of clips as our writer makes them, each once."""
    out = []
    for name in names:
        plain = "".join(c if c.isalnum() or c in "_-" else "_" for c in name) or "motion"
        number, unique = 2, plain
        while unique in out:
            unique, number = "%s_%d" % (plain, number), number + 1
        out.append(unique)
    return out


def check(folder, name):
    case = load(folder, name)
    bpy.ops.wm.read_factory_settings(use_empty=True)
    bpy.ops.import_scene.fbx(filepath=case["file"], anim_offset=0.0, ignore_leaf_bones=False)
    for keys in bpy.data.shape_keys:
        for key in keys.key_blocks:  # sliders end at 0 and 1 unless told otherwise
            key.slider_min, key.slider_max = -10, 10
    rate = bpy.context.scene.render.fps / bpy.context.scene.render.fps_base
    meshes = [o for o in bpy.data.objects if o.type == "MESH"]
    problems = []
    for material in case["materials"]:
        if material not in bpy.data.materials:
            problems.append("material %s is missing" % material)
    rests = []
    for mesh in meshes:
        points = numpy.empty(len(mesh.data.vertices) * 3)
        mesh.data.vertices.foreach_get("co", points)
        # The importer leaves the mesh as stored: control points in order, turned by the object.
        rest = to_y_up(in_world(mesh, points))
        nearest = [int(numpy.argmin(numpy.linalg.norm(case["rest"] - p, axis=1))) for p in rest]
        if numpy.abs(case["rest"][nearest] - rest).max() > 1e-4 * case["diagonal"]:
            problems.append("%s does not rest where it should" % mesh.name)
        rests.append(nearest)
    largest = 0.0
    stacks = written([clip["name"] for clip in case["clips"]])
    for stack, clip in zip(stacks, case["clips"]):
        if activate(stack) == 0:
            problems.append("no action of clip %s" % stack)
        shift = min(0.0, case["times"][clip["first"]])
        for f in range(clip["first"], clip["first"] + clip["frames"]):
            at = (case["times"][f] - shift) * rate
            bpy.context.scene.frame_set(int(round(at)) if abs(at - round(at)) < 1e-6 else int(at),
                                        subframe=0.0 if abs(at - round(at)) < 1e-6 else at - int(at))
            for mesh, nearest in zip(meshes, rests):
                distances = numpy.linalg.norm(to_y_up(posed(mesh)) - case["positions"][f][nearest], axis=1)
                largest = max(largest, distances.max() / case["diagonal"])
    if not largest <= TOLERANCE:
        problems.append("differs by %g of the diagonal" % largest)
    return len(case["times"]), largest, problems


def main():
    folder = sys.argv[sys.argv.index("--") + 1]
    failed = 0
    for entry in sorted(os.listdir(folder)):
        name = entry[:-5]
        if not entry.endswith(".json") or entry.endswith(".static.json"):
            continue
        frames, largest, problems = check(folder, name)
        failed += 1 if problems else 0
        print("FAILED" if problems else "ok", name, "(%d frames, largest difference %.1e)" % (frames, largest),
              "; ".join(problems))
    print("blender: %d failed" % failed)
    sys.exit(1 if failed else 0)


main()
