// One conformance suite for every kind of home: a folder, and object stores in a folder, in S3, RADOS and
// DAOS (the stand-in). The first and the last run by themselves, the others with their servers.
#include <gmock/gmock.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <thread>

#include "base/test_errors.h"
#include "cache/register.h"
#include "cache_test_tools.h"
#include "colonnade/cache.h"
#include "io/daos/daos_test_tools.h"

namespace colonnade {
namespace {

std::string number() {
  static std::atomic<int> last = 0;
  return std::to_string(::getpid()) + "-" + std::to_string(++last);
}

const char* variable(const char* name) {
  const char* const value = std::getenv(name);
  if (value == nullptr) throw std::runtime_error(std::string(name) + " is not set: see tests/servers");
  return value;
}

// Inside of its life a process stands still.
class Stopped {
 public:
  explicit Stopped(const char* pid) : pid_(std::atoi(variable(pid))) { ::kill(pid_, SIGSTOP); }
  ~Stopped() { ::kill(pid_, SIGCONT); }
  Stopped(const Stopped&) = delete;
  Stopped& operator=(const Stopped&) = delete;

 private:
  pid_t pid_;
};

// While it stands, DAOS serves nothing.
class DaosStops {
 public:
  DaosStops() { io::daos::Standin::get().set("stopped", 1); }
  ~DaosStops() { io::daos::Standin::get().set("stopped", 0); }
  DaosStops(const DaosStops&) = delete;
  DaosStops& operator=(const DaosStops&) = delete;
};

struct Kind {
  const char* name;
  std::string (*fresh)(const TestFolder&);
  // As long as what it gives lives, the home is lost.
  std::shared_ptr<void> (*lose)(const std::string& home);
};

// A folder that is moved away: what was open of it goes on, which is no loss to anybody.
std::shared_ptr<void> hide(const std::string& home) {
  const std::string path = home.substr(home.starts_with("obj://") ? 6 : 0);
  std::filesystem::rename(path, path + ".away");
  std::ofstream(path) << "something else";
  return {nullptr, [path](void*) {
            std::filesystem::remove(path);
            std::filesystem::rename(path + ".away", path);
          }};
}

const std::array kinds = {
    Kind{"Folder", [](const TestFolder& folder) { return (folder.path() / "home").string(); }, hide},
    Kind{"Store", [](const TestFolder& folder) { return "obj://" + (folder.path() / "home").string(); },
         hide},
    Kind{"S3",
         [](const TestFolder&) {
           return std::string("s3://") + variable("COLONNADE_TEST_S3_BUCKET") + "/cache-" + number();
         },
         [](const std::string&) -> std::shared_ptr<void> {
           return std::make_shared<Stopped>("COLONNADE_TEST_S3_PID");
         }},
    Kind{"Rados",
         [](const TestFolder&) {
           return std::string("rados://") + variable("COLONNADE_TEST_RADOS_POOL") + "/cache-" + number();
         },
         [](const std::string&) -> std::shared_ptr<void> {
           return std::make_shared<Stopped>("COLONNADE_TEST_CEPH_OSD_PID");
         }},
    Kind{"Daos", [](const TestFolder&) { return io::daos::fresh_daos_uri("cache"); },
         [](const std::string&) -> std::shared_ptr<void> { return std::make_shared<DaosStops>(); }},
};

class Homes : public ::testing::TestWithParam<Kind> {
 protected:
  Homes() : home_(GetParam().fresh(folder_)) {}

  // As another process would have it: nothing is known of it. It is used however slow it is on this machine.
  std::string again(const std::string& options = {}) const {
    static int last = 0;
    return home_ + "?bypass=no&timeout=" + std::to_string(20 + ++last) + options;
  }
  std::shared_ptr<io::ObjectStore> store() const {
    return io::open_object_store(cache::parse_settings(home_).store);
  }
  std::uint64_t bytes() const {
    std::uint64_t sum = 0;
    for (const cache::RegisterEntry& entry : cache::read_register(*store(), false)) sum += entry.size();
    return sum;
  }

  // Changes a byte of, cuts, or removes some values.
  void spoil(Random& random, unsigned one_in) const {
    const std::shared_ptr<io::ObjectStore> home = store();
    for (const cache::RegisterEntry& entry : cache::read_register(*home, false))
      for (const auto& [column, runs] : entry.columns)
        for (const cache::RunKey& run : runs)
          if (draw(random, one_in) == 0) spoil(*home, cache::pages_value(entry.number, column, run), random);
  }

  TestFolder folder_;
  std::string home_;

 private:
  static void spoil(io::ObjectStore& home, const io::ValueAddress& address, Random& random) {
    Bytes bytes(home.size(address).value());
    const io::FetchItem whole{address.akey, 0, bytes};
    home.fetch(address.object, address.dkey, {&whole, 1});
    switch (draw(random, 3)) {
      case 0:
        return home.remove(address);
      case 1:
        home.remove(address);
        bytes.resize(draw(random, bytes.size()));
        break;
      default:
        bytes[draw(random, bytes.size())] ^= std::byte{1} << draw(random, 8);
    }
    const io::UpdateItem item{address.akey, {bytes}};
    home.update(address.object, address.dkey, {&item, 1});
  }
};

TEST_P(Homes, FillAndServe) {
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const std::string file = file_in(folder_, ("events" + std::to_string(seed) + ".root").c_str());
    write(file, Content::any(random));
    const ReadMetrics first = pass(file, home_, {.fields = {"pt"}});
    EXPECT_EQ(first.cache, "used");
    EXPECT_EQ(first.cache_added, first.pages);
    const ReadMetrics mixed = pass(file, again());
    EXPECT_EQ(mixed.cache_pages, first.pages);
    EXPECT_EQ(mixed.cache_added, mixed.pages - first.pages);
    const ReadMetrics last = pass(file, again(), {}, {.parallel_decompression = seed % 2 == 0});
    EXPECT_EQ(last.cache_pages, last.pages);
  }
}

TEST_P(Homes, ListAllValuesOfAnObject) {
  write(file_in(folder_), {});
  pass(file_in(folder_), again());
  const std::shared_ptr<io::ObjectStore> home = store();
  const std::vector<cache::RegisterEntry> entries = cache::read_register(*home, false);
  ASSERT_EQ(entries.size(), 1u);
  const io::ObjectId object{cache::pages_group, entries.front().number};
  std::vector<std::pair<std::uint64_t, std::uint64_t>> expected;
  for (const std::uint64_t dkey : home->list_dkeys(object))
    for (const std::uint64_t akey : home->list_akeys(object, dkey)) expected.emplace_back(dkey, akey);
  EXPECT_GT(expected.size(), 4u);
  EXPECT_EQ(home->list_values(object), expected);
}

TEST_P(Homes, DamageIsReplaced) {
  for (std::uint64_t seed = 0; seed < 3; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const std::string file = file_in(folder_, ("events" + std::to_string(seed) + ".root").c_str());
    write(file, Content::any(random));
    pass(file, again());
    spoil(random, 2);
    pass(file, again());
    pass(file, again());
    const ReadMetrics healed = pass(file, again());
    EXPECT_EQ(healed.cache_pages, healed.pages);
    spoil(random, 2);
    verify_cache(home_);
    EXPECT_EQ(verify_cache(home_).damaged, 0u);
  }
}

TEST_P(Homes, KeepTheirBudget) {
  constexpr std::uint64_t budget = 60000;
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    const std::string file = file_in(folder_, ("events" + std::to_string(seed) + ".root").c_str());
    write(file, {.seed = seed, .entries = 1500, .page_size = 512, .cluster_size = 4000});
    pass(file, again("&budget=" + std::to_string(budget)));
    EXPECT_LE(bytes(), budget);
    EXPECT_GT(bytes(), budget / 3);
  }
}

TEST_P(Homes, KeepPinsAndForgetTheRest) {
  const std::string one = file_in(folder_, "one.root");
  const std::string other = file_in(folder_, "other.root");
  write(one, {.seed = 1});
  write(other, {.seed = 2});
  pass(one, again());
  pass(other, again());
  EXPECT_EQ(cached_data_sets(home_).size(), 2u);
  EXPECT_EQ(pin_cached(one, {"id"}, home_), 1u);
  const CacheGarbage garbage = collect_cache_garbage(home_ + "?budget=1");
  EXPECT_GT(garbage.evicted, 0u);
  EXPECT_GT(pass(one, again(), {.fields = {"id"}}).cache_pages, 0u);
  EXPECT_EQ(pass(one, again(), {.fields = {"weight"}}).cache_pages, 0u);
  EXPECT_EQ(pass(other, again()).cache_pages, 0u);
  EXPECT_EQ(unpin_cached(one, home_), 1u);
  EXPECT_GT(remove_cached(one, {}, home_), 0u);
  EXPECT_EQ(cached_data_sets(home_).size(), 1u);
}

TEST_P(Homes, OutdatedStatesGoWithGarbage) {
  write(file_in(folder_), {.seed = 1});
  pass(file_in(folder_), again());
  std::this_thread::sleep_for(std::chrono::milliseconds(10));
  write(file_in(folder_), {.seed = 2});
  EXPECT_EQ(pass(file_in(folder_), again()).cache_pages, 0u);
  EXPECT_EQ(cached_data_sets(home_).size(), 2u);
  collect_cache_garbage(home_);
  EXPECT_EQ(cached_data_sets(home_).size(), 1u);
}

TEST_P(Homes, LostBeforeAndWhileTheyAreUsed) {
  write(file_in(folder_), {.entries = 3000, .page_size = 512, .cluster_size = 4000});
  pass(file_in(folder_), again());
  {
    const auto reader = Reader::open("Events", file_in(folder_), {.cache = home_ + "?timeout=0.4"});
    const Request part{.first = 0, .last = 300};
    expect_equal(read(*reader, part), read_plainly(file_in(folder_), part));
    const std::shared_ptr<void> lost = GetParam().lose(home_);
    expect_equal(read(*reader), read_plainly(file_in(folder_)));
    const auto late = Reader::open("Events", file_in(folder_), {.cache = home_ + "?timeout=0.5"});
    expect_equal(read(*late), read_plainly(file_in(folder_)));
    EXPECT_THAT(late->metrics().cache, ::testing::StartsWith("lost: "));
  }
  // What was asked of it meanwhile may come to an end now.
  flush();
  pass(file_in(folder_), again());
  const ReadMetrics back = pass(file_in(folder_), again());
  EXPECT_EQ(back.cache_pages, back.pages);
}

TEST_P(Homes, AreReadWithoutTheOrigin) {
  const std::string file = file_in(folder_);
  write(file, {});
  const std::vector<ColumnArray> right = read_plainly(file, {.fields = {"id", "pt"}});
  pass(file, again(), {.fields = {"id", "pt"}});
  std::filesystem::remove(file);
  for (const char* name : {"Events", ""}) {
    const auto reader = Reader::open(name, file, {.cache = again("&offline=yes")});
    EXPECT_EQ(reader->name(), "Events");
    expect_equal(read(*reader, {.fields = {"id", "pt"}}), right);
    EXPECT_EQ(reader->metrics().cache_pages, reader->metrics().pages);
    const Error missing = error_of([&] { read(*reader, {.fields = {"weight"}}); });
    EXPECT_THAT(missing.what(), ::testing::HasSubstr("offline"));
  }
  const Error unknown =
      error_of([&] { Reader::open("Events", file + "x", {.cache = again("&offline=yes")}); });
  EXPECT_EQ(unknown.kind(), ErrorKind::not_found);
}

// A server that stands still is not missed by who trusts what was seen a moment ago.
TEST(TrustedOrigin, IsNotAskedInS3) {
  const TestFolder folder;
  const std::string home = (folder.path() / "home").string() + "?trust=1000";
  const std::string uri =
      std::string("s3://") + variable("COLONNADE_TEST_S3_BUCKET") + "/trusted-" + number() + ".root";
  write(uri, {.seed = 1});
  const Request kept{.fields = {"id", "pt"}};
  const std::vector<ColumnArray> before = read_plainly(uri, kept);
  for (const char* name : {"", "Events"}) {
    expect_equal(read(*Reader::open(name, uri, {.cache = home}), kept), before);
    flush();
  }
  {
    const Stopped stopped("COLONNADE_TEST_S3_PID");
    for (const char* name : {"", "Events"})
      expect_equal(read(*Reader::open(name, uri, {.cache = home}), kept), before);
  }
  // A change is seen when something is missing, and is never mixed with what was before.
  write(uri, {.seed = 2, .entries = 1000});
  expect_equal(read(*Reader::open("Events", uri, {.cache = home}), kept), before);
  const Error changed =
      error_of([&] { read(*Reader::open("Events", uri, {.cache = home}), {.fields = {"weight"}}); });
  EXPECT_THAT(changed.what(), ::testing::HasSubstr("has changed"));
  expect_equal(read(*Reader::open("Events", uri, {.cache = home})), read_plainly(uri));
}

INSTANTIATE_TEST_SUITE_P(Of, Homes, ::testing::ValuesIn(kinds),
                         [](const auto& each) { return std::string(each.param.name); });

}  // namespace
}  // namespace colonnade
