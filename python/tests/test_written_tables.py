"""Tables of pandas, Polars and Arrow: one schema per column, NaN, categories, dates and times."""

from __future__ import annotations

import dataclasses
import datetime
import math
import random
import re

import awkward as ak
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pydantic
import pytest

import colonnade
from colonnade.writing.sources import to_batch


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


LEAVES = {
    "std::int64_t": (pa.int64(), lambda dice: 2**53 + dice.randint(0, 9)),
    "double": (pa.float64(), lambda dice: dice.choice([0.5, 1.0, math.inf])),
    "bool": (pa.bool_(), lambda dice: dice.random() < 0.5),
    "std::string": (pa.string(), lambda dice: dice.choice(["", "a", "µ" * 20])),
}


def an_array(dice, size, depth=0):
    """An Arrow array of any type and layout, and the type that is stored; every level may be a slice."""
    extra = dice.choice([0, 0, 3])
    whole, spec = a_whole_array(dice, size + 2 * extra, depth)
    return whole.slice(extra, size), spec


def a_whole_array(dice, size, depth):
    choices = [
        "leaf",
        "view",
        "dictionary",
        "extension",
        *["list", "map", "record", "array", "union", "runs"] * (depth < 3),
    ]
    match dice.choice(choices[4 * (depth == 0) :]):
        case "extension":
            values = a_leaf(dice, size, dice.choice(["bool", "std::string"]))
            if values.type == pa.string():
                return pa.ExtensionArray.from_storage(pa.json_(), values), "std::optional<std::string>"
            return pa.ExtensionArray.from_storage(pa.bool8(), values.cast(pa.int8())), "std::optional<bool>"
        case "list":
            cuts = sorted(dice.choices(range(7), k=size + 1))
            items, spec = an_array(dice, 7, depth + 1)
            whole = pa.ListArray.from_arrays(pa.array(cuts, pa.int32()), items)
            if dice.random() < 0.3:
                sizes = pa.array(np.diff(cuts), pa.int32())
                whole = pa.ListViewArray.from_arrays(whole.offsets[:-1], sizes, items)
            elif dice.random() < 0.3:
                whole = pa.LargeListArray.from_arrays(pa.array(cuts, pa.int64()), items)
            return whole, [spec]
        case "map":
            cuts = sorted(dice.choices(range(6), k=size + 1))
            items, spec = an_array(dice, 5, depth=3)
            keys = pa.array(list("abcde"), pa.string_view())
            made = pa.MapArray.from_arrays(pa.array(cuts, pa.int32()), keys, items)
            return made, f"std::map<std::string,{spec}>"
        case "record":
            parts = [an_array(dice, size, depth + 1) for _ in "ab"]
            return pa.StructArray.from_arrays([part for part, _ in parts], ["a", "b"]), {
                "a": parts[0][1],
                "b": parts[1][1],
            }
        case "array":
            items, spec = an_array(dice, 2 * size, depth=3)
            return pa.FixedSizeListArray.from_arrays(items, 2), f"std::array<{spec},2>"
        case "union":
            specs = dice.sample(list(LEAVES), k=dice.choice([2, 3]))
            tags = [dice.randrange(len(specs)) for _ in range(size)]
            parts = [a_leaf(dice, size, spec) for spec in specs]
            if dice.random() < 0.5:
                made = pa.UnionArray.from_sparse(pa.array(tags, pa.int8()), parts)
            else:
                places = pa.array(sorted(dice.choices(range(size), k=size)), pa.int32())
                made = pa.UnionArray.from_dense(pa.array(tags, pa.int8()), places, parts)
            return made, f"std::variant<{','.join(specs)}>"
        case "runs":
            values, spec = an_array(dice, 3, depth + 1)
            while "extension" in str(values.type):  # pyarrow (26) joins no runs of them
                values, spec = an_array(dice, 3, depth + 1)
            ends = [size // 3, size // 2, size] if size > 5 else [size]
            ends = [end for end in ends if end]
            return pa.RunEndEncodedArray.from_arrays(ends, values[: len(ends)]), spec
        case kind:
            spec = dice.choice(list(LEAVES)) if kind == "leaf" else "std::string"
            values = a_leaf(dice, size, spec)
            values = values.cast(pa.string_view()) if kind == "view" else values
            return values.dictionary_encode() if kind == "dictionary" else values, f"std::optional<{spec}>"


def a_leaf(dice, size, spec):
    kind, value = LEAVES[spec]
    return pa.array([None if dice.random() < 0.2 else value(dice) for _ in range(size)], kind)


@pytest.mark.parametrize("seed", [*range(100), 777069])  # the last one has a sparse union without values
def test_arrow_arrays_of_any_layout(tmp_path, seed):
    dice = random.Random(seed)
    whole, spec = an_array(dice, 20)
    whole.validate(full=True)
    pieces = [whole, whole.slice(7, 6), whole.slice(9, 0), whole.slice(19)]
    with colonnade.create(tmp_path / "f.root", "Events", {"x": spec}) as writer:
        for piece in pieces:
            writer.extend({"x": piece})
        writer.extend({"x": pa.chunked_array(pieces)})
    expected = [value for piece in pieces for value in piece.to_pylist()]
    assert repr(colonnade.open(tmp_path / "f.root")["x"].to_list()) == repr(expected * 2)
    frame = colonnade.DataFrame.from_arrays({"x": pa.chunked_array(pieces)})
    assert repr(frame.to_awkward().x.to_list()) == repr(expected)
    # Imports find the type out.
    with pa.ipc.new_file(tmp_path / "t.arrow", pa.schema({"x": whole.type})) as writer:
        writer.write_table(pa.table({"x": pa.chunked_array(pieces)}))
    colonnade.import_table(tmp_path / "t.arrow", tmp_path / "t.root", verify=True)
    assert repr(colonnade.open(tmp_path / "t.root")["x"].to_list()) == repr(expected)


@pytest.mark.parametrize("seed", range(12))
def test_tensors_of_arrow_are_nested_arrays(tmp_path, seed):
    dice = np.random.default_rng(seed)
    shape = dice.integers(1, 4, dice.integers(1, 4)).tolist()
    order = None if seed % 2 else dice.permutation(len(shape)).tolist()
    items = pa.array(
        dice.integers(0, 9, (20, math.prod(shape))).tolist(), pa.list_(pa.int16(), math.prod(shape))
    )
    kind = pa.fixed_shape_tensor(pa.int16(), shape, permutation=order)
    whole = pa.ExtensionArray.from_storage(kind, items)
    axes = [axis + 1 for axis in order or range(len(shape))]
    expected = np.array(items.to_pylist()).reshape(20, *shape).transpose(0, *axes).tolist()
    missing = [number % 3 == 1 for number in range(20)]
    some = pa.ExtensionArray.from_storage(
        kind, pa.array(items.to_pylist(), items.type, mask=np.array(missing))
    )
    lists = pa.ListArray.from_arrays(pa.array([0, 0, 5, 20], pa.int32()), whole)
    spec = "std::int16_t"
    for axis in reversed(order or range(len(shape))):
        spec = f"std::array<{spec},{shape[axis]}>"
    with colonnade.create(tmp_path / "f.root", "Events") as writer:
        writer.extend({"x": whole.slice(3, 9), "some": some.slice(3, 9)})
        writer.extend({"x": whole, "some": some})
    events = colonnade.open(tmp_path / "f.root")
    assert events.typenames() == {"x": spec, "some": f"std::optional<{spec}>"}
    assert events["x"].to_list() == expected[3:12] + expected
    values = [None if no else value for value, no in zip(expected, missing, strict=True)]
    assert events["some"].to_list() == values[3:12] + values
    stored = write(tmp_path / "l.root", {"l": lists.slice(1)})
    assert (stored.schema["l"].type, stored["l"].to_list()) == (
        f"std::vector<{spec}>",
        [expected[:5], expected[5:]],
    )
    times = pa.fixed_shape_tensor(pa.timestamp("s"), shape)
    numbers = items.cast(pa.list_(pa.int64(), math.prod(shape)))
    moments = pa.ExtensionArray.from_storage(times, numbers.cast(times.storage_type))
    read = write(tmp_path / "t.root", {"t": moments})
    assert {info.description for info in read.schema["t"].walk() if info.description} == {"timestamp[s]"}


def test_intervals_of_arrow_are_tuples(tmp_path):
    """As DuckDB has them. A month is no number of days, and a day no number of nanoseconds."""
    rows = [(1, -2, 3), None, (-(2**31), 2**31 - 1, 2**63 - 1), (0, 0, 0)]
    whole = pa.array([None if row is None else pa.MonthDayNano(row) for row in rows])
    lists = pa.ListArray.from_arrays(pa.array([0, 2, 2, 4], pa.int32()), whole)
    stored = "std::tuple<std::int32_t,std::int32_t,std::int64_t>"
    events = write(
        tmp_path / "f.root", {"x": whole.slice(1), "l": lists, "y": whole.slice(2).take([0, 1, 1])}
    )
    assert events.typenames() == {
        "x": f"std::optional<{stored}>",
        "l": f"std::vector<std::optional<{stored}>>",
        "y": stored,
    }
    assert events.arrays().to_list() == [
        {"x": x, "l": x_list, "y": y}
        for x, x_list, y in zip(rows[1:], [rows[:2], [], rows[2:]], [rows[2], rows[3], rows[3]], strict=True)
    ]
    assert events.schema["y"].description == "months, days, nanoseconds"
    with pa.ipc.new_file(tmp_path / "t.arrow", pa.schema({"x": whole.type})) as writer:
        writer.write_table(pa.table({"x": whole}))
    colonnade.import_table(tmp_path / "t.arrow", tmp_path / "t.root", verify=True)
    assert colonnade.open(tmp_path / "t.root")["x"].to_list() == rows


@pytest.mark.parametrize(
    "kind", [pa.int8(), pa.string(), pa.list_(pa.int8(), 2), pa.list_(pa.int8())], ids=str
)
def test_missing_arrays_do_not_make_their_items_optional(tmp_path, kind):
    """Arrow keeps items for a missing list of fixed size, which are missing, too."""
    dice = random.Random(str(kind))

    def value(kind):
        if pa.types.is_fixed_size_list(kind) or pa.types.is_list(kind):
            return [value(kind.value_type) for _ in range(2)]
        return "text" if kind == pa.string() else dice.randint(0, 9)

    rows = [None if dice.random() < 0.4 else value(pa.list_(kind, 2)) for _ in range(30)]
    whole = pa.array([None, *rows], pa.list_(kind, 2))
    events = write(
        tmp_path / "f.root", {"x": whole.slice(1), "all": pa.array([[value(kind)] * 2] * 30, whole.type)}
    )
    assert events["x"].to_list() == rows
    assert events.schema["x"].type == f"std::optional<{events.schema['all'].type}>"


@pytest.mark.parametrize("kind", [pa.string_view(), pa.binary_view()])
def test_views_of_missing_texts_may_be_anything(tmp_path, kind):
    """A cast of Arrow's followed them, which ended the process."""
    whole = pa.array([b"x" * 20, None, b"b", b"y" * 20, None, b"c"], kind)
    present, views, *data = whole.buffers()
    words = np.frombuffer(views, np.int32).copy().reshape(-1, 4)
    words[[1, 4]] = [-(2**24), 0, 0, 0]
    array = pa.Array.from_buffers(kind, 6, [present, pa.py_buffer(words), *data])
    array.validate(full=True)
    with colonnade.create(tmp_path / "f.root", "Events", {"x": "std::optional<std::string>"}) as writer:
        for piece in (array, array.slice(3), array.slice(2, 1)):
            writer.extend({"x": piece})
    texts = ["x" * 20, None, "b", "y" * 20, None, "c"]
    assert colonnade.open(tmp_path / "f.root")["x"].to_list() == [*texts, *texts[3:], "b"]


def test_unions_with_decreasing_offsets_are_refused(tmp_path):
    codes, places = pa.array([0, 1, 0], pa.int8()), pa.array([1, 0, 0], pa.int32())
    union = pa.UnionArray.from_dense(codes, places, [pa.array([1, 2]), pa.array(["a"])])
    with pytest.raises(colonnade.UsageError, match="the offsets of a dense union decrease") as caught:
        write(tmp_path / "u.root", {"u": union})
    assert caught.value.field == "u"


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


BYTES_AND_TEXTS = [
    "std::string,std::vector<std::byte>",
    "std::vector<std::byte>,std::string",
    "std::string,int",
]


@pytest.mark.parametrize("alternatives", BYTES_AND_TEXTS)
@pytest.mark.parametrize("kinds", [(pa.binary(), pa.string()), (pa.binary_view(), pa.large_string())])
@pytest.mark.parametrize("rows", ["both", "bytes"])
def test_bytes_in_variants(tmp_path, alternatives, kinds, rows):
    """They are bytes if an alternative is, else texts, in whatever batch they come."""
    values = [b"ab", "c", b"", b"\xff", ""] if rows == "both" else [b"ab", b"\xff"]
    tags = pa.array([0 if isinstance(value, bytes) else 1 for value in values], pa.int8())
    children = [
        pa.array([value if isinstance(value, of) else of() for value in values], kind)
        for of, kind in zip((bytes, str), kinds, strict=True)
    ]
    union = pa.UnionArray.from_sparse(tags, children)
    has_bytes = "byte" in alternatives
    expected = [
        value
        if isinstance(value, str)
        else list(value)
        if has_bytes
        else value.decode("utf-8", "surrogateescape")
        for value in values
    ]
    spec = {"x": f"std::variant<{alternatives}>"}
    with colonnade.create(tmp_path / "rows.root", "Events", spec) as writer:
        writer.extend({"x": values})
        writer.fill(x=values[0])
    assert colonnade.open(tmp_path / "rows.root")["x"].to_list() == [*expected, expected[0]]
    if rows == "both" and not has_bytes:
        return
    with colonnade.create(tmp_path / "arrow.root", "Events", spec) as writer:
        writer.extend(pa.table({"x": union}))
    assert colonnade.open(tmp_path / "arrow.root")["x"].to_list() == expected


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


class Model(pydantic.BaseModel):
    n: int


class Tensor:
    """An array of which only NumPy's protocol tells, as of those of JAX and PyTorch."""

    def __len__(self):
        return 3

    def __array__(self, dtype=None, copy=None):
        return np.arange(3, dtype=dtype)


@dataclasses.dataclass
class Point:
    x: int
    near: list[Model]


POINTS = [{"x": 1, "near": [{"n": 2}]}, {"x": 3, "near": []}]


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
        (pl.Series([], dtype=pl.Categorical), []),
        (pa.RunEndEncodedArray.from_arrays([2, 3], [7, 8]), [7, 7, 8]),
        (pa.ExtensionArray.from_storage(pa.json_(), pa.array(["{}"])), ["{}"]),
        (ak.to_arrow(ak.Array([[(1, "a")], []])), [[(1, "a")], []]),
        (np.array([[1, 2], [3, 4]]).view(np.matrix), [[1, 2], [3, 4]]),
        (np.array(["1970-01-01T05", "NaT"], "M8[h]"), [5 * 3600, None]),
        (np.array(["1970", "1971"], "M8[Y]"), [0, 365]),
        (np.array([3], "M8[10s]"), [30]),
        (np.array([[3, 4], ["NaT", 5]], ">M8[m]"), [[180, 240], [None, 300]]),
        (np.array([(1, 2.5)], [("a", ">i4"), ("b", ">f8")]), [{"a": 1, "b": 2.5}]),
        (
            np.array(
                [("ab", ([1], 2.5)), ("", ([2], 3.5))],
                [("u", ">U2"), ("r", [("q", ">u8", (1,)), ("f", ">f4")])],
            )[::-1],
            [{"u": "", "r": {"q": [2], "f": 3.5}}, {"u": "ab", "r": {"q": [1], "f": 2.5}}],
        ),
        (
            np.ma.array([(1, 2), (3, 4)], [("a", ">i2"), ("b", "i2")], mask=[(0, 1), (0, 0)]),
            [{"a": 1, "b": None}, {"a": 3, "b": 4}],
        ),
        ([2**63, 1], [2**63, 1]),
        ([[2**63, 1.5], [None]], [[2.0**63, 1.5], [None]]),
        ([[2**64 - 1, None], [], None], [[2**64 - 1, None], [], None]),
        ([{"a": (2**63, "x")}, {"a": (0, "y")}], [{"a": (2**63, "x")}, {"a": (0, "y")}]),
        (np.array([2**63, None], object), [2**63, None]),
        ([(1, [(1, 2.5, "x")]), (2, [])], [(1, [(1, 2.5, "x")]), (2, [])]),
        ([((1, 2, 3), None), ((4, 5, 6), 7)], [((1, 2, 3), None), ((4, 5, 6), 7)]),
        ([1, pd.NA, 3], [1, None, 3]),
        ([[pd.NaT, pd.Timestamp(7, unit="us")], []], [[None, 7], []]),
        (pd.Series([[pd.NaT, pd.Timestamp(7, unit="us")], []]), [[None, 7], []]),
        (pd.Series([["a", math.nan], [pd.NA]]), [["a", None], [None]]),
        (np.array([[1.5, np.inf]], ">f2"), [[1.5, math.inf]]),
        (np.ma.array([1.5, 2], mask=[1, 0], dtype="f2"), [None, 2.0]),
        (pa.array([[1.5, None], None], pa.list_(pa.float16())), [[1.5, None], None]),
        (Tensor(), [0, 1, 2]),
        ([Point(1, [Model(n=2)]), Point(3, [])], POINTS),
        (pd.Series([Point(1, [Model(n=2)]), Point(3, [])]), POINTS),
        ([Model(n=5)], [{"n": 5}]),
    ],
    ids=lambda each: f"{type(each).__module__}.{type(each).__name__}" if not isinstance(each, list) else "",
)
def test_columns_of_other_libraries(tmp_path, column, values):
    assert write(tmp_path / "f.root", {"x": column})["x"].to_list() == values
    assert ak.to_list(colonnade.DataFrame.from_arrays({"x": column}).take("x").value) == values


TEXTS_AND_BYTES = {
    "list": ([b"ab", "c"], "std::variant<std::vector<std::byte>,std::string>", [[97, 98], "c"]),
    "missing": (
        pd.Series(["c", None, b"ab"]),
        "std::variant<std::string,std::vector<std::byte>>",
        ["c", None, [97, 98]],
    ),
    "objects": (
        np.array(["c", b"ab"], object),
        "std::variant<std::string,std::vector<std::byte>>",
        ["c", [97, 98]],
    ),
    "lists": (
        [[], ["c", b"ab"]],
        "std::vector<std::variant<std::string,std::vector<std::byte>>>",
        [[], ["c", [97, 98]]],
    ),
    "lists of pandas": (
        pd.Series([[b"ab", "c"], []]),
        "std::vector<std::variant<std::vector<std::byte>,std::string>>",
        [[[97, 98], "c"], []],
    ),
    "lists of pandas with a text first": (
        pd.Series([["c", b"ab"], []]),
        "std::vector<std::variant<std::string,std::vector<std::byte>>>",
        [["c", [97, 98]], []],
    ),
    "tuples of pandas": (
        pd.Series([("c", b"ab")]),
        "std::tuple<std::string,std::vector<std::byte>>",
        [("c", [97, 98])],
    ),
    "records": ([{"a": b"ab"}, {"a": "c"}], "record", [{"a": [97, 98]}, {"a": "c"}]),
    "tuples": (
        [(1, b"ab"), (2, "c")],
        "std::tuple<std::int64_t,std::variant<std::vector<std::byte>,std::string>>",
        [(1, [97, 98]), (2, "c")],
    ),
    "others": (
        [1.5, b"ab", "c"],
        "std::variant<double,std::vector<std::byte>,std::string>",
        [1.5, [97, 98], "c"],
    ),
}


@pytest.mark.parametrize(("column", "kind", "values"), TEXTS_AND_BYTES.values(), ids=list(TEXTS_AND_BYTES))
def test_texts_and_bytes_in_one_column(tmp_path, column, kind, values):
    """Awkward and Arrow would make all of them what the first is."""
    events = write(tmp_path / "f.root", {"x": column})
    assert events.typenames() == {"x": kind}
    assert events["x"].to_list() == values


@pytest.mark.parametrize(
    "column",
    [
        [2**53 + 1, 0.5],
        [[0.5], [np.uint64(2**64 - 1)]],
        [{"a": 0.5}, {"a": -(2**60) - 1}],
        [(0.5,), (2**62 + 1,)],
        np.array([0.5, 2**53 + 1], object),
    ],
)
def test_integers_are_not_rounded_beside_floating_point_numbers(tmp_path, column):
    with (
        colonnade.create(tmp_path / "f.root", "Events") as writer,
        pytest.raises(colonnade.ConversionError, match="is rounded beside floating-point"),
    ):
        writer.extend({"x": column})
    assert write(tmp_path / "f.root", {"x": [2**60, 0.5, -1]})["x"].to_list() == [2.0**60, 0.5, -1.0]


def test_texts_and_bytes_in_expressions():
    """They have one kind of texts."""
    column = ak.concatenate([ak.Array([b"ab", 1]), ak.Array(["c"])])
    for given in (column, [b"ab", 1, "c"]):
        frame = colonnade.DataFrame.from_arrays({"x": given})
        assert frame.column_type("x") == "std::variant<std::string,std::int64_t>"
        assert frame.take("x").value.to_list() == ["ab", 1, "c"]


@pytest.mark.parametrize(
    ("kind", "values", "stored"),
    [
        ("std::string", [b"ab", "c"], ["ab", "c"]),
        ("std::string", ak.concatenate([ak.Array(["c"]), ak.Array([b"ab"])]), ["c", "ab"]),
        ("std::optional<std::string>", ["c", None, b"ab"], ["c", None, "ab"]),
        ("std::vector<std::byte>", ["c"], None),
        ("std::vector<std::uint8_t>", [b"ab", "c"], None),
    ],
)
def test_arrays_of_texts_and_bytes_are_taken_as_rows_are(tmp_path, kind, values, stored):
    """Texts may be given as bytes, but not bytes as texts."""
    for as_array in (True, False):
        with colonnade.create(tmp_path / "f.root", "Events", {"x": kind}) as writer:
            if stored is None:
                with pytest.raises(colonnade.TypeMismatchError, match="cannot be stored as 'std::vector"):
                    writer.extend({"x": values}) if as_array else writer.fill(x=values[-1])
            elif as_array:
                writer.extend({"x": values})
            else:
                for value in values:
                    writer.fill(x=value)
        assert colonnade.open(tmp_path / "f.root")["x"].to_list() == (stored or [])


def test_records_of_numpy_with_bytes(tmp_path):
    rows = np.array([(b"ab", 1), (b"", 2)], [("s", "S2"), ("a", "i4")])
    for column in (rows, rows[::-1]):
        expected = [{"s": list(row["s"]), "a": row["a"]} for row in column]
        assert write(tmp_path / "f.root", {"x": column})["x"].to_list() == expected


@pytest.mark.parametrize(
    ("data", "error", "text"),
    [
        (
            pl.DataFrame({"x": pl.Series([object()], dtype=pl.Object)}),
            colonnade.TypeMismatchError,
            "Python objects",
        ),
        (pl.DataFrame({"x": [1]}, schema={"x": pl.Int128}), colonnade.TypeMismatchError, "'Int128'"),
        ({"x": ak.to_backend(ak.Array([1]), "typetracer")}, colonnade.TypeMismatchError, "has no values"),
        ({"x": (k for k in "ab")}, colonnade.TypeMismatchError, "a generator is not an array of values"),
        (
            {"x": [datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC), datetime.datetime(2020, 1, 1)]},
            colonnade.ConversionError,
            "in row 1 does not fit",
        ),
        (pd.DataFrame({"x": pd.interval_range(0, 2)}), colonnade.TypeMismatchError, "'interval"),
        (pd.DataFrame({"x": pd.period_range("2020", periods=2)}), colonnade.TypeMismatchError, "'period"),
        (pd.DataFrame({"x": [1j]}), colonnade.TypeMismatchError, "'complex128'"),
        (pd.DataFrame({"x": [1, object()]}), colonnade.TypeMismatchError, "'object'.* the first in row 1: "),
        (pd.DataFrame({"x": [2**64, 1]}, dtype=object), colonnade.ConversionError, "no type of 64 bits"),
        (
            pd.DataFrame({"x": [2**53 + 1, 0.5]}, dtype=object),
            colonnade.TypeMismatchError,
            "exactly representable",
        ),
        (
            pd.DataFrame({"x": [[2**53 + 1], [0.5]]}),
            colonnade.TypeMismatchError,
            "exactly representable",
        ),
        *(
            (
                {"x": column},
                colonnade.ConversionError,
                f"in row {row} does not fit .*times of one kind",
            )
            for times, row in [
                ([datetime.date(2024, 5, 17), datetime.datetime(2024, 5, 17, 9)], 1),
                ([[], [datetime.date(2024, 5, 17), datetime.datetime(2024, 5, 17, 9)]], 1),
                ([{"t": [pd.Timestamp(1)]}], 0),
                ([datetime.time(9, tzinfo=datetime.UTC)], 0),
            ]
            for column in (pd.Series(times, dtype=object), times)
        ),
        (pd.DataFrame([[1, 2]], columns=["x", "x"]), colonnade.UsageError, "same name"),
        (pa.table([[1], [2]], names=["x", "x"]), colonnade.UsageError, "same name"),
        (
            pa.table({"x": pa.array([1], pa.decimal128(3))}),
            colonnade.TypeMismatchError,
            "'decimal128.*integers of 64 bits",
        ),
        (
            {"x": pa.array([["1.5"]], pa.list_(pa.string())).cast(pa.list_(pa.decimal32(3, 1)))},
            colonnade.TypeMismatchError,
            "no decimal numbers",
        ),
        (
            {"x": pa.StructArray.from_arrays([pa.array([1])] * 2, ["a", "a"])},
            colonnade.UsageError,
            "two members",
        ),
        ({"x": np.array(["\ud800"], object)}, colonnade.TypeMismatchError, "'object'"),
        *(
            (
                {"x": np.array([number, 5], unit)},
                colonnade.ConversionError,
                rf"'{kind}64\[{unit[3:]}' do not fit",
            )
            for kind, unit, number in [
                ("datetime", "M8[D]", 2**40),
                ("datetime", "M8[Y]", 10**7),
                ("datetime", "M8[h]", 2**61 + 1),
                ("datetime", "M8[25s]", 2**62),
                ("timedelta", "m8[W]", 2**62),
            ]
        ),
        (
            {"x": [2**63, object()]},
            colonnade.TypeMismatchError,
            "'list' cannot be stored, the first in row 1;",
        ),
        ({"x": [2**64]}, colonnade.ConversionError, "no type of 64 bits"),
        ({"x": [0.5, 2**63, 2**64 - 1]}, colonnade.ConversionError, "18446744073709551615 is rounded"),
        ({"x": [[-1], [2**63]]}, colonnade.ConversionError, "from -1 to 9223372036854775808"),
    ],
)
def test_columns_of_other_libraries_that_cannot_be_stored(tmp_path, data, error, text):
    for use in (lambda data: write(tmp_path / "f.root", data), colonnade.DataFrame.from_arrays):
        with pytest.raises(error, match=text) as caught:
            use(data)
        assert caught.value.field == "x"


@pytest.mark.parametrize(
    ("objects", "kind"),
    [
        ([1, 2**63], "std::uint64_t"),
        ([None, 2**63], "std::optional<std::uint64_t>"),
        ([[2**63], [1]], "std::vector<std::uint64_t>"),
        ([1, "a", None], "std::variant<std::int64_t,std::string>"),
        ([True, 2], "std::variant<bool,std::int64_t>"),
        ([0.5, True, None], "std::variant<double,bool>"),
        ([(1, "a")], "std::tuple<std::int64_t,std::string>"),
        ([[0.5, True], []], "std::vector<std::variant<double,bool>>"),
        ([[0.5, math.nan], []], "std::vector<double>"),
        ([{"a": [None, math.nan]}], "record"),
        ([np.array([math.nan]), None], "std::optional<std::vector<double>>"),
        (["\udcff", None], "std::optional<std::string>"),
    ],
)
def test_python_objects_in_lists_numpy_and_pandas(tmp_path, objects, kind):
    array = np.empty(len(objects), object)
    array[:] = objects
    for column in (objects, array, pd.Series(array, dtype=object)):
        expected = [each.tolist() if isinstance(each, np.ndarray) else each for each in objects]
        assert repr(write(tmp_path / "f.root", {"x": column})["x"].to_list()) == repr(expected)
        assert types(tmp_path / "f.root") == {"x": kind}


def test_lists_of_times_with_zones(tmp_path):
    """Awkward takes none."""
    utc, other = datetime.UTC, datetime.timezone(datetime.timedelta(hours=2))
    times = [datetime.datetime(1970, 1, 1, 2, tzinfo=zone) for zone in (utc, other)]
    events = write(tmp_path / "f.root", {"x": [*times, None], "l": [[], times, [pd.Timestamp(times[0])]]})
    assert events["x"].to_list() == [7200 * 10**6, 0, None]
    assert events["l"].to_list() == [[], [7200 * 10**6, 0], [7200 * 10**6]]
    assert events.schema["x"].description == "timestamp[us, tz=UTC]"


def test_objects_as_rows(tmp_path):
    with colonnade.create(tmp_path / "f.root", "Events") as writer:
        writer.extend([Model(n=1), Model(n=2)])
        writer.fill(n=3)
    assert colonnade.open(tmp_path / "f.root")["n"].tolist() == [1, 2, 3]
    with colonnade.create(tmp_path / "g.root", "Events", {"m": {"n": "int"}}) as writer:
        writer.fill(m=Model(n=4))
    assert colonnade.open(tmp_path / "g.root")["m"].to_list() == [{"n": 4}]


def test_nanoseconds_of_pandas_objects_are_kept(tmp_path):
    times = [pd.Timestamp(1577836800000000001), datetime.datetime(2024, 5, 17), pd.NaT]
    frame = pd.DataFrame({"t": times, "d": [pd.Timedelta(5, "ns"), None, pd.Timedelta(1, "D")]}, dtype=object)
    events = write(tmp_path / "f.root", frame)
    assert events["t"].to_list() == [1577836800000000001, pd.Timestamp(times[1]).as_unit("ns").value, None]
    assert events["d"].to_list() == [5, None, 86_400 * 10**9]


@pytest.mark.parametrize("options", [{}, {"na_object": None}, {"na_object": np.nan}, {"na_object": "a"}])
def test_texts_of_numpy_of_any_length(tmp_path, options):
    missing = options.get("na_object", "c")
    column = np.array([["a", "µ\0"], ["", "b" * 100], ["c", missing]], np.dtypes.StringDType(**options))
    expected = [[text if isinstance(text, str) else None for text in row] for row in column.tolist()]
    assert write(tmp_path / "f.root", {"x": column})["x"].to_list() == expected
    assert write(tmp_path / "f.root", {"x": column[:, 1]})["x"].to_list() == [row[1] for row in expected]


def test_pieces_that_are_too_long_for_offsets_of_32_bits_together():
    """Records without members take no memory. Writing has no part in this: it would take minutes."""
    records = pa.StructArray.from_buffers(pa.struct([]), 2**30, [None])
    lists = pa.ListArray.from_arrays(pa.array([0, 5, None, 2**30], pa.int32()), records)
    lengths = [5, 2**30 - 5, None]
    pieces = pa.chunked_array([lists, lists.slice(1), lists])
    content = to_batch({"x": pieces}).columns["x"]
    assert ak.num(ak.Array(content)).to_list() == [*lengths, *lengths[1:], *lengths]


def test_sparse_columns_of_pandas(tmp_path):
    frame = pd.DataFrame({"x": pd.arrays.SparseArray([0, 0, 1])})
    assert write(tmp_path / "f.root", frame)["x"].to_list() == [0, 0, 1]


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


def test_categories_of_several_pieces_may_be_anything(tmp_path):
    """Arrow joins no dictionaries of lists, and none with missing values."""
    kinds = {"text": [["a", None], ["b", "c"]], "lists": [[[1], [2, 3]], [[], [4]]]}
    columns = {
        name: pa.chunked_array([pa.DictionaryArray.from_arrays([1, 0, None, 1], pa.array(v)) for v in values])
        for name, values in kinds.items()
    }
    columns["nested"] = pa.chunked_array(
        [pa.ListArray.from_arrays([0, 1, 1, 3, 4], piece) for piece in columns["text"].chunks]
    )
    with colonnade.create(tmp_path / "f.root", "Events") as writer:
        writer.extend(pa.table(columns))
    read = colonnade.open(tmp_path / "f.root")
    for name, column in columns.items():
        assert read[name].to_list() == column.to_pylist()


def test_streams_with_empty_items_at_an_offset(tmp_path):
    """PyArrow 26 imports them from a stream, but does not combine them with others."""
    empty, full = pa.array([1, 2], pa.int64())[2:], pa.array([3], pa.int64())
    batches = [
        pa.record_batch(
            {
                "list": pa.ListArray.from_arrays([0, len(items)], items),
                "map": pa.MapArray.from_arrays([0, len(items)], pa.array(["k"])[: len(items)], items),
            }
        )
        for items in (empty, full)
    ]
    with colonnade.create(tmp_path / "f.root", "Events") as writer:
        writer.extend(pa.RecordBatchReader.from_batches(batches[0].schema, iter(batches)))
    read = colonnade.open(tmp_path / "f.root")
    assert read["list"].to_list() == [[], [3]]
    assert read["map"].to_list() == [[], [("k", 3)]]


def test_dates_and_times_are_integers_with_a_unit(tmp_path):
    moment = datetime.datetime(2024, 5, 17, 12, 30, tzinfo=datetime.UTC)
    table = pa.table(
        {
            "t": pa.array([moment] * 2, type=pa.timestamp("us", tz="UTC")),
            "d": pa.array([moment.date()] * 2),
            "l": pa.array([[moment], []], type=pa.list_(pa.timestamp("ns"))),
            "c": pa.array([moment] * 2, type=pa.timestamp("us")).dictionary_encode(),
            "r": pa.array([[{"t": moment}], []], type=pa.list_(pa.struct([("t", pa.timestamp("s"))]))),
            "w": pa.array([datetime.timedelta(seconds=2)] * 2, type=pa.duration("ms")),
            "v": pa.UnionArray.from_sparse(
                pa.array([0, 1], pa.int8()), [pa.array(["a", "b"]), pa.array([1, 2], pa.time32("s"))]
            ),
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
        "v": "std::variant<std::string,std::int32_t>",
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
        "",
    ]
    assert events.schema["r._0.t"].description == "timestamp[s]"
    assert events.schema["v._1"].description == "time32[s]"
    frame = pd.DataFrame({"t": [moment, moment]})
    for data in (frame, pl.from_arrow(table.select(["t"])), {"t": frame["t"]}):
        again = write(tmp_path / "g.root", data)
        assert again.schema["t"].description.startswith("timestamp[")
        unit = again.schema["t"].description[10:12]
        assert again["t"].tolist() == [seconds * {"us": 10**6, "ns": 10**9, "ms": 10**3, "s,": 1}[unit]] * 2
    plain = write(tmp_path / "g.root", {"t": np.array(["2024-05-17", "NaT"], dtype="datetime64[D]")})
    assert plain["t"].to_list() == [seconds // 86400, None]
    assert colonnade.DataFrame.from_arrays(table).max("t").value == seconds * 10**6


def test_times_in_lists_and_awkward_arrays_are_integers_with_a_unit(tmp_path):
    moment = datetime.datetime(1970, 1, 1, 0, 0, 1)
    times = ak.Array(np.array([1, "NaT", 3], "M8[s]"))
    nested = ak.Array(np.array([[1, 2], [3, 4], [5, 6]], "m8[h]"))
    data = {
        "list": [moment, None, moment],
        "days": [datetime.date(1970, 1, 2)] * 3,
        "times": times,
        "lists": ak.unflatten(times, [2, 0, 1]),
        "fixed": ak.to_regular(nested),
        "records": ak.zip({"t": times, "n": [1, 2, 3]}),
        "tuples": ak.zip((times, times)),
        "masked": ak.mask(ak.Array(np.array([1, 2, 3], "M8[ms]")), [True, False, True]),
    }
    expected = {
        "list": ("timestamp[us]", [10**6, None, 10**6]),
        "days": ("date32[day]", [1] * 3),
        "times": ("timestamp[s]", [1, None, 3]),
        "lists": ("timestamp[s]", [[1, None], [], [3]]),
        "fixed": ("duration[s]", [[3600, 7200], [10800, 14400], [18000, 21600]]),
        "records": ("timestamp[s]", [{"t": t, "n": n} for t, n in [(1, 1), (None, 2), (3, 3)]]),
        "tuples": ("timestamp[s]", [(1, 1), (None, None), (3, 3)]),
        "masked": ("timestamp[ms]", [1, None, 3]),
    }
    for batch in (data, ak.zip(data, depth_limit=1)):
        events = write(tmp_path / "f.root", batch)
        assert {name: events[name].to_list() for name in data} == {n: v for n, (_, v) in expected.items()}
        for name, (unit, _) in expected.items():
            described = [info.description for info in events.schema[name].walk() if info.description]
            assert set(described) == {unit}, name


@pytest.mark.parametrize(
    ("first", "later"),
    [
        ({"x": np.array([1], "M8[s]")}, {"x": np.array([1], "M8[ns]")}),
        (pd.DataFrame({"x": np.array([1], "M8[us]")}), pd.DataFrame({"x": np.array([1], "M8[ns]")})),
        (
            pl.DataFrame({"x": [[1]]}, {"x": pl.List(pl.Time)}),
            {"x": pa.array([[1]], pa.list_(pa.time64("us")))},
        ),
        *(
            ({"x": pa.array([value], kind(unit))}, {"x": pa.array([value], kind(other))})
            for unit, other in [
                (pa.timestamp("s"), pa.timestamp("ms")),
                (pa.timestamp("s"), pa.duration("s")),
            ]
            for value, kind in [
                (1, lambda unit: unit),
                ([1], pa.list_),
                ({"t": [{"u": 1}]}, lambda unit: pa.struct([("t", pa.list_(pa.struct([("u", unit)])))])),
            ]
        ),
    ],
)
def test_times_that_come_late_in_another_unit_are_refused(tmp_path, first, later):
    with colonnade.create(tmp_path / "f.root", "Events") as writer:
        writer.extend(first)
        with pytest.raises(colonnade.ConversionError, match="do not have the unit of the field") as caught:
            writer.extend(later)
        assert caught.value.field in ("x", "x.t._0.u")
        writer.extend(first)
    assert colonnade.open(tmp_path / "f.root").num_entries == 2


def test_times_that_come_late_in_another_zone_are_the_same_numbers(tmp_path):
    here, there = (
        pa.table({"x": pa.array([7], pa.timestamp("s", zone))}) for zone in ("UTC", "Europe/Paris")
    )
    assert write(tmp_path / "f.root", here, there)["x"].tolist() == [7, 7]


TIMES = {
    "timestamp[s]": [datetime.datetime(2024, 5, 17, 12), np.datetime64(5, "D"), np.datetime64(-3, "Y")],
    "timestamp[us, tz=UTC]": [
        datetime.datetime(1, 1, 1, tzinfo=datetime.UTC),
        datetime.datetime(2024, 5, 17, 2, tzinfo=datetime.timezone(datetime.timedelta(hours=2))),
        pd.Timestamp("2024-05-17 12:30:00.000001", tz="Europe/Berlin"),
        np.datetime64(5, "ns") + np.timedelta64(995, "ns"),
    ],
    "timestamp[ns]": [
        pd.Timestamp(1577836800000000001),
        datetime.datetime(1970, 1, 1),
        np.datetime64(7, "us"),
    ],
    "date32[day]": [
        datetime.date(2024, 5, 17),
        datetime.date(1, 1, 1),
        np.datetime64("1999-12"),
        np.datetime64(9, "D"),
    ],
    "date64[ms]": [datetime.date(2024, 5, 17), np.datetime64(9, "D")],
    "time32[s]": [datetime.time(1, 2, 3)],
    "time64[us]": [datetime.time(23, 59, 59, 999999)],
    "duration[ms]": [
        datetime.timedelta(days=-3, milliseconds=5),
        np.timedelta64(2, "W"),
        np.timedelta64(10**6, "ns"),
    ],
    "duration[ns]": [pd.Timedelta(5, "ns"), pd.Timedelta(-1, "D"), np.timedelta64(7, "ns")],
}


def ticks(value, kind):
    """The integer of Arrow."""
    unit = pa.type_for_alias(re.sub(", tz=.*", "]", kind)) if kind != "time32[s]" else pa.time32("s")
    if isinstance(value, np.datetime64) and kind.startswith("date"):
        value = value.astype("M8[D]").item()
    if isinstance(value, np.datetime64 | np.timedelta64):
        value = value.astype(f"{value.dtype.kind}8[{unit.unit}]")
    return pa.scalar(value, unit).cast(pa.int32() if unit.bit_width == 32 else pa.int64()).as_py()


@pytest.mark.parametrize("kind", TIMES)
def test_times_one_by_one_are_those_of_arrays(tmp_path, kind):
    """They were refused by `fill`, which `extend` takes."""
    values = TIMES[kind]
    number = "std::int32_t" if "32" in kind else "std::int64_t"
    schema = {
        "one": number,
        "maybe": f"std::optional<{number}>",
        "many": f"std::vector<{number}>",
        "fixed": f"std::array<{number},2>",
        "record": {"t": number, "n": "int"},
        "either": f"std::variant<std::string,{number}>",
    }
    places = ["one", "maybe", "many", "fixed", "record.t", "either._1"]
    expected = []
    with colonnade.create(
        tmp_path / "f.root", "Events", schema, field_descriptions=dict.fromkeys(places, kind)
    ) as writer:
        for k, value in enumerate(values):
            writer.fill(
                one=value,
                maybe=[value, pd.NaT, np.datetime64("NaT"), None][k % 4],
                many=[value] * k,
                fixed=(value, value),
                record={"t": value, "n": k},
                either=value if k % 2 else "text",
            )
            n = ticks(value, kind)
            expected.append(
                {
                    "one": n,
                    "maybe": n if k % 4 == 0 else None,
                    "many": [n] * k,
                    "fixed": [n, n],
                    "record": {"t": n, "n": k},
                    "either": n if k % 2 else "text",
                }
            )
    assert colonnade.open(tmp_path / "f.root").arrays().to_list() == expected


@pytest.mark.parametrize(
    "value",
    [
        datetime.datetime(2024, 5, 17, 1, tzinfo=datetime.UTC),
        datetime.date(2024, 5, 17),
        datetime.time(1, 2),
        datetime.timedelta(hours=1),
        pd.Timestamp("2024-05-17 01:00"),
        np.datetime64(5, "ms"),
        np.timedelta64(5, "s"),
        np.timedelta64(5, "h"),
        np.timedelta64(5, "W"),
        np.datetime64(5, "m"),
        np.datetime64(5, "D"),
        np.datetime64(5, "M"),
    ],
    ids=lambda value: f"{type(value).__name__}-{getattr(value, 'dtype', '')}",
)
def test_the_first_entry_says_the_unit_of_times(tmp_path, value):
    files = [tmp_path / "filled.root", tmp_path / "extended.root"]
    rows = [{"t": value, "r": {"l": [value]}}, {"t": value, "r": {"l": []}}]
    with colonnade.create(files[0], "Events") as writer:
        for row in rows:
            writer.fill(**row)
    with colonnade.create(files[1], "Events") as writer:
        writer.extend(rows[:1])
        writer.extend(rows[1:])
    filled, extended = map(colonnade.open, files)
    assert filled.arrays().to_list() == extended.arrays().to_list()
    assert [filled.schema[path].description for path in ("t", "r.l")] == [
        extended.schema[path].description for path in ("t", "r.l")
    ]
    assert filled.schema["t"].description


def test_times_of_numpy_in_lists_may_have_any_unit(tmp_path):
    """Arrow has days of dates, but no minutes, hours and weeks. Missing times stay so."""
    hour, day = np.timedelta64(1, "h"), np.datetime64(1, "D")
    columns = {
        "mixed": [[hour, np.timedelta64(1, "m")], [], [np.timedelta64("NaT", "h"), None]],
        "arrays": [np.array([1, 2], "m8[D]"), np.array([], "m8[D]"), np.array(["NaT"], "m8[D]")],
        "days": [[day], [np.datetime64("NaT", "D")], [np.datetime64("1970-02")]],
        "maybe": [hour, None, 2 * hour],
        "records": [[{"t": day}], [], [{"t": None}]],
    }
    events = write(tmp_path / "f.root", columns)
    assert {name: events[name].to_list() for name in columns} == {
        "mixed": [[3600, 60], [], [None, None]],
        "arrays": [[86400, 172800], [], [None]],
        "days": [[1], [None], [31]],
        "maybe": [3600, None, 7200],
        "records": [[{"t": 1}], [], [{"t": None}]],
    }
    for wrong in (
        [[np.timedelta64(2**62, "W")]],
        [[np.datetime64(2**62, "h")]],
        [[np.datetime64(10**9, "D")]],
    ):
        with pytest.raises(colonnade.Error, match=r"does not fit|is no date|cannot be stored"):
            write(tmp_path / "g.root", {"x": wrong})


def test_times_that_are_not_of_the_unit_are_refused(tmp_path):
    moment = datetime.datetime(2024, 5, 17, 1, 2, 3, 4)
    with colonnade.create(
        tmp_path / "f.root",
        "Events",
        {"t": "std::int64_t", "n": "std::int64_t", "d": "std::int32_t"},
        field_descriptions={"t": "timestamp[s]", "d": "date32[day]"},
    ) as writer:
        good = {"t": moment.replace(microsecond=0), "n": 1, "d": moment.date()}
        for name, value, kind, text in (
            ("t", moment, colonnade.ConversionError, r"not a whole number of timestamp\[s\]"),
            ("t", np.datetime64(1, "ms"), colonnade.ConversionError, "not a whole number"),
            ("t", moment.date(), colonnade.TypeMismatchError, r"type date is no timestamp\[s\]"),
            ("t", np.timedelta64(1, "s"), colonnade.TypeMismatchError, "is no timestamp"),
            ("t", moment.time(), colonnade.TypeMismatchError, "type time is no timestamp"),
            ("t", pd.NaT, colonnade.TypeMismatchError, "type NaTType is no timestamp"),
            ("t", np.datetime64(10**17, "Y"), colonnade.Error, "is no timestamp|does not fit"),
            ("n", moment, colonnade.TypeMismatchError, r"field_descriptions=\{'n': 'timestamp\[us\]'\}"),
            ("d", moment, colonnade.TypeMismatchError, r"type datetime is no date32\[day\]"),
            ("d", np.datetime64(2**40, "D"), colonnade.ConversionError, "does not fit"),
        ):
            with pytest.raises(kind, match=text) as caught:
                writer.fill(**{**good, name: value})
            assert caught.value.field == name
        writer.fill(**good)
    assert colonnade.open(tmp_path / "f.root").arrays().to_list() == [
        {"t": ticks(good["t"], "timestamp[s]"), "n": 1, "d": ticks(good["d"], "date32[day]")}
    ]


TUPLES = {
    "of integers": ([(1, 2), (3, 4)], "std::tuple<std::int64_t,std::int64_t>"),
    "of two kinds": ([(1, 2.5), (3, 4.0)], "std::tuple<std::int64_t,double>"),
    "in lists": ([[(1, 2)], []], "std::vector<std::tuple<std::int64_t,std::int64_t>>"),
    "with a missing one": ([None, (1, "a")], "std::optional<std::tuple<std::int64_t,std::string>>"),
    "with a missing item": (
        [(1, None), (2, 3)],
        "std::tuple<std::int64_t,std::optional<std::int64_t>>",
    ),
    "of several lengths": ([(1,), (1, 2), ()], "std::vector<std::int64_t>"),
}


def columns_of(values):
    array = np.empty(len(values), object)
    array[:] = values
    return values, array, pd.Series(array, dtype=object)


@pytest.mark.parametrize(("values", "kind"), TUPLES.values(), ids=TUPLES)
def test_tuples_are_tuples_in_lists_numpy_and_pandas(tmp_path, values, kind):
    """In columns of pandas they were lists of numbers, and integers beside floating-point numbers were rounded."""
    for number, column in enumerate(columns_of(values)):
        events = write(tmp_path / f"{number}.root", {"x": column})
        assert types(tmp_path / f"{number}.root") == {"x": kind}
        expected = [list(value) for value in values] if "vector<std::int64_t>" in kind else values
        assert events["x"].to_list() == expected


@pytest.mark.parametrize(
    ("values", "spec", "stored"),
    [
        ([(1, 2), (3, 4)], "std::pair<int,double>", [(1, 2.0), (3, 4.0)]),
        ([(1, 2), (3, 4)], "std::array<double,2>", [[1.0, 2.0], [3.0, 4.0]]),
        ([(1, 2), (3, 4)], "std::vector<float>", [[1.0, 2.0], [3.0, 4.0]]),
        ([(1,), (), (1, 2.5)], "std::vector<float>", [[1.0], [], [1.0, 2.5]]),
        ([None, (1, 2)], "std::optional<std::vector<int>>", [None, [1, 2]]),
        ([[(1, 2), (3,)], []], "std::vector<std::set<int>>", [[[1, 2], [3]], []]),
        ([[(1, 2)], []], "std::map<int,int>", [[(1, 2)], []]),
        ([{"a": (1, 2)}], {"a": "std::vector<int>"}, [{"a": [1, 2]}]),
        ([(1, "a")], "std::vector<float>", None),
        ([(1, 2, 3)], "std::pair<int,int>", None),
        ([(1, 2, 3)], "std::array<int,2>", None),
    ],
)
def test_tuples_go_where_fill_takes_them(tmp_path, values, spec, stored):
    """Lists of them were refused for vectors and arrays, columns of pandas for pairs."""
    for number, column in enumerate(columns_of(values)):
        with colonnade.create(tmp_path / f"{number}.root", "Events", {"x": spec}) as writer:
            if stored is None:
                with pytest.raises(colonnade.Error):
                    writer.extend({"x": column})
                continue
            writer.extend({"x": column})
            for value in values:
                writer.fill(x=value)
        assert colonnade.open(tmp_path / f"{number}.root")["x"].to_list() == stored * 2
