"""The addresses of model servers as nginx takes them; anything that could say more is refused."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import urlsplit

from ragkit.errors import UsageError

_HOST = re.compile(r"[0-9A-Za-z]([0-9A-Za-z.-]{0,251}[0-9A-Za-z])?|\[[0-9A-Fa-f:]{2,45}\]")
_PATH = re.compile(r"/[0-9A-Za-z_./-]{1,106}")


@dataclass(frozen=True, slots=True)
class Backend:
    """A server as nginx writes it, "host:port" or "unix:/path", and whether it speaks TLS."""

    address: str
    tls: bool = False


def parse_backend(text: str) -> Backend:
    """Read http://host:port, https://host:port or unix:/path, with or without /v1.

    >>> parse_backend("http://10.0.0.5:8000/v1").address
    '10.0.0.5:8000'

    Raises UsageError.
    """
    if text.startswith("unix:"):
        path = text.removeprefix("unix:")
        if not _PATH.fullmatch(path):
            raise UsageError(f"backend {text!r} is no socket: write it as unix:/run/vllm.sock")
        return Backend(f"unix:{path}")
    try:
        parts = urlsplit(text)
        port = {"http": 80, "https": 443}.get(parts.scheme) if parts.port is None else parts.port
    except ValueError:
        parts, port = urlsplit(""), 0
    host = parts.netloc.rpartition(":")[0] if re.search(r":\d+$", parts.netloc) else parts.netloc
    sound = (
        parts.scheme in {"http", "https"}
        and bool(port and _HOST.fullmatch(host))
        and not re.search(r"[\s\x00-\x1f]", text)  # urlsplit drops some of them
    )
    if not sound or parts.path.rstrip("/") not in {"", "/v1"} or parts.query or parts.fragment:
        raise UsageError(f"backend {text!r} is no address: write it as http://10.0.0.5:8000")
    return Backend(f"{host}:{port}", tls=parts.scheme == "https")


def parse_listen(text: str) -> str:
    """Read the address to listen at, HOST:PORT. Raises UsageError."""
    host, colon, port = text.rpartition(":")
    sound = colon and port.isascii() and port.isdigit() and 0 < int(port) < 65536
    if not sound or not (host == "*" or _HOST.fullmatch(host)):
        raise UsageError(f"{text!r} is no address: write it as 127.0.0.1:8080")
    return text
