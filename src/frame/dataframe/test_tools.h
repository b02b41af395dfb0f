// For the tests of the DataFrame of C++: the same events in a file and in a vector.
#ifndef COLONNADE_FRAME_DATAFRAME_TEST_TOOLS_H
#define COLONNADE_FRAME_DATAFRAME_TEST_TOOLS_H

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "base/test_errors.h"
#include "colonnade/colonnade.h"
#include "colonnade/dataframe.h"
#include "dataset/test_values.h"

namespace dataframe_test {

enum class Color : std::uint8_t { red, green, blue };

struct Hit {
  float energy = 0;
  int id = 0;
};

struct Event {
  double x = 0;
  std::int32_t n = 0;
  std::vector<float> v;
  std::string s;
  std::vector<Hit> hits;
  Hit best;
  Color color = Color::red;
};

// The members of Hit in another order and with other types, and one fewer.
struct WideHit {
  double energy = 0;
};
struct Summary {
  std::vector<int> ids;
  std::string text;
  WideHit inner;
  bool any = false;
};

inline std::vector<Event> make_events(int count) {
  std::vector<Event> events;
  for (int i = 0; i < count; ++i) {
    Event event{.x = 0.5 * i, .n = i % 5, .s = "s" + std::to_string(i % 7)};
    for (int k = 0; k < event.n; ++k) {
      event.v.push_back(static_cast<float>(i) / 8 + static_cast<float>(k));
      event.hits.push_back({static_cast<float>(k) * 1.5f, i + k});
    }
    event.best = {static_cast<float>(i), -i};
    event.color = static_cast<Color>(i % 3);
    events.push_back(event);
  }
  return events;
}

}  // namespace dataframe_test

namespace colonnade {
using namespace dataframe_test;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Floats = std::span<const float>;

class DataFrameTest : public ::testing::TestWithParam<unsigned> {
 public:
  DataFrameTest() : events(make_events(1000)) {
    auto model = Model::create();
    auto x = model->make_field<double>("x");
    auto n = model->make_field<std::int32_t>("n");
    auto v = model->make_field<std::vector<float>>("v");
    auto s = model->make_field<std::string>("s");
    auto hits = model->make_field<std::vector<Hit>>("hits");
    auto best = model->make_field<Hit>("best");
    auto color = model->make_field<Color>("color");
    auto writer =
        Writer::recreate(std::move(model), "Events", file.uri(), {.approximate_cluster_size = 3000});
    for (const Event& event : events) {
      *x = event.x, *n = event.n, *v = event.v, *s = event.s;
      *hits = event.hits, *best = event.best, *color = event.color;
      writer->fill();
    }
    writer->close();
  }
  DataFrame frame() const { return {"Events", file.uri(), {.threads = GetParam()}}; }
  // The sum of function(event) over the events.
  template <class F>
  double total(F function) const {
    double sum = 0;
    for (const Event& event : events) sum += function(event);
    return sum;
  }
  testing::MemoryFile file;
  std::vector<Event> events;
};

}  // namespace colonnade

#endif
