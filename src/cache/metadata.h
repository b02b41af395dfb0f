// The metadata of a data set in a home: anchor, header, footer and page lists as they are stored.
#ifndef COLONNADE_CACHE_METADATA_H
#define COLONNADE_CACHE_METADATA_H

#include <optional>
#include <vector>

#include "base/bytes.h"
#include "colonnade/descriptor.h"

namespace colonnade::cache {

struct Metadata {
  struct Blob {
    Locator locator;
    Bytes bytes;
  };
  Anchor anchor;
  std::vector<Blob> blobs;  // header, footer, page lists in their order
};

Bytes to_bytes(const Metadata& metadata);
Metadata read_metadata(ByteSpan bytes);  // throws ErrorKind::format, checksum
// Parses all of them; throws ErrorKind::format.
Descriptor descriptor_of(const Metadata& metadata);

}  // namespace colonnade::cache

#endif
