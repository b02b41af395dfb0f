"""What all nodes of one DataFrame share: its graph, and how passes are made over it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import ExitStack

from colonnade import _core
from colonnade.errors import UsageError

from .progress import PassBar

__all__ = ["BLOCK_ENTRIES", "Session", "run_sessions"]

BLOCK_ENTRIES = 100_000
"""Entries that Python callables see at once where no other number is given."""


class Session:
    """The graph of a DataFrame with the options of its passes."""

    def __init__(
        self,
        source: _core.FrameSource,
        place: str,
        threads: int = 0,
        progress: bool | None = None,
        block_entries: int = BLOCK_ENTRIES,
    ) -> None:
        if isinstance(threads, bool) or not isinstance(threads, int) or threads < 0:
            raise UsageError(
                f"threads={threads!r} is no number of threads", "0 for one per processor, or 1, 2, ..."
            )
        if isinstance(block_entries, bool) or not 0 < int(block_entries) < 1 << 32:
            raise UsageError(f"block_entries={block_entries!r} is no number of entries", "1, 2, ... 100000")
        self.source, self.graph, self.place = source, _core.FrameGraph(source), place
        self.threads, self.progress, self.block_entries = threads, progress, int(block_entries)
        self.graph.set_block_entries(self.block_entries)
        self.last_run: _core.RunReport | None = None
        self.left_out: list[tuple[str, str]] = source.left_out
        """Fields of the source that no column shows, and why."""

    def drop(self, result: int) -> None:
        """Give a result up that nobody looks at any more: at once, or after the pass that runs.

        May be called at any time, by any thread.
        """
        self.graph.drop(result)


def run_sessions(sessions: Iterable[Session]) -> int:
    """Compute what is booked in several graphs in one pass.

    Returns:
        The number of graphs that had something to compute.
    """
    unique: Sequence[Session] = list({id(each): each for each in sessions}.values())
    if not unique:
        return 0
    before = [each.graph.passes for each in unique]
    wanted = {each.progress for each in unique}
    with ExitStack() as stack:
        bar = stack.enter_context(PassBar(True if True in wanted else None if None in wanted else False))
        threads = max(each.threads for each in unique)
        report = _core.run_graphs([each.graph for each in unique], threads, bar.update)
    ran = [each for each, passes in zip(unique, before, strict=True) if each.graph.passes > passes]
    for each in ran:
        each.last_run = report
    return len(ran)
