#!/usr/bin/env python3
"""The B-mass analysis on Parquet: frame_parquet.py write RAW PARQUET CODEC, or polars|duckdb PARQUET.

Both with one thread and lazily, so that each pushes its filters and columns down into the scan. Written are plain pages
without dictionaries and without statistics that could not help, in row groups of DuckDB's size.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

os.environ["POLARS_MAX_THREADS"] = "1"

import numpy as np
from frame_python import checksum, resident_kib

from colonnade.samples import LHCB_SCHEMA

ROW_GROUP = 122_880
BINS, LOW, HIGH = 500, 5050.0, 5500.0
KAON2 = 493.677 * 493.677


def write(raw: Path, path: Path, codec: str) -> None:
    """The columns of the raw sample as a Parquet file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    dtypes = {name: np.dtype("<f8" if kind == "double" else "<i4") for name, kind in LHCB_SCHEMA.items()}
    events = raw.stat().st_size // sum(dtype.itemsize for dtype in dtypes.values())
    data: Any = np.memmap(raw, np.uint8, "r")
    columns, at = {}, 0
    for name, dtype in dtypes.items():
        columns[name] = data[at : at + events * dtype.itemsize].view(dtype)
        at += events * dtype.itemsize
    name, _, level = codec.partition(":")
    schema = pa.schema([(key, pa.from_numpy_dtype(value)) for key, value in dtypes.items()])
    with pq.ParquetWriter(
        path,
        schema,
        compression=name,
        compression_level=int(level) if level and name != "lz4" else None,
        use_dictionary=False,
    ) as writer:
        for first in range(0, events, ROW_GROUP):
            arrays = {key: values[first : first + ROW_GROUP] for key, values in columns.items()}
            writer.write_table(pa.table(arrays, schema=schema), row_group_size=ROW_GROUP)


def polars(path: str) -> Any:
    import polars as pl

    def energy(track: str) -> Any:
        squares: Any = sum(pl.col(f"{track}_P{axis}") ** 2 for axis in "XYZ")
        return (squares + KAON2).sqrt()

    def momentum(axis: str) -> Any:
        return sum(pl.col(f"H{track}_P{axis}") for track in (1, 2, 3)) ** 2

    masses = (
        pl.scan_parquet(path)
        .filter(
            *[pl.col(f"H{track}_isMuon") == 0 for track in (1, 2, 3)],
            *[pl.col(f"H{track}_ProbK") > 0.5 for track in (1, 2, 3)],
            *[pl.col(f"H{track}_ProbPi") < 0.5 for track in (1, 2, 3)],
        )
        .select(
            ((energy("H1") + energy("H2") + energy("H3")) ** 2 - sum(momentum(a) for a in "XYZ"))
            .sqrt()
            .alias("m")
        )
        .collect()["m"]
        .to_numpy()
    )
    masses = masses[(masses >= LOW) & (masses < HIGH)]
    return np.bincount(((masses - LOW) * (BINS / (HIGH - LOW))).astype(np.int64), minlength=BINS)


def duckdb(path: str) -> Any:
    import duckdb as db

    energy = " + ".join(
        f"sqrt(H{t}_PX*H{t}_PX + H{t}_PY*H{t}_PY + H{t}_PZ*H{t}_PZ + {KAON2})" for t in (1, 2, 3)
    )
    momenta = " - ".join(f"pow(H1_P{a} + H2_P{a} + H3_P{a}, 2)" for a in "XYZ")
    cuts = " AND ".join(f"H{t}_isMuon = 0 AND H{t}_ProbK > 0.5 AND H{t}_ProbPi < 0.5" for t in (1, 2, 3))
    query = f"""
        SELECT CAST(floor((m - {LOW}) * {BINS / (HIGH - LOW)}) AS INTEGER) AS bin, count(*) AS n
        FROM (SELECT sqrt(pow({energy}, 2) - {momenta}) AS m FROM read_parquet('{path}') WHERE {cuts})
        WHERE m >= {LOW} AND m < {HIGH} GROUP BY bin"""
    connection = db.connect(config={"threads": 1})
    found = connection.execute(query).fetchnumpy()
    counts = np.zeros(BINS, np.int64)
    counts[np.asarray(found["bin"])] = np.asarray(found["n"])
    return counts


def main() -> int:
    if len(sys.argv) == 5 and sys.argv[1] == "write":
        write(Path(sys.argv[2]), Path(sys.argv[3]), sys.argv[4])
        return 0
    engines = {"polars": polars, "duckdb": duckdb}
    if len(sys.argv) != 3 or sys.argv[1] not in engines:
        print(
            f"usage: {sys.argv[0]} write RAW PARQUET CODEC | polars PARQUET | duckdb PARQUET", file=sys.stderr
        )
        return 2
    __import__(sys.argv[1])  # imports are not measured
    wall, cpu = time.perf_counter(), time.process_time()
    counts = engines[sys.argv[1]](sys.argv[2])
    report = {"seconds": time.perf_counter() - wall, "cpu_seconds": time.process_time() - cpu}
    print(json.dumps(report | {"max_rss_kib": resident_kib("VmHWM")} | checksum(counts)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
