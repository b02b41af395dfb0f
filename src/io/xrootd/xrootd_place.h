// What a root: URI names: a server, a file there, and what is sent along.
#ifndef COLONNADE_IO_XROOTD_XROOTD_PLACE_H
#define COLONNADE_IO_XROOTD_XROOTD_PLACE_H

#include <cstddef>
#include <string>
#include <string_view>

namespace colonnade::io {

struct XrootdPlace {
  std::string server;  // "root://user@host:1094"
  std::string path;    // "/folder/name.root"
  std::string query;   // "authz=...", without "?"; may be empty

  std::string host() const;  // without brackets
  // As the library takes them.
  std::string url() const;
  std::string path_with_query() const;
  // All of it in one text whose last part, after the last "/", is that of the path; and back.
  std::string key() const;
  static XrootdPlace of_key(std::string_view key);
};

// "root://host//folder/name.root?name=value". Throws ErrorKind::usage.
XrootdPlace parse_xrootd_uri(const std::string& uri);

// Where the query of a root: URI begins: at a "?" with "name=" behind it, for another "?" is a wildcard; else
// its end.
std::size_t xrootd_query_at(std::string_view uri);

}  // namespace colonnade::io

#endif
