// What S3Client and S3Queue have in common: how operations become calls, and what their answers mean.
#ifndef COLONNADE_IO_S3_S3_OPERATIONS_H
#define COLONNADE_IO_S3_S3_OPERATIONS_H

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "io/s3/s3_call.h"
#include "io/s3/s3_client.h"

namespace colonnade::io {

// The implementation of a client: what a queue needs of it.
class S3ClientWithCaller : public S3Client {
 public:
  virtual const S3Caller& caller() const noexcept = 0;
};
std::shared_ptr<const S3Client> make_s3_client(std::string bucket, S3Settings settings);

S3Call range_call(const std::string& key, std::uint64_t offset, MutableByteSpan into,
                  const std::string& etag);
// Throws what is wrong with the answer.
void check_range_answer(const S3Caller& caller, const S3Call& call, std::uint64_t offset,
                        const S3Answer& answer);

S3Call put_call(const std::string& key, std::span<const ByteSpan> parts);
S3Call part_call(const std::string& key, const std::string& upload, unsigned number,
                 std::span<const ByteSpan> parts);
// The etag; throws.
std::string check_put_answer(const S3Caller& caller, const S3Call& call, const S3Answer& answer);

}  // namespace colonnade::io

#endif
