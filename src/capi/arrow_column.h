// Exported columns: trees of arrays that become Arrow C data without copies.
#ifndef COLONNADE_CAPI_ARROW_COLUMN_H
#define COLONNADE_CAPI_ARROW_COLUMN_H

#include <colonnade.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "colonnade/block.h"
#include "colonnade/column_type.h"

namespace colonnade::capi {

using SharedBytes = std::shared_ptr<const void>;
using Present = std::vector<std::uint8_t>;  // 1 for each value that is present, 0 for a missing one

// An array and its children. Booleans take a byte each until they are exported.
struct ArrowColumn {
  std::string format;  // a format string of the C data interface: "f", "U", "+L"
  std::string name;
  bool nullable = false;
  std::int64_t length = 0;
  Present present;                   // empty: no value is missing
  std::vector<SharedBytes> buffers;  // without the validity bitmap
  std::vector<ArrowColumn> children;
};

ArrowColumn numbers(ElementType element, std::size_t count, SharedBytes values);
// Text i has the characters from offsets[i] to offsets[i + 1]. Throws ErrorKind::conversion unless they are
// UTF-8.
ArrowColumn texts(std::size_t count, SharedBytes offsets, const char* characters, SharedBytes owner);
ArrowColumn lists(std::size_t count, SharedBytes offsets, ArrowColumn items);
ArrowColumn fixed_lists(std::size_t count, std::uint64_t size, ArrowColumn items);
ArrowColumn record(std::size_t count, std::vector<std::pair<std::string, ArrowColumn>> members);
// A value for each element of `present`: the next one of `values` if it is 1, else a missing one.
ArrowColumn optionals(const Present& present, ArrowColumn values);
// Value i is the next one of alternatives[tags[i] - 1], missing for tag 0.
ArrowColumn variants(std::span<const std::int32_t> tags, std::vector<ArrowColumn> alternatives);
// From the values that a pass computed.
ArrowColumn column_of(const ValuesPtr& values);

void to_schema(const ArrowColumn& column, ArrowSchema* out);
void to_array(ArrowColumn column, ArrowArray* out);

}  // namespace colonnade::capi

#endif
