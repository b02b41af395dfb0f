// Results: what a DataFrame computes. An accumulator per kind, made from a specification that can be sent
// elsewhere, and the values that come out.
//
// clang-format off
//   kind        arguments            options (JSON)                                      value
//   count       -                                                                        std::uint64_t
//   sum         x                    {"start": 0}                                        std::[u]int64_t, double
//   min, max    x                                                                        std::[u]int64_t, double
//   mean        x                                                                        double
//   stddev      x                                                                        double, of a sample
//   stats       x [weight]                                                               StatsValue
//   histogram   x [y ..] [weight]    {"axes": [..], "weighted": bool, "name", "title"}   HistogramValue
//   profile     x [y ..] value [weight]   the same, with "spread": "mean"|"s"|"i"|"g",
//                                    and "limits": [least, greatest] of the value        ProfileValue
//   graph       x y [errors]         {"errors": 0|4, "name", "title"}                    GraphValue
//   take        any                  {"names": [..]}                                     ArraysValue, in entry order
//   display     any                  {"names": [..], "rows": 5}                          ArraysValue of the first rows
//   snapshot    any                  {"names": [..], "uri", "name", "mode": "recreate"|"update",
//                                    "write": {..}}                                      SnapshotValue
// clang-format on
//
// Scalars, and for all but take, display and snapshot the items of lists of any depth: a list counts once per
// item, a scalar beside it once for every item of its row, as in RDataFrame. An axis is {"bins", "low",
// "high"} or {"edges": [..]}, with "name", and bins as ROOT's do; without low and high a histogram's axis
// gets the range of what it sees. Those that bin as `hist` does have a "kind", see special_axis.h. What an
// axis can be has one spelling.
//
// Sums of integers are integers if 64 bits hold them (unsigned if the type is), those of others double. The
// least and greatest of integers are integers. Without any value they are the limits of the type; mean and
// stddev are 0. Of the values of weight zero stats counts none.
//
// "write" has the options that Python's colonnade.create() takes, with parallel_sealing on by default. A
// snapshot is opened in the first begin() and committed in finish(); without finish() nothing of it stays,
// and a local file that was there before is as it was.
//
// Results depend on the entries and their order alone, not on how they are split into parts; those of
// numbers, histograms and profiles not even on the order. So partial results may be merged in any grouping.
#ifndef COLONNADE_FRAME_RESULTS_RESULT_H
#define COLONNADE_FRAME_RESULTS_RESULT_H

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "colonnade/accumulator.h"
#include "colonnade/frame_results.h"
#include "frame/sources/source.h"

namespace colonnade::frame {

struct ResultSpec {
  std::string kind;
  std::vector<std::string> arguments;  // expressions
  std::string options = "{}";
};

struct ArraysValue {
  std::vector<NamedValues> columns;
};

using ResultValue = std::variant<std::int64_t, std::uint64_t, double, StatsValue, HistogramValue,
                                 ProfileValue, GraphValue, ArraysValue, SnapshotValue>;

class ResultAccumulator : public Accumulator {
 public:
  virtual ResultValue value() const = 0;
};

// Throws ErrorKind::usage or type, saying which argument or option does not fit.
std::unique_ptr<ResultAccumulator> make_accumulator(const ResultSpec& spec,
                                                    std::span<const ValueType> argument_types);

}  // namespace colonnade::frame

#endif
