// prepare_copy: a concatenate() in two steps, so that several find what does not fit before one of them
// writes.
#ifndef COLONNADE_DATASET_COPYING_PREPARED_COPY_H
#define COLONNADE_DATASET_COPYING_PREPARED_COPY_H

#include <functional>
#include <string>
#include <vector>

#include "colonnade/copy.h"

namespace colonnade::dataset {

// Opens the sources, compares their schemas with each other and with what is at the destination, and throws
// what concatenate() throws. The function that it returns copies; options and watch must stay until then.
std::function<CopyReport()> prepare_copy(const std::vector<DataSetPlace>& sources,
                                         const DataSetPlace& destination, const CopyOptions& options,
                                         const CopyWatch& watch);

}  // namespace colonnade::dataset

#endif
