// Conditional replacement in DAOS, by concurrent processes, some of which die; and checks that the stand-in
// refuses in transactions what DAOS refuses.
#include "io/daos/daos_transaction.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>
#include <thread>

#include "base/test_errors.h"
#include "io/daos/daos_store.h"
#include "io/daos/daos_test_tools.h"

namespace colonnade::io::daos {
namespace {

using testing::HasSubstr;

constexpr int der_already = 1008;
constexpr std::uint64_t if_akey_present = 0x20;  // of an update
constexpr std::uint64_t read_only = 1;           // of a transaction

class DaosTransactions : public testing::Test {
 protected:
  DaosTransactions()
      : uri_(fresh_daos_uri("transactions")), store_(open_object_store(uri_, {.create = true})) {}
  ~DaosTransactions() override {
    standin_.set("release", 1);
    store_.reset();
    EXPECT_EQ(read("transactions_open"), 0);
    EXPECT_EQ(read("order_violations"), 0);
    standin_.reset();
  }

  bool put(std::string_view value) {
    const auto now = store_->get(address_);
    return store_->put_if(address_, as_bytes(value), now ? std::optional(now->version) : std::nullopt);
  }
  std::string text() const {
    const auto now = store_->get(address_);
    return now ? std::string(reinterpret_cast<const char*>(now->value.data()), now->value.size()) : "";
  }
  std::int64_t read(const char* counter) const { return standin_.read(counter); }
  void wait_for(const char* counter, std::int64_t value) const {
    while (read(counter) < value) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }

  const ValueAddress address_{{1, 1}, 1, 1};
  Standin& standin_ = Standin::get();
  std::string uri_;
  std::shared_ptr<ObjectStore> store_;
};

TEST_F(DaosTransactions, TellEqualValuesOfTwoPutsApart) {
  ASSERT_TRUE(put("before"));
  const std::string before = store_->get(address_)->version;
  EXPECT_TRUE(store_->put_if(address_, as_bytes("same"), before));
  const std::string first = store_->get(address_)->version;
  EXPECT_TRUE(store_->put_if(address_, as_bytes("same"), first));
  EXPECT_FALSE(store_->put_if(address_, as_bytes("same"), first));
}

TEST_F(DaosTransactions, TellsAValueThatWasRemovedAndPutAgainApart) {
  for (const std::int64_t tombstones : {0, 1}) {
    standin_.set("tombstones", tombstones);
    store_->remove(address_);
    ASSERT_TRUE(store_->put_if(address_, as_bytes("same"), std::nullopt));
    const std::string first = store_->get(address_)->version;
    store_->remove(address_);
    ASSERT_TRUE(store_->put_if(address_, as_bytes("same"), std::nullopt));
    EXPECT_FALSE(store_->put_if(address_, as_bytes("other"), first));
  }
}

// Another transaction overtakes a slow one: the slow one changes nothing, whenever it arrives.
TEST_F(DaosTransactions, WhoIsOvertakenChangesNothing) {
  ASSERT_TRUE(put("before"));
  const std::string version = store_->get(address_)->version;
  standin_.set("hold_commits", 1);
  bool slow_one = true;
  std::thread thread([&] { slow_one = store_->put_if(address_, as_bytes("slow"), version); });
  wait_for("commits_held", 1);
  EXPECT_TRUE(open_object_store(uri_)->put_if(address_, as_bytes("quick"), version));
  standin_.set("release", 1);
  thread.join();
  EXPECT_FALSE(slow_one);
  EXPECT_EQ(text(), "quick");
}

TEST_F(DaosTransactions, WhoIsOvertakenByARemovalOrAnUpdateLooksAgain) {
  for (const bool removed : {true, false}) {
    standin_.set("release", 0);
    ASSERT_TRUE(put("before"));
    const std::string version = store_->get(address_)->version;
    standin_.set("hold_commits", 1);
    bool slow_one = true;
    std::thread thread([&] { slow_one = store_->put_if(address_, as_bytes("slow"), version); });
    wait_for("commits_held", 1);
    const UpdateItem item{address_.akey, {as_bytes("plain")}};
    if (removed)
      store_->remove(address_);
    else
      store_->update(address_.object, address_.dkey, {&item, 1});
    standin_.set("release", 1);
    thread.join();
    EXPECT_FALSE(slow_one);
    EXPECT_EQ(text(), removed ? "" : "plain");
  }
}

// Every version is replaced by one of them, never by two.
TEST_F(DaosTransactions, NoTwoReplaceTheSameVersion) {
  ASSERT_TRUE(put("begin"));
  standin_.set("threads", 3);
  std::mutex mutex;
  std::map<std::string, std::string> replaced_by;  // version, value
  int twice = 0;
  const auto work = [&](unsigned seed) {
    std::mt19937 random(seed);
    const auto store = open_object_store(uri_);
    for (int i = 0; i < 60; ++i) {
      const auto now = store->get(address_);
      if (random() % 3 == 0) std::this_thread::yield();
      const std::string value = std::to_string(seed) + "/" + std::to_string(i);
      if (!store->put_if(address_, as_bytes(value), now->version)) continue;
      const std::lock_guard lock(mutex);
      twice += replaced_by.emplace(now->version, value).second ? 0 : 1;
    }
  };
  std::vector<std::thread> threads;
  for (unsigned seed = 1; seed <= 4; ++seed) threads.emplace_back(work, seed);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(twice, 0);
  EXPECT_GE(replaced_by.size(), 60u);
}

// libdaos repeats a commit whose answer was lost, and may then not recognise its own work.
TEST_F(DaosTransactions, AreDoneOnceIfTheAnswerSaysToStartAgain) {
  ASSERT_TRUE(put("before"));
  standin_.fail("committed", 1, 1, -der_tx_restart);
  EXPECT_TRUE(put("after"));
  EXPECT_EQ(text(), "after");
  EXPECT_EQ(read("commits"), 2);
}

TEST_F(DaosTransactions, StartAgainAfterEveryConflict) {
  ASSERT_TRUE(put("before"));
  standin_.fail("overtaken", 1, 3, -der_tx_restart);
  EXPECT_TRUE(put("after"));
  EXPECT_EQ(text(), "after");
}

TEST_F(DaosTransactions, GiveUpIfTheConflictsDoNotEnd) {
  store_.reset();
  const Timeout timeout("1");
  store_ = open_object_store(uri_);
  standin_.fail("overtaken", 1, 1'000'000'000, -der_tx_restart);
  const Error error = error_of([&] { put("new"); });
  EXPECT_EQ(error.kind(), ErrorKind::io);
  EXPECT_THAT(error.problem(), HasSubstr("cannot replace object 1:1"));
  EXPECT_THAT(error.problem(), HasSubstr("for 1 s"));
  standin_.reset();
  EXPECT_EQ(text(), "");
  store_.reset();
}

// The answer does not come, and the commit is applied after the timeout. The handle is then closed.
TEST_F(DaosTransactions, SayWhatIsNotKnown) {
  store_.reset();
  const Timeout timeout("1");
  store_ = open_object_store(uri_);
  standin_.set("hold_commits", 1);
  const Error error = error_of([&] { put("late"); });
  EXPECT_EQ(error.kind(), ErrorKind::io);
  EXPECT_THAT(error.problem(), HasSubstr("no answer for 1 s"));
  EXPECT_THAT(error.problem(), HasSubstr("may have been done"));
  standin_.set("release", 1);
  while (read("commits_held") > 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_EQ(text(), "late");
  store_.reset();
}

TEST_F(DaosTransactions, ReportWhatDaosSays) {
  for (const char* call : {"tx_open", "fetch", "update", "commit"}) {
    standin_.fail(call, 1, 1, -der_nospace);
    EXPECT_THAT(error_of([&] { store_->put_if(address_, as_bytes("x"), std::nullopt); }).problem(),
                HasSubstr("DER_NOSPACE"))
        << call;
    standin_.reset();
    EXPECT_EQ(text(), "") << call;
  }
}

// ---- The stand-in

// Calls of libdaos on one value, as made by a process that has opened the container.
class Caller {
 public:
  explicit Caller(const std::string& uri) : session_(Session::open(uri, true)), api_(session_->api()) {
    Oid oid{1, 1};
    EXPECT_EQ(api_.obj_generate_oid(session_->container(), &oid, type_number_keys, class_by_hints,
                                    hint_one_group, 0),
              0);
    EXPECT_EQ(api_.obj_open(session_->container(), oid, object_read_write, &object_, nullptr), 0);
  }
  ~Caller() { api_.obj_close(object_, nullptr); }

  Handle open(std::uint64_t flags = 0) const {
    Handle handle;
    EXPECT_EQ(api_.tx_open(session_->container(), &handle, flags, nullptr), 0);
    return handle;
  }
  int commit(Handle transaction) const { return api_.tx_commit(transaction, nullptr); }
  int restart(Handle transaction) const { return api_.tx_restart(transaction, nullptr); }
  int close(Handle transaction) const { return api_.tx_close(transaction, nullptr); }
  int update(Handle transaction, std::uint64_t key, std::string value, std::uint64_t flags = 0) const {
    Iov iov{value.data(), value.size(), value.size()};
    SgList list{1, 0, &iov};
    Iod iod = iod_of(key);
    iod.size = value.size();
    return api_.obj_update(object_, transaction, flags, dkey(), 1, &iod, &list, nullptr);
  }
  int fetch(Handle transaction, std::uint64_t key, std::string& value) const {
    value.assign(100, '?');
    Iov iov{value.data(), value.size(), value.size()};
    SgList list{1, 0, &iov};
    Iod iod = iod_of(key);
    const int code = api_.obj_fetch(object_, transaction, if_dkey_there | if_akey_there, dkey(), 1, &iod,
                                    &list, nullptr, nullptr);
    value.resize(code == 0 ? iod.size : 0);
    return code;
  }
  std::string text(std::uint64_t key) const {
    std::string value;
    fetch(no_transaction, key, value);
    return value;
  }

 private:
  static Iod iod_of(std::uint64_t& key) {
    Iod iod;
    iod.name = {&key, sizeof key, sizeof key};
    iod.type = single_value;
    iod.count = 1;
    return iod;
  }
  static Iov* dkey() {
    static std::uint64_t number = 7;
    static Iov iov{&number, sizeof number, sizeof number};
    return &iov;
  }

  std::shared_ptr<Session> session_;
  const Api& api_;
  Handle object_;
};

TEST_F(DaosTransactions, OfAWriterThatDiedLeaveNothing) {
  ASSERT_TRUE(put("before"));
  const Caller caller(uri_);
  const Handle dead = caller.open();
  std::string value;
  EXPECT_EQ(caller.fetch(dead, 1, value), -der_nonexist);
  EXPECT_EQ(caller.update(dead, 1, "never"), 0);
  standin_.reset();
  EXPECT_TRUE(put("after"));  // does not block: there are no more calls than usual
  EXPECT_EQ(read("commits"), 1);
  EXPECT_EQ(caller.text(1), "");
  EXPECT_EQ(caller.close(dead), 0);
}

TEST_F(DaosTransactions, StandinKnowsTheirStates) {
  const Caller caller(uri_);
  std::string value;
  const Handle first = caller.open();
  EXPECT_EQ(caller.restart(first), -der_no_perm);  // there was no conflict
  EXPECT_EQ(caller.update(first, 1, "a"), 0);
  EXPECT_EQ(caller.text(1), "");
  EXPECT_EQ(caller.commit(first), 0);
  EXPECT_EQ(caller.text(1), "a");
  EXPECT_EQ(caller.commit(first), -der_already);
  EXPECT_EQ(caller.update(first, 1, "b"), -der_no_perm);
  EXPECT_EQ(caller.fetch(first, 1, value), -der_no_perm);
  EXPECT_EQ(caller.close(first), 0);
  for (const Handle gone : {first, Handle{4711}}) {
    EXPECT_EQ(caller.commit(gone), -der_no_hdl);
    EXPECT_EQ(caller.restart(gone), -der_no_hdl);
    EXPECT_EQ(caller.close(gone), -der_no_hdl);
    EXPECT_EQ(caller.update(gone, 1, "b"), -der_no_hdl);
    EXPECT_EQ(caller.fetch(gone, 1, value), -der_no_hdl);
  }
  const Handle reader = caller.open(read_only);
  EXPECT_EQ(caller.update(reader, 1, "b"), -der_no_perm);
  EXPECT_EQ(caller.fetch(reader, 1, value), 0);
  EXPECT_EQ(caller.close(reader), 0);
}

TEST_F(DaosTransactions, StandinChecksConditions) {
  const Caller caller(uri_);
  const Handle handle = caller.open();
  EXPECT_EQ(caller.update(handle, 1, "a", if_akey_present), -der_nonexist);
  EXPECT_EQ(caller.update(handle, 1, "a", if_akey_absent), 0);
  EXPECT_EQ(caller.commit(handle), 0);
  EXPECT_EQ(caller.close(handle), 0);
  const Handle next = caller.open();
  EXPECT_EQ(caller.update(next, 1, "b", if_akey_absent), -der_exist);
  EXPECT_EQ(caller.update(next, 1, "b", if_akey_present), 0);
  EXPECT_EQ(caller.update(no_transaction, 1, "c"), 0);  // the condition no longer holds
  EXPECT_EQ(caller.commit(next), -der_tx_restart);
  EXPECT_EQ(caller.text(1), "c");
  EXPECT_EQ(caller.update(next, 1, "d"), -der_no_perm);
  EXPECT_EQ(caller.restart(next), 0);
  EXPECT_EQ(caller.update(next, 1, "d"), 0);
  EXPECT_EQ(caller.commit(next), 0);
  EXPECT_EQ(caller.text(1), "d");
  EXPECT_EQ(caller.close(next), 0);
}

// A later transaction that relies on a value keeps an earlier one from changing it.
TEST_F(DaosTransactions, StandinRefusesTheEarlierOfTwo) {
  const Caller caller(uri_);
  std::string value;
  ASSERT_EQ(caller.update(no_transaction, 1, "a"), 0);
  const Handle early = caller.open();
  const Handle late = caller.open();
  EXPECT_EQ(caller.fetch(early, 1, value), 0);
  EXPECT_EQ(caller.fetch(late, 1, value), 0);
  EXPECT_EQ(caller.update(early, 1, "early"), 0);
  EXPECT_EQ(caller.update(late, 1, "late"), 0);
  EXPECT_EQ(caller.commit(early), -der_tx_restart);
  EXPECT_EQ(caller.commit(late), 0);
  EXPECT_EQ(caller.text(1), "late");
  EXPECT_EQ(caller.close(early), 0);
  EXPECT_EQ(caller.close(late), 0);
}

// Randomly overlapping transactions on few values: the committed ones saw what they would have seen in some
// serial order; each value that they write names everything they read.
TEST_F(DaosTransactions, StandinLetsNothingGetLost) {
  const Caller caller(uri_);
  constexpr std::uint64_t keys = 3;
  for (unsigned seed = 1; seed <= 300; ++seed) {
    std::mt19937 random(seed);
    for (std::uint64_t key = 0; key < keys; ++key) ASSERT_EQ(caller.update(no_transaction, key, "0"), 0);
    std::array<int, keys> counted{};
    struct Running {
      Handle handle;
      std::map<std::uint64_t, int> seen;
      bool failed = false;
    };
    std::vector<Running> running(4);
    for (Running& one : running) one.handle = caller.open();
    while (!running.empty()) {
      Running& one = running[random() % running.size()];
      const std::uint64_t key = random() % keys;
      std::string value;
      int code = 0;
      const bool ends = random() % 4 == 0;
      if (ends) {
        for (const auto& [its, number] : one.seen)
          if (code == 0) code = caller.update(one.handle, its, std::to_string(number + 1));
        if (code == 0) code = caller.commit(one.handle);
      } else {
        code = caller.fetch(one.handle, key, value);
        if (code == 0) one.seen[key] = std::stoi(value);
      }
      EXPECT_TRUE(code == 0 || code == -der_tx_restart) << seed << ": " << code;
      if (!ends && code == 0) continue;
      if (code == 0)
        for (const auto& [its, number] : one.seen) ++counted[its];
      EXPECT_EQ(caller.close(one.handle), 0);
      std::swap(one, running.back());
      running.pop_back();
    }
    for (std::uint64_t key = 0; key < keys; ++key)
      ASSERT_EQ(caller.text(key), std::to_string(counted[key])) << seed;
  }
}

}  // namespace
}  // namespace colonnade::io::daos
