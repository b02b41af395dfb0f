// The suite that every object store must pass: its test file registers how to come to an empty store, and the
// tests of object_store_conformance_test.cpp run for it. Registration happens while static objects are made,
// or in main() before testing::InitGoogleTest(), where a server's address comes from the environment.
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
  // The URI of a store that is not there yet, or empty if all are there always; `name` is that of the test.
  // The suite opens it more than once.
  std::function<std::string(const std::string& name)> fresh_uri;
  StoreOptions options = {.create = true};
  // Opening what fresh_uri() gave without StoreOptions::create says that it is not there.
  bool misses_stores = true;
  std::size_t largest_value = std::size_t{32} << 20;  // that the suite tries, within the store's traits
  std::size_t many_keys = 1500;                       // of the test that lists many
};

// In messages of the test framework.
inline std::ostream& operator<<(std::ostream& out, const StoreUnderTest& store) {
  return out << store.name;
}

std::vector<StoreUnderTest>& stores_under_test();

struct RegisterStore {
  explicit RegisterStore(StoreUnderTest store) { stores_under_test().push_back(std::move(store)); }
};

}  // namespace colonnade::io

#endif
