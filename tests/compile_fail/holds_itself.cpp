// A tree.
// EXPECT: a class that holds values of itself
#include "colonnade/field_types.h"

struct Node {
  int value = 0;
  std::vector<Node> children;
};
auto field = colonnade::make_field<Node>("x");
