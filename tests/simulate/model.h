// The states of a data set that may be read, given the writers: those that it has had, and those
// that an author may still give it. After each visible change, the readable state is compared with
// these.
#ifndef COLONNADE_SIMULATE_MODEL_H
#define COLONNADE_SIMULATE_MODEL_H

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "world.h"

namespace colonnade::simulate {

// Entries are numbers, unique among all writers.
using Entries = std::vector<std::uint64_t>;
using State = std::optional<Entries>;  // empty: no data set

std::string to_text(const State& state);

class Model {
 public:
  Model(World& world, std::string name) : world_(world), name_(std::move(name)) {}

  struct Author {
    unsigned number = 0;
    std::string what;
    const Process* process = nullptr;
    std::uint64_t opened = 0;   // step; from then on no other author changes the data set
    std::uint64_t claimed = 0;  // step at which it claimed it
    bool is_open = false;
    bool excludes = true;  // a writer
    bool ends = false;     // it is closing, or otherwise ending
    // The clusters that it has begun to write, and those known to be written.
    std::vector<Entries> clusters;
    bool in_any_order = false;  // several threads write them
    bool has_ranges = false;    // each has a row in an attribute set
    bool annotates = false;
    bool goes_on = false;  // after the existing entries
    std::size_t written = 0;
    std::size_t first_uncommitted = 0;
  };
  using Fits = std::function<bool(const State&)>;

  Author& add_author(std::string what, bool excludes = true);
  // The writer owns the data set now: the previous owner must have ended.
  void opened(Author& author);
  void closed(Author& author) { author.is_open = false; }
  // A `gc` that may remove owned data has begun, or has ended.
  void force_begins() {
    ++forcing_;
    was_forced_ = true;
  }
  bool was_forced() const { return was_forced_; }
  void force_ends() {
    --forcing_;
    forced_ = world_.steps();
  }

  // From now on the data set may get a state that fits.
  std::size_t propose(Author& author, Fits fits);
  // The proposal was reported to hold.
  void confirm(std::size_t proposal);

  // The current readable state.
  void see(const State& state);
  // The data set is unreadable: there is a problem.
  void see_error(const std::string& problem);
  const State& current() const { return states_.back().state; }
  bool is_by(const Author& author) const { return states_.back().author == &author; }
  std::uint64_t current_since() const { return states_.back().step; }
  // True if the data set was in a fitting state at some time between these steps.
  bool was(std::uint64_t first, std::uint64_t last, const Fits& fits) const;
  // Possibly by equal content.
  void note_replaced() { replaced_ = world_.steps(); }
  bool changed_since(std::uint64_t step) const { return replaced_ >= step || states_.back().step > step; }

  // True if repairing a file may turn `before` into `after`: more clusters of one author, whole and in order.
  bool is_repaired(const State& before, const State& after) const;
  const std::string& name() const { return name_; }
  std::list<Author>& authors() { return authors_; }
  // Null: not of this history.
  const Author* author(std::uint64_t number) const;
  // Repair recovers clusters, but no rows for them.
  void note_repair() { has_repair_ = true; }
  bool has_repair() const { return has_repair_; }
  // The authors whose annotations are readable now, and whether clusters lack rows that were copied with
  // some.
  void see_rows(std::set<unsigned> notes, bool lacks_some) {
    notes_ = std::move(notes);
    lacks_rows_ = lacks_some;
  }
  bool lacks_rows() const { return lacks_rows_; }
  const std::set<unsigned>& notes() const { return notes_; }
  // A network file system refused what it had accepted: unconfirmed changes may be undone.
  void note_loss() { has_crashed_ = true; }
  // A machine crashed: the same.
  void note_crash() {
    has_crashed_ = true;
    is_lost_ = is_lost_ || is_weak_;
  }
  // An author does not wait for the device: after a crash of the machine, the data set may have any earlier
  // state, or be unreadable, but have no other state.
  void note_weak() { is_weak_ = true; }
  bool is_lost() const { return is_lost_; }

 private:
  struct Proposal {
    Author* author;
    Fits fits;
    std::uint64_t begun;
  };
  struct Stage {
    std::uint64_t step;
    State state;
    const Author* author;
  };

  bool is_what_was(const State& state) const;

  World& world_;
  std::string name_;
  std::list<Author> authors_;
  std::vector<Proposal> proposals_;
  std::vector<Stage> states_{{0, std::nullopt, nullptr}};
  std::size_t forcing_ = 0;
  bool was_forced_ = false;
  std::uint64_t forced_ = 0;
  std::uint64_t replaced_ = 0;
  std::size_t confirmed_ = 0;  // the last state reported as committed
  bool has_crashed_ = false;
  bool is_weak_ = false;
  bool has_repair_ = false;
  std::set<unsigned> notes_;
  bool lacks_rows_ = false;
  bool is_unreadable_ = false;  // currently
  bool is_lost_ = false;        // a machine crashed, and nothing was committed since
};

}  // namespace colonnade::simulate

#endif
