// Names that are never columns in expressions.
#ifndef COLONNADE_FRAME_EXPRESSION_SPECIAL_NAMES_H
#define COLONNADE_FRAME_EXPRESSION_SPECIAL_NAMES_H

#include <array>
#include <optional>
#include <string_view>

#include "frame/expression/expression.h"

namespace colonnade::frame {

struct SpecialName {
  std::string_view name;
  Op op = Op::entry;
};

inline constexpr std::array<SpecialName, 5> special_names = {{{"rdfentry_", Op::entry},
                                                              {"rdfslot_", Op::slot},
                                                              {"rdfsampleinfo_", Op::sample},
                                                              {"tdfentry_", Op::entry},
                                                              {"tdfslot_", Op::slot}}};

// Empty for other names.
inline std::optional<Op> special_op(std::string_view name) {
  for (const SpecialName& special : special_names)
    if (special.name == name) return special.op;
  return std::nullopt;
}

}  // namespace colonnade::frame

#endif
