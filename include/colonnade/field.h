// Field: the bridge between C++ values and columns. A field knows the layout of one C++ type in memory, how
// to make and destroy its values, and which columns store them; compound types have sub-fields.
//
// make_field<T>(name) builds the field of a type known at compile time, make_field(name,
// "std::vector<float>") that of a type known by name only; both have the same stored form. A field is first
// free (part of a Model), then connected once, either to a sink or to a source, by its owner (Writer, Reader,
// View). Fields are not shared between threads.
//
// Values are handled through void* of the field's type. The layouts of types known by name only:
//
//   arithmetic types, std::string   themselves
//   sets and maps                   like std::vector<T>, of std::pair<K, V> for maps; is_native() is false
//   the other standard types        themselves (with GCC's standard library)
//   classes without C++ type        their members one after the other, naturally aligned
#ifndef COLONNADE_FIELD_H
#define COLONNADE_FIELD_H

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "colonnade/column_type.h"
#include "colonnade/descriptor.h"

namespace colonnade {

namespace page {
class ColumnReader;
class ColumnWriter;
class PageSink;
class PageSource;
}  // namespace page

// The position of an element of a field within a cluster.
struct ClusterIndex {
  std::size_t cluster = 0;
  std::uint64_t index = 0;
};

// The kind of a field, for code that walks over schemas.
enum class FieldKind : std::uint8_t {
  scalar,       // one column, one element per value
  string,       // an index and a character column
  collection,   // an index column, one sub-field `_0`
  nullable,     // the same with zero or one item
  array,        // fixed size, one sub-field `_0`
  bitset,       // fixed size, one bit column
  record,       // members as sub-fields
  variant,      // a switch column, the alternatives as sub-fields
  wrapper,      // enum, atomic: one sub-field `_0` with the same value
  cardinality,  // lengths of a collection, an index column
};

class Field {
 public:
  virtual ~Field();
  Field(const Field&) = delete;
  Field& operator=(const Field&) = delete;

  const std::string& name() const noexcept { return name_; }
  const std::string& type_name() const noexcept { return type_name_; }
  const std::string& type_alias() const noexcept { return type_alias_; }
  const std::string& description() const noexcept { return description_; }
  std::uint32_t type_version() const noexcept { return type_version_; }
  void set_name(std::string name) { name_ = std::move(name); }
  // False if a value is laid out differently from the C++ type of that name: only for sets and maps known by
  // name.
  bool is_native() const noexcept;
  void set_description(std::string text) { description_ = std::move(text); }
  FieldKind kind() const noexcept { return kind_; }
  FieldRole role() const noexcept;
  std::uint64_t array_size() const noexcept { return array_size_; }
  std::size_t value_size() const noexcept { return value_size_; }
  std::size_t alignment() const noexcept { return alignment_; }
  const std::vector<std::unique_ptr<Field>>& children() const noexcept { return children_; }
  Field* child(std::string_view name) const noexcept;
  // The field at a path below this one: "_0.pt" or, through collections of records, "pt". Null if there is no
  // such field.
  Field* find(std::string_view path) noexcept;

  // An unconnected field of the same type, with the same encodings.
  std::unique_ptr<Field> clone(std::string_view name) const;

  // Values. A value lives in value_size() bytes aligned to alignment().
  virtual void construct(void* value) const = 0;
  virtual void destroy(void* value) const noexcept = 0;
  std::shared_ptr<void> make_value() const;
  virtual void print(const void* value, std::string& out) const = 0;  // see to_text()

  // Encodings of the columns: those set by set_encodings() and similar functions, or the defaults.
  std::vector<ColumnEncoding> encodings(bool compressed) const;
  std::size_t column_count() const noexcept { return elements_.size(); }
  ElementType element(std::size_t column) const noexcept { return elements_[column]; }
  // Chooses how the columns are stored, before the field is connected to a sink. Throws ErrorKind::type if a
  // column cannot hold the field's values.
  void set_encodings(std::vector<ColumnEncoding> encodings);
  void set_half_precision();                                  // Real16
  void set_truncated(unsigned bits);                          // Real32Trunc, 10 to 31 bits
  void set_quantized(double min, double max, unsigned bits);  // Real32Quant, 1 to 32 bits

  // ---- For Writer
  void connect(page::PageSink& sink);  // the columns must be described already (see describe())
  // Adds these fields, each followed by all below it (the order that ROOT's merger relies on), to the
  // descriptor; `entries` > 0 makes the columns deferred.
  static void describe(const std::vector<Field*>& top_level, Descriptor& descriptor, bool compressed,
                       std::uint64_t entries);
  virtual void append(const void* value) = 0;
  virtual void append_many(const void* values, std::size_t count);
  // For whole arrays: `count` collections or strings from count + 1 offsets (their items are appended to the
  // sub-field or character column separately), or `count` tags of a variant.
  virtual void append_structure(const std::int64_t* numbers, std::size_t count);
  void commit_cluster();
  page::ColumnWriter& writer(std::size_t column) const { return *writers_[column]; }
  std::uint32_t disk_id() const noexcept { return disk_id_; }

  // ---- For Reader and View

  // Binds to a stored field, converting if the types are compatible; otherwise throws ErrorKind::type.
  void connect(page::PageSource& source, std::uint32_t disk_field);
  virtual void read(ClusterIndex at, void* value) = 0;
  virtual void read_many(ClusterIndex first, std::size_t count, void* values);
  page::ColumnReader& reader(std::size_t column) const { return *readers_[column]; }
  // The number of values that a cluster holds for this field: an upper bound for the size of a collection.
  virtual std::uint64_t stored_values(std::size_t cluster) const;

 protected:
  struct Shape {
    FieldKind kind = FieldKind::scalar;
    std::string type_name;
    std::string type_alias;
    std::size_t value_size = 0;
    std::size_t alignment = 1;
    std::uint64_t array_size = 0;
    std::uint32_t type_version = 0;
    std::vector<ElementType> elements;
    bool native = true;
  };
  Field(std::string name, Shape shape);
  void add_child(std::unique_ptr<Field> child);

  virtual std::unique_ptr<Field> copy() const = 0;  // without encodings or description
  virtual std::vector<ColumnEncoding> default_encodings(bool compressed) const = 0;
  virtual void bind(page::PageSource& source, std::uint32_t disk_field) = 0;
  virtual void start_cluster() {}  // resets counters that are relative to a cluster
  void open_columns(page::PageSource& source, std::uint32_t disk_field);
  [[noreturn]] void refuse(page::PageSource& source, std::uint32_t disk_field,
                           std::string_view why = {}) const;

  std::vector<page::ColumnWriter*> writers_;
  std::vector<std::unique_ptr<page::ColumnReader>> readers_;

 private:
  void describe(std::uint32_t parent, Descriptor& descriptor, bool compressed, std::uint64_t entries);
  void describe_columns(Descriptor& descriptor, bool compressed, std::uint64_t entries) const;

  std::string name_;
  FieldKind kind_;
  std::string type_name_;
  std::string type_alias_;
  std::string description_;
  std::uint32_t type_version_ = 0;
  std::uint64_t array_size_ = 0;
  std::size_t value_size_ = 0;
  std::size_t alignment_ = 1;
  std::vector<ElementType> elements_;
  std::vector<ColumnEncoding> chosen_;
  std::vector<std::unique_ptr<Field>> children_;
  std::uint32_t disk_id_ = invalid_id;
  bool native_ = true;
};

// The field of a type known by name. Throws ErrorKind::type, with the position, if the name is not a storable
// type.
std::unique_ptr<Field> make_field(std::string_view name, std::string_view type_name);
// The field that reads `disk_field` of a data set as it is stored; classes become records by their members.
// Sub-fields that this version cannot read are left out; if none are left, throws ErrorKind::unsupported with
// the reason.
std::unique_ptr<Field> make_field(const Descriptor& descriptor, std::uint32_t disk_field);
// A record without type name ("untyped record"), and an untyped collection of such records.
std::unique_ptr<Field> make_record_field(std::string_view name, std::vector<std::unique_ptr<Field>> members);
std::unique_ptr<Field> make_collection_field(std::string_view name, std::unique_ptr<Field> item);
// A record with a class name, and a collection of such records as one of the standard families:
// "std::vector", "std::optional".
std::unique_ptr<Field> make_class_field(std::string_view name, std::string_view class_name,
                                        std::vector<std::unique_ptr<Field>> members);
std::unique_ptr<Field> make_collection_field(std::string_view name, std::string_view family,
                                             std::unique_ptr<Field> item);

// The value of a field as JSON-like text: numbers, "text", [items], {"member": value}; null for an empty
// optional and a variant without value; pairs and tuples as [a, b], maps as lists of pairs, bitsets as
// "0101", highest bit first.
std::string to_text(const Field& field, const void* value);

// ---- Building blocks of make_field<T>, see field_types.h
namespace detail {

struct ValueOps {
  std::size_t size = 0;
  std::size_t alignment = 1;
  void (*construct)(void*) = nullptr;
  void (*destroy)(void*) noexcept = nullptr;
};

// Functions left null in the Ops below: the value has the documented layout of a type known by name.

// Access to the items of a container. Contiguous containers expose their memory; the others are iterated and
// inserted into.
class CollectionProxy {
 public:
  virtual ~CollectionProxy() = default;
  virtual ValueOps ops() const = 0;
  virtual bool is_native() const noexcept { return true; }
  virtual void construct(void* container) const { ops().construct(container); }
  virtual void destroy(void* container) const noexcept { ops().destroy(container); }
  virtual std::size_t size(const void* container) const = 0;
  virtual bool is_contiguous() const noexcept { return true; }
  virtual const void* data(const void*) const { return nullptr; }
  virtual void* resize(void*, std::size_t) const { return nullptr; }
  virtual void for_each(const void*, const std::function<void(const void*)>&) const {}
  virtual void clear(void*) const {}
  virtual void insert(void*, void* /*item, moved from*/) const {}
};

struct VariantOps {
  ValueOps value;
  int (*active)(const void*) = nullptr;            // -1: no value
  void* (*emplace)(void*, std::size_t) = nullptr;  // makes alternative k current, default constructed
  const void* (*get)(const void*, std::size_t) = nullptr;
  void (*reset)(void*) = nullptr;  // no value
};

struct BitsetOps {
  ValueOps value;
  bool (*get)(const void*, std::size_t) = nullptr;
  void (*set)(void*, std::size_t, bool) = nullptr;
};

// enum and atomic: the inner value is moved in and out through a temporary of the inner type.
struct WrapperOps {
  ValueOps value;
  void (*load)(const void* outer, void* inner) = nullptr;
  void (*store)(void* outer, const void* inner) = nullptr;
};

struct Member {
  std::size_t offset = 0;
  std::unique_ptr<Field> field;
};

// A read rule: values of `source` are read first, then applied to the object.
struct ReadRuleHook {
  std::unique_ptr<Field> source;
  void (*apply)(const void* source, void* target) = nullptr;
  std::string source_class;  // another stored class name that is accepted, or empty
  std::uint32_t min_version = 0;
  std::uint32_t max_version = 0xffffffffu;
};

std::unique_ptr<Field> scalar_field(std::string name, ElementType element, std::string type_name);
std::unique_ptr<Field> double32_field(std::string name);
std::unique_ptr<Field> string_field(std::string name);
// `family`: "std::vector", "ROOT::VecOps::RVec", "std::set", ..., "std::optional", "std::unique_ptr".
std::unique_ptr<Field> collection_field(std::string name, std::string_view family,
                                        std::shared_ptr<const CollectionProxy> proxy,
                                        std::unique_ptr<Field> item);
std::unique_ptr<Field> array_field(std::string name, std::size_t size, std::unique_ptr<Field> item);
std::unique_ptr<Field> bitset_field(std::string name, std::size_t size, BitsetOps ops);
// family "std::pair", "std::tuple", "" (untyped), or "class" with `class_name`.
std::unique_ptr<Field> record_field(std::string name, std::string_view family, std::string class_name,
                                    ValueOps ops, std::vector<Member> members, std::uint32_t version,
                                    std::shared_ptr<const std::function<ReadRuleHook()>> rule);
std::unique_ptr<Field> variant_field(std::string name, VariantOps ops,
                                     std::vector<std::unique_ptr<Field>> alternatives);
std::unique_ptr<Field> enum_field(std::string name, std::string type_name, WrapperOps ops,
                                  std::unique_ptr<Field> inner);
std::unique_ptr<Field> atomic_field(std::string name, WrapperOps ops, std::unique_ptr<Field> inner);
std::unique_ptr<Field> cardinality_field(std::string name, ElementType element);

}  // namespace detail
}  // namespace colonnade

#endif
