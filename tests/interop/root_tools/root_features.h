// Types and classes of C++ that random schemas do not have, and the values of entry `i` of a data set of
// each: for ROOT's interpreter. root_write_features.py lists the fields.
#ifndef COLONNADE_TESTS_ROOT_FEATURES_H
#define COLONNADE_TESTS_ROOT_FEATURES_H

#include <Math/Point3D.h>
#include <Math/SMatrix.h>
#include <Math/Vector4D.h>
#include <TObject.h>

#include <ROOT/RField.hxx>
#include <ROOT/RNTupleModel.hxx>
#include <ROOT/RNTupleWriteOptions.hxx>
#include <ROOT/RNTupleWriter.hxx>
#include <ROOT/RVec.hxx>
#include <array>
#include <atomic>
#include <bitset>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

namespace features {

template <class T>
T* at(const ROOT::REntry& entry, const char* field) {
  return reinterpret_cast<T*>(entry.GetPtr<void>(field).get());
}

// How a data set is written.
struct Writing {
  std::string path;
  std::vector<std::string> names, types;  // of the fields
  int entries = 0;
  ROOT::RNTupleWriteOptions options;
};

template <class Fill>
void write(const Writing& how, Fill fill) {
  auto model = ROOT::RNTupleModel::Create();
  for (std::size_t k = 0; k < how.names.size(); ++k)
    model->AddField(ROOT::RFieldBase::Create(how.names[k], how.types[k]).Unwrap());
  auto writer = ROOT::RNTupleWriter::Recreate(std::move(model), "Feature", how.path, how.options);
  for (int i = 0; i < how.entries; ++i) {
    fill(writer->GetModel().GetDefaultEntry(), i);
    writer->Fill();
    if (i % 5 == 3) writer->CommitCluster(i == 8);
  }
}

}  // namespace features

// ---- normalized_names

namespace features {
inline void write_normalized_names(const Writing& how) {
  write(how, [](const ROOT::REntry& entry, int i) {
    auto* a = at<long>(entry, "a");
    auto* b = at<unsigned long long>(entry, "b");
    auto* c = at<signed char>(entry, "c");
    auto* d = at<unsigned char>(entry, "d");
    auto* e = at<std::vector<long long>>(entry, "e");
    auto* f = at<std::array<unsigned short, 2>>(entry, "f");
    auto* g = at<Long64_t>(entry, "g");
    auto* h = at<std::size_t>(entry, "h");
    auto* i_ = at<std::map<short, std::pair<long, float>>>(entry, "i_");
    auto* j = at<Double32_t>(entry, "j");
    auto* k = at<std::vector<Double32_t>>(entry, "k");
    auto* l = at<std::vector<std::vector<bool>>>(entry, "l");
    auto* m = at<std::array<bool, 9>>(entry, "m");
    *a = -i;
    *b = ~0ull - i;
    *c = -i;
    *d = 255 - i;
    *e = {i, -i};
    *f = {1, (unsigned short)i};
    *g = i;
    *h = i;
    *i_ = {{short(i), {i, 1.5f * i}}, {-1, {2, 0.1f}}};
    *j = 0.1 * i;
    k->assign(i % 4, 0.3);
    *l = {{true, false}, {}, {i % 2 == 0}};
    for (int n = 0; n < 9; ++n) (*m)[n] = (n + i) % 3 == 0;
  });
}
}  // namespace features

// ---- sets_of_anything

namespace sets {
struct Key {
  int n = 0;
  std::string s;
  bool operator<(const Key& o) const { return n != o.n ? n < o.n : s < o.s; }
};
enum class E : char { a = -7, b = 7 };
}  // namespace sets

namespace features {
inline void write_sets_of_anything(const Writing& how) {
  write(how, [](const ROOT::REntry& entry, int i) {
    auto* a = at<std::set<std::pair<int, float>>>(entry, "a");
    auto* b = at<std::set<std::set<int>>>(entry, "b");
    auto* c = at<std::multiset<std::vector<std::string>>>(entry, "c");
    auto* d = at<std::map<std::pair<int, int>, std::set<float>>>(entry, "d");
    auto* e = at<std::multimap<std::tuple<int, std::string>, std::map<int, std::vector<double>>>>(entry, "e");
    auto* f = at<std::set<sets::Key>>(entry, "f");
    auto* g = at<std::map<sets::Key, sets::Key>>(entry, "g");
    auto* h = at<std::set<std::array<short, 2>>>(entry, "h");
    auto* j = at<std::vector<std::set<sets::Key>>>(entry, "j");
    auto* k = at<std::set<sets::E>>(entry, "k");
    auto* l = at<std::map<bool, sets::E>>(entry, "l");
    auto* m = at<std::multimap<float, std::multimap<std::string, std::vector<bool>>>>(entry, "m");
    auto* n = at<std::set<double>>(entry, "n");
    *a = {{i, 0.5f}, {i, -0.5f}, {-i, 1}};
    *b = {{}, {i}, {1, 2, i}};
    *c = {{"x"}, {"x"}, {}, {"", "b"}};
    *d = {{{i, 1}, {1.5f, 2}}, {{0, i}, {}}};
    *e = {{{1, "a"}, {{i, {1., 2.}}}}, {{1, "a"}, {}}};
    *f = {{i, "k"}, {2, ""}};
    *g = {{{i, "k"}, {1, "v"}}};
    *h = {{1, 2}, {(short)-i, 0}};
    *j = {{}, {{i, "z"}}};
    *k = {sets::E::a, sets::E::b};
    *l = {{i % 2 == 0, sets::E::b}};
    *m = {{0.5f, {{"a", {true, false}}, {"a", {}}}}, {0.5f, {}}};
    *n = {-0.0, 1e300 * i, -1.0 / 3};
  });
}
}  // namespace features

// ---- enums

namespace enums {
enum class Bool : bool {};
enum class Char : char {};
enum class UChar : unsigned char {};
enum class Long : long {};
enum class ULong : unsigned long {};
enum Plain { one = 1, two };
struct Holder {
  enum In : short { x, y };
  Plain p = one;
  In q = x;
  std::vector<In> v;
  Plain a[2] = {one, one};
};
}  // namespace enums

namespace features {
inline void write_enums(const Writing& how) {
  write(how, [](const ROOT::REntry& entry, int i) {
    auto* a = at<enums::Bool>(entry, "a");
    auto* b = at<enums::Char>(entry, "b");
    auto* c = at<enums::UChar>(entry, "c");
    auto* d = at<enums::Long>(entry, "d");
    auto* e = at<enums::ULong>(entry, "e");
    auto* f = at<std::vector<enums::Bool>>(entry, "f");
    auto* g = at<std::map<enums::Long, enums::Char>>(entry, "g");
    auto* h = at<enums::Holder>(entry, "h");
    auto* j = at<std::array<enums::Plain, 3>>(entry, "j");
    auto* k = at<std::variant<enums::Plain, enums::Bool>>(entry, "k");
    auto* l = at<std::optional<enums::Char>>(entry, "l");
    auto* m = at<std::atomic<enums::Plain>>(entry, "m");
    auto* n = at<std::pair<enums::Bool, enums::UChar>>(entry, "n");
    *a = enums::Bool(i % 2);
    *b = enums::Char(-i);
    *c = enums::UChar(255 - i);
    *d = enums::Long(-1 - i);
    *e = enums::ULong(~0ul - i);
    *f = {enums::Bool(1), enums::Bool(0)};
    *g = {{enums::Long(i), enums::Char(1)}};
    h->p = enums::Plain(i);
    h->q = enums::Holder::In(i);
    h->v = {enums::Holder::In(3)};
    h->a[1] = enums::Plain(2);
    *j = {enums::two, enums::one, enums::Plain(i)};
    if (i % 2)
      *k = enums::Bool(1);
    else
      *k = enums::two;
    if (i % 3)
      *l = enums::Char(i);
    else
      l->reset();
    *m = enums::Plain(i);
    *n = {enums::Bool(1), enums::UChar(i)};
  });
}
}  // namespace features

// ---- streamed

namespace streamed {
struct S {
  int n = 0;
  std::string t;
};
struct Holder {
  int k = 0;
  S s;
  double last = 0;
};
}  // namespace streamed

namespace features {
inline void write_streamed(const Writing& how) {
  write(how, [](const ROOT::REntry& entry, int i) {
    auto* before = at<int>(entry, "before");
    auto* a = at<streamed::S>(entry, "a");
    auto* b = at<std::vector<streamed::S>>(entry, "b");
    auto* c = at<streamed::Holder>(entry, "c");
    auto* d = at<std::pair<int, streamed::S>>(entry, "d");
    auto* e = at<std::optional<streamed::S>>(entry, "e");
    auto* f = at<std::array<streamed::S, 2>>(entry, "f");
    auto* g = at<std::variant<int, streamed::S>>(entry, "g");
    auto* h = at<std::vector<streamed::Holder>>(entry, "h");
    auto* after = at<std::vector<float>>(entry, "after");
    *before = i;
    a->n = i;
    b->assign(i % 3, streamed::S{i, "x"});
    c->k = i;
    c->s.n = i;
    c->last = i;
    *d = {i, {i, ""}};
    if (i % 2)
      *e = streamed::S{i, "e"};
    else
      e->reset();
    (*f)[1].n = i;
    if (i % 2)
      *g = i;
    else
      *g = streamed::S{i, "g"};
    h->resize(i % 3);
    for (auto& o : *h) o.k = i;
    after->assign(i % 4, 0.5f);
  });
}
}  // namespace features

// ---- soa

namespace soa {
struct Point {
  float x = 0;
  double y = 0;
  std::vector<float> w;
};
struct PointSoA {
  ROOT::RVec<float> x;
  ROOT::RVec<double> y;
  ROOT::RVec<std::vector<float>> w;
};
struct Holder {
  int before = 0;
  PointSoA s;
  std::string after;
};
}  // namespace soa

namespace features {
inline void write_soa(const Writing& how) {
  write(how, [](const ROOT::REntry& entry, int i) {
    auto* n = at<int>(entry, "n");
    auto* a = at<soa::PointSoA>(entry, "a");
    auto* b = at<std::vector<soa::PointSoA>>(entry, "b");
    auto* c = at<soa::Holder>(entry, "c");
    auto* d = at<std::pair<int, soa::PointSoA>>(entry, "d");
    auto* late = at<float>(entry, "late");
    *n = i;
    a->x.clear();
    a->y.clear();
    a->w.clear();
    for (int k = 0; k < i % 4; ++k) {
      a->x.push_back(k);
      a->y.push_back(-k);
      a->w.push_back({float(k)});
    }
    b->assign(i % 3, *a);
    c->before = i;
    c->s = *a;
    c->after = "z";
    *d = {i, *a};
    *late = i;
  });
}
}  // namespace features

// ---- root_classes

namespace roots {
struct Left {
  float x = 1;
  virtual ~Left() = default;
};
struct Derived : Left, TObject {
  double y = 0;
};
struct Holder {
  ROOT::Math::XYZTVector v;
  std::pair<int, int> p;
};
}  // namespace roots

namespace features {
inline void write_root_classes(const Writing& how) {
  write(how, [](const ROOT::REntry& entry, int i) {
    auto* c = at<ROOT::Math::PtEtaPhiMVector>(entry, "c");
    auto* e = at<TObject>(entry, "e");
    auto* f = at<ROOT::Math::XYZPoint>(entry, "f");
    auto* g = at<std::vector<ROOT::Math::XYZTVector>>(entry, "g");
    auto* h = at<roots::Derived>(entry, "h");
    auto* j = at<std::vector<roots::Derived>>(entry, "j");
    auto* k = at<std::vector<TObject>>(entry, "k");
    auto* l = at<ROOT::Math::SMatrix<double, 2, 3>>(entry, "l");
    auto* m = at<roots::Holder>(entry, "m");
    c->SetCoordinates(i, 0.5, -0.5, 1);
    e->SetUniqueID(i);
    f->SetXYZ(1, i, 2);
    g->resize(i % 3);
    for (auto& v : *g) v.SetPx(i);
    h->SetUniqueID(i);
    h->x = i;
    h->y = 1;
    j->assign(i % 3, *h);
    k->resize(i % 2);
    (*l)(1, 1) = i;
    m->v.SetPz(i);
    m->p = {1, i};
  });
}
}  // namespace features

// ---- bitsets

namespace features {
inline void write_bitsets(const Writing& how) {
  write(how, [](const ROOT::REntry& entry, int i) {
    auto* b1 = at<std::bitset<1>>(entry, "b1");
    auto* b2 = at<std::bitset<2>>(entry, "b2");
    auto* b8 = at<std::bitset<8>>(entry, "b8");
    auto* b31 = at<std::bitset<31>>(entry, "b31");
    auto* b32 = at<std::bitset<32>>(entry, "b32");
    auto* b33 = at<std::bitset<33>>(entry, "b33");
    auto* b63 = at<std::bitset<63>>(entry, "b63");
    auto* b64 = at<std::bitset<64>>(entry, "b64");
    auto* b65 = at<std::bitset<65>>(entry, "b65");
    auto* b127 = at<std::bitset<127>>(entry, "b127");
    auto* b128 = at<std::bitset<128>>(entry, "b128");
    auto* b129 = at<std::bitset<129>>(entry, "b129");
    auto* b4099 = at<std::bitset<4099>>(entry, "b4099");
    auto* v = at<std::vector<std::bitset<70>>>(entry, "v");
    auto* a = at<std::array<std::bitset<3>, 3>>(entry, "a");
    auto* o = at<std::optional<std::bitset<9>>>(entry, "o");
    auto* p = at<std::map<int, std::bitset<100>>>(entry, "p");
    auto set = [&](auto& bits) {
      for (std::size_t k = 0; k < bits.size(); ++k) bits[k] = (k * 7 + i) % 5 < 2;
    };
    set(*b1);
    set(*b2);
    set(*b8);
    set(*b31);
    set(*b32);
    set(*b33);
    set(*b63);
    set(*b64);
    set(*b65);
    set(*b127);
    set(*b128);
    set(*b129);
    set(*b4099);
    v->resize(i % 4);
    for (auto& x : *v) set(x);
    for (auto& x : *a) set(x);
    if (i % 2) {
      o->emplace();
      set(**o);
    } else
      o->reset();
    p->clear();
    set((*p)[i]);
  });
}
}  // namespace features

// ---- nullables

namespace features {
inline void write_nullables(const Writing& how) {
  write(how, [](const ROOT::REntry& entry, int i) {
    auto* a = at<std::optional<std::vector<std::optional<int>>>>(entry, "a");
    auto* b = at<std::unique_ptr<std::unique_ptr<std::string>>>(entry, "b");
    auto* c = at<std::vector<std::unique_ptr<float>>>(entry, "c");
    auto* d =
        at<std::variant<std::optional<int>, std::string, std::vector<std::variant<int, float>>>>(entry, "d");
    auto* e = at<std::array<std::optional<bool>, 3>>(entry, "e");
    auto* f = at<std::optional<std::pair<int, std::optional<std::string>>>>(entry, "f");
    auto* g = at<std::atomic<std::uint64_t>>(entry, "g");
    auto* h = at<std::vector<std::optional<std::array<float, 2>>>>(entry, "h");
    if (i % 3)
      *a = std::vector<std::optional<int>>{std::nullopt, i};
    else
      a->reset();
    if (i % 2) {
      *b = std::make_unique<std::unique_ptr<std::string>>();
      if (i % 4 == 1) **b = std::make_unique<std::string>("u");
    } else
      b->reset();
    c->clear();
    for (int k = 0; k < i % 4; ++k) {
      c->emplace_back();
      if (k % 2) c->back() = std::make_unique<float>(i);
    }
    if (i % 3 == 0)
      *d = std::string("s");
    else if (i % 3 == 1)
      *d = std::optional<int>();
    else
      *d = std::vector<std::variant<int, float>>{1, 2.5f, i};
    *e = {std::nullopt, i % 2 == 0, true};
    if (i % 2)
      *f = std::make_pair(i, i % 3 ? std::optional<std::string>("x") : std::nullopt);
    else
      f->reset();
    *g = ~0ull - i;
    *h = {std::nullopt, std::array<float, 2>{1, float(i)}};
  });
}
}  // namespace features

// ---- collections_that_are_classes

namespace proxied {
struct Vec : std::vector<float> {
  int lost = 3;
};
struct Holder {
  int k = 0;
  Vec v;
};
}  // namespace proxied

namespace features {
inline void write_collections_that_are_classes(const Writing& how) {
  write(how, [](const ROOT::REntry& entry, int i) {
    auto* a = at<proxied::Vec>(entry, "a");
    auto* b = at<proxied::Holder>(entry, "b");
    auto* c = at<std::vector<proxied::Vec>>(entry, "c");
    a->assign(i % 4, i);
    b->v.assign(2, i);
    b->k = i;
    c->assign(i % 3, *a);
  });
}
}  // namespace features

// ---- rvecs

namespace features {
inline void write_rvecs(const Writing& how) {
  write(how, [](const ROOT::REntry& entry, int i) {
    auto* a = at<ROOT::RVec<bool>>(entry, "a");
    auto* b = at<ROOT::RVec<ROOT::RVec<std::string>>>(entry, "b");
    auto* c = at<std::vector<ROOT::RVecF>>(entry, "c");
    auto* d = at<ROOT::RVec<std::pair<int, std::string>>>(entry, "d");
    auto* e = at<std::array<ROOT::RVecD, 2>>(entry, "e");
    auto* f = at<ROOT::RVec<std::vector<bool>>>(entry, "f");
    *a = {true, i % 2 == 0};
    *b = {{}, {"a", "b"}};
    *c = {{1.f, float(i)}, {}};
    *d = {{i, "x"}};
    (*e)[1] = {1.0 * i};
    *f = {{true}, {}, {false, true}};
  });
}
}  // namespace features

#endif
