// Pools, containers, objects and values of the stand-in.
#ifndef COLONNADE_TESTS_DAOS_STANDIN_DATA_H
#define COLONNADE_TESTS_DAOS_STANDIN_DATA_H

#include <array>
#include <atomic>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <utility>
#include <vector>

#include "standin_types.h"

namespace standin {

// Memory of values: recycled, of large pieces that are backed by huge pages where there are some.
class Memory {
 public:
  static Memory& get();
  std::byte* take(std::size_t size);
  void give_back(std::byte* data, std::size_t size);
  void prefault(std::size_t bytes);

 private:
  std::byte* carve(std::size_t size);
  std::mutex mutex_;
  std::map<std::size_t, std::vector<std::byte*>> free_;  // by rounded size
  std::byte* next_ = nullptr;
  std::size_t left_ = 0;
};

struct Value {
  Value(std::size_t bytes, int kind, std::uint64_t record);
  Value(const Value&) = delete;
  Value& operator=(const Value&) = delete;
  ~Value();
  std::byte* data = nullptr;
  std::size_t size = 0;
  int type = 0;
  std::uint64_t record_size = 0;  // of arrays
};

// 8-byte keys in the order of their numbers, others in that of their bytes.
struct KeyOrder {
  bool operator()(const std::string& a, const std::string& b) const;
};
using Akeys = std::map<std::string, std::shared_ptr<Value>, KeyOrder>;  // null: removed, key remembered
using Dkeys = std::map<std::string, Akeys, KeyOrder>;

// Every transaction has an epoch, and so has what happens outside of them while there are some: the order in
// which all of it happened.
using Epoch = std::uint64_t;
Epoch new_epoch();  // later than all others

// When a value was last read by a transaction that relies on it, and when it was last changed.
struct Stamps {
  Epoch read = 0;
  Epoch written = 0;
};

struct Object {
  std::mutex mutex;
  Dkeys dkeys;
  std::map<std::pair<std::string, std::string>, Stamps> stamps;  // by distribution and attribute key
  Epoch punched = 0;
};

using Oid = std::array<std::uint64_t, 2>;  // hi, lo

struct Pool;
struct Container {
  std::string label;
  std::string uuid;
  std::weak_ptr<Pool> pool;
  std::shared_mutex mutex;
  std::map<Oid, std::shared_ptr<Object>> objects;
  std::shared_mutex commits;  // exclusive while a transaction is committed
  std::atomic<std::int64_t> used{0};
  std::atomic<int> open{0};
};

struct Pool {
  std::string label;
  std::string uuid;
  std::mutex mutex;
  std::vector<std::shared_ptr<Container>> containers;
  std::atomic<std::int64_t> used{0};
};

class Data {
 public:
  static Data& get();
  std::shared_ptr<Pool> find_pool(const std::string& name);
  void add_pool(const std::string& label, const std::string& uuid);
  std::vector<std::shared_ptr<Pool>> pools();
  void save(const std::string& path);
  void load(const std::string& path);

 private:
  Data();
  std::mutex mutex_;
  std::vector<std::shared_ptr<Pool>> pools_;
};

std::string new_uuid();
std::shared_ptr<Container> find_container(Pool& pool, const std::string& name);
std::shared_ptr<Object> find_object(Container& container, const daos_obj_id_t& oid, bool make);

// Of an oid that was generated: its type; and whether it was.
int type_of(const daos_obj_id_t& oid);
bool was_generated(const daos_obj_id_t& oid);
// 0, or an error.
int generate(daos_obj_id_t& oid, int type, std::uint32_t object_class, std::uint16_t hints);

// An opened object.
struct ObjectHandle {
  std::shared_ptr<Container> container;
  daos_obj_id_t oid{};
  bool writable = false;
};

// What an update brings, checked and copied: null values are removed.
struct Change {
  ObjectHandle object;
  std::uint64_t flags = 0;
  std::string dkey;
  std::vector<daos_iod_t> iods;
  std::vector<std::string> akeys;
  std::vector<std::shared_ptr<Value>> values;
  std::vector<d_sg_list_t> lists;  // of arrays, which are put together when they are stored
  std::uint64_t bytes = 0;
  bool punch = false;  // of the whole object, and nothing of the above
};
int prepare(Change& change, const d_iov_t* dkey, unsigned count, const daos_iod_t* iods,
            const d_sg_list_t* lists);
int reserve_space(Container& container, std::int64_t bytes);
// The caller has Container::commits.
int apply(Change& change, Epoch epoch);

int update(const ObjectHandle& object, std::uint64_t flags, const d_iov_t* dkey, unsigned count,
           daos_iod_t* iods, const d_sg_list_t* lists, std::uint64_t& bytes);
// `epoch`: of the transaction, or 0.
int fetch(const ObjectHandle& object, std::uint64_t flags, const d_iov_t* dkey, unsigned count,
          daos_iod_t* iods, d_sg_list_t* lists, std::uint64_t& bytes, Epoch epoch);
int punch(const ObjectHandle& object);
// Without dkey: the distribution keys.
int list(const ObjectHandle& object, const d_iov_t* dkey, std::uint32_t* count, daos_key_desc_t* keys,
         d_sg_list_t* list, daos_anchor_t* anchor);

}  // namespace standin

#endif
