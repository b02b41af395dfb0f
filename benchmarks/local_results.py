"""What one row of the report on local storage holds."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Row:
    """One measured quantity, round by round, and the target for its median."""

    group: str  # as in --only
    work: str
    measure: str  # how the number comes about, "ROOT's time / ours"
    values: list[float]
    target: float | None = None
    at_most: bool = False  # the target is a ceiling, not a floor
    ours: str = ""  # what was measured on both sides, to print
    reference: str = ""

    @property
    def median(self) -> float:
        return statistics.median(self.values)

    @property
    def met(self) -> bool | None:
        """None without a target."""
        if self.target is None:
            return None
        return self.median <= self.target if self.at_most else self.median >= self.target

    def to_json(self) -> dict[str, Any]:
        content = {key: value for key, value in vars(self).items() if value not in ("", None)}
        return content | {
            "median": self.median,
            "min": min(self.values),
            "max": max(self.values),
            "met": self.met,
        }


@dataclass
class Table:
    """A table beside the targets: one dictionary per line, lists of values where there are rounds."""

    title: str
    note: str
    lines: list[dict[str, Any]] = field(default_factory=list)

    def column(self, name: str, **where: Any) -> list[Any]:
        return [line[name] for line in self.lines if all(line[key] == value for key, value in where.items())]


@dataclass
class Results:
    """Everything of one run."""

    about: dict[str, Any]
    events: int
    repeats: int
    rows: list[Row] = field(default_factory=list)
    tables: dict[str, Table] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        return {
            "about": self.about,
            "events": self.events,
            "repeats": self.repeats,
            "rows": [row.to_json() for row in self.rows],
            "tables": {name: vars(table) for name, table in self.tables.items()},
            "problems": self.problems,
        }


def bandwidths(runs: Sequence[dict[str, Any]], measure: str = "bytes") -> list[float]:
    """Bytes per second of each run."""
    return [run[measure] / run["seconds"] for run in runs]
