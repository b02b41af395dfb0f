// See offline_names.h.
#include "dataset/chains/offline_names.h"

#include "cache/settings.h"
#include "colonnade/error.h"
#include "io/places.h"
#include "io/transport.h"

namespace colonnade::dataset {

void refuse_offline_wildcards(std::span<const std::string> uris, std::string_view cache) {
  for (const std::string& uri : uris)
    if (io::wildcard_in(uri) != std::string::npos && !io::is_local(uri) &&
        cache::settings_for(cache, true).offline)
      throw Error(ErrorKind::usage, "only the server knows which files match, and the cache is used offline",
                  "name them one by one; `colonnade cache ls` lists what the cache has", {.uri = uri});
}

}  // namespace colonnade::dataset
