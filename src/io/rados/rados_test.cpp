// Tests of the rados store without a cluster: URIs, names, the environment, a missing library.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cerrno>

#include "base/test_errors.h"
#include "io/object_store.h"
#include "io/rados/rados_api.h"
#include "io/rados/rados_cluster.h"
#include "io/rados/rados_listing.h"
#include "io/rados/rados_operation.h"
#include "io/rados/rados_place.h"

namespace colonnade::io {
namespace {

using testing::HasSubstr;

TEST(Rados, UrisNameAPoolAndANamespace) {
  const RadosPlace place = parse_rados_uri("rados://pool/a/b%20c/");
  EXPECT_EQ(place.pool, "pool");
  EXPECT_EQ(place.name_space, "a/b c");
  EXPECT_EQ(place.access.user, "client.admin");
  EXPECT_EQ(place.access.configuration, "");
  EXPECT_EQ(place.access.timeout, std::nullopt);
  EXPECT_TRUE(is_object_store("rados://pool/x.root"));
}

TEST(Rados, UrisMaySayHowTheClusterIsReached) {
  const RadosPlace place = parse_rados_uri("RADOS://p/n?conf=/a%26b/c.conf&id=me&timeout=5");
  EXPECT_EQ(place.access.configuration, "/a&b/c.conf");
  EXPECT_EQ(place.access.user, "client.me");
  EXPECT_EQ(place.access.timeout, 5u);
}

TEST(Rados, BadUrisAreRefused) {
  for (const char* uri :
       {"rados:", "rados:pool/x", "rados://", "rados://pool", "rados://pool/", "rados:///x",
        "rados://pool/%zz", "rados://pool/%2", "rados://pool/%00", "rados://pool/x?conf",
        "rados://pool/x?conf=", "rados://pool/x?no=1", "rados://pool/x?timeout=0",
        "rados://pool/x?timeout=-1", "rados://pool/x?timeout=5s", "rados://pool/x?timeout=99999999999"}) {
    const Error error = error_of([&] { parse_rados_uri(uri); });
    EXPECT_EQ(error.kind(), ErrorKind::usage) << uri;
    EXPECT_EQ(error.context().uri, uri);
    EXPECT_THAT(error.advice(), HasSubstr("rados://pool/namespace")) << uri;
  }
}

TEST(Rados, CephArgsAreRead) {
  RadosAccess access;
  apply_ceph_args("  --conf=/x/ceph.conf --debug-ms 1 -n client.reader --cluster remote", access);
  EXPECT_EQ(access, (RadosAccess{"remote", "/x/ceph.conf", "client.reader", std::nullopt}));
  apply_ceph_args("-c other.conf --id writer -n", access);
  EXPECT_EQ(access, (RadosAccess{"remote", "other.conf", "client.writer", std::nullopt}));
}

TEST(Rados, NamesLeadBackToAddresses) {
  for (const ValueAddress& address :
       {ValueAddress{}, ValueAddress{{7, 42}, 3, 255},
        ValueAddress{{~std::uint32_t{0}, ~std::uint64_t{0}}, ~std::uint64_t{0}, ~std::uint64_t{0}}}) {
    EXPECT_EQ(parse_rados_name(rados_name(address)), address);
  }
  EXPECT_EQ(rados_name({{7, 42}, 3, 255}), "00000007.000000000000002a.0000000000000003.00000000000000ff");
  for (const char* name : {"", "x", "00000007.000000000000002a.0000000000000003",
                           "00000007.000000000000002a.0000000000000003.00000000000000ff0",
                           "00000007-000000000000002a-0000000000000003-00000000000000ff",
                           "0000000g.000000000000002a.0000000000000003.00000000000000ff"})
    EXPECT_EQ(parse_rados_name(name), std::nullopt) << name;
}

// As printed by `ceph osd map`.
TEST(Rados, HashesAsCephDoes) {
  EXPECT_EQ(rados_hash("a"), 0x29eec818u);
  EXPECT_EQ(rados_hash("directory"), 0x8f8a0214u);
  EXPECT_EQ(rados_hash("abcdefghijkl"), 0x0b1b3ea5u);
  EXPECT_EQ(rados_hash("0123456789012345678901234567890"), 0x2d1b947cu);
  EXPECT_EQ(rados_hash("space\x1f"
                       "directory"),
            0xac4c0669u);
}

TEST(Rados, SaysHowToInstallALibraryThatIsNotThere) {
  constexpr std::array names{"libcolonnade-no-such-library.so.2"};
  const Error error = error_of([&] { load_rados(names); });
  EXPECT_EQ(error.kind(), ErrorKind::unsupported);
  EXPECT_THAT(error.problem(), HasSubstr("libcolonnade-no-such-library.so.2"));
  EXPECT_THAT(error.advice(), HasSubstr("librados2"));
}

TEST(Rados, SaysThatALibraryIsTooOld) {
  constexpr std::array names{"libm.so.6"};  // has none of the functions
  const Error error = error_of([&] { load_rados(names); });
  EXPECT_EQ(error.kind(), ErrorKind::unsupported);
  EXPECT_THAT(error.problem(), HasSubstr("rados_create2"));
}

TEST(Rados, ErrorsAreNamed) {
  EXPECT_THAT(rados_error(-EDQUOT, "x", "u").problem(), HasSubstr("EDQUOT"));
  EXPECT_EQ(rados_error(-ETIMEDOUT, "x", "u").kind(), ErrorKind::io);
  EXPECT_EQ(rados_error(-ENOENT, "x", "u").kind(), ErrorKind::not_found);
  EXPECT_THAT(rados_error(-4242, "x", "u").problem(), HasSubstr("error 4242"));
}

}  // namespace
}  // namespace colonnade::io
