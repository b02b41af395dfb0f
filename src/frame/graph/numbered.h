// Objects with ascending numbers that are never reused: the number of a removed object stays invalid.
#ifndef COLONNADE_FRAME_GRAPH_NUMBERED_H
#define COLONNADE_FRAME_GRAPH_NUMBERED_H

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>

namespace colonnade::frame {

template <class T>
class Numbered {
 public:
  std::uint32_t add(T value) {
    things_.emplace_hint(things_.end(), next_, std::move(value));
    return next_++;
  }
  // To another list, which must not have that number. Needs no memory.
  void move_to(Numbered& other, std::uint32_t number) { other.things_.insert(things_.extract(number)); }

  bool contains(std::uint32_t number) const { return things_.contains(number); }
  // The object must exist.
  T& operator[](std::uint32_t number) { return things_.find(number)->second; }
  const T& operator[](std::uint32_t number) const { return things_.find(number)->second; }
  std::size_t size() const noexcept { return things_.size(); }
  std::uint32_t next() const noexcept { return next_; }
  // Later objects get this number or higher ones.
  void skip_to(std::uint32_t number) { next_ = std::max(next_, number); }

  // Pairs of number and object, in insertion order.
  auto begin() { return things_.begin(); }
  auto end() { return things_.end(); }
  auto begin() const { return things_.begin(); }
  auto end() const { return things_.end(); }

 private:
  std::map<std::uint32_t, T> things_;
  std::uint32_t next_ = 0;
};

}  // namespace colonnade::frame

#endif
