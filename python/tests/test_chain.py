"""Several files as one data set: random chains against lists of Python, open files, indices, errors."""

from __future__ import annotations

import contextlib
import glob
import json
import math
import os
import pickle
import re
import shutil
from pathlib import Path
from typing import Any, NamedTuple

import awkward as ak
import numpy as np
import pyarrow
import pyarrow.parquet
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from locations import FIXTURES
from root_values import fields_of, python_values, same
from test_fixtures import DATA_SETS
from test_round_trip import KINDS, Kind

import colonnade
from colonnade import _core
from colonnade.distributed.engines import InThisProcess
from colonnade.root import TChain

QUIET = settings(
    deadline=None,
    max_examples=120,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)


def write(path, schema, entries, ends=(), name="Events"):
    # A file system may write out at once what takes the place of another file, which is waited for.
    Path(path).unlink(missing_ok=True)
    with colonnade.create(path, name, schema, compression="none") as writer:
        for number, entry in enumerate(entries):
            if number in ends:
                writer.commit_cluster()
            writer.fill(**entry)
    return str(path)


# ---- Random chains

SMALL = st.integers(-100, 100)
NUMBERS = [Kind(f"std::int{bits}_t", SMALL, "int") for bits in (8, 16, 32, 64)] + [
    Kind(f"std::uint{bits}_t", st.integers(0, 200), "int") for bits in (8, 16, 32)
]
REALS = [
    Kind("float", st.floats(width=32, allow_nan=False, allow_infinity=False), "float"),
    Kind("double", st.floats(allow_nan=False, allow_infinity=False), "float"),
    Kind("Double32_t", st.floats(width=32, allow_nan=False, allow_infinity=False), "float"),
]
LISTS = [
    Kind("std::vector<std::int32_t>", st.lists(SMALL, max_size=3), "list"),
    Kind("ROOT::VecOps::RVec<std::int64_t>", st.lists(SMALL, max_size=3), "list"),
    Kind("std::array<std::int8_t,2>", st.lists(SMALL, min_size=2, max_size=2), "list"),
    Kind("std::array<std::int8_t,1>", st.lists(SMALL, min_size=1, max_size=1), "list"),
    Kind("std::set<std::int16_t>", st.lists(SMALL, max_size=3, unique=True).map(sorted), "list"),
]
OPTIONS = [
    Kind("std::optional<std::int32_t>", st.none() | SMALL, "optional"),
    Kind("std::unique_ptr<std::int64_t>", st.none() | SMALL, "optional"),
    *NUMBERS[:3],
]
OPTIONAL_LISTS = [
    Kind("std::optional<std::vector<float>>", st.none() | st.just([1.5]), "optional"),
    LISTS[0]._replace(spec="std::vector<float>", values=st.lists(st.sampled_from([0.5, -2.0]), max_size=2)),
]
TEXTS = [Kind("std::string", st.text(max_size=4), "text")]
PAIRS = [
    Kind("std::pair<std::int32_t,float>", st.tuples(SMALL, st.just(0.5)), "tuple"),
    Kind("std::tuple<std::int64_t,double>", st.tuples(SMALL, st.just(0.5)), "tuple"),
]
VARIANTS = [
    Kind("std::variant<std::int32_t,std::string>", SMALL | st.text(max_size=3), "variant"),
    Kind("std::variant<std::int64_t,std::string>", SMALL | st.text(max_size=3), "variant"),
    Kind("std::variant<std::int8_t,std::optional<std::string>>", SMALL | st.text(max_size=3), "variant"),
]
MAPS = [
    Kind("std::map<std::string,std::int32_t>", st.just([("a", 1), ("b", -2)]) | st.just([]), "list"),
    Kind("std::map<std::string,std::int64_t>", st.just([("c", 3)]), "list"),
]
GROUPS = [NUMBERS, REALS, LISTS, OPTIONS, OPTIONAL_LISTS, TEXTS, PAIRS, VARIANTS, MAPS]


class Field(NamedTuple):
    """What the files may have under one name."""

    kinds: list[Kind]
    members: dict[str, list[Kind]]
    """Of a record; then there are no kinds."""
    is_list: bool = False


class File(NamedTuple):
    schema: dict[str, Any]
    entries: list[dict[str, Any]]
    ends: set[int]


def _fields() -> st.SearchStrategy[Field]:
    groups = st.sampled_from(GROUPS) | KINDS.map(lambda kind: [kind])
    members = st.dictionaries(st.sampled_from("xyz"), groups, min_size=1, max_size=3)
    plain = groups.map(lambda kinds: Field(kinds, {}))
    return plain | st.builds(Field, st.just([]), members, st.booleans())


@st.composite
def _kind_in_file(draw: st.DrawFn, field: Field) -> Kind:
    if not field.members:
        return draw(st.sampled_from(field.kinds))
    names = draw(st.lists(st.sampled_from(sorted(field.members)), min_size=1, unique=True))
    chosen = {name: draw(st.sampled_from(field.members[name])) for name in names}
    spec = {name: kind.spec for name, kind in chosen.items()}
    values = st.fixed_dictionaries({name: kind.values for name, kind in chosen.items()})
    return (
        Kind([spec], st.lists(values, max_size=3), "list") if field.is_list else Kind(spec, values, "record")
    )


@st.composite
def chains(draw: st.DrawFn) -> tuple[dict[str, Field], list[File]]:
    """Fields, and files that have some of them, in any order and of any type that goes with the others."""
    fields = {f"f{n}": field for n, field in enumerate(draw(st.lists(_fields(), min_size=1, max_size=3)))}
    files = []
    for _ in range(draw(st.integers(1, 4))):
        few = draw(st.lists(st.sampled_from(sorted(fields)), min_size=1, unique=True))
        names = draw(st.permutations(sorted(fields))) if draw(st.booleans()) else few
        kinds = {name: draw(_kind_in_file(fields[name])) for name in names}
        row = st.fixed_dictionaries({name: kind.values for name, kind in kinds.items()})
        entries = draw(st.lists(row, max_size=5))
        files.append(File({n: k.spec for n, k in kinds.items()}, entries, draw(st.sets(st.integers(0, 5)))))
    return fields, files


def _members_of(spec: Any) -> set[str]:
    return set(spec[0] if isinstance(spec, list) else spec)


def expected_entries(
    fields: dict[str, Field], files: list[File], missing: str
) -> list[dict[str, Any]] | None:
    """What the chain should hold; None: it cannot be opened."""
    shown: dict[str, set[str] | None] = {}
    complete = True
    for name, field in fields.items():
        specs = [file.schema[name] for file in files if name in file.schema]
        if not specs:
            continue
        everywhere = len(specs) == len(files)
        complete &= everywhere
        if field.members:
            all_members = set.union(*map(_members_of, specs))
            common = set.intersection(*map(_members_of, specs))
            complete &= all_members == common
            shown[name] = all_members if missing == "fill" else common
            everywhere &= bool(common)
        else:
            shown[name] = None
        if missing == "skip" and not everywhere:
            del shown[name]
    if missing == "error" and not complete:
        return None

    def value(name: str, entry: dict[str, Any]) -> Any:
        found, members = entry.get(name), shown[name]
        if members is None or found is None:
            return found
        if isinstance(found, list):
            return [{m: each.get(m) for m in members} for each in found]
        return {m: found.get(m) for m in members}

    return [{name: value(name, entry) for name in shown} for file in files for entry in file.entries]


@pytest.mark.parametrize("missing", ["error", "fill", "skip"])
@QUIET
@given(
    chain=chains(),
    start=st.integers(0, 20),
    stop=st.integers(0, 20),
    step=st.integers(1, 7) | st.sampled_from(["1 B", "40 B", "1 MB"]),
    most_open=st.integers(1, 3),
)
def test_chains_are_the_files_one_behind_the_other(tmp_path, missing, chain, start, stop, step, most_open):
    fields, files = chain
    paths = [write(tmp_path / f"{n}.root", *file) for n, file in enumerate(files)]
    expected = expected_entries(fields, files, missing)
    if expected is None:
        with pytest.raises(colonnade.SchemaError, match=r"is in .*\.root but not in .*\.root"):
            colonnade.open(paths, missing=missing)
        return
    found = colonnade.open(paths, "Events", missing=missing, max_open_files=most_open)
    total = sum(len(file.entries) for file in files)
    assert found.num_entries == total
    arrays = found.arrays()
    assert len(arrays) == total or not found.field_names
    if not found.field_names:
        return
    assert same(arrays.to_list(), expected)
    assert same(found.arrays(entry_start=start, entry_stop=stop).to_list(), expected[start:stop])
    steps = list(found.iterate(step_size=step))
    assert same([entry for each in steps for entry in each.to_list()], expected)
    if "variant" not in str(found.schema):  # a union is one of options only where a value is missing
        assert all(each.type.content.is_equal_to(arrays.type.content) for each in steps)
    assert found.verify() >= 0
    texts = [text for _, text in found.entry_texts(0, total)]
    assert len(texts) == total
    for name in found.keys(recursive=True):
        field = found[name]
        assert len(field) == total
    copy = pickle.loads(pickle.dumps(found))
    assert same(copy.arrays().to_list(), expected)
    # Beside data sets: entries in any order, some of them several times, and some without a match.
    order = [(7 * entry + start) % (total + 2) for entry in range(total + 3)] if total else [0, 1]
    keys, numbers = tmp_path / "keys.root", tmp_path / "numbers.root"
    for path in (keys, numbers):
        path.unlink(missing_ok=True)
    with colonnade.create(keys, "Keys", {"key": "std::int64_t"}) as writer:
        writer.extend({"key": np.array(order)})
    with colonnade.create(numbers, "Numbers", {"key": "std::int64_t"}) as writer:
        writer.extend({"key": np.arange(total)})
    numbered = found.with_friends({"numbers": colonnade.open(numbers)})
    for how, matched in (("left", order), ("inner", [key for key in order if key < total])):
        joined = colonnade.open(keys).join(
            numbered, on={"key": "numbers.key" if "key" in found.schema else "key"}, how=how, prefix="r_"
        )
        read = joined.arrays([f"r_{name}" for name in found.field_names]).to_list()
        rows = [{name[2:]: value for name, value in row.items()} for row in read]
        nothing = dict.fromkeys(found.field_names)
        assert same(rows, [expected[key] if key < total else nothing for key in matched])


@QUIET
@given(st.data())
def test_arrow_and_awkward_say_the_same(tmp_path, data):
    """Types that Arrow and Python's JSON spell alike: without tuples, variants, bytes."""
    plain = st.sampled_from([NUMBERS, REALS, LISTS, OPTIONS, OPTIONAL_LISTS, TEXTS])
    fields = {
        f"f{n}": Field(group, {})
        for n, group in enumerate(data.draw(st.lists(plain, min_size=1, max_size=3)))
    }
    files = []
    for number in range(data.draw(st.integers(1, 4))):
        names = data.draw(st.lists(st.sampled_from(sorted(fields)), min_size=1, unique=True))
        kinds = {name: data.draw(_kind_in_file(fields[name])) for name in names}
        row = st.fixed_dictionaries({name: kind.values for name, kind in kinds.items()})
        entries = data.draw(st.lists(row, max_size=4))
        files.append(write(tmp_path / f"{number}.root", {n: k.spec for n, k in kinds.items()}, entries))
    chain = colonnade.open(files, missing="fill")
    expected = chain.arrays().to_list()
    table = chain.to_arrow()
    assert table.to_pylist() == expected
    assert pyarrow.table(chain).to_pylist() == expected
    whole = chain.to_arrow_reader(step_size=2).read_all()
    assert whole.schema == table.schema
    assert whole.to_pylist() == expected
    texts = [json.loads(text, parse_constant=float) for _, text in chain.entry_texts(0, chain.num_entries)]
    assert all(_close(text, entry) for text, entry in zip(texts, expected, strict=True))
    frame = chain.to_pandas()
    assert list(frame.columns) == chain.field_names
    assert len(frame) == chain.num_entries
    assert chain.to_polars().height == chain.num_entries
    assert all(len(column) == chain.num_entries for column in chain.to_numpy().values())


def _close(text: Any, value: Any) -> bool:
    if isinstance(value, dict):
        return text.keys() == value.keys() and all(_close(text[name], value[name]) for name in value)
    if isinstance(value, list):
        return len(text) == len(value) and all(map(_close, text, value))
    if isinstance(value, float):
        return math.isclose(text, value, rel_tol=1e-5, abs_tol=2.0**-150)  # half a step of subnormal floats
    return bool(text == value)


@QUIET
@given(
    sizes=st.lists(st.integers(0, 6), min_size=1, max_size=6),
    kinds=st.lists(st.sampled_from([np.int32, np.int64, np.int16]), min_size=6, max_size=6),
)
def test_types_are_those_of_a_concatenation(tmp_path, sizes, kinds):
    parts = []
    for number, (size, kind) in enumerate(zip(sizes, kinds, strict=False)):
        parts.append(
            ak.Array(
                {
                    "n": np.arange(size, dtype=kind),
                    "x": ak.unflatten(np.ones(size * 2, kind), np.full(size, 2)),
                }
            )
        )
        schema = {"n": f"std::{np.dtype(kind).name}_t", "x": f"std::vector<std::{np.dtype(kind).name}_t>"}
        with colonnade.create(tmp_path / f"{number}.root", "Events", schema) as writer:
            writer.extend(parts[-1])
    arrays = colonnade.open([tmp_path / f"{n}.root" for n in range(len(parts))]).arrays()
    expected = ak.concatenate(parts)
    assert arrays.to_list() == expected.to_list()
    assert ak.type(arrays.n).content == ak.type(expected.n).content


@pytest.mark.filterwarnings("ignore::colonnade.LeftOutWarning")
@pytest.mark.parametrize(("file", "name"), DATA_SETS)
def test_what_root_wrote(file, name):
    """A file behind itself: all types and all encodings, with types as they are in one file."""
    path = str(FIXTURES / f"{file}.root")
    alone, chain = colonnade.open(path, name), colonnade.open([path, path], name)
    assert chain.field_names == alone.field_names
    assert _types(chain.schema) == _types(alone.schema)
    one, both = alone.arrays(), chain.arrays()
    assert len(both) == 2 * len(one)
    for field in fields_of(alone):
        values = python_values(one[field])
        assert same(python_values(both[field]), values + values), field
    texts = [text for _, text in alone.entry_texts(0, min(3, len(one)))]
    first = alone.num_entries
    assert [text for _, text in chain.entry_texts(first, first + len(texts))] == texts


def _types(schema):
    return [(info.path, info.type, info.kind) for top in schema.values() for info in top.walk()]


def test_encodings_that_differ():
    files = sorted(FIXTURES.glob("compression_*.root"))
    assert len(files) > 5
    parts = [colonnade.open(file).arrays() for file in files]
    assert (
        colonnade.open(FIXTURES / "compression_*.root").arrays().to_list() == ak.concatenate(parts).to_list()
    )


# ---- Which files


@pytest.fixture
def files(tmp_path):
    """Three files with n = 0, 1, 2, ... over all, 10 entries each, whose types become wider."""
    kinds = ["std::int16_t", "std::int32_t", "std::int64_t"]
    return [
        write(tmp_path / f"run{k}.root", {"n": kind}, [{"n": 10 * k + i} for i in range(10)], {5})
        for k, kind in enumerate(kinds)
    ]


@pytest.mark.parametrize("form", ["list", "wildcard", "wildcard and name", "path", "generator", "mixed"])
def test_forms(files, tmp_path, form):
    pattern = str(tmp_path / "run*.root")
    chain = colonnade.open(
        {
            "list": files,
            "wildcard": pattern,
            "wildcard and name": f"{pattern}:Events",
            "path": tmp_path / "run?.root",
            "generator": (Path(file) for file in files),
            "mixed": [f"{files[0]}:Events", str(tmp_path / "run[12].root")],
        }[form]
    )
    assert isinstance(chain, colonnade.Chain)
    assert chain.files == files
    assert chain.name == "Events"
    assert chain.arrays().n.to_list() == list(range(30))
    assert chain.file_offsets == [0, 10, 20, 30]
    assert [chain.file_of(entry) for entry in (0, 9, 10, 29, -1, -30)] == [
        files[k] for k in (0, 0, 1, 2, 2, 0)
    ]


def test_finding_the_file_of_an_entry_asks_few_files(tmp_path):
    for k in range(5):
        with colonnade.create(tmp_path / f"{k}.root", "Events", {"x": "int"}) as writer:
            writer.extend({"x": [0] * k})
    chain = colonnade.open([tmp_path / f"{k % 5}.root" for k in range(300)], "Events")
    borders, files, asked = chain.file_offsets, chain.files, []

    class Counted:
        def __init__(self, real):
            self.real = real

        def __getattr__(self, name):
            asked.append(name)
            return getattr(self.real, name)

    chain._files = [Counted(file) for file in chain._files]
    for k in range(300):
        for entry in range(borders[k], borders[k + 1]):
            asked.clear()
            assert chain.file_of(entry) == files[k]
            assert len(asked) <= 20  # all 300 before
    assert chain.file_of(-1) == files[299]


@pytest.mark.parametrize("name", ["First", "Second"])
def test_files_with_a_wildcard_in_their_name(name, tmp_path):
    """Local names that exist are taken as they are anyway."""
    folder = f"memory:wildcards-{name}/"
    for number, (file, of) in enumerate([("a*.root", "First"), ("a1.root", "First"), ("[1].root", name)]):
        write(folder + file, {"n": "int"}, [{"n": number}], name=of)
    pattern = folder + "a*.root"
    chain = colonnade.open(pattern)
    assert chain.files == [folder + "a*.root", folder + "a1.root"]
    given = [(pattern, "First"), (folder + "[[]1].root", name)]
    both = colonnade.open(given)
    for opened in (
        both,
        colonnade.open([chain, (folder + "[[]1].root", name)]),
        pickle.loads(pickle.dumps(both)),
    ):
        assert opened["n"].to_list() == [0, 1, 2]
    for frame in (
        colonnade.DataFrame(both),
        colonnade.DataFrame("", given),
        colonnade.DataFrame("", given, executor=InThisProcess()),
    ):
        assert frame.take("n").value.tolist() == [0, 1, 2]
    assert colonnade.DataFrame(pattern).count().value == 2
    # What exists and does not match itself is meant as it is. Stores are not listed.
    write(folder + "1.root", {"n": "int"}, [{"n": 3}], name=name)
    assert colonnade.open(folder + "[1].root")["n"].to_list() == [2]
    assert colonnade.open([folder + "[13].root", folder + "[1].root"])["n"].to_list() == [3, 2]
    for place in (f"obj://{tmp_path}/[1]", f"obj://{tmp_path}/a*b"):
        write(place, {"n": "int"}, [{"n": 4}], name=name)
        assert colonnade.open(place)["n"].to_list() == [4]
        assert colonnade.DataFrame(name, place).sum("n").value == 4
    with pytest.raises(colonnade.UnsupportedError, match=re.escape(f"obj://{tmp_path}/b*")):
        colonnade.open(f"obj://{tmp_path}/b*")


@pytest.mark.random
@pytest.mark.parametrize("seed", range(4))
def test_two_stars_are_any_folders(seed: int, tmp_path: Path) -> None:
    """As Python's glob, for folders that are listed one by one and for stores that list all names."""
    rng = np.random.default_rng(seed)
    for _ in range(12):
        names = rng.choice(["a", "b", "ab", ".a"], rng.integers(1, 4))
        (tmp_path / "/".join(names)).mkdir(parents=True, exist_ok=True)
        write("/".join([str(tmp_path), *names, "f.root"]), {"n": "int"}, [])
    files = [str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*.root")]
    for file in files:
        write(f"memory:stars{seed}/{file}", {"n": "int"}, [])
    for _ in range(40):
        parts = rng.choice(["**", "**", "*", "a", "[ab]", "a*", ".a*"], rng.integers(1, 4)).tolist()
        pattern = "/".join([*parts, "*.root"])
        expected = sorted(set(glob.glob(pattern, root_dir=tmp_path, recursive=True)) & set(files))
        for place in (f"{tmp_path}/", f"file://{tmp_path}/", f"memory:stars{seed}/"):
            if not expected:
                with pytest.raises(colonnade.FileMissingError, match="no file matches"):
                    _core.expand_names([place + pattern])
                continue
            assert _core.expand_names([place + pattern]) == [place + file for file in expected], pattern
    (tmp_path / "b").mkdir(exist_ok=True)
    found = _core.expand_names([f"{tmp_path}/**/f.root"])
    (tmp_path / "b" / "link").symlink_to(tmp_path)  # a circle
    assert _core.expand_names([f"{tmp_path}/**/f.root"]) == found


def test_uris_of_files_with_wildcards(tmp_path, monkeypatch):
    folder = tmp_path / "50% off"
    folder.mkdir()
    for number, file in enumerate(["a%41.root", "aA.root", "b.root"]):
        write(folder / file, {"n": "int"}, [{"n": number}])
    uri = f"file://{tmp_path}/50%25%20off"
    assert colonnade.open(f"{uri}/*.root")["n"].to_list() == [0, 1, 2]
    assert colonnade.open(f"{uri}/a%25*.root")["n"].to_list() == [0]
    monkeypatch.chdir(folder)
    assert colonnade.open("file:a%*.root")["n"].to_list() == [0]
    for number, file in enumerate(["[1]", "1"]):
        (folder / file).mkdir()
        write(folder / file / "f.root", {"n": "int"}, [{"n": number}])
    assert colonnade.open(f"{uri}/%5B1%5D/*.root")["n"].to_list() == [0]
    assert colonnade.open(f"{uri}/[1]/*.root")["n"].to_list() == [1]


def test_a_chain_is_a_data_set(files):
    with colonnade.open(files, "Events") as chain:
        assert isinstance(chain, colonnade.DataSet)
        assert len(chain) == 1
        assert list(chain) == chain.keys() == chain.field_names == ["n"]
        assert chain.schema["n"].type == "std::int64_t"
        assert chain["n"].to_list() == list(range(30))
        assert chain.head(12).n.to_list() == list(range(12))
        assert chain.arrays("n", entry_start=8, entry_stop=-8).n.to_list() == list(range(8, 22))
        assert chain.read_through() == 30 * 8
        assert chain.verify() == 6
        assert repr(chain).startswith("<Chain 'Events' of 3 files, the first is '")
        assert chain.select("n").arrays().n.to_list() == list(range(30))
        before = chain.metrics
        chain.arrays()
        assert chain.metrics.pages == before.pages + 6
        assert chain.metrics.metadata_bytes > 0
    with pytest.raises(colonnade.UsageError, match="closed"):
        chain.arrays()
    assert colonnade.open(files[0]).files == [files[0]]


@pytest.mark.parametrize("form", ["pairs", "texts", "wildcards", "data sets"])
def test_data_sets_of_different_names(tmp_path, form):
    for number, name in enumerate(["First", "dir/Second", "First"]):
        with colonnade.create(tmp_path / f"{number}.root", name, {"x": "std::int32_t"}) as writer:
            writer.extend({"x": np.arange(3) + 10 * number})
    uris = [str(tmp_path / f"{number}.root") for number in range(3)]
    names = ["First", "dir/Second", "First"]
    given: dict[str, Any] = {
        "pairs": list(zip(uris, names, strict=True)),
        "texts": [f"{uri}:{name}" for uri, name in zip(uris, names, strict=True)],
        "wildcards": [(str(tmp_path / "[0].root"), "First"), (uris[1], "/dir/Second"), (uris[2], "First")],
        "data sets": [
            colonnade.open(uris[0]),
            colonnade.open([(uris[1], "dir/Second"), (uris[2], "First")]),
        ],
    }[form]
    expected = [0, 1, 2, 10, 11, 12, 20, 21, 22]
    index = tmp_path / "index.json"
    for none in (None, ""):  # with and without an index
        chain = colonnade.open(given, none, index=index)
        assert chain["x"].to_list() == expected
        assert chain.named_files == list(zip(uris, names, strict=True))
        assert chain.name == "First"
        assert pickle.loads(pickle.dumps(chain)).arrays().x.to_list() == expected
        assert colonnade.DataFrame(chain).take("x").value.tolist() == expected
        assert chain.verify() == 3
    assert colonnade.open([(uris[0], "First"), (uris[2], "First")], index=index).num_entries == 6  # made anew
    with pytest.raises(colonnade.UsageError, match="the data set is 'First', but"):
        colonnade.open([(uris[0], "First"), (uris[1], "dir/Second")], "First")
    with pytest.raises(colonnade.NotFoundError):
        colonnade.open([(uris[0], "First"), (uris[1], "First")])
    tree = TChain("First")
    for uri, name in zip(uris, names, strict=True):
        tree.Add(f"{uri}?#{name}")
    assert tree.GetEntries() == 9
    both = TChain("Other")
    assert both.AddFile(uris[0], 1234567890, names[0]) == both.AddFile(f"{uris[1]}?#{names[1]}") == 1
    assert both.Add(tree) == len(uris)
    assert both.pairs() == [*zip(uris[:2], names[:2], strict=True), *zip(uris, names, strict=True)]


def test_a_file_may_come_twice(files):
    chain = colonnade.open([files[1], files[0], files[1]])
    assert chain.arrays().n.to_list() == [*range(10, 20), *range(10), *range(10, 20)]


def test_steps_go_across_files(files):
    chain = colonnade.open(files)
    assert [len(step) for step in chain.iterate(step_size=7)] == [7, 7, 7, 7, 2]
    assert [len(step) for step in chain.iterate(step_size="1 MB")] == [30]
    # Clusters have 5 entries each, and bytes are counted as they are stored: 2, 4 or 8 per entry.
    assert [len(step) for step in chain.iterate(step_size="60 B")] == [20, 5, 5]


def test_progress_of_verify(files):
    seen = []
    colonnade.open(files).verify(lambda done, total: seen.append((done, total)))
    assert seen[-1] == (6, 6)


def test_a_chain_in_a_data_frame(files):
    chain = colonnade.open(files, "Events")
    frame = colonnade.DataFrame(chain)
    assert frame.sum("n").value == sum(range(30))
    assert frame.filter("n >= 15").count().value == 15
    with pytest.raises(colonnade.UsageError, match="takes no files"):
        colonnade.DataFrame(chain, files)


def test_export(files, tmp_path):
    target = tmp_path / "all.parquet"
    assert colonnade.export(str(tmp_path / "run*.root"), target) == 30
    assert pyarrow.parquet.read_table(target)["n"].to_pylist() == list(range(30))
    assert colonnade.export(colonnade.open(files), tmp_path / "all.csv") == 30


def test_the_command_line(files, uneven, tmp_path, run):
    code, out, _ = run("show", str(tmp_path / "run*.root"), "--entries", "9:11")
    assert (code, out) == (0, '9: {"n": 9}\n10: {"n": 10}\n')
    code, out, _ = run("export", f"{tmp_path}/[abc].root:Events", tmp_path / "a.parquet", "--missing", "fill")
    assert (code, out.split(": ")[1]) == (0, "4 entries\n")
    assert pyarrow.parquet.read_table(tmp_path / "a.parquet")["weight"].to_pylist() == [0.5, 2.0, None, 1.0]
    code, _, err = run("show", f"{tmp_path}/[abc].root")
    assert code == 1
    assert "the field 'weight' is in" in err


def test_batches(files):
    from colonnade.ml import Batches

    batches = Batches(colonnade.open(files), ["n"], batch_size=8, shuffle=False)
    assert np.concatenate([batch.features["n"] for batch in batches]).tolist() == list(range(30))


# ---- Fields that are missing


@pytest.fixture
def uneven(tmp_path):
    """The second file has no weight, and its jets no tag; the third one has another order."""
    return [
        write(
            tmp_path / "a.root",
            {"weight": "float", "jets": [{"pt": "float", "tag": "bool"}]},
            [{"weight": 0.5, "jets": [{"pt": 1.0, "tag": True}]}, {"weight": 2.0, "jets": []}],
        ),
        write(tmp_path / "b.root", {"jets": [{"pt": "double"}]}, [{"jets": [{"pt": 3.0}, {"pt": 4.0}]}]),
        write(
            tmp_path / "c.root",
            {"jets": [{"tag": "bool", "pt": "float"}], "weight": "float"},
            [{"jets": [{"tag": False, "pt": 5.0}], "weight": 1.0}],
        ),
    ]


def test_fill(uneven):
    chain = colonnade.open(uneven, missing="fill")
    assert str(chain.arrays().type.content) == ("{weight: ?float32, jets: var * {pt: float64, tag: ?bool}}")
    assert chain.schema["weight"].type == "std::optional<float>"
    assert chain.arrays(["weight", "jets.tag", "jets.pt"]).to_list() == [
        {"weight": 0.5, "jets.tag": [True], "jets.pt": [1.0]},
        {"weight": 2.0, "jets.tag": [], "jets.pt": []},
        {"weight": None, "jets.tag": [None, None], "jets.pt": [3.0, 4.0]},
        {"weight": 1.0, "jets.tag": [False], "jets.pt": [5.0]},
    ]
    assert chain.to_arrow("weight")["weight"].to_pylist() == [0.5, 2.0, None, 1.0]
    texts = [text for _, text in chain.entry_texts(1, 3)]
    assert texts == [
        '{"weight": 2, "jets": []}',
        '{"weight": null, "jets": [{"pt": 3, "tag": null}, {"pt": 4, "tag": null}]}',
    ]


def test_lists_that_a_file_lacks(tmp_path):
    """Missing there, also where optional values of other files become lists; these lists are never missing."""
    files = [
        write(tmp_path / "0.root", {"n": "int", "x": "std::optional<std::int32_t>"}, [{"n": 0, "x": None}]),
        write(tmp_path / "1.root", {"n": "int"}, [{"n": 1}]),
        write(tmp_path / "2.root", {"n": "int", "x": "std::vector<std::int64_t>"}, [{"n": 2, "x": [5, 6]}]),
        write(tmp_path / "3.root", {"n": "int", "x": "std::optional<std::int32_t>"}, [{"n": 3, "x": 7}]),
    ]
    chain = colonnade.open(files, missing="fill")
    assert chain.schema["x"].type == "std::optional<std::vector<std::int64_t>>"
    assert chain["x"].to_list() == [[], None, [5, 6], [7]]
    assert chain.to_arrow("x")["x"].to_pylist() == [[], None, [5, 6], [7]]
    assert [json.loads(text)["x"] for _, text in chain.entry_texts(0, 4)] == [[], None, [5, 6], [7]]
    assert colonnade.open([files[0], *files[2:]])["x"].to_list() == [[], [5, 6], [7]]


def test_skip(uneven):
    chain = colonnade.open(uneven, missing="skip")
    assert str(chain.arrays().type.content) == "{jets: var * {pt: float64}}"
    assert "weight" not in chain
    with pytest.raises(colonnade.NotFoundError, match="weight"):
        chain.arrays("weight")


def test_missing_is_an_error_otherwise(uneven):
    with pytest.raises(colonnade.SchemaError) as caught:
        colonnade.open(uneven)
    assert caught.value.problem == f"the field 'weight' is in {uneven[0]} but not in {uneven[1]}"
    assert 'missing="fill"' in caught.value.advice
    assert caught.value.field == "weight"


@pytest.mark.parametrize("missing", ["fill", "skip"])
def test_chains_in_lists_keep_their_policy(uneven, missing):
    inner = colonnade.open(uneven[:2], missing=missing)
    whole = colonnade.open(uneven, missing=missing)
    for members in ([inner, uneven[2]], [inner, colonnade.open(uneven[2:])]):
        assert colonnade.open(members).arrays().to_list() == whole.arrays().to_list()
    assert colonnade.open([inner]).field_names == inner.field_names
    assert colonnade.open([inner], friends={"f": [inner]})["f.jets"].to_list() == inner["jets"].to_list()
    assert "weight" not in colonnade.open([inner, uneven[2]], missing="skip")
    other = colonnade.open(uneven, missing="skip" if missing == "fill" else "fill")
    with pytest.raises(colonnade.UsageError, match="differ in what they do about missing fields"):
        colonnade.open([inner, other])
    assert "weight" in colonnade.open([inner, other], missing="fill")


def test_missing_columns_of_a_data_frame(uneven):
    """A data frame has its own ways with columns that are missing, whatever the chain does."""
    frame = colonnade.DataFrame(colonnade.open(uneven, missing="fill"))
    assert frame.default_value_for("weight", 10.0).sum("weight").value == 13.5


def test_joined_columns_of_files_with_other_members(tmp_path):
    """Only the columns that a join takes must go together."""
    files = [
        write(
            tmp_path / "0.root",
            {"n": "int", "r": {"a": "int"}, "x": "float"},
            [{"n": 0, "r": {"a": 1}, "x": 0.5}],
        ),
        write(
            tmp_path / "1.root",
            {"n": "int", "r": {"b": "int"}, "x": "double"},
            [{"n": 1, "r": {"b": 1}, "x": 1.5}],
        ),
    ]
    keys = write(tmp_path / "keys.root", {"key": "int"}, [{"key": 1}, {"key": 0}], name="Keys")
    frame = colonnade.DataFrame("Keys", keys)
    assert frame.join("Events", files, on={"key": "n"}, columns=["x"]).take("x").value.tolist() == [1.5, 0.5]
    whole = frame.join("Events", files, on={"key": "n"})
    with pytest.warns(colonnade.LeftOutWarning, match=r"'r' \(.*'r\."):
        assert whole.to_arrow().column("x").to_pylist() == [1.5, 0.5]
    with pytest.raises(colonnade.SchemaError, match="the column 'r' is"):
        frame.join("Events", files, on={"key": "n"}, columns=["r"])


def test_fields_that_came_late(tmp_path):
    """Zero in the entries of their own file before they came, missing in the entries of other files."""
    with colonnade.create(tmp_path / "0.root", "Events", {"a": "std::int32_t"}) as writer:
        writer.fill(a=1)
        writer.extend_schema({"b": "std::int32_t"})
        writer.fill(a=2, b=20)
    write(tmp_path / "1.root", {"a": "std::int64_t"}, [{"a": 3}])
    chain = colonnade.open(tmp_path / "*.root", missing="fill")
    assert chain.arrays().to_list() == [{"a": 1, "b": 0}, {"a": 2, "b": 20}, {"a": 3, "b": None}]


@pytest.mark.parametrize("missing", ["fill", "skip"])
def test_counts_of_collections(tmp_path, missing):
    """Cardinalities of other widths go together; a file without them has none."""
    lists = [[1.0] * (number % 4) for number in range(12)]
    for number, width in enumerate([32, 64, None]):
        with colonnade.create(tmp_path / f"{number}.root", "Events", {"v": "std::vector<float>"}) as writer:
            if width is not None:
                writer.add_projected("n", f"ROOT::RNTupleCardinality<std::uint{width}_t>", "v")
            writer.extend({"v": lists[4 * number : 4 * number + 4]})
    both = colonnade.open([tmp_path / "0.root", tmp_path / "1.root"])
    assert both.schema["n"].type == "ROOT::RNTupleCardinality<std::uint64_t>"
    assert both["n"].to_list() == [len(each) for each in lists[:8]]
    all_files = colonnade.open(tmp_path / "*.root", missing=missing)
    if missing == "skip":
        assert all_files.field_names == ["v"]
    else:
        assert all_files["n"].to_list() == [len(each) for each in lists[:8]] + [None] * 4
    write(tmp_path / "3.root", {"v": "std::vector<float>", "n": "std::uint32_t"}, [{"v": [], "n": 0}])
    with pytest.raises(colonnade.SchemaError, match="no type holds both"):
        colonnade.open([tmp_path / "0.root", tmp_path / "3.root"], missing=missing)


# ---- Open files


def open_files(folder):
    count = 0
    for number in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):
            count += str(folder) in os.readlink(f"/proc/self/fd/{number}")
    return count


@pytest.mark.parametrize("most", [1, 4, 100])
@pytest.mark.parametrize("local_io", ["automatic", "pread", "mmap"])
def test_open_files_are_bounded(tmp_path, most, local_io):
    for number in range(40):
        write(tmp_path / f"{number:02}.root", {"n": "std::int32_t"}, [{"n": number}] * 3)
    chain = colonnade.open(tmp_path / "*.root", max_open_files=most, local_io=local_io)
    assert open_files(tmp_path) <= most
    seen, largest = [], 0
    for step in chain.iterate(step_size=3):
        seen += step.n.to_list()
        largest = max(largest, open_files(tmp_path))
    assert seen == [number for number in range(40) for _ in range(3)]
    assert largest <= most + 1  # the next one is opened while one is read
    for entry in np.random.default_rng(1).integers(0, 120, 60).tolist():
        assert chain.arrays(entry_start=entry, entry_stop=entry + 1).n.to_list() == [entry // 3]
        assert open_files(tmp_path) <= most + 1
    chain.close()
    assert open_files(tmp_path) == 0


def test_the_working_folder_may_change(tmp_path, monkeypatch):
    for number in range(3):
        write(tmp_path / f"{number}.root", {"n": "std::int32_t"}, [{"n": number}])
    monkeypatch.chdir(tmp_path)
    chain = colonnade.open("*.root", max_open_files=1)
    one = colonnade.open("1.root")
    index = tmp_path / "index.json"
    chain.save_index(index)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    write(elsewhere / "1.root", {"n": "std::int32_t"}, [{"n": 9}])
    monkeypatch.chdir(elsewhere)
    for each in (chain, chain.select("n"), pickle.loads(pickle.dumps(chain))):
        assert each.files == ["0.root", "1.root", "2.root"]
        assert each["n"].to_list() == [0, 1, 2]
    assert colonnade.DataFrame(chain).sum("n").value == 3
    assert colonnade.open([one, chain])["n"].to_list() == [1, 0, 1, 2]
    assert one.join(chain, on="n", columns="n").arrays().to_list() == [
        {"n": 1, "Events_n": 1, "Events_entry": 1}
    ]
    assert chain.with_friends({"f": colonnade.open([one, one, one])})["f.n"].to_list() == [1, 1, 1]
    moved = tmp_path.rename(tmp_path.with_name("moved"))
    monkeypatch.chdir(moved)
    assert colonnade.open("*.root", index=moved / "index.json")["n"].to_list() == [0, 1, 2]


def test_closing_closes_a_single_file_at_once(files, tmp_path):
    data_set = colonnade.open(files[0])
    data_set.arrays()
    assert open_files(tmp_path) == 1
    data_set.close()
    assert open_files(tmp_path) == 0


# ---- Indices


def test_an_index_opens_nothing(files, tmp_path):
    index, folder = tmp_path / "runs.json", tmp_path / "data"
    folder.mkdir()
    listed = [shutil.copy(file, folder) for file in files]
    colonnade.open(listed, "Events", index=index)
    folder.rename(tmp_path / "away")
    chain = colonnade.open(listed, "Events", index=index)
    assert chain.num_entries == 30
    assert chain.schema["n"].type == "std::int64_t"
    with pytest.raises(colonnade.FileMissingError, match=r"run1\.root"):
        chain.arrays(entry_start=12)
    (tmp_path / "away").rename(folder)
    os.remove(listed[0])
    assert chain.arrays(entry_start=12, entry_stop=15).n.to_list() == [12, 13, 14]
    with pytest.raises(colonnade.FileMissingError, match=r"run0\.root"):
        chain.arrays()


def test_an_index_of_other_files_is_made_anew(files, tmp_path):
    index = tmp_path / "runs.json"
    colonnade.open(files[:2], index=index)
    assert colonnade.open(files, index=index).num_entries == 30
    os.remove(files[2])
    assert colonnade.open(files, index=index).num_entries == 30


def test_a_file_that_was_written_anew(files, tmp_path):
    index = tmp_path / "runs.json"
    colonnade.open(files, index=index)
    write(files[1], {"n": "std::int32_t"}, [{"n": 1}])
    chain = colonnade.open(files, index=index)
    with pytest.raises(colonnade.StorageError, match="has been rewritten"):
        chain.arrays()


def test_an_index_that_is_none(files, tmp_path):
    index = tmp_path / "runs.json"
    index.write_text("{}")
    with pytest.raises(colonnade.FormatError, match=r"not the index of a chain.*remove that file"):
        colonnade.open(files, index=index)
    assert index.read_text() == "{}"
    with pytest.raises(colonnade.StorageError, match="cannot be written"):
        colonnade.open(files, index=tmp_path / "nowhere" / "runs.json")


# ---- Errors


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("std::int32_t", "float"),
        ("std::string", "std::vector<std::int32_t>"),
        ("std::byte", "std::uint8_t"),
        ("std::bitset<8>", "std::bitset<9>"),
        ("std::variant<bool,float>", "std::variant<bool,float,double>"),
        ("std::pair<bool,bool>", "std::tuple<bool,bool,bool>"),
        ("std::vector<std::vector<float>>", "std::vector<float>"),
    ],
)
def test_types_that_do_not_go_together(tmp_path, one, other):
    paths = [str(tmp_path / "one.root"), str(tmp_path / "other.root")]
    for path, kind in zip(paths, (one, other), strict=True):
        with colonnade.create(path, "Events", {"x": kind}):
            pass
    with pytest.raises(colonnade.SchemaError, match="no type holds both") as caught:
        colonnade.open(paths)
    assert all(part in caught.value.problem for part in ("'x", one.split("<")[0], *paths))


def test_values_beyond_the_common_type(tmp_path):
    """No integer holds all of both types: values are checked as they are read."""
    paths = [
        write(tmp_path / "0.root", {"n": "std::int64_t"}, [{"n": -1}]),
        write(tmp_path / "1.root", {"n": "std::uint64_t"}, [{"n": 2**63}]),
    ]
    chain = colonnade.open(paths)
    assert chain.schema["n"].type == "std::int64_t"
    assert chain.arrays(entry_stop=1).n.to_list() == [-1]
    with pytest.raises(colonnade.ConversionError) as caught:
        chain.arrays()
    assert caught.value.uri == paths[1]


def test_a_missing_file(files):
    with pytest.raises(colonnade.FileMissingError, match=r"nowhere\.root"):
        colonnade.open([files[0], files[0].replace("run0", "nowhere")])


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda f: colonnade.open([]), colonnade.UsageError, "empty"),
        (lambda f: colonnade.open(f[0].replace("run0", "none*")), colonnade.NotFoundError, "no file matches"),
        (lambda f: colonnade.open(f, missing="guess"), colonnade.UsageError, "'error', 'fill' or 'skip'"),
        (lambda f: colonnade.open(f, max_open_files=0), colonnade.UsageError, "max_open_files"),
        (
            lambda f: colonnade.open([f"{f[0]}:Events", f"{f[1]}:Other"]),
            colonnade.NotFoundError,
            'there is no data set "Other"',
        ),
        (lambda f: colonnade.open(f, "Other"), colonnade.NotFoundError, "Other"),
        (lambda f: colonnade.open(f).arrays("m"), colonnade.NotFoundError, r"no field 'm'.*and 2 more"),
        (
            lambda f: colonnade.open(f).file_of(30),
            colonnade.UsageError,
            "entry 30 is beyond the 30 entries of the chain",
        ),
    ],
)
def test_errors(files, call, kind, message):
    with pytest.raises(kind, match=message):
        call(files)


def test_damage_names_the_file(files):
    path = Path(files[1])
    content = bytearray(path.read_bytes())
    place = content.index(np.arange(10, 15, dtype="<i4").tobytes())
    content[place] ^= 1
    path.write_bytes(content)
    chain = colonnade.open(files)
    assert chain.arrays(entry_stop=10).n.to_list() == list(range(10))
    for read in (chain.arrays, chain.verify):
        with pytest.raises(colonnade.ChecksumError) as caught:
            read()
        assert caught.value.uri == files[1]


@pytest.mark.parametrize("name", [np.arange(3), 5, ["Events"], b"Events"])
def test_the_name_of_a_data_set_is_a_text(name):
    for target in ("f.root", ["f.root"], ["f.root", "g.root"]):
        with pytest.raises(colonnade.TypeMismatchError, match="is not the name of a data set"):
            colonnade.open(target, name)
