// Concurrent uses that are allowed: reading one file with several readers, reading one descriptor, using
// entries of one model, writing different files. Run under ThreadSanitizer.
#include <barrier>
#include <thread>

#include "dataset/test_round_trip.h"

namespace threads_test {

struct Event {
  std::int32_t id = 0;
  std::vector<std::string> names;
  std::map<std::int16_t, std::optional<float>> values;
  std::variant<int, std::vector<double>> choice;
};

}  // namespace threads_test

namespace colonnade {
namespace {

using testing::MemoryFile;
using threads_test::Event;

constexpr int threads = 4;

// Starts the threads at the same moment; a failed expectation in one of them fails the test.
template <class Work>
void run_together(Work&& work) {
  std::barrier start(threads);
  std::vector<std::jthread> running;
  for (int t = 0; t < threads; ++t)
    running.emplace_back([&, t] {
      start.arrive_and_wait();
      try {
        work(t);
      } catch (const std::exception& error) {
        ADD_FAILURE() << "thread " << t << ": " << error.what();
      }
    });
}

TEST(Threads, ReadOneFileEachWithItsOwnReader) {
  const MemoryFile file;
  const auto values = testing::random_values<Event>(120);
  testing::write_values(file.uri(), values, testing::tiny_pieces());
  run_together([&](int t) {
    auto reader = Reader::open("Data", file);
    auto view = reader->view<Event>("x");
    testing::Random random(static_cast<std::uint64_t>(t));
    for (int n = 0; n < 200; ++n) {
      const std::uint64_t i = random() % values.size();
      if (!testing::same(view(i), values[i])) ADD_FAILURE() << "entry " << i;
    }
    for (std::uint64_t i = 0; i < values.size(); i += 7) reader->load_entry(i);
    const std::vector<std::string> paths = {"x"};
    if (reader->arrays(paths, 0, values.size()).empty()) ADD_FAILURE() << "no arrays";
    reader->verify();
  });
}

TEST(Threads, LookAtOneDescriptor) {
  const MemoryFile file;
  testing::write_values(file.uri(), testing::random_values<Event>(30), {});
  const auto reader = Reader::open("Data", file);
  const Descriptor& descriptor = reader->descriptor();
  run_together([&](int) {
    for (int n = 0; n < 100; ++n) {
      const std::uint32_t field = descriptor.find_field("x.names._0");
      if (descriptor.path_of(field) != "x.names._0") ADD_FAILURE() << "another path";
      if (descriptor.cluster_of_entry(29) + 1 != descriptor.clusters.size())
        ADD_FAILURE() << "another cluster";
      const Descriptor copy = descriptor;
      if (copy.entries() != 30) ADD_FAILURE() << "another number of entries";
    }
  });
}

TEST(Threads, WriteDifferentFilesWithEveryCompression) {
  const char* const settings[] = {"zstd:5", "lz4:4", "zlib:1", "lzma:1", "none"};
  run_together([&](int t) {
    for (const char* setting : settings) {
      const MemoryFile file;
      const auto values = testing::random_values<Event>(60, static_cast<std::uint64_t>(t));
      testing::write_values(file.uri(), values, {.compression = setting, .max_page_size = 128});
      auto view = Reader::open("Data", file)->view<Event>("x");
      for (std::uint64_t i = 0; i < values.size(); ++i)
        if (!testing::same(view(i), values[i])) ADD_FAILURE() << "entry " << i;
    }
  });
}

TEST(Threads, ReadWhatAnotherThreadHasCommitted) {
  const MemoryFile file;
  auto model = Model::create();
  auto x = model->make_field<std::int64_t>("x");
  auto writer = Writer::recreate(std::move(model), "Data", file, {.compression = "none"});
  writer->commit_data_set();
  std::atomic<std::uint64_t> committed{0};
  std::atomic<bool> done{false};
  std::atomic<int> reads{0};
  std::jthread reading([&] {
    while (!done) {
      const std::uint64_t sure = committed;
      try {
        auto reader = Reader::open("Data", file);
        if (reader->num_entries() < sure) ADD_FAILURE() << reader->num_entries() << " of " << sure;
        auto view = reader->view<std::int64_t>("x");
        for (std::uint64_t i = 0; i < reader->num_entries(); ++i)
          if (view(i) != static_cast<std::int64_t>(i)) ADD_FAILURE() << "entry " << i;
      } catch (const Error& error) {
        // A commit may switch the head of the file while it is read; that must cause an error, never wrong
        // values.
        if (error.kind() != ErrorKind::format && error.kind() != ErrorKind::checksum &&
            error.kind() != ErrorKind::not_found && error.kind() != ErrorKind::io)
          ADD_FAILURE() << error.what();
      }
      ++reads;
    }
  });
  for (int n = 0; n < 40 || (reads < 30 && n < 400); ++n) {
    for (int i = 0; i < 50; ++i) {
      *x = static_cast<std::int64_t>(writer->num_entries());
      writer->fill();
    }
    writer->commit_data_set();
    committed = writer->num_entries();
  }
  writer->close();
  done = true;
}

TEST(Threads, EntriesOfOneModelBelongToDifferentThreads) {
  const auto model = Model::create();
  model->make_field<Event>("x");
  run_together([&](int t) {
    for (int n = 0; n < 50; ++n) {
      const auto entry = model->make_entry();
      entry->ptr<Event>("x")->id = t;
      entry->ptr<Event>("x")->names.assign(3, "name");
      if (entry->ptr<Event>("x")->id != t) ADD_FAILURE() << "another value";
    }
  });
}

}  // namespace
}  // namespace colonnade
