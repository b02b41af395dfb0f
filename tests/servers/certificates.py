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


def make_certificates(folder: Path) -> Certificates:
    """Valid for a day, for 127.0.0.1 and localhost."""
    folder.mkdir(parents=True)
    made = Certificates(folder / "authority.pem", folder / "server.pem", folder / "server.key")
    new_key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    authority_key = folder / "authority.key"
    run_openssl(
        ["req", "-x509", *new_key, "-days", "1", "-subj", "/CN=Colonnade tests"]
        + ["-keyout", str(authority_key), "-out", str(made.authority)]
        + ["-addext", "basicConstraints=critical,CA:TRUE", "-addext", "keyUsage=critical,keyCertSign"]
    )
    request = folder / "server.csr"
    run_openssl(["req", *new_key, "-subj", "/CN=localhost", "-keyout", str(made.key), "-out", str(request)])
    extensions = folder / "server.ext"
    extensions.write_text(f"subjectAltName=IP:{HOST},DNS:localhost\nextendedKeyUsage=serverAuth\n")
    run_openssl(
        ["x509", "-req", "-in", str(request), "-CA", str(made.authority), "-CAkey", str(authority_key)]
        + ["-CAcreateserial", "-days", "1", "-extfile", str(extensions), "-out", str(made.certificate)]
    )
    return made


def run_openssl(arguments: list[str]) -> None:
    done = subprocess.run([find_program("openssl"), *arguments], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise ServerError(f"openssl {arguments[0]} failed: {done.stderr.strip()}")
