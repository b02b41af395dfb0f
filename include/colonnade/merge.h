// Merging: joins the data sets of several files in one file, as `hadd` does for ROOT files.
//
//   colonnade::merge({"a.root", "b.root"}, "all.root");
//
// Inputs may have wildcards, as for ChainReader::open(). Data sets of the same name follow each other in the
// order of the inputs; each is a concatenate() of colonnade/copy.h, whose options these are. Other objects of
// ROOT files, such as histograms and trees, are left out, and the report lists them. The output records its
// inputs, so that more can be appended later.
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
  // with `resume` an interrupted merge continues. Otherwise the output must not exist.
  CopyOptions copying = {.provenance = true};
};

struct MergeReport {
  std::vector<CopyReport> data_sets;  // those finished so far
  struct LeftOut {
    std::string path;
    std::string class_name;
    std::size_t inputs = 0;  // inputs that have it
  };
  std::vector<LeftOut> left_out;
  std::vector<std::string> notes;  // such as inputs that lack a data set
  double seconds = 0;
  bool interrupted = false;  // stopped by the watch
};

// Throws what concatenate() throws; ErrorKind::usage for an input that is given twice or is the output, and
// for an output that exists; ErrorKind::not_found for an input without data sets.
MergeReport merge(const std::vector<std::string>& inputs, const std::string& output,
                  const MergeOptions& options = {}, const CopyWatch& watch = {});

}  // namespace colonnade

#endif
