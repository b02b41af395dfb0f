// What users of io::ObjectStore and io::ObjectQueue may rely on, for every object store.
#include "io/object_store_conformance_test.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <map>
#include <numeric>
#include <thread>

#include "base/test_errors.h"

namespace colonnade::io {

std::vector<StoreUnderTest>& stores_under_test() {
  static std::vector<StoreUnderTest> all;
  return all;
}

namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::uint64_t largest = ~std::uint64_t{0};
constexpr std::uint64_t middle = std::uint64_t{1} << 63;

Bytes pattern(std::size_t size, std::size_t seed = 0) {
  Bytes bytes(size);
  for (std::size_t i = 0; i < size; ++i)
    bytes[i] = static_cast<std::byte>((i * 131 + (i >> 8) + seed * 37) & 0xff);
  return bytes;
}

Bytes bytes_of(std::string_view text) {
  const ByteSpan bytes = as_bytes(text);
  return {bytes.begin(), bytes.end()};
}

// Updates of one operation, which own their values.
struct Updates {
  std::vector<Bytes> values;
  std::vector<UpdateItem> items;
  void add(std::uint64_t akey, Bytes value) {
    values.push_back(std::move(value));
    items.push_back({akey, {ByteSpan(values.back())}});
  }
};

void put(ObjectStore& store, const ValueAddress& address, ByteSpan value) {
  const UpdateItem item{address.akey, {value}};
  store.update(address.object, address.dkey, {&item, 1});
}

Bytes read(const ObjectStore& store, const ValueAddress& address, std::uint64_t offset, std::size_t size) {
  Bytes into(size, std::byte{0xee});
  const FetchItem item{address.akey, offset, into};
  store.fetch(address.object, address.dkey, {&item, 1});
  return into;
}

Bytes read_all(const ObjectStore& store, const ValueAddress& address) {
  const std::optional<std::uint64_t> size = store.size(address);
  EXPECT_TRUE(size.has_value()) << to_text(address);
  return read(store, address, 0, static_cast<std::size_t>(size.value_or(0)));
}

class Stores : public testing::TestWithParam<StoreUnderTest> {
 protected:
  void SetUp() override {
    std::string name = testing::UnitTest::GetInstance()->current_test_info()->name();
    uri_ = GetParam().fresh_uri(name.substr(0, name.find('/')));
    store_ = open_object_store(uri_, GetParam().options);
  }
  // Another handle of the same store.
  std::shared_ptr<ObjectStore> open_again() const {
    StoreOptions options = GetParam().options;
    options.create = false;
    return open_object_store(uri_, options);
  }
  std::size_t large_size() const { return std::min(GetParam().largest_value, store_->traits().max_value); }
  std::size_t many_items() const { return std::min<std::size_t>(store_->traits().max_items, 500); }
  void expect_missing(const ValueAddress& address) const {
    const Error error = error_of([&] { read(*store_, address, 0, 1); });
    EXPECT_EQ(error.kind(), ErrorKind::not_found) << error.what();
    EXPECT_THAT(error.problem(), HasSubstr(to_text(address)));
    EXPECT_EQ(error.context().uri, uri_);
    EXPECT_FALSE(error.advice().empty());
  }

  std::string uri_;
  std::shared_ptr<ObjectStore> store_;
};

// ---- Stores

TEST_P(Stores, NameTheirUri) {
  EXPECT_EQ(store_->uri(), uri_);
  EXPECT_TRUE(is_object_store(uri_));
}

TEST_P(Stores, DeclareUsableNumbers) {
  const StoreTraits traits = store_->traits();
  EXPECT_GE(traits.max_value, std::size_t{1} << 20);
  EXPECT_GE(traits.best_value, std::size_t{4} << 10);
  EXPECT_LE(traits.best_value, traits.max_value);
  EXPECT_GE(traits.max_items, 1u);
  EXPECT_GE(traits.concurrency, 1u);
}

TEST_P(Stores, SayThatTheyAreMissing) {
  if (!GetParam().misses_stores) {
    EXPECT_NO_THROW(open_again());
    return;
  }
  const std::string uri = GetParam().fresh_uri("missing");
  // At the latest where something is looked for in them.
  const Error error = error_of([&] { open_object_store(uri)->get({{0, 1}, 2, 3}); });
  EXPECT_EQ(error.kind(), ErrorKind::not_found);
  EXPECT_EQ(error.context().uri, uri);
  EXPECT_FALSE(error.advice().empty());
}

TEST_P(Stores, KeepValuesWhenTheyAreOpenedAgain) {
  put(*store_, {{3, 4}, 5, 6}, as_bytes("kept"));
  EXPECT_TRUE(store_->put_if({{0, 0}, 1, 0}, as_bytes("anchor"), std::nullopt));
  EXPECT_EQ(read_all(*open_again(), {{3, 4}, 5, 6}), bytes_of("kept"));  // while the first handle is open
  store_->sync();
  store_.reset();
  store_ = open_again();
  EXPECT_EQ(read_all(*store_, {{3, 4}, 5, 6}), bytes_of("kept"));
  ASSERT_TRUE(store_->get({{0, 0}, 1, 0}).has_value());
  EXPECT_EQ(store_->get({{0, 0}, 1, 0})->value, bytes_of("anchor"));
  EXPECT_NO_THROW(open_object_store(uri_, GetParam().options));  // creating an existing store opens it
  EXPECT_EQ(read_all(*store_, {{3, 4}, 5, 6}), bytes_of("kept"));
}

// ---- Values

TEST_P(Stores, GiveBackWhatWasWritten) {
  for (const std::size_t size : {1u, 100u, 4096u, 70000u, 1u << 20}) {
    const ValueAddress address{{1, size}, 2, 3};
    put(*store_, address, pattern(size));
    EXPECT_EQ(store_->size(address), size);
    EXPECT_TRUE(read_all(*store_, address) == pattern(size)) << size;
  }
}

TEST_P(Stores, KeepEmptyValues) {
  const ValueAddress address{{1, 1}, 0, 0};
  put(*store_, address, {});
  const UpdateItem without_parts{1, {}};
  store_->update({1, 1}, 0, {&without_parts, 1});
  EXPECT_EQ(store_->size(address), 0u);
  EXPECT_EQ(store_->size({{1, 1}, 0, 1}), 0u);
  EXPECT_THAT(read(*store_, address, 0, 0), IsEmpty());
  EXPECT_THAT(store_->list_akeys({1, 1}, 0), ElementsAre(0u, 1u));
  EXPECT_EQ(error_of([&] { read(*store_, address, 0, 1); }).kind(), ErrorKind::format);
}

TEST_P(Stores, JoinPartsToAValue) {
  const Bytes content = pattern(90000);
  UpdateItem item{7, {{}}};
  std::size_t at = 0;
  for (std::size_t size = 1; at < content.size(); size = size * 2 % 9973) {
    const std::size_t taken = std::min(size, content.size() - at);
    item.parts.push_back(ByteSpan(content).subspan(at, taken));
    at += taken;
  }
  item.parts.emplace_back();
  store_->update({1, 1}, 5, {&item, 1});
  EXPECT_TRUE(read_all(*store_, {{1, 1}, 5, 7}) == content);
}

TEST_P(Stores, JoinThousandsOfParts) {
  const Bytes content = pattern(9000);
  UpdateItem item{0, {}};
  for (std::size_t i = 0; i < 3000; ++i) item.parts.push_back(ByteSpan(content).subspan(3 * i, 3));
  store_->update({1, 1}, 0, {&item, 1});
  EXPECT_TRUE(read_all(*store_, {{1, 1}, 0, 0}) == content);
}

TEST_P(Stores, MoveManyItemsAtOnce) {
  const std::size_t count = many_items();
  Updates updates;
  for (std::size_t i = 0; i < count; ++i) updates.add(i * 3 + 1, pattern(i * 17 % 3000, i));
  store_->update({2, 9}, 4, updates.items);
  std::vector<Bytes> into;
  std::vector<FetchItem> items;
  for (std::size_t i = count; i-- > 0;) {  // in another order than they were written
    into.emplace_back(updates.values[i].size());
    items.push_back({i * 3 + 1, 0, into.back()});
  }
  store_->fetch({2, 9}, 4, items);
  for (std::size_t i = 0; i < count; ++i) EXPECT_EQ(into[count - 1 - i], updates.values[i]) << i;
}

TEST_P(Stores, DoNothingForNoItems) {
  EXPECT_NO_THROW(store_->update({1, 1}, 1, {}));
  EXPECT_NO_THROW(store_->fetch({1, 1}, 1, {}));
  EXPECT_THAT(store_->list_dkeys({1, 1}), IsEmpty());
}

TEST_P(Stores, ReadRangesOfAValue) {
  const Bytes content = pattern(300000);
  put(*store_, {{1, 2}, 3, 4}, content);
  for (const auto& [offset, size] : std::vector<std::pair<std::size_t, std::size_t>>{
           {0, 1}, {0, 300000}, {299999, 1}, {4095, 2}, {17, 65536}, {100000, 0}, {300000, 0}}) {
    const Bytes part = read(*store_, {{1, 2}, 3, 4}, offset, size);
    EXPECT_TRUE(std::equal(part.begin(), part.end(), content.begin() + static_cast<std::ptrdiff_t>(offset)))
        << offset;
  }
}

TEST_P(Stores, ReadSeveralRangesOfOneValueAtOnce) {
  const Bytes content = pattern(100000);
  put(*store_, {{1, 2}, 3, 4}, content);
  put(*store_, {{1, 2}, 3, 5}, as_bytes("other"));
  // Adjacent, overlapping, repeated, out of order, and with another value in between.
  const std::size_t most = store_->traits().max_items;
  std::vector<std::pair<std::size_t, std::size_t>> ranges{{5000, 100}, {0, 5000},   {4990, 20},
                                                          {99999, 1},  {5000, 100}, {0, 100000}};
  if (ranges.size() + 1 > most) ranges.resize(most - 1);
  std::vector<Bytes> into;
  for (const auto& range : ranges) into.emplace_back(range.second);
  Bytes other(5);
  std::vector<FetchItem> items;
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    items.push_back({4, ranges[i].first, into[i]});
    if (i == 2) items.push_back({5, 0, other});
  }
  store_->fetch({1, 2}, 3, items);
  for (std::size_t i = 0; i < ranges.size(); ++i)
    EXPECT_TRUE(std::equal(into[i].begin(), into[i].end(),
                           content.begin() + static_cast<std::ptrdiff_t>(ranges[i].first)))
        << i;
  if (ranges.size() > 2) {
    EXPECT_EQ(other, bytes_of("other"));
  }
}

TEST_P(Stores, RefuseToReadPastTheEnd) {
  const ValueAddress address{{1, 2}, 3, 4};
  put(*store_, address, pattern(100));
  for (const std::uint64_t offset :
       {std::uint64_t{51}, std::uint64_t{100}, std::uint64_t{1} << 40, largest - 10}) {
    const Error error = error_of([&] { read(*store_, address, offset, 50); });
    EXPECT_EQ(error.kind(), ErrorKind::format) << error.what();
    EXPECT_THAT(error.problem(), HasSubstr(to_text(address)));
    EXPECT_EQ(error.context().uri, uri_);
  }
  EXPECT_EQ(read(*store_, address, 50, 50).size(), 50u);
}

TEST_P(Stores, ReplaceValuesByLongerAndShorterOnes) {
  const ValueAddress address{{1, 2}, 3, 4};
  for (const std::size_t size : {100u, 50000u, 10u, 0u, 2000000u, 1u}) {
    put(*store_, address, pattern(size, size));
    EXPECT_EQ(store_->size(address), size);
    EXPECT_TRUE(read_all(*store_, address) == pattern(size, size)) << size;
  }
}

TEST_P(Stores, SayWhatIsMissing) {
  put(*store_, {{1, 2}, 3, 4}, as_bytes("x"));
  expect_missing({{1, 2}, 3, 5});
  expect_missing({{1, 2}, 4, 4});
  expect_missing({{1, 3}, 3, 4});
  expect_missing({{2, 2}, 3, 4});
  EXPECT_EQ(store_->size({{1, 2}, 3, 5}), std::nullopt);
  EXPECT_EQ(store_->size({{1, 2}, 4, 4}), std::nullopt);
  EXPECT_EQ(store_->size({{1, 3}, 3, 4}), std::nullopt);
  EXPECT_EQ(store_->get({{1, 2}, 3, 5}), std::nullopt);
  EXPECT_EQ(store_->get({{1, 3}, 3, 4}), std::nullopt);
}

TEST_P(Stores, FailAsAWholeIfOneItemIsMissing) {
  put(*store_, {{1, 2}, 3, 4}, as_bytes("x"));
  std::array<Bytes, 2> into{Bytes(1), Bytes(1)};
  const std::array items{FetchItem{4, 0, into[0]}, FetchItem{5, 0, into[1]}};
  if (store_->traits().max_items < items.size()) return;
  const Error error = error_of([&] { store_->fetch({1, 2}, 3, items); });
  EXPECT_EQ(error.kind(), ErrorKind::not_found);
  EXPECT_THAT(error.problem(), HasSubstr(to_text(ValueAddress{{1, 2}, 3, 5})));
}

TEST_P(Stores, TakeTheExtremesOfKeys) {
  constexpr std::array<std::uint64_t, 4> keys{0, 1, middle, largest};
  constexpr std::array<std::uint32_t, 2> groups{1, ~std::uint32_t{0}};
  std::vector<ValueAddress> addresses;
  for (const std::uint32_t group : groups)
    for (const std::uint64_t object : keys)
      for (const std::uint64_t dkey : keys)
        addresses.push_back({{group, object}, dkey, keys[addresses.size() % 4]});
  for (std::size_t i = 0; i < addresses.size(); ++i) put(*store_, addresses[i], pattern(8, i));
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    const auto& [object, dkey, akey] = addresses[i];
    EXPECT_EQ(read_all(*store_, addresses[i]), pattern(8, i));
    EXPECT_THAT(store_->list_dkeys(object), ElementsAreArray(keys));
    EXPECT_THAT(store_->list_akeys(object, dkey), ElementsAre(akey));
  }
  store_->remove_objects(1, largest, largest);
  EXPECT_THAT(store_->list_dkeys({1, largest}), IsEmpty());
  EXPECT_THAT(store_->list_dkeys({1, middle}), ElementsAreArray(keys));
}

TEST_P(Stores, KeepGroupsAndObjectsApart) {
  put(*store_, {{1, 2}, 3, 4}, as_bytes("a"));
  put(*store_, {{2, 2}, 3, 4}, as_bytes("b"));
  put(*store_, {{12, 2}, 3, 4}, as_bytes("c"));
  put(*store_, {{1, 22}, 3, 4}, as_bytes("d"));
  put(*store_, {{1, 2}, 33, 4}, as_bytes("e"));
  put(*store_, {{1, 2}, 3, 44}, as_bytes("f"));
  EXPECT_EQ(read_all(*store_, {{1, 2}, 3, 4}), bytes_of("a"));
  EXPECT_EQ(read_all(*store_, {{2, 2}, 3, 4}), bytes_of("b"));
  EXPECT_EQ(read_all(*store_, {{12, 2}, 3, 4}), bytes_of("c"));
  EXPECT_EQ(read_all(*store_, {{1, 22}, 3, 4}), bytes_of("d"));
  EXPECT_EQ(read_all(*store_, {{1, 2}, 33, 4}), bytes_of("e"));
  EXPECT_EQ(read_all(*store_, {{1, 2}, 3, 44}), bytes_of("f"));
  EXPECT_THAT(store_->list_dkeys({1, 2}), ElementsAre(3u, 33u));
  EXPECT_THAT(store_->list_akeys({1, 2}, 3), ElementsAre(4u, 44u));
  EXPECT_THAT(store_->list_akeys({2, 2}, 3), ElementsAre(4u));
}

TEST_P(Stores, TakeLargeValues) {
  const ValueAddress address{{1, 1}, 1, 1};
  const Bytes content = pattern(large_size());
  put(*store_, address, content);
  EXPECT_EQ(store_->size(address), content.size());
  EXPECT_TRUE(read_all(*store_, address) == content);
  const std::size_t third = content.size() / 3;
  const Bytes part = read(*store_, address, third, third);
  EXPECT_TRUE(std::equal(part.begin(), part.end(), content.begin() + static_cast<std::ptrdiff_t>(third)));
}

TEST_P(Stores, RefuseTooLargeValues) {
  const std::size_t most = store_->traits().max_value;
  const Bytes block = pattern(std::size_t{1} << 20);
  UpdateItem item{2, {}};  // the same megabyte repeated: the request need not own that much memory
  for (std::size_t size = 0; size <= most; size += block.size()) item.parts.emplace_back(block);
  const Error error = error_of([&] { store_->update({1, 1}, 1, {&item, 1}); });
  EXPECT_EQ(error.kind(), ErrorKind::usage) << error.what();
  EXPECT_THAT(error.problem(), HasSubstr(to_text(ValueAddress{{1, 1}, 1, 2})));
  EXPECT_EQ(store_->size({{1, 1}, 1, 2}), std::nullopt);
}

TEST_P(Stores, RefuseTooManyItems) {
  const std::size_t count = store_->traits().max_items + 1;
  if (count > 100000) return;
  std::vector<UpdateItem> updates(count);
  for (std::size_t i = 0; i < count; ++i) updates[i].akey = i;
  EXPECT_EQ(error_of([&] { store_->update({1, 1}, 1, updates); }).kind(), ErrorKind::usage);
  std::vector<FetchItem> fetches(count);
  for (std::size_t i = 0; i < count; ++i) fetches[i].akey = i;
  EXPECT_EQ(error_of([&] { store_->fetch({1, 1}, 1, fetches); }).kind(), ErrorKind::usage);
  EXPECT_EQ(store_->size({{1, 1}, 1, 0}), std::nullopt);
}

TEST_P(Stores, NeverShowHalfOfAReplacement) {
  const ValueAddress address{{1, 1}, 1, 1};
  put(*store_, address, Bytes(100000, std::byte{0}));
  std::atomic<bool> stop = false;
  std::thread writer([&] {
    const std::shared_ptr<ObjectStore> mine = open_again();
    for (unsigned i = 1; i < 20; ++i) put(*mine, address, Bytes(100000, static_cast<std::byte>(i)));
    stop = true;
  });
  int mixed = 0;
  while (!stop) {
    const Bytes value = read(*store_, address, 0, 100000);
    if (std::count(value.begin(), value.end(), value.front()) != 100000) ++mixed;
  }
  writer.join();
  EXPECT_EQ(mixed, 0);
}

// ---- Small values with a version

TEST_P(Stores, PutOnlyWhereNothingIs) {
  const ValueAddress address{{0, 0}, 7, 0};
  EXPECT_EQ(store_->get(address), std::nullopt);
  EXPECT_FALSE(store_->put_if(address, as_bytes("no"), "0"));
  EXPECT_EQ(store_->get(address), std::nullopt);
  EXPECT_TRUE(store_->put_if(address, as_bytes("first"), std::nullopt));
  EXPECT_FALSE(store_->put_if(address, as_bytes("second"), std::nullopt));
  ASSERT_TRUE(store_->get(address).has_value());
  EXPECT_EQ(store_->get(address)->value, bytes_of("first"));
}

TEST_P(Stores, PutOnlyOverTheVersionThatIsKnown) {
  const ValueAddress address{{0, 0}, middle, 0};
  ASSERT_TRUE(store_->put_if(address, as_bytes("first"), std::nullopt));
  const std::string first = store_->get(address)->version;
  EXPECT_EQ(store_->get(address)->version, first);
  EXPECT_TRUE(store_->put_if(address, as_bytes("second"), first));
  const std::string second = store_->get(address)->version;
  EXPECT_NE(second, first);
  EXPECT_FALSE(store_->put_if(address, as_bytes("third"), first));
  EXPECT_EQ(store_->get(address)->value, bytes_of("second"));
  const std::shared_ptr<ObjectStore> other = open_again();
  EXPECT_EQ(other->get(address)->version, second);
  EXPECT_TRUE(other->put_if(address, as_bytes("third"), second));
  EXPECT_FALSE(store_->put_if(address, as_bytes("fourth"), second));
  EXPECT_EQ(store_->get(address)->value, bytes_of("third"));
}

TEST_P(Stores, PutEmptyAndLongerValues) {
  const ValueAddress address{{0, 0}, 7, 0};
  ASSERT_TRUE(store_->put_if(address, {}, std::nullopt));
  ASSERT_TRUE(store_->get(address).has_value());
  EXPECT_THAT(store_->get(address)->value, IsEmpty());
  ASSERT_TRUE(store_->put_if(address, pattern(60000), store_->get(address)->version));
  EXPECT_TRUE(store_->get(address)->value == pattern(60000));
}

TEST_P(Stores, PutAgainAfterRemoval) {
  const ValueAddress address{{0, 0}, 7, 0};
  ASSERT_TRUE(store_->put_if(address, as_bytes("first"), std::nullopt));
  const std::string version = store_->get(address)->version;
  store_->remove(address);
  EXPECT_EQ(store_->get(address), std::nullopt);
  EXPECT_FALSE(store_->put_if(address, as_bytes("second"), version));
  EXPECT_TRUE(store_->put_if(address, as_bytes("second"), std::nullopt));
  EXPECT_EQ(store_->get(address)->value, bytes_of("second"));
}

TEST_P(Stores, GetWhatWasUpdatedAndFetchWhatWasPut) {
  put(*store_, {{0, 0}, 1, 2}, as_bytes("updated"));
  ASSERT_TRUE(store_->get({{0, 0}, 1, 2}).has_value());
  EXPECT_EQ(store_->get({{0, 0}, 1, 2})->value, bytes_of("updated"));
  ASSERT_TRUE(store_->put_if({{0, 0}, 1, 3}, as_bytes("put"), std::nullopt));
  EXPECT_EQ(read_all(*store_, {{0, 0}, 1, 3}), bytes_of("put"));
  EXPECT_THAT(store_->list_akeys({0, 0}, 1), ElementsAre(2u, 3u));
}

TEST_P(Stores, LetOneOfTwoRacingWritersWin) {
  const ValueAddress address{{0, 0}, 3, 0};
  const std::shared_ptr<ObjectStore> other = open_again();
  std::optional<std::string> version;
  for (int round = 0; round < 8; ++round) {
    std::array<bool, 2> won{};
    // Never the current bytes: stores whose versions are checksums cannot detect such a replacement.
    const std::array<std::string, 2> values{"zero" + std::to_string(round), "one" + std::to_string(round)};
    const auto race = [&](ObjectStore& store, std::size_t who) {
      won[who] = store.put_if(address, as_bytes(values[who]), version);
    };
    std::thread thread([&] { race(*other, 1); });
    race(*store_, 0);
    thread.join();
    EXPECT_NE(won[0], won[1]) << round;
    const auto now = store_->get(address);
    ASSERT_TRUE(now.has_value());
    EXPECT_EQ(now->value, bytes_of(values[won[0] ? 0 : 1]));
    version = now->version;
  }
}

TEST_P(Stores, LoseNoIncrementOfACounter) {
  const ValueAddress address{{0, 0}, 4, 0};
  ASSERT_TRUE(store_->put_if(address, as_bytes("0"), std::nullopt));
  const auto count_up = [&](ObjectStore& store) {
    for (int done = 0; done < 10;) {
      const auto now = store.get(address);
      const std::string text(reinterpret_cast<const char*>(now->value.data()), now->value.size());
      done += store.put_if(address, as_bytes(std::to_string(std::stoi(text) + 1)), now->version) ? 1 : 0;
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) threads.emplace_back([&] { count_up(*open_again()); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(store_->get(address)->value, bytes_of("30"));
}

// ---- Listing and removing

TEST_P(Stores, ListKeysInAscendingOrder) {
  for (const std::uint64_t dkey : {std::uint64_t{300}, std::uint64_t{2}, largest, std::uint64_t{10}})
    for (const std::uint64_t akey : {std::uint64_t{256}, std::uint64_t{1}, middle, std::uint64_t{0}})
      put(*store_, {{0, 0}, dkey, akey}, as_bytes("x"));
  EXPECT_THAT(store_->list_dkeys({0, 0}), ElementsAre(2u, 10u, 300u, largest));
  EXPECT_THAT(store_->list_akeys({0, 0}, 10), ElementsAre(0u, 1u, 256u, middle));
  EXPECT_THAT(store_->list_akeys({0, 0}, 11), IsEmpty());
  EXPECT_THAT(store_->list_dkeys({0, 1}), IsEmpty());
  EXPECT_THAT(store_->list_akeys({5, 0}, 1), IsEmpty());
}

TEST_P(Stores, ListMoreKeysThanOneAnswerHolds) {
  const std::size_t count = GetParam().many_keys;
  const std::size_t per_update = std::min(count, many_items());
  for (std::size_t first = 0; first < count; first += per_update) {
    Updates updates;
    for (std::size_t i = first; i < std::min(first + per_update, count); ++i)
      updates.add(i * 7919 % 1000003, Bytes(1));
    store_->update({0, 0}, 1, updates.items);
  }
  std::vector<std::uint64_t> expected;
  for (std::size_t i = 0; i < count; ++i) expected.push_back(i * 7919 % 1000003);
  std::sort(expected.begin(), expected.end());
  EXPECT_EQ(store_->list_akeys({0, 0}, 1), expected);
  const std::unique_ptr<ObjectQueue> queue = store_->open_queue(8);
  const UpdateItem item{0, {}};
  std::array<ObjectQueue::Completion, 8> some;
  const auto take = [&] {
    const std::size_t taken = queue->wait(some);
    for (std::size_t i = 0; i < taken; ++i) EXPECT_EQ(some[i].failure, nullptr);
  };
  for (const std::uint64_t dkey : expected) {
    if (queue->in_flight() == 8) take();
    queue->submit_update(dkey, {0, 7}, dkey, {&item, 1});
  }
  while (queue->in_flight() > 0) take();
  EXPECT_EQ(store_->list_dkeys({0, 7}), expected);
}

TEST_P(Stores, RemoveOneValue) {
  for (const std::uint64_t akey : {1u, 2u, 3u}) put(*store_, {{1, 1}, 1, akey}, as_bytes("x"));
  store_->remove({{1, 1}, 1, 2});
  expect_missing({{1, 1}, 1, 2});
  EXPECT_THAT(store_->list_akeys({1, 1}, 1), ElementsAre(1u, 3u));
  EXPECT_NO_THROW(store_->remove({{1, 1}, 1, 2}));
  EXPECT_NO_THROW(store_->remove({{9, 9}, 9, 9}));
  store_->remove({{1, 1}, 1, 1});
  store_->remove({{1, 1}, 1, 3});
  EXPECT_THAT(store_->list_dkeys({1, 1}), IsEmpty());
  put(*store_, {{1, 1}, 1, 2}, as_bytes("again"));
  EXPECT_EQ(read_all(*store_, {{1, 1}, 1, 2}), bytes_of("again"));
}

TEST_P(Stores, RemoveRangesOfObjects) {
  for (std::uint64_t number = 0; number < 8; ++number)
    for (const std::uint64_t dkey : {0u, 5u})
      for (const std::uint64_t akey : {0u, 1u}) put(*store_, {{6, number}, dkey, akey}, as_bytes("x"));
  put(*store_, {{7, 3}, 0, 0}, as_bytes("x"));
  put(*store_, {{0, 3}, 0, 0}, as_bytes("x"));
  store_->remove_objects(6, 2, 5);
  for (std::uint64_t number = 0; number < 8; ++number)
    EXPECT_EQ(store_->list_dkeys({6, number}).size(), number >= 2 && number <= 5 ? 0u : 2u) << number;
  expect_missing({{6, 3}, 5, 1});
  EXPECT_EQ(store_->size({{7, 3}, 0, 0}), 1u);
  EXPECT_EQ(store_->size({{0, 3}, 0, 0}), 1u);
  EXPECT_NO_THROW(store_->remove_objects(6, 2, 5));
  EXPECT_NO_THROW(store_->remove_objects(99, 0, 3));
  put(*store_, {{6, 3}, 0, 0}, as_bytes("again"));
  EXPECT_EQ(read_all(*store_, {{6, 3}, 0, 0}), bytes_of("again"));
}

// ---- Queues

// Completions of a queue, by id.
struct Answers {
  std::map<std::uint64_t, std::exception_ptr> by_id;
  void take_from(ObjectQueue& queue, bool block) {
    std::array<ObjectQueue::Completion, 3> some;
    const std::size_t count = queue.wait(some, block);
    for (std::size_t i = 0; i < count; ++i)
      EXPECT_TRUE(by_id.emplace(some[i].id, some[i].failure).second) << some[i].id << " came back twice";
  }
  void take_all_from(ObjectQueue& queue) {
    while (queue.in_flight() > 0) take_from(queue, true);
  }
  void expect_success() const {
    for (const auto& [id, failure] : by_id)
      if (failure != nullptr) {
        ADD_FAILURE() << id << ": " << error_of([&] { std::rethrow_exception(failure); }).what();
      }
  }
};

TEST_P(Stores, QueuesReturnEveryOperationOnce) {
  for (const unsigned depth : {1u, 2u, 8u}) {
    const std::unique_ptr<ObjectQueue> queue = store_->open_queue(depth);
    std::vector<Bytes> values;
    Answers written;
    for (std::size_t i = 0; i < 60; ++i) values.push_back(pattern(i * 331 % 5000, i + depth));
    for (std::size_t i = 0; i < 60; ++i) {
      const UpdateItem item{i,
                            {ByteSpan(values[i]).first(values[i].size() / 2),
                             ByteSpan(values[i]).subspan(values[i].size() / 2)}};
      queue->submit_update(1000 + i, {depth, i % 3}, i % 7, {&item, 1});
      if (i % 3 == 0) written.take_from(*queue, i % 2 == 0);
      EXPECT_EQ(queue->in_flight() + written.by_id.size(), i + 1);
    }
    written.take_all_from(*queue);
    written.expect_success();
    EXPECT_EQ(written.by_id.size(), 60u);
    std::vector<Bytes> into;
    Answers read;
    for (std::size_t i = 0; i < 60; ++i) {
      into.emplace_back(values[i].size());
      const FetchItem item{i, 0, into.back()};
      queue->submit_fetch(i, {depth, i % 3}, i % 7, {&item, 1});
    }
    read.take_all_from(*queue);
    read.expect_success();
    for (std::size_t i = 0; i < 60; ++i) {
      EXPECT_EQ(read.by_id.count(i), 1u);
      EXPECT_EQ(into[i], values[i]) << i;
    }
  }
}

TEST_P(Stores, QueuesMoveManyItemsInOneOperation) {
  const std::size_t count = many_items();
  Updates updates;
  for (std::size_t i = 0; i < count; ++i) updates.add(i, pattern(i % 900, i));
  const std::unique_ptr<ObjectQueue> queue = store_->open_queue(4);
  Answers answers;
  for (std::uint64_t dkey = 0; dkey < 3; ++dkey) queue->submit_update(dkey, {1, 1}, dkey, updates.items);
  answers.take_all_from(*queue);
  std::array<std::vector<Bytes>, 3> into;
  for (std::uint64_t dkey = 0; dkey < 3; ++dkey) {
    std::vector<FetchItem> items;
    for (std::size_t i = 0; i < count; ++i) into[dkey].emplace_back(i % 900);
    for (std::size_t i = 0; i < count; ++i) items.push_back({i, 0, into[dkey][i]});
    queue->submit_fetch(10 + dkey, {1, 1}, dkey, items);
  }
  answers.take_all_from(*queue);
  answers.expect_success();
  EXPECT_EQ(answers.by_id.size(), 6u);
  for (const std::vector<Bytes>& values : into) EXPECT_TRUE(values == updates.values);
}

TEST_P(Stores, QueuesReportTheFailureOfEachOperation) {
  for (std::uint64_t akey = 0; akey < 24; akey += 2) put(*store_, {{1, 1}, 1, akey}, pattern(100, akey));
  const std::unique_ptr<ObjectQueue> queue = store_->open_queue(4);
  std::vector<Bytes> into(24, Bytes(100));
  for (std::uint64_t akey = 0; akey < 24; ++akey) {
    const FetchItem item{akey, akey == 4 ? 1u : 0u, into[akey]};
    queue->submit_fetch(akey, {1, 1}, 1, {&item, 1});
  }
  Answers answers;
  answers.take_all_from(*queue);
  ASSERT_EQ(answers.by_id.size(), 24u);
  for (std::uint64_t akey = 0; akey < 24; ++akey) {
    if (akey % 2 == 0 && akey != 4) {
      EXPECT_EQ(answers.by_id[akey], nullptr) << akey;
      EXPECT_EQ(into[akey], pattern(100, akey));
      continue;
    }
    ASSERT_NE(answers.by_id[akey], nullptr) << akey;
    const Error error = error_of([&] { std::rethrow_exception(answers.by_id[akey]); });
    EXPECT_EQ(error.kind(), akey == 4 ? ErrorKind::format : ErrorKind::not_found);
    EXPECT_THAT(error.problem(), HasSubstr(to_text(ValueAddress{{1, 1}, 1, akey})));
    EXPECT_EQ(error.context().uri, uri_);
  }
}

TEST_P(Stores, QueuesOfManyThreadsDoNotDisturbEachOther) {
  std::atomic<int> wrong = 0;
  const auto work = [&](std::uint32_t group) {
    const std::unique_ptr<ObjectQueue> queue = store_->open_queue(8);
    std::vector<Bytes> values;
    for (std::size_t i = 0; i < 40; ++i) values.push_back(pattern(1 + i * 997 % 30000, i + group));
    Answers answers;
    for (std::size_t i = 0; i < 40; ++i) {
      const UpdateItem item{i, {values[i]}};
      queue->submit_update(i, {group, i / 10}, i % 2, {&item, 1});
    }
    answers.take_all_from(*queue);
    std::vector<Bytes> into;
    for (std::size_t i = 0; i < 40; ++i) into.emplace_back(values[i].size());
    for (std::size_t i = 0; i < 40; ++i) {
      const FetchItem item{i, 0, into[i]};
      queue->submit_fetch(100 + i, {group, i / 10}, i % 2, {&item, 1});
    }
    answers.take_all_from(*queue);
    answers.expect_success();
    if (answers.by_id.size() != 80 || into != values) ++wrong;
  };
  std::vector<std::thread> threads;
  for (std::uint32_t group = 1; group <= 3; ++group) threads.emplace_back(work, group);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST_P(Stores, QueuesMayBeLeftWithOperationsInFlight) {
  const std::size_t size = 200000;
  for (std::uint64_t akey = 0; akey < 8; ++akey) put(*store_, {{1, 1}, akey, 0}, Bytes(size));
  for (std::uint64_t round = 0; round < 4; ++round) {
    Bytes into(8 * size, std::byte{1});
    const Bytes value = pattern(size, round);
    {
      const std::unique_ptr<ObjectQueue> queue = store_->open_queue(8);
      for (std::uint64_t i = 0; i < 8; ++i) {
        const FetchItem fetched{0, 0, MutableByteSpan(into).subspan(i * size, size)};
        const UpdateItem updated{0, {value}};
        if (i % 2 == 0)
          queue->submit_fetch(i, {1, 1}, i, {&fetched, 1});
        else
          queue->submit_update(i, {1, 2}, i, {&updated, 1});
      }
    }
    // No thread writes any more: the value no longer changes.
    std::fill(into.begin(), into.end(), std::byte{2});
    std::this_thread::yield();
    EXPECT_EQ(std::count(into.begin(), into.end(), std::byte{2}), static_cast<std::ptrdiff_t>(into.size()));
  }
  // A cancelled update was performed completely or not at all.
  for (std::uint64_t i = 1; i < 8; i += 2)
    if (const auto written = store_->size({{1, 2}, i, 0})) {
      EXPECT_EQ(*written, size);
    }
}

TEST_P(Stores, QueuesDoNotWaitForNothing) {
  put(*store_, {{1, 1}, 1, 1}, as_bytes("0123456789"));
  const std::unique_ptr<ObjectQueue> queue = store_->open_queue(2);
  std::array<ObjectQueue::Completion, 2> some;
  EXPECT_EQ(queue->wait(some, true), 0u);
  EXPECT_EQ(queue->wait(some, false), 0u);
  Bytes into(10);
  {
    const FetchItem item{1, 0, into};  // destroyed before the operation ends
    queue->submit_fetch(1, {1, 1}, 1, {&item, 1});
  }
  EXPECT_EQ(queue->wait({}, true), 0u);
  EXPECT_EQ(queue->in_flight(), 1u);
  EXPECT_EQ(queue->wait(some, true), 1u);
  EXPECT_EQ(some[0].id, 1u);
  EXPECT_EQ(queue->in_flight(), 0u);
  EXPECT_EQ(into, bytes_of("0123456789"));
}

TEST_P(Stores, QueuesAnswerForNoItems) {
  const std::unique_ptr<ObjectQueue> queue = store_->open_queue(2);
  queue->submit_fetch(1, {1, 1}, 1, {});
  queue->submit_update(2, {1, 1}, 1, {});
  Answers answers;
  answers.take_all_from(*queue);
  EXPECT_EQ(answers.by_id.size(), 2u);
  answers.expect_success();
}

std::string name_of_param(const testing::TestParamInfo<StoreUnderTest>& info) {
  return info.param.name;
}

INSTANTIATE_TEST_SUITE_P(All, Stores, testing::ValuesIn(stores_under_test()), name_of_param);
// A test program without a store (its server is not running) has no such tests.
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Stores);

}  // namespace
}  // namespace colonnade::io
