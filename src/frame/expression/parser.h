// Parses tokens to a syntax tree by the rules of C++.
#ifndef COLONNADE_FRAME_EXPRESSION_PARSER_H
#define COLONNADE_FRAME_EXPRESSION_PARSER_H

#include <algorithm>
#include <deque>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "frame/expression/lexer.h"
#include "frame/expression/syntax.h"

namespace colonnade::frame {

// Every '<' is examined as if it began template arguments; this limit keeps the time linear.
inline constexpr std::size_t most_template_tokens = 100;

// "operator_less" of "<", as functions are called that define operators; empty for others.
std::string_view name_of_operator(std::string_view symbol);
// push_back and similar methods of lists
bool is_changing_method(const Token& method);
// Words in front of the type of a function.
bool is_specifier(const Token& token);
// Of std::map, std::set and the unordered ones.
bool is_map_name(std::string_view type);

// The operator in front of the '=' of an assignment; none for other tokens. Of ++ and -- as well.
std::optional<std::string_view> assigned_by(const Token& token);

class Parser {
 public:
  explicit Parser(Formula::Syntax& syntax) : syntax_(syntax), tokens_(queue_of(syntax.text)) {}
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
  // What changes variables within the expressions of a statement: "x[i++] = y = add(2);".
  struct Change {
    std::size_t variable = 0;
    TextRange mark;
  };
  struct Effects {
    std::vector<Step> before, after;
    std::vector<const Token*> names;  // of what changes, which is named once
    std::vector<Change> changes;      // by calls, of what nothing else in the statement reads
    unsigned conditions = 0;          // around this place: what is behind && or ?
  };
  struct Block {
    std::vector<Step> steps;
    std::optional<NodeIndex> last;  // what it returns
    bool ends = false;              // without a value: by break or continue, or never

    bool leads_on() const { return !last && !ends; }
  };
  struct Parameter {
    std::size_t variable = 0;
    std::string node_name;
    bool is_reference = false;
    bool may_change = false;          // what it refers to
    bool changes = false;             // and does
    std::optional<NodeIndex> preset;  // if a call gives no value
  };
  // A lambda, or a function that changes its arguments, that a variable stands for.
  struct Closure {
    NodeIndex lambda = 0;
    std::vector<std::size_t> variables;  // around it that it uses
    std::vector<std::size_t> changes;    // those that it changes
    std::vector<std::string> unknown;    // names that are no variables
    std::vector<Parameter> parameters;
    bool returns_nothing = false;
    std::size_t size = 0;  // in nodes, with those of the lambdas that it calls

    bool has_effects() const {
      return returns_nothing || !changes.empty() ||
             std::ranges::any_of(parameters, [](const Parameter& each) { return each.changes; });
    }
  };
  // What a body that is parsed returns, and what it changes.
  struct Returns {
    bool allows_nothing = false;  // it may end without a value
    bool has_value = false, has_nothing = false;
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
    std::optional<NodeIndex> refers_to = {};  // of a reference to a part of that variable: the part
    const Closure* closure = nullptr;
    bool is_map = false;                     // or a set
    unsigned loops = 0;                      // around its declaration
    std::string_view digits = {};            // of one that is a constant integer
    std::optional<NodeIndex> iterates = {};  // of an iterator: its list
    std::string_view of = {};                // the type of an object or a list of them, spelled
    std::string_view deduced = {};           // see deduced_type
  };
  // Of a text with functions.
  struct Class {
    struct Member {
      std::string name, type;
      std::optional<NodeIndex> preset;  // without another value
    };
    std::string name;
    std::string spelled;  // as a type, with its members
    std::vector<Member> members;
    std::vector<std::string> methods;  // their names
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
  bool insert_missing(NodeIndex object, NodeIndex& key, TextRange mark);
  NodeIndex primary();
  NodeIndex literal();
  NodeIndex name();
  NodeIndex call(std::string callee, std::vector<std::string> template_types, TextRange mark);
  NodeIndex argument();
  NodeIndex lambda_that_calls(std::string_view callee, std::size_t parameters, TextRange mark);
  NodeIndex static_cast_of(std::size_t name);
  NodeIndex list();
  std::vector<NodeIndex> items(std::string_view close, const Token& open);

  // ---- Lambdas (lambdas.cpp)
  NodeIndex lambda(Closure* made = nullptr);
  NodeIndex body_with_returns(Returns& returns);
  void note_parameters(std::vector<Parameter>& parameters, std::size_t first_change) const;
  bool declares_lambda(const Type& type) const;
  void lambda_declaration(const Type& type);
  Closure& closure_here();
  void fix_copies(const Closure& made, std::size_t open);
  NodeIndex closure(const Closure& closure, const Token& name);
  std::uint32_t use(const Closure& closure, std::string_view name, TextRange mark);
  const Closure* find_closure(std::string_view name) const;
  NodeIndex application(NodeIndex lambda, TextRange mark, std::uint32_t depth);

  // ---- Calls that change variables (invocations.cpp)
  struct Given {
    NodeIndex value = 0;
    std::optional<std::size_t> variable;  // whose part it is, if the call may change it
  };
  bool invokes() const;
  std::optional<std::size_t> arguments_of_standard(std::string_view function) const;
  bool is_for_each() const;
  bool is_statement(const Token& name) const;
  void invocation_statement();
  NodeIndex invocation(const Closure& closure, const Token& name, std::optional<Given> object = {});
  Given argument(const Parameter& parameter, std::string_view name, std::vector<std::size_t>& referred);
  NodeIndex invoked(const Closure& closure, const std::vector<Given>& given, TextRange mark,
                    std::uint32_t depth);
  void require_own(const Closure& closure, const std::vector<Given>& given,
                   const std::vector<std::size_t>& referred, std::string_view name, TextRange mark) const;
  void note_change(std::size_t number, std::uint32_t depth, TextRange mark);
  NodeIndex frozen(NodeIndex index);
  void for_each(Block& block);
  NodeIndex exception();

  // ---- Statements (statements.cpp)
  bool starts_statements() const;
  bool prints() const;
  void skip_output();
  std::optional<std::size_t> exit_code() const;
  NodeIndex exit_of(std::size_t bracket);
  NodeIndex statements(bool in_braces);
  Block block(bool in_braces);
  void statement(Block& block);
  std::optional<Type> declared_type() const;
  std::optional<Type> unknown_type() const;
  void declaration(const Type& type, std::vector<Step>& steps);
  bool refers(const Type& type, bool is_const) const;
  void refer(Variable variable, TextRange mark);
  void initializer(Step& step);
  std::string array_type(const std::string& item);
  std::string_view digits_of(const Variable& variable, const Step& step);
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
  void require_changeable(std::size_t number, TextRange mark) const;
  void require_changeable(std::size_t alias, std::size_t of, TextRange mark) const;
  void fix(std::size_t number, std::string_view reason);
  std::optional<std::size_t> find_variable(std::string_view name) const;
  bool is_changeable(const Token& name) const;
  void condition(Block& block);
  NodeIndex declared_condition(const Type& type, TextRange mark, Block& inner);
  void branches(Block& block, std::optional<NodeIndex> known);
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
  std::size_t end_of_part(std::size_t at) const;
  NodeIndex part_by_method(NodeIndex object, bool is_frozen);
  NodeIndex assignment();
  Target target(bool is_frozen = false);
  Target begin_of_target();
  std::optional<Target> alias_of(const Token& name);
  NodeIndex item_of(std::size_t alias, TextRange mark);
  NodeIndex copy_of(NodeIndex target, std::size_t variable, TextRange mark);
  NodeIndex member_of(NodeIndex object, std::string_view name, TextRange mark);
  std::optional<std::size_t> variable_of(NodeIndex target) const;
  bool exchanges() const;
  void exchange(Block& block);
  bool ties() const;
  void tie(Block& block);
  NodeIndex named(std::string_view name, TextRange mark);
  NodeIndex named(std::size_t variable, TextRange mark);
  std::size_t name_of_rearrangement() const;
  NodeIndex rearrangement();
  NodeIndex comparison();
  NodeIndex erased(const Target& target, NodeIndex removed, TextRange mark);
  NodeIndex changed_by_method(const Target& target);
  bool steps_within() const;
  NodeIndex stepped();
  Step step_of(NodeIndex node) const {
    return {.kind = syntax_.nodes[node].kind, .value = node, .mark = syntax_.nodes[node].mark};
  }
  // Calls `parse`, with what changes before and behind what it reads added to the block.
  template <class Parse>
  void with_effects(Block& block, Parse parse) {
    Effects effects;
    Effects* const around = std::exchange(effects_, &effects);
    const std::size_t begin = at_;
    const std::size_t first_read = reads_.size();
    Block inner;
    parse(inner);
    effects_ = around;
    require_single_names(effects, begin);
    require_no_reads(effects, first_read);
    for (Step& step : effects.before) block.steps.push_back(std::move(step));
    for (Step& step : inner.steps) block.steps.push_back(std::move(step));
    if (!inner.last)  // nothing reads a variable behind a return
      for (Step& step : effects.after) block.steps.push_back(std::move(step));
    block.last = inner.last;
    block.ends = inner.ends;
  }
  void leave_stale(std::size_t map, TextRange mark);
  void require_single_names(const Effects& effects, std::size_t begin) const;
  void require_no_reads(const Effects& effects, std::size_t first_read) const;
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
  // Variables for statements that are not in the text, and what they are.
  struct Followed {
    std::vector<Step> before;
    std::vector<Variable> names;
  };
  void name_in(Followed& into, std::string_view name, NodeIndex value, TextRange mark);
  void name_test(Followed& into, NodeIndex lambda);
  NodeIndex follow(std::string_view text, Followed inside, TextRange mark);
  std::optional<Range> range_at(std::size_t at, bool is_end) const;
  bool writes() const;
  std::size_t arguments_ahead() const;
  void write_items(Block& block);
  NodeIndex follow_writing(std::string_view algorithm, std::string_view put, std::string_view begin,
                           Followed inside, TextRange mark);
  NodeIndex unique(NodeIndex list, TextRange mark);

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
  // What a loop over a list declares for each turn: a variable, or several for the members of the item.
  struct Item {
    Variable variable;
    std::string type;
    TextRange mark;
    std::vector<const Token*> members;
  };
  std::optional<std::size_t> let_change(Variable& item, NodeIndex list, std::size_t begin,
                                        std::size_t end) const;
  void go_through(Block& block, Loop made, Item item, NodeIndex list, std::optional<std::size_t> changes,
                  const std::function<void(Block&)>& parse_body);
  void refer_to_members(const Item& item, TextRange mark);
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
  void expand_macros(const std::vector<FunctionsSyntax::Macro>& macros);
  void definition(FunctionsSyntax& into);
  void name_space(FunctionsSyntax& into);
  std::vector<std::string> template_names(std::vector<std::string>& presets);
  void function(FunctionSyntax made, FunctionsSyntax& into, const Class* object = nullptr);
  FunctionSyntax::Parameter parameter(bool may_change, Parameter& known);
  void add_closure(const FunctionSyntax& made, std::vector<Parameter> parameters, std::size_t size);
  void skip_body(const Token& brace);
  void alias(bool in_block);
  std::string_view written(std::size_t at) const;
  std::size_t end_of_written(std::size_t at) const;
  void replace_names(std::string_view name, const std::vector<Token>& by, bool in_block);
  void replace_qualified(std::string_view name, const std::vector<Token>& by);
  struct TemplateArguments {
    std::vector<std::vector<Token>> types;
    std::size_t last = 0;      // the token that ends them
    bool shares_last = false;  // a ">>" that also ends what is around
  };
  std::optional<TemplateArguments> template_arguments_at(std::size_t at) const;
  void alias_template(const std::vector<std::string>& parameters);
  void replace_template(std::string_view name, const std::vector<std::string>& parameters,
                        const std::vector<Token>& by);
  void constant(std::string_view name, std::string type, NodeIndex value, TextRange mark,
                FunctionsSyntax& into);
  void enumeration(FunctionsSyntax& into);

  // ---- Classes (classes.cpp)
  void class_definition(FunctionsSyntax& into);
  std::vector<std::size_t> class_members(Class& made, const Token& name, const Token& open);
  void data_members(Class& made, const Type& type);
  void skip_function(const Token& open);
  NodeIndex preset_of(const Class::Member& member, TextRange mark);
  NodeIndex object_of(const Class& made, const std::vector<NodeIndex>& members, TextRange mark);
  void aggregate(const Class& made, TextRange mark, FunctionsSyntax& into);
  void name_members(const Class& made, std::size_t object, TextRange mark);
  void constructor(const Class& made, FunctionsSyntax& into);
  void method(const Class& made, FunctionsSyntax& into);
  bool defines_member(FunctionsSyntax& into);
  std::string name_of_function();
  std::string_view class_spelled(std::string_view type) const;
  std::string_view with_class(std::string_view type);
  std::string_view class_of_target(std::size_t begin, std::size_t end) const;
  std::string_view item_class(std::string_view list) const;
  const Closure* changing_method() const;
  NodeIndex call_of_changing_method(const Closure& closure);
  NodeIndex method_of_this(const Token& name);
  NodeIndex called_on(NodeIndex object, std::string_view name, TextRange mark);
  NodeIndex this_object();
  bool is_method_of_this(const Token& name) const;
  bool is_own_name(const Token& name) const;

  // ---- Types (types.cpp)
  std::optional<Type> type_at(std::size_t at) const;
  std::optional<Type> builtin_type_at(std::size_t at) const;
  std::optional<Type> member_type(std::size_t at) const;
  std::optional<std::size_t> qualified_name_at(std::size_t at) const;
  std::optional<Type> c_cast_at(std::size_t at) const;
  // Template arguments whose '<' is the token `at`; empty if that means "less than".
  std::optional<std::pair<std::vector<std::string>, std::size_t>> template_types_at(
      std::size_t at, std::string_view callee) const;
  std::string spelled(std::size_t begin, std::size_t end) const;
  std::string whole_name(std::string_view name) const;
  // Around what is parsed, the innermost first: "a::b::", "a::".
  std::vector<std::string_view> namespaces() const;

  // ---- Tools
  static std::deque<Token> queue_of(std::string_view text) {
    std::vector<Token> tokens = tokens_of(text);
    return {std::move_iterator(tokens.begin()), std::move_iterator(tokens.end())};
  }
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
  // What replaces names for types makes it longer at its end only: references to those that were taken stay
  // valid.
  std::deque<Token> tokens_;
  std::size_t at_ = 0;
  unsigned nesting_ = 0;
  std::vector<Variable> variables_;            // that are declared, the innermost scope last
  std::size_t own_variables_ = 0;              // the first one that what is parsed may change
  std::optional<std::size_t> call_statement_;  // the token that begins a statement which is a call
  unsigned loops_ = 0;                         // around this place, within the lambda
  unsigned jumps_ = 0;                         // so far
  unsigned aliases_ = 0;
  bool breaks_ = false;             // the innermost one is left by a break
  bool in_switch_ = false;          // which a break would leave
  bool leaves_switch_ = false;      // one does
  std::deque<std::string> hidden_;  // names of variables that no text can spell
  std::deque<Closure> closures_;
  std::deque<Class> classes_;
  const Class* class_ = nullptr;      // whose functions are parsed
  std::vector<Use> uses_;             // within lambdas that have names
  std::vector<std::size_t> reads_;    // variables that are named
  std::set<std::size_t> stale_;       // iterators of maps whose keys may have changed
  std::vector<std::size_t> changed_;  // variables, by assignments and calls
  Returns* returns_ = nullptr;        // of the body that is parsed
  unsigned named_lambdas_ = 0;        // around this place
  std::size_t repeated_ = 0;          // nodes of lambdas, for each call
  std::string namespace_;             // with :: at its end
  const TemplateTypes* template_types_ = nullptr;
  const FunctionsSyntax* functions_ = nullptr;  // that are parsed; null for other texts
  Effects* effects_ = nullptr;                  // none: expressions change nothing here
  std::optional<TextRange> mark_;               // of all nodes, if they are not made of the text
  // "c::P" of a class or another name for a type, and the whole namespace that has it.
  std::map<std::string, std::string> qualified_;
};

}  // namespace colonnade::frame

#endif
