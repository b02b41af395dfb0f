// The program: runs histories from seeds, for a time or a number, in several processes; tells one of them;
// breaks rules on purpose. See docs/simulation.md.
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "history.h"
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
  std::optional<Place> place;
  Rule broken = Rule::none;
};

constexpr const char* help = R"(usage: colonnade_simulate [OPTIONS]
  --seed N          the first seed (1)
  --histories N     how many histories, of seeds that follow each other
  --seconds S       or for how long
  --jobs N          in how many processes (1)
  --place NAME      s3, rados, daos, folder, root-file or bare-file; else each seed has its own
  --break RULE      with a rule broken on purpose
  --print           tells what happens in the history of the seed
  --twice           runs each history twice: the same must happen
  --mutations       breaks one rule after the other; each must be found within the number of histories
  --regressions     the histories that found something once
)";

[[noreturn]] void refuse(const std::string& why) {
  std::fprintf(stderr, "%s\n%s", why.c_str(), help);
  std::exit(2);
}

Place place_of(const std::string& name) {
  for (std::size_t i = 0; i < place_count; ++i)
    if (name == name_of(static_cast<Place>(i))) return static_cast<Place>(i);
  refuse("no place is called " + name);
}

Rule rule_of(const std::string& name) {
  for (const RuleText& rule : rule_texts())
    if (name == rule.name) return rule.rule;
  refuse("no rule is called " + name);
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

// Leaves out fault after fault as long as something is found.
std::set<unsigned> needless_faults(HistoryOptions options, HistoryResult result) {
  constexpr std::size_t most = 200;
  std::size_t tries = 0;
  for (std::size_t i = 0; i < result.faults.size() && tries < most;) {
    ++tries;
    HistoryOptions less = options;
    less.without_faults.insert(result.faults[i]);
    const HistoryResult other = run_history(less);
    if (other.violation.empty()) {
      ++i;
      continue;
    }
    options = less;
    result = other;
  }
  return options.without_faults;
}

void report(const HistoryOptions& options, const HistoryResult& result) {
  const std::size_t needless = needless_faults(options, result).size();
  std::printf("seed %llu: %s: %s\n", static_cast<unsigned long long>(options.seed), name_of(result.place),
              result.violation.c_str());
  std::printf("  (%zu faults, %zu of them needless; --seed %llu%s%s --print tells it)\n",
              result.faults.size(), needless, static_cast<unsigned long long>(options.seed),
              options.place ? " --place " : "", options.place ? name_of(*options.place) : "");
}

struct Sum {
  std::uint64_t histories = 0;
  std::array<std::uint64_t, place_count> of_place{};
  std::uint64_t steps = 0;
  std::uint64_t found = 0;
};

// Every `jobs`-th seed from `first` on.
Sum run_some(const Options& options, std::uint64_t first) {
  constexpr std::uint64_t most_reports = 5;
  const auto begin = Clock::now();
  Sum sum;
  for (std::uint64_t seed = options.seed + first;; seed += options.jobs) {
    if (options.seconds > 0 ? since(begin) > options.seconds
                            : seed >= options.seed + std::max<std::uint64_t>(options.histories, 1))
      break;
    const HistoryOptions history{.seed = seed, .place = options.place, .broken = options.broken};
    const HistoryResult result = run_history(history);
    ++sum.histories;
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
    for (std::size_t i = 0; i < place_count; ++i) all.of_place[i] += sum.of_place[i];
    all.steps += sum.steps;
    all.found += sum.found;
  }
  std::printf("%llu histories of %llu operations in %.1f s: %s\n",
              static_cast<unsigned long long>(all.histories), static_cast<unsigned long long>(all.steps),
              since(begin),
              failed          ? "a process of them died"
              : all.found > 0 ? fmt::format("{} violations", all.found).c_str()
                              : "everything holds");
  for (std::size_t i = 0; i < place_count; ++i)
    std::printf("%s%s %llu", i == 0 ? "  " : ", ", name_of(static_cast<Place>(i)),
                static_cast<unsigned long long>(all.of_place[i]));
  std::printf("\n");
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
    const HistoryOptions history{.seed = regression.seed, .place = regression.place};
    const HistoryResult result = run_history(history);
    std::printf("%-34s %s\n", std::string(regression.name).c_str(),
                result.violation.empty() ? "holds" : result.violation.c_str());
    if (!result.violation.empty()) ++found;
  }
  return found > 0 ? 1 : 0;
}

int print(const Options& options) {
  prepare_histories();
  const HistoryResult result =
      run_history({.seed = options.seed, .place = options.place, .broken = options.broken, .prints = true});
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
