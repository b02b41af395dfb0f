"""Expressions that RDataFrame and Colonnade must agree on, over the columns of frame_samples.nano().

EXACT are equal to the last bit; in CLOSE the order of summation, or the libraries' own functions, may differ in the
last bits. All are for entries with at least two muons.
"""

from __future__ import annotations

CUT = "nMuon >= 2"

# Functions as analyses declare them.
DECLARED = r"""
#include <ROOT/RVec.hxx>
#include <TLorentzVector.h>
using namespace ROOT::VecOps;
using numbers = const RVec<float>&;
typedef ROOT::Math::PtEtaPhiMVector OneMuon;
const float kLeast = 20;
bool isSimulation = true;

float hardestAbove(numbers pt, float least = kLeast) {
  float found = -1;
  for (size_t i = 0; i < pt.size(); ++i) {
    if (pt[i] < least) continue;
    if (pt[i] > found) found = pt[i];
  }
  return found;
}
// The pair of other charges whose sum is closest to a value, and the others.
RVec<RVec<size_t>> pairAndRest(numbers pt, const RVec<int> &charge) {
  RVec<RVec<size_t>> places(2);
  places[0].reserve(2);
  float least = 1e9;
  for (size_t i = 0; i < pt.size(); i++)
    for (size_t j = i + 1; j < pt.size(); j++) {
      if (charge[i] * charge[j] > 0) continue;
      const auto off = std::abs(pt[i] + pt[j] - 60.f);
      if (off >= least) continue;
      least = off;
      places[0].clear();
      places[0].push_back(i);
      places[0].emplace_back(j);
    }
  for (size_t i = 0; i < pt.size(); i++) {
    bool isUsed = false;
    for (auto place : places[0])
      if (place == i) { isUsed = true; break; }
    if (!isUsed) places[1].push_back(i);
  }
  return places;
}
float leastDistance(RVec<float> &eta, RVec<float> &phi) {
  float least = 99;
  for (int i = 0; i < (int)eta.size(); i++)
    for (int j = 0; j < i; j++) {
      float turn = phi[i] - phi[j];
      while (turn > M_PI) turn -= 2 * M_PI;
      while (turn <= -M_PI) turn += 2 * M_PI;
      const float off = eta[i] - eta[j];
      least = std::min(least, off * off + turn * turn);
    }
  return least;
}
template <typename T>
RVec<T> firstOnes(const RVec<T>& all, std::size_t count) {
  RVec<T> first;
  for (std::size_t i = 0; i < std::min(count, all.size()); ++i) first.push_back(all[i]);
  return first;
}
auto isEven = [](int n) { return n % 2 == 0; };
namespace tools {
inline double twice(double x) { return 2 * x; }
double thrice(double x) { return twice(x) + x; }
}
float scaled(float x) {
  if (isSimulation && x > 30) return 1.5f * x;
  else if (x > 20) { return x; }
  return 0;
}
float scaled(float x, float by) { return x * by; }
RVec<float> descending(RVec<float> v) {
  std::sort(v.begin(), v.end(), std::greater<float>());
  return v;
}
RVec<float> byDistance(RVec<float> v) {
  std::sort(v.begin(), v.end(), [](float a, float b) { return std::abs(a - 25) < std::abs(b - 25); });
  return v;
}
RVec<float> halved(RVec<float> v) {
  for (auto& x : v) {
    x /= 2;
    if (x > 20) x -= 1;
  }
  return v;
}
RVec<int> chain(int n) {
  RVec<int> steps;
  do {
    steps.push_back(n);
    n = n % 2 == 0 ? n / 2 : 3 * n + 1;
  } while (n > 1 && steps.size() < 30);
  return steps;
}
float massOfAll(numbers pt, numbers eta, numbers phi, numbers mass) {
  OneMuon sum;
  for (size_t i = 0; i < pt.size(); i++) {
    OneMuon one(pt[i], eta[i], phi[i], mass[i]);
    sum += one;
  }
  return sum.M();
}
double massOfTwo(numbers pt, numbers eta, numbers phi, numbers mass) {
  TLorentzVector a, b;
  a.SetPtEtaPhiM(pt[0], eta[0], phi[0], mass[0]);
  b.SetPtEtaPhiM(pt[1], eta[1], phi[1], mass[1]);
  return (a + b).M() + a.DeltaR(b) + a.DeltaPhi(b) + b.Perp();
}
namespace tools {
static constexpr double kHalf = 0.5;
enum class Frame { lab, rest = 3 };
}
template <typename T> using Each = const RVec<T>&;
double anglesAtRest(Each<float> pt, Each<float> eta, Each<float> phi) {
  TLorentzVector a, b;
  a.SetPtEtaPhiM(pt[0], eta[0], phi[0], tools::kHalf);
  b.SetPtEtaPhiM(pt[1], eta[1], phi[1], tools::kHalf);
  const TLorentzVector both = a + b;
  const TVector3 boost = both.BoostVector();
  a.Boost(-boost);
  b.Boost(boost.X(), boost.Y(), boost.Z());
  return a.Angle(both.Vect()) + b.Vect().Angle(boost) + a.CosTheta() + boost.CosTheta();
}
float massOfCoordinates(float pt, float eta) {
  OneMuon one;
  one.SetCoordinates(pt, eta, 0.5, 3);
  return one.M();
}
template <typename T = int> RVec<T> places(size_t n) {
  RVec<T> made(n);
  std::iota(made.begin(), made.end(), 0);
  return made;
}
"""

EXACT = {
    # Arithmetic with C++ rules.
    "int_div": "nMuon / 2",
    "int_mod": "Muon_charge[0] % 2",
    "unsigned_wrap": "nMuon - 5",
    "mixed": "Muon_pt[0] / 2",
    "promote_bool": "(Muon_pt[0] > 20) + (Muon_pt[1] > 20)",
    "float_double": "Muon_pt[0] * 1.1",
    "float_float": "Muon_pt[0] * 1.1f",
    "shift": "nMuon << 3 | 1",
    "xor": "nMuon ^ 5",
    "minus_charge": "-Muon_charge",
    "compare_mixed": "Muon_charge[0] < nMuon",
    "ternary": "Muon_pt[0] > 20 ? 1 : 2.5",
    "ternary_int": "nMuon == 2 ? 7 : 8",
    "short_circuit": "nMuon > 4 && Muon_pt[4] > 10",
    "short_circuit_or": "nMuon < 5 || Muon_pt[4] > 10",
    "and_call": "Muon_charge && abs(Muon_eta) < 2.4 && Muon_pt > 10",
    "bits_of_call": "nMuon & std::abs(Muon_charge[0])",
    "precedence": "1 + 2 * nMuon - 6 / 4 % 3",
    "chained": "nMuon > 2 == true",
    "cast": "(int) Muon_pt[0] + int(Muon_eta[0]) + static_cast<int>(Muon_phi[0])",
    "cast_float": "(float) rdfentry_ / 3",
    "hex": "0x1F + 010",
    "entry": "rdfentry_",
    "statements": "auto a = Muon_pt[0]; auto b = Muon_pt[1]; return a * b;",
    "loop": "float s = 0; for (auto x : Muon_pt) s += x; return s;",
    "loop_by_index": "int n = 0; for (size_t i = 0; i < Muon_pt.size(); ++i) { if (Muon_pt[i] < 10) continue;"
    " if (Muon_eta[i] > 2) break; n += Muon_charge[i]; } return n;",
    "loop_in_loop": "ROOT::RVecI r; for (int i = 0; i < nMuon; i++) for (int j = 0; j < i; j++)"
    " if (Muon_charge[i] == Muon_charge[j]) r.push_back(10 * i + j); return r;",
    "loop_that_returns": "for (auto x : Muon_pt) { if (x > 40) return x; } return -1.f;",
    "loop_over_changes": "std::vector<double> v(nMuon, 0.5); for (size_t i = 1; i < v.size(); i++)"
    " v[i] = v[i - 1] * Muon_charge[i]; return v;",
    "size": "Muon_pt.size()",
    "size_sum": "Muon_pt.size() + Electron_pt.size()",
    "empty": "Electron_pt.empty()",
    # Lists.
    "mask": "Muon_pt[abs(Muon_eta) < 2.4 && Muon_pt > 20]",
    "mask_sum": "Sum(Muon_charge[Muon_pt > 20])",
    "compare": "Muon_pt > 20",
    "not_list": "!(Muon_pt > 20)",
    "list_scalar": "Muon_pt * 2",
    "list_double": "Muon_pt * 2.5",
    "list_list": "Muon_pt + Muon_eta * Muon_phi",
    "list_div": "1 / Muon_pt",
    "abs": "abs(Muon_charge)",
    "any": "Any(Muon_pt > 50)",
    "all": "All(Muon_pt > 5)",
    "min": "Min(Muon_pt)",
    "max": "Max(Muon_pt)",
    "argmin": "ArgMin(Muon_pt)",
    "argmax": "ArgMax(Muon_eta)",
    "nonzero": "Nonzero(Muon_charge > 0)",
    # Lambdas. Where RDataFrame sees a return it takes the text for a body, so these have one of their own, too.
    "map": "return Map(Muon_pt, [](float v) { return v * 2; });",
    "map_auto": "return ROOT::VecOps::Map(Muon_pt, [](const auto& v) { return v > 20 ? 1 : 0; });",
    "map_two": "return Map(Muon_pt, Muon_eta, [](float a, double b) { return a * b; });",
    "map_captured": "return Map(Muon_pt, [&](float v) { return v - Muon_pt[0]; });",
    "map_entry": "return Map(Muon_charge, [=](int c) { return c * (int) nMuon; });",
    "map_statements": "return Map(Muon_pt, [](float v) -> int { if (v > 30) return 2; auto w = v; return w > 9; });",
    "map_short_circuit": "return Map(Muon_charge, [&](int c) { return c > 0 && Muon_pt[c] > 20; });",
    "map_nested": "return Map(Muon_pt, [&](float v) { return Sum(Map(Muon_pt, [&](float w) { return w > v; })); });",
    "map_of_map": "return Map(Map(Muon_pt, [](float v) { return v > 10; }), [](bool b) { return b + 1; });",
    "filter": "return Filter(Muon_pt, [](float v) { return v > 20; });",
    "filter_number": "return Sum(ROOT::VecOps::Filter(Muon_charge, [](int c) { return c + 1; }));",
    "sort_by": "return Sort(Muon_pt, [](float a, float b) { return a > b; });",
    "sort_captured": "return StableSort(Muon_pt, [&](auto a, auto b)"
    " { return abs(a - Muon_pt[1]) < abs(b - Muon_pt[1]); });",
    "argsort_by": "return Argsort(Muon_pt, [](float a, float b) { return a > b; });",
    "argsort_stable": "return StableArgsort(Muon_charge, [](int a, int b) { return a > b; });",
    "argsort_places": "return StableArgsort(Enumerate(Muon_eta), [&](auto i, auto j)"
    " { return Muon_eta[i] < Muon_eta[j]; });",
    "clamp": "std::clamp(Muon_pt[0], 10.f, 30.f)",
    "clamp_int": "std::clamp((int) nMuon, 1, 2)",
    "to_string": "std::to_string(nMuon).size() + std::to_string(Muon_pt[0]).size()",
    "to_string_value": "std::to_string(-Muon_pt[0]) == std::to_string(Muon_pt[0])",
    "size_function": "std::size(Muon_pt) + size(Electron_pt)",
    "npos": 'std::to_string(nMuon).find("7") == std::string::npos',
    "sort": "Sort(Muon_pt)",
    "argsort": "Argsort(Muon_pt)",
    "stable_argsort": "StableArgsort(Muon_charge)",
    "reverse": "Reverse(Muon_pt)",
    "take_first": "Take(Muon_pt, 2)",
    "take_last": "Take(Muon_pt, -2)",
    "take_indices": "Take(Muon_pt, Argsort(Muon_eta))",
    "take_default": "Take(Electron_pt, 3, -1.f)",
    "drop": "Drop(Muon_pt, Nonzero(Muon_charge > 0))",
    "where": "Where(Muon_charge > 0, Muon_pt, Muon_eta)",
    "where_scalar": "Where(Muon_charge > 0, Muon_pt, -1.f)",
    "where_scalars": "Where(Muon_charge > 0, 1, 0)",
    "concatenate": "Concatenate(Muon_pt, Electron_pt)",
    "intersect": "Intersect(Muon_charge, Electron_charge)",
    "combinations": "Combinations(Muon_pt, 2)",
    "combinations_two": "Combinations(Muon_pt, Electron_pt)",
    "combinations_sizes": "ROOT::VecOps::Combinations(2, 3)",
    "triples": "Combinations(Concatenate(Muon_pt, Muon_pt), 3)",
    "range": "ROOT::VecOps::Range(nMuon)",
    "range_two": "ROOT::VecOps::Range(1, nMuon)",
    "enumerate": "Enumerate(Muon_pt)",
    "sum_int": "Sum(Muon_charge)",
    "sum_bool": "Sum(Muon_pt > 10)",
    "sum_float": "Sum(Muon_pt)",
    "sum_start": "Sum(Muon_pt, 0.f)",
    "dot": "Dot(Muon_pt, Muon_eta)",
    "product": "Product(Muon_charge)",
    "fmod": "fmod(Muon_pt[0], 3.f)",
    "floor": "floor(Muon_pt)",
    "min_max": "std::max(Muon_pt[0], Muon_pt[1]) - std::min(Muon_eta[0], Muon_eta[1])",
    "tmath_abs": "TMath::Abs(Muon_eta[0])",
    "tmath_max": "TMath::Max(Muon_charge[0], Muon_charge[1])",
    "pi": "TMath::Pi() + M_PI",
}

# Of what is declared.
CALLS = {
    "default": "hardestAbove(Muon_pt)",
    "argument": "hardestAbove(Muon_pt, 40)",
    "nested_lists": "pairAndRest(Muon_pt, Muon_charge)[0]",
    "rest": "pairAndRest(Muon_pt, Muon_charge)[1]",
    "while": "leastDistance(Muon_eta, Muon_phi)",
    "template": "firstOnes(Muon_pt, 2)",
    "other_template": "firstOnes(Muon_charge, 3)",
    "lambda": "isEven(nMuon) + 1",
    "namespace": "tools::thrice(Muon_pt[0])",
    "overload": "scaled(Muon_pt[0]) + scaled(Muon_pt[1], 3)",
    "sort": "descending(Muon_eta)",
    "sort_by": "byDistance(Muon_pt)",
    "references": "halved(Muon_pt)",
    "do": "chain(nMuon + 5)",
    "vectors": "massOfAll(Muon_pt, Muon_eta, Muon_phi, Muon_mass)",
    "old_vectors": "massOfTwo(Muon_pt, Muon_eta, Muon_phi, Muon_mass)",
    "at_rest": "anglesAtRest(Muon_pt, Muon_eta, Muon_phi)",
    "coordinates": "massOfCoordinates(Muon_pt[0], Muon_eta[0])",
    "preset_template": "places(nMuon)",
    "names": "tools::kHalf + static_cast<int>(tools::Frame::rest)",
    "constant": "isSimulation ? kLeast : 0",
}

CLOSE = {
    "mean": "Mean(Muon_pt)",
    "mean_empty": "Mean(Electron_pt)",
    "var": "Var(Muon_pt)",
    "stddev": "StdDev(Muon_pt)",
    "sqrt": "sqrt(Muon_pt[0]*Muon_pt[0] + Muon_dz[0]*Muon_dz[0])",
    "pow": "pow(Muon_pt, 2)",
    "pow_scalar": "pow(Muon_pt[0], 2) + std::pow(Muon_pt[1], 0.5)",
    "exp_log": "log(1 + exp(Muon_eta)) - log10(Muon_pt)",
    "trigonometry": "sin(Muon_phi) * cos(Muon_phi) + tan(Muon_phi[0]) + atan2(Muon_eta, Muon_phi)",
    "hyperbolic": "Muon_pt * sinh(Muon_eta) + cosh(Muon_eta) + tanh(Muon_eta)",
    "hypot": "std::hypot(Muon_dxy[0], Muon_dz[0])",
    "erf": "erf(Muon_eta) + std::erfc(Muon_eta[0])",
    "tmath": "TMath::Sqrt(Muon_pt[0]) + TMath::Power(Muon_pt[0], 3) + TMath::Exp(-Muon_pt[0] / 10)"
    " + TMath::ATan2(1., Muon_pt[0])",
    "landau": "TMath::Landau(Muon_eta[0], 0.3, 0.7) + TMath::LandauI(Muon_eta[0])",
    "bessel": "TMath::BesselI0(Muon_eta[0]) + TMath::BesselJ1(Muon_pt[0]) + TMath::BesselK0(Muon_pt[0] / 10)",
    "struve": "TMath::StruveH0(Muon_pt[0] / 10) + TMath::StruveL1(std::abs(Muon_eta[0]))",
    "quantiles": "TMath::ChisquareQuantile(0.3, 4.) + ROOT::Math::gamma_quantile(0.2, 2.5, Muon_pt[0])"
    " + ROOT::Math::tdistribution_quantile(0.9, nMuon + 2.)",
    "densities": "ROOT::Math::bigaussian_pdf(Muon_eta[0], Muon_phi[0], 1.5, 0.7, 0.3)"
    " + ROOT::Math::negative_binomial_pdf(nMuon, 0.4, 3.)",
    "crystalball": "ROOT::Math::crystalball_cdf(Muon_eta[0], 1.2, 3, 0.8)",
    "delta_phi": "DeltaPhi(Muon_phi, Muon_phi[0])",
    "delta_phi_scalars": "ROOT::VecOps::DeltaPhi(Muon_phi[0], Muon_phi[1])",
    "delta_r": "DeltaR(Take(Muon_eta, 2), Take(Muon_eta, -2), Take(Muon_phi, 2), Take(Muon_phi, -2))",
    "delta_r2": "DeltaR2(Take(Muon_eta, 2), Take(Muon_eta, -2), Take(Muon_phi, 2), Take(Muon_phi, -2))",
    "invariant_mass": "InvariantMass(Muon_pt, Muon_eta, Muon_phi, Muon_mass)",
    "invariant_masses": "InvariantMasses(Take(Muon_pt, 2), Take(Muon_eta, 2), Take(Muon_phi, 2), Take(Muon_mass, 2),"
    " Take(Muon_pt, -2), Take(Muon_eta, -2), Take(Muon_phi, -2), Take(Muon_mass, -2))",
    "four_vector": "(ROOT::Math::PtEtaPhiMVector(Muon_pt[0], Muon_eta[0], Muon_phi[0], Muon_mass[0])"
    " + ROOT::Math::PtEtaPhiMVector(Muon_pt[1], Muon_eta[1], Muon_phi[1], Muon_mass[1])).M()",
    "four_vector_pt": "(ROOT::Math::PtEtaPhiMVector(Muon_pt[0], Muon_eta[0], Muon_phi[0], Muon_mass[0])"
    " + ROOT::Math::PtEtaPhiMVector(Muon_pt[1], Muon_eta[1], Muon_phi[1], Muon_mass[1])).Pt()",
    "four_vector_e": "ROOT::Math::PxPyPzEVector(1., 2., Muon_pt[0], 100.).Eta()",
}
