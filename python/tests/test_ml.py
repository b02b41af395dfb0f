"""Batches for machine learning: every row once, as a seed orders them, whoever asks."""

from __future__ import annotations

import copy
import pickle
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import colonnade
from colonnade import _core, ml

ENTRIES = 1000


def written(folder: Path, entries: int) -> list[str]:
    """Two files with 60 % and 40 % of the entries in small clusters; x says which entry it is."""
    schema = {
        "x": "std::int64_t",
        "y": "float",
        "v": "std::vector<float>",
        "flag": "bool",
        "s": "std::string",
        "o": "std::optional<int>",
    }
    paths = []
    for name, first, last in (("a", 0, entries * 6 // 10), ("b", entries * 6 // 10, entries)):
        path = str(folder / f"{name}.root")
        with colonnade.create(path, "Events", schema) as writer:
            for begin in range(first, last, 50):
                numbers = np.arange(begin, min(begin + 50, last))
                writer.extend(
                    {
                        "x": numbers,
                        "y": numbers / 2,
                        "v": ak.Array([[float(k)] * (k % 4) for k in numbers.tolist()]),
                        "flag": numbers % 3 == 0,
                        "s": [str(k) for k in numbers.tolist()],
                        "o": ak.Array([k if k % 2 else None for k in numbers.tolist()]),
                    }
                )
                writer.commit_cluster()
        paths.append(path)
    return paths


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """All the entries."""
    return written(tmp_path_factory.mktemp("ml"), ENTRIES)


@pytest.fixture(scope="module")
def few(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """A tenth of them, for windows of a few rows, each of which is a pass."""
    return written(tmp_path_factory.mktemp("few"), ENTRIES // 10)


@pytest.fixture
def frame(files: list[str], monkeypatch: pytest.MonkeyPatch) -> colonnade.DataFrame:
    """Parts of 30 entries, so that windows hold several."""
    monkeypatch.setenv("COLONNADE_TEST_PART_ENTRIES", "30")
    return colonnade.DataFrame("Events", files)


def entries_of(batches: Iterator[ml.Batch] | ml.Batches) -> list[list[int]]:
    """The entries of each batch."""
    return [batch.entry.tolist() for batch in batches]


def flat(batches: list[list[int]]) -> list[int]:
    """The entries of all batches."""
    return [entry for batch in batches for entry in batch]


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_every_row_comes_once_and_with_its_values(
    frame: colonnade.DataFrame, few: list[str], data: st.DataObject
) -> None:
    """Random settings: the rows of a plain mask, values that belong to their entries, the same order again."""
    size, window = data.draw(st.integers(1, 300)), data.draw(st.integers(1, 1500))
    count = ENTRIES
    if window < 20:
        frame, count = colonnade.DataFrame("Events", few), ENTRIES // 10
    cut = data.draw(st.integers(0, count))
    shuffle, seed = data.draw(st.booleans()), data.draw(st.integers(0, 5))
    node = frame.filter(f"x % 7 != 0 && x < {cut}").define("z", "2 * y")

    def made(**more: Any) -> ml.Batches:
        return ml.Batches(
            node,
            ["z", "v"],
            target="flag",
            batch_size=size,
            window=window,
            shuffle=shuffle,
            seed=seed,
            **more,
        )

    numbers = np.arange(count)
    wanted = set(numbers[(numbers % 7 != 0) & (numbers < cut)].tolist())
    batches = made()
    found = list(batches)
    entries = [entry for batch in found for entry in batch.entry.tolist()]
    assert len(entries) == len(wanted) == batches.num_rows
    assert set(entries) == wanted
    assert len(found) == len(batches)
    assert all(len(batch.entry) == size for batch in found[:-1])
    if not shuffle:
        assert entries == sorted(entries)
    for batch in found:
        numbers = batch.entry
        assert np.array_equal(batch.features["z"], numbers.astype(np.float64))
        assert np.array_equal(batch.target, numbers % 3 == 0)
        assert np.array_equal(np.diff(batch.features["v"].offsets), numbers % 4)
        assert np.array_equal(batch.features["v"].values, np.repeat(numbers, numbers % 4).astype(np.float32))

    whole = entries_of(iter(found))
    kept = made(in_memory=True, threads=1)
    assert entries_of(kept) == whole
    assert entries_of(batches) == entries_of(kept)  # the second epoch

    workers = data.draw(st.integers(1, 4))
    shares = [entries_of(made().shared_batches(worker, workers)) for worker in range(workers)]
    assert [shares[k % workers][k // workers] for k in range(len(whole))] == whole

    stop = data.draw(st.integers(0, len(whole)))
    begun, resumed = made(), made()
    iterator = iter(begun)
    first = [next(iterator).entry.tolist() for _ in range(stop)]
    resumed.load_state_dict(pickle.loads(pickle.dumps(begun.state_dict())))
    assert first + entries_of(resumed) == whole

    world = data.draw(st.integers(2, 4))
    ranks = [made().for_rank(rank, world) for rank in range(world)]
    full = len(wanted) // (size * world)
    if wanted and not full:
        with pytest.raises(colonnade.UsageError, match=rf"{len(wanted)} rows are not a batch of {size}"):
            list(ranks[0])
        return
    each = [entries_of(rank) for rank in ranks]
    assert [len(rank) for rank in ranks] == [len(of_rank) for of_rank in each] == [full] * world
    assert all(len(batch) == size for of_rank in each for batch in of_rank)
    together = [entry for of_rank in each for batch in of_rank for entry in batch]
    assert len(set(together)) == len(together)
    assert set(together) <= wanted


def test_another_seed_and_another_epoch_are_other_orders(frame: colonnade.DataFrame) -> None:
    """Shuffling mixes entries from several places, and anew in each epoch."""
    batches = ml.Batches(frame, ["x"], batch_size=100, window=500)
    first, second = entries_of(batches), entries_of(batches)
    assert batches.epoch == 2
    assert first != second
    assert entries_of(ml.Batches(frame, ["x"], batch_size=100, window=500, seed=1)) not in (first, second)
    assert all(np.ptp(batch) > 150 for batch in first)
    batches.set_epoch(0)
    assert entries_of(batches) == first


def test_a_split_is_that_of_the_entries(frame: colonnade.DataFrame) -> None:
    """Both sides together are all rows; filters do not move an entry to the other side."""
    train, validation = ml.Batches(frame, ["x"], batch_size=64).split(0.75, seed=7)
    left, right = flat(entries_of(train)), flat(entries_of(validation))
    assert sorted(left + right) == list(range(ENTRIES))
    assert right == sorted(right)
    assert 700 < len(left) < 800
    narrow, _ = ml.Batches(frame.filter("flag"), ["x"], batch_size=64).split(0.75, seed=7)
    assert set(flat(entries_of(narrow))) == {entry for entry in left if entry % 3 == 0}
    test, rest = validation.split(0.5)
    assert sorted(flat(entries_of(test)) + flat(entries_of(rest))) == right
    other, _ = ml.Batches(frame, ["x"], batch_size=64).split(0.75, seed=8)
    assert set(flat(entries_of(other))) != set(left)


def test_matrix_padding_and_weights(frame: colonnade.DataFrame) -> None:
    """Padded lists are columns of the matrix; weights of classes multiply those of rows."""
    batches = ml.Batches(
        frame,
        ["y", "v"],
        target="flag",
        weight="y + 1",
        pad={"v": 2},
        pad_value=-1,
        matrix=True,
        dtype="float32",
        class_weights="balanced",
        batch_size=ENTRIES,
        shuffle=False,
    )
    (batch,) = batches
    numbers = np.arange(ENTRIES)
    lists = [([float(k)] * min(k % 4, 2) + [-1.0, -1.0])[:2] for k in range(ENTRIES)]
    wanted = np.column_stack([numbers / 2, np.array(lists)])
    assert batch.features.dtype == np.float32
    assert np.array_equal(batch.features, wanted.astype(np.float32))
    flags = numbers % 3 == 0
    factors = np.where(flags, ENTRIES / (2 * flags.sum()), ENTRIES / (2 * (~flags).sum()))
    assert np.allclose(batch.weight, factors * (numbers / 2 + 1))
    (given,) = ml.Batches(
        frame, ["y"], target="flag", class_weights={True: 2, False: 0.5}, batch_size=ENTRIES, shuffle=False
    )
    assert np.array_equal(given.weight, np.where(flags, 2, 0.5))


def test_drop_last_and_all_columns(files: list[str]) -> None:
    """A data set serves as well; without features, all columns but the target are meant."""
    with colonnade.open(files[0], "Events") as data_set:
        batches = ml.Batches(
            colonnade.DataFrame(data_set).filter("x < 130"), ["x", "y"], batch_size=50, drop_last=True
        )
        assert [len(batch) for batch in entries_of(batches)] == [50, 50]
        assert len(batches) == 2
    frame = colonnade.DataFrame.from_arrays({"a": np.arange(5.0), "b": np.arange(5)})
    (batch,) = ml.Batches(frame, target="b", batch_size=10)
    assert list(batch.features) == ["a"]
    assert np.array_equal(batch.features["a"], batch.target)


JAX_PROGRAM = """
import sys
import jax
import numpy as np
import colonnade
from colonnade import _core, ml

frame = colonnade.DataFrame("Events", sys.argv[1:])
batch = next(iter(ml.Batches(frame, ["y", "v"], target="x", library="jax", batch_size=64, shuffle=False)))
assert isinstance(batch.features["y"], jax.Array)
assert isinstance(batch.features["v"].values, jax.Array)
assert np.array_equal(np.asarray(batch.target), np.arange(64))
assert np.array_equal(np.asarray(batch.features["v"].offsets)[:5], [0, 0, 1, 3, 6])
big = ml.Batches(frame.define("big", "x - 3000000000"), ["big"], library="jax", shuffle=False)
try:
    next(iter(big))
except colonnade.ConversionError as error:
    assert "int32" in str(error) and "x64" in str(error)
else:
    raise AssertionError("cut to 32 bits")
large = ml.Batches(frame.define("large", "x * 1e306"), ["large"], library="jax", shuffle=False, batch_size=10)
try:
    next(iter(large))
except colonnade.ConversionError as error:
    assert "float32" in str(error) and "x64" in str(error)
else:
    raise AssertionError("infinite")
jax.config.update("jax_enable_x64", True)
large.set_epoch(0)
assert float(next(iter(large)).features["large"][9]) == 9e306
big.set_epoch(0)
assert int(next(iter(big)).features["big"][1]) == 1 - 3000000000
written = colonnade.DataFrame.from_arrays({"a": jax.numpy.arange(3)}).take("a").value
assert np.array_equal(written, [0, 1, 2])
"""


def test_jax_arrays(files: list[str]) -> None:
    """Arrays of JAX, lists with their offsets. In its own process: JAX warns of every fork() after its import."""
    done = subprocess.run(
        [sys.executable, "-c", JAX_PROGRAM, *files], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("column", "dtype"),
    [
        *[("x", "int8"), ("x", "bool"), ("y", "int64"), ("v", "uint8")],
        *[("x / 1e-3", "float16"), ("v / 1e-3", "float16"), ("y / 1e-38", "float32")],
    ],
)
def test_values_that_a_dtype_cannot_hold(frame: colonnade.DataFrame, column: str, dtype: str) -> None:
    """Entries up to 1000, halves, and lists of the former."""
    batches = ml.Batches(frame, [column], dtype=dtype, batch_size=ENTRIES)
    with pytest.raises(colonnade.ConversionError, match=re.escape(f"'{column}' do not fit the type {dtype}")):
        next(iter(batches))
    small = ml.Batches(frame.filter("x == 0 || x == 1").define("z", f"{column} * 0"), ["z"], dtype=dtype)
    assert next(iter(small)).entry.tolist() in ([0, 1], [1, 0])


@pytest.mark.parametrize("matrix", [False, True])
def test_targets_and_weights_that_are_features_keep_their_types(
    frame: colonnade.DataFrame, matrix: bool
) -> None:
    frame = frame.define("id", "x + 16777217")
    settings: dict[str, Any] = {"dtype": "float32", "matrix": matrix, "shuffle": False, "batch_size": ENTRIES}
    (batch,) = ml.Batches(frame, ["id", "y"], target="id", weight="y", **settings)
    (other,) = ml.Batches(frame, ["id", "y"], target=["id", "x"], weight="id", **settings)
    wanted = np.arange(ENTRIES) + 16777217
    for each in (batch.target, other.target["id"], other.weight):
        assert each.dtype == np.int64
        assert np.array_equal(each, wanted)
    feature = batch.features[:, 0] if matrix else batch.features["id"]
    assert np.array_equal(feature, wanted.astype(np.float32))


def test_the_numbers_of_entries_are_a_column_like_others(frame: colonnade.DataFrame) -> None:
    number = "rdfentry_"
    batch = next(iter(ml.Batches(frame, [number], target=number, weight=number, dtype="float32")))
    assert (batch.features[number].dtype, batch.entry.dtype) == (np.float32, np.int64)
    for each in (batch.features[number], batch.target, batch.weight):
        assert np.array_equal(each, batch.entry)


def test_a_batch_that_is_kept_does_not_change(frame: colonnade.DataFrame) -> None:
    """The next window is read into memory of its own; columns in memory cannot be spoilt by a user of a batch."""
    batches = ml.Batches(frame, ["y"], batch_size=50, window=100, in_memory=True)
    first = next(iter(batches))
    before = first.features["y"].copy()
    list(batches)
    assert np.array_equal(first.features["y"], before)
    batches.set_epoch(0)
    for batch in batches:
        batch.features["y"][:] = -1
    batches.set_epoch(0)
    assert np.array_equal(next(iter(batches)).features["y"], before)


@pytest.mark.parametrize("shuffle", [True, False])
def test_what_is_kept_in_memory_is_nobodys_to_change(frame: colonnade.DataFrame, shuffle: bool) -> None:
    """Also where batches are cut from the columns as they are."""
    batches = ml.Batches(frame, ["y"], batch_size=300, in_memory=True, shuffle=shuffle, window=100)
    before = [batch.features["y"].copy() for batch in batches]
    batches.set_epoch(0)
    for batch in batches:
        batch.features["y"][:] = -1
    batches.set_epoch(0)
    assert all(np.array_equal(a, b.features["y"]) for a, b in zip(before, batches, strict=True))


def test_an_error_of_a_callable_reaches_the_loop(frame: colonnade.DataFrame) -> None:
    """What the thread that reads ahead meets is raised where batches are asked for."""

    def spoilt(x: Any) -> Any:
        if (x > 700).any():
            raise ValueError("spoilt")
        return x * 1.0

    batches = ml.Batches(frame.define("z", spoilt), ["z"], batch_size=50, window=100, shuffle=False)
    seen = []
    with pytest.raises(ValueError, match="spoilt"):
        seen.extend(batches)
    assert list(batches.state_dict().values()) != [0, 0, 0]


@pytest.mark.parametrize(
    ("offsets", "row", "width"),
    [
        ([0, 2], 1, 2),  # a row too many
        ([0, 2, 3], 2, 2),
        ([0, 2, 3], -1, 2),
        ([0, 2, 4], 1, 2),  # an item too many
        ([0, 1 << 40, 3], 1, 2),
        ([-1, 2, 3], 0, 2),
        ([0, 3, 2], 1, 2),  # backwards
        ([0, 2, 3], 2, 3),  # not the width of the matrix
    ],
)
def test_kernels_stay_within_their_arrays(offsets: list[int], row: int, width: int) -> None:
    values, ends = np.arange(3, dtype=np.float32), np.array(offsets, np.int64)
    with pytest.raises(ValueError, match=r".+"):
        _core.copy_lists(np.zeros(9, np.float32), values, ends, np.array([row], np.int64))
    matrix = np.zeros((2 if 0 <= row < 2 else 3, 2), np.float32)
    with pytest.raises(ValueError, match=r".+"):
        _core.fill_rows(matrix, [(values, ends, width)], np.zeros(1, np.float32))
    with pytest.raises(ValueError, match=r".+"):
        _core.fill_rows(matrix, [(values, None, 1)], np.zeros(1, np.float32))


def test_frames_stay_in_their_process(frame: colonnade.DataFrame) -> None:
    for each in (frame, frame.count()):
        with pytest.raises(
            colonnade.UnsupportedError, match=r"another process[\s\S]*multiprocessing_context='fork'"
        ):
            pickle.dumps(each)


def test_batches_go_to_other_processes(frame: colonnade.DataFrame, tmp_path: Path) -> None:
    """With callables, rows that are kept, and the position, whatever the working folder there."""
    chosen = frame.filter("x > 100").define("z", lambda x: x * 3, ["x"])
    batches, rest = ml.Batches(
        chosen, ["z", "v"], target="flag", batch_size=32, window=90, in_memory=True, class_weights="balanced"
    ).split(0.8)
    batches.set_epoch(2)
    for _ in range(3):
        next(iter(batches))
    (tmp_path / "batches").write_bytes(pickle.dumps((batches, rest)))
    program = """
import pickle, sys
batches, rest = pickle.load(open(sys.argv[1], "rb"))
state = batches.state_dict()
parts = [each.for_rank(1, 2) for each in (batches, rest)]
columns = [list(each) for each in (batches, batches, rest, *parts)]
pickle.dump((state, columns), open(sys.argv[2], "wb"))
"""
    called = [sys.executable, "-c", program, tmp_path / "batches", tmp_path / "columns"]
    subprocess.run(called, check=True, cwd="/")
    state, columns = pickle.loads((tmp_path / "columns").read_bytes())
    assert state == batches.state_dict()
    ranks = [each.for_rank(1, 2) for each in (batches, rest)]
    for each, found in zip((batches, batches, rest, *ranks), columns, strict=True):
        for batch, wanted in zip(found, each, strict=True):
            for of in (lambda b: b.features["z"], lambda b: b.features["v"].offsets, lambda b: b.weight):
                assert np.array_equal(of(batch), of(wanted))
            assert batch.entry.tolist() == wanted.entry.tolist()


LEFT = """
import copy, os, signal, sys
import colonnade
from colonnade import ml
batches = ml.Batches(colonnade.DataFrame("Events", sys.argv[2:]), ["x"], batch_size=10, window=100)
left = iter(batches)
next(left)
if sys.argv[1] == "fork" and os.fork() == 0:
    signal.alarm(60)
    own = iter(copy.copy(batches))
    next(own)
    try:
        list(left)
    except colonnade.UsageError as error:
        print(error)
    del left
if sys.argv[1] == "fork" and os.getpid() == os.getpgrp():
    assert os.wait()[1] == 0 and len(list(left)) == 99
"""


@pytest.mark.parametrize("how", ["end", "fork"])
def test_iterations_that_are_left_keep_no_process_from_ending(files: list[str], how: str) -> None:
    """Their thread can tell nothing once the interpreter is torn down, and is not there in a child."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", LEFT, how, *files],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
        start_new_session=True,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert ("cannot go on in a forked child" in done.stdout) == (how == "fork")


def test_batches_of_arrays_stay_in_their_process(frame: colonnade.DataFrame) -> None:
    batches = ml.Batches(colonnade.DataFrame.from_arrays({"x": np.arange(3.0)}), ["x"])
    with pytest.raises(
        colonnade.UnsupportedError,
        match=r"arrays in memory[\s\S]*a file[\s\S]*multiprocessing_context='fork'",
    ):
        pickle.dumps(batches)
    assert len(next(iter(copy.copy(batches))).entry) == 3
    count = frame.count()
    calls_result = frame.filter(lambda x: x < count.value, ["x"])
    with pytest.raises(colonnade.UnsupportedError, match=r"callable[\s\S]*multiprocessing_context='fork'"):
        pickle.dumps(ml.Batches(calls_result, ["x"]))


def test_iterations_have_one_position(frame: colonnade.DataFrame) -> None:
    """A second iteration continues where the first is, which ends; copies have positions of their own."""
    batches = ml.Batches(frame, ["x"], batch_size=100, window=300)
    expected = entries_of(copy.copy(batches))
    first = iter(batches)
    assert next(first).entry.tolist() == expected[0]
    second = iter(batches)
    assert next(second).entry.tolist() == expected[1]
    with pytest.raises(colonnade.UsageError, match=r"later iteration[\s\S]*copy\.copy"):
        next(first)
    assert [each.entry.tolist() for each in second] == expected[2:]
    batches.set_epoch(0)
    both = zip(batches, copy.copy(batches), strict=True)
    assert [[each.entry.tolist() for each in pair] for pair in both] == [[each] * 2 for each in expected]


def test_positions_that_are_set_stay(frame: colonnade.DataFrame) -> None:
    """An iteration that has begun goes on, and does not move them."""
    batches = ml.Batches(frame, ["x"], batch_size=100, window=300)
    expected = entries_of(copy.copy(batches))
    found = []
    for number, batch in enumerate(batches):
        found.append(batch.entry.tolist())
        if number == 1:
            batches.set_epoch(5)
    assert found == expected
    assert batches.epoch == 5


def test_misuse_is_told(frame: colonnade.DataFrame) -> None:
    """What makes no sense is refused before anything is read."""
    cases: list[tuple[type[Exception], str, dict[str, Any]]] = [
        (colonnade.TypeMismatchError, "'s' is neither numbers", {"features": ["s"]}),
        (colonnade.TypeMismatchError, "'o' is neither numbers", {"features": ["o"]}),
        (colonnade.NotFoundError, "nothing", {"features": ["nothing"]}),
        (colonnade.UsageError, "do not fit in a matrix", {"features": ["v"], "matrix": True}),
        (colonnade.UsageError, "targets and weights", {"features": ["x"], "target": "v"}),
        (colonnade.UsageError, "batch_size=0", {"features": ["x"], "batch_size": 0}),
        (colonnade.UsageError, "unknown library", {"features": ["x"], "library": "tf"}),
        (colonnade.UsageError, "a single target", {"features": ["x"], "class_weights": "balanced"}),
        (colonnade.UsageError, "length", {"features": ["v"], "pad": 0}),
        (colonnade.UsageError, "'w' in pad= is no list", {"features": ["v"], "pad": {"v": 2, "w": 2}}),
        (colonnade.UsageError, "'x' in pad= is no list", {"features": ["x"], "pad": {"x": 2}}),
        (colonnade.UsageError, "cannot be padded with -1", {"features": ["u"], "pad": 2, "pad_value": -1}),
        (
            colonnade.UsageError,
            "cannot be padded with nan",
            {"features": ["u"], "pad": 2, "pad_value": np.nan},
        ),
        (colonnade.UsageError, "cannot be padded with 0.5", {"features": ["u"], "pad": 2, "pad_value": 0.5}),
        (colonnade.UsageError, "padded with 1e", {"features": ["v"], "pad": 2, "pad_value": 1e300}),
        (colonnade.UsageError, "padded with 1000", {"features": ["v"], "pad": 2, "pad_value": 10**400}),
        *(
            (colonnade.UsageError, "cannot have the dtype", {"features": ["x"], "dtype": dtype})
            for dtype in ("U5", "complex64", "M8[s]", "O", "none", 3, "longdouble", ">f8")
        ),
        *((colonnade.UsageError, "a list of columns", {"features": features}) for features in ("x", 3)),
        (colonnade.UsageError, "seed=-1", {"seed": -1}),
        (colonnade.UsageError, "length", {"features": ["v"], "pad": 2**31}),
        *((colonnade.TypeMismatchError, "pad=", {"features": ["v"], "pad": pad}) for pad in ("x", 1.5)),
        (colonnade.TypeMismatchError, "not an expression", {"target": 3}),
        *(
            (colonnade.TypeMismatchError, "has no names", {"target": "x", "class_weights": weights})
            for weights in ("even", np.ones(2))
        ),
        (colonnade.UsageError, "too large", {"target": "x", "class_weights": {0: 10**400}}),
        (colonnade.UsageError, "'numpy'; try: one of 'np'", {"library": np}),
        (colonnade.TypeMismatchError, "is not a number", {"target": "x", "class_weights": {0: "a"}}),
    ]
    frame = frame.define("u", "static_cast<std::vector<std::uint8_t>>(v)")
    for kind, text, arguments in cases:
        with pytest.raises(kind, match=text):
            ml.Batches(frame, **{"features": ["x"], **arguments})
    with pytest.raises(colonnade.TypeMismatchError, match="not made of a dict"):
        ml.Batches({"x": [1]}, ["x"])  # type: ignore[arg-type]
    with pytest.raises(colonnade.UsageError, match="range"):
        ml.Batches(frame.range(10), ["x"])
    with pytest.raises(colonnade.UsageError, match="no weight for the class"):
        list(ml.Batches(frame, ["x"], target="flag", class_weights={True: 1}))
    with pytest.raises(colonnade.UsageError, match="fraction"):
        ml.Batches(frame, ["x"]).split(1.5)
    with pytest.raises(colonnade.UsageError, match="rank"):
        ml.Batches(frame, ["x"]).for_rank(2, 2)
    assert frame.num_runs == 0


def test_a_share_begins_where_the_batches_were_when_it_was_made(frame: colonnade.DataFrame) -> None:
    """Workers that persist go on with the next epoch."""
    batches = ml.Batches(frame, ["x"], batch_size=64, window=300)
    share = batches.shared_batches(1, 2)
    batches.set_epoch(1)
    first, second = entries_of(batches.shared_batches(1, 2)), entries_of(share)
    batches.set_epoch(0)
    assert entries_of(batches)[1::2] == second != first == entries_of(batches)[1::2]


POSITION = {"epoch": 0, "window": 0, "row": 0}


@pytest.mark.parametrize(
    ("call", "kind"),
    [
        (lambda batches: batches.set_epoch(-1), colonnade.UsageError),
        (lambda batches: list(batches.shared_batches(0, 0)), colonnade.UsageError),
        (lambda batches: list(batches.shared_batches(2, 2)), colonnade.UsageError),
        *(
            (lambda batches, state=state: batches.load_state_dict(state), colonnade.TypeMismatchError)
            for state in (None, 3, [0, 1, 2], {}, POSITION | {"epoch": "a"}, POSITION | {"row": 0.5})
        ),
        *(
            (lambda batches, name=name: batches.load_state_dict(POSITION | {name: -1}), colonnade.UsageError)
            for name in POSITION
        ),
        *(
            (
                lambda batches, name=name: [batches.load_state_dict(POSITION | {name: 2000}), *batches],
                colonnade.UsageError,
            )
            for name in ("window", "row")
        ),
    ],
)
def test_places_that_do_not_exist(
    frame: colonnade.DataFrame, call: Callable[[ml.Batches], Any], kind: type[Exception]
) -> None:
    batches = ml.Batches(frame, ["x"])
    with pytest.raises(kind):
        call(batches)
    if kind is colonnade.TypeMismatchError:
        assert batches.state_dict() == batches.state_dict() | POSITION


def resume_once(batches: ml.Batches, state: dict[str, int]) -> ml.Batch:
    batches.load_state_dict(state)
    return next(iter(batches))


@pytest.mark.parametrize(
    "other",
    [
        lambda batches, _, __: batches(seed=1),
        lambda batches, _, __: batches(window=200),
        lambda batches, _, __: batches(shuffle=False),
        lambda batches, _, __: batches().split(0.9)[0],
        lambda batches, _, __: batches().for_rank(0, 2),
        lambda batches, frame, _: batches(frame.filter("x != 17")),
        lambda batches, _, files: batches(colonnade.DataFrame("Events", [*files, files[0]])),
        lambda batches, _, files: batches(colonnade.DataFrame("Events", files, entries=(0, 990))),
    ],
)
def test_a_state_of_another_order_is_refused(
    frame: colonnade.DataFrame, files: list[str], other: Callable[..., ml.Batches]
) -> None:
    """It would give some rows twice, and others not at all; at the begin of an epoch there is nothing to mix up."""

    def made(of: colonnade.DataFrame = frame, **more: Any) -> ml.Batches:
        return ml.Batches(of, ["x"], batch_size=50, **{"window": 1000, **more})

    begun = made()
    begun.set_epoch(2)
    at_begin = begun.state_dict()
    next(iter(begun))
    resumed = other(made, frame, files)
    with pytest.raises(colonnade.UsageError, match="the state is of other data or settings"):
        resume_once(resumed, begun.state_dict())
    begin = other(made, frame, files)
    begin.load_state_dict(at_begin)
    assert begin.epoch == 2
    assert len(next(iter(begin)).entry) == 50


def test_a_state_goes_on_with_batches_of_another_size(frame: colonnade.DataFrame) -> None:
    begun = ml.Batches(frame, ["x"], batch_size=50, window=400)
    iterator = iter(begun)
    first = [next(iterator).entry.tolist() for _ in range(5)]
    resumed = ml.Batches(
        frame.define("z", "2 * x"), ["z"], batch_size=64, window=400, threads=1, in_memory=True
    )
    resumed.load_state_dict(
        {name: begun.state_dict()[name] for name in POSITION}
    )  # as older versions gave it
    rest = entries_of(resumed)
    assert sorted(flat(first) + flat(rest)) == list(range(ENTRIES))
    assert flat(rest) == flat(entries_of(iterator))


def test_class_weights_are_floats(frame: colonnade.DataFrame) -> None:
    """Whatever numbers they are given as: fractions, and integers above 64 bits, would give arrays of objects."""
    weights = {0: Fraction(1, 3), 1: 10**30}
    batch = next(iter(ml.Batches(frame, ["x"], target="flag", class_weights=weights)))
    assert np.array_equal(batch.weight, np.where(batch.target, 1e30, 1 / 3))
    assert batch.weight.dtype == np.float64


def test_nan_is_a_class(frame: colonnade.DataFrame) -> None:
    frame = frame.define("t", "x % 4 == 0 ? 0.0 / 0.0 : x % 2")
    settings: dict[str, Any] = {"target": "t", "batch_size": 300, "shuffle": False}
    for batch in ml.Batches(frame, ["x"], class_weights={0: 1, 1: 2, float("nan"): 3}, **settings):
        assert np.array_equal(batch.weight, np.where(np.isnan(batch.target), 3, batch.target + 1))
    for batch in ml.Batches(frame, ["x"], class_weights="balanced", **settings):
        assert np.allclose(batch.weight, np.where(batch.target == 1, 2 / 3, 4 / 3))


def test_numbers_of_numpy(frame: colonnade.DataFrame) -> None:
    one, two = np.int64(1), np.int64(2)
    batches = ml.Batches(frame, ["v"], batch_size=two, window=np.int32(99), seed=one, pad=two)  # type: ignore[arg-type]
    parts = batches.split(np.float32(0.5), seed=np.int32(-3))  # type: ignore[arg-type]
    assert sum(part.for_rank(one, two).num_rows for part in parts) == ENTRIES  # type: ignore[arg-type]


def test_batches_say_what_they_are(frame: colonnade.DataFrame) -> None:
    batches = ml.Batches(frame, ["x", "y"], target="flag", batch_size=100)
    assert repr(batches) == "<Batches of 100 rows: x, y, target flag>"


@pytest.mark.parametrize("library", ["torch", "jax"])
def test_a_library_that_is_not_installed_is_named(
    files: list[str], library: ml.rows.ArrayLibrary, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    frame = colonnade.DataFrame("Events", files)
    with pytest.raises(colonnade.UnsupportedError, match=f"pip install {library}"):
        ml.Batches(frame, ["x"], library=library)
    if library == "torch":
        with pytest.raises(colonnade.UnsupportedError, match="pip install torch"):
            ml.Batches(frame, ["x"]).as_torch()


FORKED = """
import copy, os, signal, sys, time
import colonnade
from colonnade import ml
waits, calls = True, []
def slow(x):
    if waits:
        calls.append(x)
        time.sleep(0.3)
    return x
frame = colonnade.DataFrame("Events", sys.argv[1:]).define("late", slow, ["x"])
batches = ml.Batches(frame, ["late"], batch_size=10, window=100)
left = iter(batches)
next(left)
before = len(calls)
while len(calls) == before:
    time.sleep(0.001)
child = os.fork()
waits = False
if child == 0:
    signal.alarm(60)
    next(iter(copy.copy(batches)))
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0 and len(list(left)) == 99
"""


def test_children_get_no_data_frame_that_is_in_use(files: list[str]) -> None:
    """A fork waits for the thread that loads the next window: in the child, nobody would release its locks."""
    program = [sys.executable, "-W", "ignore", "-c", FORKED, *files]
    subprocess.run(program, timeout=100, check=True, start_new_session=True)


def test_a_column_is_named_once(files: list[str]) -> None:
    """A matrix of ["x", "y", "x"] had two columns."""
    frame = colonnade.DataFrame("Events", files)
    for options, text in (
        ({"features": ["x", "y", "x"]}, "the feature 'x' is named twice"),
        ({"features": ["y + 1", "y + 1"], "matrix": True}, r"the feature 'y \+ 1' is named twice"),
        ({"features": [colonnade.col("x"), "x"]}, "the feature 'x' is named twice"),
        ({"features": ["y"], "target": ["x", "x"]}, "the target 'x' is named twice"),
    ):
        with pytest.raises(colonnade.UsageError, match=text):
            ml.Batches(frame, **options)  # type: ignore[arg-type]
    for features, names in ((["x", "[x]*", "y"], ["x", "y"]), (["[x]*", "y*", "x"], ["x", "y"])):
        batch = next(iter(ml.Batches(frame, features)))
        assert list(batch.features) == names
    one = ml.Batches(frame, (name for name in ("x", "y")), target="x", weight="x", matrix=True, shuffle=False)  # type: ignore[arg-type]
    batch = next(iter(one))
    assert batch.features[:3].tolist() == [[0, 0], [1, 0.5], [2, 1]]
    assert batch.target[:3].tolist() == batch.weight[:3].tolist() == [0, 1, 2]
