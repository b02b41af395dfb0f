#!/usr/bin/env python3
"""Measures `colonnade.gpu` on a GPU: columns of a file in the page cache, until their values are in GPU memory.

The sides take turns in one process, each after a warm-up: decoded by the GPU (`gpu.flat_arrays`), the same read by
KvikIO (`direct=True`, without checksums), and decoded by the processor, then copied (`DataSet.arrays`), which is what
one does without `colonnade.gpu`. The limit is the copy of the stored pages from
page-locked memory to the GPU. All must have the same values: sums are exact, and the arrays are compared bit by bit
once. Bytes are those of the decoded values. Saved are gpu.md, gpu.json and gpu.png.

    python benchmarks/gpu.py --entries 8000000 --repeats 5
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from common import (
    BenchmarkError,
    Run,
    Series,
    alternate,
    describe_machine,
    machine,
    options_for,
    ratios,
    run_main,
    save_report,
    spread,
    table_of,
)
from disk import check_space
from ml import COLUMNS, decoded_bytes, write

CODECS = ("none", "zstd:5", "lz4:4", "zlib:1")
KINDS = ("numbers", "lists")


def exact_sum(xp: Any, values: list[Any]) -> float:
    """Values are multiples of 1/1024, so that sums of doubles are exact in any order."""
    return sum(float(xp.sum(each, dtype="f8")) for each in values)


def timed(work: Callable[[], list[Any]]) -> Run:
    """Run until the GPU is idle, and add up what was found."""
    import cupy  # type: ignore[import-not-found]

    begin = time.perf_counter()
    values = work()
    cupy.cuda.Device().synchronize()
    seconds = time.perf_counter() - begin
    return {"seconds": seconds, "total": exact_sum(cupy, values)}


def sides_of(path: Path, columns: list[str]) -> dict[str, Callable[[], Run]]:
    import awkward as ak
    import cupy

    import colonnade
    from colonnade import gpu

    data, unchecked = colonnade.open(path), colonnade.open(path, checksums=False)

    def on_gpu(data_set: Any, **options: Any) -> list[Any]:
        flat = gpu.flat_arrays(data_set, columns, **options)
        return [field.values for field in flat.values() if field.values is not None]

    def on_processor() -> list[Any]:
        buffers = ak.to_buffers(data.arrays(columns))[2]
        moved = {key: cupy.asarray(buffer) for key, buffer in buffers.items()}
        return [buffer for key, buffer in moved.items() if key.endswith("-data")]

    pages = [
        column.data for cluster in gpu.sealed(data, columns, backend="numpy") for column in cluster.columns
    ]

    def copied() -> list[Any]:
        for each in pages:
            cupy.asarray(each)
        return []

    return {
        "GPU": lambda: timed(lambda: on_gpu(data)),
        "direct": lambda: timed(lambda: on_gpu(unchecked, direct=True)),
        "processor": lambda: timed(on_processor),
        "copy": lambda: timed(copied),
    }


def check(path: Path, columns: list[str], series: dict[str, Series]) -> None:
    """All sides have found the same values, and the GPU those of the reader, bit by bit."""
    import awkward as ak
    import numpy as np

    import colonnade
    from colonnade import gpu

    totals = {run["total"] for name, side in series.items() if name != "copy" for run in side.runs}
    if len(totals) != 1:
        raise BenchmarkError(f"the sides have different values: {sorted(totals)}")
    data = colonnade.open(path)
    found = ak.to_buffers(ak.to_backend(gpu.arrays(data, columns), "cpu"))
    expected = ak.to_buffers(data.arrays(columns))
    same = found[:2] == expected[:2] and all(
        np.asarray(found[2][key]).tobytes() == np.asarray(buffer).tobytes()
        for key, buffer in expected[2].items()
    )
    if not same:
        raise BenchmarkError(f"{path}: the arrays of the GPU are not those of the reader")


def row(codec: str, kind: str, series: dict[str, Series], size: int, stored: int) -> dict[str, str]:
    def rate(name: str, size: int = size) -> str:
        return spread([size / seconds / 1e9 for seconds in series[name].seconds])

    return {
        "file": codec,
        "columns": kind,
        "GPU, GB/s": rate("GPU"),
        "direct, GB/s": rate("direct"),
        "processor then copy, GB/s": rate("processor"),
        "GPU over processor": spread(ratios(series["processor"], series["GPU"])),
        "stored": f"{stored / size:.2f}",
        "copy of stored pages, GB/s": rate("copy", stored),
    }


def stored_bytes(path: Path, columns: list[str]) -> int:
    import colonnade
    from colonnade import gpu

    clusters = gpu.sealed(colonnade.open(path), columns, backend="numpy")
    return sum(int(column.pages["size"].sum()) for cluster in clusters for column in cluster.columns)


def device_name() -> str:
    from colonnade.gpu.backends import usable_cupy

    cupy = usable_cupy()
    if cupy is None:
        raise BenchmarkError("CuPy finds no GPU; this measures nothing else")
    return str(cupy.cuda.runtime.getDeviceProperties(0)["name"].decode())


def plot(runs: dict[str, list[Run]], sizes: dict[str, int], path: Path) -> None:
    """Bars of the sides, by file and columns."""
    import statistics

    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot

    names = list(sizes)
    figure, axes = pyplot.subplots(figsize=(10, 4), layout="constrained")
    for number, side in enumerate(("GPU", "direct", "processor")):
        seconds = [statistics.median(run["seconds"] for run in runs[f"{name}: {side}"]) for name in names]
        rates = [sizes[name] / each / 1e9 for name, each in zip(names, seconds, strict=True)]
        axes.bar([at + 0.27 * number for at in range(len(names))], rates, width=0.25, label=side)
    axes.set_xticks([at + 0.27 for at in range(len(names))], names, rotation=20)
    axes.set_ylabel("GB of values per second, in GPU memory")
    axes.legend()
    figure.savefig(path, dpi=110)
    pyplot.close(figure)


def main() -> int:
    parser = options_for(__doc__, 5)
    parser.add_argument("--entries", type=int, default=8_000_000)
    parser.add_argument("--codecs", nargs="+", choices=CODECS, default=list(CODECS))
    options = parser.parse_args()
    about = {**machine(), "gpu": device_name()}
    rows: list[dict[str, str]] = []
    runs: dict[str, list[Run]] = {}
    sizes: dict[str, int] = {}
    with tempfile.TemporaryDirectory(prefix="bench-gpu-", dir=options.work) as folder:
        check_space(Path(folder), options.entries * 120)
        for codec in options.codecs:
            path = Path(folder) / "events.root"
            write(path, options.entries, codec)
            for kind in KINDS:
                columns = [*COLUMNS[kind], "label"]
                sides = sides_of(path, columns)
                for side in sides.values():
                    side()
                series = alternate(options.repeats, sides)
                check(path, columns, series)
                size = sizes[f"{codec}, {kind}"] = decoded_bytes(path, kind)
                rows.append(row(codec, kind, series, size, stored_bytes(path, columns)))
                runs |= {f"{codec}, {kind}: {name}": side.runs for name, side in series.items()}
                print(rows[-1], flush=True)
            path.unlink()
    lines = [
        "# Columns in GPU memory",
        "",
        f"{about['gpu']}; {os.cpu_count()} threads of the processor.",
        *describe_machine(about),
        f"{options.entries} entries, {options.repeats} rounds in turns; median (range).",
        "",
        *table_of(rows),
        "",
        "![Rates](gpu.png)",
    ]
    print(save_report(options.output, "gpu", lines, {"about": about, "rows": rows, "runs": runs}))
    plot(runs, sizes, options.output / "gpu.png")
    return 0


if __name__ == "__main__":
    run_main(main)
