// Parses tokens to a syntax tree by the rules of C++.
#ifndef COLONNADE_FRAME_EXPRESSION_PARSER_H
#define COLONNADE_FRAME_EXPRESSION_PARSER_H

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "frame/expression/lexer.h"
#include "frame/expression/syntax.h"

namespace colonnade::frame {

class Parser {
 public:
  explicit Parser(Formula::Syntax& syntax) : syntax_(syntax), tokens_(tokens_of(syntax.text)) {}
  // Sets the root.
  void run();

 private:
  struct Arm {
    NodeIndex condition = 0, value = 0;
  };
  // A statement before the rest of a body. `declaration`: of `name`. `conditional`: "if (condition) return
  // value;". `assignment`: to `name`. `branch`, `body`: `value` is a body, and so is `otherwise`.
  struct Step {
    NodeKind kind = NodeKind::declaration;
    std::optional<NodeIndex> value, condition, otherwise;
    std::string name, type;
    TextRange mark;
  };
  struct Block {
    std::vector<Step> steps;
    std::optional<NodeIndex> last;  // what it returns; none: it may end without a return
  };
  struct Variable {
    std::string_view name;
    std::string_view fixed_as = {};  // why it cannot be changed; empty: it can
    std::uint32_t depth = 1;         // of its value
  };
  struct Type {
    std::string name;
    std::size_t end = 0;  // the token behind it
  };

  // ---- Expressions (parser.cpp)
  NodeIndex expression();
  NodeIndex binary(int lowest);
  NodeIndex unary();
  NodeIndex postfix();
  NodeIndex member(NodeIndex object);
  NodeIndex primary();
  NodeIndex literal();
  NodeIndex name();
  NodeIndex call(std::string callee, std::vector<std::string> template_types, TextRange mark);
  NodeIndex static_cast_of(std::size_t name);
  NodeIndex list();
  NodeIndex lambda();
  void lambda_parameters(SyntaxNode& node);
  std::vector<NodeIndex> items(std::string_view close, const Token& open);

  // ---- Statements (statements.cpp)
  bool starts_statements() const;
  NodeIndex statements(bool in_braces);
  Block block(bool in_braces);
  std::optional<Type> declared_type() const;
  void declaration(const Type& type, std::vector<Step>& steps);
  void initializer(Step& step);
  void fix_variables(std::size_t begin);
  bool assigns() const;
  void assignment(std::vector<Step>& steps);
  std::size_t variable(const Token& name) const;
  std::uint32_t depth_of_variable(std::string_view name) const;
  void condition(Block& block);
  Block branch();
  NodeIndex result();
  NodeIndex assemble(const Block& block);
  NodeIndex body_of(const Block& block);
  NodeIndex node_of(const Step& step);

  // ---- Types (types.cpp)
  std::optional<Type> type_at(std::size_t at) const;
  std::optional<Type> builtin_type_at(std::size_t at) const;
  std::optional<std::size_t> qualified_name_at(std::size_t at) const;
  std::optional<Type> c_cast_at(std::size_t at) const;
  // Template arguments whose '<' is the token `at`; empty if that means "less than".
  std::optional<std::pair<std::vector<std::string>, std::size_t>> template_types_at(
      std::size_t at, std::string_view callee) const;
  std::string spelled(std::size_t begin, std::size_t end) const;

  // ---- Tools
  const Token& token(std::size_t at) const { return tokens_[at < tokens_.size() ? at : tokens_.size() - 1]; }
  const Token& here() const { return token(at_); }
  const Token& take() { return token(at_++); }
  bool accept(std::string_view symbol);
  void expect(std::string_view symbol, const Token& open);
  TextRange from(TextRange begin) const { return {begin.begin, token(at_ - 1).range.end}; }
  NodeIndex add(SyntaxNode node);
  SyntaxNode make(NodeKind kind, TextRange mark, std::vector<NodeIndex> children = {}) const;
  [[noreturn]] void fail(TextRange range, std::string_view problem) const;
  [[noreturn]] void fail_here(std::string_view wanted) const;

  Formula::Syntax& syntax_;
  std::vector<Token> tokens_;
  std::size_t at_ = 0;
  unsigned nesting_ = 0;
  std::vector<Variable> variables_;  // that are declared, the innermost scope last
  std::size_t own_variables_ = 0;    // the first one of the lambda that is parsed
};

}  // namespace colonnade::frame

#endif
