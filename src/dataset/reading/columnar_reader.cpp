// See columnar_reader.h. The walk descends the stored schema with the ranges of elements that the requested
// entries cover, one per cluster: a collection maps its ranges to ranges of its items, and so on down to the
// leaves, each of which is decoded into one array.
#include "dataset/reading/columnar_reader.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <map>
#include <new>
#include <optional>
#include <utility>

#include "base/aligned_buffer.h"
#include "base/huge_pages.h"
#include "base/memory_limit.h"
#include "dataset/element_types.h"
#include "dataset/schema_walk.h"
#include "field/field_tools.h"
#include "page/column_reader.h"

namespace colonnade::dataset {
namespace {

// Elements [begin, end) of a field in a cluster.
struct ElementRange {
  std::size_t cluster = 0;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};
using Stretches = std::vector<ElementRange>;

std::uint64_t total(const Stretches& stretches) {
  std::uint64_t sum = 0;
  for (const ElementRange& s : stretches) sum += s.end - s.begin;
  return sum;
}

// malloc() has smaller blocks at hand more often.
constexpr std::size_t smallest_prepared = std::size_t{64} << 10;

// Tells the kernel that the contents of a part of a block are not needed any more; the rest of it may be for
// long.
void give_back_pages(std::byte* data, std::size_t bytes) noexcept {
  constexpr std::uintptr_t page = 4096;
  const std::uintptr_t begin = reinterpret_cast<std::uintptr_t>(data), end = begin + bytes;
  const std::uintptr_t first = (begin + page - 1) / page * page, last = end / page * page;
  if (first < last) static_cast<void>(::madvise(data + (first - begin), last - first, MADV_DONTNEED));
}

class ArrayReader {
 public:
  ArrayReader(page::PageSource& source, std::vector<bool> wanted,
              std::span<const std::optional<ElementType>> elements)
      : source_(source), descriptor_(source.descriptor()), wanted_(std::move(wanted)), elements_(elements) {}

  // Takes the memory of the arrays of top-level fields whose sizes are known as one block: in huge pages, it
  // costs a fraction of the page faults of arrays that are smaller than one.
  void prepare(std::span<const std::uint32_t> tops, const Stretches& entries) {
    constexpr std::size_t alignment = AlignedBuffer::default_alignment;
    std::vector<std::pair<ColumnArray, std::size_t>> arrays;  // with their places
    std::size_t bytes = 0;
    for (const std::uint32_t id : tops) {
      const auto array = known_array(descriptor_.fields[id], total(entries));
      const std::size_t size = array ? array->size * size_of(array->element) : 0;
      if (size < smallest_prepared || size >= huge_page_size) continue;
      arrays.emplace_back(*array, bytes);
      bytes += (size + alignment - 1) / alignment * alignment;
    }
    if (bytes < 2 * huge_page_size || bytes > machine_memory()) return;
    const std::size_t whole = in_huge_pages(bytes);
    constexpr std::align_val_t at_huge_pages{huge_page_size};
    auto* memory = static_cast<std::byte*>(::operator new(whole, at_huge_pages, std::nothrow));
    if (memory == nullptr) return;  // perhaps there is enough for each by itself
    const std::shared_ptr<std::byte> block(memory, [](std::byte* p) { ::operator delete(p, at_huge_pages); });
    prefer_huge_pages(memory, whole);
    for (auto& [array, place] : arrays) {
      const std::size_t size = array.size * size_of(array.element);
      array.data = {memory + place, [block, size](std::byte* p) { give_back_pages(p, size); }};
      prepared_.emplace(array.field, std::move(array));
    }
  }

  void read(std::uint32_t field, const Stretches& stretches) {
    if (!wanted_[field]) return;
    const FieldDescriptor& f = descriptor_.fields[field];
    with_context({.uri = source_.uri(), .data_set = source_.data_set(), .field = descriptor_.path_of(field)},
                 [&] { read_field(f, stretches); });
  }
  std::vector<ColumnArray> take() { return std::move(arrays_); }

 private:
  void read_field(const FieldDescriptor& f, const Stretches& stretches) {
    const bool is_string = field::is_text(f);
    if (is_string || f.role == FieldRole::collection || f.type_name.starts_with("ROOT::RNTupleCardinality")) {
      read_collection(f, stretches, is_string);
    } else if (f.role == FieldRole::variant) {
      read_variant(f, stretches);
    } else if (f.representations.empty()) {
      const std::uint64_t factor = f.array_size > 0 ? f.array_size : 1;
      for (const std::uint32_t child : f.children) read(child, scale(stretches, factor));
    } else {
      const ColumnType type = descriptor_.columns[f.representations.front().front()].encoding.type;
      read_values(f, 0, element_for(f, type), scale(stretches, f.array_size > 0 ? f.array_size : 1));
    }
  }

  static Stretches scale(Stretches stretches, std::uint64_t factor) {
    for (ElementRange& s : stretches)
      if (__builtin_mul_overflow(s.begin, factor, &s.begin) || __builtin_mul_overflow(s.end, factor, &s.end))
        throw Error(ErrorKind::format,
                    fmt::format("{} arrays of {} items are more than can be addressed", s.end, factor), "",
                    {.cluster = s.cluster});
    return stretches;
  }

  // The element type of the field's own type if that is more precise than the column's: a double stored as
  // Real32.
  ElementType element_for(const FieldDescriptor& f, ColumnType column) const {
    if (f.id < elements_.size() && elements_[f.id]) return *elements_[f.id];
    if (const auto named = element_of_field(descriptor_, f)) return *named;
    return natural_element(column);
  }

  // The values or offsets of a top-level field, without memory; none for what has neither, or several items
  // per entry.
  std::optional<ColumnArray> known_array(const FieldDescriptor& f, std::uint64_t entries) const {
    if (f.role == FieldRole::variant || f.array_size > 0 || entries >= huge_page_size) return std::nullopt;
    if (field::is_text(f) || f.role == FieldRole::collection)
      return ColumnArray{f.id, ArrayRole::offsets, ElementType::int64, entries + 1, nullptr};
    if (f.representations.empty() || f.type_name.starts_with("ROOT::RNTupleCardinality")) return std::nullopt;
    const ColumnType type = descriptor_.columns[f.representations.front().front()].encoding.type;
    return ColumnArray{f.id, ArrayRole::values, element_for(f, type), entries, nullptr};
  }

  ColumnArray& add(const FieldDescriptor& f, ArrayRole role, ElementType element, std::uint64_t size) {
    const auto found = prepared_.extract(f.id);
    const bool fits = !found.empty() && found.mapped().role == role && found.mapped().element == element &&
                      found.mapped().size == size;
    ColumnArray array = fits ? std::move(found.mapped()) : make_array(f.id, role, element, size, bytes_);
    bytes_ += size * size_of(element);
    return arrays_.emplace_back(std::move(array));
  }

  void read_values(const FieldDescriptor& f, std::size_t column, ElementType element,
                   const Stretches& stretches) {
    page::ColumnReader reader(source_, columns_of(f, column), element);
    // A damaged offset must not claim more memory than there are elements.
    for (const ElementRange& s : stretches)
      if (s.end > reader.elements(s.cluster))
        throw Error(ErrorKind::format,
                    fmt::format("elements up to {} are needed, but the cluster has {}", s.end,
                                reader.elements(s.cluster)),
                    "", {.cluster = s.cluster});
    const ColumnArray& array = add(f, ArrayRole::values, element, total(stretches));
    std::byte* to = array.data.get();
    for (const ElementRange& s : stretches) {
      reader.read(s.cluster, s.begin, s.end - s.begin, to);
      to += (s.end - s.begin) * size_of(element);
    }
  }

  void read_collection(const FieldDescriptor& f, const Stretches& stretches, bool is_string) {
    page::ColumnReader reader(source_, columns_of(f, 0), ElementType::index);
    for (const ElementRange& s : stretches)
      if (s.end > reader.elements(s.cluster))
        throw Error(ErrorKind::format,
                    fmt::format("collections up to {} are needed, but the cluster has {}", s.end,
                                reader.elements(s.cluster)),
                    "", {.cluster = s.cluster});
    const ColumnArray array = add(f, ArrayRole::offsets, ElementType::int64, total(stretches) + 1);
    auto* offsets = reinterpret_cast<std::int64_t*>(array.data.get());
    constexpr std::uint64_t max_items = std::uint64_t{1} << 62;
    std::int64_t base = 0;
    *offsets++ = 0;
    Stretches items;
    for (const ElementRange& s : stretches) {
      if (s.begin == s.end) continue;
      const std::uint64_t begin = s.begin == 0 ? 0 : reader.at<std::uint64_t>(s.cluster, s.begin - 1);
      const std::size_t count = s.end - s.begin;
      reader.read(s.cluster, s.begin, count, offsets);
      const std::span<const std::uint64_t> ends(reinterpret_cast<const std::uint64_t*>(offsets), count);
      check_ends(source_, f.id, s.cluster, begin, ends, max_items - static_cast<std::uint64_t>(base));
      const std::uint64_t end = ends.back();
      for (std::size_t i = 0; i < count; ++i) offsets[i] += base - static_cast<std::int64_t>(begin);
      offsets += count;
      base += static_cast<std::int64_t>(end - begin);
      items.push_back({s.cluster, begin, end});
    }
    if (is_string) {
      read_values(f, 1, ElementType::character, items);
    } else {
      for (const std::uint32_t child : f.children) read(child, items);
    }
  }

  void read_variant(const FieldDescriptor& f, const Stretches& stretches) {
    page::ColumnReader reader(source_, columns_of(f, 0), ElementType::switch_);
    for (const ElementRange& s : stretches)
      if (s.end > reader.elements(s.cluster))
        throw Error(ErrorKind::format,
                    fmt::format("variants up to {} are needed, but the cluster has {}", s.end,
                                reader.elements(s.cluster)),
                    "", {.cluster = s.cluster});
    const ColumnArray array = add(f, ArrayRole::tags, ElementType::int32, total(stretches));
    auto* tags = reinterpret_cast<std::int32_t*>(array.data.get());
    std::vector<Stretches> alternatives(f.children.size());
    for (const ElementRange& s : stretches) {
      std::vector<ElementRange> seen(f.children.size(), {s.cluster, 0, 0});
      for (std::uint64_t i = s.begin; i < s.end; ++i) {
        const SwitchElement element = reader.at<SwitchElement>(s.cluster, i);
        if (element.tag > f.children.size())
          throw Error(ErrorKind::format,
                      fmt::format("a variant has the tag {}, but there are {} alternatives", element.tag,
                                  f.children.size()),
                      "", {.cluster = s.cluster});
        *tags++ = static_cast<std::int32_t>(element.tag);
        if (element.tag == 0) continue;
        // The values of an alternative are stored in the order of the variants that hold them.
        ElementRange& own = seen[element.tag - 1];
        if (own.begin == own.end) own.begin = own.end = element.index;
        if (element.index != own.end || element.index == ~std::uint64_t{0})
          throw Error(ErrorKind::format,
                      fmt::format("a variant points to value {} of its alternative instead of {}",
                                  element.index, own.end),
                      "", {.cluster = s.cluster});
        ++own.end;
      }
      for (std::size_t k = 0; k < seen.size(); ++k) alternatives[k].push_back(seen[k]);
    }
    for (std::size_t k = 0; k < alternatives.size(); ++k) read(f.children[k], alternatives[k]);
  }

  page::PageSource& source_;
  const Descriptor& descriptor_;
  std::vector<bool> wanted_;
  std::span<const std::optional<ElementType>> elements_;  // empty: use the fields' types
  std::vector<ColumnArray> arrays_;
  std::uint64_t bytes_ = 0;                        // of these
  std::map<std::uint32_t, ColumnArray> prepared_;  // by field
};

// Finds the pages that ArrayReader will ask for, in its order. Below collections elements may be spread
// unevenly over the entries of a cluster: there a page too many or too few may be among them where not all of
// the cluster is read.
class Announcement {
 public:
  Announcement(const page::PageSource& source, const std::vector<bool>& wanted)
      : source_(source), descriptor_(source.descriptor()), wanted_(wanted) {}

  void add(std::uint32_t field, const Stretches& entries, std::optional<std::uint64_t> per_entry = 1) {
    if (!wanted_[field]) return;
    const FieldDescriptor& f = descriptor_.fields[field];
    if (per_entry && f.array_size > 0 && __builtin_mul_overflow(*per_entry, f.array_size, &*per_entry))
      return;
    const std::size_t columns = f.representations.empty() ? 0 : f.representations.front().size();
    for (std::size_t k = 0; k < columns; ++k)
      for (const ElementRange& stretch : entries)
        add_pages(columns_of(f, k), stretch, k == 0 ? per_entry : std::nullopt);
    if (f.role == FieldRole::collection || f.role == FieldRole::variant) per_entry.reset();
    for (const std::uint32_t child : f.children) add(child, entries, per_entry);
  }
  // What is added from now on is of the entries behind those that were added.
  void go_on() { before_ = std::exchange(ends_, {}); }
  std::vector<page::ClusterPool::Coming> take() { return std::move(coming_); }

 private:
  // Entries begin and end within their cluster. Reading reports invalid ranges.
  void add_pages(const std::vector<std::uint32_t>& representations, const ElementRange& entries,
                 std::optional<std::uint64_t> per_entry) {
    try {
      auto segment = std::make_shared<const page::ColumnSegment>(
          page::open_segment(source_, representations, entries.cluster));
      std::uint64_t begin = place_of(entries.begin, *segment, per_entry);
      // A list begins where the one before ends.
      if (natural_element(segment->encoding.type) == ElementType::index && begin > 0) --begin;
      const std::uint64_t end =
          std::min(place_of(entries.end, *segment, per_entry), segment->page_first.back());
      if (begin >= end || end <= segment->page_first.front()) return;
      std::size_t first = segment->page_of(std::max(begin, segment->page_first.front()));
      const std::size_t last = segment->page_of(end - 1);
      const auto held = before_.find(segment->column);
      if (held != before_.end() && held->second == std::pair(segment->cluster, first)) ++first;
      if (segment->page_first[last + 1] > end) ends_[segment->column] = {segment->cluster, last};
      if (first <= last) coming_.push_back({std::move(segment), first, last + 1 - first});
    } catch (const Error&) {
    }
  }

  std::uint64_t place_of(std::uint64_t entry, const page::ColumnSegment& segment,
                         std::optional<std::uint64_t> per_entry) const {
    std::uint64_t place = 0;
    if (per_entry && !__builtin_mul_overflow(entry, *per_entry, &place)) return place;
    const auto all = static_cast<double>(descriptor_.clusters[segment.cluster].entries);
    return static_cast<std::uint64_t>(static_cast<double>(entry) / all *
                                      static_cast<double>(segment.page_first.back()));
  }

  const page::PageSource& source_;
  const Descriptor& descriptor_;
  const std::vector<bool>& wanted_;
  std::vector<page::ClusterPool::Coming> coming_;
  // By column, the cluster and the page within which its entries end: the column keeps that page.
  std::map<std::uint32_t, std::pair<std::size_t, std::size_t>> ends_;
  std::map<std::uint32_t, std::pair<std::size_t, std::size_t>> before_;  // of the entries before
};

Stretches stretches_of(const Descriptor& descriptor, std::uint64_t first, std::uint64_t last) {
  Stretches entries;
  if (first >= last) return entries;
  for (std::size_t c = descriptor.cluster_of_entry(first); c < descriptor.clusters.size(); ++c) {
    const ClusterDescriptor& cluster = descriptor.clusters[c];
    if (cluster.first_entry >= last) break;
    const std::uint64_t begin = std::max(first, cluster.first_entry);
    const std::uint64_t end = std::min(last, cluster.first_entry + cluster.entries);
    if (begin < end) entries.push_back({c, begin - cluster.first_entry, end - cluster.first_entry});
  }
  return entries;
}

// While these entries are read, nothing behind them is read ahead.
class Limit {
 public:
  Limit(page::PageSource& source, const Stretches& entries) : pool_(source.pool()) {
    std::vector<page::ClusterPool::ClusterSlice> slices;
    for (const ElementRange& s : entries) {
      const auto all = static_cast<double>(source.descriptor().clusters[s.cluster].entries);
      slices.push_back({s.cluster, static_cast<double>(s.begin) / all, static_cast<double>(s.end) / all});
    }
    pool_.keep_within(std::move(slices));
  }
  ~Limit() {
    try {
      pool_.keep_within({});
    } catch (const std::exception&) {  // the next call tries it again
    }
  }
  Limit(const Limit&) = delete;
  Limit& operator=(const Limit&) = delete;

 private:
  page::ClusterPool& pool_;
};

// Marks what a path needs: the field, what is below it and readable, and the fields above it.
void mark(const page::PageSource& source, const std::string& path, std::uint32_t field,
          std::vector<bool>& wanted) {
  const Descriptor& descriptor = source.descriptor();
  if (!descriptor.fields[field].unreadable.empty())
    throw Error(ErrorKind::unsupported,
                fmt::format("the stored type '{}' cannot be read: {}", descriptor.fields[field].type_name,
                            descriptor.fields[field].unreadable),
                "", {.uri = source.uri(), .data_set = source.data_set(), .field = path});
  std::vector<std::uint32_t> below = {field};
  while (!below.empty()) {
    const std::uint32_t id = below.back();
    below.pop_back();
    if (!descriptor.fields[id].unreadable.empty()) continue;
    wanted[id] = true;
    below.insert(below.end(), descriptor.fields[id].children.begin(), descriptor.fields[id].children.end());
  }
  for (std::uint32_t id = field; descriptor.fields[id].parent != id;)
    wanted[id = descriptor.fields[id].parent] = true;
}

}  // namespace

std::vector<std::uint32_t> tops_of(const Descriptor& descriptor, const std::vector<bool>& wanted) {
  std::vector<std::uint32_t> tops;
  for (std::uint32_t id = 0; id < wanted.size(); ++id)
    if (wanted[id] && descriptor.fields[id].parent == id) tops.push_back(id);
  return tops;
}

ColumnArray make_array(std::uint32_t field, ArrayRole role, ElementType element, std::uint64_t size,
                       std::uint64_t bytes_before) {
  ColumnArray array;
  array.field = field;
  array.role = role;
  array.element = element;
  array.size = size;
  // Elements of a deferred column take no space in the file, so their number is unlimited.
  std::uint64_t bytes = 0;
  const bool fits = !__builtin_mul_overflow(size, size_of(element), &bytes) &&
                    bytes <= machine_memory() - std::min(machine_memory(), bytes_before);
  // In huge pages to its ends, if it is large: faults of small pages would take much of the time.
  const bool is_large = bytes >= huge_page_size;
  const std::size_t reserved = is_large ? in_huge_pages(bytes) : std::max<std::size_t>(bytes, 1);
  const std::align_val_t alignment{is_large ? huge_page_size : AlignedBuffer::default_alignment};
  void* memory = nullptr;
  if (fits) memory = ::operator new(reserved, alignment, std::nothrow);
  if (memory == nullptr)
    throw Error(
        ErrorKind::resource,
        fmt::format(
            "an array of {} elements of {} bytes does not fit in memory beside the {} bytes that were read",
            size, size_of(element), bytes_before),
        "read fewer entries at once");
  prefer_huge_pages(memory, reserved);
  array.data = {static_cast<std::byte*>(memory),
                [alignment](std::byte* p) { ::operator delete(p, alignment); }};
  return array;
}

std::vector<ColumnArray> read_arrays(page::PageSource& source, const FieldFinder& finder,
                                     std::span<const std::string> paths, std::uint64_t first,
                                     std::uint64_t last, std::uint64_t ahead) {
  std::vector<bool> wanted(source.descriptor().fields.size(), false);
  for (const std::string& path : paths) mark(source, path, finder.find(path), wanted);
  return read_arrays(source, std::move(wanted), {}, first, last, ahead);
}

void announce_arrays(page::PageSource& source, const std::vector<bool>& wanted, std::uint64_t first,
                     std::uint64_t last) {
  if (!source.pool().is_far()) return;
  Announcement announcement(source, wanted);
  const Stretches entries = stretches_of(source.descriptor(), first, last);
  for (const std::uint32_t id : tops_of(source.descriptor(), wanted)) announcement.add(id, entries);
  source.pool().announce(announcement.take());
}

std::vector<ColumnArray> read_arrays(page::PageSource& source, std::vector<bool> wanted,
                                     std::span<const std::optional<ElementType>> elements,
                                     std::uint64_t first, std::uint64_t last, std::uint64_t ahead) {
  const Descriptor& descriptor = source.descriptor();
  if (first > last || last > descriptor.entries())
    throw Error(ErrorKind::usage,
                fmt::format("entries {} to {} are beyond the {} entries of the data set", first, last,
                            descriptor.entries()),
                "", source.context());
  const Stretches entries = stretches_of(descriptor, first, last);
  const std::vector<std::uint32_t> tops = tops_of(descriptor, wanted);
  const bool goes_on = ahead > last;
  if (goes_on) source.pool().keep_closed(true);
  if (source.pool().is_far()) {
    Announcement announcement(source, wanted);
    const Stretches next = stretches_of(descriptor, last, std::min(ahead, descriptor.entries()));
    for (const std::uint32_t id : tops) announcement.add(id, entries);
    announcement.go_on();
    for (const std::uint32_t id : tops) announcement.add(id, next);
    source.pool().announce(announcement.take());
  }
  ArrayReader reader(source, std::move(wanted), elements);
  {
    std::optional<Limit> limit;
    if (!goes_on && !source.pool().is_far() && source.pool().is_idle()) limit.emplace(source, entries);
    reader.prepare(tops, entries);
    for (const std::uint32_t id : tops) reader.read(id, entries);
  }
  if (!goes_on) {
    source.pool().keep_closed(false);
    source.pool().announce({});
  }
  return reader.take();
}

}  // namespace colonnade::dataset
