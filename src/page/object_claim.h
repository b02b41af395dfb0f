// Claims: who is writing a data set of an object store, and whether that process still runs.
#ifndef COLONNADE_PAGE_OBJECT_CLAIM_H
#define COLONNADE_PAGE_OBJECT_CLAIM_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "page/object_directory.h"

namespace colonnade::page {

// A claim of this process with a new writer number.
ClaimRecord claim_of_this_process(std::string_view name, std::uint32_t generation);

// Only what was claimed on this machine can be looked up.
enum class WriterState { running, dead, unknown };
WriterState state_of(const ClaimRecord& claim);

// A writer of this process has ended, and its claim may be there still because the store could not be
// reached: state_of() takes it for dead from now on, in this process.
void leave_claim(std::uint64_t writer);

// "process 17 on host a, since 2026-01-31 12:00:00 UTC"
std::string describe_writer(const ClaimRecord& claim);

// What is thrown if a data set is claimed by somebody who may still be at work.
Error claimed_by_another(const ClaimRecord& claim);

// Takes the claim at `place`, where `found` is what is there now. Nothing if somebody else was faster.
bool put_claim(io::ObjectStore& store, std::uint64_t place, const ClaimRecord& claim,
               const std::optional<Stored<ClaimRecord>>& found);
// Whether the claim at `place` is that of `writer`.
bool holds_claim(const io::ObjectStore& store, std::uint64_t place, std::uint64_t writer);
// Removes the claim at `place` if it is that of `writer`.
void release_claim(io::ObjectStore& store, std::uint64_t place, std::uint64_t writer);

}  // namespace colonnade::page

#endif
