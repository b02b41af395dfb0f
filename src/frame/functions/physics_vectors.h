// Vectors as records: PtEtaPhiMVector and similar classes, in ROOT::Math's layout.
//
//   record ROOT::Math::PtEtaPhiMVector { record fCoordinates { fPt, fEta, fPhi, fM } }
//
// The coordinates identify the kind of vector, so records of files are vectors, too, even without
// fCoordinates: TVector3 { fX, fY, fZ }, TLorentzVector { fP { fX, fY, fZ }, fE }, also with the members of
// TObject in front, fUniqueID and fBits. A Values of records keeps one array per coordinate, so functions of
// vectors are loops over flat arrays.
#ifndef COLONNADE_FRAME_FUNCTIONS_PHYSICS_VECTORS_H
#define COLONNADE_FRAME_FUNCTIONS_PHYSICS_VECTORS_H

#include <array>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "frame/functions/lists.h"
#include "frame/functions/physics_coordinates.h"

namespace colonnade::frame {

enum class System : std::uint8_t { pt_eta_phi_m, pt_eta_phi_e, px_py_pz_e, px_py_pz_m, xyz };

enum class Member : std::uint8_t {
  px,
  py,
  pz,
  e,
  m,
  m2,
  p,
  p2,
  pt,
  perp2,
  mt,
  mt2,
  et,
  et2,
  phi,
  theta,
  cos_theta,
  eta,
  mag2,
  rapidity,
  colinear_rapidity,
  beta,
  gamma
};

struct VectorType {
  System system = System::px_py_pz_e;
  ElementType scalar = ElementType::float64;

  std::size_t size() const noexcept { return system == System::xyz ? 3 : 4; }
};

// The kind of vector that a record is; empty if it is not one.
std::optional<VectorType> vector_type(const ValueType& type);
// The record of a class name without "ROOT::Math::": "PtEtaPhiMVector", "XYZVectorF", ...
std::optional<ValueType> vector_class(std::string_view name);

// Calls f.operator()<S>() with float or double.
template <class F>
decltype(auto) with_scalar(ElementType element, F&& f) {
  return element == ElementType::float32 ? f.template operator()<float>() : f.template operator()<double>();
}
// Calls f.operator()<V>() with the class of physics_coordinates.h.
template <class F>
decltype(auto) with_vector(const VectorType& type, F&& f) {
  return with_scalar(type.scalar, [&]<class S>() -> decltype(auto) {
    switch (type.system) {
      case System::pt_eta_phi_m:
        return f.template operator()<coordinates::PtEtaPhiM<S>>();
      case System::pt_eta_phi_e:
        return f.template operator()<coordinates::PtEtaPhiE<S>>();
      case System::px_py_pz_m:
        return f.template operator()<coordinates::PxPyPzM<S>>();
      case System::xyz:
        return f.template operator()<coordinates::Xyz<S>>();
      default:
        return f.template operator()<coordinates::PxPyPzE<S>>();
    }
  });
}

// ---- Arrays of coordinates

using Arrays = std::vector<ValuesPtr>;  // scalars of equal type and size, possibly constant

// The coordinates of records that are vectors: their floating-point numbers.
Arrays coordinates_of(const Values& vectors);
// A vector of zeros for every row.
ValuesPtr make_zero(const ValueType& type, std::size_t count);
// Makes records of their coordinates; `type` is that of the records.
ValuesPtr make_vectors(const ValueType& type, std::size_t count, const Arrays& arrays);
// A member of each vector, in the vectors' scalar type.
ValuesPtr member_of(BlockMemory& memory, const VectorType& type, const Values& vectors, Member member);
// x, y, z, and for four-vectors e.
Arrays cartesian_of(BlockMemory& memory, const VectorType& type, const Values& vectors);
// The vectors of x, y, z (and e).
Arrays from_cartesian(BlockMemory& memory, const VectorType& type, std::size_t count, Arrays cartesian);
// Converts to float or double.
ValuesPtr as_scalar(BlockMemory& memory, const ValuesPtr& values, ElementType scalar);

// Reads batches of vectors from their arrays.
template <class V>
class Reader {
 public:
  using S = typename V::Scalar;
  explicit Reader(std::span<const ValuesPtr> arrays) {
    for (std::size_t k = 0; k < V::size; ++k) {
      data_[k] = arrays[k]->template as<S>();
      step_[k] = arrays[k]->constant ? 0 : 1;
    }
  }
  S get(std::size_t k, std::size_t i) const { return data_[k][i * step_[k]]; }
  Batch<S> get(std::size_t k, std::size_t begin, std::size_t count) const {
    return {count, data_[k] + begin * step_[k], step_[k]};
  }
  V vectors(std::size_t begin, std::size_t count) const {
    const auto part = [&](std::size_t k) { return get(k, begin, count); };
    if constexpr (V::size == 3) {
      return V{{part(0), part(1), part(2)}};
    } else {
      return V{{part(0), part(1), part(2)}, part(3)};
    }
  }

 private:
  std::array<const S*, V::size> data_{};
  std::array<std::size_t, V::size> step_{};
};

// Arrays for new vectors.
template <class V>
class ComponentWriter {
 public:
  using S = typename V::Scalar;
  ComponentWriter(BlockMemory& memory, std::size_t count) : count_(count) {
    for (std::size_t k = 0; k < V::size; ++k) std::tie(data_[k], owners_[k]) = memory.array<S>(count);
  }
  void put(std::size_t begin, const V& vectors) const {
    const auto coordinates = vectors.coordinates();
    for (std::size_t k = 0; k < V::size; ++k)
      std::copy_n(coordinates[k]->data(), coordinates[k]->count(), data_[k] + begin);
  }
  S* data(std::size_t k) const { return data_[k]; }
  // The vectors stored so far.
  V vectors(std::size_t begin, std::size_t count) const {
    const auto part = [&](std::size_t k) { return Batch<S>(count, data_[k] + begin, 1); };
    if constexpr (V::size == 3) {
      return V{{part(0), part(1), part(2)}};
    } else {
      return V{{part(0), part(1), part(2)}, part(3)};
    }
  }
  Arrays take() {
    Arrays arrays;
    for (std::size_t k = 0; k < V::size; ++k)
      arrays.push_back(make_scalars(element_of<S>(), count_, data_[k], std::move(owners_[k])));
    return arrays;
  }

 private:
  std::size_t count_;
  std::array<S*, V::size> data_{};
  std::array<std::shared_ptr<void>, V::size> owners_{};
};

// out[i] = f(in[0][i], in[1][i], ...); all of `in` are of type S.
template <class S, class R, std::size_t n, class F>
ValuesPtr map_arrays(BlockMemory& memory, std::size_t count, const std::array<ValuesPtr, n>& in, F f) {
  auto [out, owner] = memory.array<R>(count);
  [&]<std::size_t... k>(std::index_sequence<k...>) {
    const lists::ScalarView<S> views[] = {lists::ScalarView<S>(*in[k])...};
    for (std::size_t i = 0; i < count; ++i) out[i] = f(views[k][i]...);
  }(std::make_index_sequence<n>{});
  return make_scalars(element_of<R>(), count, out, std::move(owner));
}

// ---- Rows and lists of vectors

// Arguments of one call, as flat arrays of `count` elements each: rows, or the items of all lists, where
// scalars are repeated for every item.
struct Flat {
  std::vector<ValuesPtr> arguments;
  std::size_t count = 0;
  ValuesPtr shape;  // the lists; null without lists

  // A result in the shape of the arguments.
  ValuesPtr wrap(ValuesPtr result) const;
};
Flat flatten(const CallContext& context, std::span<const ValuesPtr> arguments, std::string_view name);
// The type of such a result, `item` within lists or alone.
ValueType wrapped_type(const Call& call, ValueType item);
// Why the shapes of the arguments do not match; empty if they do.
std::string misshape(const Call& call);

// ROOT::Math::Boost: a record of its velocity, an XYZVector.
bool is_boost(const ValueType& type);
// Of a vector and a velocity, or such a record.
Bound vector_boost(const Call& call);

// Vectors in the plane, which are of no system: TVector2 (physics_plane.cpp).
bool has_plane_vectors(const Call& call);
const ValueType& plane_vector();
Bound plane_operator(const Call& call);
// Of the method of this name, ".Phi".
Bound plane_method(const Call& call, std::string_view name);
// From the class of a file to that of expressions; null for other types.
KernelPtr plane_conversion(const ValueType& from, const ValueType& to);

// Parts of the table: physics_members.cpp, physics_pairs.cpp and physics_plane.cpp.
std::vector<Function> member_functions();
std::vector<Function> pair_functions();
std::vector<Function> plane_functions();

}  // namespace colonnade::frame

#endif
