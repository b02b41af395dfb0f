// Formula: a text, its syntax tree, and its binding in a scope; see expression.h.
#include <algorithm>
#include <ranges>

#include "frame/expression/binder.h"
#include "frame/expression/expression.h"
#include "frame/expression/syntax.h"

namespace colonnade::frame {
namespace {

// Collects the column names in a tree as they are looked up: the longest dotted path of
// each.
class NameCollector {
 public:
  explicit NameCollector(const Formula::Syntax& syntax) : syntax_(syntax) { visit(syntax.root, {}); }
  std::vector<std::string> take() { return std::move(names_); }

 private:
  using Locals = std::vector<std::string_view>;

  void visit(NodeIndex index, Locals locals) {
    // Nodes that continue in their last child, like let and ?:, need no recursion.
    for (;;) {
      const SyntaxNode& node = syntax_[index];
      if (node.kind == NodeKind::name || node.kind == NodeKind::member) {
        const std::string path = dotted_path(syntax_, index);
        if (!path.empty()) return add(path, locals, is_quoted(index));
      }
      if (node.children.empty()) return;
      if (node.kind == NodeKind::body) return visit_body(node, locals);
      const bool left_deep = node.kind == NodeKind::binary;
      if (left_deep) return visit_chain(index, locals);
      for (std::size_t i = 0; i + 1 < node.children.size(); ++i) visit(node.children[i], locals);
      if (node.kind == NodeKind::let) locals.push_back(node.text);
      if (node.kind == NodeKind::lambda)
        locals.insert(locals.end(), node.parameters.begin(), node.parameters.end());
      index = node.children.back();
    }
  }

  void visit_body(const SyntaxNode& body, Locals locals) {
    for (const NodeIndex statement : body.children) {
      visit(statement, locals);
      if (syntax_[statement].kind == NodeKind::declaration || syntax_[statement].kind == NodeKind::invocation)
        locals.push_back(syntax_[statement].text);
    }
  }

  void visit_chain(NodeIndex index, const Locals& locals) {
    std::vector<NodeIndex> right;
    for (; syntax_[index].kind == NodeKind::binary; index = syntax_[index].children.front())
      right.push_back(syntax_[index].children[1]);
    visit(index, locals);
    for (const NodeIndex operand : std::views::reverse(right)) visit(operand, locals);
  }

  bool is_quoted(NodeIndex index) const {
    while (syntax_[index].kind == NodeKind::member) index = syntax_[index].children.front();
    return syntax_[index].quoted;
  }

  void add(const std::string& path, const Locals& locals, bool is_quoted) {
    const std::string_view first = std::string_view(path).substr(0, path.find('.'));
    const bool is_other = std::ranges::find(locals, first) != locals.end() || is_named_constant(path);
    if (is_other && !is_quoted) return;
    if (std::ranges::find(names_, path) == names_.end()) names_.push_back(path);
  }

  const Formula::Syntax& syntax_;
  std::vector<std::string> names_;
};

}  // namespace

Formula::Formula(std::string text)
    : text_(std::move(text)), syntax_(std::make_shared<const Syntax>(parse(text_))) {}
Formula::~Formula() = default;
Formula::Formula(Formula&&) noexcept = default;
Formula& Formula::operator=(Formula&&) noexcept = default;

std::vector<std::string> Formula::names() const {
  return NameCollector(*syntax_).take();
}

ExpressionId Formula::bind(ExpressionPool& pool, const Scope& scope) const {
  return Binder(*syntax_, pool, scope).bind();
}

std::vector<ExpressionId> Formula::bind_items(ExpressionPool& pool, const Scope& scope,
                                              const std::optional<ValueType>& of_empty) const {
  return Binder(*syntax_, pool, scope).bind_items(of_empty);
}

std::vector<std::vector<ExpressionId>> Formula::bind_nested_items(ExpressionPool& pool,
                                                                  const Scope& scope) const {
  return Binder(*syntax_, pool, scope).bind_nested_items();
}

}  // namespace colonnade::frame
