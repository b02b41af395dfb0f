// See copy_check.h.
#include "dataset/copying/copy_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <numeric>
#include <tuple>
#include <utility>

#include "dataset/copying/schema.h"
#include "dataset/copying/values.h"

namespace colonnade::dataset {
namespace {

// What differs from the beginning of the copy.
template <class Compare>
void refuse_differences(const CopyPlan& plan, Compare&& compare) {
  try {
    compare();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::format) throw;
    plan.refuse(error.problem());
  }
}

// Clusters of one data set with each other.
void compare_stored(const page::PageSource& there, std::size_t cluster, std::size_t other) {
  constexpr std::size_t enough = std::size_t{4} << 20;  // bytes
  std::vector<std::uint32_t> columns(there.descriptor().columns.size());
  std::iota(columns.begin(), columns.end(), 0);
  page::PageCopyCounts counts;
  page::compare_pages({there, there, columns, cluster, other, 1, false}, enough, counts,
                      [&] { return counts.bytes_read < enough; });
}

}  // namespace

bool WatchedProgress::goes_on() {
  if (!watch_) return true;
  const Clock::time_point now = Clock::now();
  if (now - told_ < every_) return true;
  told_ = now;
  return watch_(*this);
}

page::CopiedClusters CopyCheck::clusters_of(CopySource& source, const page::PageSource& target,
                                            std::size_t first, std::size_t count) {
  const CopySchema& schema = plan_.schema_of(source);
  return {plan_.open(source),           target, schema.target_of, first,
          source.first_cluster + first, count,  schema.is_mapped};
}

void CopyCheck::compare_beginning(page::PageSource& there) {
  const Descriptor& has = there.descriptor();
  if (has.entries() > plan_.entries())
    plan_.refuse(fmt::format("it has {} entries, the sources {}", has.entries(), plan_.entries()));
  refuse_differences(plan_, [&] {
    if (plan_.mode() != CopyMode::decode) compare_clusters(there);
    if (plan_.mode() != CopyMode::pages && !has.clusters.empty() && has.entries() > plan_.base_entries())
      compare_entries(there, has.clusters.back().first_entry, has.clusters.back().entries);
  });
}

void CopyCheck::compare_clusters(const page::PageSource& there) {
  const std::size_t count = there.descriptor().clusters.size();
  if (count > plan_.clusters())
    plan_.refuse(fmt::format("it has {} clusters, the sources {}", count, plan_.clusters()));
  const bool as_stored = plan_.mode() == CopyMode::pages;
  plan_.each_source([&](CopySource& source) {
    if (count <= source.first_cluster) return false;
    const std::size_t here = std::min(count - source.first_cluster, source.clusters());
    page::compare_structure(clusters_of(source, there, 0, here), as_stored);
    if (!as_stored || here == 0) return true;
    page::PageCopyCounts ignored;
    const auto on = [] { return true; };
    page::compare_pages(clusters_of(source, there, 0, 1), plan_.memory(), ignored, on);
    page::compare_pages(clusters_of(source, there, here - 1, 1), plan_.memory(), ignored, on);
    return true;
  });
}

void CopyCheck::compare_attribute_sets(const page::PageSource& there) const {
  refuse_differences(plan_, [&] { plan_.attribute_sets().compare(there, plan_.memory(), false); });
}

// Decoded, over the borders of sources. False: stopped.
bool CopyCheck::compare_entries(page::PageSource& target, std::uint64_t first, std::uint64_t count) {
  return plan_.each_source([&](CopySource& source) {
    const std::uint64_t begin = std::max(first, source.first_entry);
    const std::uint64_t end = std::min(first + count, source.first_entry + source.entries());
    if (begin >= end) return true;
    const auto on = [&](std::uint64_t done) {
      progress_.entries = begin + done;
      return progress_.goes_on();
    };
    return compare_values(
        {plan_.open(source), plan_.schema_of(source), target, begin - source.first_entry, begin, end - begin},
        plan_.memory(), on);
  });
}

bool CopyCheck::compare_pages(const page::PageSource& target) {
  page::PageCopyCounts counts;
  return plan_.each_source([&](CopySource& source) {
    const auto on = [&] {
      progress_.bytes_read = counts.bytes_read;
      return progress_.goes_on();
    };
    return page::compare_pages(clusters_of(source, target, 0, source.clusters()), plan_.memory(), counts, on);
  });
}

bool CopyCheck::compare_all(page::PageSource& target) {
  return with_context(target.context(), [&] {
    progress_.verifying = true;
    progress_.entries = progress_.bytes_read = progress_.bytes_written = 0;
    const auto differ = [](const std::string& why) {
      throw Error(ErrorKind::format, fmt::format("the copy differs from its source: {}", why),
                  "copy it again");
    };
    if (const std::string why = first_difference(plan_.target(), target.descriptor());
        !why.empty() && !plan_.is_done())
      differ(why);
    if (const std::uint64_t entries = target.descriptor().entries(); entries != plan_.entries())
      differ(fmt::format("{} entries for {}", entries, plan_.entries()));
    const bool same_pages = plan_.mode() == CopyMode::pages;
    bool complete = !same_pages || compare_pages(target);
    if (complete && (!same_pages || plan_.options().verify == CopyVerify::values))
      complete = compare_entries(target, plan_.base_entries(), plan_.entries() - plan_.base_entries());
    if (complete)
      plan_.attribute_sets().compare(target, plan_.memory(),
                                     static_cast<bool>(plan_.options().before_commit));
    return complete;
  });
}

// Fingerprints tell layouts apart, and so pages decide: a few, as inputs may be many.
std::vector<std::string> CopyCheck::notes_on_equal_inputs(const std::vector<InputRecord>& inputs) const {
  std::vector<std::string> notes;
  std::map<std::tuple<std::string, std::uint64_t, std::uint64_t>, std::pair<std::string, std::size_t>> known;
  std::unique_ptr<page::PageSource> target;
  std::size_t end = 0;
  for (const InputRecord& input : inputs) {
    if (input.depth != 0 || input.clusters == 0) continue;
    const std::size_t first = std::exchange(end, end + static_cast<std::size_t>(input.clusters));
    const auto [same, is_new] =
        known.try_emplace({input.data_set, input.size, input.fingerprint}, std::pair(input.uri, first));
    if (is_new || input.first_entry < plan_.base_entries()) continue;
    const auto& [uri, cluster] = same->second;
    try {
      if (!target) target = plan_.open_destination();
      compare_stored(*target, cluster, first);
      compare_stored(*target, cluster + (end - first) - 1, end - 1);
      notes.push_back(
          fmt::format("{} seems to be a copy of {}; the entries of both are there", input.uri, uri));
    } catch (const Error&) {  // they differ; or cannot be read, which is no reason to fail: all is written
    }
  }
  return notes;
}

}  // namespace colonnade::dataset
