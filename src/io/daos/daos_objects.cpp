// See daos_objects.h.
#include "io/daos/daos_objects.h"

#include <fmt/format.h>

#include <array>

#include "io/daos/daos_errors.h"
#include "io/daos/daos_transfer.h"

namespace colonnade::io::daos {
namespace {

// What the store itself keeps lies beside the caller's objects, in objects of other types: the type is part
// of their id, too. Records and guards are of one type, and the versions of an object's values are in the
// object of another type that has its number.
constexpr int type_of_records = type_number_akeys;
constexpr int type_of_versions = type_hashed_keys;
constexpr Oid records_oid{0, 0};
constexpr std::uint64_t guards_group = 1;
constexpr std::uint64_t class_key = 0;  // attribute key; the distribution key is the group

Oid oid_of(const ObjectId& id) {
  return {id.number, id.group};
}

}  // namespace

Objects::Objects(std::shared_ptr<Session> session, const std::string& object_class)
    : session_(std::move(session)), class_name_(object_class) {
  if (object_class.empty()) return;
  const int id = session_->api().oclass_name2id(object_class.c_str());
  if (id <= 0)
    throw Error(ErrorKind::usage, fmt::format("DAOS knows no object class \"{}\"", object_class),
                "a class such as SX, S1 or RP_2GX; without one the pool's default is used",
                {.uri = session_->uri()});
  class_ = static_cast<std::uint32_t>(id);
}

void Objects::check_writable() const {
  if (session_->read_only())
    throw Error(ErrorKind::io, "the DAOS container can only be read: writing is not permitted (DER_NO_PERM)",
                "have yourself given write access to the pool and the container (daos container set-owner or "
                "update-acl)",
                {.uri = session_->uri()});
}

std::shared_ptr<const Object> Objects::kept(const ObjectId& id) {
  const std::lock_guard lock(mutex_);
  const auto found = by_id_.find(id);
  if (found == by_id_.end()) return nullptr;
  kept_.splice(kept_.begin(), kept_, found->second);
  return kept_.front().second;
}

void Objects::keep(const ObjectId& id, const std::shared_ptr<const Object>& object) {
  std::shared_ptr<const Object> dropped;  // closed after the mutex
  const std::lock_guard lock(mutex_);
  if (by_id_.contains(id)) return;
  kept_.emplace_front(id, object);
  by_id_.emplace(id, kept_.begin());
  if (kept_.size() <= most_open) return;
  dropped = std::move(kept_.back().second);
  by_id_.erase(kept_.back().first);
  kept_.pop_back();
}

std::shared_ptr<const Object> Objects::open(Oid oid, int type, std::uint32_t object_class,
                                            const std::string& what) {
  session_->check_process();
  const int refused =
      session_->api().obj_generate_oid(session_->container(), &oid, type, object_class, default_hints, 0);
  if (refused != 0) {
    const Error error = call_error(
        session_->uri(), fmt::format("make the DAOS id of {} with object class {:#x}", what, object_class),
        refused);
    throw Error(error.kind(), error.problem(),
                "choose an object class that the pool can serve, or none for its default", error.context());
  }
  auto handle = std::make_shared<Handle>();
  const unsigned mode = session_->read_only() ? object_read_only : object_read_write;
  const std::string action = fmt::format("open {}", what);
  const int code = session_->call(
      action, [handle, oid, mode, container = session_->container()](const Api& api, Event* event) {
        return api.obj_open(container, oid, mode, handle.get(), event);
      });
  if (code != 0) throw call_error(session_->uri(), action, code);
  return std::make_shared<const Object>(session_, *handle);
}

std::shared_ptr<const Object> Objects::records() {
  {
    const std::lock_guard lock(mutex_);
    if (records_) return records_;
  }
  auto opened = open(records_oid, type_of_records, class_of_pool, "the records of object classes");
  const std::lock_guard lock(mutex_);
  if (!records_) records_ = opened;
  return opened;
}

std::optional<std::uint32_t> Objects::recorded_class(std::uint32_t group) {
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = classes_.find(group); found != classes_.end()) return found->second;
  }
  std::array<std::byte, 4> bytes{};
  const std::array items{FetchItem{class_key, 0, bytes}};
  const auto done = session_->run(std::make_unique<Fetch>(records(), ObjectId{}, group, items),
                                  fmt::format("read the object class of group {}", group));
  const std::optional<Bytes> value = static_cast<const Fetch&>(*done).whole();
  if (!value) return std::nullopt;
  if (value->size() != bytes.size())
    throw Error(ErrorKind::format,
                fmt::format("the record of the object class of group {} has {} bytes instead of {}", group,
                            value->size(), bytes.size()),
                "the container may have been written by something else", {.uri = session_->uri()});
  const auto object_class = load_le<std::uint32_t>(value->data());
  const std::lock_guard lock(mutex_);
  classes_.emplace(group, object_class);
  return object_class;
}

std::optional<std::uint32_t> Objects::class_of(std::uint32_t group) {
  return group == 0 ? std::optional<std::uint32_t>(class_of_pool) : recorded_class(group);
}

std::uint32_t Objects::class_to_write(std::uint32_t group) {
  if (const std::optional<std::uint32_t> recorded = class_of(group)) return *recorded;
  std::array<std::byte, 4> bytes{};
  store_le(bytes.data(), class_);
  const std::array items{UpdateItem{class_key, {ByteSpan(bytes)}}};
  const auto done =
      session_->run(std::make_unique<Update>(records(), ObjectId{}, group, items, if_akey_absent),
                    fmt::format("record the object class of group {}", group));
  static_cast<const Update&>(*done).check();
  // Ours, or that of who was faster.
  const std::optional<std::uint32_t> recorded = recorded_class(group);
  if (!recorded)
    throw Error(ErrorKind::io, fmt::format("the record of the object class of group {} is gone", group),
                "check that nothing else changes this container", {.uri = session_->uri()});
  return *recorded;
}

std::shared_ptr<const Object> Objects::to_read(const ObjectId& id) {
  if (auto object = kept(id)) return object;
  const std::optional<std::uint32_t> object_class = class_of(id.group);
  if (!object_class) return nullptr;
  auto object = open(oid_of(id), type_number_keys, *object_class, to_text(id));
  keep(id, object);
  return object;
}

std::shared_ptr<const Object> Objects::to_write(const ObjectId& id) {
  check_writable();
  if (auto object = kept(id)) return object;
  auto object = open(oid_of(id), type_number_keys, class_to_write(id.group), to_text(id));
  keep(id, object);
  return object;
}

std::shared_ptr<const Object> Objects::to_remove(const ObjectId& id) {
  check_writable();
  if (auto object = kept(id)) return object;
  const std::optional<std::uint32_t> object_class = class_of(id.group);
  if (!object_class) return nullptr;
  return open(oid_of(id), type_number_keys, *object_class, to_text(id));
}

std::shared_ptr<const Object> Objects::guard(std::uint64_t hash) {
  check_writable();
  return open({hash, guards_group}, type_of_records, class_of_pool, "a guard");
}

std::shared_ptr<const Object> Objects::versions(const ObjectId& id) {
  return open(oid_of(id), type_of_versions, class_of_pool, fmt::format("the versions of {}", to_text(id)));
}

}  // namespace colonnade::io::daos
