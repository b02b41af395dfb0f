// A source of entries without columns: all columns are defined.
#include <fmt/format.h>

#include <algorithm>

#include "colonnade/error.h"
#include "frame/sources/parts.h"
#include "frame/sources/source.h"

namespace colonnade::frame {
namespace {

// The cost per entry is unknown: small parts, so that all workers get some, but a bounded number of
// them.
constexpr std::uint64_t most_parts = std::uint64_t{1} << 20;

[[noreturn]] void fail_column() {
  throw Error(ErrorKind::not_found, "an empty source has no columns", "define some");
}

class EmptyCursor final : public Cursor {
 public:
  void start(const Part&, std::span<const Part>) override {}
  ValuesPtr read(std::uint32_t, const Rows&, BlockMemory&) override { fail_column(); }
};

class EmptySource final : public Source {
 public:
  explicit EmptySource(std::uint64_t entries) : sample_{"", 0, entries} {}

  std::uint64_t entries() const override { return sample_.entries; }
  std::span<const Sample> samples() const override { return {&sample_, 1}; }
  std::optional<std::uint32_t> find(std::string_view) override { return std::nullopt; }
  const ValueType& type(std::uint32_t) const override { fail_column(); }
  const std::string& path(std::uint32_t) const override { fail_column(); }
  bool has(std::uint32_t, unsigned) const override { return false; }
  std::vector<std::string> names() const override { return {}; }
  std::vector<Part> parts(std::uint64_t first, std::uint64_t last) const override {
    return equal_parts(std::max(limits_.empty_entries, sample_.entries / most_parts + 1), first,
                       std::min(last, sample_.entries));
  }
  std::unique_ptr<Cursor> open() const override { return std::make_unique<EmptyCursor>(); }
  std::string specification(bool /*with_index*/) const override {
    return fmt::format(R"({{"source":"empty","entries":{}}})", sample_.entries);
  }

 private:
  Sample sample_;
  PartLimits limits_ = PartLimits::of_process();
};

}  // namespace

std::shared_ptr<Source> empty_source(std::uint64_t entries) {
  return std::make_shared<EmptySource>(entries);
}

}  // namespace colonnade::frame
