// See recursion.h.
#include "frame/expression/recursion.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "frame/functions/lists.h"

namespace colonnade::frame {
namespace {

constexpr std::uint32_t most_calls = 500;
// Each operation needs a part of the stack.
constexpr std::uint32_t deepest_operations = 3000;

// Calls of functions within themselves, on this thread.
thread_local std::uint32_t nested_operations = 0;

class Nesting {
 public:
  explicit Nesting(std::uint32_t operations) : operations_(operations) { nested_operations += operations_; }
  ~Nesting() { nested_operations -= operations_; }
  Nesting(const Nesting&) = delete;
  Nesting& operator=(const Nesting&) = delete;

 private:
  std::uint32_t operations_;
};

ValuesPtr run_self_call(const SelfCall& called, const CallContext& context,
                        std::span<const ValuesPtr> arguments) {
  const std::shared_ptr<const Kernel> function = called.function.lock();
  if (function == nullptr) throw std::logic_error("a function calls itself after its end");
  const std::uint32_t operations = std::max(called.depth, deepest_operations / most_calls);
  if (nested_operations + operations > deepest_operations)
    lists::fail_at(
        context, 0,
        fmt::format("'{}' calls itself more than {} times", called.name, deepest_operations / operations),
        "write a loop, or check when the calls end");
  const Nesting nesting(operations);
  return function->run(context, arguments);
}

}  // namespace

Bound bind_self_call(const std::shared_ptr<SelfCall>& called, const Call& call) {
  const auto& parameters = called->parameters;
  if (call.arguments.size() != parameters.size())
    return {nullptr, fmt::format("it calls itself with {} arguments, not {}", call.arguments.size(),
                                 parameters.size())};
  std::vector<KernelPtr> conversions;
  std::string key = "self call of " + called->name;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    conversions.push_back(conversion(call.arguments[i].type, parameters[i]));
    if (conversions.back() == nullptr)
      return {nullptr, fmt::format("argument {}: {} does not convert to {}", i + 1,
                                   call.arguments[i].type.name(), parameters[i].name())};
    key += fmt::format(" {}", call.arguments[i].type.name());
  }
  // Its own body cannot hold the function; that for arguments of other types does.
  const auto body = [called, function = called->function.lock()](const CallContext& context,
                                                                 std::span<const ValuesPtr> arguments) {
    return run_self_call(*called, context, arguments);
  };
  return lists::make_bound({std::move(key), called->result, std::move(conversions), body, true});
}

}  // namespace colonnade::frame
