"""Parsing, cleaning, splitting and comparing files take linear time, whatever their text.

The patterns alone are tried by tests/test_patterns.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Final

import pytest

from ragkit.errors import IngestError
from ragkit.settings.ingest_options import IngestOptions
from ragkit.testing import FakeEmbedder
from ragkit.text.near_duplicates import signature
from ragkit.types import Block, ParsedText
from ragkit_ingest.clean.boilerplate import line_marks, without_boilerplate
from ragkit_ingest.clean.mask import masked
from ragkit_ingest.clean.unicode import normalised
from ragkit_ingest.parse import parse_bytes
from ragkit_ingest.parse.formats import MODULES
from ragkit_ingest.split import splitter
from tests.adversarial import UNITS, slow_text

KINDS: Final = ("private_key", "api_key", "email", "iban", "cn_id", "card", "phone")
SPLITTERS: Final = (
    *("structural", "fixed", "sentences", "parent-child", "code"),
    *("langchain:CharacterTextSplitter", "langchain:RecursiveCharacterTextSplitter"),
)
# One suffix of each module that reads text; archives, office files, PDFs and pictures are binary.
_BINARY: Final = ("office.", "pdf.", "image", "heic", "epub", "mail.msg")
SUFFIXES: Final = {
    module: suffix
    for suffix, module in MODULES.items()
    if module == "office.rtf" or not module.startswith(_BINARY)
}
# A sixteenth of it is more than the stretches that parsers take at once, of up to 1,000 characters.
_MOST_CHARS: Final = 16_384
_MOST_CHARS_OF: Final = {"markup.rst": 4_096}  # docutils takes all at once, and its time
# What a file begins with, so that it is read as what it is.
_BEGINNINGS: Final = {
    "ipynb": ('{"cells": [{"cell_type": "markdown", "metadata": {}, "source": "', '"}]}'),
    "records": ('{"text": "', '"}'),
    "markup.xml": ("<a>", "</a>"),
    "mail.eml": ("From: a@example.org\nSubject: ", "\n\nEnd."),
    "markup.svg": ("<svg><text>", "</text></svg>"),
    "markup.tex": ("\\begin{document}\\section{", "}\\end{document}"),
    "fictionbook": ("<FictionBook><body><p>", "</p></body></FictionBook>"),
    "events": ("BEGIN:VCALENDAR\nBEGIN:VEVENT\nSUMMARY:", "\nEND:VEVENT"),
    "contacts": ("BEGIN:VCARD\nFN;TYPE=", ":x\nEND:VCARD"),
    "office.rtf": ("{\\rtf1 ", "}"),
    "mail.mhtml": ("Content-Type: text/html\nSubject: ", "\n\nEnd."),
    "subtitles": ("1\n00:00:01,000 --> 00:00:02,000\n", "\n"),
}


def parsed_by(suffix: str, before: str = "", after: str = "") -> Callable[[str], None]:
    def parse(text: str) -> None:
        with suppress(IngestError):
            parse_bytes(f"{before}{text}{after}".encode(), suffix)

    return parse


def paragraph(text: str) -> ParsedText:
    return ParsedText(text, (Block(0, len(text), "paragraph"),))


def split_by(name: str) -> Callable[[str], None]:
    embedder = FakeEmbedder()
    split = splitter(IngestOptions(splitter=name), embedder)

    def work(text: str) -> None:
        with suppress(IngestError):
            split.split(paragraph(text), embedder.token_spans(text))

    return work


def without_lines(text: str) -> None:
    parsed = paragraph(text)
    without_boilerplate(parsed, line_marks(parsed))


CLEANERS: Final[Mapping[str, Callable[[str], object]]] = {
    "boilerplate": without_lines,
    "near duplicates": signature,
    "nfc": lambda text: normalised(paragraph(text), "nfc"),
    "nfkc": lambda text: normalised(paragraph(text), "nfkc"),
    **{kind: lambda text, kind=kind: masked(paragraph(text), {kind}) for kind in KINDS},  # type: ignore[misc]
}


@pytest.mark.long
@pytest.mark.parametrize("module", SUFFIXES)
def test_parsing_takes_linear_time(module: str) -> None:
    parse = parsed_by(SUFFIXES[module])
    most = _MOST_CHARS_OF.get(module, _MOST_CHARS)
    parse("a\n")  # loads what it needs
    assert slow_text(parse, UNITS, most=most) == ""
    if module in _BEGINNINGS:
        parse = parsed_by(SUFFIXES[module], *_BEGINNINGS[module])
        assert slow_text(parse, UNITS, most=most) == ""


@pytest.mark.long
@pytest.mark.parametrize("name", CLEANERS)
def test_cleaning_takes_linear_time(name: str) -> None:
    assert slow_text(CLEANERS[name], UNITS) == ""


@pytest.mark.long
@pytest.mark.parametrize("name", SPLITTERS)
def test_splitting_takes_linear_time(name: str) -> None:
    assert slow_text(split_by(name), UNITS) == ""
