// See history.h. A history has two parts: actors with a few tasks each, and all faults; then all processes
// end, faults stop, and the remains are checked.
#include "history.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <utility>

#include "actors.h"
#include "base/environment.h"
#include "base/thread_pool.h"
#include "cache_history.h"
#include "colonnade/garbage.h"
#include "colonnade/warning.h"
#include "container/object_store/directory.h"
#include "environment.h"
#include "file_system.h"
#include "io/memory/memory_store.h"
#include "model.h"
#include "object_store.h"
#include "threads.h"
#include "world.h"

namespace colonnade::simulate {
namespace {

constexpr const char* store_name = "simulated";

struct Actor {
  std::string name;
  std::deque<Task> tasks;
  Model* data_set = nullptr;
  Host* host = nullptr;
};

class History {
 public:
  explicit History(const HistoryOptions& options)
      : world_(options.seed, options.broken, options.prints, options.without_faults),
        environment_(world_),
        files_(world_),
        manners_(mix(options.seed ^ 0x3a22e5)),
        habits_(mix(options.seed ^ 0xa77b5e)),
        later_(mix(options.seed ^ 0x6e6673)),
        has_habits_(options.has_habits),
        without_tasks_(options.without_tasks) {
    Random& random = world_.random();
    storage_.place =
        options.place ? *options.place : static_cast<StorageKind>(random.below(written_kind_count));
    storage_.world = &world_;
  }

  HistoryResult run() {
    const ReplacedEnvironment replaced(environment_);
    prepare();
    draw_faults();
    draw_habits();
    draw_actors();
    world_.on_change = [this] { check(); };
    world_.run();
    check();
    if (!world_.stops()) finish();
    io::remove_memory_store(store_name);
    HistoryResult result;
    result.place = storage_.place;
    result.violation = world_.violation();
    result.hash = world_.hash();
    result.steps = world_.steps();
    result.faults = world_.fault_numbers();
    result.tasks = drawn_tasks_;
    return result;
  }

 private:
  bool is_store() const { return storage_.place <= StorageKind::daos; }

  void prepare() {
    data_sets_.emplace_back(world_, "events");
    if (storage_.place != StorageKind::bare_file && world_.random().chance(0.25))
      data_sets_.emplace_back(world_, "others");
    for (Model& model : data_sets_) storage_.data_sets.push_back(&model);
    world_.on_kill = [this](Process& process) { files_.process_died(process); };
    world_.on_crash = [this](Host&) {
      if (!is_store()) files_.machine_crashed();
      had_crash_ = true;
      for (Model& model : data_sets_) model.note_crash();
    };
    files_.on_loss = [this] {
      for (Model& model : data_sets_) model.note_loss();
    };
    if (storage_.place == StorageKind::folder) storage_.uri = "obj:///sim/store";
    if (storage_.place == StorageKind::root_file) storage_.uri = "/sim/f.root";
    if (storage_.place == StorageKind::bare_file) storage_.uri = "/sim/f.bare";
    if (!is_store()) return;
    StoreManners manners;
    manners.name = name_of(storage_.place);
    manners.items_together = storage_.place == StorageKind::daos;
    manners.repeats_puts = storage_.place == StorageKind::s3;
    manners.list_page = 1 + world_.random().below(4);
    manners.concurrency = 1 + world_.random().below(3);
    storage_.uri = std::string("memory+obj:") + store_name;
    io::wrap_memory_store(store_name, [this, manners](std::shared_ptr<io::ObjectStore>) {
      return make_simulated_store(storage_.uri, world_, stored_, manners);
    });
  }

  void draw_faults() {
    world_.rates = draw_rates(world_.random(), {.die = 0.4,
                                                .crash = is_store() ? 0.1 : 0.35,
                                                .stall = 0.3,
                                                .jump = 0.2,
                                                .lose = 0.35,
                                                .refuse = 0.2,
                                                .delay = 0.35,
                                                .fail = 0.2});
    storage_.needs_durability = world_.rates.crash > 0 && !manners_.chance(0.3);
  }

  // Some histories have attribute sets, and merges instead of imports.
  void draw_habits() {
    if (!has_habits_) return;
    storage_.has_sets = habits_.chance(0.3);
    if (storage_.has_sets) annotates_ = 0.3;
    if (habits_.chance(0.3)) merges_ = 0.7;
    files_.replaces_always = habits_.chance(0.2);
    files_.has_links = !habits_.chance(0.5);
    storage_.perseveres = later_.chance(0.5);
    files_.is_on_network = later_.chance(0.25);
    files_.may_lose = files_.is_on_network || (storage_.needs_durability && later_.chance(0.3));
    if (files_.may_lose && later_.chance(0.7)) world_.rates.late = 0.05;
  }

  Task habitual(Task task, bool first) {
    if (first && task == Task::create && habits_.chance(merges_)) return Task::merge;
    if ((task == Task::import || task == Task::resume_import) && habits_.chance(merges_)) return Task::merge;
    if ((task == Task::read || task == Task::resume) && habits_.chance(annotates_)) return Task::annotate;
    return task;
  }

  Task draw_task(bool first) { return habitual(draw_usual_task(first), first); }

  Task draw_usual_task(bool first) {
    Random& random = world_.random();
    if (first && random.chance(0.6)) return random.chance(0.7) ? Task::create : Task::parallel;
    if (storage_.is_file()) {
      constexpr Task tasks[] = {Task::create,   Task::add,    Task::resume, Task::resume,
                                Task::parallel, Task::import, Task::import, Task::resume_import,
                                Task::repair,   Task::repair, Task::read};
      return random.pick(std::span<const Task>(tasks));
    }
    constexpr Task tasks[] = {Task::create,   Task::create, Task::add,    Task::resume,        Task::resume,
                              Task::parallel, Task::import, Task::import, Task::resume_import, Task::collect,
                              Task::collect,  Task::remove, Task::read};
    return random.pick(std::span<const Task>(tasks));
  }

  void draw_actors() {
    Random& random = world_.random();
    for (const char* name : {"ant", "bee"}) hosts_.push_back(&world_.add_host(name));
    const auto host = [&] { return hosts_[!is_store() || random.chance(0.7) ? 0 : 1]; };
    // A writer before the others begin.
    add_actor("first", {draw_task(true)}, 0, host());
    const std::size_t writers = 1 + random.below(2);
    for (std::size_t i = 0; i < writers; ++i) {
      std::deque<Task> tasks;
      const std::size_t count = 1 + random.below(3);
      for (std::size_t k = 0; k < count; ++k) tasks.push_back(draw_task(false));
      add_actor(fmt::format("worker {}", i + 1), std::move(tasks), start(), host());
    }
    const std::size_t readers = random.below(3);
    for (std::size_t i = 0; i < readers; ++i)
      add_actor(fmt::format("reader {}", i + 1), {Task::read, Task::read}, start(), host());
    if (storage_.is_file()) {
      if (random.chance(0.5)) add_actor("keeper", {Task::repair}, start(), host());
    } else if (random.chance(0.6))
      add_actor("keeper", {random.chance(0.7) ? Task::collect : Task::remove, Task::collect}, start(),
                host());
  }

  Time start() {
    return world_.random().chance(0.5) ? 200 * millisecond : world_.random().between(0, 150 * millisecond);
  }

  void add_actor(std::string name, std::deque<Task> tasks, Time at, Host* host) {
    Actor& actor = actors_.emplace_back();
    actor.name = std::move(name);
    actor.tasks = std::move(tasks);
    actor.host = host;
    actor.data_set = storage_.data_sets[world_.random().below(storage_.data_sets.size())];
    // Creating a file replaces everything in it: the second data set is only ever added.
    if (storage_.is_file() && actor.data_set != storage_.data_sets.front())
      for (Task& task : actor.tasks)
        if (task == Task::create || task == Task::parallel || task == Task::import || task == Task::merge)
          task = Task::add;
    std::deque<Task> kept;
    for (const Task task : actor.tasks)
      if (!without_tasks_.contains(drawn_tasks_++)) kept.push_back(task);
    actor.tasks = std::move(kept);
    if (!actor.tasks.empty()) world_.at(at, [this, &actor] { start_process(actor); });
  }

  // A process works through the tasks; if it dies, another one continues with the next.
  void start_process(Actor& actor) {
    Process& process = world_.add_process(*actor.host, actor.name);
    world_.spawn(process, [this, &actor, &process] {
      while (!actor.tasks.empty() && !process.dead) {
        const Task task = actor.tasks.front();
        actor.tasks.pop_front();
        perform(task, storage_, *actor.data_set);
        process.had_faults = false;
        if (world_.random().chance(0.3))
          world_.sleep_until(world_.now() + world_.random().between(0, 90 * second));
      }
      if (actor.tasks.empty() || world_.stops()) return;
      if (is_store() && world_.random().chance(0.3))
        actor.host = hosts_[world_.random().below(hosts_.size())];
      world_.at(world_.now() + world_.random().between(1, 300) * millisecond,
                [this, &actor] { start_process(actor); });
    });
  }

  // ---- invariants ----

  void check() {
    if (world_.stops()) return;
    looks_.resize(data_sets_.size());
    for (std::size_t i = 0; i < data_sets_.size() && !world_.stops(); ++i) {
      Model& model = data_sets_[i];
      model.note_replaced();
      Look& last = looks_[i];
      if (!is_as(last)) world_.observe([&] { look_again(last, model); });
      if (last.seen.is_wrong)
        world_.violate(fmt::format("(a) of \"{}\" {}", model.name(), last.seen.problem));
      else
        last.seen.problem.empty() ? model.see(last.seen.state) : model.see_error(last.seen.problem);
      model.see_rows(last.seen.notes, last.seen.lacks_rows);
    }
    if (!is_memory_store()) return;
    stored_->needed.clear();
    for (const Look& last : looks_)
      for (const auto& [address, change] : last.values)
        if (change != 0) stored_->needed.insert(address);
  }

  // The last observation of a data set, and the values or files that it depends on: while these do not
  // change, it is not read again, which would dominate the cost of a history.
  struct Look {
    bool is_valid = false;
    Seen seen;
    StoredValues::Changes values;
    FileSystem::Touched files;
  };

  bool is_memory_store() const { return is_store() && storage_.place != StorageKind::folder; }

  bool is_as(const Look& last) const {
    if (!last.is_valid || !files_.are_as(last.files)) return false;
    return std::all_of(last.values.begin(), last.values.end(), [&](const auto& each) {
      const auto now = stored_->values.find(each.first);
      return each.second == (now != stored_->values.end() ? now->second.change : 0);
    });
  }

  void look_again(Look& last, const Model& model) {
    last = {.is_valid = true};
    stored_->reading = &last.values;
    files_.touched = &last.files;
    last.seen = look(storage_, model);
    files_.touched = nullptr;
    stored_->reading = nullptr;
  }

  // All processes have ended, and there are no more faults.
  void finish() {
    world_.rates = {};
    world_.advance(100 * hour);
    world_.tell([] { return std::string("--- everybody is gone"); });
    Host& host = world_.add_host("cat");
    if (!storage_.is_file()) {
      Process& process = world_.add_process(is_store() ? host : *hosts_[0], "last gc");
      world_.spawn(process, [this] {
        const bool forces = world_.random().chance(0.5);
        // Values without a record stay if a record is unreadable.
        last_gc_forces_ = forces;
        try {
          GarbageOptions options;
          options.force = forces;
          if (!forces) options.older_than = 0.0;
          const GarbageReport report = collect_garbage(storage_.uri, options);
          if (!report.problems.empty()) last_gc_forces_ = false;
          if (!report.problems.empty() && !had_crash_)
            world_.violate("(e) gc has problems: " + report.problems.front());
        } catch (const Error& error) {
          last_gc_forces_ = false;
          if (error.kind() != ErrorKind::not_found)
            world_.violate(fmt::format("(e) gc fails: {}", error.what()));
        }
      });
      world_.run();
      check();
      if (!world_.stops()) is_store() ? check_left_over() : check_left_over_files();
    } else {
      repair_twice();
    }
    if (world_.stops()) return;
    // It is usable as before.
    Process& process = world_.add_process(is_store() ? host : *hosts_[0], "last writer");
    world_.spawn(process, [this] {
      perform(Task::last_write, storage_, data_sets_.front());
      perform(Task::read, storage_, data_sets_.front());
    });
    world_.run();
    check();
  }

  // Repairing again finds nothing to do.
  void repair_twice() {
    if (data_sets_.front().current() == std::nullopt) return;
    Process& process = world_.add_process(*hosts_[0], "last repair");
    world_.spawn(process, [this] {
      for (Model& model : data_sets_) {
        if (!model.current()) continue;
        perform(Task::last_repair, storage_, model);
      }
    });
    world_.run();
    check();
  }

  void check_left_over_files() {
    std::set<std::string> groups;
    world_.observe([&] {
      try {
        const auto store = io::open_object_store(storage_.uri);
        for (const container::AnchorRecord& anchor : container::list_anchors(*store)) {
          groups.insert(std::to_string(anchor.generation));
          for (const container::EarlierGeneration& earlier : anchor.earlier)
            groups.insert(std::to_string(earlier.generation));
        }
      } catch (const Error&) {  // there is none
      }
    });
    const std::string prefix = "/sim/store/";
    const std::vector<std::string> paths = files_.all_paths();
    // A folder that did not become a store is not examined.
    if (std::find(paths.begin(), paths.end(), prefix + "colonnade-store") == paths.end()) return;
    for (const std::string& path : paths) {
      if (!path.starts_with(prefix)) continue;
      const std::string group = path.substr(prefix.size(), path.find('/', prefix.size()) - prefix.size());
      const bool is_group = group.find_first_not_of("0123456789") == std::string::npos;
      // Empty folders do not count, nor do values that lost their record with the machine, or were written
      // after their claim was lost.
      const bool may_be_left = !last_gc_forces_ && (had_crash_ || data_sets_.front().was_forced());
      const bool is_value = path.find('-') != std::string::npos;
      if (path.ends_with(".tmp") ||
          (is_value && !may_be_left && is_group && group != "0" && !groups.contains(group)))
        return world_.violate(fmt::format("(e) {} is left over", path));
    }
  }

  void check_left_over() {
    std::map<std::uint32_t, std::uint64_t> end_of_blobs;  // by generation
    std::map<std::uint32_t, std::uint64_t> end_of_objects;
    for (const auto& [address, value] : stored_->values) {
      if (address.object != container::directory_object || address.akey != container::place_key ||
          address.dkey == container::counter_place)
        continue;
      const container::AnchorRecord anchor = container::read_place_record(value.bytes).anchor;
      if (anchor.generation == 0) continue;
      end_of_blobs[anchor.generation] = anchor.end_blobs;
      end_of_objects[anchor.generation] = anchor.end_objects;
      for (const container::EarlierGeneration& earlier : anchor.earlier) {
        end_of_blobs[earlier.generation] = earlier.end_blobs;
        end_of_objects[earlier.generation] = earlier.end_objects;
      }
    }
    for (const auto& [address, value] : stored_->values) {
      const auto& [object, dkey, akey] = address;
      bool is_needed = stored_->needed.contains(address) || stored_->belated.contains(address);
      if (object == container::directory_object)
        is_needed |=
            dkey == container::counter_place || akey == container::place_key ||
            end_of_blobs.contains(static_cast<std::uint32_t>(akey - container::first_generation_key));
      else if (object.number == container::metadata_object && end_of_blobs.contains(object.group))
        is_needed |= akey < end_of_blobs[object.group];
      else if (end_of_objects.contains(object.group))
        // With several contexts, some had begun a cluster when others committed, and never finished it.
        is_needed |= object.number < end_of_objects[object.group];
      if (!is_needed) {
        world_.violate(fmt::format("(e) {} is left over", io::to_text(address)));
        return;
      }
    }
  }

  World world_;
  SimulatedEnvironment environment_;
  FileSystem files_;
  Random manners_;  // for later additions: seeds keep giving the same histories
  Random habits_;
  Random later_;  // for habits that came later still
  bool has_habits_;
  double annotates_ = 0;
  double merges_ = 0;
  std::set<unsigned> without_tasks_;
  unsigned drawn_tasks_ = 0;
  Storage storage_;
  std::shared_ptr<StoredValues> stored_ = std::make_shared<StoredValues>();
  std::deque<Model> data_sets_;
  std::vector<Look> looks_;
  bool had_crash_ = false;  // of a machine
  bool last_gc_forces_ = false;
  std::deque<Actor> actors_;
  std::vector<Host*> hosts_;
};

}  // namespace

const char* name_of(StorageKind place) noexcept {
  constexpr const char* names[] = {"s3", "rados", "daos", "folder", "root-file", "bare-file", "cache"};
  return names[static_cast<std::size_t>(place)];
}

void prepare_histories() {
  prepare_sources();
  prepare_origins();
  starts_no_threads() = true;
  static_cast<void>(ThreadPool::shared());
  starts_no_threads() = false;
  set_warning_handler([](const std::string& message) {
    if (World* world = World::inside()) world->tell([&] { return "warning: " + message; });
  });
}

HistoryResult run_history(const HistoryOptions& options) {
  constexpr std::uint64_t one_in = 8;
  const bool is_of_cache = options.place ? *options.place == StorageKind::cache
                                         : mix(options.seed ^ 0xcac4eULL) % one_in == 0 && options.has_habits;
  return is_of_cache ? run_cache_history(options) : History(options).run();
}

}  // namespace colonnade::simulate
