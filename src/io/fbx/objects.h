#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "io/fbx/writer.h"

namespace sinew::fbx {

using Id = std::int64_t;

/// The objects of a file and what is connected to what, before they are written: the file counts its objects first.
class ObjectList {
 public:
  /// Adds an object; `write` writes its record when its turn comes. Types are those of Definitions: Model, Geometry,
  /// ...
  Id add(std::string type, std::function<void(Writer&, Id)> write);

  /// Object to object: `from` belongs to `to`, 0 being the scene.
  void connect(Id from, Id to) { connections_.push_back({from, to, {}}); }
  /// Object to a property of another.
  void connect(Id from, Id to, std::string property) { connections_.push_back({from, to, std::move(property)}); }

  /// Definitions, Objects and Connections.
  void write(Writer& out) const;

 private:
  struct Object {
    std::string type;
    std::function<void(Writer&, Id)> write;
  };
  struct Connection {
    Id from = 0;
    Id to = 0;
    std::string property;
  };

  static Id id_of(std::size_t index) { return static_cast<Id>(index) + 1000001; }

  std::vector<Object> objects_;
  std::vector<Connection> connections_;
};

}  // namespace sinew::fbx
