"""Types that pass through the data frame: optionals, records, nested lists, classes, variants."""

from __future__ import annotations

import keyword
import math
import operator
import random
from pathlib import Path

import awkward as ak
import numpy as np
import pytest
from locations import FIXTURES
from root_values import same
from shuffled_engine import Shuffled

import colonnade
from colonnade import DataFrame

COUNT = 60


def random_type(rng: random.Random, depth: int) -> str:
    """A type by its name in C++."""
    scalars = ["bool", "std::int8_t", "std::uint16_t", "std::int64_t", "float", "double", "std::string"]
    if depth == 0 or rng.random() < 0.3:
        return rng.choice(scalars)
    inner = random_type(rng, depth - 1)
    kind = rng.choice(["optional", "vector", "array", "pair", "variant"])
    if kind == "variant":
        return f"std::variant<std::int64_t,std::vector<{rng.choice(scalars)}>,std::string>"
    if kind == "optional":
        return inner if inner.startswith("std::optional") else f"std::optional<{inner}>"
    if kind == "vector":
        return f"std::vector<{inner}>"
    if kind == "array":
        return f"std::array<{inner},{rng.randint(1, 3)}>"
    return f"std::pair<{inner},{random_type(rng, depth - 1)}>"


def split_arguments(text: str) -> list[str]:
    parts, depth = [""], 0
    for c in text:
        depth += (c == "<") - (c == ">")
        if c == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += c
    return parts


def random_value(rng: random.Random, name: str):
    if "<" not in name:
        return {
            "bool": lambda: rng.random() < 0.5,
            "std::int8_t": lambda: rng.randint(-128, 127),
            "std::uint16_t": lambda: rng.randint(0, 65535),
            "std::int64_t": lambda: rng.randint(-(2**62), 2**62),
            "float": lambda: float(np.float32(rng.uniform(-9, 9))),
            "double": lambda: rng.uniform(-9, 9),
            "std::string": lambda: "".join(rng.choices("aé ", k=rng.randint(0, 3))),
        }[name]()
    family, arguments = name.split("<", 1)
    inner = split_arguments(arguments[:-1])
    if family == "std::optional":
        return None if rng.random() < 0.4 else random_value(rng, inner[0])
    if family == "std::variant":
        return random_value(rng, rng.choice(inner))
    if family == "std::vector":
        return [random_value(rng, inner[0]) for _ in range(rng.randint(0, 3))]
    if family == "std::array":
        return [random_value(rng, inner[0]) for _ in range(int(inner[1]))]
    return tuple(random_value(rng, each) for each in inner)


@pytest.mark.parametrize("seed", range(40))
def test_random_types_pass_through(tmp_path, seed):
    rng = random.Random(seed)
    schema = {f"c{k}": random_type(rng, 3) for k in range(rng.randint(1, 4))}
    rows = [{name: random_value(rng, kind) for name, kind in schema.items()} for _ in range(COUNT)]
    path = tmp_path / "source.root"
    with colonnade.create(path, "Events", schema, cluster_size=2000) as writer:
        for start in range(0, COUNT, 7):
            writer.extend(rows[start : start + 7])
    source = colonnade.open(path)
    frame = DataFrame("Events", path, threads=rng.choice([1, 3]))
    for name in schema:
        expected = source.arrays(name)[name].to_list()
        assert expected == [row[name] for row in rows]
        assert ak.to_list(frame.take(name).value) == expected, name
    assert frame.to_awkward().to_list() == source.arrays().to_list()
    assert frame.to_arrow().to_pylist() == source.to_arrow().to_pylist()
    kept = frame.filter("rdfentry_ % 3 != 1")
    wanted = [row for number, row in enumerate(rows) if number % 3 != 1]
    kept.snapshot(tmp_path / "copy.root")
    copied = colonnade.open(tmp_path / "copy.root")
    assert copied.arrays().to_list() == wanted
    assert [copied.schema[name].type for name in schema] == [source.schema[name].type for name in schema]


def test_variants(tmp_path):
    path = tmp_path / "v.root"
    values = [1, "one", 2, [0.5, 1.5], "", []]
    with colonnade.create(
        path, "Events", {"v": "std::variant<std::int32_t,std::string,std::vector<float>>"}
    ) as writer:
        for value in values:
            writer.fill(v=value)
    frame = DataFrame("Events", path)
    assert frame.column_type("v") == "std::variant<std::int32_t,std::string,std::vector<float>>"
    assert frame.column_type("v._1") == "std::optional<std::string>"
    assert frame.take("v._0.value_or(-1)").value.tolist() == [1, -1, 2, -1, -1, -1]
    assert frame.filter("v._1.has_value()").take("v").value.to_list() == ["one", ""]
    assert frame.define("w", "v").take("w").value.to_list() == values
    assert (
        frame.define("n", lambda v: np.array([isinstance(x, str) for x in v.to_list()]), ["v"]).sum("n").value
        == 2
    )
    assert frame.to_arrow().column("v").to_pylist() == values
    given = DataFrame.from_arrays({"v": frame.to_awkward().v})
    assert given.column_type("v") == "std::variant<std::int32_t,std::string,std::vector<float>>"
    assert given.filter("rdfentry_ != 1").take("v").value.to_list() == values[:1] + values[2:]
    for copy in (given, frame, DataFrame("Events", [path, path]).range(3, 9)):
        made = copy.snapshot(tmp_path / "copy.root")
        expected = copy.take("v").value.to_list()
        assert made.take("v").value.to_list() == expected
        assert colonnade.open(tmp_path / "copy.root").arrays("v").v.to_list() == expected
    with pytest.raises(colonnade.Error, match="variant"):
        frame.sum("v")
    with pytest.raises(colonnade.TypeMismatchError, match="'v' has no size: it needs a list or a string"):
        frame.sum("#v")
    cells = DataFrame.from_arrays(
        {"cell": ak.zip({"v": frame.to_awkward().v}, depth_limit=1, with_name="Cell")}
    )
    with pytest.raises(colonnade.UnsupportedError, match="Polars has no type for 'Cell'"):
        cells.to_polars()
    assert "one" in str(frame.display().value)


def union(*alternatives):
    """A union of arrays of two items, which come in turn."""
    tags, places = (
        np.tile(np.arange(len(alternatives), dtype=np.int8), 2),
        np.repeat([0, 1], len(alternatives)),
    )
    contents = [ak.to_layout(each) for each in alternatives]
    return ak.Array(ak.contents.UnionArray(ak.index.Index8(tags), ak.index.Index64(places), contents))


def test_sizes_of_variants_of_lists(tmp_path):
    arrays = {"v": union([[1, 2], [3]], ["text", ""], [[[1.5], [2.5], []], []])}
    given = DataFrame.from_arrays(arrays)
    for frame in (given, given.snapshot(tmp_path / "v.root"), given.redefine("v", "v")):
        for text in ("#v", "v.size()", "size(v)"):
            assert frame.take(text).value.tolist() == [2, 4, 3, 1, 0, 0]
        assert frame.filter("rdfentry_ % 2 == 1").take("#v").value.tolist() == [4, 1, 0]


def test_members_of_records_in_variants_are_stored(tmp_path):
    frame = DataFrame.from_arrays({"v": union([5, 6], ak.zip({"x": [1.0, 2.0], "y": [3.0, 4.0]}))})
    with pytest.raises(colonnade.SchemaError, match=r'no class of known name; try: .*"v\._0\.x"'):
        frame.snapshot(tmp_path / "v.root")
    made = frame.snapshot(tmp_path / "v.root", columns=["v._0", "v._1.x"])
    assert made.to_awkward().to_list() == [
        {"v__0": 5, "v__1_x": None},
        {"v__0": None, "v__1_x": 1.0},
        {"v__0": 6, "v__1_x": None},
        {"v__0": None, "v__1_x": 2.0},
    ]


@pytest.mark.parametrize(("how", "expected"), [("inner", ["a", 20, 20]), ("left", ["a", 20, None, 20])])
def test_variants_are_joined(tmp_path, how, expected):
    path = tmp_path / "runs.root"
    with colonnade.create(
        path, "Runs", {"k": "std::int32_t", "v": "std::variant<std::int32_t,std::string>"}
    ) as writer:
        for key, value in [(3, "c"), (1, "a"), (2, 20)]:
            writer.fill(k=key, v=value)
    frame = DataFrame.from_arrays({"k": np.array([1, 2, 9, 2], dtype=np.int32)})
    assert frame.join("Runs", path, on="k", how=how).take("v").value.to_list() == expected


def test_fixtures_with_variants_read_as_by_open():
    data = colonnade.open(FIXTURES / "types_variants.root")
    frame = DataFrame(data)
    assert set(frame.column_names) >= set(data.field_names)
    for name in data.field_names:
        assert same(ak.to_list(frame.take(name).value), data[name].to_list()), name


@pytest.fixture
def optionals(tmp_path):
    path = tmp_path / "o.root"
    schema = {
        "o": "std::optional<float>",
        "l": "std::vector<std::optional<std::int32_t>>",
        "n": "std::int32_t",
    }
    with colonnade.create(path, "Events", schema) as writer:
        writer.extend(
            [
                {"o": 1.5, "l": [1, None], "n": 7},
                {"o": None, "l": [], "n": 8},
                {"o": 3.0, "l": [None, 5], "n": 9},
            ]
        )
    return DataFrame("Events", path)


def test_optionals_in_expressions(optionals):
    frame = optionals
    assert frame.column_type("o") == "std::optional<float>"
    assert frame.column_type("o.value_or(-1)") == "float"
    assert frame.column_type("l.has_value()") == "std::vector<bool>"
    assert frame.take("o.has_value()").value.tolist() == [True, False, True]
    assert frame.take("o.value_or(n)").value.tolist() == [1.5, 8.0, 3.0]
    assert frame.take("l.value_or(n)").value.to_list() == [[1, 7], [], [9, 5]]
    assert frame.take("l.has_value()").value.to_list() == [[True, False], [], [False, True]]
    assert frame.filter("o.has_value()").take("o.value()").value.tolist() == [1.5, 3.0]
    assert frame.take("o * 2").value.to_list() == [3.0, None, 6.0]
    assert frame.sum("o").value == 4.5
    assert frame.mean("o").value == 2.25


def test_optionals_that_are_misused(optionals):
    with pytest.raises(colonnade.UsageError, match="in entry 1, an optional has no value"):
        optionals.take("o.value()").value  # noqa: B018
    with pytest.raises(
        colonnade.TypeMismatchError, match=r"is for std::optional, and this is std::int32_t|list"
    ):
        optionals.take("n.has_value()")


def texts(rng, length):
    """Random texts of few letters, some of them missing."""
    return [
        None if rng.random() < 0.3 else "".join(rng.choice(list("abä"), rng.integers(0, 3)))
        for _ in range(length)
    ]


@pytest.mark.parametrize("seed", range(5))
def test_optional_texts(tmp_path, seed):
    rng = np.random.default_rng(seed)
    given = {"t": texts(rng, 200), "s": [each or "" for each in texts(rng, 200)]}
    lists = [texts(rng, rng.integers(0, 4)) for _ in range(200)]
    schema = {
        "t": "std::optional<std::string>",
        "s": "std::string",
        "l": "std::vector<std::optional<std::string>>",
    }
    with colonnade.create(tmp_path / "t.root", "Events", schema) as writer:
        writer.extend([{"t": given["t"][k], "s": given["s"][k], "l": lists[k]} for k in range(200)])
    frame = DataFrame("Events", tmp_path / "t.root")
    rows = list(zip(given["t"], given["s"], lists, strict=True))
    expected = {
        't == "a"': [None if t is None else t == "a" for t, *_ in rows],
        "t != s": [None if t is None else t != s for t, s, _ in rows],
        't.value_or("none")': ["none" if t is None else t for t, *_ in rows],
        "t.value_or(s)": [s if t is None else t for t, s, _ in rows],
        "l.value_or(s)": [[s if each is None else each for each in line] for _, s, line in rows],
        "t.has_value()": [t is not None for t, *_ in rows],
    }
    for text, values in expected.items():
        assert ak.Array(frame.take(text).value).to_list() == values, text
    assert frame.column_type("t == s") == "std::optional<bool>"
    assert frame.column_type("t.value_or(s)") == "std::string"
    kept = frame.filter('t.value_or("") == "a"').take("t").value
    assert ak.Array(kept).to_list() == [t for t, *_ in rows if t == "a"]


def either(function, *given):
    """The function of values of which any may be missing, within lists too."""
    if any(each is None for each in given):
        return None
    lists = [each for each in given if isinstance(each, list)]
    if not lists:
        return function(*given)
    rows = [each if isinstance(each, list) else [each] * len(lists[0]) for each in given]
    return [either(function, *items) for items in zip(*rows, strict=True)]


@pytest.mark.parametrize("seed", range(5))
def test_several_optionals_in_one_operation(seed):
    """The result is missing where any of them is; blocks may be without any, or without a missing one."""
    rng = np.random.default_rng(seed)
    size, missing = int(rng.integers(1, 300)), rng.choice([0.0, 0.3, 1.0], 4)

    def some(make, share):
        return [None if rng.random() < share else make() for _ in range(size)]

    given = {
        "a": [*some(lambda: int(rng.integers(0, 3)), missing[0]), None, 1],
        "b": [*some(lambda: float(rng.integers(0, 3)), missing[1]), None, 1.0],
        "s": [*some(lambda: str(rng.choice(["x", "y", ""])), missing[2]), None, "x"],
        "t": [*some(lambda: str(rng.choice(["x", "y", ""])), missing[3]), None, "x"],
        "n": rng.integers(0, 3, size + 2).tolist(),
    }
    counts = rng.integers(0, 4, size + 2).tolist()
    for name in ("k", "l"):
        lists = [
            [None if rng.random() < 0.3 else float(rng.integers(0, 3)) for _ in range(n)] for n in counts
        ]
        given[name] = [*lists[:-1], [None]]
    frame = DataFrame.from_arrays(
        {name: ak.Array(values) for name, values in given.items()}, block_entries=64
    )
    operations = {
        "a + b": (operator.add, "ab"),
        "a < b": (operator.lt, "ab"),
        "a == 1 && b == 2": (lambda a, b: a == 1 and b == 2, "ab"),
        "a == 1 || b == 2": (lambda a, b: a == 1 or b == 2, "ab"),
        "a * b + n": (lambda a, b, n: a * b + n, "abn"),
        "max(a, b)": (max, "ab"),
        "s == t": (operator.eq, "st"),
        "s < t": (operator.lt, "st"),
        "k - l": (operator.sub, "kl"),
        "k > l": (operator.gt, "kl"),
        "(k - l) * k + n": (lambda k, w, n: (k - w) * k + n, "kln"),
    }
    for text, (function, names) in operations.items():
        expected = [either(function, *row) for row in zip(*(given[name] for name in names), strict=True)]
        assert ak.Array(frame.take(text).value).to_list() == expected, text
    both = [(a, b) for a, b in zip(given["a"], given["b"], strict=True) if a is not None and b is not None]
    edges = np.linspace(-0.5, 3.5, 5)
    filled = frame.histo1d(("h", "", 4, -0.5, 3.5), "a", "b").value
    plain = np.histogram([a for a, _ in both], edges, weights=[b for _, b in both])[0]
    assert filled.values().tolist() == plain.tolist()
    pairs = frame.histo2d(("h", "", 4, -0.5, 3.5, 4, -0.5, 3.5), "a", "b").value
    assert pairs.values().sum() == len(both)
    flat = [
        (k, w) for ks, ws in zip(given["k"], given["l"], strict=True) for k, w in zip(ks, ws, strict=True)
    ]
    kept = [(k, w) for k, w in flat if k is not None and w is not None]
    filled = frame.histo1d(("h", "", 4, -0.5, 3.5), "k", "l").value
    plain = np.histogram([k for k, _ in kept], edges, weights=[w for _, w in kept])[0]
    assert filled.values().tolist() == plain.tolist()


def test_absolute_values_of_optional_integers_are_integers():
    frame = DataFrame.from_arrays({"o": ak.Array([1, None, -3]), "l": ak.Array([[-1], [], [2]])})
    assert frame.column_type("abs(o)") == frame.column_type("o")
    assert frame.take("abs(o)").value.to_list() == [1, None, 3]
    assert frame.column_type("abs(l)") == "std::vector<double>"  # as RVec


@pytest.mark.parametrize("text", ["o.size()", "size(o)", "o.empty()", "empty(o)", "t.size()"])
def test_an_optional_has_no_size(text):
    frame = DataFrame.from_arrays({"o": ak.Array([1, None]), "t": ak.Array(["abc", None])})
    with pytest.raises(colonnade.TypeMismatchError, match=r"is for lists and strings.*has_value\(\)"):
        frame.take(text)
    assert frame.filter("t.has_value()").take("t.value().size()").value.tolist() == [3]


def test_missing_values_of_arrays_are_optionals():
    frame = DataFrame.from_arrays({"x": ak.Array([1.0, None, 3.0]), "s": ak.Array(["a", None, "c"])})
    assert frame.column_type("x") == "std::optional<double>"
    assert frame.take("s").value.to_list() == ["a", None, "c"]
    assert frame.take("x.value_or(0)").value.tolist() == [1, 0, 3]


def test_vectors_keep_their_class(tmp_path):
    rng = np.random.default_rng(3)
    frame = DataFrame.from_arrays({"pt": rng.uniform(1, 9, 20), "eta": rng.normal(0, 1, 20)})
    frame = frame.define("p", "ROOT::Math::PtEtaPhiMVector(pt, eta, 0.5, 0.1)")
    frame = frame.define(
        "ps",
        "Construct<ROOT::Math::PtEtaPhiMVector>(RVecD{pt, 1.0}, RVecD{eta, 0.0}, RVecD{0.1, 0.2}, RVecD{0.1, 0.1})",
    )
    frame.snapshot(tmp_path / "p.root")
    again = DataFrame("Events", tmp_path / "p.root")
    assert again.column_type("p") == frame.column_type("p")
    assert again.take("p.Pt()").value == pytest.approx(frame.take("pt").value)
    assert ak.to_list(again.take("ps.M()").value) == ak.to_list(frame.take("ps.M()").value)
    stored = colonnade.open(tmp_path / "p.root").schema
    assert stored["p"].type == "ROOT::Math::PtEtaPhiMVector"
    assert stored["ps"].type == "std::vector<ROOT::Math::PtEtaPhiMVector>"


# ---- Numbers of nothing


def test_nothing_has_no_least_value():
    frame = DataFrame.from_arrays({"x": np.array([1, 2], dtype=np.uint32)}).filter("x > 5")
    assert frame.count().value == 0
    assert frame.sum("x").value == 0
    for result in (frame.min("x"), frame.max("x"), frame.mean("x"), frame.stddev("x")):
        assert math.isnan(result.value)
    stats = frame.stats("x").value
    assert stats.count == 0
    assert all(math.isnan(each) for each in (stats.min, stats.max, stats.mean, stats.stddev))


# ---- Errors in the middle of a pass


def test_errors_name_where_they_come_from(tmp_path):
    path = tmp_path / "f.root"
    with colonnade.create(path, "Events") as writer:
        writer.extend({"v": ak.Array([[1.0, 2.0]] * 5 + [[]] + [[1.0]] * 3)})
    frame = DataFrame("Events", path)
    place = r"\(in the entries 0 to 8 of .*f.root/Events\)"
    with pytest.raises(
        colonnade.UsageError,
        match=rf"in entry 5, the index 0 .* in the definition of 'first', \"v\[0\] \+ 1\" {place}",
    ):
        frame.define("first", "v[0] + 1").define("more", "first * 2").sum("more").value  # noqa: B018
    with pytest.raises(colonnade.UsageError, match=r"in the filter 'good', \"v\[0\] > 0\""):
        DataFrame("Events", path).filter("v[0] > 0", name="good").count().value  # noqa: B018
    with pytest.raises(colonnade.UsageError, match=r"in an argument of the max, \"v\[1\]\""):
        DataFrame("Events", path).max("v[1]").value  # noqa: B018


# ---- Names that are no names in C++


def test_columns_of_odd_names_everywhere(tmp_path):
    path = tmp_path / "f.root"
    name, other = "AnalysisJetsAuxDyn:pt", "a-b"
    with colonnade.create(path, "Events") as writer:
        writer.extend({name: ak.Array([[1.0, 2.0], [], [4.0]]), other: np.array([1, 2, 3]), "a": np.ones(3)})
    frame = DataFrame("Events", path)
    assert frame.take(other).value.tolist() == [1, 2, 3]
    assert frame.mean(name).value == pytest.approx(7 / 3)
    assert frame.histo1d(("", "", 5, 0, 5), name).value.sum() == 3
    assert frame.filter(colonnade.col(other) > 1).count().value == 2
    assert frame.filter(f"`{other}` > 1 && Sum(`{name}`) > 0").count().value == 1
    assert frame.define("twice", f"`{name}` * 2").sum("twice").value == 14
    assert frame.to_awkward([name]).fields == [name]
    assert frame.to_awkward("Analysis*").fields == [name]
    assert frame.to_numpy([other])[other].tolist() == [1, 2, 3]
    assert frame.column_type(name) == "std::vector<double>"
    assert frame.display([name, other]).value.arrays.fields == [name, other]
    assert frame.define("z", lambda v: v + 1, [other]).sum("z").value == 9
    copy = frame.snapshot(tmp_path / "g.root", columns=[name, other])
    assert copy.column_names == [name, other]
    assert copy.filter(f"`{other}` == 3").sum(name).value == 4
    root = colonnade.RDataFrame("Events", str(path))
    assert root.Mean(other).GetValue() == 2
    assert root.Histo1D(("h", "", 5, 0, 5), name).GetEntries() == 3
    assert root.AsNumpy([other])[other].tolist() == [1, 2, 3]
    assert root.Snapshot("Events", str(tmp_path / "h.root"), [name]).Count().GetValue() == 3
    events = colonnade.open(path)
    assert events.arrays([name])[name].to_list() == [[1, 2], [], [4]]


@pytest.mark.parametrize("name", ["0", "1e5", "0x10", "true", "M_PI", "NAN", "if", "not", "int", "2nd"])
def test_columns_named_like_constants_and_keywords(tmp_path, name):
    frame = DataFrame.from_arrays({name: np.array([7, 8]), "x": np.array([1, 2])})
    assert frame.take(name).value.tolist() == [7, 8]
    assert frame.sum(name).value == frame.sum(colonnade.col(name)).value == 15
    assert frame.define("y", lambda v: v, [name]).sum("y").value == 15
    assert frame.vary("x", [name, "x"], 2, "v").variations_for(frame.count())["nominal"] == 2
    assert frame.join({"k": np.array([8]), "z": np.ones(1)}, on={name: "k"}).take("x").value.tolist() == [2]
    for other in (frame.snapshot(tmp_path / "f.root"), frame.cache()):
        assert other.to_awkward().tolist() == [{name: 7, "x": 1}, {name: 8, "x": 2}]
    assert next(iter(frame.iterate()))[name].tolist() == [7, 8]
    assert frame.summary().value[name]["mean"] == frame.filter("x > 0").mean(name).value == 7.5
    if name.isidentifier() and not keyword.iskeyword(name):
        named = eval(f"lambda {name}: {name}")
        assert frame.define("y", named).sum("y").value == 15


def test_columns_with_the_names_of_special_variables():
    frame = DataFrame.from_arrays({"rdfentry_": np.array([7, 8]), "x": np.array([1, 2])})
    with pytest.warns(colonnade.LeftOutWarning, match="'rdfentry_' .*`rdfentry_` is the column"):
        assert frame.to_awkward().fields == ["x"]
    assert frame.sum("rdfentry_").value == 1
    assert frame.sum("`rdfentry_`").value == frame.alias("own", "rdfentry_").sum("own").value == 15


# ---- Counters


def test_counters_have_a_sign(tmp_path):
    path = tmp_path / "f.root"
    with colonnade.create(path, "Events", {"Muon": [{"pt": "float"}]}) as writer:
        writer.add_projected("nMuon", "ROOT::RNTupleCardinality<std::uint32_t>", "Muon")
        writer.add_projected("wide", "ROOT::RNTupleCardinality<std::uint64_t>", "Muon")
        writer.extend({"Muon": ak.Array([[{"pt": 1.0}] * n for n in (2, 0, 4, 3)])})
    events = colonnade.open(path)
    assert [np.asarray(events[name]).dtype for name in ("nMuon", "wide")] == [np.uint32, np.uint64]
    frame = DataFrame("Events", path)
    assert frame.filter("nMuon - 3 < 0").count().value == 2
    assert (frame.column_type("nMuon"), frame.column_type("wide")) == ("std::int32_t", "std::int64_t")
    assert frame.take("nMuon").value.tolist() == events["nMuon"].tolist() == [2, 0, 4, 3]


# ---- Messages


def test_records_are_no_numbers():
    frame = DataFrame.from_arrays({"r": ak.Array([{"a": 1}])})
    for book in (frame.mean, frame.quantile):
        with pytest.raises(colonnade.TypeMismatchError, match=r"'r' is of type \{a: std::int64_t\}"):
            book("r")


def test_records_in_memory_are_called_as_those_of_files(tmp_path):
    frame = DataFrame.from_arrays({"r": ak.Array([[{"a": 1, "b": {"c": [1.5]}}]])})
    name = "std::vector<{a: std::int64_t, b: {c: std::vector<double>}}>"
    stored = frame.snapshot(tmp_path / "r.root")
    assert [each.column_type("r") for each in (frame, stored)] == [name, name]
    assert all(name in str(each.describe()) for each in (frame, stored))
    with pytest.raises(colonnade.TypeMismatchError, match=r"got std::vector<\{a: std::int64_t"):
        frame.define("s", "Sum(r)")


def test_advice_reads_on():
    names = [f"value{number}" for number in range(40)]  # few are listed instead
    frame = DataFrame.from_arrays({name: np.ones(3) for name in names})
    with pytest.raises(colonnade.NotFoundError) as caught:
        frame.alias("x", "valeu3")
    assert "; did you mean 'value" in str(caught.value)
    assert "try: did" not in str(caught.value)
    for name in ("MET_PT", "X"):
        with pytest.raises(colonnade.NotFoundError, match=f"did you mean '(?i:{name})'\\?"):
            DataFrame.from_arrays(dict.fromkeys(["i", "MET_pt", "x"], np.ones(3))).mean(name)
    with pytest.raises(colonnade.UsageError, match="entries from 5 to 3 are not a valid range; try: "):
        DataFrame(10, entries=(5, 3))


def test_records_without_members_are_no_tuples():
    arrays = {"record": ak.Array([{}, {}]), "tuple": ak.Array([(), ()]), "list": ak.Array([[{}], []])}
    df = DataFrame.from_arrays(arrays).define("same", lambda record: record)
    assert df.to_awkward().to_list() == [
        {"record": {}, "tuple": (), "list": [{}], "same": {}},
        {"record": {}, "tuple": (), "list": [], "same": {}},
    ]


def test_records_without_members_have_nothing_to_write(tmp_path: Path) -> None:
    rows = [{"x": {"a": {}, "b": 1}, "l": [{"a": {"b": {}}, "c": 0.5}]}, {"x": {"a": {}, "b": 2}, "l": []}]
    frame = DataFrame.from_arrays(ak.Array(rows))
    frame.snapshot(tmp_path / "f.root")
    assert colonnade.open(tmp_path / "f.root").arrays().to_list() == rows
    again = DataFrame("Events", tmp_path / "f.root")
    assert again.take("x").value.to_list() == [{"b": 1}, {"b": 2}]
    with pytest.raises(colonnade.UnsupportedError, match="an untyped record without members"):
        again.take("x.a")


@pytest.mark.filterwarnings("ignore::colonnade.LeftOutWarning")
def test_fields_that_cannot_be_columns_are_none(tmp_path: Path) -> None:
    frame = DataFrame("Streamer", FIXTURES / "types_streamer.root")
    assert not frame.has_column("blob")
    assert "blob" not in frame
    assert not hasattr(frame, "blob")
    with pytest.raises(colonnade.UnsupportedError, match="streamer field"):
        frame.take("blob")
    # No other column gets the name: that of a join has a prefix.
    with colonnade.create(tmp_path / "f.root", "Other", {"n": int, "blob": int}) as writer:
        writer.extend({"n": range(5), "blob": range(0, 50, 10)})
    numbered = frame.define("n", "int(rdfentry_)")
    joined = numbered.join("Other", tmp_path / "f.root", on="n")
    assert joined.take("Other_blob").value.tolist() == [0, 10, 20, 30, 40]


def test_snapshots_of_files_with_other_types(tmp_path: Path) -> None:
    """A type that all files have stays; others become what holds both, on engines too."""
    kinds = ["std::map<std::string,float>", "std::unordered_map<std::string,float>"]
    files = [str(tmp_path / f"{number}.root") for number in range(2)]
    for file, kind in zip(files, kinds, strict=True):
        with colonnade.create(file, "Events", {"m": kind, "s": "std::set<int>"}) as writer:
            writer.extend({"m": [{"a": 1.0}] * 20, "s": [{1, 2}] * 20})
    for executor in (None, Shuffled(0)):
        frame = DataFrame("Events", files, executor=executor)
        frame.alias("t", "s").define("u", "s").snapshot(tmp_path / "f.root")
        with colonnade.open(tmp_path / "f.root") as data:
            types = {name: data.schema[name].type for name in data.field_names}
            assert data["m"].to_list() == [[("a", 1.0)]] * 40
        sets = dict.fromkeys("stu", "std::set<std::int32_t>")
        assert types == {"m": "std::vector<std::pair<std::string,float>>"} | sets


def test_items_of_64_bits_are_those_of_numpy(tmp_path):
    path = tmp_path / "f.root"
    with colonnade.create(path, "Events") as writer:
        writer.extend({"i": np.arange(3), "u": np.arange(3, dtype=np.uint64)})
    frame = colonnade.DataFrame("Events", path).define("j", "i + 1")
    for name, kind in {"i": np.int64, "j": np.int64, "u": np.uint64}.items():
        assert {type(each) for each in frame.take(name).value} == {kind}
        assert {type(each) for each in frame.to_numpy([name])[name]} == {kind}
    with colonnade.open(path, "Events") as data:
        assert {type(each) for each in data.arrays(library="np")["i"]} == {np.int64}


def test_cached_columns_keep_the_types_of_their_fields(tmp_path: Path) -> None:
    types = {
        "a": "std::array<float,2>",
        "m": "std::map<std::string,std::int32_t>",
        "s": "std::set<std::int32_t>",
        "d": "Double32_t",
        "b": "std::bitset<9>",
        "u": "std::unique_ptr<float>",
    }
    with colonnade.create(tmp_path / "f.root", "Events", types) as writer:
        writer.fill(a=[1, 2], m={"x": 1}, s=[1], d=0.5, b=[True] * 9, u=None)
    frame = DataFrame("Events", tmp_path / "f.root").alias("other", "m").define("z", "a")
    cached = frame.redefine("s", "s").redefine("d", "d + 1").cache([*types, "other", "z"])
    cached.snapshot(tmp_path / "g.root", "Events", [*types, "other", "z"])
    with colonnade.open(tmp_path / "f.root") as data, colonnade.open(tmp_path / "g.root") as copied:
        found = {name: copied.schema[name].type for name in [*types, "other", "z"]}
        assert found == {**types, "d": "double", "other": types["m"], "z": types["a"]}
        for name in ["a", "m", "s", "b", "u"]:
            assert copied[name].to_list() == data[name].to_list()
