"""The benchmarks' page keeps the sections of what was not run again."""

from pathlib import Path

import pytest

from benchmarks.__main__ import write

ON = "Measured on a machine."


def test_a_section_takes_its_own_place_and_no_other(tmp_path: Path) -> None:
    docs = tmp_path / "benchmarks.md"
    write(docs, "Metrics", "## Metrics\n\nOld.\n\n### Below\n\nMore.\n", ON)
    write(docs, "Ingestion", "## Ingestion\n\nFast.\n", ON)
    write(docs, "Metrics", "## Metrics\n\nNew.\n\n### Below\n\nMore.\n", "Measured on another.")
    assert docs.read_text(encoding="utf-8").partition("\n## ")[2] == (
        f"Ingestion\n\n{ON}\n\nFast.\n\n"
        "## Metrics\n\nMeasured on another.\n\nNew.\n\n### Below\n\nMore.\n"
    )


def test_a_section_has_its_title(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="begins with '## Metric'"):
        write(tmp_path / "benchmarks.md", "Metrics", "## Metric\n\nNew.\n", ON)
