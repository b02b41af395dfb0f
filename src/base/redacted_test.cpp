// Messages contain no secrets, and lose nothing else.
#include "base/redacted.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "base/warning.h"
#include "colonnade/error.h"

namespace colonnade {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Redacted, UsersOfUris) {
  EXPECT_EQ(redacted("https://user:secret@host:1/a"), "https://***@host:1/a");
  EXPECT_EQ(redacted("root://user@host//a"), "root://***@host//a");
  EXPECT_EQ(redacted("cannot read s3://key:a?b#c@d@bucket/x, sorry"), "cannot read s3://***@bucket/x, sorry");
  EXPECT_EQ(redacted("\"http://u:p@h\" and 'http://v@i'"), "\"http://***@h\" and 'http://***@i'");
}

TEST(Redacted, ParametersOfUris) {
  EXPECT_EQ(redacted("https://h/k?X-Amz-Credential=AKIA%2F2024&a=b&X-Amz-Signature=0123#f"),
            "https://h/k?X-Amz-Credential=***&a=b&X-Amz-Signature=***");
  EXPECT_EQ(redacted("?AWSAccessKeyId=A&Signature=b%2Bc%3D&Expires=1"),
            "?AWSAccessKeyId=***&Signature=***&Expires=1");
  EXPECT_EQ(redacted("root://h//f?authz=Bearer eyJ0"), "root://h//f?authz=***");
  EXPECT_EQ(redacted("rados://p/n?key=AQB==&id=me"), "rados://p/n?key=***&id=me");
  EXPECT_EQ(redacted("?x%5Famz%2Dsignature=12"), "?x%5Famz%2Dsignature=***");
  EXPECT_EQ(redacted("to=http%3A%2F%2Fh%3Fa%3D1%26token%3Dabc%26b%3D2"),
            "to=http%3A%2F%2Fh%3Fa%3D1%26token%3D***%26b%3D2");
}

TEST(Redacted, Headers) {
  EXPECT_EQ(redacted("x-amz-security-token: IQoJb3==\nhost: h"), "x-amz-security-token: ***\nhost: h");
  EXPECT_EQ(redacted("Authorization: AWS4-HMAC-SHA256 Credential=A/b, Signature=c\nhost:h"),
            "Authorization: ***\nhost:h");
  EXPECT_EQ(redacted("AWS4-HMAC-SHA256 Credential=A/b, SignedHeaders=host, Signature=c"),
            "AWS4-HMAC-SHA256 Credential=***, SignedHeaders=host, Signature=***");
  EXPECT_EQ(redacted(R"({"aws_secret_access_key": "abc", "n": 1})"),
            R"({"aws_secret_access_key": "***", "n": 1})");
}

TEST(Redacted, LeavesTheRest) {
  for (const char* text : {"", "column 3: the signature: wrong", "key=value", "a=b&c=d",
                           "s3://bucket/someone@example.org/f.root", "file:///a:b=c", "12:30:00 h", "100%",
                           "%", "%3", "://", "= : %3D", "password:", "?token=", "obj:///a@b", "daos://pool/c",
                           "there is no field \"key\" in 'f?x=1'", "user@host"})
    EXPECT_EQ(redacted(text), text);
}

TEST(Redacted, SecretsThatAreKnown) {
  EXPECT_EQ(redacted("a SECRET, a SECRETSECRET", {"SECRET"}), "a ***, a ******");
  EXPECT_EQ(redacted("a b", {"", "a"}), "a b");
}

TEST(Redacted, InEveryErrorAndWarning) {
  const Error error(ErrorKind::io, "cannot read http://u:hidden1@h", "look at ?X-Amz-Signature=hidden2",
                    {.uri = "s3://b/k?X-Amz-Security-Token=hidden3"});
  for (const std::string& text : {std::string(error.what()), error.problem(), error.advice(),
                                  error.context().uri, std::string(error.with({.field = "f"}).what())})
    EXPECT_THAT(text, Not(HasSubstr("hidden")));
  EXPECT_THAT(error.what(), HasSubstr("s3://b/k?X-Amz-Security-Token=***"));
  std::string warned;
  const WarningHandler before = set_warning_handler([&](const std::string& text) { warned = text; });
  warn("http://u:hidden@h/x is slow");
  set_warning_handler(before);
  EXPECT_EQ(warned, "http://***@h/x is slow");
}

// Random texts: no secret remains, everything else does, and redacting twice changes
// nothing.
TEST(Redacted, RandomTexts) {
  std::mt19937 random(20261122);
  const auto one_of = [&](std::initializer_list<const char*> texts) {
    return std::string(texts.begin()[random() % texts.size()]);
  };
  for (int round = 0; round < 20'000; ++round) {
    std::string text;
    std::string clean;
    const std::size_t parts = 1 + random() % 5;
    for (std::size_t i = 0; i < parts; ++i) {
      const std::string secret = "SeCrEt" + one_of({"", "+/==", "%2F%2B", ".x-y_z~"});
      const std::string plain = one_of({"plain", "a/b", "x:1", "%20", "\"q\"", "s3://b/k", "id@home"});
      switch (random() % 4) {
        case 0: {
          const std::string host = one_of({"host", "h:1/p", "[::1]/q"});
          text += "https://" + one_of({"", "user:"}) + secret + "@" + host + " ";
          if (secret.find('/') != std::string::npos) {  // would begin the path
            text.resize(text.rfind("https://"));
            break;
          }
          clean += "https://***@" + host + " ";
          break;
        }
        case 1: {
          const std::string name =
              one_of({"X-Amz-Signature", "x-amz-security-token", "token", "sig", "authz"});
          text += "u?" + name + "=" + secret + "\n";
          clean += "u?" + name + "=***\n";
          break;
        }
        case 2:
          text += "Authorization: Bearer " + secret + "\n";
          clean += "Authorization: ***\n";
          break;
        default:
          text += plain + " ";
          clean += plain + " ";
      }
    }
    ASSERT_EQ(redacted(text), clean) << text;
    ASSERT_EQ(redacted(clean), clean);
  }
}

}  // namespace
}  // namespace colonnade
