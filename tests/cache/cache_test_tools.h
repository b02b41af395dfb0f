// What the tests of the cache share: data sets with random content, and passes over them that compare every
// value with plain reading.
#ifndef COLONNADE_TESTS_CACHE_CACHE_TEST_TOOLS_H
#define COLONNADE_TESTS_CACHE_CACHE_TEST_TOOLS_H

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "base/test_folder.h"
#include "cache/home.h"
#include "colonnade/model.h"
#include "colonnade/reader.h"
#include "colonnade/writer.h"

namespace colonnade {

using Random = std::mt19937_64;

inline std::uint64_t draw(Random& random, std::uint64_t below) {
  return std::uniform_int_distribution<std::uint64_t>(0, below - 1)(random);
}

struct Content {
  std::uint64_t seed = 0;
  int entries = 2000;
  std::string compression = "zstd:1";
  std::size_t page_size = 2048;
  std::size_t cluster_size = 20000;
  Checksums checksums = Checksums::on;
  Container container = Container::root_file;

  static Content any(Random& random) {
    const std::array<const char*, 3> compressions = {"none", "zstd:1", "lz4"};
    return {.seed = random(),
            .entries = static_cast<int>(1 + draw(random, 3000)),
            .compression = compressions[draw(random, 3)],
            .page_size = std::size_t{256} << draw(random, 6),
            .cluster_size = std::size_t{1000} << draw(random, 8),
            .checksums = draw(random, 4) == 0 ? Checksums::off : Checksums::on,
            .container = draw(random, 4) == 0 ? Container::bare_file : Container::root_file};
  }
};

inline void write(const std::string& uri, const Content& content) {
  auto model = Model::create();
  auto id = model->make_field<std::int32_t>("id");
  auto pt = model->make_field<std::vector<float>>("pt");
  auto name = model->make_field<std::string>("name");
  auto weight = model->make_field<double>("weight");
  Random random(content.seed);
  auto writer = Writer::recreate(std::move(model), "Events", uri,
                                 {.compression = content.compression,
                                  .approximate_cluster_size = content.cluster_size,
                                  .max_uncompressed_cluster_size = 4 * content.cluster_size,
                                  .max_page_size = content.page_size,
                                  .page_checksums = content.checksums,
                                  .container = content.container});
  for (int i = 0; i < content.entries; ++i) {
    *id = static_cast<std::int32_t>(random());
    pt->assign(draw(random, 6), static_cast<float>(draw(random, 1000)));
    *name = std::string(draw(random, 10), static_cast<char>('a' + draw(random, 26)));
    *weight = static_cast<double>(random());
    writer->fill();
  }
  writer->close();
}

inline const std::vector<std::string> all_fields = {"id", "pt", "name", "weight"};

struct Request {
  std::vector<std::string> fields = all_fields;
  std::uint64_t first = 0;
  std::uint64_t last = ~std::uint64_t{0};
};

inline std::vector<ColumnArray> read(Reader& reader, const Request& what = {}) {
  return reader.arrays(what.fields, what.first, std::min(what.last, reader.num_entries()));
}

// For children, which have no expectations.
inline bool are_equal(const std::vector<ColumnArray>& a, const std::vector<ColumnArray>& b) {
  return std::ranges::equal(a, b, [](const ColumnArray& one, const ColumnArray& other) {
    return one.size == other.size &&
           std::memcmp(one.data.get(), other.data.get(), one.size * size_of(one.element)) == 0;
  });
}

inline void expect_equal(const std::vector<ColumnArray>& a, const std::vector<ColumnArray>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    ASSERT_EQ(a[i].size, b[i].size);
    EXPECT_EQ(std::memcmp(a[i].data.get(), b[i].data.get(), a[i].size * size_of(a[i].element)), 0);
  }
}

inline std::vector<ColumnArray> read_plainly(const std::string& uri, const Request& what = {}) {
  return read(*Reader::open("Events", uri, {.cache = "off"}), what);
}

inline void flush() {
  cache::flush(std::chrono::seconds(20));
}

// Reads in one pass, checks, fills; what it counted.
inline ReadMetrics pass(const std::string& uri, const std::string& home, const Request& what = {},
                        ReadOptions options = {}) {
  options.cache = home;
  ReadMetrics counted;
  {
    const auto reader = Reader::open("Events", uri, options);
    expect_equal(read(*reader, what), read_plainly(uri, what));
    counted = reader->metrics();
  }
  flush();
  return counted;
}

inline std::string file_in(const TestFolder& folder, const char* name = "events.root") {
  return (folder.path() / name).string();
}

}  // namespace colonnade

#endif
