// For tests of object containers: a store, and pages with distinct bytes.
#ifndef COLONNADE_CONTAINER_OBJECT_STORE_TEST_TOOLS_H
#define COLONNADE_CONTAINER_OBJECT_STORE_TEST_TOOLS_H

#include <gtest/gtest.h>

#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "container/object_store/writer.h"
#include "container/root_file/test_tools.h"
#include "io/memory/fault_store.h"
#include "io/memory/memory_store.h"

namespace colonnade::container {

// A memory store with the traits of S3 or DAOS, and faults for every process that opens it afterwards.
class TestStore {
 public:
  explicit TestStore(const io::StoreTraits& traits = {}) {
    io::set_memory_store_traits(uri_, traits);
    io::wrap_memory_store(uri_,
                          [faults = faults_](auto store) { return with_faults(std::move(store), faults); });
  }
  ~TestStore() { io::remove_memory_store(uri_); }
  TestStore(const TestStore&) = delete;
  TestStore& operator=(const TestStore&) = delete;

  static io::StoreTraits like_s3() {
    return {.best_value = std::size_t{4} << 20,
            .ranges = true,
            .vectors = false,
            .finds_objects = true,
            .concurrency = 16};
  }
  static io::StoreTraits like_daos() {
    return {.ranges = false, .vectors = true, .max_items = 128, .concurrency = 8};
  }

  const std::string& uri() const { return uri_; }
  operator const std::string&() const { return uri_; }
  std::shared_ptr<io::ObjectStore> open() const { return io::open_memory_store(uri_, {.create = true}); }
  io::StoreFaults& faults() const { return *faults_; }
  io::StoreCounts counts() const { return io::memory_store_counts(uri_); }
  void reset_counts() const { io::reset_memory_store_counts(uri_); }
  std::vector<io::ValueAddress> addresses() const { return io::memory_store_addresses(uri_); }
  // The groups outside the directory.
  std::set<std::uint32_t> groups() const {
    std::set<std::uint32_t> groups;
    for (const io::ValueAddress& address : addresses())
      if (address.object.group != 0) groups.insert(address.object.group);
    return groups;
  }

 private:
  static int next() {
    static std::atomic<int> number{0};
    return number++;
  }
  std::string uri_ = "memory+obj:page-test-" + std::to_string(next());
  std::shared_ptr<io::StoreFaults> faults_ = std::make_shared<io::StoreFaults>();
};

inline Bytes page_bytes(std::size_t size, std::uint64_t seed) {
  Bytes bytes(size);
  for (std::size_t i = 0; i < size; ++i) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    bytes[i] = static_cast<std::byte>(seed >> 56);
  }
  return bytes;
}

// Pages of columns with the given sizes, as a page sink delivers them.
class TestPages {
 public:
  void add(std::uint32_t column, std::size_t size) {
    bytes_.push_back(page_bytes(size, bytes_.size() + 1));
    parts_.push_back({bytes_.back(), column});
  }
  std::span<const PagePart> parts() const { return parts_; }

  // Expects that the bytes at the locations equal those written.
  void expect_at(const io::ObjectStore& store, std::uint32_t group, ObjectMapping mapping,
                 const std::vector<std::uint64_t>& locations) const {
    ASSERT_EQ(locations.size(), parts_.size());
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      Bytes back(parts_[i].bytes.size());
      const LocalityLocation place = LocalityLocation::of(locations[i]);
      const bool single = mapping == ObjectMapping::object_per_page;
      const io::FetchItem item{
          .akey = single ? 0 : place.value, .offset = single ? 0 : place.offset, .into = back};
      const io::ObjectId object{group, single ? locations[i] : place.object};
      ASSERT_NO_THROW(store.fetch(object, single ? 0 : parts_[i].column, {&item, 1})) << "page " << i;
      EXPECT_TRUE(std::equal(back.begin(), back.end(), parts_[i].bytes.begin())) << "page " << i;
    }
  }

 private:
  std::deque<Bytes> bytes_;
  std::vector<PagePart> parts_;
};

}  // namespace colonnade::container

#endif
