"""Where Blender shows the vertices of an object, for every check that runs in Blender."""
import bpy
import numpy


def posed(thing):
    """V×3 world positions in the current frame, Z up."""
    evaluated = thing.evaluated_get(bpy.context.evaluated_depsgraph_get())
    mesh = evaluated.to_mesh()
    points = numpy.empty(len(mesh.vertices) * 3)
    mesh.vertices.foreach_get("co", points)
    evaluated.to_mesh_clear()
    return in_world(thing, points)


def in_world(thing, points):
    """Positions of an object's own space, one number after another, as V×3 of the world."""
    matrix = numpy.array(thing.evaluated_get(bpy.context.evaluated_depsgraph_get()).matrix_world)
    return points.reshape(-1, 3) @ matrix[:3, :3].T + matrix[:3, 3]


def to_y_up(points):
    return numpy.stack([points[:, 0], points[:, 2], -points[:, 1]], axis=1)
