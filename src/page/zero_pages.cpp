// See zero_pages.h.
#include "page/zero_pages.h"

#include <cstring>
#include <string>

#include "base/floating_point.h"
#include "codec/column_codec.h"
#include "codec/compression.h"

namespace colonnade::page {

ZeroPages::ZeroPage ZeroPages::make(const ColumnEncoding& encoding, std::uint32_t elements,
                                    std::uint32_t compression) const {
  const StandardFloatingPoint state;
  const ElementType element = natural_element(encoding.type);
  AlignedBuffer values;
  values.resize(elements * size_of(element));
  std::memset(values.data(), 0, values.size());
  if (encoding.type == ColumnType::real32_quant && (encoding.min > 0 || encoding.max < 0)) {
    // The nearest that the column can hold.
    auto* const reals = static_cast<float*>(static_cast<void*>(values.data()));
    std::fill_n(reals, elements, static_cast<float>(encoding.min > 0 ? encoding.min : encoding.max));
  }
  AlignedBuffer packed;
  packed.resize(codec::packed_size(encoding, elements));
  codec::encode(encoding, element, values.data(), elements, packed.span());
  AlignedBuffer block;
  codec::compress(codec::CompressionSettings::parse(std::to_string(compression)), packed.span(), block);
  ZeroPage page{.stored = Bytes(block.span().begin(), block.span().end()), .size = block.size()};
  if (with_checksums_) {
    page.stored.resize(page.size + page_sum_size);
    store_le(page.stored.data() + page.size, codec::xxh3(ByteSpan(page.stored).first(page.size)));
  }
  return page;
}

}  // namespace colonnade::page
