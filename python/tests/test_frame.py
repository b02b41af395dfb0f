"""DataFrames from Python: sources, nodes, results, their errors, and what notebooks show."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
import weakref

import awkward as ak
import hist
import numpy as np
import pyarrow as pa
import pytest

import colonnade
from colonnade import DataFrame, col, ml

ENTRIES = 3000


def make_arrays(seed=0, entries=ENTRIES):
    random = np.random.default_rng(seed)
    counts = random.integers(0, 5, entries)
    items = int(counts.sum())
    return {
        "n": random.integers(0, 10, entries).astype(np.int32),
        "x": random.normal(size=entries),
        "w": random.uniform(0.5, 1.5, entries),
        "tag": ak.Array([("even", "odd")[k % 2] for k in range(entries)]),
        "pt": ak.unflatten(random.integers(0, 400, items).astype(np.float32) / 4, counts),
        "jets": ak.zip(
            {
                "e": ak.unflatten(random.exponential(size=items), counts),
                "id": ak.unflatten(np.arange(items, dtype=np.int64), counts),
            }
        ),
    }


def write(path, arrays, name="Events"):
    with colonnade.create(path, name, cluster_size=20_000, page_size=2048) as writer:
        writer.extend(arrays)
    return str(path)


@pytest.fixture(scope="module")
def arrays():
    return make_arrays()


@pytest.fixture(scope="module")
def file(tmp_path_factory, arrays):
    return write(tmp_path_factory.mktemp("frame") / "f.root", arrays)


@pytest.fixture
def frame(file):
    return DataFrame("Events", file, threads=2)


# ---- Sources


def test_a_data_set(frame, file, arrays):
    assert frame.num_entries == ENTRIES
    assert frame.count().value == ENTRIES
    assert frame.sum("n").value == int(np.sum(arrays["n"]))
    assert frame.files == [f"{file}/Events"]
    assert repr(frame) == f"<DataFrame of 'Events' in '{file}': 3000 entries, 6 columns>"


def test_an_open_data_set(file):
    with colonnade.open(file) as opened:
        assert DataFrame(opened).count().value == ENTRIES


def test_chains_number_their_entries_through(tmp_path):
    parts = [make_arrays(seed, 1000) for seed in range(3)]
    for number, part in enumerate(parts):
        write(tmp_path / f"part{number}.root", part)
    for files in (tmp_path / "part*.root", [tmp_path / f"part{k}.root" for k in range(3)]):
        frame = DataFrame("Events", files)
        assert frame.count().value == 3000
        assert len(frame.files) == 3
        np.testing.assert_array_equal(frame.take("n").value, np.concatenate([part["n"] for part in parts]))
        np.testing.assert_array_equal(frame.take("rdfentry_").value, np.arange(3000))


def test_an_entry_range(file, arrays):
    frame = DataFrame("Events", file, entries=(100, 250))
    assert frame.count().value == 150
    np.testing.assert_array_equal(frame.take("n").value, arrays["n"][100:250])
    np.testing.assert_array_equal(frame.take("rdfentry_").value, np.arange(100, 250))
    assert DataFrame("Events", file, entries=(2900, 9999)).count().value == 100
    assert DataFrame("Events", file, entries=(9, 9)).count().value == 0


def test_no_source():
    frame = DataFrame(100).define("x", "rdfentry_ * 2")
    assert frame.sum("x").value == 9900
    assert DataFrame(0).count().value == 0
    assert DataFrame(np.int64(7)).range(np.int32(5)).count().value == 5
    assert "100 entries" in repr(DataFrame(100))


def test_arrays_in_memory(arrays):
    frame = DataFrame.from_arrays(arrays)
    assert frame.sum("n").value == int(np.sum(arrays["n"]))
    assert ak.to_list(frame.take("pt").value) == ak.to_list(arrays["pt"])
    assert ak.to_list(frame.take("tag").value) == ak.to_list(arrays["tag"])
    assert ak.to_list(frame.take("jets.e").value) == ak.to_list(arrays["jets"].e)
    back = frame.to_awkward()
    assert back.fields == list(arrays)
    assert ak.to_list(back.jets) == ak.to_list(arrays["jets"])


def test_numbers_in_memory_are_not_copied(arrays):
    frame = DataFrame.from_arrays({"x": arrays["x"], "pt": arrays["pt"]})
    view = frame.define("y", lambda x, pt: seen.append((x, pt)) or x, returns="double")
    seen = []
    view.sum("y").value  # noqa: B018
    assert any(np.shares_memory(x, arrays["x"]) for x, _ in seen)


@pytest.mark.parametrize(
    "make", [ak.Array, pa.table, lambda d: np.rec.fromarrays(list(d.values()), names="a,b")]
)
def test_kinds_of_arrays(make):
    columns = {"a": np.arange(5), "b": np.linspace(0, 1, 5)}
    frame = DataFrame.from_arrays(make(columns))
    assert frame.sum("a").value == 10
    assert frame.mean("b").value == 0.5


def test_errors_of_sources(file, tmp_path):
    with pytest.raises(colonnade.NotFoundError):
        DataFrame("Other", file)
    with pytest.raises(colonnade.NotFoundError):
        DataFrame("Events", tmp_path / "none*.root")
    with pytest.raises(colonnade.UsageError, match="without files"):
        DataFrame("Events")
    with pytest.raises(colonnade.UsageError, match="list of files is empty"):
        DataFrame("Events", [])
    with pytest.raises(colonnade.UsageError, match="number of threads"):
        DataFrame(10, threads=-1)
    with pytest.raises(colonnade.UsageError, match="entries from 5 to 3"):
        DataFrame("Events", file, entries=(5, 3))
    with pytest.raises(colonnade.UsageError, match="different lengths"):
        DataFrame.from_arrays({"a": [1, 2], "b": [1]})
    with pytest.raises(colonnade.TypeMismatchError, match="complex"):
        DataFrame.from_arrays({"a": np.array([1j])})


# ---- Nodes


def test_questions(frame):
    assert frame.column_names[:4] == ["n", "x", "w", "tag"]
    assert {"jets", "jets.e", "jets.id"} <= set(frame.column_names)
    defined = frame.define("m", "x * 2").alias("y", "x").filter("m > 0", name="positive").filter("n < 5")
    assert defined.defined_column_names == ["m", "y"]
    assert defined.filter_names == ["positive", "n < 5"]
    assert frame.filter_names == ["positive", "n < 5"]  # as in ROOT: those of the whole graph
    assert defined.column_type("m") == "double"
    assert defined.column_type("n") == "std::int32_t"
    assert defined.column_type(col("pt") * 2) in ("std::vector<float>", "std::vector<double>")
    assert frame.column_type("tag") == "std::string"
    assert defined.has_column("m")
    assert not frame.has_column("m")
    described = defined.describe()
    assert "define x * 2" in str(described)
    assert described._repr_html_().startswith("<pre>")
    assert json.loads(defined.plan())
    quantile = defined.quantile("m")
    with pytest.raises(colonnade.UnsupportedError, match=r"a result over \(m\) is computed by Python"):
        defined.plan()
    del quantile
    assert json.loads(defined.plan())


def test_nodes_do_not_change(frame):
    a = frame.define("m", "x + 1")
    b = frame.define("m", "x + 2")
    assert b.sum("m").value - a.sum("m").value == pytest.approx(ENTRIES)


def test_one_pass_for_all_that_is_booked(frame):
    count, total = frame.count(), frame.filter("n > 5").sum("n")
    assert not count.is_ready
    assert not total.is_ready
    assert repr(count) == "<count(): not computed yet>"
    assert count.value == ENTRIES
    assert total.is_ready
    assert frame.num_runs == 1
    assert total.value > 0
    assert frame.num_runs == 1
    assert frame.mean("x").value == pytest.approx(0, abs=0.1)
    assert frame.num_runs == 2
    assert repr(count) == "<count(): 3000>"
    assert frame.metrics.bytes > 0


def test_transformations(frame, arrays):
    n, x = arrays["n"], arrays["x"]
    assert frame.filter("n > 5").count().value == np.count_nonzero(n > 5)
    assert frame.filter(col("n") > 5, name="f").count().value == np.count_nonzero(n > 5)
    np.testing.assert_array_equal(frame.range(10).take("n").value, n[:10])
    np.testing.assert_array_equal(frame.range(5, 100, 7).take("n").value, n[5:100:7])
    np.testing.assert_array_equal(frame.range(2990, 0).take("n").value, n[2990:])
    kept = frame.filter("n > 5").range(3, 11, 2).take("n").value
    np.testing.assert_array_equal(kept, n[n > 5][3:11:2])
    again = frame.redefine("x", "x * 2").redefine("x", "x + 1")
    np.testing.assert_array_equal(again.take("x").value, x * 2 + 1)
    np.testing.assert_array_equal(frame.define("c", 7).take("c").value, np.full(ENTRIES, 7))
    names = frame.define_per_sample("name", len).take("name").value
    assert set(names.tolist()) == {len(frame.files[0])}
    weights = frame.define_per_sample("f", 'rdfsampleinfo_ == "a" ? 1 : 2').take("f").value
    assert set(weights.tolist()) == {2}
    for text in ("x", "double(rdfentry_)", 'rdfsampleinfo_ == "a" ? x : 2', col("x") * 2):
        with pytest.raises(
            colonnade.UsageError, match="depends on the entry, but this column on the file alone"
        ):
            frame.define_per_sample("f", text)
        with pytest.raises(
            colonnade.UsageError, match="depends on the entry, but this column on the file alone"
        ):
            frame.redefine_per_sample("x", text)


def test_columns_that_only_some_files_have(tmp_path):
    a = write(tmp_path / "a.root", {"x": np.arange(5.0), "y": np.arange(5.0)})
    b = write(tmp_path / "b.root", {"x": np.arange(5.0)})
    frame = DataFrame("Events", [a, b])
    assert frame.filter_available("y").count().value == 5
    assert frame.filter_missing("y").sum("rdfentry_").value == 35
    filled = frame.default_value_for("y", -1.0)
    np.testing.assert_array_equal(filled.take("y").value, [0, 1, 2, 3, 4, -1, -1, -1, -1, -1])
    with pytest.raises(colonnade.NotFoundError):
        frame.sum("y").value  # noqa: B018
    # Variations are in the same files.
    varied = frame.vary("y", "{y + 1, y - 1}", ["up", "down"])
    assert varied.filter_available("y").count().value == 5
    assert varied.filter_missing("y").count().value == 5
    filled = varied.default_value_for("y", "x")
    assert dict(filled.variations_for(filled.sum("y"))) == {"nominal": 20, "y:up": 25, "y:down": 15}
    for redefined in (frame.redefine("y", "y * 2"), frame.redefine("y", "y * 2").vary("y", "{y, y}", 2)):
        with pytest.raises(colonnade.UsageError, match="'y' was redefined, and some files did not have it"):
            redefined.filter_available("y")
    assert filled.redefine("y", "y * 2").filter_available("y").count().value == 10


def test_default_values_are_expressions(tmp_path):
    a = write(
        tmp_path / "a.root", {"a-b": np.arange(2.0), "a": np.zeros(2), "b": np.zeros(2), "y": np.zeros(2)}
    )
    b = write(tmp_path / "b.root", {"a-b": np.arange(2.0, 4), "a": np.zeros(2), "b": np.zeros(2)})
    frame = DataFrame("Events", [a, b])
    for value in ("a-b", "`a-b`", col("a-b")):
        assert frame.default_value_for("y", value).take("y").value.tolist() == [0, 0, 2, 3]


def test_default_values_of_lists_are_lists(tmp_path):
    a = write(tmp_path / "a.root", {"v": ak.Array([[1.5], [2, 3]]), "i": np.zeros(2)})
    b = write(tmp_path / "b.root", {"i": np.zeros(1)})
    frame = DataFrame("Events", [a, b])
    for value, last in (([], []), ([4, 5.5], [4, 5.5]), (np.array([1.0, -2]), [1, -2]), ("{6, 7}", [6, 7])):
        assert frame.default_value_for("v", value).take("v").value.tolist() == [[1.5], [2, 3], last]
    with pytest.raises(colonnade.TypeMismatchError, match="'v'"):
        frame.default_value_for("v", ["a"])


@pytest.mark.parametrize(
    ("kind", "fits", "others"),
    [
        (np.uint8, [0, 255, 2.0, "u8"], [-1, 256, 0.5, np.nan, 1e30, "rdfentry_"]),
        (np.int32, [-(2**31), "u8"], [2**31, 10**10, 0.5, "0.5 * u8"]),
        (np.bool_, [0, 1, True], [2, -1, 0.5]),
        (np.float32, [0.1, -1, 10**10, np.nan], []),
    ],
)
def test_default_values_are_kept(tmp_path, kind, fits, others):
    a = write(tmp_path / "a.root", {"u8": np.arange(2, dtype=np.uint8), "y": np.zeros(2, dtype=kind)})
    b = write(tmp_path / "b.root", {"u8": np.arange(2, dtype=np.uint8)})
    joined = DataFrame.from_arrays({"u8": np.array([9], dtype=np.uint8)}).join(
        "Events", a, on="u8", how="left"
    )
    for frame in (DataFrame("Events", [a, b]), joined):
        for value in fits:
            last = frame.default_value_for("y", value).take("y").value[-1]
            assert isinstance(value, str) or np.array_equal(last, kind(value), equal_nan=kind is np.float32)
        for value in others:
            with pytest.raises(colonnade.TypeMismatchError, match="give a value of that type"):
                frame.default_value_for("y", value)


COLUMNS = {
    "x": ["x"],
    "a*b": ["a*b"],  # a name
    "x*": ["x", "x_y"],
    "?": ["x", "y"],
    "[xy]*": ["x", "y", "x_y"],
    "x*100": ["x*100"],
    "x * y": ["x * y"],
    "x > 1 ? x : y": ["x > 1 ? x : y"],
    "x*y": "'x*y' is an expression, and a wildcard for x_y",
    "z*2": "no column matches 'z*2', and as an expression: there is no column 'z'",
    "*x(": "no column matches '*x(', and as an expression",
}


@pytest.mark.parametrize("text", COLUMNS)
@pytest.mark.parametrize(
    "names_of",
    [
        lambda frame, text: frame.to_awkward(text).fields,
        lambda frame, text: list(frame.to_numpy([text])),
        lambda frame, text: next(frame.iterate([text], library="pa")).column_names,
        lambda frame, text: frame.cache([text]).column_names,
        lambda frame, text: list(next(iter(ml.Batches(frame, [text]))).features),
    ],
    ids=["to_awkward", "to_numpy", "iterate", "cache", "Batches"],
)
def test_names_wildcards_and_expressions(names_of, text):
    arrays = {"x": np.arange(3.0), "y": np.ones(3), "x_y": np.zeros(3), "a*b": np.zeros(3)}
    frame, wanted = DataFrame.from_arrays(arrays), COLUMNS[text]
    if isinstance(wanted, list):
        assert names_of(frame, text) == wanted
    else:
        with pytest.raises(colonnade.Error, match=re.escape(wanted)):
            names_of(frame, text)


@pytest.mark.parametrize(
    ("book", "kind", "problem"),
    [
        (lambda f: f.define("x", "1"), colonnade.UsageError, "there is already a column of that name"),
        (lambda f: f.redefine("z", "1"), colonnade.NotFoundError, "z"),
        (lambda f: f.define("z", "xx + 1"), colonnade.NotFoundError, "xx"),
        (lambda f: f.define("z", "x +"), colonnade.UsageError, "x \\+"),
        (lambda f: f.define("z", "Summ(pt)"), colonnade.NotFoundError, "Sum"),
        (lambda f: f.filter("pt"), colonnade.TypeMismatchError, None),
        (lambda f: f.histo1d(("h", "t", 0, 0, 1), "x"), colonnade.UsageError, "0"),
        (lambda f: f.histo1d(("h", "t", 10), "x"), colonnade.UsageError, "model of a histogram"),
        (lambda f: f.histo1d(("h", "t", 10, 1, 0), "x"), colonnade.UsageError, "high"),
        (lambda f: f.histo2d(("h", "t", 10, 0, 1), "x", "w"), colonnade.UsageError, "2 axes"),
        (lambda f: f.histo1d(("h", "t", 10, 0, 1), "tag"), colonnade.TypeMismatchError, None),
        (lambda f: f.graph("x", "w", ["x"]), colonnade.UsageError, "4 errors"),
        (lambda f: f.range(5, 2), colonnade.UsageError, "no entries"),
        (lambda f: f.range(-5), colonnade.UsageError, "is not valid"),
        (lambda f: f.to_numpy("zz*"), colonnade.NotFoundError, "no column matches"),
        (lambda f: f.to_numpy([]), colonnade.UsageError, "no columns"),
        (lambda f: f.define("z", "x", columns=["x"]), colonnade.UsageError, "are for callables"),
        (lambda f: f.vary("x", "{x, x}", ["a"]), colonnade.UsageError, None),
        (lambda f: f.snapshot("none.root", cluster_size="big"), colonnade.UsageError, "is not a size"),
    ],
)
def test_what_is_refused_when_booked(frame, book, kind, problem):
    with pytest.raises(kind, match=problem):
        book(frame)
    assert frame.num_runs == 0
    assert frame.count().value == ENTRIES


# ---- Results


def test_numbers(frame, arrays):
    x, n, pt = arrays["x"], arrays["n"], ak.to_numpy(ak.flatten(arrays["pt"]))
    assert frame.sum("x").value == pytest.approx(x.sum())
    assert frame.sum("n", start=5).value == n.sum() + 5
    assert isinstance(frame.sum("n").value, int)
    assert (frame.min("x").value, frame.max("x").value) == (x.min(), x.max())
    assert isinstance(frame.max("n").value, int)
    assert frame.mean("pt").value == pytest.approx(pt.mean())
    assert frame.stddev("pt").value == pytest.approx(pt.std(ddof=1))
    stats = frame.stats("x").value
    assert (stats.count, stats.min, stats.max) == (ENTRIES, x.min(), x.max())
    assert stats.mean == pytest.approx(x.mean())
    assert stats.stddev == pytest.approx(x.std(ddof=1))
    weighted = frame.stats("x", "w").value
    assert weighted.sum_of_weights == pytest.approx(arrays["w"].sum())
    assert weighted.mean == pytest.approx(np.average(x, weights=arrays["w"]))


def test_histograms(frame, arrays):
    x, w = arrays["x"], arrays["w"]
    plain = frame.histo1d(("h", "title", 20, -2, 2), "x").value
    reference = hist.Hist(hist.axis.Regular(20, -2, 2, name="x")).fill(x)
    assert isinstance(plain, hist.Hist)
    assert plain.name == "h"
    assert plain.label == "title"
    assert plain.axes[0].name == "x"
    assert plain.storage_type is hist.storage.Double
    np.testing.assert_array_equal(plain.values(flow=True), reference.values(flow=True))

    weighted = frame.histo1d(("h", "", 20, -2, 2), "x", "w").value
    reference = hist.Hist(hist.axis.Regular(20, -2, 2), storage=hist.storage.Weight()).fill(x, weight=w)
    assert weighted.storage_type is hist.storage.Weight
    np.testing.assert_allclose(weighted.values(flow=True), reference.values(flow=True))
    np.testing.assert_allclose(weighted.variances(flow=True), reference.variances(flow=True))

    edges = frame.histo1d(("h", "", [0, 1, 5, 100]), "pt").value
    np.testing.assert_array_equal(edges.axes[0].edges, [0, 1, 5, 100])
    flat = ak.to_numpy(ak.flatten(arrays["pt"]))
    np.testing.assert_array_equal(
        edges.values(), np.histogram(flat, [0, 1, 5, 100.0001])[0] - [0, 0, (flat == 100).sum()]
    )

    automatic = frame.histo1d("x").value
    assert automatic.axes[0].size == 128
    assert automatic.sum() == ENTRIES
    axis = frame.histo1d(hist.axis.Regular(10, 0, 1, name="u"), "x").value
    assert axis.axes[0].name == "u"
    named = frame.histo1d(("h", "", 10, 0, 1), "x * 2").value
    assert named.axes[0].label == "x * 2"


def test_histograms_with_more_axes(frame, arrays):
    x, w, n = arrays["x"], arrays["w"], arrays["n"]
    axes = [hist.axis.Regular(5, -2, 2), hist.axis.Regular(4, 0.5, 1.5), hist.axis.Regular(3, 0, 9)]
    two = frame.histo2d(("h", "", 5, -2, 2, 4, 0.5, 1.5), "x", "w").value
    np.testing.assert_array_equal(two.values(flow=True), hist.Hist(*axes[:2]).fill(x, w).values(flow=True))
    three = frame.histo3d(("h", "", 5, -2, 2, 4, 0.5, 1.5, 3, 0, 9), "x", "w", "n").value
    reference = hist.Hist(*axes).fill(x, w, n)
    np.testing.assert_array_equal(three.values(flow=True), reference.values(flow=True))
    weighted = frame.histond([*axes], ["x", "w", "n"], weight="w").value
    reference = hist.Hist(*axes, storage=hist.storage.Weight()).fill(x, w, n, weight=w)
    np.testing.assert_allclose(weighted.values(flow=True), reference.values(flow=True))
    np.testing.assert_allclose(weighted.variances(flow=True), reference.variances(flow=True))


def test_profiles(frame, arrays):
    x, w, n = arrays["x"], arrays["w"], arrays["n"]
    one = frame.profile1d(("p", "", 8, -2, 2), "x", "n").value
    reference = hist.Hist(hist.axis.Regular(8, -2, 2), storage=hist.storage.WeightedMean()).fill(x, sample=n)
    for part in ("value", "sum_of_weights", "_sum_of_weighted_deltas_squared"):
        np.testing.assert_allclose(one.view(flow=True)[part], reference.view(flow=True)[part], atol=1e-9)
    two = frame.profile2d(("p", "", 4, -2, 2, 3, 0.5, 1.5), "x", "w", "n", "w").value
    axes = [hist.axis.Regular(4, -2, 2), hist.axis.Regular(3, 0.5, 1.5)]
    reference = hist.Hist(*axes, storage=hist.storage.WeightedMean()).fill(x, w, sample=n, weight=w)
    np.testing.assert_allclose(two.values(flow=True), reference.values(flow=True))
    np.testing.assert_allclose(
        two.view(flow=True)["sum_of_weights_squared"], reference.view(flow=True)["sum_of_weights_squared"]
    )


def test_any_histogram_is_filled_in_python(frame, arrays):
    made = hist.Hist(hist.axis.StrCategory([], growth=True), hist.axis.Integer(0, 10))
    filled = frame.fill(made, "tag", "n").value
    assert filled.sum() == ENTRIES
    assert filled["even", :].sum() == ENTRIES / 2
    assert made.sum() == 0
    weighted = frame.fill(hist.Hist(hist.axis.Regular(5, -1, 1)), "x", weight="w").value
    assert weighted.sum(flow=True) == pytest.approx(arrays["w"].sum())


def test_values(frame, arrays):
    np.testing.assert_array_equal(frame.take("x").value, arrays["x"])
    assert frame.take("x").value.dtype == np.float64
    assert ak.to_list(frame.take("pt").value) == ak.to_list(arrays["pt"])
    points = frame.graph("x", "w").value
    np.testing.assert_array_equal(points.x, arrays["x"])
    np.testing.assert_array_equal(points.y, arrays["w"])
    assert points.errors == ()
    assert len(frame.graph("x", "w", ["w", "w", "w", "w"]).value.errors) == 4


def test_arrays_of_all_libraries(frame, arrays):
    whole = frame.to_awkward()
    assert whole.fields == ["n", "x", "w", "tag", "pt", "jets"]
    assert ak.to_list(whole.jets) == ak.to_list(arrays["jets"])
    some = frame.filter("n == 3").to_numpy(["n", "x", "pt", "tag"])
    assert set(some["n"].tolist()) == {3}
    np.testing.assert_array_equal(some["x"], arrays["x"][arrays["n"] == 3])
    assert some["pt"].dtype == object
    assert frame.as_numpy("?")["n"].dtype == np.int32
    table = frame.define("y", "x * 2").to_arrow(["n", "y", "pt", "tag", "jets"])
    assert table.num_rows == ENTRIES
    assert table.column("pt").to_pylist() == ak.to_list(arrays["pt"])
    assert table.column("jets").to_pylist() == ak.to_list(arrays["jets"])
    empty = frame.filter("n > 100").to_awkward(["n", "pt", "tag", "jets"])
    assert len(empty) == 0
    assert str(empty.pt.type) == "0 * var * float32"


def test_a_cut_flow(frame, arrays):
    n, x = arrays["n"], arrays["x"]
    node = frame.filter("n > 2", name="many").filter("x > 0").filter("n < 8", name="not too many")
    report = node.report().value
    assert [cut.name for cut in report] == ["many", "not too many"]
    assert (report[0].all, report[0].passed) == (ENTRIES, np.count_nonzero(n > 2))
    assert report["not too many"].all == np.count_nonzero((n > 2) & (x > 0))
    assert report["many"].efficiency == pytest.approx(np.mean(n > 2))
    assert str(report).splitlines()[0].startswith("many        : pass=")
    assert "<td>not too many</td>" in report._repr_html_()
    with pytest.raises(colonnade.NotFoundError, match="no filter 'few'"):
        report["few"]
    assert [cut.name for cut in frame.report().value] == ["many", "not too many"]  # as in ROOT


def test_display(frame, arrays, capsys):
    shown = frame.display(["n", "pt", "tag"], rows=3).value
    assert shown.arrays.fields == ["n", "pt", "tag"]
    assert ak.to_list(shown.arrays.pt) == ak.to_list(arrays["pt"][:3])
    shown.print()
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].split("|")[1:5] == [" Row ", " n ", lines[1].split("|")[3], lines[1].split("|")[4]]
    assert len(lines) == 7
    assert shown._repr_html_().count("<tr>") == 4
    for name, row in zip(
        ("n", "pt", "tag"), zip(*(line.split("|")[2:-1] for line in lines[3:6]), strict=True), strict=True
    ):
        values = ak.to_list(arrays[name][:3])
        assert [cell.strip() for cell in row] == [
            f"{v:.7g}" if isinstance(v, float) else str(v) for v in values
        ]
    assert str(frame.filter("n > 99").display("n").value).count("\n") == 3


def test_python_results(frame, arrays):
    x, n, pt = arrays["x"], arrays["n"], arrays["pt"]
    assert frame.reduce(np.maximum, "x").value == x.max()
    assert frame.reduce(lambda a, b: a + b, "n", 100).value == n.sum() + 100
    assert frame.filter("n > 99").reduce(np.maximum, "x").value is None
    assert frame.filter("n > 99").reduce(np.maximum, "x", -1.0).value == -1
    assert frame.reduce(np.add, "pt").value == ak.sum(pt)
    counts = frame.aggregate(
        lambda state, n: state + np.bincount(n, minlength=10),
        lambda a, b: a + b,
        "n",
        np.zeros(10, dtype=int),
    )
    np.testing.assert_array_equal(counts.value, np.bincount(n, minlength=10))
    seen = []
    frame.foreach(lambda n, pt: seen.append((n, pt)), ["n", "pt"])
    np.testing.assert_array_equal(np.concatenate([each[0] for each in seen]), n)
    assert ak.to_list(ak.concatenate([each[1] for each in seen])) == ak.to_list(pt)


def test_a_cache(frame):
    cached = frame.filter("n == 3").define("y", "x * 2").cache(["n", "y", "pt"])
    assert cached.column_names == ["n", "y", "pt"]
    assert cached.count().value == frame.filter("n == 3").count().value
    assert ak.to_list(cached.take("pt").value) == ak.to_list(frame.filter("n == 3").take("pt").value)


def test_snapshots(frame, arrays, tmp_path):
    n = arrays["n"]
    to = tmp_path / "out.root"
    written = (
        frame.filter("n > 2")
        .define("y", "x * 2")
        .snapshot(to, "Skim", ["n", "y", "pt", "tag"], compression="lz4")
    )
    assert written.count().value == np.count_nonzero(n > 2)
    opened = colonnade.open(to, "Skim")
    assert opened.field_names == ["n", "y", "pt", "tag"]
    stored = opened.arrays()
    assert ak.to_list(stored.pt) == ak.to_list(arrays["pt"][n > 2])
    np.testing.assert_array_equal(stored.y, arrays["x"][n > 2] * 2)

    lazy = frame.snapshot(tmp_path / "lazy.root", lazy=True)
    assert not (tmp_path / "lazy.root").exists()
    assert "snapshot" in repr(lazy)
    assert lazy.value.count().value == ENTRIES
    assert ak.to_list(colonnade.open(tmp_path / "lazy.root")["jets"]) == ak.to_list(arrays["jets"])


# ---- Variations


def test_variations(frame, arrays):
    x, n = arrays["x"], arrays["n"]
    varied = frame.vary("x", "{x - 1, x + 1}", ["down", "up"], "shift")
    assert varied.variation_names == ["nominal", "shift:down", "shift:up"]
    total, h = varied.sum("x"), varied.filter("x > 0").histo1d(("h", "", 10, -3, 3), "x")
    sums, hists = varied.variations_for(total), colonnade.variations_for(h)
    assert list(sums) == ["nominal", "shift:down", "shift:up"]
    assert not sums.is_ready
    assert "<td>shift:up</td><td></td>" in sums._repr_html_()
    assert sums["nominal"] == total.value == pytest.approx(x.sum())
    assert sums["shift:up"] == pytest.approx(x.sum() + ENTRIES)
    assert sums.is_ready
    assert f"<td>shift:up</td><td>{sums['shift:up']}</td>" in sums._repr_html_()
    assert hists["shift:down"].sum(flow=True) == np.count_nonzero(x - 1 > 0)
    assert frame.num_runs == 1
    with pytest.raises(colonnade.NotFoundError, match="no variation 'up'"):
        sums["up"]
    listed = frame.vary("n", [col("n") - 1, "n + 1"], 2)
    assert dict(listed.variations_for(listed.sum("n"))) == {
        "nominal": n.sum(),
        "n:0": n.sum() - ENTRIES,
        "n:1": n.sum() + ENTRIES,
    }


@pytest.mark.parametrize(
    ("column", "values", "fits"),
    [
        ("u8", "{1, 255}", True),
        ("u8", "{u8 > 1 ? u8 : u8, 2.0}", True),
        ("u8", "{u8 * 2, u8}", False),
        ("u8", "{-1, 1}", False),
        ("u8", "{256, 1}", False),
        ("k", "{k * 2, u8}", True),
        ("k", "{k * 0.9, k * 1.1}", False),
        ("k", ["k * 0.9", "k"], False),
        ("k", "{0.5, 1.0}", False),
        ("k", lambda k: (k * 0.9, k * 1.1), False),
        ("k", lambda k: (k.astype(np.int64), k + 1), True),
        ("v", "{v * 2, v}", True),
        ("v", "{v * 0.5, v}", False),
        ("f", "{f * 0.5, k}", True),
    ],
)
def test_variations_keep_whole_numbers(column, values, fits):
    frame = DataFrame.from_arrays(
        {
            "u8": np.array([200, 3], dtype=np.uint8),
            "k": np.array([1, 2], dtype=np.int32),
            "v": np.array([[1, 2], [3, 4]], dtype=np.int32),
            "f": np.ones(2, dtype=np.float32),
        }
    )
    if fits:
        frame.vary(column, values, 2)
    else:
        with pytest.raises(colonnade.TypeMismatchError, match=f"redefine\\('{column}', 'double"):
            frame.vary(column, values, 2)


@pytest.mark.parametrize(
    ("column", "step", "problem"),
    [
        ("u8", -3, None),
        ("u8", 55, None),
        ("u8", 56, "256 is not a std::uint8_t, the type of 'u8', in entry 0 of the variation s:1"),
        ("u8", -4, "-1 is not a std::uint8_t, the type of 'u8', in entry 1 of the variation s:1"),
        ("v", 2**31 - 4, None),
        (
            "v",
            2**31 - 3,
            "2147483648 is not a std::int32_t, the type of 'v', in entry 2 of the variation s:1",
        ),
    ],
)
@pytest.mark.parametrize("per_row", [False, True])
def test_integers_of_a_callable_are_kept(column, step, problem, per_row):
    v = ak.values_astype(ak.Array([[1, 2], [], [3]]), np.int32)
    frame = DataFrame.from_arrays({"u8": np.array([200, 3, 4], dtype=np.uint8), "v": v})

    def change(values):
        wide = values if isinstance(values, int) else ak.values_astype(values, np.int64)
        return wide, wide + step

    varied = frame.vary(column, change, 2, "s", arguments=[column], per_row=per_row)
    taken = varied.variations_for(varied.take(column))
    if problem is None:
        expected = ak.values_astype(frame.take(column).value, np.int64) + step
        assert ak.to_list(taken["s:1"]) == ak.to_list(expected)
        return
    with pytest.raises(colonnade.TypeMismatchError, match=problem):
        taken["s:1"]


def test_variations_of_several_columns(frame, arrays):
    both = frame.vary(["x", "w"], "{{x - 1, x + 1}, {w * 2, w * 3}}", ["a", "b"], "both")
    sums = both.variations_for(both.sum("x + w"))
    assert sums["both:b"] == pytest.approx(np.sum(arrays["x"] + 1 + arrays["w"] * 3))
    called = frame.vary(["x", "w"], lambda x, w: ((x - 1, x + 1), (w * 2, w * 3)), ["a", "b"], "both")
    again = called.variations_for(called.sum("x + w"))
    assert dict(again) == dict(sums)


def test_variations_by_callables(frame, arrays):
    varied = frame.vary("pt", lambda pt: (pt * 0.5, pt * 2), ["down", "up"])
    sums = varied.variations_for(varied.sum("Sum(pt)"))
    assert sums["pt:up"] == pytest.approx(float(ak.sum(arrays["pt"]) * 2))
    rows = frame.vary("x", lambda x: (x - 1, x + 1), ["down", "up"], per_row=True)
    assert rows.variations_for(rows.sum("x"))["x:up"] == pytest.approx(arrays["x"].sum() + ENTRIES)
    wrong = frame.vary
    with pytest.raises(colonnade.TypeMismatchError, match="returned 3 values for 2 variations"):
        wrong("x", lambda x: (x, x, x), ["down", "up"])


@pytest.mark.parametrize(
    ("statements", "up", "down"),
    [
        ("auto a = x; a += 1; return ROOT::RVecD{a, -a};", [1, 2, 3], [-1, -2, -3]),
        ("double a = x; if (a > 1) return {7, 8}; return ROOT::RVecD{a, -a};", [0, 1, 7], [0, -1, 8]),
        (
            "int n = 1; auto f = [&](double a) { n += 1; return a * n; }; auto a = f(x); return {a, n};",
            [0, 2, 4],
            [2, 2, 2],
        ),
        ("double a = 0; for (auto y : {1., x}) a += y; return ROOT::RVecD{a, x};", [1, 2, 3], [0, 1, 2]),
    ],
)
def test_variations_by_statements(statements, up, down):
    frame = DataFrame(3).define("x", "1. * rdfentry_")
    values = frame.vary("x", statements, ["up", "down"])
    values = values.variations_for(values.take("x"))
    assert values["x:up"].tolist() == up
    assert values["x:down"].tolist() == down


def test_names_of_variations_are_known_without_values(frame):
    def fails(x):
        raise KeyError("of a callable")

    varied = frame.vary("x", "{x - 1, x + 1}", ["down", "up"]).define("y", fails, ["x"], returns="double")
    sums = varied.variations_for(varied.sum("y"))
    assert "x:up" in sums
    assert "up" not in sums
    assert sums.get("up", 7) == 7
    assert frame.num_runs == 0
    with pytest.raises(KeyError, match="of a callable"):
        sums.get("x:up")


# ---- Determinism, several graphs


def everything(frame):
    node = frame.define("y", "x * w").filter("n > 1", name="n")
    varied = node.vary("y", "{y * 0.9, y * 1.1}", ["down", "up"])
    results = [
        node.sum("y"),
        node.mean("pt"),
        node.stddev("y"),
        node.histo1d(("h", "", 50, -1, 1), "y", "w"),
        node.profile1d(("p", "", 20, -1, 1), "x", "y", "w"),
        node.take("y"),
        node.take("pt"),
        node.reduce(np.add, "y"),
        node.range(100, 900, 3).sum("y"),
    ]
    hists = varied.variations_for(varied.histo1d(("h", "", 50, -1, 1), "y", "w"))
    values = [result.value for result in results] + list(hists.values())
    return [
        value.view(flow=True).tobytes()
        if isinstance(value, hist.Hist)
        else ak.to_list(value)
        if isinstance(value, ak.Array)
        else np.asarray(value).tobytes()
        for value in values
    ]


def test_results_do_not_depend_on_the_number_of_threads(file, small_parts):
    reference = everything(DataFrame("Events", file, threads=1))
    for threads in (2, 3, 7):
        frame = DataFrame("Events", file, threads=threads)
        assert everything(frame) == reference
        small_parts(frame, threads)


def test_parts_do_not_depend_on_what_is_booked(file):
    def blocks(book):
        frame = DataFrame("Events", file, threads=1)
        seen = []
        other = book(frame)
        frame.foreach(lambda n: seen.append(len(n)), ["n"])
        return seen, other.value

    alone, _ = blocks(lambda frame: frame.count())
    assert blocks(lambda frame: frame.sum("pt"))[0] == alone
    assert blocks(lambda frame: frame.take("jets"))[0] == alone
    assert sum(alone) == ENTRIES


def test_callables_see_the_same_blocks_with_any_number_of_threads(tmp_path, small_parts):
    # Lists that are short in some clusters and long in others.
    random = np.random.default_rng(8)
    counts = np.concatenate([random.integers(0, most, 700) for most in (2, 200, 3, 90)])
    values = random.normal(size=int(counts.sum())).astype(np.float32)
    path = tmp_path / "f.root"
    with colonnade.create(path, "Events", cluster_size=30_000, page_size=2048) as writer:
        writer.extend({"i": np.arange(len(counts)), "v": ak.unflatten(values, counts)})

    def outcome(threads, block_entries):
        frame = DataFrame("Events", path, threads=threads, block_entries=block_entries)
        node = frame.define("y", lambda v, i: ak.sum(v, axis=1) - i.mean(), ["v", "i"])
        blocks = node.aggregate(lambda state, i: [*state, (int(i[0]), len(i))], lambda a, b: a + b, ["i"], [])
        kept = node.filter("v.size() > 1").reduce(np.add, "v")
        weighted = node.histo1d(("h", "", 9, -2000, 2000), "y", "y")
        found = [blocks.value, kept.value.tobytes(), node.take("y").value.tobytes()]
        small_parts(frame, threads)
        return [*found, weighted.value.view(flow=True).tobytes()]

    for block_entries in (7, 1000, 100_000):
        reference = outcome(1, block_entries)
        assert sum(size for _, size in reference[0]) == len(counts)
        assert max(size for _, size in reference[0]) <= block_entries
        for threads in (2, 3, 7):
            assert outcome(threads, block_entries) == reference


def test_blocks_of_callables_are_large():
    entries = 250_000
    sizes = []
    DataFrame(entries).foreach(lambda n: sizes.append(len(n)), "rdfentry_")
    assert max(sizes) == 65_536  # a part
    frame = DataFrame.from_arrays({"x": np.arange(entries)})
    assert frame.define("n", lambda x: np.full(len(x), len(x))).max("n").value == 100_000
    small = DataFrame.from_arrays({"x": np.arange(entries)}, block_entries=1000)
    assert small.define("n", lambda x: np.full(len(x), len(x))).max("n").value == 1000
    for wrong in (0, -1, True, 1 << 40):
        with pytest.raises(colonnade.Error, match="block_entries"):
            DataFrame(10, block_entries=wrong)


def test_several_graphs_in_one_pass(file, arrays):
    frames = [DataFrame("Events", file) for _ in range(3)]
    results = [frame.filter(f"n > {k}").count() for k, frame in enumerate(frames)]
    assert colonnade.run_graphs(results) == 3
    assert all(result.is_ready for result in results)
    assert [result.value for result in results] == [np.count_nonzero(arrays["n"] > k) for k in range(3)]
    assert [frame.num_runs for frame in frames] == [1, 1, 1]
    assert colonnade.run_graphs(frames) == 0
    assert colonnade.run_graphs([]) == 0


def test_python_threads_share_a_graph(file, arrays):
    frame = DataFrame("Events", file, threads=2)
    sums = {}

    def work(k):
        for step in range(5):
            sums[k, step] = frame.filter(f"n == {k}").sum("n + rdfslot_ * 0").value

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(total == k * np.count_nonzero(arrays["n"] == k) for (k, _), total in sums.items())


def test_damaged_pages_leave_the_graph_usable(tmp_path):
    path = tmp_path / "f.root"
    good, bad = np.arange(5000.0), np.random.default_rng(0).integers(0, 256, 5000).astype(np.uint8)
    with colonnade.create(path, "Events", compression="none") as writer:
        writer.extend({"good": good, "bad": bad})
    stored = bytearray(path.read_bytes())
    stored[stored.index(bad[:64].tobytes()) + 10] ^= 1
    path.write_bytes(stored)
    frame = DataFrame("Events", path, threads=3)
    broken, other = frame.sum("bad"), frame.sum("good")
    with pytest.raises(colonnade.ChecksumError):
        broken.value  # noqa: B018
    assert other.value == good.sum()
    with pytest.raises(colonnade.ChecksumError):
        broken.value  # noqa: B018
    assert frame.count().value == 5000


def test_after_a_failure_one_pass_computes_all_else(file, arrays):
    frame = DataFrame("Events", file, threads=2)

    def fails(x):
        raise ZeroDivisionError("on purpose")

    bad = frame.define("bad", fails, ["x"], returns="double")
    broken = [bad.sum("bad"), bad.filter("bad > 0").count(), bad.histo1d(("h", "", 3, 0, 1), "x", "bad")]
    others = [
        bad.sum("n"),
        bad.count(),
        bad.histo1d(("h", "", 3, 0, 1), "x", "w"),
        bad.take("pt"),
        bad.report(),
    ]
    with pytest.raises(ZeroDivisionError, match="on purpose"):
        others[0].value  # noqa: B018
    assert others[1].value == ENTRIES
    assert all(each.is_ready for each in others)
    assert frame.num_runs == 2
    assert others[0].value == int(np.sum(arrays["n"]))
    for each in broken:
        assert not each.is_ready
        with pytest.raises(ZeroDivisionError, match="on purpose"):
            each.value  # noqa: B018
    assert frame.count().value == ENTRIES
    with pytest.raises(ZeroDivisionError, match="on purpose"):
        colonnade.run_graphs(broken)


def test_what_failed_once_may_work_later(file):
    frame = DataFrame("Events", file)
    calls = []

    def fails_once(x):
        calls.append(len(x))
        if len(calls) == 1:
            raise OSError("not now")
        return x

    total = frame.define("y", fails_once, ["x"], returns="double").sum("y")
    with pytest.raises(OSError, match="not now"):
        total.value  # noqa: B018
    assert total.value == frame.sum("x").value


def test_dropped_results_free_their_memory_at_once(file):
    class State(list):
        pass

    frame = DataFrame("Events", file)
    result = frame.aggregate(lambda state, n: state, lambda a, b: a, ["n"], State([1]))
    kept = weakref.ref(result.value)
    assert kept() == [1]
    del result
    assert kept() is None
    # While a pass runs, right after it.
    results = [frame.aggregate(lambda state, n: state, lambda a, b: a, ["n"], State([2]))]
    kept = weakref.ref(results[0].value)
    frame.foreach(lambda n: results.clear(), ["n"])
    assert kept() is None


def test_lists_that_double_end_with_an_error_that_names_them():
    frame = DataFrame(1).define("v0", "ROOT::RVecD{1.0, 2.0}")
    for k in range(45):
        frame = frame.define(f"v{k + 1}", f"Concatenate(v{k}, v{k})")
    result = frame.sum("v45.size()")
    with pytest.raises(colonnade.Error, match=r"'Concatenate\(.*would take more than the 512 MiB"):
        result.value  # noqa: B018
    assert frame.sum("v10.size()").value == 2048


# ---- Drawings and notebooks


def test_drawings(frame, tmp_path):
    node = frame.define("m", "x + 1").filter("m > 0", name="positive")
    node.histo1d(("h", "", 10, 0, 1), "m")
    svg = node.save_graph(tmp_path / "graph.svg")
    assert svg.startswith("<?xml")
    assert "positive" in svg
    assert (tmp_path / "graph.svg").read_text() == svg


def test_drawings_without_graphviz(frame, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", "")
    with pytest.raises(
        colonnade.StorageError, match="'dot' of Graphviz, which draws graphs, is not installed"
    ):
        frame.save_graph()
    text = frame.save_graph(tmp_path / "graph.dot")
    assert text.startswith("digraph")
    assert (tmp_path / "graph.dot").read_text() == text


def test_notebooks(frame):
    html = frame.define("a<b".replace("<", "_"), "x")._repr_html_()
    assert "<td>a_b</td><td>double</td><td>defined</td>" in html
    assert "<td>pt</td><td>std::vector&lt;float&gt;</td>" in html
    count, histogram = frame.count(), frame.histo1d(("h", "", 10, 0, 1), "x")
    assert count._repr_html_() == "<p>count(): not computed yet</p>"
    assert count.value
    assert count._repr_html_() == "<p>3000</p>"
    assert "<svg" in histogram._repr_html_()
    report = frame.filter("n > 1", name="a").report()
    assert report.value
    assert report._repr_html_().startswith("<table>")


def test_histograms_need_hist(file):
    code = f"""
import sys
sys.modules["hist"] = None
import colonnade
h = colonnade.DataFrame("Events", {file!r}).histo1d(("h", "", 10, 0, 1), "x")
try:
    h.value
except colonnade.UnsupportedError as error:
    assert "pip install 'colonnade[hist]'" in str(error), error
else:
    raise SystemExit("it did not raise")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_session_may_book_and_drop_for_ever():
    frame = DataFrame.from_arrays({"x": np.arange(100.0), "n": np.arange(100)})
    graph = frame._session.graph
    before = graph.counts
    for number in range(10_000):
        node = frame.define(f"y{number}", f"x * {number}.5 + n").filter(
            f"y{number} > {number}", name=f"cut {number}"
        )
        result = node.histo1d(("h", "", 10, 0, 1e6), f"y{number}")
        report = node.report()
        if number % 1000 == 0:
            assert result.value.sum() + report.value[f"cut {number}"].passed > 0
        del node
        counts = graph.counts
        assert counts["nodes"] == before["nodes"] + 2  # those that the results stand on
        assert counts["results"] == before["results"] + 2
        assert counts["expressions"] < before["expressions"] + 60
        assert counts["selections"] < before["selections"] + 60
        del result, report
    assert {**graph.counts, "expressions": 0} == {**before, "expressions": 0}


def test_nodes_live_as_long_as_what_stands_on_them():
    frame = DataFrame.from_arrays({"x": np.arange(100.0)})
    graph = frame._session.graph
    table = np.arange(1000.0)
    kept = weakref.ref(table)
    last = frame.define("y", lambda x, table=table: table[x.astype(int)], returns="double", columns=["x"])
    total = last.filter("y > 50", name="large").sum("y")
    report = frame.report()  # of all filters that are there when it is computed
    del table, last
    assert graph.counts["nodes"] == 3
    assert total.value == sum(range(51, 100))
    assert report.value["large"].passed == 49
    assert kept() is not None
    del total
    assert graph.counts["nodes"] == 1
    assert kept() is None
    assert report.value["large"].passed == 49
    assert len(frame.report().value) == 0


def test_columns_of_a_selection_have_its_order(tmp_path):
    with colonnade.create(
        tmp_path / "f.root", "E", {"a": "int", "r": {"y": "int", "x": "int"}, "b": "int"}
    ) as writer:
        writer.extend({"a": [1], "r": [{"y": 2, "x": 3}], "b": [4]})
    data_set = colonnade.open(tmp_path / "f.root")
    frame = colonnade.DataFrame(data_set.select(["b", "r", "a"])).define("c", "a + b")
    assert frame.column_names == ["b", "r", "r.y", "r.x", "a", "c"]
    assert frame.to_awkward().fields == ["b", "r", "a", "c"]
    frame = colonnade.DataFrame(data_set.select(["r.x", "b"]), friends={"f": data_set})
    assert frame.column_names[:2] == ["r.x", "b"]
    assert colonnade.DataFrame(data_set).column_names == ["a", "r", "r.y", "r.x", "b"]


def test_a_frame_without_columns_says_so(tmp_path):
    for use in ("to_awkward", "to_numpy", "to_arrow", "display", "summary"):
        with pytest.raises(colonnade.UsageError, match="there are no columns"):
            getattr(colonnade.DataFrame(3), use)()


def test_all_entries_are_counted_without_a_pass_over_them(tmp_path):
    frame = DataFrame(300_000_000)
    counts = [frame.count(), frame.count()]
    assert [each.value for each in counts] == [300_000_000] * 2
    assert (frame._session.last_run.parts, frame._session.last_run.blocks) == (1, 1)
    assert DataFrame(2**62).count().value == 2**62
    files = [str(tmp_path / f"{number}.root") for number in range(3)]
    for number, file in enumerate(files):
        with colonnade.create(file, "Events", {"x": "float"}) as writer:
            writer.extend({"x": np.arange(10.0 * number)})
    chain = colonnade.open(files)
    assert DataFrame(chain, entries=(5, 25)).count().value == 20
    frame = DataFrame(chain)
    booked = frame.count(), frame.filter("x < 5").count(), frame.range(3, 20).count(), frame.sum("x")
    assert [each.value for each in booked] == [30, 10, 17, 45 + 190]
    varied = colonnade.variations_for(DataFrame(chain).vary("x", "{x - 1, x + 1}", 2).count())
    assert {varied[name] for name in varied} == {30}
