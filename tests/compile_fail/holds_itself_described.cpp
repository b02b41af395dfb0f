// Two described classes that hold each other.
// EXPECT: a class that holds values of itself
#include "colonnade/field_types.h"

class Parent;
class Child {
 public:
  std::map<int, std::unique_ptr<Parent>> parents;
};
class Parent {
  Child child_;
  COLONNADE_DESCRIBE(Parent, (), child_)
};
COLONNADE_DESCRIBE_STRUCT(Child, (), parents)
auto field = colonnade::make_field<std::vector<Parent>>("x");
