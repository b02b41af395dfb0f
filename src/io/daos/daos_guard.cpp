// See daos_guard.h.
#include "io/daos/daos_guard.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <random>
#include <thread>

#include "io/daos/daos_errors.h"
#include "io/daos/daos_transfer.h"

namespace colonnade::io::daos {
namespace {

constexpr std::uint64_t token_key = 0;
constexpr std::chrono::milliseconds first_pause{1};
constexpr std::chrono::milliseconds longest_pause{100};

// Addresses that share a guard wait for each other, no more.
std::uint64_t hash_of(const ValueAddress& address) {
  std::uint64_t hash = 0;
  for (std::uint64_t part :
       {std::uint64_t{address.object.group}, address.object.number, address.dkey, address.akey}) {
    hash = (hash ^ part) * 0x9e3779b97f4a7c15U;
    hash ^= hash >> 29;
  }
  return hash;
}

Bytes new_token() {
  std::random_device random;
  Bytes token;
  for (int i = 0; i < 5; ++i) {
    const auto number = static_cast<std::uint32_t>(random());
    const auto* bytes = reinterpret_cast<const std::byte*>(&number);
    token.insert(token.end(), bytes, bytes + sizeof number);
  }
  return token;
}

}  // namespace

Guard::Guard(Session& session, Objects& objects, const ValueAddress& address)
    : session_(&session), object_(objects.guard(hash_of(address))), address_(address), token_(new_token()) {
  using Clock = std::chrono::steady_clock;
  Bytes seen;
  Clock::time_point seen_since = Clock::now();
  auto pause = first_pause;
  while (!insert()) {
    const std::optional<Bytes> other = token_there();
    if (!other) continue;  // just given up
    if (*other != seen) {
      seen = *other;
      seen_since = Clock::now();
    } else if (Clock::now() - seen_since > session_->runtime().patience()) {
      remove();
      continue;
    }
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, longest_pause);
  }
}

Guard::~Guard() {
  try {
    remove();
  } catch (const Error&) {
    // the next one removes it
  }
}

bool Guard::insert() {
  const std::array items{UpdateItem{token_key, {ByteSpan(token_)}}};
  const auto done = session_->run(std::make_unique<Update>(object_, ObjectId{}, 0, items, if_akey_absent),
                                  fmt::format("guard the change of {}", to_text(address_)));
  const auto& update = static_cast<const Update&>(*done);
  update.check();
  return !update.refused();
}

std::optional<Bytes> Guard::token_there() const {
  std::array<std::byte, 64> bytes{};
  const std::array items{FetchItem{token_key, 0, bytes}};
  const auto done = session_->run(std::make_unique<Fetch>(object_, ObjectId{}, 0, items),
                                  fmt::format("look who changes {}", to_text(address_)));
  return static_cast<const Fetch&>(*done).whole();
}

void Guard::remove() {
  const std::string action = fmt::format("end guarding {}", to_text(address_));
  const int code = session_->call(action, [object = object_](const Api& api, Event* event) {
    return api.obj_punch(object->handle(), no_transaction, 0, event);
  });
  if (code != 0 && code != -der_nonexist) throw call_error(session_->uri(), action, code);
}

}  // namespace colonnade::io::daos
