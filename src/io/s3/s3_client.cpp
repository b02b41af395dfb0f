// See s3_client.h. A PUT that has a condition carries a random token as metadata: if an attempt's answer was
// lost and the next one finds the condition broken, the token tells whether it was the first that broke it.
// libcurl, too, repeats a request on a kept connection that was closed, without a word: so each broken
// condition is looked into. The token of a multipart upload is fixed when the upload begins and travels in
// its id: "token/id of S3".
#include "io/s3/s3_client.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <random>
#include <utility>

#include "base/base64.h"
#include "io/http/http_url.h"
#include "io/lost_answer.h"
#include "io/s3/crc32c.h"
#include "io/s3/s3_operations.h"
#include "io/s3/s3_xml.h"

namespace colonnade::io {
namespace {

constexpr const char* token_header = "x-amz-meta-colonnade-put";
constexpr std::size_t largest_listing = std::size_t{16} << 20;    // bytes of a page of a listing
constexpr std::uint64_t largest_object = std::uint64_t{1} << 61;  // bytes; more than any server has
constexpr std::size_t most_deletions = 1000;                      // of one request
// Whether a bucket can be used is asked when a person waits.
constexpr unsigned attempts_to_open = 4;

std::string new_token() {
  std::random_device source;
  return fmt::format("{:08x}{:08x}{:08x}{:08x}", source(), source(), source(), source());
}

std::pair<std::string, std::string> split_upload(const std::string& upload) {
  const std::size_t slash = upload.find('/');
  if (slash == std::string::npos) return {"", upload};
  return {upload.substr(0, slash), upload.substr(slash + 1)};
}

std::string text_of(const Bytes& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void set_condition(S3Call& call, const S3Condition& condition) {
  if (condition.kind == S3Condition::Kind::absent) call.headers.emplace_back("if-none-match", "*");
  if (condition.kind == S3Condition::Kind::etag) call.headers.emplace_back("if-match", condition.etag);
}

bool is_unmet(const S3Answer& answer, const S3Condition& condition) {
  if (condition.kind == S3Condition::Kind::none) return false;
  // With If-Match, an object that is not there is answered like this.
  return answer.has_status(412) || (answer.has_status(404) && condition.kind == S3Condition::Kind::etag &&
                                    (answer.code.empty() || answer.code == "NoSuchKey"));
}

std::string expected_etag(const S3Call& call) {
  for (const auto& [name, value] : call.headers)
    if (name == "if-match") return value;
  return {};
}

S3Call body_call(const std::string& key, std::span<const ByteSpan> parts) {
  S3Call call{.action = "write", .method = HttpMethod::put, .key = key};
  call.parts.assign(parts.begin(), parts.end());
  return call;
}

Bytes big_endian(std::uint32_t value) {
  ByteWriter writer;
  writer.be(value);
  return writer.take();
}

// As listings encode keys: "+" is a blank.
std::string key_decoded(std::string text) {
  std::replace(text.begin(), text.end(), '+', ' ');
  return url_decoded(text);
}

S3Call window_call(const std::string& key, std::string range, std::size_t size) {
  S3Call call{.action = "read", .key = key};
  call.headers.emplace_back("range", std::move(range));
  call.max_body = size;
  call.whole_body = true;
  return call;
}

class Client final : public S3ClientWithCaller {
 public:
  Client(std::string bucket, S3Settings settings) : caller_(std::move(bucket), std::move(settings)) {}

  const std::string& bucket() const noexcept override { return caller_.bucket(); }
  const S3Caller& caller() const noexcept override { return caller_; }

  void check_bucket() const override {
    S3Call call{.action = "use"};
    call.query = {{"list-type", "2"}, {"max-keys", "1"}};
    call.most_attempts = attempts_to_open;
    const S3Answer answer = caller_.call(call);
    if (answer.is_good()) return;
    S3Answer told = answer;
    if (answer.has_status(404) && answer.code.empty()) told.code = "NoSuchBucket";
    throw caller_.error(call, told);
  }

  std::optional<S3Object> head(const std::string& key) const override {
    const S3Call call{.action = "examine", .method = HttpMethod::head, .key = key};
    S3Answer answer = caller_.call(call);
    // An answer to HEAD has no body that would say whether it is the bucket, or what is wrong with the keys.
    if (answer.has_status(400) || answer.has_status(403)) {
      std::array<std::byte, 1> first;
      get_range(key, 0, first, {});
      answer = caller_.call(call);  // it has renewed the keys
    }
    if (answer.has_status(404)) return std::nullopt;
    if (!answer.is_good()) throw caller_.error(call, answer);
    const auto size = whole_number(answer.http.header_or_empty("content-length"));
    if (!size) throw bad_answer(key, "examine", "no length");
    return S3Object{key, *size, answer.http.header_or_empty("etag")};
  }

  std::optional<S3Opening> open_object(const std::string& key) const override {
    const S3Call first = window_call(key, range_header(0, head_window), head_window);
    const S3Call last = window_call(key, fmt::format("bytes=-{}", tail_window), tail_window);
    const auto [head_answer, tail_answer] = caller_.call_both(first, last);
    if (head_answer.has_status(404)) {
      // Some servers answer so where they do not know the access key.
      const std::string& code = head_answer.code;
      if (code.empty() || code == "NoSuchKey" || code == "NoSuchBucket") return std::nullopt;
      throw caller_.error(first, head_answer);
    }
    if (head_answer.has_status(400) || head_answer.has_status(403)) throw caller_.error(first, head_answer);
    std::optional<FoundWindow> found = window_in(head_answer.http);
    if (!found) {  // an empty object has no range
      std::optional<S3Object> object = head(key);
      if (!object) return std::nullopt;
      return S3Opening{*std::move(object), {}, {}};
    }
    S3Opening opening{{key, found->size, found->etag}, {}, head_answer.http.took};
    opening.windows.push_back(std::move(found->window));
    std::optional<FoundWindow> end = window_in(tail_answer.http);
    if (opening.windows.front().bytes.size() < opening.object.size && end &&
        end->etag == opening.object.etag && end->size == opening.object.size)
      opening.windows.push_back(std::move(end->window));
    return opening;
  }

  void get_range(const std::string& key, std::uint64_t offset, MutableByteSpan into,
                 const std::string& etag) const override {
    const S3Call call = range_call(key, offset, into, etag);
    check_range_answer(caller_, call, offset, caller_.call(call));
  }

  std::optional<Small> get_small(const std::string& key, std::size_t max_size) const override {
    S3Call call{.action = "read", .key = key};
    call.max_body = std::max(max_size, call.max_body);
    S3Answer answer = caller_.call(call);
    if (answer.has_status(404) && (answer.code.empty() || answer.code == "NoSuchKey")) return std::nullopt;
    if (!answer.is_good()) throw caller_.error(call, answer);
    if (answer.http.cut_off || answer.http.body.size() > max_size)
      throw Error(ErrorKind::resource,
                  fmt::format("\"{}\" of bucket \"{}\" has more than the {} bytes that are expected", key,
                              bucket(), max_size),
                  {}, caller_.context(key));
    return Small{std::move(answer.http.body), answer.http.header_or_empty("etag")};
  }

  std::optional<std::string> put(const std::string& key, std::span<const ByteSpan> parts,
                                 const S3Condition& condition) const override {
    S3Call call = put_call(key, parts);
    const std::string token = condition.kind == S3Condition::Kind::none ? "" : new_token();
    if (!token.empty()) call.headers.emplace_back(token_header, token);
    set_condition(call, condition);
    const S3Answer answer = caller_.call(call);
    if (is_unmet(answer, condition)) return etag_if_ours(key, token);
    return check_put_answer(caller_, call, answer);
  }

  std::string create_upload(const std::string& key) const override {
    S3Call call{
        .action = "begin to write", .method = HttpMethod::post, .key = key, .query = {{"uploads", ""}}};
    const std::string token = new_token();
    call.headers.emplace_back(token_header, token);
    const S3Answer answer = caller_.call(call);
    if (!answer.is_good()) throw caller_.error(call, answer);
    const auto document = parse_xml(text_of(answer.http.body));
    const std::string id = document ? document->child_text("UploadId") : std::string();
    if (id.empty()) throw bad_answer(key, "begin to write", "no upload id");
    return token + "/" + id;
  }

  S3Part upload_part(const std::string& key, const std::string& upload, unsigned number,
                     std::span<const ByteSpan> parts) const override {
    const S3Call call = part_call(key, upload, number, parts);
    return {number, check_put_answer(caller_, call, caller_.call(call))};
  }

  std::optional<std::string> complete_upload(const std::string& key, const std::string& upload,
                                             std::span<const S3Part> parts,
                                             const S3Condition& condition) const override {
    const auto [token, id] = split_upload(upload);
    S3Call call{.action = "finish writing",
                .method = HttpMethod::post,
                .key = key,
                .query = {{"uploadId", id}},
                .answer_takes_long = true};
    call.text = "<CompleteMultipartUpload xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">";
    for (const S3Part& part : parts) {
      call.text += fmt::format("<Part><PartNumber>{}</PartNumber><ETag>{}</ETag></Part>", part.number,
                               xml_escaped(part.etag));
      call.joined += part.size;
    }
    call.text += "</CompleteMultipartUpload>";
    set_condition(call, condition);
    const S3Answer answer = caller_.call(call);
    if (auto etag = completed_etag(answer)) return etag;
    const Error error =
        answer.is_good() ? bad_answer(key, call.action, "no result") : caller_.error(call, answer);
    const bool is_repeated = answer.code == "NoSuchUpload" || is_unmet(answer, condition);
    const bool may_come = answer.may_be_done || answer.http.is_good();
    std::optional<std::string> etag;
    if (is_repeated || may_come)
      was_done(error, [&] {
        etag = etag_if_ours(key, token);
        if (!etag && may_come) throw error;  // the server may still be at it
        return etag.has_value();
      });
    if (etag) return etag;
    if (is_unmet(answer, condition)) return std::nullopt;
    throw error;
  }

  void abort_upload(const std::string& key, const std::string& upload) const override {
    const S3Call call{.action = "abort the upload of",
                      .method = HttpMethod::remove,
                      .key = key,
                      .query = {{"uploadId", split_upload(upload).second}},
                      .most_attempts = 3};  // often because the server is gone
    const S3Answer answer = caller_.call(call);
    if (!answer.is_good() && !answer.has_status(404)) throw caller_.error(call, answer);
  }

  std::vector<std::pair<std::string, std::string>> list_uploads(const std::string& prefix) const override {
    std::vector<std::pair<std::string, std::string>> uploads;
    S3Query from;
    while (true) {
      S3Call call{.action = "list the uploads of"};
      call.query = {{"uploads", ""}, {"prefix", prefix}};
      call.query.insert(call.query.end(), from.begin(), from.end());
      call.max_body = largest_listing;
      const XmlElement document = listing(call);
      for (const XmlElement& child : document.children)
        if (child.name == "Upload")
          uploads.emplace_back(child.child_text("Key"), child.child_text("UploadId"));
      const S3Query next{{"key-marker", document.child_text("NextKeyMarker")},
                         {"upload-id-marker", document.child_text("NextUploadIdMarker")}};
      if (document.child_text("IsTruncated") != "true" || next == from) return uploads;
      from = next;
    }
  }

  void list(const std::string& prefix, const std::string& delimiter, const std::string& after,
            const std::function<bool(S3Listing&&)>& take) const override {
    std::string token;
    // A listing that turns in circles comes back to a token that was marked; marks are ever farther apart
    // (Brent).
    std::string marked;
    std::size_t since_mark = 0, until_mark = 1;
    while (true) {
      S3Call call{.action = "list"};
      call.query = {{"list-type", "2"}, {"prefix", prefix}, {"encoding-type", "url"}};
      if (!delimiter.empty()) call.query.emplace_back("delimiter", delimiter);
      if (!after.empty()) call.query.emplace_back("start-after", after);
      if (!token.empty()) call.query.emplace_back("continuation-token", token);
      call.max_body = largest_listing;
      const XmlElement document = listing(call);
      if (!take(listing_of(document)) || document.child_text("IsTruncated") != "true") return;
      const std::string next = document.child_text("NextContinuationToken");
      if (next.empty() || next == marked) throw bad_answer(prefix, "list", "a listing that does not go on");
      if (marked.empty() || ++since_mark == until_mark) {
        marked = next;
        since_mark = 0;
        until_mark *= 2;
      }
      token = next;
    }
  }

  void remove(const std::string& key) const override {
    const S3Call call{.action = "remove", .method = HttpMethod::remove, .key = key};
    const S3Answer answer = caller_.call(call);
    if (answer.is_good() || (answer.has_status(404) && (answer.code.empty() || answer.code == "NoSuchKey")))
      return;
    throw caller_.error(call, answer);
  }

  void remove_all(std::span<const std::string> keys) const override {
    while (!keys.empty()) {
      const auto some = keys.first(std::min(keys.size(), most_deletions));
      remove_some(some);
      keys = keys.subspan(some.size());
    }
  }

 private:
  Error bad_answer(const std::string& key, std::string_view action, std::string_view what) const {
    return {ErrorKind::io,
            fmt::format("cannot {} \"{}\" of bucket \"{}\": the server's answer has {}", action, key,
                        bucket(), what),
            "an endpoint that speaks S3", caller_.context(key)};
  }

  static std::optional<std::string> completed_etag(const S3Answer& answer) {
    if (!answer.is_good()) return std::nullopt;
    const auto document = parse_xml(text_of(answer.http.body));
    if (!document || document->name != "CompleteMultipartUploadResult") return std::nullopt;
    return document->child_text("ETag");
  }

  std::optional<std::string> etag_if_ours(const std::string& key, const std::string& token) const {
    const S3Call call{.action = "examine", .method = HttpMethod::head, .key = key};
    const S3Answer answer = caller_.call(call);
    if (answer.has_status(404)) return std::nullopt;
    if (!answer.is_good()) throw caller_.error(call, answer);
    if (token.empty() || answer.http.header_or_empty(token_header) != token) return std::nullopt;
    return answer.http.header_or_empty("etag");
  }

  XmlElement listing(const S3Call& call) const {
    const S3Answer answer = caller_.call(call);
    if (!answer.is_good()) throw caller_.error(call, answer);
    auto document = parse_xml(text_of(answer.http.body));
    if (!document || !document->name.starts_with("List") || answer.http.cut_off)
      throw bad_answer("", call.action, "no listing");
    return *std::move(document);
  }

  static S3Listing listing_of(const XmlElement& document) {
    const bool encoded = document.child_text("EncodingType") == "url";
    const auto decoded = [&](const std::string& text) { return encoded ? key_decoded(text) : text; };
    S3Listing result;
    for (const XmlElement& child : document.children) {
      if (child.name == "Contents")
        result.objects.push_back({decoded(child.child_text("Key")),
                                  whole_number(child.child_text("Size")).value_or(0),
                                  child.child_text("ETag")});
      if (child.name == "CommonPrefixes") result.prefixes.push_back(decoded(child.child_text("Prefix")));
    }
    return result;
  }

  void remove_some(std::span<const std::string> keys) const {
    S3Call call{.action = "remove objects of", .method = HttpMethod::post, .query = {{"delete", ""}}};
    call.text = "<Delete><Quiet>true</Quiet>";
    for (const std::string& key : keys)
      call.text += fmt::format("<Object><Key>{}</Key></Object>", xml_escaped(key));
    call.text += "</Delete>";
    // One of the two sums is asked for; MD5 is what all servers know.
    const Bytes sum = md5(as_bytes(call.text));
    if (!sum.empty())
      call.headers.emplace_back("content-md5", to_base64(sum));
    else
      call.headers.emplace_back("x-amz-checksum-sha256", to_base64(sha256(std::array{as_bytes(call.text)})));
    call.max_body = largest_listing;
    const S3Answer answer = caller_.call(call);
    if (answer.has_status(501) || answer.code == "NotImplemented") {
      for (const std::string& key : keys) remove(key);
      return;
    }
    if (!answer.is_good()) throw caller_.error(call, answer);
    if (answer.http.body.empty()) return;
    const auto document = parse_xml(text_of(answer.http.body));
    if (!document || document->name != "DeleteResult" || answer.http.cut_off)
      throw bad_answer("", call.action, "no result");
    for (const XmlElement& error : document->children) {
      if (error.name != "Error" || error.child_text("Code") == "NoSuchKey") continue;
      S3Answer told;
      told.http.status = answer.http.status;
      told.code = error.child_text("Code");
      told.message = error.child_text("Message");
      call.key = error.child_text("Key");
      call.action = "remove";
      // One of many may fail where the server is busy: it is tried again, as others are.
      if (!may_pass(told.http, told.code) || call.key.empty()) throw caller_.error(call, told);
      remove(call.key);
    }
  }

  S3Caller caller_;
};

}  // namespace

std::string upload_id_of_server(const std::string& upload) {
  return split_upload(upload).second;
}

S3Location parse_s3_uri(const std::string& uri) {
  const std::size_t colon = uri.find("://");
  const std::string rest = colon == std::string::npos ? std::string() : uri.substr(colon + 3);
  const std::size_t slash = std::min(rest.find('/'), rest.size());
  S3Location location{rest.substr(0, slash), rest.substr(std::min(slash + 1, rest.size()))};
  const bool known = std::all_of(location.bucket.begin(), location.bucket.end(), [](char letter) {
    const auto code = static_cast<unsigned char>(letter);
    return std::isalnum(code) || letter == '-' || letter == '.' || letter == '_';
  });
  if (location.bucket.empty() || !known)
    throw Error(ErrorKind::usage, "the URI names no bucket of S3", "s3://bucket/key", {.uri = uri});
  return location;
}

std::shared_ptr<const S3Client> make_s3_client(std::string bucket, S3Settings settings) {
  if (!HttpEngine::is_built_in()) HttpEngine::shared();  // throws what is missing
  return std::make_shared<Client>(std::move(bucket), std::move(settings));
}

std::shared_ptr<const S3Client> S3Client::open(const std::string& uri) {
  return with_context({.uri = uri},
                      [&] { return make_s3_client(parse_s3_uri(uri).bucket, find_s3_settings()); });
}

S3Call range_call(const std::string& key, std::uint64_t offset, MutableByteSpan into,
                  const std::string& etag) {
  if (offset > largest_object || into.size() > largest_object)
    throw Error(ErrorKind::format,
                fmt::format("cannot read {} bytes of \"{}\" from byte {} on: no object is that long",
                            into.size(), key, offset));
  S3Call call{.action = "read", .key = key};
  // An empty range cannot be asked for; HEAD tells what is to be known of it.
  if (into.empty())
    call.method = HttpMethod::head;
  else
    call.headers.emplace_back("range", range_header(offset, into.size()));
  if (!etag.empty()) call.headers.emplace_back("if-match", etag);
  call.into = into;
  return call;
}

void check_range_answer(const S3Caller& caller, const S3Call& call, std::uint64_t offset,
                        const S3Answer& answer) {
  if (!answer.is_good()) throw caller.error(call, answer);
  const HttpAnswer& http = answer.http;
  const auto fail = [&](ErrorKind kind, const std::string& why, const char* advice) {
    throw Error(kind, fmt::format("cannot read \"{}\" of bucket \"{}\": {}", call.key, caller.bucket(), why),
                advice, caller.context(call.key));
  };
  // Servers that pass over If-Match say in their answers which version they are of.
  const std::string etag = http.header_or_empty("etag");
  const std::string expected = expected_etag(call);
  if (!etag.empty() && !expected.empty() && etag != expected)
    fail(ErrorKind::io,
         fmt::format("the object was changed in the meantime: its ETag was {} and is {}", expected,
                     in_one_line(etag)),
         "open it again");
  const std::uint64_t end = offset + call.into.size();
  if (call.into.empty()) {
    const auto size = whole_number(http.header_or_empty("content-length"));
    if (size && *size < offset)
      fail(ErrorKind::format, fmt::format("it has {} bytes, fewer than {}", *size, offset), "");
    return;
  }
  const bool whole = http.status == 200 && offset == 0 && http.written == call.into.size();
  if (http.status != 206 && !whole)
    fail(ErrorKind::io, answered_without_range(http.status, "object"),
         "use a server or proxy that serves ranges of objects");
  if (whole) return;
  const std::uint64_t sent_end = offset + http.written;
  const std::string said = http.header_or_empty("content-range");
  const ContentRange range = parse_content_range(said).value_or(ContentRange{});
  const bool is_short = sent_end < end;
  if (range.first != offset || (is_short && range.last.value_or(0) + 1 != sent_end))
    fail(ErrorKind::io,
         fmt::format("bytes {} to {} were requested, but the server sent {} and says \"{}\"", offset, end,
                     http.written, in_one_line(said)),
         "check the proxies between here and the server");
  if (is_short)
    fail(ErrorKind::format,
         fmt::format("it ends at byte {}, but bytes {} to {} were requested", sent_end, offset, end), "");
}

S3Call put_call(const std::string& key, std::span<const ByteSpan> parts) {
  S3Call call = body_call(key, parts);
  // There are servers that keep what they have when a connection is cut. With a sum they notice.
  call.headers.emplace_back("x-amz-checksum-crc32c", to_base64(big_endian(crc32c(parts))));
  return call;
}

S3Call part_call(const std::string& key, const std::string& upload, unsigned number,
                 std::span<const ByteSpan> parts) {
  S3Call call = body_call(key, parts);
  call.query = {{"partNumber", std::to_string(number)}, {"uploadId", split_upload(upload).second}};
  return call;
}

std::string check_put_answer(const S3Caller& caller, const S3Call& call, const S3Answer& answer) {
  if (!answer.is_good()) throw caller.error(call, answer);
  const std::string etag = answer.http.header_or_empty("etag");
  // S3 names what it has stored; a portal or proxy that says yes to everything does not.
  if (etag.empty())
    throw Error(
        ErrorKind::io,
        fmt::format("cannot write \"{}\" of bucket \"{}\": the server's answer (status {}) has no ETag",
                    call.key, caller.bucket(), answer.http.status),
        "an endpoint that speaks S3; check the proxies between here and the server",
        caller.context(call.key));
  return etag;
}

}  // namespace colonnade::io
