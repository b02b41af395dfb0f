// See home.h.
#include "cache/home.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "base/process.h"
#include "base/warning.h"
#include "cache/budget.h"
#include "cache/claims.h"
#include "cache/contents.h"
#include "cache/filler.h"
#include "cache/layout.h"
#include "cache/wait_policy.h"
#include "io/local/local_file.h"
#include "io/local/local_store.h"
#include "io/local/local_system.h"

namespace colonnade::cache {
namespace {

// How long a lost home is not used.
constexpr std::chrono::seconds time_lost(30);
// More than any store has in flight: requests to a dead server must not block the others.
constexpr unsigned most_threads = 64;

// Threads that are idle for so long end.
constexpr std::chrono::seconds longest_idle(20);

constexpr std::string_view folder_scheme = "obj://";
constexpr std::string_view claims_name = "claims";  // of the file in such a folder

// Of a home in a folder; empty for others.
std::filesystem::path folder_of(const std::string& store) {
  if (!store.starts_with(folder_scheme)) return {};
  try {
    return io::local_path(store, "obj:");
  } catch (const Error&) {  // opening it reports the error
    return {};
  }
}

// What fills a home while its folder is being removed may stay in it. It is as good as before: each page is
// verified.
std::shared_ptr<io::ObjectStore> open_folder(const std::string& store) {
  const std::array<std::string, 3> remains = {std::string(claims_name), std::to_string(pages_group),
                                              std::to_string(uses_group)};
  return io::open_local_store(store, {.create = true}, io::StoreCalls::of_system(), remains);
}

void make_folder_above(const std::filesystem::path& path) {
  std::error_code ignored;
  if (const auto above = path.parent_path(); !above.empty())
    std::filesystem::create_directories(above, ignored);
}

// In the memory file system, for remote homes. Each machine has its own.
std::string claims_of(const std::string& store) {
  if (store.starts_with("memory")) return {};  // of this process
  std::error_code code;
  const char* const shared = "/dev/shm";
  const std::filesystem::path folder = std::filesystem::is_directory(shared, code)
                                           ? std::filesystem::path(shared)
                                           : std::filesystem::temp_directory_path(code);
  if (code) return {};
  return (folder / fmt::format("colonnade-claims-{:016x}", number_of(store))).string();
}

struct Homes {
  std::mutex mutex;
  std::vector<std::shared_ptr<Home>> all;
};

Homes& homes() {
  static PerProcess<Homes> all;
  return all.get();
}

void flush_at_exit() {
  flush(std::chrono::seconds(5));
}

}  // namespace

std::shared_ptr<Home> Home::of(const Settings& settings) {
  static const int at_exit = std::atexit(flush_at_exit);
  static_cast<void>(at_exit);
  Homes& known = homes();
  const std::lock_guard lock(known.mutex);
  for (const std::shared_ptr<Home>& home : known.all)
    if (home->settings() == settings) return home;
  auto home = std::make_shared<Home>(settings);
  known.all.push_back(home);
  return home;
}

Home::Home(Settings settings)
    : settings_(std::move(settings)),
      filler_(std::make_unique<Filler>(*this)),
      budget_(std::make_unique<Budget>(*this)),
      wait_policy_(std::make_unique<WaitPolicy>(settings_.timeout)) {
  std::string claims;
  if (const std::filesystem::path folder = folder_of(settings_.store); !folder.empty()) {
    make_folder_above(folder);
    is_near_ = !io::is_on_network(folder.string());  // those may hang
    if (is_near_) claims = folder / claims_name;
  }
  claims_ = std::make_unique<Claims>(claims.empty() ? claims_of(settings_.store) : claims);
}

// Only homes in homes() have threads, and these live on.
Home::~Home() = default;

bool Home::is_here() const noexcept {
  return process_.is_current();
}

std::shared_ptr<io::ObjectStore> Home::store() {
  if (!is_here()) return nullptr;
  bool is_first = false;
  {
    const std::lock_guard lock(mutex_);
    if (Clock::now() < lost_until_) return nullptr;
    if (store_ != nullptr && is_near_ && store_->is_gone()) store_.reset();
    if (store_ != nullptr) return store_;
    // A home that was late once is not waited for again.
    if (is_opening_ && lost_until_ != Clock::time_point()) return nullptr;
    is_first = !std::exchange(is_opening_, true);
  }
  try {
    if (is_first) run([this] { open(); });
  } catch (...) {
    const std::lock_guard lock(mutex_);
    is_opening_ = false;
    throw;
  }
  std::unique_lock lock(mutex_);
  if (wakes_.wait_for(lock, settings_.timeout, [this] { return !is_opening_; }))
    return Clock::now() < lost_until_ ? nullptr : store_;
  lock.unlock();
  note_late();
  return nullptr;
}

void Home::open() noexcept {
  std::shared_ptr<io::ObjectStore> store;
  try {
    const std::filesystem::path folder = folder_of(settings_.store);
    make_folder_above(folder);
    store = folder.empty() ? io::open_object_store(settings_.store, {.create = true})
                           : open_folder(settings_.store);
    claims_->forget_file();
  } catch (...) {
    note_failure(std::current_exception());
  }
  const std::lock_guard lock(mutex_);
  store_ = std::move(store);
  if (store_ != nullptr) ++openings_;
  is_opening_ = false;
  wakes_.notify_all();
}

void Home::forget(const io::ObjectStore& gone) noexcept {
  const std::lock_guard lock(mutex_);
  if (store_.get() == &gone) store_.reset();
}

std::string Home::problem() const {
  const std::lock_guard lock(mutex_);
  return problem_;
}

void Home::note_late() noexcept {
  try {
    lose(fmt::format("no answer within {} ms", settings_.timeout.count()).c_str());
  } catch (...) {
  }
}

void Home::note_failure(const std::exception_ptr& failure) noexcept {
  try {
    std::rethrow_exception(failure);
  } catch (const std::exception& error) {
    lose(error.what());
  } catch (...) {
    lose("an unknown failure");
  }
}

void Home::lose(const char* problem) noexcept {
  try {
    bool is_first = false;
    {
      const std::lock_guard lock(mutex_);
      lost_until_ = Clock::now() + time_lost;
      problem_ = problem;
      is_first = !std::exchange(has_warned_, true);
    }
    if (is_first) warn(fmt::format("continuing without the cache {} for a while: {}", uri(), problem));
  } catch (...) {  // readers must not notice
  }
}

// ---- Threads

void Home::run(std::function<void()> task) {
  const std::lock_guard lock(mutex_);
  tasks_.push_back(std::move(task));
  if (idle_ >= tasks_.size() || threads_ == most_threads) {
    wakes_.notify_all();  // a thread, or a caller that waits for the store
    return;
  }
  try {
    std::thread([self = shared_from_this()] { self->work(); }).detach();
    ++threads_;
  } catch (const std::exception&) {  // existing threads will run it, or it is late
    wakes_.notify_all();             // a thread, or a caller that waits for the store
  }
}

void Home::run_awaited(std::function<void()> task) {
  {
    const std::lock_guard lock(mutex_);
    ++awaited_;
  }
  const auto end = [this] {
    const std::lock_guard lock(mutex_);
    --awaited_;
    wakes_.notify_all();
  };
  try {
    run([task = std::move(task), end] {
      task();
      end();
    });
  } catch (...) {
    end();
    throw;
  }
}

bool Home::wait(Clock::time_point end) {
  std::unique_lock lock(mutex_);
  return wakes_.wait_until(lock, end, [this] { return awaited_ == 0; });
}

// A thread cannot raise its priority again, so threads that callers wait for keep theirs.
void Home::run_apart(std::function<void()> task, int niceness) {
  try {
    std::thread([self = shared_from_this(), task, niceness] {
      if (niceness > 0)
        static_cast<void>(::setpriority(PRIO_PROCESS, static_cast<id_t>(::syscall(SYS_gettid)), niceness));
      task();
    }).detach();
  } catch (const std::exception&) {
    run(std::move(task));
  }
}

void Home::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    ++idle_;
    const bool has_work = wakes_.wait_for(lock, longest_idle, [this] { return !tasks_.empty(); });
    --idle_;
    if (!has_work) break;
    std::function<void()> task = std::move(tasks_.front());
    tasks_.pop_front();
    lock.unlock();
    task();
    task = nullptr;  // destroying it may call this home again
    lock.lock();
  }
  --threads_;
}

void forget_homes() {
  Homes& known = homes();
  const std::lock_guard lock(known.mutex);
  known.all.clear();
}

bool flush(std::chrono::milliseconds at_most) {
  std::vector<std::shared_ptr<Home>> all;
  {
    Homes& known = homes();
    const std::lock_guard lock(known.mutex);
    all = known.all;
  }
  const Home::Clock::time_point end = Home::Clock::now() + at_most;
  bool done = true;
  for (const std::shared_ptr<Home>& home : all) {
    done = home->filler().wait(end) && done;
    done = home->wait(std::min(end, Home::Clock::now() + home->settings().timeout)) && done;
  }
  return done;
}

}  // namespace colonnade::cache
