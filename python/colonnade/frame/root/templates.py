"""Methods that take C++ types in brackets, like methods of ROOT's classes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar, overload

__all__ = ["Templated"]

P = ParamSpec("P")
R = TypeVar("R")


class Templated(Generic[P, R]):
    """A method that also takes C++ types in brackets, `df.Take["float"]("x")`, and ignores them."""

    def __init__(self, function: Callable[Concatenate[Any, P], R]) -> None:
        self._function = function
        self.__doc__ = function.__doc__

    @overload
    def __get__(self, instance: None, owner: type) -> Templated[P, R]: ...
    @overload
    def __get__(self, instance: object, owner: type) -> _BoundTemplate[P, R]: ...
    def __get__(self, instance: Any, owner: type) -> Any:
        return self if instance is None else _BoundTemplate(self._function.__get__(instance, owner))


class _BoundTemplate(Generic[P, R]):
    def __init__(self, method: Callable[P, R]) -> None:
        self._method = method
        self.__doc__ = method.__doc__

    def __call__(self, *arguments: P.args, **options: P.kwargs) -> R:
        return self._method(*arguments, **options)

    def __getitem__(self, types: object) -> Callable[P, R]:
        return self._method
