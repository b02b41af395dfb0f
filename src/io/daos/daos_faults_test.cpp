// The DAOS back end under refusals, faults and silence of libdaos, and with DAOS's peculiarities.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <numeric>
#include <optional>

#include "base/test_child.h"
#include "base/test_errors.h"
#include "io/daos/daos_runtime.h"
#include "io/daos/daos_store.h"
#include "io/daos/daos_test_tools.h"
#include "io/daos/daos_transfer.h"

namespace colonnade::io::daos {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class DaosFaults : public testing::Test {
 protected:
  DaosFaults() : uri_(fresh_daos_uri("faults")), store_(open_object_store(uri_, {.create = true})) {
    put(1, std::string(100, 'a'));  // the group is known
    standin_.reset();
  }
  ~DaosFaults() override { standin_.reset(); }

  void put(std::uint64_t akey, std::string_view value) {
    const UpdateItem item{akey, {as_bytes(value)}};
    store_->update({1, 1}, 1, {&item, 1});
  }
  std::string text(std::uint64_t akey, std::size_t size, std::uint64_t offset = 0) const {
    std::string into(size, '?');
    const FetchItem item{akey, offset,
                         MutableByteSpan(reinterpret_cast<std::byte*>(into.data()), into.size())};
    store_->fetch({1, 1}, 1, {&item, 1});
    return into;
  }
  // As many values as need several calls.
  std::vector<UpdateItem> many(std::size_t count) const {
    std::vector<UpdateItem> items;
    for (std::size_t i = 0; i < count; ++i) items.push_back({i, {as_bytes("value")}});
    return items;
  }
  std::int64_t read(const char* counter) const { return standin_.read(counter); }

  Standin& standin_ = Standin::get();
  std::string uri_;
  std::shared_ptr<ObjectStore> store_;
};

// ---- Opening

TEST_F(DaosFaults, OpensByUuid) {
  store_.reset();
  EXPECT_EQ(error_of([] {
              open_object_store("daos://tank/12345678-1234-4234-8234-123456789abc", {.create = true});
            }).kind(),
            ErrorKind::not_found);
  const std::string name = uri_.substr(uri_.rfind('/'));
  EXPECT_NO_THROW(open_object_store("daos://00000000-0000-4000-8000-000000000001" + name));
}

TEST_F(DaosFaults, SaysWhetherThePoolOrTheContainerIsMissing) {
  const Error pool = error_of([] { open_object_store("daos://nowhere/c", {.create = true}); });
  EXPECT_EQ(pool.kind(), ErrorKind::not_found);
  EXPECT_THAT(pool.problem(), HasSubstr("pool \"nowhere\""));
  const Error container = error_of([] { open_object_store("daos://tank/nothing"); });
  EXPECT_EQ(container.kind(), ErrorKind::not_found);
  EXPECT_THAT(container.problem(), HasSubstr("container \"nothing\""));
}

TEST_F(DaosFaults, OpensAContainerThatAnotherWasFasterToCreate) {
  store_.reset();
  standin_.fail("cont_open", 1, 1, -der_nonexist);  // then creation says that it exists
  EXPECT_NO_THROW(open_object_store(uri_, {.create = true}));
}

TEST_F(DaosFaults, ReportsWhatKeepsItFromOpening) {
  store_.reset();
  ASSERT_TRUE(Runtime::finish());
  const auto expect = [&](const char* call, int code, const char* text) {
    standin_.reset();
    standin_.fail(call, 1, 1, code);
    const Error error = error_of([&] { open_object_store(uri_, {.create = true}); });
    EXPECT_EQ(error.kind(), ErrorKind::io) << call;
    EXPECT_THAT(error.problem(), HasSubstr(text));
    EXPECT_EQ(error.context().uri, uri_);
  };
  expect("init", -der_timedout, "DER_TIMEDOUT -1011");
  expect("init", -der_agent_comm, "no daos_agent answers");
  expect("eq_create", -der_inval, "DER_INVAL");
  expect("pool_connect", -der_unreach, "DER_UNREACH -1006");
  expect("cont_open", -der_timedout, "DER_TIMEDOUT");
  uri_ += "x";
  expect("cont_create", -der_nospace, "DER_NOSPACE");
  standin_.reset();
  EXPECT_NO_THROW(open_object_store(uri_, {.create = true}));
  EXPECT_EQ(read("pools_open"), 0);
  EXPECT_EQ(read("conts_open"), 0);
}

TEST_F(DaosFaults, ReadsWhatItMayNotWrite) {
  for (const char* knob : {"pool_read_only", "cont_read_only"}) {
    standin_.reset();
    standin_.set(knob, 1);
    store_.reset();
    store_ = open_object_store(uri_);
    EXPECT_EQ(text(1, 100), std::string(100, 'a'));
    const Error error = error_of([&] { put(1, "b"); });
    EXPECT_EQ(error.kind(), ErrorKind::io);
    EXPECT_THAT(error.problem(), HasSubstr("DER_NO_PERM"));
    EXPECT_THROW(store_->remove({{1, 1}, 1, 1}), Error);
    EXPECT_THROW(store_->remove_objects(1, 1, 1), Error);
    EXPECT_THROW(store_->put_if({{1, 1}, 1, 7}, as_bytes("x"), std::nullopt), Error);
  }
}

TEST_F(DaosFaults, ClosesHandlesInOrder) {
  const std::vector<UpdateItem> items = many(3);
  for (std::uint64_t number = 0; number < 40; ++number) store_->update({2, number}, 0, items);
  {
    const auto queue = store_->open_queue(4);
  }
  EXPECT_GT(read("objects_open"), 30);
  EXPECT_EQ(read("conts_open"), 1);
  store_.reset();
  for (const char* counter :
       {"objects_open", "conts_open", "pools_open", "queues_open", "events_open", "order_violations"})
    EXPECT_EQ(read(counter), 0) << counter;
  const std::int64_t finis = read("finis");
  EXPECT_TRUE(Runtime::finish());
  EXPECT_EQ(read("finis"), finis + 1);
  store_ = open_object_store(uri_);
  EXPECT_FALSE(Runtime::finish());  // in use
  EXPECT_EQ(text(1, 3), "aaa");
}

TEST_F(DaosFaults, KeepsABoundedNumberOfObjectsOpen) {
  const std::vector<UpdateItem> items = many(1);
  for (std::uint64_t number = 0; number < 2 * Objects::most_open; ++number)
    store_->update({2, number}, 0, items);
  EXPECT_LE(read("objects_open"), static_cast<std::int64_t>(Objects::most_open) + 4);
  for (std::uint64_t number = 0; number < 2 * Objects::most_open; ++number)
    EXPECT_EQ(store_->size({{2, number}, 0, 0}), 5u);
}

// ---- Calls

TEST_F(DaosFaults, MovesManyValuesInOneCall) {
  store_->update({1, 1}, 2, many(100));
  EXPECT_EQ(read("updates"), 1);
  EXPECT_EQ(read("update_iods"), 100);
  std::vector<Bytes> into(100, Bytes(5));
  std::vector<FetchItem> items;
  for (std::size_t i = 0; i < 100; ++i) items.push_back({i, 0, into[i]});
  store_->fetch({1, 1}, 2, items);
  EXPECT_EQ(read("fetches"), 1);
  EXPECT_EQ(read("parents"), 0);
}

TEST_F(DaosFaults, SplitsVeryManyValuesUnderAParent) {
  store_->update({1, 1}, 2, many(300));
  EXPECT_EQ(read("updates"), 3);
  EXPECT_EQ(read("parents"), 1);
  EXPECT_EQ(store_->list_akeys({1, 1}, 2).size(), 300u);
  EXPECT_EQ(read("parents"), 2);  // the sizes
}

TEST_F(DaosFaults, LooksAtTheErrorOfEachChild) {
  for (const std::int64_t parent_tells : {0, 1}) {
    for (const std::int64_t child : {1, 2, 3}) {
      standin_.reset();
      standin_.set("parent_error", parent_tells);
      standin_.fail("child_update", child, 1, -der_nospace);
      const Error error = error_of([&] { store_->update({1, 1}, 2, many(300)); });
      EXPECT_THAT(error.problem(), HasSubstr("DER_NOSPACE")) << child;
      standin_.reset();
      store_->update({1, 1}, 2, many(300));
      standin_.fail("child_fetch", child, 1, -der_csum);
      std::vector<Bytes> into(300, Bytes(5));
      std::vector<FetchItem> items;
      for (std::size_t i = 0; i < 300; ++i) items.push_back({i, 0, into[i]});
      EXPECT_EQ(error_of([&] { store_->fetch({1, 1}, 2, items); }).kind(), ErrorKind::checksum);
      EXPECT_NO_THROW(store_->fetch({1, 1}, 2, items));
    }
  }
}

TEST_F(DaosFaults, SurvivesCallsThatAreNotLaunched) {
  for (const std::int64_t at : {1, 2, 3}) {
    standin_.reset();
    standin_.fail("launch_update", at, 1, -der_nomem);
    EXPECT_EQ(error_of([&] { store_->update({1, 1}, 2, many(300)); }).kind(), ErrorKind::resource) << at;
  }
  standin_.reset();
  standin_.fail("barrier", 1, 1, -der_no_hdl);
  EXPECT_THAT(error_of([&] { store_->update({1, 1}, 2, many(300)); }).problem(), HasSubstr("DER_NO_HDL"));
  standin_.reset();
  standin_.fail("launch_fetch", 1, 1, -der_inval);
  EXPECT_THAT(error_of([&] { text(1, 1); }).problem(), HasSubstr("DER_INVAL"));
  EXPECT_EQ(text(1, 1), "a");
  EXPECT_EQ(read("events_open"), 0);
}

TEST_F(DaosFaults, ReportsEachErrorWithTheAddress) {
  const std::array codes{der_no_perm, der_no_hdl, der_unreach, der_nospace, der_timedout, der_busy, 4711};
  for (const int code : codes) {
    standin_.reset();
    standin_.fail("update", 1, 1, -code);
    const Error error = error_of([&] { put(1, "b"); });
    EXPECT_EQ(error.kind(), ErrorKind::io) << code;
    EXPECT_THAT(error.problem(), HasSubstr(std::to_string(-code)));
    EXPECT_THAT(error.problem(), HasSubstr("object 1:1, distribution key 1, attribute key 1"));
    EXPECT_EQ(error.context().uri, uri_);
  }
  EXPECT_EQ(text(1, 3), "aaa");
  standin_.fail("fetch", 1, 1, -der_csum);
  EXPECT_EQ(error_of([&] { text(1, 1); }).kind(), ErrorKind::checksum);
  standin_.fail("fetch", 1, 1, -der_unreach);
  EXPECT_THROW(store_->size({{1, 1}, 1, 1}), Error);
  standin_.fail("list", 1, 1, -der_unreach);
  EXPECT_THROW(store_->list_dkeys({1, 1}), Error);
  standin_.fail("update", 1, 1, -der_unreach);
  EXPECT_THROW(store_->remove({{1, 1}, 1, 1}), Error);
  standin_.fail("punch", 1, 1, -der_unreach);
  EXPECT_THROW(store_->remove_objects(1, 1, 1), Error);
  standin_.fail("eq_poll", 1, 1, -der_no_hdl);
  EXPECT_THROW(put(1, "b"), Error);
}

TEST_F(DaosFaults, QueuesReportTheFailureOfOneOperation) {
  const auto queue = store_->open_queue(4);
  standin_.fail("update", 2, 1, -der_nospace);
  standin_.set("threads", 1);
  const UpdateItem item{1, {as_bytes("new")}};
  for (std::uint64_t id = 0; id < 6; ++id) queue->submit_update(id, {1, 1}, id, {&item, 1});
  int failures = 0;
  std::array<ObjectQueue::Completion, 8> done;
  while (queue->in_flight() > 0) {
    const std::size_t count = queue->wait(done);
    for (std::size_t i = 0; i < count; ++i) failures += done[i].failure ? 1 : 0;
  }
  EXPECT_EQ(failures, 1);
}

TEST_F(DaosFaults, RefusesAnAkeyTwiceItself) {
  const std::array items{UpdateItem{3, {as_bytes("a")}}, UpdateItem{3, {as_bytes("b")}}};
  EXPECT_EQ(error_of([&] { store_->update({1, 1}, 1, items); }).kind(), ErrorKind::usage);
  EXPECT_EQ(read("updates"), 0);
}

TEST_F(DaosFaults, TellsThatThePoolIsFull) {
  standin_.set("capacity", 1'000'000);
  const std::string half(600'000, 'x');
  put(2, half);
  const Error error = error_of([&] { put(2, half); });  // the space of the first is not freed at once
  EXPECT_THAT(error.problem(), HasSubstr("DER_NOSPACE"));
  EXPECT_FALSE(error.advice().empty());
  EXPECT_EQ(text(2, 3), "xxx");
}

TEST_F(DaosFaults, AsksAgainForValuesThatAreLargerThanTheRoom) {
  put(2, std::string(50'000, 'b') + "end");
  standin_.reset();
  EXPECT_EQ(text(2, 10), "bbbbbbbbbb");
  EXPECT_EQ(read("fetches"), 2);
  EXPECT_EQ(text(2, 3, 50'000), "end");  // the room for parts is that of usual values
  EXPECT_EQ(read("fetches"), 3);
  standin_.set("rec2big_silent", 1);
  EXPECT_EQ(text(2, 10), "bbbbbbbbbb");
  EXPECT_EQ(read("fetches"), 6);  // and its size
}

TEST_F(DaosFaults, DoesNotAskForEver) {
  standin_.fail("fetch", 1, 1'000'000, -der_rec2big);
  const Error error = error_of([&] { text(1, 100); });
  EXPECT_EQ(error.kind(), ErrorKind::io);
  EXPECT_THAT(error.problem(), HasSubstr("size changes"));
  EXPECT_LT(read("fetches"), 100);
}

TEST_F(DaosFaults, ReservesOneValue) {
  std::array<unsigned char, 16> mark = {0x9d, 0x3e, 0x71, 0xc4, 0x08, 0xb6, 0x5f, 0xea,
                                        0x42, 0x17, 0xd9, 0x8c, 0x63, 0xf0, 0x2b, 0xa5};
  const std::string reserved(reinterpret_cast<const char*>(mark.data()), mark.size());
  EXPECT_EQ(error_of([&] { put(2, reserved); }).kind(), ErrorKind::usage);
  put(2, reserved + "x");
  EXPECT_EQ(text(2, 17), reserved + "x");
  put(2, reserved.substr(0, 15) + "x");
  EXPECT_EQ(text(2, 16), reserved.substr(0, 15) + "x");
  EXPECT_EQ(store_->size({{1, 1}, 1, 2}), 16u);
}

TEST_F(DaosFaults, ListingEnds) {
  standin_.set("list_empty", 50);
  standin_.set("list_page", 7);
  store_->update({1, 1}, 2, many(60));
  EXPECT_EQ(store_->list_akeys({1, 1}, 2).size(), 60u);
  EXPECT_THAT(store_->list_dkeys({1, 1}), ElementsAre(1u, 2u));
}

TEST_F(DaosFaults, CorruptedValuesComeAsTheyAre) {
  EXPECT_GE(standin_.corrupt(1, 1, 1, 1, 5), 1);  // in all containers
  EXPECT_EQ(text(1, 8), std::string("aaaaa") + static_cast<char>('a' ^ 0x5a) + "aa");
}

// ---- Silence

TEST_F(DaosFaults, WaitsForEnginesThatComeBack) {
  standin_.set("stall_ms", 60);
  EXPECT_EQ(text(1, 3), "aaa");
}

TEST_F(DaosFaults, TimesOutAndLeavesTheMemoryAlone) {
  store_.reset();
  const Timeout timeout("1");
  store_ = open_object_store(uri_);
  EXPECT_EQ(text(1, 3), "aaa");
  standin_.set("stopped", 1);
  const Error error = error_of([&] { text(1, 100); });
  EXPECT_EQ(error.kind(), ErrorKind::io);
  EXPECT_THAT(error.problem(), HasSubstr("no answer for 1 s"));
  EXPECT_THAT(error.problem(), HasSubstr("object 1:1"));
  EXPECT_THAT(error.advice(), HasSubstr("COLONNADE_DAOS_TIMEOUT"));
  Bytes into(100, std::byte{'?'});
  {
    const auto queue = store_->open_queue(2);
    const FetchItem item{1, 0, into};
    const UpdateItem update{9, {as_bytes("late")}};
    queue->submit_fetch(1, {1, 1}, 1, {&item, 1});
    queue->submit_update(2, {1, 1}, 1, {&update, 1});
    std::array<ObjectQueue::Completion, 2> done;
    for (std::size_t taken = 0; taken < 2;) {
      const std::size_t count = queue->wait(done);
      for (std::size_t i = 0; i < count; ++i)
        EXPECT_THAT(error_of([&] { std::rethrow_exception(done[i].failure); }).problem(),
                    HasSubstr("no answer"));
      taken += count;
    }
  }
  EXPECT_FALSE(Runtime::finish());  // unanswered calls
  standin_.set("stopped", 0);
  store_.reset();
  store_ = open_object_store(uri_);  // the engines are back
  EXPECT_EQ(text(9, 4), "late");
  EXPECT_EQ(into, Bytes(100, std::byte{'?'}));
  store_.reset();
}

TEST_F(DaosFaults, ClosesInTimeWithoutAnAnswer) {
  store_.reset();
  const Timeout timeout("1");
  store_ = open_object_store(uri_);
  {
    const auto queue = store_->open_queue(2);
    Bytes into(100);
    const FetchItem item{1, 0, into};
    standin_.set("stopped", 1);
    store_->open_queue(1);
    EXPECT_THROW(text(1, 1), Error);
    queue->submit_fetch(1, {1, 1}, 1, {&item, 1});
  }
  standin_.set("stopped", 0);
  store_.reset();
}

// With any number of open containers, closing them waits only once for engines that are down.
TEST_F(DaosFaults, ClosesManyStoresWithinOneTimeout) {
  store_.reset();
  const Timeout timeout("1");
  std::vector<std::shared_ptr<ObjectStore>> stores;
  for (int i = 0; i < 20; ++i)
    stores.push_back(open_object_store(uri_ + "-" + std::to_string(i), {.create = true}));
  Runtime& runtime = Runtime::start(uri_);
  EXPECT_EQ(runtime.closing_time(), runtime.timeout());
  standin_.set("stopped", 1);
  double allowed = 0;  // to wait, in seconds
  while (!stores.empty()) {
    allowed += runtime.closing_time().count();
    stores.pop_back();
  }
  EXPECT_LE(allowed, 1 + 19 * 0.011);
  EXPECT_LT(runtime.closing_time().count(), 0.011);
  standin_.set("stopped", 0);
  store_ = open_object_store(uri_);  // an answer: they are back
  EXPECT_EQ(runtime.closing_time(), runtime.timeout());
  store_.reset();
}

// Earlier timeouts count, too; so do operations of queues.
TEST_F(DaosFaults, ClosingDoesNotWaitAgainForWhatTimedOut) {
  store_.reset();
  const Timeout timeout("1");
  store_ = open_object_store(uri_);
  EXPECT_EQ(text(1, 3), "aaa");
  standin_.set("stopped", 1);
  EXPECT_THROW(text(1, 1), Error);
  EXPECT_LT(Runtime::start(uri_).closing_time().count(), 0.011);
  store_.reset();
  standin_.set("stopped", 0);
}

TEST_F(DaosFaults, StoresOfOneContainerShareASession) {
  EXPECT_EQ(read("pools_open"), 1);
  {
    const auto other = open_object_store(uri_ + "/");
    EXPECT_EQ(other->uri(), uri_ + "/");
    EXPECT_EQ(other->size({{1, 1}, 1, 1}), 100u);
    EXPECT_EQ(read("pools_open"), 1);
    EXPECT_EQ(read("conts_open"), 1);
    store_.reset();
    EXPECT_EQ(other->size({{1, 1}, 1, 1}), 100u);
  }
  EXPECT_EQ(read("pools_open"), 0);
}

TEST_F(DaosFaults, ASessionWithoutValidHandlesIsNotShared) {
  standin_.fail("update", 1, 1, -der_no_hdl);
  EXPECT_THROW(put(1, "b"), Error);
  const auto other = open_object_store(uri_);
  EXPECT_EQ(read("pools_open"), 2);
  EXPECT_EQ(other->size({{1, 1}, 1, 1}), 100u);
}

TEST_F(DaosFaults, RefusesAnImpossibleTimeout) {
  store_.reset();
  for (const char* seconds : {"0", "-1", "soon", "1s", "1e300"}) {
    const Timeout timeout(seconds);
    EXPECT_EQ(error_of([&] { open_object_store(uri_); }).kind(), ErrorKind::usage) << seconds;
  }
}

// ---- Forks

TEST_F(DaosFaults, RefusesToWorkInAChild) {
  auto queue = store_->open_queue(2);
  const int status = status_of_child([&] {
    int refused = 0;
    const auto expect_refusal = [&](auto&& work) {
      try {
        work();
      } catch (const Error& error) {
        refused += error.kind() == ErrorKind::usage ? 1 : 0;
      }
    };
    std::array<ObjectQueue::Completion, 1> done;
    expect_refusal([&] { text(1, 1); });
    expect_refusal([&] { put(1, "x"); });
    expect_refusal([&] { store_->size({{1, 1}, 1, 1}); });
    expect_refusal([&] { store_->list_dkeys({1, 1}); });
    expect_refusal([&] { store_->open_queue(1); });
    expect_refusal([&] { queue->wait(done); });
    expect_refusal([&] { open_object_store(uri_); });
    queue.reset();  // does not call libdaos, whose stand-in would abort
    store_.reset();
    return refused;
  });
  EXPECT_EQ(status, 7);
  EXPECT_EQ(text(1, 3), "aaa");  // the parent continues
}

TEST_F(DaosFaults, WorksInAChildOfAParentWithoutDaos) {
  store_.reset();
  ASSERT_TRUE(Runtime::finish());
  const int status = status_of_child([&] {
    standin_.set("inline", 1);  // its threads are the parent's
    store_ = open_object_store(uri_);
    const bool same = text(1, 3) == "aaa";
    store_.reset();
    return same ? 5 : 6;
  });
  EXPECT_EQ(status, 5);
}

}  // namespace
}  // namespace colonnade::io::daos
