// A writer for a mode that is known only when the program runs.
#ifndef COLONNADE_DATASET_WRITING_OPEN_WRITER_H
#define COLONNADE_DATASET_WRITING_OPEN_WRITER_H

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "colonnade/model.h"
#include "colonnade/options.h"

namespace colonnade::dataset {

// The names of modes in Python and in plans; "recreate" for any other text.
inline WriteMode write_mode_of(std::string_view name) {
  return name == "create" ? WriteMode::create : name == "update" ? WriteMode::update : WriteMode::recreate;
}
inline const char* name_of(WriteMode mode) {
  return mode == WriteMode::create ? "create" : mode == WriteMode::update ? "update" : "recreate";
}

// `Made` is Writer or ParallelWriter. Throws what its functions throw.
template <class Made>
std::unique_ptr<Made> open_writer(WriteMode mode, std::unique_ptr<Model> model, std::string_view name,
                                  const std::string& uri, const WriteOptions& options) {
  const auto open = mode == WriteMode::create   ? Made::create
                    : mode == WriteMode::update ? Made::add_to
                                                : Made::recreate;
  return open(std::move(model), name, uri, options);
}

}  // namespace colonnade::dataset

#endif
