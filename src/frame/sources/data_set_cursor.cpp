// See data_set_cursor.h.
#include "frame/sources/data_set_cursor.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <tuple>
#include <utility>

#include "colonnade/error.h"
#include "dataset/schema_walk.h"

namespace colonnade::frame {
namespace {

using Kind = ColumnShape::Kind;

// The number of cached sets of rows per block, and of cached lists per column.
constexpr std::size_t most_remembered = 16;
// No cluster has more; their sums cannot overflow.
constexpr std::uint64_t most_items = std::uint64_t{1} << 62;

}  // namespace

DataSetCursor::DataSetCursor(std::unique_ptr<page::PageSource> source, std::shared_ptr<BorderPages> borders)
    : source_(std::move(source)), borders_(std::move(borders)) {}
DataSetCursor::~DataSetCursor() = default;

void DataSetCursor::start(const PartEnds& part, bool goes_on) {
  part_ = part;
  const auto tell = [&](PageReader& reader) { goes_on ? reader.go_on_to(part) : reader.jump_to(part); };
  for (auto& [key, reader] : pages_) tell(*reader);
  for (auto& [key, reader] : ends_) tell(*reader->pages);
}

void DataSetCursor::expect(const ColumnShape& shape, bool is_certain) {
  const auto expect_column = [&](const std::vector<std::uint32_t>& columns, ElementType element) {
    source_->pool().expect(columns, element, PageReader::form_of(element), is_certain);
  };
  if (shape.kind == Kind::scalar || shape.kind == Kind::variant)
    expect_column(shape.stored.columns, shape.stored.element);
  if (shape.kind == Kind::text || shape.kind == Kind::list || shape.kind == Kind::count)
    expect_column(shape.stored.columns, ElementType::index);
  if (shape.kind == Kind::text) expect_column(shape.characters.columns, shape.characters.element);
  for (const ColumnShape& child : shape.children) expect(child, is_certain);
}

// ---- Readers

PageReader& DataSetCursor::pages_of(const ColumnShape::StoredColumn& stored) {
  auto& reader = pages_[{stored.columns, stored.element}];
  if (!reader) {
    reader = std::make_unique<PageReader>(*source_, borders_.get(), stored.columns, stored.element);
    reader->jump_to(part_);
  }
  return *reader;
}

DataSetCursor::EndsReader& DataSetCursor::ends_of(const ColumnShape& shape) {
  auto& reader = ends_[shape.stored.columns];
  if (!reader) {
    reader = std::make_unique<EndsReader>();
    reader->field = shape.field;
    reader->pages =
        std::make_unique<PageReader>(*source_, borders_.get(), shape.stored.columns, ElementType::index);
    reader->pages->jump_to(part_);
  }
  if (reader->items == nullptr && shape.items) {
    reader->items = &pages_of(*shape.items);
    reader->items_per_value = shape.items->per_value;
  }
  return *reader;
}

DataSetCursor::Bound DataSetCursor::bind(const ColumnShape& shape) {
  Bound bound;
  bound.shape = &shape;
  if (shape.kind == Kind::scalar || shape.kind == Kind::variant) bound.pages = &pages_of(shape.stored);
  if (shape.kind == Kind::text) bound.pages = &pages_of(shape.characters);
  if (shape.kind == Kind::text || shape.kind == Kind::list || shape.kind == Kind::count)
    bound.ends = &ends_of(shape);
  for (const ColumnShape& child : shape.children) bound.children.push_back(bind(child));
  return bound;
}

// ---- Rows

void DataSetCursor::begin_block(std::uint64_t first) {
  block_ = first;
  known_.clear();
  for (auto& [key, reader] : pages_) reader->next_block();
  for (auto& [key, reader] : ends_) {
    reader->pages->next_block();
    reader->recent.clear();
  }
}

DataSetCursor::WantedRef DataSetCursor::wanted_for(const Rows& rows, std::uint64_t first) {
  const auto is_same = [&](const KnownRows& known) {
    if (known.rows.first != rows.first || known.rows.size != rows.size) return false;
    if ((rows.indices == nullptr) != known.indices.empty()) return false;
    return rows.indices == nullptr ||
           std::memcmp(known.indices.data(), rows.indices, rows.size * sizeof(std::uint32_t)) == 0;
  };
  for (const KnownRows& known : known_)
    if (is_same(known)) return known.wanted;

  auto wanted = std::make_shared<Wanted>();
  const auto& clusters = source_->descriptor().clusters;
  std::size_t cluster = clusters.size();
  std::uint64_t begin = 0;  // of the cluster
  std::uint64_t end = 0;
  const auto enter = [&](std::uint64_t entry) {
    cluster = source_->descriptor().cluster_of_entry(entry);
    if (cluster == clusters.size())
      throw Error(ErrorKind::usage, fmt::format("entry {} is in no cluster", entry), "", source_->context());
    begin = clusters[cluster].first_entry;
    end = begin + clusters[cluster].entries;
  };
  const std::uint64_t base = rows.first - first;
  if (rows.indices == nullptr) {
    for (std::uint64_t entry = base; entry < base + rows.size;) {
      enter(entry);
      const std::uint64_t stop = std::min(end, base + rows.size);
      wanted->add(cluster, entry - begin, stop - begin);
      entry = stop;
    }
  } else {
    for (std::size_t i = 0; i < rows.size; ++i) {
      const std::uint64_t entry = base + rows.indices[i];
      if (entry < begin || entry >= end) enter(entry);
      wanted->add(cluster, entry - begin, entry - begin + 1);
    }
  }
  wanted->finish();
  if (known_.size() == most_remembered) known_.erase(known_.begin());
  KnownRows known{{rows.first, rows.size, nullptr}, {}, std::move(wanted)};
  if (rows.indices != nullptr) known.indices.assign(rows.indices, rows.indices + rows.size);
  return known_.emplace_back(std::move(known)).wanted;
}

// ---- Reading

ValuesPtr DataSetCursor::read(std::uint32_t column, const ColumnShape& shape, const Rows& rows,
                              std::uint64_t first, BlockMemory& memory) {
  if (column >= columns_.size()) columns_.resize(column + 1);
  if (!columns_[column]) columns_[column] = std::make_unique<Bound>(bind(shape));
  if (rows.first != block_) begin_block(rows.first);
  return read(*columns_[column], wanted_for(rows, first), memory);
}

ValuesPtr DataSetCursor::read(Bound& bound, const WantedRef& wanted, BlockMemory& memory) {
  switch (bound.shape->kind) {
    case Kind::scalar:
      return read_scalars(*bound.pages, *wanted, memory);
    case Kind::text: {
      const Lists ends = lists(*bound.ends, wanted, memory);
      auto characters = read_scalars(*bound.pages, *ends.items, memory);
      return make_string(wanted->size, ends.offsets, std::move(characters), ends.owner);
    }
    case Kind::list: {
      const Lists ends = lists(*bound.ends, wanted, memory);
      auto items = read(bound.children.front(), ends.items, memory);
      return as_type(make_list(wanted->size, ends.offsets, std::move(items), ends.owner), bound.shape->type);
    }
    case Kind::record: {
      std::vector<ValuesPtr> members;
      for (Bound& child : bound.children) members.push_back(read(child, wanted, memory));
      return make_record(bound.shape->type, wanted->size, std::move(members));
    }
    case Kind::variant:
      return read_variants(bound, *wanted, memory);
    case Kind::count:
      return read_counts(bound, wanted, memory);
    case Kind::array:
      return read_array(bound, wanted, memory);
    case Kind::array_count:
      break;
  }
  return make_constant<std::uint64_t>(wanted->size, bound.shape->length);
}

ValuesPtr DataSetCursor::read_scalars(PageReader& pages, const Wanted& wanted, BlockMemory& memory) {
  pages.check(wanted);
  if (wanted.spans.size() == 1) {
    const Span& span = wanted.spans.front();
    const PageReader::MappedElements& stretch = pages.map(span.cluster, span.begin);
    if (stretch.data != nullptr && span.end <= stretch.first + stretch.count)
      return make_scalars(pages.element(), wanted.size,
                          stretch.data + (span.begin - stretch.first) * size_of(pages.element()),
                          stretch.owner);
  }
  std::size_t bytes = 0;
  if (__builtin_mul_overflow(wanted.size, size_of(pages.element()), &bytes)) bytes = ~std::size_t{0};
  std::shared_ptr<void> copy = memory.allocate(bytes);
  pages.copy(wanted, copy.get());
  const void* data = copy.get();
  return make_scalars(pages.element(), wanted.size, data, std::move(copy));
}

ValuesPtr DataSetCursor::read_array(Bound& bound, const WantedRef& wanted, BlockMemory& memory) {
  const std::uint64_t length = bound.shape->length;
  auto items = std::make_shared<Wanted>();
  std::uint64_t end = 0;
  for (const Span& span : wanted->spans) {
    if (__builtin_mul_overflow(span.end, length, &end) || end >> 62 != 0)
      throw Error(ErrorKind::format,
                  fmt::format("{} arrays of {} items are more than can be addressed", span.end, length), "",
                  source_->context());
    items->add(span.cluster, span.begin * length, end);
  }
  items->finish();
  auto values = read(bound.children.front(), items, memory);
  auto [offsets, owner] = memory.array<std::int64_t>(wanted->size + 1);
  for (std::uint64_t i = 0; i <= wanted->size; ++i) offsets[i] = static_cast<std::int64_t>(i * length);
  return as_type(make_list(wanted->size, offsets, std::move(values), std::move(owner)), bound.shape->type);
}

// The values of an alternative are stored in the order of the variants that hold them.
ValuesPtr DataSetCursor::read_variants(Bound& bound, const Wanted& wanted, BlockMemory& memory) {
  bound.pages->check(wanted);
  struct Alternative {
    std::shared_ptr<Wanted> items = std::make_shared<Wanted>();
    std::int64_t* offsets = nullptr;
    std::shared_ptr<void> owner;
    std::size_t cluster = ~std::size_t{0};
    std::uint64_t end = 0;  // of its values in this cluster that were seen
  };
  std::vector<Alternative> alternatives(bound.children.size());
  for (Alternative& each : alternatives) {
    std::tie(each.offsets, each.owner) = memory.array<std::int64_t>(wanted.size + 1);
    std::fill_n(each.offsets, wanted.size + 1, 0);
  }
  std::size_t row = 0;
  for (const Span& span : wanted.spans)
    for (std::uint64_t at = span.begin; at < span.end; ++at) {
      const SwitchElement element = bound.pages->map(span.cluster, at).at<SwitchElement>(at);
      ++row;
      if (element.tag == 0) continue;
      if (element.tag > alternatives.size())
        fail_variant(span.cluster, fmt::format("a variant has the tag {}, but there are {} alternatives",
                                               element.tag, alternatives.size()));
      Alternative& own = alternatives[element.tag - 1];
      if (std::exchange(own.cluster, span.cluster) != span.cluster) own.end = 0;
      if (element.index < own.end || element.index >= most_items)
        fail_variant(span.cluster,
                     fmt::format("a variant points to value {} of its alternative, behind value {}",
                                 element.index, own.end));
      own.end = element.index + 1;
      own.items->add(span.cluster, element.index, own.end);
      own.offsets[row] = 1;
    }
  std::vector<ValuesPtr> members;
  for (std::size_t k = 0; k < alternatives.size(); ++k) {
    Alternative& own = alternatives[k];
    std::partial_sum(own.offsets, own.offsets + wanted.size + 1, own.offsets);
    own.items->finish();
    auto items = read(bound.children[k], own.items, memory);
    members.push_back(as_type(make_list(wanted.size, own.offsets, std::move(items), std::move(own.owner)),
                              bound.shape->type.members()[k].second));
  }
  return make_record(bound.shape->type, wanted.size, std::move(members));
}

void DataSetCursor::fail_variant(std::size_t cluster, const std::string& problem) const {
  ErrorContext where = source_->context();
  where.cluster = cluster;
  throw Error(ErrorKind::format, problem, "", where);
}

ValuesPtr DataSetCursor::read_counts(Bound& bound, const WantedRef& wanted, BlockMemory& memory) {
  const Lists& ends = lists(*bound.ends, wanted, memory);
  const auto fill = [&]<class T>(T) {
    auto [counts, owner] = memory.array<T>(wanted->size);
    std::int64_t most = 0;
    for (std::uint64_t i = 0; i < wanted->size; ++i) {
      const std::int64_t count = ends.offsets[i + 1] - ends.offsets[i];
      most = std::max(most, count);
      counts[i] = static_cast<T>(count);
    }
    if (!std::in_range<T>(most))
      throw Error(ErrorKind::conversion,
                  fmt::format("a collection has {} items, more than its counter can hold", most),
                  "the size of the collection", source_->context());
    const void* data = counts;
    return make_scalars(bound.shape->type.element(), wanted->size, data, std::move(owner));
  };
  switch (bound.shape->type.element()) {
    case ElementType::int32:
      return fill(std::int32_t{});
    case ElementType::uint32:
      return fill(std::uint32_t{});
    case ElementType::int64:
      return fill(std::int64_t{});
    default:
      return fill(std::uint64_t{});
  }
}

// ---- Lists

const DataSetCursor::Lists& DataSetCursor::lists(EndsReader& reader, const WantedRef& wanted,
                                                 BlockMemory& memory) {
  for (const Lists& known : reader.recent)
    if (known.of == wanted) return known;
  reader.pages->check(*wanted);
  Lists found;
  found.of = wanted;
  auto [offsets, owner] = memory.array<std::int64_t>(wanted->size + 1);
  found.offsets = offsets;
  found.owner = std::move(owner);
  auto items = std::make_shared<Wanted>();
  if (wanted->spans.size() > 1) items->spans.reserve(wanted->spans.size());
  std::int64_t base = 0;
  std::int64_t* out = offsets;
  *out++ = 0;
  if (!wanted->indices.empty()) {
    add_scattered(reader, *wanted, out, *items);
  } else {
    for (const Span& span : wanted->spans) add_lists(reader, span, out, base, *items);
  }
  items->finish();
  found.items = std::move(items);
  if (reader.recent.size() == most_remembered) reader.recent.erase(reader.recent.begin());
  return reader.recent.emplace_back(std::move(found));
}

std::uint64_t DataSetCursor::items_in(EndsReader& reader, std::size_t cluster) {
  return reader.items != nullptr ? reader.items->elements(cluster) / reader.items_per_value : most_items;
}

// Lists that are mostly isolated, in one cluster.
void DataSetCursor::add_scattered(EndsReader& reader, const Wanted& wanted, std::int64_t* out,
                                  Wanted& items) {
  const std::size_t cluster = wanted.spans.front().cluster;
  const std::uint64_t limit = items_in(reader, cluster);
  const std::uint64_t* ends = nullptr;  // of lists [first, first + count), in a page
  std::uint64_t first = 0;
  std::uint64_t count = 0;
  const auto end_of = [&](std::uint64_t list) {
    if (list - first >= count) [[unlikely]] {
      const PageReader::MappedElements& stretch = reader.pages->map(cluster, list);
      ends = &stretch.at<std::uint64_t>(stretch.first);
      first = stretch.first;
      count = stretch.count;
    }
    return ends[list - first];
  };
  std::int64_t base = 0;
  std::uint64_t previous = 0;
  for (const std::uint32_t index : wanted.indices) {
    const std::uint64_t list = wanted.spans.front().begin + index;
    const std::uint64_t begin = list == 0 ? 0 : end_of(list - 1);
    const std::uint64_t end = end_of(list);
    if (begin < previous || end < begin || end > limit) [[unlikely]] {
      dataset::check_ends(*source_, reader.field, cluster, previous, {&begin, 1}, limit);
      dataset::check_ends(*source_, reader.field, cluster, begin, {&end, 1}, limit);
    }
    previous = end;
    base += static_cast<std::int64_t>(end - begin);
    *out++ = base;
    items.add(cluster, begin, end);
  }
}

// The ends of the lists in one span, relative to the items of the previous spans.
void DataSetCursor::add_lists(EndsReader& reader, const Span& span, std::int64_t*& out, std::int64_t& base,
                              Wanted& items) {
  PageReader& pages = *reader.pages;
  const std::uint64_t limit = items_in(reader, span.cluster);
  const std::uint64_t begin =
      span.begin == 0 ? 0 : pages.map(span.cluster, span.begin - 1).at<std::uint64_t>(span.begin - 1);
  std::uint64_t end = begin;
  for (std::uint64_t at = span.begin; at < span.end;) {
    const PageReader::MappedElements& stretch = pages.map(span.cluster, at);
    const std::uint64_t* ends = &stretch.at<std::uint64_t>(at);
    const std::size_t count = std::min(span.end, stretch.first + stretch.count) - at;
    // Computes all first, then checks the top bits of all ends and of their differences: a loop that
    // vectorises.
    const std::uint64_t shift = static_cast<std::uint64_t>(base) - begin;
    std::uint64_t signs = ends[0] | (ends[0] - end);
    out[0] = static_cast<std::int64_t>(ends[0] + shift);
    for (std::size_t i = 1; i < count; ++i) {
      signs |= ends[i] | (ends[i] - ends[i - 1]);
      out[i] = static_cast<std::int64_t>(ends[i] + shift);
    }
    if (signs >> 63 != 0 || ends[count - 1] > limit)
      dataset::check_ends(*source_, reader.field, span.cluster, end, {ends, count}, limit);
    end = ends[count - 1];
    out += count;
    at += count;
  }
  if (end - begin > most_items - static_cast<std::uint64_t>(base))
    throw Error(ErrorKind::format, "a block has more items than can be counted", "", source_->context());
  base += static_cast<std::int64_t>(end - begin);
  items.add(span.cluster, begin, end);
}

}  // namespace colonnade::frame
