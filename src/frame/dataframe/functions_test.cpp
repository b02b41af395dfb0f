// Functions over columns: their parameter and result types, and the errors when they are booked.
#include "frame/dataframe/test_tools.h"

namespace colonnade {
namespace {

class FunctionTest : public DataFrameTest {};
INSTANTIATE_TEST_SUITE_P(Threads, FunctionTest, ::testing::Values(1u, 3u));

double twice(double x) {
  return 2 * x;
}

TEST_P(FunctionTest, FunctionsTakeAnyColumn) {
  const auto df =
      frame()
          .define("a", [](double x, int n) { return x * n; }, {"x", "n"})
          .define("b", &twice, {"x"})
          .define("c", [](float x, std::int64_t n, bool flag) { return x + static_cast<float>(n) + flag; },
                  {"x", "n", "n"})
          .define("d", [](Floats v) { return std::accumulate(v.begin(), v.end(), 0.0); }, {"v"})
          .define("e", [](const std::vector<float>& v) { return v.size(); }, {"v"})
          .define("f", [](std::vector<double> v) { return v.empty() ? -1.0 : v.back(); }, {"v"})
          .define("g", [](const RVec<int>& v) { return std::accumulate(v.begin(), v.end(), 0); }, {"v"})
          .define("h", [](std::string_view s) { return s == "s3"; }, {"s"})
          .define("i", [](const std::string& s) { return static_cast<char>(s[1] + 1); }, {"s"})
          .define("j", [](Color color) { return color == Color::blue; }, {"color"})
          .define("k", [](const Hit& hit) { return hit.energy * static_cast<float>(hit.id); }, {"best"})
          .define("l",
                  [](const std::vector<Hit>& hits) {
                    float most = 0;
                    for (const Hit& hit : hits) most = std::max(most, hit.energy);
                    return most;
                  },
                  {"hits"})
          .define("m",
                  [](std::span<const WideHit> hits) {
                    double sum = 0;
                    for (const auto& hit : hits) sum += hit.energy;
                    return sum;
                  },
                  {"hits"})
          .define("o",
                  [](Floats energies, double shift) { return static_cast<double>(energies.size()) + shift; },
                  {"hits.energy", "1.5"});
  const auto sums = [&](const char* column) { return df.sum(column); };
  const auto a = sums("a"), b = sums("b"), c = sums("c"), d = sums("d"), e = sums("e"), f = sums("f"),
             g = sums("g"), h = sums("h"), i = sums("i"), j = sums("j"), k = sums("k"), l = sums("l"),
             m = sums("m"), o = sums("o");
  EXPECT_EQ(*a, total([](const Event& of) { return of.x * of.n; }));
  EXPECT_EQ(*b, total([](const Event& of) { return 2 * of.x; }));
  EXPECT_EQ(*c, total([](const Event& of) {
    return static_cast<float>(of.x) + static_cast<float>(of.n) + (of.n != 0);
  }));
  EXPECT_EQ(*d, total([](const Event& of) { return std::accumulate(of.v.begin(), of.v.end(), 0.0); }));
  EXPECT_EQ(*e, total([](const Event& of) { return static_cast<double>(of.v.size()); }));
  EXPECT_EQ(*f, total([](const Event& of) { return of.v.empty() ? -1.0 : of.v.back(); }));
  EXPECT_EQ(*g, total([](const Event& of) {
    int sum = 0;
    for (const float item : of.v) sum += static_cast<int>(item);
    return sum;
  }));
  EXPECT_EQ(*h, total([](const Event& of) { return of.s == "s3"; }));
  EXPECT_EQ(*i, total([](const Event& of) { return of.s[1] + 1; }));
  EXPECT_EQ(*j, total([](const Event& of) { return of.color == Color::blue; }));
  EXPECT_EQ(*k, total([](const Event& of) { return of.best.energy * static_cast<float>(of.best.id); }));
  EXPECT_EQ(*l, total([](const Event& of) { return of.hits.empty() ? 0 : of.hits.back().energy; }));
  EXPECT_EQ(*m, total([](const Event& of) {
    double sum = 0;
    for (const Hit& hit : of.hits) sum += hit.energy;
    return sum;
  }));
  EXPECT_EQ(*o, total([](const Event& of) { return of.n + 1.5; }));
  EXPECT_EQ(df.passes(), 1u);
}

TEST_P(FunctionTest, FunctionsGiveAnything) {
  const auto df =
      frame()
          .define("list", [](int n) { return std::vector<std::int64_t>(static_cast<std::size_t>(n), n); },
                  {"n"})
          .define("flags", [](int n) { return std::vector<bool>{n > 1, n > 2}; }, {"n"})
          .define("text", [](const std::string& s, int n) { return s + "!" + std::to_string(n); }, {"s", "n"})
          .define("nested",
                  [](Floats v) { return std::vector<std::vector<float>>{{v.begin(), v.end()}, {1}}; }, {"v"})
          .define("names", [](std::string_view s) { return RVec<std::string>{std::string(s), ""}; }, {"s"})
          .define("half", [](Floats v) { return v.first(v.size() / 2); }, {"v"})
          .define("three", [](double x) { return std::array<double, 3>{x, x, 1}; }, {"x"})
          .define("color2", [](Color) { return Color::green; }, {"color"})
          .define("summary",
                  [](const std::vector<Hit>& hits, std::string_view s) {
                    Summary summary{.text = std::string(s), .inner = {2.5}, .any = !hits.empty()};
                    for (const Hit& hit : hits) summary.ids.push_back(hit.id);
                    return summary;
                  },
                  {"hits", "s"});
  EXPECT_EQ(df.column_type("list"), "std::vector<std::int64_t>");
  EXPECT_EQ(df.column_type("flags"), "std::vector<bool>");
  EXPECT_EQ(df.column_type("text"), "std::string");
  EXPECT_EQ(df.column_type("nested"), "std::vector<std::vector<float>>");
  EXPECT_EQ(df.column_type("three"), "std::vector<double>");
  EXPECT_EQ(df.column_type("color2"), "std::uint8_t");
  EXPECT_EQ(df.column_type("summary"), "dataframe_test::Summary");
  const auto list = df.take<std::vector<int>>("list");
  const auto flags = df.take<std::vector<bool>>("flags");
  const auto text = df.take<std::string>("text");
  const auto nested = df.take<std::vector<std::vector<float>>>("nested");
  const auto names = df.take<std::vector<std::string>>("names");
  const auto half = df.take<std::vector<float>>("half");
  const auto three = df.take<std::array<double, 3>>("three");
  const auto color = df.take<Color>("color2");
  const auto summary = df.take<Summary>("summary");
  const auto ids = df.sum("summary.ids");
  ASSERT_EQ(list->size(), events.size());
  double expected_ids = 0;
  for (std::size_t i = 0; i < events.size(); ++i) {
    const Event& of = events[i];
    EXPECT_EQ((*list)[i], std::vector<int>(static_cast<std::size_t>(of.n), of.n));
    EXPECT_EQ((*flags)[i], (std::vector<bool>{of.n > 1, of.n > 2}));
    EXPECT_EQ((*text)[i], of.s + "!" + std::to_string(of.n));
    EXPECT_EQ((*nested)[i], (std::vector<std::vector<float>>{of.v, {1}}));
    EXPECT_EQ((*names)[i], (std::vector<std::string>{of.s, ""}));
    EXPECT_EQ((*half)[i],
              std::vector<float>(of.v.begin(), of.v.begin() + static_cast<std::ptrdiff_t>(of.v.size() / 2)));
    EXPECT_EQ((*three)[i], (std::array<double, 3>{of.x, of.x, 1}));
    EXPECT_EQ((*color)[i], Color::green);
    EXPECT_EQ((*summary)[i].text, of.s);
    EXPECT_EQ((*summary)[i].ids.size(), of.hits.size());
    EXPECT_EQ((*summary)[i].inner.energy, 2.5);
    EXPECT_EQ((*summary)[i].any, of.n > 0);
    for (const Hit& hit : of.hits) expected_ids += hit.id;
  }
  EXPECT_EQ(*ids, expected_ids);
}

TEST_P(FunctionTest, SlotsEntriesAndSamples) {
  const unsigned threads = GetParam();
  const auto df =
      frame()
          .define_slot("slot", [threads](unsigned slot, double) { return slot < threads; }, {"x"})
          .define_slot_entry(
              "where",
              [](unsigned, std::uint64_t entry, double x) { return static_cast<double>(entry) - 2 * x; },
              {"x"})
          .define_per_sample("size", [](const SampleInfo& sample) { return sample.entries; })
          .define_per_sample(
              "sample",
              [](unsigned, const SampleInfo& sample) { return std::vector<std::string>{sample.name}; })
          .define_per_sample("events", "rdfsampleinfo_.Contains(\"Events\") ? 1 : 2");
  const auto slots = df.filter("slot").count(), size = df.sum<std::uint64_t>("size"),
             events_in = df.sum<std::uint64_t>("events");
  const auto where = df.stats("where");
  const auto samples = df.take<std::vector<std::string>>("sample");
  EXPECT_EQ(*slots, 1000u);
  EXPECT_EQ(*size, 1000u * 1000u);
  EXPECT_EQ(*events_in, 1000u);
  EXPECT_EQ(where->min, 0);
  EXPECT_EQ(where->max, 0);
  EXPECT_THAT(samples->back(), ElementsAre(HasSubstr("Events")));
  for (const char* text : {"x", "1 + rdfentry_"}) {
    EXPECT_EQ(error_of([&] { df.define_per_sample("other", text); }).kind(), ErrorKind::usage) << text;
    EXPECT_EQ(error_of([&] { df.redefine_per_sample("x", text); }).kind(), ErrorKind::usage) << text;
  }
}

TEST_P(FunctionTest, WrongFunctionsAreErrorsWhenBooked) {
  const DataFrame df = frame();
  const auto message = [](const std::function<void()>& work, ErrorKind kind) {
    const Error error = error_of(work);
    EXPECT_EQ(error.kind(), kind);
    return std::string(error.what());
  };
  EXPECT_THAT(
      message([&] { df.define("y", [](std::string_view s) { return s.size(); }, {"v"}); }, ErrorKind::type),
      HasSubstr("define 'y': argument 1 of the function is a std::string, but 'v' is a std::vector<float>"));
  EXPECT_THAT(message([&] { df.define("y", [](double, Floats v) { return v.size(); }, {"x", "n"}); },
                      ErrorKind::type),
              HasSubstr("argument 2 of the function is a std::vector<float>, but 'n' is a std::int32_t"));
  EXPECT_THAT(
      message([&] { df.filter([](const Summary& s) { return s.any; }, {"best"}, "cut"); }, ErrorKind::type),
      HasSubstr("filter 'cut': argument 1 of the function is a dataframe_test::Summary {"));
  EXPECT_THAT(message([&] { df.define("y", [](double x) { return x; }, {"x", "n"}); }, ErrorKind::usage),
              HasSubstr("the function takes 1 argument, but 2 columns are given"));
  EXPECT_THAT(message([&] { df.define("y", [](double x) { return x; }); }, ErrorKind::usage),
              HasSubstr("0 columns are given"));
  EXPECT_THAT(message([&] { df.define("y", [](double x) { return x; }, {"xx"}); }, ErrorKind::not_found),
              HasSubstr("did you mean 'x'"));
  EXPECT_THAT(message(
                  [&] {
                    df.filter([](Floats v) { return v.front() > 0 ? std::string("a") : std::string(); },
                              {"v"});
                  },
                  ErrorKind::type),
              HasSubstr("filter"));
  EXPECT_THAT(message([&] { df.take<std::string>("x"); }, ErrorKind::type), HasSubstr("'x' is a double"));
  EXPECT_THAT(message([&] { df.foreach ([](double, double) {}, {"x"}); }, ErrorKind::usage),
              HasSubstr("takes 2 arguments, but 1 column is given"));
  EXPECT_THAT(message([&] { *df.define("y", [](std::array<float, 2> v) { return v[0]; }, {"v"}).sum("y"); },
                      ErrorKind::conversion),
              HasSubstr("arrays of 2"));
}

}  // namespace
}  // namespace colonnade
