// See claims.h. Each reader holds a shared lock on the first byte of the file, as a sign of its presence.
#include "cache/claims.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace colonnade::cache {
namespace {

constexpr std::chrono::seconds company_lasts(60);
constexpr std::chrono::milliseconds between_looks(100);
// Scattered windows are locks of their own, and the system searches the list of locks each time.
constexpr std::size_t most_claims = 4096;
// Bits of an offset in the file: data set 24 | column 14 | cluster 16 | window 8.
constexpr std::uint64_t window_count = 1 << 8;
constexpr std::uint64_t cluster_count = 1 << 16;
constexpr std::uint64_t column_count = 1 << 14;
constexpr std::uint64_t data_set_count = 1 << 24;

struct flock range_at(const Claim& claim, short type) noexcept {
  struct flock range{};
  range.l_type = type;
  range.l_whence = SEEK_SET;
  range.l_start = static_cast<off_t>(claim.at) + 1;  // byte 0 marks presence
  range.l_len = static_cast<off_t>(claim.size);
  return range;
}

}  // namespace

Claim claim_of(std::uint64_t data_set, std::uint32_t column, std::uint64_t cluster, std::size_t window,
               std::size_t windows) noexcept {
  const std::uint64_t first =
      ((data_set % data_set_count * column_count + column % column_count) * cluster_count +
       cluster % cluster_count) *
      window_count;
  const std::uint64_t number = window % window_count;
  // The last window extends to the next cluster.
  return {first + number, window + 1 == windows ? window_count - number : 1};
}

Claims::~Claims() {
  if (file_ >= 0) ::close(file_);
}

// -1: claims are not available. The lock is held.
int Claims::file() {
  if (is_open_) return file_;
  is_open_ = true;
  if (path_.empty()) return -1;
  const int flags = O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
  // In a folder that all users share, files of others must not be opened with O_CREAT.
  file_ = ::open(path_.c_str(), flags);
  if (file_ < 0 && errno == ENOENT) {
    file_ = ::open(path_.c_str(), flags | O_CREAT | O_EXCL, 0666);
    if (file_ >= 0) static_cast<void>(::fchmod(file_, 0666));
    if (file_ < 0 && errno == EEXIST) file_ = ::open(path_.c_str(), flags);
  }
  if (file_ < 0) return -1;
  struct flock sign{};
  sign.l_type = F_RDLCK;
  sign.l_whence = SEEK_SET;
  sign.l_len = 1;
  if (::fcntl(file_, F_OFD_SETLK, &sign) != 0) {
    ::close(file_);
    file_ = -1;
  }
  return file_;
}

// The lock is held.
bool Claims::set(const Claim& claim, short type) {
  const int file = this->file();
  struct flock range = range_at(claim, type);
  // A window that cannot be locked for another reason counts as free.
  return file < 0 || ::fcntl(file, F_OFD_SETLK, &range) == 0 || (errno != EAGAIN && errno != EACCES);
}

Claims::Turn Claims::take(const Claim& claim, Reader reader) {
  const std::lock_guard lock(mutex_);
  const std::thread::id here = std::this_thread::get_id();
  if (const auto found = taken_.find(claim.at); found != taken_.end()) {
    if (found->second.reader == reader) return Turn::ours;
    company_until_ = std::chrono::steady_clock::now() + company_lasts;
    // Two readers in one thread: the other one cannot continue while this one waits.
    return found->second.thread == here ? Turn::ours : Turn::others;
  }
  if (taken_.size() >= most_claims) return Turn::ours;
  if (!set(claim, F_WRLCK)) {
    company_until_ = std::chrono::steady_clock::now() + company_lasts;
    return Turn::others;
  }
  taken_.emplace(claim.at, Taken{claim.size, reader, here});
  return Turn::ours_now;
}

bool Claims::is_others(const Claim& claim, Reader reader) {
  const std::lock_guard lock(mutex_);
  if (const auto found = taken_.find(claim.at); found != taken_.end()) return found->second.reader != reader;
  const int file = this->file();
  struct flock range = range_at(claim, F_WRLCK);
  return file >= 0 && ::fcntl(file, F_OFD_GETLK, &range) == 0 && range.l_type != F_UNLCK;
}

void Claims::release(const Claim& claim) {
  const std::lock_guard lock(mutex_);
  if (taken_.erase(claim.at) > 0) set(claim, F_UNLCK);
}

void Claims::release_all(Reader reader) {
  const std::lock_guard lock(mutex_);
  std::erase_if(taken_, [&](const auto& entry) {
    if (entry.second.reader != reader) return false;
    set({entry.first, entry.second.size}, F_UNLCK);
    return true;
  });
}

void Claims::forget_file() {
  const std::lock_guard lock(mutex_);
  if (file_ >= 0) ::close(file_);
  file_ = -1;
  is_open_ = false;
}

bool Claims::has_company(Reader reader) {
  const auto now = std::chrono::steady_clock::now();
  const std::lock_guard lock(mutex_);
  if (now < next_look_) return now < company_until_;
  next_look_ = now + between_looks;
  struct flock sign{};
  sign.l_type = F_WRLCK;
  sign.l_whence = SEEK_SET;
  sign.l_len = 1;
  const int file = this->file();
  const bool is_found =
      (file >= 0 && ::fcntl(file, F_OFD_GETLK, &sign) == 0 && sign.l_type != F_UNLCK) ||
      std::ranges::any_of(taken_, [&](const auto& each) { return each.second.reader != reader; });
  if (is_found) company_until_ = now + company_lasts;
  return now < company_until_;
}

}  // namespace colonnade::cache
