// The names of files on XRootD servers; see xrootd_file.h and file_system.h. Paths are the keys of places.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>

#include "base/warning.h"
#include "io/lost_answer.h"
#include "io/xrootd/xrootd_client.h"
#include "io/xrootd/xrootd_file.h"
#include "io/xrootd/xrootd_writer.h"

namespace colonnade::io {
namespace {

std::string folder_part(const std::string& path) {
  return path.substr(0, path.find_last_of('/') + 1);  // npos + 1 is 0
}

// A server allows one writer or several readers per file. Readers are not a reason to wait.
bool is_locked_by_writer(const XrdStatus& status) {
  return is_answer(status, XrdAnswerCode::locked) && status.message.find("reader") == std::string::npos;
}

XrdStatus open_for_update(const std::string& url, std::shared_ptr<XrootdHandle>& handle) {
  XrdStatus status;
  for (const int more : {0, XrdOpen::force + 0}) {
    handle = std::make_shared<XrootdHandle>();
    status = handle->open(url, XrdOpen::update | more, 0);
    if (!is_answer(status, XrdAnswerCode::locked) || is_locked_by_writer(status)) break;
  }
  return status;
}

// The files that this process has created and not closed. The server's lock is on the name that a file was
// opened by: one that is renamed is opened once more, to lock its new name.
class Renamed {
 public:
  using Lock = std::shared_ptr<std::shared_ptr<XrootdHandle>>;

  Lock add(const std::string& path) {
    auto lock = Lock(new std::shared_ptr<XrootdHandle>, [](std::shared_ptr<XrootdHandle>* held) {
      if (*held != nullptr) (*held)->close();  // at once: the next writer may come
      delete held;
    });
    const std::lock_guard guard(mutex_);
    std::erase_if(locks_, [](const auto& entry) { return entry.second.expired(); });
    locks_[path] = lock;
    return lock;
  }
  Lock take(const std::string& path) {
    const std::lock_guard guard(mutex_);
    const auto found = locks_.find(path);
    if (found == locks_.end()) return nullptr;
    Lock lock = found->second.lock();
    locks_.erase(found);
    return lock;
  }

 private:
  std::mutex mutex_;
  std::map<std::string, std::weak_ptr<std::shared_ptr<XrootdHandle>>> locks_;
};

// Where the files are that this process writes or replaces: each server of a cluster has files of its own.
class OpenFiles {
 public:
  struct File {
    std::string server;  // "host:port"; empty: unknown
    XrootdInfo info;     // when it was opened
  };

  // Known until the result is gone.
  std::shared_ptr<File> add(const std::string& path, XrootdHandle& handle, const XrootdInfo& info) {
    const auto file = std::make_shared<File>(File{handle.data_server(), info});
    const std::lock_guard guard(mutex_);
    std::erase_if(files_, [](const auto& entry) { return entry.second.expired(); });
    const auto known = files_.try_emplace(path, file).first->second.lock();
    return known != nullptr && known->server == file->server ? known : file;
  }
  std::shared_ptr<const File> find(const std::string& path) {
    const std::lock_guard guard(mutex_);
    const auto found = files_.find(path);
    return found == files_.end() ? nullptr : found->second.lock();
  }

 private:
  std::mutex mutex_;
  std::map<std::string, std::weak_ptr<File>> files_;
};

class XrootdFileSystem final : public FileSystem {
 public:
  std::unique_ptr<RandomAccessFile> open_for_reading(const std::string& uri,
                                                     const ReadFileOptions&) override {
    return open_xrootd_for_reading(uri);
  }

  std::string path_of(const std::string& uri) override {
    const XrootdPlace place = parse_xrootd_uri(uri);
    with_context({.uri = uri}, [&] { require_host(place); });
    return place.key();
  }

  bool exists(const std::string& path, const std::string& uri) override {
    XrootdInfo ignored;
    return find(XrootdPlace::of_key(path), uri, ignored);
  }

  LockedFile open(const std::string& path, const std::string& uri, const WriteFileOptions&) override {
    const XrootdPlace place = XrootdPlace::of_key(path);
    std::shared_ptr<XrootdHandle> handle;
    XrdStatus status = open_for_update(place.url(), handle);
    if (is_locked_by_writer(status)) return {};
    XrootdInfo info;
    if (status.ok()) status = handle->info(false, info);
    if (!status.ok()) throw xrootd_error(status, "open for writing", uri);
    const bool is_locked = keeps_others_out(place);
    const auto kept = open_.add(path, *handle, info);
    return {make_xrootd_writer(uri, std::move(handle), info.size, kept), is_locked,
            fmt::format("{} bytes at {}", info.size, info.time)};
  }

  LockedFile create(const std::string& path, const std::string& uri, const std::string& like,
                    const WriteFileOptions&) override {
    constexpr int usual_mode = 0644;
    XrootdInfo old;
    if (!like.empty()) find(XrootdPlace::of_key(like), uri, old);
    const XrootdPlace place = XrootdPlace::of_key(path);
    // After a lost connection, the library opens the file again for each write that was under way. It needs
    // force because it holds the lock itself. The name is random, so no other writer uses this file.
    const auto handle = std::make_shared<XrootdHandle>();
    const XrdStatus status =
        handle->open(place.url(), XrdOpen::update | XrdOpen::make_new | XrdOpen::make_path | XrdOpen::force,
                     old.mode != 0 ? old.mode : usual_mode);
    if (!status.ok()) throw xrootd_error(status, "open for writing", uri);
    const bool is_locked = keeps_others_out(place);
    const auto kept = std::make_shared<std::pair<Renamed::Lock, std::shared_ptr<OpenFiles::File>>>(
        renamed_.add(path), open_.add(path, *handle, {}));
    return {make_xrootd_writer(uri, handle, 0, kept), is_locked};
  }

  void rename(const std::string& from, const std::string& to, const std::string& uri) override {
    const XrootdPlace source = XrootdPlace::of_key(from);
    const XrootdPlace target = XrootdPlace::of_key(to);
    const auto stale = file_elsewhere(from, to);
    const XrdStatus status = move(source, target, uri);
    XrootdInfo old;
    const bool is_refused = status.code == XrdAnswerCode::of_server && !is_transient(status);
    if (is_refused && find(target, uri, old))
      replace(source, target, uri);
    else if (!status.ok())
      throw moving_error(status, source, uri);
    if (stale != nullptr) remove_stale(target, *stale, uri);
    lock_renamed(from, target);
  }

  void remove(const std::string& path) override {
    const XrootdPlace place = XrootdPlace::of_key(path);
    // A server that does not answer does it later, or the next writer does.
    XrootdServer(place).remove(place.path_with_query(), 15);
  }

  // Names are the server's to keep.
  void sync_folder(const std::string&, const std::string&) override {}

  std::vector<std::string> names_beside(const std::string& path) override {
    const XrootdPlace place = XrootdPlace::of_key(path);
    std::vector<XrootdName> found;
    static_cast<void>(XrootdServer(place).list(with_query(folder_part(place.path), place), found));
    std::vector<std::string> names;
    for (XrootdName& each : found) names.push_back(std::move(each.name));
    return names;
  }

 private:
  static Error moving_error(const XrdStatus& status, const XrootdPlace& finished, const std::string& uri) {
    return xrootd_error(status, fmt::format("move the finished file \"{}\" to its place", finished.path),
                        uri);
  }

  // The answer may be lost, or come to a repetition of the request, which finds nothing to move.
  static XrdStatus move(const XrootdPlace& from, const XrootdPlace& to, const std::string& uri) {
    XrdStatus status = XrootdServer(from).move(from.path_with_query(), to.path_with_query());
    if (status.ok()) return status;
    const bool is_moved = was_done(moving_error(status, from, uri), [&] {
      XrootdInfo info;
      return !find(from, uri, info) && find(to, uri, info);
    });
    return is_moved ? XrdStatus{} : status;
  }

  // Some servers refuse a name that is taken: the old file is out of the way for a moment then, and comes
  // back if the new one cannot take its place.
  static void replace(const XrootdPlace& source, const XrootdPlace& target, const std::string& uri) {
    XrootdPlace aside = source;
    aside.path += ".old";
    const auto must_move = [&](const XrootdPlace& from, const XrootdPlace& to) {
      if (const XrdStatus status = move(from, to, uri); !status.ok()) throw moving_error(status, source, uri);
    };
    must_move(target, aside);
    try {
      must_move(source, target);
    } catch (const Error& error) {
      if (XrootdServer(aside).move(aside.path_with_query(), target.path_with_query()).ok()) throw;
      throw Error(error.kind(),
                  fmt::format("{}; the file that was there may have the name \"{}\" now", error.problem(),
                              aside.path),
                  "when the server answers again, rename it, unless the new file is there", error.context());
    }
    XrootdServer(aside).remove(aside.path_with_query());
  }

  static XrootdPlace place_at(const std::string& server, XrootdPlace place) {
    const std::size_t user = place.server.find("://") + 3;
    place.server.replace(std::max(user, place.server.rfind('@') + 1), std::string::npos,
                         server);  // npos + 1 is 0
    return place;
  }

  // The file that is to be replaced, if another server has it than the new one. Servers that share their
  // names, those of a common file system or of EOS, know the new one, too: theirs is replaced by the
  // renaming.
  std::shared_ptr<const OpenFiles::File> file_elsewhere(const std::string& from, const std::string& to) {
    const auto made = open_.find(from);
    const auto old = open_.find(to);
    if (made == nullptr || old == nullptr || made->server == old->server || old->server.empty())
      return nullptr;
    const XrootdPlace there = place_at(old->server, XrootdPlace::of_key(from));
    XrootdInfo ignored;
    const XrdStatus status = XrootdServer(there).info(there.path_with_query(), ignored);
    return is_answer(status, XrdAnswerCode::missing) ? old : nullptr;
  }

  // Readers would still be sent to it.
  static void remove_stale(const XrootdPlace& target, const OpenFiles::File& old, const std::string& uri) {
    const XrootdPlace there = place_at(old.server, target);
    XrootdServer server(there);
    XrootdInfo info;
    XrdStatus status = server.info(there.path_with_query(), info);
    if (is_answer(status, XrdAnswerCode::missing) || (status.ok() && !info.is_same_state(old.info))) return;
    if (status.ok()) status = server.remove(there.path_with_query());
    if (status.ok()) return;
    warn(fmt::format(
        "{} is in its place, but {} may still have the file that it replaced, and give it to readers: {}",
        uri, old.server, xrootd_error(status, "remove that", uri).problem()));
  }

  // A server that does not know locks has nothing to hold.
  void lock_renamed(const std::string& from, const XrootdPlace& target) {
    const Renamed::Lock lock = renamed_.take(from);
    if (lock == nullptr) return;
    // The name is this writer's already, for it has locked the file that was there.
    auto handle = std::make_shared<XrootdHandle>();
    if (handle->open(target.url(), XrdOpen::update | XrdOpen::force, 0).ok()) *lock = std::move(handle);
  }

  static std::string with_query(const std::string& path, const XrootdPlace& place) {
    return place.query.empty() ? path : fmt::format("{}?{}", path, place.query);
  }

  static bool find(const XrootdPlace& place, const std::string& uri, XrootdInfo& info) {
    const XrdStatus status = XrootdServer(place).info(place.path_with_query(), info);
    if (status.ok()) return true;
    if (is_answer(status, XrdAnswerCode::missing)) return false;
    throw xrootd_error(status, "open for writing", uri);
  }

  // Whether the server keeps other writers from a file that is open for writing: only some do.
  static bool keeps_others_out(const XrootdPlace& place) {
    XrootdHandle second;
    const XrdStatus status = second.open(place.url(), XrdOpen::update, 0);
    if (status.ok()) second.close();
    return is_locked_by_writer(status);
  }

  Renamed renamed_;
  OpenFiles open_;
};

std::string uri_of(const XrootdPlace& place, std::string_view path) {
  return fmt::format("{}/{}{}{}", place.server, path, place.query.empty() ? "" : "?", place.query);
}

}  // namespace

std::shared_ptr<FileSystem> xrootd_file_system() {
  static const std::shared_ptr<FileSystem> instance = std::make_shared<XrootdFileSystem>();
  return instance;
}

std::vector<std::string> list_xrootd_folder(const std::string& folder) {
  return with_context({.uri = folder}, [&] {
    const XrootdPlace place = parse_xrootd_uri(folder);
    require_host(place);
    std::vector<XrootdName> names;
    const XrdStatus status = XrootdServer(place).list(place.path_with_query(), names);
    if (!status.ok()) {
      const Error error = xrootd_error(status, "list the folder", folder);
      if (!is_answer(status, XrdAnswerCode::denied)) throw error;
      throw Error(ErrorKind::unsupported, error.problem(), error.advice());
    }
    std::vector<std::string> uris;
    for (const XrootdName& name : names)
      uris.push_back(uri_of(place, fmt::format("{}{}{}", place.path, name.name, name.is_folder ? "/" : "")));
    return uris;
  });
}

}  // namespace colonnade::io
