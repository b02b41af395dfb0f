// A lower bound for reading the columns of the B-mass analysis: all their pages, already in memory, are
// decompressed one after the other into one buffer, and nothing else happens. lhcb_floor FILE The pages are
// taken in the order in which the analysis needs them. Checksums of the codec itself (LZ4) are part of
// decompressing; those of the pages are ignored.
#include <colonnade/colonnade.h>

#include <algorithm>
#include <fstream>
#include <vector>

#include "base/aligned_buffer.h"
#include "codec/column_codec.h"
#include "codec/compression.h"
#include "lhcb.h"

namespace {

struct SealedPage {
  std::size_t cluster = 0;
  std::uint64_t first = 0;  // element
  std::vector<std::byte> stored;
  std::size_t size = 0;  // decompressed
};

void load_column(const colonnade::Descriptor& descriptor, const char* field, std::ifstream& file,
                 std::vector<SealedPage>& pages) {
  const auto column = descriptor.fields[descriptor.find_field(field)].representations[0][0];
  const auto encoding = descriptor.columns[column].encoding;
  for (std::size_t cluster = 0; cluster < descriptor.clusters.size(); ++cluster) {
    std::uint64_t first = 0;
    for (const auto& page : descriptor.clusters[cluster].columns[column].pages) {
      SealedPage sealed{cluster, first, std::vector<std::byte>(page.locator.size),
                        colonnade::codec::packed_size(encoding, page.elements)};
      file.seekg(static_cast<std::streamoff>(page.locator.offset));
      file.read(reinterpret_cast<char*>(sealed.stored.data()),
                static_cast<std::streamsize>(sealed.stored.size()));
      if (!file) throw std::runtime_error("cannot read a page");
      pages.push_back(std::move(sealed));
      first += page.elements;
    }
  }
}

std::vector<SealedPage> load(const char* path, std::uint64_t& events) {
  const auto reader = colonnade::Reader::open("DecayTree", path);
  events = reader->num_entries();
  std::ifstream file(path, std::ios::binary);
  std::vector<SealedPage> pages;
  const auto add = [&](const char* name) {
    load_column(reader->descriptor(), name, file, pages);
    return 0;
  };
  static_cast<void>(lhcb::make_views(add, add));
  std::stable_sort(pages.begin(), pages.end(), [](const SealedPage& a, const SealedPage& b) {
    return std::pair(a.cluster, a.first) < std::pair(b.cluster, b.first);
  });
  return pages;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: lhcb_floor FILE\n");
    return EXIT_FAILURE;
  }
  return lhcb::guarded([&] {
    std::uint64_t events = 0;
    const auto pages = load(argv[1], events);
    std::size_t most = 0, bytes = 0;
    for (const SealedPage& page : pages) most = std::max(most, page.size);
    colonnade::AlignedBuffer buffer(most);
    std::fill_n(buffer.data(), most, std::byte{});  // provides physical memory before the clock starts
    const lhcb::Clock clock;
    for (const SealedPage& page : pages) {
      if (page.stored.size() == page.size) continue;  // not compressed
      colonnade::codec::decompress(page.stored, buffer.span().first(page.size));
      bytes += page.size;
    }
    const double wall = clock.wall(), cpu = clock.cpu();
    lhcb::report(argv[1], events, wall, cpu, {},
                 ", \"pages\": " + std::to_string(pages.size()) +
                     ", \"decompressed_bytes\": " + std::to_string(bytes));
    return EXIT_SUCCESS;
  });
}
