// A character type that files do not know.
// EXPECT: wchar_t, char8_t, char16_t and char32_t cannot be stored
#include "colonnade/field_types.h"

auto field = colonnade::make_field<std::vector<wchar_t>>("x");
