// Claims: which reader of this machine downloads which pages, so that the readers that use one home
// download each page once.
//
// A claim is a lock on a byte of a file: in the folder of the home, or in the memory file system if the home
// is elsewhere. The system releases it when its process ends, for any reason. No reader waits for a
// lock: if a window is claimed, the reader looks for its pages in the home, for a limited time. Without
// locks, each reader downloads what it needs. Within a process, a table does the same.
//
// The system keeps the locks of a file in a list. Consecutive windows have consecutive bytes, which the
// system merges into one lock, so that the list stays short.
#ifndef COLONNADE_CACHE_CLAIMS_H
#define COLONNADE_CACHE_CLAIMS_H

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

namespace colonnade::cache {

// The bytes of the file that represent a window.
struct Claim {
  std::uint64_t at = 0;
  std::uint64_t size = 1;
};

// Of one of the windows of a column and cluster. Windows of other data sets, or far apart,
// may share a byte by chance; the only cost is a wait in vain.
Claim claim_of(std::uint64_t data_set, std::uint32_t column, std::uint64_t cluster, std::size_t window,
               std::size_t windows) noexcept;

class Claims {
 public:
  // `path`: the file, which is created when it is first needed.
  explicit Claims(std::string path) : path_(std::move(path)) {}
  ~Claims();
  Claims(const Claims&) = delete;
  Claims& operator=(const Claims&) = delete;

  // Identifies a reader. Its address would not do: the next reader may get the same one while claims of the
  // last one still wait to be released.
  enum class Reader : std::uint64_t { none };
  Reader add_reader() noexcept { return Reader{++readers_}; }

  enum class Turn { ours, ours_now, others };
  // `ours_now`: it was free before. Beyond some thousands, further windows are not claimed.
  Turn take(const Claim& claim, Reader reader);
  // Whether another process that is alive has it.
  bool is_others(const Claim& claim, Reader reader);
  void release(const Claim& claim);
  void release_all(Reader reader);
  // The file was removed with its folder: the next claims are made in another one of the same name.
  void forget_file();
  // Whether other readers use the home, or have used it recently.
  bool has_company(Reader reader);

 private:
  struct Taken {
    std::uint64_t size = 0;  // of the claim
    Reader reader = Reader::none;
    std::thread::id thread;
  };

  int file();
  bool set(const Claim& claim, short type);

  const std::string path_;
  std::atomic<std::uint64_t> readers_ = 0;
  std::mutex mutex_;
  bool is_open_ = false;
  int file_ = -1;
  std::map<std::uint64_t, Taken> taken_;  // by this process
  std::chrono::steady_clock::time_point company_until_;
  std::chrono::steady_clock::time_point next_look_;
};

}  // namespace colonnade::cache

#endif
