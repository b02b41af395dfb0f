"""Runs the C++ programs of this folder: what Colonnade reads from a file, and files that it writes.

`write` takes the same fields as root_write.write, so that one description can be written by both.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from root_bridge import tokens
from root_dump import expanded
from root_write import Field

REPOSITORY = Path(__file__).resolve().parents[2]
FIXTURES = REPOSITORY / "tests" / "fixtures"


def program(name: str) -> Path:
    """A program of the build that COLONNADE_BUILD_DIR names."""
    build = Path(os.environ.get("COLONNADE_BUILD_DIR", REPOSITORY / "build" / "default"))
    path = build / "tests" / "interop" / name
    if not path.exists():
        raise FileNotFoundError(f"{path} is missing: run `make build`, or set COLONNADE_BUILD_DIR")
    return path


def _run(name: str, *arguments: str | Path, script: bytes = b"") -> bytes:
    done = subprocess.run([program(name), *arguments], input=script, capture_output=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(
            done.stderr.decode(errors="replace").strip() or f"{name}: status {done.returncode}"
        )
    return done.stdout


# ---- Reading


def dump(path: Path, *names: str, mode: str = "entries") -> dict[str, Any]:
    """All data sets of a file as Colonnade reads them, see colonnade_dump.cpp for the modes."""
    return json.loads(_run("colonnade_dump", mode, path, *names))


def convert(path: Path, name: str, wanted: Sequence[tuple[str, str]]) -> list[Any]:
    """Values of fields under other types: (field, type) -> values, or {"refused": why}."""
    lines = "".join(f"{field}\t{type_name}\n" for field, type_name in wanted)
    answers = _run("colonnade_dump", "convert", path, name, script=lines.encode()).decode().splitlines()
    return [json.loads(answer) for answer in answers]


def expected(name: str) -> dict[str, Any]:
    """What ROOT reads from a fixture."""
    content = json.loads((FIXTURES / "expected" / f"{name}.json").read_text("utf-8"))
    return {key: {**value, "values": expanded(value["values"])} for key, value in content.items()}


# ---- Writing


def field_of(field: Field) -> list[Any]:
    """A field as colonnade_write takes it."""
    columns = [
        [path, [[column, 0, 0.0, 0.0] for column in representations[0]]]
        for path, representations in field.columns.items()
    ]
    columns += [[path, [[kind, *_range(rest)]]] for path, (kind, *rest) in field.real.items()]
    members = None if field.members is None else [field_of(member) for member in field.members]
    item = None if field.item is None else field_of(field.item)
    return [field.name, field.type, field.description, members, item, columns]


def _range(rest: Sequence[Any]) -> list[Any]:
    bits, low, high = [*rest, 0, 0.0, 0.0][:1] + ([*rest[1:], 0.0, 0.0][:2])
    return [bits, float(low), float(high)]


def projection_of(field: Field, sources: Mapping[str, str]) -> list[Any]:
    """A projected field as colonnade_write takes it."""
    return [field_of(field), [[path, source] for path, source in sources.items()]]


class Script:
    """Steps for colonnade_write, see there."""

    def __init__(self) -> None:
        self.steps: list[list[Any]] = []

    def open(
        self,
        path: Path,
        name: str,
        fields: Iterable[Field],
        *,
        add: bool = False,
        projections: Iterable[tuple[Field, Mapping[str, str]]] = (),
        **options: Any,
    ) -> None:
        """Open a writer; options are those of colonnade::WriteOptions, and `bare`."""
        self.steps.append(
            [
                "add_to" if add else "recreate",
                str(path),
                name,
                [[key, str(value) if key == "compression" else value] for key, value in options.items()],
                [field_of(field) for field in fields],
                [projection_of(*projection) for projection in projections],
            ]
        )

    def fill(
        self, fields: Sequence[Field], first: int = 0, last: int | None = None, clusters: Iterable[int] = ()
    ) -> None:
        """Fill entries [first, last) and end a cluster after the numbers of entries given."""
        ends = set(clusters)
        for entry in range(first, len(fields[0].values) if last is None else last):
            self.steps.append(["fill", [field.values[entry] for field in fields]])
            if entry + 1 in ends:
                self.steps.append(["cluster"])

    def step(self, *step: Any) -> None:
        """Any other step."""
        self.steps.append(list(step))

    def run(self) -> None:
        """Do all steps in one process."""
        _run("colonnade_write", script=tokens(self.steps))


def write(
    path: Path, name: str, fields: Sequence[Field], *, clusters: Iterable[int] = (), **options: Any
) -> None:
    """One data set in a new file."""
    script = Script()
    script.open(path, name, fields, **options)
    if fields:
        script.fill(fields, clusters=clusters)
    script.step("close")
    script.run()
