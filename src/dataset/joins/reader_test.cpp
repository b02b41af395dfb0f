// Joins and friends in C++: views and matches against maps, over random chains.
#include <gmock/gmock.h>

#include <map>
#include <random>

#include "base/test_folder.h"
#include "colonnade/join.h"
#include "colonnade/writer.h"
#include "dataset/test_values.h"

namespace colonnade {
namespace {

using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;
using testing::MemoryFile;

using Key = std::pair<std::int32_t, std::uint16_t>;

// Entries (run, slot) with their number as a number and as a text, in files of a few entries.
class Sides : public ::testing::Test {
 protected:
  std::shared_ptr<ChainReader> chain(const std::string& name, const std::vector<Key>& keys,
                                     std::size_t per_file = 7) {
    std::vector<std::string> uris;
    for (std::size_t first = 0; first == 0 || first < keys.size(); first += per_file) {
      auto model = Model::create();
      auto run = model->make_field<std::int32_t>("run");
      auto slot = model->make_field<std::uint16_t>("slot");
      auto value = model->make_field<float>("value");
      auto text = model->make_field<std::string>("text");
      uris.push_back(files_.emplace_back(std::make_unique<MemoryFile>())->uri());
      auto writer = Writer::recreate(std::move(model), name, uris.back());
      for (std::size_t i = first; i < std::min(first + per_file, keys.size()); ++i) {
        std::tie(*run, *slot) = keys[i];
        *value = static_cast<float>(i) / 2;
        *text = "entry " + std::to_string(i);
        writer->fill();
      }
      writer->close();
    }
    return ChainReader::open(name, uris);
  }

  std::vector<std::unique_ptr<MemoryFile>> files_;
};

std::vector<Key> random_keys(std::mt19937_64& random, std::size_t count) {
  std::vector<Key> keys;
  for (std::size_t i = 0; i < count; ++i)
    keys.emplace_back(static_cast<std::int32_t>(random() % 9) - 4, random() % 9);
  return keys;
}

TEST_F(Sides, CharactersHaveNoSignAsKeys) {
  const auto chain_of = [&]<class T>(const std::string& name, T key) {
    auto model = Model::create();
    auto stored = model->make_field<T>("k");
    const std::string uri = files_.emplace_back(std::make_unique<MemoryFile>())->uri();
    auto writer = Writer::recreate(std::move(model), name, uri);
    *stored = key;
    writer->fill();
    writer->close();
    return ChainReader::open(name, std::vector{uri});
  };
  const auto reader = JoinReader::open(chain_of("Events", static_cast<char>(200)));
  reader->add_join("more", chain_of("More", std::uint8_t{200}), {.keys = {"k"}});
  EXPECT_EQ(reader->view<std::uint8_t>("more.k").entry(0), 0);
}

TEST_F(Sides, JoinsFindWhatAMapFinds) {
  std::mt19937_64 random(1);
  for (int n = 0; n < 12; ++n) {
    const std::vector<Key> here = random_keys(random, random() % 3000),
                           there = random_keys(random, random() % 60);
    std::map<Key, std::size_t> first;
    for (std::size_t i = 0; i < there.size(); ++i) first.emplace(there[i], i);
    const auto reader = JoinReader::open(chain("Events", here, 1 + random() % 2000));
    reader->add_join("more", chain("More", there), {.keys = {"run", "slot"}, .takes_first = true});
    auto value = reader->view<float>("more.value");
    auto wide = reader->view<double>("more.value");  // of another type than is stored
    auto text = reader->view<std::string>("more.text");
    auto own = reader->view<std::int32_t>("run");
    for (int k = 0; k < 400 && !here.empty(); ++k) {
      const std::size_t i = k < 200 ? random() % here.size() : std::min<std::size_t>(k, here.size() - 1);
      const auto found = first.find(here[i]);
      EXPECT_EQ(own(i), here[i].first);
      ASSERT_EQ(value.has_value(i), found != first.end());
      if (found == first.end()) {
        EXPECT_EQ(value.find(i), nullptr);
        EXPECT_EQ(text.entry(i), -1);
        EXPECT_THAT(error_of([&] { value(i); }).problem(), HasSubstr("has no match in 'more'"));
        continue;
      }
      EXPECT_EQ(value(i), static_cast<float>(found->second) / 2);
      EXPECT_EQ(wide(i), static_cast<double>(found->second) / 2);
      EXPECT_EQ(*text.find(i), "entry " + std::to_string(found->second));
    }
    EXPECT_EQ(error_of([&] { value.has_value(here.size()); }).kind(), ErrorKind::usage);
  }
}

TEST_F(Sides, FriendsHaveBordersOfTheirOwn) {
  std::mt19937_64 random(2);
  const std::vector<Key> keys = random_keys(random, 100);
  const auto reader = JoinReader::open(chain("Events", keys, 9));
  reader->add_friend("f", chain("Friend", random_keys(random, 100), 23));
  // By the keys that the friend has, in which not all entries of the first have a match.
  reader->add_join("by_friend", chain("More", {{0, 1}, {1, 1}, {2, 3}}),
                   {.keys = {"f.run", "f.slot"}, .other_keys = {"run", "slot"}});
  // And by those of what was joined: only what has a match has a key.
  reader->add_join("twice", chain("Last", {{0, 1}, {1, 2}, {2, 3}}),
                   {.keys = {"by_friend.run", "by_friend.slot"}, .other_keys = {"run", "slot"}});
  EXPECT_THAT(reader->sides(), ElementsAre("f", "by_friend", "twice"));
  auto value = reader->view<float>("f.value");
  auto run = reader->view<std::int32_t>("f.run");
  auto slot = reader->view<std::uint16_t>("f.slot");
  const std::vector<std::int64_t> matches = reader->matches("by_friend", 0, 100);
  const std::vector<std::int64_t> twice = reader->matches("twice", 0, 100);
  for (const std::uint64_t i : reader->entries()) {
    EXPECT_EQ(value(i), static_cast<float>(i) / 2);
    const Key key{run(i), slot(i)};
    const std::map<Key, std::int64_t> more = {{{0, 1}, 0}, {{1, 1}, 1}, {{2, 3}, 2}};
    EXPECT_EQ(matches[i], more.contains(key) ? more.at(key) : -1);
    EXPECT_EQ(twice[i], matches[i] == 1 ? -1 : matches[i]);
  }
  // Arrays of a side, in any order.
  const std::vector<std::uint64_t> entries = {99, 3, 3, 50};
  const std::vector<std::string> paths = {"value"};
  const auto arrays = reader->side("f").arrays_at(paths, entries);
  EXPECT_THAT(arrays.at(0).view<float>(), ElementsAre(49.5f, 1.5f, 1.5f, 25.f));
}

TEST_F(Sides, WhatMakesNoSenseIsRefused) {
  const auto reader = JoinReader::open(chain("Events", {{1, 1}, {2, 2}}));
  const auto other = chain("More", {{1, 1}, {1, 1}, {3, 3}});
  const auto kind = [&](auto&& work) { return error_of(work).kind(); };
  EXPECT_EQ(kind([&] { reader->add_friend("f", other); }), ErrorKind::usage);
  EXPECT_EQ(kind([&] { reader->add_join("run", other, {.keys = {"run"}}); }), ErrorKind::usage);
  EXPECT_EQ(kind([&] { reader->add_join("a.b", other, {.keys = {"run"}}); }), ErrorKind::usage);
  EXPECT_EQ(kind([&] { reader->add_join("m", other, {.keys = {}}); }), ErrorKind::usage);
  EXPECT_EQ(kind([&] { reader->add_join("m", other, {.keys = {"run"}, .other_keys = {"run", "slot"}}); }),
            ErrorKind::usage);
  EXPECT_EQ(kind([&] { reader->add_join("m", other, {.keys = {"value"}}); }), ErrorKind::type);
  EXPECT_EQ(kind([&] { reader->add_join("m", other, {.keys = {"text"}}); }), ErrorKind::type);
  EXPECT_EQ(kind([&] { reader->add_join("m", other, {.keys = {"none"}}); }), ErrorKind::not_found);
  EXPECT_EQ(kind([&] { reader->matches("m", 0, 1); }), ErrorKind::not_found);
  EXPECT_TRUE(reader->sides().empty());
  reader->add_join("m", other, {.keys = {"run", "slot"}});
  EXPECT_THAT(error_of([&] { reader->matches("m", 0, 2); }).problem(),
              HasSubstr("the entries 0 and 1 have the same key (run = 1, slot = 1)"));
  EXPECT_EQ(kind([&] { reader->matches("m", 1, 3); }), ErrorKind::usage);
}

TEST_F(Sides, SavedTablesNeedNoFiles) {
  const TestFolder folder;
  const std::string table = (folder.path() / "keys").string();
  const auto write = [&](const std::string& name, std::vector<Key> keys) {
    auto model = Model::create();
    auto run = model->make_field<std::int32_t>("run");
    auto writer = Writer::recreate(std::move(model), "More", (folder.path() / name).string());
    for (const Key& key : keys) {
      *run = key.first;
      writer->fill();
    }
    writer->close();
    return (folder.path() / name).string();
  };
  const std::vector<std::string> uris = {write("a.root", {{1, 0}, {2, 0}}), write("b.root", {{5, 0}})};
  const std::string index = ChainReader::open("More", uris)->index();
  const auto reader = [&] {
    auto made = JoinReader::open(chain("Events", {{5, 0}, {1, 0}, {7, 0}}));
    made->add_join("m", ChainReader::open_known(index), {.keys = {"run"}, .table = table});
    return made;
  };
  EXPECT_THAT(reader()->matches("m", 0, 3), ElementsAre(2, 0, -1));
  std::filesystem::rename(uris[0], uris[0] + ".away");
  EXPECT_THAT(reader()->matches("m", 0, 3), ElementsAre(2, 0, -1));
  const auto again = reader();
  const std::vector<std::string> paths = {"run"};
  const std::vector<std::uint64_t> there = {2}, gone = {0};
  EXPECT_THAT(again->side("m").arrays_at(paths, there).at(0).view<std::int32_t>(), ElementsAre(5));
  EXPECT_EQ(error_of([&] { again->side("m").arrays_at(paths, gone); }).kind(), ErrorKind::not_found);
}

}  // namespace
}  // namespace colonnade
