// The DataFrame of C++: every operation against plain loops over the same events.
#include "colonnade/dataframe.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>

#include "container/container.h"
#include "dataset/class_names.h"
#include "format/tfile_streamer_info.h"
#include "frame/dataframe/test_tools.h"

namespace tower {

struct Cell {
  float energy = 0;
};

}  // namespace tower

namespace colonnade {
namespace {

INSTANTIATE_TEST_SUITE_P(Threads, DataFrameTest, ::testing::Values(1u, 3u));

// ---- Rows

TEST_P(DataFrameTest, FiltersNarrow) {
  const auto df = frame();
  const auto cut = df.filter("n > 1", "n").filter([](std::string_view s) { return s != "s3"; }, {"s"}, "s");
  const auto count = cut.count();
  const auto report = cut.report();
  const auto some = cut.range(10, 200, 3).take<double>("x");
  const auto first = cut.range(2).take<double>("x");
  std::vector<double> kept;
  for (const Event& of : events)
    if (of.n > 1 && of.s != "s3") kept.push_back(of.x);
  std::vector<double> expected;
  for (std::size_t i = 10; i < 200; i += 3) expected.push_back(kept[i]);
  EXPECT_EQ(*some, expected);
  EXPECT_THAT(*first, ElementsAre(kept[0], kept[1]));
  EXPECT_EQ(*count, kept.size());
  EXPECT_EQ((*report)["n"].passed, 600u);
  EXPECT_EQ((*report)["s"].all, 600u);
  EXPECT_EQ((*report)["s"].passed, kept.size());
  EXPECT_THAT(report->as_string(),
              HasSubstr("n                   : pass=600        all=1000       -- eff=60.00 %"));
  EXPECT_THAT(error_of([&] { (*report)["m"]; }).what(), HasSubstr("has no filter 'm'"));
  EXPECT_THAT(cut.filter_names(), ElementsAre("n", "s"));
  EXPECT_EQ(df.passes(), 1u);
}

TEST_P(DataFrameTest, ColumnsThatSomeFilesDoNotHave) {
  testing::MemoryFile other;
  auto model = Model::create();
  auto x = model->make_field<double>("x");
  auto writer = Writer::recreate(std::move(model), "Events", other.uri());
  for (int i = 0; i < 10; ++i) {
    *x = i;
    writer->fill();
  }
  writer->close();
  const DataFrame df("Events", DataFrame::Names{file.uri(), other.uri()}, {.threads = GetParam()});
  const auto with = df.filter_available("n").count(), without = df.filter_missing("n").count();
  const auto by_text = df.default_value_for("n", "-1").sum("n"),
             by_value = df.default_value_for("n", -2).sum("n");
  const auto none = df.alias("m", "n").filter_missing("m").sum("x");
  const double all = total([](const Event& of) { return of.n; });
  EXPECT_EQ(*with, 1000u);
  EXPECT_EQ(*without, 10u);
  EXPECT_EQ(*by_text, all - 10);
  EXPECT_EQ(*by_value, all - 20);
  EXPECT_EQ(*none, 45);
}

TEST_P(DataFrameTest, ArgumentsNameColumnsOfAnyName) {
  for (const std::string name : {"a-b", "1", "1e5", "true", "M_PI", "if", "a:b"}) {
    SCOPED_TRACE(name);
    testing::MemoryFile odd, copy;
    auto model = Model::create();
    const auto a = model->make_field<float>("a"), b = model->make_field<float>("b"),
               other = model->make_field<float>(name), entry = model->make_field<float>("rdfentry_");
    auto writer = Writer::recreate(std::move(model), "Events", odd.uri());
    *a = 10, *b = 3, *other = 99, *entry = 7;
    writer->fill();
    writer->close();
    const DataFrame df("Events", odd.uri(), {.threads = GetParam()});
    EXPECT_EQ(df.sum(name).value(), 99);
    EXPECT_EQ(df.take<float>(name).value()[0], 99);
    EXPECT_EQ(df.define("y", [](float x) { return x; }, {name}).sum("y").value(), 99);
    EXPECT_EQ(df.column_type(name), "float");
    float seen = 0;
    df.foreach ([&](float x) { seen = x; }, {name});
    EXPECT_EQ(seen, 99);
    EXPECT_THAT(df.cache().column_names(), ElementsAre("a", "b", name));
    EXPECT_EQ(df.snapshot("Events", copy.uri()).sum(name).value(), 99);
    EXPECT_EQ(df.sum("rdfentry_").value(), 0);
    EXPECT_EQ(df.sum("`rdfentry_`").value(), 7);
    EXPECT_EQ(df.alias("own", "rdfentry_").sum("own").value(), 7);
  }
}

// ---- Results

TEST_P(DataFrameTest, Numbers) {
  const auto df = frame();
  const auto sum = df.sum("x"), min = df.min("x + 1"), max = df.max("v"), mean = df.mean("x"),
             stddev = df.stddev("x");
  const auto whole = df.sum<std::int64_t>("n");
  const auto stats = df.stats("x", "n");
  EXPECT_FALSE(sum.is_ready());
  EXPECT_EQ(*sum, 0.5 * 999 * 500);
  EXPECT_TRUE(stats.is_ready());
  EXPECT_EQ(*min, 1);
  EXPECT_EQ(*max, 999.0f / 8 + 3);
  EXPECT_EQ(*mean, 0.5 * 999 / 2);
  EXPECT_NEAR(*stddev, 0.5 * std::sqrt(1000.0 * 1001 / 12), 1e-9);
  EXPECT_EQ(*whole, 2000);
  EXPECT_EQ(stats->sum_of_weights, 2000);
  EXPECT_EQ(df.passes(), 1u);
}

TEST_P(DataFrameTest, ANumberThatAnIntegerCannotHoldIsAnError) {
  const auto df = frame(), nothing = df.filter("x < 0");
  const auto least = nothing.min<std::int64_t>("n"), large = df.max<std::int64_t>("x * 1e300");
  const auto greatest = df.max<std::int64_t>("~0ull");
  const auto negative = df.sum<std::uint64_t>("n - 10"), beyond = df.sum<std::uint64_t>("-1 - x");
  EXPECT_EQ(error_of([&] { least.value(); }).problem(), "the result is nan, which std::int64_t cannot hold");
  for (const auto& signed_one : {least, large, greatest})
    EXPECT_EQ(error_of([&] { signed_one.value(); }).kind(), ErrorKind::conversion);
  for (const auto& unsigned_one : {negative, beyond})
    EXPECT_EQ(error_of([&] { unsigned_one.value(); }).kind(), ErrorKind::conversion);
  EXPECT_EQ(*df.max<std::int64_t>("v"), static_cast<std::int64_t>(999.0f / 8 + 3));
  EXPECT_EQ(*df.min<std::int64_t>("-0x1p63"), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(*df.min<std::uint64_t>("-0.5"), 0u);
  EXPECT_EQ(*df.max<std::uint64_t>("~0ull"), ~std::uint64_t{0});
}

TEST_P(DataFrameTest, Histograms) {
  const auto df = frame();
  const auto one = df.histo1d({"h", "title", 10, 0, 400}, "x", "n"),
             edges = df.histo1d({"e", "", {0, 1, 10, 1000}}, "v");
  const auto automatic = df.histo1d("x");
  const auto two = df.histo2d({"h2", "", 4, 0, 500, 5, 0, 5}, "x", "n");
  const auto three = df.histo3d({"h3", "", 4, 0, 500, 5, 0, 5, 2, 0, 2}, "x", "n", "n > 2");
  const auto nd = df.histond({"h4", "", {Axis(4, 0, 500), Axis({0, 2.5, 5}, "n")}}, {"x", "n"});
  const auto profile = df.profile1d({"p", "", 4, 0, 500}, "x", "n"),
             square = df.profile2d({"p", "", 4, 0, 500, 5, 0, 5}, "x", "n", "x", "n");
  const auto points = df.range(3).graph("x", "n"),
             errors = df.range(3).graph_asymm_errors("x", "n", "1", "2", "3", "x");
  std::vector<double> expected(12), squares(12);
  for (const Event& of : events) {
    const auto bin = of.x < 400 ? static_cast<std::size_t>(of.x / 40) + 1 : 11;
    expected[bin] += of.n;
    squares[bin] += of.n * of.n;
  }
  EXPECT_EQ(one->values, expected);
  EXPECT_EQ(one->variances, squares);
  EXPECT_EQ(one->name, "h");
  EXPECT_EQ(one->title, "title");
  EXPECT_EQ(edges->axes[0].edges, (std::vector<double>{0, 1, 10, 1000}));
  EXPECT_EQ(std::accumulate(edges->values.begin(), edges->values.end(), 0.0), 2000);
  EXPECT_EQ(automatic->entries, 1000u);
  EXPECT_EQ(two->values.size(), 6u * 7u);
  EXPECT_EQ(two->values[1 + 6 * 1], 50);
  EXPECT_EQ(three->values.size(), 6u * 7u * 4u);
  EXPECT_EQ(nd->values.size(), 6u * 4u);
  EXPECT_EQ(nd->axes[1].name, "n");
  EXPECT_EQ(profile->sum_wy[1] / profile->sum_w[1], 2);
  EXPECT_EQ(square->sum_w.size(), 6u * 7u);
  EXPECT_THAT(points->x, ElementsAre(0, 0.5, 1));
  EXPECT_THAT(points->y, ElementsAre(0, 1, 2));
  EXPECT_THAT(errors->errors[3], ElementsAre(0, 0.5, 1));
  EXPECT_EQ(df.passes(), 1u);
}

TEST_P(DataFrameTest, DisplayAndTake) {
  const auto df = frame();
  const auto display = df.display({"n", "v", "s"}, 3), all = df.display();
  const auto taken = df.filter("n == 4").take<Hit>("best");
  EXPECT_EQ(display->as_string(),
            "n             v     s\n"
            "0            {}  \"s0\"\n"
            "1       {0.125}  \"s1\"\n"
            "2  {0.25, 1.25}  \"s2\"\n");
  EXPECT_THAT(all->columns, ElementsAre("x", "n", "v", "s", "hits", "best", "color"));
  EXPECT_EQ(all->rows.size(), 5u);
  EXPECT_EQ(taken->size(), 200u);
  EXPECT_EQ((*taken)[1].id, -9);
}

struct Largest {
  std::size_t calls = 0;
  double value = 0;
  void fill(double x, const std::vector<float>& v) {
    ++calls;
    for (const float item : v) value = std::max(value, x * item);
  }
  void merge(const Largest& later) {
    calls += later.calls;
    value = std::max(value, later.value);
  }
};

TEST_P(DataFrameTest, ResultsOfOnesOwn) {
  const auto df = frame();
  const auto joined =
      df.aggregate<std::string>([](std::string& all, std::string_view s) { all += s; },
                                [](std::string& all, const std::string& later) { all += later; }, "s");
  const auto sum = df.aggregate<double>([](double all, double x) { return all + x; },
                                        [](double all, double later) { return all + later; }, "x");
  const auto last = df.filter("n == 1").reduce([](double a, double b) { return b == 0 ? a : b; }, "x + 1");
  const auto largest = df.fill<double, std::vector<float>>(Largest(), {"x", "v"});
  std::string expected;
  Largest one;
  for (const Event& of : events) {
    expected += of.s;
    one.fill(of.x, of.v);
  }
  EXPECT_EQ(*joined, expected);
  EXPECT_EQ(*sum, 0.5 * 999 * 500);
  EXPECT_EQ(*last, 0.5 * 996 + 1);  // in entry order
  EXPECT_EQ(largest->calls, 1000u);
  EXPECT_EQ(largest->value, one.value);
  EXPECT_EQ(df.passes(), 1u);
}

// Counts rows: an example of a user-defined accumulator.
class RowCounter final : public Accumulator {
 public:
  std::unique_ptr<Accumulator> empty_copy() const override { return std::make_unique<RowCounter>(); }
  std::unique_ptr<Partial> begin(PartContext&) override { return std::make_unique<PartialCount>(); }
  void merge(std::unique_ptr<Partial> partial) override { rows += static_cast<PartialCount&>(*partial).rows; }
  std::vector<std::byte> save() const override { return {}; }
  void merge_saved(std::span<const std::byte>) override {}
  std::uint64_t rows = 0;

 private:
  struct PartialCount final : Partial {
    void add(const Rows& in, std::span<const ValuesPtr>) override { rows += in.size; }
    std::uint64_t rows = 0;
  };
};

TEST_P(DataFrameTest, BooksAccumulators) {
  const auto result = frame().filter("n > 2").book(std::make_shared<RowCounter>(), {"x"});
  EXPECT_EQ(result->rows, 400u);
}

TEST_P(DataFrameTest, ForeachGoesInOrder) {
  std::vector<double> seen;
  frame().filter("n > 2").foreach (
      [&seen](double x, Floats v) { seen.push_back(x + static_cast<double>(v.size())); }, {"x", "v"});
  std::vector<double> expected;
  for (const Event& of : events)
    if (of.n > 2) expected.push_back(of.x + of.n);
  EXPECT_EQ(seen, expected);
  std::vector<double> sums(GetParam());
  frame().foreach_slot([&sums](unsigned slot, double x) { sums[slot] += x; }, {"x"});
  EXPECT_EQ(std::accumulate(sums.begin(), sums.end(), 0.0), total([](const Event& of) { return of.x; }));
}

TEST_P(DataFrameTest, AFunctionThatThrowsLeavesTheFrameUsable) {
  const auto df = frame();
  const auto count = df.count();
  EXPECT_ANY_THROW(df.foreach (
      [](double x) {
        if (x == 100) throw std::runtime_error("hundred");
      },
      {"x"}));
  {
    const auto bad = df.define("y",
                               [](double x) -> double {
                                 if (x == 300) throw std::runtime_error("y");
                                 return x;
                               },
                               {"x"})
                         .sum("y");
    const auto other = df.sum("n");
    EXPECT_ANY_THROW(*bad);
    EXPECT_EQ(*count, 1000u);  // results that do not need the function are computed without it
    EXPECT_TRUE(other.is_ready());
    EXPECT_ANY_THROW(*bad);
  }
}

// ---- Snapshots and caches

TEST_P(DataFrameTest, Snapshots) {
  testing::MemoryFile copy;
  const auto df = frame().define("y", [](double x) { return 2 * x; }, {"x"}).filter("n == 3");
  const DataFrame written =
      df.snapshot("Copy", copy.uri(), {"y", "v", "s", "best.id", "hits"}, {.compression = "lz4"});
  EXPECT_THAT(written.column_names(),
              ElementsAre("y", "v", "s", "best_id", "hits", "hits.energy", "hits.id"));
  const auto y = written.take<double>("y");
  const auto v = written.take<std::vector<float>>("v");
  const auto hits = written.take<std::vector<Hit>>("hits");
  ASSERT_EQ(y->size(), 200u);
  for (std::size_t i = 0; i < 200; ++i) {
    const Event& of = events[5 * i + 3];
    EXPECT_EQ((*y)[i], 2 * of.x);
    EXPECT_EQ((*v)[i], of.v);
    EXPECT_EQ((*hits)[i].back().id, of.hits.back().id);
  }
  testing::MemoryFile later;
  const auto booked = df.snapshot_later("All", later.uri());
  const auto count = df.count();
  EXPECT_EQ(*count, 200u);
  EXPECT_TRUE(booked.is_ready());
  EXPECT_EQ(booked->entries, 200u);
  EXPECT_EQ(*DataFrame("All", later.uri()).sum("n"), 600);
}

TEST_P(DataFrameTest, SnapshotsIntoOneFile) {
  const testing::MemoryFile file;
  const auto few = frame().filter("n == 3");
  few.snapshot("Few", file.uri(), {"x"}, {}, WriteMode::create);
  frame().snapshot("All", file.uri(), {"n"}, {}, WriteMode::update);
  EXPECT_EQ(*DataFrame("Few", file.uri()).count(), 200u);
  EXPECT_EQ(*DataFrame("All", file.uri()).count(), 1000u);
  for (const WriteMode mode : {WriteMode::create, WriteMode::update}) {
    const Error error = error_of([&] { few.snapshot("All", file.uri(), {"x"}, {}, mode); });
    EXPECT_EQ(error.kind(), ErrorKind::usage) << error.what();
  }
  few.snapshot("Other", file.uri(), {"x"});
  EXPECT_ANY_THROW(DataFrame("All", file.uri()));
}

// What `uri` says about the class of the cells.
std::vector<format::ClassInfo> infos_of_cells(const std::string& uri) {
  return container::open_container(uri)->class_infos(
      [](const std::string& name) { return name.starts_with("tower::Cell"); });
}

// That of ROOT::RNTuple, under another name of the same length.
format::ClassInfo info_of_cells() {
  Bytes list = format::write_streamer_infos(0);
  const ByteSpan known = as_bytes(std::string_view("ROOT::RNTuple"));
  const auto at = std::search(list.begin(), list.end(), known.begin(), known.end());
  std::copy_n(as_bytes(std::string_view("tower::Cell<>")).begin(), known.size(), at);
  return format::read_class_infos(list, 0, [](const std::string&) { return true; }).at(0);
}

TEST_P(DataFrameTest, SnapshotsKeepWhatFilesSayAboutClasses) {
  const testing::MemoryFile with;
  {
    const dataset::WithClassInfos scope({info_of_cells()});
    auto model = Model::create();
    auto x = model->make_field<double>("x");
    auto cells = model->make_field<std::vector<tower::Cell>>("cells");
    auto writer = Writer::recreate(std::move(model), "Events", with.uri());
    for (const Event& event : events) {
      *x = event.x;
      cells->assign(2, {event.best.energy});
      writer->fill();
    }
    writer->close();
  }
  const DataFrame df("Events", with.uri(), {.threads = GetParam()});
  const DataFrame chain("Events", DataFrame::Names{with.uri(), with.uri()}, {.threads = GetParam()});
  for (const DataFrame& from : {df, chain}) {
    const testing::MemoryFile all, plain;
    from.filter("x > 10").snapshot("Copy", all.uri(), {"x", "cells"});
    const auto infos = infos_of_cells(all.uri());
    ASSERT_EQ(infos.size(), 1u);
    EXPECT_EQ(infos[0].entry, info_of_cells().entry);
    from.define("y", "cells.energy").snapshot("Copy", plain.uri(), {"x", "y"});
    EXPECT_TRUE(infos_of_cells(plain.uri()).empty());
    // They are added to those of a file that there is.
    from.snapshot("More", plain.uri(), {"cells"}, {}, WriteMode::update);
    EXPECT_EQ(infos_of_cells(plain.uri()).size(), 1u);
  }
}

TEST_P(DataFrameTest, CachesInMemory) {
  const auto df = frame().define("y", "x * 2").filter("n == 3");
  const auto cached = df.cache({"y", "v", "s", "hits"});
  EXPECT_EQ(df.passes(), 1u);
  const auto y = cached.sum("y"), energy = cached.sum("hits.energy");
  const auto s = cached.take<std::string>("s");
  EXPECT_EQ(*y, total([](const Event& of) { return of.n == 3 ? 2 * of.x : 0; }));
  EXPECT_EQ(*energy, 200 * (0 + 1.5 + 3));
  EXPECT_EQ(s->at(1), "s1");
  EXPECT_EQ(df.passes(), 1u);
}

// ---- Variations

TEST_P(DataFrameTest, Variations) {
  const auto df =
      frame()
          .vary("x", "{x * 0.5, x * 2}", {"down", "up"})
          .vary(
              "n", [](int n) { return std::vector<int>{n - 1, n + 1}; }, {"n"}, {"down", "up"}, "count")
          .vary({"v", "best.energy"}, "{{v * 2, v * 3}, {0, 1}}", {"a", "b"}, "both");
  const auto cut = df.filter("x > 100", "x");
  const auto sums = variations_for(cut.sum("n"));
  const auto histograms = variations_for(cut.histo1d({"h", "", 10, 0, 130}, "v"));
  const auto reports = variations_for(cut.report());
  const auto taken = variations_for(cut.take<float>("best.energy"));
  EXPECT_THAT(sums.keys(), ElementsAre("nominal", "x:down", "x:up", "count:down", "count:up"));
  EXPECT_THAT(histograms.keys(), ElementsAre("nominal", "x:down", "x:up", "both:a", "both:b"));
  const auto expected = [&](double factor, int shift) {
    return total([&](const Event& of) { return of.x * factor > 100 ? of.n + shift : 0; });
  };
  EXPECT_EQ(sums["nominal"], expected(1, 0));
  EXPECT_EQ(sums["x:down"], expected(0.5, 0));
  EXPECT_EQ(sums["x:up"], expected(2, 0));
  EXPECT_EQ(sums["count:down"], expected(1, -1));
  EXPECT_EQ(sums["count:up"], expected(1, 1));
  EXPECT_EQ(reports["x:up"]["x"].passed, 899u);
  EXPECT_EQ(taken["both:b"].front(), 1);
  EXPECT_GT(histograms["both:b"].values.back(), histograms["nominal"].values.back());
  EXPECT_THAT(df.variation_names(),
              ElementsAre("nominal", "x:down", "x:up", "count:down", "count:up", "both:a", "both:b"));
  EXPECT_EQ(error_of([&] { sums["x:left"]; }).kind(), ErrorKind::not_found);
  EXPECT_EQ(df.passes(), 1u);
}

// ---- The frame itself

TEST_P(DataFrameTest, SeveralGraphsTogether) {
  const DataFrame a = frame(), b(50);
  const auto first = a.count();
  const auto second = b.define("x", "rdfentry_").sum("x");
  run_graphs({first, second});
  EXPECT_TRUE(first.is_ready());
  EXPECT_EQ(*second, 1225);
  EXPECT_EQ(a.passes(), 1u);
  EXPECT_EQ(b.passes(), 1u);
}

TEST_P(DataFrameTest, EntriesOfARange) {
  const DataFrame df("Events", file.uri(), {.threads = GetParam(), .first = 100, .last = 110});
  EXPECT_EQ(*df.count(), 10u);
  EXPECT_EQ(df.take<std::uint64_t>("rdfentry_")->front(), 100u);
}

TEST_P(DataFrameTest, ProgressCancels) {
  int calls = 0;
  const DataFrame df("Events", file.uri(),
                     {.threads = GetParam(), .progress = [&calls](const FrameProgress& progress) {
                        EXPECT_EQ(progress.total, 1000u);
                        return ++calls > 1;
                      }});
  const auto count = df.count();
  EXPECT_EQ(error_of([&] { *count; }).kind(), ErrorKind::usage);
  EXPECT_EQ(*count, 1000u);
}

TEST_P(DataFrameTest, SavesItsGraph) {
  const auto df = frame().define("y", "x");
  EXPECT_THAT(df.save_graph(), HasSubstr("define y"));
  const auto path =
      std::filesystem::temp_directory_path() / ("colonnade_graph_" + std::to_string(::getpid()) + ".dot");
  df.save_graph(path.string());
  std::ifstream in(path);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}), df.save_graph());
  std::filesystem::remove(path);
  EXPECT_EQ(error_of([&] { df.save_graph("/nowhere/graph.dot"); }).kind(), ErrorKind::io);
}

TEST(DataFrames, DrawTheirGraph) {
  const auto path =
      std::filesystem::temp_directory_path() / ("colonnade_graph_" + std::to_string(::getpid()) + ".svg");
  const auto df = DataFrame(10).define("y", "rdfentry_ * 2");
  df.save_graph(path.string());
  std::ifstream in(path);
  const std::string drawn(std::istreambuf_iterator<char>(in), {});
  EXPECT_THAT(drawn, HasSubstr("<svg"));
  EXPECT_THAT(drawn, HasSubstr("define y"));
  std::filesystem::remove(path);
  // Errors of Graphviz are reported, too.
  EXPECT_EQ(error_of([&] { df.save_graph("/nowhere/graph.svg"); }).kind(), ErrorKind::unsupported);
}

TEST(DataFrames, WhatNobodyNeedsIsFreed) {
  const DataFrame frame(10);
  const auto held = std::make_shared<double>(3);
  {
    std::optional<Result<double>> sum;
    {
      const DataFrame made = frame.define(
          "y", [held](std::uint64_t entry) { return static_cast<double>(entry) + *held; }, {"rdfentry_"});
      sum = made.filter("y > 5").sum("y");
    }
    EXPECT_GT(held.use_count(), 1);
    EXPECT_EQ(**sum, 6 + 7 + 8 + 9 + 10 + 11 + 12);
  }
  EXPECT_EQ(held.use_count(), 1);
}

TEST(DataFrames, ResultsMayOutliveTheFrame) {
  std::optional<Result<double>> result;
  {
    const DataFrame df(10);
    result = df.define("x", [](std::uint64_t entry) { return static_cast<double>(entry); }, {"rdfentry_"})
                 .sum("x");
  }
  EXPECT_EQ(**result, 45);
}

}  // namespace
}  // namespace colonnade
