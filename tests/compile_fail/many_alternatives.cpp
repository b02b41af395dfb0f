// 126 alternatives.
// EXPECT: a stored std::variant has at most 125 alternatives
#include "colonnade/field_types.h"

template <std::size_t... I>
std::variant<std::array<int, I + 1>...> many(std::index_sequence<I...>);
auto field = colonnade::make_field<decltype(many(std::make_index_sequence<126>()))>("x");
