// The time of the mathematical functions with each instruction set, compared with the C library's: prints a
// table of nanoseconds per number. Sides alternate; each figure is the best round, which excludes the
// machine's other work.
//
// The C library, too, selects by processor; GLIBC_TUNABLES=glibc.cpu.hwcaps=-FMA,-FMA4,-AVX2_Usable,-AVX2
// makes it run without fused multiply-add.
#include <hwy/detect_targets.h>
#include <hwy/targets.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <limits>
#include <random>
#include <vector>

#include "frame/kernels/mathematics.h"

namespace colonnade::frame {
namespace {

constexpr std::size_t numbers = 2048;
constexpr int rounds = 60;

struct Subject {
  const char* name;
  Mathematics function;
  double low;
  double high;
  void (*library)(const double* x, const double* y, double* out);
};

#define COLONNADE_OF_ONE(name, low, high)                                                  \
  Subject {                                                                                \
    #name, Mathematics::name, low, high, [](const double* x, const double*, double* out) { \
      for (std::size_t i = 0; i < numbers; ++i) out[i] = std::name(x[i]);                  \
    }                                                                                      \
  }
#define COLONNADE_OF_TWO(name, low, high)                                                    \
  Subject {                                                                                  \
    #name, Mathematics::name, low, high, [](const double* x, const double* y, double* out) { \
      for (std::size_t i = 0; i < numbers; ++i) out[i] = std::name(x[i], y[i]);              \
    }                                                                                        \
  }

const Subject subjects[] = {
    COLONNADE_OF_ONE(exp, -20, 20),   COLONNADE_OF_ONE(exp2, -20, 20),   COLONNADE_OF_ONE(expm1, -5, 5),
    COLONNADE_OF_ONE(log, 0, 100),    COLONNADE_OF_ONE(log2, 0, 100),    COLONNADE_OF_ONE(log10, 0, 100),
    COLONNADE_OF_ONE(log1p, -0.9, 5), COLONNADE_OF_ONE(sinh, -5, 5),     COLONNADE_OF_ONE(cosh, -5, 5),
    COLONNADE_OF_ONE(tanh, -3, 3),    COLONNADE_OF_ONE(asinh, -10, 10),  COLONNADE_OF_ONE(acosh, 1, 20),
    COLONNADE_OF_ONE(atanh, -1, 1),   COLONNADE_OF_ONE(sin, -4, 4),      COLONNADE_OF_ONE(cos, -4, 4),
    COLONNADE_OF_ONE(tan, -4, 4),     COLONNADE_OF_ONE(asin, -1, 1),     COLONNADE_OF_ONE(acos, -1, 1),
    COLONNADE_OF_ONE(atan, -10, 10),  COLONNADE_OF_ONE(cbrt, -100, 100), COLONNADE_OF_ONE(erf, -3, 3),
    COLONNADE_OF_ONE(erfc, -3, 10),   COLONNADE_OF_ONE(tgamma, -5, 20),  COLONNADE_OF_ONE(lgamma, 0, 50),
    COLONNADE_OF_TWO(atan2, -10, 10), COLONNADE_OF_TWO(pow, 0.01, 20),   COLONNADE_OF_TWO(hypot, -100, 100),
};

template <class Run>
double nanoseconds(Run&& run) {
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  run();
  return std::chrono::duration<double, std::nano>(Clock::now() - start).count() / numbers;
}

int report() {
  std::vector<std::int64_t> targets = hwy::SupportedAndGeneratedTargets();
  const std::vector<MathLoops> tables = all_math_loops();
  std::printf("| | glibc |");
  for (const std::int64_t target : targets) std::printf(" %s |", hwy::TargetName(target));
  std::printf("\n|---|---|");
  for (std::size_t i = 0; i < targets.size(); ++i) std::printf("---|");
  std::printf("\n");
  std::mt19937_64 random(1);
  std::vector<double> x(numbers);
  std::vector<double> y(numbers);
  std::vector<double> out(numbers);
  for (const Subject& subject : subjects) {
    std::uniform_real_distribution<double> usual(subject.low, subject.high);
    std::ranges::generate(x, [&] { return usual(random); });
    std::ranges::generate(y, [&] { return usual(random); });
    const Operand operands[] = {{x.data(), false}, {y.data(), false}};
    double library = std::numeric_limits<double>::infinity();
    std::vector<double> best(tables.size(), library);
    for (int round = 0; round < rounds; ++round) {
      library = std::min(library, nanoseconds([&] { subject.library(x.data(), y.data(), out.data()); }));
      for (std::size_t i = 0; i < tables.size(); ++i) {
        const ElementLoop loop = tables[i].of_double[static_cast<std::size_t>(subject.function)];
        best[i] = std::min(best[i], nanoseconds([&] { loop(numbers, operands, out.data()); }));
      }
    }
    std::printf("| %s | %.1f |", subject.name, library);
    for (const double side : best) std::printf(" %.1f |", side);
    std::printf("\n");
  }
  return 0;
}

}  // namespace
}  // namespace colonnade::frame

int main() {
  return colonnade::frame::report();
}
