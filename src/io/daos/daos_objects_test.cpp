// Ids of objects in DAOS: the same for every later process, whichever targets are up then.
#include "io/daos/daos_objects.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "base/test_errors.h"
#include "io/daos/daos_store.h"
#include "io/daos/daos_test_tools.h"

namespace colonnade::io::daos {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class DaosObjects : public testing::Test {
 protected:
  DaosObjects() : uri_(fresh_daos_uri("objects")) { open_object_store(uri_, {.create = true}); }
  ~DaosObjects() override { standin_.reset(); }

  // Like another process without any cached state.
  std::shared_ptr<ObjectStore> open(const std::string& object_class = {}) const {
    return open_object_store(uri_, {.object_class = object_class});
  }
  void write(const ObjectId& id, const std::string& object_class = {}) const {
    const UpdateItem item{0, {as_bytes("value")}};
    open(object_class)->update(id, 0, {&item, 1});
  }
  bool is_there(const ObjectId& id) const { return open()->size({id, 0, 0}) == 5u; }

  Standin& standin_ = Standin::get();
  std::string uri_;
};

TEST_F(DaosObjects, AreFoundWhateverTheirClass) {
  write({5, 1}, "SX");
  write({6, 1}, "RP_2GX");
  write({5, 2}, "S2");  // as the group is: SX
  for (const ObjectId id : {ObjectId{5, 1}, ObjectId{6, 1}, ObjectId{5, 2}}) EXPECT_TRUE(is_there(id));
  open()->remove_objects(6, 0, 9);
  EXPECT_FALSE(is_there({6, 1}));
  EXPECT_TRUE(is_there({5, 1}));
}

TEST_F(DaosObjects, AGroupThatAnotherWritesLaterIsSeen) {
  const auto store = open();
  EXPECT_EQ(store->size({{9, 1}, 0, 0}), std::nullopt);
  write({9, 1}, "S2");
  EXPECT_EQ(store->size({{9, 1}, 0, 0}), 5u);
  const std::array items{UpdateItem{1, {as_bytes("more")}}};
  store->update({9, 1}, 0, items);
  EXPECT_THAT(store->list_akeys({9, 1}, 0), ElementsAre(0u, 1u));
}

// `dmg pool drain` of a target, `dmg pool reintegrate`, `dmg pool extend`.
TEST_F(DaosObjects, AreFoundWhicheverTargetsAreUp) {
  std::uint32_t group = 1;
  for (const char* object_class : {"", "S1", "SX", "RP_2G1", "RP_2GX"}) {
    for (const std::int64_t targets : {8, 7, 6, 8, 12}) {
      standin_.set("targets", targets);
      write({group, static_cast<std::uint64_t>(targets)}, object_class);
      write({group, 1}, object_class);
      write({0, group}, object_class);  // the directory
    }
    for (const std::int64_t targets : {12, 3, 8, 2}) {
      standin_.set("targets", targets);
      for (const std::uint64_t number : {8, 7, 6, 12, 1})
        EXPECT_TRUE(is_there({group, number})) << object_class << ", " << targets;
      EXPECT_TRUE(is_there({0, group})) << object_class << ", " << targets;
    }
    ++group;
  }
  standin_.set("targets", 3);
  open()->remove_objects(3, 1, 12);
  standin_.set("targets", 8);
  for (const std::uint64_t number : {8, 7, 6, 12, 1}) EXPECT_FALSE(is_there({3, number}));
}

TEST_F(DaosObjects, VersionsAreFoundWhicheverTargetsAreUp) {
  const ValueAddress address{{1, 1}, 1, 1};
  standin_.set("targets", 8);
  EXPECT_TRUE(open()->put_if(address, as_bytes("first"), std::nullopt));
  const std::string version = open()->get(address)->version;
  standin_.set("targets", 5);
  EXPECT_EQ(open()->get(address)->version, version);
  EXPECT_TRUE(open()->put_if(address, as_bytes("second"), version));
}

TEST_F(DaosObjects, AreSpreadOverTargetsButNotOverThousands) {
  std::uint32_t group = 1;
  for (const auto& [targets, groups] : {std::pair{1, 1}, {3, 3}, {32, 32}, {33, 32}, {5000, 32}}) {
    standin_.set("targets", targets);
    write({group, 1'000'077}, {});
    EXPECT_EQ(standin_.groups(group, 1'000'077), groups) << targets;
    ++group;
  }
  write({group, 1'000'078}, "SX");
  EXPECT_EQ(standin_.groups(group, 1'000'078), 5000);
  write({0, 1'000'079}, {});  // small, and to be found without a record
  EXPECT_EQ(standin_.groups(0, 1'000'079), 1);
}

TEST_F(DaosObjects, AClassThatNobodyKnowsIsRefused) {
  const Error error = error_of([&] { open("S3X"); });
  EXPECT_EQ(error.kind(), ErrorKind::usage);
  EXPECT_THAT(error.problem(), HasSubstr("S3X"));
}

TEST_F(DaosObjects, AClassThatThePoolCannotServeIsRefusedBeforeAnythingIsWritten) {
  standin_.set("engines", 1);
  for (const char* object_class : {"RP_2G1", "RP_2GX", "S8"}) {
    const Error error = error_of([&] { open(object_class); });
    EXPECT_EQ(error.kind(), ErrorKind::usage) << object_class;
    EXPECT_THAT(error.problem(), HasSubstr(object_class));
    EXPECT_THAT(error.problem(), HasSubstr("DER_INVAL"));
    EXPECT_THAT(error.advice(), HasSubstr("dmg pool query"));
  }
  EXPECT_EQ(standin_.read("updates"), 0);
  write({7, 1}, "S4");
  EXPECT_TRUE(is_there({7, 1}));
}

// ---- Records

// Writes what records of object ids are made of.
class Records {
 public:
  explicit Records(const std::string& uri) : session_(Session::open(uri, false)) {}
  void put(std::uint64_t group, ByteSpan record) {
    Oid oid{0, 0};
    const Api& api = session_->api();
    ASSERT_EQ(api.obj_generate_oid(session_->container(), &oid, type_number_akeys, class_by_hints,
                                   hint_one_group, 0),
              0);
    Handle object;
    ASSERT_EQ(api.obj_open(session_->container(), oid, object_read_write, &object, nullptr), 0);
    std::uint64_t akey = 0;
    Iov dkey{&group, sizeof group, sizeof group};
    Iod iod;
    iod.name = {&akey, sizeof akey, sizeof akey};
    iod.type = single_value;
    iod.size = record.size();
    iod.count = 1;
    Iov iov{const_cast<std::byte*>(record.data()), record.size(), record.size()};
    SgList list{1, 0, &iov};
    EXPECT_EQ(api.obj_update(object, no_transaction, 0, &dkey, 1, &iod, &list, nullptr), 0);
    api.obj_close(object, nullptr);
  }

 private:
  std::shared_ptr<Session> session_;
};

TEST_F(DaosObjects, ContainersThatRecordedTheClassAloneAreRead) {
  std::array<std::byte, 4> record{};
  store_le(record.data(), std::uint32_t{0x100ffff});  // SX
  Records(uri_).put(4, record);
  write({4, 1'000'001}, "S1");
  EXPECT_EQ(standin_.groups(4, 1'000'001), 4);
  EXPECT_TRUE(is_there({4, 1'000'001}));
}

TEST_F(DaosObjects, RecordsThatAreNoneAreRefused) {
  Bytes other(8);
  store_le(other.data(), std::uint64_t{0x0401000400000063});  // of group 99
  for (const Bytes& record : {Bytes(3), Bytes(8), Bytes(9), other}) {
    Records(uri_).put(4, record);
    const Error error = error_of([&] { is_there({4, 1}); });
    EXPECT_EQ(error.kind(), ErrorKind::format) << record.size();
    EXPECT_THAT(error.problem(), HasSubstr("group 4"));
  }
}

}  // namespace
}  // namespace colonnade::io::daos
