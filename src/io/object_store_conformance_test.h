// The test suite for all object stores: a store's test file registers how to get an empty store, and the
// tests of object_store_conformance_test.cpp run for it. Registration happens during static initialisation,
// or in main() before testing::InitGoogleTest() if a server's address comes from the environment.
#ifndef COLONNADE_IO_OBJECT_STORE_CONFORMANCE_TEST_H
#define COLONNADE_IO_OBJECT_STORE_CONFORMANCE_TEST_H

#include <cstddef>
#include <functional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "io/object_store.h"

namespace colonnade::io {

struct StoreUnderTest {
  std::string name;  // letters and digits
  // The URI of a store that does not exist yet, or an empty one if stores always exist; `name` is that of the
  // test. The suite opens it more than once.
  std::function<std::string(const std::string& name)> fresh_uri;
  StoreOptions options = {.create = true};
  // Opening the result of fresh_uri() without StoreOptions::create reports that it does not exist.
  bool misses_stores = true;
  std::size_t largest_value = std::size_t{32}
                              << 20;  // the largest that the suite tries, within the store's traits
  std::size_t many_keys = 1500;       // for the test that lists many
};

// For messages of the test framework.
inline std::ostream& operator<<(std::ostream& out, const StoreUnderTest& store) {
  return out << store.name;
}

std::vector<StoreUnderTest>& stores_under_test();

struct RegisterStore {
  explicit RegisterStore(StoreUnderTest store) { stores_under_test().push_back(std::move(store)); }
};

}  // namespace colonnade::io

#endif
