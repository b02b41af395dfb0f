// The actors: writers, readers, `gc`, `rm`, `repair` and imports, which call the library like programs do,
// and tell the model what they are about to do and the outcome.
#ifndef COLONNADE_SIMULATE_ACTORS_H
#define COLONNADE_SIMULATE_ACTORS_H

#include <set>
#include <string>
#include <vector>

#include "history.h"
#include "model.h"
#include "world.h"

namespace colonnade::simulate {

// Storage for data sets, and knowledge about it.
struct Storage {
  World* world = nullptr;
  StorageKind place = StorageKind::s3;
  std::string uri;
  std::vector<Model*> data_sets;
  bool needs_durability = false;  // machines crash
  bool has_sets = false;          // writers write attribute sets
  bool perseveres = false;        // writers repeat what failed, but lost nothing
  bool is_file() const noexcept { return place == StorageKind::root_file || place == StorageKind::bare_file; }
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

// Runs in a thread of the world. Draws the details at random, and never throws.
void perform(Task task, Storage& storage, Model& data_set);

// The readable content of a data set, compared with what it must be.
struct Seen {
  State state;
  std::string problem;       // why it cannot be read; else empty
  bool is_wrong = false;     // readable, but wrong
  std::set<unsigned> notes;  // the authors who have annotated it
  bool lacks_rows = false;   // for clusters copied from a source with rows
};
Seen look(const Storage& storage, const Model& data_set);

// The data sets to import and merge, in the memory of this process.
void prepare_sources();

}  // namespace colonnade::simulate

#endif
