"""What type checkers are told of results is what comes out: pytest runs this file, `make typing` checks it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, assert_type

import awkward as ak
import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray

import colonnade
from colonnade import DataFrame, RDataFrame, Report, Result, Stats
from colonnade.frame.node import Description
from colonnade.frame.root.facade import VariationsFor
from colonnade.frame.root.histograms import HistogramView, ProfileView, StatsView
from colonnade.frame.root.results import ReportView, RResultMap, RResultPtr
from colonnade.frame.summaries import Summary
from colonnade.reading.dataset import Library


@pytest.fixture
def file(tmp_path: Path) -> Path:
    with colonnade.create(tmp_path / "f.root", "Events") as writer:
        writer.extend({"x": np.arange(10) / 2, "n": np.arange(10)})
    return tmp_path / "f.root"


def test_arrays_are_those_of_the_library(file: Path) -> None:
    ds = colonnade.open(file)
    whole = assert_type(ds.arrays(["x"]), ak.Array)
    some = assert_type(ds.arrays(["x"], library="np", entry_start=2), dict[str, NDArray[Any]])
    table = assert_type(ds.arrays(["x"], library="pa", entry_stop=3), pa.Table)
    steps = assert_type(ds.iterate(step_size=4, library="np"), Iterator[dict[str, NDArray[Any]]])
    first = assert_type(ds.head(3, library="np"), dict[str, NDArray[Any]])
    assert isinstance(whole, ak.Array)
    assert isinstance(some["x"], np.ndarray)
    assert table.num_rows == 3
    assert [len(step["x"]) for step in steps] == [4, 4, 2]
    assert len(first["n"]) == 3


@pytest.mark.parametrize(("library", "kind"), [("ak", ak.Array), ("np", dict), ("pa", pa.Table)])
def test_a_library_may_be_chosen_at_run_time(file: Path, library: Library, kind: type) -> None:
    arrays: Any = colonnade.open(file).arrays(library=library)
    assert isinstance(arrays, kind)


def test_results_have_the_type_of_their_value(file: Path) -> None:
    df = DataFrame("Events", file)
    count = assert_type(df.count(), Result[int])
    mean = assert_type(df.filter("n > 2").mean("x"), Result[float])
    total = assert_type(df.sum("x"), Result[float])
    median = assert_type(df.quantile("x"), Result[float])
    quartiles = assert_type(df.quantile("x", [0.25, 0.75]), Result[NDArray[np.float64]])
    stats = assert_type(df.stats("x"), Result[Stats])
    report = assert_type(df.report(), Result[Report])
    text = assert_type(df.describe(), Description)
    numbers = assert_type(df.describe(numeric=True), Result[Summary])
    assert isinstance(assert_type(count.value, int), int)
    for each in (mean, total, median):
        assert isinstance(assert_type(each.value, float), float)
    assert isinstance(assert_type(stats.value, Stats).mean, float)
    assert quartiles.value.dtype == np.float64
    assert isinstance(report.value, Report)
    assert "Columns" in str(text)
    assert numbers.value["n"]["max"] == 9


def test_variations_and_callbacks_have_it_too(file: Path) -> None:
    df = DataFrame("Events", file).vary("x", "{x * 0.5, x * 2.0}", ["down", "up"])
    varied = df.variations_for(df.mean("x"))
    assert assert_type(varied["x:up"], float) == 4.5
    seen: list[float] = []
    result = assert_type(df.mean("x").on_partial(seen.append), Result[float])
    assert result.value == 2.25


def test_roots_dialect_has_types(file: Path) -> None:
    df = RDataFrame("Events", str(file))
    count = assert_type(df.Count(), RResultPtr[int])
    mean = assert_type(df.Filter("n > 2").Mean("x"), RResultPtr[float])
    greatest = assert_type(df.Max["double"]("x"), RResultPtr[float])
    histogram = assert_type(df.Histo1D(("h", "h", 10, 0, 5), "x"), RResultPtr[HistogramView])
    profile = assert_type(df.Profile1D(("p", "p", 10, 0, 5), "x", "n"), RResultPtr[ProfileView])
    report = assert_type(df.Report(), RResultPtr[ReportView])
    stats = assert_type(df.Stats("x"), RResultPtr[StatsView])
    assert assert_type(count.GetValue(), int) == 10
    assert assert_type(mean.GetValue(), float) == 3
    assert greatest.GetValue() == 4.5
    assert assert_type(histogram.GetValue(), HistogramView).GetEntries() == 10
    assert profile.GetValue().GetEntries() == 10
    assert len(report.GetValue()) == 0
    assert stats.GetValue().GetMean() == 2.25
    varied = df.Vary("x", "ROOT::RVecD{x * 0.5, x * 2.0}", ["down", "up"], "s").Mean("x")
    found = assert_type(VariationsFor(varied), RResultMap[float])
    assert found["s:down"] == 1.125
