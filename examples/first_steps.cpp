// The first example of the README: a plain struct is written and read back.
#include <colonnade/colonnade.h>

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
  for (std::uint64_t i = 0; i < pt.size(); ++i) sum += pt(i);
  return sum == 60000 ? 0 : 1;
}
