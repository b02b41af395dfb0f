// The table of kinds; see result.h.
#include "frame/results/result.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "colonnade/error.h"
#include "frame/results/kinds.h"

namespace colonnade::frame {
namespace {

struct Kind {
  const char* name;
  const char* title;  // for messages
  Maker make;
};

constexpr std::array kinds{
    Kind{"count", "a count", make_count},
    Kind{"sum", "a sum", make_sum},
    Kind{"min", "a minimum", make_min},
    Kind{"max", "a maximum", make_max},
    Kind{"mean", "a mean", make_mean},
    Kind{"stddev", "a standard deviation", make_stddev},
    Kind{"stats", "statistics", make_stats},
    Kind{"histogram", "a histogram", make_histogram},
    Kind{"profile", "a profile", make_profile},
    Kind{"graph", "a graph", make_graph},
    Kind{"take", "arrays", make_take},
    Kind{"display", "a display", make_display},
    Kind{"snapshot", "a snapshot", make_snapshot},
};

}  // namespace

std::unique_ptr<ResultAccumulator> make_accumulator(const ResultSpec& spec,
                                                    std::span<const ValueType> argument_types,
                                                    std::span<const StoredField> stored_fields) {
  const auto kind =
      std::find_if(kinds.begin(), kinds.end(), [&](const Kind& k) { return spec.kind == k.name; });
  if (kind == kinds.end()) {
    std::vector<std::string_view> names;
    for (const Kind& known : kinds) names.emplace_back(known.name);
    throw Error(ErrorKind::usage, fmt::format("there is no result of kind '{}'", spec.kind),
                fmt::format("there are {}", fmt::join(names, ", ")));
  }
  const Options options(spec.options.empty() ? "{}" : spec.options, kind->title);
  return kind->make({spec, argument_types, options, stored_fields});
}

}  // namespace colonnade::frame
