"""Axes of `hist`: they fill as in `hist` and come back as they were given."""

from __future__ import annotations

import random
from decimal import Decimal

import awkward as ak
import boost_histogram as bh
import hist
import numpy as np
import pytest

import colonnade
from colonnade import DataFrame

COUNT = 2000


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(7)
    real = rng.normal(2, 3, COUNT)
    real[::7] = np.round(real[::7] * 2) / 2  # on edges
    real[::101] = [np.nan, np.inf, -np.inf][0]
    real[5::211], real[6::211] = np.inf, -np.inf
    return {
        "real": real,
        "whole": rng.integers(-6, 9, COUNT),
        "yes": rng.random(COUNT) < 0.3,
        "text": [str(each) for each in rng.choice(["a", "b", "longer", ""], COUNT)],
        "w": rng.integers(1, 5, COUNT) / 4,
        "y": rng.integers(-8, 8, COUNT) / 8,
    }


def random_axis(rng: random.Random, name: str):
    """An axis, and the column that goes with it."""
    ends = {"underflow": rng.random() < 0.7, "overflow": rng.random() < 0.7}
    texts = {"name": name if rng.random() < 0.5 else "", "label": rng.choice(["", "a label"])}
    low = rng.choice([-3, -0.5, 0, 1.25])
    high = low + rng.choice([1, 3.7, 10])
    bins = rng.randint(1, 12)
    edges = np.unique(np.round([rng.uniform(-5, 8) for _ in range(bins + 1)] + [-1, 2.5], 1))
    whole = rng.randint(-4, 3)
    numbers = rng.sample(range(-8, 10), rng.randint(1, 8))
    transform = rng.choice([hist.axis.transform.sqrt, hist.axis.transform.log, hist.axis.transform.Pow(1.5)])
    makers = [
        lambda: ("real", hist.axis.Regular(bins, low, high, **ends, **texts)),
        lambda: ("whole", hist.axis.Regular(bins, low, high, **texts)),
        lambda: ("real", hist.axis.Regular(bins, low, high, circular=True, **texts)),
        lambda: ("real", hist.axis.Regular(bins, low, high, growth=True, **texts)),
        lambda: ("real", hist.axis.Regular(bins, 0.5, high + 4, transform=transform, **texts)),
        lambda: ("real", hist.axis.Variable(edges, **ends, **texts)),
        lambda: ("real", hist.axis.Variable(edges, circular=True, **texts)),
        lambda: ("whole", hist.axis.Integer(whole, whole + bins, **ends, **texts)),
        lambda: ("whole", hist.axis.Integer(whole, whole + bins, circular=True, **texts)),
        lambda: ("whole", hist.axis.Integer(whole, whole + bins, growth=True, **texts)),
        lambda: ("yes", hist.axis.Boolean(**texts)),
        lambda: ("whole", hist.axis.IntCategory(numbers, overflow=ends["overflow"], **texts)),
        lambda: ("whole", hist.axis.IntCategory(numbers[:1], growth=True, **texts)),
        lambda: ("text", hist.axis.StrCategory(["b", "a"], overflow=ends["overflow"], **texts)),
        lambda: ("text", hist.axis.StrCategory([], growth=True, **texts)),
    ]
    return rng.choice(makers)()


def same(got, expected):
    assert list(got.axes) == list(expected.axes)
    assert got.storage_type is expected.storage_type
    if got.storage_type is hist.storage.WeightedMean:
        np.testing.assert_array_equal(
            got.view(flow=True)["sum_of_weights"], expected.view(flow=True)["sum_of_weights"]
        )
        np.testing.assert_allclose(got.values(flow=True), expected.values(flow=True), rtol=1e-9, atol=1e-12)
        return
    np.testing.assert_array_equal(got.values(flow=True), expected.values(flow=True))
    if got.storage_type is hist.storage.Weight:
        np.testing.assert_array_equal(got.variances(flow=True), expected.variances(flow=True))
    else:
        assert got.variances() is not None


@pytest.mark.parametrize("seed", range(150))
def test_random_axes_fill_as_in_hist(data, seed):
    rng = random.Random(seed)
    picked = [random_axis(rng, f"axis{k}") for k in range(rng.randint(1, 3))]
    columns, axes = [name for name, _ in picked], [axis for _, axis in picked]
    if any(
        axis.traits.growth for axis in axes
    ):  # what is not finite grows nothing, and no limits are made of it
        finite = np.isfinite(data["real"])
        data = {
            name: np.asarray(values)[finite].tolist() if name == "text" else values[finite]
            for name, values in data.items()
        }
    frame = DataFrame.from_arrays(data, threads=rng.choice([1, 3]), block_entries=300)
    kind = rng.choice(["plain", "weighted", "profile"])
    values = [data[name] for name in columns]
    if kind == "profile" and len(axes) < 3:
        expected = hist.Hist(*axes, storage=hist.storage.WeightedMean()).fill(*values, sample=data["y"])
        book = frame.profile1d if len(axes) == 1 else frame.profile2d
        same(book(tuple(axes), *columns, "y").value, expected)
        return
    weight = "w" if kind == "weighted" else None
    storage = hist.storage.Weight() if weight else hist.storage.Double()
    expected = hist.Hist(*axes, storage=storage).fill(*values, **({"weight": data["w"]} if weight else {}))
    same(frame.histond(tuple(axes), columns, weight).value, expected)


def test_what_was_seen_to_be_wrong():
    frame = DataFrame.from_arrays({"x": np.array([0, 1, 1, 2, 2, 2, 3])})
    made = frame.histo1d(hist.axis.IntCategory([1, 2]), "x").value
    assert made.values().tolist() == [2, 3]
    assert made.values(flow=True).tolist() == [2, 3, 2]


def test_axes_of_boost_histogram_and_of_models():
    frame = DataFrame.from_arrays({"x": np.array([0, 1, 1, 2]), "y": np.array([0.5, 1.5, 2.5, 3.5])})
    made = frame.histo2d(("name", "title", bh.axis.Integer(0, 2), 4, 0, 4), "x", "y").value
    assert made.label == "title"
    assert made.values().tolist() == [[1, 0, 0, 0], [0, 1, 1, 0]]
    grown = frame.histo2d((hist.axis.IntCategory([], growth=True), (2, 0, 4)), "x", "y").value
    assert list(grown.axes[0]) == [0, 1, 2]
    assert grown.values().tolist() == [[1, 0], [1, 1], [0, 1]]


@pytest.mark.filterwarnings("error")
def test_names_of_axes_are_those_that_hist_takes():
    columns = ("x", "sample", "threads", "weight")
    frame = DataFrame.from_arrays({name: np.arange(4) for name in columns})
    plain, named = (4, 0, 4), hist.axis.Regular(4, 0, 4, name="x")
    for axis in (named, hist.axis.Regular(4, 0, 4, name="x", growth=True)):
        made = frame.histond([*[plain] * 4, axis], [*columns, "x"]).value
        assert [each.name for each in made.axes] == ["", "", "", "", "x"]
        assert [each.label for each in made.axes] == [*columns, "x"]
    assert [each.name for each in frame.histo2d([plain] * 2, "x", "x").value.axes] == ["x", ""]
    with pytest.raises(colonnade.UsageError, match="two axes have the name 'x'"):
        frame.histo2d([named, named], "x", "weight")


def test_lists_of_texts_and_numbers_count_per_item():
    frame = DataFrame.from_arrays(
        {"s": ak.Array([["a", "b"], [], ["b"]]), "v": ak.Array([[1, 2], [], [3]]), "n": np.array([5, 6, 7])}
    )
    texts = frame.histo1d(hist.axis.StrCategory(["b", "a"]), "s").value
    assert texts.values().tolist() == [2, 1]
    long = DataFrame.from_arrays({"s": np.array(["a", "a" * 1000, "a"])})
    assert long.histo1d(hist.axis.StrCategory(["a" * 1000, "a"]), "s").value.values().tolist() == [1, 2]
    two = frame.histo2d(
        (hist.axis.StrCategory([], growth=True), hist.axis.Integer(0, 10)), "s", "n", weight="v"
    ).value
    assert two[{0: hist.loc("b"), 1: hist.loc(5)}].value == 2
    assert frame.fill(hist.Hist(hist.axis.Integer(0, 5)), "v").value.sum() == 3


def test_axes_that_cannot_be_filled_are_refused(data):
    frame = DataFrame.from_arrays(data)
    with pytest.raises(
        colonnade.TypeMismatchError, match="integers from 0 to 3 cannot be filled with 'real'"
    ):
        frame.histo1d(hist.axis.Integer(0, 3), "real")
    with pytest.raises(colonnade.TypeMismatchError):
        frame.histo1d(hist.axis.Regular(3, 0, 1), "text")
    with pytest.raises(colonnade.UsageError, match="takes no limits"):
        frame.profile1d(hist.axis.StrCategory(["a"]), "text", "y", limits=(0, 1))


def test_numbers_of_numpy_are_bins():
    """Not edges: a tuple of three has the bins first."""
    frame = DataFrame.from_arrays({"x": [2.5, 3.5]})
    axis = frame.histo1d(("h", "t", (np.int64(1), 2.0, 4.0)), "x").value.axes[0]
    assert axis.edges.tolist() == [2.0, 4.0]


@pytest.mark.parametrize("rest", [(np.uint8(10), None, 4), (None, 0, 1), (Decimal(10), 0, 1), ([0, "a"],)])
def test_what_is_no_axis_is_told(rest):
    with pytest.raises(colonnade.UsageError, match="the edges of an axis cannot be"):
        DataFrame.from_arrays({"x": [1.0]}).histo1d(("h", "t", *rest), "x")
