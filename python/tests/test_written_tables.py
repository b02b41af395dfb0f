"""Tables of pandas, Polars and Arrow: one schema per column, NaN, categories, dates and times."""

from __future__ import annotations

import datetime
import math

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import colonnade


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
            "w": pa.array([datetime.timedelta(seconds=2)] * 2, type=pa.duration("ms")),
        }
    )
    seconds = int(moment.timestamp())
    events = write(tmp_path / "f.root", table)
    assert types(tmp_path / "f.root") == {
        "t": "std::int64_t",
        "d": "std::int32_t",
        "l": "std::vector<std::int64_t>",
        "w": "std::int64_t",
    }
    assert events["t"].tolist() == [seconds * 10**6] * 2
    assert events["d"].tolist() == [seconds // 86400] * 2
    assert events["l"].to_list() == [[seconds * 10**9], []]
    assert [events.schema[name].description for name in events] == [
        "timestamp[us, tz=UTC]",
        "date32[day]",
        "timestamp[ns]",
        "duration[ms]",
    ]
    frame = pd.DataFrame({"t": [moment, moment]})
    for data in (frame, pl.from_arrow(table.select(["t"])), {"t": frame["t"]}):
        again = write(tmp_path / "g.root", data)
        assert again.schema["t"].description.startswith("timestamp[")
        unit = again.schema["t"].description[10:12]
        assert again["t"].tolist() == [seconds * {"us": 10**6, "ns": 10**9, "ms": 10**3, "s,": 1}[unit]] * 2
    plain = write(tmp_path / "g.root", {"t": np.array(["2024-05-17", "NaT"], dtype="datetime64[D]")})
    assert plain["t"].to_list() == [seconds // 86400, None]
    assert colonnade.DataFrame.from_arrays(table).max("t").value == seconds * 10**6
