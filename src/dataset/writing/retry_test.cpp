// A store that fails while a data set is written, and then answers again: nothing that the writer was given
// is lost, whichever call failed, and whatever is done next.
#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>
#include <random>
#include <thread>

#include "colonnade/attributes.h"
#include "colonnade/garbage.h"
#include "colonnade/parallel_writer.h"
#include "dataset/test_round_trip.h"
#include "io/memory/fault_store.h"
#include "io/memory/memory_store.h"

namespace colonnade {
namespace {

using testing::error_of;
using ::testing::HasSubstr;

class FaultyStore {
 public:
  explicit FaultyStore(const io::StoreTraits& traits) {
    io::set_memory_store_traits(uri_, traits);
    io::wrap_memory_store(uri_,
                          [faults = faults_](auto store) { return with_faults(std::move(store), faults); });
  }
  ~FaultyStore() { io::remove_memory_store(uri_); }
  FaultyStore(const FaultyStore&) = delete;
  FaultyStore& operator=(const FaultyStore&) = delete;
  const std::string& uri() const { return uri_; }
  io::StoreFaults& faults() const { return *faults_; }

 private:
  std::string uri_ = "memory+obj:retry";
  std::shared_ptr<io::StoreFaults> faults_ = std::make_shared<io::StoreFaults>();
};

io::StoreTraits like_s3() {
  return {.best_value = 4096, .ranges = true, .vectors = false, .concurrency = 4};
}
io::StoreTraits like_daos() {
  return {.ranges = false, .vectors = true, .max_items = 16, .concurrency = 4};
}

std::vector<int> list_of(std::int64_t number) {
  return std::vector<int>(static_cast<std::size_t>(number % 5), static_cast<int>(number));
}

// One data set, of numbers in their order; attributes are about each range that was filled in a row.
class History {
 public:
  explicit History(unsigned seed) : random_(seed), store_(below(2) ? like_s3() : like_daos()) {
    options_ = {.compression = below(2) ? "zstd:1" : "none",
                .approximate_cluster_size = below(2) ? std::size_t{2000} : std::size_t{1} << 20,
                .initial_page_size = 16,
                .max_page_size = 64 + below(400),
                .clusters_per_group = 2,
                .checkpoint_every = {.clusters = below(3) ? 0 : 1 + below(3)}};
    if (below(3) == 0) options_.object_mapping = ObjectMapping::object_per_page;
    if (below(3) == 0) options_.page_buffer_budget = 2000;  // pages are written within entries
    options_.parallel_sealing = below(3) == 0;
    if (below(3) == 0) {
      fill_old();
      options_.replace_at_close = below(2) == 0;
    }
  }

  void run() {
    open();
    const unsigned steps = 3 + below(12);
    for (unsigned i = 0; i < steps; ++i) {
      if (below(3) == 0) begin_fault();
      attempt([&] { step(); });
    }
    if (below(2)) begin_fault();
    end();
    expect_all();
  }

 private:
  unsigned below(unsigned limit) { return static_cast<unsigned>(random_() % limit); }

  void fill_old() {
    auto model = Model::create();
    auto x = model->make_field<std::int64_t>("x");
    model->make_field<std::vector<int>>("v");
    auto writer = Writer::recreate(std::move(model), "Data", store_.uri(), options_);
    *x = -1;
    for (int i = 0; i < 10; ++i) writer->fill();
    writer->close();
    is_replaced_ = true;
  }

  void open() {
    auto model = Model::create();
    x_ = model->make_field<std::int64_t>("x");
    v_ = model->make_field<std::vector<int>>("v");
    writer_ = Writer::recreate(std::move(model), "Data", store_.uri(), options_);
    if (below(2)) return;
    auto about = Model::create();
    first_ = about->make_field<std::int64_t>("first");
    set_ = &writer_->add_attribute_set(std::move(about), "ranges");
  }

  void begin_fault() {
    using io::StoreOperation;
    constexpr std::array kinds{StoreOperation::update, StoreOperation::put_if, StoreOperation::get};
    const StoreOperation kind = kinds[below(kinds.size())];
    switch (below(3)) {
      case 0:
        return store_.faults().lose_server(below(20));
      case 1:
        return store_.faults().fail(kind, below(8), 1 + below(5));
      default:
        return store_.faults().lose_answer(kind, below(8), 1 + below(5));
    }
  }

  void step() {
    switch (below(6)) {
      case 0:
        return writer_->commit_cluster();
      case 1:
        return writer_->commit_data_set();
      case 2:
        return writer_->flush_columns();
      case 3:
        return append(below(300));
      default:
        return fill(1 + below(150));
    }
  }

  void fill(unsigned entries) {
    const std::uint64_t begin = writer_->num_entries();
    for (unsigned i = 0; i < entries; ++i) {
      *x_ = static_cast<std::int64_t>(writer_->num_entries());
      *v_ = list_of(*x_);
      writer_->fill();
    }
    note(begin);
  }

  void append(unsigned entries) {
    std::vector<std::int64_t> x;
    std::vector<std::int64_t> ends{0};
    std::vector<int> items;
    const std::uint64_t begin = writer_->num_entries();
    for (unsigned i = 0; i < entries; ++i) {
      x.push_back(static_cast<std::int64_t>(begin + i));
      const auto list = list_of(x.back());
      items.insert(items.end(), list.begin(), list.end());
      ends.push_back(static_cast<std::int64_t>(items.size()));
    }
    writer_->append({{"x", x}, {"v", ArrayView::offsets(ends)}, {"v._0", items}});
    note(begin);
  }

  void note(std::uint64_t begin) {
    if (set_ == nullptr) return;
    *first_ = static_cast<std::int64_t>(begin);
    const std::uint64_t rows = set_->num_rows();
    const IndexRange range(begin, writer_->num_entries());
    try {
      set_->add(range);
    } catch (const Error&) {
      if (set_->num_rows() > rows) ranges_.push_back(range);
      throw;
    }
    ranges_.push_back(range);
  }

  // After a failure the writer refuses entries until it could write what it has.
  template <class Work>
  void attempt(Work&& work) {
    try {
      work();
      return;
    } catch (const Error& error) {
      ASSERT_EQ(error.kind(), ErrorKind::io) << error.what();
      ASSERT_TRUE(writer_->may_close_again()) << error.what();
      ASSERT_THAT(error.advice(), HasSubstr("call close() or commit again")) << error.what();
    }
    ++failures;
    if (below(2)) {
      const Error refused = error_of([&] { writer_->fill(); });
      if (set_ == nullptr) {
        ASSERT_EQ(refused.kind(), ErrorKind::usage) << refused.what();
      }
    }
    for (unsigned again = below(3); again > 0; --again) try_to_commit();
    store_.faults().restore();
    try {
      below(2) ? writer_->commit_data_set() : writer_->commit_cluster();
    } catch (const Error& error) {  // of what was on its way before
      ASSERT_EQ(error.kind(), ErrorKind::io) << error.what();
      writer_->commit_data_set();
    }
    if (below(2)) expect_prefix();
  }

  void try_to_commit() {
    try {
      below(2) ? writer_->commit_data_set() : writer_->commit_cluster();
    } catch (const Error& error) {
      ASSERT_EQ(error.kind(), ErrorKind::io) << error.what();
    }
  }

  void end() {
    for (int attempts = 0;; ++attempts) {
      try {
        writer_->close();
        break;
      } catch (const Error& error) {
        ASSERT_LT(attempts, 4) << error.what();
        ASSERT_EQ(error.kind(), ErrorKind::io) << error.what();
        ASSERT_TRUE(writer_->may_close_again()) << error.what();
        ++failures;
      }
      if (attempts > 0 || below(2)) store_.faults().restore();
    }
    store_.faults().restore();
    entries_ = writer_->num_entries();
    writer_.reset();
  }

  std::uint64_t expect_values() {
    const auto reader = Reader::open("Data", store_.uri());
    auto x = reader->view<std::int64_t>("x");
    auto v = reader->view<std::vector<int>>("v");
    if (is_replaced_ && reader->num_entries() == 10 && x(0) == -1) return 0;
    for (std::uint64_t i = 0; i < reader->num_entries(); ++i) {
      EXPECT_EQ(x(i), static_cast<std::int64_t>(i));
      EXPECT_EQ(v(i), list_of(static_cast<std::int64_t>(i)));
      if (::testing::Test::HasFailure()) break;
    }
    return reader->num_entries();
  }

  void expect_prefix() {
    try {
      EXPECT_LE(expect_values(), writer_->num_entries());
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::not_found) << error.what();
    }
  }

  void expect_all() {
    ASSERT_EQ(expect_values(), entries_);
    if (set_ != nullptr) {
      const auto reader = Reader::open("Data", store_.uri());
      const auto set = reader->attribute_set("ranges");
      ASSERT_EQ(set->num_rows(), ranges_.size());
      auto first = set->view<std::int64_t>("first");
      for (std::uint64_t row = 0; row < ranges_.size(); ++row) {
        EXPECT_EQ(set->range(row).first(), ranges_[row].first());
        EXPECT_EQ(set->range(row).last(), ranges_[row].last());
        EXPECT_EQ(first(row), static_cast<std::int64_t>(ranges_[row].first()));
      }
    }
    static_cast<void>(collect_garbage(store_.uri()));
    ASSERT_EQ(expect_values(), entries_);
    EXPECT_TRUE(collect_garbage(store_.uri()).kept.empty());
  }

  std::mt19937 random_;
  FaultyStore store_;
  WriteOptions options_;
  bool is_replaced_ = false;
  std::shared_ptr<std::int64_t> x_, first_;
  std::shared_ptr<std::vector<int>> v_;
  std::unique_ptr<Writer> writer_;
  AttributeSetWriter* set_ = nullptr;
  std::vector<IndexRange> ranges_;
  std::uint64_t entries_ = 0;

 public:
  int failures = 0;
};

int count_of(const char* variable, int usual) {
  const char* given = std::getenv(variable);
  return given == nullptr ? usual : std::atoi(given);
}

TEST(Retry, WhatAWriterWasGivenIsThereOnceTheStoreAnswersAgain) {
  int failures = 0;
  const int count = count_of("COLONNADE_RETRIES", 50);
  for (int seed = 0; seed < count; ++seed) {
    SCOPED_TRACE(seed);
    History history(static_cast<unsigned>(seed));
    history.run();
    failures += history.failures;
    if (HasFailure()) return;
  }
  EXPECT_GT(failures, count / 2);
}

std::unique_ptr<ParallelWriter> parallel_writer(const std::string& uri, const WriteOptions& options) {
  auto model = Model::create();
  model->make_field<std::int64_t>("x");
  return ParallelWriter::recreate(std::move(model), "Data", uri, options);
}

// Groups of an attribute set that a failed commit has merged have no other page list afterwards.
TEST(Retry, ClosingMayFailAtAnyWrite) {
  bool has_failed = true;
  for (std::uint64_t n = 0; has_failed; ++n) {
    SCOPED_TRACE(n);
    const FaultyStore store(like_s3());
    auto model = Model::create();
    auto x = model->make_field<std::int64_t>("x");
    const auto writer =
        Writer::recreate(std::move(model), "Data", store.uri(), {.checkpoint_every = {.clusters = 1}});
    auto about = Model::create();
    about->make_field<std::int64_t>("first");
    AttributeSetWriter& set = writer->add_attribute_set(std::move(about), "ranges");
    for (std::uint64_t i = 0; i < 6; ++i) {
      *x = static_cast<std::int64_t>(i);
      writer->fill();
      set.add({i, i + 1});
      writer->commit_cluster();
    }
    store.faults().fail(io::StoreOperation::update, n);
    has_failed = false;
    try {
      writer->close();
    } catch (const Error&) {
      has_failed = true;
      store.faults().restore();
      ASSERT_TRUE(writer->may_close_again());
      writer->close();
    }
    store.faults().restore();
    const auto reader = Reader::open("Data", store.uri());
    EXPECT_EQ(reader->num_entries(), 6u);
    reader->verify();
    const auto ranges = reader->attribute_set("ranges");
    EXPECT_EQ(ranges->rows().size(), 6u);
    ranges->reader().verify();
    ASSERT_LT(n, 100u);
  }
}

TEST(Retry, ContextsOfAParallelWriterAreClosedAgain) {
  for (const ClusterOrder order : {ClusterOrder::as_written, ClusterOrder::staged})
    for (std::uint64_t operations = 0; operations < 40; operations += 3) {
      const FaultyStore store(like_s3());
      const auto writer = parallel_writer(
          store.uri(), {.approximate_cluster_size = 500, .clusters_per_group = 2, .cluster_order = order});
      auto about = Model::create();
      about->make_field<int>("part");
      ParallelAttributeSet& parts = writer->add_attribute_set(std::move(about), "parts");
      std::vector<std::unique_ptr<FillContext>> contexts;
      constexpr std::int64_t each = 1000;
      for (std::int64_t part = 0; part < 3; ++part) contexts.push_back(writer->make_fill_context());
      store.faults().lose_server(operations);
      const auto persist = [&](auto&& work) {
        for (int attempts = 0;; ++attempts) {
          try {
            return work();
          } catch (const Error& error) {  // perhaps of what was on its way before
            ASSERT_EQ(error.kind(), ErrorKind::io) << error.what();
            ASSERT_TRUE(writer->may_close_again()) << error.what();
            ASSERT_LT(attempts, 3) << error.what();
            store.faults().restore();
          }
        }
      };
      for (std::int64_t part = 0; part < 3; ++part) {
        FillContext& context = *contexts[static_cast<std::size_t>(part)];
        std::vector<std::int64_t> x(static_cast<std::size_t>(each));
        for (std::int64_t i = 0; i < each; ++i) x[static_cast<std::size_t>(i)] = part * each + i;
        const std::vector<NamedArray> arrays{{"x", x}};
        try {
          context.append(arrays);
        } catch (const Error& error) {
          ASSERT_EQ(error.kind(), ErrorKind::io) << error.what();
          persist([&] { context.commit_cluster(); });
        }
        ASSERT_EQ(context.num_entries(), static_cast<std::uint64_t>(each));
        auto row = parts.make_entry();
        *row->ptr<int>("part") = static_cast<int>(part);
        context.add_attributes(parts, {0, static_cast<std::uint64_t>(each)}, std::move(row));
      }
      for (auto& context : contexts) persist([&] { context->close(); });
      persist([&] { writer->close(); });
      store.faults().restore();
      const auto reader = Reader::open("Data", store.uri());
      ASSERT_EQ(reader->num_entries(), 3u * each);
      auto x = reader->view<std::int64_t>("x");
      std::set<std::int64_t> found;
      for (std::uint64_t i = 0; i < reader->num_entries(); ++i) found.insert(x(i));
      ASSERT_EQ(found.size(), 3u * each);
      std::uint64_t covered = 0;
      const auto set = reader->attribute_set("parts");
      auto part = set->view<int>("part");
      for (std::uint64_t row = 0; row < set->num_rows(); ++row) {
        covered += set->range(row).size();
        for (std::uint64_t i = set->range(row).first(); i < set->range(row).last(); ++i)
          ASSERT_EQ(x(i) / each, part(row));
      }
      ASSERT_EQ(covered, 3u * each);
    }
}

TEST(Retry, AttributesOfADataSetThatIsThere) {
  for (std::uint64_t operations = 0; operations < 12; ++operations) {
    const FaultyStore store(like_daos());
    auto model = Model::create();
    auto x = model->make_field<std::int64_t>("x");
    auto writer = Writer::recreate(std::move(model), "Data", store.uri());
    for (*x = 0; *x < 10; ++*x) writer->fill();
    writer->close();
    const auto appender = AttributeAppender::open("Data", store.uri());
    auto about = Model::create();
    auto good = about->make_field<bool>("good");
    AttributeSetWriter& set = appender->add_attribute_set(std::move(about), "quality");
    *good = true;
    set.add({2, 7});
    store.faults().lose_server(operations);
    try {
      appender->close();
    } catch (const Error& error) {
      ASSERT_EQ(error.kind(), ErrorKind::io) << error.what();
      ASSERT_TRUE(appender->may_close_again()) << error.what();
      EXPECT_EQ(error_of([&] { appender->close(); }).kind(), ErrorKind::io);
      store.faults().restore();
      appender->close();
    }
    store.faults().restore();
    const auto reader = Reader::open("Data", store.uri());
    ASSERT_EQ(reader->attribute_set("quality")->num_rows(), 1u);
    EXPECT_EQ(reader->attribute_set("quality")->range(0).last(), 7u);
  }
}

// It cannot know what the other one has done.
TEST(Retry, AWriterWhoseDataSetWasTakenOverIsNotClosedAgain) {
  const FaultyStore store(like_s3());
  auto model = Model::create();
  auto x = model->make_field<std::int64_t>("x");
  auto writer = Writer::recreate(std::move(model), "Data", store.uri());
  writer->fill();
  static_cast<void>(collect_garbage(store.uri(), {.force = true}));
  EXPECT_THAT(error_of([&] { writer->close(); }).problem(), HasSubstr("has taken over"));
  EXPECT_FALSE(writer->may_close_again());
  EXPECT_EQ(error_of([&] { writer->close(); }).kind(), ErrorKind::usage);
}

TEST(Retry, AFileIsNotWrittenAgain) {
  const testing::MemoryFile file;
  auto model = Model::create();
  model->make_field<std::int64_t>("x");
  const auto writer = Writer::recreate(std::move(model), "Data", file.uri());
  EXPECT_FALSE(writer->may_close_again());
  writer->close();
  EXPECT_FALSE(writer->may_close_again());
}

}  // namespace
}  // namespace colonnade
