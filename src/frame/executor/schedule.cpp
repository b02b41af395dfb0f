// See schedule.h. Two passes over the tree of selections make a schedule, parents first:
//
//   1. requests: which expression is needed for which selection, and whether it is evaluated there, gathered
//      from the nearest ancestor that needs it too, or recalled from a store;
//   2. emission: each value right before its first use, which keeps few of them alive.
//
// This terminates: a value depends on values of smaller expressions, or of the same expression for an
// ancestor; the rows of an inner selection depend on a condition that is part of the expression they serve,
// and those of a selection of the program on conditions for its ancestors. Both passes use lists instead of
// recursion, since chains of thousands of definitions and filters are supported.
#include "frame/executor/schedule.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>
#include <unordered_map>

#include "frame/results/counts.h"

namespace colonnade::frame {

namespace {

constexpr std::uint32_t narrow_flag = 0x80000000u;  // marks a selection among the dependencies of a node
constexpr std::uint32_t always = 0xffffffffu;       // Narrowing::dense_from
// What weighs less is evaluated again rather than recalled: see decision 70.
constexpr unsigned recalled_weight = 24;

// a + b * c, saturating.
std::uint64_t saturated(std::uint64_t a, std::uint64_t b, std::uint64_t c) {
  std::uint64_t product = 0, sum = 0;
  if (__builtin_mul_overflow(b, c, &product) || __builtin_add_overflow(a, product, &sum))
    return ~std::uint64_t{0};
  return sum;
}

// The number of rows that pass a range, of the first `count` that reach it.
std::uint64_t passing(const Selection& range, std::uint64_t count) {
  const std::uint64_t end = range.end == 0 ? count : std::min(range.end, count);
  if (end <= range.begin) return 0;
  return (end - range.begin - 1) / std::max<std::uint64_t>(range.stride, 1) + 1;
}

Narrowing::Kind kind_of(Selection::Kind kind) {
  switch (kind) {
    case Selection::Kind::condition:
      return Narrowing::Kind::where_true;
    case Selection::Kind::range:
      return Narrowing::Kind::range;
    case Selection::Kind::samples:
      return Narrowing::Kind::samples;
    case Selection::Kind::all:
      break;
  }
  return Narrowing::Kind::all;
}

// Functions that cost as little as an operator does. The others are worth several loops: sines, powers,
// masses.
bool is_cheap(std::string_view function) {
  static constexpr auto cheap =
      std::to_array<std::string_view>({"abs", "ceil", "fabs", "floor", "fmax", "fmin", "isfinite", "isinf",
                                       "isnan", "max", "min", "rint", "round", "signbit", "sqrt", "trunc"});
  return function.empty() || std::isalpha(static_cast<unsigned char>(function.front())) == 0 ||
         std::ranges::binary_search(cheap, function);
}

// Of a text and a constant one, which is mostly known from their sizes.
bool is_cheap_comparison(const ExpressionPool& pool, const Expression& e) {
  if (e.op != Op::call || (e.name != "operator==" && e.name != "operator!=") || e.arguments.size() != 2)
    return false;
  const auto is_text = [&](ExpressionId id) { return pool[id].type.is_string(); };
  return std::ranges::all_of(e.arguments, is_text) &&
         std::ranges::any_of(e.arguments, [&](ExpressionId id) { return pool[id].op == Op::constant; });
}

// How much work an expression is, about, in loops over scalars.
std::vector<std::uint8_t> weigh(const ExpressionPool& pool) {
  std::vector<std::uint8_t> weights(pool.size());
  for (ExpressionId id = 0; id < pool.size(); ++id) {
    const Expression& e = pool[id];
    unsigned weight = 0;
    bool scalar = e.type.is_scalar();
    for (const ExpressionId argument : e.arguments) {
      weight += weights[argument];
      scalar = scalar && pool[argument].type.is_scalar();
    }
    if (!e.arguments.empty() || e.op == Op::call)
      weight += is_cheap_comparison(pool, e) ? 2 : !scalar ? recalled_weight : is_cheap(e.name) ? 1 : 8;
    weights[id] = static_cast<std::uint8_t>(std::min(weight, 255u));
  }
  return weights;
}

}  // namespace

std::uint64_t Schedule::count_before(SelectionId selection, std::uint64_t entry) const {
  const Selection& s = program->selections[selection];
  if (s.kind == Selection::Kind::all) {
    const std::uint64_t origin = program->first - program->left_before;
    return entry > origin ? entry - origin : 0;
  }
  return passing(s, count_before(s.parent, entry));
}

// Makes one schedule.
class ScheduleBuilder {
 public:
  ScheduleBuilder(const Program& program, Schedule& schedule)
      : program_(program), pool_(*program.pool), out_(schedule), weights_(weigh(pool_)) {}

  void build() {
    lay_out_selections();
    bound_entries();
    request_all();
    emit_all();
    place_values();
  }

 private:
  using ValueId = std::uint32_t;

  // An expression needed for a selection.
  struct ValueNode {
    ExpressionId expression = 0;
    SelectionId selection = 0;
    Step::Kind kind = Step::Kind::constant;
    bool evaluated_anew = false;  // although an ancestor has it: to fill its store
    bool done = false;
    ValueId known_before = none;  // see known_
    std::uint32_t store = none;
    SelectionId inner[2] = {none, none};
    SelectionId from = 0;
    std::vector<std::uint32_t> dependencies;  // nodes and, with narrow_flag, selections, in order
    std::uint32_t place = none;
    std::uint32_t last_use = 0;
  };
  struct SelectionState {  // a selection in the tree
    bool needed = false;
    bool transparent = false;  // see find_transparent()
    bool open = false;         // the walk is in it or below
    bool narrowed = false;
    bool numbers_only = false;  // its rows depend on numbers alone
    ValueId condition = none;
    std::vector<SelectionId> inner;  // walked before `children`
    std::vector<SelectionId> children;
    std::vector<ValueId> requested;  // not yet expanded
    std::vector<std::uint32_t> outputs;
    std::uint32_t range = none;   // the counted range around
    ExpressionId lacking = none;  // the rows are those that the store of this expression lacks
    std::uint32_t last_use = none;
    std::uint64_t first = 0, last = 0;  // the entries that may be in it
  };

  // ---- The tree of selections

  void lay_out_selections();
  void find_transparent();
  void bound_entries();
  std::uint64_t entry_of(SelectionId selection, std::uint64_t row) const;
  // Calls enter(s) and leave(s) for `root` and the needed selections below, parents first. enter(s) may add
  // inner selections to s.
  template <class Enter, class Leave>
  void walk(SelectionId root, Enter&& enter, Leave&& leave);

  // ---- Requests

  void request_all();
  ValueId request_condition(SelectionId selection);
  ValueId request(ExpressionId expression, SelectionId selection);
  void look_into(ValueId id);
  ValueId nearest_known(ExpressionId expression);
  void evaluate(ValueId id);
  bool is_worth_recalling(ValueId id) const;
  void recall(ValueId id);
  void request_sides(ValueId id);
  SelectionId inner_selection(SelectionId parent, ValueId condition, Narrowing::Kind kind,
                              std::uint32_t dense_from);
  SelectionId add_selection(const Narrowing& narrowing);

  // ---- Emission

  void emit_all();
  void emit(ValueId root);
  void emit_step(ValueId id);
  void emit_narrow(SelectionId selection);
  void emit_output(std::uint32_t output);
  Step& append(Step::Kind kind, SelectionId selection);
  void use(Step& step, ValueId operand);
  void use_selection(SelectionId selection) { selections_[selection].last_use = now(); }
  void use_store(std::uint32_t store) { store_last_use_[store] = now(); }
  std::uint32_t now() const { return static_cast<std::uint32_t>(out_.steps.size() - 1); }
  void place_values();

  const Program& program_;
  const ExpressionPool& pool_;
  Schedule& out_;
  std::vector<std::uint8_t> weights_;
  std::vector<SelectionState> selections_;
  std::vector<ValueNode> nodes_;
  std::unordered_map<std::uint64_t, ValueId> node_of_;                    // by expression and selection
  std::unordered_map<std::uint64_t, std::vector<SelectionId>> inner_of_;  // by condition node
  // The nodes of an expression whose selections were entered: the head of a list, from which left selections
  // are dropped lazily, so that the first one is the nearest ancestor's.
  std::vector<ValueId> known_;
  std::vector<ValueId> evaluated_;  // the first node that evaluates an expression
  std::vector<std::uint32_t> store_last_use_;
  std::vector<ValueId> operand_nodes_;  // for Schedule::operands
};

// ---- The tree of selections

void ScheduleBuilder::lay_out_selections() {
  const auto& selections = program_.selections;
  selections_.resize(selections.size());
  out_.narrowings.resize(selections.size());
  for (std::uint32_t o = 0; o < program_.outputs.size(); ++o)
    selections_[program_.outputs[o].selection].outputs.push_back(o);
  find_transparent();
  for (SelectionId s = 0; s < selections.size(); ++s) {
    Narrowing& narrowing = out_.narrowings[s];
    narrowing.kind = kind_of(selections[s].kind);
    if (selections[s].kind == Selection::Kind::all || !selections_[s].needed) continue;
    const SelectionId parent = selections[s].parent;
    narrowing.parent = selections_[parent].transparent ? out_.narrowings[parent].parent : parent;
    selections_[narrowing.parent].children.push_back(s);
  }
}

// Chained filters with cheap conditions and without uses of values in between: the later condition is
// computed not for the rows that pass the earlier one, but as the right side of an "and", possibly for all
// rows. That saves compacting rows and gathering columns that most entries need.
void ScheduleBuilder::find_transparent() {
  const auto& selections = program_.selections;
  const auto is_cheap = [&](const Selection& s) {
    return s.kind == Selection::Kind::condition && !pool_[s.condition].only_where_needed &&
           weights_[s.condition] <= 8;
  };
  std::vector<bool> has_children(selections.size()), has_other_children(selections.size());
  for (std::size_t s = selections.size(); s-- > 0;) {
    SelectionState& place = selections_[s];
    place.needed = place.needed || !place.outputs.empty();
    const bool takes_values = std::ranges::any_of(
        place.outputs, [&](std::uint32_t o) { return !program_.outputs[o].arguments.empty(); });
    place.transparent = is_cheap(selections[s]) && has_children[s] && !has_other_children[s] && !takes_values;
    if (!place.needed || selections[s].kind == Selection::Kind::all) continue;
    selections_[selections[s].parent].needed = true;
    has_children[selections[s].parent] = true;
    if (!is_cheap(selections[s])) has_other_children[selections[s].parent] = true;
  }
}

template <class Enter, class Leave>
void ScheduleBuilder::walk(SelectionId root, Enter&& enter, Leave&& leave) {
  std::vector<std::pair<SelectionId, std::size_t>> path;
  enter(root);
  path.emplace_back(root, 0);
  while (!path.empty()) {
    const SelectionId s = path.back().first;
    const std::size_t child = path.back().second++;
    const SelectionState& place = selections_[s];
    if (child < place.inner.size() + place.children.size()) {
      const SelectionId next =
          child < place.inner.size() ? place.inner[child] : place.children[child - place.inner.size()];
      enter(next);
      path.emplace_back(next, 0);
    } else {
      leave(s);
      path.pop_back();
    }
  }
}

std::uint64_t ScheduleBuilder::entry_of(SelectionId selection, std::uint64_t row) const {
  const Selection& s = program_.selections[selection];
  if (s.kind == Selection::Kind::all) return saturated(program_.first - program_.left_before, row, 1);
  return entry_of(s.parent, saturated(s.begin, row, std::max<std::uint64_t>(s.stride, 1)));
}

void ScheduleBuilder::bound_entries() {
  out_.first = out_.last = program_.last;
  if (!selections_[0].needed) return;
  std::uint64_t first = program_.last, last = program_.first;
  const auto enter = [&](SelectionId id) {
    SelectionState& place = selections_[id];
    const Selection& s = program_.selections[id];
    if (s.kind == Selection::Kind::all) {
      place.numbers_only = true;
      place.first = program_.first;
      place.last = program_.last;
    } else {
      const SelectionState& parent = selections_[s.parent];
      place.first = parent.first;
      place.last = parent.last;
      place.range = parent.range;
      if (s.kind == Selection::Kind::range && parent.numbers_only) {
        place.numbers_only = true;
        place.first = std::max(place.first, entry_of(s.parent, s.begin));
        if (s.end != 0) place.last = std::min(place.last, entry_of(s.parent, s.end));
      } else if (s.kind == Selection::Kind::range) {
        out_.narrowings[id].range = static_cast<std::uint32_t>(out_.ranges.size());
        out_.ranges.push_back({id, parent.range, 0});
        place.range = out_.narrowings[id].range;
      }
    }
    const auto outputs = static_cast<std::uint32_t>(place.outputs.size());
    (place.range == none ? out_.outputs_without_range : out_.ranges[place.range].outputs) += outputs;
    if (outputs > 0 && place.first < place.last) {
      first = std::min(first, place.first);
      last = std::max(last, place.last);
    }
  };
  walk(0, enter, [](SelectionId) {});
  if (first < last) {
    out_.first = first;
    out_.last = last;
  }
}

SelectionId ScheduleBuilder::add_selection(const Narrowing& narrowing) {
  const auto id = static_cast<SelectionId>(selections_.size());
  out_.narrowings.push_back(narrowing);
  selections_.emplace_back();
  selections_[narrowing.parent].inner.push_back(id);
  return id;
}

// ---- Requests

void ScheduleBuilder::request_all() {
  known_.assign(pool_.size(), none);
  evaluated_.assign(pool_.size(), none);
  if (!selections_[0].needed) return;
  const auto enter = [&](SelectionId s) {
    selections_[s].open = true;
    for (const std::uint32_t o : selections_[s].outputs)
      for (const ExpressionId argument : program_.outputs[o].arguments) request(argument, s);
    for (const SelectionId child : selections_[s].children)
      if (out_.narrowings[child].kind == Narrowing::Kind::where_true)
        selections_[child].condition = request_condition(child);
    while (!selections_[s].requested.empty()) {
      const ValueId id = selections_[s].requested.back();
      selections_[s].requested.pop_back();
      look_into(id);
    }
  };
  walk(0, enter, [&](SelectionId s) { selections_[s].open = false; });
}

ScheduleBuilder::ValueId ScheduleBuilder::request_condition(SelectionId selection) {
  const Selection& s = program_.selections[selection];
  const SelectionId parent = out_.narrowings[selection].parent;
  if (parent == s.parent) return request(s.condition, parent);
  // Behind a transparent selection, whose condition precedes this one.
  const ValueId left = selections_[s.parent].condition;
  const std::uint32_t dense_from = weights_[s.condition] <= 3 ? always : 4;
  const SelectionId inner = inner_selection(parent, left, Narrowing::Kind::where_true, dense_from);
  const ValueId right = request(s.condition, inner);
  ValueNode& node = nodes_.emplace_back();
  node.expression = s.condition;
  node.selection = parent;
  node.kind = Step::Kind::both;
  node.inner[0] = inner;
  node.dependencies = {left, inner | narrow_flag, right};
  return static_cast<ValueId>(nodes_.size() - 1);
}

ScheduleBuilder::ValueId ScheduleBuilder::request(ExpressionId expression, SelectionId selection) {
  const auto id = static_cast<ValueId>(nodes_.size());
  const auto [at, is_new] = node_of_.try_emplace(std::uint64_t{expression} << 32 | selection, id);
  if (!is_new) return at->second;
  ValueNode& node = nodes_.emplace_back();
  node.expression = expression;
  node.selection = selection;
  selections_[selection].requested.push_back(id);
  return id;
}

ScheduleBuilder::ValueId ScheduleBuilder::nearest_known(ExpressionId expression) {
  ValueId& head = known_[expression];
  while (head != none && !selections_[nodes_[head].selection].open) head = nodes_[head].known_before;
  return head;
}

void ScheduleBuilder::look_into(ValueId id) {
  const ExpressionId expression = nodes_[id].expression;
  const Expression& e = pool_[expression];
  switch (e.op) {  // values that cost nothing are never gathered
    case Op::constant:
      nodes_[id].kind = Step::Kind::constant;
      return;
    case Op::entry:
      nodes_[id].kind = Step::Kind::entry;
      return;
    case Op::slot:
      nodes_[id].kind = Step::Kind::slot;
      return;
    case Op::sample:
      nodes_[id].kind = Step::Kind::sample;
      return;
    default:
      break;
  }
  const ValueId known = nearest_known(expression);
  if (known != none && !nodes_[id].evaluated_anew) {
    nodes_[id].kind = Step::Kind::gather;
    nodes_[id].from = nodes_[known].selection;
    nodes_[id].dependencies = {known};
  } else if (is_worth_recalling(id)) {
    recall(id);
  } else {
    if (evaluated_[expression] == none) evaluated_[expression] = id;
    evaluate(id);
  }
  nodes_[id].known_before = known_[expression];
  known_[expression] = id;
}

void ScheduleBuilder::evaluate(ValueId id) {
  const Expression& e = pool_[nodes_[id].expression];
  if (e.op == Op::column) {
    nodes_[id].kind = Step::Kind::read;
    out_.columns.push_back(e.column);
    if (nodes_[id].selection == 0) out_.certain.push_back(e.column);
  } else if (e.op == Op::call) {
    nodes_[id].kind = Step::Kind::call;
    out_.large_blocks = out_.large_blocks || e.kernel->takes_large_blocks();
    for (const ExpressionId argument : e.arguments) {
      const ValueId operand = request(argument, nodes_[id].selection);
      nodes_[id].dependencies.push_back(operand);
    }
  } else {
    request_sides(id);
  }
}

// && || and ?:, whose sides are requested for the rows that need them.
void ScheduleBuilder::request_sides(ValueId id) {
  const Expression& e = pool_[nodes_[id].expression];
  const SelectionId selection = nodes_[id].selection;
  const ValueId left = request(e.arguments[0], selection);
  std::vector<std::uint32_t> dependencies{left};
  const auto side = [&](std::size_t argument, std::size_t place, Narrowing::Kind kind,
                        std::uint32_t dense_from) {
    const SelectionId inner = inner_selection(selection, left, kind, dense_from);
    nodes_[id].inner[place] = inner;
    dependencies.push_back(inner | narrow_flag);
    dependencies.push_back(request(e.arguments[argument], inner));
  };
  const auto is_cheap = [&](std::size_t argument, unsigned weight) {
    return !pool_[e.arguments[argument]].only_where_needed && weights_[e.arguments[argument]] <= weight;
  };
  if (e.op == Op::choose) {
    const std::uint32_t dense = is_cheap(1, 4) && is_cheap(2, 4) && e.type.is_scalar() ? always : 0;
    nodes_[id].kind = Step::Kind::choose;
    side(1, 0, Narrowing::Kind::where_true, dense);
    side(2, 1, Narrowing::Kind::where_false, dense);
  } else {
    const bool is_and = e.op == Op::logical_and;
    nodes_[id].kind = is_and ? Step::Kind::both : Step::Kind::either;
    side(1, 0, is_and ? Narrowing::Kind::where_true : Narrowing::Kind::where_false,
         is_cheap(1, 3)     ? always
         : is_cheap(1, 255) ? 4
                            : 0);
  }
  nodes_[id].dependencies = std::move(dependencies);
}

SelectionId ScheduleBuilder::inner_selection(SelectionId parent, ValueId condition, Narrowing::Kind kind,
                                             std::uint32_t dense_from) {
  std::vector<SelectionId>& known = inner_of_[condition];
  for (const SelectionId s : known)
    if (out_.narrowings[s].kind == kind && out_.narrowings[s].dense_from == dense_from) return s;
  const SelectionId added = add_selection({kind, parent, dense_from, none, none});
  selections_[added].condition = condition;
  known.push_back(added);
  return added;
}

// Whether an expression was evaluated before, for rows of another selection, and it takes less time to find
// out for which than to evaluate it again. Rows that the store of a value lacks are also missing from the
// stores of its arguments that were evaluated together with it. Callables in Python are called once per row
// all the same.
bool ScheduleBuilder::is_worth_recalling(ValueId id) const {
  const ValueNode& node = nodes_[id];
  const Expression& e = pool_[node.expression];
  const ValueId before = evaluated_[node.expression];
  if (e.op != Op::call || node.evaluated_anew || before == none) return false;
  if (e.kernel->takes_large_blocks()) return true;
  // What does not follow from its arguments alone is a function of the user's, which may take any time.
  const bool may_be_dear = e.kernel->only_where_needed() || !e.kernel->foldable();
  if (weights_[node.expression] < recalled_weight && !may_be_dear) return false;
  const ExpressionId lacking = selections_[node.selection].lacking;
  return lacking == none || nodes_[evaluated_[lacking]].selection != nodes_[before].selection;
}

void ScheduleBuilder::recall(ValueId id) {
  ValueNode& before = nodes_[evaluated_[nodes_[id].expression]];
  if (before.store == none) {
    before.store = out_.stores++;
    store_last_use_.push_back(0);
  }
  const std::uint32_t store = before.store;
  const SelectionId missing = add_selection({Narrowing::Kind::missing, nodes_[id].selection, 0, none, store});
  selections_[missing].lacking = nodes_[id].expression;
  const ValueId anew = request(nodes_[id].expression, missing);
  nodes_[anew].evaluated_anew = true;
  ValueNode& node = nodes_[id];
  node.kind = Step::Kind::recall;
  node.store = store;
  node.inner[0] = missing;
  node.dependencies = {missing | narrow_flag, anew};
}

// ---- Emission

void ScheduleBuilder::emit_all() {
  if (!selections_[0].needed) return;
  const auto enter = [&](SelectionId s) {
    if (s >= program_.selections.size()) return;  // inner selections come with the values that need them
    if (s != 0 && !(selections_[s].transparent && selections_[s].outputs.empty())) {
      if (selections_[s].condition != none) emit(selections_[s].condition);
      emit_narrow(s);
    }
    for (const std::uint32_t o : selections_[s].outputs) emit_output(o);
  };
  walk(0, enter, [](SelectionId) {});
  for (const Output& output : program_.outputs)
    out_.large_blocks = out_.large_blocks || output.accumulator->takes_large_blocks();
  for (std::vector<std::uint32_t>* columns : {&out_.columns, &out_.certain}) {
    std::ranges::sort(*columns);
    const auto repeated = std::ranges::unique(*columns);
    columns->erase(repeated.begin(), repeated.end());
  }
}

void ScheduleBuilder::emit(ValueId root) {
  std::vector<std::pair<ValueId, std::size_t>> path{{root, 0}};
  while (!path.empty()) {
    const ValueId id = path.back().first;
    if (nodes_[id].done) {
      path.pop_back();
      continue;
    }
    if (path.back().second == nodes_[id].dependencies.size()) {
      emit_step(id);
      path.pop_back();
      continue;
    }
    const std::uint32_t dependency = nodes_[id].dependencies[path.back().second++];
    if ((dependency & narrow_flag) == 0) {
      path.emplace_back(dependency, 0);
    } else if (const SelectionId s = dependency & ~narrow_flag; !selections_[s].narrowed) {
      emit_narrow(s);  // its dependencies precede it
    }
  }
}

Step& ScheduleBuilder::append(Step::Kind kind, SelectionId selection) {
  Step& step = out_.steps.emplace_back();
  step.kind = kind;
  step.selection = selection;
  step.first_operand = static_cast<std::uint32_t>(operand_nodes_.size());
  use_selection(selection);
  return step;
}

void ScheduleBuilder::use(Step& step, ValueId operand) {
  operand_nodes_.push_back(operand);
  ++step.operand_count;
  nodes_[operand].last_use = now();
}

void ScheduleBuilder::emit_step(ValueId id) {
  ValueNode& node = nodes_[id];
  Step& step = append(node.kind, node.selection);
  step.expression = node.expression;
  step.result = id;
  step.store = node.store;
  step.inner[0] = node.inner[0];
  step.inner[1] = node.inner[1];
  step.from = node.from;
  for (const std::uint32_t dependency : node.dependencies)
    if ((dependency & narrow_flag) == 0) use(step, dependency);
  for (const SelectionId inner : node.inner)
    if (inner != none) use_selection(inner);
  if (node.kind == Step::Kind::gather) use_selection(node.from);
  if (node.store != none) use_store(node.store);
  node.done = true;
  node.last_use = now();
}

void ScheduleBuilder::emit_narrow(SelectionId selection) {
  const Narrowing& narrowing = out_.narrowings[selection];
  Step& step = append(Step::Kind::narrow, narrowing.parent);
  step.inner[0] = selection;
  if (selections_[selection].condition != none) use(step, selections_[selection].condition);
  if (narrowing.store != none) use_store(narrowing.store);
  use_selection(selection);
  selections_[selection].narrowed = true;
}

void ScheduleBuilder::emit_output(std::uint32_t output) {
  const Output& o = program_.outputs[output];
  std::vector<ValueId> arguments;
  arguments.reserve(o.arguments.size());
  for (const ExpressionId argument : o.arguments) {
    arguments.push_back(node_of_.at(std::uint64_t{argument} << 32 | o.selection));
    emit(arguments.back());
  }
  Step& step = append(Step::Kind::output, o.selection);
  step.expression = output;
  for (const ValueId argument : arguments) use(step, argument);
}

// Assigns slots to values, which are reused once their value is dead, and records which step releases what.
void ScheduleBuilder::place_values() {
  std::vector<std::vector<Released>> released(out_.steps.size());
  for (SelectionId s = 1; s < selections_.size(); ++s)
    if (selections_[s].last_use != none)
      released[selections_[s].last_use].push_back({Released::Kind::selection, s});
  for (std::uint32_t s = 0; s < store_last_use_.size(); ++s)
    released[store_last_use_[s]].push_back({Released::Kind::store, s});

  std::vector<std::vector<ValueId>> dying(out_.steps.size());
  for (ValueId id = 0; id < nodes_.size(); ++id)
    if (nodes_[id].done) dying[nodes_[id].last_use].push_back(id);
  std::vector<std::uint32_t> free_places;
  for (std::size_t i = 0; i < out_.steps.size(); ++i) {
    Step& step = out_.steps[i];
    if (step.result != none) {
      ValueNode& node = nodes_[step.result];
      if (free_places.empty()) {
        node.place = out_.values++;
      } else {
        node.place = free_places.back();
        free_places.pop_back();
      }
      step.result = node.place;
    }
    step.first_released = static_cast<std::uint32_t>(out_.released.size());
    for (const ValueId id : dying[i]) {
      out_.released.push_back({Released::Kind::value, nodes_[id].place});
      free_places.push_back(nodes_[id].place);
    }
    out_.released.insert(out_.released.end(), released[i].begin(), released[i].end());
    step.released_count = static_cast<std::uint32_t>(out_.released.size()) - step.first_released;
  }
  out_.operands.reserve(operand_nodes_.size());
  for (const ValueId id : operand_nodes_) out_.operands.push_back(nodes_[id].place);
}

Schedule::Schedule(const Program& from) : program(&from) {
  ScheduleBuilder(from, *this).build();
  only_counts = !from.outputs.empty() && std::ranges::all_of(from.outputs, [](const Output& output) {
    return output.selection == 0 && output.arguments.empty() && is_count(*output.accumulator);
  });
}

}  // namespace colonnade::frame
