// Signature Version 4 of AWS, which identifies the sender of a request. A request is brought into one
// canonical form, and its hash is signed with a key that is good for one day, region and service:
//
//   canonical request = method \n path \n query (sorted) \n headers (sorted, lower case) \n their names \n
//                       hash of the body or UNSIGNED-PAYLOAD
//   text to sign      = AWS4-HMAC-SHA256 \n time \n day/region/service/aws4_request \n hash of the former
//   key               = HMAC(HMAC(HMAC(HMAC("AWS4" secret, day), region), service), "aws4_request")
//
// Why not libcurl's own signatures: docs/decisions/0007-own-s3-signatures.md.
#ifndef COLONNADE_IO_S3_S3_SIGNING_H
#define COLONNADE_IO_S3_S3_SIGNING_H

#include <ctime>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "io/http/http_engine.h"
#include "io/http/http_url.h"
#include "io/s3/s3_credentials.h"

namespace colonnade::io {

using S3Query = std::vector<std::pair<std::string, std::string>>;

std::string canonical_query(S3Query query);

std::string hex(ByteSpan bytes);
Bytes sha256(std::span<const ByteSpan> parts);
Bytes sha1(ByteSpan bytes);
Bytes md5(ByteSpan bytes);  // empty where the system forbids MD5
Bytes hmac_sha256(ByteSpan key, std::string_view text);

inline constexpr const char* unsigned_payload = "UNSIGNED-PAYLOAD";

struct S3Signing {
  HttpMethod method = HttpMethod::get;
  std::string path;   // encoded, from the first slash on
  std::string query;  // canonical_query()
  std::string region;
  std::string service = "s3";
  std::string payload_hash;  // in hex, or unsigned_payload
  std::time_t time = 0;
};
// The value of the header Authorization. `headers` must hold host, x-amz-date and all others that are to be
// signed, names in lower case.
std::string authorization(const S3Signing& signing, HttpHeaders headers, const S3Credentials& credentials);
std::string amz_date(std::time_t time);  // 20130524T000000Z

}  // namespace colonnade::io

#endif
