// Graphs: points with or without errors, in entry order.
#include <algorithm>
#include <utility>

#include "colonnade/error.h"
#include "frame/results/kinds.h"
#include "frame/results/turns.h"

namespace colonnade::frame {
namespace {

struct GraphSettings {
  std::string what;
  std::string name;
  std::string title;
  std::size_t columns = 2;
  std::vector<std::string> names;
};

struct GraphState {
  using Batch = NumberBatch<6>;  // x, y, errors

  explicit GraphState(std::shared_ptr<const GraphSettings> s) : settings(std::move(s)) {}

  void compute(Fills& fills, std::size_t first, std::size_t count, Batch& to) const {
    for (std::size_t k = 0; k < settings->columns; ++k)
      to.append(k, fills.column(k, first, count, Fills::scratch(0)), count);
  }
  void apply(const Batch& batch) {
    for (std::size_t k = 0; k < settings->columns; ++k)
      points.append(k, batch.numbers[k].data(), batch.numbers[k].size());
  }
  ResultValue value() const {
    GraphValue value;
    value.name = settings->name;
    value.title = settings->title;
    value.x = points.numbers[0];
    value.y = points.numbers[1];
    for (std::size_t k = 2; k < settings->columns; ++k) value.errors[k - 2] = points.numbers[k];
    return value;
  }
  void save(SavedWriter& to) const {
    for (std::size_t k = 0; k < settings->columns; ++k) to.array(std::span<const double>(points.numbers[k]));
  }
  void merge_saved(SavedReader& from) {
    Batch later;
    for (std::size_t k = 0; k < settings->columns; ++k) {
      later.numbers[k] = from.array<double>();
      if (later.numbers[k].size() != later.numbers[0].size())
        SavedReader::fail("columns of different lengths");
    }
    from.done();
    apply(later);
  }

  std::shared_ptr<const GraphSettings> settings;
  Batch points;
};

}  // namespace

std::unique_ptr<ResultAccumulator> make_graph(const Request& request) {
  request.options.only({"errors", "name", "title"});
  const std::uint64_t errors = request.options.count("errors", 0, 0, 4);
  if (errors != 0 && errors != 4) request.options.refuse("errors", "0, or 4: x low, x high, y low, y high");
  require_arguments(request.spec, request.types, 2 + errors, 2 + errors,
                    errors == 0 ? "x and y; or set the option 'errors' to 4"
                                : "x, y, and errors: x low, x high, y low, y high");
  require_numbers(request.spec, request.types);
  auto settings = std::make_shared<GraphSettings>();
  settings->what = errors == 0 ? "graph" : "graph with errors";
  settings->name = request.options.text("name");
  settings->title = request.options.text("title");
  settings->columns = 2 + errors;
  settings->names = request.spec.arguments;
  return std::make_unique<OrderedAccumulator<GraphState, GraphSettings>>(std::move(settings));
}

}  // namespace colonnade::frame
