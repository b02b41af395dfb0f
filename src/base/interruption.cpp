// See interruption.h.
#include "base/interruption.h"

namespace colonnade {
namespace {

thread_local InterruptionState state;

}  // namespace

InterruptionState& InterruptionState::of_this_thread() noexcept {
  return state;
}

Interruption::Interruption(std::function<bool()> asks)
    : asks_(std::move(asks)), outer_(std::exchange(state.innermost, this)) {}

Interruption::~Interruption() {
  state.innermost = outer_;
}

void Interruption::check_now_and_then() {
  thread_local std::chrono::steady_clock::time_point next;
  if (!is_possible()) return;
  const auto now = std::chrono::steady_clock::now();
  if (now < next) return;
  next = now + interval;
  check();
}

bool Interruption::is_possible() noexcept {
  return state.innermost != nullptr;
}

bool Interruption::is_wanted() {
  for (const Interruption* each = state.innermost; each != nullptr; each = each->outer_)
    if (each->asks_()) return true;
  return false;
}

Uninterruptible::Uninterruptible() noexcept : outer_(std::exchange(state.innermost, nullptr)) {}

Uninterruptible::~Uninterruptible() {
  state.innermost = outer_;
}

InterruptibleWaits::InterruptibleWaits() noexcept
    : before_(std::exchange(state.waits_are_interruptible, true)) {}

InterruptibleWaits::~InterruptibleWaits() {
  state.waits_are_interruptible = before_;
}

bool InterruptibleWaits::are_here() noexcept {
  return state.waits_are_interruptible;
}

}  // namespace colonnade
