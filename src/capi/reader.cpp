// Reads columns as Arrow data. Every reader is a chain, even of a single file.
#include "colonnade/reader.h"

#include <algorithm>
#include <limits>
#include <mutex>
#include <string_view>
#include <unordered_set>

#include "base/utf8.h"
#include "capi/boundary.h"
#include "capi/read_fields.h"
#include "capi/stream.h"
#include "colonnade/chain.h"

namespace colonnade::capi {
namespace {

constexpr std::uint64_t batch_bytes = std::uint64_t{64} << 20;

// Shared by a reader and its streams, which may be used by different threads.
struct OpenChain {
  explicit OpenChain(std::unique_ptr<ChainReader> opened)
      : reader(std::move(opened)), schema(reader->descriptor()) {}

  std::mutex mutex;
  std::unique_ptr<ChainReader> reader;
  ReadSchema schema;
};

// The requested columns, under the requested names.
class Columns {
 public:
  Columns(OpenChain& chain, const char* const* columns, std::size_t count)
      : names_(count > 0 ? texts_of(columns, count, "a column") : chain.schema.names()) {
    for (const std::string& name : names_) {
      fields_.push_back(&chain.schema.find(name));
      paths_.push_back(fields_.back()->path);
    }
    std::unordered_set<std::string_view> known;
    for (const std::string& name : names_)
      if (!known.insert(name).second)
        throw Error(ErrorKind::usage, "the column \"" + name + "\" is requested twice", "name it once");
  }

  // `ahead`: entries up to this one will be asked for next.
  ArrowColumn read(OpenChain& chain, std::uint64_t first, std::uint64_t last, std::uint64_t ahead = 0) const {
    const std::lock_guard turn(chain.mutex);
    const auto arrays = chain.reader->arrays(paths_, first, last, ahead);
    const auto count = static_cast<std::size_t>(last - first);
    std::vector<std::pair<std::string, ArrowColumn>> columns;
    for (std::size_t i = 0; i < fields_.size(); ++i) {
      columns.emplace_back(names_[i], with_context({.field = names_[i]},
                                                   [&] { return assemble(*fields_[i], arrays, count); }));
    }
    return record(count, std::move(columns));
  }
  const std::vector<std::string>& paths() const noexcept { return paths_; }

 private:
  std::vector<std::string> names_, paths_;
  std::vector<const ReadField*> fields_;
};

struct Interval {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
};

Interval clipped(const OpenChain& chain, std::uint64_t first, std::uint64_t last) {
  const std::uint64_t entries = chain.reader->num_entries();
  if (first > std::min(last, entries))
    throw Error(ErrorKind::usage, "the entries from " + std::to_string(first) + " to " +
                                      std::to_string(last) + " are not within " + std::to_string(entries));
  return {first, std::min(last, entries)};
}

class ChainBatches final : public Batches {
 public:
  ChainBatches(std::shared_ptr<OpenChain> chain, Columns columns, Interval interval, std::uint64_t entries)
      : chain_(std::move(chain)), columns_(std::move(columns)), left_(interval), most_entries_(entries) {}

  ArrowColumn schema() override { return columns_.read(*chain_, 0, 0); }

  std::optional<ArrowColumn> next() override {
    if (left_.first >= left_.last) return std::nullopt;
    const std::uint64_t last = std::min(left_.last, end_of_batch());
    // Of the next batch, if it is as large as this one.
    const std::uint64_t ahead = last + std::min(last - left_.first, left_.last - last);
    ArrowColumn batch = columns_.read(*chain_, left_.first, last, ahead);
    left_.first = last;
    return batch;
  }

 private:
  std::uint64_t end_of_batch() {
    find_cluster();
    const std::uint64_t entries = cluster_.last - cluster_.first;
    const std::uint64_t batches =
        std::max<std::uint64_t>(1, (cluster_.bytes + batch_bytes - 1) / batch_bytes);
    const std::uint64_t most = most_entries_ > 0 ? most_entries_ : (entries + batches - 1) / batches;
    return std::min(cluster_.last, left_.first + std::min(most, cluster_.last - left_.first));
  }

  // The cluster of the next entry.
  void find_cluster() {
    const std::lock_guard turn(chain_->mutex);
    while (left_.first >= cluster_.last) {
      if (next_cluster_ < clusters_.size()) {
        cluster_ = clusters_[next_cluster_++];
      } else {
        const std::size_t file = chain_->reader->file_of(left_.first);
        clusters_ = chain_->reader->cluster_sizes(columns_.paths(), file);
        next_cluster_ = 0;
        if (clusters_.empty() || clusters_.back().last <= left_.first)
          throw Error(ErrorKind::format, "entry " + std::to_string(left_.first) + " is in no cluster");
      }
    }
  }

  std::shared_ptr<OpenChain> chain_;
  Columns columns_;
  Interval left_;
  std::uint64_t most_entries_;
  std::vector<ChainReader::ClusterSize> clusters_;  // of the current file
  std::size_t next_cluster_ = 0;
  ChainReader::ClusterSize cluster_;
};

ChainOptions chain_options(const colonnade_read_options* given) {
  const auto options = options_of(given, "colonnade_read_options");
  ChainOptions result;
  result.read.cache = text_or(options.cache, "");
  if (options.memory_budget > 0) result.read.memory_budget = static_cast<std::size_t>(options.memory_budget);
  switch (options.missing_fields) {
    case COLONNADE_MISSING_ERROR:
      break;
    case COLONNADE_MISSING_FILL:
      result.missing = MissingFields::fill;
      break;
    case COLONNADE_MISSING_SKIP:
      result.missing = MissingFields::skip;
      break;
    default:
      throw Error(ErrorKind::usage, "missing_fields has no such value", "one of COLONNADE_MISSING_...");
  }
  return result;
}

}  // namespace
}  // namespace colonnade::capi

using namespace colonnade;
using namespace colonnade::capi;

struct colonnade_reader {
  std::shared_ptr<OpenChain> chain;
};

extern "C" {

colonnade_status colonnade_data_sets(const char* uri, colonnade_strings** out) {
  return guarded([&] {
    need(out, "out");
    auto found = std::make_unique<colonnade_strings>();
    for (const std::string& name : data_sets(text_of(uri, "the URI")))
      found->items.push_back(shown_name(name));
    *out = found.release();
  });
}

colonnade_status colonnade_open(const char* name, const char* const* uris, size_t num_uris,
                                const colonnade_read_options* options, colonnade_reader** out) {
  return guarded([&] {
    need(out, "out");
    const auto files = texts_of(uris, num_uris, "a URI");
    auto reader = std::make_unique<colonnade_reader>();
    reader->chain =
        std::make_shared<OpenChain>(ChainReader::open(text_or(name, ""), files, chain_options(options)));
    *out = reader.release();
  });
}

void colonnade_reader_release(colonnade_reader* reader) {
  delete reader;
}

uint64_t colonnade_reader_num_entries(const colonnade_reader* reader) {
  return reader == nullptr ? 0 : reader->chain->reader->num_entries();
}

colonnade_status colonnade_reader_fields(colonnade_reader* reader, colonnade_strings** out) {
  return guarded([&] {
    need(reader, "the reader");
    need(out, "out");
    auto fields = std::make_unique<colonnade_strings>();
    fields->items = reader->chain->schema.names();
    *out = fields.release();
  });
}

colonnade_status colonnade_reader_schema(colonnade_reader* reader, const char* const* columns,
                                         size_t num_columns, struct ArrowSchema* out) {
  return guarded([&] {
    need(reader, "the reader");
    need(out, "out");
    to_schema(Columns(*reader->chain, columns, num_columns).read(*reader->chain, 0, 0), out);
  });
}

colonnade_status colonnade_reader_read(colonnade_reader* reader, const char* const* columns,
                                       size_t num_columns, uint64_t first, uint64_t last,
                                       struct ArrowArray* out) {
  return guarded([&] {
    need(reader, "the reader");
    need(out, "out");
    OpenChain& chain = *reader->chain;
    const Columns wanted(chain, columns, num_columns);
    const Interval interval = clipped(chain, first, last);
    to_array(wanted.read(chain, interval.first, interval.last), out);
  });
}

colonnade_status colonnade_reader_stream(colonnade_reader* reader, const char* const* columns,
                                         size_t num_columns, uint64_t first, uint64_t last,
                                         uint64_t batch_entries, struct ArrowArrayStream* out) {
  return guarded([&] {
    need(reader, "the reader");
    need(out, "out");
    Columns wanted(*reader->chain, columns, num_columns);
    const Interval interval = clipped(*reader->chain, first, last);
    to_stream(std::make_unique<ChainBatches>(reader->chain, std::move(wanted), interval, batch_entries), out);
  });
}

}  // extern "C"
