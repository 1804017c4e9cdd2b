"""A mesh of trimesh's, bent, rigged, and the rig's pose back in trimesh: python trimesh_rig.py rig.glb"""

import sys

import numpy as np
import trimesh

import sinew

mesh = trimesh.creation.cylinder(radius=0.3, height=4.0, sections=24).subdivide().subdivide()
along = mesh.vertices[:, 2]

frames = []
for angle in np.linspace(0, 1.2, 16):
    bend = angle * np.clip(along / 0.8 + 0.5, 0, 1)  # the upper half turns about the middle
    x, z = mesh.vertices[:, 0], along
    frames.append(np.stack([np.cos(bend) * x + np.sin(bend) * z, mesh.vertices[:, 1], np.cos(bend) * z - np.sin(bend) * x], 1))

rig = sinew.solve(frames, mesh.faces, rest=mesh.vertices, bones=4)
rig.save(sys.argv[1])

posed = trimesh.Trimesh(rig.pose(-1), rig.triangles, process=False)
last = trimesh.Trimesh(frames[-1], mesh.faces, process=False)
print(rig)
print(f"area of the last frame {last.area:.4f}, of the rig's {posed.area:.4f}")
print(f"watertight: {posed.is_watertight}")
