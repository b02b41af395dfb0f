// Merging: the data sets of several files become those of one, as `hadd` does it for ROOT files.
//
//   colonnade::merge({"a.root", "b.root"}, "all.root");
//
// Data sets of the same name follow each other in the order of the inputs; each is a concatenate() of
// colonnade/copy.h, whose options these are. Everything else that ROOT files hold, such as histograms and
// trees, is left out, and the report says what that was. The output keeps from which inputs it was made, so
// that more can be appended later.
#ifndef COLONNADE_MERGE_H
#define COLONNADE_MERGE_H

#include <cstddef>
#include <string>
#include <vector>

#include "colonnade/copy.h"

namespace colonnade {

struct MergeOptions {
  std::vector<std::string> data_sets = {};  // by name; empty: all
  // With `overwrite` the output is replaced as a whole; with `append` inputs that are not in it are added;
  // with `resume` a merge that was interrupted goes on. Otherwise the output must not be there.
  CopyOptions copying = {.provenance = true};
};

struct MergeReport {
  std::vector<CopyReport> data_sets;  // as far as it came
  struct LeftOut {
    std::string path;
    std::string class_name;
    std::size_t inputs = 0;  // that have it
  };
  std::vector<LeftOut> left_out;
  std::vector<std::string> notes;  // such as inputs that lack a data set
  double seconds = 0;
  bool interrupted = false;  // by the watch
};

// Throws what concatenate() throws; ErrorKind::usage for an input that is given twice or is the output, and
// for an output that is there; ErrorKind::not_found for an input without data sets.
MergeReport merge(const std::vector<std::string>& inputs, const std::string& output,
                  const MergeOptions& options = {}, const CopyWatch& watch = {});

}  // namespace colonnade

#endif
