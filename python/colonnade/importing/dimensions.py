"""Arrays in objects and lists, of which uproot (up to 5.7) loses dimensions or headers."""

from __future__ import annotations

import copy
import importlib
import math
import re
from typing import Any

import numpy as np

from .branches import is_array_of_containers, is_array_of_objects
from .complaints import UnfitError

__all__ = ["shape_of_items", "with_dimensions"]


def with_dimensions(interpretation: Any, branch: Any) -> Any:
    """Return an interpretation in which arrays in lists, such as `hits.position[2][3]`, have all their dimensions.

    uproot (up to 5.7) makes one dimension of them, and none of arrays of one value.
    """
    if is_array_of_containers(branch):
        return _with_one_header(interpretation, branch)
    if _is_array_of_char(branch) and hasattr(interpretation, "length_bytes"):
        of_uproot: Any = importlib.import_module("uproot.interpretation")
        return of_uproot.jagged.AsJagged(of_uproot.numerical.AsDtype("i1"), header_bytes=1)
    shape = _shape_in_name(branch)
    size = math.prod(shape)
    if not shape or (size > 1 and len(shape) == 1):
        return interpretation
    if size == 1 and getattr(branch.streamer, "array_length", 0) != 1:  # the brackets are part of a name
        return interpretation
    of_objects: Any = getattr(interpretation, "model", None)
    if size == 1 and getattr(of_objects, "inner_shape", None) == () and hasattr(of_objects, "header"):
        array = type(of_objects)(of_objects.header, of_objects.speedbump, of_objects.values, (1,))
        return type(interpretation)(array, branch)
    content: Any = getattr(interpretation, "content", None)
    if size == 1 and getattr(content, "to_dims", None) == ():
        same = copy.copy(interpretation)
        same._content = type(content)(content.low, content.high, content.num_bits, shape)
        return same
    if hasattr(content, "model") and size == 1:
        return _array_of_one_object(interpretation, branch)
    if getattr(content, "inner_shape", None) not in (((), (1,)) if size == 1 else ((size,),)):
        return interpretation
    same = copy.copy(interpretation)
    kinds = (content.from_dtype.base, content.to_dtype.base)
    same._content = type(content)(*(np.dtype((kind, shape)) for kind in kinds))
    return same


def shape_of_items(interpretation: Any, branch: Any) -> tuple[int, ...]:
    """The shape of arrays of objects in lists, such as `std::string names[2][3]`, which are deserialized as one row."""
    shape, model = _shape_in_name(branch), getattr(interpretation, "model", None)
    is_row = hasattr(model, "speedbump") and getattr(model, "inner_shape", None) == (math.prod(shape),)
    return shape if len(shape) > 1 and is_row else ()


def _is_array_of_char(branch: Any) -> bool:
    """True for a member `char* x; //[n]`, which uproot (up to 5.7) takes for a text with its length before it."""
    streamer = branch.streamer
    return (
        streamer is not None
        and streamer.classname == "TStreamerBasicPointer"
        and streamer.typename == "char*"
    )


def _with_one_header(interpretation: Any, branch: Any) -> Any:
    """ROOT writes one header for all items of an array, and none for an std::array of vectors.

    uproot (up to 5.7) expects one for each item, and none for `TString t[2]`. Of several dimensions it takes the first
    alone, and its faster way of reading fails for nested items.
    """
    array = interpretation.model
    items = copy.copy(array.values)
    items.header = False
    header = branch.streamer.classname != "TStreamerObjectAny"
    found = type(interpretation)(
        type(array)(header, array.speedbump, items, (math.prod(array.inner_shape),)), branch
    )
    inner = getattr(items, "values", getattr(items, "keys", None))
    found._forth = inner is None or isinstance(inner, np.dtype)
    return found


def _shape_in_name(branch: Any) -> tuple[int, ...]:
    return tuple(int(size) for size in re.findall(r"\[(\d+)\]", str(branch.name)))


def _array_of_one_object(interpretation: Any, branch: Any) -> Any:
    if not is_array_of_objects(branch):
        raise UnfitError("uproot cannot read arrays of one object in lists")
    return interpretation
