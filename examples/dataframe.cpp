// Finds pairs of muons by their mass with a DataFrame, twice: once with texts, once with C++ functions, each
// in one pass, with a systematic variation and the cut flow. Both give the same histogram.
//
//   dataframe        makes a small sample of its own, dataframe_example.root
//   dataframe FILE   a sample with nMuon, Muon_pt, Muon_eta, Muon_phi, Muon_mass, Muon_charge in "Events"
#include <colonnade/colonnade.h>
#include <colonnade/dataframe.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

constexpr float muon_mass = 0.1056583755f;  // GeV/c^2

// Muons from nowhere, and now and then two from a Z.
void write_sample(const std::string& path, int events) {
  auto model = colonnade::Model::create();
  const auto number = model->make_field<unsigned>("nMuon");
  const auto pt = model->make_field<std::vector<float>>("Muon_pt");
  const auto eta = model->make_field<std::vector<float>>("Muon_eta");
  const auto phi = model->make_field<std::vector<float>>("Muon_phi");
  const auto mass = model->make_field<std::vector<float>>("Muon_mass");
  const auto charge = model->make_field<std::vector<int>>("Muon_charge");
  auto writer = colonnade::Writer::recreate(std::move(model), "Events", path);

  std::mt19937_64 random(2012);
  std::uniform_real_distribution<float> angle(-3.14f, 3.14f), rapidity(-2.4f, 2.4f);
  std::exponential_distribution<float> momentum(0.05f);
  std::normal_distribution<float> resolution(45.6f, 1.5f);
  std::uniform_int_distribution<unsigned> multiplicity(0, 3);
  for (int i = 0; i < events; ++i) {
    const bool from_z = i % 5 == 0;
    *number = from_z ? 2 : multiplicity(random);
    for (auto* column : {pt.get(), eta.get(), phi.get(), mass.get()}) column->clear();
    charge->clear();
    const float direction = angle(random), forward = rapidity(random);
    for (unsigned k = 0; k < *number; ++k) {
      pt->push_back(from_z ? resolution(random) : 3 + momentum(random));
      eta->push_back(from_z ? forward : rapidity(random));
      phi->push_back(from_z ? direction + (k == 0 ? 0 : 3.14159265f) : angle(random));
      mass->push_back(muon_mass);
      charge->push_back(from_z ? (k == 0 ? 1 : -1) : (random() % 2 == 0 ? 1 : -1));
    }
    writer->fill();
  }
  writer->close();
}

using Floats = std::span<const float>;

// Of two particles, in GeV/c^2.
float invariant_mass(Floats pt, Floats eta, Floats phi, Floats mass) {
  double energy = 0, x = 0, y = 0, z = 0;
  for (std::size_t i = 0; i < pt.size(); ++i) {
    const double px = pt[i] * std::cos(phi[i]), py = pt[i] * std::sin(phi[i]), pz = pt[i] * std::sinh(eta[i]);
    energy += std::sqrt(px * px + py * py + pz * pz + mass[i] * mass[i]);
    x += px;
    y += py;
    z += pz;
  }
  return static_cast<float>(std::sqrt(std::max(0.0, energy * energy - x * x - y * y - z * z)));
}

void draw(const colonnade::Histogram& histogram) {
  const double highest = *std::max_element(histogram.values.begin() + 1, histogram.values.end() - 1);
  for (std::size_t bin = 1; bin + 1 < histogram.values.size(); ++bin) {
    const double length = highest > 0 ? 50 * histogram.values[bin] / highest : 0;
    std::printf("%6.1f GeV/c2 %6.0f %s\n", histogram.axes[0].edges[bin - 1], histogram.values[bin],
                std::string(static_cast<std::size_t>(length), '#').c_str());
  }
}

void analyse(const std::string& path) {
  const colonnade::DataFrame df("Events", path, {.threads = 2});
  const colonnade::HistogramModel model("mass", "Mass of two muons", 30, 0, 150);

  // With texts. Scaling the momenta by one per cent varies everything that depends on them.
  const auto opposite = df.vary("Muon_pt", "{Muon_pt * 0.99f, Muon_pt * 1.01f}", {"down", "up"}, "scale")
                            .filter("nMuon == 2", "two muons")
                            .filter("Muon_charge[0] != Muon_charge[1]", "opposite charge")
                            .define("m", "InvariantMass(Muon_pt, Muon_eta, Muon_phi, Muon_mass)");
  const auto mass = variations_for(opposite.histo1d(model, "m"));
  const auto mean = variations_for(opposite.filter("m > 60 && m < 120", "Z").mean("m"));
  const auto report = df.report();

  // With functions.
  const auto by_functions =
      df.filter([](unsigned muons) { return muons == 2; }, {"nMuon"})
          .filter([](std::span<const int> charge) { return charge[0] != charge[1]; }, {"Muon_charge"})
          .define("m", invariant_mass, {"Muon_pt", "Muon_eta", "Muon_phi", "Muon_mass"});
  const auto same_mass = by_functions.histo1d(model, "m");

  draw(mass["nominal"]);  // here the pass runs, for everything
  std::printf("\n%s\n", report->as_string().c_str());
  for (const std::string& variation : mean.keys())
    std::printf("mean mass near the Z, %-10s %.2f GeV/c2\n", variation.c_str(), mean[variation]);
  std::printf("%u pass over the file\n", df.passes());

  double difference = 0;
  for (std::size_t bin = 0; bin < same_mass->values.size(); ++bin)
    difference += std::abs(same_mass->values[bin] - mass["nominal"].values[bin]);
  // A mass on the edge between two bins may be rounded to either side.
  if (difference > 0.001 * static_cast<double>(same_mass->entries) + 2)
    throw std::runtime_error("texts and functions do not agree");
  if (df.passes() != 1) throw std::runtime_error("one pass should have been enough");
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const std::string path = argc > 1 ? argv[1] : "dataframe_example.root";
    if (argc == 1) write_sample(path, 20000);
    analyse(path);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return EXIT_FAILURE;
  }
  return EXIT_SUCCESS;
}
