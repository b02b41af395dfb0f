// See rules.h.
#include "rules.h"

#include <array>

namespace colonnade::simulate {

std::span<const RuleText> rule_texts() noexcept {
  using enum Rule;
  static constexpr std::array texts{
      RuleText{put_compares, "put-compares", "a conditional put replaces any version"},
      RuleText{put_creates_once, "put-creates-once", "a put of what must be new replaces what is there"},
      RuleText{stale_token, "stale-token", "a value that is replaced keeps its version"},
      RuleText{old_after_anchor, "old-after-anchor", "what is replaced is removed before the commit"},
      RuleText{anchor_last, "anchor-last", "pages and footers arrive after the commit that names them"},
      RuleText{pages_are_written, "pages-are-written", "pages are lost that were answered"},
      RuleText{footer_is_written, "footer-is-written", "page lists and footers are lost that were answered"},
      RuleText{generation_is_recorded, "generation-is-recorded", "there is no record of a generation"},
      RuleText{removal_stays_in_range, "removal-stays-in-range", "the object before is removed, too"},
      RuleText{removal_keeps_metadata, "removal-keeps-metadata", "all objects up to the last are removed"},
      RuleText{lists_are_complete, "lists-are-complete", "the last key of a listing is missing"},
      RuleText{reads_are_fresh, "reads-are-fresh", "a record is read as it was before"},
      RuleText{unknown_is_no_success, "unknown-is-no-success", "a put without an answer counts as done"},
      RuleText{generations_are_new, "generations-are-new", "the counter of generations stands still"},
      RuleText{random_numbers, "random-numbers", "all random numbers are the same"},
      RuleText{signs_of_life, "signs-of-life", "a process that is alive is taken for dead"},
      RuleText{sync_flushes, "sync-flushes", "fdatasync and fsync of files do nothing"},
      RuleText{sync_flushes_all, "sync-flushes-all", "they forget the last write"},
      RuleText{folder_is_flushed, "folder-is-flushed", "fsync of folders does nothing"},
      RuleText{head_is_one_write, "head-is-one-write", "the head of a file is written in two pieces"},
      RuleText{locks_exclude, "locks-exclude", "every lock is given"},
      RuleText{truncate_keeps, "truncate-keeps", "truncating cuts off one byte too many"},
      RuleText{writes_in_place, "writes-in-place", "now and then a write goes one byte too far"},
      RuleText{writes_are_whole, "writes-are-whole", "now and then the end of a write is lost"},
      RuleText{network_is_known, "network-is-known", "a network file system is taken for a disk"},
      RuleText{rows_with_entries, "rows-with-entries", "rows are given after the commit of their entries"},
      RuleText{rows_once, "rows-once", "every row is given twice"},
      RuleText{versions_tell, "versions-tell", "an origin that is replaced keeps its version"},
      RuleText{removals_remove, "removals-remove", "what is removed of a cache stays"},
      RuleText{sums_tell, "sums-tell", "a page of a cache is changed together with its checksum"},
  };
  return texts;
}

}  // namespace colonnade::simulate
