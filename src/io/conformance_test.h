// The test suite for all transports: a transport's test file registers how to make, read and write a file,
// and the tests of conformance_test.cpp run for it.
#ifndef COLONNADE_IO_CONFORMANCE_TEST_H
#define COLONNADE_IO_CONFORMANCE_TEST_H

#include <functional>
#include <string>
#include <vector>

#include "io/random_access_file.h"

namespace colonnade::io {

struct TransportUnderTest {
  std::string name;
  // A URI of the transport whose last part is `name`; no file exists there.
  std::function<std::string(const std::string& name)> fresh_uri;
  // Creates a file by other means than the transport's own writer.
  std::function<void(const std::string& uri, ByteSpan content)> store;
  std::function<Bytes(const std::string& uri)> content;
  bool can_write = true;
  bool can_update = true;  // in place, visible to all readers
  WriteFileOptions write_options = {};
  ReadFileOptions read_options = {};
};

std::vector<TransportUnderTest>& transports_under_test();

struct RegisterTransport {
  explicit RegisterTransport(TransportUnderTest transport) {
    transports_under_test().push_back(std::move(transport));
  }
};

}  // namespace colonnade::io

#endif
