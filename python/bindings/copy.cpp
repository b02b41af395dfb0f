// Copying data sets. The interpreter lock is released while bytes move, and taken a few times per second to
// ask whether to continue.
#include "colonnade/copy.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <functional>
#include <memory>
#include <utility>

#include "colonnade/merge.h"
#include "interruptible.h"
#include "register.h"
#include "text.h"
#include "watcher.h"
#include "writer_handles.h"

namespace nb = nanobind;

namespace colonnade::python {
namespace {

using FileAndName = std::pair<std::string, std::string>;

CopyReport copy_data_sets(const std::vector<FileAndName>& sources, const FileAndName& destination,
                          const std::vector<std::string>& columns,
                          const std::optional<std::string>& compression,
                          const std::optional<std::size_t>& page_size,
                          const std::optional<std::size_t>& cluster_size, bool overwrite, bool resume,
                          int verify, std::size_t memory_budget, bool direct_io, bool check_pages,
                          double progress_every, const WriteOptions& writing, nb::object progress,
                          nb::handle add) {
  CopyOptions options{.columns = columns,
                      .max_page_size = page_size,
                      .approximate_cluster_size = cluster_size,
                      .overwrite = overwrite,
                      .resume = resume,
                      .verify = static_cast<CopyVerify>(verify),
                      .watch_every = progress_every,
                      .writing = writing};
  if (compression) options.compression = Compression(*compression);
  options.reading.memory_budget = memory_budget;
  options.reading.direct_io = direct_io;
  options.check_pages = check_pages;
  options.before_commit = before_commit(add);
  std::vector<DataSetPlace> places;
  for (const auto& [uri, name] : sources) places.push_back({uri, name});
  Watcher watcher(std::move(progress));
  CopyReport report;
  {
    const Interruptible released;
    report = concatenate(places, {destination.first, destination.second}, options, std::ref(watcher));
  }
  watcher.rethrow();
  return report;
}

MergeReport merge_files(const std::vector<std::string>& inputs, const std::string& output,
                        const std::vector<std::string>& data_sets, int fields, bool append, unsigned threads,
                        const std::vector<std::string>& columns,
                        const std::optional<std::string>& compression,
                        const std::optional<std::size_t>& page_size,
                        const std::optional<std::size_t>& cluster_size, bool overwrite, bool resume,
                        int verify, std::size_t memory_budget, bool direct_io, bool check_pages,
                        double progress_every, const WriteOptions& writing, nb::object progress) {
  MergeOptions options{.data_sets = data_sets,
                       .copying = {.columns = columns,
                                   .max_page_size = page_size,
                                   .approximate_cluster_size = cluster_size,
                                   .overwrite = overwrite,
                                   .resume = resume,
                                   .fields = static_cast<MergeMode>(fields),
                                   .provenance = true,
                                   .append = append,
                                   .threads = threads,
                                   .verify = static_cast<CopyVerify>(verify),
                                   .watch_every = progress_every,
                                   .writing = writing}};
  if (compression) options.copying.compression = Compression(*compression);
  options.copying.reading.memory_budget = memory_budget;
  options.copying.reading.direct_io = direct_io;
  options.copying.check_pages = check_pages;
  Watcher watcher(std::move(progress));
  MergeReport report;
  {
    const Interruptible released;
    report = merge(inputs, output, options, std::ref(watcher));
  }
  watcher.rethrow();
  return report;
}

template <class Texts>
auto text_list(const Texts& texts) {
  nb::list list;
  for (const std::string& each : texts) list.append(text(each));
  return nb::typed<nb::list, nb::str>(std::move(list));
}

}  // namespace

void register_copy(nb::module_& module) {
  nb::class_<CopyProgress>(module, "CopyProgress", "How far a copy is.")
      .def_ro("entries", &CopyProgress::entries)
      .def_ro("total_entries", &CopyProgress::total_entries)
      .def_ro("bytes_read", &CopyProgress::bytes_read)
      .def_ro("bytes_written", &CopyProgress::bytes_written)
      .def_ro("total_bytes", &CopyProgress::total_bytes)
      .def_ro("verifying", &CopyProgress::verifying);
  nb::class_<CopyReport>(module, "CopyReport", "What a copy did.")
      .def_prop_ro("data_set", [](const CopyReport& self) { return text(self.data_set); })
      .def_prop_ro("mode", [](const CopyReport& self) { return static_cast<int>(self.mode); })
      .def_ro("entries", &CopyReport::entries)
      .def_ro("clusters", &CopyReport::clusters)
      .def_ro("pages", &CopyReport::pages)
      .def_ro("bytes_read", &CopyReport::bytes_read)
      .def_ro("bytes_written", &CopyReport::bytes_written)
      .def_ro("bytes_shared", &CopyReport::bytes_shared)
      .def_ro("resumed_entries", &CopyReport::resumed_entries)
      .def_ro("seconds", &CopyReport::seconds)
      .def_ro("verified", &CopyReport::verified)
      .def_ro("interrupted", &CopyReport::interrupted)
      .def_ro("known_sources", &CopyReport::known_sources)
      .def_prop_ro("notes", [](const CopyReport& self) { return text_list(self.notes); });
  nb::class_<MergeReport::LeftOut>(module, "LeftOutObject", "An object of inputs that is not merged.")
      .def_prop_ro("path", [](const MergeReport::LeftOut& self) { return text(self.path); })
      .def_prop_ro("class_name", [](const MergeReport::LeftOut& self) { return text(self.class_name); })
      .def_ro("inputs", &MergeReport::LeftOut::inputs);
  nb::class_<MergeReport>(module, "MergeReport", "What a merge did.")
      .def_ro("data_sets", &MergeReport::data_sets)
      .def_ro("left_out", &MergeReport::left_out)
      .def_ro("seconds", &MergeReport::seconds)
      .def_ro("interrupted", &MergeReport::interrupted)
      .def_prop_ro("notes", [](const MergeReport& self) { return text_list(self.notes); });
  module.def("merge", &merge_files, nb::arg("inputs"), nb::arg("output"), nb::arg("data_sets"),
             nb::arg("fields"), nb::arg("append"), nb::arg("threads"), nb::arg("columns"),
             nb::arg("compression").none(), nb::arg("page_size").none(), nb::arg("cluster_size").none(),
             nb::arg("overwrite"), nb::arg("resume"), nb::arg("verify"), nb::arg("memory_budget"),
             nb::arg("direct_io"), nb::arg("check_pages"), nb::arg("progress_every"), nb::arg("writing"),
             nb::arg("progress").none(), "Merge the data sets of several files.");
  module.def("copy", &copy_data_sets, nb::arg("sources"), nb::arg("destination"), nb::arg("columns"),
             nb::arg("compression").none(), nb::arg("page_size").none(), nb::arg("cluster_size").none(),
             nb::arg("overwrite"), nb::arg("resume"), nb::arg("verify"), nb::arg("memory_budget"),
             nb::arg("direct_io"), nb::arg("check_pages"), nb::arg("progress_every"), nb::arg("writing"),
             nb::arg("progress").none(), nb::arg("before_commit").none() = nb::none(),
             "Copy a data set, or several into one.");
}

}  // namespace colonnade::python
