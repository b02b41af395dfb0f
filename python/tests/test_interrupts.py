"""An exception of a signal's handler, as that of Ctrl-C, is raised once: also one that comes in a finalizer."""

from __future__ import annotations

import contextlib
import dis
import gc
import queue
import random
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, _base
from concurrent.futures import thread as futures_threads
from itertools import pairwise
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import numpy as np
import pytest

import colonnade
from colonnade import DataFrame, _core, ml
from colonnade.distributed import engines
from colonnade.distributed.runs import Run
from colonnade.errors import UnsupportedError, UsageError
from colonnade.frame.histograms import _hist
from colonnade.frame.sharing import Turns
from colonnade.ml import batches
from colonnade.reading.streams import Stream, _gate
from colonnade.writing import filling


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

    # What a callback of the garbage collector raises, as those of Hypothesis would, is ignored.
    callbacks = gc.callbacks[:]
    gc.callbacks.clear()
    before = signal.signal(signal.SIGALRM, handle)
    yield lambda seconds: signal.setitimer(signal.ITIMER_REAL, seconds)
    signal.setitimer(signal.ITIMER_REAL, 0)
    gc.callbacks[:] = callbacks
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


# ---- At each place where a handler may run


def handlers_may_run(code: CodeType) -> set[int]:
    """The instructions before which a handler of a signal may have run: behind calls, and where code begins."""
    table = dis._parse_exception_table(code)  # type: ignore[attr-defined]

    def caught(offset: int) -> int | None:
        return next((each.target for each in table if each.start <= offset < each.end), None)

    found = set()
    for each, following in pairwise(dis.get_instructions(code)):
        # A call's exception is that of the call, not of what follows.
        is_call = each.opname.startswith("CALL") and caught(each.offset) == caught(following.offset)
        if is_call or each.opname == "RESUME":
            found.add(following.offset)
    return found


def interrupted(call: Callable[[], object], at: int) -> int | None:
    """Call, with an interrupt at such a place of the package or of `threading`.

    Returns:
        None if it was interrupted, otherwise the number of places that were passed.
    """
    passed = 0
    known: dict[CodeType, set[int]] = {}

    def look(frame: FrameType, event: str, _: object) -> Any:
        nonlocal passed
        code = frame.f_code
        if event == "call":
            if not code.co_filename.startswith(PLACES) or passed > at:
                return None
            frame.f_trace_opcodes, frame.f_trace_lines = True, False
        elif event == "opcode":
            if code not in known:
                known[code] = handlers_may_run(code)
            if frame.f_lasti in known[code]:
                passed += 1
                if passed == at + 1:
                    raise Interrupt
        return look

    before = sys.gettrace()
    sys.settrace(look)
    try:
        call()
    except Interrupt:
        return None
    finally:
        sys.settrace(before)
    return passed


WAITING = (threading.__file__, queue.__file__, _base.__file__, futures_threads.__file__)
PLACES = (str(Path(colonnade.__file__).parent), threading.__file__)
everywhere = pytest.mark.skipif(
    sys.version_info[:2] != (3, 11),
    reason="other versions of Python than Debian's trace instructions otherwise",
)


def others_can(call: Callable[[], object]) -> bool:
    """Whether another thread is not kept waiting."""
    thread = threading.Thread(target=call, daemon=True)
    thread.start()
    thread.join(60)
    return not thread.is_alive()


@everywhere
def test_callables_take_turns_after_an_interrupt(ignored: list[Any]) -> None:
    turns = Turns()
    for run in (turns.together, turns.alone):
        at = 0
        while interrupted(lambda run=run: run(lambda: None), at) is None:  # type: ignore[misc]
            assert others_can(lambda: turns.alone(lambda: None)), f"{run} {at}"
            assert others_can(lambda: turns.together(lambda: None)), f"{run} {at}"
            at += 1
        assert at > 1
    assert ignored == []


@everywhere
def test_streams_are_left_after_an_interrupt(ignored: list[Any]) -> None:
    at = 0
    while interrupted(lambda: next(Stream(iter([1, 2]))), at) is None:
        assert others_can(lambda: next(Stream(iter([1, 2])))), at
        assert not _gate.inside, f"the program would wait for {at}"
        at += 1
    assert at > 3
    gc.collect()
    assert (ignored, _gate.streams) == ([], {})


@everywhere
def test_executors_go_on_after_an_interrupt(tmp_path: Path, ignored: list[Any], monkeypatch: Any) -> None:
    """No future, whose condition a worker needs, and no lock of the executor stays locked."""
    monkeypatch.setattr(sys.modules[__name__], "PLACES", (*WAITING, engines.__file__))
    with colonnade.create(tmp_path / "f.root", "Events") as writer:
        writer.extend({"n": np.arange(10)})
    with ThreadPoolExecutor(1) as pool:

        def total() -> float:
            frame = DataFrame("Events", tmp_path / "f.root", executor=pool, npartitions=2, progress=False)
            return frame.sum("n").value

        assert total() == 45
        at = 0
        passed: list[int | None] = [None]
        while passed[-1] is None:
            assert others_can(lambda: passed.append(interrupted(total, at))), at  # noqa: B023
            assert others_can(lambda: pool.submit(int).result()), at
            at += 1
        assert at > 10
        assert len(passed) == at + 1, "another exception than that of the handler"
        assert total() == 45
    assert ignored == []


@everywhere
def test_batches_go_on_after_an_interrupt(tmp_path: Path, ignored: list[Any], monkeypatch: Any) -> None:
    """The thread that reads ahead ends."""
    monkeypatch.setattr(sys.modules[__name__], "PLACES", (*WAITING, batches.__file__))
    with colonnade.create(tmp_path / "f.root", "Events") as writer:
        writer.extend({"n": np.arange(10)})
    ordered = ml.Batches(
        DataFrame("Events", tmp_path / "f.root"), ["n"], batch_size=5, window=2, shuffle=False
    )

    def entries() -> list[int]:
        ordered.set_epoch(0)
        return [entry for batch in ordered for entry in batch.entry.tolist()]

    at = 0
    passed: list[int | None] = [None]
    while passed[-1] is None:
        assert others_can(lambda: passed.append(interrupted(entries, at))), at  # noqa: B023
        at += 1
    assert at > 10
    assert len(passed) == at + 1, "another exception than that of the handler"
    assert entries() == list(range(10))
    assert ignored == []


@everywhere
def test_blocks_of_writers_end_with_an_interrupt(tmp_path: Path, ignored: list[Any]) -> None:
    """Who catches it can write the file again at once, though a variable still has the writer."""
    at = 0
    while True:
        writer = colonnade.create(tmp_path / "f.root", "Events", {"n": "int"})
        if interrupted(lambda writer=writer: writer.__exit__(None, None, None), at) is not None:  # type: ignore[misc]
            break
        with pytest.raises(UsageError, match="the writer is closed"):
            writer.fill(n=1)
        at += 1
    assert at > 5
    assert ignored == []


@everywhere
@pytest.mark.filterwarnings("ignore:unclosed file:ResourceWarning")
def test_claims_of_snapshots_end_with_an_interrupt(tmp_path: Path) -> None:
    """Nothing of them is left, wherever it comes: at their beginning, in between, or at their end."""

    def claim() -> None:
        Run(tmp_path / "f.root").end()
        for _ in range(1000):  # where one that came in the finalizer is raised
            pass

    at = 0
    gc.collect()
    gc.freeze()  # each collection looks at what is left of a claim, not at all that earlier tests have made
    while interrupted(claim, at) is None:
        gc.collect()
        assert list(tmp_path.iterdir()) == [], at
        at += 1
    assert at > 10


def test_an_import_that_was_interrupted_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Extension modules cannot be imported again in the same process."""
    (tmp_path / "hist.py").write_text("raise ImportError('an object with that name is already defined')")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "hist", raising=False)
    with pytest.raises(UnsupportedError, match=r"importing .* failed: an object .*; try: a new process"):
        _hist()


FILLED = 6


@everywhere
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("way", ["alone", "context"])
def test_filling_goes_on_after_an_interrupt(
    way: str, seed: int, tmp_path: Path, ignored: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was given is there once, and the call that was interrupted added its entry or nothing."""
    monkeypatch.setattr(filling, "_ROWS_HELD", 4)
    chosen = random.Random(seed)
    schema = {"n": "int", "v": "std::vector<float>", "a": "std::variant<int,std::string>", "s": "std::string"}

    def values(k: int) -> dict[str, Any]:
        return {"n": k, "v": [k] * (k % 3), "a": str(k) if k % 2 else k, "s": str(k)}

    def fill(at: int, file: Path) -> int | None:
        entries: list[int] = []
        rows: list[int] = []
        writer: Any = None

        def add() -> None:
            for k in range(FILLED):
                out.fill(**values(k))
                entries.append(k)
                runs.add({"run": k}, k, k + 1)
                rows.append(k)

        with contextlib.ExitStack() as stack:
            if way == "alone":
                out = writer = stack.enter_context(colonnade.create(file, "Events", schema))
            else:
                writer = stack.enter_context(colonnade.create_parallel(file, "Events", schema))
                out = stack.enter_context(writer.context())
            runs = out.attributes("runs", {"run": "int"})
            passed = interrupted(add, at)
            assert out.num_entries - len(entries) in (0, 1)
            out.fill(**values(-1))
        with colonnade.open(file) as data_set:
            found = data_set.arrays().tolist()
            count = len(found) - 1
            assert count - len(entries) in (0, 1)
            assert found == [values(k) for k in [*range(count), -1]]
            stored = [each.values["run"] for each in data_set.attributes["runs"]]
            assert stored == list(range(len(stored)))
            assert len(stored) - len(rows) in (0, 1)
        return passed

    fill(sys.maxsize, tmp_path / "first.root")  # what is done once in a process is done
    gc.collect()
    places = fill(sys.maxsize, tmp_path / "whole.root")
    assert places is not None
    for at in chosen.sample(range(places), 40):
        assert fill(at, tmp_path / f"{at}.root") is None
    assert ignored == []
