"""The sides of the benchmark of reading: each library turns files into Markdown as its page shows.

Run in the library's environment: python reading_peers.py SIDE FILES.json ANSWERS.json reads each
file twice and writes, in the order of the files, what the first reading gave and the seconds that
the second took, when everything was loaded.
"""

import atexit
import json
import signal
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

LIMIT_S = 60  # for one file, arbitrary
Texts = tuple[str, str]  # the text, and the tables where the library gives them apart from it
Read = Callable[[Path], Texts]


def main(side: str, files: str, answers: str) -> None:
    read = SIDES[side]()
    signal.signal(signal.SIGALRM, _give_up)
    paths = map(Path, json.loads(Path(files).read_text(encoding="utf-8")))
    Path(answers).write_text(json.dumps([_answer(read, path) for path in paths]), encoding="utf-8")


def _answer(read: Read, path: Path) -> dict[str, str | float]:
    signal.alarm(LIMIT_S)
    try:
        text, tables = read(path)
        began = time.perf_counter()
        read(path)
        seconds = time.perf_counter() - began
    except Exception as error:  # noqa: BLE001  whatever a library raises, it is one file
        return {
            "text": "",
            "tables": "",
            "seconds": 0.0,
            "error": f"{type(error).__name__}: {error}",
        }
    finally:
        signal.alarm(0)
    error = "" if text.strip() else "no text"
    return {"text": text, "tables": tables, "seconds": seconds, "error": error}


def _give_up(_number: int, _frame: object) -> None:
    raise TimeoutError(f"it took more than {LIMIT_S} s")


def ragkit() -> Read:
    """Parse in a limited child process, as an ingestion does, with its default options."""
    from ragkit import Settings
    from ragkit.settings.ingest_options import IngestOptions
    from ragkit_ingest.parse.options import parse_options
    from ragkit_ingest.parser.pool import ParserPool
    from ragkit_ingest.run.run import limits

    settings = Settings()
    options = parse_options(IngestOptions(), unzipped_bytes=settings.parse_unzipped_mb << 20)
    pool = ParserPool(1, limits(settings))
    atexit.register(pool.close)

    def read(path: Path) -> Texts:
        parsed = pool.submit(path.read_bytes(), path.suffix, options).result()
        headings = [block for block in parsed.blocks if block.kind == "heading"]
        return _with_marks(parsed.text, {block.start: block.level for block in headings}), ""

    return read


def _with_marks(text: str, levels: Mapping[int, int]) -> str:
    """Mark headings as Markdown does, where only the structure beside the text has them."""
    for start in sorted(levels, reverse=True):
        if not text.startswith(("#", "<"), start):
            text = f"{text[:start]}{'#' * levels[start]} {text[start:]}"
    return text


def docling() -> Read:
    from docling.document_converter import DocumentConverter

    converter = DocumentConverter()
    return lambda path: (converter.convert(path).document.export_to_markdown(), "")


def kreuzberg() -> Read:
    from kreuzberg import ExtractionConfig, extract_file_sync

    config = ExtractionConfig(output_format="markdown", use_cache=False)
    return lambda path: (extract_file_sync(path, config=config).content, "")


def markitdown() -> Read:
    from markitdown import MarkItDown

    converter = MarkItDown()
    return lambda path: (converter.convert(path).markdown, "")


def pdfplumber() -> Read:
    """Take the text, which is no Markdown, and the tables apart from it, as Markdown."""
    from pdfplumber import open as open_pdf

    def read(path: Path) -> Texts:
        with open_pdf(path) as pdf:
            texts = [page.extract_text() for page in pdf.pages]
            tables = [table for page in pdf.pages for table in page.extract_tables()]
        return "\n\n".join(texts), "\n\n".join(map(_pipe_table, tables))

    return read


def _pipe_table(rows: list[list[str | None]]) -> str:
    lines = [f"| {' | '.join(map(_cell, row))} |" for row in rows]
    lines.insert(1, "|" + " - |" * len(rows[0]))
    return "\n".join(lines)


def _cell(text: str | None) -> str:
    return " ".join((text or "").split()).replace("|", "\\|")


def pypdfium2() -> Read:
    """Take the text, which is no Markdown; tables are no part of what it reads."""
    from pypdfium2 import PdfDocument

    def read(path: Path) -> Texts:
        with PdfDocument(path) as pdf:
            return "\n\n".join(page.get_textpage().get_text_range() for page in pdf), ""

    return read


def trafilatura() -> Read:
    from trafilatura import extract

    return lambda path: (extract(path.read_bytes(), output_format="markdown") or "", "")


SIDES: dict[str, Callable[[], Read]] = {
    side.__name__: side
    for side in (ragkit, docling, kreuzberg, markitdown, pdfplumber, pypdfium2, trafilatura)
}

if __name__ == "__main__":
    main(*sys.argv[1:])
