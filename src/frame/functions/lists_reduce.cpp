// One value per list: Sum, Product, Mean, Var, StdDev, Min, Max, ArgMin, ArgMax, Any, All, Dot.
//
// Sums go from left to right in the type of the items, as in ROOT::VecOps, so that results agree to the last
// bit.
#include <fmt/format.h>

#include <cmath>

#include "frame/functions/lists.h"
#include "frame/functions/physics.h"

namespace colonnade::frame::lists {
namespace {

// C++'s arithmetic in type T, but overflow is modulo 2^n.
template <class T>
T add(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    return a + b;
  } else {
    return static_cast<T>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
  }
}
template <class T>
T multiply(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    return a * b;
  } else {
    return static_cast<T>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
  }
}

// ---- The functions, of one list

template <class T>
using SumType = std::conditional_t<std::is_same_v<T, bool>, std::int32_t, T>;

struct Sum {
  template <class T>
  static SumType<T> of(const T* items, std::size_t count, SumType<T> start = 0) {
    SumType<T> sum = start;
    for (std::size_t i = 0; i < count; ++i) sum = add<SumType<T>>(sum, items[i]);
    return sum;
  }
};
struct Product {
  template <class T>
  static SumType<T> of(const T* items, std::size_t count, SumType<T> start = 1) {
    SumType<T> product = start;
    for (std::size_t i = 0; i < count; ++i) product = multiply<SumType<T>>(product, items[i]);
    return product;
  }
};
struct Mean {
  template <class T>
  static double of(const T* items, std::size_t count) {
    if (count == 0) return 0;
    return static_cast<double>(Sum::of(items, count)) / static_cast<double>(count);
  }
};
// The mean in the type of the items; `start` for an empty list, otherwise added.
struct MeanFrom {
  template <class T>
  static T of(const T* items, std::size_t count, T start) {
    if constexpr (std::is_floating_point_v<T>)
      if (count > 0) return Sum::of(items, count, start) / static_cast<T>(count);
    return start;
  }
};
struct Var {
  template <class T>
  static double of(const T* items, std::size_t count) {
    if (count < 2) return 0;
    SumType<T> sum_of_squares = 0;
    SumType<T> sum = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const SumType<T> item = items[i];
      sum_of_squares = add(sum_of_squares, multiply(item, item));
      sum = add(sum, item);
    }
    const auto size = static_cast<double>(count);
    const auto square = static_cast<double>(multiply(sum, sum));
    return 1. / (size - 1.) * (static_cast<double>(sum_of_squares) - square / size);
  }
};
struct StdDev {
  template <class T>
  static double of(const T* items, std::size_t count) {
    return std::sqrt(Var::of(items, count));
  }
};
struct ArgMax {
  template <class T>
  static std::uint64_t of(const T* items, std::size_t count) {
    std::size_t best = 0;
    for (std::size_t i = 1; i < count; ++i)
      if (items[best] < items[i]) best = i;
    return best;
  }
};
struct ArgMin {
  template <class T>
  static std::uint64_t of(const T* items, std::size_t count) {
    std::size_t best = 0;
    for (std::size_t i = 1; i < count; ++i)
      if (items[i] < items[best]) best = i;
    return best;
  }
};
struct Max {
  template <class T>
  static SumType<T> of(const T* items, std::size_t count) {
    T best = items[0];
    for (std::size_t i = 1; i < count; ++i)
      if (best < items[i]) best = items[i];
    return best;
  }
};
struct Min {
  template <class T>
  static SumType<T> of(const T* items, std::size_t count) {
    T best = items[0];
    for (std::size_t i = 1; i < count; ++i)
      if (items[i] < best) best = items[i];
    return best;
  }
};
struct Any {
  template <class T>
  static bool of(const T* items, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i)
      if (items[i] != 0) return true;
    return false;
  }
};
struct All {
  template <class T>
  static bool of(const T* items, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i)
      if (items[i] == 0) return false;
    return true;
  }
};

// ---- Kernels

// Items keep their type (char stays char); everything else has the type that C++ gives it.
template <class T, class R>
ElementType result_element(ElementType item) {
  if constexpr (std::is_same_v<R, T>) {
    return item;
  } else {
    return element_of<R>();
  }
}

void require_items(const CallContext& context, const ListView& view, const std::string& name) {
  for (std::size_t row = 0; row < context.rows.size; ++row)
    if (view.count(row) == 0)
      fail_at(context, row, fmt::format("{} of an empty list", name), "filter on the size of the list first");
}

template <class Reduction>
Bound bind_reduction(const char* name, const ValueType& list, bool needs_items = false) {
  return with_number(list.item().element(), [&]<class T>() {
    using R = decltype(Reduction::of(static_cast<const T*>(nullptr), std::size_t{0}));
    const ElementType result = result_element<T, R>(list.item().element());
    auto body = [=](const CallContext& context, std::span<const ValuesPtr> arguments) {
      const ListView view(*arguments[0]);
      if (needs_items) require_items(context, view, name);
      const auto items = dense_items(*arguments[0], context.memory);
      auto [out, owner] = context.memory.array<R>(context.rows.size);
      const T* data = items->template as<T>();
      for (std::size_t row = 0; row < context.rows.size; ++row)
        out[row] = Reduction::of(data + view.begin(row), view.count(row));
      return make_scalars(result, context.rows.size, out, std::move(owner));
    };
    return make_bound({name, result, {}, std::move(body), needs_items});
  });
}

// With a start value, which is converted to the type of the result.
template <class Reduction>
Bound bind_reduction_from(const char* name, const Call& call) {
  const auto& list = call.arguments[0].type;
  return with_number(list.item().element(), [&]<class T>() {
    using R = decltype(Reduction::of(static_cast<const T*>(nullptr), std::size_t{0}, {}));
    const ElementType result = result_element<T, R>(list.item().element());
    auto body = [=](const CallContext& context, std::span<const ValuesPtr> arguments) {
      const ListView view(*arguments[0]);
      const ScalarView<R> start(*arguments[1]);
      const auto items = dense_items(*arguments[0], context.memory);
      auto [out, owner] = context.memory.array<R>(context.rows.size);
      const T* data = items->template as<T>();
      for (std::size_t row = 0; row < context.rows.size; ++row)
        out[row] = Reduction::of(data + view.begin(row), view.count(row), start[row]);
      return make_scalars(result, context.rows.size, out, std::move(owner));
    };
    return make_bound({name, result, {nullptr, convert(call.arguments[1].type, result)}, std::move(body)});
  });
}

template <class T>
ValuesPtr dot(const CallContext& context, std::span<const ValuesPtr> arguments) {
  const ListView a(*arguments[0]);
  const ListView b(*arguments[1]);
  require_same_sizes(context, a, b, "the lists of Dot");
  const auto a_items = dense_items(*arguments[0], context.memory);
  const auto b_items = dense_items(*arguments[1], context.memory);
  auto [out, owner] = context.memory.array<T>(context.rows.size);
  for (std::size_t row = 0; row < context.rows.size; ++row) {
    const T* x = a_items->as<T>() + a.begin(row);
    const T* y = b_items->as<T>() + b.begin(row);
    T sum = 0;
    for (std::size_t i = 0; i < a.count(row); ++i) sum = add(sum, multiply(x[i], y[i]));
    out[row] = sum;
  }
  return make_scalars(element_of<T>(), context.rows.size, out, std::move(owner));
}

Bound bind_dot(const Call& call) {
  const auto& a = call.arguments[0].type;
  const auto& b = call.arguments[1].type;
  const ElementType common = common_element(a.item().element(), b.item().element());
  const ValueType list = ValueType::list(common);
  return with_number(common, [&]<class T>() {
    return make_bound({"Dot", element_of<T>(), {convert(a, list), convert(b, list)}, dot<T>, true});
  });
}

template <class Reduction>
Function plain(const char* name, bool needs_items = false) {
  return function(name, fmt::format("{}(list)", name), "N", [name, needs_items](const Call& call) {
    return bind_reduction<Reduction>(name, call.arguments[0].type, needs_items);
  });
}

Bound bind_product(const Call& call) {
  return call.arguments.size() == 1 ? bind_reduction<Product>("Product", call.arguments[0].type)
                                    : bind_reduction_from<Product>("Product", call);
}

// Sums and means are of numbers or of vectors.
bool is_record_list(const ValueType& type) {
  return type.is_list() && type.item().is_record();
}

Bound bind_sum(const Call& call) {
  if (is_record_list(call.arguments[0].type)) return vector_sum(call);
  if (auto why_not = misfit(call, "N?n"); !why_not.empty()) return {nullptr, std::move(why_not)};
  return call.arguments.size() == 1 ? bind_reduction<Sum>("Sum", call.arguments[0].type)
                                    : bind_reduction_from<Sum>("Sum", call);
}

Bound bind_mean(const Call& call) {
  if (is_record_list(call.arguments[0].type)) return vector_mean(call);
  if (auto why_not = misfit(call, "N?n"); !why_not.empty()) return {nullptr, std::move(why_not)};
  if (call.arguments.size() == 1) return bind_reduction<Mean>("Mean", call.arguments[0].type);
  if (!call.arguments[0].type.item().is_floating())
    return {nullptr,
            fmt::format("needs a list of floating point numbers where a start value is given, got {}",
                        call.arguments[0].type.name())};
  return bind_reduction_from<MeanFrom>("Mean", call);
}

}  // namespace

std::vector<Function> reduction_functions() {
  return {
      function("Sum", "Sum(list) or Sum(list, start)", "L?*", bind_sum),
      function("Mean", "Mean(list) or Mean(list, start)", "L?*", bind_mean),
      function("Product", "Product(list) or Product(list, start)", "N?n", bind_product),
      plain<Var>("Var"),
      plain<StdDev>("StdDev"),
      plain<Min>("Min", true),
      plain<Max>("Max", true),
      plain<ArgMin>("ArgMin"),
      plain<ArgMax>("ArgMax"),
      plain<Any>("Any"),
      plain<All>("All"),
      function("Dot", "Dot(list, list)", "NN", bind_dot),
  };
}

}  // namespace colonnade::frame::lists
