// Common parts of the functions over strings.
#ifndef COLONNADE_FRAME_FUNCTIONS_STRINGS_H
#define COLONNADE_FRAME_FUNCTIONS_STRINGS_H

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "frame/expression/function.h"

namespace colonnade::frame {

// Strings, or characters as strings of one, by row, possibly a single constant.
class Strings {
 public:
  explicit Strings(const Values& values)
      : offsets_(values.offsets),
        characters_(static_cast<const char*>(values.type.is_string() ? values.items().data : values.data)),
        step_(values.constant ? 0 : 1) {}

  std::string_view operator[](std::size_t place) const {
    if (offsets_ == nullptr) return {characters_ + place * step_, 1};
    const std::int64_t begin = offsets_[place * step_];
    const std::int64_t end = offsets_[place * step_ + 1];
    return {characters_ + begin, static_cast<std::size_t>(end - begin)};
  }
  std::size_t size_of(std::size_t place) const {
    return offsets_ == nullptr
               ? 1
               : static_cast<std::size_t>(offsets_[place * step_ + 1] - offsets_[place * step_]);
  }
  bool is_constant() const { return step_ == 0; }
  // Of strings that are not constant: text i has the characters [offsets[i], offsets[i + 1]). Else null.
  const std::int64_t* offsets() const { return is_constant() ? nullptr : offsets_; }
  const char* characters() const { return characters_; }

 private:
  const std::int64_t* offsets_;
  const char* characters_;
  std::size_t step_;
};

// Counts characters as memory of the block, which has a limit: a text may double with each step of a loop.
// Throws ErrorKind::resource.
inline void count_characters(BlockMemory& memory, std::size_t characters) {
  if (characters > memory.left()) static_cast<void>(memory.allocate(characters));  // throws
  memory.limit(memory.left() - characters);
}

// "operator==" and the other comparisons, between strings and lists of strings (strings_compare.cpp).
Bound string_comparison(const Call& call);

}  // namespace colonnade::frame

#endif
