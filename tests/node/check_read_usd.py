"""python check_read_usd.py FOLDER USD_FRAMES: stages that OpenUSD's own library writes as text are read by us as it
poses them, within 1e-5 of the diagonal, on every frame: moving points, every kind of transform, skeletons, blend shapes
with in-betweens, references, variants, classes, instances. Status 77: not installed."""
import math
import os
import random
import subprocess
import sys

try:
    import numpy
    from pxr import Gf, Sdf, Usd, UsdGeom, UsdSkel, Vt
except ImportError as error:
    print(f"skipped: {error}; script/bootstrap --judges installs usd-core")
    sys.exit(77)

TOLERANCE = 1e-5
FACES = [[0, 1, 2, 3], [3, 2, 4], [4, 2, 1, 0, 3]]
POINTS = [(0.1, 0.2, 0.3), (1.5, 0, -0.25), (2, 1.25, 0.5), (0, 1, 0.125), (1, 2, -1)]


def mesh(stage, path, points=POINTS):
    out = UsdGeom.Mesh.Define(stage, path)
    out.CreateFaceVertexCountsAttr([len(face) for face in FACES])
    out.CreateFaceVertexIndicesAttr([v for face in FACES for v in face])
    out.CreatePointsAttr(points)
    return out


def vector(rng, size=1.0):
    return Gf.Vec3d(*(size * rng.uniform(-1, 1) for _ in range(3)))


def quaternion(rng):
    return Gf.Quatd(rng.uniform(-1, 1), vector(rng)).GetNormalized()


def matrix(rng):
    out = Gf.Matrix4d(1)
    out.SetRotate(quaternion(rng))
    return Gf.Matrix4d().SetScale(Gf.Vec3d(*(rng.uniform(0.5, 1.5) for _ in range(3)))) * out * \
        Gf.Matrix4d().SetTranslate(vector(rng, 3))


def add_operations(prim, rng, codes):
    """Every kind of operation in random order, some still, some moving, one pivot."""
    xform = UsdGeom.Xformable(prim)
    orders = ["XYZ", "XZY", "YXZ", "YZX", "ZXY", "ZYX"]
    kinds = ["Translate", "Scale", "Orient", "Transform", "RotateX", "RotateY", "RotateZ"] + ["Rotate" + o for o in orders]
    rng.shuffle(kinds)
    pivot = xform.AddTranslateOp(UsdGeom.XformOp.PrecisionFloat, "pivot")
    pivot.Set(Gf.Vec3f(vector(rng)))
    for kind in kinds[:4]:
        precision = rng.choice([UsdGeom.XformOp.PrecisionDouble, UsdGeom.XformOp.PrecisionFloat])
        add = getattr(xform, f"Add{kind}Op")
        operation = add() if kind == "Transform" else add(precision)
        double = kind == "Transform" or precision == UsdGeom.XformOp.PrecisionDouble
        for code in rng.choice([[Usd.TimeCode.Default()], codes]):
            if kind == "Transform":
                value = matrix(rng)
            elif kind == "Orient":
                value = quaternion(rng)
                value = value if double else Gf.Quatf(value)
            elif kind == "Scale":
                value = Gf.Vec3d(*(rng.uniform(0.5, 1.5) for _ in range(3)))
                value = value if double else Gf.Vec3f(value)
            elif len(kind) == 7:
                value = rng.uniform(-200, 200)
            else:
                value = vector(rng, 90 if kind.startswith("Rotate") else 3)
                value = value if double else Gf.Vec3f(value)
            operation.Set(value, code)
    xform.AddTranslateOp(UsdGeom.XformOp.PrecisionFloat, "pivot", True)
    if rng.random() < 0.25:
        xform.SetResetXformStack(True)


def transforms(stage, rng):
    UsdGeom.SetStageUpAxis(stage, rng.choice(["Y", "Z"]))
    path = ""
    for depth in range(3):
        path += f"/level{depth}"
        add_operations(UsdGeom.Xform.Define(stage, path).GetPrim(), rng, sorted(rng.sample(range(-4, 9), 3)))
    moving = mesh(stage, path + "/moving")
    for code in [-2.5, 0, 1.25, 7]:
        moving.GetPointsAttr().Set([Gf.Vec3f(vector(rng)) for _ in POINTS], code)
    mesh(stage, "/level0/still")


def compositions(stage, rng):
    klass = stage.CreateClassPrim("/_class")
    klass.CreateAttribute("points", Sdf.ValueTypeNames.Point3fArray).Set([Gf.Vec3f(*p) * 2 for p in POINTS])
    source = UsdGeom.Xform.Define(stage, "/source")
    add_operations(source.GetPrim(), rng, [0, 2, 5])
    inner = mesh(stage, "/source/inner")
    inner.GetPointsAttr().Clear()
    inner.GetPrim().GetInherits().AddInherit("/_class")
    for number in range(2):
        copy = stage.DefinePrim(f"/copy{number}")
        copy.GetReferences().AddInternalReference("/source")
        copy.SetInstanceable(number == 1)
    sets = stage.DefinePrim("/chosen").GetVariantSets().AddVariantSet("shape")
    for name in ("round", "square"):
        sets.AddVariant(name)
        sets.SetVariantSelection(name)
        with sets.GetVariantEditContext():
            mesh(stage, "/chosen/" + name)
    special = stage.DefinePrim("/special")
    special.GetSpecializes().AddSpecialize("/source")
    stage.OverridePrim("/special/inner").CreateAttribute("points", Sdf.ValueTypeNames.Point3fArray).Set(POINTS)
    hidden = mesh(stage, "/source/hidden")
    hidden.CreateVisibilityAttr("invisible")


def skeletons(stage, rng, single):
    for number in range(1 if single else 2):
        root = UsdSkel.Root.Define(stage, f"/root{number}")
        if not single:
            add_operations(root.GetPrim(), rng, [0, 3])
        skeleton = UsdSkel.Skeleton.Define(stage, f"/root{number}/skeleton")
        joints = ["a", "a/b", "a/b/c", "a/d", "e"]
        rest = [matrix(rng) for _ in joints]
        parents = [-1, 0, 1, 0, -1]
        bind = []
        for j, parent in enumerate(parents):
            bind.append(rest[j] * bind[parent] if parent >= 0 else rest[j])
        skeleton.CreateJointsAttr(joints)
        skeleton.CreateBindTransformsAttr(bind)
        skeleton.CreateRestTransformsAttr(rest)
        animation = UsdSkel.Animation.Define(stage, f"/root{number}/skeleton/walk")
        moved = ["e", "a/b/c", "a"]
        animation.CreateJointsAttr(moved)
        animation.CreateBlendShapesAttr(["smile", "frown"])
        for code in [0, 1, 2.5, 4]:
            animation.CreateTranslationsAttr().Set([Gf.Vec3f(vector(rng)) for _ in moved], code)
            animation.CreateRotationsAttr().Set([Gf.Quatf(quaternion(rng)) for _ in moved], code)
            animation.CreateScalesAttr().Set([Gf.Vec3h(1, 1.5, 0.75) for _ in moved], code)
            animation.CreateBlendShapeWeightsAttr().Set([rng.uniform(-0.5, 1.5), rng.uniform(0, 1)], code)
        UsdSkel.BindingAPI.Apply(skeleton.GetPrim()).CreateAnimationSourceRel().SetTargets([animation.GetPath()])
        for kind in ("soft", "rigid"):
            body = mesh(stage, f"/root{number}/{kind}")
            binding = UsdSkel.BindingAPI.Apply(body.GetPrim())
            binding.CreateSkeletonRel().SetTargets([skeleton.GetPath()])
            binding.CreateGeomBindTransformAttr(matrix(rng))
            if kind == "rigid":
                binding.CreateJointIndicesPrimvar(True, 1).Set([2])
                binding.CreateJointWeightsPrimvar(True, 1).Set([1.0])
                continue
            binding.CreateJointsAttr(["e", "a/d", "a/b/c", "a"])
            weights = []
            for _ in POINTS:
                row = [rng.random() for _ in range(6)]
                weights += [w / sum(row) for w in row]
            binding.CreateJointIndicesPrimvar(False, 6).Set([rng.randrange(4) for _ in weights])
            binding.CreateJointWeightsPrimvar(False, 6).Set(weights)
            binding.CreateBlendShapesAttr(["frown", "smile"])
            targets = []
            for name in ("frown", "smile"):
                shape = UsdSkel.BlendShape.Define(stage, f"{body.GetPath()}/{name}")
                count = 2 if name == "smile" else len(POINTS)
                shape.CreateOffsetsAttr([Gf.Vec3f(vector(rng)) for _ in range(count)])
                if name == "smile":
                    shape.CreatePointIndicesAttr([4, 1])
                    inbetween = shape.CreateInbetween("half")
                    inbetween.SetWeight(0.375)
                    inbetween.SetOffsets([Gf.Vec3f(vector(rng)) for _ in range(count)])
                targets.append(shape.GetPath())
            binding.CreateBlendShapeTargetsRel().SetTargets(targets)


def posed(stage, code):
    cache = UsdGeom.XformCache(code)
    out = []
    for prim in Usd.PrimRange.Stage(stage, Usd.TraverseInstanceProxies()):
        if not prim.IsA(UsdGeom.Mesh) or UsdGeom.Imageable(prim).ComputeVisibility() == "invisible":
            continue
        points = numpy.array(UsdGeom.Mesh(prim).GetPointsAttr().Get(code), dtype=float).reshape(-1, 3)
        world = numpy.array(cache.GetLocalToWorldTransform(prim))
        out.append(points @ world[:3, :3] + world[3, :3])
    points = numpy.concatenate(out)
    if UsdGeom.GetStageUpAxis(stage) == "Z":
        points = points[:, [0, 2, 1]] * [1, 1, -1]
    return points


def check(folder, program, name, build, seed):
    rng = random.Random(seed)
    stage = Usd.Stage.CreateInMemory()
    stage.SetTimeCodesPerSecond(rng.choice([24, 30, 48]))
    build(stage, rng)
    base = os.path.join(folder, f"read_{name}_{seed}")
    stage.GetRootLayer().Export(base + ".usda")
    for extension in (".f32", ".txt", ".rig.f32"):
        if os.path.exists(base + extension):
            os.remove(base + extension)
    result = subprocess.run([program, base + ".usda", base], capture_output=True, text=True)
    if result.returncode != 0:
        return result.stderr.strip(), ""
    times = [float(line) for line in open(base + ".txt")]
    bakes = any(prim.IsA(UsdSkel.Root) for prim in stage.Traverse())
    if bakes:
        # Between samples the skeleton is blended, not the points: bake at every time code that we read.
        for prim in list(stage.Traverse()):
            if prim.IsA(UsdSkel.Animation):
                resample(UsdSkel.Animation(prim), [t * stage.GetTimeCodesPerSecond() for t in times])
        assert UsdSkel.BakeSkinning(stage.Traverse(), Gf.Interval.GetFullInterval())
    frames = numpy.fromfile(base + ".f32", dtype=numpy.float32).reshape(len(times), -1, 3)
    diagonal = numpy.linalg.norm(frames.max((0, 1)) - frames.min((0, 1)))
    largest = 0.0
    posings = [frames]
    if os.path.exists(base + ".rig.f32"):
        posings.append(numpy.fromfile(base + ".rig.f32", dtype=numpy.float32).reshape(frames.shape))
    elif bakes:
        return "not read as a rig: " + result.stdout.strip(), ""
    for f, time in enumerate(times):
        expected = posed(stage, time * stage.GetTimeCodesPerSecond())
        for frame in posings:
            if expected.shape != frame[f].shape:
                return f"{frame[f].shape[0]} vertices, {expected.shape[0]} expected", ""
            largest = max(largest, numpy.linalg.norm(frame[f] - expected, axis=1).max() / diagonal)
    note = f"{len(times)} frames, largest difference {largest:.1e}{', as a rig too' if len(posings) > 1 else ''}"
    return ("" if largest <= TOLERANCE else "differs"), note


def resample(animation, codes):
    """The animation as the library evaluates it at these codes, so that baking has a sample there."""
    attributes = [animation.GetTranslationsAttr(), animation.GetRotationsAttr(), animation.GetScalesAttr(),
                  animation.GetBlendShapeWeightsAttr()]
    for attribute in attributes:
        values = [(code, attribute.Get(code)) for code in codes]
        for code, value in values:
            attribute.Set(value, code)


def main():
    folder, program = sys.argv[1:3]
    failed = 0
    for name, build, seeds in (("transforms", transforms, 12), ("compositions", compositions, 4),
                               ("skeleton", lambda s, r: skeletons(s, r, True), 4),
                               ("skeletons", lambda s, r: skeletons(s, r, False), 4)):
        for seed in range(seeds):
            problem, note = check(folder, program, name, build, seed)
            failed += bool(problem)
            print("FAILED" if problem else "ok", f"{name} {seed}", f"({note})" if note else "", problem)
    sys.exit(1 if failed else 0)


main()
