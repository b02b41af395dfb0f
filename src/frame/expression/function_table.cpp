// See function_table.h and function.h.
#include "frame/expression/function_table.h"

#include <fmt/format.h>

#include <array>
#include <iterator>
#include <stdexcept>

#include "base/made_once.h"

namespace colonnade::frame {
namespace {

std::vector<Function> assemble() {
  std::vector<Function> all;
  for (const auto part : {operator_functions, math_functions, list_functions, combination_functions,
                          physics_functions, string_functions}) {
    std::vector<Function> functions = part();
    std::move(functions.begin(), functions.end(), std::back_inserter(all));
  }
  return all;
}

}  // namespace

FunctionTable::FunctionTable(std::vector<Function> functions) : functions_(std::move(functions)) {
  for (const Function& function : functions_)
    if (!by_name_.emplace(function.name, &function).second)
      throw std::logic_error(fmt::format("two functions are called '{}'", function.name));
}

const Function* FunctionTable::find(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : found->second;
}

std::vector<std::string> FunctionTable::names(bool methods) const {
  std::vector<std::string> found;
  for (const Function& function : functions_) {
    const std::string_view name = function.name;
    const bool is_word = name.find_first_of("+-*/%^&|~!<>=?[]{}() ") == std::string_view::npos;
    if (is_word && name != "cast" && name != "make_list" && name.starts_with('.') == methods)
      found.emplace_back(name.substr(methods ? 1 : 0));
  }
  return found;
}

const FunctionTable& standard_functions() {
  static MadeOnce<FunctionTable> table;
  return table.get([] { return FunctionTable(assemble()); });
}

const std::vector<Function>& all_functions() {
  return standard_functions().functions();
}

const Function* find_function(std::string_view name) {
  return standard_functions().find(without_namespace(name));
}

std::string_view without_namespace(std::string_view name) {
  constexpr std::array<std::string_view, 4> namespaces = {"::", "std::", "ROOT::VecOps::", "VecOps::"};
  for (const std::string_view space : namespaces)
    if (name.starts_with(space)) name.remove_prefix(space.size());
  return name;
}

}  // namespace colonnade::frame
