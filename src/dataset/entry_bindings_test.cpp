// What a writer caches about an entry's values between two entries must follow the entry: other memory bound,
// other entries, fields added.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "colonnade/colonnade.h"
#include "dataset/test_round_trip.h"

namespace colonnade {
namespace {

using testing::MemoryFile;

std::vector<double> column(const MemoryFile& file, const char* name) {
  auto reader = Reader::open("Data", file.uri());
  auto view = reader->view<double>(name);
  std::vector<double> values;
  for (std::uint64_t i = 0; i < reader->num_entries(); ++i) values.push_back(view(i));
  return values;
}

TEST(EntryBindings, MemoryBoundLaterIsWhatIsWritten) {
  const MemoryFile file;
  auto model = Model::create();
  const auto flag = model->make_field<bool>("flag");
  const auto text = model->make_field<std::string>("text");
  model->make_field<double>("x");
  auto writer = Writer::recreate(std::move(model), "Data", file.uri());
  double a = 1, b = 2;
  auto first = writer->make_entry();
  first->bind("x", &a);
  writer->fill(*first);
  a = 3;
  writer->fill(*first);
  first->bind("x", &b);
  writer->fill(*first);
  auto second = writer->make_entry();
  second->bind("x", &a);
  for (int i = 0; i < 2; ++i) {
    writer->fill(*second);
    writer->fill(*first);
  }
  writer->close();
  EXPECT_EQ(column(file, "x"), (std::vector<double>{1, 3, 2, 3, 2, 3, 2}));
}

TEST(EntryBindings, FieldsAddedLaterAreWritten) {
  const MemoryFile file;
  auto model = Model::create();
  const auto x = model->make_field<double>("x");
  auto writer = Writer::recreate(std::move(model), "Data", file.uri());
  *x = 1;
  writer->fill();
  const auto y = writer->extend<double>("y");
  *y = 5;
  writer->fill();
  writer->close();
  EXPECT_EQ(column(file, "x"), (std::vector<double>{1, 1}));
  EXPECT_EQ(column(file, "y"), (std::vector<double>{0, 5}));
}

}  // namespace
}  // namespace colonnade
