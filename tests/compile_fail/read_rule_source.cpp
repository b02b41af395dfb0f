// A read rule whose source cannot be stored.
// EXPECT: neither a plain aggregate nor described
#include "colonnade/field_types.h"

struct Track {
  float pt = 0;
};
template <>
struct colonnade::ReadRule<Track> {
  class Source {
    float px = 0;
  };
  static void apply(const Source&, Track&) {}
};
auto field = colonnade::make_field<Track>("x");
