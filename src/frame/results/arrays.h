// ArrayBuilder: Values of one type that grow at the end, one contiguous array per leaf. Used by take, display
// and snapshot.
//
// One thread at a time; any thread may read the Values that it returns.
#ifndef COLONNADE_FRAME_RESULTS_ARRAYS_H
#define COLONNADE_FRAME_RESULTS_ARRAYS_H

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "colonnade/block.h"
#include "frame/results/saved.h"

namespace colonnade::frame {

// Bytes that grow at the end. Large blocks are remapped, not copied.
class GrowingBytes {
 public:
  GrowingBytes() = default;
  ~GrowingBytes();
  GrowingBytes(GrowingBytes&& other) noexcept;
  GrowingBytes& operator=(GrowingBytes&& other) noexcept;
  GrowingBytes(const GrowingBytes&) = delete;
  GrowingBytes& operator=(const GrowingBytes&) = delete;

  // Appends `bytes`. Throws ErrorKind::resource.
  std::byte* grow(std::size_t bytes);
  // Makes room for `bytes` in all, or for as many as is reasonable; if there is no memory, nothing changes.
  void reserve(std::size_t bytes) noexcept;
  void clear() noexcept { size_ = 0; }
  void shrink();
  const std::byte* data() const noexcept { return data_; }
  std::byte* data() noexcept { return data_; }
  std::size_t size() const noexcept { return size_; }
  std::size_t capacity() const noexcept { return capacity_; }

 private:
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

class ArrayBuilder {
 public:
  explicit ArrayBuilder(const ValueType& type);

  void append(const Values& values) { append(values, 0, values.size); }
  void append(const Values& values, std::size_t first, std::size_t count);
  // Drops the elements, keeps the memory.
  void clear() noexcept;
  // Makes room for so many times the elements that are there.
  void reserve(double times) noexcept;
  void shrink();
  std::size_t size() const noexcept { return size_; }
  std::size_t bytes() const noexcept;  // of all arrays
  // All elements; valid while `owner` lives and nothing is appended.
  ValuesPtr values(const std::shared_ptr<const void>& owner) const;

  void save(SavedWriter& to) const;
  // Appends saved elements.
  void append_saved(SavedReader& from);

 private:
  void append_offsets(const Values& values, std::size_t first, std::size_t count);
  ValueType type_;
  std::size_t size_ = 0;
  GrowingBytes data_;  // elements, or offsets
  std::vector<ArrayBuilder> children_;
};

// Several columns of the same length.
class ColumnsBuilder {
 public:
  explicit ColumnsBuilder(std::span<const ValueType> types);
  void append(std::span<const ValuesPtr> values, std::size_t count);
  void append(const ColumnsBuilder& other);
  void clear() noexcept;
  void reserve(double times) noexcept;
  std::size_t rows() const noexcept { return rows_; }
  std::size_t bytes() const noexcept;
  void shrink();
  std::vector<ValuesPtr> values(const std::shared_ptr<const void>& owner) const;
  void save(SavedWriter& to) const;
  void append_saved(SavedReader& from);
  // A copy with memory of its own.
  static std::shared_ptr<ColumnsBuilder> copy_of(const ColumnsBuilder& other,
                                                 std::span<const ValueType> types);

 private:
  std::vector<ArrayBuilder> columns_;
  std::size_t rows_ = 0;
};

// Builders of merged parts, for parts to come: new memory costs more than what is written to it. Any thread
// may take and give back.
class SpareBuilders {
 public:
  ColumnsBuilder take(std::span<const ValueType> types);
  // Keeps it, without its rows, if all that is kept has at most 32 MiB.
  void give_back(ColumnsBuilder builder);
  void clear() noexcept;

 private:
  std::mutex mutex_;
  std::vector<ColumnsBuilder> kept_;
  std::size_t bytes_ = 0;
};

}  // namespace colonnade::frame

#endif
