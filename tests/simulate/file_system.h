// A file system in the memory of a world, at "/sim". Written data are in the page cache of the machine until
// they are flushed. When the machine crashes, any subset of the unflushed data survives, in sectors of 512
// bytes; names that were made, moved or removed survive if their folder was flushed, otherwise by chance.
#ifndef COLONNADE_SIMULATE_FILE_SYSTEM_H
#define COLONNADE_SIMULATE_FILE_SYSTEM_H

#include <sys/stat.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "world.h"

namespace colonnade::simulate {

struct OpenFile;

struct Inode {
  struct Change {  // not flushed yet
    std::uint64_t offset = 0;
    Bytes bytes;
    std::optional<std::uint64_t> size;  // a truncation
  };
  struct NameChange {
    std::string name;
    std::shared_ptr<Inode> inode;  // null: removed
    std::uint64_t operation = 0;   // changes of one operation survive together
  };

  std::uint64_t number = 0;
  std::uint64_t version = 0;  // counts changes
  bool is_folder = false;
  mode_t mode = 0;
  Time modified = 0;
  unsigned links = 0;
  Bytes content;
  Bytes on_device;
  std::vector<Change> pending;
  std::map<std::string, std::shared_ptr<Inode>> names;
  std::map<std::string, std::shared_ptr<Inode>> names_on_device;
  std::vector<NameChange> pending_names;
  std::vector<const OpenFile*> locks;  // exclusive ones: at most one
  bool is_lock_shared = false;
};

struct OpenFile {
  int number = -1;
  std::shared_ptr<Inode> inode;
  int flags = 0;
  std::uint64_t position = 0;
  const Process* process = nullptr;
  std::string path;
  bool is_owed_failure = false;  // something was lost, and it was not told yet
};

// A folder being read.
struct OpenFolder {
  int file = -1;
  std::vector<std::string> names;
  std::size_t next = 0;
};

class FileSystem {
 public:
  explicit FileSystem(World& world);
  ~FileSystem();
  FileSystem(const FileSystem&) = delete;
  FileSystem& operator=(const FileSystem&) = delete;
  static FileSystem* of_world() noexcept;

  // System calls; they return -1 and set errno on failure. Paths are absolute.
  int open(const std::string& path, int flags, mode_t mode);
  int close(int file);
  std::int64_t read(int file, std::byte* into, std::size_t count, std::uint64_t offset);
  std::int64_t write(int file, const Bytes& bytes, std::uint64_t offset);
  int truncate(int file, std::uint64_t size);
  int flush(int file);
  int flush_all();
  int lock(int file, int operation);
  int status(const std::string& path, struct stat* into);
  int status(int file, struct stat* into);
  int rename(const std::string& from, const std::string& to, bool replace);
  int link(const std::string& from, const std::string& to);
  int remove(const std::string& path, bool is_folder);
  int make_folder(const std::string& path, mode_t mode);
  int set_time(int file, Time time);
  bool list(int file, std::vector<std::string>& names);
  OpenFile* find(int file);

  void process_died(const Process& process);
  void machine_crashed();

  std::vector<std::string> all_paths() const;
  // The files and folders that the observer has opened or examined, and their states: while these do not
  // change, it would see the same.
  using State =
      std::pair<std::uint64_t, std::uint64_t>;  // of a path: number and version of its inode, or zeros
  using Touched = std::map<std::string, State>;
  Touched* touched = nullptr;
  bool are_as(const Touched& before) const;
  const Bytes* content_of(const std::string& path) const;  // null: no such file
  // Some file systems cannot rename without replacing, and some of these have no hard links.
  bool replaces_always = false;
  bool has_links = true;
  // Some store what is written on another machine, which may refuse it when it is flushed or closed, as may a
  // disk that fails when it is flushed. Then any subset of it is lost, and `on_loss` is called. Each open
  // file is told once.
  bool is_on_network = false;
  bool may_lose = false;
  std::function<void()> on_loss;
  // The owner of the claim in a record of a store in a folder: the writer's number, or 0.
  std::map<std::string, std::uint64_t> claims;

 private:
  std::shared_ptr<Inode> find_path(const std::string& path) const;
  void note_touched(const std::string& path, const Inode* inode) const;
  std::shared_ptr<Inode> find_parent(const std::string& path, std::string& name) const;
  std::shared_ptr<Inode> make(bool is_folder, mode_t mode);
  void set_name(Inode& folder, const std::string& name, std::shared_ptr<Inode> inode,
                std::uint64_t operation);
  void fill(const Inode& inode, struct stat* into) const;
  void crash(const std::shared_ptr<Inode>& inode, std::set<std::uint64_t>& seen,
             std::map<std::uint64_t, bool>& operations);
  void flush(Inode& inode, bool with_names);
  bool is_refused_late(const OpenFile& open);
  void lose_unflushed(Inode& inode);
  bool survives();
  void count_links();
  void collect(const Inode& folder, const std::string& path, std::vector<std::string>& paths) const;

  World& world_;
  std::shared_ptr<Inode> root_;  // "/sim"
  std::map<int, OpenFile> files_;
  int next_file_ = 0;
  std::uint64_t next_inode_ = 1;
  std::uint64_t next_operation_ = 1;
  int crash_manner_ = 0;
  std::vector<std::weak_ptr<Inode>> inodes_;
};

// Numbers of simulated files begin here.
inline constexpr int first_simulated_file = 1 << 24;
bool is_simulated(std::string_view path) noexcept;

}  // namespace colonnade::simulate

#endif
