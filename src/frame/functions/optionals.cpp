// See optionals.h.
#include "frame/functions/optionals.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>

#include "frame/functions/lists.h"

namespace colonnade::frame {

namespace {

// A level of one argument, `depth` lists below its outermost.
ValuesPtr& level_of(ValuesPtr& argument, std::size_t depth, std::vector<std::shared_ptr<Values>>& path) {
  ValuesPtr* level = &argument;
  for (; depth > 0; --depth) {
    // Values are shared: what changes below is changed in a copy.
    path.push_back(std::make_shared<Values>(**level));
    *level = path.back();
    level = &path.back()->children.front();
  }
  return *level;
}

const Values* level_of(const Values& argument, std::size_t depth) {
  const Values* level = &argument;
  for (; depth > 0 && level->type.is_list(); --depth) level = &level->items();
  return depth == 0 && level->type.is_list() ? level : nullptr;
}

// The type of a level. Items need not know themselves that they are optionals.
const ValueType& type_of_level(const ValueType& type, std::size_t depth) {
  const ValueType* level = &type;
  for (; depth > 0 && level->is_list(); --depth) level = &level->item();
  return *level;
}

bool same_offsets(const std::int64_t* a, const std::int64_t* b, std::size_t count) {
  return a == b || std::memcmp(a, b, (count + 1) * sizeof(std::int64_t)) == 0;
}

// `list`, of `count` elements, without the items of those that are not kept.
ValuesPtr only(const Values& list, const std::vector<bool>& kept, std::size_t count, BlockMemory& memory) {
  auto [offsets, owner] = memory.array<std::int64_t>(count + 1);
  std::vector<std::int64_t> places;
  offsets[0] = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (kept[i])
      for (std::int64_t at = list.offsets[i]; at < list.offsets[i + 1]; ++at) places.push_back(at);
    offsets[i + 1] = static_cast<std::int64_t>(places.size());
  }
  ValuesPtr items = lists::pick(lists::dense_items(list, memory), places, memory);
  return as_type(make_list(list.size, offsets, std::move(items), std::move(owner)), list.type);
}

// The values of `count` optionals as what they hold: anything where they are missing, empty if that is a
// list.
ValuesPtr without_optional(const Values& optionals, std::size_t count, BlockMemory& memory) {
  const ValuesPtr items = lists::dense_items(optionals, memory);
  if (items->type.is_list()) {
    auto [offsets, owner] = memory.array<std::int64_t>(count + 1);
    for (std::size_t i = 0; i <= count; ++i) offsets[i] = items->offsets[optionals.offsets[i]];
    return as_type(make_list(count, offsets, items->children.front(), std::move(owner)), items->type);
  }
  std::vector<std::int64_t> places(count);
  const std::int64_t last = optionals.offsets[count] - 1;
  if (last < 0) return lists::pick(items, {}, memory);
  for (std::size_t i = 0; i < count; ++i) places[i] = std::min(optionals.offsets[i], last);
  return lists::pick(items, places, memory);
}

// The lists and optionals among the arguments at one depth, of `count` elements each.
class Level {
 public:
  Level(std::vector<ValuesPtr>& arguments, std::size_t depth, std::size_t count, BlockMemory& memory)
      : arguments_(arguments), depth_(depth), count_(count), memory_(memory) {
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      if (level_of(*arguments[i], depth) == nullptr) continue;
      const bool is_optional = type_of_level(arguments[i]->type, depth).is_optional();
      (is_optional ? optionals_ : lists_).push_back(i);
    }
  }

  std::size_t size() const { return optionals_.size() + lists_.size(); }
  bool is_mixed() const { return !optionals_.empty() && !lists_.empty(); }
  bool is_of_optionals() const { return lists_.empty(); }
  const std::int64_t* offsets() const {
    return offsets(optionals_.empty() ? lists_.front() : optionals_.front());
  }
  bool differs() const {
    const auto is_other = [&](std::size_t i) { return !same_offsets(offsets(), offsets(i), count_); };
    return std::ranges::any_of(optionals_, is_other) || std::ranges::any_of(lists_, is_other);
  }

  // Leaves out the elements in which an optional is missing.
  void drop_missing() {
    std::vector<bool> kept(count_, true);
    for (const std::size_t i : optionals_)
      for (std::size_t k = 0; k < count_; ++k) kept[k] = kept[k] && offsets(i)[k] != offsets(i)[k + 1];
    for (const auto& several : {optionals_, lists_})
      for (const std::size_t i : several)
        change(i, [&](const Values& level) { return only(level, kept, count_, memory_); });
  }
  // Replaces optionals by their values.
  void strip_optionals() {
    for (const std::size_t i : optionals_) {
      const ValueType stripped = without_level(arguments_[i]->type, depth_);
      change(i, [&](const Values& level) { return without_optional(level, count_, memory_); });
      auto values = std::make_shared<Values>(*arguments_[i]);
      values->type = stripped;
      arguments_[i] = std::move(values);
    }
  }

 private:
  const std::int64_t* offsets(std::size_t i) const { return level_of(*arguments_[i], depth_)->offsets; }
  template <class F>
  void change(std::size_t i, F&& changed) {
    std::vector<std::shared_ptr<Values>> path;
    ValuesPtr& level = level_of(arguments_[i], depth_, path);
    level = changed(*level);
  }
  static ValueType without_level(const ValueType& type, std::size_t depth) {
    if (depth == 0) return type.item();
    ValueType item = without_level(type.item(), depth - 1);
    return type.is_optional() ? ValueType::optional(std::move(item)) : ValueType::list(std::move(item));
  }

  std::vector<ValuesPtr>& arguments_;
  std::size_t depth_;
  std::size_t count_;
  BlockMemory& memory_;
  std::vector<std::size_t> optionals_;
  std::vector<std::size_t> lists_;
};

}  // namespace

namespace {

// The number of lists and of optionals at a depth of several types.
std::pair<std::size_t, std::size_t> lists_and_optionals(std::span<const ValueType> types, std::size_t depth) {
  std::size_t lists = 0;
  std::size_t optionals = 0;
  for (const ValueType& type : types) {
    const ValueType& level = type_of_level(type, depth);
    if (level.is_optional())
      ++optionals;
    else if (level.is_list())
      ++lists;
  }
  return {lists, optionals};
}

}  // namespace

bool have_optionals_to_align(std::span<const ValueType> types) {
  for (std::size_t depth = 0;; ++depth) {
    const auto [lists, optionals] = lists_and_optionals(types, depth);
    if (lists + optionals < 2) return false;
    if (optionals > 0) return true;
  }
}

std::string why_not_combined(std::span<const ValueType> types) {
  for (std::size_t depth = 0;; ++depth) {
    const auto [lists, optionals] = lists_and_optionals(types, depth);
    if (lists + optionals < 2) return {};
    if (lists > 0 && optionals > 0)
      return "an optional and the items of a list do not combine: say what holds where there is no value, as "
             "in "
             "x.value_or(0)";
  }
}

void align_optionals(std::vector<ValuesPtr>& arguments, std::size_t rows, BlockMemory& memory) {
  std::size_t count = rows;
  for (std::size_t depth = 0;;) {
    Level level(arguments, depth, count, memory);
    if (level.size() < 2) return;
    if (level.is_mixed()) {
      level.drop_missing();
      level.strip_optionals();
      continue;  // at this depth what the optionals hold are lists now, or numbers
    }
    if (level.differs()) {
      if (!level.is_of_optionals()) return;  // lists of different lengths: the caller reports them
      level.drop_missing();
    }
    count = static_cast<std::size_t>(level.offsets()[count]);
    ++depth;
  }
}

}  // namespace colonnade::frame
