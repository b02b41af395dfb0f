// SharedStores: places to add to for any number of threads, of which none waits for another one while there
// is memory for one more place. What is added must not depend on the order, so that places can be put
// together.
//
// A thread has a place of its own where that is small; large ones are made only when two threads want to add
// at the same time, within what the process has for copies. Any thread may use it.
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

// Store: add(Store&&), empty_copy().
template <class Store>
class SharedStores {
  struct Place {
    Store store;
    bool busy = false;
  };

 public:
  // `empty`: what a place begins as; `bytes`: what one that is in use takes.
  SharedStores(Store empty, std::size_t bytes)
      : total_(std::move(empty)), bytes_(bytes), share_(MemoryBudget::of_fills()) {}

  // The place of a thread while it adds.
  class Lease {
   public:
    Lease(SharedStores& owner, unsigned slot) : owner_(owner), place_(owner.take(slot)) {}
    ~Lease() { owner_.give(place_); }
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    Store& operator*() const noexcept { return place_.store; }

   private:
    SharedStores& owner_;
    Place& place_;
  };

  // Puts all together and calls use(Store&), while nobody adds.
  template <class Use>
  decltype(auto) with_total(const Use& use) {
    std::unique_lock lock(mutex_);
    given_.wait(lock, [&] { return busy_ == 0; });
    for (auto& place : places_)
      if (place) total_.add(std::move(std::exchange(place, nullptr)->store));
    places_.clear();
    share_.set(0);
    return use(total_);
  }

 private:
  // Copies of this size are made without asking.
  static constexpr std::size_t small = std::size_t{256} << 10;

  Place& take(unsigned slot) {
    std::unique_lock lock(mutex_);
    while (true) {
      if (Place* place = find(slot)) {
        place->busy = true;
        ++busy_;
        return *place;
      }
      given_.wait(lock);
    }
  }
  void give(Place& place) {
    {
      const std::lock_guard lock(mutex_);
      place.busy = false;
      --busy_;
    }
    given_.notify_all();
  }
  Place* find(unsigned slot) {
    if (slot >= places_.size()) places_.resize(slot + std::size_t{1});
    if (places_[slot] && !places_[slot]->busy) return places_[slot].get();
    const auto made =
        static_cast<std::size_t>(std::ranges::count_if(places_, [](auto& p) { return p != nullptr; }));
    const bool fits = made == 0 || MemoryBudget::of_fills().fits(bytes_);
    if (!places_[slot] && fits && (made == 0 || bytes_ <= small)) return make(slot, made);
    for (auto& place : places_)
      if (place && !place->busy) return place.get();
    if (!fits) return nullptr;
    const auto free = std::ranges::find_if(places_, [](auto& p) { return p == nullptr; });
    const auto at = static_cast<std::size_t>(free - places_.begin());
    if (free == places_.end()) places_.emplace_back();
    return make(at, made);
  }
  Place* make(std::size_t at, std::size_t made) {
    places_[at] = std::make_unique<Place>(Place{total_.empty_copy()});
    share_.set(made * bytes_);  // all but the first
    return places_[at].get();
  }

  std::mutex mutex_;
  std::condition_variable given_;
  Store total_;
  std::size_t bytes_;
  std::vector<std::unique_ptr<Place>> places_;  // by thread, as far as it goes
  std::size_t busy_ = 0;
  MemoryBudget::Share share_;
};

}  // namespace colonnade::frame

#endif
