// Records and collections without C++ type: made from their members, written, and read as stored, by member
// and as classes.
#include <sstream>

#include "dataset/test_round_trip.h"

namespace untyped_test {

struct Jet {
  std::int16_t charge = 0;
  double pt = 0;
  std::vector<std::string> tags;
};

}  // namespace untyped_test

namespace colonnade {
namespace {

using testing::MemoryFile;
using untyped_test::Jet;

std::vector<std::unique_ptr<Field>> jet_members() {
  std::vector<std::unique_ptr<Field>> members;
  members.push_back(make_field("charge", "std::int16_t"));
  members.push_back(make_field("pt", "double"));
  members.push_back(make_field("tags", "std::vector<std::string>"));
  return members;
}

TEST(Untyped, RecordsAndCollectionsRoundTrip) {
  const MemoryFile file;
  auto model = Model::create();
  auto record = model->add_field(make_record_field("best", jet_members()));
  auto list = model->add_field(make_collection_field("jets", make_record_field("_0", jet_members())));
  EXPECT_EQ(model->field("jets").type_name(), "");
  EXPECT_EQ(model->field("jets.pt").type_name(), "double");
  ASSERT_EQ(model->field("best").value_size(), sizeof(Jet));
  auto writer = Writer::recreate(std::move(model), "Data", file, testing::tiny_pieces());
  // Members follow each other, naturally aligned, like the struct's.
  auto& best = *static_cast<Jet*>(record.get());
  auto& jets = *static_cast<std::vector<Jet>*>(list.get());
  for (int i = 0; i < 50; ++i) {
    best = {static_cast<std::int16_t>(-i), i / 2.0, {std::to_string(i), "x"}};
    jets.assign(static_cast<std::size_t>(i % 4), best);
    writer->fill();
    if (i % 9 == 4) writer->commit_cluster();
  }
  jets = {};
  best = {};
  writer->close();

  auto reader = Reader::open("Data", file);
  EXPECT_EQ(
      reader->entry_text(5),
      R"({"best": {"charge": -5, "pt": 2.5, "tags": ["5", "x"]}, "jets": [{"charge": -5, "pt": 2.5, "tags": ["5", "x"]}]})");
  auto typed = reader->view<Jet>("best");
  auto typed_list = reader->view<std::vector<Jet>>("jets");
  auto pt = reader->view<float>("jets.pt");
  for (std::uint64_t i = 50; i > 0; --i) {
    EXPECT_EQ(typed(i - 1).charge, -static_cast<int>(i - 1));
    EXPECT_EQ(typed_list(i - 1).size(), (i - 1) % 4);
    if (i % 4 == 3) {
      EXPECT_EQ(typed_list(i - 1)[1].tags[0], std::to_string(i - 1));
    }
  }
  EXPECT_EQ(pt(0), 0.5f);
  std::ostringstream schema;
  reader->print_schema(schema);
  EXPECT_NE(schema.str().find("best: (untyped record)\n"), std::string::npos);
  EXPECT_NE(schema.str().find("jets: (untyped collection)  [SplitIndex64]\n"), std::string::npos);
}

TEST(Untyped, EmptyRecordsTakeNoSpace) {
  const MemoryFile file;
  auto model = Model::create();
  model->add_field(make_record_field("nothing", {}));
  model->make_field<int>("id");
  auto writer = Writer::recreate(std::move(model), "Data", file);
  for (int i = 0; i < 3; ++i) writer->fill();
  writer->close();
  auto reader = Reader::open("Data", file);
  EXPECT_EQ(reader->entry_text(2), R"({"nothing": {}, "id": 0})");
  EXPECT_EQ(reader->view("nothing").size(), 3u);
}

TEST(Untyped, AppendTakesArraysOfMembers) {
  const MemoryFile file;
  auto model = Model::create();
  model->add_field(make_collection_field("jets", make_record_field("_0", jet_members())));
  auto writer = Writer::recreate(std::move(model), "Data", file);
  const std::vector<std::int64_t> offsets = {0, 2, 2}, tags = {0, 1, 1}, text = {0, 3};
  const std::vector<std::int16_t> charge = {1, -1};
  const std::vector<double> pt = {20, 30};
  writer->append({{"jets", ArrayView::offsets(offsets)},
                  {"jets._0.charge", charge},
                  {"jets._0.pt", pt},
                  {"jets._0.tags", ArrayView::offsets(tags)},
                  {"jets._0.tags._0", ArrayView::offsets(text)},
                  {"jets._0.tags._0", std::string_view("abc")}});
  writer->close();
  auto reader = Reader::open("Data", file);
  EXPECT_EQ(reader->entry_text(0),
            R"({"jets": [{"charge": 1, "pt": 20, "tags": ["abc"]}, {"charge": -1, "pt": 30, "tags": []}]})");
  EXPECT_EQ(reader->entry_text(1), R"({"jets": []})");
}

}  // namespace
}  // namespace colonnade
