// Records are found by their first eight bytes; records of version 1 by the header checksum in them, which
// hardly occurs elsewhere. Checksums confirm them.
#include "page/cluster_journal.h"

#include <algorithm>
#include <array>

#include "base/aligned_buffer.h"
#include "base/interruption.h"
#include "format/envelope.h"
#include "page/page_source.h"

namespace colonnade::page {
namespace {

constexpr std::size_t block_size = std::size_t{1} << 20;
constexpr std::size_t word = sizeof(std::uint64_t);
constexpr std::string_view record_magic = "CldJrnl2";
constexpr std::size_t record_head = 9 * word;
constexpr std::string_view commit_magic = "CldComm2";
constexpr std::size_t commit_size = 7 * word;
constexpr std::size_t old_head = 2 * word;  // of version 1: type and length, header checksum
constexpr std::size_t old_trailer = 2 * word;
constexpr std::uint64_t page_list_type = 3;
constexpr std::uint64_t largest_record = std::uint64_t{256} << 20;
constexpr std::size_t most_torn = 65536;  // limit of distinct runs

Bytes with_sum(ByteWriter& out) {
  out.le(codec::xxh3(out.view()));
  return out.take();
}

std::uint64_t word_at(ByteSpan bytes, std::size_t index) {
  return load_le<std::uint64_t>(bytes.data() + index * word);
}

bool has_sum(ByteSpan bytes) {
  return codec::xxh3(bytes.first(bytes.size() - word)) == load_le<std::uint64_t>(bytes.last(word).data());
}

bool begins_with(ByteSpan bytes, std::string_view magic) {
  const ByteSpan wanted = as_bytes(magic);
  return bytes.size() >= wanted.size() && std::equal(wanted.begin(), wanted.end(), bytes.begin());
}

// Finds the occurrences of some bytes in a block; searches again only once the last one has been
// passed.
class Occurrences {
 public:
  Occurrences(ByteSpan block, ByteSpan wanted, std::size_t before)
      : block_(block), wanted_(wanted), before_(before) {}

  // The first position at or after `from` that lies `before` bytes in front of the bytes; the end of the
  // block if there is none.
  std::size_t next(std::size_t from) {
    if (known_ && place_ >= from) return place_;
    known_ = true;
    const auto begin = block_.begin() + static_cast<std::ptrdiff_t>(std::min(from + before_, block_.size()));
    const auto hit = std::search(begin, block_.end(), wanted_.begin(), wanted_.end());
    place_ = hit == block_.end() ? block_.size() : static_cast<std::size_t>(hit - block_.begin()) - before_;
    return place_;
  }

 private:
  ByteSpan block_;
  ByteSpan wanted_;
  std::size_t before_;
  std::size_t place_ = 0;
  bool known_ = false;
};

class Scanner {
 public:
  Scanner(const io::RandomAccessFile& file, std::uint64_t first, const Descriptor& descriptor,
          const std::function<void(JournalRecord&&)>& found)
      : file_(file),
        first_(first),
        size_(file.size()),
        header_offset_(descriptor.anchor.header_offset),
        found_(found) {
    // The context for page lists: the columns, and a group of one cluster.
    probe_.header_checksum = descriptor.header_checksum;
    probe_.header_columns = descriptor.header_columns;
    probe_.columns = descriptor.columns;
    probe_.cluster_groups.push_back({.clusters = 1});
    // In a valid file every byte is read at most once by the search and once in a record.
    budget_ = 4 * (size_ - std::min(first_, size_)) + largest_record;
  }

  JournalScan run() {
    Bytes block;
    std::uint64_t at = first_;
    while (at < size_ && size_ - at >= old_head && !scan_.given_up) {
      Interruption::check_now_and_then();
      block.resize(static_cast<std::size_t>(std::min<std::uint64_t>(block_size, size_ - at)));
      file_.read(at, block);
      at = search(block, at);
    }
    scan_.bytes = size_ - std::min(first_, size_);
    return scan_;
  }

 private:
  // Returns the position at which the search continues.
  std::uint64_t search(ByteSpan block, std::uint64_t at) {
    std::array<std::byte, word> checksum;
    store_le(checksum.data(), probe_.header_checksum);
    Occurrences records(block, as_bytes(record_magic), 0);
    Occurrences old_records(block, checksum, word);
    std::size_t from = 0;
    while (!scan_.given_up) {
      const std::size_t start = std::min(records.next(from), old_records.next(from));
      if (start == block.size()) break;
      const ByteSpan rest = block.subspan(start);
      const std::uint64_t length =
          begins_with(rest, record_magic) ? take_record(rest, at + start) : take_old_record(rest, at + start);
      if (length >= rest.size()) return at + start + length;
      from = start + std::max<std::size_t>(static_cast<std::size_t>(length), 1);
    }
    // A record may begin in the last bytes of the block.
    return at + block.size() == size_ ? size_ : at + block.size() - (record_head - 1);
  }

  // The size of the record that begins here, or 0. `head` is the part of it in memory.
  std::uint64_t take_record(ByteSpan head, std::uint64_t offset) {
    if (head.size() < record_head || !has_sum(head.first(record_head))) return 0;
    const JournalRun run{word_at(head, 1), word_at(head, 2)};
    const std::uint64_t stored = word_at(head, 5);
    const std::uint64_t length = word_at(head, 6);
    const std::uint64_t left = size_ - offset - record_head;
    const bool is_ours = word_at(head, 3) == header_offset_ && word_at(head, 4) == probe_.header_checksum;
    if (!is_ours) return stored <= left ? record_head + stored : 0;
    if (stored > left || stored > largest_record || length > largest_record ||
        !is_plausible_length(stored, length))
      return torn(run);
    const std::uint64_t size = record_head + stored;
    Bytes copy;
    const ByteSpan record = whole(head, offset, size, copy);
    if (record.empty()) return 0;
    const ByteSpan block = record.subspan(record_head);
    if (codec::xxh3(block) != word_at(record, 7)) return torn(run);
    if (length == stored) {
      hand_out(block, offset, size, run);
      return size;
    }
    AlignedBuffer content;
    try {
      codec::decompress_growing(block, length, content);
    } catch (const Error&) {
      return torn(run);
    }
    hand_out(content.span(), offset, size, run);
    return size;
  }

  std::uint64_t take_old_record(ByteSpan head, std::uint64_t offset) {
    const std::uint64_t first = word_at(head, 0);
    const std::uint64_t length = first >> 16;
    const std::uint64_t left = size_ - offset;
    if ((first & 0xffff) != page_list_type || length < old_head + word || length > largest_record ||
        length > left || left - length < old_trailer)
      return 0;
    const std::uint64_t size = length + old_trailer;
    Bytes copy;
    const ByteSpan record = whole(head, offset, size, copy);
    if (record.empty()) return 0;
    const ByteSpan envelope = record.first(static_cast<std::size_t>(length));
    if (!has_sum(envelope)) return 0;
    // A page list written by a checkpoint, or the record of another data set, has no such trailer.
    const ByteSpan trailer = record.last(old_trailer);
    if (word_at(trailer, 0) != header_offset_ ||
        !has_sum(record.subspan(static_cast<std::size_t>(length) - word)))
      return length;
    hand_out(envelope, offset, size, std::nullopt);
    return size;
  }

  // The bytes of a record, from memory or from the file; empty if the scan must give up.
  ByteSpan whole(ByteSpan head, std::uint64_t offset, std::uint64_t size, Bytes& copy) {
    if (size > budget_) {
      scan_.given_up = true;
      return {};
    }
    budget_ -= size;
    if (size <= head.size()) return head.first(static_cast<std::size_t>(size));
    copy.resize(static_cast<std::size_t>(size));
    file_.read(offset, copy);
    return copy;
  }

  std::uint64_t torn(const JournalRun& run) {
    if (scan_.torn.size() < most_torn) scan_.torn.push_back(run);
    return 0;
  }

  void hand_out(ByteSpan envelope, std::uint64_t offset, std::uint64_t size,
                const std::optional<JournalRun>& run) {
    JournalRecord record{.offset = offset, .size = size, .run = run};
    probe_.clusters.clear();
    try {
      format::read_page_list(envelope, 0, probe_);
      record.cluster = std::move(probe_.clusters.front());
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::resource) throw;  // it says nothing about the record
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

// The positions in a block where a record of version 1 may begin, of data sets with these checksums.
void trace_old_records(ByteSpan block, const std::unordered_set<std::uint64_t>& checksums,
                       const std::function<void(const JournalTrace&)>& found) {
  constexpr std::array type{std::byte{page_list_type}, std::byte{0}};
  for (std::size_t at = 0; block.size() - at >= old_head; ++at) {
    const auto begin = block.begin() + static_cast<std::ptrdiff_t>(at);
    const auto hit = std::search(begin, block.end(), type.begin(), type.end());
    at += static_cast<std::size_t>(hit - begin);
    if (block.size() - at < old_head) return;
    const std::uint64_t checksum = word_at(block.subspan(at), 1);
    if (checksums.contains(checksum)) found({.header_checksum = checksum});
  }
}

}  // namespace

void trace_journal(const io::RandomAccessFile& file, std::uint64_t first,
                   const std::unordered_set<std::uint64_t>& old_checksums,
                   const std::function<void(const JournalTrace&)>& found) {
  const std::uint64_t size = file.size();
  Bytes block;
  for (std::uint64_t at = first; at < size && size - at >= old_head;) {
    Interruption::check_now_and_then();
    block.resize(static_cast<std::size_t>(std::min<std::uint64_t>(block_size, size - at)));
    file.read(at, block);
    Occurrences records(block, as_bytes(record_magic), 0);
    for (std::size_t start = records.next(0); block.size() - start >= record_head;
         start = records.next(start + 1)) {
      const ByteSpan head = ByteSpan(block).subspan(start, record_head);
      if (has_sum(head))
        found({.header_offset = word_at(head, 3), .run = JournalRun{word_at(head, 1), word_at(head, 2)}});
    }
    if (!old_checksums.empty()) trace_old_records(block, old_checksums, found);
    if (at + block.size() == size) return;
    at += block.size() - (record_head - 1);  // a record may begin in the last bytes of the block
  }
}

Bytes journal_record(const Descriptor& descriptor, std::size_t cluster, const JournalRun& run,
                     const codec::CompressionSettings& compression) {
  const format::EnvelopeBytes list = format::write_page_list(descriptor, cluster, 1);
  AlignedBuffer block;
  codec::compress(compression, list.bytes, block);
  ByteWriter head;
  head.append(as_bytes(record_magic));
  head.le(run.begin);
  head.le(run.number);
  head.le<std::uint64_t>(descriptor.anchor.header_offset);
  head.le<std::uint64_t>(descriptor.header_checksum);
  head.le<std::uint64_t>(block.size());
  head.le<std::uint64_t>(list.bytes.size());
  head.le(codec::xxh3(block.span()));
  Bytes record = with_sum(head);
  record.insert(record.end(), block.span().begin(), block.span().end());
  return record;
}

// Readers take a footer for what the anchor says: split together with a record, its pieces would be others.
Bytes footer_blob(const Descriptor& descriptor, const CommitRecord& record, ByteSpan stored_footer,
                  std::uint64_t max_key_size) {
  Bytes blob(stored_footer.begin(), stored_footer.end());
  if (blob.size() + commit_size > max_key_size) return blob;
  ByteWriter out;
  out.append(as_bytes(commit_magic));
  out.le(record.run.begin);
  out.le(record.run.number);
  out.le<std::uint64_t>(descriptor.anchor.header_offset);
  out.le<std::uint64_t>(record.is_last ? 1 : 0);
  out.le(codec::xxh3(stored_footer));
  const Bytes bytes = with_sum(out);
  blob.insert(blob.end(), bytes.begin(), bytes.end());
  return blob;
}

std::optional<CommitRecord> read_commit_record(const io::RandomAccessFile& file, const Anchor& anchor) {
  const std::uint64_t size = file.size();
  if (anchor.footer_size > size || anchor.footer_offset > size - anchor.footer_size ||
      size - anchor.footer_offset - anchor.footer_size < commit_size)
    return std::nullopt;
  Bytes bytes(static_cast<std::size_t>(anchor.footer_size) + commit_size);
  file.read(anchor.footer_offset, bytes);
  const ByteSpan footer = ByteSpan(bytes).first(static_cast<std::size_t>(anchor.footer_size));
  const ByteSpan record = ByteSpan(bytes).last(commit_size);
  if (!begins_with(record, commit_magic) || !has_sum(record) || word_at(record, 3) != anchor.header_offset ||
      word_at(record, 5) != codec::xxh3(footer))
    return std::nullopt;
  return CommitRecord{{word_at(record, 1), word_at(record, 2)}, word_at(record, 4) != 0};
}

JournalScan scan_journal(const io::RandomAccessFile& file, std::uint64_t first, const Descriptor& descriptor,
                         const std::function<void(JournalRecord&&)>& found) {
  return Scanner(file, first, descriptor, found).run();
}

}  // namespace colonnade::page
