// MergedSchema: the one schema that several data sets get when they become one.
//
//   first schema --add(second), add(third), ...--> schema() --map(each)--> where its columns go, what it
//   lacks
//
// Fields are matched by their paths. A field whose columns are encoded differently in different data sets
// gets one representation for each encoding; where pages are not kept, one that holds them all. Nothing in it
// is late, unless the data set is there already, and so its header: then what is added is late.
#ifndef COLONNADE_DATASET_COPYING_MERGED_SCHEMA_H
#define COLONNADE_DATASET_COPYING_MERGED_SCHEMA_H

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "colonnade/copy.h"
#include "colonnade/descriptor.h"
#include "dataset/copying/schema.h"

namespace colonnade::dataset {

// Where one data set's fields and columns are in the merged one.
struct SchemaMap {
  std::vector<std::uint32_t> field_of;   // by field of the data set
  std::vector<std::uint32_t> column_of;  // by column of the data set
  // A field of the merged one that the data set lacks, with all below it, and the field of the data set that
  // it would be in; invalid_id: none, it is at the top.
  struct Missing {
    std::uint32_t field = invalid_id;
    std::uint32_t parent = invalid_id;
  };
  std::vector<Missing> missing;
  bool is_identity = true;  // the same fields and columns, in the same order
};

struct MergedSchemaOptions {
  MergeMode fields = MergeMode::strict;
  bool keeps_pages = true;  // else each field gets one representation; of several that are there, the widest
  // Entries that are there already: fields that are added are late, and no others change.
  std::optional<std::uint64_t> behind = {};
};

class MergedSchema {
 public:
  MergedSchema(Descriptor first, const MergedSchemaOptions& options);

  // Throws ErrorKind::schema for what does not fit.
  void add(const Descriptor& schema);
  // When all are added.
  void finish();
  // What an added schema lacks, and what came late to it, becomes zero, which columns with a range may not
  // hold.
  void hold_zeros(const Descriptor& schema);
  const Descriptor& schema() const noexcept { return to_; }
  SchemaMap map(const Descriptor& schema) const;

 private:
  using Children = std::map<std::pair<std::uint32_t, std::string>, std::uint32_t>;  // parent, name

  void index(std::uint32_t field);
  std::uint32_t find(std::uint32_t parent, const std::string& name) const;
  void add_level(const Descriptor& from, const std::vector<std::uint32_t>& fields, std::uint32_t parent);
  void add_field(const Descriptor& from, std::uint32_t field, std::uint32_t parent);
  void check_same(const Descriptor& from, const FieldDescriptor& a, const FieldDescriptor& b) const;
  void check_lacks(const Descriptor& from, const std::vector<std::uint32_t>& fields, std::uint32_t parent,
                   bool is_exact) const;
  void add_columns(const Descriptor& from, const FieldDescriptor& field, std::uint32_t into);
  std::size_t find_group(const Descriptor& from, const ColumnIds& group, std::uint32_t field) const;
  void add_group(const Descriptor& from, const ColumnIds& group, std::uint32_t into);
  void widen(const Descriptor& from, const ColumnIds& group, std::uint32_t into);
  void number_depth_first();
  // In this order.
  void renumber(const std::vector<std::uint32_t>& fields, const std::vector<std::uint32_t>& columns);
  void project(const Descriptor& from, const std::vector<std::uint32_t>& map);
  void map_level(const Descriptor& from, const std::vector<std::uint32_t>& fields, std::uint32_t parent,
                 std::uint32_t from_parent, SchemaMap& map) const;
  void map_columns(const Descriptor& from, const FieldDescriptor& field, SchemaMap& map) const;
  [[noreturn]] void fail(std::string problem, std::string field) const;
  [[noreturn]] static void fail_in_every_mode(std::string problem, std::string field);
  [[noreturn]] static void fail_encoding(std::string problem, std::string field);

  MergedSchemaOptions options_;
  Descriptor to_;
  Children known_;
  bool has_new_groups_ = false;
};

// Turns what a source alone would make into its part of `target`: from numbers in the schema of what is
// wanted of the source to those of the source, and of the target.
void map_schema(const SchemaMap& map, const Descriptor& target, CopySchema& schema);

}  // namespace colonnade::dataset

#endif
