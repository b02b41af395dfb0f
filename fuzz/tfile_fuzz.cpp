// Fuzzes containers: the input is a whole file, ROOT or bare. Everything in it is listed and read; then a
// data set is appended, which must either be refused or leave a file that can be opened.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "container/container.h"
#include "format/tfile_streamer_info.h"
#include "io/memory/memory_file.h"
#include "page/append_if_repaired.h"

namespace {

using namespace colonnade;

constexpr const char* uri = "memory:fuzz";

void require(bool condition) {
  if (!condition) std::abort();
}

// A reader limits its allocations by the size of the file; so does this function.
void read_blob(const container::ReadContainer& container, std::uint64_t offset, std::uint64_t size,
               std::uint64_t most) {
  if (size > container.file().size()) return;
  Bytes into(static_cast<std::size_t>(size));
  container.read_blob({.size = size, .offset = offset}, most, into);
}

// What a file says about classes can be written into another one, where it says the same.
void carry_class_infos(const container::ReadContainer& container) {
  constexpr std::size_t key_length = 64;
  const auto any = [](const std::string&) { return true; };
  const std::vector<format::ClassInfo> infos = container.class_infos(any);
  const Bytes list = format::write_streamer_infos(key_length, infos);
  const std::vector<format::ClassInfo> again = format::read_class_infos(list, key_length, any);
  require(std::ranges::equal(again, infos, {}, &format::ClassInfo::entry, &format::ClassInfo::entry));
}

void read_all() {
  const auto container = container::open_container(uri);
  carry_class_infos(*container);
  for (const auto& object : container->objects()) require(object.size <= container->file().size());
  for (const std::string& path : container->data_sets()) try {
      const Anchor anchor = container->anchor(path);
      read_blob(*container, anchor.header_offset, anchor.header_size, anchor.max_key_size);
      read_blob(*container, anchor.footer_offset, anchor.footer_size, anchor.max_key_size);
    } catch (const Error& error) {
      require(!error.problem().empty() && error.kind() != ErrorKind::usage);
    }
}

void append() {
  const auto container = page::append_if_repaired(uri, "fuzz/appended", {}, false);
  const Bytes content(50);
  Anchor anchor;
  anchor.header_offset = anchor.footer_offset = container->write_blob(content, 50).offset;
  anchor.header_size = anchor.header_length = anchor.footer_size = anchor.footer_length = content.size();
  anchor.max_key_size = container->max_key_size();
  container->commit(anchor);
  container->commit(anchor);
  container->close();
  container::open_container(uri);
}

template <class Work>
void attempt(Work&& work) {
  try {
    work();
  } catch (const Error& error) {
    require(!error.problem().empty());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  io::store_memory_file(uri, {reinterpret_cast<const std::byte*>(data), size});
  attempt(read_all);
  attempt(append);
  attempt(read_all);
  return 0;
}
