"""Quantiles, counts of values, summaries, luminosity masks, several results at once."""

from __future__ import annotations

import json
import math

import awkward as ak
import numpy as np
import pytest

import colonnade
from colonnade import DataFrame


@pytest.fixture
def frame():
    rng = np.random.default_rng(2)
    return DataFrame.from_arrays(
        {
            "x": rng.normal(3, 2, 1000),
            "n": rng.integers(0, 5, 1000),
            "s": [str(each) for each in rng.choice(["mu", "e"], 1000)],
            "v": ak.unflatten(np.arange(2000) % 7, [2] * 1000),
        },
        threads=3,
    )


def test_quantiles(frame):
    x = frame.take("x").value
    median, some = frame.quantile("x"), frame.filter("n > 2").quantile("x", [0.1, 0.9])
    assert median.value == np.quantile(x, 0.5)
    np.testing.assert_array_equal(some.value, np.quantile(x[frame.take("n").value > 2], [0.1, 0.9]))
    assert math.isnan(frame.filter("n > 9").quantile("x").value)
    assert frame.quantile("v", 1).value == 6


def test_counts_of_values(frame):
    values, counts = np.unique(frame.take("n").value, return_counts=True)
    found = frame.value_counts("n").value
    assert found == dict(zip(values.tolist(), counts.tolist(), strict=True))
    assert list(found.values()) == sorted(counts.tolist(), reverse=True)
    assert frame.unique("s").value == ["e", "mu"]
    assert frame.unique("v").value == list(range(7))
    assert sum(frame.value_counts("s").value.values()) == 1000
    assert frame.filter("n > 9").unique("x").value == []
    nan = DataFrame.from_arrays({"x": np.array([math.nan, 1, math.nan])}, threads=2)
    assert sorted(nan.value_counts("x").value.values()) == [1, 2]


def test_summaries(frame):
    summary = frame.summary().value
    assert frame.describe(numeric=True).value == summary
    assert "Columns" in str(frame.describe())
    assert list(summary) == ["x", "n", "v"]
    x = frame.take("x").value
    assert summary["x"]["std"] == pytest.approx(np.std(x, ddof=1))
    assert summary["v"]["count"] == 2000
    assert "25%" in str(summary)
    assert summary._repr_html_().startswith("<table>")
    assert math.isnan(frame.filter("n > 9").summary("x").value["x"]["mean"])


def test_several_results_in_one_pass(frame):
    other = DataFrame(10)
    assert colonnade.compute(frame.count(), frame.max("n"), other.count()) == (1000, 4, 10)
    assert (frame.num_runs, other.num_runs) == (1, 1)


def test_luminosity_masks(tmp_path):
    mask = tmp_path / "golden.json"
    mask.write_text(json.dumps({"1": [[2, 3], [7, 8]], "5": [[1, 1]]}))
    frame = DataFrame.from_arrays(
        {
            "run": np.array([1, 1, 1, 2, 5, 5], dtype=np.uint32),
            "luminosityBlock": np.array([2, 4, 8, 2, 1, 2], dtype=np.uint32),
        }
    )
    assert frame.filter(colonnade.json_mask(mask), name="golden").take("rdfentry_").value.tolist() == [
        0,
        2,
        4,
    ]
    renamed = frame.alias("r", "run").alias("ls", "luminosityBlock")
    assert renamed.filter(colonnade.json_mask(mask, run="r", block="ls")).count().value == 3
    mask.write_text("[1]")
    with pytest.raises(colonnade.FormatError, match="not a luminosity mask"):
        colonnade.json_mask(mask)
    with pytest.raises(colonnade.StorageError, match="cannot be read"):
        colonnade.json_mask(tmp_path / "nothing.json")
