// Friends: columns of several sources side by side, with independent borders.
#include "frame/sources/friends.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "base/test_errors.h"
#include "dataset/test_values.h"
#include "frame/graph/test_tools.h"
#include "frame/sources/source_test_tools.h"

namespace colonnade::frame {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

// Columns x and v of entries [first, last): x counts, v has x % 4 items.
void write_numbers(const std::string& uri, int first, int last, std::size_t page,
                   const std::string& extra = {}) {
  auto model = Model::create();
  auto x = model->make_field<std::int64_t>("x");
  auto v = model->make_field<std::vector<float>>("v");
  std::shared_ptr<double> more;
  if (!extra.empty()) more = model->make_field<double>(extra);
  auto writer = Writer::recreate(
      std::move(model), "Data", uri,
      {.approximate_cluster_size = 4 * page, .initial_page_size = page, .max_page_size = page});
  for (int i = first; i < last; ++i) {
    *x = i;
    v->assign(static_cast<std::size_t>(i % 4), static_cast<float>(i));
    if (more != nullptr) *more = 0.5 * i;
    writer->fill();
  }
  writer->close();
}

std::shared_ptr<Source> chain_of(const std::vector<std::string>& uris) {
  return open_chain("Data", uris);
}

class FriendsTest : public ::testing::Test {
 public:
  static constexpr int entries = 1000;
  FriendsTest() {
    write_numbers(a, 0, 600, 256);
    write_numbers(b, 600, entries, 64);
    write_numbers(c, 0, 333, 128, "y");
    write_numbers(d, 333, 334, 128, "y");
    write_numbers(e, 334, entries, 512, "y");
  }
  std::shared_ptr<Source> friends() const {
    return friends_source(chain_of({a, b}), {{"f", chain_of({c, d, e})}});
  }
  MemoryFile a, b, c, d, e;
};

TEST_F(FriendsTest, ColumnsAreFoundByTheirNames) {
  const auto source = friends();
  EXPECT_EQ(source->entries(), 1000u);
  EXPECT_THAT(source->names(), Contains("y"));
  EXPECT_THAT(source->names(), Contains("f.x"));
  EXPECT_THAT(source->names(), Not(Contains("f.y")));
  EXPECT_TRUE(source->find("y"));
  EXPECT_TRUE(source->find("f.y"));
  EXPECT_NE(source->find("x"), source->find("f.x"));
  EXPECT_TRUE(source->find("#f.v"));
  EXPECT_TRUE(source->find("R_rdf_sizeof_f.v"));
  EXPECT_FALSE(source->find("f."));
  EXPECT_FALSE(source->find("f.none"));
  EXPECT_FALSE(source->find("none"));
  EXPECT_TRUE(source->has(*source->find("y"), 1));
}

TEST_F(FriendsTest, WhatDoesNotFitIsRefused) {
  EXPECT_THAT(error_of([&] { friends_source(chain_of({a}), {{"f", chain_of({e})}}); }).problem(),
              HasSubstr("has 666 entries, but there are 600"));
  EXPECT_THAT(error_of([&] {
                friends_source(chain_of({a}), {{"f", chain_of({a})}, {"f", chain_of({a})}});
              }).problem(),
              HasSubstr("two friends"));
  EXPECT_THAT(error_of([&] { friends_source(chain_of({a}), {{"", chain_of({a})}}); }).problem(),
              HasSubstr("no name"));
  EXPECT_THAT(error_of([&] { friends_source(chain_of({a}), {{"v", chain_of({a})}}); }).problem(),
              HasSubstr("'v' cannot be the name of a friend"));
  const auto both = friends_source(empty_source(1000), {{"f", chain_of({a, b})}, {"g", chain_of({a, b})}});
  EXPECT_THAT(error_of([&] { both->find("x"); }).problem(), HasSubstr("'f' and 'g'"));
  EXPECT_TRUE(both->find("g.x"));
  const auto lacking = friends_source(chain_of({a, b}), {{"f", chain_of({c, d, e})}});
  MemoryFile other;
  write_numbers(other, 334, entries, 512);
  const auto partly = friends_source(chain_of({a, b}), {{"f", chain_of({c, d, other})}});
  EXPECT_THAT(error_of([&] { partly->find("y"); }).problem(), HasSubstr("is not in"));
}

TEST_F(FriendsTest, EveryRowIsThatOfItsEntry) {
  std::vector<std::string> x, v, y;
  for (const auto& uri : {c.uri(), d.uri(), e.uri()}) {
    for (auto& text : entries_as_arrays(uri, "x")) x.push_back(std::move(text));
    for (auto& text : entries_as_arrays(uri, "v")) v.push_back(std::move(text));
    for (auto& text : entries_as_arrays(uri, "y")) y.push_back(std::move(text));
  }
  const auto source = friends();
  const std::vector<std::uint32_t> columns = {*source->find("f.x"), *source->find("x"), *source->find("f.v"),
                                              *source->find("v"), *source->find("y")};
  const std::vector<std::vector<std::string>> expected = {x, x, v, v, y};
  for (const std::size_t block : {1u, 7u, 50u, 1000u})
    for (std::uint64_t seed = 0; seed < 5; ++seed) expect_blocks(*source, columns, expected, block, seed);
}

TEST_F(FriendsTest, GraphsComputeWithThemAnywhere) {
  Graph graph(friends());
  const ResultId same = sum(graph, graph.filter(Graph::root, "x == f.x && v.size() == f.v.size()"), "y");
  graph.run({.threads = 3});
  EXPECT_EQ(number(graph, same), 0.5 * 999 * 500);
  const std::string plan = graph.plan(std::nullopt);
  const auto other = Graph::from_json(plan, {});
  const ResultId again = sum(*other, Graph::root, "y");
  other->restrict_entries(300, 700);
  other->run();
  EXPECT_EQ(number(*other, again), 0.5 * (300 + 699) * 200);
  const PlanRights few{.may_use = [&](const std::string& uri, bool) { return uri != d.uri(); }};
  EXPECT_EQ(error_of([&] { Graph::from_json(plan, few); }).kind(), ErrorKind::usage);
}

}  // namespace
}  // namespace colonnade::frame
