// Errors in a text, with a mark at the position:
//
//   unknown function 'Sumx'; did you mean 'Sum'?
//     Sumx(pt) > 5
//     ^~~~
#ifndef COLONNADE_FRAME_EXPRESSION_MESSAGE_H
#define COLONNADE_FRAME_EXPRESSION_MESSAGE_H

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "colonnade/error.h"

namespace colonnade::frame {

// Characters [begin, end) of a text.
struct TextRange {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
};

// `below` is printed under the mark: a suggestion.
Error error_at(ErrorKind kind, std::string_view text, TextRange range, std::string_view problem,
               std::string_view below = {});

// "; did you mean 'Sum'?", or "; there are: a, b" if there are few, or empty.
std::string near_names(std::string_view name, std::span<const std::string> names);

}  // namespace colonnade::frame

#endif
