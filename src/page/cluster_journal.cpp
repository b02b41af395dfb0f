// A record is found by the header checksum in it, eight bytes that hardly occur elsewhere; the two sums at
// its end decide.
#include "page/cluster_journal.h"

#include <algorithm>
#include <array>

#include "codec/compression.h"
#include "format/envelope.h"

namespace colonnade::page {
namespace {

constexpr std::size_t block_size = std::size_t{1} << 20;
constexpr std::size_t envelope_head = 16;  // type and length, header checksum
constexpr std::size_t trailer_size = 16;
constexpr std::uint64_t page_list_type = 3;
constexpr std::uint64_t largest_record = std::uint64_t{256} << 20;

Bytes trailer_of(ByteSpan envelope, std::uint64_t header_offset) {
  ByteWriter out;
  out.append(envelope.last(sizeof(std::uint64_t)));
  out.le(header_offset);
  const std::uint64_t sum = codec::xxh3(out.view());
  out.le(sum);
  const ByteSpan bytes = out.view().subspan(sizeof(std::uint64_t));
  return {bytes.begin(), bytes.end()};
}

class Scanner {
 public:
  Scanner(const io::RandomAccessFile& file, std::uint64_t first, const Descriptor& descriptor,
          const std::function<void(JournalRecord&&)>& found)
      : file_(file),
        first_(first),
        size_(file.size()),
        header_offset_(descriptor.anchor.header_offset),
        found_(found) {
    // What a page list is read against: the columns, and a group of one cluster.
    probe_.header_checksum = descriptor.header_checksum;
    probe_.header_columns = descriptor.header_columns;
    probe_.columns = descriptor.columns;
    probe_.cluster_groups.push_back({.clusters = 1});
    // Every byte may honestly be read once for the search and once in a record.
    budget_ = 4 * (size_ - std::min(first_, size_)) + largest_record;
  }

  JournalScan run() {
    Bytes block;
    std::uint64_t at = first_;
    while (at < size_ && size_ - at >= envelope_head && !scan_.given_up) {
      block.resize(static_cast<std::size_t>(std::min<std::uint64_t>(block_size, size_ - at)));
      file_.read(at, block);
      at = search(block, at);
    }
    scan_.bytes = size_ - std::min(first_, size_);
    return scan_;
  }

 private:
  // Returns where the search goes on.
  std::uint64_t search(ByteSpan block, std::uint64_t at) {
    std::array<std::byte, sizeof(std::uint64_t)> wanted;
    store_le(wanted.data(), probe_.header_checksum);
    auto from = block.begin() + sizeof(std::uint64_t);
    while (true) {
      const auto hit = std::search(from, block.end(), wanted.begin(), wanted.end());
      if (hit == block.end() || scan_.given_up) break;
      const auto start = static_cast<std::size_t>(hit - block.begin()) - sizeof(std::uint64_t);
      if (const std::uint64_t length = take_record(block.subspan(start), at + start)) {
        if (length >= block.size() - start) return at + start + length;
        from = block.begin() + static_cast<std::ptrdiff_t>(start + length);
        if (block.end() - from < static_cast<std::ptrdiff_t>(envelope_head)) return at + start + length;
        from += sizeof(std::uint64_t);
      } else {
        from = hit + 1;
      }
    }
    // A record may begin in the last bytes of the block.
    return at + block.size() == size_ ? size_ : at + block.size() - (envelope_head - 1);
  }

  // The size of the record that begins here, or 0. `head` is as much of it as is in memory.
  std::uint64_t take_record(ByteSpan head, std::uint64_t offset) {
    const auto word = load_le<std::uint64_t>(head.data());
    const std::uint64_t length = word >> 16;
    if ((word & 0xffff) != page_list_type) return 0;
    if (length < envelope_head + sizeof(std::uint64_t)) return 0;
    const std::uint64_t left = size_ - offset;
    if (length > largest_record || length > left || left - length < trailer_size) return torn();
    const std::uint64_t size = length + trailer_size;
    Bytes copy;
    if (size > head.size()) {
      if (size > budget_) {
        scan_.given_up = true;
        return 0;
      }
      copy.resize(static_cast<std::size_t>(size));
      file_.read(offset, copy);
      head = copy;
    }
    budget_ -= std::min(budget_, size);
    if (budget_ == 0) scan_.given_up = true;
    const ByteSpan record = head.first(static_cast<std::size_t>(size));
    const ByteSpan envelope = record.first(static_cast<std::size_t>(length));
    const ByteSpan sum = envelope.last(sizeof(std::uint64_t));
    if (codec::xxh3(envelope.first(envelope.size() - sum.size())) != load_le<std::uint64_t>(sum.data()))
      return torn();
    // A page list that a checkpoint wrote, or the record of another data set, has no such trailer.
    const Bytes trailer = trailer_of(envelope, header_offset_);
    if (!std::equal(trailer.begin(), trailer.end(), record.end() - trailer_size)) return length;
    hand_out(envelope, offset, size);
    return size;
  }

  std::uint64_t torn() {
    ++scan_.torn;
    return 0;
  }

  void hand_out(ByteSpan envelope, std::uint64_t offset, std::uint64_t size) {
    JournalRecord record{.offset = offset, .size = size};
    probe_.clusters.clear();
    try {
      format::read_page_list(envelope, 0, probe_);
      record.cluster = std::move(probe_.clusters.front());
    } catch (const Error& error) {
      record.problem = error.problem();
    }
    found_(std::move(record));
  }

  const io::RandomAccessFile& file_;
  std::uint64_t first_;
  std::uint64_t size_;
  std::uint64_t header_offset_;
  const std::function<void(JournalRecord&&)>& found_;
  Descriptor probe_;
  std::uint64_t budget_ = 0;
  JournalScan scan_;
};

}  // namespace

Bytes journal_record(const Descriptor& descriptor, std::size_t cluster) {
  Bytes record = format::write_page_list(descriptor, cluster, 1).bytes;
  const Bytes trailer = trailer_of(record, descriptor.anchor.header_offset);
  record.insert(record.end(), trailer.begin(), trailer.end());
  return record;
}

JournalScan scan_journal(const io::RandomAccessFile& file, std::uint64_t first, const Descriptor& descriptor,
                         const std::function<void(JournalRecord&&)>& found) {
  return Scanner(file, first, descriptor, found).run();
}

}  // namespace colonnade::page
