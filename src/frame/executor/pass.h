// RunningPass: the shared state of the workers of a pass - the parts, the merge order, and failures.
#ifndef COLONNADE_FRAME_EXECUTOR_PASS_H
#define COLONNADE_FRAME_EXECUTOR_PASS_H

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
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

// A part being computed, and its partials.
class PartRun final : public PartContext {
 public:
  PartRun(RunningPass& pass, std::size_t job, const Schedule& schedule, const Part& part, unsigned worker);

  bool is_my_turn() const noexcept override;
  void wait_for_turn() override;

  // Its index in the pass; PartContext::number is the one in the source.
  std::size_t job() const noexcept { return job_; }
  // The partial of an output, begun on first use.
  Partial& partial(std::uint32_t output);
  // The number of rows that reached a counted range in all earlier parts; waits for them.
  std::uint64_t reached_before(std::uint32_t range);
  // The number of rows that reached each counted range in this part.
  std::vector<std::uint64_t> reached;
  // True if all outputs are behind ranges that are known to have ended.
  bool has_nothing_to_come() const;

  // Passes the partials to their accumulators.
  void merge();
  std::uint32_t merging() const noexcept { return merging_; }  // the output being merged

 private:
  RunningPass* pass_;
  std::size_t job_;
  const Schedule* schedule_;
  std::vector<std::uint64_t> before_;  // empty: not requested yet
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
  const Schedule& schedule_of(std::size_t number) const { return schedules_[jobs_[number].program]; }

  // ---- For workers

  // The current part of worker `slot`; empty if there are no more. Waits while it would be too far ahead of
  // the merged parts.
  std::optional<std::size_t> claim(unsigned slot);
  // The parts of a program that it will probably get next.
  std::vector<Part> next_of(unsigned slot, std::uint32_t program) const;
  // False if the pass was cancelled, or an earlier part failed.
  bool is_wanted(std::size_t number) const noexcept;
  // True if no output gets anything from the part.
  bool is_void(std::size_t number) const noexcept;
  void finish(std::unique_ptr<PartRun> part);
  // Records a failure of the part; `outputs` of its program need the failed step.
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
  void end_after(std::size_t number) noexcept;  // the program needs no later parts

  // ---- For the thread that called run()

  void wait_for_workers(unsigned workers);
  void report_progress();  // may throw exceptions of the callback
  void cancel() noexcept;
  // Throws the failure, if there is one.
  void check() const;
  std::vector<OutputId> failed_outputs() const;
  RunReport report() const;

 private:
  struct Claims {
    std::deque<std::size_t> next;
    bool has_begun = false;
    std::atomic<std::uint64_t> bytes{0};
    std::atomic<std::uint64_t> cache_bytes{0};
  };

  void lay_out();
  std::size_t most_workers() const;
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
  std::size_t window_;       // the maximum number of parts in flight
  std::size_t ahead_ = 1;    // the number of next parts of a worker

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::condition_variable left_;
  std::vector<Claims> claims_;                                // by worker
  std::size_t front_ = 0;                                     // the first unclaimed part
  std::map<std::size_t, std::unique_ptr<PartRun>> finished_;  // but not merged
  bool merging_ = false;
  std::vector<std::vector<std::uint64_t>> reached_;  // by counted range, in merged parts
  unsigned workers_left_ = 0;
  ReadMetrics metrics_;
  unsigned busy_workers_ = 0;
  std::uint64_t blocks_ = 0;
  std::vector<std::vector<StepTotals>> costs_;  // by program and step
  std::exception_ptr failure_;
  std::vector<OutputId> failed_outputs_;

  std::atomic<std::size_t> merged_{0};  // parts before this one are merged
  std::atomic<std::size_t> failed_;     // the first failed part
  std::atomic<bool> cancelled_{false};
  std::vector<std::atomic<std::size_t>> ends_;  // by program: the last part that it needs
  std::atomic<std::uint64_t> entries_{0};
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point reported_ = start_;
};

}  // namespace colonnade::frame

#endif
