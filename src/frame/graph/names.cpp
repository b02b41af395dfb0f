// See names.h.
#include "frame/graph/names.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

namespace colonnade::frame {

std::uint32_t NameTable::add(std::string_view name) {
  auto found = entries_.find(name);
  if (found == entries_.end()) {
    if (free_.capacity() <= entries_.size()) free_.reserve(2 * entries_.size() + 8);  // for release()
    auto number = static_cast<std::uint32_t>(entries_.size());
    if (!free_.empty()) {
      number = free_.back();
      free_.pop_back();
    }
    found = entries_.emplace(name, CountedName{number}).first;
  }
  ++found->second.uses;
  return found->second.number;
}

void NameTable::release(std::string_view name) noexcept {
  const auto found = entries_.find(name);
  if (--found->second.uses > 0) return;
  free_.push_back(found->second.number);
  entries_.erase(found);
}

std::optional<std::uint32_t> NameTable::find(std::string_view name) const {
  const auto found = entries_.find(name);
  if (found == entries_.end()) return std::nullopt;
  return found->second.number;
}

// ---- NameMap

namespace {
constexpr unsigned bits = 4;
constexpr std::uint32_t unset = 0xffffffffu;
unsigned digit(std::uint32_t name, unsigned height) {
  return (name >> (bits * height)) & ((1u << bits) - 1);
}
}  // namespace

struct NameMap::Branch {
  std::array<BranchPtr, 1u << bits> branches;  // above the leaves
  std::array<std::uint32_t, 1u << bits> columns;
};

std::optional<std::uint32_t> NameMap::find(std::uint32_t name) const {
  if ((std::uint64_t{name} >> (bits * (height_ + 1))) != 0) return std::nullopt;
  const Branch* branch = root_.get();
  for (unsigned height = height_; branch != nullptr; --height) {
    const unsigned place = digit(name, height);
    if (height == 0) {
      if (branch->columns[place] == unset) return std::nullopt;
      return branch->columns[place];
    }
    branch = branch->branches[place].get();
  }
  return std::nullopt;
}

NameMap::BranchPtr NameMap::insert(const Branch* branch, unsigned height, std::uint32_t name,
                                   std::uint32_t column) {
  auto copy = branch != nullptr ? std::make_shared<Branch>(*branch) : std::make_shared<Branch>();
  if (branch == nullptr) copy->columns.fill(unset);
  const unsigned place = digit(name, height);
  if (height == 0) {
    copy->columns[place] = column;
  } else {
    copy->branches[place] = insert(copy->branches[place].get(), height - 1, name, column);
  }
  return copy;
}

NameMap NameMap::with(std::uint32_t name, std::uint32_t column) const {
  NameMap map = *this;
  while ((std::uint64_t{name} >> (bits * (map.height_ + 1))) != 0) {
    ++map.height_;
    if (map.root_ == nullptr) continue;
    auto above = std::make_shared<Branch>();
    above->columns.fill(unset);
    above->branches[0] = std::move(map.root_);
    map.root_ = std::move(above);
  }
  map.root_ = insert(map.root_.get(), map.height_, name, column);
  return map;
}

void NameMap::collect(const Branch* branch, unsigned height, std::vector<std::uint32_t>& columns) {
  if (branch == nullptr) return;
  for (std::size_t place = 0; place < branch->columns.size(); ++place) {
    if (height > 0) {
      collect(branch->branches[place].get(), height - 1, columns);
    } else if (branch->columns[place] != unset) {
      columns.push_back(branch->columns[place]);
    }
  }
}

std::vector<std::uint32_t> NameMap::columns() const {
  std::vector<std::uint32_t> columns;
  collect(root_.get(), height_, columns);
  return columns;
}

// ---- VariationSet

VariationSet unite(const VariationSet& a, const VariationSet& b) {
  if (b == nullptr || a == b) return a;
  if (a == nullptr) return b;
  if (std::ranges::includes(*a, *b)) return a;
  if (std::ranges::includes(*b, *a)) return b;
  auto both = std::make_shared<std::vector<VariationId>>();
  std::ranges::set_union(*a, *b, std::back_inserter(*both));
  return both;
}

bool contains(const VariationSet& set, VariationId variation) {
  return set != nullptr && std::ranges::binary_search(*set, variation);
}

}  // namespace colonnade::frame
