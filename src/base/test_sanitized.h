// For tests: whether they run under AddressSanitizer, where fewer cases have to do.
#ifndef COLONNADE_BASE_TEST_SANITIZED_H
#define COLONNADE_BASE_TEST_SANITIZED_H

namespace colonnade {

#if defined(__SANITIZE_ADDRESS__)
constexpr bool is_sanitized = true;
#elif defined(__has_feature)
constexpr bool is_sanitized = __has_feature(address_sanitizer);
#else
constexpr bool is_sanitized = false;
#endif

}  // namespace colonnade

#endif
