"""Every operation of DataFrames against NumPy and Awkward on random jagged data, in memory and in chains of files."""

from __future__ import annotations

import itertools

import awkward as ak
import hist
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import colonnade
from colonnade import DataFrame, col

THREADS = (1, 2, 3, 7)
checked = settings(max_examples=50, deadline=None, suppress_health_check=list(HealthCheck))


@st.composite
def data_sets(draw, most=60):
    """Columns: an integer, a weight, a list of single precision, a list of lists, a text."""
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    entries = draw(st.integers(1, most))
    counts = random.integers(0, draw(st.integers(1, 6)), entries)
    items = int(counts.sum())
    inner = random.integers(0, 3, items)
    deep = ak.unflatten(random.integers(-9, 9, int(inner.sum())).astype(np.int16), inner)
    return {
        "n": random.integers(-5, 6, entries).astype(np.int32),
        "w": random.integers(1, 9, entries) / 4,
        "pt": ak.unflatten((random.integers(-200, 200, items) / 4).astype(np.float32), counts),
        "deep": ak.unflatten(deep, counts),
        "tag": ak.Array([("a", "bb", "")[k] for k in random.integers(0, 3, entries)]),
    }


def cut(data, first, last):
    return {name: values[first:last] for name, values in data.items()}


@st.composite
def sources(draw):
    """The data and where they are: in memory, or in up to three files with clusters and pages of any size."""
    data = draw(data_sets())
    entries = len(data["n"])
    edges = sorted(draw(st.lists(st.integers(0, entries), max_size=2)))
    parts = [cut(data, *edge) for edge in itertools.pairwise([0, *edges, entries])]
    parts = [part for part in parts if len(part["n"])]
    return data, parts, draw(st.sampled_from(["memory", "files", "files"])), draw(st.integers(1, 20))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("operations")


numbers = itertools.count()


def frame_of(folder, source, threads=2):
    data, parts, where, step = source
    if where == "memory":
        return DataFrame.from_arrays(data, threads=threads)
    files = []
    for part in parts:
        files.append(folder / f"{next(numbers)}.root")
        with colonnade.create(files[-1], "Events", initial_page_size=64, page_size=64) as writer:
            for first in range(0, len(part["n"]), step):
                writer.extend(cut(part, first, first + step))
                writer.commit_cluster()
    return DataFrame("Events", files, threads=threads)


def flat(values):
    return ak.to_numpy(ak.flatten(values, axis=None)).astype(np.float64)


@checked
@given(source=sources())
def test_columns_come_out_as_they_went_in(folder, source):
    data = source[0]
    frame = frame_of(folder, source)
    arrays = frame.to_awkward()
    for name, values in data.items():
        assert ak.to_list(arrays[name]) == ak.to_list(values)
    np.testing.assert_array_equal(frame.take("rdfentry_").value, np.arange(len(data["n"])))
    written = frame.snapshot(folder / f"{next(numbers)}.root", page_size=64, initial_page_size=64)
    assert written.to_awkward().to_list() == arrays.to_list()
    assert frame.cache().to_awkward().to_list() == arrays.to_list()
    table = frame.to_arrow()
    assert {name: table.column(name).to_pylist() for name in data} == {
        name: ak.to_list(data[name]) for name in data
    }
    as_numpy = frame.to_numpy(["n", "pt"])
    np.testing.assert_array_equal(as_numpy["n"], data["n"])
    assert [each.tolist() for each in as_numpy["pt"]] == ak.to_list(data["pt"])


@checked
@given(source=sources(), least=st.integers(-3, 3))
def test_filters_and_definitions(folder, source, least):
    data = source[0]
    n, pt = data["n"], data["pt"]
    frame = frame_of(folder, source)
    node = (
        frame.filter(f"n > {least}", name="n")
        .define("high", "pt[pt > 0]")
        .define("count", col("high").size())
        .filter("count > 0", name="some")
        .define("lead", "high[0]")
        .filter(lambda lead: lead < 40, name="lead")
    )
    kept = n > least
    high = pt[pt > 0]
    some = kept & (ak.to_numpy(ak.num(high)) > 0)
    lead = np.array([each[0] if each else 99.0 for each in ak.to_list(high)])
    last = some & (lead < 40)
    assert node.take("n").value.tolist() == n[last].tolist()
    assert ak.to_list(node.take("high").value) == ak.to_list(high[last])
    assert node.take("rdfentry_").value.tolist() == np.flatnonzero(last).tolist()
    report = node.report().value
    assert [(cut.all, cut.passed) for cut in report] == [
        (len(n), kept.sum()),
        (kept.sum(), some.sum()),
        (some.sum(), last.sum()),
    ]


@checked
@given(source=sources(), begin=st.integers(0, 30), length=st.integers(1, 30), step=st.integers(1, 5))
def test_ranges(folder, source, begin, length, step):
    n = source[0]["n"]
    frame = frame_of(folder, source)
    chosen = slice(begin, begin + length, step)
    assert frame.range(begin, begin + length, step).take("n").value.tolist() == n[chosen].tolist()
    after = frame.filter("n > 0").range(begin, begin + length, step)
    assert after.take("n").value.tolist() == n[n > 0][chosen].tolist()
    again = frame.range(begin, 0, step).filter("n > 0").range(2)
    assert again.take("n").value.tolist() == [each for each in n[begin::step].tolist() if each > 0][:2]


@checked
@given(source=sources())
def test_numbers(folder, source):
    data = source[0]
    n, w, pt, deep = data["n"], data["w"], flat(data["pt"]), flat(data["deep"])
    frame = frame_of(folder, source)
    booked = {
        "count": (frame.count(), len(n)),
        "sum of integers": (frame.sum("n"), int(n.sum())),
        "sum of a list": (frame.sum("pt"), pt.sum()),
        "sum of lists of lists": (frame.sum("deep"), deep.sum()),
        "mean": (frame.mean("w"), w.mean()),
        "mean of a list": (frame.mean("pt"), pt.mean() if len(pt) else np.nan),
        "min": (frame.min("n"), n.min()),
        "max": (frame.max("w"), w.max()),
        "reduce": (frame.reduce(np.minimum, "w"), w.min()),
    }
    if len(n) > 1:
        booked["stddev"] = frame.stddev("w"), w.std(ddof=1)
    stats = frame.stats("n", "w")
    for what, (result, expected) in booked.items():
        assert result.value == pytest.approx(expected, rel=1e-12, abs=1e-12, nan_ok=True), what
    assert stats.value.sum_of_weights == w.sum()
    assert stats.value.mean == pytest.approx(np.average(n, weights=w))
    assert (stats.value.min, stats.value.max) == (n.min(), n.max())
    assert frame.num_runs == 1


@checked
@given(source=sources())
def test_histograms_and_profiles(folder, source):
    data = source[0]
    n, w, pt = data["n"], data["w"], data["pt"]
    frame = frame_of(folder, source)
    spread_w, spread_n = flat(ak.broadcast_arrays(pt, w)[1]), flat(ak.broadcast_arrays(pt, n)[1])
    edges, axis = [-50.5, -3.3, 0.1, 8.2, 50.5], hist.axis.Variable([-50.5, -3.3, 0.1, 8.2, 50.5])
    bins = hist.axis.Regular(7, -5.5, 5.5)
    one = frame.histo1d(("h", "", 7, -5.5, 5.5), "n")
    weighted = frame.histo1d(("h", "", edges), "pt", "w")
    two = frame.histo2d(("h", "", edges, 7, -5.5, 5.5), "pt", "n", "w")
    profile = frame.profile1d(("p", "", 7, -5.5, 5.5), "n", "w")
    of_lists = frame.profile1d(("p", "", edges), "pt", "n", "w")
    view = lambda result: result.value.view(flow=True)  # noqa: E731
    np.testing.assert_array_equal(view(one), hist.Hist(bins).fill(n).view(flow=True))
    expected = hist.Hist(axis, storage=hist.storage.Weight()).fill(flat(pt), weight=spread_w).view(flow=True)
    np.testing.assert_array_equal(view(weighted), expected)
    expected = hist.Hist(axis, bins, storage=hist.storage.Weight()).fill(flat(pt), spread_n, weight=spread_w)
    np.testing.assert_array_equal(view(two), expected.view(flow=True))
    expected = hist.Hist(bins, storage=hist.storage.WeightedMean()).fill(n, sample=w)
    np.testing.assert_allclose(profile.value.values(flow=True), expected.values(flow=True), atol=1e-12)
    expected = hist.Hist(axis, storage=hist.storage.WeightedMean())
    expected.fill(flat(pt), sample=spread_n, weight=spread_w)
    for part in ("sum_of_weights", "sum_of_weights_squared", "value", "_sum_of_weighted_deltas_squared"):
        np.testing.assert_allclose(view(of_lists)[part], expected.view(flow=True)[part], atol=1e-9)


@checked
@given(source=sources(), factor=st.sampled_from([0.5, 2.0]))
def test_variations(folder, source, factor):
    data = source[0]
    w, pt = data["w"], data["pt"]
    frame = frame_of(folder, source)
    node = (
        frame.vary("w", f"{{w * {factor}, w + 1}}", ["a", "b"])
        .vary("pt", lambda pt: (pt * factor, pt + 1), ["down", "up"], "scale")
        .define("total", "Sum(pt) * w")
        .filter("total > 5", name="total")
    )
    total, count, report = node.sum("total"), node.count(), node.report()
    sums, counts, reports = (node.variations_for(result) for result in (total, count, report))
    cases = {
        "nominal": (w, pt),
        "w:a": (w * factor, pt),
        "w:b": (w + 1, pt),
        "scale:down": (w, pt * np.float32(factor)),
        "scale:up": (w, pt + np.float32(1)),
    }
    assert set(sums) == set(cases)
    for name, (weights, values) in cases.items():
        totals = ak.to_numpy(ak.sum(values, axis=1)).astype(np.float64) * weights
        assert sums[name] == pytest.approx(totals[totals > 5].sum()), name
        assert counts[name] == np.count_nonzero(totals > 5), name
        assert reports[name][0].passed == counts[name], name
    assert frame.num_runs == 1


@pytest.fixture(autouse=True)
def parts_of_one_entry(monkeypatch):
    """Work for several threads, however few entries there are."""
    monkeypatch.setenv("COLONNADE_TEST_PART_ENTRIES", "1")


@checked
@given(source=sources())
def test_the_number_of_threads_does_not_matter(folder, source):
    outcomes = []
    for threads in THREADS:
        frame = frame_of(folder, source, threads)
        node = frame.define("y", "pt * w / 3").filter("n != 0").vary("w", "{w / 3, w / 7}", 2)
        third = node.define("z", lambda w, n: np.sin(w) * n)
        hists = node.variations_for(node.histo1d(("h", "", 9, -60, 60), "y", "w"))
        results = [node.sum("y"), node.stddev("y"), node.mean("w"), third.sum("z"), third.reduce(np.add, "z")]
        results += [
            node.take("y"),
            third.stats("z", "w"),
            node.range(1, 20, 2).sum("w"),
            node.graph("w", "n"),
        ]
        values = [result.value for result in results]
        report = frame._session.last_run
        assert report.workers == threads or report.parts < 6 * threads + 4
        outcomes.append(
            [
                *(np.asarray(value).tobytes() for value in values[:5] if value is not None),
                ak.to_list(values[5]),
                values[6],
                values[7],
                values[8].x.tobytes(),
                *(each.view(flow=True).tobytes() for each in hists.values()),
            ]
        )
    assert repr(outcomes[0]) == repr(outcomes[1]) == repr(outcomes[2]) == repr(outcomes[3])
