// ChainState: the state that a ChainReader and its views share - the files, the common schema, and the files
// being read. One thread at a time.
#ifndef COLONNADE_DATASET_CHAINS_STATE_H
#define COLONNADE_DATASET_CHAINS_STATE_H

#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/later_result.h"
#include "colonnade/chain.h"
#include "dataset/chains/files.h"
#include "dataset/chains/schema.h"
#include "dataset/schema_walk.h"
#include "page/page_source.h"

namespace colonnade::dataset {

class ChainState {
 public:
  // `files` without wildcards.
  ChainState(std::string_view name, std::span<const NamedFile> files, const ChainOptions& options);
  ChainState(ChainIndex index, const ChainOptions& options);
  // An attribute set of the files that have it.
  ChainState(const std::shared_ptr<const ChainState>& whole, std::string_view attribute_set);
  ~ChainState();

  const ChainFiles& files() const noexcept { return files_; }
  MissingFields missing() const noexcept { return missing_; }
  const ChainSchema& schema() const noexcept { return schema_; }
  const Descriptor& descriptor() const noexcept { return schema_.descriptor; }
  const ChainSchema::Mapping& mapping(std::size_t file) const {
    return schema_.mappings[files_[file].schema];
  }
  const Descriptor& stored_schema(std::size_t file) const {
    return files_.schemas()[files_[file].schema].descriptor;
  }

  // A file for reading; it stays open as long as it is held.
  std::shared_ptr<page::PageSource> source(std::size_t file);
  // Opens a file in the background that will be read soon.
  void expect(std::size_t file);
  // Whether source() need not wait for the file.
  bool is_open(std::size_t file);

  std::uint32_t find_field(std::string_view path) const;
  // Of the chain as a whole: the first file stands for all.
  ErrorContext context() const;
  ReadMetrics metrics() const;

 private:
  struct Recent {
    std::size_t file = 0;
    std::shared_ptr<page::PageSource> source;
  };
  struct Ahead {
    std::size_t file = 0;
    LaterResult<ChainFiles::OpenFile> opened;
  };
  std::shared_ptr<page::PageSource> find_open(std::size_t file);
  void remember(std::size_t file, const std::shared_ptr<page::PageSource>& source);
  ChainFiles::OpenFile open(std::size_t file);

  std::size_t max_open_;
  MissingFields missing_;
  ChainFiles files_;
  ChainSchema schema_;
  mutable std::optional<FieldFinder> finder_;          // made when the first field is asked for
  std::deque<Recent> recent_;                          // the most recently read is the last
  std::vector<std::weak_ptr<page::PageSource>> live_;  // all that are in use
  std::shared_ptr<page::ReadCounters> of_closed_;      // what these have counted
  Ahead ahead_;
};

}  // namespace colonnade::dataset

#endif
