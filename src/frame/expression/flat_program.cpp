// See flat_program.h. What may fail is computed for all rows like the rest, under a guard that says which of
// them need it: those for which the right sides of &&, || and ?: around it are reached.
#include "frame/expression/flat_program.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <map>
#include <span>
#include <tuple>

#include "frame/expression/lambda.h"
#include "frame/expression/members.h"
#include "frame/expression/text_functions.h"
#include "frame/functions/lists.h"
#include "frame/kernels/kernels.h"

namespace colonnade::frame {
namespace {

constexpr std::size_t most_instructions = 10'000;

// Without branches, which would be predicted badly, and vectorised.
template <class U>
void choose_elements(std::size_t count, const Operand* operands, void* out) {
  const auto* condition = static_cast<const std::uint8_t*>(operands[0].data);
  const auto* yes = static_cast<const U*>(operands[1].data);
  const auto* no = static_cast<const U*>(operands[2].data);
  auto* const to = static_cast<U*>(out);
  const auto select = [](std::uint8_t holds, U a, U b) {
    const U mask = static_cast<U>(0 - static_cast<U>(holds != 0));
    return static_cast<U>((a & mask) | (b & ~mask));
  };
  if (!operands[0].constant && !operands[1].constant && !operands[2].constant) {
    for (std::size_t i = 0; i < count; ++i) to[i] = select(condition[i], yes[i], no[i]);
    return;
  }
  const std::size_t step = operands[0].constant ? 0 : 1;
  const std::size_t step_yes = operands[1].constant ? 0 : 1;
  const std::size_t step_no = operands[2].constant ? 0 : 1;
  for (std::size_t i = 0; i < count; ++i)
    to[i] = select(condition[i * step], yes[i * step_yes], no[i * step_no]);
}

ElementLoop choose_loop(ElementType element) {
  ElementLoop loop = nullptr;
  lists::with_width(element, [&]<class U>() { loop = choose_elements<U>; });
  return loop;
}

// Thrown where a loop cannot be a flat program.
struct NotFlat {};

// Guards, as a tree: each says that its parent is true, and a condition as well. The first is always true.
using Guard = std::size_t;

// A pool of expressions whose columns are known.
struct Body {
  const ExpressionPool* pool;
  std::vector<FlatProgram::Input> inputs = {};
  std::map<std::pair<ExpressionId, Guard>, Register> values = {};
  std::map<std::pair<ExpressionId, Guard>, std::vector<Register>> loops = {};  // their members
  std::map<ExpressionId, std::vector<Guard>> appends = {};
};

class Flattener {
 public:
  explicit Flattener(const LoopBody& body) : loop_(body) {}

  std::shared_ptr<const FlatProgram> run() {
    using enum FlatProgram::Input::Kind;
    Body body{.pool = loop_.pool.get()};
    const std::size_t variables = loop_.members.size() - (loop_.returns ? 2 : 0);
    for (const auto& [name, type] : loop_.members) program_.members.push_back(type);
    for (std::size_t i = 0; i < loop_.inputs.size(); ++i) {
      const ValueType& type = (*body.pool)[loop_.inputs[i]].type;
      const bool is_variable = i < variables;
      if (type.is_scalar()) {
        if (is_variable) program_.variables.push_back({.member = i});
        body.inputs.push_back({scalar, add_register(type.element())});
      } else if (is_variable) {
        if (!type.is_list() || type.is_optional() || !type.item().is_scalar()) throw NotFlat{};
        if (is_replaced(i)) {
          body.inputs.push_back({copied, program_.lists++});
        } else {
          body.inputs.push_back({log, static_cast<std::uint32_t>(program_.logs.size())});
          program_.logs.push_back(i);
        }
      } else {
        if (!type.is_list() && !type.is_string()) throw NotFlat{};
        body.inputs.push_back({list, program_.lists++});
      }
    }
    program_.inputs = body.inputs;
    turn(body);
    std::ranges::move(replacements_, std::back_inserter(program_.instructions));
    find_invariants();
    return std::make_shared<const FlatProgram>(std::move(program_));
  }

 private:
  void turn(Body& body) {
    Guard goes_on = always;
    program_.condition_comes_last = loop_.condition_comes_last;
    if (loop_.condition && !loop_.condition_comes_last) {
      program_.condition = value(body, *loop_.condition, goes_on);
      goes_on = guard_and(goes_on, *program_.condition, true);
    }
    if (loop_.leaves) {
      program_.leaves = value(body, *loop_.leaves, goes_on);
      const Guard leaves = guard_and(goes_on, *program_.leaves, true);
      for (auto& each : program_.variables) each.left = value(body, loop_.left[each.member], leaves);
      change_lists(body, loop_.left, leaves);
      if (loop_.returns) {
        program_.returns = value(body, *loop_.returns, leaves);
        program_.value = value(body, *loop_.value, guard_and(leaves, *program_.returns, true));
      }
      goes_on = guard_and(goes_on, *program_.leaves, false);
    }
    if (loop_.next.empty()) return;
    for (auto& each : program_.variables) each.next = value(body, loop_.next[each.member], goes_on);
    change_lists(body, loop_.next, goes_on);
    if (loop_.condition && loop_.condition_comes_last)
      program_.condition = value(body, *loop_.condition, goes_on);
  }

  void change_lists(Body& body, std::span<const ExpressionId> values, Guard guard) {
    using enum FlatProgram::Input::Kind;
    for (std::size_t i = 0; i < values.size(); ++i)
      if (const auto kind = body.inputs[i].kind; kind == log || kind == copied)
        change(body, values[i], body.inputs[i], guard);
  }

  // Whether turns replace items of a list, rather than append some.
  bool is_replaced(std::size_t variable) const {
    const ExpressionPool& pool = *loop_.pool;
    std::vector<ExpressionId> open;
    for (const auto& values : {loop_.left, loop_.next})
      if (!values.empty()) open.push_back(values[variable]);
    std::size_t left = most_instructions;
    while (!open.empty() && left-- > 0) {
      const Expression& expression = pool[open.back()];
      open.pop_back();
      if (expression.op == Op::choose) {
        open.push_back(expression.arguments[1]);
        open.push_back(expression.arguments[2]);
      }
      if (expression.op != Op::call) continue;
      const auto code = code_of(expression);
      if (code && code->kind == FlatCode::Kind::replace) return true;
      if (code && code->kind == FlatCode::Kind::append) open.push_back(expression.arguments[0]);
    }
    return false;
  }

  static std::optional<FlatCode> code_of(const Expression& expression) {
    const auto* const flat = dynamic_cast<const FlatKernel*>(expression.kernel.get());
    return flat != nullptr ? flat->flat_code() : std::nullopt;
  }

  // What a turn makes of a list that it changes: the variable itself, with or without changes.
  void change(Body& body, ExpressionId id, const FlatProgram::Input& list, Guard guard) {
    const Expression& expression = (*body.pool)[id];
    if (expression.op == Op::column) {
      const FlatProgram::Input& input = body.inputs[expression.column];
      if (input.kind != list.kind || input.index != list.index) throw NotFlat{};
      return;
    }
    if (expression.op == Op::choose) {
      const Register condition = value(body, expression.arguments[0], guard);
      change(body, expression.arguments[1], list, guard_and(guard, condition, true));
      change(body, expression.arguments[2], list, guard_and(guard, condition, false));
      return;
    }
    const bool is_log = list.kind == FlatProgram::Input::Kind::log;
    if (is_log && expression.op == Op::call && member_index(*expression.kernel)) {
      if (log_of(body, id).index != list.index) throw NotFlat{};
      run_loop(body, expression.arguments[0], guard);  // appends what is before it, too
      return;
    }
    const auto code = code_of(expression);
    if (!code || code->kind != (is_log ? FlatCode::Kind::append : FlatCode::Kind::replace)) throw NotFlat{};
    change(body, expression.arguments[0], list, guard);
    if (is_log)
      append(body, id, *code, list, guard);
    else
      replace(body, id, *code, list, guard);
  }

  void append(Body& body, ExpressionId id, const FlatCode& code, const FlatProgram::Input& log, Guard guard) {
    note_append(body, id, guard);
    const ExpressionId item = (*body.pool)[id].arguments[1];
    add({.kind = FlatInstruction::Kind::append,
         .operands = {converted(value(body, item, guard), code.result)},
         .guard = guards_[guard].holds,
         .logs = {log.index}});
  }

  // Nothing is replaced before all has been computed.
  void replace(Body& body, ExpressionId id, const FlatCode& code, const FlatProgram::Input& list,
               Guard guard) {
    const std::vector<ExpressionId>& arguments = (*body.pool)[id].arguments;
    const Register index = converted(value(body, arguments[1], guard), ElementType::int64);
    const Register item = converted(value(body, arguments[2], guard), code.result);
    if (replacements_.size() == most_instructions) throw NotFlat{};
    replacements_.push_back({.kind = FlatInstruction::Kind::replace,
                             .operands = {index, item},
                             .guard = guards_[guard].holds,
                             .lists = {list.index}});
  }

  // What depends on no variable, neither by its operands nor, for what may fail, by its guard alone.
  void find_invariants() {
    enum class Kind : std::uint8_t { changing, constant, invariant };
    std::vector<Kind> kinds(program_.registers.size(), Kind::changing);
    for (const auto& [constant, bytes] : program_.constants) kinds[constant] = Kind::constant;
    for (const FlatProgram::Input& input : program_.inputs)
      if (input.kind == FlatProgram::Input::Kind::scalar && input.index >= program_.variables.size())
        kinds[input.index] = Kind::invariant;
    std::vector<std::uint32_t> copied;
    for (const FlatProgram::Input& input : program_.inputs)
      if (input.kind == FlatProgram::Input::Kind::copied) copied.push_back(input.index);
    const auto is_fixed = [&](Register each) { return kinds[each] != Kind::changing; };
    std::vector<bool> used(kinds.size());
    const auto use = [&](Register each) { used[each] = true; };
    for (FlatInstruction& each : program_.instructions) {
      const bool may_be = each.kind == FlatInstruction::Kind::call ? each.kernel == nullptr
                          : each.kind == FlatInstruction::Kind::item
                              ? std::ranges::find(copied, each.lists.front()) == copied.end()
                              : each.kind == FlatInstruction::Kind::size;
      each.is_invariant = may_be && std::ranges::all_of(each.operands, is_fixed);
      if (each.is_invariant) kinds[each.results.front()] = Kind::invariant;
      if (each.is_invariant && each.kind != FlatInstruction::Kind::item) continue;
      std::ranges::for_each(each.operands, use);  // of an item, too: see FlatRun
      if (each.guard) use(*each.guard);
    }
    for (const auto& each : {program_.condition, program_.leaves, program_.returns, program_.value})
      if (each) use(*each);
    for (const FlatProgram::Variable& each : program_.variables) {
      use(each.left);
      use(each.next);
    }
    for (Register each = 0; each < kinds.size(); ++each)
      if (used[each] && kinds[each] == Kind::invariant) program_.carried.push_back(each);
  }

  using Bytes = std::array<std::byte, 8>;

  static ElementType scalar(const ValueType& type) {
    if (!type.is_scalar()) throw NotFlat{};
    return type.element();
  }

  // ---- Registers and instructions

  Register add_register(ElementType element) {
    program_.registers.push_back(element);
    return static_cast<Register>(program_.registers.size() - 1);
  }
  void add(FlatInstruction instruction) {
    if (program_.instructions.size() == most_instructions) throw NotFlat{};
    program_.instructions.push_back(std::move(instruction));
  }
  Register call(ElementLoop loop, ElementType result, std::vector<Register> operands) {
    if (loop == nullptr || operands.size() > FlatInstruction::most_operands) throw NotFlat{};
    const Register out = add_register(result);
    add({.operands = std::move(operands), .results = {out}, .loop = loop});
    return out;
  }
  Register constant(ElementType element, const void* data) {
    Bytes bytes{};
    std::memcpy(bytes.data(), data, size_of(element));
    const Register made = add_register(element);
    program_.constants.emplace_back(made, bytes);
    return made;
  }
  // The number as an element of this type.
  Register small_number(ElementType element, std::int64_t number) {
    const auto [known, is_new] = numbers_.try_emplace({element, number});
    if (is_new) {
      const Operand operand{&number, true};
      Bytes bytes{};
      conversion_loop(ElementType::int64, element)(1, &operand, bytes.data());
      known->second = constant(element, bytes.data());
    }
    return known->second;
  }
  Register converted(Register from, ElementType to) {
    const ElementType element = program_.registers[from];
    if (element == to || has_same_bits(element, to)) return from;
    const auto [known, is_new] = conversions_.try_emplace({from, to});
    if (!is_new) return known->second;
    const auto fixed = std::ranges::find(program_.constants, from, &std::pair<Register, Bytes>::first);
    if (fixed == program_.constants.end())
      return known->second = call(conversion_loop(element, to), to, {from});
    const Operand operand{fixed->second.data(), true};
    Bytes bytes{};
    conversion_loop(element, to)(1, &operand, bytes.data());
    return known->second = constant(to, bytes.data());
  }
  // Converting from one to the other changes nothing.
  static bool has_same_bits(ElementType a, ElementType b) {
    const auto is = [&](ElementType one, ElementType other) {
      return (a == one && b == other) || (a == other && b == one);
    };
    return is(ElementType::int64, ElementType::uint64) || is(ElementType::int32, ElementType::uint32);
  }

  // ---- Guards

  Guard guard_and(Guard guard, Register condition, bool wanted) {
    const auto [known, is_new] = known_guards_.try_emplace({guard, condition, wanted});
    if (is_new) {
      const auto boolean = ElementType::boolean;
      Register holds = condition;
      if (!wanted) holds = call(element_loop(Operation::logical_not, boolean), boolean, {holds});
      if (guard != always)
        holds = call(element_loop(Operation::logical_and, boolean), boolean, {*guards_[guard].holds, holds});
      known->second = guards_.size();
      guards_.push_back({guard, holds, condition, wanted});
    }
    return known->second;
  }

  // What was found for this guard, or for one that is true wherever this one is.
  template <class Known>
  const Known* find(const std::map<std::pair<ExpressionId, Guard>, Known>& known, ExpressionId id,
                    Guard guard) const {
    while (true) {
      const auto found = known.find({id, guard});
      if (found != known.end()) return &found->second;
      if (guard == always) return nullptr;
      guard = guards_[guard].parent;
    }
  }

  // ---- Expressions

  Register value(Body& body, ExpressionId id, Guard guard) {
    const Expression& expression = (*body.pool)[id];
    if (!expression.only_where_needed) guard = always;
    if (const Register* known = find(body.values, id, guard)) return *known;
    const Register made = compute(body, expression, guard);
    body.values.emplace(std::pair(id, guard), made);
    return made;
  }

  Register compute(Body& body, const Expression& expression, Guard guard) {
    switch (expression.op) {
      case Op::constant:
        return constant(scalar(expression.type), expression.constant->data);
      case Op::column: {
        const FlatProgram::Input& input = body.inputs[expression.column];
        if (input.kind != FlatProgram::Input::Kind::scalar) throw NotFlat{};
        return input.index;
      }
      case Op::logical_and:
      case Op::logical_or: {
        const bool is_and = expression.op == Op::logical_and;
        const Register left = value(body, expression.arguments[0], guard);
        const Register right = value(body, expression.arguments[1], guard_and(guard, left, is_and));
        return call(
            element_loop(is_and ? Operation::logical_and : Operation::logical_or, ElementType::boolean),
            ElementType::boolean, {left, right});
      }
      case Op::choose: {
        const ElementType element = scalar(expression.type);
        const Register condition = value(body, expression.arguments[0], guard);
        const Register yes = value(body, expression.arguments[1], guard_and(guard, condition, true));
        const Register no = value(body, expression.arguments[2], guard_and(guard, condition, false));
        return call(choose_loop(element), element, {condition, yes, no});
      }
      case Op::call:
        return of_kernel(body, expression, guard);
      default:
        throw NotFlat{};
    }
  }

  Register of_kernel(Body& body, const Expression& expression, Guard guard) {
    const Kernel& kernel = *expression.kernel;
    if (const auto index = member_index(kernel)) return member(body, expression.arguments[0], *index, guard);
    if (const LambdaBody* const function = body_of_function(kernel))
      return of_function(*function, body, expression, guard);
    const auto code = code_of(expression);
    if (!code) throw NotFlat{};
    switch (code->kind) {
      case FlatCode::Kind::loop:
        return of_loop(*code, body, expression, guard);
      case FlatCode::Kind::append:
      case FlatCode::Kind::replace:
        throw NotFlat{};
      case FlatCode::Kind::item: {
        const std::uint32_t list = list_of(body, expression.arguments[0]);
        const Register index = converted(value(body, expression.arguments[1], guard), ElementType::int64);
        const Register out = add_register(code->result);
        add({.kind = FlatInstruction::Kind::item,
             .operands = {index},
             .results = {out},
             .guard = guards_[guard].holds,
             .lists = {list}});
        return out;
      }
      default: {
        const Register size = add_register(ElementType::uint64);
        add({.kind = FlatInstruction::Kind::size,
             .results = {size},
             .lists = {list_of(body, expression.arguments[0])}});
        if (code->kind == FlatCode::Kind::size) return size;
        return call(element_loop(Operation::equal, ElementType::uint64), ElementType::boolean,
                    {size, small_number(ElementType::uint64, 0)});
      }
    }
  }

  Register of_loop(const FlatCode& code, Body& body, const Expression& expression, Guard guard) {
    std::vector<Register> operands;
    for (std::size_t i = 0; i < expression.arguments.size(); ++i)
      operands.push_back(converted(value(body, expression.arguments[i], guard), code.arguments[i]));
    if (code.may_fail && guard != always)
      operands.back() =
          call(choose_loop(code.arguments.back()), code.arguments.back(),
               {*guards_[guard].holds, operands.back(), small_number(code.arguments.back(), 1)});
    const Register out = call(code.loop, code.result, std::move(operands));
    if (code.may_fail)
      program_.instructions.back().kernel = dynamic_cast<const FlatKernel*>(expression.kernel.get());
    return out;
  }

  static std::uint32_t list_of(const Body& body, ExpressionId id) {
    const Expression& list = (*body.pool)[id];
    if (list.op != Op::column || !list.type.item().is_scalar()) throw NotFlat{};
    const FlatProgram::Input& input = body.inputs[list.column];
    if (input.kind != FlatProgram::Input::Kind::list && input.kind != FlatProgram::Input::Kind::copied)
      throw NotFlat{};
    return input.index;
  }

  FlatProgram::Input input_of(Body& body, ExpressionId id, Guard guard) {
    const Expression& given = (*body.pool)[id];
    if (given.op == Op::column) return body.inputs[given.column];
    return {FlatProgram::Input::Kind::scalar, value(body, id, guard)};
  }

  // Its body in place of the call.
  Register of_function(const LambdaBody& function, Body& body, const Expression& expression, Guard guard) {
    Body inside{.pool = function.pool.get()};
    for (const ExpressionId argument : expression.arguments)
      inside.inputs.push_back(input_of(body, argument, guard));
    return value(inside, function.result, guard);
  }

  Register member(Body& body, ExpressionId record, std::size_t index, Guard guard) {
    scalar((*body.pool)[record].type.members()[index].second);
    return run_loop(body, record, guard)[index];
  }

  // The registers of its members; those of lists that grow are none.
  std::vector<Register> run_loop(Body& body, ExpressionId record, Guard guard) {
    const Expression& expression = (*body.pool)[record];
    auto loop = expression.op == Op::call ? flat_loop(*expression.kernel) : nullptr;
    if (loop == nullptr) throw NotFlat{};
    if (const auto* known = find(body.loops, record, guard)) return *known;
    if (!loop->logs.empty()) note_append(body, record, guard);
    FlatInstruction made{.kind = FlatInstruction::Kind::loop, .guard = guards_[guard].holds};
    for (std::size_t i = 0; i < expression.arguments.size(); ++i) {
      using enum FlatProgram::Input::Kind;
      const auto kind = loop->inputs[i].kind;
      const ExpressionId argument = expression.arguments[i];
      FlatProgram::Input input = kind == log ? log_of(body, argument) : input_of(body, argument, guard);
      if (input.kind == copied && kind == list) input.kind = list;  // which it reads as the turn found it
      if (input.kind != kind || kind == copied) throw NotFlat{};
      if (kind == log) change(body, argument, input, guard);
      (kind == scalar ? made.operands : kind == list ? made.lists : made.logs).push_back(input.index);
    }
    std::vector<Register> members;
    for (const ValueType& each : loop->members) {
      members.push_back(each.is_scalar() ? add_register(each.element()) : 0);
      if (each.is_scalar()) made.results.push_back(members.back());
    }
    made.inner = std::move(loop);
    add(std::move(made));
    return body.loops.emplace(std::pair(record, guard), std::move(members)).first->second;
  }

  // The list that grows by an expression.
  FlatProgram::Input log_of(const Body& body, ExpressionId id) const {
    const Expression* expression = &(*body.pool)[id];
    while (expression->op != Op::column) {
      if (expression->op != Op::call && expression->op != Op::choose) throw NotFlat{};
      if (expression->op == Op::choose) {
        expression = &(*body.pool)[expression->arguments[1]];
      } else if (const auto index = member_index(*expression->kernel)) {
        const Expression& loop = (*body.pool)[expression->arguments[0]];
        if (loop.op != Op::call || *index >= loop.arguments.size()) throw NotFlat{};
        expression = &(*body.pool)[loop.arguments[*index]];
      } else if (!expression->arguments.empty()) {
        expression = &(*body.pool)[expression->arguments[0]];
      } else {
        throw NotFlat{};
      }
    }
    return body.inputs[expression->column];
  }

  // Items would be there twice if they were appended under two guards that can both be true.
  void note_append(Body& body, ExpressionId id, Guard guard) {
    std::vector<Guard>& known = body.appends[id];
    for (const Guard other : known)
      if (!exclude_each_other(other, guard)) throw NotFlat{};
    known.push_back(guard);
  }
  bool exclude_each_other(Guard a, Guard b) const {
    for (; a != always; a = guards_[a].parent)
      for (Guard other = b; other != always; other = guards_[other].parent)
        if (guards_[a].condition == guards_[other].condition && guards_[a].wanted != guards_[other].wanted)
          return true;
    return false;
  }

  static constexpr Guard always = 0;
  struct KnownGuard {
    Guard parent = always;
    std::optional<Register> holds;  // nothing: for all rows
    Register condition = 0;
    bool wanted = true;
  };

  const LoopBody& loop_;
  FlatProgram program_;
  std::vector<KnownGuard> guards_{{}};
  std::map<std::tuple<Guard, Register, bool>, Guard> known_guards_;
  std::map<std::pair<Register, ElementType>, Register> conversions_;
  std::map<std::pair<ElementType, std::int64_t>, Register> numbers_;
  std::vector<FlatInstruction> replacements_;
};

}  // namespace

std::shared_ptr<const FlatProgram> flatten(const LoopBody& body) {
  try {
    return Flattener(body).run();
  } catch (const NotFlat&) {
    return nullptr;
  }
}

}  // namespace colonnade::frame
