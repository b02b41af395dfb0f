// Claims: which process writes a data set of an object store, and whether it still runs.
//
// A claim is part of the place record, so that claiming, committing, renewing and releasing are conditional
// updates of one value. A process that takes over a claim thereby makes all updates of the previous owner
// fail, those in flight and those to come.
//
// A claim is a lease: its owner renews it while it lives, and a claim that stays unchanged for its lease time
// belongs to a dead writer. A process that wants the claim waits that long by its own clock; clocks are never
// compared. On the owner's machine, its sign of life (base/environment.h) gives the answer at once.
#ifndef COLONNADE_CONTAINER_OBJECT_STORE_CLAIM_H
#define COLONNADE_CONTAINER_OBJECT_STORE_CLAIM_H

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/environment.h"
#include "container/object_store/place_writer.h"

namespace colonnade::container {

// "process 17 on host a, since 2026-01-31 12:00:00 UTC"
std::string describe_writer(const ClaimRecord& claim);

// True if both are the same writer's, without a renewal in between.
bool is_same_claim(const ClaimRecord& a, const ClaimRecord& b) noexcept;

// The error for a data set that a running writer has claimed.
Error claimed_by_another(std::string_view name, const ClaimRecord& claim);

// Watches claims whose owners are unknown on this machine, until each has changed or stayed unchanged for its
// lease time.
class ClaimWatch {
 public:
  explicit ClaimWatch(const io::ObjectStore& store) : store_(store) {}
  // `time` overrides the claim's lease.
  void add(std::uint64_t place, const ClaimRecord& claim, std::optional<std::chrono::milliseconds> time = {});
  struct Unchanged {
    std::uint64_t place = 0;
    ClaimRecord claim;
  };
  // Returns the unchanged claims once all have been decided. Throws errors of the store.
  std::vector<Unchanged> wait();

 private:
  struct Watched {
    std::uint64_t place = 0;
    ClaimRecord claim;
    std::chrono::nanoseconds time{0};
    std::chrono::nanoseconds seen{0};
    Environment::Clock::time_point looked;
  };
  const io::ObjectStore& store_;
  std::vector<Watched> watched_;
};

// True if the writer is dead: known at once if it ran on this machine, else after the lease time.
bool is_gone(const io::ObjectStore& store, std::uint64_t place, const ClaimRecord& claim);

// The claim of a writer of this process, from creation to release.
// Thread-safe.
class Claim {
 public:
  // Claims `generation` at the place, replacing the claim of a dead writer. Null: another process was
  // faster.
  static std::unique_ptr<Claim> put(std::shared_ptr<io::ObjectStore> store, std::string_view name,
                                    const DirectoryPlace& place, std::uint32_t generation,
                                    std::chrono::milliseconds lease);
  ~Claim();  // without release(), any process may take the claim over
  Claim(const Claim&) = delete;
  Claim& operator=(const Claim&) = delete;

  std::uint64_t place() const noexcept { return place_; }
  std::uint64_t writer() const noexcept { return claim_.writer; }

  bool is_own() const { return environment().process().process == claim_.process; }  // not of a parent

  // True if another process has taken it over, as far as this one knows.
  bool lost() const noexcept { return good_until_.load(std::memory_order_relaxed) == 0; }
  // To be called before each write. Throws if the claim is lost, or may be lost and cannot be renewed.
  void check();
  // Commits this anchor. Throws if the commit failed or its outcome is unknown; the message says which.
  void commit(const AnchorRecord& anchor);
  // Releases the claim if this writer still holds it. Returns the final anchor: the current one, or the one
  // at the time the claim was lost. Throws if that cannot be determined.
  AnchorRecord release();

 private:
  Claim(std::shared_ptr<io::ObjectStore> store, std::string_view name, const DirectoryPlace& place,
        std::uint32_t generation, std::chrono::milliseconds lease);

  void check_process() const;
  [[noreturn]] void fail_lost() const;
  bool change(const std::function<void(PlaceRecord&)>& edit);
  bool renew();
  void renew_quietly() noexcept;

  std::shared_ptr<io::ObjectStore> store_;
  std::string name_;
  std::uint64_t place_;
  ClaimRecord claim_;
  std::chrono::milliseconds lease_;
  std::mutex mutex_;  // guards the members below
  PlaceWriter record_;
  // Steady time until which no other process can have taken over the claim; 0: one has.
  std::atomic<Environment::Clock::rep> good_until_{0};
  std::unique_ptr<Environment::Handle> sign_of_life_;
  std::unique_ptr<Environment::Handle> renewal_;  // last: destroyed first
};

}  // namespace colonnade::container

#endif
