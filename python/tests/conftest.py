"""What the tests of the package share."""

from __future__ import annotations

import gc
import importlib.util
import signal
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from colonnade import DataFrame
from colonnade.cli import main

# PyTorch is gigabytes: no test environment of this project installs it.
collect_ignore = [] if importlib.util.find_spec("torch") else ["test_ml_torch.py"]


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> Callable[[DataFrame, int], None]:
    """Cut sources that are opened from now on into parts of 30 entries, so that several threads have work.

    Returns:
        A function that asserts that the last pass over a DataFrame was really made by so many threads.
    """
    monkeypatch.setenv("COLONNADE_TEST_PART_ENTRIES", "30")

    def check(frame: DataFrame, threads: int) -> None:
        report = frame._session.last_run
        assert report is not None
        assert report.parts >= 6 * threads + 4
        assert report.workers == threads

    return check


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Ctrl-C reaches the test alone.

    Processes in the background of a shell are started with SIGINT ignored, and stay so. The garbage of other tests is
    collected first: an interrupt within its `__del__` would be lost.
    """
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    gc.collect()
    gc.disable()
    yield
    gc.enable()
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[Any, str, str]]:
    """Run `colonnade ARGUMENTS...` in this process.

    Returns:
        A function that returns the exit status, what went to standard output and what went to standard error.
    """

    def call(*arguments: object) -> tuple[Any, str, str]:
        with pytest.raises(SystemExit) as stop:
            main([str(each) for each in arguments])
        captured = capsys.readouterr()
        return stop.value.code, captured.out, captured.err

    return call
