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
  if (text == "TVector3") return "XYZVector";
  constexpr std::pair<std::string_view, std::string_view> systems[] = {
      {"PtEtaPhiM4D<double>", "PtEtaPhiMVector"}, {"PtEtaPhiE4D<double>", "PtEtaPhiEVector"},
      {"PxPyPzE4D<double>", "PxPyPzEVector"},     {"PxPyPzM4D<double>", "PxPyPzMVector"},
      {"PxPyPzE4D<float>", "XYZTVectorF"},
  };
  for (const auto& [system, name_of_class] : systems)
    if (text == fmt::format("LorentzVector<ROOT::Math::{}>", system) ||
        text == fmt::format("LorentzVector<{}>", system))
      return std::string(name_of_class);
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

Bound bind_class(const Call& call, std::string_view written) {
  const auto type = vector_class(class_of(written));
  if (!type) return why_not(fmt::format("knows no class {}", written));
  return bind_constructor(call, *type);
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

}  // namespace

std::optional<ValueType> vector_class_of_name(std::string_view name) {
  return vector_class(class_of(name));
}

KernelPtr vector_conversion(const ValueType& from, const ValueType& to) {
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
  for (const std::string name : class_names) {
    const char* signature = name.starts_with("XYZVector") ? "(x, y, z)" : "(four coordinates)";
    all.push_back({"ROOT::Math::" + name, "ROOT::Math::" + name + signature,
                   [name](const Call& call) { return bind_class(call, name); }});
  }
  all.push_back({"ROOT::Math::LorentzVector", "ROOT::Math::LorentzVector<system>(four coordinates)",
                 [](const Call& call) {
                   if (call.template_types.size() != 1) return why_not("needs a coordinate system");
                   return bind_class(call, fmt::format("LorentzVector<{}>", call.template_types[0]));
                 }});
  all.push_back({"Construct", "Construct<class>(list, list, ...)", bind_construct});
  return all;
}

}  // namespace colonnade::frame
