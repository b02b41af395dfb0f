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
    const double last = histogram->GetBinContent(30000);  // which runs the analysis
    const double wall = clock.wall(), cpu = clock.cpu();
    std::printf("{\"seconds\": %.6f, \"cpu_seconds\": %.6f, \"max_rss_kib\": %ld, \"counts\": [", wall, cpu,
                lhcb::peak_rss_kib());
    for (int i = 0; i < 30000; ++i) std::printf("%.0f, ", histogram->GetBinContent(i));
    std::printf("%.0f, %.0f]}\n", last, histogram->GetBinContent(30001));
    return EXIT_SUCCESS;
  });
}
