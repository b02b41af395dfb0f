"""A standalone cluster of Spark on this machine: a master, and a worker with two cores."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import TracebackType

import pyspark
from processes import HOST, Process, free_port


class SparkCluster:
    """Started by `with`; `url` is what a session's `master` takes."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        port = free_port()
        self.url = f"spark://{HOST}:{port}"
        self._processes: list[Process] = []
        try:
            self._start("Master", "elected leader", ["--port", str(port)])
            options = ["--cores", "2", "--memory", "1g", "--work-dir", str(folder / "work"), self.url]
            self._start("Worker", "Successfully registered", options)
        except BaseException:
            self.stop()
            raise

    def _start(self, what: str, said: str, options: list[str]) -> None:
        home = Path(pyspark.__file__).parent
        program = [str(home / "bin" / "spark-class"), f"org.apache.spark.deploy.{what.lower()}.{what}"]
        log = self._folder / f"{what}.log"
        environment = {"SPARK_HOME": str(home), "SPARK_LOCAL_IP": HOST, "PYSPARK_PYTHON": sys.executable}
        process = Process([*program, "--host", HOST, "--webui-port", "0", *options], log, environment)
        self._processes.append(process)
        process.wait_until(lambda: re.search(said, log.read_text(errors="replace")) is not None)

    def stop(self) -> None:
        for process in reversed(self._processes):
            process.stop()

    def __enter__(self) -> SparkCluster:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
