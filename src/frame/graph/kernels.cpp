// See kernels.h.
#include "frame/graph/kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <type_traits>
#include <utility>

#include "colonnade/error.h"
#include "frame/results/element_visit.h"
#include "frame/values/values.h"

namespace colonnade::frame {

namespace {

class SampleFlag final : public Kernel {
 public:
  explicit SampleFlag(std::vector<bool> of_sample) : of_sample_(std::move(of_sample)) {}

  ValuesPtr run(const CallContext& context, std::span<const ValuesPtr> /*arguments*/) const override {
    return make_constant<bool>(context.rows.size, of_sample_.at(context.sample));
  }
  const ValueType& result() const noexcept override { return result_; }
  std::string key() const override {
    std::string key = "samples ";
    for (const bool flag : of_sample_) key += flag ? '1' : '0';
    return key;
  }
  bool foldable() const noexcept override { return false; }

 private:
  std::vector<bool> of_sample_;
  ValueType result_ = ElementType::boolean;
};

class VariedItem final : public Kernel {
 public:
  VariedItem(const ValueType& list, std::size_t index, std::size_t count)
      : result_(list.item()), index_(index), count_(count) {}

  ValuesPtr run(const CallContext& context, std::span<const ValuesPtr> arguments) const override {
    const Values& lists = *arguments[0];
    auto [indices, memory] = context.memory.array<std::int64_t>(lists.size);
    for (std::size_t row = 0; row < lists.size; ++row) {
      const std::size_t stored = lists.constant ? 0 : row;
      const std::int64_t begin = lists.offsets[stored], end = lists.offsets[stored + 1];
      if (static_cast<std::size_t>(end - begin) != count_) fail(context.rows.entry(row), end - begin);
      indices[row] = begin + static_cast<std::int64_t>(index_);
    }
    return gather(lists.children.front(), std::span<const std::int64_t>(indices, lists.size), context.memory);
  }
  const ValueType& result() const noexcept override { return result_; }
  std::string key() const override { return fmt::format("varied item {} of {}", index_, count_); }
  bool only_where_needed() const noexcept override { return true; }

 private:
  [[noreturn]] void fail(std::uint64_t entry, std::int64_t items) const {
    throw Error(
        ErrorKind::usage,
        fmt::format("the values of a variation with {} tags have {} items in entry {}", count_, items, entry),
        "give one item per tag");
  }
  ValueType result_;
  std::size_t index_, count_;
};

template <class T, class F>
bool has_number(F value) {
  if constexpr (std::is_floating_point_v<T>) {
    return true;
  } else if constexpr (std::is_floating_point_v<F>) {
    return std::trunc(value) == value && value >= static_cast<F>(std::numeric_limits<T>::min()) &&
           value < std::ldexp(F(1), std::numeric_limits<T>::digits);
  } else {
    return std::in_range<T>(value);
  }
}

// The row of an innermost value.
std::size_t row_of(const Values& values, std::size_t place) {
  if (!values.type.is_list()) return place;
  const auto item = static_cast<std::int64_t>(row_of(values.items(), place));
  const std::int64_t* const after = values.offsets + values.stored() + 1;
  return static_cast<std::size_t>(std::upper_bound(values.offsets, after, item) - values.offsets) - 1;
}

class Fitting final : public Kernel {
 public:
  Fitting(ValueType from, ValueType to, std::string column, std::string variation, std::string advice)
      : from_(std::move(from)),
        to_(std::move(to)),
        column_(std::move(column)),
        variation_(std::move(variation)),
        advice_(std::move(advice)) {}

  ValuesPtr run(const CallContext& context, std::span<const ValuesPtr> arguments) const override {
    const Values* numbers = arguments[0].get();
    while (numbers->type.is_list()) numbers = &numbers->items();
    if (const auto place = first_misfit(*numbers, to_.innermost().element()))
      throw Error(ErrorKind::type,
                  fmt::format("{} is not a {}, the type of '{}', in entry {} of the variation {}",
                              text_of(*numbers, *place), to_.innermost().name(), column_,
                              context.rows.entry(row_of(*arguments[0], *place)), variation_),
                  advice_);
    return arguments[0];
  }
  const ValueType& result() const noexcept override { return from_; }
  std::string key() const override {
    return fmt::format("fitting {} in {} of {}", to_.name(), column_, variation_);
  }
  bool only_where_needed() const noexcept override { return true; }

 private:
  ValueType from_, to_;
  std::string column_, variation_, advice_;
};

class OptionalOf final : public Kernel {
 public:
  explicit OptionalOf(ValueType type) : result_(std::move(type)) {}

  ValuesPtr run(const CallContext& context, std::span<const ValuesPtr> arguments) const override {
    const std::size_t rows = context.rows.size;
    auto [offsets, memory] = context.memory.array<std::int64_t>(rows + 1);
    std::iota(offsets, offsets + rows + 1, std::int64_t{0});
    return as_type(make_list(rows, offsets, spread(arguments[0], context.memory), std::move(memory)),
                   result_);
  }
  const ValueType& result() const noexcept override { return result_; }
  std::string key() const override { return "optional of"; }

 private:
  ValueType result_;
};

}  // namespace

std::optional<std::size_t> first_misfit(const Values& numbers, ElementType type) {
  return visit_element(numbers.type.element(), [&]<class F>(std::type_identity<F>) {
    const std::span<const F> all(numbers.as<F>(), numbers.stored());
    const auto place = [&](auto fits) -> std::optional<std::size_t> {
      const auto found = std::ranges::find_if_not(all, fits);
      if (found == all.end()) return std::nullopt;
      return static_cast<std::size_t>(found - all.begin());
    };
    if (type == ElementType::boolean) return place([](F value) { return value == F(0) || value == F(1); });
    return visit_element(type, [&]<class T>(std::type_identity<T>) { return place(has_number<T, F>); });
  });
}

KernelPtr fitting(ValueType from, ValueType to, std::string column, std::string variation,
                  std::string advice) {
  return std::make_shared<Fitting>(std::move(from), std::move(to), std::move(column), std::move(variation),
                                   std::move(advice));
}

KernelPtr sample_flag(std::vector<bool> of_sample) {
  return std::make_shared<SampleFlag>(std::move(of_sample));
}

KernelPtr optional_of(const ValueType& type) {
  return std::make_shared<OptionalOf>(type);
}

KernelPtr varied_item(const ValueType& list, std::size_t index, std::size_t count) {
  return std::make_shared<VariedItem>(list, index, count);
}

}  // namespace colonnade::frame
