// Converts Arrow arrays to the flat arrays of fields. The elements used of an array are a list of runs: one
// run for all of it, several if missing values, alternatives of unions or codes of dictionaries skip
// elements.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <span>

#include "capi/arrow_import.h"
#include "codec/kernels/kernels.h"
#include "colonnade/error.h"

namespace colonnade::capi {
namespace {

using Kind = ImportType::Kind;

struct Run {
  std::int64_t first = 0;
  std::int64_t count = 0;
};
using Runs = std::vector<Run>;

void add(Runs& runs, std::int64_t first, std::int64_t count) {
  if (count == 0) return;
  if (!runs.empty() && runs.back().first + runs.back().count == first) {
    runs.back().count += count;
  } else {
    runs.push_back({first, count});
  }
}

std::size_t count_of(const Runs& runs) {
  std::size_t count = 0;
  for (const Run& run : runs) count += static_cast<std::size_t>(run.count);
  return count;
}

template <class Work>
void for_each(const Runs& runs, Work work) {
  for (const Run& run : runs)
    for (std::int64_t i = run.first; i < run.first + run.count; ++i) work(i);
}

template <class T>
T load(const void* from, std::int64_t index) {
  T value;
  std::memcpy(&value, static_cast<const std::byte*>(from) + index * static_cast<std::int64_t>(sizeof(T)),
              sizeof(T));
  return value;
}

bool bit_of(const void* bits, std::int64_t index) {
  return (static_cast<const std::uint8_t*>(bits)[index / 8] >> (index % 8) & 1) != 0;
}

class ArrayImport {
 public:
  void take(const ImportType& type, const ArrowArray& array, const Runs& runs, const std::string& path) {
    check(type, array, path);
    if (type.kind == Kind::optionals) return optionals(type, array, runs, path);
    if (type.kind != Kind::variants) check_present(array, runs, path);
    if (type.values) return decoded(type, array, runs, path);
    switch (type.kind) {
      case Kind::numbers:
        return numbers(array, type.element, runs, path);
      case Kind::half:
        return halves(array, runs, path);
      case Kind::booleans:
        return booleans(array, runs, path);
      case Kind::texts:
      case Kind::bytes:
        return texts(type, array, runs, path);
      case Kind::text_views:
      case Kind::byte_views:
        return views(type, array, runs, path);
      case Kind::lists: {
        const Runs items = offsets(type, array, runs, path);
        return take(type.children[0], child(array, 0, items, path), items, path + "._0");
      }
      case Kind::fixed_lists: {
        Runs items;
        const auto size = static_cast<std::int64_t>(type.size);
        for (const Run& run : runs) {
          if (array.offset + run.first + run.count > std::numeric_limits<std::int64_t>::max() / size)
            fail(path, "the items end beyond those that exist");
          add(items, (array.offset + run.first) * size, run.count * size);
        }
        return take(type.children[0], child(array, 0, items, path), items, path + "._0");
      }
      case Kind::records: {
        Runs members;
        for (const Run& run : runs) add(members, array.offset + run.first, run.count);
        for (std::size_t k = 0; k < type.children.size(); ++k) {
          const std::string name = type.is_tuple ? "_" + std::to_string(k) : type.children[k].name;
          take(type.children[k], child(array, k, members, path), members, fmt::format("{}.{}", path, name));
        }
        return;
      }
      case Kind::variants:
        return variants(type, array, runs, path);
      case Kind::optionals:
        return;
    }
  }

  ImportedArrays taken;

 private:
  [[noreturn]] static void fail(const std::string& path, const std::string& problem) {
    throw Error(ErrorKind::usage, problem, "check the program that made the Arrow array", {.field = path});
  }

  // ---- Checks of arrays against their schema

  static std::int64_t buffers_of(const ImportType& type) {
    switch (type.kind) {
      case Kind::texts:
      case Kind::bytes:
        return 3;
      case Kind::records:
      case Kind::fixed_lists:
        return 1;
      case Kind::variants:
        return type.is_dense ? 2 : 1;
      default:
        return 2;
    }
  }

  static void check(const ImportType& type, const ArrowArray& array, const std::string& path) {
    if (type.kind == Kind::optionals) return;  // its child has the same array
    constexpr std::int64_t longest = std::numeric_limits<std::int64_t>::max() / 16;
    if (array.release == nullptr) fail(path, "the array was released");
    if (array.length < 0 || array.offset < 0 || array.length > longest || array.offset > longest)
      fail(path, "the array has an impossible length or offset");
    const bool has_views = type.kind == Kind::text_views || type.kind == Kind::byte_views;
    const std::int64_t buffers = type.values ? 2 : buffers_of(type);
    if (has_views ? array.n_buffers < 3 : array.n_buffers != buffers)
      fail(path, "the array has " + std::to_string(array.n_buffers) + " buffers, its type has others");
    if (array.buffers == nullptr) fail(path, "the array has no buffers");
    // The first buffer is the validity bitmap, null if no value is missing; unions have none.
    for (std::int64_t i = type.kind == Kind::variants ? 0 : 1; i < array.n_buffers && !has_views; ++i)
      if (array.buffers[i] == nullptr && array.length > 0 && !(i == 2 && is_empty_text(type, array)))
        fail(path, "a buffer of the array is a null pointer");
    const auto children = type.values ? 0 : static_cast<std::int64_t>(type.children.size());
    if (array.n_children != children || (children > 0 && array.children == nullptr))
      fail(path, "the array has " + std::to_string(array.n_children) + " children, its type has " +
                     std::to_string(children));
    if (!type.values) return;
    if (array.dictionary == nullptr) fail(path, "the array has no dictionary");
    check(*type.values, *array.dictionary, path);
  }

  static bool is_empty_text(const ImportType& type, const ArrowArray& array) {
    const std::int64_t end = array.offset + array.length;
    return (type.kind == Kind::texts || type.kind == Kind::bytes) && array.buffers[1] != nullptr &&
           (type.offset_width == 8 ? load<std::int64_t>(array.buffers[1], end) == 0
                                   : load<std::int32_t>(array.buffers[1], end) == 0);
  }

  static const ArrowArray& child(const ArrowArray& array, std::size_t number, const Runs& runs,
                                 const std::string& path) {
    const ArrowArray* child = array.children[number];
    if (child == nullptr) fail(path, "a child of the array is a null pointer");
    check_runs(*child, runs, path);
    return *child;
  }

  static void check_runs(const ArrowArray& array, const Runs& runs, const std::string& path) {
    for (const Run& run : runs)
      if (run.first < 0 || run.first > array.length || run.count > array.length - run.first)
        fail(path, "the items end beyond those that exist");
  }

  static bool may_lack(const ArrowArray& array) {
    return array.null_count != 0 && array.n_buffers > 0 && array.buffers[0] != nullptr;
  }

  static void check_present(const ArrowArray& array, const Runs& runs, const std::string& path) {
    if (!may_lack(array)) return;
    for_each(runs, [&](std::int64_t i) {
      if (bit_of(array.buffers[0], array.offset + i)) return;
      throw Error(
          ErrorKind::conversion, "value " + std::to_string(i) + " is missing, and the field is not optional",
          "COLONNADE_NULLS_OPTIONAL, except for structs and lists of them, or fill the missing values",
          {.field = path});
    });
  }

  // ---- Flat arrays

  template <class T>
  std::shared_ptr<T[]> make(std::size_t count) {
    std::shared_ptr<T[]> memory(new T[std::max<std::size_t>(count, 1)]);
    taken.owners.push_back(memory);
    return memory;
  }

  void give(const std::string& path, ArrayRole role, ElementType element, const void* data,
            std::size_t count) {
    static const std::uint64_t nothing = 0;
    taken.arrays.push_back({path, ArrayView(role, element, data == nullptr ? &nothing : data, count)});
  }

  // The values of one run are not copied.
  void numbers(const ArrowArray& array, ElementType element, const Runs& runs, const std::string& path) {
    const std::size_t count = count_of(runs), width = size_of(element);
    const auto* from = static_cast<const std::byte*>(array.n_buffers > 1 ? array.buffers[1] : nullptr);
    if (runs.size() == 1) {
      const auto* values = from + static_cast<std::size_t>(array.offset + runs[0].first) * width;
      if (std::bit_cast<std::uintptr_t>(values) % width == 0)
        return give(path, ArrayRole::values, element, values, count);
    }
    auto values = make<std::byte>(count * width);
    std::byte* to = values.get();
    for (const Run& run : runs) {
      const auto bytes = static_cast<std::size_t>(run.count) * width;
      std::memcpy(to, from + static_cast<std::size_t>(array.offset + run.first) * width, bytes);
      to += bytes;
    }
    give(path, ArrayRole::values, element, values.get(), count);
  }

  void halves(const ArrowArray& array, const Runs& runs, const std::string& path) {
    auto values = make<float>(count_of(runs));
    float* to = values.get();
    for (const Run& run : runs) {
      const auto* from = static_cast<const std::byte*>(array.buffers[1]) + (array.offset + run.first) * 2;
      codec::kernels().half_to_float(from, static_cast<std::size_t>(run.count), to);
      to += run.count;
    }
    give(path, ArrayRole::values, ElementType::float32, values.get(), count_of(runs));
  }

  void booleans(const ArrowArray& array, const Runs& runs, const std::string& path) {
    auto values = make<std::uint8_t>(count_of(runs));
    std::uint8_t* to = values.get();
    for_each(runs, [&](std::int64_t i) { *to++ = bit_of(array.buffers[1], array.offset + i) ? 1 : 0; });
    give(path, ArrayRole::values, ElementType::boolean, values.get(), count_of(runs));
  }

  // Adds the offsets, and returns the runs of the elements between them.
  Runs offsets(const ImportType& type, const ArrowArray& array, const Runs& runs, const std::string& path) {
    auto ends = make<std::int64_t>(count_of(runs) + 1);
    std::int64_t* to = ends.get();
    *to = 0;
    Runs items;
    const auto at = [&](std::int64_t i) {
      return type.offset_width == 8 ? load<std::int64_t>(array.buffers[1], array.offset + i)
                                    : std::int64_t{load<std::int32_t>(array.buffers[1], array.offset + i)};
    };
    for_each(runs, [&](std::int64_t i) {
      const std::int64_t first = at(i), last = at(i + 1);
      if (first < 0 || last < first) fail(path, "the offsets of the array decrease");
      add(items, first, last - first);
      to[1] = to[0] + (last - first);
      ++to;
    });
    give(path, ArrayRole::offsets, ElementType::int64, ends.get(), count_of(runs) + 1);
    return items;
  }

  void texts(const ImportType& type, const ArrowArray& array, const Runs& runs, const std::string& path) {
    const Runs characters = offsets(type, array, runs, path);
    const auto* from = static_cast<const std::byte*>(array.buffers[2]);
    const std::size_t count = count_of(characters);
    const std::byte* data = nullptr;
    if (characters.size() == 1) {
      data = from + characters[0].first;
    } else if (count > 0) {
      auto joined = make<std::byte>(count);
      std::byte* to = joined.get();
      for (const Run& run : characters) to = std::copy_n(from + run.first, run.count, to);
      data = joined.get();
    }
    characters_of(type.kind == Kind::texts, path, data, count);
  }

  void characters_of(bool is_text, const std::string& path, const void* data, std::size_t count) {
    give(is_text ? path : path + "._0", ArrayRole::values,
         is_text ? ElementType::character : ElementType::byte, data, count);
  }

  // A view is a length of 4 bytes and up to 12 characters; longer texts have a prefix of 4 characters, the
  // number of a buffer and an offset in it. The last buffer has the sizes of the data buffers.
  void views(const ImportType& type, const ArrowArray& array, const Runs& runs, const std::string& path) {
    auto ends = make<std::int64_t>(count_of(runs) + 1);
    std::int64_t* end = ends.get();
    *end = 0;
    std::vector<std::byte> bytes;
    const std::int64_t data_buffers = array.n_buffers - 3;
    const bool lacks_sizes = data_buffers > 0 && array.buffers[array.n_buffers - 1] == nullptr;
    if ((array.buffers[1] == nullptr || lacks_sizes) && array.length > 0)
      fail(path, "a buffer of the array is a null pointer");
    for_each(runs, [&](std::int64_t i) {
      const auto* view = static_cast<const std::byte*>(array.buffers[1]) + (array.offset + i) * 16;
      const auto length = load<std::int32_t>(view, 0);
      const std::byte* from = view + 4;
      if (length > 12) {
        const std::int64_t buffer = load<std::int32_t>(view, 2), place = load<std::int32_t>(view, 3);
        if (buffer < 0 || buffer >= data_buffers || place < 0 || array.buffers[buffer + 2] == nullptr ||
            place + length > load<std::int64_t>(array.buffers[array.n_buffers - 1], buffer))
          fail(path, "a view of the array points nowhere");
        from = static_cast<const std::byte*>(array.buffers[buffer + 2]) + place;
      }
      if (length < 0) fail(path, "a view of the array has a negative length");
      bytes.insert(bytes.end(), from, from + length);
      end[1] = end[0] + length;
      ++end;
    });
    auto data = make<std::byte>(bytes.size());
    std::copy(bytes.begin(), bytes.end(), data.get());
    give(path, ArrayRole::offsets, ElementType::int64, ends.get(), count_of(runs) + 1);
    characters_of(type.kind == Kind::text_views, path, data.get(), bytes.size());
  }

  void optionals(const ImportType& type, const ArrowArray& array, const Runs& runs, const std::string& path) {
    const ImportType& inner = type.children[0];
    check(inner, array, path);
    auto ends = make<std::int64_t>(count_of(runs) + 1);
    std::int64_t* end = ends.get();
    *end = 0;
    Runs present;
    for_each(runs, [&](std::int64_t i) {
      const bool here = (!may_lack(array) || bit_of(array.buffers[0], array.offset + i)) &&
                        (!inner.values || stands_for_a_value(inner, array, i, path));
      if (here) add(present, i, 1);
      end[1] = end[0] + (here ? 1 : 0);
      ++end;
    });
    give(path, ArrayRole::offsets, ElementType::int64, ends.get(), count_of(runs) + 1);
    take(inner, array, present, path + "._0");
  }

  // The values of each alternative follow each other in its child.
  static void check_places(const ArrowArray& array, const Runs& runs, const std::string& path) {
    std::int64_t begin = array.length;
    std::int64_t end = 0;
    for (const Run& run : runs) {
      begin = std::min(begin, run.first);
      end = std::max(end, run.first + run.count);
    }
    std::array<std::int32_t, 256> last = {};
    for (std::int64_t i = array.offset + begin; i < array.offset + end; ++i) {
      const auto place = load<std::int32_t>(array.buffers[1], i);
      std::int32_t& before = last[load<std::uint8_t>(array.buffers[0], i)];
      if (place < before) fail(path, "the offsets of the union decrease");
      before = place;
    }
  }

  void variants(const ImportType& type, const ArrowArray& array, const Runs& runs, const std::string& path) {
    auto tags = make<std::int32_t>(count_of(runs));
    std::int32_t* tag = tags.get();
    std::vector<Runs> values(type.children.size());
    if (type.is_dense) check_places(array, runs, path);
    for_each(runs, [&](std::int64_t i) {
      const auto code = load<std::int8_t>(array.buffers[0], array.offset + i);
      const auto found = std::find(type.codes.begin(), type.codes.end(), code);
      if (found == type.codes.end())
        fail(path, "a value of the union has the unknown code " + std::to_string(code));
      const auto number = found - type.codes.begin();
      *tag++ = static_cast<std::int32_t>(number) + 1;
      add(values[static_cast<std::size_t>(number)],
          type.is_dense ? load<std::int32_t>(array.buffers[1], array.offset + i) : array.offset + i, 1);
    });
    give(path, ArrayRole::tags, ElementType::int32, tags.get(), count_of(runs));
    for (std::size_t k = 0; k < values.size(); ++k)
      take(type.children[k], child(array, k, values[k], path), values[k], path + "._" + std::to_string(k));
  }

  // A code that is beyond the dictionary is found later.
  static bool stands_for_a_value(const ImportType& type, const ArrowArray& array, std::int64_t i,
                                 const std::string& path) {
    const ArrowArray& values = *array.dictionary;
    if (!may_lack(values) && !type.values->values) return true;
    const std::int64_t code = code_at(type.element, array, i, path);
    if (code < 0 || code >= values.length) return true;
    if (may_lack(values) && !bit_of(values.buffers[0], values.offset + code)) return false;
    return !type.values->values || stands_for_a_value(*type.values, values, code, path);
  }

  void decoded(const ImportType& type, const ArrowArray& array, const Runs& runs, const std::string& path) {
    Runs values;
    for_each(runs, [&](std::int64_t i) { add(values, code_at(type.element, array, i, path), 1); });
    check_runs(*array.dictionary, values, path);
    take(*type.values, *array.dictionary, values, path);
  }

  static std::int64_t code_at(ElementType element, const ArrowArray& array, std::int64_t i,
                              const std::string& path) {
    const void* codes = array.buffers[1];
    const std::int64_t at = array.offset + i;
    switch (element) {
      case ElementType::int8:
        return load<std::int8_t>(codes, at);
      case ElementType::uint8:
        return load<std::uint8_t>(codes, at);
      case ElementType::int16:
        return load<std::int16_t>(codes, at);
      case ElementType::uint16:
        return load<std::uint16_t>(codes, at);
      case ElementType::int32:
        return load<std::int32_t>(codes, at);
      case ElementType::uint32:
        return load<std::uint32_t>(codes, at);
      case ElementType::int64:
        return load<std::int64_t>(codes, at);
      default: {
        const auto code = load<std::uint64_t>(codes, at);
        if (code > std::uint64_t{std::numeric_limits<std::int64_t>::max()})
          fail(path, "a code of the dictionary is beyond it");
        return static_cast<std::int64_t>(code);
      }
    }
  }
};

}  // namespace

ImportedArrays import_array(const std::vector<ImportType>& fields, const ArrowArray& batch) {
  const auto fail = [](const std::string& problem) {
    throw Error(ErrorKind::usage, problem, "give a struct array of the schema that the writer was made with");
  };
  if (batch.release == nullptr) fail("the array was released");
  if (batch.length < 0 || batch.offset < 0 || batch.length > std::numeric_limits<std::int64_t>::max() / 16 ||
      batch.offset > std::numeric_limits<std::int64_t>::max() / 16)
    fail("the array has an impossible length or offset");
  if (batch.n_children != static_cast<std::int64_t>(fields.size()) ||
      (!fields.empty() && batch.children == nullptr))
    fail("the array has " + std::to_string(batch.n_children) + " fields, the writer " +
         std::to_string(fields.size()));
  if (batch.null_count != 0 && batch.n_buffers > 0 && batch.buffers != nullptr &&
      batch.buffers[0] != nullptr) {
    for (std::int64_t i = 0; i < batch.length; ++i)
      if (!bit_of(batch.buffers[0], batch.offset + i))
        fail("entry " + std::to_string(i) + " of the array is missing");
  }
  ArrayImport import;
  Runs all;
  add(all, batch.offset, batch.length);
  for (std::size_t k = 0; k < fields.size(); ++k) {
    const ArrowArray* child = batch.children[k];
    if (child == nullptr) fail("a child of the array is a null pointer");
    if (child->length < batch.offset + batch.length)
      fail("the field \"" + fields[k].name + "\" has too few values");
    import.take(fields[k], *child, all, fields[k].name);
  }
  import.taken.entries = static_cast<std::uint64_t>(batch.length);
  return std::move(import.taken);
}

}  // namespace colonnade::capi
