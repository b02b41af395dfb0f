// See daos_transfer.h.
#include "io/daos/daos_transfer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <utility>

#include "io/daos/daos_errors.h"
#include "io/object_checks.h"

namespace colonnade::io::daos {
namespace {

// Random bytes, fixed forever. Storing exactly this value is refused, as it is reserved.
constexpr std::array<unsigned char, empty_mark_size> empty_mark = {
    0x9d, 0x3e, 0x71, 0xc4, 0x08, 0xb6, 0x5f, 0xea, 0x42, 0x17, 0xd9, 0x8c, 0x63, 0xf0, 0x2b, 0xa5};

constexpr unsigned most_rounds = 12;  // for a value that grows with every read

// A fetch to the end of a value does not know its size in advance.
constexpr std::size_t usual_value = (std::size_t{1} << 20) + (std::size_t{64} << 10);

constexpr std::size_t aligned(std::size_t size) {
  return (size + 63) / 64 * 64;
}

}  // namespace

bool is_empty_mark(ByteSpan stored) noexcept {
  return stored.size() == empty_mark.size() &&
         std::memcmp(stored.data(), empty_mark.data(), empty_mark.size()) == 0;
}

// Groups values in their order.
void Transfer::split_into_calls() {
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < values_.size(); ++i) {
    const std::size_t size = values_[i].capacity;
    const bool full =
        !all_.empty() && (all_.back().count == most_keys_per_call || bytes + size > most_bytes_per_call);
    if (all_.empty() || full) {
      all_.push_back({.first = i});
      bytes = 0;
    }
    ++all_.back().count;
    bytes += size;
  }
  pending_.resize(all_.size());
  for (std::size_t i = 0; i < all_.size(); ++i) pending_[i] = i;
  iods_.resize(values_.size());
  iovs_.resize(values_.size());
  lists_.resize(values_.size());
  dkey_iov_ = {&dkey_, sizeof dkey_, sizeof dkey_};
}

void Transfer::take_buffer(Call& call) {
  std::size_t bytes = 0;
  for (std::size_t i = call.first; i < call.first + call.count; ++i) {
    values_[i].offset = bytes;
    bytes += aligned(values_[i].capacity);
  }
  if (call.buffer.size() < bytes) {
    call.buffer = {};
    call.buffer = object_->session().buffers().take(bytes);
  }
}

void Transfer::prepare(Call& call) {
  for (std::size_t i = call.first; i < call.first + call.count; ++i) {
    Value& value = values_[i];
    iods_[i] = {};
    iods_[i].name = {&value.akey, sizeof value.akey, sizeof value.akey};
    iods_[i].type = single_value;
    iods_[i].count = 1;
    if (call.buffer.data() == nullptr) continue;
    iovs_[i] = {data_of(call, value), value.capacity, value.capacity};
    lists_[i] = {1, 0, &iovs_[i]};
  }
}

const Transfer::Call& Transfer::call_of(std::size_t value) const {
  const auto after = std::upper_bound(all_.begin(), all_.end(), value,
                                      [](std::size_t index, const Call& call) { return index < call.first; });
  return *(after - 1);
}

bool Transfer::is_conflict(int result) {
  object_->session().note(result);
  if (!transaction_ || result != -der_tx_restart) return false;
  conflict_ = true;
  return true;
}

Update::Update(std::shared_ptr<const Object> object, const ObjectId& id, std::uint64_t dkey,
               std::span<const UpdateItem> items, std::uint64_t flags, InTransaction transaction)
    : Transfer(std::move(object), id, dkey, std::move(transaction)), flags_(flags) {
  values_.reserve(items.size());
  for (const UpdateItem& item : items) {
    const std::uint64_t size = size_of(item);
    values_.push_back({.akey = item.akey,
                       .size = size,
                       .capacity = size == 0 ? empty_mark_size : static_cast<std::size_t>(size)});
  }
  split_into_calls();
  for (Call& call : all_) {
    take_buffer(call);
    prepare(call);
    for (std::size_t i = call.first; i < call.first + call.count; ++i) {
      std::byte* into = data_of(call, values_[i]);
      iods_[i].size = values_[i].capacity;
      if (values_[i].size == 0) {
        std::memcpy(into, empty_mark.data(), empty_mark.size());
        continue;
      }
      for (ByteSpan part : items[i].parts) {
        if (part.empty()) continue;
        std::memcpy(into, part.data(), part.size());
        into += part.size();
      }
      if (is_empty_mark({data_of(call, values_[i]), values_[i].capacity}))
        throw Error(ErrorKind::usage,
                    fmt::format("{}: these 16 bytes are reserved, they stand for a value of no bytes",
                                to_text(address_of(values_[i]))),
                    "store the value in another form", {.uri = uri()});
    }
  }
}

int Update::launch(const Api& api, std::size_t call, Event* event) noexcept {
  const Call& what = all_[pending_[call]];
  return api.obj_update(object_->handle(), transaction(), flags_, &dkey_iov_,
                        static_cast<unsigned>(what.count), &iods_[what.first], &lists_[what.first], event);
}

bool Update::finish(std::span<const int> results) {
  for (std::size_t i = 0; i < results.size() && !failure_; ++i) {
    if (results[i] == 0 || is_conflict(results[i])) continue;
    if (results[i] == -der_exist && flags_ != 0) {
      refused_ = true;
      continue;
    }
    const Call& call = all_[pending_[i]];
    const std::string what = call.count == 1 ? to_text(address_of(values_[call.first]))
                                             : fmt::format("{} values from {} on", call.count,
                                                           to_text(address_of(values_[call.first])));
    failure_ = std::make_exception_ptr(call_error(uri(), fmt::format("write {}", what), results[i]));
  }
  return false;
}

Removal::Removal(std::shared_ptr<const Object> object, const ObjectId& id, std::uint64_t dkey,
                 std::uint64_t akey)
    : Transfer(std::move(object), id, dkey) {
  values_.push_back({.akey = akey});
  split_into_calls();
  prepare(all_[0]);  // prints a size of 0
}

int Removal::launch(const Api& api, std::size_t, Event* event) noexcept {
  return api.obj_update(object_->handle(), no_transaction, 0, &dkey_iov_, 1, iods_.data(), nullptr, event);
}

bool Removal::finish(std::span<const int> results) {
  if (results[0] != 0 && results[0] != -der_nonexist)
    failure_ = std::make_exception_ptr(
        call_error(uri(), fmt::format("remove {}", to_text(address_of(values_[0]))), results[0]));
  return false;
}

Fetch::Fetch(std::shared_ptr<const Object> object, const ObjectId& id, std::uint64_t dkey,
             std::span<const FetchItem> items, InTransaction transaction)
    : Transfer(std::move(object), id, dkey, std::move(transaction)), items_(items.begin(), items.end()) {
  std::map<std::uint64_t, std::size_t> known;
  value_of_item_.reserve(items.size());
  for (const FetchItem& item : items) {
    const auto [row, is_new] = known.emplace(item.akey, values_.size());
    if (is_new) values_.push_back({.akey = item.akey});
    value_of_item_.push_back(row->second);
    const std::uint64_t end = item.offset > largest_value
                                  ? largest_value
                                  : std::min<std::uint64_t>(item.offset + item.into.size(), largest_value);
    const std::uint64_t least = item.offset == 0 ? empty_mark_size : usual_value;
    std::size_t& capacity = values_[row->second].capacity;
    capacity = std::max<std::size_t>({capacity, end, least});
  }
  split_into_calls();
  for (Call& call : all_) take_buffer(call);
}

int Fetch::launch(const Api& api, std::size_t call, Event* event) noexcept {
  Call& what = all_[pending_[call]];
  prepare(what);
  const bool no_data = what.sizes_only || looks_for_missing_;
  return api.obj_fetch(object_->handle(), transaction(),
                       looks_for_missing_ ? 0 : if_dkey_there | if_akey_there, &dkey_iov_,
                       static_cast<unsigned>(what.count), &iods_[what.first],
                       no_data ? nullptr : &lists_[what.first], nullptr, event);
}

bool Fetch::finish(std::span<const int> results) {
  if (looks_for_missing_) return look_for_missing();
  std::vector<std::size_t> again;
  for (std::size_t i = 0; i < results.size(); ++i) {
    Call& call = all_[pending_[i]];
    const auto first = iods_.begin() + static_cast<std::ptrdiff_t>(call.first);
    const bool cut =
        results[i] == 0 && !call.sizes_only &&
        !std::equal(first, first + static_cast<std::ptrdiff_t>(call.count),
                    values_.begin() + static_cast<std::ptrdiff_t>(call.first),
                    [](const Iod& iod, const Value& value) { return iod.size <= value.capacity; });
    if (results[i] == -der_rec2big || cut || (results[i] == 0 && call.sizes_only)) {
      if (!grow(call)) return false;
      again.push_back(pending_[i]);
    } else if (results[i] != 0) {
      note_failure(call, results[i]);
    }
    for (std::size_t k = call.first; k < call.first + call.count; ++k) values_[k].size = iods_[k].size;
  }
  if (missing_ && values_.size() > 1 && !failure_) {
    looks_for_missing_ = true;  // finds out which
    pending_.resize(all_.size());
    for (std::size_t i = 0; i < all_.size(); ++i) pending_[i] = i;
    return true;
  }
  if (failure_ || missing_ || conflict_) return false;
  pending_ = std::move(again);
  return !pending_.empty();
}

// Enlarges the buffers to the sizes that the store reported.
bool Fetch::grow(Call& call) {
  bool grown = false;
  for (std::size_t i = call.first; i < call.first + call.count; ++i) {
    if (iods_[i].size > largest_value) {
      failure_ = std::make_exception_ptr(
          Error(ErrorKind::format,
                fmt::format("{}: a value of {} bytes, more than {}", to_text(address_of(values_[i])),
                            iods_[i].size, largest_value),
                "check that this value is of a data set", {.uri = uri()}));
      return false;
    }
    if (iods_[i].size <= values_[i].capacity) continue;
    values_[i].capacity = static_cast<std::size_t>(iods_[i].size);
    grown = true;
  }
  if (++rounds_ > most_rounds) {
    failure_ = std::make_exception_ptr(Error(
        ErrorKind::io,
        fmt::format("{}: its size changes whenever it is read", to_text(address_of(values_[call.first]))),
        "check that nothing else writes this data set", {.uri = uri()}));
    return false;
  }
  // The call reported that a buffer is too small, but not the required size: query the sizes.
  call.sizes_only = !grown && !call.sizes_only;
  if (!call.sizes_only) take_buffer(call);
  return true;
}

void Fetch::note_failure(const Call& call, int result) {
  if (failure_ || is_conflict(result)) return;
  if (result == -der_nonexist) {
    missing_ = true;
    return;
  }
  const std::string what = call.count == 1 ? to_text(address_of(values_[call.first]))
                                           : fmt::format("{} values from {} on", call.count,
                                                         to_text(address_of(values_[call.first])));
  failure_ = std::make_exception_ptr(call_error(uri(), fmt::format("read {}", what), result));
}

// The result of a query without conditions: missing values have no size.
bool Fetch::look_for_missing() {
  for (std::size_t i = 0; i < values_.size(); ++i) values_[i].size = iods_[i].size;
  return false;
}

ByteSpan Fetch::content(std::size_t index) const {
  const Value& value = values_[index];
  const ByteSpan stored(data_of(call_of(index), value), static_cast<std::size_t>(value.size));
  return is_empty_mark(stored) ? ByteSpan{} : stored;
}

void Fetch::copy_out() const {
  check();
  if (missing_) {
    const auto gone = std::find_if(values_.begin(), values_.end(), [this](const Value& value) {
      return looks_for_missing_ && value.size == 0;
    });
    fail_missing(uri(), address_of(gone == values_.end() ? values_.front() : *gone));
  }
  for (std::size_t i = 0; i < items_.size(); ++i) {
    const FetchItem& item = items_[i];
    const Value& value = values_[value_of_item_[i]];
    if (value.size == 0) fail_missing(uri(), address_of(value));
    const ByteSpan bytes = content(value_of_item_[i]);
    check_value_range(uri(), address_of(value), bytes.size(), item.offset, item.into.size());
    if (!item.into.empty()) std::memcpy(item.into.data(), bytes.data() + item.offset, item.into.size());
  }
}

std::optional<Bytes> Fetch::whole() const {
  check();
  if (missing_ || values_[0].size == 0) return std::nullopt;
  const ByteSpan bytes = content(0);
  return Bytes(bytes.begin(), bytes.end());
}

SizeQuery::SizeQuery(std::shared_ptr<const Object> object, const ObjectId& id, std::uint64_t dkey,
                     std::span<const std::uint64_t> akeys)
    : Transfer(std::move(object), id, dkey) {
  values_.reserve(akeys.size());
  for (std::uint64_t akey : akeys) values_.push_back({.akey = akey});
  split_into_calls();
  for (Call& call : all_) prepare(call);
}

// Without conditions: a missing key succeeds with size 0, among existing ones.
int SizeQuery::launch(const Api& api, std::size_t call, Event* event) noexcept {
  const Call& what = all_[pending_[call]];
  return api.obj_fetch(object_->handle(), no_transaction, 0, &dkey_iov_, static_cast<unsigned>(what.count),
                       &iods_[what.first], nullptr, nullptr, event);
}

bool SizeQuery::finish(std::span<const int> results) {
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (results[i] == 0 || results[i] == -der_nonexist || failure_) continue;
    const Value& first = values_[all_[pending_[i]].first];
    failure_ = std::make_exception_ptr(
        call_error(uri(), fmt::format("ask for the size of {}", to_text(address_of(first))), results[i]));
  }
  return false;
}

std::vector<std::uint64_t> SizeQuery::sizes() const {
  check();
  std::vector<std::uint64_t> sizes;
  sizes.reserve(iods_.size());
  for (const Iod& iod : iods_) sizes.push_back(iod.size);
  return sizes;
}

}  // namespace colonnade::io::daos
