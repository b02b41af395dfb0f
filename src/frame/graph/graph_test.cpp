// Graphs: errors when booking, scopes of names, variations, reports, failed passes.
#include "frame/graph/graph.h"

#include <cmath>

#include "frame/graph/test_tools.h"

namespace colonnade::frame {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class GraphTest : public ::testing::Test {
 public:
  GraphTest() : x(graph.define(Graph::root, "x", "rdfentry_ * 1.0")) {}
  Graph graph{empty_source(10)};
  NodeId x;
};

// ---- Errors

void expect_error(const std::function<void()>& work, ErrorKind kind, const std::string& part) {
  const Error error = error_of(work);
  EXPECT_EQ(error.kind(), kind) << error.what();
  EXPECT_THAT(error.what(), HasSubstr(part));
}

TEST_F(GraphTest, RefusesNamesThatDoNotFit) {
  expect_error([&] { graph.define(x, "x", "1"); }, ErrorKind::usage,
               "define 'x': there is already a column of that name");
  expect_error([&] { graph.define(x, "a b", "1"); }, ErrorKind::usage, "'a b' is not a valid name");
  expect_error([&] { graph.define(x, "9a", "1"); }, ErrorKind::usage, "'9a' is not a valid name");
  expect_error([&] { graph.define(x, "", "1"); }, ErrorKind::usage, "'' is not a valid name");
  expect_error([&] { graph.define(x, "rdfentry_", "1"); }, ErrorKind::usage, "is reserved");
  expect_error([&] { graph.define(x, "true", "1"); }, ErrorKind::usage, "is reserved");
  expect_error([&] { graph.redefine(x, "xx", "1"); }, ErrorKind::not_found, "did you mean 'x'");
  expect_error([&] { graph.redefine(Graph::root, "x", "1"); }, ErrorKind::not_found, "no column 'x'");
  expect_error([&] { graph.alias(x, "x", "x"); }, ErrorKind::usage, "there is already a column of that name");
  expect_error([&] { graph.alias(x, "y", "z"); }, ErrorKind::not_found, "no column 'z'");
  expect_error([&] { graph.define(x, "y", "x + xy"); }, ErrorKind::not_found, "did you mean 'x'");
  expect_error([&] { graph.define(x, "y", "x +"); }, ErrorKind::usage, "define 'y'");
  expect_error([&] { graph.default_value_for(x, "q", "1"); }, ErrorKind::not_found, "no column 'q'");
  expect_error([&] { graph.filter_available(x, "q"); }, ErrorKind::not_found, "no column 'q'");
  expect_error([&] { graph.define(99, "y", "1"); }, ErrorKind::usage, "none with number 99");
  EXPECT_THAT(graph.column_names(x), ElementsAre("x"));  // unchanged
  EXPECT_NO_THROW(graph.define(x, "y", "x"));
}

TEST_F(GraphTest, RefusesFiltersAndRangesThatMakeNoSense) {
  const NodeId list = graph.define(x, "l", "ROOT::RVecD{x, 2.0}");
  expect_error([&] { graph.filter(list, "l", "cut"); }, ErrorKind::type, "filter 'cut'");
  expect_error([&] { graph.filter(list, "lx > 1"); }, ErrorKind::not_found, "filter: ");
  expect_error([&] { graph.range(x, 5, 4); }, ErrorKind::usage, "range(5, 4, 1) has no entries");
  expect_error([&] { graph.range(x, 0, 5, 0); }, ErrorKind::usage, "range(0, 5, 0) has no entries");
}

TEST_F(GraphTest, RefusesResultsThatDoNotFit) {
  expect_error([&] { graph.book(x, {"sum", {"y"}, "{}"}); }, ErrorKind::not_found, "sum: ");
  EXPECT_THROW(graph.book(x, {"nothing", {"x"}, "{}"}), Error);
  EXPECT_THROW(graph.book(x, {"sum", {}, "{}"}), Error);
  expect_error([&] { graph.value(7); }, ErrorKind::usage, "none with number 7");
  const ResultId result = sum(graph, x, "x");
  expect_error([&] { graph.value(result); }, ErrorKind::usage, "not computed yet");
  graph.run();
  expect_error([&] { graph.value(result, "s:up"); }, ErrorKind::not_found, "no variation 's:up'");
  expect_error([&] { graph.report_value(result); }, ErrorKind::usage, "not a report");
}

TEST_F(GraphTest, RefusesVariationsThatDoNotFit) {
  expect_error([&] { graph.vary(x, {"q"}, "{1, 2}", {"a", "b"}, "s"); }, ErrorKind::not_found, "vary 'q'");
  expect_error([&] { graph.vary(x, {"x"}, "{1, 2}", {}, "s"); }, ErrorKind::usage, "no tags");
  expect_error([&] { graph.vary(x, {"x"}, "{1, 2}", {"a", "a"}, "s"); }, ErrorKind::usage, "given twice");
  expect_error([&] { graph.vary(x, {"x"}, "{1, 2}", {"a:b", "c"}, "s"); }, ErrorKind::usage,
               "'a:b' is not a tag");
  expect_error([&] { graph.vary(x, {"x"}, "{1, 2}", {"a"}, "s:t"); }, ErrorKind::usage,
               "not a valid name for a variation");
  expect_error([&] { graph.vary(x, {"x"}, "{1, 2, 3}", {"a", "b"}, "s"); }, ErrorKind::usage,
               "3 values for 2 tags");
  expect_error([&] { graph.vary(x, {"x"}, "x", {"a", "b"}, "s"); }, ErrorKind::type, "which is not a list");
  const NodeId two = graph.define(x, "y", "x");
  expect_error([&] { graph.vary(two, {"x", "y"}, "{{1, 2}}", {"a", "b"}, "s"); }, ErrorKind::usage,
               "values for 1 columns, not for 2");
  expect_error([&] { graph.vary(two, {"x", "y"}, "{{1, 2}, {1, 2}}", {"a", "b"}, ""); }, ErrorKind::usage,
               "not a valid name for a variation");
  expect_error([&] { graph.vary(two, {"x"}, "{\"a\", \"b\"}", {"a", "b"}, "s"); }, ErrorKind::type,
               "vary 'x'");
  const NodeId varied = graph.vary(x, {"x"}, "{1, 2}", {"a", "b"}, "s");
  expect_error([&] { graph.vary(varied, {"x"}, "{1, 2}", {"a", "b"}, "s"); }, ErrorKind::usage,
               "already depends on the variation s:a");
  EXPECT_THAT(graph.variation_names(x), ElementsAre("nominal"));
  EXPECT_THAT(graph.variation_names(varied), ElementsAre("nominal", "s:a", "s:b"));
}

// ---- Scopes of names

TEST_F(GraphTest, EachNodeSeesWhatIsBeforeIt) {
  const NodeId y = graph.define(x, "y", "x + 1");
  const NodeId twice = graph.redefine(y, "x", "2 * x");
  const NodeId z = graph.define(twice, "z", "x + y");
  const NodeId other = graph.define(x, "y", "100.0");
  const ResultId a = sum(graph, z, "z"), b = sum(graph, y, "x"), c = sum(graph, other, "y"),
                 d = sum(graph, z, "x");
  EXPECT_EQ(graph.passes(), 0u);
  graph.run();
  EXPECT_EQ(number(graph, a), 90 + 55);
  EXPECT_EQ(number(graph, b), 45);
  EXPECT_EQ(number(graph, c), 1000);
  EXPECT_EQ(number(graph, d), 90);
  EXPECT_EQ(graph.passes(), 1u);
  graph.run();
  EXPECT_EQ(graph.passes(), 1u);
  EXPECT_THAT(graph.column_names(z), ElementsAre("x", "y", "z"));
  EXPECT_THAT(graph.defined_column_names(y), ElementsAre("x", "y"));
  EXPECT_FALSE(graph.has_column(x, "y"));
  EXPECT_EQ(graph.column_type(z, "z > 1").name(), "bool");
}

TEST_F(GraphTest, TheSizeOfADefinedListIsAColumn) {
  const NodeId list = graph.define(x, "l", "ROOT::RVecD{x, 2.0}");
  const ResultId size = sum(graph, list, "R_rdf_sizeof_l");
  graph.run();
  EXPECT_EQ(number(graph, size), 20);
}

TEST_F(GraphTest, FiltersAndRangesNarrow) {
  const NodeId odd = graph.filter(x, "x > 2 && rdfentry_ % 2 == 1");
  const ResultId all = sum(graph, odd, "x");                         // 3 5 7 9
  const ResultId some = sum(graph, graph.range(odd, 1, 0, 2), "x");  // 5 9
  const ResultId few = sum(graph, graph.range(odd, 1, 3), "x");      // 5 7
  const ResultId always = count(graph, graph.filter(odd, "true"));
  const ResultId never = count(graph, graph.filter(odd, "1 > 2"));
  const ResultId text = sum(graph, graph.filter(odd, "x > 6 || x < 4"), "x");
  graph.run();
  EXPECT_EQ(number(graph, all), 24);
  EXPECT_EQ(number(graph, some), 14);
  EXPECT_EQ(number(graph, few), 12);
  EXPECT_EQ(number(graph, always), 4);
  EXPECT_EQ(number(graph, never), 0);
  EXPECT_EQ(number(graph, text), 19);
}

TEST(Graphs, AliasesReachMembersAndSizesInTheSource) {
  const MemoryFile file;
  write_events(file.uri(), 0, 8);
  Graph graph(open_chain("Events", std::vector{file.uri()}));
  const NodeId alias = graph.alias(Graph::root, "w", "v");
  const NodeId again = graph.alias(alias, "u", "w");
  const ResultId size = sum(graph, again, "R_rdf_sizeof_u"), items = sum(graph, again, "u");
  const ResultId of_source = sum(graph, again, "R_rdf_sizeof_v");
  graph.run();
  EXPECT_EQ(number(graph, size), 12);
  EXPECT_EQ(number(graph, of_source), 12);
  EXPECT_EQ(number(graph, items), 2 * (0.5 + 2 + 4.5));
  EXPECT_THAT(graph.column_names(again), ElementsAre("x", "n", "v", "w", "u"));
  EXPECT_THAT(graph.describe(again), HasSubstr("alias of w"));
}

TEST(Graphs, AliasesFollowTheirColumns) {
  const MemoryFile file;
  write_events(file.uri(), 0, 3);
  Graph graph(open_chain("Events", std::vector{file.uri()}));
  const NodeId alias = graph.alias(graph.alias(Graph::root, "a", "x"), "b", "a");
  const NodeId doubled = graph.define(alias, "y", "a * 2"), later = graph.redefine(doubled, "x", "b + 100");
  const NodeId varied = graph.vary(later, {"x"}, "{b - 1, a + 1}", {"down", "up"}, "s");
  const ResultId a = sum(graph, varied, "a"), b = sum(graph, varied, "b + 0"), y = sum(graph, varied, "y");
  const ResultId above = sum(graph, alias, "b");
  graph.vary_result(b);
  graph.run();
  EXPECT_EQ(number(graph, a), 303);
  EXPECT_EQ(number(graph, b, "s:down"), 300);
  EXPECT_EQ(number(graph, b, "s:up"), 306);
  EXPECT_EQ(number(graph, y), 6);
  EXPECT_EQ(number(graph, above), 3);
  expect_error([&] { graph.redefine(varied, "b", "1"); }, ErrorKind::usage, "'b' is an alias of 'x'");
  expect_error([&] { graph.vary(varied, {"a"}, "{1, 2}", {"c", "d"}, ""); }, ErrorKind::usage, "is an alias");
}

// ---- Samples

TEST(Graphs, ColumnsThatSomeFilesDoNotHave) {
  const MemoryFile with, without;
  write_events(with.uri(), 0, 5, "extra");
  write_events(without.uri(), 5, 5);
  Graph graph(open_chain("Events", std::vector{with.uri(), without.uri()}));
  const ResultId available = sum(graph, graph.filter_available(Graph::root, "extra"), "extra");
  const ResultId missing = sum(graph, graph.filter_missing(Graph::root, "extra"), "x");
  const ResultId everywhere = count(graph, graph.filter_available(Graph::root, "x"));
  const NodeId fallback = graph.default_value_for(Graph::root, "extra", "-1");
  const ResultId either = sum(graph, fallback, "extra");
  const ResultId text = count(graph, graph.filter(Graph::root, "rdfsampleinfo_.Contains(\"Events\")"));
  graph.run();
  EXPECT_EQ(number(graph, available), 510);
  EXPECT_EQ(number(graph, missing), 5 + 6 + 7 + 8 + 9);
  EXPECT_EQ(number(graph, everywhere), 10);
  EXPECT_EQ(number(graph, either), 505);
  EXPECT_EQ(number(graph, text), 10);
  EXPECT_EQ(graph.column_type(fallback, "extra").name(), "double");
  EXPECT_THAT(graph.filter_names(Graph::root),
              ElementsAre("available: extra", "missing: extra", "available: x",
                          "rdfsampleinfo_.Contains(\"Events\")"));
  // Without a default a pass fails, and the graph stays usable.
  const ResultId wrong = sum(graph, Graph::root, "extra");
  EXPECT_EQ(error_of([&] { graph.run(); }).kind(), ErrorKind::not_found);
  graph.forget(wrong);
  const ResultId more = sum(graph, fallback, "x");
  graph.run();
  EXPECT_EQ(number(graph, more), 45);
}

// ---- Variations. The numbers are ROOT 6.40's for the same graphs.

class VariationTest : public ::testing::Test {
 public:
  VariationTest() {
    NodeId node = graph.define(Graph::root, "x", "1.");
    node = graph.define(node, "y", "10.");
    varied = graph.vary(node, {"x"}, "ROOT::RVecD{2.,3.}", {"a", "b"}, "s");
  }
  std::vector<std::pair<std::string, double>> all_of(NodeId node, const std::string& column) {
    const ResultId result = sum(graph, node, column);
    const auto names = graph.vary_result(result);
    EXPECT_FALSE(graph.is_ready(result));
    graph.run();
    std::vector<std::pair<std::string, double>> values;
    for (const std::string& name : names) values.emplace_back(name, number(graph, result, name));
    return values;
  }
  Graph graph{empty_source(4)};
  NodeId varied = 0;
};

TEST_F(VariationTest, OfOneColumn) {
  EXPECT_THAT(all_of(graph.define(varied, "z", "x+y"), "z"),
              ElementsAre(std::pair("nominal", 44), std::pair("s:a", 48), std::pair("s:b", 52)));
}

TEST_F(VariationTest, OfTwoColumnsUnderOneName) {
  const NodeId both = graph.vary(varied, {"y"}, "ROOT::RVecD{x*100, x*1000}", {"a", "b"}, "s");
  EXPECT_THAT(all_of(graph.define(both, "z", "x+y"), "z"),
              ElementsAre(std::pair("nominal", 44), std::pair("s:a", 408), std::pair("s:b", 4012)));
}

TEST_F(VariationTest, OfOneColumnUnderTwoNamesIsNotMultiplied) {
  const NodeId both = graph.vary(varied, {"x"}, "ROOT::RVecD{x*100, x*1000}", {"a", "b"}, "t");
  EXPECT_THAT(all_of(graph.define(both, "z", "x+y"), "z"),
              ElementsAre(std::pair("nominal", 44), std::pair("s:a", 48), std::pair("s:b", 52),
                          std::pair("t:a", 440), std::pair("t:b", 4040)));
}

TEST_F(VariationTest, WithOtherTagsUnderOneName) {
  const NodeId both = graph.vary(varied, {"y"}, "ROOT::RVecD{x*100, x*1000}", {"c", "d"}, "s");
  EXPECT_THAT(all_of(graph.define(both, "z", "x+y"), "z"),
              ElementsAre(std::pair("nominal", 44), std::pair("s:a", 48), std::pair("s:b", 52),
                          std::pair("s:c", 404), std::pair("s:d", 4004)));
}

TEST_F(VariationTest, OfColumnsTogether) {
  const NodeId both =
      graph.vary(varied, {"x", "y"}, "ROOT::RVec<ROOT::RVecD>{{x*100, x*1000},{y,y*2}}", {"c", "d"}, "q");
  EXPECT_THAT(all_of(graph.define(both, "z", "x+y"), "z"),
              ElementsAre(std::pair("nominal", 44), std::pair("s:a", 48), std::pair("s:b", 52),
                          std::pair("q:c", 440), std::pair("q:d", 4080)));
}

TEST_F(VariationTest, OfFilters) {
  const NodeId cut = graph.filter(varied, "x>2", "cut");
  EXPECT_THAT(all_of(cut, "1"),
              ElementsAre(std::pair("nominal", 0), std::pair("s:a", 0), std::pair("s:b", 4)));
  const ResultId report = graph.report(cut);
  EXPECT_THAT(graph.vary_result(report), ElementsAre("nominal", "s:a", "s:b"));
  graph.run();
  EXPECT_EQ(graph.report_value(report, "s:b")[0].passed, 4u);
  EXPECT_EQ(graph.report_value(report, "s:a")[0].passed, 0u);
  EXPECT_EQ(graph.report_value(report)[0].all, 4u);
}

TEST_F(VariationTest, ThatDoNotReachAResult) {
  EXPECT_THAT(all_of(graph.filter(varied, "y>2"), "y"), ElementsAre(std::pair("nominal", 40)));
}

TEST_F(VariationTest, ByAListAndByACallable) {
  const NodeId list = graph.define(varied, "pair", "ROOT::RVecF{5.f, 6.f}");
  const NodeId by_list = graph.vary(list, {"y"}, "pair", {"a", "b"}, "t");
  EXPECT_THAT(all_of(by_list, "y"),
              ElementsAre(std::pair("nominal", 40), std::pair("t:a", 20), std::pair("t:b", 24)));
  const NodeId wrong = graph.vary(list, {"y"}, "pair", {"a", "b", "c"}, "u");
  const ResultId result = sum(graph, wrong, "y");
  graph.vary_result(result);
  EXPECT_THAT(error_of([&] { graph.run(); }).what(), HasSubstr("have 2 items in entry 0"));
}

TEST_F(VariationTest, RedefinitionsFollowThem) {
  EXPECT_THAT(all_of(graph.redefine(varied, "x", "x + 1"), "x"),
              ElementsAre(std::pair("nominal", 8), std::pair("s:a", 12), std::pair("s:b", 16)));
}

TEST_F(VariationTest, AreConvertedToTheTypeOfTheColumn) {
  const NodeId f = graph.define(varied, "f", "1.f");
  const NodeId node = graph.vary(f, {"f"}, "{f * 1.5, 2}", {"a", "b"}, "");
  EXPECT_EQ(graph.column_type(node, "f").name(), "float");
  EXPECT_THAT(all_of(node, "f"),
              ElementsAre(std::pair("nominal", 4), std::pair("f:a", 6), std::pair("f:b", 8)));
}

TEST_F(VariationTest, AskedForAfterTheNominalValueNeedAnotherPass) {
  const ResultId result = sum(graph, varied, "x");
  graph.run();
  EXPECT_EQ(number(graph, result), 4);
  graph.vary_result(result);
  EXPECT_FALSE(graph.is_ready(result));
  EXPECT_EQ(number(graph, result), 4);
  graph.run();
  EXPECT_EQ(number(graph, result, "s:b"), 12);
  EXPECT_EQ(graph.passes(), 2u);
}

// ---- Snapshots

// An exception of Python may keep the graph.
TEST(SnapshotGraph, AFailedPassLetsGoOfWhatItWrites) {
  const std::string uri = "memory+obj:failed-snapshot";
  Graph graph(empty_source(1'000'000));
  const NodeId x = graph.define(Graph::root, "x",
                                one_number(
                                    [](double value) {
                                      if (value == 900'000) throw std::runtime_error("no");
                                      return value;
                                    },
                                    "rdfentry_ * 1.0"));
  graph.book(x, {"snapshot", {"x"}, R"({"name": "t", "uri": ")" + uri + "\"}"});
  EXPECT_THROW(graph.run(), std::exception);
  auto model = Model::create();
  model->make_field<float>("y");
  EXPECT_NO_THROW(Writer::recreate(std::move(model), "t", uri)->close());
}

// ---- Snapshots with variations

class VariedSnapshotTest : public ::testing::Test {
 public:
  // The columns of the snapshot, each as a sum over the entries.
  std::vector<std::pair<std::string, double>> columns_of(const MemoryFile& file) {
    Graph written(open_chain("t", std::vector{file.uri()}));
    std::vector<ResultId> sums;
    for (const std::string& name : written.column_names(Graph::root))
      sums.push_back(sum(written, Graph::root, name));
    written.run();
    std::vector<std::pair<std::string, double>> columns;
    for (std::size_t i = 0; i < sums.size(); ++i)
      columns.emplace_back(written.column_names(Graph::root)[i], number(written, sums[i]));
    return columns;
  }
  ResultId snapshot(NodeId node, const MemoryFile& file, std::vector<std::string> columns) {
    return graph.book(node,
                      {"snapshot", std::move(columns), R"({"name": "t", "uri": ")" + file.uri() + "\"}"});
  }
  Graph graph{empty_source(6)};
  NodeId x = graph.define(Graph::root, "x", "(double)rdfentry_");
  NodeId y = graph.define(x, "y", "10. * x");
  NodeId varied = graph.vary(y, {"x"}, "{x - 2, x + 2}", {"down", "up"}, "xVar");
  NodeId z = graph.define(varied, "z", "x + 1");
};

TEST_F(VariedSnapshotTest, HoldsTheColumnsOfAllVariations) {
  const MemoryFile file;
  const ResultId result = snapshot(z, file, {"x", "y", "z"});
  EXPECT_THAT(graph.vary_result(result), ElementsAre("nominal", "xVar:down", "xVar:up"));
  graph.run();
  EXPECT_TRUE(graph.is_ready(result));
  EXPECT_EQ(std::get<SnapshotValue>(graph.value(result, "xVar:up")).entries, 6u);
  EXPECT_THAT(columns_of(file),
              ElementsAre(std::pair("x", 15), std::pair("x__xVar_down", 3), std::pair("x__xVar_up", 27),
                          std::pair("y", 150), std::pair("z", 21), std::pair("z__xVar_down", 9),
                          std::pair("z__xVar_up", 33)));
}

TEST_F(VariedSnapshotTest, HoldsTheEntriesThatAnyVariationPasses) {
  const MemoryFile file;
  // Entries 2 to 5 as in ROOT, with x + 2 > 3; the nominal x passes for 4 and 5, x - 2 never.
  const ResultId result = snapshot(graph.filter(graph.filter(z, "y > 0"), "x > 3"), file, {"x", "y", "z"});
  graph.vary_result(result);
  graph.run();
  EXPECT_EQ(std::get<SnapshotValue>(graph.value(result)).entries, 4u);
  EXPECT_THAT(
      columns_of(file),
      ElementsAre(std::pair("x", 9), std::pair("x__xVar_down", 0), std::pair("x__xVar_up", 4 + 5 + 6 + 7),
                  std::pair("y", 140), std::pair("z", 11), std::pair("z__xVar_down", 0),
                  std::pair("z__xVar_up", 26), std::pair("passed__nominal", 2),
                  std::pair("passed__xVar_down", 0), std::pair("passed__xVar_up", 4)));
}

TEST_F(VariedSnapshotTest, HoldsNominalValuesForVariationsOfOtherColumns) {
  const MemoryFile file;
  const NodeId both = graph.vary(z, {"y"}, "{y * 2}", {"up"}, "yVar");
  graph.vary_result(snapshot(graph.filter(both, "x > 3"), file, {"x", "y"}));
  graph.run();
  // x + 2 > 3 for entries 2 to 5, where y is 20 to 50.
  EXPECT_THAT(columns_of(file),
              ElementsAre(std::pair("x", 9), std::pair("x__xVar_down", 0), std::pair("x__xVar_up", 22),
                          std::pair("y", 140), std::pair("y__yVar_up", 180), std::pair("passed__nominal", 2),
                          std::pair("passed__xVar_down", 0), std::pair("passed__xVar_up", 4),
                          std::pair("passed__yVar_up", 2)));
}

TEST_F(VariedSnapshotTest, WritesNothingWhereAVariationHasNoValue) {
  const MemoryFile file;
  NodeId node = graph.define(varied, "l", "Range((int)(x > 0 ? x : 0.))");
  node = graph.filter(node, "l.size() > 2");
  node = graph.define(node, "third", "l[2]");
  const ResultId result = snapshot(node, file, {"l", "third"});
  graph.vary_result(result);
  graph.run();
  EXPECT_THAT(columns_of(file),
              ElementsAre(std::pair("l", 3 + 6 + 10), std::pair("l__xVar_down", 3),
                          std::pair("l__xVar_up", 3 + 6 + 10 + 15 + 21), std::pair("third", 6),
                          std::pair("third__xVar_down", 2), std::pair("third__xVar_up", 10),
                          std::pair("passed__nominal", 3), std::pair("passed__xVar_down", 1),
                          std::pair("passed__xVar_up", 5)));
}

TEST_F(VariedSnapshotTest, SaysWhatItCannotDo) {
  const MemoryFile file;
  const ResultId late = snapshot(z, file, {"x"});
  graph.run();
  expect_error([&] { graph.vary_result(late); }, ErrorKind::usage, "written already");
  const MemoryFile other;
  const ResultId ranged = snapshot(graph.range(graph.filter(z, "x > 3"), 0, 2), other, {"x"});
  expect_error([&] { graph.vary_result(ranged); }, ErrorKind::unsupported, "follow a range");
}

// ---- Reports

TEST_F(GraphTest, ReportsCountNamedFilters) {
  NodeId node = graph.filter(x, "x>2 && x<100", "first");
  node = graph.filter(node, "x<9");
  node = graph.filter(node, "x>5 && x<8", "second");
  const NodeId aside = graph.filter(x, "x>8", "aside");
  const ResultId report = graph.report(node), whole = graph.report(Graph::root), none = graph.report(x);
  graph.run();
  const auto filters = graph.report_value(report);
  ASSERT_EQ(filters.size(), 2u);
  EXPECT_EQ(filters[0].name, "first");
  EXPECT_EQ(filters[0].all, 10u);
  EXPECT_EQ(filters[0].passed, 7u);
  EXPECT_EQ(filters[1].name, "second");
  EXPECT_EQ(filters[1].all, 6u);
  EXPECT_EQ(filters[1].passed, 2u);
  EXPECT_EQ(graph.report_value(whole).size(), 3u);
  EXPECT_EQ(graph.report_value(whole)[2].passed, 1u);
  EXPECT_TRUE(graph.report_value(none).empty());
  EXPECT_THAT(graph.filter_names(node), ElementsAre("first", "x<9", "second"));
  EXPECT_THAT(graph.filter_names(aside), ElementsAre("aside"));
  EXPECT_THAT(graph.filter_names(Graph::root), ElementsAre("first", "x<9", "second", "aside"));
}

// ---- Passes

TEST_F(GraphTest, AFailedPassLeavesTheGraphUsable) {
  bool fails = true;
  const NodeId y = graph.define(x, "y",
                                one_number(
                                    [&fails](double value) {
                                      if (fails && value == 7) throw std::runtime_error("seven");
                                      return value + 1;
                                    },
                                    "x"));
  const ResultId result = sum(graph, y, "y"), counted = count(graph, x), report = graph.report(y);
  EXPECT_THROW(graph.run(), std::exception);
  EXPECT_FALSE(graph.is_ready(result));
  EXPECT_FALSE(graph.is_ready(report));
  // The next pass computes everything that does not need the function, and skips the failed
  // result.
  graph.run();
  EXPECT_EQ(number(graph, counted), 10);
  EXPECT_TRUE(graph.is_ready(report));
  EXPECT_FALSE(graph.is_ready(result));
  graph.run();
  EXPECT_EQ(graph.passes(), 2u);
  fails = false;
  graph.retry(result);
  graph.run();
  EXPECT_EQ(number(graph, result), 55);
  EXPECT_EQ(graph.passes(), 3u);
}

TEST_F(GraphTest, ACancelledPassLeavesTheGraphUsable) {
  const ResultId result = sum(graph, x, "x");
  RunOptions options;
  options.progress = [](const PassProgress&) { return false; };
  EXPECT_EQ(error_of([&] { graph.run(options); }).kind(), ErrorKind::usage);
  EXPECT_FALSE(graph.is_ready(result));
  graph.run();
  EXPECT_EQ(number(graph, result), 45);
}

TEST_F(GraphTest, SeveralGraphsShareAPass) {
  Graph other(empty_source(100));
  const ResultId a = sum(graph, x, "x"), b = sum(other, Graph::root, "rdfentry_");
  Graph idle(empty_source(5));
  Graph* const all[] = {&graph, &other, &idle, &graph};
  EXPECT_EQ(Graph::run(all).progress.entries, 110u);
  EXPECT_EQ(number(graph, a), 45);
  EXPECT_EQ(number(other, b), 4950);
  EXPECT_EQ(graph.passes(), 1u);
  EXPECT_EQ(idle.passes(), 0u);
}

TEST_F(GraphTest, ForgottenResultsAreNotComputed) {
  const ResultId result = sum(graph, x, "x");
  graph.forget(result);
  EXPECT_TRUE(graph.forget(result).empty());  // again
  graph.run();
  EXPECT_EQ(graph.passes(), 0u);
  expect_error([&] { graph.value(result); }, ErrorKind::usage, "none with number 0");
}

TEST_F(GraphTest, EntriesCanBeRestricted) {
  graph.restrict_entries(2, 5);
  const ResultId result = sum(graph, x, "x");
  graph.run();
  EXPECT_EQ(number(graph, result), 9);
  expect_error([&] { graph.restrict_entries(5, 2); }, ErrorKind::usage, "from 5 to 2");
  EXPECT_THAT(graph.describe(x), HasSubstr("entries from 2 to 5 only"));
}

// ---- As text

TEST_F(GraphTest, DescribesColumns) {
  const NodeId y = graph.filter(graph.define(x, "y", "sqrt(x)"), "y > 1");
  const std::string text = graph.describe(graph.vary(y, {"y"}, "{1, 2}", {"a", "b"}, "s"));
  EXPECT_THAT(text, HasSubstr("10 entries"));
  EXPECT_THAT(text, HasSubstr("x       double  define rdfentry_ * 1.0"));
  EXPECT_THAT(text, HasSubstr("y       double  vary s:{a, b}"));
  EXPECT_THAT(text, HasSubstr("Variations                s:a, s:b"));
}

TEST_F(GraphTest, DrawsItself) {
  const NodeId cut = graph.filter(x, "x > 1 && \"a\" == \"a\"", "the \"cut\"");
  sum(graph, cut, "x");
  EXPECT_EQ(
      graph.dot(),
      "digraph {\n"
      "  n0 [label=\"source\\nentries: 10\", style=filled, fillcolor=\"#f4b400\", shape=ellipse];\n"
      "  n1 [label=\"define x\\nrdfentry_ * 1.0\", style=filled, fillcolor=\"#4285f4\", shape=ellipse];\n"
      "  n0 -> n1;\n"
      "  n2 [label=\"the \\\"cut\\\"\\nx > 1 && \\\"a\\\" == \\\"a\\\"\", style=filled, "
      "fillcolor=\"#0f9d58\", "
      "shape=hexagon];\n"
      "  n1 -> n2;\n"
      "  r0 [label=\"sum\\nx\", style=filled, fillcolor=\"#e47c7e\", shape=box];\n"
      "  n2 -> r0;\n"
      "}\n");
}

TEST_F(GraphTest, DrawsTheWayToANode) {
  const NodeId cut = graph.filter(x, "x > 1", "one"), other = graph.filter(x, "x > 2", "two");
  const ResultId result = sum(graph, cut, "x");
  sum(graph, other, "x");
  const std::string of_node = graph.dot_above(cut), of_result = graph.dot_above_result(result);
  EXPECT_THAT(of_node, HasSubstr("  n0 -> n1;\n"));
  EXPECT_THAT(of_node, HasSubstr("  n1 -> n2;\n}"));
  EXPECT_THAT(of_result, HasSubstr("  n2 -> r0;\n}"));
  for (const std::string& text : {of_node, of_result}) EXPECT_THAT(text, Not(HasSubstr("two")));
  EXPECT_THAT(of_node, Not(HasSubstr("r0")));
}

TEST_F(GraphTest, ARangeMayBeEmpty) {
  const ResultId none = sum(graph, graph.range(x, 5, 5), "x");
  const ResultId behind_filter = sum(graph, graph.range(graph.filter(x, "x > 1"), 2, 2, 3), "x");
  graph.run();
  EXPECT_EQ(number(graph, none), 0);
  EXPECT_EQ(number(graph, behind_filter), 0);
}

TEST_F(GraphTest, TheSizeOfAListMayBeAColumn) {
  const NodeId size = graph.define(x, "R_rdf_sizeof_l", "7");
  const ResultId result = sum(graph, graph.filter(size, "#l == 7"), "#l");
  graph.run();
  EXPECT_EQ(number(graph, result), 70);
  expect_error([&] { graph.filter(size, "#k == 7"); }, ErrorKind::not_found, "no column '#k'");
}

TEST_F(GraphTest, SpecialVariablesHaveNoVariations) {
  expect_error([&] { graph.vary(x, {"rdfentry_"}, Definition("{1, 2}"), {"a", "b"}, "v"); }, ErrorKind::usage,
               "'rdfentry_' has no variations");
}

}  // namespace
}  // namespace colonnade::frame
