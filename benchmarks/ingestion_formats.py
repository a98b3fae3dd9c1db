"""Reading and splitting alone, by format: no model, no database."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.ingestion_files import FORMATS, copies, of_format
from benchmarks.ingestion_sides import TITLES, Result, Side, asked, median, ratios, rounds, sides

HEAD = """## Reading and splitting, by format

Files to chunks of up to 254 tokens, tokenising included, without the model or the database; medians
of {rounds} interleaved runs. ragkit parses in a limited child process beside the thread that
splits, as it does in an ingestion; peers in one process. *MB/s* of the files, *KB* of text read.
*Ratio*: seconds of the fastest peer by ragkit's, at the median of the rounds.

Files: `txt`, texts of chunking_evaluation and CMRC 2018 (Chinese); `html`, 13 real pages and the
same English texts as pages; `csv`, three real tables and CLAPNQ's passages; `md`, `pdf`, `docx`:
the real ones, {copies} times each. What is left out differs: LangChain's and LlamaIndex's PDF and
Word readers take text without tables as such, headings or repeated lines removed; their Markdown,
and Haystack's, and its CSV, stay raw text; their HTML readers keep menus, Haystack's does not.
LangChain makes a document of each CSV row; Haystack counts words, and so does not split Chinese,
which has no spaces. {unstructured}

| format | files, MB | | MB/s | chunks | chunks/s | KB of text | failed | ratio |
|---|---|---|---|---|---|---|---|---|"""
TRIED = 5  # files of each format for UnstructuredLoader: one that it cannot read takes it seconds
UNSTRUCTURED = (
    "UnstructuredLoader is measured where it read the first {tried} files; of all that it was given"
    " it read {read} of {given}: for the others it wants to download its word lists first."
)


def run() -> str:
    """Measure each format, and tabulate."""
    lines: list[str] = []
    read = given = 0
    with tempfile.TemporaryDirectory() as place:
        logs = Path(place, "logs")
        logs.mkdir()
        with sides(asked(), logs) as started:
            for kind in FORMATS:
                folder = Path(place, kind)
                folder.mkdir()
                size = of_format(kind, folder)
                count = len(list(folder.iterdir()))
                runs = _measure(started, folder)
                if "langchain" in started:
                    unread = _try_unstructured(started["langchain"], folder, runs)
                    given += min(TRIED, count)
                    read += min(TRIED, count) - unread
                lines += _rows(kind, count, size, runs)
    said = UNSTRUCTURED.format(tried=TRIED, read=read, given=given) if given else ""
    times = ", ".join(str(copies(kind)) for kind in ("md", "pdf", "docx"))
    head = HEAD.format(rounds=rounds(), copies=times, unstructured=said)
    return "\n".join([head, *lines]) + "\n"


def _measure(started: Mapping[str, Side], folder: Path) -> dict[str, list[Result]]:
    runs: dict[str, list[Result]] = {}
    for _ in range(rounds()):
        for name, side in started.items():
            runs.setdefault(name, []).append(side.ask("read", folder=str(folder)))
    return runs


def _try_unstructured(langchain: Side, folder: Path, runs: dict[str, list[Result]]) -> int:
    """Measure UnstructuredLoader too, where it can read; return how many it could not."""
    tried = langchain.ask("unstructured", folder=str(folder), most=TRIED)
    if not tried["failed"]:
        every = len(list(folder.iterdir()))
        runs["unstructured"] = [
            langchain.ask("unstructured", folder=str(folder), most=every) for _ in range(rounds())
        ]
    return int(tried["failed"])


def _rows(kind: str, count: int, size: int, runs: Mapping[str, Sequence[Result]]) -> list[str]:
    titles = {**TITLES, "unstructured": "LangChain, UnstructuredLoader"}
    peers = [name for name in runs if name not in ("ragkit", "unstructured")]
    lines = []
    for name, results in runs.items():
        seconds, first = median(results), results[0]
        ratio = ""
        if name == "ragkit" and peers:
            found = sorted(ratios(runs, "ragkit", peers))
            ratio = f"{found[len(found) // 2]:.1f}"
        cells = [
            *((f"{kind} | {count}, {size / 1e6:.2f}",) if name == next(iter(runs)) else (" | ",)),
            *(titles[name], f"{size / 1e6 / seconds:.2f}", f"{first['chunks']:.0f}"),
            *(f"{first['chunks'] / seconds:.0f}", f"{first['chars'] / 1e3:.0f}"),
            *(f"{first['failed']:.0f}", ratio),
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return lines
