// RunningPass: what the workers of one pass share - the parts, whose turn it is, and what went wrong.
#ifndef COLONNADE_FRAME_EXECUTOR_PASS_H
#define COLONNADE_FRAME_EXECUTOR_PASS_H

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "frame/executor/schedule.h"

namespace colonnade::frame {

class RunningPass;

// A part while it is being computed, and what it leaves to be merged.
class PartRun final : public PartContext {
 public:
  PartRun(RunningPass& pass, std::size_t job, const Schedule& schedule, const Part& part, unsigned worker);

  bool is_my_turn() const noexcept override;
  void wait_for_turn() override;

  const Schedule& schedule() const noexcept { return *schedule_; }
  // Its place in the pass; PartContext::number is the one in the source.
  std::size_t job() const noexcept { return job_; }
  // The partial of an output, begun when it is asked for.
  Partial& partial(std::uint32_t output);
  // Rows that have reached a counted range in all parts before; waits for them.
  std::uint64_t reached_before(std::uint32_t range);
  // Rows that have reached each counted range in this part.
  std::vector<std::uint64_t> reached;
  // Are all outputs behind ranges that are known to have ended?
  bool has_nothing_to_come() const;

  // Hands the partials to their accumulators.
  void merge();
  std::uint32_t merging() const noexcept { return merging_; }  // the output whose turn it is

 private:
  RunningPass* pass_;
  std::size_t job_;
  const Schedule* schedule_;
  std::vector<std::uint64_t> before_;  // empty: not asked for yet
  std::vector<std::unique_ptr<Partial>> partials_;
  std::uint32_t merging_ = 0;
};

class RunningPass {
 public:
  RunningPass(std::span<const Schedule> schedules, unsigned threads, const RunOptions& options);

  struct Job {
    Part part;
    std::uint32_t program = 0;
  };
  const Job& job(std::size_t number) const { return jobs_[number]; }
  std::size_t size() const noexcept { return jobs_.size(); }
  const Schedule& schedule_of(std::size_t number) const { return schedules_[jobs_[number].program]; }

  // ---- For workers

  // The part that worker `slot` goes through now; none if there is nothing left for it. Waits while it would
  // be too far ahead of what is merged.
  std::optional<std::size_t> claim(unsigned slot);
  // The part that it will probably get then.
  std::optional<std::size_t> next_of(unsigned slot) const;
  // Does the part still count? Not if the pass was cancelled, or an earlier part failed.
  bool is_wanted(std::size_t number) const noexcept;
  // Is it known that no output gets anything from it?
  bool is_void(std::size_t number) const noexcept;
  void finish(std::unique_ptr<PartRun> part);
  // `outputs` of the part's program need what failed.
  void fail(std::size_t number, std::exception_ptr failure, std::span<const std::uint32_t> outputs) noexcept;
  struct BytesRead {
    std::uint64_t all = 0;
    std::uint64_t of_cache = 0;
  };
  void done_with(unsigned slot, std::uint64_t entries, std::optional<BytesRead> bytes);
  void add(const ReadMetrics& metrics);
  void add_work(std::uint64_t parts, std::uint64_t blocks);  // of a worker
  void add_costs(const Schedule& schedule, std::span<const StepTotals> costs);
  void leave() noexcept;  // a worker ends

  bool is_turn(std::size_t number) const noexcept {
    return merged_.load(std::memory_order_acquire) == number;
  }
  void wait_for_turn(std::size_t number);
  std::vector<std::uint64_t> reached_so_far(std::uint32_t program) const;
  void end_after(std::size_t number) noexcept;  // the program needs no parts behind this one

  // ---- For the thread that called run()

  void wait_for_workers(unsigned workers);
  void report_progress();  // may throw what the callback throws
  void cancel() noexcept;
  // Throws what went wrong.
  void check() const;
  std::vector<OutputPlace> failed_outputs() const;
  RunReport report() const;

 private:
  struct Claims {
    std::optional<std::size_t> next;
    std::atomic<std::uint64_t> bytes{0};
    std::atomic<std::uint64_t> cache_bytes{0};
  };

  void lay_out();
  std::vector<StepCost> costs_of_steps() const;
  std::optional<std::size_t> take(unsigned slot);
  void merge_finished(std::unique_lock<std::mutex>& lock);
  void count(const PartRun& part);
  PassProgress progress_now() const;

  std::span<const Schedule> schedules_;
  const RunOptions* options_;
  bool reports_in_worker_;  // a single worker is the thread that called run()
  std::vector<Job> jobs_;
  std::uint64_t total_ = 0;  // entries
  std::size_t window_;       // how many parts may be on their way

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::condition_variable left_;
  std::vector<Claims> claims_;                                // by worker
  std::size_t front_ = 0;                                     // the first part that nobody has claimed
  std::map<std::size_t, std::unique_ptr<PartRun>> finished_;  // and not merged
  bool merging_ = false;
  std::vector<std::vector<std::uint64_t>> reached_;  // by counted range, in merged parts
  unsigned workers_left_ = 0;
  ReadMetrics metrics_;
  unsigned busy_workers_ = 0;
  std::uint64_t blocks_ = 0;
  std::vector<std::vector<StepTotals>> costs_;  // by program and step
  std::exception_ptr failure_;
  std::vector<OutputPlace> failed_outputs_;

  std::atomic<std::size_t> merged_{0};  // parts before this one are merged
  std::atomic<std::size_t> failed_;     // the first part that failed
  std::atomic<bool> cancelled_{false};
  std::vector<std::atomic<std::size_t>> ends_;  // by program: the last part that it needs
  std::atomic<std::uint64_t> entries_{0};
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point reported_ = start_;
};

}  // namespace colonnade::frame

#endif
