// Mappings, with huge pages where they are memory: what is looked up at random costs a miss of the page table
// for each value otherwise.
#include "dataset/joins/memory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include "base/huge_pages.h"
#include "base/memory_limit.h"
#include "colonnade/error.h"

namespace colonnade::dataset {
namespace {

constexpr const char* variable = "COLONNADE_JOIN_MEMORY_MIB";

[[noreturn]] void fail(std::uint64_t bytes, const std::string& where, int error) {
  constexpr std::uint64_t mib = 1 << 20;
  throw Error(ErrorKind::resource,
              fmt::format("a join needs {} MiB {}: {}", (bytes + mib - 1) / mib, where, std::strerror(error)),
              fmt::format("join the other way round, join fewer columns, set {} or TMPDIR", variable));
}

// A file that goes with its last mapping.
int open_unnamed(const std::string& folder) {
  const int unnamed = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (unnamed >= 0) return unnamed;
  std::string name = folder + "/colonnade-join-XXXXXX";
  const int named = ::mkostemp(name.data(), O_CLOEXEC);
  if (named >= 0) ::unlink(name.c_str());
  return named;
}

void* map_file(std::uint64_t bytes) {
  std::error_code none;
  const std::string folder = std::filesystem::temp_directory_path(none).string();
  if (none) {
    const char* const given = std::getenv("TMPDIR");
    fail(bytes, fmt::format("of disk in {}", given == nullptr ? "/tmp" : given), none.value());
  }
  const std::string where = fmt::format("of disk in {}", folder);
  const int file = open_unnamed(folder);
  if (file < 0) fail(bytes, where, errno);
  // Reserved: memory without a block behind it would end the program when the disk is full.
  const int reserved = ::posix_fallocate(file, 0, static_cast<off_t>(bytes));
  void* mapped =
      reserved == 0 ? ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0) : MAP_FAILED;
  const int error = reserved != 0 ? reserved : errno;
  ::close(file);
  if (mapped == MAP_FAILED) fail(bytes, where, error);
  return mapped;
}

}  // namespace

std::uint64_t JoinMemory::default_budget() {
  const char* text = std::getenv(variable);
  if (text == nullptr || *text == '\0') return machine_memory() / 2;
  const std::string_view given = text;
  std::uint32_t mib = 0;
  const auto [end, error] = std::from_chars(given.data(), given.data() + given.size(), mib);
  if (error != std::errc() || end != given.data() + given.size())
    throw Error(ErrorKind::usage, fmt::format("{} is '{}', which is not a number", variable, given),
                "a number of MiB, such as 4096");
  return std::uint64_t{mib} << 20;
}

JoinMemory::Use::~Use() {
  if (spare != nullptr) ::munmap(spare, spare_bytes);
}

void JoinMemory::Use::give_back(void* data, std::uint64_t bytes) {
  held -= bytes;
  {
    const std::lock_guard lock(mutex);
    std::swap(spare, data);
    std::swap(spare_bytes, bytes);
    static_cast<void>(::madvise(spare, spare_bytes, MADV_FREE));
  }
  if (data != nullptr) ::munmap(data, bytes);
}

void* JoinMemory::Use::take_spare(std::uint64_t& bytes) {
  constexpr std::uint64_t most_times = 4;
  const std::lock_guard lock(mutex);
  if (spare_bytes < bytes || spare_bytes / most_times > bytes) return nullptr;
  bytes = std::exchange(spare_bytes, 0);
  return std::exchange(spare, nullptr);
}

std::shared_ptr<std::byte[]> JoinMemory::allocate(std::uint64_t bytes, Placement placement) {
  bytes = std::max<std::uint64_t>(bytes, 1);
  const bool has_room = use_->held.fetch_add(bytes) + bytes <= budget_;
  if (placement == Placement::file || !has_room) {
    use_->held -= bytes;
    if (bytes > static_cast<std::uint64_t>(std::numeric_limits<off_t>::max())) fail(bytes, "of disk", EFBIG);
    void* const mapped = map_file(bytes);
    use_->spilled += bytes;
    return {static_cast<std::byte*>(mapped), [bytes, use = use_](std::byte* data) {
              ::munmap(data, bytes);
              use->spilled -= bytes;
            }};
  }
  const std::uint64_t asked = bytes;
  void* mapped = use_->take_spare(bytes);
  use_->held += bytes - asked;
  if (mapped == nullptr) {
    mapped = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) {
      const int error = errno;
      use_->held -= bytes;
      fail(bytes, "of memory", error);
    }
    prefer_huge_pages(mapped, bytes);
  }
  return {static_cast<std::byte*>(mapped),
          [bytes, use = use_](std::byte* data) { use->give_back(data, bytes); }};
}

}  // namespace colonnade::dataset
