// The value types that a data set can hold and the standard library lacks, and ReadRule, which converts
// stored values of an older class to the current class. All are plain values: their owner decides which
// threads may use them.
#ifndef COLONNADE_TYPES_H
#define COLONNADE_TYPES_H

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

namespace colonnade {

// A double that is stored with the precision of a float: ROOT's Double32_t. Use it like a double.
struct Double32 {
  double value = 0;

  constexpr Double32() = default;
  constexpr Double32(double number) : value(number) {}
  constexpr operator const double&() const noexcept { return value; }
  constexpr operator double&() noexcept { return value; }
};

// A std::vector that is stored as ROOT::VecOps::RVec<T>, the vector of ROOT's data frames.
template <class T>
struct RVec : std::vector<T> {
  using std::vector<T>::vector;
};

// The number of items in a collection, without the items: the type of a projected field on a collection. Size
// is the width in memory; a file stores no width.
template <class Size>
  requires(std::same_as<Size, std::uint32_t> || std::same_as<Size, std::uint64_t>)
struct Cardinality {
  Size value = 0;

  constexpr Cardinality() = default;
  constexpr Cardinality(Size count) : value(count) {}
  constexpr operator Size() const noexcept { return value; }
};

// A read rule computes members of T from stored members, after those that match by name were read:
//
//   template <> struct colonnade::ReadRule<ns::Track> {
//     struct Source { float px, py; };                             // stored members, by name
//     static void apply(const Source& in, ns::Track& out) { out.pt = std::hypot(in.px, in.py); }
//     // optional: another stored class that is accepted, and the class versions to which the rule applies
//     static constexpr std::string_view source_class = "ns::OldTrack";
//     static constexpr std::uint32_t min_version = 1, max_version = 3;
//   };
//
// Declare it before the first make_field<T>. apply() may throw; it is called by the thread that reads.
template <class T>
struct ReadRule;

}  // namespace colonnade

template <>
struct std::hash<colonnade::Double32> {
  std::size_t operator()(colonnade::Double32 number) const noexcept {
    return std::hash<double>{}(number.value);
  }
};

#endif
