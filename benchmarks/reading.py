"""Quality and speed of reading files: words, their order, table cells and headings.

Each library reads in an environment and a process of its own; `benchmarks/peers/reading_peers.py`
is the other end. What each wrote stays in benchmarks/out/reading_texts, with its scores.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import Final

from benchmarks.environment import HERE, peer_python
from benchmarks.ingestion_sides import OFFLINE, rounds
from benchmarks.reading_files import FORMATS, LAYOUTS, NARROW, PRINTED_WORDS, Document, documents
from benchmarks.reading_markdown import Reading, read_markdown
from benchmarks.reading_measures import Scores, cell_places, failure, mean, scores

TEXTS: Final = HERE / "out" / "reading_texts"
PDF: Final = tuple(LAYOUTS)
_OFFICE: Final = ("docx", "pptx", "xlsx")
# The formats that a side reads by itself: no model, nothing to download.
READS: Final = {
    "ragkit": (*FORMATS, *PDF),
    "docling": FORMATS,
    "kreuzberg": ("html", "md", *_OFFICE, "csv", "epub", *PDF),
    "markitdown": ("html", "md", *_OFFICE, "csv", "epub", *PDF),
    "trafilatura": ("html",),
    "pdfplumber": PDF,
    "pypdfium2": PDF,
}
PLAIN: Final = ("pdfplumber", "pypdfium2")  # a line that begins with # is no heading of theirs
ENVIRONMENTS: Final = dict.fromkeys(("trafilatura", "pdfplumber", "pypdfium2"), "reading")
TIMEOUT_S: Final = 1800  # for all files of a side, arbitrary
HEAD = """## Reading, beside other libraries

Small files that docling's own tests read, with the Markdown that docling is expected to make of
them, and PDFs that are printed here from the same Markdown by Chromium, untagged, on A4: in one
column and in two, tables with rules; and those with a table once more, without rules. So the
expected text has docling's ways (a merged cell is repeated, a picture's description left out, a
formula is LaTeX) and some of its errors, which count for it and against all others; and the PDFs
show the layout of one program. Not printed are documents of under {words} words or with formulas,
nor, in two columns, tables of over {narrow} columns.

ragkit {commit}, with its default options, in its limited child process; the others in a process
each, with their defaults and Markdown where they write it: {versions}.
docling reads without its models, so no PDF; kreuzberg without what it would download, so no
AsciiDoc. pdfplumber and pypdfium2 give plain text, pdfplumber tables apart from it; trafilatura
leaves out what it takes for no main text.

- *Words*: recall / precision of the multiset of words: runs of letters, runs of digits, single Han
  characters; NFKC, case folded; without marks, addresses, pictures and LaTeX commands.
- *Order*: of the words that occur once in both, the share in the longest series in the same order.
- *Cells*: recall / precision of the cells with words, of tables of at least two columns and two
  rows with words. A cell counts where a table has one of the same words beside the same cell, or
  in a row that begins with the same, and below the same cell or the same head.
- *Headings*: recall / precision of lines that are headings on any level, all words the same.

Means over the documents that have any ({empty} for none); a file that fails counts 0. *Failed*: an
error, or no text. *A second*: files, each read once before, the median of {rounds} rounds.
"""
_NONE = "–"


@dataclass(frozen=True, slots=True)
class Answer:
    """What a side made of a document: its scores, the seconds of each round, or why it failed."""

    document: Document
    scores: Scores
    seconds: tuple[float, ...]
    error: str


def run() -> str:
    """Have each side read its documents, and tabulate."""
    shutil.rmtree(TEXTS, ignore_errors=True)
    (TEXTS / "printed").mkdir(parents=True)
    listed, commit = documents(TEXTS / "printed"), _commit()
    answers = _answers(listed)
    _write_scores(answers)
    head = HEAD.format(
        words=PRINTED_WORDS,
        narrow=NARROW,
        commit=commit,
        versions=_versions(answers),
        empty=_NONE,
        rounds=rounds(),
    )
    return "\n".join([head, *_by_format(listed, answers), "", *_overall(answers)]) + "\n"


def _answers(listed: Sequence[Document]) -> dict[str, list[Answer]]:
    """Ask the sides in turn, each as often as there are rounds."""
    wanted = os.environ.get("BENCH_SIDES", ",".join(READS)).split(",")
    raw: dict[str, list[list[dict[str, str | float]]]] = {
        side: [] for side in READS if side in wanted
    }
    for number in range(rounds()):
        for side, side_rounds in raw.items():
            print(f"round {number + 1}: {side}", flush=True)
            side_rounds.append(_read(side, _documents_of(side, listed)))
    return {
        side: [
            _answer(side, document, [answers[place] for answers in side_rounds])
            for place, document in enumerate(_documents_of(side, listed))
        ]
        for side, side_rounds in raw.items()
    }


def _documents_of(side: str, listed: Sequence[Document]) -> list[Document]:
    return [document for document in listed if document.kind in READS[side]]


def _python(side: str) -> Path:
    return Path(sys.executable) if side == "ragkit" else peer_python(ENVIRONMENTS.get(side, side))


def _read(side: str, listed: Sequence[Document]) -> list[dict[str, str | float]]:
    """Run a side's program over documents; end the benchmark, with its last words, if it fails."""
    files, answers = TEXTS / f"{side}.files.json", TEXTS / f"{side}.answers.json"
    files.write_text(json.dumps([str(document.path) for document in listed]), encoding="utf-8")
    inherited = {k: v for k, v in os.environ.items() if not k.startswith(("RAGKIT_", "PYTHON"))}
    script = HERE / "peers/reading_peers.py"
    done = subprocess.run(
        [_python(side), script, side, files, answers],
        env={**inherited, **OFFLINE},
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"{side} ended:\n{done.stderr[-2000:]}")
    read: list[dict[str, str | float]] = json.loads(answers.read_text(encoding="utf-8"))
    answers.unlink()
    files.unlink()
    return read


def _answer(side: str, document: Document, answers: Sequence[Mapping[str, str | float]]) -> Answer:
    """Score the first round's text, and keep it beside the others of its side."""
    first = answers[0]
    text, tables, error = (str(first[key]) for key in ("text", "tables", "error"))
    place = TEXTS / side
    place.mkdir(exist_ok=True)
    (place / f"{document.path.name}.md").write_text(
        f"{text}\n\n{tables}" if tables else text, encoding="utf-8", errors="replace"
    )
    if error:
        print(f"{side} failed on {document.path.name}: {error[:300]}", flush=True)
        return Answer(document, failure(document.expected), (), error)
    reading = read_markdown(text)
    if side in PLAIN:
        reading = Reading(reading.words, (), read_markdown(tables).tables)
    seconds = tuple(float(answer["seconds"]) for answer in answers)
    return Answer(document, scores(document.expected, reading), seconds, "")


def _write_scores(answers: Mapping[str, Sequence[Answer]]) -> None:
    lines = [
        "\t".join(("side", "kind", "file", *(field.name for field in fields(Scores)), "error"))
    ]
    for side, side_answers in answers.items():
        for answer in side_answers:
            values = ("" if v is None else f"{v:.3f}" for v in astuple(answer.scores))
            named = (side, answer.document.kind, answer.document.path.name)
            lines.append("\t".join((*named, *values, " ".join(answer.error.split())[:200])))
    (TEXTS / "scores.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")


def _by_format(listed: Sequence[Document], answers: Mapping[str, Sequence[Answer]]) -> list[str]:
    lines = [
        "| files | | words | order | cells | headings | failed | a second |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for kind in (*FORMATS, *PDF):
        of_kind = [document.expected for document in listed if document.kind == kind]
        tables = sum(bool(cell_places(expected.tables)) for expected in of_kind)
        headed = sum(bool(expected.headings) for expected in of_kind)
        title = f"{kind}: {len(of_kind)}, {tables} with tables, {headed} with headings"
        for side, side_answers in answers.items():
            of_kind_read = [answer for answer in side_answers if answer.document.kind == kind]
            if of_kind_read:
                lines.append(_row(title, side, of_kind_read))
                title = ""
    return lines


def _row(title: str, side: str, answers: Sequence[Answer]) -> str:
    failed = sum(bool(answer.error) for answer in answers)
    cells = (*_measures(mean([answer.scores for answer in answers])), str(failed), _rate(answers))
    return f"| {title} | {side} | {' | '.join(cells)} |"


def _measures(score: Scores) -> tuple[str, str, str, str]:
    return (
        f"{_figure(score.recall)} / {_figure(score.precision)}",
        _figure(score.order),
        f"{_figure(score.cells)} / {_figure(score.cells_precision)}",
        f"{_figure(score.headings)} / {_figure(score.headings_precision)}",
    )


def _figure(value: float | None) -> str:
    return _NONE if value is None else f"{value:.3f}"


def _rate(answers: Sequence[Answer]) -> str:
    """Return how many files that did not fail are read in a second, in the median of the rounds."""
    timed = [answer.seconds for answer in answers if not answer.error]
    if not timed:
        return _NONE
    totals = [sum(seconds) for seconds in zip(*timed, strict=True)]
    return f"{len(timed) / statistics.median(totals):.0f}"


def _overall(answers: Mapping[str, Sequence[Answer]]) -> list[str]:
    """Tabulate each peer over all documents that it reads, and ragkit over the same."""
    lines = [
        "All documents of the formats that a library reads, each counting the same, and ragkit's"
        " reading of the same documents.",
        "",
        "| documents | | words | order | cells | headings | failed | a second |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for side, side_answers in answers.items():
        paths = {answer.document.path for answer in side_answers}
        title = f"{len(paths)}, as {side} reads" if side != "ragkit" else f"{len(paths)}, all"
        lines.append(_row(title, side, side_answers))
        ours = [answer for answer in answers.get("ragkit", ()) if answer.document.path in paths]
        if ours and side != "ragkit":
            lines.append(_row("", "ragkit", ours))
    return lines


def _commit() -> str:
    """Name the commit that is measured, and say whether ragkit's files differ from it."""
    commit = _git("rev-parse", "--short", "HEAD")
    changed = _git("status", "--porcelain", "--", "../ragkit", "../ingest")
    return f"at commit {commit}{' with changes' if changed else ''}" if commit else "of no commit"


def _git(*arguments: str) -> str:
    done = subprocess.run(
        ["git", *arguments], cwd=HERE, capture_output=True, text=True, check=False
    )
    return done.stdout.strip() if done.returncode == 0 else ""


def _versions(answers: Mapping[str, Sequence[Answer]]) -> str:
    """Ask the environments which versions of the peers they hold."""
    names = []
    for side in answers:
        if side == "ragkit":
            continue
        package = "docling-slim" if side == "docling" else side
        code = f"import importlib.metadata as m; print(m.version({package!r}))"
        done = subprocess.run(
            [_python(side), "-c", code], capture_output=True, text=True, check=True
        )
        names.append(f"{side} {done.stdout.strip()}")
    return ", ".join(names)
