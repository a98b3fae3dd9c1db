"""When a command asks a running server: only one of the same user with the same settings."""

from __future__ import annotations

import json
import os
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from ragkit.cli import local_server
from ragkit.cli.local_server import (
    ACCEPTED,
    END,
    ERROR,
    SOCKET,
    ServerEndedError,
    fingerprint,
    output_of_server,
    read_arguments,
    socket_folder,
    written_line,
)
from ragkit.cli.output_values import Output
from ragkit.errors import RagkitError

ARGUMENTS = ["ask", "年假有几天？", "--json"]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in list(os.environ):
        if name.startswith("RAGKIT_"):
            monkeypatch.delenv(name)
    home = tmp_path / ("h" * 120)  # longer than the system lets a socket's path be
    monkeypatch.setenv("RAGKIT_HOME", str(home))
    monkeypatch.chdir(tmp_path)
    socket_folder(home).mkdir(parents=True, mode=0o700)
    return home


@contextmanager
def server(home: Path, *lines: bytes) -> Iterator[list[bytes]]:
    """Answer one connection with these lines; yield the requests that came."""
    requests: list[bytes] = []
    folder = os.open(socket_folder(home), os.O_RDONLY)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(local_server.socket_path(folder))
        listening.listen()

        def answer() -> None:
            try:
                connection, _ = listening.accept()
            except OSError:
                return
            with connection:
                requests.append(connection.makefile("rb").readline())
                with suppress(BrokenPipeError):
                    connection.sendall(b"".join(lines))

        thread = threading.Thread(target=answer, daemon=True)
        thread.start()
        try:
            yield requests
        finally:
            listening.shutdown(socket.SHUT_RDWR)
            thread.join()
            os.close(folder)


def test_the_output_of_a_server_is_the_commands(home: Path) -> None:
    pieces = [Output("out", "一"), Output("err", "hm"), Output("json", {"n": [0.1, None]})]
    lines = [written_line(*piece) for piece in pieces]
    with server(home, written_line(ACCEPTED, None), *lines, written_line(END, None)) as requests:
        outputs = output_of_server(ARGUMENTS)
        assert outputs is not None
        assert list(outputs) == pieces
    assert read_arguments(requests[0], fingerprint()) == ARGUMENTS
    assert read_arguments(requests[0], "another") is None


def test_an_error_of_the_server_has_the_commands_exit_code(home: Path) -> None:
    lines = [written_line(ACCEPTED, None), written_line(ERROR, ["no such collection", 2])]
    with server(home, *lines):
        outputs = output_of_server(ARGUMENTS)
        assert outputs is not None
        with pytest.raises(RagkitError, match="no such collection") as caught:
            list(outputs)
    assert caught.value.exit_code == 2


def test_an_answer_that_breaks_off_is_an_error(home: Path) -> None:
    with server(home, written_line(ACCEPTED, None), written_line("out", "half"), b'["out", "ha'):
        outputs = output_of_server(ARGUMENTS)
        assert outputs is not None
        assert next(outputs) == Output("out", "half")
        with pytest.raises(ServerEndedError, match="ask again"):
            next(outputs)


@pytest.mark.parametrize(
    "lines",
    [
        (),
        (b"\n",),
        (b"no JSON\n",),
        (written_line("out", "not accepted"),),
        (written_line(ACCEPTED, None),),
    ],
)
def test_a_server_that_does_not_answer_leaves_the_work_to_the_command(
    home: Path, lines: tuple[bytes, ...]
) -> None:
    with server(home, *lines):
        assert output_of_server(ARGUMENTS) is None


def test_no_server_and_a_socket_that_a_dead_one_left_are_passed_over(home: Path) -> None:
    assert output_of_server(ARGUMENTS) is None
    with server(home):
        pass
    assert (socket_folder(home) / SOCKET).is_socket()
    assert output_of_server(ARGUMENTS) is None


def test_a_folder_that_others_may_enter_is_not_trusted(home: Path) -> None:
    folder = socket_folder(home)
    lines = [written_line(ACCEPTED, None), written_line("out", "planted"), written_line(END, None)]
    with server(home, *lines) as requests:
        folder.chmod(0o770)
        assert output_of_server(ARGUMENTS) is None
        folder.chmod(0o700)
        folder.rename(home / "elsewhere")
        folder.symlink_to(home / "elsewhere")
        assert output_of_server(ARGUMENTS) is None
    assert requests == []


def test_a_process_of_another_user_is_not_asked(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = [written_line(ACCEPTED, None), written_line("out", "planted"), written_line(END, None)]
    with server(home, *lines) as requests:
        monkeypatch.setattr(local_server, "is_own_process", lambda connection: False)
        assert output_of_server(ARGUMENTS) is None
    assert requests == [b""]


def test_both_ends_know_each_others_user() -> None:
    here, there = socket.socketpair(socket.AF_UNIX)
    with here, there:
        assert local_server.is_own_process(here)


def in_environment(**variables: str) -> Callable[[pytest.MonkeyPatch], None]:
    def change(patch: pytest.MonkeyPatch) -> None:
        for name, value in variables.items():
            patch.setenv(name, value)

    return change


@pytest.mark.parametrize(
    ("change", "is_same"),
    [
        (in_environment(), True),
        (in_environment(RAGKIT_SERVE_PORT="99", TERM="dumb", RAGKIT_TOP_K=" "), True),
        (in_environment(RAGKIT_COLLECTION="other"), False),
        (in_environment(ragkit_tenant="other"), False),
        (in_environment(RAGKIT_DATABASE_URL="postgresql://elsewhere/x"), False),
        (in_environment(OPENAI_API_KEY="another"), False),
        (in_environment(HF_HUB_OFFLINE="1"), False),
        (lambda patch: Path("ragkit.toml").write_text("top_k = 5\n"), False),
        (lambda patch: Path("secret").write_text("new"), False),
        (lambda patch: patch.chdir("/"), False),  # where the secret's relative path is no file
    ],
)
def test_settings_that_differ_have_another_fingerprint(
    home: Path, monkeypatch: pytest.MonkeyPatch, change: Callable[[pytest.MonkeyPatch], None],
    is_same: bool,
) -> None:  # fmt: skip
    Path("secret").write_text("old")
    monkeypatch.setenv("RAGKIT_LLM_API_KEY_FILE", "secret")
    before = fingerprint()
    change(monkeypatch)
    assert (fingerprint() == before) is is_same


def test_a_secret_in_a_pipe_is_not_read(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo("secret")
    monkeypatch.setenv("RAGKIT_LLM_API_KEY_FILE", "secret")
    assert fingerprint() != fingerprint()


def test_settings_that_cannot_be_used_are_left_to_the_command(home: Path) -> None:
    Path("ragkit.toml").write_text("top_k = 'many'\n")
    with server(home) as requests:
        assert output_of_server(ARGUMENTS) is None
    assert requests == []


def test_what_is_no_request_is_refused() -> None:
    for line in (b"", b"\n", b"[]\n", b"7\n", b'{"fingerprint": "x"}\n', b"\xff\n"):
        assert read_arguments(line, "x") is None
    good = json.dumps({"fingerprint": "x", "arguments": ["ask", "\udcff"]}).encode()
    assert read_arguments(good, "x") == ["ask", "\udcff"]
