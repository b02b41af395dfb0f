// DataFrame::join with several threads: the first that needs the other side reads it, and the others wait.
#include <cstdlib>

#include "frame/dataframe/test_tools.h"

namespace colonnade {
namespace {

class JoinThreadsTest : public DataFrameTest {
 protected:
  JoinThreadsTest() {
    ::setenv("COLONNADE_TEST_PART_ENTRIES", "20", 1);
    auto model = Model::create();
    auto key = model->make_field<std::int64_t>("key");
    auto weight = model->make_field<double>("weight");
    auto label = model->make_field<std::string>("s");
    auto writer = Writer::recreate(std::move(model), "dir/More", other_.uri());
    for (int i = 999; i >= 0; i -= 3) {  // every third event
      *key = 2 * i;
      *weight = i;
      *label = "label " + std::to_string(i);
      writer->fill();
    }
    writer->close();
  }
  ~JoinThreadsTest() override { ::unsetenv("COLONNADE_TEST_PART_ENTRIES"); }

  colonnade::testing::MemoryFile other_;
};
INSTANTIATE_TEST_SUITE_P(Threads, JoinThreadsTest, ::testing::Values(1u, 2u, 7u));

TEST_P(JoinThreadsTest, InnerJoinsKeepWhatMatches) {
  const auto joined =
      frame().define("twice", "(long)(x * 4)").join("dir/More", other_.uri(), {{"twice", "key"}});
  const auto sum = joined.sum("weight"), both = joined.sum("weight - x * 2");
  const auto labels = joined.take<std::string>("dir_More_s");
  EXPECT_EQ(*joined.count(), 334u);
  EXPECT_EQ(*sum, 333 * 334 / 2 * 3);
  EXPECT_EQ(*both, 0);
  EXPECT_EQ(labels->front(), "label 0");
  EXPECT_EQ(labels->back(), "label 999");
}

TEST_P(JoinThreadsTest, LeftJoinsSayWhatIsMissing) {
  const auto joined = frame()
                          .define("twice", "(long)(x * 4)")
                          .join("dir/More", {other_.uri()}, {{"twice", "key"}}, {.left = true});
  const auto missing = joined.filter("!weight.has_value()").count();
  const auto without = joined.filter("dir_More_entry < 0").count();
  const auto sum = joined.sum("weight.value_or(-1)");
  EXPECT_EQ(*missing, 666u);
  EXPECT_EQ(*without, 666u);
  EXPECT_EQ(*sum, 333 * 334 / 2 * 3 - 666);
}

}  // namespace
}  // namespace colonnade
