// Those who act: writers, readers, `gc`, `rm`, `repair` and imports, which call the library as programs do,
// and tell the model what they are about to do and what came of it.
#ifndef COLONNADE_SIMULATE_ACTORS_H
#define COLONNADE_SIMULATE_ACTORS_H

#include <set>
#include <string>
#include <vector>

#include "history.h"
#include "model.h"
#include "world.h"

namespace colonnade::simulate {

// A place for data sets, and what is known of those.
struct Storage {
  World* world = nullptr;
  Place place = Place::s3;
  std::string uri;
  std::vector<Model*> data_sets;
  bool needs_durability = false;  // machines go down
  bool has_sets = false;          // writers write attribute sets
  bool is_file() const noexcept { return place == Place::root_file || place == Place::bare_file; }
};

enum class Task {
  create,
  add,
  resume,
  parallel,
  import,
  resume_import,
  merge,
  annotate,
  read,
  collect,
  remove,
  repair,
  last_repair,
  last_write
};
const char* name_of(Task task) noexcept;

// In a thread of the world. Draws how, and never throws.
void perform(Task task, Storage& storage, Model& data_set);

// What can be read of a data set, all of it compared with what it must be.
struct Seen {
  State state;
  std::string problem;       // why it cannot be read; else empty
  bool is_wrong = false;     // it can be, and is not what was written
  std::set<unsigned> notes;  // the authors who have annotated it
  bool lacks_rows = false;   // about clusters that were copied from where they have some
};
Seen look(const Storage& storage, const Model& data_set);

// The data sets that are imported and merged, in the memory of this process.
void prepare_sources();

}  // namespace colonnade::simulate

#endif
