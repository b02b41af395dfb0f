// Shared by both sides of the comparison "open a file with many columns and read one": the schema, the
// values, the command line and the report.
//
//   write FILE FIELDS CLUSTERS   fields f0, f1, ...: std::int32_t, std::vector<float> and float in turn
//   read FILE FIELD              opens, makes a view of one float field and reads its first value
#ifndef COLONNADE_BENCHMARKS_WIDE_H
#define COLONNADE_BENCHMARKS_WIDE_H

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "lhcb.h"

namespace wide {

constexpr std::uint64_t entries_per_cluster = 10;

enum class Kind { integer, vector, real };

inline Kind kind_of(int field) {
  return static_cast<Kind>(field % 3);
}
inline std::string name_of(int field) {
  std::string name = "f";
  name += std::to_string(field);
  return name;
}
inline float value_of(int field, std::uint64_t entry) {
  return static_cast<float>(field) + 0.5F * static_cast<float>(entry);
}
// The requested field must be one of the plain ones.
inline int field_number(const char* text) {
  const int field = std::atoi(text);
  if (field < 0 || kind_of(field) != Kind::real)
    throw std::runtime_error("the number of a field of type float is needed: 2, 5, 8, ..., 5000, ...");
  return field;
}

// One JSON object on one line, as the runner expects it.
inline void report(const lhcb::Clock& clock, const char* path, double value) {
  const double wall = clock.wall(), cpu = clock.cpu();
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  std::printf(
      "{\"seconds\": %.6f, \"cpu_seconds\": %.6f, \"bytes\": %llu, \"value\": %g, \"max_rss_kib\": %ld}\n",
      wall, cpu, static_cast<unsigned long long>(lhcb::file_size(path)), value, usage.ru_maxrss);
}

// Runs write(path, fields, clusters) or read(path, field), depending on the arguments.
template <class Write, class Read>
int run(int argc, char** argv, Write&& write, Read&& read) {
  const std::string_view task = argc > 1 ? argv[1] : "";
  if ((task != "write" || argc != 5) && (task != "read" || argc != 4)) {
    std::fprintf(stderr, "usage: %s write FILE FIELDS CLUSTERS | read FILE FIELD\n", argv[0]);
    return EXIT_FAILURE;
  }
  return lhcb::guarded([&] {
    if (task == "write") {
      write(argv[2], std::atoi(argv[3]), std::atoi(argv[4]));
    } else {
      read(argv[2], field_number(argv[3]));
    }
    return EXIT_SUCCESS;
  });
}

}  // namespace wide

#endif
