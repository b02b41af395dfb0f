// Profiles: the mean of a value, and its spread, per bin.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "colonnade/error.h"
#include "frame/results/axis.h"
#include "frame/results/cells.h"
#include "frame/results/kinds.h"
#include "frame/results/turns.h"

namespace colonnade::frame {
namespace {

struct ProfileSettings {
  std::string what;
  std::string name;
  std::string title;
  std::string spread;
  bool weighted = false;
  Binning binning;
  // Values beyond are not looked at.
  double least = -std::numeric_limits<double>::infinity();
  double greatest = std::numeric_limits<double>::infinity();
  bool limited = false;
  std::vector<std::string> names;
};

struct ProfileState {
  struct Batch {
    void clear() {
      bins.clear();
      numbers.clear();
    }
    std::size_t bytes() const { return bins.capacity() * sizeof(std::uint32_t) + numbers.bytes(); }
    std::vector<std::uint32_t> bins;
    NumberBatch<2> numbers;  // value, weight
  };

  explicit ProfileState(std::shared_ptr<const ProfileSettings> s) : settings(std::move(s)) {}

  void compute(Fills& fills, std::size_t first, std::size_t count, Batch& to) const {
    const Binning& binning = settings->binning;
    std::uint32_t* bins = Fills::bin_scratch();
    binning.find([&](std::size_t axis) { return fills.column(axis, first, count, Fills::scratch(0)); }, count,
                 bins);
    const std::size_t axes = binning.axes().size();
    to.bins.insert(to.bins.end(), bins, bins + count);
    to.numbers.append(0, fills.column(axes, first, count, Fills::scratch(0)), count);
    if (settings->weighted)
      to.numbers.append(1, fills.column(axes + 1, first, count, Fills::scratch(0)), count);
  }
  // As TProfile::Fill does it.
  void apply(const Batch& batch) {
    make();
    for (std::size_t i = 0; i < batch.bins.size(); ++i) {
      const double y = batch.numbers.numbers[0][i];
      // NaN is beyond limits, and a value like others without.
      if (settings->limited && !(y >= settings->least && y <= settings->greatest)) continue;
      const std::uint32_t bin = batch.bins[i];
      const double weight = settings->weighted ? batch.numbers.numbers[1][i] : 1;
      const double weighted_y = weight * y;
      cells[0][bin] += weight;
      if (settings->weighted) cells[1][bin] += weight * weight;
      cells[2][bin] += weighted_y;
      cells[3][bin] += weighted_y * y;
      ++entries;
    }
  }
  bool uses(std::size_t which) const { return which != 1 || settings->weighted; }
  void make() {
    if (!cells[0].empty()) return;
    for (std::size_t k = 0; k < cells.size(); ++k)
      if (uses(k)) cells[k].make(settings->binning.cells());
  }

  ResultValue value() const {
    ProfileValue value;
    value.name = settings->name;
    value.title = settings->title;
    value.spread = settings->spread;
    value.axes = settings->binning.values();
    value.entries = entries;
    const std::array<std::vector<double>*, 4> to = {&value.sum_w, &value.sum_w2, &value.sum_wy,
                                                    &value.sum_wyy};
    for (std::size_t k = 0; k < cells.size(); ++k) {
      to[k]->assign(settings->binning.cells(), 0);
      // Without weights all are 1, and so are their squares.
      const auto from = cells[uses(k) ? k : 0].view();
      std::copy(from.begin(), from.end(), to[k]->begin());
    }
    return value;
  }
  void save(SavedWriter& to) const {
    to.number(entries);
    for (std::size_t k = 0; k < cells.size(); ++k)
      if (uses(k)) to.sparse(cells[k].view());
  }
  void merge_saved(SavedReader& from) {
    const auto more = from.number<std::uint64_t>();
    std::array<Cells<double>, 4> later;
    for (std::size_t k = 0; k < later.size(); ++k) {
      if (!uses(k)) continue;
      later[k].make(settings->binning.cells());
      from.sparse(later[k].size(), [&](std::size_t bin, double value) { later[k][bin] = value; });
    }
    from.done();
    make();
    for (std::size_t k = 0; k < later.size(); ++k)
      for (std::size_t i = 0; i < later[k].size(); ++i) cells[k][i] += later[k][i];
    entries += more;
  }

  std::shared_ptr<const ProfileSettings> settings;
  std::uint64_t entries = 0;
  std::array<Cells<double>, 4> cells;  // sums of w, w^2, w y, w y^2
};

}  // namespace

std::unique_ptr<ResultAccumulator> make_profile(const Request& request) {
  const Options& options = request.options;
  options.only({"axes", "weighted", "name", "title", "spread", "limits"});
  auto settings = std::make_shared<ProfileSettings>();
  settings->name = options.text("name");
  settings->title = options.text("title");
  settings->spread = options.choice("spread", {"mean", "s", "i", "g"});
  settings->weighted = options.flag("weighted", false);
  settings->binning = Binning::parse(options, 1);
  settings->names = request.spec.arguments;
  if (settings->binning.automatic())
    options.refuse("axes", "low and high, or edges, for every axis of a profile");
  if (options.has("limits")) {
    const std::vector<double> limits = options.numbers("limits");
    if (limits.size() != 2 || !(limits[0] <= limits[1]))
      options.refuse("limits", "[least, greatest] of the values");
    // As in ROOT, equal limits are none.
    settings->limited = limits[0] < limits[1];
    settings->least = limits[0];
    settings->greatest = limits[1];
  }
  settings->what =
      fmt::format("{}profile of {}", settings->weighted ? "weighted " : "", settings->binning.text());
  const std::size_t axes = settings->binning.axes().size();
  const std::size_t wanted = axes + 1 + (settings->weighted ? 1 : 0);
  const std::string advice =
      fmt::format("{}: one for each of {} axes, then the value{}", wanted, axes,
                  settings->weighted ? ", then the weight" : "; or set the option 'weighted'");
  require_arguments(request.spec, request.types, wanted, wanted, advice.c_str());
  require_numbers(request.spec, request.types);
  return std::make_unique<OrderedAccumulator<ProfileState, ProfileSettings>>(std::move(settings));
}

}  // namespace colonnade::frame
