// Claims: who downloads what, among the readers of this machine that use one home, so that each page is
// downloaded once.
//
// A claim is the lock of a byte in a file: in the folder of the home, or in the memory file system where the
// home is elsewhere. The system releases it when its process ends, however that ends. No reader waits for a
// lock: if a claim is taken, it looks for the pages in the home instead, for a limited time. Without such
// locks, each reader downloads what it needs. A table does the same for readers of one process.
//
// The system keeps the locks of a file in a list. Windows that follow each other have bytes that follow each
// other, of which it makes one lock, so that the list stays short.
#ifndef COLONNADE_CACHE_CLAIMS_H
#define COLONNADE_CACHE_CLAIMS_H

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <thread>

namespace colonnade::cache {

// The bytes of the file that stand for a window.
struct Claim {
  std::uint64_t at = 0;
  std::uint64_t size = 1;
};

// Of the window with this number of so many in a column and cluster. Windows of other data sets, or far
// apart, may have the same one by chance; that costs no more than waiting in vain.
Claim claim_of(std::uint64_t data_set, std::uint32_t column, std::uint64_t cluster, std::size_t window,
               std::size_t windows) noexcept;

class Claims {
 public:
  // `path`: the file, which is made when it is first needed.
  explicit Claims(std::string path) : path_(std::move(path)) {}
  ~Claims();
  Claims(const Claims&) = delete;
  Claims& operator=(const Claims&) = delete;

  enum class Turn { ours, ours_now, others };
  // `ours_now`: it was nobody's before. Beyond some thousands, what is taken is not claimed.
  Turn take(const Claim& claim, const void* owner);
  // Whether somebody else has it who is alive.
  bool is_others(const Claim& claim, const void* owner);
  void release(const Claim& claim);
  void release_all(const void* owner);
  // Whether other readers use the home, or did a moment ago.
  bool has_company(const void* owner);

 private:
  struct Owner {
    std::uint64_t size = 0;  // of the claim
    const void* owner = nullptr;
    std::thread::id thread;
  };

  int file();
  bool set(const Claim& claim, short type);

  const std::string path_;
  std::mutex mutex_;
  bool is_open_ = false;
  int file_ = -1;
  std::map<std::uint64_t, Owner> taken_;  // by this process
  std::chrono::steady_clock::time_point company_until_;
  std::chrono::steady_clock::time_point next_look_;
};

}  // namespace colonnade::cache

#endif
