"""The host and port that a request or a web origin names, read strictly (RFC 3986, RFC 6454)."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from starlette.requests import Request

_AUTHORITY: Final = re.compile(
    r"(?P<name>[A-Za-z0-9][A-Za-z0-9._-]{0,252}|\[[0-9A-Fa-f:.]{2,45}\])"
    r"(?::(?P<port>[1-9][0-9]{0,4}))?"
)
_PORTS: Final = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class Authority:
    """A host in lower case, an IPv6 address without brackets, and the port if one is given."""

    name: str
    port: int | None

    @property
    def is_address(self) -> bool:
        """Tell whether the host is an IP address."""
        try:
            ipaddress.ip_address(self.name)
        except ValueError:
            return False
        return True


def read_authority(text: str) -> Authority | None:
    """Read HOST or HOST:PORT; None for anything else, such as user information or a path."""
    match = _AUTHORITY.fullmatch(text)
    if match is None:
        return None
    name = match["name"].lower()
    port = int(match["port"]) if match["port"] else None
    if port is not None and port > 65535:
        return None
    if name.startswith("["):
        try:
            name = ipaddress.IPv6Address(name[1:-1]).compressed
        except ValueError:
            return None
    return Authority(name, port)


def server_address(request: Request) -> str:
    """Return this server's address as the client used it, such as `https://ragkit.example.org`.

    The gate has checked the host; a proxy passes it on and says in X-Forwarded-Proto whether TLS
    was used.
    """
    return f"{request.url.scheme}://{request.headers['host']}"


def is_same_origin(origin: str, scheme: str, authority: Authority) -> bool:
    """Tell whether a web origin is this server's own: scheme, host and port are all the same."""
    origin_scheme, separator, address = origin.partition("://")
    origin_authority = read_authority(address)
    if not separator or origin_scheme != scheme or scheme not in _PORTS or origin_authority is None:
        return False
    default = _PORTS[scheme]
    return (origin_authority.name, origin_authority.port or default) == (
        authority.name,
        authority.port or default,
    )
