// Tests particular to the rados store: how values are placed in the pool, how many operations are sent, which
// connections are made.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <thread>

#include "io/object_store_conformance_test.h"
#include "io/rados/rados_listing.h"
#include "io/rados/rados_test_tools.h"

namespace colonnade::io {

std::string ceph_pool() {
  return std::getenv("COLONNADE_TEST_RADOS_POOL");
}

std::string ceph_configuration() {
  return std::getenv("CEPH_CONF");
}

pid_t ceph_osd() {
  return std::atoi(std::getenv("COLONNADE_TEST_CEPH_OSD_PID"));
}

std::string fresh_rados_uri(const std::string& name, const std::string& options) {
  static std::atomic<int> number = 0;
  return "rados://" + ceph_pool() + "/" + name + std::to_string(++number) + options;
}

std::string output_of(const std::string& command) {
  FILE* pipe = ::popen(command.c_str(), "r");
  std::string output;
  std::array<char, 4096> some{};
  while (const std::size_t count = std::fread(some.data(), 1, some.size(), pipe))
    output.append(some.data(), count);
  EXPECT_EQ(::pclose(pipe), 0) << command << "\n" << output;
  return output;
}

void put(ObjectStore& store, const ValueAddress& address, ByteSpan value) {
  const UpdateItem item{address.akey, {value}};
  store.update(address.object, address.dkey, {&item, 1});
}

Bytes read(const ObjectStore& store, const ValueAddress& address, std::size_t size, std::uint64_t offset) {
  Bytes into(size);
  const FetchItem item{address.akey, offset, into};
  store.fetch(address.object, address.dkey, {&item, 1});
  return into;
}

CephCounts count_ceph_operations() {
  const std::string socket = std::getenv("COLONNADE_TEST_CEPH_OSD_SOCKET");
  const std::string dump = output_of("ceph --admin-daemon " + socket + " perf dump osd");
  const auto number = [&](const std::string& name) {
    const std::size_t at = dump.find("\"" + name + "\": ");
    EXPECT_NE(at, std::string::npos) << dump;
    return at == std::string::npos ? 0 : std::stoull(dump.substr(at + name.size() + 4));
  };
  return {number("op_r"), number("op_w")};
}

namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::size_t count_threads() {
  return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator("/proc/self/task"),
                                                std::filesystem::directory_iterator()));
}

std::string name_space_of(const std::string& uri) {
  return uri.substr(uri.rfind('/') + 1);
}

TEST(RadosStore, NamesObjectsByTheirAddress) {
  const std::string uri = fresh_rados_uri("names");
  const auto store = open_object_store(uri);
  put(*store, {{7, 42}, 3, 255}, as_bytes("value"));
  ASSERT_TRUE(store->put_if({{0, 0}, 1, 0}, as_bytes("anchor"), std::nullopt));
  const std::string names = output_of("rados -p " + ceph_pool() + " ls -N " + name_space_of(uri));
  EXPECT_THAT(names, HasSubstr("00000007.000000000000002a.0000000000000003.00000000000000ff\n"));
  EXPECT_THAT(names, HasSubstr("00000000.0000000000000000.0000000000000001.0000000000000000\tdirectory\n"));
}

TEST(RadosStore, KnowsWhereItsDirectoryIs) {
  const std::string uri = fresh_rados_uri("position");
  const auto store = open_object_store(uri);
  for (const std::uint64_t dkey : {1, 2, 3})
    ASSERT_TRUE(store->put_if({{0, 0}, dkey, 0}, as_bytes("anchor"), std::nullopt));
  put(*store, {{1, 0}, 4, 0}, as_bytes("page"));
  EXPECT_THAT(store->list_dkeys({0, 0}), ElementsAre(1u, 2u, 3u));
  EXPECT_THAT(store->list_dkeys({1, 0}), ElementsAre(4u));
  // Ceph places an object of this name like those with this key.
  const std::string name_space = name_space_of(uri);
  const std::string map = output_of("ceph osd map -f json " + ceph_pool() + " directory " + name_space);
  EXPECT_THAT(map, HasSubstr(fmt::format(".{:x}\"", rados_hash(name_space + "\x1f"
                                                                            "directory"))));
}

TEST(RadosStore, KeepsNamespacesApart) {
  const auto one = open_object_store(fresh_rados_uri("apart"));
  const auto other = open_object_store(fresh_rados_uri("apart"));
  put(*one, {{1, 1}, 1, 1}, as_bytes("one"));
  EXPECT_EQ(other->size({{1, 1}, 1, 1}), std::nullopt);
  EXPECT_THAT(other->list_dkeys({1, 1}), ElementsAre());
}

TEST(RadosStore, PassesOverObjectsOfOthers) {
  const std::string uri = fresh_rados_uri("foreign");
  const auto store = open_object_store(uri);
  put(*store, {{1, 1}, 1, 1}, as_bytes("x"));
  for (const char* name : {"readme", "00000001.0000000000000001.0000000000000001", "00000001-x"})
    output_of("echo hello | rados -p " + ceph_pool() + " -N " + name_space_of(uri) + " put " + name + " -");
  EXPECT_THAT(store->list_dkeys({1, 1}), ElementsAre(1u));
  store->remove_objects(1, 0, ~std::uint64_t{0});
  EXPECT_THAT(output_of("rados -p " + ceph_pool() + " -N " + name_space_of(uri) + " ls"),
              HasSubstr("readme"));
}

TEST(RadosStore, SendsOneOperationForAllRangesOfAValue) {
  const auto store = open_object_store(fresh_rados_uri("ranges"));
  put(*store, {{1, 1}, 1, 1}, Bytes(1 << 20));
  put(*store, {{1, 1}, 1, 2}, Bytes(1 << 20));
  std::vector<Bytes> into(40, Bytes(1000));
  std::vector<FetchItem> items;
  for (std::uint64_t i = 0; i < into.size(); ++i) items.push_back({1 + i % 2, i * 20000, into[i]});
  const CephCounts before = count_ceph_operations();
  store->fetch({1, 1}, 1, items);
  EXPECT_EQ(count_ceph_operations().reads - before.reads, 2u);
}

TEST(RadosStore, SendsOneOperationForAllPartsOfAValue) {
  const auto store = open_object_store(fresh_rados_uri("parts"));
  const Bytes large(std::size_t{1} << 20, std::byte{1});
  const Bytes small(1000, std::byte{2});
  UpdateItem item{1, {}};
  for (int i = 0; i < 4; ++i) item.parts.push_back(large);
  put(*store, {{1, 1}, 1, 1}, Bytes(5 << 20));
  const CephCounts before = count_ceph_operations();
  store->update({1, 1}, 1, {&item, 1});
  for (int i = 0; i < 40; ++i) item.parts.push_back(small);
  store->update({1, 1}, 1, {&item, 1});
  EXPECT_EQ(count_ceph_operations().writes - before.writes, 2u);
  EXPECT_EQ(store->size({{1, 1}, 1, 1}), (4u << 20) + 40000);
  Bytes expected(std::size_t{4} << 20, std::byte{1});
  expected.resize(expected.size() + 40000, std::byte{2});
  EXPECT_TRUE(read(*store, {{1, 1}, 1, 1}, expected.size(), 0) == expected);
}

TEST(RadosStore, WritesItsLargestValue) {
  const auto store = open_object_store(fresh_rados_uri("largest"));
  const std::size_t size = store->traits().max_value;
  put(*store, {{1, 1}, 1, 1}, Bytes(size, std::byte{7}));
  EXPECT_EQ(store->size({{1, 1}, 1, 1}), size);
  EXPECT_EQ(read(*store, {{1, 1}, 1, 1}, 1, size - 1), Bytes(1, std::byte{7}));
  store->remove({{1, 1}, 1, 1});
}

TEST(RadosStore, SharesTheConnection) {
  const auto first = open_object_store(fresh_rados_uri("shared"));
  const std::size_t threads = count_threads();
  const auto second = open_object_store(fresh_rados_uri("shared"));
  EXPECT_EQ(count_threads(), threads);
  const auto own = open_object_store(fresh_rados_uri("shared", "?timeout=7"));
  EXPECT_GT(count_threads(), threads);
}

TEST(RadosStore, TakesItsConfigurationFromTheUri) {
  const std::string file = ceph_configuration();
  ::setenv("CEPH_CONF", "/nowhere/ceph.conf", 1);
  const std::string uri = fresh_rados_uri("configured", "?conf=" + file + "&id=admin");
  EXPECT_NO_THROW(put(*open_object_store(uri), {{1, 1}, 1, 1}, as_bytes("x")));
  ::setenv("CEPH_ARGS", ("--conf " + file).c_str(), 1);
  EXPECT_NO_THROW(put(*open_object_store(fresh_rados_uri("configured")), {{1, 1}, 1, 1}, as_bytes("x")));
  ::unsetenv("CEPH_ARGS");
  ::setenv("CEPH_CONF", file.c_str(), 1);
}

TEST(RadosStore, RefusesToBeUsedInAChildProcess) {
  const auto store = open_object_store(fresh_rados_uri("forked"));
  put(*store, {{1, 1}, 1, 1}, as_bytes("x"));
  auto queue = store->open_queue(4);
  Bytes into(1);
  const FetchItem item{1, 0, into};
  queue->submit_fetch(1, {1, 1}, 1, {&item, 1});
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(30);
    int refused = 0;
    const auto refuses = [&](auto&& use) {
      try {
        use();
      } catch (const Error& error) {
        refused += error.kind() == ErrorKind::usage;
      }
    };
    ObjectQueue::Completion completion;
    refuses([&] { store->fetch({1, 1}, 1, {&item, 1}); });
    refuses([&] { store->update({1, 1}, 1, {}); });
    refuses([&] { store->size({{1, 1}, 1, 1}); });
    refuses([&] { store->get({{1, 1}, 1, 1}); });
    refuses([&] { store->list_dkeys({1, 1}); });
    refuses([&] { store->remove({{1, 1}, 1, 1}); });
    refuses([&] { store->open_queue(1); });
    refuses([&] { queue->wait({&completion, 1}); });
    queue.reset();
    // A separate connection works.
    const auto again = open_object_store(store->uri());
    const bool reads = read(*again, {{1, 1}, 1, 1}, 1, 0) == Bytes(1, std::byte{'x'});
    ::_exit(reads ? refused : 100);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status)) << status;
  EXPECT_EQ(WEXITSTATUS(status), 8);
  ObjectQueue::Completion completion;
  EXPECT_EQ(queue->wait({&completion, 1}), 1u);
  EXPECT_EQ(completion.failure, nullptr);
}

}  // namespace
}  // namespace colonnade::io

int main(int argc, char** argv) {
  using namespace colonnade::io;
  if (std::getenv("COLONNADE_TEST_RADOS_POOL") == nullptr) {
    std::cerr << "no Ceph: run this with python3 tests/servers/run_with.py ceph -- " << argv[0] << "\n";
    return 2;
  }
  const auto fresh_uri = [](const std::string& name) {
    return name == "missing" ? "rados://colonnade-missing/x" : fresh_rados_uri(name);
  };
  stores_under_test().push_back({.name = "Rados", .fresh_uri = fresh_uri});
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
