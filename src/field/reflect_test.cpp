// Tests of colonnade/reflect.h and colonnade/describe.h: member names, types, offsets and class names.
#include "colonnade/reflect.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <typeinfo>
#include <variant>
#include <vector>

#include "colonnade/describe.h"
#include "field/type_name.h"

namespace shapes {

enum class Colour : short { red, green };
struct Empty {};
struct Point {
  int a;
  float b[2];
};
struct Grid {
  Point points[2][3];
};

// Types that could mislead the counting: arrays, nested aggregates, members that cannot be copied or moved,
// types with greedy constructors.
struct Everything {
  float x[3];
  Point point;
  Point points[2];
  Grid grid;
  Empty empty;
  Colour colour = Colour::green;
  bool flag;
  std::atomic<int> counter;
  std::atomic<float> counters[2];
  std::unique_ptr<int> pointer;
  std::optional<std::vector<int>> maybe;
  std::variant<int, std::string> either;
  std::function<void()> function;
  std::map<int, float> map;
  std::string name_;
  const int fixed;
  alignas(64) char aligned;
  int class_;
};

struct One {
  double only;
};
struct OnlyEmpty {
  Empty empty;
};
struct Derived : Point {
  int c;
};
struct DerivedFromEmpty : Empty {
  int c;
};
struct DerivedFromAtomic : One {
  std::atomic<int> c;
};
class Hidden {
 public:
  int get() const { return x_; }

 private:
  int x_ = 0;
};
struct WithReference {
  int a;
  int& b;
};
union Either {
  int a;
  float b;
};

#define EIGHT(p) int p##0, p##1, p##2, p##3, p##4, p##5, p##6, p##7;
#define SIXTYFOUR(p) \
  EIGHT(p##0) EIGHT(p##1) EIGHT(p##2) EIGHT(p##3) EIGHT(p##4) EIGHT(p##5) EIGHT(p##6) EIGHT(p##7)
struct Largest {
  SIXTYFOUR(m)
  SIXTYFOUR(n)
};
struct TooLarge {
  SIXTYFOUR(m)
  SIXTYFOUR(n)
  int last;
};

template <class T, int N = 3>
struct Vec {
  T data[N];
  struct Inner {
    T value;
  };
};

}  // namespace shapes

namespace described {

struct Polymorphic {
  virtual ~Polymorphic() = default;
  int id = 0;
};
struct Weighted {
  double weight = 1;
};

class Track : public Polymorphic, private Weighted {
 public:
  explicit Track(float pt) : pt_(pt) {}
  float pt() const { return pt_; }
  const std::vector<int>& hits() const { return hits_; }
  const double* weight_address() const { return &weight; }
  const float* pt_address() const { return &pt_; }

 private:
  float pt_;
  std::vector<int> hits_;
  COLONNADE_DESCRIBE(Track, (Polymorphic, Weighted), pt_, hits_)
};

// Derives from a described class without being described itself.
class Undescribed : public Track {
 public:
  Undescribed() : Track(0) {}
  int k = 0;
};

class Marker {
  int ignored_ = 0;
  COLONNADE_DESCRIBE(Marker, ())

 public:
  int ignored() const { return ignored_; }
};

template <class T, int N>
class Fixed {
 public:
  Fixed() : data_() {}
  const T* data() const { return data_; }

 private:
  T data_[N];
  COLONNADE_DESCRIBE(Fixed, (), data_)
};

struct Public : Polymorphic {
  Public() {}
  int a = 0;
  const float b = 0;
};

class Renamed {
 public:
  Renamed() {}
  int secret() const { return secret_; }

 private:
  friend struct colonnade::Describe<Renamed>;
  int secret_ = 0;
  int transient_ = 0;
};

template <class T>
struct Pair2 : Weighted {
  T first, second;
};

struct Wide {
  SIXTYFOUR(a) SIXTYFOUR(b) SIXTYFOUR(c) SIXTYFOUR(d)
};

struct OverriddenAggregate {
  int kept;
  int dropped;
};

}  // namespace described

#define EIGHT_NAMES(p) p##0, p##1, p##2, p##3, p##4, p##5, p##6, p##7
#define SIXTYFOUR_NAMES(p)                                                                       \
  EIGHT_NAMES(p##0), EIGHT_NAMES(p##1), EIGHT_NAMES(p##2), EIGHT_NAMES(p##3), EIGHT_NAMES(p##4), \
      EIGHT_NAMES(p##5), EIGHT_NAMES(p##6), EIGHT_NAMES(p##7)

COLONNADE_DESCRIBE_STRUCT(described::Public, (described::Polymorphic), id, a, b)
COLONNADE_CLASS_VERSION(described::Public, 3)
COLONNADE_DESCRIBE_STRUCT(described::OverriddenAggregate, (), kept)
COLONNADE_DESCRIBE_STRUCT(described::Wide, (), SIXTYFOUR_NAMES(a), SIXTYFOUR_NAMES(b), SIXTYFOUR_NAMES(c),
                          SIXTYFOUR_NAMES(d))

template <>
struct colonnade::Describe<described::Renamed> {
  static constexpr auto members = [](auto&& member) { member("visible", &described::Renamed::secret_); };
  static constexpr std::uint32_t version = 7;
};

template <class T>
struct colonnade::Describe<described::Pair2<T>> {
  static constexpr auto bases = colonnade::bases<described::Weighted>;
  static constexpr auto members = [](auto&& member) {
    member("first", &described::Pair2<T>::first);
    member("second", &described::Pair2<T>::second);
  };
};

namespace colonnade {
namespace {

struct Unnamed {
  int q;
  std::string w;
};

struct Found {
  std::string name;
  std::size_t offset;
  const std::type_info* type;
  bool operator==(const Found& other) const {
    return name == other.name && offset == other.offset && *type == *other.type;
  }
};
void PrintTo(const Found& found, std::ostream* out) {
  *out << found.name << " at " << found.offset << " of type " << found.type->name();
}

template <class M>
Found found(std::string name, std::size_t offset) {
  return {std::move(name), offset, &typeid(std::type_identity<M>)};
}

struct Collect {
  std::vector<Found>& into;
  template <class M>
  void operator()(std::string_view name, std::size_t offset, std::type_identity<M>) {
    into.push_back({std::string(name), offset, &typeid(std::type_identity<M>)});
  }
  template <class B>
  void operator()(std::size_t offset, std::type_identity<B>) {
    into.push_back({"", offset, &typeid(std::type_identity<B>)});
  }
};

template <class T>
std::vector<Found> reflected() {
  std::vector<Found> result;
  reflect::for_each_member<T>(Collect{result});
  return result;
}
template <class T>
std::vector<Found> members() {
  std::vector<Found> result;
  ClassInfo<T>::for_each_member(Collect{result});
  return result;
}
template <class T>
std::vector<Found> bases_with_offsets() {
  std::vector<Found> result;
  ClassInfo<T>::for_each_base(Collect{result});
  return result;
}

template <class T, class M>
std::size_t distance(const T& object, const M* member) {
  return static_cast<std::size_t>(reinterpret_cast<const char*>(member) -
                                  reinterpret_cast<const char*>(&object));
}

TEST(Reflect, CountsMembers) {
  using namespace shapes;
  EXPECT_EQ(reflect::member_count<Empty>(), 0u);
  EXPECT_EQ(reflect::member_count<One>(), 1u);
  EXPECT_EQ(reflect::member_count<OnlyEmpty>(), 1u);
  EXPECT_EQ(reflect::member_count<Point>(), 2u);
  EXPECT_EQ(reflect::member_count<Grid>(), 1u);
  EXPECT_EQ(reflect::member_count<Everything>(), 18u);
  EXPECT_EQ(reflect::member_count<const Point>(), 2u);
  EXPECT_EQ(reflect::member_count<Largest>(), 128u);
}

TEST(Reflect, NamesTypesAndOffsets) {
  using namespace shapes;
  const Everything e{.fixed = 1};
  const std::vector<Found> expected = {
      found<float[3]>("x", distance(e, &e.x)),
      found<Point>("point", distance(e, &e.point)),
      found<Point[2]>("points", distance(e, &e.points)),
      found<Grid>("grid", distance(e, &e.grid)),
      found<Empty>("empty", distance(e, &e.empty)),
      found<Colour>("colour", distance(e, &e.colour)),
      found<bool>("flag", distance(e, &e.flag)),
      found<std::atomic<int>>("counter", distance(e, &e.counter)),
      found<std::atomic<float>[2]>("counters", distance(e, &e.counters)),
      found<std::unique_ptr<int>>("pointer", distance(e, &e.pointer)),
      found<std::optional<std::vector<int>>>("maybe", distance(e, &e.maybe)),
      found<std::variant<int, std::string>>("either", distance(e, &e.either)),
      found<std::function<void()>>("function", distance(e, &e.function)),
      found<std::map<int, float>>("map", distance(e, &e.map)),
      found<std::string>("name_", distance(e, &e.name_)),
      found<int>("fixed", distance(e, &e.fixed)),
      found<char>("aligned", distance(e, &e.aligned)),
      found<int>("class_", distance(e, &e.class_)),
  };
  EXPECT_EQ(reflected<Everything>(), expected);
}

TEST(Reflect, NamesAreCompileTimeConstants) {
  static_assert(reflect::member_names<shapes::Point>[0] == "a");
  static_assert(reflect::member_names<shapes::Point>[1] == "b");
  static_assert(reflect::member_names<shapes::One>[0] == "only");
}

TEST(Reflect, LocalAndUnnamedClasses) {
  struct Local {
    double l1;
    char l2;
  };
  EXPECT_EQ(reflected<Local>(), (std::vector{found<double>("l1", 0), found<char>("l2", 8)}));
  EXPECT_EQ(reflected<Unnamed>(), (std::vector{found<int>("q", offsetof(Unnamed, q)),
                                               found<std::string>("w", offsetof(Unnamed, w))}));
  EXPECT_EQ(reflect::type_name<Local>(), "Local");
  EXPECT_EQ(reflect::type_name<Unnamed>(), "colonnade::Unnamed");
}

TEST(Reflect, ManyMembers) {
  const auto all = reflected<shapes::Largest>();
  ASSERT_EQ(all.size(), 128u);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::string octal = std::string(1, char('0' + i / 8 % 8)) + char('0' + i % 8);
    EXPECT_EQ(all[i], found<int>((i < 64 ? "m" : "n") + octal, i * sizeof(int)));
  }
}

TEST(Reflect, TellsWhyNot) {
  using namespace shapes;
  using reflect::Obstacle;
  EXPECT_EQ(reflect::obstacle<Point>, Obstacle::none);
  EXPECT_EQ(reflect::obstacle<int>, Obstacle::not_a_class);
  EXPECT_EQ(reflect::obstacle<int[3]>, Obstacle::not_a_class);
  EXPECT_EQ(reflect::obstacle<Colour>, Obstacle::not_a_class);
  EXPECT_EQ(reflect::obstacle<Either>, Obstacle::not_a_class);
  EXPECT_EQ(reflect::obstacle<Hidden>, Obstacle::not_an_aggregate);
  EXPECT_EQ(reflect::obstacle<std::string>, Obstacle::not_an_aggregate);
  EXPECT_EQ(reflect::obstacle<Derived>, Obstacle::has_base);
  EXPECT_EQ(reflect::obstacle<DerivedFromEmpty>, Obstacle::has_base);
  EXPECT_EQ(reflect::obstacle<DerivedFromAtomic>, Obstacle::has_base);
  EXPECT_EQ((reflect::obstacle<std::array<int, 3>>), Obstacle::tuple_like);
  EXPECT_EQ(reflect::obstacle<WithReference>, Obstacle::uninitialisable);
  EXPECT_EQ(reflect::obstacle<TooLarge>, Obstacle::too_many_members);
}

TEST(Reflect, TypeNamesAreNormalised) {
  using namespace shapes;
  EXPECT_EQ(reflect::type_name<Point>(), "shapes::Point");
  EXPECT_EQ(reflect::type_name<Colour>(), "shapes::Colour");
  EXPECT_EQ(reflect::type_name<Vec<float>>(), "shapes::Vec<float,3>");
  EXPECT_EQ(reflect::type_name<Vec<long>::Inner>(), "shapes::Vec<std::int64_t,3>::Inner");
  EXPECT_EQ((reflect::type_name<Vec<std::vector<std::string>, 7>>()),
            "shapes::Vec<std::vector<std::string>,7>");
  EXPECT_EQ(reflect::type_name<unsigned long long>(), "std::uint64_t");
  EXPECT_EQ((reflect::type_name<std::map<int, std::vector<Unnamed>>>()),
            "std::map<std::int32_t,std::vector<colonnade::Unnamed>>");
}

TEST(Describe, MacroInsideOfTheClassReachesPrivateParts) {
  using described::Track;
  const Track track(1);
  EXPECT_EQ(ClassInfo<Track>::route, DescriptionRoute::macro);
  EXPECT_EQ(members<Track>(),
            (std::vector{found<float>("pt_", distance(track, track.pt_address())),
                         found<std::vector<int>>("hits_", distance(track, &track.hits()))}));
  EXPECT_EQ(bases_with_offsets<Track>(),
            (std::vector{found<described::Polymorphic>("", 0),
                         found<described::Weighted>("", distance(track, track.weight_address()))}));
  EXPECT_EQ(ClassInfo<Track>::name(), "described::Track");
  EXPECT_EQ(ClassInfo<Track>::version, unversioned);
}

TEST(Describe, DescriptionIsNotInherited) {
  EXPECT_FALSE(ClassInfo<described::Undescribed>::available);
  EXPECT_EQ(ClassInfo<described::Undescribed>::route, DescriptionRoute::none);
}

TEST(Describe, NoMembersAndNoBases) {
  EXPECT_EQ(ClassInfo<described::Marker>::route, DescriptionRoute::macro);
  EXPECT_TRUE(members<described::Marker>().empty());
  EXPECT_TRUE(bases_with_offsets<described::Marker>().empty());
}

TEST(Describe, ClassTemplates) {
  EXPECT_EQ((members<described::Fixed<float, 3>>()), std::vector{found<float[3]>("data_", 0)});
  EXPECT_EQ((ClassInfo<described::Fixed<float, 3>>::name()), "described::Fixed<float,3>");
  using Pair = described::Pair2<int>;
  EXPECT_EQ(members<Pair>(), (std::vector{found<int>("first", 8), found<int>("second", 12)}));
  EXPECT_EQ(bases_with_offsets<Pair>(), std::vector{found<described::Weighted>("", 0)});
}

TEST(Describe, MacroOutsideOfTheClass) {
  using described::Public;
  const Public object;
  EXPECT_EQ(ClassInfo<Public>::route, DescriptionRoute::specialisation);
  EXPECT_EQ(members<Public>(), (std::vector{found<int>("id", distance(object, &object.id)),
                                            found<int>("a", distance(object, &object.a)),
                                            found<float>("b", distance(object, &object.b))}));
  EXPECT_EQ(bases_with_offsets<Public>(), std::vector{found<described::Polymorphic>("", 0)});
  EXPECT_EQ(ClassInfo<Public>::version, 3u);
}

TEST(Describe, SpecialisationRenamesAndLeavesOut) {
  EXPECT_EQ(members<described::Renamed>(), std::vector{found<int>("visible", 0)});
  EXPECT_TRUE(bases_with_offsets<described::Renamed>().empty());
  EXPECT_EQ(ClassInfo<described::Renamed>::version, 7u);
}

TEST(Describe, DescriptionGoesBeforeReflection) {
  EXPECT_EQ(members<described::OverriddenAggregate>(), std::vector{found<int>("kept", 0)});
}

TEST(Describe, ManyMembers) {
  const auto all = members<described::Wide>();
  ASSERT_EQ(all.size(), 256u);
  EXPECT_EQ(all.front(), found<int>("a00", 0));
  EXPECT_EQ(all.back(), found<int>("d77", 255 * sizeof(int)));
}

TEST(Describe, PlainAggregatesNeedNothing) {
  EXPECT_EQ(ClassInfo<shapes::Point>::route, DescriptionRoute::automatic);
  EXPECT_EQ(members<shapes::Point>(), reflected<shapes::Point>());
  EXPECT_TRUE(bases_with_offsets<shapes::Point>().empty());
  EXPECT_TRUE(members<shapes::Empty>().empty());
}

TEST(Describe, OtherTypesAreNotAvailable) {
  EXPECT_FALSE(ClassInfo<int>::available);
  EXPECT_FALSE(ClassInfo<shapes::Colour>::available);
  EXPECT_FALSE(ClassInfo<std::vector<int>>::available);
  EXPECT_FALSE(ClassInfo<shapes::Hidden>::available);
  EXPECT_FALSE(ClassInfo<shapes::Derived>::available);
}

}  // namespace
}  // namespace colonnade
