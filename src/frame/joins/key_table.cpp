// Open addressing with linear probing, in regions that threads fill side by side. The order in which equal
// hashes stand follows from the entries, and nothing that is found depends on the seed or on the number of
// regions.
#include "frame/joins/key_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <functional>
#include <limits>
#include <random>
#include <thread>

#include "colonnade/error.h"

namespace colonnade::frame {
namespace {

// Whoever writes data cannot know the seed, and so cannot make all keys collide.
std::uint64_t random_seed() {
  std::random_device device;
  return std::uint64_t{device()} << 32 | device();
}

// The finaliser of MurmurHash3, 64 bits.
std::uint64_t mix(std::uint64_t hash) noexcept {
  hash ^= hash >> 33;
  hash *= 0xff51afd7ed558ccdULL;
  hash ^= hash >> 33;
  hash *= 0xc4ceb9fe1a85ec53ULL;
  return hash ^ hash >> 33;
}

template <class Value>
std::uint64_t hash_of_key(std::uint64_t seed, std::size_t columns, Value value) noexcept {
  std::uint64_t hash = seed;
  for (std::size_t k = 0; k < columns; ++k) hash = mix(hash ^ value(k));
  return hash;
}

void run_in_threads(std::size_t count, const std::function<void(std::size_t)>& work) {
  std::vector<std::exception_ptr> failures(count);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < count; ++i)
    threads.emplace_back([&, i] {
      try {
        work(i);
      } catch (...) {
        failures[i] = std::current_exception();
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (const std::exception_ptr& failure : failures)
    if (failure) std::rethrow_exception(failure);
}

constexpr std::size_t fewest_per_thread = 50'000;
constexpr std::size_t looked_up_together = 32;  // so many reads of memory are under way at once

}  // namespace

KeyTable::Packed::Packed(KeyColumn column) : is_signed(column.is_signed) {
  if (column.values.empty()) return;
  const auto [low, high] = std::ranges::minmax_element(column.values, [&](std::uint64_t a, std::uint64_t b) {
    return is_signed ? static_cast<std::int64_t>(a) < static_cast<std::int64_t>(b) : a < b;
  });
  least = *low;
  if (*high - *low > std::numeric_limits<std::uint32_t>::max()) {
    wide = std::move(column.values);
    return;
  }
  narrow.reserve(column.values.size());
  for (const std::uint64_t value : column.values) narrow.push_back(static_cast<std::uint32_t>(value - least));
}

KeyTable::KeyTable(std::vector<KeyColumn> columns, std::span<const std::string> names, Duplicates duplicates,
                   unsigned threads)
    : seed_(random_seed()), entries_(columns.front().values.size()) {
  if (entries_ >= empty)
    throw Error(ErrorKind::resource,
                fmt::format("a join with {} entries; {} are the most", entries_, empty - 1));
  for (KeyColumn& column : columns) columns_.emplace_back(std::move(column));
  regions_ = std::clamp<std::size_t>(entries_ / fewest_per_thread, 1, std::max(threads, 1u));
  region_size_ = (entries_ * 8 / 5 + 16) / regions_ + 16;
  slots_.assign(regions_ * region_size_, empty);
  std::vector<std::size_t> found(regions_, entries_), others(regions_);
  run_in_threads(regions_,
                 [&](std::size_t region) { insert(region, duplicates, found[region], others[region]); });
  const auto first = std::ranges::min_element(found);
  if (*first < entries_)
    fail_duplicate(names, *first, others[static_cast<std::size_t>(first - found.begin())]);
}

void KeyTable::insert(std::size_t region, Duplicates duplicates, std::size_t& first_duplicate,
                      std::size_t& same_as) {
  const std::size_t first = region * region_size_;
  std::size_t taken = 0;
  Region ahead[looked_up_together];
  for (std::size_t entry = 0; entry < entries_; ++entry) {
    if (entry % looked_up_together == 0) {
      for (std::size_t i = 0; i < std::min(looked_up_together, entries_ - entry); ++i) {
        ahead[i] = region_of(hash_of(entry + i));
        if (ahead[i].first == first) __builtin_prefetch(&slots_[first + ahead[i].place], 1);
      }
    }
    const Region at = ahead[entry % looked_up_together];
    if (at.first != first) continue;
    std::size_t place = at.place;
    while (slots_[first + place] != empty && !equal(slots_[first + place], entry))
      place = place + 1 == at.size ? 0 : place + 1;
    if (slots_[first + place] == empty) {
      // One place stays empty, at which searches end.
      if (++taken == at.size) throw Error(ErrorKind::resource, "the keys of a join are spread too unevenly");
      slots_[first + place] = static_cast<std::uint32_t>(entry);
    } else if (duplicates == Duplicates::error) {
      first_duplicate = entry;
      same_as = slots_[first + place];
      return;
    }
  }
}

void KeyTable::find(std::span<const KeyColumn> keys, std::size_t count, std::int64_t* entries) const {
  if (entries_ == 0) {
    std::fill_n(entries, count, none);
    return;
  }
  std::uint64_t hashes[looked_up_together];
  for (std::size_t begin = 0; begin < count; begin += looked_up_together) {
    const std::size_t some = std::min(looked_up_together, count - begin);
    for (std::size_t i = 0; i < some; ++i) {
      hashes[i] =
          hash_of_key(seed_, columns_.size(), [&](std::size_t k) { return keys[k].values[begin + i]; });
      const Region at = region_of(hashes[i]);
      __builtin_prefetch(&slots_[at.first + at.place]);
    }
    for (std::size_t i = 0; i < some; ++i) {
      const Region at = region_of(hashes[i]);
      const std::uint32_t candidate = slots_[at.first + at.place];
      if (candidate == empty) continue;
      for (const Packed& column : columns_)
        column.wide.empty() ? __builtin_prefetch(&column.narrow[candidate])
                            : __builtin_prefetch(&column.wide[candidate]);
    }
    for (std::size_t i = 0; i < some; ++i) {
      const Region at = region_of(hashes[i]);
      const auto fits = [&](std::uint32_t candidate) {
        for (std::size_t k = 0; k < columns_.size(); ++k) {
          const std::uint64_t value = keys[k].values[begin + i];
          // The same bits are another number where one of them is negative.
          const bool is_other = keys[k].is_signed != columns_[k].is_signed && value >> 63 != 0;
          if (is_other || columns_[k][candidate] != value) return false;
        }
        return true;
      };
      std::size_t place = at.place;
      while (slots_[at.first + place] != empty && !fits(slots_[at.first + place]))
        place = place + 1 == at.size ? 0 : place + 1;
      const std::uint32_t found = slots_[at.first + place];
      entries[begin + i] = found == empty ? none : std::int64_t{found};
    }
  }
}

std::uint64_t KeyTable::bytes() const noexcept {
  std::uint64_t bytes = slots_.size() * sizeof(std::uint32_t);
  for (const Packed& column : columns_) bytes += column.narrow.size() * 4 + column.wide.size() * 8;
  return bytes;
}

// The region is chosen by the upper half of the hash, the place in it by the lower one.
KeyTable::Region KeyTable::region_of(std::uint64_t hash) const noexcept {
  const auto part = [](std::uint64_t bits, std::size_t of) {
    return static_cast<std::size_t>((bits & 0xffffffffu) * std::uint64_t{of} >> 32);
  };
  return {part(hash >> 32, regions_) * region_size_, region_size_, part(hash, region_size_)};
}

std::uint64_t KeyTable::hash_of(std::size_t entry) const noexcept {
  return hash_of_key(seed_, columns_.size(), [&](std::size_t k) { return columns_[k][entry]; });
}

bool KeyTable::equal(std::size_t a, std::size_t b) const noexcept {
  return std::ranges::all_of(columns_, [&](const Packed& column) { return column[a] == column[b]; });
}

void KeyTable::fail_duplicate(std::span<const std::string> names, std::size_t entry,
                              std::size_t other) const {
  std::string key;
  for (std::size_t k = 0; k < columns_.size(); ++k) {
    const std::uint64_t value = columns_[k][entry];
    key += fmt::format("{}{} = ", k == 0 ? "" : ", ", names[k]);
    key += columns_[k].is_signed ? fmt::format("{}", static_cast<std::int64_t>(value))
                                 : fmt::format("{}", value);
  }
  throw Error(ErrorKind::usage,
              fmt::format("the entries {} and {} have the same key ({})", other, entry, key),
              "join by more keys, or have the first of several entries taken");
}

}  // namespace colonnade::frame
