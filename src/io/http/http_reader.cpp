// Reading of files over HTTP; see http_file.h.
#include <fmt/format.h>

#include <utility>

#include "io/http/http_call.h"
#include "io/http/http_file.h"
#include "io/http/http_ranges.h"

namespace colonnade::io {
namespace {

// As S3's, which was measured.
constexpr IoTraits http_traits{.max_request = std::size_t{8} << 20,
                               .worthwhile_gap = std::size_t{256} << 10,
                               .concurrency = 16,
                               .most_concurrency = 64};
// A file that the server gives only as a whole: bytes.
constexpr std::size_t largest_whole_file = std::size_t{64} << 20;

// What tells one state of a file from another.
struct HttpVersion {
  std::uint64_t size = 0;
  std::string etag;      // with its quotes; empty: none
  std::string modified;  // as the server writes it; empty: none

  // A weak tag never matches in If-Match.
  bool has_strong_etag() const noexcept { return etag.starts_with('"'); }
};

struct OpenHttpFile {
  HttpCaller caller;
  HttpVersion version = {};
  std::optional<HttpUrl> shortcut = {};  // where the opening was sent on to
  std::chrono::milliseconds round_trip{0};
};

[[noreturn]] void fail_changed(const std::string& uri, const std::string& how) {
  throw Error(ErrorKind::io, "the file was changed since it was opened: " + how, "open it again",
              {.uri = uri});
}

HttpCall range_call(const OpenHttpFile& file, std::uint64_t offset, MutableByteSpan into) {
  HttpCall call{.action = "read", .url = file.caller.url(), .shortcut = file.shortcut};
  call.headers.emplace_back("range", range_header(offset, into.size()));
  if (file.version.has_strong_etag())
    call.headers.emplace_back("if-match", file.version.etag);
  else if (!file.version.modified.empty())
    call.headers.emplace_back("if-unmodified-since", file.version.modified);
  call.into = into;
  return call;
}

// Servers that pass over If-Match say in their answers which version they are of.
void check_version(const OpenHttpFile& file, const HttpAnswer& http) {
  const HttpVersion& version = file.version;
  const std::string& uri = file.caller.uri();
  if (http.has_status(412)) fail_changed(uri, "the server says so");
  const auto range = parse_content_range(http.header_or_empty("content-range"));
  if (range && range->size && *range->size != version.size)
    fail_changed(uri, fmt::format("it had {} bytes and has {}", version.size, *range->size));
  if (http.has_status(416)) fail_changed(uri, "it has become shorter");
  if (!http.is_good()) return;
  const std::string etag = http.header_or_empty("etag");
  if (!etag.empty() && !version.etag.empty()) {
    if (etag != version.etag) fail_changed(uri, fmt::format("its ETag was {} and is {}", version.etag, etag));
    return;
  }
  const std::string modified = http.header_or_empty("last-modified");
  if (!modified.empty() && !version.modified.empty() && modified != version.modified)
    fail_changed(uri, fmt::format("it was of {} and is of {}", version.modified, modified));
}

[[noreturn]] void fail_without_range(const std::string& uri, const HttpAnswer& http) {
  throw Error(ErrorKind::io, answered_without_range(http.status, "file"),
              "a server or proxy that serves ranges of files", {.uri = uri});
}

void check_range_reply(const OpenHttpFile& file, const HttpCall& call, std::uint64_t offset,
                       const HttpReply& reply) {
  const HttpAnswer& http = reply.http;
  check_version(file, http);
  if (!http.is_good()) throw file.caller.error(call, reply);
  const ErrorContext where{.uri = file.caller.uri()};
  const bool whole = http.status == 200 && offset == 0 && http.written == call.into.size() &&
                     call.into.size() == file.version.size;
  if (whole) return;
  if (http.status != 206) fail_without_range(where.uri, http);
  const auto range = parse_content_range(http.header_or_empty("content-range"));
  if (!range || range->first != offset || http.written != call.into.size())
    throw Error(ErrorKind::io,
                fmt::format("bytes {} to {} were requested, but the server sent {} and says \"{}\"", offset,
                            offset + call.into.size(), http.written,
                            in_one_line(http.header_or_empty("content-range"))),
                "check the proxies between here and the server", where);
}

class HttpReadQueue final : public ReadQueue {
 public:
  HttpReadQueue(std::shared_ptr<const OpenHttpFile> file, unsigned depth)
      : ReadQueue(depth), file_(std::move(file)), engine_(&HttpEngine::shared()) {}
  ~HttpReadQueue() override { engine_->cancel(this); }

  void submit(std::uint64_t id, std::uint64_t offset, MutableByteSpan into) override {
    begin();
    try {
      const auto call = std::make_shared<const HttpCall>(range_call(*file_, offset, into));
      file_->caller.start(*engine_, this, call, [this, id, offset, call](HttpReply&& reply) {
        try {
          check_range_reply(*file_, *call, offset, reply);
          finish(id);
        } catch (...) {
          finish(id, std::current_exception());
        }
      });
    } catch (...) {
      withdraw();
      throw;
    }
  }

 private:
  const std::shared_ptr<const OpenHttpFile> file_;
  HttpEngine* const engine_;
};

class HttpFile final : public RangedFile {
 public:
  HttpFile(std::shared_ptr<const OpenHttpFile> file, std::vector<FileWindow> windows)
      : RangedFile(file->caller.uri(), file->version.size, std::move(windows)), file_(std::move(file)) {}

  std::string version() const override {
    return windows().version(file_->version.etag + file_->version.modified);
  }
  IoTraits traits() const noexcept override { return http_traits; }
  std::chrono::steady_clock::duration round_trip() const noexcept override { return file_->round_trip; }

 private:
  std::unique_ptr<ReadQueue> open_requests(unsigned depth) const override {
    return std::make_unique<HttpReadQueue>(file_, depth);
  }

  const std::shared_ptr<const OpenHttpFile> file_;
};

HttpVersion version_in(const HttpAnswer& http, std::uint64_t size) {
  return {size, http.header_or_empty("etag"), http.header_or_empty("last-modified")};
}

HttpCall opening_call(const HttpCaller& caller, std::string range, std::size_t max_body) {
  HttpCall call{.action = "open", .url = caller.url()};
  call.headers.emplace_back("range", std::move(range));
  call.max_body = max_body;
  call.whole_body = true;
  return call;
}

// Of what has no range that could be asked for.
HttpVersion version_by_head(const HttpCaller& caller) {
  const HttpCall call{.action = "open", .url = caller.url(), .method = HttpMethod::head};
  const HttpReply reply = caller.call(call);
  if (!reply.http.is_good()) throw caller.error(call, reply);
  const auto size = whole_number(reply.http.header_or_empty("content-length"));
  if (!size)
    throw Error(ErrorKind::unsupported, "the server does not say how large the file is",
                "copy it to a local disk and open it there", {.uri = caller.uri()});
  return version_in(reply.http, *size);
}

// The file in an answer of 200: the server knows no ranges.
std::vector<FileWindow> whole_file(OpenHttpFile& file, const HttpAnswer& http) {
  const auto size = whole_number(http.header_or_empty("content-length"));
  if (http.cut_off)
    throw Error(ErrorKind::unsupported,
                fmt::format("the server gives files only as a whole, and this one has {} bytes",
                            size ? std::to_string(*size) : fmt::format("more than {}", largest_whole_file)),
                "copy it to a local disk and open it there", {.uri = file.caller.uri()});
  file.version = version_in(http, http.body.size());
  return {FileWindow{0, http.body}};
}

std::vector<FileWindow> windows_in(OpenHttpFile& file, const HttpReply& first, const HttpReply& last) {
  const HttpAnswer& http = first.http;
  if (http.has_status(200)) return whole_file(file, http);
  if (http.is_good() && http.status != 206) fail_without_range(file.caller.uri(), http);
  std::optional<FoundWindow> head = window_in(http);
  if (!head || head->window.offset != 0) {
    file.version = version_by_head(file.caller);
    return {};
  }
  file.version = version_in(http, head->size);
  std::vector<FileWindow> windows{std::move(head->window)};
  if (windows.front().bytes.size() == head->size) return windows;
  std::optional<FoundWindow> tail = window_in(last.http);
  if (!tail) return windows;  // there are servers that do not know how to give the last bytes
  check_version(file, last.http);
  windows.push_back(std::move(tail->window));
  return windows;
}

}  // namespace

std::unique_ptr<RandomAccessFile> open_http_for_reading(const std::string& uri, const ReadFileOptions&) {
  return with_context({.uri = uri}, [&]() -> std::unique_ptr<RandomAccessFile> {
    auto file = std::make_shared<OpenHttpFile>(OpenHttpFile{.caller = HttpCaller(uri)});
    const HttpCall first = opening_call(file->caller, range_header(0, head_window), largest_whole_file);
    HttpCall last = opening_call(file->caller, fmt::format("bytes=-{}", tail_window), tail_window);
    last.most_attempts = 1;
    const auto [head, tail] = file->caller.call_both(first, last);
    if (!head.http.is_good() && !head.http.has_status(416)) throw file->caller.error(first, head);
    const std::string coding = head.http.header_or_empty("content-encoding");
    if (!coding.empty() && coding != "identity")
      throw Error(ErrorKind::unsupported,
                  fmt::format("the server gives the file only compressed ({})", in_one_line(coding)),
                  "a server that gives files as they are");
    if (!head.from.is_same_server(file->caller.url()) || head.from.path != file->caller.url().path)
      file->shortcut = head.from;
    file->round_trip = head.http.took;
    std::vector<FileWindow> windows = windows_in(*file, head, tail);
    return std::make_unique<HttpFile>(std::move(file), std::move(windows));
  });
}

}  // namespace colonnade::io
