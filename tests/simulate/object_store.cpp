// See object_store.h.
#include "object_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "cache/layout.h"
#include "codec/compression.h"
#include "colonnade/error.h"
#include "container/object_store/directory.h"
#include "container/object_store/layout.h"
#include "io/object_checks.h"

namespace colonnade::simulate {
namespace {

using io::FetchItem;
using io::ObjectId;
using io::UpdateItem;
using io::ValueAddress;

bool is_anchor(const ValueAddress& address) {
  return address.object == container::directory_object && address.akey == container::place_key &&
         address.dkey != container::counter_place;
}

std::string name_of(const ValueAddress& address) {
  if (address.object != container::directory_object) {
    const char* kind = address.object.number == container::metadata_object ? "blob" : "pages";
    return fmt::format("{} {}:{}:{}:{}", kind, address.object.group, address.object.number, address.dkey,
                       address.akey);
  }
  if (address.dkey == 0) return "the counter of generations";
  const std::string place = fmt::format("of {:x}", address.dkey >> 52);
  if (address.akey == container::place_key) return "the record " + place;
  return fmt::format("the record {} of generation {}", place, address.akey - container::first_generation_key);
}

class SimulatedStore final : public io::ObjectStore, public std::enable_shared_from_this<SimulatedStore> {
 public:
  SimulatedStore(std::string uri, World& world, std::shared_ptr<StoredValues> stored, StoreManners manners)
      : uri_(std::move(uri)), world_(world), stored_(std::move(stored)), manners_(manners) {}

  const std::string& uri() const noexcept override { return uri_; }
  io::StoreTraits traits() const noexcept override {
    return {.max_value = std::size_t{1} << 20,
            .best_value = std::size_t{1} << 16,
            .ranges = !manners_.items_together,
            .vectors = manners_.items_together,
            .max_items = 1024,
            .concurrency = static_cast<unsigned>(manners_.concurrency)};
  }

  void fetch(const ObjectId& object, std::uint64_t dkey, std::span<const FetchItem> items) const override {
    check_fetch(uri_, traits(), object, dkey, items);
    bool asks = true;
    for (const FetchItem& item : items) {
      const ValueAddress address{object, dkey, item.akey};
      if (asks) ask("reads", address);
      asks = !manners_.items_together;
      const StoredValues::Value* value = find(address);
      if (value == nullptr) io::fail_missing(uri_, address);
      io::check_value_range(uri_, address, value->bytes.size(), item.offset, item.into.size());
      if (!item.into.empty())
        std::memcpy(item.into.data(), value->bytes.data() + item.offset, item.into.size());
      if (address.object.group == cache::pages_group) spoil_page(address, value->bytes, item);
    }
  }

  void update(const ObjectId& object, std::uint64_t dkey, std::span<const UpdateItem> items) override {
    check_update(uri_, traits(), object, dkey, items);
    std::vector<std::pair<ValueAddress, Bytes>> values;
    for (const UpdateItem& item : items) {
      Bytes value;
      for (ByteSpan part : item.parts) value.insert(value.end(), part.begin(), part.end());
      values.emplace_back(ValueAddress{object, dkey, item.akey}, std::move(value));
    }
    const auto write = [this](std::vector<std::pair<ValueAddress, Bytes>> some) {
      const ValueAddress place = some.front().first;
      const std::string what =
          fmt::format("writes {} ({} bytes)", name_of(place), some.front().second.size());
      if (is_lost(place)) {
        ask("writes, without effect,", place);
        return;
      }
      change(what, place, [this, some = std::move(some)] {
        for (const auto& [address, bytes] : some) store(address, bytes);
      });
    };
    if (manners_.items_together) return write(std::move(values));
    for (auto& value : values) write({std::move(value)});
  }

  std::optional<std::uint64_t> size(const ValueAddress& address) const override {
    ask("asks for the size of", address);
    const StoredValues::Value* value = find(address);
    if (value == nullptr) return std::nullopt;
    return value->bytes.size();
  }

  std::optional<Versioned> get(const ValueAddress& address) const override {
    ask("reads", address);
    const StoredValues::Value* value = find(address);
    if (value == nullptr) return std::nullopt;
    if (world_.breaks(Rule::reads_are_fresh) && !value->before.empty() && world_.random().chance(0.2))
      return Versioned{value->before, std::to_string(value->version)};
    return Versioned{value->bytes, std::to_string(value->version)};
  }

  bool put_if(const ValueAddress& address, ByteSpan value,
              const std::optional<std::string>& expected) override {
    io::check_value_size(uri_, traits(), address, value.size());
    const auto done = std::make_shared<std::optional<bool>>();
    const Bytes bytes(value.begin(), value.end());
    if (is_anchor(address)) prepare_anchor(address);
    if (address.dkey == container::counter_place && address.object == container::directory_object &&
        expected && world_.breaks(Rule::generations_are_new))
      return true;
    const auto apply = [this, done, address, bytes, expected] {
      const auto found = stored_->values.find(address);
      const bool there = found != stored_->values.end();
      bool holds =
          there == expected.has_value() && (!there || std::to_string(found->second.version) == *expected);
      if (there && expected && world_.breaks(Rule::put_compares)) holds = true;
      if (there && !expected && world_.breaks(Rule::put_creates_once)) holds = true;
      if (holds) store(address, bytes);
      *done = holds;
      world_.tell([&] {
        return fmt::format("    the put of {} {}", name_of(address), holds ? "holds" : "is refused");
      });
    };
    const bool seen = change(fmt::format("puts {} on condition", name_of(address)), address, apply, true);
    if (!seen) return true;
    // A put that is repeated after its answer was lost is refused by itself.
    if (manners_.repeats_puts && **done &&
        world_.fault(world_.rates.lose, "the put is sent again and refused because of itself"))
      return false;
    return **done;
  }

  std::vector<std::uint64_t> list_dkeys(const ObjectId& object) const override {
    std::vector<std::uint64_t> keys;
    list("lists the keys", {object, 0, 0}, {object, largest, largest}, [&](const ValueAddress& address) {
      if (keys.empty() || keys.back() != address.dkey) keys.push_back(address.dkey);
    });
    return keys;
  }

  std::vector<std::uint64_t> list_akeys(const ObjectId& object, std::uint64_t dkey) const override {
    std::vector<std::uint64_t> keys;
    list("lists the values", {object, dkey, 0}, {object, dkey, largest},
         [&](const ValueAddress& address) { keys.push_back(address.akey); });
    if (world_.breaks(Rule::lists_are_complete) && !keys.empty()) keys.pop_back();
    return keys;
  }

  void remove(const ValueAddress& address) override {
    if (address.object.group == cache::pages_group && world_.breaks(Rule::removals_remove))
      return ask("removes, without effect,", address);
    change(fmt::format("removes {}", name_of(address)), address, [this, address] { erase(address); });
  }

  void remove_objects(std::uint32_t group, std::uint64_t first, std::uint64_t last) override {
    if (first > last) return;
    if (world_.breaks(Rule::removal_stays_in_range) && first > 0) --first;
    if (world_.breaks(Rule::removal_keeps_metadata)) first = 0;
    std::vector<ValueAddress> found;
    list("looks for what it removes", {{group, first}, 0, 0}, {{group, last}, largest, largest},
         [&](const ValueAddress& address) { found.push_back(address); });
    for (const ValueAddress& address : found) remove(address);
  }

  void sync() override {}

 private:
  static constexpr std::uint64_t largest = std::numeric_limits<std::uint64_t>::max();

  [[noreturn]] void fail(const std::string& what) const {
    throw Error(ErrorKind::io, fmt::format("{}: the store does not answer", what), "try again later",
                {.uri = uri_});
  }

  void wait_for_nothing(const std::string& what) const {
    world_.sleep_until(world_.now() + manners_.timeout);
    fail(what);
  }

  // A request that changes nothing.
  void ask(const char* what, const ValueAddress& address) const {
    if (!world_.begin_operation()) fail("the process is dead");
    world_.tell([&] { return fmt::format("{} {}", what, name_of(address)); });
    if (!world_.process().is_observer && world_.fault(world_.rates.refuse / 4, "the store is silent"))
      wait_for_nothing(fmt::format("{} {}", what, name_of(address)));
    if (!world_.end_operation()) fail("the process is dead");
  }

  // A request that changes something. Returns false if its answer was lost and it is to count as answered
  // anyway (a rule is broken).
  template <class Apply>
  bool change(const std::string& what, const ValueAddress& address, Apply apply, bool is_put = false) {
    if (!world_.begin_operation()) fail("the process is dead");
    world_.tell([&] { return what; });
    world_.mix_in(mix(address.object.number ^ mix(address.dkey ^ mix(address.akey))));
    const Rates& rates = world_.rates;
    const bool takes_for_done = is_put && world_.breaks(Rule::unknown_is_no_success);
    if (world_.fault(rates.lose, "it is applied, the answer is lost")) {
      apply();
      wait_for_nothing(what);
    } else if (world_.fault(rates.refuse, "it is refused")) {
      if (takes_for_done) return false;
      wait_for_nothing(what);
    } else if (!is_put && world_.breaks(Rule::anchor_last) && address.object != container::directory_object &&
               world_.random().chance(0.3)) {
      world_.at(world_.now() + world_.random().between(1, 40) * millisecond,
                [self = shared_from_this(), apply, process = &world_.process()] {
                  self->late_of_ = process;
                  apply();
                  self->late_of_ = nullptr;
                });
      return world_.end_operation();
    } else if (world_.fault(rates.delay, "it is applied later, or never")) {
      const Time after = delay();
      if (after != World::forever)
        world_.at(world_.now() + after,
                  [self = shared_from_this(), apply, what, process = &world_.process()] {
                    self->world_.tell([&] { return fmt::format("*** now applied: {}", what); });
                    self->late_of_ = process;
                    apply();
                    self->late_of_ = nullptr;
                  });
      if (takes_for_done) return false;
      wait_for_nothing(what);
    }
    apply();
    if (!world_.end_operation()) fail("the process is dead");
    return true;
  }

  // Usually soon after the caller has given up.
  Time delay() {
    Random& random = world_.random();
    switch (random.below(5)) {
      case 0:
        return World::forever;
      case 1:
        return random.between(0, manners_.timeout);
      case 2:
      case 3:
        return manners_.timeout + random.between(0, 60 * millisecond);
      default:
        return manners_.timeout + random.between(0, 3 * hour);
    }
  }

  const StoredValues::Value* find(const ValueAddress& address) const {
    const auto found = stored_->values.find(address);
    if (stored_->reading != nullptr && world_.process().is_observer)
      stored_->reading->emplace(address, found != stored_->values.end() ? found->second.change : 0);
    return found == stored_->values.end() ? nullptr : &found->second;
  }

  void store(const ValueAddress& address, const Bytes& bytes) {
    StoredValues::Value& value = stored_->values[address];
    const bool is_new = value.version == 0;
    if (!is_new && stored_->needed.contains(address) && address.object != container::directory_object &&
        value.bytes != bytes)
      world_.violate(fmt::format("(a) {} is overwritten, which what is committed needs", name_of(address)));
    const Process* const by = late_of_ != nullptr ? late_of_ : &world_.process();
    if (is_anchor(address)) note_record(address, is_new ? nullptr : &value.bytes, bytes, by);
    if (late_of_ != nullptr || !holds_any(by)) stored_->belated.insert(address);
    if (is_anchor(address)) value.before = value.bytes;
    value.bytes = bytes;
    value.change = ++stored_->last_change;
    if (is_new || !world_.breaks(Rule::stale_token)) value.version = ++stored_->last_version;
  }

  // Updates the owner of the data set, and whether another state has become readable.
  void note_record(const ValueAddress& address, const Bytes* before, const Bytes& now, const Process* by) {
    const container::PlaceRecord record = container::read_place_record(now);
    std::optional<container::PlaceRecord> old;
    if (before != nullptr) old = container::read_place_record(*before);
    const bool is_new = record.claim && (!old || !old->claim || old->claim->writer != record.claim->writer);
    if (!record.claim) stored_->holders.erase(address.dkey);
    if (is_new) {
      stored_->holders[address.dkey] = by;
      const_cast<Process*>(by)->claimed = world_.steps();
    }
    if (!old || old->anchor != record.anchor) world_.note_change(by);
  }

  void erase(const ValueAddress& address) {
    if (stored_->needed.contains(address) && address.object != container::directory_object)
      world_.violate(fmt::format("(a) {} is removed, which what is committed needs", name_of(address)));
    if (stored_->values.erase(address) > 0 && is_anchor(address)) world_.note_change(late_of_);
  }

  bool holds_any(const Process* process) const {
    return std::any_of(stored_->holders.begin(), stored_->holders.end(),
                       [&](const auto& holder) { return holder.second == process; });
  }

  // A request per page of keys, between which others may act.
  template <class Use>
  void list(const char* what, ValueAddress first, const ValueAddress& last, Use&& use) const {
    while (true) {
      ask(what, first);
      auto at = stored_->values.lower_bound(first);
      std::size_t count = 0;
      for (; at != stored_->values.end() && at->first <= last && count < manners_.list_page; ++at, ++count)
        use(at->first);
      if (at == stored_->values.end() || at->first > last) return;
      first = at->first;
    }
  }

  // What a cache has of pages may be damaged when it is read, which its checksums tell; unless they fit.
  void spoil_page(const ValueAddress& address, const Bytes& value, const FetchItem& item) const {
    if (world_.fault(world_.rates.spoil, "a byte of it is wrong"))
      item.into[world_.random().below(item.into.size())] ^= std::byte{1} << world_.random().below(8);
    const cache::RunKey run = cache::RunKey::of(address.akey);
    const bool is_one_page = run.pages == 1 && item.offset == 0 && item.into.size() == value.size();
    if (!is_one_page || !world_.breaks(Rule::sums_tell) || !world_.random().chance(0.2)) return;
    const MutableByteSpan content = item.into.first(item.into.size() - cache::sum_size);
    content[0] ^= std::byte{1};
    store_le(content.data() + content.size(),
             codec::xxh3(content) ^ cache::seal_for(address.object.number,
                                                    static_cast<std::uint32_t>(address.dkey), run.cluster,
                                                    run.first));
  }

  // Rules of the library, broken by the transport.
  bool is_lost(const ValueAddress& address) const {
    if (address.object == container::directory_object)
      return world_.breaks(Rule::generation_is_recorded) && address.akey >= container::first_generation_key;
    const bool is_blob = address.object.number == container::metadata_object;
    if (is_blob) return world_.breaks(Rule::footer_is_written) && world_.random().chance(0.2);
    return world_.breaks(Rule::pages_are_written) && world_.random().chance(0.2);
  }

  void prepare_anchor(const ValueAddress& anchor) {
    if (!world_.breaks(Rule::old_after_anchor)) return;
    // Removes the earlier ones first.
    std::vector<std::uint32_t> groups;
    for (const auto& [address, value] : stored_->values)
      if (address.object == container::directory_object && address.dkey == anchor.dkey &&
          address.akey > container::first_generation_key)
        groups.push_back(static_cast<std::uint32_t>(address.akey - container::first_generation_key));
    if (groups.size() > 1)
      groups.pop_back();
    else
      groups.clear();
    for (const std::uint32_t group : groups) remove_objects(group, 0, largest);
  }

  std::string uri_;
  World& world_;
  std::shared_ptr<StoredValues> stored_;
  StoreManners manners_;
  const Process* late_of_ = nullptr;  // whose late request is applied now, after it has given up
};

}  // namespace

std::shared_ptr<io::ObjectStore> make_simulated_store(std::string uri, World& world,
                                                      std::shared_ptr<StoredValues> stored,
                                                      const StoreManners& manners) {
  return std::make_shared<SimulatedStore>(std::move(uri), world, std::move(stored), manners);
}

}  // namespace colonnade::simulate
