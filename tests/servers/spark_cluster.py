"""A standalone cluster of Spark on this machine: a master, and workers with two cores together."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any

import pyspark
from processes import HOST, Process, free_port

# Java lives for seconds here: more than its first compiler, threads that collect garbage, and checks of Spark's own
# bytecode cost more than they save.
JAVA_OPTIONS = (
    "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote"
)
CORES = 2
"""Of all workers together."""
ENVIRONMENT = {"SPARK_LOCAL_IP": HOST, "PYSPARK_PYTHON": sys.executable, "JDK_JAVA_OPTIONS": JAVA_OPTIONS}


class SparkCluster:
    """Started by `with`; `url` is what a session's `master` takes."""

    def __init__(self, folder: Path, workers: int = 1) -> None:
        """Start a worker with two cores, or two with one each."""
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        port = free_port()
        self.url = f"spark://{HOST}:{port}"
        self._processes: list[Process] = []
        try:
            self._start("Master", "elected leader", ["--port", str(port)])
            options = ["--cores", str(CORES // workers), "--memory", "1g"]
            for number in range(workers):
                work = ["--work-dir", str(folder / f"work{number}"), self.url]
                self._start("Worker", "Successfully registered", [*options, *work], str(number))
        except BaseException:
            self.stop()
            raise

    def _start(self, what: str, said: str, options: list[str], number: str = "") -> None:
        home = Path(pyspark.__file__).parent
        program = [str(home / "bin" / "spark-class"), f"org.apache.spark.deploy.{what.lower()}.{what}"]
        log = self._folder / f"{what}{number}.log"
        environment = {"SPARK_HOME": str(home), **ENVIRONMENT}
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


@contextmanager
def session_of(cluster: SparkCluster, **environment: str) -> Iterator[Any]:
    """A session whose executors have this environment."""
    from pyspark.sql import SparkSession

    os.environ.update(ENVIRONMENT)
    builder = SparkSession.builder.master(cluster.url).config("spark.ui.enabled", "false")
    builder = builder.config("spark.driver.bindAddress", HOST).config("spark.executor.memory", "512m")
    # Tasks begin once all executors are there: on a busy machine, one may come seconds later than the other.
    builder = builder.config("spark.cores.max", str(CORES)).config(
        "spark.scheduler.minRegisteredResourcesRatio", "1"
    )
    builder = builder.config("spark.scheduler.maxRegisteredResourcesWaitingTime", "240s")
    for name, value in environment.items():
        builder = builder.config(f"spark.executorEnv.{name}", value)
    session = builder.getOrCreate()
    try:
        yield session
    finally:
        session.stop()
