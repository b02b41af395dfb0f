// Fuzzes saved results from outside. The first byte selects the meaning of the others: saved results, or
// changes to valid ones, three bytes each: position and value. They merge, or are an Error.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

#include "colonnade/error.h"
#include "frame/graph/graph.h"

namespace {

using namespace colonnade;
using frame::Graph;

void require(bool condition) {
  if (!condition) std::abort();
}

constexpr const char* plan = R"({"version": 1, "source": {"source": "empty", "entries": 50},
  "nodes": [{"kind": "define", "parent": 0, "name": "x", "definition": {"text": "0.1 * rdfentry_"}},
            {"kind": "filter", "parent": 1, "name": "cut", "definition": {"text": "x > 1"}}],
  "results": [
    {"node": 2, "kind": "count", "arguments": [], "options": {}},
    {"node": 2, "kind": "sum", "arguments": ["x"], "options": {}},
    {"node": 2, "kind": "mean", "arguments": ["x"], "options": {}},
    {"node": 2, "kind": "min", "arguments": ["x"], "options": {}},
    {"node": 2, "kind": "take", "arguments": ["x"], "options": {}},
    {"node": 2, "kind": "histogram", "arguments": ["x"],
     "options": {"axes": [{"bins": 10, "low": 0, "high": 5}]}},
    {"node": 2, "kind": "report"}]})";

std::vector<std::byte> save() {
  const auto graph = Graph::from_json(plan, {});
  graph->run({.threads = 1});
  return graph->save_results();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::vector<std::byte> valid = save();
  if (size == 0) return 0;
  std::vector<std::byte> saved;
  if (data[0] % 2 == 0) {
    saved.assign(reinterpret_cast<const std::byte*>(data + 1),
                 reinterpret_cast<const std::byte*>(data + size));
  } else {
    saved = valid;
    for (std::size_t at = 1; at + 3 <= size; at += 3)
      saved[(data[at] + 256U * data[at + 1]) % saved.size()] = static_cast<std::byte>(data[at + 2]);
    if (data[0] % 8 == 7) saved.resize(saved.size() * data[0] / 256);
  }
  const auto graph = Graph::from_json(plan, {});
  try {
    graph->merge_results(saved);
    require(graph->is_ready(0));
    static_cast<void>(graph->value(5));
    static_cast<void>(graph->save_results());
  } catch (const Error& error) {
    require(!error.problem().empty());
  }
  return 0;
}
