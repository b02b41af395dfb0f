// See parts.h.
#include "frame/sources/parts.h"

#include <algorithm>
#include <map>

namespace colonnade::frame {
namespace {

using Kind = ColumnShape::Kind;

// A stored column, and how many of its elements belong to each entry; 0 where that varies.
struct Leaf {
  const ColumnShape::Stored* stored;
  std::uint64_t per_entry;
};

void collect_leaves(const ColumnShape& shape, std::uint64_t per_entry, std::vector<Leaf>& leaves) {
  if (!shape.stored.columns.empty()) leaves.push_back({&shape.stored, per_entry});
  if (!shape.characters.columns.empty()) leaves.push_back({&shape.characters, 0});
  std::uint64_t of_children = per_entry;
  if (shape.kind == Kind::list) of_children = 0;
  if (shape.kind == Kind::array && __builtin_mul_overflow(per_entry, shape.length, &of_children))
    of_children = 0;
  for (const ColumnShape& child : shape.children) collect_leaves(child, of_children, leaves);
}

const ColumnRange* stored_in(const ClusterDescriptor& cluster, const Leaf& leaf) {
  for (const std::uint32_t column : leaf.stored->columns)
    if (column < cluster.columns.size() && !cluster.columns[column].suppressed)
      return &cluster.columns[column];
  return nullptr;
}

// What the columns say about one cluster.
struct ClusterLayout {
  std::uint64_t largest = 0;  // decoded bytes of a column
  // Entries of the cluster at which pages begin, and the bytes of the pages that end there.
  std::map<std::uint64_t, std::uint64_t> borders;
};

ClusterLayout lay_out(const ClusterDescriptor& cluster, std::span<const Leaf> leaves) {
  ClusterLayout layout;
  for (const Leaf& leaf : leaves) {
    const ColumnRange* range = stored_in(cluster, leaf);
    if (range == nullptr) continue;
    const std::uint64_t width = size_of(leaf.stored->element);
    const std::uint64_t elements = range->pages.elements();
    layout.largest = std::max(layout.largest, elements * width);
    std::uint64_t expected = 0;
    if (leaf.per_entry == 0 || __builtin_mul_overflow(cluster.entries, leaf.per_entry, &expected)) continue;
    if (elements > expected) continue;
    // What is missing in front was never written.
    std::uint64_t at = expected - elements;
    for (std::size_t page = 0; page + 1 < range->pages.size(); ++page) {
      const std::uint32_t count = range->pages[page].elements;
      at += count;
      if (at % leaf.per_entry == 0) layout.borders[at / leaf.per_entry] += count * width;
    }
  }
  return layout;
}

std::uint64_t pieces_of(std::uint64_t entries, const ClusterLayout& layout) {
  const auto needed = [](std::uint64_t all, std::uint64_t most) { return all / most + (all % most != 0); };
  std::uint64_t pieces = std::max(
      {std::uint64_t{1}, needed(entries, most_part_entries), needed(layout.largest, most_part_bytes)});
  const bool is_large = entries >= parts_of_large_cluster * least_part_entries ||
                        layout.largest >= parts_of_large_cluster * least_part_bytes;
  return is_large ? std::max(pieces, parts_of_large_cluster) : pieces;
}

// The border around `ideal` that most bytes of pages end at; the nearest one of these. 0: there is none.
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

void cut_cluster(const ClusterDescriptor& cluster, const ClusterLayout& layout,
                 std::vector<std::uint64_t>& borders) {
  const std::uint64_t pieces = pieces_of(cluster.entries, layout);
  const double piece = static_cast<double>(cluster.entries) / static_cast<double>(pieces);
  std::uint64_t last = 0;
  for (std::uint64_t k = 1; k < pieces; ++k) {
    const std::uint64_t border = best_border(layout, piece * static_cast<double>(k), piece / 2);
    if (border <= last || border >= cluster.entries) continue;
    borders.push_back(cluster.first_entry + border);
    last = border;
  }
}

}  // namespace

std::vector<std::uint64_t> part_borders(const Descriptor& descriptor,
                                        std::span<const ColumnShape* const> columns, std::uint64_t first,
                                        std::uint64_t last) {
  std::vector<Leaf> leaves;
  for (const ColumnShape* column : columns) collect_leaves(*column, 1, leaves);
  // Small clusters go together until they are worth it.
  std::vector<std::uint64_t> borders;
  std::uint64_t entries = 0;
  std::uint64_t bytes = 0;
  for (const ClusterDescriptor& cluster : descriptor.clusters) {
    const std::uint64_t end = cluster.first_entry + cluster.entries;
    if (cluster.entries == 0 || end <= first || cluster.first_entry >= last) continue;
    const ClusterLayout layout = lay_out(cluster, leaves);
    const bool is_full =
        entries + cluster.entries > least_part_entries || bytes + layout.largest > least_part_bytes;
    if (borders.empty() || is_full) {
      borders.push_back(cluster.first_entry);
      entries = bytes = 0;
    }
    entries += cluster.entries;
    bytes += layout.largest;
    cut_cluster(cluster, layout, borders);
  }
  if (borders.empty()) return borders;
  // Cut down to the range: the border before it becomes its beginning.
  const auto inside =
      std::find_if(borders.begin(), borders.end(), [&](std::uint64_t b) { return b > first; });
  borders.erase(borders.begin(), inside);
  borders.insert(borders.begin(), first);
  while (borders.back() >= last) borders.pop_back();
  borders.push_back(last);
  return borders;
}

}  // namespace colonnade::frame
