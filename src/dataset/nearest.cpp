// Edit distance over names; see nearest.h.
#include "dataset/nearest.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/lower_case.h"

namespace colonnade::dataset {
namespace {

constexpr std::size_t max_suggestions = 3;
constexpr std::size_t max_listed = 10;
constexpr std::size_t max_compared_length = 128;  // longer names are not typing mistakes

// Levenshtein's distance, where the case of a letter costs nothing: 'ELECTRON_PT' means 'Electron_pt'.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replace = diagonal + (lower_case(a[i - 1]) == lower_case(b[j - 1]) ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replace});
    }
  }
  return row[b.size()];
}

}  // namespace

std::string did_you_mean(std::string_view name, std::span<const std::string> names) {
  std::vector<std::pair<std::size_t, std::string_view>> near;
  if (name.size() <= max_compared_length)
    for (const std::string& candidate : names)
      if (candidate.size() <= max_compared_length) near.emplace_back(distance(name, candidate), candidate);
  std::sort(near.begin(), near.end());
  std::string text;
  for (const auto& [edits, candidate] : near) {
    if (edits > std::max<std::size_t>(name.size() / 3, 1) || text.size() > 200) break;
    if (edits > 0 && near.front().first == 0) break;
    if (std::count(text.begin(), text.end(), '\'') >= static_cast<std::ptrdiff_t>(2 * max_suggestions)) break;
    text += fmt::format("{}'{}'", text.empty() ? "did you mean " : " or ", candidate);
  }
  if (!text.empty()) return text + "?";
  if (names.empty()) return {};
  if (names.size() <= max_listed) return fmt::format("there are: {}", fmt::join(names, ", "));
  return fmt::format("there are {} fields, among them {}", names.size(),
                     fmt::join(names.begin(), names.begin() + max_suggestions, ", "));
}

}  // namespace colonnade::dataset
