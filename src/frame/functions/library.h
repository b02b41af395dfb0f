// Functions of users' shared libraries: see include/colonnade/functions.h.
#ifndef COLONNADE_FRAME_FUNCTIONS_LIBRARY_H
#define COLONNADE_FRAME_FUNCTIONS_LIBRARY_H

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "colonnade/block.h"

namespace colonnade {
struct FunctionDescription;
}

namespace colonnade::frame {

class FunctionLibrary {
 public:
  struct LibraryFunction {
    std::string name;
    ValueType result;
    std::vector<ValueType> parameters;
    const FunctionDescription* function = nullptr;
  };

  // Loads a library, once per process and permanently. Throws ErrorKind::not_found if it cannot be loaded,
  // usage if it is not a library of functions, unsupported for one of a later version.
  static std::shared_ptr<const FunctionLibrary> open(const std::string& path);

  const std::string& path() const noexcept { return path_; }
  const std::string& version() const noexcept { return version_; }
  std::span<const LibraryFunction> functions() const noexcept { return functions_; }
  // Throws ErrorKind::not_found.
  const LibraryFunction& at(std::string_view name) const;

 private:
  explicit FunctionLibrary(std::string path) : path_(std::move(path)) {}
  static std::shared_ptr<const FunctionLibrary> load(const std::string& path);

  std::string path_;
  std::string version_;
  std::vector<LibraryFunction> functions_;
};

// Calls a function for each row. Converts arguments to its parameters by C++'s rules; throws ErrorKind::type
// if there is no conversion.
KernelPtr library_kernel(std::shared_ptr<const FunctionLibrary> library, std::string_view name,
                         std::span<const ValueType> types);

}  // namespace colonnade::frame

#endif
