"""A small S3 client of the tests, with nothing but the standard library: it checks what Colonnade did."""

from __future__ import annotations

import datetime
import hashlib
import hmac
import http.client
import ssl
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit
from xml.etree import ElementTree


class S3Requests:
    """Path-style requests, each on a connection of its own, signed with version 4."""

    def __init__(
        self, endpoint: str, access_key: str, secret_key: str, region: str, authority: Path | None = None
    ) -> None:
        self._endpoint = urlsplit(endpoint)
        self._access_key = access_key
        self._secret_key = secret_key
        self._region = region
        self._tls = ssl.create_default_context(cafile=str(authority)) if authority else None

    def create_bucket(self, bucket: str) -> None:
        self._done("PUT", f"/{bucket}")

    def put(self, bucket: str, key: str, content: bytes) -> None:
        self._done("PUT", f"/{bucket}/{key}", body=content)

    def get(self, bucket: str, key: str) -> bytes:
        return self._done("GET", f"/{bucket}/{key}")

    def exists(self, bucket: str, key: str) -> bool:
        status, _ = self.request("HEAD", f"/{bucket}/{key}")
        return status == 200

    def delete(self, bucket: str, key: str) -> None:
        self._done("DELETE", f"/{bucket}/{key}")

    def keys(self, bucket: str, prefix: str = "") -> list[str]:
        """Of all objects whose keys begin so."""
        found: list[str] = []
        more = {"list-type": "2", "prefix": prefix}
        while True:
            page = ElementTree.fromstring(self._done("GET", f"/{bucket}", more))
            found += [text_of(item, "Key") for item in page.iter() if plain(item.tag) == "Contents"]
            token = next(
                (item.text for item in page.iter() if plain(item.tag) == "NextContinuationToken"), None
            )
            if not token:
                return found
            more["continuation-token"] = token

    def uploads(self, bucket: str, prefix: str = "") -> list[str]:
        """Keys of the multipart uploads that were begun and neither completed nor aborted."""
        page = ElementTree.fromstring(self._done("GET", f"/{bucket}", {"uploads": "", "prefix": prefix}))
        return [text_of(item, "Key") for item in page.iter() if plain(item.tag) == "Upload"]

    def complete_upload(self, request: dict[str, Any]) -> None:
        """Make an object of uploaded parts, from the input of `aws s3api complete-multipart-upload`."""
        body = ElementTree.Element("CompleteMultipartUpload")
        for each in request["MultipartUpload"]["Parts"]:
            part = ElementTree.SubElement(body, "Part")
            for name, value in each.items():
                ElementTree.SubElement(part, name).text = str(value)
        path = f"/{request['Bucket']}/{request['Key']}"
        self._done("POST", path, {"uploadId": request["UploadId"]}, ElementTree.tostring(body))

    def request(
        self, method: str, path: str, query: dict[str, str] | None = None, body: bytes = b""
    ) -> tuple[int, bytes]:
        """Status and body of the answer."""
        encoded_path = quote(path)
        encoded_query = "&".join(
            f"{quote(name, safe='')}={quote(value, safe='')}" for name, value in sorted((query or {}).items())
        )
        headers = self._signed(method, encoded_path, encoded_query, body)
        host = self._endpoint.netloc
        connection = (
            http.client.HTTPSConnection(host, timeout=300, context=self._tls)
            if self._tls
            else http.client.HTTPConnection(host, timeout=300)
        )
        try:
            connection.request(method, f"{encoded_path}?{encoded_query}", body or None, headers)
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def _done(self, method: str, path: str, query: dict[str, str] | None = None, body: bytes = b"") -> bytes:
        status, content = self.request(method, path, query, body)
        if status not in {200, 204}:
            raise RuntimeError(f"{method} {path} gave {status}: {content[:300].decode(errors='replace')}")
        return content

    def _signed(self, method: str, path: str, query: str, body: bytes) -> dict[str, str]:
        now = datetime.datetime.now(datetime.UTC).strftime("%Y%m%dT%H%M%SZ")
        headers = {
            "host": self._endpoint.netloc,
            "x-amz-content-sha256": hashlib.sha256(body).hexdigest(),
            "x-amz-date": now,
        }
        names = ";".join(headers)
        lines = [f"{name}:{value}" for name, value in headers.items()]
        canonical = "\n".join([method, path, query, *lines, "", names, headers["x-amz-content-sha256"]])
        scope = f"{now[:8]}/{self._region}/s3/aws4_request"
        text = "\n".join(["AWS4-HMAC-SHA256", now, scope, hashlib.sha256(canonical.encode()).hexdigest()])
        key = f"AWS4{self._secret_key}".encode()
        for part in scope.split("/"):
            key = hmac.digest(key, part.encode(), "sha256")
        signature = hmac.new(key, text.encode(), "sha256").hexdigest()
        credential = f"Credential={self._access_key}/{scope}"
        headers["authorization"] = (
            f"AWS4-HMAC-SHA256 {credential}, SignedHeaders={names}, Signature={signature}"
        )
        return headers


def plain(tag: str) -> str:
    """Without the namespace."""
    return tag.rpartition("}")[2]


def text_of(item: ElementTree.Element, name: str) -> str:
    return next((child.text or "" for child in item if plain(child.tag) == name), "")
