// See home_file.h.
#include "cache/home_file.h"

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <functional>
#include <list>
#include <map>
#include <mutex>
#include <utility>

#include "base/aligned_buffer.h"
#include "base/interruption.h"
#include "cache/data_set.h"

namespace colonnade::cache {

// The reads of one reader that are in progress in threads of the home.
class HomeQueue final : public io::ReadQueue {
 public:
  HomeQueue(DataSet& data_set, bool is_awaited)
      : data_set_(&data_set),
        is_awaited_(is_awaited),
        timeout_(data_set.home_->settings().timeout * (is_awaited ? 4 : 1)),
        shared_(std::make_shared<Shared>()) {}

  void submit(std::uint64_t id, std::uint64_t offset, MutableByteSpan into) override {
    const std::uint64_t key = next_key_++;
    begin();
    try {
      Read& read = reads_[key] = {.id = id, .offset = offset, .into = into};
      if (!data_set_->home_->is_here())  // a forked child: there are no threads
        finish_here(key, read);
      else
        start(key, read, !data_set_->home_->is_lost());
    } catch (...) {
      reads_.erase(key);
      withdraw();
      throw;
    }
  }

 private:
  struct Done {
    std::uint64_t key = 0;
    bool from_home = false;
    AlignedBuffer bytes;
    std::exception_ptr failure;
  };
  // State that outlives the queue while threads still work for it.
  struct Shared {
    std::mutex mutex;
    std::condition_variable changed;
    std::list<Done> done;
  };
  struct Read {
    std::uint64_t id = 0;
    std::uint64_t offset = 0;
    MutableByteSpan into;
    bool asks_home = false;
    Home::Clock::time_point since;
  };

  void start(std::uint64_t key, Read& read, bool asks_home) {
    // Made here, so that nothing keeps the task from answering.
    const auto answer = std::make_shared<std::list<Done>>(1);
    answer->front() = {.key = key, .from_home = asks_home, .bytes = {}, .failure = {}};
    std::function<void()> task = [shared = shared_, data_set = data_set_->shared_from_this(), answer,
                                  offset = read.offset, size = read.into.size()] {
      carry_out(*data_set, offset, size, answer->front());
      const std::lock_guard lock(shared->mutex);
      shared->done.splice(shared->done.end(), *answer);
      shared->changed.notify_all();
    };
    // Reads that wait for other readers must not block the home's threads.
    is_awaited_ ? data_set_->home_->run_apart(std::move(task), 0) : data_set_->home_->run(std::move(task));
    read.asks_home = asks_home;
    read.since = Home::Clock::now();
  }

  static void carry_out(DataSet& data_set, std::uint64_t offset, std::size_t size, Done& done) noexcept {
    try {
      done.bytes = AlignedBuffer(size);
      const MutableByteSpan into = done.bytes.span();
      if (done.from_home) return data_set.read_home(offset, into);
      for (const DataSet::RunRange& range : data_set.split(offset, into)) data_set.read_origin(range);
    } catch (...) {
      done.failure = std::current_exception();
    }
  }

  void finish_here(std::uint64_t key, const Read& read) {
    const std::lock_guard lock(shared_->mutex);
    Done& done = shared_->done.emplace_back();
    done.key = key;
    carry_out(*data_set_, read.offset, read.into.size(), done);
  }

  void progress(bool block) override {
    if (block) wait_for_answer();
    std::list<Done> answers;
    {
      const std::lock_guard lock(shared_->mutex);
      answers.swap(shared_->done);
    }
    for (const Done& done : answers) {
      const auto found = reads_.find(done.key);
      // For a late read the first answer counts, from the home or the origin.
      if (found == reads_.end()) continue;
      if (done.failure != nullptr && done.from_home && !found->second.asks_home) continue;
      if (done.failure == nullptr)
        std::memcpy(found->second.into.data(), done.bytes.data(), done.bytes.size());
      finish(found->second.id, done.failure);
      reads_.erase(found);
    }
  }

  // Until something is done, or a read is late, which then goes to the origin as well.
  void wait_for_answer() {
    Home& home = *data_set_->home_;
    Home::Clock::time_point end = Home::Clock::time_point::max();
    for (const auto& [key, read] : reads_)
      if (read.asks_home) end = std::min(end, read.since + timeout_);
    if (wait_for_one(end)) return;
    home.note_late();
    // Other requests to it are not waited for either.
    for (auto& [key, read] : reads_)
      if (read.asks_home) start(key, read, false);
  }

  // Until something is done. False: the time is over.
  bool wait_for_one(Home::Clock::time_point end) {
    const bool is_interruptible = InterruptibleWaits::are_here();
    std::unique_lock lock(shared_->mutex);
    while (shared_->done.empty()) {
      const Home::Clock::time_point now = Home::Clock::now();
      if (now >= end) return false;
      if (is_interruptible)
        shared_->changed.wait_until(lock, std::min(end, now + Interruption::interval));
      else if (end == Home::Clock::time_point::max())
        shared_->changed.wait(lock);
      else
        shared_->changed.wait_until(lock, end);
      if (!is_interruptible || !shared_->done.empty()) continue;
      lock.unlock();
      Interruption::check();
      lock.lock();
    }
    return true;
  }

  DataSet* data_set_;
  bool is_awaited_;
  // Waits for other readers end by themselves; a store that hangs meanwhile does not.
  Home::Clock::duration timeout_;
  std::shared_ptr<Shared> shared_;
  std::map<std::uint64_t, Read> reads_;
  std::uint64_t next_key_ = 1;
};

class HomeFile final : public io::RandomAccessFile {
 public:
  HomeFile(DataSet& data_set, bool is_awaited) : data_set_(&data_set), is_awaited_(is_awaited) {}

  const std::string& uri() const noexcept override { return data_set_->home_->uri(); }
  std::uint64_t size() const override { return std::uint64_t{1} << 63; }

  io::IoTraits traits() const noexcept override {
    constexpr unsigned far_reads = 16;
    constexpr unsigned awaited_reads = 4;
    return {.max_request = std::size_t{1} << 40,
            .worthwhile_gap = std::size_t{64} << 10,
            .concurrency = is_awaited_ ? awaited_reads : far_reads,
            .reads_are_copies = copies()};
  }

  void read(std::uint64_t offset, MutableByteSpan into) const override {
    if (copies() || !data_set_->home_->is_here()) {
      data_set_->read_home(offset, into);
      return;
    }
    const std::unique_ptr<io::ReadQueue> queue = open_queue(1);
    queue->submit(0, offset, into);
    queue->wait_for_all();
  }

  std::unique_ptr<io::ReadQueue> open_queue(unsigned /*depth*/) const override {
    return std::make_unique<HomeQueue>(*data_set_, is_awaited_);
  }

  void will_need(std::uint64_t offset, std::uint64_t size) const noexcept override {
    const DataSet::RunRef run = data_set_->run_at(offset);
    const std::shared_ptr<io::ObjectStore> store =
        run == nullptr || !copies() ? nullptr : data_set_->home_->store();
    if (store == nullptr) return;
    store->will_need(pages_value(data_set_->contents_->number(), run->column, run->key), offset - run->begin,
                     size);
  }

 private:
  bool copies() const noexcept { return !is_awaited_ && data_set_->home_->is_near(); }

  DataSet* data_set_;
  bool is_awaited_;
};

std::unique_ptr<io::RandomAccessFile> make_home_file(DataSet& data_set) {
  return std::make_unique<HomeFile>(data_set, false);
}

std::unique_ptr<io::RandomAccessFile> make_awaited_file(DataSet& data_set) {
  return std::make_unique<HomeFile>(data_set, true);
}

}  // namespace colonnade::cache
