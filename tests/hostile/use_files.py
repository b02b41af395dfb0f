"""Does with each file what an analysis might, in a process of limited memory: use_files.py DATA_SET FILE...

Prints what came out that is no colonnade.Error, one line each, and fields that were left out without a warning.
"""

from __future__ import annotations

import os
import resource
import sys
import tempfile
import warnings
from collections.abc import Callable
from typing import Any

import awkward as ak
import pandas as pd
import pyarrow as pa

import colonnade

LOADED_BEFORE_MEMORY_IS_LIMITED = (pa, pd)

LIMIT = 3 << 30
ENTRIES = 200


def attempt(what: str, work: Callable[[], Any]) -> Any:
    try:
        return work()
    except colonnade.Error:
        return None
    except BaseException as error:
        print(f"{what}: {type(error).__module__}.{type(error).__name__}: {str(error)[:300]!r}")
        return None


def use(path: str, name: str) -> None:
    data = attempt(f"{path} open", lambda: colonnade.open(path, name))
    if data is None:
        return
    attempt(f"{path} schema", lambda: (str(data.schema), repr(data), data._repr_html_()))
    names = attempt(f"{path} field_names", lambda: data.field_names) or []
    stop = min(ENTRIES, data.num_entries)
    for field in names[:20]:
        for library in ("ak", "np", "pa", "pd"):
            attempt(
                f"{path} {field!r} {library}",
                lambda field=field, library=library: data.arrays([field], entry_stop=stop, library=library),
            )
    attempt(f"{path} arrays", lambda: ak.to_list(data.arrays(names[:20], entry_stop=min(stop, 5))))
    attempt(f"{path} show", lambda: list(data.entry_texts(0, min(stop, 2))))
    attempt(f"{path} left out", lambda: check_left_out(path, data))
    for set_name in list(attempt(f"{path} attributes", lambda: data.attributes) or [])[:5]:
        attempt(f"{path} attribute set", lambda set_name=set_name: use_attribute_set(data, set_name))
    frame = attempt(f"{path} frame", lambda: colonnade.DataFrame(name, path, threads=1))
    if frame is None or data.num_entries > 100_000:
        return
    for column in attempt(f"{path} columns", lambda: list(frame.column_names))[:10]:
        attempt(f"{path} take {column!r}", lambda column=column: frame.take(column).value)
    few = frame.range(5)
    attempt(f"{path} display", lambda: str(few.display().value))
    attempt(f"{path} to_awkward", lambda: few.to_awkward())
    attempt(f"{path} to_arrow", lambda: few.to_arrow())
    with tempfile.TemporaryDirectory() as folder:
        attempt(f"{path} snapshot", lambda: few.snapshot(f"{folder}/snapshot.root"))


def use_attribute_set(data: colonnade.DataSet, name: str) -> None:
    rows = data.attributes[name]
    stop = min(rows.num_rows, ENTRIES)
    for work in (
        lambda: rows.of_entry(0),
        lambda: rows.arrays(row_stop=stop),
        lambda: list(rows.row_texts(0, stop)),
        lambda: rows.row(0) if rows.num_rows else None,
    ):
        attempt(f"{data.uri} attribute set {name!r}", work)


def check_left_out(path: str, data: colonnade.DataSet) -> None:
    """All fields that cannot be read are named in a warning, and refused by name."""
    unreadable = [name for name, info in data.schema.items() if info.unreadable]
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        names = data.arrays(entry_stop=0).fields
    warned = " ".join(str(each.message) for each in seen)
    if set(names) & set(unreadable) or set(names) | set(unreadable) != set(data.schema):
        print(f"{path}: {names} of {list(data.schema)}")
    for name in unreadable[:5]:
        if f"'{name}'" not in warned and " more" not in warned:
            print(f"{path}: {name!r} left out without a warning: {warned!r}")
        try:
            data.arrays([name], entry_stop=0)
            print(f"{path}: {name!r} is read")
        except colonnade.Error:
            pass


def main() -> None:
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:4])  # stacks of threads count, too
    resource.setrlimit(resource.RLIMIT_AS, (LIMIT, LIMIT))
    warnings.simplefilter("ignore", colonnade.LeftOutWarning)
    for path in sys.argv[2:]:
        use(path, sys.argv[1])


if __name__ == "__main__":
    main()
