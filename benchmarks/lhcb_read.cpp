// Reading with Colonnade: the B-mass analysis, one thread. lhcb_read FILE view|bulk
// view: event by event, as ROOT's side does it; bulk: blocks of events, each column as one array.
#include <colonnade/colonnade.h>

#include <algorithm>
#include <span>
#include <string_view>

#include "lhcb.h"

namespace {

constexpr std::uint64_t block_size = 4096;  // events; 18 columns of it stay in the cache

// A block of one column, to be called like a view.
template <typename T>
struct Block {
  std::span<const T> values;
  T operator()(std::uint64_t i) const { return values[i]; }
};

template <typename V>
auto blocks(V& views, std::uint64_t first, std::uint64_t count) {
  const auto real = [&](auto& view) { return Block<double>{view.bulk(first, count)}; };
  const auto integer = [&](auto& view) { return Block<std::int32_t>{view.bulk(first, count)}; };
  return lhcb::Views<Block<double>, Block<std::int32_t>>{
      integer(views.muon1), integer(views.muon2), integer(views.muon3), real(views.k1),  real(views.k2),
      real(views.k3),       real(views.pi1),      real(views.pi2),      real(views.pi3), real(views.x1),
      real(views.y1),       real(views.z1),       real(views.x2),       real(views.y2),  real(views.z2),
      real(views.x3),       real(views.y3),       real(views.z3)};
}

std::uint64_t analyse(const char* path, bool in_blocks, lhcb::Spectrum& spectrum) {
  auto reader = colonnade::Reader::open("DecayTree", path);
  auto views = lhcb::make_views([&](const char* name) { return reader->view<double>(name); },
                                [&](const char* name) { return reader->view<std::int32_t>(name); });
  const std::uint64_t events = reader->num_entries();
  if (!in_blocks) {
    lhcb::analyse(reader->entries(), views, spectrum);
    return events;
  }
  for (std::uint64_t first = 0; first < events; first += block_size) {
    const auto count = std::min(block_size, events - first);
    auto block = blocks(views, first, count);
    lhcb::analyse(colonnade::IndexRange(0, count), block, spectrum);
  }
  return events;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view way = argc == 3 ? argv[2] : "";
  if (way != "view" && way != "bulk") {
    std::fprintf(stderr, "usage: lhcb_read FILE view|bulk\n");
    return EXIT_FAILURE;
  }
  return lhcb::guarded([&] {
    const lhcb::Clock clock;
    lhcb::Spectrum spectrum;
    const auto events = analyse(argv[1], way == "bulk", spectrum);
    const double wall = clock.wall(), cpu = clock.cpu();
    lhcb::report(argv[1], events, wall, cpu, spectrum);
    return EXIT_SUCCESS;
  });
}
