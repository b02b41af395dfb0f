// The write options of the C interface.
#ifndef COLONNADE_CAPI_WRITE_OPTIONS_H
#define COLONNADE_CAPI_WRITE_OPTIONS_H

#include "capi/boundary.h"
#include "colonnade/options.h"

namespace colonnade::capi {

inline WriteMode write_mode(const colonnade_write_options& given) {
  switch (given.mode) {
    case COLONNADE_WRITE_CREATE:
      return WriteMode::create;
    case COLONNADE_WRITE_REPLACE:
      return WriteMode::recreate;
    case COLONNADE_WRITE_ADD:
      return WriteMode::update;
    default:
      throw Error(ErrorKind::usage, "mode has no such value", "one of COLONNADE_WRITE_...");
  }
}

inline WriteOptions write_options(const colonnade_write_options& given) {
  WriteOptions options;
  if (given.compression != nullptr) options.compression = Compression(std::string(given.compression));
  if (given.cluster_size > 0) {
    options.approximate_cluster_size = static_cast<std::size_t>(given.cluster_size);
    options.max_uncompressed_cluster_size =
        std::max(options.max_uncompressed_cluster_size, options.approximate_cluster_size);
  }
  options.description = text_or(given.description, "");
  options.replace_at_close = true;
  return options;
}

}  // namespace colonnade::capi

#endif
