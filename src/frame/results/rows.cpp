// Rows as values: take keeps all of them as arrays, display the first ones.
#include <algorithm>
#include <atomic>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "colonnade/error.h"
#include "frame/results/arrays.h"
#include "frame/results/kinds.h"

namespace colonnade::frame {
namespace {

struct RowsSettings {
  std::string what;
  std::vector<std::string> names;
  std::vector<ValueType> types;
  std::size_t most = std::numeric_limits<std::size_t>::max();  // rows
};

// How many times the rows of the first block a part has, if it goes on like it, and a little more.
double times_to_come(const PartContext& part, const Rows& rows) {
  constexpr std::size_t telling = 64;  // rows
  constexpr double most = 4096;
  if (rows.size < telling) return 1;
  const std::uint64_t reached = rows.entry(rows.size - 1) + 1 - part.first;
  return std::min(1.0625 * static_cast<double>(part.last - part.first) / static_cast<double>(reached), most);
}

class RowsAccumulator final : public ResultAccumulator {
 public:
  explicit RowsAccumulator(std::shared_ptr<const RowsSettings> settings)
      : settings_(std::move(settings)), rows_(std::make_shared<ColumnsBuilder>(settings_->types)) {}

  std::unique_ptr<Accumulator> empty_copy() const override {
    return std::make_unique<RowsAccumulator>(settings_);
  }
  std::uint64_t most_rows() const noexcept override { return settings_->most; }
  std::unique_ptr<Partial> begin(PartContext& context) override {
    return std::make_unique<PartialRows>(*this, context);
  }
  void merge(std::unique_ptr<Partial> partial) override { static_cast<PartialRows&>(*partial).flush(); }
  void finish() override {
    spare_.clear();
    if (rows_.use_count() == 1) rows_->shrink();
  }

  ResultValue value() const override {
    ArraysValue value;
    std::vector<ValuesPtr> columns = rows_->values(rows_);
    for (std::size_t i = 0; i < columns.size(); ++i)
      value.columns.push_back({settings_->names[i], std::move(columns[i])});
    return value;
  }
  std::vector<std::byte> save() const override {
    SavedWriter to(settings_->what);
    rows_->save(to);
    return to.take();
  }
  void merge_saved(std::span<const std::byte> later) override {
    SavedReader from(later, settings_->what);
    ColumnsBuilder more(settings_->types);
    more.append_saved(from);
    from.done();
    append(more.values({}), more.rows());
  }

 private:
  class PartialRows final : public Partial {
   public:
    PartialRows(RowsAccumulator& owner, PartContext& context) : owner_(owner), context_(context) {}
    void add(const Rows& rows, std::span<const ValuesPtr> arguments) override {
      if (context_.is_my_turn()) {
        flush();
        owner_.append(arguments, rows.size);
        owner_.expect_more(*owner_.rows_, context_, rows);
      } else if (!owner_.full_.load(std::memory_order_relaxed)) {
        if (!rows_) rows_ = owner_.spare_.take(owner_.settings_->types);
        rows_->append(arguments, std::min(rows.size, owner_.settings_->most - rows_->rows()));
        owner_.expect_more(*rows_, context_, rows);
      }
    }
    void flush() {
      if (!rows_) return;
      owner_.append(rows_->values({}), rows_->rows());
      owner_.spare_.give_back(std::move(*rows_));
      rows_.reset();
    }

   private:
    RowsAccumulator& owner_;
    PartContext& context_;
    std::optional<ColumnsBuilder> rows_;
  };

  // Memory that grows step by step costs more than what is written to it.
  void expect_more(ColumnsBuilder& to, const PartContext& part, const Rows& block) const {
    if (to.rows() == block.size && settings_->most > part.last - part.first)
      to.reserve(times_to_come(part, block));
  }

  void append(std::span<const ValuesPtr> values, std::size_t count) {
    // Copy on write: the value may still be in use.
    if (rows_.use_count() > 1) rows_ = ColumnsBuilder::copy_of(*rows_, settings_->types);
    rows_->append(values, std::min(count, settings_->most - rows_->rows()));
    if (rows_->rows() == settings_->most) full_.store(true, std::memory_order_relaxed);
  }

  std::shared_ptr<const RowsSettings> settings_;
  std::shared_ptr<ColumnsBuilder> rows_;
  std::atomic<bool> full_ = false;
  SpareBuilders spare_;  // for parts that are not next in order
};

std::shared_ptr<RowsSettings> settings_of(const Request& request) {
  require_arguments(request.spec, request.types, 1, std::numeric_limits<std::size_t>::max(),
                    "at least one column");
  auto settings = std::make_shared<RowsSettings>();
  settings->names = names_of(request);
  settings->types.assign(request.types.begin(), request.types.end());
  settings->what = request.spec.kind + " of";
  for (const ValueType& type : settings->types) settings->what += " " + type.name();
  return settings;
}

}  // namespace

std::vector<std::string> names_of(const Request& request) {
  if (!request.options.has("names")) return request.spec.arguments;
  std::vector<std::string> names = request.options.texts("names");
  if (names.size() != request.types.size()) request.options.refuse("names", "a name for every argument");
  return names;
}

std::unique_ptr<ResultAccumulator> make_take(const Request& request) {
  request.options.only({"names"});
  return std::make_unique<RowsAccumulator>(settings_of(request));
}

std::unique_ptr<ResultAccumulator> make_display(const Request& request) {
  request.options.only({"names", "rows"});
  auto settings = settings_of(request);
  settings->most = request.options.count("rows", 5, 0, std::uint64_t{1} << 40);
  return std::make_unique<RowsAccumulator>(std::move(settings));
}

}  // namespace colonnade::frame
