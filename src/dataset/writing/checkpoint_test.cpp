// Checkpoints: what readers see while a data set is being written, and the journal of the clusters after the
// last checkpoint.
#include <cmath>
#include <limits>

#include "dataset/test_round_trip.h"
#include "page/cluster_journal.h"

namespace colonnade {
namespace {

using testing::error_of;
using testing::MemoryFile;

// Clusters of three entries each.
class Clusters {
 public:
  Clusters(const std::string& uri, const WriteOptions& options) : uri_(uri) {
    auto model = Model::create();
    x_ = model->make_field<std::int64_t>("x");
    v_ = model->make_field<std::vector<std::int32_t>>("v");
    writer_ = Writer::recreate(std::move(model), "Data", uri, options);
  }

  Writer& writer() { return *writer_; }
  void write_one() {
    for (int i = 0; i < 3; ++i) {
      *x_ = static_cast<std::int64_t>(writer_->num_entries());
      v_->assign(static_cast<std::size_t>(*x_ % 4), static_cast<std::int32_t>(*x_));
      writer_->fill();
    }
    writer_->commit_cluster();
  }
  // What another process sees.
  std::uint64_t readable_entries() const {
    auto reader = Reader::open("Data", uri_);
    auto x = reader->view<std::int64_t>("x");
    auto v = reader->view<std::vector<std::int32_t>>("v");
    for (std::uint64_t i = 0; i < reader->num_entries(); ++i) {
      EXPECT_EQ(x(i), static_cast<std::int64_t>(i));
      EXPECT_EQ(v(i), std::vector<std::int32_t>(i % 4, static_cast<std::int32_t>(i)));
    }
    return reader->num_entries();
  }
  std::vector<ClusterDescriptor> journal() const {
    const auto reader = Reader::open("Data", uri_);
    const auto file = io::open_for_reading(uri_);
    std::vector<ClusterDescriptor> found;
    page::scan_journal(*file, 0, reader->descriptor(), [&](page::JournalRecord&& record) {
      EXPECT_EQ(record.problem, "");
      found.push_back(std::move(record.cluster));
    });
    return found;
  }

 private:
  std::string uri_;
  std::shared_ptr<std::int64_t> x_;
  std::shared_ptr<std::vector<std::int32_t>> v_;
  std::unique_ptr<Writer> writer_;
};

TEST(Checkpoints, MakeEveryFewClustersReadable) {
  for (const auto container : {Container::root_file, Container::bare_file}) {
    const MemoryFile file;
    Clusters data(file, {.container = container, .checkpoint_every = {.clusters = 2}});
    EXPECT_EQ(data.readable_entries(), 0u);
    for (unsigned cluster = 1; cluster <= 7; ++cluster) {
      data.write_one();
      ASSERT_EQ(data.readable_entries(), cluster / 2 * 6) << "after " << cluster << " clusters";
    }
    data.writer().close();
    EXPECT_EQ(data.readable_entries(), 21u);
    // The same as without checkpoints.
    const auto groups = Reader::open("Data", file)->descriptor().cluster_groups;
    ASSERT_EQ(groups.size(), 1u);
    EXPECT_EQ(groups[0].clusters, 7u);
  }
}

// A checkpoint costs the same however many precede it, and a closed file opens like one without
// checkpoints.
void expect_to_cost_little(bool by_itself) {
  for (const auto container : {Container::root_file, Container::bare_file}) {
    const MemoryFile plain, file;
    {
      Clusters data(plain, {.container = container});
      for (int i = 0; i < 3000; ++i) data.write_one();
      data.writer().close();
    }
    Clusters data(file, {.container = container, .checkpoint_every = {.clusters = by_itself ? 1u : 0u}});
    std::vector<std::size_t> sizes;
    for (int i = 1; i <= 3000; ++i) {
      data.write_one();
      if (!by_itself) data.writer().commit_data_set();
      if (i % 500 != 0) continue;
      sizes.push_back(file.content().size());
      EXPECT_EQ(data.readable_entries(), static_cast<std::uint64_t>(3 * i));
      EXPECT_LE(Reader::open("Data", file)->descriptor().cluster_groups.size(), 14u);
    }
    const std::size_t first = sizes[1] - sizes[0];
    const std::size_t last = sizes.back() - sizes[sizes.size() - 2];
    EXPECT_LT(last, first + first / 2);
    data.writer().close();
    const std::size_t cost = (file.content().size() - plain.content().size()) / 3000;
    EXPECT_LT(cost, 500u) << "bytes of a checkpoint";
    const auto opened = [](const std::string& uri) { return Reader::open("Data", uri)->descriptor(); };
    EXPECT_EQ(opened(file).cluster_groups.size(), opened(plain).cluster_groups.size());
    EXPECT_EQ(opened(file).clusters.size(), 3000u);
    EXPECT_EQ(data.readable_entries(), 9000u);
  }
}

TEST(Checkpoints, OfALongRunCostLittle) {
  expect_to_cost_little(true);
}

TEST(Checkpoints, OfALongRunCostLittleWhenTheCallerMakesThem) {
  expect_to_cost_little(false);
}

// A typical run: clusters of megabytes.
TEST(Checkpoints, CostOnePercentOfAUsualRun) {
  std::vector<std::size_t> sizes;
  for (const std::uint32_t every : {0u, 1u}) {
    const MemoryFile file;
    auto model = Model::create();
    std::vector<std::shared_ptr<double>> values;
    for (int i = 0; i < 50; ++i) values.push_back(model->make_field<double>("x" + std::to_string(i)));
    auto writer = Writer::recreate(std::move(model), "Data", file,
                                   {.compression = "none",
                                    .same_page_merging = SamePageMerging::off,
                                    .checkpoint_every = {.clusters = every}});
    for (int cluster = 0; cluster < 40; ++cluster) {
      for (int i = 0; i < 5000; ++i) {
        for (const auto& value : values) *value = i * 1.25;
        writer->fill();
      }
      writer->commit_cluster();
    }
    writer->close();
    sizes.push_back(file.content().size());
  }
  EXPECT_LT(sizes[1] - sizes[0], sizes[0] / 100);
}

TEST(Checkpoints, ComeAfterSomeTime) {
  const MemoryFile often, seldom;
  Clusters soon(often, {.checkpoint_every = {.seconds = 1e-9}});
  Clusters late(seldom, {.checkpoint_every = {.seconds = 1e9}});
  for (unsigned cluster = 1; cluster <= 3; ++cluster) {
    soon.write_one();
    late.write_one();
    EXPECT_EQ(soon.readable_entries(), 3 * cluster);
    EXPECT_EQ(late.readable_entries(), 0u);
  }
  soon.writer().close();
  late.writer().close();
  EXPECT_EQ(late.readable_entries(), 9u);
}

TEST(Checkpoints, AreNotMadeUnasked) {
  const MemoryFile file;
  Clusters data(file, {});
  for (int i = 0; i < 3; ++i) data.write_one();
  EXPECT_EQ(error_of([&] { Reader::open("Data", file); }).kind(), ErrorKind::not_found);
  data.writer().close();
  EXPECT_EQ(data.readable_entries(), 9u);
  EXPECT_TRUE(data.journal().empty());
}

TEST(Checkpoints, EveryClusterIsInTheJournal) {
  for (const auto container : {Container::root_file, Container::bare_file}) {
    const MemoryFile file;
    Clusters data(file, {.container = container, .checkpoint_every = {.clusters = 3}});
    for (unsigned cluster = 1; cluster <= 5; ++cluster) {
      data.write_one();
      EXPECT_EQ(data.journal().size(), cluster);
    }
    const auto journal = data.journal();
    data.writer().close();
    const auto reader = Reader::open("Data", file);
    const auto& clusters = reader->descriptor().clusters;
    ASSERT_EQ(journal.size(), clusters.size());
    for (std::size_t i = 0; i < clusters.size(); ++i) {
      EXPECT_EQ(journal[i].first_entry, clusters[i].first_entry);
      EXPECT_EQ(journal[i].entries, clusters[i].entries);
      ASSERT_EQ(journal[i].columns.size(), clusters[i].columns.size());
      for (std::size_t c = 0; c < clusters[i].columns.size(); ++c) {
        EXPECT_EQ(journal[i].columns[c].first_element, clusters[i].columns[c].first_element);
        const auto& pages = clusters[i].columns[c].pages;
        ASSERT_EQ(journal[i].columns[c].pages.size(), pages.size());
        for (std::size_t p = 0; p < pages.size(); ++p) {
          EXPECT_EQ(journal[i].columns[c].pages[p].elements, pages[p].elements);
          EXPECT_EQ(journal[i].columns[c].pages[p].locator, pages[p].locator);
        }
      }
    }
  }
}

TEST(Checkpoints, ANewFieldForcesOne) {
  const MemoryFile file;
  Clusters data(file, {.checkpoint_every = {.clusters = 100}});
  data.write_one();
  const auto late = data.writer().extend<float>("late");
  *late = 2.5F;
  EXPECT_EQ(data.readable_entries(), 0u);
  data.write_one();
  EXPECT_EQ(data.readable_entries(), 6u);
  const auto reader = Reader::open("Data", file);
  EXPECT_EQ(reader->view<float>("late")(2), 0.F);
  EXPECT_EQ(reader->view<float>("late")(3), 2.5F);
  data.write_one();
  EXPECT_EQ(data.readable_entries(), 6u);
  EXPECT_EQ(data.journal().size(), 3u);
  data.writer().close();
  EXPECT_EQ(data.readable_entries(), 9u);
}

TEST(Checkpoints, TimesThatMakeNoSenseAreRefused) {
  for (const double seconds :
       {-1.0, std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
    const MemoryFile file;
    const Error error = error_of([&] { Clusters(file, {.checkpoint_every = {.seconds = seconds}}); });
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    EXPECT_EQ(error.problem(), "the time between checkpoints is negative or not finite");
  }
}

// A checkpoint with entries, or the last commit, replaces existing data; an empty data set never does.
TEST(Replacing, WaitsForEntries) {
  for (const Container container : {Container::root_file, Container::bare_file}) {
    const MemoryFile file;
    const WriteOptions options{.container = container, .checkpoint_every = {.clusters = 2}};
    for (const std::uint64_t before : {0u, 6u}) {
      const auto expect = [&](std::uint64_t entries) {
        EXPECT_EQ(Reader::open("Data", file.uri())->num_entries(), entries);
      };
      Clusters clusters(file.uri(), options);
      EXPECT_EQ(clusters.writer().replaces(), before > 0);
      expect(before);
      clusters.writer().commit_data_set();
      expect(before);
      clusters.write_one();
      expect(before);
      clusters.write_one();
      expect(6);
      EXPECT_FALSE(clusters.writer().replaces());
      clusters.writer().close();
      expect(6);
    }
    {
      Clusters given_up(file.uri(), options);
      given_up.write_one();
      given_up.writer().discard();
    }
    EXPECT_EQ(Reader::open("Data", file.uri())->num_entries(), 6u);
    Clusters(file.uri(), options).writer().close();
    EXPECT_EQ(Reader::open("Data", file.uri())->num_entries(), 0u) << "the last commit may be empty";
  }
}

TEST(Replacing, CanWaitForTheEnd) {
  const MemoryFile file;
  Clusters old(file.uri(), {});
  old.write_one();
  old.writer().close();
  Clusters clusters(file.uri(), {.checkpoint_every = {.clusters = 1}, .replace_at_close = true});
  for (int i = 0; i < 3; ++i) clusters.write_one();
  clusters.writer().commit_data_set();
  EXPECT_EQ(Reader::open("Data", file.uri())->num_entries(), 3u);
  clusters.writer().close();
  EXPECT_EQ(Reader::open("Data", file.uri())->num_entries(), 9u);
}

TEST(Replacing, IsLeftOutByAnException) {
  const MemoryFile file;
  Clusters(file.uri(), {}).write_one();
  try {
    Clusters clusters(file.uri(), {});
    clusters.write_one();
    clusters.write_one();
    throw 1;
  } catch (int) {
  }
  EXPECT_EQ(Reader::open("Data", file.uri())->num_entries(), 3u);
}

}  // namespace
}  // namespace colonnade
