"""Files that the C++ programs wrote straight to an S3 server: read there by Colonnade, after a download by ROOT."""

from __future__ import annotations

from comparing import all_differences
from programs import dump, expected, write
from rebuilding import field_of, writable
from s3_server import BUCKET


def test_types_written_to_s3(s3, s3_uri, root, tmp_path):
    ((name, content),) = expected("types_sequences").items()
    fields = [field for field in content["fields"] if writable(field) and "projection_of" not in field]
    given = [field_of(field, content["values"][field["name"]], False) for field in fields]
    uri, local, copy = s3_uri("f.root"), tmp_path / "local.root", tmp_path / "copy.root"
    write(uri, name, given)
    write(local, name, given)
    copy.write_bytes(s3.requests().get(BUCKET, uri.removeprefix(f"s3://{BUCKET}/")))
    assert all_differences(dump(uri), dump(local)) == []
    assert all_differences(root.dump(copy), dump(local)) == []
    assert root.printed == ""


def test_root_adds_to_what_was_downloaded(s3, s3_uri, root, tmp_path):
    ((name, content),) = expected("types_basic").items()
    fields = [field for field in content["fields"] if writable(field) and "projection_of" not in field]
    uri, copy = s3_uri("f.root"), tmp_path / "copy.root"
    write(uri, f"dir/{name}", [field_of(field, content["values"][field["name"]], False) for field in fields])
    copy.write_bytes(s3.requests().get(BUCKET, uri.removeprefix(f"s3://{BUCKET}/")))
    before = dump(copy)
    root.call("add_with_root", str(copy), "Later", "another")
    after = dump(copy)
    assert all_differences({key: after[key] for key in before}, before) == []
    assert set(after) > set(before)
