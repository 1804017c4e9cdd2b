"""From an NPZ to a rig, with a plot of the error over the iterations.

    python npz_to_rig.py sequence.npz rig.glb error.png [bones]

The NPZ holds `frames` F×V×3 and `faces` T×3, as np.savez writes them.
"""

import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

import sinew

source, target, picture = sys.argv[1:4]
bones = int(sys.argv[4]) if len(sys.argv) > 4 else 20

with np.load(source) as arrays:
    rig = sinew.solve(arrays["frames"], arrays["faces"], bones=bones, progress=True)
rig.save(target)
print(rig)

seconds = [record["seconds"] for record in rig.report["iterations"]]
errors = [record["e_rms"] for record in rig.report["iterations"]]
figure, axes = plt.subplots(1, 2, figsize=(8, 3), constrained_layout=True)
axes[0].semilogy(seconds, errors)
axes[0].set(xlabel="seconds", ylabel="E_RMS", title="while solving")
axes[1].plot(rig.report["errors"]["per_frame_percent"])
axes[1].set(xlabel="frame", ylabel="% of the diagonal", title="of the result")
figure.savefig(picture, dpi=120)
