// Fuzzes expression texts, and texts that define functions: any text binds, or is an Error with a reason;
// bound texts are computed for a few rows, and give values or an Error, or are interrupted. Binding one again
// adds nothing.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "base/interruption.h"
#include "colonnade/error.h"
#include "frame/expression/function.h"
#include "frame/expression/testing.h"
#include "frame/expression/text_functions.h"

namespace {

using namespace colonnade;
using namespace colonnade::frame;

void require(bool condition) {
  if (!condition) std::abort();
}

void add_columns(frame::expression_testing::Columns& columns) {
  using frame::expression_testing::lists;
  using frame::expression_testing::lists_of;
  using frame::expression_testing::scalars;
  columns.add("x", scalars<float>({1.5f, -2}));
  columns.add("d", scalars<double>({0.5, 1e300}));
  columns.add("n", scalars<std::int32_t>({2, 0}));
  columns.add("u", scalars<std::uint8_t>({255, 0}));
  columns.add("l", scalars<std::int64_t>({INT64_MIN, -1}));
  columns.add("flag", scalars<bool>({true, false}));
  columns.add("pt", lists<float>({{10, 30, 20}, {}}));
  columns.add("charge", lists<std::int32_t>({{1, -1, 7}, {}}));
  columns.add("mask", lists<bool>({{true, false, true}, {}}));
  columns.add("hits", lists_of({2, 0}, lists<double>({{1, 2}, {3}})));
  const ValueType point =
      ValueType::record("Point", {{"x", ElementType::float64}, {"y", ElementType::int32}});
  columns.add("point", make_record(point, 2, {scalars<double>({1, 2}), scalars<std::int32_t>({4, 5})}));
  columns.add(
      "points",
      lists_of({1, 1}, make_record(point, 2, {scalars<double>({1, 2}), scalars<std::int32_t>({4, 5})})));
  columns.add("jets.pt", lists<float>({{1}, {2, 3}}));
}

// Functions whose results may be large for any arguments.
bool may_grow(const std::string& text) {
  for (const char* const name :
       {"Range", "Combinations", "Concatenate", "Take", "RVec", "vector", "resize", "insert"})
    if (text.find(name) != std::string::npos) return true;
  return false;
}

class Generator {
 public:
  Generator(const std::uint8_t* data, std::size_t size) : data_(data), size_(size) {}

  std::string expression(unsigned depth) {
    if (depth == 0 || at_ >= size_) return leaf();
    const auto below = [&] { return expression(depth - 1); };
    switch (choose(8)) {
      case 0:
        return leaf();
      case 1:
        return "(" + below() + ")[" + below() + "]";
      case 2:
        return "(" + below() + " ? " + below() + " : " + below() + ")";
      case 3:
        return "ROOT::RVecD{" + below() + ", " + below() + "}";
      case 4:
        return "static_cast<" + std::string(pick(types)) + ">(" + below() + ")";
      default:
        return function(depth);
    }
  }

 private:
  static constexpr const char* leaves[] = {
      "x",    "d",     "n",      "u",       "l",   "flag",      "pt",     "charge", "mask",
      "hits", "point", "points", "jets.pt", "0",   "1",         "-1",     "2.5",    "1.f",
      "3u",   "true",  "'a'",    "\"ab\"",  "NAN", "rdfentry_", "INT_MIN"};
  static constexpr const char* types[] = {"int", "float", "unsigned char", "long", "bool", "double"};

  std::size_t choose(std::size_t count) { return at_ < size_ ? data_[at_++] % count : 0; }
  template <std::size_t n>
  const char* pick(const char* const (&choices)[n]) {
    return choices[choose(n)];
  }
  std::string leaf() { return pick(leaves); }

  // Any function of the library, with up to three arguments.
  std::string function(unsigned depth) {
    const auto& all = all_functions();
    const std::string& name = all[(choose(256) * 256 + choose(256)) % all.size()].name;
    const std::string first = expression(depth - 1);
    if (name.starts_with("unary")) return name.substr(5) + "(" + first + ")";
    if (name.starts_with("operator") && name != "operator[]")
      return "(" + first + " " + name.substr(8) + " " + expression(depth - 1) + ")";
    const std::size_t more = choose(4);
    std::string arguments;
    for (std::size_t i = 0; i < more; ++i) arguments += (i > 0 ? ", " : "") + expression(depth - 1);
    if (name.starts_with('.')) return "(" + first + ")" + name + "(" + arguments + ")";
    return name + "(" + first + (more > 0 ? ", " : "") + arguments + ")";
  }

  const std::uint8_t* data_;
  std::size_t size_;
  std::size_t at_ = 0;
};

std::string text_of_input(const std::uint8_t* data, std::size_t size) {
  if (size > 0 && data[0] >= 0x80) return Generator(data + 1, size - 1).expression(1 + data[0] % 4);
  return {reinterpret_cast<const char*>(data), size};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text = text_of_input(data, size);
  try {
    TextFunctions functions(text);
  } catch (const Error& error) {
    require(!error.problem().empty());
  }
  const Interruption interruption([] { return true; });  // of loops that do not end
  ExpressionPool pool;
  frame::expression_testing::Columns columns(pool);
  add_columns(columns);
  try {
    const Formula formula(text);
    const ExpressionId id = formula.bind(pool, columns);
    const std::size_t expressions = pool.size();
    require(text_of(pool, id).size() <= 203);
    require(formula.bind(pool, columns) == id);
    require(pool.size() == expressions);
    formula.bind_items(pool, columns);
    if (may_grow(text)) return 0;
    frame::expression_testing::Evaluator evaluator(pool, columns);
    for (std::uint32_t row = 0; row < 2; ++row) {
      const ValuesPtr value = evaluator.value(id, row);
      require(value->size == 1 && value->type == pool[id].type);
      frame::text_of(*value, 0);
    }
  } catch (const Error& error) {
    require(!error.problem().empty());
  } catch (const Interrupted&) {
  }
  return 0;
}
