"""Animated meshes of every kind that Blender has, small ones."""

import math
import struct

import bpy

FRAMES = 10


def empty():
    bpy.ops.wm.read_factory_settings(use_empty=True)
    import addon_utils

    addon_utils.enable("sinew_rig", default_set=True)
    scene = bpy.context.scene
    scene.frame_start, scene.frame_end = 1, FRAMES
    return scene


def tube(name="tube", rings=15, sides=8, material=True):
    """A tapered tube along x with UVs and two materials: nothing about it is symmetric."""
    vertices, faces = [], []
    for r in range(rings):
        for s in range(sides):
            angle, radius = 2 * math.pi * s / sides, 0.5 - 0.02 * r
            vertices.append((0.2 * r, radius * math.cos(angle), 1.3 * radius * math.sin(angle)))
    for r in range(rings - 1):
        for s in range(sides):
            a, b = r * sides + s, r * sides + (s + 1) % sides
            faces.append((a, b, b + sides, a + sides))
    mesh = bpy.data.meshes.new(name)
    mesh.from_pydata(vertices, [], faces)
    layer = mesh.uv_layers.new(name="Unwrapped")
    for i, loop in enumerate(layer.data):
        loop.uv = (0.01 * i % 1.0, 0.37 * i % 1.0)
    if material:
        for number in range(2):
            mesh.materials.append(bpy.data.materials.new("%s material %d" % (name, number)))
        for polygon in mesh.polygons:
            polygon.material_index = polygon.index % 2
    made = bpy.data.objects.new(name, mesh)
    bpy.context.scene.collection.objects.link(made)
    activate(made)
    return made


def activate(thing):
    for other in bpy.context.selected_objects:
        other.select_set(False)
    thing.select_set(True)
    bpy.context.view_layer.objects.active = thing
    bpy.context.view_layer.update()


def keyed_shapes():
    """Two shape keys that come and go, and an object that is scaled, turned and moves."""
    made = tube("shapes")
    made.shape_key_add(name="Basis")
    for name, bend in (("bend", 0.3), ("lift", -0.2)):
        key = made.shape_key_add(name=name)
        for v, point in enumerate(key.data):
            x = point.co.x
            point.co.z += bend * x * x if name == "bend" else bend * math.sin(2 * x)
            point.co.y += 0.1 * bend * x
    for frame in range(1, FRAMES + 1):
        keys = made.data.shape_keys.key_blocks
        keys["bend"].value = frame / FRAMES
        keys["lift"].value = abs(math.sin(frame))
        for key in (keys["bend"], keys["lift"]):
            key.keyframe_insert("value", frame=frame)
    made.data.shape_keys.animation_data.action.name = "Faces"
    made.scale = (2.0, 1.5, 1.7)
    made.rotation_euler = (0.3, 0.2, 0.1)
    for frame, place in ((1, (1, 2, 3)), (FRAMES, (2, 2, 3.5))):
        made.location = place
        made.keyframe_insert("location", frame=frame)
    made.animation_data.action.name = "Walkabout"
    return made


def skinned():
    """A tube that three bones of an armature bend."""
    made = tube("skinned")
    armature = bpy.data.objects.new("bones", bpy.data.armatures.new("bones"))
    bpy.context.scene.collection.objects.link(armature)
    activate(armature)
    bpy.ops.object.mode_set(mode="EDIT")
    parent = None
    for b in range(3):
        bone = armature.data.edit_bones.new("bone%d" % b)
        bone.head, bone.tail = (1.0 * b, 0, 0), (1.0 * b + 0.9, 0, 0)
        bone.parent = parent
        parent = bone
    bpy.ops.object.mode_set(mode="OBJECT")
    groups = [made.vertex_groups.new(name="bone%d" % b) for b in range(3)]
    for vertex in made.data.vertices:
        for b, group in enumerate(groups):
            weight = max(0.0, 1 - abs(vertex.co.x - (b + 0.5)))
            group.add([vertex.index], weight + 0.01, "REPLACE")
    made.modifiers.new("Armature", "ARMATURE").object = armature
    for b, pose in enumerate(armature.pose.bones):
        pose.rotation_mode = "XYZ"
        for frame in range(1, FRAMES + 1):
            pose.rotation_euler = (0.05 * frame * b, 0.0, 0.09 * frame)
            pose.keyframe_insert("rotation_euler", frame=frame)
    armature.animation_data.action.name = "Bend"
    activate(made)
    return made


def cloth():
    """A sheet that falls, pinned at a corner."""
    bpy.ops.mesh.primitive_grid_add(x_subdivisions=10, y_subdivisions=8, size=2)
    made = bpy.context.object
    made.name = "cloth"
    pin = made.vertex_groups.new(name="pin")
    pin.add([0, 1, 11], 1.0, "REPLACE")
    modifier = made.modifiers.new("Cloth", "CLOTH")
    modifier.settings.vertex_group_mass = "pin"
    modifier.settings.quality = 3
    modifier.point_cache.frame_start, modifier.point_cache.frame_end = 1, FRAMES
    bpy.context.view_layer.update()
    return made


def generated():
    """Vertices that only modifiers make: a subdivided, waving tube."""
    made = tube("generated", rings=6, sides=5)
    made.modifiers.new("Subdivision", "SUBSURF").levels = 1
    wave = made.modifiers.new("Wave", "WAVE")
    wave.height, wave.width, wave.speed = 0.4, 1.0, 0.2
    bpy.context.view_layer.update()
    return made


def cached(path):
    """A tube whose frames come from a PC2 file."""
    made = tube("cached")
    points = [tuple(vertex.co) for vertex in made.data.vertices]
    with open(path, "wb") as file:
        file.write(struct.pack("<12siiffi", b"POINTCACHE2\0", 1, len(points), 1.0, 1.0, FRAMES))
        for f in range(FRAMES):
            for x, y, z in points:
                file.write(struct.pack("<3f", x, y + 0.02 * f * x * x, z - 0.1 * f * math.sin(x)))
    cache = made.modifiers.new("MeshCache", "MESH_CACHE")
    cache.cache_format, cache.filepath = "PC2", path
    cache.frame_start = 1
    cache.forward_axis, cache.up_axis = "POS_Y", "POS_Z"  # as they are in the file
    bpy.context.view_layer.update()
    return made


def geometry_nodes():
    """A tube that nodes shear along z, more in every second."""
    made = tube("nodes")
    group = bpy.data.node_groups.new("shear", "GeometryNodeTree")
    if hasattr(group, "interface"):
        group.interface.new_socket("Geometry", in_out="INPUT", socket_type="NodeSocketGeometry")
        group.interface.new_socket("Geometry", in_out="OUTPUT", socket_type="NodeSocketGeometry")
    else:
        group.inputs.new("NodeSocketGeometry", "Geometry")
        group.outputs.new("NodeSocketGeometry", "Geometry")
    nodes = {name: group.nodes.new(name) for name in (
        "NodeGroupInput", "NodeGroupOutput", "GeometryNodeSetPosition", "GeometryNodeInputPosition",
        "GeometryNodeInputSceneTime", "ShaderNodeSeparateXYZ", "ShaderNodeCombineXYZ", "ShaderNodeMath")}
    nodes["ShaderNodeMath"].operation = "MULTIPLY"

    def link(source, output, target, socket):
        group.links.new(nodes[source].outputs[output], nodes[target].inputs[socket])

    link("NodeGroupInput", 0, "GeometryNodeSetPosition", "Geometry")
    link("GeometryNodeSetPosition", 0, "NodeGroupOutput", 0)
    link("GeometryNodeInputPosition", 0, "ShaderNodeSeparateXYZ", 0)
    link("ShaderNodeSeparateXYZ", "X", "ShaderNodeMath", 0)
    link("GeometryNodeInputSceneTime", "Seconds", "ShaderNodeMath", 1)
    link("ShaderNodeMath", 0, "ShaderNodeCombineXYZ", "Z")
    link("ShaderNodeCombineXYZ", 0, "GeometryNodeSetPosition", "Offset")
    made.modifiers.new("Nodes", "NODES").node_group = group
    bpy.context.view_layer.update()
    return made


def growing():
    """More and more copies: from frame 6 on there are more vertices."""
    made = tube("growing", rings=5, sides=5)
    array = made.modifiers.new("Array", "ARRAY")
    for frame, count in ((1, 1), (5, 1), (6, 2)):
        array.count = count
        array.keyframe_insert("count", frame=frame)
    return made


def remeshed():
    """As many vertices in every frame, but other faces from frame 4 on."""
    made = tube("remeshed", rings=5, sides=5)
    decimate = made.modifiers.new("Triangulate", "TRIANGULATE")
    for frame, minimum in ((1, 5), (3, 5), (4, 4)):
        decimate.min_vertices = minimum
        decimate.keyframe_insert("min_vertices", frame=frame)
    return made
