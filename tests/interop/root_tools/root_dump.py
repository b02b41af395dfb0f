#!/usr/bin/env python3
"""What ROOT reads from an RNTuple, as exact JSON.

    root_dump.py FILE [DATASET ...]

From Python: dump(path, dataset) gives the same as a dictionary. The mapping stands in tests/fixtures/README.md.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))
import root_bridge
import values

# Lists and strings longer than this are run-length encoded where that is shorter: {"rle": [[item, count], ...]}.
RLE_ABOVE = 4096


def _shortened(value: Any) -> Any:
    if isinstance(value, str) and len(value) > RLE_ABOVE:
        runs = _runs(value)
        return {"rle_string": runs} if 4 * len(runs) < len(value) else value
    if isinstance(value, list):
        value = [_shortened(item) for item in value]
        runs = _runs(value) if len(value) > RLE_ABOVE else value
        return {"rle": runs} if 4 * len(runs) < len(value) else value
    if isinstance(value, dict):
        return {key: _shortened(item) for key, item in value.items()}
    return value


def _runs(items: Any) -> list[list[Any]]:
    runs: list[list[Any]] = []
    for item in items:
        if runs and runs[-1][0] == item and type(runs[-1][0]) is type(item):
            runs[-1][1] += 1
        else:
            runs.append([item, 1])
    return runs


def expanded(value: Any) -> Any:
    """Undo the run-length form."""
    if isinstance(value, dict):
        if set(value) == {"rle_string"}:
            return "".join(text * count for text, count in value["rle_string"])
        if set(value) == {"rle"}:
            return [expanded(item) for item, count in value["rle"] for _ in range(count)]
        return {key: expanded(item) for key, item in value.items()}
    if isinstance(value, list):
        return [expanded(item) for item in value]
    return value


def datasets(path: str | Path) -> list[str]:
    """Names of all data sets in a ROOT file, those in subdirectories with their path."""
    ROOT = root_bridge.load()
    found: list[str] = []

    def walk(directory: Any, prefix: str) -> None:
        for key in directory.GetListOfKeys():
            if key.GetClassName() == "ROOT::RNTuple":
                found.append(prefix + key.GetName())
            elif key.GetClassName().startswith("TDirectory"):
                walk(directory.Get(key.GetName()), prefix + key.GetName() + "/")

    file = ROOT.TFile.Open(str(path))
    if not file or file.IsZombie():
        raise OSError(f"ROOT cannot open {path}")
    walk(file, "")
    file.Close()
    return list(dict.fromkeys(found))


def _plain_type(type_name: str) -> str:
    """A type that holds the same elements without a collection proxy: sets and maps become vectors."""
    for kind in root_bridge.MAP_KINDS:
        while (start := type_name.find(kind + "<")) >= 0:
            end = root_bridge.closing(type_name, start + len(kind))
            inner = type_name[start + len(kind) + 1 : end]
            type_name = f"{type_name[:start]}std::vector<std::pair<{inner}>>{type_name[end + 1 :]}"
    for kind in root_bridge.SET_KINDS:
        type_name = type_name.replace(kind + "<", "std::vector<")
    return type_name


def _pairs_as_lists(type_name: str, value: Any) -> Any:
    """What was read as a vector of pairs where the type says map, in the form that maps have: [[key, value], ...]."""
    if "map<" not in type_name or value is None:
        return value
    kind, parts = type_name.split("<", 1)[0], values.arguments(type_name)
    if kind in root_bridge.MAP_KINDS:
        return [[_pairs_as_lists(part, item[f"_{k}"]) for k, part in enumerate(parts)] for item in value]
    if kind in ("std::pair", "std::tuple"):
        return {f"_{k}": _pairs_as_lists(part, value[f"_{k}"]) for k, part in enumerate(parts)}
    if kind == "std::variant":
        inner = (
            value["value"] if value["tag"] == 0 else _pairs_as_lists(parts[value["tag"] - 1], value["value"])
        )
        return {"tag": value["tag"], "value": inner}
    if kind in ("std::optional", "std::unique_ptr"):
        nested = parts[0].startswith(("std::optional<", "std::unique_ptr<"))
        return [_pairs_as_lists(parts[0], value[0])] if nested else _pairs_as_lists(parts[0], value)
    return [_pairs_as_lists(parts[0], item) for item in value]


def _sorted_deep(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _sorted_deep(item) for key, item in value.items()}
    if isinstance(value, list):
        return sorted((_sorted_deep(item) for item in value), key=repr)
    return value


def _stored_order(
    content: list[Any], type_name: str, read_plain: Callable[[], Any], result: dict[str, Any], name: str
) -> list[Any]:
    """Under its own type an unordered container has the order of the hash table: read again for that of the file."""
    try:
        stored = [_pairs_as_lists(type_name, item) for item in json.loads(str(read_plain()))]
    except Exception:  # ROOT 6.40 does not find std::optional inside a type that it spells anew
        result.setdefault("hash_order", []).append(name)
        return content
    if _sorted_deep(stored) != _sorted_deep(content):
        raise RuntimeError(f"{name}: read as {type_name} the elements are not those read as vectors")
    return stored


def _has_streamer(field: dict[str, Any]) -> bool:
    return field["structure"] == "streamer" or any(_has_streamer(child) for child in field.get("fields", []))


def _read(bridge: Any, path: str, dataset: str, field: dict[str, Any], result: dict[str, Any]) -> None:
    name = field["name"]
    if _has_streamer(field):
        result.setdefault("unreadable", {})[name] = "streamer field"
        return
    type_name, plain = field["type"], _plain_type(field["type"])
    attempts = {"": lambda: bridge.values(name, "", 0, 2**63)}
    if plain != type_name:
        attempts[plain] = lambda: bridge.values(name, plain, 0, 2**63)
    attempts["emulated"] = lambda: bridge.emulated_values(path, dataset, name)
    problems = []
    for read_as, attempt in attempts.items():
        try:
            content = json.loads(str(attempt()))
        except Exception as problem:
            problems.append(str(problem).strip().splitlines()[0])
            continue
        if read_as == plain:
            content = [_pairs_as_lists(type_name, item) for item in content]
        if not read_as and "unordered_" in type_name:
            content = _stored_order(content, type_name, attempts[plain], result, name)
        result["values"][name] = _shortened(content)
        if read_as:
            result.setdefault("read_as", {})[name] = read_as
        return
    result.setdefault("unreadable", {})[name] = problems[0]


def dump(path: str | Path, dataset: str, fields: list[str] | None = None) -> dict[str, Any]:
    """Schema, clusters, pages and all values of one data set as ROOT reads them."""
    ROOT = root_bridge.load()
    bridge = ROOT.colonnade_test.Dump(str(path), dataset)
    root_bridge.ensure_dictionaries([str(name) for name in bridge.type_names()])
    result: dict[str, Any] = json.loads(str(bridge.descriptor()))
    result["values"] = {}
    for field in result["fields"]:
        if fields is None or field["name"] in fields:
            _read(bridge, str(path), dataset, field, result)
    for attribute_set in result.get("attribute_sets", []):
        text = ROOT.colonnade_test.dump_attribute_set(str(path), dataset, attribute_set["name"])
        attribute_set["entries"] = json.loads(str(text))
    return result


def dump_file(path: str | Path, names: list[str] | None = None) -> dict[str, Any]:
    """All data sets of a file: {name: dump}."""
    return {name: dump(path, name) for name in (names or datasets(path))}


def to_text(dumps: dict[str, Any]) -> str:
    """JSON with one line per field of the schema and per field of the values, so that differences read well."""

    def compact(value: Any) -> str:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)

    def block(items: list[str], opening: str, closing: str) -> str:
        return f"{opening}\n   " + ",\n   ".join(items) + f"\n  {closing}" if items else opening + closing

    parts = []
    for name, content in dumps.items():
        lines = []
        for key, value in content.items():
            if key == "fields":
                text = block([compact(item) for item in value], "[", "]")
            elif key == "values":
                text = block([f"{compact(k)}: {compact(v)}" for k, v in value.items()], "{", "}")
            else:
                text = compact(value)
            lines.append(f"  {compact(key)}: {text}")
        parts.append(f" {compact(name)}: {{\n" + ",\n".join(lines) + "\n }")
    return "{\n" + ",\n".join(parts) + "\n}\n"


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    print(to_text(dump_file(sys.argv[1], sys.argv[2:] or None)), end="")
