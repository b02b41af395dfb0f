// MergeTree: states of parts, merged in an order that follows from the numbers of the parts alone.
//
// Functions of the user that merge two states need not be associative to the last bit, so the order must be
// fixed: it is that of a binary tree over all parts of the source, in which parts 2k and 2k + 1 come together
// first, then pairs of these.
//
//   part     0   1   2   3   4   5   6
//            '-+-'   '-+-'   '-+-'   |
//              '---+---'       '--+--'
//                  '-------+------'
//
// A tree over some of the parts keeps the states that wait for a neighbour, about two for each level; trees
// over other parts may be joined to it in any order and grouping. Parts from which nothing came are known,
// too, as long as nobody waits for them.
#ifndef COLONNADE_DETAIL_MERGE_TREE_H
#define COLONNADE_DETAIL_MERGE_TREE_H

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace colonnade::detail {

template <class State>
class MergeTree {
 public:
  // The parts [first, first + 2^level), and what came of them, if anything did.
  struct Node {
    std::uint64_t first = 0;
    unsigned level = 0;
    std::optional<State> state;
    std::uint64_t end() const noexcept { return first + (std::uint64_t{1} << level); }
  };

  const std::vector<Node>& nodes() const noexcept { return nodes_; }

  // The state of one part. Parts are added in growing order; those left out gave nothing.
  template <class Merge>
  void add(std::uint64_t part, State state, const Merge& merge) {
    if (!nodes_.empty())
      for (std::uint64_t at = nodes_.back().end(); at < part;) {
        const unsigned level = level_of_gap(at, part);
        insert({at, level, std::nullopt}, merge);
        at += std::uint64_t{1} << level;
      }
    insert({part, 0, std::move(state)}, merge);
  }
  // A node of a tree over other parts. False, and nothing has changed, if its parts are here already.
  template <class Merge>
  bool insert(Node node, const Merge& merge) {
    auto at = std::ranges::lower_bound(nodes_, node.first, {}, &Node::first);
    if (at != nodes_.end() && at->first < node.end()) return false;
    if (at != nodes_.begin() && std::prev(at)->end() > node.first) return false;
    auto place = static_cast<std::size_t>(at - nodes_.begin());
    nodes_.insert(at, std::move(node));
    while (true) {  // with its neighbour, as long as that is there
      const std::uint64_t width = std::uint64_t{1} << nodes_[place].level;
      const bool is_right = (nodes_[place].first & width) != 0;
      if (is_right && place == 0) return true;
      const std::size_t left = is_right ? place - 1 : place;
      if (left + 1 >= nodes_.size() || nodes_[left].level != nodes_[left + 1].level ||
          nodes_[left].end() != nodes_[left + 1].first || (nodes_[left].first & width) != 0)
        return true;
      join(nodes_[left].state, std::move(nodes_[left + 1].state), merge);
      ++nodes_[left].level;
      nodes_.erase(nodes_.begin() + static_cast<std::ptrdiff_t>(left) + 1);
      place = left;
    }
  }
  // What all parts together give, as if nothing came from parts that are not here. `copy` makes what may be
  // changed of a state that stays.
  template <class Merge, class Copy>
  std::optional<State> total(const Merge& merge, const Copy& copy) const {
    std::vector<Node> level;
    std::size_t waiting = 0;
    for (const Node& node : nodes_)
      if (node.state) ++waiting;
    for (const Node& node : nodes_)
      if (node.state)
        level.push_back({node.first, node.level, waiting > 1 ? State(copy(*node.state)) : *node.state});
    while (level.size() > 1) join_lowest(level, merge);
    return level.empty() ? std::nullopt : std::move(level.front().state);
  }

 private:
  // The largest block of parts that begins at `first`, as trees have them, and ends by `last`.
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
  // Takes one step up the tree: the two neighbours whose common ancestor is lowest come together.
  template <class Merge>
  static void join_lowest(std::vector<Node>& level, const Merge& merge) {
    const auto height = [&](std::size_t i) { return std::bit_width(level[i].first ^ level[i + 1].first); };
    std::size_t lowest = 0;
    for (std::size_t i = 1; i + 1 < level.size(); ++i)
      if (height(i) < height(lowest)) lowest = i;
    join(level[lowest].state, std::move(level[lowest + 1].state), merge);
    level.erase(level.begin() + static_cast<std::ptrdiff_t>(lowest) + 1);
  }

  std::vector<Node> nodes_;  // in order
};

}  // namespace colonnade::detail

#endif
