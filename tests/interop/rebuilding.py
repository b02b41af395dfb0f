"""From a dump (tests/fixtures/README.md) to fields and values: to write again what ROOT wrote."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from root_bridge import Variant
from root_write import Field

_NULLABLES = ("std::optional<", "std::unique_ptr<")


def _is_map(type_name: str) -> bool:
    return type_name.split("<", 1)[0].endswith("map")


def value_of(field: Mapping[str, Any], value: Any) -> Any:
    """A value of the JSON mapping as root_bridge.tokens takes it."""
    type_name, parts = field["type"], field.get("fields", [])
    if type_name == "std::string":
        return bytes.fromhex(value["hex"]) if isinstance(value, dict) else value
    if type_name in ("float", "double"):
        return float(value)
    if type_name.startswith(_NULLABLES):
        if value is None:
            return None
        return value_of(parts[0], value[0] if parts[0]["type"].startswith(_NULLABLES) else value)
    if field["structure"] == "variant":
        return Variant(
            value["tag"], value_of(parts[value["tag"] - 1], value["value"]) if value["tag"] else None
        )
    if field["structure"] == "record":
        return [value_of(part, value[part["name"]]) for part in parts]
    if _is_map(type_name):
        pair = parts[0]["fields"]
        return [[value_of(pair[0], key), value_of(pair[1], mapped)] for key, mapped in value]
    if field["structure"] == "collection" or ("repetitions" in field and parts):
        return [value_of(parts[0], item) for item in value]
    return value_of(parts[0], value) if parts else value


def _walk(field: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, Mapping[str, Any]]]:
    yield path, field
    for part in field.get("fields", []):
        yield from _walk(part, f"{path}.{part['name']}".lstrip("."))


def field_of(field: Mapping[str, Any], values: list[Any] | None = None, encodings: bool = False) -> Field:
    """A field of a dump; with `encodings`, its columns are given one by one, else left to the defaults."""
    made = Field(field["name"], field.get("alias", field["type"]), description=field.get("description", ""))
    if not field["type"] and field["structure"] == "record":
        made.members = [field_of(part) for part in field.get("fields", [])]
    elif not field["type"]:
        made.item = field_of(field["fields"][0])
    if values is not None:
        made.values = [value_of(field, value) for value in values]
    if encodings:
        for path, part in _walk(field):
            columns = part.get("columns", [])
            if columns and columns[0]["type"] in ("Real32Trunc", "Real32Quant"):
                (column,) = columns
                made.real[path] = (
                    column["type"],
                    column["bits"],
                    column.get("min", 0.0),
                    column.get("max", 0.0),
                )
            elif columns:
                made.columns[path] = [[column["type"] for column in columns]]
    return made


def sources_of(field: Mapping[str, Any]) -> dict[str, str]:
    """What a projected field and its sub-fields show, as Model::add_projected_field takes it."""
    return {
        f"{field['name']}.{path}".rstrip("."): part["projection_of"]
        for path, part in _walk(field)
        if "projection_of" in part
    }


def writable(field: Mapping[str, Any]) -> bool:
    """Streamer fields and TObject are ROOT's own."""
    return field["structure"] != "streamer" and field["type"] != "TObject"
