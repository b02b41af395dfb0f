// Profiles: the mean of a value, and its spread, per bin.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <mutex>
#include <utility>
#include <vector>

#include "colonnade/error.h"
#include "frame/results/axis.h"
#include "frame/results/exact_cells.h"
#include "frame/results/kinds.h"
#include "frame/results/moments.h"
#include "frame/results/shared_stores.h"

namespace colonnade::frame {
namespace {

struct ProfileSettings {
  std::string what;
  std::string name;
  std::string title;
  std::string spread;
  bool weighted = false;
  Binning binning;
  // Values outside are ignored.
  double least = -std::numeric_limits<double>::infinity();
  double greatest = std::numeric_limits<double>::infinity();
  bool limited = false;
  std::vector<std::string> names;
};

// Sums per bin of w, w * y, w * y * y and, if weighted, w * w; and over all fills in range, of w * x and w *
// x * x: the same as TProfile's.
template <bool weighted>
class ProfileAccumulator final : public ResultAccumulator {
 public:
  explicit ProfileAccumulator(std::shared_ptr<const ProfileSettings> settings)
      : settings_(std::move(settings)),
        moments_(settings_->binning.axes().size()),
        stores_(Sums(settings_->binning.cells()), Sums(settings_->binning.cells()).bytes()) {}

  std::unique_ptr<Accumulator> empty_copy() const override {
    return std::make_unique<ProfileAccumulator>(settings_);
  }
  std::unique_ptr<Partial> begin(PartContext& context) override {
    return std::make_unique<PartialFills>(*this, context.slot);
  }
  void merge(std::unique_ptr<Partial> partial) override {
    const auto& part = static_cast<const PartialFills&>(*partial);
    const std::lock_guard lock(mutex_);
    entries_ += part.entries;
    moments_.add(part.moments);
  }

  ResultValue value() const override {
    ProfileValue value;
    value.name = settings_->name;
    value.title = settings_->title;
    value.spread = settings_->spread;
    value.axes = settings_->binning.values();
    const std::lock_guard lock(mutex_);
    value.entries = entries_;
    Moments moments = moments_.total();
    value.sum_wx = std::move(moments.sum_wx);
    value.sum_wxx = std::move(moments.sum_wxx);
    const std::size_t bins = settings_->binning.cells();
    stores_.with_total([&](const Sums& sums) {
      const auto column = [&](std::size_t k) {
        std::vector<double> all(bins);
        for (std::size_t bin = 0; bin < bins; ++bin) all[bin] = sums.value(bin, k);
        return all;
      };
      value.sum_w = column(0);
      value.sum_wy = column(1);
      value.sum_wyy = column(2);
      // Unweighted: all weights, and their squares, are 1.
      value.sum_w2 = weighted ? column(columns - 1) : value.sum_w;
    });
    return value;
  }
  std::vector<std::byte> save() const override { return save_slice(0, 1); }
  std::uint64_t slices(std::uint64_t bytes) const override {
    return slices_of(settings_->binning.cells(), Sums::saved_bytes, bytes);
  }
  std::vector<std::byte> save_slice(std::uint64_t slice, std::uint64_t of) const override {
    const std::lock_guard lock(mutex_);
    SavedWriter to(settings_->what);
    to.number(slice == 0 ? entries_ : 0);
    const BinRange bins = BinRange::of_slice(settings_->binning.cells(), slice, of);
    stores_.with_total([&](const Sums& sums) { sums.save(to, bins); });
    moments_.save_in(slice, to);
    return to.take();
  }
  void merge_saved(std::span<const std::byte> other) override {
    SavedReader from(other, settings_->what);
    const auto entries = from.number<std::uint64_t>();
    Sums sums(settings_->binning.cells());
    weighted ? sums.load(from, 0, 0b1000) : sums.load(from, 0b001, 0b100);
    MomentSums moments(settings_->binning.axes().size());
    moments.load(from);
    from.done();
    const std::lock_guard lock(mutex_);
    entries_ += entries;
    moments_.add(moments);
    stores_.with_total([&](Sums& total) { total.add(std::move(sums)); });
  }

 private:
  static constexpr std::size_t columns = weighted ? 4 : 3;
  using Sums = ExactCells<columns>;

  struct PartialFills final : Partial {
    PartialFills(ProfileAccumulator& of, unsigned in_slot)
        : owner(of), slot(in_slot), moments(of.settings_->binning.axes().size()) {}

    void add(const Rows& rows, std::span<const ValuesPtr> arguments) override {
      const Binning& binning = owner.settings_->binning;
      const std::size_t axes = binning.axes().size();
      Fills fills(rows, arguments, owner.settings_->names);
      const typename SharedStores<Sums>::Lease store(owner.stores_, slot);
      for (std::size_t first = 0; first < fills.size(); first += Fills::chunk) {
        std::size_t count = std::min(Fills::chunk, fills.size() - first);
        std::uint32_t* bins = Fills::bin_scratch();
        const bool all_alike = !weighted && !owner.settings_->limited;
        const auto column = [&](std::size_t axis) {
          const double* x = fills.column(axis, first, count, Fills::scratch(0));
          all_alike ? moments.add(binning, axis, x, count) : moments.add_coordinates(binning, axis, x, count);
          return x;
        };
        binning.find(column, count, bins);
        const double* y = fills.column(axes, first, count, Fills::scratch(2));
        const double* w = weighted ? fills.column(axes + 1, first, count, Fills::scratch(1)) : nullptr;
        if (!all_alike) moments.add_weighted(weights_of_coordinates(count, y, w), count);
        if (owner.settings_->limited) count = keep_within_limits(count, bins, y, w);
        add_chunk(*store, bins, count, y, w);
        entries += count;
      }
    }
    // The same products as in TProfile::Fill.
    static void add_chunk(Sums& to, const std::uint32_t* bins, std::size_t count, const double* y,
                          const double* w) {
      if constexpr (weighted)
        to.add(bins, count, [=](std::size_t i) {
          const double weighted_y = w[i] * y[i];
          return std::array{w[i], weighted_y, weighted_y * y[i], w[i] * w[i]};
        });
      else
        to.add(bins, count, [=](std::size_t i) { return std::array{1., y[i], y[i] * y[i]}; });
    }
    // The weights of the coordinates: zero for fills whose value is out of limits.
    const double* weights_of_coordinates(std::size_t count, const double* y, const double* w) const {
      if (!owner.settings_->limited) return w;
      double* weights = Fills::scratch(3);
      for (std::size_t i = 0; i < count; ++i) weights[i] = !is_within_limits(y[i]) ? 0 : weighted ? w[i] : 1;
      return weights;
    }
    bool is_within_limits(double y) const {
      return y >= owner.settings_->least && y <= owner.settings_->greatest;
    }
    // Moves the fills that count to the front. NaN is out of limits; without limits it counts.
    std::size_t keep_within_limits(std::size_t count, std::uint32_t* bins, const double*& y,
                                   const double*& w) const {
      double* kept_y = Fills::scratch(2);
      double* kept_w = Fills::scratch(1);
      std::size_t kept = 0;
      for (std::size_t i = 0; i < count; ++i) {
        if (!is_within_limits(y[i])) continue;
        bins[kept] = bins[i];
        kept_y[kept] = y[i];
        if constexpr (weighted) kept_w[kept] = w[i];
        ++kept;
      }
      y = kept_y;
      w = kept_w;
      return kept;
    }

    ProfileAccumulator& owner;
    unsigned slot;
    std::uint64_t entries = 0;
    MomentSums moments;
  };

  std::shared_ptr<const ProfileSettings> settings_;
  mutable std::mutex mutex_;  // for results merged part by part
  std::uint64_t entries_ = 0;
  MomentSums moments_;  // without the weights, which are in the bins
  mutable SharedStores<Sums> stores_;
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
    // As in ROOT, equal limits mean no limits.
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
  settings->binning.require_integers(request.spec, request.types);
  if (settings->weighted) return std::make_unique<ProfileAccumulator<true>>(std::move(settings));
  return std::make_unique<ProfileAccumulator<false>>(std::move(settings));
}

}  // namespace colonnade::frame
