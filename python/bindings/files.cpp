// The contents of a file, and its bytes.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <utility>

#include "codec/checksum.h"
#include "colonnade/error.h"
#include "colonnade/reader.h"
#include "interruptible.h"
#include "io/aside_stem.h"
#include "io/local/local_file.h"
#include "io/local/local_system.h"
#include "io/object_store.h"
#include "io/places.h"
#include "io/random_access_file.h"
#include "io/read_scheduler.h"
#include "io/transport.h"
#include "register.h"
#include "text.h"

namespace nb = nanobind;

namespace colonnade::python {
namespace {

nb::typed<nb::list, nb::str> list_data_sets(const std::string& uri) {
  std::vector<std::string> names;
  {
    const Interruptible released;
    names = data_sets(uri);
  }
  nb::list result;
  for (const std::string& name : names) result.append(text(name));
  return result;
}

// Bytes whose content is still to come.
std::pair<nb::bytes, MutableByteSpan> new_bytes(std::uint64_t size) {
  PyObject* bytes = PyBytes_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(size));
  if (bytes == nullptr) nb::raise_python_error();
  auto* memory = reinterpret_cast<std::byte*>(PyBytes_AsString(bytes));
  return {nb::steal<nb::bytes>(bytes), {memory, static_cast<std::size_t>(size)}};
}

nb::bytes read_bytes(const io::RandomAccessFile& file, std::uint64_t begin, std::uint64_t end) {
  end = std::min(end, file.size());
  begin = std::min(begin, end);
  const auto [result, memory] = new_bytes(end - begin);
  const Interruptible released;
  file.read(begin, memory);
  return result;
}

nb::typed<nb::list, nb::bytes> read_ranges(
    const io::RandomAccessFile& file, const std::vector<std::pair<std::uint64_t, std::uint64_t>>& ranges) {
  constexpr std::size_t max_extent = std::size_t{1} << 20;  // several requests share a fast line better
  nb::list result;
  std::vector<io::ReadRequest> requests;
  requests.reserve(ranges.size());
  for (const auto& [first, last] : ranges) {
    const std::uint64_t end = std::min(last, file.size());
    const std::uint64_t begin = std::min(first, end);
    const auto [bytes, memory] = new_bytes(end - begin);
    result.append(bytes);
    requests.push_back({begin, memory});
  }
  const Interruptible released;
  io::read_ranges(file, requests, max_extent);
  return result;
}

std::uint64_t sum_of_file(const std::string& uri) {
  constexpr std::uint64_t step = std::uint64_t{4} << 20;
  const std::shared_ptr<io::RandomAccessFile> file = io::open_for_reading(uri);
  codec::Xxh3 sum;
  Bytes bytes(static_cast<std::size_t>(std::min(step, file->size())));
  for (std::uint64_t begin = 0; begin < file->size(); begin += step) {
    const auto size = static_cast<std::size_t>(std::min(step, file->size() - begin));
    file->read(begin, MutableByteSpan(bytes).first(size));
    sum.add(ByteSpan(bytes).first(size));
  }
  return sum.value();
}

// The content of a local file becomes that of a new one, which appears with it.
void put_file(io::WritableFile& file, const std::string& path) {
  constexpr std::uint64_t step = std::uint64_t{8} << 20;
  const std::unique_ptr<io::RandomAccessFile> from = io::open_for_reading(path);
  Bytes bytes(static_cast<std::size_t>(std::min(step, from->size())));
  for (std::uint64_t begin = 0; begin < from->size(); begin += step) {
    const auto part = MutableByteSpan(bytes).first(std::min(step, from->size() - begin));
    from->read(begin, part);
    file.write(begin, part);
  }
  file.close();
}

void remove_file(const std::string& uri) {
  const io::Transport& transport = io::transport_for(uri);
  if (transport.file_system == nullptr)
    throw Error(ErrorKind::unsupported, "files there cannot be removed", "", {.uri = uri});
  const std::shared_ptr<io::FileSystem> files = transport.file_system();
  files->remove(files->path_of(uri));
}

std::string path_of_local(const std::string& uri) {
  if (!io::is_local_file(uri))
    throw Error(ErrorKind::usage, "this is not a path of the local file system", "a path of this machine",
                {.uri = uri});
  return io::local_path(uri);
}

}  // namespace

void register_files(nb::module_& module) {
  nb::class_<StoredObject>(module, "StoredObject", "An object of a ROOT file that is not a data set.")
      .def_prop_ro("path", [](const StoredObject& self) { return text(self.path); })
      .def_prop_ro("class_name", [](const StoredObject& self) { return text(self.class_name); })
      .def_ro("size", &StoredObject::size, "Bytes on storage.");
  nb::class_<io::RandomAccessFile>(module, "RandomAccessFile", "The bytes of a file, wherever it is.")
      .def_prop_ro("size", &io::RandomAccessFile::size)
      .def_prop_ro(
          "version", [](const io::RandomAccessFile& self) { return text(self.version()); },
          "Entity tag or time of the last change; empty where there is neither.")
      .def("read", &read_bytes, nb::arg("begin"), nb::arg("end"), "Those that are there of a range.")
      .def("read_ranges", &read_ranges, nb::arg("ranges"), "The same of several ranges, in few requests.");
  nb::class_<io::WritableFile>(module, "WritableFile", "A new file, wherever it is.")
      .def("put", &put_file, nb::arg("path"), nb::call_guard<Interruptible>(),
           "Gives it the content of a local file, and its name.")
      .def("discard", &io::WritableFile::discard, nb::call_guard<nb::gil_scoped_release>(),
           "Leaves nothing behind.");
  module.def(
      "new_file",
      [](const std::string& uri, bool replace) {
        return io::open_for_writing(uri, replace ? io::OpenMode::create : io::OpenMode::create_new);
      },
      nb::arg("uri"), nb::arg("replace"), nb::call_guard<Interruptible>(),
      "Begins a file, which has no name before it is complete.");
  module.def(
      "open_bytes", [](const std::string& uri) { return io::open_for_reading(uri); }, nb::arg("uri"),
      nb::call_guard<Interruptible>(), "Opens a file for its bytes.");
  module.def("is_object_store", &io::is_object_store, nb::arg("uri"));
  module.def(
      "has_file_names", [](const std::string& uri) { return io::transport_for(uri).file_system != nullptr; },
      nb::arg("uri"), "Whether files there have names that can be changed and removed.");
  module.def("is_local_file", &io::is_local_file, nb::arg("uri"), "Whether it is a path of the file system.");
  module.def("is_local", &io::is_local, nb::arg("uri"), "Whether no server is asked for it.");
  module.def(
      "absolute_name", [](const std::string& uri) { return text(io::absolute_name(uri)); }, nb::arg("uri"),
      "The name of a place in every working folder.");
  module.def("is_same_place", &io::is_same_place, nb::arg("one"), nb::arg("other"));
  module.def("local_path", &path_of_local, nb::arg("uri"), "The path of a local file or folder.");
  module.def(
      "aside_stem",
      [](const nb::bytes& name) {
        const std::string stem = io::aside_stem({name.c_str(), name.size()});
        return nb::bytes(stem.data(), stem.size());
      },
      nb::arg("name"), "How the names of temporary files for a file begin, up to a random number.");
  module.def(
      "system_advice", [](int code) { return io::system_advice(code); }, nb::arg("code"),
      "What to try after an error of the system; may be empty.");
  module.def("sum_of_file", &sum_of_file, nb::arg("uri"), nb::call_guard<Interruptible>(),
             "XXH3 of all its bytes.");
  module.def("remove_file", &remove_file, nb::arg("uri"), nb::call_guard<nb::gil_scoped_release>());
  module.def("data_sets", &list_data_sets, nb::arg("uri"), "Paths of the data sets of a file.");
  module.def("stored_objects", &stored_objects, nb::arg("uri"), nb::call_guard<Interruptible>(),
             "The other objects of a file.");
}

}  // namespace colonnade::python
