// JoinReader; see colonnade/join.h.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "colonnade/error.h"
#include "colonnade/join.h"
#include "dataset/joins/integer_keys.h"
#include "dataset/joins/key_table.h"

namespace colonnade {

using dataset::IntegerKeys;
using dataset::KeyTable;

namespace detail {

// A chain of a JoinReader. Without keys it has as many entries as the first one.
class JoinSide {
 public:
  struct Key {
    std::shared_ptr<JoinSide> side;  // where the key of an entry is found
    std::string path;
  };
  JoinSide(std::string name, std::shared_ptr<ChainReader> reader, std::uint64_t entries)
      : name_(std::move(name)), reader_(std::move(reader)), entries_(entries) {}
  JoinSide(std::string name, std::shared_ptr<ChainReader> reader, std::uint64_t entries,
           std::vector<Key> keys, ReaderJoinOptions options)
      : JoinSide(std::move(name), std::move(reader), entries) {
    keys_ = std::move(keys);
    options_ = std::move(options);
  }

  const std::string& name() const noexcept { return name_; }
  ChainReader& reader() const noexcept { return *reader_; }
  std::uint64_t entries() const noexcept { return entries_; }

  void check_range(std::uint64_t first, std::uint64_t last) const {
    if (first > last || last > entries_)
      throw Error(ErrorKind::usage, fmt::format("entries {} to {} of {}", first, last, entries_));
  }

  std::vector<std::int64_t> matches(std::uint64_t first, std::uint64_t last) {
    check_range(first, last);
    std::vector<std::int64_t> found(last - first, KeyTable::none);
    if (keys_.empty()) {
      for (std::size_t i = 0; i < found.size(); ++i) found[i] = static_cast<std::int64_t>(first + i);
      return found;
    }
    std::vector<IntegerKeys> keys;
    std::vector<bool> lacks(found.size(), false);
    for (const Key& key : keys_) keys.push_back(key.side->keys(key.path, first, last, lacks));
    table().find(dataset::columns_of(keys), found.size(), found.data());
    for (std::size_t i = 0; i < found.size(); ++i)
      if (lacks[i]) found[i] = KeyTable::none;
    return found;
  }

 private:
  // For the entries [first, last); entries without a key are marked, and have zero.
  IntegerKeys keys(const std::string& path, std::uint64_t first, std::uint64_t last,
                   std::vector<bool>& lacks) {
    if (keys_.empty()) return dataset::read_keys(*reader_, path, first, last);
    const std::vector<std::int64_t> entries = matches(first, last);
    std::vector<std::uint64_t> found;
    for (const std::int64_t entry : entries)
      if (entry >= 0) found.push_back(static_cast<std::uint64_t>(entry));
    const IntegerKeys some = dataset::to_keys(reader_->arrays_at({&path, 1}, found).back());
    IntegerKeys all{.is_signed = some.is_signed, .values = std::vector<std::uint64_t>(entries.size(), 0)};
    std::size_t next = 0;
    for (std::size_t i = 0; i < entries.size(); ++i) {
      if (entries[i] >= 0)
        all.values[i] = some.values[next++];
      else
        lacks[i] = true;
    }
    return all;
  }

  const KeyTable& table() {
    if (!table_)
      table_.emplace(dataset::table_of_keys(
          {.names = options_.other_keys,
           .duplicates = options_.takes_first ? KeyTable::Duplicates::first : KeyTable::Duplicates::error,
           .uri = options_.table,
           .source = options_.table.empty() ? std::string() : reader_->index()},
          [this] {
            std::vector<dataset::PackedKeys> keys;
            for (const std::string& path : options_.other_keys)
              keys.push_back(dataset::pack_keys(*reader_, path, memory_));
            return keys;
          },
          memory_));
    return *table_;
  }

  std::string name_;
  std::shared_ptr<ChainReader> reader_;
  std::uint64_t entries_;
  std::vector<Key> keys_;
  ReaderJoinOptions options_;
  dataset::JoinMemory memory_;
  std::optional<KeyTable> table_;
};

namespace {

constexpr std::uint64_t block_size = 1024;

}  // namespace

JoinCore::JoinCore(std::shared_ptr<JoinSide> side, std::string path, std::optional<ElementType> element)
    : side_(std::move(side)), path_(std::move(path)), element_(element) {}

ChainReader& JoinCore::reader() const noexcept {
  return side_->reader();
}

void JoinCore::read_block(std::uint64_t first) {
  entries_.clear();
  const std::uint64_t last = std::min(first + block_size, side_->entries());
  std::vector<std::int64_t> entries = side_->matches(first, last);
  if (element_) {
    std::vector<std::uint64_t> found;
    positions_.clear();
    for (const std::int64_t entry : entries) {
      positions_.push_back(static_cast<std::uint32_t>(found.size()));
      if (entry >= 0) found.push_back(static_cast<std::uint64_t>(entry));
    }
    std::vector<ColumnArray> arrays = reader().arrays_at({&path_, 1}, found);
    if (arrays.size() != 1 || arrays.front().element != *element_)
      element_.reset();
    else
      numbers_ = std::move(arrays.front());
  }
  first_ = first;
  entries_ = std::move(entries);
}

std::int64_t JoinCore::entry(std::uint64_t index) {
  if (index < first_ || index - first_ >= entries_.size()) {
    side_->check_range(index, index + 1);
    read_block(index / block_size * block_size);
  }
  return entries_[index - first_];
}

std::uint64_t JoinCore::entry_or_fail(std::uint64_t index) {
  const std::int64_t found = entry(index);
  if (found < 0)
    throw Error(ErrorKind::usage, fmt::format("entry {} has no match in '{}'", index, side_->name()),
                "check has_value() first", {.field = path_});
  return static_cast<std::uint64_t>(found);
}

const void* JoinCore::number(std::uint64_t index) {
  if (!element_) return nullptr;
  return numbers_.data.get() + positions_[index - first_] * size_of(*element_);
}

}  // namespace detail

JoinReader::JoinReader(std::shared_ptr<ChainReader> first) {
  const std::uint64_t entries = first->num_entries();
  sides_.push_back(std::make_shared<detail::JoinSide>("", std::move(first), entries));
}

JoinReader::~JoinReader() = default;

std::unique_ptr<JoinReader> JoinReader::open(std::shared_ptr<ChainReader> first) {
  return std::unique_ptr<JoinReader>(new JoinReader(std::move(first)));
}

void JoinReader::check_name(const std::string& name) const {
  const Descriptor& first = side("").descriptor();
  const auto is_field = [&](std::uint32_t id) { return first.fields[id].name == name; };
  if (name.empty() || name.find('.') != std::string::npos || std::ranges::count(sides(), name) > 0 ||
      std::ranges::any_of(first.top_level_fields(), is_field))
    throw Error(ErrorKind::usage, fmt::format("'{}' cannot be the name of what is joined", name),
                "an unused name without dots");
}

void JoinReader::add_friend(const std::string& name, std::shared_ptr<ChainReader> other) {
  check_name(name);
  if (other->num_entries() != num_entries())
    throw Error(ErrorKind::usage,
                fmt::format("the friend '{}' has {} entries, and '{}' has {}", name, other->num_entries(),
                            side("").name(), num_entries()),
                "join by keys", {.uri = other->files().front().uri});
  sides_.push_back(std::make_shared<detail::JoinSide>(name, std::move(other), num_entries()));
}

void JoinReader::add_join(const std::string& name, std::shared_ptr<ChainReader> other,
                          const ReaderJoinOptions& options) {
  check_name(name);
  ReaderJoinOptions wanted = options;
  if (wanted.keys.empty()) throw Error(ErrorKind::usage, "a join needs at least one key");
  if (wanted.other_keys.empty()) wanted.other_keys = wanted.keys;
  if (wanted.other_keys.size() != wanted.keys.size())
    throw Error(ErrorKind::usage,
                fmt::format("{} keys for a join by {}", wanted.other_keys.size(), wanted.keys.size()));
  std::vector<detail::JoinSide::Key> keys;
  for (const std::string& key : wanted.keys) {
    auto [side, path] = resolve(key);
    dataset::check_key(side->reader().descriptor(), path);
    keys.push_back({std::move(side), std::move(path)});
  }
  for (const std::string& key : wanted.other_keys) dataset::check_key(other->descriptor(), key);
  if (!wanted.table.empty() && other->index().empty())
    throw Error(ErrorKind::usage,
                "a table of keys can be saved only for schemas that this version knows in full",
                "join without a table");
  sides_.push_back(std::make_shared<detail::JoinSide>(name, std::move(other), num_entries(), std::move(keys),
                                                      std::move(wanted)));
}

std::uint64_t JoinReader::num_entries() const noexcept {
  return sides_.front()->entries();
}

std::vector<std::string> JoinReader::sides() const {
  std::vector<std::string> names;
  for (std::size_t i = 1; i < sides_.size(); ++i) names.push_back(sides_[i]->name());
  return names;
}

ChainReader& JoinReader::side(std::string_view name) const {
  for (const auto& side : sides_)
    if (side->name() == name) return side->reader();
  throw Error(ErrorKind::not_found, fmt::format("nothing that was joined is called '{}'", name),
              fmt::format("one of: {}", fmt::join(sides(), ", ")));
}

std::pair<std::shared_ptr<detail::JoinSide>, std::string> JoinReader::resolve(std::string_view path) const {
  const std::size_t point = path.find('.');
  const std::string_view head = path.substr(0, point);
  for (const auto& side : sides_)
    if (point != std::string_view::npos && side->name() == head)
      return {side, std::string(path.substr(point + 1))};
  return {sides_.front(), std::string(path)};
}

std::vector<std::int64_t> JoinReader::matches(std::string_view name, std::uint64_t first,
                                              std::uint64_t last) {
  static_cast<void>(side(name));
  const auto found = std::ranges::find(sides_, name, [](const auto& side) { return side->name(); });
  return (*found)->matches(first, last);
}

}  // namespace colonnade
