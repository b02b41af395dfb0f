// Values of every shape against the same elements in C++ containers, compared as text.
#include "frame/values/values.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

namespace colonnade::frame {
namespace {

template <class T>
ValuesPtr scalars(std::vector<T> values) {
  auto kept = std::make_shared<std::vector<T>>(std::move(values));
  return make_scalars(element_of<T>(), kept->size(), kept->data(), kept);
}

std::shared_ptr<std::vector<std::int64_t>> ends(const std::vector<std::size_t>& sizes) {
  auto offsets = std::make_shared<std::vector<std::int64_t>>(1, 0);
  for (const std::size_t size : sizes) offsets->push_back(offsets->back() + static_cast<std::int64_t>(size));
  return offsets;
}

ValuesPtr lists(const std::vector<std::size_t>& sizes, ValuesPtr items) {
  auto offsets = ends(sizes);
  const std::int64_t* data = offsets->data();
  return make_list(sizes.size(), data, std::move(items), std::move(offsets));
}

ValuesPtr strings(const std::vector<std::string>& texts) {
  std::vector<std::size_t> sizes;
  std::vector<char> characters;
  for (const std::string& text : texts) {
    sizes.push_back(text.size());
    characters.insert(characters.end(), text.begin(), text.end());
  }
  auto offsets = ends(sizes);
  const std::int64_t* data = offsets->data();
  return make_string(texts.size(), data, scalars(std::move(characters)), std::move(offsets));
}

template <class T>
ValuesPtr numbers(std::size_t size, T factor) {
  std::vector<T> values(size);
  for (std::size_t i = 0; i < size; ++i) values[i] = static_cast<T>(static_cast<T>(i % 100) * factor);
  return scalars(std::move(values));
}

constexpr std::size_t rows = 40;

std::vector<std::size_t> some_sizes(std::size_t count, unsigned seed, std::size_t most) {
  std::mt19937 random(seed);
  std::vector<std::size_t> sizes(count);
  for (std::size_t& size : sizes) size = random() % (most + 1);
  return sizes;
}

ValuesPtr list_of_doubles() {
  const auto sizes = some_sizes(rows, 1, 12);  // some longer than what is copied at once
  return lists(sizes, numbers<double>(std::accumulate(sizes.begin(), sizes.end(), std::size_t{0}), 0.5));
}

ValuesPtr list_of_lists() {
  const auto outer = some_sizes(rows, 2, 4);
  const auto inner = some_sizes(std::accumulate(outer.begin(), outer.end(), std::size_t{0}), 3, 3);
  const std::size_t items = std::accumulate(inner.begin(), inner.end(), std::size_t{0});
  return lists(outer, lists(inner, numbers<std::uint8_t>(items, 1)));
}

ValuesPtr list_of_strings() {
  const auto sizes = some_sizes(rows, 4, 3);
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < std::accumulate(sizes.begin(), sizes.end(), std::size_t{0}); ++i)
    texts.push_back(std::string(i % 7, static_cast<char>('a' + i % 26)));
  return lists(sizes, strings(texts));
}

ValuesPtr records() {
  const ValueType type = ValueType::record(
      "Hit",
      {{"x", ElementType::float32}, {"y", ValueType::list(ElementType::float64)}, {"z", ElementType::int32}});
  return make_record(type, rows,
                     {numbers<float>(rows, 1.5F), list_of_doubles(), make_constant<std::int32_t>(rows, 7)});
}

ValuesPtr list_of_records() {
  const auto sizes = some_sizes(20, 5, 4);
  const std::size_t items = std::accumulate(sizes.begin(), sizes.end(), std::size_t{0});
  const ValueType type = ValueType::record("Hit", {{"x", ElementType::float32}, {"n", ElementType::int16}});
  return lists(sizes,
               make_record(type, items, {numbers<float>(items, 1.5F), numbers<std::int16_t>(items, 3)}));
}

ValuesPtr constant_list() {
  return repeat(list_of_doubles(), 15);
}

std::vector<std::pair<const char*, ValuesPtr>> shapes() {
  return {{"int8", numbers<std::int8_t>(rows, 1)},
          {"int16", numbers<std::int16_t>(rows, 3)},
          {"float", numbers<float>(rows, 0.25F)},
          {"double", numbers<double>(rows, 0.1)},
          {"strings", strings({"", "a", "some longer text that takes more than a chunk", "q\"\\", "x"})},
          {"lists", list_of_doubles()},
          {"lists of lists", list_of_lists()},
          {"lists of strings", list_of_strings()},
          {"records", records()},
          {"lists of records", list_of_records()},
          {"constant", make_constant(9, 2.5F)},
          {"constant string", make_constant_string(9, "abc")},
          {"constant list", constant_list()},
          {"constant record", repeat(records(), 11)},
          {"list of constants", lists({2, 0, 3}, make_constant<std::int64_t>(5, 4))},
          {"empty", numbers<double>(0, 1)},
          {"no lists", lists({}, numbers<float>(0, 1))}};
}

std::vector<std::string> texts_of(const Values& values) {
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < values.size; ++i) texts.push_back(text_of(values, i));
  return texts;
}

// Sizes and offsets satisfy the rules of block.h.
void expect_whole(const Values& values) {
  if (values.offsets != nullptr) {
    EXPECT_EQ(values.offsets[0], 0);
    EXPECT_EQ(static_cast<std::size_t>(values.offsets[values.stored()]), values.items().size);
  }
  for (const ValuesPtr& child : values.children) {
    if (values.type.is_record()) {
      EXPECT_EQ(child->size, values.size);
    }
    expect_whole(*child);
  }
}

TEST(Values, TextShowsEveryShape) {
  EXPECT_EQ(text_of(*scalars<double>({1.5}), 0), "1.5");
  EXPECT_EQ(text_of(*scalars<float>({0.1F}), 0), "0.1");
  EXPECT_EQ(text_of(*scalars<std::uint64_t>({~std::uint64_t{0}}), 0), "18446744073709551615");
  EXPECT_EQ(text_of(*make_constant(4, true), 3), "true");
  EXPECT_EQ(text_of(*make_constant(4, 'c'), 3), "'c'");
  EXPECT_EQ(text_of(*strings({"a", "b\"c"}), 1), "\"b\\\"c\"");
  EXPECT_EQ(text_of(*lists({0, 2}, numbers<std::int32_t>(2, 5)), 0), "{}");
  EXPECT_EQ(text_of(*lists({0, 2}, numbers<std::int32_t>(2, 5)), 1), "{0, 5}");
  EXPECT_EQ(text_of(*lists({2}, lists({1, 2}, numbers<std::int32_t>(3, 5))), 0), "{{0}, {5, 10}}");
  EXPECT_EQ(text_of(*list_of_records(), 19).substr(0, 4), "{{x:");
  EXPECT_EQ(text_of(*make_constant_string(5, "abc"), 4), "\"abc\"");
}

TEST(Values, GatherTakesElementsInAnyOrder) {
  std::mt19937 random(7);
  for (const auto& [name, values] : shapes()) {
    BlockMemory memory;
    const auto texts = texts_of(*values);
    std::vector<std::uint32_t> indices;
    std::vector<std::string> expected;
    for (std::size_t i = 0; values->size > 0 && i < 100; ++i) {
      indices.push_back(static_cast<std::uint32_t>(random() % values->size));
      expected.push_back(texts[indices.back()]);
    }
    const ValuesPtr gathered = gather(values, indices, memory);
    EXPECT_EQ(texts_of(*gathered), expected) << name;
    EXPECT_EQ(gathered->type, values->type);
    expect_whole(*gathered);
    const std::vector<std::int64_t> wide(indices.begin(), indices.end());
    EXPECT_EQ(texts_of(*gather(values, wide, memory)), expected) << name;
  }
}

TEST(Values, SliceIsAStretch) {
  for (const auto& [name, values] : shapes()) {
    BlockMemory memory;
    const auto texts = texts_of(*values);
    for (const auto& [first, count] : {std::pair<std::size_t, std::size_t>{0, 2}, {1, 0}, {2, 3}, {1, 2}}) {
      if (first + count > values->size) continue;
      const ValuesPtr part = slice(values, first, count, memory);
      EXPECT_EQ(texts_of(*part), std::vector(texts.begin() + static_cast<std::ptrdiff_t>(first),
                                             texts.begin() + static_cast<std::ptrdiff_t>(first + count)))
          << name;
      expect_whole(*part);
    }
    EXPECT_EQ(slice(values, 0, values->size, memory), values);
  }
}

bool has_constant(const Values& values) {
  return (values.constant && !values.type.is_record()) ||
         std::ranges::any_of(values.children, [](const ValuesPtr& child) { return has_constant(*child); });
}

TEST(Values, SpreadLeavesNoConstant) {
  for (const auto& [name, values] : shapes()) {
    BlockMemory memory;
    const ValuesPtr wide = spread(values, memory);
    EXPECT_EQ(texts_of(*wide), texts_of(*values)) << name;
    EXPECT_FALSE(has_constant(*wide)) << name;
    expect_whole(*wide);
    EXPECT_EQ(wide == values, !has_constant(*values)) << name;
  }
}

TEST(Values, RepeatIsTheFirstElement) {
  for (const auto& [name, values] : shapes()) {
    if (values->size == 0) continue;
    const ValuesPtr repeated = repeat(values, 6);
    EXPECT_EQ(texts_of(*repeated), std::vector(6, text_of(*values, 0))) << name;
    expect_whole(*repeated);
  }
}

TEST(Values, CombineAndChooseTakeFromBoth) {
  for (const auto& [name, values] : shapes()) {
    if (values->size < 5) continue;
    BlockMemory memory;
    const std::vector<std::uint32_t> where_yes{0, 3, 4};
    const std::vector<std::uint32_t> of_yes{4, 2, 0}, of_no{1, 3, 3, 2};
    const ValuesPtr combined =
        combine(7, where_yes, gather(values, of_yes, memory), gather(values, of_no, memory), memory);
    const auto t = texts_of(*values);
    EXPECT_EQ(texts_of(*combined), (std::vector{t[4], t[1], t[3], t[2], t[0], t[3], t[2]})) << name;
    expect_whole(*combined);

    const ValuesPtr condition = scalars<std::uint8_t>({1, 0, 0, 1, 0});
    const ValuesPtr yes = slice(values, 0, 5, memory);
    const std::vector<std::uint32_t> backwards{4, 3, 2, 1, 0};
    for (const ValuesPtr& no : {gather(yes, backwards, memory), repeat(yes, 5)}) {
      const auto n = texts_of(*no);
      EXPECT_EQ(texts_of(*choose(*condition, yes, no, memory)), (std::vector{t[0], n[1], n[2], t[3], n[4]}))
          << name;
      EXPECT_EQ(texts_of(*choose(*condition, no, yes, memory)), (std::vector{n[0], t[1], t[2], n[3], t[4]}))
          << name;
    }
    EXPECT_EQ(combine(5, {}, slice(values, 0, 0, memory), yes, memory), yes);
  }
}

TEST(Values, ConcatenateAndKeep) {
  for (const auto& [name, values] : shapes()) {
    auto memory = std::make_unique<BlockMemory>();
    std::vector<ValuesPtr> pieces{values, slice(values, 0, values->size / 2, *memory), values};
    auto expected = texts_of(*values);
    for (int i = 1; i < 3; ++i) {
      const auto more = texts_of(*pieces[i]);
      expected.insert(expected.end(), more.begin(), more.end());
    }
    ValuesPtr whole = concatenate(pieces, *memory);
    EXPECT_EQ(texts_of(*whole), expected) << name;
    expect_whole(*whole);
    const ValuesPtr kept = keep(whole);
    EXPECT_EQ(byte_count(*kept), byte_count(*whole));
    whole.reset();
    memory.reset();
    EXPECT_EQ(texts_of(*kept), expected) << name;
  }
}

TEST(Values, ByteCountCountsWhatIsStored) {
  EXPECT_EQ(byte_count(*numbers<double>(10, 1)), 80u);
  EXPECT_EQ(byte_count(*make_constant(1000, 1.0F)), 4u);
  EXPECT_EQ(byte_count(*lists({2, 3}, numbers<float>(5, 1))), 3 * 8 + 5 * 4u);
}

TEST(Values, ConstantMembersOfRecordsHaveOneElement) {
  const std::int64_t offsets[] = {0, 2, 1'000'000};  // a constant has the first two
  const ValuesPtr list = repeat(make_list(1, offsets, numbers<float>(2, 1), nullptr), 2);
  const ValueType type =
      ValueType::record("", {{"x", ElementType::float64}, {"l", list->type}, {"c", ElementType::float32}});
  const ValuesPtr record = make_record(type, 2, {numbers<double>(2, 1), list, make_constant(2, 1.0F)});
  EXPECT_EQ(used_bytes(*record, 2), 2 * 8 + (8 + 2 * 4) + 4u);
  EXPECT_EQ(used_bytes(*record, 1), 8 + (8 + 2 * 4) + 4u);
  EXPECT_EQ(used_bytes(*record, 0), 0u);
}

}  // namespace
}  // namespace colonnade::frame
