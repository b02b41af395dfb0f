// From global indices to clusters, and reading many values at once; see colonnade/view.h.
#include "colonnade/view.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "dataset/schema_walk.h"
#include "field/field_tools.h"
#include "page/column_reader.h"
#include "page/page_source.h"

namespace colonnade::detail {

// Readers of the columns that number the values of a field.
struct ViewCore::CountingReaders {
  std::unique_ptr<page::ColumnReader> values;  // a column with `per_value` elements for each value
  std::uint64_t per_value = 1;
  std::unique_ptr<page::ColumnReader> items;  // of a collection: a column of its items
  std::uint64_t per_item = 1;
  std::unique_ptr<page::ColumnReader> ends;  // of a collection: its index column
};

ViewCore::ViewCore(std::shared_ptr<page::PageSource> source, std::string_view path,
                   std::unique_ptr<Field> field, std::optional<std::uint32_t> stored)
    : source_(std::move(source)), field_(std::move(field)), counting_(std::make_unique<CountingReaders>()) {
  const Descriptor& descriptor = source_->descriptor();
  disk_field_ = stored ? *stored : dataset::find_field(*source_, path);
  per_entry_ = dataset::is_per_entry(descriptor, disk_field_);
  const auto open = [&](std::uint32_t id, std::unique_ptr<page::ColumnReader>& reader,
                        std::uint64_t& factor) {
    const auto counter = dataset::counting_column(descriptor, id);
    if (!counter) return;
    factor = counter->per_value;
    reader = std::make_unique<page::ColumnReader>(*source_, counter->columns, counter->element);
  };
  if (!per_entry_) {
    open(disk_field_, counting_->values, counting_->per_value);
    if (!counting_->values)
      throw Error(ErrorKind::unsupported, "the values of a record without members cannot be counted", "",
                  {.uri = source_->uri(), .data_set = source_->data_set(), .field = std::string(path)});
  }
  const FieldDescriptor& disk = descriptor.fields[disk_field_];
  if (disk.role == FieldRole::collection && disk.unreadable.empty() && !disk.representations.empty()) {
    counting_->ends =
        std::make_unique<page::ColumnReader>(*source_, dataset::columns_of(disk, 0), ElementType::index);
    if (!disk.children.empty()) open(disk.children.front(), counting_->items, counting_->per_item);
  }
  if (field_) with_context({.field = std::string(path)}, [&] { field_->connect(*source_, disk_field_); });
}

ViewCore::ViewCore(ViewCore&&) noexcept = default;
ViewCore& ViewCore::operator=(ViewCore&&) noexcept = default;
ViewCore::~ViewCore() = default;

std::uint64_t ViewCore::first_of(std::size_t cluster) {
  if (per_entry_) return source_->descriptor().clusters[cluster].first_entry;
  return counting_->values->first_global(cluster) / counting_->per_value;
}

std::uint64_t ViewCore::count_of(std::size_t cluster) {
  if (per_entry_) return source_->descriptor().clusters[cluster].entries;
  return counting_->values->elements(cluster) / counting_->per_value;
}

std::uint64_t ViewCore::first_item_of(std::size_t cluster) {
  return counting_->items ? counting_->items->first_global(cluster) / counting_->per_item : 0;
}

std::uint64_t ViewCore::size() {
  const std::size_t clusters = source_->descriptor().clusters.size();
  if (clusters == 0) return 0;
  return per_entry_ ? source_->descriptor().entries() : first_of(clusters - 1) + count_of(clusters - 1);
}

void ViewCore::out_of_range(std::uint64_t index) {
  throw Error(ErrorKind::usage, fmt::format("index {} is beyond the {} values of the field", index, size()),
              "",
              {.uri = source_->uri(),
               .data_set = source_->data_set(),
               .field = source_->descriptor().path_of(disk_field_)});
}

void ViewCore::enter(std::size_t cluster) {
  cluster_first_ = first_of(cluster);
  cluster_count_ = count_of(cluster);
  cluster_ = cluster;
}

ClusterIndex ViewCore::locate(std::uint64_t index) {
  if (index - cluster_first_ < cluster_count_) return {cluster_, index - cluster_first_};
  const std::size_t clusters = source_->descriptor().clusters.size();
  // Usually it is the next cluster; else the last one that starts at or before the index.
  if (cluster_ + 1 < clusters) {
    enter(cluster_ + 1);
    if (index - cluster_first_ < cluster_count_) return {cluster_, index - cluster_first_};
  }
  std::size_t low = 0;
  std::size_t high = clusters;
  while (low < high) {
    const std::size_t middle = low + (high - low) / 2;
    if (first_of(middle) <= index) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  // Empty clusters share their first index with the next one.
  while (low > 0) {
    enter(low - 1);
    if (index - cluster_first_ < cluster_count_) return {cluster_, index - cluster_first_};
    if (cluster_count_ > 0) break;
    --low;
  }
  cluster_count_ = 0;
  out_of_range(index);
}

// Adds the position to errors that lack parts of it.
template <class Work>
decltype(auto) ViewCore::placed(Work&& work) {
  try {
    return with_context({}, work);
  } catch (const Error& error) {
    throw error.with({.uri = source_->uri(),
                      .data_set = source_->data_set(),
                      .field = source_->descriptor().path_of(disk_field_)});
  }
}

void ViewCore::check_range(std::uint64_t first, std::uint64_t count) {
  const std::uint64_t all = size();
  if (first > all || count > all - first) out_of_range(first > all ? first : all);
}

void ViewCore::read(std::uint64_t index, void* value) {
  placed([&] { field_->read(locate(index), value); });
}

ViewCore::MappedElements ViewCore::map(std::uint64_t index) {
  const ClusterIndex at = locate(index);
  Field* scalar = field_.get();
  while (scalar->kind() == FieldKind::wrapper) scalar = scalar->children().front().get();
  const auto stretch = placed([&] { return scalar->reader(0).map(at.cluster, at.index); });
  return {stretch.data, cluster_first_ + stretch.first, stretch.count};
}

void ViewCore::read_scalars(std::uint64_t first, std::uint64_t count, void* out) {
  auto* to = static_cast<std::byte*>(out);
  while (count > 0) {
    const ClusterIndex at = locate(first);
    const std::uint64_t step = std::min(count, cluster_count_ - at.index);
    placed([&] { field_->read_many(at, step, to); });
    to += step * field_->value_size();
    first += step;
    count -= step;
  }
}

void ViewCore::read_collections(std::uint64_t first, std::uint64_t count, std::size_t width,
                                std::vector<std::uint64_t>& offsets, std::vector<std::byte>& items) {
  offsets.clear();
  offsets.push_back(0);
  items.clear();
  // Arrays have no column of ends.
  const std::uint64_t each = source_->descriptor().fields[disk_field_].array_size;
  if (!counting_->ends && each == 0)
    throw Error(ErrorKind::usage,
                "bulk() of collections needs a field that is stored as a collection or an array", "",
                {.uri = source_->uri(), .field = source_->descriptor().path_of(disk_field_)});
  Field& item = *field_->children().front();
  std::vector<std::uint64_t> ends;
  while (count > 0) {
    const ClusterIndex at = locate(first);
    const std::uint64_t step = std::min(count, cluster_count_ - at.index);
    std::uint64_t begin = 0;
    ends.resize(step);
    if (counting_->ends) {
      if (at.index > 0) begin = counting_->ends->at<std::uint64_t>(at.cluster, at.index - 1);
      counting_->ends->read(at.cluster, at.index, step, ends.data());
    } else {
      begin = field::first_part(at.index, each);
      for (std::uint64_t k = 0; k < step; ++k) ends[k] = begin + (k + 1) * each;
    }
    dataset::check_ends(*source_, disk_field_, at.cluster, begin, ends, item.reader(0).elements(at.cluster));
    const std::uint64_t base = offsets.back();
    for (const std::uint64_t end : ends) offsets.push_back(base + end - begin);
    const std::uint64_t added = ends.back() - begin;
    items.resize(items.size() + added * width);
    placed([&] { item.read_many({at.cluster, begin}, added, items.data() + base * width); });
    first += step;
    count -= step;
  }
}

IndexRange ViewCore::collection(std::uint64_t index) {
  if (!counting_->ends)
    throw Error(ErrorKind::type, "the field is not a collection", "",
                {.uri = source_->uri(), .field = source_->descriptor().path_of(disk_field_)});
  const ClusterIndex at = locate(index);
  const auto range = counting_->ends->collection(at.cluster, at.index);
  const std::uint64_t base = first_item_of(at.cluster);
  return {base + range.begin, base + range.end};
}

}  // namespace colonnade::detail

namespace colonnade {

View<void>::View(std::shared_ptr<page::PageSource> source, std::string_view path,
                 std::unique_ptr<Field> field, std::optional<std::uint32_t> stored)
    : core_(std::move(source), path, std::move(field), stored), value_(core_.field().make_value()) {}

void View<void>::check_type(const Field& type) const {
  const Field& own = core_.field();
  if (own.type_name() == type.type_name() && own.is_native() &&
      field::hidden_layout(own) == field::hidden_layout(type))
    return;
  throw Error(ErrorKind::type,
              fmt::format("the view is of type {}, not {}", own.type_name(), type.type_name()), "",
              {.field = own.name()});
}

CollectionView::CollectionView(std::shared_ptr<page::PageSource> source, std::string_view path,
                               std::optional<std::uint32_t> stored)
    : core_(std::move(source), path, nullptr, stored) {}

}  // namespace colonnade
