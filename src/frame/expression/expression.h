// Expressions: texts or calls, bound to columns and types, as a graph without duplicates.
//
//   "sqrt(x*x + y*y) > 5"  --parse-->  syntax tree  --bind, with a Scope-->  ExpressionId in a pool
//
// Equal expressions are one entry of the pool, so they are computed once; constant ones are computed when
// they are added. Errors in a text are ErrorKind::usage (syntax), not_found (columns, functions) and type;
// they show the text with a mark below the position, and similar names.
#ifndef COLONNADE_FRAME_EXPRESSION_EXPRESSION_H
#define COLONNADE_FRAME_EXPRESSION_EXPRESSION_H

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "colonnade/block.h"

namespace colonnade::frame {

using ExpressionId = std::uint32_t;

enum class Op : std::uint8_t {
  constant,
  column,       // of the source
  entry,        // the number of the entry in the source: rdfentry_, std::uint64_t
  slot,         // the number of the worker: rdfslot_, unsigned
  sample,       // the name of the sample: rdfsampleinfo_, a string
  call,         // of a kernel
  logical_and,  // of two scalars: the second only where the first is true; boolean
  logical_or,   // the second only where the first is false
  choose        // condition (a scalar) ? second : third, each only where needed; both of one type
};

struct Expression {
  Op op = Op::constant;
  ValueType type;
  std::vector<ExpressionId> arguments;
  ValuesPtr constant;        // of one row
  std::uint32_t column = 0;  // Source::find()
  KernelPtr kernel;
  std::string name;  // name of the called function in the function table; may be empty
  // True if evaluating it or an argument may throw or is expensive: see Kernel::only_where_needed.
  bool only_where_needed = false;
};

class ExpressionPool {
 public:
  ExpressionPool();
  ~ExpressionPool();
  ExpressionPool(const ExpressionPool&) = delete;
  ExpressionPool& operator=(const ExpressionPool&) = delete;

  const Expression& operator[](ExpressionId id) const { return expressions_[id]; }
  std::size_t size() const noexcept { return expressions_.size(); }

  ExpressionId constant(ValuesPtr value);
  ExpressionId column(std::uint32_t column, const ValueType& type);
  ExpressionId special(Op op);  // entry, slot, sample
  ExpressionId call(KernelPtr kernel, std::vector<ExpressionId> arguments, std::string name = {});
  // Converts `condition` to bool as C++ does. Throws ErrorKind::type unless it is a number.
  ExpressionId as_condition(ExpressionId condition);
  ExpressionId logical(Op op, ExpressionId left, ExpressionId right);  // of conditions
  ExpressionId choose(ExpressionId condition, ExpressionId yes, ExpressionId no);
  // Keeps the expressions flagged in `needed` and their arguments, and moves the others to `swept`. Returns
  // the new numbers, indexed by the old ones, in the same order.
  std::vector<ExpressionId> keep(std::vector<bool>& needed, std::vector<Expression>& swept);
  // Converts `value` to another type. Throws ErrorKind::type if C++ has no implicit conversion.
  ExpressionId convert(ExpressionId value, const ValueType& type);

 private:
  struct Index;
  ExpressionId add(Expression expression, std::string key);
  std::vector<Expression> expressions_;
  std::unique_ptr<Index> index_;
};

struct Function;  // function.h

// The meaning of names at a node of the graph.
class Scope {
 public:
  virtual ~Scope() = default;
  // Longer names are looked up first: "jets.pt", then "jets" with its member pt.
  virtual std::optional<ExpressionId> find(std::string_view name) const = 0;
  virtual std::vector<std::string> names() const = 0;  // for messages
  // The entry, slot or sample, if the scope has it as another expression than ExpressionPool::special().
  virtual std::optional<ExpressionId> find_special(Op op) const {
    static_cast<void>(op);
    return std::nullopt;
  }
  // Functions of the graph in addition to those of the language; null if there is none of this name.
  virtual const Function* find_function(std::string_view name) const {
    static_cast<void>(name);
    return nullptr;
  }
  virtual std::vector<std::string> function_names() const { return {}; }  // for messages
};

// A text, parsed once and bound as often as needed: a single expression, or statements as in RDataFrame:
// "auto p2 = x*x + y*y; return sqrt(p2);".
class Formula {
 public:
  explicit Formula(std::string text);  // throws ErrorKind::usage
  ExpressionId bind(ExpressionPool& pool, const Scope& scope) const;
  // "{a*1.1, a*0.9}" or "ROOT::RVecF{a*1.1, a*0.9}": an expression per item; any other text gives one. For
  // Vary. An item "{}" without a type is an empty list of type `of_empty`.
  std::vector<ExpressionId> bind_items(ExpressionPool& pool, const Scope& scope,
                                       const std::optional<ValueType>& of_empty = {}) const;

  struct Syntax;

 private:
  std::shared_ptr<const Syntax> syntax_;
};

// The expression for the column of this name: the name itself, in backticks unless it is a valid identifier.
// Throws ErrorKind::usage for names with backticks.
std::string column_text(std::string_view name);

// An expression as text, for Describe and SaveGraph, truncated after about `limit` characters. `column_name`
// is Source::path(); without it columns are shown by number.
std::string text_of(const ExpressionPool& pool, ExpressionId id,
                    const std::function<std::string(std::uint32_t)>& column_name = {},
                    std::size_t limit = 200);

}  // namespace colonnade::frame

#endif
