// Functions of the caller: arguments are exported as Arrow columns, and the returned array is checked like
// arrays to write.
#include "capi/functions.h"

#include <fmt/format.h>

#include <memory>
#include <utility>
#include <vector>

#include "capi/arrow_column.h"
#include "capi/arrow_import.h"
#include "colonnade/error.h"
#include "frame/functions/library.h"
#include "frame/values/values.h"

namespace colonnade::capi {
namespace {

using Kind = ImportType::Kind;

// Throws ErrorKind::type for types that columns cannot have.
ValueType type_of(const ImportType& type, const std::string& name) {
  switch (type.values ? Kind::records : type.kind) {
    case Kind::numbers:
      return type.element;
    case Kind::half:
      return ElementType::float32;
    case Kind::booleans:
      return ElementType::boolean;
    case Kind::texts:
    case Kind::text_views:
      return ValueType::string();
    case Kind::lists:
      return ValueType::list(type_of(type.children[0], name));
    default:
      throw Error(ErrorKind::type, fmt::format("a function cannot return the type of \"{}\"", name),
                  "numbers, booleans, texts, and lists of them");
  }
}

// The arguments of a call, which the library releases.
class Arguments {
 public:
  explicit Arguments(ArrowColumn columns) {
    to_schema(columns, &schema_);
    to_array(std::move(columns), &array_);
  }
  ~Arguments() {
    if (array_.release != nullptr) array_.release(&array_);
    if (schema_.release != nullptr) schema_.release(&schema_);
  }
  Arguments(const Arguments&) = delete;
  Arguments& operator=(const Arguments&) = delete;

  const ArrowSchema* schema() const noexcept { return &schema_; }
  const ArrowArray* array() const noexcept { return &array_; }

 private:
  ArrowSchema schema_{};
  ArrowArray array_{};
};

// An array that a function returned, and the values made from it.
struct Given {
  ArrowArray array{};
  ImportedArrays arrays;

  Given() = default;
  ~Given() {
    if (array.release != nullptr) array.release(&array);
  }
  Given(const Given&) = delete;
  Given& operator=(const Given&) = delete;

  const ArrayView& at(const std::string& path, ArrayRole role) const {
    for (const NamedArray& found : arrays.arrays)
      if (found.path == path && found.array.role == role) return found.array;
    throw Error(ErrorKind::usage, "the array of the function has no part \"" + path + "\"");
  }
};

ValuesPtr values_of(const std::shared_ptr<const Given>& given, const ValueType& type, const std::string& path,
                    std::size_t count) {
  if (type.is_scalar()) {
    const ArrayView& values = given->at(path, ArrayRole::values);
    return make_scalars(type.element(), count, values.data, given);
  }
  const auto* offsets = static_cast<const std::int64_t*>(given->at(path, ArrayRole::offsets).data);
  const auto items = static_cast<std::size_t>(offsets[count]);
  if (!type.is_string())
    return make_list(count, offsets, values_of(given, type.item(), path + "._0", items), given);
  const ArrayView& characters = given->at(path, ArrayRole::values);
  return make_string(count, offsets, make_scalars(ElementType::character, items, characters.data, given),
                     given);
}

class FunctionKernel final : public Kernel {
 public:
  FunctionKernel(colonnade_function function, void* context,
                 std::shared_ptr<const std::vector<ImportType>> given, ValueType result)
      : function_(function), context_(context), given_(std::move(given)), result_(std::move(result)) {}

  ValuesPtr run(const CallContext& context, std::span<const ValuesPtr> arguments) const override {
    const std::size_t rows = context.rows.size;
    std::vector<std::pair<std::string, ArrowColumn>> columns;
    for (std::size_t k = 0; k < arguments.size(); ++k)
      columns.emplace_back(std::to_string(k), column_of(frame::spread(arguments[k], context.memory)));
    const Arguments handed(record(rows, std::move(columns)));
    auto given = std::make_shared<Given>();
    if (const int code = function_(context_, handed.schema(), handed.array(), &given->array); code != 0)
      throw Error(ErrorKind::usage, fmt::format("the function of \"{}\" failed with {}", name(), code));
    import(*given, rows);
    return values_of(given, result_, name(), rows);
  }
  const ValueType& result() const noexcept override { return result_; }
  bool only_where_needed() const noexcept override { return true; }
  bool takes_large_blocks() const noexcept override { return true; }
  bool foldable() const noexcept override { return false; }

 private:
  const std::string& name() const { return given_->front().name; }

  void import(Given& given, std::size_t rows) const {
    if (given.array.release == nullptr)
      throw Error(ErrorKind::usage, fmt::format("the function of \"{}\" returned no array", name()));
    if (given.array.length < 0 || static_cast<std::size_t>(given.array.length) != rows)
      throw Error(ErrorKind::usage, fmt::format("the function of \"{}\" returned {} values for {} rows",
                                                name(), given.array.length, rows));
    const void* no_buffers[1] = {nullptr};
    ArrowArray* children[1] = {&given.array};
    ArrowArray batch{};
    batch.length = given.array.length;
    batch.n_buffers = 1;
    batch.buffers = no_buffers;
    batch.n_children = 1;
    batch.children = children;
    batch.release = [](ArrowArray*) {};  // owns nothing
    given.arrays = import_array(*given_, batch);
  }

  colonnade_function function_;
  void* context_;
  std::shared_ptr<const std::vector<ImportType>> given_;
  ValueType result_;
};

}  // namespace

MakeKernel function_kernels(colonnade_function function, void* context, const ArrowSchema& result,
                            const std::string& name) {
  // As the only field of a batch.
  ArrowSchema field = result;
  field.name = name.c_str();
  ArrowSchema* children[1] = {&field};
  ArrowSchema batch{};
  batch.format = "+s";
  batch.n_children = 1;
  batch.children = children;
  batch.release = [](ArrowSchema*) {};  // owns nothing
  const auto given = std::make_shared<const std::vector<ImportType>>(import_schema(batch, false));
  return [function, context, given, type = type_of(given->front(), name)](std::span<const ValueType>) {
    return std::make_shared<FunctionKernel>(function, context, given, type);
  };
}

MakeKernel library_kernels(const std::string& library, const std::string& function) {
  return [opened = frame::FunctionLibrary::open(library), function](std::span<const ValueType> types) {
    return frame::library_kernel(opened, function, types);
  };
}

}  // namespace colonnade::capi
