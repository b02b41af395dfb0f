// Declarations that the physics functions share with those over lists.
#ifndef COLONNADE_FRAME_FUNCTIONS_PHYSICS_H
#define COLONNADE_FRAME_FUNCTIONS_PHYSICS_H

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "frame/expression/function.h"

namespace colonnade::frame {

// Sum and Mean for lists of records: physics_vectors.cpp.
Bound vector_sum(const Call& call);
Bound vector_mean(const Call& call);

// Functions of two vectors, which physics_functions() also offers under the coordinate functions'
// names.
Bound vector_delta_phi(const Call& call);
Bound vector_delta_r(const Call& call);
Bound vector_delta_r2(const Call& call);
Bound vector_angle(const Call& call);
Bound vector_mass(const Call& call);
Bound vector_dot(const Call& call);
bool has_vectors(const Call& call);

// The record of a class by its name, "Math::PtEtaPhiMVector" or "Math::LorentzVector<...>", with or without
// "ROOT::".
std::optional<ValueType> vector_class_of_name(std::string_view name);
// What the coordinates of a vector are called, and the class with these coordinates of double precision.
struct VectorParts {
  std::string_view made;
  std::span<const std::string_view> names;
};
std::optional<VectorParts> parts_of_vector(const ValueType& type);
// True of TVector2.
bool is_plane_vector(const ValueType& type);
// From one kind of vectors to another of as many coordinates, as C++ converts implicitly; null for other
// types.
KernelPtr vector_conversion(const ValueType& from, const ValueType& to);

// Constructors, members, VectorUtil.
std::vector<Function> vector_functions();

}  // namespace colonnade::frame

#endif
