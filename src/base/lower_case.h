// Letters of ASCII in lower case, whatever the locale of the process: in Turkish ones std::tolower('I') is
// not 'i'.
#ifndef COLONNADE_BASE_LOWER_CASE_H
#define COLONNADE_BASE_LOWER_CASE_H

#include <algorithm>
#include <string>
#include <string_view>

namespace colonnade {

constexpr char lower_case(char letter) noexcept {
  return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
}

inline std::string lower_case(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(), [](char letter) { return lower_case(letter); });
  return result;
}

}  // namespace colonnade

#endif
