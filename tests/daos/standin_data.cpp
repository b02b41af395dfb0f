// See standin_data.h.
#include "standin_data.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <new>
#include <random>
#include <set>
#include <utility>

#include "standin.h"
#include "standin_knobs.h"

namespace standin {
namespace {

constexpr std::size_t arena = std::size_t{64} << 20;
constexpr std::size_t largest_recycled = arena / 2;
constexpr std::uint64_t user_bits = 0xffffffffU;

std::size_t rounded(std::size_t size) {
  if (size <= 64) return 64;
  const std::size_t step = std::bit_floor(size - 1) / 8;
  return (size + step - 1) / step * step;
}

std::string key_of(const d_iov_t& iov) {
  return {static_cast<const char*>(iov.iov_buf), iov.iov_len};
}

bool numbers_only(int type, bool dkey) {
  return type == 4 || (dkey ? type == 2 : type == 3);
}

int check_key(int type, const d_iov_t* key, bool dkey) {
  if (key == nullptr || key->iov_buf == nullptr || key->iov_len == 0 || key->iov_len > key->iov_buf_len)
    return inval;
  return numbers_only(type, dkey) && key->iov_len != sizeof(std::uint64_t) ? inval : 0;
}

int check_iods(int type, unsigned count, const daos_iod_t* iods) {
  if (count == 0 || iods == nullptr) return inval;
  std::set<std::string> seen;
  for (unsigned i = 0; i < count; ++i) {
    const daos_iod_t& iod = iods[i];
    if (const int code = check_key(type, &iod.iod_name, false); code != 0) return code;
    if (iod.iod_type != single && iod.iod_type != array) return inval;
    if (iod.iod_type == single && iod.iod_nr != 1) return inval;
    if (iod.iod_type == array && (iod.iod_nr == 0 || iod.iod_recxs == nullptr)) return inval;
    if (count > 1 && !seen.insert(key_of(iod.iod_name)).second) return no_perm;
  }
  return 0;
}

std::uint64_t bytes_of(const d_sg_list_t& list) {
  std::uint64_t bytes = 0;
  for (std::uint32_t i = 0; i < list.sg_nr; ++i) bytes += list.sg_iovs[i].iov_buf_len;
  return bytes;
}

std::uint64_t used_of(const d_sg_list_t& list) {
  std::uint64_t bytes = 0;
  for (std::uint32_t i = 0; i < list.sg_nr; ++i) bytes += list.sg_iovs[i].iov_len;
  return bytes;
}

void gather(const d_sg_list_t& list, std::byte* into, std::uint64_t size) {
  for (std::uint32_t i = 0; i < list.sg_nr && size > 0; ++i) {
    const std::uint64_t part = std::min<std::uint64_t>(list.sg_iovs[i].iov_len, size);
    std::memcpy(into, list.sg_iovs[i].iov_buf, part);
    into += part;
    size -= part;
  }
}

void scatter(const std::byte* from, std::uint64_t size, d_sg_list_t& list) {
  list.sg_nr_out = 0;
  for (std::uint32_t i = 0; i < list.sg_nr; ++i) {
    d_iov_t& iov = list.sg_iovs[i];
    const std::uint64_t part = std::min<std::uint64_t>(iov.iov_buf_len, size);
    if (part > 0) std::memcpy(iov.iov_buf, from, part);
    iov.iov_len = part;
    if (part > 0) list.sg_nr_out = i + 1;
    from += part;
    size -= part;
  }
}

std::uint64_t records_end(const daos_iod_t& iod) {
  std::uint64_t end = 0;
  for (std::uint32_t i = 0; i < iod.iod_nr; ++i)
    end = std::max(end, iod.iod_recxs[i].rx_idx + iod.iod_recxs[i].rx_nr);
  return end;
}

// The array after applying the records of the iod.
std::shared_ptr<Value> patched_array(const Value* old, const daos_iod_t& iod, const d_sg_list_t& list) {
  const std::uint64_t before = old == nullptr ? 0 : old->size;
  auto value =
      std::make_shared<Value>(std::max(before, records_end(iod) * iod.iod_size), array, iod.iod_size);
  std::memset(value->data, 0, value->size);
  if (old != nullptr) std::memcpy(value->data, old->data, old->size);
  std::vector<std::byte> flat(used_of(list));
  gather(list, flat.data(), flat.size());
  std::uint64_t position = 0;
  for (std::uint32_t i = 0; i < iod.iod_nr; ++i) {
    const std::uint64_t bytes = iod.iod_recxs[i].rx_nr * iod.iod_size;
    const std::uint64_t there = std::min<std::uint64_t>(bytes, flat.size() - position);
    std::memcpy(value->data + iod.iod_recxs[i].rx_idx * iod.iod_size, flat.data() + position, there);
    position += there;
  }
  return value;
}

std::vector<std::byte> array_part(const Value& value, const daos_iod_t& iod) {
  std::vector<std::byte> flat;
  for (std::uint32_t i = 0; i < iod.iod_nr; ++i) {
    const std::uint64_t begin =
        std::min<std::uint64_t>(iod.iod_recxs[i].rx_idx * value.record_size, value.size);
    const std::uint64_t end =
        std::min<std::uint64_t>(begin + iod.iod_recxs[i].rx_nr * value.record_size, value.size);
    flat.insert(flat.end(), value.data + begin, value.data + end);
  }
  return flat;
}

int check_conditions(std::uint64_t flags, const Akeys* akeys, const std::vector<std::string>& keys) {
  if ((flags & dkey_insert) != 0 && akeys != nullptr) return exist;
  if ((flags & dkey_update) != 0 && akeys == nullptr) return nonexist;
  for (const std::string& key : keys) {
    const bool there = akeys != nullptr && akeys->contains(key);
    if ((flags & akey_insert) != 0 && there) return exist;
    if ((flags & akey_update) != 0 && !there) return nonexist;
  }
  return 0;
}

// A transaction that learned whether a key exists relies on it.
void note_reading(Object& object, const std::string& dkey, const std::string& akey, Epoch epoch) {
  Epoch& read = object.stamps[{dkey, akey}].read;
  read = std::max(read, epoch);
}

// Older values are not kept for transactions that need them.
bool changed_since(const Object& object, const std::string& dkey, unsigned count, const daos_iod_t* iods,
                   Epoch epoch) {
  if (object.punched > epoch) return true;
  for (unsigned i = 0; i < count; ++i) {
    const auto stamps = object.stamps.find({dkey, key_of(iods[i].iod_name)});
    if (stamps != object.stamps.end() && stamps->second.written > epoch) return true;
  }
  return false;
}

Epoch epoch_outside_transactions() {
  return counters().transactions_open > 0 ? new_epoch() : 0;
}

void store(Dkeys& dkeys, const std::string& dkey, const std::string& akey, std::shared_ptr<Value> value) {
  if (value || knobs().tombstones != 0) {
    if (value || (dkeys.contains(dkey) && dkeys[dkey].contains(akey))) dkeys[dkey][akey] = std::move(value);
    return;
  }
  const auto found = dkeys.find(dkey);
  if (found == dkeys.end()) return;
  found->second.erase(akey);
  if (found->second.empty()) dkeys.erase(found);
}

std::string hex(std::uint64_t number, int digits) {
  std::string text(static_cast<std::size_t>(digits), '0');
  for (int i = digits - 1; i >= 0; --i, number >>= 4U)
    text[static_cast<std::size_t>(i)] = "0123456789abcdef"[number & 15U];
  return text;
}

}  // namespace

Memory& Memory::get() {
  static Memory& memory = *new Memory;
  return memory;
}

std::byte* Memory::carve(std::size_t size) {
  if (left_ < size) {
    const std::size_t bytes = std::max(arena, size);
    void* data = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (data == MAP_FAILED) throw std::bad_alloc();
    ::madvise(data, bytes, MADV_HUGEPAGE);
    if (size >= arena) return static_cast<std::byte*>(data);
    next_ = static_cast<std::byte*>(data);
    left_ = bytes;
  }
  std::byte* data = next_;
  next_ += size;
  left_ -= size;
  return data;
}

std::byte* Memory::take(std::size_t size) {
  const std::size_t bytes = rounded(size);
  const std::lock_guard lock(mutex_);
  std::vector<std::byte*>& same = free_[bytes];
  if (same.empty()) return carve(bytes);
  std::byte* data = same.back();
  same.pop_back();
  return data;
}

void Memory::give_back(std::byte* data, std::size_t size) {
  const std::size_t bytes = rounded(size);
  if (bytes >= largest_recycled && bytes >= arena) {
    ::munmap(data, bytes);
    return;
  }
  const std::lock_guard lock(mutex_);
  free_[bytes].push_back(data);
}

void Memory::prefault(std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  if (left_ >= bytes || bytes == 0) return;
  void* data = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED) throw std::bad_alloc();
  ::madvise(data, bytes, MADV_HUGEPAGE);
  std::memset(data, 0, bytes);
  next_ = static_cast<std::byte*>(data);
  left_ = bytes;
}

Value::Value(std::size_t bytes, int kind, std::uint64_t record)
    : data(Memory::get().take(bytes)), size(bytes), type(kind), record_size(record) {}

Value::~Value() {
  Memory::get().give_back(data, size);
}

bool KeyOrder::operator()(const std::string& a, const std::string& b) const {
  if (a.size() != sizeof(std::uint64_t) || b.size() != sizeof(std::uint64_t)) return a < b;
  std::uint64_t x = 0;
  std::uint64_t y = 0;
  std::memcpy(&x, a.data(), sizeof x);
  std::memcpy(&y, b.data(), sizeof y);
  return x < y;
}

Data& Data::get() {
  static Data& data = *new Data;
  return data;
}

Data::Data() {
  add_pool("tank", "00000000-0000-4000-8000-000000000001");
}

void Data::add_pool(const std::string& label, const std::string& uuid) {
  const std::lock_guard lock(mutex_);
  for (const auto& pool : pools_)
    if (pool->label == label) return;
  auto pool = std::make_shared<Pool>();
  pool->label = label;
  pool->uuid = uuid;
  pools_.push_back(std::move(pool));
}

std::vector<std::shared_ptr<Pool>> Data::pools() {
  const std::lock_guard lock(mutex_);
  return pools_;
}

std::shared_ptr<Pool> Data::find_pool(const std::string& name) {
  for (const auto& pool : pools())
    if (pool->label == name || pool->uuid == name) return pool;
  return nullptr;
}

std::string new_uuid() {
  std::random_device random;
  return hex(random(), 8) + "-" + hex(random(), 4) + "-4" + hex(random(), 3) + "-8" + hex(random(), 3) + "-" +
         hex(random(), 8) + hex(random(), 4);
}

std::shared_ptr<Container> find_container(Pool& pool, const std::string& name) {
  const std::lock_guard lock(pool.mutex);
  for (const auto& container : pool.containers)
    if (container->label == name || container->uuid == name) return container;
  return nullptr;
}

std::shared_ptr<Object> find_object(Container& container, const daos_obj_id_t& oid, bool make) {
  const Oid key{oid.hi, oid.lo};
  {
    const std::shared_lock lock(container.mutex);
    if (const auto found = container.objects.find(key); found != container.objects.end())
      return found->second;
  }
  if (!make) return nullptr;
  const std::unique_lock lock(container.mutex);
  auto& object = container.objects[key];
  if (!object) object = std::make_shared<Object>();
  return object;
}

Epoch new_epoch() {
  static std::atomic<Epoch> last{0};
  return ++last;
}

// The high half of `hi`: type 8 bits | redundancy 8 | groups 16. No class has redundancy 0.
int type_of(const daos_obj_id_t& oid) {
  return static_cast<int>(oid.hi >> 56U);
}

bool was_generated(const daos_obj_id_t& oid) {
  const std::uint64_t redundancy = oid.hi >> 48U & 0xffU;
  return (redundancy == 1 || redundancy == 8) && (oid.hi >> 32U & 0xffffU) != 0;
}

// The number of groups of an id depends on the targets that are up at this moment, if the class or the hint
// requests as many as possible.
int generate(daos_obj_id_t& oid, int type, std::uint32_t object_class, std::uint16_t hints) {
  constexpr std::uint32_t all_there_are = 0xffff;
  constexpr std::uint16_t redundancy_hints = 0xf;
  if (type != 0 && type != 2 && type != 3 && type != 4 && type != 7) return inval;
  std::uint32_t redundancy = object_class >> 24U;
  std::uint32_t groups = object_class & 0xffffU;
  if (object_class == 0) {
    const unsigned sharding = hints & ~redundancy_hints;
    if (sharding != 0 && sharding != 0x10 && sharding != 0x20 && sharding != 0x200) return inval;
    redundancy = 1;
    groups = sharding == 0x200 ? all_there_are : 1;
  }
  if ((redundancy != 1 && redundancy != 8) || groups == 0) return inval;
  const std::uint32_t size = redundancy == 8 ? 2 : 1;
  const auto targets = static_cast<std::uint32_t>(knobs().targets.load());
  if (size > static_cast<std::uint32_t>(knobs().engines.load())) return inval;  // replicas need engines
  if (groups == all_there_are) groups = std::max(1U, targets / size);
  if (groups * size > targets) return inval;
  oid.hi = (oid.hi & user_bits) | std::uint64_t{static_cast<unsigned>(type)} << 56U |
           std::uint64_t{redundancy} << 48U | std::uint64_t{groups} << 32U;
  return 0;
}

int reserve_space(Container& container, std::int64_t bytes) {
  const auto pool = container.pool.lock();
  const std::int64_t capacity = knobs().capacity;
  if (pool->used.fetch_add(bytes) + bytes > capacity && capacity != 0) {
    pool->used -= bytes;
    return nospace;
  }
  container.used += bytes;
  return 0;
}

int prepare(Change& change, const d_iov_t* dkey, unsigned count, const daos_iod_t* iods,
            const d_sg_list_t* lists) {
  if (!change.object.writable) return no_perm;
  if ((change.flags & (dkey_fetch | akey_fetch)) != 0) return inval;
  const int type = type_of(change.object.oid);
  if (const int code = check_key(type, dkey, true); code != 0) return code;
  if (const int code = check_iods(type, count, iods); code != 0) return code;
  change.dkey = key_of(*dkey);
  change.iods.assign(iods, iods + count);
  change.values.resize(count);
  if (lists != nullptr) change.lists.assign(lists, lists + count);
  for (unsigned i = 0; i < count; ++i) {
    const daos_iod_t& iod = iods[i];
    change.akeys.push_back(key_of(iod.iod_name));
    if (iod.iod_size == 0) continue;
    if (lists == nullptr) return inval;
    if (iod.iod_type == array) {
      if (used_of(lists[i]) < iod.iod_size) return inval;
      change.bytes += used_of(lists[i]);
      continue;
    }
    if (used_of(lists[i]) != iod.iod_size) return inval;
    change.bytes += iod.iod_size;
    change.values[i] = std::make_shared<Value>(iod.iod_size, single, 0);
    gather(lists[i], change.values[i]->data, iod.iod_size);
  }
  return 0;
}

int apply(Change& change, Epoch epoch) {
  const auto stored = find_object(*change.object.container, change.object.oid, !change.punch);
  if (!stored) return 0;
  const std::lock_guard lock(stored->mutex);
  if (change.punch) {
    stored->dkeys.clear();
    stored->punched = std::max(stored->punched, epoch);
    return 0;
  }
  const auto found = stored->dkeys.find(change.dkey);
  const Akeys* akeys = found == stored->dkeys.end() ? nullptr : &found->second;
  if (change.flags != 0 && epoch != 0)
    for (const std::string& akey : change.akeys) note_reading(*stored, change.dkey, akey, epoch);
  if (const int code = check_conditions(change.flags, akeys, change.akeys); code != 0) return code;
  for (std::size_t i = 0; i < change.akeys.size(); ++i) {
    const daos_iod_t& iod = change.iods[i];
    const auto old = akeys == nullptr ? Akeys::const_iterator() : akeys->find(change.akeys[i]);
    const Value* value = akeys == nullptr || old == akeys->end() ? nullptr : old->second.get();
    if (value != nullptr && iod.iod_size != 0 && value->type != iod.iod_type) return inval;
    if (iod.iod_type == array && iod.iod_size != 0)
      change.values[i] = patched_array(value, iod, change.lists[i]);
  }
  if (const int code = reserve_space(*change.object.container, static_cast<std::int64_t>(change.bytes));
      code != 0)
    return code;
  for (std::size_t i = 0; i < change.akeys.size(); ++i) {
    store(stored->dkeys, change.dkey, change.akeys[i], std::move(change.values[i]));
    if (epoch != 0) stored->stamps[{change.dkey, change.akeys[i]}].written = epoch;
  }
  return 0;
}

int update(const ObjectHandle& object, std::uint64_t flags, const d_iov_t* dkey, unsigned count,
           daos_iod_t* iods, const d_sg_list_t* lists, std::uint64_t& bytes) {
  Change change{.object = object, .flags = flags};
  if (const int code = prepare(change, dkey, count, iods, lists); code != 0) return code;
  bytes = change.bytes;
  const std::shared_lock lock(object.container->commits);
  return apply(change, epoch_outside_transactions());
}

int fetch(const ObjectHandle& object, std::uint64_t flags, const d_iov_t* dkey, unsigned count,
          daos_iod_t* iods, d_sg_list_t* lists, std::uint64_t& bytes, Epoch epoch) {
  if ((flags & (dkey_insert | dkey_update | akey_insert | akey_update)) != 0) return inval;
  const int type = type_of(object.oid);
  if (const int code = check_key(type, dkey, true); code != 0) return code;
  if (const int code = check_iods(type, count, iods); code != 0) return code;
  std::vector<std::shared_ptr<Value>> values(count);
  const std::shared_lock commits(object.container->commits);
  const bool relies = epoch != 0 || (flags != 0 && counters().transactions_open > 0);
  if (const auto stored = find_object(*object.container, object.oid, relies)) {
    const std::lock_guard lock(stored->mutex);
    if (epoch != 0 && changed_since(*stored, key_of(*dkey), count, iods, epoch)) return tx_restart;
    for (unsigned i = 0; relies && i < count; ++i)
      note_reading(*stored, key_of(*dkey), key_of(iods[i].iod_name), epoch != 0 ? epoch : new_epoch());
    const auto akeys = stored->dkeys.find(key_of(*dkey));
    if ((flags & (dkey_fetch | akey_fetch)) != 0 && akeys == stored->dkeys.end()) return nonexist;
    for (unsigned i = 0; i < count && akeys != stored->dkeys.end(); ++i) {
      const auto found = akeys->second.find(key_of(iods[i].iod_name));
      if ((flags & akey_fetch) != 0 && found == akeys->second.end()) return nonexist;
      if (found != akeys->second.end()) values[i] = found->second;
    }
  } else if ((flags & (dkey_fetch | akey_fetch)) != 0) {
    return nonexist;
  }
  int result = 0;
  for (unsigned i = 0; i < count; ++i) {
    daos_iod_t& iod = iods[i];
    const Value* value = values[i].get();
    if (value != nullptr && value->type != iod.iod_type) return inval;
    const std::uint64_t size = value == nullptr ? 0 : value->type == array ? value->record_size : value->size;
    if (lists != nullptr && value == nullptr) scatter(nullptr, 0, lists[i]);
    if (lists != nullptr && value != nullptr && value->type == array) {
      const std::vector<std::byte> part = array_part(*value, iod);
      if (bytes_of(lists[i]) < part.size()) return rec2big;
      scatter(part.data(), part.size(), lists[i]);
      bytes += part.size();
    } else if (lists != nullptr && value != nullptr && bytes_of(lists[i]) < size) {
      result = rec2big;
      if (knobs().rec2big_silent != 0) continue;
    } else if (lists != nullptr && value != nullptr && result == 0) {
      scatter(value->data, size, lists[i]);
      bytes += size;
    }
    iod.iod_size = size;
  }
  return result;
}

int punch(const ObjectHandle& object) {
  if (!object.writable) return no_perm;
  Change change{.object = object, .punch = true};
  const std::shared_lock lock(object.container->commits);
  return apply(change, epoch_outside_transactions());
}

namespace {

// The keys after the anchor, as many as fit.
template <class Keys>
int list_keys(const Keys& all, std::uint32_t* count, daos_key_desc_t* keys, d_sg_list_t* list,
              daos_anchor_t* anchor) {
  const std::string last(reinterpret_cast<const char*>(anchor->key), anchor->length);
  auto next = anchor->length == 0 ? all.begin() : all.upper_bound(last);
  std::uint32_t most = *count;
  if (const std::int64_t page = knobs().list_page; page > 0) most = std::min<std::uint32_t>(most, page);
  auto* into = static_cast<std::byte*>(list->sg_iovs[0].iov_buf);
  std::size_t room = list->sg_iovs[0].iov_buf_len;
  std::uint32_t done = 0;
  for (; next != all.end() && done < most && next->first.size() <= room; ++next, ++done) {
    const std::string& key = next->first;
    std::memcpy(into, key.data(), key.size());
    keys[done] = {key.size(), 0};
    into += key.size();
    room -= key.size();
    if (key.size() > sizeof anchor->key) return inval;
    std::memcpy(anchor->key, key.data(), key.size());
    anchor->length = static_cast<std::uint16_t>(key.size());
  }
  if (done == 0 && next != all.end()) return inval;  // no room for one key
  list->sg_iovs[0].iov_len = list->sg_iovs[0].iov_buf_len - room;
  *count = done;
  anchor->kind = next == all.end() ? 3 : 1;
  return 0;
}

}  // namespace

int list(const ObjectHandle& object, const d_iov_t* dkey, std::uint32_t* count, daos_key_desc_t* keys,
         d_sg_list_t* list, daos_anchor_t* anchor) {
  if (count == nullptr || *count == 0 || keys == nullptr || list == nullptr || list->sg_nr != 1 ||
      anchor == nullptr || anchor->kind == 3)
    return inval;
  const int type = type_of(object.oid);
  if (dkey != nullptr)
    if (const int code = check_key(type, dkey, true); code != 0) return code;
  if (anchor->empty_calls < knobs().list_empty) {
    ++anchor->empty_calls;
    anchor->kind = 1;
    *count = 0;
    return 0;
  }
  const std::shared_lock commits(object.container->commits);
  const auto stored = find_object(*object.container, object.oid, false);
  if (stored) {
    const std::lock_guard lock(stored->mutex);
    if (dkey == nullptr) return list_keys(stored->dkeys, count, keys, list, anchor);
    const auto found = stored->dkeys.find(key_of(*dkey));
    if (found != stored->dkeys.end()) return list_keys(found->second, count, keys, list, anchor);
  }
  return list_keys(Akeys(), count, keys, list, anchor);
}

namespace {

template <class Number>
void put(std::ostream& out, Number number) {
  out.write(reinterpret_cast<const char*>(&number), sizeof number);
}

void put(std::ostream& out, const std::string& text) {
  put(out, std::uint64_t{text.size()});
  out.write(text.data(), static_cast<std::streamsize>(text.size()));
}

std::uint64_t get_number(std::istream& in) {
  std::uint64_t number = 0;
  in.read(reinterpret_cast<char*>(&number), sizeof number);
  return number;
}

std::string get_text(std::istream& in) {
  std::string text(get_number(in), '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  return text;
}

void save_container(std::ostream& out, Container& container) {
  put(out, container.label);
  put(out, container.uuid);
  put(out, static_cast<std::uint64_t>(container.used.load()));
  put(out, std::uint64_t{container.objects.size()});
  for (const auto& [oid, object] : container.objects) {
    put(out, oid[0]);
    put(out, oid[1]);
    put(out, std::uint64_t{object->dkeys.size()});
    for (const auto& [dkey, akeys] : object->dkeys) {
      put(out, dkey);
      put(out, std::uint64_t{akeys.size()});
      for (const auto& [akey, value] : akeys) {
        put(out, akey);
        put(out, static_cast<std::uint64_t>(value ? value->type : 0));
        put(out, value ? value->record_size : 0);
        put(out, value ? std::string(reinterpret_cast<const char*>(value->data), value->size) : "");
      }
    }
  }
}

std::shared_ptr<Value> load_value(std::istream& in) {
  const auto type = static_cast<int>(get_number(in));
  const std::uint64_t record = get_number(in);
  const std::string bytes = get_text(in);
  if (type == 0) return nullptr;
  auto value = std::make_shared<Value>(bytes.size(), type, record);
  std::memcpy(value->data, bytes.data(), bytes.size());
  return value;
}

std::shared_ptr<Container> load_container(std::istream& in) {
  auto container = std::make_shared<Container>();
  container->label = get_text(in);
  container->uuid = get_text(in);
  container->used = static_cast<std::int64_t>(get_number(in));
  for (std::uint64_t objects = get_number(in); objects > 0 && in; --objects) {
    Oid oid{};
    oid[0] = get_number(in);
    oid[1] = get_number(in);
    auto object = std::make_shared<Object>();
    for (std::uint64_t dkeys = get_number(in); dkeys > 0 && in; --dkeys) {
      Akeys& akeys = object->dkeys[get_text(in)];
      for (std::uint64_t count = get_number(in); count > 0 && in; --count) {
        const std::string akey = get_text(in);
        akeys[akey] = load_value(in);
      }
    }
    container->objects[oid] = std::move(object);
  }
  return container;
}

}  // namespace

void Data::save(const std::string& path) {
  const std::string fresh = path + ".new";
  std::ofstream out(fresh, std::ios::binary | std::ios::trunc);
  put(out, std::uint64_t{pools().size()});
  for (const auto& pool : pools()) {
    put(out, pool->label);
    put(out, pool->uuid);
    put(out, std::uint64_t{pool->containers.size()});
    for (const auto& container : pool->containers) save_container(out, *container);
  }
  out.close();
  std::rename(fresh.c_str(), path.c_str());
}

void Data::load(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return;
  std::vector<std::shared_ptr<Pool>> loaded;
  for (std::uint64_t count = get_number(in); count > 0 && in; --count) {
    auto pool = std::make_shared<Pool>();
    pool->label = get_text(in);
    pool->uuid = get_text(in);
    for (std::uint64_t containers = get_number(in); containers > 0 && in; --containers) {
      pool->containers.push_back(load_container(in));
      pool->containers.back()->pool = pool;
      pool->used += pool->containers.back()->used;
    }
    loaded.push_back(std::move(pool));
  }
  const std::lock_guard lock(mutex_);
  pools_ = std::move(loaded);
}

}  // namespace standin

int standin_corrupt(std::uint32_t group, std::uint64_t number, std::uint64_t dkey, std::uint64_t akey,
                    std::uint64_t offset) {
  using namespace standin;
  const std::string dkey_text(reinterpret_cast<const char*>(&dkey), sizeof dkey);
  const std::string akey_text(reinterpret_cast<const char*>(&akey), sizeof akey);
  int changed = 0;
  for (const auto& pool : Data::get().pools()) {
    const std::lock_guard pool_lock(pool->mutex);
    for (const auto& container : pool->containers) {
      const std::shared_lock container_lock(container->mutex);
      for (const auto& [oid, object] : container->objects) {
        if ((oid[0] & user_bits) != group || oid[1] != number || oid[0] >> 56U != 4) continue;
        const std::lock_guard lock(object->mutex);
        const auto akeys = object->dkeys.find(dkey_text);
        if (akeys == object->dkeys.end()) continue;
        const auto value = akeys->second.find(akey_text);
        if (value == akeys->second.end() || !value->second || offset >= value->second->size) continue;
        value->second->data[offset] ^= std::byte{0x5a};
        ++changed;
      }
    }
  }
  return changed;
}

int standin_groups(std::uint32_t group, std::uint64_t number) {
  using namespace standin;
  std::set<int> groups;
  for (const auto& pool : Data::get().pools()) {
    const std::lock_guard pool_lock(pool->mutex);
    for (const auto& container : pool->containers) {
      const std::shared_lock container_lock(container->mutex);
      for (const auto& [oid, object] : container->objects)
        if ((oid[0] & user_bits) == group && oid[1] == number && oid[0] >> 56U == 4 && !object->dkeys.empty())
          groups.insert(static_cast<int>(oid[0] >> 32U & 0xffffU));
    }
  }
  return groups.size() == 1 ? *groups.begin() : 0;
}

void standin_add_pool(const char* label, const char* uuid) {
  standin::Data::get().add_pool(label, uuid);
}
