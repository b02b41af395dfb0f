"""Tables of pandas, Polars and Arrow: one schema per column, NaN, categories, dates and times."""

from __future__ import annotations

import datetime
import math
import random

import awkward as ak
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import colonnade


def a_value(dice, kind):
    """Any value of an Arrow type, a missing one now and then."""
    if dice.random() < 0.3:
        return None
    if pa.types.is_struct(kind):
        return {member.name: a_value(dice, member.type) for member in kind}
    if pa.types.is_map(kind):
        return [("k" * number, a_value(dice, kind.item_type)) for number in range(dice.randint(0, 3))]
    if pa.types.is_dictionary(kind):
        return a_value(dice, kind.value_type)
    if pa.types.is_fixed_size_list(kind):
        return [a_value(dice, kind.value_type) for _ in range(kind.list_size)]
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return [a_value(dice, kind.value_type) for _ in range(dice.randint(0, 3))]
    if pa.types.is_large_string(kind) or pa.types.is_string(kind) or pa.types.is_string_view(kind):
        return dice.choice(["", "a", "µ" * 20])
    return dice.random() < 0.5 if pa.types.is_boolean(kind) else dice.randint(0, 9)


@pytest.mark.parametrize(
    ("kind", "spec"),
    [
        (pa.int32(), "std::optional<int>"),
        (pa.bool_(), "std::optional<bool>"),
        (pa.string(), "std::optional<std::string>"),
        (pa.string_view(), "std::optional<std::string>"),
        (pa.dictionary(pa.int8(), pa.int64()), "std::optional<std::int64_t>"),
        (pa.list_(pa.int16()), "std::optional<std::vector<std::optional<std::int16_t>>>"),
        (pa.large_list(pa.string()), "std::optional<std::vector<std::optional<std::string>>>"),
        (pa.list_(pa.bool_(), 2), "std::optional<std::array<std::optional<bool>,2>>"),
        (
            pa.list_(pa.list_(pa.int8(), 2)),
            "std::optional<std::vector<std::optional<std::array<std::optional<char>,2>>>>",
        ),
        (
            pa.list_(pa.dictionary(pa.int8(), pa.string())),
            "std::optional<std::vector<std::optional<std::string>>>",
        ),
        (
            pa.map_(pa.string(), pa.list_(pa.int8())),
            "std::optional<std::map<std::string,std::optional<std::vector<std::optional<char>>>>>",
        ),
    ],
)
def test_slices_of_arrow_arrays_with_missing_values(tmp_path, kind, spec):
    """Wherever a slice begins, and in whichever pieces a column comes."""
    dice = random.Random(str(kind))
    values = [a_value(dice, kind) for _ in range(200)]
    whole = pa.array(values, kind)
    for number in range(10):
        first = dice.randint(0, 100)
        last = dice.randint(first, 200)
        pieces = [whole.slice(first, last - first), whole.slice(3, 5), whole.slice(9, 0), whole.slice(0, 1)]
        path = tmp_path / f"{number}.root"
        with colonnade.create(path, "Events", {"x": spec}) as writer:
            writer.extend(pa.table({"x": pieces[0]}))
            writer.extend({"x": pieces[1]})
            writer.extend({"x": pa.chunked_array(pieces)})
            writer.extend(pa.table({"x": pa.chunked_array(pieces[:1])}))
        expected = [value for piece in [*pieces[:2], *pieces, pieces[0]] for value in piece.to_pylist()]
        assert colonnade.open(path)["x"].to_list() == expected


@pytest.mark.parametrize(
    ("kind", "value", "stored"),
    [
        (pa.timestamp("us"), 7, 7),
        (pa.dictionary(pa.int8(), pa.string()), "a", "a"),
        (pa.list_(pa.string()), ["a"], ["a"]),
        (pa.list_(pa.list_(pa.timestamp("s"))), [[7]], [[7]]),
        (pa.large_list(pa.dictionary(pa.int8(), pa.string())), ["a"], ["a"]),
        (pa.list_(pa.list_(pa.bool_(), 2)), [[True, False]], [[True, False]]),
        (pa.list_(pa.struct([("t", pa.timestamp("us")), ("s", pa.string())])), *[[{"t": 7, "s": "a"}]] * 2),
        (pa.map_(pa.string(), pa.date32()), [("a", 7)], [("a", 7)]),
    ],
    ids=str,
)
def test_lists_and_chunks_without_values(tmp_path, kind, value, stored):
    """A schema that was inferred takes them in whatever form Arrow and its casts leave them."""
    whole = pa.array([value, *[[] if pa.types.is_nested(kind) else value] * 50], kind)
    cuts = [(0, 1), (1, 2), (3, 0), (0, 0), (8, 40)]
    table = pa.table({"x": pa.chunked_array([whole.slice(*cut) for cut in cuts])})
    pieces = [table, table[1:3], table[:0], table.slice(5), pa.table({"x": pa.chunked_array([], kind)})]
    events = write(tmp_path / "f.root", *pieces)
    values = [stored, *[[] if pa.types.is_nested(kind) else stored] * 42]
    assert events["x"].to_list() == values + values[1:3] + values[5:]


@pytest.mark.parametrize("seed", range(20))
def test_slices_of_records_and_pandas_views(tmp_path, seed):
    dice = random.Random(seed)
    kind = pa.struct([("a", pa.int8()), ("l", pa.list_(pa.int32())), ("s", pa.string())])
    rows = [{m.name: a_value(dice, m.type) for m in kind} for _ in range(60)]
    schema = {"a": "std::optional<std::int8_t>", "l": "std::optional<std::vector<std::optional<int>>>",
              "s": "std::optional<std::string>"}  # fmt: skip
    first, last = sorted(dice.choices(range(61), k=2))
    table = pa.table({"r": pa.array(rows, kind), "n": pa.array([row["a"] for row in rows], pa.int8())})
    part = table.slice(first, last - first)
    with colonnade.create(
        tmp_path / "f.root", "Events", {"r": schema, "n": "std::optional<std::int8_t>"}
    ) as writer:
        writer.extend(part)
        writer.extend(pl.DataFrame(table)[first:last])
        writer.extend(part.combine_chunks())
    events = colonnade.open(tmp_path / "f.root").arrays().to_list()
    assert events == part.to_pylist() * 3


@pytest.mark.parametrize(
    ("column", "values"),
    [
        (pd.array([1, None], dtype="Int64"), [1, None]),
        (pd.array([True, None], dtype="boolean"), [True, None]),
        (pd.array(["a", None], dtype="string"), ["a", None]),
        (pd.Categorical(["a", None, "a"]), ["a", None, "a"]),
        (pd.Index([3, 4]), [3, 4]),
        (pl.Series([datetime.date(1970, 1, 8), None]), [7, None]),
        (pl.Series([["a"], [], ["b", "a"]], dtype=pl.List(pl.Categorical)), [["a"], [], ["b", "a"]]),
        (pa.RunEndEncodedArray.from_arrays([2, 3], [7, 8]), [7, 7, 8]),
        (np.array([[1, 2], [3, 4]]).view(np.matrix), [[1, 2], [3, 4]]),
        (np.array(["1970-01-01T05", "NaT"], "M8[h]"), [5 * 3600, None]),
        (np.array(["1970", "1971"], "M8[Y]"), [0, 365]),
        (np.array([3], "M8[10s]"), [30]),
        (np.array([(1, 2.5)], [("a", ">i4"), ("b", ">f8")]), [{"a": 1, "b": 2.5}]),
        ([2**63, 1], [2**63, 1]),
        ([[2**64 - 1, None], [], None], [[2**64 - 1, None], [], None]),
        ([{"a": (2**63, "x")}, {"a": (0, "y")}], [{"a": (2**63, "x")}, {"a": (0, "y")}]),
        (np.array([2**63, None], object), [2**63, None]),
    ],
    ids=lambda each: f"{type(each).__module__}.{type(each).__name__}" if not isinstance(each, list) else "",
)
def test_columns_of_other_libraries(tmp_path, column, values):
    assert write(tmp_path / "f.root", {"x": column})["x"].to_list() == values
    assert ak.to_list(colonnade.DataFrame.from_arrays({"x": column}).take("x").value) == values


@pytest.mark.parametrize(
    ("data", "error", "text"),
    [
        (
            pl.DataFrame({"x": pl.Series([object()], dtype=pl.Object)}),
            colonnade.TypeMismatchError,
            "Python objects",
        ),
        (pl.DataFrame({"x": [1]}, schema={"x": pl.Int128}), colonnade.TypeMismatchError, "'Int128'"),
        (pd.DataFrame({"x": pd.interval_range(0, 2)}), colonnade.TypeMismatchError, "'interval"),
        (pd.DataFrame({"x": [1j]}), colonnade.TypeMismatchError, "'complex128'"),
        (pd.DataFrame({"x": [1, "a"]}), colonnade.TypeMismatchError, "'object'"),
        (pd.DataFrame([[1, 2]], columns=["x", "x"]), colonnade.UsageError, "same name"),
        (pa.table([[1], [2]], names=["x", "x"]), colonnade.UsageError, "same name"),
        (
            pa.table({"x": pa.array([[1]], pa.list_view(pa.int8()))}),
            colonnade.TypeMismatchError,
            "'list_view",
        ),
        ({"x": np.array(["\ud800"], object)}, colonnade.TypeMismatchError, "'object'"),
        ({"x": [2**64]}, colonnade.ConversionError, "no type of 64 bits"),
        ({"x": [[-1], [2**63]]}, colonnade.ConversionError, "from -1 to 9223372036854775808"),
    ],
)
def test_columns_of_other_libraries_that_cannot_be_stored(tmp_path, data, error, text):
    for use in (lambda data: write(tmp_path / "f.root", data), colonnade.DataFrame.from_arrays):
        with pytest.raises(error, match=text) as caught:
            use(data)
        assert caught.value.field == "x"


def types(path):
    events = colonnade.open(path)
    return {name: events.schema[name].type for name in events}


def write(path, *batches):
    with colonnade.create(path, "Events") as writer:
        for batch in batches:
            writer.extend(batch)
    return colonnade.open(path)


@pytest.mark.parametrize("first_has_nan", [False, True])
def test_nan_of_pandas_is_a_number(tmp_path, first_has_nan):
    some = pd.DataFrame({"x": [1.0, math.nan], "f": np.array([math.nan, 1], dtype=np.float32)})
    none = pd.DataFrame({"x": [2.0, 3.0], "f": np.array([1, 2], dtype=np.float32)})
    events = write(tmp_path / "f.root", *([some, none] if first_has_nan else [none, some]))
    assert types(tmp_path / "f.root") == {"x": "double", "f": "float"}
    assert np.isnan(np.asarray(events["x"])).sum() == 1
    assert colonnade.DataFrame.from_arrays(some).filter("isnan(x)").count().value == 1


def test_nullable_types_of_pandas_are_optional_whatever_comes_first(tmp_path):
    first = pd.DataFrame(
        {"i": pd.array([1, 2], dtype="Int64"), "b": pd.array([True, False], dtype="boolean")}
    )
    later = pd.DataFrame(
        {"i": pd.array([None, 4], dtype="Int64"), "b": pd.array([None, True], dtype="boolean")}
    )
    events = write(tmp_path / "f.root", first, later)
    assert types(tmp_path / "f.root") == {"i": "std::optional<std::int64_t>", "b": "std::optional<bool>"}
    assert events["i"].to_list() == [1, 2, None, 4]
    assert events["b"].to_list() == [True, False, None, True]


def test_missing_values_that_come_late_say_what_to_do(tmp_path):
    writer = colonnade.create(tmp_path / "f.root", "Events")
    writer.extend(pa.table({"x": pa.array([1, 2])}))
    with pytest.raises(colonnade.Error, match=r"missing.*std::optional"):
        writer.extend(pa.table({"x": pa.array([None, 2])}))
    writer.abort()


def test_categories_are_what_they_stand_for(tmp_path):
    texts = ["a", "b", "a"]
    for data in (
        pd.DataFrame({"c": pd.Categorical(texts)}),
        pl.DataFrame({"c": texts}, schema={"c": pl.Categorical}),
        pl.DataFrame({"c": texts}, schema={"c": pl.Enum(["b", "a"])}),
        pa.table({"c": pa.array(texts).dictionary_encode()}),
    ):
        assert write(tmp_path / "f.root", data)["c"].to_list() == texts
        assert colonnade.DataFrame.from_arrays(data).filter('c == "a"').count().value == 2
    numbers = pd.DataFrame({"c": pd.Categorical([5, 7, 5])})
    assert write(tmp_path / "f.root", numbers)["c"].tolist() == [5, 7, 5]
    assert types(tmp_path / "f.root") == {"c": "std::int64_t"}


def test_dates_and_times_are_integers_with_a_unit(tmp_path):
    moment = datetime.datetime(2024, 5, 17, 12, 30, tzinfo=datetime.timezone.utc)
    table = pa.table(
        {
            "t": pa.array([moment] * 2, type=pa.timestamp("us", tz="UTC")),
            "d": pa.array([moment.date()] * 2),
            "l": pa.array([[moment], []], type=pa.list_(pa.timestamp("ns"))),
            "c": pa.array([moment] * 2, type=pa.timestamp("us")).dictionary_encode(),
            "r": pa.array([[{"t": moment}], []], type=pa.list_(pa.struct([("t", pa.timestamp("s"))]))),
            "w": pa.array([datetime.timedelta(seconds=2)] * 2, type=pa.duration("ms")),
        }
    )
    seconds = int(moment.timestamp())
    events = write(tmp_path / "f.root", table)
    assert types(tmp_path / "f.root") == {
        "t": "std::int64_t",
        "d": "std::int32_t",
        "l": "std::vector<std::int64_t>",
        "c": "std::int64_t",
        "r": "collection",
        "w": "std::int64_t",
    }
    assert events["t"].tolist() == [seconds * 10**6] * 2
    assert events["d"].tolist() == [seconds // 86400] * 2
    assert events["l"].to_list() == [[seconds * 10**9], []]
    assert [events.schema[name].description for name in events] == [
        "timestamp[us, tz=UTC]",
        "date32[day]",
        "timestamp[ns]",
        "timestamp[us]",
        "",
        "duration[ms]",
    ]
    assert events.schema["r._0.t"].description == "timestamp[s]"
    frame = pd.DataFrame({"t": [moment, moment]})
    for data in (frame, pl.from_arrow(table.select(["t"])), {"t": frame["t"]}):
        again = write(tmp_path / "g.root", data)
        assert again.schema["t"].description.startswith("timestamp[")
        unit = again.schema["t"].description[10:12]
        assert again["t"].tolist() == [seconds * {"us": 10**6, "ns": 10**9, "ms": 10**3, "s,": 1}[unit]] * 2
    plain = write(tmp_path / "g.root", {"t": np.array(["2024-05-17", "NaT"], dtype="datetime64[D]")})
    assert plain["t"].to_list() == [seconds // 86400, None]
    assert colonnade.DataFrame.from_arrays(table).max("t").value == seconds * 10**6
