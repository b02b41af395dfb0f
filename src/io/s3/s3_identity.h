// Keys that change: a process in a cloud, or of a user who has signed in, requests temporary ones, and again
// before they expire; those of a file may be replaced there.
#ifndef COLONNADE_IO_S3_S3_IDENTITY_H
#define COLONNADE_IO_S3_S3_IDENTITY_H

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "base/process.h"
#include "base/secret.h"

namespace colonnade::io {

struct S3Credentials {
  std::string access_key;
  Secret secret_key;
  Secret session_token;  // empty: none
};

struct S3TimedCredentials {
  S3Credentials credentials;
  std::optional<std::chrono::system_clock::time_point> expiry;
};

// For any thread, and for forks of its process.
class S3Identity {
 public:
  using Fetch = std::function<S3TimedCredentials()>;
  static constexpr std::chrono::minutes margin{5};  // before they expire

  // With `first`, these are the keys until they expire or are refused.
  explicit S3Identity(Fetch fetch, std::optional<S3TimedCredentials> first = std::nullopt);
  // One object for all calls with the same `key`. The first current() fetches the keys.
  static std::shared_ptr<S3Identity> shared(const std::string& key, const Fetch& fetch);

  // May wait for an answer; never on the engine's thread. While the old keys are good they do where new ones
  // cannot be had.
  S3Credentials current();
  // A server has refused these keys, which had not expired: the next current() requests others.
  void refuse(const S3Credentials& keys);
  std::optional<S3Credentials> last() const;  // that current() gave

 private:
  using Known = std::shared_ptr<const S3TimedCredentials>;
  Known renewed(const Known& old);

  const Fetch fetch_;
  const Process process_;
  std::mutex mutex_;  // held by the thread that fetches
  std::atomic<Known> known_;
};

// All of these throw ErrorKind::io where there is no answer, and ErrorKind::usage where it is no key.

// What `credential_process` or a container's or instance's service writes: JSON.
S3TimedCredentials credentials_in_json(const std::string& text, const std::string& source);
S3TimedCredentials credentials_of_process(const std::string& command);

struct S3Container {
  std::string url;
  std::string token;       // sent as Authorization; empty: none
  std::string token_file;  // read anew each time, in its place
};
S3TimedCredentials credentials_of_container(const S3Container& container);

// An instance's role, by the second version of its service. nullopt: there is none.
std::optional<S3TimedCredentials> credentials_of_instance(const std::string& endpoint,
                                                          std::chrono::milliseconds timeout,
                                                          unsigned attempts);
// Whether this machine is one that has such a service.
bool is_cloud_instance();

struct S3WebIdentity {
  std::string endpoint;  // of STS
  std::string role;
  std::string session;
  std::string token_file;
};
S3TimedCredentials credentials_of_web_identity(const S3WebIdentity& identity);

struct S3SignedIn {
  std::string endpoint;    // of SSO
  std::string cache_file;  // what "aws sso login" left
  std::string account;
  std::string role;
};
S3TimedCredentials credentials_of_sign_in(const S3SignedIn& signed_in);
// The name of that file for a session's name or a start URL.
std::string sign_in_cache_name(const std::string& session_or_url);

}  // namespace colonnade::io

#endif
