"""blender -b --factory-startup --python-exit-code 1 --python test_addon.py -- ADDON.zip PROGRAM [MODULE_FOLDER [WORD...]]

Every function called test_... is a test; WORDs choose those whose name has one of them. The add-on is unpacked from the zip that users install.
"""

import os
import subprocess
import sys
import tempfile
import traceback
import zipfile

import bpy
import numpy

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
arguments = sys.argv[sys.argv.index("--") + 1:]
ZIP, PROGRAM = os.path.abspath(arguments[0]), os.path.abspath(arguments[1])
MODULE = os.path.abspath(arguments[2]) if len(arguments) > 2 else ""
os.environ["SINEW_PROGRAM"] = PROGRAM
home = tempfile.mkdtemp(prefix="sinew-addon-")
with zipfile.ZipFile(ZIP) as archive:
    archive.extractall(home)
sys.path.insert(0, home)

import scenes  # noqa: E402
from posed import posed  # noqa: E402

TOLERANCE = 1e-4  # of the diagonal


def posed_by_sinew(glb, folder):
    """F×V×3: the rig's own pose in every frame."""
    target = os.path.join(folder, "posed.npz")
    subprocess.run([PROGRAM, "convert", glb, "-o", target], check=True, stdout=subprocess.DEVNULL)
    return numpy.load(target)["frames"].astype(float)


def solve(source, **settings):
    """The armature, its mesh and what sinew itself makes of the rig, in world positions."""
    from sinew_rig import operators

    scene = bpy.context.scene
    for name, value in settings.items():
        setattr(scene.sinew, name, value)
    task = operators.Task(bpy.context, source)
    try:
        armature = task.wait(bpy.context)
        matrix = numpy.array(armature.matrix_world)
        expected = posed_by_sinew(task._job.glb, task._folder) @ matrix[:3, :3].T + matrix[:3, 3]
    finally:
        task.close(bpy.context)
    assert not os.path.exists(task._folder)
    mesh = next(child for child in armature.children if child.type == "MESH")
    return armature, mesh, expected


def check_poses(mesh, expected):
    """Blender poses as sinew does, in every frame."""
    scene = bpy.context.scene
    diagonal = numpy.linalg.norm(numpy.ptp(expected[0], axis=0))
    assert len(expected) == scenes.FRAMES
    worst = 0.0
    for f in range(scenes.FRAMES):
        scene.frame_set(scene.frame_start + f)
        worst = max(worst, numpy.abs(posed(mesh) - expected[f]).max() / diagonal)
    print("    largest difference %.1e of the diagonal" % worst)
    assert worst <= TOLERANCE, worst
    moved = numpy.abs(expected - expected[0]).max() / diagonal
    assert moved > 0.05, "nothing moved"


def check_close(source, mesh, percent):
    """The result looks like the source."""
    scene = bpy.context.scene
    for frame in (1, scenes.FRAMES // 2, scenes.FRAMES):
        scene.frame_set(frame)
        theirs = posed(source)
        distance = numpy.linalg.norm(posed(mesh) - theirs, axis=1).max()
        diagonal = numpy.linalg.norm(numpy.ptp(theirs, axis=0))
        assert 100 * distance / diagonal < percent, (frame, 100 * distance / diagonal)


def refused(source):
    """What the operator says."""
    from sinew_rig import operators, sample, solver

    before = set(bpy.data.objects.keys())
    frame = bpy.context.scene.frame_current
    task = None
    try:
        task = operators.Task(bpy.context, source)
        task.wait(bpy.context)
    except (sample.Refused, solver.Failed) as problem:
        return str(problem)
    finally:
        if task:
            task.close(bpy.context)
        assert set(bpy.data.objects.keys()) == before
        assert bpy.context.scene.frame_current == frame
    raise AssertionError("nothing was refused")


def test_a_skinned_mesh_becomes_an_armature_that_poses_it_alike():
    scenes.empty()
    source = scenes.skinned()
    armature, mesh, expected = solve(source, bones=3)
    check_poses(mesh, expected)
    check_close(source, mesh, 8)
    assert mesh.parent == armature and mesh.modifiers[0].object == armature
    assert len(armature.data.bones) == 3
    assert {group.name for group in mesh.vertex_groups} == {bone.name for bone in armature.data.bones}
    assert armature.animation_data.action.name == "Bend (Sinew)"
    assert source.hide_get()


def test_shape_keys_on_a_moving_object_become_an_armature():
    scenes.empty()
    source = scenes.keyed_shapes()
    armature, mesh, expected = solve(source, bones=6)
    check_poses(mesh, expected)
    check_close(source, mesh, 8)
    assert armature.animation_data.action.name == "Walkabout (Sinew)"


def test_cloth_becomes_an_armature():
    scenes.empty()
    source = scenes.cloth()
    armature, mesh, expected = solve(source, bones=8)
    check_poses(mesh, expected)
    check_close(source, mesh, 8)


def test_vertices_that_modifiers_make_are_rigged_too():
    scenes.empty()
    source = scenes.generated()
    _armature, mesh, expected = solve(source, bones=6)
    assert len(mesh.data.vertices) > len(source.data.vertices)
    check_poses(mesh, expected)


def test_mesh_caches_and_geometry_nodes_are_sources_too():
    scenes.empty()
    source = scenes.cached(os.path.join(home, "cache.pc2"))
    _armature, mesh, expected = solve(source, bones=5)
    check_poses(mesh, expected)
    check_close(source, mesh, 8)
    scenes.empty()
    source = scenes.geometry_nodes()
    _armature, mesh, expected = solve(source, bones=5)
    check_poses(mesh, expected)
    check_close(source, mesh, 8)


def test_affine_bones_keep_their_shear():
    for method in ("flats", "kavan"):
        scenes.empty()
        source = scenes.keyed_shapes()
        armature, mesh, expected = solve(source, method=method, bones=4)
        assert len(armature.data.bones) == 8  # a bone that stretches above each that turns
        assert sum(bone.use_deform for bone in armature.data.bones) == 4
        check_poses(mesh, expected)


def test_a_skeleton_has_one_root_and_bones_that_only_rotate():
    scenes.empty()
    source = scenes.skinned()
    armature, mesh, expected = solve(source, skeleton=True, bones=3, quality="fast")
    check_poses(mesh, expected)
    assert sum(bone.parent is None for bone in armature.data.bones) == 1
    keyed = {curve.data_path.rsplit(".", 1)[1] for curve in armature.animation_data.action.fcurves
             if "[\"%s\"]" % next(b.name for b in armature.data.bones if b.parent) in curve.data_path}
    assert keyed == {"rotation_quaternion"}, keyed


def test_corrections_are_shape_keys_with_keyed_values():
    scenes.empty()
    source = scenes.keyed_shapes()
    without = solve(source, bones=3)[0].sinew_result.e_rms
    scenes.empty()
    source = scenes.keyed_shapes()
    armature, mesh, expected = solve(source, bones=3, corrections=2)
    check_poses(mesh, expected)
    keys = mesh.data.shape_keys
    assert [key.name for key in keys.key_blocks] == ["Basis", "Correction 1", "Correction 2"]
    assert keys.animation_data.action.name == "Walkabout (Sinew) corrections"
    assert armature.sinew_result.e_rms < without


def test_materials_and_uvs_are_kept():
    scenes.empty()
    source = scenes.skinned()
    _armature, mesh, _expected = solve(source, bones=3, quality="fast")
    assert [m.name for m in mesh.data.materials] == [m.name for m in source.data.materials]
    assert [p.material_index for p in mesh.data.polygons] == [p.material_index for p in source.data.polygons]
    for layer in source.data.uv_layers:
        theirs = mesh.data.uv_layers[layer.name]
        assert all((a.uv - b.uv).length < 1e-6 for a, b in zip(layer.data, theirs.data))
    assert len(source.data.uv_layers) == 1


def test_rotations_are_quaternions_on_one_side():
    scenes.empty()
    armature, _mesh, _expected = solve(scenes.skinned(), bones=3)
    for bone in armature.pose.bones:
        assert bone.rotation_mode == "QUATERNION"
        path = 'pose.bones["%s"].rotation_quaternion' % bone.name
        curves = [armature.animation_data.action.fcurves.find(path, index=i) for i in range(4)]
        keys = numpy.array([[point.co[1] for point in curve.keyframe_points] for curve in curves]).T
        assert keys.shape == (scenes.FRAMES, 4)
        assert (numpy.sum(keys[1:] * keys[:-1], axis=1) > 0).all()
        assert all(point.interpolation == "LINEAR" for point in curves[0].keyframe_points)


def test_the_result_is_told_and_shown():
    scenes.empty()
    from sinew_rig import build

    armature, mesh, _expected = solve(scenes.skinned(), bones=3)
    result = armature.sinew_result
    assert result.bones == 3 and 1 <= result.influences <= 3
    assert 0 < result.e_rms < 100 and 0 < result.rmse_percent < result.max_percent
    assert result.seconds > 0
    heat = mesh.data.color_attributes[build.HEAT_MAP]
    assert (heat.domain, heat.data_type) == ("POINT", "FLOAT_COLOR")
    colors = numpy.empty(4 * len(mesh.data.vertices))
    heat.data.foreach_get("color", colors)
    assert colors.reshape(-1, 4)[:, 0].max() == 1.0  # red where the error is largest


def test_a_result_can_be_solved_again():
    """Its mesh has the colours of the first solve, which those of the second replace."""
    scenes.empty()
    from sinew_rig import build

    _armature, first, _expected = solve(scenes.skinned(), bones=3, quality="fast")
    _armature, second, expected = solve(first, bones=2, quality="fast")
    check_poses(second, expected)
    assert [a.name for a in second.data.color_attributes] == [build.HEAT_MAP]
    assert first.data.color_attributes[0].name == build.HEAT_MAP


def test_groups_hold_the_weights_of_the_rig():
    scenes.empty()
    from sinew_rig import glb, operators

    bpy.context.scene.sinew.bones = 3
    task = operators.Task(bpy.context, scenes.skinned())
    try:
        armature = task.wait(bpy.context)
        rig = glb.read(task._job.glb)
    finally:
        task.close(bpy.context)
    mesh = armature.children[0]
    name_of = {node.joint: node.name for node in rig.nodes if node.joint >= 0}
    shared = 0
    for v, vertex in enumerate(mesh.data.vertices):
        expected = {name_of[int(j)]: float(w) for j, w in zip(rig.joints[v], rig.weights[v]) if w > 0}
        found = {mesh.vertex_groups[entry.group].name: entry.weight for entry in vertex.groups}
        assert found == expected, v
        shared += len(found) > 1
    assert shared > 10


def test_the_number_of_bones_is_asked_for_in_every_way_the_method_has():
    from sinew_rig import settings

    scenes.empty()
    asked = bpy.context.scene.sinew
    for method, skeleton, target, is_open, expected in (
        ("ssdr", False, "BONES", True, "bones"), ("ssdr", False, "ERROR", False, "max_error"),
        ("sma", False, "ERROR", False, "bones"), ("sma", False, "ERROR", True, None),
        ("flats", False, "ERROR", True, "max_error"), ("clusters", False, "ERROR", True, "bones"),
        ("ssdr", True, "BONES", False, "bones"), ("ssdr", True, "BONES", True, "detail"),
        ("ssdr", True, "ERROR", False, "max_error"), ("ssdr", True, "ERROR", True, "max_error"),
    ):
        asked.method, asked.skeleton, asked.target, asked.open_number = method, skeleton, target, is_open
        found = set(asked.options()) & {"bones", "max_error", "detail"}
        assert found == ({expected} if expected else set()), (method, skeleton, target, is_open, found)
    assert {item[0] for item in settings.METHODS} == {"ssdr", "sma", "flats", "kavan", "clusters"}


def test_a_skeleton_can_be_asked_for_by_its_error():
    scenes.empty()
    armature, mesh, expected = solve(scenes.skinned(), skeleton=True, target="ERROR", max_error=20.0, quality="fast")
    check_poses(mesh, expected)
    assert armature.sinew_result.e_rms <= 20.0


def test_a_frame_range_of_its_own_is_used():
    scenes.empty()
    armature, _mesh, expected = solve(scenes.skinned(), bones=3, quality="fast", use_range=True, frame_start=2,
                                      frame_end=8, frame_step=3)
    assert len(expected) == 3
    curve = armature.animation_data.action.fcurves[0]
    assert [point.co[0] for point in curve.keyframe_points] == [2.0, 5.0, 8.0]


def test_a_change_of_topology_is_refused_and_names_the_frame():
    scenes.empty()
    said = refused(scenes.growing())
    assert said.startswith("frame 6: 50 vertices, frame 1 has 25"), said
    scenes.empty()
    said = refused(scenes.remeshed())
    assert said.startswith("frame 4: its faces are not those of frame 1"), said


def test_a_missing_program_is_said():
    scenes.empty()
    source = scenes.skinned()
    bpy.context.preferences.addons["sinew_rig"].preferences.program = "/nowhere/sinew"
    os.environ["SINEW_PROGRAM"] = "/nowhere/either"
    path, os.environ["PATH"] = os.environ["PATH"], ""
    try:
        assert "/nowhere/sinew: there is no such program" in refused(source)
        bpy.context.preferences.addons["sinew_rig"].preferences.program = ""
        from sinew_rig import solver

        if solver.module() is None:
            assert "the sinew program was not found" in refused(source)
    finally:
        os.environ["PATH"], os.environ["SINEW_PROGRAM"] = path, PROGRAM


def keys_of(armature):
    """All keyed values."""
    return {(curve.data_path, curve.array_index): [point.co[1] for point in curve.keyframe_points]
            for curve in armature.animation_data.action.fcurves}


def test_the_module_makes_what_the_program_makes():
    import importlib.util

    sys.path.insert(0, MODULE)
    try:
        if importlib.util.find_spec("sinew") is None:
            print("    skipped: there is no module in", MODULE)
            return
        import sinew

        made = []
        for preferred in (PROGRAM, ""):
            scenes.empty()
            bpy.context.preferences.addons["sinew_rig"].preferences.program = preferred
            from sinew_rig import operators

            assert (operators.program_of(bpy.context) is None) == (preferred == "")
            armature, mesh, expected = solve(scenes.skinned(), bones=3, corrections=1)
            check_poses(mesh, expected)
            made.append((keys_of(armature), armature.sinew_result.influences, armature.sinew_result.e_rms))
        assert made[0][:2] == made[1][:2]
        assert abs(made[0][2] / made[1][2] - 1) < 1e-4  # the program's error is that of the written file
        assert sinew.__file__.startswith(MODULE)
    finally:
        sys.path.remove(MODULE)
        for name in [name for name in sys.modules if name == "sinew" or name.startswith("sinew.")]:
            del sys.modules[name]


def test_what_the_solver_refuses_is_said():
    scenes.empty()
    source = scenes.skinned()
    for vertex in source.data.vertices:  # a twist that no mirror keeps
        vertex.co.y += 0.5 * vertex.co.x * vertex.co.z
    bpy.context.scene.sinew.skeleton = bpy.context.scene.sinew.symmetric = True
    said = refused(source)
    assert "mirror" in said, said


def test_a_cancelled_solve_changes_nothing():
    from sinew_rig import operators

    scenes.empty()
    source = scenes.skinned()
    bpy.context.scene.frame_set(3)
    bpy.context.scene.sinew.quality = "best"
    bpy.context.scene.sinew.bones = 12
    before = set(bpy.data.objects.keys())
    for steps in (1, scenes.FRAMES // 2, scenes.FRAMES, scenes.FRAMES + 1):
        task = operators.Task(bpy.context, source)
        for _ in range(steps):
            assert task.step(bpy.context) is None
        task.close(bpy.context)
        assert task._job is None or task._job.done
        assert not os.path.exists(task._folder)
        assert set(bpy.data.objects.keys()) == before
        assert bpy.context.scene.frame_current == 3


def everything():
    """All that a solve makes, and what it changes of the scene."""
    kinds = ("objects", "armatures", "meshes", "actions", "shape_keys")
    return ({kind: sorted(thing.name for thing in getattr(bpy.data, kind)) for kind in kinds},
            [thing.name for thing in bpy.context.selected_objects], bpy.context.object.name, bpy.context.mode,
            bpy.context.object.hide_get(), bpy.context.scene.frame_current)


def test_what_nobody_foresaw_leaves_nothing_behind():
    """Wherever building fails, everything is as it was."""
    from sinew_rig import build

    for name in ("_rest_mesh", "_add_heat_map", "_tail", "_key_bone", "_key", "_add_groups", "_add_corrections"):
        scenes.empty()
        source = scenes.skinned()
        bpy.context.scene.frame_set(4)
        bpy.context.scene.sinew.bones, bpy.context.scene.sinew.corrections = 3, 1
        bpy.context.scene.sinew.quality = "fast"
        before = everything()
        folders = set(os.listdir(tempfile.gettempdir()))
        plain = getattr(build, name)

        def fail(*_arguments, **_more):
            raise LookupError("a failure of this test's own, in " + name)

        setattr(build, name, fail)
        try:
            bpy.ops.sinew.solve()
            raise AssertionError(name + " is not called")
        except RuntimeError as said:
            assert "a failure of this test's own, in " + name in str(said)
        finally:
            setattr(build, name, plain)
        assert everything() == before, name
        assert set(os.listdir(tempfile.gettempdir())) == folders
        assert bpy.ops.sinew.solve() == {"FINISHED"} and source.hide_get()


def test_the_operators_work_from_scripts():
    scenes.empty()
    scenes.skinned()
    bpy.context.scene.sinew.bones = 3
    bpy.context.scene.sinew.quality = "fast"
    assert bpy.ops.sinew.estimate() == {"FINISHED"}
    assert bpy.context.window_manager["sinew_estimate"].startswith("%d frames: about " % scenes.FRAMES)
    assert bpy.ops.sinew.solve() == {"FINISHED"}
    assert bpy.context.object.type == "ARMATURE" and bpy.context.object.sinew_result.bones == 3


def test_a_saved_file_comes_back_the_same():
    scenes.empty()
    _armature, mesh, expected = solve(scenes.skinned(), bones=3, corrections=1)
    e_rms = mesh.parent.sinew_result.e_rms
    name = mesh.name
    path = os.path.join(home, "saved.blend")
    bpy.ops.wm.save_as_mainfile(filepath=path)
    scenes.empty()
    bpy.ops.wm.open_mainfile(filepath=path)
    mesh = bpy.data.objects[name]
    check_poses(mesh, expected)
    assert mesh.parent.sinew_result.e_rms == e_rms


def test_the_addon_goes_without_a_trace():
    scenes.empty()
    import addon_utils

    addon_utils.disable("sinew_rig", default_set=True)
    assert not hasattr(bpy.types.Scene, "sinew") and not hasattr(bpy.types, "SINEW_PT_panel")
    addon_utils.enable("sinew_rig", default_set=True)
    assert hasattr(bpy.types, "SINEW_PT_panel")


if bpy.app.version >= (4, 2, 0):

    def test_it_is_an_extension_that_can_be_installed():
        """The manifest is valid, and what is installed from the zip solves."""
        import addon_utils

        tool = os.path.join(bpy.utils.system_resource("SCRIPTS"), "addons_core", "bl_pkg", "cli", "blender_ext.py")
        said = subprocess.run([sys.executable, tool, "validate", ZIP], capture_output=True, text=True)
        assert said.returncode == 0, said.stdout + said.stderr
        addon_utils.disable("sinew_rig", default_set=True)
        bpy.ops.wm.read_factory_settings(use_empty=True)
        bpy.context.scene.frame_start, bpy.context.scene.frame_end = 1, scenes.FRAMES
        assert not hasattr(bpy.types.Scene, "sinew")
        assert bpy.ops.extensions.package_install_files(filepath=ZIP, repo="user_default") == {"FINISHED"}
        try:
            addon = bpy.context.preferences.addons["bl_ext.user_default.sinew_rig"]
            addon.preferences.program = PROGRAM
            scenes.skinned()
            bpy.context.scene.sinew.bones, bpy.context.scene.sinew.quality = 3, "fast"
            assert bpy.ops.sinew.solve() == {"FINISHED"}
            assert bpy.context.object.sinew_result.bones == 3
            addon.preferences.program = "/nowhere/sinew"
            scenes.activate(next(thing for thing in bpy.data.objects if thing.type == "MESH"))
            try:
                bpy.ops.sinew.solve()
                raise AssertionError("the path in its preferences is not looked at")
            except RuntimeError as problem:
                assert "/nowhere/sinew: there is no such program" in str(problem)
        finally:
            addon_utils.disable("bl_ext.user_default.sinew_rig", default_set=True)
        scenes.empty()


def main():
    chosen = arguments[3:]
    failed = 0
    for name, test in list(globals().items()):
        if not name.startswith("test_") or (chosen and not any(word in name for word in chosen)):
            continue
        try:
            test()
            print("ok", name)
        except Exception:
            failed += 1
            traceback.print_exc()
            print("FAILED", name)
    print("blender %s: %d failed" % (bpy.app.version_string, failed))
    sys.stdout.flush()
    sys.exit(1 if failed else 0)


main()
