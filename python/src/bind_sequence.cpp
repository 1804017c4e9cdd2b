#include <fmt/format.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <filesystem>
#include <limits>

#include "arrays.h"
#include "model.h"
#include "sinew/core/error.h"
#include "sinew/io/io.h"

namespace sinew::python {
namespace {

std::string text_of(const Sequence& sequence) {
  return fmt::format("Sequence('{}', {} vertices, {} faces, {} frames{})", sequence.name, sequence.vertex_count(),
                     sequence.rest.face_count(), sequence.frame_count(),
                     sequence.clips.empty() ? "" : fmt::format(", {} clips", sequence.clips.size()));
}

/// Frames of more than half of that memory are left in a file; 0: none are.
void leave_in_files(ReadOptions& options, double memory, const std::filesystem::path& scratch) {
  options.paging.scratch = scratch;
  if (memory <= 0) return;
  options.paging.most = static_cast<std::size_t>(memory / 2);
  options.paging.memory = static_cast<std::size_t>(memory / 4);
  options.max_bytes = std::numeric_limits<std::size_t>::max();
}

/// A bound of a slice: an integer that numpy or Python has.
std::int64_t bound_of(nb::handle bound) {
  PyObject* const number = PyNumber_Index(bound.ptr());
  if (number == nullptr) {
    PyErr_Clear();
    throw nb::type_error("frames: a slice with integers as bounds is expected");
  }
  int overflow = 0;
  const long long value = PyLong_AsLongLongAndOverflow(number, &overflow);
  Py_DECREF(number);
  return overflow > 0 ? std::numeric_limits<std::int64_t>::max() : overflow < 0 ? -1 : value;
}

/// Bounds and step of a slice of frames, counted from 0.
void set_frames(nb::handle frames, ReadOptions& options) {
  if (frames.is_none()) return;
  if (PySlice_Check(frames.ptr()) == 0) throw nb::type_error("frames: a slice of frame numbers is expected");
  const auto set = [&](const char* part, std::size_t& value) {
    const nb::object bound = frames.attr(part);
    if (bound.is_none()) return;
    const std::int64_t number = bound_of(bound);
    if (number < 0 || (number == 0 && std::string_view(part) == "step"))
      throw Error(ErrorKind::usage, "frames: bounds from 0 and a step from 1 are expected");
    value = static_cast<std::size_t>(number);
  };
  set("start", options.first_frame);
  set("stop", options.last_frame);
  set("step", options.frame_step);
}

ReadOptions read_options(std::string clip, std::string mesh, double fps, std::string rest, nb::handle frames) {
  ReadOptions options;
  options.clip = std::move(clip);
  options.mesh = std::move(mesh);
  if (!(fps >= 0)) throw Error(ErrorKind::usage, fmt::format("fps: {} given, a number of at least 0 is expected", fps));
  options.frames_per_second = fps;
  options.rest = std::move(rest);
  options.warn = warn;
  set_frames(frames, options);
  return options;
}

constexpr const char* kSequenceInit =
    R"(def __init__(self, frames: numpy.typing.ArrayLike, faces: numpy.typing.ArrayLike | collections.abc.Sequence[collections.abc.Sequence[int]] | None = None, rest: numpy.typing.ArrayLike | None = None, times: numpy.typing.ArrayLike | None = None, fps: float = 30.0, name: str = 'sequence') -> None)";

}  // namespace

nb::list facts_of(const std::vector<Clip>& clips) {
  nb::list out;
  for (const Clip& clip : clips) {
    nb::dict entry;
    entry["name"] = clip.name;
    entry["first_frame"] = clip.first_frame;
    entry["frames"] = clip.frames;
    out.append(entry);
  }
  return out;
}

void bind_sequence(nb::module_& module) {
  nb::class_<Sequence>(module, "Sequence", R"(An animated mesh of constant topology.

frames  F×V×3 positions in any unit; contiguous float32 is used without a copy (do not change it meanwhile), other
        numbers are converted to float32.
faces   T×k vertex numbers, or a list of polygons of any sizes, counter-clockwise seen from outside; None: points.
rest    V×3 positions of the rest pose; None: the first frame.
times   F seconds, strictly increasing; None: frames at `fps` per second from 0.
Raises sinew.Error (kind 'input') for numbers that are not finite, faces out of range and shapes that disagree.)")
      .def(
          "__init__",
          [](Sequence* self, nb::object frames, nb::object faces, nb::object rest, nb::object times, double fps,
             std::string name) {
            new (self) Sequence(make_sequence(frames, faces, rest, times, fps, std::move(name)));
          },
          nb::sig(kSequenceInit), nb::arg("frames"), nb::arg("faces").none() = nb::none(),
          nb::arg("rest").none() = nb::none(), nb::arg("times").none() = nb::none(), nb::arg("fps") = 30.0,
          nb::arg("name") = "sequence")
      .def("__repr__", &text_of)
      .def("__len__", &Sequence::frame_count)
      .def(
          "__getitem__",
          [](const Sequence& self, nb::handle frames) {
            if (PySlice_Check(frames.ptr()) == 0)
              throw nb::type_error("a sequence is cut by a slice; its frames are arrays: sequence.frames[f]");
            ReadOptions options;
            set_frames(frames, options);
            return select_frames(self, options.first_frame, options.last_frame, options.frame_step);
          },
          nb::sig("def __getitem__(self, frames: slice) -> Sequence"), nb::arg("frames"),
          "The frames of a slice, counted from 0, as a sequence, its clips cut accordingly; a copy.")
      .def(
          "resample",
          [](const Sequence& self, double fps) {
            const nb::gil_scoped_release released;
            return resample(self, fps);
          },
          nb::arg("fps"),
          "Frames at a constant rate, from the first to the last time of each clip; between two frames vertices move "
          "straight.")
      .def_prop_ro("name", [](const Sequence& self) { return self.name; })
      .def_prop_ro(
          "frames",
          [](nb::handle_t<Sequence> self) {
            const auto& sequence = nb::cast<const Sequence&>(self);
            return view_of(sequence.frames.data().data(), {sequence.frame_count(), sequence.vertex_count(), 3}, self);
          },
          nb::sig("def frames(self) -> numpy.typing.NDArray[numpy.float32]"), "F×V×3 positions, a view.")
      .def_prop_ro(
          "rest",
          [](nb::handle_t<Sequence> self) {
            const auto& sequence = nb::cast<const Sequence&>(self);
            return view_of(sequence.rest.positions.data(), {sequence.vertex_count(), 3}, self);
          },
          nb::sig("def rest(self) -> numpy.typing.NDArray[numpy.float32]"), "V×3 positions of the rest pose, a view.")
      .def_prop_ro(
          "face_sizes",
          [](nb::handle_t<Sequence> self) {
            const auto& sizes = nb::cast<const Sequence&>(self).rest.face_sizes;
            return view_of(sizes.data(), {sizes.size()}, self);
          },
          nb::sig("def face_sizes(self) -> numpy.typing.NDArray[numpy.uint32]"), "Corners of each face, a view.")
      .def_prop_ro(
          "corners",
          [](nb::handle_t<Sequence> self) {
            const auto& corners = nb::cast<const Sequence&>(self).rest.corners;
            return view_of(corners.data(), {corners.size()}, self);
          },
          nb::sig("def corners(self) -> numpy.typing.NDArray[numpy.uint32]"),
          "Vertices of all faces, one face after another, a view.")
      .def_prop_ro(
          "triangles",
          [](const Sequence& self) {
            std::vector<Index> corners = triangles_of(self.rest);
            const std::size_t count = corners.size() / 3;
            return array_of(std::move(corners), {count, 3});
          },
          nb::sig("def triangles(self) -> numpy.typing.NDArray[numpy.uint32]"), "T×3 vertices, polygons cut up.")
      .def_prop_ro(
          "times",
          [](nb::handle_t<Sequence> self) {
            const auto& times = nb::cast<const Sequence&>(self).times;
            return view_of(times.data(), {times.size()}, self);
          },
          nb::sig("def times(self) -> numpy.typing.NDArray[numpy.float64]"), "F seconds, a view.")
      .def_prop_ro(
          "clips", [](const Sequence& self) { return facts_of(self.clips); },
          nb::sig("def clips(self) -> list[dict[str, typing.Any]]"),
          "Animations that were put together: name, first_frame, frames; empty for a single one.")
      .def(
          "save",
          [](const Sequence& self, const std::filesystem::path& path) {
            const nb::gil_scoped_release released;
            write_sequence(path, self);
          },
          nb::sig("def save(self, path: str | os.PathLike[str]) -> None"), nb::arg("path"),
          "Writes .npz, .pc2, .mdd, .abc, .usda, .usdz, or, without extension, a folder of OBJ files: complete or not "
          "at all.");

  module.def(
      "read",
      [](const std::vector<std::filesystem::path>& paths, std::string clip, std::string mesh, double fps,
         std::string rest, nb::object frames, double memory, const std::filesystem::path& scratch) {
        ReadOptions options = read_options(std::move(clip), std::move(mesh), fps, std::move(rest), frames);
        leave_in_files(options, memory, scratch);
        const nb::gil_scoped_release released;
        return read_sequence(paths, options);
      },
      nb::sig("def read(paths: list[str], clip: str, mesh: str, fps: float, rest: str, frames: slice | None, "
              "memory: float, scratch: str) -> Sequence"),
      nb::arg("paths"), nb::arg("clip"), nb::arg("mesh"), nb::arg("fps"), nb::arg("rest"), nb::arg("frames").none(),
      nb::arg("memory"), nb::arg("scratch"));
  module.def(
      "has_keys", [](const std::filesystem::path& path) { return usable_for(FileUse::read_rig, path); },
      nb::sig("def has_keys(path: str) -> bool"), nb::arg("path"),
      "Whether a file of this name holds keys, which its reader samples at any rate.");
  module.def(
      "concatenate",
      [](const std::vector<const Sequence*>& parts) {
        const nb::gil_scoped_release released;
        std::vector<Sequence> copies;
        for (const Sequence* part : parts) copies.push_back(*part);
        return concatenate(std::move(copies));
      },
      nb::arg("parts"),
      "Several animations of one character as one sequence, a clip of each; vertices and faces have to agree.");
}

}  // namespace sinew::python
