"""What the user can choose, and what came of the last solve."""

import bpy
from bpy.props import (BoolProperty, EnumProperty, FloatProperty, IntProperty, PointerProperty, StringProperty)

METHODS = (
    ("ssdr", "Sparse weights", "Rigid bones, few per vertex: what game engines play"),
    ("sma", "Near-rigid parts", "Parts found by mean shift"),
    ("flats", "Dense weights", "Affine bones, all of them on every vertex: the lowest error"),
    ("kavan", "Affine bones", "Affine bones and a rest pose of their own"),
    ("clusters", "Rigid pieces", "One bone per vertex"),
)
QUALITIES = (
    ("fast", "Fast", "One start, few iterations"),
    ("balanced", "Balanced", "Iterates until it converges"),
    ("best", "Best", "Goes on searching as long as that helps"),
)
DETAILS = (
    ("low", "Low", "Few bones: those that the eye would miss"),
    ("medium", "Medium", "As many as explain the motion in the fewest numbers"),
    ("high", "High", "More bones, for small motion as well"),
)
TARGETS = (
    ("BONES", "Bones", "Ask for a number of bones"),
    ("ERROR", "Error", "As few bones as reach an error"),
)


class SinewSettings(bpy.types.PropertyGroup):
    method: EnumProperty(name="Method", items=METHODS, default="ssdr")
    skeleton: BoolProperty(name="Skeleton", description="Join the bones in a hierarchy; they only rotate")
    symmetric: BoolProperty(name="Symmetric", description="Mirrored joints; the rest shape needs a mirror plane")
    target: EnumProperty(name="Target", items=TARGETS, default="BONES")
    open_number: BoolProperty(name="As Many as Help", description="Let the method find the number of bones")
    detail: EnumProperty(name="Detail", items=DETAILS, default="medium",
                         description="How many bones a skeleton gets where their number is open")
    bones: IntProperty(name="Bones", default=20, min=1, soft_max=200, max=1024)
    max_error: FloatProperty(name="E_RMS", default=2.0, min=1e-3, description="In the papers' unit: 1000 is the radius")
    corrections: IntProperty(name="Corrections", default=0, min=0, max=1000,
                             description="Shape keys with keyed values for what the bones cannot do")
    quality: EnumProperty(name="Quality", items=QUALITIES, default="balanced")
    use_range: BoolProperty(name="Own Frame Range", description="Instead of the scene's")
    frame_start: IntProperty(name="First", default=1)
    frame_end: IntProperty(name="Last", default=250)
    frame_step: IntProperty(name="Step", default=1, min=1)

    def options(self):
        """By the names that sinew has for them."""
        out = {"quality": self.quality}
        if self.skeleton:
            out["skeleton"] = True
            if self.symmetric:
                out["symmetric"] = True
            if self.by_itself:
                out["detail"] = self.detail
        else:
            out["method"] = self.method
        if self.by_error:
            out["max_error"] = self.max_error
        elif not self.by_itself:
            out["bones"] = self.bones
        if self.corrections:
            out["corrections"] = self.corrections
        return out

    @property
    def error_can_be_target(self):
        return self.skeleton or self.method in ("ssdr", "flats")

    @property
    def number_can_be_open(self):
        return self.skeleton or self.method == "sma"

    @property
    def by_itself(self):
        return self.number_can_be_open and self.open_number and not self.by_error

    @property
    def by_error(self):
        return self.error_can_be_target and self.target == "ERROR"

    def frames(self, scene):
        if self.use_range:
            return range(self.frame_start, self.frame_end + 1, self.frame_step)
        return range(scene.frame_start, scene.frame_end + 1, scene.frame_step)


class SinewResult(bpy.types.PropertyGroup):
    """On the armature that a solve made."""

    bones: IntProperty()
    influences: IntProperty()
    e_rms: FloatProperty()
    rmse_percent: FloatProperty()
    normal_degrees: FloatProperty()
    max_percent: FloatProperty()
    seconds: FloatProperty()
    remark: StringProperty()


class SinewPreferences(bpy.types.AddonPreferences):
    bl_idname = __package__

    program: StringProperty(name="Program", subtype="FILE_PATH",
                            description="The sinew program; empty: the Python module or what the PATH has")

    def draw(self, context):
        self.layout.prop(self, "program")


_CLASSES = (SinewSettings, SinewResult, SinewPreferences)


def register():
    for cls in _CLASSES:
        bpy.utils.register_class(cls)
    bpy.types.Scene.sinew = PointerProperty(type=SinewSettings)
    bpy.types.Object.sinew_result = PointerProperty(type=SinewResult)


def unregister():
    del bpy.types.Object.sinew_result
    del bpy.types.Scene.sinew
    for cls in reversed(_CLASSES):
        bpy.utils.unregister_class(cls)
