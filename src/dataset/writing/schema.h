// What Writer and ParallelWriter do before the first entry: check options, create the file, describe a
// model's fields.
#ifndef COLONNADE_DATASET_WRITING_SCHEMA_H
#define COLONNADE_DATASET_WRITING_SCHEMA_H

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "colonnade/model.h"
#include "colonnade/options.h"
#include "page/data_set_sink.h"

namespace colonnade::dataset {

enum class Target : int {
  new_file,       // no file may exist
  any_file,       // an existing file is replaced
  existing_file,  // the data set is added to it
  same_data_set,  // it is continued
};

// A data set without fields. Throws before the file is touched if there is no model or an option is
// invalid.
std::shared_ptr<page::DataSetSink> make_data_set(const Model* model, std::string_view name,
                                                 const std::string& uri, const WriteOptions& options,
                                                 Target target);

// Throws what a writer of this mode would throw when it opens. Nothing changes.
void check_target(std::string_view name, const std::string& uri, const WriteOptions& options, WriteMode mode);

// Throws ErrorKind::usage for an invalid option.
void check(const WriteOptions& options);
// The options of the container.
container::ContainerOptions container_options(const WriteOptions& options);
// The writer's name and version, as recorded in headers.
const char* library_name() noexcept;

// True if the format allows this name for a data set, a field, a member or an attribute set.
bool is_allowed_name(std::string_view name) noexcept;
inline constexpr const char* allowed_names =
    "use a name without spaces, control characters, '.', '/' and '\\'";

// The name of the data set at a path.
std::string_view name_at(std::string_view path) noexcept;
// Throws ErrorKind::usage if the format does not allow that name: ROOT would not open the data set.
void check_new_name(std::string_view path);

// Throws ErrorKind::schema if the format does not allow the name of a member, or readers refuse so many
// levels.
void check_new_field(const Field& field);
// Adds fields to the descriptor; with `entries` > 0 they are deferred.
void describe(const std::vector<Field*>& fields, page::DataSetSink& data_set, std::uint64_t entries);
void describe_projection(const Model::Projection& projection, Descriptor& descriptor);

}  // namespace colonnade::dataset

#endif
