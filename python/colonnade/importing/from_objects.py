"""Arrays of the objects that uproot makes one by one.

uproot (up to 5.7) lets Awkward find out what they are, which knows no numbers above 2^63, and fails if all maps are
empty.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from colonnade.arrays.lazy import Content
from colonnade.arrays.lazy import awkward as ak

__all__ = ["content_of"]


def content_of(form: Any, objects: Sequence[Any]) -> Content:
    """Return an array of some form, with one item for each object."""
    kind = form.parameter("__array__")
    if isinstance(form, ak.forms.NumpyForm):
        numbers = np.array(objects, ak.types.numpytype.primitive_to_dtype(form.primitive))
        return ak.contents.NumpyArray(numbers.reshape(-1, *form.inner_shape), parameters=form.parameters)
    if isinstance(form, ak.forms.RecordForm):
        return _records(form, objects)
    if isinstance(form, ak.forms.RegularForm):
        items = content_of(form.content, [item for each in objects for item in each])
        return ak.contents.RegularArray(items, form.size, len(objects), parameters=form.parameters)
    if kind == "string":
        objects = [each.encode("utf-8", "surrogateescape") for each in objects]
    is_map = form.content.parameter("__array__") == "sorted_map"
    lists = [list(each.items()) for each in objects] if is_map else objects
    offsets = np.cumsum([0, *map(len, lists)])
    if kind == "string":
        data = np.frombuffer(b"".join(objects), np.uint8)
        items = ak.contents.NumpyArray(data, parameters=form.content.parameters)
    elif is_map:
        pairs = [pair for each in lists for pair in each]
        sides = [
            content_of(side, [pair[n] for pair in pairs]) for n, side in enumerate(form.content.contents)
        ]
        items = ak.contents.RecordArray(sides, None, len(pairs), parameters=form.content.parameters)
    else:
        items = content_of(form.content, [item for each in lists for item in each])
    return ak.contents.ListOffsetArray(ak.index.Index64(offsets), items, parameters=form.parameters)


def _records(form: Any, objects: Sequence[Any]) -> Content:
    names = [name for name in form.fields if not name.startswith("@")]
    parts = [content_of(form.content(name), [_member(each, name) for each in objects]) for name in names]
    return ak.contents.RecordArray(parts, names, len(objects), parameters=form.parameters)


def _member(thing: Any, name: str) -> Any:
    has_member = hasattr(thing, "has_member") and thing.has_member(name)
    return thing.member(name) if has_member else getattr(thing, name)
