"""The socket that `ragkit serve` binds for commands of its user."""

import logging
import os
import socket
from pathlib import Path

import pytest

from ragkit import Settings
from ragkit.cli.local_server import SOCKET, socket_folder
from ragkit_serve.web.commands import command_socket


def test_the_socket_lies_in_a_private_folder_and_goes_at_the_end(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path / ("h" * 120))
    path = socket_folder(settings.home) / SOCKET
    with command_socket(settings) as bound:
        assert isinstance(bound, socket.socket)
        assert path.parent.stat().st_mode & 0o777 == 0o700
        assert path.stat().st_mode & 0o777 == 0o600
        assert os.listdir(path.parent) == [SOCKET]
    assert os.listdir(path.parent) == []


def test_the_newest_server_has_the_name_and_leaves_it_to_nobody_else(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path)
    path = socket_folder(tmp_path) / SOCKET
    with command_socket(settings):
        first = path.stat().st_ino
        with command_socket(settings):
            assert path.stat().st_ino != first
        assert not path.exists()
    with command_socket(settings):
        pass
    with command_socket(settings) as older:
        assert older is not None
        path.unlink()
        with command_socket(settings):
            newer = path.stat().st_ino
            older.close()
            assert path.stat().st_ino == newer


@pytest.mark.parametrize("spoilt", ["file", "open folder", "link"])
def test_a_server_without_a_private_folder_starts_and_says_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, spoilt: str
) -> None:
    folder = socket_folder(tmp_path)
    if spoilt == "file":
        folder.write_text("")
    elif spoilt == "link":
        (tmp_path / "elsewhere").mkdir(mode=0o700)
        folder.symlink_to(tmp_path / "elsewhere")
    else:
        folder.mkdir()
        folder.chmod(0o755)
    with (
        caplog.at_level(logging.WARNING, "ragkit.serve"),
        command_socket(Settings(home=tmp_path)) as bound,
    ):
        assert bound is None
    assert f"commands cannot use this server: {folder}: " in caplog.text
