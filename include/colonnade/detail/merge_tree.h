// MergeTree: merges the states of parts in an order that depends on the numbers of the parts alone.
//
// User functions that merge two states need not be associative to the last bit, so the order must be fixed:
// it is that of a binary tree over all parts of the source, which joins parts 2k and 2k + 1 first, then pairs
// of such pairs.
//
//   part     0   1   2   3   4   5   6
//            '-+-'   '-+-'   '-+-'   |
//              '---+---'       '--+--'
//                  '-------+------'
//
// A tree over some of the parts keeps the states that wait for a neighbour, about two for each level; trees
// over other parts may be joined to it in any order and grouping. A tree also keeps empty parts until they
// have been merged.
#ifndef COLONNADE_DETAIL_MERGE_TREE_H
#define COLONNADE_DETAIL_MERGE_TREE_H

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

namespace colonnade::detail {

template <class State>
class MergeTree {
 public:
  // The state of the parts [first, first + 2^level), if they produced any.
  struct Subtree {
    std::uint64_t first = 0;
    unsigned level = 0;
    std::optional<State> state;
    std::uint64_t end() const noexcept { return first + (std::uint64_t{1} << level); }
  };

  const std::vector<Subtree>& subtrees() const noexcept { return subtrees_; }

  // Adds the state of one part. Parts are added in ascending order; parts left out are empty.
  template <class Merge>
  void add(std::uint64_t part, State state, const Merge& merge) {
    if (!subtrees_.empty())
      for (std::uint64_t at = subtrees_.back().end(); at < part;) {
        const unsigned level = level_of_gap(at, part);
        insert({at, level, std::nullopt}, merge);
        at += std::uint64_t{1} << level;
      }
    insert({part, 0, std::move(state)}, merge);
  }
  // Adds a node of a tree over other parts. Returns false, without any change, if its parts are here already.
  template <class Merge>
  bool insert(Subtree node, const Merge& merge) {
    auto at = std::ranges::lower_bound(subtrees_, node.first, {}, &Subtree::first);
    if (at != subtrees_.end() && at->first < node.end()) return false;
    if (at != subtrees_.begin() && std::prev(at)->end() > node.first) return false;
    auto place = static_cast<std::size_t>(at - subtrees_.begin());
    subtrees_.insert(at, std::move(node));
    while (true) {  // merge with the neighbour, if it is here
      const std::uint64_t width = std::uint64_t{1} << subtrees_[place].level;
      const bool is_right = (subtrees_[place].first & width) != 0;
      if (is_right && place == 0) return true;
      const std::size_t left = is_right ? place - 1 : place;
      if (left + 1 >= subtrees_.size() || subtrees_[left].level != subtrees_[left + 1].level ||
          subtrees_[left].end() != subtrees_[left + 1].first || (subtrees_[left].first & width) != 0)
        return true;
      join(subtrees_[left].state, std::move(subtrees_[left + 1].state), merge);
      ++subtrees_[left].level;
      subtrees_.erase(subtrees_.begin() + static_cast<std::ptrdiff_t>(left) + 1);
      place = left;
    }
  }
  // The merged state of all parts, where parts that are not here count as empty. `copy` makes a copy that may
  // be changed.
  template <class Merge, class Copy>
  std::optional<State> total(const Merge& merge, const Copy& copy) const {
    std::vector<Subtree> level;
    std::size_t waiting = 0;
    for (const Subtree& node : subtrees_)
      if (node.state) ++waiting;
    for (const Subtree& node : subtrees_)
      if (node.state)
        level.push_back({node.first, node.level, waiting > 1 ? State(copy(*node.state)) : *node.state});
    while (level.size() > 1) join_lowest(level, merge);
    return level.empty() ? std::nullopt : std::move(level.front().state);
  }

 private:
  // The largest block of parts that begins at `first`, is aligned as in the tree, and ends by `last`.
  static unsigned level_of_gap(std::uint64_t first, std::uint64_t last) noexcept {
    const auto fits = static_cast<unsigned>(std::bit_width(last - first)) - 1;
    return first == 0 ? fits : std::min(fits, static_cast<unsigned>(std::countr_zero(first)));
  }
  template <class Merge>
  static void join(std::optional<State>& to, std::optional<State> later, const Merge& merge) {
    if (!later) return;
    if (to)
      to = merge(std::move(*to), std::move(*later));
    else
      to = std::move(later);
  }
  // Takes one step up the tree: merges the two neighbours whose common ancestor is lowest.
  template <class Merge>
  static void join_lowest(std::vector<Subtree>& level, const Merge& merge) {
    const auto height = [&](std::size_t i) { return std::bit_width(level[i].first ^ level[i + 1].first); };
    std::size_t lowest = 0;
    for (std::size_t i = 1; i + 1 < level.size(); ++i)
      if (height(i) < height(lowest)) lowest = i;
    join(level[lowest].state, std::move(level[lowest + 1].state), merge);
    level.erase(level.begin() + static_cast<std::ptrdiff_t>(lowest) + 1);
  }

  std::vector<Subtree> subtrees_;  // in order
};

}  // namespace colonnade::detail

#endif
