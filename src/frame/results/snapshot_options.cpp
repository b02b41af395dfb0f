// See snapshot_options.h.
#include "frame/results/snapshot_options.h"

#include <charconv>
#include <cmath>
#include <limits>
#include <utility>

namespace colonnade::frame {
namespace {

constexpr std::uint64_t any_count = std::numeric_limits<std::uint32_t>::max();

// Seconds of "30s", "2 min".
double seconds_of(const Options& options, std::string_view key) {
  constexpr std::pair<std::string_view, double> units[] = {{"ms", 0.001}, {"s", 1}, {"min", 60}, {"h", 3600}};
  const std::string given = options.text(key);
  const char* end = given.data() + given.size();
  double number = 0;
  auto [at, failure] = std::from_chars(given.data(), end, number);
  while (at != end && *at == ' ') ++at;
  for (const auto& [unit, seconds] : units)
    if (failure == std::errc() && number > 0 &&
        std::string_view(at, static_cast<std::size_t>(end - at)) == unit)
      return number * seconds;
  options.refuse(key, R"(a number of clusters, a time as "30s", or {"clusters": 10, "seconds": 30})");
}

CheckpointEvery checkpoints_of(const Options& options) {
  constexpr std::string_view key = "checkpoint_every";
  CheckpointEvery every;
  if (options.is_text(key)) {
    every.seconds = seconds_of(options, key);
  } else if (options.is_object(key)) {
    const Options parts = options.object(key);
    parts.only({"clusters", "seconds"});
    every.clusters = static_cast<std::uint32_t>(parts.count("clusters", 0, 0, any_count));
    every.seconds = parts.number("seconds", 0);
    if (!(every.seconds >= 0) || !std::isfinite(every.seconds)) parts.refuse("seconds", "seconds from 0 on");
  } else {
    every.clusters = static_cast<std::uint32_t>(options.count(key, 0, 1, any_count));
  }
  return every;
}

}  // namespace

WriteOptions write_options_of(const Options& options) {
  options.only({"compression",       "description",       "container",         "cluster_size",
                "max_cluster_size",  "page_size",         "initial_page_size", "page_buffer_budget",
                "checksums",         "same_page_merging", "max_key_size",      "clusters_per_group",
                "direct_io",         "parallel_sealing",  "checkpoint_every",  "durability",
                "cluster_order",     "object_mapping",    "splice_size",       "object_class",
                "discard_unrepaired"});
  WriteOptions write;
  if (options.is_text("compression")) {
    write.compression = Compression(options.text("compression"));
  } else if (options.has("compression")) {
    write.compression = Compression(static_cast<int>(options.count("compression", 0, 0, 100000)));
  }
  write.description = options.text("description");
  if (options.choice("container", {"root", "bare"}) == "bare") write.container = Container::bare_file;
  write.approximate_cluster_size = options.size("cluster_size", write.approximate_cluster_size);
  write.max_uncompressed_cluster_size = options.size("max_cluster_size", 10 * write.approximate_cluster_size);
  write.max_page_size = options.size("page_size", write.max_page_size);
  write.initial_page_size = options.size("initial_page_size", write.initial_page_size);
  write.page_buffer_budget = options.size("page_buffer_budget", write.page_buffer_budget);
  if (!options.flag("checksums", true)) write.page_checksums = Checksums::off;
  if (!options.flag("same_page_merging", true)) write.same_page_merging = SamePageMerging::off;
  write.max_key_size = options.size("max_key_size", write.max_key_size);
  write.clusters_per_group =
      static_cast<std::uint32_t>(options.count("clusters_per_group", write.clusters_per_group, 0, any_count));
  write.direct_io = options.flag("direct_io", write.direct_io);
  write.parallel_sealing = options.flag("parallel_sealing", true);
  write.checkpoint_every = checkpoints_of(options);
  if (options.choice("durability", {"process", "machine"}) == "machine")
    write.durability = Durability::machine;
  write.discard_unrepaired = options.flag("discard_unrepaired", false);
  // Entries are written in order by one thread: cluster orders do not differ.
  options.choice("cluster_order", {"as_written", "staged"});
  if (options.choice("object_mapping", {"locality", "object_per_page"}) == "object_per_page")
    write.object_mapping = ObjectMapping::object_per_page;
  write.splice_size = options.size("splice_size", write.splice_size);
  write.object_class = options.text("object_class");
  return write;
}

}  // namespace colonnade::frame
