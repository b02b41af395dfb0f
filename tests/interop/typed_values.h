// The types of tests/fixtures/fixture_classes.h, and compositions with them, as C++ types: fields, views and
// values of each through one interface, found by the name that a file stores.
#ifndef COLONNADE_TESTS_INTEROP_TYPED_VALUES_H
#define COLONNADE_TESTS_INTEROP_TYPED_VALUES_H

#include <colonnade/colonnade.h>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tokens.h"

namespace interop {

struct TypedCodec {
  std::string type;
  std::function<std::unique_ptr<colonnade::Field>(std::string_view name)> make;
  std::function<void(Tokens& tokens, void* value)> fill;
  std::function<void(std::string& out, const void* value)> print;
  // All values of a field as a JSON list, through View<T>; a value that does not convert is {"error": true}.
  std::function<std::string(colonnade::Reader& reader, const std::string& path)> read;
};

const std::vector<TypedCodec>& typed_codecs();
// Null if the type is not compiled in.
const TypedCodec* find_typed(std::string_view type);

}  // namespace interop

#endif
