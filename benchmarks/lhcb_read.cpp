// Reading with Colonnade: the B-mass analysis, one thread.
//   lhcb_read FILE view|bulk [--serial] [--direct] [--io=automatic|pread|threads|io_uring|mmap]
// view: event by event, as ROOT's side does it; bulk: blocks of events, each column as one array.
// --serial: nothing is decompressed in other threads; --direct: past the page cache.
#include <colonnade/colonnade.h>

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "lhcb.h"

namespace {

constexpr std::uint64_t block_size = 4096;  // events; 18 columns of it stay in the cache

// A block of one column, callable like a view.
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

colonnade::ReadMetrics analyse(const char* path, const colonnade::ReadOptions& options, bool in_blocks,
                               lhcb::Spectrum& spectrum, std::uint64_t& events) {
  auto reader = colonnade::Reader::open("DecayTree", path, options);
  auto views = lhcb::make_views([&](const char* name) { return reader->view<double>(name); },
                                [&](const char* name) { return reader->view<std::int32_t>(name); });
  events = reader->num_entries();
  if (!in_blocks) lhcb::analyse(reader->entries(), views, spectrum);
  for (std::uint64_t first = 0; in_blocks && first < events; first += block_size) {
    const auto count = std::min(block_size, events - first);
    auto block = blocks(views, first, count);
    lhcb::analyse(colonnade::IndexRange(0, count), block, spectrum);
  }
  return reader->metrics();
}

constexpr std::array<std::pair<std::string_view, colonnade::LocalIo>, 5> io_names = {
    {{"automatic", colonnade::LocalIo::automatic},
     {"pread", colonnade::LocalIo::pread},
     {"threads", colonnade::LocalIo::threads},
     {"io_uring", colonnade::LocalIo::io_uring},
     {"mmap", colonnade::LocalIo::mmap}}};

// Empty if an argument is unknown.
std::optional<colonnade::ReadOptions> options_from(std::span<char*> arguments) {
  constexpr std::string_view io = "--io=";
  colonnade::ReadOptions options;
  for (const std::string_view argument : arguments) {
    if (argument == "--serial") {
      options.parallel_decompression = false;
    } else if (argument == "--direct") {
      options.direct_io = true;
    } else if (argument.starts_with(io)) {
      const auto name = argument.substr(io.size());
      const auto found =
          std::find_if(io_names.begin(), io_names.end(), [&](const auto& row) { return row.first == name; });
      if (found == io_names.end()) return {};
      options.local_io = found->second;
    } else {
      return {};
    }
  }
  return options;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view way = argc >= 3 ? argv[2] : "";
  const auto options =
      options_from(std::span(argv, static_cast<std::size_t>(argc)).subspan(std::min(argc, 3)));
  if ((way != "view" && way != "bulk") || !options) {
    std::fprintf(stderr,
                 "usage: lhcb_read FILE view|bulk [--serial] [--direct] "
                 "[--io=automatic|pread|threads|io_uring|mmap]\n");
    return EXIT_FAILURE;
  }
  return lhcb::guarded([&] {
    const lhcb::Clock clock;
    lhcb::Spectrum spectrum;
    std::uint64_t events = 0;
    const auto metrics = analyse(argv[1], *options, way == "bulk", spectrum, events);
    const double wall = clock.wall(), cpu = clock.cpu();
    lhcb::report(argv[1], events, wall, cpu, spectrum,
                 ", \"requests\": " + std::to_string(metrics.requests) +
                     ", \"read_bytes\": " + std::to_string(metrics.bytes));
    return EXIT_SUCCESS;
  });
}
