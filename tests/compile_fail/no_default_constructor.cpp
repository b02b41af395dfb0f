// A described class that cannot be made.
// EXPECT: needs a public default constructor
#include "colonnade/field_types.h"

struct Track {
  explicit Track(float value) : pt(value) {}
  float pt;
};
COLONNADE_DESCRIBE_STRUCT(Track, (), pt)
auto field = colonnade::make_field<std::pair<int, std::vector<Track>>>("x");
