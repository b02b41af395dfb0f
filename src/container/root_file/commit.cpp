// Commits to a ROOT file: the file is valid after every commit, and a crash at any moment leaves the last
// committed state intact.
//
// The head and the directories of a file determine its state. New blobs go to space that the committed
// state does not use. commit() first writes new records, which nothing refers to yet, then switches the
// pointers:
//
//   1. anchor                    [key | ROOT::RNTuple object]
//   2. directories that are new  [key | list of keys], then [key | directory]; from the innermost one
//   outwards
//   3. list of keys              [key | count | entries as found ... | our entry]  of the innermost directory
//   there was
//   4. streamer infos            [key | list]        only if ROOT::RNTuple is not described yet
//   5. free list                 [key | segments]    at the very end; lists what 6 replaces, but not what 7
//   does
//   --- the switch ---
//   6. head                      one write of    0 "root" end, free list, streamer infos ... | 100 key, name,
//                                                directory of the file: list of keys        (some 200 bytes
//                                                in all)
//   7. directory, if 3. is about a sub-directory: 60 bytes in place
//   --- a new file, after its first commit ---
//      it takes its place
//   --- some commits later, or when the file is closed ---
//   8. the replaced records are marked as gaps and may be used again
//
// Before step 6 all earlier writes are in the file (with Durability::machine: on the device). Step 6 lies
// inside the first sector of 512 bytes, and step 7 inside one, too, for directories made here: neither can be
// torn. (In foreign files and directories, a long name may spread it over two sectors of one page: a crash of
// the process cannot tear that either.) A crash before 6 leaves the old state and unused bytes behind its
// end. Between 6 and 7 the file has the new end and the old data set, whose records all still exist. After 7
// the new state holds, whether or not 8 happened.
//
// Other processes may open the file at any time. A process that has read the head before 6 and continues
// after it finds everything of the old state in place: replaced records are listed as free, but neither
// marked nor reused for some more commits. The blobs of a writer are never reused while it is open.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "base/after_commit.h"
#include "codec/compression.h"
#include "container/root_file/keys.h"
#include "container/root_file/writer.h"
#include "format/tfile_anchor.h"
#include "format/tfile_streamer_info.h"

namespace colonnade::container {
namespace {

// Free lists have few sizes, each half as large again as the one before, so that a new list fits the space of
// an earlier one: lists that grew slightly with each commit would never fit, and each would leave a gap,
// which makes them grow further.
std::uint64_t rounded_up(std::uint64_t size) {
  constexpr std::uint64_t smallest = 80;    // bytes: eight segments in the small form
  constexpr std::uint64_t largest = 16384;  // the rest goes into the key, which takes 32767
  const std::uint64_t step = std::clamp(std::bit_floor(size) / 2, smallest, largest);
  return (size + step - 1) / step * step;
}

// Makes a key without a title `length` bytes long: with spaces as its title. One of more than 254 bytes takes
// four more, so that four lengths need a longer name.
void lengthen(format::TKey& key, std::size_t length) {
  constexpr std::size_t longest_short = 254;
  std::size_t spaces = length - format::tkey_size(key);
  if (spaces > longest_short && spaces <= longest_short + 4) {
    key.name += "    ";
    spaces = length - format::tkey_size(key);
  }
  key.title.assign(spaces > longest_short ? spaces - 4 : spaces, ' ');
}

constexpr std::uint64_t sector_size = 512;

}  // namespace

// ---- Records of a commit

// Decided before the position is known, since it determines the key's length: a key may be big unnecessarily.
void RootFileWriter::make_big_if_far(format::TKey& key, std::uint64_t payload_size, std::uint64_t end) {
  constexpr std::uint64_t longest_key = 1 << 16;
  key.big = key.big || key.seek_directory > format::small_tfile_limit ||
            end + longest_key + payload_size > format::small_tfile_limit;
}

RootFileWriter::Record RootFileWriter::place(format::TKey key, ByteSpan payload) {
  key.time = now();
  if (key.object_length == 0) key.object_length = static_cast<std::uint32_t>(payload.size());
  {
    const std::lock_guard lock(mutex_);
    make_big_if_far(key, payload.size(), space_.end());
    key.key_length = format::tkey_size(key);
    if (payload.size() > format::longest_record - key.key_length)
      throw Error(ErrorKind::resource,
                  fmt::format("a record of {} bytes is too long for a ROOT file", payload.size()),
                  "fewer objects per directory");
    key.nbytes = static_cast<std::uint32_t>(key.key_length + payload.size());
    key.seek_key = reserve_locked(key.nbytes, RootFileSpace::Use::index);
  }
  const Bytes key_bytes = bytes_of(key);
  const std::array<ByteSpan, 2> record{key_bytes, payload};
  file_->write_vector(key.seek_key, record);
  return {std::move(key)};
}

RootFileWriter::Record RootFileWriter::place_key_list(const Directory& directory, std::uint32_t count,
                                                      ByteSpan entries) {
  ByteWriter payload;
  payload.be<std::uint32_t>(count);
  payload.append(entries);
  return place({.seek_directory = directory.record.seek_directory,
                .class_name = directory.class_name,
                .name = directory.name,
                .title = directory.title},
               payload.view());
}

RootFileWriter::Record RootFileWriter::place_anchor(const Anchor& anchor, const Directory& directory) {
  return place({.cycle = anchor_ ? anchor_->key.cycle : std::uint16_t{1},
                .seek_directory = directory.record.seek_directory,
                .class_name = std::string(format::anchor_class),
                .name = name_},
               format::write_anchor(anchor));
}

format::TKey RootFileWriter::directory_key(const Directory& directory) const {
  format::TKey key{.object_length = format::tdirectory_size,
                   .time = directory.record.created,
                   .seek_key = directory.record.seek_directory,
                   .seek_directory = directory.record.seek_parent,
                   .big = directory.record.big,
                   .class_name = directory.class_name,
                   .name = directory.name,
                   .title = directory.title};
  key.nbytes = format::tkey_size(key) + key.object_length;
  return key;
}

// Each commit of a data set in a directory overwrites the directory's record: it must lie inside one sector.
std::uint64_t RootFileWriter::reserve_directory(const format::TKey& key) {
  std::vector<format::FreeSegment> unfit;
  while (true) {
    const std::uint64_t offset = reserve(key.nbytes, RootFileSpace::Use::index);
    const std::uint64_t record_at = offset + key.nbytes - key.object_length;
    if (record_at % sector_size + key.object_length > sector_size) {
      unfit.push_back({offset, offset + key.nbytes - 1});
      continue;
    }
    for (const format::FreeSegment& segment : unfit) release(segment);
    if (!unfit.empty()) file_->flush();
    return offset;
  }
}

// The positions of the directories must be known before their contents are written.
std::vector<RootFileWriter::Directory> RootFileWriter::reserve_missing_directories() {
  std::vector<Directory> made;
  std::uint64_t parent = directories_.back().record.seek_directory;
  for (const std::string& name : missing_) {
    Directory directory{.name = name, .title = name, .class_name = std::string(directory_class)};
    directory.record.created = directory.record.modified = now();
    directory.record.uuid = format::random_uuid();
    directory.record.seek_parent = parent;
    directory.record.big = end_of_space() > format::small_tfile_limit / 2;  // fixes the form of its key, too
    const format::TKey key = directory_key(directory);
    directory.record.nbytes_name = key.nbytes - key.object_length;
    directory.record.seek_directory = reserve_directory(key);
    directory.record_at = directory.record.seek_directory + directory.record.nbytes_name;
    parent = directory.record.seek_directory;
    made.push_back(std::move(directory));
  }
  return made;
}

// Writes the reserved directories with the anchor in the innermost one; returns the entry of the
// outermost.
Bytes RootFileWriter::place_made_directories(std::vector<Directory>& made, const Record& anchor) {
  Bytes entry = bytes_of(anchor.key);
  for (auto directory = made.rbegin(); directory != made.rend(); ++directory) {
    const Record list = place_key_list(*directory, 1, entry);
    directory->record.seek_keys = list.key.seek_key;
    directory->record.nbytes_keys = list.key.nbytes;
    Bytes key_bytes = bytes_of(directory_key(*directory));
    const Bytes record = directory_bytes(*directory);
    const std::array<ByteSpan, 2> parts{key_bytes, record};
    file_->write_vector(directory->record.seek_directory, parts);
    if (directory !=
        made.rbegin()) {  // the innermost one gets its only entry, the data set, with every commit
      directory->entries = std::move(entry);
      directory->entry_count = 1;
    }
    entry = std::move(key_bytes);
  }
  return entry;
}

// The file's list with ROOT::RNTuple and the classes of the options added; empty if the list describes them
// already. Positions inside the list count from its key, so the key must keep its length: if it has to become
// big, the title provides the room.
std::optional<RootFileWriter::Record> RootFileWriter::place_streamer_infos(
    const format::TFileHeader& header) {
  format::TKey key{.seek_directory = header.begin,
                   .class_name = "TList",
                   .name = "StreamerInfo",
                   .title = "Doubly linked list"};
  Bytes list;
  if (header.seek_info == 0) {
    list = format::write_streamer_infos(format::tkey_size(key), options_.class_infos);
    make_big_if_far(key, list.size() + 4096, end_of_space());
    list = format::write_streamer_infos(format::tkey_size(key), options_.class_infos);
  } else {
    const Bytes record = read_block(header.seek_info, header.nbytes_info);
    const StreamerInfoRecord infos = read_streamer_infos(record, header.seek_info, file_->size());
    const format::TKey& old = infos.key;
    std::optional<Bytes> longer = with_context({.offset = header.seek_info}, [&] {
      return format::add_streamer_infos(infos.list, old.key_length, options_.class_infos);
    });
    if (!longer) return std::nullopt;
    list = std::move(*longer);
    key.big = old.big;
    make_big_if_far(key, list.size(), end_of_space());
    const std::size_t length = format::tkey_size(key);
    key.title =
        old.key_length >= length
            ? key.title + std::string(old.key_length - length, ' ')
            : key.title.substr(0, key.title.size() - std::min(key.title.size(), length - old.key_length));
    if (format::tkey_size(key) != old.key_length)
      fail_too_old("the streamer infos of the file have a key of unusual length", header.seek_info);
  }
  AlignedBuffer block;
  codec::compress(codec::CompressionSettings::from_root(options_.root_compression), list, block);
  key.object_length = static_cast<std::uint32_t>(list.size());
  return place(std::move(key), block.span());
}

// The list describes the file including the list itself and without `replaced`. Its size is chosen before
// its position is known. Its key takes what the list does not need: ROOT ignores bytes behind the list, but
// uproot refuses them.
void RootFileWriter::place_free_list(format::TFileHeader& header,
                                     std::span<const format::FreeSegment> replaced) {
  const std::lock_guard lock(mutex_);
  const auto segments_then = [&](std::uint64_t end) {
    RootFileSpace then = space_;
    for (const auto& segments : retired_)
      for (const format::FreeSegment& segment : segments) then.release(segment);
    for (const format::FreeSegment& segment : replaced) then.release(segment);
    return then.segments(end);
  };
  const Directory& root = directories_.front();
  format::TKey key{.time = now(),
                   .seek_directory = header.begin,
                   .class_name = std::string(file_class),
                   .name = root.name};
  // The form of the last segment depends on the end of the file, which depends on the size: two rounds
  // suffice. The list may split a gap: one more segment.
  constexpr std::uint64_t room_for_more = 36;
  std::uint64_t list_size = 0;
  for (int round = 0; round < 2; ++round) {
    make_big_if_far(key, list_size, space_.end());
    list_size = format::free_list_size(segments_then(space_.end() + format::tkey_size(key) + list_size));
    list_size = rounded_up(list_size + room_for_more);
  }
  key.nbytes = static_cast<std::uint32_t>(format::tkey_size(key) + list_size);
  // Other threads may not have written their reserved space yet: then the list extends the file to the length
  // in its head.
  const bool is_too_short = file_->size() < space_.end();
  key.seek_key = is_too_short ? space_.allocate_at_end(key.nbytes)
                              : reserve_locked(key.nbytes, RootFileSpace::Use::index);
  const std::vector<format::FreeSegment> segments = segments_then(space_.end());
  const Bytes list = format::write_free_list(segments);
  key.object_length = static_cast<std::uint32_t>(list.size());
  lengthen(key, key.nbytes - list.size());
  const Bytes key_bytes = bytes_of(key);
  const std::array<ByteSpan, 2> record{key_bytes, list};
  file_->write_vector(key.seek_key, record);
  header.seek_free = key.seek_key;
  header.nbytes_free = key.nbytes;
  header.free_segments = static_cast<std::uint32_t>(segments.size());
  header.end = space_.end();
}

// ---- The switch

Bytes RootFileWriter::directory_bytes(const Directory& directory) const {
  ByteWriter out;
  format::write_tdirectory(out, directory.record);
  Bytes bytes = out.take();
  const auto room = static_cast<std::size_t>(directory.record_room);
  if (bytes.size() > room && std::any_of(bytes.begin() + static_cast<std::ptrdiff_t>(room), bytes.end(),
                                         [](std::byte byte) { return byte != std::byte{0}; }))
    fail_too_old(fmt::format("the directory \"{}\" has no room for positions above 2 GB", directory.name),
                 directory.record_at);
  bytes.resize(room);
  return bytes;
}

void RootFileWriter::write_head(const format::TFileHeader& header, const Directory& root) {
  Bytes head = head_;
  const Bytes header_bytes = format::write_tfile_header(header);
  const Bytes directory = directory_bytes(root);
  std::copy(header_bytes.begin(), header_bytes.end(), head.begin());
  std::copy(directory.begin(), directory.end(), head.begin() + static_cast<std::ptrdiff_t>(root.record_at));
  file_->write(0, head);
  head_ = std::move(head);
}

void RootFileWriter::write_directory(const Directory& directory) {
  file_->write(directory.record_at, directory_bytes(directory));
}

void RootFileWriter::release(const format::FreeSegment& segment) {
  const std::lock_guard lock(mutex_);
  const format::FreeSegment gap = space_.release(segment);
  file_->write(gap.first, format::gap_marker(gap.last - gap.first + 1));
}

// The committed list of keys of the innermost directory, and the anchor that it refers to.
std::vector<format::FreeSegment> RootFileWriter::replaced_lists() const {
  std::vector<format::FreeSegment> segments;
  const format::TDirectoryRecord& record = directories_.back().record;
  if (record.seek_keys != 0)
    segments.push_back({record.seek_keys, record.seek_keys + record.nbytes_keys - 1});
  if (anchor_) segments.push_back(anchor_->place());
  return segments;
}

// Records that become unused as soon as the new head is written.
std::vector<format::FreeSegment> RootFileWriter::replaced_by_head(const format::TFileHeader& header,
                                                                  bool in_root) const {
  std::vector<format::FreeSegment> segments;
  if (in_root) segments = replaced_lists();
  segments.push_back({header_.seek_free, header_.seek_free + header_.nbytes_free - 1});
  if (header_.seek_info != 0 && header_.seek_info != header.seek_info)
    segments.push_back({header_.seek_info, header_.seek_info + header_.nbytes_info - 1});
  return segments;
}

// Makes everything written so far survive a crash of the configured kind.
void RootFileWriter::settle() {
  if (options_.durability == Durability::machine)
    file_->sync();
  else
    file_->flush();
}

// The marker of a gap must not overtake the record that replaces it later.
void RootFileWriter::reuse_retired() {
  if (!unlisted_.empty() && retired_.empty()) retired_.emplace_back();
  for (const format::FreeSegment& segment : std::exchange(unlisted_, {})) retired_.back().push_back(segment);
  if (retired_.size() <= 2 * commits_until_reuse) return;
  // From here on, nothing on the device refers to the retired space, even after a crash of the machine.
  file_->sync();
  while (retired_.size() > commits_until_reuse) {
    for (const format::FreeSegment& segment : retired_.front()) release(segment);
    retired_.pop_front();
  }
  file_->flush();
}

RootFileWriter::Pending RootFileWriter::place_records(const Anchor& anchor) {
  reuse_retired();
  Pending pending{.header = header_, .made = reserve_missing_directories()};
  pending.anchor = place_anchor(anchor, pending.made.empty() ? directories_.back() : pending.made.back());
  const Bytes entry = place_made_directories(pending.made, *pending.anchor);

  Directory& changed = pending.changed = directories_.back();
  pending.entries = changed.entries;
  const std::size_t own_at = changed.own_at.value_or(pending.entries.size());
  pending.entries.insert(pending.entries.begin() + static_cast<std::ptrdiff_t>(own_at), entry.begin(),
                         entry.end());
  const Record list = place_key_list(changed, changed.entry_count + 1, pending.entries);
  changed.record.seek_keys = list.key.seek_key;
  changed.record.nbytes_keys = list.key.nbytes;
  changed.record.modified = now();
  if (!knows_streamer_infos_) {
    if (const std::optional<Record> infos = place_streamer_infos(header_)) {
      pending.header.seek_info = infos->key.seek_key;
      pending.header.nbytes_info = infos->key.nbytes;
    }
  }
  const bool in_root = directories_.size() == 1;
  pending.replaced_by_head = replaced_by_head(pending.header, in_root);
  {
    const std::lock_guard lock(mutex_);
    pending.replaced_by_head.insert(pending.replaced_by_head.end(), released_.begin(), released_.end());
    released_.clear();
  }
  if (!in_root) pending.replaced_by_directory = replaced_lists();
  place_free_list(pending.header, pending.replaced_by_head);
  return pending;
}

// After the write that makes a commit.
void RootFileWriter::settle_commit() {
  file_->flush();
  if (options_.durability != Durability::machine) return;
  file_->is_visible() ? after_commit([&] { file_->sync(); }) : file_->sync();
}

void RootFileWriter::switch_to(const Pending& pending) {
  settle();
  uncertain_ = true;
  const bool in_root = directories_.size() == 1;
  write_head(pending.header, in_root ? pending.changed : directories_.front());
  if (in_root) return settle_commit();
  settle();
  write_directory(pending.changed);
  settle_commit();
}

void RootFileWriter::adopt(Pending pending) {
  header_ = pending.header;
  anchor_ = std::move(pending.anchor);
  directories_.back() = std::move(pending.changed);
  if (!pending.made.empty()) {
    directories_.back().entries = std::move(pending.entries);
    ++directories_.back().entry_count;
    std::move(pending.made.begin(), pending.made.end(), std::back_inserter(directories_));
    missing_.clear();
  }
  knows_streamer_infos_ = true;
  uncertain_ = false;
  retired_.push_back(std::move(pending.replaced_by_head));
  unlisted_ = std::move(pending.replaced_by_directory);
}

void RootFileWriter::commit(const Anchor& anchor) {
  if (closed_)
    throw Error(ErrorKind::usage, "the file is already closed", "commit before close()", {.uri = uri()});
  if (file_->appears_at_close())
    latest_ = anchor;
  else
    commit_now(anchor);
}

void RootFileWriter::commit_now(const Anchor& anchor) {
  with_context({.uri = uri(), .data_set = name_}, [&] {
    uncertain_ = uncertain_ || !file_->is_published();
    Pending pending = place_records(anchor);
    switch_to(pending);
    adopt(std::move(pending));
    if (file_->publish()) settle_commit();
  });
}

}  // namespace colonnade::container
