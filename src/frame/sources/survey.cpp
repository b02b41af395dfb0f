// See survey.h.
#include "frame/sources/survey.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "base/json_number.h"
#include "colonnade/error.h"
#include "frame/sources/chain.h"
#include "frame/sources/specification.h"

namespace colonnade::frame {
namespace {

using nlohmann::json;

std::vector<std::vector<std::uint64_t>> lists_of(const json& lists) {
  std::vector<std::vector<std::uint64_t>> made;
  for (const json& list : lists) {
    std::vector<std::uint64_t>& numbers = made.emplace_back();
    for (const json& number : list) numbers.push_back(whole_number<std::uint64_t>(number));
  }
  return made;
}

}  // namespace

std::optional<std::string> survey_files(std::span<const dataset::NamedFile> files, std::string_view options) {
  const Chain chain("", files, read_options_from(json::parse(options)));
  const ChainSurvey found = chain.survey();
  auto index = dataset::to_json(found.index);
  if (!index) return std::nullopt;
  return json{{"index", std::move(*index)}, {"parts", found.part_borders}, {"bytes", found.column_bytes}}
      .dump();
}

std::shared_ptr<Source> surveyed_chain(const std::string& name, std::span<const std::string> surveys,
                                       const ReadOptions& options) {
  try {
    ChainSurvey all;
    for (const std::string& text : surveys) {
      const json survey = json::parse(text);
      all.append({.index = dataset::chain_index_from(survey.at("index")),
                  .part_borders = lists_of(survey.at("parts")),
                  .column_bytes = lists_of(survey.at("bytes"))});
    }
    return std::make_shared<Chain>(name, std::move(all), options);
  } catch (const json::exception& error) {
    throw Error(ErrorKind::format, fmt::format("this is not the survey of a chain: {}", error.what()));
  }
}

std::string options_text(const ReadOptions& options) {
  return to_json(options).dump();
}

}  // namespace colonnade::frame
