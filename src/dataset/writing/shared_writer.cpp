// Commits that refer to the pages of parts; see colonnade/shared_writer.h.
#include "colonnade/shared_writer.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "colonnade/attributes.h"
#include "colonnade/error.h"
#include "container/object_store/part_writer.h"
#include "container/object_store/writer.h"
#include "dataset/writing/schema.h"
#include "page/data_set_sink.h"
#include "page/page_source.h"

namespace colonnade {

struct SharedWriter::Impl {
  std::string name;
  std::shared_ptr<io::ObjectStore> store;
  std::shared_ptr<page::DataSetSink> sink;
  container::ObjectContainerWriter* container = nullptr;  // of the sink
  std::string ticket;
  bool closed = false;

  Descriptor read(const container::OpenPart& part) const {
    return page::PageSource::open(name, part.container, ReadOptions{.cache = "off"})->descriptor();
  }

  // The first part determines the schema of the data set.
  void start(const Descriptor& first) const {
    Descriptor schema = first;
    schema.clusters.clear();
    schema.cluster_groups.clear();
    schema.anchor = {};
    sink->descriptor() = std::move(schema);
    sink->start();
  }

  void add(Descriptor part, const std::string& called) const {
    if (part.header_checksum != sink->descriptor().header_checksum ||
        part.fields.size() != part.header_fields || !part.attribute_sets.empty())
      throw Error(ErrorKind::schema, fmt::format("the part {} has another schema than the first one", called),
                  "write all parts with the same model and options, without extensions and attribute sets");
    for (ClusterDescriptor& cluster : part.clusters) sink->add_cluster(std::move(cluster));
  }

  std::uint64_t commit(std::span<const std::string> parts,
                       const std::function<void(AttributeAppender&)>& before_commit) const {
    std::vector<container::PartRecord> records;
    for (const std::string& called : parts) {
      const auto named = container::PartName::parse(called);
      if (named.ticket.text() != ticket)
        throw Error(ErrorKind::usage, fmt::format("the part {} belongs to another writer", called),
                    "parts that were written with this writer's ticket");
      const container::OpenPart part = container::open_part(store, name, named);
      Descriptor descriptor = read(part);
      if (records.empty()) start(descriptor);
      records.push_back(part.record);
      add(std::move(descriptor), called);
    }
    container->take_parts(records);
    const auto added = dataset::add_before_commit(sink, before_commit);
    sink->close();
    return sink->entries();
  }
};

SharedWriter::SharedWriter(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

std::unique_ptr<SharedWriter> SharedWriter::open(std::string_view name, const std::string& uri,
                                                 const WriteOptions& options, WriteMode mode) {
  if (!io::is_object_store(uri))
    throw Error(ErrorKind::usage, "many processes can write one data set in an object store only",
                "a URI like obj:///path or s3://bucket/prefix", {.uri = uri});
  dataset::check(options);
  dataset::check_new_name(name);
  auto impl = std::make_unique<Impl>();
  impl->name = name;
  impl->store =
      io::open_object_store(uri, {.create = mode != WriteMode::update, .object_class = options.object_class});
  auto container = container::ObjectContainerWriter::open(
      impl->store, name, dataset::container_options(options),
      mode == WriteMode::recreate ? container::ObjectTarget::any : container::ObjectTarget::absent);
  impl->container = container.get();
  impl->ticket = container->begin_parts().text();
  WriteOptions at_the_end = options;
  at_the_end.checkpoint_every = {};  // one commit contains all parts
  impl->sink = std::make_shared<page::DataSetSink>(std::move(container), at_the_end);
  return std::unique_ptr<SharedWriter>(new SharedWriter(std::move(impl)));
}

SharedWriter::~SharedWriter() {
  if (!impl_->sink->is_of_this_process()) {
    leave_to_parent(impl_);
    return;
  }
  discard();
}

const std::string& SharedWriter::ticket() const noexcept {
  return impl_->ticket;
}

std::uint64_t SharedWriter::commit(std::span<const std::string> parts,
                                   const std::function<void(AttributeAppender&)>& before_commit) {
  return with_context({.uri = impl_->store->uri(), .data_set = impl_->name}, [&] {
    if (impl_->closed)
      throw Error(ErrorKind::usage, "the data set is already committed or discarded", "open another writer");
    if (parts.empty())
      throw Error(ErrorKind::usage, "a data set cannot be made of no parts", "at least one part");
    impl_->closed = true;
    try {
      return impl_->commit(parts, before_commit);
    } catch (...) {
      impl_->sink->abandon();
      throw;
    }
  });
}

void SharedWriter::discard() noexcept {
  if (std::exchange(impl_->closed, true)) return;
  impl_->sink->abandon();
}

bool SharedWriter::is_open(const std::string& uri, std::string_view ticket) {
  const auto named = container::PartName::parse(fmt::format("{}-1", ticket));
  return container::is_claimed(*io::open_object_store(uri), named.ticket);
}

}  // namespace colonnade
