// Reading chains of files; see shared_reading.h.
#include "colonnade/chain.h"

#include <nanobind/stl/function.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include "base/utf8.h"
#include "dataset/chains/file_names.h"
#include "dataset/chains/index.h"
#include "dataset/chains/offline_names.h"
#include "dataset/schema_walk.h"
#include "io/transport.h"
#include "register.h"
#include "shared_reading.h"
#include "text.h"

namespace nb = nanobind;

namespace colonnade::python {
namespace {

class PyChain : public SharedReading<ChainReader> {
 public:
  using SharedReading::SharedReading;
  explicit PyChain(std::unique_ptr<ChainReader> reader) : SharedReading(std::move(reader)) {}

  using Entries64 = nb::ndarray<const std::uint64_t, nb::ro, nb::c_contig, nb::ndim<1>, nb::device::cpu>;
  std::vector<FieldArray> arrays_at(const std::vector<std::string>& paths, const Entries64& entries) {
    std::vector<ColumnArray> read;
    {
      const Interruptible released;
      const Turns::Turn turn(turns_);
      read = reader_->arrays_at(paths, {entries.data(), entries.size()});
    }
    return to_numpy(std::move(read));
  }

  // (first entry, entry behind the last one, bytes)
  std::vector<std::tuple<std::uint64_t, std::uint64_t, std::uint64_t>> cluster_sizes(
      const std::vector<std::string>& paths, std::size_t file) {
    const Turns::Turn turn(turns_);
    std::vector<std::tuple<std::uint64_t, std::uint64_t, std::uint64_t>> sizes;
    for (const auto& size : reader_->cluster_sizes(paths, file))
      sizes.emplace_back(size.first, size.last, size.bytes);
    return sizes;
  }

  nb::typed<nb::list, nb::str> attribute_sets() {
    std::vector<std::string> found;
    {
      const Interruptible released;
      const Turns::Turn turn(turns_);
      found = reader_->attribute_sets();
    }
    nb::list names;
    for (const std::string& name : found) names.append(text(name));
    return names;
  }
  // The set, and the entries (first and end) of each file that has it.
  using Entries = std::vector<std::tuple<std::uint64_t, std::uint64_t>>;
  std::tuple<std::unique_ptr<PyChain>, Entries> attribute_set(const std::string& name) {
    const Turns::Turn turn(turns_);
    const std::shared_ptr<ChainAttributeSet> set = reader_->attribute_set(name);
    Entries entries;
    for (std::size_t i = 0; i < set->reader().files().size(); ++i)
      entries.emplace_back(set->entries_of(i).first(), set->entries_of(i).last());
    return {std::make_unique<PyChain>(std::shared_ptr<ChainReader>(set, &set->reader())), std::move(entries)};
  }
};

ChainOptions chain_options(const ReadOptions& read, MissingFields missing, std::size_t max_open_files) {
  return {.read = read, .missing = missing, .max_open_files = max_open_files};
}

std::unique_ptr<PyChain> open_chain_reader(const std::vector<std::pair<std::string, std::string>>& files,
                                           const ReadOptions& options, MissingFields missing,
                                           std::size_t max_open_files) {
  std::vector<ChainFile> named;
  for (const auto& [uri, data_set] : files) named.push_back({.uri = uri, .data_set = data_set});
  return std::make_unique<PyChain>(ChainReader::open(named, chain_options(options, missing, max_open_files)));
}

std::unique_ptr<PyChain> open_known_chain_reader(const std::string& index, const ReadOptions& options,
                                                 MissingFields missing, std::size_t max_open_files) {
  return std::make_unique<PyChain>(
      ChainReader::open_known(index, chain_options(options, missing, max_open_files)));
}

nb::typed<nb::list, nb::str> expand_names(const std::vector<std::string>& uris, const std::string& cache) {
  std::vector<std::string> names;
  {
    const Interruptible released;
    dataset::refuse_offline_wildcards(uris, cache);
    names = dataset::expand_names(uris);
  }
  nb::list result;
  for (const std::string& name : names) {
    if (shown_name(name) != name)  // Python could not give it back
      throw Error(ErrorKind::usage, "the name of a file that matches is not valid Unicode",
                  "a link to it whose name is UTF-8", {.uri = name});
    result.append(text(name));
  }
  return result;
}

nb::typed<nb::list, nb::typed<nb::tuple, nb::str, nb::str>> index_files(const std::string& index) {
  nb::list files;
  for (const auto& file : dataset::read_chain_index(index).files)
    files.append(nb::make_tuple(text(file.uri), text(file.data_set)));
  return nb::typed<nb::list, nb::typed<nb::tuple, nb::str, nb::str>>(std::move(files));
}

}  // namespace

void register_chain(nb::module_& module) {
  using Released = nb::call_guard<Interruptible>;
  nb::enum_<MissingFields>(module, "MissingFields", "What becomes of fields that are in some files only.")
      .value("error", MissingFields::error)
      .value("fill", MissingFields::fill)
      .value("skip", MissingFields::skip);
  nb::class_<ChainFile>(module, "ChainFile", "A file of a chain.")
      .def_prop_ro("uri", [](const ChainFile& self) { return text(self.uri); })
      .def_prop_ro("data_set", [](const ChainFile& self) { return text(self.data_set); })
      .def_prop_ro(
          "place", [](const ChainFile& self) { return text(self.place); }, "The uri in every working folder.")
      .def_ro("first", &ChainFile::first)
      .def_ro("entries", &ChainFile::entries);
  nb::class_<PyChain>(module, "ChainReader", "Data sets of several files, opened for reading as one.")
      .def_prop_ro(
          "descriptor", [](const PyChain& self) -> const Descriptor& { return self.reader().descriptor(); },
          nb::rv_policy::reference_internal)
      .def_prop_ro("name", [](const PyChain& self) { return text(self.reader().name()); })
      .def_prop_ro("num_entries", [](const PyChain& self) { return self.reader().num_entries(); })
      .def("files", [](const PyChain& self) { return self.reader().files(); })
      .def(
          "index", [](const PyChain& self, bool places) { return text(self.reader().index(places)); },
          nb::arg("places") = false)
      .def("metrics", &PyChain::metrics, Released())
      .def("arrays", &PyChain::arrays, nb::arg("paths"), nb::arg("first"), nb::arg("last"),
           nb::arg("ahead") = 0,
           nb::sig("def arrays(self, paths: collections.abc.Sequence[str], first: int, last: int, ahead: int "
                   "= 0) -> "
                   "list[tuple[int, ArrayRole, numpy.typing.NDArray[typing.Any]]]"),
           "Arrays as (field id, role, NumPy array); see colonnade/columnar.h.")
      .def("arrays_at", &PyChain::arrays_at, nb::arg("paths"), nb::arg("entries"),
           nb::sig("def arrays_at(self, paths: collections.abc.Sequence[str], entries: "
                   "numpy.typing.NDArray[numpy.uint64]) -> list[tuple[int, ArrayRole, "
                   "numpy.typing.NDArray[typing.Any]]]"),
           "The same of entries in any order.")
      .def("cluster_sizes", &PyChain::cluster_sizes, nb::arg("paths"), nb::arg("file"), Released(),
           "Of each cluster of a file: first entry, the entry behind the last one, decoded bytes.")
      .def("attribute_sets", &PyChain::attribute_sets, "The names of the attribute sets.")
      .def("attribute_set", &PyChain::attribute_set, nb::arg("name"), Released(),
           "A set as a chain, and for each of its files the first entry and the one behind the last.")
      .def("entry_texts", &PyChain::entry_texts, nb::arg("first"), nb::arg("last"), nb::arg("fields"),
           "Entries in JSON's manner.")
      .def("verify", &PyChain::verify, nb::arg("progress").none() = nb::none(),
           nb::sig("def verify(self, progress: collections.abc.Callable[[int, int], object] | None = None) "
                   "-> int"),
           "Decodes every page; progress(pages done, pages) is called now and then.");
  module.def("open_chain_reader", &open_chain_reader, nb::arg("files"), nb::arg("options"),
             nb::arg("missing"), nb::arg("max_open_files"), Released());
  module.def("open_known_chain_reader", &open_known_chain_reader, nb::arg("index"), nb::arg("options"),
             nb::arg("missing"), nb::arg("max_open_files"), Released());
  module.def("index_files", &index_files, nb::arg("index"),
             "The files of an index and their data sets; raises FormatError for what is none.");
  module.def(
      "has_wildcard", [](const std::string& uri) { return io::wildcard_in(uri) != std::string::npos; },
      nb::arg("uri"));
  module.def(
      "expand_names", &expand_names, nb::arg("uris"), nb::arg("cache") = "off",
      "The files that names with wildcards stand for; an error if a server would be asked and the cache is "
      "used offline.");
}

}  // namespace colonnade::python
