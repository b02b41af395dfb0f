// The container of a data set as a cache remembers it: what tells where its pages are comes from the home,
// and the origin is opened only when a page is missing there, or never.
#ifndef COLONNADE_PAGE_REMEMBERED_CONTAINER_H
#define COLONNADE_PAGE_REMEMBERED_CONTAINER_H

#include <memory>
#include <string>
#include <string_view>

#include "colonnade/options.h"
#include "container/container.h"

namespace colonnade::page {

// With the cache of `options`, where that says that origins are trusted for a time, or that there is none
// ("trust", "offline"). Without a name: the only data set. Null: the origin is to be asked. Throws
// ErrorKind::not_found where it must not be, and the cache knows nothing of the data set.
std::shared_ptr<container::ReadContainer> open_remembered(std::string_view name, const std::string& uri,
                                                          const ReadOptions& options);

}  // namespace colonnade::page

#endif
