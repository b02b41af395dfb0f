// FileOpener: opens the files of a chain in threads and returns them in order.
#ifndef COLONNADE_DATASET_CHAINS_FILE_OPENER_H
#define COLONNADE_DATASET_CHAINS_FILE_OPENER_H

#include <condition_variable>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "page/page_source.h"

namespace colonnade::dataset {

// At most `ahead` files are open and not taken. The error is that of the first failing file, in
// order.
class FileOpener {
 public:
  using Opened = std::shared_ptr<const page::PageSource>;

  FileOpener(std::size_t count, std::size_t ahead, std::function<Opened(std::size_t number)> open);
  FileOpener(const FileOpener&) = delete;
  FileOpener& operator=(const FileOpener&) = delete;
  ~FileOpener();

  Opened next();

 private:
  struct File {
    Opened source;
    std::exception_ptr failure;
    bool is_done = false;
  };

  void work();

  const std::size_t ahead_;
  const std::function<Opened(std::size_t number)> open_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<File> files_;
  std::size_t begun_ = 0;
  std::size_t taken_ = 0;
  bool is_over_ = false;
  std::vector<std::jthread> threads_;  // joined before the members that they use
};

}  // namespace colonnade::dataset

#endif
