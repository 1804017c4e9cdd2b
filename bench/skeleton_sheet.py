"""A contact sheet of skeletons: every character of SINEW_DATA solved with `--skeleton`, from the front and from the side.

    script/picture --skeletons [--rigs FOLDER] [--out OUT.png] [NAME ...]

Rigs that FOLDER has already (NAME.glb) are shown as they are; the others are solved into it. NAME: only these.
"""

import argparse
import json
import math
import os
import struct
import subprocess
import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.collections import PolyCollection
from PIL import Image

# Name, path below SINEW_DATA, further options of `solve`.
CHARACTERS = [
    ("CesiumMan", "gltf/CesiumMan.glb", []),
    ("Fox", "gltf/Fox.glb", []),
    ("samba-dancing", "fbx/samba-dancing.fbx", ["--fps", "10"]),
    ("mixamo", "fbx/mixamo.fbx", ["--fps", "10"]),
    ("RobotExpressive", "gltf/RobotExpressive.glb", []),
    ("Stork", "gltf/Stork.glb", []),
    ("RiggedFigure", "gltf/RiggedFigure.glb", ["--fps", "30"]),
    ("cat-poses", "sequences/cat-poses", []),
    ("horse-poses", "sequences/horse-poses", []),
    ("lion-poses", "sequences/lion-poses", []),
    ("elephant-poses", "sequences/elephant-poses", []),
    ("horse-gallop", "sequences/horse-gallop", []),
    ("pdance", "sequences/pdance", []),
    ("samba", "sequences/samba", []),
    ("chickenCrossing", "sequences/chickenCrossing", []),
    ("pcow", "sequences/pcow", []),
    ("cheburashka", "sequences/cheburashka", []),
    ("walk", "alembic/walk.abc", []),
]

BODY = np.array([0.93, 0.92, 0.90])
SHADE = np.array([0.62, 0.64, 0.68])
BONES = {"L": "#c8553d", "R": "#3d6fc8", "": "#d9a032"}
TYPES = {5121: np.uint8, 5123: np.uint16, 5125: np.uint32, 5126: np.float32}
WIDTHS = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4, "MAT4": 16}


def read_rig(path):
    """Rest positions, triangles and bones (name, parent, head, tail) of a GLB that sinew wrote."""
    data = path.read_bytes()
    length = struct.unpack_from("<I", data, 12)[0]
    gltf = json.loads(data[20 : 20 + length])
    binary = data[28 + length :]

    def values(accessor):
        a = gltf["accessors"][accessor]
        view = gltf["bufferViews"][a["bufferView"]]
        kind, width = np.dtype(TYPES[a["componentType"]]), WIDTHS[a["type"]]
        stride = view.get("byteStride", kind.itemsize * width)
        start = view.get("byteOffset", 0) + a.get("byteOffset", 0)
        return np.ndarray((a["count"], width), kind, binary, start, (stride, kind.itemsize)).copy()

    points, triangles, first = [], [], 0
    for mesh in gltf["meshes"]:
        for primitive in mesh["primitives"]:
            points.append(values(primitive["attributes"]["POSITION"]))
            triangles.append(values(primitive["indices"]).reshape(-1, 3).astype(int) + first)
            first += len(points[-1])
    joints = gltf["skins"][0]["joints"]
    parent = {child: node for node, n in enumerate(gltf["nodes"]) for child in n.get("children", [])}
    heads = -values(gltf["skins"][0]["inverseBindMatrices"])[:, 12:15]
    facts = gltf["asset"]["extras"]["sinew"]["bones"]
    bones = []
    for b, node in enumerate(joints):
        above = joints.index(parent[node]) if parent.get(node) in joints else -1
        bones.append((facts[b]["name"], above, heads[b], np.array(facts[b]["tail"])))
    return np.vstack(points), np.vstack(triangles), bones


def side_of(name):
    parts = name.split("_")
    return "L" if "L" in parts else "R" if "R" in parts else ""


def octahedron(head, tail):
    """The eight triangles of a bone."""
    along = tail - head
    length = np.linalg.norm(along)
    if length == 0:
        return np.zeros((0, 3, 3))
    axis = along / length
    other = np.eye(3)[np.argmin(np.abs(axis))]
    u = np.cross(axis, other)
    u /= np.linalg.norm(u)
    v = np.cross(axis, u)
    ring = [head + 0.15 * along + 0.09 * length * d for d in (u, v, -u, -v)]
    return np.array([[end, ring[i], ring[(i + 1) % 4]] for end in (head, tail) for i in range(4)])


def draw(axes, rig, across, towards):
    """One view: `across` points to the right, +Y up, `towards` to the viewer."""
    points, triangles, bones = rig
    flat = np.array([across, [0, 1, 0]]).T
    corners = points[triangles]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    size = np.linalg.norm(normals, axis=1)
    lit = normals @ np.asarray(towards) / np.maximum(size, 1e-30)
    seen = lit > 0
    order = np.argsort((corners[seen].mean(axis=1)) @ np.asarray(towards))
    light = lit[seen][order, None]
    axes.add_collection(
        PolyCollection((corners[seen] @ flat)[order], facecolors=SHADE + (BODY - SHADE) * light, edgecolors="none", rasterized=True)
    )
    for name, _, head, tail in sorted(bones, key=lambda bone: (bone[2] + bone[3]) @ np.asarray(towards)):
        faces = octahedron(head, tail) @ flat
        axes.add_collection(PolyCollection(faces, facecolors=BONES[side_of(name)], edgecolors="black", linewidths=0.2, alpha=0.55))
        axes.plot(*(head @ flat), "o", ms=1.6, mfc="white", mec="black", mew=0.3)
    low, high = (points @ flat).min(axis=0), (points @ flat).max(axis=0)
    middle, half = (low + high) / 2, 0.54 * max(high - low)
    axes.set_xlim(middle[0] - half, middle[0] + half)
    axes.set_ylim(middle[1] - half, middle[1] + half)
    axes.set_aspect("equal")
    axes.axis("off")
    taken = []
    for name, _, head, tail in sorted(bones, key=lambda bone: -np.linalg.norm(bone[3] - bone[2])):
        x, y = (head + tail) / 2 @ flat
        box = (x, y, 0.011 * half * len(name) * 2, 0.035 * half)
        if any(abs(x - o[0]) < box[2] + o[2] and abs(y - o[1]) < box[3] + o[3] for o in taken):
            continue
        taken.append(box)
        axes.text(x, y, name, fontsize=3.6, ha="center", va="center", color="#101010",
                  bbox={"boxstyle": "round,pad=0.08", "fc": "white", "ec": "none", "alpha": 0.6})


def solve(name, path, options, folder, program):
    target = folder / f"{name}.glb"
    if target.exists():
        return target
    print(f"solving {name}", flush=True)
    done = subprocess.run([program, "solve", path, "--skeleton", "-o", target, *options], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"skeleton_sheet: {name}: {done.stderr.strip()}")
    return target


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--rigs", type=Path, default=Path("build/skeletons"))
    parser.add_argument("--out", type=Path, default=Path("docs/images/skeletons.png"))
    parser.add_argument("--sinew", default="build/release/bin/sinew")
    options = parser.parse_args()
    data = Path(os.environ.get("SINEW_DATA", "../shared/data"))
    chosen = [c for c in CHARACTERS if not options.names or c[0] in options.names]
    if not chosen or not data.is_dir():
        sys.exit(f"skeleton_sheet: nothing to show: {'no such character' if data.is_dir() else f'no {data}'}")
    options.rigs.mkdir(parents=True, exist_ok=True)
    rigs = [(name, read_rig(solve(name, data / path, more, options.rigs, options.sinew))) for name, path, more in chosen]

    columns = min(3, len(rigs))
    rows = math.ceil(len(rigs) / columns)
    figure, axes = plt.subplots(rows, 2 * columns, figsize=(4.2 * columns, 2.25 * rows), dpi=160, squeeze=False)
    for cell in axes.flat:
        cell.axis("off")
    for i, (name, rig) in enumerate(rigs):
        front, side = axes[i // columns, 2 * (i % columns)], axes[i // columns, 2 * (i % columns) + 1]
        draw(front, rig, [1, 0, 0], [0, 0, 1])
        draw(side, rig, [0, 0, -1], [1, 0, 0])
        front.set_title(f"{name}, {len(rig[2])} bones", fontsize=6, loc="left", pad=2)
    figure.subplots_adjust(left=0.005, right=0.995, top=0.985, bottom=0.005, wspace=0.01, hspace=0.07)
    figure.savefig(options.out)
    Image.open(options.out).convert("RGB").quantize(96).save(options.out, optimize=True)
    print(options.out)


main()
