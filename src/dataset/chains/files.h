// ChainFiles: the files of a chain - what is in each, and which of them are open.
//
// Each file is opened once for its schema and its number of entries, several at a time, unless an index has
// them. Files of the same schema share it. All files of a short chain stay open; a file of a long one is open
// while it is in use, and its metadata are kept within a budget for all files.
//
// Any thread may use it once it is made.
#ifndef COLONNADE_DATASET_CHAINS_FILES_H
#define COLONNADE_DATASET_CHAINS_FILES_H

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "colonnade/options.h"
#include "dataset/chains/file_names.h"
#include "dataset/chains/index.h"
#include "page/page_source.h"

namespace colonnade::dataset {

class ChainFiles {
 public:
  using Schema = ChainIndex::Schema;
  using Schemas = std::deque<Schema>;
  using OpenFile = std::shared_ptr<const page::PageSource>;
  struct File {
    std::string uri;
    std::string data_set;
    std::uint64_t first = 0;
    std::uint64_t entries = 0;
    unsigned schema = 0;
    std::uint64_t identity = 0;
    std::uint64_t parts = 0;  // as the index says
    std::string place;        // the uri in every working folder
  };
  struct Limits {
    std::size_t kept_open = 64;                           // chains of no more files keep all of them open
    std::uint64_t kept_bytes = std::uint64_t{256} << 20;  // of metadata
  };
  // Called with each new schema; refuses it by throwing.
  using Check = std::function<void(const Schemas& before, const Schema& fresh)>;

  // `files` without wildcards; `name` may be empty.
  ChainFiles(std::string name, std::span<const NamedFile> files, ReadOptions options, Limits limits,
             const Check& check = {});
  // Known files: each is opened when it is first read, and must have the known identity.
  ChainFiles(std::string name, ChainIndex index, ReadOptions options, Limits limits, const Check& check = {});
  // An attribute set of the files that have it, which are opened by `whole`.
  ChainFiles(std::shared_ptr<const ChainFiles> whole, std::string attribute_set, Limits limits);

  const std::string& name() const noexcept { return name_; }
  const ReadOptions& options() const noexcept { return options_; }
  std::size_t size() const noexcept { return slots_.size(); }
  const File& operator[](std::size_t i) const { return slots_[i].file; }
  std::uint64_t entries() const;
  // The file that holds an entry; size() if none.
  std::size_t file_of(std::uint64_t entry) const;
  const Schemas& schemas() const noexcept { return schemas_; }

  // A file; opens it unless it is open. Throws ErrorKind::io if it is another one than before.
  OpenFile acquire(std::size_t i) const;
  // Whether acquire() would have to open the file.
  bool is_closed(std::size_t i) const;
  std::shared_ptr<const Descriptor> descriptor_of(std::size_t i) const;
  // Null if the file would have to be opened for it.
  std::shared_ptr<const Descriptor> known_descriptor(std::size_t i) const;

  ChainIndex index() const;
  // The names of all attribute sets, in the order in which they are first found, and how many files have
  // each. Files whose metadata are not known are opened for it.
  std::vector<std::pair<std::string, std::size_t>> attribute_sets() const;
  // Of an attribute set: the data set in the same file.
  const File& whole_of(std::size_t i) const { return (*whole_)[slots_[i].number]; }
  // Whether files stay open once they are.
  bool keeps_open() const noexcept { return keeps_open_; }
  std::uint64_t metadata_bytes() const noexcept { return metadata_bytes_; }  // read so far

 private:
  struct FileSlot {
    File file;
    std::size_t number = 0;                          // in the chain that an attribute set belongs to
    mutable std::mutex mutex;                        // for what follows
    mutable std::shared_ptr<Descriptor> descriptor;  // null: not read yet, or it would take too much memory
    mutable OpenFile kept;
    mutable std::weak_ptr<const page::PageSource> current;
  };

  void add_files(std::size_t count, const std::string& first_uri,
                 const std::function<OpenFile(std::size_t)>& open, const Check& check);
  void add_file(std::size_t number, const OpenFile& source, const Check& check);
  OpenFile open_set(std::size_t number) const;  // null: the file has none
  void place(File& file, std::uint64_t count) const;
  void keep_descriptor(const FileSlot& slot,
                       const page::PageSource& source) const;  // as far as there is room
  unsigned schema_of(const page::PageSource& source, const Check& check);
  OpenFile open(const FileSlot& slot) const;

  std::string name_;
  std::shared_ptr<const ChainFiles> whole_;  // null: these are not attribute sets
  ReadOptions options_;
  Limits limits_;
  bool keeps_open_ = false;
  mutable std::atomic<std::uint64_t> kept_bytes_ = 0;  // of descriptors
  mutable std::atomic<std::uint64_t> metadata_bytes_ = 0;
  std::deque<FileSlot> slots_;
  Schemas schemas_;
  std::map<std::string, unsigned> by_fingerprint_;
};

}  // namespace colonnade::dataset

#endif
