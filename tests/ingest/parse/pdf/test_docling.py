"""PDFs by docling: what its items become, and what is said where it cannot work.

docling itself is not installed here: its items are stood in for by values of the same attributes.
"""

import resource
from importlib.util import find_spec
from types import SimpleNamespace
from typing import Any

import pytest

from ragkit.errors import IngestError
from ragkit_ingest.parse import ParseOptions, parse_bytes
from ragkit_ingest.parse.pdf import docling
from tests.ingest.pdfs import pdf, text

OPTIONS = ParseOptions(pdf_layout="docling")
DATA = pdf([text(72, 400, "Some text.")], info="/Title (The manual) /Author (A. Writer)")


def item(label: str, text: str, page: int = 1, **fields: Any) -> tuple[SimpleNamespace, int]:
    return SimpleNamespace(
        label=SimpleNamespace(value=label),
        text=text,
        prov=[SimpleNamespace(page_no=page)],
        **fields,
    ), 1


def test_items_become_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    cells = [[SimpleNamespace(text=text) for text in row] for row in (("a", "b"), ("1", "2"))]
    table = (
        SimpleNamespace(
            label=SimpleNamespace(value="table"),
            prov=[SimpleNamespace(page_no=2)],
            data=SimpleNamespace(grid=cells),
        ),
        1,
    )
    items = [
        item("title", "The manual"),
        item("section_header", "Mounting", level=1),
        item("text", "Fasten the bracket."),
        item("list_item", "an item", marker="1."),
        table,
        item("code", "x = 1", page=2),
    ]
    document = SimpleNamespace(iterate_items=lambda: items)
    monkeypatch.setattr(docling, "find_spec", lambda name: object())
    monkeypatch.setattr(docling, "_converted", lambda data: document)
    parsed = parse_bytes(DATA, ".pdf", OPTIONS)
    assert parsed.text == (
        "The manual\n\nMounting\n\nFasten the bracket.\n\n1. an item\n\n"
        "| a | b |\n| - | - |\n| 1 | 2 |\n\n```\nx = 1\n```\n"
    )
    assert [(b.kind, b.level) for b in parsed.blocks] == [
        ("heading", 1), ("heading", 2), ("paragraph", 0), ("list", 0), ("table", 0), ("code", 0),
    ]  # fmt: skip
    assert [page.number for page in parsed.pages] == [1, 2]
    assert (parsed.title, parsed.metadata["author"]) == ("The manual", "A. Writer")


@pytest.mark.skipif(find_spec("docling") is not None, reason="the extra docling is installed")
def test_without_the_extra() -> None:
    with pytest.raises(IngestError) as caught:
        parse_bytes(DATA, ".pdf", OPTIONS)
    assert caught.value.reason == (
        "this collection's PDFs are read by docling: pip install 'ragkit[docling]', or set"
        " RAGKIT_PDF_LAYOUT=text"
    )


def test_its_memory_is_asked_for_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(docling, "find_spec", lambda name: object())
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (1 << 30, 1 << 30))
    with pytest.raises(IngestError) as caught:
        parse_bytes(DATA, ".pdf", OPTIONS)
    assert caught.value.reason == (
        "docling needs more memory than the parser may use (1024 MB): set"
        " RAGKIT_PARSE_MEMORY_MB=8192 and raise RAGKIT_PARSE_CPU_S"
    )
