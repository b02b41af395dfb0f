// See mathematics.h. Compiled once per instruction set and selected on first use (Highway's foreach_target).
//
// Single-precision functions are computed in double precision and rounded, so they are correctly rounded
// except for about one in a hundred million arguments.
#include "frame/kernels/mathematics.h"

#include <algorithm>
#include <cstring>

#include "base/each_target.h"
#include "base/vector_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "frame/kernels/mathematics.cpp"
#include <hwy/foreach_target.h>
//
#include <hwy/highway.h>

#include "frame/kernels/special-inl.h"

HWY_BEFORE_NAMESPACE();
namespace colonnade::frame::HWY_NAMESPACE {
namespace {

// The arguments of up to three operands: whole vectors, or the elements after the last one.
template <std::size_t arity>
struct Arguments {
  const double* data[arity];
  std::size_t mask[arity];
  double constants[arity][lanes];

  explicit Arguments(const Operand* operands) {
    for (std::size_t k = 0; k < arity; ++k) {
      data[k] = static_cast<const double*>(operands[k].data);
      mask[k] = ~std::size_t{0};
      if (!operands[k].constant) continue;
      hn::StoreU(set(*data[k]), D{}, constants[k]);
      data[k] = constants[k];
      mask[k] = 0;
    }
  }
  Arguments(const Arguments&) = delete;
  Arguments& operator=(const Arguments&) = delete;

  HWY_INLINE V at(std::size_t k, std::size_t place) const {
    return hn::LoadU(D{}, data[k] + (place & mask[k]));
  }
  V last(std::size_t k, std::size_t place, std::size_t count) const {
    double rest[lanes];
    std::fill_n(rest, lanes, 1.);
    std::copy_n(data[k] + (place & mask[k]), mask[k] == 0 ? lanes : count, rest);
    return hn::LoadU(D{}, rest);
  }
};

template <class F, std::size_t... k>
HWY_INLINE void loop(std::size_t count, const Operand* operands, double* out, std::index_sequence<k...>) {
  const Arguments<sizeof...(k)> arguments(operands);
  // The offset is 0, then the end of the last whole vector: one body, so that it is compiled once.
  for (std::size_t i = 0; i < count; i += lanes) {
    if (HWY_UNLIKELY(count - i < lanes)) {
      double rest[lanes];
      hn::StoreU(finish(F::run(arguments.last(k, i, count - i)...)), D{}, rest);
      std::copy_n(rest, count - i, out + i);
      return;
    }
    hn::StoreU(finish(F::run(arguments.at(k, i)...)), D{}, out + i);
  }
}

template <class F, std::size_t arity>
HWY_NOINLINE void of_double(std::size_t count, const Operand* operands, void* out) {
  loop<F>(count, operands, static_cast<double*>(out), std::make_index_sequence<arity>{});
}

// In pieces that stay in the first-level cache.
template <class F, std::size_t arity>
void of_float(std::size_t count, const Operand* operands, void* out) {
  constexpr std::size_t piece = 256;
  double wide[arity][piece];
  double results[piece];
  Operand converted[arity];
  for (std::size_t k = 0; k < arity; ++k) converted[k] = {wide[k], operands[k].constant};
  for (std::size_t begin = 0; begin < count; begin += piece) {
    const std::size_t size = std::min(piece, count - begin);
    for (std::size_t k = 0; k < arity; ++k) {
      const auto* from = static_cast<const float*>(operands[k].data) + (operands[k].constant ? 0 : begin);
      std::copy_n(from, operands[k].constant ? 1 : size, wide[k]);
    }
    of_double<F, arity>(size, converted, results);
    auto* to = static_cast<float*>(out) + begin;
    for (std::size_t i = 0; i < size; ++i) to[i] = static_cast<float>(results[i]);
  }
}

// Short is as good as F if the result is rounded to single precision.
template <class F, std::size_t arity = 1, class Short = F>
void add(MathLoops& table, Mathematics function) {
  table.of_double[static_cast<std::size_t>(function)] = &of_double<F, arity>;
  table.of_float[static_cast<std::size_t>(function)] = &of_float<Short, arity>;
}

void fill(MathLoops& table) {
  using enum Mathematics;
  add<Exp>(table, exp);
  add<Exp2>(table, exp2);
  add<Expm1>(table, expm1);
  add<Log, 1, ShortLog>(table, log);
  add<Log2, 1, ShortLog2>(table, log2);
  add<Log10, 1, ShortLog10>(table, log10);
  add<Log1p>(table, log1p);
  add<Sinh>(table, sinh);
  add<Cosh>(table, cosh);
  add<Tanh>(table, tanh);
  add<Asinh>(table, asinh);
  add<Acosh, 1, ShortAcosh>(table, acosh);
  add<Atanh>(table, atanh);
  add<Sin>(table, sin);
  add<Cos>(table, cos);
  add<Tan>(table, tan);
  add<Asin>(table, asin);
  add<Acos>(table, acos);
  add<Atan>(table, atan);
  add<Cbrt>(table, cbrt);
  add<Erf>(table, erf);
  add<Erfc>(table, erfc);
  add<Tgamma>(table, tgamma);
  add<Lgamma>(table, lgamma);
  add<LogRest>(table, log_rest);
  add<Atan2, 2>(table, atan2);
  add<Pow, 2, ShortPow>(table, pow);
  add<Hypot, 2, ShortHypot>(table, hypot);
  add<Hypot3, 3>(table, hypot3);
}

}  // namespace
}  // namespace colonnade::frame::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace colonnade::frame {

namespace {

HWY_EXPORT(fill);

MathLoops chosen_loops() {
  MathLoops table;
  HWY_DYNAMIC_DISPATCH(fill)(table);
  return table;
}

}  // namespace

ElementLoop math_loop(Mathematics function, ElementType element) noexcept {
  static const MathLoops table = chosen_loops();
  const auto& loops = element == ElementType::float32 ? table.of_float : table.of_double;
  return loops[static_cast<std::size_t>(function)];
}

std::vector<MathLoops> all_math_loops() {
  std::vector<MathLoops> tables;
  with_each_target([&] { tables.push_back(chosen_loops()); });
  return tables;
}

}  // namespace colonnade::frame
#endif
