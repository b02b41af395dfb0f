// Books results, runs passes, returns values. See graph.h.
#include <fmt/format.h>

#include <algorithm>

#include "dataset/nearest.h"
#include "frame/executor/kept_cursors.h"
#include "frame/graph/graph.h"
#include "frame/graph/state.h"

namespace colonnade::frame {

// ---- Results

const BookedResult& Graph::State::result(ResultId id) const {
  if (results.contains(id)) return results[id];
  throw Error(ErrorKind::usage,
              fmt::format("{} results are booked, but none with number {}", results.size(), id));
}

namespace {

BookedResult bind_result(Graph::State& state, NodeId node, const std::vector<std::string>& arguments) {
  Graph::Garbage garbage;
  state.settle(garbage);
  BookedResult result;
  result.node = node;
  result.varied_by = state.node(node).varied_by;
  for (const std::string& argument : arguments) {
    result.arguments.push_back(state.bind(state.node(node).names, argument));
    result.varied_by = unite(result.varied_by, result.arguments.back().varied_by);
  }
  result.instances.resize(1);
  return result;
}

ResultId add_result(Graph::State& state, BookedResult result) {
  ++state.nodes[result.node].holders;
  return state.results.add(std::move(result));
}

}  // namespace

ResultId Graph::book(NodeId node, const ResultSpec& spec) {
  return booking(spec.kind, [&] {
    BookedResult result = bind_result(*state_, node, spec.arguments);
    std::vector<ExpressionId> arguments;
    for (const Computation& argument : result.arguments) arguments.push_back(argument.nominal);
    result.spec = spec;
    result.instances[0].accumulators.push_back(state_->accumulator(spec, arguments));
    return add_result(*state_, std::move(result));
  });
}

ResultId Graph::book(NodeId node, std::vector<std::string> arguments,
                     std::shared_ptr<Accumulator> accumulator) {
  return booking("book", [&] {
    BookedResult result = bind_result(*state_, node, arguments);
    result.kind = BookedResult::Kind::own;
    result.spec.arguments = std::move(arguments);
    result.instances[0].accumulators.push_back(std::move(accumulator));
    return add_result(*state_, std::move(result));
  });
}

ResultId Graph::report(NodeId node) {
  BookedResult result = bind_result(*state_, node, {});
  result.kind = BookedResult::Kind::report;
  return add_result(*state_, std::move(result));
}

std::vector<std::string> Graph::vary_result(ResultId id) {
  state_->result(id);
  BookedResult& result = state_->results[id];
  if (result.kind == BookedResult::Kind::specified && result.spec.kind == "snapshot" &&
      result.varied_by != nullptr && !result.expansion) {
    if (result.instances.front().ready)
      throw Error(ErrorKind::usage, "the snapshot is written already, without its variations",
                  "ask for the variations before the pass");
    state_->expand_snapshot(result);
  }
  result.all_variations = true;
  std::vector<std::string> names = {"nominal"};
  if (result.varied_by != nullptr)
    for (const VariationId variation : *result.varied_by) names.push_back(state_->variations[variation].full);
  return names;
}

Graph::Garbage Graph::forget(ResultId id) {
  if (!state_->results.contains(id)) return {};
  const NodeId node = state_->result(id).node;
  const auto released = std::make_shared<State::Released>();
  Garbage garbage = {released};
  state_->results.move_to(released->results, id);
  state_->release(node, *released);
  state_->settle(garbage);
  return garbage;
}

bool Graph::is_ready(ResultId id) const {
  const BookedResult& result = state_->result(id);
  const std::size_t varied = result.varied_by == nullptr ? 0 : result.varied_by->size();
  if (result.all_variations && !result.expansion && result.instances.size() <= varied) return false;
  return std::ranges::all_of(result.instances, &Instance::ready);
}

bool Graph::is_failed(ResultId id) const {
  return std::ranges::any_of(state_->result(id).instances, &Instance::failed);
}

void Graph::retry(ResultId id) {
  state_->result(id);
  for (Instance& instance : state_->results[id].instances) instance.failed = false;
}

// ---- Passes

RunReport Graph::run(const RunOptions& options) {
  Graph* const self = this;
  return run(std::span(&self, 1), options);
}

RunReport Graph::run(std::span<Graph* const> graphs, const RunOptions& options) {
  std::vector<Graph*> running;
  std::vector<State::Pass> passes;
  for (Graph* graph : graphs) {
    if (std::ranges::find(running, graph) != running.end()) continue;
    State::Pass pass = graph->state_->compile();
    if (pass.instances.empty()) continue;
    running.push_back(graph);
    passes.push_back(std::move(pass));
  }
  for (Graph* graph : running) ++graph->state_->passes;
  return State::run(passes, options);
}

RunReport Graph::run_step(ResultId id, std::uint64_t first, std::uint64_t last, const RunOptions& options) {
  const BookedResult& result = state_->result(id);
  if (state_->node(result.node).after_range)
    throw Error(ErrorKind::usage,
                "there are no steps after a range, which counts entries from the first one on",
                "compute the result as a whole");
  const std::uint64_t entries = state_->source->entries();
  if (first > last || last > entries)
    throw Error(ErrorKind::usage,
                fmt::format("there is no step from entry {} to {} of {} entries", first, last, entries),
                "0 <= first <= last <= entries");
  std::vector<State::Pass> passes;
  passes.push_back(state_->compile(State::Step{.result = id, .first = first, .last = last}));
  if (passes.front().instances.empty()) return {};
  return State::run(passes, options);
}

namespace {

// The columns to read.
std::vector<std::uint32_t> columns_of(const Program& program) {
  const ExpressionPool& pool = *program.pool;
  std::vector<bool> seen(pool.size());
  std::vector<ExpressionId> open;
  for (const Output& output : program.outputs)
    open.insert(open.end(), output.arguments.begin(), output.arguments.end());
  for (const Selection& selection : program.selections)
    if (selection.kind == Selection::Kind::condition) open.push_back(selection.condition);
  std::vector<std::uint32_t> columns;
  while (!open.empty()) {
    const ExpressionId id = open.back();
    open.pop_back();
    if (seen[id]) continue;
    seen[id] = true;
    const Expression& expression = pool[id];
    if (expression.op == Op::column) columns.push_back(expression.column);
    open.insert(open.end(), expression.arguments.begin(), expression.arguments.end());
  }
  return columns;
}

// What an aborted pass has, before the graph goes: an exception of Python may keep that for long, and a
// snapshot would hold on to what it writes. Accumulators of callers stay.
void drop_results(std::span<Instance* const> instances) noexcept {
  for (Instance* instance : instances)
    for (auto& accumulator : instance->accumulators) try {
        if (dynamic_cast<const ResultAccumulator*>(accumulator.get()) != nullptr)
          accumulator = accumulator->empty_copy();
      } catch (const std::exception&) {  // there is no memory: it stays until the graph goes
        return;
      }
}

}  // namespace

RunReport Graph::State::run(std::span<Pass> passes, const RunOptions& options) {
  const StandardFloatingPoint state;
  if (passes.empty()) return {};
  std::vector<Program> programs;
  for (Pass& pass : passes) {
    pass.program.source->prepare(columns_of(pass.program));
    programs.push_back(std::move(pass.program));
  }
  for (Pass& pass : passes)
    for (Instance* instance : pass.instances) instance->stale = true;
  std::vector<OutputId> failed;
  RunOptions noting = options;
  noting.failed = &failed;
  RunReport report;
  try {
    report = frame::run(programs, noting);
  } catch (...) {
    for (const OutputId& place : failed) passes[place.program].of_output[place.output]->failed = true;
    for (const Pass& pass : passes) drop_results(pass.instances);
    throw;
  }
  for (std::size_t p = 0; p < passes.size(); ++p) {
    const auto of_program = [p](const StepCost& cost) { return cost.program != p; };
    std::vector<StepCost> costs = report.costs;
    std::erase_if(costs, of_program);
    passes[p].state->note_costs(passes[p], programs[p], costs);
  }
  for (Pass& pass : passes)
    for (Instance* instance : pass.instances) {
      instance->stale = false;
      instance->ready = true;
      instance->selections.clear();
    }
  return report;
}

std::vector<Part> Graph::parts() const {
  const std::uint64_t entries = state_->source->entries();
  if (!state_->restricted) return state_->source->parts(0, entries);
  return state_->source->parts(std::min(state_->first, entries), std::min(state_->last, entries));
}

std::vector<std::uint64_t> Graph::part_bytes() const {
  return state_->source->stored_bytes(parts(), columns_of(state_->compile().program));
}

std::shared_ptr<KeptCursors> Graph::keep_cursors() const {
  return std::make_shared<KeptCursors>(state_->source, parts());
}

bool Graph::is_after_range(NodeId node) const {
  return state_->node(node).after_range;
}

unsigned Graph::passes() const noexcept {
  return state_->passes;
}

std::uint64_t Graph::bindings() const noexcept {
  return state_->bindings;
}

// ---- Values

const Instance& Graph::State::instance(ResultId id, std::string_view variation) const {
  const BookedResult& wanted = result(id);
  VariationId number = 0;
  if (!variation.empty() && variation != "nominal") {
    const auto known = variation_ids.find(variation);
    number = known == variation_ids.end() ? 0 : known->second;
    if (!contains(wanted.varied_by, number)) {
      std::vector<std::string> names = {"nominal"};
      if (wanted.varied_by != nullptr)
        for (const VariationId reaching : *wanted.varied_by) names.push_back(variations[reaching].full);
      throw Error(ErrorKind::not_found, fmt::format("no variation '{}' reaches the result", variation),
                  dataset::did_you_mean(variation, names));
    }
  }
  if (wanted.expansion) number = 0;
  for (const Instance& instance : wanted.instances)
    if (instance.variation == number && instance.ready) return instance;
  throw Error(ErrorKind::usage, "the result is not computed yet",
              number == 0 ? "run the graph first" : "ask for its variations, then run the graph");
}

Accumulator& Graph::accumulator(ResultId id, std::string_view variation) const {
  return *share_accumulator(id, variation);
}

std::shared_ptr<Accumulator> Graph::share_accumulator(ResultId id, std::string_view variation) const {
  const Instance& instance = state_->instance(id, variation);
  if (state_->result(id).kind == BookedResult::Kind::report)
    throw Error(ErrorKind::usage, "a report has no accumulator of its own", "use report_value");
  return instance.accumulators.front();
}

ResultValue Graph::value(ResultId id, std::string_view variation) const {
  const StandardFloatingPoint state;
  if (const auto* result = dynamic_cast<const ResultAccumulator*>(&accumulator(id, variation)))
    return result->value();
  throw Error(ErrorKind::usage, "the result is an accumulator of the caller's own", "use accumulator");
}

std::vector<FilterCount> Graph::report_value(ResultId id, std::string_view variation) const {
  const Instance& instance = state_->instance(id, variation);
  if (state_->result(id).kind != BookedResult::Kind::report)
    throw Error(ErrorKind::usage, "the result is not a report", "use value");
  std::vector<std::uint64_t> counts;
  for (const auto& accumulator : instance.accumulators)
    counts.push_back(std::get<std::uint64_t>(static_cast<const ResultAccumulator&>(*accumulator).value()));
  std::vector<FilterCount> filters;
  for (const Cut& cut : instance.cuts) filters.push_back({cut.name, counts[cut.all], counts[cut.passed]});
  return filters;
}

// ---- Elsewhere

void Graph::restrict_entries(std::uint64_t first, std::uint64_t last) {
  if (first > last)
    throw Error(ErrorKind::usage,
                fmt::format("the range of entries from {} to {} ends before it begins", first, last),
                "give the first entry and the one after the last");
  state_->first = first;
  state_->last = last;
  state_->restricted = true;
}

void Graph::set_stretch(std::uint64_t first, std::uint64_t last, std::vector<Reached> reached) {
  if (first > last)
    throw Error(ErrorKind::usage,
                fmt::format("the range of entries from {} to {} ends before it begins", first, last),
                "give the first entry and the one after the last");
  state_->stretch = State::ContinuedRange{first, last, std::move(reached)};
}

void Graph::set_block_entries(std::uint32_t entries) {
  if (entries == 0) throw Error(ErrorKind::usage, "a block must have at least one entry", "1, 2, ...");
  state_->block_entries = entries;
}

}  // namespace colonnade::frame
