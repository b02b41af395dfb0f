// See copy_plan.h.
#include "dataset/copying/copy_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "base/redacted.h"
#include "codec/compression.h"
#include "container/container.h"
#include "dataset/writing/schema.h"
#include "io/object_store.h"
#include "io/places.h"

namespace colonnade::dataset {
namespace {

std::string without_slash(std::string path) {
  path.erase(0, std::min(path.find_first_not_of('/'), path.size()));
  return path;
}

// The path of a copy: "Events" for the cycle "Events;1", which the name does not have.
std::string path_without_cycle(const CopySource& source) {
  const std::string& path = source.place.data_set;
  const std::string before = path.substr(0, path.rfind(';'));
  return before.ends_with(source.name) && !path.ends_with(source.name) ? before : path;
}

DestinationState look_at(const DataSetPlace& place) {
  DestinationState found;
  try {
    if (!io::is_object_store(place.uri)) static_cast<void>(io::open_for_reading(place.uri));
    const auto container = container::open_container(place.uri);
    found.container = true;
    const std::vector<std::string> names = container->data_sets();
    found.data_set = std::ranges::find(names, place.data_set) != names.end();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::not_found) throw;
  }
  return found;
}

}  // namespace

CopyPlan::CopyPlan(const std::vector<DataSetPlace>& sources, DataSetPlace destination,
                   const CopyOptions& options)
    : options_(options),
      destination_(std::move(destination)),
      sources_(sources, options),
      sets_(options.fields) {
  check_options();
  survey();
  find_there();
  choose_mode();
  note_losses();
  number_sources();
  collect_attribute_sets();
}

void CopyPlan::check_options() const {
  if (sources().empty()) throw Error(ErrorKind::usage, "there is nothing to copy", "name a source");
  if (!(options().watch_every >= 0))
    throw Error(ErrorKind::usage, "the time between two calls for the progress is no number of seconds");
  if (options_.append && options_.overwrite)
    throw Error(ErrorKind::usage, "an existing data set cannot be both kept and replaced",
                "choose between append and overwrite");
  if (options_.before_commit && (options_.append || options_.resume))
    throw Error(ErrorKind::usage, "nothing can be added to a copy that continues another one",
                "AttributeAppender::open() once it is complete");
  WriteOptions writing = options_.writing;
  if (options_.compression) writing.compression = *options_.compression;
  if (options_.max_page_size) writing.max_page_size = *options_.max_page_size;
  if (options_.approximate_cluster_size) {
    writing.approximate_cluster_size = *options_.approximate_cluster_size;
    writing.max_uncompressed_cluster_size =
        std::max(writing.max_uncompressed_cluster_size, writing.approximate_cluster_size);
  }
  dataset::check(writing);
  static_cast<void>(codec::CompressionSettings::parse(writing.compression.text));
}

void CopyPlan::survey() {
  sources_.survey();
  destination_.data_set = without_slash(destination_.data_set);
  if (destination_.data_set.empty()) destination_.data_set = path_without_cycle(sources().front());
  for (const CopySource& source : sources())
    if (io::is_same_place(source.place.uri, destination_.uri) &&
        (source.place.data_set == destination_.data_set ||
         (options_.overwrite && !io::is_object_store(destination_.uri))))
      throw Error(ErrorKind::usage, "the destination would replace the source", "copy to another place",
                  {.uri = destination_.uri, .data_set = destination_.data_set});
  if (!options_.provenance) return;
  std::set<std::pair<std::string, std::string>> given;
  for (CopySource& source : sources_.all()) {
    source.record.uri = redacted(io::canonical_name(source.place.uri));
    if (!given.emplace(io::identity_of(source.place.uri), source.place.data_set).second)
      throw Error(ErrorKind::usage, "the same input is given twice", "name each input once",
                  {.uri = source.place.uri, .data_set = source.place.data_set});
  }
}

void CopyPlan::find_there() {
  if (!options_.append) return;
  with_context({.uri = destination_.uri, .data_set = destination_.data_set}, [&] {
    if (!look_at_destination().data_set) return;
    there_ = open_destination();
    inputs_there_ = read_provenance(*there_);
    if (inputs_there_.empty() && options_.resume) return there_.reset();  // interrupted before it said so
    if (inputs_there_.empty())
      throw Error(ErrorKind::usage, "the data set does not say what it was made from",
                  "resume to continue an interrupted merge, or merge all inputs into a new file");
  });
  if (!there_) return;
  for (const InputRecord& input : inputs_there_)
    if (input.depth == 0) {
      base_entries_ += input.entries;
      base_clusters_ += static_cast<std::size_t>(input.clusters);
    }
  if (there_->descriptor().entries() < base_entries_)
    refuse(fmt::format("it has {} entries and says that its inputs have {}", there_->descriptor().entries(),
                       base_entries_));
  leave_out_known();
}

void CopyPlan::leave_out_known() {
  for (CopySource& source : sources_.all()) {
    const InputRecord* known = find_input(inputs_there_, source.record);
    if (known == nullptr) continue;
    if (!is_unchanged(*known, source.record))
      throw Error(ErrorKind::usage, "the input has changed since it was merged",
                  "merge all inputs into a new file",
                  {.uri = source.place.uri, .data_set = source.place.data_set});
    source.is_known = true;
    ++known_sources_;
  }
  is_done_ = known_sources_ == sources().size() && there_->descriptor().entries() == base_entries_;
}

void CopyPlan::choose_mode() {
  if (is_done_) return;
  const Descriptor* there = there_ ? &there_->descriptor() : nullptr;
  const std::uint64_t behind = there_ ? there_->descriptor().entries() : 0;
  const bool decodes = options_.max_page_size || options_.approximate_cluster_size;
  mode_ = decodes ? CopyMode::decode : options_.compression ? CopyMode::recompress : CopyMode::pages;
  try {
    sources_.plan(!decodes, there, behind);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::schema) throw;
    if (!decodes && !there_ && can_decode_together()) {
      mode_ = CopyMode::decode;
      notes_.push_back(fmt::format("columns were decoded and encoded again, since in {} {}",
                                   error.context().uri, error.problem()));
      return;
    }
    throw Error(ErrorKind::schema,
                fmt::format("the sources have different schemas: in this one {}", error.problem()),
                error.advice(), error.context());
  }
}

// Whether the sources follow each other when nothing is late and each field has one representation.
bool CopyPlan::can_decode_together() {
  try {
    sources_.plan(false, nullptr, 0);
    return true;
  } catch (const Error&) {
    return false;
  }
}

void CopyPlan::note_losses() {
  if (is_done_) return;
  for (const std::string& name : sources_.classes_of_several_versions())
    notes_.push_back(
        fmt::format("the sources have several versions of the class '{}': read rules will take all entries "
                    "for that of the first",
                    name));
  if (mode_ != CopyMode::decode && sources().size() < 2) return;
  const auto has_late = [&](const CopySource& source) {
    return !source.is_known && sources_.has_late_fields(source);
  };
  if (std::ranges::any_of(sources(), has_late))
    notes_.emplace_back("fields that were added late are in the header, with zeros for the entries before");
}

void CopyPlan::number_sources() {
  entries_ = base_entries_;
  clusters_ = base_clusters_;
  each_source([&](CopySource& source) {
    source.first_entry = entries_;
    source.first_cluster = clusters_;
    entries_ += source.entries();
    clusters_ += source.clusters();
    bytes_ += source.bytes;
    return true;
  });
}

void CopyPlan::collect_attribute_sets() {
  if (there_) sets_.come_behind(*there_);
  each_source([&](CopySource& source) {
    if (!source.attribute_sets.empty())
      sets_.add([this, &source]() -> const page::PageSource& { return open(source); }, source.first_entry,
                notes_, options_.provenance ? provenance_name : "");
    return true;
  });
}

bool CopyPlan::each_source(const std::function<bool(CopySource&)>& copy) {
  return std::ranges::all_of(sources_.all(),
                             [&](CopySource& source) { return source.is_known || copy(source); });
}

std::size_t CopyPlan::largest_page() const {
  std::size_t largest = sets_.largest_page();
  for (const CopySource& source : sources())
    largest = std::max(largest, static_cast<std::size_t>(source.largest_page));
  return largest;
}

DestinationState CopyPlan::look_at_destination() const {
  try {
    return look_at(destination_);
  } catch (const Error& error) {
    if (!options_.overwrite || error.kind() != ErrorKind::format) throw;
    return {};
  }
}

std::unique_ptr<page::PageSource> CopyPlan::open_destination() const {
  return open_to_copy(destination_, options_.reading);
}

void CopyPlan::refuse(std::string_view why) const {
  if (options_.overwrite) throw NotTheBeginning();
  throw Error(ErrorKind::usage,
              fmt::format("the destination does not hold the beginning of this copy: {}", why),
              there_ ? "if appending was interrupted, first append the same inputs again, then others"
                     : "another name, or replace it explicitly",
              {.uri = destination_.uri, .data_set = destination_.data_set});
}

}  // namespace colonnade::dataset
