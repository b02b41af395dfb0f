// Plans: a graph as JSON, computed elsewhere in parts, and merged.
#include <cctype>
#include <cstring>

#include "frame/graph/test_tools.h"

namespace colonnade::frame {
namespace {

using ::testing::HasSubstr;

// One result of every kind. Weights are chosen so that their sums are exact: another order of additions would
// change the last bits.
struct Booked {
  NodeId last = 0;
  std::vector<ResultId> results;
  ResultId report = 0;
};

Booked book_all(Graph& graph) {
  NodeId node = graph.default_value_for(Graph::root, "extra", "-1.5");
  node = graph.define(node, "y", "sqrt(x) * 0.1 + extra");
  node = graph.alias(node, "w", "v");
  node = graph.redefine(node, "x", "x * 1.1");
  node = graph.vary(node, {"x", "y"}, "{{x * 0.9, x * 1.2}, {y, y * 2}}", {"down", "up"}, "scale");
  node = graph.filter(node, "x > 3 && Sum(w) < 4", "cut \"one\"");
  node = graph.filter(node, "n != 2");
  graph.filter_available(node, "extra");
  Booked booked;
  booked.last = node;
  const std::string axis = R"({"bins": 20, "low": 0, "high": 200})";
  booked.results = {
      count(graph, node),
      sum(graph, node, "y"),
      sum(graph, graph.filter_missing(node, "extra"), "w"),
      graph.book(node, {"mean", {"x"}, "{}"}),
      graph.book(node, {"stddev", {"y"}, "{}"}),
      graph.book(node, {"histogram", {"y", "n + 0.25"}, R"({"weighted": true, "axes": [)" + axis + "]}"}),
      graph.book(node, {"profile", {"x", "y"}, R"({"axes": [)" + axis + "]}"}),
      graph.book(node, {"take", {"y"}, R"({"names": ["y"]})"})};
  booked.report = graph.report(node);
  for (const ResultId result : booked.results) graph.vary_result(result);
  graph.vary_result(booked.report);
  return booked;
}

class PlanTest : public ::testing::Test {
 public:
  PlanTest() {
    write_events(a.uri(), 0, 700, "extra");
    write_events(b.uri(), 700, 500);
    graph = std::make_unique<Graph>(open_chain("Events", std::vector{a.uri(), b.uri()}));
  }
  // All results, bit by bit.
  static std::vector<std::vector<std::byte>> bits_of(const Graph& of, const Booked& booked) {
    std::vector<std::vector<std::byte>> bits;
    for (const char* variation : {"nominal", "scale:down", "scale:up"})
      for (const ResultId result : booked.results) bits.push_back(of.accumulator(result, variation).save());
    return bits;
  }
  MemoryFile a, b;
  std::unique_ptr<Graph> graph;
};

TEST_F(PlanTest, HalvesGiveTheWholeBitByBit) {
  const Booked booked = book_all(*graph);
  const std::string plan = graph->to_json();
  graph->run();
  for (const std::uint64_t middle : {0u, 333u, 700u, 1200u}) {
    std::unique_ptr<Graph> early = Graph::from_json(plan, {}), late = Graph::from_json(plan, {});
    EXPECT_EQ(early->to_json(), plan);
    early->restrict_entries(0, middle);
    late->restrict_entries(middle, 1200);
    early->run();
    late->run({.threads = 3});
    early->merge_results(late->save_results());
    for (const ResultId result : {booked.results[0], booked.results[1], booked.results[3], booked.results[4]})
      for (const char* variation : {"nominal", "scale:down", "scale:up"})
        EXPECT_EQ(number(*early, result, variation), number(*graph, result, variation))
            << result << variation << middle;
    for (const char* variation : {"nominal", "scale:up"}) {
      const auto expected = std::get<HistogramValue>(graph->value(booked.results[5], variation));
      const auto found = std::get<HistogramValue>(early->value(booked.results[5], variation));
      EXPECT_EQ(found.values, expected.values);
      EXPECT_EQ(found.variances, expected.variances);
      EXPECT_EQ(found.entries, expected.entries);
      EXPECT_EQ(early->report_value(booked.report, variation)[0].passed,
                graph->report_value(booked.report, variation)[0].passed);
      EXPECT_EQ(early->report_value(booked.report, variation)[0].all, 1200u);
    }
  }
}

TEST_F(PlanTest, ResultsMergeIntoAGraphThatSawNothing) {
  const Booked booked = book_all(*graph);
  const auto worker = Graph::from_json(graph->to_json(), {});
  worker->run();
  graph->merge_results(worker->save_results());
  EXPECT_TRUE(graph->is_ready(booked.results[0]));
  EXPECT_EQ(graph->passes(), 0u);
  EXPECT_EQ(number(*graph, booked.results[1], "scale:up"), number(*worker, booked.results[1], "scale:up"));
}

TEST_F(PlanTest, CallablesAreSentAsTheirPayload) {
  const std::string payload("\0\xff\x80 bytes", 9);
  const NodeId node =
      graph->define(Graph::root, "y", one_number([](double x) { return 2 * x; }, "x", payload));
  const ResultId result = sum(*graph, node, "y");
  std::string seen;
  const auto other = Graph::from_json(
      graph->to_json(), {.remake = [&](const std::string& bytes, std::vector<std::string> columns) {
        seen = bytes;
        return one_number([](double x) { return 3 * x; }, columns.at(0), bytes);
      }});
  EXPECT_EQ(seen, payload);
  other->run();
  EXPECT_EQ(number(*other, result), 3 * 1200 * 1199 / 2);
  EXPECT_THAT(graph->to_json(), HasSubstr(R"("callables":1)"));
  const Error error = error_of([&] { Graph::from_json(graph->to_json(), {}); });
  EXPECT_EQ(error.kind(), ErrorKind::usage);
  EXPECT_THAT(error.problem(), HasSubstr("carries code (1 callables)"));
}

TEST_F(PlanTest, FunctionsAreSentAsTheirPayload) {
  graph->add_function("tripled", one_number([](double x) { return 3 * x; }, "x", "bytes"));
  const ResultId result = sum(*graph, Graph::root, "tripled(x) - x");
  const std::string plan = graph->to_json();
  EXPECT_THAT(plan, HasSubstr(R"("callables":1)"));
  EXPECT_THAT(error_of([&] { Graph::from_json(plan, {}); }).problem(), HasSubstr("carries code"));
  const auto other =
      Graph::from_json(plan, {.remake = [&](const std::string& bytes, std::vector<std::string>) {
                         return one_number([](double x) { return 4 * x; }, "x", bytes);
                       }});
  graph->run();
  other->run();
  EXPECT_EQ(number(*graph, result), 2 * 1200 * 1199 / 2);
  EXPECT_EQ(number(*other, result), 3 * 1200 * 1199 / 2);
}

TEST_F(PlanTest, FunctionsHaveNamesOfTheirOwn) {
  const auto add = [&](const std::string& name) {
    graph->add_function(name, one_number([](double x) { return x; }, "x"));
  };
  add("own");
  add("my::own");
  for (const char* taken : {"own", "sqrt", "TMath::Abs", "float", "1st", "a b", "", "my::", "auto"})
    EXPECT_EQ(error_of([&] { add(taken); }).kind(), ErrorKind::usage) << taken;
  EXPECT_EQ(graph->column_type(Graph::root, "my::own(x)").name(), "double");
  EXPECT_THAT(error_of([&] { graph->column_type(Graph::root, "onw(x)"); }).problem(), HasSubstr("own"));
}

TEST_F(PlanTest, UrisAreLimitedBeforeAnythingIsOpened) {
  graph->book(Graph::root, {"snapshot", {"x"}, R"({"name": "t", "uri": "memory:plan-target"})"});
  const std::string plan = graph->to_json();
  const auto error_with = [&](const std::function<bool(const std::string&, bool)>& may_use) {
    return error_of([&] { Graph::from_json(plan, {.may_use = may_use}); });
  };
  EXPECT_THAT(error_with([](const std::string&, bool) { return false; }).problem(), HasSubstr("reads"));
  const Error error = error_with([](const std::string&, bool writes) { return !writes; });
  EXPECT_EQ(error.kind(), ErrorKind::usage);
  EXPECT_EQ(error.context().uri, "memory:plan-target");
  EXPECT_NE(Graph::from_json(plan, {.may_use = [](const std::string&, bool) { return true; }}), nullptr);
}

TEST_F(PlanTest, UrisOfAllKindsOfSourcesAreLimited) {
  const auto refused = [&](const std::string& source, const std::string& joins = "[]") {
    const std::string plan =
        R"({"version": 1, "nodes": [], "results": [], "source": )" + source + R"(, "joins": )" + joins + "}";
    const auto may_use = [](const std::string& uri, bool) { return uri != "secret"; };
    return error_of([&] { Graph::from_json(plan, {.may_use = may_use}); }).context().uri;
  };
  const std::string chain = R"({"source": "chain", "name": "Events", "options": {}, "uris": ["secret"]})";
  EXPECT_EQ(refused(chain), "secret");
  EXPECT_EQ(refused(R"({"first": )" + chain + R"(, "friends": []})"), "secret");
  EXPECT_EQ(refused(R"({"source": "late", "samples": [{"uri": "secret"}]})"), "secret");
  EXPECT_EQ(refused(R"({"source": "late", "samples": [], "fetched": [)" + chain + "]}"), "secret");
  EXPECT_EQ(refused(R"({"source": "late", "samples": [], "shape": )" + chain + "}"), "secret");
  EXPECT_EQ(refused("{}", R"([{"source": )" + chain + "}]"), "secret");
  EXPECT_EQ(refused("{}", R"([{"source": {}, "table": "secret"}])"), "secret");
}

TEST_F(PlanTest, DeepAndLongPlansAreRefused) {
  for (const char* open : {"[", R"({"options":)"}) {
    std::string deep = R"({"version": 1, "nodes": )";
    for (int i = 0; i < 1'000'000; ++i) deep += open;
    EXPECT_THAT(error_of([&] { Graph::from_json(deep, {}); }).problem(), HasSubstr("nested"));
  }
}

TEST_F(PlanTest, WhatCannotBeSentSaysSo) {
  const NodeId node = graph->define(Graph::root, "y", one_number([](double x) { return x; }, "x"));
  sum(*graph, node, "y");
  const Error error = error_of([&] { graph->to_json(); });
  EXPECT_EQ(error.kind(), ErrorKind::unsupported);
  EXPECT_THAT(error.what(), HasSubstr("define 'y' is computed by a callable"));
}

TEST_F(PlanTest, RangesCannotBeMerged) {
  const ResultId result = count(*graph, graph->range(Graph::root, 0, 5));
  graph->run();
  EXPECT_EQ(number(*graph, result), 5);
  EXPECT_EQ(error_of([&] { graph->save_results(); }).kind(), ErrorKind::unsupported);
}

// Nested ranges behind filters, whose counts are given to the graph; a plain range needs none.
TEST_F(PlanTest, StretchesBehindRangesAreMerged) {
  graph->restrict_entries(5, 200);
  const NodeId plain = graph->range(Graph::root, 3, 150, 2);
  const NodeId filtered = graph->filter(plain, "x > 0");
  const NodeId outer = graph->range(filtered, 2, 30, 3);
  const NodeId inner = graph->range(graph->filter(outer, "n % 2 == 0"), 1, 4);
  const std::vector<ResultId> results = {sum(*graph, plain, "x"), sum(*graph, outer, "x"),
                                         sum(*graph, inner, "x"), count(*graph, Graph::root)};
  const ResultId reach_outer = count(*graph, filtered);
  const std::string text = graph->to_json();
  graph->run();
  for (std::uint64_t cut = 5; cut <= 200; cut += 3) {
    const auto early = Graph::from_json(text, {});
    const auto late = Graph::from_json(text, {});
    early->set_stretch(5, cut, {});
    early->run();
    // Computes what reached the inner range before, with a graph made for that.
    const auto counting = Graph::from_json(text, {});
    const ResultId reach_inner = count(*counting, inner - 1);
    counting->set_stretch(5, cut, {});
    counting->run();
    late->set_stretch(cut, 200,
                      {{outer, "nominal", static_cast<std::uint64_t>(number(*early, reach_outer))},
                       {inner, "nominal", static_cast<std::uint64_t>(number(*counting, reach_inner))},
                       {outer, "unknown", 5},
                       {99, "nominal", 5}});
    late->run();
    for (const ResultId result : results) {
      early->merge_result(result, late->save_result(result));
      EXPECT_EQ(number(*early, result), number(*graph, result)) << cut;
    }
  }
  EXPECT_EQ(error_of([&] { graph->set_stretch(2, 1, {}); }).kind(), ErrorKind::usage);
}

TEST_F(PlanTest, AReportOfFiltersBehindARangeIsOfAllEntries) {
  const NodeId before = graph->filter(Graph::root, "x > 0", "before");
  const ResultId whole = graph->report(Graph::root);
  EXPECT_TRUE(graph->is_mergeable(whole));
  const NodeId behind = graph->filter(graph->range(before, 0, 5), "x > 1", "behind");
  EXPECT_FALSE(graph->is_mergeable(whole));
  EXPECT_FALSE(graph->is_mergeable(graph->report(behind)));
  EXPECT_TRUE(graph->is_mergeable(graph->report(before)));
}

TEST_F(PlanTest, ResultsOfAllEntriesAreTakenOverAsAWhole) {
  const NodeId some = graph->range(Graph::root, 3, 40, 2);
  const std::vector<ResultId> results = {
      sum(*graph, some, "x"), graph->book(some, {"histogram", {"x"}, R"({"axes": [{"bins": 10}]})"}),
      graph->book(some, {"histogram", {"x", "n"}, R"({"weighted": true, "axes": [{"bins": 7}]})"}),
      count(*graph, Graph::root)};
  const auto other = Graph::from_json(graph->to_json(), {});
  graph->run();
  for (std::size_t i = 0; i < results.size(); ++i) {
    const ResultId result = results[i];
    EXPECT_EQ(graph->is_mergeable(result), i == 3);
    const auto saved = graph->save_result(result);
    other->merge_result(result, saved);
    EXPECT_EQ(other->accumulator(result).save(), graph->accumulator(result).save());
    if (i != 3) {
      EXPECT_EQ(error_of([&] { other->merge_result(result, saved); }).kind(), ErrorKind::usage);
    }
    for (std::size_t size = 0; size < saved.size(); size += 7) {
      other->begin_anew();
      EXPECT_EQ(error_of([&] { other->merge_result(result, std::span(saved).first(size)); }).kind(),
                ErrorKind::format);
    }
    // Damage gives an error or another number, nothing worse.
    for (std::size_t at = 0; at < saved.size(); ++at) {
      auto damaged = saved;
      damaged[at] ^= std::byte{0x81};
      other->begin_anew();
      try {
        other->merge_result(result, damaged);
        static_cast<void>(other->value(result));
      } catch (const Error&) {  // in most cases
      }
    }
    other->begin_anew();
    EXPECT_FALSE(other->is_ready(result));
    other->merge_result(result, saved);
    EXPECT_EQ(other->save_result(result), saved);
  }
  EXPECT_EQ(error_of([&] { other->merge_result(results[3], graph->save_result(results[0])); }).kind(),
            ErrorKind::format);
}

TEST_F(PlanTest, PlansHoldWhatIsNeededAndOpenNothing) {
  const NodeId unused = graph->define(Graph::root, "unused", one_number([](double x) { return x; }, "x"));
  const NodeId used = graph->define(Graph::root, "used", "x + 1");
  EXPECT_EQ(error_of([&] { graph->plan(std::nullopt); }).kind(), ErrorKind::unsupported);
  const std::string plan = graph->plan(std::vector{used});
  EXPECT_THAT(plan, ::testing::Not(HasSubstr("unused")));
  const auto other = Graph::from_json(plan, {});
  const ResultId result = sum(*other, used, "used");
  EXPECT_EQ(error_of([&] { sum(*other, unused, "x"); }).kind(), ErrorKind::usage);
  other->restrict_entries(700, 1200);
  other->run();
  EXPECT_EQ(number(*other, result), (700 + 1199) * 250 + 500);
  const PlanRights none{.may_use = [](const std::string&, bool) { return false; }};
  EXPECT_THAT(error_of([&] { Graph::from_json(plan, none); }).problem(), HasSubstr("reads"));
  // A data set with the same name, but other content.
  write_events(b.uri(), 700, 500);
  const auto late = Graph::from_json(plan, {});
  const ResultId again = sum(*late, used, "used");
  const Error error = error_of([&] { late->run(); });
  EXPECT_EQ(error.kind(), ErrorKind::io);
  EXPECT_THAT(error.problem(), HasSubstr("rewritten since"));
  EXPECT_TRUE(late->is_failed(again) || !late->is_ready(again));
}

TEST_F(PlanTest, DamagedPlansAndResultsAreErrors) {
  const Booked booked = book_all(*graph);
  const std::string plan = graph->to_json();
  for (const char* text : {"", "{", "[]", "{}", R"({"version": 2})", R"({"version": 1, "source": {}})"})
    EXPECT_THROW(Graph::from_json(text, {}), Error) << text;
  for (std::size_t at = 0; at < plan.size(); at += 7) {
    std::string damaged = plan;
    damaged[at] = damaged[at] == '1' ? '"' : '1';
    try {
      Graph::from_json(damaged, {});
    } catch (const Error&) {  // some changes are valid: a number in an expression
    }
  }
  graph->run();
  const auto saved = graph->save_results();
  for (std::size_t size = 0; size < saved.size(); size += 97)
    EXPECT_EQ(error_of([&] { graph->merge_results(std::span(saved).first(size)); }).kind(),
              ErrorKind::format);
  Graph other(open_chain("Events", std::vector{a.uri()}));
  count(other, Graph::root);
  EXPECT_EQ(error_of([&] { other.merge_results(saved); }).kind(), ErrorKind::format);
  EXPECT_EQ(graph->save_results(), saved);  // damaged results were not merged
}

// Every number of a plan is replaced by one that is impossible, or that should be refused.
TEST_F(PlanTest, NumbersThatDoNotFitAreErrorsAndNeverOthers) {
  const Booked booked = book_all(*graph);
  for (const std::string& plan : {graph->to_json(), graph->plan(std::vector{booked.last})}) {
    std::size_t places = 0;
    for (std::size_t at = 0; at < plan.size(); ++at) {
      if (std::isdigit(static_cast<unsigned char>(plan[at])) == 0 ||
          std::strchr(":[,", plan[at - 1]) == nullptr)
        continue;
      if (plan.substr(0, at).ends_with("\"bins\":")) continue;  // limited by memory only
      const std::size_t end = plan.find_first_not_of("0123456789.eE+-", at);
      ++places;
      for (const char* other :
           {"-1", "1.5", "1e300", "4294967296", "18446744073709551615", "1073741824", "0"}) {
        try {
          const auto made = Graph::from_json(plan.substr(0, at) + other + plan.substr(end), {});
          count(*made, Graph::root);
          made->run();
        } catch (const Error&) {  // in most cases
        }
      }
    }
    EXPECT_GT(places, 10u);
  }
}

TEST_F(PlanTest, NumbersAreTheSameWhereSomeAreGone) {
  const NodeId gone = graph->filter(Graph::root, "n > 1");
  const NodeId all = graph->filter(Graph::root, "n >= 0");
  const ResultId first = count(*graph, gone);
  const ResultId second = sum(*graph, all, "n");
  graph->forget(first);
  graph->release(gone);
  const auto other = Graph::from_json(graph->to_json(), {});
  other->run();
  EXPECT_EQ(number(*other, second), 300 * (0 + 1 + 2 + 3));
  graph->merge_results(other->save_results());
  EXPECT_EQ(number(*graph, second), 1800);
}

}  // namespace
}  // namespace colonnade::frame
