// Options of a DataFrame's results as JSON, in the form described in frame/results/result.h.
#include <fmt/format.h>

#include <cmath>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <span>

#include "colonnade/detail/frame_graph.h"
#include "colonnade/error.h"
#include "dataset/writing/open_writer.h"

namespace colonnade::detail {

using nlohmann::json;

namespace {

// JSON has no infinities and NaNs: they would read as missing.
void need_finite(const std::string& axis, std::initializer_list<std::span<const double>> given) {
  for (const std::span<const double> numbers : given)
    for (const double number : numbers)
      if (!std::isfinite(number))
        throw Error(ErrorKind::usage,
                    fmt::format("an axis {}cannot have a limit at {}",
                                axis.empty() ? "" : fmt::format("'{}' ", axis), number),
                    "a finite number; underflow and overflow have the values beyond");
}

json axis_json(const Axis& axis) {
  need_finite(axis.name, {axis.edges, {&axis.low, 1}, {&axis.high, 1}});
  json out;
  if (!axis.edges.empty()) {
    out["edges"] = axis.edges;
  } else {
    out["bins"] = axis.bins;
    if (axis.low != axis.high) {
      out["low"] = axis.low;
      out["high"] = axis.high;
    }
  }
  if (!axis.name.empty()) out["name"] = axis.name;
  return out;
}

json write_json(const WriteOptions& options) {
  json out = {{"compression", options.compression.text},
              {"container", options.container == Container::bare_file ? "bare" : "root"},
              {"cluster_size", options.approximate_cluster_size},
              {"max_cluster_size", options.max_uncompressed_cluster_size},
              {"page_size", options.max_page_size},
              {"initial_page_size", options.initial_page_size},
              {"page_buffer_budget", options.page_buffer_budget},
              {"checksums", options.page_checksums == Checksums::on},
              {"same_page_merging", options.same_page_merging == SamePageMerging::on},
              {"max_key_size", options.max_key_size},
              {"clusters_per_group", options.clusters_per_group},
              {"direct_io", options.direct_io},
              {"durability", options.durability == Durability::machine ? "machine" : "process"},
              {"object_mapping",
               options.object_mapping == ObjectMapping::object_per_page ? "object_per_page" : "locality"},
              {"splice_size", options.splice_size},
              {"object_class", options.object_class},
              {"discard_unrepaired", options.discard_unrepaired},
              {"description", options.description}};
  const CheckpointEvery& every = options.checkpoint_every;
  if (every.clusters != 0 || every.seconds != 0)
    out["checkpoint_every"] = {{"clusters", every.clusters}, {"seconds", every.seconds}};
  return out;
}

// JSON must be UTF-8, but the user's texts may not be.
std::string text_of(const json& options) {
  try {
    return options.dump();
  } catch (const json::exception&) {
    throw Error(ErrorKind::usage, "a name, title or option is not valid UTF-8");
  }
}

}  // namespace

std::string histogram_options(const std::string& name, const std::string& title, std::span<const Axis> axes,
                              bool weighted, const std::string& spread) {
  json out = {{"name", name}, {"title", title}, {"weighted", weighted}, {"axes", json::array()}};
  for (const Axis& axis : axes) out["axes"].push_back(axis_json(axis));
  if (!spread.empty()) out["spread"] = spread;
  return text_of(out);
}

std::string graph_options(const std::string& name, const std::string& title, unsigned errors) {
  return text_of({{"name", name}, {"title", title}, {"errors", errors}});
}

std::string names_options(std::span<const std::string> names) {
  return text_of({{"names", std::vector(names.begin(), names.end())}});
}

std::string display_options(std::span<const std::string> names, unsigned rows) {
  return text_of({{"names", std::vector(names.begin(), names.end())}, {"rows", rows}});
}

std::string snapshot_options(std::span<const std::string> names, const std::string& name,
                             const std::string& uri, const WriteOptions& options, WriteMode mode) {
  std::vector<std::string> fields(names.begin(), names.end());
  for (std::string& field : fields)
    for (char& c : field)
      if (c == '.') c = '_';  // a member becomes a column of its own in the new data set
  return text_of({{"names", fields},
                  {"uri", uri},
                  {"name", name},
                  {"mode", dataset::name_of(mode)},
                  {"write", write_json(options)}});
}

}  // namespace colonnade::detail
