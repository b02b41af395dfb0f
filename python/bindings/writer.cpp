// Writing. The interpreter lock is released while pages are filled, compressed and written; Python threads
// take turns.
#include "colonnade/writer.h"

#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <atomic>
#include <map>

#include "codec/compression.h"
#include "colonnade/attributes.h"
#include "colonnade/error.h"
#include "dataset/writing/open_writer.h"
#include "register.h"
#include "writer_handles.h"
#include "writer_turns.h"
#include "written_arrays.h"

namespace nb = nanobind;

namespace colonnade::python {
namespace {

// The attribute sets of a Writer or AttributeAppender, by name.
class AttributeSets {
 public:
  // Nothing if it was added: Python does not know that if Ctrl-C came at once.
  template <class Owner>
  void add(Owner& owner, const std::string& name, const std::vector<const Field*>& fields) {
    if (!sets_.contains(name)) sets_[name] = &owner.add_attribute_set(make_model(fields, {}), name);
  }
  // Sets `taken` if the rows are there: those that could not be written yet are, too.
  void append(const std::string& name, const std::vector<IndexRange>& ranges,
              const std::vector<NamedArray>& arrays, bool& taken) {
    const auto found = sets_.find(name);
    if (found == sets_.end()) throw Error(ErrorKind::usage, "there is no attribute set '" + name + "'");
    AttributeSetWriter& set = *found->second;
    const std::uint64_t before = set.num_rows();
    try {
      set.append(ranges, arrays);
    } catch (...) {
      taken = set.num_rows() > before;
      throw;
    }
    taken = true;
  }

 private:
  std::map<std::string, AttributeSetWriter*> sets_;
};

// Calls append(taken) in a turn, without the interpreter lock. Empties `ranges` if their rows were taken.
template <class Append>
void hand_on(const Append& append, nb::list& ranges) {
  bool taken = false;
  try {
    const nb::gil_scoped_release released;
    append(taken);
  } catch (...) {
    if (taken) ranges.clear();
    throw;
  }
  ranges.clear();
}

class PyAppender {
 public:
  explicit PyAppender(std::unique_ptr<AttributeAppender> appender) : PyAppender(*appender) {
    owned_ = std::move(appender);
  }
  explicit PyAppender(AttributeAppender& appender) : appender_(&appender), entries_(appender.num_entries()) {}

  std::uint64_t num_entries() const { return entries_; }
  void add_attribute_set(const std::string& name, const std::vector<const Field*>& fields) {
    run([&](AttributeAppender& appender) { sets_.add(appender, name, fields); });
  }
  void append_attributes(const std::string& name, nb::list ranges, const std::vector<PathArray>& arrays) {
    const std::vector<NamedArray> views = views_of(arrays);
    const std::vector<IndexRange> about = ranges_in(ranges);
    hand_on([&](bool& taken) { run([&](AttributeAppender&) { sets_.append(name, about, views, taken); }); },
            ranges);
  }
  void close() {
    run([this](AttributeAppender& appender) {
      appender.close();
      drop();
    });
  }
  void go_on() {
    run([](AttributeAppender& appender) { appender.go_on(); });
  }
  bool may_close_again() {
    const auto turn = turns_.take();
    return appender_ != nullptr && appender_->may_close_again();
  }
  void abandon() {
    if (!turns_.is_here()) return leave_to_parent(owned_);
    const auto turn = turns_.take();
    drop();
  }

 private:
  template <class Work>
  void run(Work&& work) {
    const auto turn = turns_.take();
    if (appender_ == nullptr) throw Error(ErrorKind::usage, "the data set is closed");
    work(*appender_);
  }
  void drop() {
    appender_ = nullptr;
    owned_.reset();
  }

  std::unique_ptr<AttributeAppender> owned_;
  AttributeAppender* appender_;
  AttributeSets sets_;  // of it
  const std::uint64_t entries_;
  WriterTurns turns_;
};

class PyWriter {
 public:
  explicit PyWriter(std::shared_ptr<Writer> writer)
      : writer_(std::move(writer)), entries_(writer_->num_entries()) {}
  ~PyWriter() { abandon(); }
  PyWriter(const PyWriter&) = delete;
  PyWriter& operator=(const PyWriter&) = delete;

  std::uint64_t num_entries() const { return entries_; }
  bool may_close_again() {
    const auto turn = turns_.take();
    return writer_ && writer_->may_close_again();
  }
  bool replaces() {
    const auto turn = turns_.take();
    return writer_ && writer_->replaces();
  }

  void append(const std::vector<PathArray>& arrays) {
    const std::vector<NamedArray> views = views_of(arrays);
    const nb::gil_scoped_release released;
    run([&](Writer& writer) { writer.append(views); });
  }
  void extend(const Field& field) {
    run([&](Writer& writer) { writer.extend(field.clone(field.name())); });
  }
  void extend_projected(const Field& field, const Model::Sources& sources) {
    run([&](Writer& writer) { writer.extend_projected(field.clone(field.name()), sources); });
  }
  void add_attribute_set(const std::string& name, const std::vector<const Field*>& fields) {
    run([&](Writer& writer) { sets_.add(writer, name, fields); });
  }
  void append_attributes(const std::string& name, nb::list ranges, const std::vector<PathArray>& arrays) {
    const std::vector<NamedArray> views = views_of(arrays);
    const std::vector<IndexRange> about = ranges_in(ranges);
    hand_on([&](bool& taken) { run([&](Writer&) { sets_.append(name, about, views, taken); }); }, ranges);
  }
  void commit_cluster() {
    run([](Writer& writer) { writer.commit_cluster(); });
  }
  void commit_data_set() {
    run([](Writer& writer) { writer.commit_data_set(); });
  }
  void close() {
    run([](Writer& writer) { writer.close(); });
    const auto turn = turns_.take();
    writer_.reset();
  }
  // Drops uncommitted data: a writer that is destroyed while an exception is in flight does not
  // commit.
  void abandon() {
    if (!turns_.is_here()) return leave_to_parent(writer_);
    const auto turn = turns_.take();
    if (!writer_) return;
    struct Abandon {};
    try {
      const std::shared_ptr<Writer> gone = std::move(writer_);
      throw Abandon{};
    } catch (const Abandon&) {
    }
  }

 private:
  template <class Work>
  void run(Work&& work) {
    const auto turn = turns_.take();
    if (!writer_) throw Error(ErrorKind::usage, "the writer is closed");
    try {
      work(*writer_);
    } catch (...) {
      entries_ = writer_->num_entries();
      throw;
    }
    entries_ = writer_->num_entries();
  }

  std::shared_ptr<Writer> writer_;
  AttributeSets sets_;  // of it
  std::atomic<std::uint64_t> entries_ = 0;
  WriterTurns turns_;
};

void register_options(nb::module_& module) {
  nb::class_<WriteOptions>(module, "WriteOptions", "Options of a writer.")
      .def(nb::init<>())
      .def_prop_rw(
          "compression", [](const WriteOptions& self) { return self.compression.text; },
          [](WriteOptions& self, const std::string& setting) {
            static_cast<void>(codec::CompressionSettings::parse(setting));  // refuses what is none
            self.compression = Compression(setting);
          })
      .def_rw("cluster_size", &WriteOptions::approximate_cluster_size)
      .def_rw("max_cluster_size", &WriteOptions::max_uncompressed_cluster_size)
      .def_rw("initial_page_size", &WriteOptions::initial_page_size)
      .def_rw("max_page_size", &WriteOptions::max_page_size)
      .def_rw("page_buffer_budget", &WriteOptions::page_buffer_budget)
      .def_rw("max_key_size", &WriteOptions::max_key_size)
      .def_rw("clusters_per_group", &WriteOptions::clusters_per_group)
      .def_rw("direct_io", &WriteOptions::direct_io)
      .def_rw("parallel_sealing", &WriteOptions::parallel_sealing)
      .def_prop_rw(
          "checkpoint_clusters", [](const WriteOptions& self) { return self.checkpoint_every.clusters; },
          [](WriteOptions& self, std::uint32_t count) { self.checkpoint_every.clusters = count; })
      .def_prop_rw(
          "checkpoint_seconds", [](const WriteOptions& self) { return self.checkpoint_every.seconds; },
          [](WriteOptions& self, double seconds) { self.checkpoint_every.seconds = seconds; })
      .def_prop_rw(
          "survives_machine_crash",
          [](const WriteOptions& self) { return self.durability == Durability::machine; },
          [](WriteOptions& self, bool on) {
            self.durability = on ? Durability::machine : Durability::process;
          })
      .def_rw("discard_unrepaired", &WriteOptions::discard_unrepaired)
      .def_prop_rw(
          "staged", [](const WriteOptions& self) { return self.cluster_order == ClusterOrder::staged; },
          [](WriteOptions& self, bool on) {
            self.cluster_order = on ? ClusterOrder::staged : ClusterOrder::as_written;
          })
      .def_rw("description", &WriteOptions::description)
      .def_prop_rw(
          "page_checksums", [](const WriteOptions& self) { return self.page_checksums == Checksums::on; },
          [](WriteOptions& self, bool on) { self.page_checksums = on ? Checksums::on : Checksums::off; })
      .def_prop_rw(
          "same_page_merging",
          [](const WriteOptions& self) { return self.same_page_merging == SamePageMerging::on; },
          [](WriteOptions& self, bool on) {
            self.same_page_merging = on ? SamePageMerging::on : SamePageMerging::off;
          })
      .def_prop_rw(
          "object_per_page",
          [](const WriteOptions& self) { return self.object_mapping == ObjectMapping::object_per_page; },
          [](WriteOptions& self, bool on) {
            self.object_mapping = on ? ObjectMapping::object_per_page : ObjectMapping::locality;
          })
      .def_rw("splice_size", &WriteOptions::splice_size)
      .def_rw("object_class", &WriteOptions::object_class)
      .def_prop_rw(
          "bare_file", [](const WriteOptions& self) { return self.container == Container::bare_file; },
          [](WriteOptions& self, bool bare) {
            self.container = bare ? Container::bare_file : Container::root_file;
          });
}

constexpr const char* append_attributes_signature =
    "def append_attributes(self, name: str, ranges: list[tuple[int, int]], arrays: "
    "collections.abc.Sequence[tuple[str, ArrayRole, ElementType, numpy.typing.NDArray[typing.Any]]]) -> None";
constexpr const char* append_attributes_help =
    "Rows of an attribute set: ranges as (first, last), values as append() takes them. Empties `ranges` "
    "once\n"
    "the rows are added, which Ctrl-C cannot come between.";

std::unique_ptr<PyAppender> open_appender(const std::string& uri, const std::string& name,
                                          const WriteOptions& options) {
  return std::make_unique<PyAppender>(AttributeAppender::open(name, uri, options));
}

std::unique_ptr<PyWriter> make_writer(const std::string& uri, const std::string& name,
                                      const std::vector<const Field*>& fields,
                                      const std::vector<Projection>& projections, const WriteOptions& options,
                                      const std::string& mode) {
  return std::make_unique<PyWriter>(dataset::open_writer<Writer>(
      dataset::write_mode_of(mode), make_model(fields, projections), name, uri, options));
}

std::unique_ptr<PyWriter> resume_writer(const std::string& uri, const std::string& name,
                                        const std::vector<const Field*>& fields,
                                        const std::vector<Projection>& projections,
                                        const WriteOptions& options) {
  return std::make_unique<PyWriter>(Writer::resume(make_model(fields, projections), name, uri, options));
}

}  // namespace

nb::object to_python(std::shared_ptr<Writer> writer) {
  if (!writer) return nb::none();
  return nb::cast(std::make_unique<PyWriter>(std::move(writer)));
}

std::function<void(AttributeAppender&)> before_commit(nb::handle call) {
  if (call.is_none()) return {};
  return [call](AttributeAppender& appender) {
    const nb::gil_scoped_acquire held;
    auto made = std::make_unique<PyAppender>(appender);
    PyAppender& lent = *made;
    const nb::object handle = nb::cast(std::move(made));
    // Another thread may be in a call of it, and need the interpreter to come out.
    const auto abandon = [&] {
      const nb::gil_scoped_release released;
      lent.abandon();
    };
    try {
      call(handle);
    } catch (...) {
      abandon();
      throw;
    }
    abandon();
  };
}

void register_writer(nb::module_& module) {
  register_options(module);
  using Released = nb::call_guard<nb::gil_scoped_release>;
  nb::class_<PyWriter>(module, "Writer", "A data set being written.")
      .def_prop_ro("num_entries", &PyWriter::num_entries)
      .def_prop_ro("replaces", &PyWriter::replaces, Released())
      .def_prop_ro("may_close_again", &PyWriter::may_close_again, Released())
      .def("go_on", &PyWriter::commit_cluster, Released(), "Write again what failed.")
      .def("append", &PyWriter::append, nb::arg("arrays"), nb::sig(append_signature), append_help)
      .def("extend", &PyWriter::extend, nb::arg("field"), Released())
      .def("extend_projected", &PyWriter::extend_projected, nb::arg("field"), nb::arg("sources"), Released())
      .def("add_attribute_set", &PyWriter::add_attribute_set, nb::arg("name"), nb::arg("fields"), Released())
      .def("append_attributes", &PyWriter::append_attributes, nb::arg("name"), nb::arg("ranges"),
           nb::arg("arrays"), nb::sig(append_attributes_signature), append_attributes_help)
      .def("commit_cluster", &PyWriter::commit_cluster, Released())
      .def("commit_data_set", &PyWriter::commit_data_set, Released())
      .def("close", &PyWriter::close, Released())
      .def("abandon", &PyWriter::abandon, Released());
  nb::class_<PyAppender>(module, "AttributeAppender", "Adds attribute sets to a data set that is there.")
      .def_prop_ro("num_entries", &PyAppender::num_entries)
      .def_prop_ro("may_close_again", &PyAppender::may_close_again, Released())
      .def("go_on", &PyAppender::go_on, Released(), "Write again what failed.")
      .def("add_attribute_set", &PyAppender::add_attribute_set, nb::arg("name"), nb::arg("fields"),
           Released())
      .def("append_attributes", &PyAppender::append_attributes, nb::arg("name"), nb::arg("ranges"),
           nb::arg("arrays"), nb::sig(append_attributes_signature), append_attributes_help)
      .def("close", &PyAppender::close, Released())
      .def("abandon", &PyAppender::abandon, Released());
  module.def("open_appender", &open_appender, nb::arg("uri"), nb::arg("name"), nb::arg("options"),
             Released());
  module.def("make_writer", &make_writer, nb::arg("uri"), nb::arg("name"), nb::arg("fields"),
             nb::arg("projections"), nb::arg("options"), nb::arg("mode"), Released());
  module.def("resume_writer", &resume_writer, nb::arg("uri"), nb::arg("name"), nb::arg("fields"),
             nb::arg("projections"), nb::arg("options"), Released());
}

}  // namespace colonnade::python
