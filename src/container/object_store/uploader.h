// ObjectUploader: runs the updates of an object container. Each batch uses a queue of its own, which later
// batches reuse, so that several fill contexts write in parallel. A batch that transfers ownership of its
// memory runs on a background thread; other batches run on the caller's.
//
// Thread-safe. After the first failure every call throws it, until retry(): batches that own their memory are
// kept and run again.
#ifndef COLONNADE_CONTAINER_OBJECT_STORE_UPLOADER_H
#define COLONNADE_CONTAINER_OBJECT_STORE_UPLOADER_H

#include <atomic>
#include <condition_variable>
#include <exception>
#include <list>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "container/container.h"
#include "container/object_store/updates.h"
#include "io/object_store.h"

namespace colonnade::container {

class ObjectUploader {
 public:
  explicit ObjectUploader(std::shared_ptr<io::ObjectStore> store);
  ~ObjectUploader();  // waits for batches in flight
  ObjectUploader(const ObjectUploader&) = delete;
  ObjectUploader& operator=(const ObjectUploader&) = delete;

  // Returns when all updates are done.
  void run(const std::vector<ObjectUpdate>& updates);
  // Returns at once, or after an earlier batch ends if too many are in flight. `memory` owns the bytes of the
  // updates and is released when they are done.
  void begin(std::vector<ObjectUpdate> updates, std::shared_ptr<PageBytes> memory);
  // Waits for all batches in flight.
  void finish();
  // Begins what failed again, once no batch is in flight. Does nothing if nothing failed, or if lost(); with
  // `waits` it waits whether what is in flight fails.
  void retry(bool waits);
  bool lost() const noexcept { return lost_; }  // true after a failure of run()

 private:
  struct Batch {
    std::vector<ObjectUpdate> updates;
    std::shared_ptr<PageBytes> memory;
  };
  using Batches = std::list<Batch>;  // also of one: moving it takes no memory

  void check_failure() const;  // the caller holds mutex_
  void fail(std::exception_ptr failure);
  void perform_or_keep(Batches batch) noexcept;
  void keep(Batches batch, std::exception_ptr failure) noexcept;
  std::unique_ptr<io::ObjectQueue> take_queue();
  void perform(const std::vector<ObjectUpdate>& updates);
  bool start_thread();
  void work();

  std::shared_ptr<io::ObjectStore> store_;
  unsigned depth_;
  mutable std::mutex mutex_;  // guards everything below
  std::condition_variable changed_;
  std::vector<std::unique_ptr<io::ObjectQueue>> idle_queues_;
  Batches waiting_;
  Batches failed_;  // and what followed them
  std::atomic<bool> lost_ = false;
  std::size_t under_way_ = 0;  // batches in flight
  std::vector<std::thread> threads_;
  bool ends_ = false;
  std::exception_ptr failure_;
};

}  // namespace colonnade::container

#endif
