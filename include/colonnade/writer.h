// Writer: one data set being written.
//
//   auto model = colonnade::Model::create();
//   auto pt = model->make_field<float>("pt");
//   auto writer = colonnade::Writer::recreate(std::move(model), "Events", "f.root");
//   *pt = 1.f;
//   writer->fill();
//   writer->close();
//
// close() commits and reports every error. A writer that is destroyed without close() commits what it was
// given, and reports a failure on standard error. While an exception is in flight, it commits nothing. One
// thread at a time uses a writer.
#ifndef COLONNADE_WRITER_H
#define COLONNADE_WRITER_H

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "colonnade/columnar.h"
#include "colonnade/entry.h"
#include "colonnade/model.h"
#include "colonnade/options.h"

namespace colonnade {

namespace dataset {
enum class Target : int;
}

class AttributeSetWriter;

class Writer {
 public:
  // Creates the file or, in an object store, the data set, which must not exist: neither now nor at the first
  // commit. `name` may have directories: "dir/Events". Throws ErrorKind::usage.
  static std::unique_ptr<Writer> create(std::unique_ptr<Model> model, std::string_view name,
                                        const std::string& uri, const WriteOptions& options = {});
  // Creates or replaces it.
  static std::unique_ptr<Writer> recreate(std::unique_ptr<Model> model, std::string_view name,
                                          const std::string& uri, const WriteOptions& options = {});
  // Adds a data set to an existing ROOT file; other objects of the file stay unchanged.
  static std::unique_ptr<Writer> add_to(std::unique_ptr<Model> model, std::string_view name,
                                        const std::string& uri, const WriteOptions& options = {});
  // Continues a data set after its last commit. Throws ErrorKind::not_found if there is no such data set, and
  // ErrorKind::schema if its fields or columns differ from those of this model and these options. Nothing
  // changes before the first commit.
  static std::unique_ptr<Writer> resume(std::unique_ptr<Model> model, std::string_view name,
                                        const std::string& uri, const WriteOptions& options = {});
  ~Writer();
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  Model& model() noexcept;
  std::uint64_t num_entries() const noexcept;  // of the data set, filled so far
  // True while readers still see the data set that this one will replace: until the first commit with
  // entries, or until close().
  bool replaces() const noexcept;

  void fill();  // the default entry
  void fill(Entry& entry);
  std::unique_ptr<Entry> make_entry() const;

  // Appends many entries at once, as arrays; see colonnade/columnar.h. All top-level fields must be given,
  // with the same number of entries. Nothing is written if the arrays do not fit the model; a value that does
  // not fit its column (ErrorKind::conversion) is found only when its page is sealed.
  void append(std::initializer_list<NamedArray> arrays) {
    append(std::span<const NamedArray>(arrays.begin(), arrays.size()));
  }
  void append(std::span<const NamedArray> arrays);

  // Late schema extension: adds a field. It reads as zero or empty in earlier entries. Entry objects made
  // earlier lack the field.
  template <class T>
  std::shared_ptr<T> extend(std::string_view name, std::string_view description = {}) {
    auto value = std::make_shared<T>();
    auto field = make_field<T>(name);
    field->set_description(std::string(description));
    extend(std::move(field), value);
    return value;
  }
  std::shared_ptr<void> extend(std::string_view name, std::string_view type_name);
  std::shared_ptr<void> extend(std::unique_ptr<Field> field);
  template <class T>
  void extend_projected(std::string_view name, Model::Sources sources) {
    extend_projected(make_field<T>(name), std::move(sources));
  }
  void extend_projected(std::unique_ptr<Field> field, Model::Sources sources);

  // Adds an attribute set with these fields, see colonnade/attributes.h; the writer owns it. A set of a
  // resumed data set continues. Throws ErrorKind::schema for fields that a set cannot have, and
  // ErrorKind::usage for a name that is taken or not allowed.
  AttributeSetWriter& add_attribute_set(std::unique_ptr<Model> model, std::string_view name);

  void flush_columns();   // seals the open pages
  void commit_cluster();  // ends the cluster here and writes it
  // Commits everything so far, so that the file can be opened, then continues.
  void commit_data_set();
  void close();
  // True after a call has failed, if nothing is lost: close(), commit_data_set() and commit_cluster() can be
  // called again. They write what failed again, and the writer goes on. This holds for failures of an object
  // store (ErrorKind::io), unless another writer has taken the data set over, and for close() of files over
  // HTTP and in S3, to which nothing can be added then. A store stays claimed until the writer has ended.
  bool may_close_again() const noexcept;
  // Ends without another commit and without an error: uncommitted data are dropped, and the file stays as the
  // last checkpoint or commit_data_set() left it.
  void discard() noexcept;

 private:
  struct Impl;
  static std::unique_ptr<Writer> make(std::unique_ptr<Model> model, std::string_view name,
                                      const std::string& uri, const WriteOptions& options,
                                      dataset::Target target);
  explicit Writer(std::unique_ptr<Impl> impl);
  void extend(std::unique_ptr<Field> field, std::shared_ptr<void> value);
  std::unique_ptr<Impl> impl_;
};

}  // namespace colonnade

#endif
