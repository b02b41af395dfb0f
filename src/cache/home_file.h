// HomeFile: the addresses that a cached data set has in its home, as a file.
//
// What the home does not deliver in time is read from the origin instead, by the same threads and at the same
// depth, so that readers notice no difference. Requests to a remote home fill buffers of their own: a request
// that hangs can be abandoned, and the caller's memory is free.
#ifndef COLONNADE_CACHE_HOME_FILE_H
#define COLONNADE_CACHE_HOME_FILE_H

#include <memory>

#include "io/random_access_file.h"

namespace colonnade::cache {

class DataSet;

// Both live at most as long as the data set. Awaited is what other readers are about to write: its reads wait
// for that, in threads of the home.
std::unique_ptr<io::RandomAccessFile> make_home_file(DataSet& data_set);
std::unique_ptr<io::RandomAccessFile> make_awaited_file(DataSet& data_set);

}  // namespace colonnade::cache

#endif
