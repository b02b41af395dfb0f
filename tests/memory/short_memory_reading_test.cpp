// Readers and data frames when memory is short: whatever allocation fails, in whatever thread, nothing ends
// the program or waits for ever, what is read is right, and reading again with memory succeeds. Places,
// options and the allocation are drawn at random from seeds; COLONNADE_MEMORY_SEED replays one.
#include <gmock/gmock.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/test_folder.h"
#include "base/test_short_memory.h"
#include "cache/home.h"
#include "colonnade/chain.h"
#include "colonnade/dataframe.h"
#include "colonnade/reader.h"
#include "colonnade/writer.h"
#include "dataset/chains/file_names.h"
#include "io/http/http_engine.h"
#include "io/http/http_test_server.h"
#include "io/http/http_url.h"
#include "io/memory/memory_file.h"
#include "io/memory/memory_store.h"

namespace colonnade {
namespace {

using testing::Shortage;
using testing::ShortMemory;

using Dice = std::mt19937_64;

std::uint64_t draw(Dice& dice, std::uint64_t first, std::uint64_t last) {
  return first + dice() % (last - first + 1);
}

std::string text_of(std::int64_t number) {
  return std::string(static_cast<std::size_t>(number % 7), 'a');
}

class Case {
 public:
  using Way = void (Case::*)(const Shortage&) const;

  Case(std::uint64_t seed, const std::filesystem::path& folder, const std::string& server) : dice_(seed) {
    const std::string name = std::to_string(seed);
    const std::string file = (folder / (name + ".root")).string();
    const std::string places[] = {"memory:short-read-" + name, file, "obj://" + (folder / name).string(),
                                  "memory+obj:short-read-" + name, server + file};
    const std::size_t place = dice_() % (server.empty() ? 4 : 5);
    uri_ = places[place];
    written_ = place == 4 ? file : uri_;
    entries_ = static_cast<std::int64_t>(draw(dice_, 1, 3000));
    const LocalIo ways[] = {LocalIo::automatic, LocalIo::pread, LocalIo::threads, LocalIo::mmap};
    reading_.local_io = ways[dice_() % std::size(ways)];
    reading_.memory_budget = draw(dice_, 10'000, 1'000'000);
    reading_.read_ahead = draw(dice_, 0, 20'000);
    reading_.parallel_decompression = dice_() % 2 == 0;
    plenty_.everywhere = dice_() % 2 == 0;
    plenty_.smallest = dice_() % 3 == 0 ? 1000 : 0;
    if (dice_() % 3 == 0) {
      reading_.cache = (folder / ("cache-" + name)).string();
      // Its threads write JSON, and the library for that allocates a little in destructors.
      if (plenty_.everywhere) plenty_.smallest = 1000;
    }
    write();
    const Way all[] = {&Case::by_views, &Case::by_arrays, &Case::by_chain, &Case::by_frame,
                       &Case::by_snapshot};
    step_ = draw(dice_, 50, 1000);
    goes_on_ = dice_() % 2 == 0;
    way_ = dice_() % std::size(all);
    read_ = all[way_];
  }
  ~Case() {
    cache::flush(std::chrono::seconds(10));
    for (const std::string& uri : {written_, snapshot()}) {
      io::remove_memory_file(uri);
      io::remove_memory_store(uri);
      std::filesystem::remove_all(uri.starts_with("obj://") ? uri.substr(6) : uri);
    }
  }
  Case(const Case&) = delete;
  Case& operator=(const Case&) = delete;

  void run() {
    (this->*read_)(plenty_);
    const auto needed = static_cast<std::uint64_t>(std::max(ShortMemory::used(), 1L));
    for (int attempt = 0; attempt < 12 && !::testing::Test::HasFailure(); ++attempt) {
      Shortage shortage = plenty_;
      shortage.for_good = dice_() % 2 == 0;
      shortage.allocations = static_cast<long>(dice_() % needed);
      SCOPED_TRACE(shortage.text());
      succeeds([&] { (this->*read_)(shortage); });
      (this->*read_)(plenty_);
    }
  }
  // How often memory was missing.
  static int failures() noexcept { return failures_; }
  std::string text() const { return fmt::format("way {} from {}", way_, uri_); }

 private:
  void write() {
    auto model = Model::create();
    const auto number = model->make_field<std::int64_t>("number");
    const auto text = model->make_field<std::string>("text");
    const auto list = model->make_field<std::vector<float>>("list");
    WriteOptions options;
    options.approximate_cluster_size = draw(dice_, 500, 20'000);
    options.max_page_size = draw(dice_, 64, 4000);
    options.initial_page_size = 64;
    options.compression = dice_() % 2 == 0 ? "none" : "zstd:1";
    const auto writer = Writer::recreate(std::move(model), "E", written_, options);
    for (std::int64_t i = 0; i < entries_; ++i) {
      *number = i;
      *text = text_of(i);
      list->assign(static_cast<std::size_t>(i % 4), static_cast<float>(i));
      writer->fill();
      if (i % 1000 == 999) writer->commit_cluster();
    }
    writer->close();
  }

  // The check may not allocate by gtest's messages while memory is short.
  static void check(bool is_right) {
    if (is_right) return;
    ShortMemory::end();
    FAIL() << "wrong values";
  }
  template <class AnyReader>
  void check_views(AnyReader& reader, std::uint64_t files) const {
    auto number = reader.template view<std::int64_t>("number");
    auto text = reader.template view<std::string>("text");
    auto list = reader.template view<std::vector<float>>("list");
    check(reader.num_entries() == files * static_cast<std::uint64_t>(entries_));
    for (std::uint64_t entry = 0; entry < reader.num_entries(); ++entry) {
      const auto i = static_cast<std::int64_t>(entry) % entries_;
      check(number(entry) == i && text(entry).size() == static_cast<std::size_t>(i % 7) &&
            list(entry).size() == static_cast<std::size_t>(i % 4));
    }
  }
  // False: there was no memory. It has no other reason to fail.
  template <class Work>
  static bool succeeds(const Work& work) {
    try {
      work();
      return true;
    } catch (const std::bad_alloc&) {
      ShortMemory::end();
    } catch (const Error& error) {
      ShortMemory::end();
      EXPECT_EQ(error.kind(), ErrorKind::resource) << error.what();
    }
    ++failures_;
    return false;
  }
  // What failed is done again, when there is memory, with the same objects.
  template <class Work>
  static void twice(const Work& work) {
    if (!succeeds(work)) work();
  }
  void by_views(const Shortage& shortage) const {
    const ShortMemory memory(shortage);
    const auto reader = Reader::open("E", uri_, reading_);
    twice([&] { check_views(*reader, 1); });
  }
  void by_chain(const Shortage& shortage) const {
    const ShortMemory memory(shortage);
    const auto reader = ChainReader::open("E", {uri_, uri_, uri_}, {.read = reading_});
    twice([&] { check_views(*reader, 3); });
  }
  void by_arrays(const Shortage& shortage) const {
    const ShortMemory memory(shortage);
    const auto reader = Reader::open("E", uri_, reading_);
    const std::vector<std::string> paths{"number", "text", "list"};
    twice([&] {
      for (std::uint64_t first = 0; first < reader->num_entries(); first += step_) {
        const std::uint64_t last = std::min(first + step_, reader->num_entries());
        const std::uint64_t next = std::min(last + step_, reader->num_entries());
        const auto arrays = reader->arrays(paths, first, last, goes_on_ ? next : 0);
        check(arrays.front().size == last - first);
        for (auto expected = static_cast<std::int64_t>(first);
             const auto number : arrays.front().view<std::int64_t>())
          check(number == expected++);
      }
    });
  }
  // Booking is left out: it keeps options as JSON.
  void by_frame(const Shortage& shortage) const {
    const DataFrame df("E", uri_, {.threads = 2, .read = reading_});
    const auto odd = df.filter("number % 2 == 1").define("y", "number * 2.5");
    auto histogram = odd.histo1d({"h", "", 10, 0, 3000}, "number");
    auto sum = odd.sum("y");
    auto items = df.sum("list");
    const std::int64_t count = entries_ / 2;
    const ShortMemory memory(shortage);
    twice([&] {
      check(histogram->entries == static_cast<std::uint64_t>(count));
      check(static_cast<double>(*sum) == 2.5 * static_cast<double>(count * count));
      check(*items >= 0);
    });
  }
  void by_snapshot(const Shortage& shortage) const {
    const DataFrame df("E", uri_, {.threads = 2, .read = reading_});
    auto written = df.filter("number % 3 == 0").snapshot_later("S", snapshot(), {"number", "text", "list"});
    {
      const ShortMemory memory(shortage);
      twice([&] { *written; });
    }
    const auto reader = Reader::open("S", snapshot());
    check(reader->num_entries() == static_cast<std::uint64_t>((entries_ + 2) / 3));
    auto number = reader->view<std::int64_t>("number");
    for (const std::uint64_t entry : reader->entries())
      check(number(entry) == static_cast<std::int64_t>(3 * entry));
  }
  std::string snapshot() const { return "memory:short-snapshot-" + std::to_string(entries_); }

  static inline int failures_ = 0;

  Dice dice_;
  Shortage plenty_{.allocations = 1L << 40};  // never reached
  std::string uri_;
  std::string written_;  // the place as the writer knows it
  std::int64_t entries_ = 0;
  ReadOptions reading_;
  std::uint64_t step_ = 0;  // entries of arrays
  bool goes_on_ = false;    // and whether it is said which come next
  std::size_t way_ = 0;
  Way read_ = nullptr;
};

// Serves files by their paths in a process that has memory. Its URL is empty where there is no HTTP.
class Server {
 public:
  Server() {
    if (!io::HttpEngine::is_built_in()) return;
    int ends[2] = {};
    if (::pipe(ends) != 0) throw std::runtime_error("no pipe");
    process_ = ::fork();
    if (process_ == 0) serve(ends[1]);
    ::close(ends[1]);
    std::array<char, 100> url{};
    if (::read(ends[0], url.data(), url.size() - 1) <= 0) throw std::runtime_error("no server");
    ::close(ends[0]);
    url_ = url.data();
  }
  ~Server() {
    if (process_ <= 0) return;
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
  }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  const std::string& url() const noexcept { return url_; }

 private:
  [[noreturn]] static void serve(int tell) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    const io::HttpTestServer server([](const io::TestRequest& request) {
      std::ifstream file(request.target, std::ios::binary);
      const io::HttpContent content{.bytes = {std::istreambuf_iterator<char>(file), {}}};
      return content.bytes.empty() ? io::TestAnswer{.status = 404} : content.answer_to(request);
    });
    const std::string url = server.url();
    if (::write(tell, url.data(), url.size()) < 0) ::_exit(1);
    while (true) ::pause();
  }

  pid_t process_ = 0;
  std::string url_;
};

TEST(ShortMemory, EndsReadersWithoutHarm) {
  const Server server;
  const std::filesystem::path folder = std::filesystem::path(::testing::TempDir()) /
                                       ("colonnade-short-memory-read-" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  const char* const given = std::getenv("COLONNADE_MEMORY_SEED");
  const std::uint64_t first = given != nullptr ? std::strtoull(given, nullptr, 10) : 0;
  for (std::uint64_t seed = first; seed < first + (given != nullptr ? 1 : 30); ++seed) {
    Case one(seed, folder, server.url());
    SCOPED_TRACE(fmt::format("COLONNADE_MEMORY_SEED={}: {}", seed, one.text()));
    one.run();
    if (::testing::Test::HasFailure()) break;
  }
  EXPECT_TRUE(given != nullptr || Case::failures() > 0);
  std::filesystem::remove_all(folder);
}

// What libraries for C allocate is given back: AddressSanitizer would report it at the end.
template <class Work>
void fail_each_allocation(const Work& work) {
  for (long allocations = 0;; ++allocations) {
    try {
      const ShortMemory memory({.allocations = allocations});
      work();
    } catch (const std::bad_alloc&) {
      continue;
    }
    if (!ShortMemory::failed()) return;
  }
}

TEST(ShortMemory, LeavesNothingOfNames) {
  const TestFolder folder;
  const std::string names[] = {folder.path().string() + "/a-name-that-does-not-fit-into-a-string*.root"};
  for (const char number : {'1', '2'}) {
    std::string name = names[0];
    std::ofstream(name.replace(name.find('*'), 1, 1, number)) << "content";
  }
  fail_each_allocation([&] { EXPECT_EQ(dataset::expand_names(names).size(), 2); });
  if (!io::HttpEngine::is_built_in()) return;
  const std::string url =
      "http://an-unusually-long-name-of-a-host.example/an/unusually/long/path/of/a/file?query";
  fail_each_allocation([&] { EXPECT_EQ(io::parse_http_url(url).query, "query"); });
}

}  // namespace
}  // namespace colonnade
