// Members of vectors: .Pt(), .Eta(), .M(), ... See physics_vectors.h.
#include <fmt/format.h>

#include <algorithm>

#include "frame/functions/elementwise.h"
#include "frame/functions/optionals.h"
#include "frame/functions/physics_vectors.h"
#include "frame/values/values.h"

namespace colonnade::frame {

// ---- Types

namespace {

struct Layout {
  System system;
  std::array<std::string_view, 4> members;
  std::string_view inner;  // the class of fCoordinates
  std::array<std::optional<Member>, 4> coordinates;
};

constexpr Layout layouts[] = {
    {System::pt_eta_phi_m,
     {"fPt", "fEta", "fPhi", "fM"},
     "PtEtaPhiM4D",
     {Member::pt, Member::eta, Member::phi, Member::m}},
    {System::pt_eta_phi_e,
     {"fPt", "fEta", "fPhi", "fE"},
     "PtEtaPhiE4D",
     {Member::pt, Member::eta, Member::phi, Member::e}},
    {System::px_py_pz_e,
     {"fX", "fY", "fZ", "fT"},
     "PxPyPzE4D",
     {Member::px, Member::py, Member::pz, Member::e}},
    {System::px_py_pz_m,
     {"fX", "fY", "fZ", "fM"},
     "PxPyPzM4D",
     {Member::px, Member::py, Member::pz, Member::m}},
    {System::xyz, {"fX", "fY", "fZ", ""}, "Cartesian3D", {Member::px, Member::py, Member::pz, std::nullopt}},
};

struct ClassName {
  std::string_view name;
  std::string_view shown;
  System system;
  ElementType scalar;
};

constexpr std::string_view float_pt_eta_phi_m = "LorentzVector<ROOT::Math::PtEtaPhiM4D<float>>";
constexpr std::string_view float_pt_eta_phi_e = "LorentzVector<ROOT::Math::PtEtaPhiE4D<float>>";
constexpr std::string_view float_px_py_pz_m = "LorentzVector<ROOT::Math::PxPyPzM4D<float>>";
constexpr ClassName class_names[] = {
    {"PtEtaPhiMVector", "PtEtaPhiMVector", System::pt_eta_phi_m, ElementType::float64},
    {"PtEtaPhiEVector", "PtEtaPhiEVector", System::pt_eta_phi_e, ElementType::float64},
    {"PxPyPzEVector", "PxPyPzEVector", System::px_py_pz_e, ElementType::float64},
    {"XYZTVector", "PxPyPzEVector", System::px_py_pz_e, ElementType::float64},
    {"XYZTVectorF", "XYZTVectorF", System::px_py_pz_e, ElementType::float32},
    {float_pt_eta_phi_m, float_pt_eta_phi_m, System::pt_eta_phi_m, ElementType::float32},
    {float_pt_eta_phi_e, float_pt_eta_phi_e, System::pt_eta_phi_e, ElementType::float32},
    {float_px_py_pz_m, float_px_py_pz_m, System::px_py_pz_m, ElementType::float32},
    {"PxPyPzMVector", "PxPyPzMVector", System::px_py_pz_m, ElementType::float64},
    {"XYZVector", "XYZVector", System::xyz, ElementType::float64},
    {"XYZVectorF", "XYZVectorF", System::xyz, ElementType::float32},
};

const Layout& layout_of(System system) {
  return *std::ranges::find(layouts, system, &Layout::system);
}

using Members = std::span<const ValueType::Member>;

// The members without those of TObject, which are in front.
Members own_members(const ValueType& type) {
  const Members members = type.members();
  const auto is_of_object = [&](std::size_t k, std::string_view name) {
    return members[k].first == name && members[k].second == ElementType::uint32;
  };
  return members.size() > 2 && is_of_object(0, "fUniqueID") && is_of_object(1, "fBits") ? members.subspan(2)
                                                                                        : members;
}

// TLorentzVector.
std::optional<VectorType> space_and_energy(Members members) {
  if (members.size() != 2 || members[0].first != "fP" || members[1].first != "fE") return std::nullopt;
  auto vector = vector_type(members[0].second);
  if (!vector || vector->system != System::xyz || members[1].second != vector->scalar) return std::nullopt;
  vector->system = System::px_py_pz_e;
  return vector;
}

void append_coordinates(const Values& vectors, Arrays& arrays) {
  for (const ValuesPtr& child : vectors.children) {
    if (child->type.is_record()) append_coordinates(*child, arrays);
    if (child->type.is_floating()) arrays.push_back(child);
  }
}

// A record of the next arrays.
ValuesPtr record_of(const ValueType& type, std::size_t count, std::span<const ValuesPtr>& arrays) {
  Arrays children;
  for (const auto& [name, member] : type.members()) {
    if (member.is_record()) {
      children.push_back(record_of(member, count, arrays));
    } else if (member.is_floating()) {
      children.push_back(arrays.front());
      arrays = arrays.subspan(1);
    } else {
      children.push_back(make_constant<std::uint32_t>(count, 0));  // of TObject
    }
  }
  return make_record(type, count, std::move(children));
}

}  // namespace

std::optional<VectorType> vector_type(const ValueType& type) {
  if (!type.is_record()) return std::nullopt;
  const bool nested = type.members().size() == 1 && type.members()[0].first == "fCoordinates" &&
                      type.members()[0].second.is_record();
  const Members members = own_members(nested ? type.members()[0].second : type);
  if (const auto found = space_and_energy(members)) return found;
  for (const auto& layout : layouts) {
    const std::size_t size = layout.system == System::xyz ? 3 : 4;
    const auto fits = [&](std::size_t k) {
      return members[k].first == layout.members[k] && members[k].second.is_floating() &&
             members[k].second == members[0].second;
    };
    bool all = members.size() == size;
    for (std::size_t k = 0; all && k < size; ++k) all = fits(k);
    if (all) return VectorType{layout.system, members[0].second.element()};
  }
  return std::nullopt;
}

std::optional<ValueType> vector_class(std::string_view name) {
  const auto* found = std::ranges::find(class_names, name, &ClassName::name);
  if (found == std::end(class_names)) return std::nullopt;
  const Layout& layout = layout_of(found->system);
  std::vector<ValueType::Member> members;
  for (const auto member : layout.members)
    if (!member.empty()) members.emplace_back(member, found->scalar);
  const char* scalar = found->scalar == ElementType::float32 ? "float" : "double";
  return ValueType::record(
      fmt::format("ROOT::Math::{}", found->shown),
      {{"fCoordinates",
        ValueType::record(fmt::format("ROOT::Math::{}<{}>", layout.inner, scalar), std::move(members))}});
}

// ---- Arrays

Arrays coordinates_of(const Values& vectors) {
  Arrays arrays;
  append_coordinates(vectors, arrays);
  return arrays;
}

ValuesPtr make_vectors(const ValueType& type, std::size_t count, const Arrays& arrays) {
  std::span<const ValuesPtr> left = arrays;
  return record_of(type, count, left);
}

ValuesPtr make_zero(const ValueType& type, std::size_t count) {
  const auto vector = *vector_type(type);
  Arrays arrays;
  for (std::size_t k = 0; k < vector.size(); ++k)
    arrays.push_back(with_scalar(vector.scalar, [&]<class S>() { return make_constant<S>(count, 0); }));
  return make_vectors(type, count, arrays);
}

namespace {

// ---- Formulas of members, for every system

template <class V>
using BatchOf = Batch<typename V::Scalar>;

template <class V>
BatchOf<V> rapidity(const V& v) {
  using S = typename V::Scalar;
  const BatchOf<V> e = v.e();
  const BatchOf<V> z = v.pz();
  return S(0.5) * log((e + z) / (e - z));
}
template <class V>
BatchOf<V> colinear_rapidity(const V& v) {
  using S = typename V::Scalar;
  const BatchOf<V> e = v.e();
  const BatchOf<V> p = v.p();
  return S(0.5) * log((e + p) / (e - p));
}
template <class V>
BatchOf<V> beta(const V& v) {
  using S = typename V::Scalar;
  const auto of = [](S p, S e) -> S {
    if (e == 0) return p * p == 0 ? 0 : static_cast<S>(1. / e);
    return p / e;
  };
  return over(of, v.p(), v.e());
}
template <class V>
BatchOf<V> gamma_of(const V& v) {
  using S = typename V::Scalar;
  const auto of = [](S p, S e) -> S {
    const S p2 = p * p;
    const S e2 = e * e;
    if (e == 0 && p2 == 0) return 1;
    if (e2 < p2) return 0;
    return S(1) / std::sqrt(S(1) - p2 / e2);
  };
  return over(of, v.p(), v.e());
}

template <class V>
auto cos_theta(const V& v) {
  using S = typename V::Scalar;
  return over([](S z, S p) { return p == 0 ? S(1) : z / p; }, v.pz(), v.p());
}

template <class V, class F>
ValuesPtr each(BlockMemory& memory, std::span<const ValuesPtr> arrays, F f) {
  using S = typename V::Scalar;
  // A constant vector is computed once.
  const bool constant = std::ranges::all_of(arrays, [](const ValuesPtr& a) { return a->constant; });
  const std::size_t size = arrays.front()->size;
  const Reader<V> in(arrays);
  if (constant && size > 0) return make_constant<S>(size, f(in.vectors(0, 1))[0]);
  auto [out, owner] = memory.array<S>(size);
  for_batches(size, [&, results = out](std::size_t begin, std::size_t count) {
    std::copy_n(f(in.vectors(begin, count)).data(), count, results + begin);
  });
  return make_scalars(element_of<S>(), size, out, std::move(owner));
}

// Members of both vectors in space and four-vectors.
template <class V>
ValuesPtr space_member(BlockMemory& memory, std::span<const ValuesPtr> arrays, Member member) {
  const auto of = [&](auto f) { return each<V>(memory, arrays, f); };
  switch (member) {
    case Member::px:
      return of([](const V& v) { return v.px(); });
    case Member::py:
      return of([](const V& v) { return v.py(); });
    case Member::pz:
      return of([](const V& v) { return v.pz(); });
    case Member::p:
      return of([](const V& v) { return v.p(); });
    case Member::pt:
      return of([](const V& v) { return v.pt(); });
    case Member::perp2:
      return of([](const V& v) { return v.perp2(); });
    case Member::phi:
      return of([](const V& v) { return v.phi(); });
    case Member::theta:
      return of([](const V& v) { return v.theta(); });
    case Member::cos_theta:
      return of([](const V& v) { return cos_theta(v); });
    case Member::eta:
      return of([](const V& v) { return v.eta(); });
    default:
      return of([](const V& v) {
        const auto x = v.px();
        const auto y = v.py();
        const auto z = v.pz();
        return x * x + y * y + z * z;
      });
  }
}

template <class V>
ValuesPtr four_member(BlockMemory& memory, std::span<const ValuesPtr> arrays, Member member) {
  const auto of = [&](auto f) { return each<V>(memory, arrays, f); };
  switch (member) {
    case Member::e:
      return of([](const V& v) { return v.e(); });
    case Member::m:
      return of([](const V& v) { return v.m(); });
    case Member::m2:
      return of([](const V& v) { return v.m2(); });
    case Member::p2:
      return of([](const V& v) {
        const auto p = v.p();
        return p * p;
      });
    case Member::mt:
      return of([](const V& v) { return coordinates::signed_root(v.mt2()); });
    case Member::mt2:
      return of([](const V& v) { return v.mt2(); });
    case Member::et:
      return of([](const V& v) { return v.et(); });
    case Member::et2:
      return of([](const V& v) { return v.et2(); });
    case Member::rapidity:
      return of([](const V& v) { return rapidity(v); });
    case Member::colinear_rapidity:
      return of([](const V& v) { return colinear_rapidity(v); });
    case Member::beta:
      return of([](const V& v) { return beta(v); });
    case Member::gamma:
      return of([](const V& v) { return gamma_of(v); });
    default:
      return space_member<V>(memory, arrays, member);
  }
}

}  // namespace

ValuesPtr member_of(BlockMemory& memory, const VectorType& type, const Values& vectors, Member member) {
  const Arrays arrays = coordinates_of(vectors);
  const auto& stored = layout_of(type.system).coordinates;
  for (std::size_t k = 0; k < arrays.size(); ++k)
    if (stored[k] == member) return arrays[k];
  return with_vector(type, [&]<class V>() {
    if constexpr (V::size == 3) {
      return space_member<V>(memory, arrays, member);
    } else {
      return four_member<V>(memory, arrays, member);
    }
  });
}

Arrays cartesian_of(BlockMemory& memory, const VectorType& type, const Values& vectors) {
  Arrays arrays;
  for (const Member member : {Member::px, Member::py, Member::pz, Member::e})
    if (arrays.size() < type.size()) arrays.push_back(member_of(memory, type, vectors, member));
  return arrays;
}

Arrays from_cartesian(BlockMemory& memory, const VectorType& type, std::size_t count, Arrays cartesian) {
  if (type.system == System::px_py_pz_e || type.system == System::xyz) return cartesian;
  return with_vector(type, [&]<class V>() -> Arrays {
    using S = typename V::Scalar;
    if constexpr (V::size == 4) {
      const Reader<coordinates::PxPyPzE<S>> in(cartesian);
      ComponentWriter<V> out(memory, count);
      for_batches(count, [&](std::size_t i, std::size_t n) {
        out.put(i, V::from_cartesian(in.get(0, i, n), in.get(1, i, n), in.get(2, i, n), in.get(3, i, n)));
      });
      return out.take();
    }
    return cartesian;
  });
}

ValuesPtr as_scalar(BlockMemory& memory, const ValuesPtr& values, ElementType scalar) {
  if (values->type.element() == scalar) return values;
  if (scalar == ElementType::float64)
    return map_arrays<float, double, 1>(memory, values->size, {values}, [](float x) { return double{x}; });
  return map_arrays<double, float, 1>(memory, values->size, {values},
                                      [](double x) { return static_cast<float>(x); });
}

// ---- Rows and lists

namespace {

ValuesPtr wrap_in(const ValuesPtr& shape, ValuesPtr flat) {
  if (!shape->type.is_list()) return flat;
  return make_list(shape->size, shape->offsets, wrap_in(shape->children.front(), std::move(flat)), shape);
}

bool has_constant_list(const Values& values) {
  return values.type.is_list() && (values.constant || has_constant_list(values.items()));
}

}  // namespace

ValuesPtr Flat::wrap(ValuesPtr result) const {
  return shape == nullptr ? result : wrap_in(shape, std::move(result));
}

Flat flatten(const CallContext& context, std::span<const ValuesPtr> arguments, std::string_view name) {
  Flat flat;
  flat.count = context.rows.size;
  flat.arguments.assign(arguments.begin(), arguments.end());
  std::vector<ValueType> types;
  for (auto& argument : flat.arguments) {
    types.push_back(argument->type);
    if (has_constant_list(*argument)) argument = spread(argument, context.memory);
  }
  if (have_optionals_to_align(types)) align_optionals(flat.arguments, context.rows.size, context.memory);
  for (auto& argument : flat.arguments) {
    if (!argument->type.is_list()) continue;
    if (flat.shape == nullptr) {
      flat.shape = argument;
    } else {
      lists::require_same_sizes(context, lists::ListView(*flat.shape), lists::ListView(*argument),
                                fmt::format("the lists of {}", name));
    }
  }
  if (flat.shape == nullptr) return flat;

  const lists::ListView view(*flat.shape);
  std::int64_t* rows_of_items = nullptr;
  std::shared_ptr<void> owner;
  for (auto& argument : flat.arguments) {
    if (argument->type.is_list()) {
      while (argument->type.is_list()) argument = argument->children.front();
      flat.count = argument->size;
      continue;
    }
    const std::size_t total = view.total(context.rows.size);
    if (rows_of_items == nullptr) {
      std::tie(rows_of_items, owner) = context.memory.array<std::int64_t>(total);
      for (std::size_t row = 0; row < context.rows.size; ++row)
        std::fill_n(rows_of_items + view.begin(row), view.count(row), static_cast<std::int64_t>(row));
    }
    argument = lists::pick(argument, {rows_of_items, total}, context.memory);
  }
  return flat;
}

ValueType wrapped_type(const Call& call, ValueType item) {
  for (const auto& argument : call.arguments)
    if (argument.type.is_list()) return argument.type.with_innermost(std::move(item));
  return item;
}

std::string misshape(const Call& call) {
  if (call.arguments.size() < 2) return {};
  for (const auto& argument : call.arguments)
    if (argument.type.depth() > 1)
      return fmt::format("needs single values or lists, got {}", argument.type.name());
  return why_not_combined(types_of(call.arguments));
}

// ---- Calls

namespace {

struct MemberName {
  std::string_view name;
  Member member;
  bool of_four;   // a member of four-vectors
  bool in_space;  // a member of vectors in space
};

constexpr MemberName member_names[] = {
    {"Px", Member::px, true, true},
    {"px", Member::px, true, false},
    {"X", Member::px, true, true},
    {"x", Member::px, true, true},
    {"Py", Member::py, true, true},
    {"py", Member::py, true, false},
    {"Y", Member::py, true, true},
    {"y", Member::py, true, true},
    {"Pz", Member::pz, true, true},
    {"pz", Member::pz, true, false},
    {"Z", Member::pz, true, true},
    {"z", Member::pz, true, true},
    {"E", Member::e, true, false},
    {"e", Member::e, true, false},
    {"T", Member::e, true, false},
    {"t", Member::e, true, false},
    {"energy", Member::e, true, false},
    {"Energy", Member::e, true, false},
    {"M", Member::m, true, false},
    {"mass", Member::m, true, false},
    {"mag", Member::m, true, false},
    {"M2", Member::m2, true, false},
    {"mass2", Member::m2, true, false},
    {"P", Member::p, true, false},
    {"R", Member::p, true, true},
    {"r", Member::p, true, true},
    {"P2", Member::p2, true, false},
    {"Pt", Member::pt, true, true},
    {"pt", Member::pt, true, false},
    {"Rho", Member::pt, true, true},
    {"rho", Member::pt, true, true},
    {"Perp2", Member::perp2, true, true},
    {"perp2", Member::perp2, true, true},
    {"Mt", Member::mt, true, false},
    {"mt", Member::mt, true, false},
    {"Mt2", Member::mt2, true, false},
    {"mt2", Member::mt2, true, false},
    {"Et", Member::et, true, false},
    {"Et2", Member::et2, true, false},
    {"Phi", Member::phi, true, true},
    {"phi", Member::phi, true, true},
    {"Theta", Member::theta, true, true},
    {"theta", Member::theta, true, true},
    {"CosTheta", Member::cos_theta, true, true},
    {"Eta", Member::eta, true, true},
    {"eta", Member::eta, true, true},
    {"Rapidity", Member::rapidity, true, false},
    {"ColinearRapidity", Member::colinear_rapidity, true, false},
    {"Beta", Member::beta, true, false},
    {"Gamma", Member::gamma, true, false},
    {"Mag", Member::p, true, true},
    {"Perp", Member::pt, true, true},
    {"PseudoRapidity", Member::eta, true, true},
    {"Mag2", Member::mag2, true, true},
    {"mag2", Member::mag2, true, true},
};

Bound bind_member(const Call& call, const MemberName& name) {
  if (has_plane_vectors(call)) return plane_method(call, fmt::format(".{}", name.name));
  if (call.arguments.size() != 1)
    return {nullptr, fmt::format("takes no arguments, got {}", call.arguments.size() - 1)};
  const auto& type = call.arguments[0].type;
  const auto vector = vector_type(type.innermost());
  if (!vector) return {nullptr, fmt::format("needs a vector, got {}", type.name())};
  const bool four = vector->size() == 4;
  if (four ? !name.of_four : !name.in_space)
    return {nullptr, fmt::format("{} has no such member", type.name())};
  // The magnitude of a four-vector is its mass, and TLorentzVector's Rho() that of its momentum.
  const bool has_momentum =
      std::ranges::any_of(type.innermost().members(), [](const auto& part) { return part.first == "fP"; });
  const Member member = four && name.member == Member::mag2          ? Member::m2
                        : four && name.name == "Mag"                 ? Member::m
                        : four && has_momentum && name.name == "Rho" ? Member::p
                                                                     : name.member;
  const auto body = [vector = *vector, member](const CallContext& context,
                                               std::span<const ValuesPtr> arguments) {
    const Flat flat = flatten(context, arguments, "a member");
    return flat.wrap(member_of(context.memory, vector, *flat.arguments[0], member));
  };
  return lists::make_bound({fmt::format(".{}", name.name), type.with_innermost(vector->scalar), {}, body});
}

}  // namespace

std::vector<Function> member_functions() {
  std::vector<Function> all;
  for (const auto& name : member_names)
    all.push_back({fmt::format(".{}", name.name), fmt::format("vector.{}()", name.name),
                   [&name](const Call& call) { return bind_member(call, name); }});
  return all;
}

}  // namespace colonnade::frame
