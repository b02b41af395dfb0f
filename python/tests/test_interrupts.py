"""An exception of a signal's handler, as that of Ctrl-C, is raised once: also one that comes in a finalizer."""

from __future__ import annotations

import gc
import random
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import colonnade
from colonnade import DataFrame, _core


class Interrupt(BaseException):
    """What a handler raises."""


@pytest.fixture
def ignored(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The exceptions that Python ignored."""
    found: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", found.append)
    return found


@pytest.fixture
def alarm() -> Iterator[Callable[[float], None]]:
    """Raises an interrupt in so many seconds."""

    def handle(number: int, frame: object) -> None:
        raise Interrupt

    before = signal.signal(signal.SIGALRM, handle)
    yield lambda seconds: signal.setitimer(signal.ITIMER_REAL, seconds)
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


def test_an_interrupt_in_a_finalizer_is_raised_after_it(ignored: list[Any], alarm: Any) -> None:
    begun, done = [], []

    class Dropped:
        @_core.finalizer
        def __del__(self) -> None:
            begun.append(self)
            if len(begun) == 1:
                signal.raise_signal(signal.SIGALRM)
            done.append(self)

    def drop() -> None:
        Dropped()
        for _ in range(1000):
            pass

    with pytest.raises(Interrupt):
        drop()
    assert (len(begun), len(done), ignored) == (2, 1, [])


def test_errors_of_finalizers_are_ignored(ignored: list[Any]) -> None:
    class Dropped:
        @_core.finalizer
        def __del__(self) -> None:
            raise ValueError("of its own")

    Dropped()
    assert [str(each.exc_value) for each in ignored] == ["of its own"]


@pytest.mark.parametrize("seed", range(3))
def test_interrupts_while_results_are_dropped(
    seed: int, tmp_path: Path, ignored: list[Any], alarm: Any
) -> None:
    """At random moments: each is raised, and no result without references stays booked."""
    chosen = random.Random(seed)
    with colonnade.create(tmp_path / "f.root", "Events") as writer:
        writer.extend({"n": np.arange(100)})
    df = DataFrame("Events", tmp_path / "f.root", progress=False, threads=1)
    assert df.sum("n").value == 4950

    def use() -> None:
        end = time.monotonic() + 5
        alarm(0.0002 + 0.002 * chosen.random())
        while time.monotonic() < end:
            above = df.filter("n > 10").define("twice", "2 * n")
            dropped = [above.sum("twice"), above.count()]
            del dropped[0]
            if chosen.random() < 0.1:
                assert dropped[0].value == 89

    for _ in range(300):
        with pytest.raises(Interrupt):
            use()
    gc.collect()
    assert ignored == []
    session = df._session
    assert (df.sum("n").value, len(session.bookings), len(session._users)) == (4950, 0, 0)
