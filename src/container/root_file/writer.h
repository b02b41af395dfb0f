// Writing data sets to new or existing ROOT files.
#ifndef COLONNADE_CONTAINER_ROOT_FILE_WRITER_H
#define COLONNADE_CONTAINER_ROOT_FILE_WRITER_H

#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/process.h"
#include "container/container.h"
#include "container/root_file/space.h"
#include "format/tfile_records.h"
#include "io/closing_again.h"

namespace colonnade::container {

class RootFileWriter final : public WriteContainer {
 public:
  // Creates a file: writes an empty ROOT file at once, which the first commit publishes. A `first_free` above
  // 0 leaves everything up to there unused; tests use it to reach positions beyond 2 GB.
  static std::unique_ptr<RootFileWriter> create(std::unique_ptr<io::WritableFile> file, std::string_view path,
                                                const ContainerOptions& options,
                                                std::uint64_t first_free = 0);
  // Throws ErrorKind::usage for an invalid path or invalid options; called before the file is opened, which
  // truncates it.
  static void check(std::string_view path, const ContainerOptions& options);
  // Opens an existing file; changes nothing before the first write_*() or commit(). These cut off bytes
  // behind its end, which a crashed writer left.
  static std::unique_ptr<RootFileWriter> append(std::unique_ptr<io::WritableFile> file, std::string_view path,
                                                const ContainerOptions& options);
  // The same for an existing data set: commit() replaces its anchor. Bytes behind the end are kept and belong
  // to the file afterwards, the last ones as a gap if they are no whole records.
  static std::unique_ptr<RootFileWriter> replace(std::unique_ptr<io::WritableFile> file,
                                                 std::string_view path, const ContainerOptions& options);

  // Dropped without close(), it cuts off what it wrote behind the last commit and the last record of the
  // journal: ROOT sets a wrong end in the header when it adds to a file that goes on behind its end.
  ~RootFileWriter() override;

  const std::string& uri() const noexcept override { return file_->uri(); }
  // True if the first write cuts off the bytes behind the file's end.
  bool cuts_tail() const noexcept override { return cut_tail_; }
  Locator write_blob(ByteSpan payload, std::uint64_t uncompressed_length) override;
  void retire_blob(const Locator& blob) override;
  Locator write_at_end(ByteSpan payload, std::uint64_t uncompressed_length) override;
  std::uint64_t size_before() const noexcept override { return size_before_; }
  std::vector<std::uint64_t> write_parts(std::span<const ByteSpan> parts) override;
  std::uint64_t largest_copy(const io::RandomAccessFile& from) const noexcept override;
  CopiedRanges copy_ranges(const io::RandomAccessFile& from, std::span<const FileRange> ranges) override;
  std::uint64_t max_key_size() const noexcept override { return options_.max_key_size; }
  void use_max_key_size(std::uint64_t size) override;
  void flush() override { file_->flush(); }
  // Only close() can be repeated.
  bool may_retry() const noexcept override { return closed_ && io::may_close_again(*file_); }
  bool keeps_journal() const noexcept override { return !file_->appears_at_close(); }
  bool replaces() const noexcept override { return file_->replaces(); }
  // A file that appears when it is closed needs only one commit, at that time: no reader could see earlier
  // ones.
  void commit(const Anchor& anchor) override;
  void close() override;
  void abandon() override;

 private:
  struct Directory {
    std::string name;
    std::string title;
    std::string class_name;
    format::TDirectoryRecord record;
    std::uint64_t record_at = 0;
    std::uint64_t record_room = format::tdirectory_size;
    // Without our data set; the other entries are kept byte for byte.
    std::uint32_t entry_count = 0;
    Bytes entries;
    std::optional<std::size_t> own_at;  // where ours was among them; else it comes last
  };
  struct Record {
    format::TKey key;
    format::FreeSegment place() const noexcept { return {key.seek_key, key.seek_key + key.nbytes - 1}; }
  };

  // A commit whose records are in the file but not referenced yet.
  struct Pending {
    format::TFileHeader header;
    std::vector<Directory> made;  // new directories
    Directory changed;            // the innermost existing one, with its new list of keys
    Bytes entries;                // of that list
    std::optional<Record> anchor;
    std::vector<format::FreeSegment> replaced_by_head;
    std::vector<format::FreeSegment> replaced_by_directory;
  };

  RootFileWriter(std::unique_ptr<io::WritableFile> file, std::string_view path, ContainerOptions options);
  void write_skeleton(std::uint64_t first_free);
  enum class Tail { cut, keep };
  void load(Tail tail);
  std::uint64_t keep_tail();
  void load_free_list(Tail tail);
  void load_path();
  void load_existing();
  Directory load_directory(const format::TKey& key, std::uint64_t record_at) const;
  std::vector<format::TKey> keys_of(const Directory& directory) const;
  Bytes read_block(std::uint64_t offset, std::uint64_t size) const;

  std::uint64_t reserve(std::uint64_t size, RootFileSpace::Use use);
  std::uint64_t reserve_locked(std::uint64_t size, RootFileSpace::Use use);
  std::uint64_t reserve_directory(const format::TKey& key);
  std::uint64_t write_chunk(std::span<const ByteSpan> parts, std::uint64_t uncompressed_length,
                            RootFileSpace::Use use);
  std::uint64_t write_split(ByteSpan payload, std::uint64_t uncompressed_length, RootFileSpace::Use use);
  std::uint64_t end_of_space();
  // `end`: the largest possible position of the key.
  static void make_big_if_far(format::TKey& key, std::uint64_t payload_size, std::uint64_t end);
  Record place(format::TKey key, ByteSpan payload);
  Record place_key_list(const Directory& directory, std::uint32_t count, ByteSpan entries);
  std::vector<Directory> reserve_missing_directories();
  Record place_anchor(const Anchor& anchor, const Directory& directory);
  Bytes place_made_directories(std::vector<Directory>& made, const Record& anchor);
  format::TKey directory_key(const Directory& directory) const;
  std::optional<Record> place_streamer_infos(const format::TFileHeader& header);
  void place_free_list(format::TFileHeader& header, std::span<const format::FreeSegment> replaced);
  std::vector<format::FreeSegment> replaced_lists() const;
  std::vector<format::FreeSegment> replaced_by_head(const format::TFileHeader& header, bool in_root) const;
  Pending place_records(const Anchor& anchor);
  void commit_now(const Anchor& anchor);
  void switch_to(const Pending& pending);
  void adopt(Pending pending);
  void write_head(const format::TFileHeader& header, const Directory& root);
  void write_directory(const Directory& directory);
  Bytes directory_bytes(const Directory& directory) const;
  void release(const format::FreeSegment& segment);
  void reuse_retired();
  void settle();
  void settle_commit();
  void give_back_space();
  void cut_tail(std::uint64_t end);

  std::unique_ptr<io::WritableFile> file_;
  ContainerOptions options_;
  std::mutex mutex_;  // guards space_
  RootFileSpace space_;
  std::uint64_t begin_ = format::tfile_begin;
  format::TFileHeader header_;  // as committed
  Bytes head_;                  // from the start to the end of the file's own directory, as committed
  // The file's own directory first; if none is missing, the last one gets the data set.
  std::vector<Directory> directories_;
  std::vector<std::string> missing_;  // directories that the first commit makes below the last one
  std::string name_;
  std::optional<Record> anchor_;  // as committed
  std::optional<Anchor> latest_;  // to be committed when the file is closed
  // Records that the last commits replaced, oldest first. Free, but a reader may still need them.
  std::deque<std::vector<format::FreeSegment>> retired_;
  std::vector<format::FreeSegment> unlisted_;  // the same for the last commit, not in its free list yet
  std::map<std::uint64_t, format::FreeSegment>
      blobs_;                                  // index blobs of this writer in one key, by payload offset
  std::vector<format::FreeSegment> released_;  // those that the next commit no longer needs
  std::uint64_t size_before_ = 0;              // of the file
  std::uint64_t journal_end_ = 0;              // behind its last record
  bool has_written_ = false;
  bool cut_tail_ = false;  // until the first write: bytes behind the end are garbage
  std::optional<format::FreeSegment>
      torn_;                      // until the first write: bytes behind the end that are no records
  std::uint64_t keep_up_to_ = 0;  // closing does not cut the file shorter
  bool knows_streamer_infos_ = false;
  bool uncertain_ = false;  // a commit failed half-way: the state of the file is unknown
  bool closed_ = false;
  Process process_;
};

}  // namespace colonnade::container

#endif
