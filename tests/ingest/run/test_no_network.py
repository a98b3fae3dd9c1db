"""An ingestion opens no socket but the database's: in its own process and in those that parse.

Python reports each look-up and connection to an audit hook that every process loads when it starts.
What libraries written in C connect to by themselves, as libpq does, is not seen so.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

WATCH = """
import os, sys
def _watch(event, arguments):
    if event in {"socket.connect", "socket.getaddrinfo", "socket.sendto"}:
        at = 0 if event == "socket.getaddrinfo" else 1
        with open(os.environ["WATCHED"], "a") as file:
            file.write(f"{event} {arguments[at]!r}\\n")
with open(os.environ["WATCHED"], "a") as file:
    file.write("began\\n")
sys.addaudithook(_watch)
"""
PAGE = """<html><head><link rel="stylesheet" href="http://192.0.2.1/a.css"></head>
<body><h1>Leave</h1><p>Everyone has 25 days of leave.</p><img src="http://192.0.2.1/a.png"></body>
</html>"""


@pytest.fixture
def watched(tmp_path: Path) -> Path:
    (tmp_path / "hook").mkdir()
    (tmp_path / "hook" / "sitecustomize.py").write_text(WATCH)
    return tmp_path / "seen.txt"


def run(watched: Path, *command: str, **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *command],
        env=os.environ
        | {"PYTHONPATH": str(watched.parent / "hook"), "WATCHED": str(watched)}
        | more,
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_only_the_database_is_connected_to(fresh_database: str, watched: Path) -> None:
    folder = watched.parent / "documents"
    folder.mkdir()
    (folder / "leave.html").write_text(PAGE)
    (folder / "travel.md").write_text("# Travel\n\n![map](http://192.0.2.1/map.png)\n\nBy train.\n")
    done = run(watched, "-m", "ragkit", "ingest", str(folder), RAGKIT_DATABASE_URL=fresh_database)
    assert done.returncode == 0, done.stderr
    assert "Added: 2 documents" in done.stdout
    seen = watched.read_text().splitlines()
    assert [line for line in seen if line.startswith("socket") and ".s.PGSQL" not in line] == []
    assert seen.count("began") >= 2, "the command and a parser"


def test_a_connection_would_be_seen(watched: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        run(watched, "-c", f"import socket; socket.create_connection(('127.0.0.1', {port}))")
    assert f"socket.connect ('127.0.0.1', {port})" in watched.read_text().splitlines()
