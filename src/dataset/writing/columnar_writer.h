// Writing whole arrays straight to the columns; colonnade/columnar.h lists the arrays of each field.
#ifndef COLONNADE_DATASET_WRITING_COLUMNAR_WRITER_H
#define COLONNADE_DATASET_WRITING_COLUMNAR_WRITER_H

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "colonnade/columnar.h"
#include "colonnade/field.h"

namespace colonnade::dataset {

// Whether values of a field have arrays: those of records without members do not.
bool has_arrays(const Field& field);

// The arrays of one batch, matched with the fields of a model and checked against each other; then consumed
// in blocks of entries.
class ColumnarInput {
 public:
  // Throws ErrorKind::usage / type if an array is missing, superfluous, of the wrong kind or length, or if
  // offsets or tags are invalid. Nothing is written before that.
  ColumnarInput(const std::vector<std::unique_ptr<Field>>& fields, std::span<const NamedArray> arrays);
  ~ColumnarInput();

  std::uint64_t entries() const noexcept { return entries_; }
  std::uint64_t position() const noexcept { return position_; }
  // The size of the next `count` entries in memory.
  std::uint64_t bytes(std::uint64_t count) const;
  // Appends the next `count` entries to the fields' columns, which may refer to the arrays until
  // PageSink::keep_lent().
  void append(std::uint64_t count);

 private:
  struct FieldInput;
  class Matcher;
  std::vector<std::unique_ptr<FieldInput>> nodes_;
  std::uint64_t entries_ = 0;
  std::uint64_t position_ = 0;
};

}  // namespace colonnade::dataset

#endif
