// See object_queue.h.
#include "io/object_queue.h"

#include <variant>

#include "io/request_threads.h"

namespace colonnade::io {
namespace {

class BlockingObjectQueue final : public ObjectQueue {
 public:
  BlockingObjectQueue(ObjectStore& store, unsigned depth)
      : threads_(depth, [&store](const Request& request) { request.run(store); }) {}

  void submit_fetch(std::uint64_t id, const ObjectId& object, std::uint64_t dkey,
                    std::span<const FetchItem> items) override {
    threads_.submit({id, object, dkey, std::vector<FetchItem>(items.begin(), items.end())});
  }
  void submit_update(std::uint64_t id, const ObjectId& object, std::uint64_t dkey,
                     std::span<const UpdateItem> items) override {
    threads_.submit({id, object, dkey, std::vector<UpdateItem>(items.begin(), items.end())});
  }
  std::size_t wait(std::span<Completion> completions, bool block) override {
    return threads_.wait(completions, block);
  }
  std::size_t in_flight() const noexcept override { return threads_.in_flight(); }

 private:
  struct Request {
    std::uint64_t id = 0;
    ObjectId object;
    std::uint64_t dkey = 0;
    std::variant<std::vector<FetchItem>, std::vector<UpdateItem>> items;

    void run(ObjectStore& store) const {
      if (const auto* fetched = std::get_if<std::vector<FetchItem>>(&items))
        store.fetch(object, dkey, *fetched);
      else
        store.update(object, dkey, std::get<std::vector<UpdateItem>>(items));
    }
  };

  RequestThreads<Request, Completion> threads_;
};

}  // namespace

std::unique_ptr<ObjectQueue> make_object_queue(ObjectStore& store, unsigned depth) {
  return std::make_unique<BlockingObjectQueue>(store, depth);
}

}  // namespace colonnade::io
