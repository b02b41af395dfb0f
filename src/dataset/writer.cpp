// Filling, cluster sizes, schema extension, commits; see colonnade/writer.h.
#include "colonnade/writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <exception>

#include "dataset/columnar_writer.h"
#include "page/page_sink.h"

namespace colonnade {
namespace {

constexpr const char* library_name = "Colonnade " COLONNADE_VERSION;

// Entries of a batch that are appended between two looks at the size of the cluster.
constexpr std::uint64_t batch_block = 8192;
// Entries filled one by one between two looks, at most.
constexpr std::uint64_t max_fill_block = 4096;

page::ContainerOptions container_options(const WriteOptions& options) {
  return {.kind = options.container == Container::bare_file ? page::ContainerKind::bare_file
                                                            : page::ContainerKind::root_file,
          .max_key_size = options.max_key_size,
          .root_compression = codec::CompressionSettings::parse(options.compression.text).to_root(),
          .durability = options.durability,
          .direct_io = options.direct_io};
}

// Before the file is touched.
void check(const Model* model, const WriteOptions& options) {
  if (model == nullptr) throw Error(ErrorKind::usage, "there is no model", "see Model::create()");
  const auto require = [](bool holds, const char* problem) {
    if (!holds) throw Error(ErrorKind::usage, problem);
  };
  require(options.max_page_size >= 64, "the maximum page size is below 64 bytes");
  require(options.max_page_size <= (std::size_t{1} << 30), "the maximum page size is above 1 GiB");
  require(options.approximate_cluster_size > 0, "the cluster size is zero");
  require(options.max_uncompressed_cluster_size >= options.approximate_cluster_size,
          "the maximum uncompressed cluster size is below the cluster size");
  require(options.clusters_per_group > 0, "a cluster group needs at least one cluster");
  const double seconds = options.checkpoint_every.seconds;
  require(std::isfinite(seconds) && seconds >= 0, "the seconds between checkpoints are no positive number");
}

}  // namespace

struct Writer::Impl {
  Impl(std::unique_ptr<Model> m, std::string_view name, std::unique_ptr<page::WriteContainer> container,
       const WriteOptions& options)
      : model(std::move(m)), sink(std::move(container), options) {
    Descriptor& descriptor = sink.descriptor();
    const std::size_t slash = name.rfind('/');
    descriptor.name = slash == std::string_view::npos ? name : name.substr(slash + 1);
    descriptor.description = options.description;
    descriptor.writer = library_name;
    // How large the first cluster may grow in memory: as ROOT, a guess of 2:1 until a cluster has shown the
    // true ratio.
    const std::size_t guess = sink.compression().algorithm == codec::Algorithm::none ? 1 : 2;
    uncompressed_target =
        std::min(options.approximate_cluster_size * guess, options.max_uncompressed_cluster_size);
  }

  // --- schema ---
  void describe(const std::vector<Field*>& fields) {
    Field::describe(fields, sink.descriptor(), sink.compression().algorithm != codec::Algorithm::none,
                    entries);
  }

  std::uint32_t source_of(const std::string& path, const Model::Projection& projection,
                          std::uint32_t parent_source, const std::string& name) const {
    const Descriptor& d = sink.descriptor();
    const auto given = projection.sources.find(path);
    if (given != projection.sources.end()) {
      const std::uint32_t found = d.find_field(given->second);
      if (found != invalid_id && !d.fields[found].source_field) return found;
      throw Error(ErrorKind::schema,
                  fmt::format("the source '{}' of the projected field is no stored field", given->second), "",
                  {.field = path});
    }
    if (parent_source != invalid_id)
      for (const std::uint32_t child : d.fields[parent_source].children)
        if (d.fields[child].name == name) return child;
    throw Error(ErrorKind::schema, "the projected field has no source", "name it in the map of sources",
                {.field = path});
  }

  void check_projection(const Field& field, std::uint32_t source, const std::string& path) const {
    const FieldDescriptor& s = sink.descriptor().fields[source];
    const bool cardinality = field.kind() == FieldKind::cardinality;
    const bool same_role = cardinality ? s.role == FieldRole::collection : s.role == field.role();
    const bool same_leaf = cardinality || field.role() != FieldRole::leaf || s.type_name == field.type_name();
    if (!same_role || !same_leaf || field.kind() == FieldKind::variant || field.array_size() > 0 ||
        s.array_size > 0)
      throw Error(ErrorKind::schema,
                  fmt::format("a field of type {} cannot be projected from '{}' of type {}",
                              field.type_name(), sink.descriptor().path_of(source), s.type_name),
                  "project onto the same type; variants and arrays cannot be projected", {.field = path});
  }

  // The collections on the way to a stored or projected field, as stored fields: both ways must be the same.
  std::vector<std::uint32_t> collections_above(std::uint32_t id) const {
    const Descriptor& d = sink.descriptor();
    std::vector<std::uint32_t> path;
    while (d.fields[id].parent != id) {
      id = d.fields[id].parent;
      if (d.fields[id].role == FieldRole::collection) path.push_back(d.fields[id].source_field.value_or(id));
    }
    return path;
  }

  void describe_projection(const Field& field, const Model::Projection& projection, const std::string& path,
                           std::uint32_t parent, std::uint32_t parent_source) {
    const std::uint32_t source = source_of(path, projection, parent_source, field.name());
    check_projection(field, source, path);
    Descriptor& d = sink.descriptor();
    FieldDescriptor f;
    f.id = static_cast<std::uint32_t>(d.fields.size());
    f.parent = parent == invalid_id ? f.id : parent;
    f.role = field.role();
    f.raw_role = static_cast<std::uint16_t>(f.role);
    f.type_version = field.type_version();
    f.name = field.name();
    f.type_name = field.type_name();
    f.type_alias = field.type_alias();
    f.description = field.description();
    f.source_field = source;
    f.representations = d.fields[source].representations;
    const std::uint32_t id = f.id;
    if (parent != invalid_id) d.fields[parent].children.push_back(id);
    d.fields.push_back(std::move(f));
    if (collections_above(id) != collections_above(source))
      throw Error(
          ErrorKind::schema,
          fmt::format("'{}' is not in the same collections as the projected field", d.path_of(source)), "",
          {.field = path});
    for (const auto& group : d.fields[source].representations)
      for (const std::uint32_t column : group) d.aliases.push_back({column, id});
    for (const auto& child : field.children())
      describe_projection(*child, projection, path + "." + child->name(), id, source);
  }

  // The model takes new fields only from here, where they are connected.
  template <class Add>
  void extend_model(Add&& add) const {
    model->complete_ = false;
    try {
      add(*model);
    } catch (...) {
      model->complete_ = true;
      throw;
    }
    model->complete_ = true;
  }

  // --- clusters ---
  void commit_cluster() {
    const std::uint64_t pending = entries - committed_entries;
    if (pending == 0) return;
    sink.flush_columns();
    uncompressed_total += sink.uncompressed_bytes();
    compressed_total += sink.sealed_bytes();
    sink.commit_cluster(pending);
    committed_entries = entries;
    for (const auto& field : model->fields()) field->commit_cluster();
    const WriteOptions& options = sink.options();
    const double ratio = compressed_total > 0
                             ? static_cast<double>(uncompressed_total) / static_cast<double>(compressed_total)
                             : 1;
    const double target = static_cast<double>(options.approximate_cluster_size) * ratio;
    uncompressed_target = static_cast<std::size_t>(
        std::min(target, static_cast<double>(options.max_uncompressed_cluster_size)));
    until_check = 1;
  }

  void after_entries() {
    const std::uint64_t size = sink.uncompressed_bytes() + sink.open_bytes();
    if (size >= uncompressed_target) return commit_cluster();
    // Look again when at most half of the room left can be full, judging by the entries so far.
    const std::uint64_t pending = entries - committed_entries;
    const std::uint64_t per_entry = pending > 0 ? size / pending + 1 : 1;
    until_check = std::clamp<std::uint64_t>((uncompressed_target - size) / per_entry / 2, 1, max_fill_block);
  }

  void ensure_open() const {
    if (closed) throw Error(ErrorKind::usage, "the writer is closed", "", {.uri = sink.uri()});
    if (failed)
      throw Error(ErrorKind::usage, "an earlier write failed, so nothing can be added any more",
                  "write the data set again; what was committed before the failure can be read",
                  {.uri = sink.uri()});
  }

  // Whatever fails in between leaves columns of different lengths: the open cluster is lost, and the writer
  // refuses to go on.
  template <class Work>
  void guarded(Work&& work) {
    ensure_open();
    try {
      work();
    } catch (const Error& error) {
      failed = true;
      throw error.with({.uri = sink.uri(), .data_set = sink.descriptor().name});
    } catch (...) {
      failed = true;
      throw;
    }
  }

  std::unique_ptr<Model> model;
  page::PageSink sink;
  std::uint64_t entries = 0;
  std::uint64_t committed_entries = 0;
  std::uint64_t until_check = 1;
  std::size_t uncompressed_target = 0;
  std::uint64_t uncompressed_total = 0;
  std::uint64_t compressed_total = 0;
  int exceptions_at_start = std::uncaught_exceptions();
  bool closed = false;
  bool failed = false;
};

Writer::Writer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {
  std::vector<Field*> fields;
  for (const auto& field : impl_->model->fields()) fields.push_back(field.get());
  impl_->describe(fields);
  for (const Model::Projection& p : impl_->model->projections())
    impl_->describe_projection(*p.field, p, p.field->name(), invalid_id, invalid_id);
  impl_->sink.start();
  for (Field* field : fields) field->connect(impl_->sink);
  impl_->model->complete_ = true;
}

std::unique_ptr<Writer> Writer::recreate(std::unique_ptr<Model> model, std::string_view name,
                                         const std::string& uri, const WriteOptions& options) {
  return with_context({.uri = uri, .data_set = std::string(name)}, [&] {
    check(model.get(), options);
    auto container = page::create_container(uri, name, container_options(options));
    return std::unique_ptr<Writer>(
        new Writer(std::make_unique<Impl>(std::move(model), name, std::move(container), options)));
  });
}

std::unique_ptr<Writer> Writer::add_to(std::unique_ptr<Model> model, std::string_view name,
                                       const std::string& uri, const WriteOptions& options) {
  return with_context({.uri = uri, .data_set = std::string(name)}, [&] {
    check(model.get(), options);
    auto container = page::append_container(uri, name, container_options(options));
    return std::unique_ptr<Writer>(
        new Writer(std::make_unique<Impl>(std::move(model), name, std::move(container), options)));
  });
}

Writer::~Writer() {
  if (!impl_ || impl_->closed || impl_->failed) return;
  if (std::uncaught_exceptions() > impl_->exceptions_at_start) return;
  try {
    close();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "colonnade: a writer was destroyed without close(), and closing it failed: %s\n",
                 error.what());
  }
}

Model& Writer::model() noexcept {
  return *impl_->model;
}
std::uint64_t Writer::num_entries() const noexcept {
  return impl_->entries;
}
std::unique_ptr<Entry> Writer::make_entry() const {
  return impl_->model->make_entry();
}

void Writer::fill() {
  fill(impl_->model->default_entry_);
}

void Writer::fill(Entry& entry) {
  const auto& fields = impl_->model->fields_;
  if (entry.model_id_ != impl_->model->default_entry_.model_id_)
    throw Error(ErrorKind::usage, "the entry belongs to another model", "make it with Writer::make_entry()",
                {.uri = impl_->sink.uri()});
  if (entry.slots_.size() != fields.size())
    throw Error(ErrorKind::usage, "the entry was made before the schema was extended", "make a new one",
                {.uri = impl_->sink.uri()});
  impl_->guarded([&] {
    for (std::size_t i = 0; i < fields.size(); ++i) fields[i]->append(entry.slots_[i].value.get());
    ++impl_->entries;
    if (--impl_->until_check == 0) impl_->after_entries();
  });
}

void Writer::append(std::span<const NamedArray> arrays) {
  impl_->ensure_open();
  dataset::ColumnarInput input =
      with_context({.uri = impl_->sink.uri(), .data_set = impl_->sink.descriptor().name},
                   [&] { return dataset::ColumnarInput(impl_->model->fields(), arrays); });
  impl_->guarded([&] {
    while (input.position() < input.entries()) {
      const std::uint64_t step = std::min(batch_block, input.entries() - input.position());
      input.append(step);
      impl_->entries += step;
      impl_->after_entries();
    }
  });
}

void Writer::extend(std::unique_ptr<Field> field, std::shared_ptr<void> value) {
  impl_->ensure_open();
  Field* added = field.get();
  impl_->extend_model([&](Model& model) { model.add_field(std::move(field), std::move(value)); });
  impl_->guarded([&] {
    impl_->describe({added});
    added->connect(impl_->sink);
  });
}

std::shared_ptr<void> Writer::extend(std::unique_ptr<Field> field) {
  std::shared_ptr<void> value = field ? field->make_value() : nullptr;
  extend(std::move(field), value);
  return value;
}

std::shared_ptr<void> Writer::extend(std::string_view name, std::string_view type_name) {
  return extend(make_field(name, type_name));
}

void Writer::extend_projected(std::unique_ptr<Field> field, Model::Sources sources) {
  impl_->ensure_open();
  impl_->extend_model([&](Model& model) { model.add_projected_field(std::move(field), std::move(sources)); });
  // Nothing is stored for a projection, so a wrong one can be taken back.
  Descriptor& descriptor = impl_->sink.descriptor();
  const std::size_t fields = descriptor.fields.size();
  const std::size_t aliases = descriptor.aliases.size();
  try {
    const Model::Projection& p = impl_->model->projections().back();
    with_context({.uri = impl_->sink.uri(), .data_set = descriptor.name},
                 [&] { impl_->describe_projection(*p.field, p, p.field->name(), invalid_id, invalid_id); });
  } catch (...) {
    descriptor.fields.resize(fields);
    descriptor.aliases.resize(aliases);
    impl_->model->projections_.pop_back();
    throw;
  }
}

void Writer::flush_columns() {
  impl_->guarded([&] { impl_->sink.flush_columns(); });
}

void Writer::commit_cluster() {
  impl_->guarded([&] { impl_->commit_cluster(); });
}

void Writer::commit_data_set() {
  impl_->guarded([&] {
    impl_->commit_cluster();
    impl_->sink.commit_data_set();
  });
}

void Writer::close() {
  if (impl_->closed) return;
  commit_data_set();
  impl_->guarded([&] { impl_->sink.close(); });
  impl_->closed = true;
}

}  // namespace colonnade
