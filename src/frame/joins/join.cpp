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
#include <thread>
#include <utility>

#include "base/thread_pool.h"
#include "base/warning.h"
#include "codec/compression.h"
#include "colonnade/error.h"
#include "frame/results/element_visit.h"
#include "frame/values/values.h"

namespace colonnade::frame {
namespace {

using nlohmann::json;

constexpr std::uint64_t rows_at_once = 65'536;

bool is_key(const ValueType& type) {
  return type.is_scalar() && type.is_integer();
}

bool is_signed(ElementType element) {
  return element == ElementType::int8 || element == ElementType::int16 || element == ElementType::int32 ||
         element == ElementType::int64 || element == ElementType::character;
}

// Integers as 64 bits, signed ones extended by their sign.
void widen(const Values& values, std::uint64_t* to) {
  visit_element(values.type.element(), [&]<class T>(std::type_identity<T>) {
    if constexpr (std::is_integral_v<T>) {
      using Wide = std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>;
      const T* from = values.as<T>();
      if (values.constant)
        std::fill_n(to, values.size, static_cast<std::uint64_t>(Wide{*from}));
      else
        for (std::size_t i = 0; i < values.size; ++i) to[i] = static_cast<std::uint64_t>(Wide{from[i]});
    }
  });
}

const std::uint64_t* numbers(const std::shared_ptr<std::byte[]>& memory) {
  return reinterpret_cast<const std::uint64_t*>(memory.get());
}

// Calls work(part number, cursor, part) for all parts of a source, in as many threads as there are
// processors.
void for_each_part(const Source& source, std::span<const Part> parts,
                   const std::function<void(std::size_t, Cursor&, const Part&)>& work) {
  std::atomic<std::size_t> next{0};
  const auto count = std::min<std::size_t>(std::max(ThreadPool::processors(), 1u), parts.size());
  std::vector<std::exception_ptr> failures(count);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < count; ++t)
    threads.emplace_back([&, t] {
      try {
        const auto cursor = source.open();
        for (std::size_t p = next++; p < parts.size(); p = next++) {
          cursor->start(parts[p], nullptr);
          work(p, *cursor, parts[p]);
        }
      } catch (...) {
        failures[t] = std::current_exception();
        next = parts.size();
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (const std::exception_ptr& failure : failures)
    if (failure) std::rethrow_exception(failure);
}

std::vector<Part> parts_with(const Source& source, std::uint32_t column) {
  std::vector<Part> parts = source.parts(0, source.entries());
  for (const Part& part : parts)
    if (!source.has(column, part.sample))
      throw Error(ErrorKind::unsupported,
                  fmt::format("{} has no column '{}', which a join needs", source.samples()[part.sample].name,
                              source.path(column)),
                  "join files that all have it");
  return parts;
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
    for (const ValuesPtr& argument : arguments) {
      const bool is_wide = size_of(argument->type.element()) == sizeof(std::uint64_t) && !argument->constant;
      const std::uint64_t* values = is_wide ? argument->as<std::uint64_t>() : nullptr;
      if (!is_wide) {
        auto [widened, owner] = context.memory.array<std::uint64_t>(rows);
        widen(*argument, widened);
        values = widened;
        owners.push_back(std::move(owner));
      }
      keys.push_back({is_signed(argument->type.element()), {values, rows}});
    }
    auto [entries, memory] = context.memory.array<std::int64_t>(rows);
    join_->table().find(keys, rows, entries);
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
      : join_(std::move(join)), column_(column), may_lack_(may_lack), key_(std::move(key)) {
    result_ = !may_lack || type.is_optional() ? type : ValueType::optional(type);
  }

  ValuesPtr run(const CallContext& context, std::span<const ValuesPtr> arguments) const override {
    const ValuesPtr entries = spread(arguments[0], context.memory);
    const std::span all(entries->as<std::int64_t>(), entries->size);
    const ValuesPtr column = join_->values(column_);
    const bool has_all = std::ranges::all_of(all, [](std::int64_t entry) { return entry >= 0; });
    if (!may_lack_) {
      if (!has_all)
        throw Error(ErrorKind::usage, "a row without a match was asked for a joined value",
                    "filter by the entry number, which is -1 there");
      return gather(column, all, context.memory);
    }
    std::vector<std::int64_t> found;
    std::ranges::copy_if(all, std::back_inserter(found), [](std::int64_t entry) { return entry >= 0; });
    return optionals(all, gather(column, found, context.memory), context.memory);
  }
  const ValueType& result() const noexcept override { return result_; }
  std::string key() const override { return key_; }
  bool only_where_needed() const noexcept override { return true; }
  bool foldable() const noexcept override { return false; }

 private:
  // `values` are those of the rows that have a match.
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
  std::string key_;
  ValueType result_;
};

}  // namespace

// ---- Making

std::shared_ptr<Join> Join::make(std::shared_ptr<Source> right, std::vector<std::string> keys,
                                 Duplicates duplicates, std::string table) {
  return std::shared_ptr<Join>(new Join(std::move(right), std::move(keys), duplicates, std::move(table)));
}

Join::Join(std::shared_ptr<Source> right, std::vector<std::string> keys, Duplicates duplicates,
           std::string table)
    : source_(std::move(right)),
      keys_(std::move(keys)),
      duplicates_(duplicates),
      table_uri_(std::move(table)) {
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
  }
  if (!table_uri_.empty()) static_cast<void>(identity());
}

std::string Join::specification() const {
  return json{{"source", json::parse(source_->specification(true))},
              {"keys", keys_},
              {"duplicates", duplicates_ == Duplicates::error ? "error" : "first"},
              {"table", table_uri_}}
      .dump();
}

std::shared_ptr<Join> Join::remake(const std::string& specification) {
  const json from = json::parse(specification);
  const auto duplicates = from.at("duplicates").get<std::string>();
  if (duplicates != "error" && duplicates != "first")
    throw Error(ErrorKind::format, "a join in the plan has an unknown rule for duplicates");
  return make(source_from(from.at("source").dump()), from.at("keys").get<std::vector<std::string>>(),
              duplicates == "error" ? Duplicates::error : Duplicates::first, from.value("table", ""));
}

// The files with what tells that they are the same, not the ways to read them.
std::string Join::identity() const {
  json made{{"source", json::parse(source_->specification(true))}, {"keys", keys_}};
  made["duplicates"] = duplicates_ == Duplicates::error;
  if (!made["source"].contains("index"))
    throw Error(ErrorKind::usage, "a table of keys is saved for data sets in files alone",
                "join without `table`, or import what is joined first");
  made["source"].erase("options");
  const std::string text = made.dump();
  return fmt::format("{:016x} {}", codec::xxh3(as_bytes(text)), text.size());
}

std::vector<std::string> Join::columns() const {
  std::vector<std::string> columns;
  for (const std::string& name : source_->names()) {
    if (name.find('.') != std::string::npos || std::ranges::find(keys_, name) != keys_.end()) continue;
    try {
      if (source_->find(name)) columns.push_back(name);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::unsupported) throw;
    }
  }
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
  if (keys.size() != keys_.size())
    throw Error(ErrorKind::usage, fmt::format("{} keys for a join by {}", keys.size(), keys_.size()));
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

KeyTable Join::load_or_make_table() {
  if (table_uri_.empty()) return make_table();
  const std::string of = identity();
  if (auto loaded = KeyTable::load(table_uri_, of, memory_)) return std::move(*loaded);
  KeyTable made = make_table();
  try {
    made.save(table_uri_, of);
  } catch (const Error& error) {  // what is asked for is there all the same
    warn(fmt::format("the table of keys was not saved in {}: {}", table_uri_, error.problem()));
  }
  return made;
}

KeyTable Join::make_table() {
  std::vector<std::shared_ptr<std::byte[]>> memory;
  std::vector<KeyColumn> columns;
  for (const std::uint32_t column : key_columns_) {
    memory.push_back(read_key(column));
    columns.push_back({is_signed(source_->type(column).element()),
                       {numbers(memory.back()), static_cast<std::size_t>(source_->entries())}});
  }
  return {columns, keys_, duplicates_, ThreadPool::processors(), memory_};
}

ValuesPtr Join::values(std::uint32_t column) {
  return once([&] {
    ValuesPtr& values = columns_[column];
    if (!values) values = read_column(column);
    return values;
  });
}

std::shared_ptr<std::byte[]> Join::read_key(std::uint32_t column) {
  auto memory = memory_.allocate(source_->entries() * sizeof(std::uint64_t));
  auto* values = reinterpret_cast<std::uint64_t*>(memory.get());
  for_each_part(*source_, parts_with(*source_, column), [&](std::size_t, Cursor& cursor, const Part& part) {
    BlockMemory blocks;
    for (std::uint64_t first = part.first; first < part.last; first += rows_at_once) {
      const Rows rows{first, static_cast<std::size_t>(std::min(rows_at_once, part.last - first)), nullptr};
      widen(*cursor.read(column, rows, blocks), values + first);
    }
  });
  return memory;
}

// Numbers go where they belong as they are read; all else is put together at the end.
ValuesPtr Join::read_column(std::uint32_t column) {
  const std::vector<Part> parts = parts_with(*source_, column);
  const ValueType& type = source_->type(column);
  const auto entries = static_cast<std::size_t>(source_->entries());
  const std::size_t width = type.is_scalar() ? size_of(type.element()) : 0;
  std::atomic<std::uint64_t> held{held_};
  const auto take = [&](std::uint64_t bytes) {
    if (held.fetch_add(bytes) + bytes <= JoinMemory::default_budget()) return;
    throw Error(
        ErrorKind::resource,
        fmt::format("the columns of a join that are no numbers take more memory than they may: '{}', of {} "
                    "values, does not fit",
                    source_->path(column), entries),
        "join the other way round, or fewer entries, or set COLONNADE_JOIN_MEMORY_MIB");
  };
  const std::shared_ptr<std::byte[]> numbers = memory_.allocate(std::uint64_t{entries} * width);
  std::vector<std::vector<ValuesPtr>> pieces(parts.size());
  for_each_part(*source_, parts, [&](std::size_t number, Cursor& cursor, const Part& part) {
    BlockMemory memory;
    for (std::uint64_t first = part.first; first < part.last; first += rows_at_once) {
      const Rows rows{first, static_cast<std::size_t>(std::min(rows_at_once, part.last - first)), nullptr};
      const ValuesPtr read = spread(cursor.read(column, rows, memory), memory);
      if (width > 0) {
        std::memcpy(numbers.get() + first * width, read->data, rows.size * width);
      } else {
        pieces[number].push_back(keep(read));
        take(byte_count(*pieces[number].back()));
      }
    }
  });
  if (width > 0) return make_scalars(type.element(), entries, numbers.get(), numbers);
  held_ = held;
  BlockMemory memory;
  std::vector<ValuesPtr> all;
  for (std::vector<ValuesPtr>& some : pieces) std::ranges::move(some, std::back_inserter(all));
  if (all.empty()) return no_values(type);
  return keep(concatenate(all, memory));
}

// ---- Names

void name_columns(const Join& join, JoinedColumns& wanted, std::string_view name, std::string_view prefix,
                  std::span<const std::string> chosen,
                  const std::function<bool(const std::string&)>& is_taken) {
  // "dir/Events" and "jet:pt" are names in files, but none in expressions.
  const auto identifier = [](std::string text) {
    std::ranges::replace_if(
        text, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, '_');
    return text;
  };
  const std::string own = identifier(std::string(name.empty() ? "joined" : name));
  wanted.entry = prefix.empty() ? own + "_entry" : std::string(prefix) + "entry";
  const std::vector<std::string> all = join.columns();
  const auto has = [](const std::vector<std::string>& names, const std::string& column) {
    return std::ranges::find(names, column) != names.end();
  };
  for (const std::string& column : chosen)
    if (!has(all, column) && !has(join.keys(), column))
      throw Error(ErrorKind::not_found,
                  fmt::format("the joined data set has no column '{}' that can be taken", column),
                  fmt::format("one of: {}", fmt::join(all, ", ")));
  for (const std::string& column : chosen.empty() ? std::span<const std::string>(all) : chosen) {
    std::string known = identifier(column);
    const auto is_used = [&](const std::string& text) {
      return text == wanted.entry || is_taken(text) ||
             std::ranges::any_of(wanted.columns, [&](const auto& other) { return other.first == text; });
    };
    if (!prefix.empty()) {
      known.insert(0, prefix);
    } else if (is_used(known)) {
      known = fmt::format("{}_{}", own, known);
    }
    wanted.columns.emplace_back(std::move(known), column);
  }
}

}  // namespace colonnade::frame
