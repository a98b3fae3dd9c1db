"""Check the web addresses that may be fetched: how a URL is written and where it leads.

Programs disagree on odd URLs, so only plain ones are taken. It connects to nothing.
"""

from __future__ import annotations

import ipaddress
import re
import socket
from dataclasses import dataclass
from typing import Final

from ragkit.errors import IngestError

_MAX_URL_CHARS: Final = 4096  # arbitrary; browsers and servers take about as much
# RFC 3986's characters, and those of other scripts, which are encoded.
_PLAIN: Final = re.compile(
    r"(?i)(?P<scheme>https?)://(?P<host>\[[0-9a-f:.]+\]|[^/?#\[\]@:\\%\s\x00-\x20\x7f]+)"
    r"(?::(?P<port>\d{1,5}))?(?P<target>[/?#][^\s\\\x00-\x20\x7f]*)?"
)
_HOST: Final = re.compile(r"(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\.)*[a-z0-9_-]{1,63}\.?")
_NUMBER: Final = re.compile(r"[0-9]+|0x[0-9a-f]*")  # what some read as a part of an IPv4 address

# What IANA's registries of special-purpose addresses keep from the open internet (RFC 6890 and its
# successors), whichever version of Python's ipaddress there is; and 168.63.129.16, by which
# machines at Azure reach their host.
_SPECIAL_4: Final = tuple(
    ipaddress.IPv4Network(network)
    for network in """0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 168.63.129.16/32 169.254.0.0/16
    172.16.0.0/12 192.0.0.0/24 192.0.2.0/24 192.31.196.0/24 192.52.193.0/24 192.88.99.0/24
    192.168.0.0/16 192.175.48.0/24 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/4
    240.0.0.0/4""".split()
)
# Of IPv6 only global unicast is taken, without what holds an IPv4 address inside (Teredo, 6to4) or
# is for documentation and tests. NAT64, mapped and compatible addresses lie outside of it.
_GLOBAL_6: Final = ipaddress.IPv6Network("2000::/3")
_SPECIAL_6: Final = tuple(
    ipaddress.IPv6Network(network)
    for network in "2001::/23 2001:db8::/32 2002::/16 2620:4f:8000::/48 3fff::/20".split()
)
_ISATAP: Final = (0x00005EFE, 0x02005EFE)  # before an IPv4 address in the lower half (RFC 5214)


@dataclass(frozen=True, slots=True)
class Address:
    """A URL taken apart: what is asked of whom. `host` is as DNS has it."""

    scheme: str
    host: str
    port: int
    target: str

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        usual = {"http": 80, "https": 443}[self.scheme]
        port = "" if self.port == usual else f":{self.port}"
        return f"{self.scheme}://{host}{port}{self.target}"


def read_url(url: str, *, ports: frozenset[int] = frozenset({80, 443})) -> Address:
    """Take a URL apart. Raises IngestError for one that is not plain http or https."""
    plain = _PLAIN.fullmatch(url) if len(url) <= _MAX_URL_CHARS else None
    if plain is None:
        raise IngestError(
            "read", "not a plain address: write https://host/page, without user, password or spaces"
        )
    scheme = plain["scheme"].lower()
    host = _host(plain["host"])
    port = int(plain["port"]) if plain["port"] else {"http": 80, "https": 443}[scheme]
    if port not in ports:
        allowed = " and ".join(map(str, sorted(ports)))
        raise IngestError("read", f"port {port} is not one of the web's: only {allowed} are")
    return Address(scheme, host, port, _target(url, plain["target"] or "/"))


def is_public(address: str) -> bool:
    """Tell whether an IP address belongs to the open internet, and to another machine.

    >>> is_public("127.0.0.1"), is_public("::ffff:10.0.0.1"), is_public("1.1.1.1")
    (False, False, True)
    """
    try:
        ip = ipaddress.ip_address(address)
    except ValueError:
        return False
    if isinstance(ip, ipaddress.IPv4Address):
        return not any(ip in network for network in _SPECIAL_4) and not _is_own(address)
    if ip.scope_id or ip not in _GLOBAL_6 or any(ip in network for network in _SPECIAL_6):
        return False
    return (int(ip) >> 32) & 0xFFFFFFFF not in _ISATAP and not _is_own(address)


def _is_own(address: str) -> bool:
    """Tell whether an address is one of this machine's: connecting a UDP socket sends nothing."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect((address, 9))
            return bool(probe.getsockname()[0] == address)
    except OSError:
        return False  # there is no way to it, so it is not here


def _host(written: str) -> str:
    """Return a host as DNS has it; a number is only taken in the usual form of an address."""
    if written.startswith("["):
        try:
            return ipaddress.IPv6Address(written[1:-1]).compressed
        except ValueError as error:
            raise IngestError("read", f"{written} is no address") from error
    host = _ascii(written.lower())
    last = host.removesuffix(".").rpartition(".")[2]
    if _NUMBER.fullmatch(last):
        try:
            return str(ipaddress.IPv4Address(host))
        except ValueError as error:
            raise IngestError("read", f"{written} is no address: write it as 192.0.2.1") from error
    if not _HOST.fullmatch(host) or len(host) > 253:
        raise IngestError("read", f"{written[:100]!r} is no name of a host")
    return host


def _ascii(host: str) -> str:
    """Encode a name in another script. Raises IngestError for one that DNS cannot have."""
    if host.isascii():
        return host
    import idna

    try:
        return idna.encode(host, std3_rules=True).decode()
    except idna.IDNAError as error:
        raise IngestError("read", f"{host[:100]!r} is no name of a host") from error


def _target(url: str, target: str) -> str:
    """Return path and query, characters beyond ASCII encoded, without the fragment."""
    import httpx

    target = target.partition("#")[0]
    try:
        return httpx.URL(
            "http://host" + ("" if target.startswith("/") else "/") + target
        ).raw_path.decode()
    except httpx.InvalidURL as error:
        raise IngestError("read", f"not an address that can be asked for: {error}") from error
