// Filler: what a reader has read of an origin, on its way into the home.
//
// Pages go into windows, which are so many consecutive pages of a column as make about 1 MiB: always the same
// ones, so that two processes that fill a cache make the same values. A window that is complete is written by
// a thread of the home; one that is not when the data set is closed, in parts.
//
// Pages of an origin that is far are copied. Windows take at most a fixed amount of memory: while it is used
// up, pages are dropped. Of an origin that is near it is only noted where they are and what their checksums
// are: copying them would cost the reader as much as reading. They are read once more when their window is
// written, by a thread that yields to all others, and left out if they are not the same any more. Nobody ever
// waits for a filler.
#ifndef COLONNADE_CACHE_FILLER_H
#define COLONNADE_CACHE_FILLER_H

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <tuple>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/bytes.h"
#include "cache/claims.h"
#include "cache/contents.h"
#include "io/random_access_file.h"

namespace colonnade::cache {

inline constexpr std::uint64_t window_size = std::uint64_t{1} << 20;  // bytes; with its last page more
inline constexpr std::size_t most_memory = std::size_t{128} << 20;    // bytes of windows
inline constexpr std::uint64_t most_noted = std::uint64_t{1} << 36;   // bytes of those that are only noted

class Filler {
 public:
  explicit Filler(Home& home) : home_(&home) {}

  // A page whose bytes are right. `ends`: where each page of the window ends in the value, its checksum
  // included. `sum`: of the page, combined with its place; null: it is still to be computed. False: dropped.
  struct Page {
    std::uint32_t column = 0;
    RunKey window;
    Claim claim;               // of the window
    std::uint32_t number = 0;  // in the cluster
    ByteSpan content;
    const std::uint64_t* sum = nullptr;
    // If it is only noted, which needs the checksum: the file that it is in, and where.
    std::shared_ptr<const io::RandomAccessFile> origin = {};
    std::uint64_t offset = 0;
    bool sum_is_behind = false;
  };
  bool add(const std::shared_ptr<Contents>& to, const Page& page, const std::vector<std::uint64_t>& ends);
  // Has what is there of incomplete windows written, and when what was used. Then gives back what `owner` has
  // claimed.
  void finish(const std::shared_ptr<Contents>& of, const void* owner);
  // The same of all data sets, and until nothing waits to be written. False: something does, and there was no
  // progress, or the time is over.
  bool wait(Home::Clock::time_point end);

 private:
  struct Window {
    std::shared_ptr<Contents> to;
    std::uint32_t column = 0;
    RunKey key;
    Claim claim;
    std::vector<std::uint64_t> ends;
    std::vector<bool> has;
    std::vector<bool> is_summed;
    std::size_t missing = 0;
    std::size_t being_copied = 0;
    AlignedBuffer bytes;
    // Of one whose pages are only noted; null: they are in `bytes`.
    std::shared_ptr<const io::RandomAccessFile> origin;
    bool sums_are_behind = false;
    std::vector<std::uint64_t> offsets;
    std::vector<std::uint64_t> sums;
  };
  using WindowRef = std::shared_ptr<Window>;
  struct Finished {
    std::shared_ptr<Contents> contents;
    const void* owner = nullptr;  // of claims; null: nobody
  };
  using Key = std::tuple<const Contents*, std::uint32_t, RunKey>;

  WindowRef window_for(const std::shared_ptr<Contents>& to, const Page& page,
                       const std::vector<std::uint64_t>& ends);
  void complete(WindowRef window);
  void close_windows(const Contents* of);
  void write_more();
  bool take_work(bool is_quiet, WindowRef& window, Finished& finished);
  void write_all(bool is_quiet) noexcept;
  void carry_out(Window* window, const Finished& finished) noexcept;
  void write(io::ObjectStore& store, Window& window);
  bool read_again(Window& window);
  void write_run(io::ObjectStore& store, Window& window, std::size_t first, std::size_t count);
  void take_memory(Window& window);
  void release(Window& window);

  Home* home_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<Key, WindowRef> open_;
  std::deque<WindowRef> ready_;
  std::deque<WindowRef> noted_;  // ready as well; their pages are to be read first
  std::vector<Finished> finished_;
  std::vector<AlignedBuffer> free_;
  std::size_t memory_ = 0;
  std::uint64_t noted_bytes_ = 0;
  unsigned writers_ = 0;
  unsigned quiet_ = 0;           // writers that yield to everybody
  unsigned waiting_ = 0;         // who waits for all to be written
  bool needs_settling_ = false;  // of the budget, when all is written
  std::uint64_t written_ = 0;    // windows
};

}  // namespace colonnade::cache

#endif
