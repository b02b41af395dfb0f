// The first example of the README: a plain struct is written and read back.
#include <colonnade/colonnade.h>

#include <iostream>
#include <vector>

struct Jet {
  float pt, eta;
};

int main() {
  auto model = colonnade::Model::create();
  auto jets = model->make_field<std::vector<Jet>>("jets");
  auto writer =
      colonnade::Writer::recreate(std::move(model), "Events", "events.root", {.compression = "zstd:5"});
  for (int i = 0; i < 1000; ++i) {
    *jets = {{.pt = 40.f, .eta = 0.5f}, {.pt = 20.f, .eta = -1.5f}};
    writer->fill();
  }
  writer->close();  // reports every error

  auto reader = colonnade::Reader::open("Events", "events.root");
  auto view = reader->view<std::vector<Jet>>("jets");
  double sum = 0;
  for (auto entry : reader->entries())
    for (const Jet& jet : view(entry)) sum += jet.pt;
  std::cout << "sum of pt: " << sum << '\n';
  return sum == 60000 ? 0 : 1;
}
