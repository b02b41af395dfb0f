// Opening files by name, and new files that are renamed into place when they are complete; see
// file_system.h.
#include "io/file_system.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/after_commit.h"
#include "base/environment.h"
#include "base/process.h"
#include "io/aside_stem.h"

namespace colonnade::io {
namespace {

constexpr std::string_view suffix = ".part";
constexpr std::size_t digits = 16;
// The length of the file's name within the temporary name, so that the latter fits the file system's limit.
constexpr std::size_t longest_stem = 96;

std::string_view last_part(std::string_view path) {
  return path.substr(path.find_last_of('/') + 1);  // npos + 1 is 0
}

bool is_number(std::string_view text) noexcept {
  return text.size() == digits && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

// FNV-1a: the same in every process.
std::uint64_t sum_of(std::string_view text) noexcept {
  std::uint64_t sum = 0xcbf29ce484222325u;
  for (const char letter : text) sum = (sum ^ static_cast<unsigned char>(letter)) * 0x100000001b3u;
  return sum;
}

std::string beside(const std::string& path, const std::string& name) {
  return path.substr(0, path.size() - last_part(path).size()) + name;
}

// ".f.root.0123456789abcdef.part" becomes "f.root.0123456789abcdef.kept".
std::string kept_path(const std::string& aside) {
  const std::string_view name = last_part(aside);
  return beside(aside, fmt::format("{}.kept", name.substr(1, name.size() - 1 - suffix.size())));
}

[[noreturn]] void refuse_existing(const std::string& uri) {
  throw Error(ErrorKind::usage, "the file already exists, but a new one was to be created",
              "another name, or replace it explicitly", {.uri = uri});
}

class NamedFile final : public WritableFile {
 public:
  NamedFile(std::shared_ptr<FileSystem> files, std::string uri, std::string path)
      : files_(std::move(files)), uri_(std::move(uri)), path_(std::move(path)) {}
  ~NamedFile() override { drop_aside(); }
  NamedFile(const NamedFile&) = delete;
  NamedFile& operator=(const NamedFile&) = delete;

  void open(const WriteFileOptions& options) {
    file_ = files_->open(path_, uri_, options).file;
    if (file_ == nullptr) fail_locked(uri_);
  }

  // Another writer that begins at the same time finds this one's temporary file, or the other way round.
  void create(const WriteFileOptions& options, bool must_be_new) {
    const bool is_there = files_->exists(path_, uri_);
    if (is_there && must_be_new) refuse_existing(uri_);
    if (is_there) lock_replaced();
    const std::string stem = aside_stem(path_);
    aside_ = beside(path_, fmt::format("{}{:016x}{}", stem, environment().random_number(), suffix));
    LockedFile made = files_->create(aside_, uri_, replaced_ ? path_ : std::string(), options);
    file_ = std::move(made.file);
    if (file_ == nullptr) fail_locked(uri_);
    if (made.is_locked) clear_leftovers(stem);
    // A temporary file may have been renamed into place after we looked for the target.
    if (!replaced_ && files_->exists(path_, uri_)) {
      if (must_be_new) refuse_existing(uri_);
      lock_replaced();
    }
  }

  const std::string& uri() const noexcept override { return uri_; }
  std::uint64_t size() const override { return file().size(); }
  void read(std::uint64_t offset, MutableByteSpan into) const override { file().read(offset, into); }
  void write(std::uint64_t offset, ByteSpan bytes) override { file().write(offset, bytes); }
  void write_vector(std::uint64_t offset, std::span<const ByteSpan> parts) override {
    file().write_vector(offset, parts);
  }
  bool can_copy(const RandomAccessFile& from) const noexcept override {
    return file_ != nullptr && file_->can_copy(from);
  }
  std::uint64_t copy(std::uint64_t offset, const RandomAccessFile& from, std::uint64_t begin,
                     std::uint64_t size) override {
    return file().copy(offset, from, begin, size);
  }
  void truncate(std::uint64_t size) override { file().truncate(size); }
  void preallocate(std::uint64_t size) override { file().preallocate(size); }
  void flush() override { file().flush(); }

  void sync() override {
    file().sync();
    if (is_name_safe_ || !is_published()) return;
    files_->sync_folder(path_, uri_);
    is_name_safe_ = true;
  }

  // The replaced file is removed only once the new one is on the device, whatever the durability.
  bool publish() override {
    if (is_published()) return false;
    const bool replaces = replaced_ != nullptr;
    replaces ? file().sync() : file().flush();
    try {
      put_in_place();
    } catch (const Error& error) {
      keep(error);
    }
    aside_.clear();
    replaced_.reset();
    if (replaces) after_commit([&] { sync(); });
    return true;
  }
  bool is_published() const noexcept override { return aside_.empty(); }
  bool replaces() const noexcept override { return replaced_ != nullptr; }

  void close() override {
    publish();
    file().close();
  }
  void discard() noexcept override { drop_aside(); }

 private:
  WritableFile& file() const {
    if (file_ == nullptr)
      throw Error(ErrorKind::usage, "the file is already closed", "use it before close()", {.uri = uri_});
    return *file_;
  }

  // Nothing is replaced but the file that existed, and was locked, when writing began.
  void put_in_place() {
    if (replaced_) {
      check_replaced();
      files_->rename(aside_, path_, uri_);
    } else if (!files_->rename_new(aside_, path_, uri_)) {
      refuse_others();
    }
  }

  // The file is complete, and what is in it may not come again: its new name is one that no writer removes.
  [[noreturn]] void keep(const Error& error) {
    const char* what = "the complete new file is kept as";
    try {
      const std::string kept = is_kept_ ? aside_ : kept_path(aside_);
      if (!is_kept_) files_->rename(aside_, kept, uri_);
      aside_ = kept;
    } catch (const Error&) {
      what = "unless it is there, the complete new file is";
    }
    is_kept_ = true;
    throw Error(error.kind(), fmt::format("{}; {} \"{}\"", error.problem(), what, last_part(aside_)),
                error.advice(), error.context());
  }

  [[noreturn]] void refuse_others() const {
    throw Error(ErrorKind::io,
                "another program has created the file since this one was started; its file is left as it is",
                "look at what was written there, and rename or remove the new file", {.uri = uri_});
  }

  void lock_replaced() {
    LockedFile found = files_->open(path_, uri_, {});
    if (found.file == nullptr) fail_locked(uri_);
    replaced_ = std::move(found.file);
    replaced_version_ = std::move(found.version);
  }

  // The target is locked by this writer, or does not exist. A server may have forgotten the lock: then this
  // writer has locked it again.
  void check_replaced() {
    try {
      LockedFile now = files_->open(path_, uri_, {});
      if (now.file == nullptr || !now.is_locked) return;
      if (now.version.empty() || now.version != replaced_version_) refuse_others();
      replaced_ = std::move(now.file);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::not_found) throw;
    }
  }

  void clear_leftovers(const std::string& stem) {
    for (const std::string& name : files_->names_beside(path_)) {
      if (name == last_part(aside_) || !name.starts_with(stem) || !is_aside_name(name) ||
          name.size() != stem.size() + digits + suffix.size())
        continue;
      // If a new file gets its name by a second link, a process may die before it removes the first one.
      if (files_->is_same(path_, beside(path_, name)))
        files_->remove(beside(path_, name));
      else if (is_alive(beside(path_, name)))
        fail_locked(uri_);
    }
    files_->remove_old_leftovers(path_);
  }

  // Removes the temporary file if its writer is dead.
  bool is_alive(const std::string& aside) {
    try {
      const LockedFile found = files_->open(aside, uri_, {});
      if (found.file == nullptr) return true;
      if (found.is_locked) files_->remove(aside);
    } catch (const Error&) {  // its writer has just ended, or it belongs to another user
    }
    return false;
  }

  void drop_aside() noexcept {
    if (is_published()) return;
    try {
      file_.reset();
      const std::string aside = std::exchange(aside_, {});
      if (process_.is_current() && !is_kept_) files_->remove(aside);
    } catch (...) {  // the next writer here removes it
    }
    replaced_.reset();
  }

  std::shared_ptr<FileSystem> files_;
  std::string uri_;
  std::string path_;
  std::string aside_;                       // the temporary file's path until it is renamed; else empty
  std::unique_ptr<WritableFile> replaced_;  // kept locked until then
  std::string replaced_version_;
  std::unique_ptr<WritableFile> file_;
  bool is_name_safe_ = false;  // on the device
  bool is_kept_ = false;       // complete, but not in its place
  const Process process_;      // a forked child leaves the file to its parent
};

}  // namespace

void fail_locked(const std::string& uri) {
  throw Error(ErrorKind::io, "cannot open for writing: another writer has it open",
              "close the other writer or write to another file", {.uri = uri});
}

std::string aside_stem(std::string_view path) {
  const std::string_view name = last_part(path);
  if (name.size() <= longest_stem) return fmt::format(".{}.", name);
  std::size_t size = longest_stem - digits - 1;
  while (size > 0 && (static_cast<unsigned char>(name[size]) & 0xc0) == 0x80) --size;  // within a character
  return fmt::format(".{}~{:016x}.", name.substr(0, size), sum_of(name));
}

bool is_aside_name(std::string_view name) noexcept {
  if (!name.starts_with('.') || !name.ends_with(suffix)) return false;
  name.remove_suffix(suffix.size());
  return name.size() > digits + 2 && name[name.size() - digits - 1] == '.' &&
         is_number(name.substr(name.size() - digits));
}

std::unique_ptr<WritableFile> open_for_writing(std::shared_ptr<FileSystem> files, const std::string& uri,
                                               OpenMode mode, const WriteFileOptions& options) {
  std::string path = files->path_of(uri);
  auto file = std::make_unique<NamedFile>(std::move(files), uri, std::move(path));
  mode == OpenMode::update ? file->open(options) : file->create(options, mode == OpenMode::create_new);
  return file;
}

}  // namespace colonnade::io
