"""Names of fields for those of branches and columns."""

from __future__ import annotations

import re
from collections.abc import Iterable

__all__ = ["clean_name", "free_name", "member_name"]


def member_name(name: str, above: str) -> str:
    """The name of a branch of an object, without the object's name and sizes of arrays: `event.hits[3]` is `hits`."""
    above = above.rstrip(".")
    name = name[len(above) + 1 :] if above and name.startswith(f"{above}.") else name
    return clean_name(re.sub(r"(\[\w+\])+$", "", name.rstrip(".")))


def clean_name(name: str) -> str:
    """Return the name of a field for that of a branch or column, with underscores for what it may not have."""
    return re.sub(r"[\x00-\x20\x7f./\\]", "_", name.rstrip(".")) or "_"


def free_name(name: str, taken: Iterable[str]) -> str:
    """Return the name with as many underscores as it needs to be none of those that are taken."""
    used = set(taken)
    while name in used:
        name += "_"
    return name
