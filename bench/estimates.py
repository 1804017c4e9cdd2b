#!/usr/bin/env python3
"""bench/estimates.py PROGRAM [SEQUENCES] [-- METHOD...]: CPU seconds that `solve --dry-run` says and that the solve takes.

Every sequence of the folder (default ../shared/data/sequences) with every method; prints a table of measured / estimated
and the factor that the estimates hold. CPU seconds of one thread, so that a busy machine matters little.
"""
import json
import math
import os
import resource
import subprocess
import sys
import tempfile

CASES = {
    "ssdr fast": ["--method", "ssdr", "--quality", "fast"],
    "ssdr": ["--method", "ssdr"],
    "kavan": ["--method", "kavan"],
    "flats fast": ["--method", "flats", "--quality", "fast"],
    "flats": ["--method", "flats"],
    "sma": ["--method", "sma"],
    "clusters": ["--method", "clusters"],
    "skeleton 20": ["--skeleton", "--max-bones", "20"],
    "skeleton": ["--skeleton"],
}


def cpu_seconds(command):
    """User and system seconds of a command, or None where the program refuses."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        return None
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main():
    arguments = sys.argv[1:]
    chosen = list(CASES)
    if "--" in arguments:
        at = arguments.index("--")
        arguments, chosen = arguments[:at], arguments[at + 1:]
    program = arguments[0]
    folder = arguments[1] if len(arguments) > 1 else "../shared/data/sequences"
    largest = {name: [1.0, ""] for name in chosen}
    print("| sequence | " + " | ".join(chosen) + " |")
    print("|---" * (len(chosen) + 1) + "|")
    with tempfile.TemporaryDirectory() as work:
        for sequence in sorted(os.listdir(folder)):
            row = []
            for name in chosen:
                command = [program, "solve", os.path.join(folder, sequence), "--threads", "1", *CASES[name]]
                said = subprocess.run(command + ["--dry-run", "--json"], capture_output=True, text=True)
                taken = cpu_seconds(command + ["-o", os.path.join(work, "rig.glb")])
                if said.returncode != 0 or taken is None:
                    row.append("-")
                    continue
                ratio = taken / json.loads(said.stdout)["estimate"]["seconds"]
                row.append(f"{taken:.1f} s, {ratio:.2f}")
                factor = math.exp(abs(math.log(ratio)))
                if factor > largest[name][0]:
                    largest[name] = [factor, sequence]
            print(f"| {sequence} | " + " | ".join(row) + " |", flush=True)
    print("| largest factor | " + " | ".join(f"{factor:.1f} ({name})" for factor, name in largest.values()) + " |")


main()
