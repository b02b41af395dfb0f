// See actors.h.
#include "actors.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <thread>
#include <utility>

#include "colonnade/attributes.h"
#include "colonnade/colonnade.h"
#include "colonnade/copy.h"
#include "colonnade/garbage.h"
#include "colonnade/parallel_writer.h"
#include "colonnade/repair.h"

namespace colonnade::simulate {
namespace {

constexpr const char* source_uri = "memory:simulate_source";
constexpr const char* more_uri = "memory:simulate_more";
constexpr std::size_t source_clusters = 4;
constexpr std::size_t source_entries = 3;  // per cluster
// For one call of the library: all its requests with their timeouts together.
constexpr Time longest_call = 3 * hour;

std::uint32_t check_of(std::uint64_t id) {
  return static_cast<std::uint32_t>(mix(id));
}

std::uint64_t id_of(unsigned author, std::uint64_t index) {
  return std::uint64_t{author} << 20 | index;
}

std::unique_ptr<colonnade::Model> make_model() {
  auto model = colonnade::Model::create();
  model->make_field<std::uint64_t>("id");
  model->make_field<std::uint32_t>("check");
  return model;
}

constexpr unsigned source_author = 0xfffff;
constexpr unsigned more_author = 0xffffe;

Entries source_ids(unsigned author = source_author) {
  Entries ids;
  for (std::size_t i = 0; i < source_clusters * source_entries; ++i) ids.push_back(id_of(author, i));
  return ids;
}

// Some authors add a row to an attribute set for each cluster.
std::string with_rows(const char* uri) {
  return std::string(uri) + "_with_rows";
}

DataSetPlace source_place(const char* uri, const Storage& storage) {
  return {storage.has_sets ? with_rows(uri) : uri, "source"};
}

std::vector<Entries> clusters_of(const Entries& ids) {
  std::vector<Entries> clusters;
  for (std::size_t i = 0; i < ids.size(); i += source_entries)
    clusters.emplace_back(ids.begin() + static_cast<std::ptrdiff_t>(i),
                          ids.begin() + static_cast<std::ptrdiff_t>(i + source_entries));
  return clusters;
}

// ---- attribute sets ----

// A row for each cluster, with the number of its first entry.
constexpr const char* ranges_set = "ranges";
// A row for all existing entries, with the author's number.
constexpr const char* notes_set = "notes";

std::unique_ptr<colonnade::Model> make_set_model() {
  auto model = colonnade::Model::create();
  model->make_field<std::uint64_t>("value");
  return model;
}

void add_row(AttributeSetWriter& set, std::uint64_t value, const IndexRange& range) {
  *set.model().default_entry().ptr<std::uint64_t>("value") = value;
  set.add(range);
}

ReadOptions reading() {
  ReadOptions options;
  options.parallel_decompression = false;
  options.local_io = LocalIo::pread;
  options.read_ahead = 4096;
  options.memory_budget = 1 << 20;
  return options;
}

// Calls the library, and checks how long that takes. Returns the error, if there is one.
template <class Call>
std::optional<Error> call(World& world, const std::string& what, Call&& body) {
  const Time begin = world.now();
  const Time stalled = world.process().stalled_until;
  std::optional<Error> failure;
  world.tell([&] { return fmt::format("> {}", what); });
  try {
    body();
  } catch (const Error& error) {
    failure = error;
  } catch (const std::exception& error) {
    world.violate(
        fmt::format("(d) {} throws something that is not an error of the library: {}", what, error.what()));
    failure = Error(ErrorKind::io, error.what());
  }
  world.tell([&] {
    if (world.process().dead) return fmt::format("< {}: (dead)", what);
    return failure ? fmt::format("< {}: {}", what, failure->what()) : fmt::format("< {}: done", what);
  });
  const bool stood_still = world.process().stalled_until != stalled;
  if (!stood_still && world.now() - begin > longest_call)
    world.violate(fmt::format("(h) {} took {} s", what, (world.now() - begin) / second));
  return failure;
}

// ---- writers ----

bool begins_with(const State& state, const Entries& all) {
  return state && state->size() <= all.size() && std::equal(state->begin(), state->end(), all.begin());
}

// Creating a file replaces everything in it.
void replaces_all(Storage& storage, Model& model, const std::string& what) {
  if (!storage.is_file()) return;
  for (Model* other : storage.data_sets)
    if (other != &model)
      other->propose(other->add_author(what, false), [](const State& state) { return !state; });
}

// In some histories with crashing machines, writers do not wait for the device.
Durability draw_durability(Storage& storage, Model& model) {
  if (storage.needs_durability || storage.world->random().chance(0.5)) return Durability::machine;
  model.note_weak();
  // A file is written as a whole, with everything else in it.
  if (storage.is_file())
    for (Model* other : storage.data_sets) other->note_weak();
  return Durability::process;
}

// A writer and what it has written so far.
class WriterTask {
 public:
  WriterTask(Task task, Storage& storage, Model& data_set)
      : world_(*storage.world),
        storage_(storage),
        model_(data_set),
        task_(task),
        author_(data_set.add_author("")) {
    author_.what = fmt::format("writer {} ({})", author_.number, name_of(task));
    author_.goes_on = task == Task::resume;
    Random& random = world_.random();
    options_.compression = "none";
    options_.checkpoint_every.clusters = static_cast<std::uint32_t>(random.below(3));
    options_.clusters_per_group = static_cast<std::uint32_t>(1 + random.below(3));
    options_.durability = draw_durability(storage, model_);
    if (storage.place == StorageKind::bare_file) options_.container = Container::bare_file;
    if (random.chance(0.2)) options_.object_mapping = ObjectMapping::object_per_page;
  }

  bool write_and_close() {
    const bool done = open() && write_cluster() && commit("closes", [&] { writer_->close(); });
    model_.closed(author_);
    return done;
  }

  void run() {
    if (!open()) return model_.closed(author_);
    const std::size_t clusters = world_.random().below(5);
    bool failed = false;
    for (std::size_t i = 0; i < clusters && !failed && !world_.process().dead; ++i) failed = !write_cluster();
    if (!failed && !world_.process().dead) end();
    model_.closed(author_);
    writer_.reset();
  }

 private:
  // An exception here ends the writer, too.
  void begin(std::unique_ptr<Writer> writer) {
    if (storage_.has_sets) {
      set_ = &writer->add_attribute_set(make_set_model(), ranges_set);
      author_.has_ranges = true;
    }
    writer_ = std::move(writer);
  }

  bool open() {
    if (task_ == Task::create || task_ == Task::last_write) replaces_all(storage_, model_, author_.what);
    // A new file, and its first checkpoint, have no entries.
    if (task_ != Task::resume)
      model_.propose(author_, [](const State& state) { return state && state->empty(); });
    const auto failure = call(world_, fmt::format("{} opens \"{}\"", author_.what, model_.name()), [&] {
      if (task_ == Task::resume)
        begin(Writer::resume(make_model(), model_.name(), storage_.uri, options_));
      else if (task_ == Task::add)
        begin(Writer::add_to(make_model(), model_.name(), storage_.uri, options_));
      else
        begin(Writer::recreate(make_model(), model_.name(), storage_.uri, options_));
    });
    if (failure || world_.process().dead) return false;
    model_.opened(author_);
    if (task_ == Task::resume) {
      base_ = model_.current().value_or(Entries{});
      const bool is_its_own = model_.current_since() <= world_.process().claimed && !model_.is_lost();
      if (writer_->num_entries() != base_.size() && is_its_own)
        world_.violate(fmt::format("(c) {} goes on behind {} entries of \"{}\", which is {}", author_.what,
                                   writer_->num_entries(), model_.name(), to_text(model_.current())));
      written_ = base_;
    }
    return true;
  }

  std::size_t propose() {
    return model_.propose(author_, [all = written_](const State& state) { return state == all; });
  }

  bool write_cluster() {
    Entries cluster;
    const std::size_t count = 1 + world_.random().below(3);
    const std::uint64_t first = writer_->num_entries();
    Entry& entry = writer_->model().default_entry();
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint64_t id = id_of(author_.number, next_++);
      cluster.push_back(id);
      *entry.ptr<std::uint64_t>("id") = id;
      *entry.ptr<std::uint32_t>("check") = check_of(id);
      writer_->fill();
    }
    const bool is_late = world_.breaks(Rule::rows_with_entries);
    author_.clusters.push_back(cluster);
    written_.insert(written_.end(), cluster.begin(), cluster.end());
    if (options_.checkpoint_every.clusters > 0) propose();
    const auto write = [&] {
      if (set_ != nullptr && !is_late) add_row(*set_, cluster.front(), {first, first + count});
      if (set_ != nullptr && world_.breaks(Rule::rows_once))
        add_row(*set_, cluster.front(), {first, first + count});
      writer_->commit_cluster();
      if (set_ != nullptr && is_late) add_row(*set_, cluster.front(), {first, first + count});
    };
    if (!perseveres(fmt::format("{} writes a cluster of {}", author_.what, count), write,
                    [&] { writer_->commit_cluster(); }))
      return false;
    author_.written = author_.clusters.size();
    if (!world_.random().chance(0.25)) return true;
    return commit("commits", [&] { writer_->commit_data_set(); });
  }

  // In some histories a call that failed, but lost nothing, is repeated after some time. Returns false if it
  // failed for good.
  template <class Body, class Again>
  bool perseveres(const std::string& what, Body&& body, Again&& again) {
    auto failure = call(world_, what, body);
    for (int i = 0; i < 3 && failure && storage_.perseveres && !world_.process().dead; ++i) {
      if (!writer_->may_close_again()) return false;
      world_.sleep_until(world_.now() + world_.random().between(1, 60) * second);
      failure = call(world_, what + " again", again);
    }
    return !failure;
  }

  template <class Body>
  bool commit(const char* what, Body&& body) {
    const std::size_t proposal = propose();
    if (!perseveres(fmt::format("{} {}", author_.what, what), body, body)) return false;
    model_.confirm(proposal);
    author_.first_uncommitted = author_.clusters.size();
    return true;
  }

  void end() {
    author_.ends = true;
    switch (world_.random().below(8)) {
      case 0:
        call(world_, author_.what + " discards the rest", [&] { writer_->discard(); });
        return;
      case 1:
        propose();
        call(world_, author_.what + " is destroyed", [&] { writer_.reset(); });
        return;
      case 2:
        propose();
        call(world_, author_.what + " meets an exception", [&] {
          const auto own = std::move(writer_);
          throw Error(ErrorKind::usage, "something else");
        });
        return;
      default:
        commit("closes", [&] { writer_->close(); });
    }
  }

  World& world_;
  Storage& storage_;
  Model& model_;
  Task task_;
  Model::Author& author_;
  WriteOptions options_;
  std::unique_ptr<Writer> writer_;
  AttributeSetWriter* set_ = nullptr;
  Entries base_;
  Entries written_;
  std::uint64_t next_ = 0;
};

// Several threads with a context each. The order of their clusters is up to them.
void write_in_parallel(Storage& storage, Model& model) {
  World& world = *storage.world;
  Model::Author& author = model.add_author("");
  author.what = fmt::format("writer {} (parallel)", author.number);
  WriteOptions options;
  options.compression = "none";
  options.checkpoint_every.clusters = static_cast<std::uint32_t>(world.random().below(3));
  options.durability = draw_durability(storage, model);
  if (storage.place == StorageKind::bare_file) options.container = Container::bare_file;
  const std::size_t contexts = 2;
  const std::size_t clusters = 1 + world.random().below(2);
  constexpr std::size_t entries = 2;
  // Whole clusters, those of each context in order.
  const auto fits = [=, number = author.number](const State& state) {
    if (!state) return false;
    std::vector<std::uint64_t> next(contexts, 0);
    for (std::size_t i = 0; i < state->size(); i += entries) {
      bool found = false;
      for (std::size_t c = 0; c < contexts && !found; ++c) {
        const std::uint64_t id = id_of(number, c * 100 + next[c]);
        if ((*state)[i] != id) continue;
        for (std::size_t k = 0; k < entries; ++k)
          if (i + k >= state->size() || (*state)[i + k] != id + k) return false;
        next[c] += entries;
        found = true;
      }
      if (!found) return false;
    }
    return true;
  };
  author.in_any_order = true;
  for (std::size_t c = 0; c < contexts; ++c)
    for (std::size_t k = 0; k < clusters; ++k) {
      author.clusters.emplace_back();
      for (std::size_t i = 0; i < entries; ++i)
        author.clusters.back().push_back(id_of(author.number, c * 100 + k * entries + i));
    }
  replaces_all(storage, model, author.what);
  model.propose(author, fits);
  std::unique_ptr<ParallelWriter> writer;
  const auto failure = call(world, author.what + " opens", [&] {
    writer = ParallelWriter::recreate(make_model(), model.name(), storage.uri, options);
  });
  if (!failure && !world.process().dead) {
    model.opened(author);
    bool failed = false;
    std::vector<std::unique_ptr<FillContext>> made;
    for (std::size_t c = 0; c < contexts; ++c) made.push_back(writer->make_fill_context());
    std::vector<std::thread> threads;
    for (std::size_t c = 0; c < contexts; ++c)
      threads.emplace_back([&, c] {
        const auto error = call(world, fmt::format("{} fills context {}", author.what, c), [&] {
          const auto entry = made[c]->make_entry();
          for (std::size_t i = 0; i < clusters * entries; ++i) {
            const std::uint64_t id = id_of(author.number, c * 100 + i);
            *entry->ptr<std::uint64_t>("id") = id;
            *entry->ptr<std::uint32_t>("check") = check_of(id);
            made[c]->fill(*entry);
            if (i % entries == entries - 1) made[c]->commit_cluster();
          }
          made[c]->close();
        });
        if (error) failed = true;
      });
    for (std::thread& thread : threads) thread.join();
    made.clear();
    if (!failed) {
      const std::size_t all = contexts * clusters * entries;
      author.ends = true;
      const std::size_t proposal = model.propose(
          author, [=](const State& state) { return state && state->size() == all && fits(state); });
      if (!call(world, author.what + " closes", [&] { writer->close(); })) model.confirm(proposal);
    }
  }
  model.closed(author);
  writer.reset();
}

// Only this process can have changed the readable state.
bool is_alone(Storage& storage, const Model& model, const Model::Author& author) {
  World& world = *storage.world;
  return !world.process().dead && !world.process().had_faults && !model.is_lost() && !model.has_repair() &&
         !model.was_forced() && model.is_by(author);
}

// Copied entries have come with their rows.
void confirm_rows(Storage& storage, const Model& model, const Model::Author& author) {
  if (storage.has_sets && is_alone(storage, model, author) && model.lacks_rows())
    storage.world->violate(
        fmt::format("(a) {} reported that all is copied, and rows are missing", author.what));
}

void import(Task task, Storage& storage, Model& model) {
  World& world = *storage.world;
  Model::Author& author = model.add_author("");
  author.what = fmt::format("writer {} ({})", author.number, name_of(task));
  CopyOptions options;
  options.overwrite = task == Task::import && world.random().chance(0.7);
  options.resume = author.goes_on = task == Task::resume_import;
  options.writing.compression = "none";
  options.writing.checkpoint_every.clusters = static_cast<std::uint32_t>(world.random().below(3));
  options.writing.durability = draw_durability(storage, model);
  if (storage.place == StorageKind::bare_file) options.writing.container = Container::bare_file;
  options.reading = reading();
  options.verify = world.random().chance(0.2) ? CopyVerify::pages : CopyVerify::off;
  if (options.overwrite) replaces_all(storage, model, author.what);
  const Entries all = source_ids();
  author.clusters = clusters_of(all);
  model.propose(author, [all](const State& state) {
    return begins_with(state, all) && state->size() % source_entries == 0;
  });
  const std::size_t whole = model.propose(author, [all](const State& state) { return state == all; });
  const std::uint64_t begin = world.steps();
  const auto failure = call(world, author.what + " runs", [&] {
    static_cast<void>(copy(source_place(source_uri, storage), {storage.uri, model.name()}, options));
  });
  // When it resumes, there may be nothing left to do.
  const bool was_there = model.was(begin, world.steps(), [&](const State& state) { return state == all; });
  if (failure || (options.resume && was_there)) return;
  model.confirm(whole);
  confirm_rows(storage, model, author);
}

// Concatenated sources with their provenance; and later ones appended.
void merge(Storage& storage, Model& model) {
  World& world = *storage.world;
  Model::Author& author = model.add_author("");
  author.what = fmt::format("writer {} (merge)", author.number);
  CopyOptions options;
  options.provenance = true;
  const std::size_t how = world.random().below(4);
  options.append = how < 2;
  options.resume = how == 2;
  options.overwrite = how == 3;
  author.goes_on = !options.overwrite;
  options.writing.compression = "none";
  options.writing.checkpoint_every.clusters = static_cast<std::uint32_t>(world.random().below(3));
  options.writing.durability = draw_durability(storage, model);
  if (storage.place == StorageKind::bare_file) options.writing.container = Container::bare_file;
  options.reading = reading();
  if (options.overwrite) replaces_all(storage, model, author.what);
  const Entries parts[] = {source_ids(), source_ids(more_author)};
  const DataSetPlace places[] = {source_place(source_uri, storage), source_place(more_uri, storage)};
  std::vector<std::size_t> asked;  // the requested ones, in this order
  asked.push_back(world.random().below(2));
  if (world.random().chance(0.6)) asked.push_back(1 - asked.front());
  for (const std::size_t part : {asked.front(), 1 - asked.front()})
    for (const Entries& cluster : clusters_of(parts[part])) author.clusters.push_back(cluster);
  // Each source once, in any order of arrival.
  const auto is_beginning = [=](const State& state) {
    if (!state || state->size() % source_entries != 0) return false;
    for (const std::size_t first : {0U, 1U}) {
      Entries both = parts[first];
      both.insert(both.end(), parts[1 - first].begin(), parts[1 - first].end());
      if (begins_with(state, both)) return true;
    }
    return false;
  };
  const auto has_all = [=](const State& state) {
    return is_beginning(state) && std::all_of(asked.begin(), asked.end(), [&](std::size_t part) {
             return std::search(state->begin(), state->end(), parts[part].begin(), parts[part].end()) !=
                    state->end();
           });
  };
  model.propose(author, is_beginning);
  const std::size_t whole = model.propose(author, has_all);
  const std::uint64_t begin = world.steps();
  std::vector<DataSetPlace> sources;
  for (const std::size_t part : asked) sources.push_back(places[part]);
  const auto failure =
      call(world,
           fmt::format("{} of {} runs{}{}{}", author.what, asked, options.append ? ", appends" : "",
                       options.resume ? ", resumes" : "", options.overwrite ? ", overwrites" : ""),
           [&] { static_cast<void>(concatenate(sources, {storage.uri, model.name()}, options)); });
  // When it appends or resumes, there may be nothing left to do.
  const bool was_there = model.was(begin, world.steps(), has_all);
  if (failure || (was_there && !options.overwrite)) return;
  model.confirm(whole);
  confirm_rows(storage, model, author);
}

// A row for the existing entries, which do not change.
void annotate(Storage& storage, Model& model) {
  World& world = *storage.world;
  Model::Author& author = model.add_author("");
  author.what = fmt::format("writer {} (annotate)", author.number);
  author.annotates = true;
  WriteOptions options;
  options.compression = "none";
  options.durability = draw_durability(storage, model);
  std::unique_ptr<AttributeAppender> appender;
  std::uint64_t begin = world.steps();
  auto failure = call(world, author.what + " opens", [&] {
    appender = AttributeAppender::open(model.name(), storage.uri, options);
    add_row(appender->add_attribute_set(make_set_model(), notes_set), author.number,
            {0, appender->num_entries()});
  });
  if (!failure && !world.process().dead) {
    model.opened(author);
    author.ends = true;
    begin = world.steps();
    failure = call(world, author.what + " closes", [&] { appender->close(); });
    const bool undisturbed = !world.process().dead && !world.process().had_faults && !model.is_lost() &&
                             !model.was_forced() && model.current_since() < begin;
    if (!failure && undisturbed && !model.notes().contains(author.number))
      world.violate(
          fmt::format("(a) {} reported that its row is committed, and it is not there", author.what));
  }
  model.closed(author);
}

// ---- readers ----

bool is_excused(const World& world, const Model& model, std::uint64_t since) {
  return model.is_lost() || const_cast<World&>(world).process().dead ||
         const_cast<World&>(world).process().had_faults || model.changed_since(since);
}

void read(Storage& storage, Model& model) {
  World& world = *storage.world;
  const std::uint64_t begin = world.steps();
  std::unique_ptr<Reader> reader;
  auto failure = call(world, fmt::format("opens \"{}\"", model.name()),
                      [&] { reader = Reader::open(model.name(), storage.uri, reading()); });
  const std::uint64_t opened = world.steps();
  if (world.process().dead) return;
  if (failure) {
    const bool none = model.was(begin, opened, [](const State& state) { return !state; });
    if (!none && !is_excused(world, model, begin))
      world.violate(fmt::format("(d) \"{}\" cannot be opened although nothing has happened: {}", model.name(),
                                failure->what()));
    return;
  }
  Entries seen;
  const std::uint64_t count = reader->num_entries();
  const bool pauses = world.random().chance(0.5);
  failure = call(world, fmt::format("reads \"{}\" of {} entries", model.name(), count), [&] {
    auto ids = reader->view<std::uint64_t>("id");
    auto checks = reader->view<std::uint32_t>("check");
    for (std::uint64_t i = 0; i < count; ++i) {
      if (pauses && world.random().chance(0.3)) world.sleep_until(world.now() + 50 * millisecond);
      seen.push_back(ids(i));
      if (checks(i) != check_of(seen.back()) && !world.process().dead)
        world.violate(fmt::format("(d) entry {} of \"{}\" has a wrong value", i, model.name()));
    }
  });
  if (world.process().dead) return;
  const bool is_one = model.was(begin, opened, [&](const State& state) {
    return state && state->size() == count && seen.size() <= state->size() &&
           std::equal(seen.begin(), seen.end(), state->begin());
  });
  if (!is_one && !model.is_lost())
    world.violate(fmt::format("(d) a reader of \"{}\" saw {} of {} entries: {}", model.name(), seen.size(),
                              count, to_text(seen)));
  if (failure && !is_excused(world, model, begin))
    world.violate(fmt::format("(d) \"{}\" cannot be read although nothing has happened: {}", model.name(),
                              failure->what()));
}

// ---- the others ----

void collect(Storage& storage) {
  World& world = *storage.world;
  GarbageOptions options;
  options.dry_run = world.random().chance(0.15);
  switch (world.random().below(4)) {
    case 0:
      options.force = true;
      break;
    case 1:
      options.older_than = world.random().chance(0.5) ? 0.0 : 60.0;
      break;
    default:
      break;
  }
  const bool takes_all = !options.dry_run && (options.force || options.older_than);
  for (Model* model : storage.data_sets)
    if (takes_all) model->force_begins();
  call(world,
       fmt::format("collects garbage{}{}{}", options.dry_run ? ", dry run" : "",
                   options.force ? ", force" : "",
                   options.older_than ? fmt::format(", older than {} s", *options.older_than) : ""),
       [&] { static_cast<void>(collect_garbage(storage.uri, options)); });
  for (Model* model : storage.data_sets)
    if (takes_all) model->force_ends();
}

void remove(Storage& storage, Model& model) {
  World& world = *storage.world;
  Model::Author& author = model.add_author("", false);
  author.what = fmt::format("rm {}", author.number);
  const std::size_t proposal = model.propose(author, [](const State& state) { return !state; });
  if (!call(world, fmt::format("{} removes \"{}\"", author.what, model.name()),
            [&] { remove_data_set(storage.uri, model.name()); }))
    model.confirm(proposal);
}

void repair(Storage& storage, Model& model) {
  World& world = *storage.world;
  Model::Author& author = model.add_author("", false);
  author.what = fmt::format("repair {}", author.number);
  RepairOptions options;
  options.dry_run = world.random().chance(0.2);
  model.note_repair();
  // About the state once repair has opened the file: that may be later than the request.
  if (!options.dry_run)
    model.propose(author, [&model](const State& state) { return model.is_repaired(model.current(), state); });
  call(world, author.what, [&] { static_cast<void>(colonnade::repair(storage.uri, model.name(), options)); });
}

// All other processes have ended.
void repair_twice(Storage& storage, Model& model) {
  World& world = *storage.world;
  Model::Author& author = model.add_author("the last repair", false);
  model.note_repair();
  model.propose(author, [&model, before = model.current()](const State& state) {
    return model.is_repaired(before, state);
  });
  RepairReport first;
  RepairReport second;
  if (const auto failure = call(world, "repairs once more", [&] {
        first = colonnade::repair(storage.uri, model.name());
        second = colonnade::repair(storage.uri, model.name());
      })) {
    if (!model.is_lost()) world.violate(fmt::format("(g) repair fails: {}", failure->what()));
    return;
  }
  if (second.written || second.recovered_entries > 0)
    world.violate(fmt::format("(g) repairing twice brings back {} entries, then {}", first.recovered_entries,
                              second.recovered_entries));
}

}  // namespace

const char* name_of(Task task) noexcept {
  switch (task) {
    case Task::create:
      return "create";
    case Task::add:
      return "add";
    case Task::resume:
      return "resume";
    case Task::parallel:
      return "parallel";
    case Task::import:
      return "import";
    case Task::resume_import:
      return "import --resume";
    case Task::merge:
      return "merge";
    case Task::annotate:
      return "annotate";
    case Task::read:
      return "read";
    case Task::collect:
      return "gc";
    case Task::remove:
      return "rm";
    case Task::last_write:
      return "last create";
    case Task::repair:
    case Task::last_repair:
      return "repair";
  }
  return "";
}

void perform(Task task, Storage& storage, Model& data_set) {
  switch (task) {
    case Task::create:
    case Task::add:
    case Task::resume:
      return WriterTask(task, storage, data_set).run();
    case Task::parallel:
      return write_in_parallel(storage, data_set);
    case Task::import:
    case Task::resume_import:
      return import(task, storage, data_set);
    case Task::merge:
      return merge(storage, data_set);
    case Task::annotate:
      return annotate(storage, data_set);
    case Task::read:
      return read(storage, data_set);
    case Task::collect:
      return collect(storage);
    case Task::remove:
      return remove(storage, data_set);
    case Task::repair:
      return repair(storage, data_set);
    case Task::last_repair:
      return repair_twice(storage, data_set);
    case Task::last_write:
      if (!WriterTask(task, storage, data_set).write_and_close())
        storage.world->violate("(h) nobody can write any more");
      return;
  }
}

namespace {

bool is_copied(std::uint64_t id) {
  return id >> 20 >= more_author;
}

// Authors with rows add one for each cluster, committed together with it; imported or repaired clusters may
// have none.
std::string wrong_ranges(Reader& reader, const Model& data_set, const Entries& entries, Seen& seen) {
  std::unique_ptr<AttributeSet> set = reader.attribute_set(ranges_set);
  auto values = set->view<std::uint64_t>("value");
  std::uint64_t row = 0;
  for (std::size_t at = 0; at < entries.size();) {
    const Model::Author* const author = data_set.author(entries[at] >> 20);
    std::size_t count = is_copied(entries[at]) ? source_entries : 1;
    if (author != nullptr)
      for (const Entries& cluster : author->clusters)
        if (cluster.front() == entries[at]) count = cluster.size();
    const bool has_row = row < set->num_rows() && set->range(row).first() == at;
    if (has_row && (set->range(row).last() != at + count || values(row) != entries[at]))
      return fmt::format("row {} about the entries {} to {} says {}", row, at, set->range(row).last(),
                         values(row));
    if (has_row)
      ++row;
    else if (is_copied(entries[at]))
      seen.lacks_rows = true;
    else if (author != nullptr && author->has_ranges && !data_set.has_repair())
      return fmt::format("no row is about entry {}, the {}th row is about {}", at, row,
                         row < set->num_rows() ? set->range(row).first() : entries.size());
    at += count;
  }
  return row == set->num_rows()
             ? ""
             : fmt::format("row {} of {} is about nothing that is there", row, set->num_rows());
}

std::string wrong_notes(Reader& reader, const Model& data_set, std::set<unsigned>& notes) {
  std::unique_ptr<AttributeSet> set = reader.attribute_set(notes_set);
  auto values = set->view<std::uint64_t>("value");
  for (const std::uint64_t row : set->rows()) {
    const Model::Author* const author = data_set.author(values(row));
    if (author == nullptr || !author->annotates || set->range(row).first() != 0)
      return fmt::format("note {} says {} about entry {}", row, values(row), set->range(row).first());
    if (!notes.insert(author->number).second)
      return fmt::format("the note of {} is there twice", author->what);
  }
  return "";
}

// What is wrong with the attribute sets; empty: nothing.
std::string wrong_sets(Reader& reader, const Model& data_set, const Entries& entries, Seen& seen) {
  std::string wrong;
  bool has_ranges = false;
  for (const std::string& name : reader.attribute_sets()) {
    if (name == ranges_set) wrong = wrong_ranges(reader, data_set, entries, seen);
    if (name == notes_set && wrong.empty()) wrong = wrong_notes(reader, data_set, seen.notes);
    has_ranges |= name == ranges_set;
  }
  if (!has_ranges) seen.lacks_rows = std::any_of(entries.begin(), entries.end(), is_copied);
  if (has_ranges || !wrong.empty() || data_set.has_repair()) return wrong;
  for (const std::uint64_t id : entries)
    if (const Model::Author* author = data_set.author(id >> 20); author != nullptr && author->has_ranges)
      return fmt::format("the entries of {} are there without its attribute set", author->what);
  return "";
}

}  // namespace

Seen look(const Storage& storage, const Model& data_set) {
  Seen seen;
  try {
    const auto reader = Reader::open(data_set.name(), storage.uri, reading());
    auto ids = reader->view<std::uint64_t>("id");
    auto checks = reader->view<std::uint32_t>("check");
    Entries entries;
    for (std::uint64_t i = 0; i < reader->num_entries(); ++i) {
      entries.push_back(ids(i));
      if (checks(i) != check_of(entries.back())) {
        seen.problem = fmt::format("entry {} has a wrong value", i);
        seen.is_wrong = true;
        return seen;
      }
    }
    if (storage.has_sets || !reader->attribute_sets().empty())
      seen.problem = wrong_sets(*reader, data_set, entries, seen);
    seen.is_wrong = !seen.problem.empty();
    seen.state = std::move(entries);
  } catch (const Error& error) {
    // A file that is being created has no content yet.
    const bool is_begun = storage.is_file() && error.kind() == ErrorKind::format && !data_set.current();
    if (error.kind() != ErrorKind::not_found && !is_begun) seen.problem = error.what();
  }
  return seen;
}

namespace {

void prepare_source(const std::string& uri, unsigned author, bool has_rows) {
  auto writer = Writer::recreate(make_model(), "source", uri, {.compression = "none"});
  AttributeSetWriter* const set =
      has_rows ? &writer->add_attribute_set(make_set_model(), ranges_set) : nullptr;
  std::uint64_t count = 0;
  Entry& entry = writer->model().default_entry();
  for (const Entries& cluster : clusters_of(source_ids(author))) {
    for (const std::uint64_t id : cluster) {
      *entry.ptr<std::uint64_t>("id") = id;
      *entry.ptr<std::uint32_t>("check") = check_of(id);
      writer->fill();
    }
    if (has_rows) add_row(*set, cluster.front(), {count, count + cluster.size()});
    count += cluster.size();
    writer->commit_cluster();
  }
  writer->close();
}

}  // namespace

void prepare_sources() {
  for (const auto& [uri, author] : {std::pair{source_uri, source_author}, std::pair{more_uri, more_author}}) {
    prepare_source(uri, author, false);
    prepare_source(with_rows(uri), author, true);
  }
}

}  // namespace colonnade::simulate
