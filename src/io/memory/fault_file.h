// Wrappers that inject faults into another file, for tests of all readers and writers.
#ifndef COLONNADE_IO_MEMORY_FAULT_FILE_H
#define COLONNADE_IO_MEMORY_FAULT_FILE_H

#include <memory>

#include "io/random_access_file.h"

namespace colonnade::io {

struct Faults {
  static constexpr std::uint64_t never = ~std::uint64_t{0};
  std::uint64_t read_error_at = never;   // a read that touches this byte fails with an input/output error
  std::uint64_t write_error_at = never;  // the same for writing
  std::uint64_t size = never;            // readers see the file truncated to this many bytes
  std::uint64_t writes = never;          // calls of write() and write_vector() that succeed; later ones fail
  std::uint64_t space = never;  // bytes that may be written in total; the write that crosses is cut there
  std::uint64_t syncs = never;  // calls of sync() that succeed; later ones fail
  bool close_fails = false;
  std::uint64_t reads = never;    // reads of a file opened for reading that succeed; later ones fail
  bool answers_reversed = false;  // queues deliver only when they must, and the latest request first
};

std::unique_ptr<RandomAccessFile> with_faults(std::unique_ptr<RandomAccessFile> file, const Faults& faults);
std::unique_ptr<WritableFile> with_faults(std::unique_ptr<WritableFile> file, const Faults& faults);

}  // namespace colonnade::io

#endif
