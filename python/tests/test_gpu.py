"""Sealed pages and their decoding by NumPy, and by CuPy where there is a GPU: the bits and the errors of the reader."""

from __future__ import annotations

import json
import lzma
import random
import subprocess
import sys
import zlib
from pathlib import Path
from typing import Any

import awkward as ak
import cramjam
import numpy as np
import pytest
import xxhash
from gpu_doubles import Device, DeviceArray, device  # noqa: F401
from hypothesis import given
from hypothesis import strategies as st
from locations import EXPECTED, FIXTURES, shared
from root_values import same
from test_round_trip import QUIET, samples

import colonnade
from colonnade import gpu
from colonnade.gpu.backends import usable_cupy
from colonnade.gpu.decoding import to_double, to_single

pytestmark = pytest.mark.filterwarnings("ignore::colonnade.LeftOutWarning")

DATA_SETS = [
    (path.stem, data_set)
    for path in sorted(EXPECTED.glob("*.json"))
    for data_set in json.loads(path.read_text("utf-8"))
]
BACKENDS = ["numpy", *(["cupy"] if usable_cupy() else [])]
COMPRESSIONS = ["none", "zstd:5", "lz4:4", "lz4:9", "zlib:1", "lzma:1"]

ENCODINGS: dict[str, tuple[str, Any]] = {
    "bit": ("bool", "Bit"),
    "byte": ("std::byte", "Byte"),
    "char": ("char", "Char"),
    **{f"i{n}": (f"std::int{n}_t", f"Int{n}") for n in (8, 16, 32, 64)},
    **{f"u{n}": (f"std::uint{n}_t", f"UInt{n}") for n in (8, 16, 32, 64)},
    **{f"si{n}": (f"std::int{n}_t", f"SplitInt{n}") for n in (16, 32, 64)},
    **{f"su{n}": (f"std::uint{n}_t", f"SplitUInt{n}") for n in (16, 32, 64)},
    "h": ("float", "Real16"),
    "sh": ("float", "SplitReal16"),
    "f": ("float", "Real32"),
    "sf": ("float", "SplitReal32"),
    "d": ("double", "Real64"),
    "sd": ("double", "SplitReal64"),
    "df": ("double", "Real32"),
    "dsf": ("double", "SplitReal32"),
    **{f"t{bits}": ("float", ("Real32Trunc", bits)) for bits in range(10, 32)},
    **{f"q{bits}": ("float", ("Real32Quant", bits, -3.3, 2.7)) for bits in range(1, 33)},
    "dq": ("double", ("Real32Quant", 20, -3.3, 2.7)),
    **{
        f"v{kind}": ("std::vector<float>", kind)
        for kind in ("Index32", "Index64", "SplitIndex32", "SplitIndex64")
    },
}
UNSEEN = {"Switch"}  # of variants, whose encoding cannot be chosen


def numbers(random_: np.random.Generator, spec: str, encoding: Any, count: int) -> Any:
    """Values of a field that its column can hold; repetitive ones, so that they compress."""
    if spec.startswith("std::vector"):
        lengths = random_.integers(0, 4, count)
        return ak.unflatten(random_.normal(size=int(lengths.sum())).astype("f4"), lengths)
    if not isinstance(encoding, str):
        low, high = (-3.3, 2.7) if encoding[0] == "Real32Quant" else (-1e30, 1e30)
        return (
            random_.uniform(low, high, count)
            .clip(np.float32(-3.3 + 1e-6) if high < 3 else low, high)
            .astype("f4")
        )
    if spec in ("float", "double"):
        values = random_.normal(size=count).round(1).astype("f4") * random_.choice([1, 1e-6, 1e30], count)
        values[random_.random(count) < 0.1] = np.nan
        return values.astype("f4" if spec == "float" or "32" in encoding else "f8")
    dtype = {"bool": "?", "char": "u1", "std::byte": "u1"}.get(spec) or spec[5:-2]
    return (
        random_.integers(0, 1 << 62, count)
        .astype("u8")
        .view("i8")
        .__rshift__(random_.integers(40, 62))
        .astype(dtype)
    )


def write_encodings(path: Path, compression: str, seed: int) -> None:
    """One field per column type, in clusters and pages of different sizes."""
    random_ = np.random.default_rng(seed)
    schema = {name: spec for name, (spec, _) in ENCODINGS.items()}
    encodings = {name: encoding for name, (_, encoding) in ENCODINGS.items()}
    schema["either"] = "std::variant<std::int32_t,std::vector<float>>"
    options = {"page_size": int(random_.choice([64, 1000, 1 << 20])), "compression": compression}
    with colonnade.create(path, "Events", schema, encodings=encodings, **options) as writer:
        for count in random_.integers(0, 3000, 4).tolist():
            part = {
                name: numbers(random_, spec, encoding, count) for name, (spec, encoding) in ENCODINGS.items()
            }
            part["either"] = ak.Array([int(k) if k % 3 else [0.5 * k] * (k % 4) for k in range(count)])
            if count:
                writer.extend(part)
            writer.commit_cluster()


def assert_same_bits(found: ak.Array, expected: ak.Array) -> None:
    """Form, length and all buffers."""
    found = ak.to_backend(found, "cpu")
    assert found.type == expected.type
    found_form, found_length, found_buffers = ak.to_buffers(found)
    form, length, buffers = ak.to_buffers(expected)
    assert (found_form, found_length) == (form, length)
    for key, buffer in buffers.items():
        assert np.asarray(found_buffers[key]).dtype == np.asarray(buffer).dtype, key
        assert np.asarray(found_buffers[key]).tobytes() == np.asarray(buffer).tobytes(), key


# ---- The values


@pytest.mark.parametrize(("file", "name"), DATA_SETS)
@pytest.mark.parametrize("backend", BACKENDS)
def test_fixtures_of_root_give_the_bits_of_the_reader(file, name, backend):
    data_set = colonnade.open(FIXTURES / f"{file}.root", name)
    assert_same_bits(gpu.arrays(data_set, backend=backend), data_set.arrays())


if shared("*rntuple*.root"):  # the collection is not everywhere

    @pytest.mark.parametrize("path", shared("*rntuple*.root"), ids=lambda path: path.name)
    @pytest.mark.parametrize("backend", BACKENDS)
    def test_public_samples_give_the_bits_of_the_reader(path, backend):
        data_set = colonnade.open(path)
        numbers = range(min(len(data_set.descriptor.clusters), 4))
        stop = sum(data_set.descriptor.clusters[number].entries for number in numbers)
        found = gpu.arrays(data_set, clusters=numbers, backend=backend)
        assert_same_bits(found, data_set.arrays(entry_stop=stop))


@pytest.mark.parametrize("compression", COMPRESSIONS)
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("backend", BACKENDS)
def test_every_column_type_gives_the_bits_of_the_reader(tmp_path, compression, seed, backend):
    path = tmp_path / "encodings.root"
    write_encodings(path, compression, seed)
    data_set = colonnade.open(path)
    stored = {column.encoding.type for column in data_set.descriptor.columns}
    wanted = {kind if isinstance(kind, str) else kind[0] for _, kind in ENCODINGS.values()}
    assert stored >= wanted | UNSEEN
    assert_same_bits(gpu.arrays(data_set, backend=backend), data_set.arrays())


@pytest.mark.parametrize("backend", BACKENDS)
@QUIET
@given(
    sample=samples(),
    ends=st.sets(st.integers(0, 6)),
    compression=st.sampled_from(COMPRESSIONS),
)
def test_random_schemas_give_the_bits_of_the_reader(tmp_path, sample, ends, compression, backend):
    schema, entries = sample
    path = tmp_path / "random.root"
    with colonnade.create(path, "Events", schema, compression=compression) as writer:
        for number, entry in enumerate(entries):
            if number in ends:
                writer.commit_cluster()
            writer.fill(**entry)
    data_set = colonnade.open(path)
    assert_same_bits(gpu.arrays(data_set, backend=backend), data_set.arrays())
    for name in schema:
        assert_same_bits(gpu.arrays(data_set, name, backend=backend), data_set.arrays(name))


@pytest.fixture(scope="module")
def events(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three clusters with something of everything."""
    path = tmp_path_factory.mktemp("gpu") / "events.root"
    schema = {
        "x": "float",
        "jets": [{"pt": "float", "n": "std::optional<std::int32_t>"}],
        "text": "std::string",
        "either": "std::variant<std::int32_t,std::string>",
    }
    with colonnade.create(path, "Events", schema, compression="zstd:5") as writer:
        for cluster in range(3):
            for k in range(500):
                jets = [{"pt": float(k), "n": k if k % 2 else None}] * (k % 3)
                writer.fill(x=k / 7, jets=jets, text=f"entry {k % 5}", either=k if cluster != k % 2 else "a")
            writer.commit_cluster()
    return path


@pytest.mark.parametrize("backend", BACKENDS)
def test_clusters_and_paths_are_selected(events, backend):
    data_set = colonnade.open(events)
    fields = ["jets.pt", "text", "either"]
    found = ak.to_backend(gpu.arrays(data_set, fields, clusters=[2, 0], backend=backend), "cpu")
    whole = data_set.arrays(fields)
    assert found.to_list() == whole[1000:].to_list() + whole[:500].to_list()
    assert gpu.arrays(data_set, [], backend=backend).to_list() == [{}] * 1500
    assert gpu.arrays(data_set, clusters=[], backend=backend).type == data_set.arrays(entry_stop=0).type


def test_flat_arrays_go_elsewhere_by_dlpack(events):
    data_set = colonnade.open(events)
    flat = gpu.flat_arrays(data_set, ["x", "jets.pt", "text", "either"], backend="numpy")
    assert set(flat) == {"x", "jets", "jets._0", "jets._0.pt", "text", "either", "either._0", "either._1"} - {
        "jets._0"
    }  # a record has no arrays
    values = np.from_dlpack(flat["jets._0.pt"].values)
    offsets = np.from_dlpack(flat["jets"].offsets)
    whole = data_set["jets.pt"]
    assert np.asarray(values).tolist() == ak.flatten(whole).to_list()
    assert np.diff(offsets).tolist() == ak.num(whole).to_list()
    assert flat["either"].tags.tolist() == [
        1 if isinstance(each, int) else 2 for each in data_set["either"].to_list()
    ]
    assert flat["x"] == gpu.FlatField(values=flat["x"].values)


JAX_PROGRAM = """
import sys
import jax
import numpy as np
import colonnade
from colonnade import gpu

data_set = colonnade.open(sys.argv[1])
flat = gpu.flat_arrays(data_set, ["jets.pt"], backend="numpy")
values = jax.numpy.from_dlpack(flat["jets._0.pt"].values)
assert isinstance(values, jax.Array)
assert np.asarray(values).tolist() == [pt for pts in data_set["jets.pt"].to_list() for pt in pts]
"""


def test_jax_takes_flat_arrays(events):
    """In a process of its own: JAX warns of every fork() after its import, in whatever test that is."""
    done = subprocess.run(
        [sys.executable, "-c", JAX_PROGRAM, str(events)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr


# ---- The pages


def test_pages_are_those_of_the_file(events):
    data_set = colonnade.open(events)
    content = events.read_bytes()
    clusters = list(gpu.sealed(data_set, ["x", "jets.pt"], backend="numpy"))
    assert [(each.number, each.first_entry, each.entries) for each in clusters] == [
        (0, 0, 500),
        (1, 500, 500),
        (2, 1000, 500),
    ]
    for cluster in clusters:
        assert [column.field for column in cluster.columns] == ["x", "jets", "jets._0.pt"]
        assert [column.encoding.type for column in cluster.columns] == [
            "SplitReal32",
            "SplitIndex64",
            "SplitReal32",
        ]
        for column in cluster.columns:
            assert column.compression == 505
            assert int(column.pages["elements"].sum()) == column.elements
            assert column.pages["position"].tolist() == [
                p // 16 * 16 for p in column.pages["position"].tolist()
            ]
            for page, checksum in zip(column.pages, column.checksums, strict=True):
                sealed = column.data[page["position"] : page["position"] + page["size"]].tobytes()
                assert page["is_in_file"]
                assert sealed == content[page["offset"] : page["offset"] + page["size"]]
                assert checksum == xxhash.xxh3_64_intdigest(sealed)


def opened(algorithm: int, data: bytes, size: int) -> bytes:
    """The content of a block, by other libraries."""
    match gpu_algorithms()[algorithm]:
        case "none":
            return data
        case "zlib":
            return zlib.decompress(data)
        case "lzma":
            return lzma.decompress(data)
        case "lz4":
            return bytes(cramjam.lz4.decompress_block(data[8:], output_len=size))
        case "zstd":
            return bytes(cramjam.zstd.decompress(data))
    raise AssertionError(algorithm)


def gpu_algorithms() -> dict[int, str]:
    from colonnade.gpu.blocks import ALGORITHMS

    return ALGORITHMS


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_blocks_hold_the_content(tmp_path, compression):
    path = tmp_path / "blocks.root"
    write_encodings(path, compression, 1)
    data_set = colonnade.open(path)
    seen = set()
    for cluster in gpu.sealed(data_set, backend="numpy"):
        for column in cluster.columns:
            content = np.empty(column.content_size, np.uint8)
            data_set._reader.decompress_sealed(column._place, column.data, content)
            assert int(column.blocks["content_size"].sum()) == column.content_size
            for block in column.blocks:
                seen.add(gpu_algorithms()[int(block["algorithm"])])
                data = column.data[block["position"] : block["position"] + block["size"]].tobytes()
                at, size = int(block["content_position"]), int(block["content_size"])
                assert opened(int(block["algorithm"]), data, size) == content[at : at + size].tobytes()
    assert seen - {"none"} == {compression.partition(":")[0]} - {"none"}


def test_blocks_of_long_pages_follow_each_other():
    for algorithm in (101, 207, 404, 505):
        data_set = colonnade.open(FIXTURES / f"chunked_{algorithm}.root")
        columns = [column for cluster in gpu.sealed(data_set, backend="numpy") for column in cluster.columns]
        pages, counts = np.unique(
            np.concatenate([column.blocks["page"] for column in columns]), return_counts=True
        )
        assert counts.max() > 1
        assert len(pages)


# ---- What is damaged


def outcome(work: Any) -> Any:
    """A value, or the kind of error; anything but an Error of Colonnade is a failure of the test."""
    try:
        return work().to_list()
    except colonnade.Error as error:
        return type(error)
    except UnicodeDecodeError:  # a value, though no text
        return None


def damaged(path: Path, to: Path, random_: random.Random) -> None:
    """Change some bytes of the pages."""
    content = bytearray(path.read_bytes())
    data_set = colonnade.open(path)
    pages = [
        page
        for cluster in data_set.descriptor.clusters
        for column in cluster.columns
        for page in column.pages
    ]
    for page in random_.choices(pages, k=random_.randint(1, 3)):
        at = page.offset + random_.randrange(page.size + 8)
        content[at] ^= random_.randint(1, 255)
    to.write_bytes(content)


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_damaged_pages_are_refused_as_by_the_reader(tmp_path, compression):
    path, broken = tmp_path / "good.root", tmp_path / "broken.root"
    write_encodings(path, compression, 2)
    random_ = random.Random(compression)
    for _ in range(20):
        damaged(path, broken, random_)
        data_set = colonnade.open(broken)
        with pytest.raises(colonnade.ChecksumError, match="checksum is") as refused:
            gpu.arrays(data_set, backend="numpy")
        assert refused.value.uri == str(broken)
        assert refused.value.page is not None
        with pytest.raises(colonnade.ChecksumError):
            data_set.arrays()


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_damage_without_checksums_gives_the_values_or_errors_of_the_reader(tmp_path, events, compression):
    path, broken = tmp_path / "good.root", tmp_path / "broken.root"
    colonnade.copy(events, path, compression=compression)
    random_ = random.Random(compression)
    kinds = set()
    for _ in range(150):
        damaged(path, broken, random_)
        data_set = colonnade.open(broken, checksums=False)
        found = outcome(lambda: gpu.arrays(data_set, backend="numpy"))  # noqa: B023
        expected = outcome(data_set.arrays)
        if isinstance(expected, type):  # of several errors, which is found first is anybody's choice
            assert isinstance(found, type)
        else:
            assert same(found, expected)
        kinds.add(found if isinstance(found, type) else "values")
        for cluster in gpu.sealed(data_set, backend="numpy"):
            for column in cluster.columns:
                outcome(lambda: ak.Array(column.blocks["size"]))  # noqa: B023
    assert {colonnade.FormatError, colonnade.ChecksumError} & kinds


def test_damaged_metadata_is_refused(tmp_path, events):
    broken = tmp_path / "broken.root"
    content = events.read_bytes()
    random_ = random.Random(1)
    errors = 0
    for _ in range(200):
        changed = bytearray(content)
        changed[random_.randrange(len(content))] ^= random_.randint(1, 255)
        broken.write_bytes(changed)
        found = outcome(lambda: gpu.arrays(colonnade.open(broken, "Events"), backend="numpy"))
        errors += isinstance(found, type)
        assert isinstance(found, type) or found == outcome(colonnade.open(events).arrays)
    assert errors > 50


# ---- On a GPU, or what stands in for one


def assert_same_flat_arrays(device: Device, data_set: colonnade.DataSet, **options: Any) -> None:  # noqa: F811
    """Those of the device are those of the processor, which are compared with the reader's above."""
    found, expected = gpu.flat_arrays(data_set, **options), gpu.flat_arrays(data_set, backend="numpy")
    assert list(found) == list(expected)
    for path, arrays in expected.items():
        for on_device, here in zip(found[path], arrays, strict=True):
            assert (on_device is None) == (here is None)
            if here is not None:
                assert isinstance(on_device, device.array)
                assert on_device.dtype == here.dtype
                assert on_device.tobytes() == here.tobytes()


@pytest.mark.parametrize("compression", COMPRESSIONS)
@pytest.mark.parametrize("direct", [False, True])
def test_arrays_of_a_device_never_meet_those_of_the_processor(tmp_path, device, compression, direct):  # noqa: F811
    path = tmp_path / "encodings.root"
    write_encodings(path, compression, 3)
    assert_same_flat_arrays(device, colonnade.open(path), direct=direct)
    expected = {"zstd": {"Zstd"}, "lz4": {"LZ4"}, "zlib": {"Deflate"}}.get(
        compression.partition(":")[0], set()
    )
    assert set(device.asked) == expected


@pytest.mark.parametrize(("file", "name"), DATA_SETS)
def test_fixtures_of_root_on_a_device(device, file, name):  # noqa: F811
    assert_same_flat_arrays(device, colonnade.open(FIXTURES / f"{file}.root", name))


def test_damage_on_a_device(tmp_path, device, events):  # noqa: F811
    broken = tmp_path / "broken.root"
    random_ = random.Random(3)
    for _ in range(60):
        damaged(events, broken, random_)
        data_set = colonnade.open(broken)
        for direct in (False, True):
            with pytest.raises(colonnade.ChecksumError):
                gpu.flat_arrays(data_set, direct=direct)
        if device.array is DeviceArray:  # a GPU may take minutes
            trusting = colonnade.open(broken, checksums=False)
            outcome(lambda: ak.Array(gpu.flat_arrays(trusting, "x")["x"].values))  # noqa: B023


def test_pages_without_checksums_are_decompressed_by_the_processor(tmp_path, device):  # noqa: F811
    """A damaged block can keep nvCOMP busy for minutes."""
    path = tmp_path / "plain.root"
    with colonnade.create(path, "Events", {"x": "float"}, checksums=False) as writer:
        writer.extend({"x": np.arange(10_000)})
    assert_same_flat_arrays(device, colonnade.open(path))
    assert device.asked == []
    assert_same_flat_arrays(device, colonnade.open(path, checksums=False))
    assert device.asked == ["Zstd"]


REALS = np.array(
    [0.0, 1.5, 3e38, 2.0**-126, 2.0**-149, 2.0**-150, 3 * 2.0**-150, 1e-40, np.inf, 1e39, 1e-320]
)


def test_conversions_of_reals_are_those_of_the_processor():
    """In integers, since GPUs flush subnormal numbers of single precision and have one NaN."""
    random_ = np.random.default_rng(1)
    singles = random_.integers(0, 1 << 32, 100_000, dtype=np.uint64).astype(np.uint32).view(np.float32)
    doubles = random_.integers(0, 1 << 64, 100_000, dtype=np.uint64).view(np.float64)
    tiny = (random_.integers(0, 1 << 24, 100_000) + random_.choice([0, 0.25, 0.5, 0.75], 100_000)) * 2.0**-149
    wide = np.concatenate([doubles, tiny, REALS])
    with np.errstate(all="ignore"):
        assert to_double(np, singles).tobytes() == singles.astype(np.float64).tobytes()
        for values in (wide, -wide):
            assert to_single(np, values).tobytes() == values.astype(np.float32).tobytes()


@pytest.fixture(params=["store", "split"])
def scattered(tmp_path: Path, request: pytest.FixtureRequest) -> str:
    """Pages that are no stretches of a file: values of an object store, and pages over several keys."""
    place, options = {
        "store": (f"obj://{tmp_path}/store", {}),
        "split": (str(tmp_path / "split.root"), {"max_key_size": "4 KiB"}),
    }[request.param]
    values = np.random.default_rng(1).normal(size=10_000)
    with colonnade.create(place, "Events", {"x": "double"}, **options) as writer:
        writer.extend({"x": values})
    return place


def test_pages_that_lie_elsewhere(scattered):
    data_set = colonnade.open(scattered, "Events")
    assert_same_bits(gpu.arrays(data_set, backend="numpy"), data_set.arrays())


def test_direct_reading_needs_pages_of_a_file_in_one_piece(device, scattered):  # noqa: F811
    data_set = colonnade.open(scattered, "Events")
    assert_same_flat_arrays(device, data_set)
    with pytest.raises(colonnade.Error, match=r"contiguous|local"):
        gpu.flat_arrays(data_set, direct=True)


# ---- What does not work


def test_missing_libraries_are_named(events, monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", None)
    with pytest.raises(
        colonnade.UnsupportedError, match=r"CuPy is not available .*pip install cupy-cuda13x.*numpy"
    ):
        gpu.arrays(colonnade.open(events))


def test_misuse_is_refused(tmp_path, events):
    data_set = colonnade.open(events)
    with pytest.raises(colonnade.UsageError, match="unknown backend 'cuda'"):
        gpu.arrays(data_set, backend="cuda")  # type: ignore[arg-type]
    with pytest.raises(colonnade.UsageError, match="there is no cluster 3; try: 0 to 2"):
        gpu.arrays(data_set, clusters=[3], backend="numpy")
    with pytest.raises(colonnade.TypeMismatchError, match="clusters='all' is not a list of numbers"):
        gpu.arrays(data_set, clusters="all", backend="numpy")  # type: ignore[arg-type]
    with pytest.raises(colonnade.TypeMismatchError, match="is not a data set"):
        gpu.arrays(str(events), backend="numpy")  # type: ignore[arg-type]
    with pytest.raises(colonnade.UsageError, match="memory of a GPU"):
        gpu.arrays(data_set, backend="numpy", direct=True)
    with pytest.raises(colonnade.UnsupportedError, match="in one file"):
        gpu.arrays(colonnade.open([str(events), str(events)]), backend="numpy")
    with pytest.raises(colonnade.NotFoundError):
        gpu.arrays(data_set, "nothing", backend="numpy")
    assert next(iter(gpu.sealed(data_set, [], clusters=[1], backend="numpy"))).columns == ()
