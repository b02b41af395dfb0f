// Opening attribute sets, and finding rows by their ranges; see sets.h and colonnade/attributes.h.
#include "dataset/attributes/sets.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "colonnade/attributes.h"
#include "dataset/nearest.h"
#include "dataset/reading/open_source.h"
#include "dataset/writing/schema.h"

namespace colonnade {
namespace dataset {
namespace {

[[noreturn]] void fail_schema(std::string problem) {
  throw Error(ErrorKind::format, fmt::format("this is not an attribute set: {}", problem),
              "ask whoever wrote it; the data set itself can be read");
}

// A deferred column would imply rows without stored data, so their number would be unlimited.
void check_range_field(const Descriptor& descriptor, const FieldDescriptor& field) {
  const bool is_number = field.role == FieldRole::leaf && field.type_name == "std::uint64_t" &&
                         field.array_size == 0 && !field.source_field && field.unreadable.empty() &&
                         !field.representations.empty();
  if (!is_number) fail_schema(fmt::format("its field '{}' is not a std::uint64_t", field.name));
  for (const ColumnIds& group : field.representations)
    for (const std::uint32_t column : group)
      if (descriptor.columns[column].deferred)
        fail_schema(fmt::format("its field '{}' was added late", field.name));
}

// Later minor versions append fields.
void check_schema(const Descriptor& descriptor, const AttributeSetRecord& record) {
  constexpr std::array names{range_start_field, range_length_field, user_data_field};
  const std::vector<std::uint32_t> fields = descriptor.top_level_fields();
  if (fields.size() < names.size() || (record.schema_minor == 0 && fields.size() > names.size()))
    fail_schema(fmt::format("it has {} fields at the top, and schema {}.{} has {}", fields.size(),
                            record.schema_major, record.schema_minor, names.size()));
  for (std::size_t i = 0; i < names.size(); ++i)
    if (const std::string& found = descriptor.fields[fields[i]].name; found != names[i])
      fail_schema(fmt::format("its field {} is '{}', not '{}'", i + 1, found, names[i]));
  check_range_field(descriptor, descriptor.fields[fields[0]]);
  check_range_field(descriptor, descriptor.fields[fields[1]]);
  const FieldDescriptor& values = descriptor.fields[fields[2]];
  if (values.role != FieldRole::record || values.array_size != 0)
    fail_schema(fmt::format("its field '{}' is not a record", values.name));
  if (!descriptor.attribute_sets.empty()) fail_schema("it has attribute sets itself");
}

template <class Fits>
std::vector<std::uint64_t> find_rows(const IndexRange& rows, const RangeOf& range_of, Fits&& fits) {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> found;  // first entry of the range, row
  for (const std::uint64_t row : rows)
    if (const IndexRange of = range_of(row); of.size() > 0 && fits(of)) found.emplace_back(of.first(), row);
  std::sort(found.begin(), found.end());
  std::vector<std::uint64_t> result;
  result.reserve(found.size());
  for (const auto& [first, row] : found) result.push_back(row);
  return result;
}

}  // namespace

std::vector<std::uint64_t> rows_covering(const IndexRange& rows, const RangeOf& range_of,
                                         const IndexRange& entries) {
  if (entries.first() >= entries.last()) return {};
  return find_rows(rows, range_of, [&](const IndexRange& of) {
    return of.first() <= entries.first() && entries.last() <= of.last();
  });
}

std::vector<std::uint64_t> rows_within(const IndexRange& rows, const RangeOf& range_of,
                                       const IndexRange& entries) {
  return find_rows(rows, range_of, [&](const IndexRange& of) {
    return entries.first() <= of.first() && of.last() <= entries.last();
  });
}

const AttributeSetRecord* find_attribute_set(const Descriptor& descriptor, std::string_view name) {
  const AttributeSetRecord* found = nullptr;
  for (const AttributeSetRecord& record : descriptor.attribute_sets) {
    if (record.name != name) continue;
    if (found != nullptr)
      throw Error(ErrorKind::format, fmt::format("there are several attribute sets '{}'", name));
    found = &record;
  }
  return found;
}

std::shared_ptr<page::PageSource> open_attribute_set(const page::PageSource& data_set,
                                                     const AttributeSetRecord& record) {
  // Many links to one set could take unlimited time; valid sets do not overlap.
  for (const AttributeSetRecord& other : data_set.descriptor().attribute_sets)
    if (&other != &record && other.name != record.name && other.anchor == record.anchor)
      throw Error(
          ErrorKind::format,
          fmt::format("the attribute sets '{}' and '{}' are at the same place", record.name, other.name),
          "check that the file was transferred completely", data_set.context());
  std::shared_ptr<page::PageSource> source = data_set.open_attribute_set(record);
  with_context(source->context(), [&] { check_schema(source->descriptor(), record); });
  if (const auto reasons = unknown_types(source->descriptor()); !reasons.empty())
    source->mark_unreadable(reasons);
  return source;
}

IndexRange checked_range(const page::PageSource& set, std::uint64_t row, std::uint64_t first,
                         std::uint64_t count, std::uint64_t entries) {
  if (first > entries || count > entries - first)
    throw Error(ErrorKind::format,
                fmt::format("row {} is about {} entries from {} on, but the data set has {}", row, count,
                            first, entries),
                "ask whoever wrote the file", set.context());
  return {first, first + count};
}

void check_ranges(const std::shared_ptr<page::PageSource>& set, std::uint64_t entries) {
  View<std::uint64_t> starts(set, range_start_field);
  View<std::uint64_t> lengths(set, range_length_field);
  for (std::uint64_t row = 0; row < set->descriptor().entries(); ++row)
    checked_range(*set, row, starts(row), lengths(row), entries);
}

std::vector<std::string> user_fields(const Descriptor& descriptor) {
  std::vector<std::string> names;
  const std::uint32_t values = descriptor.find_field(user_data_field);
  if (values == invalid_id) return names;  // a chain whose files have no common fields
  for (const std::uint32_t id : descriptor.fields[values].children)
    names.push_back(descriptor.fields[id].name);
  return names;
}

// The text between may not begin with {: pairs are printed in brackets.
std::string without_user_data(const std::string& text) {
  const std::size_t begin = fmt::formatted_size("{{\"{}\": ", user_data_field);
  return text.substr(begin, text.size() - begin - 1);
}

void check_attribute_set_name(std::string_view name) {
  if (!is_allowed_name(name) || name.starts_with("__"))
    throw Error(
        ErrorKind::usage, fmt::format("'{}' is not a valid name for an attribute set", name),
        "a name without spaces, control characters, '.', '/' and '\\', that does not begin with '__'");
}

}  // namespace dataset

// ---- Reading

std::vector<std::string> Reader::attribute_sets() const {
  std::vector<std::string> names;
  for (const AttributeSetRecord& record : descriptor().attribute_sets) names.push_back(record.name);
  return names;
}

std::unique_ptr<AttributeSet> Reader::attribute_set(std::string_view name) {
  return with_context(source_->context(), [&] {
    const AttributeSetRecord* record = dataset::find_attribute_set(descriptor(), name);
    if (record == nullptr)
      throw Error(ErrorKind::not_found, fmt::format("there is no attribute set '{}'", name),
                  dataset::did_you_mean(name, attribute_sets()));
    std::unique_ptr<Reader> reader(new Reader(dataset::open_attribute_set(*source_, *record)));
    return std::unique_ptr<AttributeSet>(
        new AttributeSet(std::string(name), std::move(reader), num_entries()));
  });
}

AttributeSet::AttributeSet(std::string name, std::unique_ptr<Reader> reader, std::uint64_t entries)
    : name_(std::move(name)),
      reader_(std::move(reader)),
      entries_(entries),
      starts_(reader_->view<std::uint64_t>(dataset::range_start_field)),
      lengths_(reader_->view<std::uint64_t>(dataset::range_length_field)) {}

AttributeSet::~AttributeSet() = default;

std::string AttributeSet::path_of(std::string_view field) {
  return fmt::format("{}.{}", dataset::user_data_field, field);
}

std::vector<std::string> AttributeSet::field_names() const {
  return dataset::user_fields(reader_->descriptor());
}

IndexRange AttributeSet::range(std::uint64_t row) {
  return dataset::checked_range(*reader_->source_, row, starts_(row), lengths_(row), entries_);
}

std::vector<std::uint64_t> AttributeSet::of_entry(std::uint64_t entry) {
  return covering({entry, entry + 1});
}

std::vector<std::uint64_t> AttributeSet::covering(const IndexRange& entries) {
  return dataset::rows_covering(rows(), [this](std::uint64_t row) { return range(row); }, entries);
}

std::vector<std::uint64_t> AttributeSet::within(const IndexRange& entries) {
  return dataset::rows_within(rows(), [this](std::uint64_t row) { return range(row); }, entries);
}

std::string AttributeSet::row_text(std::uint64_t row) {
  if (field_names().empty()) return "{}";
  const std::string path(dataset::user_data_field);
  return dataset::without_user_data(reader_->entry_text(row, std::span(&path, 1)));
}

}  // namespace colonnade
