"""Make the example corpus's binary files, one PDF and two .docx, from examples/sources.

Run it after editing a source: `.venv/bin/python examples/make_corpus.py`. The PDF needs Chromium
with CJK fonts (Debian: chromium fonts-noto-cjk fonts-dejavu-core). It knows nothing of ragkit.
"""

import datetime as dt
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

EXAMPLES = Path(__file__).resolve().parent
SOURCES = EXAMPLES / "sources"
HANDBOOK = EXAMPLES / "handbook"
EDITED = dt.datetime(2026, 1, 12, tzinfo=dt.UTC)


def main() -> int:
    """Write the three files; return 1 when Chromium is missing."""
    write_docx(SOURCES / "onboarding.md", HANDBOOK / "en" / "onboarding.docx")
    write_docx(SOURCES / "after-sales.md", HANDBOOK / "zh" / "after-sales.docx")
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        print("no Chromium: apt-get install chromium fonts-noto-cjk", file=sys.stderr)
        return 1
    print_pdf(chromium, SOURCES / "rl-400-manual.html", HANDBOOK / "rl-400-manual.pdf")
    return 0


def write_docx(source: Path, target: Path) -> None:
    """Turn a small Markdown (headings, paragraphs, tables with a header row) into a .docx."""
    import docx

    document = docx.Document()
    blocks = source.read_text(encoding="utf-8").strip().split("\n\n")
    for block in blocks:
        marks, _, rest = block.partition(" ")
        if marks in {"#", "##"}:
            document.add_heading(rest, level=len(marks))
        elif block.startswith("|"):
            _add_table(document, [_cells(line) for line in block.splitlines()])
        else:
            document.add_paragraph(block)
    document.core_properties.title = blocks[0].removeprefix("# ")
    document.core_properties.author = "Orrinlake Instruments"
    document.core_properties.created = document.core_properties.modified = EDITED
    document.save(str(target))


def print_pdf(chromium: str, source: Path, target: Path) -> None:
    """Print an HTML page to PDF, without the browser's own header and footer."""
    with tempfile.TemporaryDirectory() as profile:
        subprocess.run(
            [
                chromium,
                "--headless",
                "--no-sandbox",  # the page is our own; needed where this runs as root
                "--disable-gpu",
                f"--user-data-dir={profile}",
                "--no-pdf-header-footer",
                "--disable-pdf-tagging",
                f"--print-to-pdf={target}",
                source.as_uri(),
            ],
            check=True,
            capture_output=True,
            timeout=120,
        )


def _add_table(document, rows: list[list[str]]) -> None:  # type: ignore[no-untyped-def]
    header, _, *body = rows
    table = document.add_table(rows=0, cols=len(header), style="Table Grid")
    for row in [header, *body]:
        for cell, text in zip(table.add_row().cells, row, strict=True):
            cell.text = text


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


if __name__ == "__main__":
    sys.exit(main())
