"""Joins by key: random ones against pandas.merge, and all that a data frame does over joined columns."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import awkward as ak
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from join_cases import Case, cases, content, key_columns, merged, write
from shuffled_engine import Shuffled

import colonnade
from colonnade import DataFrame

QUIET = settings(deadline=None, max_examples=150, suppress_health_check=[HealthCheck.too_slow])
THREADS = (1, 2, 3, 7)
PART_ENTRIES = 16


@pytest.fixture(autouse=True, scope="module")
def _small_parts() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLONNADE_TEST_PART_ENTRIES", str(PART_ENTRIES))
        yield


# ---- Random joins


def joined_rows(df: DataFrame, columns: dict[str, Any]) -> dict[str, list[Any]]:
    return {name: df.take(name).value.tolist() for name in ("row", "More_entry", *columns)}


def expected_rows(pairs: list[tuple[int, int]], columns: dict[str, Any]) -> dict[str, list[Any]]:
    lists = {name: values.tolist() for name, values in columns.items()}
    out: dict[str, list[Any]] = {"row": [a for a, _ in pairs], "More_entry": [b for _, b in pairs]}
    return out | {name: [None if b < 0 else values[b] for _, b in pairs] for name, values in lists.items()}


@QUIET
@given(
    case=st.one_of(cases(unique=True), cases(unique=False)),
    how=st.sampled_from(["inner", "left"]),
    files=st.booleans(),
)
def test_random_joins_are_those_of_pandas(case: Case, how: Any, files: bool) -> None:
    left, left_kinds = key_columns(case.left, case.left_types, "here")
    left["row"], left_kinds["row"] = np.arange(len(case.left)), "std::int64_t"
    right, right_kinds = key_columns(case.right, case.right_types, "there")
    columns, kinds = content(len(case.right))
    on = {f"here{k}": f"there{k}" for k in range(len(case.left_types))}
    with tempfile.TemporaryDirectory() as folder:
        there = write(Path(folder), "right", "More", right | columns, right_kinds | kinds, case.right_cuts)
        here = write(Path(folder), "left", "Events", left, left_kinds, case.left_cuts) if files else None
        df = DataFrame("Events", here, threads=3) if here else DataFrame.from_arrays(left, threads=3)
        duplicates: Any = "error" if len(set(case.right)) == len(case.right) else "first"
        joined = df.join("More", there, on=on, how=how, duplicates=duplicates)
        assert joined_rows(joined, columns) == expected_rows(merged(case, how), columns)


@QUIET
@given(case=cases(unique=False).filter(lambda case: bool(case.right)), data=st.data())
def test_duplicates_are_an_error_that_names_the_first(case: Case, data: st.DataObject) -> None:
    case.right.append(data.draw(st.sampled_from(case.right)))
    seen: dict[tuple[int, ...], int] = {}
    for second, key in enumerate(case.right):
        if key in seen:
            break
        seen[key] = second
    left, _ = key_columns(
        case.left or [case.right[0]], case.right_types if not case.left else case.left_types, "here"
    )
    right, _ = key_columns(case.right, case.right_types, "there")
    joined = DataFrame.from_arrays(left).join(
        right | {"z": np.zeros(len(case.right))}, on=dict(zip(left, right, strict=True))
    )
    with pytest.raises(
        colonnade.UsageError, match=f"entries {seen[key]} and {second} have the same key"
    ) as caught:
        joined.count().value  # noqa: B018
    for name, part in zip(right, key, strict=True):
        assert f"{name} = {part}" in str(caught.value)


# ---- Missing keys


@QUIET
@given(
    case=cases(unique=False),
    how=st.sampled_from(["inner", "left"]),
    seed=st.integers(0, 2**32),
    table=st.booleans(),
)
def test_missing_keys_are_the_same_as_no_other(case: Case, how: Any, seed: int, table: bool) -> None:
    """On both sides; against a search through all keys."""
    chance = random.Random(seed)
    optional = [[chance.random() < 0.6 for _ in case.left_types] for _ in range(2)]
    keys = [
        [
            tuple(
                None if may and chance.random() < 0.3 else part for may, part in zip(mays, row, strict=True)
            )
            for row in rows
        ]
        for mays, rows in zip(optional, (case.left, case.right), strict=True)
    ]
    found: dict[Any, int] = {}
    for number, row in enumerate(keys[1]):
        if None not in row:
            found.setdefault(row, number)
    pairs = [(number, found.get(row, -1)) for number, row in enumerate(keys[0])]
    if how == "inner":
        pairs = [pair for pair in pairs if pair[1] >= 0]
    is_unique = len(found) == sum(None not in row for row in keys[1])
    on = {f"here{k}": f"there{k}" for k in range(len(case.left_types))}
    with tempfile.TemporaryDirectory() as folder:
        files = []
        for side, (stem, types, cuts) in enumerate(
            (("here", case.left_types, case.left_cuts), ("there", case.right_types, case.right_cuts))
        ):
            columns: dict[str, Any] = {}
            kinds = {}
            for k, kind in enumerate(types):
                values = [row[k] for row in keys[side]]
                kinds[f"{stem}{k}"] = f"std::{kind}_t"
                if optional[side][k]:
                    kinds[f"{stem}{k}"] = f"std::optional<std::{kind}_t>"
                    columns[f"{stem}{k}"] = optional_array(values, kind)
                else:
                    columns[f"{stem}{k}"] = np.array(values, dtype=kind)
            columns["row"], kinds["row"] = np.arange(len(keys[side])), "std::int64_t"
            files.append(write(Path(folder), stem, ("Events", "More")[side], columns, kinds, cuts))
        how_to: Any = {"on": on, "how": how, "duplicates": "error" if is_unique else "first"}
        saved = {"table": Path(folder) / "frame.keys"} if table else {}
        for _ in range(2):  # the second one reads the table
            joined = DataFrame("Events", files[0], threads=3).join("More", files[1], **how_to, **saved)
            assert joined.take("row").value.tolist() == [a for a, _ in pairs]
            assert joined.take("More_entry").value.tolist() == [b for _, b in pairs]
            assert joined.take("More_row").value.tolist() == [None if b < 0 else b for _, b in pairs]
        if table:
            saved = {"table": Path(folder) / "arrays.keys"}
        for _ in range(2):
            both = colonnade.open(files[0]).join(colonnade.open(files[1]), **how_to, **saved)
            assert both["row"].to_list() == [a for a, _ in pairs]
            assert both["More_entry"].to_list() == [b for _, b in pairs]


def optional_array(values: list[Any], kind: str) -> Any:
    present = np.array([value for value in values if value is not None], dtype=kind)
    index = np.full(len(values), -1, dtype=np.int64)
    index[[value is not None for value in values]] = np.arange(len(present))
    return ak.Array(ak.contents.IndexedOptionArray(ak.index.Index64(index), ak.contents.NumpyArray(present)))


def test_missing_keys_are_no_duplicates(tmp_path: Path) -> None:
    path = tmp_path / "r.root"
    kinds = {"k": "std::optional<std::int32_t>", "z": "double"}
    with colonnade.create(path, "R", kinds) as writer:
        writer.extend({"k": [None, 7, None, 8], "z": [0.5, 1.5, 2.5, 3.5]})
    df = DataFrame(4).define("k", "int(rdfentry_) + 6")
    assert df.join("R", path, on="k").take("z").value.tolist() == [1.5, 3.5]
    left = df.join("R", path, on="k", how="left")
    assert left.take("R_entry").value.tolist() == [-1, 1, 3, -1]
    # What a left join did not find is no key of another one.
    keyed = df.join("R", path, on="k", how="left", columns=["k", "z"])
    again = keyed.join("R", path, on={"R_k": "k"}, how="left", prefix="again_")
    assert again.take("again_z").value.tolist() == [None, 1.5, 3.5, None]
    assert again.filter_missing("again_z").count().value == 2
    with colonnade.create(path, "R", kinds) as writer:
        writer.extend({"k": [None, 7, None, 7], "z": [0.5, 1.5, 2.5, 3.5]})
    for joined in (
        lambda: DataFrame(4).define("k", "int(rdfentry_) + 6").join("R", path, on="k").count().value,
        lambda: colonnade.open(path).join(colonnade.open(path), on="k", prefix="r_").arrays(["r_z"]),
    ):
        with pytest.raises(colonnade.UsageError, match=r"entries 1 and 3 have the same key \(k = 7\)"):
            joined()


INTEGERS = ("i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8")


@pytest.mark.parametrize("there", INTEGERS)
def test_keys_of_all_integers(there: str, tmp_path: Path) -> None:
    limits = {kind: (np.iinfo(kind).min, np.iinfo(kind).max) for kind in INTEGERS}
    right = [*limits[there], 5, 77]
    path = tmp_path / "r.root"
    with colonnade.create(path, "R", {"k": np.dtype(there), "z": "double"}) as writer:
        writer.extend({"k": np.array(right, there), "z": np.arange(4.0)})
    for here in INTEGERS:
        left = [77, *limits[here], 5, 6]
        expected = [right.index(key) if key in right else -1 for key in left]
        df = DataFrame.from_arrays({"k": np.array(left, here)}).join("R", path, on="k", how="left")
        assert df.take("R_entry").value.tolist() == expected
    both = colonnade.open(path).join(colonnade.open(path), on="k", columns=["z"], prefix="r_")
    assert both.arrays()["r_z"].to_list() == [0, 1, 2, 3]


# ---- What data frames do over joined columns


class Sides(NamedTuple):
    """A left side of 600 entries by (run, event), and a right side of 500 in another order, in other files."""

    left: list[str]
    right: list[str]
    number_of: dict[tuple[int, int], float]
    keys: list[tuple[int, int]]
    x: np.ndarray[Any, Any]


@pytest.fixture(scope="module")
def sides(tmp_path_factory: pytest.TempPathFactory) -> Sides:
    rng = np.random.default_rng(5)
    folder = tmp_path_factory.mktemp("joins")
    run, event = np.divmod(np.arange(600), 40)
    x = rng.normal(0, 3, 600)
    left = write(
        folder,
        "left",
        "Events",
        {"run": run.astype(np.int32), "event": event.astype(np.uint64), "x": x},
        {"run": "std::int32_t", "event": "std::uint64_t", "x": "double"},
        [200, 200, 350],
    )
    chosen = rng.permutation(700)[:500]
    columns, kinds = content(500)
    right = write(
        folder,
        "right",
        "More",
        {"run": chosen // 40, "event": chosen % 40, "x": rng.normal(size=500), **columns},
        {"run": "std::int64_t", "event": "std::int64_t", "x": "double", **kinds},
        [17, 300],
    )
    numbers = {(int(c) // 40, int(c) % 40): i / 8 for i, c in enumerate(chosen)}
    return Sides(left, right, numbers, list(zip(run.tolist(), event.tolist(), strict=True)), x)


def frames(sides: Sides, **options: Any) -> dict[str, Any]:
    """What is booked, over both kinds of join."""
    df = DataFrame("Events", sides.left, **options)
    inner = df.filter("x > -4").join("More", sides.right, on=["run", "event"])
    left = df.join("More", sides.right, on=["run", "event"], how="left").define("n", "number.value_or(-1)")
    cut = (
        inner.define("sum", "Sum(list) + number")
        .filter("sum > 10", name="large")
        .filter("!flag", name="no flag")
    )
    shifted = df.vary("event", "{event, event + 1}", ["same", "next"]).join(
        "More", sides.right, on=["run", "event"]
    )
    varied = shifted.histo1d(("v", "v", 20, 0, 70), "number", "More_x")
    return {
        "count": inner.count(),
        "histogram": left.histo1d(("h", "h", 20, -1, 70), "n", "x"),
        "cut": cut.histo1d(("c", "c", 20, 0, 100), "sum", "More_x"),
        "take": cut.take("nested"),
        "texts": left.filter("text.has_value()").take("text.value()"),
        "report": cut.report(),
        "display": left.display(["x", "number", "text"], 7),
        "range": left.range(50, 400, 3).sum("n"),
        "mean": inner.mean("number"),
        "awkward": left.lazy_awkward(["x", "number", "list", "maybe"]),
        "varied": df.variations_for(varied),
    }


def bits(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: bits(value[key]) for key in value}
    if isinstance(value, ak.Array):
        return value.to_list()
    if hasattr(value, "view"):
        return np.asarray(value.view(flow=True)).tobytes()
    return str(value)


def all_bits(booked: dict[str, Any]) -> dict[str, Any]:
    return {name: bits(getattr(result, "value", result)) for name, result in booked.items()}


def test_joined_columns_are_as_others(sides: Sides) -> None:
    df = DataFrame("Events", sides.left)
    inner = df.join("More", sides.right, on=["run", "event"])
    pairs = [(x, sides.number_of.get(key)) for x, key in zip(sides.x.tolist(), sides.keys, strict=True)]
    assert 300 < inner.count().value < 500
    assert inner.take("number").value.tolist() == [number for _, number in pairs if number is not None]
    assert inner.take("x").value.tolist() == [x for x, number in pairs if number is not None]
    left = df.join("More", sides.right, on=["run", "event"], how="left")
    assert left.column_type("number") == "std::optional<double>"
    assert left.column_type("maybe") == "std::optional<double>"
    assert left.take("number").value.tolist() == [number for _, number in pairs]
    assert left.take("number.has_value()").value.tolist() == [number is not None for _, number in pairs]
    assert left.filter("More_entry < 0").count().value == sum(number is None for _, number in pairs)
    # The name that both sides have belongs to the left one.
    assert {"x", "More_x", "number", "More_entry"} <= set(inner.column_names)


def test_same_bits_for_any_number_of_threads(sides: Sides) -> None:
    first = all_bits(frames(sides, threads=1))
    for threads in THREADS[1:]:
        assert all_bits(frames(sides, threads=threads)) == first


@pytest.mark.parametrize("seed", range(6))
def test_same_bits_on_engines(sides: Sides, seed: int) -> None:
    names = ("count", "histogram", "cut", "take", "texts", "report", "range", "mean", "varied")
    here, there = frames(sides), frames(sides, executor=Shuffled(seed), npartitions=9)
    assert all_bits({name: there[name] for name in names}) == all_bits({name: here[name] for name in names})


def test_plans_hold_joins(sides: Sides) -> None:
    frozen = DataFrame("Events", sides.left).join("More", sides.right, on=["run", "event"])
    plan = frozen.freeze(frozen.sum("number"))
    again = type(plan).from_bytes(plan.to_bytes())
    assert again.fingerprint == plan.fingerprint


def test_snapshots(sides: Sides, tmp_path: Path) -> None:
    left = DataFrame("Events", sides.left).join("More", sides.right, on=["run", "event"], how="left")
    columns = ["run", "number", "text", "list", "maybe"]
    left.snapshot(tmp_path / "out.root", columns=columns)
    written = colonnade.open(tmp_path / "out.root").arrays(columns)
    assert {name: written[name].to_list() for name in columns} == {
        name: left.take(name).value.tolist() for name in columns
    }


def test_joins_in_a_row_and_of_the_same_files(sides: Sides) -> None:
    df = DataFrame("Events", sides.left)
    once = df.join("More", sides.right, on=["run", "event"], columns="number")
    twice = once.define("other", "39 - event").join(
        "More", sides.right, on={"run": "run", "other": "event"}, columns="number", prefix="mirror_"
    )
    expected = [
        (sides.number_of[r, e], sides.number_of[r, 39 - e])
        for r, e in sides.keys
        if (r, e) in sides.number_of and (r, 39 - e) in sides.number_of
    ]
    assert (
        list(
            zip(twice.take("number").value.tolist(), twice.take("mirror_number").value.tolist(), strict=True)
        )
        == expected
    )


def test_what_a_left_join_does_not_find_is_missing(sides: Sides) -> None:
    left = DataFrame("Events", sides.left).join("More", sides.right, on=["run", "event"], how="left")
    numbers = [sides.number_of.get(key) for key in sides.keys]
    found = [number for number in numbers if number is not None]
    assert left.filter_available("number").take("number").value.tolist() == found
    assert left.filter_missing("number").count().value == len(numbers) - len(found)
    filled = left.default_value_for("number", -1)
    assert filled.column_type("number") == "double"
    assert filled.take("number").value.tolist() == [-1 if n is None else n for n in numbers]
    again = left.alias("other", "number").default_value_for("other", "x * 2")
    assert again.take("other").value.tolist() == [
        x * 2 if n is None else n for x, n in zip(sides.x.tolist(), numbers, strict=True)
    ]


def test_what_is_missing_there_has_a_match(tmp_path: Path) -> None:
    with colonnade.create(
        tmp_path / "r.root",
        "R",
        {"k": "int", "o": "std::optional<int>", "u": "std::uint8_t", "l": "std::vector<float>"},
    ) as writer:
        writer.fill(k=0, o=None, u=5, l=[1])
        writer.fill(k=1, o=7, u=6, l=[])
    df = DataFrame(4).define("k", "int(rdfentry_)").define("big", "k + 300")
    inner, left = (df.join("R", tmp_path / "r.root", on="k", how=how) for how in ("inner", "left"))
    for joined, missing in ((inner, 0), (left, 2), (left.vary("o", "{o, o}", 2), 2)):
        assert joined.filter_available("o").count().value == 2
        assert joined.filter_missing("o").count().value == missing
    filled = left.default_value_for("o", 9)
    assert filled.take("o").value.to_list() == [None, 7, 9, 9]
    assert filled.filter_available("o").count().value == 4
    assert inner.default_value_for("o", 9).take("o").value.to_list() == [None, 7]
    assert left.default_value_for("u", "k + 0 > 2 ? true : false").take("u").value.tolist() == [5, 6, 0, 1]
    assert left.default_value_for("l", "ROOT::RVecD{0.5}").take("l").value.to_list() == [
        [1],
        [],
        [0.5],
        [0.5],
    ]
    for column, value in (("u", 300), ("u", "big"), ("o", 7.5)):
        with pytest.raises(colonnade.TypeMismatchError, match="give a value of that type"):
            left.default_value_for(column, value)
    varied = df.vary("k", "{k - 1, k + 1}", ["down", "up"]).join("R", tmp_path / "r.root", on="k", how="left")
    sums = varied.default_value_for("u", 100)
    assert dict(sums.variations_for(sums.sum("u"))) == {"nominal": 211, "k:down": 211, "k:up": 306}


def test_matches_are_those_of_the_join_whatever_the_number_of_the_entry_becomes(tmp_path: Path) -> None:
    with colonnade.create(tmp_path / "l.root", "L", {"k": "int"}) as writer:
        writer.extend({"k": np.arange(4)})
    with colonnade.create(tmp_path / "r.root", "R", {"k": "int", "y": "int"}) as writer:
        writer.extend({"k": [1, 2], "y": [10, 20]})
    for engine in ({}, {"executor": Shuffled(1), "npartitions": 3}):
        left = DataFrame("L", tmp_path / "l.root", **engine).join(
            "R", tmp_path / "r.root", on="k", how="left"
        )
        redefined = left.redefine("R_entry", "0")
        assert redefined.filter_available("y").take("k").value.tolist() == [1, 2]
        assert redefined.filter_missing("y").take("k").value.tolist() == [0, 3]
        assert redefined.default_value_for("y", -1).take("y").value.tolist() == [-1, 10, 20, -1]
        varied = left.vary("R_entry", "{-1, 0}", 2)
        for count in (varied.filter_available("y").count(), varied.filter_missing("y").count()):
            assert dict(varied.variations_for(count)) == {"nominal": 2}
        filtered = redefined.filter_available("y").filter_missing("y")
        assert filtered.filter_names == ["available: y", "missing: y"]


def test_characters_are_keys_without_a_sign(tmp_path: Path) -> None:
    keys = np.array([200, 1], dtype=np.uint8)
    for name, kind in (("c", "char"), ("u", "std::uint8_t")):
        with colonnade.create(tmp_path / f"{name}.root", name, {"k": kind}) as writer:
            writer.extend({"k": keys})
    c, u = (colonnade.open(tmp_path / f"{name}.root") for name in "cu")
    for here, there in ((c, u), (u, c)):
        entries = f"{there.name}_entry"
        assert here.join(there, on="k", how="left")[entries].to_list() == [0, 1]
        assert DataFrame(here).join(there, on="k", how="left").take(entries).value.tolist() == [0, 1]


def test_keys_may_be_taken(sides: Sides) -> None:
    df = DataFrame("Events", sides.left)
    joined = df.join("More", sides.right, on=["run", "event"], columns=["event", "number"])
    assert joined.filter("More_event != event").count().value == 0
    assert joined.column_type("More_event") == "std::int64_t"


# ---- Tables of keys in files


def test_tables_are_saved_and_used(sides: Sides, tmp_path: Path) -> None:
    table, expected = tmp_path / "more.keys", all_bits(frames(sides))["count"]
    df = DataFrame("Events", sides.left).filter("x > -4")

    def count(files: list[str]) -> str:
        return str(df.join("More", files, on=["run", "event"], table=table).count().value)

    assert count(sides.right) == expected
    made = table.stat().st_mtime_ns, table.read_bytes()
    assert count(sides.right) == expected
    assert (table.stat().st_mtime_ns, table.read_bytes()) == made
    # Of other files, or of the same in another order: made anew.
    assert count(sides.right[:1]) != expected
    assert table.read_bytes() != made[1]
    assert count(sides.right[::-1]) == expected


def test_a_damaged_table_is_an_error(tmp_path: Path) -> None:
    right, table = tmp_path / "r.root", tmp_path / "r.keys"
    with colonnade.create(right, "More") as writer:
        writer.extend({"key": np.arange(3), "z": np.arange(3) / 2})
    df = DataFrame.from_arrays({"key": np.arange(3)})
    assert df.join("More", right, on="key", table=table).sum("z").value == 1.5
    content = bytearray(table.read_bytes())
    first = content.index(np.arange(3, dtype="<u4").tobytes(), 65536)
    content[first : first + 12] = np.array([1, 0, 2], "<u4").tobytes()
    table.write_bytes(content)
    with pytest.raises(colonnade.FormatError, match=r"checksum is wrong.*r\.keys"):
        df.join("More", right, on="key", table=table).sum("z").value  # noqa: B018
    table.unlink()
    assert df.join("More", right, on="key", table=table).sum("z").value == 1.5


def test_tables_travel_with_plans(sides: Sides, tmp_path: Path) -> None:
    table = tmp_path / "more.keys"
    df = DataFrame("Events", sides.left, executor=Shuffled(1), npartitions=5)
    joined = df.join("More", sides.right, on=["run", "event"], table=table)
    here = DataFrame("Events", sides.left).join("More", sides.right, on=["run", "event"])
    assert joined.sum("number").value == here.sum("number").value
    assert table.exists()
    plan = here.join("More", sides.right, on=["run", "event"], prefix="a_", table=table)
    frozen = plan.freeze(plan.sum("a_number"))
    with pytest.raises(colonnade.UsageError, match=r'the plan writes ".*more\.keys", which is not allowed'):
        frozen.graph(may_use=lambda uri, writes: not writes)


def test_tables_need_files_and_a_place(
    sides: Sides, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    df = DataFrame("Events", sides.left)
    with pytest.raises(colonnade.UnsupportedError, match="write them to a file first"):
        df.join({"run": np.arange(5)}, on="run", table=tmp_path / "t")
    not_ours = tmp_path / "other"
    not_ours.write_text("not a table")
    with pytest.raises(colonnade.FormatError, match="not a table of keys"):
        df.join("More", sides.right, on=["run", "event"], table=not_ours).count().value  # noqa: B018
    assert not_ours.read_text() == "not a table"
    nowhere = df.join("More", sides.right, on=["run", "event"], table=tmp_path / "no" / "t")
    assert nowhere.count().value > 0
    assert "the table of keys was not saved in" in capfd.readouterr().err


def test_what_exceeds_the_memory_lies_in_a_file(sides: Sides, monkeypatch: pytest.MonkeyPatch) -> None:
    def numbers() -> tuple[Any, ...]:
        joined = DataFrame("Events", sides.left).join("More", sides.right, on=["run", "event"])
        return joined.take("number").value.tolist(), joined.sum("More_x").value, joined.count().value

    usual = numbers()
    monkeypatch.setenv("COLONNADE_JOIN_MEMORY_MIB", "0")
    assert numbers() == usual
    with pytest.raises(
        colonnade.Error, match="non-numeric columns of a join exceed the memory limit: 'text'"
    ):
        frames(sides)["texts"].value  # noqa: B018
    monkeypatch.setenv("TMPDIR", f"{sides.left[0]}.missing")
    with pytest.raises(colonnade.Error, match="COLONNADE_JOIN_MEMORY_MIB or TMPDIR"):
        numbers()
    monkeypatch.setenv("COLONNADE_JOIN_MEMORY_MIB", "much")
    with pytest.raises(colonnade.UsageError, match="is 'much', which is not a number"):
        frames(sides)


def test_keys_may_be_expressions(sides: Sides) -> None:
    table = {"slot": np.arange(7)[::-1].copy(), "weight": np.arange(7) / 2}
    df = DataFrame("Events", sides.left).join(table, on={"event % 7": "slot"})
    assert df.take("weight").value.tolist() == [(6 - e % 7) / 2 for _, e in sides.keys]


def test_unused_columns_are_not_read(sides: Sides, tmp_path: Path) -> None:
    """A joined data set is opened once for its keys; nothing is read if nothing asks for it."""
    path = tmp_path / "gone.root"
    path.write_bytes(Path(sides.right[1]).read_bytes())
    df = DataFrame("Events", sides.left)
    joined = df.join("More", [str(path)], on=["run", "event"], how="left")
    path.unlink()
    assert joined.sum("x").value == df.sum("x").value


def test_keys_behind_filters(sides: Sides) -> None:
    df = DataFrame("Events", sides.left).filter("x > 1").define("number", "event + 1")
    joined = df.join("More", sides.right, on={"run": "run", "number - 1": "event"})
    expected = [
        sides.number_of[key]
        for key, x in zip(sides.keys, sides.x.tolist(), strict=True)
        if x > 1 and key in sides.number_of
    ]
    assert joined.take("More_number").value.tolist() == expected


def test_variations_of_keys(tmp_path: Path) -> None:
    df = DataFrame.from_arrays({"slot": np.array([0, 1, 2])}).vary(
        "slot", "{slot + 1, slot + 2}", ["one", "two"]
    )
    joined = df.join(
        {"slot": np.array([0, 1, 2, 3, 4]), "w": np.array([1.0, 10, 100, 1000, 10000])}, on="slot"
    )
    sums = colonnade.variations_for(joined.sum("w"))
    assert [sums[key] for key in ("nominal", "slot:one", "slot:two")] == [111, 1110, 11100]


def test_arrays_in_memory(sides: Sides) -> None:
    df = DataFrame("Events", sides.left)
    joined = df.join({"run": np.arange(60), "scale": np.linspace(1, 2, 60)}, on="run")
    assert "scale" in str(joined.display(["scale", "joined_entry"]))
    assert joined.take("scale").value.tolist() == [np.linspace(1, 2, 60)[run] for run, _ in sides.keys]
    remote = DataFrame("Events", sides.left, executor=Shuffled(0)).join({"run": np.arange(60)}, on="run")
    with pytest.raises(colonnade.Error, match="memory"):
        remote.count().value  # noqa: B018


# ---- Errors


def test_a_damaged_side_is_an_error_that_names_it(tmp_path: Path) -> None:
    right = tmp_path / "r.root"
    with colonnade.create(right, "Events") as writer:
        writer.extend({"run": np.arange(100_000), "x": np.random.default_rng(1).normal(size=100_000)})
    joined = DataFrame.from_arrays({"run": np.arange(100_000)}).join("Events", right, on="run")
    content = bytearray(right.read_bytes())
    content[len(content) // 2] ^= 1
    right.write_bytes(content)
    with pytest.raises(colonnade.Error, match=r"r\.root"):
        joined.sum("x").value  # noqa: B018
    content[len(content) // 2] ^= 1
    right.write_bytes(content)
    assert joined.sum("x").value != 0  # what failed is tried again


@pytest.mark.parametrize(
    ("on", "error", "message"),
    [
        ([], colonnade.UsageError, "at least one key"),
        (["run", "number"], colonnade.TypeMismatchError, "'number' is of type double; keys are integers"),
        (["text"], colonnade.TypeMismatchError, "keys are integers"),
        ({"run": "maybe"}, colonnade.TypeMismatchError, "keys are integers"),
        (["nothing"], colonnade.NotFoundError, "no column 'nothing'"),
        ({"x": "run"}, colonnade.TypeMismatchError, "'x' is of type double; keys are integers"),
        ({"nothing": "run"}, colonnade.NotFoundError, "nothing"),
    ],
)
def test_wrong_keys(sides: Sides, on: Any, error: type[Exception], message: str) -> None:
    df = DataFrame("Events", sides.left)
    with pytest.raises(error, match=message):
        df.join("More", sides.right, on=on)
    # Nothing of it is left behind.
    assert df.join("More", sides.right, on=["run", "event"]).count().value > 0


def test_wrong_words(sides: Sides) -> None:
    df = DataFrame("Events", sides.left)
    with pytest.raises(colonnade.UsageError, match="how must be 'inner' or 'left', not"):
        df.join("More", sides.right, on="run", how="outer")  # type: ignore[arg-type]
    with pytest.raises(colonnade.UsageError, match="duplicates must be 'error' or 'first', not"):
        df.join("More", sides.right, on="run", duplicates="last")  # type: ignore[arg-type]
    with pytest.raises(colonnade.NotFoundError, match="no column 'nothing'"):
        df.join("More", sides.right, on="run", columns="nothing")
    joined = df.join("More", sides.right, on=["run", "event"])
    with pytest.raises(colonnade.UsageError, match=r"join 'More': .*'More_entry'.*prefix="):
        joined.join("More", sides.right, on=["run", "event"])


def test_files_of_which_some_lack_a_column(sides: Sides, tmp_path: Path) -> None:
    for k, extra in enumerate(({}, {"late": np.ones(4)})):
        with colonnade.create(tmp_path / f"{k}.root", "More") as writer:
            writer.extend({"run": np.arange(4) + 4 * k, "value": np.arange(4.0), **extra})
    df = DataFrame("Events", sides.left).join("More", [tmp_path / "1.root", tmp_path / "0.root"], on="run")
    assert df.take("value").value.tolist() == [float(r % 4) for r, _ in sides.keys if r < 8]
    with pytest.raises(colonnade.UnsupportedError, match="late"):
        df.sum("late").value  # noqa: B018


def test_keys_that_collide_at_random(sides: Sides) -> None:
    """Tables larger than one region, filled by several threads: all are found, and nothing else is."""
    entries = 300_000
    shuffled = np.random.default_rng(3).permutation(entries)
    right = {"key": shuffled.astype(np.uint64) << np.uint64(40), "value": shuffled.astype(np.int64)}
    asked = np.array([random.Random(k).randrange(2 * entries) for k in range(5000)], dtype=np.uint64)
    df = DataFrame.from_arrays({"key": asked << np.uint64(40)}).join(right, on="key")
    assert df.take("value").value.tolist() == [int(k) for k in asked if k < entries]


@pytest.fixture
def differing(tmp_path: Path) -> list[str]:
    """Three files with keys from 0 to 5, of which the second has the other columns, and records of their own."""
    contents: list[dict[str, Any]] = [
        {"k": [0, 1], "r": [{"p": 1, "q": 2}] * 2},
        {"k": [2, 3], "r": [{"p": 3, "z": 4}] * 2, "x": [2.5, 3.5], "s": ["two", ""], "v": [[1], [2, 3]]},
        {"k": [4, 5], "r": [{"p": 5, "q": 6}] * 2, "v": [[], [4]]},
    ]
    files = [str(tmp_path / f"{number}.root") for number in range(3)]
    for file, columns in zip(files, contents, strict=True):
        with colonnade.create(file, "Other") as writer:
            writer.extend(columns)
    return files


@pytest.mark.parametrize("how", ["left", "inner"])
@pytest.mark.parametrize("order", [(0, 1, 2), (1, 2, 0), (2, 0, 1)])
def test_joined_chains_keep_what_they_do_with_missing_fields(
    differing: list[str], tmp_path: Path, how: Any, order: tuple[int, ...]
) -> None:
    with colonnade.create(tmp_path / "f.root", "Events") as writer:
        writer.extend({"k": [5, 0, 3, 9, 2, 4]})
    events = colonnade.open(tmp_path / "f.root")
    with ThreadPoolExecutor(2) as pool:
        for missing, columns in (("fill", ["s", "v", "x"]), ("skip", [])):
            chain = colonnade.open([differing[each] for each in order], missing=missing)  # type: ignore[arg-type]
            joined = events.join(chain, on="k", how=how)
            names = ["k", "Other_entry", *columns]
            plain = DataFrame(events).join(chain, on="k", how=how)
            sent = DataFrame("Events", tmp_path / "f.root", executor=pool).join(chain, on="k", how=how)
            for frame in (plain, sent, DataFrame(joined)):
                assert sorted(frame.column_names) == sorted(names)
                with pytest.warns(colonnade.LeftOutWarning, match=r"'r' \(.*no type holds both: 'r\."):
                    found = frame.to_arrow()
                assert found.select(columns).to_pylist() == joined.arrays(columns).to_list()
            if columns:
                assert plain.filter("x.has_value()").take("s").value.to_list() == ["", "two"]
                assert plain.column_type("v") == "std::optional<std::vector<std::int64_t>>"


def test_joined_columns_that_no_type_holds_are_told_by_name(differing: list[str]) -> None:
    chain = colonnade.open(differing, missing="fill")
    frame = DataFrame.from_arrays({"k": [1]})
    with pytest.raises(colonnade.SchemaError, match=r"'r\.q' is only in"):
        frame.join(chain, on="k", columns=["r"])
    without = DataFrame.from_arrays({"k": [1]}).join("Other", differing, on="k", how="left")
    with pytest.raises(
        colonnade.UnsupportedError, match=r"0\.root/Other has no column 'x'.*missing=\"fill\""
    ):
        _ = without.take("x").value
