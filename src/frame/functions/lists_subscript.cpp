// Single items and masks of lists: [], .at, .front, .back, .size, .empty - of strings, too.
#include <fmt/format.h>

#include <algorithm>

#include "frame/functions/lists.h"
#include "frame/functions/strings.h"

namespace colonnade::frame::lists {

void fail_index(const CallContext& context, std::size_t row, std::int64_t index, std::size_t count) {
  fail_at(context, row,
          index < 0 ? fmt::format("the index {} is negative (the list has {} items)", index, count)
                    : fmt::format("the index {} is beyond a list of {} items", index, count),
          "filter on the size of the list first, or give .at(index, default)");
}

namespace {

// One item per row, at the index `index_of(row, count)`.
template <class IndexOf>
ValuesPtr one_per_row(const CallContext& context, const Values& list, IndexOf index_of) {
  const ListView view(list);
  const std::size_t rows = context.rows.size;
  const auto items = dense_items(list, context.memory);
  if (!items->type.is_scalar()) {
    auto [indices, owner] = context.memory.array<std::int64_t>(rows);
    for (std::size_t row = 0; row < rows; ++row)
      indices[row] = view.begin(row) + static_cast<std::int64_t>(index_of(row, view.count(row)));
    return pick(items, {indices, rows}, context.memory);
  }
  return with_width(items->type.element(), [&]<class U>() {
    auto [out, owner] = context.memory.array<U>(rows);
    const U* data = items->template as<U>();
    for (std::size_t row = 0; row < rows; ++row)
      out[row] = data[static_cast<std::size_t>(view.begin(row)) + index_of(row, view.count(row))];
    return make_scalars(items->type.element(), rows, out, std::move(owner));
  });
}

ValuesPtr item_at(const CallContext& context, std::span<const ValuesPtr> arguments) {
  const ScalarView<std::int64_t> index(*arguments[1]);
  return one_per_row(context, *arguments[0], [&](std::size_t row, std::size_t count) {
    const auto i = static_cast<std::size_t>(index[row]);
    if (i >= count) fail_index(context, row, index[row], count);
    return i;
  });
}

ValuesPtr item_or_default(const CallContext& context, std::span<const ValuesPtr> arguments) {
  const ListView view(*arguments[0]);
  const ScalarView<std::int64_t> index(*arguments[1]);
  const auto items = dense_items(*arguments[0], context.memory);
  const std::size_t rows = context.rows.size;
  return with_width(items->type.element(), [&]<class U>() {
    const ScalarView<U> fallback(*arguments[2]);
    auto [out, owner] = context.memory.array<U>(rows);
    const U* data = items->template as<U>();
    for (std::size_t row = 0; row < rows; ++row) {
      const auto i = static_cast<std::size_t>(index[row]);
      out[row] = i < view.count(row) ? data[static_cast<std::size_t>(view.begin(row)) + i] : fallback[row];
    }
    return make_scalars(items->type.element(), rows, out, std::move(owner));
  });
}

// ---- Masks

// Moves kept items to the front; returns the number of items at the end of each row.
template <class Keep, class Move>
void compact(const ListView& list, const ListView& mask, const Keep* keep, std::size_t rows,
             std::int64_t* offsets, Move move) {
  std::int64_t kept = 0;
  offsets[0] = 0;
  for (std::size_t row = 0; row < rows; ++row) {
    const std::int64_t from = list.begin(row);
    const Keep* flags = keep + mask.begin(row);
    const auto count = static_cast<std::int64_t>(list.count(row));
    for (std::int64_t i = 0; i < count; ++i) {
      move(kept, from + i);  // branch-free: the next item overwrites one that is not kept
      kept += flags[i] != 0 ? 1 : 0;
    }
    offsets[row + 1] = kept;
  }
}

template <class Keep>
ValuesPtr masked(const CallContext& context, const ValuesPtr& list, const Values& mask) {
  const ListView view(*list);
  const ListView mask_view(mask);
  require_same_sizes(context, view, mask_view, "a list and its mask");
  const std::size_t rows = context.rows.size;
  const auto items = dense_items(*list, context.memory);
  const auto flags = dense_items(mask, context.memory);
  const std::size_t most = view.total(rows);
  auto [offsets, offsets_owner] = context.memory.array<std::int64_t>(rows + 1);

  ValuesPtr kept;
  if (items->type.is_scalar()) {
    kept = with_width(items->type.element(), [&]<class U>() {
      auto [out, owner] = context.memory.array<U>(most);
      const U* data = items->template as<U>();
      compact(view, mask_view, flags->as<Keep>(), rows, offsets,
              [kept_items = out, data](std::int64_t to, std::int64_t from) { kept_items[to] = data[from]; });
      return make_scalars(items->type.element(), static_cast<std::size_t>(offsets[rows]), out,
                          std::move(owner));
    });
  } else {
    auto [indices, owner] = context.memory.array<std::int64_t>(most);
    compact(view, mask_view, flags->as<Keep>(), rows, offsets,
            [places = indices](std::int64_t to, std::int64_t from) { places[to] = from; });
    kept = pick(items, {indices, static_cast<std::size_t>(offsets[rows])}, context.memory);
  }
  return make_list(rows, offsets, std::move(kept), std::move(offsets_owner));
}

Bound bind_mask(const Call& call) {
  const auto& list = call.arguments[0].type;
  const auto& mask = call.arguments[1].type;
  // Masks of comparisons are int, as in ROOT, or bool; others are converted.
  const bool is_int = mask.item().is_integer() && size_of(mask.item().element()) == sizeof(std::int32_t);
  Recipe recipe{"operator[]", list, {}, nullptr, true};
  if (is_int) {
    recipe.body = [](const CallContext& context, std::span<const ValuesPtr> arguments) {
      return masked<std::int32_t>(context, arguments[0], *arguments[1]);
    };
  } else {
    recipe.conversions = {nullptr, convert(mask, ValueType::list(ElementType::boolean))};
    recipe.body = [](const CallContext& context, std::span<const ValuesPtr> arguments) {
      return masked<std::uint8_t>(context, arguments[0], *arguments[1]);
    };
  }
  return make_bound(std::move(recipe));
}

// ---- Calls

Bound bind_item(const Call& call, std::string key) {
  const auto& list = call.arguments[0].type;
  const auto& index = call.arguments[1].type;
  if (!is_number(index) || !index.is_integer())
    return {nullptr, fmt::format("needs an integer as index, got {}", index.name())};
  return make_bound({std::move(key),
                     list.item(),
                     {nullptr, convert(index, ElementType::int64)},
                     item_at,
                     true,
                     FlatCode::Kind::item});
}

Bound bind_subscript(const Call& call) {
  const auto& index = call.arguments[1].type;
  if (!index.is_list()) return bind_item(call, "operator[]");
  if (call.arguments[0].type.is_string()) return {nullptr, "needs an integer as index of a string"};
  if (!is_number_list(index))
    return {nullptr, fmt::format("needs an index or a list of numbers as mask, got {}", index.name())};
  return bind_mask(call);
}

Bound bind_at(const Call& call) {
  if (call.arguments.size() == 2) return bind_item(call, "operator[]");
  const auto& list = call.arguments[0].type;
  if (!list.is_list() || !list.item().is_scalar() ||
      (list.item() != call.arguments[2].type && !is_number_list(list)))
    return {nullptr, fmt::format("needs a list of numbers where a default is given, got {}", list.name())};
  const ValueType found =
      is_number_list(list) ? beside_number(list.item(), call.arguments[2].type) : list.item();
  return make_bound(
      {".at",
       found,
       {convert(list, ValueType::list(found)), convert(call.arguments[1].type, ElementType::int64),
        convert(call.arguments[2].type, found)},
       item_or_default});
}

// .front and .back
Bound bind_end(const Call& call, bool front) {
  const auto body = [front](const CallContext& context, std::span<const ValuesPtr> arguments) {
    return one_per_row(context, *arguments[0], [&](std::size_t row, std::size_t count) {
      if (count == 0)
        fail_at(context, row, fmt::format("an empty list has no {} item", front ? "first" : "last"),
                "filter on the size of the list first");
      return front ? std::size_t{0} : count - 1;
    });
  };
  return make_bound({front ? ".front" : ".back", call.arguments[0].type.item(), {}, body, true});
}

template <class T>
Bound bind_size(const Call& call, const char* key, FlatCode::Kind kind, T (*of_count)(std::size_t)) {
  if (call.arguments[0].type.is_optional())
    return {nullptr, fmt::format("is for lists and strings, got {}; use .has_value(), or .value().size()",
                                 call.arguments[0].type.name())};
  const auto body = [of_count](const CallContext& context, std::span<const ValuesPtr> arguments) {
    const ListView view(*arguments[0]);
    const std::size_t rows = context.rows.size;
    auto [out, owner] = context.memory.array<T>(rows);
    for (std::size_t row = 0; row < rows; ++row) out[row] = of_count(view.count(row));
    return make_scalars(element_of<T>(), rows, out, std::move(owner));
  };
  return make_bound({key, element_of<T>(), {}, body, false, kind});
}

// The size of what a variant of lists holds; 0 if it has no value.
ValuesPtr size_of_held(const CallContext& context, std::span<const ValuesPtr> arguments) {
  const std::size_t rows = context.rows.size;
  auto [out, owner] = context.memory.array<std::uint64_t>(rows);
  std::fill_n(out, rows, 0);
  for (const ValuesPtr& alternative : arguments[0]->children) {
    const ListView optional(*alternative), held(alternative->items());
    for (std::size_t row = 0; row < rows; ++row)
      if (optional.count(row) != 0) out[row] = held.count(static_cast<std::size_t>(optional.begin(row)));
  }
  return make_scalars(ElementType::uint64, rows, out, std::move(owner));
}

Bound bind_count(const Call& call) {
  if (call.arguments[0].type.is_variant())
    return make_bound({".size", ElementType::uint64, {}, size_of_held});
  return bind_size<std::uint64_t>(call, ".size", FlatCode::Kind::size,
                                  [](std::size_t count) { return static_cast<std::uint64_t>(count); });
}

// ---- Optionals: lists of zero or one items, also within lists

// The results of `each` for the optionals at the bottom of lists: each(values, row_of), with the row of each
// optional.
template <class Each>
ValuesPtr below_lists(const CallContext& context, const Values& values, std::vector<std::size_t> row_of,
                      const Each& each) {
  if (values.type.is_optional()) return each(values, row_of);
  const ListView view(values);
  const auto items = dense_items(values, context.memory);
  auto [offsets, owner] = context.memory.array<std::int64_t>(row_of.size() + 1);
  offsets[0] = 0;
  std::vector<std::int64_t> places;
  std::vector<std::size_t> rows;
  for (std::size_t i = 0; i < row_of.size(); ++i) {
    for (std::size_t k = 0; k < view.count(i); ++k) {
      places.push_back(view.begin(i) + static_cast<std::int64_t>(k));
      rows.push_back(row_of[i]);
    }
    offsets[i + 1] = static_cast<std::int64_t>(places.size());
  }
  const auto picked = pick(items, places, context.memory);
  const auto typed = as_type(picked, values.type.item());
  const std::int64_t* data = offsets;
  return make_list(row_of.size(), data, below_lists(context, *typed, std::move(rows), each),
                   std::move(owner));
}

std::vector<std::size_t> all_rows(const CallContext& context) {
  std::vector<std::size_t> rows(context.rows.size);
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = i;
  return rows;
}

bool holds_optional(const ValueType& type) {
  return type.is_optional() || (type.is_list() && holds_optional(type.item()));
}
const ValueType& optional_in(const ValueType& type) {
  return type.is_optional() ? type : optional_in(type.item());
}
// `inner` in place of the optionals.
ValueType instead_of_optional(const ValueType& type, const ValueType& inner) {
  return type.is_optional() ? inner : ValueType::list(instead_of_optional(type.item(), inner));
}

Bound no_optional(const ValueType& type) {
  return {nullptr, fmt::format("is for std::optional, and this is {}", type.name())};
}

Bound bind_has_value(const Call& call) {
  const ValueType& type = call.arguments[0].type;
  if (!holds_optional(type)) return no_optional(type);
  const auto body = [type](const CallContext& context, std::span<const ValuesPtr> arguments) {
    const auto each = [&](const Values& optionals, const std::vector<std::size_t>& row_of) {
      const ListView view(optionals);
      auto [out, owner] = context.memory.array<bool>(row_of.size());
      for (std::size_t i = 0; i < row_of.size(); ++i) out[i] = view.count(i) != 0;
      return make_scalars(ElementType::boolean, row_of.size(), out, std::move(owner));
    };
    return below_lists(context, *as_type(arguments[0], type), all_rows(context), each);
  };
  return make_bound({".has_value", instead_of_optional(type, ElementType::boolean), {}, body});
}

Bound bind_value(const Call& call) {
  const ValueType& type = call.arguments[0].type;
  if (!holds_optional(type)) return no_optional(type);
  const auto body = [type](const CallContext& context, std::span<const ValuesPtr> arguments) {
    const auto each = [&](const Values& optionals, const std::vector<std::size_t>& row_of) {
      const ListView view(optionals);
      std::vector<std::int64_t> places(row_of.size());
      for (std::size_t i = 0; i < row_of.size(); ++i) {
        if (view.count(i) == 0)
          fail_at(context, row_of[i], "an optional has no value",
                  "give one: .value_or(0), or filter on .has_value()");
        places[i] = view.begin(i);
      }
      return pick(dense_items(optionals, context.memory), places, context.memory);
    };
    return below_lists(context, *as_type(arguments[0], type), all_rows(context), each);
  };
  return make_bound({".value", instead_of_optional(type, optional_in(type).item()), {}, body, true});
}

// Texts of optionals, or those of `fallback` where they are missing.
ValuesPtr texts_or(const CallContext& context, const Values& optionals, const Strings& fallback,
                   const std::vector<std::size_t>& row_of) {
  const ListView view(optionals);
  const auto items = dense_items(optionals, context.memory);
  const Strings texts(*items);
  auto [offsets, owner] = context.memory.array<std::int64_t>(row_of.size() + 1);
  auto characters = std::make_shared<std::string>();
  offsets[0] = 0;
  for (std::size_t i = 0; i < row_of.size(); ++i) {
    const auto text =
        view.count(i) != 0 ? texts[static_cast<std::size_t>(view.begin(i))] : fallback[row_of[i]];
    count_characters(context.memory, text.size());
    *characters += text;
    offsets[i + 1] = static_cast<std::int64_t>(characters->size());
  }
  const char* data = characters->data();
  const std::size_t size = characters->size();
  return make_string(row_of.size(), offsets,
                     make_scalars(ElementType::character, size, data, std::move(characters)),
                     std::move(owner));
}

Bound bind_text_or(const ValueType& type) {
  const auto body = [type](const CallContext& context, std::span<const ValuesPtr> arguments) {
    const Strings fallback(*arguments[1]);
    const auto each = [&](const Values& optionals, const std::vector<std::size_t>& row_of) {
      return texts_or(context, optionals, fallback, row_of);
    };
    return below_lists(context, *as_type(arguments[0], type), all_rows(context), each);
  };
  return make_bound({".value_or", instead_of_optional(type, ValueType::string()), {}, body});
}

Bound bind_value_or(const Call& call) {
  const ValueType& type = call.arguments[0].type;
  if (!holds_optional(type)) return no_optional(type);
  const ValueType item = optional_in(type).item();
  if (item.is_string() && call.arguments[1].type.is_string()) return bind_text_or(type);
  if (!item.is_scalar() || !is_number(call.arguments[1].type))
    return {nullptr,
            fmt::format("needs an optional and a default of its type, numbers or strings, got {} and {}",
                        type.name(), call.arguments[1].type.name())};
  const auto body = [type, item](const CallContext& context, std::span<const ValuesPtr> arguments) {
    const auto each = [&](const Values& optionals, const std::vector<std::size_t>& row_of) {
      const ListView view(optionals);
      const auto items = dense_items(optionals, context.memory);
      return with_width(item.element(), [&]<class U>() {
        const ScalarView<U> fallback(*arguments[1]);
        auto [out, owner] = context.memory.array<U>(row_of.size());
        const U* data = items->template as<U>();
        for (std::size_t i = 0; i < row_of.size(); ++i)
          out[i] = view.count(i) != 0 ? data[view.begin(i)] : fallback[row_of[i]];
        return make_scalars(item.element(), row_of.size(), out, std::move(owner));
      });
    };
    return below_lists(context, *as_type(arguments[0], type), all_rows(context), each);
  };
  return make_bound(
      {".value_or", instead_of_optional(type, item), {nullptr, convert(call.arguments[1].type, item)}, body});
}

}  // namespace

std::vector<Function> subscript_functions() {
  return {
      function("operator[]", "list[index] or list[mask] or string[index]", "S*", bind_subscript),
      function(".at", "list.at(index) or list.at(index, default)", "Si?n", bind_at),
      function(".front", "list.front()", "S", [](const Call& call) { return bind_end(call, true); }),
      function(".back", "list.back()", "S", [](const Call& call) { return bind_end(call, false); }),
      function(".size", "list.size()", "V", bind_count),
      function("size", "size(list)", "V", bind_count),
      function("empty", "empty(list)", "S",
               [](const Call& call) {
                 return bind_size<bool>(call, ".empty", FlatCode::Kind::is_empty,
                                        [](std::size_t count) { return count == 0; });
               }),
      function(".has_value", "optional.has_value()", "L", bind_has_value),
      function(".value", "optional.value()", "L", bind_value),
      function(".value_or", "optional.value_or(default)", "L*", bind_value_or),
      function(".empty", "list.empty()", "S",
               [](const Call& call) {
                 return bind_size<bool>(call, ".empty", FlatCode::Kind::is_empty,
                                        [](std::size_t count) { return count == 0; });
               }),
  };
}

}  // namespace colonnade::frame::lists
