"""What the tests ask of ROOT, see ../root_worker.py. Every function takes and returns plain data."""

from __future__ import annotations

from typing import Any

import root_bridge
import root_dump
import root_write_random


def dump(path: str, names: list[str]) -> dict[str, Any]:
    """All data sets of a file, as root_dump.py prints them, without the run-length form."""
    return {
        name: {**content, "values": root_dump.expanded(content["values"])}
        for name, content in root_dump.dump_file(path, names or None).items()
    }


def write_random(seed: int, path: str) -> dict[str, Any]:
    """Write the file of a seed; what ROOT reads from it."""
    return {
        name: {**content, "values": root_dump.expanded(content["values"])}
        for name, content in root_write_random.write_random(seed, path).items()
    }
