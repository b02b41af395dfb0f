"""Writes types and classes of C++ that random schemas do not have, feature by feature; see root_features.h.

`write_feature(name, path)` returns what ROOT reads from the file. The names are those of FEATURES.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

import root_bridge
import root_dump
import root_write

DATASET = "Feature"
ENTRIES = 12
_WIDTHS = (1, 2, 8, 31, 32, 33, 63, 64, 65, 127, 128, 129, 4099)
# The fields, with the names of types as a user writes them.
FEATURES: dict[str, list[tuple[str, str]]] = {
    "normalized_names": [
        ("a", "long"),
        ("b", "unsigned long long"),
        ("c", "signed char"),
        ("d", "unsigned char"),
        ("e", "std::vector<long long>"),
        ("f", "std::array<unsigned short, 2>"),
        ("g", "Long64_t"),
        ("h", "std::size_t"),
        ("i_", "std::map<short, std::pair<long, float>>"),
        ("j", "Double32_t"),
        ("k", "std::vector<Double32_t>"),
        ("l", "std::vector<std::vector<bool>>"),
        ("m", "std::array<bool, 9>"),
    ],
    "sets_of_anything": [
        ("a", "std::set<std::pair<int, float>>"),
        ("b", "std::set<std::set<int>>"),
        ("c", "std::multiset<std::vector<std::string>>"),
        ("d", "std::map<std::pair<int,int>, std::set<float>>"),
        ("e", "std::multimap<std::tuple<int,std::string>, std::map<int, std::vector<double>>>"),
        ("f", "std::set<sets::Key>"),
        ("g", "std::map<sets::Key, sets::Key>"),
        ("h", "std::set<std::array<short,2>>"),
        ("j", "std::vector<std::set<sets::Key>>"),
        ("k", "std::set<sets::E>"),
        ("l", "std::map<bool, sets::E>"),
        ("m", "std::multimap<float, std::multimap<std::string, std::vector<bool>>>"),
        ("n", "std::set<double>"),
    ],
    "enums": [
        ("a", "enums::Bool"),
        ("b", "enums::Char"),
        ("c", "enums::UChar"),
        ("d", "enums::Long"),
        ("e", "enums::ULong"),
        ("f", "std::vector<enums::Bool>"),
        ("g", "std::map<enums::Long, enums::Char>"),
        ("h", "enums::Holder"),
        ("j", "std::array<enums::Plain, 3>"),
        ("k", "std::variant<enums::Plain, enums::Bool>"),
        ("l", "std::optional<enums::Char>"),
        ("m", "std::atomic<enums::Plain>"),
        ("n", "std::pair<enums::Bool, enums::UChar>"),
    ],
    "streamed": [
        ("before", "int"),
        ("a", "streamed::S"),
        ("b", "std::vector<streamed::S>"),
        ("c", "streamed::Holder"),
        ("d", "std::pair<int, streamed::S>"),
        ("e", "std::optional<streamed::S>"),
        ("f", "std::array<streamed::S, 2>"),
        ("g", "std::variant<int, streamed::S>"),
        ("h", "std::vector<streamed::Holder>"),
        ("after", "std::vector<float>"),
    ],
    "soa": [
        ("n", "int"),
        ("a", "soa::PointSoA"),
        ("b", "std::vector<soa::PointSoA>"),
        ("c", "soa::Holder"),
        ("d", "std::pair<int, soa::PointSoA>"),
        ("late", "float"),
    ],
    "root_classes": [
        ("c", "ROOT::Math::PtEtaPhiMVector"),
        ("e", "TObject"),
        ("f", "ROOT::Math::XYZPoint"),
        ("g", "std::vector<ROOT::Math::XYZTVector>"),
        ("h", "roots::Derived"),
        ("j", "std::vector<roots::Derived>"),
        ("k", "std::vector<TObject>"),
        ("l", "ROOT::Math::SMatrix<double, 2, 3>"),
        ("m", "roots::Holder"),
    ],
    "bitsets": [
        *((f"b{n}", f"std::bitset<{n}>") for n in _WIDTHS),
        ("v", "std::vector<std::bitset<70>>"),
        ("a", "std::array<std::bitset<3>, 3>"),
        ("o", "std::optional<std::bitset<9>>"),
        ("p", "std::map<int, std::bitset<100>>"),
    ],
    "nullables": [
        ("a", "std::optional<std::vector<std::optional<int>>>"),
        ("b", "std::unique_ptr<std::unique_ptr<std::string>>"),
        ("c", "std::vector<std::unique_ptr<float>>"),
        ("d", "std::variant<std::optional<int>, std::string, std::vector<std::variant<int, float>>>"),
        ("e", "std::array<std::optional<bool>, 3>"),
        ("f", "std::optional<std::pair<int, std::optional<std::string>>>"),
        ("g", "std::atomic<std::uint64_t>"),
        ("h", "std::vector<std::optional<std::array<float, 2>>>"),
    ],
    "collections_that_are_classes": [
        ("a", "proxied::Vec"),
        ("b", "proxied::Holder"),
        ("c", "std::vector<proxied::Vec>"),
    ],
    "rvecs": [
        ("a", "ROOT::RVec<bool>"),
        ("b", "ROOT::RVec<ROOT::RVec<std::string>>"),
        ("c", "std::vector<ROOT::RVecF>"),
        ("d", "ROOT::RVec<std::pair<int,std::string>>"),
        ("e", "std::array<ROOT::RVecD, 2>"),
        ("f", "ROOT::RVec<std::vector<bool>>"),
    ],
}


@lru_cache(maxsize=1)
def _with_features() -> Any:
    ROOT = root_bridge.load()
    if not ROOT.gInterpreter.Declare(f'#include "{Path(__file__).with_name("root_features.h")}"'):
        raise RuntimeError("root_features.h does not compile in ROOT's interpreter")
    _give_attribute("streamed::S", "rntuple.streamerMode", "true")
    _give_attribute("soa::PointSoA", "rntuple.SoARecord", "soa::Point")
    return ROOT


def _give_attribute(kind: str, key: str, value: str) -> None:
    found = root_bridge.load().TClass.GetClass(kind)
    found.CreateAttributeMap()
    found.GetAttributeMap().AddProperty(key, value)


def write_feature(name: str, path: str | Path) -> dict[str, Any]:
    """Write the file and return what ROOT reads from it: {dataset: {...}} as in tests/fixtures/expected."""
    ROOT = _with_features()
    root_bridge.ensure_dictionaries([kind for _, kind in FEATURES[name]])
    how = ROOT.features.Writing()
    how.path, how.entries, how.options = str(path), ENTRIES, root_write.options()
    for field, kind in FEATURES[name]:
        how.names.push_back(field)
        how.types.push_back(kind)
    getattr(ROOT.features, f"write_{name}")(how)
    return {DATASET: root_dump.dump(path, DATASET)}
