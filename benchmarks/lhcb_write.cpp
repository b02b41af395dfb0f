// Writing with Colonnade: the columns of a raw sample, one thread. The clock runs from making the writer
// until the file is closed. lhcb_write RAW_SAMPLE FILE COMPRESSION fill|append [--direct],
// compression as in "zstd:5". fill: event by event, as ROOT's side does it; append: all events at once, as
// arrays; --direct: past the page cache.
#include <colonnade/colonnade.h>

#include <memory>
#include <span>
#include <string_view>

#include "lhcb.h"

namespace {

template <typename T>
struct Source {
  std::shared_ptr<T> value;
  const T* data;
};

void write(const lhcb::Sample& sample, const char* path, const colonnade::WriteOptions& options,
           bool as_arrays) {
  auto model = colonnade::Model::create();
  std::vector<Source<double>> doubles;
  std::vector<Source<std::int32_t>> ints;
  std::vector<colonnade::NamedArray> arrays;
  for (const auto& column : sample.columns) {
    if (column.is_integer) {
      ints.push_back({model->make_field<std::int32_t>(column.name), column.ints()});
      arrays.push_back({column.name, std::span(column.ints(), sample.events)});
    } else {
      doubles.push_back({model->make_field<double>(column.name), column.doubles()});
      arrays.push_back({column.name, std::span(column.doubles(), sample.events)});
    }
  }
  auto writer = colonnade::Writer::recreate(std::move(model), "DecayTree", path, options);
  if (as_arrays) {
    writer->append(arrays);
  } else {
    for (std::size_t i = 0; i < sample.events; ++i) {
      for (auto& source : doubles) *source.value = source.data[i];
      for (auto& source : ints) *source.value = source.data[i];
      writer->fill();
    }
  }
  writer->close();
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view way = argc >= 5 ? argv[4] : "", flag = argc == 6 ? argv[5] : "";
  const bool is_direct = flag == "--direct";
  if (argc > 6 || (way != "fill" && way != "append") || (!flag.empty() && !is_direct)) {
    std::fprintf(stderr, "usage: lhcb_write RAW_SAMPLE FILE COMPRESSION fill|append [--direct]\n");
    return EXIT_FAILURE;
  }
  return lhcb::guarded([&] {
    const auto sample = lhcb::read_sample(argv[1]);
    const lhcb::Clock clock;
    const colonnade::WriteOptions options{.compression = argv[3], .direct_io = is_direct};
    write(sample, argv[2], options, way == "append");
    const double wall = clock.wall(), cpu = clock.cpu();
    lhcb::report(argv[2], sample.events, wall, cpu, {});
    return EXIT_SUCCESS;
  });
}
