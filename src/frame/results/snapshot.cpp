// Snapshot: the rows written to a data set, in entry order.
//
// Parts are not clusters: the part whose turn it is passes its rows to one writer, which cuts clusters as
// usual and leaves the compression of pages to the thread pool; later parts keep their rows until they are
// merged. A process-wide budget limits the waiting rows.
#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <limits>
#include <mutex>
#include <optional>
#include <utility>

#include "base/utf8.h"
#include "colonnade/error.h"
#include "colonnade/model.h"
#include "colonnade/writer.h"
#include "dataset/class_names.h"
#include "dataset/schema_walk.h"
#include "dataset/writing/columnar_writer.h"
#include "dataset/writing/open_writer.h"
#include "frame/functions/physics_vectors.h"
#include "frame/results/arrays.h"
#include "frame/results/classes_of_files.h"
#include "frame/results/kinds.h"
#include "frame/results/memory_budget.h"
#include "frame/results/snapshot_options.h"
#include "io/object_store.h"

namespace colonnade::frame {
namespace {

struct SnapshotSettings {
  std::string uri;
  std::string name;
  WriteMode mode = WriteMode::recreate;
  bool commit = true;  // else the writer is part of the value
  WriteOptions write;
  std::vector<std::string> names;
  std::vector<ValueType> types;
  std::vector<StoredField> stored;  // null: the type decides
};

// ---- Schema and arrays

bool is_product(const ValueType& type) {
  return type.is_record() && (type.class_name().starts_with("std::pair<") ||
                              type.class_name().starts_with("std::tuple<") || type.is_variant());
}

// True if the type can be stored as the standard type of its name.
bool has_standard_name(const ValueType& type) {
  if (type.is_list()) return has_standard_name(type.item());
  if (!type.is_record()) return true;
  return is_product(type) && std::all_of(type.members().begin(), type.members().end(),
                                         [](const auto& member) { return has_standard_name(member.second); });
}

// An optional is stored under the name of what it holds, and would be a list without one.
void refuse_optional_without_class(const ValueType& optional) {
  std::string members;
  for (const auto& [member, type] : optional.innermost().members())
    members += (members.empty() ? "" : ", ") + member;
  const char* what = optional.item().is_list() ? "optional list of records" : "optional record";
  throw Error(
      ErrorKind::schema,
      fmt::format("an {} of {} cannot be stored: the record has no class of known name", what, members),
      "store its members, as columns of their own");
}

std::unique_ptr<Field> make_field_for(const std::string& name, const ValueType& type) {
  if (has_standard_name(type)) return make_field(name, type.name());
  if (type.is_list()) {
    auto item = make_field_for("_0", type.item());
    const bool has_type = !item->type_name().empty();
    if (type.is_optional() && !has_type) refuse_optional_without_class(type);
    const char* family = type.is_optional() ? "std::optional" : has_type ? "std::vector" : "";
    return make_collection_field(name, family, std::move(item));
  }
  if (type.is_variant())
    throw Error(ErrorKind::schema, "a variant of records cannot be stored: they have no class of known name",
                "store the members of its records, as columns of their own: \"v._0.x\"");
  std::vector<std::unique_ptr<Field>> members;
  for (const auto& [member, member_type] : type.members())
    members.push_back(make_field_for(stored_name(member), member_type));
  // For other classes, and for vectors with members of TObject, some members may be missing, or members of
  // base classes may be misplaced.
  const bool is_plain = std::ranges::all_of(type.members(), [](const auto& member) {
    return member.second.is_floating() || member.first == "fCoordinates";
  });
  if (is_plain && vector_type(type)) return make_class_field(name, type.class_name(), std::move(members));
  return make_record_field(name, std::move(members));
}

std::unique_ptr<Model> make_model(const SnapshotSettings& settings) {
  auto model = Model::create();
  for (std::size_t i = 0; i < settings.names.size(); ++i) {
    const std::string& name = settings.names[i];
    const StoredField& stored = settings.stored[i];
    with_context({.field = name}, [&] {
      model->add_field(stored != nullptr ? stored->clone(name) : make_field_for(name, settings.types[i]));
    });
  }
  return model;
}

// The fields with the values of a record's members, and their paths below it. The values are those of base
// classes, too, but not those without anything stored.
void add_members_of(const Field& record, const std::string& prefix,
                    std::vector<std::pair<std::string, const Field*>>& members) {
  for (const auto& child : record.children()) {
    const std::string path = prefix + "." + child->name();
    if (child->kind() == FieldKind::record && child->name().starts_with(":_"))
      add_members_of(*child, path, members);
    else if (dataset::has_arrays(*child))
      members.emplace_back(path, child.get());
  }
}

std::vector<std::pair<std::string, const Field*>> members_of(const Field& record, const std::string& path) {
  std::vector<std::pair<std::string, const Field*>> members;
  add_members_of(record, path, members);
  return members;
}

// True if a field takes all values of a type, and they are all that it needs.
bool takes(const Field& field, const ValueType& type) {
  const auto takes_items = [&] { return takes(*field.children().front(), type.item()); };
  switch (field.kind()) {
    case FieldKind::scalar:
      return type.is_scalar() && type.element() == field.element(0);
    case FieldKind::string:
      return type.is_string();
    case FieldKind::nullable:
      return type.is_optional() && takes_items();
    case FieldKind::collection:
    case FieldKind::array:
      return type.is_list() && !type.is_optional() && takes_items();
    case FieldKind::bitset:
      return type.is_list() && type.item() == ValueType(ElementType::boolean);
    case FieldKind::wrapper:
      return takes(*field.children().front(), type);
    case FieldKind::variant:
      return type.is_variant() &&
             std::ranges::equal(field.children(), type.members(), [](const auto& child, const auto& member) {
               return takes(*child, member.second.item());
             });
    case FieldKind::record:
      return type.is_record() && !type.is_variant() &&
             std::ranges::equal(
                 members_of(field, {}), type.members(),
                 [](const auto& member, const auto& given) { return takes(*member.second, given.second); });
    default:
      return false;
  }
}

// What a writer appends, and the tags that it looks at.
struct Appended {
  std::vector<NamedArray> arrays;
  std::deque<std::vector<std::int32_t>> tags;
};

bool has_arrays(const ValueType& type) {
  return !type.is_record() ||
         std::ranges::any_of(type.members(), [](const auto& member) { return has_arrays(member.second); });
}

void add_arrays(const Field& field, const std::string& path, const Values& values, Appended& to) {
  const auto add_items = [&] { add_arrays(*field.children().front(), path + "._0", values.items(), to); };
  const auto add_scalars = [&](const Values& scalars) {
    to.arrays.push_back(
        {path, ArrayView(ArrayRole::values, scalars.type.element(), scalars.data, scalars.size)});
  };
  switch (field.kind()) {
    case FieldKind::scalar:
      return add_scalars(values);
    case FieldKind::string:
      to.arrays.push_back({path, ArrayView::offsets({values.offsets, values.size + 1})});
      return add_scalars(values.items());
    case FieldKind::bitset:
      return add_scalars(values.items());
    case FieldKind::collection:
    case FieldKind::nullable:
      to.arrays.push_back({path, ArrayView::offsets({values.offsets, values.size + 1})});
      return add_items();
    case FieldKind::array:
      return add_items();
    case FieldKind::wrapper:
      return add_arrays(*field.children().front(), path + "._0", values, to);
    case FieldKind::variant:
      to.arrays.push_back({path, ArrayView::tags(to.tags.emplace_back(tags_of(values)))});
      for (std::size_t k = 0; k < values.children.size(); ++k)
        add_arrays(*field.children()[k], fmt::format("{}._{}", path, k), values.children[k]->items(), to);
      return;
    default:
      break;
  }
  std::size_t next = 0;
  for (const auto& [member, below] : members_of(field, path)) {
    while (!has_arrays(values.children[next]->type)) ++next;
    add_arrays(*below, member, *values.children[next++], to);
  }
}

// ---- Writing

class SnapshotAccumulator final : public ResultAccumulator, public WritesClasses {
 public:
  explicit SnapshotAccumulator(std::shared_ptr<const SnapshotSettings> settings, FindClassInfos find = {})
      : settings_(std::move(settings)), find_class_infos_(std::move(find)), collected_(settings_->types) {}
  ~SnapshotAccumulator() override {
    if (writer_ != nullptr) writer_->discard();
  }

  std::unique_ptr<Accumulator> empty_copy() const override {
    return std::make_unique<SnapshotAccumulator>(settings_, find_class_infos_);
  }
  void find_class_infos_by(FindClassInfos find) override { find_class_infos_ = std::move(find); }
  std::unique_ptr<Partial> begin(PartContext& context) override {
    // Opened early, so that an unwritable target is reported before anything is computed.
    open();
    return std::make_unique<PartialRows>(*this, context);
  }
  void merge(std::unique_ptr<Partial> partial) override { static_cast<PartialRows&>(*partial).flush(); }

  void finish() override {
    spare_.clear();
    open();
    write_collected();
    if (!settings_->commit) return;
    writer_->close();
    writer_.reset();
  }
  ResultValue value() const override {
    return SnapshotValue{settings_->uri, settings_->name, entries_, writer_};
  }

  std::vector<std::byte> save() const override {
    throw Error(ErrorKind::unsupported,
                "a snapshot cannot be sent to another process: its rows are in a file",
                "write a file for each worker, and open them together as a chain");
  }
  void merge_saved(std::span<const std::byte>) override {
    throw Error(ErrorKind::unsupported, "a snapshot cannot be merged with another one",
                "write a file for each worker, and open them together as a chain");
  }

 private:
  // Rows of the part whose turn it is are collected up to this size before the writer gets them.
  static constexpr std::size_t most_collected = std::size_t{4} << 20;

  class PartialRows final : public Partial {
   public:
    PartialRows(SnapshotAccumulator& owner, PartContext& context)
        : owner_(owner), context_(context), share_(MemoryBudget::of_rows()) {}

    void add(const Rows& rows, std::span<const ValuesPtr> arguments) override {
      if (!context_.is_my_turn() && !MemoryBudget::of_rows().fits(most_collected)) context_.wait_for_turn();
      if (context_.is_my_turn()) {
        flush();
        owner_.collect(arguments, rows.size);
      } else {
        if (!rows_) rows_ = owner_.spare_.take(owner_.settings_->types);
        rows_->append(arguments, rows.size);
        share_.set(rows_->bytes());
      }
    }
    void flush() {
      if (!rows_) return;
      owner_.write_collected();
      owner_.write(*rows_);
      owner_.spare_.give_back(std::move(*rows_));
      rows_.reset();
      share_.set(0);
    }

   private:
    SnapshotAccumulator& owner_;
    PartContext& context_;
    std::optional<ColumnsBuilder> rows_;
    MemoryBudget::Share share_;
  };

  // The first part opens it.
  void open() {
    const std::lock_guard lock(opening_);
    if (writer_ != nullptr) return;
    const dataset::WithClassInfos with(class_infos());
    writer_ = dataset::open_writer<colonnade::Writer>(settings_->mode, make_model(*settings_),
                                                      settings_->name, settings_->uri, settings_->write);
  }
  // Only ROOT files have them.
  std::vector<format::ClassInfo> class_infos() const {
    dataset::ClassNames names;
    for (const StoredField& stored : settings_->stored)
      if (stored != nullptr) names.add_all(*stored);
    if (names.empty() || !find_class_infos_ || io::is_object_store(settings_->uri) ||
        settings_->write.container != Container::root_file)
      return {};
    return find_class_infos_(names);
  }
  void collect(std::span<const ValuesPtr> values, std::size_t count) {
    collected_.append(values, count);
    if (collected_.bytes() >= most_collected) write_collected();
  }
  void write_collected() {
    if (collected_.rows() == 0) return;
    write(collected_);
    collected_.clear();
  }
  void write(const ColumnsBuilder& rows) {
    Appended appended;
    const std::vector<ValuesPtr> columns = rows.values({});
    const auto& fields = writer_->model().fields();
    for (std::size_t i = 0; i < columns.size(); ++i)
      add_arrays(*fields[i], settings_->names[i], *columns[i], appended);
    writer_->append(appended.arrays);
    entries_ += rows.rows();
  }

  std::shared_ptr<const SnapshotSettings> settings_;
  FindClassInfos find_class_infos_;
  std::mutex opening_;
  std::shared_ptr<colonnade::Writer> writer_;
  ColumnsBuilder collected_;
  SpareBuilders spare_;  // for parts whose turn it is not
  std::uint64_t entries_ = 0;
};

}  // namespace

std::unique_ptr<ResultAccumulator> make_snapshot(const Request& request) {
  const Options& options = request.options;
  options.only({"names", "uri", "name", "mode", "write", "part_of", "commit"});
  require_arguments(request.spec, request.types, 1, std::numeric_limits<std::size_t>::max(),
                    "at least one column");
  auto settings = std::make_shared<SnapshotSettings>();
  settings->uri = options.text("uri");
  settings->name = options.text("name");
  if (settings->uri.empty()) options.refuse("uri", "the file or object store to write to");
  if (settings->name.empty()) options.refuse("name", "the name of the data set");
  settings->mode = dataset::write_mode_of(options.choice("mode", {"recreate", "create", "update"}));
  settings->commit = options.flag("commit", true);
  settings->write = write_options_of(options.object("write"));
  settings->write.part_of = options.text("part_of");
  settings->write.replace_at_close = true;  // the rows may be read from the replaced file
  settings->names = names_of(request);
  // Members of records become columns of their own, whose names may not have dots; as in RDataFrame.
  for (std::string& name : settings->names) {
    std::replace(name.begin(), name.end(), '.', '_');
    name = stored_name(name);
  }
  settings->types.assign(request.types.begin(), request.types.end());
  settings->stored.resize(settings->types.size());
  for (std::size_t i = 0; i < request.stored.size(); ++i)
    if (request.stored[i] != nullptr && takes(*request.stored[i], settings->types[i]))
      settings->stored[i] = request.stored[i];
  make_model(*settings);  // reports types that cannot be stored before anything runs
  return std::make_unique<SnapshotAccumulator>(std::move(settings));
}

}  // namespace colonnade::frame
