// Opening, entries and texts of chains; see colonnade/chain.h. Arrays are in arrays.cpp.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "codec/column_codec.h"
#include "colonnade/attributes.h"
#include "colonnade/chain.h"
#include "colonnade/error.h"
#include "dataset/chains/arrays.h"
#include "dataset/chains/offline_names.h"
#include "dataset/chains/state.h"
#include "dataset/joins/memory.h"
#include "dataset/reading/gathered_arrays.h"
#include "dataset/schema_walk.h"

namespace colonnade {

// The model's fields in one file.
struct ChainReader::Connected {
  struct One {
    std::unique_ptr<Field> field;  // null: the file does not have it
    bool is_partial = false;       // the file lacks some of it, which keeps no value of the file before
  };
  std::size_t file = 0;
  std::shared_ptr<page::PageSource> source;
  std::vector<One> fields;
};

// Views of what was printed last, so that printing many entries reads each page once.
struct ChainReader::Text {
  std::size_t file = 0;
  std::map<std::string, std::optional<View<void>>> views;  // none: the file does not have the field
};

namespace {

void renew(const Field& field, void* value) {
  field.destroy(value);
  field.construct(value);
}

// Sets of unknown versions are left out.
std::uint64_t verify_attribute_sets(Reader& file) {
  std::uint64_t pages = 0;
  for (const std::string& name : file.attribute_sets()) try {
      const auto set = file.attribute_set(name);
      std::uint64_t here = 0;
      set->reader().verify([&](std::uint64_t done, std::uint64_t) { here = done; });
      pages += here;
      for (const std::uint64_t row : set->rows()) static_cast<void>(set->range(row));
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::unsupported) throw;
    }
  return pages;
}

}  // namespace

ChainReader::ChainReader(std::shared_ptr<dataset::ChainState> state) : state_(std::move(state)) {}
ChainReader::~ChainReader() = default;

std::unique_ptr<ChainReader> ChainReader::open(std::string_view name, std::span<const std::string> uris,
                                               const ChainOptions& options) {
  dataset::refuse_offline_wildcards(uris, options.read.cache);
  return std::unique_ptr<ChainReader>(new ChainReader(
      std::make_shared<dataset::ChainState>(name, dataset::expand_names(std::string(name), uris), options)));
}

std::unique_ptr<ChainReader> ChainReader::open(std::span<const ChainFile> files,
                                               const ChainOptions& options) {
  std::vector<dataset::NamedFile> named;
  for (const ChainFile& file : files) named.push_back({file.uri, file.data_set});
  return std::unique_ptr<ChainReader>(
      new ChainReader(std::make_shared<dataset::ChainState>("", named, options)));
}

std::unique_ptr<ChainReader> ChainReader::open(std::unique_ptr<Model> model, std::string_view name,
                                               std::span<const std::string> uris,
                                               const ChainOptions& options) {
  if (!model) throw Error(ErrorKind::usage, "there is no model", "see Model::create()");
  auto reader = open(name, uris, options);
  reader->model_ = std::move(model);
  reader->model_->complete_ = true;
  reader->check_model();
  return reader;
}

std::unique_ptr<ChainReader> ChainReader::open_known(std::string_view index, const ChainOptions& options) {
  return std::unique_ptr<ChainReader>(
      new ChainReader(std::make_shared<dataset::ChainState>(dataset::read_chain_index(index), options)));
}

const std::string& ChainReader::name() const noexcept {
  return descriptor().name;
}
std::uint64_t ChainReader::num_entries() const noexcept {
  return state_->files().entries();
}
const Descriptor& ChainReader::descriptor() const noexcept {
  return state_->descriptor();
}
ReadMetrics ChainReader::metrics() const {
  return state_->metrics();
}

std::vector<ChainFile> ChainReader::files() const {
  std::vector<ChainFile> all;
  for (std::size_t i = 0; i < state_->files().size(); ++i) {
    const auto& file = state_->files()[i];
    all.push_back({file.uri, file.data_set, file.first, file.entries, file.place});
  }
  return all;
}

std::size_t ChainReader::file_of(std::uint64_t entry) const {
  const std::size_t file = state_->files().file_of(entry);
  if (file < state_->files().size()) return file;
  throw Error(ErrorKind::usage,
              fmt::format("entry {} is beyond the {} entries of the chain", entry, num_entries()), "",
              state_->context());
}

std::string ChainReader::index(bool places) const {
  dataset::ChainIndex index = state_->files().index();
  for (dataset::ChainIndex::File& file : index.files)
    if (!places) file.place.clear();
  const auto described = dataset::to_json(index);
  return described ? described->dump() : std::string();
}

// ---- Entries

Model& ChainReader::model() {
  if (model_) return *model_;
  auto model = Model::create();
  with_context(state_->context(), [&] {
    for (const std::uint32_t id : descriptor().top_level_fields())
      if (descriptor().fields[id].unreadable.empty()) model->add_field(make_field(descriptor(), id));
  });
  model->complete_ = true;
  model_ = std::move(model);
  return *model_;
}

// Fields that some files lack need an optional type; types are checked against each file as it is read.
void ChainReader::check_model() const {
  for (const auto& field : model_->fields())
    static_cast<void>(detail::ChainCore(state_, field->name(), field->kind() == FieldKind::nullable));
}

void ChainReader::connect_model(std::size_t file) {
  if (connected_ && connected_->file == file) return;
  auto fresh = std::make_unique<Connected>();
  fresh->file = file;
  fresh->source = state_->source(file);
  for (const auto& field : model().fields()) {
    const std::uint32_t id = state_->find_field(field->name());
    const std::uint32_t stored = state_->mapping(file).stored[id];
    Connected::One one;
    one.is_partial = !state_->schema().is_everywhere(id, state_->files()[file].schema);
    if (stored != invalid_id) {
      one.field = field->clone(field->name());
      with_context(fresh->source->context(), [&] { one.field->connect(*fresh->source, stored); });
    }
    fresh->fields.push_back(std::move(one));
  }
  connected_ = std::move(fresh);
}

void ChainReader::load_entry(std::uint64_t index, Entry& entry) {
  if (entry.model_id_ != model().default_entry_.model_id_)
    throw Error(ErrorKind::usage, "the entry belongs to another model",
                "make it with ChainReader::make_entry()", state_->context());
  const std::size_t file = file_of(index);
  connect_model(file);
  const Descriptor& stored = connected_->source->descriptor();
  const std::uint64_t local = index - state_->files()[file].first;
  const std::size_t cluster = stored.cluster_of_entry(local);
  const ClusterIndex at{cluster, local - stored.clusters[cluster].first_entry};
  for (std::size_t i = 0; i < model_->fields_.size(); ++i) {
    const Connected::One& one = connected_->fields[i];
    void* value = entry.slots_[i].value.get();
    if (one.is_partial) renew(*model_->fields_[i], value);
    if (!one.field) continue;
    try {
      with_context({}, [&] { one.field->read(at, value); });
    } catch (const Error& error) {
      ErrorContext where = connected_->source->context();
      where.field = model_->fields_[i]->name();
      throw error.with(where);
    }
  }
}

// ---- Arrays

std::vector<ColumnArray> ChainReader::arrays(std::span<const std::string> paths, std::uint64_t first,
                                             std::uint64_t last, std::uint64_t ahead) {
  return dataset::read_chain_arrays(*state_, paths, first, last, ahead);
}

std::vector<ColumnArray> ChainReader::arrays_at(std::span<const std::string> paths,
                                                std::span<const std::uint64_t> entries) {
  if (!gathered_) {
    std::vector<std::uint64_t> borders;
    for (const ChainFile& file : files()) borders.push_back(file.first);
    borders.push_back(num_entries());
    const auto read = [this](std::span<const std::string> of, std::uint64_t first, std::uint64_t last,
                             std::uint64_t ahead) { return arrays(of, first, last, ahead); };
    gathered_ = std::make_unique<dataset::GatheredArrays>(descriptor(), borders, read,
                                                          dataset::JoinMemory::default_budget());
  }
  return gathered_->take(paths, entries);
}

std::vector<ChainReader::ClusterSize> ChainReader::cluster_sizes(std::span<const std::string> paths,
                                                                 std::size_t file) {
  if (file >= state_->files().size())
    throw Error(ErrorKind::usage,
                fmt::format("file {} is beyond the {} files of the chain", file, state_->files().size()), "",
                state_->context());
  const auto marked = dataset::stored_fields(*state_, file, dataset::wanted_fields(*state_, paths));
  const auto descriptor = state_->files().descriptor_of(file);
  std::vector<std::uint64_t> width(descriptor->columns.size(), 0);
  for (const FieldDescriptor& f : descriptor->fields) {
    if (!marked[f.id]) continue;
    for (const auto& group : f.representations)
      for (const std::uint32_t column : group)
        width[column] = size_of(natural_element(descriptor->columns[column].encoding.type));
  }
  const std::uint64_t base = state_->files()[file].first;
  std::vector<ClusterSize> sizes;
  for (const ClusterDescriptor& cluster : descriptor->clusters) {
    ClusterSize& size = sizes.emplace_back();
    size.first = base + cluster.first_entry;
    size.last = size.first + cluster.entries;
    for (const ColumnRange& range : cluster.columns)
      if (!range.suppressed && range.column < width.size() && width[range.column] > 0)
        size.bytes += width[range.column] * range.pages.elements();
  }
  return sizes;
}

// ---- Texts, and checking

std::string ChainReader::entry_text(std::uint64_t index, std::span<const std::string> fields) {
  std::vector<std::string> paths(fields.begin(), fields.end());
  if (paths.empty())
    for (const std::uint32_t id : descriptor().top_level_fields())
      if (descriptor().fields[id].unreadable.empty()) paths.push_back(descriptor().fields[id].name);
  const std::size_t file = file_of(index);
  if (!text_ || text_->file != file) {
    text_ = std::make_unique<Text>();
    text_->file = file;
  }
  const std::uint64_t local = index - state_->files()[file].first;
  std::string text = "{";
  for (const std::string& path : paths) {
    auto found = text_->views.find(path);
    if (found == text_->views.end()) {
      const std::uint32_t id = state_->find_field(path);
      const std::uint32_t stored = state_->mapping(file).stored[id];
      if (!dataset::is_per_entry(descriptor(), id))
        throw Error(ErrorKind::usage, fmt::format("entries have no single value of '{}'", path),
                    "the enclosing field", state_->context());
      found = text_->views.emplace(path, std::nullopt).first;
      if (stored != invalid_id)
        found->second.emplace(state_->source(file), state_->stored_schema(file).path_of(stored),
                              make_field(descriptor(), id));
    }
    text += fmt::format("{}\"{}\": {}", text.size() > 1 ? ", " : "", path,
                        found->second ? found->second->text(local) : "null");
  }
  return text + "}";
}

std::uint64_t ChainReader::verify(const std::function<void(std::uint64_t, std::uint64_t)>& progress) {
  std::uint64_t total = 0;
  for (std::size_t i = 0; i < state_->files().size(); ++i)
    for (const ClusterDescriptor& cluster : state_->files().descriptor_of(i)->clusters)
      for (const ColumnRange& range : cluster.columns) total += range.pages.size();
  std::uint64_t before = 0;
  std::uint64_t of_sets = 0;
  for (std::size_t i = 0; i < state_->files().size(); ++i) {
    std::uint64_t here = 0;
    Reader file(state_->source(i));
    file.verify([&](std::uint64_t done, std::uint64_t) {
      here = done;
      if (progress) progress(before + done, total);
    });
    before += here;
    of_sets += verify_attribute_sets(file);
  }
  return before + of_sets;
}

}  // namespace colonnade
