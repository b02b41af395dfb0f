// The program: runs histories from seeds, for a time or a number, in several processes; prints one of them;
// breaks rules on purpose. See docs/simulation.md.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "history.h"
#include "random.h"
#include "regressions.h"

namespace colonnade::simulate {
namespace {

using Clock = std::chrono::steady_clock;

struct Options {
  enum class What { histories, print, twice, mutations, regressions } what = What::histories;
  std::uint64_t seed = 1;
  std::uint64_t histories = 0;
  double seconds = 0;
  unsigned jobs = 1;
  std::optional<StorageKind> place;
  Rule broken = Rule::none;
  std::set<unsigned> without_tasks;
  std::set<unsigned> without_faults;
  bool has_habits = true;
};

constexpr const char* help = R"(usage: colonnade_simulate [OPTIONS]
  --seed N          the first seed (1)
  --histories N     how many histories, of seeds that follow each other
  --seconds S       or for how long
  --jobs N          in how many processes (1)
  --place NAME      s3, rados, daos, folder, root-file, bare-file or cache; else each seed has its own
  --break RULE      with a rule broken on purpose
  --print           tells what happens in the history of the seed
  --without-tasks LIST, --without-faults LIST
                    leaves out tasks and faults, as a report says, of what --print tells
  --without-habits  writers without attribute sets, no merges, file systems that can do everything
  --twice           runs each history twice: the same must happen
  --mutations       breaks one rule after the other; each must be found within the number of histories
  --regressions     the histories that found something once
)";

[[noreturn]] void refuse(const std::string& why) {
  std::fprintf(stderr, "%s\n%s", why.c_str(), help);
  std::exit(2);
}

StorageKind place_of(const std::string& name) {
  for (std::size_t i = 0; i < storage_kind_count; ++i)
    if (name == name_of(static_cast<StorageKind>(i))) return static_cast<StorageKind>(i);
  refuse("no place is called " + name);
}

Rule rule_of(const std::string& name) {
  for (const RuleText& rule : rule_texts())
    if (name == rule.name) return rule.rule;
  refuse("no rule is called " + name);
}

std::set<unsigned> numbers_in(const std::string& list) {
  std::set<unsigned> numbers;
  std::istringstream in(list);
  for (std::string number; std::getline(in, number, ',');)
    numbers.insert(static_cast<unsigned>(std::stoul(number)));
  return numbers;
}

Options parse(int count, char** words) {
  Options options;
  for (int i = 1; i < count; ++i) {
    const std::string word = words[i];
    const auto value = [&]() -> std::string {
      if (++i >= count) refuse(word + " needs a value");
      return words[i];
    };
    using What = Options::What;
    if (word == "--seed")
      options.seed = std::stoull(value());
    else if (word == "--histories")
      options.histories = std::stoull(value());
    else if (word == "--seconds")
      options.seconds = std::stod(value());
    else if (word == "--jobs")
      options.jobs = std::max(1U, static_cast<unsigned>(std::stoul(value())));
    else if (word == "--place")
      options.place = place_of(value());
    else if (word == "--break")
      options.broken = rule_of(value());
    else if (word == "--without-tasks")
      options.without_tasks = numbers_in(value());
    else if (word == "--without-faults")
      options.without_faults = numbers_in(value());
    else if (word == "--without-habits")
      options.has_habits = false;
    else if (word == "--print")
      options.what = What::print;
    else if (word == "--twice")
      options.what = What::twice;
    else if (word == "--mutations")
      options.what = What::mutations;
    else if (word == "--regressions")
      options.what = What::regressions;
    else
      refuse("there is no option " + word);
  }
  return options;
}

double since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// Minimises a history that found something: removes tasks, from the last to the first, and then faults, one
// after the other, as long as something is found.
class Minimum {
 public:
  Minimum(const HistoryOptions& options, HistoryResult result)
      : options_(options), result_(std::move(result)) {
    for (unsigned task = result_.tasks; task-- > 0;)
      try_without([&](HistoryOptions& less) { less.without_tasks.insert(task); });
    for (std::size_t i = 0; i < result_.faults.size();)
      if (!try_without([&](HistoryOptions& less) { less.without_faults.insert(result_.faults[i]); })) ++i;
  }
  const HistoryOptions& options() const { return options_; }
  const HistoryResult& result() const { return result_; }

 private:
  template <class Edit>
  bool try_without(Edit&& edit) {
    constexpr unsigned most = 300;
    if (++tries_ > most) return false;
    HistoryOptions less = options_;
    edit(less);
    HistoryResult other = run_history(less);
    if (other.violation.empty()) return false;
    options_ = std::move(less);
    result_ = std::move(other);
    return true;
  }

  HistoryOptions options_;
  HistoryResult result_;
  unsigned tries_ = 0;
};

std::string list_of(const char* option, const std::set<unsigned>& numbers) {
  return numbers.empty() ? std::string() : fmt::format(" {} {}", option, fmt::join(numbers, ","));
}

void report(const HistoryOptions& options, const HistoryResult& result) {
  const Minimum least(options, result);
  std::printf("seed %llu: %s: %s\n", static_cast<unsigned long long>(options.seed), name_of(result.place),
              result.violation.c_str());
  std::printf("  with %zu of %u tasks and %zu of %zu faults: %s\n",
              result.tasks - least.options().without_tasks.size(), result.tasks, least.result().faults.size(),
              result.faults.size(), least.result().violation.c_str());
  std::printf("  --seed %llu%s%s%s%s --print tells it\n", static_cast<unsigned long long>(options.seed),
              options.place ? " --place " : "", options.place ? name_of(*options.place) : "",
              list_of("--without-tasks", least.options().without_tasks).c_str(),
              list_of("--without-faults", least.options().without_faults).c_str());
}

struct Sum {
  std::uint64_t histories = 0;
  std::array<std::uint64_t, storage_kind_count> of_place{};
  std::uint64_t steps = 0;
  std::uint64_t found = 0;
  std::uint64_t digest = 0;  // of all events
};

// The processor time of a history that no longer returns to the scheduler, in seconds.
constexpr int longest_history = 60;
volatile std::sig_atomic_t has_timer = 0;
std::uint64_t watched_seed = 0;

void watch(std::uint64_t seed) {
  watched_seed = seed;
  if (has_timer == 0) {
    has_timer = 1;
    std::signal(SIGPROF, [](int) {
      char text[96];
      const int size = std::snprintf(text, sizeof text, "seed %llu does not end within a minute\n",
                                     static_cast<unsigned long long>(watched_seed));
      static_cast<void>(!::write(STDOUT_FILENO, text, static_cast<std::size_t>(size)));
      ::_exit(3);
    });
  }
  const itimerval time{{}, {longest_history, 0}};
  ::setitimer(ITIMER_PROF, &time, nullptr);
}

// Every `jobs`-th seed from `first` on.
Sum run_some(const Options& options, std::uint64_t first) {
  constexpr std::uint64_t most_reports = 5;
  const auto begin = Clock::now();
  Sum sum;
  for (std::uint64_t seed = options.seed + first;; seed += options.jobs) {
    if (options.seconds > 0 ? since(begin) > options.seconds
                            : seed >= options.seed + std::max<std::uint64_t>(options.histories, 1))
      break;
    const HistoryOptions history{
        .seed = seed, .place = options.place, .broken = options.broken, .has_habits = options.has_habits};
    watch(seed);
    const HistoryResult result = run_history(history);
    ++sum.histories;
    sum.digest ^= mix(seed ^ result.hash);
    ++sum.of_place[static_cast<std::size_t>(result.place)];
    sum.steps += result.steps;
    if (options.what == Options::What::twice && run_history(history).hash != result.hash) {
      std::printf("seed %llu: something else happens the second time\n",
                  static_cast<unsigned long long>(seed));
      ++sum.found;
    }
    if (result.violation.empty()) continue;
    if (++sum.found <= most_reports) report(history, result);
  }
  return sum;
}

int run_all(const Options& options) {
  const auto begin = Clock::now();
  std::vector<std::pair<pid_t, int>> children;
  for (unsigned job = 0; job < options.jobs; ++job) {
    int ends[2];
    if (::pipe(ends) != 0) return 2;
    std::fflush(nullptr);
    const pid_t child = ::fork();
    if (child == 0) {
      prepare_histories();
      const Sum sum = run_some(options, job);
      const bool told = ::write(ends[1], &sum, sizeof sum) == static_cast<ssize_t>(sizeof sum);
      std::fflush(nullptr);
      ::_exit(told ? 0 : 2);
    }
    ::close(ends[1]);
    children.emplace_back(child, ends[0]);
  }
  Sum all;
  bool failed = false;
  for (const auto& [child, end] : children) {
    Sum sum;
    failed |= ::read(end, &sum, sizeof sum) != static_cast<ssize_t>(sizeof sum);
    int status = 0;
    ::waitpid(child, &status, 0);
    failed |= status != 0;
    all.histories += sum.histories;
    for (std::size_t i = 0; i < storage_kind_count; ++i) all.of_place[i] += sum.of_place[i];
    all.steps += sum.steps;
    all.found += sum.found;
    all.digest ^= sum.digest;
  }
  std::printf("%llu histories of %llu operations in %.1f s: %s\n",
              static_cast<unsigned long long>(all.histories), static_cast<unsigned long long>(all.steps),
              since(begin),
              failed          ? "a process of them died"
              : all.found > 0 ? fmt::format("{} violations", all.found).c_str()
                              : "everything holds");
  for (std::size_t i = 0; i < storage_kind_count; ++i)
    std::printf("%s%s %llu", i == 0 ? "  " : ", ", name_of(static_cast<StorageKind>(i)),
                static_cast<unsigned long long>(all.of_place[i]));
  std::printf("; digest %016llx\n", static_cast<unsigned long long>(all.digest));
  return failed || all.found > 0 ? 1 : 0;
}

int run_mutations(const Options& options) {
  prepare_histories();
  const std::uint64_t most = options.histories > 0 ? options.histories : 20000;
  int missed = 0;
  for (const RuleText& rule : rule_texts()) {
    std::optional<std::string> found;
    std::uint64_t count = 0;
    while (!found && count < most) {
      const HistoryResult result =
          run_history({.seed = options.seed + count++, .place = options.place, .broken = rule.rule});
      // Not what would be found anyway.
      const bool anyway =
          !result.violation.empty() &&
          !run_history({.seed = options.seed + count - 1, .place = options.place}).violation.empty();
      if (!result.violation.empty() && !anyway) found = result.violation;
    }
    missed += found ? 0 : 1;
    std::printf("%-24s %-58s %s\n", std::string(rule.name).c_str(), std::string(rule.broken).c_str(),
                found ? fmt::format("found by history {}: {}", count, found->substr(0, 60)).c_str()
                      : fmt::format("NOT FOUND in {} histories", count).c_str());
    std::fflush(stdout);
  }
  std::printf("%zu rules, %d of them broken without being noticed\n", rule_texts().size(), missed);
  return missed > 0 ? 1 : 0;
}

int run_regressions() {
  prepare_histories();
  int found = 0;
  for (const Regression& regression : regressions) {
    const HistoryOptions history{
        .seed = regression.seed, .place = regression.place, .has_habits = regression.has_habits};
    const HistoryResult result = run_history(history);
    std::printf("%-34s %s\n", std::string(regression.name).c_str(),
                result.violation.empty() ? "holds" : result.violation.c_str());
    if (!result.violation.empty()) ++found;
  }
  return found > 0 ? 1 : 0;
}

int print(const Options& options) {
  prepare_histories();
  const HistoryResult result = run_history({.seed = options.seed,
                                            .place = options.place,
                                            .broken = options.broken,
                                            .prints = true,
                                            .without_faults = options.without_faults,
                                            .without_tasks = options.without_tasks,
                                            .has_habits = options.has_habits});
  std::printf("%s: %s (hash %016llx)\n", name_of(result.place),
              result.violation.empty() ? "everything holds" : result.violation.c_str(),
              static_cast<unsigned long long>(result.hash));
  return result.violation.empty() ? 0 : 1;
}

}  // namespace
}  // namespace colonnade::simulate

int main(int count, char** words) {
  using namespace colonnade::simulate;
  const Options options = parse(count, words);
  switch (options.what) {
    case Options::What::print:
      return print(options);
    case Options::What::mutations:
      return run_mutations(options);
    case Options::What::regressions:
      return run_regressions();
    default:
      return run_all(options);
  }
}
