// Opening and creating containers: the first bytes of the file or the options tell which container it is.
#include "container/container.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "container/bare_file/reader.h"
#include "container/bare_file/writer.h"
#include "container/object_store/part_writer.h"
#include "container/object_store/reader.h"
#include "container/object_store/writer.h"
#include "container/root_file/reader.h"
#include "container/root_file/writer.h"
#include "format/tfile_records.h"

namespace colonnade::container {
namespace {

// What to do with files of other formats, told by their first bytes or, without such, by their name.
const char* advice_for(ByteSpan first, std::string_view uri) {
  const std::string_view text(reinterpret_cast<const char*>(first.data()), first.size());
  const std::string_view name = uri.substr(uri.rfind('/') + 1);
  const auto is_in_name = [&](std::string_view ending) {
    return name.find(ending) != std::string_view::npos;
  };
  if (text.starts_with("PAR1") || text.starts_with("ARROW1") || text.starts_with("ORC") ||
      is_in_name(".csv") || is_in_name(".tsv") || is_in_name(".json") || is_in_name(".ndjson"))
    return "`colonnade import` makes a data set of a table";
  if (text.starts_with("SQLite"))
    return "colonnade.DataFrame.from_arrays(pandas.read_sql(query, sqlite3.connect(path))) takes what a "
           "query gives";
  if (text.starts_with("\x93NUMPY") || uri.ends_with(".npz"))
    return "colonnade.DataFrame.from_arrays({\"x\": numpy.load(path)}) takes arrays, and "
           "dict(numpy.load(path)) several";
  if (text.starts_with("\xff\xff\xff\xff"))
    return "colonnade.DataFrame.from_arrays(pyarrow.ipc.open_stream(path).read_all()) takes an Arrow stream";
  if (text.starts_with("\x89HDF"))
    return "colonnade.DataFrame.from_arrays({\"x\": h5py.File(path)[\"x\"][:]}) takes arrays of HDF5";
  return "check that it is the right file and that it was transferred completely";
}

}  // namespace

std::unique_ptr<ReadContainer> open_container(const std::string& uri, const io::ReadFileOptions& options) {
  if (io::is_object_store(uri)) return std::make_unique<ObjectContainerReader>(io::open_object_store(uri));
  return open_container(io::open_for_reading(uri, options));
}

std::unique_ptr<ReadContainer> open_container(std::unique_ptr<io::RandomAccessFile> file) {
  std::array<std::byte, 8> magic{};
  const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(file->size(), magic.size()));
  file->read(0, MutableByteSpan(magic).first(count));
  const ByteSpan first = ByteSpan(magic).first(count);
  if (format::is_tfile(first)) return std::make_unique<RootFileReader>(std::move(file));
  if (is_bare_file(first)) return std::make_unique<BareFileReader>(std::move(file));
  throw Error(ErrorKind::format,
              count == 0
                  ? "the file is empty"
                  : "the file is neither a ROOT file nor a bare RNTuple file (its first bytes match neither)",
              advice_for(first, file->uri()), {.uri = file->uri(), .offset = 0});
}

void ReadContainer::visit_anchors(const AnchorVisitor& visitor) const {
  for (const std::string& path : data_sets()) visitor(path, [&] { return anchor(path); });
}

// A payload above the maximum key size is stored in several pieces; their reader checks each.
void ReadContainer::read_blobs(std::span<const BlobRead> blobs, std::uint64_t max_key_size) const {
  std::vector<io::ReadRequest> requests;
  for (const BlobRead& blob : blobs) {
    const bool is_split = max_key_size != 0 && blob.into.size() > max_key_size;
    if (is_split) {
      read_blob(blob.locator, max_key_size, blob.into);
    } else {
      requests.push_back({blob.locator.offset, blob.into});
    }
  }
  file().read_vector(requests);
}

void ReadContainer::check_blob(const Locator& locator, std::uint64_t max_key_size, const char* what) const {
  const std::uint64_t file_size = file().size();
  const bool in_one_piece = max_key_size == 0 || locator.size <= max_key_size;
  if (locator.size > file_size || (in_one_piece && locator.offset > file_size - locator.size))
    throw Error(ErrorKind::format,
                fmt::format("the {} of {} bytes lies beyond the end of the file ({} bytes)", what,
                            locator.size, file_size),
                "check that the file was transferred completely", {.offset = locator.offset});
}

Error ReadContainer::locate(const Error& error, const Locator& locator) const {
  return error.with({.offset = locator.offset});
}

std::vector<std::uint64_t> WriteContainer::write_pages(std::span<const PagePart> pages, ClusterWriteState&) {
  std::vector<ByteSpan> parts;
  parts.reserve(pages.size());
  for (const PagePart& page : pages) parts.push_back(page.bytes);
  return write_parts(parts);
}

std::vector<std::uint64_t> WriteContainer::begin_pages(std::span<const PagePart> pages,
                                                       ClusterWriteState& cluster,
                                                       std::shared_ptr<PageBytes>) {
  return write_pages(pages, cluster);
}

WriteContainer::CopiedRanges WriteContainer::copy_ranges(const io::RandomAccessFile& from,
                                                         std::span<const FileRange>) {
  throw Error(ErrorKind::unsupported, fmt::format("the system cannot copy from {}", from.uri()), "",
              {.uri = uri()});
}

namespace {

std::unique_ptr<WriteContainer> write_to_store(const std::string& uri, std::string_view path,
                                               const ContainerOptions& options, ObjectTarget target,
                                               bool make_store = false) {
  auto store = io::open_object_store(uri, {.create = make_store, .object_class = options.object_class});
  if (!options.part_of.empty())
    return std::make_unique<ObjectPartWriter>(std::move(store), path, options,
                                              PartName::parse(options.part_of));
  return ObjectContainerWriter::open(std::move(store), path, options, target);
}

// A new file is written beside its place, and the place of an empty name is noticed only at the end.
void check_uri(const std::string& uri) {
  if (uri.empty()) throw Error(ErrorKind::usage, "the name of the file is empty", "a path or a URI");
}

}  // namespace

std::unique_ptr<WriteContainer> create_container(const std::string& uri, std::string_view path,
                                                 const ContainerOptions& options) {
  check_uri(uri);
  if (io::is_object_store(uri))
    return write_to_store(uri, path, options, options.must_be_new ? ObjectTarget::absent : ObjectTarget::any,
                          true);
  const bool bare = options.kind == ContainerKind::bare_file;
  with_context({.uri = uri},
               [&] { bare ? BareFileWriter::check(path, options) : RootFileWriter::check(path, options); });
  std::unique_ptr<io::WritableFile> file =
      io::open_for_writing(uri, options.must_be_new ? io::OpenMode::create_new : io::OpenMode::create,
                           {.direct_io = options.direct_io});
  if (bare) return std::make_unique<BareFileWriter>(std::move(file), path, options);
  return RootFileWriter::create(std::move(file), path, options);
}

std::unique_ptr<WriteContainer> append_container(const std::string& uri, std::string_view path,
                                                 const ContainerOptions& options) {
  check_uri(uri);
  if (io::is_object_store(uri)) return write_to_store(uri, path, options, ObjectTarget::absent);
  with_context({.uri = uri}, [&] { RootFileWriter::check(path, options); });
  std::unique_ptr<io::WritableFile> file =
      io::open_for_writing(uri, io::OpenMode::update, {.direct_io = options.direct_io});
  if (begins_bare_file(*file))
    throw Error(ErrorKind::usage, "a bare file holds one data set and cannot take another", "a ROOT file",
                {.uri = uri});
  return RootFileWriter::append(std::move(file), path, options);
}

std::unique_ptr<WriteContainer> replace_container(const std::string& uri, std::string_view path,
                                                  const ContainerOptions& options) {
  check_uri(uri);
  if (io::is_object_store(uri)) return write_to_store(uri, path, options, ObjectTarget::present);
  std::unique_ptr<io::WritableFile> file =
      io::open_for_writing(uri, io::OpenMode::update, {.direct_io = options.direct_io});
  if (begins_bare_file(*file)) return BareFileWriter::replace(std::move(file), path, options);
  with_context({.uri = uri}, [&] { RootFileWriter::check(path, options); });
  return RootFileWriter::replace(std::move(file), path, options);
}

}  // namespace colonnade::container
