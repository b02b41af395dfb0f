// Data for colonnade_write: a stream of tokens, as root_tools/root_bridge.py makes them (so that ROOT's
// writer and ours are given the same bytes).
//
//   'i' + 8 bytes  integer, little endian, two's complement        'n'  nothing
//   'd' + 8 bytes  double                                          'l' + 8 bytes  a list of so many values
//   's' + 8 bytes + text                                           'v' + 8 bytes  a variant: the tag and the
//                                                                                 value (none for tag 0)
#ifndef COLONNADE_TESTS_INTEROP_TOKENS_H
#define COLONNADE_TESTS_INTEROP_TOKENS_H

#include <bit>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>

namespace interop {

class Tokens {
 public:
  explicit Tokens(std::string_view bytes) : rest_(bytes) {}

  bool empty() const { return rest_.empty(); }
  char peek() const { return rest_.empty() ? '\0' : rest_[0]; }
  bool take_nothing() {
    if (peek() != 'n') return false;
    rest_.remove_prefix(1);
    return true;
  }
  std::uint64_t number(char tag) {
    if (peek() != tag || rest_.size() < 9)
      throw std::runtime_error(std::string("expected token '") + tag + "', found '" + peek() + "'");
    std::uint64_t value = 0;
    std::memcpy(&value, rest_.data() + 1, sizeof value);
    rest_.remove_prefix(9);
    return value;
  }
  template <class T>
  T integer() {
    return static_cast<T>(number('i'));
  }
  double real() {
    return peek() == 'i' ? static_cast<double>(integer<std::int64_t>()) : std::bit_cast<double>(number('d'));
  }
  std::uint64_t list() { return number('l'); }
  std::uint64_t list(std::uint64_t size) {
    const std::uint64_t found = list();
    if (found != size)
      throw std::runtime_error("a list of " + std::to_string(found) + " where " + std::to_string(size) +
                               " values are expected");
    return found;
  }
  std::uint64_t variant() { return number('v'); }
  std::string text() {
    const std::uint64_t size = number('s');
    std::string value(rest_.substr(0, size));
    rest_.remove_prefix(size);
    return value;
  }

 private:
  std::string_view rest_;
};

}  // namespace interop

#endif
