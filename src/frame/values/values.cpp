// See values.h. Lists are copied span by span: the items of consecutive lists are consecutive at every level
// below, so that one list of spans serves all levels.
#include "frame/values/values.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <numeric>

namespace colonnade::frame {

namespace {

struct Span {
  std::int64_t first;
  std::int64_t count;
};
using Spans = std::span<const Span>;

struct Wide {  // SwitchElement and similar types
  std::uint64_t words[2];
};

// Calls f with a value of the unsigned type that has the element's width.
template <class F>
auto with_width(ElementType element, F&& f) {
  switch (size_of(element)) {
    case 1:
      return f(std::uint8_t{});
    case 2:
      return f(std::uint16_t{});
    case 4:
      return f(std::uint32_t{});
    case 8:
      return f(std::uint64_t{});
    default:
      return f(Wide{});
  }
}

std::shared_ptr<Values> like(const Values& values, std::size_t size) {
  auto result = std::make_shared<Values>();
  result->type = values.type;
  result->size = size;
  return result;
}

std::shared_ptr<Values> resized(const Values& constant, std::size_t size) {
  auto result = std::make_shared<Values>(constant);
  result->size = size;
  result->constant = true;
  return result;
}

// The member of a record. A member made from a single element applies to every row.
ValuesPtr member(const Values& record, std::size_t i) {
  const ValuesPtr& child = record.children[i];
  return child->size == record.size ? child : repeat(child, record.size);
}

template <class F>
ValuesPtr map_members(const Values& record, std::size_t size, F&& f) {
  auto result = like(record, size);
  result->children.reserve(record.children.size());
  for (std::size_t i = 0; i < record.children.size(); ++i) result->children.push_back(f(member(record, i)));
  return result;
}

template <class T>
T* scalars(Values& values, BlockMemory& memory) {
  auto [data, owner] = memory.array<T>(values.size);
  values.data = data;
  values.owners.push_back(std::move(owner));
  return data;
}

std::int64_t* offsets(Values& values, BlockMemory& memory) {
  auto [data, owner] = memory.array<std::int64_t>(values.size + 1);
  values.offsets = data;
  values.owners.push_back(std::move(owner));
  return data;
}

// ---- Copying spans

// Most lists are short: copies a fixed number of bytes if that stays within the source; the next span
// overwrites the surplus, and after the last one the destination has slack (BlockMemory).
template <class T>
void copy_spans_of(const T* from, std::size_t available, Spans spans, T* to) {
  constexpr std::size_t chunk = 32 / sizeof(T);
  for (const Span& span : spans) {
    const auto first = static_cast<std::size_t>(span.first);
    const auto count = static_cast<std::size_t>(span.count);
    if (count <= chunk && first + chunk <= available) {
      std::memcpy(to, from + first, chunk * sizeof(T));
    } else if (count > 0) {
      std::memcpy(to, from + first, count * sizeof(T));
    }
    to += count;
  }
}

ValuesPtr copy_spans(const ValuesPtr& values, Spans spans, std::size_t total, BlockMemory& memory);

// The offsets of the lists in `spans`, and their items.
ValuesPtr copy_list_spans(const Values& values, Spans spans, std::size_t total, BlockMemory& memory) {
  auto result = like(values, total);
  std::int64_t* to = offsets(*result, memory);
  auto [below, owner] = memory.array<Span>(spans.size());
  std::int64_t end = 0;
  *to++ = 0;
  for (std::size_t i = 0; i < spans.size(); ++i) {
    const std::int64_t* from = values.offsets + spans[i].first;
    const std::int64_t shift = end - from[0];
    for (std::int64_t j = 1; j <= spans[i].count; ++j) *to++ = from[j] + shift;
    below[i] = {from[0], from[spans[i].count] - from[0]};
    end = from[spans[i].count] + shift;
  }
  result->children.push_back(
      copy_spans(values.children.front(), {below, spans.size()}, static_cast<std::size_t>(end), memory));
  return result;
}

ValuesPtr copy_spans(const ValuesPtr& values, Spans spans, std::size_t total, BlockMemory& memory) {
  if (values->type.is_record())
    return map_members(*values, total,
                       [&](const ValuesPtr& child) { return copy_spans(child, spans, total, memory); });
  if (values->constant) return resized(*values, total);
  if (!values->type.is_scalar()) return copy_list_spans(*values, spans, total, memory);
  auto result = like(*values, total);
  with_width(values->type.element(), [&](auto width) {
    using T = decltype(width);
    copy_spans_of(values->as<T>(), values->size, spans, scalars<T>(*result, memory));
  });
  return result;
}

// ---- Gathering

template <class Index>
ValuesPtr gather_lists(const Values& values, std::span<const Index> indices, BlockMemory& memory) {
  auto result = like(values, indices.size());
  std::int64_t* to = offsets(*result, memory);
  auto [spans, owner] = memory.array<Span>(indices.size());
  std::int64_t end = 0;
  for (std::size_t i = 0; i < indices.size(); ++i) {
    const std::int64_t* from = values.offsets + indices[i];
    to[i] = end;
    spans[i] = {from[0], from[1] - from[0]};
    end += spans[i].count;
  }
  to[indices.size()] = end;
  result->children.push_back(
      copy_spans(values.children.front(), {spans, indices.size()}, static_cast<std::size_t>(end), memory));
  return result;
}

template <class Index>
ValuesPtr gather_any(const ValuesPtr& values, std::span<const Index> indices, BlockMemory& memory) {
  if (values->type.is_record())
    return map_members(*values, indices.size(),
                       [&](const ValuesPtr& child) { return gather_any(child, indices, memory); });
  if (values->constant) return resized(*values, indices.size());
  if (!values->type.is_scalar()) return gather_lists(*values, indices, memory);
  auto result = like(*values, indices.size());
  with_width(values->type.element(), [&](auto width) {
    using T = decltype(width);
    const T* from = values->as<T>();
    T* to = scalars<T>(*result, memory);
    for (std::size_t i = 0; i < indices.size(); ++i) to[i] = from[indices[i]];
  });
  return result;
}

// ---- Constants

bool has_constant(const Values& values) {
  if (values.constant && !values.type.is_record()) return true;
  return std::ranges::any_of(values.children, [&](const ValuesPtr& child) {
    return has_constant(*child) || (values.type.is_record() && child->size != values.size);
  });
}

ValuesPtr spread_list(const ValuesPtr& values, BlockMemory& memory) {
  if (!values->constant) {
    auto result = std::make_shared<Values>(*values);
    result->children.front() = spread(values->children.front(), memory);
    return result;
  }
  const auto length = static_cast<std::size_t>(values->offsets[1]);
  auto result = like(*values, values->size);
  std::int64_t* to = offsets(*result, memory);
  auto [spans, owner] = memory.array<Span>(values->size);
  for (std::size_t i = 0; i <= values->size; ++i) to[i] = static_cast<std::int64_t>(i * length);
  std::fill_n(spans, values->size, Span{0, values->offsets[1]});
  result->children.push_back(copy_spans(spread(values->children.front(), memory), {spans, values->size},
                                        values->size * length, memory));
  return result;
}

}  // namespace

ValuesPtr gather(const ValuesPtr& values, std::span<const std::uint32_t> indices, BlockMemory& memory) {
  return gather_any(values, indices, memory);
}

ValuesPtr gather(const ValuesPtr& values, std::span<const std::int64_t> indices, BlockMemory& memory) {
  return gather_any(values, indices, memory);
}

ValuesPtr slice(const ValuesPtr& values, std::size_t first, std::size_t count, BlockMemory& memory) {
  if (first == 0 && count == values->size) return values;
  if (values->type.is_record())
    return map_members(*values, count,
                       [&](const ValuesPtr& child) { return slice(child, first, count, memory); });
  if (values->constant) return resized(*values, count);
  auto result = std::make_shared<Values>(*values);
  result->size = count;
  if (values->type.is_scalar()) {
    result->data = static_cast<const std::byte*>(values->data) + first * size_of(values->type.element());
    return result;
  }
  const std::int64_t* from = values->offsets + first;
  const std::int64_t base = from[0];
  result->offsets = from;
  if (base != 0) {
    result->owners.clear();
    std::int64_t* to = offsets(*result, memory);
    for (std::size_t i = 0; i <= count; ++i) to[i] = from[i] - base;
  }
  result->children.front() = slice(values->children.front(), static_cast<std::size_t>(base),
                                   static_cast<std::size_t>(from[count] - base), memory);
  return result;
}

ValuesPtr spread(const ValuesPtr& values, BlockMemory& memory) {
  if (!has_constant(*values)) return values;
  if (values->type.is_record())
    return map_members(*values, values->size, [&](const ValuesPtr& child) { return spread(child, memory); });
  if (!values->type.is_scalar()) return spread_list(values, memory);
  auto result = like(*values, values->size);
  with_width(values->type.element(), [&](auto width) {
    using T = decltype(width);
    std::fill_n(scalars<T>(*result, memory), values->size, *values->as<T>());
  });
  return result;
}

ValuesPtr repeat(const ValuesPtr& one, std::size_t size) {
  if (one->type.is_record()) {
    auto result = like(*one, size);
    for (const ValuesPtr& child : one->children) result->children.push_back(repeat(child, size));
    return result;
  }
  if (one->type.is_scalar() || one->constant || one->size == 1) return resized(*one, size);
  BlockMemory memory;  // a list of several: only the first is used
  return resized(*slice(one, 0, 1, memory), size);
}

// ---- Two into one

namespace {

// Anything but scalars: concatenates both and gathers from the result.
template <class IsYes>
ValuesPtr pick(std::size_t size, const ValuesPtr& yes, const ValuesPtr& no, bool compacted, IsYes&& is_yes,
               BlockMemory& memory) {
  const std::array<ValuesPtr, 2> both{yes, no};
  const ValuesPtr all = concatenate(both, memory);
  auto [indices, owner] = memory.array<std::int64_t>(size);
  auto next_yes = std::int64_t{0};
  auto next_no = static_cast<std::int64_t>(yes->size);
  for (std::size_t i = 0; i < size; ++i) {
    const bool takes = is_yes(i);
    indices[i] = takes ? next_yes : next_no;
    next_yes += !compacted || takes ? 1 : 0;
    next_no += !compacted || !takes ? 1 : 0;
  }
  return gather(all, std::span<const std::int64_t>(indices, size), memory);
}

template <class T>
void combine_scalars(std::span<const std::uint32_t> where_yes, const Values& yes, const Values& no,
                     std::size_t size, T* out) {
  const T* from_yes = yes.as<T>();
  const T* from_no = no.as<T>();
  std::size_t at = 0;
  for (std::size_t k = 0; k < where_yes.size(); ++k) {
    const std::size_t stop = where_yes[k];
    for (; at < stop; ++at) out[at] = no.constant ? *from_no : from_no[at - k];
    out[at++] = from_yes[yes.constant ? 0 : k];
  }
  for (; at < size; ++at) out[at] = no.constant ? *from_no : from_no[at - where_yes.size()];
}

template <class T>
void choose_scalars(const std::uint8_t* condition, const Values& yes, const Values& no, std::size_t size,
                    T* out) {
  const T* a = yes.as<T>();
  const T* b = no.as<T>();
  if (yes.constant && no.constant) {
    const T one = *a, other = *b;
    for (std::size_t i = 0; i < size; ++i) out[i] = condition[i] != 0 ? one : other;
  } else if (yes.constant) {
    const T one = *a;
    for (std::size_t i = 0; i < size; ++i) out[i] = condition[i] != 0 ? one : b[i];
  } else if (no.constant) {
    const T other = *b;
    for (std::size_t i = 0; i < size; ++i) out[i] = condition[i] != 0 ? a[i] : other;
  } else {
    for (std::size_t i = 0; i < size; ++i) out[i] = condition[i] != 0 ? a[i] : b[i];
  }
}

}  // namespace

ValuesPtr combine(std::size_t size, std::span<const std::uint32_t> where_yes, const ValuesPtr& yes,
                  const ValuesPtr& no, BlockMemory& memory) {
  if (where_yes.size() == size) return yes;
  if (where_yes.empty()) return no;
  if (!yes->type.is_scalar()) {
    std::size_t next = 0;
    const auto is_yes = [&](std::size_t i) {
      const bool takes = next < where_yes.size() && where_yes[next] == i;
      next += takes ? 1 : 0;
      return takes;
    };
    return pick(size, yes, no, true, is_yes, memory);
  }
  auto result = like(*yes, size);
  with_width(yes->type.element(), [&](auto width) {
    using T = decltype(width);
    combine_scalars<T>(where_yes, *yes, *no, size, scalars<T>(*result, memory));
  });
  return result;
}

ValuesPtr choose(const Values& condition, const ValuesPtr& yes, const ValuesPtr& no, BlockMemory& memory) {
  const auto* holds = condition.as<std::uint8_t>();
  if (condition.constant) return *holds != 0 ? yes : no;
  if (!yes->type.is_scalar())
    return pick(condition.size, yes, no, false, [&](std::size_t i) { return holds[i] != 0; }, memory);
  auto result = like(*yes, condition.size);
  with_width(yes->type.element(), [&](auto width) {
    using T = decltype(width);
    choose_scalars<T>(holds, *yes, *no, condition.size, scalars<T>(*result, memory));
  });
  return result;
}

// ---- Many into one

namespace {

std::vector<ValuesPtr> children_of(std::span<const ValuesPtr> values, std::size_t i) {
  std::vector<ValuesPtr> children;
  children.reserve(values.size());
  for (const ValuesPtr& v : values) children.push_back(v->type.is_record() ? member(*v, i) : v->children[i]);
  return children;
}

ValuesPtr concatenate_lists(std::span<const ValuesPtr> values, std::size_t total, BlockMemory& memory) {
  std::vector<ValuesPtr> pieces;
  pieces.reserve(values.size());
  for (const ValuesPtr& v : values) pieces.push_back(v->constant ? spread(v, memory) : v);
  auto result = like(*pieces.front(), total);
  std::int64_t* to = offsets(*result, memory);
  std::int64_t end = 0;
  *to++ = 0;
  for (const ValuesPtr& piece : pieces) {
    for (std::size_t i = 1; i <= piece->size; ++i) *to++ = piece->offsets[i] + end;
    end += piece->offsets[piece->size];
  }
  result->children.push_back(concatenate(children_of(pieces, 0), memory));
  return result;
}

}  // namespace

ValuesPtr concatenate(std::span<const ValuesPtr> values, BlockMemory& memory) {
  if (values.size() == 1) return values.front();
  const Values& first = *values.front();
  const std::size_t total =
      std::accumulate(values.begin(), values.end(), std::size_t{0},
                      [](std::size_t sum, const ValuesPtr& v) { return sum + v->size; });
  if (first.type.is_record()) {
    auto result = like(first, total);
    for (std::size_t i = 0; i < first.children.size(); ++i)
      result->children.push_back(concatenate(children_of(values, i), memory));
    return result;
  }
  if (!first.type.is_scalar()) return concatenate_lists(values, total, memory);
  auto result = like(first, total);
  with_width(first.type.element(), [&](auto width) {
    using T = decltype(width);
    T* to = scalars<T>(*result, memory);
    for (const ValuesPtr& v : values) {
      if (v->constant)
        std::fill_n(to, v->size, *v->as<T>());
      else if (v->size > 0)
        std::memcpy(to, v->as<T>(), v->size * sizeof(T));
      to += v->size;
    }
  });
  return result;
}

// ---- Copies that stay

namespace {

std::shared_ptr<void> copy_array(const void* from, std::size_t bytes) {
  constexpr auto alignment = std::align_val_t{64};
  constexpr std::size_t slack = 64;  // guaranteed by BlockMemory
  std::shared_ptr<void> to(::operator new(bytes + slack, alignment),
                           [](void* p) { ::operator delete(p, alignment); });
  if (bytes > 0) std::memcpy(to.get(), from, bytes);
  std::memset(static_cast<std::byte*>(to.get()) + bytes, 0, slack);
  return to;
}

}  // namespace

ValuesPtr keep(const ValuesPtr& values) {
  auto result = like(*values, values->size);
  result->constant = values->constant;
  if (values->data != nullptr) {
    auto data = copy_array(values->data, values->stored() * size_of(values->type.element()));
    result->data = data.get();
    result->owners.push_back(std::move(data));
  }
  if (values->offsets != nullptr) {
    auto ends = copy_array(values->offsets, (values->stored() + 1) * sizeof(std::int64_t));
    result->offsets = static_cast<const std::int64_t*>(ends.get());
    result->owners.push_back(std::move(ends));
  }
  for (const ValuesPtr& child : values->children) result->children.push_back(keep(child));
  return result;
}

std::uint64_t byte_count(const Values& values) {
  std::uint64_t bytes = 0;
  if (values.data != nullptr) bytes += values.stored() * size_of(values.type.element());
  if (values.offsets != nullptr) bytes += (values.stored() + 1) * sizeof(std::int64_t);
  for (const ValuesPtr& child : values.children) bytes += byte_count(*child);
  return bytes;
}

std::uint64_t used_bytes(const Values& values, std::uint64_t count) {
  const std::uint64_t there = std::min<std::uint64_t>(count, values.stored());
  if (values.type.is_scalar()) return there * size_of(values.type.element());
  if (values.offsets == nullptr || values.children.empty()) {  // members, of which some may be constants
    std::uint64_t bytes = 0;
    for (const ValuesPtr& child : values.children) bytes += used_bytes(*child, count);
    return bytes;
  }
  const auto items = static_cast<std::uint64_t>(values.offsets[there] - values.offsets[0]);
  return there * sizeof(std::int64_t) + used_bytes(values.items(), items);
}

}  // namespace colonnade::frame
