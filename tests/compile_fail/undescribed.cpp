// Private members without a description.
// EXPECT: neither a plain aggregate nor described: put COLONNADE_DESCRIBE
#include "colonnade/field_types.h"

class Track {
 public:
  Track() = default;
  float pt() const { return pt_; }

 private:
  float pt_ = 0;
};
auto field = colonnade::make_field<std::vector<Track>>("x");
