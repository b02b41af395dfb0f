// Where tests find the fixtures: see base/test_fixtures.h.
#include "base/test_fixtures.h"

std::filesystem::path colonnade::test_fixtures() {
  return COLONNADE_FIXTURES;
}
