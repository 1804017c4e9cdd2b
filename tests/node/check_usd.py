"""python check_usd.py FOLDER: OpenUSD's own library opens what usd_cases wrote without a word, finds nothing to object
to with any of its validators, and poses the vertices as we do within 1e-5 of the diagonal, bones that scale within 2^-11, points as they are. Status 77:
not installed."""
import json
import os
import sys
import tempfile

try:
    import numpy
    from pxr import Gf, Usd, UsdGeom, UsdSkel, UsdValidation
except ImportError as error:
    print(f"skipped: {error}; script/bootstrap --judges installs usd-core")
    sys.exit(77)


class Silence:
    """Collects what the library writes to stderr, where its warnings go."""

    def __enter__(self):
        self.saved = os.dup(2)
        self.file = tempfile.TemporaryFile()
        os.dup2(self.file.fileno(), 2)
        return self

    def __exit__(self, *ignored):
        os.dup2(self.saved, 2)
        self.file.seek(0)
        self.text = self.file.read().decode()


def load(folder, name):
    with open(os.path.join(folder, name + ".json")) as file:
        case = json.load(file)
    positions = numpy.fromfile(os.path.join(folder, name + ".f32"), dtype=numpy.float32)
    case["positions"] = positions.reshape(len(case["codes"]), case["vertices"], 3).astype(float)
    return case


def objections(stage):
    registry = UsdValidation.ValidationRegistry()
    names = [metadata.name for metadata in registry.GetAllValidatorMetadata() if not metadata.isSuite]
    context = UsdValidation.ValidationContext(registry.GetOrLoadValidatorsByName(names))
    return [f"{error.GetName()}: {error.GetMessage()}" for error in context.Validate(stage)]


def meshes_of(stage):
    return [UsdGeom.Mesh(prim) for prim in stage.Traverse() if prim.IsA(UsdGeom.Mesh)]


def world_points(stage, code):
    cache = UsdGeom.XformCache(code)
    out = []
    for mesh in meshes_of(stage):
        points = numpy.array(mesh.GetPointsAttr().Get(code), dtype=float).reshape(-1, 3)
        matrix = numpy.array(cache.GetLocalToWorldTransform(mesh.GetPrim()))
        out.append(points @ matrix[:3, :3] + matrix[3, :3])
    return numpy.concatenate(out)


def posed_clips(path, case):
    """(first frame, stage whose meshes are posed in that clip's frames), one clip after another."""
    if case["kind"] == "sequence":
        yield 0, len(case["codes"]), Usd.Stage.Open(path)
        return
    clips = case.get("clips") or [["motion", 0, len(case["codes"])]]
    for number, (_, first, frames) in enumerate(clips):
        stage = Usd.Stage.Open(path)
        stage.GetSessionLayer().timeCodesPerSecond = stage.GetTimeCodesPerSecond()
        stage.SetEditTarget(stage.GetSessionLayer())
        skeleton = next(prim for prim in stage.Traverse() if prim.IsA(UsdSkel.Skeleton))
        animations = [prim for prim in stage.Traverse() if prim.IsA(UsdSkel.Animation)]
        assert len(animations) == len(clips), f"{len(animations)} animations for {len(clips)} clips"
        UsdSkel.BindingAPI(skeleton).GetAnimationSourceRel().SetTargets([animations[number].GetPath()])
        codes = case["codes"][first:first + frames]
        interval = Gf.Interval(min(codes), max(codes))
        assert UsdSkel.BakeSkinning(UsdSkel.Root(stage.GetDefaultPrim()), interval), "BakeSkinning failed"
        yield first, frames, stage


def check(folder, name, extension):
    case = load(folder, name)
    path = os.path.join(folder, name + extension)
    problems = []
    largest = 0.0
    with Silence() as heard:
        stage = Usd.Stage.Open(path)
        problems += objections(stage)
        bones = [len(UsdSkel.Skeleton(p).GetJointsAttr().Get()) for p in stage.Traverse() if p.IsA(UsdSkel.Skeleton)]
        expected = [case["bones"]] if case["kind"] == "rig" else []
        if bones != expected:
            problems.append(f"skeletons have {bones} joints, expected {expected}")
        for first, frames, posed in posed_clips(path, case):
            for f in range(first, first + frames):
                points = world_points(posed, case["codes"][f])
                distances = numpy.linalg.norm(points - case["positions"][f], axis=1)
                largest = max(largest, distances.max() / case["diagonal"])
    if not largest <= case["tolerance"]:
        problems.append(f"differs by {largest} of the diagonal")
    if heard.text:
        problems.append("it said: " + heard.text)
    return problems, f"{len(case['codes'])} frames, largest difference {largest:.1e}"


def main():
    folder = sys.argv[1]
    failed = 0
    names = sorted(entry[:-5] for entry in os.listdir(folder) if entry.endswith(".json"))
    if not names:
        sys.exit("no cases")
    for name in names:
        for extension in (".usda", ".usdz"):
            try:
                problems, note = check(folder, name, extension)
            except Exception as error:  # a case that cannot be read at all is a failure like any other
                problems, note = [f"{type(error).__name__}: {error}"], ""
            failed += bool(problems)
            print(("FAILED " if problems else "ok ") + name + extension, f"({note})", *problems, sep="\n  " if problems else " ")
    sys.exit(1 if failed else 0)


main()
