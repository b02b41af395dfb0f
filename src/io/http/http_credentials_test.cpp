// Where tokens are found, and when they are read again.
#include "io/http/http_credentials.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/base64.h"
#include "base/bytes.h"
#include "base/test_folder.h"
#include "io/http/http_url.h"

namespace colonnade::io {
namespace {

using std::chrono::seconds;
using std::chrono::system_clock;

std::string token_until(system_clock::time_point end) {
  const auto at = std::chrono::duration_cast<seconds>(end.time_since_epoch()).count();
  std::string claims = to_base64(as_bytes("{\"sub\":\"me\",\"exp\":" + std::to_string(at) + "}"));
  while (claims.ends_with('=')) claims.pop_back();
  return "e30." + claims + ".sig";
}

class BearerTokens : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"BEARER_TOKEN", "BEARER_TOKEN_FILE", "XDG_RUNTIME_DIR"}) ::unsetenv(name);
  }
  void TearDown() override { SetUp(); }
  std::filesystem::path write(const std::string& name, const std::string& text) {
    std::ofstream(folder_.path() / name) << text;
    return folder_.path() / name;
  }
  TestFolder folder_;
};

TEST_F(BearerTokens, AreFoundInTheOrderOfTheProfile) {
  const std::string name = "bt_u" + std::to_string(::geteuid());
  ::setenv("XDG_RUNTIME_DIR", folder_.path().c_str(), 1);
  write(name, "  from.runtime.folder \n");
  EXPECT_EQ(BearerToken::discover()->current().reveal(), "from.runtime.folder");
  EXPECT_EQ(BearerToken::discover()->source(), (folder_.path() / name).string());
  ::setenv("BEARER_TOKEN_FILE", write("token", "from.the.file").c_str(), 1);
  EXPECT_EQ(BearerToken::discover()->current().reveal(), "from.the.file");
  ::setenv("BEARER_TOKEN", "from.the.environment", 1);
  EXPECT_EQ(BearerToken::discover()->current().reveal(), "from.the.environment");
  EXPECT_EQ(BearerToken::discover()->source(), "BEARER_TOKEN");
}

TEST_F(BearerTokens, AreReadAgainBeforeTheyExpire) {
  const auto file = write("token", token_until(system_clock::now() + seconds(30)));
  ::setenv("BEARER_TOKEN_FILE", file.c_str(), 1);
  const auto token = BearerToken::discover();
  const std::string old = token->current().reveal();
  // The same time of change: only the end of the old one tells.
  const auto changed = std::filesystem::last_write_time(file);
  const std::string fresh = token_until(system_clock::now() + seconds(3600));
  write("token", fresh);
  std::filesystem::last_write_time(file, changed);
  EXPECT_NE(old, fresh);
  EXPECT_EQ(token->current().reveal(), fresh);
  ::setenv("BEARER_TOKEN_FILE", write("other", "another").c_str(), 1);
  EXPECT_EQ(token->current().reveal(), fresh) << "it lives long enough";
}

TEST_F(BearerTokens, AreReadAgainWhenTheirFileChanges) {
  const auto file = write("token", "one");
  ::setenv("BEARER_TOKEN_FILE", file.c_str(), 1);
  const auto token = BearerToken::discover();
  EXPECT_EQ(token->current().reveal(), "one");
  write("token", "two");
  std::filesystem::last_write_time(file, std::filesystem::file_time_type::clock::now() + seconds(5));
  EXPECT_EQ(token->current().reveal(), "two");
  std::filesystem::remove(file);
  EXPECT_EQ(token->current().reveal(), "two") << "better than none";
}

TEST_F(BearerTokens, SayWhenTheyEnd) {
  const auto end = system_clock::time_point(seconds(1'900'000'000));
  EXPECT_EQ(expiry_of_token(token_until(end)), end);
  // Beyond the times that the clock knows.
  const std::string never = to_base64(as_bytes(R"({"exp":32503680000})"));
  EXPECT_GT(expiry_of_token("e30." + never.substr(0, never.find('=')) + ".x"), end);
  for (const char* text : {"", "opaque", "a.b", "a.b.c", "..", "e30.e30.x", "e30.eyJleHAiOiJ4In0.x"})
    EXPECT_EQ(expiry_of_token(text), std::nullopt) << text;
}

}  // namespace
}  // namespace colonnade::io
