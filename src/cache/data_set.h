// DataSet: one open data set with a cache. It says where a reader finds each page, in the home or in the
// origin, accepts what was read from the origin, and reads the home in a way that cannot fail:
//
//   pages of a column in a cluster --place()--> addresses: below first_address in the origin's file,
//                                               from there on in file(), which reads the home
//   share()  a page of the origin that another reader is downloading --> an address in awaited()
//   file()   home's value --> bytes; if the home fails or is late: the origin's pages --> the same bytes
//   awaited() the same, once another reader has put the value there
//   keep()   a verified page --> Filler
//
// Shared by all readers of the data set, on any threads.
#ifndef COLONNADE_CACHE_DATA_SET_H
#define COLONNADE_CACHE_DATA_SET_H

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cache/claims.h"
#include "cache/contents.h"
#include "cache/metadata.h"
#include "cache/settings.h"
#include "colonnade/page_list.h"
#include "io/random_access_file.h"

namespace colonnade::cache {

struct Origin {
  std::shared_ptr<const io::RandomAccessFile> file;
  // The pages of a column in a cluster, each contiguous in the file; empty if that is not so.
  std::function<PageList(std::uint32_t column, std::size_t cluster)> pages;
};

class DataSet : public std::enable_shared_from_this<DataSet> {
 public:
  static constexpr std::uint64_t first_address = std::uint64_t{1} << 62;
  static constexpr bool is_home(std::uint64_t address) noexcept { return address >= first_address; }
  static constexpr std::uint64_t first_awaited = first_address + (std::uint64_t{1} << 61);
  static constexpr bool is_awaited(std::uint64_t address) noexcept { return address >= first_awaited; }

  DataSet(const std::shared_ptr<Home>& home, const Identity& identity, Origin origin);
  ~DataSet();
  DataSet(const DataSet&) = delete;
  DataSet& operator=(const DataSet&) = delete;

  // The pages of a column in a cluster; those that the home has, with their addresses there. Empty: all are
  // in the origin.
  std::optional<PageList> place(std::uint32_t column, std::size_t cluster);
  const io::RandomAccessFile& file() const noexcept { return *file_; }
  const io::RandomAccessFile& awaited() const noexcept { return *awaited_; }
  // Called before a page of the origin is read: its address in awaited() or file() if another reader
  // downloads it, or has done so. Empty: the caller is to read it, and others will wait for that.
  std::optional<PageDescriptor> share(std::uint32_t column, std::size_t cluster, std::size_t page) noexcept;
  // Whether the home has all pages of a column.
  bool has_all(std::uint32_t column, std::size_t clusters);
  // Records in the home that the data set was found at its URI now; see Contents::write_found().
  void note_found(bool is_only);
  // The value that the checksum of the page at an address in the home is combined with.
  std::uint64_t seal(std::uint64_t address) const;
  // Whether a page that was read at this address really came from the home.
  bool was_served(std::uint64_t address) const;
  // The page at this address was damaged.
  void note_damage(std::uint64_t address) noexcept;

  // A verified page of the origin; `sum`: its checksum, if known. Returns false if there was no room.
  bool keep(std::uint32_t column, std::size_t cluster, std::size_t page, ByteSpan content,
            std::optional<std::uint64_t> sum) noexcept;

  // Bytes that were read from file() or the origin, and the time spent waiting for them.
  void note_rate(const io::RandomAccessFile& of, std::uint64_t bytes, double seconds) noexcept;
  // "used", "lost: why", "bypassed: ...".
  std::string state() const;

 private:
  bool keep_page(std::uint32_t column, std::size_t cluster, std::size_t page, ByteSpan content,
                 std::optional<std::uint64_t> sum);
  friend class HomeFile;
  friend class HomeQueue;
  friend std::shared_ptr<DataSet> open_data_set(const Settings&, const Identity&, Origin, Bytes);

  // A value of the home that has addresses.
  struct Run {
    std::uint32_t column = 0;
    RunKey key;
    std::uint64_t begin = 0;
    std::vector<std::uint64_t> ends;  // of each page with its checksum, from the beginning
    PageList origin;
    std::optional<Claim> awaited;  // of the reader that downloads it
    mutable std::atomic<bool> failed = false;
  };
  using RunRef = std::shared_ptr<const Run>;
  struct Windows {
    std::vector<RunKey> keys;
    std::vector<std::vector<std::uint64_t>> ends;
    PageList pages;  // of the origin
  };
  // A part of a run.
  struct RunRange {
    RunRef run;
    std::uint64_t offset = 0;
    MutableByteSpan into;
  };
  struct Rate {
    std::atomic<std::uint64_t> bytes = 0;
    std::atomic<std::uint64_t> nanoseconds = 0;
    void add(std::uint64_t more, double seconds) noexcept;
    double per_second() const noexcept;  // 0: not known
  };

  RunRef address_run(std::uint32_t column, const RunKey& key, const PageList& pages,
                     const std::optional<Claim>& awaited = {});
  static PageDescriptor page_in(const Run& run, std::size_t page);
  std::optional<PageDescriptor> share_page(std::uint32_t column, std::size_t cluster, std::size_t page);
  struct WindowRef {
    std::shared_ptr<const Windows> all;
    std::size_t at = 0;
    Claim claim;
  };
  std::optional<WindowRef> window_of(std::uint32_t column, std::size_t cluster, std::size_t page);
  bool is_there_by_now(const io::ValueAddress& address);
  bool await(const RunRange& range);
  RunRef run_at(std::uint64_t address) const;
  std::shared_ptr<const Windows> windows(std::uint32_t column, std::size_t cluster);
  std::vector<RunRange> split(std::uint64_t address, MutableByteSpan into) const;
  // Throws what the store throws.
  void fetch(io::ObjectStore& store, const RunRange& range) const;
  // Makes the same bytes from the origin's pages; throws what the origin throws.
  void read_origin(const RunRange& range);
  void give_up(const RunRange& range) noexcept;
  void read_home(std::uint64_t address, MutableByteSpan into);
  bool is_bypassed() const noexcept;

  const std::shared_ptr<Home> home_;
  const Claims::Reader reader_;
  const std::shared_ptr<Contents> contents_;
  const Origin origin_;
  const bool is_origin_near_;  // reading it costs as much as copying
  std::unique_ptr<io::RandomAccessFile> file_;
  std::unique_ptr<io::RandomAccessFile> awaited_;
  mutable std::shared_mutex mutex_;
  // Values of the home that have addresses, by address: existing ones, and awaited ones.
  struct Space {
    std::vector<RunRef> runs;
    std::map<std::pair<std::uint32_t, RunKey>, RunRef> by_key;
    std::uint64_t end = 0;
  };
  std::array<Space, 2> spaces_{Space{.end = first_address}, Space{.end = first_awaited}};
  std::map<std::pair<std::uint32_t, std::size_t>, std::shared_ptr<const Windows>> windows_;
  Rate origin_rate_;
  Rate home_rate_;
};

// What a local home has of header, footer and page lists.
std::optional<Metadata> kept_metadata(const Settings& settings, const Identity& identity);

// Why nothing is kept of an origin without a version.
inline constexpr std::string_view no_version =
    "its server reports neither an entity tag nor a modification time, which tell whether it has changed";

// The data set with the cache of `settings`; null if they name none, or the origin has no version.
// `metadata`, if given, is kept with it.
std::shared_ptr<DataSet> open_data_set(const Settings& settings, const Identity& identity, Origin origin,
                                       Bytes metadata);

}  // namespace colonnade::cache

#endif
