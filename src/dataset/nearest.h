// Suggestions for misspelt names.
#ifndef COLONNADE_DATASET_NEAREST_H
#define COLONNADE_DATASET_NEAREST_H

#include <span>
#include <string>
#include <string_view>

namespace colonnade::dataset {

// "did you mean 'pt' or 'eta'?" with the names most similar to `name`, or "there are: ..." if none is similar
// and they are few.
std::string did_you_mean(std::string_view name, std::span<const std::string> names);

}  // namespace colonnade::dataset

#endif
