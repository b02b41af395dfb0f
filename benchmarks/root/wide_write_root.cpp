// The reference for the memory of a writer of very many columns: ROOT's RNTupleWriter with its defaults.
// wide_write_root FILE COLUMNS ENTRIES
#include <TROOT.h>

#include <ROOT/RNTupleModel.hxx>
#include <ROOT/RNTupleWriter.hxx>

#include "../wide_write.h"

namespace {

void write_wide(const char* path, int columns, std::uint64_t entries) {
  auto model = ROOT::RNTupleModel::Create();
  wide_write::Values values;
  for (int i = 0; i < columns; ++i) values.push_back(model->MakeField<float>(wide_write::name_of(i)));
  auto writer = ROOT::RNTupleWriter::Recreate(std::move(model), "Wide", path);
  for (std::uint64_t entry = 0; entry < entries; ++entry) {
    wide_write::set(values, entry);
    writer->Fill();
  }
  writer.reset();
}

}  // namespace

int main(int argc, char** argv) {
  ROOT::GetROOT();  // ROOT sets itself up here
  return wide_write::run(argc, argv, write_wide);
}
