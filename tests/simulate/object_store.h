// Object stores with the behaviour of S3, RADOS and DAOS, in the memory of a world. Every request can be
// applied and answered, applied without an answer, refused, or applied long after the caller has given up.
#ifndef COLONNADE_SIMULATE_OBJECT_STORE_H
#define COLONNADE_SIMULATE_OBJECT_STORE_H

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "io/object_store.h"
#include "world.h"

namespace colonnade::simulate {

struct StoreManners {
  const char* name = "";
  bool items_together = false;   // an update of several items is one request
  bool repeats_puts = false;     // a conditional put is repeated, and may be refused because of itself
  bool is_pool = false;          // removing and listing scan, value by value
  std::size_t list_page = 1000;  // keys per request of a listing
  Time timeout = 60 * second;
  std::size_t concurrency = 2;
};

// The stored values, and requests to store.
struct StoredValues {
  struct Value {
    Bytes bytes;
    std::uint64_t version = 0;  // as callers see it
    std::uint64_t change = 0;   // that gave it these bytes
    Bytes before;
  };
  std::map<io::ValueAddress, Value> values;
  std::uint64_t last_version = 0;
  std::uint64_t last_change = 0;

  // The values of the readable data set: they must not be changed or removed.
  std::set<io::ValueAddress> needed;
  // The owners of the places' claims.
  std::map<std::uint64_t, const Process*> holders;
  // Applied after the sender had given up, or after it had lost the claim: unknown to the
  // library.
  std::set<io::ValueAddress> belated;
  // While not null, records the addresses that are read, with the changes that gave them their values; 0: no
  // value.
  using Changes = std::map<io::ValueAddress, std::uint64_t>;
  Changes* reading = nullptr;
};

std::shared_ptr<io::ObjectStore> make_simulated_store(std::string uri, World& world,
                                                      std::shared_ptr<StoredValues> stored,
                                                      const StoreManners& manners);

}  // namespace colonnade::simulate

#endif
