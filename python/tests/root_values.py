"""Values as ROOT read them from the fixtures (tests/fixtures/expected), as Colonnade's arrays should hold them."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import awkward as ak
from awkward.contents import NumpyArray

from colonnade import DataSet, FieldInfo, ImportReport
from colonnade._core import FieldKind

__all__ = ["assert_as_uproot", "expected_values", "fields_of", "load", "python_values", "same"]


def _expanded(value: Any) -> Any:
    if isinstance(value, dict):
        if set(value) == {"rle_string"}:
            return "".join(text * count for text, count in value["rle_string"])
        if set(value) == {"rle"}:
            return [_expanded(item) for item, count in value["rle"] for _ in range(count)]
        return {key: _expanded(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_expanded(item) for item in value]
    return value


def load(path: Path) -> dict[str, Any]:
    """Data sets of a fixture by name."""
    return {name: _expanded(data) for name, data in json.loads(path.read_text("utf-8")).items()}


def _scalar(info: FieldInfo, value: Any) -> Any:
    if isinstance(value, str):
        return float(value)
    if info.type == "char" and isinstance(value, int):
        return value & 0xFF  # characters are bytes here, ROOT's are signed
    if info.type in ("float", "double", "Double32_t"):
        return float(value)
    return value


def _text(value: Any) -> str:
    return (
        bytes.fromhex(value["hex"]).decode("utf-8", "surrogateescape") if isinstance(value, dict) else value
    )


def expected_values(info: FieldInfo, value: Any) -> Any:
    """Turn a value of the JSON form into what `python_values` should give."""
    match info.kind:
        case FieldKind.scalar:
            return _scalar(info, value)
        case FieldKind.string:
            return _text(value)
        case FieldKind.collection | FieldKind.array:
            return [expected_values(info.children[0], item) for item in value]
        case FieldKind.nullable:
            (inner,) = info.children
            if value is None:
                return None
            return expected_values(inner, value[0] if inner.kind == FieldKind.nullable else value)
        case FieldKind.bitset:
            return [bool(bit) for bit in value]
        case FieldKind.wrapper:
            (inner,) = info.children
            if inner.type == "char" and not info.type.startswith("std::atomic<"):
                return value  # an enumeration over std::int8_t, whose values are numbers with a sign
            return expected_values(inner, value)
        case FieldKind.variant:
            if value["tag"] == 0:
                return None
            return expected_values(info.children[value["tag"] - 1], value["value"])
        case FieldKind.record:
            return _record(info, value)
    return value


def _record(info: FieldInfo, value: Any) -> Any:
    if info.is_tuple:
        items = value.values() if isinstance(value, dict) else value
        return tuple(expected_values(child, item) for child, item in zip(info.children, items, strict=True))
    members = {}
    for child in info.children:
        if child.name.startswith(":"):
            members |= expected_values(child, value[child.name])
    for child in info.children:
        if not child.name.startswith(":") and not child.unreadable:
            members[child.name] = expected_values(child, value[child.name])
    return members


def python_values(array: ak.Array) -> list[Any]:
    """`ak.to_list`, also for strings that are not UTF-8."""
    try:
        return ak.to_list(array)
    except UnicodeDecodeError:
        pass

    def as_bytes(layout: Any, **_: Any) -> Any:
        if layout.parameter("__array__") != "string":
            return None
        content = NumpyArray(layout.content.data, parameters={"__array__": "byte"})
        return layout.copy(content=content, parameters={"__array__": "bytestring"})

    return _decoded(ak.to_list(ak.transform(as_bytes, array)))


def _decoded(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.decode("utf-8", "surrogateescape")
    if isinstance(value, dict):
        return {key: _decoded(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_decoded(item) for item in value]
    if isinstance(value, tuple):
        return tuple(_decoded(item) for item in value)
    return value


def same(left: Any, right: Any) -> bool:
    """Equal in type and value, NaN included; the sign of zero counts."""
    if isinstance(left, float) and isinstance(right, float):
        if math.isnan(left) or math.isnan(right):
            return math.isnan(left) and math.isnan(right)
        return left == right and math.copysign(1, left) == math.copysign(1, right)
    if type(left) is not type(right):
        return False
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
    if isinstance(left, list | tuple):
        return len(left) == len(right) and all(map(same, left, right))
    return bool(left == right)


def assert_as_uproot(source: Path, tree: str, data_set: DataSet, report: ImportReport) -> None:
    """Each branch has the values that uproot reads, in the field that it became."""
    import uproot

    with uproot.open(source) as file:
        keys = [key for key, one in file[tree].items(recursive=True) if not one.branches]
        skipped = {one.branch for one in report.skipped}
        for key in keys:
            if key not in skipped:
                found = data_set[report.renamed.get(key, key)]
                assert same(python_values(found), python_values(file[tree][key].array())), key


def fields_of(data_set: DataSet) -> dict[str, FieldInfo]:
    """Top-level fields that can be read."""
    return data_set.schema.select(None)
