// ZeroPages: sealed pages of zeros, for columns that a copy has and its source has not.
#ifndef COLONNADE_PAGE_ZERO_PAGES_H
#define COLONNADE_PAGE_ZERO_PAGES_H

#include <algorithm>
#include <cstdint>
#include <map>
#include <tuple>

#include "base/bytes.h"
#include "page/page_source.h"

namespace colonnade::page {

// Each is made once as long as it is needed again.
class ZeroPages {
 public:
  explicit ZeroPages(bool with_checksums) : with_checksums_(with_checksums) {}

  struct ZeroPage {
    Bytes stored;
    std::uint64_t size = 0;  // of the block
  };
  static std::uint32_t most_elements(const ColumnEncoding& encoding) {
    constexpr std::uint64_t page_bits = std::uint64_t{8} << 18;
    return static_cast<std::uint32_t>(page_bits / std::max<unsigned>(encoding.bits, 1));
  }
  void begin_cluster() {
    constexpr std::size_t most_kept = 4096;
    if (pages_.size() > most_kept) pages_.clear();
  }
  // It lives until the next cluster begins.
  const ZeroPage& get(const ColumnDescriptor& column, std::uint32_t elements, std::uint32_t compression) {
    const ColumnEncoding& encoding = column.encoding;
    const Key key{encoding.type, encoding.bits, encoding.min, encoding.max, elements, compression};
    const auto [found, is_new] = pages_.try_emplace(key);
    if (is_new) found->second = make(encoding, elements, compression);
    return found->second;
  }

 private:
  using Key = std::tuple<ColumnType, unsigned, double, double, std::uint32_t, std::uint32_t>;

  ZeroPage make(const ColumnEncoding& encoding, std::uint32_t elements, std::uint32_t compression) const;

  const bool with_checksums_;
  std::map<Key, ZeroPage> pages_;
};

}  // namespace colonnade::page

#endif
