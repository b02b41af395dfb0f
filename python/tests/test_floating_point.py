"""A thread whose floating-point state was changed stores the same numbers and gets the same results."""

from __future__ import annotations

import ctypes
import platform
import struct
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import pytest

import colonnade
from colonnade.cli import main

# Where the C library's fenv_t has how numbers are rounded and what becomes of subnormal ones, and these bits.
_WORDS = {
    "x86_64": {"up": [("<H", 0, 0x800), ("<I", 28, 0x4000)], "zeros": [("<I", 28, 0x8040)]},
    "aarch64": {"up": [("<I", 0, 1 << 22)], "zeros": [("<I", 0, 1 << 24)]},
}
_STATES = _WORDS.get(platform.machine(), {})


@contextmanager
def floating_point(state: str) -> Iterator[None]:
    """Change the state of this thread; those that it starts inherit it."""
    library = ctypes.CDLL(None)
    before, changed = ctypes.create_string_buffer(64), ctypes.create_string_buffer(64)
    library.fegetenv(before)
    library.fegetenv(changed)
    for kind, offset, bits in _STATES[state]:
        (word,) = struct.unpack_from(kind, changed, offset)
        struct.pack_into(kind, changed, offset, word | bits)
    library.fesetenv(changed)
    try:
        yield
    finally:
        library.fesetenv(before)


@pytest.fixture(params=sorted(_STATES))
def state(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    values = np.array([1.0, 5e-324])
    with floating_point(name):
        changed = (values / 3 * np.array([1.0, 3.0])).tolist()
    assert changed != [1 / 3, 5e-324]
    return name


def numbers() -> dict[str, Any]:
    """Numbers that are rounded to single precision, some of them to subnormal numbers."""
    generator = np.random.default_rng(3)
    x = generator.normal(size=2000)
    tiny = generator.integers(1, 1 << 50, x.size).view(np.float64)
    small = np.where(np.arange(x.size) % 2 == 0, x, x * 1e-40)
    return {"x": x, "tiny": tiny, "small": small}


def same(state: str, work: Callable[[], Any]) -> None:
    """Compare results as texts, which Python makes afterwards."""
    expected = repr(work()).split(",")
    with floating_point(state):
        found = work()
    assert repr(found).split(",") == expected
    with floating_point(state), ThreadPoolExecutor(1) as pool:
        found = pool.submit(work).result()
    assert repr(found).split(",") == expected


def stored(path: Path) -> list[str]:
    with colonnade.open(path) as data_set:
        arrays = data_set.arrays()
        return [ak.to_numpy(arrays[name]).tobytes().hex() for name in arrays.fields]


SCHEMA = {"x": "float", "tiny": "double", "small": "float"}


def test_arrays_are_stored_alike(tmp_path, state):
    given = numbers()

    def write() -> list[str]:
        options: dict[str, Any] = {
            "encodings": {"x": ("Real32Quant", 20, -10.0, 10.0)},
            "parallel_sealing": True,
        }
        with colonnade.create(tmp_path / "f.root", "E", SCHEMA, **options) as writer:
            writer.extend(given)
        return stored(tmp_path / "f.root")

    same(state, write)


def test_entries_are_stored_alike(tmp_path, state):
    given = {name: values[:100].tolist() for name, values in numbers().items()}
    rows = [dict(zip(given, row, strict=True)) for row in zip(*given.values(), strict=True)]
    tiny = np.array([1e-40, 2e-45], np.float32)

    def write() -> list[str]:
        with colonnade.create(tmp_path / "f.root", "E", SCHEMA) as writer:
            for row in rows:
                writer.fill(**row)
            for value in tiny:
                writer.fill(x=value, tiny=value, small=value)
        return stored(tmp_path / "f.root")

    same(state, write)


def test_data_frames_have_the_same_results(tmp_path, state):
    with colonnade.create(tmp_path / "f.root", "E", cluster_size="4 KiB", page_size="1 KiB") as writer:
        writer.extend(numbers())

    def analyse() -> Any:
        frame = colonnade.DataFrame("E", tmp_path / "f.root").define(
            "y", "x * (1 / 3.0) + exp(x) + tiny * 0.1"
        )
        results = [frame.sum("y"), frame.mean("small"), frame.stddev("y"), frame.min("tiny")]
        low, high = -4.023889287038275, 4.1
        filled = frame.histo1d(("", "", 40, low, high), "x")
        profile = frame.profile1d(("", "", 40, low, high), "x", "y")
        arrays = frame.to_numpy(["y", "tiny"])
        frame.snapshot(tmp_path / "out.root", "E", ["x", "y", "tiny"])
        return (
            [result.value for result in results],
            filled.value.view(flow=True).tobytes().hex(),
            profile.value.view(flow=True).tobytes().hex(),
            [values.tobytes().hex() for values in arrays.values()],
            stored(tmp_path / "out.root"),
        )

    same(state, analyse)


def test_files_of_other_programs_have_the_same_numbers(tmp_path, state):
    with colonnade.create(tmp_path / "f.root", "E", SCHEMA) as writer:
        writer.extend(numbers())

    def convert() -> Any:
        colonnade.export(tmp_path / "f.root", tmp_path / "f.csv", overwrite=True)
        (tmp_path / "g.root").unlink(missing_ok=True)
        colonnade.import_table(tmp_path / "f.csv", tmp_path / "g.root")
        return (tmp_path / "f.csv").read_text(), stored(tmp_path / "g.root")

    same(state, convert)


def test_commands_print_the_same_numbers(tmp_path, state, capsys):
    with colonnade.create(tmp_path / "f.root", "E", SCHEMA) as writer:
        writer.extend(numbers())

    def show() -> str:
        with pytest.raises(SystemExit):
            main(["show", str(tmp_path / "f.root"), "--json", "--entries", "0:20"])
        return capsys.readouterr().out

    same(state, show)
