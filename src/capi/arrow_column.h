// Columns on their way out: trees of arrays that become Arrow C data without being copied.
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
using Present = std::vector<std::uint8_t>;  // 1 for each value that is there, 0 for one that is not

// An array and what is in it. Booleans have a byte each until they leave.
struct ArrowColumn {
  std::string format;  // as the C data interface spells types: "f", "U", "+L"
  std::string name;
  bool nullable = false;
  std::int64_t length = 0;
  Present present;                   // empty: all values are there
  std::vector<SharedBytes> buffers;  // without the one that says which values are there
  std::vector<ArrowColumn> children;
};

ArrowColumn numbers(ElementType element, std::size_t count, SharedBytes values);
// Text i is the characters from offsets[i] to offsets[i + 1]. Throws ErrorKind::conversion for what is not
// UTF-8.
ArrowColumn texts(std::size_t count, SharedBytes offsets, const char* characters, SharedBytes owner);
ArrowColumn lists(std::size_t count, SharedBytes offsets, ArrowColumn items);
ArrowColumn fixed_lists(std::size_t count, std::uint64_t size, ArrowColumn items);
ArrowColumn record(std::size_t count, std::vector<std::pair<std::string, ArrowColumn>> members);
// A value for each of `present`, those of `values` in order where it is 1.
ArrowColumn optionals(const Present& present, ArrowColumn values);
// Value i is the next one of alternatives[tags[i] - 1], missing for tag 0.
ArrowColumn variants(std::span<const std::int32_t> tags, std::vector<ArrowColumn> alternatives);
// What a pass computed.
ArrowColumn column_of(const ValuesPtr& values);

void to_schema(const ArrowColumn& column, ArrowSchema* out);
void to_array(ArrowColumn column, ArrowArray* out);

}  // namespace colonnade::capi

#endif
