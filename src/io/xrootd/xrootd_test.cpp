// What of the XRootD transport needs no server: URIs, errors, a library that is not there.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <array>
#include <cstdlib>

#include "base/test_errors.h"
#include "io/transport.h"
#include "io/xrootd/xrootd_client.h"
#include "io/xrootd/xrootd_library.h"
#include "io/xrootd/xrootd_place.h"

namespace colonnade::io {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Xrootd, UrisNameAServerAndAFile) {
  const XrootdPlace place = parse_xrootd_uri("ROOT://me@host:1095//a/b.root?authz=x/y&z=1");
  EXPECT_EQ(place.server, "root://me@host:1095");
  EXPECT_EQ(place.path, "/a/b.root");
  EXPECT_EQ(place.query, "authz=x/y&z=1");
  EXPECT_EQ(place.url(), "root://me@host:1095//a/b.root?authz=x/y&z=1");
  EXPECT_EQ(parse_xrootd_uri("roots://host/relative").path, "relative");
  EXPECT_EQ(parse_xrootd_uri("root://[::1]:1094//f").server, "root://[::1]:1094");
  EXPECT_EQ(place.host(), "host");
  EXPECT_EQ(parse_xrootd_uri("root://[::1]:1094//f").host(), "::1");
  EXPECT_EQ(parse_xrootd_uri("roots://a.b.c//f").host(), "a.b.c");
}

TEST(Xrootd, KeysKeepAllOfAPlace) {
  for (const char* uri : {"root://h//a/b.root", "root://h//a/b.root?authz=x/y", "xroot://u@h:1/c"}) {
    const XrootdPlace place = parse_xrootd_uri(uri);
    EXPECT_EQ(XrootdPlace::of_key(place.key()).url(), uri);
    EXPECT_EQ(place.key().substr(place.key().rfind('/') + 1), place.path.substr(place.path.rfind('/') + 1));
  }
}

// What servers say in an answer that a thread of the library takes.
TEST(Xrootd, PermissionsAreOctalNumbers) {
  EXPECT_EQ(permissions_in("0644"), 0644);
  EXPECT_EQ(permissions_in("100750"), 0750);
  for (const std::string& text :
       {std::string(), std::string("0899"), std::string("-1"), std::string(400, '7')})
    EXPECT_EQ(permissions_in(text), 0) << text;
}

TEST(Xrootd, BadUrisAreRefused) {
  for (const char* uri : {"root:", "root:/x", "root://", "root://host", "root://host/", "root:////x",
                          "root://host?a=b", "root://host//a\nb"}) {
    const Error error = error_of([&] { parse_xrootd_uri(uri); });
    EXPECT_EQ(error.kind(), ErrorKind::usage) << uri;
    EXPECT_THAT(error.advice(), HasSubstr("root://host//")) << uri;
  }
}

TEST(Xrootd, UnknownNamesOfServersAreRefusedAtOnce) {
  const std::string host = std::string(100, 'a') + ".invalid";  // too long for any name
  const std::string uri = fmt::format("root://{}//folder/f.root", host);
  const Error error = error_of([&] { open_for_reading(uri); });
  EXPECT_EQ(error.kind(), ErrorKind::io);
  EXPECT_THAT(error.problem(), HasSubstr("no machine has this name"));
  EXPECT_EQ(error.context().uri, uri);
  EXPECT_THAT(error_of([&] { open_for_writing(uri, OpenMode::create); }).problem(), HasSubstr(host));
}

TEST(Xrootd, AQuestionMarkWithoutANameIsAWildcard) {
  EXPECT_EQ(wildcard_in("root://h//f.root?authz=a*b"), std::string::npos);
  EXPECT_EQ(wildcard_in("root://h//f?.root"), 11u);
  EXPECT_EQ(wildcard_in("root://h//f?.root?authz=x"), 11u);
  EXPECT_EQ(wildcard_in("root://h//f.root"), std::string::npos);
  EXPECT_EQ(wildcard_in("s3://b/f?.root"), 8u);
}

TEST(Xrootd, ErrorsShowNoTokens) {
  const Error error = error_of([] { open_for_reading("root://user:secret@h?authz=Bearer%20abcdef"); });
  EXPECT_THAT(error.what(), Not(HasSubstr("secret")));
  EXPECT_THAT(error.what(), Not(HasSubstr("abcdef")));
}

TEST(Xrootd, AMissingLibraryNamesBothPackages) {
  const std::array<std::string, 2> nowhere{"libNoXrdCl.so.6", "/nowhere/libXrdCl.so.3"};
  const Error error = error_of([&] { load_xrootd(nowhere); });
  EXPECT_EQ(error.kind(), ErrorKind::unsupported);
  EXPECT_THAT(error.problem(), HasSubstr("libNoXrdCl.so.6"));
  EXPECT_THAT(error.advice(), HasSubstr("libxrdcl3"));
  EXPECT_THAT(error.advice(), HasSubstr("pip install xrootd"));
}

TEST(Xrootd, TheLibraryIsNotLoadedWithoutFilesForIt) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit few{20, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  const Error error = error_of([] { load_xrootd({}); });
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_EQ(error.kind(), ErrorKind::resource);
  EXPECT_THAT(error.advice(), HasSubstr("ulimit -n"));
}

TEST(Xrootd, AnotherLibraryIsRefused) {
  const std::array<std::string, 1> other{"libm.so.6"};
  const Error error = error_of([&] { load_xrootd(other); });
  EXPECT_EQ(error.kind(), ErrorKind::unsupported);
  EXPECT_THAT(error.problem(), HasSubstr("neither of version 5 nor of version 6"));
}

TEST(Xrootd, TimeoutsComeFromTheEnvironment) {
  ::unsetenv("COLONNADE_XROOTD_TIMEOUT");
  ::unsetenv("XRD_REQUESTTIMEOUT");
  EXPECT_EQ(xrootd_timeout(), 60);
  ::setenv("XRD_REQUESTTIMEOUT", "300", 1);
  EXPECT_EQ(xrootd_timeout(), 300);
  ::setenv("COLONNADE_XROOTD_TIMEOUT", "5", 1);
  EXPECT_EQ(xrootd_timeout(), 5);
  for (const char* bad : {"0", "-1", "5s", "0.5", "99999999"}) {
    ::setenv("COLONNADE_XROOTD_TIMEOUT", bad, 1);
    const Error error = error_of([] { xrootd_timeout(); });
    EXPECT_EQ(error.kind(), ErrorKind::usage) << bad;
    EXPECT_THAT(error.advice(), HasSubstr("a whole number of seconds"));
  }
  ::setenv("COLONNADE_XROOTD_TIMEOUT", "", 1);
  EXPECT_EQ(xrootd_timeout(), 300);
  ::setenv("XRD_REQUESTTIMEOUT", "soon", 1);
  EXPECT_EQ(xrootd_timeout(), 60);
  ::unsetenv("COLONNADE_XROOTD_TIMEOUT");
  ::unsetenv("XRD_REQUESTTIMEOUT");
}

}  // namespace
}  // namespace colonnade::io
