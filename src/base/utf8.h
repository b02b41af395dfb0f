// Text in UTF-8 (RFC 3629).
#ifndef COLONNADE_BASE_UTF8_H
#define COLONNADE_BASE_UTF8_H

#include <cstddef>
#include <string>
#include <string_view>

namespace colonnade {

// The length of the sequence at the front of a text that is not empty, 0 if it is invalid.
std::size_t utf8_length(std::string_view text);

// Names as texts: bytes that are not UTF-8 become "\xff", and such bytes again.
std::string shown_name(std::string_view stored);
std::string stored_name(std::string_view shown);

}  // namespace colonnade

#endif
