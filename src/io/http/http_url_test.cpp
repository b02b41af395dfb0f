// URLs and ranges, taken apart.
#include "io/http/http_url.h"

#include <gtest/gtest.h>

#include "base/test_errors.h"
#include "io/http/http_ranges.h"

namespace colonnade::io {
namespace {

TEST(HttpUrl, IsTakenApart) {
  const HttpUrl url = parse_http_url("HTTPS://me:p%40ss@Host.example:8443/a/../b%20c.root?x=1&y#part");
  EXPECT_EQ(url.server(), "https://host.example:8443");
  EXPECT_EQ(url.user, "me");
  EXPECT_EQ(url.password, "p@ss");
  EXPECT_EQ(url.path, "/a/../b%20c.root");
  EXPECT_EQ(url.text(), "https://host.example:8443/a/../b%20c.root?x=1&y");
  EXPECT_EQ(parse_http_url("http://h").text(), "http://h/");
  EXPECT_EQ(parse_http_url("http://h:80/x").server(), "http://h");
  EXPECT_EQ(parse_http_url("http://h/a b").path, "/a%20b");
  for (const char* text : {"http://", "http://h:99999/"})
    EXPECT_EQ(error_of([&] { parse_http_url(text); }).kind(), ErrorKind::usage) << text;
}

TEST(HttpUrl, LeadsOn) {
  const HttpUrl base = parse_http_url("https://me:secret@host/a/b.root?q");
  const auto at = [&](const char* reference) {
    const auto target = resolved(base, reference);
    return target ? target->text() : "nowhere";
  };
  EXPECT_EQ(at("c.root"), "https://host/a/c.root");
  EXPECT_EQ(at("/c?d"), "https://host/c?d");
  EXPECT_EQ(at("//other:1/c"), "https://other:1/c");
  EXPECT_EQ(at("http://other/c"), "http://other/c");
  EXPECT_EQ(at("ftp://other/c"), "nowhere");
  EXPECT_EQ(at("file:///etc/passwd"), "nowhere");
  EXPECT_TRUE(resolved(base, "x")->is_same_server(base));
  EXPECT_FALSE(resolved(base, "http://host/x")->is_same_server(base));
  EXPECT_FALSE(resolved(base, "x")->has_user());
}

TEST(HttpUrl, KnowsThisMachine) {
  for (const char* host :
       {"localhost", "127.0.0.1", "127.1.2.3:80", "[::1]", "[::1]:8080", "a.localhost", "LOCALHOST"})
    EXPECT_TRUE(is_this_machine(host)) << host;
  for (const char* host : {"127.example.org", "localhost.example.org", "10.0.0.1", "[::2]", ""})
    EXPECT_FALSE(is_this_machine(host)) << host;
}

TEST(HttpUrl, EncodesAndDecodes) {
  EXPECT_EQ(url_encoded("a b/\xc3\xa9~", true), "a%20b/%C3%A9~");
  EXPECT_EQ(url_decoded("a%20b%2fc%zz%4"), "a b/c%zz%4");
}

TEST(ContentRanges, AreUnderstood) {
  const auto range = parse_content_range("bytes 5-9/100");
  EXPECT_EQ(range->first, 5u);
  EXPECT_EQ(range->last, 9u);
  EXPECT_EQ(range->size, 100u);
  EXPECT_EQ(parse_content_range("bytes 5-9/*")->size, std::nullopt);
  EXPECT_EQ(parse_content_range("bytes */100")->first, std::nullopt);
  EXPECT_EQ(parse_content_range("bytes */100")->size, 100u);
  for (const char* text : {"", "bytes", "bytes 5-9", "bytes 9-5/100", "bytes 5-100/100", "bytes -9/100",
                           "5-9/100", "bytes 5-/100", "bytes 18446744073709551616-1/2"})
    EXPECT_FALSE(parse_content_range(text)) << text;
}

}  // namespace
}  // namespace colonnade::io
