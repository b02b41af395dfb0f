// Containers: how data sets are embedded in a file or an object store. A container finds anchors and moves
// opaque blobs and pages; it knows no fields, and of columns only the number. Implementations: ROOT file,
// bare file, object store.
//
// A ReadContainer is read-only after opening and may be shared by threads. Of a WriteContainer, write_blob(),
// write_parts() and write_pages() may be called by several threads at once, also while one of them is in
// commit(); close() by one while no other is inside.
#ifndef COLONNADE_CONTAINER_CONTAINER_H
#define COLONNADE_CONTAINER_CONTAINER_H

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "colonnade/descriptor.h"
#include "colonnade/error.h"
#include "colonnade/options.h"
#include "format/tfile_streamer_info.h"
#include "io/random_access_file.h"

namespace colonnade::container {

class ObjectPageFile;

// What to try with a file for which lists_objects() is false.
inline constexpr const char* advice_without_list =
    "write it again, or let ROOT recover its trees: it does when it opens the file for \"UPDATE\"";

class ReadContainer {
 public:
  virtual ~ReadContainer() = default;
  virtual const std::string& uri() const noexcept = 0;
  // Changes whenever the content of this container's data set changes. Empty: unknown.
  virtual std::string version() const { return file().version(); }
  // The kind of the locators of header, footer and page lists.
  virtual Locator::Kind locator_kind() const noexcept { return Locator::Kind::file; }
  // The container of the blobs and pages of the data set at `path`, with its current anchor. Null: this
  // container itself. Throws what anchor() throws.
  virtual std::shared_ptr<const ReadContainer> of_data_set(std::string_view /*path*/) const {
    return nullptr;
  }
  // Paths of all data sets, "Events" or "dir/sub/Events", in directory order.
  virtual std::vector<std::string> data_sets() const = 0;
  // Names and class names of the other objects, for messages and `colonnade ls`.
  struct ObjectEntry {
    std::string path;
    std::string class_name;
    std::uint64_t size = 0;
  };
  virtual std::vector<ObjectEntry> objects() const = 0;
  // False for a ROOT file whose writer stopped before it listed any object.
  virtual bool lists_objects() const noexcept { return true; }
  // What the file says about classes for ROOT, of the names that are wanted. Empty also where that is
  // damaged: reading here does not need it.
  virtual std::vector<format::ClassInfo> class_infos(
      const std::function<bool(const std::string& name)>& /*is_wanted*/) const {
    return {};
  }
  // Throws ErrorKind::not_found and names the existing data sets (and the class of `path` if it is another
  // object).
  virtual Anchor anchor(std::string_view path) const = 0;
  // All data sets with their anchors in one walk. `anchor` gives what anchor(path) does; the visitor decides
  // whether to call it.
  using AnchorVisitor = std::function<void(const std::string& path, const std::function<Anchor()>& anchor)>;
  virtual void visit_anchors(const AnchorVisitor& visitor) const;
  // Reads the blob at a file locator; joins a payload that was split because it exceeds max_key_size (0:
  // never split).
  virtual void read_blob(const Locator& locator, std::uint64_t max_key_size, MutableByteSpan into) const = 0;
  // Reads many blobs at once, with concurrent requests if that is faster.
  struct BlobRead {
    Locator locator;
    MutableByteSpan into;
  };
  virtual void read_blobs(std::span<const BlobRead> blobs, std::uint64_t max_key_size) const;
  // Throws ErrorKind::format if the blob ("page list") cannot exist in full; call it before allocating memory
  // for the blob.
  virtual void check_blob(const Locator& locator, std::uint64_t max_key_size, const char* what) const;
  // Adds the position of the blob within the container to an error.
  virtual Error locate(const Error& error, const Locator& locator) const;
  // Reads many pages or page parts (never split: writers keep a page inside one key; a page that is split
  // anyway is joined). Object stores have no such file and throw.
  virtual const io::RandomAccessFile& file() const = 0;
  // The file to read pages from instead of file(), with their offsets in it. Null: use file() and the offsets
  // of the locators.
  virtual std::shared_ptr<const ObjectPageFile> object_pages(const Descriptor& /*descriptor*/) const {
    return nullptr;
  }
};

// Opens an object store, a ROOT file or a bare file; the first bytes tell the two kinds of files apart.
// `uri`: see io::open_object_store() and io::open_for_reading().
std::unique_ptr<ReadContainer> open_container(const std::string& uri,
                                              const io::ReadFileOptions& options = {});
std::unique_ptr<ReadContainer> open_container(std::unique_ptr<io::RandomAccessFile> file);

// Runs `open`, which opens a file and reads its directory, and runs it again if the parts do
// not match: another process may have committed in between. A damaged file fails the same way
// twice.
template <class Open>
decltype(auto) open_while_written(Open&& open) {
  std::string before;
  for (int attempt = 0;; ++attempt) {
    try {
      return open();
    } catch (const Error& error) {
      const bool may_pass = error.kind() == ErrorKind::format || error.kind() == ErrorKind::checksum ||
                            error.kind() == ErrorKind::not_found;  // replaced in between
      if (!may_pass || attempt == 9 || before == error.what()) throw;
      before = error.what();
    }
  }
}

// A sealed page to be written, followed by its checksum if it has one.
struct PagePart {
  ByteSpan bytes;
  std::uint32_t column = 0;  // physical
};

// Memory that pages are written from. Its owner may wait for it, unless it is kept() for later.
class PageBytes {
 public:
  virtual ~PageBytes() = default;
  virtual void kept() noexcept {}
};

// The writing state of a cluster, which may be written in several steps.
struct ClusterWriteState {
  std::uint64_t object = 0;                // 0: not yet assigned
  std::vector<std::uint64_t> next_values;  // by physical column number
};

struct FileRange {
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
};

class WriteContainer {
 public:
  virtual ~WriteContainer() = default;
  virtual const std::string& uri() const noexcept = 0;
  // Appends one payload (header, footer, page list), split into several keys if larger than max_key_size().
  virtual Locator write_blob(ByteSpan payload, std::uint64_t uncompressed_length) = 0;
  // Like write_blob(), but always at the end of the file, for the journal. The blob is never
  // released.
  virtual Locator write_at_end(ByteSpan payload, std::uint64_t uncompressed_length) {
    return write_blob(payload, uncompressed_length);
  }
  // The size of the file when this container was opened; 0: the file is new.
  virtual std::uint64_t size_before() const noexcept { return 0; }
  // True if the first commit overwrites bytes behind the end of the file.
  virtual bool cuts_tail() const noexcept { return false; }
  // Appends the sealed pages of a cluster back to back, in as few keys as max_key_size() allows; returns the
  // file offset of each part. A single part larger than max_key_size() is split like a blob.
  virtual std::vector<std::uint64_t> write_parts(std::span<const ByteSpan> parts) = 0;
  // Writes pages of one cluster as one batch, with the pages of a column next to each other; returns the
  // position of each for its locator. The caller keeps one `cluster` for each cluster.
  virtual std::vector<std::uint64_t> write_pages(std::span<const PagePart> pages, ClusterWriteState& cluster);
  // Like write_pages(), but may return before the pages are written. `memory` owns their bytes and
  // is released after the write; the next call, at the latest flush() or commit(), reports a
  // failure.
  virtual std::vector<std::uint64_t> begin_pages(std::span<const PagePart> pages, ClusterWriteState& cluster,
                                                 std::shared_ptr<PageBytes> memory);
  // Ranges of a file, with pages in them, as they are there: the system copies them, or lets the two files
  // share them. None may be larger than largest_copy(), which is 0 if that file cannot be copied from.
  virtual std::uint64_t largest_copy(const io::RandomAccessFile& /*from*/) const noexcept { return 0; }
  struct CopiedRanges {
    std::vector<std::uint64_t> offsets;
    std::uint64_t shared = 0;  // bytes
  };
  virtual CopiedRanges copy_ranges(const io::RandomAccessFile& from, std::span<const FileRange> ranges);
  // Bytes before a range that is to lie at `place` or a little behind, so that blocks can be shared.
  static std::uint64_t padding(std::uint64_t place, const FileRange& range) noexcept {
    return (range.offset - place) % io::WritableFile::sharing_unit;
  }
  virtual Locator::Kind page_kind() const noexcept { return Locator::Kind::file; }
  // True if columns may share a page with equal content.
  virtual bool shares_pages() const noexcept { return true; }
  // True if a record per cluster helps recovery after a crash (cluster_journal.h).
  virtual bool keeps_journal() const noexcept { return true; }
  // True if readers see another data set until the first commit.
  virtual bool replaces() const noexcept { return false; }
  virtual std::uint64_t max_key_size() const noexcept = 0;
  // Before anything is written: the limit of a data set that is continued. Throws ErrorKind::usage for one
  // that is not possible. Default: the container has a limit of its own.
  virtual void use_max_key_size(std::uint64_t /*size*/) {}
  // Waits until everything written so far survives a crash of the process.
  virtual void flush() = 0;
  // Announces that the next commit no longer refers to this blob. Its space is reused only after some more
  // commits, so that a reader that is opening an older state still finds it, or by close().
  virtual void retire_blob(const Locator& /*blob*/) {}
  // Writes (or replaces) the anchor of the data set and everything the file needs to be valid: directory,
  // free list, streamer info. After it returns the file is complete and readable; later commits may follow.
  // During the commit, and after a crash at any moment of it, readers find either this state or the previous
  // one.
  virtual void commit(const Anchor& anchor) = 0;
  virtual void close() = 0;  // reports every error
  // Called instead of close() after a failure: keeps the last commit if readers see each commit. If there was
  // none, or if readers see only closed files, the previous content stays.
  virtual void abandon() { close(); }
  // True if an ErrorKind::io of a call before close() has lost nothing: after retry() the call can be
  // repeated, and pages of begin_pages() that could not be written are written again. `waits`: pages that are
  // on their way may fail, too, for the cause that is gone now.
  virtual bool may_retry() const noexcept { return false; }
  virtual void retry(bool /*waits*/) {}
};

// The space of replaced blobs is reused after at least this many commits, and at most twice as many: in one
// batch, because the device must be synchronised before.
inline constexpr std::size_t commits_until_reuse = 16;

enum class ContainerKind { root_file, bare_file };

struct ContainerOptions {
  ContainerKind kind = ContainerKind::root_file;
  std::uint64_t max_key_size = std::uint64_t{1} << 30;
  std::uint32_t root_compression = 505;  // setting recorded in the TFile header
  // For ROOT files: added to what the file says about classes.
  std::vector<format::ClassInfo> class_infos = {};
  Durability durability = Durability::process;
  bool direct_io = false;  // bypass the page cache, if the file system supports it
  // For new files, and new data sets in object stores: fail if one exists.
  bool must_be_new = false;
  // For object stores only:
  ObjectMapping object_mapping = ObjectMapping::locality;
  std::size_t splice_size = std::size_t{1} << 20;
  std::string object_class = {};
  // A writer that does not renew its claim for this long may be considered dead.
  std::chrono::milliseconds claim_lease = std::chrono::seconds(60);
  std::string part_of = {};  // the name of a part (object_store/part_ticket.h); only this part is written
  std::size_t max_page_size = 0;  // uncompressed; too large a value is refused at once
};

// Creates `uri` for the data set at `path` ("Events", "dir/Events"). Until the first commit, the old
// file or, in an object store, the old data set of this name stays readable; others are not
// affected.
std::unique_ptr<WriteContainer> create_container(const std::string& uri, std::string_view path,
                                                 const ContainerOptions& options);
// Adds the data set at `path` to an existing ROOT file or object store; all other objects stay unchanged.
// Throws ErrorKind::usage if `path` exists already. Does not check whether a killed writer has left clusters
// in the file, which the first commit would overwrite; append_if_repaired() of the layer above does.
std::unique_ptr<WriteContainer> append_container(const std::string& uri, std::string_view path,
                                                 const ContainerOptions& options);

// Opens a file to replace the anchor of the data set at `path`: commit() does that, and until then nothing in
// the file changes, including bytes behind the last commit. In an object store, data behind the last commit
// are removed. Throws ErrorKind::not_found if the data set does not exist.
std::unique_ptr<WriteContainer> replace_container(const std::string& uri, std::string_view path,
                                                  const ContainerOptions& options);

}  // namespace colonnade::container

#endif
