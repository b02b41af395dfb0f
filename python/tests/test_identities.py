"""Identities of callables: the same in every process, and others for other code and values; random ones."""

from __future__ import annotations

import json
import marshal
import os
import random
import subprocess
import sys
import types
from pathlib import Path
from typing import Any

import pytest

from colonnade.frame.identities import identity_of

_BEGINNING = """\
import functools, json, sys
from abc import ABC
from dataclasses import dataclass
from enum import Enum
from typing import Generic, TypeVar
import numpy as np
from colonnade.frame.identities import identity_of

@dataclass(frozen=True)
class Cut:
    name: str
    value: object

T = TypeVar("T")

class Box(Generic[T]):
    def __init__(self, value: T):
        self.value = value

class Ring:
    def __init__(self, value):
        self.value, self.members = value, {self}

def base_of(*names):
    made = type("Base", (ABC,), {})
    for name in names:
        made.register(type(name, (), {}))
    return made

try:
    from numba import njit
except ImportError:
    njit = functools.partial

identities = {}
"""

_CALLABLES = (
    "lambda x: x in {}",
    "lambda x, kept={}: x in kept",
    "(lambda kept: lambda x: x in kept)({})",
    "functools.partial(lambda kept, x: x in kept, {})",
    "Cut('cut', {}).__eq__",
    "type('Kind', (), {{'kept': {}, '__call__': lambda self, x: x in self.kept}})()",
    "Enum('Kind', {{'A': {}}}).A",
    "Ring({})",
    "Box({})",
    "[x for x in [1] if x in [2]] or (lambda x: [y for y in x if y in {}])",
)

_OF_NUMBERS = (
    "dataclass(type('Kind', (), dict(__annotations__=dict(kept=object), kept=frozenset(['a', 'b', '{}']))))",
    "base_of('A', 'B', 'C{}')",
    "njit(lambda x: x + {})",
)

_WITH_A_CLASS = """\
for number in range(2):
    source = f"def counted(x):\\n  class Counter:\\n    start = {number}\\n  return x + Counter.start\\n"
    exec("\\n" * len(vars()) + source)
    identities[f"with a class {number}"] = identity_of(counted)
"""


class _Values:
    """Texts of random values; no two have the same numbers."""

    def __init__(self, seed: int) -> None:
        self._random, self._leaves = random.Random(seed), 0

    def leaf(self) -> str:
        self._leaves += 1
        return self._random.choice(["{}", "'key {}'", "b'{}'", "{}.5", "('a', {})"]).format(self._leaves)

    def hashable(self, depth: int) -> str:
        inner = ", ".join(
            self.hashable(depth - 1) if depth else self.leaf() for _ in range(self._random.randint(2, 5))
        )
        return self._random.choice(["({})", "frozenset(({}))", "frozenset({{{}}})", "Cut('c', ({}))"]).format(
            inner
        )

    def any(self, depth: int) -> str:
        shape = self._random.choice(["[{}]", "{{{}}}", "np.array([{}])", "dict(a=[{}])", "Cut('d', [{}])"])
        if shape.startswith("np"):
            self._leaves += 1
            return shape.format(self._leaves)
        inner = [self.hashable(depth - 1) for _ in range(self._random.randint(2, 5))]
        return shape.format(", ".join(inner))


def _script(seed: int, unrelated: int) -> str:
    values = _Values(seed)
    lines = [_BEGINNING, *(f"before_{i} = {i}\n" for i in range(unrelated))]
    for number in range(60):
        made = values.any(2)
        if number % 3 == 0:
            lines.append(f"kept_{number} = {made}\n")
            made = f"kept_{number}"
        lines.append(
            f"identities[{number}] = identity_of({_CALLABLES[number % len(_CALLABLES)].format(made)})\n"
        )
    for number in range(2 * len(_OF_NUMBERS)):
        made = _OF_NUMBERS[number % len(_OF_NUMBERS)].format(number)
        lines.append(f"identities['of {number}'] = identity_of({made})\n")
    return "".join([*lines, _WITH_A_CLASS, "json.dump(identities, sys.stdout)\n"])


_KEPT_TWICE = """
def function(x, kept=3):
    class Kind:
        "what it is"
        member: int = 300

        class Inner:
            def method(self):
                return "what it is", (1, "a b"), (1, "a b")

    def inner(x: float) -> "a b":
        return "a b", b"a b", {"a b", "c d"}

    return Kind.member, inner(x), "a b", "function.<locals>.Kind", "what it is"
"""


def _apart(constant: Any) -> Any:
    """A constant or code, in which no object stands for two equal ones."""
    if isinstance(constant, types.CodeType):
        return constant.replace(
            co_consts=tuple(map(_apart, constant.co_consts)), co_qualname="".join(list(constant.co_qualname))
        )
    if isinstance(constant, tuple):
        return tuple(map(_apart, constant))
    return "".join(list(constant)) if isinstance(constant, str) else constant


def test_code_has_one_identity_wherever_it_stands_and_however_it_was_compiled() -> None:
    """Equal constants may be one object: that is up to the compiler, and to the file that keeps what it made."""
    identities = set()
    for lines in (0, 1, 255, 70_000):
        code = compile("\n" * lines + _KEPT_TWICE, f"{lines}.py", "exec", dont_inherit=True)
        for each in (code, marshal.loads(marshal.dumps(code)), _apart(code)):
            made: dict[str, Any] = {"__name__": "made"}
            exec(each, made)
            identities.add(identity_of(made["function"]))
    assert len(identities) == 1


@pytest.mark.parametrize("seed", [1])
def test_random_callables_have_one_identity_in_all_processes(tmp_path: Path, seed: int) -> None:
    found = []
    for process in range(3):
        script = tmp_path / f"script_{process}.py"
        script.write_text(_script(seed, process))
        run = subprocess.run(
            [sys.executable, script],
            env={**os.environ, "PYTHONHASHSEED": str(process + 1)},
            capture_output=True,
            text=True,
            check=True,
        )
        found.append(json.loads(run.stdout))
    assert len(set(found[0].values())) == len(found[0])
    for other in found[1:]:
        assert [name for name in found[0] if other[name] != found[0][name]] == []
