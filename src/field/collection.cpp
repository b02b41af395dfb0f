// Collections: vectors, RVec, sets, maps, optional, unique_ptr and untyped collections. An index column has
// the ends of the collections (counted from the start of the cluster), sub-field `_0` the items. Also
// fixed-size arrays.
#include <fmt/format.h>

#include <array>
#include <limits>
#include <new>

#include "base/memory_limit.h"
#include "field/field_tools.h"
#include "page/column_reader.h"
#include "page/page_sink.h"
#include "page/page_source.h"

namespace colonnade::field {
namespace {

using colonnade::detail::CollectionProxy;

enum class Family { sequence, unique_set, multi_set, unique_map, multi_map, nullable };

Family family_kind(std::string_view family) {
  if (family == "std::optional" || family == "std::unique_ptr") return Family::nullable;
  if (family == "std::set" || family == "std::unordered_set") return Family::unique_set;
  if (family == "std::multiset" || family == "std::unordered_multiset") return Family::multi_set;
  if (family == "std::map" || family == "std::unordered_map") return Family::unique_map;
  if (family == "std::multimap" || family == "std::unordered_multimap") return Family::multi_map;
  return Family::sequence;
}

// Whether a container in memory can hold a stored collection: it must be able to hold every sequence of the
// stored type, so containers of unique items accept only such (docs/schema-evolution.md has the table).
bool takes(Family memory, Family disk) {
  switch (memory) {
    case Family::sequence:
      return true;
    case Family::multi_set:
    case Family::multi_map:
      return true;
    case Family::unique_set:
      return disk == Family::unique_set || disk == Family::unique_map;
    case Family::unique_map:
      return disk == Family::unique_map;
    case Family::nullable:
      return disk == Family::nullable;
  }
  return false;
}

// "std::map<K,V>" from an item of type "std::pair<K,V>", "std::vector<T>" from "T".
std::string compose(std::string_view family, const std::string& item) {
  if (family.empty() || item.empty()) return {};
  const Family kind = family_kind(family);
  constexpr std::string_view pair = "std::pair";
  const bool is_map = kind == Family::unique_map || kind == Family::multi_map;
  if (is_map && !item.starts_with(pair))
    throw Error(ErrorKind::schema, fmt::format("the items of a {} must be pairs, not {}", family, item));
  if (is_map) return std::string(family) + item.substr(pair.size());
  return fmt::format("{}<{}>", family, item);
}

// A temporary item, for containers that do not expose their memory.
class Item {
 public:
  explicit Item(const Field& field)
      : field_(field),
        memory_(::operator new(std::max<std::size_t>(field.value_size(), 1),
                               std::align_val_t(field.alignment()))) {
    try {
      field.construct(memory_);
    } catch (...) {
      release();
      throw;
    }
  }
  ~Item() {
    field_.destroy(memory_);
    release();
  }
  Item(const Item&) = delete;
  Item& operator=(const Item&) = delete;
  void* get() const noexcept { return memory_; }

 private:
  void release() noexcept { ::operator delete(memory_, std::align_val_t(field_.alignment())); }
  const Field& field_;
  void* memory_;
};

std::size_t array_bytes(const Field& item, std::size_t size) {
  if (item.value_size() > 0 && size > max_value_bytes / item.value_size())
    throw Error(
        ErrorKind::resource,
        fmt::format("an array of {} items of {} bytes is larger than {} MiB, the most that a value may have",
                    size, item.value_size(), max_value_bytes >> 20),
        "store it as a collection");
  return item.value_size() * size;
}

class CollectionField final : public Field {
 public:
  CollectionField(std::string name, std::string_view family, std::shared_ptr<const CollectionProxy> proxy,
                  std::unique_ptr<Field> item)
      : Field(std::move(name),
              {.kind = family_kind(family) == Family::nullable ? FieldKind::nullable : FieldKind::collection,
               .type_name = compose(family, item->type_name()),
               .type_alias = item->type_alias().empty() ? std::string() : compose(family, item->type_alias()),
               .value_size = proxy->ops().size,
               .alignment = proxy->ops().alignment,
               .elements = {ElementType::index},
               .native = proxy->is_native()}),
        family_(family),
        proxy_(std::move(proxy)) {
    item->set_name("_0");
    add_child(std::move(item));
    item_ = children().front().get();
  }

  void construct(void* value) const override { proxy_->construct(value); }
  void destroy(void* value) const noexcept override { proxy_->destroy(value); }

  void append(const void* value) override {
    if (proxy_->is_contiguous()) {
      const std::size_t size = proxy_->size(value);
      if (size > 0) item_->append_many(proxy_->data(value), size);
      end_ += size;
    } else {
      proxy_->for_each(value, [this](const void* item) {
        item_->append(item);
        ++end_;
      });
    }
    writers_[0]->append(end_);
  }

  void append_structure(const std::int64_t* offsets, std::size_t count) override {
    writers_[0]->append_computed(
        count, [offsets, shift = end_ - static_cast<std::uint64_t>(offsets[0])](std::size_t i) {
          return static_cast<std::uint64_t>(offsets[i + 1]) + shift;
        });
    end_ += static_cast<std::uint64_t>(offsets[count] - offsets[0]);
  }

  void print(const void* value, std::string& out) const override {
    const bool nullable = kind() == FieldKind::nullable;
    if (nullable && proxy_->size(value) == 0) {
      out += "null";
      return;
    }
    if (!nullable) out += '[';
    bool first = true;
    const auto one = [&](const void* item) {
      if (!first) out += ", ";
      first = false;
      item_->print(item, out);
    };
    if (proxy_->is_contiguous()) {
      const auto* items = static_cast<const std::byte*>(proxy_->data(value));
      for (std::size_t i = 0; i < proxy_->size(value); ++i) one(items + i * item_->value_size());
    } else {
      proxy_->for_each(value, one);
    }
    if (!nullable) out += ']';
  }

  void read(ClusterIndex at, void* value) override {
    const page::ColumnReader::Range range = locate(at);
    const std::uint64_t size = range.end - range.begin;
    if (item_->value_size() > 0 && size > machine_memory() / item_->value_size())
      throw Error(ErrorKind::resource,
                  fmt::format("a collection of {} items of {} bytes does not fit in memory", size,
                              item_->value_size()),
                  "", {.field = name(), .cluster = at.cluster});
    if (proxy_->is_contiguous()) {
      void* items = proxy_->resize(value, size);
      if (size > 0) item_->read_many({at.cluster, range.begin}, size, items);
      return;
    }
    proxy_->clear(value);
    if (size == 0) return;
    if (item_->kind() == FieldKind::scalar) {
      // Every read overwrites it completely, so one item suffices.
      const Item item(*item_);
      for (std::uint64_t i = range.begin; i < range.end; ++i) insert(at.cluster, i, item, value);
    } else {
      for (std::uint64_t i = range.begin; i < range.end; ++i) insert(at.cluster, i, Item(*item_), value);
    }
    if (proxy_->size(value) == size) return;
    throw Error(ErrorKind::conversion,
                fmt::format("{} different items became {} as {}", size, proxy_->size(value), type_name()),
                "read it with the type that it was written with, or as a std::vector",
                {.field = name(), .cluster = at.cluster});
  }

 protected:
  std::unique_ptr<Field> copy() const override {
    return std::make_unique<CollectionField>(name(), family_, proxy_, item_->clone("_0"));
  }
  std::vector<ColumnEncoding> default_encodings(bool compressed) const override {
    return {default_encoding(compressed ? ColumnType::split_index64 : ColumnType::index64)};
  }
  std::uint64_t stored_values(std::size_t cluster) const override {
    return fixed_ > 0 ? item_->stored_values(cluster) / fixed_ : readers_[0]->elements(cluster);
  }
  void start_cluster() override { end_ = 0; }

  void bind(page::PageSource& source, std::uint32_t disk_field) override {
    const Descriptor& descriptor = source.descriptor();
    const std::uint32_t stored = unwrap(descriptor, disk_field);
    const FieldDescriptor& disk = descriptor.fields[stored];
    const Family memory = family_kind(family_);
    const bool stored_as_collection = disk.role == FieldRole::collection && disk.children.size() == 1;
    const bool stored_as_nullable = family_kind(family_of(disk.type_name)) == Family::nullable &&
                                    !(memory == Family::nullable && takes_whole(descriptor, disk));
    if (stored_as_collection && (memory != Family::nullable || stored_as_nullable)) {
      if (!takes(memory, family_kind(family_of(disk.type_name)))) refuse(source, disk_field);
      open_columns(source, stored);
      item_->connect(source, disk.children.front());
      return;
    }
    const bool takes_arrays =
        memory == Family::sequence || memory == Family::multi_set || memory == Family::multi_map;
    if (takes_arrays && disk.array_size > 0 && disk.children.size() == 1) {
      array_bytes(*item_, disk.array_size);
      fixed_ = disk.array_size;
      item_->connect(source, disk.children.front());
      return;
    }
    if (memory != Family::nullable) refuse(source, disk_field);
    // T where an optional<T> is requested: always one item.
    fixed_ = 1;
    item_->connect(source, disk_field);
  }

 private:
  // An optional list takes an optional value as the list that it makes, which is always there.
  bool takes_whole(const Descriptor& descriptor, const FieldDescriptor& nullable) const {
    const FieldDescriptor& item = descriptor.fields[unwrap(descriptor, nullable.children.front())];
    return item_->kind() == FieldKind::collection && item.role != FieldRole::collection &&
           item.array_size == 0;
  }

  void insert(std::size_t cluster, std::uint64_t index, const Item& item, void* container) {
    item_->read({cluster, index}, item.get());
    proxy_->insert(container, item.get());
  }
  page::ColumnReader::Range locate(ClusterIndex at) {
    if (fixed_ > 0) {
      const std::uint64_t begin = first_part(at.index, fixed_);
      return {begin, begin + fixed_};
    }
    const page::ColumnReader::Range range = readers_[0]->collection(at.cluster, at.index);
    if (at.cluster != limit_cluster_) {
      limit_ = item_->stored_values(at.cluster);
      limit_cluster_ = at.cluster;
    }
    if (range.end > limit_)
      throw Error(
          ErrorKind::format,
          fmt::format("collection {} ends at item {}, but the cluster has {}", at.index, range.end, limit_),
          "", {.field = name(), .cluster = at.cluster});
    if (kind() == FieldKind::nullable && range.end - range.begin > 1)
      throw Error(
          ErrorKind::format,
          fmt::format("an optional value has {} items, but at most one is possible", range.end - range.begin),
          "", {.field = name(), .cluster = at.cluster});
    return range;
  }

  std::string family_;
  std::shared_ptr<const CollectionProxy> proxy_;
  Field* item_ = nullptr;
  std::uint64_t end_ = 0;    // writing: items in this cluster so far
  std::uint64_t fixed_ = 0;  // reading: items per value if the stored type is not a collection
  std::uint64_t limit_ = 0;  // reading: items stored in limit_cluster_
  std::size_t limit_cluster_ = static_cast<std::size_t>(-1);
};

class ArrayField final : public Field {
 public:
  ArrayField(std::string name, std::size_t size, std::unique_ptr<Field> item)
      : Field(std::move(name),
              {.kind = FieldKind::array,
               .type_name = fmt::format("std::array<{},{}>", item->type_name(), size),
               .type_alias = item->type_alias().empty()
                                 ? std::string()
                                 : fmt::format("std::array<{},{}>", item->type_alias(), size),
               .value_size = array_bytes(*item, size),
               .alignment = item->alignment(),
               .array_size = size}) {
    item->set_name("_0");
    add_child(std::move(item));
    item_ = children().front().get();
  }

  void construct(void* value) const override {
    for (std::size_t i = 0; i < array_size(); ++i) {
      try {
        item_->construct(at(value, i));
      } catch (...) {
        while (i > 0) item_->destroy(at(value, --i));
        throw;
      }
    }
  }
  void destroy(void* value) const noexcept override {
    for (std::size_t i = array_size(); i > 0; --i) item_->destroy(at(value, i - 1));
  }
  void print(const void* value, std::string& out) const override {
    for (std::size_t i = 0; i < array_size(); ++i) {
      out += i == 0 ? "[" : ", ";
      item_->print(static_cast<const std::byte*>(value) + i * item_->value_size(), out);
    }
    out += ']';
  }
  void append(const void* value) override { item_->append_many(value, array_size()); }
  void append_many(const void* values, std::size_t count) override {
    item_->append_many(values, count * array_size());
  }
  void read(ClusterIndex at, void* value) override {
    item_->read_many({at.cluster, first_part(at.index, array_size())}, array_size(), value);
  }
  void read_many(ClusterIndex first, std::size_t count, void* values) override {
    item_->read_many({first.cluster, first_part(first.index, array_size())}, count * array_size(), values);
  }

 protected:
  std::unique_ptr<Field> copy() const override {
    return std::make_unique<ArrayField>(name(), array_size(), item_->clone("_0"));
  }
  std::vector<ColumnEncoding> default_encodings(bool) const override { return {}; }
  std::uint64_t stored_values(std::size_t cluster) const override {
    return item_->stored_values(cluster) / array_size();
  }
  void bind(page::PageSource& source, std::uint32_t disk_field) override {
    const std::uint32_t stored = unwrap(source.descriptor(), disk_field);
    const FieldDescriptor& disk = source.descriptor().fields[stored];
    if (disk.array_size != array_size() || disk.children.size() != 1)
      refuse(source, disk_field, disk.array_size > 0 ? "the sizes differ" : "");
    item_->connect(source, disk.children.front());
  }

 private:
  void* at(void* value, std::size_t i) const {
    return static_cast<std::byte*>(value) + i * item_->value_size();
  }
  Field* item_ = nullptr;
};

}  // namespace
}  // namespace colonnade::field

namespace colonnade::detail {

std::unique_ptr<Field> collection_field(std::string name, std::string_view family,
                                        std::shared_ptr<const CollectionProxy> proxy,
                                        std::unique_ptr<Field> item) {
  return std::make_unique<field::CollectionField>(std::move(name), family, std::move(proxy), std::move(item));
}

std::unique_ptr<Field> array_field(std::string name, std::size_t size, std::unique_ptr<Field> item) {
  if (size == 0)
    throw Error(ErrorKind::schema, "an array of size zero cannot be stored", "", {.field = name});
  return std::make_unique<field::ArrayField>(std::move(name), size, std::move(item));
}

}  // namespace colonnade::detail
