// See rados_operation.h.
#include "io/rados/rados_operation.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>

#include "io/object_checks.h"

namespace colonnade::io {
namespace {

// No value is this large: larger offsets are refused without reading.
constexpr std::uint64_t beyond = std::uint64_t{1} << 40;

}  // namespace

std::string rados_name(const ValueAddress& address) {
  return fmt::format("{:08x}.{:016x}.{:016x}.{:016x}", address.object.group, address.object.number,
                     address.dkey, address.akey);
}

std::optional<ValueAddress> parse_rados_name(std::string_view name) {
  constexpr std::array<std::size_t, 4> digits{8, 16, 16, 16};
  std::array<std::uint64_t, 4> fields{};
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > 0) {
      if (!name.starts_with('.')) return std::nullopt;
      name.remove_prefix(1);
    }
    if (name.size() < digits[i]) return std::nullopt;
    const std::string field(name.substr(0, digits[i]));
    const char* end = field.data() + field.size();
    if (std::from_chars(field.data(), end, fields[i], 16).ptr != end) return std::nullopt;
    name.remove_prefix(digits[i]);
  }
  if (!name.empty()) return std::nullopt;
  return ValueAddress{{static_cast<std::uint32_t>(fields[0]), fields[1]}, fields[2], fields[3]};
}

void RadosOperation::fetch(const ObjectId& object, std::uint64_t dkey, std::span<const FetchItem> items) {
  std::vector<const FetchItem*> sorted;
  sorted.reserve(items.size());
  for (const FetchItem& item : items) sorted.push_back(&item);
  std::sort(sorted.begin(), sorted.end(), [](const FetchItem* a, const FetchItem* b) {
    return a->akey != b->akey ? a->akey < b->akey : a < b;
  });
  try {
    for (auto first = sorted.begin(); first != sorted.end();) {
      const auto last = std::find_if(first, sorted.end(),
                                     [&](const FetchItem* item) { return item->akey != (*first)->akey; });
      fetch_value({object, dkey, (*first)->akey}, {first, last});
      first = last;
    }
  } catch (...) {
    failure_ = std::current_exception();
  }
  batch_.close();
}

void RadosOperation::fetch_value(const ValueAddress& address, std::span<const FetchItem* const> items) {
  std::vector<RadosBatch::Range> ranges;
  Value value{address, nullptr, {}};
  for (const FetchItem* item : items) {
    value.ranges.push_back({item->offset, item->into.size()});
    if (item->offset < beyond) ranges.push_back({item->offset, item->into});
  }
  values_.push_back(std::move(value));
  values_.back().operation = &batch_.read(rados_name(address), ranges);
}

void RadosOperation::update(const ObjectId& object, std::uint64_t dkey, std::span<const UpdateItem> items) {
  try {
    for (const UpdateItem& item : items) {
      const ValueAddress address{object, dkey, item.akey};
      values_.push_back({address, nullptr, {}});
      values_.back().operation = &batch_.replace(rados_name(address), item.parts);
    }
  } catch (...) {
    failure_ = std::current_exception();
  }
  batch_.close();
}

void RadosOperation::check() const {
  if (failure_ != nullptr) std::rethrow_exception(failure_);
  for (const Value& value : values_) check(value);
}

void RadosOperation::check(const Value& value) const {
  const RadosBatch::Operation& done = *value.operation;
  if (done.code == -ENOENT) fail_missing(pool_->uri(), value.address);
  if (done.code != 0)
    throw rados_error(done.code, fmt::format("{}: Ceph reports", to_text(value.address)), pool_->uri());
  for (const auto& [offset, size] : value.ranges)
    check_value_range(pool_->uri(), value.address, done.size, offset, size);
}

}  // namespace colonnade::io
