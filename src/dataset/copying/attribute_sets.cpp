// See attribute_sets.h.
#include "dataset/copying/attribute_sets.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "colonnade/view.h"
#include "dataset/attributes/sets.h"
#include "dataset/copying/merged_schema.h"
#include "dataset/copying/schema.h"
#include "dataset/copying/values.h"
#include "dataset/writing/schema.h"
#include "page/page_copy.h"

namespace colonnade::dataset {
namespace {

CopySchema schema_of(const page::PageSource& source, bool by_pages) {
  std::vector<bool> all = select_fields(source, {});
  return by_pages ? schema_of_pages(source.descriptor(), std::move(all))
                  : schema_of_values(source.descriptor(), std::move(all));
}

void begin(page::DataSetSink& sink, const AttributeSetRecord& record, Descriptor schema) {
  Descriptor& to = sink.descriptor();
  to.name = record.name;
  to.writer = library_name();
  to.description = std::move(schema.description);
  to.feature_flags = schema.feature_flags;
  to.fields = std::move(schema.fields);
  to.columns = std::move(schema.columns);
  to.aliases = std::move(schema.aliases);
  to.type_infos = std::move(schema.type_infos);
  sink.start();
}

std::uint32_t start_column(const page::PageSource& source, const CopySchema& schema) {
  const Descriptor& descriptor = source.descriptor();
  const FieldDescriptor& field = descriptor.fields[descriptor.find_field(range_start_field)];
  return schema.target_of[field.representations[widest_representation(descriptor, field)].front()];
}

std::shared_ptr<page::PageSource> open_set(const page::PageSource& source, const std::string& name) {
  const AttributeSetRecord* const record = find_attribute_set(source.descriptor(), name);
  if (record == nullptr)
    throw Error(ErrorKind::format, fmt::format("there is no attribute set '{}'", name), "copy it again",
                source.context());
  return open_attribute_set(source, *record);
}

// Why nothing can be added to a set that is there; empty: it can.
std::string why_it_ends(const page::PageSource& data_set, const page::PageSource& set) {
  if (set.descriptor().anchor.max_key_size != data_set.descriptor().anchor.max_key_size)
    return "it was written with another limit of the file's keys than the data set";
  return first_difference(schema_of(set, false).descriptor, set.descriptor());
}

}  // namespace

// ---- looking at the sources ----

void AttributeSetCopy::add(const Open& open, std::uint64_t first_entry, std::vector<std::string>& notes,
                           std::string_view but) {
  const std::vector<AttributeSetRecord> records = open().descriptor().attribute_sets;
  for (const AttributeSetRecord& record : records) {
    if (record.name == but) continue;
    try {
      take(open, record, first_entry);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::unsupported && error.kind() != ErrorKind::schema) throw;
      notes.push_back(fmt::format("the attribute set '{}' of {} was left out: {}", record.name, open().uri(),
                                  error.problem()));
    }
  }
}

void AttributeSetCopy::take(const Open& open, const AttributeSetRecord& record, std::uint64_t first_entry) {
  const page::PageSource& source = open();
  const auto part = open_set(source, record.name);
  check_ranges(part, source.descriptor().entries());
  const auto same = std::find_if(sets_.begin(), sets_.end(),
                                 [&](const Set& set) { return set.record.name == record.name; });
  if (same == sets_.end()) {
    Set set = begin(*part, record);
    set.schema = schema_with(set, *part);
    set.parts.push_back({open, first_entry});
    sets_.push_back(std::move(set));
  } else {
    same->schema = schema_with(*same, *part);
    same->parts.push_back({open, first_entry});
  }
}

AttributeSetCopy::Set AttributeSetCopy::begin(const page::PageSource& source,
                                              const AttributeSetRecord& record) const {
  if (there_ != nullptr && find_attribute_set(there_->descriptor(), record.name) != nullptr) {
    const auto there = open_set(*there_, record.name);
    if (const std::string why = why_it_ends(*there_, *there); !why.empty())
      throw Error(ErrorKind::unsupported, "nothing can be added to the existing one: " + why);
    return {.record = *find_attribute_set(there_->descriptor(), record.name),
            .schema = schema_of(*there, false).descriptor,
            .there = there->shared_descriptor()};
  }
  Set set{.record = record, .schema = schema_of(source, false).descriptor};
  const Descriptor& descriptor = source.descriptor();
  set.keeps_pages = descriptor.fields.size() == descriptor.header_fields &&
                    descriptor.columns.size() == descriptor.header_columns;
  for (const ClusterDescriptor& cluster : descriptor.clusters)
    for (const ColumnRange& range : cluster.columns)
      for (const PageDescriptor& page : range.pages)
        set.largest_page = std::max(set.largest_page, page.locator.size);
  return set;
}

// What the set's schema becomes by one more part. Throws ErrorKind::schema if it does not fit.
Descriptor AttributeSetCopy::schema_with(const Set& set, const page::PageSource& part) const {
  MergedSchema merged(set.schema, {.fields = fields_, .keeps_pages = false});
  const Descriptor own = schema_of(part, false).descriptor;
  try {
    merged.add(own);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::schema) throw;
    throw Error(ErrorKind::schema, "its schema differs from that of the earlier sources: " + error.problem());
  }
  merged.finish();
  if (set.there)
    if (const std::string why = first_difference(set.schema, merged.schema()); !why.empty())
      throw Error(ErrorKind::schema, "it cannot be appended to the existing one: " + why);
  return merged.schema();
}

CopySchema AttributeSetCopy::map(const Set& set, const page::PageSource& part) const {
  CopySchema own = schema_of(part, false);
  const MergedSchema merged(set.schema, {.fields = fields_, .keeps_pages = false});
  map_schema(merged.map(own.descriptor), set.schema, own);
  return own;
}

std::size_t AttributeSetCopy::largest_page() const {
  std::uint64_t largest = 1;
  for (const Set& set : sets_)
    if (set.is_copied_by_pages()) largest = std::max(largest, set.largest_page);
  return static_cast<std::size_t>(largest);
}

bool AttributeSetCopy::are_in(const Descriptor& copy) const {
  return std::all_of(sets_.begin(), sets_.end(),
                     [&](const Set& set) { return find_attribute_set(copy, set.record.name) != nullptr; });
}

// ---- writing ----

void AttributeSetCopy::write(page::DataSetSink& sink, std::size_t memory,
                             const std::optional<codec::CompressionSettings>& compression) const {
  for (const Set& set : sets_) {
    const std::shared_ptr<page::DataSetSink> linked = sink.make_linked();
    if (set.is_copied_by_pages())
      write_pages(set, *linked, memory, compression);
    else
      write_values(set, linked, memory);
    sink.link(set.record.name, linked, {});
  }
}

void AttributeSetCopy::write_pages(const Set& set, page::DataSetSink& sink, std::size_t memory,
                                   const std::optional<codec::CompressionSettings>& compression) {
  const auto source = open_set(set.parts.front().open(), set.record.name);
  CopySchema schema = schema_of(*source, true);
  dataset::begin(sink, set.record, std::move(schema.descriptor));
  page::PageCopyCounts counts;
  const page::PageCopyOptions how{.memory = memory,
                                  .add_checksums = sink.options().page_checksums == Checksums::on,
                                  .compression = compression};
  page::copy_pages(*source, 0, schema.target_of, sink, how, counts, [] { return true; });
}

void AttributeSetCopy::write_values(const Set& set, const std::shared_ptr<page::DataSetSink>& sink,
                                    std::size_t memory) const {
  if (set.there)
    sink->resume(*set.there);
  else
    dataset::begin(*sink, set.record, set.schema);
  ValueCopy copy(sink, set.schema, {.memory = memory, .keep_clusters = false});
  for (const SetPart& part : set.parts) {
    const auto source = open_set(part.open(), set.record.name);
    const CopySchema own = map(set, *source);
    copy.set_offset(start_column(*source, own), part.first_entry);
    copy.copy(*source, own, 0, [] { return true; });
  }
  copy.finish();
}

// ---- comparing ----

void AttributeSetCopy::compare(const page::PageSource& copy, std::size_t memory, bool may_have_more) const {
  for (const Set& set : sets_) try {
      const auto there = open_set(copy, set.record.name);
      std::uint64_t row = set.there ? set.there->entries() : 0;
      for (const SetPart& part : set.parts) compare_part(set, part, there, row, memory);
      if (!may_have_more && there->descriptor().entries() != row)
        throw Error(ErrorKind::format, "there are more rows", "copy it again", copy.context());
    } catch (const Error& error) {
      throw Error(error.kind(),
                  fmt::format("the attribute set '{}' of the copy differs from its source: {}",
                              set.record.name, error.problem()),
                  error.advice(), error.context());
    }
}

// Where ranges begin apart from the other columns, as they were moved.
void AttributeSetCopy::compare_part(const Set& set, const SetPart& part,
                                    const std::shared_ptr<page::PageSource>& copy, std::uint64_t& row,
                                    std::size_t memory) const {
  const auto source = open_set(part.open(), set.record.name);
  const std::uint64_t rows = source->descriptor().entries();
  if (copy->descriptor().entries() < row + rows)
    throw Error(ErrorKind::format, "rows are missing", "copy it again", copy->context());
  View<std::uint64_t> expected(source, range_start_field);
  View<std::uint64_t> found(copy, range_start_field);
  for (std::uint64_t i = 0; i < rows; ++i)
    if (found(row + i) != expected(i) + part.first_entry)
      throw Error(ErrorKind::format, fmt::format("row {} begins elsewhere", row + i), "copy it again",
                  copy->context());
  CopySchema own = map(set, *source);
  own.fields[source->descriptor().find_field(range_start_field)] = false;
  std::erase(own.order.top, copy->descriptor().find_field(range_start_field));
  own.is_mapped = true;  // the order says what is compared
  compare_values({*source, own, *copy, 0, row, rows}, memory, [](std::uint64_t) { return true; });
  row += rows;
}

}  // namespace colonnade::dataset
