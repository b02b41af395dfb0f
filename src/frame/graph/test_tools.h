// For tests of graphs: a data set in memory, and shortcuts for booking results.
#ifndef COLONNADE_FRAME_GRAPH_TEST_TOOLS_H
#define COLONNADE_FRAME_GRAPH_TEST_TOOLS_H

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "base/test_errors.h"
#include "colonnade/colonnade.h"
#include "dataset/test_values.h"
#include "frame/graph/graph.h"

namespace colonnade::frame {

using colonnade::testing::MemoryFile;

// x = 0, 1, ... (double), n = entry % 4 (int), and v, a list of n floats 0.5, 1.5, ...
inline void write_events(const std::string& uri, int first, int entries, const std::string& extra = {}) {
  auto model = Model::create();
  auto x = model->make_field<double>("x");
  auto n = model->make_field<std::int32_t>("n");
  auto v = model->make_field<std::vector<float>>("v");
  std::shared_ptr<double> more;
  if (!extra.empty()) more = model->make_field<double>(extra);
  auto writer = Writer::recreate(std::move(model), "Events", uri, {.approximate_cluster_size = 2000});
  for (int i = first; i < first + entries; ++i) {
    *x = i;
    *n = i % 4;
    v->clear();
    for (int k = 0; k < *n; ++k) v->push_back(static_cast<float>(k) + 0.5f);
    if (more != nullptr) *more = 100 + i;
    writer->fill();
  }
  writer->close();
}

inline ResultId count(Graph& graph, NodeId node) {
  return graph.book(node, {"count", {}, "{}"});
}
inline ResultId sum(Graph& graph, NodeId node, const std::string& column) {
  return graph.book(node, {"sum", {column}, "{}"});
}
inline double number(const Graph& graph, ResultId result, std::string_view variation = {}) {
  return std::visit(
      []<class T>(const T& value) -> double {
        if constexpr (std::is_arithmetic_v<T>) {
          return static_cast<double>(value);
        } else {
          ADD_FAILURE() << "the result is not a number";
          return 0;
        }
      },
      graph.value(result, variation));
}

// A kernel of one number: function(x).
template <class F>
class OneNumber final : public Kernel {
 public:
  explicit OneNumber(F function) : function_(std::move(function)) {}
  ValuesPtr run(const CallContext& context, std::span<const ValuesPtr> arguments) const override {
    auto [out, owner] = context.memory.template array<double>(context.rows.size);
    const Values& in = *arguments[0];
    for (std::size_t i = 0; i < context.rows.size; ++i)
      out[i] = function_(in.as<double>()[in.constant ? 0 : i]);
    return make_scalars(ElementType::float64, context.rows.size, out, owner);
  }
  const ValueType& result() const noexcept override { return result_; }
  bool foldable() const noexcept override { return false; }

 private:
  F function_;
  ValueType result_ = ElementType::float64;
};

template <class F>
Definition one_number(F function, const std::string& column, const std::string& payload = {}) {
  return {[function](std::span<const ValueType> types) -> KernelPtr {
            if (types[0] != ValueType(ElementType::float64))
              throw Error(ErrorKind::type, "takes a double, not " + types[0].name());
            return std::make_shared<OneNumber<F>>(function);
          },
          {column},
          payload};
}

}  // namespace colonnade::frame

#endif
