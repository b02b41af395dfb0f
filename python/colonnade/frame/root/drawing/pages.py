"""Pictures as files: one for each, or the pages of one PDF."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np

from colonnade.errors import UsageError
from colonnade.reading.aside import written_whole

from .painting import DOTS, saved

__all__ = ["save"]

_begun: dict[str, tuple[io.BytesIO, Any]] = {}
"""By their paths: documents that are not complete, with what writes their pages."""


def save(pad: Any, path: str, ending: str) -> None:
    """Write the picture of a pad to a file; a path that ends in a bracket begins or ends a document of pages."""
    mark = path[-1] if path[-1] in "()[]" else ""
    name = path.removesuffix(mark)
    if not mark and name not in _begun:
        _write(name, saved(pad, format=ending))
        return
    if ending != "pdf":
        raise UsageError(f"only a PDF has pages, not '{name}'", f"{Path(name).with_suffix('.pdf')}{mark}")
    if mark in ("(", "["):
        from matplotlib.backends.backend_pdf import PdfPages

        made = io.BytesIO()
        _begun[name] = (made, PdfPages(made))
    elif name not in _begun:
        raise UsageError(
            f"the document '{name}' was not begun", f"Print('{name}(') or Print('{name}[') first"
        )
    made, pages = _begun[name]
    if mark not in ("[", "]"):
        with np.errstate(all="ignore"):
            pages.savefig(pad.figure(), dpi=DOTS)
    if mark in (")", "]"):
        del _begun[name]
        pages.close()
        _write(name, made)


def _write(name: str, made: io.BytesIO) -> None:
    with written_whole(Path(name), "the picture cannot be written") as aside:
        aside.write_bytes(made.getvalue())
