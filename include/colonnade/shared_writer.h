// SharedWriter: one data set of an object store that many processes write, and one commits.
//
//   one:     SharedWriter::open(...)  --ticket()-->  the others, by any means
//   others:  Writer::recreate(model, name, uri, {.part_of = ticket + "-" + number})      each a part
//   one:     commit(parts)            pages stay where the others wrote them
//
// Nothing is visible before the commit, and everything after it: the clusters of the parts, in the order in
// which they are given. Parts that are not taken, of processes that were killed or were not needed, are
// removed. Until the commit the data set is claimed, as by any writer. A SharedWriter belongs to one thread
// at a time.
#ifndef COLONNADE_SHARED_WRITER_H
#define COLONNADE_SHARED_WRITER_H

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "colonnade/options.h"

namespace colonnade {

class SharedWriter {
 public:
  // Claims the data set `name` of an object store; one that is there is replaced by the commit. The parts are
  // to be written with the same options. Throws ErrorKind::usage for what is no object store, and for a data
  // set that is being written.
  static std::unique_ptr<SharedWriter> open(std::string_view name, const std::string& uri,
                                            const WriteOptions& options = {});
  ~SharedWriter();  // discards what was not committed
  SharedWriter(const SharedWriter&) = delete;
  SharedWriter& operator=(const SharedWriter&) = delete;

  // What those who write parts have to know. A part is named by it, "-", and a number of its own in
  // hexadecimal digits, drawn at random.
  const std::string& ticket() const noexcept;
  // Makes the data set of these parts, and returns its entries. Throws ErrorKind::not_found for a part that
  // was not closed, schema for one with other fields, usage for one that is given twice.
  std::uint64_t commit(std::span<const std::string> parts);
  void discard() noexcept;

 private:
  struct Impl;
  explicit SharedWriter(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace colonnade

#endif
