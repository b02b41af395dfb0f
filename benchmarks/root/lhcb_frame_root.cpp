// The reference for the data frame: the B-mass analysis with ROOT's RDataFrame, compiled lambdas, one thread.
// lhcb_frame_root FILE
#include <TH1D.h>
#include <TROOT.h>

#include <ROOT/RDataFrame.hxx>

#include "../lhcb.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: lhcb_frame_root FILE\n");
    return EXIT_FAILURE;
  }
  return lhcb::guarded([&] {
    ROOT::GetROOT();  // ROOT sets itself up here, before the clock starts
    TH1::AddDirectory(false);
    const lhcb::Clock clock;
    ROOT::RDataFrame frame("DecayTree", argv[1]);
    const auto no_muon = [](std::int32_t a, std::int32_t b, std::int32_t c) { return !(a || b || c); };
    const auto kaons = [](double a, double b, double c) { return a > 0.5 && b > 0.5 && c > 0.5; };
    const auto no_pions = [](double a, double b, double c) { return a < 0.5 && b < 0.5 && c < 0.5; };
    auto histogram =
        frame.Filter(no_muon, {"H1_isMuon", "H2_isMuon", "H3_isMuon"})
            .Filter(kaons, {"H1_ProbK", "H2_ProbK", "H3_ProbK"})
            .Filter(no_pions, {"H1_ProbPi", "H2_ProbPi", "H3_ProbPi"})
            .Define("B_mass", lhcb::b_mass,
                    {"H1_PX", "H1_PY", "H1_PZ", "H2_PX", "H2_PY", "H2_PZ", "H3_PX", "H3_PY", "H3_PZ"})
            .Histo1D<double>({"B_mass", "", lhcb::mass_bins, lhcb::mass_min, lhcb::mass_max}, "B_mass");
    lhcb::Spectrum spectrum;
    for (int i = 0; i < lhcb::mass_bins; ++i)
      spectrum.bins[static_cast<std::size_t>(i)] = static_cast<std::int64_t>(histogram->GetBinContent(i + 1));
    const double wall = clock.wall(), cpu = clock.cpu();
    lhcb::report_bins(argv[1], wall, cpu, spectrum);
    return EXIT_SUCCESS;
  });
}
