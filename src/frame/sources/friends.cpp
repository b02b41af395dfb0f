// See friends.h.
#include "frame/sources/friends.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "colonnade/error.h"
#include "frame/sources/friend_cursors.h"

namespace colonnade::frame {

void add_metrics(ReadMetrics& sum, const ReadMetrics& more) {
  sum.requests += more.requests;
  sum.bytes += more.bytes;
  sum.pages += more.pages;
  sum.metadata_bytes += more.metadata_bytes;
  sum.read_over_bytes += more.read_over_bytes;
  sum.prefetched_used += more.prefetched_used;
  sum.prefetched_unused += more.prefetched_unused;
  sum.peak_ahead_bytes += more.peak_ahead_bytes;
  sum.seconds_waiting += more.seconds_waiting;
  sum.seconds_decoding += more.seconds_decoding;
  sum.cache_pages += more.cache_pages;
  sum.cache_bytes += more.cache_bytes;
  sum.cache_added += more.cache_added;
  sum.cache_dropped += more.cache_dropped;
  if (sum.cache.empty() || sum.cache == "used") sum.cache = more.cache;
}

class FriendsCursor final : public Cursor {
 public:
  explicit FriendsCursor(std::shared_ptr<const Friends> friends)
      : friends_(std::move(friends)), first_(friends_->sources()[0].source->open()) {
    for (std::size_t i = 1; i < friends_->sources().size(); ++i)
      places_.emplace_back(friends_->sources()[i].source);
  }
  void start(const Part& part, std::span<const Part> next) override {
    first_->start(part, next);
    for (FriendCursors& place : places_) place.start(part, next);
  }
  void expect(std::span<const std::uint32_t> columns, std::span<const std::uint32_t> certain) override {
    first_->expect(friends_->columns_of(0, columns), friends_->columns_of(0, certain));
    for (std::size_t i = 0; i < places_.size(); ++i)
      places_[i].expect(friends_->columns_of(i + 1, columns), friends_->columns_of(i + 1, certain));
  }
  void begin() override {
    first_->begin();
    for (FriendCursors& place : places_) place.begin();
  }
  ValuesPtr read(std::uint32_t column, const Rows& rows, BlockMemory& memory) override {
    if (!std::exchange(is_reading_, true)) begin();
    const Friends::Column& wanted = friends_->columns_[column];
    if (wanted.source == 0) return first_->read(wanted.number, rows, memory);
    return places_[wanted.source - 1].read(wanted.number, rows, memory);
  }
  std::uint64_t row_bytes(std::span<const std::uint32_t> columns) override {
    std::uint64_t most = 0;
    for (const std::uint32_t column : columns) {
      const Friends::Column& wanted = friends_->columns_[column];
      most = std::max(most, wanted.source == 0 ? first_->row_bytes(std::span(&wanted.number, 1))
                                               : places_[wanted.source - 1].row_bytes(wanted.number));
    }
    return most;
  }
  ReadMetrics metrics() const override {
    ReadMetrics sum = first_->metrics();
    for (const FriendCursors& place : places_) place.add_to(sum);
    return sum;
  }

 private:
  std::shared_ptr<const Friends> friends_;
  std::unique_ptr<Cursor> first_;
  std::vector<FriendCursors> places_;
  bool is_reading_ = false;
};

Friends::Friends(std::shared_ptr<Source> first, std::vector<NamedSource> others) : first_(std::move(first)) {
  sources_.push_back({"", first_});
  std::set<std::string, std::less<>> names;
  const std::vector<std::string> own = first_->names();
  for (NamedSource& other : others) {
    if (other.name.empty() || !names.insert(other.name).second)
      throw Error(ErrorKind::usage,
                  other.name.empty() ? "a friend has no name"
                                     : fmt::format("two friends are called '{}'", other.name),
                  "a name for each friend");
    if (std::ranges::find(own, other.name) != own.end())
      throw Error(ErrorKind::usage, fmt::format("'{}' cannot be the name of a friend", other.name),
                  "a name that is not that of a column");
    if (other.source->entries() != entries())
      throw Error(ErrorKind::usage,
                  fmt::format("the friend '{}' has {} entries, but there are {}", other.name,
                              other.source->entries(), entries()),
                  "friends with as many entries, in the same order");
    sources_.push_back(std::move(other));
  }
}

std::optional<std::uint32_t> Friends::find_in(std::size_t source, std::string_view path) {
  Source& where = *sources_[source].source;
  const auto found = where.find(path);
  if (!found || source == 0) return found;
  for (unsigned sample = 0; sample < where.samples().size(); ++sample)
    if (where.samples()[sample].entries != 0 && !where.has(*found, sample))
      throw Error(ErrorKind::unsupported,
                  fmt::format("the column '{}' of the friend '{}' is not in {}", path, sources_[source].name,
                              where.samples()[sample].name),
                  "columns that all files of a friend have", {.field = std::string(path)});
  return found;
}

std::optional<Friends::Column> Friends::find_in_friends(std::string_view path) {
  // A prefix of the whole name, a sign or a word, requests the number of items.
  std::string_view sign;
  for (const std::string_view each : {std::string_view("#"), std::string_view("R_rdf_sizeof_")})
    if (path.starts_with(each)) sign = each;
  const std::string_view name = path.substr(sign.size());
  for (std::size_t i = 1; i < sources_.size(); ++i) {
    const std::string& friend_name = sources_[i].name;
    if (!name.starts_with(friend_name) || name.size() <= friend_name.size() + 1 ||
        name[friend_name.size()] != '.')
      continue;
    const std::string inner = std::string(sign) + std::string(name.substr(friend_name.size() + 1));
    if (const auto found = find_in(i, inner)) return Column{std::string(path), i, *found};
  }
  std::optional<Column> found;
  for (std::size_t i = 1; i < sources_.size(); ++i) {
    const auto here = find_in(i, path);
    if (!here) continue;
    if (found)
      throw Error(ErrorKind::usage,
                  fmt::format("'{}' is in the friends '{}' and '{}'", path, sources_[found->source].name,
                              sources_[i].name),
                  fmt::format("'{}.{}'", sources_[i].name, path));
    found = Column{std::string(path), i, *here};
  }
  return found;
}

std::optional<std::uint32_t> Friends::find(std::string_view path) {
  if (const auto known = by_path_.find(path); known != by_path_.end()) return known->second;
  std::optional<Column> column;
  if (const auto found = find_in(0, path)) {
    column = Column{std::string(path), 0, *found};
  } else {
    column = find_in_friends(path);
  }
  auto& number = by_path_[std::string(path)];
  if (!column) return number = std::nullopt;
  columns_.push_back(std::move(*column));
  return number = static_cast<std::uint32_t>(columns_.size() - 1);
}

const ValueType& Friends::type(std::uint32_t column) const {
  return sources_[columns_[column].source].source->type(columns_[column].number);
}

bool Friends::has(std::uint32_t column, unsigned sample) const {
  return columns_[column].source != 0 || first_->has(columns_[column].number, sample);
}

std::vector<std::string> Friends::names() const {
  std::vector<std::string> all = first_->names();
  std::set<std::string> taken(all.begin(), all.end());
  std::map<std::string, std::size_t> owners;
  for (std::size_t i = 1; i < sources_.size(); ++i)
    for (const std::string& name : sources_[i].source->names()) ++owners[name];
  for (std::size_t i = 1; i < sources_.size(); ++i)
    for (const std::string& name : sources_[i].source->names())
      all.push_back(taken.contains(name) || owners[name] > 1 ? sources_[i].name + "." + name : name);
  return all;
}

std::vector<std::uint64_t> Friends::stored_bytes(std::span<const Part> parts,
                                                 std::span<const std::uint32_t> columns) const {
  std::vector<std::uint64_t> bytes(parts.size(), 0);
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    const std::vector<std::uint32_t> own = columns_of(i, columns);
    if (own.empty()) continue;
    const Source& source = *sources_[i].source;
    for (std::size_t k = 0; k < parts.size(); ++k) {
      const std::vector<Part> here =
          i == 0 ? std::vector{parts[k]} : source.parts(parts[k].first, parts[k].last);
      for (const std::uint64_t more : source.stored_bytes(here, own)) bytes[k] += more;
    }
  }
  return bytes;
}

void Friends::prepare(std::span<const std::uint32_t> columns) {
  for (std::size_t i = 0; i < sources_.size(); ++i) sources_[i].source->prepare(columns_of(i, columns));
}

std::vector<std::uint32_t> Friends::columns_of(std::size_t source,
                                               std::span<const std::uint32_t> columns) const {
  std::vector<std::uint32_t> own;
  for (const std::uint32_t column : columns)
    if (columns_[column].source == source) own.push_back(columns_[column].number);
  return own;
}

std::size_t Friends::parts_ahead() const {
  std::size_t most = 1;
  for (const NamedSource& each : sources_) most = std::max(most, each.source->parts_ahead());
  return most;
}

std::unique_ptr<Cursor> Friends::open() const {
  return std::make_unique<FriendsCursor>(shared_from_this());
}

std::string Friends::specification(bool with_index) const {
  nlohmann::json made = {{"source", "friends"}, {"friends", nlohmann::json::array()}};
  made["first"] = nlohmann::json::parse(first_->specification(with_index));
  for (std::size_t i = 1; i < sources_.size(); ++i)
    made["friends"].push_back(
        {{"name", sources_[i].name},
         {"source", nlohmann::json::parse(sources_[i].source->specification(with_index))}});
  return made.dump();
}

std::shared_ptr<Source> friends_source(std::shared_ptr<Source> first, std::vector<NamedSource> others) {
  return std::make_shared<Friends>(std::move(first), std::move(others));
}

}  // namespace colonnade::frame
