// Sort, Argsort and their stable kind with a comparison of one's own: a merge sort whose comparisons are made
// for all lists of a block at once, one of each pair of runs at a time. Items that compare equal keep their
// order, so Sort is stable, too. A comparison that contradicts itself gives some order of all the items.
#include <algorithm>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "frame/expression/lambda.h"
#include "frame/functions/lists.h"
#include "frame/values/values.h"

namespace colonnade::frame {
namespace {

// Two sorted runs of the items of a row on their way to one.
struct Merge {
  std::int64_t left, left_end;
  std::int64_t right, right_end;
  std::int64_t out;
  std::uint32_t row;
};

class Sorter {
 public:
  Sorter(const LambdaBody& body, const CallContext& context, std::span<const ValuesPtr> captured,
         const Values& list)
      : body_(body),
        context_(context),
        captured_(captured),
        list_(list),
        items_(lists::dense_items(list, context.memory)),
        order_(list_.total(context.rows.size)),
        merged_(order_.size()) {
    std::iota(order_.begin(), order_.end(), std::int64_t{0});
    for (std::size_t row = 0; row < context.rows.size; ++row) longest_ = std::max(longest_, list_.count(row));
  }

  // The places of all items, those of a row together.
  std::span<const std::int64_t> run() {
    for (std::size_t width = 1; width < longest_; width *= 2) {
      std::vector<Merge> merges = merges_of(static_cast<std::int64_t>(width));
      while (!merges.empty()) step(merges);
      std::swap(order_, merged_);
    }
    return order_;
  }

 private:
  // Pairs of neighbouring runs; what has no neighbour is copied.
  std::vector<Merge> merges_of(std::int64_t width) {
    std::vector<Merge> merges;
    for (std::size_t row = 0; row < context_.rows.size; ++row) {
      const std::int64_t end = list_.begin(row) + static_cast<std::int64_t>(list_.count(row));
      for (std::int64_t begin = list_.begin(row); begin < end; begin += 2 * width) {
        const std::int64_t middle = std::min(begin + width, end);
        const std::int64_t last = std::min(middle + width, end);
        if (middle == last) {
          copy(begin, last, begin);
        } else {
          merges.push_back({begin, middle, middle, last, begin, static_cast<std::uint32_t>(row)});
        }
      }
    }
    return merges;
  }

  // Each merge gets its next item; those that are done are removed.
  void step(std::vector<Merge>& merges) {
    const ValuesPtr comes_first = compare(merges);
    const auto* holds = comes_first->as<std::uint8_t>();
    std::size_t left = 0;
    for (std::size_t i = 0; i < merges.size(); ++i) {
      Merge merge = merges[i];
      const bool take_right = holds[comes_first->constant ? 0 : i] != 0;
      merged_[static_cast<std::size_t>(merge.out++)] =
          order_[static_cast<std::size_t>(take_right ? merge.right++ : merge.left++)];
      if (merge.right == merge.right_end) {
        copy(merge.left, merge.left_end, merge.out);
      } else if (merge.left == merge.left_end) {
        copy(merge.right, merge.right_end, merge.out);
      } else {
        merges[left++] = merge;
      }
    }
    merges.resize(left);
  }

  // Whether the next item on the right comes before the next one on the left.
  ValuesPtr compare(const std::vector<Merge>& merges) {
    BlockMemory& memory = context_.memory;
    std::vector<std::int64_t> right(merges.size());
    std::vector<std::int64_t> left(merges.size());
    rows_.resize(merges.size());
    entries_.resize(merges.size());
    for (std::size_t i = 0; i < merges.size(); ++i) {
      right[i] = order_[static_cast<std::size_t>(merges[i].right)];
      left[i] = order_[static_cast<std::size_t>(merges[i].left)];
      rows_[i] = merges[i].row;
      entries_[i] = static_cast<std::uint32_t>(context_.rows.entry(merges[i].row) - context_.rows.first);
    }
    std::vector<ValuesPtr> inputs = {lists::pick(items_, right, memory), lists::pick(items_, left, memory)};
    for (const ValuesPtr& captured : captured_)
      inputs.push_back(captured->constant ? repeat(captured, merges.size())
                                          : gather(captured, std::span<const std::uint32_t>(rows_), memory));
    return run_body(body_, context_, {context_.rows.first, merges.size(), entries_.data()},
                    std::move(inputs));
  }

  void copy(std::int64_t begin, std::int64_t end, std::int64_t out) {
    std::copy(order_.begin() + begin, order_.begin() + end, merged_.begin() + out);
  }

  const LambdaBody& body_;
  const CallContext& context_;
  std::span<const ValuesPtr> captured_;
  lists::ListView list_;
  ValuesPtr items_;
  std::vector<std::int64_t> order_;
  std::vector<std::int64_t> merged_;
  std::vector<std::uint32_t> rows_;
  std::vector<std::uint32_t> entries_;
  std::size_t longest_ = 0;
};

class OrderKernel final : public Kernel {
 public:
  explicit OrderKernel(LambdaBody body) : body_(std::move(body)) {}

  ValuesPtr run(const CallContext& context, std::span<const ValuesPtr> arguments) const override {
    const ValuesPtr list = arguments[0]->constant ? spread(arguments[0], context.memory) : arguments[0];
    const lists::ListView view(*list);
    Sorter sorter(body_, context, arguments.subspan(1), *list);
    const std::span<const std::int64_t> order = sorter.run();
    auto [out, owner] = context.memory.array<std::uint64_t>(order.size());
    for (std::size_t row = 0; row < context.rows.size; ++row) {
      const auto begin = static_cast<std::size_t>(view.begin(row));
      for (std::size_t i = begin; i < begin + view.count(row); ++i)
        out[i] = static_cast<std::uint64_t>(order[i] - view.begin(row));
    }
    return make_list(context.rows.size, view.offsets(),
                     make_scalars(ElementType::uint64, order.size(), out, std::move(owner)), list);
  }
  const ValueType& result() const noexcept override { return result_; }
  std::string key() const override { return "Argsort " + body_.text; }
  bool only_where_needed() const noexcept override { return only_where_needed_; }
  bool takes_large_blocks() const noexcept override { return large_blocks_; }
  bool foldable() const noexcept override { return false; }

 private:
  LambdaBody body_;
  ValueType result_ = ValueType::list(ElementType::uint64);
  bool only_where_needed_ = body_.only_where_needed();
  bool large_blocks_ = body_.takes_large_blocks();
};

}  // namespace

KernelPtr order_kernel(LambdaBody body) {
  return std::make_shared<OrderKernel>(std::move(body));
}

}  // namespace colonnade::frame
