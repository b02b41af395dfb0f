// The reference for opening a data set of many columns and reading one: ROOT's RNTupleReader; see ../wide.h.
#include <TROOT.h>

#include <ROOT/RNTupleModel.hxx>
#include <ROOT/RNTupleReader.hxx>
#include <ROOT/RNTupleView.hxx>
#include <ROOT/RNTupleWriter.hxx>
#include <memory>
#include <vector>

#include "../wide.h"

namespace {

void write_wide(const char* path, int fields, int clusters) {
  auto model = ROOT::RNTupleModel::Create();
  std::vector<std::shared_ptr<std::int32_t>> integers;
  std::vector<std::shared_ptr<std::vector<float>>> vectors;
  std::vector<std::shared_ptr<float>> reals;
  for (int i = 0; i < fields; ++i) switch (wide::kind_of(i)) {
      case wide::Kind::integer:
        integers.push_back(model->MakeField<std::int32_t>(wide::name_of(i)));
        break;
      case wide::Kind::vector:
        vectors.push_back(model->MakeField<std::vector<float>>(wide::name_of(i)));
        break;
      case wide::Kind::real:
        reals.push_back(model->MakeField<float>(wide::name_of(i)));
        break;
    }
  auto writer = ROOT::RNTupleWriter::Recreate(std::move(model), "Wide", path);
  for (std::uint64_t entry = 0; entry < static_cast<std::uint64_t>(clusters) * wide::entries_per_cluster;) {
    for (int i = 0; i < fields; ++i) {
      const float value = wide::value_of(i, entry);
      const auto at = static_cast<std::size_t>(i / 3);
      if (wide::kind_of(i) == wide::Kind::integer) *integers[at] = static_cast<std::int32_t>(value);
      if (wide::kind_of(i) == wide::Kind::vector) vectors[at]->assign(2, value);
      if (wide::kind_of(i) == wide::Kind::real) *reals[at] = value;
    }
    writer->Fill();
    if (++entry % wide::entries_per_cluster == 0) writer->CommitCluster();
  }
}

void read_one(const char* path, int field) {
  ROOT::GetROOT();  // ROOT sets itself up here, before the clock starts
  const lhcb::Clock clock;
  auto reader = ROOT::RNTupleReader::Open("Wide", path);
  auto view = reader->GetView<float>(wide::name_of(field));
  wide::report(clock, path, view(0));
}

}  // namespace

int main(int argc, char** argv) {
  return wide::run(argc, argv, write_wide, read_one);
}
