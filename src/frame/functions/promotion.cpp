// Types and conversions by C++ rules; see function.h. Sizes are those of 64-bit Linux: long has 64 bits.
#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <vector>

#include "frame/expression/function.h"
#include "frame/functions/elementwise.h"
#include "frame/functions/physics.h"

namespace colonnade::frame {

ElementType promoted(ElementType a) noexcept {
  switch (a) {
    case ElementType::uint32:
    case ElementType::int64:
    case ElementType::uint64:
    case ElementType::float32:
    case ElementType::float64:
      return a;
    case ElementType::index:
      return ElementType::uint64;
    default:
      return ElementType::int32;
  }
}

ElementType common_element(ElementType a, ElementType b) noexcept {
  a = promoted(a);
  b = promoted(b);
  // The first type in this list wins: the order of C++'s conversion ranks; long wins over unsigned int
  // because it holds all its values.
  for (const ElementType winner : {ElementType::float64, ElementType::float32, ElementType::uint64,
                                   ElementType::int64, ElementType::uint32})
    if (a == winner || b == winner) return winner;
  return ElementType::int32;
}

// ---- Kernels

namespace {

class Identity : public Kernel {
 public:
  explicit Identity(ValueType type) : type_(std::move(type)) {}
  ValuesPtr run(const CallContext&, std::span<const ValuesPtr> arguments) const override {
    return arguments.front();
  }
  const ValueType& result() const noexcept override { return type_; }
  std::string key() const override { return "same"; }

 private:
  ValueType type_;
};

}  // namespace

KernelPtr conversion(const ValueType& from, const ValueType& to) {
  if (from == to) return std::make_shared<Identity>(to);
  if (from.depth() != to.depth()) return nullptr;
  if (to.innermost().is_record()) return vector_conversion(from, to);
  const ValueType& scalar = to.innermost();
  if (!scalar.is_scalar() || !from.innermost().is_scalar()) return nullptr;
  ElementSignature signature{scalar.element(), {scalar.element()}, nullptr, false};
  // The loop converts by itself, without a buffer.
  signature.loop = conversion_loop(from.innermost().element(), scalar.element());
  if (signature.loop == nullptr) return nullptr;
  signature.arguments = {from.innermost().element()};
  return elementwise("cast " + scalar.name(), std::move(signature), std::span(&from, 1));
}

// ---- Names

namespace {

std::string_view trimmed(std::string_view text) {
  const auto is_space = [](char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; };
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

bool is_name_character(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

// The words of "unsigned long int"; empty if the text has anything else.
std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  while (!(text = trimmed(text)).empty()) {
    std::size_t end = 0;
    while (end < text.size() && is_name_character(text[end])) ++end;
    if (end == 0) return {};
    words.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  return words;
}

// "unsigned", "long int unsigned", "short", "signed char": the words in any order.
std::optional<ValueType> integer_of_words(std::string_view text) {
  const std::vector<std::string_view> words = words_of(text);
  const auto count = [&words](std::string_view word) {
    return static_cast<std::size_t>(std::count(words.begin(), words.end(), word));
  };
  const std::size_t longs = count("long");
  const std::size_t shorts = count("short");
  const std::size_t chars = count("char");
  const std::size_t ints = count("int");
  const std::size_t unsigned_words = count("unsigned");
  const std::size_t signed_words = count("signed");
  if (words.empty() || longs + shorts + chars + ints + unsigned_words + signed_words != words.size())
    return std::nullopt;
  const bool widths_fit =
      longs <= 2 && shorts + (longs != 0) <= 1 && chars + (ints + shorts + longs != 0) <= 1;
  if (!widths_fit || ints > 1 || unsigned_words + signed_words > 1) return std::nullopt;
  const bool is_unsigned = unsigned_words != 0;
  if (chars == 1) {
    if (is_unsigned) return ElementType::uint8;
    return signed_words != 0 ? ElementType::int8 : ElementType::character;
  }
  if (shorts == 1) return is_unsigned ? ElementType::uint16 : ElementType::int16;
  if (longs > 0) return is_unsigned ? ElementType::uint64 : ElementType::int64;
  return is_unsigned ? ElementType::uint32 : ElementType::int32;
}

struct NamedElement {
  std::string_view name;
  ElementType element;
};

// Single-word names of C++ and of ROOT.
constexpr std::array named_elements = {
    NamedElement{"float", ElementType::float32},    NamedElement{"double", ElementType::float64},
    NamedElement{"bool", ElementType::boolean},     NamedElement{"byte", ElementType::byte},
    NamedElement{"int8_t", ElementType::int8},      NamedElement{"uint8_t", ElementType::uint8},
    NamedElement{"int16_t", ElementType::int16},    NamedElement{"uint16_t", ElementType::uint16},
    NamedElement{"int32_t", ElementType::int32},    NamedElement{"uint32_t", ElementType::uint32},
    NamedElement{"int64_t", ElementType::int64},    NamedElement{"uint64_t", ElementType::uint64},
    NamedElement{"size_t", ElementType::uint64},    NamedElement{"ptrdiff_t", ElementType::int64},
    NamedElement{"ssize_t", ElementType::int64},    NamedElement{"uint", ElementType::uint32},
    NamedElement{"intmax_t", ElementType::int64},   NamedElement{"uintmax_t", ElementType::uint64},
    NamedElement{"Float_t", ElementType::float32},  NamedElement{"Float16_t", ElementType::float32},
    NamedElement{"Double_t", ElementType::float64}, NamedElement{"Double32_t", ElementType::float64},
    NamedElement{"Bool_t", ElementType::boolean},   NamedElement{"Char_t", ElementType::character},
    NamedElement{"UChar_t", ElementType::uint8},    NamedElement{"Byte_t", ElementType::uint8},
    NamedElement{"Short_t", ElementType::int16},    NamedElement{"UShort_t", ElementType::uint16},
    NamedElement{"Version_t", ElementType::int16},  NamedElement{"Int_t", ElementType::int32},
    NamedElement{"Ssiz_t", ElementType::int32},     NamedElement{"UInt_t", ElementType::uint32},
    NamedElement{"Long_t", ElementType::int64},     NamedElement{"ULong_t", ElementType::uint64},
    NamedElement{"Long64_t", ElementType::int64},   NamedElement{"ULong64_t", ElementType::uint64},
    NamedElement{"Longptr_t", ElementType::int64},  NamedElement{"ULongptr_t", ElementType::uint64},
    NamedElement{"float32", ElementType::float32},  NamedElement{"float64", ElementType::float64},
};

// RVecF and similar names.
constexpr std::array named_lists = {
    NamedElement{"RVecB", ElementType::boolean}, NamedElement{"RVecC", ElementType::character},
    NamedElement{"RVecD", ElementType::float64}, NamedElement{"RVecF", ElementType::float32},
    NamedElement{"RVecI", ElementType::int32},   NamedElement{"RVecU", ElementType::uint32},
    NamedElement{"RVecL", ElementType::int64},   NamedElement{"RVecUL", ElementType::uint64},
    NamedElement{"RVecLL", ElementType::int64},  NamedElement{"RVecULL", ElementType::uint64},
};

constexpr std::array<std::string_view, 9> list_templates = {
    "vector", "RVec", "span", "array", "list", "deque", "set", "unordered_set", "multiset"};

// Deeper nesting is a mistake, and must not exhaust the stack.
constexpr int deepest_name = 32;

template <class Table>
std::optional<ElementType> look_up(const Table& table, std::string_view name) {
  for (const NamedElement& entry : table)
    if (entry.name == name) return entry.element;
  return std::nullopt;
}

// Removes a word from either end: "const float", "float const".
bool take_word(std::string_view& text, std::string_view word) {
  if (text.starts_with(word) && text.size() > word.size() && !is_name_character(text[word.size()])) {
    text = trimmed(text.substr(word.size()));
    return true;
  }
  if (text.ends_with(word) && text.size() > word.size() &&
      !is_name_character(text[text.size() - word.size() - 1])) {
    text = trimmed(text.substr(0, text.size() - word.size()));
    return true;
  }
  return false;
}

// Without const, &, and the optional namespaces.
std::string_view bare_name(std::string_view text) {
  for (bool more = true; more;) {
    text = trimmed(text);
    more = take_word(text, "const") || take_word(text, "volatile") || take_word(text, "typename");
    if (text.ends_with("&")) {
      text.remove_suffix(1);
      more = true;
    }
    for (const std::string_view prefix : {"::", "std::", "ROOT::VecOps::", "VecOps::", "ROOT::", "Detail::"})
      if (text.starts_with(prefix)) {
        text.remove_prefix(prefix.size());
        more = true;
      }
  }
  return text;
}

std::optional<ValueType> type_of(std::string_view name, int depth);

// "vector<float>" and other lists; further arguments (allocators, sizes) are ignored.
std::optional<ValueType> list_of_name(std::string_view name, int depth) {
  const std::size_t open = name.find('<');
  if (open == std::string_view::npos || !name.ends_with(">")) return std::nullopt;
  const std::string_view head = trimmed(name.substr(0, open));
  if (std::find(list_templates.begin(), list_templates.end(), head) == list_templates.end())
    return std::nullopt;
  std::string_view inside = name.substr(open + 1, name.size() - open - 2);
  int nested = 0;
  for (std::size_t i = 0; i < inside.size(); ++i) {
    if (inside[i] == '<') ++nested;
    if (inside[i] == '>' && --nested < 0) return std::nullopt;
    if (inside[i] == ',' && nested == 0) {
      inside = inside.substr(0, i);
      break;
    }
  }
  if (nested != 0) return std::nullopt;
  const auto item = type_of(inside, depth + 1);
  return item ? std::optional(ValueType::list(*item)) : std::nullopt;
}

// "pair<int, float>" and tuples, as they are read from files.
std::optional<ValueType> product_of_name(std::string_view name, int depth) {
  const std::size_t open = name.find('<');
  if (open == std::string_view::npos || !name.ends_with(">")) return std::nullopt;
  const std::string_view head = trimmed(name.substr(0, open));
  if (head != "pair" && head != "tuple") return std::nullopt;
  const std::string_view inside = name.substr(open + 1, name.size() - open - 2);
  std::vector<ValueType::Member> members;
  std::string types;
  int nested = 0;
  for (std::size_t begin = 0, i = 0; i <= inside.size(); ++i) {
    if (i < inside.size() && inside[i] == '<') ++nested;
    if (i < inside.size() && inside[i] == '>' && --nested < 0) return std::nullopt;
    if (i < inside.size() && (inside[i] != ',' || nested > 0)) continue;
    const auto type = type_of(inside.substr(begin, i - begin), depth + 1);
    if (!type) return std::nullopt;
    types += (types.empty() ? "" : ",") + type->name();
    members.emplace_back("_" + std::to_string(members.size()), *type);
    begin = i + 1;
  }
  if (nested != 0 || (head == "pair" && members.size() != 2)) return std::nullopt;
  return ValueType::record("std::" + std::string(head) + "<" + types + ">", std::move(members));
}

// "struct P{float pt;int n;}": a class of a text with functions, see expression/classes.cpp.
std::optional<ValueType> class_of_name(std::string_view name, int depth) {
  const std::size_t open = name.find('{');
  if (open == std::string_view::npos || !name.ends_with("}")) return std::nullopt;
  const std::string_view inside = name.substr(open + 1, name.size() - open - 2);
  std::vector<ValueType::Member> members;
  int nested = 0;
  for (std::size_t begin = 0, i = 0; i < inside.size(); ++i) {
    if (inside[i] == '{') ++nested;
    if (inside[i] == '}') --nested;
    if (inside[i] != ';' || nested > 0) continue;
    const std::string_view member = inside.substr(begin, i - begin);
    const std::size_t space = member.rfind(' ');
    if (space == std::string_view::npos) return std::nullopt;
    const auto type = type_of(member.substr(0, space), depth + 1);
    if (!type) return std::nullopt;
    members.emplace_back(std::string(member.substr(space + 1)), *type);
    begin = i + 1;
  }
  if (members.empty()) return std::nullopt;
  return ValueType::record(std::string(trimmed(name.substr(6, open - 6))), std::move(members));
}

// "map<int, float>" and "set<int>", see expression/maps.h.
std::optional<ValueType> map_of_name(std::string_view name, int depth) {
  const std::size_t open = name.find('<');
  if (open == std::string_view::npos || !name.ends_with(">")) return std::nullopt;
  const std::string_view head = trimmed(name.substr(0, open));
  const bool is_map = head == "map" || head == "unordered_map";
  if (!is_map && head != "set" && head != "unordered_set") return std::nullopt;
  const std::string inside(name.substr(open + 1, name.size() - open - 2));
  const auto item = is_map ? product_of_name("pair<" + inside + ">", depth + 1) : type_of(inside, depth + 1);
  if (!item) return std::nullopt;
  const ValueType& key = is_map ? item->members().front().second : *item;
  if (!key.is_scalar() && !key.is_string()) return std::nullopt;
  std::string types = item->name();
  if (is_map) types = types.substr(types.find('<') + 1, types.size() - types.find('<') - 2);
  return ValueType::record((is_map ? "std::map<" : "std::set<") + types + ">",
                           {{"_items", ValueType::list(*item)}});
}

std::optional<ValueType> type_of(std::string_view name, int depth) {
  if (depth > deepest_name) return std::nullopt;
  name = bare_name(name);
  if (const auto element = look_up(named_elements, name)) return ValueType(*element);
  if (const auto item = look_up(named_lists, name)) return ValueType::list(*item);
  // rdfsampleinfo_ is a text.
  for (const std::string_view text : {"string", "string_view", "TString", "char*", "char *", "RSampleInfo",
                                      "RDF::RSampleInfo", "ROOT::RDF::RSampleInfo"})
    if (name == text) return ValueType::string();
  if (name.starts_with("struct ")) return class_of_name(name, depth);
  if (auto integer = integer_of_words(name)) return integer;
  if (auto vector = vector_class_of_name(name)) return vector;
  if (auto product = product_of_name(name, depth)) return product;
  if (auto map = map_of_name(name, depth)) return map;
  return list_of_name(name, depth);
}

}  // namespace

std::optional<ValueType> type_of_name(std::string_view name) {
  return type_of(name, 0);
}

}  // namespace colonnade::frame
