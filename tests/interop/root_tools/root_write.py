"""Writes RNTuples with ROOT from Python data: any schema given by type names, options, clusters, encodings."""

from __future__ import annotations

import math
import struct
from collections.abc import Iterable
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from pathlib import Path
from typing import Any

import root_bridge
import root_dump
from root_bridge import Variant, tokens


@dataclass
class Field:
    """A field to write. `type` is a type name; for untyped records and collections give `members` or `item`."""

    name: str
    type: str = ""
    values: list[Any] = dataclass_field(default_factory=list)
    members: list[Field] | None = None  # untyped record
    item: Field | None = None  # untyped collection
    columns: dict[str, list[list[str]]] = dataclass_field(
        default_factory=dict
    )  # sub-field path -> representations
    real: dict[str, tuple[Any, ...]] = dataclass_field(default_factory=dict)  # path -> (kind, bits, min, max)
    description: str = ""
    streamer: bool = False


def build(field: Field) -> Any:
    """The ROOT field object."""
    ROOT = root_bridge.load()
    bridge = ROOT.colonnade_test
    if field.members is not None:
        parts = bridge.RecordParts()
        for member in field.members:
            parts.add(ROOT.std.move(build(member)))
        made = parts.build(field.name)
    elif field.item is not None:
        made = bridge.make_collection(field.name, ROOT.std.move(build(field.item)))
    elif field.streamer:
        made = bridge.make_streamer(field.name, field.type)
    else:
        root_bridge.ensure_dictionaries([field.type])
        made = bridge.make_field(field.name, field.type)
    for path, representations in field.columns.items():
        bridge.set_representations(made, path, representations)
    for path, (kind, *rest) in field.real.items():
        bits, low, high = (*rest, 0, 0.0, 1.0)[:3] if len(rest) < 3 else rest
        bridge.set_real_columns(made, path, kind, bits, low, high)
    if field.description:
        made.SetDescription(field.description)
    return made


def options(**settings: Any) -> Any:
    """RNTupleWriteOptions; names as ROOT's setters without `Set`, plus MaxKeySize."""
    ROOT = root_bridge.load()
    result = ROOT.RNTupleWriteOptions()
    result.SetUseImplicitMT(ROOT.RNTupleWriteOptions.EImplicitMT.kOff)
    for name, value in settings.items():
        if name == "MaxKeySize":
            ROOT.colonnade_test.set_max_key_size(result, value)
        else:
            getattr(result, "Set" + name)(value)
    return result


def writer(fields: Iterable[Field], description: str = "") -> Any:
    ROOT = root_bridge.load()
    made = ROOT.colonnade_test.FixtureWriter(description)
    for field in fields:
        made.add_field(ROOT.std.move(build(field)))
    return made


def entry_bytes(fields: list[Field], entry: int) -> bytes:
    return b"".join(tokens(field.values[entry]) for field in fields)


def agrees(value: Any, dumped: Any, unordered: bool) -> bool:
    """Whether what was given to the writer is what root_dump prints; `unordered`: sequences may come in any order.

    An engaged nullable around a nullable is printed as a list of one."""
    if _agrees(value, dumped, unordered):
        return True
    return (
        isinstance(dumped, list)
        and len(dumped) == 1
        and value is not None
        and agrees(value, dumped[0], unordered)
    )


def _agrees(value: Any, dumped: Any, unordered: bool) -> bool:
    if isinstance(value, Variant):
        if not isinstance(dumped, dict):
            return False
        return dumped["tag"] == value.tag and (
            value.tag == 0 or agrees(value.value, dumped["value"], unordered)
        )
    if isinstance(value, (str, bytes)):
        raw = value.encode() if isinstance(value, str) else value
        if isinstance(dumped, dict) and "hex" in dumped:
            return bytes.fromhex(dumped["hex"]) == raw
        return isinstance(dumped, str) and dumped.encode() == raw
    if isinstance(value, float) and isinstance(dumped, (str, float)):
        return struct.pack("<d", value) == struct.pack("<d", float(dumped)) or math.isnan(value)
    if isinstance(value, (list, tuple)):
        if isinstance(dumped, dict):
            return len(value) == len(dumped) and all(
                agrees(*both, unordered) for both in zip(value, dumped.values(), strict=True)
            )
        if not isinstance(dumped, list) or len(value) != len(dumped):
            return False
        return (
            _same_items(value, dumped)
            if unordered
            else all(agrees(*both, False) for both in zip(value, dumped, strict=True))
        )
    return value == dumped or (
        isinstance(value, int) and isinstance(dumped, int) and (value - dumped) % (1 << 64) == 0
    )


def _same_items(value: Any, dumped: list[Any]) -> bool:
    rest = list(dumped)
    for item in value:
        match = next((k for k, other in enumerate(rest) if agrees(item, other, True)), None)
        if match is None:
            return False
        del rest[match]
    return True


def fill_all(out: Any, fields: list[Field], clusters: Iterable[int] = (), groups: Iterable[int] = ()) -> None:
    """Fill every entry; end a cluster (and a cluster group) after the entry counts given."""
    count = len(fields[0].values) if fields else 0
    clusters, groups = set(clusters), set(groups)
    for entry in range(count):
        out.fill(entry_bytes(fields, entry))
        if entry + 1 in clusters | groups:
            out.commit_cluster(entry + 1 in groups)


def write(
    path: str | Path,
    dataset: str,
    fields: list[Field],
    *,
    clusters: Iterable[int] = (),
    groups: Iterable[int] = (),
    description: str = "",
    bare: bool = False,
    **settings: Any,
) -> None:
    """One data set in a new file."""
    out = writer(fields, description)
    recreate = out.recreate_bare if bare else out.recreate
    recreate(dataset, str(path), options(**settings))
    fill_all(out, fields, clusters, groups)
    out.close()
    check(path, dataset, fields)


def _exact(field: Field) -> bool:
    lossy = ("Real16", "Real32")
    return (
        not field.streamer
        and not field.real
        and not (
            "ouble" in field.type
            and any(name in lossy for sets in field.columns.values() for one in sets for name in one)
        )
        and not any(name == "Real16" for sets in field.columns.values() for one in sets for name in one)
    )


def check(path: str | Path, dataset: str, fields: list[Field]) -> None:
    """ROOT must read back what was written, else either the writing or the dump is wrong."""
    dumped = root_dump.dump(path, dataset)
    for field in fields:
        if not _exact(field) or field.type == "TObject":
            continue
        read = root_dump.expanded(dumped["values"][field.name])
        for entry, (value, other) in enumerate(zip(field.values, read, strict=True)):
            if not agrees(value, other, "set<" in field.type or "map<" in field.type):
                raise RuntimeError(
                    f"{path}: {field.name} ({field.type}), entry {entry}: wrote {value!r}, read {other!r}"
                )
