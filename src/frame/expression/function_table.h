// A table of functions, looked up by name. Formulas use that of the whole library; tests bring their own.
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
  // Throws std::logic_error for a duplicate name.
  explicit FunctionTable(std::vector<Function> functions);
  FunctionTable(const FunctionTable&) = delete;
  FunctionTable& operator=(const FunctionTable&) = delete;

  const std::vector<Function>& functions() const noexcept { return functions_; }
  const Function* find(std::string_view name) const;
  // The functions callable by name ("Sum"), or on an object (".size"), for messages.
  std::vector<std::string> names(bool methods) const;

 private:
  std::vector<Function> functions_;
  std::unordered_map<std::string_view, const Function*> by_name_;
};

const FunctionTable& standard_functions();

// Without a leading "::" and the namespaces that the table omits.
std::string_view without_namespace(std::string_view name);

}  // namespace colonnade::frame

#endif
