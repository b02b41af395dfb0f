// See side_by_side.h.
#include "base/side_by_side.h"

#include <exception>
#include <thread>
#include <vector>

namespace colonnade {

void run_side_by_side(std::size_t count, const std::function<void(std::size_t)>& work) {
  std::vector<std::exception_ptr> failures(count);
  const auto attempt = [&](std::size_t i) {
    try {
      work(i);
    } catch (...) {
      failures[i] = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> threads;  // joined here, whatever happens
    threads.reserve(count);
    std::size_t next = 1;
    try {
      for (; next < count; ++next) threads.emplace_back(attempt, next);
    } catch (const std::exception&) {  // fewer threads suffice
    }
    if (count > 0) attempt(0);
    for (; next < count; ++next) attempt(next);
  }
  for (const std::exception_ptr& failure : failures)
    if (failure) std::rethrow_exception(failure);
}

}  // namespace colonnade
