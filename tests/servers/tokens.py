"""Bearer tokens (SciTokens) that a server on this machine accepts without asking an issuer for its key."""

from __future__ import annotations

import base64
import ctypes
import json
import sqlite3
import subprocess
import time
from pathlib import Path

from certificates import run_openssl
from processes import ServerError, find_program

ISSUER = "https://issuer.invalid"
LIBRARY = "libSciTokens.so.0"
DAY = 86400


class TokenIssuer:
    """An issuer with a key in `folder`, whose public part lies in the key cache that servers find in `cache`."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self.cache = folder / "cache"
        self._private = folder / "issuer.key"
        self._public = folder / "issuer.pem"
        run_openssl("ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", self._private)
        run_openssl("ec", "-in", self._private, "-pubout", "-out", self._public)
        self._fill_cache()
        self.configuration = folder / "scitokens.cfg"
        self.configuration.write_text(f"[Issuer tests]\nissuer = {ISSUER}\nbase_path = /\n")

    def token(self, *, seconds: int = DAY) -> str:
        """A token that may read and write everything."""
        try:
            library = ctypes.CDLL(LIBRARY)
        except OSError as error:
            raise ServerError(f"{error}; to install it, run: tools/bootstrap.sh test") from None
        library.scitoken_key_create.restype = ctypes.c_void_p
        library.scitoken_create.restype = ctypes.c_void_p
        said = ctypes.c_char_p()
        key = library.scitoken_key_create(
            b"tests", b"ES256", self._public.read_bytes(), self._private.read_bytes(), ctypes.byref(said)
        )
        token = ctypes.c_void_p(library.scitoken_create(ctypes.c_void_p(key)))
        claims = {
            "iss": ISSUER,
            "sub": "tests",
            "scope": "read:/ write:/",
            "aud": "ANY",
            "ver": "scitoken:2.0",
        }
        for name, value in claims.items():
            library.scitoken_set_claim_string(token, name.encode(), value.encode(), ctypes.byref(said))
        library.scitoken_set_lifetime(token, seconds)
        text = ctypes.c_char_p()
        if (
            library.scitoken_serialize(token, ctypes.byref(text), ctypes.byref(said)) != 0
            or text.value is None
        ):
            raise ServerError(f"no token could be made: {said.value!r}")
        return text.value.decode()

    def _fill_cache(self) -> None:
        der = subprocess.run(
            [find_program("openssl"), "ec", "-in", str(self._private), "-pubout", "-outform", "DER"],
            capture_output=True,
            check=True,
        ).stdout
        point = [base64.urlsafe_b64encode(part).rstrip(b"=").decode() for part in (der[-64:-32], der[-32:])]
        key = {
            "kid": "tests",
            "kty": "EC",
            "crv": "P-256",
            "alg": "ES256",
            "use": "sig",
            "x": point[0],
            "y": point[1],
        }
        later = int(time.time()) + DAY
        content = {"jwks": {"keys": [key]}, "expires": later, "next_update": later}
        (self.cache / "scitokens").mkdir(parents=True)
        with sqlite3.connect(self.cache / "scitokens" / "scitokens_cpp.sqllite") as database:
            database.execute(
                "CREATE TABLE keycache (issuer text UNIQUE PRIMARY KEY NOT NULL, keys text NOT NULL)"
            )
            database.execute("INSERT INTO keycache VALUES (?, ?)", (ISSUER, json.dumps(content)))
        database.close()
