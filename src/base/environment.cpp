// The system's environment. A sign of life is a lock on a file in /dev/shm, which the kernel releases when
// its owner ends, for whatever reason. That file system is in memory: a copy of a machine, or a machine that
// was restarted, lacks the file, so the answer there is `unknown` instead of a wrong one.
#include "base/environment.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "base/process.h"
#include "base/start_thread.h"

namespace colonnade {
namespace {

constexpr const char* signs_folder = "/dev/shm";
constexpr long memory_file_system = 0x01021994;  // TMPFS_MAGIC
// A sign whose owner was killed is worth keeping: with it, another process need not wait for the lease.
constexpr std::chrono::hours keeps_signs{7 * 24};

std::string sign_prefix() {
  return fmt::format("colonnade-{}-", ::geteuid());
}

std::string sign_path(std::uint64_t id) {
  return fmt::format("{}/{}{:016x}", signs_folder, sign_prefix(), id);
}

// The ids of this user's signs that were made long ago. Iterators of std::filesystem end the program if
// memory is short.
std::vector<std::uint64_t> old_signs() {
  const std::string prefix = sign_prefix();
  std::vector<std::uint64_t> found;
  const std::unique_ptr<DIR, decltype([](DIR* open) { ::closedir(open); })> folder(::opendir(signs_folder));
  while (const dirent* entry = folder ? ::readdir(folder.get()) : nullptr) {
    const std::string_view name = entry->d_name;
    if (!name.starts_with(prefix)) continue;
    std::uint64_t id = 0;
    const char* const end = name.data() + name.size();
    const auto [rest, code] = std::from_chars(name.data() + prefix.size(), end, id, 16);
    struct stat status{};
    if (code != std::errc() || rest != end ||
        ::fstatat(::dirfd(folder.get()), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0)
      continue;
    const auto made = std::chrono::system_clock::from_time_t(status.st_mtime);
    if (std::chrono::system_clock::now() - made > keeps_signs) found.push_back(id);
  }
  return found;
}

class File {
 public:
  explicit File(int number) noexcept : number_(number) {}
  ~File() {
    if (number_ >= 0) ::close(number_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  int get() const noexcept { return number_; }

 private:
  int number_;
};

class SignOfLife final : public Environment::Handle {
 public:
  explicit SignOfLife(const std::string& path)
      : file_(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600)) {}
  // A forked child shares the lock: if this process dies, the sign of life remains until the child ends.
  ~SignOfLife() override {
    if (process_.is_current() && file_.get() >= 0) ::flock(file_.get(), LOCK_UN);
  }
  bool lock() const noexcept { return file_.get() >= 0 && ::flock(file_.get(), LOCK_EX | LOCK_NB) == 0; }

 private:
  File file_;
  const Process process_;
};

class Repetition final : public Environment::Handle {
 public:
  Repetition(std::chrono::nanoseconds period, std::function<void()> work)
      : thread_(start_thread([this, period, work = std::move(work)] { run(period, work); })) {}
  ~Repetition() override {
    if (!process_.is_current()) {  // a forked child does not have this thread
      thread_.detach();
      return;
    }
    {
      const std::lock_guard lock(mutex_);
      ends_ = true;
    }
    changed_->notify_all();
    thread_.join();
  }

 private:
  void run(std::chrono::nanoseconds period, const std::function<void()>& work) {
    std::unique_lock lock(mutex_);
    while (!changed_->wait_for(lock, period, [&] { return ends_; })) {
      lock.unlock();
      work();
      lock.lock();
    }
  }

  std::mutex mutex_;
  LeftByChildren<std::condition_variable> changed_;
  bool ends_ = false;
  const Process process_;
  std::thread thread_;  // last: it uses the members above
};

class System final : public Environment {
 public:
  Clock::time_point now() const override { return Clock::now(); }
  std::int64_t unix_time() const override {
    using namespace std::chrono;
    return duration_cast<seconds>(system_clock::now().time_since_epoch()).count();
  }
  void sleep_for(std::chrono::nanoseconds time) override { std::this_thread::sleep_for(time); }

  ProcessIdentity process() const override {
    std::array<char, 256> name{};
    const bool named = ::gethostname(name.data(), name.size() - 1) == 0;
    return {static_cast<std::uint64_t>(::getpid()), named ? name.data() : ""};
  }

  std::uint64_t random_number() override {
    std::random_device device;
    return std::uint64_t{device()} << 32 | device();
  }

  std::unique_ptr<Handle> show_life(std::uint64_t id) override {
    if (!is_in_memory()) return nullptr;
    auto sign = std::make_unique<SignOfLife>(sign_path(id));
    if (!sign->lock()) return nullptr;
    for (const std::uint64_t old : old_signs())
      if (life_of(old) == Life::ended) forget_life(old);
    return sign;
  }

  Life life_of(std::uint64_t id) const override {
    if (!is_in_memory()) return Life::unknown;
    const File file(::open(sign_path(id).c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
    struct stat status{};
    if (file.get() < 0 || ::fstat(file.get(), &status) != 0) return Life::unknown;
    // Files of other users are not trusted.
    if (!S_ISREG(status.st_mode) || status.st_uid != ::geteuid()) return Life::unknown;
    if (::flock(file.get(), LOCK_SH | LOCK_NB) == 0) return Life::ended;
    return errno == EWOULDBLOCK ? Life::running : Life::unknown;
  }

  void forget_life(std::uint64_t id) override { ::unlink(sign_path(id).c_str()); }

  std::unique_ptr<Handle> repeat(std::chrono::nanoseconds period, std::function<void()> work) override {
    return std::make_unique<Repetition>(period, std::move(work));
  }

 private:
  static bool is_in_memory() noexcept {
    struct statfs status{};
    return ::statfs(signs_folder, &status) == 0 && status.f_type == memory_file_system;
  }
};

std::atomic<Environment*>& current() noexcept {
  static System system;
  static std::atomic<Environment*> environment{&system};
  return environment;
}

}  // namespace

Environment& environment() noexcept {
  return *current().load(std::memory_order_acquire);
}

ReplacedEnvironment::ReplacedEnvironment(Environment& other) noexcept
    : before_(current().exchange(&other, std::memory_order_acq_rel)) {}

ReplacedEnvironment::~ReplacedEnvironment() {
  current().store(before_, std::memory_order_release);
}

}  // namespace colonnade
