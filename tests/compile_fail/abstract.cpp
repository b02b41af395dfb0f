// An abstract class.
// EXPECT: values of an abstract class cannot be stored
#include "colonnade/field_types.h"

struct Shape {
  virtual ~Shape() = default;
  virtual float area() const = 0;
  float scale = 1;
};
COLONNADE_DESCRIBE_STRUCT(Shape, (), scale)
auto field = colonnade::make_field<std::unique_ptr<Shape>>("x");
