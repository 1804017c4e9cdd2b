"""xvfb-run blender [-b] --factory-startup --python picture.py -- ADDON.zip PROGRAM SEQUENCE_FOLDER [PICTURE.png]

A sequence (rest.obj and frames.pc2) as Blender's mesh cache becomes an armature. Says how many seconds each part takes
and, in a window (without -b), how many pass from the button to an armature that plays; or, for a PICTURE (with -b), renders
the source, a skeleton's mesh with its error as colour, and its bones.
"""

import os
import struct
import sys
import tempfile
import time
import zipfile

import bpy
from mathutils import Matrix, Vector

arguments = sys.argv[sys.argv.index("--") + 1:]
ZIP, PROGRAM, FOLDER = map(os.path.abspath, arguments[:3])
os.environ["SINEW_PROGRAM"] = PROGRAM
home = tempfile.mkdtemp(prefix="sinew-addon-")
with zipfile.ZipFile(ZIP) as archive:
    archive.extractall(home)
sys.path.insert(0, home)


def load():
    """The mesh, with its cache, standing upright."""
    bpy.ops.wm.read_factory_settings(use_empty=True)
    vertices, faces = [], []
    with open(os.path.join(FOLDER, "rest.obj")) as file:
        for line in file:
            words = line.split()
            if words[:1] == ["v"]:
                vertices.append(tuple(map(float, words[1:4])))
            elif words[:1] == ["f"]:
                faces.append([int(word.split("/")[0]) - 1 for word in words[1:]])
    mesh = bpy.data.meshes.new("horse")
    mesh.from_pydata(vertices, [], faces)
    made = bpy.data.objects.new("horse", mesh)
    bpy.context.scene.collection.objects.link(made)
    made.rotation_euler.x = 1.5707963
    cache = made.modifiers.new("MeshCache", "MESH_CACHE")
    cache.cache_format, cache.filepath = "PC2", os.path.join(FOLDER, "frames.pc2")
    cache.frame_start = 1
    cache.forward_axis, cache.up_axis = "POS_Y", "POS_Z"
    with open(cache.filepath, "rb") as file:
        frames = struct.unpack("<12siiffi", file.read(32))[5]
    bpy.context.scene.frame_start, bpy.context.scene.frame_end = 1, frames
    bpy.context.view_layer.objects.active = made
    made.select_set(True)
    return made


def stick(start, end, thick, thin, color):
    """A cone from one point to another."""
    length = (end - start).length
    bpy.ops.mesh.primitive_cone_add(vertices=6, radius1=thick, radius2=thin, depth=length)
    made = bpy.context.object
    turn = (end - start).to_track_quat("Z", "Y")
    made.matrix_world = Matrix.Translation((start + end) / 2) @ turn.to_matrix().to_4x4()
    paint(made.data, color)


def cones(armature, shift):
    """The bones as meshes, since a render does not show bones; and, thinner, what joins them to their parents' ends."""
    size = max(bone.length for bone in armature.pose.bones)
    for bone in armature.pose.bones:
        head, tail = (shift + armature.matrix_world @ point for point in (bone.head, bone.tail))
        stick(head, tail, 0.09 * (tail - head).length, 0, (0.85, 0.33, 0.05, 1))
        if bone.parent is None:
            continue
        end = shift + armature.matrix_world @ bone.parent.tail
        if (end - head).length > 0.01 * size:
            stick(end, head, 0.008 * size, 0.008 * size, (0.35, 0.35, 0.35, 1))


def paint(mesh, color):
    """One colour for all vertices."""
    while mesh.color_attributes:
        mesh.color_attributes.remove(mesh.color_attributes[0])
    attribute = mesh.color_attributes.new("paint", "FLOAT_COLOR", "POINT")
    attribute.data.foreach_set("color", list(color) * len(mesh.vertices))


def frozen(source, shift, heat):
    """What the object looks like in this frame, beside it."""
    graph = bpy.context.evaluated_depsgraph_get()
    mesh = bpy.data.meshes.new_from_object(source.evaluated_get(graph), preserve_all_data_layers=True, depsgraph=graph)
    if not heat:
        paint(mesh, (0.75, 0.75, 0.75, 1))
    for polygon in mesh.polygons:
        polygon.use_smooth = True
    made = bpy.data.objects.new("frozen", mesh)
    made.matrix_world = Matrix.Translation(shift) @ source.matrix_world
    bpy.context.scene.collection.objects.link(made)
    return made


def render(source, mesh, path):
    scene = bpy.context.scene
    scene.frame_set(scene.frame_start + 11)
    points = [source.matrix_world @ Vector(corner) for corner in source.bound_box]
    low, high = (Vector([pick(p[i] for p in points) for i in range(3)]) for pick in (min, max))
    apart = Vector((0, 1.15 * (high.y - low.y), 0))
    for place, (thing, heat) in enumerate(((source, False), (mesh, True))):
        frozen(thing, place * apart, heat)
    cones(mesh.parent, 2 * apart)
    for thing in (source, mesh, mesh.parent):
        thing.hide_render = True
    middle = (low + high) / 2 + apart
    camera = bpy.data.objects.new("camera", bpy.data.cameras.new("camera"))
    scene.collection.objects.link(camera)
    camera.data.type, camera.data.ortho_scale = "ORTHO", 3.4 * (high.y - low.y)
    camera.location = middle + Vector((10 * (high - low).length, 0, 0.4 * (high - low).length))
    camera.rotation_euler = (middle - camera.location).to_track_quat("-Z", "Y").to_euler()
    camera.data.clip_end = 100 * (high - low).length
    scene.camera = camera
    scene.render.engine = "BLENDER_WORKBENCH"
    scene.display.shading.light, scene.display.shading.color_type = "STUDIO", "VERTEX"
    scene.display.shading.show_cavity = True
    scene.render.film_transparent = False
    scene.world = bpy.data.worlds.new("world")
    scene.world.color = (1, 1, 1)
    scene.display.render_aa = "8"
    scene.view_settings.view_transform = "Standard"
    scene.render.resolution_x, scene.render.resolution_y = 960, 240
    scene.render.filepath = os.path.abspath(path)
    bpy.ops.render.render(write_still=True)


def show_seconds(source):
    from sinew_rig import operators

    bpy.context.scene.sinew.bones = 20
    start = time.perf_counter()
    task = operators.Task(bpy.context, source)
    while task._job is None:
        task.step(bpy.context)
    sampled = time.perf_counter()
    task._job.wait()
    solved = time.perf_counter()
    armature = task.wait(bpy.context)
    built = time.perf_counter()
    task.close(bpy.context)
    for frame in range(bpy.context.scene.frame_start, bpy.context.scene.frame_end + 1):
        bpy.context.scene.frame_set(frame)
    played = time.perf_counter()
    result = armature.sinew_result
    print("%d bones, E_RMS %.3g" % (result.bones, result.e_rms))
    print("reading %.2f s, solving and evaluating %.2f s (the solve itself %.2f), building %.2f s: %.2f s; "
          "playing once %.2f s" % (sampled - start, solved - sampled, result.seconds, built - solved, built - start,
                                   played - built))


def show_seconds_in_the_window():
    """Presses the button, as an artist does, and plays what comes of it; then ends Blender."""
    bpy.context.scene.sinew.bones = 20
    window = bpy.context.window_manager.windows[0]
    area = next(area for area in window.screen.areas if area.type == "VIEW_3D")
    region = next(region for region in area.regions if region.type == "WINDOW")
    start = time.perf_counter()
    with bpy.context.temp_override(window=window, area=area, region=region):
        assert bpy.ops.sinew.solve("INVOKE_DEFAULT") == {"RUNNING_MODAL"}
    played = []

    def look():
        made = [thing for thing in bpy.data.objects if thing.type == "ARMATURE" and thing.sinew_result.bones > 0]
        if not made:
            return 0.02
        if not played:
            with bpy.context.temp_override(window=window, area=area, region=region):
                bpy.ops.screen.animation_play()
            bpy.app.handlers.frame_change_post.append(lambda *_: played.append(time.perf_counter()))
            played.append(time.perf_counter())
        if len(played) < 3:  # two frames have been shown
            return 0.02
        result = made[0].sinew_result
        print("%d bones, E_RMS %.3g, the solve itself %.2f s" % (result.bones, result.e_rms, result.seconds))
        print("armature there after %.2f s, playing after %.2f s" % (played[0] - start, played[1] - start))
        sys.stdout.flush()
        os._exit(0)  # Blender would ask whether to save

    bpy.app.timers.register(look, first_interval=0.02)


def main():
    source = load()
    import addon_utils

    addon_utils.enable("sinew_rig", default_set=True)
    if len(arguments) == 3:
        if bpy.app.background:
            show_seconds(source)
        else:
            bpy.app.timers.register(show_seconds_in_the_window, first_interval=1.0)
        return
    settings = bpy.context.scene.sinew
    settings.skeleton, settings.bones, settings.quality = True, 24, "fast"
    bpy.ops.sinew.solve()
    render(source, bpy.context.object.children[0], arguments[3])


main()
