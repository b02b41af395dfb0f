// See model.h.
#include "model.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace colonnade::simulate {
namespace {

// Repair brings back the clusters of one writer, not those of another before it.
constexpr bool repair_tells_writers_apart = true;

}  // namespace

std::string to_text(const State& state) {
  if (!state) return "nothing";
  if (state->empty()) return "no entries";
  // Runs of numbers that follow each other: "3.0-5" are the first six of author 3.
  std::string text;
  for (std::size_t first = 0; first < state->size();) {
    std::size_t last = first;
    while (last + 1 < state->size() && (*state)[last + 1] == (*state)[last] + 1) ++last;
    text += fmt::format("{}{}.{}-{}", first == 0 ? "" : ", ", (*state)[first] >> 20,
                        (*state)[first] & 0xfffffU, (*state)[last] & 0xfffffU);
    first = last + 1;
  }
  return text;
}

Model::Author& Model::add_author(std::string what, bool excludes) {
  Author& author = authors_.emplace_back();
  author.number = static_cast<unsigned>(authors_.size());
  author.what = std::move(what);
  author.process = &world_.process();
  author.excludes = excludes;
  author.opened = world_.steps();
  return author;
}

const Model::Author* Model::author(std::uint64_t number) const {
  const auto found = std::find_if(authors_.begin(), authors_.end(),
                                  [&](const Author& each) { return each.number == number; });
  return found == authors_.end() ? nullptr : &*found;
}

void Model::opened(Author& author) {
  if (world_.process().dead) return;
  author.opened = world_.steps();
  author.claimed = world_.process().claimed;
  author.is_open = true;
  if (forcing_ > 0) return;
  for (const Author& other : authors_) {
    if (&other == &author || !other.is_open || other.ends || !other.excludes) continue;
    // What `gc --force` takes is gone from when it was got, not from when its writer knew that it had it.
    if (other.process->dead || other.process->had_faults || forced_ >= other.claimed ||
        forced_ >= author.claimed)
      continue;
    world_.violate(fmt::format("(f) {} has \"{}\", and {} got it as well", other.what, name_, author.what));
  }
}

std::size_t Model::propose(Author& author, Fits fits) {
  proposals_.push_back({&author, std::move(fits), world_.steps()});
  return proposals_.size() - 1;
}

void Model::see(const State& state) {
  is_unreadable_ = false;
  const Stage& now = states_.back();
  if (std::exchange(has_crashed_, false) && now.state != state)
    for (std::size_t i = states_.size() - 1; i-- > confirmed_;)
      if (states_[i].state == state) {
        const Author* const author = states_[i].author;
        states_.push_back({world_.steps(), state, author});
        return;
      }
  if (now.state == state) return;
  const Proposal* fitting = nullptr;
  for (auto at = proposals_.rbegin(); at != proposals_.rend(); ++at) {
    if (world_.changed_by() != nullptr && at->author->process != world_.changed_by()) continue;
    if (fitting == nullptr && at->fits(state)) fitting = &*at;
  }
  if (is_lost_ && is_what_was(state)) {
    states_.push_back({world_.steps(), state, fitting != nullptr ? fitting->author : nullptr});
    return;
  }
  world_.tell([&] { return fmt::format("=== \"{}\" is now {}", name_, to_text(state)); });
  if (fitting == nullptr) {
    world_.violate(fmt::format("(a, b, c) \"{}\" was {}, and is {}, which nobody has committed", name_,
                               to_text(now.state), to_text(state)));
    return;
  }
  const std::uint64_t has_it_since = std::max(fitting->author->opened, fitting->author->process->claimed);
  if (fitting->author->excludes && now.author != fitting->author && now.step > has_it_since && !is_lost_)
    world_.violate(fmt::format("(f) {} has replaced what {} had committed meanwhile", fitting->author->what,
                               now.author != nullptr ? now.author->what : "nobody"));
  if (now.state && !now.state->empty() && state && state->empty() && !fitting->author->ends)
    world_.violate(
        fmt::format("(a) {} has replaced \"{}\" by nothing, and goes on", fitting->author->what, name_));
  states_.push_back({world_.steps(), state, fitting->author});
  is_lost_ = false;
}

// A state of before the machine went down, or what repair makes of one.
bool Model::is_what_was(const State& state) const {
  return std::any_of(states_.begin(), states_.end(), [&](const Stage& stage) {
    return stage.state == state || is_repaired(stage.state, state);
  });
}

void Model::see_error(const std::string& problem) {
  is_unreadable_ = true;
  if (is_lost_) return;
  world_.violate(
      fmt::format("(a) \"{}\" was {}, and cannot be read: {}", name_, to_text(current()), problem));
}

void Model::confirm(std::size_t number) {
  if (world_.process().dead) return;
  const Proposal& proposal = proposals_[number];
  // Behind pages that went with the machine there may be good ones now.
  if (is_lost_ && is_unreadable_ && proposal.author->goes_on) return;
  for (std::size_t i = states_.size(); i-- > 0;) {
    // It may have been there already, if nothing was to be added.
    const bool was_over = i + 1 < states_.size() && states_[i + 1].step < proposal.begun;
    if (was_over && states_[i].author != proposal.author) continue;
    if (!proposal.fits(states_[i].state)) continue;
    confirmed_ = std::max(confirmed_, i);
    return;
  }
  world_.violate(fmt::format("(a) {} reported that \"{}\" is committed, and it is {}", proposal.author->what,
                             name_, to_text(current())));
}

bool Model::was(std::uint64_t first, std::uint64_t last, const Fits& fits) const {
  for (std::size_t i = 0; i < states_.size(); ++i) {
    const bool is_over = i + 1 < states_.size() && states_[i + 1].step < first;
    if (!is_over && states_[i].step <= last && fits(states_[i].state)) return true;
  }
  return false;
}

bool Model::is_repaired(const State& before, const State& after) const {
  if (!before || !after || after->size() < before->size()) return false;
  if (!std::equal(before->begin(), before->end(), after->begin())) return false;
  std::size_t at = before->size();
  if (!repair_tells_writers_apart) {
    // Any clusters of any writers.
    while (at < after->size()) {
      const std::size_t before_this = at;
      for (const Author& author : authors_)
        for (const Entries& cluster : author.clusters)
          if (at == before_this && cluster.size() <= after->size() - at &&
              std::equal(cluster.begin(), cluster.end(), after->begin() + static_cast<std::ptrdiff_t>(at)))
            at += cluster.size();
      if (at == before_this) return false;
    }
    return true;
  }
  for (const Author& author : authors_) {
    std::size_t place = at;
    std::vector<bool> taken(author.clusters.size());
    for (std::size_t i = 0; i < author.clusters.size(); ++i) {
      const Entries& cluster = author.clusters[i];
      if (!taken[i] && cluster.size() <= after->size() - place &&
          std::equal(cluster.begin(), cluster.end(), after->begin() + static_cast<std::ptrdiff_t>(place))) {
        place += cluster.size();
        taken[i] = true;
        if (author.in_any_order) i = static_cast<std::size_t>(-1);
      }
      if (place == after->size()) return true;
    }
  }
  return at == after->size();
}

}  // namespace colonnade::simulate
