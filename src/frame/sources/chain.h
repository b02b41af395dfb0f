// Chain: concatenated data sets as one source.
//
// dataset::ChainFiles manages the files and which are open. This class adds what files of the same schema
// share: columns, and how they are read.
#ifndef COLONNADE_FRAME_SOURCES_CHAIN_H
#define COLONNADE_FRAME_SOURCES_CHAIN_H

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "dataset/chains/files.h"
#include "dataset/chains/index.h"
#include "frame/sources/border_pages.h"
#include "frame/sources/column_shape.h"
#include "frame/sources/parts.h"
#include "frame/sources/source.h"
#include "page/page_source.h"

namespace colonnade::frame {

// What another process has learned about files, so that this one opens none of them to cut their
// entries.
struct ChainSurvey {
  dataset::ChainIndex index;
  std::vector<std::vector<std::uint64_t>> part_borders;  // of each file
  std::vector<std::vector<std::uint64_t>> column_bytes;  // of each schema: stored in all of its files

  // Appends the files of another survey.
  void append(ChainSurvey more);
};

class Chain final : public Source, public std::enable_shared_from_this<Chain> {
 public:
  // `files` without wildcards; `name` may be empty.
  Chain(std::string name, std::span<const dataset::NamedFile> files, ReadOptions options);
  // Known files: each is opened when it is first read, and must still be the known one.
  Chain(std::string name, dataset::ChainIndex index, ReadOptions options);
  // With their parts. Throws ErrorKind::format if the survey is inconsistent.
  Chain(std::string name, ChainSurvey survey, ReadOptions options);

  std::uint64_t entries() const override;
  std::span<const Sample> samples() const override { return samples_; }
  std::optional<std::uint32_t> find(std::string_view path) override;
  const ValueType& type(std::uint32_t column) const override { return columns_[column].type; }
  const std::string& path(std::uint32_t column) const override { return columns_[column].path; }
  std::shared_ptr<const Field> stored_field(std::uint32_t column) const override;
  bool has(std::uint32_t column, unsigned sample) const override;
  std::vector<std::string> names() const override;
  std::vector<Part> parts(std::uint64_t first, std::uint64_t last) const override;
  std::vector<std::uint64_t> stored_bytes(std::span<const Part> parts,
                                          std::span<const std::uint32_t> columns) const override;
  std::size_t parts_ahead() const override;
  std::unique_ptr<Cursor> open() const override;
  std::string specification(bool with_index) const override;
  ChainSurvey survey() const;

  // Fields of any file that no column includes.
  std::vector<LeftOut> left_out() const;

  // The shape of a column in a sample; null if the sample lacks it.
  const ColumnShape* shape(std::uint32_t column, unsigned sample) const;
  // The first sample of each schema.
  std::vector<unsigned> one_of_each_schema() const;
  // A file for another thread: opened unless it is open already.
  std::shared_ptr<const page::PageSource> acquire(unsigned sample) const { return files_.acquire(sample); }
  // True if acquire() would have to open the file.
  bool is_closed(unsigned sample) const { return files_.is_closed(sample); }
  // Shared by the cursors in the file.
  std::shared_ptr<BorderPages> borders(unsigned sample) const;
  const ReadOptions& options() const noexcept { return files_.options(); }

 private:
  using Schema = dataset::ChainIndex::Schema;
  struct State {  // of a file
    mutable std::mutex mutex;
    mutable std::weak_ptr<BorderPages> borders;
    mutable std::vector<std::uint64_t> part_borders;  // empty: not known yet
  };
  struct Column {
    std::string path;
    ValueType type;
    std::vector<std::optional<ColumnShape>> shapes;  // by schema
  };

  void add_samples();
  dataset::ChainIndex index_with_parts() const;
  std::uint64_t estimated_bytes(const Part& part, std::span<const std::uint32_t> columns) const;
  const std::vector<std::uint64_t>& part_borders_of(unsigned sample) const;

  PartLimits limits_ = PartLimits::of_process();
  dataset::ChainFiles files_;
  std::deque<State> states_;
  std::vector<Sample> samples_;
  std::vector<std::vector<double>> bytes_per_entry_;  // of each schema's columns, if there was a survey
  std::deque<Column> columns_;
  std::map<std::string, std::optional<std::uint32_t>, std::less<>> by_path_;
  std::vector<ColumnFinder> finders_;  // one per schema, once a column was asked for
};

}  // namespace colonnade::frame

#endif
