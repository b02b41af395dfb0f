// Several files as one source: names, different schemas, open files.
#include "frame/sources/chain.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "frame/sources/source_test_tools.h"
#include "frame/sources/survey.h"

namespace chain_test {

struct Point {
  float x = 0;
  int n = 0;
};
struct Other {
  float x = 0;
  double y = 0;
};

}  // namespace chain_test

namespace colonnade::frame {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;
using testing::MemoryFile;

std::shared_ptr<Source> open(const std::vector<std::string>& uris, const std::string& name = "Data") {
  return open_chain(name, uris);
}

// Entries with x = start, start + 1, ...
template <class T>
void write(const std::string& uri, int start, int entries, const std::string& name = "Data",
           const std::string& column = "x") {
  auto model = Model::create();
  auto x = model->make_field<T>(column);
  auto writer = Writer::recreate(std::move(model), name, uri);
  for (int i = 0; i < entries; ++i) {
    *x = static_cast<T>(start + i);
    writer->fill();
  }
  writer->close();
}

std::vector<double> all_of(const Source& source, std::uint32_t column) {
  std::vector<double> all;
  const auto cursor = source.open();
  BlockMemory memory;
  for (const Part& part : source.parts(0, source.entries())) {
    if (!source.has(column, part.sample)) continue;
    cursor->start(part, {});
    const auto values = cursor->read(column, {part.first, part.last - part.first, nullptr}, memory);
    for (std::size_t i = 0; i < values->size; ++i) {
      switch (values->type.element()) {
        case ElementType::float32:
          all.push_back(values->as<float>()[i]);
          break;
        case ElementType::float64:
          all.push_back(values->as<double>()[i]);
          break;
        case ElementType::int32:
          all.push_back(values->as<std::int32_t>()[i]);
          break;
        default:
          all.push_back(static_cast<double>(values->as<std::int64_t>()[i]));
      }
    }
  }
  return all;
}

class Folder {
 public:
  Folder() { fs::create_directories(path_); }
  ~Folder() { fs::remove_all(path_); }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_ = fs::temp_directory_path() / ("colonnade-chain-" + std::to_string(::getpid()));
};

TEST(Chain, IsOneFileBehindTheOther) {
  const MemoryFile a, b, c;
  write<int>(a, 0, 5);
  write<int>(b, 5, 0);
  write<int>(c, 5, 7);
  const auto source = open({a, b, c});
  EXPECT_EQ(source->entries(), 12u);
  const auto samples = source->samples();
  ASSERT_EQ(samples.size(), 3u);
  EXPECT_EQ(samples[0].name, a.uri() + "/Data");
  EXPECT_EQ(samples[2].first, 5u);
  EXPECT_EQ(samples[2].entries, 7u);
  EXPECT_THAT(all_of(*source, *source->find("x")), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11));
  const auto parts = source->parts(3, 6);
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(parts[0].first, 3u);
  EXPECT_EQ(parts[0].sample, 0u);
  EXPECT_EQ(parts[1].first, 5u);
  EXPECT_EQ(parts[1].last, 6u);
  EXPECT_EQ(parts[1].sample, 2u);
}

TEST(Chain, RandomRowsAcrossFilesAreRight) {
  const MemoryFile files[3];
  std::vector<std::string> expected;
  std::vector<std::string> uris;
  for (std::uint64_t k = 0; k < 3; ++k) {
    auto model = Model::create();
    auto x = model->make_field<std::vector<std::string>>("x");
    auto writer = Writer::recreate(std::move(model), "Data", files[k]);
    testing::Random random(k);
    for (int i = 0; i < 40; ++i) {
      testing::randomize(random, *x);
      writer->fill();
    }
    writer->close();
    uris.push_back(files[k]);
    for (std::string& text : entries_as_arrays(files[k], "x")) expected.push_back(std::move(text));
  }
  expect_same(*open(uris), "x", expected);
}

TEST(Chain, TheOnlyDataSetNeedsNoName) {
  const MemoryFile a, b;
  write<int>(a, 0, 2, "First");
  write<int>(b, 2, 2, "Second");
  const auto source = open({a, b}, "");
  EXPECT_EQ(source->samples()[1].name, b.uri() + "/Second");
  EXPECT_EQ(source->entries(), 4u);
}

// ---- Names

TEST(Chain, WildcardsAreExpandedInOrder) {
  const Folder folder;
  for (const char* name : {"f2.root", "f1.root", "g1.root", "f[1].root"}) write<int>(folder / name, 0, 1);
  const auto names = [&](std::vector<std::string> uris) {
    std::vector<std::string> found;
    const auto source = open(uris);
    for (const Sample& sample : source->samples())
      found.push_back(fs::path(sample.name).parent_path().filename());
    return found;
  };
  EXPECT_THAT(names({folder / "f?.root"}), ElementsAre("f1.root", "f2.root"));
  EXPECT_THAT(names({folder / "*1.root", folder / "f2.root"}), ElementsAre("f1.root", "g1.root", "f2.root"));
  EXPECT_THAT(names({"file://" + folder / "[fg]1.root"}), ElementsAre("f1.root", "g1.root"));
  EXPECT_THAT(names({folder / "f[1].root"}), ElementsAre("f[1].root"));
  const Error error = error_of([&] { open({folder / "h*.root"}); });
  EXPECT_EQ(error.kind(), ErrorKind::not_found);
  EXPECT_EQ(error.context().uri, folder / "h*.root");
}

TEST(Chain, WildcardsWorkWhereATransportCanList) {
  for (const char* name : {"memory:chain-b.root", "memory:chain-a.root", "memory:chain-a/c.root"})
    write<int>(name, 0, 1);
  const auto source = open({"memory:chain-*.root"});
  EXPECT_EQ(source->entries(), 2u);
  EXPECT_EQ(source->samples()[0].name, "memory:chain-a.root/Data");
  EXPECT_EQ(error_of([&] { open({"memory:chain-?z"}); }).kind(), ErrorKind::not_found);
  EXPECT_EQ(error_of([&] { open({"obj:///nowhere/*"}); }).kind(), ErrorKind::unsupported);
  for (const char* name : {"memory:chain-b.root", "memory:chain-a.root", "memory:chain-a/c.root"})
    io::remove_memory_file(name);
}

TEST(Chain, ErrorsSayWhichFile) {
  const MemoryFile a, b;
  write<int>(a, 0, 1);
  write<int>(b, 0, 1, "Other");
  const Error error = error_of([&] { open({a, b}); });
  EXPECT_EQ(error.kind(), ErrorKind::not_found);
  EXPECT_EQ(error.context().uri, b.uri());
  EXPECT_EQ(error_of([&] { open({a, "memory:there-is-none"}); }).kind(), ErrorKind::not_found);
  EXPECT_EQ(error_of([&] { open({}); }).kind(), ErrorKind::usage);
}

// ---- Schemas

template <class A, class B>
void expect_common(ElementType type) {
  for (const bool swapped : {false, true}) {
    const MemoryFile a, b;
    write<A>(a, 1, 2);
    write<B>(b, 3, 2);
    const auto source = swapped ? open({b, a}) : open({a, b});
    const std::uint32_t x = *source->find("x");
    EXPECT_EQ(source->type(x), ValueType(type)) << source->type(x).name();
    const std::vector<double> expected =
        swapped ? std::vector<double>{3, 4, 1, 2} : std::vector<double>{1, 2, 3, 4};
    EXPECT_EQ(all_of(*source, x), expected);
  }
}

TEST(Chain, TypesAreWidened) {
  expect_common<float, double>(ElementType::float64);
  expect_common<std::int8_t, std::int32_t>(ElementType::int32);
  expect_common<std::uint16_t, std::int16_t>(ElementType::int32);
  expect_common<std::uint32_t, std::int64_t>(ElementType::int64);
  expect_common<std::uint32_t, std::int32_t>(ElementType::int64);
  expect_common<std::uint64_t, std::int64_t>(ElementType::int64);
}

TEST(Chain, AValueHereAndAnOptionalThereAreOptional) {
  const MemoryFile a, b;
  write<int>(a.uri(), 0, 2);
  write<std::optional<std::int64_t>>(b.uri(), 10, 3);
  for (const auto& uris : {std::vector{a.uri(), b.uri()}, std::vector{b.uri(), a.uri()}}) {
    const auto source = open(uris);
    const std::uint32_t x = source->find("x").value();
    EXPECT_EQ(source->type(x).name(), "std::optional<std::int64_t>");
    std::vector<std::int64_t> all;
    const auto cursor = source->open();
    BlockMemory memory;
    for (const Part& part : source->parts(0, source->entries())) {
      cursor->start(part, {});
      const auto values = cursor->read(x, {part.first, part.last - part.first, nullptr}, memory);
      EXPECT_TRUE(values->type.is_optional());
      ASSERT_EQ(values->offsets[values->size], static_cast<std::int64_t>(values->size));
      for (std::size_t i = 0; i < values->size; ++i) all.push_back(values->items().as<std::int64_t>()[i]);
    }
    std::ranges::sort(all);
    EXPECT_THAT(all, ElementsAre(0, 1, 10, 11, 12));
  }
}

TEST(Chain, DataSetsOfDifferentNamesAreRemade) {
  const MemoryFile a, b;
  write<int>(a.uri(), 0, 2);
  write<int>(b.uri(), 2, 2, "Others");
  const std::vector<dataset::NamedFile> files = {{a.uri(), "Data"}, {b.uri(), "Others"}};
  const auto source = open_chain(files);
  for (const bool with_index : {false, true}) {
    const auto again = source_from(source->specification(with_index));
    EXPECT_THAT(all_of(*again, again->find("x").value()), ElementsAre(0, 1, 2, 3));
    EXPECT_EQ(again->samples()[1].data_set, "Others");
  }
}

TEST(Chain, TruthValuesAreOneAndZeroInIntegers) {
  const MemoryFile a, b;
  write<bool>(a, 0, 2);
  write<int>(b, 2, 2);
  const auto source = open({a, b});
  EXPECT_EQ(source->type(*source->find("x")), ValueType(ElementType::int32));
  EXPECT_THAT(all_of(*source, *source->find("x")), ElementsAre(0, 1, 2, 3));
}

TEST(Chain, TypesWithoutACommonOneAreAnErrorThatNamesBothFiles) {
  const MemoryFile a, b;
  write<int>(a, 0, 1);
  write<float>(b, 0, 1);
  const Error error = error_of([&] { open({a, b}); });
  EXPECT_EQ(error.kind(), ErrorKind::schema);
  EXPECT_THAT(error.problem(), HasSubstr(a.uri()));
  EXPECT_THAT(error.problem(), HasSubstr(b.uri()));
  EXPECT_THAT(error.problem(), HasSubstr("std::int32_t"));
  EXPECT_EQ(error.context().field, "x");
}

TEST(Chain, ValuesThatDoNotFitTheCommonTypeAreAnError) {
  const MemoryFile a, b;
  write<std::int64_t>(a, 0, 1);
  auto model = Model::create();
  *model->make_field<std::uint64_t>("x") = ~std::uint64_t{0};
  auto writer = Writer::recreate(std::move(model), "Data", b);
  writer->fill();
  writer->close();
  const auto source = open({a, b});
  const Error error = error_of([&] { all_of(*source, *source->find("x")); });
  EXPECT_EQ(error.kind(), ErrorKind::conversion);
  EXPECT_EQ(error.context().uri, b.uri());
}

TEST(Chain, ColumnsMayBeMissingInSomeFiles) {
  const MemoryFile a, b, c;
  write<int>(a, 0, 2);
  write<int>(b, 2, 2, "Data", "y");
  write<int>(c, 4, 2);
  const auto source = open({a, b, c});
  EXPECT_THAT(source->names(), ElementsAre("x", "y"));
  const std::uint32_t x = *source->find("x");
  const std::uint32_t y = *source->find("y");
  EXPECT_TRUE(source->has(x, 0) && source->has(y, 1) && source->has(x, 2));
  EXPECT_FALSE(source->has(y, 0) || source->has(x, 1) || source->has(y, 2));
  EXPECT_THAT(all_of(*source, x), ElementsAre(0, 1, 4, 5));
  EXPECT_THAT(all_of(*source, y), ElementsAre(2, 3));
  const auto cursor = source->open();
  BlockMemory memory;
  cursor->start({2, 4, 1}, {});
  const Error error = error_of([&] { cursor->read(x, {2, 2, nullptr}, memory); });
  EXPECT_EQ(error.kind(), ErrorKind::not_found);
  EXPECT_THAT(error.problem(), HasSubstr(b.uri()));
  EXPECT_EQ(error.context().field, "x");
}

TEST(Chain, RecordsWithOtherMembersAreReadMemberByMember) {
  const MemoryFile a, b;
  const auto write_one = [](const std::string& uri, auto value) {
    auto model = Model::create();
    *model->make_field<decltype(value)>("p") = value;
    auto writer = Writer::recreate(std::move(model), "Data", uri);
    writer->fill();
    writer->close();
  };
  write_one(a, chain_test::Point{1, 2});
  write_one(b, chain_test::Other{3, 4});
  const auto source = open({a, b});
  EXPECT_THAT(all_of(*source, *source->find("p.x")), ElementsAre(1, 3));
  EXPECT_THAT(all_of(*source, *source->find("p.n")), ElementsAre(2));
  EXPECT_THAT(all_of(*source, *source->find("p.y")), ElementsAre(4));
  const Error error = error_of([&] { source->find("p"); });
  EXPECT_EQ(error.kind(), ErrorKind::schema);
  EXPECT_THAT(error.problem(), HasSubstr(a.uri()));
  EXPECT_THAT(error.problem(), HasSubstr(b.uri()));
  EXPECT_THAT(error.problem(), HasSubstr("'p.n' is only in " + a.uri()));
}

TEST(Chain, RecordsWithoutClassAreCalledAfterTheTypesOfTheChain) {
  const MemoryFile a, b;
  const auto write_one = [](const std::string& uri, std::string_view type) {
    auto model = Model::create();
    std::vector<std::unique_ptr<Field>> members;
    members.push_back(make_field("n", type));
    model->add_field(make_record_field("p", std::move(members)));
    auto writer = Writer::recreate(std::move(model), "Data", uri);
    writer->fill();
    writer->close();
  };
  write_one(a, "std::int16_t");
  write_one(b, "std::int64_t");
  const auto source = open({a, b});
  EXPECT_EQ(source->type(source->find("p").value()).name(), "{n: std::int64_t}");
}

// ---- Elsewhere

TEST(Chain, SpecificationsRemakeIt) {
  const MemoryFile a, b;
  write<int>(a, 0, 2);
  write<int>(b, 2, 2);
  const auto source =
      open_chain("Data", std::vector<std::string>{a, b},
                 {.page_checksums = Checksums::off, .read_ahead = 12345, .local_io = LocalIo::pread});
  const auto again = source_from(source->specification());
  EXPECT_EQ(again->specification(), source->specification());
  EXPECT_THAT(source->specification(), HasSubstr("12345"));
  EXPECT_THAT(all_of(*again, *again->find("x")), ElementsAre(0, 1, 2, 3));
  for (const char* bad : {"", "{}", "[1]", R"({"source":"chain"})", R"({"source":"empty","entries":-1})",
                          R"({"source":"empty","entries":"many"})", R"({"source":3})"})
    EXPECT_THAT(error_of([&] { source_from(bad); }).kind(),
                ::testing::AnyOf(ErrorKind::usage, ErrorKind::format))
        << bad;
  EXPECT_EQ(error_of([&] { source_from(R"({"source":"of a later version"})"); }).kind(),
            ErrorKind::unsupported);
}

TEST(Chain, AnIndexSaysEverythingButTheValues) {
  const MemoryFile a, b, c;
  write<int>(a, 0, 3);
  write<int>(b, 3, 0);
  write<std::int16_t>(c, 3, 4);
  const auto source = open({a, b, c});
  const auto again = source_from(source->specification(true));
  EXPECT_EQ(again->specification(true), source->specification(true));
  EXPECT_EQ(again->names(), source->names());
  EXPECT_EQ(again->entries(), 7u);
  EXPECT_EQ(again->type(*again->find("x")).name(), source->type(*source->find("x")).name());
  ASSERT_EQ(again->samples().size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(again->samples()[i].name, source->samples()[i].name);
  EXPECT_THAT(all_of(*again, *again->find("x")), ElementsAre(0, 1, 2, 3, 4, 5, 6));
  const auto parts = source->parts(3, 7), others = again->parts(3, 7);
  ASSERT_EQ(parts.size(), others.size());
  for (std::size_t i = 0; i < parts.size(); ++i) EXPECT_EQ(parts[i].number, others[i].number);
  const std::string text = source->specification(true);
  for (std::size_t at = 0; at < text.size(); at += 3) {
    std::string damaged = text;
    damaged[at] = damaged[at] == '7' ? 'x' : '7';
    try {
      const auto made = source_from(damaged);
      if (const auto x = made->find("x")) static_cast<void>(all_of(*made, *x));
    } catch (const Error&) {  // in most cases
    }
  }
}

TEST(Chain, SurveysOfItsFilesMakeItWithoutOpeningThem) {
  const MemoryFile a, b, c;
  const std::vector<std::string> uris = {a, b, c};
  write<float>(uris[0], 0, 10);
  write<double>(uris[1], 10, 5);
  write<float>(uris[2], 15, 7);
  const std::vector<dataset::NamedFile> files = dataset::expand_names("Data", uris);
  const std::string options = options_text({});
  std::vector<std::string> surveys;
  for (const std::size_t first : {0u, 1u})
    surveys.push_back(survey_files(std::span(files).subspan(first, first + 1), options).value());
  const auto whole = open(uris);
  const auto made = surveyed_chain("Data", surveys, {});
  EXPECT_EQ(made->specification(true), whole->specification(true));
  EXPECT_EQ(all_of(*made, *made->find("x")), all_of(*whole, *whole->find("x")));

  // Damage gives an error, or another consistent survey.
  EXPECT_EQ(error_of([&] { surveyed_chain("Data", std::vector<std::string>{"{}"}, {}); }).kind(),
            ErrorKind::format);
  std::string& text = surveys[1];
  for (const std::string_view digits : {"9", "-1", "1.5", "[]"}) {
    for (std::size_t at = 0; at < text.size(); ++at) {
      std::vector<std::string> damaged = surveys;
      damaged[1].replace(at, 1, digits);
      try {
        const auto other = surveyed_chain("Data", damaged, {});
        std::uint64_t end = 0;
        for (const Part& part : other->parts(0, other->entries())) end = part.last;
        EXPECT_EQ(end, other->entries()) << damaged[1];
      } catch (const Error& error) {
        EXPECT_TRUE(error.kind() == ErrorKind::format || error.kind() == ErrorKind::checksum) << error.what();
      }
    }
  }
}

TEST(Chain, AnEmptySourceHasEntriesAndNothingElse) {
  const auto source = empty_source(200'000);
  EXPECT_EQ(source->entries(), 200'000u);
  EXPECT_FALSE(source->find("x"));
  EXPECT_TRUE(source->names().empty());
  const auto parts = source->parts(10, 200'000);
  ASSERT_GT(parts.size(), 1u);
  EXPECT_EQ(parts.front().first, 10u);
  for (std::size_t i = 1; i < parts.size(); ++i) EXPECT_EQ(parts[i].first, parts[i - 1].last);
  EXPECT_EQ(parts.back().last, 200'000u);
  EXPECT_EQ(source_from(source->specification())->entries(), 200'000u);
  // Any number of entries makes a bounded number of parts.
  EXPECT_LE(empty_source(~std::uint64_t{0})->parts(0, ~std::uint64_t{0}).size(), (1u << 20) + 1);
  EXPECT_EQ(error_of([&] {
              BlockMemory memory;
              source->open()->read(0, {0, 1, nullptr}, memory);
            }).kind(),
            ErrorKind::not_found);
}

// ---- What is open

std::size_t open_files() {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& entry : fs::directory_iterator("/proc/self/fd")) ++count;
  return count;
}

TEST(Chain, LongOnesAreNotAllOpen) {
  const Folder folder;
  const std::string one = folder / "one.root";
  write<int>(one, 0, 3);
  std::vector<std::string> uris;
  for (int i = 0; i < 300; ++i) {
    uris.push_back(folder / ("f" + std::to_string(i) + ".root"));
    fs::create_hard_link(one, uris.back());
  }
  const std::size_t before = open_files();
  const auto source = open(uris);
  EXPECT_LT(open_files(), before + 20);
  const std::uint32_t x = *source->find("x");
  const auto parts = source->parts(0, source->entries());
  ASSERT_EQ(parts.size(), 300u);
  const auto first = source->open();
  const auto second = source->open();
  BlockMemory memory;
  std::size_t most = 0;
  for (const Part& part : parts) {
    for (Cursor* cursor : {first.get(), second.get()}) {
      cursor->start(part, {});
      EXPECT_EQ(cursor->read(x, {part.first + 1, 1, nullptr}, memory)->as<int>()[0], 1);
    }
    most = std::max(most, open_files());
  }
  EXPECT_LT(most, before + 20);
  EXPECT_EQ(first->metrics().pages, 300u);
}

TEST(Chain, AFileThatWasReplacedIsNoticed) {
  const Folder folder;
  std::vector<std::string> uris;
  for (int i = 0; i < 100; ++i) {
    uris.push_back(folder / ("f" + std::to_string(i) + ".root"));
    write<int>(uris.back(), 0, 3);
  }
  const auto source = open(uris);
  const std::uint32_t x = *source->find("x");
  const auto parts = source->parts(0, source->entries());
  fs::remove(uris[50]);
  write<int>(uris[50], 0, 50'000);
  const auto cursor = source->open();
  BlockMemory memory;
  cursor->start(parts[50], {});
  const Error error = error_of([&] { cursor->read(x, {parts[50].first, 3, nullptr}, memory); });
  EXPECT_EQ(error.kind(), ErrorKind::io);
  EXPECT_EQ(error.context().uri, uris[50]);
}

}  // namespace
}  // namespace colonnade::frame
