"""An XRootD server on a folder: plain, with TLS, with authentication, or one that only redirects to another."""

from __future__ import annotations

import os
import pwd
import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType

from certificates import make_certificates, run_openssl
from processes import HOST, Server, ServerError, find_program
from tokens import TokenIssuer

SERVICE_USER = "xrootd"
"""Whom Debian's package makes: the server does not run as root."""

# Requests are logged one a line, so that tests can count them. There is no option to listen on loopback alone.
CONFIGURATION = """\
all.role server
all.adminpath {place}/admin
all.pidpath {place}/admin
xrd.port {port}
xrd.network nodnr
xrd.allow host {host}
xrootd.trace request
"""
STORAGE = """\
all.export /
oss.localroot {data}
"""
TLS = """\
xrd.tls {certificate} {key}
xrd.tlsca certfile {authority}
xrootd.tls capable all
"""


class XrootdServer(Server):
    """Serves `data` at `uri`.

    `security` is "" (none), "sss" (a shared secret) or "ztn" (a bearer token, over TLS); `leads_to` makes it send
    clients to other servers: by the beginning of the path that they open, or the name of another request ("stat").
    """

    def __init__(
        self,
        folder: Path,
        *,
        tls: bool = False,
        security: str = "",
        leads_to: Mapping[str, XrootdServer] | None = None,
    ) -> None:
        self._program = find_program("xrootd")
        self.tls = tls or security == "ztn"
        self._security = security
        self._leads_to = leads_to or {}
        # Another user must be able to come here, and sockets have short names.
        self._place = Path(tempfile.mkdtemp(prefix="colonnade-xrootd-"))
        self.data = self._place / "data"
        for made in (self.data, self._place / "admin"):
            made.mkdir()
        self.certificates = make_certificates(self._place / "certificates") if self.tls else None
        if self.certificates:  # it is looked for by a hash of its name
            run_openssl("rehash", self.certificates.authority.parent)
        self.issuer = TokenIssuer(self._place / "issuer") if security == "ztn" else None
        self.secret = self._place / "sss.keytab"
        if security == "sss":
            self._make_secret()
        self._own()
        try:
            super().__init__(folder, "xrootd-tls" if self.tls else "xrootd")
        except BaseException:
            shutil.rmtree(self._place, ignore_errors=True)
            raise

    @property
    def uri(self) -> str:
        """The URI of the folder; a name follows."""
        return self.uri_at(self.port)

    def uri_at(self, port: int) -> str:
        return f"{'roots' if self.tls else 'root'}://{HOST}:{port}//"

    def command(self) -> list[str]:
        configuration = self._place / "xrootd.cfg"
        text = CONFIGURATION.format(place=self._place, port=self.port, host=HOST) + STORAGE.format(
            data=self.data
        )
        for what, server in self._leads_to.items():
            text += f"xrootd.redirect {HOST}:{server.port} {what}\n"
        if self.certificates:
            files = self.certificates
            text += TLS.format(certificate=files.certificate, key=files.key, authority=files.authority)
        if self._security:
            text += f"xrootd.seclib libXrdSec.so\nsec.protocol {self._security} {self._security_options()}\n"
        configuration.write_text(text)
        who = ["-R", SERVICE_USER] if os.getuid() == 0 else []
        return [self._program, *who, "-c", str(configuration)]

    def requests(self, kind: str = r"\w+") -> int:
        """How many requests there were of a kind: open, read, readv, write, stat, ..."""
        return len(re.findall(rf" req={kind} ", self.running().log.read_text(errors="replace")))

    def environment(self) -> dict[str, str]:
        name = "COLONNADE_TEST_XROOTD_TLS" if self.tls else "COLONNADE_TEST_XROOTD"
        values = {
            name: self.uri,
            f"{name}_DATA": str(self.data),
            f"{name}_PID": str(self.running().pid),
            "COLONNADE_TEST_XROOTD_LOG": str(self.running().log),
        }
        if self.certificates:
            values["X509_CERT_DIR"] = str(self.certificates.authority.parent)
        if self._security == "sss":
            values["XrdSecSSSKT"] = str(self.secret)
        return values

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        super().__exit__(kind, error, trace)
        shutil.rmtree(self._place, ignore_errors=True)

    def own_environment(self) -> dict[str, str]:
        return {"XDG_CACHE_HOME": str(self.issuer.cache)} if self.issuer else {}

    def _security_options(self) -> str:
        if self.issuer:
            library = f"libXrdAccSciTokens.so config={self.issuer.configuration}"
            return f"-tokenlib libXrdAccSciTokens.so\nofs.authorize\nofs.authlib {library}"
        return f"-s {self.secret}"

    def _make_secret(self) -> None:
        make = [find_program("xrdsssadmin"), "-k", "tests", "-u", "anybody", "-g", "usrgroup", "add"]
        done = subprocess.run([*make, str(self.secret)], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise ServerError(f"xrdsssadmin failed: {done.stdout}{done.stderr}")

    def _own(self) -> None:
        """All of it belongs to whom the server runs as; tests put files there and take them."""
        self._place.chmod(0o755)
        if os.getuid() != 0:
            return
        try:
            user = pwd.getpwnam(SERVICE_USER)
        except KeyError:
            raise ServerError(
                "there is no user xrootd; to install it, run: tools/bootstrap.sh test"
            ) from None
        for path in [self._place, *self._place.rglob("*")]:
            os.chown(path, user.pw_uid, user.pw_gid)
