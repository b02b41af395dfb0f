// Entry: the values of one row, one per top-level field of a model.
//
// A value is owned by the entry (shared with callers that asked for its pointer) or is the caller's own
// memory, set by bind(); that memory must outlive the entry's last use. An entry belongs to the model
// (reader, writer) that made it and is used by one thread at a time; several entries of one model may be used
// by different threads.
#ifndef COLONNADE_ENTRY_H
#define COLONNADE_ENTRY_H

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "colonnade/field_types.h"

namespace colonnade {
namespace dataset {
class Filler;
}

class Entry {
 public:
  // The value of a field. T must be the field's type; void accepts any. Throws ErrorKind::not_found or type.
  template <class T>
  std::shared_ptr<T> ptr(std::string_view name) const {
    if constexpr (std::is_void_v<T>) {
      return slot(name).value;
    } else {
      return std::static_pointer_cast<T>(checked(name, *make_field<T>(name)).value);
    }
  }
  // Uses the caller's memory from now on.
  template <class T>
  void bind(std::string_view name, T* memory) {
    checked(name, *make_field<T>(name));
    rebind(name, std::shared_ptr<void>(std::shared_ptr<void>(), memory));
  }
  // The same for memory whose type is known by name: it must be the field's type name, and the memory must
  // have the layout of the field's values (see colonnade/field.h if the field itself was made by name).
  void bind(std::string_view name, void* memory, std::string_view type_name);

  std::vector<std::string> field_names() const;

 private:
  friend class Model;
  friend class ChainReader;
  friend class Reader;
  friend class Writer;
  friend class ParallelWriter;
  friend class AttributeSetWriter;
  friend class dataset::Filler;
  struct FieldSlot {
    std::string name;
    std::string type_name;
    std::string layout;  // what the type name does not determine
    bool native = true;
    std::shared_ptr<void> value;
  };
  const FieldSlot& slot(std::string_view name) const;
  const FieldSlot& checked(std::string_view name, const Field& type) const;
  void rebind(std::string_view name, std::shared_ptr<void> value);
  void add(const Field& field, std::shared_ptr<void> value);

  std::vector<FieldSlot> slots_;
  std::uint64_t model_id_ = 0;
  std::uint64_t bindings_ = 0;  // differs from that of all entries with other memory
};

}  // namespace colonnade

#endif
