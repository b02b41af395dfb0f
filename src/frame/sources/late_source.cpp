// See late_source.h.
#include "frame/sources/late_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>
#include <utility>

#include "colonnade/error.h"
#include "frame/sources/friend_cursors.h"

namespace colonnade::frame {

class LateCursor final : public Cursor {
 public:
  explicit LateCursor(std::shared_ptr<const LateSource> source) : source_(std::move(source)) {}

  void start(const Part& part, std::span<const Part> next) override {
    part_ = part;
    next_.assign(next.begin(), next.end());
    for (auto& place : places_)
      if (place) place->start(part, next);
  }
  void expect(std::span<const std::uint32_t> columns, std::span<const std::uint32_t> certain) override {
    expected_.assign(columns.begin(), columns.end());
    certain_.assign(certain.begin(), certain.end());
    for (std::size_t i = 0; i < places_.size(); ++i)
      if (places_[i]) expect_of(i);
  }
  ValuesPtr read(std::uint32_t column, const Rows& rows, BlockMemory& memory) override {
    const LateSource::FetchedColumn place = source_->fetched_column(column);
    return at(place.source).read(place.number, rows, memory);
  }
  std::uint64_t row_bytes(std::span<const std::uint32_t> columns) override {
    std::uint64_t most = 0;
    for (const std::uint32_t column : columns) {
      if (!source_->has(column, part_.sample)) continue;
      const LateSource::FetchedColumn place = source_->fetched_column(column);
      most = std::max(most, at(place.source).row_bytes(place.number));
    }
    return most;
  }
  ReadMetrics metrics() const override {
    ReadMetrics sum;
    for (const auto& place : places_)
      if (place) place->add_to(sum);
    return sum;
  }

 private:
  void expect_of(std::size_t source) {
    places_[source]->expect(source_->columns_of(source, expected_), source_->columns_of(source, certain_));
  }
  FriendCursors& at(std::size_t source) {
    if (places_.size() <= source) places_.resize(source + 1);
    if (!places_[source]) {
      places_[source].emplace(source_->fetched(source));
      expect_of(source);
      places_[source]->start(part_, next_);
    }
    return *places_[source];
  }

  std::shared_ptr<const LateSource> source_;
  Part part_;
  std::vector<Part> next_;
  std::vector<std::uint32_t> expected_;
  std::vector<std::uint32_t> certain_;
  std::vector<std::optional<FriendCursors>> places_;
};

LateSource::LateSource(std::shared_ptr<Source> shape, std::vector<Sample> samples, Fetch fetch,
                       OtherNames other_names, std::vector<std::shared_ptr<Source>> fetched)
    : shape_(std::move(shape)),
      samples_(std::move(samples)),
      fetch_(std::move(fetch)),
      other_names_(std::move(other_names)),
      fetched_(std::move(fetched)) {
  for (Sample& sample : samples_) {
    sample.first = entries_;
    if (__builtin_add_overflow(entries_, sample.entries, &entries_))
      throw Error(ErrorKind::usage, "there are more than 2^64 entries");
  }
  if (shape_->samples().size() != samples_.size())
    throw Error(ErrorKind::usage, fmt::format("the names and types are of {} files, the entries of {}",
                                              shape_->samples().size(), samples_.size()));
  for (const auto& source : fetched_) check(*source);
}

void LateSource::check(const Source& brought) const {
  if (brought.entries() != entries_ || brought.samples().size() != samples_.size())
    throw Error(
        ErrorKind::format,
        fmt::format("there are {} entries in {} files, but {} in {} with the columns that were brought",
                    entries_, samples_.size(), brought.entries(), brought.samples().size()),
        "a file may have been replaced; open it again");
}

std::optional<std::uint32_t> LateSource::find(std::string_view path) {
  const std::lock_guard lock(mutex_);
  if (const auto known = by_path_.find(path); known != by_path_.end()) return known->second;
  const auto other = other_names_.find(path);
  const bool is_other = other != other_names_.end() && !shape_->find(path);
  const std::string field(is_other ? std::string_view(other->second) : path);
  if (!by_path_.contains(field)) {
    const auto found = shape_->find(field);
    by_path_[field] = found ? std::optional(static_cast<std::uint32_t>(columns_.size())) : std::nullopt;
    if (found) columns_.push_back({field, *found, std::nullopt});
  }
  return by_path_[std::string(path)] = by_path_[field];
}

std::vector<Part> LateSource::parts(std::uint64_t first, std::uint64_t last) const {
  std::vector<Part> parts;
  std::uint64_t number = 0;
  for (unsigned k = 0; k < samples_.size(); ++k) {
    const Sample& sample = samples_[k];
    std::vector<std::uint64_t> borders;
    for (std::uint64_t entry = 0; entry < sample.entries; entry += part_entries_) borders.push_back(entry);
    if (borders.empty()) continue;
    borders.push_back(sample.entries);
    add_parts(borders, sample.first, k, number, first, last, parts);
    number += borders.size() - 1;
  }
  return parts;
}

void LateSource::prepare(std::span<const std::uint32_t> columns) {
  fetch(columns);
}

bool LateSource::look_up(Column& column, std::size_t source) const {
  const auto found = fetched_[source]->find(column.path);
  if (!found) return false;
  // A file with extra columns does not represent the others.
  for (unsigned k = 0; k < samples_.size(); ++k)
    if (samples_[k].entries != 0 && shape_->has(column.shape, k) && !fetched_[source]->has(*found, k))
      return false;
  // Of a record, only some members may have been requested then.
  if (!(fetched_[source]->type(*found) == shape_->type(column.shape))) return false;
  column.place = FetchedColumn{source, *found};
  return true;
}

std::vector<std::uint32_t> LateSource::missing_of(std::span<const std::uint32_t> columns) const {
  const std::lock_guard lock(mutex_);
  std::vector<std::uint32_t> missing;
  for (const std::uint32_t column : columns)
    if (!columns_[column].place) missing.push_back(column);
  for (std::size_t k = 0; k < fetched_.size(); ++k)
    std::erase_if(missing, [&](std::uint32_t column) { return look_up(columns_[column], k); });
  return missing;
}

void LateSource::fail_missing(const Column& column) const {
  const auto found = fetched_.back()->find(column.path);
  const std::string expected = shape_->type(column.shape).name();
  throw Error(ErrorKind::type,
              found ? fmt::format("the column is of type {}, not {} as the file said",
                                  fetched_.back()->type(*found).name(), expected)
                    : fmt::format("the column of type {} no longer exists", expected),
              "the file may have been replaced; open it again", {.field = column.path});
}

void LateSource::fetch(std::span<const std::uint32_t> columns) const {
  const std::lock_guard turn(fetching_);
  const std::vector<std::uint32_t> missing = missing_of(columns);
  if (missing.empty()) return;
  std::vector<std::string> paths;
  for (const std::uint32_t column : missing) paths.push_back(columns_[column].path);
  if (!fetch_)
    throw Error(ErrorKind::not_found, "the column was not sent along", "make the plan again",
                {.field = paths.front()});
  std::shared_ptr<Source> brought = fetch_(paths);
  check(*brought);
  const std::lock_guard lock(mutex_);
  fetched_.push_back(std::move(brought));
  for (const std::uint32_t column : missing)
    if (!look_up(columns_[column], fetched_.size() - 1)) fail_missing(columns_[column]);
}

LateSource::FetchedColumn LateSource::fetched_column(std::uint32_t column) const {
  {
    const std::lock_guard lock(mutex_);
    if (columns_[column].place) return *columns_[column].place;
  }
  fetch(std::span(&column, 1));
  const std::lock_guard lock(mutex_);
  return *columns_[column].place;
}

std::shared_ptr<Source> LateSource::fetched(std::size_t source) const {
  const std::lock_guard lock(mutex_);
  return fetched_[source];
}

std::vector<std::uint32_t> LateSource::columns_of(std::size_t source,
                                                  std::span<const std::uint32_t> columns) const {
  const std::lock_guard lock(mutex_);
  std::vector<std::uint32_t> own;
  for (const std::uint32_t column : columns)
    if (const auto& place = columns_[column].place; place && place->source == source)
      own.push_back(place->number);
  return own;
}

std::size_t LateSource::parts_ahead() const {
  const std::lock_guard lock(mutex_);
  std::size_t most = 1;
  for (const auto& source : fetched_) most = std::max(most, source->parts_ahead());
  return most;
}

std::unique_ptr<Cursor> LateSource::open() const {
  return std::make_unique<LateCursor>(shared_from_this());
}

std::string LateSource::specification(bool with_index) const {
  std::vector<std::uint32_t> all(columns_.size());
  std::iota(all.begin(), all.end(), 0u);
  fetch(all);
  const std::lock_guard lock(mutex_);
  nlohmann::json made = {{"source", "late"},
                         {"shape", nlohmann::json::parse(shape_->specification(with_index))},
                         {"samples", nlohmann::json::array()},
                         {"fetched", nlohmann::json::array()}};
  for (const Sample& sample : samples_)
    made["samples"].push_back({{"name", sample.name},
                               {"entries", sample.entries},
                               {"uri", sample.uri},
                               {"data_set", sample.data_set}});
  if (!other_names_.empty()) made["other_names"] = other_names_;
  for (const auto& source : fetched_)
    made["fetched"].push_back(nlohmann::json::parse(source->specification(with_index)));
  return made.dump();
}

}  // namespace colonnade::frame
