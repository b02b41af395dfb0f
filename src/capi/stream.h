// Makes Arrow streams from a sequence of batches.
#ifndef COLONNADE_CAPI_STREAM_H
#define COLONNADE_CAPI_STREAM_H

#include <memory>
#include <optional>

#include "capi/arrow_column.h"

namespace colonnade::capi {

class Batches {
 public:
  virtual ~Batches() = default;
  virtual ArrowColumn schema() = 0;               // a record without entries
  virtual std::optional<ArrowColumn> next() = 0;  // records; nothing after the last one
};

void to_stream(std::unique_ptr<Batches> batches, ArrowArrayStream* out);

}  // namespace colonnade::capi

#endif
