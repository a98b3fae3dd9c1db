"""Hostile files among good ones, through the command and the real database: each is reported with
its reason and what to do, the good ones are found, nothing is left behind, memory stays bounded.
"""

import json
import os
import subprocess
import sys
import threading
import uuid
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from ragkit.store.connection.connect import connect
from tests import commands
from tests.ingest.misdeeds import MISDEEDS
from tests.ingest.outward import leading_outside
from tests.ingest.poison import FILES
from tests.ingest.poisoned_ingestion import FILE, PEAK, memory_kb
from tests.ingest.sources.test_fetch import Canary

pytestmark = [pytest.mark.long, pytest.mark.usefixtures("shared_model")]

GOOD = 6
MOST_MB = 500  # beside the model, as the project promises
SECRET = "canary8c1f"
_TOO_LONG = "divide the file, or take a table's rows one by one with --text"
_TOO_MANY_CHARS = (
    f"its text has more than 16 million characters (RAGKIT_PARSE_TEXT_MCHARS): {_TOO_LONG}"
)
_TOO_LARGE = "unpacks to more than the budget of 256 MB (RAGKIT_PARSE_UNZIPPED_MB)"
_ENTITIES = "a DOCTYPE that declares entities"
_ANEW = "save the file anew with another program"
# Long enough for another parser to use its second of processor time on a busy machine.
WALL_S = 10
_TOO_SLOW = f"parser took longer than {WALL_S} s (RAGKIT_PARSE_WALL_S)"
_DEEP_MAIL = "parts nested too deeply for an e-mail"

REASONS: dict[str, str] = {
    "truncated.pdf": "truncated PDF",
    "encrypted.pdf": "encrypted: it needs a password",
    "page-tree-loop.pdf": "damaged PDF: none of its pages can be read",
    "deep-page-tree.pdf": "damaged PDF: none of its pages can be read",
    "million-pages.pdf": "damaged PDF: more than 1000 of its pages cannot be read",
    "object-stream-loop.pdf": "damaged PDF: none of its pages can be read",
    "label-loop.pdf": f"parser crashed (signal 11): {_ANEW}",
    **{f"bomb.{suffix}": _TOO_LARGE for suffix in ("docx", "xlsx", "pptx", "odt", "epub", "zip")},
    **{f"just-under.zip!/{n}.txt": _TOO_MANY_CHARS for n in range(10)},
    "claims-less.zip": "damaged zip member 'big.txt'",
    "claims-more.zip": "zip member 'big.txt' claims 3145728 bytes and has 2097152",
    **{
        f"nested.zip!/{n:02}.zip": "an archive in an archive: unpack the outer one first"
        for n in range(16)
    },
    "laughs.xml": f"{_ENTITIES}, which are never expanded",
    "quadratic.xml": f"{_ENTITIES}, which are never expanded",
    "laughs.docx": "a DOCTYPE in its member 'word/document.xml'",
    "laughs.odt": f"{_ENTITIES} in its member 'content.xml'",
    "deep.xml": "elements nested deeper than 256",
    "empty.pdf": "the file is empty (0 bytes)",
    "empty.txt": "the file is empty (0 bytes)",
    "binary.txt": "binary, not text",
    "zeros.txt": "binary, not text",
    "text.docx": "not really a zip archive, which its format is made of",
    "deep.json": "its JSON is nested too deeply",
    "deep.rst": "lists or quotations nested too deeply",
    "parts.eml": "more than 5000 parts in an e-mail",
    "mails.eml": _DEEP_MAIL,
    "multiparts.eml": _DEEP_MAIL,
    "wide.csv": (
        "a table of 1,000,000 columns, of which at most 100,000 are read: make columns of its rows"
    ),
    "line.txt": _TOO_MANY_CHARS,
    "paragraphs.txt": f"it has more than 500,000 paragraphs: {_TOO_LONG}",
    "huge.png": "a picture of more than 80 million pixels",
    "text.png": "truncated or damaged picture",
    "huge.tiff": "a picture of more than 80 million pixels",
    "pages.tiff": "a picture in which OCR found no text",
    "loop.msg": "not an Outlook message: it has no properties",
}
# These take seconds: one run shows what becomes of them.
COSTLY = (
    *("paragraphs.txt", "line.txt", "just-under.zip", "pages.tiff", "deep.rst", "deep.html"),
    "multiparts.eml",
)
# What is read all the same, without what is wrong with it.
READ = {
    *("outline-loop.pdf", "page-and-loop.pdf", "form-loop.pdf", "laughs.epub", "deep.html"),
    *("deep.md", "deep-list.md", "deep.adoc", "deep.org", "outputs.ipynb"),
}
OUTWARD_REFUSED = {
    "entity-{}.xml": f"{_ENTITIES}, which are never expanded",
    "entity-{}.docx": "a DOCTYPE in its member 'word/document.xml'",
    "entity-{}.odt": f"{_ENTITIES} in its member 'content.xml'",
}
MISBEHAVED = {
    "segv": f"parser crashed (signal 11): {_ANEW}",
    "abort": f"parser crashed (signal 6): {_ANEW}",
    "hang": _TOO_SLOW,
    "spin": "parser used more than 1 s of CPU time (RAGKIT_PARSE_CPU_S)",
    "eat": "parser ran out of memory (RAGKIT_PARSE_MEMORY_MB, 1536 MB)",
    "exit": f"parser ended without an answer (exit code 3): {_ANEW}",
    "bug": "parser failed: KeyError: 'styles'",
    "liar": f"parser sent a malformed answer: {_ANEW}",
    "dead": _TOO_SLOW,
    "fork": _TOO_SLOW,
    "closes": f"parser closed its end of the pipe without an answer: {_ANEW}",
    "garbage": f"parser sent a malformed answer: {_ANEW}",
}


@dataclass(frozen=True)
class Ran:
    """What a command did: its report and code, and memory at most, alone and with its children."""

    report: dict[str, Any]
    code: int
    main_mb: float
    all_mb: float

    @property
    def reasons(self) -> dict[str, str]:
        return reasons(self.report)


def reasons(report: dict[str, Any]) -> dict[str, str]:
    """Map the names of the files that failed to why they did."""
    return {
        failure["uri"].partition("/documents/")[2]: failure["reason"]
        for failure in report["failures"]
    }


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "documents"
    made.mkdir()
    for number in range(GOOD):  # the first and the last of all
        name = f"{'az'[number % 2]}-good-{number}.md"
        (made / name).write_text(f"# Good {number}\n\nThe wing number{number} carries a load.\n")
    lines = [f"The wing carries {n} kg, and {n // 2} kg in a gust.\n\n" for n in range(400)]
    (made / "a-good-long.md").write_text("".join(lines))  # so that memory is that of embedding
    return made


@pytest.fixture
def canary() -> Iterator[Canary]:
    canary = Canary()
    yield canary
    canary.close()


def run(database: str, tmp_path: Path, *arguments: str, **settings: str) -> Ran:
    """Run `ragkit`, watching its memory; nothing of it is left afterwards."""
    mark = uuid.uuid4().hex
    temporary = tmp_path / mark
    temporary.mkdir()
    own = {f"RAGKIT_{name.upper()}": value for name, value in settings.items()}
    process = subprocess.Popen(
        [sys.executable, FILE, *arguments],
        env=os.environ
        | {"RAGKIT_DATABASE_URL": database, "TMPDIR": str(temporary), "RAGKIT_MARK": mark}
        | own,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    watch = Watch(process.pid)
    out, err = process.communicate(timeout=600)
    all_mb = watch.end()
    assert "Traceback" not in err, err
    assert PEAK in err, err
    assert list(temporary.iterdir()) == []
    assert left_of(mark) == []
    main_mb = int(err.partition(PEAK)[2].split()[0]) / 1024
    return Ran(json.loads(out), process.returncode, main_mb, all_mb)


class Watch:
    """Looks at the memory of a process and its children, in a thread."""

    def __init__(self, process: int) -> None:
        self._process = process
        self._most_kb = 0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def end(self) -> float:
        """Return what they had at most, in MB."""
        self._over.set()
        self._thread.join()
        return self._most_kb / 1024

    def _run(self) -> None:
        while not self._over.wait(0.02):
            now = 0
            for process in (self._process, *children(self._process)):
                with suppress(FileNotFoundError, ProcessLookupError, IndexError):  # it has ended
                    now += memory_kb("VmRSS", process)
            self._most_kb = max(self._most_kb, now)


def children(process: int) -> list[int]:
    """List a process's children with a program of their own; before that, theirs is its memory."""
    started: list[int] = []
    with suppress(FileNotFoundError, ProcessLookupError):
        program = Path(f"/proc/{process}/cmdline").read_bytes()
        for thread in Path(f"/proc/{process}/task").iterdir():
            for child in (thread / "children").read_text().split():
                with suppress(FileNotFoundError, ProcessLookupError):
                    if Path(f"/proc/{child}/cmdline").read_bytes() != program:
                        started.append(int(child))
    return started


def left_of(mark: str) -> list[str]:
    """List the processes that were started with a mark in their environment and are still there."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if f"RAGKIT_MARK={mark}".encode() in (process / "environ").read_bytes():
                found.append((process / "cmdline").read_text())
        except (OSError, ProcessLookupError):
            continue
    return found


def assert_good(database: str, ran: Ran, tmp_path: Path) -> None:
    """The good files are stored and found, and the exit code says that others failed."""
    assert ran.code == 3
    with connect(database) as conn:
        rows = conn.execute("SELECT uri, text FROM document").fetchall()
        jobs = conn.execute("SELECT uri, state, stage, reason FROM job").fetchall()
    texts = {uri.partition("/documents/")[2]: text for uri, text in rows}
    for number in range(GOOD):
        name = f"{'az'[number % 2]}-good-{number}.md"
        assert f"number{number}" in texts[name]
    failed = {
        uri.partition("/documents/")[2]: why for uri, state, _, why in jobs if state == "failed"
    }
    assert failed == ran.reasons
    assert {state for _, state, _, _ in jobs} == {"done", "failed"}
    found = search(database, "number3")
    assert found[0].endswith("z-good-3.md")


def search(database: str, query: str) -> list[str]:
    result = commands.run("search", query, "--json", environment={"RAGKIT_DATABASE_URL": database})
    return [hit["uri"] for hit in json.loads(result.stdout)["hits"]]


def test_poison(fresh_database: str, folder: Path, tmp_path: Path, canary: Canary) -> None:
    control = run(fresh_database, tmp_path, "ingest", str(folder), "--json", "--collection", "c")
    assert control.code == 0
    secret = tmp_path / "secret.txt"
    secret.write_text(SECRET)
    outward = leading_outside(secret.as_uri(), f"http://127.0.0.1:{canary.port}/")
    for name, content in [*outward.items(), *((name, make()) for name, make in FILES.items())]:
        (folder / name).write_bytes(content.encode() if isinstance(content, str) else content)
    ran = run(fresh_database, tmp_path, "ingest", str(folder), "--json")
    refused = REASONS | {
        name.format(kind): reason
        for name, reason in OUTWARD_REFUSED.items()
        for kind in ("file", "http")
    }
    assert ran.reasons == refused
    assert_good(fresh_database, ran, tmp_path)
    assert not canary.has_seen()
    with connect(fresh_database) as conn:
        stored = {
            row[0].partition("/documents/")[2]: row[1]
            for row in conn.execute(
                "SELECT uri, text FROM document d JOIN collection c"
                " ON c.id = d.collection_id WHERE c.name <> 'c'"
            )
        }
    assert stored.keys() > READ
    assert not any(SECRET in text for text in stored.values())
    print(
        f"main {control.main_mb:.0f} and {ran.main_mb:.0f} MB, with children"
        f" {control.all_mb:.0f} and {ran.all_mb:.0f} MB"
    )
    assert ran.main_mb - control.main_mb < MOST_MB
    assert ran.all_mb - control.all_mb < MOST_MB
    for name in COSTLY:
        (folder / name).unlink()
    again = commands.run(
        "ingest", str(folder), "--json", environment={"RAGKIT_DATABASE_URL": fresh_database}
    )
    assert again.returncode == 3
    assert reasons(json.loads(again.stdout)) == {
        name: reason for name, reason in refused.items() if not name.startswith(COSTLY)
    }


def test_parsers_that_misbehave(fresh_database: str, folder: Path, tmp_path: Path) -> None:
    for name in MISBEHAVED:
        (folder / f"m-{name}.txt").write_text(f"misbehave: {name}")
    (folder / "m-print.txt").write_text("misbehave: print")
    assert MISBEHAVED.keys() | {"print"} == MISDEEDS.keys()
    ran = run(
        *(fresh_database, tmp_path, "ingest", str(folder), "--json", "--jobs", "3"),
        parse_wall_s=str(WALL_S),
        parse_cpu_s="1",
    )
    assert ran.reasons == {f"m-{name}.txt": reason for name, reason in MISBEHAVED.items()}
    assert_good(fresh_database, ran, tmp_path)
