"""Every method on one sequence: python compare_methods.py SEQUENCE [bones]

The cells run in any editor that knows "# %%", or as a script.
"""

# %% What is compared
import sys

import sinew

sequence = sinew.read(sys.argv[1])
bones = int(sys.argv[2]) if len(sys.argv) > 2 else 20
print(sequence)

# %% Solve
rigs = {
    method: sinew.solve(sequence, bones=bones, method=method, quality="fast")
    for method in ("ssdr", "kavan", "flats", "sma", "skeleton", "clusters")
}

# %% Dense weights that fit into four per vertex again, and into two layers
rigs["flats, 4 bones"] = sinew.reduce(rigs["flats"], influences=4, examples=sequence)
rigs["flats, 2 layers"] = sinew.compress(rigs["flats"], examples=sequence)

# %% The table
print(f"{'method':<16} {'bones':>5} {'per vertex':>10} {'E_RMS':>8} {'max %':>7} {'seconds':>8}")
for name, rig in rigs.items():
    errors = sinew.evaluate(rig, sequence)
    per_vertex = int((rig.weights > 0).sum(axis=1).max())
    seconds = rig.report.get("seconds", {}).get("solve", float("nan"))
    print(
        f"{name:<16} {len(rig.names):>5} {per_vertex:>10} {errors['e_rms']:>8.3g} {errors['max_percent']:>7.3g}"
        f" {seconds:>8.2f}"
    )
