"""What the commands write is for its owner alone, whatever the umask: a walk over all of it.

The working folder, the home, the user's home and the temporary files of every command lie in one
folder, where each file must be 0600 and each folder 0700. tests/test_written_files.py reads the
source for places that no command here comes to.
"""

import os
import signal
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

import httpx
import pytest

from ragkit.store.server.embedded import stop
from ragkit.system.closing import Closing
from ragkit_eval.judge import certificate
from ragkit_models.serve.prepare import key_in
from tests.commands import run
from tests.places import passable_folder
from tests.serve.web.test_supervise import check_upload

UMASK: Final = 0o000  # takes nothing away: what it leaves private is so under any other
NOTES = "# Pumps\n\nThe PX-300 pump needs 42 litres of cooling water in each hour of its work.\n"

# What others may read, by the start of its path, and why.
READABLE: Final = {
    "work/notes": "the test's own documents",
    "home": "as root PostgreSQL runs as another user, who must pass; what is in it is private",
    "work": "the test's own working folder",
    "tmp": "the test's own folder for temporary files",
    "user": "the test's own home of a user",
}


class Place(Closing):
    """A folder where everything of some commands lies, which run under `UMASK`."""

    def __init__(self, database: str | None) -> None:
        self.folder = passable_folder()
        for name in ("work", "work/notes", "tmp", "user"):
            (self.folder / name).mkdir(mode=0o755)
        self.work = self.folder / "work"
        (self.work / "notes" / "pumps.md").write_text(NOTES, encoding="utf-8")
        self.environment = {
            "RAGKIT_HOME": str(self.folder / "home"),
            "HOME": str(self.folder / "user"),
            "TMPDIR": str(self.folder / "tmp"),
        }
        if database is not None:
            self.environment["RAGKIT_DATABASE_URL"] = database

    @contextmanager
    def masked(self) -> Iterator[None]:
        """Work under the umask, with temporary files in the folder."""
        before = os.umask(UMASK)
        place, tempfile.tempdir = tempfile.tempdir, str(self.folder / "tmp")
        try:
            yield
        finally:
            os.umask(before)
            tempfile.tempdir = place

    def __call__(self, *arguments: str, stdin: str = "", **environment: str) -> str:
        with self.masked():
            given = self.environment | environment
            done = run(*arguments, stdin=stdin, folder=self.work, environment=given)
        assert done.returncode == 0, (arguments, done.stdout, done.stderr)
        return done.stdout

    def paths(self) -> Mapping[str, int]:
        """Return everything that is there with its mode; sockets are looked at too."""
        return {
            str(path.relative_to(self.folder)): stat.S_IMODE(path.lstat().st_mode)
            for path in sorted(self.folder.rglob("*"))
            if not path.is_symlink()
        }

    def readable(self) -> dict[str, str]:
        """Return what others may read, write or enter and has no reason to be so."""
        return {
            path: f"{mode:o}"
            for path, mode in self.paths().items()
            if mode & 0o077 and not any(_is_at(path, allowed) for allowed in READABLE)
        }

    def close(self) -> None:
        stop(self.folder / "home")
        subprocess.run(["rm", "-r", str(self.folder)], check=True)


def _is_at(path: str, allowed: str) -> bool:
    return path == allowed or (allowed == "work/notes" and path.startswith("work/notes/"))


@pytest.fixture
def place(fresh_database: str) -> Iterator[Place]:
    with Place(fresh_database) as made:
        yield made


@pytest.fixture
def new_place() -> Iterator[Place]:
    """A place whose database is the embedded one, which is not made yet."""
    with Place(None) as made:
        yield made


def test_the_walk_sees_what_others_may_read(place: Place) -> None:
    (place.work / "public").mkdir(mode=0o755)
    (place.work / "public" / "file").touch()
    (place.work / "public" / "file").chmod(0o604)
    assert place.readable() == {"work/public": "755", "work/public/file": "604"}


@pytest.mark.long
def test_documents_conversations_and_backups(place: Place, empty_database: str) -> None:
    place("ingest", "notes")
    place("chat", stdin="How much cooling water does the pump need?\n/export talk.md\n")
    place("jobs", "report", "--html", "report.html")
    place("keys", "create", "--name", "a key")
    place("db", "backup", "deep/er/backup")
    place("db", "restore", "deep/er/backup", RAGKIT_DATABASE_URL=empty_database)
    paths = place.paths()
    assert {"work/talk.md", "work/report.html"} <= paths.keys()
    assert (paths["work/deep"], paths["work/deep/er/backup"]) == (0o700, 0o700)
    assert paths["work/deep/er/backup/database.dump"] == 0o600
    assert paths["work/deep/er/backup/check.json"] == 0o600
    assert place.readable() == {}


@pytest.mark.long
def test_evaluations(place: Place) -> None:
    place("ingest", "notes")
    place("eval", "testset", "--out", "set.jsonl")
    place("eval", "rag", "set.jsonl", "--out", "run.jsonl")
    place("eval", "rag", "set.jsonl", "--out", "again.jsonl")
    place("eval", "retrieval", "set.jsonl", "--out", "found.jsonl")
    for form in ("html", "md", "csv"):
        place("eval", "report", "run.jsonl", "--out", f"report.{form}")
    runs = (
        "--baseline",
        "run.jsonl",
        "--candidate",
        "again.jsonl",
        "--max-drop",
        "0.5",
        "--metric",
        "answer_found",
    )
    place("eval", "compare", "run.jsonl", "again.jsonl", "--out", "compared.md")
    place("eval", "gate", *runs, "--allow-inconclusive", "--junit", "gate.xml")
    assert {"work/set.jsonl", "work/run.jsonl", "work/report.html"} <= place.paths().keys()
    assert place.readable() == {}


def test_keys_and_certificates(place: Place) -> None:
    with place.masked():
        key_in(place.work / "key")
        certificate.keep({"signature": "a judge"}, place.folder / "home")
    assert place.paths()["work/key"] == 0o600
    assert place.readable() == {}


@pytest.mark.long
def test_the_embedded_database_in_a_new_home(new_place: Place) -> None:
    new_place("db", "start")
    new_place("ingest", "notes")
    assert new_place.readable() == {}, "while it runs, with its sockets"
    new_place("db", "stop")
    assert "home/postgres/PG_VERSION" in new_place.paths()
    assert new_place.readable() == {}
    assert new_place.paths()["home"] == (0o711 if os.geteuid() == 0 else 0o700)


@pytest.mark.long
def test_a_server_that_takes_uploads_in(place: Place) -> None:
    others = {name: value for name, value in os.environ.items() if not name.startswith("RAGKIT_")}
    child = subprocess.Popen(
        [sys.executable, "-m", "ragkit", "serve", "--port", "0"],
        cwd=place.work,
        env=others | place.environment | {"RAGKIT_SERVE_WORKERS": "2"},
        stdout=subprocess.PIPE,
        umask=UMASK,
        text=True,
    )
    assert child.stdout is not None
    try:
        line = child.stdout.readline()
        url = line.split()[line.split().index("at") + 1]
        with httpx.Client(base_url=url, timeout=60) as client:
            check_upload(client)
        assert any("prometheus" in path or "metrics" in path for path in place.paths())
        assert place.readable() == {}, "while it runs"
    finally:
        child.send_signal(signal.SIGTERM)
        child.communicate(timeout=60)
    assert place.readable() == {}
