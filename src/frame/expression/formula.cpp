// Formula: a text, its syntax tree, and its binding in a scope; see expression.h.
#include "frame/expression/binder.h"
#include "frame/expression/expression.h"
#include "frame/expression/syntax.h"

namespace colonnade::frame {

Formula::Formula(std::string text) : syntax_(std::make_shared<const Syntax>(parse(std::move(text)))) {}

ExpressionId Formula::bind(ExpressionPool& pool, const Scope& scope) const {
  return Binder(*syntax_, pool, scope).bind();
}

std::vector<ExpressionId> Formula::bind_items(ExpressionPool& pool, const Scope& scope,
                                              const std::optional<ValueType>& of_empty) const {
  return Binder(*syntax_, pool, scope).bind_items(of_empty);
}

}  // namespace colonnade::frame
