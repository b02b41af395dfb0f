// Writing from many threads. The interpreter lock is released while contexts fill, compress and write.
#include "colonnade/parallel_writer.h"

#include <nanobind/stl/unique_ptr.h>

#include <atomic>
#include <map>

#include "dataset/writing/open_writer.h"
#include "register.h"
#include "writer_turns.h"
#include "written_arrays.h"

namespace nb = nanobind;

namespace colonnade::python {
namespace {

// One thread at a time uses a context; Python threads that share one take turns.
class PyFillContext {
 public:
  explicit PyFillContext(std::unique_ptr<FillContext> context) : context_(std::move(context)) {}
  ~PyFillContext() { discard(); }
  PyFillContext(const PyFillContext&) = delete;
  PyFillContext& operator=(const PyFillContext&) = delete;

  std::uint64_t num_entries() const { return entries_; }

  void append(const std::vector<PathArray>& arrays) {
    const std::vector<NamedArray> views = views_of(arrays);
    const nb::gil_scoped_release released;
    run([&](FillContext& context) { context.append(views); });
  }
  // One row for entries of the context.
  void add_attributes(ParallelAttributeSet& set, nb::list ranges, const std::vector<PathArray>& values) {
    const std::vector<NamedArray> views = views_of(values);
    const std::vector<IndexRange> about = ranges_in(ranges);
    if (about.size() != 1) throw Error(ErrorKind::usage, "a row has one range");
    {
      const nb::gil_scoped_release released;
      run([&](FillContext& context) { context.add_attributes(set, about.front(), views); });
    }
    ranges.clear();
  }
  void commit_cluster() {
    run([](FillContext& context) { context.commit_cluster(); });
  }
  void close() {
    run([](FillContext& context) { context.close(); });
    const auto turn = turns_.take();
    context_.reset();
  }
  bool may_close_again() {
    const auto turn = turns_.take();
    return context_ && context_->may_close_again();
  }
  void discard() noexcept {
    if (!turns_.is_here()) return leave_to_parent(context_);
    const auto turn = turns_.take();
    if (context_) context_->discard();
    context_.reset();
  }

 private:
  template <class Work>
  void run(Work&& work) {
    const auto turn = turns_.take();
    if (!context_) throw Error(ErrorKind::usage, "the context is closed");
    try {
      work(*context_);
    } catch (...) {
      entries_ = context_->num_entries();
      throw;
    }
    entries_ = context_->num_entries();
  }

  std::unique_ptr<FillContext> context_;
  std::atomic<std::uint64_t> entries_ = 0;
  WriterTurns turns_;
};

// Thread-safe; destroying it drops uncommitted data, as for Writer.
class PyParallelWriter {
 public:
  explicit PyParallelWriter(std::unique_ptr<ParallelWriter> writer) : writer_(std::move(writer)) {}
  ~PyParallelWriter() { discard(); }
  PyParallelWriter(const PyParallelWriter&) = delete;
  PyParallelWriter& operator=(const PyParallelWriter&) = delete;

  std::uint64_t num_entries() const { return writer_->num_entries(); }
  bool replaces() const { return writer_->replaces(); }
  std::unique_ptr<PyFillContext> make_context() {
    return std::make_unique<PyFillContext>(writer_->make_fill_context());
  }
  // The same if it was added: Python does not know that if Ctrl-C came at once.
  ParallelAttributeSet& add_attribute_set(const std::string& name, const std::vector<const Field*>& fields) {
    const auto turn = turns_.take();
    ParallelAttributeSet*& set = sets_[name];
    if (set == nullptr) set = &writer_->add_attribute_set(make_model(fields, {}), name);
    return *set;
  }
  void commit_staged() { writer_->commit_staged(); }
  void commit_data_set() { writer_->commit_data_set(); }
  void close() { writer_->close(); }
  bool may_close_again() const { return writer_->may_close_again(); }
  void discard() noexcept { writer_->discard(); }

 private:
  std::unique_ptr<ParallelWriter> writer_;
  std::map<std::string, ParallelAttributeSet*> sets_;
  WriterTurns turns_;
};

std::unique_ptr<PyParallelWriter> make_parallel_writer(const std::string& uri, const std::string& name,
                                                       const std::vector<const Field*>& fields,
                                                       const std::vector<Projection>& projections,
                                                       const WriteOptions& options, const std::string& mode) {
  return std::make_unique<PyParallelWriter>(dataset::open_writer<ParallelWriter>(
      dataset::write_mode_of(mode), make_model(fields, projections), name, uri, options));
}

}  // namespace

void register_parallel_writer(nb::module_& module) {
  using Released = nb::call_guard<nb::gil_scoped_release>;
  nb::class_<ParallelAttributeSet>(module, "ParallelAttributeSet",
                                   "An attribute set of a data set that many threads write.");
  nb::class_<PyFillContext>(module, "FillContext", "What one thread fills a data set through.")
      .def_prop_ro("num_entries", &PyFillContext::num_entries)
      .def_prop_ro("may_close_again", &PyFillContext::may_close_again, Released())
      .def("go_on", &PyFillContext::commit_cluster, Released(), "Write again what failed.")
      .def("append", &PyFillContext::append, nb::arg("arrays"), nb::sig(append_signature), append_help)
      .def("add_attributes", &PyFillContext::add_attributes, nb::arg("attribute_set"), nb::arg("ranges"),
           nb::arg("values"),
           nb::sig(
               "def add_attributes(self, attribute_set: ParallelAttributeSet, ranges: list[tuple[int, int]], "
               "values: collections.abc.Sequence[tuple[str, ArrayRole, ElementType, "
               "numpy.typing.NDArray[typing.Any]]]) -> None"),
           "A row about one range of entries of this context, as Writer.append_attributes() takes them.")
      .def("commit_cluster", &PyFillContext::commit_cluster, Released())
      .def("close", &PyFillContext::close, Released())
      .def("discard", &PyFillContext::discard, Released());
  nb::class_<PyParallelWriter>(module, "ParallelWriter", "A data set being written by many threads.")
      .def_prop_ro("num_entries", &PyParallelWriter::num_entries, Released())
      .def_prop_ro("replaces", &PyParallelWriter::replaces, Released())
      .def_prop_ro("may_close_again", &PyParallelWriter::may_close_again, Released())
      .def("make_context", &PyParallelWriter::make_context, Released())
      .def("add_attribute_set", &PyParallelWriter::add_attribute_set, nb::arg("name"), nb::arg("fields"),
           nb::rv_policy::reference_internal, Released())
      .def("commit_staged", &PyParallelWriter::commit_staged, Released())
      .def("commit_data_set", &PyParallelWriter::commit_data_set, Released())
      .def("close", &PyParallelWriter::close, Released())
      .def("discard", &PyParallelWriter::discard, Released());
  module.def("make_parallel_writer", &make_parallel_writer, nb::arg("uri"), nb::arg("name"),
             nb::arg("fields"), nb::arg("projections"), nb::arg("options"), nb::arg("mode"), Released());
}

}  // namespace colonnade::python
