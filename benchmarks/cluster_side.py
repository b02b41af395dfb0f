#!/usr/bin/env python3
"""Runs the B-mass analysis with one engine: cluster_side.py ENGINE WORKERS TIMES FILE...

ENGINE: threads, processes, dask, spark, or distrdf (ROOT's distributed RDataFrame on Dask). Workers have one thread.
"alone" are processes that each do their share by themselves: what the machine gives without any engine.
The clock runs from building the graph until the histogram is there, on workers that have done it once before; over the
files once ("short_seconds"), and over a chain that has them so many times ("seconds").
"""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import os
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import numpy as np
from frame_python import LHCB_MASS, checksum

FILTERS = (
    "!(H1_isMuon || H2_isMuon || H3_isMuon)",
    "H1_ProbK > 0.5 && H2_ProbK > 0.5 && H3_ProbK > 0.5",
    "H1_ProbPi < 0.5 && H2_ProbPi < 0.5 && H3_ProbPi < 0.5",
)
MODEL = ("B_mass", "", 500, 5050.0, 5500.0)


@contextlib.contextmanager
def dask(workers: int) -> Iterator[Any]:
    import distributed

    with (
        distributed.LocalCluster(  # type: ignore[no-untyped-call]
            n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,  # type: ignore[no-untyped-call]
    ):
        yield client


@contextlib.contextmanager
def spark(workers: int) -> Iterator[Any]:
    from pyspark.sql import SparkSession

    os.environ.update(SPARK_LOCAL_IP="127.0.0.1", PYSPARK_PYTHON=sys.executable)
    builder = SparkSession.builder.master(f"local[{workers}]")
    session = builder.config("spark.ui.enabled", "false").getOrCreate()
    yield session
    session.stop()


@contextlib.contextmanager
def alone(workers: int) -> Iterator[Any]:
    context = multiprocessing.get_context("spawn")
    barrier = context.Barrier(workers)
    with ProcessPoolExecutor(workers, mp_context=context, initializer=_meet_at, initargs=(barrier,)) as pool:
        yield pool


def _meet_at(barrier: Any) -> None:
    globals()["_barrier"] = barrier


def _share(files: list[str]) -> Any:
    globals()["_barrier"].wait()  # so that each process has one
    return analyse("threads", 1, None, files)


@contextlib.contextmanager
def engine(name: str, workers: int) -> Iterator[Any]:
    """What computes: None is this process."""
    if name in ("dask", "distrdf"):
        with dask(workers) as client:
            yield client
    elif name == "alone":
        with alone(workers) as pool:
            yield pool
    elif name == "spark":
        with spark(workers) as session:
            yield session
    else:
        yield workers if name == "processes" else None


def analyse(name: str, workers: int, executor: Any, files: list[str]) -> Any:
    """The counts of the bins."""
    if name == "distrdf":
        import ROOT  # type: ignore[import-untyped]

        frame = ROOT.RDataFrame("DecayTree", files, executor=executor, npartitions=4 * workers)
        for condition in FILTERS:
            frame = frame.Filter(condition)
        histogram = frame.Define("B_mass", LHCB_MASS).Histo1D(MODEL, "B_mass").GetValue()
        return np.array([histogram.GetBinContent(k + 1) for k in range(MODEL[2])])
    if name == "alone":
        shares = [executor.submit(_share, files[k::workers]) for k in range(workers)]
        return sum(each.result() for each in shares)
    import colonnade

    threads = workers if executor is None else 1
    df: Any = colonnade.DataFrame("DecayTree", files, threads=threads, executor=executor, progress=False)
    for condition in FILTERS:
        df = df.filter(condition)
    return df.define("B_mass", LHCB_MASS).histo1d(MODEL, "B_mass").value.values()


def main() -> None:
    name, workers, times, files = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4:]
    with engine(name, workers) as executor:
        analyse(name, workers, executor, files)
        begin = time.perf_counter()
        counts = analyse(name, workers, executor, files)
        short_seconds = seconds = time.perf_counter() - begin
        if times > 1:
            begin = time.perf_counter()
            counts = analyse(name, workers, executor, files * times)
            seconds = time.perf_counter() - begin
    found = {"seconds": seconds, "short_seconds": short_seconds, "max_rss_kib": 0}
    print(json.dumps({**found, **checksum(counts)}))


if __name__ == "__main__":
    main()
