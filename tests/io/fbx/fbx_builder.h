#pragma once

#include <array>
#include <map>
#include <string>
#include <vector>

#include "io/fbx/objects.h"
#include "io/gltf/gltf_rigs.h"

/// FBX files that programs write and our writer does not: chains of models with pivots, rotation orders and inherited
/// scale, geometric transforms, units and axes, curves that are not linear, shapes in between.
namespace sinew::test {

using Triple = std::array<double, 3>;

/// A key of a curve: seconds, value, flags of the format and slopes to its right and to the left of the next one.
struct BuiltKey {
  double time = 0;
  float value = 0;
  std::int32_t flags = 4;
  float right = 0;
  float next_left = 0;
};

/// A model below the one before it; the last ones show the mesh.
struct BuiltModel {
  std::string name;
  int parent = -1;
  bool shows_mesh = false;
  std::map<std::string, Triple> vectors;
  std::map<std::string, int> numbers;
  std::map<std::string, std::array<std::vector<BuiltKey>, 3>> curves;  // by property
};

struct BuiltFile {
  std::vector<BuiltModel> models;
  std::map<std::string, int> settings;  // of GlobalSettings
  double unit = 1;                      // centimetres
};

inline void write_built_model(const BuiltModel& model, fbx::Writer& out, fbx::Id id) {
  out.open("Model", {id, fbx::object_name(model.name, "Model"), std::string(model.shows_mesh ? "Mesh" : "Null")});
  out.leaf("Version", {232});
  out.open("Properties70");
  out.property("DefaultAttributeIndex", "int", "Integer", "", {0});
  for (const auto& [key, value] : model.numbers) out.property(key, "enum", "", "", {value});
  for (const auto& [key, v] : model.vectors) out.property(key, "Vector3D", "Vector", "", {v[0], v[1], v[2]});
  out.close();
  out.close();
}

inline void write_built_curve(const std::vector<BuiltKey>& keys, fbx::Writer& out, fbx::Id id) {
  std::vector<std::int64_t> times;
  std::vector<float> values;
  std::vector<std::int32_t> flags;
  std::vector<float> data;
  for (const BuiltKey& key : keys) {
    times.push_back(static_cast<std::int64_t>(key.time * static_cast<double>(fbx::kTicksPerSecond)));
    values.push_back(key.value);
    flags.push_back(key.flags);
    data.insert(data.end(), {key.right, key.next_left, 0, 0});
  }
  const std::vector<std::int32_t> uses(keys.size(), 1);
  out.open("AnimationCurve", {id, fbx::object_name("", "AnimCurve"), std::string()});
  out.leaf("Default", {0.0});
  out.leaf("KeyVer", {4008});
  out.leaf("KeyTime", {std::span<const std::int64_t>(times)});
  out.leaf("KeyValueFloat", {std::span<const float>(values)});
  out.leaf("KeyAttrFlags", {std::span<const std::int32_t>(flags)});
  out.leaf("KeyAttrDataFloat", {std::span<const float>(data)});
  out.leaf("KeyAttrRefCount", {std::span<const std::int32_t>(uses)});
  out.close();
}

/// One second of animation where a model has curves.
inline fbx::Id add_built_stack(fbx::ObjectList& objects) {
  const fbx::Id stack = objects.add("AnimationStack", [](fbx::Writer& out, fbx::Id id) {
    out.open("AnimationStack", {id, fbx::object_name("take", "AnimStack"), std::string()});
    out.open("Properties70");
    out.property("LocalStop", "KTime", "Time", "", {fbx::kTicksPerSecond});
    out.property("ReferenceStop", "KTime", "Time", "", {fbx::kTicksPerSecond});
    out.close();
    out.close();
  });
  const fbx::Id layer = objects.add("AnimationLayer", [](fbx::Writer& out, fbx::Id id) {
    out.open("AnimationLayer", {id, fbx::object_name("layer", "AnimLayer"), std::string()});
    out.close();
  });
  objects.connect(layer, stack);
  return layer;
}

inline void add_built_curves(const BuiltModel& model, fbx::Id owner, fbx::Id layer, fbx::ObjectList& objects) {
  static constexpr const char* kParts[] = {"d|X", "d|Y", "d|Z"};
  for (const auto& [property, curves] : model.curves) {
    const auto found = model.vectors.find(property);
    const Triple rest = found != model.vectors.end() ? found->second : Triple{};
    const fbx::Id node = objects.add("AnimationCurveNode", [rest](fbx::Writer& out, fbx::Id id) {
      out.open("AnimationCurveNode", {id, fbx::object_name("N", "AnimCurveNode"), std::string()});
      out.open("Properties70");
      for (std::size_t i = 0; i < 3; ++i) out.property(kParts[i], "Number", "", "A", {rest[i]});
      out.close();
      out.close();
    });
    objects.connect(node, layer);
    objects.connect(node, owner, property);
    for (std::size_t i = 0; i < 3; ++i) {
      if (curves[i].empty()) continue;
      const fbx::Id curve = objects.add(
          "AnimationCurve", [keys = curves[i]](fbx::Writer& out, fbx::Id id) { write_built_curve(keys, out, id); });
      objects.connect(curve, node, kParts[i]);
    }
  }
}

inline fbx::Id add_built_mesh(fbx::ObjectList& objects) {
  return objects.add("Geometry", [](fbx::Writer& out, fbx::Id id) {
    const Mesh mesh = bar_mesh(3);
    const std::vector<double> vertices(mesh.positions.data(), mesh.positions.data() + mesh.positions.size());
    std::vector<std::int32_t> polygons(mesh.corners.begin(), mesh.corners.end());
    for (std::size_t c = 3; c < polygons.size(); c += 4) polygons[c] = ~polygons[c];
    out.open("Geometry", {id, fbx::object_name("bar", "Geometry"), std::string("Mesh")});
    out.leaf("Vertices", {std::span<const double>(vertices)});
    out.leaf("PolygonVertexIndex", {std::span<const std::int32_t>(polygons)});
    out.leaf("GeometryVersion", {124});
    out.close();
  });
}

inline std::vector<std::byte> build_fbx(const BuiltFile& file) {
  fbx::ObjectList objects;
  const fbx::Id mesh = add_built_mesh(objects);
  bool moves = false;
  for (const BuiltModel& model : file.models) moves = moves || !model.curves.empty();
  const fbx::Id layer = moves ? add_built_stack(objects) : 0;
  std::vector<fbx::Id> ids;
  for (const BuiltModel& model : file.models) {
    ids.push_back(objects.add("Model", [model](fbx::Writer& out, fbx::Id id) { write_built_model(model, out, id); }));
    objects.connect(ids.back(), model.parent < 0 ? 0 : ids[static_cast<std::size_t>(model.parent)]);
    if (model.shows_mesh) objects.connect(mesh, ids.back());
    add_built_curves(model, ids.back(), layer, objects);
  }
  fbx::Writer out;
  out.open("FBXHeaderExtension");
  out.leaf("FBXHeaderVersion", {1003});
  out.leaf("FBXVersion", {7400});
  out.close();
  out.identify("test");
  out.open("GlobalSettings");
  out.leaf("Version", {1000});
  out.open("Properties70");
  for (const auto& [key, value] : file.settings) out.property(key, "int", "Integer", "", {value});
  out.property("UnitScaleFactor", "double", "Number", "", {file.unit});
  out.property("TimeMode", "enum", "", "", {6});
  out.close();
  out.close();
  objects.write(out);
  out.open("Takes");
  out.leaf("Current", {std::string()});
  out.close();
  return out.finish();
}

struct BuiltCase {
  std::string name;
  BuiltFile file;
};

/// A parent that turns and moves over a second, and a child with the mesh.
inline BuiltFile moving_pair() {
  BuiltFile file;
  BuiltModel parent{"parent", -1, false, {}, {}, {}};
  parent.vectors = {{"Lcl Translation", {1, 2, 3}}, {"Lcl Rotation", {20, -30, 40}}, {"Lcl Scaling", {1, 1, 1}}};
  parent.curves["Lcl Rotation"] = {{{{0, 20}, {1, 80}}, {{0, -30}, {0.5, 10}, {1, 65}}, {{0, 40}, {1, -100}}}};
  parent.curves["Lcl Translation"][1] = {{0, 2}, {1, 5}};
  BuiltModel child{"child", 0, true, {}, {}, {}};
  child.vectors = {{"Lcl Translation", {4, -1, 2}}, {"Lcl Rotation", {-50, 15, 70}}, {"Lcl Scaling", {1, 1, 1}}};
  child.curves["Lcl Rotation"][2] = {{0, 70}, {1, 10}};
  file.models = {parent, child};
  return file;
}

/// Everything that fbx2gltf can say in glTF as well.
inline std::vector<BuiltCase> built_cases() {
  std::vector<BuiltCase> out;
  out.push_back({"plain", moving_pair()});
  for (int order = 0; order < 6; ++order) {
    BuiltFile file = moving_pair();
    for (BuiltModel& model : file.models) model.numbers = {{"RotationActive", 1}, {"RotationOrder", order}};
    out.push_back({"order_" + std::to_string(order), file});
  }
  BuiltFile passive = moving_pair();
  passive.models[0].numbers = {{"RotationOrder", 5}};
  passive.models[1].vectors["PreRotation"] = {10, 20, 30};
  out.push_back({"rotation_not_active", passive});
  BuiltFile pivots = moving_pair();
  for (BuiltModel& model : pivots.models) {
    model.numbers = {{"RotationActive", 1}, {"RotationOrder", 2}};
    model.vectors["PreRotation"] = {15, -25, 35};
    model.vectors["PostRotation"] = {-40, 5, 12};
    model.vectors["RotationOffset"] = {0.5, -0.25, 1};
    model.vectors["RotationPivot"] = {2, 1, -1};
    model.vectors["ScalingOffset"] = {-0.5, 0.75, 0.1};
    model.vectors["ScalingPivot"] = {1, -2, 0.5};
  }
  pivots.models[1].vectors["Lcl Scaling"] = {1.5, 0.5, 2};
  out.push_back({"pivots", pivots});
  BuiltFile geometric = moving_pair();
  geometric.models[1].vectors["GeometricTranslation"] = {1, 0.5, -2};
  geometric.models[1].vectors["GeometricRotation"] = {30, 40, -50};
  geometric.models[1].vectors["GeometricScaling"] = {1.25, 0.8, 1.1};
  out.push_back({"geometric", geometric});
  BuiltFile units = moving_pair();
  units.unit = 2.54;
  units.settings = {{"UpAxis", 2},         {"UpAxisSign", 1}, {"FrontAxis", 1},
                    {"FrontAxisSign", -1}, {"CoordAxis", 0},  {"CoordAxisSign", 1}};
  out.push_back({"inches_z_up", units});
  BuiltFile instances = moving_pair();
  instances.models.push_back(instances.models[1]);
  instances.models[2].name = "again";
  instances.models[2].vectors["Lcl Translation"] = {-3, 6, 1};
  instances.models[2].vectors["Lcl Scaling"] = {-1, 2, 1};
  out.push_back({"instances", instances});
  BuiltFile inherited = moving_pair();
  inherited.models[0].vectors["Lcl Scaling"] = {1.5, 1.5, 1.5};
  inherited.models[1].numbers = {{"InheritType", 0}};
  out.push_back({"inherit_even_scale", inherited});
  BuiltFile curves = moving_pair();
  curves.models[0].curves["Lcl Translation"] = {{{{0, 0, 0x408, 3, -2}, {0.4, 2, 0x408, 1, 0.5F}, {1, -1, 0x408}},
                                                 {{0, 1, 0x2}, {0.3, 4, 0x2}, {1, 2, 0x2}},
                                                 {{0, 1, 0x8 | 0x100}, {0.4, 3, 0x8 | 0x100}, {1, 4, 0x8 | 0x100}}}};
  out.push_back({"curves", curves});
  for (const std::int32_t flags : {0x2108, 0x6108, 0x1108}) {
    BuiltFile automatic = moving_pair();
    const auto keys = [&](float a, float b, float c, float d) {
      return std::vector<BuiltKey>{{0, a, flags}, {0.3, b, flags}, {0.4, c, flags}, {1, d, flags}};
    };
    automatic.models[0].curves["Lcl Translation"] = {{keys(1, 3, 4, 4.5F), keys(1, 3, 2, 6), keys(1, 1, 4, 4.1F)}};
    out.push_back({"automatic_" + std::to_string(flags), automatic});
  }
  return out;
}

/// Scale that is inherited in ways that glTF has no word for: the pose that the file itself says. Children turn by
/// quarters, so that no node shears against the one above it, which is all that other readers can say.
inline std::vector<BuiltCase> inherit_cases() {
  std::vector<BuiltCase> out;
  for (int type = 0; type < 3; ++type) {
    BuiltFile file = moving_pair();
    for (BuiltModel& model : file.models) {
      model.curves.clear();
      model.numbers = {{"InheritType", 1}};
    }
    file.models[0].vectors["Lcl Scaling"] = {2, 0.5, 1.25};
    BuiltModel last = file.models[1];
    file.models[1].shows_mesh = false;
    file.models[1].vectors["Lcl Scaling"] = {0.75, 1.5, 1};
    file.models[1].vectors["Lcl Rotation"] = {0, 0, 90};
    last.name = "last";
    last.parent = 1;
    last.numbers = {{"InheritType", type}};
    last.vectors["Lcl Scaling"] = {1, 1.2, 0.9};
    last.vectors["Lcl Rotation"] = {-90, 0, 180};
    file.models.push_back(last);
    file.unit = 100;
    out.push_back({"inherit_" + std::to_string(type), file});
  }
  return out;
}

}  // namespace sinew::test
