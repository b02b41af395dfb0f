// The data of the comparison of writers' memory, the same for both sides: very many columns of floats that
// compress about as well as measured quantities with a dozen significant bits.
#ifndef COLONNADE_BENCHMARKS_WIDE_WRITE_H
#define COLONNADE_BENCHMARKS_WIDE_WRITE_H

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "lhcb.h"

namespace wide_write {

// Between 1 and 4, with 12 random bits of mantissa.
inline float value_of(std::uint64_t entry, std::uint64_t column) {
  std::uint64_t bits = (entry << 16 | column) * 0x9e3779b97f4a7c15u;
  bits = (bits ^ bits >> 30) * 0xbf58476d1ce4e5b9u;  // splitmix64: neighbouring values are unrelated
  bits ^= bits >> 31;
  const std::uint32_t pattern = 0x3f800000u + (static_cast<std::uint32_t>(bits & 0x1fff) << 11);
  float value;
  std::memcpy(&value, &pattern, sizeof value);
  return value;
}

inline std::string name_of(int column) {
  return "column_" + std::to_string(column);
}

// The values of one entry, as returned by the model.
using Values = std::vector<std::shared_ptr<float>>;

inline void set(Values& values, std::uint64_t entry) {
  for (std::size_t column = 0; column < values.size(); ++column) *values[column] = value_of(entry, column);
}

// Runs write(path, columns, entries). Also reports the program's memory before that, which its libraries
// take.
template <class Write>
int run(int argc, char** argv, Write&& write) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: %s FILE COLUMNS ENTRIES\n", argv[0]);
    return EXIT_FAILURE;
  }
  return lhcb::guarded([&] {
    const auto entries = static_cast<std::uint64_t>(std::atoll(argv[3]));
    const lhcb::Clock clock;
    const long before = lhcb::peak_rss_kib();
    write(argv[1], std::atoi(argv[2]), entries);
    const double wall = clock.wall(), cpu = clock.cpu();
    lhcb::report(argv[1], entries, wall, cpu, {}, ", \"rss_before_kib\": " + std::to_string(before));
    return EXIT_SUCCESS;
  });
}

}  // namespace wide_write

#endif
