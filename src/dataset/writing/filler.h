// Filler: the fields of one writer, or of one of its fill contexts, connected to columns, and the entries of
// its open cluster. It decides when the cluster is full.
#ifndef COLONNADE_DATASET_WRITING_FILLER_H
#define COLONNADE_DATASET_WRITING_FILLER_H

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "colonnade/columnar.h"
#include "colonnade/entry.h"
#include "colonnade/field.h"
#include "page/page_sink.h"

namespace colonnade::dataset {

class ColumnarInput;

// The shared state of all fillers of a writer. Thread-safe.
class WriterState {
 public:
  explicit WriterState(std::shared_ptr<page::DataSetSink> data_set) : data_set_(std::move(data_set)) {}

  const std::shared_ptr<page::DataSetSink>& shared_data_set() const noexcept { return data_set_; }
  bool closed() const noexcept { return closed_; }
  bool failed() const noexcept { return failed_; }
  void set_closed() noexcept { closed_ = true; }
  void ensure_open() const {
    if (closed_ || failed_) [[unlikely]]
      refuse();
  }

  // Any failure leaves columns of different lengths: the open cluster is lost, and the writer refuses to
  // continue.
  template <class Work>
  void guarded(Work&& work) {
    ensure_open();
    try {
      work();
    } catch (const Error& error) {
      note_failure(error.problem(), false);
      throw error.with(context());
    } catch (...) {
      note_failure("", false);
      throw;
    }
  }

  // The same for work between two entries, which can be repeated if the container says so.
  template <class Work>
  void between_entries(Work&& work) {
    ensure_open();
    try {
      work();
    } catch (const Error& error) {
      const bool again = may_repeat(error);
      note_failure(error.problem(), again);
      throw(again ? with_advice(error) : error).with(context());
    } catch (...) {
      note_failure("", false);
      throw;
    }
  }

  // The same, but returns a failure after which it can be repeated. between_entries() is to throw it.
  template <class Work>
  std::exception_ptr failure_of(Work&& work) {
    try {
      work();
    } catch (const Error& error) {
      if (may_repeat(error)) return std::current_exception();
      between_entries([] { throw; });
    } catch (...) {
      between_entries([] { throw; });
    }
    return nullptr;
  }

  // The same for work that writes what was accepted and accepts nothing: it repeats what failed.
  template <class Work>
  void finishing(Work&& work) {
    try_again();
    if (!failed_ && !closed_) data_set_->retry(false);  // what failed since in the background
    between_entries(std::forward<Work>(work));
  }
  // Makes an end of the failure that finishing() may repeat.
  void try_again();
  // True after such a failure.
  bool may_try_again() const noexcept { return failed_ && again_ && !closed_ && data_set_->may_retry(); }
  // True if a file is complete, and only closing it has failed: nothing can be added.
  bool only_closing_failed() const noexcept { return is_file() && may_try_again(); }

 private:
  ErrorContext context() const { return {.uri = data_set_->uri(), .data_set = data_set_->descriptor().name}; }
  // A file that could not be sent is complete, whatever the reason is.
  bool may_repeat(const Error& error) const noexcept {
    return (is_file() || error.kind() == ErrorKind::io) && data_set_->may_retry();
  }
  bool is_file() const noexcept { return data_set_->container().page_kind() == Locator::Kind::file; }
  [[noreturn]] void refuse() const;
  static Error with_advice(const Error& error);
  void note_failure(std::string_view why, bool again) noexcept;

  std::shared_ptr<page::DataSetSink> data_set_;
  std::atomic<bool> closed_ = false;
  std::atomic<bool> failed_ = false;
  std::atomic<bool> again_ = false;  // failed_, but nothing is lost
  mutable std::mutex mutex_;
  std::string failure_;  // the first one; guarded by mutex_
};

class Filler {
 public:
  using Fields = std::vector<std::unique_ptr<Field>>;
  // Adds a cluster, whose pages are written, to the data set.
  using AddCluster = std::function<void(ClusterDescriptor)>;

  // The fields are not connected yet, and more may follow; see connect().
  Filler(std::shared_ptr<WriterState> state, const Fields& fields, std::uint64_t model_id, AddCluster place);

  // Connects it to columns of the descriptor.
  void connect(Field& field) { field.connect(sink_); }

  std::uint64_t entries() const noexcept { return entries_; }
  std::uint64_t open_entries() const noexcept { return entries_ - written_entries_; }
  void fill(Entry& entry);
  void append(std::span<const NamedArray> arrays);
  void flush_columns();
  void commit_cluster();

 private:
  // A value stored in its memory form, the most common kind: copied without a call of its field.
  struct Copy {
    const std::byte* from;
    page::ColumnWriter* to;
  };
  struct Call {
    const void* value;
    Field* field;
  };

  [[noreturn]] void refuse(const Entry& entry) const;
  void plan(const Entry& entry);
  void append_all(ColumnarInput& input);
  std::uint64_t batch(const ColumnarInput& input) const;
  std::uint64_t open_bytes() const noexcept { return sink_.uncompressed_bytes() + sink_.open_bytes(); }
  void after_entries();
  void write_if_full();
  void write_cluster();
  void set_target();

  std::shared_ptr<WriterState> state_;
  const Fields& fields_;
  std::uint64_t model_id_;
  AddCluster add_cluster_;
  page::PageSink sink_;
  std::uint64_t planned_ = 0;                // the bindings for which the plan was made
  std::array<std::vector<Copy>, 4> copies_;  // values of 1, 2, 4 and 8 bytes
  std::vector<Call> calls_;                  // all others
  std::uint64_t entries_ = 0;
  std::uint64_t written_entries_ = 0;
  std::uint64_t until_check_ = 1;
  std::size_t uncompressed_target_ = 0;  // of the open cluster
  std::uint64_t uncompressed_total_ = 0;
  std::uint64_t compressed_total_ = 0;
};

}  // namespace colonnade::dataset

#endif
