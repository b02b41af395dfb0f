// See read_queue.h. A read may take several operations, and an operation may serve several reads: each read
// counts its missing parts.
#include "container/object_store/read_queue.h"

#include <algorithm>
#include <deque>
#include <limits>
#include <unordered_map>
#include <utility>
#include <vector>

namespace colonnade::container {
namespace {

class ObjectReadQueue final : public io::ReadQueue {
 public:
  ObjectReadQueue(const ObjectPageFile& file, std::unique_ptr<io::ObjectQueue> operations,
                  const io::StoreTraits& traits, unsigned depth)
      : file_(&file),
        largest_(traits.vectors ? traits.best_value : 0),
        most_items_(traits.vectors ? std::max<std::size_t>(traits.max_items, 1) : 1),
        depth_(std::max(depth, 1U)),
        operations_(std::move(operations)) {}

  void submit(std::uint64_t id, std::uint64_t offset, MutableByteSpan into) override {
    const io::QueuedRead read{id, offset, into};
    submit_batch({&read, 1});
  }

  void submit_batch(std::span<const io::QueuedRead> reads) override {
    try {
      for (const io::QueuedRead& read : reads) add(read);
      group();
      submit_what_fits();
    } catch (...) {
      fail_waiting(std::current_exception());
      throw;
    }
  }

 private:
  struct Read {
    std::uint64_t id = 0;
    std::size_t missing = 0;  // parts
    std::size_t lost = 0;     // of them, in fail_waiting()
    std::exception_ptr failure;
  };
  struct Operation {
    io::ObjectId object;
    std::uint64_t dkey = 0;
    std::uint64_t bytes = 0;
    std::vector<io::FetchItem> items;
    std::vector<std::uint64_t> reads;  // keys in reads_, one per item
  };
  struct QueuedPart {
    std::uint64_t read = 0;
    ObjectPageFile::ValueRange part;
  };

  void add(const io::QueuedRead& read) {
    parts_.clear();
    try {
      file_->split(read.offset, read.into, parts_);
    } catch (...) {
      add_done(read.id, std::current_exception());
      return;
    }
    if (parts_.empty()) {
      add_done(read.id);
      return;
    }
    begin();
    const std::uint64_t key = next_key_++;
    try {
      reads_[key] = {.id = read.id, .missing = parts_.size(), .failure = {}};
    } catch (...) {
      withdraw();
      throw;
    }
    for (const ObjectPageFile::ValueRange& part : parts_) fresh_.push_back({key, part});
  }

  // All reads with parts that no operation in progress brings. Needs no memory.
  void fail_waiting(const std::exception_ptr& failure) noexcept {
    fresh_.clear();
    waiting_.clear();
    for (auto& [key, read] : reads_) read.lost = std::exchange(read.missing, 0);
    for (const auto& [key, operation] : submitted_)
      for (const std::uint64_t of : operation.reads) {
        Read& read = reads_.find(of)->second;
        ++read.missing;
        --read.lost;
      }
    for (auto& [key, read] : reads_) {
      if (read.lost > 0 && read.failure == nullptr) read.failure = failure;
      if (read.missing == 0) finish(read.id, read.failure);
    }
    std::erase_if(reads_, [](const auto& entry) { return entry.second.missing == 0; });
  }

  // Groups the new parts into operations, ordered by their first part. Large parts stay alone: grouping gains
  // nothing, and separate operations run in parallel.
  void group() {
    std::unordered_map<std::uint64_t, std::size_t> open;  // by object and key: index into waiting_
    for (const QueuedPart& queued : fresh_) {
      const ObjectPageFile::ValueRange& part = queued.part;
      const std::uint64_t kind = part.value.object.number * 0x9e3779b97f4a7c15ULL ^ part.value.dkey;
      const auto found = open.find(kind);
      const bool joins = found != open.end() && takes(waiting_[found->second], part);
      if (!joins) {
        open[kind] = waiting_.size();
        waiting_.push_back({.object = part.value.object, .dkey = part.value.dkey});
      }
      Operation& operation = waiting_[joins ? found->second : waiting_.size() - 1];
      operation.items.push_back({part.value.akey, part.offset, part.into});
      operation.reads.push_back(queued.read);
      operation.bytes += part.into.size();
    }
    fresh_.clear();
  }

  bool takes(const Operation& operation, const ObjectPageFile::ValueRange& part) const noexcept {
    return operation.object == part.value.object && operation.dkey == part.value.dkey &&
           operation.items.size() < most_items_ && operation.bytes < largest_ &&
           part.into.size() <= largest_ / 2;
  }

  void submit_what_fits() {
    while (!waiting_.empty() && operations_->in_flight() < depth_) {
      const std::uint64_t key = next_key_++;
      Operation& submitted = submitted_[key];
      submitted = std::move(waiting_.front());
      waiting_.pop_front();
      try {
        operations_->submit_fetch(key, submitted.object, submitted.dkey, submitted.items);
      } catch (...) {
        settle(key, std::current_exception());
      }
    }
  }

  void progress(bool block) override {
    drain(*operations_, block, [this](const Completion& completion) {
      settle(completion.id, completion.failure, completion.when);
    });
    submit_what_fits();
  }

  void settle(std::uint64_t key, const std::exception_ptr& failure, Time when = {}) {
    const auto operation = submitted_.find(key);
    for (const std::uint64_t of : operation->second.reads) {
      const auto read = reads_.find(of);
      if (failure != nullptr && read->second.failure == nullptr) read->second.failure = failure;
      if (--read->second.missing > 0) continue;
      finish(read->second.id, read->second.failure, when);
      reads_.erase(read);
    }
    submitted_.erase(operation);
  }

  const ObjectPageFile* file_;
  const std::uint64_t largest_;  // bytes of an operation with several items
  const std::size_t most_items_;
  const unsigned depth_;
  std::uint64_t next_key_ = 1;
  std::unordered_map<std::uint64_t, Read> reads_;
  std::unordered_map<std::uint64_t, Operation> submitted_;
  std::deque<Operation> waiting_;
  std::vector<QueuedPart> fresh_;
  std::vector<ObjectPageFile::ValueRange> parts_;
  std::unique_ptr<io::ObjectQueue> operations_;  // last: destroyed first
};

}  // namespace

std::unique_ptr<io::ReadQueue> make_object_read_queue(const ObjectPageFile& file,
                                                      std::unique_ptr<io::ObjectQueue> operations,
                                                      const io::StoreTraits& traits, unsigned depth) {
  return std::make_unique<ObjectReadQueue>(file, std::move(operations), traits, depth);
}

}  // namespace colonnade::container
