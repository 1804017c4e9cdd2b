"""Runs a solve beside Blender: by the sinew program, or by the Python module where that can be imported.

Both take an NPZ, write a GLB and tell the same facts. They run in a thread of their own and touch nothing of Blender.
"""

import json
import os
import shutil
import subprocess
import threading

FACTS = ("e_rms", "rmse_percent", "normal_degrees", "max_percent")


class Failed(Exception):
    """A solve that ended without a rig, in the library's own sentence."""


def module():
    """The Python module, or None."""
    try:
        import sinew
    except ImportError:
        return None
    return sinew if hasattr(sinew, "solve") else None


def find_program(preferred=""):
    """Path of the program: the one that is preferred, else SINEW_PROGRAM or sinew on the PATH; None: there is none."""
    candidates = [preferred] if preferred else [os.environ.get("SINEW_PROGRAM", ""), "sinew"]
    for candidate in filter(None, candidates):
        found = shutil.which(os.path.expanduser(candidate))
        if found:
            return found
    return None


class Job:
    """A solve that runs. Look at step, fraction and done now and then; result() when it is done."""

    def __init__(self, npz, glb, options):
        self.npz, self.glb, self.options = npz, glb, options
        self.step, self.fraction = "starting", -1.0
        self.cancelled = False
        self._facts, self._error = None, None
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self):
        self._thread.start()
        return self

    @property
    def done(self):
        return not self._thread.is_alive()

    def wait(self):
        self._thread.join()

    def result(self):
        """Facts: the errors of FACTS, influences, seconds, remark, per_vertex_percent. Raises Failed."""
        if self._error is not None:
            raise self._error
        return self._facts

    def cancel(self):
        self.cancelled = True

    def _run(self):
        try:
            self._facts = self._solve()
        except Failed as failed:
            self._error = failed
        except Exception as problem:
            self._error = Failed(str(problem) or type(problem).__name__)
        if self._error is None and self.cancelled:
            self._error = Failed("cancelled")


class ProgramJob(Job):
    def __init__(self, program, npz, glb, options):
        super().__init__(npz, glb, options)
        self._program = program
        self._process = None
        self._lock = threading.Lock()

    def cancel(self):
        with self._lock:
            self.cancelled = True
            if self._process is not None and self._process.poll() is None:
                self._process.terminate()

    def _call(self, *arguments):
        """What the program prints; its progress goes to step and fraction."""
        with self._lock:
            if self.cancelled:
                raise Failed("cancelled")
            self._process = subprocess.Popen([self._program, *arguments], stdout=subprocess.PIPE,
                                             stderr=subprocess.PIPE, text=True, encoding="utf-8")
        said = []
        reader = threading.Thread(target=self._listen, args=(self._process.stderr, said), daemon=True)
        reader.start()
        printed = self._process.stdout.read()
        status = self._process.wait()
        reader.join()
        self._process.stdout.close()
        self._process.stderr.close()
        if self.cancelled:
            raise Failed("cancelled")
        if status != 0:
            raise Failed(" ".join(said) or "the sinew program ended with status %d" % status)
        return printed

    def _listen(self, stream, said):
        for line in stream:
            words = line.strip().split(" ", 2)
            if words[0] == "progress" and len(words) == 3:
                self.fraction, self.step = float(words[1]), words[2]
            elif line.strip() and words[0] != "iteration":
                said.append(line.strip().removeprefix("sinew: "))

    def _flags(self):
        for name, value in self.options.items():
            yield "--" + name.replace("_", "-")
            if value is not True:
                yield str(value)

    def _solve(self):
        report = json.loads(self._call("solve", self.npz, "-o", self.glb, *self._flags(), "--progress", "--json"))
        self.step, self.fraction = "evaluate", -1.0
        errors = json.loads(self._call("evaluate", self.glb, self.npz, "--json", "--per-vertex"))["errors"]
        facts = {name: report["errors"][name] for name in FACTS}
        facts["influences"] = report["rig"]["influences"]
        facts["seconds"] = report["seconds"]
        facts["remark"] = report["solve"]["remark"]
        facts["per_vertex_percent"] = errors["per_vertex_percent"]
        return facts


class ModuleJob(Job):
    def _solve(self):
        sinew = module()

        def tell(step, fraction):
            if self.cancelled:
                raise Failed("cancelled")
            self.step, self.fraction = step, fraction

        rig = sinew.solve(sinew.read(self.npz), progress=tell, **self.options)
        rig.save(self.glb)
        facts = {name: rig.report["errors"][name] for name in FACTS}
        facts["influences"] = int((rig.weights > 0).sum(axis=1).max())
        facts["seconds"] = rig.report["seconds"]["solve"]
        facts["remark"] = rig.report["remark"]
        facts["per_vertex_percent"] = rig.report["errors"]["per_vertex_percent"].tolist()
        return facts


def make_job(program, npz, glb, options):
    """The module where it can be imported and no program is preferred, else the program. Raises Failed without both."""
    if program is None and module() is not None:
        return ModuleJob(npz, glb, options)
    if program is None:
        raise Failed("the sinew program was not found: set its path in the preferences of the add-on")
    return ProgramJob(program, npz, glb, options)


def estimate(program, npz, options):
    """Bytes and seconds that a solve would take. Raises Failed."""
    if program is None and module() is not None:
        sinew = module()
        needed = sinew.estimate(sinew.read(npz), **options)
        return needed["memory_bytes"], needed["seconds"]
    if program is None:
        raise Failed("the sinew program was not found: set its path in the preferences of the add-on")
    job = ProgramJob(program, npz, "", options)
    needed = json.loads(job._call("solve", npz, *job._flags(), "--dry-run", "--json"))["estimate"]
    return needed["memory_bytes"], needed["seconds"]
