// The reference for snapshots of lists: the events of a di-muon sample with two muons or more, all columns,
// by ROOT's RDataFrame with a compiled filter, on one thread. lists_snapshot_root FILE OUT COMPRESSION
#include <TROOT.h>

#include <ROOT/RDataFrame.hxx>
#include <ROOT/RSnapshotOptions.hxx>

#include "../lhcb.h"

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: lists_snapshot_root FILE OUT COMPRESSION\n");
    return EXIT_FAILURE;
  }
  return lhcb::guarded([&] {
    ROOT::GetROOT();
    const int compression = std::atoi(argv[3]);
    ROOT::RDF::RSnapshotOptions options;
    options.fOutputFormat = ROOT::RDF::ESnapshotOutputFormat::kRNTuple;
    options.fCompressionAlgorithm =
        static_cast<ROOT::RCompressionSetting::EAlgorithm::EValues>(compression / 100);
    options.fCompressionLevel = compression % 100;
    const lhcb::Clock clock;
    ROOT::RDataFrame frame("Events", argv[1]);
    frame.Filter([](std::uint32_t muons) { return muons >= 2; }, {"nMuon"})
        .Snapshot("Events", argv[2], "", options);
    const double wall = clock.wall(), cpu = clock.cpu();
    std::printf("{\"seconds\": %.6f, \"cpu_seconds\": %.6f, \"size\": %llu, \"max_rss_kib\": %ld}\n", wall,
                cpu, static_cast<unsigned long long>(lhcb::file_size(argv[2])), lhcb::peak_rss_kib());
    return EXIT_SUCCESS;
  });
}
