"""SFTP by fsspec's driver, except that a host must show the key that ssh knows it by.

fsspec's own way is to take whatever key a host shows.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cache
from typing import Any, Final

from ragkit.errors import IngestError

_KNOWN_HOSTS: Final = ("/etc/ssh/ssh_known_hosts", "~/.ssh/known_hosts")  # OpenSSH's own
_CONNECT_S: Final = 30.0  # arbitrary, as the next
_ANSWER_S: Final = 120.0


def opened(url: str) -> tuple[Any, str]:
    """Connect to an address's host; return the driver and the path there.

    Raises IngestError for a host whose key is not known or another one, ImportError without
    paramiko, and what paramiko raises.
    """
    driver = _driver()
    return driver(**driver._get_kwargs_from_urls(url)), driver._strip_protocol(url)


def connected(host: str, options: Mapping[str, Any]) -> Any:
    """Return a client that is connected to a host whose key is among the known ones."""
    import paramiko  # type: ignore[import-untyped]

    class Refuse(paramiko.MissingHostKeyPolicy):  # type: ignore[misc]
        def missing_host_key(self, client: object, hostname: str, key: object) -> None:
            raise IngestError(
                "read",
                f"the key of {hostname} is not in ~/.ssh/known_hosts: connect once with ssh, which"
                " shows it and asks whether it is right",
            )

    client = paramiko.SSHClient()
    for file in map(os.path.expanduser, _KNOWN_HOSTS):
        if os.path.isfile(file):
            client.load_system_host_keys(file)
    client.set_missing_host_key_policy(Refuse())
    try:
        client.connect(host, **{"timeout": _CONNECT_S, **options})
    except paramiko.BadHostKeyException as error:
        raise IngestError(
            "read",
            f"{host} shows another key than ~/.ssh/known_hosts has for it: either its key was"
            " changed, or somebody stands in between",
        ) from error
    return client


@cache
def _driver() -> Any:
    from fsspec.implementations.sftp import SFTPFileSystem

    class KnownHosts(SFTPFileSystem):  # type: ignore[misc]
        cachable = False  # a connection that has ended would be lent again

        def _connect(self) -> None:
            """Connect as the driver does, but with no choice of what to do with keys."""
            options = {k: v for k, v in self.ssh_kwargs.items() if k != "host_key_policy"}
            self.client = connected(self.host, options)
            self.ftp = self.client.open_sftp()
            self.ftp.get_channel().settimeout(_ANSWER_S)

    return KnownHosts
