"""What several commands need."""

from __future__ import annotations

import json
import math
from typing import Any

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

__all__ = ["bytes_text", "compression_name", "console", "print_json", "progress_bar"]

_ALGORITHMS = {0: "none", 1: "zlib", 2: "lzma", 3: "zlib", 4: "lz4", 5: "zstd"}


def console() -> Console:
    """Make the console for tables: as wide as the terminal, or as needed where there is none."""
    out = Console(highlight=False)
    return out if out.is_terminal else Console(highlight=False, width=200)


def bytes_text(count: float) -> str:
    """Return a size as people read it: "1.5 MiB"."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 1024:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.1f} TiB"


def compression_name(setting: int) -> str:
    """Return the name of ROOT's number for a compression: "zstd:5"."""
    algorithm, level = divmod(setting, 100)
    if level == 0:
        return "none"
    return f"{_ALGORITHMS.get(algorithm, str(algorithm))}:{level}"


def print_json(value: Any) -> None:
    """Print as JSON; numbers that JSON lacks become the texts "nan", "inf" and "-inf"."""
    click.echo(json.dumps(_plain(value), indent=2, ensure_ascii=False, allow_nan=False))


def _plain(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return value


def progress_bar(unit: str) -> Progress:
    """Make a progress bar on standard error that leaves nothing behind; shown on terminals only."""
    out = Console(stderr=True)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn(unit),
        TimeRemainingColumn(),
    )
    return Progress(*columns, console=out, transient=True, disable=not out.is_terminal)
