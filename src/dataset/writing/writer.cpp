// Filling, schema extension, commits; see colonnade/writer.h.
#include "colonnade/writer.h"

#include <algorithm>
#include <exception>
#include <string>
#include <vector>

#include "base/processor.h"
#include "base/warning.h"
#include "colonnade/attributes.h"
#include "colonnade/error.h"
#include "dataset/attributes/sets.h"
#include "dataset/copying/schema.h"
#include "dataset/writing/filler.h"
#include "dataset/writing/schema.h"
#include "page/page_source.h"

namespace colonnade {
namespace {

// Columns that were added after some entries begin there.
void take_beginnings(std::span<const ColumnDescriptor> there, std::span<ColumnDescriptor> own) noexcept {
  for (std::size_t i = 0; i < std::min(there.size(), own.size()); ++i) {
    own[i].deferred = there[i].deferred;
    own[i].deferred_suppressed = there[i].deferred_suppressed;
    own[i].first_element = there[i].first_element;
  }
}

}  // namespace

struct Writer::Impl {
  // `there`: the existing data set of the container.
  Impl(std::unique_ptr<Model> m, std::shared_ptr<page::DataSetSink> sink, const Descriptor* there = nullptr)
      : model(std::move(m)),
        data_set(*sink),
        state(std::make_shared<dataset::WriterState>(std::move(sink))),
        filler(state, model->fields_, model->default_entry_.model_id_,
               [this](ClusterDescriptor cluster) { data_set.add_cluster(std::move(cluster)); }) {
    std::vector<Field*> fields;
    for (const auto& field : model->fields()) fields.push_back(field.get());
    if (there != nullptr) {
      go_on(*there);
    } else {
      dataset::describe(fields, data_set, 0);
      for (const Model::Projection& projection : model->projections())
        dataset::describe_projection(projection, data_set.descriptor());
      data_set.start();
    }
    for (Field* field : fields) filler.connect(*field);
    model->complete_ = true;
  }

  // Fields that were added later lie behind projected ones of the header.
  void describe_like(const Descriptor& there) const {
    std::vector<Field*> fields;
    for (const auto& field : model->fields()) fields.push_back(field.get());
    std::vector<const Model::Projection*> projections;
    for (const Model::Projection& projection : model->projections()) projections.push_back(&projection);
    for (const FieldDescriptor& top : there.fields) {
      if (top.parent != top.id) continue;
      if (top.source_field) {
        const auto found =
            std::ranges::find(projections, top.name, [](const auto* each) { return each->field->name(); });
        if (found == projections.end()) continue;
        dataset::describe_projection(**found, data_set.descriptor());
        projections.erase(found);
      } else if (const auto found = std::ranges::find(fields, top.name, &Field::name);
                 found != fields.end()) {
        dataset::describe({*found}, data_set, 0);
        fields.erase(found);
      }
    }
    dataset::describe(fields, data_set, 0);
    for (const Model::Projection* projection : projections)
      dataset::describe_projection(*projection, data_set.descriptor());
    take_beginnings(there.columns, data_set.descriptor().columns);
  }

  // Merges of inputs with different encodings leave several columns for a field. A writer has one.
  static void refuse_several_encodings(const Descriptor& there) {
    for (const FieldDescriptor& field : there.fields)
      if (field.representations.size() > 1)
        throw Error(ErrorKind::unsupported,
                    "the field is stored in several encodings, as merging leaves it, and cannot be continued",
                    "copy with a page size first, which leaves one, or write a new data set and merge both",
                    {.field = there.path_of(field.id)});
  }

  void go_on(const Descriptor& there) {
    refuse_several_encodings(there);
    describe_like(there);
    if (const std::string why = dataset::first_difference(there, data_set.descriptor()); !why.empty())
      throw Error(ErrorKind::schema, "the schema differs from that of the existing data set: " + why,
                  "the fields and encodings that it was written with");
    data_set.resume(there);
    entries_before = there.entries();
  }

  void end() noexcept {
    state->set_closed();
    for (const auto& set : attribute_sets) set->end();
  }

  // The model accepts new fields only from here, where they are connected.
  template <class Add>
  void extend_model(Add&& add) const {
    model->complete_ = false;
    try {
      add(*model);
    } catch (...) {
      model->complete_ = true;
      throw;
    }
    model->complete_ = true;
  }

  std::unique_ptr<Model> model;
  page::DataSetSink& data_set;
  std::shared_ptr<dataset::WriterState> state;
  dataset::Filler filler;
  std::uint64_t entries_before = 0;
  std::unique_ptr<page::PageSource> before;  // the data set being continued, if it has attribute sets
  std::vector<std::unique_ptr<AttributeSetWriter>> attribute_sets;
  int exceptions_at_start = std::uncaught_exceptions();
};

Writer::Writer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {
  check_instruction_set();
}

std::unique_ptr<Writer> Writer::make(std::unique_ptr<Model> model, std::string_view name,
                                     const std::string& uri, const WriteOptions& options,
                                     dataset::Target target) {
  return with_context({.uri = uri, .data_set = std::string(name)}, [&] {
    auto data_set = dataset::make_data_set(model.get(), name, uri, options, target);
    return std::unique_ptr<Writer>(new Writer(std::make_unique<Impl>(std::move(model), std::move(data_set))));
  });
}

std::unique_ptr<Writer> Writer::create(std::unique_ptr<Model> model, std::string_view name,
                                       const std::string& uri, const WriteOptions& options) {
  return make(std::move(model), name, uri, options, dataset::Target::new_file);
}

std::unique_ptr<Writer> Writer::recreate(std::unique_ptr<Model> model, std::string_view name,
                                         const std::string& uri, const WriteOptions& options) {
  return make(std::move(model), name, uri, options, dataset::Target::any_file);
}

std::unique_ptr<Writer> Writer::add_to(std::unique_ptr<Model> model, std::string_view name,
                                       const std::string& uri, const WriteOptions& options) {
  return make(std::move(model), name, uri, options, dataset::Target::existing_file);
}

std::unique_ptr<Writer> Writer::resume(std::unique_ptr<Model> model, std::string_view name,
                                       const std::string& uri, const WriteOptions& options) {
  return with_context({.uri = uri, .data_set = std::string(name)}, [&] {
    // Locked from here on.
    auto data_set = dataset::make_data_set(model.get(), name, uri, options, dataset::Target::same_data_set);
    auto there = page::PageSource::open(std::string(name), container::open_container(uri), {});
    const Descriptor& checkpoint = there->descriptor();
    auto impl = std::make_unique<Impl>(std::move(model), std::move(data_set), &checkpoint);
    if (!checkpoint.attribute_sets.empty()) impl->before = std::move(there);
    return std::unique_ptr<Writer>(new Writer(std::move(impl)));
  });
}

Writer::~Writer() {
  if (impl_ && !impl_->data_set.is_of_this_process()) {
    leave_to_parent(impl_);
    return;
  }
  if (!impl_ || impl_->state->closed() || impl_->state->failed()) return;
  if (std::uncaught_exceptions() > impl_->exceptions_at_start) return;
  try {
    close();
  } catch (const std::exception& error) {
    warn([&] {
      return std::string("a writer was destroyed without close(), and closing it failed: ") + error.what();
    });
  }
}

Model& Writer::model() noexcept {
  return *impl_->model;
}
std::uint64_t Writer::num_entries() const noexcept {
  return impl_->entries_before + impl_->filler.entries();
}
bool Writer::may_close_again() const noexcept {
  const auto may = [](const auto& set) { return set->may_try_again(); };
  return impl_->state->may_try_again() || std::ranges::any_of(impl_->attribute_sets, may);
}
bool Writer::replaces() const noexcept {
  return impl_->data_set.container().replaces();
}
std::unique_ptr<Entry> Writer::make_entry() const {
  return impl_->model->make_entry();
}

void Writer::fill() {
  fill(impl_->model->default_entry_);
}
void Writer::fill(Entry& entry) {
  impl_->filler.fill(entry);
}
void Writer::append(std::span<const NamedArray> arrays) {
  impl_->filler.append(arrays);
}

void Writer::extend(std::unique_ptr<Field> field, std::shared_ptr<void> value) {
  impl_->state->ensure_open();
  Field* added = field.get();
  // Once the descriptor has a part of the field, the writer cannot go on.
  if (added != nullptr)
    with_context({.uri = impl_->data_set.uri(), .data_set = impl_->data_set.descriptor().name},
                 [&] { dataset::check_new_field(*added); });
  impl_->extend_model([&](Model& model) { model.add_field(std::move(field), std::move(value)); });
  impl_->state->guarded([&] {
    dataset::describe({added}, impl_->data_set, num_entries());
    impl_->filler.connect(*added);
  });
}

std::shared_ptr<void> Writer::extend(std::unique_ptr<Field> field) {
  std::shared_ptr<void> value = field ? field->make_value() : nullptr;
  extend(std::move(field), value);
  return value;
}

std::shared_ptr<void> Writer::extend(std::string_view name, std::string_view type_name) {
  return extend(make_field(name, type_name));
}

void Writer::extend_projected(std::unique_ptr<Field> field, Model::Sources sources) {
  impl_->state->ensure_open();
  impl_->extend_model([&](Model& model) { model.add_projected_field(std::move(field), std::move(sources)); });
  // A projection stores nothing, so an invalid one can be undone.
  Descriptor& descriptor = impl_->data_set.descriptor();
  const std::size_t fields = descriptor.fields.size();
  const std::size_t aliases = descriptor.aliases.size();
  try {
    with_context({.uri = impl_->data_set.uri(), .data_set = descriptor.name},
                 [&] { dataset::describe_projection(impl_->model->projections().back(), descriptor); });
  } catch (...) {
    descriptor.fields.resize(fields);
    descriptor.aliases.resize(aliases);
    impl_->model->names_.erase(impl_->model->projections_.back().field->name());
    impl_->model->projections_.pop_back();
    throw;
  }
}

AttributeSetWriter& Writer::add_attribute_set(std::unique_ptr<Model> model, std::string_view name) {
  impl_->state->ensure_open();
  const ErrorContext where{.uri = impl_->data_set.uri(), .data_set = impl_->data_set.descriptor().name};
  return with_context(where, [&]() -> AttributeSetWriter& {
    // A commit writes what the data set links to: once it is linked, the set has to stay.
    impl_->attribute_sets.reserve(impl_->attribute_sets.size() + 1);
    std::unique_ptr<AttributeSetWriter> set(new AttributeSetWriter(
        std::move(model), name, impl_->data_set, impl_->before.get(), [this] { return num_entries(); }));
    return *impl_->attribute_sets.emplace_back(std::move(set));
  });
}

void Writer::flush_columns() {
  impl_->filler.flush_columns();
}

void Writer::commit_cluster() {
  for (const auto& set : impl_->attribute_sets) set->try_again();
  impl_->filler.commit_cluster();
}

void Writer::commit_data_set() {
  if (impl_->state->only_closing_failed()) return close();
  commit_cluster();
  impl_->state->finishing([&] { impl_->data_set.commit_data_set(); });
}

void Writer::close() {
  if (impl_->state->closed()) return;
  commit_cluster();
  impl_->state->finishing([&] { impl_->data_set.close(); });
  impl_->end();
}

void Writer::discard() noexcept {
  if (impl_->state->closed()) return;
  impl_->end();
  impl_->data_set.abandon();
}

}  // namespace colonnade
