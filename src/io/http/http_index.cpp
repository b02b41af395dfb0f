// The index pages that web servers make of folders; see http_file.h. They are HTML in which every name is a
// link, relative to the folder; links that lead elsewhere, sort the list or go up are not names.
#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "base/lower_case.h"
#include "io/http/http_call.h"
#include "io/http/http_file.h"

namespace colonnade::io {
namespace {

constexpr std::size_t largest_index = std::size_t{64} << 20;

// "&amp;" and the like, as far as names need them.
std::string without_entities(std::string text) {
  const auto replace = [&](std::string_view entity, std::string_view letter) {
    for (std::size_t at = text.find(entity); at != std::string::npos; at = text.find(entity, at + 1))
      text.replace(at, entity.size(), letter);
  };
  replace("&quot;", "\"");
  replace("&#39;", "'");
  replace("&lt;", "<");
  replace("&gt;", ">");
  replace("&amp;", "&");
  return text;
}

// The value of the next href, which must be quoted; empty: there is no other.
std::string next_link(std::string_view page, std::size_t& at) {
  constexpr std::string_view word = "href=";
  const auto same = [](char a, char b) { return lower_case(a) == b; };
  while (true) {
    const auto found = std::search(page.begin() + static_cast<std::ptrdiff_t>(at), page.end(), word.begin(),
                                   word.end(), same);
    if (found == page.end()) return {};
    at = static_cast<std::size_t>(found - page.begin()) + word.size();
    if (at >= page.size() || (page[at] != '"' && page[at] != '\'')) continue;
    const std::size_t end = page.find(page[at], at + 1);
    if (end == std::string_view::npos) return {};
    std::string link = without_entities(std::string(page.substr(at + 1, end - at - 1)));
    at = end + 1;
    if (!link.empty()) return link;
  }
}

bool is_page(const HttpAnswer& http) {
  return http.header_or_empty("content-type").starts_with("text/html");
}

}  // namespace

std::size_t http_query_at(std::string_view uri) {
  return std::min(uri.find('?'), uri.size());
}

std::vector<std::string> list_http_folder(const std::string& folder) {
  return with_context({.uri = folder}, [&] {
    const HttpCaller caller(folder);
    HttpCall call{.action = "list", .url = caller.url(), .max_body = largest_index};
    const HttpReply reply = caller.call(call);
    if (reply.http.has_status(403) || (reply.http.is_good() && !is_page(reply.http)))
      throw Error(ErrorKind::unsupported, "the server has no index page for this folder",
                  "name the files one by one");
    if (!reply.http.is_good()) throw caller.error(call, reply);
    if (reply.http.cut_off)
      throw Error(ErrorKind::resource, fmt::format("the index page has more than {} bytes", largest_index),
                  "name the files one by one");
    // Names are put behind the folder as the user wrote it, with what it says of users.
    const std::string base = folder.substr(0, folder.find_first_of("?#"));
    const std::string_view page(reinterpret_cast<const char*>(reply.http.body.data()),
                                reply.http.body.size());
    std::vector<std::string> uris;
    std::size_t at = 0;
    for (std::string link = next_link(page, at); !link.empty(); link = next_link(page, at)) {
      const auto target = resolved(reply.from, link);
      if (!target || !target->is_same_server(reply.from) || !target->query.empty() ||
          !target->path.starts_with(reply.from.path))
        continue;
      const std::string name = target->path.substr(reply.from.path.size());
      const std::size_t slash = name.find('/');
      if (name.empty() || name.starts_with('.') || (slash != std::string::npos && slash + 1 != name.size()))
        continue;
      uris.push_back(base + name);
    }
    std::sort(uris.begin(), uris.end());
    uris.erase(std::unique(uris.begin(), uris.end()), uris.end());
    return uris;
  });
}

}  // namespace colonnade::io
