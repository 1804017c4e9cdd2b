#include "io/fbx/objects.h"

#include <map>

namespace sinew::fbx {

Id ObjectList::add(std::string type, std::function<void(Writer&, Id)> write) {
  objects_.push_back({std::move(type), std::move(write)});
  return id_of(objects_.size() - 1);
}

void ObjectList::write(Writer& out) const {
  std::map<std::string, std::int32_t> counts{{"GlobalSettings", 1}};
  for (const Object& object : objects_) ++counts[object.type];
  out.open("Definitions");
  out.leaf("Version", {100});
  out.leaf("Count", {static_cast<std::int32_t>(objects_.size() + 1)});
  for (const auto& [type, count] : counts) {
    out.open("ObjectType", {type});
    out.leaf("Count", {count});
    out.close();
  }
  out.close();
  out.open("Objects");
  for (std::size_t i = 0; i < objects_.size(); ++i) objects_[i].write(out, id_of(i));
  out.close();
  out.open("Connections");
  for (const Connection& connection : connections_)
    if (connection.property.empty())
      out.leaf("C", {std::string("OO"), connection.from, connection.to});
    else
      out.leaf("C", {std::string("OP"), connection.from, connection.to, connection.property});
  out.close();
}

}  // namespace sinew::fbx
