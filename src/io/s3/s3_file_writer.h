// Writing an object in S3 as a file, on any client: what open_s3_for_writing() returns.
#ifndef COLONNADE_IO_S3_S3_FILE_WRITER_H
#define COLONNADE_IO_S3_S3_FILE_WRITER_H

#include <cstdint>
#include <memory>
#include <string>

#include "io/random_access_file.h"
#include "io/s3/s3_client.h"

namespace colonnade::io {

// How a file is cut into parts, before its size is known: parts are of one size for a while, then of twice
// that size, and so on, so that small files need little memory and the largest ones few enough parts.
struct S3PartPlan {
  std::uint64_t first_size = std::uint64_t{16} << 20;
  unsigned parts_per_size = 1000;
  unsigned max_parts = 10'000;

  struct PartRange {
    unsigned number = 0;  // from 1; 0: behind what can be written
    std::uint64_t begin = 0;
    std::uint64_t size = 0;
    std::uint64_t end() const noexcept { return begin + size; }
  };
  PartRange at(std::uint64_t offset) const noexcept;  // the part that has this byte
  PartRange numbered(unsigned number) const noexcept;
};

struct S3WriteLimits {
  S3PartPlan plan = {};
  unsigned uploads = 8;                             // at once
  std::uint64_t bytes = std::uint64_t{256} << 20;   // in them, if that makes at least two
  std::uint64_t max_file = std::uint64_t{5} << 40;  // bytes
};

// Begins the upload, which shows whether writing is allowed. It ends with an error unless `condition` is met.
// The queue must take limits.uploads requests.
std::unique_ptr<WritableFile> make_s3_writer(const std::string& uri, std::shared_ptr<const S3Client> client,
                                             const std::string& key, std::unique_ptr<S3Queue> queue,
                                             const S3WriteLimits& limits = {},
                                             const S3Condition& condition = {});

}  // namespace colonnade::io

#endif
