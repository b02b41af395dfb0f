// See daos_list.h.
#include "io/daos/daos_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "io/daos/daos_errors.h"

namespace colonnade::io::daos {
namespace {

constexpr std::uint32_t keys_per_call = 512;
// The maximum number of consecutive calls without results before the end: one per part of an object, and no
// object has that many parts.
constexpr unsigned most_empty_calls = 100'000;

// The memory that libdaos uses during a call.
struct KeyListBuffer {
  std::shared_ptr<const Object> object;
  std::optional<std::uint64_t> dkey;
  Iov dkey_iov;
  std::uint32_t count = keys_per_call;
  std::array<KeyDescriptor, keys_per_call> keys{};
  std::array<std::byte, keys_per_call * sizeof(std::uint64_t)> bytes{};
  Iov iov;
  SgList list;
  Anchor anchor;

  int launch(const Api& api, Event* event) {
    iov = {bytes.data(), bytes.size(), bytes.size()};
    list = {1, 0, &iov};
    if (!dkey)
      return api.obj_list_dkey(object->handle(), no_transaction, &count, keys.data(), &list, &anchor, event);
    dkey_iov = {&*dkey, sizeof *dkey, sizeof *dkey};
    return api.obj_list_akey(object->handle(), no_transaction, &dkey_iov, &count, keys.data(), &list, &anchor,
                             event);
  }
};

void take_keys(const Session& session, const KeyListBuffer& buffer, const std::string& action,
               std::vector<std::uint64_t>& keys) {
  std::size_t position = 0;
  for (std::uint32_t i = 0; i < buffer.count; ++i) {
    const std::uint64_t length = i < buffer.keys.size() ? buffer.keys[i].length : 0;
    if (length != sizeof(std::uint64_t) || position + length > buffer.bytes.size())
      throw Error(ErrorKind::format,
                  fmt::format("cannot {}: key {} of {} has {} bytes instead of {}", action, i, buffer.count,
                              length, sizeof(std::uint64_t)),
                  "check that this container was written by Colonnade", {.uri = session.uri()});
    keys.push_back(load_le<std::uint64_t>(buffer.bytes.data() + position));
    position += sizeof(std::uint64_t);
  }
}

}  // namespace

std::vector<std::uint64_t> list_keys(Session& session, const std::shared_ptr<const Object>& object,
                                     const ObjectId& id, std::optional<std::uint64_t> dkey) {
  const std::string action = dkey ? fmt::format("list {}, distribution key {}", to_text(id), *dkey)
                                  : fmt::format("list {}", to_text(id));
  std::vector<std::uint64_t> keys;
  Anchor anchor;
  unsigned empty_calls = 0;
  while (!at_end(anchor)) {
    auto buffer = std::make_shared<KeyListBuffer>();
    buffer->object = object;
    buffer->dkey = dkey;
    buffer->anchor = anchor;
    const int code =
        session.call(action, [buffer](const Api& api, Event* event) { return buffer->launch(api, event); });
    if (code == -der_nonexist) break;
    if (code != 0) throw call_error(session.uri(), action, code);
    const bool stands = std::memcmp(&anchor, &buffer->anchor, sizeof anchor) == 0;
    if (buffer->count == 0 && stands) break;
    empty_calls = buffer->count == 0 ? empty_calls + 1 : 0;
    if (stands || empty_calls > most_empty_calls)
      throw Error(ErrorKind::io, fmt::format("cannot {}: the listing does not end", action),
                  "try again; the log of libdaos (D_LOG_FILE) may say more", {.uri = session.uri()});
    take_keys(session, *buffer, action, keys);
    anchor = buffer->anchor;
  }
  std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  return keys;
}

}  // namespace colonnade::io::daos
