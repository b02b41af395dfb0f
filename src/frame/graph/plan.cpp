// The plan of a graph as JSON: everything that was booked, so that another process can do the same work.
//
//   {"version": 1, "source": {..}, "entries": [first, last],
//    "callables": 1, "joins": [{"source": {..}, "keys": ["run"], "duplicates": "error"}],
//    "functions": [{"name": "sf", "definition": {"payload": "..", "columns": []}}],
//    "nodes": [{"kind": "define", "parent": 0, "name": "m", "definition": {"text": "sqrt(x)"}}, ..],
//    "results": [{"node": 1, "kind": "histogram", "arguments": ["m"], "options": {..}, "varied": true}, ..]}
//
// Nodes are listed in the order in which they were added, so that the receiver gives them the same numbers;
// so are results. A join part by part has "sections": [[0, 0], [100, 50], ..], where each part begins on both
// sides. After removed ones, the next one has an explicit "number". A callable is its payload in
// base64; a plan with callables states their number at the beginning.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/base64.h"
#include "base/json_number.h"
#include "frame/graph/graph.h"
#include "frame/graph/state.h"
#include "frame/joins/join.h"

namespace colonnade::frame {

namespace {

using nlohmann::json;

constexpr int plan_version = 1;
// Far larger than any real plan.
constexpr std::size_t longest_plan = std::size_t{256} << 20;
constexpr int deepest_plan = 32;

constexpr std::array<std::string_view, 10> kind_names = {"root",           "define",
                                                         "redefine",       "alias",
                                                         "filter",         "filter_available",
                                                         "filter_missing", "default_value_for",
                                                         "range",          "vary"};

// ---- Writing

// The joins of a plan, without duplicates.
struct JoinList {
  std::vector<std::shared_ptr<Join>> joins;

  std::size_t number_of(const std::shared_ptr<Join>& join) {
    const auto found = std::find(joins.begin(), joins.end(), join);
    if (found == joins.end()) joins.push_back(join);
    return static_cast<std::size_t>(std::find(joins.begin(), joins.end(), join) - joins.begin());
  }
};

json definition_json(const Definition& definition, const std::string& what, JoinList& joins) {
  if (!definition.make_kernel) return {{"text", definition.text}};
  if (definition.join)
    return {{"join", joins.number_of(definition.join)},
            {"part", json::parse(definition.join_part)},
            {"columns", definition.columns}};
  if (definition.payload.empty())
    throw Error(ErrorKind::unsupported,
                fmt::format("{} is computed by a callable, which cannot be sent to another process", what),
                "use an expression, or a callable that can be serialised");
  return {{"payload", to_base64(as_bytes(definition.payload))}, {"columns", definition.columns}};
}

json node_json(const Node& node, JoinList& joins) {
  json out = {{"kind", kind_names[static_cast<std::size_t>(node.kind)]}, {"parent", node.parent}};
  const std::string what = fmt::format("{} '{}'", kind_names[static_cast<std::size_t>(node.kind)], node.name);
  if (!node.name.empty()) out["name"] = node.name;
  if (!node.columns.empty()) out["columns"] = node.columns;
  if (!node.tags.empty()) out["tags"] = node.tags;
  switch (node.kind) {
    case Node::Kind::define:
    case Node::Kind::redefine:
    case Node::Kind::filter:
    case Node::Kind::default_value_for:
    case Node::Kind::vary:
      out["definition"] = definition_json(node.computation.definition, what, joins);
      break;
    case Node::Kind::range:
      out["range"] = {node.begin, node.end, node.stride};
      break;
    default:
      break;
  }
  return out;
}

json result_json(const BookedResult& result) {
  if (result.kind == BookedResult::Kind::own)
    throw Error(
        ErrorKind::unsupported,
        fmt::format("an accumulator over ({}) is the caller's own and cannot be sent to another process",
                    fmt::join(result.spec.arguments, ", ")),
        "book one of the results that a specification describes");
  json out = {{"node", result.node}};
  if (result.all_variations) out["varied"] = true;
  if (result.kind == BookedResult::Kind::report) {
    out["kind"] = "report";
    return out;
  }
  out["kind"] = result.spec.kind;
  out["arguments"] = result.spec.arguments;
  out["options"] = json::parse(result.spec.options);
  return out;
}

// ---- Reading

// Serialising values again, as part of a message or another text, is recursive.
json parse_plan(std::string_view text) {
  if (text.size() > longest_plan)
    throw Error(ErrorKind::format,
                fmt::format("a plan of {} bytes is longer than the limit of {}", text.size(), longest_plan));
  return json::parse(text, [](int depth, json::parse_event_t, json&) {
    if (depth > deepest_plan)
      throw Error(ErrorKind::format, fmt::format("a plan that is nested more than {} deep", deepest_plan));
    return true;
  });
}

// Before anything is opened, and before any callable is made.
void check_rights(const json& plan, const PlanRights& rights) {
  std::size_t callables = 0;
  for (const char* list : {"nodes", "functions"})
    for (const json& each : plan.value(list, json::array()))
      if (each.contains("definition") && each.at("definition").contains("payload")) ++callables;
  if (callables > 0 && !rights.remake)
    throw Error(
        ErrorKind::usage,
        fmt::format("the plan carries code ({} callables), which may do anything on this machine", callables),
        "allow it if you trust the author of the plan, or have expressions sent in place of callables");
  if (!rights.may_use) return;
  const auto check = [&](const std::string& uri, bool writes) {
    if (rights.may_use(uri, writes)) return;
    throw Error(ErrorKind::usage,
                fmt::format("the plan {} \"{}\", which is not allowed", writes ? "writes" : "reads", uri),
                "allow it if you trust the author of the plan", {.uri = uri});
  };
  const std::function<void(const json&)> check_source = [&](const json& source) {
    for (const json& uri : source.value("uris", json::array())) check(uri.get<std::string>(), false);
    if (source.contains("index"))
      for (const json& file : source.at("index").at("files")) check(file.at(0).get<std::string>(), false);
    if (source.contains("first")) check_source(source.at("first"));
    for (const json& each : source.value("friends", json::array())) check_source(each.at("source"));
    for (const json& each : source.value("fetched", json::array())) check_source(each);
    for (const json& each : source.value("samples", json::array()))
      check(each.value("uri", std::string()), false);
    if (source.contains("shape")) check_source(source.at("shape"));
  };
  check_source(plan.at("source"));
  for (const json& join : plan.value("joins", json::array())) {
    check_source(join.at("source"));
    if (const auto table = join.value("table", std::string()); !table.empty()) check(table, true);
  }
  for (const json& result : plan.at("results"))
    if (result.value("kind", std::string()) == "snapshot")
      check(result.at("options").at("uri").get<std::string>(), true);
}

// The objects that definitions of a plan refer to.
struct PlanContext {
  const PlanRights& rights;
  std::vector<std::shared_ptr<Join>> joins;
};

Definition read_definition(const json& in, const PlanContext& context) {
  if (in.contains("text")) return {in.at("text").get<std::string>()};
  if (in.contains("join")) {
    const auto number = whole_number<std::uint32_t>(in.at("join"));
    if (number >= context.joins.size())
      throw Error(ErrorKind::format, "the plan names a join that it does not have");
    return context.joins[number]->definition(in.at("part").dump(),
                                             in.at("columns").get<std::vector<std::string>>());
  }
  const auto payload = from_base64(in.at("payload").get<std::string>());
  if (!payload) throw Error(ErrorKind::format, "the payload of a callable in a plan is not base64");
  return context.rights.remake(*payload, in.at("columns").get<std::vector<std::string>>());
}

// The explicit number of a node or a result; limited by the size of a plan.
std::uint32_t own_number(const json& in) {
  if (!in.contains("number")) return 0;
  const auto number = whole_number<std::uint32_t>(in.at("number"));
  if (number >> 30 != 0)
    throw Error(ErrorKind::format, fmt::format("the number {} in the plan is too large", number));
  return number;
}

NodeId read_node(Graph& graph, const json& in, const PlanContext& context) {
  const auto kind = in.at("kind").get<std::string>();
  const auto parent = whole_number<NodeId>(in.at("parent"));
  const auto name = in.value("name", std::string());
  const auto columns = in.value("columns", std::vector<std::string>());
  const auto definition = [&] { return read_definition(in.at("definition"), context); };
  if (kind == "define") return graph.define(parent, name, definition());
  if (kind == "redefine") return graph.redefine(parent, name, definition());
  if (kind == "alias") return graph.alias(parent, name, columns.at(0));
  if (kind == "filter") return graph.filter(parent, definition(), name);
  if (kind == "filter_available") return graph.filter_available(parent, columns.at(0));
  if (kind == "filter_missing") return graph.filter_missing(parent, columns.at(0));
  if (kind == "default_value_for") return graph.default_value_for(parent, name, definition());
  if (kind == "vary")
    return graph.vary(parent, columns, definition(), in.at("tags").get<std::vector<std::string>>(), name);
  if (kind == "range") {
    const auto number = [&](std::size_t i) { return whole_number<std::uint64_t>(in.at("range").at(i)); };
    return graph.range(parent, number(0), number(1), number(2));
  }
  throw Error(ErrorKind::format, fmt::format("the plan has a node of the unknown kind '{}'", kind));
}

ResultId read_result(Graph& graph, const json& in) {
  const auto kind = in.at("kind").get<std::string>();
  const auto node = whole_number<NodeId>(in.at("node"));
  if (kind == "report") return graph.report(node);
  return graph.book(node,
                    {kind, in.at("arguments").get<std::vector<std::string>>(), in.at("options").dump()});
}

}  // namespace

namespace {

// Lists have explicit numbers only where they are not consecutive.
void add_numbered(json& list, std::uint32_t number, std::uint32_t& expected, json out) {
  if (number != expected) out["number"] = number;
  expected = number + 1;
  list.push_back(std::move(out));
}

// `wanted`: the nodes to include; null: all.
json plan_json(const Graph::State& state, bool with_index, const std::vector<bool>* wanted) {
  json plan = {{"version", plan_version}};
  plan["source"] = json::parse(state.source->specification(with_index));
  if (state.restricted) plan["entries"] = {state.first, state.last};
  if (state.block_entries != usual_large_block_entries) plan["block_entries"] = state.block_entries;
  plan["nodes"] = json::array();
  JoinList joins;
  NodeId next_node = 1;
  for (const auto& [id, node] : state.nodes)
    if (id != Graph::root && (wanted == nullptr || (*wanted)[id]))
      add_numbered(plan["nodes"], id, next_node, node_json(node, joins));
  for (const std::shared_ptr<Join>& join : joins.joins)
    plan["joins"].push_back(json::parse(join->specification()));
  plan["results"] = json::array();
  auto callables = std::count_if(plan["nodes"].begin(), plan["nodes"].end(), [](const json& node) {
    return node.contains("definition") && node["definition"].contains("payload");
  });
  for (const auto& [name, function] : state.functions) {
    const std::string what = fmt::format("the function '{}'", name);
    plan["functions"].push_back(
        {{"name", name}, {"definition", definition_json(function.definition, what, joins)}});
    ++callables;
  }
  if (callables > 0) plan["callables"] = callables;
  return plan;
}

std::string text_of(const json& plan) {
  try {
    return plan.dump();
  } catch (const json::exception&) {
    throw Error(ErrorKind::unsupported,
                "a text of the graph is not valid UTF-8 and cannot be sent to another process");
  }
}

}  // namespace

std::string Graph::to_json() const {
  json plan = plan_json(*state_, false, nullptr);
  ResultId next_result = 0;
  for (const auto& [id, result] : state_->results)
    add_numbered(plan["results"], id, next_result, result_json(result));
  return text_of(plan);
}

std::string Graph::plan(const std::optional<std::vector<NodeId>>& leaves) const {
  if (!leaves) return text_of(plan_json(*state_, true, nullptr));
  std::vector<bool> wanted;
  for (NodeId at : *leaves)
    for (state_->node(at); at != root; at = state_->nodes[at].parent) {
      if (at >= wanted.size()) wanted.resize(at + 1);
      wanted[at] = true;
    }
  for (const auto& [id, node] : state_->nodes)
    if (id >= wanted.size()) wanted.resize(id + 1);
  return text_of(plan_json(*state_, true, &wanted));
}

std::unique_ptr<Graph> Graph::from_json(std::string_view text, const PlanRights& rights) {
  try {
    const json plan = parse_plan(text);
    if (plan.at("version") != plan_version)
      throw Error(ErrorKind::unsupported,
                  fmt::format("the plan is of version {}, not {}", plan.at("version").dump(), plan_version));
    check_rights(plan, rights);
    auto graph = std::make_unique<Graph>(source_from(plan.at("source").dump()));
    PlanContext context{rights, {}};
    for (const json& join : plan.value("joins", json::array()))
      context.joins.push_back(Join::remake(join.dump()));
    for (const json& function : plan.value("functions", json::array())) {
      Definition definition = read_definition(function.at("definition"), context);
      if (!definition.make_kernel)
        throw Error(ErrorKind::format, "a function in the plan of a graph is not a callable");
      graph->add_function(function.at("name").get<std::string>(), std::move(definition));
    }
    for (const json& node : plan.at("nodes")) {
      graph->state_->nodes.skip_to(own_number(node));
      read_node(*graph, node, context);
    }
    for (const json& result : plan.at("results")) {
      graph->state_->results.skip_to(result.contains("number") ? whole_number<ResultId>(result.at("number"))
                                                               : 0);
      const ResultId id = read_result(*graph, result);
      if (result.value("varied", false)) graph->vary_result(id);
    }
    if (plan.contains("entries"))
      graph->restrict_entries(whole_number<std::uint64_t>(plan.at("entries").at(0)),
                              whole_number<std::uint64_t>(plan.at("entries").at(1)));
    if (plan.contains("block_entries"))
      graph->set_block_entries(whole_number<std::uint32_t>(plan.at("block_entries")));
    return graph;
  } catch (const json::exception& error) {
    throw Error(ErrorKind::format, fmt::format("the plan of a graph is damaged: {}", error.what()));
  } catch (const std::out_of_range&) {
    throw Error(ErrorKind::format, "the plan of a graph is damaged: a list in it is too short");
  }
}

}  // namespace colonnade::frame
