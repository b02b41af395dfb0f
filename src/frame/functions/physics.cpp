// Angles and masses from coordinates: DeltaPhi, DeltaR, DeltaR2, Angle, InvariantMass, InvariantMasses.
//
// The formulas and the types of all steps follow ROOT::VecOps, so that results agree to the last bit.
#include "frame/functions/physics.h"

#include <fmt/format.h>

#include <cmath>
#include <numbers>
#include <tuple>
#include <type_traits>

#include "frame/functions/batch.h"
#include "frame/functions/elementwise.h"
#include "frame/functions/lists.h"

namespace colonnade::frame {
namespace {

using lists::ListView;
using Arguments = std::span<const ValuesPtr>;

// ---- Formulas

// The correction of b - a into the range from -half_turn to half_turn; of type C.
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
struct AngleBetween {
  using B = Batch<T>;
  B operator()(const B& x1, const B& y1, const B& z1, const B& x2, const B& y2, const B& z2) const {
    const B cross_x = y1 * z2 - y2 * z1;
    const B cross_y = x1 * z2 - x2 * z1;
    const B cross_z = x1 * y2 - x2 * y1;
    const B cross = sqrt(cross_x * cross_x + cross_y * cross_y + cross_z * cross_z);
    return atan2(cross, x1 * x2 + y1 * y2 + z1 * z2);
  }
};

// The mass of a particle at rest with mass `at_rest` and another one.
template <class C, class A, class B, class K>
C mass_with_one_at_rest(A at_rest, B mass, K p_squared) {
  const auto energy = at_rest + std::sqrt(mass * mass + p_squared);
  return static_cast<C>(std::sqrt(std::abs(energy * energy - p_squared)));
}

// For momenta in type K and masses in type M; numerically stable for small angles and for small masses. The
// angle between the two is not used if one is at rest.
template <class K, class M, class C = std::common_type_t<K, M>>
C mass_of_pair(K p1_squared, M mass1, K p2_squared, M mass2, K sine, K cosine) {
  if (p1_squared <= 0 && p2_squared <= 0) return static_cast<C>(mass1 + mass2);
  if (p1_squared <= 0) return mass_with_one_at_rest<C>(mass1, mass2, p2_squared);
  if (p2_squared <= 0) return mass_with_one_at_rest<C>(mass2, mass1, p1_squared);

  const M m1_squared = mass1 * mass1;
  const M m2_squared = mass2 * mass2;
  const C r1 = m1_squared / p1_squared;
  const C r2 = m2_squared / p2_squared;
  const C x = r1 + r2 + r1 * r2;
  const C y = cosine >= 0 ? (x + sine * sine) / (std::sqrt(x + 1) + cosine) : std::sqrt(x + 1) - cosine;
  const K z = 2 * std::sqrt(p1_squared * p2_squared);
  return std::sqrt(m1_squared + m2_squared + y * z);
}

template <class K, class M>
struct MassOfPair {
  using P = Batch<K>;
  auto operator()(const P& x1, const P& y1, const P& z1, const Batch<M>& mass1, const P& x2, const P& y2,
                  const P& z2, const Batch<M>& mass2) const {
    const P angle = AngleBetween<K>{}(x1, y1, z1, x2, y2, z2);
    return over(mass_of_pair<K, M>, x1 * x1 + y1 * y1 + z1 * z1, mass1, x2 * x2 + y2 * y2 + z2 * z2, mass2,
                sin(angle), cos(angle));
  }
};
template <class K, class M>
struct MassOfPtPair {
  using P = Batch<K>;
  auto operator()(const P& pt1, const P& eta1, const P& phi1, const Batch<M>& mass1, const P& pt2,
                  const P& eta2, const P& phi2, const Batch<M>& mass2) const {
    return MassOfPair<K, M>{}(pt1 * cos(phi1), pt1 * sin(phi1), pt1 * sinh(eta1), mass1, pt2 * cos(phi2),
                              pt2 * sin(phi2), pt2 * sinh(eta2), mass2);
  }
};

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
template <class F, class R, class... A>
ElementSignature batch_signature() {
  return {element_of<R>(), {element_of<A>()...}, &batch_loop<F, R, A...>};
}

// ---- Types of calls

// The type in which C++ computes: float if no argument is larger, otherwise double; double for integers.
ElementType floating_type(const Call& call, std::initializer_list<std::size_t> which) {
  ElementType common = call.arguments[*which.begin()].type.innermost().element();
  for (const std::size_t i : which)
    common = lists::common_item(common, call.arguments[i].type.innermost().element());
  return common == ElementType::float32 ? common : ElementType::float64;
}

// Calls f.operator()<T>() with float or double.
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
  return with_floating(floating_type(call, {0, 1, 2, 3, 4, 5}), [&]<class T>() {
    return bind_elementwise("Angle", batch_signature<AngleBetween<T>, T, T, T, T, T, T, T>(), call);
  });
}

template <bool from_pt>
Bound bind_masses(const Call& call) {
  if (auto why_not = not_numbers(call, 8, 8); !why_not.empty()) return {nullptr, std::move(why_not)};
  return with_floating(floating_type(call, {0, 1, 2, 4, 5, 6}), [&]<class K>() {
    return with_floating(floating_type(call, {3, 7}), [&]<class M>() {
      using F = std::conditional_t<from_pt, MassOfPtPair<K, M>, MassOfPair<K, M>>;
      return bind_elementwise(from_pt ? "InvariantMasses" : "InvariantMasses_PxPyPzM",
                              batch_signature<F, std::common_type_t<K, M>, K, K, K, M, K, K, K, M>(), call);
    });
  });
}

// ---- The mass of all items together

// Px, py and pz of each item in type K, and its energy.
template <class K, class M, class C = std::common_type_t<K, M>>
struct Momenta {
  std::array<K*, 3> momentum{};
  C* energy = nullptr;
  std::vector<std::shared_ptr<void>> owners{4};

  Momenta(BlockMemory& memory, std::span<const ValuesPtr> items, std::size_t count) {
    for (std::size_t k = 0; k < 3; ++k) std::tie(momentum[k], owners[k]) = memory.array<K>(count);
    std::tie(energy, owners[3]) = memory.array<C>(count);
    for_batches(count, [&](std::size_t begin, std::size_t size) {
      const auto part = [&](std::size_t k) { return Batch<K>(size, items[k]->as<K>() + begin, 1); };
      const Batch<K> pt = part(0);
      const Batch<M> mass(size, items[3]->as<M>() + begin, 1);
      const Batch<K> phi = part(2);
      const std::array p = {pt * cos(phi), pt * sin(phi), pt * sinh(part(1))};
      for (std::size_t k = 0; k < 3; ++k) std::copy_n(p[k].data(), size, momentum[k] + begin);
      const auto e = sqrt(p[0] * p[0] + p[1] * p[1] + p[2] * p[2] + mass * mass);
      std::copy_n(e.data(), size, energy + begin);
    });
  }
};

template <class K, class M>
ValuesPtr mass_of_all(const CallContext& context, Arguments arguments) {
  using C = std::common_type_t<K, M>;
  std::vector<ValuesPtr> lists;
  std::vector<ValuesPtr> items;
  for (const auto& argument : arguments) {
    lists.push_back(argument->constant ? spread(argument, context.memory) : argument);
    lists::require_same_sizes(context, ListView(*lists[0]), ListView(*lists.back()),
                              "the lists of InvariantMass");
    items.push_back(lists::dense_items(*lists.back(), context.memory));
  }
  const ListView view(*lists[0]);
  const Momenta<K, M> momenta(context.memory, items, view.total(context.rows.size));
  auto [out, owner] = context.memory.array<C>(context.rows.size);
  for (std::size_t row = 0; row < context.rows.size; ++row) {
    C x_sum = 0;
    C y_sum = 0;
    C z_sum = 0;
    C energy_sum = 0;
    const auto begin = static_cast<std::size_t>(view.begin(row));
    for (std::size_t i = begin; i < begin + view.count(row); ++i) {
      x_sum += momenta.momentum[0][i];
      y_sum += momenta.momentum[1][i];
      z_sum += momenta.momentum[2][i];
      energy_sum += momenta.energy[i];
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
