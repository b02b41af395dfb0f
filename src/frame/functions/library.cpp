// See library.h.
#include "frame/functions/library.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "base/process.h"
#include "colonnade/column_type.h"
#include "colonnade/error.h"
#include "colonnade/functions.h"
#include "frame/expression/function.h"
#include "frame/functions/lists.h"
#include "frame/values/values.h"

namespace colonnade::frame {
namespace {

constexpr std::size_t most_functions = 1 << 16;
constexpr std::size_t most_parameters = 1 << 10;

[[noreturn]] void fail(const std::string& path, const std::string& problem) {
  throw Error(ErrorKind::usage, fmt::format("the library '{}' {}", path, problem),
              "end it with COLONNADE_FUNCTIONS(...) of colonnade/functions.h");
}

ValueType type_at(const char* name, const std::string& path) {
  const auto type = name == nullptr ? std::nullopt : type_of_name(name);
  const bool fits = type && (type->is_scalar() || type->is_string() ||
                             (type->is_list() && !type->is_optional() && type->item().is_scalar()));
  if (!fits) fail(path, fmt::format("has a function of the type '{}'", name == nullptr ? "" : name));
  return *type;
}

std::string text_of(std::span<const ValueType> types) {
  std::string text;
  for (const ValueType& type : types) text += (text.empty() ? "" : ", ") + type.name();
  return text;
}

// The destination of a call's results.
class Results {
 public:
  Results(const ValueType& type, std::size_t rows, BlockMemory& memory) : type_(type) {
    item_size_ = type.is_scalar() ? size_of(type.element())
                                  : (type.is_string() ? sizeof(char) : size_of(type.item().element()));
    if (type.is_scalar()) {
      memory_ = memory.allocate(rows * item_size_);
    } else {
      auto [offsets, owner] = memory.array<std::int64_t>(rows + 1);
      offsets_ = offsets;
      offsets_[0] = 0;
      memory_ = std::move(owner);
    }
    rows_ = rows;
  }

  FunctionResult target() {
    return {.items = type_.is_scalar() ? memory_.get() : nullptr,
            .self = this,
            .append = [](void* self, const void* items,
                         std::int64_t count) { static_cast<Results*>(self)->append(items, count); },
            .fail = [](void* self, const char* why) { static_cast<Results*>(self)->fail_with(why); }};
  }
  bool failed() const noexcept { return failed_; }
  std::string_view problem() const noexcept {
    return problem_.empty() ? std::string_view("it does not say why") : problem_;
  }

  ValuesPtr take(BlockMemory& memory) {
    if (type_.is_scalar()) return make_scalars(type_.element(), rows_, memory_.get(), memory_);
    if (done_ != rows_) fail_with("it returned fewer results than there are rows");
    if (failed_) return nullptr;
    auto owner = memory.allocate(items_.size());
    if (!items_.empty()) std::memcpy(owner.get(), items_.data(), items_.size());
    const auto count = static_cast<std::size_t>(offsets_[rows_]);
    const ElementType element = type_.is_string() ? ElementType::character : type_.item().element();
    auto items = make_scalars(element, count, owner.get(), owner);
    if (type_.is_string()) return make_string(rows_, offsets_, std::move(items), memory_);
    return make_list(rows_, offsets_, std::move(items), memory_);
  }

 private:
  // Called from C: must not throw.
  void append(const void* items, std::int64_t count) noexcept {
    try {
      if (done_ == rows_ || count < 0) return fail_with("it returned more results than there are rows");
      const auto size = static_cast<std::size_t>(count) * item_size_;
      const auto* bytes = static_cast<const std::byte*>(items);
      items_.insert(items_.end(), bytes, bytes + size);
      offsets_[done_ + 1] = offsets_[done_] + count;
      ++done_;
    } catch (const std::exception&) {
      fail_with("there is no memory for its results");
    }
  }
  void fail_with(const char* why) noexcept {
    try {
      failed_ = true;
      if (problem_.empty() && why != nullptr) problem_ = why;
    } catch (const std::exception&) {
      problem_.clear();
    }
  }

  const ValueType& type_;
  std::size_t rows_ = 0;
  std::size_t item_size_ = 0;
  std::shared_ptr<void> memory_;  // scalars, or offsets
  std::int64_t* offsets_ = nullptr;
  std::vector<std::byte> items_;
  std::size_t done_ = 0;
  std::string problem_;
  bool failed_ = false;
};

class LibraryKernel final : public Kernel {
 public:
  LibraryKernel(std::shared_ptr<const FunctionLibrary> library, const FunctionLibrary::LibraryFunction& entry,
                std::vector<KernelPtr> conversions, std::string key)
      : library_(std::move(library)),
        entry_(entry),
        conversions_(std::move(conversions)),
        key_(std::move(key)) {}

  ValuesPtr run(const CallContext& context, std::span<const ValuesPtr> arguments) const override {
    std::vector<ValuesPtr> given;
    std::vector<FunctionColumn> columns;
    for (std::size_t k = 0; k < arguments.size(); ++k) {
      ValuesPtr values = arguments[k];
      if (conversions_[k]) values = conversions_[k]->run(context, {&values, 1});
      given.push_back(spread(values, context.memory));
      columns.push_back(column_of(*given.back(), context.memory, given));
    }
    Results results(entry_.result, context.rows.size, context.memory);
    const FunctionResult target = results.target();
    const int failed =
        entry_.function->call(columns.data(), static_cast<std::int64_t>(context.rows.size), &target);
    ValuesPtr values = failed == 0 && !results.failed() ? results.take(context.memory) : nullptr;
    if (values == nullptr)
      throw Error(ErrorKind::usage, fmt::format("the function '{}' of '{}' failed: {}", entry_.name,
                                                library_->path(), results.problem()));
    return values;
  }
  const ValueType& result() const noexcept override { return entry_.result; }
  std::string key() const override { return key_; }
  bool only_where_needed() const noexcept override { return true; }
  bool foldable() const noexcept override { return false; }

 private:
  static FunctionColumn column_of(const Values& values, BlockMemory& memory, std::vector<ValuesPtr>& kept) {
    if (values.type.is_scalar()) return {values.data, nullptr};
    if (values.type.is_string()) return {values.items().data, values.offsets};
    kept.push_back(lists::dense_items(values, memory));
    return {kept.back()->data, values.offsets};
  }

  std::shared_ptr<const FunctionLibrary> library_;
  const FunctionLibrary::LibraryFunction& entry_;
  std::vector<KernelPtr> conversions_;  // null: unconverted
  std::string key_;
};

}  // namespace

std::shared_ptr<const FunctionLibrary> FunctionLibrary::open(const std::string& path) {
  struct Known {
    std::mutex mutex;
    std::map<std::string, std::shared_ptr<const FunctionLibrary>> libraries;
  };
  static PerProcess<Known> all;
  Known& known = all.get();
  const std::lock_guard lock(known.mutex);
  auto& library = known.libraries[path];
  if (!library) library = load(path);
  return library;
}

std::shared_ptr<const FunctionLibrary> FunctionLibrary::load(const std::string& path) {
  // Never unloaded: kernels and messages refer to it.
  void* handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr)
    throw Error(ErrorKind::not_found, fmt::format("the library '{}' cannot be loaded: {}", path, ::dlerror()),
                "a full path, or a name that LD_LIBRARY_PATH finds, on every machine that uses it");
  using List = const FunctionList* (*)();
  const auto list = reinterpret_cast<List>(::dlsym(handle, "colonnade_functions"));
  if (list == nullptr) fail(path, "has no functions for expressions");
  const FunctionList* found = list();
  if (found == nullptr) fail(path, "has no functions for expressions");
  if (found->abi != COLONNADE_FUNCTIONS_ABI)
    throw Error(ErrorKind::unsupported,
                fmt::format("the library '{}' has functions of interface {}, and this version knows {}", path,
                            found->abi, COLONNADE_FUNCTIONS_ABI),
                "build it with the header of this version");
  if (found->size < 0 || static_cast<std::size_t>(found->size) > most_functions || found->version == nullptr)
    fail(path, "has a damaged list of functions");
  std::shared_ptr<FunctionLibrary> library(new FunctionLibrary(path));
  library->version_ = found->version;
  for (const FunctionDescription& each : std::span(found->functions, static_cast<std::size_t>(found->size))) {
    if (each.name == nullptr || each.call == nullptr || each.parameters == nullptr)
      fail(path, "has a damaged list of functions");
    LibraryFunction entry{
        .name = each.name, .result = type_at(each.result, path), .parameters = {}, .function = &each};
    for (std::size_t k = 0; each.parameters[k] != nullptr; ++k) {
      if (k == most_parameters) fail(path, "has a damaged list of functions");
      entry.parameters.push_back(type_at(each.parameters[k], path));
    }
    if (std::ranges::find(library->functions_, entry.name, &LibraryFunction::name) !=
        library->functions_.end())
      fail(path, fmt::format("has two functions called '{}'", entry.name));
    library->functions_.push_back(std::move(entry));
  }
  return library;
}

const FunctionLibrary::LibraryFunction& FunctionLibrary::at(std::string_view name) const {
  const auto found = std::ranges::find(functions_, name, &LibraryFunction::name);
  if (found == functions_.end()) {
    std::string names;
    for (const LibraryFunction& each : functions_) names += (names.empty() ? "" : ", ") + each.name;
    throw Error(ErrorKind::not_found, fmt::format("the library '{}' has no function '{}'", path_, name),
                "one of: " + names);
  }
  return *found;
}

KernelPtr library_kernel(std::shared_ptr<const FunctionLibrary> library, std::string_view name,
                         std::span<const ValueType> types) {
  const FunctionLibrary::LibraryFunction& entry = library->at(name);
  const auto refuse = [&]() -> Error {
    return {ErrorKind::type,
            fmt::format("'{}' takes ({}), got ({})", name, text_of(entry.parameters), text_of(types))};
  };
  if (types.size() != entry.parameters.size()) throw refuse();
  std::vector<KernelPtr> conversions;
  for (std::size_t k = 0; k < types.size(); ++k) {
    KernelPtr& converted = conversions.emplace_back();
    if (types[k] == entry.parameters[k]) continue;
    converted = conversion(types[k], entry.parameters[k]);
    if (!converted) throw refuse();
  }
  std::string key = fmt::format("{} {} {} ({})", library->path(), library->version(), name, text_of(types));
  return std::make_shared<LibraryKernel>(std::move(library), entry, std::move(conversions), std::move(key));
}

}  // namespace colonnade::frame
