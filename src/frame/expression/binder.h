// Binds syntax trees to expressions: resolves names and selects kernels for calls.
#ifndef COLONNADE_FRAME_EXPRESSION_BINDER_H
#define COLONNADE_FRAME_EXPRESSION_BINDER_H

#include <functional>
#include <optional>
#include <ranges>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "frame/expression/expression.h"
#include "frame/expression/function_table.h"
#include "frame/expression/syntax.h"

namespace colonnade::frame {

class InnerScope;
struct LoopBody;

class Binder {
 public:
  Binder(const Formula::Syntax& syntax, ExpressionPool& pool, const Scope& scope,
         const FunctionTable& functions = standard_functions())
      : syntax_(syntax), pool_(pool), scope_(scope), functions_(functions) {}

  ExpressionId bind() { return without_map(bind(syntax_.root)); }
  // The value of the last one.
  ExpressionId bind_constant(std::span<const NodeIndex> constants);
  // The result of a function; its arguments are the first columns of the pool.
  ExpressionId bind_function(const FunctionSyntax& function, std::span<const NodeIndex> constants,
                             std::span<const ValueType> types);
  // See Formula::bind_items().
  std::vector<ExpressionId> bind_items(const std::optional<ValueType>& of_empty);

 private:
  struct Items {
    std::vector<NodeIndex> nodes;
    std::optional<ValueType> type;  // the target of their conversion
  };

  ExpressionId bind(NodeIndex index);
  // Braces become a list of the type; other nodes are not converted.
  ExpressionId bind_as(NodeIndex index, const std::optional<ValueType>& type);
  const SyntaxNode& items_in(const SyntaxNode& list, const ValueType& type) const;
  std::string written(const SyntaxNode& node) const;

  // ---- Names (binder_names.cpp)
  ExpressionId name(NodeIndex index);
  ExpressionId member(NodeIndex index);
  ExpressionId member_of(const SyntaxNode& node, ExpressionId object);
  std::size_t index_of_member(const SyntaxNode& node, const ValueType& type) const;
  std::optional<ExpressionId> look_up(const SyntaxNode& node, std::string_view path);
  ExpressionId special(Op op) const;
  std::optional<ExpressionId> size_of_list(const SyntaxNode& node, std::string_view path);
  [[noreturn]] void unknown_column(const SyntaxNode& node, std::string_view path) const;
  struct Local {
    std::string_view name;
    ValueType type;
    std::optional<ExpressionId> value;  // none: nothing was assigned yet
  };
  ExpressionId value_of(const Local& local) const;

  // ---- Statements (binder_statements.cpp)
  // Where a body is left, under which condition, and with what.
  struct Exit {
    enum class Kind : std::uint8_t { result, end_of_loop, next_turn, end_of_switch };
    Kind kind = Kind::result;
    ExpressionId condition = 0;
    ExpressionId value = 0;     // of a result
    std::vector<Local> locals;  // of the others, and of results of calls that change variables
  };
  struct Outcome {
    std::vector<Exit> exits;  // each where those before it are not taken
    bool leads_on = true;     // false: one of them is taken
  };
  void declare(const SyntaxNode& node);
  std::optional<ExpressionId> default_of(const SyntaxNode& node, const ValueType& type);
  ExpressionId zeros(std::string_view name, const ValueType& type);
  ExpressionId filled(const SyntaxNode& node, std::string_view name, ExpressionId list, std::size_t given);
  ExpressionId let(const SyntaxNode& node);
  ExpressionId body(NodeIndex index);
  NodeIndex enter_body(NodeIndex index);
  bool has_exits(NodeIndex index) const;
  void run(NodeIndex index, Outcome& outcome);
  void step(NodeIndex index, Outcome& outcome);
  void branch(const SyntaxNode& node, Outcome& outcome);
  void merge(const SyntaxNode& node, ExpressionId condition, std::span<const Local> yes);
  void leave(Exit exit, Outcome& outcome) const;
  void selection(const SyntaxNode& node, Outcome& outcome);
  // The value of a choice between those of some exits, from the last to the first.
  template <class ValueOf>
  std::optional<ExpressionId> choose_among(const SyntaxNode& node, std::span<const Exit> exits,
                                           std::optional<ExpressionId> otherwise, ValueOf value_of) {
    for (const Exit& exit : std::views::reverse(exits))
      if (const std::optional<ExpressionId> value = value_of(exit))
        otherwise = otherwise ? choose(node, exit.condition, *value, *otherwise) : *value;
    return otherwise;
  }
  ExpressionId truth(bool value) { return pool_.constant(make_constant(1, value)); }

  // ---- Assignments (binder_assignments.cpp)
  void assign(const SyntaxNode& node);
  ExpressionId changed(const SyntaxNode& node, ExpressionId object);
  ExpressionId changed_text(const SyntaxNode& node, ExpressionId text);
  ExpressionId copies(const SyntaxNode& node, const ValueType& list, std::span<const NodeIndex> given);
  ExpressionId inserted(const SyntaxNode& node, const ValueType& list, ExpressionId object,
                        ExpressionId place, std::span<const NodeIndex> range);
  ExpressionId place_of(NodeIndex index, NodeIndex list);
  ExpressionId size_of(const SyntaxNode& node, ExpressionId list);
  ExpressionId numbered(const SyntaxNode& node, ExpressionId list);
  ExpressionId apply_named(const SyntaxNode& node, std::string_view name,
                           const std::vector<ExpressionId>& arguments);
  ExpressionId number(std::int64_t value) { return pool_.constant(make_constant(1, value)); }
  ExpressionId boosted(const SyntaxNode& node, const ValueType& vector, ExpressionId object);
  std::optional<ExpressionId> with_plane_part(const SyntaxNode& node, ExpressionId object);
  std::optional<ExpressionId> with_part(const SyntaxNode& node, const ValueType& vector, ExpressionId object);
  ExpressionId set_vector(const SyntaxNode& node, const ValueType& vector, std::string_view made);

  void store(const SyntaxNode& node, NodeIndex target, ExpressionId value);
  ExpressionId with_item(const SyntaxNode& part, ExpressionId list, ExpressionId value);
  ExpressionId with_member(const SyntaxNode& part, ExpressionId record, ExpressionId value);
  Local& local(std::string_view name);
  void require_flags(const SyntaxNode& node);
  void require_flag(NodeIndex value);
  bool is_flag(NodeIndex index);
  ValueType type_of_target(NodeIndex target);

  // ---- Calls that change variables, exceptions (binder_invocations.cpp)
  void invocation(const SyntaxNode& node, Outcome& outcome);
  void finish(const SyntaxNode& node, const SyntaxNode& lambda, const std::optional<ValueType>& wanted,
              std::vector<Exit>& exits, std::size_t around, Outcome& outcome);
  ExpressionId exception(const SyntaxNode& node);
  ExpressionId exception_of(std::string_view message);
  bool is_exception(ExpressionId id) const;
  ExpressionId exception_as(ExpressionId id, const ValueType& type);
  ExpressionId converted(ExpressionId value, const ValueType& wanted);

  // ---- Maps, sets, comparisons of pairs (binder_maps.cpp)
  ExpressionId items_of_map(ExpressionId map);
  ExpressionId map_of(const ValueType& map, ExpressionId items, bool in_order);
  ExpressionId map_of_items(const SyntaxNode& node, const ValueType& map);
  ExpressionId key_of(const SyntaxNode& node, NodeIndex key, ValueType map);
  bool is_place(NodeIndex index) const;
  ExpressionId item_of_list(const SyntaxNode& node, ExpressionId list, ExpressionId place);
  ExpressionId item_of_map(const SyntaxNode& node, ExpressionId map, NodeIndex index);
  ExpressionId needed_place(const SyntaxNode& node, ExpressionId map, NodeIndex key);
  ExpressionId map_method(const SyntaxNode& node, ExpressionId map);
  ExpressionId with_entry(const SyntaxNode& node, ExpressionId map, ExpressionId entry, bool replaces);
  ExpressionId with_value(const SyntaxNode& part, ExpressionId map, ExpressionId value);
  ExpressionId changed_map(const SyntaxNode& node, ExpressionId map);
  ExpressionId without_map(ExpressionId value);
  bool compares_products(std::string_view symbol, ExpressionId left, ExpressionId right) const;
  ExpressionId compared(const SyntaxNode& node, std::string_view symbol, ExpressionId left,
                        ExpressionId right);
  std::optional<ExpressionId> sorted_products(const SyntaxNode& node,
                                              std::span<const ExpressionId> arguments);

  // ---- Loops (binder_loops.cpp)
  void loop(const SyntaxNode& node, Outcome& outcome);
  std::vector<std::size_t> changed_by(const SyntaxNode& node) const;
  void add_targets(NodeIndex index, std::set<std::string_view>& names) const;
  void add_root(NodeIndex target, std::set<std::string_view>& names) const;
  void turn(const SyntaxNode& node, std::size_t variables, LoopBody& body);
  void meet(const SyntaxNode& node, std::span<const Exit> exits, Exit::Kind kind, bool leads_on);

  // ---- Operators (binder_operators.cpp)
  ExpressionId unary(const SyntaxNode& node);
  ExpressionId binary(NodeIndex index);
  ExpressionId apply(const SyntaxNode& node, ExpressionId left, ExpressionId right);
  ExpressionId logical_chain(NodeIndex index);
  ExpressionId both(Op op, const SyntaxNode& node, ExpressionId left, ExpressionId right);
  ExpressionId halved(Op op, const SyntaxNode& node, std::span<const ExpressionId> values);
  // `bind_value`: for the sides.
  ExpressionId conditional(NodeIndex index, const std::function<ExpressionId(NodeIndex)>& bind_value);
  ExpressionId condition_of(NodeIndex index);
  ExpressionId choose(const SyntaxNode& node, ExpressionId condition, ExpressionId yes, ExpressionId no);
  ExpressionId subscript(const SyntaxNode& node);
  std::string refusal(const SyntaxNode& node, const std::vector<ExpressionId>& arguments,
                      const std::string& why) const;

  // ---- Calls and types (binder_calls.cpp)
  ExpressionId call(const SyntaxNode& node);
  std::optional<ExpressionId> extreme_of_list(const SyntaxNode& node, const Function& function);
  [[noreturn]] void cannot_call(const SyntaxNode& node, const Function& function,
                                const std::vector<ExpressionId>& arguments, std::string_view why_not) const;
  ExpressionId method(const SyntaxNode& node);
  ExpressionId record(const SyntaxNode& node, const ValueType& type, std::span<const NodeIndex> members);
  std::optional<ExpressionId> product(const SyntaxNode& node);
  ExpressionId as_product(const SyntaxNode& node, ExpressionId value, const ValueType& wanted);
  ExpressionId cast(const SyntaxNode& node, std::string_view type, ExpressionId value);
  ExpressionId construct(const SyntaxNode& node, const ValueType& type);
  std::optional<ExpressionId> fill(const SyntaxNode& node, const ValueType& item);
  ExpressionId item_of(NodeIndex index, const ValueType& item);
  ExpressionId count_of(const SyntaxNode& node, NodeIndex index);
  ExpressionId list(const SyntaxNode& node, const std::optional<ValueType>& item);
  ExpressionId limit(const SyntaxNode& node);

  // ---- Classes (binder_classes.cpp)
  bool is_class(const ValueType& type) const;
  ExpressionId object(const SyntaxNode& node, const ValueType& type, std::span<const NodeIndex> given);
  ExpressionId zero(const SyntaxNode& node, const ValueType& type);
  std::optional<ExpressionId> method_of_class(const SyntaxNode& node, std::string_view name,
                                              const std::vector<ExpressionId>& arguments);
  std::optional<ExpressionId> operator_of_class(const SyntaxNode& node, std::string_view symbol,
                                                const std::vector<ExpressionId>& arguments);

  // ---- Types in < > (binder_templates.cpp)
  ExpressionId call_with_types(const SyntaxNode& node, const Function& function,
                               std::vector<ExpressionId> arguments);
  ExpressionId with_items_of(const SyntaxNode& node, ExpressionId value, const std::string& name);

  // ---- Lambdas (binder_lambda.cpp)
  friend class InnerScope;
  ExpressionId application(const SyntaxNode& node);
  std::vector<Local> arguments_of(const SyntaxNode& node, const SyntaxNode& lambda,
                                  std::span<const std::string> changed = {});
  Local reference(NodeIndex target, std::string_view name, const std::optional<ValueType>& wanted);
  bool is_over_items(const SyntaxNode& node) const;
  ExpressionId over_items(const SyntaxNode& node);
  std::vector<ExpressionId> lists_of(const SyntaxNode& node, const SyntaxNode& lambda);
  ExpressionId lambda_body(const SyntaxNode& lambda, ExpressionPool& pool, const InnerScope& scope,
                           std::span<const ExpressionId> lists);
  std::optional<ValueType> type_in(const SyntaxNode& lambda, const std::string& name) const;
  ExpressionId result_of(const SyntaxNode& lambda);
  ExpressionId selected(const SyntaxNode& node, std::string_view function, ExpressionId list,
                        ExpressionId by);
  [[noreturn]] void unknown_function(const SyntaxNode& node) const;
  std::vector<ExpressionId> bind_all(const std::vector<NodeIndex>& nodes);
  static std::string written_type(const SyntaxNode& node);

  // ---- Items of Vary (binder.cpp)
  std::optional<Items> items_of(NodeIndex index);
  NodeIndex enter_declarations();

  // ---- Tools. The call of a function of the table; empty, with the reason, if it does not accept the
  // arguments.
  std::optional<ExpressionId> invoke(const SyntaxNode& node, const Function& function,
                                     std::string_view written, const std::vector<ExpressionId>& arguments,
                                     std::span<const std::string> template_types, std::string& why_not);
  std::string types_of(const std::vector<ExpressionId>& arguments) const;
  std::optional<ValueType> common_type(const ValueType& a, const ValueType& b) const;
  const ValueType& type(ExpressionId id) const { return pool_[id].type; }
  [[noreturn]] void fail(ErrorKind kind, TextRange range, std::string_view problem,
                         std::string_view below = {}) const {
    throw error_at(kind, syntax_.text, range, problem, below);
  }
  // Adds the position to errors that lack it.
  template <class Work>
  decltype(auto) at(TextRange range, Work&& work) const {
    try {
      return std::forward<Work>(work)();
    } catch (const Error& error) {
      fail(error.kind(), range, error.problem(), error.advice());
    }
  }

  const Formula::Syntax& syntax_;
  ExpressionPool& pool_;
  const Scope& scope_;
  const FunctionTable& functions_;
  std::vector<Local> locals_;             // the innermost scope last
  std::optional<ValueType> result_type_;  // of the function or lambda that is followed, if it is written
  unsigned followed_ = 0;                 // calls that change variables, around this place
  bool takes_flags_ = false;              // of the function
};

// Of std::pair and std::tuple.
bool is_product(const ValueType& type);
// True for names of numbers: M_PI and similar ones.
bool is_named_constant(std::string_view name);

}  // namespace colonnade::frame

#endif
