// See arrays.h. The arrays of each file are read by its own schema, with numbers decoded to the types
// of the common schema. A walk over the common schema, which counts the values of each field, then moves them
// to their common names, and makes offsets that a file does not store: of fixed-size arrays that are vectors
// in other files, of plain values that are optional there, of fields that the file lacks.
#include "dataset/chains/arrays.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "colonnade/error.h"
#include "dataset/element_types.h"
#include "dataset/reading/columnar_reader.h"
#include "dataset/reading/gathered_arrays.h"
#include "page/cluster_pool.h"

namespace colonnade::dataset {
namespace {

using Key = std::pair<std::uint32_t, ArrayRole>;
using Pieces = std::map<Key, std::vector<ColumnArray>>;

// One file's arrays, by stored field, taken over into those of the chain.
class FileWalk {
 public:
  // `stored`: the file's schema and how the chain's fields map to it; null: no file, for arrays of nothing.
  FileWalk(const Descriptor& descriptor, const Descriptor* stored, const ChainSchema::Mapping* mapping,
           const std::vector<bool>& wanted, std::vector<ColumnArray> arrays, Pieces& pieces)
      : descriptor_(descriptor), stored_(stored), mapping_(mapping), wanted_(wanted), pieces_(pieces) {
    for (ColumnArray& array : arrays) arrays_[{array.field, array.role}] = std::move(array);
  }

  void walk(std::uint32_t id, std::uint64_t count) {
    if (!wanted_[id]) return;
    const FieldDescriptor& f = descriptor_.fields[id];
    switch (form_of(f)) {
      case FieldForm::unreadable:
        return;
      case FieldForm::scalar:
        return take(f, ArrayRole::values, *element_of_field(descriptor_, f), count);
      case FieldForm::bitset:
        return take(f, ArrayRole::values, ElementType::boolean, count * f.array_size);
      case FieldForm::text: {
        const std::uint64_t characters = take_offsets(f, count);
        return take(f, ArrayRole::values, ElementType::character, characters);
      }
      case FieldForm::count:
        static_cast<void>(take_offsets(f, count));
        return;
      case FieldForm::list:
      case FieldForm::nullable:
        return walk(f.children.front(), take_offsets(f, count));
      case FieldForm::array:
        return walk(f.children.front(), count * f.array_size);
      case FieldForm::variant:
        return walk_variant(f, count);
      case FieldForm::record:
      case FieldForm::product:
      case FieldForm::wrapper:
        for (const std::uint32_t child : f.children) walk(child, count);
        return;
    }
  }

 private:
  std::uint32_t stored_id(const FieldDescriptor& f) const {
    return mapping_ == nullptr ? invalid_id : mapping_->stored[f.id];
  }

  void walk_variant(const FieldDescriptor& f, std::uint64_t count) {
    take(f, ArrayRole::tags, ElementType::int32, count);
    std::vector<std::uint64_t> counts(f.children.size() + 1, 0);
    for (const std::int32_t tag : pieces_[{f.id, ArrayRole::tags}].back().view<std::int32_t>())
      ++counts[static_cast<std::size_t>(tag)];
    for (std::size_t k = 0; k < f.children.size(); ++k) walk(f.children[k], counts[k + 1]);
  }

  void take(const FieldDescriptor& f, ArrayRole role, ElementType element, std::uint64_t count) {
    const auto found = arrays_.find({stored_id(f), role});
    ColumnArray array =
        found == arrays_.end() ? make_array(f.id, role, element, 0) : std::move(found->second);
    array.field = f.id;
    if (array.size != count || array.element != element)
      throw Error(ErrorKind::format,
                  fmt::format("the type '{}' does not fit what is stored: {} values instead of {}",
                              f.type_name, array.size, count),
                  "", {.field = descriptor_.path_of(f.id)});
    add(std::move(array));
  }

  // Returns the number of items.
  std::uint64_t take_offsets(const FieldDescriptor& f, std::uint64_t count) {
    const std::uint32_t id = stored_id(f);
    std::uint64_t step = 0;  // none has an item
    if (id != invalid_id) {
      const auto found = arrays_.find({id, ArrayRole::offsets});
      const FieldForm own = form_of(stored_->fields[id]);
      const bool is_same = !is_plain(descriptor_, f.id, *mapping_, *stored_);
      if (is_same && own != FieldForm::array && found != arrays_.end()) {
        found->second.field = f.id;
        return add(std::move(found->second)).view<std::int64_t>().back();
      }
      step = is_same ? stored_->fields[id].array_size : 1;
    }
    const ColumnArray& made = add(make_array(f.id, ArrayRole::offsets, ElementType::int64, count + 1));
    auto* offsets = reinterpret_cast<std::int64_t*>(made.data.get());
    for (std::uint64_t i = 0; i <= count; ++i) offsets[i] = static_cast<std::int64_t>(i * step);
    return count * step;
  }

  const ColumnArray& add(ColumnArray array) {
    return pieces_[{array.field, array.role}].emplace_back(std::move(array));
  }

  const Descriptor& descriptor_;
  const Descriptor* stored_;
  const ChainSchema::Mapping* mapping_;
  const std::vector<bool>& wanted_;
  std::map<Key, ColumnArray> arrays_;
  Pieces& pieces_;
};

// Announces what will be read of a file, or of the next one with entries, if it is open.
void announce_next(ChainState& chain, std::size_t file, const std::vector<bool>& wanted, std::uint64_t ahead,
                   std::uint64_t first = 0) {
  const ChainFiles& files = chain.files();
  while (file < files.size() && files[file].entries == 0) ++file;
  if (file == files.size() || ahead <= files[file].first || !chain.is_open(file)) return;
  const std::uint64_t begin = std::max(first, files[file].first) - files[file].first;
  const std::uint64_t end = std::min(ahead - files[file].first, files[file].entries);
  announce_arrays(*chain.source(file), stored_fields(chain, file, wanted), begin, end);
}

}  // namespace

std::vector<bool> wanted_fields(const ChainState& chain, std::span<const std::string> paths) {
  const Descriptor& descriptor = chain.descriptor();
  std::vector<bool> wanted(descriptor.fields.size(), false);
  for (const std::string& path : paths) {
    const std::uint32_t field = chain.find_field(path);
    if (const std::string& why = descriptor.fields[field].unreadable; !why.empty()) {
      ErrorContext where = chain.context();
      where.field = path;
      throw Error(
          ErrorKind::unsupported,
          fmt::format("the stored type '{}' cannot be read: {}", descriptor.fields[field].type_name, why), "",
          std::move(where));
    }
    std::vector<std::uint32_t> below = {field};
    while (!below.empty()) {
      const FieldDescriptor& f = descriptor.fields[below.back()];
      below.pop_back();
      if (!f.unreadable.empty()) continue;
      wanted[f.id] = true;
      below.insert(below.end(), f.children.begin(), f.children.end());
    }
    for (std::uint32_t id = field; descriptor.fields[id].parent != id;)
      wanted[id = descriptor.fields[id].parent] = true;
  }
  return wanted;
}

std::vector<bool> stored_fields(const ChainState& chain, std::size_t file, const std::vector<bool>& wanted) {
  const Descriptor& stored = chain.stored_schema(file);
  const auto& ids = chain.mapping(file).stored;
  std::vector<bool> marked(stored.fields.size(), false);
  for (std::size_t id = 0; id < wanted.size(); ++id) {
    if (!wanted[id] || ids[id] == invalid_id) continue;
    // Enums and atomics that are numbers here are not among the chain's fields.
    for (std::uint32_t at = ids[id]; !marked[at]; at = stored.fields[at].parent) marked[at] = true;
  }
  return marked;
}

std::vector<ColumnArray> read_chain_arrays(ChainState& chain, std::span<const std::string> paths,
                                           std::uint64_t first, std::uint64_t last, std::uint64_t ahead) {
  const ChainFiles& files = chain.files();
  const Descriptor& descriptor = chain.descriptor();
  if (first > last || last > files.entries())
    throw Error(
        ErrorKind::usage,
        fmt::format("entries {} to {} are beyond the {} entries of the chain", first, last, files.entries()),
        "", chain.context());
  const std::vector<bool> wanted = wanted_fields(chain, paths);
  const std::vector<std::uint32_t> tops = tops_of(descriptor, wanted);
  Pieces pieces;
  if (first == last && ahead > last) {
    chain.expect(files.file_of(first));
    announce_next(chain, files.file_of(first), wanted, ahead, first);
  }
  for (std::size_t i = files.file_of(first); i < files.size() && files[i].first < last; ++i) {
    const auto& file = files[i];
    if (file.entries == 0 || first == last) continue;
    const std::uint64_t begin = std::max(first, file.first) - file.first;
    const std::uint64_t end = std::min(last, file.first + file.entries) - file.first;
    const auto source = chain.source(i);
    if (end == file.entries) chain.expect(i + 1);
    const std::uint64_t next = std::max(ahead, last);
    const bool is_behind_next = next > file.first + file.entries && source->pool().is_far();
    if (is_behind_next) announce_next(chain, i + 1, wanted, next);
    const auto& mapping = chain.mapping(i);
    auto arrays = read_arrays(*source, stored_fields(chain, i, wanted), mapping.elements, begin, end,
                              std::min(next - file.first, file.entries));
    // Another thread may have opened it meanwhile.
    if (is_behind_next) announce_next(chain, i + 1, wanted, next);
    with_context(source->context(), [&] {
      FileWalk walk(descriptor, &chain.stored_schema(i), &mapping, wanted, std::move(arrays), pieces);
      for (const std::uint32_t top : tops) walk.walk(top, end - begin);
    });
  }
  if (pieces.empty()) {
    FileWalk walk(descriptor, nullptr, nullptr, wanted, {}, pieces);
    for (const std::uint32_t top : tops) walk.walk(top, 0);
  }
  std::vector<ColumnArray> joined;
  std::uint64_t bytes = 0;
  for (auto& [key, parts] : pieces) {
    joined.push_back(join_arrays(std::move(parts), bytes));
    bytes += joined.back().size * size_of(joined.back().element);
  }
  return joined;
}

}  // namespace colonnade::dataset
