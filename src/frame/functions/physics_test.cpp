// Angles, masses and vectors: against the results of ROOT 6.40, and against plain formulas on jagged data.
#include "frame/functions/physics.h"

#include <gmock/gmock.h>

#include <cmath>
#include <numbers>

#include "frame/functions/lists_testing.h"
#include "frame/functions/physics_vectors.h"

namespace colonnade::frame {
namespace {

using calls::rows_of;
using calls::values_of;
using expression_testing::Arguments;
using expression_testing::Lists;
using expression_testing::problem_of;
using expression_testing::random_like;
using expression_testing::random_lists;
using expression_testing::result_of;
using expression_testing::why_not;
using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// The math library may round differently in the last place.
template <class T>
void expect_close(T value, T expected) {
  const T tolerance = 8 * std::numeric_limits<T>::epsilon() * std::max(T(1), std::abs(expected));
  EXPECT_NEAR(value, expected, tolerance);
}

template <class T>
void expect_close(const Lists<T>& values, const Lists<T>& expected, T tolerance) {
  ASSERT_EQ(values.size(), expected.size());
  for (std::size_t row = 0; row < values.size(); ++row) {
    ASSERT_EQ(values[row].size(), expected[row].size());
    for (std::size_t i = 0; i < values[row].size(); ++i)
      ASSERT_NEAR(values[row][i], expected[row][i], tolerance) << "row " << row << " item " << i;
  }
}

// ---- Angles

TEST(Angles, DeltaPhiStaysWithinHalfATurn) {
  const auto phi1 = random_lists<double>(31);
  const auto phi2 = random_like<double>(phi1, 32);
  const auto result =
      rows_of<std::vector<double>>(*result_of("DeltaPhi", {values_of(phi1), values_of(phi2)}));
  auto expected = phi1;
  for (std::size_t row = 0; row < phi1.size(); ++row)
    for (std::size_t i = 0; i < phi1[row].size(); ++i)
      expected[row][i] = std::remainder(phi2[row][i] - phi1[row][i], 2 * std::numbers::pi);
  expect_close(result, expected, 1e-14);
}

TEST(Angles, DeltaPhiTakesManyTurnsAndOtherUnits) {
  const auto delta = [](double from, double to) {
    return *result_of("DeltaPhi", {make_constant(1, from), make_constant(1, to)})->as<double>();
  };
  expect_close(delta(0, 7 * std::numbers::pi), std::numbers::pi);
  EXPECT_NEAR(delta(0, 1000), std::remainder(1000, 2 * std::numbers::pi), 1e-12);
  EXPECT_TRUE(std::isnan(delta(0, std::numeric_limits<double>::infinity())));
  const auto degrees =
      result_of("DeltaPhi", {make_constant(1, 10.), make_constant(1, 350.), make_constant(1, 180.)});
  EXPECT_EQ(*degrees->as<double>(), -20);
}

TEST(Angles, DeltaRKeepsTheTypeOfItsArguments) {
  const auto of = [](auto... x) { return result_of("DeltaR", {make_constant(1, x)...}); };
  expect_close(*of(1.25F, -.5F, 3.F, -2.5F)->as<float>(), 0x1.ead172p+0F);
  EXPECT_EQ(of(1.F, 2.F, 3.F, 2.)->type, ValueType(ElementType::float64));
  EXPECT_EQ(of(1, 2, 0, 0)->type, ValueType(ElementType::float64));
  EXPECT_EQ(*of(1, 2, 0, 0)->as<double>(), 1);
}

TEST(Angles, DeltaRTakesListsAndScalars) {
  const auto eta1 = random_lists<double>(33);
  const auto phi1 = random_like<double>(eta1, 34);
  const auto squares = result_of("DeltaR2", {values_of(eta1), make_constant(eta1.size(), .5), values_of(phi1),
                                             make_constant(eta1.size(), 2.)});
  const auto roots = result_of("DeltaR", {values_of(eta1), make_constant(eta1.size(), .5), values_of(phi1),
                                          make_constant(eta1.size(), 2.)});
  auto expected = eta1;
  for (std::size_t row = 0; row < eta1.size(); ++row)
    for (std::size_t i = 0; i < eta1[row].size(); ++i)
      expected[row][i] =
          std::hypot(eta1[row][i] - .5, std::remainder(phi1[row][i] - 2., 2 * std::numbers::pi));
  expect_close(rows_of<std::vector<double>>(*roots), expected, 1e-13);
  for (auto& row : expected)
    for (auto& item : row) item *= item;
  expect_close(rows_of<std::vector<double>>(*squares), expected, 1e-12);
}

TEST(Angles, AngleOfThreeVectors) {
  const auto angle = result_of("Angle", {make_constant(1, 1.), make_constant(1, 0.), make_constant(1, 0.),
                                         make_constant(1, 0.), make_constant(1, 2.), make_constant(1, 0.)});
  expect_close(*angle->as<double>(), std::numbers::pi / 2);
}

TEST(Angles, SayWhatTheyNeed) {
  EXPECT_EQ(why_not("DeltaPhi", {make_constant(1, 1.)}), "takes 2 to 3 arguments, got 1");
  EXPECT_EQ(why_not("DeltaR", {make_constant(1, 1.), make_constant_string(1, "a"), make_constant(1, 1.),
                               make_constant(1, 1.)}),
            "needs a number or a list of numbers as argument 2, got std::string");
}

// ---- Masses

struct Particles {
  Lists<double> pt, eta, phi, mass;
};
Particles random_particles(unsigned seed) {
  Particles all{random_lists<double>(seed), {}, {}, {}};
  for (auto& row : all.pt)
    for (auto& pt : row) pt = 10 * std::abs(pt) + 1;
  all.eta = random_like<double>(all.pt, seed + 1);
  all.phi = random_like<double>(all.pt, seed + 2);
  all.mass = random_like<double>(all.pt, seed + 3);
  for (auto& row : all.mass)
    for (auto& mass : row) mass = std::abs(mass);
  return all;
}
Arguments arguments_of(const Particles& all) {
  return {values_of(all.pt), values_of(all.eta), values_of(all.phi), values_of(all.mass)};
}

struct Momentum {
  double x = 0, y = 0, z = 0, e = 0;
  void add(double pt, double eta, double phi, double mass) {
    x += pt * std::cos(phi);
    y += pt * std::sin(phi);
    z += pt * std::sinh(eta);
    e += std::sqrt(pt * pt * std::cosh(eta) * std::cosh(eta) + mass * mass);
  }
  double mass() const { return std::sqrt(std::max(0., e * e - x * x - y * y - z * z)); }
};

TEST(Masses, OfAllItemsTogether) {
  const auto all = random_particles(41);
  const auto masses = rows_of<double>(*result_of("InvariantMass", arguments_of(all)));
  for (std::size_t row = 0; row < masses.size(); ++row) {
    Momentum sum;
    for (std::size_t i = 0; i < all.pt[row].size(); ++i)
      sum.add(all.pt[row][i], all.eta[row][i], all.phi[row][i], all.mass[row][i]);
    if (all.pt[row].size() != 1) {
      EXPECT_NEAR(masses[row], sum.mass(), 1e-6 * (1 + sum.e)) << row;
    }
  }
  EXPECT_EQ(problem_of("InvariantMass", {values_of(Lists<float>{{1}}), values_of(Lists<float>{{1}}),
                                         values_of(Lists<float>{{1}}), values_of(Lists<float>{{}})}),
            "in entry 1000, the lists of InvariantMass have 1 and 0 items");
}

TEST(Masses, AgreeWithRoot) {
  const auto list = [](float a, float b) { return values_of(Lists<float>{{a, b}}); };
  const auto mass = result_of(
      "InvariantMass", {list(25.5F, 31.25F), list(1.25F, -.75F), list(-2.25F, 2.5F), list(.105F, .105F)});
  expect_close(*mass->as<float>(), 0x1.342f4ap+6F);
  const auto one = [](float a) { return values_of(Lists<float>{{a}}); };
  const auto masses = result_of("InvariantMasses", {one(25.5F), one(1.25F), one(-2.25F), one(.105F),
                                                    one(31.25F), one(-.75F), one(2.5F), one(.105F)});
  expect_close(rows_of<std::vector<float>>(*masses)[0][0], 0x1.342f4cp+6F);
}

TEST(Masses, OfPairs) {
  const auto a = random_particles(51);
  Particles b{a.pt, random_like<double>(a.pt, 52), random_like<double>(a.pt, 53), a.mass};
  auto arguments = arguments_of(a);
  for (auto& argument : arguments_of(b)) arguments.push_back(argument);
  auto expected = a.pt;
  for (std::size_t row = 0; row < a.pt.size(); ++row)
    for (std::size_t i = 0; i < a.pt[row].size(); ++i) {
      Momentum sum;
      sum.add(a.pt[row][i], a.eta[row][i], a.phi[row][i], a.mass[row][i]);
      sum.add(b.pt[row][i], b.eta[row][i], b.phi[row][i], b.mass[row][i]);
      expected[row][i] = sum.mass();
    }
  const auto masses = rows_of<std::vector<double>>(*result_of("InvariantMasses", arguments));
  expect_close(masses, expected, 1e-6);
}

TEST(Masses, OfParticlesAtRest) {
  const auto mass = [](std::array<double, 8> x) {
    Arguments arguments;
    for (const double value : x) arguments.push_back(make_constant(1, value));
    return *result_of("InvariantMasses_PxPyPzM", arguments)->as<double>();
  };
  EXPECT_EQ(mass({0, 0, 0, 1, 0, 0, 0, 2}), 3);
  expect_close(mass({0, 0, 0, 1, 3, 0, 0, 4}), std::sqrt(36. - 9.));
  expect_close(mass({3, 0, 0, 4, 0, 0, 0, 1}), std::sqrt(36. - 9.));
  expect_close(mass({1, 0, 0, 0, -1, 0, 0, 0}), 2.);
}

// ---- Vectors

ValuesPtr vector_of(const char* name, std::array<double, 4> x) {
  return result_of(std::string("ROOT::Math::") + name, {make_constant(1, x[0]), make_constant(1, x[1]),
                                                        make_constant(1, x[2]), make_constant(1, x[3])});
}
ValuesPtr space_vector(double x, double y, double z) {
  return result_of("ROOT::Math::XYZVector", {make_constant(1, x), make_constant(1, y), make_constant(1, z)});
}
double member(const ValuesPtr& vector, const std::string& name) {
  return *result_of("." + name, {vector})->as<double>();
}

ValuesPtr vector_a() {
  return vector_of("PtEtaPhiMVector", {25.5, 1.25, 4.0, 0.105});
}
ValuesPtr vector_b() {
  return vector_of("PtEtaPhiEVector", {31.25, -0.75, -2.5, 60.});
}
ValuesPtr vector_c() {
  return vector_of("PxPyPzEVector", {1.5, -2.5, 3.5, 4.0});
}
ValuesPtr vector_d() {
  return vector_of("PxPyPzMVector", {1.5, -2.5, 3.5, 1.0});
}

// Px, Py, Pz, E, M, Pt, Mt, Et, Phi, Theta, Eta, Rapidity, Gamma
void expect_members(const ValuesPtr& vector, std::array<double, 13> expected) {
  constexpr std::array names = {"Px", "Py",  "Pz",    "E",   "M",        "Pt",   "Mt",
                                "Et", "Phi", "Theta", "Eta", "Rapidity", "Gamma"};
  for (std::size_t i = 0; i < names.size(); ++i) {
    SCOPED_TRACE(names[i]);
    const double value = member(vector, names[i]);
    EXPECT_NEAR(value, expected[i], 1e-13 * std::max(1., std::abs(expected[i])));
  }
}

TEST(Vectors, HaveTheMembersOfRoots) {
  expect_members(vector_a(), {-0x1.0aafc4d76a148p+4, -0x1.34c681ccb6874p+4, 0x1.46ca9f3ea502bp+5,
                              0x1.813d4872fad8p+5, 0x1.ae147ae147ae1p-4, 0x1.98p+4, 0x1.9800e2ad2ef92p+4,
                              0x1.98003f904b9c5p+4, -0x1.243f6a8885a3p+1, 0x1.1dba223a43f56p-1, 0x1.4p+0,
                              0x1.3fff8759c363ep+0, 0x1.ca9e4a0f0e58ep+8});
  expect_members(vector_b(),
                 {-0x1.909261fe86a38p+4, -0x1.2b3c6f37cebf1p+4, -0x1.9b288aac0cfe9p+4, 0x1.ep+5,
                  0x1.627410cc347f1p+5, 0x1.f4p+4, 0x1.b1bf734273607p+5, 0x1.72bf3e3d58d3dp+5, -0x1.4p+1,
                  0x1.2126d5fdbff7ep+1, -0x1.8p-1, -0x1.d4c9afc709ebep-2, 0x1.5aacb5827a14dp+0});
  expect_members(vector_c(), {1.5, -2.5, 3.5, 4, -0x1.16f8334644df9p+1, 0x1.752e50db3a3a2p+1,
                              0x1.efbdeb14f4edap+0, 0x1.47b20721c2f2dp+1, -0x1.07c6c6947a6a8p+0,
                              0x1.639a6a2912c83p-1, 0x1.042b5ff84dcfp+0, 0x1.5aa16394d481fp+0, 0});
  expect_members(vector_d(),
                 {1.5, -2.5, 3.5, 0x1.2a79e3a2cd2e6p+2, 1, 0x1.752e50db3a3a2p+1, 0x1.8a85c24f70659p+1,
                  0x1.7e1142d5ed842p+1, -0x1.07c6c6947a6a8p+0, 0x1.639a6a2912c83p-1, 0x1.042b5ff84dcfp+0,
                  0x1.f2b6b91222a52p-1, 0x1.2a79e3a2cd2dcp+2});
}

TEST(Vectors, AddUpInTheCoordinatesOfTheLeftOne) {
  const auto sum = result_of("operator+", {vector_a(), vector_b()});
  EXPECT_EQ(sum->type.class_name(), "ROOT::Math::PtEtaPhiMVector");
  expect_members(sum, {-0x1.4da1136af85c1p+5, -0x1.3001788242a32p+5, 0x1.e4d967a27a0dcp+3,
                       0x1.b09ea4397d6cp+6, 0x1.6c14a47bb069fp+6, 0x1.c35cc08fb08aap+5, 0x1.ac5a7cd844b7dp+6,
                       0x1.a1d0e254d1ccbp+6, -0x1.338908ad9a25p+1, 0x1.4ef5d532c4a76p+0, 0x1.0fca57ceb1c9cp-2,
                       0x1.20ce4a0a667fap-3, 0x1.30314f6b68ad1p+0});
  const auto difference = result_of("operator-", {vector_b(), vector_c()});
  EXPECT_EQ(difference->type.class_name(), "ROOT::Math::PtEtaPhiEVector");
  expect_close(member(difference, "M"), 0x1.224eccb0a6292p+5);
  const auto mixed = result_of("operator+", {vector_d(), vector_a()});
  EXPECT_EQ(mixed->type.class_name(), "ROOT::Math::PxPyPzMVector");
  expect_close(member(mixed, "M"), 0x1.5b39788200901p+3);
}

TEST(Vectors, Scale) {
  const auto minus = result_of("unary-", {vector_a()});
  expect_close(member(minus, "Px"), 0x1.0aafc4d76a149p+4);
  expect_close(member(minus, "E"), 0x1.813d4872fad8p+5);
  const auto scaled = result_of("operator*", {make_constant(1, -2), vector_b()});
  expect_close(member(scaled, "Px"), 0x1.909261fe86a39p+5);
  expect_close(member(scaled, "E"), -120.);
  EXPECT_EQ(member(result_of("operator/", {vector_c(), make_constant(1, 2.F)}), "E"), 2);
  EXPECT_EQ(*result_of("operator*", {vector_a(), vector_b()})->as<double>(),
            *result_of(".Dot", {vector_a(), vector_b()})->as<double>());
  EXPECT_EQ(why_not("operator/", {vector_a(), vector_b()}),
            "is not defined for ROOT::Math::PtEtaPhiMVector and ROOT::Math::PtEtaPhiEVector");
}

TEST(Vectors, Compare) {
  EXPECT_TRUE(*result_of("operator==", {vector_a(), vector_a()})->as<bool>());
  EXPECT_FALSE(*result_of("operator!=", {vector_a(), vector_a()})->as<bool>());
  EXPECT_EQ(why_not("operator==", {vector_a(), vector_b()}), "needs two vectors of one class");
}

TEST(Vectors, AnswerTogether) {
  const auto of = [](const char* name, const ValuesPtr& a, const ValuesPtr& b) {
    return *result_of(std::string("ROOT::Math::VectorUtil::") + name, {a, b})->as<double>();
  };
  expect_close(of("DeltaR", vector_a(), vector_b()), 0x1.017ff83f7fc8p+1);
  expect_close(of("DeltaPhi", vector_a(), vector_b()), -0x1.bc095777a5dp-3);
  expect_close(of("Angle", vector_a(), vector_c()), 0x1.6c01209aec04ap-1);
  expect_close(of("InvariantMass", vector_a(), vector_b()), 0x1.6c14a47bb069fp+6);
  expect_close(*result_of("InvariantMass", {vector_a(), vector_b()})->as<double>(), 0x1.6c14a47bb069fp+6);
  EXPECT_EQ(*result_of(".Dot", {vector_c(), vector_c()})->as<double>(), -4.75);
}

TEST(Vectors, BoostToRest) {
  const auto beta = result_of(".BoostToCM", {vector_d()});
  EXPECT_EQ(beta->type.class_name(), "ROOT::Math::XYZVector");
  const auto at_rest = result_of("ROOT::Math::VectorUtil::boost", {vector_d(), beta});
  EXPECT_NEAR(member(at_rest, "P"), 0, 1e-14);
  EXPECT_NEAR(member(at_rest, "M"), 1, 1e-13);
  expect_close(member(result_of(".BoostVector", {vector_d()}), "X"), -member(beta, "X"));
  const auto too_fast = result_of("ROOT::Math::VectorUtil::boost", {vector_d(), space_vector(1, 1, 0)});
  EXPECT_EQ(member(too_fast, "E"), 0);
}

TEST(Vectors, InSpace) {
  const auto v = space_vector(1, 2, 2);
  EXPECT_EQ(member(v, "R"), 3);
  EXPECT_EQ(member(v, "Mag2"), 9);
  const auto cross = result_of(".Cross", {v, space_vector(0, 0, 1)});
  EXPECT_EQ(member(cross, "X"), 2);
  EXPECT_EQ(member(cross, "Y"), -1);
  EXPECT_EQ(member(cross, "Z"), 0);
  expect_close(member(result_of(".Unit", {v}), "R"), 1.);
  EXPECT_EQ(*result_of(".Dot", {v, v})->as<double>(), 9);
  EXPECT_EQ(member(v, "CosTheta"), 2. / 3);
  EXPECT_EQ(member(space_vector(0, 0, 0), "CosTheta"), 1);
  EXPECT_EQ(*result_of(".Angle", {v, space_vector(2, 4, 4)})->as<double>(), 0);
  EXPECT_EQ(*result_of(".Angle", {v, space_vector(0, 0, 0)})->as<double>(), 0);
  EXPECT_THAT(why_not(".Mt", {v}), HasSubstr("has no such member"));
  EXPECT_EQ(member(v, "Pt"), member(v, "Rho"));
  const auto up = result_of("ROOT::Math::VectorUtil::PerpVector", {v, space_vector(0, 0, 7)});
  EXPECT_EQ(member(up, "Y"), 2);
  EXPECT_EQ(member(up, "Z"), 0);
  EXPECT_EQ(why_not("ROOT::Math::VectorUtil::boostX", {v, make_constant(1, 0.5)}),
            "needs a four-vector and a number");
  EXPECT_EQ(why_not("operator+", {v, vector_a()}), "needs two four-vectors or two vectors in space");
}

TEST(Vectors, ConvertBetweenCoordinates) {
  const auto c = result_of("ROOT::Math::PxPyPzEVector", {vector_a()});
  expect_close(member(c, "Px"), member(vector_a(), "Px"));
  expect_close(member(result_of("ROOT::Math::PtEtaPhiMVector", {vector_d()}), "Eta"),
               member(vector_d(), "Eta"));
  EXPECT_EQ(
      member(result_of("ROOT::Math::LorentzVector", {vector_a()}, {"ROOT::Math::PxPyPzM4D<double>"}), "M"),
      0.105);
  EXPECT_EQ(member(result_of("ROOT::Math::PtEtaPhiMVector", {}), "E"), 0);
}

TEST(Vectors, KeepNegativeMassesPhysical) {
  EXPECT_EQ(member(vector_of("PxPyPzMVector", {3, 0, 4, -100}), "M"), -5);
  EXPECT_EQ(member(vector_of("PxPyPzMVector", {3, 0, 4, -2}), "M"), -2);
  EXPECT_EQ(member(vector_of("PtEtaPhiMVector", {3, 0, 0, -100}), "M"), -3);
}

// ---- Lists of vectors

TEST(VectorLists, AreMadeOfLists) {
  const auto all = random_particles(61);
  const auto vectors = result_of("Construct", arguments_of(all), {"ROOT::Math::PtEtaPhiMVector"});
  EXPECT_EQ(vectors->type.name(), "std::vector<ROOT::Math::PtEtaPhiMVector>");
  EXPECT_EQ(rows_of<std::vector<double>>(*result_of(".Pt", {vectors})), all.pt);
  EXPECT_EQ(why_not("Construct", arguments_of(all), {"Unheard"}), "knows no class Unheard");
  EXPECT_EQ(why_not("Construct", {make_constant(1, 1.)}, {"ROOT::Math::PtEtaPhiMVector"}),
            "needs lists, got double");
}

TEST(VectorLists, SumUp) {
  const auto all = random_particles(62);
  const auto vectors = result_of("Construct", arguments_of(all), {"ROOT::Math::PxPyPzEVector"});
  const auto sum = result_of("Sum", {vectors, result_of("ROOT::Math::PxPyPzEVector", {})});
  const auto energies = rows_of<double>(*result_of(".E", {sum}));
  const auto expected = rows_of<double>(*result_of("Sum", {values_of(all.mass)}));
  EXPECT_EQ(energies, expected);
  const auto polar = result_of("Construct", arguments_of(all), {"ROOT::Math::PtEtaPhiMVector"});
  const auto masses = rows_of<double>(*result_of(".M", {result_of("Sum", {polar})}));
  const auto direct = rows_of<double>(*result_of("InvariantMass", arguments_of(all)));
  for (std::size_t row = 0; row < masses.size(); ++row)
    if (all.pt[row].size() > 1) {
      EXPECT_NEAR(masses[row], direct[row], 1e-6 * (1 + direct[row])) << row;
    }
  EXPECT_THAT(why_not("Sum", {vectors, make_constant(1, 0.)}),
              HasSubstr("needs a start value of the items' class"));
}

TEST(VectorLists, CombineWithSingleVectors) {
  const auto all = random_particles(63);
  const std::size_t rows = all.pt.size();
  const auto vectors = result_of("Construct", arguments_of(all), {"ROOT::Math::PxPyPzEVector"});
  std::vector<double> numbers(rows);
  for (std::size_t row = 0; row < rows; ++row) numbers[row] = static_cast<double>(row);
  const auto single = result_of("ROOT::Math::PxPyPzEVector", Arguments(4, values_of(numbers)));
  const auto sums =
      rows_of<std::vector<double>>(*result_of(".Px", {result_of("operator+", {vectors, single})}));
  const auto scaled = rows_of<std::vector<double>>(
      *result_of(".Px", {result_of("operator*", {values_of(numbers), vectors})}));
  for (std::size_t row = 0; row < rows; ++row)
    for (std::size_t i = 0; i < all.pt[row].size(); ++i) {
      EXPECT_EQ(sums[row][i], all.pt[row][i] + numbers[row]);
      EXPECT_EQ(scaled[row][i], all.pt[row][i] * numbers[row]);
    }
  const auto mask = result_of("operator[]", {vectors, values_of(all.pt)});  // all pt are positive
  EXPECT_EQ(rows_of<std::vector<double>>(*result_of(".Px", {mask})), all.pt);
}

// Vectors from files: their coordinates may be floats, and need not be in fCoordinates.
TEST(VectorLists, ComeFromFilesToo) {
  const ValueType type = ValueType::record("Vector", {{"fX", ElementType::float32},
                                                      {"fY", ElementType::float32},
                                                      {"fZ", ElementType::float32},
                                                      {"fT", ElementType::float32}});
  const auto floats = [](float a, float b) { return values_of(std::vector<float>{a, b}); };
  const auto vectors = make_record(type, 2, {floats(3, 0), floats(4, 1), floats(0, 0), floats(13, 2)});
  EXPECT_THAT(rows_of<float>(*result_of(".M", {vectors})), ElementsAre(12.F, std::sqrt(3.F)));
  EXPECT_THAT(rows_of<float>(*result_of(".Pt", {vectors})), ElementsAre(5.F, 1.F));
  const auto sum = result_of("operator+", {vectors, vectors});
  EXPECT_EQ(sum->type, type);
  EXPECT_THAT(rows_of<float>(*result_of(".E", {sum})), ElementsAre(26.F, 4.F));
  EXPECT_EQ(why_not(".Pt", {make_record(ValueType::record("Hit", {{"x", ElementType::float32}}), 1,
                                        {floats(1, 1)})}),
            "needs a vector, got Hit");
}

TEST(VectorLists, MayBeThoseOfTLorentzVector) {
  const auto doubles = [](double a, double b) { return values_of(std::vector<double>{a, b}); };
  const ValueType space = ValueType::record(
      "", {{"fX", ElementType::float64}, {"fY", ElementType::float64}, {"fZ", ElementType::float64}});
  const ValueType plain = ValueType::record("", {{"fP", space}, {"fE", ElementType::float64}});
  const ValueType object = ValueType::record("", {{"fUniqueID", ElementType::uint32},
                                                  {"fBits", ElementType::uint32},
                                                  {"fP", space},
                                                  {"fE", ElementType::float64}});
  const auto p = make_record(space, 2, {doubles(3, 0), doubles(4, 1), doubles(12, 0)});
  const auto bits = values_of(std::vector<std::uint32_t>{1, 2});
  for (const auto& vectors : {make_record(plain, 2, {p, doubles(14, 2)}),
                              make_record(object, 2, {bits, bits, p, doubles(14, 2)})}) {
    EXPECT_THAT(rows_of<double>(*result_of(".M", {vectors})), ElementsAre(std::sqrt(27.), std::sqrt(3.)));
    EXPECT_THAT(rows_of<double>(*result_of(".Pt", {vectors})), ElementsAre(5., 1.));
    EXPECT_THAT(rows_of<double>(*result_of(".Rho", {vectors})), ElementsAre(13., 1.));
    const auto sum = result_of("operator+", {vectors, vectors});
    EXPECT_EQ(sum->type, vectors->type);
    EXPECT_THAT(rows_of<double>(*result_of(".E", {sum})), ElementsAre(28., 4.));
    EXPECT_THAT(rows_of<double>(*result_of(".Py", {result_of("operator*", {vectors, doubles(2, 3)})})),
                ElementsAre(8., 3.));
  }
  EXPECT_EQ(why_not(".Pt", {make_record(ValueType::record("Hit", {{"fP", space}}), 2, {p})}),
            "needs a vector, got Hit");
}

TEST(VectorLists, NeedTheSameSizes) {
  const auto a = result_of("Construct", Arguments(4, values_of(Lists<double>{{1}, {1, 2}})),
                           {"ROOT::Math::PxPyPzEVector"});
  const auto b =
      result_of("Construct", Arguments(4, values_of(Lists<double>{{1}, {1}})), {"ROOT::Math::PxPyPzEVector"});
  EXPECT_EQ(problem_of("operator+", {a, b}), "in entry 1001, the lists of a sum have 2 and 1 items");
}

}  // namespace
}  // namespace colonnade::frame
