// Operators on vectors, and sums of lists of them. See physics_vectors.h.
#include <fmt/format.h>

#include "frame/functions/physics.h"
#include "frame/functions/physics_vectors.h"

namespace colonnade::frame {
namespace {

using Arguments = std::span<const ValuesPtr>;
using lists::make_bound;

Bound why_not(std::string text) {
  return {nullptr, std::move(text)};
}

std::optional<VectorType> vector_argument(const Call& call, std::size_t i) {
  return i < call.arguments.size() ? vector_type(call.arguments[i].type.innermost()) : std::nullopt;
}

// ---- Operators

// The sum of two arrays, or their difference.
ValuesPtr added(BlockMemory& memory, std::size_t count, const ValuesPtr& a, const ValuesPtr& b, bool minus) {
  return with_scalar(a->type.element(), [&]<class S>() {
    return minus ? map_arrays<S, S, 2>(memory, count, {a, b}, [](S x, S y) { return x - y; })
                 : map_arrays<S, S, 2>(memory, count, {a, b}, [](S x, S y) { return x + y; });
  });
}

// The class is that of the left side; float plus double gives double.
Bound bind_addition(const Call& call, bool minus) {
  const auto left = *vector_argument(call, 0);
  const auto right = *vector_argument(call, 1);
  if (left.size() != right.size()) return why_not("needs two four-vectors or two vectors in space");
  const ValueType type = call.arguments[0].type.innermost();
  const ElementType common = lists::common_item(left.scalar, right.scalar);
  const auto body = [=](const CallContext& context, Arguments arguments) {
    BlockMemory& memory = context.memory;
    const Flat flat = flatten(context, arguments, minus ? "a difference" : "a sum");
    const Arrays a = cartesian_of(memory, left, *flat.arguments[0]);
    const Arrays b = cartesian_of(memory, right, *flat.arguments[1]);
    Arrays sums;
    for (std::size_t k = 0; k < a.size(); ++k)
      sums.push_back(as_scalar(
          memory,
          added(memory, flat.count, as_scalar(memory, a[k], common), as_scalar(memory, b[k], common), minus),
          left.scalar));
    return flat.wrap(
        make_vectors(type, flat.count, from_cartesian(memory, left, flat.count, std::move(sums))));
  };
  return make_bound({minus ? "operator-" : "operator+", wrapped_type(call, type), {}, body, true});
}

Arrays scaled(BlockMemory& memory, const VectorType& vector, const Values& vectors, const ValuesPtr& factors,
              bool inverse, std::size_t count) {
  return with_vector(vector, [&]<class V>() {
    using S = typename V::Scalar;
    const S* factor = factors->as<S>();
    const std::size_t step = factors->constant ? 0 : 1;
    const Reader<V> in(coordinates_of(vectors));
    ComponentWriter<V> out(memory, count);
    for_batches(count, [&](std::size_t begin, std::size_t size) {
      const Batch<S> by(size, factor + begin * step, step);
      V v = in.vectors(begin, size);
      v.scale(inverse ? S(1) / by : by);
      out.put(begin, v);
    });
    return out.take();
  });
}

// vector * number, number * vector, vector / number
Bound bind_scaling(const Call& call, std::size_t vector_at, bool inverse) {
  const auto vector = *vector_argument(call, vector_at);
  const auto& number = call.arguments[1 - vector_at].type;
  if (!lists::is_number(number.innermost()))
    return why_not(fmt::format("needs a number, got {}", number.name()));
  const ValueType type = call.arguments[vector_at].type.innermost();
  std::vector<KernelPtr> conversions(2);
  conversions[1 - vector_at] = lists::convert(number, number.with_innermost(vector.scalar));
  const auto body = [=](const CallContext& context, Arguments arguments) {
    const Flat flat = flatten(context, arguments, "a product");
    return flat.wrap(make_vectors(type, flat.count,
                                  scaled(context.memory, vector, *flat.arguments[vector_at],
                                         flat.arguments[1 - vector_at], inverse, flat.count)));
  };
  return make_bound(
      {inverse ? "operator/" : "operator*", wrapped_type(call, type), std::move(conversions), body, true});
}

Bound bind_sign(const Call& call, bool minus) {
  const auto vector = *vector_argument(call, 0);
  const ValueType type = call.arguments[0].type.innermost();
  const auto body = [=](const CallContext& context, Arguments arguments) {
    if (!minus) return arguments[0];
    const Flat flat = flatten(context, arguments, "a vector");
    const auto factor = with_scalar(
        vector.scalar, [&]<class S>() { return make_constant<S>(flat.count, static_cast<S>(-1)); });
    return flat.wrap(make_vectors(
        type, flat.count, scaled(context.memory, vector, *flat.arguments[0], factor, false, flat.count)));
  };
  return make_bound({minus ? "unary-" : "unary+", call.arguments[0].type, {}, body});
}

Bound bind_equality(const Call& call, bool equal) {
  const auto vector = *vector_argument(call, 0);
  if (call.arguments[0].type.innermost() != call.arguments[1].type.innermost())
    return why_not("needs two vectors of one class");
  const auto body = [=](const CallContext& context, Arguments arguments) {
    const Flat flat = flatten(context, arguments, "a comparison");
    auto [out, owner] = context.memory.array<bool>(flat.count);
    with_vector(vector, [&, results = out]<class V>() {
      const Reader<V> a(coordinates_of(*flat.arguments[0]));
      const Reader<V> b(coordinates_of(*flat.arguments[1]));
      for (std::size_t i = 0; i < flat.count; ++i) {
        bool same = true;
        for (std::size_t k = 0; k < V::size; ++k) same = same && a.get(k, i) == b.get(k, i);
        results[i] = same == equal;
      }
    });
    return flat.wrap(make_scalars(ElementType::boolean, flat.count, out, std::move(owner)));
  };
  return make_bound(
      {equal ? "operator==" : "operator!=", wrapped_type(call, ElementType::boolean), {}, body, true});
}

// ---- Sums over lists

// Adds to the vectors of some rows the items at `places`.
template <class V>
V plus(const V& v, const std::array<const typename V::Scalar*, 4>& items, const Batch<std::size_t>& places) {
  using S = typename V::Scalar;
  const auto item = [&](std::size_t k) {
    return over([&](std::size_t place) { return items[k][place]; }, places);
  };
  if constexpr (V::size == 4) {
    return V::from_cartesian(v.px() + item(0), v.py() + item(1), v.pz() + item(2), v.e() + item(3));
  } else {
    return V::from_cartesian(v.px() + item(0), v.py() + item(1), v.pz() + item(2), Batch<S>(places.count()));
  }
}

// Adds the items of `count` rows from `first` on to the vectors of these rows: the first item of each, then
// the second one of those that have it, and so on.
template <class V>
void add_items(const lists::ListView& lists, const std::array<const typename V::Scalar*, 4>& items,
               const ComponentWriter<V>& sums, std::size_t first, std::size_t count) {
  using S = typename V::Scalar;
  Batch<std::size_t> rows(count);
  for (std::size_t i = 0; i < count; ++i) rows[i] = first + i;
  for (std::size_t step = 0;; ++step) {
    std::size_t left = 0;
    for (std::size_t i = 0; i < rows.count(); ++i)
      if (step < lists.count(rows[i])) rows[left++] = rows[i];
    if (left == 0) return;
    rows = Batch<std::size_t>(left, rows.data(), 1);
    const auto places =
        over([&](std::size_t row) { return static_cast<std::size_t>(lists.begin(row)) + step; }, rows);
    const auto before = [&](std::size_t k) {
      return over([&](std::size_t row) { return sums.data(k)[row]; }, rows);
    };
    const auto sum = [&] {
      if constexpr (V::size == 4)
        return plus(V{{before(0), before(1), before(2)}, before(3)}, items, places);
      else
        return plus(V{{before(0), before(1), before(2)}}, items, places);
    }();
    const std::array<const Batch<S>*, V::size> coordinates = sum.coordinates();
    for (std::size_t k = 0; k < V::size; ++k)
      for (std::size_t i = 0; i < left; ++i) sums.data(k)[rows[i]] = (*coordinates[k])[i];
  }
}

// From left to right in the coordinates of the vectors, like ROOT::VecOps::Sum. `start` may be null.
ValuesPtr sum_vectors(const CallContext& context, const ValuesPtr& list, const Values* start,
                      const ValueType& type, bool mean) {
  const auto vector = *vector_type(type);
  const lists::ListView view(*list);
  const auto items = lists::dense_items(*list, context.memory);
  const Arrays cartesian = cartesian_of(context.memory, vector, *items);
  auto arrays = with_vector(vector, [&]<class V>() {
    using S = typename V::Scalar;
    const auto zero = start == nullptr ? make_zero(type, context.rows.size) : nullptr;
    const Reader<V> begin(coordinates_of(start == nullptr ? *zero : *start));
    const std::array<const S*, 4> in = {cartesian[0]->as<S>(), cartesian[1]->as<S>(), cartesian[2]->as<S>(),
                                        cartesian.back()->as<S>()};
    ComponentWriter<V> out(context.memory, context.rows.size);
    for_batches(context.rows.size, [&](std::size_t first, std::size_t count) {
      out.put(first, begin.vectors(first, count));
      add_items<V>(view, in, out, first, count);
      if (!mean) return;
      Batch<S> factors(count);
      for (std::size_t i = 0; i < count; ++i)
        factors[i] = view.count(first + i) == 0 ? S(1) : 1 / static_cast<S>(view.count(first + i));
      V sum = out.vectors(first, count);
      sum.scale(factors);
      out.put(first, sum);
    });
    return out.take();
  });
  return make_vectors(type, context.rows.size, arrays);
}

Bound bind_vector_sum(const Call& call, bool mean) {
  const ValueType& type = call.arguments[0].type.item();
  const char* name = mean ? "Mean" : "Sum";
  if (!vector_type(type))
    return why_not(fmt::format("needs a list of numbers or vectors, got {}", call.arguments[0].type.name()));
  if (call.arguments.size() == 2 && vector_argument(call, 1).has_value() &&
      call.arguments[1].type.is_record() && call.arguments[1].type != type) {
    const auto a = *vector_type(type);
    const auto b = *vector_type(call.arguments[1].type);
    if (a.system != b.system || a.scalar != b.scalar)
      return why_not(fmt::format("needs a start value of the items' class {}, got {}", type.name(),
                                 call.arguments[1].type.name()));
  } else if (call.arguments.size() == 2 && call.arguments[1].type != type) {
    return why_not(fmt::format("needs a start value of the items' class {}, got {}", type.name(),
                               call.arguments[1].type.name()));
  }
  const auto body = [type, mean](const CallContext& context, Arguments arguments) {
    return sum_vectors(context, arguments[0], arguments.size() > 1 ? arguments[1].get() : nullptr, type,
                       mean);
  };
  return make_bound({name, type, {}, body});
}

}  // namespace

Bound vector_sum(const Call& call) {
  return bind_vector_sum(call, false);
}

Bound vector_mean(const Call& call) {
  return bind_vector_sum(call, true);
}

Bound record_operator(const Call& call) {
  if (auto text = misshape(call); !text.empty()) return why_not(std::move(text));
  if (has_plane_vectors(call)) return plane_operator(call);
  if (call.name == "operator*" && is_boost(call.arguments[0].type)) {
    Bound boost = vector_boost({call.name, {}, std::array{call.arguments[1], call.arguments[0]}});
    if (boost.kernel == nullptr) return boost;
    const auto body = [kernel = boost.kernel](const CallContext& context, Arguments arguments) {
      return kernel->run(context, std::array{arguments[1], arguments[0]});
    };
    return make_bound({"boost *", boost.kernel->result(), {}, body});
  }
  const bool left = vector_argument(call, 0).has_value();
  const bool right = vector_argument(call, 1).has_value();
  if (call.arguments.size() == 1 && left && (call.name == "unary-" || call.name == "unary+"))
    return bind_sign(call, call.name == "unary-");
  if (left && right) {
    if (call.name == "operator+" || call.name == "operator-")
      return bind_addition(call, call.name == "operator-");
    if (call.name == "operator*") return vector_dot(call);
    if (call.name == "operator==" || call.name == "operator!=")
      return bind_equality(call, call.name == "operator==");
  } else if (call.arguments.size() == 2) {
    if (call.name == "operator*" && (left || right)) return bind_scaling(call, left ? 0 : 1, false);
    if (call.name == "operator/" && left) return bind_scaling(call, 0, true);
  }
  std::string types;
  for (const auto& argument : call.arguments) types += (types.empty() ? "" : " and ") + argument.type.name();
  return why_not(fmt::format("is not defined for {}", types));
}

}  // namespace colonnade::frame
