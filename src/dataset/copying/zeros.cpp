// See zeros.h.
#include "dataset/copying/zeros.h"

#include <algorithm>
#include <map>
#include <utility>

#include "dataset/schema_walk.h"
#include "page/column_reader.h"

namespace colonnade::dataset {

CopyZeros::CopyZeros(const page::PageSource& source, const CopySchema& schema)
    : source_(source.open_again(source.options())), schema_(schema) {
  const Descriptor& descriptor = source.descriptor();
  for (const FieldDescriptor& field : descriptor.fields) {
    if (!schema.fields[field.id] || field.source_field || field.representations.empty()) continue;
    for (const ColumnIds& group : field.representations)
      if (std::any_of(group.begin(), group.end(), [&](std::uint32_t id) {
            return id >= descriptor.header_columns || descriptor.columns[id].deferred;
          })) {
        late_.push_back(field.id);
        break;
      }
  }
}

std::vector<page::FilledColumn> CopyZeros::of_cluster(std::size_t cluster) {
  std::vector<page::FilledColumn> filled;
  std::map<std::uint32_t, std::uint64_t> values;  // below a field
  for (const ZeroColumn& zeros : schema_.zeros) {
    std::uint64_t count = 0;
    if (zeros.factor > 0) {
      const auto [found, is_new] = values.try_emplace(zeros.parent);
      if (is_new) found->second = values_below(zeros.parent, cluster);
      count = found->second * zeros.factor;
    }
    filled.push_back({zeros.column, count});
  }
  for (const std::uint32_t id : late_) add_late(cluster, source_->descriptor().fields[id], filled);
  return filled;
}

// Before a late field has begun its first representation is the one that is there, with zeros.
void CopyZeros::add_late(std::size_t cluster, const FieldDescriptor& field,
                         std::vector<page::FilledColumn>& into) const {
  const Descriptor& descriptor = source_->descriptor();
  const std::vector<ColumnRange>& ranges = descriptor.clusters[cluster].columns;
  const ColumnIds* active = nullptr;
  bool is_there = false;
  for (const ColumnIds& group : field.representations)
    if (!group.empty() && group.front() < ranges.size() && !ranges[group.front()].suppressed) {
      active = &group;
      is_there = true;
    }
  for (const ColumnIds& group : field.representations)
    if (active == nullptr && !descriptor.columns[group.front()].deferred_suppressed) active = &group;
  if (active == nullptr) return;
  for (std::size_t k = 0; k < active->size(); ++k) {
    const std::uint32_t column = (*active)[k];
    const std::uint64_t zeros = k == 0 ? source_->extent(column, cluster).leading_zeros : 0;
    if (!is_there || zeros > 0) into.push_back({schema_.target_of[column], zeros});
  }
}

std::uint64_t CopyZeros::values_of(std::uint32_t id, std::size_t cluster) {
  const FieldDescriptor& field = source_->descriptor().fields[id];
  const std::uint64_t factor = std::max<std::uint64_t>(field.array_size, 1);
  if (field.parent == id) return source_->descriptor().clusters[cluster].entries * factor;
  const FieldDescriptor& parent = source_->descriptor().fields[field.parent];
  return factor * (parent.role == FieldRole::variant ? values_of_alternative(parent, id, cluster)
                                                     : values_below(parent.id, cluster));
}

std::uint64_t CopyZeros::values_of_alternative(const FieldDescriptor& variant, std::uint32_t id,
                                               std::size_t cluster) {
  const auto place = std::find(variant.children.begin(), variant.children.end(), id);
  const auto tag = static_cast<std::uint32_t>(place - variant.children.begin()) + 1;
  page::ColumnReader switches(*source_, columns_of(variant, 0), ElementType::switch_);
  const std::uint64_t all = values_of(variant.id, cluster);
  if (all > switches.elements(cluster))
    fail(variant.id, cluster, "the variant has fewer values than its place asks for");
  std::uint64_t values = 0;
  for (std::uint64_t i = 0; i < all; ++i)
    if (switches.at<SwitchElement>(cluster, i).tag == tag) ++values;
  return values;
}

std::uint64_t CopyZeros::values_below(std::uint32_t id, std::size_t cluster) {
  if (id == invalid_id) return source_->descriptor().clusters[cluster].entries;
  const FieldDescriptor& field = source_->descriptor().fields[id];
  const std::uint64_t values = values_of(id, cluster);
  if (field.role != FieldRole::collection || values == 0) return values;
  page::ColumnReader ends(*source_, columns_of(field, 0), ElementType::index);
  if (values > ends.elements(cluster))
    fail(id, cluster, "the collection has fewer values than its place asks for");
  const std::uint64_t items = ends.at<std::uint64_t>(cluster, values - 1);
  check_items(field, cluster, items);
  return items;
}

void CopyZeros::fail(std::uint32_t field, std::size_t cluster, const char* problem) const {
  ErrorContext where = source_->context();
  where.field = source_->descriptor().path_of(field);
  where.cluster = cluster;
  throw Error(ErrorKind::format, problem, "", std::move(where));
}

// Before as many zeros are made.
void CopyZeros::check_items(const FieldDescriptor& collection, std::size_t cluster,
                            std::uint64_t items) const {
  constexpr std::uint64_t most_uncounted = std::uint64_t{1} << 34;
  const auto counting = counting_column(source_->descriptor(), collection.children.front());
  if (!counting) {
    if (items > most_uncounted) fail(collection.id, cluster, "the collection claims more items than can be");
    return;
  }
  page::ColumnReader counted(*source_, counting->columns, counting->element);
  if (counted.elements(cluster) / std::max<std::uint64_t>(counting->per_value, 1) < items)
    fail(collection.id, cluster, "the collection claims more items than there are");
}

}  // namespace colonnade::dataset
