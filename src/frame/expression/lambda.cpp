// The body of a lambda is evaluated for all items of a block at once, as if each were an entry. See lambda.h.
#include "frame/expression/lambda.h"

#include <algorithm>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "colonnade/error.h"
#include "frame/expression/body_run.h"
#include "frame/expression/members.h"
#include "frame/functions/lists.h"
#include "frame/values/values.h"

namespace colonnade::frame {
namespace {

class MapKernel final : public Kernel {
 public:
  explicit MapKernel(LambdaBody body) : body_(std::move(body)), result_(ValueType::list(body_.type())) {}

  ValuesPtr run(const CallContext& context, std::span<const ValuesPtr> arguments) const override {
    std::vector<ValuesPtr> lists;
    for (std::size_t i = 0; i < body_.parameters; ++i) {
      lists.push_back(arguments[i]->constant ? spread(arguments[i], context.memory) : arguments[i]);
      lists::require_same_sizes(context, lists::ListView(*lists[0]), lists::ListView(*lists[i]),
                                "the lists of Map");
    }
    const std::size_t rows = context.rows.size;
    const std::int64_t* offsets = lists[0]->offsets;
    const auto total = static_cast<std::size_t>(offsets[rows] - offsets[0]);
    if (total == 0) return repeat(empty_list(result_.item()), rows);

    auto [row_of, row_owner] = context.memory.array<std::uint32_t>(total);
    auto [out, out_owner] = context.memory.array<std::int64_t>(rows + 1);
    for (std::size_t row = 0; row <= rows; ++row) out[row] = offsets[row] - offsets[0];
    for (std::size_t row = 0; row < rows; ++row)
      std::fill(row_of + out[row], row_of + out[row + 1], static_cast<std::uint32_t>(row));
    auto [indices, indices_owner] = context.memory.array<std::uint32_t>(total);
    for (std::size_t i = 0; i < total; ++i)
      indices[i] = static_cast<std::uint32_t>(context.rows.entry(row_of[i]) - context.rows.first);
    std::vector<ValuesPtr> inputs;
    for (const ValuesPtr& list : lists)
      inputs.push_back(slice(lists::dense_items(*list, context.memory),
                             static_cast<std::size_t>(list->offsets[0]), total, context.memory));
    for (const ValuesPtr& captured : arguments.subspan(body_.parameters))
      inputs.push_back(captured->constant
                           ? repeat(captured, total)
                           : gather(captured, std::span<const std::uint32_t>(row_of, total), context.memory));
    const ValuesPtr values =
        run_body(body_, context, {context.rows.first, total, indices}, std::move(inputs));
    return make_list(rows, out, spread(values, context.memory), std::move(out_owner));
  }
  const ValueType& result() const noexcept override { return result_; }
  std::string key() const override { return "Map " + body_.text; }
  bool only_where_needed() const noexcept override { return only_where_needed_ || body_.parameters > 1; }
  bool takes_large_blocks() const noexcept override { return large_blocks_; }
  bool foldable() const noexcept override { return false; }

 private:
  LambdaBody body_;
  ValueType result_;
  bool only_where_needed_ = body_.only_where_needed();
  bool large_blocks_ = body_.takes_large_blocks();
};

}  // namespace

bool LambdaBody::only_where_needed() const {
  return any_of(*pool, [](const Expression& each) { return each.only_where_needed; });
}

bool LambdaBody::takes_large_blocks() const {
  return any_of(*pool, [](const Expression& each) {
    return each.kernel != nullptr && each.kernel->takes_large_blocks();
  });
}

ValuesPtr run_body(const LambdaBody& body, const CallContext& context, const Rows& rows,
                   std::vector<ValuesPtr> inputs) {
  BodyRun run(*body.pool, context, std::move(inputs));
  ItemSet items = run.all(rows);
  return run.value(body.result, items);
}

KernelPtr map_kernel(LambdaBody body) {
  return std::make_shared<MapKernel>(std::move(body));
}

}  // namespace colonnade::frame
