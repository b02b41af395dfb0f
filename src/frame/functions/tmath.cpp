// TMath: the functions and constants of ROOT's header that are formulas, in ROOT's order of operations.
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

#include "frame/functions/batch.h"
#include "frame/functions/math.h"

namespace colonnade::frame {

namespace {

using math::of_double_kernel;
using math::of_doubles;

// ---- Constants

class ConstantKernel : public Kernel {
 public:
  ConstantKernel(std::string name, double value) : name_(std::move(name)), value_(value) {}
  ValuesPtr run(const CallContext& context, std::span<const ValuesPtr>) const override {
    return make_constant(context.rows.size, value_);
  }
  const ValueType& result() const noexcept override { return type_; }
  std::string key() const override { return name_; }

 private:
  std::string name_;
  double value_;
  ValueType type_ = ElementType::float64;
};

constexpr double pi = 3.14159265358979323846;
constexpr double light = 2.99792458e8;
constexpr double planck = 6.62607015e-34;

struct Constant {
  const char* name;
  double value;
};
constexpr std::array constants = {
    Constant{"Pi", pi},
    Constant{"TwoPi", 2.0 * pi},
    Constant{"PiOver2", pi / 2.0},
    Constant{"PiOver4", pi / 4.0},
    Constant{"InvPi", 1.0 / pi},
    Constant{"RadToDeg", 180.0 / pi},
    Constant{"DegToRad", pi / 180.0},
    Constant{"Sqrt2", 1.4142135623730950488016887242097},
    Constant{"E", 2.71828182845904523536},
    Constant{"Ln10", 2.30258509299404568402},
    Constant{"LogE", 0.43429448190325182765},
    Constant{"C", light},
    Constant{"Ccgs", 100.0 * light},
    Constant{"H", planck},
    Constant{"Hbar", 1.054571817e-34},
    Constant{"HC", planck* light},
    Constant{"K", 1.380649e-23},
    Constant{"Na", 6.02214076e+23},
    Constant{"G", 6.67430e-11},
    Constant{"Gn", 9.80665},
    Constant{"R", 1.380649e-23 * 6.02214076e+23},
    Constant{"Sigma", 5.670373e-8},
    Constant{"Qe", 1.602176634e-19},
    Constant{"EulerGamma", 0.577215664901532860606512090082402431042},
    Constant{"Infinity", std::numeric_limits<double>::infinity()},
    Constant{"QuietNaN", std::numeric_limits<double>::quiet_NaN()},
};

Function constant(const Constant& entry) {
  const std::string name = std::string("TMath::") + entry.name;
  auto bind = [name, value = entry.value](const Call& call) -> Bound {
    if (auto refused = math::refuse(call, 0, 0)) return *refused;
    return {std::make_shared<ConstantKernel>(name, value), {}};
  };
  return {name, name + "()", std::move(bind)};
}

// ---- Formulas

// Rounds to the nearest integer, halves to even. Values outside of int are clamped, and NaN becomes 0.
std::int32_t nearest_integer(double x) {
  constexpr std::int32_t most = std::numeric_limits<std::int32_t>::max();
  constexpr std::int32_t least = std::numeric_limits<std::int32_t>::min();
  if (std::isnan(x)) return 0;
  if (x >= most) return most;
  if (x <= least) return least;
  const double beyond = x >= 0 ? x + 0.5 : x - 0.5;
  const auto i = static_cast<std::int32_t>(beyond);
  if ((i & 1) == 0 || beyond != i) return i;
  return x >= 0 ? i - 1 : i + 1;
}

// An angle from `low` to below low + 2 pi. ROOT adds turns one by one, which rounds each time.
double turned(double x, double low) {
  constexpr double many_turns = 1e4;
  if (!(std::abs(x) < many_turns)) x = std::fmod(x, 2 * pi);
  while (x >= low + 2 * pi) x -= 2 * pi;
  while (x < low) x += 2 * pi;
  return x;
}

// An angle from above -pi to pi; by one product, as ROOT::Math does it.
double turned_at_once(double x) {
  if (x <= pi && x > -pi) return x;
  return x > 0 ? x - std::trunc((x + pi) / (2 * pi)) * 2 * pi : x + std::trunc(-(x - pi) / (2 * pi)) * 2 * pi;
}

using Doubles = Batch<double>;

Doubles gauss(const Doubles& x, const Doubles& mean, const Doubles& sigma, const Doubles& normalised) {
  const Doubles distance = (x - mean) / sigma;
  const Doubles value = exp(-0.5 * distance * distance);
  const Doubles scaled =
      over([](double v, double s, double n) { return n != 0 ? v / (2.50662827463100024 * s) : v; }, value,
           sigma, normalised);
  const Doubles near = select(distance < -39.0 || distance > 39.0, 0.0, scaled);
  return select(sigma == 0, 1.e30, near);
}
Doubles all(std::size_t count, double value) {
  return {count, &value, 0};
}

double breit_wigner(double x, double mean, double gamma) {
  const double value = gamma / ((x - mean) * (x - mean) + gamma * gamma / 4);
  return value / (2 * pi);
}

struct ArcTangent {
  Doubles operator()(const Doubles& y, const Doubles& x) const {
    const auto on_axis = [](double v) { return v == 0 ? 0. : v > 0 ? pi / 2 : -pi / 2; };
    return select(x == 0, over(on_axis, y), atan2(y, x));
  }
};

// Via the natural logarithm, as in ROOT: the last bit may differ from log2's.
struct Log2 {
  Doubles operator()(const Doubles& x) const { return log(x) / 0.693147180559945309417; }
};

// A function of batches of doubles.
template <class F, class... A>
Function of_batches(const std::string& name) {
  return math::function(name, sizeof...(A), {nullptr, &batch_loop<F, double, A...>});
}

struct Gauss {
  Doubles operator()(const Doubles& x) const { return (*this)(x, all(x.count(), 0)); }
  Doubles operator()(const Doubles& x, const Doubles& mean) const {
    return (*this)(x, mean, all(x.count(), 1));
  }
  Doubles operator()(const Doubles& x, const Doubles& mean, const Doubles& sigma) const {
    return gauss(x, mean, sigma, all(x.count(), 0));
  }
  Doubles operator()(const Doubles& x, const Doubles& mean, const Doubles& sigma,
                     const Doubles& normalised) const {
    return gauss(x, mean, sigma, normalised);
  }
};

// ---- Functions of several numbers of arguments, and of mixed types

Function gauss_function() {
  const std::string name = "TMath::Gaus";
  return math::by_count(name, "TMath::Gaus(x, mean = 0, sigma = 1, normalised = false)",
                        {of_batches<Gauss, double>(name), of_batches<Gauss, double, double>(name),
                         of_batches<Gauss, double, double, double>(name),
                         of_batches<Gauss, double, double, double, double>(name)},
                        1);
}

Function breit_wigner_function() {
  const std::string name = "TMath::BreitWigner";
  return math::by_count(
      name, "TMath::BreitWigner(x, mean = 0, gamma = 1)",
      {of_doubles<1>(name, [](double x) { return breit_wigner(x, 0, 1); }),
       of_doubles<2>(name, [](double x, double mean) { return breit_wigner(x, mean, 1); }),
       of_doubles<3>(name, [](double x, double mean, double gamma) { return breit_wigner(x, mean, gamma); })},
      1);
}

// The magnitude and type of the first argument with the sign of the second.
struct SignOf {
  template <class T>
  T operator()(T a, double b) const {
    if constexpr (std::is_floating_point_v<T>) {
      return std::copysign(a, static_cast<T>(std::copysign(1.0, b)));
    } else {
      using U = std::make_unsigned_t<T>;
      return a != 0 && (a < 0) != std::signbit(b) ? static_cast<T>(U{0} - static_cast<U>(a)) : a;
    }
  }
};

Function sign_function() {
  return {"TMath::Sign", "TMath::Sign(a, b)", [](const Call& call) -> Bound {
            if (auto refused = math::refuse(call, 2, 2)) return *refused;
            ElementType element = promoted(math::item_of(call.arguments.front()));
            if (element == ElementType::uint64 || element == ElementType::uint32)
              element = ElementType::int64;
            ElementLoop loop = &plain_loop<SignOf, std::int32_t, std::int32_t, double>;
            if (element == ElementType::int64) loop = &plain_loop<SignOf, std::int64_t, std::int64_t, double>;
            if (element == ElementType::float32) loop = &plain_loop<SignOf, float, float, double>;
            if (element == ElementType::float64) loop = &plain_loop<SignOf, double, double, double>;
            return math::bound(call, {element, {element, ElementType::float64}, loop}, "TMath::Sign");
          }};
}

// The second one if either is NaN.
struct SmallerOfTwo {
  template <class T>
  T operator()(T a, T b) const {
    return a <= b ? a : b;
  }
};
struct LargerOfTwo {
  template <class T>
  T operator()(T a, T b) const {
    return a >= b ? a : b;
  }
};

struct InRange {
  template <class T>
  T operator()(T low, T high, T x) const {
    return x < low ? low : (x > high ? high : x);
  }
};

// x, or the nearer limit if x is outside.
Function range_function() {
  return {"TMath::Range", "TMath::Range(low, high, x)", [](const Call& call) -> Bound {
            if (auto refused = math::refuse(call, 3, 3)) return *refused;
            ElementType common = promoted(math::item_of(call.arguments.front()));
            for (const Argument& argument : call.arguments)
              common = common_element(common, math::item_of(argument));
            ElementLoop loop = nullptr;
            switch (common) {
              case ElementType::float32:
              case ElementType::float64:
                common = ElementType::float64;
                loop = &plain_loop<InRange, double, double, double, double>;
                break;
              case ElementType::uint64:
                loop = &plain_loop<InRange, std::uint64_t, std::uint64_t, std::uint64_t, std::uint64_t>;
                break;
              case ElementType::int32:
                loop = &plain_loop<InRange, std::int32_t, std::int32_t, std::int32_t, std::int32_t>;
                break;
              default:
                common = ElementType::int64;
                loop = &plain_loop<InRange, std::int64_t, std::int64_t, std::int64_t, std::int64_t>;
                break;
            }
            return math::bound(call, {common, {common, common, common}, loop}, "TMath::Range");
          }};
}

// Whether an integer is even, or odd.
template <class F>
Function parity(const std::string& name, F) {
  auto bind = [name](const Call& call) -> Bound {
    if (auto refused = math::refuse(call, 1, 1)) return *refused;
    if (!call.arguments.front().type.innermost().is_integer()) return {nullptr, "needs an integer"};
    return math::bound(call, {ElementType::boolean, {ElementType::int64}, &plain_loop<F, bool, std::int64_t>},
                       name);
  };
  return {name, name + "(n)", std::move(bind)};
}

// Integers give integers, also in lists.
Function absolute() {
  return {"TMath::Abs", "TMath::Abs(x)", [](const Call& call) -> Bound {
            if (auto refused = math::refuse(call, 1, 1)) return *refused;
            const ElementType element = promoted(math::item_of(call.arguments.front()));
            return math::bound(call, {element, {element}, element_loop(Operation::absolute, element)},
                               "TMath::Abs");
          }};
}

void add_elementary(std::vector<Function>& table) {
  table.push_back(of_doubles<1>("TMath::Sqrt", [](double x) { return std::sqrt(x); }));
  table.push_back(of_doubles<1>("TMath::Sq", [](double x) { return x * x; }));
  table.push_back(of_double_kernel("TMath::Exp", 1, Mathematics::exp));
  table.push_back(of_double_kernel("TMath::Log", 1, Mathematics::log));
  table.push_back(of_double_kernel("TMath::Log10", 1, Mathematics::log10));
  table.push_back(of_batches<Log2, double>("TMath::Log2"));
  table.push_back(of_double_kernel("TMath::Power", 2, Mathematics::pow));
  table.push_back(of_double_kernel("TMath::Hypot", 2, Mathematics::hypot));
  table.push_back(of_double_kernel("TMath::Sin", 1, Mathematics::sin));
  table.push_back(of_double_kernel("TMath::Cos", 1, Mathematics::cos));
  table.push_back(of_double_kernel("TMath::Tan", 1, Mathematics::tan));
  table.push_back(of_double_kernel("TMath::ASin", 1, Mathematics::asin));
  table.push_back(of_double_kernel("TMath::ACos", 1, Mathematics::acos));
  table.push_back(of_double_kernel("TMath::ATan", 1, Mathematics::atan));
  table.push_back(of_batches<ArcTangent, double, double>("TMath::ATan2"));
  table.push_back(of_double_kernel("TMath::SinH", 1, Mathematics::sinh));
  table.push_back(of_double_kernel("TMath::CosH", 1, Mathematics::cosh));
  table.push_back(of_double_kernel("TMath::TanH", 1, Mathematics::tanh));
  table.push_back(of_double_kernel("TMath::ASinH", 1, Mathematics::asinh));
  table.push_back(of_double_kernel("TMath::ACosH", 1, Mathematics::acosh));
  table.push_back(of_double_kernel("TMath::ATanH", 1, Mathematics::atanh));
  table.push_back(of_double_kernel("TMath::Erf", 1, Mathematics::erf));
  table.push_back(of_double_kernel("TMath::Erfc", 1, Mathematics::erfc));
}

void add_rounding(std::vector<Function>& table) {
  table.push_back(of_doubles<1>("TMath::Floor", [](double x) { return std::floor(x); }));
  table.push_back(of_doubles<1>("TMath::Ceil", [](double x) { return std::ceil(x); }));
  table.push_back(of_doubles<1>("TMath::Nint", [](double x) { return nearest_integer(x); }));
  table.push_back(of_doubles<1>("TMath::FloorNint", [](double x) { return nearest_integer(std::floor(x)); }));
  table.push_back(of_doubles<1>("TMath::CeilNint", [](double x) { return nearest_integer(std::ceil(x)); }));
  table.push_back(parity("TMath::Even", [](std::int64_t n) { return (n & 1) == 0; }));
  table.push_back(parity("TMath::Odd", [](std::int64_t n) { return (n & 1) != 0; }));
}

void add_angles(std::vector<Function>& table) {
  table.push_back(of_doubles<1>("TVector2::Phi_mpi_pi", [](double x) { return turned(x, -pi); }));
  table.push_back(of_doubles<1>("TVector2::Phi_0_2pi", [](double x) { return turned(x, 0); }));
  table.push_back(
      of_doubles<1>("ROOT::Math::VectorUtil::Phi_mpi_pi", [](double x) { return turned_at_once(x); }));
}

void add_predicates(std::vector<Function>& table) {
  table.push_back(of_doubles<3>("TMath::AreEqualAbs", [](double a, double b, double epsilon) {
    return a == b || std::abs(a - b) < epsilon || std::abs(a - b) < std::numeric_limits<double>::min();
  }));
  table.push_back(of_doubles<3>("TMath::AreEqualRel", [](double a, double b, double precision) {
    return a == b || std::abs(a - b) <= 0.5 * precision * (std::abs(a) + std::abs(b)) ||
           std::abs(a - b) < std::numeric_limits<double>::min();
  }));
  table.push_back(of_doubles<1>("TMath::IsNaN", [](double x) { return std::isnan(x); }));
  table.push_back(
      of_doubles<1>("TMath::Finite", [](double x) { return static_cast<std::int32_t>(std::isfinite(x)); }));
  table.push_back(of_doubles<1>("TMath::SignBit", [](double x) { return std::signbit(x); }));
}

// std::nan(""), whose text may be any.
Function not_a_number() {
  return {"nan", "nan(\"\")", [](const Call& call) -> Bound {
            if (call.arguments.size() != 1 || !call.arguments[0].type.is_string())
              return {nullptr, "needs a text"};
            return {std::make_shared<ConstantKernel>("nan", std::numeric_limits<double>::quiet_NaN()), {}};
          }};
}

}  // namespace

std::vector<Function> tmath_functions() {
  std::vector<Function> table;
  table.push_back(not_a_number());
  for (const Constant& entry : constants) table.push_back(constant(entry));
  add_elementary(table);
  add_rounding(table);
  add_angles(table);
  add_predicates(table);
  table.push_back(absolute());
  table.push_back(math::either_of_two("TMath::Min", Operation::minimum, math::loops_of<SmallerOfTwo, 2>()));
  table.push_back(math::either_of_two("TMath::Max", Operation::maximum, math::loops_of<LargerOfTwo, 2>()));
  table.push_back(sign_function());
  table.push_back(range_function());
  table.push_back(gauss_function());
  table.push_back(breit_wigner_function());
  return table;
}

}  // namespace colonnade::frame
