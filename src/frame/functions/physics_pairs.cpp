// Functions of two vectors: ROOT::Math::VectorUtil, and the methods that take another vector.
//
// They compute in the scalar type of the first vector, like VectorUtil.
#include <fmt/format.h>

#include <algorithm>
#include <numbers>

#include "frame/functions/physics.h"
#include "frame/functions/physics_vectors.h"

namespace colonnade::frame {
namespace {

using Arguments = std::span<const ValuesPtr>;
constexpr double turn = 2.0 * std::numbers::pi;

Bound why_not(std::string text) {
  return {nullptr, std::move(text)};
}

// ---- Formulas over these members of the first vector, then of the second one

struct DeltaPhi {
  static constexpr std::array members = {Member::phi};
  template <class S>
  static S of(S phi1, S phi2) {
    const S difference = phi2 - phi1;
    if (difference > std::numbers::pi) return static_cast<S>(difference - turn);
    if (difference <= -std::numbers::pi) return static_cast<S>(difference + turn);
    return difference;
  }
};
// How far the first is from the second, as TLorentzVector has it.
struct DeltaPhiMethod {
  static constexpr std::array members = {Member::phi};
  template <class S>
  static S of(S phi1, S phi2) {
    return DeltaPhi::of(phi2, phi1);
  }
};
struct DeltaR2 {
  static constexpr std::array members = {Member::eta, Member::phi};
  template <class S>
  static S of(S eta1, S phi1, S eta2, S phi2) {
    const S dphi = DeltaPhi::of(phi1, phi2);
    const S deta = eta2 - eta1;
    return dphi * dphi + deta * deta;
  }
};
struct DeltaR {
  static constexpr std::array members = DeltaR2::members;
  template <class S>
  static S of(S eta1, S phi1, S eta2, S phi2) {
    return std::sqrt(DeltaR2::of(eta1, phi1, eta2, phi2));
  }
};
struct DeltaRapidityPhi {
  static constexpr std::array members = {Member::rapidity, Member::phi};
  template <class S>
  static S of(S y1, S phi1, S y2, S phi2) {
    return std::sqrt(DeltaR2::of(y1, phi1, y2, phi2));
  }
};
struct CosTheta {
  static constexpr std::array members = {Member::px, Member::py, Member::pz};
  template <class S>
  static double of(S x1, S y1, S z1, S x2, S y2, S z2) {
    const double square1 = x1 * x1 + y1 * y1 + z1 * z1;
    const double square2 = x2 * x2 + y2 * y2 + z2 * z2;
    const double squares = square1 * square2;
    if (squares <= 0) return 0;
    const double dot = x1 * x2 + y1 * y2 + z1 * z2;
    const double cosine = dot / std::sqrt(squares);
    if (cosine > 1.0) return 1.0;
    return cosine < -1.0 ? -1.0 : cosine;
  }
};
// The square of the component of the first vector across the second one, and that component.
struct Perp2 : CosTheta {
  template <class S>
  static double of(S x1, S y1, S z1, S x2, S y2, S z2) {
    const S square = x2 * x2 + y2 * y2 + z2 * z2;
    const S dot = x1 * x2 + y1 * y2 + z1 * z2;
    const S whole = x1 * x1 + y1 * y1 + z1 * z1;
    return square > 0 ? whole - dot * dot / square : whole;
  }
};
struct Perp : CosTheta {
  template <class S>
  static double of(S x1, S y1, S z1, S x2, S y2, S z2) {
    return std::sqrt(Perp2::of(x1, y1, z1, x2, y2, z2));
  }
};
// The arc of that cosine: see angles().
struct Angle : CosTheta {};
// The method of TVector3: 0 for a vector without a length.
struct AngleMethod : Angle {
  template <class S>
  static double of(S x1, S y1, S z1, S x2, S y2, S z2) {
    const bool has_no_length = (x1 == 0 && y1 == 0 && z1 == 0) || (x2 == 0 && y2 == 0 && z2 == 0);
    return has_no_length ? 1 : CosTheta::of(x1, y1, z1, x2, y2, z2);
  }
};
struct InvariantMass2 {
  static constexpr std::array members = {Member::px, Member::py, Member::pz, Member::e};
  template <class S>
  static S of(S x1, S y1, S z1, S e1, S x2, S y2, S z2, S e2) {
    const S e = e1 + e2;
    const S x = x1 + x2;
    const S y = y1 + y2;
    const S z = z1 + z2;
    return e * e - x * x - y * y - z * z;
  }
};
struct InvariantMass {
  static constexpr std::array members = InvariantMass2::members;
  template <class S>
  static S of(S x1, S y1, S z1, S e1, S x2, S y2, S z2, S e2) {
    const S square = InvariantMass2::of(x1, y1, z1, e1, x2, y2, z2, e2);
    return square < 0.0 ? -std::sqrt(-square) : std::sqrt(square);
  }
};
struct DotOfFour {
  static constexpr std::array members = InvariantMass2::members;
  template <class S>
  static S of(S x1, S y1, S z1, S e1, S x2, S y2, S z2, S e2) {
    return e1 * e2 - x1 * x2 - y1 * y2 - z1 * z2;
  }
};
struct DotInSpace {
  static constexpr std::array members = CosTheta::members;
  template <class S>
  static S of(S x1, S y1, S z1, S x2, S y2, S z2) {
    return x1 * x2 + y1 * y2 + z1 * z2;
  }
};
// The method of four-vectors: in double, with the opposite difference.
struct DeltaRMethod {
  static constexpr std::array members = DeltaR2::members;
  template <class S>
  static S of(S eta1, S phi1, S eta2, S phi2) {
    const double deta = eta1 - eta2;
    double dphi = phi1 - phi2;
    if (dphi > std::numbers::pi) {
      dphi -= turn * static_cast<int>(dphi / turn + 0.5);
    } else if (dphi <= -std::numbers::pi) {
      dphi += turn * static_cast<int>(0.5 - dphi / turn);
    }
    return static_cast<S>(std::sqrt(deta * deta + dphi * dphi));
  }
};

// ---- Kernels

// The two vectors of a call, or why they do not fit.
struct Pair {
  VectorType first;
  VectorType second;
  std::string why_not;
};
Pair pair_of(const Call& call) {
  Pair pair;
  if (call.arguments.size() != 2) {
    pair.why_not = fmt::format("takes two vectors, got {} arguments", call.arguments.size());
    return pair;
  }
  for (std::size_t i = 0; i < 2; ++i) {
    const auto& type = call.arguments[i].type;
    const auto vector = vector_type(type.innermost());
    if (!vector) {
      pair.why_not = fmt::format("needs a vector as argument {}, got {}", i + 1, type.name());
      return pair;
    }
    (i == 0 ? pair.first : pair.second) = *vector;
  }
  pair.why_not = misshape(call);
  return pair;
}

template <class Formula>
constexpr bool needs_energy = std::ranges::find(Formula::members, Member::e) != Formula::members.end() ||
                              std::ranges::find(Formula::members, Member::rapidity) != Formula::members.end();

template <class Formula, class S>
ValuesPtr compute(BlockMemory& memory, const Pair& pair, const Flat& flat) {
  constexpr std::size_t n = Formula::members.size();
  std::array<ValuesPtr, 2 * n> in;
  for (std::size_t k = 0; k < n; ++k) {
    in[k] = member_of(memory, pair.first, *flat.arguments[0], Formula::members[k]);
    in[n + k] = as_scalar(memory, member_of(memory, pair.second, *flat.arguments[1], Formula::members[k]),
                          element_of<S>());
  }
  const auto of = [](auto... x) { return Formula::of(x...); };
  return [&]<std::size_t... k>(std::index_sequence<k...>) {
    using R = decltype(Formula::of((static_cast<void>(k), S{})...));
    return map_arrays<S, R, 2 * n>(memory, flat.count, in, of);
  }(std::make_index_sequence<2 * n>{});
}

ValuesPtr angles(BlockMemory& memory, const Values& cosines) {
  auto [out, owner] = memory.array<double>(cosines.size);
  const Operand operand{cosines.as<double>(), cosines.constant};
  math_loop(Mathematics::acos, ElementType::float64)(cosines.size, &operand, out);
  return make_scalars(ElementType::float64, cosines.size, out, std::move(owner));
}

template <class Formula>
Bound bind_pair(const Call& call, const char* name) {
  const Pair pair = pair_of(call);
  if (!pair.why_not.empty()) return why_not(pair.why_not);
  if (needs_energy<Formula> && (pair.first.size() < 4 || pair.second.size() < 4))
    return why_not("needs four-vectors");
  const bool is_double = std::is_base_of_v<CosTheta, Formula>;
  const ElementType result = is_double ? ElementType::float64 : pair.first.scalar;
  const auto body = [pair, name](const CallContext& context, Arguments arguments) {
    const Flat flat = flatten(context, arguments, name);
    ValuesPtr computed = with_scalar(
        pair.first.scalar, [&]<class S>() { return compute<Formula, S>(context.memory, pair, flat); });
    if constexpr (std::is_base_of_v<Angle, Formula>) computed = angles(context.memory, *computed);
    return flat.wrap(std::move(computed));
  };
  return lists::make_bound({name, wrapped_type(call, result), {}, body, true});
}

Bound bind_dot(const Call& call) {
  const Pair pair = pair_of(call);
  if (!pair.why_not.empty()) return why_not(pair.why_not);
  const bool four = pair.first.size() == 4 && pair.second.size() == 4;
  return four ? bind_pair<DotOfFour>(call, ".Dot") : bind_pair<DotInSpace>(call, ".Dot");
}

// ---- Vectors of vectors

// Results of three or four arrays, in the class `type`.
template <class F>
Bound bind_vectors(const Call& call, const std::string& key, const ValueType& type, const F& compute_arrays) {
  const auto body = [type, key, compute_arrays](const CallContext& context, Arguments arguments) {
    const Flat flat = flatten(context, arguments, key);
    return flat.wrap(make_vectors(type, flat.count, compute_arrays(context.memory, flat)));
  };
  return lists::make_bound({key, wrapped_type(call, type), {}, body, true});
}

ValueType space_class(ElementType scalar) {
  return *vector_class(scalar == ElementType::float32 ? "XYZVectorF" : "XYZVector");
}

Bound bind_cross(const Call& call) {
  const Pair pair = pair_of(call);
  if (!pair.why_not.empty()) return why_not(pair.why_not);
  if (pair.first.size() != 3) return why_not("needs a vector in space");
  const auto arrays = [pair](BlockMemory& memory, const Flat& flat) -> Arrays {
    const Arrays a = cartesian_of(memory, pair.first, *flat.arguments[0]);
    Arrays b = cartesian_of(memory, pair.second, *flat.arguments[1]);
    for (auto& array : b) array = as_scalar(memory, array, pair.first.scalar);
    return with_scalar(pair.first.scalar, [&]<class S>() {
      const auto part = [&](std::size_t i, std::size_t j) {
        return map_arrays<S, S, 4>(memory, flat.count, {a[i], b[j], b[i], a[j]},
                                   [](S p, S q, S r, S s) { return p * q - r * s; });
      };
      return Arrays{part(1, 2), part(2, 0), part(0, 1)};
    });
  };
  return bind_vectors(call, ".Cross", call.arguments[0].type.innermost(), arrays);
}

// The component of a vector along another one, or across it.
Bound bind_component(const Call& call, const char* name, bool along) {
  const Pair pair = pair_of(call);
  if (!pair.why_not.empty()) return why_not(pair.why_not);
  if (pair.first.size() != 3) return why_not("needs a vector in space");
  const auto arrays = [pair, along](BlockMemory& memory, const Flat& flat) -> Arrays {
    Arrays in = cartesian_of(memory, pair.first, *flat.arguments[0]);
    const Arrays other = cartesian_of(memory, pair.second, *flat.arguments[1]);
    for (std::size_t k = 0; k < 3; ++k) in.push_back(as_scalar(memory, other[k], pair.first.scalar));
    return with_scalar(pair.first.scalar, [&]<class S>() {
      const std::array<ValuesPtr, 6> both = {in[0], in[1], in[2], in[3], in[4], in[5]};
      const auto part = [&](std::size_t axis) {
        return map_arrays<S, S, 6>(memory, flat.count, both, [&](S x, S y, S z, S u, S v, S w) {
          const S square = u * u + v * v + w * w;
          const double factor = square == 0 ? 0. : static_cast<double>((x * u + y * v + z * w) / square);
          const std::array<S, 3> own = {x, y, z};
          const S component = static_cast<S>(std::array<S, 3>{u, v, w}[axis] * factor);
          return along ? component : own[axis] - component;
        });
      };
      return Arrays{part(0), part(1), part(2)};
    });
  };
  return bind_vectors(call, name, call.arguments[0].type.innermost(), arrays);
}

// ---- A vector and a number

enum class Axis : std::uint8_t { x, y, z };

// Of a vector and a number: F makes new x, y, z (and e) of the old ones, for `count` rows.
template <class F>
Bound bind_with_number(const Call& call, const std::string& name, std::size_t fewest, const F& changed) {
  const auto vector =
      call.arguments.size() == 2 ? vector_type(call.arguments[0].type.innermost()) : std::nullopt;
  if (!vector || vector->size() < fewest || !lists::is_number(call.arguments[1].type.innermost()))
    return why_not(fmt::format("needs a {} and a number", fewest == 4 ? "four-vector" : "vector"));
  if (auto text = misshape(call); !text.empty()) return why_not(std::move(text));
  const ValueType type = call.arguments[0].type.innermost();
  std::vector<KernelPtr> conversions(2);
  conversions[1] =
      lists::convert(call.arguments[1].type, call.arguments[1].type.with_innermost(ElementType::float64));
  const auto body = [=, vector = *vector](const CallContext& context, Arguments arguments) {
    const Flat flat = flatten(context, arguments, name);
    const Arrays in = cartesian_of(context.memory, vector, *flat.arguments[0]);
    Arrays made = with_scalar(vector.scalar, [&]<class S>() {
      return changed.template operator()<S>(context.memory, flat.count, in, flat.arguments[1]);
    });
    return flat.wrap(
        make_vectors(type, flat.count, from_cartesian(context.memory, vector, flat.count, std::move(made))));
  };
  return lists::make_bound({name, wrapped_type(call, type), std::move(conversions), body, true});
}

// In a frame that moves along an axis.
Bound bind_boost_along(const Call& call, const std::string& name, Axis axis) {
  const auto k = static_cast<std::size_t>(axis);
  return bind_with_number(
      call, name, 4,
      [k]<class S>(BlockMemory& memory, std::size_t count, const Arrays& in, const ValuesPtr& by) {
        // With the energy, or the coordinate, multiplied by the velocity.
        const auto part = [&](const ValuesPtr& multiplied, const ValuesPtr& own) {
          return map_arrays<double, double, 3>(memory, count,
                                               {as_scalar(memory, multiplied, ElementType::float64),
                                                as_scalar(memory, own, ElementType::float64), by},
                                               [](double x, double y, double beta) {
                                                 const double gamma = 1 / std::sqrt(1 - beta * beta);
                                                 return beta * beta >= 1 ? 0 : gamma * beta * x + gamma * y;
                                               });
        };
        const auto kept = [&](const ValuesPtr& own) {
          return map_arrays<double, double, 2>(
              memory, count, {as_scalar(memory, own, ElementType::float64), by},
              [](double x, double beta) { return beta * beta >= 1 ? 0 : x; });
        };
        Arrays out;
        for (std::size_t i = 0; i < 3; ++i) out.push_back(i == k ? part(in[3], in[k]) : kept(in[i]));
        out.push_back(part(in[k], in[3]));
        for (auto& array : out) array = as_scalar(memory, array, element_of<S>());
        return out;
      });
}

// Turned around an axis by an angle.
Bound bind_rotation(const Call& call, const std::string& name, Axis axis) {
  const auto k = static_cast<std::size_t>(axis);
  return bind_with_number(
      call, name, 3,
      [k]<class S>(BlockMemory& memory, std::size_t count, const Arrays& in, const ValuesPtr& angles) {
        const auto of_angles = [&](Mathematics function) {
          auto [out, owner] = memory.array<double>(angles->size);
          const Operand operand{angles->as<double>(), angles->constant};
          math_loop(function, ElementType::float64)(angles->size, &operand, out);
          return make_scalars(ElementType::float64, angles->size, out, std::move(owner));
        };
        const ValuesPtr sines = of_angles(Mathematics::sin);
        const ValuesPtr cosines = of_angles(Mathematics::cos);
        const auto part = [&](const ValuesPtr& a, const ValuesPtr& by_a, const ValuesPtr& b,
                              const ValuesPtr& by_b, double sign) {
          return as_scalar(memory,
                           map_arrays<double, double, 4>(memory, count,
                                                         {as_scalar(memory, a, ElementType::float64), by_a,
                                                          as_scalar(memory, b, ElementType::float64), by_b},
                                                         [sign](double x, double s, double y, double t) {
                                                           return x * s + sign * (y * t);
                                                         }),
                           element_of<S>());
        };
        Arrays out = in;
        const std::size_t first = (k + 1) % 3;
        const std::size_t second = (k + 2) % 3;
        out[first] = part(in[first], cosines, in[second], sines, -1);
        out[second] = part(in[second], cosines, in[first], sines, 1);
        return out;
      });
}

// .Vect(), .BoostToCM(), .BoostVector() and .Unit(): of x, y, z and one more member of the vector.
template <class F>
Bound bind_in_space(const Call& call, const char* name, bool of_four, Member member, F formula) {
  if (call.arguments.size() != 1) return why_not("takes no arguments");
  const auto vector = vector_type(call.arguments[0].type.innermost());
  if (!vector || (vector->size() == 4) != of_four)
    return why_not(fmt::format("needs a {}, got {}", of_four ? "four-vector" : "vector in space",
                               call.arguments[0].type.name()));
  const auto arrays = [vector = *vector, member, formula](BlockMemory& memory, const Flat& flat) -> Arrays {
    const Arrays in = cartesian_of(memory, vector, *flat.arguments[0]);
    const auto by = member_of(memory, vector, *flat.arguments[0], member);
    const auto momentum = member_of(memory, vector, *flat.arguments[0], Member::p);
    return with_scalar(vector.scalar, [&]<class S>() {
      Arrays out;
      for (std::size_t k = 0; k < 3; ++k)
        out.push_back(map_arrays<S, S, 3>(memory, flat.count, {in[k], by, momentum},
                                          [&](S x, S y, S p) { return formula(x, y, p); }));
      return out;
    });
  };
  return bind_vectors(call, name, space_class(vector->scalar), arrays);
}

Bound bind_vect(const Call& call) {
  return bind_in_space(call, ".Vect", true, Member::px, [](auto x, auto, auto) { return x; });
}
Bound bind_unit(const Call& call) {
  if (has_plane_vectors(call)) return plane_method(call, ".Unit");
  return bind_in_space(call, ".Unit", false, Member::p,
                       [](auto x, auto length, auto) { return length == 0 ? x : x * (1 / length); });
}
// The boost to the vector's rest frame.
Bound bind_boost_to_cm(const Call& call) {
  return bind_in_space(call, ".BoostToCM", true, Member::e, [](auto x, auto energy, auto momentum) {
    return energy == 0 && momentum == 0 ? decltype(x){0} : (x * -1) * (1 / energy);
  });
}

// The velocity, as of TLorentzVector.
Bound bind_boost_vector(const Call& call) {
  return bind_in_space(call, ".BoostVector", true, Member::e,
                       [](auto x, auto energy, auto) { return x / energy; });
}

// The vector in a moving frame; zeros at the speed of light and beyond.
template <class S>
void boost_one(S x, S y, S z, S e, double bx, double by, double bz, std::array<S*, 4> out, std::size_t i) {
  const double b2 = bx * bx + by * by + bz * bz;
  if (b2 >= 1) {
    for (S* array : out) array[i] = 0;
    return;
  }
  const double gamma = 1.0 / std::sqrt(1.0 - b2);
  const double bp = bx * x + by * y + bz * z;
  const double gamma2 = b2 > 0 ? (gamma - 1.0) / b2 : 0.0;
  out[0][i] = static_cast<S>(x + gamma2 * bp * bx + gamma * bx * e);
  out[1][i] = static_cast<S>(y + gamma2 * bp * by + gamma * by * e);
  out[2][i] = static_cast<S>(z + gamma2 * bp * bz + gamma * bz * e);
  out[3][i] = static_cast<S>(gamma * (e + bp));
}

// A vector and a ROOT::Math::Boost.
Bound bind_boost_by_object(const Call& call) {
  const Argument arguments[] = {call.arguments[0],
                                {call.arguments[1].type.members().front().second, nullptr}};
  Bound boost = vector_boost({call.name, {}, arguments});
  if (boost.kernel == nullptr) return boost;
  const auto body = [kernel = boost.kernel](const CallContext& context, Arguments given) {
    const ValuesPtr both[] = {given[0], given[1]->children.front()};
    return kernel->run(context, both);
  };
  return lists::make_bound({"boost by", boost.kernel->result(), {}, body});
}

Bound bind_boost(const Call& call) {
  if (call.arguments.size() == 2 && is_boost(call.arguments[1].type)) return bind_boost_by_object(call);
  const Pair pair = pair_of(call);
  if (!pair.why_not.empty()) return why_not(pair.why_not);
  if (pair.first.size() != 4 || pair.second.size() != 3)
    return why_not("needs a four-vector and a vector in space");
  const auto arrays = [pair](BlockMemory& memory, const Flat& flat) -> Arrays {
    const Arrays v = cartesian_of(memory, pair.first, *flat.arguments[0]);
    Arrays b = cartesian_of(memory, pair.second, *flat.arguments[1]);
    for (auto& array : b) array = as_scalar(memory, array, ElementType::float64);
    return with_scalar(pair.first.scalar, [&]<class S>() {
      const Reader<coordinates::PxPyPzE<S>> in(v);
      const Reader<coordinates::Xyz<double>> by(b);
      std::array<S*, 4> out{};
      std::array<std::shared_ptr<void>, 4> owners;
      for (std::size_t k = 0; k < 4; ++k) std::tie(out[k], owners[k]) = memory.array<S>(flat.count);
      for (std::size_t i = 0; i < flat.count; ++i)
        boost_one(in.get(0, i), in.get(1, i), in.get(2, i), in.get(3, i), by.get(0, i), by.get(1, i),
                  by.get(2, i), out, i);
      Arrays boosted;
      for (std::size_t k = 0; k < 4; ++k)
        boosted.push_back(make_scalars(element_of<S>(), flat.count, out[k], std::move(owners[k])));
      return from_cartesian(memory, pair.first, flat.count, std::move(boosted));
    });
  };
  return bind_vectors(call, "boost", call.arguments[0].type.innermost(), arrays);
}

}  // namespace

bool has_vectors(const Call& call) {
  return std::ranges::any_of(call.arguments,
                             [](const Argument& a) { return a.type.innermost().is_record(); });
}
Bound vector_delta_phi(const Call& call) {
  return bind_pair<DeltaPhi>(call, "VectorUtil::DeltaPhi");
}
Bound vector_delta_r(const Call& call) {
  return bind_pair<DeltaR>(call, "VectorUtil::DeltaR");
}
Bound vector_delta_r2(const Call& call) {
  return bind_pair<DeltaR2>(call, "VectorUtil::DeltaR2");
}
Bound vector_angle(const Call& call) {
  return bind_pair<Angle>(call, "VectorUtil::Angle");
}
Bound vector_boost(const Call& call) {
  return bind_boost(call);
}
Bound vector_dot(const Call& call) {
  return bind_dot(call);
}
Bound vector_mass(const Call& call) {
  return bind_pair<InvariantMass>(call, "VectorUtil::InvariantMass");
}

std::vector<Function> pair_functions() {
  std::vector<Function> all;
  const auto add = [&](const std::string& name, auto bind) {
    all.push_back(
        {"ROOT::Math::VectorUtil::" + name, "ROOT::Math::VectorUtil::" + name + "(vector, vector)", bind});
  };
  add("DeltaPhi", vector_delta_phi);
  add("DeltaR", vector_delta_r);
  add("DeltaR2", vector_delta_r2);
  add("Angle", vector_angle);
  add("InvariantMass", vector_mass);
  add("InvariantMass2",
      [](const Call& call) { return bind_pair<InvariantMass2>(call, "VectorUtil::InvariantMass2"); });
  add("CosTheta", [](const Call& call) { return bind_pair<CosTheta>(call, "VectorUtil::CosTheta"); });
  add("DeltaRapidityPhi",
      [](const Call& call) { return bind_pair<DeltaRapidityPhi>(call, "VectorUtil::DeltaRapidityPhi"); });
  add("boost", bind_boost);
  add("Perp", [](const Call& call) { return bind_pair<Perp>(call, "VectorUtil::Perp"); });
  add("Perp2", [](const Call& call) { return bind_pair<Perp2>(call, "VectorUtil::Perp2"); });
  add("ProjVector", [](const Call& call) { return bind_component(call, "VectorUtil::ProjVector", true); });
  add("PerpVector", [](const Call& call) { return bind_component(call, "VectorUtil::PerpVector", false); });
  for (const auto& [letter, axis] :
       {std::pair("X", Axis::x), std::pair("Y", Axis::y), std::pair("Z", Axis::z)}) {
    const std::string boost = fmt::format("ROOT::Math::VectorUtil::boost{}", letter);
    all.push_back({boost, boost + "(vector, beta)",
                   [boost, axis](const Call& call) { return bind_boost_along(call, boost, axis); }});
    const std::string rotate = fmt::format("ROOT::Math::VectorUtil::Rotate{}", letter);
    all.push_back({rotate, rotate + "(vector, angle)",
                   [rotate, axis](const Call& call) { return bind_rotation(call, rotate, axis); }});
  }
  all.push_back({".Dot", "vector.Dot(vector)", bind_dot});
  all.push_back({".Cross", "vector.Cross(vector)", bind_cross});
  for (const std::string name : {".DeltaR", ".DrEtaPhi"})
    all.push_back({name, "vector" + name + "(vector)",
                   [](const Call& call) { return bind_pair<DeltaRMethod>(call, ".DeltaR"); }});
  all.push_back({".DeltaPhi", "vector.DeltaPhi(vector)", [](const Call& call) {
                   return has_plane_vectors(call) ? plane_method(call, ".DeltaPhi")
                                                  : bind_pair<DeltaPhiMethod>(call, ".DeltaPhi");
                 }});
  all.push_back({".Vect", "vector.Vect()", bind_vect});
  all.push_back({".Unit", "vector.Unit()", bind_unit});
  all.push_back({".Angle", "vector.Angle(vector)",
                 [](const Call& call) { return bind_pair<AngleMethod>(call, ".Angle"); }});
  all.push_back({".BoostToCM", "vector.BoostToCM()", bind_boost_to_cm});
  all.push_back({".BoostVector", "vector.BoostVector()", bind_boost_vector});
  return all;
}

}  // namespace colonnade::frame
