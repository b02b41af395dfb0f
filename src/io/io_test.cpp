// The transport that serves a URI, and names of places.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/test_folder.h"
#include "io/places.h"
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

TEST(Places, PathsAreAbsoluteAndSchemesAreKept) {
  const std::string here = std::filesystem::current_path().string() + "/";
  for (const char* path : {"f.root", "a:b.root", "a:b/../c.root", "run 1:x"}) {
    EXPECT_EQ(absolute_name(path), here + path);
    EXPECT_TRUE(is_local_file(path) && is_local(path)) << path;
  }
  EXPECT_EQ(absolute_name("file:a%20b"), here + "a%20b");
  EXPECT_EQ(absolute_name("obj:store"), "obj:" + here + "store");
  EXPECT_EQ(canonical_name("a:b/../c"), here + "c");
  EXPECT_TRUE(is_local("obj:store") && !is_local_file("obj:store"));
  EXPECT_FALSE(is_local("nothing://is/there") || is_local("s3:x") || is_local("http://h/a:b.root"));
  for (const char* kept :
       {"/a/b.root", "file:///a%20b", "obj:/store", "memory:x", "s3://b/k?file", "nothing://is/there"})
    EXPECT_EQ(absolute_name(kept), kept);
}

TEST(Places, AreTheSameByAnyName) {
  const TestFolder folder;
  const std::string path = folder.path() / "a:b c";
  std::ofstream(path) << "x";
  std::filesystem::create_hard_link(path, folder.path() / "hard");
  std::filesystem::create_symlink(path, folder.path() / "soft");
  for (const std::string& other : {folder.path().string() + "/./hard", folder.path().string() + "/soft",
                                   "file://" + folder.path().string() + "/a:b%20c"}) {
    EXPECT_TRUE(is_same_place(path, other)) << other;
    EXPECT_EQ(identity_of(path), identity_of(other));
  }
  EXPECT_EQ(canonical_name(folder.path() / "soft"), canonical_name(path));
  EXPECT_FALSE(is_same_place(path, folder.path() / "none"));
  EXPECT_FALSE(is_same_place("s3://b/" + path, path));
}

TEST(Transport, AQueryAndAServerHaveNoWildcards) {
  const auto npos = std::string::npos;
  for (const char* uri :
       {"https://h/f.root?sig=a*b", "http://h/f.root?x", "s3://b/f.dat?file", "s3://b/f?store",
        "http://[::1]:80/f.root", "root://[::1]//f.root", "root://u@[::1]", "obj:///run[1]"})
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
