// WriteStaging: converts writes of any size to whole, aligned blocks for a file that accepts only those
// (O_DIRECT). All data go to the file in whole blocks through one descriptor, so that no block is written by
// both kinds of I/O.
//
//   write(offset, bytes) -- whole blocks --> window: 4 MiB of the file in aligned memory, a mark per block
//                        -- the edges -----> open block: 4 KiB and a mark per byte
//   open block, all bytes given ----------> its window
//   window, all blocks marked ------------> written by a thread of the staging, in the background
//   flush() ------------------------------> the marked blocks of every window; open blocks as well, with what
//                                           the file has in the bytes that were not given
//
// A block is in one window, in one open block, or in neither. Windows and open blocks are limited in number:
// if none is free, the least recently used one is written. A window being written is not modified; a thread
// that needs it waits.
//
// Any number of threads may write at once, to disjoint bytes, which may share blocks. Whole blocks are copied
// outside of the lock. An error of a background write persists: the bytes are lost, and every later call
// reports that, until truncate() drops them.
#ifndef COLONNADE_IO_LOCAL_WRITE_STAGING_H
#define COLONNADE_IO_LOCAL_WRITE_STAGING_H

#include <array>
#include <atomic>
#include <bitset>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/bytes.h"
#include "io/local/write_calls.h"

namespace colonnade::io {

class WriteStaging {
 public:
  static constexpr std::size_t block_size = 4096;
  static constexpr std::size_t window_size = std::size_t{4} << 20;
  static constexpr std::size_t blocks_per_window = window_size / block_size;
  struct Limits {
    std::size_t windows = 16;
    std::size_t open_blocks = 1024;
    unsigned threads = 2;
  };

  // `file` accepts aligned blocks of at most block_size and has `size` bytes; it and the calls outlive this
  // object. `uri` is for messages.
  WriteStaging(const WriteCalls& calls, int file, std::string uri, std::uint64_t size, const Limits& limits);
  ~WriteStaging();  // drops unflushed data
  WriteStaging(const WriteStaging&) = delete;
  WriteStaging& operator=(const WriteStaging&) = delete;

  std::uint64_t size() const;
  void write(std::uint64_t offset, std::span<const ByteSpan> parts);
  void flush();
  void read(std::uint64_t offset, MutableByteSpan into);
  // Drops all data behind `size`, and a failure if it was reported and all lost data lie there.
  void truncate(std::uint64_t size);

 private:
  struct Window {
    std::uint64_t index = 0;  // its offset in the file / window_size
    AlignedBuffer memory;
    std::bitset<blocks_per_window> full;
    unsigned fillers = 0;    // threads that copy into it
    bool in_flight = false;  // being written
    std::uint64_t adopted = 0;
    std::uint64_t last_use = 0;
  };
  struct OpenBlock {
    AlignedBuffer memory;
    std::bitset<block_size> given;  // and not in the file yet
    bool known = false;             // the other bytes equal the file's
    bool busy = false;              // being written
    std::uint64_t last_use = 0;
  };
  struct Failure {
    int code = 0;
    std::uint64_t offset = 0;
    std::uint64_t count = 0;
  };
  struct Written {
    std::uint64_t end = 0;
    std::optional<Failure> failure;
  };
  using Lock = std::unique_lock<std::mutex>;
  using OpenBlocks = std::map<std::uint64_t, OpenBlock>;  // by offset
  class Parts;

  void write_whole(Lock& lock, std::uint64_t offset, std::size_t count, Parts& from);
  void write_edge(Lock& lock, std::uint64_t offset, std::size_t count, Parts& from);
  bool write_edge_to_window(Lock& lock, std::uint64_t offset, std::size_t count, Parts& from);
  bool wait_for_busy(Lock& lock, std::uint64_t offset, std::uint64_t end);
  void promote(Lock& lock, std::uint64_t offset);

  static std::uint64_t window_end(const Window& window) noexcept { return (window.index + 1) * window_size; }
  Window* try_window(Lock& lock, std::uint64_t index);
  void add_window();
  Window& adopt_free_window(std::uint64_t index);
  void evict();
  void submit_if_full(Window& window);
  void submit(Window& window);
  void work();
  bool can_write_next() const;
  void write_next(Lock& lock);
  void grow_file(Lock& lock, std::uint64_t end);
  void wait(Lock& lock);

  Written write_marked(const Window& window);
  Written write_blocks(std::uint64_t offset, const std::byte* from, std::size_t count);
  void stop_direct();
  void resume_direct();
  std::optional<Failure> read_blocks(std::uint64_t offset, MutableByteSpan into);

  bool make_room_for_block(Lock& lock);
  void write_open_block(Lock& lock, OpenBlocks::iterator block);
  std::optional<Failure> fill_up(std::uint64_t offset, OpenBlock& block, MutableByteSpan before);

  void flush(Lock& lock);
  void write_windows(Lock& lock);
  void cut_file_to_size();
  int set_file_size(std::uint64_t size);
  void drop_behind(std::uint64_t size);
  void note(const Written& written);
  void throw_failure();

  const WriteCalls& calls_;
  const int file_;
  const std::string uri_;
  const Limits limits_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;  // a window or a block became free, or a copy is done
  std::condition_variable work_;
  std::vector<std::unique_ptr<Window>> windows_;
  std::vector<Window*> free_;
  std::map<std::uint64_t, Window*> resident_;
  std::deque<Window*> to_write_;
  bool extending_ = false;  // a window behind the end of the file is being written
  OpenBlocks blocks_;
  std::vector<std::thread> threads_;
  unsigned idle_threads_ = 0;
  std::uint64_t clock_ = 0;
  std::uint64_t size_ = 0;     // including data not in the file yet
  std::uint64_t on_file_ = 0;  // the file's size, including padding of its last block
  std::optional<Failure> failure_;
  std::uint64_t first_lost_ = 0;  // of all failures
  bool reported_ = false;
  std::atomic<bool> wrote_ = false;    // a write succeeded, so the file system can write
  std::atomic<bool> refused_ = false;  // direct I/O was refused by the file system
  bool stopping_ = false;
};

}  // namespace colonnade::io

#endif
