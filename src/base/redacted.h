// The one place that keeps secrets out of messages: every Error and every warning goes through it.
#ifndef COLONNADE_BASE_REDACTED_H
#define COLONNADE_BASE_REDACTED_H

#include <initializer_list>
#include <string>
#include <string_view>

namespace colonnade {

// The text with *** in place of what only its owner should know: the user name and password of a URI
// ("https://***@host/x"), values of parameters and headers that carry keys, tokens or signatures
// ("?X-Amz-Signature=***", "x-amz-security-token: ***", percent-encoded as well). `known`: secrets that are
// replaced wherever they stand. What was redacted once stays as it is.
std::string redacted(std::string_view text, std::initializer_list<std::string_view> known = {});

}  // namespace colonnade

#endif
