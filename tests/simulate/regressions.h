// Histories that found something, by name. What they found is mended; they are run again each time.
#ifndef COLONNADE_SIMULATE_REGRESSIONS_H
#define COLONNADE_SIMULATE_REGRESSIONS_H

#include <array>
#include <string_view>

#include "history.h"

namespace colonnade::simulate {

struct Regression {
  std::string_view name;
  std::uint64_t seed;
  Place place;
  std::string_view found;
};

inline constexpr std::array regressions{
    Regression{"lost_answer_of_the_commit", 588, Place::s3,
               "the put of a commit was applied without an answer; what it named was removed"},
    Regression{"gc_force_against_a_writer", 638, Place::s3,
               "gc --force took the claim of a writer that was committing; its pages were removed"},
    Regression{"late_blob_of_the_writer_before", 559, Place::daos,
               "a blob that arrived late replaced one that a later writer had committed"},
    Regression{"record_without_bytes", 3, Place::folder,
               "the machine went down after a claim: the record of a committed data set had no bytes"},
    Regression{"two_new_files", 421, Place::bare_file,
               "two writers made the same file; the second did not see the first take its place"},
    Regression{"repair_mixes_writers", 613, Place::bare_file,
               "repair took clusters of a killed writer for those of the one that went on"},
    Regression{"page_list_that_failed", 5248, Place::s3,
               "merging page lists failed in one thread, and another committed without the clusters of both"},
};

}  // namespace colonnade::simulate

#endif
