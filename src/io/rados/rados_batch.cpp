// See rados_batch.h.
#include "io/rados/rados_batch.h"

#include <cerrno>
#include <new>
#include <utility>

namespace colonnade::io {
namespace {

class ReadSteps {
 public:
  explicit ReadSteps(const RadosApi& api) : api_(&api), steps_(api.create_read_op()) {}
  ReadSteps(const ReadSteps&) = delete;
  ReadSteps& operator=(const ReadSteps&) = delete;
  ~ReadSteps() { api_->release_read_op(steps_); }
  rados_read_op_t get() const noexcept { return steps_; }

 private:
  const RadosApi* api_;
  rados_read_op_t steps_;
};

class WriteSteps {
 public:
  explicit WriteSteps(const RadosApi& api) : api_(&api), steps_(api.create_write_op()) {}
  WriteSteps(const WriteSteps&) = delete;
  WriteSteps& operator=(const WriteSteps&) = delete;
  ~WriteSteps() { api_->release_write_op(steps_); }
  rados_write_op_t get() const noexcept { return steps_; }

  // The object then consists of `parts`, whatever its content was. They are concatenated first: librados
  // copies them anyway, each further write of an operation costs the OSD more than the copy (measured for
  // parts of 4 KiB to 1 MiB), and erasure-coded pools accept only whole objects.
  void replace(std::span<const ByteSpan> parts) {
    if (parts.size() == 1) return write_all(parts.front());
    std::size_t size = 0;
    for (const ByteSpan part : parts) size += part.size();
    Bytes joined;
    joined.reserve(size);
    for (const ByteSpan part : parts) joined.insert(joined.end(), part.begin(), part.end());
    write_all(joined);
  }

 private:
  void write_all(ByteSpan bytes) const {
    const char* text = bytes.empty() ? "" : reinterpret_cast<const char*>(bytes.data());
    api_->write_op_write_full(steps_, text, bytes.size());
  }

  const RadosApi* api_;
  rados_write_op_t steps_;
};

}  // namespace

RadosBatch::~RadosBatch() {
  for (const Operation& operation : operations_)
    if (operation.completion_ != nullptr) pool_->api().aio_release(operation.completion_);
}

RadosBatch::Operation& RadosBatch::begin() {
  Operation& operation = operations_.emplace_back();
  operation.batch_ = this;
  if (pool_->api().aio_create_completion2(&operation, &RadosBatch::complete, &operation.completion_) != 0)
    throw std::bad_alloc();
  operation.is_under_way_ = true;
  ++pending_;
  return operation;
}

RadosBatch::Operation& RadosBatch::read(const std::string& name, std::span<const Range> ranges) {
  const RadosApi& api = pool_->api();
  const ReadSteps steps(api);
  Operation& operation = begin();
  try {
    operation.got_.resize(ranges.size());
  } catch (...) {
    settle(operation, -ENOMEM);
    throw;
  }
  // The size tells afterwards which ranges lie inside.
  api.read_op_stat(steps.get(), &operation.size, nullptr, nullptr);
  for (std::size_t i = 0; i < ranges.size(); ++i)
    // A length of zero would mean to read everything.
    if (const auto& [offset, into] = ranges[i]; !into.empty())
      api.read_op_read(steps.get(), offset, into.size(), reinterpret_cast<char*>(into.data()),
                       &operation.got_[i], nullptr);
  const int code =
      api.aio_read_op_operate(steps.get(), pool_->handle(), operation.completion_, name.c_str(), 0);
  if (code < 0) settle(operation, code);
  return operation;
}

void RadosBatch::submit_write(Operation& operation, const std::string& name, rados_write_op_t steps) {
  // A full cluster is reported as an error; by default librados would wait for space.
  const int code = pool_->api().aio_write_op_operate(steps, pool_->handle(), operation.completion_,
                                                     name.c_str(), nullptr, rados_full_try);
  if (code < 0) settle(operation, code);
}

RadosBatch::Operation& RadosBatch::replace(const std::string& name, std::span<const ByteSpan> parts,
                                           const std::optional<Condition>& condition) {
  const RadosApi& api = pool_->api();
  WriteSteps steps(api);
  if (condition && condition->version) api.write_op_assert_version(steps.get(), *condition->version);
  if (condition && !condition->version) api.write_op_create(steps.get(), rados_create_exclusive, nullptr);
  steps.replace(parts);
  Operation& operation = begin();
  submit_write(operation, name, steps.get());
  return operation;
}

RadosBatch::Operation& RadosBatch::remove(const std::string& name) {
  const WriteSteps steps(pool_->api());
  pool_->api().write_op_remove(steps.get());
  Operation& operation = begin();
  submit_write(operation, name, steps.get());
  return operation;
}

void RadosBatch::close() noexcept {
  leave(nullptr);
}

void RadosBatch::cancel() noexcept {
  // The completion lives as long as this batch, so that it may be complete by now.
  for (Operation& operation : operations_)
    if (operation.is_under_way_) pool_->api().aio_cancel(pool_->handle(), operation.completion_);
}

void RadosBatch::complete(rados_completion_t completion, void* argument) {
  auto& operation = *static_cast<Operation*>(argument);
  const RadosApi& api = operation.batch_->pool_->api();
  operation.version = api.aio_get_version(completion);
  const int code = api.aio_get_return_value(completion);
  operation.batch_->settle(operation, code < 0 ? code : 0);
}

void RadosBatch::settle(Operation& operation, int code) noexcept {
  operation.code = code;
  leave(&operation);
}

void RadosBatch::leave(Operation* operation) noexcept {
  if (operation != nullptr) operation->is_under_way_ = false;
  if (--pending_ > 0) return;
  const Done done = std::move(done_);  // the callback may destroy the batch
  done();
}

}  // namespace colonnade::io
