// Uses: when the columns of the clusters of a data set were last used, as ranges of clusters. Records come
// from other users: they take memory for what is written in them, not for what they claim.
#ifndef COLONNADE_CACHE_USES_H
#define COLONNADE_CACHE_USES_H

#include <cstdint>
#include <optional>
#include <vector>

namespace colonnade::cache {

struct UseRange {
  std::uint32_t column = 0;
  std::uint64_t first = 0;  // cluster
  std::uint64_t last = 0;
  std::int64_t time = 0;  // in Unix seconds
  friend bool operator==(const UseRange&, const UseRange&) = default;
};

// In order of columns and clusters; no two ranges have a cluster in common.
class Uses {
 public:
  // Adds a range behind all others. False: it is not behind them, or has clusters that no data set has.
  bool append(const UseRange& range);
  const std::vector<UseRange>& ranges() const noexcept { return ranges_; }
  // Empty: not known.
  std::optional<std::int64_t> time_of(std::uint32_t column, std::uint64_t cluster) const;
  // The later one of two times counts.
  static Uses merged(const Uses& one, const Uses& other);

 private:
  std::vector<UseRange> ranges_;
};

}  // namespace colonnade::cache

#endif
