// Adds a data set to a file that another writer may have left without closing it. Implemented in repair.cpp.
#ifndef COLONNADE_PAGE_APPEND_IF_REPAIRED_H
#define COLONNADE_PAGE_APPEND_IF_REPAIRED_H

#include <memory>
#include <string>
#include <string_view>

#include "container/container.h"

namespace colonnade::page {

// Like append_container(), but throws ErrorKind::usage if the first commit would overwrite clusters that
// repair can recover, unless `discard_unrepaired`.
std::unique_ptr<container::WriteContainer> append_if_repaired(const std::string& uri, std::string_view path,
                                                              const container::ContainerOptions& options,
                                                              bool discard_unrepaired);

}  // namespace colonnade::page

#endif
