// Claims: who is writing a data set of an object store, and whether that process still runs.
//
// A claim is a part of the place record, so that to claim, to commit, to renew and to release are changes of
// one value, of which each expects the one before. Whoever takes a claim over makes every put that its owner
// has under way fail by that, and all it tries later.
//
// A claim is a lease: its owner renews it while it lives, and one that does not change for the time that it
// names is of a writer that is gone. Whoever wants it waits so long, by its own clock; no clock is compared
// with another one. On the owner's machine its sign of life (base/environment.h) says it at once.
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

// Of the same writer, and not renewed in between.
bool is_same_claim(const ClaimRecord& a, const ClaimRecord& b) noexcept;

// What is thrown if a data set is claimed by somebody who is at work.
Error claimed_by_another(std::string_view name, const ClaimRecord& claim);

// Watches claims of which nothing is known on this machine until each of them has changed, or has not for as
// long as it has to last.
class ClaimWatch {
 public:
  explicit ClaimWatch(const io::ObjectStore& store) : store_(store) {}
  // `time`: how long, instead of the claim's lease.
  void add(std::uint64_t place, const ClaimRecord& claim, std::optional<std::chrono::milliseconds> time = {});
  struct Unchanged {
    std::uint64_t place = 0;
    ClaimRecord claim;
  };
  // The claims that did not change; returns when all is known. Throws what the store says.
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

// Whether the writer is gone: known at once if it is or was on this machine, else after some time.
bool is_gone(const io::ObjectStore& store, std::uint64_t place, const ClaimRecord& claim);

// The claim of a writer of this process, from when it is put until it is released. Any number of threads may
// use it.
class Claim {
 public:
  // Puts a claim of `generation` at the place, in place of one whose writer is gone. Null: somebody else was
  // faster.
  static std::unique_ptr<Claim> put(std::shared_ptr<io::ObjectStore> store, std::string_view name,
                                    const DirectoryPlace& place, std::uint32_t generation,
                                    std::chrono::milliseconds lease);
  ~Claim();  // without release(): whoever wants it may take it from now on
  Claim(const Claim&) = delete;
  Claim& operator=(const Claim&) = delete;

  std::uint64_t place() const noexcept { return place_; }
  std::uint64_t writer() const noexcept { return claim_.writer; }

  bool is_own() const { return environment().process().process == claim_.process; }  // not of a parent

  // To be called before something is written. Throws if the claim is lost, or may be and cannot be renewed.
  void check();
  // Makes this what is committed. Throws if it is not, or if that is not known, and says which of the two.
  void commit(const AnchorRecord& anchor);
  // Gives the claim back if it is there still. After it returns the anchor is what the place has, or had when
  // the claim was taken away. Throws if that cannot be known.
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
  std::mutex mutex_;  // guards what follows
  PlaceWriter record_;
  // Steady time until which nobody can have taken the claim over; 0: somebody has.
  std::atomic<Environment::Clock::rep> good_until_{0};
  std::unique_ptr<Environment::Handle> sign_of_life_;
  std::unique_ptr<Environment::Handle> renewal_;  // last: it ends first
};

}  // namespace colonnade::container

#endif
