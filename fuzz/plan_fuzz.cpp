// Fuzzes plans of graphs from outside: any text is a graph, which computes over no file, or an Error. Nothing
// is opened or written, and no callable made, without permission.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "colonnade/error.h"
#include "frame/graph/graph.h"

namespace {

using namespace colonnade;

void require(bool condition) {
  if (!condition) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    const auto graph =
        frame::Graph::from_json(text, {.may_use = [](const std::string&, bool) { return false; }});
    const std::string once = graph->to_json();
    require(frame::Graph::from_json(once, {})->to_json() == once);
    graph->restrict_entries(0, 100);
    graph->run({.threads = 1});
    static_cast<void>(graph->save_results());
  } catch (const Error& error) {
    require(!error.problem().empty());
  }
  return 0;
}
