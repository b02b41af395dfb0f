"""Servers as child processes: found, started on free ports of loopback, waited for, stopped by process id."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

REPOSITORY = Path(__file__).resolve().parents[2]
HOST = "127.0.0.1"
START_SECONDS = 240.0
GONE_SECONDS = 30.0
"""How long an outage waits to be noticed."""
STOP_SECONDS = 10.0


class ServerError(RuntimeError):
    """A server is missing or did not start; the text says what to do, or what the server said."""


def find_program(name: str) -> str:
    """The path of a server's program: from PATH, or from where tools/bootstrap.sh puts it."""
    places = [os.environ.get("PATH", ""), str(REPOSITORY / ".venv" / "bin"), str(Path(sys.prefix) / "bin")]
    found = shutil.which(name, path=os.pathsep.join([*places, "/usr/sbin", "/sbin"]))
    if found is None:
        raise ServerError(f"the program {name} is missing; to install it, run: tools/bootstrap.sh test")
    return found


def free_port() -> int:
    """A loopback port that is free at the moment."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


def answers(port: int) -> bool:
    """Whether a server listens there."""
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex((HOST, port)) == 0


def refuse(port: int, attempts: int, seconds: float) -> bool:
    """Reset a number of connections to a port without a server; False if fewer came in time."""
    deadline = time.monotonic() + seconds
    with socket.socket() as door:
        door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        door.bind((HOST, port))
        door.listen()
        for _ in range(attempts):
            door.settimeout(max(0.01, deadline - time.monotonic()))
            try:
                connection, _ = door.accept()
            except TimeoutError:
                return False
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            connection.close()
    return True


@contextmanager
def back_after(missed: Callable[[], bool], come_back: Callable[[], None]) -> Iterator[None]:
    """Call `come_back` once `missed` has returned, beside the block. It must have returned True."""
    noticed = []

    def wait() -> None:
        try:
            noticed.append(missed())
        finally:
            come_back()

    beside = threading.Thread(target=wait)
    beside.start()
    try:
        yield
    finally:
        beside.join()
    assert noticed == [True], "nobody noticed that the server was gone"


def ending_with_parent(command: Sequence[str]) -> list[str]:
    """Return a command whose process ends when its parent does, even where that was killed and could not stop it.

    What another thread than the first one starts would end with the thread: nothing is arranged then. A `preexec_fn`
    would run in a forked child, where handlers of libraries such as XrdCl may wait for threads of the parent.
    """
    if threading.current_thread() is not threading.main_thread():
        return [*command]
    return ["setpriv", "--pdeathsig", "TERM", "--", *command]


class Process:
    """One server process, with its output in a file."""

    def __init__(
        self,
        command: Sequence[str],
        log: Path,
        environment: Mapping[str, str] | None = None,
        folder: Path | None = None,
    ) -> None:
        self.log = log
        self.name = Path(command[0]).name
        with log.open("ab") as output:
            self._child = subprocess.Popen(
                ending_with_parent(command),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env={**os.environ, **(environment or {})},
                cwd=folder,
            )

    @property
    def pid(self) -> int:
        return self._child.pid

    def is_running(self) -> bool:
        return self._child.poll() is None

    def wait_until(self, ready: Callable[[], bool], seconds: float = START_SECONDS) -> None:
        """Return once `ready` says so. ServerError with the log if the process ends before or takes too long."""
        deadline = time.monotonic() + seconds
        while not ready():
            if not self.is_running():
                raise ServerError(
                    self.report(f"{self.name} ended with code {self._child.returncode} at its start")
                )
            if time.monotonic() > deadline:
                raise ServerError(self.report(f"{self.name} was not ready after {seconds:.0f} s"))
            time.sleep(0.02)

    def report(self, problem: str) -> str:
        """The problem with the last lines that the server said."""
        said = self.log.read_text(errors="replace").splitlines()[-40:] if self.log.exists() else []
        return "\n".join([problem, *(f"  {line}" for line in said or ["(it said nothing)"])])

    def kill(self) -> None:
        """Stop it as a crash does."""
        if self.is_running():
            self._child.kill()
        self._child.wait()

    def pause(self) -> None:
        """Let it answer nothing, with its connections open."""
        self._child.send_signal(signal.SIGSTOP)
        # On a busy machine, other threads go on answering until the first one has taken the signal.
        self.wait_until(self._is_paused)

    def _is_paused(self) -> bool:
        try:
            threads = [(each / "stat").read_text() for each in Path(f"/proc/{self.pid}/task").iterdir()]
        except OSError:  # one has just ended
            return False
        return all(thread.rpartition(")")[2].split()[0] == "T" for thread in threads)

    def resume(self) -> None:
        self._child.send_signal(signal.SIGCONT)

    def has_unread_requests(self) -> bool:
        """Whether a client has sent something to a port of this process, which is paused, that it has not read."""
        sockets = set()
        for entry in Path(f"/proc/{self.pid}/fd").iterdir():
            target = os.readlink(entry)
            if target.startswith("socket:["):
                sockets.add(target.removeprefix("socket:[").removesuffix("]"))
        rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
        own = [row for row in rows if row[9] in sockets]
        listening = {row[1].split(":")[1] for row in own if row[3] == "0A"}
        return any(
            row[1].split(":")[1] in listening and int(row[4].split(":")[1], 16) > 0
            for row in own
            if row[3] == "01"
        )

    def stop(self) -> None:
        """Ask it to end, and make it end if it does not."""
        if self.is_running():
            self._child.send_signal(signal.SIGCONT)
            self._child.terminate()
            try:
                self._child.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                self._child.kill()
        self._child.wait()


class Server(ABC):
    """A server of one process on a port of its own, ready when the constructor returns; to be used with `with`."""

    def __init__(self, folder: Path, name: str) -> None:
        self.folder = folder
        self.name = name
        self.port = 0
        self.process: Process | None = None
        folder.mkdir(parents=True, exist_ok=True)
        self.start()

    @abstractmethod
    def command(self) -> list[str]:
        """How the server is started on `self.port`."""

    def own_environment(self) -> dict[str, str]:
        """What the server's own environment has besides."""
        return {}

    def environment(self) -> dict[str, str]:
        """What a program needs to know to use the server: environment variables."""
        return {}

    def start(self) -> None:
        """Start, or start again on the same port. Another process may take a free port before it is used."""
        attempts = 1 if self.port else 3
        for attempt in range(1, attempts + 1):
            if attempts > 1:
                self.port = free_port()
            self.process = Process(
                self.command(), self.folder / f"{self.name}.log", self.own_environment(), self.folder
            )
            try:
                self.process.wait_until(lambda: answers(self.port))
                return
            except ServerError:
                self.stop()
                if attempt == attempts:
                    raise

    def running(self) -> Process:
        """The process; ServerError if there is none."""
        if self.process is None:
            raise ServerError(f"the server {self.name} is not running")
        return self.process

    def kill(self) -> None:
        """Stop it as a crash does; start() brings it back with the same address and data."""
        self.running().kill()
        self.process = None

    @contextmanager
    def gone_until_missed(self, attempts: int = 2) -> Iterator[None]:
        """The server is gone, and comes back while the block is at work: when so many connections were refused."""
        self.kill()
        with back_after(lambda: refuse(self.port, attempts, GONE_SECONDS), self.start):
            yield

    def stop(self) -> None:
        if self.process is not None:
            self.process.stop()
            self.process = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
