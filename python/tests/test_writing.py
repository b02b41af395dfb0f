"""Writing: schemas given and inferred, arrays and single entries, options, errors."""

from __future__ import annotations

import copy
import gc
import os
import pickle
import subprocess
import sys
import threading
import warnings
from types import SimpleNamespace

import awkward as ak
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import uproot
from locations import FIXTURES
from root_values import python_values, same

import colonnade
from colonnade import _core

SCHEMA = {"pt": "std::vector<float>", "id": "std::int32_t"}
ENTRIES = {"pt": [[1.0, 2.0], [], [3.0]], "id": [1, 2, 3]}


def written(path, data, *, schema=None, name="Events", **options):
    with colonnade.create(path, name, schema, **options) as writer:
        writer.extend(data)
    return colonnade.open(path, name)


# ---- What is given


@pytest.mark.parametrize(
    "target",
    [
        lambda p: (p, "Events"),
        lambda p: (f"{p}:Events",),
        lambda p: ((p, "Events"),),
        lambda p: (str(p), "Events"),
    ],
)
def test_target_is_named_in_several_ways(tmp_path, target):
    with colonnade.create(*target(tmp_path / "f.root"), schema=SCHEMA) as writer:
        writer.extend(ENTRIES)
    assert colonnade.datasets(tmp_path / "f.root") == ["Events"]


def test_name_is_needed(tmp_path):
    with pytest.raises(colonnade.UsageError, match="needs a name"):
        colonnade.create(tmp_path / "f.root")
    with pytest.raises(colonnade.UsageError, match="in place of the name"):
        colonnade.create(tmp_path / "f.root", SCHEMA)


def test_data_set_in_a_directory(tmp_path):
    written(tmp_path / "f.root", ENTRIES, name="dir/sub/Events")
    assert colonnade.datasets(tmp_path / "f.root") == ["dir/sub/Events"]
    with uproot.open(tmp_path / "f.root") as file:
        assert file["dir/sub/Events"].arrays().to_list() == ak.zip(ENTRIES, depth_limit=1).to_list()


@pytest.mark.parametrize(
    "form",
    [
        lambda d: d,
        lambda d: {name: ak.Array(values) for name, values in d.items()},
        lambda d: ak.zip(d, depth_limit=1),
        pa.table,
        pd.DataFrame,
        lambda d: [dict(zip(d, row, strict=True)) for row in zip(*d.values(), strict=True)],
        lambda d: {name: pa.array(values) for name, values in d.items()},
        lambda d: {name: pd.Series(values) for name, values in d.items()},
        lambda d: {name: np.array([*values, None], dtype=object)[:-1] for name, values in d.items()},
    ],
    ids=["lists", "awkward", "records", "arrow", "pandas", "rows", "arrow arrays", "series", "objects"],
)
@pytest.mark.parametrize("schema", [SCHEMA, None], ids=["schema", "inferred"])
def test_forms_of_data(tmp_path, form, schema):
    data_set = written(tmp_path / "f.root", form(ENTRIES), schema=schema)
    assert data_set.arrays().to_list() == ak.zip(ENTRIES, depth_limit=1).to_list()
    assert not data_set.schema["id"].type.startswith("std::optional")


def test_structured_numpy_array(tmp_path):
    data = np.array([(1, 2.5), (3, 4.5)], dtype=[("a", "i2"), ("b", "f4")])
    data_set = written(tmp_path / "f.root", data)
    assert data_set.schema["a"].type == "std::int16_t"
    assert data_set.schema["b"].type == "float"
    assert data_set.arrays(library="np")["b"].tolist() == [2.5, 4.5]


def test_arrays_of_records_keep_their_shape(tmp_path):
    """Their fields were taken for arrays of the whole shape: a record of lists per entry."""
    data = np.zeros((2, 3), [("a", ">i2"), ("b", "S2")])
    data["a"], data["b"] = np.arange(6).reshape(2, 3), b"xy"
    for given in (data, np.asfortranarray(data), list(data)):
        found = written(tmp_path / "f.root", {"x": given}).arrays()["x"].to_list()
        assert found == [[{"a": 3 * row + k, "b": [120, 121]} for k in range(3)] for row in range(2)]
    with colonnade.create(tmp_path / "g.root", "Events") as writer:
        writer.fill(x=data[0, 2])
    assert colonnade.open(tmp_path / "g.root").arrays()["x"].to_list() == [{"a": 2, "b": [120, 121]}]


@pytest.mark.parametrize("spec", [{}, {"a": {}}, {"a": {}, "b": "int"}])
def test_records_without_members_may_come_first(tmp_path, spec):
    """How many there are is told by the fields behind them: they were refused, with all entries of the batch."""
    value = {"a": {}, "b": 1} if "b" in spec else spec
    for way in ("fill", "rows", "columns"):
        with colonnade.create(tmp_path / "f.root", "Events", {"x": spec, "n": "int"}) as writer:
            if way == "fill":
                for n in range(3):
                    writer.fill(x=value, n=n)
            elif way == "rows":
                writer.extend([{"x": value, "n": n} for n in range(3)])
            else:
                writer.extend({"x": [value] * 3, "n": [0, 1, 2]})
        found = colonnade.open(tmp_path / "f.root").arrays().to_list()
        assert found == [{"x": value, "n": n} for n in range(3)]


@pytest.mark.parametrize("kind", ["M8[s]", ">M8[s]", ">m8[ns]"])
def test_masks_of_times(tmp_path, kind):
    """Those of other byte order became the least integer, or an error."""
    data = np.ma.array(np.array([1, 2, 3], "i8").astype(kind), mask=[0, 1, 0])
    assert written(tmp_path / "f.root", {"t": data}).arrays()["t"].to_list() == [1, None, 3]


def test_times_beside_numbers(tmp_path):
    """Arrow made lists of integers of such tuples: the unit was lost."""
    with pytest.raises(colonnade.ConversionError, match=r"does not fit list<item: int64>"):
        written(tmp_path / "f.root", {"t": [(np.timedelta64(1, "ns"), 1)]})


@pytest.mark.parametrize("time", [np.datetime64(5, "D"), np.datetime64(5, "s"), np.timedelta64(5, "ns")])
def test_lists_of_times_of_numpy(tmp_path, time):
    data_set = written(tmp_path / "f.root", {"t": [time, time]})
    assert data_set.arrays()["t"].to_list() == [5, 5]
    assert data_set.schema["t"].description


@pytest.mark.parametrize("kind", ["M8[s]", np.dtypes.StringDType()])
def test_times_and_texts_in_arrays_without_items(tmp_path, kind):
    assert written(tmp_path / "f.root", {"t": np.zeros((2, 0), kind)}).arrays()["t"].to_list() == [[], []]


def test_binary_values_of_no_byte(tmp_path):
    """Awkward takes no item of such an array: entries were lost."""
    values = pa.array([b"", None, b""], pa.binary(0))
    assert written(tmp_path / "f.root", {"x": values.drop_null()}).arrays()["x"].to_list() == [[], []]
    assert written(tmp_path / "f.root", {"x": values}).arrays()["x"].to_list() == [[], None, []]


@pytest.mark.parametrize("value", [np.longdouble(1) / 3, np.ones(2, np.longdouble), {"a": np.longdouble(1)}])
def test_numbers_of_more_than_64_bits_are_not_rounded(tmp_path, value):
    with colonnade.create(tmp_path / "f.root", "Events") as writer:
        for add in (lambda: writer.fill(x=value), lambda: writer.extend({"x": [value]})):
            with pytest.raises(colonnade.TypeMismatchError, match="cannot be stored; try: float64"):
                add()


@pytest.mark.parametrize("schema", [None, {}])
def test_entries_without_fields_are_refused(tmp_path, schema):
    """A file does not count them."""
    with colonnade.create(tmp_path / "f.root", "Events", schema) as writer:
        for add in (writer.fill, lambda: writer.extend(ak.Array([{}, {}]))):
            with pytest.raises(colonnade.UsageError, match="without any field"):
                add()
        writer.extend({})
        assert writer.num_entries == 0


@pytest.mark.parametrize(
    "data", [3, "text", np.arange(3), pd.Series([1]), ak.Array([1, 2]), [1, 2], {"a": "text"}, {"a": 3}]
)
def test_data_without_columns_are_refused(tmp_path, data):
    with (
        colonnade.create(tmp_path / "f.root", "Events") as writer,
        pytest.raises(colonnade.TypeMismatchError),
    ):
        writer.extend(data)


# ---- Inferred types


@pytest.mark.parametrize(
    ("values", "type_name"),
    [
        (np.array([True, False]), "bool"),
        *(
            (np.array([1, 2], dtype=dtype), f"std::{dtype}_t")
            for dtype in ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
        ),
        (np.array([1, 2], dtype="f2"), "float"),
        (np.array([1, 2], dtype="f4"), "float"),
        (np.array([1, 2], dtype=">f8"), "double"),
        (np.array([[1, 2], [3, 4]]), "std::array<std::int64_t,2>"),
        (np.zeros((2, 2, 3), dtype="f4"), "std::array<std::array<float,3>,2>"),
        (["a", "bc"], "std::string"),
        (np.array(["a", "bc"]), "std::string"),
        ([[1.5], []], "std::vector<double>"),
        ([[[True]], [[], [False]]], "std::vector<std::vector<bool>>"),
        ([1.5, None], "std::optional<double>"),
        ([[None, 1], []], "std::vector<std::optional<std::int64_t>>"),
        ([1, "a"], "std::variant<std::int64_t,std::string>"),
        ([(1, "a"), (2, "b")], "std::tuple<std::int64_t,std::string>"),
        ([{"x": 1}, {"x": 2}], "record"),
        ([[{"x": 1}], []], "collection"),
        (ak.to_regular(ak.Array([["a", "b"], ["c", "d"]])), "std::array<std::string,2>"),
        (ak.str.to_categorical(ak.Array(["a", "b"])), "std::string"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_inferred_types(tmp_path, values, type_name):
    data_set = written(tmp_path / "f.root", {"value": values})
    assert data_set.schema["value"].type == type_name
    expected = values if isinstance(values, np.ndarray) else ak.Array(values)
    assert data_set["value"].to_list() == expected.tolist()


def test_bytes_are_stored_as_bytes(tmp_path):
    data_set = written(tmp_path / "f.root", {"value": [b"a", b"\xff\x00"]})
    assert data_set.schema["value"].type == "std::vector<std::byte>"
    assert data_set["value"].to_list() == [[97], [255, 0]]


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ([[], []], "unknown"),
        ([None, None], "unknown"),
        ([{"x": 1}, None], "cannot be a record"),
        ([{"x": 1}, "a"], "cannot be a record"),
        (np.array([1j]), "complex128"),
    ],
)
def test_types_that_cannot_be_inferred(tmp_path, values, problem):
    with (
        colonnade.create(tmp_path / "f.root", "Events") as writer,
        pytest.raises(colonnade.SchemaError, match=problem) as caught,
    ):
        writer.extend({"value": values})
    assert caught.value.field.startswith("value")


# ---- Schemas


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("types_basic", "Basic"),
        ("types_enums", "Enums"),
        ("types_projected", "Projected"),
        ("types_sequences", "Sequences"),
        ("types_untyped", "Untyped"),
    ],
)
def test_schema_of_another_data_set(tmp_path, file, name):
    stored = colonnade.open(FIXTURES / f"{file}.root", name)
    copied = written(tmp_path / "f.root", stored.arrays(), schema=stored.schema)
    assert same(python_values(copied.arrays()), python_values(stored.arrays()))
    assert [f.description for f in copied.schema.values()] == [f.description for f in stored.schema.values()]


def test_classes_of_another_data_set_become_records(tmp_path):
    stored = colonnade.open(FIXTURES / "types_maps.root", "Maps").schema
    schema = {"points": stored["map_string_Point"], "n": int}
    copied = written(
        tmp_path / "f.root", {"points": [[("a", {"x": 1, "y": 2, "z": 3})]], "n": [3]}, schema=schema
    )
    assert copied.arrays().tolist() == [{"points": [{"_0": "a", "_1": {"x": 1, "y": 2, "z": 3}}], "n": 3}]


def test_fields_of_another_data_set_that_cannot_be_written(tmp_path):
    streamed = colonnade.open(FIXTURES / "types_streamer.root", "Streamer").schema
    with pytest.raises(colonnade.SchemaError, match="'blob' cannot be read: streamer field"):
        colonnade.create(tmp_path / "f.root", "Events", streamed)
    nullable = colonnade.open(FIXTURES / "types_nullables.root", "Nullables").schema["optional_Point"]
    with pytest.raises(colonnade.SchemaError, match=r"'fixture::Point' .* made from its name"):
        colonnade.create(tmp_path / "f.root", "Events", {"point": nullable})


def test_types_spelled_in_many_ways(tmp_path):
    schema = {
        "a": int,
        "b": float,
        "c": bool,
        "d": str,
        "e": np.float32,
        "f": np.dtype("u2"),
        "g": {"x": "float", "y": {"z": "std::string"}},
        "h": [{"pt": "float", "hits": ["std::int16_t"]}],
        "i": ["double"],
        "j": "std::map<std::string,float>",
    }
    with colonnade.create(tmp_path / "f.root", "Events", schema) as writer:
        writer.fill(
            a=1,
            b=2.5,
            c=True,
            d="text",
            e=1.5,
            f=7,
            g={"x": 1, "y": {"z": "deep"}},
            h=[{"pt": 1.5, "hits": [1, 2]}, {"pt": 2.5, "hits": []}],
            i=[0.5],
            j={"k": 1.5},
        )
    data_set = colonnade.open(tmp_path / "f.root")
    types = [data_set.schema[name].type for name in "abcdefghij"]
    assert types[:6] == ["std::int64_t", "double", "bool", "std::string", "float", "std::uint16_t"]
    (entry,) = data_set.arrays().to_list()
    assert entry["g"] == {"x": 1, "y": {"z": "deep"}}
    assert entry["h"] == [{"pt": 1.5, "hits": [1, 2]}, {"pt": 2.5, "hits": []}]
    assert entry["j"] == [("k", 1.5)]
    with uproot.open(tmp_path / "f.root") as file:
        assert file["Events"].arrays().to_list() == [entry]


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        ("std::vector<", "type"),
        ("NoSuchClass", "NoSuchClass"),
        (["float", "int"], "one item type"),
        (3, "not a type"),
        ({"x": "nonsense"}, "nonsense"),
        (np.complex64, "not a type"),
    ],
)
def test_types_that_cannot_be_stored(tmp_path, spec, problem):
    with pytest.raises(colonnade.SchemaError, match=problem) as caught:
        colonnade.create(tmp_path / "f.root", "Events", {"value": spec})
    assert caught.value.field.startswith("value")


@pytest.mark.parametrize("name", ["", "a.b", "a b", "a/b", "tab\t"])
def test_names_that_are_not_allowed(tmp_path, name):
    with pytest.raises(colonnade.SchemaError):
        colonnade.create(tmp_path / "f.root", "Events", {name: "float"})


@pytest.mark.parametrize("target", ["f.root", "f.bare", "store"])
@pytest.mark.parametrize("name", ["a.b", "a b", "a\\b", "tab\t", "dir/a.b"])
def test_names_of_data_sets_that_root_does_not_open(tmp_path, target, name):
    place = f"obj://{tmp_path}/store" if target == "store" else tmp_path / target
    container = "bare" if target == "f.bare" else "root"
    with pytest.raises(colonnade.UsageError, match="is not a valid name for a data set"):
        colonnade.create(place, name, {"x": "int"}, container=container)
    with pytest.raises(colonnade.UsageError, match="is not a valid name for a data set"):
        colonnade.create_parallel(place, name, {"x": "int"}, container=container)
    with colonnade.create(tmp_path / "source.root", "Events", {"x": "int"}) as writer:
        writer.fill(x=1)
    with pytest.raises(colonnade.UsageError, match="is not a valid name for a data set"):
        colonnade.copy(tmp_path / "source.root", place, destination_name=name, container=container)
    assert not (tmp_path / target).exists() or not colonnade.datasets(place)


# ---- Errors


@pytest.mark.parametrize(
    ("data", "error", "text"),
    [
        ({"pt": [[1.0]]}, colonnade.TypeMismatchError, "fields id are missing"),
        ({"pt": [[1.0]], "id": [1], "x": [1]}, colonnade.TypeMismatchError, "fields x are not in the schema"),
        ({"pt": [[1.0], []], "id": [1]}, colonnade.UsageError, "pt: 2, id: 1"),
        ({"pt": [[1.0]], "id": [1.5]}, colonnade.TypeMismatchError, "float64"),
        ({"pt": [[1.0]], "id": ["a"]}, colonnade.TypeMismatchError, "string"),
        ({"pt": [[1.0]], "id": [[1]]}, colonnade.TypeMismatchError, "var \\* int64"),
        ({"pt": [1.0], "id": [1]}, colonnade.TypeMismatchError, "float64"),
        ({"pt": ["abc"], "id": [1]}, colonnade.TypeMismatchError, "string"),
        ({"pt": [[True]], "id": [1]}, colonnade.ConversionError, None),
        ({"pt": [[1.0]], "id": [2**31]}, colonnade.ConversionError, "2147483648"),
        ({"pt": [[1.0]], "id": [-(2**31) - 1]}, colonnade.ConversionError, "-2147483649"),
        ({"pt": [[1e39]], "id": [1]}, colonnade.ConversionError, "1e\\+39"),
        ({"pt": [[1.0]], "id": [None]}, colonnade.ConversionError, "missing"),
        ({"pt": [[1.0, None]], "id": [1]}, colonnade.ConversionError, "missing"),
    ],
)
def test_data_that_do_not_fit_leave_nothing(tmp_path, data, error, text):
    with colonnade.create(tmp_path / "f.root", "Events", SCHEMA) as writer:
        writer.extend(ENTRIES)
        if text is None:  # a bool is a number
            writer.extend(data)
            return
        with pytest.raises(error, match=text) as caught:
            writer.extend(data)
        assert caught.value.data_set == "Events"
        assert caught.value.uri == str(tmp_path / "f.root")
        assert writer.num_entries == 3
        writer.extend(ENTRIES)
    assert (
        colonnade.open(tmp_path / "f.root").arrays().to_list() == 2 * ak.zip(ENTRIES, depth_limit=1).to_list()
    )


@pytest.mark.parametrize(
    ("row", "error", "text"),
    [
        ({"pt": [1.0]}, colonnade.TypeMismatchError, "fields id are missing"),
        ({"pt": [1.0], "id": 1, "x": 1}, colonnade.TypeMismatchError, "fields x are not in the schema"),
        ({"pt": [1.0], "id": 1.5}, colonnade.TypeMismatchError, "float"),
        ({"pt": [1.0, "a"], "id": 1}, colonnade.TypeMismatchError, "pt._0"),
        ({"pt": 1.0, "id": 1}, colonnade.TypeMismatchError, "float"),
        ({"pt": "ab", "id": 1}, colonnade.TypeMismatchError, "str"),
        ({"pt": [1.0], "id": True}, colonnade.TypeMismatchError, "bool"),
        ({"pt": [1.0], "id": 2**31}, colonnade.ConversionError, "2147483648"),
        ({"pt": [1.0, 1e39], "id": 1}, colonnade.ConversionError, "1e\\+39"),
        ({"pt": [1.0, 10**400], "id": 1}, colonnade.ConversionError, "does not fit"),
        ({"pt": [1.0], "id": None}, colonnade.TypeMismatchError, "NoneType"),
    ],
)
def test_entry_that_does_not_fit_is_not_added(tmp_path, row, error, text):
    with colonnade.create(tmp_path / "f.root", "Events", SCHEMA) as writer:
        writer.fill(pt=[1.0], id=1)
        with pytest.raises(error, match=text):
            writer.fill(**row)
        assert writer.num_entries == 1
        writer.fill(pt=[2.0, float("inf")], id=2)
    found = colonnade.open(tmp_path / "f.root").arrays().to_list()
    assert found == [{"pt": [1.0], "id": 1}, {"pt": [2.0, float("inf")], "id": 2}]


def _interrupted():
    yield 1.0
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("last", "error", "text"),
    [
        ("\ud800", colonnade.ConversionError, "surrogate"),
        (["a", "\ud800"], colonnade.TypeMismatchError, "list"),
        (_interrupted(), KeyboardInterrupt, None),
    ],
)
def test_entry_that_fails_in_the_middle_leaves_nothing(tmp_path, last, error, text):
    schema = {"id": "int", "pt": "std::vector<float>", "s": "std::string"}
    row = {
        "id": 2,
        "pt": last if error is KeyboardInterrupt else [5.0],
        "s": "b" if error is KeyboardInterrupt else last,
    }
    with colonnade.create(tmp_path / "f.root", "Events", schema) as writer:
        writer.fill(id=1, pt=[1.0], s="a")
        with pytest.raises(error, match=text):
            writer.fill(**row)
        writer.fill(id=3, pt=[2.0, 3.0], s="b")
    found = colonnade.open(tmp_path / "f.root").arrays().to_list()
    assert found == [{"id": 1, "pt": [1.0], "s": "a"}, {"id": 3, "pt": [2.0, 3.0], "s": "b"}]


@pytest.mark.parametrize(
    ("type_name", "values"),
    [
        # No Awkward, Arrow or NumPy array can hold all values of these lists.
        ("std::variant<double,std::uint64_t>", [0.5, 2**64 - 1, 2**53 + 1]),
        ("std::variant<bool,std::uint64_t,std::string>", [True, 2**64 - 1, "a", None]),
        ("std::variant<std::int64_t,std::vector<std::string>>", [1, ["a", "\udcff"], []]),
        # A list is no tuple, wherever the alternatives are.
        ("std::variant<std::pair<int,int>,std::vector<int>>", [[1, 2], (1, 2), [1], []]),
        ("std::variant<std::vector<int>,std::pair<int,int>>", [[1, 2], (1, 2), [1], []]),
        ("std::variant<std::tuple<std::vector<int>>,std::vector<std::vector<int>>>", [[[1]], ([1],), [[]]]),
        ("std::variant<std::vector<double>,std::vector<int>>", [[1, 2], [1.0, 2.0]]),
        # A number goes where it is not rounded.
        ("std::variant<float,double>", [0.5, 0.1, 1e-300, 1e300, float("inf")]),
        ("std::variant<std::vector<float>,std::vector<double>>", [[0.5], [0.5, 0.1], []]),
        ("std::variant<std::pair<float,float>,std::vector<float>>", [(0.25, 0.5), [0.25, 0.5]]),
    ],
)
def test_values_find_their_alternatives(tmp_path, type_name, values):
    with colonnade.create(tmp_path / "f.root", "Events", {"v": type_name}) as writer:
        for value in values:
            writer.fill(v=value)
        writer.extend({"v": values})
        writer.extend([{"v": value} for value in values])
    assert same(python_values(colonnade.open(tmp_path / "f.root")["v"]), values * 3)


def test_numbers_prefer_alternatives_of_their_kind(tmp_path):
    """Rounded they are lists still, not tuples; integers go to doubles if floats would round them."""
    schema = {
        "lists": "std::variant<std::pair<float,float>,std::vector<float>>",
        "numbers": "std::variant<std::string,float,double>",
    }
    with colonnade.create(tmp_path / "f.root", "Events", schema) as writer:
        writer.fill(lists=[0.1, 0.2], numbers=2**24 + 1)
        writer.fill(lists=(0.1, 0.2), numbers=2**24)
    lists = colonnade.open(tmp_path / "f.root")["lists"].to_list()
    assert [type(value) for value in lists] == [list, tuple]
    assert colonnade.open(tmp_path / "f.root")["numbers"].to_list() == [2**24 + 1, 2**24]


@pytest.mark.parametrize("kind", [tuple, np.array, ak.Array, pd.Series])
@pytest.mark.parametrize("exact", ["double", "std::int64_t"])
def test_items_of_arrays_are_not_rounded_for_want_of_an_alternative(tmp_path, kind, exact):
    value = [0.1, 0.2] if exact == "double" else [2**60 + 1, 1]
    schema = {
        "v": f"std::variant<std::vector<float>,std::vector<{exact}>>",
        "w": f"std::variant<std::vector<std::vector<float>>,std::vector<std::vector<{exact}>>>",
    }
    with colonnade.create(tmp_path / "f.root", "Events", schema) as writer:
        writer.fill(v=kind(value), w=[kind(value)])
        writer.extend({"v": [kind(value)], "w": [[kind(value)]]})
    found = colonnade.open(tmp_path / "f.root").arrays()
    assert found.to_list() == 2 * [{"v": value, "w": [value]}]


@pytest.mark.parametrize(
    ("alternatives", "values", "kind"),
    [
        (["float", "double"], np.array([2**24 + 1, 1]), float),
        (["double", "std::int64_t"], np.array([2**24 + 1], "i4"), int),
        (["double", "float"], np.array([2**60], "u8"), float),
        (["float", "double"], np.array([np.nan, np.inf, 1.1]), float),
        (["std::uint8_t", "std::int64_t"], np.array([300, -1], "i4"), int),
        (["std::int8_t", "float", "double"], np.array([300, 2**24 + 1]), float),
    ],
)
def test_arrays_go_to_alternatives_that_hold_their_values(tmp_path, alternatives, values, kind):
    """Also those that were cut out of others, whose other values do not count."""
    ends = np.concatenate([values, [1000, 2**53 + 1]]).astype(values.dtype)
    schema = {
        "v": f"std::variant<{','.join(alternatives)}>",
        "w": f"std::variant<{','.join(f'std::vector<{each}>' for each in alternatives)}>",
    }
    with colonnade.create(tmp_path / "f.root", "Events", schema) as writer:
        writer.extend({"v": values, "w": ak.Array(values[:, np.newaxis])})
        count = len(values)
        lists = ak.contents.ListOffsetArray(ak.index.Index64(range(count + 1)), ak.to_layout(ends))
        writer.extend({"v": ak.mask(ends, np.arange(len(ends)) < count)[:count], "w": ak.Array(lists)})
    found = colonnade.open(tmp_path / "f.root").arrays().to_list()
    expected = [{"v": value, "w": [value]} for value in map(kind, values.tolist())]
    assert same(found, 2 * expected)


@pytest.mark.parametrize(
    ("spec", "value", "stored"),
    [
        ({"a": "int", "b": "std::vector<float>"}, {"a": 1, "b": [1.5]}, {"a": 1, "b": [1.5]}),
        ("std::pair<int,float>", (1, 2.5), (1, 2.5)),
        ("std::variant<std::vector<float>,std::pair<int,float>>", (1, 2.5), (1, 2.5)),
        ("std::map<std::string,int>", {"a": 1}, [("a", 1)]),
        ("std::vector<std::string>", {"a": 1}, None),  # not the names of its members
        ("std::vector<std::int64_t>", {"a": 1}, None),
    ],
)
def test_records_of_awkward_are_entries(tmp_path, spec, value, stored):
    with colonnade.create(tmp_path / "f.root", "Events", {"v": spec}) as writer:
        if stored is None:
            with pytest.raises(colonnade.TypeMismatchError, match="tuple cannot be stored"):
                writer.fill(v=ak.Array([value])[0])
        else:
            writer.fill(v=ak.Array([value])[0])
    assert colonnade.open(tmp_path / "f.root")["v"].to_list() == ([] if stored is None else [stored])


@pytest.mark.parametrize("unit", ["m8[ns]", "m8[s]", "M8[ns]", "M8[s]"])
def test_arrays_of_times_are_no_numbers_of_an_entry(tmp_path, unit):
    schema = {"v": "std::vector<std::int64_t>"}
    with (
        colonnade.create(tmp_path / "f.root", "Events", schema) as writer,
        pytest.raises(colonnade.TypeMismatchError, match=r"(datetime|timedelta)64 cannot be stored"),
    ):
        writer.fill(v=np.array([5], unit))


def test_bitsets_among_alternatives_come_from_arrow(tmp_path):
    """Items of lists of Arrow may be missing, even if none is."""
    values = [[True, False, True], 0.5, [[True, True]], [False, False, False]]
    for name in ("a", "b"):
        type_name = "std::variant<std::bitset<3>,float,std::vector<std::bitset<2>>>"
        with colonnade.create(tmp_path / f"{name}.root", "Events", {"v": type_name}) as writer:
            writer.extend({"v": values} if name == "a" else colonnade.open(tmp_path / "a.root").to_arrow())
        assert colonnade.open(tmp_path / f"{name}.root")["v"].to_list() == values


def test_iterators_are_given_whole_to_the_alternative_that_takes_them(tmp_path):
    schema = {"v": "std::variant<std::vector<int>,std::vector<std::string>>"}
    with colonnade.create(tmp_path / "f.root", "Events", schema) as writer:
        writer.fill(v=iter([1, 2]))
        writer.fill(v=iter(["a", "b"]))
    assert colonnade.open(tmp_path / "f.root")["v"].to_list() == [[1, 2], ["a", "b"]]


@pytest.mark.parametrize(
    ("type_name", "kept"),
    [
        ("std::variant<std::vector<std::vector<int>>,std::vector<std::vector<std::string>>>", list),
        (
            "std::variant<std::pair<std::vector<int>,bool>,std::pair<std::vector<std::string>,bool>>",
            lambda lists: (lists[0], True),
        ),
    ],
)
def test_iterators_within_values_are_given_whole_to_the_alternative_that_takes_them(
    tmp_path, type_name, kept
):
    with colonnade.create(tmp_path / "f.root", "Events", {"v": type_name}) as writer:
        for items in ([1, 2], ["a", "b"]):
            writer.fill(v=kept([iter(items), iter(items[:1])]))
    expected = [kept([[1, 2], [1]]), kept([["a", "b"], ["a"]])]
    assert python_values(colonnade.open(tmp_path / "f.root")["v"]) == expected


@pytest.mark.parametrize(
    ("type_name", "values"),
    [
        (
            "std::variant<std::vector<std::variant<std::int64_t,bool>>,std::string>",
            [[1, True], "a", [], None],
        ),
        ("std::variant<std::pair<std::variant<int,bool>,int>,std::string>", [(1, 2), (True, 2), "a"]),
        (
            "std::variant<std::vector<int>,std::vector<std::variant<bool,std::string>>>",
            [[1], [True, "a"], []],
        ),
    ],
)
def test_arrays_of_variants_within_variants(tmp_path, type_name, values):
    first, second = tmp_path / "first.root", tmp_path / "second.root"
    with colonnade.create(first, "Events", {"v": type_name}) as writer:
        writer.extend({"v": values})
    with colonnade.create(second, "Events", {"v": type_name}) as writer:
        writer.extend(colonnade.open(first).arrays())
    assert same(colonnade.open(second)["v"].to_list(), values)


def test_entries_of_all_kinds_one_by_one(tmp_path):
    schema = {
        "v": "std::variant<std::int32_t,double,std::string,std::vector<float>>",
        "o": "std::optional<std::vector<std::int8_t>>",
        "u": "std::unique_ptr<std::string>",
        "a": "std::array<std::array<bool,2>,2>",
        "b": "std::bitset<5>",
        "t": "std::tuple<std::int8_t,std::pair<float,std::string>>",
        "s": "std::set<std::string>",
        "m": "std::map<std::int32_t,std::vector<float>>",
        "c": "char",
        "at": "std::atomic<std::int16_t>",
    }
    rows = [
        (
            1,
            [1, 2],
            "x",
            [[True, False], [False, True]],
            [True, False, False, True, True],
            (1, (2.5, "p")),
            ["a"],
            {},
            "A",
            5,
        ),
        (2.5, None, None, [[False] * 2] * 2, [False] * 5, (2, (0.5, "")), [], {3: [1.5]}, "B", -5),
        ("txt", [], "", np.ones((2, 2), bool), np.ones(5, bool), (3, (1, "é")), {"z"}, {1: []}, b"C", 0),
        ([1, 2.5], [7], "y", [[True] * 2] * 2, (True,) * 5, [4, [5, "q"]], ("k", "l"), [(1, [2])], 68, 1),
        (None, None, None, [[True] * 2] * 2, (True,) * 5, [4, [5, "q"]], [], [], 69, 1),
    ]
    with colonnade.create(tmp_path / "f.root", "Events", schema) as writer:
        for row in rows:
            writer.fill(**dict(zip(schema, row, strict=True)))
    found = colonnade.open(tmp_path / "f.root").arrays()
    assert found.v.to_list() == [1, 2.5, "txt", [1, 2.5], None]
    assert found.o.to_list() == [[1, 2], None, [], [7], None]
    assert found.u.to_list() == ["x", None, "", "y", None]
    assert found.a[2].to_list() == [[True, True], [True, True]]
    assert found.b[0].to_list() == [True, False, False, True, True]
    assert found.t.to_list()[:2] == [(1, (2.5, "p")), (2, (0.5, ""))]
    assert found.s.to_list() == [["a"], [], ["z"], ["k", "l"], []]
    assert found.m.to_list() == [[], [(3, [1.5])], [(1, [])], [(1, [2])], []]
    assert found.c.to_list() == [65, 66, 67, 68, 69]
    assert found["at"].to_list() == [5, -5, 0, 1, 1]


def test_arrays_without_dimensions_are_values(tmp_path):
    """Also where lists are the other alternative."""
    number, text = np.array(3, ">i4"), np.array("a")
    rows = [{"n": number, "s": text, "v": number, "a": [number, [number]]}] * 2
    schema = {
        "n": "float",
        "s": "std::string",
        "v": "std::variant<std::vector<int>,int>",
        "a": "std::vector<std::variant<std::vector<int>,int>>",
    }
    with colonnade.create(tmp_path / "f.root", "Events", schema) as writer:
        for row in rows:
            writer.fill(**row)
        writer.extend({name: [row[name] for row in rows] for name in schema})
    with colonnade.create(tmp_path / "g.root", "Events") as writer:
        writer.extend({name: [row[name] for row in rows] for name in schema})
    expected = {"n": 3, "s": "a", "v": 3, "a": [3, [3]]}
    for name, count in (("f", 4), ("g", 2)):
        assert colonnade.open(tmp_path / f"{name}.root").arrays().to_list() == [expected] * count


def test_many_entries_one_by_one_mixed_with_arrays(tmp_path):
    with colonnade.create(tmp_path / "f.root", "Events", {"i": "std::int64_t"}) as writer:
        for number in range(5000):
            writer.fill(i=number)
        assert writer.num_entries == 5000
        writer.extend({"i": np.arange(5000, 6000)})
        writer.fill(i=6000)
        assert writer.num_entries == 6001
    assert colonnade.open(tmp_path / "f.root")["i"].to_list() == list(range(6001))


def test_schema_is_inferred_from_the_first_entry(tmp_path):
    with colonnade.create(tmp_path / "f.root", "Events") as writer:
        writer.fill(a=1, b=[{"x": 1.5}], c="text")
        writer.fill(a=2, b=[], c="more")
    assert colonnade.open(tmp_path / "f.root")["b"].to_list() == [[{"x": 1.5}], []]


def test_numbers_widen_and_never_narrow_silently(tmp_path):
    schema = {"f": "float", "d": "double", "i": "std::int64_t", "u": "std::uint8_t"}
    data_set = written(
        tmp_path / "f.root",
        {
            "f": np.array([0.1, np.inf, np.nan]),
            "d": np.arange(3, dtype="i2"),
            "i": np.arange(3, dtype="u1"),
            "u": [0, 1, 255],
        },
        schema=schema,
    )
    found = data_set.arrays(library="np")
    assert found["f"].dtype == np.float32
    assert np.array_equal(found["f"], np.array([0.1, np.inf, np.nan], dtype="f4"), equal_nan=True)
    assert found["d"].tolist() == [0, 1, 2]
    assert found["u"].tolist() == [0, 1, 255]


# ---- Late and projected fields


@pytest.mark.parametrize(("levels", "fits"), [(100, True), (101, False), (5000, False)])
def test_fields_are_nested_as_deep_as_readers_allow(tmp_path, levels, fits):
    spec, value = "int", 7
    for _ in range(levels - 1):
        spec, value = {"a": spec}, {"a": value}
    with colonnade.create(tmp_path / "f.root", "Events", {"x": "int"}) as writer:
        writer.fill(x=1)
        if fits:
            writer.extend_schema({"v": spec})
            writer.fill(x=2, v=value)
        else:
            with pytest.raises(colonnade.SchemaError, match="nested more than 100 deep"):
                writer.extend_schema({"v": spec})
            writer.fill(x=2)
    events = colonnade.open(tmp_path / "f.root")
    assert events["x"].to_list() == [1, 2]
    if fits:
        assert events["v"].to_list()[1] == value


def test_late_fields(tmp_path):
    with colonnade.create(tmp_path / "f.root", "Events", {"a": "float"}) as writer:
        writer.fill(a=1)
        writer.extend({"a": [2.0]})
        writer.extend_schema({"b": "std::vector<float>", "c": "std::int32_t", "d": [{"x": "float"}]})
        with pytest.raises(colonnade.TypeMismatchError, match="b, c, d are missing"):
            writer.fill(a=1)
        writer.fill(a=3, b=[1.5], c=7, d=[{"x": 0.5}])
        with pytest.raises(colonnade.SchemaError, match="already"):
            writer.extend_schema({"b": "float"})
    expected = [
        {"a": 1, "b": [], "c": 0, "d": []},
        {"a": 2, "b": [], "c": 0, "d": []},
        {"a": 3, "b": [1.5], "c": 7, "d": [{"x": 0.5}]},
    ]
    assert colonnade.open(tmp_path / "f.root").arrays().to_list() == expected
    with uproot.open(tmp_path / "f.root") as file:
        assert file["Events"].arrays().to_list() == expected


@pytest.mark.parametrize("container", ["root", "bare"])
def test_a_data_set_with_late_fields_is_continued(tmp_path, container):
    file = tmp_path / "f.root"
    with colonnade.create(file, "Events", {"a": int}, container=container) as writer:
        writer.extend({"a": [1, 2]})
        writer.extend_schema({"b": "std::vector<float>"})
        writer.commit()
    with colonnade.resume(file, "Events") as writer:
        assert writer.field_names == ["a", "b"]
        writer.extend({"a": [3], "b": [[1.5, 2.5]]})
        writer.extend_schema({"c": str})
    with colonnade.resume(file, "Events") as writer:
        writer.extend({"a": [4], "b": [[]], "c": ["four"]})
    expected = {"a": [1, 2, 3, 4], "b": [[], [], [1.5, 2.5], []], "c": ["", "", "", "four"]}
    with colonnade.open(file, "Events") as data_set:
        assert {name: data_set[name].to_list() for name in data_set} == expected
    if container == "root":
        with uproot.open(file) as opened:
            arrays = opened["Events"].arrays()
        assert {name: arrays[name].to_list() for name in arrays.fields} == expected


def test_projected_fields(tmp_path):
    with colonnade.create(
        tmp_path / "f.root", "Events", {"jets": [{"pt": "float", "n": "std::int32_t"}]}
    ) as writer:
        writer.add_projected("n_jets", "ROOT::RNTupleCardinality<std::uint32_t>", "jets")
        writer.add_projected("jet_pt", "std::vector<float>", {"jet_pt": "jets", "jet_pt._0": "jets._0.pt"})
        writer.fill(jets=[{"pt": 1.5, "n": 1}, {"pt": 2.5, "n": 2}])
        writer.fill(jets=[])
    data_set = colonnade.open(tmp_path / "f.root")
    assert data_set.arrays(["n_jets", "jet_pt"]).to_list() == [
        {"n_jets": 2, "jet_pt": [1.5, 2.5]},
        {"n_jets": 0, "jet_pt": []},
    ]


def test_projected_field_of_another_type_is_refused(tmp_path):
    writer = colonnade.create(tmp_path / "f.root", "Events", {"jets": [{"pt": "float"}]})
    with pytest.raises(colonnade.SchemaError, match="cannot be projected"):
        writer.add_projected("bad", "std::vector<double>", {"bad": "jets", "bad._0": "jets._0.pt"})
    writer.abort()


def test_projected_fields_added_late(tmp_path):
    with colonnade.create(tmp_path / "f.root", "Events") as writer:
        writer.add_projected("n_jets", "ROOT::RNTupleCardinality<std::uint32_t>", "jets")
        writer.extend({"jets": ak.Array([[{"pt": 1.5, "n": 1}, {"pt": 2.5, "n": 2}], []])})
        writer.add_projected("jet_pt", "std::vector<double>", {"jet_pt": "jets", "jet_pt._0": "jets._0.pt"})
    data_set = colonnade.open(tmp_path / "f.root")
    assert data_set["n_jets"].to_list() == [2, 0]
    assert data_set["jet_pt"].to_list() == [[1.5, 2.5], []]
    assert data_set.schema["jet_pt"].projected == "jets"
    with uproot.open(tmp_path / "f.root") as file:
        found = file["Events"].arrays()
    assert found.n_jets.to_list() == [2, 0]
    assert found.jet_pt.to_list() == [[1.5, 2.5], []]


# ---- Committing


@pytest.mark.parametrize("name", ["Events", "dir/Events"])
@pytest.mark.parametrize("commits", [1, 40])
def test_uproot_adds_to_files_in_turns(tmp_path, name, commits):
    path = tmp_path / "f.root"
    with colonnade.create(path, name, {"x": "int"}) as writer:
        for step in range(commits):
            writer.fill(x=step)
            writer.commit()
    for turn in range(3):
        with uproot.update(path) as file:
            file[f"histogram{turn}"] = np.histogram([1, 2, 3])
            file[f"deep/tree{turn}"] = {"y": np.arange(1000)}
        with colonnade.create(path, f"More{turn}", {"z": "int"}, mode="update") as writer:
            writer.extend({"z": np.arange(turn)})
    assert colonnade.open(path, name)["x"].to_list() == list(range(commits))
    with uproot.open(path) as file:
        assert file[name].arrays()["x"].to_list() == list(range(commits))
        for turn in range(3):
            assert file[f"histogram{turn}"].values().sum() == 3
            assert file[f"deep/tree{turn}"]["y"].array().to_list() == list(range(1000))
            assert file[f"More{turn}"].arrays()["z"].to_list() == list(range(turn))


def test_exception_leaves_what_was_committed(tmp_path):
    path = tmp_path / "f.root"

    def interrupted():
        with colonnade.create(path, "Events", SCHEMA) as writer:
            writer.extend(ENTRIES)
            writer.commit()
            assert colonnade.open(path).num_entries == 3
            writer.extend(ENTRIES)
            raise RuntimeError("mine")

    with pytest.raises(RuntimeError, match="mine"):
        interrupted()
    assert colonnade.open(path).arrays().to_list() == ak.zip(ENTRIES, depth_limit=1).to_list()


def test_exception_before_any_commit_leaves_no_data_set(tmp_path):
    path = tmp_path / "f.root"

    def interrupted():
        with colonnade.create(path, "Events", SCHEMA) as writer:
            writer.extend(ENTRIES)
            raise RuntimeError("mine")

    with pytest.raises(RuntimeError, match="mine"):
        interrupted()
    with pytest.raises(colonnade.Error):
        colonnade.open(path, "Events")


def test_commits_in_between(tmp_path):
    path = tmp_path / "f.root"
    with colonnade.create(path, "Events", SCHEMA) as writer:
        for number in range(1, 4):
            writer.fill(pt=[1.0] * number, id=number)
            writer.commit()
            assert colonnade.open(path)["id"].to_list() == list(range(1, number + 1))


def test_clusters_end_where_asked(tmp_path):
    with colonnade.create(tmp_path / "f.root", "Events", SCHEMA) as writer:
        writer.extend(ENTRIES)
        writer.commit_cluster()
        writer.fill(pt=[], id=4)
    clusters = colonnade.open(tmp_path / "f.root").descriptor.clusters
    assert [cluster.entries for cluster in clusters] == [3, 1]


def test_closed_writer_refuses(tmp_path):
    writer = colonnade.create(tmp_path / "f.root", "Events", SCHEMA)
    writer.close()
    writer.close()
    assert "closed" in repr(writer)
    for call in (
        lambda: writer.extend(ENTRIES),
        lambda: writer.fill(pt=[], id=1),
        writer.commit,
        writer.__enter__,
    ):
        with pytest.raises(colonnade.UsageError, match="closed"):
            call()
    assert colonnade.open(tmp_path / "f.root").num_entries == 0


@pytest.mark.parametrize("there", [False, True])
def test_a_forgotten_writer_is_closed_unless_it_replaces(tmp_path, there):
    file = tmp_path / "f.root"
    if there:
        with colonnade.create(file, "Events") as writer:
            writer.extend({"x": [1, 2, 3]})
    writer = colonnade.create(file, "Events")
    writer.extend({"x": [4]})
    writer.fill(x=5)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        del writer
        gc.collect()
    mine = [warning for warning in caught if str(tmp_path) in str(warning.message)]
    assert [warning.category for warning in mine] == [RuntimeWarning if there else ResourceWarning]
    assert colonnade.open(file).arrays()["x"].tolist() == ([1, 2, 3] if there else [4, 5])
    assert [each.name for each in tmp_path.iterdir()] == ["f.root"]


@pytest.mark.parametrize("ending", ["", "raise ValueError('the end')"])
def test_a_writer_that_is_open_at_the_end_of_the_program(tmp_path, ending):
    file = tmp_path / "f.root"
    code = f"""if True:
        import colonnade
        writer = colonnade.create({str(file)!r}, "Events")
        writer.extend({{"x": [1, 2, 3]}})
        threads = colonnade.create_parallel({str(tmp_path / "p.root")!r}, "Events", {{"x": "double"}})
        context = threads.context()
        context.extend({{"x": [1.0, 2.0]}})
        {ending}
    """
    done = subprocess.run(
        [sys.executable, "-W", "always", "-c", code], capture_output=True, text=True, check=False
    )
    assert done.returncode == (1 if ending else 0)
    assert "was never closed" in done.stderr
    if ending:
        assert "what was not committed is lost" in done.stderr
        assert list(tmp_path.iterdir()) == []
    else:
        assert colonnade.open(file).num_entries == 3
        assert colonnade.open(tmp_path / "p.root").num_entries == 2


@pytest.mark.parametrize("there", [False, True])
def test_the_working_folder_may_change(tmp_path, monkeypatch, there):
    monkeypatch.chdir(tmp_path)
    if there:
        colonnade.create("f.root", "Events", {"x": "int"}).close()
    writer = colonnade.create("f.root", "Events")
    writer.extend({"x": [1, 2, 3]})
    threads = colonnade.create_parallel("p.root", "Events", {"x": "int"})
    monkeypatch.chdir("/")
    with threads, threads.context() as context:
        context.extend({"x": [4, 5]})
    writer.close()
    assert sorted(os.listdir(tmp_path)) == ["f.root", "p.root"]
    assert [colonnade.open(tmp_path / name).num_entries for name in ("f.root", "p.root")] == [3, 2]


def test_nothing_written_is_an_empty_data_set(tmp_path):
    with colonnade.create(tmp_path / "f.root", "Events"):
        pass
    data_set = colonnade.open(tmp_path / "f.root")
    assert (data_set.num_entries, data_set.field_names) == (0, [])
    assert len(data_set.arrays()) == 0


# ---- Files


@pytest.mark.parametrize("container", ["root", "bare", "obj"])
def test_a_data_set_is_continued(tmp_path, container):
    """With the encodings, projections and attributes that it has."""
    uri = f"obj://{tmp_path}/store" if container == "obj" else str(tmp_path / "f.root")
    schema = {"x": float, "v": "std::vector<float>", "r": [{"a": "std::int16_t", "s": str}]}
    first = {"x": [0.25, 0.5], "v": [[1.5], []], "r": [[{"a": 1, "s": "b"}], []]}
    more = {"x": [0.75], "v": [[2.5, 3.5]], "r": [[{"a": 2, "s": "c"}, {"a": 3, "s": ""}]]}
    kind = {} if container == "obj" else {"container": container}
    with colonnade.create(
        uri, "Events", schema, encodings={"x": "Real16", "v._0": ("Real32Trunc", 12)}, **kind
    ) as writer:
        writer.add_projected("w", "std::vector<float>", {"w": "v", "w._0": "v._0"})
        writer.extend(first)
        writer.attributes("runs", {"run": int}).add({"run": 1}, 0, 2)
    with colonnade.resume(uri, "Events", compression="lz4", checkpoint_every=1) as writer:
        assert writer.num_entries == 2
        assert writer.field_names == ["x", "v", "r"]
        writer.extend(more)
        writer.attributes("runs", {"run": int}).add({"run": 2}, 2, 3)
    with colonnade.open(uri, "Events") as data_set:
        expected = {name: first[name] + more[name] for name in first}
        assert data_set.arrays()[["x", "v", "r"]].to_list() == [
            dict(zip(expected, row, strict=True)) for row in zip(*expected.values(), strict=True)
        ]
        assert data_set.arrays()["w"].to_list() == expected["v"]
        assert [row.values["run"] for row in data_set.attributes["runs"]] == [1, 2]
    writer = colonnade.resume(uri, "Events")
    with pytest.raises(colonnade.TypeMismatchError):
        writer.extend({"x": [1.0]})
    writer.abort()


def test_what_cannot_be_continued(tmp_path):
    path = tmp_path / "f.root"
    with colonnade.create(path, "Events", {"x": int}) as writer:
        writer.extend({"x": [1]})
    with pytest.raises(colonnade.NotFoundError):
        colonnade.resume(path, "Other")
    with pytest.raises(colonnade.UsageError, match="no option 'append'"):
        colonnade.resume(path, "Events", append=True)


def test_a_failed_addition_with_checkpoints_is_continued(tmp_path):
    path = tmp_path / "f.root"
    with colonnade.create(path, "Old") as writer:
        writer.extend({"x": [1, 2]})
    writer = colonnade.create(path, "New", append=True, checkpoint_every=1)
    for number in range(3):
        writer.extend({"x": [number]})
        writer.commit_cluster()
    writer.extend({"x": [9]})
    writer.abort()
    with pytest.raises(colonnade.UsageError, match=r"colonnade\.resume\(\) in Python"):
        colonnade.create(path, "New", {"x": int}, append=True)
    with colonnade.resume(path, "New") as writer:
        writer.extend({"x": [3, 4]})
    with colonnade.open(path, "New") as data_set:
        assert data_set["x"].to_numpy().tolist() == [0, 1, 2, 3, 4]
    with colonnade.open(path, "Old") as data_set:
        assert data_set["x"].to_numpy().tolist() == [1, 2]


def test_resuming_lists_the_stored_fields_once(tmp_path, monkeypatch):
    """Each list is a copy of all fields: one per field took 2.4 s of processor time with 6000 fields."""
    path = tmp_path / "f.root"
    with colonnade.create(path, "Events", {f"x{k}": "int" for k in range(50)}) as writer:
        writer.add_projected("y", "int", "x7")
        writer.extend({f"x{k}": [k] for k in range(50)})
    lists = []

    class Counted:
        def __init__(self, real):
            self.real = real

        def __getattr__(self, name):
            if name == "fields":
                lists.append(name)
            return getattr(self.real, name)

    real_open, real_field = _core.open, _core.field_to_continue
    monkeypatch.setattr(
        _core, "open", lambda *args: SimpleNamespace(descriptor=Counted(real_open(*args).descriptor))
    )
    monkeypatch.setattr(_core, "field_to_continue", lambda there, number: real_field(there.real, number))
    with colonnade.resume(path, "Events") as writer:
        writer.extend({f"x{k}": [-k] for k in range(50)})
    monkeypatch.undo()
    assert len(lists) == 1
    arrays = colonnade.open(path).arrays(["x7", "x49", "y"], library="np")
    assert {name: column.tolist() for name, column in arrays.items()} == {
        "x7": [7, -7],
        "x49": [49, -49],
        "y": [7, -7],
    }


@pytest.mark.parametrize("container", ["root", "bare"])
def test_a_file_that_is_not_continued_after_all_is_cut_back(tmp_path, container):
    path = tmp_path / "f.root"
    with colonnade.create(path, "Events", compression="none", container=container) as writer:
        writer.extend({"x": np.zeros(1000)})
    size = path.stat().st_size
    writer = colonnade.resume(path, "Events", compression="none")
    writer.extend({"x": np.arange(100_000.0)})
    writer.commit_cluster()
    assert path.stat().st_size > size
    writer.abort()
    assert path.stat().st_size == size
    with colonnade.open(path, "Events") as data_set:
        assert data_set.num_entries == 1000


@pytest.mark.parametrize("option", [{"append": True}, {"mode": "update"}])
def test_adding_to_a_file_keeps_the_rest(tmp_path, option):
    path = tmp_path / "f.root"
    with uproot.recreate(path) as file:
        file["histogram"] = np.histogram([1, 2, 3])
        file.mkrntuple("theirs", {"x": np.array([1.5, 2.5])})
    written(path, ENTRIES, name="ours", **option)
    written(path, ENTRIES, name="dir/more", **option)
    assert sorted(colonnade.datasets(path)) == ["dir/more", "ours", "theirs"]
    assert colonnade.open(path, "theirs")["x"].to_list() == [1.5, 2.5]
    with uproot.open(path) as file:
        assert file["histogram"].values().sum() == 3
        assert file["theirs"].arrays().x.to_list() == [1.5, 2.5]
        assert file["ours"].arrays().id.to_list() == [1, 2, 3]
        assert file["dir/more"].arrays().pt.to_list() == ENTRIES["pt"]


@pytest.mark.parametrize("make", [colonnade.create, colonnade.create_parallel])
@pytest.mark.parametrize("target", ["f.root", "store"])
def test_a_new_data_set_replaces_nothing(tmp_path, make, target):
    uri = f"obj://{tmp_path}/store" if target == "store" else str(tmp_path / target)
    make(uri, "Events", {"x": "std::int32_t"}, mode="create").close()
    before = colonnade.open(uri, "Events").num_entries
    with pytest.raises(colonnade.UsageError, match=r"already|exists"):
        make(uri, "Events", {"x": "std::int32_t"}, mode="create")
    assert colonnade.open(uri, "Events").num_entries == before == 0


def test_a_file_that_came_meanwhile_stays(tmp_path):
    uri = tmp_path / "f.root"
    writer = colonnade.create(uri, "Events", {"x": "std::int32_t"}, mode="create")
    writer.extend({"x": [1, 2, 3]})
    uri.write_bytes(b"of somebody else")
    with pytest.raises(colonnade.StorageError, match="another program has created the file") as told:
        writer.close()
    del writer
    gc.collect()
    assert uri.read_bytes() == b"of somebody else"
    (kept,) = tmp_path.glob("f.root.*.kept")
    assert f'the complete new file is kept as "{kept.name}"' in str(told.value)
    assert colonnade.open(kept)["x"].to_list() == [1, 2, 3]
    assert len(os.listdir(tmp_path)) == 2


@pytest.mark.parametrize("make", [colonnade.create, colonnade.create_parallel])
def test_closing_again_does_not_hide_that_it_failed(make, tmp_path):
    uri = tmp_path / "f.root"
    writer = make(uri, "Events", {"x": "std::int32_t"}, mode="create")
    uri.write_bytes(b"of somebody else")
    with pytest.raises(colonnade.StorageError, match="another program has created the file"):
        writer.close()
    for _ in range(2):
        with pytest.raises(colonnade.UsageError, match=r"closing the writer failed before.*another program"):
            writer.close()
    assert uri.read_bytes() == b"of somebody else"


def test_adding_to_no_file_is_refused(tmp_path):
    with pytest.raises(FileNotFoundError):
        colonnade.create(tmp_path / "none.root", "Events", SCHEMA, mode="update")


def test_folder_that_does_not_exist_is_told(tmp_path):
    with pytest.raises(colonnade.Error, match="none"):
        colonnade.create(tmp_path / "none" / "f.root", "Events", SCHEMA)


@pytest.mark.parametrize("compression", ["none", "zlib:1", "lzma:2", "lz4:4", "zstd:5", 101, "404", 505, 0])
def test_compressions(tmp_path, compression):
    data = {"x": np.arange(20000) % 100, "y": np.zeros(20000)}
    data_set = written(tmp_path / "f.root", data, compression=compression)
    assert data_set["x"].to_list() == data["x"].tolist()
    smaller = (tmp_path / "f.root").stat().st_size < 100_000
    assert smaller == (compression not in ("none", 0))
    with uproot.open(tmp_path / "f.root") as file:
        assert file["Events"].arrays().x.to_list() == data["x"].tolist()


def test_bare_file(tmp_path):
    data_set = written(tmp_path / "f.rnt", ENTRIES, schema=SCHEMA, container="bare")
    assert (tmp_path / "f.rnt").read_bytes()[:4] == b"rntu"
    assert data_set.arrays().id.to_list() == [1, 2, 3]


def test_sizes_of_clusters_and_pages(tmp_path):
    generator = np.random.default_rng(1)
    data = {"x": generator.random(100_000)}
    data_set = written(
        tmp_path / "f.root", data, compression="none", cluster_size="100 kB", page_size="8 KiB"
    )
    clusters = data_set.descriptor.clusters
    assert 6 <= len(clusters) <= 12
    pages = clusters[0].columns[0].pages
    assert max(page.elements for page in pages) == 1024
    assert data_set["x"].to_list() == data["x"].tolist()


def test_checksums_may_be_left_out(tmp_path):
    for checksums in (True, False):
        data_set = written(tmp_path / "f.root", ENTRIES, schema=SCHEMA, checksums=checksums)
        assert data_set.descriptor.clusters[0].columns[0].pages[0].has_checksum is checksums


def test_equal_pages_are_stored_once(tmp_path):
    data = {name: np.arange(1000) for name in "abcdef"}
    sizes = []
    for merging in (True, False):
        written(tmp_path / "f.root", data, compression="none", same_page_merging=merging)
        sizes.append((tmp_path / "f.root").stat().st_size)
    assert sizes[1] - sizes[0] == 5 * (8000 + 8)


def test_descriptions_are_kept(tmp_path):
    data_set = written(
        tmp_path / "f.root",
        ENTRIES,
        schema=SCHEMA,
        description="my data",
        field_descriptions={"pt": "in GeV", "pt._0": "of one"},
    )
    assert data_set.description == "my data"
    assert data_set.schema["pt._0"].description == "of one"
    assert data_set.schema["pt"].description == "in GeV"


@pytest.mark.parametrize(
    ("encoding", "column", "tolerance"),
    [
        ("Real16", "Real16", 1e-3),
        ("SplitReal16", "SplitReal16", 1e-3),
        ("Real32", "Real32", 0),
        (("Real32Trunc", 16), "Real32Trunc", 1e-2),
        (("Real32Quant", 20, -3.2, 3.2), "Real32Quant", 1e-5),
    ],
)
@pytest.mark.parametrize("path", ["x", "v", "jets.pt"])
def test_encodings(tmp_path, encoding, column, tolerance, path):
    schema = {"x": "float", "v": "std::vector<float>", "jets": [{"pt": "float"}]}
    values = np.linspace(-3, 3, 99, dtype="f4")
    data = {
        "x": values,
        "v": ak.unflatten(values, [3] * 33 + [0] * 66),
        "jets": ak.unflatten(ak.zip({"pt": values}), [3] * 33 + [0] * 66),
    }
    data_set = written(tmp_path / "f.root", data, schema=schema, encodings={path: encoding})
    (leaf,) = [info for info in data_set.schema[path].walk() if not info.children]
    assert leaf.encodings == (column,)
    found = ak.to_numpy(ak.flatten(data_set[path], axis=None))
    assert np.allclose(found, values, rtol=tolerance, atol=tolerance)
    with uproot.open(tmp_path / "f.root") as file:
        theirs = file["Events"].arrays()
        assert theirs.x.to_list() == data_set["x"].to_list()
        assert theirs.v.to_list() == data_set["v"].to_list()


@pytest.mark.parametrize(
    ("encodings", "error"),
    [
        ({"nope": "Real16"}, colonnade.UsageError),
        ({"x": "Real99"}, colonnade.SchemaError),
        ({"x": "Int32"}, colonnade.SchemaError),
        ({"x": ("Real32Trunc", 99)}, colonnade.SchemaError),
        ({"x": ("Real32Quant", 20, 3.2, -3.2)}, colonnade.SchemaError),
        ({"x.y": "Real16"}, colonnade.UsageError),
    ],
)
def test_encodings_that_do_not_fit(tmp_path, encodings, error):
    with pytest.raises(error):
        colonnade.create(tmp_path / "f.root", "Events", {"x": "float"}, encodings=encodings)


def test_quantised_values_out_of_range_are_told(tmp_path):
    writer = colonnade.create(
        tmp_path / "f.root", "Events", {"x": "float"}, encodings={"x": ("Real32Quant", 20, -3.2, 3.2)}
    )
    writer.extend({"x": [1.0, 5.0]})  # found when the page is sealed
    with pytest.raises(colonnade.ConversionError):
        writer.close()
    with colonnade.create(tmp_path / "f.root", "Events", {"x": "float"}) as again:  # the file is free
        again.extend({"x": [5.0]})
    with pytest.raises(colonnade.UsageError, match="closing the writer failed before"):
        writer.close()
    assert colonnade.open(tmp_path / "f.root")["x"].to_list() == [5.0]


@pytest.mark.parametrize(
    "options",
    [
        {"compression": "snappy"},
        {"compression": "zstd:99"},
        {"mode": "append"},
        {"container": "parquet"},
        {"cluster_size": "many"},
        {"page_size": -1},
        {"page_size": 8},
        {"cluster_size": 0},
    ],
)
def test_options_that_make_no_sense(tmp_path, options):
    with pytest.raises(colonnade.Error):
        colonnade.create(tmp_path / "f.root", "Events", SCHEMA, **options)


def test_writers_cannot_be_copied(tmp_path):
    with colonnade.create(tmp_path / "f.root", "Events", SCHEMA) as writer:
        for use in (copy.copy, copy.deepcopy, pickle.dumps):
            with pytest.raises(colonnade.UnsupportedError, match="neither copied nor sent"):
                use(writer)
    with (
        colonnade.create_parallel(tmp_path / "g.root", "Events", SCHEMA) as parallel,
        parallel.context() as context,
    ):
        for each in (parallel, context):
            with pytest.raises(colonnade.UnsupportedError, match="neither copied nor sent"):
                copy.copy(each)


def test_values_without_an_order_are_no_column(tmp_path):
    with colonnade.create(tmp_path / "f.root", "Events") as writer:
        for values in ({"b", "a"}, frozenset([2, 1])):
            with pytest.raises(colonnade.TypeMismatchError, match="no order"):
                writer.extend({"x": values})
        writer.extend({"x": [{2, 1}]})
    assert sorted(colonnade.open(tmp_path / "f.root")["x"][0]) == [1, 2]


def test_durations_and_letters_of_several_bytes_are_no_numbers(tmp_path):
    schema = {"i": "std::uint8_t", "f": "float", "c": "char"}
    good = {"i": 1, "f": 1.0, "c": "a"}
    with colonnade.create(tmp_path / "f.root", "Events", schema) as writer:
        for wrong in ({"i": np.timedelta64(5, "s")}, {"f": np.timedelta64(5, "s")}, {"c": "ä"}):
            with pytest.raises(colonnade.TypeMismatchError, match="cannot be stored as"):
                writer.fill(**{**good, **wrong})
        writer.fill(**good)
    assert colonnade.open(tmp_path / "f.root").arrays().to_list() == [{"i": 1, "f": 1.0, "c": ord("a")}]


def nested(depth):
    value = 1
    for _ in range(depth):
        value = [value]
    return value


def circular():
    value = []
    value.append(value)
    return value


@pytest.mark.parametrize(
    "value",
    [
        circular(),
        nested(150),
        [np.array([None]), circular()],
        {"a": [circular()]},
        pd.DataFrame({"a": [1]}),
        [pl.DataFrame({"a": [1]})],
    ],
    ids=["circular", "deep", "circular in an array", "circular in a record", "pandas", "Polars"],
)
def test_values_that_are_none(tmp_path, value):
    """They made an endless loop, or a list of the names of columns."""
    with colonnade.create(tmp_path / "f.root", "Events") as writer:
        for values in ([value], [(value, 1)]):
            with pytest.raises(
                colonnade.TypeMismatchError, match=r"nested more than 100 deep|is a table, not a value"
            ):
                writer.extend({"x": values})
        with pytest.raises(
            colonnade.TypeMismatchError, match=r"nested more than 100 deep|is a table, not a value"
        ):
            writer.fill(x=value)
        writer.extend({"x": [1]})


def test_records_and_matrices_of_numpy_in_lists(tmp_path):
    """The names of the members were lost, and integers became doubles; a matrix ended the process."""
    pairs = np.array([(2**53 + 1, 2.5), (3, 4.5)], dtype=[("a", "i8"), ("b", "f8")])
    rows = [{"a": 2**53 + 1, "b": 2.5}, {"a": 3, "b": 4.5}]
    columns = {
        "one": (list(pairs), rows),
        "several": ([pairs, pairs[:1]], [rows, rows[:1]]),
        "deep": ([[pairs[0]], []], [rows[:1], []]),
        "matrix": (
            [np.array([[1, 2]]).view(np.matrix), np.array([[3, 4], [5, 6]]).view(np.matrix)],
            [[[1, 2]], [[3, 4], [5, 6]]],
        ),
    }
    with colonnade.create(tmp_path / "f.root", "Events") as writer:
        writer.extend({name: given for name, (given, _) in columns.items()})
    found = colonnade.open(tmp_path / "f.root").arrays()
    assert {name: found[name].to_list() for name in columns} == {
        name: rows for name, (_, rows) in columns.items()
    }


@pytest.mark.parametrize(
    "schema",
    [{"x": {"\ud800": "float"}}, {"x": [{"\ud800": "float"}]}, {"x": "float\ud800"}, {"x": {1: "float"}}],
)
def test_schemas_that_are_no_unicode(tmp_path, schema):
    with pytest.raises(colonnade.Error, match=r"is not the name of a field|is not a type"):
        colonnade.create(tmp_path / "f.root", "Events", schema)
    with pytest.raises(colonnade.TypeMismatchError, match="is not a description"):
        colonnade.create(tmp_path / "f.root", "Events", {"x": "float"}, field_descriptions={"x": "\ud800"})
    with colonnade.create(tmp_path / "f.root", "Events") as writer:
        with pytest.raises(colonnade.TypeMismatchError, match="is not the name of a field"):
            writer.extend({"x": [{"\ud800": 1}]})
        writer.extend({"x": [1]})


@pytest.mark.parametrize("wrong", [5, np.arange(2), {1: "Real16"}, {"\ud800": "Real16"}])
def test_encodings_descriptions_and_sources_that_are_none(tmp_path, wrong):
    problem = "has no names|is not the name of a field"
    for make in (colonnade.create, colonnade.create_parallel):
        for option in ("encodings", "field_descriptions"):
            with pytest.raises(colonnade.TypeMismatchError, match=problem):
                make(tmp_path / "f.root", "Events", {"x": "float"}, **{option: wrong})
    with colonnade.create(tmp_path / "f.root", "Events", {"x": "float"}) as writer:
        with pytest.raises(colonnade.TypeMismatchError, match=problem):
            writer.add_projected("y", "float", wrong)
        with pytest.raises(colonnade.TypeMismatchError, match="is not the name of a set"):
            writer.attributes([wrong])


def test_files_do_not_take_the_place_of_closed_standard_streams(tmp_path):
    """What anything prints on standard error would overwrite them."""
    target = str(tmp_path / "f.root")
    code = f"""if True:
        import os, colonnade
        with colonnade.create({target!r}, "Events", {{"x": "double"}}) as writer:
            for part in range(4):
                writer.extend({{"x": [float(part)] * 1000}})
                writer.commit()
                for stream in range(3):
                    try:
                        os.write(stream, b"a message")
                    except OSError:
                        pass
    """
    closed = 'exec "$@" <&- >&- 2>&-'
    assert subprocess.run(["sh", "-c", closed, "sh", sys.executable, "-c", code], check=False).returncode == 0
    assert colonnade.open(target)["x"].tolist() == [float(part) for part in range(4) for _ in range(1000)]


# ---- Threads that share a writer


class Interrupted:
    """A list, during whose conversion another thread does something, if it may."""

    def __init__(self, work):
        self.work = work

    def __iter__(self):
        thread = threading.Thread(target=self.work)
        thread.start()
        thread.join(0.1)  # in vain where its turn comes after this one
        self.thread = thread
        yield from [1, 2]


@pytest.mark.parametrize(
    "work",
    [
        lambda writer: writer.fill(x=2, v=[3]),
        lambda writer: writer.extend({"x": [2], "v": [[3]]}),
        lambda writer: writer.commit_cluster(),
        lambda writer: writer.commit(),
        lambda writer: writer.close(),
    ],
    ids=["fill", "extend", "commit_cluster", "commit", "close"],
)
def test_calls_of_threads_take_turns(tmp_path, work):
    with colonnade.create(
        tmp_path / "f.root", "Events", {"x": "int", "v": "std::vector<std::int32_t>"}
    ) as writer:
        values = Interrupted(lambda: work(writer))
        writer.fill(x=1, v=values)
        values.thread.join()
    found = colonnade.open(tmp_path / "f.root").arrays().tolist()
    assert found in ([{"x": 1, "v": [1, 2]}], [{"x": 1, "v": [1, 2]}, {"x": 2, "v": [3]}])


@pytest.mark.parametrize(
    "work",
    [
        lambda attributes: attributes.num_rows,
        lambda attributes: attributes.add({"v": [3]}, 0, 1),
        lambda attributes: attributes._writer.commit(),
    ],
    ids=["num_rows", "add", "commit"],
)
def test_attributes_of_threads_take_turns(tmp_path, work):
    with colonnade.create(tmp_path / "f.root", "Events", {"x": "int"}) as writer:
        writer.extend({"x": [1, 2]})
        attributes = writer.attributes("a", {"v": "std::vector<std::int32_t>"})
        values = Interrupted(lambda: work(attributes))
        attributes.add({"v": values}, 0, 2)
        values.thread.join()
        count = attributes.num_rows
    found = [each.values["v"] for each in colonnade.open(tmp_path / "f.root").attributes["a"]]
    assert found in ([[1, 2]], [[1, 2], [3]])
    assert len(found) == count


def test_entries_are_counted_while_another_thread_commits(tmp_path):
    with colonnade.create(tmp_path / "f.root", "Events", {"x": "int"}) as writer:
        for x in range(3):
            writer.fill(x=x)
        written = writer._written

        def written_before():
            del writer._written
            count = written()
            thread = threading.Thread(target=writer.commit)
            thread.start()
            thread.join()
            return count

        writer._written = written_before
        assert writer.num_entries == 3
