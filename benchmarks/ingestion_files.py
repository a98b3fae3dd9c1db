"""The files that ingestion is measured on: real ones by format, and files made of real texts.

BENCH_SHARE, from 0 to 1, takes that share of texts and files. A format of which there are few files
has copies of them where nothing but reading is measured, never where ragkit would notice copies.
"""

from __future__ import annotations

import csv
import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from html import escape
from pathlib import Path

from benchmarks.data import chunking, clapnq_answerable, cmrc, data

FORMATS = ("txt", "md", "html", "pdf", "docx", "csv")
# A PDF in whose text pypdf finds half a character, which ends the whole run of two peers.
ENDS_PEERS = "skipped_2pages.pdf"
COPIES = {"md": 10, "pdf": 3, "docx": 5}  # of each real file, so that there is enough to time
PIECE_CHARS = 20_000  # of a text in one file, arbitrary
READ = ("pubmed", "wikitexts")  # of chunking_evaluation, where reading alone is measured
EMBEDDED = ("state_of_the_union", "wikitexts")  # and where the model works
ROWS = 100  # of a CSV file
NOT_PROSE = "<nav><a href='/'>Home</a> <a href='/about'>About</a></nav>"


def copies(kind: str) -> int:
    """Say how often each real file of a format is taken."""
    return max(1, round(COPIES.get(kind, 1) * share()))


def of_format(kind: str, folder: Path) -> int:
    """Write a format's files; return their bytes."""
    made = {"txt": _texts, "html": _pages, "csv": _tables, "md": _expected}
    for number in range(copies(kind)):
        _real(kind, folder, f"{number}-")
        if kind == "md":
            _expected(folder, f"{number}-")
    if kind in made and kind != "md":
        made[kind](folder, "")
    return size_of(folder)


def mixture(folder: Path) -> int:
    """Write files of all formats, no two alike; return their bytes."""
    for kind in FORMATS:
        _real(kind, folder, "")
    _expected(folder, "expected-")
    _write(folder, EMBEDDED[:1], "txt", lambda text: text)
    _write(folder, EMBEDDED[1:], "html", _page)
    _tables(folder, "", most=1)
    return size_of(folder)


def size_of(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.iterdir())


def share() -> float:
    """Return the share of the texts that is to be measured."""
    return float(os.environ.get("BENCH_SHARE", "1"))


def _real(kind: str, folder: Path, prefix: str) -> None:
    found = (data() / "documents" / kind).glob(f"*.{kind}")
    for path in _some(path for path in found if path.name != ENDS_PEERS):
        shutil.copy(path, folder / f"{prefix}{path.name}")


def _expected(folder: Path, prefix: str) -> None:
    """Write what real files of other formats say, as Markdown."""
    found = (data() / "documents/expected").glob("*/*.md")
    for path in _some(path for path in found if path.parent.name != "md"):
        shutil.copy(path, folder / f"{prefix}{path.name}")


def _some(paths: Iterable[Path]) -> list[Path]:
    return sorted(paths)[:: max(1, round(1 / share()))]


def _texts(folder: Path, prefix: str) -> None:
    _write(folder, READ, "txt", lambda text: text)
    paragraphs = list(cmrc().documents.values())
    for number, text in enumerate(_pieces("\n\n".join(paragraphs))):
        (folder / f"{prefix}cmrc-{number:03}.txt").write_text(text, encoding="utf-8")


def _pages(folder: Path, prefix: str) -> None:
    _write(folder, READ, "html", _page)


def _tables(folder: Path, prefix: str, most: int | None = None) -> None:
    """Write CLAPNQ's passages as tables of a hundred rows."""
    rows = list(clapnq_answerable().documents.items())
    starts = range(0, max(1, int(len(rows) * share())), ROWS)
    for first in list(starts)[:most]:
        with (folder / f"{prefix}clapnq-{first:04}.csv").open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["number", "passage"])
            writer.writerows(rows[first : first + round(ROWS * min(1, share()))])


def _write(folder: Path, names: tuple[str, ...], suffix: str, made: Callable[[str], str]) -> None:
    for name in names:
        for number, text in enumerate(_pieces(chunking().documents[name])):
            path = folder / f"{name}-{number:03}.{suffix}"
            path.write_text(made(text), encoding="utf-8")


def _pieces(text: str) -> Iterator[str]:
    """Cut the wanted share of a text at line ends."""
    start, end = 0, int(len(text) * share())
    while start < end:
        stop = text.find("\n", min(start + PIECE_CHARS, end))
        stop = len(text) if stop < 0 else stop + 1
        yield text[start:stop]
        start = stop


def _page(text: str) -> str:
    """Make a web page of a text: a heading, its paragraphs, a menu above and a foot below."""
    first, _, rest = text.strip().partition("\n")
    paragraphs = "\n".join(f"<p>{escape(line)}</p>" for line in rest.splitlines() if line.strip())
    title = escape(first.strip(" =#")[:80])
    return (
        f"<!DOCTYPE html><html lang='en'><head><meta charset='utf-8'><title>{title}</title></head>"
        f"<body>{NOT_PROSE}<main><h1>{title}</h1>\n{paragraphs}\n</main>"
        "<footer><a href='/terms'>Terms</a></footer></body></html>\n"
    )
