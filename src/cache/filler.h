// Filler: takes what a reader has read from an origin to the home.
//
// Pages are grouped into windows: as many consecutive pages of a column as make about 1 MiB, always the same
// ones, so that two processes that fill a cache write the same values. A complete window is written by
// a thread of the home; an incomplete one is written in parts when the data set is closed.
//
// Pages of a remote origin are copied. Windows use at most a fixed amount of memory; while it is
// exhausted, pages are dropped. For a local origin, only the location and the checksum of each page are
// recorded: copying would cost the reader as much as reading. A thread of low priority reads these pages
// again when it writes their window, and leaves out pages that have changed. Until then their file is open;
// pages of more than a few files are dropped, too. Readers never wait for a filler.
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
inline constexpr std::uint64_t most_noted = std::uint64_t{1} << 36;   // bytes of pages that are not copied
inline constexpr std::size_t most_origins = 64;                       // files that these pages keep open

class Filler {
 public:
  explicit Filler(Home& home) : home_(&home) { free_.reserve(most_free); }

  // Adds a verified page. `ends`: where each page of the window ends in the value, including its
  // checksum. `sum`: of the page, combined with its place; null: not computed yet. Returns false if dropped.
  struct VerifiedPage {
    std::uint32_t column = 0;
    RunKey window;
    Claim claim;               // of the window
    std::uint32_t number = 0;  // in the cluster
    ByteSpan content;
    const std::uint64_t* sum = nullptr;
    // If only its location is recorded, which needs the checksum: the file, and the offset in it.
    std::shared_ptr<const io::RandomAccessFile> origin = {};
    std::uint64_t offset = 0;
    bool sum_is_behind = false;
  };
  bool add(const std::shared_ptr<Contents>& to, const VerifiedPage& page,
           const std::vector<std::uint64_t>& ends);
  // Writes the incomplete windows, and when data were used. Then releases the claims of
  // `reader`.
  void finish(const std::shared_ptr<Contents>& of, Claims::Reader reader);
  // The same for all data sets, until nothing is left to write. Returns false if something is left because
  // there was no progress, or the time is over.
  bool wait(Home::Clock::time_point end);
  // Why the home, which can be read, takes nothing for a while; empty: it does.
  std::string refusal();

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
    // If only the locations of its pages are recorded; null: they are in `bytes`.
    std::shared_ptr<const io::RandomAccessFile> origin;
    bool sums_are_behind = false;
    std::vector<std::uint64_t> offsets;
    std::vector<std::uint64_t> sums;
  };
  using WindowRef = std::shared_ptr<Window>;
  struct Finished {
    std::shared_ptr<Contents> contents;
    Claims::Reader reader = Claims::Reader::none;  // whose claims are released
  };
  static constexpr std::size_t most_free = 32;
  using Key = std::tuple<const Contents*, std::uint32_t, RunKey>;

  WindowRef window_for(const std::shared_ptr<Contents>& to, const VerifiedPage& page,
                       const std::vector<std::uint64_t>& ends);
  bool may_note(const io::RandomAccessFile* origin, std::uint64_t bytes) const;
  void complete(const WindowRef& window);
  void close_windows(const Contents* of);
  void write_more() noexcept;
  bool take_work(bool is_quiet, WindowRef& window, Finished& finished);
  void write_all(bool is_quiet) noexcept;
  void carry_out(Window* window, const Finished& finished) noexcept;
  void note_failure(io::ObjectStore* store) noexcept;
  void write(io::ObjectStore& store, Window& window);
  bool read_again(Window& window);
  void write_run(io::ObjectStore& store, Window& window, std::size_t first, std::size_t count);
  void take_memory(Window& window);
  void release(Window& window) noexcept;

  Home* home_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<Key, WindowRef> open_;
  std::deque<WindowRef> ready_;
  std::deque<WindowRef> noted_;  // also ready, but their pages must be read first
  std::vector<Finished> finished_;
  std::vector<AlignedBuffer> free_;  // as many as there is room for
  std::size_t memory_ = 0;
  std::uint64_t noted_bytes_ = 0;
  std::map<const io::RandomAccessFile*, std::size_t> origins_;  // how many noted windows each file has
  unsigned writers_ = 0;
  unsigned quiet_ = 0;           // writers of low priority
  unsigned waiting_ = 0;         // threads that wait for everything to be written
  bool needs_settling_ = false;  // of the budget, when all is written
  std::uint64_t written_ = 0;    // windows
  Home::Clock::time_point refused_until_ = {};
  std::string refusal_;
  bool has_warned_ = false;
};

}  // namespace colonnade::cache

#endif
