// Angles and masses from coordinates: DeltaPhi, DeltaR, DeltaR2, Angle, InvariantMass, InvariantMasses.
//
// The formulas and the types of all steps are those of ROOT::VecOps, so that results agree to the last bit.
#include "frame/functions/physics.h"

#include <fmt/format.h>

#include <cmath>
#include <numbers>
#include <tuple>
#include <type_traits>

#include "frame/functions/elementwise.h"
#include "frame/functions/lists.h"

namespace colonnade::frame {
namespace {

using lists::ListView;
using Arguments = std::span<const ValuesPtr>;

// ---- Formulas

// What is added to or taken from b - a so that it lies within -half_turn and half_turn; of type C.
template <class T, class C>
C delta_phi(T a, T b, C half_turn) {
  const double turn = 2.0 * half_turn;
  double difference = b - a;
  if (!(std::abs(difference) < turn)) difference = std::fmod(difference, turn);
  if (difference < -half_turn) {
    difference += turn;
  } else if (difference > half_turn) {
    difference -= turn;
  }
  return static_cast<C>(difference);
}
template <class T>
T delta_phi_pi(T a, T b) {
  return delta_phi(a, b, std::numbers::pi_v<T>);
}

template <class E, class P, class C>
C delta_r2(E eta1, E eta2, P phi1, P phi2, C half_turn) {
  const C dphi = delta_phi(phi1, phi2, half_turn);
  return static_cast<C>((eta1 - eta2) * (eta1 - eta2) + dphi * dphi);
}
template <class E, class P, class C>
C delta_r(E eta1, E eta2, P phi1, P phi2, C half_turn) {
  const C dphi = delta_phi(phi1, phi2, half_turn);
  return static_cast<C>(std::sqrt((eta1 - eta2) * (eta1 - eta2) + dphi * dphi));
}
template <class E, class P, class C = std::common_type_t<E, P>>
C delta_r2_pi(E eta1, E eta2, P phi1, P phi2) {
  return delta_r2(eta1, eta2, phi1, phi2, std::numbers::pi_v<C>);
}
template <class E, class P, class C = std::common_type_t<E, P>>
C delta_r_pi(E eta1, E eta2, P phi1, P phi2) {
  return delta_r(eta1, eta2, phi1, phi2, std::numbers::pi_v<C>);
}

template <class T>
T angle(T x1, T y1, T z1, T x2, T y2, T z2) {
  const T cross_x = y1 * z2 - y2 * z1;
  const T cross_y = x1 * z2 - x2 * z1;
  const T cross_z = x1 * y2 - x2 * y1;
  const T cross = std::sqrt(cross_x * cross_x + cross_y * cross_y + cross_z * cross_z);
  const T dot = x1 * x2 + y1 * y2 + z1 * z2;
  return std::atan2(cross, dot);
}

// The mass of a particle at rest with mass `at_rest` and of another one.
template <class C, class A, class B, class K>
C mass_with_one_at_rest(A at_rest, B mass, K p_squared) {
  const auto energy = at_rest + std::sqrt(mass * mass + p_squared);
  return static_cast<C>(std::sqrt(std::abs(energy * energy - p_squared)));
}

// Of momenta in type K and masses in type M; numerically stable for small angles and for small masses.
template <class K, class M, class C = std::common_type_t<K, M>>
C mass_of_pair(K x1, K y1, K z1, M mass1, K x2, K y2, K z2, M mass2) {
  const K p1_squared = x1 * x1 + y1 * y1 + z1 * z1;
  const K p2_squared = x2 * x2 + y2 * y2 + z2 * z2;
  if (p1_squared <= 0 && p2_squared <= 0) return static_cast<C>(mass1 + mass2);
  if (p1_squared <= 0) return mass_with_one_at_rest<C>(mass1, mass2, p2_squared);
  if (p2_squared <= 0) return mass_with_one_at_rest<C>(mass2, mass1, p1_squared);

  const M m1_squared = mass1 * mass1;
  const M m2_squared = mass2 * mass2;
  const C r1 = m1_squared / p1_squared;
  const C r2 = m2_squared / p2_squared;
  const C x = r1 + r2 + r1 * r2;
  const K alpha = angle(x1, y1, z1, x2, y2, z2);
  const K cosine = std::cos(alpha);
  const C y = cosine >= 0 ? (x + std::sin(alpha) * std::sin(alpha)) / (std::sqrt(x + 1) + cosine)
                          : std::sqrt(x + 1) - cosine;
  const K z = 2 * std::sqrt(p1_squared * p2_squared);
  return std::sqrt(m1_squared + m2_squared + y * z);
}
template <class K, class M, class C = std::common_type_t<K, M>>
C mass_of_pt_pair(K pt1, K eta1, K phi1, M mass1, K pt2, K eta2, K phi2, M mass2) {
  return mass_of_pair<K, M>(pt1 * std::cos(phi1), pt1 * std::sin(phi1), pt1 * std::sinh(eta1), mass1,
                            pt2 * std::cos(phi2), pt2 * std::sin(phi2), pt2 * std::sinh(eta2), mass2);
}

// ---- Loops

template <class T>
struct Items {
  const T* data;
  std::size_t step;
  explicit Items(const Operand& operand)
      : data(static_cast<const T*>(operand.data)), step(operand.constant ? 0 : 1) {}
  T operator[](std::size_t i) const { return data[i * step]; }
};

template <auto f, class R, class... A>
ElementSignature signature_of(R (*)(A...)) {
  const ElementLoop loop = [](std::size_t count, const Operand* operands, void* out) {
    [&]<std::size_t... n>(std::index_sequence<n...>) {
      const std::tuple<Items<A>...> in{Items<A>(operands[n])...};
      auto* results = static_cast<R*>(out);
      for (std::size_t i = 0; i < count; ++i) results[i] = f(std::get<n>(in)[i]...);
    }(std::index_sequence_for<A...>{});
  };
  return {element_of<R>(), {element_of<A>()...}, loop};
}
template <auto f>
ElementSignature signature() {
  return signature_of<f>(f);
}

// ---- Types of calls

// The type that C++ computes in: float if all are at most that, double otherwise; double for integers.
ElementType floating_type(const Call& call, std::initializer_list<std::size_t> which) {
  ElementType common = call.arguments[*which.begin()].type.innermost().element();
  for (const std::size_t i : which)
    common = lists::common_item(common, call.arguments[i].type.innermost().element());
  return common == ElementType::float32 ? common : ElementType::float64;
}

// f.operator()<T>() with float or double.
template <class F>
decltype(auto) with_floating(ElementType element, F&& f) {
  return element == ElementType::float32 ? f.template operator()<float>() : f.template operator()<double>();
}

std::string not_numbers(const Call& call, std::size_t fewest, std::size_t most) {
  const std::size_t given = call.arguments.size();
  if (given < fewest || given > most)
    return fewest == most ? fmt::format("takes {} arguments, got {}", fewest, given)
                          : fmt::format("takes {} to {} arguments, got {}", fewest, most, given);
  for (std::size_t i = 0; i < given; ++i)
    if (!lists::is_number(call.arguments[i].type.innermost()))
      return fmt::format("needs a number or a list of numbers as argument {}, got {}", i + 1,
                         call.arguments[i].type.name());
  return {};
}

Bound bind_elementwise(const char* name, ElementSignature signature, const Call& call) {
  std::vector<ValueType> types;
  for (const auto& argument : call.arguments) types.push_back(argument.type);
  return {elementwise(name, std::move(signature), types), {}};
}

// ---- Calls

Bound bind_delta_phi(const Call& call) {
  if (has_vectors(call)) return vector_delta_phi(call);
  if (auto why_not = not_numbers(call, 2, 3); !why_not.empty()) return {nullptr, std::move(why_not)};
  const ElementType type = floating_type(call, {0, 1});
  if (call.arguments.size() == 2)
    return with_floating(
        type, [&]<class T>() { return bind_elementwise("DeltaPhi", signature<delta_phi_pi<T>>(), call); });
  return with_floating(type, [&]<class T>() {
    return with_floating(floating_type(call, {2}), [&]<class C>() {
      return bind_elementwise("DeltaPhi", signature<delta_phi<T, C>>(), call);
    });
  });
}

template <bool squared>
Bound bind_delta_r(const Call& call) {
  const char* name = squared ? "DeltaR2" : "DeltaR";
  if (has_vectors(call)) return squared ? vector_delta_r2(call) : vector_delta_r(call);
  if (auto why_not = not_numbers(call, 4, 5); !why_not.empty()) return {nullptr, std::move(why_not)};
  const ElementType half_turn = call.arguments.size() == 5 ? floating_type(call, {4}) : ElementType::float64;
  return with_floating(floating_type(call, {0, 1}), [&]<class E>() {
    return with_floating(floating_type(call, {2, 3}), [&]<class P>() {
      if (call.arguments.size() == 4)
        return bind_elementwise(
            name, squared ? signature<delta_r2_pi<E, P>>() : signature<delta_r_pi<E, P>>(), call);
      return with_floating(half_turn, [&]<class C>() {
        return bind_elementwise(
            name, squared ? signature<delta_r2<E, P, C>>() : signature<delta_r<E, P, C>>(), call);
      });
    });
  });
}

Bound bind_angle(const Call& call) {
  if (has_vectors(call)) return vector_angle(call);
  if (auto why_not = not_numbers(call, 6, 6); !why_not.empty()) return {nullptr, std::move(why_not)};
  return with_floating(floating_type(call, {0, 1, 2, 3, 4, 5}),
                       [&]<class T>() { return bind_elementwise("Angle", signature<angle<T>>(), call); });
}

template <bool from_pt>
Bound bind_masses(const Call& call) {
  if (auto why_not = not_numbers(call, 8, 8); !why_not.empty()) return {nullptr, std::move(why_not)};
  return with_floating(floating_type(call, {0, 1, 2, 4, 5, 6}), [&]<class K>() {
    return with_floating(floating_type(call, {3, 7}), [&]<class M>() {
      return bind_elementwise(from_pt ? "InvariantMasses" : "InvariantMasses_PxPyPzM",
                              from_pt ? signature<mass_of_pt_pair<K, M>>() : signature<mass_of_pair<K, M>>(),
                              call);
    });
  });
}

// ---- The mass of all items together

template <class K, class M>
ValuesPtr mass_of_all(const CallContext& context, Arguments arguments) {
  using C = std::common_type_t<K, M>;
  const ListView pts(*arguments[0]);
  std::vector<ListView> views;
  std::vector<ValuesPtr> items;
  for (const auto& argument : arguments) {
    views.emplace_back(*argument);
    lists::require_same_sizes(context, pts, views.back(), "the lists of InvariantMass");
    items.push_back(lists::dense_items(*argument, context.memory));
  }
  auto [out, owner] = context.memory.array<C>(context.rows.size);
  for (std::size_t row = 0; row < context.rows.size; ++row) {
    const K* pt = items[0]->as<K>() + views[0].begin(row);
    const K* eta = items[1]->as<K>() + views[1].begin(row);
    const K* phi = items[2]->as<K>() + views[2].begin(row);
    const M* mass = items[3]->as<M>() + views[3].begin(row);
    C x_sum = 0;
    C y_sum = 0;
    C z_sum = 0;
    C energy_sum = 0;
    for (std::size_t i = 0; i < pts.count(row); ++i) {
      const K x = pt[i] * std::cos(phi[i]);
      const K y = pt[i] * std::sin(phi[i]);
      const K z = pt[i] * std::sinh(eta[i]);
      x_sum += x;
      y_sum += y;
      z_sum += z;
      energy_sum += std::sqrt(x * x + y * y + z * z + mass[i] * mass[i]);
    }
    out[row] = std::sqrt(energy_sum * energy_sum - x_sum * x_sum - y_sum * y_sum - z_sum * z_sum);
  }
  return make_scalars(element_of<C>(), context.rows.size, out, std::move(owner));
}

Bound bind_mass(const Call& call) {
  if (has_vectors(call)) return vector_mass(call);
  if (auto why_not = lists::misfit(call, "NNNN"); !why_not.empty()) return {nullptr, std::move(why_not)};
  return with_floating(floating_type(call, {0, 1, 2}), [&]<class K>() {
    return with_floating(floating_type(call, {3}), [&]<class M>() {
      const ValueType momenta = ValueType::list(element_of<K>());
      std::vector<KernelPtr> conversions;
      for (std::size_t i = 0; i < 4; ++i)
        conversions.push_back(
            lists::convert(call.arguments[i].type, i < 3 ? momenta : ValueType::list(element_of<M>())));
      return lists::make_bound({"InvariantMass", element_of<std::common_type_t<K, M>>(),
                                std::move(conversions), mass_of_all<K, M>, true});
    });
  });
}

}  // namespace

std::vector<Function> physics_functions() {
  auto all = vector_functions();
  all.push_back({"DeltaPhi", "DeltaPhi(phi1, phi2) or DeltaPhi(vector, vector)", bind_delta_phi});
  all.push_back({"DeltaR", "DeltaR(eta1, eta2, phi1, phi2) or DeltaR(vector, vector)", bind_delta_r<false>});
  all.push_back(
      {"DeltaR2", "DeltaR2(eta1, eta2, phi1, phi2) or DeltaR2(vector, vector)", bind_delta_r<true>});
  all.push_back({"Angle", "Angle(x1, y1, z1, x2, y2, z2) or Angle(vector, vector)", bind_angle});
  all.push_back({"InvariantMass",
                 "InvariantMass(pt, eta, phi, mass), lists, or InvariantMass(vector, vector)", bind_mass});
  all.push_back({"InvariantMasses", "InvariantMasses(pt1, eta1, phi1, mass1, pt2, eta2, phi2, mass2)",
                 bind_masses<true>});
  all.push_back({"InvariantMasses_PxPyPzM",
                 "InvariantMasses_PxPyPzM(px1, py1, pz1, mass1, px2, py2, pz2, mass2)", bind_masses<false>});
  return all;
}

}  // namespace colonnade::frame
