"""A rig as sinew writes it, read from GLB into plain arrays. Knows nothing of Blender."""

import json
import struct

import numpy

_TYPES = {5120: numpy.int8, 5121: numpy.uint8, 5122: numpy.int16, 5123: numpy.uint16, 5125: numpy.uint32,
          5126: numpy.float32}
_WIDTHS = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4, "MAT4": 16}


class Node:
    """A bone: where it rests, and its motion relative to its parent in every frame."""

    def __init__(self, name, parent, rest, tail, joint):
        self.name = name
        self.parent = parent  # index of an earlier node, or -1
        self.rest = rest  # 3, relative to the parent's
        self.head = rest  # 3
        self.tail = tail  # 3, or None
        self.joint = joint  # number among the columns of the weights, or -1: it moves no vertex itself
        self.translation = None  # F×3, or None: as at rest
        self.rotation = None  # F×4, w last, continuous
        self.scale = None  # F×3


class Rig:
    """Nodes (parents first), weights V×K with joints V×K, morph offsets R×V×3 with coefficients F×R, frames' times."""

    def __init__(self):
        self.nodes = []
        self.joints = None
        self.weights = None
        self.offsets = numpy.zeros((0, 0, 3), numpy.float32)
        self.coefficients = numpy.zeros((0, 0), numpy.float32)
        self.times = numpy.zeros(0)
        self.rest = None  # V×3

    @property
    def rigid(self):
        return all(node.scale is None for node in self.nodes)


class _File:
    def __init__(self, path):
        with open(path, "rb") as file:
            data = file.read()
        magic, _version, length = struct.unpack_from("<4sII", data)
        if magic != b"glTF" or length != len(data):
            raise ValueError("%s: is not a complete GLB file" % path)
        size = struct.unpack_from("<I", data, 12)[0]
        self.json = json.loads(data[20:20 + size])
        self._binary = memoryview(data)[28 + size:]

    def array(self, number):
        accessor = self.json["accessors"][number]
        kind = numpy.dtype(_TYPES[accessor["componentType"]])
        width = _WIDTHS[accessor["type"]]
        if "bufferView" not in accessor:
            return numpy.zeros((accessor["count"], width), kind)
        view = self.json["bufferViews"][accessor["bufferView"]]
        start = view.get("byteOffset", 0) + accessor.get("byteOffset", 0)
        stride = view.get("byteStride", kind.itemsize * width)
        if "sparse" in accessor:
            raise ValueError("sparse accessors are not written by sinew")
        array = numpy.ndarray((accessor["count"], width), kind, self._binary, start, (stride, kind.itemsize))
        return numpy.ascontiguousarray(array)


def _nodes(file, skin):
    """All nodes above joints, parents first, and which of them stands for each node of the file."""
    nodes = file.json["nodes"]
    parent_of = {child: n for n, node in enumerate(nodes) for child in node.get("children", [])}
    number = {n: j for j, n in enumerate(skin["joints"])}
    wanted = set()
    for n in skin["joints"]:
        while n is not None and n not in wanted:
            wanted.add(n)
            n = parent_of.get(n)
    wanted.discard(skin.get("skeleton"))  # what holds them together and never moves
    facts = file.json["asset"].get("extras", {}).get("sinew", {}).get("bones", [])
    out, place = [], {}
    todo = [n for n in sorted(wanted) if parent_of.get(n) not in wanted]
    while todo:
        n = todo.pop(0)
        parent = place.get(parent_of.get(n), -1)
        rest = numpy.array(nodes[n].get("translation", (0, 0, 0)), float)
        joint = number.get(n, -1)
        tail = numpy.array(facts[joint]["tail"], float) if 0 <= joint < len(facts) else None
        node = Node(nodes[n].get("name", "bone"), parent, rest, tail, joint)
        if parent >= 0:
            node.head = out[parent].head + rest
        place[n] = len(out)
        out.append(node)
        todo.extend(nodes[n].get("children", []))
    return out, place


def _set_tracks(file, rig, place, mesh_node):
    animations = file.json.get("animations", [])
    if len(animations) > 1:
        raise ValueError("%d animations, one is expected" % len(animations))
    for animation in animations:
        for channel in animation["channels"]:
            sampler = animation["samplers"][channel["sampler"]]
            values = file.array(sampler["output"])
            rig.times = file.array(sampler["input"])[:, 0].astype(float)
            target = channel["target"]
            if target["path"] == "weights":
                if target["node"] == mesh_node:
                    rig.coefficients = values.reshape(len(rig.times), -1)
            elif target["node"] in place:
                setattr(rig.nodes[place[target["node"]]], target["path"], values.astype(float))


def read(path):
    """The rig in a GLB of one mesh. Raises ValueError where it is not what sinew writes."""
    file = _File(path)
    mesh_node = next((n for n, node in enumerate(file.json["nodes"]) if "mesh" in node and "skin" in node), None)
    if mesh_node is None:
        raise ValueError("%s: has no skinned mesh" % path)
    node = file.json["nodes"][mesh_node]
    primitive = file.json["meshes"][node["mesh"]]["primitives"][0]
    attributes = primitive["attributes"]
    rig = Rig()
    rig.nodes, place = _nodes(file, file.json["skins"][node["skin"]])
    rest = file.array(attributes["POSITION"])
    if "_CONTROL_POINT" in attributes:  # copies of vertices come after the vertices themselves
        count = int(file.array(attributes["_CONTROL_POINT"]).max()) + 1
    else:
        count = len(rest)
    rig.rest = rest[:count]
    sets = sum(name.startswith("JOINTS_") for name in attributes)
    rig.joints = numpy.hstack([file.array(attributes["JOINTS_%d" % i]) for i in range(sets)])[:count]
    rig.weights = numpy.hstack([file.array(attributes["WEIGHTS_%d" % i]) for i in range(sets)])[:count]
    targets = primitive.get("targets", [])
    if targets:
        rig.offsets = numpy.stack([file.array(target["POSITION"])[:count] for target in targets])
    _set_tracks(file, rig, place, mesh_node)
    return rig
