"""deploy/nginx/models.conf, edited as a user edits it, in a real nginx before model servers."""

from __future__ import annotations

import shutil
import signal
import socket
import ssl
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.places import ROOT

TEMPLATE = (ROOT / "deploy/nginx/models.conf").read_text("utf-8")
PROGRAM = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin:/usr/local/sbin")
needs_nginx = pytest.mark.skipif(PROGRAM is None, reason="nginx is not installed")

KEY, SERVERS_KEY = "Client-key_1234", "servers-key-5678"
HEADERS = {"Authorization": f"Bearer {KEY}"}
PREFIX = {"        least_conn;": "        hash $prompt_prefix consistent;"}

_SERVERS = """\
        server 10.0.0.5:8000 max_fails=3 fail_timeout=5s;
        server 10.0.0.6:8000 max_fails=3 fail_timeout=5s;
"""
_TRUST = ssl.create_default_context()  # made once: it takes longer than a request


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def poll(condition: Callable[[], bool], seconds: float = 60) -> bool:
    deadline = time.monotonic() + seconds
    while not (met := condition()) and time.monotonic() < deadline:
        time.sleep(0.02)
    return met


def edited(servers: list[str], port: int, edits: Mapping[str, str]) -> str:
    """Edit the configuration; each text that is replaced must be there once."""
    lines = "".join(f"        server {name} max_fails=3 fail_timeout=5s;\n" for name in servers)
    address = {"listen 127.0.0.1:8080;": f"listen 127.0.0.1:{port};"}
    text = TEMPLATE
    for passage, replacement in {**address, _SERVERS: lines, **edits}.items():
        assert text.count(passage) == 1, passage
        text = text.replace(passage, replacement)
    return text


@contextmanager
def model_proxy(
    folder: Path, *servers: str, edits: Mapping[str, str] | None = None, tls: bool = False
) -> Iterator[str]:
    """Run nginx before these servers ("host:port", a URL or "unix:PATH"); give its address."""
    assert PROGRAM is not None
    folder.mkdir(parents=True, exist_ok=True)
    port = free_port()
    names = [name.removeprefix("http://").removesuffix("/v1") for name in servers]
    (folder / "models.conf").write_text(edited(names, port, edits or {}), encoding="utf-8")
    (folder / "clients.conf").write_text(f'"~^[Bb]earer {KEY}$" 1;\n', encoding="utf-8")
    key = f'proxy_set_header Authorization "Bearer {SERVERS_KEY}";\n'
    (folder / "servers-key.conf").write_text(key, encoding="utf-8")
    command = [PROGRAM, "-p", str(folder), "-c", "models.conf", "-e", "stderr"]
    checked = subprocess.run([*command, "-t"], capture_output=True, text=True)
    assert checked.returncode == 0, checked.stderr
    assert "[warn]" not in checked.stderr
    with subprocess.Popen([*command, "-g", "daemon off;"]) as process:
        try:
            url = f"http{'s' if tls else ''}://127.0.0.1:{port}"
            assert poll(lambda: _answers(url))
            yield url
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(60)


def _answers(url: str) -> bool:
    try:
        return httpx.get(f"{url}/healthz", verify=False).status_code == 200  # noqa: S501  a certificate of the test
    except httpx.TransportError:
        return False


def body(text: str, *, stream: bool = False) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": text}], "model": "stub", "stream": stream}


def chat(url: str, text: str = "hello", **headers: str) -> httpx.Response:
    return httpx.post(
        f"{url}/v1/chat/completions",
        json=body(text),
        headers=HEADERS | headers,
        timeout=60,
        verify=_TRUST,
    )


def content(response: httpx.Response) -> str:
    assert response.status_code == 200, response.text
    return str(response.json()["choices"][0]["message"]["content"])


def stream(url: str, on_first_line: Callable[[], None] = lambda: None) -> str:
    """Ask for a streamed answer and return how it ended.

    "complete", "broken" (the client notices), "cut" (it does not), or a status.
    """
    lines: list[str] = []
    try:
        with httpx.stream(
            "POST",
            f"{url}/v1/chat/completions",
            json=body("go on", stream=True),
            headers=HEADERS,
            timeout=60,
            verify=_TRUST,
        ) as response:
            if response.status_code != 200:
                return str(response.status_code)
            for line in response.iter_lines():
                if line and not lines:
                    on_first_line()
                lines.append(line)
    except httpx.TransportError:
        return "broken"
    return "complete" if "data: [DONE]" in lines else "cut"
