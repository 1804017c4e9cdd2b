"""Estimate and solve."""

import os
import shutil
import tempfile
import time
import traceback

import bpy
import numpy

from . import build, glb, sample, solver

_TICK = 0.05  # seconds between two looks at a solve that runs beside Blender
_BUSY = 0.04  # of them for reading frames: the rest is Blender's


def program_of(context):
    """Path of the program, or None where the module is to be used or there is none. A path that is set has to exist."""
    addon = context.preferences.addons.get(__package__)
    preferred = addon.preferences.program if addon else ""
    if preferred:
        found = solver.find_program(bpy.path.abspath(preferred))
        if found is None:
            raise solver.Failed("%s: there is no such program" % preferred)
        return found
    return None if solver.module() is not None else solver.find_program()


def action_name(source):
    """Like the action that moves the source: its own, its shape keys' or its armature's."""
    owners = [source, source.data.shape_keys if source.data else None]
    owners += [modifier.object for modifier in source.modifiers if modifier.type == "ARMATURE"]
    for owner in owners:
        if owner is not None and owner.animation_data and owner.animation_data.action:
            return owner.animation_data.action.name + " (Sinew)"
    return source.name + " (Sinew)"


class Task:
    """A solve from the selected mesh to the armature, in steps short enough for Blender to stay usable."""

    def __init__(self, context, source):
        settings = context.scene.sinew
        frames = settings.frames(context.scene)
        if source is None or source.type != "MESH":
            raise sample.Refused("select a mesh object first")
        if len(frames) == 0:
            raise sample.Refused("the frame range is empty")
        self._name = source.name
        self.message, self.fraction = "Reading frames", 0.0
        self._options = settings.options()
        self._program = program_of(context)
        if self._program is None and solver.module() is None:
            raise solver.Failed("the sinew program was not found: set its path in the preferences of the add-on")
        self._sampler = sample.Sampler(context, source, frames)
        self._folder = tempfile.mkdtemp(prefix="sinew-")
        self._sampling = True
        self._job = None

    def step(self, context, seconds=0.0):
        """Does a little: reads one frame, and more while so many seconds have not passed. The armature object once it is
        there, else None. Raises Refused and Failed."""
        if self._sampling:
            end = time.monotonic() + seconds
            self._sampling = self._sampler.step(context)
            while self._sampling and time.monotonic() < end:
                self._sampling = self._sampler.step(context)
            self.fraction = self._sampler.fraction
            if not self._sampling:
                self._sampler.restore(context)
                self._start(context)
            return None
        self.message, self.fraction = self._job.step.capitalize(), self._job.fraction
        return self._finish(context) if self._job.done else None

    def wait(self, context):
        """The rest at once, for scripts."""
        made = None
        while made is None:
            made = self.step(context)
            if made is None and self._job is not None:
                self._job.wait()
        return made

    def _start(self, context):
        npz, made = (os.path.join(self._folder, name) for name in ("sequence.npz", "rig.glb"))
        fps = context.scene.render.fps / context.scene.render.fps_base
        self._sampler.save(npz, fps)
        self._job = solver.make_job(self._program, npz, made, self._options).start()

    def _finish(self, context):
        facts = self._job.result()
        rig = glb.read(self._job.glb)
        source = sample.object_called(self._name)
        try:
            armature = build.build(context, source, self._sampler, rig, facts, action_name(source))
        finally:
            self._sampler.restore(context)
        result = armature.sinew_result
        result.bones = sum(node.joint >= 0 for node in rig.nodes)
        for name in (*solver.FACTS, "influences", "seconds", "remark"):
            setattr(result, name, facts[name])
        return armature

    def close(self, context):
        """Stops what still runs and removes the files."""
        if self._job is not None and not self._job.done:
            self._job.cancel()
            self._job.wait()
        if self._sampling:
            self._sampler.restore(context)
        shutil.rmtree(self._folder, ignore_errors=True)


class SINEW_OT_solve(bpy.types.Operator):
    """Make an armature with weights and motion from the animated mesh"""

    bl_idname = "sinew.solve"
    bl_label = "Solve"
    bl_options = {"REGISTER", "UNDO"}

    _task = None
    _timer = None
    _told = None

    @classmethod
    def poll(cls, context):
        return context.object is not None and context.object.type == "MESH" and context.mode == "OBJECT"

    def execute(self, context):
        try:
            self._task = Task(context, context.object)
            self._report_made(self._task.wait(context))
            return {"FINISHED"}
        except Exception as problem:
            return self._failed(problem)
        finally:
            if self._task:
                self._task.close(context)

    def invoke(self, context, event):
        try:
            self._task = Task(context, context.object)
        except Exception as problem:
            return self._failed(problem)
        self._timer = context.window_manager.event_timer_add(_TICK, window=context.window)
        context.window_manager.progress_begin(0, 100)
        context.window_manager.modal_handler_add(self)
        return {"RUNNING_MODAL"}

    def modal(self, context, event):
        if event.type == "ESC" and event.value == "PRESS":
            self._end(context)
            self.report({"INFO"}, "Sinew: cancelled, nothing was changed")
            return {"CANCELLED"}
        if event.type != "TIMER":
            return {"PASS_THROUGH"}
        try:
            made = self._task.step(context, _BUSY)
        except Exception as problem:
            self._end(context)
            return self._failed(problem)
        if made is not None:
            self._end(context)
            self._report_made(made)
            return {"FINISHED"}
        self._tell(context)
        return {"PASS_THROUGH"}

    def _tell(self, context):
        """How far it is, where that is news: to show it, Blender draws."""
        percent = round(100 * self._task.fraction)
        text = "Sinew: %s%s — Esc cancels" % (self._task.message, "" if percent < 0 else " %d %%" % percent)
        if text == self._told:
            return
        self._told = text
        context.workspace.status_text_set(text)
        context.window_manager.progress_update(max(0, percent))

    def cancel(self, context):
        """Blender is closing the file."""
        self._end(context)

    def _end(self, context):
        context.window_manager.event_timer_remove(self._timer)
        context.window_manager.progress_end()
        context.workspace.status_text_set(None)
        self._task.close(context)

    def _failed(self, problem):
        """Says it; of what nobody foresaw, the console says where it happened."""
        if not isinstance(problem, (sample.Refused, solver.Failed, ValueError)):
            traceback.print_exception(type(problem), problem, problem.__traceback__)
        self.report({"ERROR"}, str(problem) or type(problem).__name__)
        return {"CANCELLED"}

    def _report_made(self, armature):
        result = armature.sinew_result
        text = "%d bones, E_RMS %.3g, %.1f s" % (result.bones, result.e_rms, result.seconds)
        self.report({"INFO"}, text + ("; " + result.remark if result.remark else ""))


class SINEW_OT_estimate(bpy.types.Operator):
    """Say what memory and time the solve will take"""

    bl_idname = "sinew.estimate"
    bl_label = "Estimate"

    poll = SINEW_OT_solve.poll

    def execute(self, context):
        folder = tempfile.mkdtemp(prefix="sinew-")
        try:
            settings = context.scene.sinew
            frames = settings.frames(context.scene)
            if len(frames) == 0:
                raise sample.Refused("the frame range is empty")
            sampler = sample.Sampler(context, context.object, [context.scene.frame_current])
            sampler.step(context)
            # Costs hang on the sizes alone: one frame stands for all.
            sampler.frames = list(frames)
            sampler.positions = numpy.repeat(sampler.positions, len(frames), axis=0)
            sampler.save(os.path.join(folder, "sequence.npz"), 1.0)
            memory, seconds = solver.estimate(program_of(context), os.path.join(folder, "sequence.npz"),
                                              settings.options())
        except (sample.Refused, solver.Failed) as problem:
            self.report({"ERROR"}, str(problem))
            return {"CANCELLED"}
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        text = "%d frames: about %.3g s and at most %.3g MB" % (len(frames), seconds, memory / 1e6)
        context.window_manager["sinew_estimate"] = text
        self.report({"INFO"}, text)
        return {"FINISHED"}


_CLASSES = (SINEW_OT_solve, SINEW_OT_estimate)


def register():
    for cls in _CLASSES:
        bpy.utils.register_class(cls)


def unregister():
    for cls in reversed(_CLASSES):
        bpy.utils.unregister_class(cls)
