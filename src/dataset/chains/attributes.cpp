// The attribute sets of chains; see colonnade/chain.h.
#include "colonnade/attributes.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "colonnade/chain.h"
#include "colonnade/error.h"
#include "dataset/attributes/sets.h"
#include "dataset/chains/state.h"
#include "dataset/nearest.h"

namespace colonnade {
namespace {

[[noreturn]] void fail_missing(const dataset::ChainFiles& files, std::string_view name) {
  std::string there, lacking;
  for (std::size_t i = 0; i < files.size() && (there.empty() || lacking.empty()); ++i) {
    const bool has = dataset::find_attribute_set(*files.descriptor_of(i), name) != nullptr;
    if (std::string& first = has ? there : lacking; first.empty()) first = files[i].uri;
  }
  throw Error(
      ErrorKind::schema, fmt::format("the attribute set '{}' is in {} but not in {}", name, there, lacking),
      "missing=\"fill\" for the rows that exist, or missing=\"skip\" to leave the set out", {.uri = lacking});
}

// The attribute sets of the chain, and the number of files that have each.
std::vector<std::pair<std::string, std::size_t>> shown_sets(const dataset::ChainState& chain) {
  auto sets = chain.files().attribute_sets();
  if (chain.missing() == MissingFields::skip)
    std::erase_if(sets, [&](const auto& set) { return set.second < chain.files().size(); });
  return sets;
}

}  // namespace

std::vector<std::string> ChainReader::attribute_sets() const {
  std::vector<std::string> names;
  for (const auto& [name, files] : shown_sets(*state_)) names.push_back(name);
  return names;
}

std::unique_ptr<ChainAttributeSet> ChainReader::attribute_set(std::string_view name) const {
  const auto sets = shown_sets(*state_);
  const auto found = std::ranges::find(sets, name, [](const auto& set) { return set.first; });
  if (found == sets.end())
    throw Error(ErrorKind::not_found, fmt::format("there is no attribute set '{}'", name),
                dataset::did_you_mean(name, attribute_sets()), state_->context());
  if (state_->missing() == MissingFields::error && found->second < state_->files().size())
    fail_missing(state_->files(), name);
  auto set = std::make_shared<dataset::ChainState>(state_, name);
  return std::unique_ptr<ChainAttributeSet>(
      new ChainAttributeSet(name, std::unique_ptr<ChainReader>(new ChainReader(std::move(set)))));
}

ChainAttributeSet::ChainAttributeSet(std::string_view name, std::unique_ptr<ChainReader> reader)
    : name_(name),
      reader_(std::move(reader)),
      starts_(reader_->view<std::uint64_t>(dataset::range_start_field)),
      lengths_(reader_->view<std::uint64_t>(dataset::range_length_field)) {}

ChainAttributeSet::~ChainAttributeSet() = default;

std::string ChainAttributeSet::path_of(std::string_view field) {
  return AttributeSet::path_of(field);
}

std::vector<std::string> ChainAttributeSet::field_names() const {
  return dataset::user_fields(reader_->descriptor());
}

IndexRange ChainAttributeSet::entries_of(std::size_t file) const {
  const dataset::ChainFiles::File& whole = reader_->state_->files().whole_of(file);
  return {whole.first, whole.first + whole.entries};
}

IndexRange ChainAttributeSet::range(std::uint64_t row) {
  const std::size_t file = reader_->file_of(row);
  const IndexRange entries = entries_of(file);
  const IndexRange own = dataset::checked_range(*reader_->state_->source(file), row, starts_(row),
                                                lengths_(row), entries.size());
  return {entries.first() + own.first(), entries.first() + own.last()};
}

std::vector<std::uint64_t> ChainAttributeSet::of_entry(std::uint64_t entry) {
  return covering({entry, entry + 1});
}

std::vector<std::uint64_t> ChainAttributeSet::covering(const IndexRange& entries) {
  return dataset::rows_covering(rows(), [this](std::uint64_t row) { return range(row); }, entries);
}

std::vector<std::uint64_t> ChainAttributeSet::within(const IndexRange& entries) {
  return dataset::rows_within(rows(), [this](std::uint64_t row) { return range(row); }, entries);
}

std::string ChainAttributeSet::row_text(std::uint64_t row) {
  if (field_names().empty()) return "{}";
  const std::string path(dataset::user_data_field);
  return dataset::without_user_data(reader_->entry_text(row, std::span(&path, 1)));
}

}  // namespace colonnade
