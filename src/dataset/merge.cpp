// Merging files; see colonnade/merge.h.
//
//   inputs --> what is in each --> data sets by name --> concatenate(), one after the other
#include "colonnade/merge.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "base/thread_pool.h"
#include "container/container.h"
#include "dataset/places.h"
#include "io/object_store.h"

namespace colonnade {
namespace {

constexpr std::size_t opened_at_once = 8;

struct ContainerListing {
  std::vector<std::string> data_sets;
  std::vector<container::ReadContainer::ObjectEntry> others;
};

ContainerListing look_into(const std::string& uri, const ReadOptions& options) {
  return container::open_while_written([&] {
    const auto container =
        container::open_container(uri, {.local_io = options.local_io, .direct_io = options.direct_io});
    ContainerListing contents{.data_sets = container->data_sets(), .others = container->objects()};
    std::erase_if(contents.others, [&](const auto& object) {
      return object.class_name.starts_with("TDirectory") ||
             std::find(contents.data_sets.begin(), contents.data_sets.end(), object.path) !=
                 contents.data_sets.end();
    });
    if (contents.data_sets.empty())
      throw Error(ErrorKind::not_found, "the file has no RNTuple data set",
                  "leave it out; colonnade ls lists what is in a file, colonnade import converts TTrees",
                  {.uri = uri});
    return contents;
  });
}

class Merge {
 public:
  Merge(const std::vector<std::string>& inputs, const std::string& output, const MergeOptions& options,
        const CopyWatch& watch)
      : inputs_(inputs), output_(output), options_(options), watch_(watch) {}

  MergeReport run() {
    const auto begin = std::chrono::steady_clock::now();
    check_names();
    look();
    choose();
    check_output();
    for (const std::string& name : names_) {
      report_.data_sets.push_back(copy(name));
      report_.interrupted = report_.data_sets.back().interrupted;
      if (report_.interrupted) break;
    }
    report_.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    return std::move(report_);
  }

 private:
  void check_names() const {
    if (inputs_.empty()) throw Error(ErrorKind::usage, "there is nothing to merge", "name the inputs");
    std::set<std::string> names;
    for (const std::string& input : inputs_) {
      if (dataset::same_place(input, output_))
        throw Error(ErrorKind::usage, "the output is one of the inputs", "merge into another file",
                    {.uri = output_});
      if (!names.insert(dataset::whole_name(input)).second)
        throw Error(ErrorKind::usage, "the same input is given twice", "name each input once",
                    {.uri = input});
    }
  }

  void look() {
    contents_.resize(inputs_.size());
    for (std::size_t first = 0; first < inputs_.size(); first += opened_at_once) {
      TaskGroup tasks;
      for (std::size_t i = first; i < std::min(first + opened_at_once, inputs_.size()); ++i)
        tasks.run([this, i] {
          contents_[i] = with_context({.uri = inputs_[i]},
                                      [&] { return look_into(inputs_[i], options_.copying.reading); });
        });
      tasks.wait();
    }
  }

  // Data sets and other objects by name, in the order in which they are first found.
  void choose() {
    std::map<std::string, std::size_t> counts;
    std::map<std::pair<std::string, std::string>, std::size_t> others;
    for (ContainerListing& contents : contents_) {
      for (const std::string& name : contents.data_sets)
        if (counts[name]++ == 0) names_.push_back(name);
      std::set<std::pair<std::string, std::string>> own;
      for (const auto& object : contents.others) {
        if (!own.emplace(object.path, object.class_name).second) continue;  // an older cycle
        const auto [found, is_new] =
            others.try_emplace({object.path, object.class_name}, report_.left_out.size());
        if (is_new) report_.left_out.push_back({object.path, object.class_name, 0});
        ++report_.left_out[found->second].inputs;
      }
      contents.others.clear();
    }
    if (!options_.data_sets.empty()) choose_named(counts);
    for (const std::string& name : names_)
      if (counts[name] < inputs_.size())
        report_.notes.push_back(
            fmt::format("'{}' is in {} of {} inputs", name, counts[name], inputs_.size()));
  }

  void choose_named(std::map<std::string, std::size_t>& counts) {
    for (const std::string& name : options_.data_sets)
      if (counts.find(name) == counts.end())
        throw Error(ErrorKind::not_found, fmt::format("no input has a data set '{}'", name),
                    fmt::format("name one of: {}", fmt::join(names_, ", ")), {.uri = inputs_.front()});
    names_ = options_.data_sets;
  }

  void check_output() const {
    const CopyOptions& how = options_.copying;
    if (how.overwrite || how.append || how.resume || io::is_object_store(output_)) return;
    try {
      static_cast<void>(io::open_for_reading(output_));
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::not_found) return;
      throw;
    }
    throw Error(ErrorKind::usage, "the output already exists",
                "another name, overwrite to replace it, append to add the inputs, or resume to continue an "
                "interrupted merge",
                {.uri = output_});
  }

  CopyReport copy(const std::string& name) {
    std::vector<DataSetPlace> places;
    for (std::size_t i = 0; i < inputs_.size(); ++i)
      if (std::find(contents_[i].data_sets.begin(), contents_[i].data_sets.end(), name) !=
          contents_[i].data_sets.end())
        places.push_back({inputs_[i], name});
    CopyOptions how = options_.copying;
    // The first one has replaced the file.
    if (!report_.data_sets.empty() && !io::is_object_store(output_)) how.overwrite = false;
    return concatenate(places, {output_, name}, how, watch_);
  }

  const std::vector<std::string>& inputs_;
  const std::string& output_;
  const MergeOptions& options_;
  const CopyWatch& watch_;
  std::vector<ContainerListing> contents_;  // by input
  std::vector<std::string> names_;
  MergeReport report_;
};

}  // namespace

MergeReport merge(const std::vector<std::string>& inputs, const std::string& output,
                  const MergeOptions& options, const CopyWatch& watch) {
  return Merge(inputs, output, options, watch).run();
}

}  // namespace colonnade
