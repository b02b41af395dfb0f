"""Progress of passes, and what interrupts them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
import types

import numpy as np
import pytest

import colonnade
from colonnade import DataFrame
from colonnade.frame import progress


def slow(entries=2_000_000, seconds=0.002, **options):
    """A DataFrame whose passes take a while, whatever the machine."""

    def wait(k):
        time.sleep(seconds)
        return k

    return DataFrame(entries, **options).define("y", wait, ["rdfentry_"], returns="std::uint64_t")


def state(entries, seconds):
    return types.SimpleNamespace(
        entries=entries, total=1000, bytes=entries * 100, cache_bytes=0, seconds=seconds
    )


def test_the_bar_is_shown_if_it_is_wanted(capsys):
    assert slow(200_000, progress=True).sum("y").value == sum(range(200_000))
    shown = capsys.readouterr().err
    assert "entries/s" in shown
    assert "100%" in shown


@pytest.mark.parametrize("wanted", [False, None])
def test_no_bar_for_short_passes(capsys, wanted):
    assert slow(100_000, progress=wanted).sum("y").value
    assert capsys.readouterr().err == ""


def test_a_bar_in_a_page_needs_no_widgets(monkeypatch, capsys):
    shown = []

    class Handle:
        def update(self, data, raw):
            shown.append(data)

    def display(data, raw, display_id):
        assert raw
        assert display_id
        return Handle()

    monkeypatch.setitem(sys.modules, "IPython", types.ModuleType("IPython"))
    page = types.ModuleType("IPython.display")
    page.display = display
    monkeypatch.setitem(sys.modules, "IPython.display", page)
    monkeypatch.setattr("rich.console._is_jupyter", lambda: True)
    with progress.PassBar(None) as bar:
        for step in range(100):
            bar.update(state(10 * step, 0.05 * step))
        bar.update(state(1000, 5))
    assert 10 <= len(shown) <= 17  # not each of 101 states
    assert "<progress value='1000' max='1000'>" in shown[-1]["text/html"]
    assert shown[-1]["text/plain"] == "entries 100%, 200 entries/s, 20 kB/s, 5.0 s"
    assert "1 s left" in shown[len(shown) // 2]["text/plain"]
    assert capsys.readouterr() == ("", "")


def test_a_bar_of_itself_needs_patience_and_a_terminal(monkeypatch, capsys):
    bar = progress.PassBar(None)
    assert bar.update(state(10, 1.9))
    assert bar._bar is None
    assert bar.update(state(500, 2.1))
    assert bar._bar is None  # nobody sees it here
    monkeypatch.setenv("FORCE_COLOR", "1")  # how rich is told that this is a terminal
    with progress.PassBar(None) as bar:
        bar.update(state(10, 1.9))
        assert bar._bar is None
        bar.update(state(500, 2.5))
        assert bar._bar is not None
        assert bar._bar._bar.tasks[0].completed == 500
        assert bar._bar._bar.tasks[0].fields["speed"] == "200 entries/s, 20 kB/s"
    assert "entries/s" in capsys.readouterr().err


def test_speeds():
    assert progress._count(1234567) == "1.23M"
    assert progress._count(5e12) == "5e+03G"
    assert progress.bytes_text(999) == "999 B"
    assert progress.bytes_text(2.5e9) == "2.5 GB"


@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize("threads", [1, 3])
def test_an_interrupt_stops_a_pass(threads):
    begun, sent = threading.Event(), threading.Event()

    def wait(k):
        begun.set()
        sent.wait()
        time.sleep(0.01)
        return k

    def interrupt():
        begun.wait()
        os.kill(os.getpid(), signal.SIGINT)
        sent.set()

    frame = DataFrame(50_000_000, threads=threads).define("y", wait, ["rdfentry_"], returns="std::uint64_t")
    total, count = frame.sum("y"), frame.count()
    interrupting = threading.Thread(target=interrupt)
    interrupting.start()
    with pytest.raises(KeyboardInterrupt):
        total.value  # noqa: B018
    interrupting.join()
    assert not total.is_ready
    assert not count.is_ready
    del total  # what nobody keeps is not computed
    assert count.value == 50_000_000


def test_an_error_of_the_bar_stops_a_pass(monkeypatch):
    def broken(self, state):
        raise RuntimeError("the terminal is gone")

    monkeypatch.setattr(progress.PassBar, "update", broken)
    frame = DataFrame(10)
    with pytest.raises(RuntimeError, match="the terminal is gone"):
        frame.sum("rdfentry_").value  # noqa: B018
    monkeypatch.undo()
    assert frame.sum("rdfentry_").value == 45


def test_a_pass_that_is_stopped_can_be_made_again(monkeypatch):
    frame = DataFrame(1000)
    total = frame.sum("rdfentry_")
    monkeypatch.setattr(progress.PassBar, "update", lambda self, state: False)
    with pytest.raises(colonnade.UsageError, match="cancel"):
        total.value  # noqa: B018
    monkeypatch.undo()
    assert total.value == 499500


def test_other_threads_run_while_a_pass_does(tmp_path):
    """The interpreter is free while no callable runs."""
    with colonnade.create(tmp_path / "f.root", "Events") as writer:
        writer.extend({"x": np.random.default_rng(0).normal(size=1_000_000)})
    frame = DataFrame("Events", tmp_path / "f.root", threads=1)
    results = [frame.sum(f"sin(x * {k}) + cos(x * {k})") for k in range(20)]
    counted, stop = [0], threading.Event()

    def count():
        while not stop.is_set():
            counted[0] += 1

    thread = threading.Thread(target=count)
    thread.start()
    try:
        before = counted[0]
        assert results[0].value is not None
        after = counted[0]
    finally:
        stop.set()
        thread.join()
    assert after > before


def test_python_may_end_with_results_left():
    code = """
import colonnade, atexit
frame = colonnade.DataFrame(1000).define("y", lambda k: k, ["rdfentry_"])
kept = [frame.sum("y"), frame.aggregate(lambda s, y: s + y.sum(), lambda a, b: a + b, "y", 0)]
assert kept[1].value == 499500
print("done")
"""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr
    assert done.stderr == ""


@pytest.mark.parametrize(
    "work",
    [
        "data_set.arrays()",
        "frame.sum('x').value",
        "frame.define('y', lambda x: x, ['x']).sum('y').value",
        "colonnade.merge(there + '.merged', [there], overwrite=True)",
    ],
)
def test_python_may_end_while_a_thread_is_at_work(tmp_path, work):
    there = tmp_path / "f.root"
    with colonnade.create(there, "Events") as writer:
        writer.extend({"x": np.arange(100_000.0)})
    code = f"""if True:
        import colonnade, threading
        there = {str(there)!r}
        data_set, frame, begun = colonnade.open(there), colonnade.DataFrame("Events", there), threading.Event()
        def repeat():
            while True:
                {work}
                begun.set()
        threading.Thread(target=repeat, daemon=True).start()
        begun.wait()
    """
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
