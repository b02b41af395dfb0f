// Opening, entries, printing and verifying; see colonnade/reader.h. Columnar reads are in
// columnar_reader.cpp.
#include "colonnade/reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>

#include "codec/column_codec.h"
#include "container/object_store/reader.h"
#include "dataset/reading/columnar_reader.h"
#include "dataset/reading/open_source.h"
#include "dataset/schema_walk.h"
#include "field/field_tools.h"
#include "page/column_reader.h"
#include "page/page_source.h"

namespace colonnade {
namespace {

void print_field(const Descriptor& descriptor, std::uint32_t id, int depth, std::ostream& out) {
  const FieldDescriptor& field = descriptor.fields[id];
  std::string type = field.type_alias.empty() ? field.type_name : field.type_alias;
  if (type.empty()) type = field.role == FieldRole::collection ? "(untyped collection)" : "(untyped record)";
  std::string columns;
  for (const auto& group : field.representations)
    for (const std::uint32_t column : group)
      columns +=
          fmt::format("{}{}", columns.empty() ? "" : " ", name_of(descriptor.columns[column].encoding.type));
  out << fmt::format("{:{}}{}: {}", "", depth * 2, field.name, type);
  if (!columns.empty()) out << fmt::format("  [{}]", columns);
  if (field.source_field) out << fmt::format("  -> {}", descriptor.path_of(*field.source_field));
  if (!field.unreadable.empty()) out << fmt::format("  (cannot be read: {})", field.unreadable);
  if (!field.description.empty()) out << "  # " << field.description;
  out << '\n';
  for (const std::uint32_t child : field.children) print_field(descriptor, child, depth + 1, out);
}

// ROOT writes no elements for it.
bool is_empty_array(const FieldDescriptor& field) {
  return field.type_name.starts_with("std::array<") && field.type_name.ends_with(",0>");
}

// Throws ErrorKind::format unless the members of a record have as many values as each other.
void verify_members(page::PageSource& source, const FieldDescriptor& record) {
  const Descriptor& descriptor = source.descriptor();
  std::vector<std::optional<std::uint64_t>> values(descriptor.clusters.size());
  for (const std::uint32_t id : record.children) {
    const FieldDescriptor& member = descriptor.fields[id];
    if (!member.unreadable.empty() || is_empty_array(member)) continue;
    const auto counter = dataset::counting_column(descriptor, id);
    if (!counter) continue;
    page::ColumnReader reader(source, counter->columns, counter->element);
    for (std::size_t c = 0; c < values.size(); ++c) {
      const std::uint64_t count = reader.elements(c) / counter->per_value;
      if (values[c].value_or(count) != count) {
        ErrorContext where = source.context();
        where.field = descriptor.path_of(id);
        where.cluster = c;
        throw Error(ErrorKind::format,
                    fmt::format("there are {} values, but {} of other members", count, *values[c]), "",
                    where);
      }
      values[c] = count;
    }
  }
}

[[noreturn]] void fail_left_over(const page::PageSource& source, std::uint32_t field, std::size_t cluster,
                                 std::uint64_t used, std::uint64_t items) {
  ErrorContext where = source.context();
  where.field = source.descriptor().path_of(field);
  where.cluster = cluster;
  throw Error(ErrorKind::format,
              fmt::format("the last collection ends at item {}, but the cluster has {}", used, items), "",
              where);
}

}  // namespace

Reader::Reader(std::shared_ptr<page::PageSource> source) : source_(std::move(source)) {}
Reader::~Reader() = default;

std::unique_ptr<Reader> Reader::open(std::string_view name, const std::string& uri,
                                     const ReadOptions& options) {
  return std::unique_ptr<Reader>(new Reader(dataset::open_source(name, uri, options)));
}

std::unique_ptr<Reader> Reader::open(std::unique_ptr<Model> model, std::string_view name,
                                     const std::string& uri, const ReadOptions& options) {
  if (!model) throw Error(ErrorKind::usage, "there is no model", "see Model::create()", {.uri = uri});
  auto reader = open(name, uri, options);
  reader->model_ = std::move(model);
  reader->model_->complete_ = true;
  reader->connect_model();
  return reader;
}

const std::string& Reader::name() const noexcept {
  return source_->data_set();
}
const std::string& Reader::uri() const noexcept {
  return source_->uri();
}
std::uint64_t Reader::num_entries() const noexcept {
  return source_->descriptor().entries();
}
const Descriptor& Reader::descriptor() const noexcept {
  return source_->descriptor();
}

ReadMetrics Reader::metrics() const {
  const page::ReadCounters c = source_->counters();
  return {.requests = c.requests,
          .bytes = c.bytes,
          .pages = c.pages,
          .metadata_bytes = c.metadata_bytes,
          .read_over_bytes = c.read_over_bytes,
          .prefetched_used = c.prefetched_used,
          .prefetched_unused = c.prefetched_unused,
          .peak_ahead_bytes = c.peak_ahead_bytes,
          .seconds_waiting = c.seconds_waiting,
          .seconds_decoding = c.seconds_decoding,
          .cache_pages = c.cache_pages,
          .cache_bytes = c.cache_bytes,
          .cache_added = c.cache_added,
          .cache_dropped = c.cache_dropped,
          .cache = source_->cache_state()};
}

View<void> Reader::view(std::string_view path) {
  const std::uint32_t disk = finder().find(path);
  return {source_, path, with_context(source_->context(), [&] { return make_field(descriptor(), disk); }),
          disk};
}

View<void> Reader::view(std::string_view path, std::string_view type_name) {
  return {source_, path, make_field(path, type_name), stored_field(path)};
}

CollectionView Reader::collection(std::string_view path) {
  return {source_, path, stored_field(path)};
}

Model& Reader::model() {
  if (model_) return *model_;
  auto model = Model::create();
  with_context(source_->context(), [&] {
    for (const std::uint32_t id : descriptor().top_level_fields())
      if (descriptor().fields[id].unreadable.empty()) model->add_field(make_field(descriptor(), id));
  });
  model->complete_ = true;
  model_ = std::move(model);
  return *model_;
}

// Made for the first fields and kept: many may be asked for, one at a time.
const dataset::FieldFinder& Reader::finder() {
  if (finder_ == nullptr)
    finder_ = std::make_shared<const dataset::FieldFinder>(descriptor(), source_->context());
  return *finder_;
}

std::uint32_t Reader::stored_field(std::string_view path) {
  return finder().find(path);
}

void Reader::connect_model() {
  if (connected_) return;
  for (const auto& field : model().fields()) field->connect(*source_, finder().find(field->name()));
  connected_ = true;
}

void Reader::load_entry(std::uint64_t index, Entry& entry) {
  connect_model();
  if (entry.model_id_ != model_->default_entry_.model_id_)
    throw Error(ErrorKind::usage, "the entry belongs to another model", "make it with Reader::make_entry()",
                source_->context());
  const std::size_t cluster = descriptor().cluster_of_entry(index);
  if (cluster == descriptor().clusters.size())
    throw Error(ErrorKind::usage,
                fmt::format("entry {} is beyond the {} entries of the data set", index, num_entries()), "",
                source_->context());
  const ClusterIndex at{cluster, index - descriptor().clusters[cluster].first_entry};
  for (std::size_t i = 0; i < model_->fields_.size(); ++i) {
    try {
      with_context({}, [&] { model_->fields_[i]->read(at, entry.slots_[i].value.get()); });
    } catch (const Error& error) {
      ErrorContext where = source_->context();
      where.field = model_->fields_[i]->name();
      throw error.with(where);
    }
  }
}

std::vector<ColumnArray> Reader::arrays(std::span<const std::string> paths, std::uint64_t first,
                                        std::uint64_t last, std::uint64_t ahead) {
  return dataset::read_arrays(*source_, finder(), paths, first, last, ahead);
}

void Reader::print_schema(std::ostream& out) const {
  out << fmt::format("{} ({} entries)\n", descriptor().name, num_entries());
  for (const std::uint32_t id : descriptor().top_level_fields()) print_field(descriptor(), id, 1, out);
}

std::string Reader::entry_text(std::uint64_t index, std::span<const std::string> fields) {
  std::vector<std::string> paths(fields.begin(), fields.end());
  if (paths.empty())
    for (const std::uint32_t id : descriptor().top_level_fields())
      if (descriptor().fields[id].unreadable.empty()) paths.push_back(descriptor().fields[id].name);
  std::string text = "{";
  for (const std::string& path : paths) {
    auto found = text_views_.find(path);
    if (found == text_views_.end()) found = text_views_.emplace(path, view(path)).first;
    text += fmt::format("{}\"{}\": {}", text.size() > 1 ? ", " : "", path, found->second.text(index));
  }
  return text + "}";
}

void Reader::verify_pages(std::uint32_t column, const std::function<void()>& page_done) {
  page::ColumnReader reader(*source_, {column}, natural_element(descriptor().columns[column].encoding.type));
  for (std::size_t c = 0; c < descriptor().clusters.size(); ++c) {
    const auto& columns = descriptor().clusters[c].columns;
    if (column >= columns.size()) continue;
    std::uint64_t at = source_->extent(column, c).leading_zeros;
    for (const PageDescriptor& page : columns[column].pages) {
      static_cast<void>(reader.map(c, at));
      at += page.elements;
      page_done();
    }
  }
}

void Reader::verify_structure(const FieldDescriptor& field) {
  const bool is_string = field.type_name == "std::string" && !field.representations.empty() &&
                         field.representations.front().size() == 2;
  const bool is_collection = is_string || (field.role == FieldRole::collection && field.children.size() == 1);
  if ((!is_collection && field.role != FieldRole::variant) || field.source_field) return;
  page::ColumnReader own(*source_, dataset::columns_of(field, 0),
                         is_collection ? ElementType::index : ElementType::switch_);
  std::vector<std::optional<page::ColumnReader>> parts(is_string ? 1 : field.children.size());
  std::vector<std::uint64_t> per_value(parts.size(), 1);
  if (is_string) parts[0].emplace(*source_, dataset::columns_of(field, 1), ElementType::character);
  for (std::size_t k = 0; k < field.children.size() && !is_string; ++k) {
    const auto counter = dataset::counting_column(descriptor(), field.children[k]);
    if (!counter) continue;
    parts[k].emplace(*source_, counter->columns, counter->element);
    per_value[k] = counter->per_value;
  }
  for (std::size_t c = 0; c < descriptor().clusters.size(); ++c) {
    std::vector<std::uint64_t> limits(parts.size(), ~std::uint64_t{0});
    for (std::size_t k = 0; k < parts.size(); ++k)
      if (parts[k]) limits[k] = parts[k]->elements(c) / per_value[k];
    std::uint64_t previous = 0;
    // Elements that were never written are empty, whatever their number.
    for (std::uint64_t at = own.leading_zeros(c); at < own.elements(c);) {
      const auto stretch = own.map(c, at);
      if (is_collection) {
        const std::span ends(static_cast<const std::uint64_t*>(stretch.data), stretch.count);
        dataset::check_ends(*source_, field.id, c, previous, ends, limits.front());
        previous = ends.back();
      } else {
        const std::span elements(static_cast<const SwitchElement*>(stretch.data), stretch.count);
        dataset::check_switches(*source_, field.id, c, elements, limits);
      }
      at = stretch.first + stretch.count;
    }
    if (is_collection && parts[0] && previous != limits[0])
      fail_left_over(*source_, field.id, c, previous, limits[0]);
  }
}

void Reader::verify(const std::function<void(std::uint64_t, std::uint64_t)>& progress) {
  for (const FieldDescriptor& field : descriptor().fields)
    if (field.contradicted) {
      ErrorContext where = source_->context();
      where.field = descriptor().path_of(field.id);
      throw Error(ErrorKind::format, field.unreadable, "", where);
    }
  std::uint64_t total = 0;
  for (const ClusterDescriptor& cluster : descriptor().clusters)
    for (const ColumnRange& range : cluster.columns) total += range.pages.size();
  std::uint64_t done = 0;
  for (const ColumnDescriptor& column : descriptor().columns) {
    if (column.raw_type >= column_type_count || !is_valid(column.encoding)) continue;
    verify_pages(column.id, [&] {
      ++done;
      if (progress) progress(done, total);
    });
  }
  for (const FieldDescriptor& field : descriptor().fields)
    if (field.unreadable.empty()) {
      verify_structure(field);
      if (field.role == FieldRole::record && !field.source_field) verify_members(*source_, field);
    }
}

namespace {

std::vector<std::string> names_in(const container::ReadContainer& container) {
  std::vector<std::string> names = container.data_sets();
  const auto* store = dynamic_cast<const container::ObjectContainerReader*>(&container);
  if (names.empty() && store != nullptr) store->check_is_there();
  return names;
}

}  // namespace

// Options are taken by reference everywhere.
// NOLINTNEXTLINE(modernize-pass-by-value)
DataSets::DataSets(std::string uri, const ReadOptions& options) : uri_(std::move(uri)), options_(options) {
  container::open_while_written([&] {
    container_ = dataset::open_for_many(uri_, options_);
    names_ = names_in(*container_);
  });
}

DataSets::~DataSets() = default;

std::unique_ptr<Reader> DataSets::open(std::string_view name) {
  return std::unique_ptr<Reader>(new Reader(dataset::open_source(name, uri_, options_, container_)));
}

std::vector<std::string> data_sets(const std::string& uri) {
  return container::open_while_written([&] { return names_in(*container::open_container(uri)); });
}

std::vector<StoredObject> stored_objects(const std::string& uri) {
  std::vector<StoredObject> objects;
  for (auto& object :
       container::open_while_written([&] { return container::open_container(uri)->objects(); }))
    objects.push_back({std::move(object.path), std::move(object.class_name), object.size});
  return objects;
}

}  // namespace colonnade
