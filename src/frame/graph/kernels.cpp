// See kernels.h.
#include "frame/graph/kernels.h"

#include <fmt/format.h>

#include <utility>

#include "colonnade/error.h"
#include "frame/values/values.h"

namespace colonnade::frame {

namespace {

class SampleFlag final : public Kernel {
 public:
  explicit SampleFlag(std::vector<bool> of_sample) : of_sample_(std::move(of_sample)) {}

  ValuesPtr run(const CallContext& context, std::span<const ValuesPtr> /*arguments*/) const override {
    return make_constant<bool>(context.rows.size, of_sample_.at(context.sample));
  }
  const ValueType& result() const noexcept override { return result_; }
  std::string key() const override {
    std::string key = "samples ";
    for (const bool flag : of_sample_) key += flag ? '1' : '0';
    return key;
  }
  bool foldable() const noexcept override { return false; }

 private:
  std::vector<bool> of_sample_;
  ValueType result_ = ElementType::boolean;
};

class VariedItem final : public Kernel {
 public:
  VariedItem(const ValueType& list, std::size_t index, std::size_t count)
      : result_(list.item()), index_(index), count_(count) {}

  ValuesPtr run(const CallContext& context, std::span<const ValuesPtr> arguments) const override {
    const Values& lists = *arguments[0];
    auto [indices, memory] = context.memory.array<std::int64_t>(lists.size);
    for (std::size_t row = 0; row < lists.size; ++row) {
      const std::size_t stored = lists.constant ? 0 : row;
      const std::int64_t begin = lists.offsets[stored], end = lists.offsets[stored + 1];
      if (static_cast<std::size_t>(end - begin) != count_) fail(context.rows.entry(row), end - begin);
      indices[row] = begin + static_cast<std::int64_t>(index_);
    }
    return gather(lists.children.front(), std::span<const std::int64_t>(indices, lists.size), context.memory);
  }
  const ValueType& result() const noexcept override { return result_; }
  std::string key() const override { return fmt::format("varied item {} of {}", index_, count_); }
  bool only_where_needed() const noexcept override { return true; }

 private:
  [[noreturn]] void fail(std::uint64_t entry, std::int64_t items) const {
    throw Error(
        ErrorKind::usage,
        fmt::format("the values of a variation with {} tags have {} items in entry {}", count_, items, entry),
        "give one item per tag");
  }
  ValueType result_;
  std::size_t index_, count_;
};

}  // namespace

KernelPtr sample_flag(std::vector<bool> of_sample) {
  return std::make_shared<SampleFlag>(std::move(of_sample));
}

KernelPtr varied_item(const ValueType& list, std::size_t index, std::size_t count) {
  return std::make_shared<VariedItem>(list, index, count);
}

}  // namespace colonnade::frame
