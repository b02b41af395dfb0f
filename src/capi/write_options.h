// The write options of the C interface.
#ifndef COLONNADE_CAPI_WRITE_OPTIONS_H
#define COLONNADE_CAPI_WRITE_OPTIONS_H

#include "capi/boundary.h"
#include "colonnade/options.h"

namespace colonnade::capi {

inline WriteOptions write_options(const colonnade_write_options& given) {
  WriteOptions options;
  if (given.compression != nullptr) options.compression = Compression(std::string(given.compression));
  if (given.cluster_size > 0) options.approximate_cluster_size = static_cast<std::size_t>(given.cluster_size);
  options.description = text_or(given.description, "");
  options.replace_at_close = true;
  return options;
}

}  // namespace colonnade::capi

#endif
