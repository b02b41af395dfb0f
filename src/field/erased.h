// Values of types known by name only: containers made of a field instead of a C++ type. Their memory layout
// is that of GCC's std::vector, std::optional and std::unique_ptr, so that a caller who knows the type may
// use it as such.
#ifndef COLONNADE_FIELD_ERASED_H
#define COLONNADE_FIELD_ERASED_H

#include <memory>
#include <string_view>
#include <vector>

#include "colonnade/field.h"

namespace colonnade::field {

// The proxy for `family`<item>. It keeps a copy of `item` to make and destroy items.
std::shared_ptr<const detail::CollectionProxy> make_erased_proxy(std::string_view family, const Field& item);

// Offsets and size of members laid out one after the other; `reversed` for std::tuple, whose last element
// comes first.
struct Layout {
  std::vector<std::size_t> offsets;
  detail::ValueOps ops;
};
Layout lay_out(const std::vector<std::unique_ptr<Field>>& members, bool reversed);

detail::VariantOps erased_variant_ops(const std::vector<std::unique_ptr<Field>>& alternatives);
detail::BitsetOps erased_bitset_ops(std::size_t bits);
detail::WrapperOps erased_wrapper_ops(const Field& inner);

}  // namespace colonnade::field

#endif
