// The speed of the loops of expressions: fast and plain ones, and whole calls with conversion and broadcast.
// Items per second count the elements of the result.
#include <benchmark/benchmark.h>

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "frame/functions/elementwise.h"
#include "frame/kernels/kernels.h"

namespace colonnade::frame {
namespace {

// A block that fits the first-level cache, and one that exceeds the caches.
constexpr std::int64_t counts[] = {4096, 4 << 20};

// As an array: std::vector<bool> is not one.
template <class T>
std::shared_ptr<T[]> random_numbers(std::size_t count) {
  std::mt19937_64 random(1);
  std::shared_ptr<T[]> numbers(new T[count]);
  for (std::size_t i = 0; i < count; ++i) numbers[i] = static_cast<T>(random() % 100 + 1);
  return numbers;
}

template <class T>
void run_loop(benchmark::State& state, ElementLoop loop, bool constant) {
  const auto count = static_cast<std::size_t>(state.range(0));
  const auto a = random_numbers<T>(count);
  const auto b = random_numbers<T>(count);
  std::vector<std::uint64_t> out(count);
  const Operand operands[] = {{a.get(), false}, {b.get(), constant}};
  for (auto _ : state) {
    loop(count, operands, out.data());
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

template <class T>
void add_operation(const char* name, Operation operation, bool constant = false) {
  const auto element = static_cast<std::size_t>(element_of<T>());
  const ElementLoop plain = reference_kernels().operations[static_cast<std::size_t>(operation)][element];
  const std::string full = std::string(name) + "/" + std::string(name_of(element_of<T>()));
  for (const bool fast : {true, false}) {
    const ElementLoop loop = fast ? element_loop(operation, element_of<T>()) : plain;
    auto* entry =
        benchmark::RegisterBenchmark((full + (fast ? "" : "/plain")).c_str(),
                                     [=](benchmark::State& state) { run_loop<T>(state, loop, constant); });
    for (const std::int64_t count : counts) entry->Arg(count);
  }
}

template <class From, class To>
void add_conversion() {
  const std::string name =
      "convert/" + std::string(name_of(element_of<From>())) + "/" + std::string(name_of(element_of<To>()));
  const ElementLoop loop = conversion_loop(element_of<From>(), element_of<To>());
  benchmark::RegisterBenchmark(name.c_str(), [=](benchmark::State& state) {
    run_loop<From>(state, loop, false);
  })->Arg(4096);
}

template <class T>
ValuesPtr numbers(std::size_t count) {
  const auto kept = random_numbers<T>(count);
  return make_scalars(element_of<T>(), count, kept.get(), kept);
}

// Rows of 0 to 6 items.
ValuesPtr lists(std::size_t rows) {
  auto offsets = std::make_shared<std::vector<std::int64_t>>(1, 0);
  std::mt19937 random(2);
  for (std::size_t i = 0; i < rows; ++i)
    offsets->push_back(offsets->back() + static_cast<std::int64_t>(random() % 7));
  return make_list(rows, offsets->data(), numbers<float>(static_cast<std::size_t>(offsets->back())), offsets);
}

// Whole calls by name.
void call(benchmark::State& state, const char* name, const std::vector<ValuesPtr>& arguments) {
  std::vector<Argument> described;
  for (const ValuesPtr& argument : arguments)
    described.push_back({argument->type, argument->constant ? argument.get() : nullptr});
  const KernelPtr kernel = find_function(name)->bind({name, {}, described}).kernel;
  BlockMemory memory;
  const Rows rows{0, arguments.front()->size, nullptr};
  const CallContext context{memory, rows};
  std::size_t items = 0;
  for (auto _ : state) {
    const ValuesPtr result = kernel->run(context, arguments);
    items = result->type.is_list() ? result->items().size : result->size;
    benchmark::DoNotOptimize(result);
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(items));
}

void add_calls() {
  const auto add = [](const char* title, const char* name, std::vector<ValuesPtr> arguments) {
    benchmark::RegisterBenchmark(title, [=](benchmark::State& state) { call(state, name, arguments); });
  };
  constexpr std::size_t rows = 4096;
  add("call/double*double", "operator*", {numbers<double>(rows), numbers<double>(rows)});
  add("call/float*double", "operator*", {numbers<float>(rows), numbers<double>(rows)});
  add("call/double>constant", "operator>", {numbers<double>(rows), make_constant(rows, 20.0)});
  add("call/float<2.4", "operator<", {numbers<float>(rows), make_constant(rows, 2.4)});
  add("call/floats<2.4", "operator<", {lists(rows), make_constant(rows, 2.4)});
  add("call/floats*float", "operator*", {lists(rows), numbers<float>(rows)});
  add("call/floats*double", "operator*", {lists(rows), numbers<double>(rows)});
  add("call/sqrt", "sqrt", {numbers<double>(rows)});
  add("call/sin", "sin", {numbers<double>(rows)});
}

}  // namespace
}  // namespace colonnade::frame

int main(int argc, char** argv) {
  using namespace colonnade;
  using namespace colonnade::frame;
  add_operation<double>("multiply", Operation::multiply);
  add_operation<double>("multiply constant", Operation::multiply, true);
  add_operation<float>("multiply", Operation::multiply);
  add_operation<std::int32_t>("add", Operation::add);
  add_operation<std::int64_t>("multiply", Operation::multiply);
  add_operation<double>("divide", Operation::divide);
  add_operation<double>("square root", Operation::square_root);
  add_operation<double>("less", Operation::less);
  add_operation<float>("less constant", Operation::less, true);
  add_operation<std::int32_t>("equal constant", Operation::equal, true);
  add_operation<double>("maximum", Operation::maximum);
  add_operation<bool>("and", Operation::logical_and);
  add_conversion<float, double>();
  add_conversion<double, float>();
  add_conversion<std::int32_t, double>();
  add_conversion<std::int64_t, double>();
  add_conversion<std::uint8_t, float>();
  add_calls();
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
