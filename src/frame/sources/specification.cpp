// See specification.h.
#include "frame/sources/specification.h"

#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "base/json_number.h"
#include "colonnade/error.h"
#include "dataset/chains/index.h"
#include "frame/sources/chain.h"
#include "frame/sources/late_source.h"
#include "frame/sources/source.h"

namespace colonnade::frame {
namespace {

constexpr std::array<std::pair<LocalIo, std::string_view>, 5> local_io_names = {
    {{LocalIo::automatic, "automatic"},
     {LocalIo::pread, "pread"},
     {LocalIo::threads, "threads"},
     {LocalIo::io_uring, "io_uring"},
     {LocalIo::mmap, "mmap"}}};

LocalIo local_io_of(std::string_view wanted) {
  for (const auto& [value, name] : local_io_names)
    if (name == wanted) return value;
  throw Error(ErrorKind::usage, fmt::format("'{}' is not a way of reading local files", wanted));
}

std::shared_ptr<Source> make_source(const nlohmann::json& json);

std::shared_ptr<Source> make_friends(const nlohmann::json& json) {
  std::vector<NamedSource> others;
  for (const nlohmann::json& each : json.at("friends"))
    others.push_back({each.at("name").get<std::string>(), make_source(each.at("source"))});
  return friends_source(make_source(json.at("first")), std::move(others));
}

std::shared_ptr<Source> make_late(const nlohmann::json& json) {
  std::vector<Sample> samples;
  for (const nlohmann::json& each : json.at("samples")) {
    Sample sample;
    sample.name = each.at("name").get<std::string>();
    sample.entries = whole_number<std::uint64_t>(each.at("entries"));
    sample.uri = each.at("uri").get<std::string>();
    sample.data_set = each.at("data_set").get<std::string>();
    samples.push_back(std::move(sample));
  }
  std::vector<std::shared_ptr<Source>> fetched;
  for (const nlohmann::json& each : json.at("fetched")) fetched.push_back(make_source(each));
  return std::make_shared<LateSource>(make_source(json.at("shape")), std::move(samples), nullptr,
                                      json.value("other_names", LateSource::OtherNames{}),
                                      std::move(fetched));
}

std::shared_ptr<Source> make_source(const nlohmann::json& json) {
  const std::string kind = json.at("source");
  if (kind == "friends") return make_friends(json);
  if (kind == "late") return make_late(json);
  if (kind == "empty") return empty_source(whole_number<std::uint64_t>(json.at("entries")));
  if (kind != "chain")
    throw Error(ErrorKind::unsupported, fmt::format("a source of kind '{}' is unknown to this version", kind),
                "use a newer version of Colonnade");
  const auto name = json.at("name").get<std::string>();
  const ReadOptions options = read_options_from(json.value("options", nlohmann::json::object()));
  if (json.contains("index"))
    return std::make_shared<Chain>(name, dataset::chain_index_from(json.at("index")), options);
  const auto uris = json.at("uris").get<std::vector<std::string>>();
  const auto data_sets = json.at("data_sets").get<std::vector<std::string>>();
  if (uris.size() != data_sets.size())
    throw Error(ErrorKind::format, "a chain does not name the data set of each file");
  std::vector<dataset::NamedFile> files;
  for (std::size_t i = 0; i < uris.size(); ++i) files.push_back({uris[i], data_sets[i]});
  return std::make_shared<Chain>(name, files, options);
}

}  // namespace

nlohmann::json to_json(const ReadOptions& options) {
  std::string_view local_io;
  for (const auto& [value, name] : local_io_names)
    if (value == options.local_io) local_io = name;
  return {{"page_checksums", options.page_checksums == Checksums::on},
          {"read_ahead", options.read_ahead},
          {"memory_budget", options.memory_budget},
          {"local_io", local_io},
          {"direct_io", options.direct_io},
          {"cache", options.cache}};
}

ReadOptions read_options_from(const nlohmann::json& json) {
  ReadOptions options;
  options.page_checksums = json.value("page_checksums", true) ? Checksums::on : Checksums::off;
  if (json.contains("read_ahead")) options.read_ahead = whole_number<std::uint64_t>(json["read_ahead"]);
  if (json.contains("memory_budget"))
    options.memory_budget = whole_number<std::uint64_t>(json["memory_budget"]);
  options.local_io = local_io_of(json.value("local_io", std::string("automatic")));
  options.direct_io = json.value("direct_io", options.direct_io);
  options.cache = json.value("cache", options.cache);
  return options;
}

std::shared_ptr<Source> source_from(const std::string& specification) {
  try {
    return make_source(nlohmann::json::parse(specification));
  } catch (const nlohmann::json::exception& error) {
    throw Error(ErrorKind::usage, fmt::format("this is not the description of a source: {}", error.what()),
                "it is what Source::specification() returns");
  }
}

}  // namespace colonnade::frame
