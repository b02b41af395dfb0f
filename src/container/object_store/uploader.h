// ObjectUploader: runs the updates of an object container. Each batch has a queue of its own while it is
// under way, and the queues stay for the next ones, so that several fill contexts write side by side. A batch
// that hands over its memory is run by a thread in the background; one that does not, by the caller's.
//
// Any number of threads may call it at once. The first failure stays: every later call throws it.
#ifndef COLONNADE_CONTAINER_OBJECT_STORE_UPLOADER_H
#define COLONNADE_CONTAINER_OBJECT_STORE_UPLOADER_H

#include <condition_variable>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "container/object_store/updates.h"
#include "io/object_store.h"

namespace colonnade::container {

class ObjectUploader {
 public:
  explicit ObjectUploader(std::shared_ptr<io::ObjectStore> store);
  ~ObjectUploader();  // waits for what is under way
  ObjectUploader(const ObjectUploader&) = delete;
  ObjectUploader& operator=(const ObjectUploader&) = delete;

  // Returns when all are done.
  void run(const std::vector<ObjectUpdate>& updates);
  // Returns at once, or when one of the batches before it is done if there are many. `memory`, in which the
  // bytes of the updates are, is let go when they are done, also if they fail.
  void begin(std::vector<ObjectUpdate> updates, std::shared_ptr<void> memory);
  // Waits for all batches that were begun.
  void finish();
  bool failed() const;

 private:
  struct Batch {
    std::vector<ObjectUpdate> updates;
    std::shared_ptr<void> memory;
  };

  void check_failure() const;  // mutex_ is held
  void fail(std::exception_ptr failure);
  std::unique_ptr<io::ObjectQueue> take_queue();
  void perform(const std::vector<ObjectUpdate>& updates);
  void work();

  std::shared_ptr<io::ObjectStore> store_;
  unsigned depth_;
  mutable std::mutex mutex_;  // guards everything below
  std::condition_variable changed_;
  std::vector<std::unique_ptr<io::ObjectQueue>> idle_queues_;
  std::deque<Batch> waiting_;
  std::size_t under_way_ = 0;  // of those begun
  std::vector<std::thread> threads_;
  bool ends_ = false;
  std::exception_ptr failure_;
};

}  // namespace colonnade::container

#endif
