// Options of a result: a JSON object with checked keys and types. A value of the wrong type or an unknown key
// is an error that names it and lists the alternatives.
#ifndef COLONNADE_FRAME_RESULTS_OPTIONS_H
#define COLONNADE_FRAME_RESULTS_OPTIONS_H

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace colonnade::frame {

class Options {
 public:
  // `what`: the owner of the options, for messages: "a histogram".
  Options(const std::string& json, std::string what);
  ~Options();
  Options(Options&&) noexcept;

  bool has(std::string_view key) const;
  std::string text(std::string_view key, std::string fallback = {}) const;
  // One of `known`.
  std::string choice(std::string_view key, const std::vector<std::string>& known) const;
  bool flag(std::string_view key, bool fallback) const;
  double number(std::string_view key, double fallback) const;
  std::uint64_t count(std::string_view key, std::uint64_t fallback, std::uint64_t least,
                      std::uint64_t most) const;
  // Bytes: a number, or a text as "128 MiB".
  std::uint64_t size(std::string_view key, std::uint64_t fallback) const;
  std::variant<std::int64_t, double> integer_or_real(std::string_view key) const;  // 0 if it is missing
  std::vector<std::string> texts(std::string_view key) const;
  std::vector<double> numbers(std::string_view key) const;
  // A list of objects, or an object. Empty if it is missing.
  std::vector<Options> objects(std::string_view key) const;
  Options object(std::string_view key) const;
  bool is_text(std::string_view key) const;
  bool is_object(std::string_view key) const;
  // Throws for a key that is not listed.
  void only(const std::vector<std::string>& known) const;

  [[noreturn]] void refuse(std::string_view key, std::string_view wanted) const;
  const std::string& what() const noexcept { return what_; }

 private:
  struct Json;
  Options(std::unique_ptr<Json> json, std::string what);
  const Json* find(std::string_view key) const;
  std::unique_ptr<Json> json_;
  std::string what_;
};

}  // namespace colonnade::frame

#endif
