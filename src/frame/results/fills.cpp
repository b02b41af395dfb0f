// See fills.h.
#include "frame/results/fills.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/aligned_buffer.h"
#include "colonnade/error.h"
#include "frame/functions/optionals.h"
#include "frame/results/arrays.h"
#include "frame/results/element_visit.h"

namespace colonnade::frame {
namespace {

// With a stored element per row at every level.
ValuesPtr laid_out(const ValuesPtr& values) {
  const auto builder = std::make_shared<ArrayBuilder>(values->type);
  builder->append(*values);
  return builder->values(builder);
}

// Constant lists have to be expanded; numbers need not be.
bool has_constant_list(const Values& values) {
  const Values* at = &values;
  while (at->type.is_list()) {
    if (at->constant) return true;
    at = &at->items();
  }
  return false;
}

ValuesPtr with_plain_lists(const ValuesPtr& values) {
  return has_constant_list(*values) ? laid_out(values) : values;
}

// Several optionals without what is missing in one of them; empty if there are not several.
std::vector<ValuesPtr> where_all_are_present(const Rows& rows, std::span<const ValuesPtr> arguments) {
  std::vector<ValueType> types;
  for (const ValuesPtr& argument : arguments) types.push_back(argument->type);
  if (!have_optionals_to_align(types)) return {};
  BlockMemory memory;
  std::vector<ValuesPtr> aligned;
  for (const ValuesPtr& argument : arguments) aligned.push_back(with_plain_lists(argument));
  align_optionals(aligned, rows.size, memory);
  return aligned;
}

}  // namespace

Leaves leaves_of(const ValuesPtr& values) {
  Leaves leaves;
  leaves.keep = with_plain_lists(values);
  const Values* at = leaves.keep.get();
  leaves.size = at->size;
  while (at->type.is_list()) {
    leaves.size = leaves.size == 0 ? 0 : static_cast<std::size_t>(at->offsets[leaves.size]);
    at = &at->items();
  }
  leaves.element = at->type.element();
  leaves.data = at->data;
  leaves.constant = at->constant;
  return leaves;
}

// Not thread-local arrays: if the system's library has no memory for those of a thread, it ends the process.
double* Fills::scratch(std::size_t which) {
  static constexpr std::size_t columns = 4;
  static thread_local AlignedBuffer memory;
  memory.resize(columns * chunk * sizeof(double));
  return reinterpret_cast<double*>(memory.data()) + (which % columns) * chunk;
}

std::uint32_t* Fills::bin_scratch() {
  static thread_local AlignedBuffer memory;
  memory.resize(chunk * sizeof(std::uint32_t));
  return reinterpret_cast<std::uint32_t*>(memory.data());
}

Fills::Fills(const Rows& rows, std::span<const ValuesPtr> arguments, std::span<const std::string> names) {
  const std::vector<ValuesPtr> present = where_all_are_present(rows, arguments);
  if (!present.empty()) arguments = present;
  std::size_t deepest = 0;
  columns_.resize(arguments.size());
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    columns_[i].leaves = leaves_of(arguments[i]);
    columns_[i].depth = arguments[i]->type.depth();
    if (columns_[i].depth > columns_[deepest].depth) deepest = i;
  }
  if (arguments.empty()) return;
  size_ = columns_[deepest].leaves.size;
  const std::size_t depth = columns_[deepest].depth;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    if (i == deepest || depth == 0) continue;
    check_lengths(rows, *columns_[deepest].leaves.keep, *columns_[i].leaves.keep, names, deepest, i);
    if (columns_[i].depth == depth || columns_[i].leaves.constant) continue;
    // The ends of the lists below, followed down to the items.
    const Values* at = columns_[deepest].leaves.keep.get();
    for (std::size_t level = 0; level < columns_[i].depth; ++level) at = &at->items();
    std::vector<std::int64_t>& ends = columns_[i].ends;
    ends.assign(at->offsets + 1, at->offsets + 1 + columns_[i].leaves.size);
    for (at = &at->items(); at->type.is_list(); at = &at->items())
      for (std::int64_t& end : ends) end = at->offsets[end];
  }
}

void Fills::check_lengths(const Rows& rows, const Values& deep, const Values& other,
                          std::span<const std::string> names, std::size_t which_deep,
                          std::size_t which) const {
  const Values* a = &deep;
  const Values* b = &other;
  std::size_t lists = rows.size;
  for (std::size_t level = 0; b->type.is_list(); ++level) {
    if (a->offsets != b->offsets && lists != 0 &&
        std::memcmp(a->offsets, b->offsets, (lists + 1) * sizeof(std::int64_t)) != 0) {
      std::size_t i = 0;
      while (a->offsets[i + 1] == b->offsets[i + 1]) ++i;
      const auto name = [&](std::size_t k) {
        return k < names.size() ? names[k] : fmt::format("argument {}", k + 1);
      };
      const std::string where = level == 0 ? fmt::format("entry {}", rows.entry(i))
                                           : fmt::format("a block of entries from {} on", rows.entry(0));
      throw Error(
          ErrorKind::usage,
          fmt::format("in {} '{}' has {} items where '{}' has {}", where, name(which),
                      b->offsets[i + 1] - b->offsets[i], name(which_deep), a->offsets[i + 1] - a->offsets[i]),
          "fill together only lists of the same lengths, or lists and scalars");
    }
    lists = lists == 0 ? 0 : static_cast<std::size_t>(a->offsets[lists]);
    a = &a->items();
    b = &b->items();
  }
}

const double* Fills::column(std::size_t argument, std::size_t first, std::size_t count, double* scratch) {
  Column& column = columns_[argument];
  const Leaves& leaves = column.leaves;
  if (leaves.element == ElementType::float64 && !leaves.constant && column.ends.empty())
    return static_cast<const double*>(leaves.data) + first;
  visit_element(leaves.element, [&]<class T>(std::type_identity<T>) {
    const T* data = static_cast<const T*>(leaves.data);
    if (leaves.constant) {
      std::fill_n(scratch, count, count == 0 ? 0. : static_cast<double>(*data));
    } else if (column.ends.empty()) {
      for (std::size_t i = 0; i < count; ++i) scratch[i] = static_cast<double>(data[first + i]);
    } else {
      for (std::size_t i = 0; i < count; ++i) {
        while (column.ends[column.at] <= static_cast<std::int64_t>(first + i)) ++column.at;
        scratch[i] = static_cast<double>(data[column.at]);
      }
    }
  });
  return scratch;
}

void require_arguments(const ResultSpec& spec, std::span<const ValueType> types, std::size_t least,
                       std::size_t most, const char* wanted) {
  if (types.size() >= least && types.size() <= most) return;
  throw Error(
      ErrorKind::usage,
      fmt::format("the result '{}' has {} argument{}", spec.kind, types.size(), types.size() == 1 ? "" : "s"),
      fmt::format("it takes {}", wanted));
}

void require_numbers(const ResultSpec& spec, std::span<const ValueType> types) {
  for (std::size_t i = 0; i < types.size(); ++i) {
    const ValueType& inner = types[i].innermost();
    if (inner.is_floating() || inner.is_integer()) continue;
    const std::string name = i < spec.arguments.size() ? spec.arguments[i] : fmt::format("{}", i + 1);
    throw Error(ErrorKind::type,
                fmt::format("the result '{}' needs numbers, but '{}' is of type {}", spec.kind, name,
                            types[i].name()),
                "choose a number, a list of numbers, or a member that is one");
  }
}

}  // namespace colonnade::frame
