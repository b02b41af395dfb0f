"""C++ functions for expressions and definitions: of texts, and of shared libraries (include/colonnade/functions.h)."""

from __future__ import annotations

import functools
import os
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from colonnade import _core
from colonnade.annotations import checked
from colonnade.errors import UsageError
from colonnade.misuse import cpp_text, path_text

__all__ = [
    "CppFunction",
    "Functions",
    "Library",
    "LibraryFunction",
    "TextFunction",
    "functions",
    "get_include",
    "library",
]


@dataclass(frozen=True)
class CppFunction(ABC):
    """A function of C++. It can be used like a callable, and calls no Python."""

    name: str
    result: str
    """The result type; "auto" if it follows from the arguments."""
    parameters: tuple[str, ...]
    """The parameter types; "auto" for any."""

    @abstractmethod
    def definition(self, columns: Sequence[str], payload: str) -> _core.Definition:
        """Make a definition of the function's value for columns."""

    def __call__(self, *arrays: Any) -> Any:
        """Return the results for arrays of the same length, one for each parameter; of numbers and texts, one."""
        from .dataframe import DataFrame

        if not arrays:
            return DataFrame(1).define("result", self, columns=[]).to_awkward(["result"])["result"][0]
        if all(isinstance(each, bool | int | float | str | np.generic) for each in arrays):
            return self(*([each] if isinstance(each, str) else np.asarray([each]) for each in arrays))[0]
        names = [f"x{k}" for k in range(len(arrays))]
        df = DataFrame.from_arrays(dict(zip(names, arrays, strict=True)))
        return df.define("result", self, columns=names).to_awkward(["result"])["result"]


F = TypeVar("F", bound=CppFunction)


@dataclass(frozen=True)
class TextFunction(CppFunction):
    """A function of a text, for any machine: it is not compiled."""

    text: str
    """The whole text, with the functions that it calls."""

    def __repr__(self) -> str:
        return f"<{self.result} {self.name}({', '.join(self.parameters)})>"

    def definition(self, columns: Sequence[str], payload: str) -> _core.Definition:
        """Make a definition of the function's value for columns."""
        return _core.Definition.of_function(
            _parsed(self.text, os.getpid()), self.name, list(columns), payload
        )


@dataclass(frozen=True)
class LibraryFunction(CppFunction):
    """A function of a library."""

    library: str
    """The path, or the name that the loader searches for."""
    version: str
    """The version of the library in this process: workers refuse another one."""

    def __repr__(self) -> str:
        return f"<{self.result} {self.name}({', '.join(self.parameters)}) of {self.library!r} {self.version}>"

    def definition(self, columns: Sequence[str], payload: str) -> _core.Definition:
        """Make a definition of the function's value for columns.

        Raises:
            NotFoundError: the library cannot be loaded here, or has no such function.
            UsageError: the library has another version here.
        """
        found, _ = _core.library_functions(self.library)
        if found != self.version:
            raise UsageError(
                f"the library '{self.library}' has version {found} here, but "
                f"{self.version} where the DataFrame was made",
                "the same library on all machines",
            )
        return _core.Definition.of_library(self.library, self.name, list(columns), payload)


class _FunctionMapping(Mapping[str, F]):
    """Functions by name, and as attributes."""

    _functions: dict[str, F]

    def __getitem__(self, name: str) -> F:
        return self._functions[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._functions)

    def __len__(self) -> int:
        return len(self._functions)

    def __getattr__(self, name: str) -> F:
        if name.startswith("_") or name not in self._functions:
            raise AttributeError(f"{self!r} has no function '{name}'")
        return self._functions[name]

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._functions]


@functools.lru_cache(maxsize=4)
def _parsed(text: str, process: int) -> _core.TextFunctions:
    """Parse a text once for all of its functions: each of them would parse, bind and keep all others otherwise.

    A child of a fork parses it again, since another thread of its parent may have been binding a function.
    """
    return _core.TextFunctions(text)


class Functions(_FunctionMapping[TextFunction]):
    """The functions of a text, by name, and as attributes."""

    def __init__(self, text: str) -> None:
        """Define functions; see `functions`."""
        self._functions = {}
        self.overloads: Counter[str] = Counter()
        """How many functions have each name; the first one is in the mapping, and calls take that which fits."""
        self.text = text
        for name, result, parameters in _core.text_functions(_parsed(cpp_text(text), os.getpid())):
            self.overloads[name] += 1
            self._functions.setdefault(name, TextFunction(name, result, tuple(parameters), text))

    def __repr__(self) -> str:
        return f"<Functions: {', '.join(self._functions)}>"


class Library(_FunctionMapping[LibraryFunction]):
    """The functions of a library, by name, and as attributes."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Load a library; see `library`."""
        given = path_text(path)
        self.path = os.path.abspath(given) if os.sep in given or os.path.exists(given) else given
        self.version, functions = _core.library_functions(self.path)
        self._functions = {
            name: LibraryFunction(name, result, tuple(parameters), self.path, self.version)
            for name, result, parameters in functions
        }

    def __repr__(self) -> str:
        return f"<Library {self.path!r} {self.version}: {', '.join(self._functions) or 'no functions'}>"


def get_include() -> str:
    """Return the folder for `c++ -I`, in which `colonnade/functions.h` is."""
    return str(Path(__file__).parent.parent / "include")


@checked
def library(path: str | os.PathLike[str]) -> Library:
    """Load C++ functions for data frames: `df.with_functions(colonnade.library("libmine.so"))`.

    Libraries are made with the header `colonnade/functions.h`. On an engine each worker loads the library by the same
    path or name, and refuses another version.

    Args:
        path: the path of a shared library, or a name that the system's loader finds.

    Returns:
        A mapping from names to functions, which are attributes, too: `lib.scale_factor`.

    Raises:
        NotFoundError: it cannot be loaded.
        UsageError: it is not such a library.
        UnsupportedError: it was made for a later version of the interface.
    """
    return Library(path)


@checked
def functions(text: str) -> Functions:
    """Define functions for data frames in C++: `df.with_functions(colonnade.functions("float twice(float x) {...}"))`.

    The language is that of expressions, with loops and variables; nothing is compiled. On an engine the text travels
    with the plan.

    Args:
        text: one or more functions, and constants.

    Returns:
        A mapping from names to functions, which are attributes, too: `f = colonnade.functions(text); f.twice`.

    Raises:
        UsageError, TypeMismatchError, NotFoundError: the text is wrong, or none; the error marks the place.
    """
    found = Functions(text)
    if not found:
        raise UsageError("the text defines no function", "float twice(float x) { return 2 * x; }")
    return found
