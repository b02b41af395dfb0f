// HomeFile: the addresses that a cached data set has in its home, as a file.
//
// What the home does not give in time is read from the origin instead, by the same threads and as much at
// once, so that nobody who reads can tell. Requests to a home that is far fill buffers of their own: one that
// hangs may be left behind, and the caller's memory is free.
#ifndef COLONNADE_CACHE_HOME_FILE_H
#define COLONNADE_CACHE_HOME_FILE_H

#include <memory>

#include "io/random_access_file.h"

namespace colonnade::cache {

class DataSet;

// Both live at most as long as the data set. Awaited is what others are about to put there: its reads wait,
// in threads of the home, until it is.
std::unique_ptr<io::RandomAccessFile> make_home_file(DataSet& data_set);
std::unique_ptr<io::RandomAccessFile> make_awaited_file(DataSet& data_set);

}  // namespace colonnade::cache

#endif
