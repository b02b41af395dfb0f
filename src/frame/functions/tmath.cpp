// TMath: the functions and constants of ROOT's header that are formulas, with ROOT's results to the bit.
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

#include "frame/functions/math.h"

namespace colonnade::frame {

namespace {

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

// To the nearest integer, halves to even. What no int can hold becomes the nearest one, and NaN becomes 0.
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

double gauss(double x, double mean, double sigma, bool normalised) {
  if (sigma == 0) return 1.e30;
  const double distance = (x - mean) / sigma;
  if (distance < -39.0 || distance > 39.0) return 0.0;
  const double value = std::exp(-0.5 * distance * distance);
  return normalised ? value / (2.50662827463100024 * sigma) : value;
}

double breit_wigner(double x, double mean, double gamma) {
  const double value = gamma / ((x - mean) * (x - mean) + gamma * gamma / 4);
  return value / (2 * pi);
}

double arc_tangent(double y, double x) {
  if (x != 0) return std::atan2(y, x);
  if (y == 0) return 0;
  return y > 0 ? pi / 2 : -pi / 2;
}

// ---- Functions of several numbers of arguments, and of mixed types

// One of several by the number of arguments: the ones that are left out have defaults.
Function by_count(std::string name, std::string signature, std::vector<Function> functions,
                  std::size_t fewest) {
  const std::size_t most = fewest + functions.size() - 1;
  auto bind = [functions = std::move(functions), fewest, most](const Call& call) -> Bound {
    if (auto refused = math::refuse(call, fewest, most)) return *refused;
    return functions[call.arguments.size() - fewest].bind(call);
  };
  return {std::move(name), std::move(signature), std::move(bind)};
}

Function gauss_function() {
  const std::string name = "TMath::Gaus";
  return by_count(
      name, "TMath::Gaus(x, mean = 0, sigma = 1, normalised = false)",
      {of_doubles<1>(name, [](double x) { return gauss(x, 0, 1, false); }),
       of_doubles<2>(name, [](double x, double mean) { return gauss(x, mean, 1, false); }),
       of_doubles<3>(name, [](double x, double mean, double sigma) { return gauss(x, mean, sigma, false); }),
       of_doubles<4>(name, [](double x, double mean, double sigma,
                              double normalised) { return gauss(x, mean, sigma, normalised != 0); })},
      1);
}

Function breit_wigner_function() {
  const std::string name = "TMath::BreitWigner";
  return by_count(
      name, "TMath::BreitWigner(x, mean = 0, gamma = 1)",
      {of_doubles<1>(name, [](double x) { return breit_wigner(x, 0, 1); }),
       of_doubles<2>(name, [](double x, double mean) { return breit_wigner(x, mean, 1); }),
       of_doubles<3>(name, [](double x, double mean, double gamma) { return breit_wigner(x, mean, gamma); })},
      1);
}

// The magnitude, and type, of the first with the sign of the second.
struct SignOf {
  template <class T>
  T operator()(T a, double b) const {
    if constexpr (std::is_floating_point_v<T>) {
      return std::copysign(a, static_cast<T>(std::copysign(1.0, b)));
    } else {
      using U = std::make_unsigned_t<T>;
      return a != 0 && (a < 0) != (b < 0) ? static_cast<T>(U{0} - static_cast<U>(a)) : a;
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

struct InRange {
  template <class T>
  T operator()(T low, T high, T x) const {
    return x < low ? low : (x > high ? high : x);
  }
};

// x, or the limit that it is beyond.
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

// Of integers an integer, of lists of them, too.
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
  table.push_back(of_doubles<1>("TMath::Exp", [](double x) { return std::exp(x); }));
  table.push_back(of_doubles<1>("TMath::Log", [](double x) { return std::log(x); }));
  table.push_back(of_doubles<1>("TMath::Log10", [](double x) { return std::log10(x); }));
  // Not std::log2, which differs in the last bit.
  table.push_back(of_doubles<1>("TMath::Log2", [](double x) { return std::log(x) / std::log(2.0); }));
  table.push_back(of_doubles<2>("TMath::Power", [](double x, double y) { return std::pow(x, y); }));
  table.push_back(of_doubles<2>("TMath::Hypot", [](double x, double y) { return std::hypot(x, y); }));
  table.push_back(of_doubles<1>("TMath::Sin", [](double x) { return std::sin(x); }));
  table.push_back(of_doubles<1>("TMath::Cos", [](double x) { return std::cos(x); }));
  table.push_back(of_doubles<1>("TMath::Tan", [](double x) { return std::tan(x); }));
  table.push_back(of_doubles<1>("TMath::ASin", [](double x) { return std::asin(x); }));
  table.push_back(of_doubles<1>("TMath::ACos", [](double x) { return std::acos(x); }));
  table.push_back(of_doubles<1>("TMath::ATan", [](double x) { return std::atan(x); }));
  table.push_back(of_doubles<2>("TMath::ATan2", [](double y, double x) { return arc_tangent(y, x); }));
  table.push_back(of_doubles<1>("TMath::SinH", [](double x) { return std::sinh(x); }));
  table.push_back(of_doubles<1>("TMath::CosH", [](double x) { return std::cosh(x); }));
  table.push_back(of_doubles<1>("TMath::TanH", [](double x) { return std::tanh(x); }));
  table.push_back(of_doubles<1>("TMath::ASinH", [](double x) { return std::asinh(x); }));
  table.push_back(of_doubles<1>("TMath::ACosH", [](double x) { return std::acosh(x); }));
  table.push_back(of_doubles<1>("TMath::ATanH", [](double x) { return std::atanh(x); }));
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

void add_predicates(std::vector<Function>& table) {
  table.push_back(of_doubles<1>("TMath::IsNaN", [](double x) { return std::isnan(x); }));
  table.push_back(
      of_doubles<1>("TMath::Finite", [](double x) { return static_cast<std::int32_t>(std::isfinite(x)); }));
  table.push_back(of_doubles<1>("TMath::SignBit", [](double x) { return std::signbit(x); }));
}

}  // namespace

std::vector<Function> tmath_functions() {
  std::vector<Function> table;
  for (const Constant& entry : constants) table.push_back(constant(entry));
  add_elementary(table);
  add_rounding(table);
  add_predicates(table);
  table.push_back(absolute());
  table.push_back(math::either_of_two("TMath::Min", Operation::minimum));
  table.push_back(math::either_of_two("TMath::Max", Operation::maximum));
  table.push_back(sign_function());
  table.push_back(range_function());
  table.push_back(gauss_function());
  table.push_back(breit_wigner_function());
  return table;
}

}  // namespace colonnade::frame
