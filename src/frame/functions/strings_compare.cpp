// Comparisons of strings: with each other, of the items of a list with the string of their row, and of two
// lists item by item.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <functional>
#include <vector>

#include "colonnade/error.h"
#include "frame/functions/optionals.h"
#include "frame/functions/strings.h"
#include "frame/values/values.h"

namespace colonnade::frame {

namespace {

using Test = bool (*)(std::string_view, std::string_view);

struct Comparison {
  std::string_view name;
  Test test;
};

constexpr std::array comparisons = {
    Comparison{"operator==", [](std::string_view a, std::string_view b) { return a == b; }},
    Comparison{"operator!=", [](std::string_view a, std::string_view b) { return a != b; }},
    Comparison{"operator<", [](std::string_view a, std::string_view b) { return a < b; }},
    Comparison{"operator<=", [](std::string_view a, std::string_view b) { return a <= b; }},
    Comparison{"operator>", [](std::string_view a, std::string_view b) { return a > b; }},
    Comparison{"operator>=", [](std::string_view a, std::string_view b) { return a >= b; }},
};

// Marks the texts that are equal to the given one. Sizes and first characters usually decide; both are
// compared without branches, which texts of a few kinds in any order would mislead.
void find_equal(const Strings& texts, std::string_view text, std::size_t first, std::size_t last, bool* out) {
  using Word = std::uint64_t;
  std::size_t quick = first;  // the texts from here on are too close to the end of the characters
  const std::int64_t* const offsets = texts.offsets();
  if (offsets != nullptr && !text.empty() && first < last) {
    const std::size_t known = std::min(text.size(), sizeof(Word));
    Word wanted = 0;
    Word mask = 0;
    std::memcpy(&wanted, text.data(), known);
    std::memset(&mask, 0xff, known);
    quick = last;
    const std::int64_t end = offsets[last] - static_cast<std::int64_t>(sizeof(Word));
    while (quick > first && offsets[quick - 1] > end) --quick;
    const char* const characters = texts.characters();
    for (std::size_t i = first; i < quick; ++i) {
      Word begin;
      std::memcpy(&begin, characters + offsets[i], sizeof begin);
      const bool same_size = offsets[i + 1] - offsets[i] == static_cast<std::int64_t>(text.size());
      out[i] = same_size & ((begin & mask) == wanted);
    }
    if (text.size() > sizeof(Word))
      for (std::size_t i = first; i < quick; ++i) out[i] = out[i] && texts[i] == text;
  }
  for (std::size_t i = quick; i < last; ++i) out[i] = texts[i] == text;
}

// Compares with one text for equality or inequality; false if that is not what is asked for.
bool compare_with_one(const Comparison& comparison, const Strings& left, const Strings& right,
                      std::size_t first, std::size_t last, bool* out) {
  const bool differs = comparison.name == "operator!=";
  if (left.is_constant() == right.is_constant() || !(differs || comparison.name == "operator=="))
    return false;
  if (right.is_constant())
    find_equal(left, right[0], first, last, out);
  else
    find_equal(right, left[0], first, last, out);
  if (differs) std::transform(out + first, out + last, out + first, std::logical_not());
  return true;
}

class ScalarComparison : public Kernel {
 public:
  explicit ScalarComparison(const Comparison& comparison) : comparison_(comparison) {}
  const ValueType& result() const noexcept override { return result_; }
  std::string key() const override { return std::string(comparison_.name); }

  ValuesPtr run(const CallContext& context, std::span<const ValuesPtr> arguments) const override {
    const bool constant = arguments[0]->constant && arguments[1]->constant;
    const std::size_t rows = constant ? std::min<std::size_t>(context.rows.size, 1) : context.rows.size;
    auto [out, memory] = context.memory.array<bool>(std::max<std::size_t>(rows, 1));
    const Strings left(*arguments[0]);
    const Strings right(*arguments[1]);
    out[0] = false;
    if (!compare_with_one(comparison_, left, right, 0, rows, out))
      for (std::size_t row = 0; row < rows; ++row) out[row] = comparison_.test(left[row], right[row]);
    auto result = std::make_shared<Values>();
    result->type = result_;
    result->size = context.rows.size;
    result->constant = constant;
    result->data = out;
    result->owners.push_back(std::move(memory));
    return result;
  }

 private:
  const Comparison& comparison_;
  ValueType result_ = ElementType::boolean;
};

class ListComparison : public Kernel {
 public:
  ListComparison(const Comparison& comparison, std::array<bool, 2> lists, bool of_optionals, bool aligns)
      : comparison_(comparison),
        lists_(lists),
        aligns_(aligns),
        result_(of_optionals ? ValueType::optional(ElementType::boolean)
                             : ValueType::list(ElementType::boolean)) {}
  const ValueType& result() const noexcept override { return result_; }
  std::string key() const override { return std::string(comparison_.name); }
  bool only_where_needed() const noexcept override { return lists_[0] && lists_[1]; }

  ValuesPtr run(const CallContext& context, std::span<const ValuesPtr> arguments) const override {
    std::vector<ValuesPtr> values;
    for (std::size_t i = 0; i < 2; ++i) {
      const bool is_one_text = !lists_[i] && arguments[i]->constant;
      values.push_back(is_one_text ? arguments[i] : spread(arguments[i], context.memory));
    }
    if (aligns_) align_optionals(values, context.rows.size, context.memory);
    if (lists_[0] && lists_[1]) check_sizes(context, values[0]->offsets, values[1]->offsets);
    const Values& list = *values[lists_[0] ? 0 : 1];
    const std::int64_t* offsets = list.offsets;
    const std::size_t rows = context.rows.size;
    const auto items = static_cast<std::size_t>(offsets[rows]);
    auto [out, memory] = context.memory.array<bool>(std::max<std::size_t>(items, 1));
    const Strings left(lists_[0] ? values[0]->items() : *values[0]);
    const Strings right(lists_[1] ? values[1]->items() : *values[1]);
    const bool has_places_of_items = (lists_[0] || left.is_constant()) && (lists_[1] || right.is_constant());
    const auto begin = static_cast<std::size_t>(offsets[0]);
    const bool done = has_places_of_items && compare_with_one(comparison_, left, right, begin, items, out);
    for (std::size_t row = 0; row < rows && !done; ++row) {
      const auto end = static_cast<std::size_t>(offsets[row + 1]);
      for (auto item = static_cast<std::size_t>(offsets[row]); item < end; ++item)
        out[item] = comparison_.test(left[lists_[0] ? item : row], right[lists_[1] ? item : row]);
    }
    return make_result(list, make_scalars(ElementType::boolean, items, out, std::move(memory)));
  }

 private:
  ValuesPtr make_result(const Values& list, ValuesPtr items) const {
    auto result = std::make_shared<Values>();
    result->type = result_;
    result->size = list.size;
    result->offsets = list.offsets;
    result->owners = list.owners;
    result->children.push_back(std::move(items));
    return result;
  }

  static void check_sizes(const CallContext& context, const std::int64_t* a, const std::int64_t* b) {
    for (std::size_t row = 0; row < context.rows.size; ++row)
      if (a[row + 1] != b[row + 1])
        throw Error(ErrorKind::usage,
                    fmt::format("lists of {} and {} strings cannot be compared item by item, in entry {}",
                                a[row + 1] - a[row], b[row + 1] - b[row], context.rows.entry(row)),
                    "leave such entries out with a filter");
  }

  const Comparison& comparison_;
  std::array<bool, 2> lists_;
  bool aligns_;  // both are optionals
  ValueType result_;
};

bool has_character(const Call& call) {
  return std::ranges::any_of(call.arguments, [](const Argument& argument) {
    return argument.type.is_scalar() && argument.type.element() == ElementType::character;
  });
}

}  // namespace

Bound string_comparison(const Call& call) {
  if (call.arguments.size() != 2) return {nullptr, "compares two strings"};
  const ValueType& left = call.arguments[0].type;
  const ValueType& right = call.arguments[1].type;
  for (const Comparison& comparison : comparisons) {
    if (comparison.name != call.name) continue;
    const auto is_text = [](const ValueType& type) {
      return type.is_string() || (type.is_list() && type.item().is_string());
    };
    if (!is_text(left) || !is_text(right))
      return {nullptr,
              fmt::format("compares strings with strings, got {} and {}{}", left.name(), right.name(),
                          has_character(call) ? "; strings stand in double quotes" : "")};
    if (!left.is_list() && !right.is_list()) return {std::make_shared<ScalarComparison>(comparison), {}};
    std::string why_not = why_not_combined(std::array{left, right});
    if (!why_not.empty()) return {nullptr, std::move(why_not)};
    const bool of_optionals =
        (left.is_optional() || !left.is_list()) && (right.is_optional() || !right.is_list());
    const std::array lists{left.is_list(), right.is_list()};
    return {std::make_shared<ListComparison>(comparison, lists, of_optionals,
                                             have_optionals_to_align(std::array{left, right})),
            {}};
  }
  return {nullptr, "is not defined for strings"};
}

}  // namespace colonnade::frame
