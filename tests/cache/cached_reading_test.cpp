// End-to-end tests of the cache: whatever it holds, lacks or loses, and whatever fails, values equal those of
// plain reading. Data sets, homes and faults are drawn at random from seeds; COLONNADE_CACHE_SEED replays
// one.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <latch>
#include <map>
#include <random>
#include <thread>

#include "base/interruption.h"
#include "base/test_errors.h"
#include "cache/budget.h"
#include "cache/claims.h"
#include "cache/contents.h"
#include "cache/data_set.h"
#include "cache/filler.h"
#include "cache/home.h"
#include "cache/register.h"
#include "cache_test_tools.h"
#include "io/memory/fault_store.h"
#include "io/memory/memory_store.h"

namespace colonnade {
namespace {

// The file offset of a field's first page.
std::uint64_t place_of_a_page(const std::string& uri, const std::string& field) {
  const auto reader = Reader::open("Events", uri, {.cache = "off"});
  const Descriptor& descriptor = reader->descriptor();
  const std::uint32_t wanted = descriptor.find_field(field);
  std::size_t column = 0;
  while (descriptor.columns.at(column).field != wanted) ++column;
  return descriptor.clusters.at(0).columns.at(column).pages[0].locator.offset;
}

class Home {
 public:
  explicit Home(const io::StoreTraits& traits = {.concurrency = 4}) {
    static std::atomic<int> number = 0;
    uri_ = "memory+obj:cache-" + std::to_string(number++);
    io::set_memory_store_traits(uri_, traits);
    io::wrap_memory_store(uri_,
                          [faults = faults_](auto store) { return with_faults(std::move(store), faults); });
  }
  const std::string& uri() const { return uri_; }
  // A new home for this process: a lost one stays lost for a while.
  std::string again() const {
    static std::atomic<int> number = 0;
    return uri_ + "?timeout=" + std::to_string(20 + number++);
  }
  io::StoreFaults& faults() const { return *faults_; }

 private:
  std::string uri_;
  std::shared_ptr<io::StoreFaults> faults_ = std::make_shared<io::StoreFaults>();
};

TEST(Cache, TheSecondPassReadsNothingOfTheOrigin) {
  const TestFolder folder;
  write(file_in(folder), {});
  for (const std::string& home : {Home().uri(), (folder.path() / "home").string()}) {
    const ReadMetrics first = pass(file_in(folder), home);
    EXPECT_EQ(first.cache, "used");
    EXPECT_EQ(first.cache_pages, 0u);
    EXPECT_EQ(first.cache_added, first.pages);
    const ReadMetrics second = pass(file_in(folder), home);
    EXPECT_EQ(second.cache_pages, second.pages);
    EXPECT_EQ(second.cache_added, 0u);
    EXPECT_LE(second.requests, first.requests + first.pages);
  }
}

TEST(Cache, WhatALaterJobLacksIsAddedAndTheRestServed) {
  const TestFolder folder;
  const Home home;
  write(file_in(folder), {});
  const ReadMetrics first = pass(file_in(folder), home.uri(), {.fields = {"id"}});
  const ReadMetrics mixed = pass(file_in(folder), home.uri(), {.fields = {"id", "weight"}});
  EXPECT_EQ(mixed.cache_pages, first.pages);
  EXPECT_EQ(mixed.cache_added, mixed.pages - first.pages);
  const ReadMetrics third = pass(file_in(folder), home.uri(), {.fields = {"weight", "id"}});
  EXPECT_EQ(third.cache_pages, third.pages);
}

TEST(Cache, PartsOfClustersAreKept) {
  const TestFolder folder;
  const Home home;
  write(file_in(folder), {.entries = 3000, .cluster_size = 1 << 20});
  const ReadMetrics first = pass(file_in(folder), home.uri(), {.first = 500, .last = 900});
  EXPECT_GT(first.cache_added, 0u);
  const ReadMetrics again = pass(file_in(folder), home.uri(), {.first = 500, .last = 900});
  EXPECT_EQ(again.cache_pages, again.pages);
  const ReadMetrics all = pass(file_in(folder), home.uri());
  EXPECT_GT(all.cache_pages, 0u);
  EXPECT_EQ(all.cache_pages + all.cache_added, all.pages);
}

TEST(Cache, AChangedOriginIsAnotherDataSet) {
  const TestFolder folder;
  const std::string home = (folder.path() / "home").string();
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    // Of the same size, page by page.
    write(file_in(folder), {.seed = seed, .entries = 500, .compression = "none"});
    EXPECT_EQ(pass(file_in(folder), home).cache_pages, 0u);
    EXPECT_GT(pass(file_in(folder), home).cache_pages, 0u);
  }
}

TEST(Cache, AStoreThatWasMadeAnewIsAnotherDataSet) {
  const TestFolder folder;
  const std::string origin = "obj://" + (folder.path() / "origin").string();
  const Home home;
  for (std::uint64_t seed = 0; seed < 3; ++seed) {
    std::filesystem::remove_all(folder.path() / "origin");
    write(origin, {.seed = seed, .compression = "none"});
    EXPECT_EQ(pass(origin, home.uri()).cache_pages, 0u);
    const ReadMetrics second = pass(origin, home.uri());
    EXPECT_EQ(second.cache_pages, second.pages);
  }
}

// Modifies, truncates or empties files of a home in a folder.
void spoil(const std::filesystem::path& home, Random& random, unsigned one_in) {
  for (const auto& entry : std::filesystem::recursive_directory_iterator(home)) {
    if (!entry.is_regular_file() || entry.path().filename() == "colonnade-store") continue;
    const std::uint64_t size = entry.file_size();
    if (size == 0 || draw(random, one_in) != 0) continue;
    switch (draw(random, 4)) {
      case 0:
        std::filesystem::resize_file(entry.path(), draw(random, size));
        break;
      case 1:
        std::filesystem::remove(entry.path());
        break;
      default: {
        std::fstream file(entry.path(), std::ios::in | std::ios::out | std::ios::binary);
        file.seekg(static_cast<std::streamoff>(draw(random, size)));
        const auto at = file.tellg();
        const int before = file.get();
        file.seekp(at);
        file.put(static_cast<char>(before ^ (1 << draw(random, 8))));
      }
    }
  }
}

TEST(Cache, DamagedValuesAreReplaced) {
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const TestFolder folder;
    const std::string home = (folder.path() / "home").string();
    write(file_in(folder), Content::any(random));
    pass(file_in(folder), home);
    spoil(home, random, 2);
    pass(file_in(folder), home + "?timeout=3");
    // Another process without any cached state.
    pass(file_in(folder), home + "?timeout=4");
    const ReadMetrics healed = pass(file_in(folder), home + "?timeout=5");
    EXPECT_EQ(healed.cache_pages, healed.pages);
  }
}

// Reading without verification must not make a damaged page of the origin valid for others.
TEST(Cache, DamageOfTheOriginStaysDamage) {
  const TestFolder folder;
  const std::string home = (folder.path() / "home").string();
  write(file_in(folder), {.compression = "none"});
  const Request doubles{.fields = {"weight"}};  // unaffected by the damage
  const std::uint64_t position = place_of_a_page(file_in(folder), "weight");
  {
    std::fstream file(file_in(folder), std::ios::binary | std::ios::in | std::ios::out);
    file.seekg(static_cast<std::streamoff>(position));
    const char spoilt = static_cast<char>(~file.get());
    file.seekp(static_cast<std::streamoff>(position));
    file.put(spoilt);
  }
  ASSERT_EQ(error_of([&] { read_plainly(file_in(folder), doubles); }).kind(), ErrorKind::checksum);
  for (int pass = 0; pass < 2; ++pass) {
    read(*Reader::open("Events", file_in(folder), {.page_checksums = Checksums::off, .cache = home}),
         doubles);
    flush();
    const std::string again = home + "?timeout=" + std::to_string(3 + pass);
    const Error error =
        error_of([&] { read(*Reader::open("Events", file_in(folder), {.cache = again}), doubles); });
    EXPECT_EQ(error.kind(), ErrorKind::checksum) << error.what();
  }
}

// The value of one page must not pass its checksum in another one's position.
TEST(Cache, ValuesInEachOthersPlacesAreNotTaken) {
  const TestFolder folder;
  const std::string home = (folder.path() / "home").string();
  write(file_in(folder), {.compression = "none", .page_size = 1024, .cluster_size = 8192});
  pass(file_in(folder), home);
  std::vector<std::filesystem::path> values;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(home))
    if (entry.is_regular_file() && entry.file_size() > 200 &&
        entry.path().string().find("/0/") == std::string::npos)
      values.push_back(entry.path());
  ASSERT_GT(values.size(), 3u);
  const auto kept = folder.path() / "kept";
  std::filesystem::copy_file(values.front(), kept);
  for (std::size_t i = 0; i + 1 < values.size(); ++i)
    std::filesystem::copy_file(values[i + 1], values[i], std::filesystem::copy_options::overwrite_existing);
  std::filesystem::copy_file(kept, values.back(), std::filesystem::copy_options::overwrite_existing);
  pass(file_in(folder), home + "?timeout=3");
}

TEST(Cache, NothingShowsThatTheHomeFails) {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const TestFolder folder;
    const Home home(draw(random, 2) == 0 ? io::StoreTraits{.concurrency = 4}
                                         : io::StoreTraits{.ranges = false, .vectors = true});
    write(file_in(folder), Content::any(random));
    if (draw(random, 2) == 0) pass(file_in(folder), home.again());
    constexpr std::array kinds = {io::StoreOperation::fetch, io::StoreOperation::update,
                                  io::StoreOperation::list,  io::StoreOperation::get,
                                  io::StoreOperation::size,  io::StoreOperation::remove};
    for (int i = 0; i < 3; ++i) {
      const io::StoreOperation kind = kinds[draw(random, kinds.size())];
      switch (draw(random, 5)) {
        case 0:
          home.faults().fail(kind, draw(random, 20), 1 + draw(random, 20));
          break;
        case 1:
          home.faults().lose_answer(kind, draw(random, 20), 1 + draw(random, 20));
          break;
        case 2:
          home.faults().lose_server(draw(random, 30));
          break;
        case 3:
          home.faults().limit_space(draw(random, 30000));
          break;
        default:
          home.faults().delay(kind, std::chrono::microseconds(draw(random, 2000)));
      }
      const std::uint64_t first = draw(random, 1000);
      const Request what{.fields = {all_fields[draw(random, 4)], all_fields[draw(random, 4)]},
                         .first = 0,
                         .last = draw(random, 2) == 0 ? ~std::uint64_t{0} : first};
      pass(file_in(folder), home.again(), draw(random, 2) == 0 ? Request{} : what,
           {.parallel_decompression = draw(random, 2) == 0});
    }
    home.faults().restore();
    home.faults().limit_space(io::StoreFaults::all);
    pass(file_in(folder), home.again());
    const ReadMetrics last = pass(file_in(folder), home.again());
    EXPECT_EQ(last.cache_pages, last.pages);
  }
}

TEST(Cache, AServerThatHangsIsWaitedForOnce) {
  const TestFolder folder;
  for (const io::StoreOperation kind : {io::StoreOperation::fetch, io::StoreOperation::list}) {
    const Home home;
    write(file_in(folder), {.entries = 3000});
    pass(file_in(folder), home.uri());
    home.faults().hold(kind);
    const std::string slow = home.uri() + "?timeout=0.3";
    const auto begin = std::chrono::steady_clock::now();
    const auto reader = Reader::open("Events", file_in(folder), {.cache = slow});
    expect_equal(read(*reader), read_plainly(file_in(folder)));
    EXPECT_THAT(reader->metrics().cache, ::testing::HasSubstr("lost: no answer within"));
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
    home.faults().release(kind);
  }
}

TEST(Cache, AWaitForAServerThatHangsIsInterrupted) {
  const TestFolder folder;
  const Home home;
  write(file_in(folder), {.entries = 3000});
  pass(file_in(folder), home.uri());
  home.faults().hold(io::StoreOperation::fetch);
  const auto begin = std::chrono::steady_clock::now();
  const auto is_unwanted = [&] {
    return std::chrono::steady_clock::now() - begin > std::chrono::milliseconds(300);
  };
  {
    const auto reader = Reader::open("Events", file_in(folder), {.cache = home.uri() + "?timeout=600"});
    const Interruption interruption(is_unwanted);
    EXPECT_THROW(read(*reader), Interrupted);
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(60));
  home.faults().release(io::StoreOperation::fetch);
}

// Among them what is known of the origin, which makes the next process trust it.
TEST(Cache, FlushWaitsForTasksOfTheHome) {
  const Home here;
  const std::shared_ptr<cache::Home> home = cache::Home::of(cache::parse_settings(here.uri()));
  std::latch goes_on(1);
  home->run_awaited([&] { goes_on.wait(); });
  EXPECT_FALSE(cache::flush(std::chrono::milliseconds(1)));
  goes_on.count_down();
  EXPECT_TRUE(cache::flush(std::chrono::seconds(20)));
}

// Two columns of 80 MB, uncompressed.
void write_large(const std::string& uri) {
  auto model = Model::create();
  auto a = model->make_field<std::vector<double>>("a");
  auto b = model->make_field<std::vector<double>>("b");
  auto writer = Writer::recreate(std::move(model), "Events", uri,
                                 {.compression = "none", .approximate_cluster_size = std::size_t{20} << 20});
  for (int i = 0; i < 100; ++i) {
    a->resize(100'000);
    b->resize(100'000);
    for (std::size_t k = 0; k < a->size(); ++k) {
      (*a)[k] = i + static_cast<double>(k) * 0.5;
      (*b)[k] = -(*a)[k];
    }
    writer->fill();
  }
  writer->close();
}

// Reading continues while the home accepts nothing: the queue is limited, and the rest is dropped. (Nothing
// of a local file that is read from the page cache is kept in memory.)
TEST(Cache, WhatTheHomeDoesNotTakeIsDropped) {
  const TestFolder folder;
  const Home home;
  write_large(file_in(folder));
  home.faults().hold(io::StoreOperation::update);
  {
    const auto reader =
        Reader::open("Events", file_in(folder), {.local_io = LocalIo::threads, .cache = home.uri()});
    const Request all{.fields = {"a", "b"}};
    expect_equal(read(*reader, all), read_plainly(file_in(folder), all));
    const ReadMetrics counted = reader->metrics();
    EXPECT_GT(counted.cache_dropped, 0u);
    EXPECT_GT(counted.cache_added, counted.cache_dropped);
  }
  home.faults().release(io::StoreOperation::update);
  flush();
  const ReadMetrics second = pass(file_in(folder), home.uri(), {.fields = {"a", "b"}});
  EXPECT_GT(second.cache_pages, second.pages / 2);
  EXPECT_LT(second.cache_pages, second.pages);
  const ReadMetrics third = pass(file_in(folder), home.uri(), {.fields = {"a", "b"}});
  EXPECT_EQ(third.cache_pages, third.pages);
}

TEST(Cache, NotAllFilesOfPagesThatWaitAreKeptOpen) {
  const TestFolder folder;
  const Home home;
  const std::string uri = home.again();
  write(file_in(folder), {.entries = 100});
  const auto open_files = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
  };
  home.faults().hold(io::StoreOperation::update);
  const auto before = open_files();
  for (std::size_t i = 0; i < 2 * cache::most_origins; ++i) {
    const std::string file = file_in(folder) + std::to_string(i);
    std::filesystem::create_hard_link(file_in(folder), file);
    static_cast<void>(read(*Reader::open("Events", file, {.cache = uri})));
  }
  EXPECT_LT(open_files() - before, 1.5 * cache::most_origins);
  home.faults().release(io::StoreOperation::update);
  flush();
  EXPECT_LT(open_files() - before, 0.5 * cache::most_origins);
}

TEST(Cache, AHomeThatIsSlowerThanTheOriginIsBypassed) {
  const TestFolder folder;
  const Home home;
  write_large(file_in(folder));
  pass(file_in(folder), home.uri(), {.fields = {"a"}});
  for (const bool may_bypass : {true, false}) {
    // Slower by so much that it still is if this process stands still for a moment while it reads the file.
    home.faults().delay(io::StoreOperation::fetch, std::chrono::milliseconds(may_bypass ? 200 : 5));
    const std::string place = home.uri() + (may_bypass ? "?timeout=60" : "?timeout=61&bypass=no");
    const auto reader = Reader::open("Events", file_in(folder), {.cache = place});
    for (const char* field : {"b", "a"}) {
      const Request one{.fields = {field}};
      expect_equal(read(*reader, one), read_plainly(file_in(folder), one));
    }
    const ReadMetrics counted = reader->metrics();
    EXPECT_GT(counted.cache_pages, 0u);
    if (may_bypass) {
      EXPECT_THAT(counted.cache, ::testing::StartsWith("bypassed: "));
      EXPECT_LT(counted.cache_pages, counted.pages / 2 - 1);  // the rest of "a" came from the origin
    } else {
      EXPECT_EQ(counted.cache, "used");
    }
  }
}

TEST(Cache, AHomeThatCannotBeIsNoFailure) {
  const TestFolder folder;
  write(file_in(folder), {});
  std::ofstream(folder.path() / "file") << "something";
  for (const std::string& home : {(folder.path() / "file").string(), std::string("/proc/nowhere"),
                                  std::string("daos://no/such"), std::string("nothing://is/there")}) {
    const ReadMetrics counted = pass(file_in(folder), home);
    EXPECT_THAT(counted.cache, ::testing::StartsWith("lost: ")) << home;
  }
}

// A percent sign begins a sequence in URIs, but not in paths.
TEST(Cache, AFolderMayHaveAnyName) {
  const TestFolder folder;
  write(file_in(folder), {});
  const auto above = folder.path() / "50% off" / "%41";
  EXPECT_EQ(pass(file_in(folder), (above / "home").string()).cache, "used");
  EXPECT_TRUE(std::filesystem::is_directory(above / "home"));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 2);
}

TEST(Cache, AFileMayHaveAnyName) {
  const TestFolder folder;
  const Home home;
  const std::string file = file_in(folder, "caf\xe9.root");
  write(file, {.entries = 1000});
  pass(file, home.uri());
  EXPECT_GT(pass(file, home.again()).cache_pages, 0u);
}

// While a process runs, somebody removes its home, with the folder above or without.
TEST(Cache, AFolderThatIsRemovedIsMadeAgain) {
  const TestFolder folder;
  const auto path = folder.path() / "above" / "home";
  const std::string& home = path.string();
  write(file_in(folder), {});
  const auto reader = Reader::open("Events", file_in(folder), {.cache = home});
  read(*reader, {.fields = {"id"}});
  for (const auto& removed : {path, path.parent_path()}) {
    pass(file_in(folder), home);
    EXPECT_GT(std::filesystem::remove_all(removed), 0u);
    // Of an open data set, of which the home had everything. It may fill the home again at once.
    expect_equal(read(*reader), read_plainly(file_in(folder)));
    EXPECT_EQ(pass(file_in(folder), home).cache, "used");
    const ReadMetrics second = pass(file_in(folder), home);
    EXPECT_EQ(second.cache_pages, second.pages);
    const auto found = cache::read_register(*io::open_object_store("obj://" + path.string()), true);
    ASSERT_EQ(found.size(), 1u);
    EXPECT_TRUE(found[0].identity) << "what `cache ls` and `gc` need";
    EXPECT_EQ(found[0].users.size(), 1u);
  }
}

// The folder cannot be removed because a process puts pages into it, but what it is there for is gone.
TEST(Cache, AFolderThatIsRemovedWhileItIsFilledIsAHomeAgain) {
  const TestFolder folder;
  const std::string home = (folder.path() / "home").string();
  write(file_in(folder), {});
  pass(file_in(folder), home);
  ASSERT_TRUE(std::filesystem::remove(home + "/colonnade-store"));
  EXPECT_EQ(pass(file_in(folder), home + "?timeout=3").cache, "used");
  const ReadMetrics next = pass(file_in(folder), home + "?timeout=4");
  EXPECT_EQ(next.cache_pages, next.pages);
  EXPECT_EQ(next.cache, "used");
}

TEST(Cache, AHomeKeepsItsBudget) {
  const TestFolder folder;
  const Home home;
  const std::string limited = home.uri() + "?budget=60000";
  Random random(1);
  for (int i = 0; i < 6; ++i) {
    const std::string file = file_in(folder, ("events" + std::to_string(i) + ".root").c_str());
    write(file, {.seed = random(), .entries = 1500, .page_size = 512, .cluster_size = 4000});
    pass(file, limited);
    const auto store = io::open_object_store(home.uri());
    std::uint64_t size = 0;
    for (const cache::RegisterEntry& entry : cache::read_register(*store, false)) size += entry.size();
    EXPECT_LE(size, 60000u);
    EXPECT_GT(size, 20000u);
  }
}

TEST(Cache, PinnedColumnsStayAndTheLongestUnusedGo) {
  const TestFolder folder;
  const Home home;
  std::vector<std::string> files;
  for (int i = 0; i < 3; ++i) {
    files.push_back(file_in(folder, ("events" + std::to_string(i) + ".root").c_str()));
    write(files.back(), {.seed = static_cast<std::uint64_t>(i), .entries = 1000});
  }
  pass(files[0], home.uri(), {.fields = {"id", "weight"}});
  const auto store = io::open_object_store(home.uri());
  const std::vector<cache::RegisterEntry> first = cache::read_register(*store, true);
  ASSERT_EQ(first.size(), 1u);
  ASSERT_EQ(first.front().users.size(), 1u);
  EXPECT_EQ(first.front().identity->uri, files[0]);
  cache::write_pin(*store, first.front().number, cache::Pin{.user = "test", .columns = {0}});
  pass(files[1], home.uri());
  cache::evict(*store, 0, 0, nullptr);
  EXPECT_GT(pass(files[0], home.again(), {.fields = {"id"}}).cache_pages, 0u);
  EXPECT_EQ(pass(files[0], home.again(), {.fields = {"weight"}}).cache_pages, 0u);
  EXPECT_EQ(pass(files[1], home.again()).cache_pages, 0u);
}

// ---- When data were used

using TimeOfCluster = std::map<std::pair<std::uint32_t, std::uint64_t>, std::int64_t>;

TimeOfCluster clusters_of(const cache::Uses& uses) {
  TimeOfCluster all;
  for (const cache::UseRange& range : uses.ranges())
    for (std::uint64_t cluster = range.first; cluster <= range.last; ++cluster)
      EXPECT_TRUE(all.try_emplace({range.column, cluster}, range.time).second);
  return all;
}

cache::Uses some_uses(Random& random) {
  cache::Uses uses;
  for (std::uint32_t column = 0; column < 3; ++column)
    for (std::uint64_t cluster = draw(random, 4); cluster < 20; cluster += draw(random, 4)) {
      const std::uint64_t last = cluster + draw(random, 5);
      EXPECT_TRUE(uses.append({column, cluster, last, static_cast<std::int64_t>(draw(random, 3))}));
      cluster = last + 1;
    }
  return uses;
}

TEST(CacheUses, OfTwoTheLaterTimeCounts) {
  Random random(5);
  for (int i = 0; i < 2000; ++i) {
    const cache::Uses one = some_uses(random);
    const cache::Uses other = some_uses(random);
    TimeOfCluster expected = clusters_of(one);
    for (const auto& [place, time] : clusters_of(other)) {
      const auto [at, is_new] = expected.try_emplace(place, time);
      at->second = std::max(at->second, time);
    }
    const cache::Uses both = cache::Uses::merged(one, other);
    ASSERT_EQ(clusters_of(both), expected);
    for (std::uint32_t column = 0; column < 4; ++column)
      for (std::uint64_t cluster = 0; cluster < 30; ++cluster) {
        const auto found = expected.find({column, cluster});
        ASSERT_EQ(both.time_of(column, cluster),
                  found == expected.end() ? std::nullopt : std::optional(found->second));
      }
    const std::string text = cache::to_json(cache::UserRecord{.user = "me", .uses = both});
    ASSERT_EQ(cache::read_user_record(as_bytes(text)).uses.ranges(), both.ranges());
  }
}

// Others who share a home write them.
TEST(CacheUses, TakeNoMoreMemoryThanTheirText) {
  std::string text = R"({"user":"other","uses":[)";
  for (int column = 0; column < 1000; ++column)
    text += (column == 0 ? "" : ",") + ("[" + std::to_string(column) + ",0,16777215,1]");
  const cache::UserRecord record = cache::read_user_record(as_bytes(text + "]}"));
  EXPECT_EQ(record.uses.ranges().size(), 1000u);
  EXPECT_EQ(record.uses.time_of(999, 12345), 1);
  for (const char* range : {"[1,5,4,1]", "[0,0,16777216,1]", "[0,-1,2,1]", "[1,3,5,1],[1,5,6,1]",
                            "[1,3,5,1],[0,3,5,1]", "[1,3,5]", "[1,3,5,\"x\"]", "3"}) {
    const std::string damaged = R"({"user":"other","uses":[)" + std::string(range) + "]}";
    EXPECT_EQ(error_of([&] { cache::read_user_record(as_bytes(damaged)); }).kind(), ErrorKind::format)
        << range;
  }
}

// Whenever a process is killed, later ones read the right values.
TEST(Cache, KilledAtRandomMoments) {
  const char* const wanted = std::getenv("COLONNADE_CACHE_KILLS");
  const int kills = wanted != nullptr ? std::atoi(wanted) : 100;
  const TestFolder folder;
  const std::string home = (folder.path() / "home").string();
  write(file_in(folder), {.entries = 20000, .page_size = 1024, .cluster_size = 20000});
  const std::vector<ColumnArray> right = read_plainly(file_in(folder));
  Random random(7);
  std::uint64_t served = 0;
  for (int i = 0; i < kills; ++i) {
    std::error_code ignored;
    if (draw(random, 10) == 0) std::filesystem::remove_all(home, ignored);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      try {
        const auto reader =
            Reader::open("Events", file_in(folder), {.cache = home + (i % 3 == 0 ? "?budget=50000" : "")});
        static_cast<void>(read(*reader));
      } catch (...) {
        ::_exit(1);
      }
      cache::flush(std::chrono::seconds(1));
      ::_exit(0);
    }
    std::this_thread::sleep_for(std::chrono::microseconds(draw(random, 30000)));
    ::kill(child, SIGKILL);
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_TRUE(WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
    if (i % 10 != 0) continue;
    const auto reader =
        Reader::open("Events", file_in(folder), {.cache = home + "?timeout=" + std::to_string(100 + i)});
    expect_equal(read(*reader), right);
    served += reader->metrics().cache_pages;
    flush();
  }
  EXPECT_GT(served, 0u);
}

TEST(Cache, RandomDataSetsAndRequestsGiveWhatPlainReadingGives) {
  const char* const wanted = std::getenv("COLONNADE_CACHE_SEED");
  const std::uint64_t first = wanted != nullptr ? std::strtoull(wanted, nullptr, 10) : 0;
  for (std::uint64_t seed = first; seed < first + (wanted != nullptr ? 1 : 20); ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const TestFolder folder;
    const Home memory;
    const bool is_store = draw(random, 3) == 0;
    const std::string origin = is_store ? "obj://" + (folder.path() / "origin").string() : file_in(folder);
    Content content = Content::any(random);
    if (is_store) content.container = Container::root_file;
    write(origin, content);
    const std::string home = draw(random, 2) == 0 ? memory.uri() : (folder.path() / "home").string();
    for (int i = 0; i < 5; ++i) {
      Request what;
      what.fields.clear();
      for (const std::string& field : all_fields)
        if (draw(random, 2) == 0) what.fields.push_back(field);
      if (what.fields.empty()) what.fields = {"pt"};
      if (draw(random, 3) == 0) {
        const std::uint64_t entries = Reader::open("Events", origin)->num_entries();
        what.first = draw(random, entries);
        what.last = what.first + draw(random, entries - what.first + 1);
      }
      pass(origin, home, what,
           {.page_checksums = draw(random, 4) == 0 ? Checksums::off : Checksums::on,
            .read_ahead = std::size_t{1024} << draw(random, 10),
            .parallel_decompression = draw(random, 2) == 0,
            .local_io = draw(random, 3) == 0 ? LocalIo::threads : LocalIo::automatic});
    }
  }
}

TEST(Cache, AForkedChildGoesOnWithoutIt) {
  const TestFolder folder;
  write(file_in(folder), {});
  for (const std::string& home : {Home().uri(), (folder.path() / "home").string()}) {
    const std::vector<ColumnArray> right = read_plainly(file_in(folder));
    pass(file_in(folder), home);
    const auto reader = Reader::open("Events", file_in(folder), {.cache = home});
    static_cast<void>(read(*reader, {.last = 100}));
    const pid_t child = ::fork();
    if (child == 0) {
      ::_exit(are_equal(read(*reader), right) ? 0 : 1);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 0);
  }
}

// ---- One download for all

// What a child process makes of `work`; its exit status.
template <class Work>
pid_t in_a_child(Work&& work) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  try {
    work();
  } catch (...) {
    ::_exit(2);
  }
  ::_exit(0);
}

void expect_success(pid_t child) {
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

TEST(Claims, GoWithTheirProcess) {
  using Turn = cache::Claims::Turn;
  const TestFolder folder;
  const std::string path = (folder.path() / "claims").string();
  cache::Claims claims(path);
  const auto me = claims.add_reader();
  const auto other = claims.add_reader();
  EXPECT_EQ(claims.take({7}, me), Turn::ours_now);
  EXPECT_EQ(claims.take({7}, me), Turn::ours);
  EXPECT_EQ(claims.take({7}, other), Turn::ours);  // in the same thread, waiting for it would never end
  std::thread([&] { EXPECT_EQ(claims.take({7}, other), Turn::others); }).join();
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const pid_t child = in_a_child([&] {
    cache::Claims own(path);
    const bool right = own.take({7}, me) == Turn::others && own.is_others({7}, me) &&
                       own.take({8}, me) == Turn::ours_now && own.has_company(me);
    if (::write(ends[1], right ? "y" : "n", 1) == 1) ::pause();
  });
  char answer = 0;
  ASSERT_EQ(::read(ends[0], &answer, 1), 1);
  EXPECT_EQ(answer, 'y');
  EXPECT_EQ(claims.take({8}, me), Turn::others);
  EXPECT_TRUE(claims.is_others({8}, me));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_FALSE(claims.is_others({8}, me));
  EXPECT_EQ(claims.take({8}, me), Turn::ours_now);
  claims.release_all(me);
  EXPECT_FALSE(claims.is_others({7}, other));
}

// The claims of a reader that is gone are released when its pages are written: the next reader, which may
// have its address, keeps its own.
TEST(Claims, OfAReaderThatIsGoneAreNotThoseOfTheNext) {
  const TestFolder folder;
  cache::Claims claims((folder.path() / "claims").string());
  const auto gone = claims.add_reader();
  const auto next = claims.add_reader();
  EXPECT_NE(gone, next);
  EXPECT_EQ(claims.take({7}, gone), cache::Claims::Turn::ours_now);
  EXPECT_EQ(claims.take({8}, next), cache::Claims::Turn::ours_now);
  std::thread([&] { EXPECT_EQ(claims.take({7}, next), cache::Claims::Turn::others); }).join();
  claims.release_all(gone);
  EXPECT_EQ(claims.take({7}, next), cache::Claims::Turn::ours_now);
  EXPECT_EQ(claims.take({8}, next), cache::Claims::Turn::ours);
}

TEST(Claims, CannotBeMadeAndNobodyCares) {
  cache::Claims claims("/proc/nowhere");
  const auto me = claims.add_reader();
  EXPECT_EQ(claims.take({7}, me), cache::Claims::Turn::ours_now);
  EXPECT_FALSE(claims.is_others({7}, me));
  EXPECT_FALSE(claims.has_company(me));
}

// Whatever the order, the system has one lock for windows that follow each other, and so never many.
TEST(Claims, OfConsecutiveWindowsAreOneLock) {
  const TestFolder folder;
  const std::string path = (folder.path() / "claims").string();
  cache::Claims claims(path);
  const auto me = claims.add_reader();
  constexpr std::uint64_t clusters = 300;
  constexpr std::size_t windows = 3;
  std::vector<std::pair<std::uint64_t, std::size_t>> all;
  for (std::uint64_t cluster = 0; cluster < clusters; ++cluster)
    for (std::size_t window = 0; window < windows; ++window) all.emplace_back(cluster, window);
  std::ranges::shuffle(all, Random(1));
  for (const auto& [cluster, window] : all)
    EXPECT_EQ(claims.take(cache::claim_of(1, 2, cluster, window, windows), me),
              cache::Claims::Turn::ours_now);
  const int file = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  const auto lock_at = [&](const cache::Claim& claim) {
    struct flock found{};
    found.l_type = F_WRLCK;
    found.l_whence = SEEK_SET;
    found.l_start = static_cast<off_t>(claim.at) + 1;
    found.l_len = 1;
    EXPECT_EQ(::fcntl(file, F_OFD_GETLK, &found), 0);
    return found;
  };
  const cache::Claim first = cache::claim_of(1, 2, 0, 0, windows);
  const cache::Claim last = cache::claim_of(1, 2, clusters - 1, windows - 1, windows);
  const struct flock held = lock_at(cache::claim_of(1, 2, clusters / 2, 1, windows));
  EXPECT_EQ(held.l_type, F_WRLCK);
  EXPECT_EQ(held.l_start, static_cast<off_t>(first.at) + 1);
  EXPECT_EQ(held.l_len, static_cast<off_t>(last.at + last.size - first.at));
  claims.release_all(me);
  EXPECT_EQ(lock_at(first).l_type, F_UNLCK);
  EXPECT_EQ(lock_at(last).l_type, F_UNLCK);
  ::close(file);
}

// A process that has claimed pages and then sleeps, is stopped while it reads, or is killed costs others no
// more than a moment.
TEST(Cache, NobodyWaitsLongForAnotherProcess) {
  for (const int signal : {0, SIGSTOP, SIGKILL}) {
    SCOPED_TRACE(signal);
    const TestFolder folder;
    const std::string home = (folder.path() / "home").string();
    write(file_in(folder), {.entries = 20000, .page_size = 1024, .cluster_size = 20000});
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    const pid_t child = in_a_child([&] {
      const auto reader =
          Reader::open("Events", file_in(folder), {.local_io = LocalIo::threads, .cache = home});
      static_cast<void>(read(*reader, {.last = 2000}));
      const bool is_told = ::write(ends[1], "r", 1) == 1;
      std::uint64_t first = 2000;
      const bool goes_on = is_told && signal != 0;
      while (goes_on) {
        static_cast<void>(read(*reader, {.first = first, .last = first + 2000}));
        first = (first + 2000) % 20000;
      }
      ::pause();
    });
    char answer = 0;
    ASSERT_EQ(::read(ends[0], &answer, 1), 1);
    if (signal != 0) ::kill(child, signal);
    const auto begin = std::chrono::steady_clock::now();
    // As if the file were far: pages of local files are not worth waiting for.
    pass(file_in(folder), home + "?timeout=0.5", {}, {.local_io = LocalIo::threads});
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(15));
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    pass(file_in(folder), home + "?timeout=3");
    const ReadMetrics last = pass(file_in(folder), home + "?timeout=4");
    EXPECT_EQ(last.cache_pages, last.pages);
  }
}

// Copies a home to another one as a process would fill it over a very slow line: all is claimed at once, and
// a value arrives every 250 ms. Writes a byte once the claims are there.
void fill_slowly(const std::string& from, const std::string& to, int told) {
  const auto source = io::open_object_store("obj://" + from);
  const auto target = io::open_object_store("obj://" + to, {.create = true});
  cache::Claims claims(to + "/claims");
  const auto me = claims.add_reader();
  const std::vector<cache::RegisterEntry> entries = cache::read_register(*source, false);
  for (const cache::RegisterEntry& entry : entries)
    for (const auto& [column, runs] : entry.columns)
      for (const cache::RunKey& run : runs)
        claims.take(cache::claim_of(entry.number, column, run.cluster, 0, 1), me);
  if (::write(told, "r", 1) != 1) return;
  for (const cache::RegisterEntry& entry : entries)
    for (const auto& [column, runs] : entry.columns)
      for (const cache::RunKey& run : runs) {
        std::this_thread::sleep_for(std::chrono::milliseconds(250));
        const io::ValueAddress address = cache::pages_value(entry.number, column, run);
        Bytes bytes(source->size(address).value());
        const io::FetchItem whole{address.akey, 0, bytes};
        source->fetch(address.object, address.dkey, {&whole, 1});
        const io::UpdateItem item{address.akey, {bytes}};
        target->update(address.object, address.dkey, {&item, 1});
        claims.release(cache::claim_of(entry.number, column, run.cluster, 0, 1));
      }
}

// Pages that arrive, but much more slowly than from the origin, are not waited for until the end: the other
// process is still at it when all has been read.
TEST(Cache, NobodyFollowsASlowProcess) {
  const TestFolder folder;
  const std::string ready = (folder.path() / "ready").string();
  const std::string home = (folder.path() / "home").string();
  write(file_in(folder), {.entries = 20000, .page_size = 1024, .cluster_size = 10000});
  pass(file_in(folder), ready);
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const pid_t child = in_a_child([&] { fill_slowly(ready, home, ends[1]); });
  char answer = 0;
  ASSERT_EQ(::read(ends[0], &answer, 1), 1);
  pass(file_in(folder), home + "?timeout=0.3", {}, {.local_io = LocalIo::threads});
  EXPECT_EQ(::waitpid(child, nullptr, WNOHANG), 0);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
}

// Processes that read the same at the same time, some of them killed.
TEST(Cache, ManyProcessesReadAndFillSideBySide) {
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const TestFolder folder;
    const std::string home = (folder.path() / "home").string();
    Content content = Content::any(random);
    content.entries = 5000;
    write(file_in(folder), content);
    const std::vector<ColumnArray> right = read_plainly(file_in(folder));
    std::vector<pid_t> children;
    for (int i = 0; i < 5; ++i)
      children.push_back(in_a_child([&] {
        for (int pass = 0; pass < 2; ++pass) {
          const auto reader = Reader::open("Events", file_in(folder),
                                           {.parallel_decompression = i % 2 == 0,
                                            .local_io = seed < 3 ? LocalIo::threads : LocalIo::automatic,
                                            .cache = home});
          if (!are_equal(read(*reader), right)) ::_exit(3);
        }
        cache::flush(std::chrono::seconds(10));
      }));
    const bool kills = seed % 2 == 1;
    if (kills) {
      std::this_thread::sleep_for(std::chrono::milliseconds(draw(random, 30)));
      ::kill(children.front(), SIGKILL);
      ::waitpid(children.front(), nullptr, 0);
      children.erase(children.begin());
    }
    for (const pid_t child : children) expect_success(child);
    pass(file_in(folder), home + "?timeout=3");
    const ReadMetrics last = pass(file_in(folder), home + "?timeout=4");
    EXPECT_EQ(last.cache_pages, last.pages);
  }
}

TEST(Cache, ProcessesKeepTheBudgetTogether) {
  constexpr std::uint64_t budget = 100000;
  const TestFolder folder;
  const std::string home = (folder.path() / "home").string();
  std::vector<std::string> files;
  for (int i = 0; i < 6; ++i) {
    files.push_back(file_in(folder, ("events" + std::to_string(i) + ".root").c_str()));
    write(files.back(),
          {.seed = static_cast<std::uint64_t>(i), .entries = 2500, .page_size = 1024, .cluster_size = 8000});
  }
  for (int round = 0; round < 3; ++round) {
    std::vector<pid_t> children;
    for (const std::string& file : files)
      children.push_back(in_a_child([&] {
        const std::vector<ColumnArray> right = read_plainly(file);
        {
          const auto reader = Reader::open("Events", file, {.cache = home + "?budget=100000"});
          if (!are_equal(read(*reader), right)) ::_exit(3);
        }
        cache::flush(std::chrono::seconds(10));
      }));
    for (const pid_t child : children) expect_success(child);
    std::uint64_t size = 0;
    const auto store = io::open_object_store("obj://" + home);
    for (const cache::RegisterEntry& entry : cache::read_register(*store, false)) size += entry.size();
    EXPECT_LE(size, budget);
    EXPECT_GT(size, budget / 5);
  }
}

TEST(CacheSettings, OriginsAreNamedWithoutSecrets) {
  using cache::origin_name;
  EXPECT_EQ(origin_name("root://host//f.root?authz=a.b.c"), origin_name("root://host//f.root?authz=d.e.f"));
  EXPECT_EQ(origin_name("https://me:secret@host/f.root"), "https://***@host/f.root");
  EXPECT_NE(origin_name("https://host/f.root?part=1"), origin_name("https://host/f.root?part=2"));
  EXPECT_EQ(origin_name("/a/b/../c.root"), "/a/c.root");
}

TEST(CacheSettings, AreReadFromTexts) {
  using cache::parse_settings;
  EXPECT_EQ(parse_settings("/a/b").store, "obj:///a/b");
  EXPECT_EQ(parse_settings("/a/b/../c?budget=2 GB").budget, 2000000000u);
  EXPECT_EQ(parse_settings("obj:///a?budget=1.5KiB&timeout=3").budget, 1536u);
  EXPECT_EQ(parse_settings("rados://p/n?conf=x&budget=1TB&id=me").store, "rados://p/n?conf=x&id=me");
  EXPECT_EQ(parse_settings("s3://b/p").store, "s3://b/p");
  EXPECT_EQ(parse_settings("s3://b/p?store").store, "s3://b/p?store");
  EXPECT_EQ(parse_settings("s3://b/p?bypass=no").bypass, false);
  EXPECT_EQ(parse_settings("/a?trust=600").trust, std::chrono::seconds(600));
  EXPECT_TRUE(parse_settings("/a?offline=yes").offline);
  EXPECT_EQ(error_of([] { parse_settings("/a?trust=soon"); }).kind(), ErrorKind::usage);
  EXPECT_EQ(error_of([] { parse_settings("/a?timeout=0"); }).kind(), ErrorKind::usage);
  for (const char* off : {"off", "none", "off?budget=1TB"})
    EXPECT_TRUE(cache::settings_for(off, true).store.empty()) << off;
  EXPECT_EQ(error_of([] { parse_settings("/a?budget=many"); }).kind(), ErrorKind::usage);
  EXPECT_EQ(error_of([] { parse_settings("/a?timeout=-1"); }).kind(), ErrorKind::usage);
  for (const char* text : {"/a?bugdet=1", "obj:///a?budget=1&trsut=1", "s3://b/p?ofline=yes"})
    EXPECT_THAT(error_of([&] { parse_settings(text); }).problem(), ::testing::HasSubstr("has no setting"))
        << text;
}

}  // namespace
}  // namespace colonnade
