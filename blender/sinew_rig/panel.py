"""The panel in the sidebar."""

import bpy


class SINEW_PT_panel(bpy.types.Panel):
    bl_label = "Sinew"
    bl_idname = "SINEW_PT_panel"
    bl_space_type = "VIEW_3D"
    bl_region_type = "UI"
    bl_category = "Sinew"

    def draw(self, context):
        layout = self.layout
        layout.use_property_split = True
        layout.use_property_decorate = False
        if context.object is None or context.object.type != "MESH":
            layout.label(text="Select an animated mesh", icon="INFO")
        else:
            layout.label(text=context.object.name, icon="MESH_DATA")
        self._draw_settings(layout, context.scene.sinew)
        row = layout.row(align=True)
        row.operator("sinew.estimate")
        row.operator("sinew.solve")
        estimate = context.window_manager.get("sinew_estimate")
        if estimate:
            layout.label(text=estimate)
        self._draw_result(layout, context.object)

    @staticmethod
    def _draw_settings(layout, settings):
        layout.prop(settings, "skeleton")
        column = layout.column()
        if settings.skeleton:
            column.prop(settings, "symmetric")
        else:
            column.prop(settings, "method")
        if settings.error_can_be_target:
            column.row().prop(settings, "target", expand=True)
        if settings.number_can_be_open and not settings.by_error:
            column.prop(settings, "open_number")
        if settings.skeleton and settings.by_itself:
            column.prop(settings, "detail")
        if not settings.by_itself:
            column.prop(settings, "max_error" if settings.by_error else "bones")
        column.prop(settings, "corrections")
        column.prop(settings, "quality")
        column = layout.column(align=True)
        column.prop(settings, "use_range")
        if settings.use_range:
            column.prop(settings, "frame_start")
            column.prop(settings, "frame_end")
            column.prop(settings, "frame_step")

    @staticmethod
    def _draw_result(layout, selected):
        armature = selected if selected is None or selected.type == "ARMATURE" else selected.parent
        if armature is None or armature.type != "ARMATURE" or armature.sinew_result.bones == 0:
            return
        result = armature.sinew_result
        box = layout.box()
        for name, value in (
            ("Bones", "%d, %d per vertex" % (result.bones, result.influences)),
            ("E_RMS", "%.3g" % result.e_rms),
            ("RMSE", "%.3g %% of the diagonal" % result.rmse_percent),
            ("Largest", "%.3g %% of the diagonal" % result.max_percent),
            ("Normals", "%.3g°" % result.normal_degrees),
            ("Time", "%.3g s" % result.seconds),
        ):
            row = box.row()
            row.label(text=name)
            row.label(text=value)
        if result.remark:
            box.label(text=result.remark)


def register():
    bpy.utils.register_class(SINEW_PT_panel)


def unregister():
    bpy.utils.unregister_class(SINEW_PT_panel)
