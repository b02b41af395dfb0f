// The vectors are those of AWS's documentation ("Signature Calculations for the Authorization Header") and
// its test suite of Signature Version 4; sums are those of the standards.
#include "io/s3/s3_signing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "base/base64.h"

namespace colonnade::io {
namespace {

using testing::EndsWith;
using testing::HasSubstr;

constexpr const char* empty_hash = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
constexpr std::time_t friday = 1369353600;  // 2013-05-24T00:00:00Z

S3Credentials example() {
  return {"AKIAIOSFODNN7EXAMPLE", Secret("wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"), {}};
}

std::string sign(S3Signing signing, HttpHeaders headers) {
  signing.region = "us-east-1";
  signing.time = friday;
  headers.emplace_back("host", "examplebucket.s3.amazonaws.com");
  headers.emplace_back("x-amz-content-sha256", signing.payload_hash);
  headers.emplace_back("x-amz-date", amz_date(friday));
  return authorization(signing, std::move(headers), example());
}

class Signatures : public testing::Test {
 protected:
  void SetUp() override {
    if (!HttpEngine::is_built_in()) GTEST_FAIL() << "this build has no OpenSSL";
  }
};

TEST_F(Signatures, AreThoseOfAwsForGet) {
  const std::string value =
      sign({.path = "/test.txt", .query = "", .payload_hash = empty_hash}, {{"range", "bytes=0-9"}});
  EXPECT_THAT(value, HasSubstr("Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request"));
  EXPECT_THAT(value, HasSubstr("SignedHeaders=host;range;x-amz-content-sha256;x-amz-date"));
  EXPECT_THAT(value, EndsWith("Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"));
}

TEST_F(Signatures, AreThoseOfAwsForPut) {
  const std::string value =
      sign({.method = HttpMethod::put,
            .path = "/" + url_encoded("test$file.text", true),
            .payload_hash = "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072"},
           {{"date", "Fri, 24 May 2013 00:00:00 GMT"}, {"x-amz-storage-class", "REDUCED_REDUNDANCY"}});
  EXPECT_THAT(value, EndsWith("Signature=98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd"));
}

TEST_F(Signatures, AreThoseOfAwsForQueries) {
  EXPECT_THAT(
      sign({.path = "/", .query = canonical_query({{"lifecycle", ""}}), .payload_hash = empty_hash}, {}),
      EndsWith("Signature=fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"));
  EXPECT_THAT(sign({.path = "/",
                    .query = canonical_query({{"prefix", "J"}, {"max-keys", "2"}}),
                    .payload_hash = empty_hash},
                   {}),
              EndsWith("Signature=34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"));
}

// "get-header-value-trim" and "get-vanilla" of the test suite.
TEST_F(Signatures, AreThoseOfTheTestSuite) {
  const S3Credentials credentials{"AKIDEXAMPLE", Secret("wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"), {}};
  S3Signing signing{.path = "/", .region = "us-east-1", .service = "service", .payload_hash = empty_hash};
  signing.time = 1440938160;  // 2015-08-30T12:36:00Z
  const HttpHeaders vanilla{{"host", "example.amazonaws.com"}, {"x-amz-date", "20150830T123600Z"}};
  EXPECT_THAT(authorization(signing, vanilla, credentials),
              EndsWith("Signature=5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"));
  HttpHeaders trimmed = vanilla;
  trimmed.insert(trimmed.begin(), {{"my-header1", " value1"}, {"my-header2", " \"a   b   c\""}});
  EXPECT_THAT(authorization(signing, trimmed, credentials),
              EndsWith("Signature=acc3ed3afb60bb290fc8d2dd0098b9911fcaa05412b367055dee359757a9c736"));
}

TEST_F(Signatures, RestOnKnownSums) {
  EXPECT_EQ(hex(sha256({})), empty_hash);
  const std::array parts{as_bytes("a"), ByteSpan(), as_bytes("bc")};
  EXPECT_EQ(hex(sha256(parts)), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(hex(hmac_sha256(as_bytes("Jefe"), "what do ya want for nothing?")),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_EQ(to_base64(md5(as_bytes("abc"))), "kAFQmDzST7DWlj99KOF/cg==");
}

TEST(Encoding, IsThatOfUrls) {
  EXPECT_EQ(url_encoded("a/b c+d~e_f-g.h%\xc3\xa9", true), "a/b%20c%2Bd~e_f-g.h%25%C3%A9");
  EXPECT_EQ(url_encoded("a/b", false), "a%2Fb");
  EXPECT_EQ(canonical_query({{"uploads", ""}, {"prefix", "a/b"}, {"a b", "=&"}}),
            "a%20b=%3D%26&prefix=a%2Fb&uploads=");
  EXPECT_EQ(canonical_query({}), "");
}

}  // namespace
}  // namespace colonnade::io
