// make_hostile_files FILE DATA_SET FIRST_SEED COUNT FOLDER: changes a valid file in COUNT ways, corrects the
// checksums, and writes the results to FOLDER/<seed>.root.
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>

#include "dataset/test_hostile_files.h"

namespace {

using namespace colonnade;

Bytes content_of(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  const ByteSpan bytes = as_bytes(text);
  return {bytes.begin(), bytes.end()};
}

void write(const std::filesystem::path& path, const Bytes& content) {
  std::ofstream out(path, std::ios::binary);
  out.write(reinterpret_cast<const char*>(content.data()), static_cast<std::streamsize>(content.size()));
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 6) {
    std::cerr << "usage: make_hostile_files FILE DATA_SET FIRST_SEED COUNT FOLDER\n";
    return 2;
  }
  const testing::HostileFiles source(arguments[2], content_of(arguments[1]));
  const std::uint64_t first = std::stoull(arguments[3]);
  for (std::uint64_t seed = first; seed < first + std::stoull(arguments[4]); ++seed) {
    testing::Dice dice(seed);
    write(std::filesystem::path(arguments[5]) / (std::to_string(seed) + ".root"), source.make(dice));
  }
}
