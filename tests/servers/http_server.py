"""A web server (nginx, on a folder), plain or with TLS and HTTP/2.

/files/      reading, writing, renaming; index pages
/nomove/     the same files, no renaming
/readonly/   the same files, no writing, no index pages
/noranges/   the same files, always as a whole
/notail/     the same files, with other ranges than the last bytes
/basic/      the same files, for a user with a password
/bearer/     the same files, for who has the token in `token_file`
/cert/       the same files, for who has a certificate (with TLS)
/moved/      sends on to /files/ under another name of the host
/movedbearer/ the same to /bearer/
"""

from __future__ import annotations

import http.client
import secrets
import ssl
import time
from base64 import b64encode
from dataclasses import dataclass
from hashlib import sha1
from pathlib import Path

from certificates import make_certificates
from processes import HOST, Server, find_program

# Of all servers of a run.
USER = "somebody"
PASSWORD = secrets.token_hex(8)
TOKEN = f"e30.{secrets.token_urlsafe(24)}.sig"

CONFIGURATION = """
daemon off;
master_process off;
user {user};
pid {folder}/nginx.pid;
error_log {folder}/error.log;
events {{ worker_connections 1024; }}
http {{
  types {{ text/html html; application/octet-stream root; }}
  default_type application/octet-stream;
  map_hash_bucket_size 256;
  client_max_body_size 0;
  sendfile on;
  keepalive_requests 100000;
  client_body_temp_path {folder}/body;
  proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi;
  scgi_temp_path {folder}/scgi;
  log_format requests '$request_method $uri $status "$http_range" "$http_authorization" $server_protocol '
                      '$ssl_client_verify $host $http_if_match';
  access_log {folder}/requests.log requests;
  map $http_authorization $has_token {{
    default 0;
    "Bearer {token}" 1;
  }}
  server {{
    listen {host}:{port} {listen};
    {tls}
    location /files/ {{ alias {data}/; autoindex on; dav_methods PUT DELETE MOVE; dav_access user:rw; }}
    location /nomove/ {{ alias {data}/; dav_methods PUT DELETE; dav_access user:rw; }}
    location /readonly/ {{ alias {data}/; }}
    location /noranges/ {{ alias {data}/; max_ranges 0; }}
    location /notail/ {{
      if ($http_range ~ "^bytes=-") {{ return 400; }}
      alias {data}/;
    }}
    location /basic/ {{ alias {data}/; auth_basic "tests"; auth_basic_user_file {folder}/users; }}
    location /bearer/ {{
      if ($has_token = 0) {{ return 401; }}
      alias {data}/;
    }}
    location /cert/ {{
      if ($ssl_client_verify != SUCCESS) {{ return 403; }}
      alias {data}/;
    }}
    location /moved/ {{ rewrite ^/moved/(.*)$ $scheme://localhost:{port}/files/$1 redirect; }}
    location /movedbearer/ {{ rewrite ^/movedbearer/(.*)$ $scheme://localhost:{port}/bearer/$1 redirect; }}
  }}
}}
"""


@dataclass(frozen=True)
class Request:
    """A line of the server's log."""

    method: str
    path: str
    status: int
    range: str
    authorization: str
    protocol: str


class HttpServer(Server):
    """Serves `data`; `url` is that of /files/."""

    def __init__(self, folder: Path, *, tls: bool = False) -> None:
        self.tls = tls
        self._questions = 0
        self.data = folder / "data"
        self.data.mkdir(parents=True)
        self.certificates = make_certificates(folder / "certificates") if tls else None
        self._program = find_program("nginx")
        (folder / "users").write_text(
            f"{USER}:{{SHA}}{b64encode(sha1(PASSWORD.encode()).digest()).decode()}\n"
        )
        super().__init__(folder, "https" if tls else "http")

    def url_at(self, port: int) -> str:
        """The URL where a proxy stands in front of the server."""
        return f"{'https' if self.tls else 'http'}://{HOST}:{port}"

    @property
    def url(self) -> str:
        return self.url_at(self.port)

    def command(self) -> list[str]:
        tls = ""
        if self.certificates:
            tls = (
                f"ssl_certificate {self.certificates.certificate}; ssl_certificate_key {self.certificates.key};"
                f"ssl_client_certificate {self.certificates.authority}; ssl_verify_client optional;"
            )
        configuration = self.folder / "nginx.conf"
        configuration.write_text(
            CONFIGURATION.format(
                user="root",
                folder=self.folder,
                data=self.data,
                host=HOST,
                port=self.port,
                listen="ssl http2" if self.tls else "",
                tls=tls,
                token=TOKEN,
            )
        )
        return [
            self._program,
            "-p",
            str(self.folder),
            "-c",
            str(configuration),
            "-e",
            f"{self.folder}/error.log",
        ]

    @property
    def log(self) -> Path:
        return self.folder / "requests.log"

    def _settled_log(self) -> list[str]:
        """Lines about all that was answered: the server writes them after the answer, in this order."""
        self._questions += 1
        last = f"/logged-{self._questions}"
        client = http.client.HTTPConnection(HOST, self.port, timeout=120)
        if self.tls:
            context = ssl._create_unverified_context()
            client = http.client.HTTPSConnection(HOST, self.port, timeout=120, context=context)
        client.request("GET", last)
        client.getresponse().read()
        client.close()
        deadline = time.monotonic() + 120
        while True:
            lines = self.log.read_text().splitlines()
            if any(f" {last} " in line for line in lines):
                return [line for line in lines if " /logged-" not in line]
            assert time.monotonic() < deadline, "the web server logs nothing"
            time.sleep(0.001)

    def requests(self) -> list[Request]:
        """All requests since forget_requests()."""
        found = []
        for line in self._settled_log():
            front, asked_range, _, authorization, rest = line.split('"')
            method, path, status = front.split()
            found.append(Request(method, path, int(status), asked_range, authorization, rest.split()[0]))
        return found

    def forget_requests(self) -> None:
        self._settled_log()
        self.log.write_text("")

    def environment(self) -> dict[str, str]:
        kind = "HTTPS" if self.tls else "HTTP"
        values = {
            f"COLONNADE_TEST_{kind}": self.url,
            f"COLONNADE_TEST_{kind}_DATA": str(self.data),
            f"COLONNADE_TEST_{kind}_LOG": str(self.log),
            "COLONNADE_TEST_HTTP_USER": f"{USER}:{PASSWORD}",
            "COLONNADE_TEST_HTTP_TOKEN": TOKEN,
            # The server runs as another user than the tests.
            "XDG_RUNTIME_DIR": str(self.folder),
            "NETRC": str(self.folder / "no-netrc"),
            "NO_PROXY": f"{HOST},localhost",
            "no_proxy": f"{HOST},localhost",
        }
        if self.certificates:
            values["X509_CERT_DIR"] = str(self.certificates.folder)
            values["COLONNADE_TEST_CLIENT_CERTIFICATE"] = str(self.certificates.client)
        return values
