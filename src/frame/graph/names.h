// Names at the nodes of a graph: every node has a map of its own that shares all but one path with its
// parent's, so that ten thousand consecutive definitions do not cost ten thousand copies.
#ifndef COLONNADE_FRAME_GRAPH_NAMES_H
#define COLONNADE_FRAME_GRAPH_NAMES_H

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace colonnade::frame {

// Reference-counted small numbers for names.
class NameTable {
 public:
  std::uint32_t add(std::string_view name);
  // To be called as often as add().
  void release(std::string_view name) noexcept;
  std::optional<std::uint32_t> find(std::string_view name) const;

 private:
  struct CountedName {
    std::uint32_t number = 0;
    std::uint32_t uses = 0;
  };
  std::map<std::string, CountedName, std::less<>> entries_;
  std::vector<std::uint32_t> free_;
};

// An immutable map from a name's number to a column's number: a radix tree over the numbers.
class NameMap {
 public:
  std::optional<std::uint32_t> find(std::uint32_t name) const;
  NameMap with(std::uint32_t name, std::uint32_t column) const;
  std::vector<std::uint32_t> columns() const;

 private:
  struct Branch;
  using BranchPtr = std::shared_ptr<const Branch>;
  static void collect(const Branch* branch, unsigned height, std::vector<std::uint32_t>& columns);
  static BranchPtr insert(const Branch* branch, unsigned height, std::uint32_t name, std::uint32_t column);

  BranchPtr root_;
  unsigned height_ = 0;  // of the root; a leaf has 0
};

// A set of variations. There are few distinct sets, so they are shared; null is the empty set.
using VariationId = std::uint32_t;  // 0: the nominal values
using VariationSet = std::shared_ptr<const std::vector<VariationId>>;

VariationSet unite(const VariationSet& a, const VariationSet& b);
bool contains(const VariationSet& set, VariationId variation);

}  // namespace colonnade::frame

#endif
