// A source, kernels and an accumulator that count the executor's calls.
#ifndef COLONNADE_FRAME_EXECUTOR_TEST_TOOLS_H
#define COLONNADE_FRAME_EXECUTOR_TEST_TOOLS_H

#include <algorithm>
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "colonnade/error.h"
#include "frame/executor/program.h"
#include "frame/values/values.h"

namespace colonnade::frame {

// Columns of doubles, column c of entry i being value(c, i), in parts of equal size.
class FakeSource : public Source {
 public:
  FakeSource(std::uint64_t entries, std::uint64_t part_size,
             std::function<double(std::uint32_t, std::uint64_t)> value, std::uint32_t columns = 4)
      : entries_(entries), part_size_(part_size), value_(std::move(value)), rows_read(columns) {
    for (std::uint32_t c = 0; c < columns; ++c) paths_.push_back("c" + std::to_string(c));
    samples_.push_back({"fake.root/Events", 0, entries});
  }

  std::uint64_t entries() const override { return entries_; }
  std::span<const Sample> samples() const override { return samples_; }
  std::optional<std::uint32_t> find(std::string_view path) override {
    const auto at = std::ranges::find(paths_, path);
    if (at == paths_.end()) return std::nullopt;
    return static_cast<std::uint32_t>(at - paths_.begin());
  }
  const ValueType& type(std::uint32_t) const override { return type_; }
  const std::string& path(std::uint32_t column) const override { return paths_[column]; }
  bool has(std::uint32_t, unsigned) const override { return true; }
  std::vector<std::string> names() const override { return paths_; }
  std::vector<Part> parts(std::uint64_t first, std::uint64_t last) const override {
    std::vector<Part> parts;
    std::uint64_t number = 0;
    for (unsigned s = 0; s < samples_.size(); ++s) {
      const std::uint64_t end = samples_[s].first + samples_[s].entries;
      for (std::uint64_t at = samples_[s].first; at < end; at += part_size_, ++number) {
        const std::uint64_t begin = std::max(at, first), stop = std::min({at + part_size_, end, last});
        if (begin < stop) parts.push_back({begin, stop, s, number});
      }
    }
    return parts;
  }
  std::size_t parts_ahead() const override { return ahead; }
  std::unique_ptr<Cursor> open() const override { return std::make_unique<Reading>(*this); }
  std::string specification(bool /*with_index*/) const override { return "{}"; }

  void set_samples(std::vector<Sample> samples) { samples_ = std::move(samples); }
  double value(std::uint32_t column, std::uint64_t entry) const { return value_(column, entry); }

 private:
  class Reading : public Cursor {
   public:
    explicit Reading(const FakeSource& source) : source_(&source) {}
    void start(const Part& part, std::span<const Part> next) override {
      std::uint64_t last = part.last;
      for (const Part& coming : next) {
        if (coming.first < last) throw Error(ErrorKind::usage, "parts in another order");
        last = coming.last;
      }
      if (next.size() > source_->ahead) throw Error(ErrorKind::usage, "more parts than were asked for");
      part_ = part;
      ++source_->parts_started;
      source_->parts_told += next.size();
    }
    ValuesPtr read(std::uint32_t column, const Rows& rows, BlockMemory& memory) override {
      if (rows.size == 0) throw Error(ErrorKind::usage, "no rows to read");
      source_->rows_read[column] += rows.size;
      auto [data, owner] = memory.array<double>(rows.size);
      for (std::size_t i = 0; i < rows.size; ++i) {
        if (rows.entry(i) < part_.first || rows.entry(i) >= part_.last)
          throw Error(ErrorKind::usage, "a row outside of the part");
        data[i] = source_->value(column, rows.entry(i));
      }
      return make_scalars(ElementType::float64, rows.size, data, std::move(owner));
    }
    ReadMetrics metrics() const override { return {.requests = 1, .bytes = 100}; }

   private:
    const FakeSource* source_;
    Part part_;
  };

  std::uint64_t entries_;
  std::uint64_t part_size_;
  std::function<double(std::uint32_t, std::uint64_t)> value_;
  ValueType type_ = ElementType::float64;
  std::vector<std::string> paths_;
  std::vector<Sample> samples_;

 public:
  mutable std::vector<std::atomic<std::uint64_t>> rows_read;  // by column
  mutable std::atomic<std::uint64_t> parts_started{0};
  mutable std::atomic<std::uint64_t> parts_told{0};  // to come, in all
  std::size_t ahead = 1;
};

// A function of doubles, element by element.
class CountingKernel : public Kernel {
 public:
  using Function = std::function<double(std::span<const double>)>;
  CountingKernel(ElementType result, Function function, bool where_needed = false)
      : result_(result), function_(std::move(function)), where_needed_(where_needed) {}

  ValuesPtr run(const CallContext& context, std::span<const ValuesPtr> arguments) const override {
    ++calls;
    rows += context.rows.size;
    std::vector<ValuesPtr> full;
    for (const ValuesPtr& a : arguments) {
      if (a->size != context.rows.size) throw Error(ErrorKind::usage, "an argument of another size");
      full.push_back(spread(a, context.memory));
    }
    std::vector<double> values(arguments.size());
    auto [data, owner] = context.memory.array<double>(context.rows.size);
    for (std::size_t i = 0; i < context.rows.size; ++i) {
      for (std::size_t a = 0; a < full.size(); ++a) values[a] = full[a]->as<double>()[i];
      const double value = function_(values);
      if (result_ == ElementType::boolean)
        reinterpret_cast<std::uint8_t*>(data)[i] = value != 0 ? 1 : 0;
      else
        data[i] = value;
    }
    return make_scalars(result_.element(), context.rows.size, data, std::move(owner));
  }
  const ValueType& result() const noexcept override { return result_; }
  bool only_where_needed() const noexcept override { return where_needed_; }
  bool foldable() const noexcept override { return false; }

  mutable std::atomic<std::uint64_t> calls{0};
  mutable std::atomic<std::uint64_t> rows{0};

 private:
  ValueType result_;
  Function function_;
  bool where_needed_;
};

inline std::shared_ptr<CountingKernel> function(CountingKernel::Function f, bool where_needed = false) {
  return std::make_shared<CountingKernel>(ElementType::float64, std::move(f), where_needed);
}
inline std::shared_ptr<CountingKernel> condition(CountingKernel::Function f, bool where_needed = false) {
  return std::make_shared<CountingKernel>(ElementType::boolean, std::move(f), where_needed);
}

// Records the entries that reached it, with the values of its first argument, and sums these up in order:
// first within each part, then over parts, so that another order is detected.
class Recorder : public Accumulator {
 public:
  struct Record {
    std::uint64_t entry;
    double value;
    friend bool operator==(const Record&, const Record&) = default;
  };

  std::unique_ptr<Accumulator> empty_copy() const override { return std::make_unique<Recorder>(); }
  std::unique_ptr<Partial> begin(PartContext& context) override {
    ++begun;
    return std::make_unique<Adding>(context, *this);
  }
  void merge(std::unique_ptr<Partial> partial) override {
    const auto& part = static_cast<Adding&>(*partial);
    records.insert(records.end(), part.records.begin(), part.records.end());
    sum += part.sum;
    ++merged;
    if (on_merge) on_merge();
  }
  void finish() override { ++finished; }
  std::vector<std::byte> save() const override { return {}; }
  void merge_saved(std::span<const std::byte>) override {}

  std::vector<std::uint64_t> entries() const {
    std::vector<std::uint64_t> result;
    for (const Record& r : records) result.push_back(r.entry);
    return result;
  }

  bool waits_for_turn = false;
  std::function<void()> on_merge;
  std::vector<Record> records;
  double sum = 0;
  std::atomic<int> begun{0};
  int merged = 0;
  int finished = 0;

 private:
  class Adding : public Partial {
   public:
    Adding(PartContext& context, const Recorder& recorder) : context_(&context), recorder_(&recorder) {}
    void add(const Rows& rows, std::span<const ValuesPtr> arguments) override {
      if (recorder_->waits_for_turn) context_->wait_for_turn();
      for (std::size_t i = 0; i < rows.size; ++i) {
        double value = 0;
        if (!arguments.empty()) {
          const Values& v = *arguments.front();
          if (v.size != rows.size) throw Error(ErrorKind::usage, "an argument of another size");
          value = v.as<double>()[v.constant ? 0 : i];
        }
        records.push_back({rows.entry(i), value});
        sum += value;
      }
    }
    std::vector<Record> records;
    double sum = 0;

   private:
    PartContext* context_;
    const Recorder* recorder_;
  };
};

// A hand-made program.
struct TestProgram {
  explicit TestProgram(std::shared_ptr<FakeSource> from) : source(std::move(from)) {
    program.source = source;
    program.pool = pool;
    program.last = source->entries();
    program.selections.emplace_back();
  }

  ExpressionId column(std::uint32_t c) { return pool->column(c, ElementType::float64); }
  ExpressionId call(KernelPtr kernel, std::vector<ExpressionId> arguments) {
    return pool->call(std::move(kernel), std::move(arguments));
  }
  SelectionId filter(SelectionId parent, ExpressionId expression) {
    Selection s;
    s.kind = Selection::Kind::condition;
    s.parent = parent;
    s.condition = expression;
    return add(s);
  }
  SelectionId range(SelectionId parent, std::uint64_t begin, std::uint64_t end, std::uint64_t stride = 1) {
    Selection s;
    s.kind = Selection::Kind::range;
    s.parent = parent;
    s.begin = begin;
    s.end = end;
    s.stride = stride;
    return add(s);
  }
  SelectionId add(const Selection& s) {
    program.selections.push_back(s);
    return static_cast<SelectionId>(program.selections.size() - 1);
  }
  std::shared_ptr<Recorder> output(SelectionId selection, std::vector<ExpressionId> arguments = {}) {
    auto recorder = std::make_shared<Recorder>();
    program.outputs.push_back({selection, std::move(arguments), recorder});
    return recorder;
  }
  RunReport run(unsigned threads = 1, std::uint32_t block_entries = 100) {
    return frame::run({&program, 1}, {.threads = threads, .block_entries = block_entries});
  }

  std::shared_ptr<FakeSource> source;
  std::shared_ptr<ExpressionPool> pool = std::make_shared<ExpressionPool>();
  Program program;
};

}  // namespace colonnade::frame

#endif
