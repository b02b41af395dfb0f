"""An S3 server (versitygw, on a folder) with one bucket, plain or with TLS."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from certificates import make_certificates
from processes import HOST, Server, find_program
from s3_requests import S3Requests

BUCKET = "colonnade-test"
REGION = "us-east-1"
# Of all servers of a run.
ACCESS_KEY = "test-" + secrets.token_hex(6)
SECRET_KEY = secrets.token_hex(20)


class S3Server(Server):
    """Serves `folder`/data; `endpoint` is its URL."""

    def __init__(self, folder: Path, *, tls: bool = False) -> None:
        self.tls = tls
        self.data = folder / "data"
        self.data.mkdir(parents=True)
        self.certificates = make_certificates(folder / "certificates") if tls else None
        self._program = find_program("versitygw")
        super().__init__(folder, "s3-tls" if tls else "s3")
        self.requests().create_bucket(BUCKET)

    @property
    def endpoint(self) -> str:
        return self.endpoint_at(self.port)

    def endpoint_at(self, port: int) -> str:
        """The URL where a proxy stands in front of the server."""
        return f"{'https' if self.tls else 'http'}://{HOST}:{port}"

    def requests(self) -> S3Requests:
        """A client that shares no code with Colonnade."""
        authority = self.certificates.authority if self.certificates else None
        return S3Requests(self.endpoint, ACCESS_KEY, SECRET_KEY, REGION, authority)

    def command(self) -> list[str]:
        options = ["--port", f"{HOST}:{self.port}", "--region", REGION, "--keep-alive", "--quiet"]
        if self.certificates:
            options += ["--cert", str(self.certificates.certificate), "--key", str(self.certificates.key)]
        return [self._program, *options, "posix", *self._metadata(), str(self.data.resolve())]

    def _metadata(self) -> list[str]:
        """Not every file system has the extended attributes that the server keeps metadata in."""
        try:
            os.setxattr(self.data, "user.colonnade.probe", b"1")
            os.removexattr(self.data, "user.colonnade.probe")
        except OSError:
            beside = self.folder / "metadata"
            beside.mkdir(exist_ok=True)
            return ["--sidecar", str(beside.resolve())]
        return []

    def own_environment(self) -> dict[str, str]:
        return {"ROOT_ACCESS_KEY": ACCESS_KEY, "ROOT_SECRET_KEY": SECRET_KEY}

    def environment(self) -> dict[str, str]:
        values = {
            "AWS_ACCESS_KEY_ID": ACCESS_KEY,
            "AWS_SECRET_ACCESS_KEY": SECRET_KEY,
            "AWS_REGION": REGION,
            "AWS_ENDPOINT_URL": self.endpoint,
            "COLONNADE_TEST_S3_BUCKET": BUCKET,
            "COLONNADE_TEST_S3_PID": str(self.running().pid),
            # The tests do not depend on the configuration of the user who runs them.
            "AWS_CONFIG_FILE": str(self.folder / "no-config"),
            "AWS_SHARED_CREDENTIALS_FILE": str(self.folder / "no-credentials"),
            "AWS_EC2_METADATA_DISABLED": "true",
            "NO_PROXY": HOST,
            "no_proxy": HOST,
        }
        if self.certificates:
            values["AWS_CA_BUNDLE"] = str(self.certificates.authority)
            values["COLONNADE_TEST_S3_TLS_ENDPOINT"] = self.endpoint
        return values
