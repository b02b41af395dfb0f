"""ROOT in a process of its own, started once: a crash there is one failed test, and what ROOT prints is seen.

The functions that can be called are those of root_tools/root_tasks.py.
"""

from __future__ import annotations

import importlib
import multiprocessing
import os
import subprocess
import sys
import tempfile
import traceback
from multiprocessing.connection import Connection
from pathlib import Path
from types import TracebackType
from typing import Any

# Seconds for one call. After a crash ROOT's own handler may hang.
_TIMEOUT = 500
_TOOLS = Path(__file__).resolve().parent / "root_tools"


class RootWorker:
    """Calls functions in the process that has ROOT. `printed` is what the last call wrote to stdout and stderr."""

    def __init__(self) -> None:
        self.printed = ""
        self._output = tempfile.TemporaryFile("w+", errors="replace")  # noqa: SIM115 (closed in __exit__)
        self._start()

    def _start(self) -> None:
        self._connection, theirs = multiprocessing.Pipe()
        self._process = subprocess.Popen(
            [sys.executable, __file__, str(theirs.fileno())],
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=self._output,
            stderr=self._output,
            # What is compiled at run time runs once, over little: optimising it takes longer, and changes no value.
            env={**os.environ, "EXTRA_CLING_ARGS": "-O0"},
        )
        theirs.close()

    def call(self, function: str, *arguments: Any, **options: Any) -> Any:
        """Run a function of root_tasks; raises RuntimeError with its traceback, or with what was printed at a crash."""
        start = self._output.seek(0, 2)
        try:
            self._connection.send((function, arguments, options))
            if not self._connection.poll(_TIMEOUT):
                self._process.kill()
            succeeded, result = self._connection.recv()
        except (EOFError, OSError):
            status = self._process.wait()
            self._read_output(start)
            self._start()
            raise RuntimeError(
                f"ROOT ended with status {status} in {function}{arguments}:\n{self.printed[:3000]}"
            ) from None
        self._read_output(start)
        if not succeeded:
            raise RuntimeError(f"{result}\n{self.printed}")
        return result

    def _read_output(self, start: int) -> None:
        self._output.seek(start)
        self.printed = self._output.read()

    def dump(self, path: Path, *names: str) -> dict[str, Any]:
        """All data sets of a file as ROOT reads them."""
        return self.call("dump", str(path), list(names))

    def __enter__(self) -> RootWorker:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._connection.close()
        self._process.wait(300)
        self._output.close()


def _serve(connection: Connection) -> None:
    sys.path.insert(0, str(_TOOLS))
    tasks = importlib.import_module("root_tasks")
    while True:
        try:
            function, arguments, options = connection.recv()
        except EOFError:
            return
        try:
            answer = (True, getattr(tasks, function)(*arguments, **options))
        except Exception:
            answer = (False, traceback.format_exc())
        sys.stdout.flush()
        connection.send(answer)


if __name__ == "__main__":
    _serve(Connection(int(sys.argv[1])))
