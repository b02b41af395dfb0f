// A source of arrays in memory: columns are slices of them.
#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <map>

#include "colonnade/error.h"
#include "frame/sources/parts.h"
#include "frame/sources/source.h"
#include "frame/values/values.h"

namespace colonnade::frame {
namespace {

// The values of a path below other values, or their numbers of items; null if the path does not exist.
ValuesPtr find_below(const ValuesPtr& values, std::string_view path, bool count);

ValuesPtr counts_of(const ValuesPtr& lists) {
  if (!lists->type.is_list()) return nullptr;
  const std::size_t stored = lists->stored();
  auto counts = std::make_shared<std::vector<std::uint64_t>>(stored);
  for (std::size_t i = 0; i < stored; ++i)
    (*counts)[i] = static_cast<std::uint64_t>(lists->offsets[i + 1] - lists->offsets[i]);
  if (lists->constant) return make_constant<std::uint64_t>(lists->size, counts->front());
  return make_scalars(ElementType::uint64, lists->size, counts->data(), counts);
}

// The same lists with other items.
ValuesPtr with_items(const ValuesPtr& lists, ValuesPtr items) {
  auto values = std::make_shared<Values>(*lists);
  values->type = lists->type.is_optional() ? ValueType::optional(items->type) : ValueType::list(items->type);
  values->children = {std::move(items)};
  return values;
}

ValuesPtr find_member(const ValuesPtr& record, std::string_view path, bool count) {
  const auto members = record->type.members();
  std::size_t best = members.size();
  for (std::size_t i = 0; i < members.size(); ++i) {
    const std::string& name = members[i].first;
    const bool fits = path.starts_with(name) && (path.size() == name.size() || path[name.size()] == '.');
    if (fits && (best == members.size() || name.size() > members[best].first.size())) best = i;
  }
  if (best == members.size()) return nullptr;
  const std::size_t length = members[best].first.size();
  if (path.size() == length) return find_below(record->children[best], {}, count);
  path.remove_prefix(length + 1);
  return path.empty() ? nullptr : find_below(record->children[best], path, count);
}

ValuesPtr find_below(const ValuesPtr& values, std::string_view path, bool count) {
  if (path.empty()) return count ? counts_of(values) : values;
  if (values->type.is_record()) return find_member(values, path, count);
  if (!values->type.is_list()) return nullptr;
  auto items = find_below(values->children.front(), path, count);
  return items != nullptr ? with_items(values, std::move(items)) : nullptr;
}

void collect_members(const ValueType& type, const std::string& path, std::vector<std::string>& names) {
  if (type.is_list()) return collect_members(type.item(), path, names);
  if (!type.is_record()) return;
  for (const auto& [name, member] : type.members()) {
    names.push_back(fmt::format("{}.{}", path, name));
    collect_members(member, std::string(names.back()), names);
  }
}

struct ArrayColumn {
  std::string path;
  ValuesPtr values;
};
using ArrayColumns = std::deque<ArrayColumn>;

class ArrayCursor final : public Cursor {
 public:
  explicit ArrayCursor(std::shared_ptr<const ArrayColumns> columns) : columns_(std::move(columns)) {}
  void start(const Part& part, std::span<const Part>) override { part_ = part; }
  std::uint64_t row_bytes(std::span<const std::uint32_t> columns) override {
    std::uint64_t most = 0;
    for (const std::uint32_t column : columns)
      most = std::max(most, bytes_below(*(*columns_)[column].values, part_.first, part_.last));
    return most / std::max<std::uint64_t>(part_.last - part_.first, 1);
  }
  ValuesPtr read(std::uint32_t column, const Rows& rows, BlockMemory& memory) override {
    const ValuesPtr& values = (*columns_)[column].values;
    if (rows.indices == nullptr) return slice(values, rows.first, rows.size, memory);
    const ValuesPtr block =
        slice(values, rows.first, rows.size == 0 ? 0 : rows.indices[rows.size - 1] + std::size_t{1}, memory);
    return gather(block, std::span(rows.indices, rows.size), memory);
  }

 private:
  // The size of the elements [first, last).
  static std::uint64_t bytes_below(const Values& values, std::uint64_t first, std::uint64_t last) {
    if (values.constant) return 0;
    if (values.type.is_scalar()) return (last - first) * size_of(values.type.element());
    if (values.offsets != nullptr)
      return (last - first) * sizeof(std::int64_t) +
             bytes_below(values.items(), static_cast<std::uint64_t>(values.offsets[first]),
                         static_cast<std::uint64_t>(values.offsets[last]));
    std::uint64_t sum = 0;
    for (const ValuesPtr& member : values.children) sum += bytes_below(*member, first, last);
    return sum;
  }

  std::shared_ptr<const ArrayColumns> columns_;
  Part part_;
};

class ArraySource final : public Source {
 public:
  explicit ArraySource(std::vector<NamedValues> given) : given_(std::move(given)) {
    if (!given_.empty()) sample_.entries = given_.front().values->size;
    for (const NamedValues& column : given_)
      if (column.values->size != sample_.entries)
        throw Error(ErrorKind::usage,
                    fmt::format("the array '{}' has {} entries and '{}' has {}", given_.front().name,
                                sample_.entries, column.name, column.values->size),
                    "give arrays of the same length", {.field = column.name});
  }

  std::uint64_t entries() const override { return sample_.entries; }
  std::span<const Sample> samples() const override { return {&sample_, 1}; }

  std::optional<std::uint32_t> find(std::string_view path) override {
    if (const auto known = by_path_.find(path); known != by_path_.end()) return known->second;
    constexpr std::string_view size_of_list = "R_rdf_sizeof_";
    auto values = find_values(path, false);
    if (values == nullptr && path.starts_with("#")) values = find_values(path.substr(1), true);
    if (values == nullptr && path.starts_with(size_of_list))
      values = find_values(path.substr(size_of_list.size()), true);
    if (values == nullptr) return std::nullopt;
    columns_->push_back({std::string(path), std::move(values)});
    return by_path_[std::string(path)] = static_cast<std::uint32_t>(columns_->size() - 1);
  }
  const ValueType& type(std::uint32_t column) const override { return (*columns_)[column].values->type; }
  const std::string& path(std::uint32_t column) const override { return (*columns_)[column].path; }
  std::shared_ptr<const Field> stored_field(std::uint32_t column) const override {
    const auto given = std::ranges::find(given_, path(column), &NamedValues::name);
    return given != given_.end() ? given->stored : nullptr;
  }
  bool has(std::uint32_t, unsigned) const override { return true; }
  std::vector<std::string> names() const override {
    std::vector<std::string> names;
    for (const NamedValues& column : given_) {
      names.push_back(column.name);
      collect_members(column.values->type, column.name, names);
    }
    return names;
  }
  std::vector<Part> parts(std::uint64_t first, std::uint64_t last) const override {
    return equal_parts(limits_.array_entries, first, std::min(last, sample_.entries));
  }
  std::unique_ptr<Cursor> open() const override { return std::make_unique<ArrayCursor>(columns_); }
  std::string specification(bool /*with_index*/) const override {
    throw Error(ErrorKind::unsupported, "arrays in memory cannot be described to another process",
                "write them to a file first");
  }

 private:
  ValuesPtr find_values(std::string_view path, bool count) const {
    const NamedValues* best = nullptr;
    for (const NamedValues& column : given_) {
      const std::string& name = column.name;
      const bool fits = path.starts_with(name) && (path.size() == name.size() || path[name.size()] == '.');
      if (fits && (best == nullptr || name.size() > best->name.size())) best = &column;
    }
    if (best == nullptr) return nullptr;
    const std::size_t length = best->name.size();
    if (path.size() == length) return find_below(best->values, {}, count);
    return path.size() == length + 1 ? nullptr : find_below(best->values, path.substr(length + 1), count);
  }

  std::vector<NamedValues> given_;
  Sample sample_;
  PartLimits limits_ = PartLimits::of_process();
  std::shared_ptr<ArrayColumns> columns_ = std::make_shared<ArrayColumns>();
  std::map<std::string, std::uint32_t, std::less<>> by_path_;
};

}  // namespace

std::shared_ptr<Source> array_source(std::vector<NamedValues> columns) {
  return std::make_shared<ArraySource>(std::move(columns));
}

}  // namespace colonnade::frame
