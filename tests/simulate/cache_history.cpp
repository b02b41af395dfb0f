// See cache_history.h. What a reader gets must be one state that its origin had while it was opened, all of
// it, whatever happens to the home; and an error only if the origin gives one.
#include "cache_history.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/environment.h"
#include "cache/filler.h"
#include "cache/home.h"
#include "cache/register.h"
#include "colonnade/model.h"
#include "colonnade/reader.h"
#include "colonnade/writer.h"
#include "environment.h"
#include "io/memory/memory_file.h"
#include "io/memory/memory_store.h"
#include "object_store.h"
#include "world.h"

namespace colonnade::simulate {
namespace {

constexpr const char* store_uri = "memory+obj:simulated-cache";
constexpr const char* data_set = "events";
constexpr std::size_t state_count = 5;
constexpr std::uint64_t entries = 400;
const std::vector<std::string> all_fields = {"id", "weight"};

// ---- Origins ----

struct State {
  std::shared_ptr<const Bytes> bytes;
  std::vector<ColumnArray> values;  // of all fields
};

std::vector<State>& states() {
  static std::vector<State> all;
  return all;
}

// All have the same size and the same places of pages: nothing but what an origin says of its version tells
// them apart.
State make_state(std::uint64_t number) {
  const std::string uri = fmt::format("memory:simulate_origin_{}", number);
  auto model = colonnade::Model::create();
  const auto id = model->make_field<std::uint64_t>("id");
  const auto weight = model->make_field<double>("weight");
  auto writer = Writer::recreate(std::move(model), data_set, uri,
                                 {.compression = "none",
                                  .approximate_cluster_size = 1600,
                                  .max_page_size = 512,
                                  .container = Container::bare_file});
  for (std::uint64_t i = 0; i < entries; ++i) {
    *id = mix(number << 32 | i);
    *weight = static_cast<double>(*id >> 12);
    writer->fill();
  }
  writer->close();
  State state;
  state.bytes = std::make_shared<const Bytes>(io::memory_file_content(uri));
  state.values = Reader::open(data_set, uri, {.cache = "off"})->arrays(all_fields, 0, entries);
  io::remove_memory_file(uri);
  return state;
}

struct Origin {
  std::string uri;
  std::size_t state = 0;
  mutable unsigned failures = 0;
};

class OriginFile final : public io::RandomAccessFile {
 public:
  OriginFile(World& world, const Origin& origin, unsigned concurrency)
      : world_(&world), origin_(&origin), state_(origin.state), concurrency_(concurrency) {}

  const std::string& uri() const noexcept override { return origin_->uri; }
  std::uint64_t size() const override { return bytes().size(); }
  std::string version() const override {
    return fmt::format("state {}", world_->breaks(Rule::versions_tell) ? 0 : state_);
  }
  io::IoTraits traits() const noexcept override { return {.concurrency = concurrency_}; }
  void read(std::uint64_t offset, MutableByteSpan into) const override {
    if (!world_->begin_operation()) fail("the process is dead");
    if (world_->fault(world_->rates.fail, "the origin does not answer")) {
      ++origin_->failures;
      fail("it does not answer");
    }
    if (origin_->state != state_ && !world_->breaks(Rule::versions_tell))
      fail("it has changed since it was opened");
    std::memcpy(into.data(), bytes().data() + offset, into.size());
    if (!world_->end_operation()) fail("the process is dead");
  }

 private:
  [[noreturn]] void fail(const char* why) const {
    throw Error(ErrorKind::io, fmt::format("the origin: {}", why), "", {.uri = uri()});
  }
  const Bytes& bytes() const { return *states()[state_].bytes; }

  World* world_;
  const Origin* origin_;
  std::size_t state_;
  unsigned concurrency_;
};

// Files of memory, origins among them.
class OriginFiles final : public io::FileSystem {
 public:
  explicit OriginFiles(World& world) : world_(&world) {}

  std::deque<Origin> origins;
  unsigned concurrency = 1;

  std::unique_ptr<io::RandomAccessFile> open_for_reading(const std::string& uri,
                                                         const io::ReadFileOptions&) override {
    for (const Origin& origin : origins)
      if (origin.uri == uri) return std::make_unique<OriginFile>(*world_, origin, concurrency);
    throw Error(ErrorKind::not_found, "there is no such file", "", {.uri = uri});
  }
  std::string path_of(const std::string& uri) override { return uri; }
  bool exists(const std::string&, const std::string&) override { return true; }
  io::LockedFile open(const std::string&, const std::string& uri, const io::WriteFileOptions&) override {
    refuse(uri);
  }
  io::LockedFile create(const std::string&, const std::string& uri, const std::string&,
                        const io::WriteFileOptions&) override {
    refuse(uri);
  }
  void rename(const std::string&, const std::string&, const std::string& uri) override { refuse(uri); }
  void remove(const std::string&) override {}
  void sync_folder(const std::string&, const std::string&) override {}
  std::vector<std::string> names_beside(const std::string&) override { return {}; }

 private:
  [[noreturn]] static void refuse(const std::string& uri) {
    throw Error(ErrorKind::unsupported, "origins are only read", "", {.uri = uri});
  }
  World* world_;
};

class ReplacedFiles {
 public:
  explicit ReplacedFiles(std::shared_ptr<io::FileSystem> files)
      : before_(io::replace_memory_file_system(std::move(files))) {}
  ~ReplacedFiles() { io::replace_memory_file_system(before_); }
  ReplacedFiles(const ReplacedFiles&) = delete;
  ReplacedFiles& operator=(const ReplacedFiles&) = delete;

 private:
  std::shared_ptr<io::FileSystem> before_;
};

// ---- The history ----

class CacheHistory {
 public:
  explicit CacheHistory(const HistoryOptions& options)
      : world_(options.seed, options.broken, options.prints, options.without_faults),
        environment_(world_),
        without_tasks_(options.without_tasks),
        files_(std::make_shared<OriginFiles>(world_)) {}

  HistoryResult run() {
    const ReplacedEnvironment replaced(environment_);
    const ReplacedFiles files(files_);
    prepare();
    draw_faults();
    draw_readers();
    world_.run();
    if (!world_.stops()) finish();
    cache::forget_homes();
    io::remove_memory_store(store_uri);
    HistoryResult result;
    result.place = StorageKind::cache;
    result.violation = world_.violation();
    result.hash = world_.hash();
    result.steps = world_.steps();
    result.faults = world_.fault_numbers();
    result.tasks = tasks_;
    return result;
  }

 private:
  struct Actor {
    std::string name;
    unsigned tasks = 0;
    Host* host = nullptr;
  };

  void prepare() {
    Random& random = world_.random();
    const std::size_t count = 1 + random.below(2);
    for (std::size_t i = 0; i < count; ++i)
      files_->origins.push_back({.uri = fmt::format("memory:origin_{}", i)});
    files_->concurrency = random.chance(0.5) ? 1 : 4;
    budget_ = random.chance(0.5) ? 0 : 2000 + random.below(8000);
    StoreManners manners{.name = "cache",
                         .items_together = random.chance(0.3),
                         .list_page = 1 + random.below(20),
                         .timeout = (1 + static_cast<Time>(random.below(60))) * second,
                         .concurrency = 1 + random.below(3)};
    io::wrap_memory_store(store_uri, [this, manners](std::shared_ptr<io::ObjectStore>) {
      return make_simulated_store(store_uri, world_, stored_, manners);
    });
  }

  void draw_faults() {
    world_.rates = draw_rates(world_.random(), {.die = 0.4,
                                                .crash = 0.2,
                                                .stall = 0.2,
                                                .jump = 0.4,
                                                .lose = 0.4,
                                                .refuse = 0.3,
                                                .delay = 0.4,
                                                .fail = 0.2,
                                                .spoil = 0.5});
  }

  void draw_readers() {
    Random& random = world_.random();
    for (const char* name : {"ant", "bee"}) {
      hosts_.push_back(&world_.add_host(name));
      hosts_.back()->wall_offset = static_cast<Time>(random.below(3)) * hour;
    }
    const std::size_t readers = 1 + random.below(3);
    for (std::size_t i = 0; i < readers; ++i) {
      Actor& actor = actors_.emplace_back();
      actor.name = fmt::format("reader {}", i + 1);
      actor.host = hosts_[random.below(hosts_.size())];
      for (std::uint64_t left = 1 + random.below(4); left > 0; --left)
        if (!without_tasks_.contains(tasks_++)) ++actor.tasks;
      if (actor.tasks > 0)
        world_.at(static_cast<Time>(random.below(300)) * millisecond,
                  [this, &actor] { start_process(actor); });
    }
    for (std::uint64_t left = random.below(4); left > 0; --left)
      if (!without_tasks_.contains(tasks_++))
        world_.at(static_cast<Time>(random.below(2000)) * millisecond, [this] { replace_origin(); });
  }

  void replace_origin() {
    Origin& origin = files_->origins[world_.random().below(files_->origins.size())];
    if (origin.state + 1 == state_count) return;
    ++origin.state;
    world_.tell([&] { return fmt::format("*** {} is replaced by state {}", origin.uri, origin.state); });
  }

  // A process works through its tasks, and ends; where it dies, another one goes on.
  void start_process(Actor& actor) {
    Process& process = world_.add_process(*actor.host, actor.name);
    process.time_flies_when_dead = true;
    const std::string home = next_home();
    world_.spawn(process, [this, &actor, &process, home] {
      while (actor.tasks > 0 && !process.dead) {
        --actor.tasks;
        read(process, home);
        if (world_.random().chance(0.5)) settle(home);
        if (world_.random().chance(0.3))
          world_.sleep_until(world_.now() + world_.random().between(0, 90 * second));
      }
      world_.kill(process);
      if (actor.tasks == 0 || world_.stops()) return;
      actor.host = hosts_[world_.random().below(hosts_.size())];
      world_.at(world_.now() + world_.random().between(1, 300) * millisecond,
                [this, &actor] { start_process(actor); });
    });
  }

  // Each process has its own: two with the same settings would share what they know. The half of a
  // millisecond keeps timeouts apart when they are rounded.
  std::string next_home() {
    const std::string budget = budget_ == 0 ? "none" : std::to_string(budget_);
    return fmt::format("{}?budget={}&timeout={}", store_uri, budget, 2 + 0.001 * (++homes_ + 0.5));
  }

  static void settle(const std::string& home) {
    constexpr std::chrono::seconds longest(30);
    cache::Home::of(cache::parse_settings(home))->filler().wait(cache::Home::Clock::now() + longest);
  }

  // A part of an origin, through the cache.
  void read(Process& process, const std::string& home) {
    Random& random = world_.random();
    const Origin& origin = files_->origins[random.below(files_->origins.size())];
    std::vector<std::size_t> fields;
    for (std::size_t i = 0; i < all_fields.size(); ++i)
      if (random.chance(0.6)) fields.push_back(i);
    if (fields.empty()) fields.push_back(0);
    const std::uint64_t first = random.chance(0.5) ? 0 : random.below(entries);
    const std::uint64_t last = random.chance(0.5) ? entries : first + random.below(entries - first + 1);
    const std::size_t before = origin.state;
    const unsigned failures = origin.failures;
    const Time begin = world_.now();
    const Time stalled = process.stalled_until;
    std::size_t opened = before;
    world_.tell([&] { return fmt::format("> reads {} from {} to {}", origin.uri, first, last); });
    try {
      ReadOptions options;
      options.parallel_decompression = false;
      options.read_ahead = std::size_t{256} << random.below(5);
      options.cache = home;
      const auto reader = Reader::open(data_set, origin.uri, options);
      opened = origin.state;
      std::vector<std::string> names;
      for (const std::size_t field : fields) names.push_back(all_fields[field]);
      const std::vector<ColumnArray> values = reader->arrays(names, first, last);
      if (!process.dead) compare(origin, fields, values, first, before, opened);
      counted_ = reader->metrics();
    } catch (const Error& error) {
      world_.tell([&] { return fmt::format("< {}", error.what()); });
      const bool may_fail = process.dead || origin.state != before || origin.failures != failures;
      if (!may_fail)
        world_.violate(fmt::format("(c) reading fails where the origin does not: {}", error.what()));
    }
    const bool stood_still = process.stalled_until != stalled;
    if (!stood_still && !process.dead && world_.now() - begin > longest_read)
      world_.violate(fmt::format("(h) reading took {} s", (world_.now() - begin) / second));
  }

  void compare(const Origin& origin, const std::vector<std::size_t>& fields,
               const std::vector<ColumnArray>& values, std::uint64_t first, std::size_t before,
               std::size_t opened) {
    for (std::size_t state = before; state <= opened; ++state) {
      bool same = true;
      for (std::size_t i = 0; i < fields.size() && same; ++i) {
        const ColumnArray& right = states()[state].values[fields[i]];
        const std::size_t size = size_of(right.element);
        const auto* from = static_cast<const std::byte*>(static_cast<const void*>(right.data.get()));
        same = values[i].size == 0 ||
               std::memcmp(values[i].data.get(), from + first * size, values[i].size * size) == 0;
      }
      if (same) return;
    }
    world_.violate(fmt::format("(c) {} was read with values that it did not have then", origin.uri));
  }

  std::uint64_t bytes_kept() const {
    std::uint64_t sum = 0;
    for (const auto& [address, value] : stored_->values)
      if (address.object.group == cache::pages_group && address.object != cache::register_object)
        sum += value.bytes.size();
    return sum;
  }

  // Everybody is gone, and nothing strikes any more.
  void finish() {
    world_.rates = {};
    world_.advance(100 * hour);
    world_.tell([] { return std::string("--- everybody is gone"); });
    for (int turn = 0; turn < 2 && !world_.stops(); ++turn) {
      Process& process = world_.add_process(world_.add_host("cat"), "last reader");
      process.time_flies_when_dead = true;
      const std::string home = next_home();
      world_.spawn(process, [this, &process, home] {
        for (const Origin& origin : files_->origins) read_all(origin, home);
        settle(home);
        world_.kill(process);
      });
      world_.run();
    }
    if (world_.stops()) return;
    // Whoever is killed before a last look may leave too much, and whoever adds nothing does not look.
    if (budget_ != 0 && last_added_ > 0 && bytes_kept() > budget_)
      world_.violate(fmt::format("(b) {} bytes are left, and the budget is {}", bytes_kept(), budget_));
    if (budget_ == 0 && counted_.cache_pages != counted_.pages)
      world_.violate("(c) what was read twice is not in the cache");
  }

  void read_all(const Origin& origin, const std::string& home) {
    try {
      const auto reader =
          Reader::open(data_set, origin.uri, {.parallel_decompression = false, .cache = home});
      const std::vector<ColumnArray> values = reader->arrays(all_fields, 0, entries);
      compare(origin, {0, 1}, values, 0, origin.state, origin.state);
      counted_ = reader->metrics();
      last_added_ += counted_.cache_added;
    } catch (const Error& error) {
      world_.violate(fmt::format("(c) the last reader fails: {}", error.what()));
    }
  }

  // Several times the timeout of a home, which is waited for once in thirty seconds.
  static constexpr Time longest_read = 60 * second;

  World world_;
  SimulatedEnvironment environment_;
  std::set<unsigned> without_tasks_;
  std::shared_ptr<OriginFiles> files_;
  std::shared_ptr<StoredValues> stored_ = std::make_shared<StoredValues>();
  std::vector<Host*> hosts_;
  std::deque<Actor> actors_;
  unsigned tasks_ = 0;
  unsigned homes_ = 0;
  std::uint64_t budget_ = 0;      // 0: none
  ReadMetrics counted_;           // of the last reader
  std::uint64_t last_added_ = 0;  // pages, by all last readers
};

}  // namespace

void prepare_origins() {
  if (!states().empty()) return;
  for (std::uint64_t number = 0; number < state_count; ++number) states().push_back(make_state(number));
}

HistoryResult run_cache_history(const HistoryOptions& options) {
  return CacheHistory(options).run();
}

}  // namespace colonnade::simulate
