// The first example of the README: a plain struct is written, read back, and analysed.
#include <colonnade/colonnade.h>
#include <colonnade/dataframe.h>

struct Jet {
  float pt, eta;
};

int main() {
  auto model = colonnade::Model::create();
  auto jets = model->make_field<std::vector<Jet>>("jets");
  auto writer = colonnade::Writer::recreate(std::move(model), "Events", "events.root");
  *jets = {{40.f, 0.5f}, {20.f, -1.5f}};
  for (int i = 0; i < 1000; ++i) writer->fill();
  writer->close();  // reports every error

  auto pt = colonnade::Reader::open("Events", "events.root")->view<float>("jets.pt");
  double sum = 0;
  for (const float value : pt) sum += value;

  // A lazy analysis: everything that is booked is computed in one pass, on all cores.
  const colonnade::DataFrame events("Events", "events.root");
  const auto passed = events.filter("Any(jets.pt > 30)").count();
  const auto leading = events.define("leading", "Max(jets.pt)").mean("leading");
  return sum == 60000 && passed.value() == 1000 && leading.value() == 40 ? 0 : 1;
}
