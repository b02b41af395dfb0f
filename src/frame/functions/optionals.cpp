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

// The optionals that have a value in `kept`, of `count`.
ValuesPtr only(const Values& optionals, const std::vector<bool>& kept, std::size_t count,
               BlockMemory& memory) {
  auto [offsets, owner] = memory.array<std::int64_t>(count + 1);
  std::vector<std::int64_t> places;
  offsets[0] = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (kept[i]) places.push_back(optionals.offsets[i]);
    offsets[i + 1] = static_cast<std::int64_t>(places.size());
  }
  ValuesPtr items = lists::pick(lists::dense_items(optionals, memory), places, memory);
  return as_type(make_list(optionals.size, offsets, std::move(items), std::move(owner)), optionals.type);
}

}  // namespace

bool have_optionals_to_align(std::span<const ValueType> types) {
  for (std::size_t depth = 0;; ++depth) {
    std::size_t lists = 0;
    std::size_t optionals = 0;
    for (const ValueType& type : types) {
      const ValueType& level = type_of_level(type, depth);
      lists += level.is_list() ? 1 : 0;
      optionals += level.is_optional() ? 1 : 0;
    }
    if (optionals > 1) return true;
    if (lists < 2) return false;
  }
}

void align_optionals(std::vector<ValuesPtr>& arguments, std::size_t rows, BlockMemory& memory) {
  std::size_t count = rows;
  for (std::size_t depth = 0;; ++depth) {
    std::vector<std::size_t> optionals;
    const std::int64_t* common = nullptr;
    bool differ = false;
    std::size_t lists = 0;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      const Values* level = level_of(*arguments[i], depth);
      if (level == nullptr) continue;
      ++lists;
      if (type_of_level(arguments[i]->type, depth).is_optional()) optionals.push_back(i);
      if (common == nullptr) common = level->offsets;
      differ = differ || !same_offsets(common, level->offsets, count);
    }
    if (lists < 2) return;
    if (differ) {
      if (optionals.size() != lists) return;  // lists of different lengths: the caller reports them
      std::vector<bool> kept(count, true);
      for (const std::size_t i : optionals) {
        const std::int64_t* offsets = level_of(*arguments[i], depth)->offsets;
        for (std::size_t k = 0; k < count; ++k) kept[k] = kept[k] && offsets[k] != offsets[k + 1];
      }
      for (const std::size_t i : optionals) {
        std::vector<std::shared_ptr<Values>> path;
        ValuesPtr& level = level_of(arguments[i], depth, path);
        level = only(*level, kept, count, memory);
      }
      common = level_of(*arguments[optionals.front()], depth)->offsets;
    }
    count = static_cast<std::size_t>(common[count]);
  }
}

}  // namespace colonnade::frame
