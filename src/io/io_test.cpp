// The transport that serves a URI.
#include <gtest/gtest.h>

#include "io/transport.h"

namespace colonnade::io {
namespace {

TEST(Transport, IsFoundByScheme) {
  EXPECT_EQ(transport_for("memory:x").scheme, "memory");
  EXPECT_EQ(transport_for("MEMORY:x").scheme, "memory");
  EXPECT_EQ(transport_for("file:///x").scheme, "file");
}

TEST(Transport, IsLocalForAnythingThatIsNoUri) {
  for (const char* path : {"f.root", "/a/b.root", "run:1.root", "f.root:Events", ":x", "1:x", "a b://x", ""})
    EXPECT_EQ(transport_for(path).scheme, "file") << path;
}

TEST(Transport, AQueryAndAServerHaveNoWildcards) {
  const auto npos = std::string::npos;
  for (const char* uri :
       {"https://h/f.root?sig=a*b", "http://h/f.root?x", "s3://b/f.dat?file", "s3://b/f?store",
        "http://[::1]:80/f.root", "root://[::1]//f.root", "root://u@[::1]"})
    EXPECT_EQ(wildcard_in(uri), npos) << uri;
  EXPECT_EQ(wildcard_in("https://h/*.root?x"), 10u);
  EXPECT_EQ(wildcard_in("s3://b/f?.dat?file"), 8u);
  EXPECT_EQ(wildcard_in("http://[::1]/[ab].root"), 13u);
  EXPECT_EQ(wildcard_in("f?.root"), 1u);
}

TEST(Transport, UnknownSchemesNameTheKnownOnes) {
  try {
    open_for_reading("gopher://host/file");
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::unsupported);
    EXPECT_EQ(error.problem(), "no transport serves the scheme \"gopher\"");
    EXPECT_NE(error.advice().find("file:, memory:"), std::string::npos);
  }
}

}  // namespace
}  // namespace colonnade::io
