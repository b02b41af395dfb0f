// Views: nested paths, collections, bulk reads over page and cluster borders, types by name, order of access;
// and entries.
#include <sstream>

#include "dataset/test_round_trip.h"

namespace view_test {

struct Jet {
  float pt = 0;
  std::vector<std::int16_t> tracks;
  std::optional<double> tag;
};

}  // namespace view_test

namespace colonnade {
namespace {

using testing::error_of;
using testing::MemoryFile;
using view_test::Jet;

// Entry i has i % 4 jets; jet j (over all entries) has pt j and j % 3 tracks 10 * j + k; every second jet has
// a tag.
class Views : public ::testing::Test {
 protected:
  static constexpr std::uint64_t entries = 60;
  void SetUp() override {
    auto model = Model::create();
    auto id = model->make_field<std::int32_t>("id");
    auto jets = model->make_field<std::vector<Jet>>("jets");
    auto points = model->make_field<std::array<std::pair<float, float>, 3>>("points");
    auto text = model->make_field<std::string>("text");
    auto values = model->make_field<std::vector<float>>("values");
    auto choice = model->make_field<std::variant<int, std::string>>("choice");
    auto writer = Writer::recreate(std::move(model), "Data", file_, testing::tiny_pieces());
    int jet = 0;
    for (std::uint64_t i = 0; i < entries; ++i) {
      *id = static_cast<int>(i);
      jets->clear();
      for (std::uint64_t k = 0; k < i % 4; ++k, ++jet) {
        Jet& fresh = jets->emplace_back();
        fresh.pt = static_cast<float>(jet);
        for (int t = 0; t < jet % 3; ++t) fresh.tracks.push_back(static_cast<std::int16_t>(10 * jet + t));
        if (jet % 2 == 0) fresh.tag = jet;
      }
      for (int k = 0; k < 3; ++k)
        (*points)[static_cast<std::size_t>(k)] = {static_cast<float>(i), static_cast<float>(k)};
      *text = std::string(i % 5, static_cast<char>('a' + i % 26));
      values->assign(i % 7, static_cast<float>(i));
      if (i % 2 == 0) {
        *choice = static_cast<int>(i);
      } else {
        *choice = *text;
      }
      writer->fill();
      if (i == 20 || i == 21 || i == 50) writer->commit_cluster();
    }
    writer->close();
    reader_ = Reader::open("Data", file_);
    jets_ = static_cast<std::uint64_t>(jet);
  }

  MemoryFile file_;
  std::unique_ptr<Reader> reader_;
  std::uint64_t jets_ = 0;
};

TEST_F(Views, MembersOfItemsAreNumberedOverTheDataSet) {
  for (const char* path : {"jets.pt", "jets._0.pt"}) {
    auto pt = reader_->view<float>(path);
    ASSERT_EQ(pt.size(), jets_);
    for (std::uint64_t j = 0; j < jets_; ++j) ASSERT_EQ(pt(j), static_cast<float>(j));
    for (std::uint64_t j = jets_; j > 0; --j) ASSERT_EQ(pt(j - 1), static_cast<float>(j - 1));
    testing::Random random(5);
    for (int n = 0; n < 300; ++n) {
      const std::uint64_t j = random() % jets_;
      ASSERT_EQ(pt(j), static_cast<float>(j));
    }
    EXPECT_EQ(error_of([&] { pt(jets_); }).problem(), "index 90 is beyond the 90 values of the field");
    EXPECT_EQ(error_of([&] { pt(~std::uint64_t{0}); }).kind(), ErrorKind::usage);
    EXPECT_EQ(pt(3), 3.f);
  }
}

TEST_F(Views, CollectionViewsSayWhichItemsBelongToAnEntry) {
  auto jets = reader_->collection("jets");
  auto pt = reader_->view<float>("jets.pt");
  auto tracks = reader_->collection("jets.tracks");
  auto track = reader_->view<std::int16_t>("jets._0.tracks._0");
  ASSERT_EQ(jets.size(), entries);
  ASSERT_EQ(tracks.size(), jets_);
  std::uint64_t jet = 0;
  for (const auto i : reader_->entries()) {
    ASSERT_EQ(jets(i).size(), i % 4);
    for (const auto j : jets(i)) {
      ASSERT_EQ(j, jet);
      ASSERT_EQ(pt(j), static_cast<float>(jet));
      ASSERT_EQ(tracks(j).size(), jet % 3);
      std::uint64_t k = 0;
      for (const auto t : tracks(j)) ASSERT_EQ(track(t), static_cast<std::int16_t>(10 * jet + k++));
      ++jet;
    }
  }
  for (std::uint64_t i = entries; i > 0; --i) ASSERT_EQ(jets(i - 1).size(), (i - 1) % 4);
  EXPECT_EQ(error_of([&] { jets(entries); }).kind(), ErrorKind::usage);
  const Error error = error_of([&] { reader_->collection("id")(0); });
  EXPECT_EQ(error.kind(), ErrorKind::type);
  EXPECT_EQ(error.problem(), "the field is not a collection");
  EXPECT_EQ(error.context().field, "id");
}

TEST_F(Views, NullablesAreCollectionsToo) {
  auto tags = reader_->collection("jets.tag");
  auto tag = reader_->view<std::optional<double>>("jets.tag");
  auto value = reader_->view<double>("jets.tag._0");
  EXPECT_EQ(value.size(), (jets_ + 1) / 2);
  for (std::uint64_t j = 0; j < jets_; ++j) {
    ASSERT_EQ(tags(j).size(), j % 2 == 0 ? 1u : 0u);
    ASSERT_EQ(tag(j).has_value(), j % 2 == 0);
    if (j % 2 == 0) {
      ASSERT_EQ(value(tags(j).first()), static_cast<double>(j));
    }
  }
}

TEST_F(Views, WholeItemsAndPartsOfArrays) {
  auto jet = reader_->view<Jet>("jets._0");
  ASSERT_EQ(jet.size(), jets_);
  EXPECT_EQ(jet(8).pt, 8.f);
  EXPECT_EQ(jet(8).tracks, (std::vector<std::int16_t>{80, 81}));
  auto pairs = reader_->view<std::pair<float, float>>("points._0");
  ASSERT_EQ(pairs.size(), 3 * entries);
  auto second = reader_->view<float>("points._0._1");
  ASSERT_EQ(second.size(), 3 * entries);
  for (std::uint64_t k = 3 * entries; k > 0; --k) {
    ASSERT_EQ(pairs(k - 1).first, static_cast<float>((k - 1) / 3));
    ASSERT_EQ(second(k - 1), static_cast<float>((k - 1) % 3));
  }
  auto first = reader_->view<int>("choice._0");
  ASSERT_EQ(first.size(), entries / 2);
  for (std::uint64_t k = 0; k < entries / 2; ++k) ASSERT_EQ(first(k), static_cast<int>(2 * k));
}

TEST_F(Views, BulkScalarsCrossPagesAndClusters) {
  auto id = reader_->view<std::int32_t>("id");
  for (std::uint64_t first = 0; first < entries; first += 3)
    for (const std::uint64_t count : {0u, 1u, 2u, 15u, 16u, 17u, 40u, 60u}) {
      if (first + count > entries) continue;
      const auto block = id.bulk(first, count);
      ASSERT_EQ(block.size(), count);
      for (std::uint64_t k = 0; k < count; ++k) ASSERT_EQ(block[k], static_cast<int>(first + k));
      if (count > 0) {
        ASSERT_EQ(id(first), static_cast<int>(first));
      }
    }
  auto pt = reader_->view<double>("jets.pt");
  const auto all = pt.bulk(0, jets_);
  for (std::uint64_t j = 0; j < jets_; ++j) ASSERT_EQ(all[j], static_cast<double>(j));
  EXPECT_EQ(error_of([&] { id.bulk(50, 11); }).kind(), ErrorKind::usage);
  EXPECT_EQ(error_of([&] { id.bulk(61, 1); }).kind(), ErrorKind::usage);
  EXPECT_EQ(id.bulk(59, 1)[0], 59);
}

TEST_F(Views, BulkVectorsCrossPagesAndClusters) {
  auto values = reader_->view<std::vector<float>>("values");
  for (std::uint64_t first = 0; first < entries; first += 7)
    for (const std::uint64_t count : {0u, 1u, 5u, 25u, 60u}) {
      if (first + count > entries) continue;
      const auto block = values.bulk(first, count);
      ASSERT_EQ(block.offsets.size(), count + 1);
      ASSERT_EQ(block.offsets.back(), block.values.size());
      for (std::uint64_t k = 0; k < count; ++k) {
        ASSERT_EQ(block.offsets[k + 1] - block.offsets[k], (first + k) % 7);
        for (std::uint64_t v = block.offsets[k]; v < block.offsets[k + 1]; ++v)
          ASSERT_EQ(block.values[v], static_cast<float>(first + k));
      }
    }
  auto wide = reader_->view<RVec<double>>("values");
  EXPECT_EQ(wide.bulk(6, 1).values[0], 6.0);
  auto tracks = reader_->view<std::vector<std::int64_t>>("jets.tracks");
  const auto block = tracks.bulk(0, jets_);
  EXPECT_EQ(block.values.size(), jets_);
  EXPECT_EQ(block.values[block.offsets[8]], 80);
  EXPECT_EQ(error_of([&] { values.bulk(60, 1); }).kind(), ErrorKind::usage);
}

TEST_F(Views, BulkVectorsOfArraysCrossClusters) {
  const MemoryFile file;
  const std::deque<std::array<float, 2>> arrays = {{1, 2}, {3, 4}, {5, 6}, {7, 8}, {9, 10}};
  testing::write_values(file.uri(), arrays, {}, 3);
  auto view = Reader::open("Data", file)->view<std::vector<float>>("x");
  for (std::uint64_t first = 0; first <= arrays.size(); ++first) {
    const auto block = view.bulk(first, arrays.size() - first);
    ASSERT_EQ(block.offsets.size(), arrays.size() - first + 1);
    for (std::uint64_t k = first; k < arrays.size(); ++k) {
      EXPECT_EQ(block.offsets[k - first + 1], 2 * (k - first + 1));
      EXPECT_EQ(block.values[2 * (k - first) + 1], arrays[k][1]);
    }
  }
  EXPECT_EQ(error_of([&] { view.bulk(4, 2); }).kind(), ErrorKind::usage);
}

TEST_F(Views, BulkReadsTakeFewRequests) {
  auto id = reader_->view<std::int32_t>("id");
  const auto before = reader_->metrics();
  id.bulk(0, entries);
  const auto after = reader_->metrics();
  EXPECT_EQ(after.requests - before.requests, 4u) << "one per cluster";
  EXPECT_EQ(after.pages - before.pages, 6u);
}

TEST_F(Views, OutliveTheirReader) {
  auto id = reader_->view<std::int32_t>("id");
  auto jets = reader_->view("jets");
  reader_.reset();
  EXPECT_EQ(id(59), 59);
  EXPECT_EQ(jets.text(1), R"([{"pt": 0, "tracks": [], "tag": 0}])");
}

TEST_F(Views, OfATypeKnownByName) {
  auto id = reader_->view("id", "std::int64_t");
  EXPECT_EQ(id.as<std::int64_t>(7), 7);
  const Error error = error_of([&] { id.as<int>(7); });
  EXPECT_EQ(error.kind(), ErrorKind::type);
  EXPECT_EQ(error.problem(), "the view is of type std::int64_t, not std::int32_t");
  EXPECT_EQ(reader_->view("values", "std::multiset<float>").text(3), "[3, 3, 3]");
  auto set = reader_->view("values", "std::multiset<float>");
  EXPECT_EQ(error_of([&] { set.as<std::multiset<float>>(3); }).kind(), ErrorKind::type)
      << "its layout is another one";
  auto stored = reader_->view<void>("text");
  EXPECT_EQ(stored.as<std::string>(8), "iii");
  const Error unknown = error_of([&] { reader_->view("id", "std::list<int>"); });
  EXPECT_EQ(unknown.kind(), ErrorKind::type);
}

TEST_F(Views, UnknownFieldsAreNamedWithTheirNeighbours) {
  const Error error = error_of([&] { reader_->view<float>("value"); });
  EXPECT_EQ(error.kind(), ErrorKind::not_found);
  EXPECT_EQ(error.problem(), "there is no field 'value'");
  EXPECT_NE(error.advice().find("'values'"), std::string::npos) << error.advice();
  EXPECT_EQ(error.context().uri, file_.uri());
  EXPECT_EQ(error.context().data_set, "Data");
  EXPECT_NE(error_of([&] { reader_->view<float>("jets.p"); }).advice().find("pt"), std::string::npos);
  EXPECT_THROW(reader_->view<float>(""), Error);
  EXPECT_THROW(reader_->view<float>("id."), Error);
  EXPECT_THROW(reader_->view<float>(".id"), Error);
  EXPECT_THROW(reader_->collection("nothing"), Error);
}

TEST_F(Views, SchemaAndEntriesPrint) {
  std::ostringstream schema;
  reader_->print_schema(schema);
  EXPECT_EQ(schema.str().substr(0, schema.str().find("  points")),
            "Data (60 entries)\n"
            "  id: std::int32_t  [SplitInt32]\n"
            "  jets: std::vector<view_test::Jet>  [SplitIndex64]\n"
            "    _0: view_test::Jet\n"
            "      pt: float  [SplitReal32]\n"
            "      tracks: std::vector<std::int16_t>  [SplitIndex64]\n"
            "        _0: std::int16_t  [SplitInt16]\n"
            "      tag: std::optional<double>  [SplitIndex64]\n"
            "        _0: double  [SplitReal64]\n");
  EXPECT_EQ(reader_->entry_text(2),
            "{\"id\": 2, \"jets\": [{\"pt\": 1, \"tracks\": [10], \"tag\": null}, {\"pt\": 2, \"tracks\": "
            "[20, 21], \"tag\": 2}], "
            "\"points\": [[2, 0], [2, 1], [2, 2]], \"text\": \"cc\", \"values\": [2, 2], \"choice\": 2}");
  const std::vector<std::string> some = {"text", "id"};
  EXPECT_EQ(reader_->entry_text(3, some), R"({"text": "ddd", "id": 3})");
}

// ---- Entries

TEST_F(Views, EntriesLoadInAnyOrder) {
  auto model = Model::create();
  auto text = model->make_field<std::string>("text");
  auto id = model->make_field<std::int64_t>("id");
  auto reader = Reader::open(std::move(model), "Data", file_);
  testing::Random random(2);
  for (int n = 0; n < 200; ++n) {
    const std::uint64_t i = random() % entries;
    reader->load_entry(i);
    ASSERT_EQ(*id, static_cast<std::int64_t>(i));
    ASSERT_EQ(text->size(), i % 5);
  }
}

TEST_F(Views, EntriesTakeTheCallersMemory) {
  auto model = Model::create();
  model->make_field<int>("id");
  model->make_field<std::vector<Jet>>("jets");
  auto reader = Reader::open(std::move(model), "Data", file_);
  auto first = reader->make_entry();
  auto second = reader->make_entry();
  int mine = 0;
  std::vector<Jet> jets;
  first->bind("id", &mine);
  first->bind("jets", &jets);
  reader->load_entry(31, *first);
  reader->load_entry(11, *second);
  EXPECT_EQ(mine, 31);
  EXPECT_EQ(jets.size(), 3u);
  EXPECT_EQ(*second->ptr<int>("id"), 11);
  int by_name = 0;
  second->bind("id", &by_name, "int");
  reader->load_entry(12, *second);
  EXPECT_EQ(by_name, 12);
  EXPECT_EQ(first->field_names(), (std::vector<std::string>{"id", "jets"}));
}

TEST_F(Views, EntriesCheckTypes) {
  auto model = Model::create();
  model->make_field<int>("id");
  model->make_field("values", "std::set<float>");
  model->make_field<std::vector<Jet>>("jets");
  auto entry = model->make_entry();
  const Error error = error_of([&] { entry->ptr<float>("id"); });
  EXPECT_EQ(error.kind(), ErrorKind::type);
  EXPECT_EQ(error.problem(), "the value is a std::int32_t, not a float");
  EXPECT_EQ(error.context().field, "id");
  float wrong = 0;
  EXPECT_THROW(entry->bind("id", &wrong), Error);
  EXPECT_THROW(entry->bind("id", &wrong, "float"), Error);
  EXPECT_THROW(entry->bind("id", &wrong, "no<type"), Error);
  std::set<float> set;
  EXPECT_EQ(error_of([&] { entry->bind("values", &set); }).problem(),
            "the value is a std::set<float> known by name only, not a std::set<float>");
  EXPECT_NO_THROW(entry->bind("values", entry->ptr<void>("values").get(), "std::set<float>"));
  std::vector<Jet> jets;
  EXPECT_NO_THROW(entry->bind("jets", static_cast<void*>(&jets), "std::vector<view_test::Jet>"));
  EXPECT_EQ(error_of([&] { entry->ptr<int>("none"); }).kind(), ErrorKind::not_found);
  EXPECT_EQ(error_of([&] { entry->ptr<void>("none"); }).problem(), "the entry has no field 'none'");
}

TEST_F(Views, EntriesOfOtherModelsAreRefused) {
  auto model = Model::create();
  model->make_field<int>("id");
  const auto stranger = model->make_entry();
  EXPECT_EQ(error_of([&] { reader_->load_entry(0, *stranger); }).problem(),
            "the entry belongs to another model");
  EXPECT_EQ(error_of([&] { reader_->load_entry(entries); }).problem(),
            "entry 60 is beyond the 60 entries of the data set");
  const MemoryFile other;
  auto writer = Writer::recreate(std::move(model), "Data", other);
  auto unrelated = Model::create();
  unrelated->make_field<int>("id");
  const auto entry = unrelated->make_entry();
  EXPECT_EQ(error_of([&] { writer->fill(*entry); }).problem(), "the entry belongs to another model");
  writer->fill();
  writer->close();
}

TEST_F(Views, ModelsWithFieldsThatTheFileLacksAreRefused) {
  auto model = Model::create();
  model->make_field<int>("id");
  model->make_field<int>("idd");
  const Error error = error_of([&] { Reader::open(std::move(model), "Data", file_); });
  EXPECT_EQ(error.kind(), ErrorKind::not_found);
  EXPECT_EQ(error.problem(), "there is no field 'idd'");
}

}  // namespace
}  // namespace colonnade
