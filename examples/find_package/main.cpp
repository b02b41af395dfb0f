// Writes and reads one value through an installed Colonnade.
#include <colonnade/colonnade.h>

#include <iostream>

int main() {
  auto model = colonnade::Model::create();
  auto value = model->make_field<int>("value");
  auto writer = colonnade::Writer::recreate(std::move(model), "Data", "installed.root");
  *value = 42;
  writer->fill();
  writer->close();
  auto reader = colonnade::Reader::open("Data", "installed.root");
  std::cout << "read back: " << reader->view<int>("value")(0) << '\n';
  return reader->view<int>("value")(0) == 42 ? 0 : 1;
}
