// The reference for writing: fills the columns of a raw sample, event by event, with ROOT's RNTupleWriter,
// its defaults, one thread. The clock runs from making the writer until the file is closed. lhcb_write_root
// RAW_SAMPLE FILE COMPRESSION [--direct], compression as ROOT's number (505 is Zstd, level 5)
#include <TROOT.h>

#include <ROOT/REntry.hxx>
#include <ROOT/RNTupleModel.hxx>
#include <ROOT/RNTupleWriteOptions.hxx>
#include <ROOT/RNTupleWriter.hxx>
#include <memory>
#include <string_view>

#include "../lhcb.h"

namespace {

template <typename T>
struct Source {
  std::shared_ptr<T> value;
  const T* data;
};

void write(const lhcb::Sample& sample, const char* path, const ROOT::RNTupleWriteOptions& options) {
  auto model = ROOT::RNTupleModel::Create();
  std::vector<Source<double>> doubles;
  std::vector<Source<std::int32_t>> ints;
  for (const auto& column : sample.columns) {
    if (column.is_integer)
      ints.push_back({model->MakeField<std::int32_t>(column.name), column.ints()});
    else
      doubles.push_back({model->MakeField<double>(column.name), column.doubles()});
  }
  auto writer = ROOT::RNTupleWriter::Recreate(std::move(model), "DecayTree", path, options);
  for (std::size_t i = 0; i < sample.events; ++i) {
    for (auto& source : doubles) *source.value = source.data[i];
    for (auto& source : ints) *source.value = source.data[i];
    writer->Fill();
  }
  writer.reset();
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view flag = argc == 5 ? argv[4] : "";
  if (argc < 4 || argc > 5 || (!flag.empty() && flag != "--direct")) {
    std::fprintf(stderr, "usage: lhcb_write_root RAW_SAMPLE FILE COMPRESSION [--direct]\n");
    return EXIT_FAILURE;
  }
  return lhcb::guarded([&] {
    ROOT::GetROOT();  // ROOT sets itself up here, before the clock starts
    ROOT::RNTupleWriteOptions options;
    options.SetCompression(static_cast<std::uint32_t>(std::atoi(argv[3])));
    options.SetUseDirectIO(flag == "--direct");
    const auto sample = lhcb::read_sample(argv[1]);
    const lhcb::Clock clock;
    write(sample, argv[2], options);
    const double wall = clock.wall(), cpu = clock.cpu();
    lhcb::report(argv[2], sample.events, wall, cpu, {});
    return EXIT_SUCCESS;
  });
}
