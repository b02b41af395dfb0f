// See arrays.h.
#include "frame/results/arrays.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "base/huge_pages.h"
#include "colonnade/error.h"

namespace colonnade::frame {
namespace {

// Kernels may load whole vectors beyond the end.
constexpr std::size_t slack = 64;
constexpr std::size_t smallest = 256;
// From this size on, blocks are mappings of their own. malloc() learns to take blocks of up to 32 MiB from
// its heap, and copies those when they grow. A mapping that begins with less than a huge page would keep its
// small pages, at a page fault each, however much it grows.
constexpr std::size_t mapped_from = huge_page_size / 2;
// Of one array, ahead of the elements that are there.
constexpr std::size_t most_reserved = std::size_t{32} << 20;

bool is_mapped(std::size_t bytes) {
  return bytes >= mapped_from;
}

// A capacity with which a mapped block has whole huge pages: then the kernel places it, and moves it, at
// their borders.
std::size_t in_whole_huge_pages(std::size_t capacity) {
  if (!is_mapped(capacity + slack)) return capacity;
  return (capacity + slack + huge_page_size - 1) / huge_page_size * huge_page_size - slack;
}

void release(void* block, std::size_t bytes) noexcept {
  if (is_mapped(bytes))
    ::munmap(block, bytes);
  else
    std::free(block);
}

void* mapped(std::size_t bytes) noexcept {
  void* const block = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (block == MAP_FAILED) return nullptr;
  prefer_huge_pages(block, bytes);
  return block;
}

// The block, if any, with another size; null, and nothing has changed, if there is no memory.
void* resized(void* block, std::size_t from, std::size_t to) noexcept {
  if (!is_mapped(from) && !is_mapped(to)) return std::realloc(block, to);
  if (is_mapped(from) && is_mapped(to)) {
    void* const same = ::mremap(block, from, to, MREMAP_MAYMOVE);
    return same == MAP_FAILED ? nullptr : same;
  }
  void* const other = is_mapped(to) ? mapped(to) : std::malloc(to);
  if (other == nullptr || block == nullptr) return other;
  std::memcpy(other, block, std::min(from, to));
  release(block, from);
  return other;
}

}  // namespace

GrowingBytes::~GrowingBytes() {
  if (data_ != nullptr) release(data_, capacity_ + slack);
}

GrowingBytes::GrowingBytes(GrowingBytes&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      capacity_(std::exchange(other.capacity_, 0)) {}

GrowingBytes& GrowingBytes::operator=(GrowingBytes&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(capacity_, other.capacity_);
  return *this;
}

std::byte* GrowingBytes::grow(std::size_t bytes) {
  constexpr std::size_t most = std::size_t{1} << 46;
  if (capacity_ - size_ < bytes || data_ == nullptr) {
    const std::size_t wanted = bytes < most ? std::max(size_ + bytes, smallest) : most;
    const std::size_t next = in_whole_huge_pages(std::max(wanted, size_ + size_ / 2));
    void* larger = wanted < most ? resized(data_, capacity_ + slack, next + slack) : nullptr;
    if (larger == nullptr)
      throw Error(ErrorKind::resource, fmt::format("no memory for {} bytes of a result", wanted),
                  "take fewer rows, or write them to a file with snapshot");
    data_ = static_cast<std::byte*>(larger);
    capacity_ = next;
  }
  std::byte* end = data_ + size_;
  size_ += bytes;
  return end;
}

void GrowingBytes::reserve(std::size_t bytes) noexcept {
  if (bytes <= capacity_ || data_ == nullptr) return;
  const std::size_t next = in_whole_huge_pages(std::min(bytes, size_ + most_reserved));
  if (next <= capacity_) return;
  if (void* larger = resized(data_, capacity_ + slack, next + slack)) {
    data_ = static_cast<std::byte*>(larger);
    capacity_ = next;
  }
}

void GrowingBytes::shrink() {
  if (capacity_ - size_ < size_ / 16 + smallest) return;
  if (void* smaller = resized(data_, capacity_ + slack, size_ + slack)) {
    data_ = static_cast<std::byte*>(smaller);
    capacity_ = size_;
  }
}

// ---- ArrayBuilder

namespace {

bool has_offsets(const ValueType& type) {
  return type.is_list() || type.is_string();
}

void put_zero_offset(GrowingBytes& data) {
  const std::int64_t zero = 0;
  std::memcpy(data.grow(sizeof zero), &zero, sizeof zero);
}

}  // namespace

ArrayBuilder::ArrayBuilder(const ValueType& type) : type_(type) {
  if (has_offsets(type)) {
    put_zero_offset(data_);
    children_.emplace_back(type.item());
  } else if (type.is_record()) {
    for (const auto& [name, member] : type.members()) children_.emplace_back(member);
  }
}

void ArrayBuilder::append(const Values& values, std::size_t first, std::size_t count) {
  if (count == 0) return;
  if (values.type.is_record()) {
    for (std::size_t i = 0; i < children_.size(); ++i) {
      const Values& member = *values.children[i];
      if (values.constant && !member.constant) {
        for (std::size_t k = 0; k < count; ++k) children_[i].append(member, 0, 1);
      } else {
        children_[i].append(member, first, count);
      }
    }
    size_ += count;
  } else if (has_offsets(values.type)) {
    append_offsets(values, first, count);
  } else {
    const std::size_t width = size_of(type_.element());
    const auto* from = static_cast<const std::byte*>(values.data);
    std::byte* to = data_.grow(count * width);
    if (!values.constant) {
      std::memcpy(to, from + first * width, count * width);
    } else {
      for (std::size_t i = 0; i < count; ++i) std::memcpy(to + i * width, from, width);
    }
    size_ += count;
  }
}

void ArrayBuilder::append_offsets(const Values& values, std::size_t first, std::size_t count) {
  if (values.constant) {
    const auto length = static_cast<std::size_t>(values.offsets[1] - values.offsets[0]);
    for (std::size_t i = 0; i < count; ++i) {
      children_.front().append(values.items(), static_cast<std::size_t>(values.offsets[0]), length);
      const auto end = static_cast<std::int64_t>(children_.front().size());
      std::memcpy(data_.grow(sizeof end), &end, sizeof end);
    }
  } else {
    const std::int64_t begin = values.offsets[first];
    const std::int64_t base = static_cast<std::int64_t>(children_.front().size()) - begin;
    std::byte* to = data_.grow(count * sizeof(std::int64_t));
    for (std::size_t i = 0; i < count; ++i) {
      const std::int64_t end = values.offsets[first + i + 1] + base;
      std::memcpy(to + i * sizeof end, &end, sizeof end);
    }
    children_.front().append(values.items(), static_cast<std::size_t>(begin),
                             static_cast<std::size_t>(values.offsets[first + count] - begin));
  }
  size_ += count;
}

void ArrayBuilder::clear() noexcept {
  size_ = 0;
  data_.clear();
  if (has_offsets(type_)) data_.grow(sizeof(std::int64_t));  // the initial zero is still there
  for (ArrayBuilder& child : children_) child.clear();
}

void ArrayBuilder::reserve(double times) noexcept {
  data_.reserve(static_cast<std::size_t>(static_cast<double>(data_.size()) * times));
  for (ArrayBuilder& child : children_) child.reserve(times);
}

void ArrayBuilder::shrink() {
  data_.shrink();
  for (ArrayBuilder& child : children_) child.shrink();
}

std::size_t ArrayBuilder::bytes() const noexcept {
  std::size_t sum = data_.capacity();
  for (const ArrayBuilder& child : children_) sum += child.bytes();
  return sum;
}

ValuesPtr ArrayBuilder::values(const std::shared_ptr<const void>& owner) const {
  std::vector<ValuesPtr> children;
  children.reserve(children_.size());
  for (const ArrayBuilder& child : children_) children.push_back(child.values(owner));
  if (type_.is_record()) return make_record(type_, size_, std::move(children));
  if (!has_offsets(type_)) return make_scalars(type_.element(), size_, data_.data(), owner);
  const auto* offsets = static_cast<const std::int64_t*>(static_cast<const void*>(data_.data()));
  if (type_.is_string()) return make_string(size_, offsets, std::move(children.front()), owner);
  return as_type(make_list(size_, offsets, std::move(children.front()), owner), type_);
}

void ArrayBuilder::save(SavedWriter& to) const {
  to.number<std::uint64_t>(size_);
  to.array(std::span<const std::byte>(data_.data(), data_.size()));
  for (const ArrayBuilder& child : children_) child.save(to);
}

void ArrayBuilder::append_saved(SavedReader& from) {
  const auto count = static_cast<std::size_t>(from.number<std::uint64_t>());
  const std::vector<std::byte> bytes = from.array<std::byte>();
  if (type_.is_record()) {
    if (!bytes.empty()) SavedReader::fail("an array for a record");
    for (ArrayBuilder& child : children_) {
      child.append_saved(from);
      if (child.size() != size_ + count) SavedReader::fail("a member of another length");
    }
  } else if (has_offsets(type_)) {
    if (count >= std::size_t{1} << 60 || bytes.size() != (count + 1) * sizeof(std::int64_t))
      SavedReader::fail("offsets of another length");
    std::vector<std::int64_t> offsets(count + 1);
    std::memcpy(offsets.data(), bytes.data(), bytes.size());
    const bool ordered = offsets.front() == 0 && std::is_sorted(offsets.begin(), offsets.end());
    ArrayBuilder& child = children_.front();
    const std::size_t before = child.size();
    child.append_saved(from);
    if (!ordered || child.size() - before != static_cast<std::size_t>(offsets.back()))
      SavedReader::fail("offsets that do not fit their items");
    for (std::int64_t& offset : offsets) offset += static_cast<std::int64_t>(before);
    if (count != 0)
      std::memcpy(data_.grow(count * sizeof(std::int64_t)), &offsets[1], count * sizeof(std::int64_t));
  } else {
    const std::size_t width = size_of(type_.element());
    if (bytes.size() % width != 0 || bytes.size() / width != count)
      SavedReader::fail("an array of another length");
    if (count != 0) std::memcpy(data_.grow(bytes.size()), bytes.data(), bytes.size());
  }
  size_ += count;
}

// ---- ColumnsBuilder

ColumnsBuilder::ColumnsBuilder(std::span<const ValueType> types) {
  columns_.reserve(types.size());
  for (const ValueType& type : types) columns_.emplace_back(type);
}

void ColumnsBuilder::append(std::span<const ValuesPtr> values, std::size_t count) {
  for (std::size_t i = 0; i < columns_.size(); ++i) columns_[i].append(*values[i], 0, count);
  rows_ += count;
}

void ColumnsBuilder::append(const ColumnsBuilder& other) {
  const auto unowned = std::shared_ptr<const void>();
  append(other.values(unowned), other.rows_);
}

void ColumnsBuilder::clear() noexcept {
  for (ArrayBuilder& column : columns_) column.clear();
  rows_ = 0;
}

std::size_t ColumnsBuilder::bytes() const noexcept {
  std::size_t sum = 0;
  for (const ArrayBuilder& column : columns_) sum += column.bytes();
  return sum;
}

void ColumnsBuilder::reserve(double times) noexcept {
  for (ArrayBuilder& column : columns_) column.reserve(times);
}

void ColumnsBuilder::shrink() {
  for (ArrayBuilder& column : columns_) column.shrink();
}

std::vector<ValuesPtr> ColumnsBuilder::values(const std::shared_ptr<const void>& owner) const {
  std::vector<ValuesPtr> values;
  values.reserve(columns_.size());
  for (const ArrayBuilder& column : columns_) values.push_back(column.values(owner));
  return values;
}

void ColumnsBuilder::save(SavedWriter& to) const {
  to.number<std::uint64_t>(rows_);
  for (const ArrayBuilder& column : columns_) column.save(to);
}

void ColumnsBuilder::append_saved(SavedReader& from) {
  const auto count = from.number<std::uint64_t>();
  for (ArrayBuilder& column : columns_) {
    column.append_saved(from);
    if (column.size() != rows_ + count) SavedReader::fail("columns of different lengths");
  }
  rows_ += static_cast<std::size_t>(count);
}

std::shared_ptr<ColumnsBuilder> ColumnsBuilder::copy_of(const ColumnsBuilder& other,
                                                        std::span<const ValueType> types) {
  auto copy = std::make_shared<ColumnsBuilder>(types);
  copy->append(other);
  return copy;
}

// ---- SpareBuilders

ColumnsBuilder SpareBuilders::take(std::span<const ValueType> types) {
  const std::lock_guard lock(mutex_);
  if (kept_.empty()) return ColumnsBuilder(types);
  ColumnsBuilder last = std::move(kept_.back());
  kept_.pop_back();
  bytes_ -= last.bytes();
  return last;
}

void SpareBuilders::give_back(ColumnsBuilder builder) {
  constexpr std::size_t most = std::size_t{32} << 20;
  builder.clear();
  const std::lock_guard lock(mutex_);
  const std::size_t bytes = builder.bytes();
  if (bytes > most - bytes_) return;
  kept_.push_back(std::move(builder));
  bytes_ += bytes;
}

void SpareBuilders::clear() noexcept {
  const std::lock_guard lock(mutex_);
  kept_.clear();
  bytes_ = 0;
}

}  // namespace colonnade::frame
