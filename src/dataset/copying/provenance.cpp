// See provenance.h.
#include "dataset/copying/provenance.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "base/bytes.h"
#include "base/redacted.h"
#include "colonnade/error.h"
#include "container/linked.h"
#include "format/tfile_anchor.h"
#include "io/places.h"
#include "page/column_reader.h"
#include "page/page_sink.h"

namespace colonnade::dataset {
namespace {

constexpr std::array strings = {"uri", "data_set", "version"};
constexpr std::array numbers = {"size", "fingerprint", "clusters", "depth"};

// ---- The schema

class Schema {
 public:
  explicit Schema(Descriptor& to) : to_(to) {
    add("_rangeStart", "std::uint64_t", invalid_id);
    add("_rangeLen", "std::uint64_t", invalid_id);
    const std::uint32_t record = add("_userData", "", invalid_id);
    for (const char* name : strings) add(name, "std::string", record);
    for (const char* name : numbers) add(name, "std::uint64_t", record);
  }

 private:
  std::uint32_t add(const char* name, const std::string& type, std::uint32_t parent) {
    FieldDescriptor field;
    field.id = static_cast<std::uint32_t>(to_.fields.size());
    field.parent = parent == invalid_id ? field.id : parent;
    field.name = name;
    field.type_name = type;
    field.role = type.empty() ? FieldRole::record : FieldRole::leaf;
    field.raw_role = static_cast<std::uint16_t>(field.role);
    ColumnIds columns;
    if (type == "std::uint64_t") columns.push_back(column(field.id, ColumnType::split_uint64, 64));
    if (type == "std::string") {
      columns.push_back(column(field.id, ColumnType::split_index64, 64));
      columns.push_back(column(field.id, ColumnType::character, 8));
    }
    if (!columns.empty()) field.representations.push_back(columns);
    if (parent != invalid_id) to_.fields[parent].children.push_back(field.id);
    to_.fields.push_back(field);
    return field.id;
  }
  std::uint32_t column(std::uint32_t field, ColumnType type, std::uint16_t bits) {
    ColumnDescriptor column;
    column.id = static_cast<std::uint32_t>(to_.columns.size());
    column.field = field;
    column.raw_type = static_cast<std::uint16_t>(type);
    column.encoding = {.type = type, .bits = bits};
    to_.columns.push_back(column);
    return column.id;
  }
  Descriptor& to_;
};

const std::string& text_of(const InputRecord& input, std::size_t which) {
  return which == 0 ? input.uri : which == 1 ? input.data_set : input.version;
}

std::uint64_t number_of(const InputRecord& input, std::size_t which) {
  return std::array{input.size, input.fingerprint, input.clusters, input.depth}.at(which);
}

void set(InputRecord& input, const std::string& member, std::uint64_t value) {
  if (member == "_rangeStart") input.first_entry = value;
  if (member == "_rangeLen") input.entries = value;
  if (member == "_userData.size") input.size = value;
  if (member == "_userData.fingerprint") input.fingerprint = value;
  if (member == "_userData.clusters") input.clusters = value;
  if (member == "_userData.depth") input.depth = value;
}

void set(InputRecord& input, const std::string& member, const std::string& value) {
  if (member == "_userData.uri") input.uri = value;
  if (member == "_userData.data_set") input.data_set = value;
  if (member == "_userData.version") input.version = value;
}

void read_member(page::PageSource& source, const FieldDescriptor& field, std::size_t cluster,
                 std::span<InputRecord> into) {
  const std::string path = source.descriptor().path_of(field.id);
  const ColumnIds& columns = field.representations.front();
  page::ColumnReader first(source, {columns.front()},
                           columns.size() == 1 ? ElementType::uint64 : ElementType::index);
  if (columns.size() == 1) {
    for (std::size_t i = 0; i < into.size(); ++i) set(into[i], path, first.at<std::uint64_t>(cluster, i));
    return;
  }
  page::ColumnReader characters(source, {columns[1]}, ElementType::character);
  for (std::size_t i = 0; i < into.size(); ++i) {
    const page::ColumnReader::Range range = first.collection(cluster, i);
    if (range.end < range.begin || range.end > characters.elements(cluster))
      throw Error(ErrorKind::format, "a text ends beyond the end of the data");
    std::string value(static_cast<std::size_t>(range.end - range.begin), '\0');
    characters.read(cluster, range.begin, value.size(), value.data());
    set(into[i], path, value);
  }
}

// The version of a local file is "inode-modified-changed", see LocalFile. The last part changes with
// permissions and links, the first one with the device; it is 0 where files have no number that lasts.
std::string_view inode_and_modified(const InputRecord& input) {
  const std::string_view version = input.version;
  return io::is_local_file(input.uri) ? version.substr(0, version.rfind('-')) : version;
}

std::string_view modified(const InputRecord& input) {
  const std::string_view version = inode_and_modified(input);
  return io::is_local_file(input.uri) ? version.substr(version.find('-') + 1) : version;
}

}  // namespace

bool is_unchanged(const InputRecord& before, const InputRecord& now) {
  return before.size == now.size && before.fingerprint == now.fingerprint &&
         modified(before) == modified(now);
}

const InputRecord* find_input(const std::vector<InputRecord>& inputs, const InputRecord& input) {
  const auto find = [&](const auto& is_it) -> const InputRecord* {
    for (const InputRecord& each : inputs)
      if (each.depth == 0 && each.data_set == input.data_set && is_it(each)) return &each;
    return nullptr;
  };
  if (const auto* named = find([&](const InputRecord& each) { return redacted(each.uri) == input.uri; }))
    return named;
  return find([&](const InputRecord& each) {
    return io::is_local_file(each.uri) && io::is_local_file(input.uri) && is_unchanged(each, input) &&
           inode_and_modified(each) == inode_and_modified(input) && !input.version.starts_with("0-");
  });
}

InputRecord describe_input(const page::PageSource& source) {
  const Descriptor& descriptor = source.descriptor();
  const Bytes anchor = format::write_anchor(descriptor.anchor);
  const std::uint64_t sums[] = {codec::xxh3(anchor), descriptor.header_checksum, descriptor.entries(),
                                descriptor.clusters.size()};
  return {.entries = descriptor.entries(),
          .uri = source.uri(),
          .data_set = source.data_set(),
          .version = source.file().version(),
          .size = source.file().size(),
          .fingerprint = codec::xxh3(std::as_bytes(std::span(sums))),
          .clusters = descriptor.clusters.size()};
}

std::vector<InputRecord> read_provenance(const page::PageSource& source) {
  const Descriptor& descriptor = source.descriptor();
  const auto found = std::find_if(descriptor.attribute_sets.begin(), descriptor.attribute_sets.end(),
                                  [](const AttributeSetRecord& set) { return set.name == provenance_name; });
  if (found == descriptor.attribute_sets.end()) return {};
  return with_context(source.context(), [&] {
    const auto rows = source.open_attribute_set(*found);
    std::vector<InputRecord> inputs;
    for (std::size_t c = 0; c < rows->descriptor().clusters.size(); ++c) {
      const auto count = static_cast<std::size_t>(rows->descriptor().clusters[c].entries);
      inputs.resize(inputs.size() + count);
      for (const FieldDescriptor& field : rows->descriptor().fields)
        if (field.unreadable.empty() && !field.representations.empty() &&
            !field.representations.front().empty())
          read_member(*rows, field, c, std::span(inputs).last(count));
    }
    return inputs;
  });
}

AttributeSetRecord write_provenance(container::WriteContainer& container, const WriteOptions& options,
                                    const std::string& writer, const std::vector<InputRecord>& inputs) {
  AttributeSetRecord record{.schema_major = 1, .schema_minor = 0, .name = provenance_name};
  WriteOptions own = options;
  own.parallel_sealing = false;
  auto linked = std::make_unique<container::LinkedWriter>(container);
  const container::LinkedWriter& written = *linked;
  page::PageSink sink(std::move(linked), own);
  Descriptor& to = sink.descriptor();
  to.name = provenance_name;
  to.writer = writer;
  const Schema schema(to);
  sink.start();
  std::vector<page::ColumnWriter*> columns;
  for (const ColumnDescriptor& column : to.columns)
    columns.push_back(&sink.add_column(column.id, natural_element(column.encoding.type)));
  std::array<std::uint64_t, strings.size()> ends{};
  for (const InputRecord& input : inputs) {
    columns[0]->append(input.first_entry);
    columns[1]->append(input.entries);
    for (std::size_t i = 0; i < strings.size(); ++i) {
      const std::string& value = text_of(input, i);
      columns[2 + 2 * i]->append(ends[i] += value.size());
      columns[3 + 2 * i]->append(value.data(), value.size());
    }
    for (std::size_t i = 0; i < numbers.size(); ++i)
      columns[2 + 2 * strings.size() + i]->append(number_of(input, i));
  }
  sink.flush_columns();
  sink.commit_cluster(inputs.size());
  sink.close();
  record.anchor = written.link()->anchor;
  record.anchor_length = written.link()->length;
  return record;
}

}  // namespace colonnade::dataset
