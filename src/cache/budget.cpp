// See budget.h.
#include "cache/budget.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "base/environment.h"
#include "cache/home.h"
#include "cache/register.h"

namespace colonnade::cache {
namespace {

// Data without a recorded use were written by a process that still runs or was killed.
constexpr std::int64_t age_of_unknown = 3600;  // seconds

// The part of a budget that a process may add without checking what others have added.
constexpr std::uint64_t little = 1000;

struct EvictionCandidate {
  std::int64_t last_use = 0;
  std::size_t entry = 0;
  std::uint32_t column = 0;
  std::uint64_t cluster = 0;
  std::vector<RunKey> runs;
};

std::vector<EvictionCandidate> candidates_in(const RegisterEntry& entry, std::size_t number,
                                             std::int64_t now) {
  std::vector<EvictionCandidate> candidates;
  for (const auto& [column, runs] : entry.columns) {
    if (entry.pin && entry.pin->holds(column)) continue;
    std::map<std::uint64_t, std::vector<RunKey>> by_cluster;
    for (const RunKey& run : runs) by_cluster[run.cluster].push_back(run);
    for (auto& [cluster, of_cluster] : by_cluster)
      // A clock that is ahead must not keep anything for ever.
      candidates.push_back(
          {.last_use = std::min(entry.last_use(column, cluster).value_or(now - age_of_unknown), now),
           .entry = number,
           .column = column,
           .cluster = cluster,
           .runs = std::move(of_cluster)});
  }
  return candidates;
}

}  // namespace

Usage evict(io::ObjectStore& store, std::uint64_t above, std::uint64_t most, const Home* home) {
  std::vector<RegisterEntry> entries = read_register(store, false);
  Usage usage;
  for (const RegisterEntry& entry : entries) usage.before += entry.size();
  usage.after = usage.before;
  if (usage.before <= above) return usage;
  entries = read_register(store, true);
  if (home != nullptr)
    for (const std::shared_ptr<Contents>& contents : Contents::all_of(*home))
      for (RegisterEntry& entry : entries)
        if (entry.number == contents->number()) entry.users.push_back({.user = "", .uses = contents->uses()});
  const std::int64_t now = environment().unix_time();
  std::vector<EvictionCandidate> candidates;
  for (std::size_t i = 0; i < entries.size(); ++i)
    for (EvictionCandidate& candidate : candidates_in(entries[i], i, now))
      candidates.push_back(std::move(candidate));
  std::ranges::sort(candidates, {}, &EvictionCandidate::last_use);
  for (const EvictionCandidate& candidate : candidates) {
    if (usage.after <= most) break;
    for (const RunKey& run : candidate.runs) {
      store.remove(pages_value(entries[candidate.entry].number, candidate.column, run));
      usage.after -= std::min(usage.after, run.size());
    }
  }
  return usage;
}

bool Budget::make_room(io::ObjectStore& store, std::uint64_t bytes) {
  const std::uint64_t budget = home_->settings().budget;
  const std::lock_guard lock(mutex_);
  if (bytes > budget) return false;
  const auto grant = [&] {
    pending_ += bytes;
    added_ += bytes;
    if (used_) *used_ += bytes;
    return true;
  };
  if (budget == Settings::no_budget) return grant();
  // Others write as well: the closer to the limit, the more often the size is checked.
  const bool is_known =
      used_ && added_ <= (budget - std::min(budget, *used_)) / 4 && *used_ + bytes <= budget;
  if (is_known) return grant();
  // Values that are being written may or may not be listed.
  const std::uint64_t free = budget - bytes - std::min(budget - bytes, pending_);
  const Usage usage = evict(store, free, free / 10 * 9, home_);
  used_ = usage.after + pending_;
  added_ = 0;
  return usage.after <= free && pending_ <= budget - bytes && grant();
}

void Budget::written(std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  pending_ -= bytes;
}

void Budget::settle(io::ObjectStore& store) {
  const std::uint64_t budget = home_->settings().budget;
  const std::lock_guard lock(mutex_);
  if (budget == Settings::no_budget || added_ <= budget / little) return;
  const Usage usage = evict(store, budget, budget / 10 * 9, home_);
  used_ = usage.after + pending_;
  added_ = 0;
}

}  // namespace colonnade::cache
