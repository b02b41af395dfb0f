// Loading libdaos, URIs, and errors of libdaos as errors of the library.
#include "io/daos/daos_api.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/test_errors.h"
#include "io/daos/daos_buffers.h"
#include "io/daos/daos_errors.h"
#include "io/daos/daos_session.h"
#include "io/daos/daos_test_tools.h"
#include "io/daos/daos_transfer.h"

namespace colonnade::io::daos {
namespace {

using testing::HasSubstr;

TEST(DaosApi, NamesThePackageWithoutTheLibrary) {
  const Error error = error_of([] { load_api("/no/such/libdaos.so.2"); });
  EXPECT_EQ(error.kind(), ErrorKind::unsupported);
  EXPECT_THAT(error.problem(), HasSubstr("/no/such/libdaos.so.2"));
  EXPECT_THAT(error.advice(), HasSubstr("daos-client"));
  EXPECT_THAT(error.advice(), HasSubstr("COLONNADE_LIBDAOS"));
}

TEST(DaosApi, NamesTheFunctionThatALibraryLacks) {
  const Error error = error_of([] { load_api("libm.so.6"); });
  EXPECT_EQ(error.kind(), ErrorKind::unsupported);
  EXPECT_THAT(error.problem(), HasSubstr("libm.so.6"));
  EXPECT_THAT(error.problem(), HasSubstr("daos_init"));
}

TEST(DaosApi, TakesTheLibraryOfTheEnvironment) {
  Standin::get();
  EXPECT_EQ(library_path(), COLONNADE_DAOS_STANDIN);
  const Api api = load_api(library_path());
  EXPECT_EQ(api.oclass_name2id("RP_2G1"), 0x8000001);
  EXPECT_EQ(api.oclass_name2id("nonsense"), 0);
}

TEST(DaosApi, KnowsTheEndOfAListing) {
  Anchor anchor;
  EXPECT_FALSE(at_end(anchor));
  anchor.opaque[0] = std::byte{1};
  EXPECT_FALSE(at_end(anchor));
  anchor.opaque[0] = std::byte{3};
  EXPECT_TRUE(at_end(anchor));
}

TEST(DaosUris, NamePoolAndContainer) {
  const auto expect = [](const std::string& uri, const std::string& pool, const std::string& container) {
    const PoolAddress place = parse_daos_uri(uri);
    EXPECT_EQ(place.pool, pool) << uri;
    EXPECT_EQ(place.container, container) << uri;
  };
  expect("daos://tank/events", "tank", "events");
  expect("DAOS://tank/events/", "tank", "events");
  expect("daos://t%61nk/e%3Av", "tank", "e:v");
  expect("daos://00000000-0000-4000-8000-000000000001/c-1.x_y", "00000000-0000-4000-8000-000000000001",
         "c-1.x_y");
}

TEST(DaosUris, AreRefusedIfTheyNameSomethingElse) {
  for (const std::string uri :
       {"daos://", "daos://tank", "daos://tank/", "daos:///c", "daos://tank/c/d", "daos:tank/c",
        "daos://tank/c?x=1", "daos://tank/c#x", "daos://tank/%", "daos://tank/%4", "daos://tank/%zz",
        "daos://tank/%00", "daos://tank/a%2Fb", "daos://ta nk/c", "daos://tank//c"}) {
    const Error error = error_of([&] { parse_daos_uri(uri); });
    EXPECT_EQ(error.kind(), ErrorKind::usage) << uri;
    EXPECT_EQ(error.context().uri, uri);
    EXPECT_THAT(error.advice(), HasSubstr("daos://pool/container"));
  }
  EXPECT_EQ(error_of([] { parse_daos_uri("daos://tank/" + std::string(200, 'x')); }).kind(),
            ErrorKind::usage);
}

TEST(DaosErrors, HaveNameAndNumber) {
  const Error full = call_error("daos://a/b", "write object 1:2", -der_nospace);
  EXPECT_EQ(full.kind(), ErrorKind::io);
  EXPECT_EQ(full.problem(), "cannot write object 1:2 (DER_NOSPACE -1007: no space left)");
  EXPECT_EQ(full.context().uri, "daos://a/b");
  EXPECT_FALSE(full.advice().empty());
  EXPECT_EQ(call_error("", "x", -der_csum).kind(), ErrorKind::checksum);
  EXPECT_EQ(call_error("", "x", -der_nonexist).kind(), ErrorKind::not_found);
  EXPECT_EQ(call_error("", "x", -der_nomem).kind(), ErrorKind::resource);
  for (const int code : {der_no_perm, der_no_hdl, der_inval, der_exist, der_unreach, der_timedout, der_busy,
                         der_uninit, der_rec2big})
    EXPECT_EQ(call_error("", "x", -code).kind(), ErrorKind::io) << code;
  EXPECT_EQ(call_error("", "x", -4711).problem(), "cannot x (DAOS error -4711)");
}

TEST(DaosBuffers, AreUsedAgain) {
  Buffers buffers;
  const std::byte* first = nullptr;
  {
    const Buffer buffer = buffers.take(1'000'000);
    first = buffer.data();
    EXPECT_GE(buffer.size(), 1'000'000u);
    EXPECT_EQ(buffers.kept(), 0u);
  }
  EXPECT_GE(buffers.kept(), 1'000'000u);
  const Buffer again = buffers.take(1'000'001);
  EXPECT_EQ(again.data(), first);
  EXPECT_EQ(buffers.kept(), 0u);
  {
    const Buffer large = buffers.take(Buffers::most_kept + 1);
  }
  EXPECT_EQ(buffers.kept(), 0u);
}

TEST(DaosBuffers, WasteLittle) {
  Buffers buffers;
  for (std::size_t size = 1; size < std::size_t{1} << 23; size = size * 5 / 4 + 1) {
    const Buffer buffer = buffers.take(size);
    EXPECT_GE(buffer.size(), size);
    EXPECT_LE(buffer.size(), std::max<std::size_t>(4096, size + size / 3));
  }
}

}  // namespace
}  // namespace colonnade::io::daos
