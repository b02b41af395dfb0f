// For tests of expressions: columns by name, and a plain evaluator.
#ifndef COLONNADE_FRAME_EXPRESSION_TESTING_H
#define COLONNADE_FRAME_EXPRESSION_TESTING_H

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "frame/expression/expression.h"
#include "frame/values/values.h"

namespace colonnade::frame::expression_testing {

template <class T>
ValuesPtr scalars(const std::vector<T>& values) {
  auto memory = std::make_shared<std::vector<std::byte>>(values.size() * sizeof(T) + 64);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const T value = values[i];
    std::memcpy(memory->data() + i * sizeof(T), &value, sizeof(T));
  }
  const void* const data = memory->data();
  return make_scalars(element_of<T>(), values.size(), data, std::move(memory));
}

inline ValuesPtr lists_of(const std::vector<std::int64_t>& sizes, ValuesPtr items) {
  auto offsets = std::make_shared<std::vector<std::int64_t>>(1, 0);
  for (const std::int64_t size : sizes) offsets->push_back(offsets->back() + size);
  const std::int64_t* const data = offsets->data();
  return make_list(sizes.size(), data, std::move(items), std::move(offsets));
}

template <class T>
ValuesPtr lists(const std::vector<std::vector<T>>& rows) {
  std::vector<T> items;
  std::vector<std::int64_t> sizes;
  for (const auto& row : rows) {
    items.insert(items.end(), row.begin(), row.end());
    sizes.push_back(static_cast<std::int64_t>(row.size()));
  }
  return lists_of(sizes, scalars(items));
}

class Columns : public Scope {
 public:
  explicit Columns(ExpressionPool& pool) : pool_(&pool) {}
  void add(std::string name, ValuesPtr values) { columns_.emplace_back(std::move(name), std::move(values)); }

  std::optional<ExpressionId> find(std::string_view name) const override {
    asked.emplace_back(name);
    for (std::uint32_t i = 0; i < columns_.size(); ++i)
      if (columns_[i].first == name) return pool_->column(i, columns_[i].second->type);
    return std::nullopt;
  }
  std::vector<std::string> names() const override {
    std::vector<std::string> all;
    for (const auto& [name, values] : columns_) all.push_back(name);
    return all;
  }
  const ValuesPtr& values(std::uint32_t column) const { return columns_[column].second; }
  const std::string& name(std::uint32_t column) const { return columns_[column].first; }

  mutable std::vector<std::string> asked;

 private:
  ExpressionPool* pool_;
  std::vector<std::pair<std::string, ValuesPtr>> columns_;
};

// Row by row, which shows what is computed only where needed.
class Evaluator {
 public:
  Evaluator(const ExpressionPool& pool, const Columns& columns) : pool_(pool), columns_(columns) {}

  ValuesPtr value(ExpressionId id, std::uint32_t row) {
    const Expression& expression = pool_[id];
    const Rows rows{row, 1, nullptr};
    switch (expression.op) {
      case Op::constant:
        return expression.constant;
      case Op::column:
        return gather(columns_.values(expression.column), std::span<const std::uint32_t>(&row, 1), memory_);
      case Op::entry:
        return make_constant<std::uint64_t>(1, row);
      case Op::slot:
        return make_constant<std::uint32_t>(1, 0);
      case Op::sample:
        return make_constant_string(1, "file.root/Events");
      case Op::logical_and:
        return truth(expression.arguments[0], row) ? value(expression.arguments[1], row)
                                                   : make_constant(1, false);
      case Op::logical_or:
        return truth(expression.arguments[0], row) ? make_constant(1, true)
                                                   : value(expression.arguments[1], row);
      case Op::choose:
        return value(expression.arguments[truth(expression.arguments[0], row) ? 1 : 2], row);
      case Op::call:
        break;
    }
    std::vector<ValuesPtr> arguments;
    for (const ExpressionId argument : expression.arguments) arguments.push_back(value(argument, row));
    return expression.kernel->run({memory_, rows}, arguments);
  }
  bool truth(ExpressionId id, std::uint32_t row) { return *value(id, row)->as<std::uint8_t>() != 0; }
  std::string text(ExpressionId id, std::uint32_t row) {
    return pool_[id].type.name() + " " + text_of(*value(id, row), 0);
  }

 private:
  const ExpressionPool& pool_;
  const Columns& columns_;
  BlockMemory memory_;
};

}  // namespace colonnade::frame::expression_testing

#endif
