"""Writing from many threads."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor

import awkward as ak
import numpy as np
import pytest
import uproot

import colonnade
from colonnade.arrays.columns import flatten

SCHEMA = {"n": "std::int64_t", "pt": "std::vector<float>"}
THREADS = 4
PARTS = 5
PART = 1000


def part_of(thread, part):
    """Entries that are like no others, so that nothing can be lost or mixed up unnoticed."""
    first = (thread * PARTS + part) * PART
    numbers = np.arange(first, first + PART)
    lists = ak.unflatten(np.arange(PART * 2, dtype=np.float32) + first, np.full(PART, 2))
    return {"n": numbers, "pt": lists}


def fill_from_threads(writer, *, clusters=True):
    def work(thread):
        with writer.context() as context:
            for part in range(PARTS):
                context.extend(part_of(thread, part))
                if clusters:
                    context.commit_cluster()
        return context.num_entries

    with ThreadPoolExecutor(THREADS) as pool:
        assert list(pool.map(work, range(THREADS))) == [PARTS * PART] * THREADS


def check(arrays):
    """All entries are there, and those of a part stand together."""
    numbers = ak.to_numpy(arrays["n"])
    assert sorted(numbers.tolist()) == list(range(THREADS * PARTS * PART))
    parts = numbers.reshape(-1, PART)
    np.testing.assert_array_equal(parts - parts[:, :1], np.broadcast_to(np.arange(PART), parts.shape))
    first = parts[:, :1] + np.arange(PART) * 2
    np.testing.assert_array_equal(ak.to_numpy(arrays["pt"])[:, 0], first.reshape(-1).astype(np.float32))


@pytest.mark.parametrize(
    "options", [{}, {"compression": "none", "direct_io": True}, {"parallel_sealing": True}]
)
def test_entries_of_many_threads_arrive(tmp_path, options):
    path = tmp_path / "f.root"
    with colonnade.create_parallel(path, "Events", SCHEMA, **options) as writer:
        fill_from_threads(writer)
        assert writer.num_entries == THREADS * PARTS * PART
    check(colonnade.open(path).arrays())
    assert colonnade.open(path).verify() > 0
    with uproot.open(path) as file:
        check(file["Events"].arrays())


def test_staged_order_is_the_same_in_every_run(tmp_path):
    path = tmp_path / "f.root"
    with colonnade.create_parallel(path, "Events", SCHEMA, cluster_order="staged") as writer:
        contexts = [writer.context() for _ in range(THREADS)]

        def work(thread):
            with contexts[thread] as context:
                for part in range(PARTS):
                    context.extend(part_of(thread, part))
                    context.commit_cluster()

        with ThreadPoolExecutor(THREADS) as pool:
            list(pool.map(work, reversed(range(THREADS))))
    expected = np.arange(THREADS * PARTS * PART)
    np.testing.assert_array_equal(colonnade.open(path).arrays(library="np")["n"], expected)


def test_staged_clusters_are_added_in_turns(tmp_path):
    path = tmp_path / "f.root"
    with (
        colonnade.create_parallel(path, "Events", {"n": "std::int32_t"}, cluster_order="staged") as writer,
        writer.context() as first,
        writer.context() as second,
    ):
        for turn in (0, 10):
            for context, n in ((second, turn + 1), (first, turn)):
                context.fill(n=n)
                context.commit_cluster()
            writer.commit_staged()
        writer.commit()
        assert colonnade.open(path).arrays()["n"].to_list() == [0, 1, 10, 11]


def test_single_entries(tmp_path):
    path = tmp_path / "f.root"
    with colonnade.create_parallel(path, "Events", SCHEMA) as writer:

        def work(thread):
            with writer.context() as context:
                for number in range(10):
                    context.fill(n=10 * thread + number, pt=[0.5] * number)

        with ThreadPoolExecutor(THREADS) as pool:
            list(pool.map(work, range(THREADS)))
    arrays = colonnade.open(path).arrays()
    assert sorted(arrays["n"].tolist()) == list(range(10 * THREADS))
    assert ak.num(arrays["pt"]).tolist() == [number % 10 for number in arrays["n"].tolist()]


def test_an_error_in_one_thread_leaves_the_others_alone(tmp_path):
    path = tmp_path / "f.root"
    with colonnade.create_parallel(path, "Events", SCHEMA) as writer:
        together = threading.Barrier(THREADS)

        def work(thread):
            with writer.context() as context:
                context.extend(part_of(thread, 0))
                together.wait()
                if thread == 1:
                    context.extend({"n": [1.5], "pt": [[1.0]]})

        with ThreadPoolExecutor(THREADS) as pool:
            done = [pool.submit(work, thread) for thread in range(THREADS)]
        assert isinstance(done[1].exception(), colonnade.Error)
        assert [each.exception() for each in done if each is not done[1]] == [None] * (THREADS - 1)
    numbers = colonnade.open(path).arrays(library="np")["n"]
    kept = [thread for thread in range(THREADS) if thread != 1]
    expected = np.concatenate([part_of(thread, 0)["n"] for thread in kept])
    np.testing.assert_array_equal(np.sort(numbers), expected)


def test_an_exception_leaves_what_was_committed(tmp_path):
    path = tmp_path / "f.root"

    def fail():
        with colonnade.create_parallel(path, "Events", SCHEMA) as writer:
            with writer.context() as context:
                context.extend(part_of(0, 0))
            writer.commit()
            with writer.context() as context:
                context.extend(part_of(0, 1))
            raise KeyError("on the way")

    with pytest.raises(KeyError):
        fail()
    assert colonnade.open(path).num_entries == PART


COUNT = "import colonnade, sys; print(colonnade.open(sys.argv[1], 'Events').num_entries)"


def test_an_exception_is_all_that_is_said_of_open_contexts(tmp_path):
    def fail():
        with colonnade.create_parallel(tmp_path / "f.root", "Events", SCHEMA) as writer:
            contexts = [writer.context(), writer.context()]
            contexts[0].extend(part_of(0, 0))
            raise KeyError("on the way")

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(KeyError):
            fail()
        gc.collect()
    assert list(tmp_path.iterdir()) == []


def test_another_process_reads_up_to_a_checkpoint(tmp_path):
    path = tmp_path / "f.root"
    with colonnade.create_parallel(path, "Events", SCHEMA, checkpoint_every=1) as writer:
        fill_from_threads(writer)
        seen = subprocess.run([sys.executable, "-c", COUNT, path], capture_output=True, text=True, check=True)
        assert int(seen.stdout) == THREADS * PARTS * PART
        with writer.context() as context:
            context.extend(part_of(9, 0))
            seen = subprocess.run(
                [sys.executable, "-c", COUNT, path], capture_output=True, text=True, check=True
            )
            assert int(seen.stdout) == THREADS * PARTS * PART
    assert colonnade.open(path).num_entries == (THREADS * PARTS + 1) * PART


def test_the_interpreter_is_free_while_a_context_works(tmp_path):
    turns = 0
    stop = threading.Event()

    def count():
        nonlocal turns
        while not stop.is_set():
            turns += 1
            stop.wait(0.0001)

    data = {"x": np.random.default_rng(3).normal(size=2_000_000)}
    counting = threading.Thread(target=count)
    with colonnade.create_parallel(
        tmp_path / "f.root", "Events", {"x": "double"}, compression="zstd:9"
    ) as writer:
        with writer.context() as context:
            counting.start()
            # One call, most of which is compression: had it kept the interpreter, there were hardly a turn.
            context._append(flatten(context._fields["x"], ak.to_layout(data["x"])))
            context.commit_cluster()
        stop.set()
        counting.join()
    assert turns > 20


# ---- Misuse


def test_a_writer_waits_for_its_contexts(tmp_path):
    writer = colonnade.create_parallel(tmp_path / "f.root", "Events", SCHEMA)
    context = writer.context()
    context.extend(part_of(0, 0))
    with pytest.raises(colonnade.UsageError) as refused:
        writer.close()
    assert refused.value.data_set == "Events"
    context.close()
    context.close()
    writer.close()
    writer.close()
    assert colonnade.open(tmp_path / "f.root").num_entries == PART
    with pytest.raises(colonnade.UsageError, match="closed"):
        context.extend(part_of(0, 1))
    with pytest.raises(colonnade.UsageError, match="closed"):
        writer.context()


def test_a_schema_is_needed(tmp_path):
    with pytest.raises(colonnade.UsageError, match="needs a schema"):
        colonnade.create_parallel(tmp_path / "f.root", "Events")
    with pytest.raises(colonnade.UsageError, match="has no option 'colour'"):
        colonnade.create_parallel(tmp_path / "f.root", "Events", SCHEMA, colour="red")
    assert not (tmp_path / "f.root").exists()


def test_forgotten_writers_say_so(tmp_path):
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        writer = colonnade.create_parallel(tmp_path / "f.root", "Events", SCHEMA)
        context = writer.context()
        del context
        gc.collect()
        del writer
        gc.collect()
    mine = [each.category for each in seen if str(tmp_path) in str(each.message)]
    assert mine == [ResourceWarning, ResourceWarning]


@pytest.mark.parametrize("there", [False, True])
def test_a_writer_that_is_forgotten_together_with_its_contexts(tmp_path, there):
    file = tmp_path / "f.root"
    if there:
        with colonnade.create(file, "Events", SCHEMA):
            pass
    kept = [colonnade.create_parallel(file, "Events", SCHEMA)]
    kept += [kept[0].context(), kept[0].context(), kept]
    kept[1].extend(part_of(0, 0))
    kept[1].commit_cluster()
    kept[1].extend(part_of(0, 1))
    kept[2].extend(part_of(1, 0))
    kept[2].close()
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        del kept
        gc.collect()
    mine = [each.category for each in seen if str(tmp_path) in str(each.message)]
    assert mine == [ResourceWarning, RuntimeWarning if there else ResourceWarning]
    assert colonnade.open(file).num_entries == (0 if there else 3 * PART)


def test_wrong_values_are_refused_whole(tmp_path):
    with (
        colonnade.create_parallel(tmp_path / "f.root", "Events", SCHEMA) as writer,
        writer.context() as context,
    ):
        with pytest.raises(colonnade.TypeMismatchError):
            context.extend({"n": [1]})
        with pytest.raises(colonnade.TypeMismatchError):
            context.fill(n=1, pt="text")
        context.fill(n=1, pt=[])
    assert colonnade.open(tmp_path / "f.root").num_entries == 1


def test_projections_and_encodings(tmp_path):
    path = tmp_path / "f.root"
    with colonnade.create_parallel(
        path,
        "Events",
        SCHEMA,
        encodings={"pt._0": "Real16"},
        projections={"p": ("std::vector<float>", {"p": "pt", "p._0": "pt._0"})},
    ) as writer:
        fill_from_threads(writer)
    data_set = colonnade.open(path)
    assert data_set.schema["pt._0"].encodings == ("Real16",)
    assert ak.array_equal(data_set["p"], data_set["pt"])
