// See parts.h.
#include "frame/sources/parts.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <map>
#include <string_view>
#include <tuple>

namespace colonnade::frame {
namespace {

// The number of elements of the field's first column per entry; 0 if it varies.
std::vector<std::uint64_t> elements_per_entry(const Descriptor& descriptor) {
  std::vector<std::uint64_t> per_entry(descriptor.fields.size(), 0);
  for (std::uint32_t id = 0; id < per_entry.size(); ++id) {  // parents precede their children
    const FieldDescriptor& field = descriptor.fields[id];
    if (field.parent == id) {
      per_entry[id] = 1;
    } else if (field.parent < id) {
      const FieldRole role = descriptor.fields[field.parent].role;
      if (role == FieldRole::leaf || role == FieldRole::record) per_entry[id] = per_entry[field.parent];
    }
    if (field.array_size > 0 && __builtin_mul_overflow(per_entry[id], field.array_size, &per_entry[id]))
      per_entry[id] = 0;
  }
  return per_entry;
}

// A stored column: bits per element, and elements per entry or 0.
struct ColumnDensity {
  std::uint64_t bits = 0;
  std::uint64_t per_entry = 0;
};

std::vector<ColumnDensity> stored_columns(const Descriptor& descriptor) {
  const std::vector<std::uint64_t> per_entry = elements_per_entry(descriptor);
  std::vector<ColumnDensity> columns(descriptor.columns.size());
  for (std::size_t i = 0; i < columns.size(); ++i) columns[i].bits = descriptor.columns[i].encoding.bits;
  // Second columns, such as the characters of a text, have any number of elements.
  for (std::uint32_t id = 0; id < descriptor.fields.size(); ++id)
    for (const ColumnIds& representation : descriptor.fields[id].representations)
      if (!representation.empty() && representation.front() < columns.size() &&
          !descriptor.fields[id].source_field)
        columns[representation.front()].per_entry = per_entry[id];
  return columns;
}

// The information from all columns about one cluster.
struct ClusterLayout {
  std::uint64_t largest = 0;  // bytes of a column
  // Entries of the cluster at which pages begin, and the bytes of the pages that end there.
  std::map<std::uint64_t, std::uint64_t> borders;
};

void add_borders(const PageList& pages, std::uint64_t skipped, const ColumnDensity& stored,
                 std::uint64_t bytes, ClusterLayout& layout) {
  std::uint64_t at = skipped;  // elements before it were never written
  for (std::size_t page = 0; page + 1 < pages.size(); ++page) {
    at += pages[page].elements;
    if (at % stored.per_entry == 0) layout.borders[at / stored.per_entry] += bytes / pages.size();
  }
}

ClusterLayout lay_out(const ClusterDescriptor& cluster, std::span<const ColumnDensity> columns) {
  ClusterLayout layout;
  // Columns with equal page sizes, as most of a data set have, are processed once.
  struct Alike {
    const PageList* pages = nullptr;
    ColumnDensity stored;
    std::uint64_t elements = 0;
    std::uint64_t bytes = 0;
  };
  std::map<std::tuple<std::uint64_t, std::uint64_t, std::size_t, std::uint32_t>, Alike> alike;
  for (std::size_t i = 0; i < cluster.columns.size() && i < columns.size(); ++i) {
    const ColumnRange& range = cluster.columns[i];
    if (range.suppressed || range.pages.empty()) continue;
    const std::uint64_t elements = range.pages.elements();
    const std::uint64_t bytes = elements / 8 * columns[i].bits + elements % 8 * columns[i].bits / 8;
    layout.largest = std::max(layout.largest, bytes);
    if (columns[i].per_entry == 0 || range.pages.size() < 2) continue;
    Alike& of = alike[{columns[i].per_entry, elements, range.pages.size(), range.pages.front().elements}];
    if (of.pages == nullptr) of = {&range.pages, columns[i], elements, 0};
    of.bytes += bytes;
  }
  for (const auto& [key, of] : alike) {
    std::uint64_t expected = 0;
    if (__builtin_mul_overflow(cluster.entries, of.stored.per_entry, &expected) || of.elements > expected)
      continue;
    add_borders(*of.pages, expected - of.elements, of.stored, of.bytes, layout);
  }
  return layout;
}

std::uint64_t pieces_of(std::uint64_t entries, const ClusterLayout& layout, const PartLimits& limits) {
  const auto needed = [](std::uint64_t all, std::uint64_t most) { return all / most + (all % most != 0); };
  if (!limits.at_pages) return needed(entries, limits.most_entries);
  const std::uint64_t pieces = std::max(
      {std::uint64_t{1}, needed(entries, limits.most_entries), needed(layout.largest, limits.most_bytes)});
  const bool is_large = entries >= limits.of_large_cluster * limits.least_entries ||
                        layout.largest >= limits.of_large_cluster * limits.least_bytes;
  return is_large ? std::max(pieces, limits.of_large_cluster) : pieces;
}

// The border around `ideal` at which most bytes of pages end; the nearest one of several. 0: none.
std::uint64_t best_border(const ClusterLayout& layout, double ideal, double reach) {
  std::uint64_t best = 0;
  std::uint64_t weight = 0;
  double distance = 0;
  const auto from = ideal - reach < 0 ? 0 : static_cast<std::uint64_t>(ideal - reach) + 1;
  for (auto at = layout.borders.lower_bound(from);
       at != layout.borders.end() && static_cast<double>(at->first) < ideal + reach; ++at) {
    const double off = std::abs(static_cast<double>(at->first) - ideal);
    if (at->second < weight || (at->second == weight && off >= distance)) continue;
    best = at->first;
    weight = at->second;
    distance = off;
  }
  return best;
}

void cut_cluster(const ClusterDescriptor& cluster, const ClusterLayout& layout, const PartLimits& limits,
                 std::vector<std::uint64_t>& borders) {
  const std::uint64_t pieces = pieces_of(cluster.entries, layout, limits);
  const double piece = static_cast<double>(cluster.entries) / static_cast<double>(pieces);
  std::uint64_t last = 0;
  for (std::uint64_t k = 1; k < pieces; ++k) {
    const double ideal = piece * static_cast<double>(k);
    const std::uint64_t border =
        limits.at_pages ? best_border(layout, ideal, piece / 2) : k * limits.most_entries;
    if (border == 0) {
      // A file may claim any number of entries: pieces without a border are not counted one by one.
      const auto next = layout.borders.lower_bound(static_cast<std::uint64_t>(std::ceil(ideal + piece / 2)));
      if (next == layout.borders.end()) break;
      k = std::max(k, static_cast<std::uint64_t>(std::max(static_cast<double>(next->first) / piece - 1, 0.)));
    }
    if (border <= last || border >= cluster.entries) continue;
    borders.push_back(cluster.first_entry + border);
    last = border;
  }
}

}  // namespace

PartLimits PartLimits::of_process() {
  PartLimits limits;
  const char* text = std::getenv("COLONNADE_TEST_PART_ENTRIES");
  if (text == nullptr) return limits;
  const std::string_view given(text);
  std::uint64_t entries = 0;
  const auto [end, error] = std::from_chars(given.data(), given.data() + given.size(), entries);
  if (error != std::errc() || end != given.data() + given.size() || entries == 0) return limits;
  limits.most_entries = limits.array_entries = limits.empty_entries = entries;
  limits.least_entries = entries / 2;
  limits.at_pages = false;
  return limits;
}

std::vector<std::uint64_t> part_borders(const Descriptor& descriptor, const PartLimits& limits) {
  const std::vector<ColumnDensity> columns = stored_columns(descriptor);
  // Small clusters are joined until they are worth a part.
  std::vector<std::uint64_t> borders;
  std::uint64_t entries = 0;
  std::uint64_t bytes = 0;
  std::uint64_t end = 0;
  for (const ClusterDescriptor& cluster : descriptor.clusters) {
    if (cluster.entries == 0) continue;
    const ClusterLayout layout = lay_out(cluster, columns);
    const bool is_full =
        entries + cluster.entries > limits.least_entries || bytes + layout.largest > limits.least_bytes;
    if (borders.empty() || is_full) {
      borders.push_back(cluster.first_entry);
      entries = bytes = 0;
    }
    entries += cluster.entries;
    bytes += layout.largest;
    cut_cluster(cluster, layout, limits, borders);
    end = cluster.first_entry + cluster.entries;
  }
  if (!borders.empty()) borders.push_back(end);
  return borders;
}

void add_parts(std::span<const std::uint64_t> borders, std::uint64_t base, unsigned sample,
               std::uint64_t number, std::uint64_t first, std::uint64_t last, std::vector<Part>& parts) {
  for (std::size_t k = 0; k + 1 < borders.size(); ++k) {
    const std::uint64_t whole_first = base + borders[k];
    const std::uint64_t whole_last = base + borders[k + 1];
    const std::uint64_t begin = std::max(first, whole_first);
    const std::uint64_t end = std::min(last, whole_last);
    if (begin < end) parts.push_back({begin, end, sample, number + k, whole_first, whole_last});
  }
}

std::vector<Part> equal_parts(std::uint64_t size, std::uint64_t first, std::uint64_t last) {
  std::vector<Part> parts;
  while (first < last) {
    const std::uint64_t number = first / size;
    const std::uint64_t end = last - first <= size - first % size ? last : (number + 1) * size;
    const std::uint64_t whole_last = std::max(end, end - end % size + (end % size == 0 ? 0 : size));
    parts.push_back({first, end, 0, number, number * size, whole_last});
    first = end;
  }
  return parts;
}

}  // namespace colonnade::frame
