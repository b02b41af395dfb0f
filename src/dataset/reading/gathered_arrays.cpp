// See gathered_arrays.h.
#include "dataset/reading/gathered_arrays.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <optional>
#include <utility>

#include "colonnade/error.h"
#include "dataset/chains/schema.h"
#include "dataset/reading/columnar_reader.h"

namespace colonnade::dataset {
namespace {

constexpr std::uint64_t entries_of_block = 16'384;
// That are asked for while one is read.
constexpr std::size_t blocks_ahead = 8;

using Key = std::pair<std::uint32_t, ArrayRole>;
using Rows = std::vector<std::uint64_t>;

std::int64_t* offsets_of(const ColumnArray& array) {
  return static_cast<std::int64_t*>(static_cast<void*>(array.data.get()));
}

// Takes the values of rows, field by field, from the top.
class Gathering {
 public:
  Gathering(const Descriptor& descriptor, std::span<const ColumnArray> arrays) : descriptor_(descriptor) {
    for (const ColumnArray& array : arrays) arrays_[{array.field, array.role}] = &array;
  }

  void walk(std::uint32_t id, const Rows& rows) {
    const FieldDescriptor& f = descriptor_.fields[id];
    switch (form_of(f)) {
      case FieldForm::unreadable:
        return;
      case FieldForm::scalar:
        return take(find(f, ArrayRole::values), rows, 1);
      case FieldForm::bitset:
        return take(find(f, ArrayRole::values), rows, f.array_size);
      case FieldForm::text: {
        const ColumnArray* offsets = find(f, ArrayRole::offsets);
        if (offsets != nullptr) take_stretches(*offsets, *find(f, ArrayRole::values), rows);
        return;
      }
      case FieldForm::count:
        if (const ColumnArray* offsets = find(f, ArrayRole::offsets))
          static_cast<void>(items(*offsets, rows));
        return;
      case FieldForm::list:
      case FieldForm::nullable:
        if (const ColumnArray* offsets = find(f, ArrayRole::offsets))
          walk(f.children.front(), items(*offsets, rows));
        return;
      case FieldForm::array:
        return walk(f.children.front(), spread(rows, f.array_size));
      case FieldForm::variant:
        if (const ColumnArray* tags = find(f, ArrayRole::tags)) walk_variant(f, *tags, rows);
        return;
      case FieldForm::record:
      case FieldForm::product:
      case FieldForm::wrapper:
        for (const std::uint32_t child : f.children) walk(child, rows);
        return;
    }
  }

  std::vector<ColumnArray> result() && { return std::move(taken_); }

 private:
  const ColumnArray* find(const FieldDescriptor& f, ArrayRole role) const {
    const auto found = arrays_.find({f.id, role});
    return found == arrays_.end() ? nullptr : found->second;
  }

  ColumnArray& make(const ColumnArray& like, std::uint64_t size) {
    taken_.push_back(make_array(like.field, like.role, like.element, size, bytes_));
    bytes_ += size * size_of(like.element);
    return taken_.back();
  }

  void take(const ColumnArray* from, const Rows& rows, std::uint64_t each) {
    if (from == nullptr) return;
    const ColumnArray& to = make(*from, rows.size() * each);
    const std::size_t width = size_of(from->element) * each;
    const auto copy = [&]<std::size_t size>(std::integral_constant<std::size_t, size>) {
      for (std::size_t i = 0; i < rows.size(); ++i)
        std::memcpy(to.data.get() + i * size, from->data.get() + rows[i] * size, size);
    };
    if (width == 4) return copy(std::integral_constant<std::size_t, 4>{});
    if (width == 8) return copy(std::integral_constant<std::size_t, 8>{});
    for (std::size_t i = 0; i < rows.size(); ++i)
      std::memcpy(to.data.get() + i * width, from->data.get() + rows[i] * width, width);
  }

  // Offsets of the rows; the number of all items.
  std::uint64_t take_offsets(const ColumnArray& from, const Rows& rows) {
    const std::int64_t* ends = offsets_of(from);
    std::int64_t* to = offsets_of(make(from, rows.size() + 1));
    *to = 0;
    for (const std::uint64_t row : rows) {
      const std::int64_t before = *to;
      *++to = before + (ends[row + 1] - ends[row]);
    }
    return static_cast<std::uint64_t>(*to);
  }

  void take_stretches(const ColumnArray& offsets, const ColumnArray& values, const Rows& rows) {
    const std::uint64_t count = take_offsets(offsets, rows);
    const std::int64_t* ends = offsets_of(offsets);
    const std::size_t width = size_of(values.element);
    std::byte* to = make(values, count).data.get();
    for (const std::uint64_t row : rows) {
      const auto bytes = static_cast<std::size_t>(ends[row + 1] - ends[row]) * width;
      if (bytes > 0) std::memcpy(to, values.data.get() + static_cast<std::size_t>(ends[row]) * width, bytes);
      to += bytes;
    }
  }

  Rows items(const ColumnArray& offsets, const Rows& rows) {
    Rows found;
    found.reserve(take_offsets(offsets, rows));
    const std::int64_t* ends = offsets_of(offsets);
    for (const std::uint64_t row : rows)
      for (std::int64_t item = ends[row]; item < ends[row + 1]; ++item)
        found.push_back(static_cast<std::uint64_t>(item));
    return found;
  }

  static Rows spread(const Rows& rows, std::uint64_t each) {
    Rows found;
    found.reserve(rows.size() * each);
    for (const std::uint64_t row : rows)
      for (std::uint64_t item = 0; item < each; ++item) found.push_back(row * each + item);
    return found;
  }

  // The values of an alternative are numbered by how many rows before have it.
  void walk_variant(const FieldDescriptor& f, const ColumnArray& tags, const Rows& rows) {
    const std::span<const std::int32_t> all = tags.view<std::int32_t>();
    Rows number(all.size());
    std::vector<std::uint64_t> counts(f.children.size() + 1, 0);
    for (std::size_t i = 0; i < all.size(); ++i) number[i] = counts[static_cast<std::size_t>(all[i])]++;
    take(&tags, rows, 1);
    for (std::size_t k = 0; k < f.children.size(); ++k) {
      Rows wanted;
      for (const std::uint64_t row : rows)
        if (all[row] == static_cast<std::int32_t>(k + 1)) wanted.push_back(number[row]);
      walk(f.children[k], wanted);
    }
  }

  const Descriptor& descriptor_;
  std::map<Key, const ColumnArray*> arrays_;
  std::vector<ColumnArray> taken_;
  std::uint64_t bytes_ = 0;
};

std::uint64_t bytes_of(const ColumnArray& array) {
  return array.size * size_of(array.element);
}

}  // namespace

ColumnArray join_arrays(std::vector<ColumnArray> pieces, std::uint64_t bytes_before) {
  if (pieces.size() == 1) return std::move(pieces.front());
  const ColumnArray& first = pieces.front();
  const bool are_offsets = first.role == ArrayRole::offsets;
  std::uint64_t size = are_offsets ? 1 : 0;
  for (const ColumnArray& piece : pieces) size += piece.size - (are_offsets ? 1 : 0);
  ColumnArray whole = make_array(first.field, first.role, first.element, size, bytes_before);
  std::byte* to = whole.data.get();
  if (!are_offsets) {
    for (ColumnArray& piece : pieces) {
      const std::size_t bytes = piece.size * size_of(piece.element);
      if (bytes > 0) std::memcpy(to, piece.data.get(), bytes);
      to += bytes;
      piece.data.reset();
    }
    return whole;
  }
  std::int64_t* offset = offsets_of(whole);
  *offset = 0;
  for (const ColumnArray& piece : pieces) {
    const std::int64_t base = *offset;
    for (const std::int64_t end : piece.view<std::int64_t>().subspan(1)) *++offset = base + end;
  }
  return whole;
}

std::vector<ColumnArray> gather_arrays(const Descriptor& descriptor, std::span<const ColumnArray> arrays,
                                       std::span<const std::uint64_t> rows) {
  Gathering gathering(descriptor, arrays);
  const Rows all(rows.begin(), rows.end());
  for (const std::uint32_t top : descriptor.top_level_fields()) gathering.walk(top, all);
  return std::move(gathering).result();
}

GatheredArrays::GatheredArrays(const Descriptor& descriptor, const std::vector<std::uint64_t>& borders,
                               Read read, std::uint64_t budget)
    : descriptor_(descriptor), read_(std::move(read)), budget_(budget) {
  for (std::size_t i = 0; i + 1 < borders.size(); ++i)
    for (std::uint64_t first = borders[i]; first < borders[i + 1]; first += entries_of_block)
      begins_.push_back(first);
  begins_.push_back(borders.empty() ? 0 : borders.back());
}

// The end of the blocks that will be read behind the first one without a gap.
std::uint64_t GatheredArrays::ahead_of(const std::string& name, std::span<const std::size_t> wanted) const {
  std::size_t count = 1;
  const auto follows = [&] {
    return wanted[count] == wanted.front() + count && !known_.contains({name, wanted[count]});
  };
  while (count < std::min(wanted.size(), 1 + blocks_ahead) && follows()) ++count;
  return begins_[wanted.front() + count];
}

const std::vector<ColumnArray>& GatheredArrays::block(std::span<const std::string> paths,
                                                      const std::string& name,
                                                      std::span<const std::size_t> wanted) {
  const std::size_t number = wanted.front();
  const Name block_name{name, number};
  if (const auto found = known_.find(block_name); found != known_.end()) {
    recent_.splice(recent_.begin(), recent_, found->second);
    return found->second->arrays;
  }
  Block fresh{.name = block_name,
              .arrays = read_(paths, begins_[number], begins_[number + 1], ahead_of(name, wanted))};
  for (const ColumnArray& array : fresh.arrays) fresh.bytes += bytes_of(array);
  held_ += fresh.bytes;
  recent_.push_front(std::move(fresh));
  known_[block_name] = recent_.begin();
  while (held_ > budget_ && recent_.size() > 1) {
    held_ -= recent_.back().bytes;
    known_.erase(recent_.back().name);
    recent_.pop_back();
  }
  return recent_.front().arrays;
}

std::vector<ColumnArray> GatheredArrays::take(std::span<const std::string> paths,
                                              std::span<const std::uint64_t> entries) {
  if (paths.empty()) return {};
  if (entries.empty()) return read_(paths, 0, 0, 0);
  std::vector<std::size_t> block_of(entries.size());
  std::size_t at = 0;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (entries[i] >= begins_.back())
      throw Error(ErrorKind::usage, fmt::format("entry {} of {}", entries[i], begins_.back()));
    if (entries[i] < begins_[at] || entries[i] >= begins_[at + 1])
      at = static_cast<std::size_t>(std::ranges::upper_bound(begins_, entries[i]) - begins_.begin()) - 1;
    block_of[i] = at;
  }
  Rows order(entries.size());
  std::iota(order.begin(), order.end(), std::uint64_t{0});
  const bool is_in_order = std::ranges::is_sorted(block_of);
  if (!is_in_order) std::ranges::sort(order, {}, [&](std::uint64_t i) { return std::pair(block_of[i], i); });

  std::vector<std::size_t> wanted;
  for (const std::uint64_t i : order)
    if (wanted.empty() || wanted.back() != block_of[i]) wanted.push_back(block_of[i]);

  const std::string name = fmt::format("{}", fmt::join(paths, "\n"));
  std::span<const std::size_t> left = wanted;
  std::map<Key, std::vector<ColumnArray>> pieces;
  Rows rows;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const std::size_t number = block_of[order[i]];
    rows.push_back(entries[order[i]] - begins_[number]);
    if (i + 1 < order.size() && block_of[order[i + 1]] == number) continue;
    for (ColumnArray& array : gather_arrays(descriptor_, block(paths, name, left), rows))
      pieces[{array.field, array.role}].push_back(std::move(array));
    left = left.subspan(1);
    rows.clear();
  }
  std::vector<ColumnArray> joined;
  std::uint64_t bytes = 0;
  for (auto& [key, parts] : pieces) {
    joined.push_back(join_arrays(std::move(parts), bytes));
    bytes += bytes_of(joined.back());
  }
  if (is_in_order) return joined;
  Rows place(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) place[order[i]] = i;
  return gather_arrays(descriptor_, joined, place);
}

}  // namespace colonnade::dataset
