"""Types of fields for the arrays that uproot makes of branches."""

from __future__ import annotations

import re
from typing import Any

from colonnade.arrays.lazy import awkward as ak
from colonnade.schema.spec import Spec

from .complaints import UnfitError
from .field_names import clean_name

__all__ = ["is_list", "is_pair_of", "item_of", "spec_of"]

_TYPES = {
    "bool": "bool",
    "float32": "float",
    "float64": "double",
    **{f"{sign}int{bits}": f"std::{sign}int{bits}_t" for sign in ("", "u") for bits in (8, 16, 32, 64)},
}


def is_pair_of(is_pair: bool, specs: dict[str, Spec]) -> bool:
    """True for members that become a pair."""
    return (
        is_pair and list(specs) == ["first", "second"] and all(isinstance(one, str) for one in specs.values())
    )


def is_list(spec: Spec) -> bool:
    """True for types of lists."""
    return isinstance(spec, list) or (isinstance(spec, str) and spec.startswith("std::vector<"))


def item_of(spec: Spec) -> Spec:
    """The item type of a list."""
    return spec[0] if isinstance(spec, list) else re.sub(r"^std::vector<|>$", "", spec)


def spec_of(form: Any) -> Spec:
    """The type of uproot's arrays of a branch."""
    kind = form.parameter("__array__")
    if isinstance(form, ak.forms.NumpyForm):
        return _numbers(form)
    if isinstance(form, ak.forms.RecordForm):
        return _record(form)
    if isinstance(form, ak.forms.ListOffsetForm | ak.forms.ListForm | ak.forms.RegularForm):
        if kind == "string":
            return "std::string"
        item = spec_of(form.content)
        if not isinstance(item, str):
            return [item]
        if kind == "set":
            return f"std::set<{item}>"
        if isinstance(form, ak.forms.RegularForm) and form.size > 0:
            return f"std::array<{item},{form.size}>"
        return f"std::vector<{item}>"
    raise UnfitError("its type is not known")


def _numbers(form: Any) -> str:
    name = _TYPES.get(form.primitive)
    if name is None:
        raise UnfitError(f"there is no field type for {form.primitive}")
    for size in reversed(form.inner_shape):
        name = f"std::array<{name},{size}>" if size else f"std::vector<{name}>"
    return name


def _record(form: Any) -> Spec:
    specs = [spec_of(part) for part in form.contents]
    if form.is_tuple:
        if all(isinstance(one, str) for one in specs):
            return f"std::{'pair' if len(specs) == 2 else 'tuple'}<{','.join(specs)}>"
        return {f"_{number}": one for number, one in enumerate(specs)}
    if not specs:
        raise UnfitError("it has no members")
    for name in form.fields:
        if name != clean_name(name):
            raise UnfitError(f"its member '{name}' has no valid field name")
    return dict(zip(form.fields, specs, strict=True))
