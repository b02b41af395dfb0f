// See claim.h.
#include "container/object_store/claim.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <utility>

#include "base/warning.h"

namespace colonnade::container {
namespace {

using namespace std::chrono_literals;

// Per lease: how often the owner renews it, and how often a waiting process checks it.
constexpr int renewals_of_lease = 4;
constexpr int looks_of_lease = 12;
// A longer lease is not waited for.
constexpr std::chrono::milliseconds longest_lease = 10min;

// A damaged record belongs to another writer.
bool has_claim(const io::ObjectStore& store, std::uint64_t place, const ClaimRecord& claim) {
  try {
    const auto found = read_place(store, place);
    return found && found->record.claim && is_same_claim(*found->record.claim, claim);
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::io) throw;
    return false;
  }
}

ClaimRecord claim_of_this_process(std::uint32_t generation, std::chrono::milliseconds lease) {
  ProcessIdentity process = environment().process();
  return {.writer = environment().random_number(),
          .generation = generation,
          .lease = static_cast<std::uint64_t>(lease.count()),
          .renewals = 0,
          .since = environment().unix_time(),
          .process = process.process,
          .host = std::move(process.host)};
}

// True if this commit was made, possibly followed by others: each commit has more blobs than the one before.
bool includes(const std::optional<PlaceRecord>& record, const AnchorRecord& anchor) noexcept {
  if (!record || record->anchor.commit < anchor.commit) return false;
  const auto part = part_of(record->anchor, anchor.generation);
  return part && part->end_blobs >= anchor.end_blobs;
}

}  // namespace

bool is_same_claim(const ClaimRecord& a, const ClaimRecord& b) noexcept {
  return a.writer == b.writer && a.renewals == b.renewals;
}

std::string describe_writer(const ClaimRecord& claim) {
  // The last second of year 9999: later times are invalid.
  constexpr std::int64_t latest = 253402300799;
  const std::int64_t since = claim.since < 0 || claim.since > latest ? 0 : claim.since;
  return fmt::format("process {} on host {}, since {:%Y-%m-%d %H:%M:%S} UTC", claim.process,
                     claim.host.empty() ? "(unknown)" : claim.host,
                     fmt::gmtime(static_cast<std::time_t>(since)));
}

Error claimed_by_another(std::string_view name, const ClaimRecord& claim) {
  const ProcessIdentity own = environment().process();
  const bool is_here = claim.process == own.process && claim.host == own.host;
  return Error(ErrorKind::usage,
               fmt::format("the data set \"{}\" is being written by {}", name, describe_writer(claim)),
               is_here ? "close that writer, or give it up: discard(), abort() in Python"
                       : "wait until it is done, or choose another name; if that process hangs, end it, or "
                         "run `colonnade gc --force`",
               {.data_set = std::string(name)});
}

// ---- Watching

void ClaimWatch::add(std::uint64_t place, const ClaimRecord& claim,
                     std::optional<std::chrono::milliseconds> time) {
  if (!time && (claim.lease == 0 || claim.lease > static_cast<std::uint64_t>(longest_lease.count()))) return;
  watched_.push_back({.place = place,
                      .claim = claim,
                      .time = time.value_or(std::chrono::milliseconds(claim.lease)),
                      .looked = environment().now()});
}

std::vector<ClaimWatch::Unchanged> ClaimWatch::wait() {
  Environment& around = environment();
  std::vector<Unchanged> unchanged;
  while (!watched_.empty()) {
    std::chrono::nanoseconds pause = 5s;
    for (const Watched& each : watched_) pause = std::min(pause, each.time / looks_of_lease);
    around.sleep_for(std::max<std::chrono::nanoseconds>(pause, 1ms));
    std::erase_if(watched_, [&](Watched& each) {
      // Time without answers from the store counts little: the owner could not renew its claim either.
      each.seen += std::min<std::chrono::nanoseconds>(around.now() - each.looked, 2 * pause);
      const bool is_there = has_claim(store_, each.place, each.claim);
      each.looked = around.now();
      if (!is_there) return true;
      if (each.seen < each.time) return false;
      unchanged.push_back({each.place, each.claim});
      return true;
    });
  }
  return unchanged;
}

bool is_gone(const io::ObjectStore& store, std::uint64_t place, const ClaimRecord& claim) {
  const Life life = environment().life_of(claim.writer);
  if (life != Life::unknown) return life == Life::ended;
  warn(fmt::format("a data set of {} is claimed by {}: waiting up to {} s to see whether that still runs",
                   store.uri(), describe_writer(claim), claim.lease / 1000));
  ClaimWatch watch(store);
  watch.add(place, claim);
  return !watch.wait().empty();
}

// ---- The claim of a writer

Claim::Claim(std::shared_ptr<io::ObjectStore> store, std::string_view name, const DirectoryPlace& place,
             std::uint32_t generation, std::chrono::milliseconds lease)
    : store_(std::move(store)),
      name_(name),
      place_(place.dkey),
      claim_(claim_of_this_process(generation, lease)),
      lease_(lease),
      record_(*store_, place.dkey, place.found) {}

std::unique_ptr<Claim> Claim::put(std::shared_ptr<io::ObjectStore> store, std::string_view name,
                                  const DirectoryPlace& place, std::uint32_t generation,
                                  std::chrono::milliseconds lease) {
  std::unique_ptr<Claim> claim(new Claim(std::move(store), name, place, generation, lease));
  claim->sign_of_life_ = environment().show_life(claim->claim_.writer);
  bool done = false;
  try {
    done = claim->change([&](PlaceRecord& record) {
      record.anchor.name = claim->name_;
      record.claim = claim->claim_;
    });
  } catch (...) {
    // Unless the claim may be there, which others would then ask for.
    if (claim->record_.seen()) environment().forget_life(claim->claim_.writer);
    throw;
  }
  if (!done) {
    environment().forget_life(claim->claim_.writer);
    return nullptr;
  }
  if (const ClaimRecord* before = place.claim()) environment().forget_life(before->writer);
  try {
    claim->renewal_ =
        environment().repeat(lease / renewals_of_lease, [at = claim.get()] { at->renew_quietly(); });
  } catch (const std::exception&) {  // no thread: check() renews it, if writes are not too far apart
  }
  return claim;
}

Claim::~Claim() {
  renewal_.reset();
}

void Claim::check_process() const {
  if (is_own()) return;
  throw Error(ErrorKind::usage, "the data set is being written by the process that this one was forked from",
              "write it there, or open a writer here", {.uri = store_->uri(), .data_set = name_});
}

void Claim::fail_lost() const {
  throw Error(ErrorKind::io, "another writer, or `colonnade gc`, has taken over the data set",
              "write it again; what was committed before is unchanged");
}

// mutex_ is held. The new lease counts from the start of the call.
bool Claim::change(const std::function<void(PlaceRecord&)>& edit) {
  const Environment::Clock::time_point begin = environment().now();
  const bool done = record_.change(edit);
  // The margin covers operations in flight when the lease ends.
  good_until_ = done ? (begin + lease_ / 4 * 3).time_since_epoch().count() : 0;
  return done;
}

bool Claim::renew() {
  return change([](PlaceRecord& record) { ++record.claim->renewals; });
}

void Claim::renew_quietly() noexcept {
  try {
    const std::lock_guard lock(mutex_);
    if (!record_.lost()) renew();
  } catch (const std::exception&) {
    return;  // retried at the next period; check() throws once the lease is over
  }
}

void Claim::check() {
  check_process();
  if (environment().now().time_since_epoch().count() < good_until_.load(std::memory_order_relaxed)) return;
  const std::lock_guard lock(mutex_);
  if (record_.lost() || !renew()) fail_lost();
}

void Claim::commit(const AnchorRecord& anchor) {
  check_process();
  const std::lock_guard lock(mutex_);
  if (record_.lost()) fail_lost();
  bool done = false;
  try {
    done = change([&](PlaceRecord& record) {
      record.anchor = anchor;
      ++record.claim->renewals;
    });
  } catch (const Error& error) {
    if (record_.seen())
      throw Error(error.kind(), error.problem() + "; the data set is as it was before this commit",
                  "write it again", error.context());
    throw Error(
        error.kind(), error.problem() + "; it is not known whether this commit was made",
        "when the store answers again, check whether the data set is in the state of this commit or of the "
        "one before; nothing in between is possible; `colonnade gc` removes what belongs to neither",
        error.context());
  }
  if (!done && !includes(record_.record(), anchor)) fail_lost();
}

AnchorRecord Claim::release() {
  check_process();
  renewal_.reset();
  const std::lock_guard lock(mutex_);
  change([](PlaceRecord& record) { record.claim.reset(); });
  if (!record_.record())
    throw Error(ErrorKind::format,
                fmt::format("{}: the record of the data set no longer exists",
                            io::to_text(directory_value(place_, place_key))),
                "find out who removed it; nothing else was removed");
  environment().forget_life(claim_.writer);
  return record_.record()->anchor;
}

}  // namespace colonnade::container
