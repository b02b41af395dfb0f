// Base64 with the letters of RFC 4648, for bytes kept in JSON.
#ifndef COLONNADE_BASE_BASE64_H
#define COLONNADE_BASE_BASE64_H

#include <optional>
#include <string>
#include <string_view>

#include "base/bytes.h"

namespace colonnade {

std::string to_base64(ByteSpan bytes);
// Returns nothing if the text has other characters.
std::optional<std::string> from_base64(std::string_view text);

}  // namespace colonnade

#endif
