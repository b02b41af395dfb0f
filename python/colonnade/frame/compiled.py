"""Callables per entry, compiled by Numba into a loop over a block that runs without the interpreter's lock.

Arguments and results are the same as those of the callable that Python calls: integers are `int64`, as Numba makes a
double, or an `int64` that wraps around, of a `uint64` and a number; and indices are checked, as Numba reads any memory
otherwise. Only what Numba itself computes differs: its integers wrap around, and int(nan) is a number.
"""

from __future__ import annotations

import dis
import math
import types as python_types
import warnings
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from colonnade import _core

from .values import element_of, numbers_as, trial

__all__ = ["Loop", "Loops", "compile_rows"]

Loops: TypeAlias = "dict[tuple[str, tuple[_core.ValueType, ...]], Loop | None]"
"""Compiled callables by their pickles and the types of their arguments."""
_LARGEST = np.iinfo(np.int64).max
# What only compiled code calls needs no entry points for Python and C, which take longer to compile than most
# callables.
_INTERNAL: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}


class _Argument(NamedTuple):
    """How a column is passed: numbers as Python's types, lists as slices of their items."""

    is_list: bool
    cast: str

    def parameters(self, number: int) -> str:
        return f"a{number}, o{number}" if self.is_list else f"a{number}"

    def item(self, number: int) -> str:
        if self.is_list:
            return f"a{number}[o{number}[row]:o{number}[row + 1]]"
        return f"{self.cast}(a{number}[row])"


_KNOWN: OrderedDict[object, Loop] = OrderedDict()
"""What was compiled last, by what determines it: Numba keeps its code for good, so a service that makes the same
callable for each request would grow with every one of them."""
_MOST_KNOWN = 128
_MODULES = (math, np)
_PLAIN = (bool, int, float, complex, str, bytes, type(None))


def compile_rows(
    function: Callable[..., Any], types: list[_core.ValueType], wanted: _core.ValueType | None
) -> Loop | None:
    """Compile a callable for columns of these types.

    Returns:
        The function for a block; None if Numba is not installed, or cannot compile the callable, which takes scalars
        and lists of numbers, and returns a number or a one-dimensional array.
    """
    try:
        import numba
    except ImportError:
        return None
    arguments = [_argument(kind) for kind in types]
    if any(each is None for each in arguments):
        return None
    plain = [each for each in arguments if each is not None]
    alone = _alone(function)
    key = alone and (alone.meaning, tuple(types), wanted)
    if alone is not None:
        known = _KNOWN.pop(key, None)
        if known is not None:
            _KNOWN[key] = known
            return known
        function = alone.function
    is_dispatcher = hasattr(function, "py_func")
    if not is_dispatcher and not hasattr(function, "__code__"):
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            inner = function
            if not is_dispatcher:
                inner = numba.njit(nogil=True, boundscheck=True, **_INTERNAL)(function)
            result = _result_of(numba, inner, plain, types)
            if result is None:
                return None
            loop = Loop(numba, inner, plain, types, *result, wanted)
    except Exception:  # Numba raises many exceptions: the callable runs uncompiled
        return None
    if alone is not None:
        _KNOWN[key] = loop
        if len(_KNOWN) > _MOST_KNOWN:
            _KNOWN.popitem(last=False)
    return loop


class _Alone(NamedTuple):
    """A function that depends on numbers, texts, `math` and NumPy alone."""

    meaning: object
    """Equal for equal code over equal values."""
    function: python_types.FunctionType
    """A copy without the other variables around it, which would stay in memory with what is compiled."""


def _alone(function: object) -> _Alone | None:
    """Copy a function; None if it depends on anything else, which may change."""
    if type(function) is not python_types.FunctionType or function.__kwdefaults__:
        return None
    code = function.__code__
    try:
        closed = [cell.cell_contents for cell in function.__closure__ or ()]
    except ValueError:  # a variable without a value
        return None
    around = {
        name: function.__globals__[name]
        for name in sorted(_globals_of(code))
        if name in function.__globals__  # others are built in
    }
    defaults = function.__defaults__
    values = [_value_of(each) for each in (*closed, *(defaults or ()), *around.values())]
    if None in values:
        return None
    cells = tuple(map(python_types.CellType, closed))
    copy = python_types.FunctionType(code, around, function.__name__, defaults, cells)
    copy.__module__ = __name__
    return _Alone((_code_of(code), tuple(around), len(defaults or ()), tuple(values)), copy)


def _value_of(value: object) -> object:
    """Tells values apart as Numba does, for which 1, 1.0 and True, or 0.0 and -0.0, are different."""
    if any(value is module for module in _MODULES):
        return "module", id(value)
    if type(value) not in _PLAIN:
        return None
    return type(value), hex(value) if isinstance(value, int) else repr(value)


def _code_of(code: python_types.CodeType) -> object:
    """What code does, without its file and lines."""
    constants = tuple(
        _code_of(each) if isinstance(each, python_types.CodeType) else repr(each) for each in code.co_consts
    )
    return (
        constants,
        code.co_code,
        code.co_exceptiontable,
        code.co_names,
        code.co_varnames,
        code.co_freevars,
        code.co_cellvars,
        code.co_argcount,
        code.co_posonlyargcount,
        code.co_kwonlyargcount,
        code.co_flags,
    )


def _globals_of(code: python_types.CodeType) -> set[str]:
    found = {
        step.argval for step in dis.get_instructions(code) if step.opname in ("LOAD_GLOBAL", "LOAD_NAME")
    }
    for each in code.co_consts:
        if isinstance(each, python_types.CodeType):
            found |= _globals_of(each)
    return found


def _argument(kind: _core.ValueType) -> _Argument | None:
    if kind.kind == "list" and kind.item.kind == "scalar":
        return None if kind.item.element.name == "uint64" else _Argument(True, "")
    if kind.kind != "scalar":
        return None
    name = kind.element.name
    return _Argument(False, "np.float64" if "float" in name else "bool" if name == "boolean" else "np.int64")


def _flat(values: _core.Values) -> list[NDArray[Any]]:
    if values.type.kind == "list":
        return [values.children[0].data(), values.offsets()]
    return [values.data()]


def _trial_arrays(types: list[_core.ValueType]) -> list[NDArray[Any]]:
    arrays: list[NDArray[Any]] = []
    for kind in types:
        layout = trial(kind, 2)
        parts = [layout.content.data, layout.offsets.data] if kind.kind == "list" else [layout.data]
        for part in parts:
            array = np.asarray(part)
            array.flags.writeable = False  # as those of blocks, which are a type of their own for Numba
            arrays.append(array)
    return arrays


def _compiled(numba: Any, inner: Any, source: str, **options: Any) -> Any:
    scope: dict[str, Any] = {"inner": inner, "np": np}
    exec(source, scope)
    return numba.njit(nogil=True, **options)(scope["loop"])


def _signature(arguments: list[_Argument]) -> tuple[str, str]:
    parameters = ", ".join(each.parameters(number) for number, each in enumerate(arguments))
    call = ", ".join(each.item(number) for number, each in enumerate(arguments))
    return parameters, f"inner({call})"


def _result_of(
    numba: Any, inner: Any, arguments: list[_Argument], types: list[_core.ValueType]
) -> tuple[np.dtype[Any], bool] | None:
    """The NumPy type of the callable's results, and whether these are lists."""
    parameters, call = _signature(arguments)
    probe = _compiled(numba, inner, f"def loop(row, {parameters}):\n    return {call}\n", **_INTERNAL)
    probe.compile(tuple(numba.typeof(each) for each in (0, *_trial_arrays(types))))
    kind = probe.nopython_signatures[0].return_type
    is_list = isinstance(kind, numba.types.Array) and kind.ndim == 1
    scalar = kind.dtype if is_list else kind
    if not isinstance(scalar, numba.types.Number | numba.types.Boolean) or isinstance(
        scalar, numba.types.Complex
    ):
        return None
    return numba.np.numpy_support.as_dtype(scalar), is_list


_SCALARS = """
def loop(size, out, {parameters}):
    for row in range(size):
        out[row] = {call}
"""

_LISTS = """
def loop(size, offsets, out, {parameters}):
    filled = 0
    for row in range(size):
        items = {call}
        needed = filled + len(items)
        if needed > len(out):
            larger = np.empty(max(needed, 2 * len(out)), out.dtype)
            for number in range(filled):  # an assignment of slices takes longer to compile
                larger[number] = out[number]
            out = larger
        for number in range(len(items)):
            out[filled + number] = items[number]
        filled = needed
        offsets[row + 1] = filled
    return out
"""


class Loop:
    """The compiled callable over the rows of a block."""

    result: _core.ValueType
    """The type of its results: the one that was wanted, if any."""

    def __init__(
        self,
        numba: Any,
        inner: Any,
        arguments: list[_Argument],
        types: list[_core.ValueType],
        dtype: np.dtype[Any],
        is_list: bool,
        wanted: _core.ValueType | None,
    ) -> None:
        scalar = _core.ValueType.scalar(element_of(dtype))
        self.result = wanted or (_core.ValueType.list_of(scalar) if is_list else scalar)
        if self.result.kind != ("list" if is_list else "scalar"):
            raise TypeError(f"it does not give {self.result.name}")
        self._number = self.result.item if is_list else self.result
        self._dtype = dtype
        numbers_as(np.empty(0, dtype=dtype), self._number)
        self._is_list = is_list
        parameters, call = _signature(arguments)
        source = (_LISTS if is_list else _SCALARS).format(parameters=parameters, call=call)
        self._loop = _compiled(numba, inner, source)
        # Compiled now, not in the first block.
        self._run(0, _trial_arrays(types))

    def takes(self, values: list[_core.Values]) -> bool:
        """Whether it can compute a block, whose integers must be `int64`."""
        columns = [each.data() for each in values if each.type.kind == "scalar"]
        return all(column.dtype != np.uint64 or column.max(initial=0) <= _LARGEST for column in columns)

    def __call__(self, values: list[_core.Values], size: int) -> _core.Values:
        """Compute a block."""
        return self._run(size, [array for each in values for array in _flat(each)])

    def _run(self, size: int, arrays: list[NDArray[Any]]) -> _core.Values:
        if not self._is_list:
            out = np.empty(size, dtype=self._dtype)
            self._loop(size, out, *arrays)
            return _core.scalar_values(self._number.element, numbers_as(out, self._number))
        offsets = np.zeros(size + 1, dtype=np.int64)
        out = self._loop(size, offsets, np.empty(max(4 * size, 16), dtype=self._dtype), *arrays)
        filled = numbers_as(out[: int(offsets[-1])], self._number)
        items = _core.scalar_values(self._number.element, filled)
        return _core.list_values(offsets, items)
