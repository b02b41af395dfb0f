"""Computed columns step by step, and as Arrow streams: what a whole pass gives, in pieces."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import awkward as ak
import duckdb
import numpy as np
import polars
import pyarrow
import pytest

import colonnade

ENTRIES = 2000


@pytest.fixture
def frame(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> colonnade.DataFrame:
    """Parts of 30 entries, of lists of growing length."""
    monkeypatch.setenv("COLONNADE_TEST_PART_ENTRIES", "30")
    path = str(tmp_path / "f.root")
    numbers = np.arange(ENTRIES)
    lists = ak.unflatten(np.arange((numbers % 5).sum(), dtype=np.float32), numbers % 5)
    with colonnade.create(path, "Events", {"n": "int", "v": "std::vector<float>", "s": "std::string"}) as w:
        w.extend({"n": numbers, "v": lists, "s": [f"é{k}" for k in range(ENTRIES)]})
    return colonnade.DataFrame("Events", path)


def node_of(frame: colonnade.DataFrame) -> colonnade.DataFrame:
    """Some rows with a definition."""
    return frame.filter("n % 3 != 1").define("m", "Sum(v)")


@pytest.mark.parametrize("step", [1, 7, 30, 100, 5000, "1 kB", "20 kB", "1 GB"])
def test_steps_together_are_the_whole(frame: colonnade.DataFrame, step: int | str) -> None:
    """By entries and by memory, in every library."""
    if step == 1:
        frame = frame.filter("n < 40")
    node = node_of(frame)
    whole = node.to_awkward(["n", "m", "v", "s"])
    steps = list(node.iterate(["n", "m", "v", "s"], step_size=step))
    assert ak.array_equal(ak.concatenate(steps), whole)
    if isinstance(step, int):
        assert all(0 < len(each) <= step for each in steps)
    elif step == "1 kB":
        assert len(steps) > 30
        assert all(each.nbytes < 2000 for each in steps)
    tables = list(node.iterate(["n", "s"], step_size=step, library="pa"))
    assert pyarrow.concat_tables(tables).to_pylist() == ak.to_list(whole[["n", "s"]])
    dictionaries = list(node.iterate(["n"], step_size=step, library="np"))
    assert np.array_equal(np.concatenate([each["n"] for each in dictionaries]), whole.n)
    assert sum(len(each) for each in node.iterate("n", step_size=step, library="pd")) == len(whole)
    assert sum(each.height for each in node.iterate("n", step_size=step, library="pl")) == len(whole)


def test_steps_leave_other_results_booked(frame: colonnade.DataFrame) -> None:
    """They are computed neither with a step nor for its entries alone."""
    count = frame.count()
    first = next(frame.iterate(["n"], step_size=10))
    assert len(first) == 10
    assert not count.is_ready
    assert count.value == ENTRIES
    assert frame.num_runs == 1


def test_steps_of_some_entries_and_behind_a_range(frame: colonnade.DataFrame) -> None:
    """`entries` is heeded; a range counts from the first entry of all, not of a step."""
    path = frame.files[0].rpartition("/")[0]
    some = colonnade.DataFrame("Events", path, entries=(95, 333))
    found = ak.concatenate(list(some.iterate(["n"], step_size=50)))
    assert found.n.to_list() == list(range(95, 333))
    ranged = frame.filter("n % 2").range(10, 200, 3)
    steps = list(ranged.iterate(["n"], step_size=20))
    assert [len(each) for each in steps] == [20, 20, 20, 4]
    assert [n for each in steps for n in each.n.to_list()] == list(range(21, 401, 6))
    assert ranged.to_arrow_reader(["n"]).read_all().num_rows == 64


def test_callables_run_in_steps(frame: colonnade.DataFrame) -> None:
    """Python functions are called in each step; what one raises passes through."""
    doubled = frame.define("d", lambda n: n * 2)
    assert [d for each in doubled.iterate(["d"], step_size=333) for d in each.d.to_list()] == list(
        range(0, 2 * ENTRIES, 2)
    )

    def spoilt(n: Any) -> Any:
        if (n >= 1000).any():
            raise ValueError("spoilt")
        return n

    steps = frame.define("d", spoilt, returns="int").iterate(["d"], step_size=500)
    assert len(next(steps)) + len(next(steps)) == 1000
    with pytest.raises(ValueError, match="spoilt"):
        next(steps)


def test_arrow_streams(frame: colonnade.DataFrame) -> None:
    """PyArrow, Polars and DuckDB take a DataFrame as it is."""
    node = node_of(frame)
    rows = node.count().value
    table = pyarrow.table(node)
    assert table.column_names == ["n", "v", "s", "m"]
    assert table.to_pylist() == ak.to_list(node.to_awkward(["n", "v", "s", "m"]))
    assert polars.DataFrame(node).height == rows
    assert duckdb.sql("select count(*), sum(n) from node").fetchall() == [(rows, int(node.sum("n").value))]
    nothing = frame.filter("n < 0")
    assert pyarrow.table(nothing).schema == pyarrow.table(frame).schema
    reader = node.to_arrow_reader(["s"], step_size=100)
    assert next(iter(reader)).num_rows < 100


def test_misuse_is_told(frame: colonnade.DataFrame) -> None:
    """Sizes and libraries that are none."""
    for size, text in ((0, "at least one entry"), ("0 MB", "at least one byte"), ("much", "is not a size")):
        with pytest.raises(colonnade.UsageError, match=text):
            next(frame.iterate(["n"], step_size=size))
    with pytest.raises(colonnade.UsageError, match="unknown library"):
        next(frame.iterate(["n"], library="tf"))  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", range(10))
def test_steps_hold_the_rows_of_their_entries(
    frame: colonnade.DataFrame, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many are computed together, behind any filter, and for some of the entries."""
    random = np.random.default_rng(seed)
    monkeypatch.setattr("colonnade.frame.steps._TOGETHER", int(random.choice([1, 300, 5000, 1 << 24])))
    step, modulus, least = (
        int(random.integers(1, 400)),
        int(random.integers(1, 50)),
        int(random.integers(0, 1500)),
    )
    begin = int(random.integers(0, 300))
    end = int(random.integers(begin, ENTRIES + 1))
    some = colonnade.DataFrame("Events", frame.files[0].rpartition("/")[0], entries=(begin, end))
    kept = some.filter(f"n % {modulus} == 0 && n >= {least}")
    columns = ["n", "rdfentry_"] if seed % 2 else ["n"]
    found = [each["n"].tolist() for each in kept.iterate(columns, step_size=step, library="np")]
    passing = [
        [n for n in range(first, min(first + step, end)) if n % modulus == 0 and n >= least]
        for first in range(begin, end, step)
    ]
    assert found == [each for each in passing if each]
    pandas = list(kept.iterate("n", step_size=step, library="pd"))
    assert [each.n.tolist() for each in pandas] == found
    assert all(each.index[0] == 0 for each in pandas)
