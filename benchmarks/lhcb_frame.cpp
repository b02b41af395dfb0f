// The data frame in C++: the B-mass analysis on one thread, once with lambdas and once with the strings of
// frame_python.py. lhcb_frame FILE lambdas|strings
#include <colonnade/dataframe.h>

#include <string_view>

#include "lhcb.h"

namespace {

colonnade::DataFrame with_lambdas(const colonnade::DataFrame& frame) {
  return frame
      .filter([](std::int32_t a, std::int32_t b, std::int32_t c) { return !(a || b || c); },
              {"H1_isMuon", "H2_isMuon", "H3_isMuon"})
      .filter([](double a, double b, double c) { return a > 0.5 && b > 0.5 && c > 0.5; },
              {"H1_ProbK", "H2_ProbK", "H3_ProbK"})
      .filter([](double a, double b, double c) { return a < 0.5 && b < 0.5 && c < 0.5; },
              {"H1_ProbPi", "H2_ProbPi", "H3_ProbPi"})
      .define("B_mass",
              [](double x1, double y1, double z1, double x2, double y2, double z2, double x3, double y3,
                 double z3) { return lhcb::b_mass(x1, y1, z1, x2, y2, z2, x3, y3, z3); },
              {"H1_PX", "H1_PY", "H1_PZ", "H2_PX", "H2_PY", "H2_PZ", "H3_PX", "H3_PY", "H3_PZ"});
}

std::string energy(const std::string& track) {
  std::string sum = "493.677*493.677";
  for (const std::string axis : {"_PX", "_PY", "_PZ"}) sum = track + axis + "*" + track + axis + " + " + sum;
  return "sqrt(" + sum + ")";
}

colonnade::DataFrame with_strings(const colonnade::DataFrame& frame) {
  const std::string energies = energy("H1") + " + " + energy("H2") + " + " + energy("H3");
  return frame.filter("!(H1_isMuon || H2_isMuon || H3_isMuon)")
      .filter("H1_ProbK > 0.5 && H2_ProbK > 0.5 && H3_ProbK > 0.5")
      .filter("H1_ProbPi < 0.5 && H2_ProbPi < 0.5 && H3_ProbPi < 0.5")
      .define("B_mass", "sqrt(pow(" + energies +
                            ", 2) - pow(H1_PX + H2_PX + H3_PX, 2) - pow(H1_PY + H2_PY + H3_PY, 2)"
                            " - pow(H1_PZ + H2_PZ + H3_PZ, 2))");
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view way = argc == 3 ? argv[2] : "";
  if (way != "lambdas" && way != "strings") {
    std::fprintf(stderr, "usage: lhcb_frame FILE lambdas|strings\n");
    return EXIT_FAILURE;
  }
  return lhcb::guarded([&] {
    const lhcb::Clock clock;
    const colonnade::DataFrame frame("DecayTree", argv[1], {.threads = 1});
    const auto selected = way == "lambdas" ? with_lambdas(frame) : with_strings(frame);
    const auto histogram =
        selected.histo1d({"B_mass", "", lhcb::mass_bins, lhcb::mass_min, lhcb::mass_max}, "B_mass");
    const auto& values = histogram->values;  // including underflow and overflow
    lhcb::Spectrum spectrum;
    for (std::size_t i = 0; i < spectrum.bins.size(); ++i)
      spectrum.bins[i] = static_cast<std::int64_t>(values[i + 1]);
    lhcb::report_bins(argv[1], clock.wall(), clock.cpu(), spectrum);
    return EXIT_SUCCESS;
  });
}
