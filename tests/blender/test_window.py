"""blender --factory-startup --enable-event-simulate --python test_window.py -- ADDON.zip PROGRAM RESULT

The solve as an artist meets it: in a window (under Xvfb), with Blender running on. Writes "ok" or what failed to RESULT.
"""

import os
import sys
import tempfile
import time
import traceback
import zipfile

import bpy

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
ZIP, PROGRAM, RESULT = map(os.path.abspath, sys.argv[sys.argv.index("--") + 1:])
os.environ["SINEW_PROGRAM"] = PROGRAM
home = tempfile.mkdtemp(prefix="sinew-addon-")
with zipfile.ZipFile(ZIP) as archive:
    archive.extractall(home)
sys.path.insert(0, home)

import scenes  # noqa: E402


def armatures():
    return [thing for thing in bpy.data.objects if thing.name.endswith(" armature")]


def invoke():
    window = bpy.context.window_manager.windows[0]
    area = next(area for area in window.screen.areas if area.type == "VIEW_3D")
    region = next(region for region in area.regions if region.type == "WINDOW")
    with bpy.context.temp_override(window=window, area=area, region=region):
        return bpy.ops.sinew.solve("INVOKE_DEFAULT")


def until(true, seconds=120):
    """Lets Blender run on until something is true."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "waited in vain"
        yield


def story():
    """Each yield hands over to Blender for a while."""
    import addon_utils

    addon_utils.enable("sinew_rig", default_set=True)
    scene = bpy.context.scene
    for thing in list(bpy.data.objects):
        bpy.data.objects.remove(thing)
    scene.frame_start, scene.frame_end = 1, scenes.FRAMES
    source = scenes.skinned()
    name = source.name
    scene.frame_set(3)
    scene.sinew.bones = 3
    bpy.ops.ed.undo_push(message="the scene")
    yield

    # A solve runs beside Blender and is undone by one step.
    assert invoke() == {"RUNNING_MODAL"}
    ticks = 0
    for _ in until(armatures):
        ticks += 1
        yield
    assert ticks > 1, "Blender stood still"
    assert bpy.data.objects[name].hide_get()
    assert bpy.context.scene.frame_current == 3
    yield
    bpy.ops.ed.undo()
    yield
    assert not armatures(), "one undo is not enough"
    assert name in bpy.data.objects and not bpy.data.objects[name].hide_get()
    bpy.ops.ed.redo()
    yield
    assert armatures(), "redo does not bring it back"
    bpy.ops.ed.undo()
    yield

    # Esc ends one that would take long, and nothing has changed.
    scenes.activate(bpy.data.objects[name])
    bpy.context.scene.sinew.quality = "best"
    bpy.context.scene.sinew.bones = 14
    before = set(bpy.data.objects.keys())
    assert invoke() == {"RUNNING_MODAL"}
    for _ in range(20):
        yield
    assert not armatures(), "it was done too soon to be cancelled"
    bpy.context.window_manager.windows[0].event_simulate(type="ESC", value="PRESS", x=100, y=100)
    for _ in range(20):
        yield
    assert set(bpy.data.objects.keys()) == before
    assert not left_behind()

    # Frames are read as fast as Blender evaluates them, not one per look; yet it is looked at meanwhile.
    import sinew_rig.operators as operators

    bpy.context.scene.sinew.quality, bpy.context.scene.sinew.bones = "fast", 3
    bpy.context.scene.sinew.use_range, bpy.context.scene.sinew.frame_end = True, 400
    plain, steps, looks = operators.sample.Sampler.step, [], 0

    def counted(sampler, context):
        steps.append(time.monotonic())
        return plain(sampler, context)

    operators.sample.Sampler.step = counted
    assert invoke() == {"RUNNING_MODAL"}
    for _ in until(lambda: len(steps) == 400):
        looks += 1
        yield
    operators.sample.Sampler.step = plain
    assert looks > 1 and steps[-1] - steps[0] < 400 * 0.05 / 3, (looks, steps[-1] - steps[0])
    for _ in until(armatures):
        yield
    bpy.ops.ed.undo()
    yield

    # Something that nobody foresaw ends the solve as well: no timer, no files, nothing made.
    scenes.activate(bpy.data.objects[name])
    bpy.context.scene.sinew.use_range = False
    before = set(bpy.data.objects.keys())
    calls = []

    def fail(_task, _context, _seconds=0.0):
        calls.append(time.monotonic())
        raise LookupError("a failure of this test's own")

    plain, operators.Task.step = operators.Task.step, fail
    assert invoke() == {"RUNNING_MODAL"}
    for _ in until(lambda: calls):
        yield
    for _ in range(10):
        yield
    operators.Task.step = plain
    assert len(calls) == 1, "it goes on being looked at"
    assert set(bpy.data.objects.keys()) == before and not left_behind()


def left_behind():
    return [f for f in os.listdir(tempfile.gettempdir()) if f.startswith("sinew-") and f != os.path.basename(home)]


steps = story()


def tick():
    try:
        next(steps)
        return 0.05
    except StopIteration:
        said = "ok"
    except BaseException:
        said = traceback.format_exc()
    with open(RESULT, "w") as file:
        file.write(said)
    os._exit(0 if said == "ok" else 1)  # Blender would ask whether to save


bpy.app.timers.register(tick, first_interval=1.0)
