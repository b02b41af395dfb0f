// The costs of a pass, by column, node and result.
#include <cmath>

#include "frame/graph/test_tools.h"

namespace colonnade::frame {
namespace {

class CostsTest : public ::testing::Test {
 public:
  CostsTest() {
    write_events(file.uri(), 0, 1200);
    graph = std::make_unique<Graph>(open_chain("Events", std::vector{file.uri()}));
  }
  const PassCost& cost(std::string_view what, std::string_view name, std::string_view text = {}) const {
    static const PassCost none{};
    for (const PassCost& each : graph->last_costs())
      if (each.what == what && each.name == name && (text.empty() || each.text == text)) return each;
    ADD_FAILURE() << "nothing was said of " << what << ' ' << name << ' ' << text;
    return none;
  }
  MemoryFile file;
  std::unique_ptr<Graph> graph;
};

TEST_F(CostsTest, NothingIsSaidBeforeTheFirstPass) {
  EXPECT_TRUE(graph->last_costs().empty());
}

TEST_F(CostsTest, RowsAreThoseForWhichSomethingWasComputed) {
  // Functions that may throw are computed only for the rows that reach them.
  const NodeId passed = graph->filter(Graph::root, "n == 3", "three");
  const NodeId first = graph->define(passed, "first", "v[2]");
  const NodeId unused = graph->define(first, "unused", "x * 3");
  const ResultId total = sum(*graph, unused, "first");
  const ResultId all = count(*graph, Graph::root);
  graph->run();
  EXPECT_EQ(number(*graph, total), 300 * 2.5);
  EXPECT_EQ(number(*graph, all), 1200);
  EXPECT_EQ(cost("read", "n").rows, 1200u);
  EXPECT_EQ(cost("read", "n").bytes, 1200 * sizeof(std::int32_t));
  EXPECT_EQ(cost("read", "v").rows, 300u);
  EXPECT_EQ(cost("read", "v").bytes, 300 * (sizeof(std::int64_t) + 3 * sizeof(float)));
  EXPECT_EQ(cost("filter", "three").rows, 1200u);
  EXPECT_EQ(cost("filter", "three").rows_left, 300u);
  EXPECT_EQ(cost("define", "first", "v[2]").rows, 300u);
  EXPECT_EQ(cost("sum", "").rows, 300u);
  EXPECT_EQ(cost("count", "").rows, 1200u);
  double seconds = 0;
  for (const PassCost& each : graph->last_costs()) {
    EXPECT_NE(each.name, "unused");
    EXPECT_NE(each.name, "x");
    EXPECT_GE(each.seconds, 0);
    seconds += each.seconds;
  }
  EXPECT_GT(seconds, 0);
}

TEST_F(CostsTest, FiltersThatAreNarrowedTogetherSayHowManyAreLeftAtTheEnd) {
  const NodeId half = graph->filter(Graph::root, "x < 600");
  const ResultId left = count(*graph, graph->filter(half, "n == 1"));
  graph->run();
  EXPECT_EQ(number(*graph, left), 150);
  EXPECT_EQ(cost("filter", "", "x < 600").rows, 1200u);
  EXPECT_EQ(cost("filter", "", "x < 600").rows_left, std::nullopt);
  EXPECT_EQ(cost("filter", "", "n == 1").rows_left, 150u);
  EXPECT_EQ(cost("read", "x").rows, 1200u);
}

TEST_F(CostsTest, WhatIsSharedBelongsToTheFirst) {
  const NodeId a = graph->define(Graph::root, "a", "sqrt(x + 1)");
  const NodeId b = graph->define(a, "b", "sqrt(x + 1)");
  const ResultId total = sum(*graph, b, "b");
  const NodeId range = graph->range(b, 0, 100, 2);
  const ResultId some = count(*graph, range);
  graph->run();
  EXPECT_EQ(number(*graph, some), 50);
  EXPECT_GT(number(*graph, total), 0);
  EXPECT_EQ(cost("define", "a").rows, 1200u);
  for (const PassCost& each : graph->last_costs()) EXPECT_NE(each.name, "b");
  EXPECT_EQ(cost("range", "").rows_left, 50u);
}

TEST_F(CostsTest, VariationsBelongToTheNodesThatTheyChange) {
  const NodeId varied = graph->vary(Graph::root, {"x"}, "{x * 0.5, x * 2}", {"down", "up"}, "s");
  const NodeId node = graph->filter(graph->define(varied, "y", "sqrt(x)"), "y > 10", "cut");
  const ResultId result = sum(*graph, node, "y");
  graph->vary_result(result);
  graph->run();
  EXPECT_LT(number(*graph, result), number(*graph, result, "s:up"));
  EXPECT_EQ(cost("define", "y").rows, 1200u);
  EXPECT_EQ(cost("filter", "cut").rows, 1200u);
  EXPECT_EQ(cost("filter", "cut").rows_left, 1099u);  // from 101 on
  EXPECT_EQ(cost("vary", "s").rows, 1200u);
}

TEST_F(CostsTest, TheNextPassIsSaidAlone) {
  const ResultId first = sum(*graph, Graph::root, "x");
  graph->run();
  const ResultId second = sum(*graph, Graph::root, "n");
  graph->run();
  EXPECT_NE(number(*graph, first), number(*graph, second));
  ASSERT_EQ(graph->last_costs().size(), 2u);
  EXPECT_EQ(graph->last_costs()[0].name, "n");
  EXPECT_EQ(graph->last_costs()[1].text, "n");
}

}  // namespace
}  // namespace colonnade::frame
