// Making vectors: constructors and Construct. See physics_vectors.h.
#include "frame/functions/physics_vectors.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "frame/functions/physics.h"

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

// ---- Constructors

std::string class_of(std::string_view name) {
  std::string text(name);
  std::erase(text, ' ');
  for (const std::string_view prefix : {"ROOT::Math::", "Math::"})
    if (text.starts_with(prefix)) text.erase(0, prefix.size());
  if (text == "TLorentzVector") return "PxPyPzEVector";
  constexpr std::string_view in_space[] = {"TVector3",        "XYZPoint",      "XYZPointD",    "XYZVectorD",
                                           "RhoEtaPhiVector", "RhoZPhiVector", "Polar3DVector"};
  if (std::ranges::find(in_space, text) != std::end(in_space)) return "XYZVector";
  if (text == "XYZPointF") return "XYZVectorF";
  constexpr std::pair<std::string_view, std::string_view> systems[] = {
      {"PtEtaPhiM4D<double>", "PtEtaPhiMVector"},
      {"PtEtaPhiE4D<double>", "PtEtaPhiEVector"},
      {"PxPyPzE4D<double>", "PxPyPzEVector"},
      {"PxPyPzM4D<double>", "PxPyPzMVector"},
      {"PxPyPzE4D<float>", "XYZTVectorF"},
      {"PtEtaPhiM4D<float>", ""},
      {"PtEtaPhiE4D<float>", ""},
      {"PxPyPzM4D<float>", ""},
  };
  for (const auto& [system, name_of_class] : systems)
    if (text == fmt::format("LorentzVector<ROOT::Math::{}>", system) ||
        text == fmt::format("LorentzVector<{}>", system))
      return name_of_class.empty() ? fmt::format("LorentzVector<ROOT::Math::{}>", system)
                                   : std::string(name_of_class);
  return text;
}

// Coordinates as a constructor accepts them: angles within a turn, valid masses.
Arrays construct(BlockMemory& memory, const VectorType& vector, std::size_t count, Arrays arrays) {
  if (vector.system == System::px_py_pz_e || vector.system == System::xyz) return arrays;
  return with_vector(vector, [&]<class V>() -> Arrays {
    if constexpr (V::size == 4) {
      const Reader<V> in(arrays);
      ComponentWriter<V> out(memory, count);
      for_batches(count, [&](std::size_t i, std::size_t n) {
        out.put(i, V::make(in.get(0, i, n), in.get(1, i, n), in.get(2, i, n), in.get(3, i, n)));
      });
      return out.take();
    }
    return arrays;
  });
}

Bound bind_from_numbers(const Call& call, const ValueType& type) {
  const auto vector = *vector_type(type);
  std::vector<KernelPtr> conversions;
  for (std::size_t i = 0; i < call.arguments.size(); ++i) {
    const auto& given = call.arguments[i].type;
    if (!lists::is_number(given.innermost()))
      return why_not(
          fmt::format("needs a number or a list of numbers as argument {}, got {}", i + 1, given.name()));
    conversions.push_back(lists::convert(given, given.with_innermost(vector.scalar)));
  }
  if (auto text = misshape(call); !text.empty()) return why_not(std::move(text));
  const auto body = [type, vector](const CallContext& context, Arguments arguments) {
    Flat flat = flatten(context, arguments, type.class_name());
    Arrays arrays = construct(context.memory, vector, flat.count, std::move(flat.arguments));
    return flat.wrap(make_vectors(type, flat.count, arrays));
  };
  return make_bound({type.class_name(), wrapped_type(call, type), std::move(conversions), body, true});
}

// The same vector in other coordinates.
Bound bind_from_vector(const Call& call, const ValueType& type) {
  const auto source = vector_argument(call, 0);
  const auto target = *vector_type(type);
  if (!source)
    return why_not(fmt::format("needs coordinates or a vector, got {}", call.arguments[0].type.name()));
  if (source->size() < target.size()) return why_not("needs four coordinates or a four-vector");
  const auto body = [type, source = *source, target](const CallContext& context, Arguments arguments) {
    const Flat flat = flatten(context, arguments, type.class_name());
    const Values& vectors = *flat.arguments[0];
    constexpr std::array<Member, 4> polar = {Member::pt, Member::eta, Member::phi, Member::m};
    std::array<Member, 4> members = {Member::px, Member::py, Member::pz, Member::e};
    if (target.system == System::pt_eta_phi_m || target.system == System::pt_eta_phi_e) members = polar;
    if (target.system == System::pt_eta_phi_e) members[3] = Member::e;
    if (target.system == System::px_py_pz_m) members[3] = Member::m;
    Arrays arrays;
    for (std::size_t k = 0; k < target.size(); ++k)
      arrays.push_back(
          as_scalar(context.memory, member_of(context.memory, source, vectors, members[k]), target.scalar));
    return flat.wrap(make_vectors(type, flat.count, arrays));
  };
  return make_bound({type.class_name(), wrapped_type(call, type), {}, body});
}

Bound bind_constructor(const Call& call, const ValueType& type) {
  const std::size_t size = vector_type(type)->size();
  if (call.arguments.empty())
    return make_bound({type.class_name(), type, {}, [type](const CallContext& context, Arguments) {
                         return make_zero(type, context.rows.size);
                       }});
  if (call.arguments.size() == 1) return bind_from_vector(call, type);
  if (call.arguments.size() != size)
    return why_not(fmt::format("takes {} coordinates, got {}", size, call.arguments.size()));
  return bind_from_numbers(call, type);
}

// Other coordinates of vectors in space, which are Cartesian here.
struct SpaceSystem {
  std::string_view name;
  Batch<double> (*z)(const Batch<double>& first, const Batch<double>& second);
  bool has_theta;  // instead of the transverse component
};
using Coordinate = Batch<double>;
constexpr SpaceSystem space_systems[] = {
    {"RhoEtaPhiVector",
     [](const Coordinate& rho, const Coordinate& eta) {
       return coordinates::Cylindrical<double>{rho, eta, rho}.pz();
     },
     false},
    {"RhoZPhiVector", [](const Coordinate&, const Coordinate& z) { return z; }, false},
    {"Polar3DVector", [](const Coordinate& r, const Coordinate& theta) { return r * cos(theta); }, true}};

Bound bind_in_system(const Call& call, const SpaceSystem& system) {
  const ValueType type = *vector_class("XYZVector");
  if (call.arguments.size() < 2) return bind_constructor(call, type);
  Bound numbers = bind_constructor(call, type);
  if (numbers.kernel == nullptr) return numbers;
  const auto body = [kernel = numbers.kernel, &system, type](const CallContext& context,
                                                             Arguments arguments) {
    const ValuesPtr given = kernel->run(context, arguments);
    const Flat flat = flatten(context, {&given, 1}, type.class_name());
    const Arrays from = coordinates_of(*flat.arguments[0]);
    const Reader<coordinates::Xyz<double>> in(from);
    ComponentWriter<coordinates::Xyz<double>> out(context.memory, flat.count);
    for_batches(flat.count, [&](std::size_t i, std::size_t n) {
      const Coordinate first = in.get(0, i, n);
      const Coordinate second = in.get(1, i, n);
      const Coordinate phi = coordinates::within_turn(in.get(2, i, n));
      const Coordinate across = system.has_theta ? first * sin(second) : first;
      out.put(i, {{across * cos(phi), across * sin(phi), system.z(first, second)}});
    });
    return flat.wrap(make_vectors(type, flat.count, out.take()));
  };
  return make_bound({fmt::format("ROOT::Math::{}", system.name), wrapped_type(call, type), {}, body, true});
}

Bound bind_class(const Call& call, std::string_view written) {
  for (const SpaceSystem& system : space_systems)
    if (written == system.name || written == fmt::format("ROOT::Math::{}", system.name))
      return bind_in_system(call, system);
  const auto type = vector_class(class_of(written));
  if (!type) return why_not(fmt::format("knows no class {}", written));
  return bind_constructor(call, *type);
}

const ValueType& boost_type() {
  static const ValueType type =
      ValueType::record("ROOT::Math::Boost", {{"fVelocity", *vector_class("XYZVector")}});
  return type;
}

// Boost(x, y, z), Boost(velocity)
Bound bind_boost_object(const Call& call) {
  Bound velocity = bind_constructor(call, *vector_class("XYZVector"));
  if (velocity.kernel == nullptr) return velocity;
  if (velocity.kernel->result().is_list()) return why_not("needs single values, got lists");
  const auto body = [kernel = velocity.kernel](const CallContext& context, Arguments arguments) {
    return make_record(boost_type(), context.rows.size, {kernel->run(context, arguments)});
  };
  return make_bound({"ROOT::Math::Boost", boost_type(), {}, body});
}

// Construct<T>(lists...)
Bound bind_construct(const Call& call) {
  if (call.template_types.size() != 1)
    return why_not("needs a class: Construct<ROOT::Math::PtEtaPhiMVector>(...)");
  for (const auto& argument : call.arguments)
    if (!argument.type.is_list()) return why_not(fmt::format("needs lists, got {}", argument.type.name()));
  if (call.arguments.empty()) return why_not("needs a list per coordinate");
  return bind_class(call, call.template_types[0]);
}

const char* const class_names[] = {"PtEtaPhiMVector", "PtEtaPhiEVector", "PxPyPzEVector", "XYZTVector",
                                   "XYZTVectorF",     "PxPyPzMVector",   "XYZVector",     "XYZVectorF"};

std::string signature_of(std::string_view name) {
  if (name.starts_with("XYZVector")) return "(x, y, z)";
  const bool in_space = std::ranges::find(space_systems, name, &SpaceSystem::name) != std::end(space_systems);
  return in_space ? "(three coordinates)" : "(four coordinates)";
}

}  // namespace

bool is_boost(const ValueType& type) {
  return type.is_record() && type.class_name() == "ROOT::Math::Boost";
}

std::optional<ValueType> vector_class_of_name(std::string_view name) {
  if (name == "TVector2") return plane_vector();
  if (class_of(name) == "Boost") return boost_type();
  return vector_class(class_of(name));
}

std::optional<VectorParts> parts_of_vector(const ValueType& type) {
  using Names = std::array<std::string_view, 4>;
  static constexpr Names pt_eta_phi_m = {"Pt", "Eta", "Phi", "M"};
  static constexpr Names pt_eta_phi_e = {"Pt", "Eta", "Phi", "E"};
  static constexpr Names px_py_pz_m = {"Px", "Py", "Pz", "M"};
  static constexpr Names px_py_pz_e = {"Px", "Py", "Pz", "E"};
  static constexpr std::array<std::string_view, 3> x_y_z = {"X", "Y", "Z"};
  const auto vector = vector_type(type);
  if (!vector) return std::nullopt;
  switch (vector->system) {
    case System::pt_eta_phi_m:
      return VectorParts{"PtEtaPhiMVector", pt_eta_phi_m};
    case System::pt_eta_phi_e:
      return VectorParts{"PtEtaPhiEVector", pt_eta_phi_e};
    case System::px_py_pz_m:
      return VectorParts{"PxPyPzMVector", px_py_pz_m};
    case System::xyz:
      return VectorParts{"XYZVector", x_y_z};
    default:
      return VectorParts{"PxPyPzEVector", px_py_pz_e};
  }
}

KernelPtr vector_conversion(const ValueType& from, const ValueType& to) {
  if (auto kernel = plane_conversion(from, to)) return kernel;
  if (is_boost(to) && !is_boost(from)) {
    const Argument argument{from, nullptr};
    return bind_boost_object({"convert", {}, std::span(&argument, 1)}).kernel;
  }
  const auto source = vector_type(from.innermost());
  const auto target = vector_type(to.innermost());
  if (!source || !target || source->size() != target->size()) return nullptr;
  const Argument argument{from, nullptr};
  const Bound made = bind_from_vector({"convert", {}, std::span(&argument, 1)}, to.innermost());
  return made.kernel != nullptr && made.kernel->result() == to ? made.kernel : nullptr;
}

std::vector<Function> vector_functions() {
  auto all = member_functions();
  std::ranges::move(pair_functions(), std::back_inserter(all));
  std::ranges::move(plane_functions(), std::back_inserter(all));
  std::vector<std::string> names(std::begin(class_names), std::end(class_names));
  for (const SpaceSystem& system : space_systems) names.emplace_back(system.name);
  for (const std::string& name : names)
    all.push_back({"ROOT::Math::" + name, "ROOT::Math::" + name + signature_of(name),
                   [name](const Call& call) { return bind_class(call, name); }});
  all.push_back({"ROOT::Math::LorentzVector", "ROOT::Math::LorentzVector<system>(four coordinates)",
                 [](const Call& call) {
                   if (call.template_types.size() != 1) return why_not("needs a coordinate system");
                   return bind_class(call, fmt::format("LorentzVector<{}>", call.template_types[0]));
                 }});
  all.push_back(
      {"ROOT::Math::Boost", "ROOT::Math::Boost(x, y, z) or ROOT::Math::Boost(velocity)", bind_boost_object});
  all.push_back({"Construct", "Construct<class>(list, list, ...)", bind_construct});
  return all;
}

}  // namespace colonnade::frame
