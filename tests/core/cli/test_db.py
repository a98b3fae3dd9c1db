"""`ragkit db` as a command, on an embedded server and on one by address."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.commands import Result, run
from tests.places import passable_folder


@pytest.fixture
def home() -> Iterator[Path]:
    folder = passable_folder()
    yield folder / "home"
    db(folder / "home", "stop")
    shutil.rmtree(folder)


def db(home: Path, *arguments: str, url: str = "") -> Result:
    environment = {"RAGKIT_HOME": str(home), "RAGKIT_DATABASE_URL": url}
    return run("db", *arguments, folder=home.parent, environment=environment)


def start_in_a_process(home: Path) -> str:
    """Start the server by a process that ends, as it does in a terminal."""
    others = {name: value for name, value in os.environ.items() if not name.startswith("RAGKIT_")}
    return subprocess.run(
        [sys.executable, "-m", "ragkit", "db", "start", "--json"],
        env=others | {"RAGKIT_HOME": str(home), "RAGKIT_DATABASE_URL": ""},
        cwd=home.parent,
        capture_output=True,
        check=True,
        text=True,
    ).stdout


def test_the_embedded_server_from_nothing_to_stopped(home: Path) -> None:
    nothing = json.loads(db(home, "status", "--json").stdout)
    assert (nothing["kind"], nothing["running"], nothing["version"]) == ("embedded", False, None)
    assert not home.exists()

    started = json.loads(start_in_a_process(home))
    assert started["running"]
    assert started["keep_running"]
    shown = db(home, "status")
    assert shown.returncode == 0
    assert str(started["pid"]) in shown.stdout.split()
    assert shown.stdout.isascii()

    assert json.loads(db(home, "stop", "--json").stdout) == {
        "stopped": True,
        "connections_cut": 0,
    }
    again = db(home, "stop")
    assert (again.returncode, again.stdout) == (
        0,
        f"The embedded database in {home}/postgres is not running.\n",
    )


def test_a_server_by_address_is_shown_but_not_ours_to_start(
    home: Path, empty_database: str
) -> None:
    shown = json.loads(db(home, "status", "--json", url=empty_database).stdout)
    name = urlsplit(empty_database).path.removeprefix("/")
    assert (shown["kind"], shown["database"], shown["user"]) == ("server", name, "postgres")
    assert (shown["pgvector"], shown["pgvector_available"]) == (None, "0.8.5")
    for command in ("start", "stop"):
        refused = db(home, command, url=empty_database)
        assert refused.returncode == 2
        assert refused.stderr.startswith("ragkit: RAGKIT_DATABASE_URL names a server, which")
        assert refused.stderr.count("\n") == 1
