"""What the Python module costs: python bench/python_overhead.py PROGRAM SEQUENCE [ROUNDS]

Solves with 20 bones by the program and by the module in turn and compares the shortest times of each; says how long
`import sinew` takes, how much memory a float32 sequence costs beyond itself, and how much solving adds over the program.
CPU seconds stand beside those of the clock, for machines that do other work: of the whole command, which also reads and
writes, and of the call.
"""

import json
import resource
import subprocess
import sys
import time

program, path = sys.argv[1:3]
rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 5

CODE = """
import time; start, cpu = time.perf_counter(), time.process_time(); import sinew
print(time.perf_counter() - start, time.process_time() - cpu)
"""
imports = [[float(x) for x in subprocess.check_output([sys.executable, "-c", CODE]).split()] for _ in range(9)]
clock, cpu = (min(column) for column in zip(*imports))
print(f"import: {1000 * clock:.1f} ms, CPU {1000 * cpu:.1f} ms")

import numpy as np  # noqa: E402

import sinew  # noqa: E402


def resident():
    """Kilobytes in memory now."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize() / 1024


read = sinew.read(path)
frames = np.array(read.frames)
faces = np.array(read.triangles)
sinew.Sequence(frames[:1], faces)  # what is loaded once
before = resident()
sequence = sinew.Sequence(frames, faces)
print(f"sequence: {frames.nbytes / 1024:.0f} kB of frames, {resident() - before:.0f} kB beyond them")

theirs, whole, inside, their_cpu, our_cpu = [], [], [], [], []


def children():
    """CPU seconds of the programs that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


for _ in range(rounds):
    cpu = children()
    report = json.loads(
        subprocess.check_output([program, "solve", path, "-o", "/dev/shm/overhead.glb", "--bones", "20", "--json"])
    )
    their_cpu.append(children() - cpu)
    theirs.append(report["seconds"])
    start, cpu = time.perf_counter(), time.process_time()
    rig = sinew.solve(read, bones=20)
    whole.append(time.perf_counter() - start)
    our_cpu.append(time.process_time() - cpu)
    inside.append(rig.report["seconds"]["solve"])
print(f"program: {min(theirs):.3f} s of its own solve time; of {rounds} rounds the shortest, as below")
print(f"module: {min(whole):.3f} s around sinew.solve, errors included; {min(inside):.3f} s in the solver")
print(f"overhead: {100 * (min(whole) / min(theirs) - 1):.1f} %; outside the solver {1000 * min(w - i for w, i in zip(whole, inside)):.1f} ms")
print(f"CPU: {min(our_cpu):.3f} s of sinew.solve, {min(their_cpu):.3f} s of the whole command")
