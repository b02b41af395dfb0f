"""A standalone cluster of Spark on this machine, of which the master and the workers are in the driver's process."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyspark
from processes import HOST

# Java lives for seconds here: more than its first compiler, threads that collect garbage, and checks of Spark's own
# bytecode cost more than they save.
JAVA_OPTIONS = (
    "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote"
)
CORES = 2
"""Of all workers together."""
ENVIRONMENT = {"SPARK_LOCAL_IP": HOST, "PYSPARK_PYTHON": sys.executable, "JDK_JAVA_OPTIONS": JAVA_OPTIONS}


def home_in(folder: Path) -> Path:
    """Spark's own folder as links in another one: such workers keep their files in `work` below it."""
    home = folder / "home"
    home.mkdir(parents=True)
    for each in Path(pyspark.__file__).parent.iterdir():
        if each.name != "work":
            (home / each.name).symlink_to(each)
    return home


@contextmanager
def spark_session(folder: Path, workers: int = 1, **environment: str) -> Iterator[Any]:
    """A session of a worker with two cores, or two with one each, whose executors have this environment."""
    from pyspark.sql import SparkSession

    os.environ.update(ENVIRONMENT, SPARK_HOME=str(home_in(folder)))
    builder = SparkSession.builder.master(f"local-cluster[{workers},{CORES // workers},1024]")
    builder = builder.config("spark.ui.enabled", "false")
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
