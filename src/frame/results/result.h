// Results: the values that a DataFrame computes. Each kind has an accumulator, made from a specification that
// can be sent to other processes.
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
//   snapshot    any                  {"names": [..], "uri", "name", "mode": "create"|"recreate"|
//                                    "update", "write": {..}, "commit": true}            SnapshotValue
// clang-format on
//
// Scalars, and for all but take, display and snapshot the items of lists of any depth: a list counts once per
// item, a scalar beside it once for every item of its row, as in RDataFrame. An axis is {"bins", "low",
// "high"} or {"edges": [..]}, with "name", and bins like ROOT's; without low and high a histogram's axis
// derives its range from the values. Axes that bin like `hist` have a "kind", see special_axis.h. Every axis
// has a unique spelling.
//
// Sums of integers are integers if 64 bits hold them (unsigned if the type is), other sums are double. The
// minimum and maximum of integers are integers. Without any value min, max, mean and stddev are NaN, and so
// is the stddev of a single value. stats ignores values of weight zero.
//
// "write" has the options of Python's colonnade.create(), with parallel_sealing on by default. A snapshot is
// opened in the first begin() and committed in finish(); without finish() nothing of it remains, and a local
// file of that name stays unchanged. With "commit": false the value has the writer, which the receiver closes
// while the graph exists; if it does not, nothing remains.
//
// Results depend on the entries and their order alone, not on the partition into parts; numbers, histograms
// and profiles not even on the order. So partial results may be merged in any grouping.
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

// The field that stores an argument that is a column of the source; null if it is not.
using StoredField = std::shared_ptr<const Field>;

// Throws ErrorKind::usage or type, and names the argument or option that does not fit. Snapshots look at the
// stored fields, which may be left out.
std::unique_ptr<ResultAccumulator> make_accumulator(const ResultSpec& spec,
                                                    std::span<const ValueType> argument_types,
                                                    std::span<const StoredField> stored_fields = {});

}  // namespace colonnade::frame

#endif
