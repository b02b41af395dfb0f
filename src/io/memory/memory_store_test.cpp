// Stores in memory: the conformance suite, and their own functions.
#include "io/memory/memory_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "io/object_store_conformance_test.h"

namespace colonnade::io {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const RegisterStore memory({.name = "Memory", .fresh_uri = [](const std::string& name) {
                              remove_memory_store("memory+obj:" + name);
                              return "memory+obj:" + name;
                            }});

// Like a store whose values are moved as a whole, and few at a time.
const RegisterStore narrow({.name = "NarrowMemory", .fresh_uri = [](const std::string& name) {
                              remove_memory_store("memory+obj:narrow" + name);
                              if (name != "missing")
                                set_memory_store_traits("narrow" + name, {.max_value = std::size_t{2} << 20,
                                                                          .ranges = false,
                                                                          .max_items = 1,
                                                                          .concurrency = 1});
                              return "memory+obj:narrow" + name;
                            }});

void put(ObjectStore& store, const ValueAddress& address, std::string_view value) {
  const UpdateItem item{address.akey, {as_bytes(value)}};
  store.update(address.object, address.dkey, {&item, 1});
}

TEST(MemoryStore, LivesUntilItIsRemoved) {
  remove_memory_store("memory+obj:kept");
  put(*open_object_store("memory+obj:kept", {.create = true}), {{1, 2}, 3, 4}, "abc");
  const auto open = open_object_store("memory+obj:kept");
  remove_memory_store("kept");
  EXPECT_THROW(open_object_store("memory+obj:kept"), Error);
  EXPECT_EQ(open->size({{1, 2}, 3, 4}), 3u);
}

TEST(MemoryStore, IsNoFile) {
  EXPECT_TRUE(is_object_store("memory+obj:x"));
  EXPECT_FALSE(is_object_store("memory:x"));
  EXPECT_THROW(open_object_store("memory:x"), Error);
}

TEST(MemoryStore, CountsOperations) {
  remove_memory_store("counted");
  const auto store = open_object_store("memory+obj:counted", {.create = true});
  const std::array updates{UpdateItem{1, {as_bytes("ab"), as_bytes("c")}}, UpdateItem{2, {as_bytes("d")}}};
  store->update({1, 1}, 1, updates);
  Bytes into(2);
  const std::array fetches{FetchItem{1, 1, into}, FetchItem{9, 0, into}};
  store->fetch({1, 1}, 1, {fetches.data(), 1});
  EXPECT_THROW(store->fetch({1, 1}, 1, fetches), Error);
  static_cast<void>(store->get({{1, 1}, 1, 1}));
  StoreCounts counts = memory_store_counts("memory+obj:counted");
  EXPECT_EQ(counts.updates, 1u);
  EXPECT_EQ(counts.updated_items, 2u);
  EXPECT_EQ(counts.updated_bytes, 4u);
  EXPECT_EQ(counts.fetches, 2u);
  EXPECT_EQ(counts.fetched_items, 3u);
  EXPECT_EQ(counts.fetched_bytes, 2u);
  EXPECT_EQ(counts.gets, 1u);
  reset_memory_store_counts("counted");
  counts = memory_store_counts("counted");
  EXPECT_EQ(counts.updates + counts.fetches + counts.gets, 0u);
  EXPECT_THAT(memory_store_addresses("counted"),
              ElementsAre(ValueAddress{{1, 1}, 1, 1}, ValueAddress{{1, 1}, 1, 2}));
}

TEST(MemoryStore, EnforcesTheTraitsItIsGiven) {
  remove_memory_store("limited");
  const auto store = open_object_store("memory+obj:limited", {.create = true});
  set_memory_store_traits("limited", {.max_value = 4, .vectors = true, .max_items = 2});
  EXPECT_TRUE(store->traits().vectors);
  EXPECT_NO_THROW(put(*store, {{1, 1}, 1, 1}, "abcd"));
  try {
    put(*store, {{1, 1}, 1, 1}, "abcde");
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    EXPECT_THAT(error.what(), HasSubstr("a value of 5 bytes, but the store takes at most 4"));
  }
  EXPECT_THROW(store->put_if({{1, 1}, 1, 1}, as_bytes("abcde"), std::nullopt), Error);
}

TEST(MemoryStore, RefusesAKeyTwiceInOneUpdate) {
  remove_memory_store("twice");
  const auto store = open_object_store("memory+obj:twice", {.create = true});
  const std::array updates{UpdateItem{1, {as_bytes("a")}}, UpdateItem{1, {as_bytes("b")}}};
  EXPECT_THROW(store->update({1, 1}, 1, updates), Error);
}

TEST(MemoryStore, KnowsAnOldVersionOfTheSameBytes) {
  remove_memory_store("versions");
  const auto store = open_object_store("memory+obj:versions", {.create = true});
  put(*store, {{0, 0}, 1, 0}, "same");
  const std::string version = store->get({{0, 0}, 1, 0})->version;
  put(*store, {{0, 0}, 1, 0}, "same");
  EXPECT_FALSE(store->put_if({{0, 0}, 1, 0}, as_bytes("new"), version));
}

}  // namespace
}  // namespace colonnade::io
