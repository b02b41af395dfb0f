// The executor on hand-made programs: rows reach the right outputs, and nothing is computed twice or in
// vain.
#include <gmock/gmock.h>

#include <cmath>

#include "base/test_errors.h"
#include "frame/executor/rows.h"
#include "frame/executor/schedule.h"
#include "frame/executor/test_tools.h"

namespace colonnade::frame {
namespace {

// Column 0 is the entry, 1 its remainder by 10, 2 its square, 3 a constant.
std::shared_ptr<FakeSource> numbers(std::uint64_t entries = 1000, std::uint64_t part_size = 300) {
  return std::make_shared<FakeSource>(entries, part_size, [](std::uint32_t column, std::uint64_t entry) {
    const auto x = static_cast<double>(entry);
    return column == 0 ? x : column == 1 ? std::fmod(x, 10) : column == 2 ? x * x : 7.0;
  });
}

template <class Wanted>
std::vector<std::uint64_t> entries_where(std::uint64_t entries, Wanted&& wanted) {
  std::vector<std::uint64_t> result;
  for (std::uint64_t i = 0; i < entries; ++i)
    if (wanted(i)) result.push_back(i);
  return result;
}

auto less_than(double limit, bool where_needed = false) {
  return condition([limit](auto x) { return x[0] < limit ? 1.0 : 0.0; }, where_needed);
}

TEST(Rows, CountsAndPlacesBytes) {
  for (const unsigned every : {1u, 2u, 3u, 40u, 5000u}) {
    std::vector<std::uint8_t> bytes(1003);
    std::vector<std::uint32_t> yes, no;
    for (std::uint32_t i = 0; i < bytes.size(); ++i) {
      bytes[i] = i % every == every - 1 ? 1 : 0;
      (bytes[i] != 0 ? yes : no).push_back(i);
    }
    EXPECT_EQ(count_true(bytes.data(), bytes.size()), yes.size());
    std::vector<std::uint32_t> out(bytes.size());
    EXPECT_EQ(positions_where(bytes.data(), bytes.size(), true, out.data()), yes.size());
    EXPECT_TRUE(std::equal(yes.begin(), yes.end(), out.begin()));
    EXPECT_EQ(positions_where(bytes.data(), bytes.size(), false, out.data()), no.size());
    EXPECT_TRUE(std::equal(no.begin(), no.end(), out.begin()));
  }
}

TEST(Executor, GivesEveryEntryInOrder) {
  TestProgram p(numbers());
  const auto all = p.output(0, {p.column(2)});
  const RunReport report = p.run();
  ASSERT_EQ(all->records.size(), 1000u);
  for (std::uint64_t i = 0; i < 1000; ++i)
    EXPECT_EQ(all->records[i], (Recorder::Record{i, static_cast<double>(i * i)}));
  EXPECT_EQ(all->merged, 4);
  EXPECT_EQ(all->finished, 1);
  EXPECT_EQ(report.parts, 4u);
  EXPECT_EQ(report.threads, 1u);
  EXPECT_EQ(report.progress.entries, 1000u);
  EXPECT_EQ(report.progress.total, 1000u);
  EXPECT_EQ(report.metrics.bytes, 100u);
  EXPECT_EQ(report.workers, 1u);
  EXPECT_EQ(report.blocks, 3 * 3 + 1u);
}

TEST(Executor, HalvesBlocksThatTakeTooMuch) {
  // The columns of 100 entries take 800 bytes each.
  const auto records = [](std::size_t block_bytes, unsigned threads) {
    TestProgram p(numbers());
    const SelectionId some = p.filter(0, p.call(less_than(700), {p.column(0)}));
    const SelectionId range = p.range(some, 30, 400, 3);
    const auto sum =
        p.call(function([](auto x) { return x[0] + x[1] + x[2]; }), {p.column(0), p.column(1), p.column(2)});
    const std::vector outputs = {p.output(0, {p.column(0)}), p.output(range, {p.column(2)}),
                                 p.output(0, {sum}), p.output(range, {sum}), p.output(range)};
    frame::run({&p.program, 1}, {.threads = threads, .block_bytes = block_bytes, .block_entries = 100});
    std::vector<std::vector<Recorder::Record>> all;
    for (const auto& output : outputs) all.push_back(output->records);
    return all;
  };
  const auto expected = records(usual_block_bytes, 1);
  for (const std::size_t bytes : {3000, 1500, 500, 120})
    for (const unsigned threads : {1u, 3u}) EXPECT_EQ(records(bytes, threads), expected) << bytes;
  const Error error = error_of([&] { records(20, 1); });
  EXPECT_EQ(error.kind(), ErrorKind::resource);
  EXPECT_THAT(error.problem(), ::testing::HasSubstr("a block of 1 entry may have"));
}

TEST(Executor, SaysWhichOutputsNeedWhatFailed) {
  TestProgram p(numbers());
  const auto fails = [](auto x) -> double {
    if (x[0] > 500) throw Error(ErrorKind::usage, "too much");
    return 1;
  };
  const auto bad = p.call(function(fails, true), {p.column(0)});
  const auto worse = p.call(function([](auto x) { return x[0]; }), {bad});
  for (const ExpressionId argument : {p.column(0), bad, worse}) p.output(0, {argument});
  p.output(p.filter(0, p.call(less_than(10), {p.column(1)})), {p.column(2)});
  for (const unsigned threads : {1u, 3u}) {
    std::vector<OutputId> failed;
    EXPECT_THROW(frame::run({&p.program, 1}, {.threads = threads, .failed = &failed}), Error);
    EXPECT_EQ(failed, (std::vector<OutputId>{{0, 1}, {0, 2}}));
  }
  TestProgram q(numbers());
  const SelectionId narrowed = q.filter(q.filter(0, q.call(condition(fails, true), {q.column(0)})),
                                        q.call(less_than(5), {q.column(1)}));
  q.output(narrowed, {q.column(2)});
  q.output(0, {q.column(2)});
  const auto merged = q.output(0);
  std::vector<OutputId> failed;
  EXPECT_THROW(frame::run({&q.program, 1}, {.failed = &failed}), Error);
  EXPECT_EQ(failed, (std::vector<OutputId>{{0, 0}}));
  merged->on_merge = [] { throw Error(ErrorKind::usage, "not this one"); };
  EXPECT_THROW(frame::run({&q.program, 1}, {.failed = &failed}), Error);
  EXPECT_EQ(failed, (std::vector<OutputId>{{0, 2}}));
}

TEST(Executor, ReadsColumnsOnlyWhereAnEntrySurvived) {
  TestProgram p(numbers());
  const auto small = less_than(50);
  const SelectionId s = p.filter(0, p.call(small, {p.column(0)}));
  const auto out = p.output(s, {p.column(2)});
  p.run();
  EXPECT_EQ(out->entries(), entries_where(1000, [](auto i) { return i < 50; }));
  EXPECT_EQ(out->sum, 49.0 * 50 * 99 / 6);
  EXPECT_EQ(p.source->rows_read[0], 1000u);
  EXPECT_EQ(p.source->rows_read[2], 50u);
  EXPECT_EQ(out->begun, 1);  // the other parts have no rows for it
}

TEST(Executor, GathersWhatAnAncestorHas) {
  TestProgram p(numbers());
  const auto twice = function([](auto x) { return 2 * x[0]; });
  const ExpressionId value = p.call(twice, {p.column(0)});
  const SelectionId low = p.filter(0, p.call(less_than(1500), {value}));
  const SelectionId odd = p.filter(low, p.call(condition([](auto x) { return x[0]; }), {p.column(1)}));
  const SelectionId lower = p.filter(odd, p.call(less_than(600), {value}));
  const auto out = p.output(lower, {value});
  p.run();
  EXPECT_EQ(out->entries(), entries_where(1000, [](auto i) { return i < 300 && i % 10 != 0; }));
  for (const auto& r : out->records) EXPECT_EQ(r.value, 2.0 * static_cast<double>(r.entry));
  EXPECT_EQ(twice->rows, 1000u);
  EXPECT_EQ(p.source->rows_read[0], 1000u);
  EXPECT_EQ(p.source->rows_read[1], 800u);  // whole blocks, since that is cheap
}

// Positions of rows among those of a selection two levels up, which is not all entries.
TEST(Executor, GathersFromAnAncestorThatIsNeitherParentNorRoot) {
  TestProgram p(numbers());
  const auto twice = function([](auto x) { return 2 * x[0]; });
  const SelectionId odd =
      p.filter(0, p.call(condition([](auto x) { return std::fmod(x[0], 2); }), {p.column(1)}));
  const ExpressionId value = p.call(twice, {p.column(0)});
  const auto at_odd = p.output(odd, {value});
  const SelectionId low = p.filter(odd, p.call(less_than(8), {p.column(1)}));
  const SelectionId lower = p.filter(low, p.call(less_than(4), {p.column(1)}));
  const auto at_lower = p.output(lower, {value});
  p.run();
  EXPECT_EQ(at_odd->records.size(), 500u);
  EXPECT_EQ(at_lower->entries(), entries_where(1000, [](auto i) { return i % 10 == 1 || i % 10 == 3; }));
  for (const auto& r : at_lower->records) EXPECT_EQ(r.value, 2.0 * static_cast<double>(r.entry));
  EXPECT_EQ(twice->rows, 500u);
}

TEST(Executor, EvaluatesNothingBehindASelectionWithoutRows) {
  TestProgram p(numbers());
  const auto never = function([](auto) -> double { throw Error(ErrorKind::usage, "evaluated"); });
  const SelectionId s = p.filter(0, p.call(less_than(-1), {p.column(0)}));
  const SelectionId below = p.filter(s, p.call(less_than(1), {p.call(never, {p.column(2)})}));
  const auto out = p.output(below, {p.column(3)});
  p.run();
  EXPECT_TRUE(out->records.empty());
  EXPECT_EQ(out->begun, 0);
  EXPECT_EQ(out->finished, 1);
  EXPECT_EQ(p.source->rows_read[2], 0u);
}

TEST(Executor, EvaluatesDearRightSidesOnlyWhereTheyCount) {
  for (const bool is_and : {true, false}) {
    TestProgram p(numbers());
    const auto left = less_than(500);
    const auto right = condition([](auto x) { return x[0] < 5; }, true);
    const ExpressionId both = p.pool->logical(is_and ? Op::logical_and : Op::logical_or,
                                              p.call(left, {p.column(0)}), p.call(right, {p.column(1)}));
    const auto out = p.output(p.filter(0, both));
    p.run();
    EXPECT_EQ(out->entries(), entries_where(1000, [&](auto i) {
                return is_and ? i < 500 && i % 10 < 5 : i < 500 || i % 10 < 5;
              }));
    EXPECT_EQ(right->rows, 500u);
    EXPECT_EQ(p.source->rows_read[1], 500u);
  }
}

TEST(Executor, EvaluatesCheapRightSidesForAllRowsOfABlockOrForNone) {
  TestProgram p(numbers());
  const auto left = less_than(250);
  const auto right = condition([](auto x) { return x[0] < 5; });
  const auto out = p.output(p.filter(
      0, p.pool->logical(Op::logical_and, p.call(left, {p.column(0)}), p.call(right, {p.column(1)}))));
  p.run();
  EXPECT_EQ(out->entries(), entries_where(1000, [](auto i) { return i < 250 && i % 10 < 5; }));
  EXPECT_EQ(right->rows, 300u);  // three blocks, the last of which needs half
}

TEST(Executor, ChoosesTheSideThatCounts) {
  for (const bool dear : {true, false}) {
    TestProgram p(numbers());
    const auto yes = function([](auto x) { return x[0]; }, dear);
    const auto no = function([](auto x) { return -x[0]; }, dear);
    const ExpressionId value = p.pool->choose(p.call(less_than(250), {p.column(0)}),
                                              p.call(yes, {p.column(0)}), p.call(no, {p.column(2)}));
    const auto out = p.output(0, {value});
    p.run();
    ASSERT_EQ(out->records.size(), 1000u);
    for (const auto& r : out->records) {
      const auto x = static_cast<double>(r.entry);
      EXPECT_EQ(r.value, r.entry < 250 ? x : -x * x);
    }
    EXPECT_EQ(yes->rows, dear ? 250u : 300u);
    EXPECT_EQ(no->rows, dear ? 750u : 800u);
  }
}

TEST(Executor, NestsConditionalSides) {
  TestProgram p(numbers());
  const auto dear = function([](auto x) { return x[0]; }, true);
  const ExpressionId small = p.call(less_than(500), {p.column(0)});
  const ExpressionId value = p.call(dear, {p.column(1)});
  const ExpressionId inner =
      p.pool->logical(Op::logical_and, p.call(less_than(5), {value}),
                      p.call(condition([](auto x) { return x[0] >= 2; }, true), {value}));
  const auto out = p.output(p.filter(0, p.pool->logical(Op::logical_and, small, inner)), {value});
  p.run();
  EXPECT_EQ(out->entries(), entries_where(1000, [](auto i) { return i < 500 && i % 10 < 5 && i % 10 >= 2; }));
  EXPECT_EQ(dear->rows, 500u + 0u);
  EXPECT_EQ(out->sum, 50.0 * (2 + 3 + 4));
}

TEST(Executor, ComputesDearValuesOncePerEntryForUnrelatedSelections) {
  TestProgram p(numbers());
  const auto dear = function([](auto x) { return 3 * x[0]; }, true);
  const ExpressionId value = p.call(dear, {p.column(0)});
  const auto below = p.output(p.filter(0, p.call(less_than(600), {p.column(0)})), {value});
  const auto odd = p.output(
      p.filter(0, p.call(condition([](auto x) { return std::fmod(x[0], 2); }), {p.column(1)})), {value});
  const auto same = p.output(p.filter(0, p.call(less_than(500), {p.column(0)})), {value});
  p.run();
  EXPECT_EQ(below->entries(), entries_where(1000, [](auto i) { return i < 600; }));
  EXPECT_EQ(odd->entries(), entries_where(1000, [](auto i) { return i % 2 == 1; }));
  EXPECT_EQ(same->entries(), entries_where(1000, [](auto i) { return i < 500; }));
  for (const auto& out : {below, odd, same})
    for (const auto& r : out->records) EXPECT_EQ(r.value, 3.0 * static_cast<double>(r.entry));
  EXPECT_EQ(dear->rows, 600u + 200u);
}

// Each of a chain of values would be looked up in a store of its own otherwise, which takes longer than to
// compute it.
TEST(Executor, RecallsTheLastOfAChainOfValues) {
  TestProgram p(numbers());
  std::vector<std::shared_ptr<CountingKernel>> chain;
  ExpressionId value = p.column(0);
  for (int i = 0; i < 10; ++i) {
    chain.push_back(function([](auto x) { return x[0] + 1; }));
    value = p.call(chain.back(), {value});
  }
  std::vector<std::shared_ptr<Recorder>> outputs;
  for (const double last : {600, 500, 800})
    outputs.push_back(p.output(p.filter(0, p.call(less_than(last), {p.column(0)})), {value}));
  p.run();
  for (const auto& kernel : chain) EXPECT_EQ(kernel->rows, 800u);
  EXPECT_EQ(Schedule(p.program).stores, 1u);
  for (const auto& out : outputs)
    for (const auto& r : out->records) EXPECT_EQ(r.value, 10.0 + static_cast<double>(r.entry));
}

// The entry number, if slot and name of the sample are what they should be.
class TypeKernel : public Kernel {
 public:
  ValuesPtr run(const CallContext& context, std::span<const ValuesPtr> arguments) const override {
    const Values &entry = *arguments[0], &slot = *arguments[1], &sample = *arguments[2];
    EXPECT_EQ(entry.type, ValueType(ElementType::uint64));
    EXPECT_EQ(slot.type, ValueType(ElementType::uint32));
    EXPECT_EQ(*slot.as<std::uint32_t>(), context.slot);
    EXPECT_EQ(text_of(sample, 0), "\"fake.root/Events\"");
    auto [data, owner] = context.memory.array<double>(entry.size);
    for (std::size_t i = 0; i < entry.size; ++i) data[i] = static_cast<double>(entry.as<std::uint64_t>()[i]);
    return make_scalars(ElementType::float64, entry.size, data, std::move(owner));
  }
  const ValueType& result() const noexcept override { return type_; }

 private:
  ValueType type_ = ElementType::float64;
};

TEST(Executor, GivesEntryNumbersSlotsAndConstants) {
  TestProgram p(numbers());
  const ExpressionId seven = p.pool->constant(make_constant(1, 7.0));
  const SelectionId s = p.filter(0, p.call(less_than(3), {p.column(0)}));
  const auto out = p.output(s, {seven});
  const auto has_types = std::make_shared<TypeKernel>();
  const auto checked =
      p.output(s, {p.pool->call(has_types, {p.pool->special(Op::entry), p.pool->special(Op::slot),
                                            p.pool->special(Op::sample)})});
  p.run();
  EXPECT_EQ(out->sum, 21);
  EXPECT_EQ(checked->sum, 0 + 1 + 2);
}

// ---- Ranges

struct RangeCase {
  std::uint64_t begin, end, stride;
};

TEST(Executor, RangesCountTheRowsThatReachThem) {
  for (const RangeCase c : {RangeCase{0, 10, 1}, {5, 0, 3}, {90, 410, 7}, {2000, 3000, 1}, {399, 400, 1}}) {
    for (const bool behind_filter : {false, true}) {
      TestProgram p(numbers());
      const SelectionId even =
          behind_filter
              ? p.filter(0, p.call(condition([](auto x) { return std::fmod(x[0], 2) == 0; }), {p.column(1)}))
              : 0;
      const auto out = p.output(p.range(even, c.begin, c.end, c.stride));
      p.run();
      std::uint64_t row = 0;
      EXPECT_EQ(out->entries(), entries_where(1000,
                                              [&](auto i) {
                                                if (behind_filter && i % 2 != 0) return false;
                                                const std::uint64_t r = row++;
                                                return r >= c.begin && (c.end == 0 || r < c.end) &&
                                                       (r - c.begin) % c.stride == 0;
                                              }))
          << c.begin << ' ' << c.end << ' ' << c.stride << ' ' << behind_filter;
    }
  }
}

TEST(Executor, RangesOfRangesCountFromNumbersAlone) {
  TestProgram p(numbers());
  const auto out = p.output(p.range(p.range(0, 10, 500, 3), 5, 100, 2));
  p.run();
  std::vector<std::uint64_t> expected;
  for (std::uint64_t r = 5; r < 100; r += 2) expected.push_back(10 + 3 * r);
  EXPECT_EQ(out->entries(), expected);
  EXPECT_EQ(p.source->parts_started, 2u);  // entries 25 to 305 or so
}

TEST(Executor, StopsWhenAllOutputsAreBehindRangesThatHaveEnded) {
  TestProgram p(numbers(100000, 100));
  const SelectionId even =
      p.filter(0, p.call(condition([](auto x) { return std::fmod(x[0], 2) == 0; }), {p.column(1)}));
  const SelectionId range = p.range(even, 0, 120);
  const auto out = p.output(range);
  const auto lower = p.output(p.range(range, 10, 20));
  p.run();
  EXPECT_EQ(out->records.size(), 120u);
  EXPECT_EQ(lower->records.size(), 10u);
  EXPECT_LE(p.source->parts_started, 3u);
  EXPECT_EQ(out->finished, 1);
}

TEST(Executor, GoesOnWhereAnOutputIsBehindNoRange) {
  TestProgram p(numbers());
  const SelectionId some = p.filter(0, p.call(less_than(900), {p.column(0)}));
  const auto few = p.output(p.range(some, 0, 3));
  const auto all = p.output(some);
  p.run();
  EXPECT_EQ(few->records.size(), 3u);
  EXPECT_EQ(all->records.size(), 900u);
}

TEST(Executor, LooksAtTheEntriesOfTheProgramAlone) {
  TestProgram p(numbers());
  p.program.first = 250;
  p.program.last = 710;
  const auto all = p.output(0);
  const auto ranged = p.output(p.range(0, 10, 20));
  p.run();
  EXPECT_EQ(all->entries(), entries_where(1000, [](auto i) { return i >= 250 && i < 710; }));
  EXPECT_EQ(ranged->entries(), entries_where(1000, [](auto i) { return i >= 260 && i < 270; }));
}

TEST(Executor, SelectsSamples) {
  auto source = numbers();
  source->set_samples({{"a", 0, 400}, {"b", 400, 250}, {"c", 650, 350}});
  TestProgram p(source);
  Selection s;
  s.kind = Selection::Kind::samples;
  s.of_sample = {false, true, false};
  const auto out = p.output(p.add(s), {p.column(0)});
  p.run();
  EXPECT_EQ(out->entries(), entries_where(1000, [](auto i) { return i >= 400 && i < 650; }));
  EXPECT_EQ(source->rows_read[0], 250u);
}

// ---- Blocks, programs, sizes

TEST(Executor, ResultsDoNotDependOnBlocks) {
  std::vector<Recorder::Record> expected;
  for (const std::uint32_t block : {1000u, 0u, 1u, 7u, 64u, 299u}) {
    TestProgram p(numbers());
    const auto dear = function([](auto x) { return std::sqrt(x[0]); }, true);
    const ExpressionId value = p.call(dear, {p.column(0)});
    const SelectionId odd = p.filter(0, p.pool->logical(Op::logical_or, p.call(less_than(3), {p.column(1)}),
                                                        p.call(less_than(30, true), {value})));
    const auto out = p.output(p.range(odd, 3, 300, 2), {value});
    p.run(1, block);
    if (expected.empty()) expected = out->records;
    EXPECT_EQ(out->records, expected) << block;
  }
  EXPECT_EQ(expected.size(), 149u);
}

TEST(Executor, RunsSeveralProgramsInOnePass) {
  TestProgram a(numbers()), b(numbers(500, 70)), nothing(numbers());
  const auto of_a = a.output(0, {a.column(0)});
  const auto of_b = b.output(b.filter(0, b.call(less_than(100), {b.column(0)})), {b.column(2)});
  const Program programs[] = {a.program, nothing.program, b.program};
  const RunReport report = run(programs, {.threads = 1});
  EXPECT_EQ(of_a->records.size(), 1000u);
  EXPECT_EQ(of_b->records.size(), 100u);
  EXPECT_EQ(report.parts, 4u + 8u);
  EXPECT_EQ(report.progress.total, 1500u);
  EXPECT_EQ(nothing.source->parts_started, 0u);
}

TEST(Executor, FinishesWithoutEntries) {
  TestProgram p(numbers(0));
  const auto out = p.output(0, {p.column(0)});
  p.run();
  EXPECT_EQ(out->finished, 1);
  EXPECT_EQ(p.run(5).threads, 1u);
}

// A condition for each of many outputs, chains of selections and of definitions: the number of steps grows
// linearly with them, not with their product.
TEST(Executor, StepsAreLinearInTheGraph) {
  constexpr std::size_t nodes = 10000;
  TestProgram wide(numbers(10, 10));
  for (std::size_t i = 0; i < nodes; ++i)
    wide.output(wide.filter(0, wide.call(less_than(static_cast<double>(i)), {wide.column(0)})),
                {wide.column(2)});
  const Schedule of_wide(wide.program);
  EXPECT_LT(of_wide.steps.size(), 6 * nodes);
  EXPECT_LT(of_wide.values, 10u);  // slots are reused

  TestProgram deep(numbers(10, 10));
  SelectionId s = 0;
  ExpressionId value = deep.column(0);
  const auto twice = function([](auto x) { return 2 * x[0]; });
  const auto any = less_than(1e300);
  std::shared_ptr<Recorder> last;
  for (std::size_t i = 0; i < nodes; ++i) {
    value = deep.call(function([](auto x) { return x[0] + 1; }), {value});
    s = deep.filter(s, deep.call(any, {value}));
    if (i + 1 == nodes) last = deep.output(s, {value, deep.column(1)});
  }
  const Schedule of_deep(deep.program);
  EXPECT_LT(of_deep.steps.size(), 8 * nodes);
  deep.run();
  EXPECT_EQ(last->sum, 45.0 + 10 * nodes);
}

// ---- What goes wrong

TEST(Executor, AnErrorSaysWhereItHappened) {
  TestProgram p(numbers());
  const auto fails = function([](auto x) -> double {
    if (x[0] == 450) throw Error(ErrorKind::conversion, "no good", "do better");
    return x[0];
  });
  const auto out = p.output(0, {p.call(fails, {p.column(0)})});
  try {
    p.run();
    FAIL() << "nothing thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::conversion);
    EXPECT_EQ(error.problem(), "no good (in the entries 400 to 499 of fake.root/Events)");
    EXPECT_EQ(error.advice(), "do better");
  }
  EXPECT_EQ(out->finished, 0);
}

TEST(Executor, OtherExceptionsPassAsTheyAre) {
  TestProgram p(numbers());
  p.output(0, {p.call(function([](auto) -> double { throw 42; }), {p.column(0)})});
  EXPECT_THROW(p.run(), int);
  TestProgram merging(numbers());
  merging.output(0)->on_merge = [] { throw std::runtime_error("full"); };
  EXPECT_THROW(merging.run(), std::runtime_error);
}

class ShortKernel : public Kernel {
 public:
  ValuesPtr run(const CallContext&, std::span<const ValuesPtr>) const override {
    return make_constant(1, 1.0);
  }
  const ValueType& result() const noexcept override { return type_; }

 private:
  ValueType type_ = ElementType::float64;
};

TEST(Executor, AFunctionThatGivesTooFewValuesIsAnError) {
  TestProgram p(numbers());
  p.output(0, {p.call(std::make_shared<ShortKernel>(), {p.column(0)})});
  EXPECT_THROW(p.run(), Error);
}

TEST(Executor, ProgressIsReportedAndCanEndThePass) {
  TestProgram p(numbers());
  const auto out = p.output(0);
  PassProgress last;
  int calls = 0;
  run({&p.program, 1}, {.threads = 1, .progress = [&](const PassProgress& progress) {
                          last = progress;
                          ++calls;
                          return true;
                        }});
  EXPECT_GE(calls, 1);
  EXPECT_EQ(last.entries, 1000u);
  EXPECT_EQ(last.bytes, 100u);
  EXPECT_EQ(out->finished, 1);

  TestProgram cancelled(numbers());
  const auto nothing = cancelled.output(0);
  EXPECT_THROW(
      run({&cancelled.program, 1}, {.threads = 1, .progress = [](const PassProgress&) { return false; }}),
      Error);
  EXPECT_EQ(nothing->finished, 0);
}

}  // namespace
}  // namespace colonnade::frame
