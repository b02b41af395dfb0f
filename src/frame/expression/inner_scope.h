// The scope around the body of a lambda or a loop, which has a pool of its own: names of the enclosing binder
// are captured as columns of that pool.
#ifndef COLONNADE_FRAME_EXPRESSION_INNER_SCOPE_H
#define COLONNADE_FRAME_EXPRESSION_INNER_SCOPE_H

#include <algorithm>
#include <optional>
#include <ranges>
#include <string>
#include <string_view>
#include <vector>

#include "frame/expression/binder.h"

namespace colonnade::frame {

class InnerScope final : public Scope {
 public:
  // `inputs`: the columns of the pool that are taken already.
  InnerScope(const Binder& outside, ExpressionPool& inside, std::size_t inputs)
      : outside_(outside), inside_(inside), inputs_(inputs) {}

  const std::vector<ExpressionId>& captured() const noexcept { return captured_; }

  std::optional<ExpressionId> find(std::string_view name) const override {
    const std::string_view first = name.substr(0, name.find('.'));
    for (const Binder::Local& local : std::views::reverse(outside_.locals_))
      if (local.name == first)
        return name == first ? std::optional(capture(outside_.value_of(local))) : std::nullopt;
    const auto found = outside_.scope_.find(name);
    return found ? std::optional(capture(*found)) : std::nullopt;
  }
  std::optional<ExpressionId> find_special(Op op) const override { return capture(outside_.special(op)); }
  std::vector<std::string> names() const override { return outside_.scope_.names(); }
  const Function* find_function(std::string_view name) const override {
    return outside_.scope_.find_function(name);
  }
  std::vector<std::string> function_names() const override { return outside_.scope_.function_names(); }

 private:
  ExpressionId capture(ExpressionId outer) const {
    // Constants are captured, too: as arguments they distinguish two bodies with the same text.
    const auto known = std::ranges::find(captured_, outer);
    const auto index = static_cast<std::size_t>(known - captured_.begin());
    if (known == captured_.end()) captured_.push_back(outer);
    return inside_.column(static_cast<std::uint32_t>(inputs_ + index), outside_.pool_[outer].type);
  }

  const Binder& outside_;
  ExpressionPool& inside_;
  std::size_t inputs_;
  mutable std::vector<ExpressionId> captured_;
};

}  // namespace colonnade::frame

#endif
