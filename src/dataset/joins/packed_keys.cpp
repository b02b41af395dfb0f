// See packed_keys.h.
#include "dataset/joins/packed_keys.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <type_traits>
#include <vector>

namespace colonnade::dataset {
namespace {

// Calls work with the type of distances up to `span`, unless all are 0.
template <class Work>
void visit_distances(std::uint64_t span, Work&& work) {
  const auto fits = [&]<class T>(std::type_identity<T>) { return span <= std::numeric_limits<T>::max(); };
  if (span == 0) return;
  if (fits(std::type_identity<std::uint8_t>()))
    work(std::type_identity<std::uint8_t>());
  else if (fits(std::type_identity<std::uint16_t>()))
    work(std::type_identity<std::uint16_t>());
  else if (fits(std::type_identity<std::uint32_t>()))
    work(std::type_identity<std::uint32_t>());
  else
    work(std::type_identity<std::uint64_t>());
}

// So that every piece begins where the widest distances may.
constexpr std::size_t aligned(std::size_t bytes) {
  constexpr std::size_t width = sizeof(std::uint64_t);
  return (bytes + width - 1) / width * width;
}

}  // namespace

PackedKeys::PackedKeys(bool is_signed, std::size_t rows, JoinMemory& memory)
    : is_signed_(is_signed), size_(rows), memory_(memory.allocate(rows * sizeof(std::uint64_t))) {}

PackedKeys::PackedKeys(const KeyColumn& column, JoinMemory& memory)
    : PackedKeys(column.is_signed, column.values.size(), memory) {
  write(0, column.values);
}

PackedKeys::Bounds PackedKeys::bounds_of(std::span<const std::uint64_t> values) const noexcept {
  // Signed numbers are in the order of unsigned ones when their sign is turned round.
  const std::uint64_t turn = is_signed_ ? std::uint64_t{1} << 63 : 0;
  std::uint64_t least = ~std::uint64_t{0}, greatest = 0;
  for (const std::uint64_t value : values) {
    least = std::min(least, value ^ turn);
    greatest = std::max(greatest, value ^ turn);
  }
  return {least ^ turn, greatest ^ turn};
}

void PackedKeys::write(std::size_t first, std::span<const std::uint64_t> values) {
  while (!values.empty()) {
    const std::span<const std::uint64_t> some = values.first(std::min(values.size(), rows_per_piece));
    const Bounds bounds = bounds_of(some);
    const std::uint64_t span = bounds.greatest - bounds.least;
    std::size_t width = 0;
    visit_distances(span, [&]<class T>(std::type_identity<T>) { width = sizeof(T); });
    std::byte* to = nullptr;
    {
      const std::lock_guard lock(written_->mutex);
      to = memory_.get() + written_->bytes;
      written_->bytes += aligned(some.size() * width);
      written_->pieces.emplace(first, Piece{some.size(), bounds, to});
    }
    visit_distances(span, [&]<class T>(std::type_identity<T>) {
      T* const distances = reinterpret_cast<T*>(to);
      for (std::size_t i = 0; i < some.size(); ++i) distances[i] = static_cast<T>(some[i] - bounds.least);
    });
    first += some.size();
    values = values.subspan(some.size());
  }
}

void PackedKeys::read(std::size_t first, std::size_t count, std::uint64_t* to) const {
  auto piece = std::prev(written_->pieces.upper_bound(first));
  while (count > 0) {
    const auto& [begin, packed] = *piece++;
    const std::size_t skipped = first - begin;
    const std::size_t some = std::min(count, packed.rows - skipped);
    const auto [least, greatest] = packed.bounds;
    if (greatest == least) std::fill_n(to, some, least);
    visit_distances(greatest - least, [&]<class T>(std::type_identity<T>) {
      const T* const distances = reinterpret_cast<const T*>(packed.distances) + skipped;
      for (std::size_t i = 0; i < some; ++i) to[i] = least + distances[i];
    });
    first += some;
    to += some;
    count -= some;
  }
}

std::uint64_t PackedKeys::at(std::size_t row) const {
  std::uint64_t value = 0;
  read(row, 1, &value);
  return value;
}

PackedKeys::Bounds PackedKeys::bounds() const {
  std::vector<std::uint64_t> all;
  for (const auto& [first, piece] : written_->pieces) {
    all.push_back(piece.bounds.least);
    all.push_back(piece.bounds.greatest);
  }
  return bounds_of(all);
}

}  // namespace colonnade::dataset
