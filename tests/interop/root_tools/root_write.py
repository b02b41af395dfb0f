"""Writes RNTuples with ROOT from Python data: any schema given by type names, options, clusters, encodings."""

from __future__ import annotations

from dataclasses import dataclass, field as dataclass_field
from pathlib import Path
from typing import Any, Iterable

import root_bridge
from root_bridge import tokens


@dataclass
class Field:
    """A field to write. `type` is a type name; for untyped records and collections give `members` or `item`."""

    name: str
    type: str = ""
    values: list[Any] = dataclass_field(default_factory=list)
    members: list["Field"] | None = None  # untyped record
    item: "Field | None" = None  # untyped collection
    columns: dict[str, list[list[str]]] = dataclass_field(default_factory=dict)  # sub-field path -> representations
    real: dict[str, tuple[Any, ...]] = dataclass_field(default_factory=dict)  # path -> (kind, bits, min, max)
    description: str = ""
    streamer: bool = False


def build(field: Field) -> Any:
    """The ROOT field object."""
    ROOT = root_bridge.load()
    bridge = ROOT.colonnade_test
    if field.members is not None:
        members = ROOT.std.vector["std::unique_ptr<ROOT::RFieldBase>"]()
        for member in field.members:
            members.push_back(ROOT.std.move(build(member)))
        made = bridge.make_record(field.name, members)
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


def fill_all(out: Any, fields: list[Field], clusters: Iterable[int] = (), groups: Iterable[int] = ()) -> None:
    """Fill every entry; end a cluster (and a cluster group) after the entry counts given."""
    count = len(fields[0].values) if fields else 0
    clusters, groups = set(clusters), set(groups)
    for entry in range(count):
        out.fill(entry_bytes(fields, entry))
        if entry + 1 in clusters | groups:
            out.commit_cluster(entry + 1 in groups)


def write(path: str | Path, dataset: str, fields: list[Field], clusters: Iterable[int] = (),
          groups: Iterable[int] = (), description: str = "", bare: bool = False, **settings: Any) -> None:
    """One data set in a new file."""
    out = writer(fields, description)
    recreate = out.recreate_bare if bare else out.recreate
    recreate(dataset, str(path), options(**settings))
    fill_all(out, fields, clusters, groups)
    out.close()
