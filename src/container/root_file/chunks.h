// Payloads above the maximum key size: splitting into chunks, and reading them back.
//
// Every chunk but the last is max_key_size bytes long. The first one ends in the offsets of all others (64
// bits each, little-endian); a locator gives the offset of the first chunk and the size of the whole payload.
//
//   first    [ data ............ | offset of 2nd | offset of 3rd ]
//   second   [ data ............................................ ]
//   third    [ data .... ]
#ifndef COLONNADE_CONTAINER_ROOT_FILE_CHUNKS_H
#define COLONNADE_CONTAINER_ROOT_FILE_CHUNKS_H

#include <cstdint>

#include "base/bytes.h"
#include "colonnade/descriptor.h"
#include "container/container.h"
#include "io/random_access_file.h"

namespace colonnade::container {

struct ChunkPlan {
  std::uint64_t chunks = 1;
  std::uint64_t first_data = 0;    // payload bytes in the first chunk
  std::uint64_t offset_bytes = 0;  // after the data
};

// Throws `kind` if the offsets do not fit the first chunk. max_key_size 0 means: never split.
ChunkPlan plan_chunks(std::uint64_t size, std::uint64_t max_key_size, ErrorKind kind);

// ReadContainer::read_blob for files.
void read_chunked_blob(const io::RandomAccessFile& file, const Locator& locator, std::uint64_t max_key_size,
                       MutableByteSpan into);

// ReadContainer::read_blobs for files: if concurrent requests pay off, unsplit blobs are read
// together.
void read_chunked_blobs(const io::RandomAccessFile& file, std::span<const ReadContainer::BlobRead> blobs,
                        std::uint64_t max_key_size);

}  // namespace colonnade::container

#endif
