// The memory of joins: tables of keys and columns of the other side. What exceeds a budget lies in a file
// without a name, which the system writes and reads as memory is needed.
#ifndef COLONNADE_DATASET_JOINS_MEMORY_H
#define COLONNADE_DATASET_JOINS_MEMORY_H

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>

namespace colonnade::dataset {

class JoinMemory {
 public:
  // COLONNADE_JOIN_MEMORY_MIB, else half of the machine's memory. Throws ErrorKind::usage for what is no
  // number.
  static std::uint64_t default_budget();

  explicit JoinMemory(std::uint64_t budget = default_budget()) : budget_(budget) {}

  enum class Placement { as_budgeted, file };
  // Uninitialised bytes, aligned to a page. Above the budget, or if that is wanted, they are those of a file
  // in the folder for temporary files; throws ErrorKind::resource if there is no room. Any number of threads.
  std::shared_ptr<std::byte[]> allocate(std::uint64_t bytes, Placement placement = Placement::as_budgeted);

  std::uint64_t held() const noexcept { return use_->held; }        // bytes in memory
  std::uint64_t spilled() const noexcept { return use_->spilled; }  // bytes in files

 private:
  // What was lent may outlive the JoinMemory. The memory that was given back last is kept for the next who
  // wants some, unless the system needs it: new pages cost more than all that a join does with them.
  struct Use {
    std::atomic<std::uint64_t> held{0}, spilled{0};
    std::mutex mutex;
    void* spare = nullptr;
    std::uint64_t spare_bytes = 0;

    ~Use();
    void give_back(void* data, std::uint64_t bytes);
    void* take_spare(std::uint64_t& bytes);  // null: there is none that fits; else `bytes` are those it has
  };

  std::uint64_t budget_;
  std::shared_ptr<Use> use_ = std::make_shared<Use>();
};

}  // namespace colonnade::dataset

#endif
