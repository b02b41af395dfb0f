"""Joins by key against pandas: random tables, several keys, threads, variations, and other machines."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import awkward as ak
import hypothesis.strategies as st
import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings

import colonnade
from colonnade import DataFrame

KEY_TYPES = [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64]


def write(
    path: Path, columns: dict[str, Any], name: str = "Events", schema: dict[str, Any] | None = None
) -> str:
    with colonnade.create(path, name, schema=schema) as writing:
        writing.extend(columns)
    return str(path)


def values_of(df: DataFrame, columns: list[str]) -> list[dict[str, Any]]:
    return df.to_arrow(columns).to_pylist()


@st.composite
def keys(draw: st.DrawFn, unique: bool, kinds: list[Any], size: int) -> list[np.ndarray[Any, Any]]:
    """Make columns of keys from few values, so that many match."""
    columns = []
    for kind in kinds:
        info = np.iinfo(kind)
        pool = st.sampled_from([0, 1, 2, 3, int(info.min), int(info.max), 100])
        columns.append(draw(st.lists(pool, min_size=size, max_size=size)))
    rows = list(zip(*columns, strict=True))
    if unique:
        rows = list(dict.fromkeys(rows))
    return [np.array([row[k] for row in rows], kind) for k, kind in enumerate(kinds)]


@given(data=st.data())
@settings(max_examples=120, deadline=None, suppress_health_check=list(HealthCheck))
def test_random_joins_are_those_of_pandas(tmp_path: Path, data: st.DataObject) -> None:
    draw = data.draw
    count = draw(st.integers(1, 3))
    left_kinds = [draw(st.sampled_from(KEY_TYPES)) for _ in range(count)]
    right_kinds = [draw(st.sampled_from(KEY_TYPES)) for _ in range(count)]
    left = draw(keys(False, left_kinds, draw(st.integers(0, 30))))
    right = draw(keys(True, right_kinds, draw(st.integers(0, 30))))
    names = [f"k{k}" for k in range(count)]
    rows = len(right[0])
    more: dict[str, Any] = {
        "y": np.arange(rows) * 1.5,
        "s": [f"text {i}" for i in range(rows)],
        "v": ak.Array([[0], *([i] * (i % 3) for i in range(rows))])[1:],
        "o": ak.Array([None, 1.0, *(None if i % 2 else float(i) for i in range(rows))])[2:],
    }
    (tmp_path / "l.root").unlink(missing_ok=True)
    left_columns = dict(zip(names, left, strict=True)) | {"x": np.arange(len(left[0]))}
    left_types = {name: f"std::{np.dtype(kind).name}_t" for name, kind in zip(names, left_kinds, strict=True)}
    first = write(tmp_path / "l.root", left_columns, schema=left_types | {"x": "std::int64_t"})
    # The other side in two files, whose borders mean nothing.
    cut = draw(st.integers(0, rows))
    others = []
    types = {name: f"std::{np.dtype(kind).name}_t" for name, kind in zip(names, right_kinds, strict=True)}
    types |= {
        "y": "double",
        "s": "std::string",
        "v": "std::vector<std::int64_t>",
        "o": "std::optional<double>",
    }
    for number, part in enumerate((slice(0, cut), slice(cut, rows))):
        (tmp_path / f"r{number}.root").unlink(missing_ok=True)
        columns = dict(zip(names, right, strict=True)) | more
        here = {name: of[part] for name, of in columns.items()}
        others.append(write(tmp_path / f"r{number}.root", here, "More", types))

    index = {tuple(int(column[i]) for column in right): i for i in range(rows)}
    matches = [index.get(tuple(int(column[i]) for column in left), -1) for i in range(len(left[0]))]
    for threads in (1, 2):
        df = DataFrame("Events", first, threads=threads)
        inner = df.join("More", others, on=names)
        expected = [
            {"x": i, "y": more["y"][at], "s": more["s"][at], "v": more["v"][at].to_list(), "o": more["o"][at],
             "More_entry": at}
            for i, at in enumerate(matches) if at >= 0
        ]  # fmt: skip
        assert values_of(inner, ["x", "y", "s", "v", "o", "More_entry"]) == expected
        outer = df.join("More", others, on=names, how="left")
        expected = [
            {"x": i, "y": None if at < 0 else more["y"][at], "s": None if at < 0 else more["s"][at],
             "v": None if at < 0 else more["v"][at].to_list(), "o": None if at < 0 else more["o"][at],
             "More_entry": at}
            for i, at in enumerate(matches)
        ]  # fmt: skip
        assert values_of(outer, ["x", "y", "s", "v", "o", "More_entry"]) == expected


def events(count: int, seed: int = 1) -> dict[str, np.ndarray[Any, Any]]:
    random = np.random.default_rng(seed)
    return {
        "run": random.integers(1, 50, count).astype(np.uint32),
        "event": random.permutation(count).astype(np.uint64),
        "pt": random.normal(50, 10, count),
    }


@pytest.fixture(scope="module")
def sides(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str, pd.DataFrame]:
    """Two data sets with the same events in other orders, three quarters of them in both."""
    folder = tmp_path_factory.mktemp("joins")
    left = events(40_000)
    order = np.random.default_rng(2).permutation(40_000)[:30_000]
    right = {"run": left["run"][order].astype(np.int32), "event": left["event"][order].astype(np.int64),
             "mass": left["pt"][order] * 2, "pt": left["pt"][order]}  # fmt: skip
    merged = pd.DataFrame(left).merge(
        pd.DataFrame(right), on=["run", "event"], how="left", suffixes=("", "_right")
    )
    return write(folder / "l.root", left), write(folder / "r.root", right, "More"), merged


def test_names_that_are_taken(sides: tuple[str, str, pd.DataFrame]) -> None:
    left, right, merged = sides
    df = DataFrame("Events", left)
    joined = df.join("More", right, on=["run", "event"])
    assert joined.defined_column_names[-3:] == ["More_entry", "mass", "More_pt"]
    found = merged[merged.mass.notna()]
    assert (joined.to_numpy(["mass"])["mass"] == found.mass).all()
    assert (joined.to_numpy(["More_pt"])["More_pt"] == found.pt_right).all()
    other = df.join("More", right, on=["run", "event"], columns="pt", prefix="r_")
    assert other.defined_column_names[-2:] == ["r_entry", "r_pt"]
    assert other.count().value == len(found)
    twice = joined.join("More", right, on=["run", "event"], prefix="again_", how="left")
    assert twice.filter("again_mass.value() == mass").count().value == len(found)


def test_keys_that_are_expressions_behind_filters(sides: tuple[str, str, pd.DataFrame]) -> None:
    left, right, merged = sides
    df = DataFrame("Events", left).filter("pt > 50").define("number", "event + 1")
    joined = df.join("More", right, on={"run": "run", "number - 1": "event"})
    expected = merged[(merged.pt > 50) & merged.mass.notna()]
    assert joined.count().value == len(expected)
    assert joined.sum("mass").value == pytest.approx(expected.mass.sum())
    assert (joined.to_numpy(["mass"])["mass"] == expected.mass).all()


def test_left_joins_say_what_is_missing(sides: tuple[str, str, pd.DataFrame]) -> None:
    left, right, merged = sides
    joined = DataFrame("Events", left).join("More", right, on=["run", "event"], how="left")
    assert joined.count().value == len(merged)
    assert joined.filter("!mass.has_value()").count().value == merged.mass.isna().sum()
    filled = joined.define("m", "mass.value_or(-1)").to_numpy(["m"])["m"]
    assert (filled == merged.mass.fillna(-1)).all()


def test_the_same_bits_for_any_number_of_threads(
    sides: tuple[str, str, pd.DataFrame], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLONNADE_TEST_PART_ENTRIES", "500")
    left, right, _ = sides
    seen = set()
    for threads in (1, 2, 3, 7):
        df = DataFrame("Events", left, threads=threads).join("More", right, on=["run", "event"])
        df = df.vary("mass", "{mass * 0.9, mass * 1.1}", ["down", "up"])
        histogram = colonnade.variations_for(df.histo1d(("h", "", 50, 0, 200), "mass", "More_pt"))
        bits = [histogram[key].values(flow=True).tobytes() for key in ("nominal", "mass:down", "mass:up")]
        seen.add((*bits, df.mean("mass").value))
    assert len(seen) == 1


def test_variations_of_keys(tmp_path: Path) -> None:
    left = write(tmp_path / "l.root", {"slot": np.array([0, 1, 2])})
    df = DataFrame("Events", left).vary("slot", "{slot + 1, slot + 2}", ["one", "two"])
    joined = df.join(
        {"slot": np.array([0, 1, 2, 3, 4]), "w": np.array([1.0, 10, 100, 1000, 10000])}, on="slot"
    )
    sums = colonnade.variations_for(joined.sum("w"))
    assert [sums[key] for key in ("nominal", "slot:one", "slot:two")] == [111, 1110, 11100]


def test_arrays_snapshots_and_display(sides: tuple[str, str, pd.DataFrame], tmp_path: Path) -> None:
    left, _, merged = sides
    scale = {"run": np.arange(1, 60), "scale": np.linspace(1, 2, 59)}
    joined = DataFrame("Events", left).join(scale, on="run").define("scaled", "pt * scale")
    expected = merged.pt * np.linspace(1, 2, 59)[merged.run.to_numpy() - 1]
    written = joined.snapshot(tmp_path / "o.root", "Out", ["run", "scaled"])
    assert (written.to_numpy(["scaled"])["scaled"] == expected).all()
    assert "scale" in str(joined.display(["scale", "joined_entry"]))


def test_plans_carry_joins(sides: tuple[str, str, pd.DataFrame]) -> None:
    left, right, merged = sides
    with ThreadPoolExecutor(2) as executor:
        df = DataFrame("Events", left, executor=executor, npartitions=3)
        joined = df.join("More", right, on=["run", "event"], how="left").define("m", "mass.value_or(0)")
        local = DataFrame("Events", left).join("More", right, on=["run", "event"], how="left")
        local = local.define("m", "mass.value_or(0)")
        assert joined.sum("m").value == local.sum("m").value
        there, here = (each.histo1d(("h", "", 40, 0, 200), "m").value for each in (joined, local))
        assert (there.values(flow=True) == here.values(flow=True)).all()
        assert joined.filter("mass.has_value()").count().value == merged.mass.notna().sum()
        in_memory = df.join({"run": np.arange(60)}, on="run")
        with pytest.raises(colonnade.Error, match="memory"):
            in_memory.count().value  # noqa: B018


# ---- What does not go


def test_duplicates_are_an_error_unless_the_first_is_wanted(tmp_path: Path) -> None:
    left = write(tmp_path / "l.root", {"run": np.array([5, -7])})
    right = {"run": np.array([5, -7, 8, -7, 5]), "x": np.arange(5)}
    df = DataFrame("Events", left)
    with pytest.raises(colonnade.UsageError, match=r"entries 1 and 3 have the same key \(run = -7\)"):
        df.join(right, on="run").count().value  # noqa: B018
    assert df.join(right, on="run", duplicates="first").to_numpy(["x"])["x"].tolist() == [0, 1]


def test_misuse(tmp_path: Path, sides: tuple[str, str, pd.DataFrame]) -> None:
    left, right, _ = sides
    df = DataFrame("Events", left)
    with pytest.raises(colonnade.NotFoundError, match="nothing"):
        df.join("More", right, on="nothing")
    with pytest.raises(colonnade.TypeMismatchError, match="keys are integers"):
        df.join("More", right, on={"run": "mass"})
    with pytest.raises(colonnade.TypeMismatchError, match="keys are integers"):
        df.join("More", right, on={"pt": "run"})
    with pytest.raises(colonnade.UsageError, match="at least one key"):
        df.join("More", right, on=[])
    with pytest.raises(colonnade.NotFoundError, match="no column 'x' that can be taken"):
        df.join("More", right, on="run", columns=["x"])
    with pytest.raises(colonnade.UsageError, match="no way to join"):
        df.join("More", right, on="run", how="outer")  # type: ignore[arg-type]
    joined = df.join("More", right, on=["run", "event"], how="left", prefix="r_")
    with pytest.raises(colonnade.UsageError, match="r_entry"):
        joined.join("More", right, on=["run", "event"], prefix="r_")
    # What failed left nothing behind.
    assert joined.count().value == 40_000


def test_a_damaged_side_is_an_error_that_names_it(tmp_path: Path) -> None:
    left = write(tmp_path / "l.root", {"run": np.arange(100)})
    right = Path(
        write(
            tmp_path / "r.root",
            {"run": np.arange(100_000), "x": np.random.default_rng(1).normal(size=100_000)},
        )
    )
    joined = DataFrame("Events", left).join("Events", right, on="run")
    content = bytearray(right.read_bytes())
    content[len(content) // 2] ^= 1
    right.write_bytes(content)
    with pytest.raises(colonnade.Error, match=r"r\.root"):
        joined.sum("x").value  # noqa: B018
