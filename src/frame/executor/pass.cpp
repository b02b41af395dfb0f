// See pass.h.
//
// Why the workers cannot deadlock: a worker waits only
//
//   - before it begins a part that is too far ahead of what is merged,
//   - within a part, for its turn: until all parts before it are merged.
//
// The first unmerged part waits for neither. It is also always claimed: workers claim parts from the
// front in order, a worker's next parts are in order behind its current one, and it takes another worker's
// first one only if it cannot begin its own. (The first part of a worker that has not begun yet is left to
// it, so that all take part.) So if the first unmerged part is a worker's next part, that worker's current
// part is merged and it begins the next one now. A worker that finishes a part while no other one merges
// merges all parts whose turn it is. A failed or cancelled part ends the waiting of all parts behind it. No
// lock is held while a kernel, an accumulator or the progress callback is called.
#include "frame/executor/pass.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "colonnade/error.h"
#include "frame/executor/kept_cursors.h"

namespace colonnade::frame {

namespace {

constexpr std::size_t no_part = std::numeric_limits<std::size_t>::max();
constexpr auto report_interval = std::chrono::milliseconds(100);

bool has_ended(const Schedule& schedule, std::size_t range, std::uint64_t reached) {
  const Selection& selection = schedule.program->selections[schedule.ranges[range].selection];
  return selection.end != 0 && reached >= selection.end;
}

// True if all outputs are behind ranges that have ended, given the rows that reached each range.
template <class Reached>
bool all_ended(const Schedule& schedule, Reached&& reached) {
  if (schedule.outputs_without_range > 0 || schedule.ranges.empty()) return false;
  std::vector<bool> ended(schedule.ranges.size());
  for (std::size_t r = 0; r < ended.size(); ++r) {
    const CountedRange& range = schedule.ranges[r];
    ended[r] = (range.parent != none && ended[range.parent]) || has_ended(schedule, r, reached(r));
    if (!ended[r] && range.outputs > 0) return false;
  }
  return true;
}

// Callables must not see which ranges of the graph are requested, and thus what is booked: blocks are cut as
// if all entries were requested. Expressions do not see blocks.
Part with_whole_blocks(Part part, const Schedule& schedule, const RunOptions& options) {
  const std::uint64_t block = options.block_entries != 0 ? options.block_entries
                              : schedule.large_blocks    ? schedule.program->large_block_entries
                                                         : 0;
  if (block == 0 || part.whole_last == 0) return part;
  const std::uint64_t begin = std::max(part.whole_first, schedule.program->first);
  const std::uint64_t end = std::min(part.whole_last, schedule.program->last);
  part.first -= (part.first - begin) % block;
  const std::uint64_t over = (part.last - begin) % block;
  if (over != 0) part.last += std::min(block - over, end - part.last);
  return part;
}

}  // namespace

// ---- PartRun

PartRun::PartRun(RunningPass& pass, std::size_t job, const Schedule& schedule, const Part& part,
                 unsigned worker)
    : reached(schedule.ranges.size()),
      pass_(&pass),
      job_(job),
      schedule_(&schedule),
      partials_(schedule.program->outputs.size()) {
  first = part.first;
  last = part.last;
  slot = worker;
  sample = part.sample;
  number = part.number;
}

bool PartRun::is_my_turn() const noexcept {
  return pass_->is_turn(job_);
}
void PartRun::wait_for_turn() {
  pass_->wait_for_turn(job_);
}

Partial& PartRun::partial(std::uint32_t output) {
  std::unique_ptr<Partial>& partial = partials_[output];
  if (partial == nullptr) partial = schedule_->program->outputs[output].accumulator->begin(*this);
  return *partial;
}

std::uint64_t PartRun::reached_before(std::uint32_t range) {
  if (before_.empty()) {
    pass_->wait_for_turn(job_);
    before_ = pass_->reached_so_far(pass_->job(job_).program);
  }
  return before_[range];
}

bool PartRun::has_nothing_to_come() const {
  return !before_.empty() && all_ended(*schedule_, [&](std::size_t r) { return before_[r] + reached[r]; });
}

void PartRun::merge() {
  for (merging_ = 0; merging_ < partials_.size(); ++merging_)
    if (partials_[merging_] != nullptr)
      schedule_->program->outputs[merging_].accumulator->merge(std::move(partials_[merging_]));
}

// ---- RunningPass: parts

RunningPass::RunningPass(std::span<const Schedule> schedules, unsigned threads, const RunOptions& options)
    : schedules_(schedules),
      options_(&options),
      costs_(schedules.size()),
      failed_(no_part),
      ends_(schedules.size()) {
  for (auto& end : ends_) end.store(no_part, std::memory_order_relaxed);
  for (const Schedule& schedule : schedules_) {
    std::vector<std::uint64_t>& reached = reached_.emplace_back();
    for (const CountedRange& range : schedule.ranges)
      reached.push_back(schedule.program->selections[range.selection].reached_before);
  }
  lay_out();
  const std::size_t workers = std::clamp<std::size_t>(threads, 1, most_workers());
  reports_in_worker_ = workers == 1;
  window_ = (3 + ahead_) * workers + 4;
  claims_ = std::vector<Claims>(workers);
  // Each worker starts with one part from the front, so that the first parts end at the same time.
  for (Claims& claims : claims_)
    if (front_ < jobs_.size()) claims.next.push_back(front_++);
}

void RunningPass::lay_out() {
  for (std::uint32_t p = 0; p < schedules_.size(); ++p) {
    const Schedule& schedule = schedules_[p];
    ahead_ = std::max(ahead_, schedule.program->source->parts_ahead());
    if (schedule.first >= schedule.last) continue;
    if (all_ended(schedule, [&](std::size_t r) { return reached_[p][r]; })) continue;
    if (schedule.only_counts) {
      jobs_.push_back({{.first = schedule.first, .last = schedule.last}, p});
      total_ += schedule.last - schedule.first;
      continue;
    }
    for (const Part& cut : schedule.program->source->parts(schedule.first, schedule.last)) {
      const Part part = with_whole_blocks(cut, schedule, *options_);
      jobs_.push_back({part, p});
      total_ += part.last - part.first;
    }
  }
}

// A short stretch across the border of two parts is left to one cursor, which goes on behind it.
std::size_t RunningPass::most_workers() const {
  if (options_->cursors == nullptr) return std::max<std::size_t>(jobs_.size(), 1);
  double parts = 0;
  for (const auto& [part, program] : jobs_)
    parts += part.whole_last == 0 ? 1
                                  : static_cast<double>(part.last - part.first) /
                                        static_cast<double>(part.whole_last - part.whole_first);
  return std::max<std::size_t>(static_cast<std::size_t>(parts), 1);
}

std::optional<std::size_t> RunningPass::take(unsigned slot) {
  const auto take_first = [](Claims& of) {
    const std::size_t number = of.next.front();
    of.next.pop_front();
    return number;
  };
  Claims& own = claims_[slot];
  if (own.next.empty() && front_ < jobs_.size()) own.next.push_back(front_++);
  const std::size_t window_end = merged_ + window_;
  if (!own.next.empty() && own.next.front() < window_end) return take_first(own);
  Claims* victim = nullptr;  // the worker whose next part comes first
  for (Claims& other : claims_)
    if (!other.next.empty() && (victim == nullptr || other.next.front() < victim->next.front()))
      victim = &other;
  if (victim == nullptr) return std::nullopt;
  const bool helps = victim->has_begun && victim->next.front() < window_end;
  return take_first(own.next.empty() || helps ? *victim : own);
}

std::optional<std::size_t> RunningPass::claim(unsigned slot) {
  std::unique_lock lock(mutex_);
  const std::optional<std::size_t> number = take(slot);
  claims_[slot].has_begun = true;
  if (!number) return std::nullopt;
  // Several at once, as neighbours are read together. The last ones are left for workers that are early.
  const std::size_t wanted =
      claims_.size() == 1 ? ahead_ : std::min(ahead_, 1 + (jobs_.size() - front_) / (2 * claims_.size()));
  std::deque<std::size_t>& next = claims_[slot].next;
  if (next.size() <= wanted / 2)
    while (next.size() < wanted && front_ < jobs_.size()) next.push_back(front_++);
  changed_.wait(lock, [&] { return *number < merged_ + window_ || !is_wanted(*number); });
  return is_wanted(*number) ? number : std::nullopt;
}

std::vector<Part> RunningPass::next_of(unsigned slot, std::uint32_t program) const {
  const std::lock_guard lock(mutex_);
  std::vector<Part> parts;
  for (const std::size_t number : claims_[slot].next)
    if (jobs_[number].program == program) parts.push_back(jobs_[number].part);
  // A single worker goes on behind the pass.
  if (options_->cursors != nullptr && claims_.size() == 1 && front_ == jobs_.size() && parts.size() < ahead_)
    for (const Part& part : options_->cursors->after(jobs_.back().part.last, ahead_ - parts.size()))
      parts.push_back(part);
  return parts;
}

bool RunningPass::is_wanted(std::size_t number) const noexcept {
  return number <= failed_.load(std::memory_order_relaxed) && !cancelled_.load(std::memory_order_relaxed);
}

bool RunningPass::is_void(std::size_t number) const noexcept {
  return number > ends_[jobs_[number].program].load(std::memory_order_relaxed);
}

void RunningPass::end_after(std::size_t number) noexcept {
  std::atomic<std::size_t>& end = ends_[jobs_[number].program];
  std::size_t known = end.load(std::memory_order_relaxed);
  while (number < known && !end.compare_exchange_weak(known, number, std::memory_order_relaxed)) {
  }
}

// ---- RunningPass: order

void RunningPass::wait_for_turn(std::size_t number) {
  if (is_turn(number)) return;
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return is_turn(number) || !is_wanted(number); });
  if (!is_turn(number)) throw Error(ErrorKind::usage, "the pass was stopped");
}

std::vector<std::uint64_t> RunningPass::reached_so_far(std::uint32_t program) const {
  const std::lock_guard lock(mutex_);
  return reached_[program];
}

void RunningPass::finish(std::unique_ptr<PartRun> part) {
  std::unique_lock lock(mutex_);
  const std::size_t number = part->job();
  finished_.emplace(number, std::move(part));
  if (merging_) return;
  merging_ = true;
  merge_finished(lock);
  merging_ = false;
}

// Merges finished parts in order. `lock` is held before and after, but not during calls of accumulators.
void RunningPass::merge_finished(std::unique_lock<std::mutex>& lock) {
  while (!finished_.empty() && finished_.begin()->first == merged_ && is_wanted(merged_)) {
    std::unique_ptr<PartRun> part = std::move(finished_.begin()->second);
    finished_.erase(finished_.begin());
    lock.unlock();
    try {
      part->merge();
    } catch (...) {
      const std::uint32_t output = part->merging();
      fail(part->job(), std::current_exception(), {&output, 1});
      part.reset();
      lock.lock();
      return;
    }
    lock.lock();
    count(*part);
    merged_.store(part->job() + 1, std::memory_order_release);
    changed_.notify_all();
    lock.unlock();
    part.reset();
    lock.lock();
  }
}

void RunningPass::count(const PartRun& part) {
  const std::uint32_t program = jobs_[part.job()].program;
  std::vector<std::uint64_t>& reached = reached_[program];
  if (reached.empty()) return;
  for (std::size_t r = 0; r < reached.size(); ++r) reached[r] += part.reached[r];
  if (all_ended(schedules_[program], [&](std::size_t r) { return reached[r]; })) end_after(part.job());
}

// ---- RunningPass: ending

void RunningPass::fail(std::size_t number, std::exception_ptr failure,
                       std::span<const std::uint32_t> outputs) noexcept {
  const std::lock_guard lock(mutex_);
  // The error of a stopped part is ignored.
  if (is_wanted(number) && (failure_ == nullptr || number < failed_)) {
    failed_ = number;
    failure_ = std::move(failure);
    failed_outputs_.clear();
    const std::uint32_t program = jobs_.empty() ? 0 : jobs_[number].program;
    for (const std::uint32_t output : outputs) failed_outputs_.push_back({program, output});
  }
  changed_.notify_all();
}

void RunningPass::cancel() noexcept {
  const std::lock_guard lock(mutex_);
  cancelled_ = true;
  changed_.notify_all();
}

void RunningPass::leave() noexcept {
  const std::lock_guard lock(mutex_);
  --workers_left_;
  left_.notify_all();
}

void RunningPass::add(const ReadMetrics& metrics) {
  const std::lock_guard lock(mutex_);
  add_metrics(metrics_, metrics);
}

void RunningPass::add_work(std::uint64_t parts, std::uint64_t blocks) {
  const std::lock_guard lock(mutex_);
  busy_workers_ += parts > 0 ? 1 : 0;
  blocks_ += blocks;
}

void RunningPass::add_costs(const Schedule& schedule, std::span<const StepTotals> costs) {
  const std::lock_guard lock(mutex_);
  std::vector<StepTotals>& totals = costs_[static_cast<std::size_t>(&schedule - schedules_.data())];
  totals.resize(costs.size());
  for (std::size_t i = 0; i < costs.size(); ++i) totals[i] += costs[i];
}

std::vector<StepCost> RunningPass::costs_of_steps() const {
  std::vector<StepCost> all;
  for (std::uint32_t p = 0; p < costs_.size(); ++p)
    for (std::size_t i = 0; i < costs_[p].size(); ++i) {
      const Step& step = schedules_[p].steps[i];
      StepCost cost{p, StepCost::Kind::value, step.expression, costs_[p][i]};
      if (step.kind == Step::Kind::output) cost.kind = StepCost::Kind::output;
      // Conditions of several selections that are applied at once are reported under the last one's
      // name.
      const ExpressionPool& pool = *schedules_[p].program->pool;
      const bool joins = step.kind == Step::Kind::both && pool[step.expression].op != Op::logical_and;
      if (step.kind == Step::Kind::gather || step.kind == Step::Kind::recall || joins)
        cost.kind = StepCost::Kind::moved;
      if (step.kind == Step::Kind::narrow) {
        cost.kind = StepCost::Kind::selection;
        const bool is_inner = step.inner[0] >= schedules_[p].program->selections.size();
        cost.id = is_inner ? StepCost::inner : step.inner[0];
      }
      all.push_back(cost);
    }
  return all;
}

std::vector<OutputId> RunningPass::failed_outputs() const {
  const std::lock_guard lock(mutex_);
  return failed_outputs_;
}

void RunningPass::check() const {
  const std::lock_guard lock(mutex_);
  if (failure_ != nullptr) std::rethrow_exception(failure_);
  if (cancelled_)
    throw Error(ErrorKind::usage, "cancelled", "run it again: the booked results are still to be computed");
}

// ---- RunningPass: progress

void RunningPass::done_with(unsigned slot, std::uint64_t entries, std::optional<BytesRead> bytes) {
  entries_.fetch_add(entries, std::memory_order_relaxed);
  if (bytes) {
    claims_[slot].bytes.store(bytes->all, std::memory_order_relaxed);
    claims_[slot].cache_bytes.store(bytes->of_cache, std::memory_order_relaxed);
  }
  if (!reports_in_worker_ || !options_->progress) return;
  if (std::chrono::steady_clock::now() - reported_ >= report_interval) report_progress();
}

PassProgress RunningPass::progress_now() const {
  PassProgress progress;
  progress.entries = entries_.load(std::memory_order_relaxed);
  progress.total = total_;
  for (const Claims& claims : claims_) {
    progress.bytes += claims.bytes.load(std::memory_order_relaxed);
    progress.cache_bytes += claims.cache_bytes.load(std::memory_order_relaxed);
  }
  progress.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  return progress;
}

void RunningPass::report_progress() {
  reported_ = std::chrono::steady_clock::now();
  if (options_->progress && !options_->progress(progress_now())) cancel();
}

void RunningPass::wait_for_workers(unsigned workers) {
  std::unique_lock lock(mutex_);
  workers_left_ += workers;
  while (!left_.wait_for(lock, report_interval, [this] { return workers_left_ == 0; })) {
    lock.unlock();
    report_progress();
    lock.lock();
  }
}

RunReport RunningPass::report() const {
  const std::lock_guard lock(mutex_);
  return {progress_now(), metrics_,        jobs_.size(), blocks_, static_cast<unsigned>(claims_.size()),
          busy_workers_,  costs_of_steps()};
}

}  // namespace colonnade::frame
