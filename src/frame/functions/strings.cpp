// Strings: concatenation, and the methods of std::string, of TString and of RDataFrame's sample names.
#include "frame/functions/strings.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <iterator>
#include <optional>

#include "colonnade/error.h"
#include "frame/functions/lists.h"

namespace colonnade::frame {

namespace {

class Integers {
 public:
  explicit Integers(const Values& values)
      : data_(values.as<std::int64_t>()), step_(values.constant ? 0 : 1) {}
  std::int64_t operator[](std::size_t place) const { return data_[place * step_]; }

 private:
  const std::int64_t* data_;
  std::size_t step_;
};

// One row of a function of strings and integers.
class Row {
 public:
  Row(std::span<const Strings> strings, std::span<const Integers> integers, std::size_t place,
      std::uint64_t entry)
      : strings_(strings), integers_(integers), place_(place), entry_(entry) {}
  std::string_view text(std::size_t i) const { return strings_[i][place_]; }
  std::int64_t integer(std::size_t i) const { return integers_[i][place_]; }
  std::size_t integers() const { return integers_.size(); }

  // A position within the string; checked, as in C++.
  std::size_t position(std::size_t i) const {
    const std::int64_t at = integer(i);
    const std::size_t size = text(0).size();
    if (at < 0 || static_cast<std::uint64_t>(at) > size)
      throw Error(
          ErrorKind::usage,
          fmt::format("position {} is outside of a string of {} characters, in entry {}", at, size, entry_),
          "leave such entries out with a filter, or guard the operation with ?: or &&");
    return static_cast<std::size_t>(at);
  }
  [[noreturn]] void fail_to_convert(std::string_view type) const {
    throw Error(ErrorKind::usage,
                fmt::format("'{}' does not begin with {}, in entry {}", text(0), type, entry_),
                "leave such entries out with a filter, or guard the operation with ?: or &&");
  }
  // Like std::string: -1 is npos, everything that is left.
  std::size_t count(std::size_t i) const {
    const std::int64_t n = integer(i);
    return n < 0 ? std::string_view::npos : static_cast<std::size_t>(n);
  }

 private:
  std::span<const Strings> strings_;
  std::span<const Integers> integers_;
  std::size_t place_;
  std::uint64_t entry_;
};

// Marks the texts that contain a part that is not empty. All their characters are searched at once, for two
// of the part's with vectors: a search per short text would take longer to begin than to end.
void mark_containing(const Strings& texts, std::string_view part, std::size_t rows, bool* out) {
  std::fill_n(out, rows, false);
  const auto begin = static_cast<std::size_t>(texts.offsets()[0]);
  const auto end = static_cast<std::size_t>(texts.offsets()[rows]);
  const std::int64_t* ends = texts.offsets() + 1;  // of the text at hand
  std::array<bool, 4096> may_begin{};
  for (std::size_t block = begin; block + part.size() <= end; block += may_begin.size()) {
    const std::size_t places = std::min(may_begin.size(), end - part.size() + 1 - block);
    const char* const firsts = texts.characters() + block;
    const char* const lasts = firsts + part.size() - 1;
    for (std::size_t i = 0; i < places; ++i)
      may_begin[i] = ((firsts[i] ^ part.front()) | (lasts[i] ^ part.back())) == 0;
    for (std::size_t i = 0; i < places; ++i) {
      const void* const next = std::memchr(&may_begin[i], true, places - i);
      if (next == nullptr) break;
      i = static_cast<std::size_t>(static_cast<const bool*>(next) - may_begin.data());
      const char* const found = firsts + i;
      if (std::memcmp(found, part.data(), part.size()) != 0) continue;
      const std::int64_t place = found - texts.characters();
      while (*ends <= place) ++ends;
      if (place + static_cast<std::int64_t>(part.size()) <= *ends) out[ends - texts.offsets() - 1] = true;
    }
  }
}

// The operation on a row.
using NumberOfRow = std::int64_t (*)(const Row&);
using TextOfRow = void (*)(const Row&, std::string& out);

std::int64_t contains(const Row& row) {
  return row.text(0).find(row.text(1)) != std::string_view::npos;
}

// Unconverted arguments: strings first, then integers, each converted to int64.
struct Arguments {
  std::vector<Strings> strings;
  std::vector<Integers> integers;
  std::vector<ValuesPtr> kept;
  std::size_t rows = 0;  // rows to compute
  bool constant = false;
};

class StringKernel : public Kernel {
 public:
  StringKernel(std::string name, std::vector<KernelPtr> conversions, ValueType result, bool may_fail)
      : name_(std::move(name)),
        conversions_(std::move(conversions)),
        result_(std::move(result)),
        may_fail_(may_fail) {}
  const ValueType& result() const noexcept override { return result_; }
  std::string key() const override { return name_; }
  bool only_where_needed() const noexcept override { return may_fail_; }

 protected:
  Arguments prepare(const CallContext& context, std::span<const ValuesPtr> arguments) const {
    Arguments prepared;
    prepared.constant =
        std::all_of(arguments.begin(), arguments.end(), [](const ValuesPtr& a) { return a->constant; });
    prepared.rows = prepared.constant ? std::min<std::size_t>(context.rows.size, 1) : context.rows.size;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      if (conversions_[i] == nullptr) {
        prepared.strings.emplace_back(*arguments[i]);
        continue;
      }
      prepared.kept.push_back(conversions_[i]->run(context, arguments.subspan(i, 1)));
      prepared.integers.emplace_back(*prepared.kept.back());
    }
    return prepared;
  }

 private:
  std::string name_;
  std::vector<KernelPtr> conversions_;  // null for strings
  ValueType result_;
  bool may_fail_;
};

class NumberKernel : public StringKernel {
 public:
  NumberKernel(std::string name, std::vector<KernelPtr> conversions, ElementType result, bool may_fail,
               NumberOfRow number)
      : StringKernel(std::move(name), std::move(conversions), result, may_fail), number_(number) {}

  ValuesPtr run(const CallContext& context, std::span<const ValuesPtr> arguments) const override {
    const Arguments prepared = prepare(context, arguments);
    switch (result().element()) {
      case ElementType::boolean:
        return compute<bool>(context, prepared);
      case ElementType::int32:
        return compute<std::int32_t>(context, prepared);
      default:
        return compute<std::uint64_t>(context, prepared);
    }
  }

 private:
  template <class T>
  ValuesPtr compute(const CallContext& context, const Arguments& arguments) const {
    auto [out, memory] = context.memory.array<T>(std::max<std::size_t>(arguments.rows, 1));
    if (arguments.rows == 0) out[0] = T{};
    if (!compute_together(arguments, out))
      for (std::size_t i = 0; i < arguments.rows; ++i)
        out[i] =
            static_cast<T>(number_(Row(arguments.strings, arguments.integers, i, context.rows.entry(i))));
    auto values = std::make_shared<Values>();
    values->type = result();
    values->size = context.rows.size;
    values->constant = arguments.constant;
    values->data = out;
    values->owners.push_back(std::move(memory));
    return values;
  }

  // False where that is done row by row.
  bool compute_together(const Arguments& arguments, bool* out) const {
    if (number_ != contains || arguments.strings[0].offsets() == nullptr ||
        !arguments.strings[1].is_constant() || arguments.rows == 0 || arguments.strings[1][0].empty())
      return false;
    mark_containing(arguments.strings[0], arguments.strings[1][0], arguments.rows, out);
    return true;
  }
  static bool compute_together(const Arguments& /*arguments*/, const void* /*out*/) { return false; }

  NumberOfRow number_;
};

class TextKernel : public StringKernel {
 public:
  TextKernel(std::string name, std::vector<KernelPtr> conversions, bool may_fail, TextOfRow text)
      : StringKernel(std::move(name), std::move(conversions), ValueType::string(), may_fail), text_(text) {}

  ValuesPtr run(const CallContext& context, std::span<const ValuesPtr> arguments) const override {
    const Arguments prepared = prepare(context, arguments);
    const std::size_t stored = prepared.constant ? 1 : prepared.rows;
    auto [offsets, memory] = context.memory.array<std::int64_t>(stored + 1);
    std::fill_n(offsets, stored + 1, 0);
    auto characters = std::make_shared<std::string>();
    for (std::size_t i = 0; i < prepared.rows; ++i) {
      const std::size_t before = characters->size();
      text_(Row(prepared.strings, prepared.integers, i, context.rows.entry(i)), *characters);
      count_characters(context.memory, characters->size() - before);
      offsets[i + 1] = static_cast<std::int64_t>(characters->size());
    }
    auto values = std::make_shared<Values>();
    values->type = ValueType::string();
    values->size = context.rows.size;
    values->constant = prepared.constant;
    values->offsets = offsets;
    values->owners.push_back(std::move(memory));
    const std::size_t count = characters->size();
    const void* data = characters->data();
    values->children.push_back(make_scalars(ElementType::character, count, data, std::move(characters)));
    return values;
  }

 private:
  TextOfRow text_;
};

// ---- Calls

struct Method {
  std::string_view name;
  std::string_view signature;
  std::size_t strings;          // including the object, which comes first
  std::size_t fewest_integers;  // arguments after them
  std::size_t most_integers;
  ElementType result;  // of number
  NumberOfRow number;
  TextOfRow text;
  bool may_fail = false;
};

void both_texts(const Row& row, std::string& out) {
  out += row.text(0);
  out += row.text(1);
}

constexpr Method string_plus{"operator+", "text + text", 2, 0, 0, ElementType::uint64, nullptr, both_texts};

// A character is a text of one, but has no methods.
bool is_text(const ValueType& type, const Method& method, std::size_t number) {
  const bool may_be_character = number > 0 || &method == &string_plus;
  return type.is_string() ||
         (may_be_character && type.is_scalar() && type.element() == ElementType::character);
}

// Why the arguments do not fit; empty if they do. Fills the conversions of integers.
std::string check(const Call& call, const Method& method, std::vector<KernelPtr>& conversions) {
  const std::size_t count = call.arguments.size();
  if (count < method.strings + method.fewest_integers || count > method.strings + method.most_integers)
    return fmt::format("is called as {}", method.signature);
  for (std::size_t i = 0; i < count; ++i) {
    const ValueType& type = call.arguments[i].type;
    if (i < method.strings ? !is_text(type, method, i) : !type.is_integer())
      return fmt::format("is called as {}, got {} for argument {}", method.signature, type.name(), i);
    conversions.push_back(i < method.strings ? nullptr : conversion(type, ElementType::int64));
  }
  return {};
}

Bound bind_method(const Method& method, const Call& call) {
  std::vector<KernelPtr> conversions;
  std::string why_not = check(call, method, conversions);
  if (!why_not.empty()) return {nullptr, std::move(why_not)};
  // Calls with other numbers of arguments differ in the pool already.
  std::string key(method.name);
  if (method.text != nullptr)
    return {
        std::make_shared<TextKernel>(std::move(key), std::move(conversions), method.may_fail, method.text),
        {}};
  return {std::make_shared<NumberKernel>(std::move(key), std::move(conversions), method.result,
                                         method.may_fail, method.number),
          {}};
}

std::size_t start_of(const Row& row) {
  return row.integers() > 0 ? row.count(0) : 0;
}

// Like std::string: a position, or npos.
std::int64_t find_first(const Row& row) {
  return static_cast<std::int64_t>(row.text(0).find(row.text(1), start_of(row)));
}
std::int64_t find_last(const Row& row) {
  return static_cast<std::int64_t>(
      row.text(0).rfind(row.text(1), row.integers() > 0 ? row.count(0) : std::string_view::npos));
}
// -1, 0 or 1: C++ guarantees the sign only.
std::int64_t compare(const Row& row) {
  const int order = row.text(0).compare(row.text(1));
  return (order > 0) - (order < 0);
}
std::int64_t is_equal(const Row& row) {
  return row.text(0) == row.text(1);
}
std::int64_t begins_with(const Row& row) {
  return row.text(0).starts_with(row.text(1));
}
std::int64_t ends_with(const Row& row) {
  return row.text(0).ends_with(row.text(1));
}
std::int64_t length(const Row& row) {
  return static_cast<std::int64_t>(row.text(0).size());
}
// The integer that a text begins with, behind white space; empty if it has none, or a larger one.
std::optional<std::int64_t> leading_integer(const Row& row) {
  std::string_view text = row.text(0);
  text.remove_prefix(std::min(text.find_first_not_of(" \t\n\v\f\r"), text.size()));
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  std::int64_t number = 0;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), number);
  if (end.ec != std::errc()) return std::nullopt;
  return number;
}
template <class T>
std::int64_t integer_of(const Row& row) {
  const auto number = leading_integer(row);
  if (!number || *number != static_cast<T>(*number))
    row.fail_to_convert(sizeof(T) == 4 ? "an int" : "a long");
  return *number;
}
std::int64_t integer_or_zero(const Row& row) {
  return leading_integer(row).value_or(0);
}
void same_text(const Row& row, std::string& out) {
  out += row.text(0);
}
void part_of_text(const Row& row, std::string& out) {
  const std::size_t begin = row.integers() > 0 ? row.position(0) : 0;
  out += row.text(0).substr(begin, row.integers() > 1 ? row.count(1) : std::string_view::npos);
}

using enum ElementType;
constexpr std::array methods = {
    Method{".find", ".find(text) or .find(text, start)", 2, 0, 1, uint64, find_first, nullptr},
    Method{".rfind", ".rfind(text) or .rfind(text, last)", 2, 0, 1, uint64, find_last, nullptr},
    Method{".compare", ".compare(text)", 2, 0, 0, int32, compare, nullptr},
    Method{".substr", ".substr(start) or .substr(start, count)", 1, 0, 2, uint64, nullptr, part_of_text,
           true},
    Method{".length", ".length()", 1, 0, 0, uint64, length, nullptr},
    Method{".Length", ".Length()", 1, 0, 0, int32, length, nullptr},
    Method{".Contains", ".Contains(text)", 2, 0, 0, boolean, contains, nullptr},
    Method{".contains", ".contains(text)", 2, 0, 0, boolean, contains, nullptr},
    Method{".BeginsWith", ".BeginsWith(text)", 2, 0, 0, boolean, begins_with, nullptr},
    Method{".starts_with", ".starts_with(text)", 2, 0, 0, boolean, begins_with, nullptr},
    Method{".StartsWith", ".StartsWith(text)", 2, 0, 0, boolean, begins_with, nullptr},
    Method{".EndsWith", ".EndsWith(text)", 2, 0, 0, boolean, ends_with, nullptr},
    Method{".ends_with", ".ends_with(text)", 2, 0, 0, boolean, ends_with, nullptr},
    Method{".Equals", ".Equals(text)", 2, 0, 0, boolean, is_equal, nullptr},
    Method{".EqualTo", ".EqualTo(text)", 2, 0, 0, boolean, is_equal, nullptr},
    Method{".AsString", ".AsString()", 1, 0, 0, uint64, nullptr, same_text},
    Method{".c_str", ".c_str()", 1, 0, 0, uint64, nullptr, same_text},
    Method{".Data", ".Data()", 1, 0, 0, uint64, nullptr, same_text},
    Method{"strcmp", "strcmp(text, text)", 2, 0, 0, int32, compare, nullptr},
    Method{"stoi", "stoi(text)", 1, 0, 0, int32, integer_of<std::int32_t>, nullptr, true},
    Method{"stol", "stol(text)", 1, 0, 0, int64, integer_of<std::int64_t>, nullptr, true},
    Method{"atoi", "atoi(text)", 1, 0, 0, int32, integer_or_zero, nullptr},
};

// Like std::to_string: floating-point numbers with six decimals.
template <class T>
Bound number_as_text(const ValueType& from, ElementType as) {
  return lists::make_bound({"to_string",
                            ValueType::string(),
                            {lists::convert(from, as)},
                            [](const CallContext& context, std::span<const ValuesPtr> arguments) {
                              const lists::ScalarView<T> numbers(*arguments[0]);
                              const std::size_t rows = context.rows.size;
                              auto [offsets, memory] = context.memory.array<std::int64_t>(rows + 1);
                              auto characters = std::make_shared<std::string>();
                              offsets[0] = 0;
                              for (std::size_t i = 0; i < rows; ++i) {
                                if constexpr (std::is_floating_point_v<T>) {
                                  fmt::format_to(std::back_inserter(*characters), "{:f}", numbers[i]);
                                } else {
                                  fmt::format_to(std::back_inserter(*characters), "{}", numbers[i]);
                                }
                                offsets[i + 1] = static_cast<std::int64_t>(characters->size());
                              }
                              auto values = std::make_shared<Values>();
                              values->type = ValueType::string();
                              values->size = rows;
                              values->offsets = offsets;
                              values->owners.push_back(std::move(memory));
                              const std::size_t count = characters->size();
                              count_characters(context.memory, count);
                              const void* data = characters->data();
                              values->children.push_back(
                                  make_scalars(ElementType::character, count, data, std::move(characters)));
                              return values;
                            }});
}

Bound bind_to_string(const Call& call) {
  const ValueType& type = call.arguments.empty() ? ValueType::string() : call.arguments[0].type;
  if (call.arguments.size() != 1 || !type.is_scalar())
    return {nullptr,
            fmt::format("needs one number, got {}",
                        call.arguments.size() == 1 ? type.name()
                                                   : fmt::format("{} arguments", call.arguments.size()))};
  if (type.is_floating()) return number_as_text<double>(type, ElementType::float64);
  if (type.element() == ElementType::uint64) return number_as_text<std::uint64_t>(type, ElementType::uint64);
  return number_as_text<std::int64_t>(type, ElementType::int64);
}

}  // namespace

Bound string_operator(const Call& call) {
  return call.name == string_plus.name ? bind_method(string_plus, call) : string_comparison(call);
}

std::vector<Function> string_functions() {
  std::vector<Function> functions;
  for (const Method& method : methods)
    functions.push_back({std::string(method.name), std::string(method.signature),
                         [&method](const Call& call) { return bind_method(method, call); }});
  functions.push_back({"to_string", "to_string(number)", bind_to_string});
  return functions;
}

}  // namespace colonnade::frame
