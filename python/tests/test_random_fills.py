"""Random columns filled together, with lists, scalars and missing values side by side, against a plain loop."""

import random

import awkward as ak
import hist
import numpy as np
import pytest

import colonnade
from colonnade import DataFrame

SHAPES = [
    "scalar",
    "optional",
    "list",
    "list of optional",
    "optional list",
    "list of lists",
    "optional list of lists",
]


def values_of(shape, rng, sizes):
    """A value of a shape; lists side by side have the sizes of the entry."""
    if shape.startswith("optional"):
        inner = shape[len("optional") :].strip() or "scalar"
        return None if rng.random() < 0.3 else values_of(inner, rng, sizes)
    if shape == "scalar":
        return rng.choice([0.5, 1.5, 2.5, -1.0, 7.0])
    outer, inner = sizes
    if shape == "list of lists":
        return [[values_of("scalar", rng, sizes) for _ in range(inner[k])] for k in range(outer)]
    item = "optional" if shape == "list of optional" else "scalar"
    return [values_of(item, rng, sizes) for _ in range(outer)]


def table_of(shapes, rng, entries):
    """Columns as lists of Python's values."""
    columns = [[] for _ in shapes]
    for _ in range(entries):
        outer = rng.choice([0, 1, 1, 2, 3])
        sizes = outer, [rng.choice([0, 1, 1, 2]) for _ in range(outer)]
        for column, shape in zip(columns, shapes, strict=True):
            column.append(values_of(shape, rng, sizes))
    return columns


def fills(values):
    """Fills of one entry: one per item of the lists, with scalars repeated; none where a value is missing."""
    if any(value is None for value in values):
        return []
    lists = [value for value in values if isinstance(value, list)]
    if not lists:
        return [values]
    return [
        fill
        for k in range(len(lists[0]))
        for fill in fills([value[k] if isinstance(value, list) else value for value in values])
    ]


def array_of(shape, column):
    """Of the type of the shape, also where all values are missing or all lists are empty."""
    depth = "list" in shape
    one = {"scalar": 0.0, "optional": None, "list": [0.0], "list of optional": [None, 0.0]}.get(
        shape, [[0.0]] if "lists" in shape else [0.0]
    )
    more = [one, None, one] if shape.startswith("optional") else [one]
    more = [0.0, *more] if shape == "optional" else more
    array = ak.Array([*column, *more])[: len(column)]
    return ak.values_astype(array, np.float64) if depth or shape != "scalar" else np.asarray(array)


def axis(growth):
    return hist.axis.Regular(4, 0, 4, growth=growth)


@pytest.mark.parametrize("seed", range(120))
def test_lists_and_what_is_missing_as_in_a_plain_loop(seed):
    rng = random.Random(seed)
    shapes = [rng.choice(SHAPES) for _ in range(rng.choice([1, 2, 2, 3]))]
    columns = table_of(shapes, rng, rng.choice([1, 5, 40]))
    names = [f"c{k}" for k in range(len(shapes))]
    df = DataFrame.from_arrays(
        {name: array_of(shape, column) for name, shape, column in zip(names, shapes, columns, strict=True)},
        threads=rng.choice([1, 2]),
    )
    expected = [fill for values in zip(*columns, strict=True) for fill in fills(list(values))]
    for growth in (False, True):
        made = hist.Hist(*(axis(growth) for _ in names))
        if expected:
            made.fill(*np.array(expected).T)
        booked = df.histond([axis(growth) for _ in names], names)
        assert booked.value.values(flow=True).tolist() == made.values(flow=True).tolist(), (shapes, growth)
    plain = hist.Hist(axis(False), storage=hist.storage.Weight())
    if expected:
        plain.fill([fill[0] for fill in expected], weight=[fill[-1] for fill in expected])
    weighted = df.histo1d([axis(False)], names[0], names[-1]).value
    together = [fill for values in zip(columns[0], columns[-1], strict=True) for fill in fills(list(values))]
    plain.reset()
    if together:
        plain.fill([fill[0] for fill in together], weight=[fill[-1] for fill in together])
    assert weighted.values(flow=True).tolist() == plain.values(flow=True).tolist(), shapes


@pytest.mark.parametrize("growth", [False, True])
def test_lists_of_different_lengths_are_refused(growth):
    df = DataFrame.from_arrays({"x": ak.Array([[1.0], [1.0, 2.0]]), "y": ak.Array([[1.0], [1.0]])})
    with pytest.raises(colonnade.UsageError, match="only lists of the same lengths"):
        repr(df.histond([axis(growth), axis(growth)], ["x", "y"]).value)


@pytest.mark.parametrize(
    ("expression", "problem"),
    [
        ("o + l", "an optional and the items of a list do not combine"),
        ("l * o", "x.value_or"),
        ("o > l", "do not combine"),
        ("pow(l, o)", "do not combine"),
        ("DeltaPhi(o, l)", "do not combine"),
        ("Where(l > 1, o, 0)", "do not combine"),
        ("Where(l > 1, l, o)", "do not combine"),
        ("t == tl", "do not combine"),
        ("lo + ll", "do not combine"),
        ("ol + l", "do not combine"),
        ("o > 1 ? 1 : 0", "value_or"),
    ],
)
def test_optionals_with_lists_are_refused(expression, problem):
    df = DataFrame.from_arrays(
        {
            "o": ak.Array([1.0, None, 3.0]),
            "l": ak.Array([[1.0], [2.0], []]),
            "lo": ak.Array([[1.0, None], [2.0], []]),
            "ll": ak.Array([[[1.0], [2.0]], [[2.0]], []]),
            "ol": ak.Array([[1.0], None, []]),
            "t": ak.Array(["a", None, "b"]),
            "tl": ak.Array([["a"], ["b"], []]),
        }
    )
    with pytest.raises(colonnade.Error) as refused:
        df.define("y", expression)
    assert problem in str(refused.value)


def test_optionals_say_what_holds_beside_lists():
    df = DataFrame.from_arrays({"o": ak.Array([1.0, None, 3.0]), "l": ak.Array([[1.0], [2.0, 3.0], []])})
    assert ak.to_list(df.define("y", "o.value_or(10) + l").take("y").value) == [[2.0], [12.0, 13.0], []]
