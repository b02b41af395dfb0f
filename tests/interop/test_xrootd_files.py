"""Files on an XRootD server, by its own protocol on both sides: what Colonnade writes ROOT reads, and the reverse."""

from __future__ import annotations

from comparing import all_differences
from programs import dump, expected, write
from rebuilding import field_of, writable


def test_types_written_over_xrootd(xrootd, xrootd_uri, root, tmp_path):
    ((name, content),) = expected("types_sequences").items()
    fields = [field for field in content["fields"] if writable(field) and "projection_of" not in field]
    given = [field_of(field, content["values"][field["name"]], False) for field in fields]
    uri, local = xrootd_uri("f.root"), tmp_path / "local.root"
    write(uri, name, given)
    write(local, name, given)
    assert all_differences(dump(uri), dump(local)) == []
    assert all_differences(root.dump(uri), dump(local)) == []
    assert root.printed == ""


def test_root_adds_over_xrootd(xrootd, xrootd_uri, root):
    ((name, content),) = expected("types_basic").items()
    fields = [field for field in content["fields"] if writable(field) and "projection_of" not in field]
    uri = xrootd_uri("f.root")
    write(uri, f"dir/{name}", [field_of(field, content["values"][field["name"]], False) for field in fields])
    before = dump(uri)
    root.call("add_with_root", uri, "Later", "another")
    after = dump(uri)
    assert all_differences({key: after[key] for key in before}, before) == []
    assert set(after) > set(before)
