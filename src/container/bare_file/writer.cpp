// Blobs are appended; the anchor in the head is overwritten in one write, last, so each commit is all or
// nothing.
#include "container/bare_file/writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/after_commit.h"
#include "container/bare_file/reader.h"
#include "container/root_file/chunks.h"
#include "format/tfile_anchor.h"
#include "format/tfile_records.h"

namespace colonnade::container {

namespace {

void check_key_limit(std::uint64_t size) {
  if (size < sizeof(std::uint64_t) * 2)
    throw Error(ErrorKind::usage, fmt::format("a maximum key size of {} bytes is not possible", size),
                "a value of at least 16");
}

}  // namespace

void BareFileWriter::check(std::string_view name, const ContainerOptions& options) {
  constexpr std::size_t longest_name = 254;
  if (name.empty() || name.size() > longest_name)
    throw Error(ErrorKind::usage,
                fmt::format("a bare file cannot hold a data set whose name has {} characters", name.size()),
                "a name of 1 to 254 characters, or a ROOT file");
  check_key_limit(options.max_key_size);
}

void BareFileWriter::use_max_key_size(std::uint64_t size) {
  check_key_limit(size);
  options_.max_key_size = size;
}

BareFileWriter::BareFileWriter(std::unique_ptr<io::WritableFile> file, std::string_view name,
                               ContainerOptions options)
    : file_(std::move(file)), options_(std::move(options)), name_(name) {
  ByteWriter head;
  head.append(as_bytes(bare_file_magic));
  head.be<std::uint32_t>(format::TFileHeader{}.version);
  head.be<std::uint32_t>(bare_file_version);
  head.be<std::uint32_t>(options_.root_compression);
  Anchor nothing;
  nothing.epoch = nothing.minor = 0;
  const Bytes empty = format::write_anchor(nothing);
  head.append(ByteSpan(empty).first(empty.size() - sizeof(std::uint64_t)));
  format::write_tstring(head, name_);
  anchor_at_ = head.position();
  head.append(Bytes(format::anchor_size));  // zeros until the first commit: not a valid anchor
  file_->write(0, head.view());
  end_ = head.position();
}

std::unique_ptr<BareFileWriter> BareFileWriter::replace(std::unique_ptr<io::WritableFile> file,
                                                        std::string_view name,
                                                        const ContainerOptions& options) {
  const std::string uri = file->uri();
  return with_context({.uri = uri, .data_set = std::string(name)}, [&] {
    Bytes first(static_cast<std::size_t>(std::min<std::uint64_t>(file->size(), longest_bare_file_head)));
    file->read(0, first);
    const BareFileHead head = read_bare_file_head(first);
    if (head.name != name)
      throw Error(ErrorKind::not_found, fmt::format("there is no data set \"{}\"", name),
                  fmt::format("\"{}\"", head.name));
    std::unique_ptr<BareFileWriter> writer(new BareFileWriter(std::move(file), options));
    writer->name_ = head.name;
    writer->anchor_at_ = head.anchor_at;
    writer->size_before_ = writer->file_->size();
    writer->cut_to_ = writer->size_before_;
    writer->end_ = std::max<std::uint64_t>(writer->file_->size(), head.anchor_at + format::anchor_size);
    return writer;
  });
}

void BareFileWriter::check_open() const {
  if (closed_)
    throw Error(ErrorKind::usage, "the file is already closed", "write before close()", {.uri = uri()});
}

std::uint64_t BareFileWriter::write_split(ByteSpan payload) {
  const ChunkPlan plan = plan_chunks(payload.size(), options_.max_key_size, ErrorKind::usage);
  ByteWriter offsets;
  for (ByteSpan rest = payload.subspan(static_cast<std::size_t>(plan.first_data)); !rest.empty();) {
    const ByteSpan chunk = rest.first(std::min<std::size_t>(rest.size(), options_.max_key_size));
    offsets.le<std::uint64_t>(end_.fetch_add(chunk.size()));
    file_->write(load_le<std::uint64_t>(offsets.view().last(sizeof(std::uint64_t)).data()), chunk);
    rest = rest.subspan(chunk.size());
  }
  const std::array<ByteSpan, 2> first{payload.first(static_cast<std::size_t>(plan.first_data)),
                                      offsets.view()};
  const std::uint64_t offset = end_.fetch_add(plan.first_data + plan.offset_bytes);
  file_->write_vector(offset, first);
  return offset;
}

Locator BareFileWriter::write_blob(ByteSpan payload, std::uint64_t) {
  check_open();
  if (payload.size() > options_.max_key_size || payload.empty())
    return {.size = payload.size(), .offset = write_split(payload)};
  const std::uint64_t offset = reserve(payload.size());
  file_->write(offset, payload);
  return {.size = payload.size(), .offset = offset};
}

std::uint64_t BareFileWriter::reserve(std::uint64_t size) {
  const std::lock_guard lock(mutex_);
  const auto gap = space_.allocate_in_gap(size, RootFileSpace::Use::index);
  const std::uint64_t offset = gap ? gap->offset : end_.fetch_add(size);
  blobs_[offset] = {offset, offset + size - 1};
  return offset;
}

void BareFileWriter::retire_blob(const Locator& blob) {
  const std::lock_guard lock(mutex_);
  if (auto known = blobs_.extract(blob.offset)) retired_.back().push_back(known.mapped());
}

void BareFileWriter::reuse_retired() {
  const std::lock_guard lock(mutex_);
  retired_.emplace_back();
  if (retired_.size() <= 2 * commits_until_reuse) return;
  // From here on, nothing on the device refers to the retired space, even after a crash of the machine.
  sync_commit();
  for (; retired_.size() > commits_until_reuse; retired_.pop_front())
    for (const format::FreeSegment& segment : retired_.front()) space_.release(segment);
}

std::vector<std::uint64_t> BareFileWriter::write_parts(std::span<const ByteSpan> parts) {
  check_open();
  std::vector<std::uint64_t> offsets;
  offsets.reserve(parts.size());
  while (offsets.size() < parts.size()) {
    const std::span<const ByteSpan> rest = parts.subspan(offsets.size());
    std::size_t count = 0;
    std::uint64_t size = 0;
    while (count < rest.size() && rest[count].size() <= options_.max_key_size) size += rest[count++].size();
    if (count == 0) {
      offsets.push_back(write_split(rest[0]));
      continue;
    }
    std::uint64_t offset = end_.fetch_add(size);
    file_->preallocate(offset + size);
    file_->write_vector(offset, rest.first(count));
    for (ByteSpan part : rest.first(count)) {
      offsets.push_back(offset);
      offset += part.size();
    }
  }
  return offsets;
}

WriteContainer::CopiedRanges BareFileWriter::copy_ranges(const io::RandomAccessFile& from,
                                                         std::span<const FileRange> ranges) {
  check_open();
  CopiedRanges copied;
  for (const FileRange& range : ranges) {
    const std::uint64_t place = end_.fetch_add(range.size + io::WritableFile::sharing_unit - 1);
    const std::uint64_t at = place + padding(place, range);
    copied.shared += file_->copy(at, from, range.offset, range.size);
    copied.offsets.push_back(at);
  }
  return copied;
}

void BareFileWriter::commit(const Anchor& anchor) {
  check_open();
  is_half_made_ = !file_->is_published();
  settle();
  const std::uint64_t end = end_;  // of what the anchor leads to
  cut_to_ = 0;
  file_->write(anchor_at_, format::write_anchor(anchor, format::ChecksumOrder::little_endian));
  settle_commit();
  if (file_->publish()) settle_commit();
  is_half_made_ = false;
  cut_to_ = end;
  reuse_retired();
}

// Makes everything written so far survive a crash of the configured kind.
void BareFileWriter::settle() {
  if (options_.durability == Durability::machine)
    file_->sync();
  else
    file_->flush();
}

// After the write that makes a commit.
void BareFileWriter::settle_commit() {
  options_.durability == Durability::machine ? sync_commit() : file_->flush();
}

void BareFileWriter::sync_commit() {
  file_->flush();
  file_->is_visible() ? after_commit([&] { file_->sync(); }) : file_->sync();
}

BareFileWriter::~BareFileWriter() {
  if (closed_ || is_half_made_ || !process_.is_current()) return;
  try {
    if (file_->is_published()) cut_tail();
  } catch (...) {
    return;  // the file is as after a crash
  }
}

void BareFileWriter::close() {
  if (may_retry()) return file_->close();
  if (closed_) return;
  closed_ = true;
  if (is_half_made_) return file_->discard();
  cut_tail();
  file_->is_visible() ? after_commit([&] { file_->close(); }) : file_->close();
}

// Gives back what was written if nothing was committed, perhaps because the disk is full.
void BareFileWriter::cut_tail() {
  const std::uint64_t end = cut_to_;
  if (end == 0) return;
  try {
    file_->flush();
  } catch (const Error&) {  // truncating tells what of that matters
  }
  try {
    if (file_->size() > end) file_->truncate(end);
  } catch (const Error&) {
    return;  // the file is as after a crash
  }
}

void BareFileWriter::abandon() {
  if (may_retry()) return file_->discard();
  if (closed_ || (file_->is_published() && !file_->appears_at_close())) return close();
  closed_ = true;
  file_->discard();
}

}  // namespace colonnade::container
