// Reading local files through pread and its vector form.
#include "io/local/local_file.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "io/local/local_system.h"

namespace colonnade::io {
namespace {

class LocalFile final : public RandomAccessFile {
 public:
  LocalFile(std::string uri, FileDescriptor file, std::uint64_t size)
      : uri_(std::move(uri)), file_(std::move(file)), size_(size) {}

  const std::string& uri() const noexcept override { return uri_; }
  std::uint64_t size() const override { return size_; }
  IoTraits traits() const noexcept override { return {}; }

  void read(std::uint64_t offset, MutableByteSpan into) const override {
    check_range(uri_, size_, offset, into.size());
    std::vector<iovec> vectors{{into.data(), into.size()}};
    read_all(file_.get(), uri_, size_, offset, vectors);
  }

  // Requests that lie back to back in the file become one system call each, whatever their order in the list.
  void read_vector(std::span<const ReadRequest> requests) const override {
    for (const ReadRequest& request : requests) check_range(uri_, size_, request.offset, request.into.size());
    std::vector<std::size_t> order(requests.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(),
              [&](std::size_t a, std::size_t b) { return requests[a].offset < requests[b].offset; });
    std::vector<iovec> vectors;
    for (std::size_t i = 0; i < order.size();) {
      const std::uint64_t begin = requests[order[i]].offset;
      std::uint64_t end = begin;
      vectors.clear();
      for (; i < order.size() && requests[order[i]].offset == end; ++i) {
        const MutableByteSpan into = requests[order[i]].into;
        if (!into.empty()) vectors.push_back({into.data(), into.size()});
        end += into.size();
      }
      read_all(file_.get(), uri_, size_, begin, vectors);
    }
  }

 private:
  std::string uri_;
  FileDescriptor file_;
  std::uint64_t size_;
};

int hex_digit(char letter) noexcept {
  if (letter >= '0' && letter <= '9') return letter - '0';
  if (letter >= 'a' && letter <= 'f') return letter - 'a' + 10;
  if (letter >= 'A' && letter <= 'F') return letter - 'A' + 10;
  return -1;
}

std::string percent_decoded(std::string_view text, const std::string& uri) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      result.push_back(text[i]);
      continue;
    }
    const int high = i + 2 < text.size() ? hex_digit(text[i + 1]) : -1;
    const int low = high >= 0 ? hex_digit(text[i + 2]) : -1;
    if (low < 0 || (high == 0 && low == 0))
      throw Error(ErrorKind::usage, fmt::format("the URI has a broken percent sequence at character {}", i),
                  "write a plain path, or %25 for a percent sign", {.uri = uri});
    result.push_back(static_cast<char>(high * 16 + low));
    i += 2;
  }
  return result;
}

}  // namespace

std::string local_path(const std::string& uri) {
  std::string_view rest = uri;
  const std::string_view scheme = "file:";
  const bool is_uri = rest.size() >= scheme.size() &&
                      std::equal(scheme.begin(), scheme.end(), rest.begin(), [](char a, char b) {
                        return a == (b >= 'A' && b <= 'Z' ? b - 'A' + 'a' : b);
                      });
  if (!is_uri) {
    if (rest.find('\0') != std::string_view::npos)
      throw Error(ErrorKind::usage, "the path contains a zero byte", "check the path");
    return uri;
  }
  rest.remove_prefix(scheme.size());
  if (!rest.starts_with("//")) return std::string(rest);
  rest.remove_prefix(2);
  const std::size_t slash = rest.find('/');
  const std::string_view host = rest.substr(0, slash);
  if (slash == std::string_view::npos || (!host.empty() && host != "localhost"))
    throw Error(ErrorKind::usage,
                fmt::format("the URI names the host \"{}\" but file: is for local files", host),
                "file:///absolute/path, with three slashes", {.uri = uri});
  return percent_decoded(rest.substr(slash), uri);
}

std::unique_ptr<RandomAccessFile> open_local_for_reading(const std::string& uri, const ReadFileOptions&) {
  struct stat status{};
  FileDescriptor file = open_regular(uri, O_RDONLY, status);
  return std::make_unique<LocalFile>(uri, std::move(file), static_cast<std::uint64_t>(status.st_size));
}

}  // namespace colonnade::io
