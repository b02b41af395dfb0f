"""Quantiles, counts of values, summaries, luminosity masks, several results at once."""

from __future__ import annotations

import json
import math
import random
from collections import Counter

import awkward as ak
import hist
import numpy as np
import pytest

import colonnade
from colonnade import DataFrame, _core
from colonnade.frame import summaries
from colonnade.frame.summaries import Counts
from colonnade.frame.tallies import Tally, quantiles_of


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


def test_characters_have_signs_in_all_results(tmp_path):
    """Also in those that Python code computes, whose arrays have bytes."""
    numbers = np.array([-9, 3, 65, -128, 65], np.int8)
    lists = ak.unflatten(numbers, [2, 0, 3])
    with colonnade.create(tmp_path / "c.root", "E", {"c": "char", "i": "std::int8_t"}) as writer:
        writer.extend({"c": numbers.view(np.uint8), "i": numbers})
    with colonnade.create(
        tmp_path / "v.root", "E", {"c": "std::vector<char>", "i": "std::vector<std::int8_t>"}
    ) as writer:
        writer.extend({"c": ak.values_astype(lists, np.uint8), "i": lists})
    for file in ("c.root", "v.root"):
        df = DataFrame("E", tmp_path / file)
        c, i = (
            [
                df.sum(name),
                df.quantile(name, [0, 0.5, 1]),
                df.value_counts(name),
                df.unique(name),
                df.histo1d(hist.axis.Regular(4, -200, 300, growth=True), name),
                df.fill(hist.Hist(hist.axis.IntCategory([], growth=True)), name),
            ]
            for name in "ci"
        )
        for one, other in zip(c, i, strict=True):
            assert str(one.value) == str(other.value)
        assert str(df.summary("c").value).replace("\nc", "\ni") == str(df.summary("i").value)
        assert str(df.display("c").value).replace("c", "i") == str(df.display("i").value)


def test_sums_of_integers_are_exact_in_64_bits():
    big = 2**62 + 1
    df = DataFrame.from_arrays({"i": np.full(3, big, np.int64), "j": np.full(3, -big, np.int64)})
    for count, total in ((2, 2 * big), (3, 3 * big)):
        assert df.range(count).sum("i").value == total
        assert isinstance(df.range(count).sum("i").value, int)
    assert isinstance(df.sum("j").value, float)
    ends = DataFrame.from_arrays({"i": np.array([2**63 - 1, -(2**63)])})
    assert (ends.mean("i").value, ends.stats("i").value.sum) == (-0.5, -1)


def test_means_spreads_and_quantiles_of_the_largest_and_smallest_numbers():
    most = np.finfo(np.float64).max
    df = DataFrame.from_arrays({"x": np.array([most, most]), "y": np.array([-most, most])})
    assert (df.mean("x").value, df.stddev("x").value, df.stats("x").value.mean) == (most, 0, most)
    assert df.quantile("y", [0.25, 0.5, 1]).value == pytest.approx([-most / 2, 0, most])
    for scale in (1e-300, 1e-160, 1e160, 1e300):
        df = DataFrame.from_arrays({"x": scale * np.array([1, 3, 8])})
        assert df.stddev("x").value == pytest.approx(scale * np.std([1, 3, 8], ddof=1), rel=1e-12)


def test_the_range_is_that_of_the_numbers_where_whole_parts_have_none(monkeypatch):
    monkeypatch.setenv("COLONNADE_TEST_PART_ENTRIES", "16")
    values = np.full(400, np.nan)
    values[[3, 7]] = 5, 2
    stats = DataFrame.from_arrays({"x": values}).stats("x").value
    assert (stats.min, stats.max) == (2, 5)


def test_quantiles(frame):
    x = frame.take("x").value
    median, some = frame.quantile("x"), frame.filter("n > 2").quantile("x", [0.1, 0.9])
    assert median.value == np.quantile(x, 0.5)
    np.testing.assert_array_equal(some.value, np.quantile(x[frame.take("n").value > 2], [0.1, 0.9]))
    assert math.isnan(frame.filter("n > 9").quantile("x").value)
    assert frame.quantile("v", 1).value == 6


def tally_of(values, most, cuts):
    """A tally of tallies of pieces, some of which are merged the other way round."""
    pieces = [Tally(most).add(piece) for piece in np.split(values, np.sort(cuts))]
    while len(pieces) > 1:
        a, b = pieces.pop(0), pieces.pop()
        pieces.insert(len(pieces) // 2, a.merged(b) if len(pieces) % 2 else b.merged(a))
    return pieces[0]


def some_values(rng, kind, count):
    return {
        "normal": lambda: rng.normal(0, 1, count),
        "wide": lambda: np.exp(rng.normal(0, 40, count)) * rng.choice([-1, 1], count),
        "integers": lambda: rng.integers(-50, 50, count).astype(float),
        "time": lambda: 1.7e9 + rng.uniform(0, 1, count),
        "tiny": lambda: rng.uniform(-1, 1, count) * 5e-320,
        "huge": lambda: rng.choice([-np.inf, np.inf, 1e308, -1e308, 0.0, -0.0, 1.5], count),
    }[kind]()


KINDS = ("normal", "wide", "integers", "time", "tiny", "huge")
Q = [0, 0.001, 0.1, 0.25, 1 / 3, 0.5, 0.9, 0.999, 1]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(3))
def test_quantiles_depend_on_the_values_alone(kind, seed):
    """However they are spread and merged: the bits are the same, and exact where there is room."""
    rng = np.random.default_rng(seed)
    values = some_values(rng, kind, 3000)
    with np.errstate(invalid="ignore", over="ignore"):
        exact = np.quantile(values, Q)
    known = ~np.isnan(exact)  # NumPy computes inf - inf between two that are infinite
    found = quantiles_of(tally_of(values, 3000, rng.integers(0, 3000, 20)), Q)
    np.testing.assert_array_equal(found[known], exact[known])
    for most in (2, 7, 100, 999):
        found = [
            quantiles_of(tally_of(rng.permutation(values), most, rng.integers(0, 3000, pieces)), Q)
            for pieces in (0, 1, 30)
        ]
        assert found[0].tobytes() == found[1].tobytes() == found[2].tobytes()
        assert (found[0][0], found[0][-1]) == (values.min(), values.max())
        assert kind == "huge" or np.all(np.diff(found[0]) >= 0)


@pytest.mark.parametrize("kind", ["normal", "wide", "integers", "time", "tiny"])
def test_approximate_quantiles_are_within_a_bin(kind):
    rng = np.random.default_rng(5)
    values = some_values(rng, kind, 50_000)
    tally = tally_of(values, 1000, rng.integers(0, 50_000, 40))
    assert len(tally.keys) <= 1000
    assert sum(map(len, tally.waiting)) <= 1000
    ordered = np.sort(values)
    for q, found in zip(Q, quantiles_of(tally, Q), strict=True):
        # Both neighbours of the place are in bins of this width, seen from the number.
        width = 2.0 ** (tally.sorted().shift - 52)
        place = q * (len(values) - 1)
        low, high = ordered[math.floor(place)], ordered[math.ceil(place)]
        slack = 2 * width * max(abs(low), abs(high)) + 2.0 ** (tally.sorted().shift - 1074)
        assert low - slack <= found <= high + slack


def test_quantiles_of_more_values_than_are_kept(frame):
    x = frame.take("x").value
    few = frame.quantile("x", [0.25, 0.75], exact_up_to=50).value
    assert few == pytest.approx(np.quantile(x, [0.25, 0.75]), rel=0.3)
    assert few.tobytes() == frame.filter("true").quantile("x", [0.25, 0.75], exact_up_to=50).value.tobytes()
    rough = frame.summary("x", exact_up_to=50).value["x"]
    assert (rough["25%"], rough["75%"]) == tuple(few)
    assert rough["count"] == 1000
    nan = DataFrame.from_arrays({"x": np.array([1.0, math.nan])})
    assert math.isnan(nan.quantile("x").value)
    with pytest.raises(colonnade.UsageError, match="exact_up_to=0 is not a number of values"):
        frame.quantile("x", exact_up_to=0)
    for wrong in (1.5, -0.1, [0.5, 50], True):
        with pytest.raises(colonnade.UsageError, match="is not a quantile"):
            frame.quantile("x", wrong)


def test_counts_have_a_limit(frame, monkeypatch):
    monkeypatch.setattr(summaries, "MOST_COUNTED", 100)
    assert len(frame.unique("n").value) == 5
    for result in (frame.unique("x"), frame.value_counts("x")):
        with pytest.raises(colonnade.ResourceError, match="more than 100 different values"):
            _ = result.value


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


@pytest.mark.parametrize("dtype", ["?", "i1", "u1", "i4", "i8", "u8", "f4", "f8"])
@pytest.mark.parametrize("seed", range(4))
def test_counts_depend_on_the_values_alone(dtype, seed):
    """However they are spread and merged; with numbers at the ends of the type, and many or few different ones."""
    rng = np.random.default_rng(seed)
    kind = np.dtype(dtype)
    if kind.kind == "f":
        choice = [0.0, -0.0, 1.5, math.nan, math.inf, -3, *rng.normal(size=20)]
    elif kind.kind == "b":
        choice = [False, True]
    elif seed % 2:
        choice = [np.iinfo(kind).min, np.iinfo(kind).max, 0, 1, 5]
    else:
        choice = list(range(100))
    values = np.array(choice, dtype=kind)[rng.integers(0, len(choice), 300)]
    pieces = [Counts().add(piece) for piece in np.split(values, np.sort(rng.integers(0, 301, 4)))]
    while len(pieces) > 1:
        a, b = pieces.pop(0), pieces.pop()
        pieces.insert(len(pieces) // 2, a.merged(b) if len(pieces) % 2 else b.merged(a))
    different, counts = np.unique(values + kind.type(0), return_counts=True)
    assert [*map(repr, pieces[0].different())] == [*map(repr, different.tolist())]
    listed = sorted(zip(different.tolist(), counts.tolist(), strict=True), key=lambda item: -item[1])
    assert [*map(repr, pieces[0].by_count().items())] == [*map(repr, listed)]


def test_counts_of_texts_of_any_kind():
    texts = ["b", "", "a", "é", "a\0", "a", "b" * 300, "a", *map(str, range(200))]
    df = DataFrame.from_arrays(
        {"s": ak.Array(texts * 2), "lists": ak.Array([[text, "a"] for text in texts * 2])}
    )
    assert df.unique("s").value == sorted(set(texts))
    assert df.value_counts("s").value == {text: 2 * texts.count(text) for text in texts}
    assert list(df.value_counts("s").value)[:3] == ["a", "", "0"]
    assert df.value_counts("lists").value["a"] == 2 * (len(texts) + texts.count("a"))


def test_texts_of_any_size_are_told_apart():
    """Short ones are compared as words, but for the last ones of the array."""
    ends = ["", "\0", "a", "\0\0", "a\0", "b"]
    texts = [size * "x" + end for size in range(40) for end in ends]
    random.Random(1).shuffle(texts)
    for column in (texts, texts + texts[::2], [""], [texts[0], texts[0]]):
        df = DataFrame.from_arrays({"s": column}, threads=1)
        assert df.value_counts("s").value == Counter(column)


def test_the_first_rows_are_shown_without_computing_more():
    df = DataFrame(1_000_000, threads=2).define("x", "100 / (1000 - rdfentry_)")  # an error in entry 1000
    assert df.display(["x"], rows=3).value.arrays["x"].to_list() == [0, 0, 0]
    total, shown = df.count(), df.display(["x"], rows=1)
    assert (len(shown.value.arrays["x"]), total.value) == (1, 1_000_000)
    seen = []

    def is_even(rdfentry_):
        seen.append(len(rdfentry_))
        return rdfentry_ % 2 == 0

    even = DataFrame(1_000_000, block_entries=100, threads=1).filter(is_even)
    assert even.display(["rdfentry_"], rows=3).value.arrays["rdfentry_"].to_list() == [0, 2, 4]
    assert (seen[-1], sum(seen) < 100_000) == (100, True)


def test_callables_see_whole_blocks_when_the_first_rows_are_shown():
    df = DataFrame(1000, block_entries=100).define("x", lambda rdfentry_: rdfentry_ - rdfentry_.mean())
    assert (
        df.display(["x"], rows=2).value.arrays["x"].to_list()
        == df.take("x").value[:2].tolist()
        == [-49.5, -48.5]
    )


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


def test_summaries_vary_and_are_computed_with_the_rest(frame):
    varied = frame.vary("x", "{x - 1, x + 1}", ["down", "up"])
    summary, count = varied.summary(["x", "n"]), frame.count()
    found = frame.variations_for(summary)
    assert not found.is_ready
    assert count.value == 1000
    assert found.is_ready
    assert frame.num_runs == 1
    middle = frame.summary("x").value["x"]
    assert found["x:up"]["x"]["50%"] == np.quantile(frame.take("x + 1").value, 0.5)
    assert found["x:down"]["x"]["mean"] == pytest.approx(middle["mean"] - 1)
    assert found["nominal"]["x"] == middle
    assert found["x:up"]["n"] == found["nominal"]["n"]
    with pytest.raises(colonnade.UnsupportedError, match="not shown while it is computed"):
        summary.on_partial(print)


def test_summaries_in_plans(tmp_path):
    file = tmp_path / "f.root"
    with colonnade.create(file, "Events") as writer:
        writer.extend({"x": np.arange(300) / 7, "n": np.arange(300) % 5})
    frame = DataFrame("Events", file)
    summary = frame.summary(["x", "n"])
    plan = frame.freeze(summary)
    assert len(plan) == 3
    done = [colonnade.distributed.run_task(plan, each) for each in plan.tasks(3)]
    plan.finish(colonnade.distributed.merge(plan, done))
    assert summary.is_ready
    other = DataFrame("Events", file).summary(["x", "n"])
    assert colonnade.run_graphs([other]) == 1
    assert other.is_ready
    assert summary.value == other.value


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
    nested = DataFrame.from_arrays(
        {"EventInfo": ak.Array([{"run": 1, "lb": 2}, {"run": 1, "lb": 4}]), "lumi:block": np.array([1, 3])}
    )
    for block in ("EventInfo.lb", "lumi:block"):  # names that are no names in Python
        passed = nested.filter(colonnade.json_mask(mask, run="EventInfo.run", block=block))
        assert passed.take("rdfentry_").value.tolist() == ([0] if block == "EventInfo.lb" else [1])
    mask.write_text("[1]")
    with pytest.raises(colonnade.FormatError, match="not a luminosity mask"):
        colonnade.json_mask(mask)
    with pytest.raises(colonnade.StorageError, match="cannot be read"):
        colonnade.json_mask(tmp_path / "nothing.json")


@pytest.mark.parametrize("bits", [1, 8, 20, 64])
def test_keys_are_sorted_by_their_digits(bits):
    rng = np.random.default_rng(bits)
    for size in (0, 1, 1000):
        keys = rng.integers(0, 2**bits, size, np.uint64) << np.uint64((64 - bits) // 2)
        assert _core.tally_sort(keys).tolist() == sorted(keys.tolist())
