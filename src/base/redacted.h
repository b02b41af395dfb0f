// Keeps secrets out of messages: every Error and every warning passes through this function.
#ifndef COLONNADE_BASE_REDACTED_H
#define COLONNADE_BASE_REDACTED_H

#include <initializer_list>
#include <string>
#include <string_view>

namespace colonnade {

// Returns the text with *** in place of secrets: the user name and password of a URI ("https://***@host/x"),
// values of parameters and headers that carry keys, tokens or signatures ("?X-Amz-Signature=***",
// "x-amz-security-token: ***", also percent-encoded). `known`: secrets that are replaced wherever they occur.
// Idempotent.
std::string redacted(std::string_view text, std::initializer_list<std::string_view> known = {});

}  // namespace colonnade

#endif
