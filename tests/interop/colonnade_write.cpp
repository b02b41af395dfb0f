// colonnade_write: writes data sets with Colonnade as a script on standard input says, see Tokens for its
// form and writing.py for who makes it. The script is a list of steps, each a list that starts with a word:
//
//   recreate|add_to  FILE DATASET OPTIONS FIELDS PROJECTIONS   opens a writer (several may follow each other)
//   fill VALUES                one entry: a value for each field, in order
//   extend FIELD               a late field; its values come last from now on
//   project PROJECTION         a late projected field
//   flush|cluster|commit       Writer::flush_columns, commit_cluster, commit_data_set
//   close
//
// With the option `threads` a ParallelWriter of staged order takes the entries when the script closes it:
// each thread an equal share of them, one after the other, its cluster ends where the script says.
//
// FIELD: [name, type, description, members or nothing, item or nothing, columns]; columns: [[path, [[column
// type, bits, minimum, maximum], ...]], ...]. PROJECTION: [field, [[path, source path], ...]]. OPTIONS:
// [[name, value], ...].
#include <colonnade/colonnade.h>

#include <cstdio>
#include <future>
#include <iostream>
#include <iterator>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "tokens.h"
#include "typed_values.h"

namespace {

using colonnade::ColumnEncoding;
using colonnade::Field;
using colonnade::FieldKind;
using colonnade::Model;
using colonnade::Writer;
using interop::Tokens;

// ---- Fields

ColumnEncoding take_encoding(Tokens& tokens) {
  tokens.list(4);
  const std::string name = tokens.text();
  const auto bits = tokens.integer<std::uint16_t>();
  const double min = tokens.real();
  const double max = tokens.real();
  for (std::uint16_t type = 0; type < colonnade::column_type_count; ++type) {
    if (name_of(static_cast<colonnade::ColumnType>(type)) != name) continue;
    ColumnEncoding encoding = colonnade::default_encoding(static_cast<colonnade::ColumnType>(type));
    if (bits > 0) encoding.bits = bits;
    encoding.min = min;
    encoding.max = max;
    return encoding;
  }
  throw std::runtime_error("there is no column type " + name);
}

void take_columns(Tokens& tokens, Field& field) {
  for (std::uint64_t n = tokens.list(); n > 0; --n) {
    tokens.list(2);
    const std::string path = tokens.text();
    std::vector<ColumnEncoding> encodings;
    for (std::uint64_t k = tokens.list(); k > 0; --k) encodings.push_back(take_encoding(tokens));
    Field* target = path.empty() ? &field : field.find(path);
    if (target == nullptr) throw std::runtime_error("no field " + path + " below " + field.name());
    target->set_encodings(std::move(encodings));
  }
}

// A field with what fills its values.
struct Target {
  std::unique_ptr<Field> field;
  const interop::TypedCodec* codec = nullptr;  // null: the type is known by name only
};

Target take_field(Tokens& tokens) {
  tokens.list(6);
  const std::string name = tokens.text();
  const std::string type = tokens.text();
  const std::string description = tokens.text();
  Target made;
  if (!tokens.take_nothing()) {
    std::vector<std::unique_ptr<Field>> members;
    for (std::uint64_t n = tokens.list(); n > 0; --n) members.push_back(take_field(tokens).field);
    made.field = colonnade::make_record_field(name, std::move(members));
  }
  if (!tokens.take_nothing()) made.field = colonnade::make_collection_field(name, take_field(tokens).field);
  if (!made.field) {
    made.codec = interop::find_typed(type);
    made.field = made.codec != nullptr ? made.codec->make(name) : colonnade::make_field(name, type);
  }
  made.field->set_description(description);
  take_columns(tokens, *made.field);
  return made;
}

Model::Sources take_sources(Tokens& tokens) {
  Model::Sources sources;
  for (std::uint64_t n = tokens.list(); n > 0; --n) {
    tokens.list(2);
    std::string path = tokens.text();
    sources[std::move(path)] = tokens.text();
  }
  return sources;
}

// ---- Values of types known by name only, in the memory that colonnade/field.h describes

void fill(Tokens& tokens, const Field& field, void* value);

void fill_scalar(Tokens& tokens, colonnade::ElementType element, void* value) {
  using colonnade::ElementType;
  if (element == ElementType::float32) {
    *static_cast<float*>(value) = static_cast<float>(tokens.real());
  } else if (element == ElementType::float64) {
    *static_cast<double*>(value) = tokens.real();
  } else {
    const auto number = tokens.integer<std::uint64_t>();  // little endian: the low bytes come first
    std::memcpy(value, &number, size_of(element));
  }
}

std::byte* new_items(const Field& item, std::uint64_t count) {
  auto* memory = static_cast<std::byte*>(::operator new(count * item.value_size()));
  for (std::uint64_t i = 0; i < count; ++i) item.construct(memory + i * item.value_size());
  return memory;
}

void fill_items(Tokens& tokens, const Field& item, std::byte* items, std::uint64_t count) {
  for (std::uint64_t i = 0; i < count; ++i) fill(tokens, item, items + i * item.value_size());
}

void fill_collection(Tokens& tokens, const Field& field, void* value) {
  const Field& item = *field.children()[0];
  const std::uint64_t count = tokens.list();
  if (item.kind() == FieldKind::scalar && item.element(0) == colonnade::ElementType::boolean) {
    for (std::uint64_t i = 0; i < count; ++i)
      static_cast<std::vector<bool>*>(value)->push_back(tokens.integer<int>() != 0);
    return;
  }
  if (count == 0) return;
  auto** ends = static_cast<std::byte**>(value);
  ends[0] = new_items(item, count);
  ends[1] = ends[2] = ends[0] + count * item.value_size();
  fill_items(tokens, item, ends[0], count);
}

void fill_nullable(Tokens& tokens, const Field& field, void* value) {
  if (tokens.take_nothing()) return;
  const Field& item = *field.children()[0];
  if (field.type_name().starts_with("std::unique_ptr<")) {
    std::byte* memory = new_items(item, 1);
    *static_cast<void**>(value) = memory;
    fill(tokens, item, memory);
  } else {
    item.construct(value);
    static_cast<bool*>(value)[item.value_size()] = true;
    fill(tokens, item, value);
  }
}

void fill_record(Tokens& tokens, const Field& field, void* value) {
  const auto& members = field.children();
  tokens.list(members.size());
  const bool reversed = field.type_name().starts_with("std::tuple<");
  std::vector<std::size_t> offsets(members.size());
  std::size_t end = 0;
  for (std::size_t i = 0; i < members.size(); ++i) {
    const std::size_t k = reversed ? members.size() - 1 - i : i;
    const std::size_t alignment = members[k]->alignment();
    offsets[k] = (end + alignment - 1) / alignment * alignment;
    end = offsets[k] + members[k]->value_size();
  }
  for (std::size_t k = 0; k < members.size(); ++k)
    fill(tokens, *members[k], static_cast<std::byte*>(value) + offsets[k]);
}

void fill_variant(Tokens& tokens, const Field& field, void* value) {
  const std::uint64_t tag = tokens.variant();
  field.destroy(value);
  std::size_t size = 0;
  for (const auto& alternative : field.children()) size = std::max(size, alternative->value_size());
  const std::size_t alignment = field.alignment();
  auto& current = static_cast<std::uint8_t*>(value)[(size + alignment - 1) / alignment * alignment];
  current = 255;
  if (tag == 0) return;
  const Field& alternative = *field.children().at(tag - 1);
  alternative.construct(value);
  current = static_cast<std::uint8_t>(tag - 1);
  fill(tokens, alternative, value);
}

// Fills a value that has just been constructed.
void fill(Tokens& tokens, const Field& field, void* value) {
  switch (field.kind()) {
    case FieldKind::scalar:
      return fill_scalar(tokens, field.element(0), value);
    case FieldKind::string:
      *static_cast<std::string*>(value) = tokens.text();
      return;
    case FieldKind::collection:
      return fill_collection(tokens, field, value);
    case FieldKind::nullable:
      return fill_nullable(tokens, field, value);
    case FieldKind::array:
      tokens.list(field.array_size());
      return fill_items(tokens, *field.children()[0], static_cast<std::byte*>(value), field.array_size());
    case FieldKind::bitset:
      tokens.list(field.array_size());
      for (std::uint64_t i = 0; i < field.array_size(); ++i)
        static_cast<std::uint64_t*>(value)[i / 64] |= tokens.integer<std::uint64_t>() << (i % 64);
      return;
    case FieldKind::record:
      return fill_record(tokens, field, value);
    case FieldKind::variant:
      return fill_variant(tokens, field, value);
    case FieldKind::wrapper:
      return fill(tokens, *field.children()[0], value);
    case FieldKind::cardinality:
      throw std::runtime_error("a cardinality has no values");
  }
}

// ---- Steps

struct Options : colonnade::WriteOptions {
  std::size_t threads = 0;  // 0: a Writer
};

Options take_options(Tokens& tokens) {
  Options options;
  for (std::uint64_t n = tokens.list(); n > 0; --n) {
    tokens.list(2);
    const std::string name = tokens.text();
    if (name == "compression") {
      options.compression = tokens.text();
      continue;
    }
    const auto value = tokens.integer<std::uint64_t>();
    const std::map<std::string, std::size_t*> sizes = {
        {"approximate_cluster_size", &options.approximate_cluster_size},
        {"max_uncompressed_cluster_size", &options.max_uncompressed_cluster_size},
        {"initial_page_size", &options.initial_page_size},
        {"max_page_size", &options.max_page_size},
        {"page_buffer_budget", &options.page_buffer_budget},
        {"threads", &options.threads}};
    if (const auto found = sizes.find(name); found != sizes.end()) {
      *found->second = value;
    } else if (name == "page_checksums") {
      options.page_checksums = value != 0 ? colonnade::Checksums::on : colonnade::Checksums::off;
    } else if (name == "same_page_merging") {
      options.same_page_merging =
          value != 0 ? colonnade::SamePageMerging::on : colonnade::SamePageMerging::off;
    } else if (name == "max_key_size") {
      options.max_key_size = value;
    } else if (name == "clusters_per_group") {
      options.clusters_per_group = static_cast<std::uint32_t>(value);
    } else if (name == "parallel_sealing") {
      options.parallel_sealing = value != 0;
    } else if (name == "checkpoint_every_clusters") {
      options.checkpoint_every.clusters = static_cast<std::uint32_t>(value);
    } else if (name == "bare") {
      options.container = value != 0 ? colonnade::Container::bare_file : colonnade::Container::root_file;
    } else {
      throw std::runtime_error("there is no option " + name);
    }
  }
  return options;
}

// Takes entries and has threads write them.
class ParallelSession {
 public:
  ParallelSession(std::unique_ptr<Model> model, const std::string& name, const std::string& file,
                  const Options& options)
      : threads_(options.threads) {
    colonnade::WriteOptions staged = options;
    staged.cluster_order = colonnade::ClusterOrder::staged;
    writer_ = colonnade::ParallelWriter::recreate(std::move(model), name, file, staged);
    maker_ = writer_->make_fill_context();
  }

  colonnade::Entry& add_entry() { return *entries_.emplace_back(maker_->make_entry()); }
  void end_cluster() { ends_.insert(entries_.size()); }
  void close() {
    maker_->close();
    std::vector<std::unique_ptr<colonnade::FillContext>> contexts;
    std::vector<std::future<void>> running;
    for (std::size_t t = 0; t < threads_; ++t) contexts.push_back(writer_->make_fill_context());
    for (std::size_t t = 0; t < threads_; ++t)
      running.push_back(std::async(std::launch::async, [&, t] { write(*contexts[t], t); }));
    for (auto& done : running) done.get();
    writer_->close();
  }

 private:
  void write(colonnade::FillContext& context, std::size_t thread) {
    const std::size_t end = (thread + 1) * entries_.size() / threads_;
    for (std::size_t i = thread * entries_.size() / threads_; i < end; ++i) {
      context.fill(*entries_[i]);
      if (ends_.contains(i + 1)) context.commit_cluster();
    }
    context.close();
  }

  std::size_t threads_;
  std::unique_ptr<colonnade::ParallelWriter> writer_;
  std::unique_ptr<colonnade::FillContext> maker_;
  std::vector<std::unique_ptr<colonnade::Entry>> entries_;
  std::set<std::size_t> ends_;  // numbers of entries after which a cluster ends
};

class Session {
 public:
  void step(Tokens& tokens) {
    const std::uint64_t size = tokens.list();
    const std::string word = tokens.text();
    if (size == 6 && (word == "recreate" || word == "add_to")) {
      open(tokens, word == "recreate");
    } else if (word == "fill") {
      fill_entry(tokens);
    } else if (word == "extend") {
      extend(take_field(tokens));
    } else if (word == "project") {
      tokens.list(2);
      auto field = take_field(tokens).field;
      writer_->extend_projected(std::move(field), take_sources(tokens));
    } else if (word == "flush") {
      writer_->flush_columns();
    } else if (word == "cluster" && parallel_) {
      parallel_->end_cluster();
    } else if (word == "cluster") {
      writer_->commit_cluster();
    } else if (word == "commit") {
      writer_->commit_data_set();
    } else if (word == "close" && parallel_) {
      parallel_->close();
      parallel_.reset();
    } else if (word == "close") {
      writer_->close();
      writer_.reset();
    } else {
      throw std::runtime_error("there is no step " + word);
    }
  }

 private:
  struct Slot {
    const interop::TypedCodec* codec = nullptr;
    const Field* field = nullptr;
    std::shared_ptr<void> value;
  };

  void open(Tokens& tokens, bool recreate) {
    const std::string file = tokens.text();
    const std::string name = tokens.text();
    const Options options = take_options(tokens);
    slots_.clear();
    auto model = Model::create();
    for (std::uint64_t n = tokens.list(); n > 0; --n) {
      Target target = take_field(tokens);
      const Field* field = target.field.get();
      slots_.push_back({target.codec, field, model->add_field(std::move(target.field))});
    }
    for (std::uint64_t n = tokens.list(); n > 0; --n) {
      tokens.list(2);
      auto field = take_field(tokens).field;
      model->add_projected_field(std::move(field), take_sources(tokens));
    }
    if (options.threads > 0) {
      parallel_ = std::make_unique<ParallelSession>(std::move(model), name, file, options);
      return;
    }
    writer_ = recreate ? Writer::recreate(std::move(model), name, file, options)
                       : Writer::add_to(std::move(model), name, file, options);
  }

  void extend(Target target) {
    const std::string name = target.field->name();
    auto value = writer_->extend(std::move(target.field));
    slots_.push_back({target.codec, &writer_->model().field(name), std::move(value)});
  }

  void fill_entry(Tokens& tokens) {
    tokens.list(slots_.size());
    colonnade::Entry* const entry = parallel_ ? &parallel_->add_entry() : nullptr;
    for (const Slot& slot : slots_) {
      void* const value = entry ? entry->ptr<void>(slot.field->name()).get() : slot.value.get();
      if (slot.codec != nullptr) {
        slot.codec->fill(tokens, value);
        continue;
      }
      slot.field->destroy(value);
      slot.field->construct(value);
      fill(tokens, *slot.field, value);
    }
    if (writer_) writer_->fill();
  }

  std::vector<Slot> slots_;
  std::unique_ptr<Writer> writer_;
  std::unique_ptr<ParallelSession> parallel_;  // or this
};

}  // namespace

int main() {
  try {
    const std::string script{std::istreambuf_iterator<char>(std::cin), {}};
    Tokens tokens(script);
    Session session;
    for (std::uint64_t n = tokens.list(); n > 0; --n) session.step(tokens);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "colonnade_write: %s\n", error.what());
    return 1;
  }
}
