"""Compares the JSON of two dumps (root_dump.py, colonnade_dump) exactly, and says where they differ."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any


def text_of(value: Any) -> str:
    """A value as text, so that 0.0 and -0.0, 1 and 1.0 and true differ."""
    return json.dumps(value, ensure_ascii=False)


def sorted_deep(value: Any) -> Any:
    """The value with all lists sorted: for containers without order."""
    if isinstance(value, dict):
        return {key: sorted_deep(item) for key, item in value.items()}
    if isinstance(value, list):
        return sorted((sorted_deep(item) for item in value), key=text_of)
    return value


def value_differences(root: dict[str, Any], ours: dict[str, Any], unordered: Any = ()) -> Iterator[str]:
    """Compare {field: values}; fields in `unordered` may hold their items in any order."""
    if set(root) != set(ours):
        yield f"fields: {sorted(root)} and {sorted(ours)}"
    for name in set(root) & set(ours):
        yield from entry_differences(name, root[name], ours[name], name in unordered)


def entry_differences(name: str, root: list[Any], ours: list[Any], unordered: bool = False) -> Iterator[str]:
    """Compare the values of one field and report the first entry that differs."""
    if unordered:
        root, ours = sorted_deep_entries(root), sorted_deep_entries(ours)
    if text_of(root) == text_of(ours):
        return
    if len(root) != len(ours):
        yield f"{name}: {len(root)} and {len(ours)} entries"
        return
    entry = next(
        k for k, pair in enumerate(zip(root, ours, strict=True)) if text_of(pair[0]) != text_of(pair[1])
    )
    yield f"{name}, entry {entry}: {text_of(root[entry])[:400]} and {text_of(ours[entry])[:400]}"


def sorted_deep_entries(entries: list[Any]) -> list[Any]:
    return [sorted_deep(entry) for entry in entries]


def _columns(root: list[dict[str, Any]], ours: list[dict[str, Any]], late: bool) -> bool:
    """ROOT invents pages of zeros for the entries before a late column; here such clusters have no pages."""
    if len(root) != len(ours):
        return False
    for theirs, own in zip(root, ours, strict=True):
        theirs, own = dict(theirs), dict(own)
        pages, own_pages = theirs.pop("pages", []), own.pop("pages", [])
        if theirs != own or len(pages) != len(own_pages):
            return False
        for cluster, own_cluster in zip(pages, own_pages, strict=True):
            if late and (
                own_cluster is None or (cluster and cluster[len(cluster) - len(own_cluster) :] == own_cluster)
            ):
                continue
            if cluster != own_cluster:
                return False
    return True


def _is_late(field: dict[str, Any]) -> bool:
    return any("first_element" in column for column in field.get("columns", [])) or any(
        map(_is_late, field.get("fields", []))
    )


def field_differences(root: Any, ours: Any, path: str = "", late: bool = False) -> Iterator[str]:
    """Compare lists of fields: names, types, versions, columns, pages."""
    if [field["name"] for field in root] != [field["name"] for field in ours]:
        yield f"{path}: fields {[field['name'] for field in root]} and {[field['name'] for field in ours]}"
        return
    for theirs, own in zip(root, ours, strict=True):
        here, extended = f"{path}{theirs['name']}", late or _is_late(theirs)
        for key in sorted((theirs.keys() | own.keys()) - {"fields", "columns"}):
            if theirs.get(key) != own.get(key):
                yield f"{here}: {key} {theirs.get(key)!r} and {own.get(key)!r}"
        if not _columns(theirs.get("columns", []), own.get("columns", []), extended):
            yield f"{here}: columns {theirs.get('columns')} and {own.get('columns')}"
        yield from field_differences(theirs.get("fields", []), own.get("fields", []), f"{here}.", extended)


def differences(root: dict[str, Any], ours: dict[str, Any]) -> list[str]:
    """Everything in which two dumps of one data set differ."""
    found = list(field_differences(root["fields"], ours["fields"]))
    keys = ("entries", "description", "clusters", "cluster_groups", "extra_type_info")
    found += [f"{key}: {root.get(key)} and {ours.get(key)}" for key in keys if root.get(key) != ours.get(key)]
    sets = [{k: v for k, v in one.items() if k != "entries"} for one in root.get("attribute_sets", [])]
    if sets != ours.get("attribute_sets", []):
        found.append(f"attribute sets: {sets} and {ours.get('attribute_sets')}")
    if root.get("unreadable", {}).keys() != ours["unreadable"].keys():
        found.append(f"unreadable: {root.get('unreadable')} and {ours['unreadable']}")
    return found + list(value_differences(root["values"], ours["values"], root.get("hash_order", ())))


def all_differences(root: dict[str, Any], ours: dict[str, Any]) -> list[str]:
    """The same for all data sets of a file."""
    found = [] if set(root) == set(ours) else [f"data sets: {sorted(root)} and {sorted(ours)}"]
    for name in sorted(set(root) & set(ours)):
        found += [f"{name}: {difference}" for difference in differences(root[name], ours[name])]
    return found
