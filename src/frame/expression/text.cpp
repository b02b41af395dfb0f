// Expressions as text; see text_of() in expression.h.
#include <fmt/format.h>

#include <array>
#include <cctype>

#include "frame/expression/expression.h"
#include "frame/values/values.h"

namespace colonnade::frame {
namespace {

constexpr unsigned deepest = 100;

// Stops once the text is long enough: shared parts of a graph would make it exponentially long.
class Printer {
 public:
  Printer(const ExpressionPool& pool, const std::function<std::string(std::uint32_t)>& column_name,
          std::size_t limit)
      : pool_(pool), column_name_(column_name), limit_(limit) {}

  std::string print(ExpressionId id) {
    write(id, false);
    if (text_.size() <= limit_) return std::move(text_);
    std::size_t end = limit_;
    while (end > 0 && (static_cast<unsigned char>(text_[end]) & 0xc0) == 0x80) --end;
    return text_.substr(0, end) + "...";
  }

 private:
  void write(ExpressionId id, bool as_operand) {
    if (text_.size() > limit_) return;
    if (depth_ == deepest) {
      text_ += "...";
      return;
    }
    ++depth_;
    const Expression& expression = pool_[id];
    switch (expression.op) {
      case Op::constant:
        text_ += constant(expression);
        break;
      case Op::column:
        text_ += column_name_ ? column_name_(expression.column) : fmt::format("column {}", expression.column);
        break;
      case Op::entry:
        text_ += "rdfentry_";
        break;
      case Op::slot:
        text_ += "rdfslot_";
        break;
      case Op::sample:
        text_ += "rdfsampleinfo_";
        break;
      case Op::call:
        call(expression, as_operand);
        break;
      case Op::logical_and:
        infix(expression, {"&&"}, as_operand);
        break;
      case Op::logical_or:
        infix(expression, {"||"}, as_operand);
        break;
      case Op::choose:
        infix(expression, {"?", ":"}, as_operand);
        break;
    }
    --depth_;
  }

  static std::string constant(const Expression& expression) {
    if (expression.type == ValueType(ElementType::boolean))
      return *expression.constant->as<std::uint8_t>() != 0 ? "true" : "false";
    return frame::text_of(*expression.constant, 0);
  }

  void infix(const Expression& expression, std::initializer_list<std::string_view> symbols, bool as_operand) {
    if (as_operand) text_ += '(';
    auto symbol = symbols.begin();
    for (std::size_t i = 0; i < expression.arguments.size(); ++i) {
      if (i > 0) text_ += fmt::format(" {} ", *symbol++);
      write(expression.arguments[i], true);
    }
    if (as_operand) text_ += ')';
  }

  void list(const Expression& expression, std::size_t first, std::string_view open, std::string_view close) {
    text_ += open;
    for (std::size_t i = first; i < expression.arguments.size(); ++i) {
      if (i > first) text_ += ", ";
      write(expression.arguments[i], false);
    }
    text_ += close;
  }

  void call(const Expression& expression, bool as_operand) {
    const std::string_view name = expression.name;
    const std::size_t count = expression.arguments.size();
    if (name == "convert" && count == 1) {
      write(expression.arguments[0], as_operand);
    } else if (name == "operator[]" && count == 2) {
      write(expression.arguments[0], true);
      list(expression, 1, "[", "]");
    } else if (name.starts_with("operator") && count == 2) {
      infix(expression, {name.substr(8)}, as_operand);
    } else if (name.starts_with("unary") && count == 1) {
      text_ += name.substr(5);
      write(expression.arguments[0], true);
    } else if (name.starts_with('.') && count > 0) {
      write(expression.arguments[0], true);
      text_ += name;
      if (!expression.kernel->key().starts_with("member ")) list(expression, 1, "(", ")");
    } else if (name == "make_list") {
      list(expression, 0, "{", "}");
    } else {
      text_ += name == "cast" ? expression.type.name() : name.empty() ? "function" : std::string(name);
      list(expression, 0, "(", ")");
    }
  }

  const ExpressionPool& pool_;
  const std::function<std::string(std::uint32_t)>& column_name_;
  std::size_t limit_;
  std::string text_;
  unsigned depth_ = 0;
};

}  // namespace

std::string text_of(const ExpressionPool& pool, ExpressionId id,
                    const std::function<std::string(std::uint32_t)>& column_name, std::size_t limit) {
  return Printer(pool, column_name, limit).print(id);
}

}  // namespace colonnade::frame
