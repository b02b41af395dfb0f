// Every function of lists and vectors with arguments of every kind: it binds and runs, or reports the reason.
#include <gtest/gtest.h>

#include "frame/functions/lists.h"
#include "frame/functions/lists_testing.h"

namespace colonnade::frame {
namespace {

using calls::values_of;
using expression_testing::Arguments;
using expression_testing::Lists;
using expression_testing::result_of;

// Two rows of each kind of value.
Arguments all_kinds() {
  const auto bytes = std::make_shared<std::vector<std::byte>>(2);
  const auto numbers = values_of(std::vector<double>{1.5, -2});
  const auto vectors = result_of("ROOT::Math::PtEtaPhiMVector", Arguments(4, numbers));
  const auto offsets = std::make_shared<std::vector<std::int64_t>>(std::vector<std::int64_t>{0, 2, 2});
  return {values_of(std::vector<int>{0, 1}),
          make_constant<std::int8_t>(2, -1),
          make_constant<std::uint64_t>(2, ~std::uint64_t{0}),
          make_constant<bool>(2, true),
          numbers,
          values_of(std::vector<std::string>{"ab", ""}),
          make_scalars(ElementType::byte, 2, bytes->data(), bytes),
          values_of(Lists<float>{{1, std::numeric_limits<float>::quiet_NaN()}, {}}),
          values_of(Lists<int>{{0, -7}, {}}),
          values_of(Lists<bool>{{true, false}, {true}}),
          values_of(std::vector<std::vector<std::string>>{{"a", "b"}, {}}),
          values_of(std::vector<Lists<double>>{{{1, 2}, {}}, {}}),
          vectors,
          make_list(2, offsets->data(), vectors, offsets),
          result_of("ROOT::Math::XYZVector", Arguments(3, numbers)),
          make_record(ValueType::record("Hit", {{"x", ElementType::float64}}), 2, {numbers})};
}

void try_call(const Function& function, const Arguments& arguments, std::size_t& ran) {
  std::vector<Argument> described;
  for (const auto& argument : arguments) described.push_back({argument->type, nullptr});
  const std::string type = "ROOT::Math::PxPyPzEVector";
  const Bound bound = function.bind({function.name, {&type, 1}, described});
  if (bound.kernel == nullptr) {
    EXPECT_FALSE(bound.why_not.empty()) << function.name;
    return;
  }
  try {
    const auto result = calls::run(*bound.kernel, arguments, 2);
    EXPECT_EQ(result->size, 2U) << function.name;
    EXPECT_EQ(result->type, bound.kernel->result()) << function.name;
    ++ran;
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage) << function.name << ": " << error.what();
  }
}

TEST(Misuse, EveryCallRunsOrSaysWhyNot) {
  const Arguments kinds = all_kinds();
  std::mt19937 random(71);
  std::size_t ran = 0;
  for (const auto part : {list_functions, combination_functions, physics_functions}) {
    for (const Function& function : part()) {
      try_call(function, {}, ran);
      for (const auto& a : kinds) {
        try_call(function, {a}, ran);
        for (const auto& b : kinds) try_call(function, {a, b}, ran);
      }
      for (int i = 0; i < 300; ++i) {
        Arguments arguments;
        const std::size_t count = 3 + random() % 6;
        while (arguments.size() < count) arguments.push_back(kinds[random() % kinds.size()]);
        try_call(function, arguments, ran);
      }
    }
  }
  for (const char* name : {"operator+", "operator-", "operator*", "operator/", "operator==", "unary-"})
    for (const auto& a : kinds)
      for (const auto& b : kinds)
        try_call({name, "", [](const Call& call) { return record_operator(call); }}, {a, b}, ran);
  EXPECT_GT(ran, 500U);
}

}  // namespace
}  // namespace colonnade::frame
