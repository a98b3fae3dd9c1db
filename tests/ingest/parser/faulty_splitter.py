"""A parser process whose splitter or analyser hangs where a text asks for it, for the tests.

It hangs in a regular expression, which holds the interpreter's lock.
"""

import re
import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3]))

from ragkit.text.analyse import ANALYSER
from ragkit.text.analysers import terms_by
from ragkit.text.terms import Terms
from ragkit.types import Chunk, ParsedText, Span
from ragkit_ingest.parser import split_worker, worker
from ragkit_ingest.split.structural import Structural

SPLITTER_HANGS = "The splitter hangs here."
ANALYSER_HANGS = "The analyser hangs here."

_split = Structural.split


def hang() -> None:
    re.match("(a|a)*b", "a" * 64)


def split(splitter: Structural, parsed: ParsedText, spans: Sequence[Span]) -> tuple[Chunk, ...]:
    if SPLITTER_HANGS in parsed.text:
        hang()
    return _split(splitter, parsed, spans)


def terms(texts: Sequence[str]) -> Terms:
    if any(ANALYSER_HANGS in text for text in texts):
        hang()
    return terms_by(ANALYSER)(texts)


if __name__ == "__main__":
    for owner, name, faulty in (
        (Structural, "split", split),
        (split_worker, "terms_by", lambda name: terms),
    ):
        setattr(owner, name, faulty)
    worker.main(sys.argv[1:])
