"""A child forked while other threads read, write and compute can do all of that, and its parent goes on unharmed.

And what happens where no thread or process can be started.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

import awkward as ak

from colonnade.importing.kept_columns import _Uses
from colonnade.locks import ProcessLock

# A process of its own, since it forks among its threads. NumPy's generators have a lock of their own, which a child may
# find taken: children do without.
PROGRAM = """
    import faulthandler, os, signal, sys, threading, time
    import numpy as np
    import colonnade
    from colonnade import DataFrame

    folder, seed = sys.argv[1], int(sys.argv[2])
    there = f"{folder}/f.root"
    with colonnade.create(there, "Events", {"x": "double", "v": "std::vector<float>"}) as writer:
        for _ in range(8):
            writer.extend({"x": np.random.rand(50_000), "v": np.ones((50_000, 3), "f4")})
            writer.commit_cluster()
    total = DataFrame("Events", there).sum("x").value

    def compute(place):
        assert DataFrame("Events", there).sum("x").value == total

    def read(place):
        assert len(colonnade.open(there)["x"]) == 400_000

    def read_through_cache(place):
        assert len(colonnade.open(there, cache=f"{place}.cache")["x"]) == 400_000

    def write(place, scheme="", ending=".root"):
        target = f"{scheme}{place}{ending}"
        with colonnade.create(target, "Events", {"x": "double"}) as writer:
            for _ in range(3):
                writer.extend({"x": np.arange(100_000.0)})
                writer.commit_cluster()
        assert np.array_equal(colonnade.open(target)["x"].to_numpy(), np.tile(np.arange(100_000.0), 3))

    def write_to_store(place):
        write(place, "obj://", "")

    works = [compute, read, read_through_cache, write, write_to_store]
    ends = threading.Event()
    failures = []

    def repeat(work, place):
        try:
            while not ends.is_set():
                work(place)
        except BaseException as error:
            failures.append(f"{work.__name__}: {error!r}")

    threads = [threading.Thread(target=repeat, args=(work, f"{folder}/parent{k}")) for k, work in enumerate(works)]
    for thread in threads:
        thread.start()
    pause = np.random.default_rng(seed)
    for number in range(30):
        time.sleep(pause.uniform(0, 0.03))
        child = os.fork()
        if child == 0:
            faulthandler.dump_traceback_later(50)
            signal.alarm(60)
            try:
                works[number % len(works)](f"{folder}/child{number}")
                os._exit(0)
            except BaseException as error:
                print(f"child {number}: {error!r}", file=sys.stderr, flush=True)
                os._exit(1)
        if number % 2:
            _, status = os.waitpid(child, 0)
            if status:
                failures.append(f"child {number} of {works[number % len(works)].__name__} ended with {status}")
    try:
        while True:
            _, status = os.waitpid(-1, 0)
            if status:
                failures.append(f"a child ended with {status}")
    except ChildProcessError:
        pass
    ends.set()
    for thread in threads:
        thread.join()
    sys.stdout.write("\\n".join(failures))
    sys.stdout.flush()
    os._exit(bool(failures))
"""


def check_program(text: str, folder: Path, **environment: str) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", textwrap.dedent(text), str(folder)],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
        env={**os.environ, **environment},
    )
    assert done.returncode == 0, done.stderr[-3000:]


def test_children_among_threads(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", textwrap.dedent(PROGRAM), str(tmp_path), "7"],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr[-3000:]


# A thread is in a callable while a child is forked, whose callables share memory and so run one at a time.
IN_A_CALLABLE = """
    import os, signal, sys, threading
    import numpy as np
    import colonnade
    from colonnade import DataFrame

    there = f"{sys.argv[1]}/f.root"
    with colonnade.create(there, "Events") as writer:
        writer.extend({"x": np.arange(100.0)})
    begun, ends = threading.Event(), threading.Event()

    def waits(x):
        begun.set()
        ends.wait()
        return x

    memory = np.zeros(1000)

    def shares(x):
        memory[: len(x)] = x
        return memory[: len(x)]

    def total(function):
        return DataFrame("Events", there).define("y", function, ["x"], returns="double").sum("y").value

    found = []
    thread = threading.Thread(target=lambda: found.append(total(waits)))
    thread.start()
    begun.wait()
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        os._exit(total(shares) != 4950)
    _, status = os.waitpid(child, 0)
    ends.set()
    thread.join()
    sys.exit(f"{status}, {found}" if status or found != [4950] else 0)
"""

# A child uses what computes on processes of its parent. Another one lives on when the parent ends.
WITH_PROCESSES = """
    import os, signal, sys
    import numpy as np
    import colonnade
    from colonnade import DataFrame
    from colonnade.distributed.engines import Processes

    if __name__ == "__main__":
        there = f"{sys.argv[1]}/f.root"
        with colonnade.create(there, "Events") as writer:
            writer.extend({"x": np.arange(100.0)})
        df = DataFrame("Events", there, executor=1, progress=False)
        assert df.sum("x").value == 4950
        child = os.fork()
        if child == 0:
            signal.alarm(60)
            right = df.max("x").value == 99
            for each in Processes._shared.values():
                each.close()
            os._exit(not right)
        _, status = os.waitpid(child, 0)
        if status:
            sys.exit(f"the child ended with {status}")
        assert df.min("x").value == 0
        if os.fork() == 0:
            sys.exit()
        os.wait()
        if os.fork() == 0:
            sys.stdin.read()
            os._exit(0)
"""


def test_callables_of_a_child_do_not_wait_for_its_parent(tmp_path: Path) -> None:
    check_program(IN_A_CALLABLE, tmp_path)


def test_children_have_processes_of_their_own(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(textwrap.dedent(WITH_PROCESSES))
    with (tmp_path / "errors").open("w+") as errors:
        parent = subprocess.Popen(
            [sys.executable, "-W", "ignore", program, tmp_path], stdin=subprocess.PIPE, stderr=errors
        )
        assert parent.stdin is not None
        try:
            parent.wait(100)
        finally:
            parent.kill()
            parent.stdin.close()  # the child ends
        errors.seek(0)
        said = errors.read()
        assert parent.returncode == 0, said[-3000:]
        assert not said


# A thread of the parent waits for a server while a child is forked: the child is told, and may open it again.
WHILE_READING = """
    import http.server, os, signal, sys, threading
    import numpy as np
    import colonnade

    there = f"{sys.argv[1]}/f.root"
    with colonnade.create(there, "Events", compression="none") as writer:
        writer.extend({"x": np.arange(100_000.0)})
    content = open(there, "rb").read()
    holds, begun, ends = threading.Event(), threading.Event(), threading.Event()

    class Handler(http.server.BaseHTTPRequestHandler):
        def log_request(self, *_):
            pass

        def do_GET(self):
            if holds.is_set():
                begun.set()
                ends.wait()
            first, last = self.headers["Range"].removeprefix("bytes=").split("-")
            begin = int(first) if first else max(0, len(content) - int(last))
            end = min(int(last) + 1, len(content)) if first else len(content)
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {begin}-{end - 1}/{len(content)}")
            self.send_header("Content-Length", str(end - begin))
            self.end_headers()
            self.wfile.write(content[begin:end])

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    data = colonnade.open(f"http://127.0.0.1:{server.server_address[1]}/f.root", "Events")
    holds.set()
    found = []
    thread = threading.Thread(target=lambda: found.append(float(np.sum(data.to_numpy("x")["x"]))))
    thread.start()
    begun.wait()
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        try:
            data.to_numpy("x")
        except colonnade.UsageError as error:
            os._exit("while the process was forked" not in str(error))
        os._exit(2)
    _, status = os.waitpid(child, 0)
    ends.set()
    thread.join()
    sys.exit(f"{status}, {found}" if status or found != [4999950000.0] else 0)
"""


def test_a_child_does_not_wait_for_a_thread_of_its_parent_that_reads(tmp_path: Path) -> None:
    check_program(WHILE_READING, tmp_path, NO_PROXY="127.0.0.1", no_proxy="127.0.0.1")


# A thread of the parent has its turn at a writer while a child is forked.
WHILE_WRITING = """
    import os, signal, sys, threading
    import colonnade

    writer = colonnade.create(f"{sys.argv[1]}/f.root", "Events", {"v": "std::vector<int>"})
    begun, ends = threading.Event(), threading.Event()

    class Waits:
        def __iter__(self):
            begun.set()
            ends.wait()
            return iter([1])

    thread = threading.Thread(target=lambda: writer.fill(v=Waits()))
    thread.start()
    begun.wait()
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        try:
            writer.close()
        except colonnade.UsageError as error:
            os._exit("forked from" not in str(error))
        os._exit(2)
    _, status = os.waitpid(child, 0)
    ends.set()
    thread.join()
    writer.close()
    found = colonnade.open(writer.uri)["v"].tolist()
    sys.exit(f"{status}, {found}" if status or found != [[1]] else 0)
"""


def test_a_child_does_not_wait_for_a_thread_of_its_parent_that_writes(tmp_path: Path) -> None:
    check_program(WHILE_WRITING, tmp_path)


def status_of_child(work: Callable[[], object]) -> int:
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        work()
        os._exit(0)
    return os.waitpid(child, 0)[1]


def test_a_child_does_not_wait_for_locks_of_its_parent() -> None:
    lock = ProcessLock()
    with lock:
        assert status_of_child(lock.__enter__) == 0
    with lock:
        pass


def test_a_child_does_not_wait_for_cached_properties_of_its_parent() -> None:
    layout = ak.Array([{"x": 1}]).layout
    kind = next(each for each in type(layout).__mro__ if "minmax_depth" in vars(each))
    lock = vars(vars(kind)["minmax_depth"]).get("lock", nullcontext())  # of Python 3.12 on, there is none
    is_held, ends = threading.Event(), threading.Event()

    def hold() -> None:
        with lock:
            is_held.set()
            ends.wait()

    holder = threading.Thread(target=hold)
    holder.start()
    is_held.wait()
    try:
        assert status_of_child(lambda: layout.minmax_depth) == 0
    finally:
        ends.set()
        holder.join()


def test_what_a_child_has_open_does_not_stay_locked(tmp_path: Path) -> None:
    """A lock of a file belongs to all who have it open, and so does its end."""
    ready, wait = os.pipe()
    with _Uses.locked(str(tmp_path)):
        child = os.fork()
        if child == 0:
            os.close(wait)
            os.read(ready, 1)
            os._exit(0)
    with _Uses.locked(str(tmp_path), waits=False):
        os.close(wait)
    assert os.waitpid(child, 0)[1] == 0


# New threads would need stacks larger than the address space. What works without threads is right; all else is an error
# that says what to change, and works later.
WITHOUT_THREADS = """
    import contextlib, ctypes, multiprocessing.popen_spawn_posix, os, sys
    import numpy as np
    import uproot
    import colonnade
    from colonnade import DataFrame, ml
    from colonnade.distributed.engines import Processes

    folder = sys.argv[1]
    parts = [f"{folder}/{number}.root" for number in range(3)]
    for part in parts:
        with colonnade.create(part, "Events") as writer:
            for _ in range(3):
                writer.extend({"x": np.arange(50_000.0)})
                writer.commit_cluster()
    with uproot.recreate(f"{folder}/tree.root") as file:
        file.mktree("Events", {"x": "f8"}).extend({"x": np.arange(100.0)})
    total = 9 * 1249975000.0

    @contextlib.contextmanager
    def no_threads():
        libc = ctypes.CDLL(None)
        before, large = ctypes.create_string_buffer(64), ctypes.create_string_buffer(64)
        for each in before, large:
            assert libc.pthread_getattr_default_np(each) == 0
        assert libc.pthread_attr_setstacksize(large, ctypes.c_size_t(1 << 60)) == 0
        assert libc.pthread_setattr_default_np(large) == 0
        try:
            yield
        finally:
            assert libc.pthread_setattr_default_np(before) == 0

    @contextlib.contextmanager
    def no_processes():
        def refused(*_):
            raise BlockingIOError(11, "Resource temporarily unavailable")

        launch = multiprocessing.popen_spawn_posix.Popen._launch
        multiprocessing.popen_spawn_posix.Popen._launch = refused
        try:
            yield
        finally:
            multiprocessing.popen_spawn_posix.Popen._launch = launch

    def chain():
        return colonnade.open(parts, "Events").to_numpy("x")["x"].sum()

    def write(target=f"{folder}/written.root"):
        with colonnade.create(target, "Events", {"x": "double"}, parallel_sealing=True) as writer:
            for _ in range(9):
                writer.extend({"x": np.arange(50_000.0)})
        return colonnade.open(target, "Events").to_numpy("x")["x"].sum()

    def store():
        return write(f"obj://{folder}/store")

    def frame():
        return DataFrame("Events", parts, progress=False).sum("x").value

    def merge():
        colonnade.merge(f"{folder}/merged.root", parts)
        return colonnade.open(f"{folder}/merged.root").to_numpy("x")["x"].sum()

    def tree():
        return colonnade.open(f"{folder}/tree.root").to_numpy("x")["x"].sum() * total / 4950.0

    def imported():
        colonnade.import_tree(f"{folder}/tree.root", f"{folder}/imported.root", overwrite=True)
        return colonnade.open(f"{folder}/imported.root").to_numpy("x")["x"].sum() * total / 4950.0

    def batches():
        return sum(batch.features["x"].sum() for batch in ml.Batches(DataFrame("Events", parts, progress=False), ["x"]))

    def processes():
        return DataFrame("Events", parts, executor=1, progress=False).sum("x").value

    for work, environment, works in [
        (chain, no_threads, True),
        (write, no_threads, True),
        (store, no_threads, True),
        (frame, no_threads, False),
        (merge, no_threads, False),
        (tree, no_threads, False),
        (imported, no_threads, False),
        (batches, no_threads, False),
        (processes, no_threads, False),
        (processes, no_processes, False),
    ]:
        with environment():
            try:
                found = work()
                assert works, work
                assert found == total, (work, found)
            except colonnade.Error as error:
                assert not works, (work, error)
                assert isinstance(error, colonnade.ResourceError), (work, error)
                assert "cannot start a" in str(error) and "ulimit -u" in str(error), (work, error)
        assert work is processes or work() == total, work
    for each in Processes._shared.values():
        each.close()
"""


def test_without_threads(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(textwrap.dedent(WITHOUT_THREADS))
    done = subprocess.run(
        [sys.executable, "-W", "ignore", program, tmp_path],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stderr[-3000:]


def test_an_exception_of_another_library_ends_the_program() -> None:
    program = """
        import ctypes, resource
        from colonnade import _core

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        throw = ctypes.CDLL("libstdc++.so.6")._ZSt17__throw_bad_allocv
        _core.with_standard_floating_point(throw)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == -signal.SIGABRT
    assert "std::bad_alloc" in done.stderr
