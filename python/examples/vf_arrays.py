"""(V, F) arrays in, (V, F) arrays out, as geometry-processing tools hand them about.

    python vf_arrays.py OUT.npz
"""

import sys

import numpy as np

import sinew


def grid(n):
    """V×3 and T×3 of a sheet."""
    x, y = np.meshgrid(np.linspace(-1, 1, n), np.linspace(-1, 1, n), indexing="ij")
    V = np.stack([x.ravel(), y.ravel(), np.zeros(n * n)], 1)
    corner = np.arange((n - 1) * n).reshape(n - 1, n)[:, :-1].ravel()
    F = np.concatenate([np.stack([corner, corner + n, corner + 1], 1), np.stack([corner + 1, corner + n, corner + n + 1], 1)])
    return V, F


V, F = grid(21)
poses = [V + np.stack([0 * V[:, 0], 0 * V[:, 0], t * np.sin(2 * V[:, 0] + 3 * t) * (1 + 0.3 * V[:, 1])], 1) for t in np.linspace(0, 0.5, 12)]

rig = sinew.solve(poses, F, rest=V, bones=8)
W = rig.dense_weights()  # V×B, rows sum to 1
T = rig.transforms  # F×B×3×4

# The model by hand is the model.
homogeneous = np.c_[V, np.ones(len(V))]
by_hand = np.einsum("vb,fbij,vj->fvi", W.astype(float), T.astype(float), homogeneous)
print(f"by hand and by pose_all(): {np.abs(by_hand - rig.pose_all()).max():.1e} apart")

# Arrays from anywhere are a rig again: here the strongest two bones of each vertex.
few = np.where(W >= np.sort(W, axis=1)[:, -2:-1], W, 0)
cut = sinew.Rig(V, F, few, T)
sequence = sinew.Sequence(poses, F, V)
print(f"E_RMS {sinew.evaluate(rig, sequence)['e_rms']:.3g}, with two bones per vertex {sinew.evaluate(cut, sequence)['e_rms']:.3g}")

np.savez(sys.argv[1], V=V, F=F, W=W, T=T)
