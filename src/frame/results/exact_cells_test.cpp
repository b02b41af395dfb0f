// Exact sums per bin: the bits of the true sum, for any order and grouping.
#include "frame/results/exact_cells.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "base/test_errors.h"
#include "frame/results/moments.h"

namespace colonnade::frame {
namespace {

constexpr std::size_t cell_bins = 5;
using CellSums = ExactCells<2>;

struct CellTerm {
  std::uint32_t bin;
  std::array<double, 2> numbers;
};

// Numbers as in analyses, of very different sizes, with carries, around the limits of doubles, and special
// values.
double random_cell_number(std::mt19937_64& random, int kind) {
  const double x = std::uniform_real_distribution<double>(-1, 1)(random);
  const int exponent = static_cast<int>(random() % 2000) - 1000;
  switch (kind) {
    case 0:
      return 1 + x / 10;
    case 1:
      return std::ldexp(x, exponent / 20);
    case 2:
      return std::ldexp(x, exponent);
    case 3:
      return 1e300 * (1 + x / 10);
    case 4:
      return std::ldexp(x, -1060 + static_cast<int>(random() % 30));
    case 5:
      return random() % 3 == 0 ? 0.0 : random() % 2 == 0 ? x : -x;
    case 6:
      return random() % 500 == 0 ? std::numeric_limits<double>::infinity() : x;
    default:
      return random() % 500 == 0 ? std::nan("") : random() % 400 == 0 ? -HUGE_VAL : std::ldexp(x, 1023);
  }
}

std::vector<CellTerm> random_cell_terms(std::mt19937_64& random, int kind) {
  std::vector<CellTerm> terms(1 + random() % 3000);
  for (CellTerm& term : terms)
    term = {static_cast<std::uint32_t>(random() % cell_bins),
            {random_cell_number(random, kind), random_cell_number(random, random() % 3 == 0 ? 0 : kind)}};
  return terms;
}

void add_cells(CellSums& to, std::span<const CellTerm> terms, std::size_t chunk) {
  for (std::size_t first = 0; first < terms.size(); first += chunk) {
    const auto some = terms.subspan(first, std::min(chunk, terms.size() - first));
    std::vector<std::uint32_t> places;
    for (const CellTerm& term : some) places.push_back(term.bin);
    to.add(places.data(), some.size(), [&](std::size_t i) { return some[i].numbers; });
  }
}

std::vector<std::uint64_t> cell_bits(const CellSums& sums) {
  std::vector<std::uint64_t> bits;
  for (std::size_t bin = 0; bin < cell_bins; ++bin)
    for (std::size_t k = 0; k < 2; ++k) bits.push_back(std::bit_cast<std::uint64_t>(sums.value(bin, k)));
  return bits;
}

std::vector<std::byte> saved_cells(const CellSums& sums) {
  SavedWriter to("sums");
  sums.save(to);
  return to.take();
}

CellSums loaded_cells(std::span<const std::byte> bytes) {
  SavedReader from(bytes, "sums");
  CellSums sums(cell_bins);
  sums.load(from, 0, 0);
  from.done();
  return sums;
}

TEST(ExactCells, AreTheSameInAnyOrderAndGrouping) {
  std::mt19937_64 random(7);
  for (int turn = 0; turn < 160; ++turn) {
    const int kind = turn % 8;
    std::vector<CellTerm> terms = random_cell_terms(random, kind);
    std::array<std::array<ExactSum<1>, 2>, cell_bins> expected;
    for (const CellTerm& term : terms)
      for (std::size_t k = 0; k < 2; ++k) expected[term.bin][k].add(term.numbers[k]);
    CellSums whole(cell_bins);
    add_cells(whole, terms, 1024);
    for (std::size_t bin = 0; bin < cell_bins; ++bin)
      for (std::size_t k = 0; k < 2; ++k)
        EXPECT_EQ(std::bit_cast<std::uint64_t>(whole.value(bin, k)),
                  std::bit_cast<std::uint64_t>(expected[bin][k].value()))
            << kind;

    // Shuffled, cut anywhere, some parts serialised, merged in any tree.
    std::ranges::shuffle(terms, random);
    std::vector<CellSums> parts;
    for (std::size_t first = 0; first < terms.size();) {
      const std::size_t count = std::min(1 + random() % 900, terms.size() - first);
      CellSums part(cell_bins);
      add_cells(part, std::span(terms).subspan(first, count), 1 + random() % 300);
      parts.push_back(random() % 2 == 0 ? loaded_cells(saved_cells(part)) : std::move(part));
      first += count;
    }
    while (parts.size() > 1) {
      const std::size_t at = random() % (parts.size() - 1);
      if (random() % 2 == 0)
        parts[at].add(std::move(parts[at + 1]));
      else
        parts[at].add(static_cast<const CellSums&>(parts[at + 1]));
      parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(at) + 1);
    }
    EXPECT_EQ(cell_bits(parts.front()), cell_bits(whole)) << kind;
    EXPECT_EQ(saved_cells(parts.front()), saved_cells(whole)) << kind;
    EXPECT_EQ(cell_bits(loaded_cells(saved_cells(whole))), cell_bits(whole)) << kind;
  }
}

// More terms of similar sizes than two doubles hold before a drain, then some that do not fit.
TEST(ExactCells, AreDrainedInTime) {
  std::mt19937_64 random(17);
  std::vector<CellTerm> terms(300'000);
  std::array<std::array<ExactSum<1>, 2>, cell_bins> expected;
  for (std::size_t i = 0; i < terms.size(); ++i) {
    // All in one bin and as large as possible, so that the doubles reach their limit.
    const double x = i % 100'000 == 99'999 ? 1e-30
                     : i < 100             ? 1
                                           : 15.999999999 + 1e-15 * static_cast<double>(random() % 7);
    terms[i] = {static_cast<std::uint32_t>(i % 50 == 0 ? random() % cell_bins : 2),
                {x, random_cell_number(random, 0)}};
    for (std::size_t k = 0; k < 2; ++k) expected[terms[i].bin][k].add(terms[i].numbers[k]);
  }
  CellSums whole(cell_bins);
  add_cells(whole, terms, 1000);
  for (std::size_t bin = 0; bin < cell_bins; ++bin)
    for (std::size_t k = 0; k < 2; ++k) EXPECT_EQ(whole.value(bin, k), expected[bin][k].value());
  EXPECT_EQ(cell_bits(loaded_cells(saved_cells(whole))), cell_bits(whole));
}

TEST(ExactCells, HoldWhatIntegersDoNot) {
  // Carries: more of the largest terms than the integers can hold.
  CellSums sums(1);
  const std::vector<std::uint32_t> places(1024, 0);
  const double large = std::ldexp(1, 22);
  sums.add(places.data(), 1, [](std::size_t) { return std::array{1.0, 1.0}; });
  for (int i = 0; i < 100; ++i)
    sums.add(places.data(), 1024, [&](std::size_t) { return std::array{large, -large}; });
  EXPECT_EQ(sums.value(0, 0), 1 + 102'400 * large);
  EXPECT_EQ(sums.value(0, 1), 1 - 102'400 * large);
}

TEST(ExactCells, RefuseBytesThatFitNowhere) {
  CellSums sums(cell_bins);
  add_cells(sums, std::vector<CellTerm>{{1, {2, 3}}, {4, {5, 6}}}, 10);
  const auto good = saved_cells(sums);
  for (std::size_t size = 0; size < good.size(); ++size)
    EXPECT_THROW(loaded_cells(std::span(good).first(size)), Error);
  std::mt19937_64 random(3);
  for (int turn = 0; turn < 3000; ++turn) {
    auto bad = good;
    bad[random() % bad.size()] = static_cast<std::byte>(random());
    try {
      static_cast<void>(cell_bits(loaded_cells(bad)));
    } catch (const Error&) {
    }
  }
}

TEST(MomentSums, AreExactWhateverTheChunks) {
  std::mt19937_64 random(11);
  const AxisRange all{-HUGE_VAL, HUGE_VAL};
  for (int turn = 0; turn < 80; ++turn) {
    std::vector<double> x(1 + random() % 1024), w(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
      x[i] = random_cell_number(random, turn % 8);
      w[i] = random_cell_number(random, turn / 8 % 8);
    }
    ExactPair to[2], expected[2];
    add_values(all, x.data(), x.size(), to[0]);
    // Twice: the second chunk is sliced by the maximum of the first.
    for (int time = 0; time < 2; ++time) add_weighted(all, x.data(), w.data(), x.size(), to[1]);
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (std::isfinite(x[i]) || x[i] == -HUGE_VAL) expected[0].add(x[i], x[i] * x[i]);
      if (!(x[i] < HUGE_VAL)) continue;
      for (int time = 0; time < 2; ++time) expected[1].add(w[i] * x[i], w[i] * x[i] * x[i]);
    }
    for (int k = 0; k < 2; ++k) {
      EXPECT_EQ(to[k].first.settled(), expected[k].first.settled()) << turn;
      EXPECT_EQ(to[k].second.settled(), expected[k].second.settled()) << turn;
      EXPECT_EQ(to[k].first.special(), expected[k].first.special()) << turn;
      EXPECT_EQ(to[k].second.special(), expected[k].second.special()) << turn;
    }
  }
}

}  // namespace
}  // namespace colonnade::frame
