// An enumeration over such a type.
// EXPECT: wchar_t, char8_t, char16_t and char32_t cannot be stored
#include "colonnade/field_types.h"

enum class Letter : char16_t { a };
auto field = colonnade::make_field<Letter>("x");
