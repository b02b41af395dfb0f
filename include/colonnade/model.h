// Model: the schema of a data set as C++ types, with one default entry. It is built by the user, then given
// to a Writer or Reader, which owns it from then on. A model is used by one thread at a time.
#ifndef COLONNADE_MODEL_H
#define COLONNADE_MODEL_H

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "colonnade/entry.h"
#include "colonnade/field_types.h"

namespace colonnade {

class Model {
 public:
  static std::unique_ptr<Model> create();
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  // Adds a field and returns its value in the default entry, which lives as long as a pointer to it. Throws
  // ErrorKind::schema for a name that the format does not allow (empty, or with control characters, '.', ' ',
  // '/', '\') or that is already in use.
  template <class T>
  std::shared_ptr<T> make_field(std::string_view name, std::string_view description = {}) {
    auto value = std::make_shared<T>();
    auto field = colonnade::make_field<T>(name);
    field->set_description(std::string(description));
    add_field(std::move(field), value);
    return value;
  }
  // The same for a type known by name: see colonnade/field.h for the layout of the value.
  std::shared_ptr<void> make_field(std::string_view name, std::string_view type_name,
                                   std::string_view description = {});
  std::shared_ptr<void> add_field(std::unique_ptr<Field> field);

  // A projected field shows columns of other fields under another name or shape, without storing anything
  // twice:
  //   model->add_projected_field<std::vector<float>>(
  //       "jet_pt", {{"jet_pt", "jets"}, {"jet_pt._0", "jets._0.pt"}});
  // `sources` maps the paths of the new field and its sub-fields to those of stored fields; a path left out
  // is looked up as the same path below the parent's source.
  using Sources = std::map<std::string, std::string>;
  template <class T>
  void add_projected_field(std::string_view name, Sources sources) {
    add_projected_field(colonnade::make_field<T>(name), std::move(sources));
  }
  void add_projected_field(std::unique_ptr<Field> field, Sources sources);

  const std::vector<std::unique_ptr<Field>>& fields() const noexcept { return fields_; }
  // The field at "jets._0.pt" or "jets.pt"; throws ErrorKind::not_found with similar names.
  Field& field(std::string_view path) const;
  Entry& default_entry() noexcept { return default_entry_; }
  std::unique_ptr<Entry> make_entry() const;

  struct Projection {
    std::unique_ptr<Field> field;
    Sources sources;
  };
  const std::vector<Projection>& projections() const noexcept { return projections_; }

 private:
  friend class ChainReader;
  friend class Reader;
  friend class Writer;
  friend class ParallelWriter;
  friend class AttributeSetWriter;
  Model();
  void add_field(std::unique_ptr<Field> field, std::shared_ptr<void> value);
  void check_new(const Field* field) const;

  std::vector<std::unique_ptr<Field>> fields_;
  std::vector<Projection> projections_;
  std::unordered_set<std::string> names_;  // of both
  Entry default_entry_;
  std::size_t value_bytes_ = 0;  // of values made by this entry
  bool complete_ = false;        // given to a reader or writer, which would not see new fields
};

}  // namespace colonnade

#endif
