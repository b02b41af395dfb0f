// See daos_objects.h.
#include "io/daos/daos_objects.h"

#include <fmt/format.h>

#include <array>

#include "io/daos/daos_errors.h"
#include "io/daos/daos_transfer.h"

namespace colonnade::io::daos {
namespace {

// The store's own records are objects of other types, beside the caller's: the type is part of their id. The
// versions of an object's values are in the object with the same number and another type.
constexpr int type_of_records = type_number_akeys;
constexpr int type_of_versions = type_hashed_keys;
constexpr Oid records_oid{0, 0};
constexpr std::uint64_t record_key = 0;  // attribute key; the distribution key is the group
constexpr std::size_t record_size = 8;
constexpr std::size_t class_record_size = 4;  // of containers before 0.1: the class alone

std::uint32_t groups_of(const Oid& id) {
  return static_cast<std::uint32_t>(id.hi >> 32) & 0xffffU;
}

std::uint32_t redundancy_of(const Oid& id) {
  return static_cast<std::uint32_t>(id.hi >> 48) & 0xffU;
}

}  // namespace

Objects::Objects(std::shared_ptr<Session> session, const std::string& object_class)
    : session_(std::move(session)) {
  if (object_class.empty()) return;
  const int id = session_->api().oclass_name2id(object_class.c_str());
  if (id <= 0)
    throw Error(ErrorKind::usage, fmt::format("DAOS knows no object class \"{}\"", object_class),
                "a class such as SX, S1 or RP_2GX; without one the container's redundancy is used",
                {.uri = session_->uri()});
  class_ = static_cast<std::uint32_t>(id);
  Oid tried;
  const int refused = session_->api().obj_generate_oid(session_->container(), &tried, type_number_keys,
                                                       class_, hint_one_group, 0);
  if (refused != 0)
    throw Error(
        ErrorKind::usage,
        fmt::format("the DAOS pool cannot serve the object class {} ({})", object_class, code_text(refused)),
        "choose a class that needs no more engines and targets than are up (dmg pool query), or none",
        {.uri = session_->uri()});
}

void Objects::check_writable() const {
  if (session_->read_only())
    throw Error(ErrorKind::io, "the DAOS container can only be read: writing is not permitted (DER_NO_PERM)",
                "ask for write access to the pool and the container (daos container set-owner or "
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
  std::shared_ptr<const Object> dropped;  // closed outside of the mutex
  const std::lock_guard lock(mutex_);
  if (by_id_.contains(id)) return;
  kept_.emplace_front(id, object);
  by_id_.emplace(id, kept_.begin());
  if (kept_.size() <= most_open) return;
  dropped = std::move(kept_.back().second);
  by_id_.erase(kept_.back().first);
  kept_.pop_back();
}

std::shared_ptr<const Object> Objects::open(Oid oid, const std::string& what) {
  session_->check_process();
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

Oid Objects::new_id(Oid id, int type, std::uint32_t object_class, std::uint32_t hints) const {
  session_->check_process();
  const int refused =
      session_->api().obj_generate_oid(session_->container(), &id, type, object_class, hints, 0);
  if (refused == 0) return id;
  const std::string what = object_class == class_by_hints
                               ? "with the container's redundancy"
                               : fmt::format("of object class {:#x}", object_class);
  const Error error = call_error(session_->uri(), fmt::format("make a DAOS object id {}", what), refused);
  throw Error(error.kind(), error.problem(),
              "check that the pool has the engines and targets for it (dmg pool query)", error.context());
}

std::shared_ptr<const Object> Objects::open_by_rule(Oid oid, int type, const std::string& what) {
  return open(new_id(oid, type, class_by_hints, hint_one_group), what);
}

std::shared_ptr<const Object> Objects::records() {
  {
    const std::lock_guard lock(mutex_);
    if (records_) return records_;
  }
  auto opened = open_by_rule(records_oid, type_of_records, "the records of object ids");
  const std::lock_guard lock(mutex_);
  if (!records_) records_ = opened;
  return opened;
}

// An object over thousands of targets is slow to open and to remove, and there are fewer columns than that.
std::uint64_t Objects::new_high_word(std::uint32_t group) const {
  const Oid user{0, group};
  if (class_ != class_by_hints) return new_id(user, type_number_keys, class_, hint_one_group).hi;
  const Oid widest = new_id(user, type_number_keys, class_by_hints, hint_all_groups);
  if (groups_of(widest) <= most_groups) return widest.hi;
  return new_id(user, type_number_keys, redundancy_of(widest) << 24 | most_groups, hint_one_group).hi;
}

std::uint64_t Objects::parse_record(std::uint32_t group, ByteSpan record) const {
  if (record.size() == class_record_size)
    return new_id({0, group}, type_number_keys, load_le<std::uint32_t>(record.data()), hint_one_group).hi;
  const std::uint64_t word = record.size() == record_size ? load_le<std::uint64_t>(record.data()) : 0;
  if (static_cast<std::uint32_t>(word) != group || word >> 32 == 0)
    throw Error(ErrorKind::format,
                fmt::format("the record of the object ids of group {} is damaged: {} bytes, high word {:#x}",
                            group, record.size(), word),
                "check that nothing else writes to this container", {.uri = session_->uri()});
  return word;
}

std::optional<std::uint64_t> Objects::high_word(std::uint32_t group) {
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = high_words_.find(group); found != high_words_.end()) return found->second;
  }
  std::optional<std::uint64_t> word;
  if (group == 0) {
    word = new_id({0, 0}, type_number_keys, class_by_hints, hint_one_group).hi;
  } else {
    std::array<std::byte, record_size> bytes{};
    const std::array items{FetchItem{record_key, 0, bytes}};
    const auto done = session_->run(std::make_unique<Fetch>(records(), ObjectId{}, group, items),
                                    fmt::format("read the record of the object ids of group {}", group));
    const std::optional<Bytes> record = static_cast<const Fetch&>(*done).whole();
    if (!record) return std::nullopt;
    word = parse_record(group, *record);
  }
  const std::lock_guard lock(mutex_);
  high_words_.emplace(group, *word);
  return word;
}

std::uint64_t Objects::high_word_to_write(std::uint32_t group) {
  if (const std::optional<std::uint64_t> recorded = high_word(group)) return *recorded;
  std::array<std::byte, record_size> bytes{};
  store_le(bytes.data(), new_high_word(group));
  const std::array items{UpdateItem{record_key, {ByteSpan(bytes)}}};
  const auto done =
      session_->run(std::make_unique<Update>(records(), ObjectId{}, group, items, if_akey_absent),
                    fmt::format("record the object ids of group {}", group));
  static_cast<const Update&>(*done).check();
  // Ours, or that of a faster process.
  const std::optional<std::uint64_t> recorded = high_word(group);
  if (!recorded)
    throw Error(ErrorKind::io, fmt::format("the record of the object ids of group {} is gone", group),
                "check that nothing else changes this container", {.uri = session_->uri()});
  return *recorded;
}

std::shared_ptr<const Object> Objects::to_read(const ObjectId& id) {
  if (auto object = kept(id)) return object;
  const std::optional<std::uint64_t> word = high_word(id.group);
  if (!word) return nullptr;
  auto object = open({id.number, *word}, to_text(id));
  keep(id, object);
  return object;
}

std::shared_ptr<const Object> Objects::to_write(const ObjectId& id) {
  check_writable();
  if (auto object = kept(id)) return object;
  auto object = open({id.number, high_word_to_write(id.group)}, to_text(id));
  keep(id, object);
  return object;
}

std::shared_ptr<const Object> Objects::to_remove(const ObjectId& id) {
  check_writable();
  if (auto object = kept(id)) return object;
  const std::optional<std::uint64_t> word = high_word(id.group);
  return word ? open({id.number, *word}, to_text(id)) : nullptr;
}

std::shared_ptr<const Object> Objects::versions(const ObjectId& id) {
  return open_by_rule({id.number, id.group}, type_of_versions,
                      fmt::format("the versions of {}", to_text(id)));
}

}  // namespace colonnade::io::daos
