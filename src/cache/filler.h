// Filler: what a reader has read of an origin, on its way into the home.
//
// Pages are copied into windows, which are so many consecutive pages of a column as make about 1 MiB: always
// the same ones, so that two processes that fill a cache make the same values. A window that is complete is
// written by a thread of the home; one that is not when the data set is closed, in parts. Windows take at
// most a fixed amount of memory: while it is used up, pages are dropped. Nobody ever waits for a filler.
#ifndef COLONNADE_CACHE_FILLER_H
#define COLONNADE_CACHE_FILLER_H

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <tuple>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/bytes.h"
#include "cache/contents.h"

namespace colonnade::cache {

inline constexpr std::uint64_t window_size = std::uint64_t{1} << 20;  // bytes; with its last page more
inline constexpr std::size_t most_memory = std::size_t{128} << 20;    // bytes of windows

class Filler {
 public:
  explicit Filler(Home& home) : home_(&home) {}

  // A page whose bytes are right. `ends`: where each page of the window ends in the value, its checksum
  // included. `sum`: of the page, combined with its place; null: it is still to be computed. False: dropped.
  struct Page {
    std::uint32_t column = 0;
    RunKey window;
    std::uint32_t number = 0;  // in the cluster
    ByteSpan content;
    const std::uint64_t* sum = nullptr;
  };
  bool add(const std::shared_ptr<Contents>& to, const Page& page, const std::vector<std::uint64_t>& ends);
  // Has what is there of incomplete windows written, and when what was used.
  void finish(const std::shared_ptr<Contents>& of);
  // The same of all data sets, and until nothing waits to be written. False: something does, and there was no
  // progress, or the time is over.
  bool wait(Home::Clock::time_point end);

 private:
  struct Window {
    std::shared_ptr<Contents> to;
    std::uint32_t column = 0;
    RunKey key;
    std::vector<std::uint64_t> ends;
    std::vector<bool> has;
    std::vector<bool> is_summed;
    std::size_t missing = 0;
    std::size_t being_copied = 0;
    AlignedBuffer bytes;
  };
  using WindowRef = std::shared_ptr<Window>;
  using Key = std::tuple<const Contents*, std::uint32_t, RunKey>;

  void close_windows(const Contents* of);
  void write_more();
  void write_all() noexcept;
  void write(Window& window);
  void write_run(Window& window, std::size_t first, std::size_t count);
  void release(Window& window);

  Home* home_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<Key, WindowRef> open_;
  std::deque<WindowRef> ready_;
  std::vector<std::shared_ptr<Contents>> used_;  // whose uses are to be written
  std::vector<AlignedBuffer> free_;
  std::size_t memory_ = 0;
  unsigned writers_ = 0;
  std::uint64_t written_ = 0;  // windows
};

}  // namespace colonnade::cache

#endif
