// Common parts of all fields: tree, columns, encodings, connections; see colonnade/field.h.
#include "colonnade/field.h"

#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <utility>

#include "codec/column_codec.h"
#include "field/field_tools.h"
#include "page/column_reader.h"
#include "page/page_sink.h"
#include "page/page_source.h"

namespace colonnade {

Field::Field(std::string name, Shape shape)
    : name_(std::move(name)),
      kind_(shape.kind),
      type_name_(std::move(shape.type_name)),
      type_alias_(std::move(shape.type_alias)),
      type_version_(shape.type_version),
      array_size_(shape.array_size),
      value_size_(shape.value_size),
      alignment_(shape.alignment),
      elements_(std::move(shape.elements)),
      native_(shape.native) {
  if (value_size_ <= field::max_value_bytes) return;
  throw Error(ErrorKind::resource,
              fmt::format("a value of {} bytes is larger than {} MiB, the most that one may have",
                          value_size_, field::max_value_bytes >> 20),
              "store it as a collection", {.field = name_});
}

Field::~Field() = default;

FieldRole Field::role() const noexcept {
  switch (kind_) {
    case FieldKind::collection:
    case FieldKind::nullable:
      return FieldRole::collection;
    case FieldKind::record:
      return FieldRole::record;
    case FieldKind::variant:
      return FieldRole::variant;
    default:
      return FieldRole::leaf;
  }
}

bool Field::is_native() const noexcept {
  return native_ &&
         std::all_of(children_.begin(), children_.end(), [](const auto& c) { return c->is_native(); });
}

std::string to_text(const Field& field, const void* value) {
  std::string text;
  field.print(value, text);
  return text;
}

void Field::add_child(std::unique_ptr<Field> child) {
  children_.push_back(std::move(child));
}

Field* Field::child(std::string_view name) const noexcept {
  for (const auto& child : children_)
    if (child->name_ == name) return child.get();
  return nullptr;
}

Field* Field::find(std::string_view path) noexcept {
  if (path.empty()) return this;
  const std::size_t dot = path.find('.');
  const std::string_view head = path.substr(0, dot);
  const std::string_view tail = dot == std::string_view::npos ? std::string_view() : path.substr(dot + 1);
  if (Field* direct = child(head)) return direct->find(tail);
  const bool passes_through = kind_ == FieldKind::collection || kind_ == FieldKind::nullable ||
                              kind_ == FieldKind::array || kind_ == FieldKind::wrapper;
  return passes_through && !children_.empty() ? children_.front()->find(path) : nullptr;
}

std::unique_ptr<Field> Field::clone(std::string_view name) const {
  std::unique_ptr<Field> result = copy();
  result->name_ = name;
  result->description_ = description_;
  result->chosen_ = chosen_;
  return result;
}

std::shared_ptr<void> Field::make_value() const {
  // The value may outlive its field, so its destructor works on a field of its own.
  std::shared_ptr<Field> keeper = copy();
  const std::align_val_t alignment{std::max(alignment_, alignof(std::max_align_t))};
  void* memory = ::operator new(std::max<std::size_t>(value_size_, 1), alignment);
  try {
    construct(memory);
  } catch (...) {
    ::operator delete(memory, alignment);
    throw;
  }
  return {memory, [keeper = std::move(keeper), alignment](void* value) {
            keeper->destroy(value);
            ::operator delete(value, alignment);
          }};
}

std::vector<ColumnEncoding> Field::encodings(bool compressed) const {
  return chosen_.empty() ? default_encodings(compressed) : chosen_;
}

void Field::set_encodings(std::vector<ColumnEncoding> encodings) {
  if (!writers_.empty())
    throw Error(ErrorKind::usage, "the field is connected to a writer, its columns cannot change any more",
                "choose the encodings in the model", {.field = name_});
  if (encodings.size() != elements_.size())
    throw Error(ErrorKind::type,
                fmt::format("{} encodings are given for the {} columns of type {}", encodings.size(),
                            elements_.size(), type_name_),
                "", {.field = name_});
  for (std::size_t i = 0; i < encodings.size(); ++i) {
    if (!is_valid(encodings[i]))
      throw Error(ErrorKind::type,
                  fmt::format("{} bits and the range [{}, {}] are not allowed for {}", encodings[i].bits,
                              encodings[i].min, encodings[i].max, colonnade::name_of(encodings[i].type)),
                  "", {.field = name_});
    if (!codec::can_encode(elements_[i], encodings[i].type))
      throw Error(ErrorKind::type,
                  fmt::format("a column of type {} cannot store {}", colonnade::name_of(encodings[i].type),
                              type_name_),
                  "", {.field = name_});
  }
  chosen_ = std::move(encodings);
}

void Field::set_half_precision() {
  set_encodings({default_encoding(ColumnType::real16)});
}

void Field::set_truncated(unsigned bits) {
  set_encodings({{.type = ColumnType::real32_trunc, .bits = static_cast<std::uint16_t>(bits)}});
}

void Field::set_quantized(double min, double max, unsigned bits) {
  set_encodings(
      {{.type = ColumnType::real32_quant, .bits = static_cast<std::uint16_t>(bits), .min = min, .max = max}});
}

void Field::describe(const std::vector<Field*>& top_level, Descriptor& descriptor, bool compressed,
                     std::uint64_t entries) {
  for (Field* field : top_level) field->describe(invalid_id, descriptor, compressed, entries);
}

void Field::describe(std::uint32_t parent, Descriptor& descriptor, bool compressed, std::uint64_t entries) {
  FieldDescriptor d;
  d.id = static_cast<std::uint32_t>(descriptor.fields.size());
  d.parent = parent == invalid_id ? d.id : parent;
  d.type_version = type_version_;
  d.role = role();
  d.raw_role = static_cast<std::uint16_t>(d.role);
  d.name = name_;
  d.type_name = type_name_;
  d.type_alias = type_alias_;
  d.description = description_;
  d.array_size = array_size_;
  disk_id_ = d.id;
  if (parent != invalid_id) descriptor.fields[parent].children.push_back(d.id);
  descriptor.fields.push_back(std::move(d));
  describe_columns(descriptor, compressed, entries);
  for (const auto& child : children_) child->describe(disk_id_, descriptor, compressed, entries);
}

void Field::describe_columns(Descriptor& descriptor, bool compressed, std::uint64_t entries) const {
  const auto all = encodings(compressed);
  if (all.empty()) return;
  auto& group = descriptor.fields[disk_id_].representations.emplace_back();
  for (const ColumnEncoding& encoding : all) {
    ColumnDescriptor c;
    c.id = static_cast<std::uint32_t>(descriptor.columns.size());
    c.field = disk_id_;
    c.raw_type = static_cast<std::uint16_t>(encoding.type);
    c.encoding = encoding;
    c.has_range = encoding.type == ColumnType::real32_quant;
    // Further columns hold the data of collections (the text of strings), which had no data before.
    if (group.empty()) c.first_element = descriptor.elements_before(disk_id_, entries);
    c.deferred = c.first_element > 0;
    group.push_back(c.id);
    descriptor.columns.push_back(c);
  }
}

void Field::connect(page::PageSink& sink) {
  if (!elements_.empty()) {
    const auto& columns = sink.descriptor().fields[disk_id_].representations.front();
    for (std::size_t i = 0; i < elements_.size(); ++i)
      writers_.push_back(&sink.add_column(columns[i], elements_[i]));
  }
  for (const auto& child : children_) child->connect(sink);
}

void Field::append_many(const void* values, std::size_t count) {
  const auto* value = static_cast<const std::byte*>(values);
  for (std::size_t i = 0; i < count; ++i) append(value + i * value_size_);
}

void Field::append_structure(const std::int64_t*, std::size_t) {
  throw Error(ErrorKind::usage, type_name_ + " has neither offsets nor tags", "", {.field = name_});
}

void Field::commit_cluster() {
  start_cluster();
  for (const auto& child : children_) child->commit_cluster();
}

void Field::connect(page::PageSource& source, std::uint32_t disk_field) {
  const FieldDescriptor& disk = source.descriptor().fields[disk_field];
  if (!disk.unreadable.empty())
    throw Error(ErrorKind::unsupported,
                fmt::format("the stored type {} cannot be read: {}", disk.type_name, disk.unreadable), "",
                {.uri = source.uri(),
                 .data_set = source.data_set(),
                 .field = source.descriptor().path_of(disk_field)});
  disk_id_ = disk_field;
  bind(source, disk_field);
}

void Field::read_many(ClusterIndex first, std::size_t count, void* values) {
  auto* value = static_cast<std::byte*>(values);
  for (std::size_t i = 0; i < count; ++i) read({first.cluster, first.index + i}, value + i * value_size_);
}

std::uint64_t Field::stored_values(std::size_t cluster) const {
  if (!readers_.empty()) {
    const std::uint64_t elements = readers_[0]->elements(cluster);
    return array_size_ > 0 ? elements / array_size_ : elements;
  }
  for (const auto& child : children_)
    if (child->disk_id_ != invalid_id) return child->stored_values(cluster);
  // An item without members takes no storage; the limit only keeps a damaged count from exhausting the
  // memory.
  return std::uint64_t{1} << 24;
}

void Field::open_columns(page::PageSource& source, std::uint32_t disk_field) {
  const Descriptor& descriptor = source.descriptor();
  const auto& groups = descriptor.fields[disk_field].representations;
  if (groups.empty() || groups.front().size() != elements_.size()) refuse(source, disk_field);
  for (std::size_t i = 0; i < elements_.size(); ++i) {
    std::vector<std::uint32_t> columns;
    for (const auto& group : groups) {
      if (!codec::can_decode(descriptor.columns[group[i]].encoding.type, elements_[i]))
        refuse(source, disk_field);
      columns.push_back(group[i]);
    }
    readers_.push_back(std::make_unique<page::ColumnReader>(source, std::move(columns), elements_[i]));
  }
}

void Field::refuse(page::PageSource& source, std::uint32_t disk_field, std::string_view why) const {
  const FieldDescriptor& disk = source.descriptor().fields[disk_field];
  throw Error(
      ErrorKind::type,
      fmt::format("{} cannot be read from the stored type {}{}{}{}",
                  type_name_.empty() ? "an untyped record or collection" : type_name_,
                  disk.type_name.empty() ? "(untyped)" : disk.type_name, why.empty() ? "" : " (", why,
                  why.empty() ? "" : ")"),
      "ask for the stored type or one that it converts to, see docs/schema-evolution.md",
      {.uri = source.uri(), .data_set = source.data_set(), .field = source.descriptor().path_of(disk_field)});
}

namespace field {

std::uint32_t unwrap(const Descriptor& descriptor, std::uint32_t id) {
  for (;;) {
    const FieldDescriptor& f = descriptor.fields[id];
    const bool wraps = f.role == FieldRole::leaf && f.array_size == 0 && f.representations.empty() &&
                       f.children.size() == 1 && descriptor.fields[f.children[0]].name == "_0";
    if (!wraps) return id;
    id = f.children[0];
  }
}

std::uint64_t first_part(std::uint64_t index, std::uint64_t parts) {
  std::uint64_t first = 0;
  if (__builtin_mul_overflow(index, parts, &first) || first + parts < first)
    throw Error(ErrorKind::format, fmt::format("value {} of {} parts each cannot exist", index, parts));
  return first;
}

std::string_view family_of(std::string_view type_name) {
  return type_name.substr(0, type_name.find('<'));
}

std::string hidden_layout(const Field& field) {
  std::string layout;
  for (const auto& child : field.children()) {
    if (field.kind() == FieldKind::wrapper) layout += child->type_name() + ';';
    layout += hidden_layout(*child);
  }
  return layout;
}

void print_quoted(std::string_view text, std::string& out) {
  out += '"';
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out += fmt::format("\\u{:04x}", static_cast<unsigned char>(c));
    } else {
      out += c;
    }
  }
  out += '"';
}

}  // namespace field
}  // namespace colonnade
