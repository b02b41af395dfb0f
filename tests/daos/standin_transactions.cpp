// See standin_transactions.h.
#include "standin_transactions.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "standin_knobs.h"

namespace standin {
namespace {

// Lets a test run something else during a commit.
bool wait_while_held() {
  std::int64_t left = knobs().hold_commits;
  while (left > 0 && !knobs().hold_commits.compare_exchange_weak(left, left - 1)) {
  }
  if (left <= 0) return false;
  ++counters().commits_held;
  while (knobs().release == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return true;
}

}  // namespace

Transaction::Transaction(std::shared_ptr<Container> container, bool read_only)
    : container_(std::move(container)), read_only_(read_only) {}

Epoch Transaction::epoch() {
  if (epoch_ == 0) epoch_ = new_epoch();
  return epoch_;
}

int Transaction::check(const ObjectHandle& object, bool writes) const {
  if (state_ != State::open || (writes && read_only_)) return no_perm;
  return object.container == container_ ? 0 : inval;
}

int Transaction::fetch(const ObjectHandle& object, std::uint64_t flags, const d_iov_t* dkey, unsigned count,
                       daos_iod_t* iods, d_sg_list_t* lists, std::uint64_t& bytes) {
  const std::lock_guard lock(mutex_);
  if (const int code = check(object, false); code != 0) return code;
  const int code = standin::fetch(object, flags, dkey, count, iods, lists, bytes, epoch());
  if (code == tx_restart) state_ = State::failed;
  return code;
}

// A condition is a query to the server, made at once; the change itself waits for the commit.
int Transaction::check_existence(const Change& change) {
  if (change.flags == 0) return 0;
  const bool akeys = (change.flags & (akey_insert | akey_update)) != 0;
  const bool insert = (change.flags & (akey_insert | dkey_insert)) != 0;
  std::string dkey = change.dkey;
  d_iov_t dkey_iov{dkey.data(), dkey.size(), dkey.size()};
  std::vector<daos_iod_t> iods = change.iods;
  for (daos_iod_t& iod : iods) iod.iod_size = 0;
  std::uint64_t bytes = 0;
  const int code = standin::fetch(change.object, akeys ? akey_fetch : dkey_fetch, &dkey_iov,
                                  static_cast<unsigned>(iods.size()), iods.data(), nullptr, bytes, epoch());
  if (code == tx_restart) state_ = State::failed;
  if (!insert || (code != 0 && code != nonexist)) return code;
  return code == 0 ? exist : 0;
}

int Transaction::update(const ObjectHandle& object, std::uint64_t flags, const d_iov_t* dkey, unsigned count,
                        daos_iod_t* iods, const d_sg_list_t* lists, std::uint64_t& bytes) {
  const std::lock_guard lock(mutex_);
  if (const int code = check(object, true); code != 0) return code;
  Change change{.object = object, .flags = flags};
  if (const int code = prepare(change, dkey, count, iods, lists); code != 0) return code;
  for (const daos_iod_t& iod : change.iods)
    if (iod.iod_type == array) return inval;  // DAOS accepts them; unused here
  if (const int code = check_existence(change); code != 0) return code;
  change.flags = 0;
  bytes = change.bytes;
  changes_.push_back(std::move(change));
  return 0;
}

int Transaction::punch(const ObjectHandle& object) {
  const std::lock_guard lock(mutex_);
  if (const int code = check(object, true); code != 0) return code;
  if (!object.writable) return no_perm;
  changes_.push_back({.object = object, .punch = true});
  return 0;
}

bool Transaction::may_write(const Change& change) const {
  const auto stored = find_object(*container_, change.object.oid, false);
  if (!stored) return true;
  const std::lock_guard lock(stored->mutex);
  if (stored->punched > epoch_) return false;
  const auto later = [this](const Stamps& stamps) { return std::max(stamps.read, stamps.written) > epoch_; };
  if (change.punch)
    return std::none_of(stored->stamps.begin(), stored->stamps.end(),
                        [&](const auto& row) { return later(row.second); });
  return std::none_of(change.akeys.begin(), change.akeys.end(), [&](const std::string& akey) {
    const auto stamps = stored->stamps.find({change.dkey, akey});
    return stamps != stored->stamps.end() && later(stamps->second);
  });
}

int Transaction::apply_all() {
  const std::unique_lock commits(container_->commits);
  epoch();
  if (!std::all_of(changes_.begin(), changes_.end(),
                   [this](const Change& change) { return may_write(change); }))
    return tx_restart;
  std::uint64_t bytes = 0;
  for (Change& change : changes_) bytes += std::exchange(change.bytes, 0);
  if (const int code = reserve_space(*container_, static_cast<std::int64_t>(bytes)); code != 0) return code;
  for (Change& change : changes_)
    if (const int code = apply(change, epoch_); code != 0) return code;
  return 0;
}

int Transaction::commit() {
  {
    const std::lock_guard lock(mutex_);
    if (state_ == State::committed) return already;
    if (state_ == State::committing) return in_progress;
    if (state_ != State::open) return no_perm;
    state_ = State::committing;
  }
  const bool was_held = wait_while_held();
  ++counters().commits;
  int code = fault("overtaken");
  if (code == 0) code = apply_all();
  // Committed, but the client gets an error.
  if (code == 0) code = fault("committed");
  if (was_held) --counters().commits_held;
  const std::lock_guard lock(mutex_);
  state_ = code == 0 ? State::committed : code == tx_restart ? State::failed : State::aborted;
  return code;
}

int Transaction::abort() {
  const std::lock_guard lock(mutex_);
  if (state_ == State::aborted) return already;
  if (state_ != State::open) return no_perm;
  state_ = State::aborted;
  return 0;
}

int Transaction::restart() {
  const std::lock_guard lock(mutex_);
  if (state_ != State::failed) return no_perm;
  state_ = State::open;
  epoch_ = 0;
  changes_.clear();
  return 0;
}

int Transaction::close() {
  const std::lock_guard lock(mutex_);
  return state_ == State::committing ? busy : 0;
}

}  // namespace standin
