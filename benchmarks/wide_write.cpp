// The memory of a writer of very many columns, with default options. wide_write FILE COLUMNS ENTRIES
#include "wide_write.h"

#include <colonnade/colonnade.h>

namespace {

void write_wide(const char* path, int columns, std::uint64_t entries) {
  auto model = colonnade::Model::create();
  wide_write::Values values;
  for (int i = 0; i < columns; ++i) values.push_back(model->make_field<float>(wide_write::name_of(i)));
  auto writer = colonnade::Writer::recreate(std::move(model), "Wide", path);
  for (std::uint64_t entry = 0; entry < entries; ++entry) {
    wide_write::set(values, entry);
    writer->fill();
  }
  writer->close();
}

}  // namespace

int main(int argc, char** argv) {
  return wide_write::run(argc, argv, write_wide);
}
