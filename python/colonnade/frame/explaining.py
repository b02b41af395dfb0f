"""The costs of a pass: rows, bytes and time of each column, node and result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TextIO

from colonnade.notebook import folded_table

from .progress import bytes_text

if TYPE_CHECKING:
    from .session import Session

__all__ = ["Explanation", "StepCost", "explain"]

_KINDS: tuple[Literal["column", "node", "result", "other"], ...] = ("column", "node", "result", "other")
_HEAD = ["", "", "rows", "left", "values", "seconds", "share"]


@dataclass(frozen=True)
class StepCost:
    """The cost of one step of a pass."""

    kind: Literal["column", "node", "result", "other"]
    """A column of the source that was read; a definition, filter, range or variation; a result; or none of these."""
    what: str
    """ "read", "define", "filter", "histogram", ..."""
    name: str
    """The name of the column or the filter."""
    text: str
    """The expression, or the arguments of the result."""
    rows: int
    """The variation for which it was computed."""
    rows_left: int | None
    """The rows that passed a filter or a range. None also if the filter is combined with the next one."""
    bytes: int
    """The size of its values in memory."""
    seconds: float
    """The time, summed over threads or workers."""


class Explanation(Sequence[StepCost]):
    """The costs of the last pass: columns that were read, then nodes as they were booked, then results."""

    def __init__(self, costs: Sequence[StepCost], head: str) -> None:
        self._costs, self._head = list(costs), head

    def __getitem__(self, index: Any) -> Any:
        return self._costs[index]

    def __len__(self) -> int:
        return len(self._costs)

    @property
    def seconds(self) -> float:
        """The time of all steps, summed over threads."""
        return sum(cost.seconds for cost in self._costs)

    def _rows(self) -> list[list[str]]:
        total = self.seconds or 1.0
        return [
            [
                cost.what,
                f"{cost.name}: {cost.text}" if cost.name and cost.text else cost.name or cost.text,
                "" if cost.kind == "other" else str(cost.rows),
                "" if cost.rows_left is None else str(cost.rows_left),
                bytes_text(cost.bytes) if cost.bytes else "",
                f"{cost.seconds:.4f}",
                f"{100 * cost.seconds / total:.1f} %",
            ]
            for cost in self._costs
        ]

    def __str__(self) -> str:
        if not self._costs:
            return self._head
        rows = [[row[0], _short(row[1]), *row[2:]] for row in [_HEAD, *self._rows()]]
        widths = [max(len(row[k]) for row in rows) for k in range(len(_HEAD))]
        lines = [
            "  ".join(
                text.ljust(width) if k < 2 else text.rjust(width)
                for k, (text, width) in enumerate(zip(row, widths, strict=True))
            ).rstrip()
            for row in rows
        ]
        return "\n".join([self._head, *lines])

    __repr__ = __str__

    def print(self, file: TextIO | None = None) -> None:
        """Print the costs, one step per line."""
        print(self, file=file)

    def _repr_html_(self) -> str:
        table = folded_table(_HEAD, self._rows(), "parts") if self._costs else ""
        return f"<p>{self._head}</p>{table}"


def explain(session: Session) -> Explanation:
    """Return the costs of the last pass over a DataFrame."""
    remote, report = session.last_remote, session.last_run
    if remote is not None:
        head = (
            f"{remote.entries} entries in {remote.seconds:.3f} s, {_number(remote.tasks, 'task')} on "
            f"{_number(remote.workers, 'worker')}, {bytes_text(remote.bytes)} read"
        )
        measured = remote.costs
    elif report is not None:
        progress = report.progress
        head = (
            f"{progress.entries} entries in {progress.seconds:.3f} s on {_number(report.workers, 'thread')}, "
            f"{bytes_text(progress.bytes)} read"
        )
        measured = session.graph.last_costs
    else:
        return Explanation([], "no pass was made yet: look at the value of a result first")
    return Explanation([StepCost(_KINDS[each[0]], *each[1:]) for each in measured], head)


def _number(count: int, of: str) -> str:
    return f"{count} {of}{'' if count == 1 else 's'}"


def _short(text: str, most: int = 60) -> str:
    text = " ".join(text.split())
    return text if len(text) <= most else text[: most - 3] + "..."
