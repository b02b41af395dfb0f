// Large graphs: the cost of ten thousand nodes, counted in bound texts instead of time.
#include "frame/graph/names.h"
#include "frame/graph/test_tools.h"

namespace colonnade::frame {
namespace {

constexpr int nodes = 10000;

std::string column(int i) {
  return "c" + std::to_string(i);
}

NodeId chain(Graph& graph, NodeId node) {
  for (int i = 1; i < nodes; ++i) node = graph.define(node, column(i), column(i - 1) + " + 1");
  return node;
}

TEST(LargeGraphs, AChainOfDefinitionsBindsEachOnce) {
  Graph graph(empty_source(10));
  const NodeId last = chain(graph, graph.define(Graph::root, "c0", "rdfentry_ * 1.0"));
  EXPECT_EQ(graph.bindings(), static_cast<std::uint64_t>(nodes));
  const ResultId result = sum(graph, last, column(nodes - 1));
  graph.run();
  EXPECT_EQ(number(graph, result), 45 + 10.0 * (nodes - 1));
  EXPECT_EQ(graph.bindings(), nodes + 1u);
}

TEST(LargeGraphs, AVariationBindsOnlyWhatItChanges) {
  Graph graph(empty_source(10));
  NodeId node = graph.define(Graph::root, "c0", "rdfentry_ * 1.0");
  node = chain(graph, node);
  node = graph.define(node, "d0", "1.0");
  node = graph.vary(node, {"d0"}, "{2, 3}", {"a", "b"}, "s");
  for (int i = 1; i <= 100; ++i)
    node = graph.define(node, "d" + std::to_string(i), "d" + std::to_string(i - 1) + " + c9999");
  const ResultId result = sum(graph, node, "d100");
  graph.vary_result(result);
  const std::uint64_t before = graph.bindings();
  graph.run();
  // Per variation d1 to d100 and the argument of the result; nothing of the chain.
  EXPECT_EQ(graph.bindings() - before, 2u * 101u);
  EXPECT_EQ(number(graph, result, "s:b") - number(graph, result), 20);
  const std::uint64_t after = graph.bindings();
  const ResultId another = sum(graph, node, "d99");
  graph.vary_result(another);
  graph.run();
  EXPECT_EQ(graph.bindings() - after, 3u);  // only the argument
}

TEST(LargeGraphs, AVariationOfTheWholeChainNeedsNoStack) {
  Graph graph(empty_source(10));
  NodeId node = graph.define(Graph::root, "c0", "rdfentry_ * 1.0");
  node = chain(graph, graph.vary(node, {"c0"}, "{c0 * 2, c0 * 3}", {"a", "b"}, "s"));
  const ResultId result = sum(graph, node, column(nodes - 1));
  graph.vary_result(result);
  graph.run();
  EXPECT_EQ(number(graph, result, "s:b"), 3 * 45 + 10.0 * (nodes - 1));
}

TEST(LargeGraphs, AChainOfFilters) {
  Graph graph(empty_source(10));
  NodeId node = graph.define(Graph::root, "x", "rdfentry_ * 1.0");
  for (int i = 0; i < nodes; ++i)
    node = graph.filter(node, "x > -" + std::to_string(i + 1), i % 100 == 0 ? "f" + std::to_string(i) : "");
  const ResultId result = count(graph, node), report = graph.report(node);
  graph.run();
  EXPECT_EQ(number(graph, result), 10);
  EXPECT_EQ(graph.report_value(report).size(), nodes / 100u);
  EXPECT_EQ(graph.bindings(), nodes + 1u);
}

TEST(LargeGraphs, AFanOfResults) {
  Graph graph(empty_source(10));
  const NodeId x = graph.define(Graph::root, "x", "rdfentry_ * 1.0");
  std::vector<ResultId> results;
  for (int i = 0; i < nodes; ++i)
    results.push_back(sum(graph, graph.filter(x, "x > 4"), "x + " + std::to_string(i)));
  graph.run();
  EXPECT_EQ(graph.passes(), 1u);
  EXPECT_EQ(number(graph, results.back()), 5 + 6 + 7 + 8 + 9 + 5.0 * (nodes - 1));
}

// ---- Removed nodes and results

TEST(LargeGraphs, WhatIsDroppedLeavesNothingBehind) {
  Graph graph(empty_source(10));
  const NodeId x = graph.define(Graph::root, "x", "rdfentry_ * 1.0");
  const ResultId kept = sum(graph, graph.filter(x, "x > 4"), "x * 2");
  const GraphCounts before = graph.counts();
  GraphCounts most;
  for (int i = 0; i < nodes; ++i) {
    const std::string text = std::to_string(i);
    const NodeId defined = graph.define(x, "y" + text, "x + " + text);
    const NodeId varied = graph.vary(defined, {"x"}, "{x + " + text + ", 7 * x}", {"a", "b"}, "s");
    const NodeId filtered = graph.filter(varied, "y" + text + " + x < " + text, "cut " + text);
    const ResultId result = sum(graph, filtered, "y" + text);
    if (i % 1000 == 0) {
      graph.vary_result(result);
      graph.run();
    }
    for (const NodeId node : {defined, filtered, varied}) graph.release(node);
    graph.forget(result);
    EXPECT_EQ(colonnade::testing::error_of([&] { graph.hold(filtered); }).kind(), ErrorKind::usage);
    const GraphCounts now = graph.counts();
    most = {std::max(most.nodes, now.nodes), std::max(most.columns, now.columns),
            std::max(most.results, now.results), std::max(most.selections, now.selections),
            std::max(most.expressions, now.expressions)};
  }
  EXPECT_LE(most.nodes, before.nodes);
  EXPECT_LE(most.columns, before.columns);
  EXPECT_LE(most.results, before.results);
  EXPECT_LE(most.selections, before.selections + 20);
  EXPECT_LE(most.expressions, before.expressions + 50);
  graph.run();
  EXPECT_EQ(number(graph, kept), 2 * (5 + 6 + 7 + 8 + 9));
}

TEST(LargeGraphs, QuestionsLeaveLittleBehind) {
  Graph graph(empty_source(10));
  for (int i = 0; i < nodes; ++i) graph.column_type(Graph::root, "rdfentry_ * " + std::to_string(i));
  EXPECT_LT(graph.counts().expressions, 1100u);
}

// The numbers of expressions and selections change in between.
TEST(LargeGraphs, SweepsChangeNoResult) {
  Graph graph(empty_source(100));
  NodeId node = graph.define(Graph::root, "c0", "rdfentry_ * 1.0");
  node = graph.vary(node, {"c0"}, "{c0 + 1, c0 - 1}", {"up", "down"}, "s");
  std::vector<ResultId> sums, reports;
  for (int i = 1; i <= 100; ++i) {
    node = graph.define(node, column(i), column(i - 1) + " + " + std::to_string(i % 3));
    if (i % 10 == 0)
      node = graph.filter(node, column(i) + " > " + std::to_string(i), "f" + std::to_string(i));
    sums.push_back(sum(graph, node, column(i)));
    reports.push_back(graph.report(node));
    if (i % 7 == 0) graph.vary_result(sums.back());
    for (int k = 0; k < 20; ++k) {
      const NodeId gone = graph.filter(node, column(i) + " < " + std::to_string(k));
      const ResultId dropped = sum(graph, gone, "c0 * " + std::to_string(k));
      if (k == 0 && i % 5 == 0) graph.run();
      graph.release(gone);
      graph.forget(dropped);
    }
  }
  graph.run();
  // The same without the removed ones, in one pass.
  Graph plain(empty_source(100));
  node = plain.define(Graph::root, "c0", "rdfentry_ * 1.0");
  node = plain.vary(node, {"c0"}, "{c0 + 1, c0 - 1}", {"up", "down"}, "s");
  std::vector<ResultId> expected;
  for (int i = 1; i <= 100; ++i) {
    node = plain.define(node, column(i), column(i - 1) + " + " + std::to_string(i % 3));
    if (i % 10 == 0)
      node = plain.filter(node, column(i) + " > " + std::to_string(i), "f" + std::to_string(i));
    expected.push_back(sum(plain, node, column(i)));
    if (i % 7 == 0) plain.vary_result(expected.back());
  }
  const ResultId report = plain.report(node);
  plain.run();
  for (std::size_t i = 0; i < sums.size(); ++i) {
    EXPECT_EQ(number(graph, sums[i]), number(plain, expected[i])) << i;
    if ((i + 1) % 7 != 0) continue;
    EXPECT_EQ(number(graph, sums[i], "s:down"), number(plain, expected[i], "s:down")) << i;
  }
  const auto cuts = graph.report_value(reports.back());
  ASSERT_EQ(cuts.size(), 10u);
  for (std::size_t i = 0; i < cuts.size(); ++i)
    EXPECT_EQ(cuts[i].passed, plain.report_value(report)[i].passed) << cuts[i].name;
}

// ---- Names

TEST(NameMap, VersionsDoNotDisturbEachOther) {
  NameMap map;
  std::vector<NameMap> versions;
  for (std::uint32_t name = 0; name < 3000; ++name) versions.push_back(map = map.with(name, name * 2));
  const NameMap other = versions[999].with(5, 77);
  for (std::uint32_t name = 0; name < 3000; ++name) {
    EXPECT_EQ(map.find(name), name * 2);
    EXPECT_EQ(versions[999].find(name), name < 1000 ? std::optional(name * 2) : std::nullopt);
  }
  EXPECT_EQ(other.find(5), 77u);
  EXPECT_EQ(other.columns().size(), 1000u);
  EXPECT_EQ(map.find(4000), std::nullopt);
  EXPECT_EQ(map.find(0xffffffffu), std::nullopt);
  EXPECT_EQ(NameMap().find(0), std::nullopt);
  EXPECT_EQ(NameMap().with(100000, 1).find(100000), 1u);
  EXPECT_EQ(NameMap().with(100000, 1).find(0), std::nullopt);
}

}  // namespace
}  // namespace colonnade::frame
