// Converts flat arrays to Arrow columns of the same types as Python's `to_arrow()`.
#include "capi/read_fields.h"

#include <limits>

#include "base/utf8.h"
#include "colonnade/error.h"
#include "dataset/schema_walk.h"

namespace colonnade::capi {

// ---- The tree of fields

ReadSchema::ReadSchema(const Descriptor& descriptor)
    : descriptor_(descriptor), finder_(descriptor, {.data_set = descriptor.name}) {
  for (const std::uint32_t id : descriptor.top_level_fields())
    if (descriptor.fields[id].unreadable.empty())
      top_.push_back(make(id, nullptr, *make_field(descriptor, id)));
}

std::unique_ptr<ReadField> ReadSchema::make(std::uint32_t id, const ReadField* parent, const Field& typed) {
  const FieldDescriptor& stored = descriptor_.fields[id];
  auto field = std::make_unique<ReadField>();
  field->id = id;
  field->path = descriptor_.path_of(id);
  field->kind = typed.kind();
  field->size = stored.array_size;
  field->is_tuple = stored.type_name.starts_with("std::pair<") || stored.type_name.starts_with("std::tuple<");
  field->is_wide = stored.type_name.find("uint64") != std::string::npos;
  field->parent = parent;
  by_id_[id] = field.get();
  for (std::size_t k = 0; k < stored.children.size(); ++k) {
    const std::uint32_t child = stored.children[k];
    const Field* below = typed.child(descriptor_.fields[child].name);
    if (below == nullptr || !descriptor_.fields[child].unreadable.empty()) continue;
    field->children.push_back(make(child, field.get(), *below));
    field->children.back()->alternative = k;
  }
  if (stored.role != FieldRole::record) return field;
  for (const dataset::NamedMember& member : dataset::members_of(descriptor_, id))
    if (const auto found = by_id_.find(member.field); found != by_id_.end())
      field->members.emplace_back(shown_name(member.name), found->second);
  return field;
}

std::vector<std::string> ReadSchema::names() const {
  std::vector<std::string> names;
  for (const auto& field : top_) names.push_back(shown_name(field->path));
  return names;
}

const ReadField& ReadSchema::find(const std::string& path) const {
  const std::uint32_t id = finder_.find(path);
  if (const auto found = by_id_.find(id); found != by_id_.end()) return *found->second;
  throw Error(ErrorKind::unsupported, "the field cannot be read: " + descriptor_.fields[id].unreadable, "",
              {.data_set = descriptor_.name, .field = path});
}

// ---- Columns

namespace {

class Assembler {
 public:
  explicit Assembler(std::span<const ColumnArray> arrays) {
    for (const ColumnArray& array : arrays) arrays_[{array.field, array.role}] = &array;
  }

  ArrowColumn along(std::span<const ReadField* const> way, const ReadField& field, std::size_t count) const {
    if (way.empty()) return whole(field, count);
    const ReadField& outer = *way.front();
    const auto rest = way.subspan(1);
    switch (outer.kind) {
      case FieldKind::collection:
      case FieldKind::nullable:
        return listed(outer, count, along(rest, field, items_of(outer)));
      case FieldKind::array:
        return fixed_lists(count, outer.size, along(rest, field, count * outer.size));
      case FieldKind::variant: {  // missing if the variant holds another alternative
        const ReadField& next = rest.empty() ? field : *rest.front();
        Present here;
        for (const std::int32_t tag : tags_of(outer))
          here.push_back(tag == static_cast<std::int32_t>(next.alternative) + 1);
        const auto inside = static_cast<std::size_t>(std::count(here.begin(), here.end(), 1));
        return optionals(here, along(rest, field, inside));
      }
      default:
        return along(rest, field, count);
    }
  }

 private:
  ArrowColumn whole(const ReadField& field, std::size_t count) const {
    switch (field.kind) {
      case FieldKind::scalar: {
        const ColumnArray& values = array(field, ArrayRole::values);
        return numbers(values.element, values.size, values.data);
      }
      case FieldKind::string: {
        const ColumnArray& characters = array(field, ArrayRole::values);
        return texts(count, array(field, ArrayRole::offsets).data,
                     reinterpret_cast<const char*>(characters.data.get()), characters.data);
      }
      case FieldKind::collection:
      case FieldKind::nullable:
        return listed(field, count, whole(*field.children.at(0), items_of(field)));
      case FieldKind::array:
        return fixed_lists(count, field.size, whole(*field.children.at(0), count * field.size));
      case FieldKind::bitset: {
        const ColumnArray& bits = array(field, ArrayRole::values);
        return fixed_lists(count, field.size, numbers(bits.element, bits.size, bits.data));
      }
      case FieldKind::record:
        return record_of(field, count);
      case FieldKind::variant:
        return variant_of(field);
      case FieldKind::wrapper:
        return whole(*field.children.at(0), count);
      case FieldKind::cardinality:
        return cardinality_of(field, count);
    }
    throw Error(ErrorKind::unsupported, "the field has no arrays", "", {.field = field.path});
  }

  ArrowColumn listed(const ReadField& field, std::size_t count, ArrowColumn items) const {
    const ColumnArray& offsets = array(field, ArrayRole::offsets);
    if (field.kind == FieldKind::collection) return lists(count, offsets.data, std::move(items));
    const auto ends = offsets.view<std::int64_t>();
    Present present(count);
    for (std::size_t i = 0; i < count; ++i) {
      if (ends[i + 1] - ends[i] > 1)
        throw Error(ErrorKind::format, "an optional value holds more than one item", "",
                    {.field = field.path});
      present[i] = ends[i + 1] > ends[i];
    }
    return optionals(present, std::move(items));
  }

  ArrowColumn record_of(const ReadField& field, std::size_t count) const {
    std::vector<std::pair<std::string, ArrowColumn>> members;
    if (field.is_tuple) {
      for (const auto& child : field.children)
        members.emplace_back(std::to_string(members.size()), whole(*child, count));
    } else {
      for (const auto& [name, member] : field.members) members.emplace_back(name, whole(*member, count));
    }
    return record(count, std::move(members));
  }

  ArrowColumn variant_of(const ReadField& field) const {
    const auto tags = tags_of(field);
    std::vector<ArrowColumn> alternatives;
    for (const auto& child : field.children) {
      const auto held =
          std::count(tags.begin(), tags.end(), static_cast<std::int32_t>(child->alternative) + 1);
      alternatives.push_back(whole(*child, static_cast<std::size_t>(held)));
    }
    return variants(tags, std::move(alternatives));
  }

  ArrowColumn cardinality_of(const ReadField& field, std::size_t count) const {
    const auto ends = array(field, ArrayRole::offsets).view<std::int64_t>();
    if (field.is_wide) {
      auto counts = std::make_shared<std::uint64_t[]>(count);
      for (std::size_t i = 0; i < count; ++i) counts[i] = static_cast<std::uint64_t>(ends[i + 1] - ends[i]);
      return numbers(ElementType::uint64, count, std::move(counts));
    }
    auto counts = std::make_shared<std::uint32_t[]>(count);
    for (std::size_t i = 0; i < count; ++i) {
      const auto items = static_cast<std::uint64_t>(ends[i + 1] - ends[i]);
      if (items > std::numeric_limits<std::uint32_t>::max())
        throw Error(ErrorKind::format, "a collection has more items than its 32-bit counter can hold", "",
                    {.field = field.path});
      counts[i] = static_cast<std::uint32_t>(items);
    }
    return numbers(ElementType::uint32, count, std::move(counts));
  }

  std::size_t items_of(const ReadField& field) const {
    return static_cast<std::size_t>(array(field, ArrayRole::offsets).view<std::int64_t>().back());
  }

  std::span<const std::int32_t> tags_of(const ReadField& field) const {
    return array(field, ArrayRole::tags).view<std::int32_t>();
  }

  const ColumnArray& array(const ReadField& field, ArrayRole role) const {
    if (const auto found = arrays_.find({field.id, role}); found != arrays_.end()) return *found->second;
    throw Error(ErrorKind::format, "the field has other columns than its type needs", "",
                {.field = field.path});
  }

  std::map<std::pair<std::uint32_t, ArrayRole>, const ColumnArray*> arrays_;
};

}  // namespace

ArrowColumn assemble(const ReadField& field, std::span<const ColumnArray> arrays, std::size_t count) {
  std::vector<const ReadField*> way;
  for (const ReadField* above = field.parent; above != nullptr; above = above->parent)
    way.insert(way.begin(), above);
  return Assembler(arrays).along(way, field, count);
}

}  // namespace colonnade::capi
