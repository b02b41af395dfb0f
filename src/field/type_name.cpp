// The parser and the normaliser for type names.
//
//   type      := qualifier* "::"? path qualifier* ("[" integer "]")*
//   qualifier := "const" | "volatile" | "class" | "struct" | "enum" | "union" | "typename"
//   path      := component ("::" component)*  |  fundamental+
//   component := identifier ("<" (argument ("," argument)*)? ">")?
//   argument  := integer | type | name of a constant
//   integer   := "-"? decimal digits, then any of the suffixes u and l
//
// Names from the compiler's demangler have three more forms: "(anonymous namespace)::", "function(args)::"
// and integers with a cast, "(ns::Colour)2". The first two are skipped, so that such a class keeps its plain
// name.
#include "field/type_name.h"

#include <cxxabi.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <limits>
#include <memory>
#include <optional>
#include <utility>

#include "colonnade/error.h"
#include "colonnade/reflect.h"

namespace colonnade::field {
namespace {

constexpr std::size_t quoted_length = 96;

// Hostile names must not flood a terminal: truncates them and replaces control characters.
std::string quoted(std::string_view text) {
  std::string shown(text.substr(0, quoted_length));
  for (char& c : shown) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  }
  return fmt::format("\"{}{}\"", shown, text.size() > quoted_length ? "..." : "");
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_space(char c) {
  return c == ' ' || c == '\t';
}
bool is_identifier_start(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$' ||
         static_cast<unsigned char>(c) >= 0x80;
}
bool is_identifier(char c) {
  return is_identifier_start(c) || is_digit(c);
}

// ---- Fundamental types

// Counts the words of a fundamental type; their order is free ("long unsigned int long").
struct FundamentalWords {
  int signed_words = 0, unsigned_words = 0, short_words = 0, long_words = 0;
  std::string base;  // "", "int", "char", "double", ...

  bool add(std::string_view word) {
    if (word == "signed") return ++signed_words == 1 && unsigned_words == 0;
    if (word == "unsigned") return ++unsigned_words == 1 && signed_words == 0;
    if (word == "short") return ++short_words == 1 && long_words == 0;
    if (word == "long") return ++long_words <= 2 && short_words == 0;
    if (!base.empty()) return false;
    base = word;
    return true;
  }
  bool any_modifier() const { return signed_words + unsigned_words + short_words + long_words > 0; }

  // The type in its usual order, or nothing if the words do not form a type ("short double").
  std::optional<std::string> spelling() const {
    if (base == "double" && long_words == 1 && signed_words + unsigned_words == 0) return "long double";
    if (any_modifier() && !base.empty() && base != "int" && base != "char") return std::nullopt;
    if (base == "char") {
      if (short_words + long_words > 0) return std::nullopt;
      return signed_words ? "signed char" : unsigned_words ? "unsigned char" : "char";
    }
    if (!any_modifier() && base != "int") return base;
    const std::string size = short_words       ? "short"
                             : long_words == 2 ? "long long"
                             : long_words      ? "long"
                                               : "int";
    return unsigned_words ? "unsigned " + size : size;
  }
};

bool is_fundamental_word(std::string_view word) {
  static constexpr std::array<std::string_view, 13> words = {
      "signed", "unsigned", "short", "long",    "int",      "char",    "bool",
      "float",  "double",   "void",  "wchar_t", "char16_t", "char32_t"};
  return std::find(words.begin(), words.end(), word) != words.end();
}

bool is_elaborating_keyword(std::string_view word) {
  return word == "class" || word == "struct" || word == "enum" || word == "union" || word == "typename";
}

TypeName array_of(TypeName element, std::uint64_t size) {
  TypeName array;
  array.name = "std::array";
  array.is_template = true;
  array.args.push_back({.type = std::move(element)});
  array.args.push_back({.type = {}, .is_integer = true, .magnitude = size});
  return array;
}

// Array dimensions nest without being nested in the text, so the tree can be deeper than the recursion that
// reads it.
std::size_t depth_of(const TypeName& type) {
  std::size_t below = 0;
  const auto look_at = [&below](const TypeName& node) {
    for (const TypeArgument& argument : node.args) {
      if (!argument.is_integer) below = std::max(below, depth_of(argument.type));
    }
  };
  look_at(type);
  for (const TypeName& node : type.nested) look_at(node);
  return below + 1;
}

// ---- Parser

class Parser {
 public:
  Parser(std::string_view text, bool demangled) : text_(text), demangled_(demangled) {}

  TypeName parse_all() {
    if (text_.size() > max_type_name_length) {
      throw Error(ErrorKind::schema, fmt::format("a type name has {} characters, more than the limit of {}",
                                                 text_.size(), max_type_name_length));
    }
    TypeName type = parse_type(1);
    skip_spaces();
    if (!at_end()) fail_here("the end of the name");
    if (depth_of(type) > max_type_name_depth) fail_depth(position_);
    return type;
  }

 private:
  bool at_end() const { return position_ >= text_.size(); }
  char peek() const { return at_end() ? '\0' : text_[position_]; }
  void skip_spaces() {
    while (!at_end() && is_space(text_[position_])) ++position_;
  }
  bool accept(std::string_view token) {
    skip_spaces();
    if (text_.substr(position_, token.size()) != token) return false;
    position_ += token.size();
    return true;
  }

  [[noreturn]] void fail(std::size_t position, const std::string& problem) const {
    throw Error(ErrorKind::schema, fmt::format("the type name {} is invalid at position {}: {}",
                                               quoted(text_), position, problem));
  }
  [[noreturn]] void fail_depth(std::size_t position) const {
    fail(position, fmt::format("types are nested more than {} deep", max_type_name_depth));
  }
  [[noreturn]] void fail_here(const std::string& expected) const {
    if (at_end()) fail(position_, fmt::format("it ends where {} is expected", expected));
    const char c = peek();
    if (c == '*' || c == '&') fail(position_, "pointers and references cannot be stored");
    const auto byte = static_cast<unsigned char>(c);
    fail(position_, byte < 0x20 || byte >= 0x7f
                        ? fmt::format("byte 0x{:02x} where {} is expected", byte, expected)
                        : fmt::format("'{}' where {} is expected", c, expected));
  }

  std::string_view peek_word() {
    skip_spaces();
    if (at_end() || !is_identifier_start(peek())) return {};
    std::size_t end = position_ + 1;
    while (end < text_.size() && is_identifier(text_[end])) ++end;
    return text_.substr(position_, end - position_);
  }

  // True if the next word is a qualifier and not part of a name; it is consumed and recorded in `type`.
  bool accept_qualifier(TypeName& type, bool elaborating) {
    const std::string_view word = peek_word();
    if (word == "const") {
      type.is_const = true;
    } else if (word == "volatile") {
      type.is_volatile = true;
    } else if (!elaborating || !is_elaborating_keyword(word)) {
      return false;
    }
    position_ += word.size();
    return true;
  }

  TypeName parse_type(std::size_t depth) {
    if (depth > max_type_name_depth) fail_depth(position_);
    TypeName type;
    while (accept_qualifier(type, true)) {
    }
    accept("::");
    if (is_fundamental_word(peek_word())) {
      parse_fundamental(type);
    } else {
      parse_path(type, depth);
    }
    while (accept_qualifier(type, false)) {
    }
    return parse_dimensions(std::move(type), depth);
  }

  void parse_fundamental(TypeName& type) {
    skip_spaces();
    const std::size_t start = position_;
    FundamentalWords words;
    for (;;) {
      if (accept_qualifier(type, false)) continue;
      const std::string_view word = peek_word();
      if (!is_fundamental_word(word)) break;
      if (!words.add(word)) fail(position_, fmt::format("\"{}\" does not go with the words before it", word));
      position_ += word.size();
    }
    std::optional<std::string> spelling = words.spelling();
    if (!spelling) fail(start, "these words do not form a fundamental type");
    type.name = std::move(*spelling);
  }

  void parse_path(TypeName& type, std::size_t depth) {
    parse_components(type, depth);
    while (demangled_ && accept("(")) {
      // "function(arguments)::Local": the part before the local class does not belong to its name.
      skip_parentheses();
      while (accept_qualifier(type, false)) {
      }
      if (!accept("::")) fail_here("'::'");
      type = TypeName{};
      parse_components(type, depth);
    }
  }

  void parse_components(TypeName& type, std::size_t depth) {
    TypeName* node = &type;
    for (bool first = true;; first = false) {
      skip_unnamed_namespaces();
      const std::string_view word = peek_word();
      if (word.empty()) fail_here("a type");
      if (word == "const" || word == "volatile" || is_elaborating_keyword(word))
        fail(position_, fmt::format("\"{}\" is a keyword of C++", word));
      position_ += word.size();
      if (node->is_template) {
        type.nested.push_back({});
        node = &type.nested.back();
        node->name = word;
      } else {
        if (!first && !node->name.empty()) node->name += "::";
        node->name += word;
      }
      if (accept("<")) parse_arguments(*node, depth);
      if (!accept("::")) return;
    }
  }

  void skip_unnamed_namespaces() {
    while (demangled_ && (accept("(anonymous namespace)::") || accept("{anonymous}::"))) {
    }
  }

  // After an opening parenthesis: skips to behind the closing one.
  void skip_parentheses() {
    for (int level = 1; level > 0; ++position_) {
      if (at_end()) fail_here("')'");
      if (peek() == '(') ++level;
      if (peek() == ')') --level;
    }
  }

  void parse_arguments(TypeName& node, std::size_t depth) {
    node.is_template = true;
    if (accept(">")) return;
    do {
      node.args.push_back(parse_argument(depth));
    } while (accept(","));
    if (!accept(">")) fail_here("',' or '>'");
  }

  TypeArgument parse_argument(std::size_t depth) {
    skip_spaces();
    if (demangled_ && peek() == '(' && !text_.substr(position_).starts_with("(anonymous")) {
      ++position_;
      skip_parentheses();  // "(ns::Colour)2"
      skip_spaces();
    }
    if (is_digit(peek()) || peek() == '-') return parse_integer();
    return {.type = parse_type(depth + 1)};  // or "true", "false" and enumerators, which look like types
  }

  TypeArgument parse_integer() {
    TypeArgument integer{.type = {}, .is_integer = true};
    const std::size_t start = position_;
    integer.negative = accept("-");
    integer.magnitude = parse_digits();
    skip_integer_suffix();
    constexpr std::uint64_t most_negative = std::uint64_t{1} << 63;
    if (integer.negative && integer.magnitude > most_negative)
      fail(start, "the integer does not fit in 64 bits");
    if (integer.magnitude == 0) integer.negative = false;
    return integer;
  }

  void skip_integer_suffix() {
    const std::size_t suffix = position_;
    int u = 0, l = 0;
    for (; is_identifier(peek()); ++position_) {
      const char c = peek();
      if (c == 'u' || c == 'U') {
        ++u;
      } else if (c == 'l' || c == 'L') {
        ++l;
      } else {
        fail_here("',' or '>' after a decimal integer");
      }
    }
    if (u > 1 || l > 2) fail(suffix, "the integer has a wrong suffix");
  }

  std::uint64_t parse_digits() {
    const std::size_t start = position_;
    std::uint64_t value = 0;
    for (; is_digit(peek()); ++position_) {
      const auto digit = static_cast<std::uint64_t>(peek() - '0');
      if (value > (std::numeric_limits<std::uint64_t>::max() - digit) / 10) {
        fail(start, "the integer does not fit in 64 bits");
      }
      value = value * 10 + digit;
    }
    if (position_ == start) fail_here("a decimal integer");
    if (text_[start] == '0' && position_ > start + 1)
      fail(start, "an integer starts with 0; only decimals are known");
    return value;
  }

  TypeName parse_dimensions(TypeName type, std::size_t depth) {
    std::vector<std::uint64_t> sizes;
    while (accept("[")) {
      skip_spaces();
      const std::size_t start = position_;
      sizes.push_back(parse_digits());
      if (sizes.back() == 0) fail(start, "an array has size 0");
      if (!accept("]")) fail_here("']'");
      if (depth + sizes.size() > max_type_name_depth) fail_depth(start);
    }
    std::reverse(sizes.begin(), sizes.end());
    for (const auto size : sizes) type = array_of(std::move(type), size);
    return type;
  }

  std::string_view text_;
  bool demangled_;
  std::size_t position_ = 0;
};

// ---- Printing

void print(const TypeName& type, bool aliased, std::string& out);

void print_arguments(const TypeName& node, bool aliased, std::string& out) {
  if (!node.is_template) return;
  out += '<';
  for (std::size_t i = 0; i < node.args.size(); ++i) {
    const TypeArgument& argument = node.args[i];
    if (i > 0) out += ',';
    if (!argument.is_integer) {
      print(argument.type, aliased, out);
      continue;
    }
    if (argument.negative) out += '-';
    out += std::to_string(argument.magnitude);
    constexpr auto largest_signed = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    if (!argument.negative && argument.magnitude > largest_signed) out += 'u';
  }
  out += '>';
}

void print(const TypeName& type, bool aliased, std::string& out) {
  if (type.is_const) out += "const ";
  if (type.is_volatile) out += "volatile ";
  if (aliased && !type.alias.empty()) {
    out += type.alias;
    return;
  }
  out += type.name;
  print_arguments(type, aliased, out);
  for (const TypeName& node : type.nested) {
    out += "::";
    out += node.name;
    print_arguments(node, aliased, out);
  }
}

// ---- Normaliser

struct Synonym {
  std::string_view name;
  std::string_view resolved;
  bool remembered = false;  // data sets keep the name as the field's type alias
};

// Sorted by name. ROOT 6.40 records an alias for these typedefs, but not for those of its Rtypes.h and of
// <cstdint>. `long` has 64 bits on every platform that this library supports.
constexpr auto synonyms = std::to_array<Synonym>({
    {"Bool_t", "bool"},
    {"Char_t", "char"},
    {"Double32_t", "double", true},
    {"Double_t", "double"},
    {"Float_t", "float"},
    {"Int_t", "std::int32_t"},
    {"Long64_t", "std::int64_t"},
    {"Long_t", "std::int64_t"},
    {"Short_t", "std::int16_t"},
    {"UChar_t", "std::uint8_t"},
    {"UInt_t", "std::uint32_t"},
    {"ULong64_t", "std::uint64_t"},
    {"ULong_t", "std::uint64_t"},
    {"UShort_t", "std::uint16_t"},
    {"byte", "std::byte"},
    {"int", "std::int32_t"},
    {"int16_t", "std::int16_t"},
    {"int32_t", "std::int32_t"},
    {"int64_t", "std::int64_t"},
    {"int8_t", "std::int8_t"},
    {"long", "std::int64_t"},
    {"long long", "std::int64_t"},
    {"ptrdiff_t", "std::int64_t", true},
    {"short", "std::int16_t"},
    {"signed char", "std::int8_t"},
    {"size_t", "std::uint64_t", true},
    {"ssize_t", "std::int64_t", true},
    {"std::ptrdiff_t", "std::int64_t", true},
    {"std::size_t", "std::uint64_t", true},
    {"string", "std::string"},
    {"uint16_t", "std::uint16_t"},
    {"uint32_t", "std::uint32_t"},
    {"uint64_t", "std::uint64_t"},
    {"uint8_t", "std::uint8_t"},
    {"unsigned char", "std::uint8_t"},
    {"unsigned int", "std::uint32_t"},
    {"unsigned long", "std::uint64_t"},
    {"unsigned long long", "std::uint64_t"},
    {"unsigned short", "std::uint16_t"},
});

// Aliases of template instances, which data sets record. The RVec family is also known without its
// namespace.
struct InstanceAlias {
  std::string_view name;
  std::string_view of;
  std::string_view argument;
};
constexpr std::string_view rvec = "ROOT::VecOps::RVec";
constexpr auto instance_aliases = std::to_array<InstanceAlias>({
    {"ROOT::RVecB", rvec, "bool"},
    {"ROOT::RVecC", rvec, "char"},
    {"ROOT::RVecD", rvec, "double"},
    {"ROOT::RVecF", rvec, "float"},
    {"ROOT::RVecI", rvec, "std::int32_t"},
    {"ROOT::RVecL", rvec, "std::int64_t"},
    {"ROOT::RVecLL", rvec, "std::int64_t"},
    {"ROOT::RVecU", rvec, "std::uint32_t"},
    {"ROOT::RVecUL", rvec, "std::uint64_t"},
    {"ROOT::RVecULL", rvec, "std::uint64_t"},
    {"std::atomic_bool", "std::atomic", "bool"},
    {"std::atomic_char", "std::atomic", "char"},
    {"std::atomic_int", "std::atomic", "std::int32_t"},
    {"std::atomic_long", "std::atomic", "std::int64_t"},
    {"std::atomic_short", "std::atomic", "std::int16_t"},
    {"std::atomic_uint", "std::atomic", "std::uint32_t"},
    {"std::atomic_ulong", "std::atomic", "std::uint64_t"},
});

// The templates with field types of their own. `least` and `most` count the arguments that are part of the
// type; if `most` is below `accepted`, the remaining ones (allocators, hashes, orders, deleters) are
// dropped.
struct KnownTemplate {
  std::string_view name;  // without "std::"
  std::size_t least = 1;
  std::size_t most = 1;
  std::size_t accepted = 1;
  bool last_is_size = false;  // std::array, std::bitset
};
constexpr auto known_templates = std::to_array<KnownTemplate>({
    {"array", 2, 2, 2, true},
    {"atomic", 1, 1, 1},
    {"bitset", 1, 1, 1, true},
    {"map", 2, 2, 4},
    {"multimap", 2, 2, 4},
    {"multiset", 1, 1, 3},
    {"optional", 1, 1, 1},
    {"pair", 2, 2, 2},
    {"set", 1, 1, 3},
    {"tuple", 1, std::numeric_limits<std::size_t>::max(), std::numeric_limits<std::size_t>::max()},
    {"unique_ptr", 1, 1, 2},
    {"unordered_map", 2, 2, 5},
    {"unordered_multimap", 2, 2, 5},
    {"unordered_multiset", 1, 1, 4},
    {"unordered_set", 1, 1, 4},
    {"variant", 1, max_variant_alternatives, max_variant_alternatives},
    {"vector", 1, 1, 2},
});
constexpr KnownTemplate known_rvec = {"ROOT::VecOps::RVec", 1, 1, 1};
constexpr KnownTemplate known_cardinality = {"ROOT::RNTupleCardinality", 1, 1, 1};

template <class Table>
const typename Table::value_type* find_in(const Table& table, std::string_view name) {
  const auto found =
      std::find_if(table.begin(), table.end(), [&](const auto& row) { return row.name == name; });
  return found == table.end() ? nullptr : &*found;
}

const KnownTemplate* find_template(std::string_view name) {
  if (name == known_rvec.name) return &known_rvec;
  if (name == known_cardinality.name) return &known_cardinality;
  if (!name.starts_with("std::")) return nullptr;
  return find_in(known_templates, name.substr(5));
}

class Normalizer {
 public:
  explicit Normalizer(std::string_view text) : text_(text) {}

  void normalize(TypeName& type) const {
    drop_inline_namespace(type.name);
    if (type.is_template) qualify_template(type);
    const bool user_class = !type.name.starts_with("std::") && type.name != rvec;
    normalize_arguments(type, user_class);
    for (TypeName& node : type.nested) normalize_arguments(node, user_class);
    if (!type.nested.empty()) return;
    if (type.is_template) {
      resolve_template(type);
    } else {
      resolve_plain(type);
    }
  }

 private:
  [[noreturn]] void fail(const std::string& problem) const {
    throw Error(ErrorKind::schema, fmt::format("the type {} cannot be stored: {}", quoted(text_), problem));
  }

  // Qualifiers of template arguments distinguish user classes; the standard types are stored without them.
  void normalize_arguments(TypeName& node, bool keep_qualifiers) const {
    for (TypeArgument& argument : node.args) {
      if (argument.is_integer) continue;
      normalize(argument.type);
      if (!keep_qualifiers) argument.type.is_const = argument.type.is_volatile = false;
    }
  }

  // Standard libraries version their names: "std::__cxx11::list" and "std::__1::vector".
  static void drop_inline_namespace(std::string& name) {
    while (name.starts_with("std::__")) {
      const std::size_t end = name.find("::", 5);
      if (end == std::string::npos) return;
      name.erase(5, end + 2 - 5);
    }
  }

  static void qualify_template(TypeName& type) {
    if (type.name == "RVec" || type.name == "ROOT::RVec" || type.name == "ROOT::Vec" ||
        type.name == "VecOps::RVec") {
      type.name = rvec;
    } else if (type.name == "RNTupleCardinality") {
      type.name = known_cardinality.name;
    } else if (type.name == "basic_string" || find_in(known_templates, type.name) != nullptr) {
      type.name.insert(0, "std::");
    }
  }

  static void resolve_plain(TypeName& type) {
    if (const Synonym* synonym = find_in(synonyms, type.name)) {
      if (synonym->remembered) type.alias = type.name;
      type.name = synonym->resolved;
      return;
    }
    std::string name = type.name;
    if (name.starts_with("RVec")) name.insert(0, "ROOT::");
    if (name.starts_with("ROOT::VecOps::RVec")) name.erase(6, 8);
    if (const InstanceAlias* instance = find_in(instance_aliases, name)) {
      type.alias = std::move(name);
      type.name = instance->of;
      type.is_template = true;
      type.args.push_back({.type = {.name = std::string(instance->argument)}});
    }
  }

  void resolve_template(TypeName& type) const {
    if (type.name == "std::basic_string") {
      if (type.args.empty() || type.args[0].is_integer || to_string(type.args[0].type) != "char") {
        fail("of the std::basic_string family only std::string has a stored form");
      }
      type.name = "std::string";
      type.args.clear();
      type.is_template = false;
      return;
    }
    if (const KnownTemplate* known = find_template(type.name)) check_arguments(type, *known);
  }

  void check_arguments(TypeName& type, const KnownTemplate& known) const {
    if (type.args.size() < known.least || type.args.size() > known.accepted) {
      const std::string range = known.least == known.accepted ? std::to_string(known.least)
                                : known.accepted == std::numeric_limits<std::size_t>::max()
                                    ? fmt::format("at least {}", known.least)
                                    : fmt::format("{} to {}", known.least, known.accepted);
      fail(fmt::format("{} takes {} template argument{}, not {}", type.name, range,
                       range.ends_with("least 1") || range == "1" ? "" : "s", type.args.size()));
    }
    if (type.args.size() > known.most) type.args.resize(known.most);
    for (std::size_t i = 0; i < type.args.size(); ++i) check_argument(type, known, i);
    if (known.name == known_cardinality.name) {
      const std::string size = to_string(type.args[0].type);
      if (size != "std::uint32_t" && size != "std::uint64_t") {
        fail(fmt::format("{} counts in std::uint32_t or std::uint64_t, not in {}", type.name, size));
      }
    }
  }

  void check_argument(const TypeName& type, const KnownTemplate& known, std::size_t i) const {
    const TypeArgument& argument = type.args[i];
    const bool wants_size = known.last_is_size && i + 1 == type.args.size();
    if (argument.is_integer != wants_size) {
      fail(fmt::format("argument {} of {} must be {}", i + 1, type.name,
                       wants_size ? "an integer" : "a type"));
    }
    if (wants_size && (argument.negative || argument.magnitude == 0)) {
      fail(fmt::format("the size of a {} must be positive", type.name));
    }
  }

  std::string_view text_;
};

// The result keeps to the limits as well, so that every name that is written can be read.
void check_limits(const TypeName& type, const NormalizedName& result, std::string_view text) {
  if (depth_of(type) > max_type_name_depth) {
    throw Error(ErrorKind::schema, fmt::format("the type {} is nested more than {} deep when written out",
                                               quoted(text), max_type_name_depth));
  }
  const std::size_t length = std::max(result.name.size(), result.alias.size());
  if (length > max_type_name_length) {
    throw Error(ErrorKind::schema,
                fmt::format("the type {} has {} characters when written out, more than the limit of {}",
                            quoted(text), length, max_type_name_length));
  }
}

NormalizedName normalize_tree(TypeName type, std::string_view text) {
  Normalizer(text).normalize(type);
  type.is_const = type.is_volatile = false;
  NormalizedName result;
  result.name = to_string(type);
  result.alias = to_alias_string(type);
  check_limits(type, result, text);
  if (result.alias == result.name) result.alias.clear();
  result.type = std::move(type);
  return result;
}

}  // namespace

TypeName parse_type_name(std::string_view text) {
  return Parser(text, false).parse_all();
}

std::string to_string(const TypeName& type) {
  std::string out;
  print(type, false, out);
  return out;
}
std::string to_alias_string(const TypeName& type) {
  std::string out;
  print(type, true, out);
  return out;
}

NormalizedName normalize(std::string_view text) {
  return normalize_tree(parse_type_name(text), text);
}

std::string normalized_name_of(const std::type_info& type) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> demangled(
      abi::__cxa_demangle(type.name(), nullptr, nullptr, &status), std::free);
  if (status != 0 || demangled == nullptr) {
    throw Error(ErrorKind::schema, fmt::format("the C++ type with the internal name {} has no readable name",
                                               quoted(type.name())));
  }
  const std::string_view text = demangled.get();
  return normalize_tree(Parser(text, true).parse_all(), text).name;
}

}  // namespace colonnade::field

std::string colonnade::reflect::normalized_type_name(const std::type_info& type) {
  return field::normalized_name_of(type);
}
