// The stores of a real S3 server in the suite of all stores: path style, with and without TLS. The server's
// address is in the environment (tests/servers/README.md).
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "io/object_store_conformance_test.h"
#include "io/s3/s3_client.h"
#include "io/s3/s3_store.h"

namespace colonnade::io {
namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// A prefix that was not used before; "missing": a bucket that is not there.
std::string fresh_uri(const std::string& server, const std::string& name) {
  static int count = 0;
  if (name == "missing") return "s3://colonnade-missing/" + server;
  return fmt::format("s3://{}/{}/{}-{}", variable("COLONNADE_TEST_S3_BUCKET"), server, name, ++count);
}

const RegisterStore plain({.name = "S3", .fresh_uri = [](const std::string& name) {
                             ::unsetenv("AWS_ENDPOINT_URL_S3");
                             return fresh_uri("plain", name);
                           }});
const RegisterStore with_tls({.name = "S3WithTls", .fresh_uri = [](const std::string& name) {
                                const std::string endpoint = variable("COLONNADE_TEST_S3_TLS_ENDPOINT");
                                ::setenv("AWS_ENDPOINT_URL_S3", endpoint.c_str(), 1);
                                return fresh_uri("tls", name);
                              }});

}  // namespace
}  // namespace colonnade::io
