"""Random schemas and data: written by Colonnade, read by Colonnade and by uproot."""

from __future__ import annotations

from typing import Any, NamedTuple

import awkward as ak
import uproot
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from root_values import same

import colonnade


class Kind(NamedTuple):
    """A type and its values."""

    spec: Any
    values: st.SearchStrategy[Any]
    family: str
    """What tells its values from those of other alternatives of a variant."""

    @property
    def named(self) -> bool:
        """Usable as a template argument."""
        return isinstance(self.spec, str)


def _integers(bits: int, signed: bool) -> Kind:
    low = -(2 ** (bits - 1)) if signed else 0
    high = 2 ** (bits - 1) - 1 if signed else 2**bits - 1
    return Kind(f"std::{'' if signed else 'u'}int{bits}_t", st.integers(low, high), "int")


LEAVES = [
    Kind("bool", st.booleans(), "bool"),
    *(_integers(bits, signed) for bits in (8, 16, 32, 64) for signed in (True, False)),
    Kind("float", st.floats(width=32, allow_nan=False), "float"),
    Kind("double", st.floats(allow_nan=False), "float"),
    Kind("Double32_t", st.floats(width=32, allow_nan=False), "float"),
    Kind("std::string", st.text(max_size=8), "text"),
    Kind("std::byte", st.integers(0, 255), "int"),
    Kind("std::atomic<std::int32_t>", st.integers(-100, 100), "int"),
    Kind("std::bitset<9>", st.lists(st.booleans(), min_size=9, max_size=9), "list"),
]


@st.composite
def _compound(draw: st.DrawFn, inner: st.SearchStrategy[Kind]) -> Kind:
    item = draw(inner)
    named = inner.filter(lambda kind: kind.named)
    match draw(st.sampled_from(["list", "record", "array", "optional", "tuple", "variant", "set", "map"])):
        case "list":
            template = draw(st.sampled_from(["std::vector", "ROOT::VecOps::RVec"]))
            return Kind(
                f"{template}<{item.spec}>" if item.named else [item.spec],
                st.lists(item.values, max_size=3),
                "list",
            )
        case "record":
            other = draw(inner)
            members = {"x": item.spec, "a_long_name": other.spec}
            values = st.fixed_dictionaries({"x": item.values, "a_long_name": other.values})
            return Kind(members, values, "record")
        case "array":
            item, size = draw(named), draw(st.integers(1, 3))
            return Kind(
                f"std::array<{item.spec},{size}>", st.lists(item.values, min_size=size, max_size=size), "list"
            )
        case "optional":
            template = draw(st.sampled_from(["std::optional", "std::unique_ptr"]))
            item = draw(named.filter(lambda kind: kind.family != "optional"))
            return Kind(f"{template}<{item.spec}>", st.none() | item.values, "optional")
        case "tuple":
            items = draw(st.lists(named, min_size=2, max_size=3))
            return Kind(
                f"std::tuple<{','.join(each.spec for each in items)}>",
                st.tuples(*(i.values for i in items)),
                "tuple",
            )
        case "variant":
            items = draw(
                st.lists(
                    named.filter(
                        lambda kind: kind.family in ("bool", "int", "float", "text", "list", "tuple")
                    ),
                    min_size=2,
                    max_size=3,
                    unique_by=lambda kind: kind.family,
                )
            )
            values = st.one_of(st.none(), *(each.values for each in items))
            return Kind(f"std::variant<{','.join(each.spec for each in items)}>", values, "variant")
        case "set":
            return Kind(
                "std::set<std::int16_t>",
                st.lists(st.integers(-99, 99), unique=True, max_size=4).map(sorted),
                "list",
            )
    key = Kind("std::string", st.text(max_size=3), "text")
    value = draw(named)
    pairs = st.dictionaries(key.values, value.values, max_size=3).map(
        lambda d: sorted(d.items(), key=lambda p: p[0])
    )
    return Kind(f"std::map<std::string,{value.spec}>", pairs, "list")


KINDS = st.recursive(st.sampled_from(LEAVES), _compound, max_leaves=5)


@st.composite
def samples(
    draw: st.DrawFn, kinds: st.SearchStrategy[Kind] = KINDS
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """A schema and entries."""
    fields = {
        f"field{number}": kind for number, kind in enumerate(draw(st.lists(kinds, min_size=1, max_size=3)))
    }
    entries = st.lists(
        st.fixed_dictionaries({name: kind.values for name, kind in fields.items()}), max_size=6
    )
    return {name: kind.spec for name, kind in fields.items()}, draw(entries)


def _mentions(spec: Any, *words: str) -> bool:
    if isinstance(spec, dict):
        return any(_mentions(each, *words) for each in spec.values())
    if isinstance(spec, list):
        return _mentions(spec[0], *words)
    return any(word in spec for word in words)


QUIET = settings(
    deadline=None,
    max_examples=150,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)


@QUIET
@given(
    sample=samples(),
    ends=st.sets(st.integers(0, 6)),
    compression=st.sampled_from(["none", "zstd:1", "lz4:1"]),
)
def test_entries_come_back(tmp_path, sample, ends, compression):
    schema, entries = sample
    path = tmp_path / "entries.root"
    # A file system may write out at once what takes the place of another file, which is waited for.
    path.unlink(missing_ok=True)
    with colonnade.create(path, "Events", schema, compression=compression) as writer:
        for number, entry in enumerate(entries):
            if number in ends:
                writer.commit_cluster()
            writer.fill(**entry)
    data_set = colonnade.open(path)
    assert same(data_set.arrays().to_list(), entries)
    data_set.verify()


@QUIET
@example(
    sample=(
        {"x": "std::uint64_t", "v": "std::vector<std::optional<std::uint64_t>>"},
        [{"x": 2**63, "v": [None, 2**64 - 1]}, {"x": 0, "v": []}],
    ),
    cut=1,
    start=0,
    stop=3,
)
@example(
    sample=(
        {"v": "std::optional<std::variant<std::int64_t,double>>"},
        [{"v": 2**53 + 1}, {"v": 1.5}, {"v": None}],
    ),
    cut=1,
    start=0,
    stop=3,
)
@given(sample=samples(), cut=st.integers(0, 6), start=st.integers(0, 6), stop=st.integers(0, 6))
def test_arrays_come_back(tmp_path, sample, cut, start, stop):
    """What one data set gives is taken by another, whole and in parts, whatever the layout of the arrays is."""
    schema, entries = sample
    first, second = tmp_path / "first.root", tmp_path / "second.root"
    for path in (first, second):
        path.unlink(missing_ok=True)
    with colonnade.create(first, "Events", schema) as writer:
        for entry in entries:
            writer.fill(**entry)
    arrays = colonnade.open(first).arrays()
    with colonnade.create(second, "Events", schema) as writer:
        writer.extend(arrays[:cut])
        writer.extend(arrays[cut:])
        writer.extend(arrays[::-1])
        writer.extend({name: [entry[name] for entry in entries] for name in schema})
    found = colonnade.open(second)
    expected = entries + entries[::-1] + entries
    assert same(found.arrays().to_list(), expected)
    assert same(found.arrays(entry_start=start, entry_stop=stop).to_list(), expected[start:stop])


@QUIET
@given(
    sample=samples(KINDS.filter(lambda kind: not _mentions(kind.spec, "variant", "unique_ptr", "Double32_t")))
)
def test_uproot_reads_the_same(tmp_path, sample):
    schema, entries = sample
    path = tmp_path / "uproot.root"
    path.unlink(missing_ok=True)
    with colonnade.create(path, "Events", schema) as writer:
        for entry in entries:
            writer.fill(**entry)
    with uproot.open(path) as file:
        assert same(file["Events"].arrays().to_list(), entries)


@QUIET
@given(
    values=st.lists(
        st.lists(st.floats(width=32, allow_nan=False) | st.none(), max_size=4) | st.none(),
        min_size=1,
        max_size=6,
    ).filter(lambda lists: any(item is not None for each in lists if each for item in each))
)
def test_schemas_are_inferred_from_options(tmp_path, values):
    path = tmp_path / "inferred.root"
    path.unlink(missing_ok=True)
    with colonnade.create(path, "Events") as writer:
        writer.extend({"x": ak.Array(values)})
    assert same(colonnade.open(path)["x"].to_list(), values)
