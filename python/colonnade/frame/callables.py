"""Python callables as definitions and conditions: per block of entries on arrays, or per entry on plain values.

The result type of a callable is known before anything is read: from `returns`, its annotation, or a trial on two
made-up entries (ones, "a", lists of one item, or of eight if one is not enough). A callable per entry is compiled by
Numba where that is installed and supports it; it then runs without the interpreter's lock. Otherwise it is called for
each entry.
"""

from __future__ import annotations

import base64
import hashlib
import itertools
import pickle
import sys
import typing
import warnings
import weakref
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias, TypeVar

import numpy as np

from colonnade import _core
from colonnade.arrays.lazy import Content
from colonnade.arrays.lazy import awkward as ak
from colonnade.errors import (
    Error,
    FormatError,
    TypeMismatchError,
    UnsupportedError,
    UsageError,
)
from colonnade.misuse import shown

from .answers import PLAIN, layout_of_block, layout_of_rows, own_value
from .compiled import Loop, Loops, compile_rows
from .identities import identity_of
from .items import ItemFunction
from .libraries import CppFunction, LibraryFunction
from .luminosity import LuminosityMask
from .sharing import Guarded, is_shared, turns
from .signatures import signature_of
from .user_modules import hash_of_file, sources_in, use_sources
from .values import element_of, layout_of, python_array, trial, type_of, values_of

__all__ = [
    "Definable",
    "Returns",
    "RowFunction",
    "columns_of",
    "define_callable",
    "define_function",
    "define_per_sample",
    "dumped",
    "load_callable",
    "pickled",
    "restored",
    "saved_state",
    "unpickled",
    "with_sum",
    "without_places",
    "without_sum",
]

Returns: TypeAlias = "str | type | np.dtype[Any] | None"
"""A result type: "float", "std::vector<int>", numpy.float32, bool; None to determine it."""
Definable: TypeAlias = Callable[..., Any]
T = TypeVar("T")
Call: TypeAlias = Callable[[list["_core.Values"], int], "_core.Values"]

_TRIAL = 2
_LONGER = 8
"""The items of lists where one is not enough."""
_SUM_BYTES = 8
_PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"
"""Each has other bytecode: that of another one gives wrong values, or ends the process."""
_CODE = b"CodeType"
"""Is in every pickle that has code, rather than names of functions alone."""


class _Spec(NamedTuple):
    function: Definable
    per_row: bool
    returns: str | None
    stack: tuple[int, ...]
    """The shape of the values that the callable returns for an entry: (tags,), (columns, tags), or () for one value."""
    per_sample: bool = False
    """True if it is called once for each file, with its number."""


def columns_of(function: Definable, columns: Sequence[str] | None) -> list[str]:
    """Return the columns that a callable takes: `columns` if given, or those of a mask, or its parameters.

    Raises:
        UsageError: it does not take as many arguments, or its parameters have no names.
    """
    if columns is None and isinstance(function, LuminosityMask):
        return list(function.columns)
    try:
        signature = signature_of(function)
    except (TypeError, ValueError):
        if columns is None:
            raise UsageError(
                f"the parameters of {_name(function)} are not known",
                "columns=[...], the columns that it takes",
            ) from None
        return list(columns)
    if columns is not None:
        try:
            signature.bind(*columns)
        except TypeError as error:
            raise UsageError(
                f"{_name(function)} does not take {len(columns)} columns ({error})",
                f"columns for the parameters {signature}",
            ) from None
        return list(columns)
    names = []
    for parameter in signature.parameters.values():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise UsageError(
                f"the parameters of {_name(function)} are not named ({signature})",
                "columns=[...], the columns that it takes",
            )
        if parameter.default is parameter.empty and parameter.kind != parameter.KEYWORD_ONLY:
            names.append(parameter.name)
    return names


def define_callable(
    function: Definable,
    columns: Sequence[str] | None,
    *,
    per_row: bool = False,
    returns: Returns = None,
    stack: tuple[int, ...] = (),
    travels: bool = False,
    purpose: str = "",
) -> _core.Definition:
    """Make a definition of a callable, with errors that name the purpose: "define 'x'".

    Raises:
        UsageError: its parameters do not fit the columns.
        TypeMismatchError: `returns` is not a type of values.
        UnsupportedError: it `travels` to workers, and cannot be pickled.
    """
    spec = _Spec(function, per_row, _type_text(function, returns), stack)
    if travels:
        _pickled(spec)
    return _definition(spec, columns_of(function, columns), purpose)


@dataclass(frozen=True)
class RowFunction:
    """A function of expressions that is called for each entry."""

    function: Definable
    returns: str

    def __call__(self, *row: Any) -> Any:
        """Call the function."""
        return self.function(*row)


def define_function(function: Definable, *, travels: bool = False) -> _core.Definition:
    """Make the argument of `FrameGraph.add_function` from a callable, which is called with the function's arguments."""
    if isinstance(function, RowFunction):
        spec = _Spec(function.function, True, _type_text(function.function, function.returns), ())
    else:
        spec = _Spec(function, False, _type_text(function, None), ())
    if travels:
        _pickled(spec)
    return _definition(spec, [])


def define_per_sample(
    function: Callable[[int], Any], returns: Returns = None, *, travels: bool = False
) -> _core.Definition:
    """Make a definition of a callable that is called with the number of each file."""
    if travels:
        _pickled(_Spec(function, False, None, (), True))
    return _per_sample(_Spec(function, False, _type_text(function, returns), (), True))


def load_callable(payload: str, columns: Sequence[str], loops: Loops | None = None) -> _core.Definition:
    """Restore a definition that `define_callable` or `define_per_sample` put into the plan of a graph.

    Args:
        payload: the callable in the plan.
        columns: its arguments.
        loops: what Numba compiled for other graphs of the same plan, which is not compiled again.
    """
    spec = _Spec(*unpickled(payload))
    return _per_sample(spec) if spec.per_sample else _definition(spec, list(columns), "", loops, payload)


def _definition(
    spec: _Spec,
    columns: list[str],
    purpose: str = "",
    loops: Loops | None = None,
    payload: str = "",
) -> _core.Definition:
    if isinstance(spec.function, CppFunction):
        if spec.per_row or spec.stack:
            raise UsageError(
                f"{spec.function.name} is a C++ function, which returns one value per row",
                "leave out per_row; for variations, write expressions that call it",
            )
        if spec.returns not in (None, spec.function.result):
            raise TypeMismatchError(
                f"{spec.function.name} returns {spec.function.result}, not {spec.returns}",
                "an expression that calls it",
            )
        return spec.function.definition(columns, _payload(spec))
    binder = _Binder(spec, columns, purpose, loops, payload)
    return _core.Definition.of_callable(binder.bind, columns, _payload(spec))


def _per_sample(spec: _Spec) -> _core.Definition:
    return _core.Definition.of_callable(
        _PerSample(spec.function, spec.returns).bind, ["rdfsampleinfo_"], _payload(spec), True
    )


def _payload(spec: _Spec) -> str:
    """The callable as text that can be sent; empty if cloudpickle is missing or cannot pickle it."""
    try:
        return _pickled(spec)
    except UnsupportedError:  # it just cannot be sent
        return ""


def _pickled(spec: _Spec) -> str:
    return pickled(tuple(spec), _name(spec.function))


def pickled(things: tuple[object, ...], what: str) -> str:
    """Pickle callables to text, which is another one when a module or a library that they come from has changed.

    Raises:
        UnsupportedError: cloudpickle is missing, or cannot pickle them.
    """
    try:
        import cloudpickle

        data = cloudpickle.dumps(things)
        libraries = {each.library for each in things if isinstance(each, LibraryFunction)}
        whole = pickle.dumps((sources_in(data), sorted(map(hash_of_file, libraries)), data, _PYTHON))
        return base64.b64encode(with_sum(whole)).decode()
    except Exception as error:  # any exception of objects that the callable holds
        raise UnsupportedError(
            f"{what} cannot be sent to workers ({type(error).__name__}: {error})",
            "pip install cloudpickle; callables that hold no open files, locks or results",
        ) from error


def with_sum(data: bytes) -> bytes:
    """Return bytes behind their checksum: a damaged pickle would be any code."""
    return _sum_of(data) + data


def without_sum(data: bytes) -> memoryview:
    """Return the bytes that `with_sum` was given.

    Raises:
        ValueError: they are damaged.
    """
    rest = memoryview(data)[_SUM_BYTES:]
    if _sum_of(rest) != data[:_SUM_BYTES]:
        raise ValueError("the checksum differs")
    return rest


def _sum_of(data: bytes | memoryview) -> bytes:
    return hashlib.sha256(data).digest()[:_SUM_BYTES]


def _parts_of(text: str) -> tuple[Any, Any, bytes, str]:
    """The sources, the libraries, the pickle and the Python in a text of `pickled`."""
    sources, libraries, data, python = pickle.loads(without_sum(base64.b64decode(text)))
    return sources, libraries, data, python


def without_places(text: str) -> str:
    """Return what a text of `pickled` computes: equal if only lines, comments and files differ."""
    try:
        sources, libraries, data, _ = _parts_of(text)
        return f"{sources} {libraries} {identity_of(pickle.loads(data))}"
    except Exception:  # any exception of objects that cannot be pickled again
        return text


def unpickled(text: str) -> tuple[Any, ...]:
    """Restore the callables from the text of `pickled`.

    Raises:
        FormatError: it is another text.
        UnsupportedError: a package that the callables need is not installed here, or they have code of another Python.
    """
    import cloudpickle

    try:
        sources, _, data, python = _parts_of(text)
    except Exception as error:  # any error of damaged bytes
        raise FormatError(f"the callables of a plan are damaged ({error})") from None
    if python != _PYTHON and _CODE in data:
        raise UnsupportedError(
            f"a callable has code of Python {python}, which this worker, with Python {_PYTHON}, cannot run",
            f"Python {python} on all workers; or functions of modules, of which only the names are sent",
        )
    try:
        use_sources(sources)
        return tuple(cloudpickle.loads(data))
    except ImportError as error:
        raise UnsupportedError(
            f"a callable needs '{error.name}', which is not installed on this worker ({error})",
            "install it on all workers; for a module of yours cloudpickle.register_pickle_by_value(module)",
        ) from error


def dumped(value: object) -> bytes:
    """Pickle a value for the client: a class of its script, which came here by value, goes back by value."""
    try:
        return pickle.dumps(value)
    except (pickle.PicklingError, AttributeError, TypeError):
        import cloudpickle

        data: bytes = cloudpickle.dumps(value)
        return data


def saved_state(state: object) -> bytes:
    """Pickle the state of a result that Python code computes."""
    return with_sum(dumped(state))


def restored(data: bytes) -> Any:
    """Restore a state of `saved_state`.

    Raises:
        FormatError: it cannot be restored.
    """
    try:
        return pickle.loads(without_sum(data))
    except Exception as error:  # any error of damaged bytes
        raise FormatError(f"a state cannot be restored ({type(error).__name__}: {error})") from error


def _place(function: Definable) -> str:
    """The source location of a callable."""
    code = getattr(getattr(function, "py_func", function), "__code__", None)
    return "" if code is None else f" ({code.co_filename}, line {code.co_firstlineno})"


def _name(function: Definable) -> str:
    return f"the callable '{getattr(function, '__name__', type(function).__name__)}'"


# ---- Types


_PLAIN = {bool: "bool", int: "std::int64_t", float: "double", str: "std::string"}


def _type_text(function: Definable, returns: Returns) -> str | None:
    if returns is not None:
        found = _named(returns)
        if found is None:
            raise TypeMismatchError(
                f"{shown(returns)} is not a value type", "'float', 'std::vector<int>', numpy.float32"
            )
        return found
    try:
        annotation = typing.get_type_hints(getattr(function, "py_func", function)).get("return")
        return None if annotation is None else _named(annotation)
    except Exception:  # hints may refer to names that do not exist at run time: they are ignored
        return None


def _named(kind: Any) -> str | None:
    if isinstance(kind, str):
        return _core.ValueType.named(kind).name
    if isinstance(kind, Hashable) and kind in _PLAIN:
        return _PLAIN[kind]
    alias = typing.get_origin(kind) or kind
    if hasattr(alias, "__value__"):  # of a `type` statement, or NDArray from NumPy 2.5 on
        value, given = alias.__value__, dict(zip(alias.__type_params__, typing.get_args(kind), strict=False))
        names = getattr(value, "__parameters__", ())
        return _named(value[*(given.get(name, Any) for name in names)] if names else value)
    # NDArray[np.float32] is ndarray[shape, dtype[float32]].
    if typing.get_origin(kind) is np.ndarray:
        inner = typing.get_args(typing.get_args(kind)[1])
        return _named(inner[0]) if inner else None
    try:
        dtype = np.dtype(kind)
        return _core.ValueType.scalar(element_of(dtype)).name if dtype.kind != "O" else None
    except (TypeError, ValueError, Error):
        return None


# ---- Binding to columns


def _weak(call: Call) -> Callable[[], Call | None]:
    try:
        return weakref.ref(call)
    except TypeError:  # compiled code without references
        return lambda: call


class _Binder:
    """Binds the argument types of a callable, once for each combination."""

    def __init__(
        self,
        spec: _Spec,
        columns: list[str],
        purpose: str,
        loops: Loops | None,
        payload: str,
    ) -> None:
        self._spec, self._columns, self._purpose = spec, columns, purpose
        self._loops: Loops = {} if loops is None else loops
        self._payload = payload
        self._title = f"{purpose}: {_name(spec.function)}" if purpose else _name(spec.function)
        # Kernels hold the bound call, which holds the binder: a cycle would keep the callable's objects alive.
        self._bound: dict[tuple[_core.ValueType, ...], tuple[_core.ValueType, Callable[[], Call | None]]] = {}

    def bind(self, types: list[_core.ValueType]) -> tuple[_core.ValueType, Call]:
        key = tuple(types)
        finished, known = self._bound.get(key, (None, lambda: None))
        call = known()
        if finished is None or call is None:
            finished, call = self._bind(types)
            self._bound[key] = finished, _weak(call)
        return finished, call

    def _bind(self, types: list[_core.ValueType]) -> tuple[_core.ValueType, Call]:
        spec = self._spec
        wanted = None if spec.returns is None else _core.ValueType.named(spec.returns)
        if isinstance(spec.function, ItemFunction) and not spec.stack:
            return self._bind_items(spec.function, types, wanted)
        loop = self._loop(types, wanted) if spec.per_row and not spec.stack else None
        run = self._rows if spec.per_row else self._block
        if loop is not None:
            wanted = loop.result
        elif wanted is None:
            wanted = self._try(run, types)
        else:
            for _ in spec.stack:
                wanted = _core.ValueType.list_of(wanted)
        finished = wanted

        def converted(arguments: list[_core.Values], size: int) -> tuple[_core.Values, bool]:
            layout, shared = self._noted(run, [layout_of(each) for each in arguments], size)
            return self._converted(layout, finished, shared), shared

        guarded = Guarded(converted)

        def call(arguments: list[_core.Values], size: int) -> _core.Values:
            if size == 0:
                return values_of(ak.contents.EmptyArray(), finished)
            if loop is not None and loop.takes(arguments):
                return self._compiled(loop, arguments, size)
            return guarded(arguments, size)

        return finished, call

    def _loop(self, types: list[_core.ValueType], wanted: _core.ValueType | None) -> Loop | None:
        key = self._payload, tuple(types)
        if key not in self._loops:
            self._loops[key] = compile_rows(self._spec.function, types, wanted)
        return self._loops[key]

    def _compiled(self, loop: Loop, arguments: list[_core.Values], size: int) -> _core.Values:
        return self._named(lambda: self._noted(loop, arguments, size))

    def _noted(self, call: Callable[..., T], *arguments: Any) -> T:
        """What a call returns; exceptions of the callable say where it is."""
        try:
            return call(*arguments)
        except Error:
            raise
        except Exception as error:
            function = self._spec.function
            columns = f", called with {', '.join(self._columns)}" if self._columns else ""
            purpose = f", to {self._purpose}" if self._purpose else ""
            error.add_note(f"in {_name(function)}{_place(function)}{columns}{purpose}")
            raise

    def _bind_items(
        self, function: ItemFunction, types: list[_core.ValueType], wanted: _core.ValueType | None
    ) -> tuple[_core.ValueType, Call]:
        """Binds functions that declare their result type and return arrays that they do not share."""
        try:
            made = function.result_type(types)
        except TypeMismatchError as error:
            raise TypeMismatchError(f"'{function.name}': {error.problem}", error.advice) from None
        finished = made if wanted is None else wanted

        def call(arguments: list[_core.Values], size: int) -> _core.Values:
            if size == 0:
                return values_of(ak.contents.EmptyArray(), finished)
            layouts = [layout_of(each) for each in arguments]
            layout = turns.together(function.apply, layouts, types, size)
            return self._converted(layout, finished, False)

        return finished, call

    def _try(
        self,
        run: Callable[[list[Content], int], tuple[Content, bool]],
        types: list[_core.ValueType],
    ) -> _core.ValueType:
        def quietly(items: int) -> _core.ValueType:
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                layout, _ = run([trial(kind, _TRIAL, items) for kind in types], _TRIAL)
                return self._named(type_of, layout)

        def found() -> _core.ValueType:
            try:
                return quietly(1)
            except IndexError:  # it may take `pt[1]` of lists that always have a second item
                return quietly(_LONGER)

        try:
            return turns.alone(found)
        except Error:
            raise
        except Exception as error:
            names = self._columns or [f"argument {k}" for k in range(1, len(types) + 1)]
            listed = ", ".join(f"{name}: {kind.name}" for name, kind in zip(names, types, strict=True))
            raise TypeMismatchError(
                f"{self._title} failed on a trial of {_TRIAL} entries ({listed}): "
                f"{type(error).__name__}: {error}",
                "returns='float', or whatever type it returns, which skips the trial",
            ) from error

    def _converted(self, layout: Content, wanted: _core.ValueType, shared: bool) -> _core.Values:
        exact = self._spec.returns is None  # the type is that of a trial, perhaps of empty lists
        return self._named(lambda: values_of(layout, wanted, copies=shared, exact=exact))

    def _named(self, convert: Callable[..., T], *arguments: Any) -> T:
        """What a conversion returns; its errors name the callable."""
        return _with_name(self._title, convert, *arguments)

    # ---- Per block

    def _block(self, layouts: list[Content], size: int) -> tuple[Content, bool]:
        """The answer for a block, and whether other code may write to it."""
        answer = self._spec.function(*(python_array(layout) for layout in layouts))
        shared = is_shared(answer)
        return self._stacked(answer, self._spec.stack, lambda part: self._checked(part, size)), shared

    def _stacked(self, answer: Any, shape: tuple[int, ...], finish: Callable[[Any], Content]) -> Content:
        """Stacks the callable's separate values to an array of lists."""
        if not shape:
            return finish(answer)
        parts = self._variations(answer, shape[0])
        return _interleaved([self._stacked(part, shape[1:], finish) for part in parts])

    def _variations(self, answer: Any, count: int) -> list[Any]:
        if not isinstance(answer, list | tuple) or len(answer) != count:
            given = (
                f"{len(answer)} values" if isinstance(answer, list | tuple) else f"a {type(answer).__name__}"
            )
            raise TypeMismatchError(
                f"{self._title} returned {given} for {count} variations",
                "a tuple with one array for each tag, in a tuple of these for several columns",
            )
        return list(answer)

    def _checked(self, answer: Any, size: int) -> Content:
        name = self._title
        is_one = isinstance(answer, str | bytes | Mapping) or getattr(answer, "ndim", 1) == 0
        if is_one or not hasattr(answer, "__len__"):
            raise TypeMismatchError(
                f"{name} returned one value of type {type(answer).__name__}, not an array with one value per entry",
                "array operations (np.where, ak.sum with axis=1), or per_row=True",
            )
        if len(answer) != size:
            raise UsageError(
                f"{name} returned {len(answer)} values for {size} entries",
                "one value per entry; filters drop entries",
            )
        return self._named(layout_of_block, answer)

    # ---- Per entry, without Numba

    def _rows(self, layouts: list[Content], size: int) -> tuple[Content, bool]:
        columns = [_items(layout) for layout in layouts]
        rows = zip(*columns, strict=True) if columns else [()] * size
        answers = []
        shared = False
        for row in rows:
            answer = self._spec.function(*row)
            if not isinstance(answer, PLAIN):
                is_others = is_shared(answer)
                shared = shared or is_others
                # Lists are always copied: the callable may use their items again.
                if is_others or not isinstance(answer, np.ndarray):
                    answer = self._named(own_value, answer)
            answers.append(answer)
        return self._gathered(answers, self._spec.stack), shared

    def _gathered(self, answers: list[Any], shape: tuple[int, ...]) -> Content:
        if not shape:
            return self._named(layout_of_rows, answers)
        listed = [list(answer) if isinstance(answer, np.ndarray) else answer for answer in answers]
        split = [self._variations(answer, shape[0]) for answer in listed]
        parts = [self._gathered([row[k] for row in split], shape[1:]) for k in range(shape[0])]
        return _interleaved(parts)


def _with_name(title: str, convert: Callable[..., T], *arguments: Any) -> T:
    try:
        return convert(*arguments)
    except Error as error:
        raise type(error)(f"{title}: {error.problem}", error.advice) from error.__cause__


def _interleaved(parts: list[Content]) -> Content:
    """Interleaves arrays of one element per entry to one array of lists with an item of each."""
    kinds = {kind for part in parts if (kind := _number_type(part)) is not None}
    if kinds and all(kind.kind in "iu" for kind in kinds) and np.result_type(*kinds).kind == "f":
        # Awkward would make doubles of signed and unsigned integers.
        return layout_of_rows([list(row) for row in zip(*map(ak.to_list, parts), strict=True)])
    columns = [ak.unflatten(ak.Array(part), 1) for part in parts]
    return ak.to_layout(ak.concatenate(columns, axis=1))


def _number_type(layout: Content) -> np.dtype[Any] | None:
    """The type of numbers, or of those in lists; None for other values."""
    while layout.is_list or layout.is_option or layout.is_indexed:
        layout = layout.content
    return layout.dtype if layout.is_numpy else None


def _items(layout: Content) -> Any:
    """Values one by one: Python numbers, str, NumPy arrays for lists of numbers, Awkward arrays for other values."""
    if layout.is_numpy:
        return layout.data.tolist()
    if layout.parameter("__array__") == "string":
        return ak.to_list(layout)
    if layout.is_list and layout.content.is_numpy:
        offsets, content = np.asarray(layout.offsets.data).tolist(), np.asarray(layout.content.data)
        return [content[first:last] for first, last in itertools.pairwise(offsets)]
    return list(ak.Array(layout))


class _PerSample:
    """Calls the callable once per file, and repeats its result for each entry of the file."""

    def __init__(self, function: Definable, returns: str | None) -> None:
        self._function, self._returns = function, returns
        self._values: dict[int, _core.Values] = {}

    def bind(
        self, types: list[_core.ValueType]
    ) -> tuple[_core.ValueType, Callable[[int, int], _core.Values]]:
        wanted = None if self._returns is None else _core.ValueType.named(self._returns)
        if wanted is None:
            try:
                wanted = type_of(self._layout(0))
            except Error:
                raise
            except Exception as error:
                raise TypeMismatchError(
                    f"{_name(self._function)} failed on a trial: {type(error).__name__}: {error}",
                    "returns='float', or whatever type it returns, which skips the trial",
                ) from error

        def call(number: int, size: int) -> _core.Values:
            if size == 0:
                return values_of(ak.contents.EmptyArray(), wanted)
            if number not in self._values:
                exact = self._returns is None  # the type is that for the first file
                self._values[number] = _with_name(
                    _name(self._function), lambda: values_of(self._layout(number), wanted, exact=exact)
                )
            return self._values[number].as_constant(size)

        return wanted, call

    def _layout(self, number: int) -> Content:
        answer = self._function(number)
        return _with_name(_name(self._function), lambda: layout_of_rows([own_value(answer)]))
