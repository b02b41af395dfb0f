"""Identities of callables: equal in all processes for the same code, wherever it stands.

A pickle of code has its file and lines, and what is random or in another order in every process: names of a script's
classes, type variables and functions compiled by Numba, and sets.
"""

from __future__ import annotations

import dis
import functools
import hashlib
import io
import types
import typing
from typing import Any

__all__ = ["identity_of"]


def identity_of(thing: object, within: frozenset[int] = frozenset()) -> str:
    """Return a hash of something that can be pickled with cloudpickle.

    Args:
        thing: the object.
        within: the `id` of each set that it is an element of.
    """
    digest = hashlib.sha256()
    _pickler()(types.SimpleNamespace(write=digest.update), within).dump(thing)
    return digest.hexdigest()


@functools.cache
def _pickler() -> Any:
    import cloudpickle

    class Pickler(cloudpickle.Pickler):  # type: ignore[misc]
        def __init__(self, file: object, within: frozenset[int]) -> None:
            super().__init__(file)
            self._within = within

        def persistent_id(self, inner: Any) -> object:
            return _members_of(inner, self._within) if type(inner) in (set, frozenset) else None

        def reducer_override(self, inner: Any) -> Any:
            if isinstance(inner, types.CodeType):
                # Without memory, which tells equal constants from one that is there twice: that is up to the compiler.
                # Constants of code have no circles.
                alone = type(self)(parts := io.BytesIO(), self._within)
                alone.fast = True
                alone.dump(_parts_of(inner))
                return _code, (parts.getvalue(),)
            if type(inner).__module__.startswith("numba.") and hasattr(inner, "_reduce_states"):
                return _code, (type(inner), {**inner._reduce_states(), "uuid": ""})
            if isinstance(inner, typing.TypeVar):
                return _code, (inner.__name__,)
            reduced = super().reducer_override(inner)
            if isinstance(inner, types.FunctionType) and reduced is not NotImplemented:
                make, (code, module, *others), *rest = reduced
                return make, (code, {**module, "__file__": ""}, *others), *rest
            if isinstance(inner, type) and reduced is not NotImplemented and len(reduced) > 2:
                make, arguments, (attributes, slots), *rest = reduced
                attributes.pop("__firstlineno__", None)  # of Python 3.13
                if str(attributes.get("__doc__")).startswith(f"{inner.__name__}("):  # of dataclasses
                    del attributes["__doc__"]
                attributes["_abc_impl"] = sorted(attributes.get("_abc_impl", []), key=_name_of)
                return make, arguments[:-2], (attributes, slots), *rest  # without the name, which is random
            return reduced

    return Pickler


def _name_of(kind: type) -> tuple[str, str]:
    return kind.__module__, kind.__qualname__


def _members_of(inner: Any, within: frozenset[int]) -> tuple[object, ...]:
    """What stands for a set: its members in an order that is the same in all processes."""
    if id(inner) in within:
        return type(inner), "itself"
    if all(type(each) in _PLAIN for each in inner):
        return type(inner), sorted(map(repr, inner))
    inside = within | {id(inner)}
    return type(inner), sorted(identity_of(each, inside) for each in inner), "identities"


_PLAIN = (bool, bytes, float, int, str)


def _code() -> None:
    """Stands for code in the hash; never called, since the pickle is not loaded."""


def _parts_of(code: types.CodeType) -> tuple[object, ...]:
    """What code does: all but its file and lines."""
    parts = {
        name: getattr(code, name)
        for name in sorted(dir(code))
        if name.startswith("co_") and name not in _PLACES and not callable(getattr(code, name))
    }
    if "__firstlineno__" in code.co_names:  # the body of a class, from Python 3.13 on: it stores its line
        del parts["co_consts"]
        steps = [(step.opname, step.argval) for step in dis.get_instructions(code)]
        stored = [name for _, name in steps].index("__firstlineno__")
        parts["co_code"] = steps[: stored - 1] + steps[stored:]
    return tuple(parts.values())


_PLACES = ("co_filename", "co_firstlineno", "co_linetable", "co_lnotab")
