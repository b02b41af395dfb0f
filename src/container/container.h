// Containers: how data sets are embedded in a file or an object store. A container finds anchors and moves
// opaque blobs and pages; of fields it knows nothing, of columns the number. Implementations: ROOT file, bare
// file, object store.
//
// A ReadContainer is read-only after opening and may be shared by threads. Of a WriteContainer, write_blob(),
// write_parts() and write_pages() may be called by several threads at once, also while one of them is in
// commit(); close() by one while no other is inside.
#ifndef COLONNADE_CONTAINER_CONTAINER_H
#define COLONNADE_CONTAINER_CONTAINER_H

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "colonnade/descriptor.h"
#include "colonnade/error.h"
#include "colonnade/options.h"
#include "io/random_access_file.h"

namespace colonnade::container {

class ObjectPageFile;

class ReadContainer {
 public:
  virtual ~ReadContainer() = default;
  virtual const std::string& uri() const noexcept = 0;
  // Changes whenever the content of the data set does that this is the container of. Empty: unknown.
  virtual std::string version() const { return file().version(); }
  // What locators of header, footer and page lists are.
  virtual Locator::Kind locator_kind() const noexcept { return Locator::Kind::file; }
  // Where the blobs and pages of the data set at `path` are, and its anchor as it is now. Null: in this
  // container itself. Else throws as anchor() does.
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
  // Throws ErrorKind::not_found naming the data sets that are there (and what class `path` has if it is
  // another object).
  virtual Anchor anchor(std::string_view path) const = 0;
  // Reads the blob at a file locator, joining a payload that was split because it exceeds max_key_size (0:
  // never split).
  virtual void read_blob(const Locator& locator, std::uint64_t max_key_size, MutableByteSpan into) const = 0;
  // Many at once: requests that are under way together where that is faster.
  struct BlobRead {
    Locator locator;
    MutableByteSpan into;
  };
  virtual void read_blobs(std::span<const BlobRead> blobs, std::uint64_t max_key_size) const;
  // Throws ErrorKind::format if the blob ("page list") cannot be there as a whole, before anybody makes room
  // for it.
  virtual void check_blob(const Locator& locator, std::uint64_t max_key_size, const char* what) const;
  // The error says where in the container the blob lies that it is about.
  virtual Error locate(const Error& error, const Locator& locator) const;
  // Reads many pages or page parts (never split: writers keep a page inside one key; where one is split it is
  // joined). Object stores have none and throw.
  virtual const io::RandomAccessFile& file() const = 0;
  // From where pages are read in place of file(), and where there each of them lies; null: as it says in
  // their locators.
  virtual std::shared_ptr<const ObjectPageFile> object_pages(const Descriptor& /*descriptor*/) const {
    return nullptr;
  }
};

// Opens an object store, a ROOT file or a bare file, these told apart by their first bytes. `uri` as for
// io::open_object_store and io::open_for_reading.
std::unique_ptr<ReadContainer> open_container(const std::string& uri,
                                              const io::ReadFileOptions& options = {});
std::unique_ptr<ReadContainer> open_container(std::unique_ptr<io::RandomAccessFile> file);

// Runs `open`, which opens a file and reads where its data sets are, and runs it again if what it read does
// not fit together: another process may have committed in between. What is damaged gives the same error
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

// A sealed page that is to be written, with its checksum behind it if it has one.
struct PagePart {
  ByteSpan bytes;
  std::uint32_t column = 0;  // physical
};

// What a container keeps of a cluster while it is written, in one piece or several.
struct ClusterPlace {
  std::uint64_t object = 0;                // 0: not begun
  std::vector<std::uint64_t> next_values;  // by physical column
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
  // As write_blob(), but behind everything there is, as the journal is written. It is not released.
  virtual Locator write_at_end(ByteSpan payload, std::uint64_t uncompressed_length) {
    return write_blob(payload, uncompressed_length);
  }
  // The size of the file when this container was opened; 0: it is new.
  virtual std::uint64_t size_before() const noexcept { return 0; }
  // Whether bytes lie behind the end of the file, which the first commit overwrites.
  virtual bool cuts_tail() const noexcept { return false; }
  // Appends the sealed pages of a cluster back to back, in as few keys as max_key_size() allows; returns the
  // file offset of each part. A single part larger than max_key_size() is split like a blob.
  virtual std::vector<std::uint64_t> write_parts(std::span<const ByteSpan> parts) = 0;
  // Writes pages of one cluster as one batch, those of a column side by side; returns where each of them
  // lies: what the locator says besides the size. `cluster` is of the caller, one for each cluster.
  virtual std::vector<std::uint64_t> write_pages(std::span<const PagePart> pages, ClusterPlace& cluster);
  // The same, but may return before they are written. `memory`, in which they are, is let go when they are,
  // or when that failed; a failure shows at the next call, at flush() or commit() at the latest.
  virtual std::vector<std::uint64_t> begin_pages(std::span<const PagePart> pages, ClusterPlace& cluster,
                                                 std::shared_ptr<void> memory);
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
  // May columns share a page that is the same in both?
  virtual bool shares_pages() const noexcept { return true; }
  // Does a record of each cluster help to find it after a crash (cluster_journal.h)?
  virtual bool keeps_journal() const noexcept { return true; }
  // Whether the first commit replaces what readers find until then.
  virtual bool replaces() const noexcept { return false; }
  virtual std::uint64_t max_key_size() const noexcept = 0;
  // Waits until everything written so far is where a crash of the process leaves it.
  virtual void flush() = 0;
  // The next commit does not name this blob any more. Its space may be used again, but not before some more
  // commits, so that who is opening an older state finds it, or close().
  virtual void retire_blob(const Locator& /*blob*/) {}
  // Makes (or replaces) the anchor of the data set and everything the file needs to be valid: directory, free
  // list, streamer info. After it returns the file is complete and readable; may be called again later. While
  // it runs, and after a crash at any moment of it, whoever opens the file finds this state or the one
  // before.
  virtual void commit(const Anchor& anchor) = 0;
  virtual void close() = 0;  // reports every error
  // In place of close() when no more is committed: leaves the last commit where readers see each one. Where
  // there is none, or readers see only what was closed, it leaves what was there before.
  virtual void abandon() { close(); }
};

// The space of what a commit replaces is used again after so many commits at the earliest, and twice as many
// at the latest: at once for many, since the device is waited for before.
inline constexpr std::size_t commits_until_reuse = 16;

enum class ContainerKind { root_file, bare_file };

struct ContainerOptions {
  ContainerKind kind = ContainerKind::root_file;
  std::uint64_t max_key_size = std::uint64_t{1} << 30;
  std::uint32_t root_compression = 505;  // setting recorded in the TFile header
  Durability durability = Durability::process;
  bool direct_io = false;  // past the page cache, where the file system can
  // Of what is created: the file, or in an object store the data set, must not be there yet.
  bool must_be_new = false;
  // Of object stores.
  ObjectMapping object_mapping = ObjectMapping::locality;
  std::size_t splice_size = std::size_t{1} << 20;
  std::string object_class = {};
  // A writer that does not show for so long that it lives may be taken for dead.
  std::chrono::milliseconds claim_lease = std::chrono::seconds(60);
  std::string part_of = {};       // the name of a part (object_store/part_ticket.h): nothing else is written
  std::size_t max_page_size = 0;  // that will be written, uncompressed; what cannot be is refused at once
};

// Creates `uri` for the data set at `path` ("Events", "dir/Events"). What is there stays readable until the
// first commit: a file, or in an object store, where other data sets stay for good, one of this name.
std::unique_ptr<WriteContainer> create_container(const std::string& uri, std::string_view path,
                                                 const ContainerOptions& options);
// Adds the data set at `path` to an existing ROOT file or object store, leaving every other object as it is.
// Throws ErrorKind::usage if `path` exists already. Does not ask whether a writer that was killed has left
// clusters in the file that the first commit overwrites; append_if_repaired() of the layer above does.
std::unique_ptr<WriteContainer> append_container(const std::string& uri, std::string_view path,
                                                 const ContainerOptions& options);

// Opens a file to replace the anchor of the data set at `path`: commit() does, and before that nothing that
// is in the file changes, its bytes behind the last commit included. In an object store what is behind the
// last commit is removed. Throws ErrorKind::not_found for a data set that is not there.
std::unique_ptr<WriteContainer> replace_container(const std::string& uri, std::string_view path,
                                                  const ContainerOptions& options);

}  // namespace colonnade::container

#endif
