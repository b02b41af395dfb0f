"""Files on an XRootD server, by its own protocol on both sides: what Colonnade writes ROOT reads, and the reverse."""

from __future__ import annotations

import pytest
from comparing import all_differences
from processes import REPOSITORY
from programs import dump, expected, write
from rebuilding import field_of, writable


def test_types_written_over_xrootd(xrootd_uri, root, tmp_path):
    ((name, content),) = expected("types_sequences").items()
    fields = [field for field in content["fields"] if writable(field) and "projection_of" not in field]
    given = [field_of(field, content["values"][field["name"]], False) for field in fields]
    uri, local = xrootd_uri("f.root"), tmp_path / "local.root"
    write(uri, name, given)
    write(local, name, given)
    assert all_differences(dump(uri), dump(local)) == []
    assert all_differences(root.dump(uri), dump(local)) == []
    assert root.printed == ""


@pytest.mark.parametrize("name", ["compression_505", "chunked_505", "encodings_reals"])
def test_files_of_root_are_read_over_xrootd(xrootd, name):
    local = REPOSITORY / "tests" / "fixtures" / f"{name}.root"
    (xrootd.data / f"{name}.root").write_bytes(local.read_bytes())
    there = dump(f"{xrootd.uri}{name}.root")
    assert there
    assert all_differences(there, dump(local)) == []
