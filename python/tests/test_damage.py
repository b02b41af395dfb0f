"""Damaged files: a bit of every byte of a small one changed in turn, and truncated ones."""

from __future__ import annotations

import pytest
from root_values import same

import colonnade

SCHEMA = {
    "id": "std::int32_t",
    "text": "std::string",
    "jets": [{"pt": "float", "n": "std::optional<std::int8_t>"}],
    "either": "std::variant<std::int16_t,std::string>",
}


@pytest.fixture(scope="module", params=["root", "bare"])
def small(request, tmp_path_factory):
    path = tmp_path_factory.mktemp("damage") / "small.root"
    with colonnade.create(path, "Events", SCHEMA, compression="none", container=request.param) as writer:
        for number in range(3):
            jets = [{"pt": float(number), "n": number if number % 2 else None}] * number
            writer.fill(id=number, text="ab" * number, jets=jets, either=number if number % 2 else "x")
    return path


@pytest.fixture(scope="module")
def values(small):
    return colonnade.open(small).arrays().to_list()


def reading(path, **options):
    """The values, or the error; anything but an Error of Colonnade is a failure of the test."""
    try:
        return colonnade.open(path, "Events", **options).arrays().to_list()
    except colonnade.Error as error:
        return error
    except UnicodeDecodeError:  # a value, though no text
        return None


def changed(content, path):
    """Write the file with one bit of each byte changed in turn, and yield the position."""
    damaged = bytearray(content)
    for position in range(len(content)):
        damaged[position] ^= 1 << (position % 8)
        path.write_bytes(damaged)
        yield position
        damaged[position] = content[position]


def test_changed_bit_gives_an_error_or_the_right_values(small, values, tmp_path):
    path = tmp_path / "changed.root"
    content = small.read_bytes()
    errors = 0
    for position in changed(content, path):
        found = reading(path)
        assert isinstance(found, colonnade.Error) or same(found, values), position
        errors += isinstance(found, colonnade.Error)
    assert errors > len(content) // 4


@pytest.mark.parametrize("small", ["bare"], indirect=True)
def test_changed_bit_is_safe_without_checksums(small, tmp_path):
    path = tmp_path / "changed.root"
    for _ in changed(small.read_bytes(), path):
        reading(path, checksums=False)


def test_truncated_file_gives_an_error_or_the_right_values(small, values, tmp_path):
    path = tmp_path / "truncated.root"
    content = small.read_bytes()
    for length in range(0, len(content), 5):
        path.write_bytes(content[:length])
        found = reading(path)
        assert isinstance(found, colonnade.Error) or same(found, values), length
