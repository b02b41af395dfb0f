"""Random Arrow arrays of all types through the C interface: slices, dictionaries, unions, views; and damaged ones."""

from __future__ import annotations

import ctypes
import math
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import c_library as c
import pyarrow as pa
import pytest

NUMBERS = [
    pa.int8(),
    pa.uint16(),
    pa.int32(),
    pa.int64(),
    pa.uint64(),
    pa.float32(),
    pa.float64(),
    pa.bool_(),
]
TEXTS = [pa.string(), pa.large_string(), pa.string_view(), pa.binary(), pa.large_binary(), pa.binary_view()]
TIMES = [pa.date32(), pa.timestamp("us"), pa.time64("ns"), pa.duration("ms")]
CODES = [pa.int8(), pa.uint8(), pa.int16(), pa.uint32(), pa.int64()]
NOT_STORED = "is missing, and the field is not optional"


def a_type(dice: random.Random, depth: int = 3, *, named: bool = False) -> pa.DataType:
    """A type; `named`: without records, which have no name."""
    leaf = dice.choice([*NUMBERS, *NUMBERS, *TEXTS, *TIMES])
    if depth == 0 or dice.random() < 0.4:
        return leaf
    inner = a_type(dice, depth - 1, named=named)
    nullable = dice.random() < 0.5
    match dice.choice(["list", "large", "fixed", "record", "map", "dictionary", "union"]):
        case "large":
            return pa.large_list(pa.field("item", inner, nullable))
        case "fixed":
            return pa.list_(a_type(dice, depth - 1, named=True), dice.randint(1, 3))
        case "record" if not named:
            members = [inner, *(a_type(dice, depth - 1) for _ in range(dice.randint(0, 2)))]
            return pa.struct([pa.field(f"m{k}", kind, nullable) for k, kind in enumerate(members)])
        case "map":
            return pa.map_(dice.choice([pa.string(), pa.int32()]), a_type(dice, depth - 1, named=True))
        case "dictionary":
            values = dice.choice([leaf, pa.list_(leaf), pa.dictionary(dice.choice(CODES), leaf)])
            return pa.dictionary(dice.choice(CODES), values)
        case "union":
            parts = [a_type(dice, depth - 1, named=True) for _ in range(dice.randint(1, 3))]
            form = dice.choice([pa.sparse_union, pa.dense_union])
            return form([pa.field(f"u{k}", kind) for k, kind in enumerate(parts)])
    return pa.list_(pa.field("item", inner, nullable))


def a_leaf(dice: random.Random, kind: pa.DataType) -> Any:
    if pa.types.is_boolean(kind):
        return dice.random() < 0.5
    if pa.types.is_floating(kind):
        return dice.choice([0.0, -0.0, 1.5, math.inf, math.nan])
    if pa.types.is_integer(kind):
        signed = pa.types.is_signed_integer(kind)
        return dice.choice([0, 1, 2 ** (kind.bit_width - signed) - 1, -(2 ** (kind.bit_width - 1)) * signed])
    text = dice.choice(["", "a", "é", "z\0z", "x" * 12, "y" * 13, "long" * 20])
    return text if kind in TEXTS[:3] else text.encode()


def an_array(dice: random.Random, kind: pa.DataType, count: int, nullable: bool = True) -> pa.Array:
    """An array, which may be a slice of a longer one."""
    before, behind = dice.choice([(0, 0), (0, 0), (1, 0), (9, 2)])
    return whole_array(dice, kind, count + before + behind, nullable).slice(before, count)


def whole_array(dice: random.Random, kind: pa.DataType, count: int, nullable: bool) -> pa.Array:
    types = pa.types
    share = dice.choice([0, 0, 0.2, 1]) if nullable else 0
    missing = [dice.random() < share for _ in range(count)]
    mask = pa.array(missing, pa.bool_()) if any(missing) else None
    if types.is_temporal(kind):
        numbers = [None if none else dice.randint(0, 9999) for none in missing]
        return pa.array(numbers, pa.int32() if kind.bit_width == 32 else pa.int64()).view(kind)
    if types.is_dictionary(kind):
        size = dice.randint(1, 4)
        codes = [None if none else dice.randrange(size) for none in missing]
        values = an_array(dice, kind.value_type, size)
        return pa.DictionaryArray.from_arrays(pa.array(codes, kind.index_type), values)
    if types.is_struct(kind):
        members = [an_array(dice, member.type, count, member.nullable) for member in kind]
        return pa.StructArray.from_arrays(members, fields=list(kind))
    if types.is_union(kind):
        tags = [dice.randrange(kind.num_fields) for _ in range(count)]
        lengths = [tags.count(k) if kind.mode == "dense" else count for k in range(kind.num_fields)]
        parts = [an_array(dice, kind.field(k).type, n) for k, n in enumerate(lengths)]
        names = [kind.field(k).name for k in range(kind.num_fields)]
        if kind.mode == "sparse":
            return pa.UnionArray.from_sparse(pa.array(tags, pa.int8()), parts, names)
        places = pa.array([tags[:k].count(tag) for k, tag in enumerate(tags)], pa.int32())
        return pa.UnionArray.from_dense(pa.array(tags, pa.int8()), places, parts, names)
    if types.is_fixed_size_list(kind):
        items = an_array(dice, kind.value_type, count * kind.list_size)
        return pa.FixedSizeListArray.from_arrays(items, type=kind, mask=mask)
    if types.is_nested(kind):
        ends = [dice.randint(0, 2)]
        for _ in range(count):
            ends.append(ends[-1] + dice.choice([0, 0, 1, 3]))
        if types.is_map(kind):
            keys = an_array(dice, kind.key_type, ends[-1], False)
            items = an_array(dice, kind.item_type, ends[-1])
            return pa.MapArray.from_arrays(pa.array(ends, pa.int32()), keys, items, type=kind, mask=mask)
        items = an_array(dice, kind.value_type, ends[-1] + dice.choice([0, 2]), kind.value_field.nullable)
        if types.is_large_list(kind):
            return pa.LargeListArray.from_arrays(pa.array(ends, pa.int64()), items, type=kind, mask=mask)
        return pa.ListArray.from_arrays(pa.array(ends, pa.int32()), items, type=kind, mask=mask)
    return pa.array([None if none else a_leaf(dice, kind) for none in missing], kind)


def plain(value: Any) -> Any:
    """The value as it is stored: times as integers, bytes as lists of numbers, records and pairs as lists."""
    kind = value.type
    if pa.types.is_union(kind) or (pa.types.is_dictionary(kind) and value.is_valid):
        return None if value.value is None else plain(value.value)
    if not value.is_valid:
        return None
    if pa.types.is_struct(kind):
        return [plain(value[k]) for k in range(kind.num_fields)]
    if pa.types.is_nested(kind):
        return [plain(item) for item in value.values]
    if pa.types.is_temporal(kind):
        return repr(value.value)
    given = value.as_py()
    return list(map(repr, given)) if isinstance(given, bytes) else repr(given)


def refusal(call: Callable[[], object]) -> c.CError | None:
    try:
        call()
    except c.CError as error:
        return error
    return None


def a_batch(dice: random.Random) -> pa.RecordBatch:
    count = dice.choice([0, 1, 5, 30])
    arrays = [an_array(dice, a_type(dice), count) for _ in range(dice.randint(1, 3))]
    return pa.record_batch(arrays, names=[f"c{k}" for k in range(len(arrays))])


@pytest.mark.parametrize("seed", range(200))
def test_arrays_of_any_type_come_back(tmp_path: Path, seed: int) -> None:
    dice = random.Random(seed)
    batch = a_batch(dice)
    first = dice.randint(0, batch.num_rows)
    parts = [batch.slice(0, first), batch.slice(first)]
    file = str(tmp_path / "f.root")
    stream = pa.RecordBatchReader.from_batches(batch.schema, parts)
    if refused := refusal(lambda: c.write_table(stream, file, nulls=1)):
        assert NOT_STORED in refused.problem  # records, which are never optional
        return
    with c.opened(file) as reader:
        whole = c.read(reader)
        whole.validate(full=True)
        for name in batch.schema.names:
            expected = [plain(value) for value in batch[name]]
            assert [plain(value) for value in whole[name]] == expected
            steps = c.stream(reader, [name], first, batch_entries=3)
            assert [plain(value) for step in steps for value in step[name]] == expected[first:]


# ---- Arrays that are not what their schema says


class Arrow(ctypes.Structure):
    """ArrowArray."""


Arrow._fields_ = [
    *((name, ctypes.c_int64) for name in ("length", "null_count", "offset", "n_buffers", "n_children")),
    *((name, ctypes.POINTER(ctypes.c_void_p)) for name in ("buffers", "children")),
    *((name, ctypes.c_void_p) for name in ("dictionary", "release", "private_data")),
]


def parts_of(array: Arrow) -> Iterator[Arrow]:
    yield array
    below = [array.children[k] for k in range(array.n_children)]
    for address in [*below, *([array.dictionary] if array.dictionary else [])]:
        yield from parts_of(Arrow.from_address(address))


def spoil(dice: random.Random, array: Arrow) -> None:
    """Change a number of the array, or take away a pointer; what remains may be valid."""
    match dice.choice(
        ["length", "offset", "null_count", "n_buffers", "n_children", "buffer", "child", "dictionary"]
    ):
        case "length":
            array.length = dice.choice([-1, -(2**63), array.length // 2])
        case "offset":
            array.offset = dice.choice([-1, -(2**63), 2**62])
        case "null_count":
            array.null_count = dice.choice([-1, 0, 1, 2**62])
        case "n_buffers":
            array.n_buffers = dice.choice([-1, 0, array.n_buffers - 1])
        case "n_children":
            array.n_children = dice.choice([-1, 0, array.n_children - 1])
        case "buffer" if array.n_buffers > 0:
            array.buffers[dice.randrange(array.n_buffers)] = None
        case "child" if array.n_children > 0:
            array.children[dice.randrange(array.n_children)] = None
        case "dictionary":
            array.dictionary = None


@pytest.mark.parametrize("seed", range(200))
def test_arrays_without_some_part_are_refused_or_read(tmp_path: Path, seed: int) -> None:
    """Whether the process survives; `append` writes all of an array or nothing."""
    dice = random.Random(1000 + seed)
    batch = a_batch(dice)
    with c.writer(str(tmp_path / "f.root"), batch.schema, nulls=1) as writer:
        written = 0
        for _ in range(4):
            given = Arrow()
            batch._export_to_c(ctypes.addressof(given))
            kept = [
                (part, bytes(part), *(part.buffers[k] for k in range(part.n_buffers)))
                for part in parts_of(given)
            ]
            children = [[part.children[k] for k in range(part.n_children)] for part, *_ in kept]
            spoilt, *_ = dice.choice(kept)
            given.release = ctypes.cast(NOTHING, ctypes.c_void_p)
            spoil(dice, spoilt)
            refused = refusal(lambda: c.call("colonnade_writer_append", writer, ctypes.byref(given)))  # noqa: B023
            if refused:
                assert refused.status in (c.CODES["usage"], c.CODES["conversion"])
            else:
                written += given.length
            for (part, content, *buffers), below in zip(kept, children, strict=True):
                ctypes.memmove(ctypes.addressof(part), content, len(content))
                for k, address in enumerate(buffers):
                    part.buffers[k] = address
                for k, address in enumerate(below):
                    part.children[k] = address
            pa.Array._import_from_c(ctypes.addressof(given), pa.struct(batch.schema))
            assert c.LIBRARY.colonnade_writer_num_entries(writer) == written
        c.call("colonnade_writer_close", writer)


def test_more_items_than_64_bits_count_are_refused(tmp_path: Path) -> None:
    batch = pa.record_batch([pa.array([], pa.list_(pa.int8(), 2**24))], names=["c0"])
    with c.writer(str(tmp_path / "f.root"), batch.schema) as writer:
        given = Arrow()
        batch._export_to_c(ctypes.addressof(given))
        given.length = Arrow.from_address(given.children[0]).length = 2**40
        refused = refusal(lambda: c.call("colonnade_writer_append", writer, ctypes.byref(given)))
        assert refused is not None
        assert refused.problem == "the items end beyond those that exist"


NOTHING = ctypes.CFUNCTYPE(None, ctypes.POINTER(Arrow))(
    lambda array: setattr(array.contents, "release", None)
)
