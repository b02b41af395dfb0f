// Histories that found bugs, by name. The bugs are fixed; the histories run each time.
#ifndef COLONNADE_SIMULATE_REGRESSIONS_H
#define COLONNADE_SIMULATE_REGRESSIONS_H

#include <array>
#include <string_view>

#include "history.h"

namespace colonnade::simulate {

struct Regression {
  std::string_view name;
  std::uint64_t seed;
  StorageKind place;
  std::string_view found;
  bool has_habits = false;  // of HistoryOptions; older seeds have none
};

// Parentheses mark bugs of the model, not of the library.
inline constexpr std::array regressions{
    Regression{"lost_answer_of_the_commit", 588, StorageKind::s3,
               "the put of a commit was applied without an answer; what it named was removed"},
    Regression{"gc_force_against_a_writer", 638, StorageKind::s3,
               "gc --force took the claim of a writer that was committing; its pages were removed"},
    Regression{"late_blob_of_the_writer_before", 559, StorageKind::daos,
               "a blob that arrived late replaced one that a later writer had committed"},
    Regression{"record_without_bytes", 3, StorageKind::folder,
               "the machine went down after a claim: the record of a committed data set had no bytes"},
    Regression{"two_new_files", 421, StorageKind::bare_file,
               "two writers made the same file; the second did not see the first take its place"},
    Regression{"repair_mixes_writers", 613, StorageKind::bare_file,
               "repair took clusters of a killed writer for those of the one that went on"},
    Regression{"page_list_that_failed", 5248, StorageKind::s3,
               "merging page lists failed in one thread, and another committed without the clusters of both"},
    Regression{"file_that_came_meanwhile", 1065688, StorageKind::root_file,
               "two processes made the same new file; the one that finished last replaced that of the other"},
    Regression{"file_that_came_while_it_stood_still", 1134600, StorageKind::root_file,
               "the same, after a pause"},
    Regression{
        "number_given_twice", 1351423, StorageKind::folder,
        "a machine that went down brought back the count of generations: two data sets had one number, "
        "and what was garbage of one were the values of the other"},
    Regression{"number_given_twice_at_the_start", 1295442, StorageKind::folder,
               "the same, for the first number"},
    Regression{"dead_maker_of_a_store", 1066547, StorageKind::folder,
               "whoever made a store died before its marker was on the device, and others wrote there"},
    Regression{"dead_maker_of_a_store_and_gc", 1340826, StorageKind::folder, "the same"},
    Regression{"claim_taken_while_it_opens", 1187392, StorageKind::rados,
               "(gc --force took the claim of a writer that did not know yet that it had one)"},
    Regression{"claim_taken_in_a_folder", 1025455, StorageKind::folder, "(the same)"},
    Regression{"repair_of_what_came_later", 1249096, StorageKind::bare_file,
               "(repair was asked for before there was a file, and repaired the one that came)"},
    Regression{
        "second_name_of_a_killed_writer", 197, StorageKind::root_file,
        "killed between the second link and the removal of the first, where a rename cannot but replace: "
        "nobody could write the file any more",
        true},
    Regression{"record_without_bytes_meanwhile", 361, StorageKind::folder,
               "a record was there without bytes for a moment, where there are no links either", true},
    Regression{
        "lock_on_a_reservation", 175700, StorageKind::root_file,
        "a name was reserved with an empty file; a second writer locked that, and replaced what the first "
        "had committed in its place",
        true},
    Regression{"gc_before_the_record_is_kept", 20881324, StorageKind::folder,
               "gc removed what rm had given up, the machine went down, and the record came back"},
    Regression{
        "resume_behind_lost_pages", 20629999, StorageKind::bare_file,
        "(a machine went down with pages of a writer that did not wait; the next one went on behind them)"},
};

}  // namespace colonnade::simulate

#endif
