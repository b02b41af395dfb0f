// See sources.h.
#include "dataset/copying/sources.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/thread_pool.h"
#include "dataset/class_names.h"
#include "dataset/copying/merged_schema.h"
#include "dataset/schema_walk.h"
#include "page/page_copy.h"

namespace colonnade::dataset {
namespace {

constexpr std::size_t surveyed_at_once = 8;
// So few stay open between survey and copy.
constexpr std::size_t most_kept_open = 8;

std::string without_slash(std::string path) {
  path.erase(0, std::min(path.find_first_not_of('/'), path.size()));
  return path;
}

std::unique_ptr<page::PageSource> open_once(const DataSetPlace& place, const ReadOptions& options) {
  std::shared_ptr<container::ReadContainer> container =
      container::open_container(place.uri, {.local_io = options.local_io, .direct_io = options.direct_io});
  std::string name = without_slash(place.data_set);
  if (name.empty()) {
    const std::vector<std::string> names = container->data_sets();
    if (names.size() != 1)
      throw Error(names.empty() ? ErrorKind::not_found : ErrorKind::usage,
                  fmt::format("there are {} data sets", names.size()),
                  names.empty() ? "" : fmt::format("name one of: {}", fmt::join(names, ", ")),
                  {.uri = place.uri});
    name = names.front();
  }
  return page::PageSource::open(name, container, options);
}

// The setting that the data set's pages were compressed with.
std::optional<codec::CompressionSettings> compression_of(const Descriptor& descriptor) {
  for (const ClusterDescriptor& cluster : descriptor.clusters)
    for (const ColumnRange& range : cluster.columns) {
      if (range.suppressed || range.pages.empty()) continue;
      try {
        return codec::CompressionSettings::parse(std::to_string(range.compression));
      } catch (const Error&) {
        return std::nullopt;  // a setting of others, which only they know
      }
    }
  return std::nullopt;
}

void measure_pages(const Descriptor& descriptor, CopySource& source) {
  for (const ClusterDescriptor& cluster : descriptor.clusters)
    for (const ColumnRange& range : cluster.columns)
      for (const PageDescriptor& page : range.pages) {
        source.bytes += page::stored_size(page);
        source.largest_page = std::max(source.largest_page, page.locator.size);
      }
}

Descriptor without_clusters(const Descriptor& descriptor) {
  Descriptor copy;
  copy.name = descriptor.name;
  copy.description = descriptor.description;
  copy.feature_flags = descriptor.feature_flags;
  copy.header_fields = descriptor.header_fields;
  copy.header_columns = descriptor.header_columns;
  copy.header_aliases = descriptor.header_aliases;
  copy.header_type_infos = descriptor.header_type_infos;
  copy.fields = descriptor.fields;
  copy.columns = descriptor.columns;
  copy.aliases = descriptor.aliases;
  copy.type_infos = descriptor.type_infos;
  return copy;
}

bool same_info(const ExtraTypeInfo& a, const ExtraTypeInfo& b) {
  return a.content_id == b.content_id && a.type_version == b.type_version && a.type_name == b.type_name &&
         a.content == b.content;
}

// Pages are copied as they are: a field whose page lists contradict the schema would stay damaged, or end up
// with the entries of others.
void check_undamaged(const page::PageSource& source, const std::vector<bool>& wanted) {
  for (const FieldDescriptor& field : source.descriptor().fields)
    if (wanted[field.id] && field.contradicted) {
      ErrorContext where = source.context();
      where.field = source.descriptor().path_of(field.id);
      throw Error(ErrorKind::format, field.unreadable, "leave this field out", where);
    }
}

}  // namespace

std::unique_ptr<page::PageSource> open_to_copy(const DataSetPlace& place, const ReadOptions& options) {
  ReadOptions own = options;
  own.page_checksums = Checksums::on;  // nothing damaged is carried on
  return container::open_while_written([&] { return open_once(place, own); });
}

CopySources::CopySources(const std::vector<DataSetPlace>& places, const CopyOptions& options)
    : options_(options) {
  for (const DataSetPlace& place : places) sources_.push_back({.place = place});
}

// ---- Looking at each

void CopySources::survey() {
  for (std::size_t first = 0; first < sources_.size(); first += surveyed_at_once) {
    const std::size_t count = std::min(surveyed_at_once, sources_.size() - first);
    std::vector<std::unique_ptr<page::PageSource>> opened(count);
    TaskGroup tasks;
    for (std::size_t i = 0; i < count; ++i)
      tasks.run([&, i] { opened[i] = open_to_copy(sources_[first + i].place, options_.reading); });
    tasks.wait();
    for (std::size_t i = 0; i < count; ++i) take(sources_[first + i], std::move(opened[i]));
  }
  check_wanted();
}

void CopySources::take(CopySource& source, std::unique_ptr<page::PageSource> pages) {
  const Descriptor& descriptor = pages->descriptor();
  source.place.data_set = pages->data_set();
  source.name = descriptor.name;
  source.record = describe_input(*pages);
  if (options_.provenance) source.inputs = read_provenance(*pages);
  for (const AttributeSetRecord& set : descriptor.attribute_sets)
    if (!options_.provenance || set.name != provenance_name) source.attribute_sets.push_back(set.name);
  measure_pages(descriptor, source);
  source.compression = compression_of(descriptor);
  for (const ExtraTypeInfo& info : descriptor.type_infos)
    if (std::none_of(type_infos_.begin(), type_infos_.end(),
                     [&](const ExtraTypeInfo& other) { return same_info(info, other); }))
      type_infos_.push_back(info);
  source.schema = find_schema(*pages, static_cast<std::size_t>(&source - sources_.data()));
  check_undamaged(*pages, schemas_[source.schema].wanted);
  add_class_infos(*pages, schemas_[source.schema]);
  if (sources_.size() <= most_kept_open) source.pages = std::move(pages);
}

// ROOT needs them to apply the read rules of later versions of a class.
void CopySources::add_class_infos(const page::PageSource& source, Schema& schema) {
  if (schema.has_class_infos) return;
  ClassNames names;
  for (const FieldDescriptor& field : schema.whole.fields)
    if (schema.wanted[field.id]) names.add(field.type_name);
  if (names.empty()) return;
  std::vector<format::ClassInfo> found =
      source.container().class_infos([&](const std::string& name) { return names.contains(name); });
  schema.has_class_infos = !found.empty();
  dataset::add_class_infos(class_infos_, std::move(found));
}

std::size_t CopySources::find_schema(const page::PageSource& source, std::size_t number) {
  const Descriptor& descriptor = source.descriptor();
  for (std::size_t i = 0; i < schemas_.size(); ++i) {
    const Descriptor& known = schemas_[i].whole;
    if (known.header_fields == descriptor.header_fields &&
        known.header_columns == descriptor.header_columns &&
        known.header_aliases == descriptor.header_aliases &&
        known.feature_flags == descriptor.feature_flags && first_difference(known, descriptor).empty())
      return i;
  }
  Schema& schema = schemas_.emplace_back();
  schema.whole = without_clusters(descriptor);
  schema.first = number;
  want_fields(source, schema);
  return schemas_.size() - 1;
}

void CopySources::want_fields(const page::PageSource& source, Schema& schema) const {
  if (options_.columns.empty() || options_.fields != MergeMode::union_) {
    schema.wanted = select_fields(source, options_.columns);
    return;
  }
  // It is enough if one of the sources has a field.
  std::vector<std::string> there;
  for (const std::string& path : options_.columns) try {
      static_cast<void>(find_fields(source, path));
      there.push_back(path);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::not_found) throw;
      schema.missing.push_back(path);
    }
  schema.wanted =
      there.empty() ? std::vector<bool>(schema.whole.fields.size()) : select_fields(source, there);
}

void CopySources::check_wanted() const {
  for (const std::string& path : options_.columns)
    if (std::all_of(schemas_.begin(), schemas_.end(), [&](const Schema& schema) {
          return std::find(schema.missing.begin(), schema.missing.end(), path) != schema.missing.end();
        }))
      throw Error(ErrorKind::not_found, fmt::format("none of the sources has a field '{}'", path), "",
                  {.uri = sources_.front().place.uri, .field = path});
}

// ---- Making one schema of them

namespace {

std::set<std::string> paths_of(const Descriptor& schema, const std::vector<bool>& wanted) {
  std::set<std::string> paths;
  for (const FieldDescriptor& field : schema.fields)
    if (wanted.empty() || wanted[field.id]) paths.insert(schema.path_of(field.id));
  return paths;
}

}  // namespace

// Only fields that are in all schemas, by their paths, and projected ones whose source is. What is there has
// its fields already: a source that lacks one of them does not fit.
void CopySources::keep_common(const Descriptor* there) {
  std::set<std::string> common =
      there != nullptr ? paths_of(*there, {}) : paths_of(schemas_.front().whole, schemas_.front().wanted);
  if (there == nullptr)
    for (const Schema& schema : schemas_) {
      const std::set<std::string> own = paths_of(schema.whole, schema.wanted);
      std::erase_if(common, [&](const std::string& path) { return !own.contains(path); });
    }
  for (Schema& schema : schemas_) {
    const Descriptor& whole = schema.whole;
    for (const FieldDescriptor& field : whole.fields)
      schema.wanted[field.id] = schema.wanted[field.id] && common.contains(whole.path_of(field.id)) &&
                                (!field.source_field || common.contains(whole.path_of(*field.source_field)));
  }
  if (common.empty())
    throw Error(ErrorKind::schema, "there is no field that all sources have",
                "take those that any has (union)",
                {.uri = sources_.front().place.uri, .data_set = sources_.front().place.data_set});
}

void CopySources::plan(bool keeps_pages, const Descriptor* there, std::uint64_t behind) {
  if (options_.fields == MergeMode::filter) keep_common(there);
  for (Schema& schema : schemas_) {
    const DataSetPlace& place = sources_[schema.first].place;
    with_context({.uri = place.uri, .data_set = place.data_set}, [&] {
      schema.schema = keeps_pages ? schema_of_pages(schema.whole, schema.wanted)
                                  : schema_of_values(schema.whole, schema.wanted);
    });
  }
  if (sources_.size() == 1 && there == nullptr)
    target_ = schemas_.front().schema.descriptor;  // late fields stay late
  else
    merge(there, keeps_pages, behind);
  add_type_infos();
}

void CopySources::merge(const Descriptor* there, bool keeps_pages, std::uint64_t behind) {
  MergedSchemaOptions how{.fields = options_.fields, .keeps_pages = keeps_pages};
  if (there != nullptr) how.behind = behind;
  MergedSchema merged(there != nullptr ? without_clusters(*there) : schemas_.front().schema.descriptor, how);
  for (const Schema& schema : schemas_) {
    const DataSetPlace& place = sources_[schema.first].place;
    with_context({.uri = place.uri, .data_set = place.data_set},
                 [&] { merged.add(schema.schema.descriptor); });
  }
  merged.finish();
  for (const Schema& schema : schemas_) {
    const DataSetPlace& place = sources_[schema.first].place;
    with_context({.uri = place.uri, .data_set = place.data_set},
                 [&] { merged.hold_zeros(schema.schema.descriptor); });
  }
  target_ = merged.schema();
  for (Schema& schema : schemas_) map_schema(merged.map(schema.schema.descriptor), target_, schema.schema);
}

void CopySources::add_type_infos() {
  for (const ExtraTypeInfo& info : type_infos_)
    if (std::none_of(target_.type_infos.begin(), target_.type_infos.end(),
                     [&](const ExtraTypeInfo& other) { return same_info(info, other); }))
      target_.type_infos.push_back(info);
}

bool CopySources::has_late_fields(const CopySource& source) const {
  const Descriptor& whole = schemas_[source.schema].whole;
  return whole.fields.size() > whole.header_fields;
}

std::vector<std::string> CopySources::classes_of_several_versions() const {
  std::map<std::string, const FieldDescriptor*> ours;
  for (const FieldDescriptor& field : target_.fields)
    if (!field.type_name.empty()) ours.emplace(target_.path_of(field.id), &field);
  std::set<std::string> found;
  for (const Schema& schema : schemas_)
    for (const FieldDescriptor& field : schema.whole.fields) {
      if (!schema.wanted[field.id]) continue;
      const auto own = ours.find(schema.whole.path_of(field.id));
      if (own == ours.end()) continue;
      const FieldDescriptor& other = *own->second;
      if (field.type_version != other.type_version || field.type_checksum != other.type_checksum)
        found.insert(other.type_name);
    }
  return {found.begin(), found.end()};
}

// ---- One after the other

page::PageSource& CopySources::open(CopySource& source) {
  if (open_ != &source) {
    if (open_ != nullptr && sources_.size() > most_kept_open) open_->pages.reset();
    open_ = &source;
  }
  if (source.pages) return *source.pages;
  source.pages = open_to_copy(source.place, options_.reading);
  const InputRecord now = describe_input(*source.pages);
  if (now.fingerprint != source.record.fingerprint || now.size != source.record.size)
    throw Error(ErrorKind::io, "the data set has changed while it was being copied", "copy it again",
                {.uri = source.place.uri, .data_set = source.place.data_set});
  return *source.pages;
}

}  // namespace colonnade::dataset
