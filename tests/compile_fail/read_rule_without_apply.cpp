// A read rule that cannot be applied.
// EXPECT: ReadRule<T> needs static void apply\(const Source&, T&\)
#include "colonnade/field_types.h"

struct Track {
  float pt = 0;
};
template <>
struct colonnade::ReadRule<Track> {
  struct Source {
    float px = 0;
  };
  static void apply(Track&) {}
};
auto field = colonnade::make_field<Track>("x");
