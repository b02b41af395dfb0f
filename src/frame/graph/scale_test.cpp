// Large graphs: what ten thousand nodes cost, in texts that are bound rather than in time.
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
  EXPECT_EQ(graph.bindings() - after, 3u);  // the argument alone
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
