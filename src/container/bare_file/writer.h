// Writing a bare file; reader.h describes the layout.
#ifndef COLONNADE_CONTAINER_BARE_FILE_WRITER_H
#define COLONNADE_CONTAINER_BARE_FILE_WRITER_H

#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/process.h"
#include "container/container.h"
#include "container/root_file/space.h"
#include "io/closing_again.h"

namespace colonnade::container {

class BareFileWriter final : public WriteContainer {
 public:
  // Throws ErrorKind::usage for an invalid name or invalid options; called before the file is opened, which
  // truncates it.
  static void check(std::string_view name, const ContainerOptions& options);
  BareFileWriter(std::unique_ptr<io::WritableFile> file, std::string_view name, ContainerOptions options);

  // Opens an existing file, whose data set must be called `name`: blobs are appended, commit() replaces the
  // anchor.
  static std::unique_ptr<BareFileWriter> replace(std::unique_ptr<io::WritableFile> file,
                                                 std::string_view name, const ContainerOptions& options);

  // Dropped without close(), it cuts off what it wrote behind the last commit and the last record of the
  // journal.
  ~BareFileWriter() override;
  BareFileWriter(const BareFileWriter&) = delete;
  BareFileWriter& operator=(const BareFileWriter&) = delete;

  const std::string& uri() const noexcept override { return file_->uri(); }
  Locator write_blob(ByteSpan payload, std::uint64_t uncompressed_length) override;
  std::vector<std::uint64_t> write_parts(std::span<const ByteSpan> parts) override;
  void retire_blob(const Locator& blob) override;
  Locator write_at_end(ByteSpan payload, std::uint64_t) override {
    cut_to_ = 0;
    const std::uint64_t offset = write_split(payload);
    cut_to_ = end_.load();
    return {.size = payload.size(), .offset = offset};
  }
  std::uint64_t size_before() const noexcept override { return size_before_; }
  std::uint64_t largest_copy(const io::RandomAccessFile& from) const noexcept override {
    return file_->can_copy(from) ? options_.max_key_size : 0;
  }
  CopiedRanges copy_ranges(const io::RandomAccessFile& from, std::span<const FileRange> ranges) override;
  std::uint64_t max_key_size() const noexcept override { return options_.max_key_size; }
  void use_max_key_size(std::uint64_t size) override;
  // Only close() can be repeated.
  bool may_retry() const noexcept override { return closed_ && io::may_close_again(*file_); }
  bool keeps_journal() const noexcept override { return !file_->appears_at_close(); }
  bool replaces() const noexcept override { return file_->replaces(); }
  void flush() override { file_->flush(); }
  void commit(const Anchor& anchor) override;
  void close() override;
  void abandon() override;

 private:
  BareFileWriter(std::unique_ptr<io::WritableFile> file, ContainerOptions options)
      : file_(std::move(file)), options_(std::move(options)) {}
  void check_open() const;
  void settle();
  void settle_commit();
  void sync_commit();
  std::uint64_t reserve(std::uint64_t size);
  void reuse_retired();
  void cut_tail();
  std::uint64_t write_split(ByteSpan payload);

  std::unique_ptr<io::WritableFile> file_;
  ContainerOptions options_;
  std::string name_;
  std::uint64_t anchor_at_ = 0;
  std::atomic<std::uint64_t> end_{0};
  std::uint64_t size_before_ = 0;         // of the file
  std::atomic<std::uint64_t> cut_to_{0};  // at the end: nothing that may be read is behind it; 0: unknown
  std::mutex mutex_;                      // guards the space of index blobs
  RootFileSpace space_;                   // free space before the end
  std::map<std::uint64_t, format::FreeSegment> blobs_;  // of this writer, by offset; each in one piece
  std::deque<std::vector<format::FreeSegment>> retired_{
      {}};                     // retired by each of the last commits; the last list is still open
  bool is_half_made_ = false;  // the first commit failed
  bool closed_ = false;
  const Process process_;
};

}  // namespace colonnade::container

#endif
