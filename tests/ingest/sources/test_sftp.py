"""SFTP hosts are reached only by the key that ssh knows them by."""

from __future__ import annotations

import os
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ragkit.errors import IngestError, UsageError
from ragkit_ingest.sources import find
from ragkit_ingest.sources.sftp import connected


class WrongKeyError(Exception):
    """Stands for paramiko's."""


class Client:
    """Knows a host as paramiko's does: by the files of known hosts that it was told to load."""

    def __init__(self) -> None:
        self.known = ""
        self.policy: Any = None

    def load_system_host_keys(self, file: str) -> None:
        self.known += Path(file).read_text()

    def set_missing_host_key_policy(self, policy: object) -> None:
        self.policy = policy

    def connect(self, host: str, **options: object) -> None:
        assert options["timeout"], "no network call goes on for ever"
        if host not in self.known:
            self.policy.missing_host_key(self, host, None)
        elif f"{host} its-key" not in self.known:
            raise WrongKeyError


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home whose known hosts are empty."""
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".ssh").mkdir()
    monkeypatch.setattr("ragkit_ingest.sources.sftp._KNOWN_HOSTS", ("~/.ssh/known_hosts",))
    return tmp_path


def test_only_a_key_that_is_known_is_taken(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paramiko = SimpleNamespace(
        SSHClient=Client, MissingHostKeyPolicy=object, BadHostKeyException=WrongKeyError
    )
    monkeypatch.setitem(sys.modules, "paramiko", paramiko)
    with pytest.raises(IngestError, match=r"key of files is not in .*known_hosts: connect once"):
        connected("files", {})
    (home / ".ssh" / "known_hosts").write_text("files another-key\n")
    with pytest.raises(IngestError, match="files shows another key than"):
        connected("files", {})
    (home / ".ssh" / "known_hosts").write_text("files its-key\n")
    assert isinstance(connected("files", {"username": "me"}), Client)


def test_a_real_host_is_read_when_its_key_is_known(home: Path, tmp_path: Path) -> None:
    paramiko = pytest.importorskip("paramiko")
    shared = tmp_path / "shared"
    shared.mkdir()
    (shared / "a.md").write_text("Twenty-five days.")
    login = paramiko.RSAKey.generate(2048)
    login.write_private_key_file(str(home / ".ssh" / "id_rsa"))
    key, foreign_key = paramiko.RSAKey.generate(2048), paramiko.RSAKey.generate(2048)
    known_hosts = home / ".ssh" / "known_hosts"
    with _host(paramiko, key, shared) as port:
        place = f"sftp://me@127.0.0.1:{port}/"
        with pytest.raises(UsageError, match=r"sftp:// cannot be opened: the key of \[127"):
            find([place])
        known_hosts.write_text(f"[127.0.0.1]:{port} ssh-rsa {foreign_key.get_base64()}\n")
        with pytest.raises(UsageError, match=r"127\.0\.0\.1 shows another key"):
            find([place])
        known_hosts.write_text(f"[127.0.0.1]:{port} ssh-rsa {key.get_base64()}\n")
        items = [(item.uri, item.read(100)) for item in find([place])]
    assert items == [(f"{place}a.md", b"Twenty-five days.")]


@contextmanager
def _host(paramiko: Any, key: Any, folder: Path) -> Iterator[int]:
    """Serve a folder by SFTP on loopback to whoever has any key; yield the port."""
    attributes = paramiko.SFTPAttributes.from_stat

    class Server(paramiko.ServerInterface):  # type: ignore[misc]
        def check_auth_publickey(self, username: str, key: object) -> int:
            return int(paramiko.AUTH_SUCCESSFUL)

        def get_allowed_auths(self, username: str) -> str:
            return "publickey"

        def check_channel_request(self, kind: str, number: int) -> int:
            return int(paramiko.OPEN_SUCCEEDED)

    class Files(paramiko.SFTPServerInterface):  # type: ignore[misc]
        def list_folder(self, path: str) -> Any:
            return [attributes(entry.stat(), entry.name) for entry in os.scandir(_in(folder, path))]

        def stat(self, path: str) -> Any:
            return attributes(os.stat(_in(folder, path)))

        lstat = stat

        def open(self, path: str, flags: int, attr: object) -> Any:
            handle = paramiko.SFTPHandle(flags)
            handle.readfile = open(_in(folder, path), "rb")  # noqa: SIM115  closed by the handle
            return handle

    listener = socket.create_server(("127.0.0.1", 0))
    transports: list[Any] = []

    def serve() -> None:
        while True:
            try:
                peer, _ = listener.accept()
            except OSError:
                return
            transport = paramiko.Transport(peer)
            transports.append(transport)
            transport.add_server_key(key)
            transport.set_subsystem_handler("sftp", paramiko.SFTPServer, Files)
            transport.start_server(event=threading.Event(), server=Server())

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield listener.getsockname()[1]
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        for transport in transports:
            transport.close()
        thread.join()


def _in(folder: Path, path: str) -> Path:
    return folder / path.lstrip("/")
