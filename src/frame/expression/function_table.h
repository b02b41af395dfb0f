// A table of functions to look names up in. Formulas use the one of the whole library; tests bring their own.
#ifndef COLONNADE_FRAME_EXPRESSION_FUNCTION_TABLE_H
#define COLONNADE_FRAME_EXPRESSION_FUNCTION_TABLE_H

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "frame/expression/function.h"

namespace colonnade::frame {

class FunctionTable {
 public:
  // Throws std::logic_error if a name stands twice.
  explicit FunctionTable(std::vector<Function> functions);
  FunctionTable(const FunctionTable&) = delete;
  FunctionTable& operator=(const FunctionTable&) = delete;

  const std::vector<Function>& functions() const noexcept { return functions_; }
  const Function* find(std::string_view name) const;
  // What can be called by name ("Sum"), or on an object (".size"), for messages.
  std::vector<std::string> names(bool methods) const;

 private:
  std::vector<Function> functions_;
  std::unordered_map<std::string_view, const Function*> by_name_;
};

const FunctionTable& standard_functions();

// Without "::" in front and the namespaces that the table leaves out.
std::string_view without_namespace(std::string_view name);

}  // namespace colonnade::frame

#endif
