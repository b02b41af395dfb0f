// Contexts and their shared state; see colonnade/parallel_writer.h.
#include "colonnade/parallel_writer.h"

#include <fmt/format.h>

#include <atomic>
#include <exception>
#include <mutex>
#include <utility>
#include <vector>

#include "base/warning.h"
#include "colonnade/attributes.h"
#include "dataset/writing/filler.h"
#include "dataset/writing/schema.h"

namespace colonnade {

struct ParallelWriter::Impl {
  Impl(std::unique_ptr<Model> m, std::shared_ptr<page::DataSetSink> sink)
      : model(std::move(m)), data_set(*sink), state(std::make_shared<dataset::WriterState>(std::move(sink))) {
    std::vector<Field*> fields;
    for (const auto& field : model->fields()) fields.push_back(field.get());
    dataset::describe(fields, data_set, 0);
    for (const Model::Projection& projection : model->projections())
      dataset::describe_projection(projection, data_set.descriptor());
    data_set.start();
    model->complete_ = true;
  }

  std::uint64_t model_id() const { return model->default_entry_.model_id_; }

  void place(std::size_t context, ClusterDescriptor cluster) {
    if (data_set.options().cluster_order == ClusterOrder::staged)
      data_set.stage_cluster(context, std::move(cluster));
    else
      data_set.add_cluster(std::move(cluster), context);
  }

  std::unique_lock<std::mutex> turn() {
    data_set.check_process();  // in a child it may stay locked
    return std::unique_lock(mutex);
  }

  void close() {
    state->finishing([&] { data_set.close(); });
    state->set_closed();
    for (const auto& set : attribute_sets) set->end();
  }

  void abandon() noexcept {
    state->set_closed();
    data_set.abandon();
  }

  std::unique_ptr<Model> model;
  page::DataSetSink& data_set;
  std::shared_ptr<dataset::WriterState> state;
  std::mutex mutex;  // guards the creation and end of contexts, and commits
  std::vector<std::unique_ptr<ParallelAttributeSet>> attribute_sets;
  std::size_t contexts_made = 0;
  std::atomic<std::size_t> contexts_open = 0;
  std::atomic<bool> discarded = false;
  int exceptions_at_start = std::uncaught_exceptions();
};

struct FillContext::Impl {
  Impl(std::shared_ptr<ParallelWriter::Impl> w, std::size_t own_number)
      : writer(std::move(w)),
        number(own_number),
        fields(clones(*writer->model)),
        filler(writer->state, fields, writer->model_id(),
               [this](ClusterDescriptor cluster) { writer->place(number, std::move(cluster)); }) {
    // Described in the same order, the copies get the numbers of their originals.
    Descriptor numbers;
    std::vector<Field*> all;
    for (const auto& field : fields) all.push_back(field.get());
    Field::describe(all, numbers, true, 0);
    for (Field* field : all) filler.connect(*field);
    ++writer->contexts_open;
  }
  ~Impl() { finish(); }

  static std::vector<std::unique_ptr<Field>> clones(const Model& model) {
    std::vector<std::unique_ptr<Field>> copies;
    for (const auto& field : model.fields()) copies.push_back(field->clone(field->name()));
    return copies;
  }

  void ensure_open() const {
    if (closed)
      throw Error(ErrorKind::usage, "the fill context is closed", "make a new one",
                  {.uri = writer->data_set.uri()});
  }

  void finish() noexcept {
    if (!std::exchange(closed, true)) --writer->contexts_open;
  }

  void check(const IndexRange& entries) const {
    ensure_open();
    writer->state->ensure_open();
    if (entries.first() > entries.last() || entries.last() > filler.entries())
      throw Error(
          ErrorKind::usage,
          fmt::format(
              "the range from entry {} to {} reaches beyond the {} entries that the context was given",
              entries.first(), entries.last(), filler.entries()),
          "fill the entries first", {.uri = writer->data_set.uri()});
  }

  std::shared_ptr<ParallelWriter::Impl> writer;
  const std::size_t number;
  std::vector<std::unique_ptr<Field>> fields;
  dataset::Filler filler;
  int exceptions_at_start = std::uncaught_exceptions();
  bool closed = false;
};

FillContext::FillContext(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

FillContext::~FillContext() {
  if (!impl_->writer->data_set.is_of_this_process()) {
    leave_to_parent(impl_);
    return;
  }
  if (impl_->closed || impl_->filler.open_entries() == 0) return;
  if (impl_->writer->discarded || impl_->writer->state->failed()) return;
  if (std::uncaught_exceptions() > impl_->exceptions_at_start) return;
  try {
    close();
  } catch (const std::exception& error) {
    warn([&] {
      return fmt::format("a fill context was destroyed without close(), and {} entries of it are lost: {}",
                         impl_->filler.open_entries(), error.what());
    });
  }
}

std::unique_ptr<Entry> FillContext::make_entry() const {
  return impl_->writer->model->make_entry();
}

void FillContext::fill(Entry& entry) {
  impl_->ensure_open();
  impl_->filler.fill(entry);
}

void FillContext::append(std::span<const NamedArray> arrays) {
  impl_->ensure_open();
  impl_->filler.append(arrays);
}

std::uint64_t FillContext::num_entries() const noexcept {
  return impl_->filler.entries();
}

void FillContext::add_attributes(ParallelAttributeSet& set, const IndexRange& entries,
                                 std::unique_ptr<Entry> values) {
  impl_->check(entries);
  if (!values) throw Error(ErrorKind::usage, "there are no values", "ParallelAttributeSet::make_entry()");
  set.add(impl_->number, entries,
          [row = std::shared_ptr<Entry>(std::move(values))](AttributeSetWriter& to, const IndexRange& range) {
            to.add(range, *row);
          });
}

void FillContext::add_attributes(ParallelAttributeSet& set, const IndexRange& entries,
                                 std::span<const NamedArray> values) {
  impl_->check(entries);
  struct Row {
    std::vector<std::vector<std::byte>> bytes;
    std::vector<NamedArray> arrays;
  };
  auto row = std::make_shared<Row>();
  for (const NamedArray& given : values) {
    const auto* const data = static_cast<const std::byte*>(given.array.data);
    NamedArray& kept = row->arrays.emplace_back(given);
    kept.array.data =
        row->bytes.emplace_back(data, data + given.array.size * size_of(given.array.element)).data();
  }
  set.add(impl_->number, entries, [row](AttributeSetWriter& to, const IndexRange& range) {
    to.append(std::span(&range, 1), row->arrays);
  });
}

void FillContext::flush_columns() {
  impl_->ensure_open();
  impl_->filler.flush_columns();
}

void FillContext::commit_cluster() {
  impl_->ensure_open();
  impl_->filler.commit_cluster();
}

void FillContext::close() {
  if (impl_->closed) return;
  impl_->filler.commit_cluster();
  impl_->finish();
}

bool FillContext::may_close_again() const noexcept {
  return impl_->writer->state->may_try_again();
}

void FillContext::discard() noexcept {
  impl_->finish();
}

ParallelWriter::ParallelWriter(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}

std::unique_ptr<ParallelWriter> ParallelWriter::make(std::unique_ptr<Model> model, std::string_view name,
                                                     const std::string& uri, const WriteOptions& options,
                                                     dataset::Target target) {
  return with_context({.uri = uri, .data_set = std::string(name)}, [&] {
    auto data_set = dataset::make_data_set(model.get(), name, uri, options, target);
    return std::unique_ptr<ParallelWriter>(
        new ParallelWriter(std::make_shared<Impl>(std::move(model), std::move(data_set))));
  });
}

std::unique_ptr<ParallelWriter> ParallelWriter::create(std::unique_ptr<Model> model, std::string_view name,
                                                       const std::string& uri, const WriteOptions& options) {
  return make(std::move(model), name, uri, options, dataset::Target::new_file);
}

std::unique_ptr<ParallelWriter> ParallelWriter::recreate(std::unique_ptr<Model> model, std::string_view name,
                                                         const std::string& uri,
                                                         const WriteOptions& options) {
  return make(std::move(model), name, uri, options, dataset::Target::any_file);
}

std::unique_ptr<ParallelWriter> ParallelWriter::add_to(std::unique_ptr<Model> model, std::string_view name,
                                                       const std::string& uri, const WriteOptions& options) {
  return make(std::move(model), name, uri, options, dataset::Target::existing_file);
}

ParallelWriter::~ParallelWriter() {
  if (!impl_->data_set.is_of_this_process()) {
    leave_to_parent(impl_);
    return;
  }
  const std::lock_guard lock(impl_->mutex);
  if (impl_->state->closed()) return;
  const bool unwinding = std::uncaught_exceptions() > impl_->exceptions_at_start;
  try {
    if (unwinding || impl_->state->failed())
      impl_->abandon();
    else
      impl_->close();
  } catch (const std::exception& error) {
    impl_->abandon();
    warn([&] {
      return std::string("a parallel writer was destroyed without close(), and closing it failed: ") +
             error.what();
    });
  }
}

const Model& ParallelWriter::model() const noexcept {
  return *impl_->model;
}

std::uint64_t ParallelWriter::num_entries() const {
  return impl_->data_set.entries();
}

bool ParallelWriter::may_close_again() const noexcept {
  return impl_->state->may_try_again();
}

bool ParallelWriter::replaces() const noexcept {
  return impl_->data_set.container().replaces();
}

std::unique_ptr<FillContext> ParallelWriter::make_fill_context() {
  const auto turn = impl_->turn();
  impl_->state->ensure_open();
  auto context = std::make_unique<FillContext::Impl>(impl_, impl_->contexts_made);
  ++impl_->contexts_made;
  return std::unique_ptr<FillContext>(new FillContext(std::move(context)));
}

ParallelAttributeSet& ParallelWriter::add_attribute_set(std::unique_ptr<Model> model, std::string_view name) {
  const auto turn = impl_->turn();
  impl_->state->ensure_open();
  const ErrorContext where{.uri = impl_->data_set.uri(), .data_set = impl_->data_set.descriptor().name};
  return with_context(where, [&]() -> ParallelAttributeSet& {
    // A commit writes what the data set links to: once it is linked, the set has to stay.
    impl_->attribute_sets.reserve(impl_->attribute_sets.size() + 1);
    std::unique_ptr<ParallelAttributeSet> set(
        new ParallelAttributeSet(std::move(model), name, impl_->data_set));
    return *impl_->attribute_sets.emplace_back(std::move(set));
  });
}

void ParallelWriter::commit_staged() {
  const auto turn = impl_->turn();
  if (impl_->state->only_closing_failed()) return;
  impl_->state->finishing([&] { impl_->data_set.commit_staged(); });
}

void ParallelWriter::commit_data_set() {
  if (impl_->state->only_closing_failed()) return close();
  const auto turn = impl_->turn();
  impl_->state->finishing([&] { impl_->data_set.commit_data_set(); });
}

void ParallelWriter::close() {
  const auto turn = impl_->turn();
  if (impl_->state->closed()) return;
  if (!impl_->state->may_try_again()) impl_->state->ensure_open();
  if (const std::size_t open = impl_->contexts_open; open > 0)
    throw Error(ErrorKind::usage,
                fmt::format("{} of the writer's fill contexts {} still open", open, open == 1 ? "is" : "are"),
                "close or destroy them first, each when its thread is done", {.uri = impl_->data_set.uri()});
  impl_->close();
}

void ParallelWriter::discard() noexcept {
  if (!impl_->data_set.is_of_this_process()) return;
  const std::lock_guard lock(impl_->mutex);
  if (impl_->state->closed()) return;
  impl_->discarded = true;
  impl_->abandon();
}

}  // namespace colonnade
