// Vectors in the plane: TVector2, a record { fX, fY }, with the formulas of ROOT's class. See physics.h.
#include <fmt/format.h>

#include <numbers>

#include "frame/functions/physics.h"
#include "frame/functions/physics_vectors.h"

namespace colonnade::frame {
namespace {

using Arguments = std::span<const ValuesPtr>;
using Number = Batch<double>;

constexpr double pi = std::numbers::pi;

struct Plane {
  Number x, y;
};

Number dot(const Plane& v, const Plane& w) {
  return v.x * w.x + v.y * w.y;
}
Number square(const Plane& v) {
  return dot(v, v);
}
Plane scaled(const Plane& v, const Number& by) {
  return {v.x * by, v.y * by};
}
Plane over_number(const Plane& v, const Number& by) {
  return {v.x / by, v.y / by};
}

// From 0 to 2 pi; pi of no length.
Number angle(const Plane& v) {
  const Number x = -v.x;
  const Number y = -v.y;
  const auto on_axis = [](double along) { return along == 0 ? 0. : along > 0 ? pi / 2 : -pi / 2; };
  return pi + select(x == 0, over(on_axis, y), atan2(y, x));
}
Number angle_between(const Plane& v, const Plane& w) {
  const auto turned = [](double phi) {
    if (phi >= pi) return phi - 2 * pi;
    return phi < -pi ? phi + 2 * pi : phi;
  };
  return over(turned, angle(v) - angle(w));
}
Plane unit(const Plane& v) {
  const Number length = sqrt(square(v));
  const Plane shorter = over_number(v, length);
  return {select(length == 0, 0., shorter.x), select(length == 0, 0., shorter.y)};
}
Plane projection(const Plane& v, const Plane& w) {
  return scaled(w, dot(v, w) / square(w));
}
Plane across(const Plane& v, const Plane& w) {
  const Plane along = projection(v, w);
  return {v.x - along.x, v.y - along.y};
}
Plane turned(const Plane& v, const Number& by) {
  return {v.x * cos(by) - v.y * sin(by), v.x * sin(by) + v.y * cos(by)};
}

// ---- Calls

const ValueType& plane_type() {
  static const ValueType type =
      ValueType::record("TVector2", {{"fX", ElementType::float64}, {"fY", ElementType::float64}});
  return type;
}

// The arguments of a call, as numbers of a batch.
class Inputs {
 public:
  Inputs(BlockMemory& memory, const Flat& flat) {
    for (const ValuesPtr& argument : flat.arguments) {
      const Arrays parts = argument->type.is_record() ? coordinates_of(*argument) : Arrays{argument};
      for (const ValuesPtr& part : parts) arrays_.push_back(as_scalar(memory, part, ElementType::float64));
    }
  }
  Inputs at(std::size_t begin, std::size_t count) const {
    Inputs part = *this;
    part.begin_ = begin;
    part.count_ = count;
    return part;
  }
  template <class T>
  T next() {
    if constexpr (std::is_same_v<T, Plane>) {
      const Number x = next<Number>();
      return {x, next<Number>()};
    } else {
      const Values& array = *arrays_.at(taken_++);
      return {count_, array.as<double>() + (array.constant ? 0 : begin_), array.constant ? 0U : 1U};
    }
  }

 private:
  Arrays arrays_;
  std::size_t begin_ = 0, count_ = 0, taken_ = 0;
};

// Calls the formula with batches of its arguments, each a Plane or a Number.
template <class R, class... A>
Bound bind_formula(const Call& call, std::string key, R (*formula)(const A&...)) {
  constexpr std::array<bool, sizeof...(A)> are_vectors = {std::is_same_v<A, Plane>...};
  if (call.arguments.size() != are_vectors.size())
    return {nullptr, fmt::format("takes {} argument{}, got {}", are_vectors.size(),
                                 are_vectors.size() == 1 ? "" : "s", call.arguments.size())};
  std::vector<KernelPtr> conversions;
  for (std::size_t i = 0; i < are_vectors.size(); ++i) {
    const ValueType& given = call.arguments[i].type;
    if (are_vectors[i] ? !is_plane_vector(given.innermost()) : !lists::is_number(given.innermost()))
      return {nullptr, fmt::format("needs a {} as argument {}, got {}",
                                   are_vectors[i] ? "TVector2" : "number", i + 1, given.name())};
    conversions.push_back(are_vectors[i] ? nullptr
                                         : lists::convert(given, given.with_innermost(ElementType::float64)));
  }
  if (auto text = misshape(call); !text.empty()) return {nullptr, std::move(text)};
  constexpr bool is_vector = std::is_same_v<R, Plane>;
  const ValueType result = is_vector ? plane_type() : ElementType::float64;
  const auto body = [formula](const CallContext& context, Arguments arguments) {
    const Flat flat = flatten(context, arguments, "a vector in the plane");
    const Inputs inputs(context.memory, flat);
    constexpr std::size_t size = is_vector ? 2 : 1;
    std::array<double*, size> data{};
    std::array<std::shared_ptr<void>, size> owners;
    for (std::size_t k = 0; k < size; ++k)
      std::tie(data[k], owners[k]) = context.memory.array<double>(flat.count);
    for_batches(flat.count, [&](std::size_t begin, std::size_t count) {
      Inputs part = inputs.at(begin, count);
      const std::tuple<A...> in{part.next<A>()...};
      const R out = std::apply(formula, in);
      if constexpr (is_vector) {
        std::copy_n(out.x.data(), count, data[0] + begin);
        std::copy_n(out.y.data(), count, data[1] + begin);
      } else {
        std::copy_n(out.data(), count, data[0] + begin);
      }
    });
    Arrays arrays;
    for (std::size_t k = 0; k < size; ++k)
      arrays.push_back(make_scalars(ElementType::float64, flat.count, data[k], std::move(owners[k])));
    return flat.wrap(is_vector ? make_vectors(plane_type(), flat.count, arrays) : arrays.front());
  };
  return lists::make_bound({std::move(key), wrapped_type(call, result), std::move(conversions), body, true});
}

Plane made(const Number& x, const Number& y) {
  return {x, y};
}
Plane same(const Plane& v) {
  return v;
}

Bound bind_constructor(const Call& call) {
  if (call.arguments.empty())
    return lists::make_bound({"TVector2", plane_type(), {}, [](const CallContext& context, Arguments) {
                                const auto zero = make_constant<double>(context.rows.size, 0);
                                return make_vectors(plane_type(), context.rows.size, {zero, zero});
                              }});
  if (call.arguments.size() == 1) return bind_formula(call, "TVector2", same);
  return bind_formula(call, "TVector2", made);
}

Bound bind_difference(const Call& call, bool minus) {
  constexpr Plane (*sum)(const Plane&, const Plane&) = [](const Plane& v, const Plane& w) {
    return Plane{v.x + w.x, v.y + w.y};
  };
  constexpr Plane (*difference)(const Plane&, const Plane&) = [](const Plane& v, const Plane& w) {
    return Plane{v.x - w.x, v.y - w.y};
  };
  return bind_formula(call, minus ? "TVector2 -" : "TVector2 +", minus ? difference : sum);
}

}  // namespace

bool is_plane_vector(const ValueType& type) {
  return type.is_record() && type.class_name() == "TVector2";
}

bool has_plane_vectors(const Call& call) {
  return std::ranges::any_of(call.arguments,
                             [](const Argument& a) { return is_plane_vector(a.type.innermost()); });
}

Bound plane_operator(const Call& call) {
  const std::string_view name = call.name;
  const bool first = is_plane_vector(call.arguments.front().type.innermost());
  if (call.arguments.size() == 1) {
    if (name == "unary+") return bind_formula(call, "TVector2", same);
    if (name == "unary-")
      return bind_formula(call, "TVector2 negative", +[](const Plane& v) { return Plane{-v.x, -v.y}; });
  } else if (name == "operator+" || name == "operator-") {
    return bind_difference(call, name == "operator-");
  } else if (name == "operator*" && first && is_plane_vector(call.arguments[1].type.innermost())) {
    return bind_formula(call, "TVector2 dot", dot);
  } else if (name == "operator*" && first) {
    return bind_formula(call, "TVector2 *", scaled);
  } else if (name == "operator*") {
    return bind_formula(call, "* TVector2", +[](const Number& by, const Plane& v) { return scaled(v, by); });
  } else if (name == "operator/") {
    return bind_formula(call, "TVector2 /", over_number);
  }
  return {nullptr, "is not defined for TVector2"};
}

Bound plane_method(const Call& call, std::string_view name) {
  const std::string key = fmt::format("TVector2{}", name);
  if (name == ".X" || name == ".Px") return bind_formula(call, key, +[](const Plane& v) { return v.x; });
  if (name == ".Y" || name == ".Py") return bind_formula(call, key, +[](const Plane& v) { return v.y; });
  if (name == ".Mod2") return bind_formula(call, key, square);
  if (name == ".Mod") return bind_formula(call, key, +[](const Plane& v) { return sqrt(square(v)); });
  if (name == ".Phi") return bind_formula(call, key, angle);
  if (name == ".DeltaPhi") return bind_formula(call, key, angle_between);
  if (name == ".Unit" || name == ".Ort") return bind_formula(call, key, unit);
  if (name == ".Proj") return bind_formula(call, key, projection);
  if (name == ".Norm") return bind_formula(call, key, across);
  if (name == ".Rotate") return bind_formula(call, key, turned);
  return {nullptr, "TVector2 has no such member"};
}

KernelPtr plane_conversion(const ValueType& from, const ValueType& to) {
  if (!is_plane_vector(from) || to != plane_type()) return nullptr;
  const Argument argument{from, nullptr};
  return bind_formula({"convert", {}, std::span(&argument, 1)}, "TVector2", same).kernel;
}

std::vector<Function> plane_functions() {
  std::vector<Function> all;
  all.push_back({"TVector2", "TVector2(x, y)", bind_constructor});
  for (const std::string name : {".Mod", ".Mod2", ".Proj", ".Norm", ".Ort", ".Rotate"})
    all.push_back({name, fmt::format("TVector2{}()", name),
                   [name](const Call& call) { return plane_method(call, name); }});
  return all;
}

const ValueType& plane_vector() {
  return plane_type();
}

}  // namespace colonnade::frame
