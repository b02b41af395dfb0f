// What a claim says of its process comes from /proc; where that is missing claims are never taken for dead.
#include "page/object_claim.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <csignal>
#include <fstream>
#include <iterator>
#include <mutex>
#include <set>
#include <sstream>

#include "base/environment.h"

namespace colonnade::page {
namespace {

std::string first_line(const char* path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// Processes in different containers of one machine can have the same number.
std::string process_space() {
  std::array<char, PATH_MAX> target{};
  const ssize_t length = ::readlink("/proc/self/ns/pid", target.data(), target.size());
  return length > 0 ? std::string(target.data(), static_cast<std::size_t>(length)) : std::string();
}

// When the process was started, in ticks since the machine was; 0: there is none, or it is not known.
std::uint64_t start_of(std::uint64_t process) {
  std::ifstream file(fmt::format("/proc/{}/stat", process));
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  // The second field is the program's name in parentheses and may hold anything; the start is the 22nd.
  const std::size_t after_name = text.rfind(')');
  if (after_name == std::string::npos) return 0;
  std::istringstream fields(text.substr(after_name + 1));
  std::string skipped;
  for (int i = 3; i < 22; ++i) fields >> skipped;
  std::uint64_t start = 0;
  fields >> start;
  return start;
}

// Writers of this process that ended and could not take their claims back.
class LeftClaims {
 public:
  void add(std::uint64_t writer) {
    const std::lock_guard lock(mutex_);
    writers_.insert(writer);
  }
  bool contains(std::uint64_t writer) const {
    const std::lock_guard lock(mutex_);
    return writers_.contains(writer);
  }

 private:
  mutable std::mutex mutex_;
  std::set<std::uint64_t> writers_;
};

LeftClaims& left_claims() {
  static LeftClaims claims;
  return claims;
}

}  // namespace

ClaimRecord claim_of_this_process(std::string_view name, std::uint32_t generation) {
  const ProcessIdentity process = environment().process();
  ClaimRecord claim;
  claim.name = name;
  claim.writer = environment().random_number();
  claim.generation = generation;
  claim.since = environment().unix_time();
  claim.process = process.process;
  claim.process_start = start_of(claim.process);
  claim.host = process.host;
  claim.machine = first_line("/etc/machine-id");
  claim.boot = first_line("/proc/sys/kernel/random/boot_id");
  claim.process_space = process_space();
  return claim;
}

WriterState state_of(const ClaimRecord& claim) {
  if (claim.host != environment().process().host || claim.boot.empty()) return WriterState::unknown;
  if (claim.boot != first_line("/proc/sys/kernel/random/boot_id")) {
    const bool same_machine = !claim.machine.empty() && claim.machine == first_line("/etc/machine-id");
    return same_machine ? WriterState::dead : WriterState::unknown;
  }
  if (claim.process_start == 0 || claim.process_space != process_space()) return WriterState::unknown;
  if (::kill(static_cast<pid_t>(claim.process), 0) != 0 && errno == ESRCH) return WriterState::dead;
  const std::uint64_t start = start_of(claim.process);
  if (start == 0) return WriterState::unknown;
  if (start != claim.process_start) return WriterState::dead;
  const bool is_own = claim.process == static_cast<std::uint64_t>(::getpid());
  return is_own && left_claims().contains(claim.writer) ? WriterState::dead : WriterState::running;
}

void leave_claim(std::uint64_t writer) {
  left_claims().add(writer);
}

std::string describe_writer(const ClaimRecord& claim) {
  // Years that a calendar has: what is beyond them cannot be the time.
  constexpr std::int64_t latest = 253402300799;
  const std::int64_t since = claim.since < 0 || claim.since > latest ? 0 : claim.since;
  return fmt::format("process {} on host {}, since {:%Y-%m-%d %H:%M:%S} UTC", claim.process,
                     claim.host.empty() ? "(unknown)" : claim.host,
                     fmt::gmtime(static_cast<std::time_t>(since)));
}

Error claimed_by_another(const ClaimRecord& claim) {
  return Error(ErrorKind::usage,
               fmt::format("the data set \"{}\" is being written by {}", claim.name, describe_writer(claim)),
               "wait until it is done, or choose another name; if that process is gone, run `colonnade gc "
               "--force`",
               {.data_set = claim.name});
}

bool put_claim(io::ObjectStore& store, std::uint64_t place, const ClaimRecord& claim,
               const std::optional<Stored<ClaimRecord>>& found) {
  std::optional<std::string> expected;
  if (found) expected = found->version;
  if (store.put_if(directory_value(place, claim_key), to_bytes(claim), expected)) return true;
  // A store that repeats a request whose answer was lost may have been refused because of itself.
  return holds_claim(store, place, claim.writer);
}

bool holds_claim(const io::ObjectStore& store, std::uint64_t place, std::uint64_t writer) {
  const auto found = store.get(directory_value(place, claim_key));
  return found && read_claim_record(found->value).writer == writer;
}

void release_claim(io::ObjectStore& store, std::uint64_t place, std::uint64_t writer) {
  if (holds_claim(store, place, writer)) store.remove(directory_value(place, claim_key));
}

}  // namespace colonnade::page
