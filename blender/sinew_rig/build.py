"""A rig as Blender objects: armature, keyed bones, mesh with vertex groups, shape keys."""

import bpy
import numpy
from mathutils import Matrix, Quaternion, Vector

HEAT_MAP = "Sinew error"
_LINEAR = 1  # of Keyframe.interpolation, as foreach_set takes it


def _action_for(owner, name):
    action = bpy.data.actions.new(name)
    owner.animation_data_create()
    owner.animation_data.action = action
    if hasattr(action, "slots"):  # Blender 4.4 and later: who is moved by which part of an action
        owner.animation_data.action_slot = action.slots.new(id_type=owner.id_type, name=owner.name)
    return action


def _key(owner, action, path, index, frames, values, group):
    """A curve with one linear key per frame."""
    if hasattr(action, "fcurves"):
        curve = action.fcurves.new(path, index=index, **({"action_group": group} if group else {}))
    else:  # Blender 5: curves belong to a slot
        curve = action.fcurve_ensure_for_datablock(owner, path, index=index, group_name=group or "")
    curve.keyframe_points.add(len(frames))
    places = numpy.empty(2 * len(frames), numpy.float32)
    places[0::2], places[1::2] = frames, values
    curve.keyframe_points.foreach_set("co", places)
    curve.keyframe_points.foreach_set("interpolation", numpy.full(len(frames), _LINEAR, numpy.int32))
    curve.update()


def _tail(node, rig, size):
    """Where to end a bone: affine bones point along Y so that their stretch stays along axes."""
    if rig.rigid and node.tail is not None and numpy.linalg.norm(node.tail - node.head) > 1e-3 * size:
        return node.tail
    return node.head + numpy.array([0.0, 0.05 * size, 0.0])


def _add_bones(armature_object, rig, size):
    """Edit bones for all nodes; returns their names, which Blender may have changed."""
    bpy.context.view_layer.objects.active = armature_object
    bpy.ops.object.mode_set(mode="EDIT")
    bones = []
    for node in rig.nodes:
        bone = armature_object.data.edit_bones.new(node.name)
        bone.head, bone.tail = Vector(node.head), Vector(_tail(node, rig, size))
        if node.parent >= 0:
            bone.parent = bones[node.parent]
        bone.use_deform = node.joint >= 0
        bones.append(bone)
    names = [bone.name for bone in bones]
    bpy.ops.object.mode_set(mode="OBJECT")
    return names


def _continuous(quaternions):
    """Signs such that neighbours are on one side."""
    turns = numpy.sum(quaternions[1:] * quaternions[:-1], axis=1) < 0
    signs = numpy.where(numpy.cumsum(turns) % 2 == 1, -1.0, 1.0)
    quaternions[1:] *= signs[:, None]
    return quaternions


def _key_bone(armature_object, action, node, name, frames):
    """With R the rest orientation of the bone, a node that moves by T·Q·S moves it by R⁻¹·T·Q·S·R."""
    bone = armature_object.data.bones[name]
    turn = bone.matrix_local.to_quaternion()
    pose = armature_object.pose.bones[name]
    pose.rotation_mode = "QUATERNION"
    path = 'pose.bones["%s"].' % bpy.utils.escape_identifier(name)
    if node.translation is not None:
        away = (node.translation - node.rest) @ numpy.array(turn.to_matrix())
        for axis in range(3):
            _key(armature_object, action, path + "location", axis, frames, away[:, axis], name)
    if node.rotation is not None:
        back = turn.inverted()
        local = numpy.array([back @ Quaternion((q[3], q[0], q[1], q[2])) @ turn for q in node.rotation])
        local = _continuous(local)
        for part in range(4):
            _key(armature_object, action, path + "rotation_quaternion", part, frames, local[:, part], name)
    if node.scale is not None:
        for axis in range(3):
            _key(armature_object, action, path + "scale", axis, frames, node.scale[:, axis], name)


def _add_groups(mesh_object, rig, names):
    of_joint = {node.joint: mesh_object.vertex_groups.new(name=name)
                for node, name in zip(rig.nodes, names) if node.joint >= 0}
    vertices, slots = numpy.nonzero(rig.weights > 0)
    joints, weights = rig.joints[vertices, slots], rig.weights[vertices, slots]
    order = numpy.lexsort((weights, joints))  # one call for all vertices with the same weight
    vertices, joints, weights = vertices[order], joints[order], weights[order]
    ends = 1 + numpy.nonzero((numpy.diff(joints) != 0) | (numpy.diff(weights) != 0))[0]
    for part in numpy.split(numpy.arange(len(order)), ends):
        if len(part) > 0:
            of_joint[int(joints[part[0]])].add(vertices[part].tolist(), float(weights[part[0]]), "REPLACE")


def _add_corrections(mesh_object, rig, frames, name):
    """Shape keys whose values are keyed; sliders reach as far as the values do."""
    if len(rig.offsets) == 0:
        return
    mesh_object.shape_key_add(name="Basis", from_mix=False)
    rest = numpy.empty(len(mesh_object.data.vertices) * 3, numpy.float32)
    mesh_object.data.vertices.foreach_get("co", rest)
    keys = mesh_object.data.shape_keys
    action = _action_for(keys, name)
    for r, offsets in enumerate(rig.offsets):
        key = mesh_object.shape_key_add(name="Correction %d" % (r + 1), from_mix=False)
        key.data.foreach_set("co", rest + offsets.ravel())
        values = rig.coefficients[:, r]
        key.slider_min = max(-10.0, min(0.0, float(values.min())))
        key.slider_max = min(10.0, max(1.0, float(values.max())))
        path = 'key_blocks["%s"].value' % bpy.utils.escape_identifier(key.name)
        _key(keys, action, path, 0, frames, values, None)


def _add_heat_map(mesh, percent):
    """Error of each vertex as a colour: blue where it is 0, red where it is largest."""
    values = numpy.asarray(percent, float)
    share = values / max(float(values.max()), 1e-12)
    colors = numpy.ones((len(values), 4), numpy.float32)
    colors[:, 0] = numpy.clip(2 * share - 0.5, 0, 1)
    colors[:, 1] = 1 - numpy.abs(2 * share - 1)
    colors[:, 2] = numpy.clip(1 - 2 * share, 0, 1)
    if HEAT_MAP in mesh.attributes:  # of an earlier solve whose result this one starts from
        mesh.attributes.remove(mesh.attributes[HEAT_MAP])
    attribute = mesh.color_attributes.new(HEAT_MAP, "FLOAT_COLOR", "POINT")
    attribute.data.foreach_set("color", colors.ravel())


def _rest_mesh(context, source, frame, positions):
    """A mesh of its own with everything that the evaluated one has: materials, UVs, attributes."""
    context.scene.frame_set(frame)
    depsgraph = context.evaluated_depsgraph_get()
    mesh = bpy.data.meshes.new_from_object(source.evaluated_get(depsgraph), preserve_all_data_layers=True,
                                           depsgraph=depsgraph)
    mesh.vertices.foreach_set("co", positions.ravel())
    mesh.update()
    return mesh


class _NothingNew:
    """Takes away again what was made inside it when that fails: all of a result is there, or nothing."""

    _KINDS = ("objects", "armatures", "meshes", "actions")

    def __init__(self, context):
        self._context = context
        self._before = {kind: set(getattr(bpy.data, kind)) for kind in self._KINDS}
        self._selected = list(context.selected_objects)
        self._active = context.view_layer.objects.active

    def __enter__(self):
        return self

    def __exit__(self, kind, _problem, _trace):
        if kind is None:
            return
        if self._context.mode != "OBJECT":
            bpy.ops.object.mode_set(mode="OBJECT")
        for name in self._KINDS:
            collection = getattr(bpy.data, name)
            for made in set(collection) - self._before[name]:
                collection.remove(made)
        for thing in self._selected:
            thing.select_set(True)
        self._context.view_layer.objects.active = self._active


def build(context, source, sampler, rig, facts, action_name):
    """Armature and mesh in the collections of the source. Returns the armature object; where it fails, it leaves nothing."""
    if len(rig.rest) != sampler.positions.shape[1]:
        raise ValueError("the rig has %d vertices, the mesh %d" % (len(rig.rest), sampler.positions.shape[1]))
    with _NothingNew(context):
        return _build(context, source, sampler, rig, facts, action_name)


def _build(context, source, sampler, rig, facts, action_name):
    size = float(numpy.linalg.norm(numpy.ptp(rig.rest, axis=0))) or 1.0
    mesh = _rest_mesh(context, source, sampler.frames[0], rig.rest)
    mesh.name = source.data.name + " rigged"
    _add_heat_map(mesh, facts["per_vertex_percent"])
    armature_object = bpy.data.objects.new(source.name + " armature", bpy.data.armatures.new(source.name + " armature"))
    mesh_object = bpy.data.objects.new(source.name + " rigged", mesh)
    for collection in source.users_collection:
        collection.objects.link(armature_object)
        collection.objects.link(mesh_object)
    for selected in list(context.selected_objects):
        selected.select_set(False)
    names = _add_bones(armature_object, rig, size)
    action = _action_for(armature_object, action_name)
    for node, name in zip(rig.nodes, names):
        _key_bone(armature_object, action, node, name, sampler.frames)
    mesh_object.vertex_groups.clear()
    _add_groups(mesh_object, rig, names)
    _add_corrections(mesh_object, rig, sampler.frames, action_name + " corrections")
    modifier = mesh_object.modifiers.new("Armature", "ARMATURE")
    modifier.object = armature_object
    mesh_object.parent = armature_object
    mesh_object.matrix_parent_inverse = Matrix.Identity(4)
    armature_object.matrix_world = sampler.matrix
    armature_object.show_in_front = True
    armature_object.data.display_type = "STICK"
    armature_object.select_set(True)
    context.view_layer.objects.active = armature_object
    source.hide_set(True)
    return armature_object
