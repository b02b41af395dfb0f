// The reference for jagged data: the di-muon spectrum of ROOT's tutorial df102 with its own expression
// strings, which ROOT compiles at run time, on one thread. dimuon_frame_root FILE
#include <TH1D.h>
#include <TROOT.h>

#include <ROOT/RDataFrame.hxx>

#include "../lhcb.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: dimuon_frame_root FILE\n");
    return EXIT_FAILURE;
  }
  return lhcb::guarded([&] {
    ROOT::GetROOT();
    TH1::AddDirectory(false);
    const lhcb::Clock clock;
    ROOT::RDataFrame frame("Events", argv[1]);
    auto histogram = frame.Filter("nMuon == 2")
                         .Filter("Muon_charge[0] != Muon_charge[1]")
                         .Define("Dimuon_mass", "InvariantMass(Muon_pt, Muon_eta, Muon_phi, Muon_mass)")
                         .Histo1D({"Dimuon_mass", "", 30000, 0.25, 300}, "Dimuon_mass");
    lhcb::Checksum sum;
    for (int i = 1; i <= 30000; ++i) sum.add(static_cast<std::int64_t>(histogram->GetBinContent(i)));
    const double wall = clock.wall(), cpu = clock.cpu();
    std::printf(
        "{\"seconds\": %.6f, \"cpu_seconds\": %.6f, \"candidates\": %lld, \"bins\": %u, "
        "\"max_rss_kib\": %ld}\n",
        wall, cpu, sum.total, sum.value, lhcb::peak_rss_kib());
    return EXIT_SUCCESS;
  });
}
