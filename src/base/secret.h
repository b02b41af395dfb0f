// A text that cannot be printed: it has no operator<<, no formatter, and no conversion.
#ifndef COLONNADE_BASE_SECRET_H
#define COLONNADE_BASE_SECRET_H

#include <string>
#include <utility>

namespace colonnade {

class Secret {
 public:
  Secret() = default;
  explicit Secret(std::string text) : text_(std::move(text)) {}
  const std::string& reveal() const noexcept { return text_; }
  bool empty() const noexcept { return text_.empty(); }

 private:
  std::string text_;
};

}  // namespace colonnade

#endif
