// Arrays in memory as columns.
#include <gmock/gmock.h>

#include "frame/sources/source_test_tools.h"
#include "frame/values/values.h"

namespace colonnade::frame {
namespace {

using ::testing::ElementsAre;
using testing::error_of;

ValuesPtr doubles(std::vector<double> numbers) {
  auto kept = std::make_shared<std::vector<double>>(std::move(numbers));
  return make_scalars(ElementType::float64, kept->size(), kept->data(), kept);
}

// Lists of 0, 1, 2, 0, 1, 2, ... items.
ValuesPtr lists(std::size_t count, const std::function<ValuesPtr(std::vector<double>)>& items) {
  auto offsets = std::make_shared<std::vector<std::int64_t>>(1, 0);
  std::vector<double> numbers;
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t k = 0; k < i % 3; ++k) numbers.push_back(static_cast<double>(10 * i + k));
    offsets->push_back(static_cast<std::int64_t>(numbers.size()));
  }
  return make_list(count, offsets->data(), items(std::move(numbers)), offsets);
}

ValuesPtr points(std::vector<double> x) {
  std::vector<double> y;
  for (const double value : x) y.push_back(-value);
  const std::size_t size = x.size();
  return make_record(ValueType::record("Point", {{"x", ElementType::float64}, {"y", ElementType::float64}}),
                     size, {doubles(std::move(x)), doubles(std::move(y))});
}

class Arrays : public ::testing::Test {
 protected:
  static constexpr std::size_t entries = 1000;
  Arrays() {
    std::vector<double> numbers(entries);
    for (std::size_t i = 0; i < entries; ++i) numbers[i] = static_cast<double>(i) / 4;
    numbers_ = doubles(std::move(numbers));
    lists_ = lists(entries, points);
    source_ = array_source({{"number", numbers_}, {"p", lists_}, {"one", make_constant(entries, 7)}});
  }
  std::vector<std::string> texts(const ValuesPtr& values) {
    std::vector<std::string> all;
    for (std::size_t i = 0; i < values->size; ++i) all.push_back(bits_of(*values, i));
    return all;
  }
  ValuesPtr numbers_;
  ValuesPtr lists_;
  std::shared_ptr<Source> source_;
};

TEST_F(Arrays, AreColumns) {
  EXPECT_EQ(source_->entries(), entries);
  EXPECT_THAT(source_->names(), ElementsAre("number", "p", "p.x", "p.y", "one"));
  expect_same(*source_, "number", texts(numbers_));
  expect_same(*source_, "p", texts(lists_));
  expect_same(*source_, "p.y", texts(lists(entries, [](std::vector<double> x) {
    for (double& value : x) value = -value;
    return doubles(std::move(x));
  })));
  EXPECT_FALSE(source_->find("p.z"));
  EXPECT_FALSE(source_->find("number.x"));
  EXPECT_FALSE(source_->find("none"));
  EXPECT_FALSE(source_->find("#number"));
}

TEST_F(Arrays, NumbersOfItemsAreColumns) {
  std::vector<std::string> expected;
  for (std::size_t i = 0; i < entries; ++i)
    expected.push_back(bits_of(*make_constant<std::uint64_t>(1, i % 3), 0));
  expect_same(*source_, "#p", expected);
  expect_same(*source_, "R_rdf_sizeof_p", expected);
}

TEST_F(Arrays, ConstantsStayConstant) {
  const auto cursor = source_->open();
  BlockMemory memory;
  cursor->start({0, entries, 0}, {});
  const std::uint32_t wanted[] = {1, 5};
  const auto values = cursor->read(*source_->find("one"), {100, 2, wanted}, memory);
  EXPECT_EQ(values->size, 2u);
  EXPECT_EQ(bits_of(*values, 1), bits_of(*make_constant(1, 7), 0));
}

TEST_F(Arrays, AreNotCopied) {
  const auto cursor = source_->open();
  BlockMemory memory;
  cursor->start({0, entries, 0}, {});
  const auto values = cursor->read(*source_->find("number"), {100, 50, nullptr}, memory);
  EXPECT_EQ(values->as<double>(), numbers_->as<double>() + 100);
}

TEST_F(Arrays, AreGoneWhenNobodyHasThem) {
  const std::weak_ptr<const Values> watched = numbers_;
  numbers_.reset();
  const auto cursor = source_->open();
  static_cast<void>(source_->find("number"));
  source_.reset();
  EXPECT_FALSE(watched.expired());
}

TEST_F(Arrays, CannotBeSent) {
  EXPECT_EQ(error_of([&] { source_->specification(); }).kind(), ErrorKind::unsupported);
}

TEST(ArraySource, NeedsArraysOfOneLength) {
  const Error error = error_of([] { array_source({{"a", doubles({1, 2})}, {"b", doubles({1})}}); });
  EXPECT_EQ(error.kind(), ErrorKind::usage);
  EXPECT_EQ(error.context().field, "b");
}

TEST(ArraySource, MayHaveNoColumns) {
  EXPECT_EQ(array_source({})->entries(), 0u);
  EXPECT_TRUE(array_source({})->parts(0, 10).empty());
}

}  // namespace
}  // namespace colonnade::frame
