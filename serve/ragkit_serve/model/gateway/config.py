"""The gateway's files: its nginx configuration, and the keys apart in files for their owner alone.

It writes text; running nginx on it is for others.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

from ragkit.errors import UsageError
from ragkit.private_files import make_private
from ragkit_serve.model.gateway.backends import Backend

Balance = Literal["least-conn", "prefix"]

PATHS: Final = (
    ("/v1/chat/completions", "POST"),
    ("/v1/completions", "POST"),
    ("/v1/embeddings", "POST"),
    ("/v1/models", "GET"),
)
CONFIG: Final = "nginx.conf"
_TEMPLATE: Final = Path(__file__).with_name("nginx.conf.jinja")
_KEY = re.compile(r"[0-9A-Za-z._~+/=-]{8,512}")
_FILE = re.compile(r"/[0-9A-Za-z_./@+-]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Gateway:
    """What the gateway is to do. Sizes and times are arbitrary where vLLM gives no measure.

    `client_keys` are accepted from clients, `backend_key` is shown to the servers. `silence_s` is
    how long a server may stay silent, and so bounds the reading of the longest prompt.
    """

    backends: Sequence[Backend]
    listen: str
    client_keys: Sequence[str] = field(repr=False)
    backend_key: str | None = field(repr=False, default=None)
    balance: Balance = "least-conn"
    # The rules of ragkit's prompts have some 1,200 characters: two questions share those anyway.
    prefix_chars: int = 4096
    max_body_mb: int = 4
    connections: int = 256
    requests_per_s: int = 0
    silence_s: int = 300
    certificate: Path | None = None
    certificate_key: Path | None = None
    trusted_certificates: Path = Path("/etc/ssl/certs/ca-certificates.crt")


def files(gateway: Gateway, folder: Path) -> Mapping[str, str]:
    """Write the gateway's files as text by name, for a folder of its own. Raises UsageError."""
    from jinja2 import Environment, StrictUndefined

    _check(gateway, folder)
    tls = gateway.backends[0].tls
    template = Environment(
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=False,  # noqa: S701  nginx's language, not HTML
    ).from_string(_TEMPLATE.read_text(encoding="utf-8"))
    config = template.render(
        {name: getattr(gateway, name) for name in Gateway.__dataclass_fields__},
        backends=[backend.address for backend in gateway.backends],
        folder=folder,
        paths=PATHS,
        scheme="https" if tls else "http",
        tls_backends=tls,
        tls_name=_host(gateway.backends[0]),
        tries=min(3, len(gateway.backends)),
        error=_error,
    )
    authorization = f"Bearer {gateway.backend_key}" if gateway.backend_key else ""
    return {
        CONFIG: config + "\n",
        "clients.conf": "".join(
            f'"~^[Bb]earer {re.escape(key)}$" 1;\n' for key in gateway.client_keys
        ),
        "backends.conf": f'proxy_set_header Authorization "{authorization}";\n',
    }


def write(texts: Mapping[str, str], folder: Path) -> None:
    """Put the files into the folder, each whole or not at all, for their owner's eyes alone."""
    make_private(folder / "temp")
    for name, text in texts.items():
        new = folder / f".{name}.new"
        new.unlink(missing_ok=True)
        with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(text)
        new.replace(folder / name)


def _check(gateway: Gateway, folder: Path) -> None:
    if not gateway.backends:
        raise UsageError("the gateway needs a model server: name one with --backends")
    addresses = [backend.address for backend in gateway.backends]
    if len(set(addresses)) < len(addresses):
        raise UsageError("a backend is named twice: name each once")
    if len({backend.tls for backend in gateway.backends}) > 1:
        raise UsageError("some backends are http and some https: nginx takes one of them for all")
    if gateway.backends[0].tls and len({_host(backend) for backend in gateway.backends}) > 1:
        raise UsageError(
            "https backends must share one host name, which their certificates are checked for:"
            " use http between machines of a private network"
        )
    if not gateway.client_keys:
        raise UsageError("the gateway needs a key that clients must present")
    for key in (*gateway.client_keys, *([gateway.backend_key] if gateway.backend_key else [])):
        if not _KEY.fullmatch(key):
            raise UsageError(
                "a key is shorter than 8 characters or holds others than letters, digits and"
                " ._~+/=-: choose another"
            )
    named = (folder, gateway.certificate, gateway.certificate_key, gateway.trusted_certificates)
    for path in named:
        if path is not None and not _FILE.fullmatch(str(path)):
            raise UsageError(f"nginx cannot be told of {str(path)!r}: use a plain absolute path")
    if (gateway.certificate is None) != (gateway.certificate_key is None):
        raise UsageError("--tls-cert and --tls-key belong together: give both or none")


def _host(backend: Backend) -> str:
    return backend.address.rpartition(":")[0]


def _error(message: str, kind: str) -> str:
    return json.dumps({"error": {"message": message, "type": kind, "param": None, "code": None}})
