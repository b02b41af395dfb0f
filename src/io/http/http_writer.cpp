// Writing of files over HTTP; see http_file.h. Formats write the head of a file last, and PUT sends a body
// from front to end: so the file is kept in a local one, which has no name, until it is complete.
//
//   opening   PUT .f.root.0123456789abcdef.part, empty: may we write here?
//             MOVE it to another such name: can the server rename? If not, DELETE it.
//   close()   PUT the part, HEAD (is all of it there?), MOVE it to f.root, HEAD (was it done? Portals answer
//             201, too); or PUT f.root, HEAD
//
// A file that must be new is renamed on condition that nothing is there ("Overwrite: F"). Where the server
// cannot rename, PUT gets the condition (If-None-Match), and since many servers pass over that, it is looked
// before.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <exception>
#include <mutex>
#include <utility>

#include "base/environment.h"
#include "base/process.h"
#include "io/closing_again.h"
#include "io/file_system.h"
#include "io/http/http_call.h"
#include "io/http/http_file.h"
#include "io/http/http_ranges.h"
#include "io/kept_file.h"
#include "io/local/local_file.h"
#include "io/local/local_system.h"
#include "io/lost_answer.h"

namespace colonnade::io {
namespace {

// Whether a file can be written is asked when a person waits.
constexpr unsigned attempts_to_begin = 4;

// A local file without a name, and its content for sending.
class Spool {
 public:
  explicit Spool(const std::string& uri) : Spool(uri, temporary_path(".part")) {}
  ~Spool() {
    if (mapped_ != nullptr) ::munmap(mapped_, size_);
  }
  Spool(const Spool&) = delete;
  Spool& operator=(const Spool&) = delete;

  WritableFile& file() { return *file_; }
  const WritableFile& file() const { return *file_; }

  ByteSpan content(const std::string& uri) {
    if (mapped_ != nullptr) return {static_cast<const std::byte*>(mapped_), size_};
    size_ = static_cast<std::size_t>(file_->size());
    file_->flush();
    if (size_ == 0) return {};
    void* mapped = ::mmap(nullptr, size_, PROT_READ, MAP_SHARED, reader_.get(), 0);
    if (mapped == MAP_FAILED) fail_system(uri, "map the temporary file", errno);
    mapped_ = mapped;
    ::madvise(mapped_, size_, MADV_SEQUENTIAL);
    return {static_cast<const std::byte*>(mapped_), size_};
  }

  // Copies the content into a file with a name, and returns that; empty if there is none yet.
  std::string keep(const std::string& uri) const {
    if (mapped_ == nullptr) return {};
    return keep_file(uri, {static_cast<const std::byte*>(mapped_), size_});
  }

 private:
  Spool(const std::string& uri, const std::string& path)
      : file_(local_file_system()->create(path, uri, "", {}).file),
        reader_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    const int code = errno;
    ::unlink(path.c_str());
    if (reader_.get() < 0) fail_system(uri, "open the temporary file " + path, code);
  }

  std::unique_ptr<WritableFile> file_;
  FileDescriptor reader_;
  void* mapped_ = nullptr;
  std::size_t size_ = 0;
};

HttpUrl beside(const HttpUrl& url) {
  const std::size_t slash = url.path.rfind('/') + 1;
  HttpUrl part = url;
  part.path = fmt::format("{}.{}.{:016x}.part", url.path.substr(0, slash), url.path.substr(slash),
                          environment().random_number());
  return part;
}

class HttpWriter final : public WritableFile, public ClosingAgain {
 public:
  HttpWriter(const std::string& uri, bool must_be_new)
      : caller_(uri), must_be_new_(must_be_new), part_(beside(caller_.url())) {
    if (must_be_new_ && exists(caller_.url()))
      throw Error(ErrorKind::usage, "the file already exists, but a new one was to be created",
                  "another name, or replace it explicitly");
    spool_ = std::make_unique<Spool>(uri);
    put(part_, {}, attempts_to_begin);
    const HttpUrl other = beside(caller_.url());
    const HttpReply reply = move(part_, other, true);
    can_rename_ = was_moved(reply, part_, other);
    // Where there is no MOVE there may be no DELETE either; what is left is empty then.
    if (!can_rename_) remove(part_);
    if (!can_rename_ && reply.http.status == 0) remove(other);
    if (can_rename_) part_ = other;
  }
  ~HttpWriter() override { HttpWriter::discard(); }

  const std::string& uri() const noexcept override { return caller_.uri(); }
  std::uint64_t size() const override { return open_spool().file().size(); }
  void read(std::uint64_t offset, MutableByteSpan into) const override {
    open_spool().file().read(offset, into);
  }
  void write(std::uint64_t offset, ByteSpan bytes) override { open_spool().file().write(offset, bytes); }
  void write_vector(std::uint64_t offset, std::span<const ByteSpan> parts) override {
    open_spool().file().write_vector(offset, parts);
  }
  void truncate(std::uint64_t size) override { open_spool().file().truncate(size); }
  void flush() override { open_spool().file().flush(); }
  void sync() override { flush(); }
  bool appears_at_close() const noexcept override { return true; }

  void close() override {
    if (spool_ == nullptr && failure_) std::rethrow_exception(failure_);
    if (spool_ == nullptr) return;
    // What a forked child has is the parent's, which sends it.
    if (!process_.is_current())
      throw Error(ErrorKind::usage, "the file was opened by another process", "close it there",
                  {.uri = uri()});
    try {
      const ByteSpan content = spool_->content(uri());
      const HttpUrl target = can_rename_ ? part_ : caller_.url();
      // The call before may have done it.
      if (!must_be_new_ || !failure_ || !holds(content)) send(target, content);
    } catch (const Error& error) {
      failure_ = std::make_exception_ptr(kept(error));
      std::rethrow_exception(failure_);
    } catch (...) {
      failure_ = std::current_exception();
      discard();
      throw;
    }
    failure_ = nullptr;
    if (!kept_.empty()) ::unlink(std::exchange(kept_, {}).c_str());
    spool_.reset();
  }
  bool may_close_again() const noexcept override { return failure_ != nullptr && spool_ != nullptr; }

  void discard() noexcept override {
    if (spool_ == nullptr) return;
    spool_.reset();
    if (!can_rename_ || !process_.is_current()) return;
    try {
      remove(part_);
    } catch (...) {  // there may be no server any more
      return;
    }
  }

 private:
  // What is in a complete file may not come again.
  Error kept(const Error& error) {
    if (kept_.empty()) kept_ = spool_->keep(uri());
    if (kept_.empty()) return error;
    return {error.kind(), fmt::format("{}; the complete file is kept here as \"{}\"", error.problem(), kept_),
            error.advice(), error.context()};
  }

  void send(const HttpUrl& target, ByteSpan content) const {
    if (must_be_new_ && !can_rename_ && exists(caller_.url())) fail_replacing();
    put(target, content);
    const HttpAnswer sent = check_size(target, content.size());
    if (can_rename_) rename(content.size(), sent);
  }

  Spool& open_spool() const {
    if (spool_ == nullptr)
      throw Error(ErrorKind::usage, "the file is already closed", "use it before close()", {.uri = uri()});
    return *spool_;
  }

  void put(const HttpUrl& url, ByteSpan content,
           unsigned most_attempts = HttpRetryPolicy{}.most_attempts) const {
    HttpCall call{.action = "write", .url = url, .method = HttpMethod::put};
    call.most_attempts = most_attempts;
    if (!content.empty()) call.parts = {content};
    call.answer_takes_long = true;
    const bool is_last = url.path == caller_.url().path;
    if (must_be_new_ && is_last) call.headers = {{"if-none-match", "*"}};
    const HttpReply reply = caller_.call(call);
    if (reply.http.is_good()) return;
    const Error error = caller_.error(call, reply);
    const bool is_taken = must_be_new_ && is_last && reply.http.has_status(412);
    if (is_taken || (is_last && reply.outcome.may_be_done))
      if (was_done(error, [&] { return holds(content); })) return;
    if (is_taken) fail_replacing();
    throw error;
  }

  // The file, under its name.
  bool holds(ByteSpan content) const {
    constexpr std::size_t most = std::size_t{4} << 20;
    try {
      const auto file = open_http_for_reading(uri(), {});
      if (file->size() != content.size()) return false;
      Bytes found(std::min(most, content.size()));
      for (std::size_t at = 0; at < content.size(); at += most) {
        const ByteSpan expected = content.subspan(at, std::min(most, content.size() - at));
        const MutableByteSpan into = MutableByteSpan(found).first(expected.size());
        file->read(at, into);
        if (!std::equal(into.begin(), into.end(), expected.begin())) return false;
      }
      return true;
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::not_found) return false;
      throw;
    }
  }

  HttpReply move(const HttpUrl& from, const HttpUrl& to, bool may_replace) const {
    HttpCall call{.action = "rename", .url = from, .method = HttpMethod::move};
    call.headers = {{"destination", to.text()}, {"overwrite", may_replace ? "T" : "F"}};
    call.answer_takes_long = true;
    return caller_.call(call);
  }

  // Other answers of success are one to come (202), a list of errors (207), or another server's.
  static bool says_moved(const HttpReply& reply) {
    return reply.http.has_status(201) || reply.http.has_status(204);
  }

  // If an answer is lost, the request is repeated, by libcurl without a word, and the repetition finds
  // nothing to rename.
  bool was_moved(const HttpReply& reply, const HttpUrl& from, const HttpUrl& to) const {
    if (says_moved(reply)) return true;
    const bool may_be_done = reply.outcome.may_be_done || reply.http.is_good() ||
                             reply.http.has_status(404) || reply.http.has_status(412);
    return may_be_done && !is_there(from) && is_there(to);
  }

  // `sent`: what the server says of the part.
  void rename(std::uint64_t size, const HttpAnswer& sent) const {
    const HttpReply reply = move(part_, caller_.url(), !must_be_new_);
    if (says_moved(reply)) {
      const HttpAnswer found = check_size(caller_.url(), size);
      if (found.is_good() && !has_same_version(found, sent) && exists(part_)) fail_unmoved();
      return;
    }
    const Error error = caller_.error({.action = "rename", .url = part_}, reply);
    if (was_done(error, [&] { return was_moved(reply, part_, caller_.url()); }))
      return static_cast<void>(check_size(caller_.url(), size));
    if (must_be_new_ && reply.http.has_status(412)) fail_replacing();
    throw error;
  }

  // Most servers keep both when they rename.
  static bool has_same_version(const HttpAnswer& a, const HttpAnswer& b) {
    const auto is_same = [&](const char* name) {
      return !a.header_or_empty(name).empty() && a.header_or_empty(name) == b.header_or_empty(name);
    };
    return is_same("etag") || is_same("last-modified");
  }

  [[noreturn]] void fail_unmoved() const {
    throw Error(ErrorKind::io, "the file was sent, but an older one of its size still has its name",
                "check the proxies between here and the server, and write it again", {.uri = uri()});
  }

  [[noreturn]] void fail_replacing() const {
    throw Error(ErrorKind::io, "another program has created the file since this one was started",
                "another name, or replace it explicitly", {.uri = uri()});
  }

  HttpCall look_at(const HttpUrl& url) const {
    HttpCall call{.action = "examine", .url = url, .method = HttpMethod::head};
    call.headers = {{"cache-control", "no-cache"}};  // a proxy may remember what was there before
    return call;
  }

  // Some servers accept files but do not let anybody look at them.
  bool exists(const HttpUrl& url) const {
    const HttpReply reply = caller_.call(look_at(url));
    if (may_pass(reply.http)) throw caller_.error(look_at(url), reply);
    return reply.http.is_good();
  }

  // Throws where the server does not say.
  bool is_there(const HttpUrl& url) const {
    const HttpReply reply = caller_.call(look_at(url));
    if (reply.http.has_status(404) || reply.http.has_status(410)) return false;
    if (!reply.http.is_good()) throw caller_.error(look_at(url), reply);
    return true;
  }

  void remove(const HttpUrl& url) const {
    static_cast<void>(
        caller_.call({.action = "remove", .url = url, .method = HttpMethod::remove, .most_attempts = 2}));
  }

  // Some servers keep the part that they have when a connection is cut; and it may be another one, of a
  // portal or proxy, that has accepted them.
  HttpAnswer check_size(const HttpUrl& url, std::uint64_t size) const {
    HttpReply reply = caller_.call(look_at(url));
    if (reply.http.has_status(404) || reply.http.has_status(410))
      throw Error(ErrorKind::io,
                  fmt::format("{} bytes were sent and accepted, but the server does not have the file", size),
                  "check the proxies between here and the server, and write it again", {.uri = uri()});
    const auto there = whole_number(reply.http.header_or_empty("content-length"));
    if (!reply.http.is_good() || !there || *there == size) return std::move(reply.http);
    throw Error(ErrorKind::io, fmt::format("{} bytes were sent, but the server has {}", size, *there),
                "write it again", {.uri = uri()});
  }

  const HttpCaller caller_;
  const bool must_be_new_;
  const Process process_;
  HttpUrl part_;  // where the file is until it has its name
  bool can_rename_ = false;
  std::unique_ptr<Spool> spool_;  // null: closed
  std::exception_ptr failure_;    // of close()
  std::string kept_;              // the path of a copy, after that
};

}  // namespace

std::unique_ptr<WritableFile> open_http_for_writing(const std::string& uri, OpenMode mode,
                                                    const WriteFileOptions&) {
  return with_context({.uri = uri}, [&]() -> std::unique_ptr<WritableFile> {
    if (mode == OpenMode::update)
      throw Error(
          ErrorKind::unsupported, "a file on a web server cannot be changed in place",
          "write the data set to a file of its own, or copy the file to a local disk, add to it there "
          "and copy it back");
    if (uri.find('#') != std::string::npos)
      throw Error(ErrorKind::usage, "a '#' ends the name that a web server sees",
                  "\"%23\" for a '#' in the name");
    return std::make_unique<HttpWriter>(uri, mode == OpenMode::create_new);
  });
}

}  // namespace colonnade::io
