// Classes that changed since the file was written: members and bases added, removed or moved, members with
// other types, other names, read rules. The two versions of a class are local types of equal name.
#include "dataset/test_round_trip.h"

namespace evolution_test {

struct Base {
  int number = -5;
};
struct OtherBase {
  int other = -6;
};

}  // namespace evolution_test

namespace v1 {
inline auto make() {
  struct Track {
    float x = 1;
    int y = 2;
    std::vector<int> hits = {1, 2};
    std::string gone = "gone";
  };
  return Track();
}
inline auto make_bases() {
  struct Derived : evolution_test::Base {
    int own = 12;
  };
  return Derived();
}
}  // namespace v1

namespace v2 {
inline auto make() {
  struct Track {
    std::vector<std::int64_t> hits;
    std::int64_t y = -1;
    double x = -1;
    std::string added = "as constructed";
  };
  return Track();
}
inline auto make_without_base() {
  struct Derived {
    int own = -1;
  };
  return Derived();
}
}  // namespace v2

namespace v3 {
inline auto make_other_bases() {
  struct Derived : evolution_test::OtherBase, evolution_test::Base {
    int own = -3;
  };
  return Derived();
}
}  // namespace v3

using TrackV1 = decltype(v1::make());
using TrackV2 = decltype(v2::make());
using DerivedV1 = decltype(v1::make_bases());
using DerivedV3 = decltype(v3::make_other_bases());
using DerivedV2 = decltype(v2::make_without_base());

namespace evolution_test {

struct Plain {
  int own = 1;
};
struct WithBase : Base {
  int own = -1;
};
struct WithBases : Base, OtherBase {
  int own = 3;
};

struct Cartesian {
  float px = 3;
  float py = 4;
  int id = 9;
};
struct Polar {
  double r = -1;
  int id = -1;
};
struct Unrelated {
  int id = -1;
};
struct Twice {
  int value = 21;
};
struct Throwing {
  int value = 1;
};
struct Versioned {
  int value = 5;
  int doubled = 0;
};
struct Late {
  int value = 5;
  int doubled = 0;
};

}  // namespace evolution_test

template <>
struct colonnade::Describe<DerivedV1> {
  static constexpr auto bases = colonnade::bases<evolution_test::Base>;
  static constexpr auto members = [](auto&& member) { member("own", &DerivedV1::own); };
};
template <>
struct colonnade::Describe<DerivedV3> {
  static constexpr auto bases = colonnade::bases<evolution_test::OtherBase, evolution_test::Base>;
  static constexpr auto members = [](auto&& member) { member("own", &DerivedV3::own); };
};

COLONNADE_DESCRIBE_STRUCT(evolution_test::WithBase, (evolution_test::Base), own)
COLONNADE_DESCRIBE_STRUCT(evolution_test::WithBases, (evolution_test::Base, evolution_test::OtherBase), own)
COLONNADE_CLASS_VERSION(evolution_test::Versioned, 3)
COLONNADE_CLASS_VERSION(evolution_test::Late, 3)

template <>
struct colonnade::ReadRule<evolution_test::Polar> {
  struct Source {
    float px = 0;
    float py = 0;
  };
  static void apply(const Source& stored, evolution_test::Polar& polar) {
    polar.r = std::hypot(stored.px, stored.py);
  }
  static constexpr std::string_view source_class = "evolution_test::Cartesian";
};
template <>
struct colonnade::ReadRule<evolution_test::Twice> {
  struct Source {
    int value = 0;
  };
  static void apply(const Source& stored, evolution_test::Twice& twice) { twice.value = 2 * stored.value; }
};
template <>
struct colonnade::ReadRule<evolution_test::Throwing> {
  struct Source {
    int value = 0;
  };
  static void apply(const Source&, evolution_test::Throwing&) {
    throw Error(ErrorKind::conversion, "the rule does not want this value");
  }
};
template <>
struct colonnade::ReadRule<evolution_test::Versioned> {
  struct Source {
    int value = 0;
  };
  static void apply(const Source& stored, evolution_test::Versioned& object) {
    object.doubled = 2 * stored.value;
  }
  static constexpr std::uint32_t min_version = 2;
  static constexpr std::uint32_t max_version = 3;
};
template <>
struct colonnade::ReadRule<evolution_test::Late> {
  struct Source {
    int value = 0;
  };
  static void apply(const Source& stored, evolution_test::Late& object) { object.doubled = 2 * stored.value; }
  static constexpr std::uint32_t min_version = 4;
};

namespace colonnade {
namespace {

using namespace evolution_test;
using testing::error_of;
using testing::MemoryFile;

template <class T>
void write(const std::string& uri, int entries = 4) {
  auto model = Model::create();
  model->make_field<T>("x");
  model->make_field<std::vector<T>>("many")->resize(2);
  auto writer = Writer::recreate(std::move(model), "Data", uri);
  for (int i = 0; i < entries; ++i) {
    writer->fill();
    if (i == 1) writer->commit_cluster();
  }
  writer->close();
}

template <class T, class Check>
void expect(const std::string& uri, Check&& check) {
  auto reader = Reader::open("Data", uri);
  auto view = reader->view<T>("x");
  auto many = reader->view<std::vector<T>>("many");
  for (const auto i : reader->entries()) {
    check(view(i));
    ASSERT_EQ(many(i).size(), 2u);
    check(many(i)[1]);
  }
}

TEST(SchemaEvolution, MembersComeGoMoveAndConvert) {
  static_assert(!std::is_same_v<TrackV1, TrackV2>);
  ASSERT_EQ(make_field<TrackV1>("x")->type_name(), make_field<TrackV2>("x")->type_name());
  const MemoryFile file;
  write<TrackV1>(file);
  expect<TrackV2>(file, [](const TrackV2& track) {
    EXPECT_EQ(track.x, 1.0);
    EXPECT_EQ(track.y, 2);
    EXPECT_EQ(track.hits, (std::vector<std::int64_t>{1, 2}));
    EXPECT_EQ(track.added, "as constructed");
  });
}

TEST(SchemaEvolution, UntypedRecordsReadAsAnyClassAndClassesAsRecords) {
  const MemoryFile file;
  auto model = Model::create();
  std::vector<std::unique_ptr<Field>> members;
  members.push_back(make_field("y", "std::int16_t"));
  members.push_back(make_field("x", "float"));
  auto value = model->add_field(make_record_field("x", std::move(members)));
  *static_cast<std::int16_t*>(value.get()) = 6;
  auto writer = Writer::recreate(std::move(model), "Data", file);
  writer->fill();
  writer->close();
  auto view = Reader::open("Data", file)->view<TrackV2>("x");
  EXPECT_EQ(view(0).y, 6);
  EXPECT_EQ(view(0).x, 0.0);
  EXPECT_EQ(view(0).added, "as constructed");

  const MemoryFile other;
  write<TrackV1>(other);
  auto reader = Reader::open("Data", other);
  std::vector<std::unique_ptr<Field>> wanted;
  wanted.push_back(make_field("y", "std::int64_t"));
  auto target = Model::create();
  auto record = target->add_field(make_record_field("x", std::move(wanted)));
  auto imposed = Reader::open(std::move(target), "Data", other);
  imposed->load_entry(3);
  EXPECT_EQ(*static_cast<std::int64_t*>(record.get()), 2);
}

TEST(SchemaEvolution, ClassesOfAnotherNameAreRefused) {
  const MemoryFile file;
  write<Plain>(file);
  const Error error = error_of([&] { Reader::open("Data", file)->view<Unrelated>("x"); });
  EXPECT_EQ(error.kind(), ErrorKind::type);
  EXPECT_EQ(error.problem(),
            "evolution_test::Unrelated cannot be read from the stored type evolution_test::Plain (the class "
            "names differ)");
  EXPECT_EQ(error.advice(),
            "ask for the stored type or one that it converts to, see docs/schema-evolution.md");
  EXPECT_EQ(error.context().field, "x");
  EXPECT_EQ(error.context().data_set, "Data");
}

TEST(SchemaEvolution, AMemberOfAnIncompatibleTypeIsRefused) {
  const MemoryFile file;
  auto model = Model::create();
  std::vector<std::unique_ptr<Field>> members;
  members.push_back(make_field("y", "std::string"));
  model->add_field(make_record_field("x", std::move(members)));
  Writer::recreate(std::move(model), "Data", file)->close();
  const Error error = error_of([&] { Reader::open("Data", file)->view<TrackV2>("x"); });
  EXPECT_EQ(error.kind(), ErrorKind::type);
  EXPECT_EQ(error.problem(), "std::int64_t cannot be read from the stored type std::string");
  EXPECT_EQ(error.context().field, "x.y");
}

TEST(SchemaEvolution, BasesMayComeAndGo) {
  const MemoryFile file;
  write<DerivedV1>(file);
  expect<DerivedV2>(file, [](const DerivedV2& read) { EXPECT_EQ(read.own, 12); });

  const MemoryFile without;
  write<DerivedV2>(without);
  expect<DerivedV1>(without, [](const DerivedV1& read) {
    EXPECT_EQ(read.own, -1);
    EXPECT_EQ(read.number, -5);
  });
}

TEST(SchemaEvolution, OtherBasesAreRefused) {
  const MemoryFile file;
  write<DerivedV1>(file);
  const Error error = error_of([&] { Reader::open("Data", file)->view<DerivedV3>("x"); });
  EXPECT_EQ(error.kind(), ErrorKind::type);
  EXPECT_EQ(error.problem(),
            "evolution_test::OtherBase cannot be read from the stored type evolution_test::Base (the class "
            "names differ)");
}

TEST(SchemaEvolution, ReadRulesTakeAnotherClass) {
  const MemoryFile file;
  write<Cartesian>(file);
  expect<Polar>(file, [](const Polar& polar) {
    EXPECT_EQ(polar.r, 5.0);
    EXPECT_EQ(polar.id, 9);
  });
  auto imposed = Model::create();
  auto polar = imposed->make_field<Polar>("x");
  auto reader = Reader::open(std::move(imposed), "Data", file);
  reader->load_entry(2);
  EXPECT_EQ(polar->r, 5.0);
}

TEST(SchemaEvolution, ReadRulesSeeTheStoredMembersAfterTheMembersWereRead) {
  const MemoryFile file;
  write<Twice>(file);
  expect<Twice>(file, [](const Twice& twice) { EXPECT_EQ(twice.value, 42); });
}

TEST(SchemaEvolution, ReadRulesMayThrow) {
  const MemoryFile file;
  write<Throwing>(file);
  auto view = Reader::open("Data", file)->view<Throwing>("x");
  const Error error = error_of([&] { view(0); });
  EXPECT_EQ(error.problem(), "the rule does not want this value");
}

TEST(SchemaEvolution, ReadRulesHoldForTheirVersionsOnly) {
  const MemoryFile file;
  write<Versioned>(file);
  EXPECT_EQ(Reader::open("Data", file)->descriptor().fields[0].type_version, 3u);
  expect<Versioned>(file, [](const Versioned& read) {
    EXPECT_EQ(read.value, 5);
    EXPECT_EQ(read.doubled, 10);
  });
  const MemoryFile other;
  write<Late>(other);
  expect<Late>(other, [](const Late& read) {
    EXPECT_EQ(read.value, 5);
    EXPECT_EQ(read.doubled, 0);
  });
}

TEST(SchemaEvolution, ClassesWithBasesRoundTrip) {
  testing::expect_round_trip<WithBases>(testing::tiny_pieces(), 30, false);
  testing::expect_round_trip<std::vector<WithBase>>(testing::tiny_pieces(), 30, false);
}

}  // namespace
}  // namespace colonnade
