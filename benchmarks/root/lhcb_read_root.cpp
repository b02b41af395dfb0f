// The reference for reading: the B-mass analysis with ROOT's RNTupleReader and views, its defaults, one
// thread. lhcb_read_root FILE
#include <TROOT.h>

#include <ROOT/RNTupleReader.hxx>
#include <ROOT/RNTupleView.hxx>

#include "../lhcb.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: lhcb_read_root FILE\n");
    return EXIT_FAILURE;
  }
  return lhcb::guarded([&] {
    ROOT::GetROOT();  // ROOT sets itself up here, before the clock starts
    const lhcb::Clock clock;
    lhcb::Spectrum spectrum;
    auto reader = ROOT::RNTupleReader::Open("DecayTree", argv[1]);
    auto views = lhcb::make_views([&](const char* name) { return reader->GetView<double>(name); },
                                  [&](const char* name) { return reader->GetView<std::int32_t>(name); });
    lhcb::analyse(reader->GetEntryRange(), views, spectrum);
    const double wall = clock.wall(), cpu = clock.cpu();
    lhcb::report(argv[1], reader->GetNEntries(), wall, cpu, spectrum);
    return EXIT_SUCCESS;
  });
}
