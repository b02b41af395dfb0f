// See block.h.
#include "frame/executor/block.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

#include "colonnade/error.h"
#include "frame/executor/rows.h"
#include "frame/kernels/kernels.h"
#include "frame/values/values.h"

namespace colonnade::frame {

namespace {

// A few arrays of this size fit the second-level cache of current processors.
constexpr std::uint64_t array_bytes = 128 * 1024;
constexpr std::uint64_t usual_entries = 8192;
constexpr std::uint64_t fewest_entries = 64;
// The number of rows read per wanted one, at most.
constexpr std::size_t most_unwanted = 8;

std::uint8_t truth(const Values& condition) {
  return *condition.as<std::uint8_t>() != 0 ? 1 : 0;
}

}  // namespace

BlockRunner::BlockRunner(const Schedule& schedule, const RunOptions& options)
    : schedule_(&schedule),
      pool_(schedule.program->pool.get()),
      values_(schedule.values),
      sets_(schedule.narrowings.size()),
      stores_(schedule.stores),
      constants_(schedule.steps.size()),
      options_(&options),
      bytes_(schedule.values),
      costs_(schedule.steps.size()) {}

void BlockRunner::start(PartRun& part, Cursor& cursor) {
  part_ = &part;
  cursor_ = &cursor;
  block_entries_ = part.last - part.first;
  if (schedule_->only_counts) return;
  cursor_->expect(schedule_->columns, schedule_->certain);
  block_entries_ = block_entries_of_part();
}

// Block borders depend on the part and the options alone, since callables see them.
std::uint64_t BlockRunner::block_entries_of_part() const {
  if (options_->block_entries != 0) return options_->block_entries;
  if (schedule_->large_blocks) return schedule_->program->large_block_entries;
  const std::uint64_t row_bytes = cursor_->row_bytes(schedule_->columns);
  return std::clamp(array_bytes / (row_bytes + 1), fewest_entries, usual_entries);
}

void BlockRunner::run(std::uint64_t first, std::uint64_t count) {
  run_piece(first, count, 0);
}

// The halves of a block that was too large recompute what the whole one has computed, but feed no output
// twice. Callables would see different blocks, and run twice.
void BlockRunner::run_piece(std::uint64_t first, std::uint64_t count, std::size_t outputs_done) {
  const std::vector<std::uint64_t> reached = part_->reached;
  first_ = first;
  count_ = count;
  outputs_done_ = outputs_done;
  for (RowSet& set : sets_) set.rows = {};
  sets_.front().rows = {first, count_, nullptr};
  try {
    return go_through();
  } catch (const Error&) {
    const bool too_large = memory_.is_exhausted();
    drop_values();
    if (!too_large) throw;
    if (count_ == 1 || schedule_->large_blocks) fail_too_large(schedule_->steps[at_]);
  } catch (...) {
    drop_values();
    throw;
  }
  part_->reached = reached;
  const std::size_t done = std::max(outputs_done, at_);
  run_piece(first, count / 2, done);
  run_piece(first + count / 2, count - count / 2, done);
}

// The block's values are released before the memory of the source may be.
void BlockRunner::drop_values() noexcept {
  for (ValuesPtr& value : values_) value.reset();
  for (Store& store : stores_) store = {};
  arguments_.clear();
  std::ranges::fill(bytes_, 0);
  held_ = 0;
}

void BlockRunner::fail_too_large(const Step& step) const {
  const auto name = [&](std::uint32_t column) { return schedule_->program->source->path(column); };
  throw Error(ErrorKind::resource,
              fmt::format("'{}' would take more than the {} MiB that a block of {} entr{} may have",
                          text_of(*pool_, step.expression, name), options_->block_bytes >> 20, count_,
                          count_ == 1 ? "y" : "ies"),
              count_ == 1 ? "keep its lists shorter" : "use blocks of fewer entries (block_entries)");
}

void BlockRunner::go_through() {
  using Clock = std::chrono::steady_clock;
  const std::vector<Step>& steps = schedule_->steps;
  Clock::time_point before = Clock::now();
  for (at_ = 0; at_ < steps.size(); ++at_) {
    const Step& step = steps[at_];
    if (sets_[step.selection].rows.size != 0) {
      memory_.limit(~std::size_t{0});
      if (step.kind == Step::Kind::narrow) {
        narrow(step);
      } else if (step.kind == Step::Kind::output) {
        if (at_ >= outputs_done_) output(step);
      } else {
        const std::size_t room = options_->block_bytes - std::min(held_, options_->block_bytes);
        memory_.limit(room);
        values_[step.result] = evaluate(step);
        bytes_[step.result] = room - memory_.left();
        held_ += bytes_[step.result];
      }
      const Clock::time_point now = Clock::now();
      costs_[at_].nanoseconds += static_cast<std::uint64_t>(std::chrono::nanoseconds(now - before).count());
      before = now;
      note(step, costs_[at_]);
    }
    if (step.released_count != 0) release(step);
  }
}

void BlockRunner::note(const Step& step, StepTotals& cost) const noexcept {
  cost.rows += sets_[step.selection].rows.size;
  if (step.kind == Step::Kind::narrow) cost.rows_left += sets_[step.inner[0]].rows.size;
  if (step.kind != Step::Kind::read && step.kind != Step::Kind::call) return;
  const ValuesPtr& values = values_[step.result];
  cost.bytes += used_bytes(*values, values->stored());
}

std::string BlockRunner::failed_origin() const {
  if (at_ >= schedule_->steps.size() || !schedule_->program->origin) return {};
  const Step& failed = schedule_->steps[at_];
  if (failed.kind == Step::Kind::narrow || failed.kind == Step::Kind::output) return {};
  const std::string origin = schedule_->program->origin(failed.expression);
  return origin.empty() ? origin : " " + origin;
}

// Outputs that need the value, or rows that a condition on it selects. Arguments have lower numbers than
// expressions that use them, and parents lower ones than their selections.
std::vector<std::uint32_t> BlockRunner::failed_outputs() const {
  if (at_ >= schedule_->steps.size()) return {};
  const Step& failed = schedule_->steps[at_];
  if (failed.kind == Step::Kind::narrow) return {};
  if (failed.kind == Step::Kind::output) return {failed.expression};
  std::vector<bool> needs(pool_->size());
  for (ExpressionId id = failed.expression; id < needs.size(); ++id)
    needs[id] = id == failed.expression ||
                std::ranges::any_of((*pool_)[id].arguments, [&](ExpressionId a) { return needs[a]; });
  const Program& program = *schedule_->program;
  std::vector<bool> narrowed(program.selections.size());
  for (SelectionId s = 1; s < narrowed.size(); ++s) {
    const Selection& selection = program.selections[s];
    narrowed[s] = narrowed[selection.parent] ||
                  (selection.kind == Selection::Kind::condition && needs[selection.condition]);
  }
  std::vector<std::uint32_t> outputs;
  for (std::uint32_t o = 0; o < program.outputs.size(); ++o)
    if (narrowed[program.outputs[o].selection] ||
        std::ranges::any_of(program.outputs[o].arguments, [&](ExpressionId a) { return needs[a]; }))
      outputs.push_back(o);
  return outputs;
}

void BlockRunner::release(const Step& step) {
  const std::span<const Released> released(schedule_->released.data() + step.first_released,
                                           step.released_count);
  for (const Released& r : released) {
    switch (r.kind) {
      case Released::Kind::value:
        values_[r.id].reset();
        held_ -= std::exchange(bytes_[r.id], 0);
        break;
      case Released::Kind::selection:
        sets_[r.id] = {};
        break;
      case Released::Kind::store:
        stores_[r.id] = {};
        break;
    }
  }
}

// ---- Values

ValuesPtr BlockRunner::evaluate(const Step& step) {
  const Expression& expression = (*pool_)[step.expression];
  const Rows& rows = sets_[step.selection].rows;
  switch (step.kind) {
    case Step::Kind::constant:
      return constant(step, rows.size);
    case Step::Kind::read:
      return read(expression, rows);
    case Step::Kind::entry:
      return entries(rows);
    case Step::Kind::slot:
      return make_constant<std::uint32_t>(rows.size, part_->slot);
    case Step::Kind::sample:
      return sample_name(rows.size);
    case Step::Kind::call:
      return call(step, expression, rows);
    case Step::Kind::both:
    case Step::Kind::either:
      return logical(step, rows);
    case Step::Kind::choose:
      return choose_side(step, rows);
    case Step::Kind::recall:
      return recall(step, rows);
    default:
      return gather_from(step);
  }
}

ValuesPtr BlockRunner::constant(const Step& step, std::size_t size) {
  ValuesPtr& known = constants_[static_cast<std::size_t>(&step - schedule_->steps.data())];
  if (known == nullptr || known->size != size) known = repeat((*pool_)[step.expression].constant, size);
  return known;
}

// If many rows of a range are wanted, reads all of it, mostly without a copy of the page, and picks the rows:
// cheaper than a source that reads rows one by one.
ValuesPtr BlockRunner::read(const Expression& expression, const Rows& rows) {
  const bool picks = rows.indices != nullptr && rows.size * most_unwanted > rows.indices[rows.size - 1];
  if (!picks) return cursor_->read(expression.column, rows, memory_);
  const Rows stretch{rows.first, rows.indices[rows.size - 1] + std::size_t{1}, nullptr};
  const ValuesPtr values = cursor_->read(expression.column, stretch, memory_);
  return gather(values, std::span(rows.indices, rows.size), memory_);
}

ValuesPtr BlockRunner::entries(const Rows& rows) {
  auto [data, owner] = memory_.array<std::uint64_t>(rows.size);
  for (std::size_t i = 0; i < rows.size; ++i) data[i] = rows.entry(i);
  return make_scalars(ElementType::uint64, rows.size, data, std::move(owner));
}

ValuesPtr BlockRunner::sample_name(std::size_t size) {
  const auto samples = schedule_->program->source->samples();
  return make_constant_string(size, part_->sample < samples.size() ? samples[part_->sample].name : "");
}

std::span<const ValuesPtr> BlockRunner::operands(const Step& step) {
  arguments_.clear();
  for (std::uint32_t i = 0; i < step.operand_count; ++i) arguments_.push_back(operand(step, i));
  return arguments_;
}

ValuesPtr BlockRunner::call(const Step& step, const Expression& expression, const Rows& rows) {
  const CallContext context{memory_, rows, part_->slot, part_->sample};
  ValuesPtr result = expression.kernel->run(context, operands(step));
  arguments_.clear();
  if (result == nullptr || result->size != rows.size)
    throw Error(ErrorKind::usage,
                fmt::format("a function returned {} values for {} entries",
                            result != nullptr ? result->size : 0, rows.size),
                "return one value per entry");
  if (step.store != none) put(stores_[step.store], rows, result);
  return result;
}

// && and ||. The right side exists for all rows, for those that need it or, if none does, not at all.
ValuesPtr BlockRunner::logical(const Step& step, const Rows& rows) {
  const ValuesPtr& left = operand(step, 0);
  const RowSet& inner = sets_[step.inner[0]];
  const bool is_and = step.kind == Step::Kind::both;
  if (inner.rows.size == 0) return left;
  const ValuesPtr& right = operand(step, 1);
  if (left->constant) return right;  // otherwise the right side would not have been computed
  const auto* b = right->as<std::uint8_t>();
  const std::size_t size = rows.size;
  if (right->constant && (truth(*right) != 0) == is_and) return left;
  auto [out, owner] = memory_.array<std::uint8_t>(size);
  if (right->constant) {
    std::memset(out, is_and ? 0 : 1, size);
  } else if (inner.rows.size == size) {
    const Operand both[] = {{left->data, false}, {right->data, false}};
    const ElementLoop join =
        element_loop(is_and ? Operation::logical_and : Operation::logical_or, ElementType::boolean);
    join(size, both, out);
  } else {
    std::memset(out, is_and ? 0 : 1, size);
    for (std::size_t i = 0; i < inner.rows.size; ++i) out[inner.in_parent[i]] = b[i];
  }
  return make_scalars(ElementType::boolean, size, out, std::move(owner));
}

ValuesPtr BlockRunner::choose_side(const Step& step, const Rows& rows) {
  const RowSet& where_yes = sets_[step.inner[0]];
  const RowSet& where_no = sets_[step.inner[1]];
  if (where_no.rows.size == 0) return operand(step, 1);
  if (where_yes.rows.size == 0) return operand(step, 2);
  const ValuesPtr& yes = operand(step, 1);
  const ValuesPtr& no = operand(step, 2);
  if (where_yes.rows.size == rows.size && where_no.rows.size == rows.size)
    return choose(*operand(step, 0), yes, no, memory_);
  return combine(rows.size, {where_yes.in_parent, where_yes.rows.size}, yes, no, memory_);
}

ValuesPtr BlockRunner::gather_from(const Step& step) {
  const RowSet& set = sets_[step.selection];
  RowSet& from = sets_[step.from];
  const ValuesPtr& values = operand(step, 0);
  const std::size_t size = set.rows.size;
  if (size == from.rows.size) return values;
  if (from.rows.indices == nullptr) return gather(values, std::span(set.rows.indices, size), memory_);
  if (schedule_->narrowings[step.selection].parent == step.from)
    return gather(values, std::span(set.in_parent, size), memory_);
  const std::uint32_t* place_of = places(from);
  auto [indices, owner] = memory_.array<std::uint32_t>(size);
  for (std::size_t i = 0; i < size; ++i) indices[i] = place_of[set.rows.indices[i]];
  return gather(values, std::span<const std::uint32_t>(indices, size), memory_);
}

const std::uint32_t* BlockRunner::places(RowSet& set) {
  if (set.places == nullptr) {
    auto [places, owner] = memory_.array<std::uint32_t>(count_);
    for (std::size_t i = 0; i < set.rows.size; ++i)
      places[set.rows.indices[i]] = static_cast<std::uint32_t>(i);
    set.places = places;
    set.owners[2] = std::move(owner);
  }
  return set.places;
}

// ---- Stores

void BlockRunner::put(Store& store, const Rows& rows, const ValuesPtr& values) {
  if (store.places == nullptr) {
    auto [places, owner] = memory_.array<std::uint32_t>(count_);
    std::fill_n(places, count_, none);
    store.places = places;
    store.owner = std::move(owner);
  }
  const std::size_t base = store.values != nullptr ? store.values->size : 0;
  for (std::size_t i = 0; i < rows.size; ++i)
    store.places[rows.entry(i) - rows.first] = static_cast<std::uint32_t>(base + i);
  const ValuesPtr both[] = {store.values, values};
  store.values = base != 0 ? concatenate(both, memory_) : values;
}

ValuesPtr BlockRunner::recall(const Step& step, const Rows& rows) {
  Store& store = stores_[step.store];
  const Rows& missing = sets_[step.inner[0]].rows;
  if (missing.size != 0) {
    const ValuesPtr& fresh = operand(step, 0);
    put(store, missing, fresh);
    if (missing.size == rows.size) return fresh;
  }
  auto [indices, owner] = memory_.array<std::uint32_t>(rows.size);
  for (std::size_t i = 0; i < rows.size; ++i) indices[i] = store.places[rows.entry(i) - rows.first];
  return gather(store.values, std::span<const std::uint32_t>(indices, rows.size), memory_);
}

void BlockRunner::output(const Step& step) {
  part_->partial(step.expression).add(sets_[step.selection].rows, operands(step));
  arguments_.clear();
}

// ---- Selections

void BlockRunner::narrow(const Step& step) {
  const Narrowing& narrowing = schedule_->narrowings[step.inner[0]];
  const RowSet& parent = sets_[step.selection];
  RowSet& child = sets_[step.inner[0]];
  switch (narrowing.kind) {
    case Narrowing::Kind::all:
      break;
    case Narrowing::Kind::where_true:
    case Narrowing::Kind::where_false:
      return narrow_by_condition(narrowing, *operand(step, 0), parent, child);
    case Narrowing::Kind::range:
      return narrow_to_range(step, narrowing, parent, child);
    case Narrowing::Kind::samples: {
      const std::vector<bool>& of_sample = schedule_->program->selections[step.inner[0]].of_sample;
      if (part_->sample < of_sample.size() && of_sample[part_->sample]) take_all(parent, child);
      break;
    }
    case Narrowing::Kind::missing:
      return narrow_to_missing(narrowing, parent, child);
  }
}

void BlockRunner::take_all(const RowSet& parent, RowSet& child) {
  child.rows = parent.rows;
  child.owners[0] = parent.owners[0];
}

void BlockRunner::take(const RowSet& parent, const std::uint32_t* positions, std::shared_ptr<void> owner,
                       std::size_t count, RowSet& child) {
  if (count == 0) return;
  if (count == parent.rows.size) return take_all(parent, child);
  child.rows = {parent.rows.first, count, positions};
  child.in_parent = positions;
  if (parent.rows.indices == nullptr) {
    child.owners[0] = std::move(owner);
    return;
  }
  child.owners[1] = std::move(owner);
  auto [indices, indices_owner] = memory_.array<std::uint32_t>(count);
  for (std::size_t i = 0; i < count; ++i) indices[i] = parent.rows.indices[positions[i]];
  child.rows.indices = indices;
  child.owners[0] = std::move(indices_owner);
}

void BlockRunner::narrow_by_condition(const Narrowing& narrowing, const Values& condition,
                                      const RowSet& parent, RowSet& child) {
  const bool wanted = narrowing.kind == Narrowing::Kind::where_true;
  const std::size_t size = parent.rows.size;
  if (condition.constant) {
    if ((truth(condition) != 0) == wanted) take_all(parent, child);
    return;
  }
  const auto* holds = condition.as<std::uint8_t>();
  const std::size_t holding = count_true(holds, size);
  const std::size_t count = wanted ? holding : size - holding;
  if (count == 0) return;
  if (count == size || std::uint64_t{count} * narrowing.dense_from >= size) return take_all(parent, child);
  auto [positions, owner] = memory_.array<std::uint32_t>(size);
  const std::size_t found = positions_where(holds, size, wanted, positions);
  take(parent, positions, std::move(owner), found, child);
}

void BlockRunner::narrow_to_range(const Step& step, const Narrowing& narrowing, const RowSet& parent,
                                  RowSet& child) {
  const Selection& range = schedule_->program->selections[step.inner[0]];
  const std::size_t size = parent.rows.size;
  std::uint64_t before = 0;  // rows that reached the range before this block
  if (narrowing.range == none) {
    before = schedule_->count_before(range.parent, first_);
  } else {
    before = part_->reached_before(narrowing.range) + part_->reached[narrowing.range];
    part_->reached[narrowing.range] += size;
  }
  const std::uint64_t stride = std::max<std::uint64_t>(range.stride, 1);
  // Of the block's rows: their numbers among all rows and a long stride may be more than 64 bits hold
  // together.
  std::uint64_t first = 0;
  if (before <= range.begin) {
    first = range.begin - before;
  } else if (const std::uint64_t over = (before - range.begin) % stride; over > 0) {
    first = stride - over;
  }
  std::uint64_t end = size;
  if (range.end != 0) end = std::min(end, range.end - std::min(range.end, before));
  if (first >= end) return;
  const auto count = static_cast<std::size_t>((end - first - 1) / stride + 1);
  auto [positions, owner] = memory_.array<std::uint32_t>(count);
  for (std::size_t i = 0; i < count; ++i) positions[i] = static_cast<std::uint32_t>(first + i * stride);
  take(parent, positions, std::move(owner), count, child);
}

void BlockRunner::narrow_to_missing(const Narrowing& narrowing, const RowSet& parent, RowSet& child) {
  const Store& store = stores_[narrowing.store];
  if (store.places == nullptr) return take_all(parent, child);
  const Rows& rows = parent.rows;
  auto [positions, owner] = memory_.array<std::uint32_t>(rows.size);
  std::size_t count = 0;
  for (std::size_t i = 0; i < rows.size; ++i) {
    positions[count] = static_cast<std::uint32_t>(i);
    count += store.places[rows.entry(i) - rows.first] == none ? 1 : 0;
  }
  take(parent, positions, std::move(owner), count, child);
}

}  // namespace colonnade::frame
