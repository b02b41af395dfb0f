// Which values of a field lie in which file; see colonnade/chain.h.
#include <fmt/format.h>

#include <algorithm>

#include "colonnade/chain.h"
#include "colonnade/error.h"
#include "dataset/chains/state.h"
#include "dataset/schema_walk.h"

namespace colonnade::detail {
namespace {

ErrorContext context_of(const dataset::ChainState& chain, std::uint32_t field) {
  ErrorContext where = chain.context();
  where.field = chain.descriptor().path_of(field);
  return where;
}

// A file that has what is around the field, but not the field.
void check_there(const dataset::ChainState& chain, std::uint32_t field) {
  const std::uint32_t parent = chain.descriptor().fields[field].parent;
  const auto& schemas = chain.files().schemas();
  for (std::size_t i = 0; i < schemas.size(); ++i) {
    const auto& stored = chain.schema().mappings[i].stored;
    if (stored[field] != invalid_id || (parent != field && stored[parent] == invalid_id)) continue;
    ErrorContext where = context_of(chain, field);
    where.uri = schemas[i].uri;
    throw Error(ErrorKind::type,
                "the file does not have the field, and the requested type has no missing values",
                "a std::optional of it", std::move(where));
  }
}

}  // namespace

ChainCore::ChainCore(std::shared_ptr<dataset::ChainState> chain, std::string_view path, bool may_lack)
    : chain_(std::move(chain)), field_(chain_->find_field(path)) {
  const FieldDescriptor& f = chain_->descriptor().fields[field_];
  if (!f.unreadable.empty())
    throw Error(ErrorKind::unsupported,
                fmt::format("the stored type '{}' cannot be read: {}", f.type_name, f.unreadable), "",
                context_of(*chain_, field_));
  if (!may_lack) check_there(*chain_, field_);
  per_entry_ = dataset::is_per_entry(chain_->descriptor(), field_);
}

std::shared_ptr<page::PageSource> ChainCore::source(std::size_t file) {
  return chain_->mapping(file).stored[field_] == invalid_id ? nullptr : chain_->source(file);
}

std::string ChainCore::path_in(std::size_t file) const {
  return chain_->stored_schema(file).path_of(chain_->mapping(file).stored[field_]);
}

std::optional<std::uint64_t> ChainCore::items_each(std::size_t file) const {
  const std::uint32_t id = chain_->mapping(file).stored[field_];
  if (id == invalid_id) return 0;
  const Descriptor& schema = chain_->stored_schema(file);
  if (dataset::is_plain(chain_->descriptor(), field_, chain_->mapping(file), schema)) return 1;
  const FieldDescriptor& f = schema.fields[id];
  if (f.role == FieldRole::collection) return std::nullopt;
  return f.array_size > 0 ? f.array_size : 1;
}

// Where a file lacks a member of a record it has as many of them as records.
std::uint64_t ChainCore::count_in(std::size_t file) {
  const auto& stored = chain_->mapping(file).stored;
  const auto& fields = chain_->descriptor().fields;
  std::uint32_t at = field_;
  while (stored[at] == invalid_id && fields[at].parent != at) at = fields[at].parent;
  if (stored[at] == invalid_id || (at != field_ && fields[at].role == FieldRole::collection)) return 0;
  return ViewCore(chain_->source(file), chain_->stored_schema(file).path_of(stored[at]), nullptr).size();
}

std::uint64_t ChainCore::first_of(std::size_t file) {
  const dataset::ChainFiles& files = chain_->files();
  if (per_entry_) return file < files.size() ? files[file].first : files.entries();
  while (firsts_.size() <= file) firsts_.push_back(firsts_.back() + count_in(firsts_.size() - 1));
  return firsts_[file];
}

std::uint64_t ChainCore::size() {
  return first_of(chain_->files().size());
}

void ChainCore::check_range(std::uint64_t first, std::uint64_t count) {
  const std::uint64_t end = size();
  if (first > end || count > end - first)
    throw Error(
        ErrorKind::usage,
        fmt::format("values {} to {} are beyond the {} values of the field", first, first + count, end), "",
        context_of(*chain_, field_));
}

ChainCore::FileSection ChainCore::locate(std::uint64_t index) {
  const dataset::ChainFiles& files = chain_->files();
  std::size_t file = 0;
  if (per_entry_) {
    file = files.file_of(index);
  } else {
    while (firsts_.back() <= index && firsts_.size() <= files.size()) first_of(firsts_.size());
    file = static_cast<std::size_t>(std::ranges::upper_bound(firsts_, index) - firsts_.begin()) - 1;
    if (index >= firsts_.back()) file = files.size();
  }
  if (file >= files.size())
    throw Error(ErrorKind::usage, fmt::format("index {} is beyond the {} values of the field", index, size()),
                "", context_of(*chain_, field_));
  const std::uint64_t first = first_of(file);
  return {file, first, first_of(file + 1) - first};
}

}  // namespace colonnade::detail

namespace colonnade {

ChainCollectionView::ChainCollectionView(const std::shared_ptr<dataset::ChainState>& chain,
                                         std::string_view path)
    : core_(chain, path, true), items_(chain, std::string(path) + "._0", true) {}

IndexRange ChainCollectionView::operator()(std::uint64_t index) {
  if (index - section_.first >= section_.count) {
    const detail::ChainCore::FileSection section = core_.locate(index);
    section_ = {};
    view_.reset();
    const auto each = core_.items_each(section.file);
    items_each_ = each.value_or(0);
    if (!each) view_.emplace(core_.source(section.file), core_.path_in(section.file));
    first_item_ = items_.first_of(section.file);
    section_ = section;
  }
  const std::uint64_t local = index - section_.first;
  const IndexRange own = view_ ? (*view_)(local) : IndexRange(local * items_each_, (local + 1) * items_each_);
  return {first_item_ + own.first(), first_item_ + own.last()};
}

}  // namespace colonnade
