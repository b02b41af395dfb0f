// Filling and searching. Searches go on in order from where a hash begins, in regions that threads fill side
// by side. Nothing that is found depends on the seed or on the number of threads.
#include "dataset/joins/key_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <functional>
#include <limits>
#include <mutex>
#include <random>
#include <utility>

#include "base/side_by_side.h"
#include "colonnade/error.h"

namespace colonnade::dataset {
namespace {

// The author of a file cannot know the seed, and so cannot make all keys collide.
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

// Calls work(first, last) for stretches of `count` items side by side.
void split(std::size_t count, unsigned threads, const std::function<void(std::size_t, std::size_t)>& work) {
  run_side_by_side(threads, [&](std::size_t t) { work(count * t / threads, count * (t + 1) / threads); });
}

constexpr std::size_t fewest_per_thread = 50'000;
constexpr std::size_t rows_at_once = 256;
// So many reads of memory are under way at once.
constexpr std::size_t ahead = 32;
// No rank: a key that is in no entry.
constexpr std::uint64_t absent = ~std::uint64_t{0};

template <class Slot>
constexpr Slot empty = static_cast<Slot>(~Slot{0});

template <class Slot>
std::uint32_t entry_of(Slot slot) noexcept {
  return static_cast<std::uint32_t>(slot);
}

std::uint64_t bits_of(std::uint64_t span) noexcept {
  return static_cast<std::uint64_t>(std::bit_width(span));
}

}  // namespace

// Some rows of the columns at a time, unpacked.
class KeyTable::Rows {
 public:
  explicit Rows(std::span<const PackedKeys> columns) : columns_(columns), values_(columns.size()) {}

  // As many as rows_at_once. The result is valid until the next call.
  std::span<const KeyColumn> read(std::size_t first, std::size_t count) {
    read_.clear();
    for (std::size_t k = 0; k < columns_.size(); ++k) {
      columns_[k].read(first, count, values_[k].data());
      read_.push_back({columns_[k].is_signed(), {values_[k].data(), count}});
    }
    return read_;
  }

 private:
  std::span<const PackedKeys> columns_;
  std::vector<std::array<std::uint64_t, rows_at_once>> values_;
  std::vector<KeyColumn> read_;
};

// What filling needs beside the table.
struct KeyTable::Filling {
  std::span<const PackedKeys> columns;
  std::span<const std::string> names;
  Duplicates duplicates;
  unsigned threads;
  JoinMemory& memory;

  // Calls work(first row, count, their keys) side by side.
  void for_each_batch(
      const std::function<void(std::size_t, std::size_t, std::span<const KeyColumn>)>& work) const {
    split(columns.front().size(), threads, [&](std::size_t first, std::size_t last) {
      Rows rows(columns);
      for (std::size_t begin = first; begin < last; begin += rows_at_once) {
        const std::size_t count = std::min(rows_at_once, last - begin);
        work(begin, count, rows.read(begin, count));
      }
    });
  }

  [[noreturn]] void fail(std::size_t entry, std::size_t other) const {
    std::string key;
    for (std::size_t k = 0; k < names.size(); ++k) {
      const std::uint64_t value = columns[k].at(entry);
      key += fmt::format("{}{} = ", k == 0 ? "" : ", ", names[k]);
      key += columns[k].is_signed() ? fmt::format("{}", static_cast<std::int64_t>(value))
                                    : fmt::format("{}", value);
    }
    throw Error(ErrorKind::usage,
                fmt::format("the entries {} and {} have the same key ({})", other, entry, key),
                "join by more keys, or have the first of several entries taken");
  }
};

// ---- Ranks

void KeyTable::choose_form(std::span<const PackedKeys> columns) {
  std::uint64_t ranks = 1;
  bool is_wide = false;
  for (const PackedKeys& column : columns) {
    const auto [least, greatest] = column.bounds();
    const std::uint64_t span = greatest - least;
    digits_.push_back({column.is_signed(), least, span, ranks});
    is_wide |= span == absent || __builtin_mul_overflow(ranks, span + 1, &ranks) || ranks == absent;
  }
  if (is_wide) {
    std::uint64_t bit = 0;
    for (Digit& digit : digits_) digit.stride = std::exchange(bit, bit + bits_of(digit.span));
  }
  constexpr std::uint64_t few = 65'536;
  if (is_wide) {
    form_ = Form::wide;
  } else if (ranks <= std::max<std::uint64_t>(few, std::uint64_t{entries_} * 4)) {
    form_ = Form::direct;
    region_size_ = ranks + 1;  // the last one stays empty: that of what is absent
  } else {
    form_ = ranks - 1 <= std::numeric_limits<std::uint32_t>::max() ? Form::exact : Form::tagged;
  }
}

// Of rows: the rank of their keys, or `absent`; a hash of them where they have none.
void KeyTable::ranks(std::span<const KeyColumn> keys, std::size_t first, std::size_t count,
                     std::uint64_t* to) const {
  std::fill_n(to, count, form_ == Form::wide ? seed_ : 0);
  for (std::size_t k = 0; k < digits_.size(); ++k) {
    const Digit digit = digits_[k];
    const std::uint64_t* values = keys[k].values.data() + first;
    if (form_ == Form::wide) {
      for (std::size_t i = 0; i < count; ++i) to[i] = mix(to[i] ^ values[i]);
      continue;
    }
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint64_t distance = values[i] - digit.least;
      const bool fits = distance <= digit.span && to[i] != absent;
      to[i] = fits ? to[i] + distance * digit.stride : absent;
    }
    // The same bits are another number where one of them is negative.
    if (keys[k].is_signed != digit.is_signed)
      for (std::size_t i = 0; i < count; ++i)
        if (values[i] >> 63 != 0) to[i] = absent;
  }
}

std::uint64_t KeyTable::hash(std::uint64_t rank) const noexcept {
  return form_ == Form::wide ? rank : mix(rank ^ seed_);
}

// The region is chosen by the upper half of the hash, the place in it by the lower one.
KeyTable::ProbePosition KeyTable::probe_position(std::uint64_t hash) const noexcept {
  const auto part = [](std::uint64_t bits, std::size_t of) {
    return static_cast<std::size_t>((bits & 0xffffffffu) * std::uint64_t{of} >> 32);
  };
  return {part(hash >> 32, regions_) * region_size_, part(hash, region_size_)};
}

template <class Slot>
Slot KeyTable::slot_for(Form form, std::uint64_t rank, std::uint64_t hash, std::uint64_t entry) noexcept {
  if constexpr (sizeof(Slot) == sizeof(std::uint32_t)) return static_cast<Slot>(entry);
  return (form == Form::exact ? rank << 32 : hash & ~std::uint64_t{0xffffffffu}) | entry;
}

std::size_t KeyTable::word_count() const noexcept {
  constexpr std::uint64_t word_bits = 64;
  std::uint64_t bits = 0;
  for (const Digit& digit : digits_) bits += bits_of(digit.span);
  return static_cast<std::size_t>((bits + word_bits - 1) / word_bits);
}

JoinMemory::Placement KeyTable::placement_of_word(std::size_t number) noexcept {
  constexpr std::size_t most_in_memory = 2;
  return number < most_in_memory ? JoinMemory::Placement::as_budgeted : JoinMemory::Placement::file;
}

std::uint64_t KeyTable::word(std::size_t number, std::span<const KeyColumn> keys,
                             std::size_t row) const noexcept {
  const std::int64_t first = std::int64_t{64} * static_cast<std::int64_t>(number);
  std::uint64_t word = 0;
  for (std::size_t k = 0; k < digits_.size(); ++k) {
    const std::uint64_t distance = keys[k].values[row] - digits_[k].least;
    const std::int64_t at = static_cast<std::int64_t>(digits_[k].stride) - first;
    if (at >= 0 && at < 64)
      word |= distance << at;
    else if (at < 0 && at > -64)
      word |= distance >> -at;
  }
  return word;
}

bool KeyTable::has_keys(std::uint32_t entry, std::span<const KeyColumn> keys,
                        std::size_t row) const noexcept {
  for (std::size_t k = 0; k < digits_.size(); ++k) {
    const std::uint64_t value = keys[k].values[row];
    const bool is_other = keys[k].is_signed != digits_[k].is_signed && value >> 63 != 0;
    if (is_other || value - digits_[k].least > digits_[k].span) return false;
  }
  for (std::size_t w = 0; w < words_.size(); ++w)
    if (words_[w][entry] != word(w, keys, row)) return false;
  return true;
}

// ---- Filling

KeyTable::KeyTable(std::span<const PackedKeys> columns, std::span<const std::string> names,
                   Duplicates duplicates, unsigned threads, JoinMemory& memory)
    : seed_(random_seed()), entries_(columns.front().size()) {
  if (entries_ >= empty<std::uint32_t>)
    throw Error(ErrorKind::resource, fmt::format("a join with {} entries is too large; the limit is {}",
                                                 entries_, empty<std::uint32_t> - 1));
  if (entries_ == 0) return;
  threads =
      static_cast<unsigned>(std::clamp<std::size_t>(entries_ / fewest_per_thread, 1, std::max(threads, 1u)));
  choose_form(columns);
  Filling filling{columns, names, duplicates, threads, memory};
  if (form_ == Form::direct) {
    fill_direct(filling);
    return;
  }
  regions_ = threads;
  region_size_ = (entries_ * 8 / 5 + 16) / regions_ + 16;
  if (form_ == Form::wide) {
    fill_words(filling);
    fill_hashed(filling, entry_slots_);
    return;
  }
  if (form_ == Form::tagged) {
    ranks_ = array<std::uint64_t>(entries_, memory);
    filling.for_each_batch([&](std::size_t first, std::size_t count, std::span<const KeyColumn> keys) {
      ranks(keys, 0, count, ranks_.writable() + first);
    });
  }
  fill_hashed(filling, tag_slots_);
}

void KeyTable::fill_words(const Filling& filling) {
  for (std::size_t w = 0; w < word_count(); ++w) {
    words_.push_back(array<std::uint64_t>(entries_, filling.memory, placement_of_word(w)));
    std::uint64_t* to = words_.back().writable();
    filling.for_each_batch([&](std::size_t first, std::size_t count, std::span<const KeyColumn> keys) {
      for (std::size_t i = 0; i < count; ++i) to[first + i] = word(w, keys, i);
    });
  }
}

// All write where they belong. If fewer places are taken than there are entries, some have the same key, and
// the least of them is put there.
void KeyTable::fill_direct(Filling& filling) {
  entry_slots_ = array<std::uint32_t>(region_size_, filling.memory);
  std::uint32_t* slots = entry_slots_.writable();
  split(region_size_, filling.threads, [&](std::size_t first, std::size_t last) {
    std::fill(slots + first, slots + last, empty<std::uint32_t>);
  });
  const auto for_each_entry = [&](auto&& work) {
    filling.for_each_batch([&](std::size_t first, std::size_t count, std::span<const KeyColumn> keys) {
      std::array<std::uint64_t, rows_at_once> to;
      ranks(keys, 0, count, to.data());
      for (std::size_t i = 0; i < count; ++i) {
        if (i + ahead < count) __builtin_prefetch(&slots[to[i + ahead]], 1);
        work(static_cast<std::uint32_t>(first + i), std::atomic_ref<std::uint32_t>(slots[to[i]]));
      }
    });
  };
  for_each_entry([](std::uint32_t entry, std::atomic_ref<std::uint32_t> slot) {
    slot.store(entry, std::memory_order_relaxed);
  });
  std::atomic<std::size_t> taken{0};
  split(region_size_, filling.threads, [&](std::size_t first, std::size_t last) {
    taken += last - first -
             static_cast<std::size_t>(std::count(slots + first, slots + last, empty<std::uint32_t>));
  });
  if (taken == entries_) return;
  for_each_entry([](std::uint32_t entry, std::atomic_ref<std::uint32_t> slot) {
    std::uint32_t there = slot.load(std::memory_order_relaxed);
    while (entry < there && !slot.compare_exchange_weak(there, entry, std::memory_order_relaxed)) {
    }
  });
  if (filling.duplicates == Duplicates::first) return;
  std::atomic<std::size_t> first{entries_}, other{0};
  std::mutex turn;
  for_each_entry([&](std::uint32_t entry, std::atomic_ref<std::uint32_t> slot) {
    const std::uint32_t there = slot.load(std::memory_order_relaxed);
    if (there == entry || entry >= first) return;
    const std::lock_guard lock(turn);
    if (entry >= first) return;
    first = entry;
    other = there;
  });
  filling.fail(first, other);
}

template <class Slot>
void KeyTable::fill_hashed(Filling& filling, Array<Slot>& slots) {
  slots = array<Slot>(regions_ * region_size_, filling.memory);
  std::vector<std::size_t> found(regions_, entries_), others(regions_);
  run_side_by_side(regions_, [&](std::size_t region) {
    Slot* own = slots.writable() + region * region_size_;
    std::fill_n(own, region_size_, empty<Slot>);
    insert(filling, own, region, found[region], others[region]);
  });
  const auto first = std::ranges::min_element(found);
  if (*first < entries_) filling.fail(*first, others[static_cast<std::size_t>(first - found.begin())]);
}

// The entries of one region, in order.
template <class Slot>
void KeyTable::insert(const Filling& filling, Slot* slots, std::size_t region, std::size_t& first_duplicate,
                      std::size_t& same_as) const {
  std::size_t taken = 0;
  std::array<std::uint64_t, rows_at_once> ranks, hashes;
  std::array<std::uint32_t, rows_at_once> own;  // rows of this region
  Rows rows(filling.columns);
  for (std::size_t begin = 0; begin < entries_; begin += rows_at_once) {
    const std::size_t some = std::min(rows_at_once, entries_ - begin);
    const std::span<const KeyColumn> keys = rows.read(begin, some);
    this->ranks(keys, 0, some, ranks.data());
    std::size_t count = 0;
    for (std::size_t i = 0; i < some; ++i) {
      hashes[i] = hash(ranks[i]);
      own[count] = static_cast<std::uint32_t>(i);
      count += probe_position(hashes[i]).first == region * region_size_ ? 1 : 0;
    }
    for (std::size_t n = 0; n < count; ++n) {
      if (n + ahead < count) __builtin_prefetch(&slots[probe_position(hashes[own[n + ahead]]).at], 1);
      const std::size_t i = own[n];
      const Slot wanted = slot_for<Slot>(form_, ranks[i], hashes[i], begin + i);
      std::size_t at = probe_position(hashes[i]).at;
      const auto is_same = [&](Slot slot) {
        if (slot >> 31 >> 1 != wanted >> 31 >> 1) return false;
        const std::uint32_t entry = entry_of(slot);
        if (form_ == Form::tagged) return ranks_[entry] == ranks[i];
        return form_ == Form::exact || has_keys(entry, keys, i);
      };
      while (slots[at] != empty<Slot> && !is_same(slots[at])) at = at + 1 == region_size_ ? 0 : at + 1;
      if (slots[at] == empty<Slot>) {
        // One place stays empty, at which searches end.
        if (++taken == region_size_)
          throw Error(ErrorKind::resource, "the keys of a join are spread too unevenly");
        slots[at] = wanted;
      } else if (filling.duplicates == Duplicates::error) {
        first_duplicate = begin + i;
        same_as = entry_of(slots[at]);
        return;
      }
    }
  }
}

// ---- Searching

void KeyTable::find(std::span<const KeyColumn> keys, std::size_t count, std::int64_t* entries) const {
  if (entries_ == 0) {
    std::fill_n(entries, count, none);
    return;
  }
  std::array<std::uint64_t, rows_at_once> ranks;
  for (std::size_t begin = 0; begin < count; begin += rows_at_once) {
    const std::size_t some = std::min(rows_at_once, count - begin);
    this->ranks(keys, begin, some, ranks.data());
    if (form_ == Form::direct)
      find_direct(ranks.data(), some, entries + begin);
    else if (form_ == Form::wide)
      find_hashed(entry_slots_, keys, begin, ranks.data(), some, entries + begin);
    else
      find_hashed(tag_slots_, keys, begin, ranks.data(), some, entries + begin);
  }
}

void KeyTable::find_direct(const std::uint64_t* ranks, std::size_t count, std::int64_t* entries) const {
  const std::uint32_t* slots = entry_slots_.data();
  const auto slot_of = [&](std::size_t i) {
    return slots + std::min<std::uint64_t>(ranks[i], region_size_ - 1);
  };
  for (std::size_t i = 0; i < count; ++i) {
    if (i + ahead < count) __builtin_prefetch(slot_of(i + ahead));
    const std::uint32_t entry = *slot_of(i);
    entries[i] = entry == empty<std::uint32_t> ? none : std::int64_t{entry};
  }
}

template <class Slot>
void KeyTable::find_hashed(const Array<Slot>& slots, std::span<const KeyColumn> keys, std::size_t first,
                           const std::uint64_t* ranks, std::size_t count, std::int64_t* entries) const {
  std::array<std::uint64_t, rows_at_once> hashes;
  std::array<std::size_t, rows_at_once> places;
  for (std::size_t i = 0; i < count; ++i) {
    hashes[i] = hash(ranks[i]);
    const ProbePosition position = probe_position(hashes[i]);
    places[i] = position.first + position.at;
  }
  const auto prefetch_key = [&](std::size_t i) {
    const std::uint32_t candidate = entry_of(slots[places[i]]);
    if (candidate >= entries_) return;
    if (form_ == Form::tagged) __builtin_prefetch(&ranks_[candidate]);
    for (const auto& words : words_) __builtin_prefetch(&words[candidate]);
  };
  for (std::size_t i = 0; i < std::min(2 * ahead, count); ++i) __builtin_prefetch(&slots[places[i]]);
  if (form_ != Form::exact)
    for (std::size_t i = 0; i < std::min(ahead, count); ++i) prefetch_key(i);
  for (std::size_t i = 0; i < count; ++i) {
    if (i + 2 * ahead < count) __builtin_prefetch(&slots[places[i + 2 * ahead]]);
    if (form_ != Form::exact && i + ahead < count) prefetch_key(i + ahead);
    const Slot wanted = slot_for<Slot>(form_, ranks[i], hashes[i], 0);
    const auto fits = [&](Slot slot) {
      if (slot >> 31 >> 1 != wanted >> 31 >> 1) return false;
      const std::uint32_t entry = entry_of(slot);
      if (form_ == Form::tagged) return ranks_[entry] == ranks[i];
      return form_ == Form::exact || has_keys(entry, keys, first + i);
    };
    const std::size_t region = places[i] / region_size_ * region_size_;
    std::size_t at = places[i];
    while (slots[at] != empty<Slot> && !fits(slots[at]))
      at = at + 1 == region + region_size_ ? region : at + 1;
    const bool is_absent = slots[at] == empty<Slot> || (form_ != Form::wide && ranks[i] == absent);
    entries[i] = is_absent ? none : std::int64_t{entry_of(slots[at])};
  }
}

}  // namespace colonnade::dataset
