"""Jupyter notebooks: cells in order, what they printed, and what is no notebook."""

import json
from typing import Any

import pytest

from ragkit.errors import IngestError
from ragkit.types import ParsedText
from ragkit_ingest.parse import parse_bytes


def parse(*cells: dict[str, Any], **metadata: Any) -> ParsedText:
    notebook = {"nbformat": 4, "metadata": metadata, "cells": list(cells)}
    return parse_bytes(json.dumps(notebook).encode(), ".ipynb")


def reason(data: bytes) -> str:
    with pytest.raises(IngestError) as caught:
        parse_bytes(data, ".ipynb")
    return caught.value.reason


def code(source: str, *outputs: dict[str, Any]) -> dict[str, Any]:
    return {"cell_type": "code", "source": source.splitlines(keepends=True), "outputs": outputs}


def test_cells_in_order() -> None:
    parsed = parse(
        {
            "cell_type": "markdown",
            "source": ["# Lenses\n", "\n", "| a | b |\n", "|---|---|\n", "| 1 | 2 |"],
        },
        code("x = 1\nprint(x)", {"output_type": "stream", "name": "stdout", "text": ["1\n"]}),
        {"cell_type": "raw", "source": "raw text"},
        {"cell_type": "markdown", "source": "- 一\n- 二"},
        code(""),
        title="My notebook",
        authors=[{"name": "Ann"}, {"name": "Bo"}],
        kernelspec={"display_name": "Python 3"},
    )
    assert parsed.text == (
        "# Lenses\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```\nx = 1\nprint(x)\n```\n\n"
        "```\n1\n```\n\nraw text\n\n- 一\n- 二\n"
    )
    kinds = ["heading", "table", "code", "code", "paragraph", "list"]
    assert [block.kind for block in parsed.blocks] == kinds
    assert [parsed.text[b.start : b.end] for b in parsed.blocks][-1] == "- 一\n- 二"
    assert parsed.title == "My notebook"
    assert parsed.metadata == {"author": "Ann, Bo", "kernel": "Python 3"}


def test_outputs_as_text_pictures_counted() -> None:
    error = {"output_type": "error", "ename": "ValueError", "evalue": "bad \x1b[31mred\x1b[0m"}
    figure = {"image/png": "iVBOR", "text/plain": "<Figure size 640x480>"}
    frame = {"text/plain": ["   a\n", "0  1"], "text/html": "<table><tr><td>0</td></tr></table>"}
    page = {"text/html": "<p>only <b>HTML</b></p>"}
    parsed = parse(
        code("a", error),
        code("b", {"output_type": "display_data", "data": figure}),
        code("c", {"output_type": "execute_result", "data": frame}),
        code("d", {"output_type": "execute_result", "data": page}),
        {
            "cell_type": "markdown",
            "source": "see ![chart](data:image/png;base64,iVBOR) and ![x](a.png)",
        },
    )
    assert "```\nValueError: bad red\n```" in parsed.text
    assert "Figure" not in parsed.text
    assert "```\n   a\n0  1\n```" in parsed.text
    assert "only HTML" in parsed.text
    assert parsed.text.endswith("see chart and ![x](a.png)\n")
    assert parsed.notes["images"] == 2


def test_a_long_output_is_cut_at_a_line() -> None:
    parsed = parse(code("x", {"output_type": "stream", "text": "0123456789\n" * 1000}))
    assert parsed.text.count("0123456789\n") == 363
    assert parsed.notes == {"cut outputs": 1}


def test_format_3_has_worksheets() -> None:
    notebook = {
        "nbformat": 3,
        "worksheets": [
            {
                "cells": [
                    {"cell_type": "heading", "level": 2, "source": "Old"},
                    {
                        "cell_type": "code",
                        "input": "x",
                        "outputs": [{"output_type": "pyout", "text": ["7"], "png": None}],
                    },
                    {
                        "cell_type": "code",
                        "input": "y",
                        "outputs": [{"output_type": "pyout", "text": ["8"]}],
                    },
                ]
            }
        ],
    }
    parsed = parse_bytes(json.dumps(notebook).encode(), ".ipynb")
    assert parsed.text == "## Old\n\n```\nx\n```\n\n```\ny\n```\n\n```\n8\n```\n"


def test_what_is_no_notebook() -> None:
    assert reason(b"{") == "damaged notebook: it is not JSON"
    assert reason(b"[" * 100_000) == "damaged notebook: it is not JSON"
    assert reason(b"[1]") == "not a notebook: it is no JSON object"
    assert reason(b'{"a": 1}') == "not a notebook: it has no cells"
    assert reason(b'{"cells": []}') == "the file is empty: no text in it"
    odd = (
        b'{"cells": [1, {"cell_type": 5}, {"cell_type": "code", "source": {"a": 1}, "outputs": 3}]}'
    )
    assert reason(odd) == "the file is empty: no text in it"
