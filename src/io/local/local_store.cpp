// See local_store.h for the layout. No operation holds a lock of the process during a system call, and only
// put_if() and removals in group 0 take the lock of the store.
#include "io/local/local_store.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <exception>
#include <thread>
#include <utility>

#include "base/environment.h"
#include "io/local/local_file.h"
#include "io/local/local_store_names.h"
#include "io/local/local_store_pending.h"
#include "io/local/local_system.h"
#include "io/local/open_values.h"
#include "io/object_checks.h"

namespace colonnade::io {
namespace {

using namespace local_store;

constexpr std::size_t open_files = 128;

StoreTraits traits_of_local() noexcept {
  return {.max_value = std::size_t{1} << 30,
          .best_value = std::size_t{16} << 20,
          .ranges = true,
          .vectors = false,
          .finds_objects = true,
          .max_items = std::size_t{1} << 16,
          .concurrency = 4,
          .worthwhile_gap = std::size_t{16} << 10,
          .reads_are_copies = true};
}

// Repeats a call that a signal interrupts.
template <class Call>
auto uninterrupted(Call&& call) {
  while (true) {
    const auto result = call();
    if (result >= 0 || errno != EINTR) return result;
  }
}

// Fills a new file; false with errno if the system refuses.
bool write_all(const StoreCalls& calls, int file, std::vector<iovec>& vectors) {
  std::uint64_t offset = 0;
  std::size_t first = 0;
  while (first < vectors.size()) {
    const ssize_t done = uninterrupted([&] {
      return calls.pwritev(file, vectors.data() + first, batch_of(vectors, first),
                           static_cast<off_t>(offset));
    });
    if (done == 0) errno = EIO;
    if (done <= 0) return false;
    offset += static_cast<std::uint64_t>(done);
    first = advance(vectors, first, static_cast<std::size_t>(done));
  }
  return true;
}

// Calls `use` with the name of each entry of a folder; returns the system's error, or 0.
template <class Use>
int for_each_name(int root, const std::string& path, Use&& use) {
  const int number =
      uninterrupted([&] { return ::openat(root, path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); });
  if (number < 0) return errno;
  DIR* const folder = ::fdopendir(number);
  if (folder == nullptr) {
    const int code = errno;
    ::close(number);
    return code;
  }
  const std::unique_ptr<DIR, int (*)(DIR*)> closing(folder, ::closedir);
  errno = 0;
  while (const dirent* entry = ::readdir(folder)) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") use(name);
    errno = 0;
  }
  return errno;
}

class LocalStore final : public ObjectStore {
 public:
  LocalStore(std::string uri, std::string path, FileDescriptor root, bool created, bool marker_flushed,
             StoreCalls calls)
      : uri_(std::move(uri)),
        path_(std::move(path)),
        root_(std::move(root)),
        calls_(std::move(calls)),
        is_on_network_(calls_.is_on_network(root_.get())),
        pending_(created),
        is_marker_flushed_(marker_flushed) {}

  const std::string& uri() const noexcept override { return uri_; }
  StoreTraits traits() const noexcept override { return traits_of_local(); }
  bool is_gone() const noexcept override;

  void fetch(const ObjectId& object, std::uint64_t dkey, std::span<const FetchItem> items) const override;
  void update(const ObjectId& object, std::uint64_t dkey, std::span<const UpdateItem> items) override;
  void will_need(const ValueAddress& address, std::uint64_t offset,
                 std::uint64_t size) const noexcept override;
  std::optional<std::uint64_t> size(const ValueAddress& address) const override;
  std::optional<Versioned> get(const ValueAddress& address) const override;
  bool put_if(const ValueAddress& address, ByteSpan value,
              const std::optional<std::string>& expected) override;
  std::vector<std::uint64_t> list_dkeys(const ObjectId& object) const override;
  std::vector<std::uint64_t> list_akeys(const ObjectId& object, std::uint64_t dkey) const override;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> list_values(const ObjectId& object) const override;
  void remove(const ValueAddress& address) override;
  void remove_objects(std::uint32_t group, std::uint64_t first, std::uint64_t last) override;
  std::vector<std::uint32_t> list_groups() const override;
  std::uint64_t remove_leftovers(bool only_look) override;
  void sync() override;
  void sync_with(const ValueAddress& address) override { pending_.add(address); }

 private:
  class Staged;

  [[noreturn]] void fail(std::string_view action, const std::string& place, int code) const;
  FileDescriptor open_value(const ValueAddress& address, struct stat& status) const;
  std::shared_ptr<const OpenValue> find_value(const ValueAddress& address) const;
  void read(const ValueAddress& address, const OpenValue& value, const FetchItem& item) const;
  std::optional<std::string> version_of(const ValueAddress& address) const;
  void make_folders(const ObjectId& object) const;
  FileDescriptor create(const ObjectId& object, const std::string& path, const std::string& place) const;
  void write(int file, const ValueAddress& address, std::span<const ByteSpan> parts) const;
  FileDescriptor lock(bool needed, bool* is_locked = nullptr) const;
  void flush_marker() const;
  std::vector<std::string> names_in(const std::string& path) const;
  void remove_file(const std::string& path) const;
  void remove_object(const ObjectId& object) const;
  std::vector<std::string> temporary_files() const;
  bool is_abandoned(const std::string& path, std::int64_t now) const;
  void sync_file(const std::string& path, bool is_folder) const;
  void sync_folder_of_store() const;
  void sync_values(const std::vector<ValueAddress>& addresses) const;

  std::string uri_;
  std::string path_;  // of the folder, for messages
  FileDescriptor root_;
  StoreCalls calls_;
  bool is_on_network_;
  PendingValues pending_;
  // The system reports a failure once, and forgets what it could not write: a later call may succeed without
  // it.
  mutable std::atomic<bool> is_lost_ = false;
  std::exception_ptr flush_failure_;  // of sync(), in its turn
  mutable OpenValues open_{open_files};
  std::atomic<bool> is_folder_flushed_ = false;
  mutable std::atomic<bool> is_marker_flushed_;
};

// "cannot read object 7:42, distribution key 3, attribute key 0 in "/data/store/7/42/3-0" (reason)".
void LocalStore::fail(std::string_view action, const std::string& place, int code) const {
  if (is_gone())
    throw Error(ErrorKind::io,
                fmt::format("cannot {} in \"{}\": the folder of the store was removed", action, place),
                "check that no other program removes it, and open it again", {.uri = uri_});
  // A missing path here means that the store is damaged, not that it is missing.
  if (code == ENOENT || code == ENOTDIR)
    throw Error(ErrorKind::io, fmt::format("cannot {} in \"{}\" ({})", action, place, system_text(code)),
                "check that no other program moves or removes files of the store", {.uri = uri_});
  fail_system(uri_, fmt::format("{} in \"{}\"", action, place), code);
}

bool LocalStore::is_gone() const noexcept {
  struct stat status{};
  return ::fstat(root_.get(), &status) == 0 ? status.st_nlink == 0 : errno == ESTALE;
}

std::string place_of(const std::string& root, const ValueAddress& address) {
  return fmt::format("{}/{}", root, path_of(address));
}

// ---- Reading

// Descriptor -1 if there is no such value.
FileDescriptor LocalStore::open_value(const ValueAddress& address, struct stat& status) const {
  const std::string path = path_of(address);
  const auto open = [&] { return calls_.open(root_.get(), path.c_str(), O_RDONLY | O_NONBLOCK); };
  int number = uninterrupted(open);
  if (number < 0 && (errno == EMFILE || errno == ENFILE)) {
    open_.forget_all();
    number = uninterrupted(open);
  }
  if (number < 0 && errno == ENOENT) return FileDescriptor(-1);
  if (number < 0) fail(fmt::format("open {}", to_text(address)), place_of(path_, address), errno);
  FileDescriptor file(number);
  if (::fstat(file.get(), &status) != 0)
    fail(fmt::format("examine {}", to_text(address)), place_of(path_, address), errno);
  if (!S_ISREG(status.st_mode))
    throw Error(ErrorKind::io,
                fmt::format("{}: \"{}\" is not a regular file", to_text(address), place_of(path_, address)),
                "remove what does not belong in the store", {.uri = uri_});
  return file;
}

std::shared_ptr<const OpenValue> LocalStore::find_value(const ValueAddress& address) const {
  if (std::shared_ptr<const OpenValue> value = open_.find(address)) return value;
  struct stat status{};
  FileDescriptor file = open_value(address, status);
  if (file.get() < 0) fail_missing(uri_, address);
  auto value = std::make_shared<const OpenValue>(
      OpenValue{std::move(file), static_cast<std::uint64_t>(status.st_size)});
  open_.keep(address, value);
  return value;
}

void LocalStore::read(const ValueAddress& address, const OpenValue& value, const FetchItem& item) const {
  check_value_range(uri_, address, value.size, item.offset, item.into.size());
  std::uint64_t offset = item.offset;
  MutableByteSpan into = item.into;
  while (!into.empty()) {
    const iovec part{into.data(), std::min(into.size(), std::size_t{1} << 30)};
    const ssize_t done =
        uninterrupted([&] { return calls_.preadv(value.file.get(), &part, 1, static_cast<off_t>(offset)); });
    if (done < 0) fail(fmt::format("read {}", to_text(address)), place_of(path_, address), errno);
    if (done == 0)
      check_value_range(uri_, address, offset, offset, into.size());  // another process truncated the file
    offset += static_cast<std::uint64_t>(done);
    into = into.subspan(static_cast<std::size_t>(done));
  }
}

void LocalStore::fetch(const ObjectId& object, std::uint64_t dkey, std::span<const FetchItem> items) const {
  check_fetch(uri_, traits(), object, dkey, items);
  for (const FetchItem& item : items) {
    const ValueAddress address{object, dkey, item.akey};
    read(address, *find_value(address), item);
  }
}

void LocalStore::will_need(const ValueAddress& address, std::uint64_t offset,
                           std::uint64_t size) const noexcept {
  try {
    static_cast<void>(::posix_fadvise(find_value(address)->file.get(), static_cast<off_t>(offset),
                                      static_cast<off_t>(size), POSIX_FADV_WILLNEED));
  } catch (...) {  // fetch() will report the error
  }
}

std::optional<std::uint64_t> LocalStore::size(const ValueAddress& address) const {
  struct stat status{};
  if (open_value(address, status).get() < 0) return std::nullopt;
  return static_cast<std::uint64_t>(status.st_size);
}

std::string version_text(const struct stat& status) {
  return fmt::format("{}-{}.{:09}-{}", status.st_ino, status.st_mtim.tv_sec, status.st_mtim.tv_nsec,
                     status.st_size);
}

std::optional<ObjectStore::Versioned> LocalStore::get(const ValueAddress& address) const {
  struct stat status{};
  FileDescriptor file = open_value(address, status);
  if (file.get() < 0) return std::nullopt;
  const OpenValue value{std::move(file), static_cast<std::uint64_t>(status.st_size)};
  if (value.size > traits().max_value)
    throw Error(ErrorKind::format,
                fmt::format("{}: \"{}\" has {} bytes, more than a value may have", to_text(address),
                            place_of(path_, address), value.size),
                "remove what does not belong in the store", {.uri = uri_});
  Versioned result{Bytes(static_cast<std::size_t>(value.size)), version_text(status)};
  read(address, value, {address.akey, 0, result.value});
  return result;
}

std::optional<std::string> LocalStore::version_of(const ValueAddress& address) const {
  struct stat status{};
  if (open_value(address, status).get() < 0) return std::nullopt;
  return version_text(status);
}

// ---- Writing

// New values must not outlive the marker that makes the folder a store.
void flush_marker_of(const StoreCalls& calls, const FileDescriptor& root, const std::string& uri,
                     const std::string& path) {
  if (!is_flushed(uninterrupted([&] { return calls.fsync(root.get()); })))
    fail_system(uri, fmt::format("flush the folder \"{}\" to the device", path), errno);
}

// Before the first change: the process that made the store may have died before flushing it.
void LocalStore::flush_marker() const {
  if (is_marker_flushed_) return;
  flush_marker_of(calls_, root_, uri_, path_);
  is_marker_flushed_ = true;
}

void LocalStore::make_folders(const ObjectId& object) const {
  for (const std::string& path : {path_of(object.group), path_of(object)})
    if (calls_.make_folder(root_.get(), path.c_str()) != 0 && errno != EEXIST)
      fail(fmt::format("make a folder for {}", to_text(object)), fmt::format("{}/{}", path_, path), errno);
}

// The folder nearly always exists, so it is made only if creating the file fails; and again if another
// process removed the empty folder meanwhile.
FileDescriptor LocalStore::create(const ObjectId& object, const std::string& path,
                                  const std::string& place) const {
  flush_marker();
  for (int attempt = 0;; ++attempt) {
    const int number = uninterrupted(
        [&] { return calls_.open(root_.get(), path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NONBLOCK); });
    if (number >= 0) return FileDescriptor(number);
    if (errno != ENOENT || attempt == 10) fail(fmt::format("write {}", place), path_ + '/' + path, errno);
    make_folders(object);
  }
}

// A value under its temporary name: removed unless it is renamed.
class LocalStore::Staged {
 public:
  Staged(const LocalStore& store, const ValueAddress& address, std::span<const ByteSpan> parts)
      : store_(&store),
        address_(address),
        path_(fmt::format("{}/{}", path_of(address.object), temporary_name())),
        file_(store.create(address.object, path_, to_text(address))) {
    // It is locked while it has this name, which distinguishes it from leftovers of dead processes.
    static_cast<void>(::flock(file_.get(), LOCK_EX | LOCK_NB));
    try {
      store.write(file_.get(), address, parts);
    } catch (...) {
      remove();
      throw;
    }
  }
  Staged(const Staged&) = delete;
  Staged& operator=(const Staged&) = delete;
  ~Staged() {
    if (!done_) remove();
  }

  // Returns false if `replace` is not set and there is a value. If the file system cannot check that, a
  // caller that holds the lock, and has looked, may `insist`.
  bool become_value(bool replace, bool insist = false) {
    if (rename(replace) || (insist && errno == ENOTSUP && rename(true))) return done_ = true;
    if (!replace && errno == EEXIST) return false;
    store_->fail(fmt::format("put {} into its place", to_text(address_)), place_of(store_->path_, address_),
                 errno);
  }

 private:
  bool rename(bool replace) {
    const std::string target = path_of(address_);
    return store_->calls_.rename(store_->root_.get(), path_.c_str(), target.c_str(), replace) == 0;
  }
  void remove() noexcept { ::unlinkat(store_->root_.get(), path_.c_str(), 0); }

  const LocalStore* store_;
  ValueAddress address_;
  std::string path_;
  FileDescriptor file_;
  bool done_ = false;
};

void LocalStore::write(int file, const ValueAddress& address, std::span<const ByteSpan> parts) const {
  std::vector<iovec> vectors;
  vectors.reserve(parts.size());
  for (ByteSpan part : parts)
    if (!part.empty()) vectors.push_back({const_cast<std::byte*>(part.data()), part.size()});
  if (!write_all(calls_, file, vectors))
    fail(fmt::format("write {}", to_text(address)), place_of(path_, address), errno);
  // The system's own timestamps are too coarse: they are part of the version.
  std::array<timespec, 2> times{};
  ::clock_gettime(CLOCK_REALTIME, times.data());
  times[1] = times[0];
  ::futimens(file, times.data());
  // A record replaces a committed one: even after a crash of the machine, its name must have its
  // bytes. A network file system may refuse later what it has accepted, also pages.
  if ((address.object.group == 0 || is_on_network_) &&
      !is_flushed(uninterrupted([&] { return calls_.fsync(file); })))
    fail(fmt::format("flush {} to the device", to_text(address)), place_of(path_, address), errno);
}

void LocalStore::update(const ObjectId& object, std::uint64_t dkey, std::span<const UpdateItem> items) {
  check_update(uri_, traits(), object, dkey, items);
  for (const UpdateItem& item : items) {
    const ValueAddress address{object, dkey, item.akey};
    Staged(*this, address, item.parts).become_value(true);
    open_.forget(address);
    pending_.add(address);
  }
}

// A conditional replacement holds the lock for a few milliseconds; only a stopped process holds it longer.
// Unless `needed`, a file system without locks is acceptable.
FileDescriptor LocalStore::lock(bool needed, bool* is_locked) const {
  constexpr std::chrono::milliseconds step{2};
  constexpr std::chrono::seconds longest{30};
  flush_marker();
  const std::string place = fmt::format("{}/{}", path_, lock_name);
  FileDescriptor file(
      uninterrupted([&] { return calls_.open(root_.get(), lock_name, O_RDWR | O_CREAT | O_NONBLOCK); }));
  if (file.get() < 0) fail("open the lock of the store", place, errno);
  const auto begin = std::chrono::steady_clock::now();
  while (calls_.lock(file.get()) != 0) {
    if (has_no_locks(errno) && !needed) return file;
    if (has_no_locks(errno))
      throw Error(ErrorKind::io,
                  fmt::format("cannot lock the store in \"{}\" ({})", place, system_text(errno)),
                  "a store on a file system with locks (flock), or a file", {.uri = uri_});
    if (errno != EWOULDBLOCK && errno != EINTR) fail("lock the store", place, errno);
    if (std::chrono::steady_clock::now() - begin > longest)
      throw Error(ErrorKind::io,
                  fmt::format("cannot lock the store: another process has held \"{}\" for 30 seconds", place),
                  "look for a process that is stopped (lslocks shows which)", {.uri = uri_});
    std::this_thread::sleep_for(step);
  }
  file.note_lock();
  if (is_locked != nullptr) *is_locked = true;
  return file;
}

bool LocalStore::put_if(const ValueAddress& address, ByteSpan value,
                        const std::optional<std::string>& expected) {
  check_value_size(uri_, traits(), address, value.size());
  bool is_locked = false;
  const FileDescriptor held = lock(expected.has_value(), &is_locked);
  if (version_of(address) != expected) return false;
  if (!Staged(*this, address, {&value, 1}).become_value(expected.has_value(), is_locked)) return false;
  open_.forget(address);
  pending_.add(address);
  return true;
}

// ---- Listing and removing

std::vector<std::string> LocalStore::names_in(const std::string& path) const {
  std::vector<std::string> names;
  const int code = for_each_name(root_.get(), path, [&](std::string_view name) { names.emplace_back(name); });
  if (code != 0 && code != ENOENT) fail("list what is", fmt::format("{}/{}", path_, path), code);
  return names;
}

std::vector<std::uint64_t> LocalStore::list_dkeys(const ObjectId& object) const {
  std::vector<std::uint64_t> keys;
  for (const std::string& name : names_in(path_of(object)))
    if (const auto found = keys_in(name)) keys.push_back(found->first);
  std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  return keys;
}

std::vector<std::uint64_t> LocalStore::list_akeys(const ObjectId& object, std::uint64_t dkey) const {
  std::vector<std::uint64_t> keys;
  for (const std::string& name : names_in(path_of(object)))
    if (const auto found = keys_in(name); found && found->first == dkey) keys.push_back(found->second);
  std::sort(keys.begin(), keys.end());
  return keys;
}

// All values of an object lie in one folder: it is read once, not once per distribution key.
std::vector<std::pair<std::uint64_t, std::uint64_t>> LocalStore::list_values(const ObjectId& object) const {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> keys;
  for (const std::string& name : names_in(path_of(object)))
    if (const auto found = keys_in(name)) keys.push_back(*found);
  std::sort(keys.begin(), keys.end());
  return keys;
}

void LocalStore::remove_file(const std::string& path) const {
  if (::unlinkat(root_.get(), path.c_str(), 0) != 0 && errno != ENOENT)
    fail("remove what is", fmt::format("{}/{}", path_, path), errno);
}

void LocalStore::remove(const ValueAddress& address) {
  // Not while another process that has read its version replaces it.
  const FileDescriptor held = address.object.group == 0 ? lock(false) : FileDescriptor(-1);
  remove_file(path_of(address));
  open_.forget(address);
  pending_.add(address);
}

void LocalStore::remove_object(const ObjectId& object) const {
  const std::string folder = path_of(object);
  for (const std::string& name : names_in(folder))
    if (keys_in(name) || is_temporary(name)) remove_file(fmt::format("{}/{}", folder, name));
  ::unlinkat(root_.get(), folder.c_str(), AT_REMOVEDIR);  // fails unless it is empty
}

void LocalStore::remove_objects(std::uint32_t group, std::uint64_t first, std::uint64_t last) {
  for (const std::string& name : names_in(path_of(group)))
    if (const auto number = number_in(name); number && *number >= first && *number <= last)
      remove_object({group, *number});
  ::unlinkat(root_.get(), path_of(group).c_str(), AT_REMOVEDIR);
  open_.forget_all();
  pending_.add_root();
}

// ---- Leftovers

// Local file systems, whose locks all processes see that may use the store.
bool is_of_this_machine(int file) noexcept {
  constexpr std::array<std::uint32_t, 7> local{0xef53,     0x58465342, 0x9123683e, 0x01021994,
                                               0x794c7630, 0xf2f52010, 0x2fc12fc1};
  struct statfs status{};
  if (::fstatfs(file, &status) != 0) return false;
  return std::find(local.begin(), local.end(), static_cast<std::uint32_t>(status.f_type)) != local.end();
}

std::vector<std::string> LocalStore::temporary_files() const {
  std::vector<std::string> files;
  const auto look_into = [&](const std::string& folder) {
    for (const std::string& name : names_in(folder))
      if (is_temporary(name)) files.push_back(fmt::format("{}/{}", folder, name));
  };
  look_into(".");
  for (const std::string& group : names_in("."))
    if (number_in(group))
      for (const std::string& number : names_in(group))
        if (number_in(number)) look_into(fmt::format("{}/{}", group, number));
  return files;
}

// On other file systems a lock may be invisible; no process takes this long for a value.
bool LocalStore::is_abandoned(const std::string& path, std::int64_t now) const {
  constexpr std::int64_t longest = 600;  // seconds
  const FileDescriptor file(uninterrupted(
      [&] { return ::openat(root_.get(), path.c_str(), O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC); }));
  struct stat status{};
  if (file.get() < 0 || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return false;
  if (::flock(file.get(), LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK) return false;
  return is_of_this_machine(file.get()) || now - status.st_ctim.tv_sec > longest;
}

std::vector<std::uint32_t> LocalStore::list_groups() const {
  std::vector<std::uint32_t> groups;
  for (const std::string& name : names_in("."))
    if (const auto group = number_in(name); group && *group > 0 && *group <= 0xffffffff)
      groups.push_back(static_cast<std::uint32_t>(*group));
  std::sort(groups.begin(), groups.end());
  return groups;
}

std::uint64_t LocalStore::remove_leftovers(bool only_look) {
  std::vector<std::string> files = temporary_files();
  if (files.empty()) return 0;
  // A file that was just created may not be locked yet.
  environment().sleep_for(std::chrono::milliseconds(100));
  const std::int64_t now = environment().unix_time();
  std::erase_if(files, [&](const std::string& path) { return !is_abandoned(path, now); });
  if (only_look) return files.size();
  for (const std::string& path : files) remove_file(path);
  pending_.add_root();
  return files.size();
}

// ---- Making it durable

void LocalStore::sync_file(const std::string& path, bool is_folder) const {
  const FileDescriptor file(uninterrupted([&] {
    return calls_.open(root_.get(), path.c_str(), O_RDONLY | O_NONBLOCK | (is_folder ? O_DIRECTORY : 0));
  }));
  if (file.get() < 0 && errno == ENOENT) return;  // replaced or removed meanwhile
  if (file.get() >= 0 && is_flushed(uninterrupted([&] { return calls_.fsync(file.get()); }))) return;
  is_lost_ = file.get() >= 0;
  fail("flush to the device what is", fmt::format("{}/{}", path_, path), errno);
}

// Values before folders, so that no name survives without its bytes.
void LocalStore::sync_values(const std::vector<ValueAddress>& addresses) const {
  std::vector<std::string> folders{"."};
  for (const ValueAddress& address : addresses) {
    sync_file(path_of(address), false);
    folders.push_back(path_of(address.object));
    folders.push_back(path_of(address.object.group));
  }
  std::sort(folders.begin(), folders.end());
  folders.erase(std::unique(folders.begin(), folders.end()), folders.end());
  for (const std::string& folder : folders) sync_file(folder, true);
}

// The process that made the store may have died before the store was on the device. Its parent folder may not
// be accessible.
void LocalStore::sync_folder_of_store() const {
  try {
    sync_file("..", true);
  } catch (const Error&) {
    return;
  }
}

void LocalStore::sync() {
  const auto turn = pending_.turn();
  if (flush_failure_) std::rethrow_exception(flush_failure_);
  PendingValues::Taken taken = pending_.take();
  try {
    if (taken.created) {
      sync_file("..", true);
      is_folder_flushed_ = true;
    } else if (!is_folder_flushed_.exchange(true)) {
      sync_folder_of_store();
    }
    if (taken.too_many) {
      if (!is_flushed(uninterrupted([&] { return calls_.syncfs(root_.get()); }))) {
        is_lost_ = true;
        fail("flush to the device what is", path_, errno);
      }
    } else if (!taken.addresses.empty() || taken.root || taken.created) {
      sync_values(taken.addresses);
    }
  } catch (...) {
    if (is_lost_)
      flush_failure_ = std::current_exception();
    else
      pending_.give_back(std::move(taken));
    throw;
  }
}

// ---- Opening

[[noreturn]] void fail_no_store(const std::string& uri, const std::string& path, const char* why) {
  throw Error(ErrorKind::not_found, fmt::format("there is no object store in \"{}\": {}", path, why),
              "check the path; writing creates a store in a folder that is empty or does not exist",
              {.uri = uri});
}

[[noreturn]] void fail_marker(const std::string& uri, const std::string& place, std::string_view text) {
  std::string_view expected = marker_text;
  expected.remove_suffix(1);
  const bool names_layout =
      text.starts_with(expected.substr(0, expected.rfind(' ') + 1)) && text.ends_with('\n');
  throw Error(
      ErrorKind::unsupported,
      fmt::format("the object store is damaged or of a later version: \"{}\" does not say \"{}\"", place,
                  expected),
      names_layout
          ? "a later version of Colonnade, as the file names another layout"
          : fmt::format("a look into the file: if it names no other layout it is damaged, and with just this "
                        "line the store can be opened again; then `colonnade verify {}` checks the data",
                        uri),
      {.uri = uri});
}

// True if the folder is a store. Throws ErrorKind::unsupported for the layout of another version.
bool has_marker(const StoreCalls& calls, const FileDescriptor& root, const std::string& uri,
                const std::string& path) {
  const std::string place = fmt::format("{}/{}", path, marker_name);
  const FileDescriptor file(
      uninterrupted([&] { return calls.open(root.get(), marker_name, O_RDONLY | O_NONBLOCK); }));
  if (file.get() < 0 && errno == ENOENT) return false;
  if (file.get() < 0) fail_system(uri, fmt::format("open \"{}\"", place), errno);
  std::string text(64, '\0');
  std::size_t size = 0;
  while (size < text.size()) {
    const iovec rest{text.data() + size, text.size() - size};
    const ssize_t more =
        uninterrupted([&] { return calls.preadv(file.get(), &rest, 1, static_cast<off_t>(size)); });
    if (more < 0) fail_system(uri, fmt::format("read \"{}\"", place), errno);
    if (more == 0) break;
    size += static_cast<std::size_t>(more);
  }
  text.resize(size);
  if (text != marker_text) fail_marker(uri, place, text);
  return true;
}

void make_marker(const StoreCalls& calls, const FileDescriptor& root, const std::string& uri,
                 const std::string& path, std::span<const std::string> remains) {
  bool is_empty = true;
  const int code = for_each_name(root.get(), ".", [&](std::string_view name) {
    is_empty = is_empty && (is_temporary(name) || std::ranges::find(remains, name) != remains.end());
  });
  if (code != 0) fail_system(uri, fmt::format("list \"{}\"", path), code);
  // Another process may have made it a store meanwhile.
  if (!is_empty && has_marker(calls, root, uri, path)) return;
  if (!is_empty) fail_no_store(uri, path, "the folder holds other things");
  const std::string name = temporary_name();
  const auto check = [&](bool done) {
    if (done) return;
    const int refusal = errno;
    ::unlinkat(root.get(), name.c_str(), 0);
    fail_system(uri, fmt::format("make a store of \"{}\"", path), refusal);
  };
  const FileDescriptor file(uninterrupted(
      [&] { return calls.open(root.get(), name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NONBLOCK); }));
  check(file.get() >= 0);
  const std::string_view text = marker_text;
  std::vector<iovec> vectors{{const_cast<char*>(text.data()), text.size()}};
  check(write_all(calls, file.get(), vectors));
  check(is_flushed(uninterrupted([&] { return calls.fsync(file.get()); })));
  check(calls.rename(root.get(), name.c_str(), marker_name, true) == 0);
}

}  // namespace

StoreCalls StoreCalls::of_system() {
  return {
      .open = [](int folder, const char* path,
                 int flags) { return ::openat(folder, path, flags | O_CLOEXEC, 0666); },
      .make_folder = [](int folder, const char* path) { return ::mkdirat(folder, path, 0777); },
      .pwritev = ::pwritev,
      .preadv = ::preadv,
      .rename =
          [](int folder, const char* from, const char* to, bool replace) {
            return replace ? ::renameat(folder, from, folder, to) : rename_or_link(folder, from, to);
          },
      .lock = [](int file) { return ::flock(file, LOCK_EX | LOCK_NB); },
      .fsync = ::fsync,
      .is_on_network = [](int file) { return io::is_on_network(file); },
      .syncfs = ::syncfs,
  };
}

std::shared_ptr<ObjectStore> open_local_store(const std::string& uri, const StoreOptions& options) {
  return open_local_store(uri, options, StoreCalls::of_system());
}

std::shared_ptr<ObjectStore> open_local_store(const std::string& uri, const StoreOptions& options,
                                              StoreCalls calls, std::span<const std::string> remains) {
  const std::string path = local_path(uri, "obj:");
  const bool made = options.create && calls.make_folder(AT_FDCWD, path.c_str()) == 0;
  if (options.create && !made && errno != EEXIST)
    fail_system(uri, fmt::format("make the folder \"{}\"", path), errno);
  FileDescriptor root(
      uninterrupted([&] { return calls.open(AT_FDCWD, path.c_str(), O_RDONLY | O_DIRECTORY); }));
  if (root.get() < 0 && errno == ENOENT) fail_no_store(uri, path, "the folder does not exist");
  if (root.get() < 0 && errno == ENOTDIR) fail_no_store(uri, path, "it is not a folder");
  if (root.get() < 0) fail_system(uri, fmt::format("open the folder \"{}\"", path), errno);
  bool created = false;
  if (!has_marker(calls, root, uri, path)) {
    if (!options.create) fail_no_store(uri, path, "it is some other folder");
    make_marker(calls, root, uri, path, remains);
    created = true;
  }
  if (options.create) flush_marker_of(calls, root, uri, path);
  return std::make_shared<LocalStore>(uri, path, std::move(root), created, options.create, std::move(calls));
}

}  // namespace colonnade::io
