// Random programs - selections of every kind, conditional expressions, values needed in several places -
// against a plain evaluation entry by entry.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "frame/executor/test_tools.h"

namespace colonnade::frame {
namespace {

constexpr std::uint64_t entries = 700;

double column_value(std::uint32_t column, std::uint64_t entry) {
  return static_cast<double>((entry * 2654435761u + column * 40503u) % 1009 % 10);
}

// The plain evaluation of an expression.
struct Meaning {
  std::function<double(std::uint64_t)> value;
  bool is_condition = false;
};

class RandomProgram {
 public:
  explicit RandomProgram(unsigned seed)
      : random_(seed), p(std::make_shared<FakeSource>(entries, 10 + seed % 180, column_value)) {
    p.source->ahead = 1 + seed % 9;
    p.source->set_samples({{"a", 0, 300}, {"b", 300, 400}});
    for (std::uint32_t c = 0; c < 4; ++c)
      add(p.column(c), {[c](std::uint64_t entry) { return column_value(c, entry); }});
    for (int i = 0; i < 25; ++i) add_expression();
    passes_.emplace_back(entries, true);
    for (int i = 0; i < 8; ++i) add_selection();
    for (int i = 0; i < 6; ++i) add_output();
  }

  void check(unsigned threads, std::uint32_t block) {
    p.run(threads, block);
    for (const auto& [output, expected] : outputs_) EXPECT_EQ(output->records, expected);
  }

 private:
  std::uint32_t below(std::size_t limit) { return static_cast<std::uint32_t>(random_() % limit); }

  void add(ExpressionId id, Meaning meaning) {
    if (meanings_.size() <= id) meanings_.resize(id + 1);
    meanings_[id] = std::move(meaning);
    (meanings_[id].is_condition ? conditions_ : numbers_).push_back(id);
  }
  ExpressionId number() { return numbers_[below(numbers_.size())]; }
  ExpressionId any_condition() { return conditions_[below(conditions_.size())]; }

  void add_expression() {
    const unsigned what = conditions_.size() < 2 ? 0 : below(6);
    const bool dear = below(3) == 0;
    const double limit = below(10);
    if (what <= 1) {
      const ExpressionId x = number();
      add(p.call(condition([limit](auto v) { return v[0] < limit; }, dear), {x}),
          {[f = meanings_[x].value, limit](auto entry) { return f(entry) < limit ? 1.0 : 0.0; }, true});
    } else if (what == 2) {
      const ExpressionId x = number(), y = number();
      add(p.call(function([](auto v) { return v[0] + 2 * v[1]; }, dear), {x, y}),
          {[f = meanings_[x].value, g = meanings_[y].value](auto entry) { return f(entry) + 2 * g(entry); }});
    } else if (what == 3) {
      const ExpressionId c = any_condition(), x = number(), y = number();
      add(p.pool->choose(c, x, y), {[c = meanings_[c].value, f = meanings_[x].value, g = meanings_[y].value](
                                        auto entry) { return c(entry) != 0 ? f(entry) : g(entry); }});
    } else {
      const ExpressionId a = any_condition(), b = any_condition();
      const bool is_and = what == 4;
      add(p.pool->logical(is_and ? Op::logical_and : Op::logical_or, a, b),
          {[is_and, f = meanings_[a].value, g = meanings_[b].value](auto entry) {
             const bool left = f(entry) != 0, right = g(entry) != 0;
             return (is_and ? left && right : left || right) ? 1.0 : 0.0;
           },
           true});
    }
  }

  void add_selection() {
    const SelectionId parent = below(passes_.size());
    std::vector<bool> passes = passes_[parent];
    switch (below(6)) {
      case 0: {
        Selection s;
        s.kind = Selection::Kind::samples;
        s.parent = parent;
        s.of_sample = {below(2) == 0, true};
        p.add(s);
        for (std::uint64_t i = 0; i < 300; ++i) passes[i] = passes[i] && s.of_sample[0];
        break;
      }
      case 1: {
        const std::uint64_t begin = below(50), end = below(3) == 0 ? 0 : begin + below(200),
                            stride = 1 + below(4);
        p.range(parent, begin, end, stride);
        std::uint64_t row = 0;
        for (std::uint64_t i = 0; i < entries; ++i) {
          if (!passes[i]) continue;
          passes[i] = row >= begin && (end == 0 || row < end) && (row - begin) % stride == 0;
          ++row;
        }
        break;
      }
      default: {
        const ExpressionId c = any_condition();
        p.filter(parent, c);
        for (std::uint64_t i = 0; i < entries; ++i) passes[i] = passes[i] && meanings_[c].value(i) != 0;
      }
    }
    passes_.push_back(std::move(passes));
  }

  void add_output() {
    const SelectionId selection = below(passes_.size());
    std::vector<Recorder::Record> expected;
    if (below(4) == 0) {
      for (std::uint64_t i = 0; i < entries; ++i)
        if (passes_[selection][i]) expected.push_back({i, 0});
      outputs_.emplace_back(p.output(selection), std::move(expected));
    } else {
      const ExpressionId x = number();
      for (std::uint64_t i = 0; i < entries; ++i)
        if (passes_[selection][i]) expected.push_back({i, meanings_[x].value(i)});
      outputs_.emplace_back(p.output(selection, {x}), std::move(expected));
    }
  }

  std::mt19937 random_;
  TestProgram p;
  std::vector<Meaning> meanings_;
  std::vector<ExpressionId> numbers_, conditions_;
  std::vector<std::vector<bool>> passes_;
  std::vector<std::pair<std::shared_ptr<Recorder>, std::vector<Recorder::Record>>> outputs_;
};

TEST(ExecutorRandom, IsWhatAPlainEvaluationGives) {
  for (unsigned seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE(seed);
    RandomProgram(seed).check(1, 1 + seed % 97);
    if (HasFailure()) break;
  }
}

TEST(ExecutorRandom, IsTheSameWithSeveralThreads) {
  for (unsigned seed = 1000; seed < 1040; ++seed) {
    SCOPED_TRACE(seed);
    RandomProgram(seed).check(2 + seed % 3, 33);
    if (HasFailure()) break;
  }
}

}  // namespace
}  // namespace colonnade::frame
