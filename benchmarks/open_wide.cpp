// Opening a data set of many columns and reading one, with Colonnade; see wide.h.
#include <colonnade/colonnade.h>

#include <vector>

#include "wide.h"

namespace {

void write_wide(const char* path, int fields, int clusters) {
  auto model = colonnade::Model::create();
  std::vector<std::shared_ptr<std::int32_t>> integers;
  std::vector<std::shared_ptr<std::vector<float>>> vectors;
  std::vector<std::shared_ptr<float>> reals;
  for (int i = 0; i < fields; ++i) switch (wide::kind_of(i)) {
      case wide::Kind::integer:
        integers.push_back(model->make_field<std::int32_t>(wide::name_of(i)));
        break;
      case wide::Kind::vector:
        vectors.push_back(model->make_field<std::vector<float>>(wide::name_of(i)));
        break;
      case wide::Kind::real:
        reals.push_back(model->make_field<float>(wide::name_of(i)));
        break;
    }
  auto writer = colonnade::Writer::recreate(std::move(model), "Wide", path);
  for (std::uint64_t entry = 0; entry < static_cast<std::uint64_t>(clusters) * wide::entries_per_cluster;) {
    for (int i = 0; i < fields; ++i) {
      const float value = wide::value_of(i, entry);
      const auto at = static_cast<std::size_t>(i / 3);
      if (wide::kind_of(i) == wide::Kind::integer) *integers[at] = static_cast<std::int32_t>(value);
      if (wide::kind_of(i) == wide::Kind::vector) vectors[at]->assign(2, value);
      if (wide::kind_of(i) == wide::Kind::real) *reals[at] = value;
    }
    writer->fill();
    if (++entry % wide::entries_per_cluster == 0) writer->commit_cluster();
  }
  writer->close();
}

void read_one(const char* path, int field) {
  const lhcb::Clock clock;
  auto reader = colonnade::Reader::open("Wide", path);
  auto view = reader->view<float>(wide::name_of(field));
  wide::report(clock, path, view(0));
}

}  // namespace

int main(int argc, char** argv) {
  return wide::run(argc, argv, write_wide, read_one);
}
