// Transports: bytes by key. A store has objects; an object has values, each under a distribution key (values
// that share one are stored and moved together) and an attribute key:
//
//   object id --> distribution key --> attribute key --> value
//   (group, number)      u64                u64          bytes, replaced as a whole
//
// A back end implements these classes and declares its numbers in StoreTraits; it knows nothing of pages. Any
// number of threads may use a store at once, one at a time a queue; all queues must be destroyed before their
// store. A store that was opened before a fork cannot be used in the child unless its back end says
// otherwise; there, use is an error (ErrorKind::usage), never a hang.
#ifndef COLONNADE_IO_OBJECT_STORE_H
#define COLONNADE_IO_OBJECT_STORE_H

#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "io/completion_queue.h"

namespace colonnade::io {

struct ObjectId {
  std::uint32_t group = 0;  // objects that belong together; 0 is the directory, with few and small values
  std::uint64_t number = 0;
  friend auto operator<=>(const ObjectId&, const ObjectId&) = default;
};

struct ValueAddress {
  ObjectId object;
  std::uint64_t dkey = 0;
  std::uint64_t akey = 0;
  friend auto operator<=>(const ValueAddress&, const ValueAddress&) = default;
};

// "object 7:42, distribution key 3, attribute key 0": the form of addresses in the messages of all back ends.
std::string to_text(const ObjectId& object);
std::string to_text(const ValueAddress& address);

struct StoreTraits {
  std::size_t max_value = std::size_t{64} << 20;  // bytes; larger values are refused (ErrorKind::usage)
  std::size_t best_value = std::size_t{1} << 20;  // bytes: how large values should be made
  // Bytes of a value that are best read in one request, once reading goes on. 0: what the writer spliced.
  std::size_t best_request = 0;
  bool ranges = true;             // reading a part of a value costs little more than its share
  bool vectors = false;           // several items in one operation cost about as much as one
  bool finds_objects = false;     // remove_objects() looks for what is there, however wide the range is
  std::size_t max_items = 1024;   // of an operation; more are refused
  unsigned concurrency = 8;       // operations in flight that pay
  unsigned most_concurrency = 0;  // and that pay where the way is long; 0: it never is
  std::size_t worthwhile_gap = std::size_t{64} << 10;  // bytes of a value worth reading over to save one
  // Values are mostly in memory already, so that fetching is copying: best done by the thread that uses them,
  // after a will_need().
  bool reads_are_copies = false;
};

// Fills all of `into` from byte `offset` of the value on.
struct FetchItem {
  std::uint64_t akey = 0;
  std::uint64_t offset = 0;
  MutableByteSpan into;
};

// The value becomes the concatenation of the parts. An empty value exists.
struct UpdateItem {
  std::uint64_t akey = 0;
  std::vector<ByteSpan> parts;
};

// Asynchronous operations. One thread at a time. Items are copied; the memory that they point to must stay
// valid until the completion is taken or the queue is destroyed. The destructor cancels what can be cancelled
// and waits until the callers' memory is no longer accessed.
class ObjectQueue : public CompletionQueue {
 public:
  using CompletionQueue::CompletionQueue;
  // One operation: several items of one <object, distribution key>; the attribute keys of an update are
  // distinct. The completion has this `id`, and the error that fetch() or update() would have thrown. May
  // block while as many operations are in flight as the queue was opened for.
  virtual void submit_fetch(std::uint64_t id, const ObjectId& object, std::uint64_t dkey,
                            std::span<const FetchItem> items) = 0;
  virtual void submit_update(std::uint64_t id, const ObjectId& object, std::uint64_t dkey,
                             std::span<const UpdateItem> items) = 0;
};

class ObjectStore {
 public:
  virtual ~ObjectStore() = default;
  virtual const std::string& uri() const noexcept = 0;  // without secrets
  virtual StoreTraits traits() const noexcept = 0;
  // Whether the place of the store was removed since it was opened: nothing can be written to it any more.
  virtual bool is_gone() const noexcept { return false; }

  // Throws ErrorKind::not_found for a missing value, ErrorKind::format for one that ends before the
  // range does, ErrorKind::io for errors of the store and timeouts; all with URI and address in the
  // problem.
  virtual void fetch(const ObjectId& object, std::uint64_t dkey, std::span<const FetchItem> items) const = 0;
  // Each value is replaced as a whole: a concurrent reader gets the old one or the new one. Not all back ends
  // replace several items atomically.
  virtual void update(const ObjectId& object, std::uint64_t dkey, std::span<const UpdateItem> items) = 0;
  // A hint that a range of a value will be fetched soon; returns at once. Default: does nothing.
  virtual void will_need(const ValueAddress& /*address*/, std::uint64_t /*offset*/,
                         std::uint64_t /*size*/) const noexcept {}
  // A queue for `depth` operations in flight. The default runs each in a thread of its own.
  virtual std::unique_ptr<ObjectQueue> open_queue(unsigned depth);

  // The size of the value in bytes; nullopt if it does not exist.
  virtual std::optional<std::uint64_t> size(const ValueAddress& address) const = 0;

  // Conditional replacement, for small values whose changes must not be lost (an anchor, a claim): the value
  // is read with a version, and replaced only if no other process was faster. `version` is opaque.
  struct Versioned {
    Bytes value;
    std::string version;
  };
  virtual std::optional<Versioned> get(const ValueAddress& address) const = 0;  // nullopt: does not exist
  // Writes if the value still has the version `expected` or, with nullopt, if it does not exist. Otherwise
  // writes nothing and returns false.
  virtual bool put_if(const ValueAddress& address, ByteSpan value,
                      const std::optional<std::string>& expected) = 0;

  // In ascending order.
  virtual std::vector<std::uint64_t> list_dkeys(const ObjectId& object) const = 0;
  virtual std::vector<std::uint64_t> list_akeys(const ObjectId& object, std::uint64_t dkey) const = 0;
  // Distribution and attribute keys of all values of an object, in ascending order.
  virtual std::vector<std::pair<std::uint64_t, std::uint64_t>> list_values(const ObjectId& object) const;

  // Removing a missing value is not an error.
  virtual void remove(const ValueAddress& address) = 0;
  // Removes all values of the objects of `group` with numbers in [first, last]. Back ends with
  // `finds_objects` look for them; others try each number, so the range should be tight.
  virtual void remove_objects(std::uint32_t group, std::uint64_t first, std::uint64_t last) = 0;

  // The groups other than 0 that have objects, in ascending order, if a crash of the machine may leave some
  // without any record. Back ends that lose nothing return none.
  virtual std::vector<std::uint32_t> list_groups() const { return {}; }
  // Removes files that processes left which ended while they were writing: these are not values, and no
  // reader sees them. With `only_look` removes nothing. Returns their number.
  virtual std::uint64_t remove_leftovers(bool /*only_look*/) { return 0; }

  // Waits until earlier updates survive a crash of the machine, if they do not already.
  virtual void sync() = 0;
  // Makes the next sync() include this value, which another process may have changed. Default: every readable
  // value survives already.
  virtual void sync_with(const ValueAddress& /*address*/) {}
};

struct StoreOptions {
  bool create = false;  // create the store (pool and container, bucket prefix, folder) if it does not exist
  std::string object_class = {};  // DAOS: "SX", "RP_2G1", ...; empty: the container's default
};

// "obj:///path", "memory+obj:name" (of this process, for tests), "daos://pool/container",
// "rados://pool/namespace", "s3://bucket/prefix". Throws ErrorKind::not_found, io, unsupported. A store that
// is not there may be noticed only where a value of it is missed, unless it is to be created.
std::shared_ptr<ObjectStore> open_object_store(const std::string& uri, const StoreOptions& options = {});

// True if `uri` names an object store rather than a file: decided by its scheme, and for s3: by the name,
// since keys that end with ".root" or ".bare" are files.
bool is_object_store(const std::string& uri);

}  // namespace colonnade::io

#endif
