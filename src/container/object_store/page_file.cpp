// See page_file.h. Addresses are found by bisection: pieces are sorted, those of a column in a cluster are
// contiguous.
#include "container/object_store/page_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>

#include "container/object_store/layout.h"
#include "container/object_store/read_queue.h"

namespace colonnade::container {
namespace {

constexpr std::uint64_t smallest_unit = std::uint64_t{4} << 10;
// A request of at least this size takes so long that it may as well be two.
constexpr std::uint64_t large_request = std::uint64_t{8} << 20;

std::uint64_t stored_bytes(const PageDescriptor& page) noexcept {
  return page.locator.size + (page.has_checksum ? 8 : 0);
}

std::uint64_t round_up(std::uint64_t value, std::uint64_t unit) noexcept {
  return (value + (unit - 1)) & ~(unit - 1);
}

// One <object, distribution key> per call; in the order of the parts.
template <class Fetch>
void for_each_operation(const std::vector<ObjectPageFile::ValueRange>& parts, std::size_t most,
                        Fetch&& fetch) {
  std::vector<io::FetchItem> items;
  for (std::size_t i = 0; i < parts.size();) {
    const io::ValueAddress& first = parts[i].value;
    items.clear();
    for (; i < parts.size() && parts[i].value.object == first.object && parts[i].value.dkey == first.dkey &&
           items.size() < most;
         ++i)
      items.push_back({parts[i].value.akey, parts[i].offset, parts[i].into});
    fetch(first, items);
  }
}

// A value that the page list names must exist: not_found means more than a missing value.
void fetch(const io::ObjectStore& store, const AnchorRecord& anchor, const io::ValueAddress& first,
           std::span<const io::FetchItem> items) {
  try {
    store.fetch(first.object, first.dkey, items);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::not_found) throw;
    throw missing_page(store, anchor, error);
  }
}

}  // namespace

ObjectPageFile::ObjectPageFile(std::shared_ptr<io::ObjectStore> store, AnchorRecord anchor,
                               const Descriptor& descriptor)
    : store_(std::move(store)), anchor_(std::move(anchor)), store_traits_(store_->traits()) {
  const std::uint64_t unit = unit_for(descriptor);
  io_traits_ = {
      .max_request = store_traits_.ranges ? std::max(large_request, 2 * unit) : std::size_t{1} << 40,
      .best_request = store_traits_.ranges ? store_traits_.best_request : 0,
      .worthwhile_gap = store_traits_.worthwhile_gap,
      .concurrency = std::max(store_traits_.concurrency, 1U),
      .most_concurrency = store_traits_.most_concurrency,
      .reads_are_copies = store_traits_.reads_are_copies,
      .read_unit = unit};
  first_column_.reserve(descriptor.clusters.size() + 1);
  for (const ClusterDescriptor& cluster : descriptor.clusters) {
    first_column_.push_back(first_pieces_.size());
    for (std::size_t column = 0; column < cluster.columns.size(); ++column) {
      first_pieces_.push_back(pieces_.size());
      lay_out(static_cast<std::uint32_t>(column), cluster.columns[column].pages);
    }
  }
  first_column_.push_back(first_pieces_.size());
  first_pieces_.push_back(pieces_.size());
}

// ---- Laying out

bool ObjectPageFile::place_of(const PageDescriptor& page, PagePosition& place) const noexcept {
  const std::uint64_t largest =
      std::min<std::uint64_t>(store_traits_.max_value, std::numeric_limits<std::uint32_t>::max());
  if (page.locator.kind != Locator::Kind::object64 || page.locator.size > largest) return false;
  if (anchor_.mapping == ObjectMapping::object_per_page) {
    place = {page.locator.offset, 0};
  } else {
    const LocalityLocation in = LocalityLocation::of(page.locator.offset);
    place = {page.locator.offset - in.offset, in.offset};
  }
  return place.offset + stored_bytes(page) <= largest;
}

std::uint64_t ObjectPageFile::unit_for(const Descriptor& descriptor) const {
  std::uint64_t bytes = anchor_.splice_size != 0 ? anchor_.splice_size : store_traits_.best_value;
  if (!store_traits_.ranges) {
    bytes = std::max(bytes, anchor_.value_target);
    if (anchor_.mapping == ObjectMapping::locality)
      for (const ClusterDescriptor& cluster : descriptor.clusters)
        for (const ColumnRange& range : cluster.columns)
          for (const PageDescriptor& page : range.pages)
            bytes = std::max(bytes, LocalityLocation::of(page.locator.offset).offset + 1);
  }
  return std::bit_ceil(std::clamp(bytes, smallest_unit, LocalityLocation::most_offset));
}

// True if the piece directly follows the other one. Both belong to one column and cluster.
bool ObjectPageFile::follows(const MappedValue& piece, const MappedValue& previous) const noexcept {
  if (!store_traits_.vectors || anchor_.mapping != ObjectMapping::locality) return false;
  return piece.length <= io_traits_.read_unit / 2 &&
         LocalityLocation::of(piece.location).object == LocalityLocation::of(previous.location).object;
}

void ObjectPageFile::lay_out(std::uint32_t column, const PageList& pages) {
  const auto first = static_cast<std::ptrdiff_t>(pieces_.size());
  PagePosition place;
  for (const PageDescriptor& page : pages) {
    if (!place_of(page, place)) continue;
    const auto length = static_cast<std::uint32_t>(place.offset + stored_bytes(page));
    if (pieces_.size() > static_cast<std::size_t>(first) && pieces_.back().location == place.location)
      pieces_.back().length = std::max(pieces_.back().length, length);
    else
      pieces_.push_back({.location = place.location, .length = length, .column = column});
  }
  // Writers number upwards; otherwise a value may have appeared several times.
  const auto by_location = [](const MappedValue& a, const MappedValue& b) {
    return std::pair(a.location, b.length) < std::pair(b.location, a.length);
  };
  if (!std::is_sorted(pieces_.begin() + first, pieces_.end(), by_location)) {
    std::sort(pieces_.begin() + first, pieces_.end(), by_location);
    const auto is_same = [](const MappedValue& a, const MappedValue& b) { return a.location == b.location; };
    pieces_.erase(std::unique(pieces_.begin() + first, pieces_.end(), is_same), pieces_.end());
  }
  for (auto piece = pieces_.begin() + first; piece != pieces_.end(); ++piece) {
    const bool next_to = piece != pieces_.begin() + first && follows(*piece, *(piece - 1));
    piece->begin = next_to ? end_ : round_up(end_, io_traits_.read_unit);
    end_ = piece->begin + piece->length;
  }
}

// ---- Looking up

PageList ObjectPageFile::place(std::size_t cluster, std::uint32_t column, const PageList& pages) const {
  PageList placed;
  placed.reserve(pages.size());
  const std::size_t at = first_column_[cluster] + column;
  const bool is_known = at < first_column_[cluster + 1];
  const auto begin = pieces_.begin() + static_cast<std::ptrdiff_t>(is_known ? first_pieces_[at] : 0);
  const auto end = pieces_.begin() + static_cast<std::ptrdiff_t>(is_known ? first_pieces_[at + 1] : 0);
  auto piece = begin;
  PagePosition where;
  for (PageDescriptor page : pages) {
    const bool is_placed = place_of(page, where);
    if (is_placed && (piece == end || piece->location != where.location))
      piece = std::lower_bound(begin, end, where.location, [](const MappedValue& of, std::uint64_t location) {
        return of.location < location;
      });
    if (is_placed && piece != end && piece->location == where.location) {
      page.locator = {.size = page.locator.size, .offset = piece->begin + where.offset};
    } else {
      page.locator.kind = Locator::Kind::unknown;
    }
    placed.push_back(page);
  }
  return placed;
}

const ObjectPageFile::MappedValue* ObjectPageFile::piece_at(std::uint64_t offset) const noexcept {
  const auto after =
      std::upper_bound(pieces_.begin(), pieces_.end(), offset,
                       [](std::uint64_t address, const MappedValue& piece) { return address < piece.begin; });
  return after == pieces_.begin() ? nullptr : &*(after - 1);
}

io::ValueAddress ObjectPageFile::value_of(const MappedValue& piece) const noexcept {
  if (anchor_.mapping == ObjectMapping::object_per_page)
    return {.object = {group_of_object(anchor_, piece.location), piece.location}, .dkey = 0, .akey = 0};
  const LocalityLocation place = LocalityLocation::of(piece.location);
  return {.object = {group_of_object(anchor_, place.object), place.object},
          .dkey = piece.column,
          .akey = place.value};
}

void ObjectPageFile::split(std::uint64_t offset, MutableByteSpan into, std::vector<ValueRange>& parts) const {
  const MappedValue* piece = piece_at(offset);
  while (!into.empty()) {
    const bool is_in = piece != nullptr && piece != pieces_.data() + pieces_.size() &&
                       offset >= piece->begin && offset - piece->begin < piece->length;
    if (!is_in)
      throw Error(ErrorKind::format,
                  fmt::format("{} bytes were requested beyond the pages of the data set", into.size()), "",
                  {.uri = uri()});
    const std::uint64_t from = offset - piece->begin;
    const std::size_t count = std::min<std::uint64_t>(into.size(), piece->length - from);
    parts.push_back({value_of(*piece), from, into.first(count)});
    into = into.subspan(count);
    offset += count;
    ++piece;
  }
}

std::string ObjectPageFile::to_text(std::uint64_t offset, std::uint64_t size) const {
  const MappedValue* piece = piece_at(offset);
  if (piece == nullptr) return {};
  const std::uint64_t from = offset - piece->begin;
  return fmt::format("{}, bytes {} to {}", io::to_text(value_of(*piece)), from, from + size);
}

void ObjectPageFile::check(std::uint64_t offset, std::uint64_t size) const {
  const MappedValue* piece = piece_at(offset);
  if (piece == nullptr) return;
  const io::ValueAddress address = value_of(*piece);
  const std::uint64_t end = offset - piece->begin + size;
  const std::optional<std::uint64_t> there = store_->size(address);
  if (there && *there >= end) return;
  const Error error(
      ErrorKind::format,
      there ? fmt::format("{} has {} bytes, but the page ends at byte {}", io::to_text(address), *there, end)
            : fmt::format("{} is missing", io::to_text(address)),
      "restore the data set from another copy", {.uri = uri()});
  throw there ? error : missing_page(*store_, anchor_, error);
}

// ---- Reading

void ObjectPageFile::read(std::uint64_t offset, MutableByteSpan into) const {
  const io::ReadRequest request{offset, into};
  read_vector({&request, 1});
}

void ObjectPageFile::read_vector(std::span<const io::ReadRequest> requests) const {
  std::vector<ValueRange> parts;
  for (const io::ReadRequest& request : requests) split(request.offset, request.into, parts);
  for_each_operation(parts, store_traits_.max_items,
                     [&](const io::ValueAddress& first, std::span<const io::FetchItem> items) {
                       fetch(*store_, anchor_, first, items);
                     });
}

void ObjectPageFile::will_need(std::uint64_t offset, std::uint64_t size) const noexcept {
  const std::uint64_t end = offset + size;
  const MappedValue* const last = pieces_.data() + pieces_.size();
  for (const MappedValue* piece = piece_at(offset); piece != nullptr && piece != last && piece->begin < end;
       ++piece) {
    const std::uint64_t from = std::max(offset, piece->begin) - piece->begin;
    if (from < piece->length)
      store_->will_need(value_of(*piece), from,
                        std::min<std::uint64_t>(end - piece->begin, piece->length) - from);
  }
}

std::unique_ptr<io::ReadQueue> ObjectPageFile::open_queue(unsigned depth) const {
  return make_object_read_queue(*this, store_->open_queue(depth), store_traits_, depth);
}

}  // namespace colonnade::container
