// For tests: writes random values of a type and reads them back in every way - typed, as stored, by
// name, entry by entry, out of order, as arrays - and writes the result again by name and as
// arrays.
#ifndef COLONNADE_DATASET_TEST_ROUND_TRIP_H
#define COLONNADE_DATASET_TEST_ROUND_TRIP_H

#include <deque>

#include "dataset/test_values.h"

namespace colonnade::testing {

// Pages of a few elements, clusters of a few entries, page lists of two clusters: covers every border.
inline WriteOptions tiny_pieces() {
  return {.compression = "zstd:1", .initial_page_size = 16, .max_page_size = 64, .clusters_per_group = 2};
}

template <class T>
std::deque<T> random_values(std::size_t count, std::uint64_t seed = 1) {
  Random random(seed);
  std::deque<T> values;
  for (std::size_t i = 0; i < count; ++i) randomize(random, values.emplace_back());
  return values;
}

inline std::vector<std::string> texts_of(const Field& field, const std::vector<const void*>& values) {
  std::vector<std::string> texts;
  for (const void* value : values) texts.push_back(to_text(field, value));
  return texts;
}

// Not a template, so that it is compiled once.
class StoredValues {
 public:
  StoredValues(std::string uri, std::vector<std::string> texts)
      : uri_(std::move(uri)), texts_(std::move(texts)) {}

  void expect_as_stored() const {
    auto reader = Reader::open("Data", uri_);
    auto view = reader->view("x");
    ASSERT_EQ(view.size(), texts_.size());
    for (std::size_t i = texts_.size(); i > 0; --i)
      ASSERT_EQ(view.text(i - 1), texts_[i - 1]) << "backwards, entry " << i - 1;
    Random random(7);
    for (std::size_t i = 0; i < texts_.size(); ++i) {
      const std::size_t k = random() % texts_.size();
      ASSERT_EQ(view.text(k), texts_[k]) << "in random order, entry " << k;
    }
    const auto value = reader->make_entry();
    for (std::size_t i = 0; i < texts_.size(); ++i) {
      reader->load_entry(i, *value);
      ASSERT_EQ(to_text(reader->model().field("x"), value->ptr<void>("x").get()), texts_[i]) << "entry " << i;
    }
    reader->verify();
  }

  // Values read as stored are written with the same types by name, and read again.
  void expect_by_name(const std::string& type_name, const WriteOptions& options) const {
    const MemoryFile copy;
    auto reader = Reader::open("Data", uri_);
    auto model = Model::create();
    auto field = make_field("x", type_name);
    EXPECT_EQ(field->type_name(), type_name);
    model->add_field(std::move(field));
    auto target = Model::create();
    target->add_field(make_field("x", type_name));
    auto source = Reader::open(std::move(model), "Data", uri_);
    auto writer = Writer::recreate(std::move(target), "Data", copy, options);
    auto entry = writer->make_entry();
    entry->bind("x", source->model().default_entry().ptr<void>("x").get(), type_name);
    for (std::size_t i = 0; i < texts_.size(); ++i) {
      source->load_entry(i);
      writer->fill(*entry);
      if (i % 5 == 4) writer->commit_cluster();
    }
    writer->close();
    StoredValues(copy, texts_).expect_as_stored();
  }

  // Reads all arrays and writes them back; `expect` checks the copy.
  template <class Expect>
  void expect_as_arrays(std::unique_ptr<Model> model, const WriteOptions& options, Expect&& expect) const {
    const MemoryFile copy;
    auto reader = Reader::open("Data", uri_);
    auto writer = Writer::recreate(std::move(model), "Data", copy, options);
    const std::vector<std::string> paths = {"x"};
    const std::uint64_t steps[] = {1, 3, texts_.size() / 2, texts_.size()};
    std::uint64_t first = 0;
    for (const std::uint64_t step : steps) {
      const std::uint64_t last = std::min<std::uint64_t>(first + step, texts_.size());
      const auto arrays = reader->arrays(paths, first, last);
      std::vector<NamedArray> named;
      for (const ColumnArray& array : arrays)
        named.push_back({reader->descriptor().path_of(array.field),
                         {array.role, array.element, array.data.get(), array.size}});
      writer->append(named);
      first = last;
    }
    writer->close();
    expect(static_cast<const std::string&>(copy));
  }

 private:
  std::string uri_;
  std::vector<std::string> texts_;
};

template <class T>
void expect_typed(const std::string& uri, const std::deque<T>& values) {
  auto reader = Reader::open("Data", uri);
  auto view = reader->view<T>("x");
  ASSERT_EQ(view.size(), values.size());
  for (std::size_t i = 0; i < values.size(); ++i) ASSERT_TRUE(same<T>(view(i), values[i])) << "entry " << i;
  Random random(3);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t k = random() % values.size();
    ASSERT_TRUE(same<T>(view(k), values[k])) << "in random order, entry " << k;
  }
  auto model = Model::create();
  auto value = model->make_field<T>("x");
  auto imposed = Reader::open(std::move(model), "Data", uri);
  for (std::size_t i = values.size(); i > 0; --i) {
    imposed->load_entry(i - 1);
    ASSERT_TRUE(same<T>(*value, values[i - 1])) << "backwards, entry " << i - 1;
  }
}

template <class T>
void write_values(const std::string& uri, const std::deque<T>& values, const WriteOptions& options,
                  std::size_t per_cluster = 7) {
  auto model = Model::create();
  model->make_field<T>("x");
  auto writer = Writer::recreate(std::move(model), "Data", uri, options);
  auto entry = writer->make_entry();
  for (std::size_t i = 0; i < values.size(); ++i) {
    entry->bind("x", const_cast<T*>(&values[i]));
    writer->fill(*entry);
    if (i % per_cluster == per_cluster - 1) writer->commit_cluster();
  }
  writer->close();
}

template <class T>
void expect_round_trip(const WriteOptions& options = tiny_pieces(), std::size_t count = 30,
                       bool by_name = true) {
  const MemoryFile file;
  const auto values = random_values<T>(count);
  write_values(file.uri(), values, options);
  expect_typed(file.uri(), values);

  const auto field = make_field<T>("x");
  std::vector<const void*> pointers;
  for (const T& value : values) pointers.push_back(&value);
  const StoredValues stored(file, texts_of(*field, pointers));
  stored.expect_as_stored();
  if (by_name) stored.expect_by_name(field->type_name(), options);
  auto model = Model::create();
  model->make_field<T>("x");
  stored.expect_as_arrays(std::move(model), options,
                          [&](const std::string& copy) { expect_typed(copy, values); });
}

}  // namespace colonnade::testing

#endif
