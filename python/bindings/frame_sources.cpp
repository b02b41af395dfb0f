// Sources of a DataFrame: data sets, chains of them, arrays, n empty entries.
#include <nanobind/stl/function.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "frame/joins/join.h"
#include "frame/sources/chain.h"
#include "frame/sources/friends.h"
#include "frame/sources/late_source.h"
#include "frame/sources/source.h"
#include "frame/sources/survey.h"
#include "frame_python.h"
#include "interruptible.h"
#include "register.h"
#include "text.h"

namespace nb = nanobind;

namespace colonnade::python {
namespace {

using NamedFiles = std::vector<std::pair<std::string, std::string>>;

std::vector<dataset::NamedFile> named_files(const NamedFiles& files) {
  std::vector<dataset::NamedFile> named;
  for (const auto& [uri, data_set] : files) named.push_back({uri, data_set});
  return named;
}

std::shared_ptr<frame::Source> open_named_chain(const NamedFiles& files, const ReadOptions& options) {
  return frame::open_chain(named_files(files), options);
}

std::shared_ptr<frame::Source> array_source(const std::vector<std::pair<std::string, PyValues>>& columns) {
  std::vector<frame::NamedValues> named;
  for (const auto& [name, values] : columns) named.push_back({name, values.values});
  return frame::array_source(std::move(named));
}

std::shared_ptr<frame::Source> friends_source(
    std::shared_ptr<frame::Source> first,
    const std::vector<std::pair<std::string, std::shared_ptr<frame::Source>>>& others) {
  std::vector<frame::NamedSource> named;
  for (const auto& [name, source] : others) named.push_back({name, source});
  return frame::friends_source(std::move(first), std::move(named));
}

// `samples`: name, entries, file and data set of each.
std::shared_ptr<frame::Source> late_source(
    std::shared_ptr<frame::Source> shape,
    std::vector<std::tuple<std::string, std::uint64_t, std::string, std::string>> samples,
    frame::LateSource::Fetch fetch, frame::LateSource::OtherNames other_names) {
  std::vector<frame::Sample> made;
  for (auto& [name, entries, uri, data_set] : samples) {
    frame::Sample& sample = made.emplace_back();
    sample.name = std::move(name);
    sample.entries = entries;
    sample.uri = std::move(uri);
    sample.data_set = std::move(data_set);
  }
  return std::make_shared<frame::LateSource>(std::move(shape), std::move(made), std::move(fetch),
                                             std::move(other_names));
}

void add_left_out(const frame::Source& source, nb::list& to) {
  if (const auto* late = dynamic_cast<const frame::LateSource*>(&source)) add_left_out(*late->shape(), to);
  if (const auto* friends = dynamic_cast<const frame::Friends*>(&source))
    for (const frame::NamedSource& each : friends->sources()) add_left_out(*each.source, to);
  if (const auto* chain = dynamic_cast<const frame::Chain*>(&source))
    for (const frame::LeftOut& field : chain->left_out())
      to.append(nb::make_tuple(text(field.path), text(field.why)));
}

}  // namespace

void register_frame_sources(nb::module_& module) {
  using Released = nb::call_guard<Interruptible>;
  nb::class_<frame::Sample>(module, "FrameSample", "A file of a source.")
      .def_prop_ro("name", [](const frame::Sample& self) { return text(self.name); })
      .def_ro("first", &frame::Sample::first)
      .def_ro("entries", &frame::Sample::entries)
      .def_prop_ro("uri", [](const frame::Sample& self) { return text(self.uri); })
      .def_prop_ro("data_set", [](const frame::Sample& self) { return text(self.data_set); });
  nb::class_<frame::Source>(module, "FrameSource", "Where the columns of a DataFrame come from.")
      .def_prop_ro("entries", &frame::Source::entries)
      .def_prop_ro("names", &frame::Source::names, "Columns, each followed by its members.")
      .def(
          "has",
          [](frame::Source& self, const std::string& path) {
            try {
              return self.find(path).has_value();
            } catch (const Error& error) {
              if (error.kind() != ErrorKind::unsupported) throw;
              return false;
            }
          },
          nb::arg("path"), "Whether expressions can use a column of that name.")
      .def_prop_ro("samples",
                   [](const frame::Source& self) {
                     const auto samples = self.samples();
                     return std::vector<frame::Sample>(samples.begin(), samples.end());
                   })
      .def_prop_ro(
          "left_out",
          [](const frame::Source& self) {
            nb::list found;
            add_left_out(self, found);
            return nb::typed<nb::list, nb::typed<nb::tuple, nb::str, nb::str>>(std::move(found));
          },
          "Fields that no column shows, and why.")
      .def(
          "part_borders",
          [](const frame::Source& self) {
            std::vector<std::uint64_t> borders = {0};
            for (const frame::Part& part : self.parts(0, self.entries())) borders.push_back(part.last);
            return borders;
          },
          Released(), "Where the parts of all entries begin and end.");
  nb::class_<frame::JoinedColumns>(module, "JoinedColumns", "What is wanted of a join.")
      .def(nb::new_([](std::vector<std::string> keys, std::string entry,
                       std::vector<std::pair<std::string, std::string>> columns, bool inner) {
             return frame::JoinedColumns{.keys = std::move(keys),
                                         .entry = std::move(entry),
                                         .columns = std::move(columns),
                                         .inner = inner};
           }),
           nb::arg("keys"), nb::arg("entry"), nb::arg("columns"), nb::arg("inner"))
      .def_ro("columns", &frame::JoinedColumns::columns)
      .def_ro("entry", &frame::JoinedColumns::entry);
  nb::class_<frame::Join>(module, "Join", "Another source, whose entries are found by keys.")
      .def(nb::new_([](std::shared_ptr<frame::Source> source, std::vector<std::string> keys, bool first,
                       std::string table,
                       const std::vector<std::pair<std::uint64_t, std::uint64_t>>& sections, bool fills) {
             std::vector<frame::JoinSection> begins;
             for (const auto& [here, there] : sections) begins.push_back({here, there});
             return frame::Join::make(std::move(source), std::move(keys),
                                      first ? frame::Join::Duplicates::first : frame::Join::Duplicates::error,
                                      std::move(table), std::move(begins), fills);
           }),
           nb::arg("source"), nb::arg("keys"), nb::arg("first_of_duplicates"), nb::arg("table"),
           nb::arg("sections") = std::vector<std::pair<std::uint64_t, std::uint64_t>>{},
           nb::arg("fills") = false)
      .def("columns", &frame::Join::columns)
      .def_prop_ro(
          "left_out",
          [](const frame::Join& self) {
            std::vector<std::pair<std::string, std::string>> found;
            for (frame::LeftOut& each : self.left_out())
              found.emplace_back(std::move(each.path), std::move(each.why));
            return found;
          },
          "Columns that are not among them, and why.")
      .def("prepare", &frame::Join::prepare, Released(), "Makes and saves the table of keys, if it is to be.")
      .def(
          "wanted",
          [](const frame::Join& self, std::vector<std::string> keys, const std::string& name,
             const std::string& prefix, const std::vector<std::string>& chosen,
             const std::function<bool(const std::string&)>& is_taken, bool inner) {
            frame::JoinedColumns wanted{.keys = std::move(keys), .inner = inner};
            frame::name_columns(self, wanted, name, prefix, chosen, is_taken);
            return wanted;
          },
          nb::arg("keys"), nb::arg("name"), nb::arg("prefix"), nb::arg("chosen"), nb::arg("is_taken"),
          nb::arg("inner"), "Chooses columns and their names, see name_columns().");
  module.def("open_named_chain", &open_named_chain, nb::arg("files"), nb::arg("options"), Released());
  module.def("options_text", &frame::options_text, nb::arg("options"),
             "Options as `survey_files` takes them.");
  module.def(
      "survey_files",
      [](const NamedFiles& files, const std::string& options) {
        return frame::survey_files(named_files(files), options);
      },
      nb::arg("files"), nb::arg("options"), Released(),
      "What is in files, as text; None where that cannot be said.");
  module.def(
      "surveyed_chain",
      [](const std::string& name, const std::vector<std::string>& surveys, const ReadOptions& options) {
        return frame::surveyed_chain(name, surveys, options);
      },
      nb::arg("name"), nb::arg("surveys"), nb::arg("options"), Released(),
      "The chain of what surveys found; opens no file.");
  module.def("empty_source", &frame::empty_source, nb::arg("entries"));
  module.def("late_source", &late_source, nb::arg("shape"), nb::arg("samples"), nb::arg("fetch"),
             nb::arg("other_names"), "Columns that fetch(paths) brings, see frame/sources/late_source.h.");
  module.def("friends_source", &friends_source, nb::arg("first"), nb::arg("others"));
  module.def("array_source", &array_source, nb::arg("columns"));
}

}  // namespace colonnade::python
