// SharedStores: stores to which any number of threads add; none waits for another one while there is
// memory for one more store. The result of additions must not depend on their order, so that stores can be
// merged.
//
// Small stores exist once per thread; large ones are added only when two threads add at the same time, within
// the process's budget for copies. Thread-safe.
#ifndef COLONNADE_FRAME_RESULTS_SHARED_STORES_H
#define COLONNADE_FRAME_RESULTS_SHARED_STORES_H

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "frame/results/memory_budget.h"

namespace colonnade::frame {

// Store must have add(Store&&) and empty_copy().
template <class Store>
class SharedStores {
  struct ThreadStore {
    Store store;
    bool busy = false;
  };

 public:
  // `empty`: the initial store; `bytes`: the size of one in use.
  SharedStores(Store empty, std::size_t bytes)
      : total_(std::move(empty)), bytes_(bytes), share_(MemoryBudget::of_fills()) {}

  // The store of a thread while it adds.
  class Lease {
   public:
    Lease(SharedStores& owner, unsigned slot) : owner_(owner), store_(owner.take(slot)) {}
    ~Lease() { owner_.give(store_); }
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    Store& operator*() const noexcept { return store_.store; }

   private:
    SharedStores& owner_;
    ThreadStore& store_;
  };

  // Merges all stores and calls use(Store&), while no thread adds.
  template <class Use>
  decltype(auto) with_total(const Use& use) {
    std::unique_lock lock(mutex_);
    given_.wait(lock, [&] { return busy_ == 0; });
    for (auto& place : stores_)
      if (place) total_.add(std::move(std::exchange(place, nullptr)->store));
    stores_.clear();
    share_.set(0);
    return use(total_);
  }

 private:
  // Copies up to this size ignore the budget.
  static constexpr std::size_t small = std::size_t{256} << 10;

  ThreadStore& take(unsigned slot) {
    std::unique_lock lock(mutex_);
    while (true) {
      if (ThreadStore* place = find(slot)) {
        place->busy = true;
        ++busy_;
        return *place;
      }
      given_.wait(lock);
    }
  }
  void give(ThreadStore& place) {
    {
      const std::lock_guard lock(mutex_);
      place.busy = false;
      --busy_;
    }
    given_.notify_all();
  }
  ThreadStore* find(unsigned slot) {
    if (slot >= stores_.size()) stores_.resize(slot + std::size_t{1});
    if (stores_[slot] && !stores_[slot]->busy) return stores_[slot].get();
    const auto made =
        static_cast<std::size_t>(std::ranges::count_if(stores_, [](auto& p) { return p != nullptr; }));
    const bool fits = made == 0 || MemoryBudget::of_fills().fits(bytes_);
    if (!stores_[slot] && fits && (made == 0 || bytes_ <= small)) return make(slot, made);
    for (auto& place : stores_)
      if (place && !place->busy) return place.get();
    if (!fits) return nullptr;
    const auto free = std::ranges::find_if(stores_, [](auto& p) { return p == nullptr; });
    const auto at = static_cast<std::size_t>(free - stores_.begin());
    if (free == stores_.end()) stores_.emplace_back();
    return make(at, made);
  }
  ThreadStore* make(std::size_t at, std::size_t made) {
    stores_[at] = std::make_unique<ThreadStore>(ThreadStore{total_.empty_copy()});
    share_.set(made * bytes_);  // all but the first
    return stores_[at].get();
  }

  std::mutex mutex_;
  std::condition_variable given_;
  Store total_;
  std::size_t bytes_;
  std::vector<std::unique_ptr<ThreadStore>> stores_;  // by thread, as far as it goes
  std::size_t busy_ = 0;
  MemoryBudget::Share share_;
};

}  // namespace colonnade::frame

#endif
