// See flat_run.h. The rows whose loop has ended leave the registers after each turn, so that the others stay
// next to each other.
#include "frame/expression/flat_run.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <numeric>

#include "base/interruption.h"
#include "frame/expression/changes.h"
#include "frame/functions/lists.h"
#include "frame/values/values.h"

namespace colonnade::frame {
namespace {

constexpr std::uint8_t always = 1;
constexpr std::uint8_t never = 0;
constexpr std::size_t most_rows = 256;  // at a time: their registers stay in the first-level cache

class FlatList {
 public:
  FlatList(const ValuesPtr& list, bool is_copied, BlockMemory& memory)
      : list_(is_copied ? spread(list, memory) : list),
        items_(lists::dense_items(*list_, memory)),
        view_(*list_) {
    if (!is_copied) return;
    const std::size_t size = items_->size * size_of(items_->type.element());
    copy_ = memory.allocate(size);
    if (size != 0) std::memcpy(copy_.get(), items_->data, size);
    items_ = make_scalars(items_->type.element(), items_->size, copy_.get(), copy_);
  }
  const Values& items() const noexcept { return *items_; }
  lists::ListView view() const noexcept { return view_; }
  void* changing_items() const noexcept { return copy_.get(); }
  // With the items as they are now.
  ValuesPtr list() const { return make_list(list_->size, list_->offsets, items_, list_); }

 private:
  ValuesPtr list_, items_;
  lists::ListView view_;
  std::shared_ptr<void> copy_;
};

// What loops append to a list, in the order of the turns, for all rows of the block.
class FlatLog {
 public:
  FlatLog(ElementType element, BlockMemory& memory) : element_(element), memory_(memory) {}

  void make_room(std::size_t more) {
    if (size_ + more <= capacity_) return;
    const std::size_t capacity = std::max(2 * capacity_, size_ + more);
    auto [rows, rows_owner] = memory_.array<std::uint32_t>(capacity);
    auto items = memory_.allocate(capacity * size_of(element_));
    std::copy_n(rows_, size_, rows);
    if (size_ != 0) std::memcpy(items.get(), items_.get(), size_ * size_of(element_));
    rows_ = rows;
    rows_owner_ = std::move(rows_owner);
    items_ = std::move(items);
    capacity_ = capacity;
  }
  std::uint32_t* rows() noexcept { return rows_; }
  void* items() noexcept { return items_.get(); }
  std::size_t size() const noexcept { return size_; }
  void set_size(std::size_t size) noexcept { size_ = size; }

  // The lists of the rows as they are at the end.
  ValuesPtr lists(const ValuesPtr& begin, std::size_t rows) const {
    const lists::ListView view(*begin);
    const ValuesPtr old = lists::dense_items(*begin, memory_);
    auto [offsets, offsets_owner] = memory_.array<std::int64_t>(rows + 1);
    std::vector<std::int64_t> ends(rows);  // at first: what each row has more
    for (std::size_t i = 0; i < size_; ++i) ++ends[rows_[i]];
    offsets[0] = 0;
    for (std::size_t row = 0; row < rows; ++row)
      offsets[row + 1] = offsets[row] + static_cast<std::int64_t>(view.count(row)) + ends[row];
    const auto total = static_cast<std::size_t>(offsets[rows]);
    for (std::size_t row = 0; row < rows; ++row)
      ends[row] = offsets[row] + static_cast<std::int64_t>(view.count(row));
    ValuesPtr items;
    lists::with_width(element_, [&]<class U>() {
      auto [out, owner] = memory_.array<U>(total);
      for (std::size_t row = 0; row < rows; ++row)
        std::copy_n(old->as<U>() + view.begin(row), view.count(row), out + offsets[row]);
      const U* const appended = static_cast<const U*>(items_.get());
      for (std::size_t i = 0; i < size_; ++i) out[ends[rows_[i]]++] = appended[i];
      items = make_scalars(element_, total, out, std::move(owner));
    });
    return make_list(rows, offsets, std::move(items), std::move(offsets_owner));
  }

 private:
  ElementType element_;
  BlockMemory& memory_;
  std::uint32_t* rows_ = nullptr;  // of each item
  std::shared_ptr<void> rows_owner_, items_;
  std::size_t size_ = 0, capacity_ = 0;
};

void clear(ElementType element, std::size_t count, std::byte* to) {
  std::memset(to, 0, count * size_of(element));
}

// Some of the numbers from 0 on. Adding one is branch-free: what is not wanted is overwritten.
class Numbers {
 public:
  explicit Numbers(std::vector<std::uint32_t>& memory) : numbers_(memory.data()) {}
  void add(std::size_t number, bool wanted) noexcept {
    numbers_[size_] = static_cast<std::uint32_t>(number);
    size_ += wanted ? 1 : 0;
  }
  std::size_t size() const noexcept { return size_; }
  std::span<const std::uint32_t> all() const noexcept { return {numbers_, size_}; }

 private:
  std::uint32_t* numbers_;
  std::size_t size_ = 0;
};

// A program with registers for some rows.
class FlatRun {
 public:
  FlatRun(const FlatProgram& program, const CallContext& context, std::vector<const FlatList*> lists,
          std::vector<FlatLog*> logs, std::size_t capacity)
      : program_(program),
        context_(context),
        lists_(std::move(lists)),
        logs_(std::move(logs)),
        is_constant_(program.registers.size()),
        rows_(capacity),
        places_(capacity),
        kept_(capacity),
        ended_(capacity),
        left_(capacity),
        last_(capacity) {
    allocate(capacity);
    for (const auto& [constant, bytes] : program.constants) {
      std::memcpy(data_[constant], bytes.data(), bytes.size());
      is_constant_[constant] = 1;
    }
    variable_operands_.resize(program.variables.size());
    for (const FlatInstruction& each : program.instructions) steps_.push_back(step_of(each, capacity));
  }

  // To be filled for each row before it runs: the registers of the inputs, the row in the block, and the
  // place of the result.
  std::byte* at(Register number) noexcept { return data_[number]; }
  std::uint32_t* rows() noexcept { return rows_.data(); }
  std::uint32_t* places() noexcept { return places_.data(); }

  // The results begin as zeros.
  void run(std::size_t count, std::span<std::byte* const> results) {
    size_ = count;
    if (size_ != 0) compute_invariants();
    while (size_ != 0) {
      Interruption::check_now_and_then();
      for (const Step& each : steps_)
        if (each.is_due) execute(each);
      end_turn(results);
    }
  }

 private:
  // Of one register: elements for all rows, or one.
  struct Flags {
    const std::uint8_t* data = nullptr;
    std::size_t step = 0;
    bool operator[](std::size_t i) const noexcept { return data[i * step] != 0; }
  };

  void allocate(std::size_t capacity) {
    constexpr std::size_t line = 64;
    std::vector<std::size_t> begins;
    std::size_t total = 0;
    const auto add = [&](ElementType element) {
      begins.push_back(total);
      total += (capacity * size_of(element) + line - 1) / line * line + line;
    };
    for (const ElementType each : program_.registers) add(each);
    for (std::size_t i = 0; i < program_.variables.size(); ++i) add(program_.registers[i]);
    memory_ = context_.memory.allocate(total);
    auto* const bytes = static_cast<std::byte*>(memory_.get());
    for (std::size_t i = 0; i < begins.size(); ++i)
      (i < program_.registers.size() ? data_ : spare_).push_back(bytes + begins[i]);
  }

  std::size_t step(Register number) const noexcept { return is_constant_[number] != 0 ? 0 : 1; }
  Flags flags(Register number) const noexcept {
    return {reinterpret_cast<const std::uint8_t*>(data_[number]), step(number)};
  }
  Flags flags(std::optional<Register> number, const std::uint8_t& otherwise) const noexcept {
    return number ? flags(*number) : Flags{&otherwise, 0};
  }

  // An instruction with what it needs.
  struct Step {
    const FlatInstruction* instruction;
    std::unique_ptr<Operand[]> operands;  // of a call
    std::byte* out = nullptr;
    std::unique_ptr<FlatRun> inner;
    bool is_due = true;  // in each turn
  };

  Step step_of(const FlatInstruction& each, std::size_t capacity) {
    Step step{.instruction = &each};
    if (each.kind == FlatInstruction::Kind::call) {
      step.operands = std::make_unique<Operand[]>(each.operands.size());
      step.out = data_[each.results.front()];
      for (std::size_t i = 0; i < each.operands.size(); ++i) {
        const Register operand = each.operands[i];
        step.operands[i] = {data_[operand], is_constant_[operand] != 0};
        if (operand < program_.variables.size()) variable_operands_[operand].push_back(&step.operands[i]);
      }
    }
    if (each.kind == FlatInstruction::Kind::loop) {
      std::vector<const FlatList*> inner_lists;
      for (const std::uint32_t list : each.lists) inner_lists.push_back(lists_[list]);
      std::vector<FlatLog*> inner_logs;
      for (const std::uint32_t log : each.logs) inner_logs.push_back(logs_[log]);
      step.inner = std::make_unique<FlatRun>(*each.inner, context_, std::move(inner_lists),
                                             std::move(inner_logs), capacity);
    }
    return step;
  }

  // Before the first turn. Items that are not there are errors only once they are needed.
  void compute_invariants() {
    for (Step& each : steps_) {
      if (!each.instruction->is_invariant) continue;
      each.is_due = false;
      if (each.instruction->kind == FlatInstruction::Kind::item)
        each.is_due = !read_items(*each.instruction, {&never, 0});
      else
        execute(each);
    }
  }

  void execute(const Step& step) {
    switch (step.instruction->kind) {
      case FlatInstruction::Kind::call:
        return call(step);
      case FlatInstruction::Kind::item:
        read_items(*step.instruction, flags(step.instruction->guard, always));
        return;
      case FlatInstruction::Kind::size:
        return read_sizes(*step.instruction);
      case FlatInstruction::Kind::append:
        return append(*step.instruction);
      case FlatInstruction::Kind::replace:
        return replace(*step.instruction);
      case FlatInstruction::Kind::loop:
        return run_loop(*step.instruction, *step.inner);
    }
  }

  void call(const Step& step) {
    const FlatInstruction& instruction = *step.instruction;
    try {
      instruction.loop(size_, step.operands.get(), step.out);
    } catch (const ElementFault& fault) {
      instruction.kernel->fail(context_, rows_[fault.index], fault.problem);
    }
  }

  // Returns whether all are there.
  bool read_items(const FlatInstruction& each, Flags needed) {
    const FlatList& list = *lists_[each.lists.front()];
    const auto* const indices = reinterpret_cast<const std::int64_t*>(data_[each.operands.front()]);
    const std::size_t index_step = step(each.operands.front());
    bool are_all = true;
    lists::with_width(list.items().type.element(), [&]<class U>() {
      const U* const items = list.items().as<U>();
      U* const out = reinterpret_cast<U*>(data_[each.results.front()]);
      const std::uint32_t* const rows = rows_.data();
      const lists::ListView view = list.view();
      for (std::size_t i = 0, size = size_; i < size; ++i) {
        const std::size_t row = rows[i];
        const std::int64_t index = indices[i * index_step];
        const std::size_t count = view.count(row);
        const bool is_there = static_cast<std::uint64_t>(index) < count;
        if (!is_there && needed[i]) lists::fail_index(context_, row, index, count);
        out[i] = is_there ? items[view.begin(row) + index] : U{0};
        are_all = are_all && is_there;
      }
    });
    return are_all;
  }

  void read_sizes(const FlatInstruction& each) {
    const FlatList& list = *lists_[each.lists.front()];
    auto* const out = reinterpret_cast<std::uint64_t*>(data_[each.results.front()]);
    const std::uint32_t* const rows = rows_.data();
    const lists::ListView view = list.view();
    for (std::size_t i = 0, size = size_; i < size; ++i) out[i] = view.count(rows[i]);
  }

  void append(const FlatInstruction& each) {
    FlatLog& log = *logs_[each.logs.front()];
    const Flags needed = flags(each.guard, always);
    const Register item = each.operands.front();
    log.make_room(size_);
    lists::with_width(program_.registers[item], [&]<class U>() {
      const U* const items = reinterpret_cast<const U*>(data_[item]);
      const std::size_t item_step = step(item);
      std::uint32_t* const rows = log.rows();
      U* const out = static_cast<U*>(log.items());
      std::size_t end = log.size();
      for (std::size_t i = 0; i < size_; ++i) {  // branch-free: what is not taken is overwritten
        rows[end] = rows_[i];
        out[end] = items[i * item_step];
        end += needed[i] ? 1 : 0;
      }
      log.set_size(end);
    });
  }

  void replace(const FlatInstruction& each) {
    const FlatList& list = *lists_[each.lists.front()];
    const lists::ListView view = list.view();
    const auto* const indices = reinterpret_cast<const std::int64_t*>(data_[each.operands[0]]);
    const std::size_t index_step = step(each.operands[0]);
    const std::size_t item_step = step(each.operands[1]);
    const Flags needed = flags(each.guard, always);
    lists::with_width(list.items().type.element(), [&]<class U>() {
      const U* const items = reinterpret_cast<const U*>(data_[each.operands[1]]);
      U* const out = static_cast<U*>(list.changing_items());
      for (std::size_t i = 0; i < size_; ++i) {
        if (!needed[i]) continue;
        const std::size_t row = rows_[i];
        const std::int64_t index = indices[i * index_step];
        const std::size_t count = view.count(row);
        if (static_cast<std::uint64_t>(index) >= count) fail_to_replace(context_, row, index, count);
        out[view.begin(row) + index] = items[i * item_step];
      }
    });
  }

  void run_loop(const FlatInstruction& each, FlatRun& inner) {
    const Flags needed = flags(each.guard, always);
    Numbers found(inner.places_);
    for (std::size_t i = 0; i < size_; ++i) found.add(i, needed[i]);
    const std::span<const std::uint32_t> places = found.all();
    std::vector<std::byte*> results;  // by member
    std::size_t next = 0;
    for (const ValueType& member : each.inner->members) {
      std::byte* const result = member.is_scalar() ? data_[each.results[next++]] : nullptr;
      if (result != nullptr) clear(member.element(), size_, result);
      results.push_back(result);
    }
    for (std::size_t i = 0; i < places.size(); ++i) inner.rows_[i] = rows_[places[i]];
    std::size_t scalar = 0;
    for (const FlatProgram::Input& input : each.inner->inputs)
      if (input.kind == FlatProgram::Input::Kind::scalar)
        pick(each.operands[scalar++], places, inner.at(input.index));
    inner.run(places.size(), results);
  }

  // The elements of some rows.
  void pick(Register from, std::span<const std::uint32_t> indices, std::byte* to) const {
    lists::with_width(program_.registers[from], [&]<class U>() {
      const U* const elements = reinterpret_cast<const U*>(data_[from]);
      U* const out = reinterpret_cast<U*>(to);
      if (is_constant_[from] != 0)
        std::fill_n(out, indices.size(), *elements);
      else if (indices.size() == size_)
        std::copy_n(elements, size_, out);
      else
        for (std::size_t i = 0; i < indices.size(); ++i) out[i] = elements[indices[i]];
    });
  }

  // To the places of rows whose loop has ended.
  void store(Register from, std::span<const std::uint32_t> indices, std::byte* result) const {
    lists::with_width(program_.registers[from], [&]<class U>() {
      const U* const elements = reinterpret_cast<const U*>(data_[from]);
      const std::size_t element_step = step(from);
      U* const out = reinterpret_cast<U*>(result);
      const std::uint32_t* const places = places_.data();
      for (const std::uint32_t i : indices) out[places[i]] = elements[i * element_step];
    });
  }

  void end_turn(std::span<std::byte* const> results) {
    const bool first = !program_.condition_comes_last;
    const Flags goes_on = flags(first ? program_.condition : std::nullopt, always);
    const Flags leaves = flags(program_.leaves, never);
    const Flags again = flags(first ? std::nullopt : program_.condition, always);
    Numbers ended(ended_), left(left_), last(last_), kept(kept_);
    if (program_.leaves || program_.condition_comes_last) {
      for (std::size_t i = 0; i < size_; ++i) {
        const bool turns = goes_on[i];
        const bool stays = turns && !leaves[i];
        ended.add(i, !turns);
        left.add(i, turns && !stays);
        last.add(i, stays && !again[i]);
        kept.add(i, stays && again[i]);
      }
    } else {
      for (std::size_t i = 0; i < size_; ++i) {
        ended.add(i, !goes_on[i]);
        kept.add(i, goes_on[i]);
      }
    }
    for (Register i = 0; i < program_.variables.size(); ++i) {
      const auto& [member, when_left, next] = program_.variables[i];
      if (ended.size() != 0) store(i, ended.all(), results[member]);
      if (left.size() != 0) store(when_left, left.all(), results[member]);
      if (last.size() != 0) store(next, last.all(), results[member]);
    }
    if (left.size() != 0 && program_.returns) {
      store(*program_.returns, left.all(), results[results.size() - 2]);
      store(*program_.value, left.all(), results[results.size() - 1]);
    }
    if (kept.size() != 0) begin_turn(kept.all());
    size_ = kept.size();
  }

  // Of the rows that are kept, which are in order.
  void begin_turn(std::span<const std::uint32_t> kept) {
    const auto stays = [&](Register i) { return program_.variables[i].next == i && kept.size() == size_; };
    for (Register i = 0; i < program_.variables.size(); ++i)
      if (!stays(i)) pick(program_.variables[i].next, kept, spare_[i]);
    for (Register i = 0; i < program_.variables.size(); ++i) {
      if (stays(i)) continue;
      std::swap(spare_[i], data_[i]);
      for (Operand* const operand : variable_operands_[i]) operand->data = data_[i];
    }
    if (kept.size() == size_) return;
    for (const Register each : program_.carried) pick(each, kept, data_[each]);
    for (std::size_t i = 0; i < kept.size(); ++i) {
      rows_[i] = rows_[kept[i]];
      places_[i] = places_[kept[i]];
    }
  }

  const FlatProgram& program_;
  const CallContext& context_;
  std::vector<const FlatList*> lists_;
  std::vector<FlatLog*> logs_;
  std::shared_ptr<void> memory_;
  std::vector<std::byte*> data_;   // of the registers
  std::vector<std::byte*> spare_;  // of the variables, for their next values
  std::vector<char> is_constant_;
  std::vector<std::uint32_t> rows_, places_;
  std::vector<std::uint32_t> kept_, ended_, left_, last_;  // in a turn
  std::size_t size_ = 0;
  std::vector<Step> steps_;
  std::vector<std::vector<Operand*>> variable_operands_;  // of calls
};

// Rows from `first` on.
void fill(const Values& values, std::size_t first, std::size_t count, std::byte* to) {
  lists::with_width(values.type.element(), [&]<class U>() {
    U* const out = reinterpret_cast<U*>(to);
    if (values.constant)
      std::fill_n(out, count, *values.as<U>());
    else
      std::copy_n(values.as<U>() + first, count, out);
  });
}

}  // namespace

std::vector<ValuesPtr> run_flat(const FlatProgram& program, const CallContext& context,
                                std::span<const ValuesPtr> arguments) {
  using enum FlatProgram::Input::Kind;
  const std::size_t rows = context.rows.size;
  std::deque<FlatList> lists;
  std::deque<FlatLog> logs;
  std::vector<const FlatList*> list_pointers;
  std::vector<FlatLog*> log_pointers;
  for (std::size_t i = 0; i < arguments.size(); ++i)
    if (program.inputs[i].kind == list || program.inputs[i].kind == copied)
      list_pointers.push_back(
          &lists.emplace_back(arguments[i], program.inputs[i].kind == copied, context.memory));
  for (const std::size_t member : program.logs)
    log_pointers.push_back(&logs.emplace_back(program.members[member].item().element(), context.memory));
  std::vector<std::byte*> results;
  std::vector<ValuesPtr> members;
  for (const ValueType& type : program.members) {
    results.push_back(nullptr);
    members.push_back(nullptr);
    if (!type.is_scalar()) continue;
    auto owner = context.memory.allocate(rows * size_of(type.element()));
    results.back() = static_cast<std::byte*>(owner.get());
    clear(type.element(), rows, results.back());
    members.back() = make_scalars(type.element(), rows, results.back(), std::move(owner));
  }
  FlatRun run(program, context, std::move(list_pointers), std::move(log_pointers), std::min(rows, most_rows));
  for (std::size_t first = 0; first < rows; first += most_rows) {
    const std::size_t count = std::min(most_rows, rows - first);
    std::iota(run.rows(), run.rows() + count, static_cast<std::uint32_t>(first));
    std::iota(run.places(), run.places() + count, static_cast<std::uint32_t>(first));
    for (std::size_t i = 0; i < arguments.size(); ++i)
      if (program.inputs[i].kind == scalar)
        fill(*arguments[i], first, count, run.at(program.inputs[i].index));
    run.run(count, results);
  }
  for (std::size_t i = 0; i < program.members.size(); ++i)
    if (i < program.inputs.size() && program.inputs[i].kind == copied)
      members[i] = lists[program.inputs[i].index].list();
  for (std::size_t i = 0; i < logs.size(); ++i)
    members[program.logs[i]] = logs[i].lists(arguments[program.logs[i]], rows);
  return members;
}

}  // namespace colonnade::frame
