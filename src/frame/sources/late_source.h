// LateSource: columns that are fetched when a pass needs them, such as those of TTrees, which are imported on
// demand.
//
// The available names and types are known from the beginning, from a source with or without entries. Before a
// pass begins, all columns that it needs and that are missing are fetched at once. Parts are of equal size,
// so that they do not depend on what was fetched together.
#ifndef COLONNADE_FRAME_SOURCES_LATE_SOURCE_H
#define COLONNADE_FRAME_SOURCES_LATE_SOURCE_H

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "frame/sources/parts.h"
#include "frame/sources/source.h"

namespace colonnade::frame {

class LateSource final : public Source, public std::enable_shared_from_this<LateSource> {
 public:
  // Returns a source with these columns and the same entries. Called by one thread at a time.
  using Fetch = std::function<std::shared_ptr<Source>(const std::vector<std::string>& paths)>;

  // Paths of columns by other names, such as those of branches that no field can have.
  using OtherNames = std::map<std::string, std::string, std::less<>>;

  // `shape` has the names and types, and equally many samples. `fetched`: columns that are here already.
  LateSource(std::shared_ptr<Source> shape, std::vector<Sample> samples, Fetch fetch,
             OtherNames other_names = {}, std::vector<std::shared_ptr<Source>> fetched = {});

  std::uint64_t entries() const override { return entries_; }
  std::span<const Sample> samples() const override { return samples_; }
  std::optional<std::uint32_t> find(std::string_view path) override;
  const ValueType& type(std::uint32_t column) const override { return shape_->type(columns_[column].shape); }
  const std::string& path(std::uint32_t column) const override { return columns_[column].path; }
  std::shared_ptr<const Field> stored_field(std::uint32_t column) const override {
    return shape_->stored_field(columns_[column].shape);
  }
  bool has(std::uint32_t column, unsigned sample) const override {
    return shape_->has(columns_[column].shape, sample);
  }
  std::vector<std::string> names() const override { return shape_->names(); }
  std::vector<Part> parts(std::uint64_t first, std::uint64_t last) const override;
  void prepare(std::span<const std::uint32_t> columns) override;
  std::size_t parts_ahead() const override;
  std::unique_ptr<Cursor> open() const override;
  // Fetches all columns that were looked up.
  std::string specification(bool with_index) const override;

  const std::shared_ptr<Source>& shape() const noexcept { return shape_; }

 private:
  friend class LateCursor;
  struct FetchedColumn {
    std::size_t source = 0;  // index into fetched_
    std::uint32_t number = 0;
  };
  struct Column {
    std::string path;
    std::uint32_t shape = 0;
    std::optional<FetchedColumn> place;  // empty: not fetched yet
  };
  FetchedColumn fetched_column(std::uint32_t column) const;
  std::shared_ptr<Source> fetched(std::size_t source) const;
  // Those that one source has brought, by their numbers there.
  std::vector<std::uint32_t> columns_of(std::size_t source, std::span<const std::uint32_t> columns) const;
  void check(const Source& brought) const;
  void fetch(std::span<const std::uint32_t> columns) const;
  std::vector<std::uint32_t> missing_of(std::span<const std::uint32_t> columns) const;
  [[noreturn]] void fail_missing(const Column& column) const;
  bool look_up(Column& column, std::size_t source) const;

  std::shared_ptr<Source> shape_;
  std::vector<Sample> samples_;
  std::uint64_t entries_ = 0;
  Fetch fetch_;
  OtherNames other_names_;
  std::uint64_t part_entries_ = PartLimits::of_process().array_entries;
  std::map<std::string, std::optional<std::uint32_t>, std::less<>> by_path_;

  // Held while columns are fetched; mutex_ is not locked meanwhile, so that the fetching thread may wait for
  // others that look something up.
  mutable std::mutex fetching_;
  mutable std::mutex mutex_;  // guards the members below
  mutable std::deque<Column> columns_;
  mutable std::vector<std::shared_ptr<Source>> fetched_;
};

}  // namespace colonnade::frame

#endif
