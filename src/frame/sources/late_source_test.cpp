// Columns that are fetched when a pass needs them.
#include "frame/sources/late_source.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <numeric>

#include "base/test_errors.h"
#include "frame/values/values.h"

namespace colonnade::frame {
namespace {

template <class Work>
void expect_error(ErrorKind kind, const Work& work, const std::string& text) {
  const Error error = error_of(work);
  EXPECT_EQ(error.kind(), kind);
  EXPECT_NE(std::string(error.what()).find(text), std::string::npos) << error.what();
}

using Paths = std::vector<std::string>;

std::shared_ptr<Source> arrays(const Paths& names, std::size_t entries, double factor = 1) {
  std::vector<NamedValues> columns;
  for (const std::string& name : names) {
    const auto numbers = std::make_shared<std::vector<double>>(entries);
    for (std::size_t i = 0; i < entries; ++i)
      (*numbers)[i] = factor * static_cast<double>(i) + static_cast<double>(name.size());
    columns.push_back({name, make_scalars(ElementType::float64, entries, numbers->data(), numbers)});
  }
  return array_source(std::move(columns));
}

std::vector<Sample> samples_of(std::uint64_t entries) {
  Sample sample;
  sample.name = "file/Events";
  sample.entries = entries;
  return {sample};
}

std::vector<double> values_of(const Source& source, std::uint32_t column) {
  std::vector<double> all;
  BlockMemory memory;
  const auto cursor = source.open();
  const auto parts = source.parts(0, source.entries());
  for (const Part& part : parts) {
    cursor->start(part, {});
    const ValuesPtr values = cursor->read(column, {part.first, part.last - part.first, nullptr}, memory);
    const auto* data = static_cast<const double*>(values->data);
    all.insert(all.end(), data, data + values->size);
  }
  return all;
}

TEST(LateSource, BringsWhatAPassNeedsInOneGo) {
  std::vector<Paths> asked;
  const auto source = std::make_shared<LateSource>(arrays({"a", "bb", "ccc"}, 0), samples_of(300'000),
                                                   [&](const Paths& paths) {
                                                     asked.push_back(paths);
                                                     return arrays(paths, 300'000);
                                                   });
  EXPECT_EQ(source->entries(), 300'000U);
  EXPECT_FALSE(source->find("d"));
  const auto a = source->find("a").value();
  const auto b = source->find("bb").value();
  const auto c = source->find("ccc").value();
  EXPECT_EQ(source->find("a"), a);
  EXPECT_TRUE(asked.empty());
  EXPECT_GT(source->parts(0, 300'000).size(), 2U);
  const std::vector<std::uint32_t> first = {a, c};
  source->prepare(first);
  source->prepare(first);
  EXPECT_EQ(asked, (std::vector<Paths>{{"a", "ccc"}}));
  std::vector<double> expected(300'000);
  std::iota(expected.begin(), expected.end(), 3.);
  EXPECT_EQ(values_of(*source, c), expected);
  std::iota(expected.begin(), expected.end(), 2.);
  EXPECT_EQ(values_of(*source, b), expected);  // without prepare()
  EXPECT_EQ(asked.size(), 2U);
}

TEST(LateSource, HasOtherNamesOfColumns) {
  std::vector<Paths> asked;
  const auto source = std::make_shared<LateSource>(
      arrays({"a", "b"}, 0), samples_of(10),
      [&](const Paths& paths) {
        asked.push_back(paths);
        return arrays(paths, 10);
      },
      LateSource::OtherNames{{"x.a", "a"}, {"b", "a"}, {"c", "d"}});
  const auto other = source->find("x.a").value();
  EXPECT_EQ(source->path(other), "a");
  EXPECT_EQ(source->find("a"), other);
  EXPECT_EQ(source->path(source->find("b").value()), "b");
  EXPECT_FALSE(source->find("c"));
  const std::vector<std::uint32_t> columns = {other};
  source->prepare(columns);
  EXPECT_EQ(asked, (std::vector<Paths>{{"a"}}));
}

TEST(LateSource, RefusesWhatDoesNotFit) {
  const auto with = [](std::shared_ptr<Source> brought) {
    const auto source =
        std::make_shared<LateSource>(arrays({"a"}, 0), samples_of(10), [=](const Paths&) { return brought; });
    const std::vector<std::uint32_t> columns = {source->find("a").value()};
    source->prepare(columns);
  };
  expect_error(ErrorKind::format, [&] { with(arrays({"a"}, 9)); }, "10 entries in 1 files, but 9");
  expect_error(ErrorKind::type, [&] { with(arrays({"b"}, 10)); }, "no longer exists");
  const auto integers = std::make_shared<std::vector<std::int32_t>>(10);
  expect_error(
      ErrorKind::type,
      [&] { with(array_source({{"a", make_scalars(ElementType::int32, 10, integers->data(), integers)}})); },
      "not double");
  expect_error(ErrorKind::usage, [] { LateSource(empty_source(1), {}, nullptr); }, "of 1 files");
}

}  // namespace
}  // namespace colonnade::frame
