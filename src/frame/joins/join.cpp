// Definitions, kernels, and the reading of the other side.
#include "frame/joins/join.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <cstring>
#include <functional>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "base/json_number.h"
#include "base/side_by_side.h"
#include "base/thread_pool.h"
#include "codec/compression.h"
#include "colonnade/error.h"
#include "frame/results/element_visit.h"
#include "frame/values/values.h"

namespace colonnade::frame {
namespace {

using nlohmann::json;

constexpr std::uint64_t rows_at_once = 65'536;

// The type of a key, which may be missing.
const ValueType& present(const ValueType& type) {
  return type.is_optional() ? type.item() : type;
}

bool is_key(const ValueType& type) {
  return present(type).is_scalar() && present(type).is_integer();
}

bool is_signed(ElementType element) {
  return element == ElementType::int8 || element == ElementType::int16 || element == ElementType::int32 ||
         element == ElementType::int64;
}

// Integers as 64 bits, signed ones extended by their sign. Characters have none, as in arrays.
void widen(const Values& values, std::uint64_t* to) {
  const ElementType element = values.type.element();
  visit_element(element == ElementType::character ? ElementType::uint8 : element,
                [&]<class T>(std::type_identity<T>) {
                  if constexpr (std::is_integral_v<T>) {
                    using Wide = std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>;
                    const T* from = values.as<T>();
                    if (values.constant)
                      std::fill_n(to, values.size, static_cast<std::uint64_t>(Wide{*from}));
                    else
                      for (std::size_t i = 0; i < values.size; ++i)
                        to[i] = static_cast<std::uint64_t>(Wide{from[i]});
                  }
                });
}

// The same of optionals: 0 where there is none, and lacks[i] becomes 1.
template <class Flag>
void widen_optionals(const Values& optionals, std::uint64_t* to, Flag* lacks) {
  std::vector<std::uint64_t> found(static_cast<std::size_t>(optionals.offsets[optionals.size]));
  widen(optionals.items(), found.data());
  for (std::size_t i = 0; i < optionals.size; ++i) {
    const std::int64_t at = optionals.offsets[i];
    const bool has_value = optionals.offsets[i + 1] > at;
    to[i] = has_value ? found[static_cast<std::size_t>(at)] : 0;
    if (!has_value) lacks[i] = 1;
  }
}

// The number of the section that holds a position.
std::uint64_t section_of(std::span<const JoinSection> sections, std::uint64_t position,
                         std::uint64_t JoinSection::* begin) {
  // If several begin there, only the last one has entries.
  const auto behind = std::ranges::upper_bound(sections, position, {}, begin);
  return static_cast<std::uint64_t>(behind - sections.begin()) - 1;
}

// Calls work(part number, cursor, part), which reads `columns`, for parts of a source, with one thread per
// processor. Threads know their parts ahead, and so do their cursors.
void for_each_part(const Source& source, std::span<const std::uint32_t> columns, std::span<const Part> parts,
                   const std::function<void(std::size_t, Cursor&, const Part&)>& work) {
  std::atomic<bool> failed{false};
  const auto count = std::min<std::size_t>(std::max(ThreadPool::processors(), 1u), parts.size());
  run_side_by_side(count, [&](std::size_t t) {
    try {
      std::vector<Part> own;
      for (std::size_t p = t; p < parts.size(); p += count) own.push_back(parts[p]);
      const auto cursor = source.open();
      for (std::size_t i = 0; i < own.size() && !failed; ++i) {
        const auto following = std::span<const Part>(own).subspan(i + 1);
        cursor->start(own[i], following.first(std::min(following.size(), source.parts_ahead())));
        cursor->expect(columns, columns);
        work(t + i * count, *cursor, own[i]);
      }
    } catch (...) {
      failed = true;
      throw;
    }
  });
}

void check_everywhere(const Source& source, std::uint32_t column) {
  const std::span<const Sample> samples = source.samples();
  for (std::size_t i = 0; i < samples.size(); ++i)
    if (samples[i].entries > 0 && !source.has(column, static_cast<unsigned>(i)))
      throw Error(
          ErrorKind::unsupported,
          fmt::format("{} has no column '{}', which a join needs", samples[i].name, source.path(column)),
          "join files that all have it, or in Python a chain with missing=\"fill\"");
}

ValuesPtr no_values(const ValueType& type) {
  static constexpr std::int64_t zero = 0;
  switch (type.kind()) {
    case ValueType::Kind::string:
      return make_string(0, &zero, no_values(type.item()), nullptr);
    case ValueType::Kind::list:
      return as_type(make_list(0, &zero, no_values(type.item()), nullptr), type);
    case ValueType::Kind::record: {
      std::vector<ValuesPtr> members;
      for (const auto& [name, member] : type.members()) members.push_back(no_values(member));
      return make_record(type, 0, std::move(members));
    }
    case ValueType::Kind::scalar:
      break;
  }
  return make_scalars(type.element(), 0, &zero, nullptr);
}

class EntryKernel final : public Kernel {
 public:
  EntryKernel(std::shared_ptr<Join> join, std::string key) : join_(std::move(join)), key_(std::move(key)) {}

  ValuesPtr run(const CallContext& context, std::span<const ValuesPtr> arguments) const override {
    const std::size_t rows = context.rows.size;
    std::vector<KeyColumn> keys;
    std::vector<std::shared_ptr<const void>> owners;
    const auto made = [&] {
      auto [array, owner] = context.memory.array<std::uint64_t>(rows);
      owners.push_back(std::move(owner));
      return array;
    };
    std::uint64_t* lacks = nullptr;  // 1: a key is missing
    const auto lacking = [&] {
      if (lacks == nullptr) std::fill_n(lacks = made(), rows, 0);
      return lacks;
    };
    for (const ValuesPtr& argument : arguments) {
      const ElementType element = present(argument->type).element();
      const bool is_optional = argument->type.is_optional();
      const bool is_wide = size_of(element) == sizeof(std::uint64_t) && !argument->constant && !is_optional;
      const std::uint64_t* values = is_wide ? argument->as<std::uint64_t>() : nullptr;
      if (is_optional) {
        const ValuesPtr all = spread(argument, context.memory);
        std::uint64_t* const to = made();
        widen_optionals(*all, to, lacking());
        values = to;
      } else if (!is_wide) {
        std::uint64_t* const to = made();
        widen(*argument, to);
        values = to;
      }
      keys.push_back({is_signed(element), {values, rows}});
    }
    if (!join_->sections().empty()) {
      const KeyColumn position = keys.back();
      std::uint64_t* const section = made();
      for (std::size_t i = 0; i < rows; ++i) {
        const bool is_nowhere = position.is_signed && position.values[i] >> 63 != 0;
        if (is_nowhere) lacking()[i] = 1;
        section[i] = is_nowhere ? 0 : section_of(join_->sections(), position.values[i], &JoinSection::here);
      }
      keys.back() = {false, {section, rows}};
    }
    if (join_->may_lack_keys()) {
      std::uint64_t* const none = made();
      std::fill_n(none, rows, 0);
      keys.push_back({false, {none, rows}});
    }
    auto [entries, memory] = context.memory.array<std::int64_t>(rows);
    join_->table().find(keys, rows, entries);
    if (lacks != nullptr)
      for (std::size_t i = 0; i < rows; ++i)
        if (lacks[i] != 0) entries[i] = KeyTable::none;
    return make_scalars(ElementType::int64, rows, entries, std::move(memory));
  }
  const ValueType& result() const noexcept override { return result_; }
  std::string key() const override { return key_; }
  bool only_where_needed() const noexcept override { return true; }
  bool foldable() const noexcept override { return false; }

 private:
  std::shared_ptr<Join> join_;
  std::string key_;
  ValueType result_ = ElementType::int64;
};

class ColumnKernel final : public Kernel {
 public:
  ColumnKernel(std::shared_ptr<Join> join, std::uint32_t column, const ValueType& type, bool may_lack,
               std::string key)
      : join_(std::move(join)),
        column_(column),
        may_lack_(may_lack),
        holders_(join_->holders(column)),
        key_(std::move(key)) {
    const bool is_optional = may_lack || !holders_.empty();
    result_ = !is_optional || type.is_optional() ? type : ValueType::optional(type);
  }

  ValuesPtr run(const CallContext& context, std::span<const ValuesPtr> arguments) const override {
    const ValuesPtr entries = spread(arguments[0], context.memory);
    const std::span all(entries->as<std::int64_t>(), entries->size);
    const bool has_all = std::ranges::all_of(all, [](std::int64_t entry) { return entry >= 0; });
    if (!may_lack_ && !has_all)
      throw Error(ErrorKind::usage, "a row without a match was asked for a joined value",
                  "filter by the entry number, which is -1 there");
    if (!may_lack_ && holders_.empty()) return join_->take(column_, all, context.memory);
    const std::vector<std::int64_t> held = join_->only_held(holders_, all);
    std::vector<std::int64_t> found;
    std::ranges::copy_if(held, std::back_inserter(found), [](std::int64_t entry) { return entry >= 0; });
    return optionals(held, join_->take(column_, found, context.memory), context.memory);
  }
  const ValueType& result() const noexcept override { return result_; }
  std::string key() const override { return key_; }
  bool only_where_needed() const noexcept override { return true; }
  bool foldable() const noexcept override { return false; }

 private:
  // `values`: of the rows with a match.
  ValuesPtr optionals(std::span<const std::int64_t> entries, const ValuesPtr& values,
                      BlockMemory& memory) const {
    const bool is_nested = values->type.is_optional();
    auto [ends, owner] = memory.array<std::int64_t>(entries.size() + 1);
    ends[0] = 0;
    std::size_t next = 0;
    for (std::size_t i = 0; i < entries.size(); ++i) {
      ends[i + 1] = ends[i];
      if (entries[i] < 0) continue;
      ends[i + 1] += is_nested ? values->offsets[next + 1] - values->offsets[next] : 1;
      ++next;
    }
    ValuesPtr items = is_nested ? values->children.front() : values;
    return as_type(make_list(entries.size(), ends, std::move(items), std::move(owner)), result_);
  }

  std::shared_ptr<Join> join_;
  std::uint32_t column_;
  bool may_lack_;
  std::vector<bool> holders_;
  std::string key_;
  ValueType result_;
};

}  // namespace

// ---- Making

std::shared_ptr<Join> Join::make(std::shared_ptr<Source> right, std::vector<std::string> keys,
                                 Duplicates duplicates, std::string table, std::vector<JoinSection> sections,
                                 bool fills) {
  return std::shared_ptr<Join>(
      new Join(std::move(right), std::move(keys), duplicates, std::move(table), std::move(sections), fills));
}

Join::Join(std::shared_ptr<Source> right, std::vector<std::string> keys, Duplicates duplicates,
           std::string table, std::vector<JoinSection> sections, bool fills)
    : source_(std::move(right)),
      keys_(std::move(keys)),
      duplicates_(duplicates),
      table_uri_(std::move(table)),
      sections_(std::move(sections)),
      fills_(fills) {
  static std::atomic<std::uint64_t> joins{0};
  number_ = ++joins;
  if (keys_.empty()) throw Error(ErrorKind::usage, "a join needs at least one key");
  for (const std::string& key : keys_) {
    const auto column = source_->find(key);
    if (!column)
      throw Error(ErrorKind::not_found, fmt::format("the joined data set has no column '{}'", key),
                  "name a column that both sides have, or one of each");
    if (!is_key(source_->type(*column)))
      throw Error(ErrorKind::type, fmt::format("the key '{}' is of type {}; keys are integers", key,
                                               source_->type(*column).name()));
    key_columns_.push_back(*column);
    may_lack_keys_ |= source_->type(*column).is_optional();
  }
  for (const auto begin : {&JoinSection::here, &JoinSection::there})
    if (!sections_.empty() &&
        (sections_.front().*begin != 0 || !std::ranges::is_sorted(sections_, {}, begin)))
      throw Error(ErrorKind::format, "the parts of a join are not in order");
  if (!table_uri_.empty()) static_cast<void>(identity());
}

std::string Join::specification() const {
  json made{{"source", json::parse(source_->specification(true))},
            {"keys", keys_},
            {"duplicates", duplicates_ == Duplicates::error ? "error" : "first"},
            {"table", table_uri_}};
  for (const JoinSection& section : sections_) made["sections"].push_back({section.here, section.there});
  if (fills_) made["fills"] = true;
  return made.dump();
}

std::shared_ptr<Join> Join::remake(const std::string& specification) {
  const json from = json::parse(specification);
  const auto duplicates = from.at("duplicates").get<std::string>();
  if (duplicates != "error" && duplicates != "first")
    throw Error(ErrorKind::format, "a join in the plan has an unknown rule for duplicates");
  std::vector<JoinSection> sections;
  for (const json& section : from.value("sections", json::array()))
    sections.push_back(
        {whole_number<std::uint64_t>(section.at(0)), whole_number<std::uint64_t>(section.at(1))});
  return make(source_from(from.at("source").dump()), from.at("keys").get<std::vector<std::string>>(),
              duplicates == "error" ? Duplicates::error : Duplicates::first, from.value("table", ""),
              std::move(sections), from.value("fills", false));
}

// The files and their identities, without the ways to read them.
std::string Join::identity() const try {
  json made{{"source", json::parse(source_->specification(true))}, {"keys", keys_}};
  made["duplicates"] = duplicates_ == Duplicates::error;
  for (const JoinSection& section : sections_) made["sections"].push_back({section.here, section.there});
  if (!made["source"].contains("index"))
    throw Error(ErrorKind::usage, "a table of keys can be saved only for data sets in files",
                "join without `table`, or import what is joined first");
  made["source"].erase("options");
  const std::string text = made.dump();
  return fmt::format("{:016x} {}", codec::xxh3(as_bytes(text)), text.size());
} catch (const json::exception&) {
  throw Error(ErrorKind::unsupported,
              "a table of keys cannot be saved for files whose names are not valid UTF-8",
              "join without `table`, or by a link whose name is UTF-8");
}

void Join::for_each_column(const std::function<void(const std::string&, const Error*)>& work) const {
  for (const std::string& name : source_->names()) {
    if (name.find('.') != std::string::npos || std::ranges::find(keys_, name) != keys_.end()) continue;
    try {
      if (source_->find(name)) work(name, nullptr);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::schema && error.kind() != ErrorKind::unsupported) throw;
      work(name, &error);
    }
  }
}

std::vector<std::string> Join::columns() const {
  std::vector<std::string> columns;
  for_each_column([&](const std::string& name, const Error* error) {
    if (error == nullptr) columns.push_back(name);
  });
  return columns;
}

std::vector<LeftOut> Join::left_out() const {
  std::vector<LeftOut> columns;
  for_each_column([&](const std::string& name, const Error* error) {
    if (error != nullptr) columns.push_back({name, error->problem()});
  });
  return columns;
}

// ---- Definitions

NodeId Join::add_to(Graph& graph, NodeId parent, const JoinedColumns& wanted) {
  NodeId last = parent;
  const auto add = [&](auto&& make) {
    const NodeId node = make();
    if (last != parent) static_cast<void>(graph.release(last));
    last = node;
  };
  try {
    add([&] { return graph.define(last, wanted.entry, entry(wanted.keys)); });
    if (wanted.inner) add([&] { return graph.filter(last, wanted.entry + " >= 0"); });
    for (const auto& [name, column] : wanted.columns)
      add([&] { return graph.define(last, name, this->column(column, wanted.entry, !wanted.inner)); });
  } catch (...) {
    if (last != parent) static_cast<void>(graph.release(last));
    throw;
  }
  return last;
}

Definition Join::entry(std::vector<std::string> keys) {
  const std::size_t expected = keys_.size() + (sections_.empty() ? 0 : 1);
  if (keys.size() != expected)
    throw Error(ErrorKind::usage, fmt::format("{} keys for a join by {}", keys.size(), expected));
  auto make = [self = shared_from_this(), keys](std::span<const ValueType> types) -> KernelPtr {
    for (std::size_t k = 0; k < types.size(); ++k)
      if (!is_key(types[k]))
        throw Error(ErrorKind::type,
                    fmt::format("the key '{}' is of type {}; keys are integers", keys[k], types[k].name()));
    return std::make_shared<EntryKernel>(self, fmt::format("join {} entry", self->number_));
  };
  Definition definition(std::move(make), std::move(keys));
  definition.join = shared_from_this();
  definition.join_part = json{{"entry", true}}.dump();
  return definition;
}

Definition Join::column(const std::string& name, const std::string& entry_column, bool may_lack) {
  const auto column = source_->find(name);
  if (!column) throw Error(ErrorKind::not_found, fmt::format("the joined data set has no column '{}'", name));
  auto make = [self = shared_from_this(), column = *column,
               may_lack](std::span<const ValueType> types) -> KernelPtr {
    if (types.size() != 1 || !types[0].is_scalar() || types[0].element() != ElementType::int64)
      throw Error(ErrorKind::type, "a joined column is taken by the number of an entry");
    return std::make_shared<ColumnKernel>(
        self, column, self->source_->type(column), may_lack,
        fmt::format("join {} column {} {}", self->number_, column, may_lack));
  };
  Definition definition(std::move(make), {entry_column});
  definition.join = shared_from_this();
  definition.join_part = json{{"column", name}, {"may_lack", may_lack}}.dump();
  return definition;
}

const ValueType& Join::type(const Definition& column) const {
  const json part = json::parse(column.join_part);
  return source_->type(*source_->find(part.at("column").get<std::string>()));
}

Definition Join::definition(const std::string& description, std::vector<std::string> arguments) {
  const json from = json::parse(description);
  if (from.contains("entry")) return entry(std::move(arguments));
  return column(from.at("column").get<std::string>(), arguments.at(0), from.at("may_lack").get<bool>());
}

// ---- The other side

template <class Make>
decltype(auto) Join::once(Make&& make) {
  const std::uint64_t before = failures_;
  const std::lock_guard turn(mutex_);
  if (failures_ != before) std::rethrow_exception(failure_);
  try {
    return make();
  } catch (...) {
    failure_ = std::current_exception();
    ++failures_;
    throw;
  }
}

const KeyTable& Join::table() {
  return once([&]() -> const KeyTable& {
    if (!table_) table_.emplace(load_or_make_table());
    return *table_;
  });
}

void Join::prepare() {
  if (!table_uri_.empty()) static_cast<void>(load_or_make_table());
}

KeyTable Join::load_or_make_table() {
  return KeyTable::load_or_make(table_uri_, table_uri_.empty() ? std::string() : identity(), memory_,
                                [this] { return make_table(); });
}

KeyTable Join::make_table() {
  const auto entries = static_cast<std::size_t>(source_->entries());
  std::shared_ptr<std::byte[]> lacking;  // a byte for each entry; 1: a key is missing
  std::uint8_t* lacks = nullptr;
  if (may_lack_keys_) {
    lacking = memory_.allocate(entries);
    lacks = reinterpret_cast<std::uint8_t*>(lacking.get());
    std::fill_n(lacks, entries, std::uint8_t{0});
  }
  std::vector<PackedKeys> columns;
  for (const std::uint32_t column : key_columns_) columns.push_back(read_key(column, lacks));
  if (!sections_.empty())
    columns.push_back(pack([&](std::size_t first, std::span<std::uint64_t> values) {
      for (std::uint64_t& value : values) value = section_of(sections_, first++, &JoinSection::there);
    }));
  // One more key, which is another number for each entry that lacks one: it is the same as no other, and
  // found by nothing.
  std::uint64_t count = 0;
  if (lacks != nullptr)
    columns.push_back(pack([&](std::size_t first, std::span<std::uint64_t> values) {
      for (std::uint64_t& value : values) value = lacks[first++] != 0 ? ++count : 0;
    }));
  return {columns, keys_, duplicates_, ThreadPool::processors(), memory_};
}

PackedKeys Join::pack(const std::function<void(std::size_t, std::span<std::uint64_t>)>& work) {
  const auto entries = static_cast<std::size_t>(source_->entries());
  PackedKeys packed(false, entries, memory_);
  std::vector<std::uint64_t> values(std::min<std::size_t>(rows_at_once, entries));
  for (std::size_t first = 0; first < entries; first += values.size()) {
    values.resize(std::min(values.size(), entries - first));
    work(first, values);
    packed.write(first, values);
  }
  return packed;
}

PackedKeys Join::read_key(std::uint32_t column, std::uint8_t* lacks) {
  const bool is_signed_key = is_signed(present(source_->type(column)).element());
  PackedKeys packed(is_signed_key, static_cast<std::size_t>(source_->entries()), memory_);
  check_everywhere(*source_, column);
  const std::vector<Part> parts = source_->parts(0, source_->entries());
  for_each_part(*source_, std::span(&column, 1), parts, [&](std::size_t, Cursor& cursor, const Part& part) {
    BlockMemory blocks;
    std::vector<std::uint64_t> values;
    for (std::uint64_t first = part.first; first < part.last; first += rows_at_once) {
      const Rows rows{first, static_cast<std::size_t>(std::min(rows_at_once, part.last - first)), nullptr};
      const ValuesPtr read = cursor.read(column, rows, blocks);
      values.resize(rows.size);
      if (read->type.is_optional())
        widen_optionals(*spread(read, blocks), values.data(), lacks + first);
      else
        widen(*read, values.data());
      packed.write(static_cast<std::size_t>(first), values);
    }
  });
  return packed;
}

// ---- Columns

namespace {

// The file of each entry. Most entries are in the same file as the previous one.
std::vector<std::uint32_t> files_of(std::span<const Sample> files, std::span<const std::int64_t> entries) {
  std::vector<std::uint32_t> found(entries.size());
  std::size_t file = 0;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const auto entry = static_cast<std::uint64_t>(entries[i]);
    if (entry - files[file].first >= files[file].entries) {
      // If several begin there, only the last one has entries.
      const auto behind = std::ranges::upper_bound(files, entry, {}, &Sample::first);
      file = static_cast<std::size_t>(behind - files.begin()) - 1;
    }
    found[i] = static_cast<std::uint32_t>(file);
  }
  return found;
}

// The values of entries, whose files have separate pieces; pieces[f] is set if an entry of file f is wanted.
ValuesPtr gather_pieces(std::span<const Sample> files, std::span<const ValuesPtr> pieces,
                        std::span<const std::uint32_t> file_of, std::span<const std::int64_t> entries,
                        BlockMemory& memory) {
  std::vector<std::uint32_t> order(entries.size());
  std::iota(order.begin(), order.end(), 0u);
  std::ranges::sort(order, {}, [&](std::uint32_t i) { return std::pair(file_of[i], i); });
  std::vector<std::uint32_t> place(entries.size());  // of each entry, in that order
  std::vector<ValuesPtr> gathered;
  std::vector<std::int64_t> rows;
  for (std::size_t i = 0; i < order.size(); ++i) {
    place[order[i]] = static_cast<std::uint32_t>(i);
    const std::uint32_t file = file_of[order[i]];
    rows.push_back(entries[order[i]] - static_cast<std::int64_t>(files[file].first));
    if (i + 1 < order.size() && file_of[order[i + 1]] == file) continue;
    gathered.push_back(gather(pieces[file], rows, memory));
    rows.clear();
  }
  const ValuesPtr all = gathered.size() == 1 ? gathered.front() : concatenate(gathered, memory);
  return gather(all, place, memory);
}

}  // namespace

std::vector<bool> Join::holders(std::uint32_t column) const {
  std::vector<bool> found;
  if (!fills_) return found;
  const std::span<const Sample> samples = source_->samples();
  for (std::size_t i = 0; i < samples.size(); ++i)
    found.push_back(samples[i].entries == 0 || source_->has(column, static_cast<unsigned>(i)));
  if (std::ranges::find(found, false) == found.end()) found.clear();
  return found;
}

std::vector<std::int64_t> Join::only_held(const std::vector<bool>& holders,
                                          std::span<const std::int64_t> entries) const {
  std::vector<std::int64_t> held(entries.begin(), entries.end());
  if (holders.empty()) return held;
  std::vector<std::int64_t> found;
  std::ranges::copy_if(held, std::back_inserter(found), [](std::int64_t entry) { return entry >= 0; });
  const std::vector<std::uint32_t> files = files_of(source_->samples(), found);
  std::size_t next = 0;
  for (std::int64_t& entry : held)
    if (entry >= 0 && !holders[files[next++]]) entry = KeyTable::none;
  return held;
}

ValuesPtr Join::take(std::uint32_t number, std::span<const std::int64_t> entries, BlockMemory& memory) {
  if (entries.empty()) return no_values(source_->type(number));
  ValuesPtr whole;
  Column* const column = once([&] {
    auto found = columns_.find(number);
    if (found == columns_.end()) found = columns_.emplace(number, begin_column(number)).first;
    if (found->second.missing == 0) whole = found->second.whole;
    return &found->second;
  });
  if (whole) return gather(whole, entries, memory);
  const std::vector<std::uint32_t> file_of = files_of(source_->samples(), entries);
  std::vector<std::uint32_t> wanted = file_of;
  std::ranges::sort(wanted);
  wanted.erase(std::ranges::unique(wanted).begin(), wanted.end());
  std::vector<ValuesPtr> pieces;
  once([&] {
    read_files(number, *column, wanted);
    whole = column->whole;
    if (!whole) pieces = column->pieces;
  });
  return whole ? gather(whole, entries, memory)
               : gather_pieces(source_->samples(), pieces, file_of, entries, memory);
}

Join::Column Join::begin_column(std::uint32_t number) {
  const std::vector<bool> in_files = holders(number);
  if (in_files.empty()) check_everywhere(*source_, number);
  Column column;
  for (const Sample& sample : source_->samples()) {
    const bool has_values = sample.entries > 0 && (in_files.empty() || in_files[column.is_read.size()]);
    column.is_read.push_back(!has_values);
    column.missing += has_values ? 1 : 0;
  }
  column.in_all = in_files.empty();
  const ValueType& type = source_->type(number);
  const auto entries = static_cast<std::size_t>(source_->entries());
  if (type.is_scalar()) {
    column.numbers = memory_.allocate(entries * size_of(type.element()));
    column.whole = make_scalars(type.element(), entries, column.numbers.get(), column.numbers);
  } else {
    column.pieces.resize(column.is_read.size());
  }
  return column;
}

void Join::count_held(std::uint32_t column, std::uint64_t bytes) {
  if (held_.fetch_add(bytes) + bytes <= JoinMemory::default_budget()) return;
  throw Error(
      ErrorKind::resource,
      fmt::format(
          "the non-numeric columns of a join exceed the memory limit: '{}', with {} values, does not fit",
          source_->path(column), source_->entries()),
      "join the other way round, or fewer entries, or set COLONNADE_JOIN_MEMORY_MIB");
}

// The caller holds mutex_.
void Join::read_files(std::uint32_t number, Column& column, std::span<const std::uint32_t> wanted) {
  std::vector<Part> parts;
  for (const std::uint32_t file : wanted) {
    if (column.is_read[file]) continue;
    const Sample& sample = source_->samples()[file];
    std::ranges::copy(source_->parts(sample.first, sample.first + sample.entries), std::back_inserter(parts));
  }
  const std::uint64_t held = held_;
  try {
    std::vector<ValuesPtr> pieces = read_parts(number, column, parts);
    if (!column.numbers) put_together(column, parts, pieces);
  } catch (...) {
    held_ = held;
    throw;
  }
  for (const std::uint32_t file : wanted)
    if (!column.is_read[file]) {
      column.is_read[file] = true;
      --column.missing;
    }
  if (column.missing > 0 || column.whole || !column.in_all) return;
  BlockMemory memory;
  std::erase(column.pieces, nullptr);  // of files without entries
  column.whole = keep(concatenate(column.pieces, memory));
  column.pieces.clear();
}

// Numbers are read to their final position; other values are returned, one object for each part.
std::vector<ValuesPtr> Join::read_parts(std::uint32_t number, Column& column, std::span<const Part> parts) {
  const std::size_t width = column.numbers ? size_of(source_->type(number).element()) : 0;
  std::vector<ValuesPtr> found(parts.size());
  const auto read_part = [&](std::size_t at, Cursor& cursor, const Part& part) {
    BlockMemory memory;
    std::vector<ValuesPtr> pieces;
    for (std::uint64_t first = part.first; first < part.last; first += rows_at_once) {
      const Rows rows{first, static_cast<std::size_t>(std::min(rows_at_once, part.last - first)), nullptr};
      const ValuesPtr read = spread(cursor.read(number, rows, memory), memory);
      if (column.numbers) {
        std::memcpy(column.numbers.get() + first * width, read->data, rows.size * width);
      } else {
        pieces.push_back(keep(read));
        count_held(number, byte_count(*pieces.back()));
      }
    }
    if (pieces.size() > 1) pieces = {keep(concatenate(pieces, memory))};
    if (!pieces.empty()) found[at] = std::move(pieces.front());
  };
  for_each_part(*source_, std::span(&number, 1), parts, read_part);
  return found;
}

// Concatenates the parts of each file to one piece.
void Join::put_together(Column& column, std::span<const Part> parts, std::span<const ValuesPtr> pieces) {
  BlockMemory memory;
  for (std::size_t first = 0, last = 0; first < parts.size(); first = last) {
    while (last < parts.size() && parts[last].sample == parts[first].sample) ++last;
    const std::span<const ValuesPtr> own = pieces.subspan(first, last - first);
    column.pieces[parts[first].sample] = own.size() == 1 ? own.front() : keep(concatenate(own, memory));
  }
}

// ---- Names

void name_columns(const Join& join, JoinedColumns& wanted, std::string_view name, std::string_view prefix,
                  std::span<const std::string> chosen,
                  const std::function<bool(const std::string&)>& is_taken) {
  // "dir/Events" and "jet:pt" are names in files, but not in expressions.
  const auto identifier = [](std::string text) {
    std::ranges::replace_if(
        text, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, '_');
    return text;
  };
  const std::string own = identifier(std::string(name.empty() ? "joined" : name));
  wanted.entry = prefix.empty() ? own + "_entry" : std::string(prefix) + "entry";
  if (is_taken(wanted.entry))
    throw Error(ErrorKind::usage,
                fmt::format("join '{}': there is already a column '{}'", name, wanted.entry),
                "give the columns of this join names of their own: prefix=\"cal_\"");
  const std::vector<std::string> all = join.columns();
  const std::vector<LeftOut> left_out = join.left_out();
  std::unordered_set<std::string_view> there(all.begin(), all.end());
  there.insert(join.keys().begin(), join.keys().end());
  for (const LeftOut& column : left_out) there.insert(column.path);
  std::unordered_set<std::string_view> given;
  for (const std::string& column : chosen)
    if (!given.insert(column).second)
      throw Error(ErrorKind::usage, fmt::format("join '{}': the column '{}' is given twice", name, column));
  for (const std::string& column : chosen)
    if (!there.contains(column))
      throw Error(ErrorKind::not_found,
                  fmt::format("the joined data set has no column '{}' that can be taken", column),
                  fmt::format("one of: {}", fmt::join(all, ", ")));
  std::unordered_set<std::string> used;
  for (const std::string& column : chosen) {
    std::string known = identifier(column);
    const auto is_used = [&](const std::string& text) {
      return text == wanted.entry || is_taken(text) || used.contains(text);
    };
    if (!prefix.empty()) {
      known.insert(0, prefix);
    } else if (is_used(known)) {
      known = fmt::format("{}_{}", own, known);
    }
    used.insert(known);
    wanted.columns.emplace_back(std::move(known), column);
  }
}

}  // namespace colonnade::frame
