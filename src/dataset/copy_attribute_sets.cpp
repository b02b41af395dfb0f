// See copy_attribute_sets.h.
#include "dataset/copy_attribute_sets.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "colonnade/view.h"
#include "dataset/attribute_sets.h"
#include "dataset/copy_schema.h"
#include "dataset/copy_values.h"
#include "dataset/writer_schema.h"
#include "field/field_tools.h"
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

// One side of a comparison.
class Rows {
 public:
  explicit Rows(const std::shared_ptr<page::PageSource>& source)
      : starts_(source, range_start_field), lengths_(source, range_length_field) {
    const Descriptor& descriptor = source->descriptor();
    const std::uint32_t values = descriptor.find_field(user_data_field);
    if (!descriptor.fields[values].children.empty())
      values_.emplace(source, user_data_field, make_field(descriptor, values));
  }

  std::uint64_t start(std::uint64_t row) { return starts_(row); }
  std::uint64_t length(std::uint64_t row) { return lengths_(row); }
  std::string text(std::uint64_t row) { return values_ ? values_->text(row) : std::string(); }

 private:
  View<std::uint64_t> starts_;
  View<std::uint64_t> lengths_;
  std::optional<View<void>> values_;
};

}  // namespace

void AttributeSetCopy::add(const page::PageSource& source, std::uint64_t first_entry,
                           std::vector<std::string>& notes, std::string_view but) {
  for (const AttributeSetRecord& record : source.descriptor().attribute_sets) {
    if (record.name == but) continue;
    const auto leave_out = [&](const std::string& why) {
      notes.push_back(
          fmt::format("the attribute set '{}' of {} was left out: {}", record.name, source.uri(), why));
    };
    try {
      static_cast<void>(find_attribute_set(source.descriptor(), record.name));
      Part part{open_attribute_set(source, record), first_entry};
      const CopySchema schema = schema_of(*part.source, false);
      check_ranges(part.source, source.descriptor().entries());
      const auto same = std::find_if(sets_.begin(), sets_.end(),
                                     [&](const Set& set) { return set.record.name == record.name; });
      if (same == sets_.end()) {
        sets_.push_back({record, {std::move(part)}});
        continue;
      }
      const CopySchema first = schema_of(*same->parts.front().source, false);
      const std::string why = first_difference(first.descriptor, schema.descriptor);
      why.empty() ? same->parts.push_back(std::move(part))
                  : leave_out("it has another schema than that of the sources before: " + why);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::unsupported) throw;
      leave_out(error.problem());
    }
  }
}

bool AttributeSetCopy::is_copied_by_pages(const Set& set) {
  const Part& first = set.parts.front();
  const Descriptor& descriptor = first.source->descriptor();
  return set.parts.size() == 1 && first.first_entry == 0 &&
         descriptor.fields.size() == descriptor.header_fields &&
         descriptor.columns.size() == descriptor.header_columns;
}

std::size_t AttributeSetCopy::largest_page() const {
  std::size_t largest = 1;
  for (const Set& set : sets_)
    for (const ClusterDescriptor& cluster : set.parts.front().source->descriptor().clusters)
      for (const ColumnRange& range : cluster.columns)
        for (const PageDescriptor& page : range.pages)
          if (is_copied_by_pages(set))
            largest = std::max(largest, static_cast<std::size_t>(page.locator.size));
  return largest;
}

bool AttributeSetCopy::are_in(const Descriptor& copy) const {
  return std::all_of(sets_.begin(), sets_.end(),
                     [&](const Set& set) { return find_attribute_set(copy, set.record.name) != nullptr; });
}

void AttributeSetCopy::write(page::DataSetSink& sink, std::size_t memory,
                             const std::optional<codec::CompressionSettings>& compression) const {
  for (const Set& set : sets_) {
    const std::shared_ptr<page::DataSetSink> linked = sink.make_linked();
    if (is_copied_by_pages(set))
      write_pages(set, *linked, memory, compression);
    else
      write_values(set, linked, memory);
    sink.link(set.record.name, linked, [] {});
  }
}

void AttributeSetCopy::write_pages(const Set& set, page::DataSetSink& sink, std::size_t memory,
                                   const std::optional<codec::CompressionSettings>& compression) {
  const page::PageSource& source = *set.parts.front().source;
  CopySchema schema = schema_of(source, true);
  begin(sink, set.record, std::move(schema.descriptor));
  page::PageCopyCounts counts;
  const page::PageCopyOptions how{.memory = memory,
                                  .add_checksums = sink.options().page_checksums == Checksums::on,
                                  .compression = compression};
  page::copy_pages(source, 0, schema.target_of, sink, how, counts, [] { return true; });
}

void AttributeSetCopy::write_values(const Set& set, const std::shared_ptr<page::DataSetSink>& sink,
                                    std::size_t memory) {
  CopySchema first = schema_of(*set.parts.front().source, false);
  const Descriptor schema = first.descriptor;
  begin(*sink, set.record, std::move(first.descriptor));
  ValueCopy copy(sink, schema, {.memory = memory});
  for (const Part& part : set.parts) {
    const CopySchema own = schema_of(*part.source, false);
    copy.set_offset(start_column(*part.source, own), part.first_entry);
    copy.copy(*part.source, own, 0, [] { return true; });
  }
  copy.finish();
}

void AttributeSetCopy::compare(const page::PageSource& copy) const {
  const auto differ = [&](const Set& set, const std::string& how) {
    throw Error(
        ErrorKind::format,
        fmt::format("the attribute set '{}' of the copy differs from its source: {}", set.record.name, how),
        "copy it again", copy.context());
  };
  for (const Set& set : sets_) {
    const AttributeSetRecord* record = find_attribute_set(copy.descriptor(), set.record.name);
    if (record == nullptr) differ(set, "it is missing");
    const std::shared_ptr<page::PageSource> there = open_attribute_set(copy, *record);
    Rows found(there);
    std::uint64_t row = 0;
    for (const Part& part : set.parts) {
      Rows expected(part.source);
      const std::uint64_t rows = part.source->descriptor().entries();
      if (there->descriptor().entries() < row + rows) differ(set, "rows are missing");
      for (std::uint64_t i = 0; i < rows; ++i, ++row)
        if (found.start(row) != expected.start(i) + part.first_entry ||
            found.length(row) != expected.length(i) || found.text(row) != expected.text(i))
          differ(set, fmt::format("row {} is another", row));
    }
    if (there->descriptor().entries() != row) differ(set, "there are more rows");
  }
}

}  // namespace colonnade::dataset
