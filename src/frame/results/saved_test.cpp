// Saved results: damage causes an error, never a crash or excessive memory use.
#include "frame/results/saved.h"

#include <gtest/gtest.h>

#include "frame/results/test_results.h"

namespace colonnade::frame {
namespace {

struct Kind {
  ResultSpec spec;
  std::vector<ValuesPtr> columns;
};

std::vector<Kind> kinds() {
  const ValuesPtr x = column(normal_numbers(300, 1, 2));
  const ValuesPtr y = column(normal_numbers(300, 5, 2, 2));
  const std::string axes = R"("axes": [{"bins": 10, "low": -5, "high": 5}])";
  const ValuesPtr texts = string_column({"a", "", "xyz"});
  const ValuesPtr lists = list_column<std::int16_t>({{1}, {}, {2, 3}});
  return {{{"count", {}}, {}},
          {{"sum", {"x"}}, {x}},
          {{"sum", {"x"}}, {lists}},
          {{"min", {"x"}}, {x}},
          {{"mean", {"x"}}, {x}},
          {{"stddev", {"x"}}, {x}},
          {{"stats", {"x"}}, {x}},
          {{"stats", {"x", "y"}}, {x, y}},
          {{"histogram", {"x"}, "{" + axes + "}"}, {x}},
          {{"histogram", {"x", "y"}, "{" + axes + R"(, "weighted": true})"}, {x, y}},
          {{"profile", {"x", "y"}, "{" + axes + "}"}, {x, y}},
          {{"graph", {"x", "y"}}, {x, y}},
          {{"take", {"t", "l"}}, {texts, lists}},
          {{"display", {"t", "l"}}, {texts, lists}}};
}

TEST(Saved, EveryCutAndEveryChangedByteIsSurvived) {
  for (const Kind& kind : kinds()) {
    const auto result = Pass(kind.spec, kind.columns).accumulate();
    const std::vector<std::byte> saved = result->save();
    const auto fresh = [&] { return dynamic_cast<ResultAccumulator&>(*result).empty_copy(); };
    EXPECT_NO_THROW(fresh()->merge_saved(saved)) << kind.spec.kind;
    for (std::size_t size = 0; size < saved.size(); size += 1 + saved.size() / 100)
      EXPECT_THROW(fresh()->merge_saved(std::span(saved).first(size)), Error)
          << kind.spec.kind << " " << size;
    std::vector<std::byte> longer = saved;
    longer.push_back({});
    EXPECT_THROW(fresh()->merge_saved(longer), Error) << kind.spec.kind;
    for (std::size_t at = 0; at < saved.size(); at += 1 + saved.size() / 500) {
      std::vector<std::byte> changed = saved;
      changed[at] ^= std::byte{0x81};
      const auto target = fresh();
      try {
        target->merge_saved(changed);
        dynamic_cast<ResultAccumulator&>(*target).value();
      } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::format) << error.what();
      }
    }
  }
}

TEST(Saved, OfAnotherResult) {
  const ValuesPtr x = column<double>({1});
  const auto ten =
      Pass({"histogram", {"x"}, R"({"axes": [{"bins": 10, "low": 0, "high": 1}]})"}, {x}).accumulate();
  const auto nine =
      Pass({"histogram", {"x"}, R"({"axes": [{"bins": 9, "low": 0, "high": 1}]})"}, {x}).accumulate();
  expect_error([&] { nine->merge_saved(ten->save()); }, ErrorKind::format,
               {"10 bins from 0 to 1", "9 bins", "same graph"});
}

TEST(Saved, IsCompact) {
  const auto sum = Pass({"sum", {"x"}}, {column<double>({1, 2, 3})}).accumulate();
  EXPECT_LT(sum->save().size(), 60u);
  const auto sparse = Pass({"histogram", {"x"}, R"({"axes": [{"bins": 1000000, "low": 0, "high": 1}]})"},
                           {column<double>({0.1, 0.2})})
                          .accumulate();
  EXPECT_LT(sparse->save().size(), 200u);
}

}  // namespace
}  // namespace colonnade::frame
