// Errors in a text, with a picture of the place:
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
struct Place {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
};

// `below` stands under the picture: what would be right.
Error error_at(ErrorKind kind, std::string_view text, Place place, std::string_view problem,
               std::string_view below = {});

// "; did you mean 'Sum'?", or "; there are: a, b" where these are few, or nothing.
std::string near_names(std::string_view name, std::span<const std::string> names);

}  // namespace colonnade::frame

#endif
