// Parses tokens to a syntax tree by the rules of C++.
#ifndef COLONNADE_FRAME_EXPRESSION_PARSER_H
#define COLONNADE_FRAME_EXPRESSION_PARSER_H

#include <deque>
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
  // Functions; the nodes of `into` are the syntax of the constructor.
  void run(FunctionsSyntax& into, const TemplateTypes* chosen);

 private:
  static constexpr std::size_t most_variables = 1000;
  static constexpr unsigned most_nested = 256;  // brackets

  struct Arm {
    NodeIndex condition = 0, value = 0;
  };
  // A statement before the rest of a body. `declaration`: of `name`. `conditional`: "if (condition) return
  // value;". Others are a node already.
  struct Step {
    NodeKind kind = NodeKind::declaration;
    std::optional<NodeIndex> value, condition;
    std::string name, type;
    TextRange mark;
  };
  // Assignments within the expressions of a statement: "x[i++] = y = 2;".
  struct Effects {
    std::vector<NodeIndex> before, after;
    std::vector<const Token*> names;  // of what changes, which is named once
    unsigned conditions = 0;          // around this place: what is behind && or ?
  };
  struct Block {
    std::vector<Step> steps;
    std::optional<NodeIndex> last;  // what it returns
    bool ends = false;              // without a value: by break or continue, or never

    bool leads_on() const { return !last && !ends; }
  };
  // A lambda that a variable stands for.
  struct Closure {
    NodeIndex lambda = 0;
    std::vector<std::size_t> variables;  // around it that it uses
    std::vector<std::string> unknown;    // names that are no variables
    std::size_t size = 0;                // in nodes, with those of the lambdas that it calls
  };
  struct Variable {
    std::string_view name;
    std::string_view node_name = {};  // as nodes have it
    std::string_view fixed_as = {};   // why it cannot be changed; empty: it can
    std::size_t fixed_at = 0;         // the number of variables with the one that fixed it
    std::uint32_t depth = 1;          // of its value
    // Of one that stands for the items of a list: the number of that, and the variable with the place.
    std::size_t list = 0;
    std::string_view place = {};
    const Closure* closure = nullptr;
    std::optional<NodeIndex> iterates = {};  // of an iterator: its list
  };
  // A name within a lambda, and the number of the variable that it means; none if it is no variable.
  struct Use {
    std::string name;
    std::optional<std::size_t> variable;
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
  std::vector<NodeIndex> items(std::string_view close, const Token& open);

  // ---- Lambdas (lambdas.cpp)
  NodeIndex lambda();
  bool declares_lambda(const Type& type) const;
  void lambda_declaration(const Type& type);
  NodeIndex closure(const Closure& closure, const Token& name);
  NodeIndex application(NodeIndex lambda, TextRange mark, std::uint32_t depth);

  // ---- Statements (statements.cpp)
  bool starts_statements() const;
  NodeIndex statements(bool in_braces);
  Block block(bool in_braces);
  void statement(Block& block);
  std::optional<Type> declared_type() const;
  void declaration(const Type& type, std::vector<Step>& steps);
  void initializer(Step& step);
  std::string array_type(const std::string& item);
  void declare(Variable variable, Step step, std::vector<Step>& steps);
  std::optional<Type> binding_type() const;
  std::vector<const Token*> bound_names();
  void bindings(const Type& type, std::vector<Step>& steps);
  void bind_members(const Variable& common, const std::vector<const Token*>& names, std::string_view object,
                    std::vector<Step>& steps);
  std::string_view add_variable(Variable variable, TextRange mark);
  void fix_variables(std::size_t begin, std::size_t end, std::string_view reason);
  void leave_scope(std::size_t around);
  std::size_t variable(const Token& name) const;
  std::optional<std::size_t> find_variable(std::string_view name) const;
  bool is_changeable(const Token& name) const;
  void condition(Block& block);
  Block branch();
  NodeIndex result();
  NodeIndex assemble(const Block& block);
  NodeIndex body_of(const Block& block);
  NodeIndex node_of(const Step& step);
  void add_step(Block& block, NodeIndex node) const;

  // ---- Assignments (assignments.cpp)
  struct Target {
    NodeIndex node = 0;
    std::size_t variable = 0;
  };
  bool assigns() const;
  std::size_t end_of_target(std::size_t at) const;
  NodeIndex assignment();
  Target target();
  std::optional<Target> alias_of(const Token& name);
  NodeIndex named(std::string_view name, TextRange mark);
  NodeIndex named(std::size_t variable, TextRange mark);
  std::size_t name_of_rearrangement() const;
  NodeIndex rearrangement();
  NodeIndex erased(const Target& target, NodeIndex removed, TextRange mark);
  NodeIndex changed_by_method(const Target& target);
  bool steps_within() const;
  NodeIndex stepped();
  // Calls `parse`, with the assignments before and behind what it reads added to the block.
  template <class Parse>
  void with_effects(Block& block, Parse parse) {
    Effects effects;
    Effects* const around = std::exchange(effects_, &effects);
    const std::size_t begin = at_;
    Block inner;
    parse(inner);
    effects_ = around;
    require_single_names(effects, begin);
    for (const NodeIndex each : effects.before) add_step(block, each);
    for (Step& step : inner.steps) block.steps.push_back(std::move(step));
    if (!inner.last)  // nothing reads a variable behind a return
      for (const NodeIndex each : effects.after) add_step(block, each);
    block.last = inner.last;
    block.ends = inner.ends;
  }
  void require_single_names(const Effects& effects, std::size_t begin) const;
  NodeIndex condition_with_effects(Block& block, TextRange mark, bool in_brackets = true);
  NodeIndex assigned(const Target& target, TextRange mark, std::vector<NodeIndex> children,
                     std::string_view method);

  // ---- Iterators and the algorithms of the standard library (algorithms.cpp)
  struct Range {
    std::size_t first = 0, last = 0;  // the tokens of the list
    std::size_t end = 0;              // the token behind the range's begin or end
    bool is_reverse = false;
  };
  NodeIndex iterator(NodeIndex list, bool is_end, TextRange mark);
  bool is_iterator(NodeIndex node) const { return syntax_[node].list.has_value(); }
  bool is_end_of(NodeIndex node) const;
  bool is_begin_of(NodeIndex node) const;
  bool is_same(NodeIndex a, NodeIndex b) const;
  NodeIndex item_at(NodeIndex iterator, TextRange mark);
  std::optional<NodeIndex> algorithm(std::string_view callee, const std::vector<NodeIndex>& arguments,
                                     TextRange mark);
  NodeIndex follow(std::string_view text, std::vector<Step> before, const std::vector<Variable>& names,
                   TextRange mark);
  std::optional<Range> range_at(std::size_t at, bool is_end) const;

  // ---- Loops (loops.cpp)
  struct Loop {
    TextRange mark;
    NodeIndex condition = 0;
    std::optional<NodeIndex> step;
    std::string kind;
    bool is_endless = false;
  };
  bool starts_loop() const;
  void loop(Block& block);
  void for_loop(Block& block);
  void range_loop(Block& block, const Type& type);
  void while_loop(Block& block);
  void do_loop(Block& block);
  void close(Block& block, Loop loop, const Block& body);
  void close_with(Block& block, Loop loop, Block& turn);
  NodeIndex condition_in_brackets();
  NodeIndex truth(TextRange mark);
  NodeIndex falsehood(TextRange mark);
  void end_unless(NodeIndex condition, TextRange mark, Block& block);
  void jump(Block& block);

  // ---- Switches (switches.cpp)
  struct Section {
    std::vector<NodeIndex> labels;
    bool is_default = false;
    bool is_left = false;  // by a break at its end
    Block body;
    TextRange mark;
  };
  void selection(Block& block);
  Section section();
  NodeIndex selects(const std::vector<Section>& sections, const Section& section, std::string_view selector);
  NodeIndex any_of(const std::vector<NodeIndex>& conditions, TextRange mark);

  // ---- Functions (function_definitions.cpp)
  void definition(FunctionsSyntax& into);
  void name_space(FunctionsSyntax& into);
  std::vector<std::string> template_names();
  void function(FunctionSyntax made, FunctionsSyntax& into);
  FunctionSyntax::Parameter parameter();
  void skip_body(const Token& brace);
  void alias(bool in_block);
  std::string_view written(std::size_t at) const;
  std::size_t end_of_written(std::size_t at) const;
  void replace_names(std::string_view name, const std::vector<Token>& by, bool in_block);
  void enumeration(FunctionsSyntax& into);

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
  unsigned loops_ = 0;               // around this place, within the lambda
  unsigned jumps_ = 0;               // so far
  unsigned aliases_ = 0;
  bool breaks_ = false;             // the innermost one is left by a break
  bool in_switch_ = false;          // which a break would leave
  bool leaves_switch_ = false;      // one does
  std::deque<std::string> hidden_;  // names of variables that no text can spell
  std::deque<Closure> closures_;
  std::vector<Use> uses_;       // within lambdas that have names
  unsigned named_lambdas_ = 0;  // around this place
  std::size_t repeated_ = 0;    // nodes of lambdas, for each call
  std::string namespace_;       // with :: at its end
  const TemplateTypes* template_types_ = nullptr;
  Effects* effects_ = nullptr;     // none: expressions change nothing here
  std::optional<TextRange> mark_;  // of all nodes, if they are not made of the text
};

}  // namespace colonnade::frame

#endif
