"""Every result and conversion of columns of every type: the values of a plain loop, or an error of the package."""

import math
import random
from collections import Counter

import awkward as ak
import hist
import numpy as np
import pytest

import colonnade
from colonnade import DataFrame

ENTRIES = 23


# ---- Columns: a type, and how one of its values is made


def floats(rng):
    return rng.choice([rng.uniform(-5, 5), 0.0, 2.5, 2.5, float("nan"), math.inf])


def finite(rng):
    return rng.choice([rng.uniform(-5, 5), 0.0, 2.5])


def record(rng):
    return {"a": rng.randint(0, 3), "b": finite(rng)}


def pair(rng):
    return (rng.randint(0, 3), finite(rng))


LEAVES = {
    "bool": (np.bool_, lambda rng: rng.random() < 0.5),
    "int8": (np.int8, lambda rng: rng.randint(-128, 127)),
    "uint8": (np.uint8, lambda rng: rng.randint(0, 255)),
    "int32": (np.int32, lambda rng: rng.randint(-3, 3)),
    "int64": (np.int64, lambda rng: rng.randint(-3, 3)),
    "uint64": (np.uint64, lambda rng: rng.randint(0, 5)),
    "float": (np.float32, lambda rng: float(np.float32(finite(rng)))),
    "double": (np.float64, finite),
    "double with NaN": (np.float64, floats),
    "text": (None, lambda rng: rng.choice(["", "a", "b b", "naïve"])),
    "record": (None, record),
    "pair": (None, pair),
    "variant": (None, lambda rng: rng.choice([rng.randint(0, 3), "a"])),
}


def lists(make):
    return lambda rng: [make(rng) for _ in range(rng.randint(0, 3))]


def optional(make):
    return lambda rng: None if rng.random() < 0.3 else make(rng)


WRAPS = {
    "": lambda make: make,
    "list of": lists,
    "list of list of": lambda make: lists(lists(make)),
    "optional": optional,
    "optional list of": lambda make: optional(lists(make)),
    "list of optional": lambda make: lists(optional(make)),
}

COLUMNS = [f"{wrap} {leaf}".strip() for wrap in WRAPS for leaf in LEAVES]


def column_of(text, seed=1):
    """The values of a column as Python's, and as an array."""
    wrap = max((each for each in WRAPS if text.startswith(each)), key=len)
    dtype, make = LEAVES[text[len(wrap) :].strip()]
    rng = random.Random(f"{text} {seed}")
    values = [WRAPS[wrap](make)(rng) for _ in range(ENTRIES)]
    array = ak.Array(values)
    return values, array if dtype is None else ak.values_astype(array, dtype)


def flat(values):
    """All numbers or texts, without those that are missing."""
    if isinstance(values, list):
        return [each for item in values for each in flat(item)]
    return [] if values is None else [values]


def holds(text, *leaves):
    return any(text.endswith(leaf) for leaf in leaves)


def is_number(text):
    return not holds(text, "text", "record", "pair", "variant")


def is_whole(text):
    return holds(text, "bool", "int8", "int32", "int64", "uint64")


def is_text(text):
    return holds(text, "text")


def key_of(value):
    """NaN as a key that equals itself."""
    return "NaN" if isinstance(value, float) and math.isnan(value) else value


def is_of_one_type(text):
    return not holds(text, "variant")


def always(text):
    return True


# ---- Results: for which columns there is one, what is booked, and what a plain loop has


def ordered(values):
    return sorted(set(values), key=lambda each: (0, each) if key_of(each) == each else (1, 0))


def counted(values):
    return Counter(map(key_of, values))


def histogram_of(values):
    made = hist.Hist(hist.axis.Regular(8, -4, 4))
    made.fill(np.asarray(values, dtype=float))
    return made.values(flow=True).tolist()


def category_of(values):
    return dict(sorted(Counter(values).items()))


def growing(df):
    return df.histo1d(hist.axis.Regular(4, 0, 2, growth=True, name="x"), "x").value.sum(flow=True)


def texts(df):
    made = df.histo1d(hist.axis.StrCategory([], growth=True), "x").value
    return dict(sorted((each, int(made[each])) for each in made.axes[0]))


def whole(df):
    return df.histo1d(hist.axis.Integer(-4, 4, growth=True), "x").value.sum(flow=True)


def number_or_none(values, reduce):
    return reduce(values) if values else None


def as_doubles(values):
    return [float(each) for each in values]


def listed(value):
    """What NumPy's arrays of objects hold, as Python's values."""
    if isinstance(value, np.ndarray | list):
        return [listed(each) for each in value]
    if isinstance(value, np.void):
        return {name: listed(value[name]) for name in value.dtype.names}
    if isinstance(value, np.ma.core.MaskedConstant):
        return None
    return value.item() if isinstance(value, np.generic) else value


def as_arrow(values):
    """Pairs are records of 0 and 1 there."""
    if isinstance(values, list):
        return [as_arrow(each) for each in values]
    if isinstance(values, tuple):
        return {"0": values[0], "1": values[1]}
    return values


RESULTS = {
    "count": (always, lambda df: df.count().value, lambda values: ENTRIES),
    "sum": (
        is_number,
        lambda df: float(df.sum("x").value),
        lambda values: math.fsum(as_doubles(flat(values))),
    ),
    "stats": (is_number, lambda df: df.stats("x").value.count, lambda values: len(flat(values))),
    "min": (is_number, lambda df: df.min("x").value, None),
    "mean": (is_number, lambda df: df.mean("x").value, None),
    "stddev": (is_number, lambda df: df.stddev("x").value, None),
    "quantile": (
        is_number,
        lambda df: df.quantile("x").value,
        lambda values: float(np.median(as_doubles(flat(values)))),
    ),
    "unique": (
        lambda text: is_number(text) or is_text(text),
        lambda df: df.unique("x").value,
        lambda values: ordered({key_of(each): each for each in flat(values)}.values()),
    ),
    "value_counts": (
        lambda text: is_number(text) or is_text(text),
        lambda df: {key_of(key): count for key, count in df.value_counts("x").value.items()},
        lambda values: dict(counted(flat(values))),
    ),
    "summary": (
        is_number,
        lambda df: df.summary("x").value["x"]["count"],
        lambda values: len(flat(values)),
    ),
    "summary of all": (
        is_number,
        lambda df: list(df.summary().value),
        lambda values: ["x"],
    ),
    "histogram": (
        is_number,
        lambda df: df.histo1d(("", "", 8, -4, 4), "x").value.values(flow=True).tolist(),
        lambda values: histogram_of(flat(values)),
    ),
    "automatic histogram": (is_number, lambda df: df.histo1d("x").value, None),
    "growing axis": (
        is_number,
        growing,
        lambda values: len(flat(values)),
    ),
    "axis of texts": (is_text, texts, lambda values: category_of(flat(values))),
    "axis of integers": (is_whole, whole, lambda values: len(flat(values))),
    "fill": (
        is_number,
        lambda df: df.fill(hist.Hist(hist.axis.Regular(8, -4, 4)), "x").value.values(flow=True).tolist(),
        lambda values: histogram_of(flat(values)),
    ),
    "profile": (is_number, lambda df: df.profile1d(("", "", 8, -4, 4), "x", "x").value, None),
    "weights": (
        is_number,
        lambda df: df.histo1d(hist.axis.Regular(4, 0, 2, growth=True), "x", "x").value,
        None,
    ),
    "graph": (
        is_number,
        lambda df: df.graph("x", "x").value.x.tolist(),
        lambda values: as_doubles(flat(values)),
    ),
    "take": (always, lambda df: ak.to_list(df.take("x").value), lambda values: values),
    "display": (always, lambda df: repr(df.display().value) != "", lambda values: True),
    "reduce by a ufunc": (
        is_number,
        lambda df: float(df.reduce(np.maximum, "x").value),
        lambda values: float(np.max(as_doubles(flat(values)))),
    ),
    "reduce": (
        always,
        lambda df: df.reduce(lambda a, b: b, "x").value,
        lambda values: next(each for each in reversed(values) if each is not None),
    ),
    "aggregate": (
        always,
        lambda df: df.aggregate(lambda n, array: n + len(array), lambda a, b: a + b, "x", 0).value,
        lambda values: ENTRIES,
    ),
    "to_awkward": (always, lambda df: ak.to_list(df.to_awkward().x), lambda values: values),
    "to_numpy": (always, lambda df: listed(df.to_numpy()["x"]), lambda values: values),
    "to_arrow": (always, lambda df: df.to_arrow()["x"].to_pylist(), as_arrow),
    "to_pandas": (always, lambda df: len(df.to_pandas()), lambda values: ENTRIES),
    "to_polars": (is_of_one_type, lambda df: df.to_polars()["x"].to_list(), as_arrow),
    "iterate": (
        always,
        lambda df: [each for step in df.iterate(step_size=5) for each in ak.to_list(step.x)],
        lambda values: values,
    ),
    "to_arrow_reader": (
        always,
        lambda df: df.to_arrow_reader(step_size=5).read_all()["x"].to_pylist(),
        as_arrow,
    ),
    "cache": (always, lambda df: ak.to_list(df.cache().take("x").value), lambda values: values),
    "polars": (is_of_one_type, lambda df: len(df.to_polars()), lambda values: ENTRIES),
}


def same(a, b):
    """Equal; NaN equals NaN, and a pair the record of its members."""
    if isinstance(a, dict) and isinstance(b, tuple):
        a = tuple(a.values())
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if isinstance(a, tuple) and isinstance(b, tuple):
        a, b = list(a), list(b)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, float) and isinstance(b, float):
        return key_of(a) == key_of(b) or math.isclose(a, b, rel_tol=1e-12)
    return a == b


@pytest.mark.parametrize("result", RESULTS)
@pytest.mark.parametrize("column", COLUMNS)
def test_any_result_of_any_column(column, result):
    values, array = column_of(column)
    df = DataFrame.from_arrays({"x": array})
    is_there, book, reference = RESULTS[result]
    if not is_there(column):
        with pytest.raises(colonnade.Error):
            book(df)
        return
    got = book(df)
    if reference is not None:
        assert same(got, reference(values)), (got, reference(values))


@pytest.mark.parametrize("column", COLUMNS)
def test_snapshots_of_any_column(column, tmp_path):
    values, array = column_of(column)
    df = DataFrame.from_arrays({"x": array})
    if "optional" in column and holds(column, "record"):
        with pytest.raises(
            colonnade.SchemaError, match=r"an optional (list of )?records? of .* cannot be stored"
        ):
            df.snapshot(tmp_path / "f.root", lazy=True)
        return
    written = df.snapshot(tmp_path / "f.root")
    assert same(ak.to_list(written.take("x").value), values)


CALLS_OF_ROOT = {
    "Histo1D": (is_number, lambda df: df.Histo1D(("h", "t", 8, -4.0, 4.0), "x").GetEntries()),
    "Profile1D": (is_number, lambda df: df.Profile1D(("h", "t", 8, -4.0, 4.0), "x", "x").GetEntries()),
    "Stats": (is_number, lambda df: df.Stats("x").GetN()),
    "Graph": (is_number, lambda df: df.Graph("x", "x").GetN()),
    "Display": (always, lambda df: df.Display(["x"]).AsString()),
    "AsNumpy": (always, lambda df: (len(df.AsNumpy(["x"])["x"]), list(df.AsNumpy()))),
    "GetColumnType": (always, lambda df: df.GetColumnType("x")),
    "Define": (always, lambda df: df.Define("y", "x").Take("y").GetValue()),
    "Define a function": (always, lambda df: df.Define("y", lambda x: 1).Sum("y").GetValue()),
    "Foreach": (always, lambda df: df.Foreach(lambda x: None, ["x"])),
    "Reduce": (always, lambda df: df.Reduce(lambda a, b: b, "x").GetValue()),
    "Aggregate": (always, lambda df: df.Aggregate(lambda n, x: n + 1, lambda a, b: a + b, "x", 0).GetValue()),
    "Describe": (always, lambda df: str(df.Describe())),
    "Vary": (always, lambda df: df.Vary("x", "{x, x}", 2).Count().GetValue()),
}


@pytest.mark.parametrize("call", CALLS_OF_ROOT)
@pytest.mark.parametrize("column", COLUMNS)
def test_calls_of_root_with_any_column(column, call):
    _, array = column_of(column)
    is_there, run = CALLS_OF_ROOT[call]
    df = colonnade.RDataFrame(DataFrame.from_arrays({"x": array}))
    if is_there(column):
        run(df)
        return
    with pytest.raises(colonnade.Error):
        run(df)
