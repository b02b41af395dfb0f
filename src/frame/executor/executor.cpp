// run(): the workers of a pass. Their shared state, and why they cannot deadlock, is described in pass.cpp;
// block.cpp processes a part.
#include <fmt/format.h>

#include <thread>

#include "base/floating_point.h"
#include "base/interruption.h"
#include "base/start_thread.h"
#include "colonnade/error.h"
#include "frame/executor/block.h"
#include "frame/executor/kept_cursors.h"
#include "frame/executor/pass.h"
#include "frame/executor/program.h"
#include "frame/executor/schedule.h"
#include "frame/executor/threads.h"

namespace colonnade::frame {

namespace {

constexpr unsigned blocks_per_look = 32;  // between updates of the bytes read

class Worker {
 public:
  Worker(RunningPass& pass, unsigned slot, const RunOptions& options)
      : pass_(&pass), slot_(slot), options_(&options) {}

  void work() {
    while (const std::optional<std::size_t> number = pass_->claim(slot_)) {
      try {
        failed_.clear();
        const Interruption interruption([&] { return !pass_->is_wanted(*number); });
        go_through(*number);
      } catch (...) {
        pass_->fail(*number, std::current_exception(), failed_);
      }
    }
    close();
    pass_->add_work(parts_, blocks_);
  }

 private:
  void go_through(std::size_t number);
  void open(std::size_t number);
  void close();
  void hand_in_costs();
  void go_through_blocks(PartRun& part);
  void run_block(PartRun& part, std::uint64_t first, std::uint64_t count);
  RunningPass::BytesRead bytes_read() const {
    const ReadMetrics now = cursor_ ? cursor_->metrics() : ReadMetrics();
    return {closed_bytes_.all + now.bytes, closed_bytes_.of_cache + now.cache_bytes};
  }

  RunningPass* pass_;
  unsigned slot_;
  const RunOptions* options_;
  const Schedule* schedule_ = nullptr;
  std::unique_ptr<Cursor> cursor_;  // of the running program's source
  std::uint64_t at_ = 0;            // where it goes on
  std::unique_ptr<BlockRunner> runner_;
  RunningPass::BytesRead closed_bytes_;
  std::vector<std::uint32_t> failed_;  // outputs that need the failed step
  std::uint64_t parts_ = 0;            // processed parts
  std::uint64_t blocks_ = 0;
};

void Worker::go_through(std::size_t number) {
  const RunningPass::Job& job = pass_->job(number);
  auto part = std::make_unique<PartRun>(*pass_, number, pass_->schedule_of(number), job.part, slot_);
  if (!pass_->is_void(number)) {
    open(number);
    // A part that nothing is read from may lie in several files.
    if (!schedule_->only_counts) cursor_->start(job.part, pass_->next_of(slot_, job.program));
    at_ = job.part.last;
    runner_->start(*part, *cursor_);
    go_through_blocks(*part);
    ++parts_;
    if (!pass_->is_wanted(number)) return;
  }
  pass_->finish(std::move(part));
}

void Worker::open(std::size_t number) {
  const Schedule& schedule = pass_->schedule_of(number);
  if (schedule_ == &schedule) return;
  const bool same_source = schedule_ != nullptr && schedule_->program->source == schedule.program->source;
  if (!same_source) close();
  hand_in_costs();
  schedule_ = &schedule;
  runner_ = std::make_unique<BlockRunner>(schedule, *options_);
  if (same_source) return;
  const bool is_kept =
      options_->cursors != nullptr && options_->cursors->source() == schedule.program->source.get();
  if (is_kept) cursor_ = options_->cursors->take(pass_->job(number).part.first);
  if (cursor_ == nullptr) cursor_ = schedule.program->source->open();
}

void Worker::hand_in_costs() {
  if (runner_ != nullptr) pass_->add_costs(*schedule_, runner_->costs());
  runner_.reset();
}

void Worker::close() {
  hand_in_costs();
  if (cursor_ == nullptr) return;
  const ReadMetrics metrics = cursor_->metrics();
  pass_->add(metrics);
  closed_bytes_.all += metrics.bytes;
  closed_bytes_.of_cache += metrics.cache_bytes;
  if (options_->cursors != nullptr) options_->cursors->give_back(std::move(cursor_), at_);
  cursor_.reset();
  pass_->done_with(slot_, 0, closed_bytes_);
}

void Worker::go_through_blocks(PartRun& part) {
  unsigned blocks = 0;
  for (std::uint64_t first = part.first; first < part.last && pass_->is_wanted(part.job());) {
    const std::uint64_t count = std::min(runner_->block_entries(), part.last - first);
    run_block(part, first, count);
    ++blocks_;
    first += count;
    const bool look = ++blocks % blocks_per_look == 0 || first == part.last;
    pass_->done_with(slot_, count, look ? std::optional(bytes_read()) : std::nullopt);
    if (part.has_nothing_to_come()) return pass_->end_after(part.job());
  }
}

void Worker::run_block(PartRun& part, std::uint64_t first, std::uint64_t count) {
  try {
    failed_.clear();
    runner_->run(first, count);
  } catch (const Error& error) {
    failed_ = runner_->failed_outputs();
    const auto samples = schedule_->program->source->samples();
    const std::string in = part.sample < samples.size() && !samples[part.sample].name.empty()
                               ? " of " + samples[part.sample].name
                               : std::string();
    throw Error(error.kind(),
                fmt::format("{}{} (in the entries {} to {}{})", error.problem(), runner_->failed_origin(),
                            first, first + count - 1, in),
                error.advice(), error.context());
  } catch (...) {
    failed_ = runner_->failed_outputs();
    throw;
  }
}

// With several workers all have threads of their own, so that this thread can report progress.
void run_in_threads(RunningPass& pass, unsigned threads, const RunOptions& options) {
  std::vector<std::jthread> workers;
  workers.reserve(threads);
  try {
    for (unsigned slot = 0; slot < threads; ++slot)
      workers.push_back(start_thread<std::jthread>([&pass, slot, &options] {
        const StandardFloatingPoint state;
        try {
          Worker(pass, slot, options).work();
        } catch (...) {  // outside of any part: while closing the cursor
          pass.fail(0, std::current_exception(), {});
        }
        pass.leave();
      }));
  } catch (...) {
    pass.cancel();
    throw;
  }
  try {
    pass.wait_for_workers(threads);
  } catch (...) {
    pass.cancel();
    throw;
  }
}

void finish(std::span<const Program> programs, const RunOptions& options) {
  for (std::uint32_t p = 0; p < programs.size(); ++p)
    for (std::uint32_t o = 0; o < programs[p].outputs.size(); ++o) try {
        programs[p].outputs[o].accumulator->finish();
      } catch (...) {
        if (options.failed != nullptr) *options.failed = {{p, o}};
        throw;
      }
}

}  // namespace

RunReport run(std::span<const Program> programs, const RunOptions& options) {
  const StandardFloatingPoint state;
  std::vector<Schedule> schedules;
  schedules.reserve(programs.size());
  for (const Program& program : programs) schedules.emplace_back(program);
  RunningPass pass(schedules, options.threads != 0 ? options.threads : usable_processors(), options);
  const unsigned workers = pass.report().threads;
  try {
    if (workers == 1)
      Worker(pass, 0, options).work();
    else
      run_in_threads(pass, workers, options);
    pass.check();
    pass.report_progress();
    pass.check();
    if (options.cursors != nullptr && programs.size() == 1)
      options.cursors->go_on_at(programs[0].last, workers);
  } catch (...) {
    if (options.cursors != nullptr) options.cursors->clear();
    if (options.failed != nullptr) *options.failed = pass.failed_outputs();
    throw;
  }
  finish(programs, options);
  return pass.report();
}

}  // namespace colonnade::frame
