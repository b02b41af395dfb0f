// Lets a test speak to ROOT about any RNTuple without knowing its schema at compile time: turns what ROOT
// read into exact JSON, describes a data set as ROOT's descriptor sees it, and builds values from a small
// self-describing byte stream so that Python can fill any field. Loaded into ROOT's interpreter by
// root_bridge.py; needs ROOT 6.40.
#ifndef COLONNADE_TESTS_ROOT_BRIDGE_H
#define COLONNADE_TESTS_ROOT_BRIDGE_H

#include <TClass.h>
#include <TCollectionProxyInfo.h>
#include <TError.h>
#include <TGenericClassInfo.h>
#include <TIsAProxy.h>
#include <TVirtualCollectionProxy.h>

#include <ROOT/RColumnElementBase.hxx>
#include <ROOT/RField.hxx>
#include <ROOT/RFieldVisitor.hxx>
#include <ROOT/RMiniFile.hxx>
#include <ROOT/RNTupleAttrReading.hxx>
#include <ROOT/RNTupleAttrWriting.hxx>
#include <ROOT/RNTupleMerger.hxx>
#include <ROOT/RNTupleModel.hxx>
#include <ROOT/RNTupleReader.hxx>
#include <ROOT/RNTupleView.hxx>
#include <ROOT/RNTupleWriteOptions.hxx>
#include <ROOT/RNTupleWriter.hxx>
#include <ROOT/RPageStorageFile.hxx>
#include <bitset>
#include <charconv>
#include <cmath>
#include <cstring>
#include <map>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace colonnade_test {

// ROOT ends the process when one of its own checks fails; here that becomes an exception like the others.
inline void throw_on_fatal() {
  SetErrorHandler([](int level, Bool_t, const char* where, const char* what) {
    if (level >= kFatal) throw std::runtime_error(std::string("fatal check in ROOT: ") + what + " " + where);
  });
}

// ---- Doors to members that ROOT keeps private

// An explicit instantiation may name a private member; the friend function that it defines returns the
// pointer.
template <typename Tag, auto Member>
struct Door {
  friend constexpr auto open(Tag) { return Member; }
};
#define COLONNADE_TEST_DOOR(Name, Member) \
  struct Name {                           \
    friend constexpr auto open(Name);     \
  };                                      \
  template struct Door<Name, Member>;

COLONNADE_TEST_DOOR(VariantTag, &ROOT::RVariantField::fTagOffset)
COLONNADE_TEST_DOOR(VariantValue, &ROOT::RVariantField::fVariantOffset)
COLONNADE_TEST_DOOR(VariantGetTag, &ROOT::RVariantField::GetTag)
COLONNADE_TEST_DOOR(VariantSetTag, &ROOT::RVariantField::SetTag)
COLONNADE_TEST_DOOR(VectorResize, &ROOT::RVectorField::ResizeVector)
COLONNADE_TEST_DOOR(RVecResize, &ROOT::RRVecField::ResizeRVec)
COLONNADE_TEST_DOOR(ProxiedProxy, &ROOT::RProxiedCollectionField::fProxy)
COLONNADE_TEST_DOOR(BitsetSize, &ROOT::RBitsetField::fN)

// Protected statics of RFieldBase, reached the ordinary way.
struct FieldAccess : ROOT::RFieldBase {
  static void construct(const ROOT::RFieldBase& field, void* where) { CallConstructValueOn(field, where); }
  static auto deleter_of(const ROOT::RFieldBase& field) { return GetDeleterOf(field); }
  static void destroy(const ROOT::RFieldBase& field, void* where) { (*GetDeleterOf(field))(where, true); }
  static void* create(const ROOT::RFieldBase& field) {
    return CallCreateObjectRawPtrOn(const_cast<RFieldBase&>(field));
  }
};

// ---- Collections without a compiled dictionary

// ROOT reads sets and maps through a collection proxy, which normally comes from a dictionary library.
// Registering the proxy here, from the interpreter, makes every set and map readable under its own type.
template <typename C>
struct CollectionDictionary {
  static void* make(void* where) { return where ? ::new (where) C : new C; }
  static void* make_array(Long_t n, void*) { return new C[n]; }
  static void remove(void* object) { delete static_cast<C*>(object); }
  static void remove_array(void* object) { delete[] static_cast<C*>(object); }
  static void destruct(void* object) { static_cast<C*>(object)->~C(); }
  static TClass* dictionary() { return info("")->GetClass(); }
  static ::ROOT::TGenericClassInfo* info(const char* name) {
    C* none = nullptr;
    static ::ROOT::TGenericClassInfo instance(name, -2, "root_bridge.h", 1, typeid(C),
                                              ::ROOT::Internal::DefineBehavior(none, none), &dictionary,
                                              new ::TIsAProxy(typeid(C)), 4, sizeof(C), alignof(C));
    return &instance;
  }
  template <template <typename> class Insert>
  static void adopt(const char* name) {
    auto* instance = info(name);
    instance->SetNew(&make);
    instance->SetNewArray(&make_array);
    instance->SetDelete(&remove);
    instance->SetDeleteArray(&remove_array);
    instance->SetDestructor(&destruct);
    instance->AdoptCollectionProxyInfo(
        ::ROOT::Detail::TCollectionProxyInfo::Generate(::ROOT::Detail::TCollectionProxyInfo::Insert<C>()));
    instance->GetClass();
  }
};

// ---- JSON text

inline bool is_utf8(const std::string& text) {
  std::size_t i = 0;
  while (i < text.size()) {
    const unsigned char c = text[i];
    const int extra = c < 0x80                  ? 0
                      : (c >= 0xc2 && c < 0xe0) ? 1
                      : (c >= 0xe0 && c < 0xf0) ? 2
                      : (c >= 0xf0 && c < 0xf5) ? 3
                                                : -1;
    if (extra < 0 || i + extra >= text.size() + (extra == 0)) return false;
    for (int k = 1; k <= extra; ++k)
      if ((static_cast<unsigned char>(text[i + k]) & 0xc0) != 0x80) return false;
    if (c == 0xe0 && static_cast<unsigned char>(text[i + 1]) < 0xa0) return false;
    if (c == 0xed && static_cast<unsigned char>(text[i + 1]) > 0x9f) return false;
    if (c == 0xf0 && static_cast<unsigned char>(text[i + 1]) < 0x90) return false;
    if (c == 0xf4 && static_cast<unsigned char>(text[i + 1]) > 0x8f) return false;
    i += 1 + extra;
  }
  return true;
}

inline void append_hex(std::string& out, unsigned char byte) {
  out += "0123456789abcdef"[byte >> 4];
  out += "0123456789abcdef"[byte & 15];
}

// A JSON string; bytes that are no UTF-8 become {"hex": "..."}.
inline void append_string(std::string& out, const std::string& text) {
  if (!is_utf8(text)) {
    out += "{\"hex\": \"";
    for (unsigned char c : text) append_hex(out, c);
    out += "\"}";
    return;
  }
  out += '"';
  for (unsigned char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += static_cast<char>(c);
    } else if (c < 0x20) {
      out += "\\u00";
      append_hex(out, c);
    } else {
      out += static_cast<char>(c);
    }
  }
  out += '"';
}

// The shortest text that gives the same double; a float is widened first, which is exact.
inline void append_real(std::string& out, double value) {
  if (std::isnan(value)) {
    out += "\"nan\"";
  } else if (std::isinf(value)) {
    out += value < 0 ? "\"-inf\"" : "\"inf\"";
  } else {
    char buffer[40];
    auto end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
    std::string text(buffer, end);
    if (text.find_first_of(".e") == std::string::npos) text += ".0";
    out += text;
  }
}

// ---- Values as JSON

class JsonVisitor : public ROOT::Detail::RFieldVisitor {
 public:
  JsonVisitor(ROOT::RFieldBase::RValue value, std::string& out) : value_(std::move(value)), out_(out) {}

  static void print(const ROOT::RFieldBase::RValue& value, std::string& out) {
    JsonVisitor visitor(value, out);
    value.GetField().AcceptVisitor(visitor);
  }

  void VisitField(const ROOT::RFieldBase& field) final {
    if (auto* variant = dynamic_cast<const ROOT::RVariantField*>(&field)) return print_variant(*variant);
    throw std::runtime_error("no JSON mapping for field " + field.GetQualifiedFieldName() + " of type " +
                             field.GetTypeName());
  }
  void VisitStreamerField(const ROOT::RStreamerField&) final { out_ += "null"; }
  void VisitBoolField(const ROOT::RField<bool>&) final { out_ += get<bool>() ? "true" : "false"; }
  void VisitByteField(const ROOT::RField<std::byte>&) final {
    out_ += std::to_string(int(get<unsigned char>()));
  }
  void VisitCharField(const ROOT::RField<char>&) final { out_ += std::to_string(int(get<signed char>())); }
  void VisitFloatField(const ROOT::RField<float>&) final { append_real(out_, get<float>()); }
  void VisitDoubleField(const ROOT::RField<double>&) final { append_real(out_, get<double>()); }
  void VisitInt8Field(const ROOT::RIntegralField<std::int8_t>&) final { integer<std::int8_t>(); }
  void VisitInt16Field(const ROOT::RIntegralField<std::int16_t>&) final { integer<std::int16_t>(); }
  void VisitInt32Field(const ROOT::RIntegralField<std::int32_t>&) final { integer<std::int32_t>(); }
  void VisitInt64Field(const ROOT::RIntegralField<std::int64_t>&) final { integer<std::int64_t>(); }
  void VisitUInt8Field(const ROOT::RIntegralField<std::uint8_t>&) final { integer<std::uint8_t>(); }
  void VisitUInt16Field(const ROOT::RIntegralField<std::uint16_t>&) final { integer<std::uint16_t>(); }
  void VisitUInt32Field(const ROOT::RIntegralField<std::uint32_t>&) final { integer<std::uint32_t>(); }
  void VisitUInt64Field(const ROOT::RIntegralField<std::uint64_t>&) final { integer<std::uint64_t>(); }
  void VisitStringField(const ROOT::RField<std::string>&) final { append_string(out_, get<std::string>()); }
  void VisitCardinalityField(const ROOT::RCardinalityField& field) final {
    if (field.As32Bit())
      integer<std::uint32_t>();
    else
      integer<std::uint64_t>();
  }

  void VisitEnumField(const ROOT::REnumField& field) final { print(field.SplitValue(value_)[0], out_); }
  void VisitAtomicField(const ROOT::RAtomicField& field) final { print(field.SplitValue(value_)[0], out_); }
  void VisitNullableField(const ROOT::RNullableField& field) final {
    auto inner = field.SplitValue(value_);
    if (inner.empty()) {
      out_ += "null";
      return;
    }
    // An engaged nullable around another nullable is put in a list: null and [null] differ.
    const bool nested = dynamic_cast<const ROOT::RNullableField*>(&inner[0].GetField()) != nullptr;
    if (nested) out_ += '[';
    print(inner[0], out_);
    if (nested) out_ += ']';
  }

  void VisitArrayField(const ROOT::RArrayField& field) final { sequence(field); }
  void VisitArrayAsRVecField(const ROOT::RArrayAsRVecField& field) final { sequence(field); }
  void VisitArrayAsVectorField(const ROOT::RArrayAsVectorField& field) final { sequence(field); }
  void VisitVectorField(const ROOT::RVectorField& field) final { sequence(field); }
  void VisitVectorBoolField(const ROOT::RField<std::vector<bool>>& field) final { sequence(field); }
  void VisitRVecField(const ROOT::RRVecField& field) final { sequence(field); }
  void VisitProxiedCollectionField(const ROOT::RProxiedCollectionField& field) final { sequence(field); }
  void VisitBitsetField(const ROOT::RBitsetField& field) final {
    const auto* words = value_.GetPtr<void>().get();
    const auto* bits = static_cast<const unsigned long*>(words);
    const std::size_t n = field.*open(BitsetSize{});
    out_ += '[';
    for (std::size_t i = 0; i < n; ++i) {
      if (i) out_ += ", ";
      out_ += (bits[i / 64] >> (i % 64)) & 1 ? '1' : '0';
    }
    out_ += ']';
  }

  void VisitClassField(const ROOT::RClassField& field) final { record(field); }
  // In memory ROOT sets two bits that it never stores: "not deleted" and "on the heap".
  void VisitTObjectField(const ROOT::RField<TObject>& field) final {
    auto members = field.SplitValue(value_);
    out_ += "{\"fUniqueID\": ";
    print(members.at(0), out_);
    const auto bits = *static_cast<const std::uint32_t*>(members.at(1).GetPtr<void>().get());
    out_ += ", \"fBits\": " + std::to_string(bits & ~std::uint32_t(0x03000000)) + "}";
  }
  void VisitRecordField(const ROOT::RRecordField& field) final { record(field); }

 private:
  template <typename T>
  const T& get() const {
    return *static_cast<const T*>(value_.GetPtr<void>().get());
  }
  template <typename T>
  void integer() {
    out_ += std::to_string(get<T>());
  }
  void sequence(const ROOT::RFieldBase& field) {
    // A map's item is a pair {_0, _1}; as JSON it is [key, value].
    const bool is_map = dynamic_cast<const ROOT::RMapField*>(&field) != nullptr;
    out_ += '[';
    bool first = true;
    for (auto& item : field.SplitValue(value_)) {
      if (!first) out_ += ", ";
      first = false;
      if (!is_map) {
        print(item, out_);
        continue;
      }
      auto pair = item.GetField().SplitValue(item);
      out_ += '[';
      print(pair.at(0), out_);
      out_ += ", ";
      print(pair.at(1), out_);
      out_ += ']';
    }
    out_ += ']';
  }
  void record(const ROOT::RFieldBase& field) {
    out_ += '{';
    bool first = true;
    for (auto& member : field.SplitValue(value_)) {
      if (!first) out_ += ", ";
      first = false;
      append_string(out_, member.GetField().GetFieldName());
      out_ += ": ";
      print(member, out_);
    }
    out_ += '}';
  }
  void print_variant(const ROOT::RVariantField& field) {
    auto base = value_.GetPtr<void>();
    const int tag = open(VariantGetTag{})(base.get(), field.*open(VariantTag{}));
    out_ += "{\"tag\": " + std::to_string(tag) + ", \"value\": ";
    if (tag == 0) {
      out_ += "null}";
      return;
    }
    auto* item = const_cast<ROOT::RFieldBase*>(field.GetConstSubfields().at(tag - 1));
    std::shared_ptr<void> place(base, static_cast<char*>(base.get()) + field.*open(VariantValue{}));
    print(item->BindValue(place), out_);
    out_ += '}';
  }

  ROOT::RFieldBase::RValue value_;
  std::string& out_;
};

// ---- The descriptor as JSON

class DescriptorPrinter {
 public:
  DescriptorPrinter(const ROOT::RNTupleDescriptor& descriptor, std::string& out)
      : desc_(descriptor), out_(out) {}

  void print() {
    out_ += "\"entries\": " + std::to_string(desc_.GetNEntries());
    out_ += ", \"description\": ";
    append_string(out_, desc_.GetDescription());
    out_ += ", \"fields\": [";
    bool first = true;
    for (const auto& field : desc_.GetTopLevelFields()) {
      separate(first);
      print_field(field);
    }
    out_ += "], \"clusters\": [";
    first = true;
    std::map<std::uint64_t, std::uint64_t> clusters;
    for (const auto& cluster : desc_.GetClusterIterable())
      clusters[cluster.GetFirstEntryIndex()] = cluster.GetNEntries();
    for (auto [start, count] : clusters) {
      separate(first);
      out_ += "[" + std::to_string(start) + ", " + std::to_string(count) + "]";
    }
    out_ += "], \"cluster_groups\": " + std::to_string(desc_.GetNClusterGroups());
    print_extra_types();
    print_attribute_sets();
  }

 private:
  void separate(bool& first) {
    if (!first) out_ += ", ";
    first = false;
  }
  void print_field(const ROOT::RFieldDescriptor& field) {
    static const char* structures[] = {"invalid", "plain",    "collection", "record",
                                       "variant", "streamer", "unknown"};
    out_ += "{\"name\": ";
    append_string(out_, field.GetFieldName());
    out_ += ", \"type\": ";
    append_string(out_, field.GetTypeName());
    if (!field.GetTypeAlias().empty()) {
      out_ += ", \"alias\": ";
      append_string(out_, field.GetTypeAlias());
    }
    if (!field.GetFieldDescription().empty()) {
      out_ += ", \"description\": ";
      append_string(out_, field.GetFieldDescription());
    }
    out_ += std::string(", \"structure\": \"") + structures[std::min(int(field.GetStructure()), 6)] + "\"";
    if (field.GetNRepetitions()) out_ += ", \"repetitions\": " + std::to_string(field.GetNRepetitions());
    if (field.GetTypeVersion() + 1 > 1)
      out_ += ", \"type_version\": " + std::to_string(field.GetTypeVersion());
    if (field.GetFieldVersion()) out_ += ", \"field_version\": " + std::to_string(field.GetFieldVersion());
    if (field.GetTypeChecksum()) out_ += ", \"type_checksum\": " + std::to_string(*field.GetTypeChecksum());
    if (field.IsProjectedField()) {
      out_ += ", \"projection_of\": ";
      append_string(out_, desc_.GetQualifiedFieldName(field.GetProjectionSourceId()));
    }
    print_columns(field);
    bool first = true;
    for (const auto& child : desc_.GetFieldIterable(field)) {
      if (first) out_ += ", \"fields\": [";
      separate(first);
      print_field(child);
    }
    if (!first) out_ += "]";
    out_ += "}";
  }
  void print_columns(const ROOT::RFieldDescriptor& field) {
    bool first = true;
    for (const auto& column : desc_.GetColumnIterable(field)) {
      if (first) out_ += ", \"columns\": [";
      separate(first);
      out_ += std::string("{\"type\": \"") +
              ROOT::Internal::RColumnElementBase::GetColumnTypeName(column.GetType()) +
              "\", \"bits\": " + std::to_string(column.GetBitsOnStorage());
      if (auto range = column.GetValueRange()) {
        out_ += ", \"min\": ";
        append_real(out_, range->fMin);
        out_ += ", \"max\": ";
        append_real(out_, range->fMax);
      }
      if (column.GetRepresentationIndex())
        out_ += ", \"representation\": " + std::to_string(column.GetRepresentationIndex());
      if (column.IsDeferredColumn())
        out_ += ", \"first_element\": " + std::to_string(column.GetFirstElementIndex());
      if (column.IsSuppressedDeferredColumn()) out_ += ", \"suppressed_deferred\": true";
      if (column.IsAliasColumn())
        out_ += ", \"alias_column\": true";
      else
        print_pages(column);
      out_ += "}";
    }
    if (!first) out_ += "]";
  }
  // Elements of every page, cluster by cluster; a suppressed column of a cluster is null.
  void print_pages(const ROOT::RColumnDescriptor& column) {
    std::map<std::uint64_t, const ROOT::RClusterDescriptor*> clusters;
    for (const auto& cluster : desc_.GetClusterIterable()) clusters[cluster.GetFirstEntryIndex()] = &cluster;
    out_ += ", \"pages\": [";
    bool first = true;
    for (auto& [start, cluster] : clusters) {
      separate(first);
      if (!cluster->ContainsColumn(column.GetPhysicalId()) ||
          cluster->GetColumnRange(column.GetPhysicalId()).IsSuppressed()) {
        out_ += "null";
        continue;
      }
      out_ += "[";
      bool first_page = true;
      for (const auto& page : cluster->GetPageRange(column.GetPhysicalId()).GetPageInfos()) {
        separate(first_page);
        out_ += std::to_string(page.GetNElements());
      }
      out_ += "]";
    }
    out_ += "]";
  }
  void print_extra_types() {
    bool first = true;
    for (const auto& extra : desc_.GetExtraTypeInfoIterable()) {
      if (first) out_ += ", \"extra_type_info\": [";
      separate(first);
      out_ += "{\"content_id\": " + std::to_string(int(extra.GetContentId())) +
              ", \"type_version\": " + std::to_string(extra.GetTypeVersion()) + ", \"type\": ";
      append_string(out_, extra.GetTypeName());
      out_ += ", \"length\": " + std::to_string(extra.GetContent().size()) + "}";
    }
    if (!first) out_ += "]";
  }
  void print_attribute_sets() {
    bool first = true;
    for (const auto& set : desc_.GetAttrSetIterable()) {
      if (first) out_ += ", \"attribute_sets\": [";
      separate(first);
      out_ += "{\"name\": ";
      append_string(out_, set.GetName());
      out_ += ", \"major\": " + std::to_string(set.GetSchemaVersionMajor()) +
              ", \"minor\": " + std::to_string(set.GetSchemaVersionMinor()) +
              ", \"anchor_length\": " + std::to_string(set.GetAnchorLength()) + "}";
    }
    if (!first) out_ += "]";
  }

  const ROOT::RNTupleDescriptor& desc_;
  std::string& out_;
};

// One open data set. `values` reads one top-level field under its own type or, if `type` is given, under that
// one.
class Dump {
 public:
  Dump(const std::string& path, const std::string& dataset)
      : reader_(ROOT::RNTupleReader::Open(dataset, path)) {}
  explicit Dump(std::unique_ptr<ROOT::RNTupleReader> reader) : reader_(std::move(reader)) {}

  std::string descriptor() {
    std::string out = "{";
    DescriptorPrinter(reader_->GetDescriptor(), out).print();
    return out + "}";
  }
  // The type names of all fields that need a collection proxy.
  std::vector<std::string> type_names() {
    std::vector<std::string> names;
    collect(reader_->GetDescriptor().GetFieldZero(), names);
    return names;
  }
  std::string values(const std::string& field, const std::string& type, std::uint64_t first,
                     std::uint64_t last) {
    std::string out = "[";
    auto view = type.empty() ? reader_->GetView<void>(field) : reader_->GetView(field, nullptr, type);
    if (!type.empty()) view.EmplaceNew();
    for (std::uint64_t i = first; i < last && i < reader_->GetNEntries(); ++i) {
      if (i != first) out += ", ";
      view(i);
      JsonVisitor::print(view.GetValue(), out);
    }
    return out + "]";
  }
  // Reads every entry under another type; entries that ROOT refuses to convert become {"error": true}.
  std::string converted(const std::string& field, const std::string& type) {
    auto view = reader_->GetView(field, nullptr, type);
    view.EmplaceNew();
    std::string out = "[";
    for (std::uint64_t i = 0; i < reader_->GetNEntries(); ++i) {
      if (i) out += ", ";
      std::string text;
      try {
        view(i);
        JsonVisitor::print(view.GetValue(), text);
      } catch (const ROOT::RException&) {
        text = "{\"error\": true}";
      }
      out += text;
    }
    return out + "]";
  }
  // Reading through an emulated model, for classes that are not known to this process.
  std::string emulated_values(const std::string& path, const std::string& dataset, const std::string& field) {
    ROOT::RNTupleDescriptor::RCreateModelOptions options;
    options.SetEmulateUnknownTypes(true);
    options.SetForwardCompatible(true);
    auto reader = ROOT::RNTupleReader::Open(options, dataset, path);
    auto entry = reader->GetModel().CreateEntry();
    std::string out = "[";
    for (std::uint64_t i = 0; i < reader->GetNEntries(); ++i) {
      if (i) out += ", ";
      reader->LoadEntry(i, *entry);
      for (const auto& value : *entry)
        if (value.GetField().GetFieldName() == field) JsonVisitor::print(value, out);
    }
    return out + "]";
  }

 private:
  void collect(const ROOT::RFieldDescriptor& field, std::vector<std::string>& names) {
    for (const auto& child : reader_->GetDescriptor().GetFieldIterable(field)) {
      names.push_back(child.GetTypeName());
      collect(child, names);
    }
  }
  std::unique_ptr<ROOT::RNTupleReader> reader_;
};

// The entries of an attribute set: [[start, length, {field: value}], ...].
inline std::string dump_attribute_set(const std::string& path, const std::string& dataset,
                                      const std::string& set) {
  auto reader = ROOT::RNTupleReader::Open(dataset, path);
  auto attributes = reader->OpenAttributeSet(set);
  auto entry = attributes->CreateEntry();
  std::string out = "[";
  for (std::uint64_t i = 0; i < attributes->GetNEntries(); ++i) {
    if (i) out += ", ";
    auto range = attributes->LoadEntry(i, *entry);
    out += "[" + std::to_string(range.GetStart()) + ", " + std::to_string(range.GetLength()) + ", {";
    bool first = true;
    for (const auto& value : *entry) {
      if (!first) out += ", ";
      first = false;
      append_string(out, value.GetField().GetFieldName());
      out += ": ";
      JsonVisitor::print(value, out);
    }
    out += "}]";
  }
  return out + "]";
}

// ---- Values from a byte stream

// Tokens: 'i' int64/uint64, 'd' double, 's' length + bytes, 'l' count (items follow), 'n' null, 'v' tag
// (value follows unless the tag is 0). All numbers are 8 bytes, little endian.
class TokenReader {
 public:
  explicit TokenReader(const std::string& bytes) : bytes_(bytes) {}
  char peek() const { return bytes_.at(at_); }
  void expect(char tag) {
    if (bytes_.at(at_) != tag)
      throw std::runtime_error(std::string("expected token ") + tag + ", found " + bytes_[at_] + " at " +
                               std::to_string(at_));
    ++at_;
  }
  template <typename T>
  T number() {
    T value;
    if (at_ + sizeof value > bytes_.size()) throw std::runtime_error("token stream ends early");
    std::memcpy(&value, bytes_.data() + at_, sizeof value);
    at_ += sizeof value;
    return value;
  }
  std::uint64_t integer() {
    expect('i');
    return number<std::uint64_t>();
  }
  double real() {
    expect('d');
    return number<double>();
  }
  std::uint64_t count() {
    expect('l');
    return number<std::uint64_t>();
  }
  std::string text() {
    expect('s');
    const auto n = number<std::uint64_t>();
    std::string result = bytes_.substr(at_, n);
    at_ += n;
    return result;
  }
  bool at_end() const { return at_ == bytes_.size(); }

 private:
  const std::string& bytes_;
  std::size_t at_ = 0;
};

class FillVisitor : public ROOT::Detail::RFieldVisitor {
 public:
  FillVisitor(ROOT::RFieldBase::RValue value, TokenReader& in) : value_(std::move(value)), in_(in) {}

  // Fills a value that has just been constructed.
  static void fill(const ROOT::RFieldBase::RValue& value, TokenReader& in) {
    FillVisitor visitor(value, in);
    value.GetField().AcceptVisitor(visitor);
  }
  static void fill_at(const ROOT::RFieldBase& field, void* where, TokenReader& in) {
    fill(const_cast<ROOT::RFieldBase&>(field).BindValue(std::shared_ptr<void>(where, [](void*) {})), in);
  }

  void VisitField(const ROOT::RFieldBase& field) final {
    if (auto* variant = dynamic_cast<const ROOT::RVariantField*>(&field)) return fill_variant(*variant);
    throw std::runtime_error("cannot fill " + field.GetTypeName());
  }
  void VisitBoolField(const ROOT::RField<bool>&) final { integer<bool>(); }
  void VisitByteField(const ROOT::RField<std::byte>&) final { integer<unsigned char>(); }
  void VisitCharField(const ROOT::RField<char>&) final { integer<char>(); }
  void VisitFloatField(const ROOT::RField<float>&) final { put(static_cast<float>(in_.real())); }
  void VisitDoubleField(const ROOT::RField<double>&) final { put(in_.real()); }
  void VisitInt8Field(const ROOT::RIntegralField<std::int8_t>&) final { integer<std::int8_t>(); }
  void VisitInt16Field(const ROOT::RIntegralField<std::int16_t>&) final { integer<std::int16_t>(); }
  void VisitInt32Field(const ROOT::RIntegralField<std::int32_t>&) final { integer<std::int32_t>(); }
  void VisitInt64Field(const ROOT::RIntegralField<std::int64_t>&) final { integer<std::int64_t>(); }
  void VisitUInt8Field(const ROOT::RIntegralField<std::uint8_t>&) final { integer<std::uint8_t>(); }
  void VisitUInt16Field(const ROOT::RIntegralField<std::uint16_t>&) final { integer<std::uint16_t>(); }
  void VisitUInt32Field(const ROOT::RIntegralField<std::uint32_t>&) final { integer<std::uint32_t>(); }
  void VisitUInt64Field(const ROOT::RIntegralField<std::uint64_t>&) final { integer<std::uint64_t>(); }
  void VisitStringField(const ROOT::RField<std::string>&) final { *at<std::string>() = in_.text(); }
  void VisitEnumField(const ROOT::REnumField& field) final { fill(field.SplitValue(value_)[0], in_); }
  void VisitAtomicField(const ROOT::RAtomicField& field) final { fill(field.SplitValue(value_)[0], in_); }

  // The object of a streamer field is filled through a field that knows its members.
  void VisitStreamerField(const ROOT::RStreamerField& field) final {
    fill_at(*ROOT::RFieldBase::Create("members", field.GetTypeName()).Unwrap(), at<void>(), in_);
  }

  void VisitNullableField(const ROOT::RNullableField& field) final {
    if (in_.peek() == 'n') {
      in_.expect('n');
      return;
    }
    const auto& item = *field.GetConstSubfields()[0];
    auto* where = at<char>();
    if (dynamic_cast<const ROOT::ROptionalField*>(&field)) {
      FieldAccess::construct(item, where);
      fill_at(item, where, in_);
      *reinterpret_cast<bool*>(where + item.GetValueSize()) = true;  // libstdc++: the flag follows the value
    } else {
      void* object = FieldAccess::create(item);
      fill_at(item, object, in_);
      *reinterpret_cast<void**>(where) = object;
    }
  }

  void VisitArrayField(const ROOT::RArrayField& field) final { in_.count(), members(field); }
  void VisitClassField(const ROOT::RClassField& field) final { in_.count(), members(field); }
  void VisitRecordField(const ROOT::RRecordField& field) final { in_.count(), members(field); }
  void VisitTObjectField(const ROOT::RField<TObject>& field) final { in_.count(), members(field); }
  void VisitVectorField(const ROOT::RVectorField& field) final {
    const auto n = in_.count();
    const auto& item = *field.GetConstSubfields()[0];
    auto deleter = FieldAccess::deleter_of(item);
    open(VectorResize{})(at<void>(), n, item.GetValueSize(), item, deleter.get());
    members(field);
  }
  void VisitRVecField(const ROOT::RRVecField& field) final {
    const auto n = in_.count();
    const auto& item = *field.GetConstSubfields()[0];
    auto deleter = FieldAccess::deleter_of(item);
    open(RVecResize{})(at<void>(), n, item.GetValueSize(), &item, deleter.get());
    members(field);
  }
  void VisitVectorBoolField(const ROOT::RField<std::vector<bool>>&) final {
    const auto n = in_.count();
    for (std::uint64_t i = 0; i < n; ++i) at<std::vector<bool>>()->push_back(in_.integer() != 0);
  }
  void VisitBitsetField(const ROOT::RBitsetField&) final {
    const auto n = in_.count();
    for (std::uint64_t i = 0; i < n; ++i)
      if (in_.integer()) at<unsigned long>()[i / 64] |= 1ul << (i % 64);
  }
  void VisitProxiedCollectionField(const ROOT::RProxiedCollectionField& field) final {
    const auto n = in_.count();
    const auto& item = *field.GetConstSubfields()[0];
    auto* proxy = (field.*open(ProxiedProxy{})).get();
    TVirtualCollectionProxy::TPushPop guard(proxy, at<void>());
    void* staging = proxy->Allocate(n, true);
    for (std::uint64_t i = 0; i < n; ++i) fill_at(item, proxy->At(i), in_);
    proxy->Commit(staging);
  }

 private:
  template <typename T>
  T* at() {
    return static_cast<T*>(value_.GetPtr<void>().get());
  }
  template <typename T>
  void put(T value) {
    *at<T>() = value;
  }
  template <typename T>
  void integer() {
    put(static_cast<T>(in_.integer()));
  }
  void members(const ROOT::RFieldBase& field) {
    for (auto& member : field.SplitValue(value_)) fill(member, in_);
  }
  void fill_variant(const ROOT::RVariantField& field) {
    in_.expect('v');
    const auto tag = in_.number<std::uint64_t>();
    auto* base = at<char>();
    auto* place = base + field.*open(VariantValue{});
    const auto items = field.GetConstSubfields();
    FieldAccess::destroy(*items[0], place);  // a fresh variant holds its first alternative
    if (tag > 0) {
      FieldAccess::construct(*items.at(tag - 1), place);
      fill_at(*items[tag - 1], place, in_);
    }
    open(VariantSetTag{})(base, field.*open(VariantTag{}), static_cast<std::uint8_t>(tag));
  }

  ROOT::RFieldBase::RValue value_;
  TokenReader& in_;
};

// ---- Fields with chosen columns

inline ROOT::ENTupleColumnType column_type(const std::string& name) {
  for (int i = 0; i < int(ROOT::ENTupleColumnType::kMax); ++i) {
    auto type = static_cast<ROOT::ENTupleColumnType>(i);
    if (name == ROOT::Internal::RColumnElementBase::GetColumnTypeName(type)) return type;
  }
  throw std::runtime_error("no column type is called " + name);
}

inline ROOT::RFieldBase& find_field(ROOT::RFieldBase& top, const std::string& path) {
  ROOT::RFieldBase* field = &top;
  std::size_t start = 0;
  while (start < path.size()) {
    const auto end = std::min(path.find('.', start), path.size());
    const auto name = path.substr(start, end - start);
    ROOT::RFieldBase* found = nullptr;
    for (auto* child : field->GetMutableSubfields())
      if (child->GetFieldName() == name) found = child;
    if (!found) throw std::runtime_error("no sub-field " + name + " in " + field->GetFieldName());
    field = found;
    start = end + 1;
  }
  return *field;
}

// `representations`: each a list of column type names; several give a field several representations.
inline void set_representations(ROOT::RFieldBase& top, const std::string& path,
                                const std::vector<std::vector<std::string>>& representations) {
  ROOT::RFieldBase::RColumnRepresentations::Selection_t selection;
  for (const auto& names : representations) {
    auto& types = selection.emplace_back();
    for (const auto& name : names) types.push_back(column_type(name));
  }
  find_field(top, path).SetColumnRepresentatives(selection);
}

inline void set_real_columns(ROOT::RFieldBase& top, const std::string& path, const std::string& kind,
                             int bits, double min, double max) {
  auto apply = [&](auto& field) {
    if (kind == "trunc")
      field.SetTruncated(bits);
    else if (kind == "quant")
      field.SetQuantized(bits, {min, max});
    else
      field.SetHalfPrecision();
  };
  auto& field = find_field(top, path);
  if (auto* single = dynamic_cast<ROOT::RField<float>*>(&field))
    apply(*single);
  else
    apply(dynamic_cast<ROOT::RField<double>&>(field));
}

// Untyped records and collections have no type name to create them from: built here from their parts.
inline std::unique_ptr<ROOT::RFieldBase> make_field(const std::string& name, const std::string& type) {
  return ROOT::RFieldBase::Create(name, type).Unwrap();
}
inline std::unique_ptr<ROOT::RFieldBase> make_streamer(const std::string& name, const std::string& type) {
  return std::make_unique<ROOT::RStreamerField>(name, type);
}
class RecordParts {
 public:
  void add(std::unique_ptr<ROOT::RFieldBase> member) { members_.push_back(std::move(member)); }
  std::unique_ptr<ROOT::RFieldBase> build(const std::string& name) {
    return std::make_unique<ROOT::RRecordField>(name, std::move(members_));
  }

 private:
  std::vector<std::unique_ptr<ROOT::RFieldBase>> members_;
};
inline std::unique_ptr<ROOT::RFieldBase> make_collection(const std::string& name,
                                                         std::unique_ptr<ROOT::RFieldBase> item) {
  return ROOT::RVectorField::CreateUntyped(name, std::move(item));
}

// ---- The bare container

// ROOT's own sinks always write the ROOT-file container; this one drives ROOT's low-level writer in its bare
// form.
class BareSink : public ROOT::Internal::RPagePersistentSink {
 public:
  BareSink(std::string_view name, std::string_view path, const ROOT::RNTupleWriteOptions& options)
      : RPagePersistentSink(name, options) {
    EnableDefaultMetrics("BareSink");
    fFeatures.fCanMergePages = true;
    writer_ = ROOT::Internal::RNTupleFileWriter::Recreate(
        name, path, ROOT::Internal::RNTupleFileWriter::EContainerFormat::kBare, options);
  }
  ~BareSink() override = default;
  std::unique_ptr<RPageSink> CloneAsHidden(std::string_view,
                                           const ROOT::RNTupleWriteOptions&) const override {
    throw std::runtime_error("a bare file holds one data set");
  }

 protected:
  using RPagePersistentSink::CommitDatasetImpl;
  using RPagePersistentSink::InitImpl;
  void InitImpl(unsigned char* header, std::uint32_t length) override {
    auto zip = compressed(header, length);
    writer_->WriteNTupleHeader(zip.data(), zip.size(), length);
  }
  ROOT::RNTupleLocator CommitPageImpl(ColumnHandle_t column, const ROOT::Internal::RPage& page) override {
    return write_page(SealPage(page, *column.fColumn->GetElement()));
  }
  ROOT::RNTupleLocator CommitSealedPageImpl(ROOT::DescriptorId_t, const RSealedPage& page) override {
    return write_page(page);
  }
  std::uint64_t StageClusterImpl() override { return std::exchange(cluster_bytes_, 0); }
  ROOT::RNTupleLocator CommitClusterGroupImpl(unsigned char* pages, std::uint32_t length) override {
    auto zip = compressed(pages, length);
    return locator(writer_->WriteBlob(zip.data(), zip.size(), length), zip.size());
  }
  ROOT::Internal::RNTupleLink CommitDatasetImpl(unsigned char* footer, std::uint32_t length) override {
    auto zip = compressed(footer, length);
    writer_->WriteNTupleFooter(zip.data(), zip.size(), length);
    return writer_->Commit(GetWriteOptions().GetCompression());
  }

 private:
  std::vector<unsigned char> compressed(const unsigned char* data, std::uint32_t length) {
    std::vector<unsigned char> zip(length);
    zip.resize(
        ROOT::Internal::RNTupleCompressor::Zip(data, length, GetWriteOptions().GetCompression(), zip.data()));
    return zip;
  }
  static ROOT::RNTupleLocator locator(std::uint64_t offset, std::uint64_t bytes) {
    ROOT::RNTupleLocator result;
    result.SetPosition(offset);
    result.SetNBytesOnStorage(bytes);
    return result;
  }
  ROOT::RNTupleLocator write_page(const RSealedPage& page) {
    cluster_bytes_ += page.GetBufferSize();
    const auto offset = writer_->WriteBlob(page.GetBuffer(), page.GetBufferSize(), page.GetDataSize());
    return locator(offset, page.GetDataSize());
  }

  std::unique_ptr<ROOT::Internal::RNTupleFileWriter> writer_;
  std::uint64_t cluster_bytes_ = 0;
};

// ---- Writing

// A writer that Python drives: fields first, then entries as token streams, clusters when requested.
class FixtureWriter {
 public:
  explicit FixtureWriter(const std::string& description) : model_(ROOT::RNTupleModel::CreateBare()) {
    if (!description.empty()) model_->SetDescription(description);
  }
  void add_field(std::unique_ptr<ROOT::RFieldBase> field) { model_->AddField(std::move(field)); }
  void add_projection(const std::string& name, const std::string& type,
                      const std::vector<std::pair<std::string, std::string>>& mapping) {
    model_->AddProjectedField(make_field(name, type), find_in(mapping)).ThrowOnError();
  }

  void recreate(const std::string& dataset, const std::string& path,
                const ROOT::RNTupleWriteOptions& options) {
    writer_ = ROOT::RNTupleWriter::Recreate(std::move(model_), dataset, path, options);
  }
  void append(const std::string& dataset, TDirectory& directory, const ROOT::RNTupleWriteOptions& options) {
    writer_ = ROOT::RNTupleWriter::Append(std::move(model_), dataset, directory, options);
  }
  void recreate_bare(const std::string& dataset, const std::string& path,
                     const ROOT::RNTupleWriteOptions& options) {
    writer_ = ROOT::Internal::CreateRNTupleWriter(std::move(model_),
                                                  std::make_unique<BareSink>(dataset, path, options));
  }

  // `bytes` holds the values of all fields in the order in which they were added.
  void fill(const std::string& bytes) {
    if (!entry_) entry_ = writer_->GetModel().CreateBareEntry();
    TokenReader in(bytes);
    for (auto* field : writer_->GetModel().GetConstFieldZero().GetConstSubfields()) {
      auto value = const_cast<ROOT::RFieldBase*>(field)->CreateValue();
      FillVisitor::fill(value, in);
      entry_->BindValue(field->GetFieldName(), value.GetPtr<void>());
    }
    if (!in.at_end()) throw std::runtime_error("more tokens than fields");
    writer_->Fill(*entry_);
  }
  void flush_columns() { writer_->FlushColumns(); }
  void commit_cluster(bool group) { writer_->CommitCluster(group); }
  void use_representation(const std::string& field, const std::string& path, int index) {
    for (auto* top : writer_->GetModel().GetConstFieldZero().GetConstSubfields())
      if (top->GetFieldName() == field)
        ROOT::Internal::RFieldRepresentationModifier::SetPrimaryColumnRepresentation(
            find_field(*const_cast<ROOT::RFieldBase*>(top), path), index);
  }

  void begin_update() {
    updater_ = writer_->CreateModelUpdater();
    updater_->BeginUpdate();
  }
  void extend(std::unique_ptr<ROOT::RFieldBase> field, const std::string& parent) {
    updater_->AddField(std::move(field), parent);
  }
  void extend_projection(const std::string& name, const std::string& type,
                         const std::vector<std::pair<std::string, std::string>>& mapping) {
    updater_->AddProjectedField(make_field(name, type), find_in(mapping)).ThrowOnError();
  }
  void commit_update() {
    updater_->CommitUpdate();
    updater_.reset();
    entry_.reset();
  }
  // `ranges`: (entries covered, text); the set covers consecutive ranges while entries are filled by
  // `fill_each`.
  ROOT::RNTupleWriter& writer() { return *writer_; }
  void close() {
    entry_.reset();
    writer_.reset();
  }

 private:
  static std::function<std::string(const std::string&)> find_in(
      std::vector<std::pair<std::string, std::string>> mapping) {
    return [mapping](const std::string& name) -> std::string {
      for (const auto& [target, source] : mapping)
        if (target == name) return source;
      throw std::runtime_error("no source given for projected field " + name);
    };
  }

  std::unique_ptr<ROOT::RNTupleModel> model_;
  std::unique_ptr<ROOT::RNTupleWriter> writer_;
  std::unique_ptr<ROOT::RNTupleModel::RUpdater> updater_;
  std::unique_ptr<ROOT::REntry> entry_;
};

// Merges data sets of one name from several files as ROOT's merger does; compression < 0 keeps the pages as
// they are.
inline void merge(const std::string& dataset, const std::vector<std::string>& inputs,
                  const std::string& output, int compression, const std::string& mode,
                  const ROOT::RNTupleWriteOptions& options) {
  using namespace ROOT::Experimental::Internal;
  std::vector<std::unique_ptr<ROOT::Internal::RPageSource>> sources;
  std::vector<ROOT::Internal::RPageSource*> pointers;
  for (const auto& input : inputs) {
    sources.push_back(ROOT::Internal::RPageSource::Create(dataset, input));
    pointers.push_back(sources.back().get());
  }
  RNTupleMerger merger(std::make_unique<ROOT::Internal::RPageSinkFile>(dataset, output, options));
  RNTupleMergeOptions merge_options;
  if (compression >= 0) merge_options.fCompressionSettings = compression;
  merge_options.fMergingMode = mode == "union"    ? ENTupleMergingMode::kUnion
                               : mode == "strict" ? ENTupleMergingMode::kStrict
                                                  : ENTupleMergingMode::kFilter;
  merger.Merge(pointers, merge_options).ThrowOnError();
}

inline void set_max_key_size(ROOT::RNTupleWriteOptions& options, std::uint64_t size) {
  ROOT::Internal::RNTupleWriteOptionsManip::SetMaxKeySize(options, size);
}

}  // namespace colonnade_test

#endif
