// The pool: one entry for equal expressions, precomputed constants, and expressions that must not be computed
// for every row.
#include <gtest/gtest.h>

#include <string>

#include "colonnade/error.h"
#include "frame/expression/expression.h"
#include "frame/expression/testing.h"

namespace colonnade::frame {
namespace {

struct Traits {
  std::string key = "add";
  bool needed = false;
  bool folds = true;
  bool throws = false;
};

// Adds its int arguments, and counts its calls.
class AddKernel : public Kernel {
 public:
  explicit AddKernel(Traits traits, int* runs = nullptr) : traits_(std::move(traits)), runs_(runs) {}
  ValuesPtr run(const CallContext& context, std::span<const ValuesPtr> arguments) const override {
    if (runs_ != nullptr) ++*runs_;
    if (traits_.throws) throw Error(ErrorKind::usage, "no sum");
    EXPECT_EQ(context.rows.size, 1u);
    int sum = 0;
    for (const ValuesPtr& argument : arguments) sum += *argument->as<int>();
    return expression_testing::scalars<int>({sum});
  }
  const ValueType& result() const noexcept override { return result_; }
  std::string key() const override { return traits_.key; }
  bool only_where_needed() const noexcept override { return traits_.needed; }
  bool foldable() const noexcept override { return traits_.folds; }

 private:
  Traits traits_;
  int* runs_;
  ValueType result_{ElementType::int32};
};

KernelPtr adder(Traits traits = {}, int* runs = nullptr) {
  return std::make_shared<AddKernel>(std::move(traits), runs);
}

class Pool : public ::testing::Test {
 public:
  ExpressionPool pool;
  ExpressionId x = pool.column(0, ElementType::int32);
  ExpressionId y = pool.column(1, ElementType::int32);
  ExpressionId a = pool.column(2, ElementType::boolean);
  ExpressionId b = pool.column(3, ElementType::boolean);
  ExpressionId number(int value) { return pool.constant(make_constant(1, value)); }
  int value(ExpressionId id) { return *pool[id].constant->as<int>(); }
};

TEST_F(Pool, HoldsTheSameOnce) {
  EXPECT_EQ(pool.column(0, ElementType::int32), x);
  EXPECT_NE(x, y);
  EXPECT_EQ(number(1), number(1));
  EXPECT_NE(number(1), number(2));
  EXPECT_NE(number(1), pool.constant(make_constant(1, 1u)));
  EXPECT_NE(pool.constant(make_constant(1, 0.0)), pool.constant(make_constant(1, -0.0)));
  EXPECT_EQ(pool.constant(make_constant_string(1, "a")), pool.constant(make_constant_string(1, "a")));
  EXPECT_NE(pool.constant(make_constant_string(1, "a")), pool.constant(make_constant_string(1, "b")));
  EXPECT_EQ(pool.special(Op::entry), pool.special(Op::entry));
  EXPECT_NE(pool.special(Op::entry), pool.special(Op::slot));
  const ExpressionId sum = pool.call(adder(), {x, y});
  EXPECT_EQ(pool.call(adder(), {x, y}), sum);
  EXPECT_NE(pool.call(adder(), {y, x}), sum);
  EXPECT_NE(pool.call(adder({.key = "other"}), {x, y}), sum);
  EXPECT_EQ(pool.logical(Op::logical_and, a, b), pool.logical(Op::logical_and, a, b));
  EXPECT_NE(pool.logical(Op::logical_and, a, b), pool.logical(Op::logical_or, a, b));
  EXPECT_EQ(pool.choose(a, x, y), pool.choose(a, x, y));
}

TEST_F(Pool, TellsTheSizesOfListsApart) {
  const auto constant = [&](const std::vector<int>& items) {
    return pool.constant(expression_testing::lists<int>({items}));
  };
  EXPECT_EQ(constant({1, 2}), constant({1, 2}));
  EXPECT_NE(constant({1, 2}), constant({1, 2, 3}));
  EXPECT_TRUE(pool[constant({1, 2})].constant->constant);
}

TEST_F(Pool, SharesNothingWithoutAKey) {
  const KernelPtr kernel = adder({.key = ""});
  EXPECT_NE(pool.call(kernel, {x}), pool.call(kernel, {x}));
}

TEST_F(Pool, ComputesConstantsWhenTheyAreAdded) {
  int runs = 0;
  const ExpressionId sum = pool.call(adder({}, &runs), {number(1), number(2)});
  EXPECT_EQ(runs, 1);
  ASSERT_EQ(pool[sum].op, Op::constant);
  EXPECT_EQ(value(sum), 3);
  EXPECT_TRUE(pool[sum].constant->constant);
  EXPECT_EQ(sum, number(3));
  EXPECT_EQ(pool[pool.call(adder({}, &runs), {number(1), x})].op, Op::call);
  EXPECT_EQ(pool[pool.call(adder({.folds = false}, &runs), {number(1)})].op, Op::call);
  EXPECT_EQ(runs, 1);
}

TEST_F(Pool, LeavesConstantsThatCannotBeComputedToTheEntries) {
  const ExpressionId sum = pool.call(adder({.throws = true}), {number(1)});
  EXPECT_EQ(pool[sum].op, Op::call);
}

TEST_F(Pool, DoesNotFoldLongLists) {
  const auto list = [&](std::size_t size) {
    return pool.constant(expression_testing::lists<int>({std::vector<int>(size, 1)}));
  };
  int runs = 0;
  EXPECT_EQ(pool[pool.call(adder({}, &runs), {list(1000)})].op, Op::call);
  EXPECT_EQ(runs, 0);
  EXPECT_EQ(pool[Formula("Range(99999999)").bind(pool, expression_testing::Columns(pool))].op, Op::call);
  EXPECT_EQ(pool[Formula("Reverse({1, 2})").bind(pool, expression_testing::Columns(pool))].op, Op::constant);
}

TEST_F(Pool, FoldsLogic) {
  const ExpressionId yes = pool.constant(make_constant(1, true));
  const ExpressionId no = pool.constant(make_constant(1, false));
  EXPECT_EQ(pool.logical(Op::logical_and, yes, a), a);
  EXPECT_EQ(pool.logical(Op::logical_and, no, a), no);
  EXPECT_EQ(pool.logical(Op::logical_or, yes, a), yes);
  EXPECT_EQ(pool.logical(Op::logical_or, no, a), a);
  EXPECT_EQ(pool.logical(Op::logical_and, a, yes), a);
  EXPECT_EQ(pool.logical(Op::logical_or, a, no), a);
  // The left side may throw, so it stays.
  EXPECT_EQ(pool[pool.logical(Op::logical_and, a, no)].op, Op::logical_and);
  EXPECT_EQ(pool.logical(Op::logical_and, a, a), a);
  EXPECT_EQ(pool.choose(yes, x, y), x);
  EXPECT_EQ(pool.choose(no, x, y), y);
  EXPECT_EQ(pool.choose(a, x, x), x);
}

TEST_F(Pool, RemembersWhatIsOnlyComputedWhereNeeded) {
  const ExpressionId dear = pool.call(adder({.key = "dear", .needed = true}), {x});
  EXPECT_TRUE(pool[dear].only_where_needed);
  EXPECT_FALSE(pool[pool.call(adder(), {x})].only_where_needed);
  EXPECT_TRUE(pool[pool.call(adder(), {y, dear})].only_where_needed);
  EXPECT_TRUE(pool[pool.choose(a, x, dear)].only_where_needed);
  EXPECT_FALSE(pool[pool.choose(a, x, y)].only_where_needed);
}

TEST_F(Pool, MakesConditionsOfNumbers) {
  EXPECT_EQ(pool.as_condition(a), a);
  const ExpressionId condition = pool.as_condition(x);
  EXPECT_EQ(pool[condition].type, ValueType(ElementType::boolean));
  EXPECT_EQ(pool.as_condition(x), condition);
  EXPECT_EQ(pool[pool.logical(Op::logical_and, x, a)].arguments[0], condition);
  const auto message = [&](const ValueType& type) -> std::string {
    try {
      pool.as_condition(pool.column(9, type));
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::type);
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(
      message(ValueType::list(ElementType::float32)),
      "a condition must be one value, got std::vector<float>; try: take Any(x), All(x) or Sum(x) of a list, "
      "or one of "
      "its items");
  EXPECT_EQ(message(ValueType::string()), "a condition must be a bool or a number, got std::string");
}

TEST_F(Pool, ChoosesBetweenValuesOfOneType) {
  EXPECT_THROW(pool.choose(a, x, a), Error);
  EXPECT_EQ(pool.convert(x, ElementType::int32), x);
  const ExpressionId wide = pool.convert(x, ElementType::float64);
  EXPECT_EQ(pool[wide].type, ValueType(ElementType::float64));
  EXPECT_THROW(pool.convert(x, ValueType::string()), Error);
}

TEST_F(Pool, TakesManyExpressionsWithoutSlowingDown) {
  ExpressionId last = x;
  for (int i = 0; i < 30000; ++i) last = pool.call(adder(), {last, y});
  const std::size_t size = pool.size();
  last = x;
  for (int i = 0; i < 30000; ++i) last = pool.call(adder(), {last, y});
  EXPECT_EQ(pool.size(), size);
}

TEST_F(Pool, ShowsExpressionsAsText) {
  const auto name = [](std::uint32_t column) { return std::string(1, "xyab"[column]); };
  const auto text = [&](ExpressionId id) { return text_of(pool, id, name); };
  const ExpressionId sum = pool.call(adder(), {x, y}, "operator+");
  EXPECT_EQ(text_of(pool, x), "column 0");
  EXPECT_EQ(text(sum), "x + y");
  EXPECT_EQ(text(pool.call(adder({.key = "f"}), {sum, number(3)}, "f")), "f(x + y, 3)");
  EXPECT_EQ(text(pool.call(adder({.key = "*"}), {sum, x}, "operator*")), "(x + y) * x");
  EXPECT_EQ(text(pool.call(adder({.key = "-"}), {sum}, "unary-")), "-(x + y)");
  EXPECT_EQ(text(pool.call(adder({.key = ".at"}), {x, y}, ".at")), "x.at(y)");
  EXPECT_EQ(text(pool.call(adder({.key = "[]"}), {x, y}, "operator[]")), "x[y]");
  EXPECT_EQ(text(pool.call(adder({.key = "cast"}), {sum}, "cast")), "std::int32_t(x + y)");
  EXPECT_EQ(text(pool.call(adder({.key = ""}), {x})), "function(x)");
  EXPECT_EQ(text(pool.logical(Op::logical_and, a, pool.logical(Op::logical_or, b, a))), "a && (b || a)");
  EXPECT_EQ(text(pool.choose(a, sum, y)), "a ? (x + y) : y");
  EXPECT_EQ(text(pool.special(Op::entry)), "rdfentry_");
  EXPECT_EQ(text(pool.constant(make_constant(1, true))), "true");
}

TEST_F(Pool, KeepsTextsShort) {
  ExpressionId last = x;
  for (int i = 0; i < 1000; ++i) last = pool.call(adder(), {last, last}, "operator+");
  EXPECT_LE(text_of(pool, last).size(), 203u);
  EXPECT_EQ(text_of(pool, pool.constant(make_constant_string(1, "µµµµ")), {}, 4), "\"µ...");
}

}  // namespace
}  // namespace colonnade::frame
