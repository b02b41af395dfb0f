"""A certificate authority of a test run, and a certificate of it for loopback, made by openssl."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

from processes import HOST, ServerError, find_program


@dataclass(frozen=True)
class Certificates:
    """Files in PEM form."""

    authority: Path
    certificate: Path
    key: Path
    client: Path
    """Certificate and key of a user, in one file as grid tools have them."""

    @property
    def folder(self) -> Path:
        """With the authority under the name that OpenSSL looks for."""
        return self.authority.parent / "authorities"


def make_certificates(folder: Path) -> Certificates:
    """Valid for a day, for 127.0.0.1 and localhost."""
    folder.mkdir(parents=True)
    made = Certificates(
        folder / "authority.pem", folder / "server.pem", folder / "server.key", folder / "client.pem"
    )
    key_options = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    authority = ["-x509", "-subj", "/CN=Colonnade tests", "-days", "1"]
    authority += ["-addext", "basicConstraints=critical,CA:TRUE", "-addext", "keyUsage=critical,keyCertSign"]
    authority_key = folder / "authority.key"
    run_openssl("req", *key_options, *authority, "-keyout", authority_key, "-out", made.authority)
    request = folder / "server.csr"
    run_openssl("req", *key_options, "-subj", "/CN=localhost", "-keyout", made.key, "-out", request)
    extensions = folder / "server.ext"
    extensions.write_text(f"subjectAltName=IP:{HOST},DNS:localhost\nextendedKeyUsage=serverAuth\n")
    signing: list[str | Path] = ["-CA", made.authority, "-CAkey", authority_key]
    signing += ["-CAcreateserial", "-days", "1"]
    run_openssl("x509", "-req", "-in", request, *signing, "-extfile", extensions, "-out", made.certificate)
    run_openssl(
        "req", *key_options, "-subj", "/CN=Somebody", "-keyout", folder / "client.key", "-out", request
    )
    run_openssl("x509", "-req", "-in", request, *signing, "-out", folder / "client.crt")
    made.client.write_bytes((folder / "client.crt").read_bytes() + (folder / "client.key").read_bytes())
    made.client.chmod(0o600)
    made.folder.mkdir()
    (made.folder / "authority.pem").write_bytes(made.authority.read_bytes())
    run_openssl("rehash", made.folder)
    return made


def run_openssl(*arguments: str | Path) -> None:
    done = subprocess.run([find_program("openssl"), *arguments], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise ServerError(f"openssl {arguments[0]} failed: {done.stderr.strip()}")
