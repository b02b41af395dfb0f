// See file_system.h. Every call is one step of the world: it happens at one moment, before or after which the
// process or the machine may die.
#include "file_system.h"

#include <fcntl.h>
#include <sys/file.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace colonnade::simulate {
namespace {

FileSystem* the_file_system = nullptr;

constexpr std::uint64_t sector = 512;
// For a folder that was opened, but not listed.
constexpr std::uint64_t any_version = ~std::uint64_t{0};

int fail(int code) {
  errno = code;
  return -1;
}

void put(Bytes& content, std::uint64_t offset, ByteSpan bytes) {
  if (bytes.empty()) return;
  if (content.size() < offset + bytes.size()) content.resize(static_cast<std::size_t>(offset + bytes.size()));
  std::memcpy(content.data() + offset, bytes.data(), bytes.size());
}

}  // namespace

bool is_simulated(std::string_view path) noexcept {
  return path == "/sim" || path.starts_with("/sim/");
}

FileSystem::FileSystem(World& world) : world_(world) {
  root_ = make(true, 0777);
  root_->links = 1;
  the_file_system = this;
}

FileSystem::~FileSystem() {
  the_file_system = nullptr;
}

FileSystem* FileSystem::of_world() noexcept {
  return World::inside() != nullptr ? the_file_system : nullptr;
}

std::shared_ptr<Inode> FileSystem::make(bool is_folder, mode_t mode) {
  auto inode = std::make_shared<Inode>();
  inode->number = next_inode_++;
  inode->is_folder = is_folder;
  inode->mode = mode;
  inode->modified = world_.now();
  std::erase_if(inodes_, [](const auto& known) { return known.expired(); });
  inodes_.push_back(inode);
  return inode;
}

std::shared_ptr<Inode> FileSystem::find_path(const std::string& path) const {
  std::shared_ptr<Inode> at = root_;
  std::vector<std::shared_ptr<Inode>> above;
  std::string_view rest = std::string_view(path).substr(4);
  while (!rest.empty()) {
    const std::size_t slash = rest.find('/');
    const std::string name(rest.substr(0, slash));
    rest = slash == std::string_view::npos ? std::string_view() : rest.substr(slash + 1);
    if (name.empty() || name == ".") continue;
    if (!at->is_folder) return nullptr;
    if (name == "..") {
      if (!above.empty()) {
        at = above.back();
        above.pop_back();
      }
      continue;
    }
    const auto found = at->names.find(name);
    if (found == at->names.end()) return nullptr;
    above.push_back(at);
    at = found->second;
  }
  return at;
}

std::shared_ptr<Inode> FileSystem::find_parent(const std::string& path, std::string& name) const {
  std::string clean = path;
  while (clean.ends_with('/')) clean.pop_back();
  const std::size_t slash = clean.rfind('/');
  name = clean.substr(slash + 1);
  const auto folder = find_path(clean.substr(0, slash));
  return folder != nullptr && folder->is_folder ? folder : nullptr;
}

void FileSystem::set_name(Inode& folder, const std::string& name, std::shared_ptr<Inode> inode,
                          std::uint64_t operation) {
  ++folder.version;
  folder.pending_names.push_back({name, inode, operation});
  if (const auto old = folder.names.find(name); old != folder.names.end()) --old->second->links;
  if (inode == nullptr) {
    folder.names.erase(name);
  } else {
    ++inode->links;
    folder.names[name] = std::move(inode);
  }
  folder.modified = world_.now();
}

OpenFile* FileSystem::find(int file) {
  const auto found = files_.find(file);
  return found == files_.end() ? nullptr : &found->second;
}

void FileSystem::note_touched(const std::string& path, const Inode* inode) const {
  if (touched == nullptr || !world_.process().is_observer) return;
  touched->emplace(path, inode != nullptr
                             ? State{inode->number, inode->is_folder ? any_version : inode->version}
                             : State{});
}

bool FileSystem::are_as(const Touched& before) const {
  return std::all_of(before.begin(), before.end(), [&](const auto& each) {
    const auto inode = find_path(each.first);
    if (inode == nullptr) return each.second == State{};
    const auto& [number, version] = each.second;
    return number == inode->number && (version == any_version || version == inode->version);
  });
}

// ---- calls ----

int FileSystem::open(const std::string& path, int flags, mode_t mode) {
  std::shared_ptr<Inode> inode = find_path(path);
  note_touched(path, inode.get());
  if (inode == nullptr) {
    if ((flags & O_CREAT) == 0) return fail(ENOENT);
    std::string name;
    const auto folder = find_parent(path, name);
    if (folder == nullptr) return fail(ENOENT);
    inode = make(false, mode & ~022U);
    set_name(*folder, name, inode, next_operation_++);
  } else if ((flags & O_CREAT) != 0 && (flags & O_EXCL) != 0) {
    return fail(EEXIST);
  }
  if ((flags & O_DIRECTORY) != 0 && !inode->is_folder) return fail(ENOTDIR);
  if (inode->is_folder && (flags & O_ACCMODE) != O_RDONLY) return fail(EISDIR);
  if ((flags & O_TRUNC) != 0 && !inode->content.empty()) {
    inode->content.clear();
    ++inode->version;
    inode->pending.push_back({.size = 0});
  }
  const int number = first_simulated_file + next_file_++;
  files_[number] = {number, inode, flags, 0, &world_.process(), path};
  return number;
}

int FileSystem::close(int file) {
  const auto found = files_.find(file);
  if (found == files_.end()) return fail(EBADF);
  const OpenFile closed = found->second;
  std::erase(closed.inode->locks, &found->second);
  files_.erase(found);
  return is_on_network && is_refused_late(closed) ? fail(EDQUOT) : 0;
}

std::int64_t FileSystem::read(int file, std::byte* into, std::size_t count, std::uint64_t offset) {
  const OpenFile* open = find(file);
  if (open == nullptr) return fail(EBADF);
  const Bytes& content = open->inode->content;
  if (offset >= content.size()) return 0;
  const std::size_t done = std::min<std::size_t>(count, content.size() - static_cast<std::size_t>(offset));
  std::memcpy(into, content.data() + offset, done);
  return static_cast<std::int64_t>(done);
}

std::int64_t FileSystem::write(int file, const Bytes& bytes, std::uint64_t offset) {
  OpenFile* open = find(file);
  if (open == nullptr || (open->flags & O_ACCMODE) == O_RDONLY) return fail(EBADF);
  put(open->inode->content, offset, bytes);
  ++open->inode->version;
  open->inode->pending.push_back({.offset = offset, .bytes = bytes});
  open->inode->modified = world_.now();
  return static_cast<std::int64_t>(bytes.size());
}

int FileSystem::truncate(int file, std::uint64_t size) {
  OpenFile* open = find(file);
  if (open == nullptr) return fail(EBADF);
  open->inode->content.resize(static_cast<std::size_t>(size));
  ++open->inode->version;
  open->inode->pending.push_back({.size = size});
  open->inode->modified = world_.now();
  return 0;
}

void FileSystem::flush(Inode& inode, bool with_names) {
  if (inode.is_folder) {
    if (!with_names || world_.breaks(Rule::folder_is_flushed)) return;
    inode.names_on_device = inode.names;
    inode.pending_names.clear();
    return;
  }
  if (world_.breaks(Rule::sync_flushes)) return;
  if (world_.breaks(Rule::sync_flushes_all) && inode.pending.size() > 1) {
    // All but the last write.
    const Inode::Change last = inode.pending.back();
    inode.pending.pop_back();
    for (const Inode::Change& change : inode.pending)
      change.size ? inode.on_device.resize(static_cast<std::size_t>(*change.size))
                  : put(inode.on_device, change.offset, change.bytes);
    inode.pending = {last};
    return;
  }
  inode.on_device = inode.content;
  inode.pending.clear();
}

bool FileSystem::is_refused_late(const OpenFile& open) {
  Inode& inode = *open.inode;
  const bool may_be = may_lose && (open.flags & O_ACCMODE) != O_RDONLY && !inode.pending.empty();
  if (!may_be || !world_.fault(world_.rates.late, "it is lost when it is flushed"))
    return open.is_owed_failure;
  for (auto& [number, other] : files_) other.is_owed_failure |= other.inode == open.inode;
  crash_manner_ = static_cast<int>(world_.random().below(5));
  lose_unflushed(inode);
  world_.note_change();
  if (on_loss) on_loss();
  return true;
}

int FileSystem::flush(int file) {
  OpenFile* open = find(file);
  if (open == nullptr) return fail(EBADF);
  const bool is_refused = is_refused_late(*open);
  open->is_owed_failure = false;
  if (is_refused) return fail(EDQUOT);
  flush(*open->inode, true);
  return 0;
}

int FileSystem::flush_all() {
  for (const auto& known : inodes_)
    if (const auto inode = known.lock()) flush(*inode, true);
  return 0;
}

int FileSystem::lock(int file, int operation) {
  OpenFile* open = find(file);
  if (open == nullptr) return fail(EBADF);
  Inode& inode = *open->inode;
  const bool is_shared = (operation & LOCK_SH) != 0;
  std::erase(inode.locks, open);
  if ((operation & LOCK_UN) != 0) return 0;
  const bool is_free = inode.locks.empty() || (is_shared && inode.is_lock_shared);
  if (!is_free && !world_.breaks(Rule::locks_exclude)) return fail(EWOULDBLOCK);
  inode.locks.push_back(open);
  inode.is_lock_shared = is_shared;
  return 0;
}

void FileSystem::fill(const Inode& inode, struct stat* into) const {
  *into = {};
  into->st_dev = 77;
  into->st_ino = inode.number;
  into->st_mode = (inode.is_folder ? S_IFDIR : S_IFREG) | inode.mode;
  into->st_nlink = inode.links;
  into->st_size = static_cast<off_t>(inode.content.size());
  into->st_blksize = 4096;
  into->st_uid = 1000;
  into->st_gid = 1000;
  into->st_mtim.tv_sec = 1767225600 + inode.modified / second;
  into->st_mtim.tv_nsec = inode.modified % second;
  if (into->st_mtim.tv_nsec < 0) {
    into->st_mtim.tv_nsec += second;
    --into->st_mtim.tv_sec;
  }
  into->st_ctim = into->st_atim = into->st_mtim;
}

int FileSystem::status(const std::string& path, struct stat* into) {
  const auto inode = find_path(path);
  note_touched(path, inode.get());
  if (inode == nullptr) return fail(ENOENT);
  fill(*inode, into);
  return 0;
}

int FileSystem::status(int file, struct stat* into) {
  OpenFile* open = find(file);
  if (open == nullptr) return fail(EBADF);
  fill(*open->inode, into);
  return 0;
}

int FileSystem::rename(const std::string& from, const std::string& to, bool replace) {
  if (!replace && replaces_always) {
    errno = EINVAL;
    return -1;
  }
  std::string old_name;
  std::string new_name;
  const auto old_folder = find_parent(from, old_name);
  const auto new_folder = find_parent(to, new_name);
  const auto inode = find_path(from);
  if (inode == nullptr || old_folder == nullptr || new_folder == nullptr) return fail(ENOENT);
  if (!replace && new_folder->names.contains(new_name)) return fail(EEXIST);
  const std::uint64_t operation = next_operation_++;
  // The old name goes first, so that the links of a file that is moved onto itself are right.
  set_name(*old_folder, old_name, nullptr, operation);
  set_name(*new_folder, new_name, inode, operation);
  return 0;
}

int FileSystem::link(const std::string& from, const std::string& to) {
  if (replaces_always && !has_links) {
    errno = EPERM;
    return -1;
  }
  std::string name;
  const auto folder = find_parent(to, name);
  const auto inode = find_path(from);
  if (inode == nullptr || folder == nullptr) return fail(ENOENT);
  if (folder->names.contains(name)) return fail(EEXIST);
  set_name(*folder, name, inode, next_operation_++);
  return 0;
}

int FileSystem::remove(const std::string& path, bool is_folder) {
  std::string name;
  const auto inode = find_path(path);
  const auto folder = find_parent(path, name);
  if (inode == nullptr || folder == nullptr) return fail(ENOENT);
  if (inode->is_folder != is_folder) return fail(is_folder ? ENOTDIR : EISDIR);
  if (is_folder && !inode->names.empty()) return fail(ENOTEMPTY);
  set_name(*folder, name, nullptr, next_operation_++);
  return 0;
}

int FileSystem::make_folder(const std::string& path, mode_t mode) {
  std::string name;
  const auto folder = find_parent(path, name);
  if (folder == nullptr) return fail(ENOENT);
  if (folder->names.contains(name)) return fail(EEXIST);
  set_name(*folder, name, make(true, mode & ~022U), next_operation_++);
  return 0;
}

int FileSystem::set_time(int file, Time time) {
  OpenFile* open = find(file);
  if (open == nullptr) return fail(EBADF);
  open->inode->modified = time;
  return 0;
}

bool FileSystem::list(int file, std::vector<std::string>& names) {
  OpenFile* open = find(file);
  if (open == nullptr || !open->inode->is_folder) return false;
  if (touched != nullptr && world_.process().is_observer)
    touched->insert_or_assign(open->path, State{open->inode->number, open->inode->version});
  for (const auto& [name, inode] : open->inode->names) names.push_back(name);
  if (world_.breaks(Rule::lists_are_complete) && !names.empty()) names.pop_back();
  return true;
}

void FileSystem::collect(const Inode& folder, const std::string& path,
                         std::vector<std::string>& paths) const {
  for (const auto& [name, inode] : folder.names) {
    const std::string full = path + "/" + name;
    paths.push_back(full);
    if (inode->is_folder) collect(*inode, full, paths);
  }
}

std::vector<std::string> FileSystem::all_paths() const {
  std::vector<std::string> paths;
  collect(*root_, "/sim", paths);
  return paths;
}

const Bytes* FileSystem::content_of(const std::string& path) const {
  const auto inode = find_path(path);
  return inode != nullptr ? &inode->content : nullptr;
}

// ---- deaths ----

void FileSystem::process_died(const Process& process) {
  for (auto& [number, open] : files_)
    if (open.process == &process) {
      std::erase(open.inode->locks, &open);
      if (is_on_network) is_refused_late(open);  // without an error
    }
}

bool FileSystem::survives() {
  switch (crash_manner_) {
    case 0:
      return false;
    case 1:
      return true;
    default:
      return world_.random().chance(0.5);
  }
}

void FileSystem::lose_unflushed(Inode& inode) {
  ++inode.version;
  for (const Inode::Change& change : inode.pending) {
    if (change.size) {
      if (survives()) inode.on_device.resize(static_cast<std::size_t>(*change.size));
      continue;
    }
    const ByteSpan bytes(change.bytes);
    for (std::uint64_t at = change.offset; at < change.offset + bytes.size();) {
      const std::uint64_t end = std::min(change.offset + bytes.size(), (at / sector + 1) * sector);
      if (survives())
        put(inode.on_device, at,
            bytes.subspan(static_cast<std::size_t>(at - change.offset), static_cast<std::size_t>(end - at)));
      at = end;
    }
  }
  inode.pending.clear();
  inode.content = inode.on_device;
}

void FileSystem::crash(const std::shared_ptr<Inode>& inode, std::set<std::uint64_t>& seen,
                       std::map<std::uint64_t, bool>& operations) {
  if (!seen.insert(inode->number).second) return;
  lose_unflushed(*inode);
  for (const Inode::NameChange& change : inode->pending_names) {
    const auto [known, is_new] = operations.emplace(change.operation, false);
    if (is_new) known->second = survives();
    if (!known->second) continue;
    if (change.inode == nullptr)
      inode->names_on_device.erase(change.name);
    else
      inode->names_on_device[change.name] = change.inode;
  }
  inode->pending_names.clear();
  inode->names = inode->names_on_device;
  for (const auto& [name, below] : inode->names) crash(below, seen, operations);
}

void FileSystem::machine_crashed() {
  crash_manner_ = static_cast<int>(world_.random().below(5));
  std::set<std::uint64_t> seen;
  std::map<std::uint64_t, bool> operations;
  crash(root_, seen, operations);
  for (auto& [number, open] : files_) open.inode->locks.clear();
  count_links();
}

void FileSystem::count_links() {
  for (const auto& known : inodes_)
    if (const auto inode = known.lock()) inode->links = inode == root_ ? 1 : 0;
  const auto visit = [](const auto& self, const Inode& folder) -> void {
    for (const auto& [name, inode] : folder.names) {
      ++inode->links;
      if (inode->is_folder) self(self, *inode);
    }
  };
  visit(visit, *root_);
}

}  // namespace colonnade::simulate
