"""Positions of an object's evaluated mesh, frame by frame."""

import bpy
import numpy


class Refused(Exception):
    """Something that cannot be done, in a sentence for the user."""


def _corners(mesh):
    corners = numpy.empty(len(mesh.loops), numpy.int32)
    mesh.loops.foreach_get("vertex_index", corners)
    return corners


def _positions(mesh):
    points = numpy.empty(len(mesh.vertices) * 3, numpy.float32)
    mesh.vertices.foreach_get("co", points)
    return points.reshape(-1, 3)


def object_called(name):
    """The object; undo and the user may have taken it away meanwhile."""
    found = bpy.data.objects.get(name)
    if found is None:
        raise Refused("the object '%s' is no longer there" % name)
    return found


class Sampler:
    """Samples one frame per call of step(); the scene's frame is put back by restore().

    Positions are in the space of the object as it stands in the first frame, so that an object that moves as a whole
    does so in the frames.
    """

    def __init__(self, context, source, frames):
        self.frames = list(frames)
        self.positions = None  # F×V×3 float32
        self.sizes = None  # corners of each polygon
        self.corners = None
        self.matrix = None  # of the object in the first frame
        self._name = source.name
        self._current = context.scene.frame_current
        self._subframe = context.scene.frame_subframe
        self._next = 0

    @property
    def fraction(self):
        return self._next / len(self.frames)

    def step(self, context):
        """Whether there are frames left after this one."""
        frame = self.frames[self._next]
        context.scene.frame_set(frame)
        evaluated = object_called(self._name).evaluated_get(context.evaluated_depsgraph_get())
        mesh = evaluated.to_mesh()
        try:
            if mesh is None or len(mesh.vertices) == 0:
                raise Refused("frame %d: '%s' has no vertices" % (frame, self._name))
            self._take(mesh, evaluated.matrix_world, frame)
        finally:
            evaluated.to_mesh_clear()
        self._next += 1
        return self._next < len(self.frames)

    def _take(self, mesh, matrix, frame):
        points = _positions(mesh)
        if self._next == 0:
            self.matrix = matrix.copy()
            if abs(self.matrix.determinant()) < 1e-12:
                raise Refused("'%s' has a scale of zero" % self._name)
            self.positions = numpy.empty((len(self.frames), len(points), 3), numpy.float32)
            self.corners = _corners(mesh)
            self.sizes = numpy.empty(len(mesh.polygons), numpy.int32)
            mesh.polygons.foreach_get("loop_total", self.sizes)
        elif len(points) != self.positions.shape[1]:
            raise Refused("frame %d: %d vertices, frame %d has %d: the topology has to stay the same"
                          % (frame, len(points), self.frames[0], self.positions.shape[1]))
        elif not numpy.array_equal(_corners(mesh), self.corners):
            raise Refused("frame %d: its faces are not those of frame %d: the topology has to stay the same"
                          % (frame, self.frames[0]))
        if not numpy.isfinite(points).all():
            raise Refused("frame %d: a vertex is nowhere (not a finite number)" % frame)
        moved = numpy.array(self.matrix.inverted() @ matrix)
        if numpy.array_equal(moved, numpy.identity(4)):
            self.positions[self._next] = points
        else:
            self.positions[self._next] = points @ moved[:3, :3].T + moved[:3, 3]

    def save(self, path, fps):
        """An NPZ for sinew."""
        times = numpy.array(self.frames, float) / fps
        numpy.savez(path, frames=self.positions, rest=self.positions[0], times=times - times[0],
                    face_sizes=self.sizes.astype(numpy.int64), corners=self.corners.astype(numpy.int64))

    def restore(self, context):
        context.scene.frame_set(self._current, subframe=self._subframe)
