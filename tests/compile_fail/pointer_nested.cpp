// Deep inside of standard types.
// EXPECT: a pointer cannot be stored
#include "colonnade/field_types.h"

auto field =
    colonnade::make_field<std::map<int, std::variant<float, std::optional<std::vector<char*>>>>>("x");
