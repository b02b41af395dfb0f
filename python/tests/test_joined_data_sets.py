"""Joins and friends of data sets outside of data frames: random ones against pandas and Awkward."""

from __future__ import annotations

import contextlib
import pickle
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from join_cases import Case, cases, content, key_columns, merged, write
from shuffled_engine import Shuffled

import colonnade
from colonnade import DataFrame, DataSet
from colonnade.reading.chain import Chain

FIXTURES = Path(__file__).resolve().parents[2] / "tests" / "fixtures"
QUIET = settings(deadline=None, max_examples=100, suppress_health_check=[HealthCheck.too_slow])


# ---- Random joins and friends


@QUIET
@given(
    case=st.one_of(cases(unique=True), cases(unique=False)),
    how=st.sampled_from(["inner", "left"]),
    cut=st.lists(st.integers(0, 130), min_size=2, max_size=2),
    data=st.data(),
)
def test_random_joins_are_those_of_pandas(case: Case, how: Any, cut: list[int], data: st.DataObject) -> None:
    left, left_kinds = key_columns(case.left, case.left_types, "here")
    left["row"], left_kinds["row"] = np.arange(len(case.left)), "std::int64_t"
    left["number"], left_kinds["number"] = np.arange(len(case.left)) / 2, "float"
    right, right_kinds = key_columns(case.right, case.right_types, "there")
    columns, kinds = content(len(case.right))
    on = {f"here{k}": f"there{k}" for k in range(len(case.left_types))}
    duplicates: Any = "error" if len(set(case.right)) == len(case.right) else "first"
    pairs = merged(case, how)
    with tempfile.TemporaryDirectory() as folder:
        there = write(Path(folder), "right", "More", right | columns, right_kinds | kinds, case.right_cuts)
        here = write(Path(folder), "left", "Events", left, left_kinds, case.left_cuts)
        joined = colonnade.open(here).join(colonnade.open(there), on=on, how=how, duplicates=duplicates)
        if data.draw(st.booleans(), label="pickled"):
            joined = pickle.loads(pickle.dumps(joined))
        assert joined.num_entries == len(pairs)
        assert joined["row"].to_list() == [a for a, _ in pairs]
        assert joined["More_entry"].to_list() == [b for _, b in pairs]
        names = {name: "More_number" if name == "number" else name for name in columns}
        first, last = sorted(min(edge, len(pairs)) for edge in cut)
        read = joined.arrays(list(names.values()), entry_start=first, entry_stop=last)
        table = joined.to_arrow(list(names.values()))
        steps = list(
            joined.iterate(list(names.values()), step_size=data.draw(st.integers(1, 60), label="step"))
        )
        for name, shown in names.items():
            values = columns[name].tolist()
            expected = [None if b < 0 else values[b] for _, b in pairs]
            assert read[shown].to_list() == expected[first:last]
            assert table[shown].to_pylist() == expected
            assert [value for step in steps for value in step[shown].to_list()] == expected
        frame = colonnade.DataFrame(
            joined, threads=2, executor=data.draw(st.sampled_from([None, Shuffled(0)]))
        )
        assert set(frame.column_names) == set(joined.field_names)
        assert frame.to_arrow(list(names.values())).to_pylist() == table.to_pylist()
        # Names that both sides have belong to the left one.
        assert joined["number"].to_list() == [a / 2 for a, _ in pairs]
        nothing = joined.arrays(list(names.values()), entry_stop=0)
        assert nothing.fields == list(names.values())


@QUIET
@given(
    entries=st.integers(0, 120),
    cuts=st.lists(st.lists(st.integers(0, 120), max_size=4), min_size=3, max_size=3),
    data=st.data(),
)
def test_friends_have_borders_of_their_own(entries: int, cuts: list[list[int]], data: st.DataObject) -> None:
    columns, kinds = content(entries)
    sides = [{name: columns[name]} for name in ("list", "nested", "maybe")]
    with tempfile.TemporaryDirectory() as folder:
        opened = []
        for k, (side, cut) in enumerate(zip(sides, cuts, strict=True)):
            values = side | {"x": np.arange(entries) * (k + 1)}
            types = {name: kinds[name] for name in side} | {"x": "std::int64_t"}
            ends = [min(edge, entries) for edge in cut]
            opened.append(write(Path(folder), f"s{k}_", f"Set{k}", values, types, ends))
        if data.draw(st.booleans(), label="by open"):
            both = colonnade.open(opened[0], friends={"a": opened[1], "b": colonnade.open(opened[2])})
        else:
            both = colonnade.open(opened[0]).with_friends({"a": colonnade.open(opened[1])})
            both = both.with_friends({"b": colonnade.open(opened[2])})
        first, last = sorted(data.draw(st.lists(st.integers(0, entries), min_size=2, max_size=2)))
        read = both.arrays(entry_start=first, entry_stop=last)
        assert read.fields == ["list", "x", "nested", "a.x", "maybe", "b.x"]
        for name in ("list", "nested", "maybe"):
            assert read[name].to_list() == columns[name].to_list()[first:last]
        for k, name in enumerate(("x", "a.x", "b.x")):
            assert read[name].to_list() == [(k + 1) * i for i in range(first, last)]
        assert both["a.nested"].to_list() == both["nested"].to_list() == columns["nested"].to_list()
        assert both.arrays(["b.*"]).fields == ["b.maybe", "b.x"]


def test_entries_in_any_order_of_all_types() -> None:
    """Every fixture: entries at random, repeated ones among them, against Awkward's own choice."""
    rng = np.random.default_rng(4)
    from colonnade.arrays.arrow import ArrowBuilder
    from colonnade.arrays.awkward import AwkwardBuilder

    seen = 0
    for path in sorted(FIXTURES.glob("*.root")):
        for name in colonnade.datasets(path):
            chain = Chain([(str(path), name)])
            selected = chain._select(None, warns=False)
            if not chain.num_entries or not selected:
                continue
            entries = rng.integers(0, chain.num_entries, min(2 * chain.num_entries, 300))
            taken = chain._assemble_at(selected, entries, AwkwardBuilder())
            whole = chain._assemble(selected, 0, chain.num_entries, AwkwardBuilder())
            for field, info in selected.items():
                expected = ak.Array(whole[field])[entries]
                assert repr(ak.Array(taken[field]).to_list()) == repr(expected.to_list()), (path.name, field)
                try:
                    of_all = chain._assemble({field: info}, 0, chain.num_entries, ArrowBuilder())[field]
                except colonnade.ConversionError:  # texts that Arrow does not have
                    continue
                arrow = chain._assemble_at({field: info}, entries, ArrowBuilder())[field]
                assert arrow.type == of_all.type
                pieces = [of_all.slice(int(entry), 1).to_pylist()[0] for entry in entries[:20]]
                assert repr(arrow.to_pylist()[:20]) == repr(pieces)
                seen += 1
    assert seen > 200


# ---- What data sets do


@pytest.fixture
def places(tmp_path: Path) -> tuple[list[str], list[str]]:
    """Events by (run, event), and what belongs to some of them, in the order of runs."""
    run, event = np.divmod(np.arange(300), 30)
    types = {"run": "std::int32_t", "event": "std::int32_t", "x": "double"}
    here = write(
        tmp_path, "here", "Events", {"run": run, "event": event, "x": np.sqrt(run + event)}, types, [100, 170]
    )
    columns, kinds = content(200)
    chosen = np.sort(np.random.default_rng(1).permutation(300)[:200])
    right = {"run": chosen // 30, "event": chosen % 30, **columns}
    there = write(
        tmp_path,
        "there",
        "dir/More",
        right,
        {name: types.get(name) or kinds[name] for name in right},
        [50, 150],
    )
    return here, there


def test_joins_are_data_sets(places: tuple[list[str], list[str]]) -> None:
    here, there = places
    left = colonnade.open(here).join(colonnade.open(there), on=["run", "event"], how="left")
    inner = colonnade.open(here).join(colonnade.open(there), on=["run", "event"])
    assert inner.num_entries == 200 < left.num_entries == 300
    assert left.field_names == ["run", "event", "x", "number", "flag", "text", "list", "nested", "maybe",
                                "dir_More_entry"]  # fmt: skip
    assert left.schema["number"].type == "std::optional<double>"
    assert inner.schema["number"].type == "double"
    assert left.schema["maybe"].type == "std::optional<double>"
    entry = left["dir_More_entry"].to_list()
    assert left.to_pandas("number")["number"].isna().sum() == 100
    assert [number is None for number in left["number"].to_list()] == [e < 0 for e in entry]
    assert pa.table(inner.select(["x", "number"])).column_names == ["x", "number"]
    assert inner.to_polars("number")["number"].to_list() == inner["number"].to_list()
    by_filter = left.to_arrow_dataset().to_table(columns=["number"], filter=pa.compute.field("x") > 4)
    assert by_filter["number"].to_pylist() == [
        n for n, x in zip(left["number"].to_list(), left["x"].to_list(), strict=True) if x > 4
    ]
    texts = dict(left.entry_texts(0, 300, ["run", "text", "dir_More_entry", "list"]))
    for number in range(300):
        shown = [left[name][number] for name in ("text", "list")]
        assert (entry[number] < 0) == ('"text": null' in texts[number])
        assert f'"dir_More_entry": {entry[number]}' in texts[number]
        if entry[number] >= 0:
            assert f'"text": "{shown[0]}"' in texts[number]
    assert left.verify() == colonnade.open(here).verify() + colonnade.open(there).verify()
    assert inner.read_through() > 0
    assert "dir/More" in repr(inner)
    assert repr(inner).startswith("<Joined <Chain 'Events'")
    assert [len(step) for step in inner.iterate(step_size=64)] == [64, 64, 64, 8]
    assert sum(len(step) for step in inner.iterate(step_size="2 kB")) == 200
    with pytest.raises(colonnade.UnsupportedError, match="no descriptor"):
        inner.descriptor  # noqa: B018
    for whole, place in (
        (inner.with_friends({"f": inner}), "friends"),
        (left.with_friends({"f": left}).join(inner, on="run", prefix="g_"), "a side of a join"),
    ):
        with pytest.raises(colonnade.UnsupportedError, match=f"cannot have an inner join as {place}"):
            colonnade.DataFrame(whole)
    for members in ([inner, here[0]], [inner.select("x")]):
        with pytest.raises(colonnade.UnsupportedError, match="can be chained with each other alone"):
            colonnade.open(members)
    with pytest.raises(colonnade.SchemaError, match="joined in different ways"):
        colonnade.open([inner, left])
    inner.close()
    with pytest.raises(colonnade.UsageError, match="closed"):
        inner["x"]


@pytest.mark.parametrize("how", ["friend", "inner", "left"])
@pytest.mark.parametrize("entries", [2000, 5])
def test_steps_by_size_count_all_sides(tmp_path: Path, how: Any, entries: int) -> None:
    keys = np.arange(2000) % entries
    sides = {
        "few": {"key": keys, "few": keys},
        "many": {"key": np.arange(entries), "many": np.ones((entries, 100))},
    }
    for name, columns in sides.items():
        with colonnade.create(tmp_path / f"{name}.root", name, cluster_size="100 kB") as writer:
            writer.extend(columns)
    few, many = (colonnade.open(tmp_path / f"{name}.root") for name in sides)
    if how == "friend":
        many = colonnade.open([many] * (2000 // entries))
    both = few.with_friends({"f": many}) if how == "friend" else few.join(many, on="key", how=how)
    for fields in (["few", "many"], ["many"]):
        tables = list(both.iterate(fields, step_size="80 kB", library="pa"))
        sizes = [sum(column.nbytes for column in table.columns) for table in tables]
        assert 30_000 < max(sizes) < 90_000
        assert len(sizes) < 80


def test_joins_of_joins_with_themselves(places: tuple[list[str], list[str]]) -> None:
    """Each event with the next one of its run, and that with what belongs to it, whose keys may lack."""
    here, there = places
    events, more = colonnade.open(here), colonnade.open(there)
    following = {"run": "run", "next": "event"}
    table = {"run": np.repeat(np.arange(10), 30), "next": np.tile(np.arange(30), 10) + 1}
    path = Path(here[0]).parent / "next.root"
    with colonnade.create(path, "Next", {"run": "std::int64_t", "next": "std::int64_t"}) as writer:
        writer.extend(table)
    pairs = colonnade.open(path).join(events, on=following, how="left", columns=["x", "event"], prefix="n_")
    twice = pairs.join(more, on={"run": "run", "n_event": "event"}, how="left", columns="number")
    keys = dict(zip(zip(more["run"].to_list(), more["event"].to_list(), strict=True), more["number"].to_list(),
                    strict=True))  # fmt: skip
    for row, (run, event) in enumerate(zip(table["run"], table["next"], strict=True)):
        assert twice["n_x"][row] == (None if event == 30 else np.sqrt(run + event))
        assert twice["number"][row] == keys.get((run, event))
    # As the right side, and of a data set with itself.
    outer = events.join(twice, on={"run": "run", "event": "next"}, columns=["n_x", "number"])
    assert outer.num_entries == 290
    assert outer["n_x"].to_list() == outer["x"].to_list()
    itself = events.join(events, on={"run": "run", "event": "event"}, columns=["x"])
    assert itself["Events_x"].to_list() == itself["x"].to_list()
    befriended = events.with_friends({"again": events})
    assert befriended["again.x"].to_list() == befriended["x"].to_list()


@pytest.fixture
def friends(tmp_path: Path) -> dict[str, Any]:
    """Data sets with as many entries: x is in all of them, and y in two."""
    for name, fields in {"a": "kx", "f": "xy", "g": "xyz"}.items():
        with colonnade.create(tmp_path / f"{name}.root", name) as writer:
            writer.extend({field: [ord(name), ord(field)] for field in fields})
    return {name: colonnade.open(tmp_path / f"{name}.root") for name in "afg"}


def test_names_that_several_friends_have(friends: dict[str, Any]) -> None:
    a = friends.pop("a")
    for both in (a.with_friends(friends), DataFrame(a, friends=friends), DataFrame(a.with_friends(friends))):
        names = both.field_names if isinstance(both, DataSet) else both.column_names
        assert names == ["k", "x", "f.x", "f.y", "g.x", "g.y", "z"]
        with pytest.raises(colonnade.Error, match="y"):
            both["y"].to_list() if isinstance(both, DataSet) else both.take("y")
    read = pickle.loads(pickle.dumps(a.with_friends(friends))).arrays(["f.y", "g.y", "x", "g.z"])
    assert read.to_list() == [
        {"f.y": ord("f"), "g.y": ord("g"), "x": ord("a"), "g.z": ord("g")},
        {"f.y": ord("y"), "g.y": ord("y"), "x": ord("x"), "g.z": ord("z")},
    ]
    assert a.with_friends(friends).with_friends({"h": friends["f"]}).field_names[-2:] == ["h.x", "h.y"]
    joined = a.with_friends(friends).join(friends["f"], on={"k": "x"}, how="left")
    frame = DataFrame(a, friends=friends).join(friends["f"], on={"k": "x"}, how="left")
    assert joined.field_names[-2:] == ["f_y", "f_entry"]
    assert frame.column_names[-2:] == ["f_entry", "f_y"]
    with pytest.raises(colonnade.UsageError, match="'x' cannot be the name of a friend"):
        DataFrame(a, friends={"x": friends["f"]})
    with pytest.raises(colonnade.UsageError, match="'f' cannot be the name of a friend"):
        a.with_friends(friends).with_friends({"f": friends["f"]})


def test_wildcards_match_each_field_of_friends_once(friends: dict[str, Any], tmp_path: Path) -> None:
    """By the name of the field; by that with the friend only if the other one does not match."""
    a = friends.pop("a")
    with colonnade.create(tmp_path / "h.root", "h") as writer:
        writer.extend({"r": [{"p": 1, "q": 2}] * 2})
    both = a.with_friends(friends | {"h": colonnade.open(tmp_path / "h.root")})
    expected = {
        "*": ["k", "x", "f.x", "f.y", "g.x", "g.y", "z", "r"],
        "?": ["k", "x", "z", "r"],
        "*z": ["z"],
        "g*": ["g.x", "g.y", "g.z"],
        "f.*": ["f.x", "f.y"],
        "*.p": ["r.p"],
        "h.*": ["h.r"],
        "h.r.*": ["h.r.p", "h.r.q"],
    }
    for wildcard, names in expected.items():
        assert both.arrays(wildcard).fields == names
        assert both.select(wildcard).field_names == names
    for frame in (DataFrame(both), DataFrame(a, friends=friends | {"h": ("h", str(tmp_path / "h.root"))})):
        for wildcard, names in expected.items():
            assert list(frame.to_numpy([wildcard])) == names
    chosen = both.select(["h.r", "g.z", "x"])
    assert chosen.arrays("*").fields == ["h.r", "g.z", "x"]
    assert chosen.arrays("*x").fields == ["x"]
    assert chosen.arrays("g*").fields == ["g.z"]
    assert chosen.arrays("*.q").fields == ["r.q"]
    frame = DataFrame(chosen)
    assert frame.column_names == ["h.r", "h.r.p", "h.r.q", "g.z", "x"]
    assert frame.to_awkward().fields == chosen.field_names
    assert frame.to_awkward().to_list() == chosen.arrays().to_list()
    assert list(frame.to_numpy("g*")) == ["g.z"]
    assert frame.define("two", "z * 2").column_names[-3:] == ["g.z", "x", "two"]
    assert frame.redefine("z", "z + 1").column_names[-2:] == ["x", "z"]
    assert frame.redefine("z", "z + 1").take("z").value.tolist() == [ord("g") + 1, ord("z") + 1]


def test_wildcards_match_names_with_points(friends: dict[str, Any]) -> None:
    joined = friends["a"].join(friends["f"], on={"k": "x"}, how="left", prefix="f.")
    assert joined.arrays("f.*").fields == ["f.y", "f.entry"]
    assert joined.arrays("*y").fields == ["f.y", "f.entry"]


def test_names_in_chains_of_joins(friends: dict[str, Any]) -> None:
    """y of the other side is f_y where the first one has a y."""
    a, f, g = friends.values()
    with pytest.raises(colonnade.SchemaError, match="call the same field differently"):
        colonnade.open([a.join(f, on={"k": "x"}), g.join(f, on="x")], missing="fill")
    with pytest.raises(colonnade.SchemaError, match="call the same field differently"):
        colonnade.open([a.join(f, on={"k": "x"}), g.join(a, on="x")], missing="fill")
    chain = colonnade.open([a.join(each, on="x", prefix="p_") for each in (f, g)], missing="fill")
    assert chain.arrays().to_list() == [
        {"k": ord("k"), "x": ord("x"), "p_y": ord("y"), "p_z": z, "p_entry": entry}
        for z, entry in ((None, 1), (ord("z"), 3))
    ]


def test_selected_fields_are_those_of_a_data_set(friends: dict[str, Any]) -> None:
    a, f = friends["a"].select("k"), friends["f"].select("x")
    assert a.with_friends({"f": f})["x"].to_list() == friends["f"]["x"].to_list()
    assert a.with_friends({"x": friends["g"]})["x"].to_list() == friends["g"]["x"].to_list()
    assert a.join(friends["g"], on={"k": "y"}).field_names == ["k", "x", "z", "g_entry"]
    assert a.join(f, on={"k": "y"}).field_names == ["k", "x", "f_entry"]
    assert a.select([]).join(f, on={"k": "y"}).field_names == ["x", "f_entry"]
    both = friends["a"].with_friends({"f": f}).select(["k"]).with_friends({"g": friends["g"]})
    assert both.field_names == ["k", "x", "y", "z"]
    assert DataFrame(a).column_names == ["k"]
    assert DataFrame(a).define("two", "2 * x").column_names == ["k", "two"]
    assert DataFrame(a).redefine("x", "2 * x").column_names == ["k", "x"]
    assert DataFrame(a, friends={"f": f, "g": friends["g"]}).column_names == ["k", "f.x", "g.x", "g.y", "z"]
    assert DataFrame(a).join(f, on={"k": "x"}).column_names == ["k", "f_entry"]
    assert DataFrame(a).join(friends["g"].select(["z"]), on={"k": "x"}).column_names == ["k", "g_entry", "z"]
    with pytest.raises(colonnade.UnsupportedError, match="a data set of selected fields cannot be part"):
        colonnade.open([a, friends["a"]])


def test_selected_fields_leave_their_names_to_others(friends: dict[str, Any]) -> None:
    a, f, g = friends.values()
    k = a.select("k")
    keys: Any = {"on": {"k": "y"}, "how": "left"}
    for whole in (
        a.with_friends({"f": f}).select("k").with_friends({"g": g}),
        k.join(g, **keys),
        k.with_friends({"f": f}).select(["k", "y"]).join(g, **keys),
        k.with_friends({"f": f.select("y")}).join(g, **keys).select(["x", "z"]),
        a.with_friends({"f": f}).join(g, on={"f.y": "y"}, columns="x").join(f, on={"f.x": "x"}, prefix="x_"),
    ):
        frame = DataFrame(whole)
        columns = {name.removeprefix("g."): name for name in frame.column_names}
        assert set(columns) == set(whole.field_names)
        for name, column in columns.items():
            assert frame.to_arrow(column)[column].to_pylist() == whole[name].to_list()


def test_chains_of_chains(places: tuple[list[str], list[str]]) -> None:
    here, _ = places
    parts = [colonnade.open(here[:2]), here[2], colonnade.open(here[:1])]
    chain = colonnade.open(parts)
    assert chain.files == [*here, here[0]]
    assert chain["x"].to_list() == colonnade.open([*here, here[0]])["x"].to_list()


@pytest.mark.parametrize("how", ["inner", "left"])
def test_chains_of_joins(places: tuple[list[str], list[str]], how: Any) -> None:
    """Each part finds what its own other side has, also as a side of a join and as a friend."""
    here, there = places
    keys = ["run", "event"]
    parts = [
        colonnade.open(one).join(colonnade.open(other), on=keys, how=how)
        for one, other in zip(here, there, strict=True)
    ]
    fields = ["x", "number", "list"]
    expected = [row for part in parts for row in part.arrays(fields).to_list()]
    chain = pickle.loads(pickle.dumps(colonnade.open(parts)))
    assert chain.num_entries == len(expected)
    assert chain.arrays(fields).to_list() == expected
    assert [row for step in chain.iterate(fields, step_size=7) for row in step.to_list()] == expected
    twice = colonnade.open([chain, *parts[:1]])
    assert twice["number"].to_list() == chain["number"].to_list() + parts[0]["number"].to_list()

    found = dict(zip(zip(*(chain[key].to_list() for key in keys), strict=True), expected, strict=True))
    events = colonnade.open(here)
    right = events.join(chain, on=keys, how="left", columns=fields, prefix="c_")
    for key, number in zip(
        zip(*(events[k].to_list() for k in keys), strict=True), right["c_number"], strict=True
    ):
        assert number == (found[key]["number"] if key in found else None)
    as_left = chain.join(events, on=keys, columns=["x"], prefix="e_")
    assert as_left["e_x"].to_list() == as_left["x"].to_list() == chain["x"].to_list()
    assert chain.with_friends({"f": colonnade.open(parts)})["f.list"].to_list() == chain["list"].to_list()


def test_chains_of_friends(places: tuple[list[str], list[str]]) -> None:
    parts = [colonnade.open(file, friends={"f": file}) for file in places[0]]
    chain = colonnade.open(parts)
    for executor in (None, Shuffled(0)):
        df = DataFrame(chain.select(["run", "f.x"]), executor=executor)
        assert df.column_names == ["run", "f.x"]
        assert df.take("f.x + x").value.tolist() == [2 * x for x in chain["x"].to_list()]
    with pytest.raises(colonnade.UsageError, match="takes no more of them here"):
        DataFrame(chain, friends={"g": places[0]})
    joined = DataFrame(chain).join(chain, on=["run", "event"], prefix="g_", columns=["x", "f.x"])
    assert joined.take("g_x + g_f_x").value.tolist() == [2 * x for x in chain["x"].to_list()]
    assert chain["f.x"].to_list() == chain["x"].to_list() == colonnade.open(places[0])["x"].to_list()
    assert chain.arrays(entry_start=95, entry_stop=105).fields == [
        "run",
        "event",
        "x",
        "f.run",
        "f.event",
        "f.x",
    ]


# ---- Files that are opened


class Hidden:
    """Files in folders of their own, which go away with these: renaming a file itself would make it another one."""

    def __init__(self, files: list[str], folder: Path) -> None:
        self.files = []
        for number, file in enumerate(files):
            (folder / f"{number}").mkdir()
            self.files.append(str(Path(file).rename(folder / f"{number}" / Path(file).name)))

    @contextlib.contextmanager
    def all_but(self, kept: int | None) -> Iterator[None]:
        folders = [Path(file).parent for number, file in enumerate(self.files) if number != kept]
        for folder in folders:
            folder.rename(folder.with_suffix(".away"))
        yield
        for folder in folders:
            folder.with_suffix(".away").rename(folder)


def test_only_files_with_matches_are_opened(places: tuple[list[str], list[str]], tmp_path: Path) -> None:
    here, there = places
    hidden = Hidden(there, tmp_path)

    def joined() -> Any:
        more = colonnade.open(hidden.files, index=tmp_path / "more.json")
        return colonnade.open(here).join(more, on=["run", "event"], how="left", table=tmp_path / "more.keys")

    expected = joined().arrays(["x", "number", "list"])
    entries = np.asarray(joined()["dir_More_entry"])
    borders = colonnade.open(hidden.files).file_offsets
    for number in range(len(there)):
        inside = np.flatnonzero((entries >= borders[number]) & (entries < borders[number + 1]))
        first, last = int(inside[0]), int(inside[-1]) + 1
        with hidden.all_but(number):
            read = joined().arrays(["x", "number", "list"], entry_start=first, entry_stop=last)
            assert read.to_list() == expected[first:last].to_list()
            with pytest.raises(colonnade.FileMissingError, match="there"):
                joined().arrays(["number"])
    with hidden.all_but(None):
        assert joined()["dir_More_entry"].to_list() == entries.tolist()
        assert joined()["x"].to_list() == expected["x"].to_list()


@pytest.mark.parametrize("name", ["number", "list", "maybe"])
def test_tasks_open_only_files_with_matches(
    places: tuple[list[str], list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """In data frames, too: of the right side, what has no matches may be gone."""
    here, there = places
    monkeypatch.setenv("COLONNADE_TEST_PART_ENTRIES", "16")
    hidden = Hidden(there, tmp_path)
    value = {"number": "number", "list": "Sum(list)", "maybe": "maybe.value_or(-1)"}[name]

    def frame(entries: tuple[int, int]) -> Any:
        df = colonnade.DataFrame("Events", here, entries=entries, executor=Shuffled(0), npartitions=3)
        return df.join("dir/More", hidden.files, on=["run", "event"], table=tmp_path / "more.keys")

    whole = frame((0, 300))
    expected = whole.take(value).value.tolist()
    assert (
        expected
        == colonnade.DataFrame("Events", here)
        .join("dir/More", hidden.files, on=["run", "event"])
        .take(value)
        .value.tolist()
    )
    rows, matches = whole.take("rdfentry_").value, whole.take("dir_More_entry").value
    borders = colonnade.open(hidden.files).file_offsets
    for number in range(len(there)):
        inside = np.flatnonzero((matches >= borders[number]) & (matches < borders[number + 1]))
        first, last = int(rows[inside[0]]), int(rows[inside[-1]]) + 1
        some, whole = frame((first, last)), frame((0, 300))
        with hidden.all_but(number):
            assert some.take(value).value.tolist() == [expected[i] for i in inside]
            with pytest.raises(colonnade.FileMissingError, match="there"):
                whole.take(f"{value} * {number + 2}").value  # noqa: B018 - what a worker has had before it keeps


def test_blocks_beyond_the_budget_are_read_again(
    places: tuple[list[str], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there = places

    def joined() -> Any:
        return colonnade.open(here).join(colonnade.open(there), on=["run", "event"], how="left")

    usual = joined()
    expected = usual.arrays(["number", "list"]).to_list()
    monkeypatch.setenv("COLONNADE_JOIN_MEMORY_MIB", "0")
    few = joined()
    assert [
        row for step in few.iterate(["number", "list"], step_size=7) for row in step.to_list()
    ] == expected
    monkeypatch.setenv("COLONNADE_JOIN_MEMORY_MIB", "much")
    with pytest.raises(colonnade.UsageError, match="is 'much', which is not a number"):
        joined().arrays(["number"])


# ---- Errors


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"on": []}, colonnade.UsageError, "at least one key"),
        ({"on": "number"}, colonnade.NotFoundError, "no field 'number'"),
        (
            {"on": {"run": "number"}},
            colonnade.TypeMismatchError,
            "'number' is of type double; keys are integers",
        ),
        ({"on": {"x": "run"}}, colonnade.TypeMismatchError, "'x' is of type double; keys are integers"),
        ({"on": {"run": "maybe"}}, colonnade.TypeMismatchError, "keys are integers"),
        ({"on": {"run": "text"}}, colonnade.TypeMismatchError, "keys are integers"),
        ({"on": "run", "how": "outer"}, colonnade.UsageError, "how must be 'inner' or 'left'"),
        ({"on": "run", "duplicates": "last"}, colonnade.UsageError, "duplicates must be 'error' or 'first'"),
        ({"on": "run", "columns": "nothing"}, colonnade.NotFoundError, "nothing"),
        ({"on": "run", "columns": ["run", "number"], "prefix": "run"}, None, ""),
    ],
)
def test_wrong_words(
    places: tuple[list[str], list[str]],
    arguments: dict[str, Any],
    error: type[Exception] | None,
    message: str,
) -> None:
    here, there = places
    make: Callable[[], Any] = lambda: colonnade.open(here).join(colonnade.open(there), **arguments)  # noqa: E731
    if error is None:
        assert make().field_names == ["run", "event", "x", "runrun", "runnumber", "runentry"]
        return
    with pytest.raises(error, match=message):
        make()


def test_wrong_friends(places: tuple[list[str], list[str]]) -> None:
    here, there = places
    events = colonnade.open(here)
    with pytest.raises(colonnade.SchemaError, match="has 200 entries, and 'Events' has 300"):
        events.with_friends({"f": colonnade.open(there)})
    for name in ("x", "a.b", ""):
        with pytest.raises(colonnade.UsageError, match="cannot be the name of a friend"):
            events.with_friends({name: events})


def test_duplicates_and_damage(places: tuple[list[str], list[str]]) -> None:
    here, there = places
    with pytest.raises(colonnade.UsageError, match="entries 0 and 1 have the same key"):
        colonnade.open(here).join(colonnade.open(there), on="run")["number"]
    content = bytearray(Path(there[1]).read_bytes())
    left = colonnade.open(here).join(colonnade.open(there), on=["run", "event"], how="left")
    content[len(content) // 3] ^= 8
    Path(there[1]).write_bytes(content)
    with pytest.raises(colonnade.Error, match=r"there1\.root"):
        left.arrays()
