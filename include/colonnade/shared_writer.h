// SharedWriter: one data set in an object store that many processes write and one commits.
//
//   one:     SharedWriter::open(...)  --ticket()-->  the others, by any means
//   others:  Writer::recreate(model, name, uri, {.part_of = ticket + "-" + number})      each a part
//   one:     commit(parts)            pages stay where the others wrote them
//
// Before the commit nothing is visible; after it, all clusters of the given parts are, in the given
// order. Parts that are not given, from processes that were killed or not needed, are removed. Until the
// commit the SharedWriter claims the data set, like any writer. One thread at a time uses a SharedWriter.
#ifndef COLONNADE_SHARED_WRITER_H
#define COLONNADE_SHARED_WRITER_H

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "colonnade/options.h"

namespace colonnade {

class AttributeAppender;

class SharedWriter {
 public:
  // Claims the data set `name` of an object store; the commit replaces an existing one, unless the mode says
  // that there must be none. The parts must be written with the same options. Throws ErrorKind::usage for a
  // file, and for a data set that is being written.
  static std::unique_ptr<SharedWriter> open(std::string_view name, const std::string& uri,
                                            const WriteOptions& options = {},
                                            WriteMode mode = WriteMode::recreate);
  ~SharedWriter();  // discards uncommitted parts
  SharedWriter(const SharedWriter&) = delete;
  SharedWriter& operator=(const SharedWriter&) = delete;

  // What the writers of parts need to know. The name of a part is the ticket, "-", and a random number of its
  // own in hexadecimal digits.
  const std::string& ticket() const noexcept;
  // Makes the data set of these parts, and returns its number of entries. Throws ErrorKind::not_found for a
  // part that was not closed, schema for one with other fields, usage for one that is given twice.
  // `before_commit` may add attribute sets to the data set.
  std::uint64_t commit(std::span<const std::string> parts,
                       const std::function<void(AttributeAppender&)>& before_commit = {});
  void discard() noexcept;

  // Whether the SharedWriter with this ticket still waits for parts: it is gone once it has committed or
  // given up. Throws ErrorKind::not_found if there is no such store.
  static bool is_open(const std::string& uri, std::string_view ticket);

 private:
  struct Impl;
  explicit SharedWriter(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace colonnade

#endif
