// Writing attribute sets; see colonnade/attributes.h and sets.h.
//
// The user's fields become members of one record. The user's values stay where they are, so the value of that
// record is a list of pointers to them.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <exception>
#include <utility>

#include "colonnade/attributes.h"
#include "dataset/attributes/sets.h"
#include "dataset/copying/schema.h"
#include "dataset/writing/filler.h"
#include "dataset/writing/schema.h"

namespace colonnade {
namespace {

class UserData final : public Field {
 public:
  explicit UserData(const std::vector<std::unique_ptr<Field>>& fields)
      : Field(std::string(dataset::user_data_field), {.kind = FieldKind::record,
                                                      .value_size = fields.size() * sizeof(void*),
                                                      .alignment = alignof(void*)}) {
    for (const auto& field : fields) add_child(field->clone(field->name()));
  }

  void construct(void* value) const override {
    std::fill_n(static_cast<const void**>(value), children().size(), nullptr);
  }
  void destroy(void*) const noexcept override {}
  void print(const void*, std::string& out) const override { out += name(); }
  void append(const void* value) override {
    const auto* const values = static_cast<const void* const*>(value);
    for (std::size_t i = 0; i < children().size(); ++i) children()[i]->append(values[i]);
  }
  void read(ClusterIndex, void*) override { fail(); }

 protected:
  std::unique_ptr<Field> copy() const override { return std::make_unique<UserData>(children()); }
  std::vector<ColumnEncoding> default_encodings(bool) const override { return {}; }
  void bind(page::PageSource&, std::uint32_t) override { fail(); }

 private:
  [[noreturn]] static void fail() { throw Error(ErrorKind::usage, "this field is only written"); }
};

// Values of the same types fit into columns of any encoding.
void take_encodings(const Descriptor& there, Descriptor& own) {
  for (std::size_t i = 0; i < std::min(there.columns.size(), own.columns.size()); ++i) {
    const ColumnDescriptor& from = there.columns[i];
    ColumnDescriptor& column = own.columns[i];
    if (dataset::element_of(own, column) != dataset::element_of(there, from)) continue;
    column.raw_type = from.raw_type;
    column.encoding = from.encoding;
    column.has_range = from.has_range;
  }
}

void check_model(const Model* model) {
  if (model == nullptr) throw Error(ErrorKind::usage, "there is no model", "see Model::create()");
  if (model->fields().empty())
    throw Error(ErrorKind::schema, "an attribute set needs a field", "add one to the model");
  if (!model->projections().empty())
    throw Error(ErrorKind::schema, "an attribute set cannot have projected fields", "leave them out");
}

}  // namespace

struct AttributeSetWriter::Impl {
  Impl(std::unique_ptr<Model> model, std::string_view set_name, page::DataSetSink& data_set,
       const page::PageSource* before, std::function<std::uint64_t()> entries, std::function<void()> flush)
      : name(set_name), user(std::move(model)), stored(Model::create()), entries_of(std::move(entries)) {
    make_stored();
    const std::shared_ptr<page::DataSetSink> there = data_set.open_linked(name);
    sink = data_set.make_linked();
    sink->descriptor().name = name;
    sink->descriptor().writer = dataset::library_name();
    std::vector<Field*> fields;
    for (const auto& field : stored->fields_) fields.push_back(field.get());
    dataset::describe(fields, *sink, 0);
    there ? go_on_with(there) : begin(before);
    state = std::make_shared<dataset::WriterState>(sink);
    filler = std::make_unique<dataset::Filler>(
        state, stored->fields_, stored->default_entry_.model_id_,
        [this](ClusterDescriptor cluster) { sink->add_cluster(std::move(cluster)); });
    for (Field* field : fields) filler->connect(*field);
    user->complete_ = stored->complete_ = true;
    std::function<void()> commit = [this, more = std::move(flush)] {
      state->try_again();
      if (more) more();
      filler->commit_cluster();
    };
    there ? data_set.more_to(name, std::move(commit)) : data_set.link(name, sink, std::move(commit));
  }

  void make_stored() {
    start = stored->make_field<std::uint64_t>(dataset::range_start_field);
    length = stored->make_field<std::uint64_t>(dataset::range_length_field);
    values.resize(user->fields_.size());
    stored->add_field(std::make_unique<UserData>(user->fields_),
                      std::shared_ptr<void>(std::shared_ptr<void>(), static_cast<void*>(values.data())));
  }

  // That of what this comes behind.
  void take_schema(const Descriptor& there) const {
    take_encodings(there, sink->descriptor());
    if (const std::string why = dataset::first_difference(there, sink->descriptor()); !why.empty())
      throw Error(
          ErrorKind::schema,
          fmt::format("the schema differs from that of the existing attribute set '{}': {}", name, why),
          "the fields that it was written with, or another name");
  }

  // Continues a set that is not committed yet.
  void go_on_with(const std::shared_ptr<page::DataSetSink>& there) {
    take_schema(there->descriptor());
    rows_before = there->descriptor().entries();
    sink = there;
  }

  // Continues a set that the data set has already.
  void begin(const page::PageSource* before) {
    const AttributeSetRecord* record =
        before == nullptr ? nullptr : dataset::find_attribute_set(before->descriptor(), name);
    if (record == nullptr) return sink->start();
    const auto there = dataset::open_attribute_set(*before, *record);
    const Descriptor& descriptor = there->descriptor();
    take_schema(descriptor);
    if (descriptor.anchor.max_key_size != sink->container().max_key_size())
      throw Error(ErrorKind::unsupported,
                  fmt::format("the attribute set '{}' was written with another limit of the file's keys than "
                              "the data set",
                              name),
                  "another name, or a copy of the data set");
    rows_before = descriptor.entries();
    sink->resume(descriptor);
  }

  void check(const IndexRange& range) const {
    // That is a failure of the data set, which `state` does not know.
    if (sink->container().page_kind() == Locator::Kind::file && sink->may_retry())
      throw Error(ErrorKind::usage, "closing the file has failed, so nothing can be added now",
                  "when the cause is gone, call close() again", {.uri = sink->uri(), .data_set = name});
    if (range.first() > range.last() || range.last() > entries_of())
      throw Error(ErrorKind::usage,
                  fmt::format("the range from entry {} to {} reaches beyond the {} entries that were filled",
                              range.first(), range.last(), entries_of()),
                  "fill the entries first", {.uri = sink->uri(), .data_set = name});
  }

  void add(const IndexRange& range, const Entry& entry) {
    check(range);
    if (entry.model_id_ != user->default_entry_.model_id_ || entry.slots_.size() != values.size())
      throw Error(ErrorKind::usage, "the entry belongs to another model",
                  "make it with the attribute set's make_entry()", {.uri = sink->uri(), .data_set = name});
    *start = range.first();
    *length = range.size();
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = entry.slots_[i].value.get();
    filler->fill(stored->default_entry_);
  }

  void append(std::span<const IndexRange> ranges, std::span<const NamedArray> arrays) const {
    std::vector<std::uint64_t> starts, lengths;
    for (const IndexRange& range : ranges) {
      check(range);
      starts.push_back(range.first());
      lengths.push_back(range.size());
    }
    std::vector<NamedArray> all{{std::string(dataset::range_start_field), starts},
                                {std::string(dataset::range_length_field), lengths}};
    for (const NamedArray& array : arrays) all.push_back({AttributeSet::path_of(array.path), array.array});
    filler->append(all);
  }

  std::string name;
  std::unique_ptr<Model> user;
  std::unique_ptr<Model> stored;
  std::function<std::uint64_t()> entries_of;  // of the data set
  std::shared_ptr<std::uint64_t> start;
  std::shared_ptr<std::uint64_t> length;
  std::vector<const void*> values;  // the members of `_userData`
  std::uint64_t rows_before = 0;
  std::shared_ptr<page::DataSetSink> sink;
  std::shared_ptr<dataset::WriterState> state;
  std::unique_ptr<dataset::Filler> filler;
};

AttributeSetWriter::AttributeSetWriter(std::unique_ptr<Model> model, std::string_view name,
                                       page::DataSetSink& data_set, const page::PageSource* before,
                                       std::function<std::uint64_t()> entries, std::function<void()> flush) {
  check_model(model.get());
  dataset::check_attribute_set_name(name);
  if (data_set.has_linked(name) && !data_set.open_linked(name))
    throw Error(ErrorKind::usage, fmt::format("there is already an attribute set '{}'", name),
                "another name, or add to that one");
  impl_ =
      std::make_unique<Impl>(std::move(model), name, data_set, before, std::move(entries), std::move(flush));
}

AttributeSetWriter::~AttributeSetWriter() = default;

const std::string& AttributeSetWriter::name() const noexcept {
  return impl_->name;
}
Model& AttributeSetWriter::model() noexcept {
  return *impl_->user;
}
std::uint64_t AttributeSetWriter::num_rows() const noexcept {
  return impl_->rows_before + impl_->filler->entries();
}
std::unique_ptr<Entry> AttributeSetWriter::make_entry() const {
  return impl_->user->make_entry();
}
std::uint64_t AttributeSetWriter::begin_range() const noexcept {
  return impl_->entries_of();
}
void AttributeSetWriter::commit_range(std::uint64_t first) {
  commit_range(first, impl_->user->default_entry_);
}
void AttributeSetWriter::commit_range(std::uint64_t first, Entry& values) {
  add({first, impl_->entries_of()}, values);
}
void AttributeSetWriter::add(const IndexRange& range) {
  add(range, impl_->user->default_entry_);
}
void AttributeSetWriter::add(const IndexRange& range, Entry& values) {
  impl_->add(range, values);
}
void AttributeSetWriter::append(std::span<const IndexRange> ranges, std::span<const NamedArray> arrays) {
  impl_->append(ranges, arrays);
}
bool AttributeSetWriter::may_try_again() const noexcept {
  return impl_->state->may_try_again();
}
void AttributeSetWriter::try_again() {
  impl_->state->try_again();
}
void AttributeSetWriter::end() noexcept {
  impl_->state->set_closed();
}

// ---- Adding to a data set that is there, or is about to be

struct AttributeAppender::Impl {
  ErrorContext context() const {
    return before ? before->context()
                  : ErrorContext{.uri = data_set->uri(), .data_set = data_set->descriptor().name};
  }
  explicit Impl(std::shared_ptr<page::DataSetSink> sink) : data_set(sink), state(std::move(sink)) {}
  // Ends the sets once they are committed.
  void end() const noexcept {
    for (const auto& set : sets) set->end();
  }

  std::unique_ptr<page::PageSource> before;  // null: others commit the data set
  std::shared_ptr<page::DataSetSink> data_set;
  dataset::WriterState state;  // of its end; each set has its own
  std::vector<std::unique_ptr<AttributeSetWriter>> sets;
  bool closed = false;
};

std::unique_ptr<AttributeAppender> AttributeAppender::open(std::string_view name, const std::string& uri,
                                                           const WriteOptions& options) {
  return with_context({.uri = uri, .data_set = std::string(name)}, [&] {
    dataset::check(options);
    // Locked from here on.
    auto container = container::replace_container(uri, name, dataset::container_options(options));
    auto before = page::PageSource::open(std::string(name), container::open_container(uri), {});
    WriteOptions writing = options;
    writing.checkpoint_every = {};
    auto impl = std::make_unique<Impl>(std::make_shared<page::DataSetSink>(std::move(container), writing));
    impl->before = std::move(before);
    impl->data_set->resume(impl->before->descriptor());
    return std::unique_ptr<AttributeAppender>(new AttributeAppender(std::move(impl)));
  });
}

AttributeAppender::AttributeAppender(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

AttributeAppender::~AttributeAppender() {
  if (!impl_->data_set->is_of_this_process()) {
    leave_to_parent(impl_);
    return;
  }
  if (!impl_->before)
    impl_->end();
  else if (!impl_->closed)
    impl_->data_set->abandon();
}

std::uint64_t AttributeAppender::num_entries() const noexcept {
  return impl_->data_set->entries();
}

AttributeSetWriter& AttributeAppender::add_attribute_set(std::unique_ptr<Model> model,
                                                         std::string_view name) {
  return with_context(impl_->context(), [&]() -> AttributeSetWriter& {
    if (impl_->closed) throw Error(ErrorKind::usage, "nothing can be added after close()", "open it again");
    impl_->sets.reserve(impl_->sets.size() + 1);  // see Writer::add_attribute_set()
    std::unique_ptr<AttributeSetWriter> set(new AttributeSetWriter(
        std::move(model), name, *impl_->data_set, impl_->before.get(), [this] { return num_entries(); }));
    return *impl_->sets.emplace_back(std::move(set));
  });
}

bool AttributeAppender::may_close_again() const noexcept {
  const auto may = [](const auto& set) { return set->may_try_again(); };
  return impl_->state.may_try_again() || std::ranges::any_of(impl_->sets, may);
}

void AttributeAppender::go_on() {
  impl_->state.try_again();
  for (const auto& set : impl_->sets) set->try_again();
}

void AttributeAppender::close() {
  if (impl_->closed || !impl_->before) return;
  with_context(impl_->context(), [&] {
    // Without a set nothing is to be committed.
    if (impl_->sets.empty()) return impl_->data_set->abandon();
    go_on();
    try {
      impl_->state.finishing([&] { impl_->data_set->close(); });
    } catch (...) {
      if (may_close_again()) throw;
      impl_->closed = true;
      impl_->data_set->abandon();
      throw;
    }
  });
  impl_->closed = true;
  impl_->end();
}

std::unique_ptr<AttributeAppender> dataset::add_before_commit(
    std::shared_ptr<page::DataSetSink> data_set, const std::function<void(AttributeAppender&)>& add) {
  if (!add) return nullptr;
  auto impl = std::make_unique<AttributeAppender::Impl>(std::move(data_set));
  std::unique_ptr<AttributeAppender> appender(new AttributeAppender(std::move(impl)));
  add(*appender);
  appender->close();
  return appender;
}

}  // namespace colonnade
