// Finds B mesons by the mass of their decay products: reads a data set with views, event by event, and draws
// a histogram.
//
//   b_mass FILE [DATASET]  a sample of `colonnade generate lhcb`, or the LHCb open data B2HHH as RNTuple
//   b_mass                 makes a small sample of its own first, b_mass_example.root
#include <colonnade/colonnade.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace {

constexpr double b_meson_mass = 5279.34, kaon_mass = 493.677;  // MeV/c^2
constexpr double window_low = 5050, window_high = 5500;        // MeV/c^2

// The open data has one flat field per number: these are the six of one track.
struct TrackFields {
  explicit TrackFields(colonnade::Model& model, const std::string& prefix)
      : px(model.make_field<double>(prefix + "PX")),
        py(model.make_field<double>(prefix + "PY")),
        pz(model.make_field<double>(prefix + "PZ")),
        prob_k(model.make_field<double>(prefix + "ProbK")),
        prob_pi(model.make_field<double>(prefix + "ProbPi")),
        is_muon(model.make_field<std::int32_t>(prefix + "isMuon")) {}
  std::shared_ptr<double> px, py, pz, prob_k, prob_pi;
  std::shared_ptr<std::int32_t> is_muon;
};

// Three kaons in a plane, in directions 120 degrees apart, from a B that moves along z; or any three pions or
// kaons.
void write_sample(const std::string& path, int events) {
  auto model = colonnade::Model::create();
  std::vector<TrackFields> tracks;
  for (const char* prefix : {"H1_", "H2_", "H3_"}) tracks.emplace_back(*model, prefix);
  auto writer = colonnade::Writer::recreate(std::move(model), "DecayTree", path);

  std::mt19937_64 random(2011);
  std::uniform_real_distribution<double> uniform(0, 1);
  std::normal_distribution<double> resolution(b_meson_mass, 17);
  for (int i = 0; i < events; ++i) {
    const bool signal = uniform(random) < 0.1;
    const double mass = signal ? resolution(random) : 5000 + 1000 * uniform(random);
    const double energy = mass / 3, momentum = std::sqrt(energy * energy - kaon_mass * kaon_mass);
    const double phase = 2 * M_PI * uniform(random), gamma = 5 + 20 * uniform(random);
    for (std::size_t k = 0; k < tracks.size(); ++k) {
      const double angle = phase + 2 * M_PI / 3 * static_cast<double>(k);
      const bool kaon = signal || uniform(random) < 0.3;
      *tracks[k].px = momentum * std::cos(angle);
      *tracks[k].py = momentum * std::sin(angle);
      *tracks[k].pz = std::sqrt(gamma * gamma - 1) * energy;
      *tracks[k].prob_k = kaon ? 1 - 0.5 * uniform(random) * uniform(random) : 0.6 * uniform(random);
      *tracks[k].prob_pi = kaon ? 0.6 * uniform(random) : 1 - 0.6 * uniform(random);
      *tracks[k].is_muon = uniform(random) < 0.02;
    }
    writer->fill();
  }
  writer->close();  // reports what went wrong, unlike the destructor
}

// The views of one track. A view hands out values right from the decompressed page.
struct Track {
  Track(colonnade::Reader& reader, const std::string& prefix)
      : px(reader.view<double>(prefix + "PX")),
        py(reader.view<double>(prefix + "PY")),
        pz(reader.view<double>(prefix + "PZ")),
        prob_k(reader.view<double>(prefix + "ProbK")),
        prob_pi(reader.view<double>(prefix + "ProbPi")),
        is_muon(reader.view<std::int32_t>(prefix + "isMuon")) {}

  bool is_kaon(std::uint64_t i) { return !is_muon(i) && prob_k(i) > 0.5 && prob_pi(i) < 0.5; }

  colonnade::View<double> px, py, pz, prob_k, prob_pi;
  colonnade::View<std::int32_t> is_muon;
};

// Invariant mass of three kaons, in MeV/c^2.
double b_mass(std::array<Track, 3>& tracks, std::uint64_t i) {
  double energy = 0, x = 0, y = 0, z = 0;
  for (auto& track : tracks) {
    const double px = track.px(i), py = track.py(i), pz = track.pz(i);
    energy += std::sqrt(px * px + py * py + pz * pz + kaon_mass * kaon_mass);
    x += px;
    y += py;
    z += pz;
  }
  return std::sqrt(energy * energy - x * x - y * y - z * z);
}

void analyse(const std::string& path, const std::string& data_set) {
  auto reader = colonnade::Reader::open(data_set, path);
  std::array<Track, 3> tracks = {Track(*reader, "H1_"), Track(*reader, "H2_"), Track(*reader, "H3_")};

  std::array<int, 30> bins{};
  int candidates = 0;
  for (auto i : reader->entries()) {
    if (!tracks[0].is_kaon(i) || !tracks[1].is_kaon(i) || !tracks[2].is_kaon(i)) continue;
    const double mass = b_mass(tracks, i);
    if (mass < window_low || mass >= window_high) continue;
    ++bins[static_cast<std::size_t>((mass - window_low) / (window_high - window_low) * bins.size())];
    ++candidates;
  }

  const int highest = *std::max_element(bins.begin(), bins.end());
  for (std::size_t bin = 0; bin < bins.size(); ++bin) {
    const double low = window_low + (window_high - window_low) * static_cast<double>(bin) / bins.size();
    const int length = highest ? 60 * bins[bin] / highest : 0;
    std::printf("%5.0f MeV/c2 %6d %s\n", low, bins[bin],
                std::string(static_cast<std::size_t>(length), '#').c_str());
  }
  std::printf("%d candidates in %llu events\n", candidates,
              static_cast<unsigned long long>(reader->num_entries()));
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const std::string path = argc > 1 ? argv[1] : "b_mass_example.root";
    if (argc == 1) write_sample(path, 20000);
    analyse(path, argc > 2 ? argv[2] : "DecayTree");
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return EXIT_FAILURE;
  }
  return EXIT_SUCCESS;
}
