// Merging files; see colonnade/merge.h.
//
//   inputs --> what is in each --> data sets by name --> prepare_copy() of all --> one copied after the other
#include "colonnade/merge.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "base/thread_pool.h"
#include "colonnade/reader.h"
#include "container/bare_file/reader.h"
#include "container/container.h"
#include "dataset/chains/file_names.h"
#include "dataset/copying/prepared_copy.h"
#include "io/object_store.h"
#include "io/places.h"
#include "io/transport.h"

namespace colonnade {
namespace {

constexpr std::size_t opened_at_once = 8;

struct ContainerListing {
  std::vector<std::string> data_sets;
  std::unordered_set<std::string> names;  // the same, to be looked up: there may be thousands
  std::vector<container::ReadContainer::ObjectEntry> others;
};

ContainerListing look_into(const std::string& uri, const ReadOptions& options) {
  return container::open_while_written([&] {
    const auto container =
        container::open_container(uri, {.local_io = options.local_io, .direct_io = options.direct_io});
    ContainerListing contents{.data_sets = container->data_sets(), .others = container->objects()};
    contents.names.insert(contents.data_sets.begin(), contents.data_sets.end());
    std::erase_if(contents.others, [&](const auto& object) {
      return object.class_name.starts_with("TDirectory") || contents.names.contains(object.path);
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
  Merge(std::vector<std::string> inputs, const std::string& output, const MergeOptions& options,
        const CopyWatch& watch)
      : inputs_(std::move(inputs)),
        output_(output),
        options_(options),
        later_(options.copying),
        watch_(watch) {
    // The first one has replaced the file.
    if (!io::is_object_store(output_)) later_.overwrite = false;
  }

  MergeReport run() {
    const auto begin = std::chrono::steady_clock::now();
    check_names();
    look();
    choose();
    check_output();
    check_room();
    std::vector<std::function<CopyReport()>> copies;
    for (const std::string& name : names_)
      copies.push_back(prepare(name, copies.empty() ? options_.copying : later_));
    for (std::function<CopyReport()>& copy : copies) {
      report_.data_sets.push_back(std::exchange(copy, {})());
      report_.interrupted = report_.data_sets.back().interrupted;
      if (report_.interrupted) break;
    }
    report_.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    return std::move(report_);
  }

 private:
  void check_names() const {
    if (inputs_.empty()) throw Error(ErrorKind::usage, "there is nothing to merge", "name the inputs");
    std::set<std::string> files;
    for (const std::string& input : inputs_) {
      if (input.empty()) throw Error(ErrorKind::usage, "the name of an input is empty", "a path or a URI");
      if (io::is_same_place(input, output_))
        throw Error(ErrorKind::usage, "the output is one of the inputs", "merge into another file",
                    {.uri = output_});
      if (!files.insert(io::identity_of(input)).second)
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
    std::set<std::string> named;
    for (const std::string& name : options_.data_sets) {
      if (counts.find(name) == counts.end())
        throw Error(ErrorKind::not_found, fmt::format("no input has a data set '{}'", name),
                    fmt::format("name one of: {}", fmt::join(names_, ", ")), {.uri = inputs_.front()});
      if (!named.insert(name).second)
        throw Error(ErrorKind::usage, fmt::format("the data set '{}' is named twice", name), "name it once");
    }
    names_ = options_.data_sets;
  }

  void check_output() const {
    const CopyOptions& how = options_.copying;
    if (how.overwrite || how.append || how.resume) return;
    try {
      if (io::is_object_store(output_)) return check_store();
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

  // Bare files, and files that cannot be changed in place, take one data set.
  void check_room() const {
    if (names_.size() < 2 || io::is_object_store(output_)) return;
    bool takes_more = options_.copying.writing.container != Container::bare_file && !goes_on_in_bare_file();
    if (takes_more && io::transport_for(output_).file_system == nullptr) try {
        static_cast<void>(io::open_for_writing(output_, io::OpenMode::update));
      } catch (const Error& error) {
        takes_more = error.kind() != ErrorKind::unsupported;
      }
    if (!takes_more)
      throw Error(ErrorKind::usage,
                  fmt::format("such a file takes one data set, and the inputs have {}: {}", names_.size(),
                              fmt::join(names_, ", ")),
                  "name one of them, or merge into a local ROOT file or an object store", {.uri = output_});
  }

  // Whether the inputs are added to a file that is there, and that is a bare one.
  bool goes_on_in_bare_file() const {
    if (!options_.copying.append && !options_.copying.resume) return false;
    try {
      return container::begins_bare_file(*io::open_for_reading(output_));
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::not_found) return false;
      throw;
    }
  }

  void check_store() const {
    const std::unordered_set<std::string_view> names(names_.begin(), names_.end());
    for (const std::string& there : data_sets(output_))
      if (names.contains(there))
        throw Error(
            ErrorKind::usage, "the data set already exists",
            "another name, overwrite to replace it, append to add the inputs, or resume to continue an "
            "interrupted merge",
            {.uri = output_, .data_set = there});
  }

  std::function<CopyReport()> prepare(const std::string& name, const CopyOptions& how) const {
    std::vector<DataSetPlace> places;
    for (std::size_t i = 0; i < inputs_.size(); ++i)
      if (contents_[i].names.contains(name)) places.push_back({inputs_[i], name});
    return dataset::prepare_copy(places, {output_, name}, how, watch_);
  }

  const std::vector<std::string> inputs_;
  const std::string& output_;
  const MergeOptions& options_;
  CopyOptions later_;  // of all data sets but the first
  const CopyWatch& watch_;
  std::vector<ContainerListing> contents_;  // by input
  std::vector<std::string> names_;
  MergeReport report_;
};

}  // namespace

MergeReport merge(const std::vector<std::string>& inputs, const std::string& output,
                  const MergeOptions& options, const CopyWatch& watch) {
  return Merge(dataset::expand_names(inputs), output, options, watch).run();
}

}  // namespace colonnade
