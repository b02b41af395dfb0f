// Writers when memory is short: whatever allocation fails, in whatever thread, nothing ends the program, what
// was committed stays, and what can be read is right. Ways to write, places, options and the allocation are
// drawn at random from seeds; COLONNADE_MEMORY_SEED replays one.
#include <gmock/gmock.h>
#include <unistd.h>

#include <cstdlib>
#include <exception>
#include <filesystem>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/test_short_memory.h"
#include "colonnade/attributes.h"
#include "colonnade/copy.h"
#include "colonnade/parallel_writer.h"
#include "colonnade/reader.h"
#include "colonnade/writer.h"
#include "io/memory/memory_file.h"
#include "io/memory/memory_store.h"

namespace colonnade {
namespace {

using testing::Shortage;
using testing::ShortMemory;

using Dice = std::mt19937_64;

bool one_in(Dice& dice, std::uint64_t count) {
  return dice() % count == 0;
}

// Rows follow from their number, so that each one that is read can be checked.
struct Row {
  std::int64_t number = 0;

  std::string text() const { return std::string(static_cast<std::size_t>(number % 7), 'a'); }
  std::vector<float> list() const {
    return std::vector<float>(static_cast<std::size_t>(number % 4), static_cast<float>(number));
  }
};

struct Fields {
  explicit Fields(Model& model)
      : number(model.make_field<std::int64_t>("number")),
        text(model.make_field<std::string>("text")),
        list(model.make_field<std::vector<float>>("list")) {}
  void set(const Row& row) const {
    *number = row.number;
    *text = row.text();
    *list = row.list();
  }

  std::shared_ptr<std::int64_t> number;
  std::shared_ptr<std::string> text;
  std::shared_ptr<std::vector<float>> list;
};

std::unique_ptr<Model> run_model() {
  auto model = Model::create();
  model->make_field<std::int64_t>("run");
  return model;
}

std::vector<std::int64_t> numbers(std::int64_t first, std::int64_t count) {
  std::vector<std::int64_t> all;
  for (std::int64_t i = 0; i < count; ++i) all.push_back(first + i);
  return all;
}

// Row by row, with a set of attributes, and commits in between.
void write_rows(Writer& writer, const Fields& fields, const std::vector<std::int64_t>& rows, Dice dice) {
  AttributeSetWriter* const runs = one_in(dice, 2) ? &writer.add_attribute_set(run_model(), "runs") : nullptr;
  for (const std::int64_t number : rows) {
    fields.set({number});
    writer.fill();
    if (one_in(dice, 40)) writer.commit_cluster();
    if (one_in(dice, 150)) writer.commit_data_set();
    if (runs != nullptr && one_in(dice, 50)) {
      *runs->model().default_entry().ptr<std::int64_t>("run") = number;
      runs->commit_range(writer.num_entries() - 1);
    }
  }
}

WriteOptions random_options(Dice& dice) {
  WriteOptions options;
  const char* const compressions[] = {"none", "zstd:1", "lz4:1", "zlib:1"};
  options.compression = compressions[dice() % std::size(compressions)];
  options.approximate_cluster_size = 500 + dice() % 5000;
  options.max_page_size = 64 + dice() % 1000;
  options.initial_page_size = 64;
  options.clusters_per_group = 1 + static_cast<std::uint32_t>(dice() % 5);
  options.parallel_sealing = one_in(dice, 2);
  options.direct_io = one_in(dice, 4);
  if (one_in(dice, 3)) options.checkpoint_every.clusters = 1 + static_cast<std::uint32_t>(dice() % 3);
  if (one_in(dice, 4)) options.object_mapping = ObjectMapping::object_per_page;
  if (one_in(dice, 4)) options.splice_size = 0;
  if (one_in(dice, 4)) options.max_key_size = 2000;
  return options;
}

enum class Way { replace, go_on, beside, copied, in_parallel, attributes };

class Case {
 public:
  Case(std::uint64_t seed, const std::filesystem::path& folder) : dice_(seed) {
    const std::string name = std::to_string(seed);
    const std::string places[] = {"memory:short-" + name, (folder / (name + ".root")).string(),
                                  (folder / (name + ".bare")).string(), "obj://" + (folder / name).string(),
                                  "memory+obj:short-" + name};
    const std::size_t place = dice_() % std::size(places);
    uri_ = places[place];
    source_ = "memory:short-source-" + name;
    options_ = random_options(dice_);
    if (place == 2) options_.container = Container::bare_file;
    do way_ = static_cast<Way>(dice_() % 6);
    while (way_ == Way::beside && place == 2);
    before_ = numbers(0, static_cast<std::int64_t>(1 + dice_() % 200));
    added_ = numbers(1000, static_cast<std::int64_t>(1 + dice_() % 400));
    inner_seed_ = dice_();
    make(source_, added_);
  }
  ~Case() {
    remove();
    io::remove_memory_file(source_);
  }
  Case(const Case&) = delete;
  Case& operator=(const Case&) = delete;

  void run() {
    prepare();
    {
      const ShortMemory memory({.everywhere = true, .allocations = 1L << 40});
      write();
    }
    const long needed = ShortMemory::used();
    expect_all();
    for (int attempt = 0; attempt < 12 && !::testing::Test::HasFailure(); ++attempt) {
      const Shortage shortage{.for_good = one_in(dice_, 2),
                              .everywhere = one_in(dice_, 2),
                              .allocations = static_cast<long>(dice_() % static_cast<std::uint64_t>(needed))};
      SCOPED_TRACE(shortage.text());
      fail_once(shortage);
    }
  }
  std::string text() const { return fmt::format("way {} to {}", static_cast<int>(way_), uri_); }

 private:
  void fail_once(const Shortage& shortage) {
    remove();
    prepare();
    bool is_done = false;
    {
      const ShortMemory memory(shortage);
      try {
        write();
        is_done = true;
      } catch (const std::bad_alloc&) {
      } catch (const Error& error) {
        ShortMemory::end();
        // A thread may learn that another one has failed.
        const bool may_be_told = way_ == Way::in_parallel && error.kind() == ErrorKind::usage;
        EXPECT_TRUE(may_be_told || error.kind() == ErrorKind::resource) << error.what();
      }
    }
    if (is_done) return expect_all();
    expect_some();
    // Nothing that failed keeps the next writer away.
    remove_what_is_in_the_way();
    write();
    expect_all();
  }

  void make(const std::string& uri, const std::vector<std::int64_t>& rows) const {
    auto model = Model::create();
    const Fields fields(*model);
    WriteOptions options = options_;
    options.checkpoint_every = {};
    const auto writer = Writer::recreate(std::move(model), "E", uri, options);
    for (const std::int64_t number : rows) {
      fields.set({number});
      writer->fill();
    }
    writer->close();
  }
  void prepare() const { make(uri_, before_); }
  void remove() const {
    io::remove_memory_file(uri_);
    io::remove_memory_store(uri_);
    std::filesystem::remove_all(uri_.starts_with("obj://") ? uri_.substr(6) : uri_);
  }
  // What a way to write does not replace by itself: begin again.
  void remove_what_is_in_the_way() const {
    if (way_ == Way::replace || way_ == Way::in_parallel || way_ == Way::copied) return;
    remove();
    prepare();
  }

  void write() const {
    switch (way_) {
      case Way::replace:
      case Way::go_on:
      case Way::beside:
        return write_one();
      case Way::copied: {
        CopyOptions options{.overwrite = true, .writing = options_};
        if (inner_seed_ % 3 == 0) options.compression = "lz4:1";
        if (inner_seed_ % 3 == 1) options.max_page_size = 200;
        static_cast<void>(copy({source_, "E"}, {uri_, "E"}, options));
        return;
      }
      case Way::in_parallel:
        return write_in_parallel();
      case Way::attributes: {
        const auto appender = AttributeAppender::open("E", uri_, options_);
        AttributeSetWriter& runs = appender->add_attribute_set(run_model(), "runs");
        for (std::int64_t run = 0; run < 50; ++run) {
          *runs.model().default_entry().ptr<std::int64_t>("run") = run;
          runs.add({0, before_.size()});
        }
        appender->close();
        return;
      }
    }
  }
  // Half of the time the writer is used on after its failure, as by a caller that catches errors row by row.
  void write_one() const {
    auto model = Model::create();
    const Fields fields(*model);
    const auto writer = way_ == Way::replace ? Writer::recreate(std::move(model), "E", uri_, options_)
                        : way_ == Way::go_on ? Writer::resume(std::move(model), "E", uri_, options_)
                                             : Writer::add_to(std::move(model), "F", uri_, options_);
    try {
      write_rows(*writer, fields, added_, Dice(inner_seed_));
      writer->close();
    } catch (...) {
      ShortMemory::end();
      if (inner_seed_ % 2 == 0) {
        writer->discard();
        throw;
      }
      use_on(*writer, fields);
      throw;
    }
  }
  // Whatever succeeds must not do harm.
  static void use_on(Writer& writer, const Fields& fields) {
    const auto attempt = [](auto&& call) {
      try {
        call();
      } catch (const std::exception&) {
      }
    };
    attempt([&] {
      fields.set({1001});
      writer.fill();
    });
    attempt([&] { writer.commit_data_set(); });
    attempt([&] { writer.close(); });
    attempt([&] { writer.discard(); });
  }
  void write_in_parallel() const {
    auto model = Model::create();
    const Fields in_model(*model);
    WriteOptions options = options_;
    if (inner_seed_ % 2 == 0) options.cluster_order = ClusterOrder::staged;
    const auto writer = ParallelWriter::recreate(std::move(model), "E", uri_, options);
    std::vector<std::exception_ptr> failures(2);
    const auto fill = [&](std::size_t half) {
      try {
        const auto context = writer->make_fill_context();
        const auto entry = context->make_entry();
        for (std::size_t i = half; i < added_.size(); i += 2) {
          const Row row{added_[i]};
          *entry->ptr<std::int64_t>("number") = row.number;
          *entry->ptr<std::string>("text") = row.text();
          *entry->ptr<std::vector<float>>("list") = row.list();
          context->fill(*entry);
        }
      } catch (...) {
        failures[half] = std::current_exception();
      }
    };
    {
      const std::jthread other(fill, 1);
      fill(0);
    }
    for (const std::exception_ptr& failure : failures)
      if (failure) {
        ShortMemory::end();
        writer->discard();
        std::rethrow_exception(failure);
      }
    writer->close();
  }

  // ---- What can be read

  static std::vector<std::int64_t> rows_of(Reader& reader) {
    auto number = reader.view<std::int64_t>("number");
    auto text = reader.view<std::string>("text");
    auto list = reader.view<std::vector<float>>("list");
    std::vector<std::int64_t> all;
    for (const std::uint64_t entry : reader.entries()) {
      const Row row{number(entry)};
      EXPECT_EQ(text(entry), row.text());
      EXPECT_EQ(list(entry), row.list());
      all.push_back(row.number);
    }
    reader.verify();
    return all;
  }
  std::vector<std::int64_t> rows_of(const std::string& name) const {
    return rows_of(*Reader::open(name, uri_));
  }
  void expect_all() const {
    switch (way_) {
      case Way::replace:
      case Way::copied:
        EXPECT_EQ(rows_of("E"), added_);
        return;
      case Way::go_on: {
        std::vector<std::int64_t> expected = before_;
        expected.insert(expected.end(), added_.begin(), added_.end());
        EXPECT_EQ(rows_of("E"), expected);
        return;
      }
      case Way::beside:
        EXPECT_EQ(rows_of("E"), before_);
        EXPECT_EQ(rows_of("F"), added_);
        return;
      case Way::in_parallel: {
        const std::vector<std::int64_t> found = rows_of("E");
        EXPECT_EQ(std::multiset(found.begin(), found.end()), std::multiset(added_.begin(), added_.end()));
        return;
      }
      case Way::attributes:
        EXPECT_EQ(rows_of("E"), before_);
        EXPECT_EQ(Reader::open("E", uri_)->attribute_set("runs")->num_rows(), 50u);
        return;
    }
  }
  // A beginning of what was written, behind what was there; 1001 may be there twice, see use_on().
  void expect_beginning(std::vector<std::int64_t> found) const {
    const std::size_t count = found.size();
    if (count > 0 && found.back() == 1001 && (count == 1 || found[count - 2] != 1000)) found.pop_back();
    EXPECT_LE(found.size(), added_.size());
    found.resize(std::min(found.size(), added_.size()));
    EXPECT_TRUE(std::equal(found.begin(), found.end(), added_.begin()))
        << found.size() << " of " << added_.size();
  }
  void expect_some() const {
    const std::vector<std::int64_t> found = rows_of("E");
    switch (way_) {
      case Way::replace:
      case Way::copied:
        if (found != before_) expect_beginning(found);
        return;
      case Way::go_on: {
        ASSERT_GE(found.size(), before_.size());
        const auto end = found.begin() + static_cast<std::ptrdiff_t>(before_.size());
        EXPECT_TRUE(std::equal(before_.begin(), before_.end(), found.begin()));
        expect_beginning({end, found.end()});
        return;
      }
      case Way::beside:
        EXPECT_EQ(found, before_);
        try {
          expect_beginning(rows_of("F"));
        } catch (const Error& error) {
          EXPECT_EQ(error.kind(), ErrorKind::not_found) << error.what();
        }
        return;
      case Way::in_parallel:
        if (found != before_) {
          const std::multiset all(added_.begin(), added_.end());
          const std::multiset some(found.begin(), found.end());
          EXPECT_TRUE(std::includes(all.begin(), all.end(), some.begin(), some.end()));
        }
        return;
      case Way::attributes:
        EXPECT_EQ(found, before_);
        return;
    }
  }

  Dice dice_;
  std::string uri_, source_;
  WriteOptions options_;
  Way way_ = Way::replace;
  std::vector<std::int64_t> before_, added_;
  std::uint64_t inner_seed_ = 0;
};

TEST(ShortMemory, EndsWritersWithoutHarm) {
  const std::filesystem::path folder =
      std::filesystem::path(::testing::TempDir()) / ("colonnade-short-memory-" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  const char* const given = std::getenv("COLONNADE_MEMORY_SEED");
  const std::uint64_t first = given != nullptr ? std::strtoull(given, nullptr, 10) : 0;
  for (std::uint64_t seed = first; seed < first + (given != nullptr ? 1 : 40); ++seed) {
    Case one(seed, folder);
    SCOPED_TRACE(fmt::format("COLONNADE_MEMORY_SEED={}: {}", seed, one.text()));
    one.run();
    if (::testing::Test::HasFailure()) break;
  }
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace colonnade
