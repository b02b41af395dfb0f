// See schema.h.
#include "dataset/writing/schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "dataset/class_names.h"
#include "format/envelope_check.h"
#include "io/object_store.h"
#include "page/append_if_repaired.h"

namespace colonnade::dataset {

const char* library_name() noexcept {
  return "Colonnade " COLONNADE_VERSION;
}

namespace {

void check_members(const Field& field, const std::string& path, std::size_t depth) {
  if (depth > format::max_field_depth)
    throw Error(ErrorKind::schema,
                fmt::format("fields are nested more than {} deep", format::max_field_depth),
                "no reader would open the data set: store it with fewer levels",
                {.field = path.substr(0, path.find('.'))});
  for (const auto& member : field.children()) {
    const std::string below = path + "." + member->name();
    if (!is_allowed_name(member->name()))
      throw Error(ErrorKind::schema, fmt::format("'{}' is not a valid name of a member", member->name()),
                  allowed_names, {.field = below});
    check_members(*member, below, depth + 1);
  }
}

}  // namespace

void check_new_field(const Field& field) {
  check_members(field, field.name(), 1);
}

// The specification's "Naming specification".
bool is_allowed_name(std::string_view name) noexcept {
  return !name.empty() && std::none_of(name.begin(), name.end(), [](char c) {
    return static_cast<unsigned char>(c) <= 0x20 || c == 0x7f || c == '.' || c == '/' || c == '\\';
  });
}

std::string_view name_at(std::string_view path) noexcept {
  path.remove_prefix(path.rfind('/') + 1);
  return path;
}

// An empty name is refused by the container, which knows whether it is allowed.
void check_new_name(std::string_view path) {
  const std::string_view name = name_at(path);
  if (name.empty() || is_allowed_name(name)) return;
  throw Error(ErrorKind::usage, fmt::format("\"{}\" is not a valid name for a data set", name),
              allowed_names);
}

container::ContainerOptions container_options(const WriteOptions& options) {
  return {.kind = options.container == Container::bare_file ? container::ContainerKind::bare_file
                                                            : container::ContainerKind::root_file,
          .max_key_size = options.max_key_size,
          .root_compression = codec::CompressionSettings::parse(options.compression.text).to_root(),
          .class_infos = WithClassInfos::current(),
          .durability = options.durability,
          .direct_io = options.direct_io,
          .object_mapping = options.object_mapping,
          .splice_size = options.splice_size,
          .object_class = options.object_class,
          .part_of = options.part_of,
          .max_page_size = options.max_page_size};
}

void check(const WriteOptions& options) {
  const auto require = [](bool holds, const char* problem) {
    if (!holds) throw Error(ErrorKind::usage, problem);
  };
  require(options.max_page_size >= 64, "the maximum page size is below 64 bytes");
  require(options.max_page_size <= (std::size_t{1} << 30), "the maximum page size is above 1 GiB");
  require(options.approximate_cluster_size > 0, "the cluster size is zero");
  require(options.max_uncompressed_cluster_size >= options.approximate_cluster_size,
          "the maximum uncompressed cluster size is below the cluster size");
  require(options.clusters_per_group > 0, "a cluster group needs at least one cluster");
  const double seconds = options.checkpoint_every.seconds;
  require(std::isfinite(seconds) && seconds >= 0, "the time between checkpoints is negative or not finite");
}

namespace {

// Finds the source of a projected field, and describes the field.
class Projector {
 public:
  Projector(const Model::Projection& projection, Descriptor& descriptor)
      : projection_(projection), descriptor_(descriptor) {}

  void describe() { describe_below(*projection_.field, projection_.field->name(), invalid_id, invalid_id); }

 private:
  std::uint32_t source_of(const std::string& path, std::uint32_t parent_source,
                          const std::string& name) const {
    const auto given = projection_.sources.find(path);
    if (given != projection_.sources.end()) {
      const std::uint32_t found = descriptor_.find_field(given->second);
      if (found != invalid_id && !descriptor_.fields[found].source_field) return found;
      throw Error(ErrorKind::schema,
                  fmt::format("the source '{}' of the projected field is not a stored field", given->second),
                  "", {.field = path});
    }
    if (parent_source != invalid_id)
      for (const std::uint32_t child : descriptor_.fields[parent_source].children)
        if (descriptor_.fields[child].name == name) return child;
    throw Error(ErrorKind::schema, "the projected field has no source", "name it in the map of sources",
                {.field = path});
  }

  void check_projection(const Field& field, std::uint32_t source, const std::string& path) const {
    const FieldDescriptor& s = descriptor_.fields[source];
    const bool cardinality = field.kind() == FieldKind::cardinality;
    const bool same_role = cardinality ? s.role == FieldRole::collection : s.role == field.role();
    const bool same_leaf = cardinality || field.role() != FieldRole::leaf || s.type_name == field.type_name();
    const bool array = field.array_size() > 0 && field.kind() != FieldKind::bitset;
    if (!same_role || !same_leaf || field.kind() == FieldKind::variant || array ||
        s.array_size != field.array_size())
      throw Error(ErrorKind::schema,
                  fmt::format("a field of type {} cannot be projected from '{}' of type {}",
                              field.type_name(), descriptor_.path_of(source), s.type_name),
                  "project onto the same type; variants and arrays cannot be projected", {.field = path});
  }

  // What repeats a stored or projected field, or leaves it out, as stored fields: both lists must be equal.
  std::vector<std::uint32_t> repeated_by(std::uint32_t id) const {
    std::vector<std::uint32_t> above;
    while (descriptor_.fields[id].parent != id) {
      id = descriptor_.fields[id].parent;
      const FieldDescriptor& field = descriptor_.fields[id];
      if (field.role == FieldRole::collection || field.role == FieldRole::variant || field.array_size > 0)
        above.push_back(field.source_field.value_or(id));
    }
    return above;
  }

  void describe_below(const Field& field, const std::string& path, std::uint32_t parent,
                      std::uint32_t parent_source) {
    const std::uint32_t source = source_of(path, parent_source, field.name());
    check_projection(field, source, path);
    FieldDescriptor f;
    f.id = static_cast<std::uint32_t>(descriptor_.fields.size());
    f.parent = parent == invalid_id ? f.id : parent;
    f.role = field.role();
    f.raw_role = static_cast<std::uint16_t>(f.role);
    f.type_version = field.type_version();
    f.array_size = field.array_size();
    f.name = field.name();
    f.type_name = field.type_name();
    f.type_alias = field.type_alias();
    f.description = field.description();
    f.source_field = source;
    f.representations = descriptor_.fields[source].representations;
    const std::uint32_t id = f.id;
    if (parent != invalid_id) descriptor_.fields[parent].children.push_back(id);
    descriptor_.fields.push_back(std::move(f));
    if (repeated_by(id) != repeated_by(source))
      throw Error(
          ErrorKind::schema,
          fmt::format("'{}' is not in the same collections, arrays and variants as the projected field",
                      descriptor_.path_of(source)),
          "", {.field = path});
    for (const auto& group : descriptor_.fields[source].representations)
      for (const std::uint32_t column : group) descriptor_.aliases.push_back({column, id});
    for (const auto& child : field.children()) describe_below(*child, path + "." + child->name(), id, source);
  }

  const Model::Projection& projection_;
  Descriptor& descriptor_;
};

}  // namespace

std::shared_ptr<page::DataSetSink> make_data_set(const Model* model, std::string_view name,
                                                 const std::string& uri, const WriteOptions& options,
                                                 Target target) {
  if (model == nullptr) throw Error(ErrorKind::usage, "there is no model", "see Model::create()");
  for (const auto& field : model->fields()) check_new_field(*field);
  check(options);
  if (!options.part_of.empty() && !io::is_object_store(uri))
    throw Error(ErrorKind::usage, "only data sets in object stores can be written in parts",
                "leave out part_of, and write one file per process");
  if (target != Target::same_data_set) check_new_name(name);
  container::ContainerOptions how = container_options(options);
  how.must_be_new = target == Target::new_file;
  auto container = target == Target::existing_file
                       ? page::append_if_repaired(uri, name, how, options.discard_unrepaired)
                   : target == Target::same_data_set ? container::replace_container(uri, name, how)
                                                     : container::create_container(uri, name, how);
  WriteOptions written = options;
  if (!options.part_of.empty()) written.checkpoint_every = {};  // a part becomes visible as a whole
  auto data_set = std::make_shared<page::DataSetSink>(std::move(container), written);
  Descriptor& descriptor = data_set->descriptor();
  descriptor.name = name_at(name);
  descriptor.description = options.description;
  descriptor.writer = library_name();
  return data_set;
}

void check_target(std::string_view name, const std::string& uri, const WriteOptions& options,
                  WriteMode mode) {
  const Target target = mode == WriteMode::create   ? Target::new_file
                        : mode == WriteMode::update ? Target::existing_file
                                                    : Target::any_file;
  with_context({.uri = uri, .data_set = std::string(name)}, [&] {
    const auto model = Model::create();
    make_data_set(model.get(), name, uri, options, target)->abandon();
  });
}

void describe(const std::vector<Field*>& fields, page::DataSetSink& data_set, std::uint64_t entries) {
  for (const Field* field : fields) check_new_field(*field);
  Field::describe(fields, data_set.descriptor(), data_set.compression().algorithm != codec::Algorithm::none,
                  entries);
}

void describe_projection(const Model::Projection& projection, Descriptor& descriptor) {
  check_new_field(*projection.field);
  Projector(projection, descriptor).describe();
}

}  // namespace colonnade::dataset
