// What Writer and ParallelWriter do before the first entry: check options, make the file, describe a model's
// fields.
#ifndef COLONNADE_DATASET_WRITER_SCHEMA_H
#define COLONNADE_DATASET_WRITER_SCHEMA_H

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "colonnade/model.h"
#include "colonnade/options.h"
#include "page/data_set_sink.h"

namespace colonnade::dataset {

enum class Target : int {
  new_file,       // nothing is there yet
  any_file,       // what is there is replaced
  existing_file,  // the data set is added to it
  same_data_set,  // goes on
};

// A data set without fields. Throws before the file is touched if there is no model or an option makes no
// sense.
std::shared_ptr<page::DataSetSink> make_data_set(const Model* model, std::string_view name,
                                                 const std::string& uri, const WriteOptions& options,
                                                 Target target);

// Throws ErrorKind::usage for an option that makes no sense.
void check(const WriteOptions& options);
// The same for the container alone.
container::ContainerOptions container_options(const WriteOptions& options);
// What a header says of who wrote it.
const char* library_name() noexcept;

// Whether the format allows such a name, of a field or of an attribute set.
bool is_allowed_name(std::string_view name) noexcept;

// Adds fields to the descriptor; those of `entries` > 0 are late.
void describe(const std::vector<Field*>& fields, page::DataSetSink& data_set, std::uint64_t entries);
void describe_projection(const Model::Projection& projection, Descriptor& descriptor);

}  // namespace colonnade::dataset

#endif
