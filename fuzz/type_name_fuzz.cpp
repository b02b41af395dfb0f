// Fuzzes the type-name parser: any text gives a name or an Error of kind `schema`, and names are stable:
// parsing a printed name gives the same tree, and normalising a normalised name changes nothing.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "colonnade/error.h"
#include "field/type_name.h"

namespace {

void require(bool condition) {
  if (!condition) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace field = colonnade::field;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    const field::TypeName tree = field::parse_type_name(text);
    const std::string printed = to_string(tree);
    if (printed.size() <= field::max_type_name_length) require(field::parse_type_name(printed) == tree);

    const field::NormalizedName once = field::normalize(text);
    const field::NormalizedName twice = field::normalize(once.name);
    require(twice.name == once.name && twice.alias.empty());
    if (!once.alias.empty()) require(field::normalize(once.alias).name == once.name);
  } catch (const colonnade::Error& error) {
    require(error.kind() == colonnade::ErrorKind::schema);
  }
  return 0;
}
