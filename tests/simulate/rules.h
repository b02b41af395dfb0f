// Rules that commits rely on, each of which can be broken on purpose, to test whether the simulation notices.
// Some are guarantees of the store or the system; others are the library's own, broken by a transport that
// does something else than requested, or in another order.
#ifndef COLONNADE_SIMULATE_RULES_H
#define COLONNADE_SIMULATE_RULES_H

#include <cstdint>
#include <span>
#include <string_view>

namespace colonnade::simulate {

enum class Rule : std::uint8_t {
  none,
  // of object stores
  put_compares,
  put_creates_once,
  stale_token,
  old_after_anchor,
  anchor_last,
  pages_are_written,
  footer_is_written,
  generation_is_recorded,
  removal_stays_in_range,
  removal_keeps_metadata,
  lists_are_complete,
  reads_are_fresh,
  unknown_is_no_success,
  generations_are_new,
  random_numbers,
  signs_of_life,
  // of files
  sync_flushes,
  sync_flushes_all,
  folder_is_flushed,
  head_is_one_write,
  locks_exclude,
  truncate_keeps,
  writes_in_place,
  writes_are_whole,
  network_is_known,
  // of attribute sets
  rows_with_entries,
  rows_once,
  // of caches
  versions_tell,
  removals_remove,
  sums_tell,
};

struct RuleText {
  Rule rule;
  std::string_view name;
  std::string_view broken;  // the effect of breaking it
};

std::span<const RuleText> rule_texts() noexcept;

}  // namespace colonnade::simulate

#endif
