// Functions that users write as texts of C++, for expressions to call:
//
//   const float limit = 20;  // expressions can name it, too
//   int count_above(const ROOT::RVecF& pt) {
//     int n = 0;
//     for (auto x : pt) if (x > limit) ++n;
//     return n;
//   }
#ifndef COLONNADE_FRAME_EXPRESSION_TEXT_FUNCTIONS_H
#define COLONNADE_FRAME_EXPRESSION_TEXT_FUNCTIONS_H

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "colonnade/block.h"

namespace colonnade::frame {

struct LambdaBody;

class TextFunctions {
 public:
  struct Signature {
    std::string name;
    std::string result;                   // a type, or "auto"
    std::vector<std::string> parameters;  // likewise
    bool is_constant = false;             // expressions write its name alone
  };

  // Throws ErrorKind::usage for what is no such text, and what binding a text throws; templates and
  // functions whose parameters are "auto" are bound when they are called.
  explicit TextFunctions(std::string text);

  std::vector<Signature> signatures() const;  // names may be there several times
  bool is_constant(std::string_view name) const;
  // The kernel of a function that is called with arguments of these types, or of a constant, which takes
  // none. Among functions of one name, the one with exactly these parameters is taken, else the first that
  // accepts the arguments. Throws ErrorKind::not_found, and ErrorKind::type if they do not fit.
  KernelPtr kernel(std::string_view name, std::span<const ValueType> types) const;

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

// The body of the function that a kernel calls; null for other kernels.
const LambdaBody* body_of_function(const Kernel& kernel);

}  // namespace colonnade::frame

#endif
