// A bucket in memory, with a queue that answers when it is waited for, in any order.
#ifndef COLONNADE_IO_S3_S3_FILE_TEST_TOOLS_H
#define COLONNADE_IO_S3_S3_FILE_TEST_TOOLS_H

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "colonnade/error.h"
#include "io/s3/s3_client.h"

namespace colonnade::io {

inline Bytes pattern(std::size_t size, unsigned seed = 0) {
  Bytes bytes(size);
  for (std::size_t i = 0; i < size; ++i)
    bytes[i] = static_cast<std::byte>((i * 131 + (i >> 8) + seed) & 0xff);
  return bytes;
}

class FakeBucket final : public S3Client {
 public:
  // ---- For tests

  std::unique_ptr<S3Queue> queue(unsigned depth) { return std::make_unique<Queue>(*this, depth); }
  void store(const std::string& key, const Bytes& content) { put_object(key, content); }
  std::optional<Bytes> object(const std::string& key) const {
    const std::lock_guard lock(mutex_);
    const auto found = objects_.find(key);
    return found == objects_.end() ? std::nullopt : std::optional(found->second.content);
  }
  std::vector<std::string> uploads() const {
    const std::lock_guard lock(mutex_);
    std::vector<std::string> ids;
    for (const auto& [id, parts] : uploads_) ids.push_back(id);
    return ids;
  }
  std::vector<unsigned> sent() const { return locked(sent_); }  // numbers of parts, in the order of sending
  std::size_t gets() const { return locked(gets_); }
  std::size_t running() const { return locked(running_); }
  std::size_t most_running() const { return locked(most_running_); }
  std::size_t most_bytes() const { return locked(most_bytes_); }  // of parts on their way
  void fail_part(unsigned number) { failing_part_ = number; }
  void fail_completion() { failing_completions_ = 1; }
  void lose_upload() { loses_upload_ = true; }  // when it is completed
  void lose_uploads_now() {
    const std::lock_guard lock(mutex_);
    uploads_.clear();
  }

  // ---- S3Client

  const std::string& bucket() const noexcept override { return name_; }
  void check_bucket() const override {}
  std::optional<S3Object> head(const std::string& key) const override {
    const std::lock_guard lock(mutex_);
    const auto found = objects_.find(key);
    if (found == objects_.end()) return std::nullopt;
    return S3Object{key, found->second.content.size(), found->second.etag};
  }
  std::optional<S3Opening> open_object(const std::string& key) const override {
    auto found = head(key);
    return found ? std::optional(S3Opening{*std::move(found), {}}) : std::nullopt;
  }
  void get_range(const std::string& key, std::uint64_t offset, MutableByteSpan into,
                 const std::string& etag) const override {
    const std::lock_guard lock(mutex_);
    ++gets_;
    const Object& object = objects_.at(key);
    if (object.etag != etag) throw Error(ErrorKind::io, "the object is another one");
    std::copy_n(object.content.begin() + static_cast<std::ptrdiff_t>(offset), into.size(), into.begin());
  }
  std::optional<Small> get_small(const std::string& key, std::size_t) const override {
    const auto content = object(key);
    return content ? std::optional(Small{*content, {}}) : std::nullopt;
  }
  std::optional<std::string> put(const std::string& key, std::span<const ByteSpan> parts,
                                 const S3Condition& condition) const override {
    if (!is_met(key, condition)) return std::nullopt;
    put_object(key, joined(parts));
    return "";
  }
  std::string create_upload(const std::string&) const override {
    const std::lock_guard lock(mutex_);
    const std::string id = "upload" + std::to_string(++last_);
    uploads_[id];
    return id;
  }
  S3Part upload_part(const std::string&, const std::string& upload, unsigned number,
                     std::span<const ByteSpan> parts) const override {
    const std::lock_guard lock(mutex_);
    if (number == failing_part_) throw Error(ErrorKind::io, "the server is gone");
    if (!uploads_.contains(upload)) throw Error(ErrorKind::io, upload_is_gone);
    const std::string etag = std::to_string(++last_);
    uploads_.at(upload)[number] = {joined(parts), etag};
    return {number, etag};
  }
  std::optional<std::string> complete_upload(const std::string& key, const std::string& upload,
                                             std::span<const S3Part> parts,
                                             const S3Condition& condition) const override {
    if (loses_upload_) abort_upload(key, upload);
    if (loses_upload_) throw Error(ErrorKind::io, "there is no such upload");
    if (failing_completions_-- > 0) throw Error(ErrorKind::io, "the server is gone");
    if (!is_met(key, condition)) return std::nullopt;
    Bytes content;
    {
      const std::lock_guard lock(mutex_);
      unsigned number = 0;
      for (const S3Part& part : parts) {
        const Object& there = uploads_.at(upload).at(part.number);
        if (part.number <= std::exchange(number, part.number) || there.etag != part.etag)
          throw Error(ErrorKind::io, "these are not the parts of the upload");
        content.insert(content.end(), there.content.begin(), there.content.end());
      }
      uploads_.erase(upload);
    }
    put_object(key, std::move(content));
    return "";
  }
  void abort_upload(const std::string&, const std::string& upload) const override {
    const std::lock_guard lock(mutex_);
    uploads_.erase(upload);
  }
  std::vector<std::pair<std::string, std::string>> list_uploads(const std::string& prefix) const override {
    std::vector<std::pair<std::string, std::string>> found;
    for (std::string& id : uploads()) found.emplace_back(prefix, std::move(id));
    return found;
  }
  void list(const std::string&, const std::string&, const std::string&,
            const std::function<bool(S3Listing&&)>&) const override {}
  void remove(const std::string& key) const override {
    const std::lock_guard lock(mutex_);
    objects_.erase(key);
  }
  void remove_all(std::span<const std::string> keys) const override {
    for (const std::string& key : keys) remove(key);
  }

 private:
  struct Object {
    Bytes content;
    std::string etag;
  };

  // Requests are carried out by wait(), so that memory which is given back too early is noticed. The latest
  // one goes first.
  class Queue final : public S3Queue {
   public:
    Queue(FakeBucket& bucket, std::size_t depth) : bucket_(bucket), depth_(depth) {}
    ~Queue() override {
      while (!waiting_.empty()) drop(waiting_.size() - 1);
    }
    void get_range(std::uint64_t id, const std::string& key, std::uint64_t offset, MutableByteSpan into,
                   const std::string& etag) override {
      add(id, into.size(), [this, key, offset, into, etag] { bucket_.get_range(key, offset, into, etag); });
    }
    void put(std::uint64_t, const std::string&, std::span<const ByteSpan>) override {
      throw Error(ErrorKind::usage, "files do not do that");
    }
    void upload_part(std::uint64_t id, const std::string& key, const std::string& upload, S3Part& part,
                     std::span<const ByteSpan> parts) override {
      const std::vector<ByteSpan> kept(parts.begin(), parts.end());
      {
        const std::lock_guard lock(bucket_.mutex_);
        bucket_.sent_.push_back(part.number);
      }
      add(id, parts[0].size(),
          [this, key, upload, &part, kept] { part = bucket_.upload_part(key, upload, part.number, kept); });
    }

   private:
    void progress(bool block) override {
      // Without `block` every other time there is nothing yet.
      if (!block && (lazy_ = !lazy_)) return;
      if (waiting_.empty()) return;
      const Request request = waiting_.back();
      std::exception_ptr failure;
      try {
        request.work();
      } catch (const Error&) {
        failure = std::current_exception();
      }
      drop(waiting_.size() - 1);
      finish(request.id, failure);
    }
    struct Request {
      std::uint64_t id = 0;
      std::size_t size = 0;
      std::function<void()> work;
    };
    void add(std::uint64_t id, std::size_t size, std::function<void()> work) {
      if (waiting_.size() >= depth_) throw Error(ErrorKind::usage, "more requests than the queue is for");
      begin();
      waiting_.push_back({id, size, std::move(work)});
      const std::lock_guard lock(bucket_.mutex_);
      bucket_.most_running_ = std::max(bucket_.most_running_, ++bucket_.running_);
      bucket_.most_bytes_ = std::max(bucket_.most_bytes_, bucket_.bytes_ += size);
    }
    void drop(std::size_t index) {
      const std::lock_guard lock(bucket_.mutex_);
      --bucket_.running_;
      bucket_.bytes_ -= waiting_[index].size;
      waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(index));
    }

    FakeBucket& bucket_;
    std::size_t depth_;
    std::vector<Request> waiting_;
    bool lazy_ = false;
  };

  bool is_met(const std::string& key, const S3Condition& condition) const {
    return condition.kind != S3Condition::Kind::absent || !object(key);
  }
  static Bytes joined(std::span<const ByteSpan> parts) {
    Bytes content;
    for (ByteSpan part : parts) content.insert(content.end(), part.begin(), part.end());
    return content;
  }
  void put_object(const std::string& key, Bytes content) const {
    const std::lock_guard lock(mutex_);
    objects_[key] = {std::move(content), std::to_string(++last_)};
  }
  template <class Value>
  Value locked(const Value& value) const {
    const std::lock_guard lock(mutex_);
    return value;
  }

  const std::string name_ = "bucket";
  mutable std::mutex mutex_;
  mutable std::map<std::string, Object> objects_;
  mutable std::map<std::string, std::map<unsigned, Object>> uploads_;
  mutable unsigned last_ = 0;
  mutable std::size_t gets_ = 0;
  std::vector<unsigned> sent_;
  std::size_t running_ = 0;
  std::size_t most_running_ = 0;
  std::size_t bytes_ = 0;
  std::size_t most_bytes_ = 0;
  unsigned failing_part_ = 0;
  mutable int failing_completions_ = 0;
  bool loses_upload_ = false;
};

}  // namespace colonnade::io

#endif
