// See s3_signing.h.
#include "io/s3/s3_signing.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#ifdef COLONNADE_HAS_HTTP
#include <openssl/evp.h>
#include <openssl/hmac.h>
#endif

#include "base/fork_pause.h"

namespace colonnade::io {
namespace {

// Blanks around a value do not count, and several within are one.
std::string trimmed(std::string_view value) {
  std::string result;
  for (char letter : value) {
    if (letter != ' ' && letter != '\t')
      result.push_back(letter);
    else if (!result.empty() && result.back() != ' ')
      result.push_back(' ');
  }
  if (!result.empty() && result.back() == ' ') result.pop_back();
  return result;
}

#ifdef COLONNADE_HAS_HTTP

Bytes digest(const EVP_MD* algorithm, std::span<const ByteSpan> parts) {
  const ForkPause pause;  // OpenSSL has locks
  const std::unique_ptr<EVP_MD_CTX, decltype(&::EVP_MD_CTX_free)> context(::EVP_MD_CTX_new(),
                                                                          &::EVP_MD_CTX_free);
  if (context == nullptr || algorithm == nullptr ||
      ::EVP_DigestInit_ex(context.get(), algorithm, nullptr) != 1)
    return {};
  for (ByteSpan part : parts)
    if (::EVP_DigestUpdate(context.get(), part.data(), part.size()) != 1) return {};
  Bytes result(static_cast<std::size_t>(::EVP_MD_size(algorithm)));
  unsigned size = 0;
  if (::EVP_DigestFinal_ex(context.get(), reinterpret_cast<unsigned char*>(result.data()), &size) != 1)
    return {};
  return result;
}

#endif

[[noreturn]] void fail_without_hash() {
  throw Error(ErrorKind::unsupported, "requests to S3 cannot be signed: OpenSSL has no SHA-256",
              "a build with libcurl and OpenSSL");
}

}  // namespace

std::string canonical_query(S3Query query) {
  for (auto& [name, value] : query) {
    name = url_encoded(name, false);
    value = url_encoded(value, false);
  }
  std::sort(query.begin(), query.end());
  std::string result;
  for (const auto& [name, value] : query)
    result += fmt::format("{}{}={}", result.empty() ? "" : "&", name, value);
  return result;
}

std::string hex(ByteSpan bytes) {
  static constexpr char digits[] = "0123456789abcdef";
  std::string result;
  result.reserve(2 * bytes.size());
  for (std::byte byte : bytes) {
    const auto code = std::to_integer<unsigned>(byte);
    result.push_back(digits[code >> 4]);
    result.push_back(digits[code & 15]);
  }
  return result;
}

#ifdef COLONNADE_HAS_HTTP

Bytes sha256(std::span<const ByteSpan> parts) {
  Bytes result = digest(::EVP_sha256(), parts);
  if (result.empty()) fail_without_hash();
  return result;
}

Bytes sha1(ByteSpan bytes) {
  return digest(::EVP_sha1(), std::array{bytes});
}
Bytes md5(ByteSpan bytes) {
  return digest(::EVP_md5(), std::array{bytes});
}

Bytes hmac_sha256(ByteSpan key, std::string_view text) {
  const ForkPause pause;
  Bytes result(32);
  unsigned size = 0;
  const unsigned char* done = ::HMAC(::EVP_sha256(), key.data(), static_cast<int>(key.size()),
                                     reinterpret_cast<const unsigned char*>(text.data()), text.size(),
                                     reinterpret_cast<unsigned char*>(result.data()), &size);
  if (done == nullptr || size != result.size()) fail_without_hash();
  return result;
}

#else

Bytes sha256(std::span<const ByteSpan>) {
  fail_without_hash();
}
Bytes sha1(ByteSpan) {
  return {};
}
Bytes md5(ByteSpan) {
  return {};
}
Bytes hmac_sha256(ByteSpan, std::string_view) {
  fail_without_hash();
}

#endif

std::string amz_date(std::time_t time) {
  std::tm parts{};
  ::gmtime_r(&time, &parts);
  return fmt::format("{:04}{:02}{:02}T{:02}{:02}{:02}Z", parts.tm_year + 1900, parts.tm_mon + 1,
                     parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec);
}

std::string authorization(const S3Signing& signing, HttpHeaders headers, const S3Credentials& credentials) {
  std::sort(headers.begin(), headers.end());
  std::string lines;
  std::string names;
  for (const auto& [name, value] : headers) {
    lines += fmt::format("{}:{}\n", name, trimmed(value));
    names += (names.empty() ? "" : ";") + name;
  }
  const std::string canonical = fmt::format("{}\n{}\n{}\n{}\n{}\n{}", name_of(signing.method), signing.path,
                                            signing.query, lines, names, signing.payload_hash);
  const std::string when = amz_date(signing.time);
  const std::string day = when.substr(0, 8);
  const std::string scope = fmt::format("{}/{}/{}/aws4_request", day, signing.region, signing.service);
  const std::string to_sign =
      fmt::format("AWS4-HMAC-SHA256\n{}\n{}\n{}", when, scope, hex(sha256(std::array{as_bytes(canonical)})));

  Bytes key = hmac_sha256(as_bytes("AWS4" + credentials.secret_key.reveal()), day);
  key = hmac_sha256(key, signing.region);
  key = hmac_sha256(key, signing.service);
  key = hmac_sha256(key, "aws4_request");
  return fmt::format("AWS4-HMAC-SHA256 Credential={}/{}, SignedHeaders={}, Signature={}",
                     credentials.access_key, scope, names, hex(hmac_sha256(key, to_sign)));
}

}  // namespace colonnade::io
