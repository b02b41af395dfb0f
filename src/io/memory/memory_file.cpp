// Buffers are kept in a map by name. Each has its own lock, shared by readers, so that several threads may
// write at different offsets; the flag `has_writer` emulates the advisory lock of local files. Names may have
// folders ("a/b.root"), which are just prefixes.
#include "io/memory/memory_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <shared_mutex>
#include <utility>

#include "base/fork_pause.h"

namespace colonnade::io {
namespace {

std::uint64_t next_number() noexcept {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

struct Buffer {
  std::shared_mutex mutex;
  const std::uint64_t number = next_number();  // unique, while an address could be reused later
  std::uint64_t changes = 0;
  Bytes bytes;
  bool has_writer = false;
};

struct Registry {
  std::mutex mutex;
  std::map<std::string, std::shared_ptr<Buffer>, std::less<>> buffers;
};

Registry& registry() {
  static Registry instance;
  return instance;
}

std::string_view name_in(std::string_view uri) noexcept {
  constexpr std::string_view prefix = "memory:";
  if (uri.starts_with(prefix)) uri.remove_prefix(prefix.size());
  return uri;
}

std::shared_ptr<Buffer> find_buffer(const std::string& uri, bool make) {
  Registry& all = registry();
  const ForkPause pause;
  const std::lock_guard lock(all.mutex);
  const std::string_view name = name_in(uri);
  if (const auto found = all.buffers.find(name); found != all.buffers.end()) return found->second;
  if (!make)
    throw Error(ErrorKind::not_found,
                fmt::format("there is no buffer \"{}\" in the memory of this process", name),
                "write it first", {.uri = uri});
  return all.buffers.emplace(name, std::make_shared<Buffer>()).first->second;
}

std::vector<std::string> names_that_begin(std::string_view start) {
  std::vector<std::string> names;
  Registry& all = registry();
  const ForkPause pause;
  const std::lock_guard lock(all.mutex);
  for (auto at = all.buffers.lower_bound(start); at != all.buffers.end() && at->first.starts_with(start);
       ++at)
    names.push_back(at->first);
  return names;
}

void copy_out(const Buffer& buffer, const std::string& uri, std::uint64_t offset, MutableByteSpan into) {
  const std::size_t size = buffer.bytes.size();
  if (offset > size || into.size() > size - offset)
    throw Error(
        ErrorKind::format,
        fmt::format("{} bytes were requested beyond the end of the file ({} bytes)", into.size(), size),
        "check that the file was transferred completely", {.uri = uri, .offset = offset});
  std::copy_n(buffer.bytes.begin() + static_cast<std::ptrdiff_t>(offset), into.size(), into.begin());
}

class MemoryFile final : public RandomAccessFile {
 public:
  MemoryFile(std::string uri, std::shared_ptr<Buffer> buffer)
      : uri_(std::move(uri)), buffer_(std::move(buffer)) {
    const ForkPause pause;
    const std::shared_lock lock(buffer_->mutex);
    size_ = buffer_->bytes.size();
    version_ = fmt::format("{}-{}", buffer_->number, buffer_->changes);
  }
  const std::string& uri() const noexcept override { return uri_; }
  std::uint64_t size() const override { return size_; }
  std::string version() const override { return version_; }
  IoTraits traits() const noexcept override { return {.worthwhile_gap = 0}; }
  void read(std::uint64_t offset, MutableByteSpan into) const override {
    const ForkPause pause;
    const std::shared_lock lock(buffer_->mutex);
    const std::uint64_t end = offset + into.size();
    if (end >= offset && end <= size_ && end > buffer_->bytes.size())
      throw Error(ErrorKind::io,
                  fmt::format("the file ends at byte {} although it had {} bytes when it was opened",
                              buffer_->bytes.size(), size_),
                  "another program truncated it: open it again when it is complete",
                  {.uri = uri_, .offset = offset});
    copy_out(*buffer_, uri_, offset, into);
  }

 private:
  std::string uri_;
  std::shared_ptr<Buffer> buffer_;
  std::uint64_t size_ = 0;
  std::string version_;
};

class MemoryWritableFile final : public WritableFile {
 public:
  explicit MemoryWritableFile(std::string uri) : uri_(std::move(uri)) {}
  ~MemoryWritableFile() override { release(); }
  MemoryWritableFile(const MemoryWritableFile&) = delete;
  MemoryWritableFile& operator=(const MemoryWritableFile&) = delete;

  // Makes this the writer of a buffer; false: there is one.
  bool lock(std::shared_ptr<Buffer> buffer) noexcept {
    const ForkPause pause;
    const std::unique_lock lock(buffer->mutex);
    if (std::exchange(buffer->has_writer, true)) return false;
    buffer_ = std::move(buffer);
    return true;
  }

  const std::string& uri() const noexcept override { return uri_; }
  std::uint64_t size() const override {
    Buffer& open = buffer();
    const ForkPause pause;
    const std::shared_lock lock(open.mutex);
    return open.bytes.size();
  }
  void read(std::uint64_t offset, MutableByteSpan into) const override {
    Buffer& open = buffer();
    const ForkPause pause;
    const std::shared_lock lock(open.mutex);
    copy_out(open, uri_, offset, into);
  }
  void write(std::uint64_t offset, ByteSpan bytes) override {
    Buffer& open = buffer();
    const ForkPause pause;
    const std::unique_lock lock(open.mutex);
    if (offset > open.bytes.max_size() - bytes.size())
      throw Error(ErrorKind::resource,
                  fmt::format("a buffer cannot hold {} bytes at {}", bytes.size(), offset), "write to a file",
                  {.uri = uri_, .offset = offset});
    ++open.changes;
    if (offset + bytes.size() > open.bytes.size()) open.bytes.resize(offset + bytes.size());
    std::copy(bytes.begin(), bytes.end(), open.bytes.begin() + static_cast<std::ptrdiff_t>(offset));
  }
  void truncate(std::uint64_t size) override {
    Buffer& open = buffer();
    const ForkPause pause;
    const std::unique_lock lock(open.mutex);
    ++open.changes;
    open.bytes.resize(size);
  }
  void sync() override { static_cast<void>(buffer()); }
  void close() override { release(); }

 private:
  Buffer& buffer() const {
    if (!buffer_)
      throw Error(ErrorKind::usage, "the file is already closed", "use it before close()", {.uri = uri_});
    return *buffer_;
  }
  void release() noexcept {
    if (!buffer_) return;
    {
      const ForkPause pause;
      const std::unique_lock lock(buffer_->mutex);
      buffer_->has_writer = false;
    }
    buffer_.reset();
  }

  std::string uri_;
  std::shared_ptr<Buffer> buffer_;
};

LockedFile locked(const std::string& uri, std::shared_ptr<Buffer> buffer) {
  auto file = std::make_unique<MemoryWritableFile>(uri);
  if (!file->lock(std::move(buffer))) return {};
  return {std::move(file)};
}

class MemoryFileSystem final : public FileSystem {
 public:
  std::unique_ptr<RandomAccessFile> open_for_reading(const std::string& uri,
                                                     const ReadFileOptions&) override {
    return std::make_unique<MemoryFile>(uri, find_buffer(uri, false));
  }
  std::string path_of(const std::string& uri) override { return std::string(name_in(uri)); }
  bool exists(const std::string& path, const std::string&) override {
    Registry& all = registry();
    const ForkPause pause;
    const std::lock_guard lock(all.mutex);
    return all.buffers.contains(path);
  }
  LockedFile open(const std::string& path, const std::string& uri, const WriteFileOptions&) override {
    return locked(uri, find_buffer(path, false));
  }
  LockedFile create(const std::string& path, const std::string& uri, const std::string&,
                    const WriteFileOptions&) override {
    return locked(uri, find_buffer(path, true));
  }
  void rename(const std::string& from, const std::string& to, const std::string&) override {
    Registry& all = registry();
    const ForkPause pause;
    const std::lock_guard lock(all.mutex);
    move(all, from, to);
  }
  bool rename_new(const std::string& from, const std::string& to, const std::string&) override {
    Registry& all = registry();
    const ForkPause pause;
    const std::lock_guard lock(all.mutex);
    if (all.buffers.contains(to)) return false;
    move(all, from, to);
    return true;
  }
  void remove(const std::string& path) override { remove_memory_file(path); }
  bool is_locked(const std::string& path, const std::string&) override {
    const std::shared_ptr<Buffer> buffer = find_buffer(path, false);
    const ForkPause pause;
    const std::shared_lock lock(buffer->mutex);
    return buffer->has_writer;
  }
  void sync_folder(const std::string&, const std::string&) override {}
  std::vector<std::string> names_beside(const std::string& path) override {
    const std::string folder = path.substr(0, path.find_last_of('/') + 1);
    std::vector<std::string> names;
    for (const std::string& name : names_that_begin(folder))
      if (name.find('/', folder.size()) == std::string::npos) names.push_back(name.substr(folder.size()));
    return names;
  }

 private:
  // `to` is a copy, as nothing may fail once something has moved.
  static void move(Registry& all, const std::string& from, std::string to) {
    all.buffers.erase(to);
    auto moved = all.buffers.extract(from);
    moved.key() = std::move(to);
    all.buffers.insert(std::move(moved));
  }
};

std::shared_ptr<FileSystem>& current() {
  static std::shared_ptr<FileSystem> instance = std::make_shared<MemoryFileSystem>();
  return instance;
}

}  // namespace

std::shared_ptr<FileSystem> memory_file_system() {
  return current();
}

std::shared_ptr<FileSystem> replace_memory_file_system(std::shared_ptr<FileSystem> files) {
  return std::exchange(current(), std::move(files));
}

std::vector<std::string> list_memory_files(const std::string& prefix) {
  std::vector<std::string> uris;
  for (const std::string& name : names_that_begin(name_in(prefix)))
    if (!is_aside_name(std::string_view(name).substr(name.find_last_of('/') + 1)))
      uris.push_back("memory:" + name);
  return uris;
}

Bytes memory_file_content(const std::string& uri) {
  const std::shared_ptr<Buffer> buffer = find_buffer(uri, false);
  const ForkPause pause;
  const std::shared_lock lock(buffer->mutex);
  return buffer->bytes;
}

void store_memory_file(const std::string& uri, ByteSpan content) {
  const std::shared_ptr<Buffer> buffer = find_buffer(uri, true);
  const ForkPause pause;
  const std::unique_lock lock(buffer->mutex);
  buffer->bytes.assign(content.begin(), content.end());
}

void remove_memory_file(const std::string& uri) noexcept {
  Registry& all = registry();
  const ForkPause pause;
  const std::lock_guard lock(all.mutex);
  if (const auto found = all.buffers.find(name_in(uri)); found != all.buffers.end()) all.buffers.erase(found);
}

}  // namespace colonnade::io
