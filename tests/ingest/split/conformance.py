"""What holds of every splitter on every text: the contract, as one function, and some texts."""

import re
from itertools import pairwise

from ragkit.contracts import Embedder
from ragkit.text.passage import words_of
from ragkit.types import Block, Chunk, Page, ParsedText
from ragkit_ingest.split.contract import Splitter

ENGLISH = "The wing is swept back. Its lift grows with speed, and so does its drag; Dr. No agrees. "
CHINESE = "北京是中国的首都。上海在长江的入海口上，人口众多！广州在南方；深圳也在南方。"
ROWS = "\n".join(f"| part {n} | {n * 3} mm | steel, galvanised |" for n in range(60))
TABLE = f"| part | length | material |\n| --- | ---: | --- |\n{ROWS}"
BODY = "\n".join(f"    total += rate[{n}] * hours[{n}]  # week {n}" for n in range(50))
CODE = f"```python\ndef pay(rate, hours):\n    total = 0\n{BODY}\n    return total\n```"


def markdown(text: str) -> ParsedText:
    """Blocks of a tiny Markdown: headings, tables, fenced code, paragraphs between blank lines."""
    blocks: list[Block] = []
    for match in re.finditer(r"```(?:.|\n)*?```|\S(?:.|\n(?!\n))*", text):
        start, end, piece = match.start(), match.end(), match.group()
        if piece.startswith("#"):
            blocks.append(Block(start, end, "heading", len(piece) - len(piece.lstrip("#"))))
        elif piece.startswith("```"):
            blocks.append(Block(start, end, "code"))
        else:
            blocks.append(Block(start, end, "table" if piece.startswith("|") else "paragraph"))
    return ParsedText(text, tuple(blocks), (Page(0, 1), Page(len(text) // 2, 2)))


TEXTS = {
    "English": ParsedText(ENGLISH * 20),
    "Chinese": ParsedText(CHINESE * 15),
    "sections": markdown(f"# Wings\n\n{ENGLISH}\n\n## Flaps\n\n{ENGLISH * 9}\n\n# Tails\n\nNone."),
    "table": markdown(f"# Parts\n\nAll of them.\n\n{TABLE}\n\nThat is all."),
    "code": markdown(f"# Pay\n\n{CODE}\n\nThat is all."),
    "empty": ParsedText(""),
    "white space": ParsedText(" \n\n\t "),
    "one huge word": ParsedText("a" * 4000),
    "no spaces": ParsedText("中" * 800),
    "control characters": ParsedText("\x01 \x01" * 200),
}


def check(parsed: ParsedText, splitter: Splitter, embedder: Embedder) -> tuple[Chunk, ...]:
    """Split a text, check what the contract says of its chunks, and return them."""
    text = parsed.text
    spans = embedder.token_spans(text)
    chunks = splitter.split(parsed, spans)
    assert chunks == splitter.split(parsed, spans)
    for ordinal, chunk in enumerate(chunks):
        content = text[chunk.start : chunk.end]
        assert chunk.ordinal == ordinal
        assert content
        assert content == content.strip()
        assert chunk.tokens == len(embedder.token_spans(words_of(text, chunk)))
        assert chunk.tokens <= splitter.max_tokens
        for around in filter(None, (chunk.lead, chunk.parent)):
            assert 0 <= around.start < around.end <= len(text)
        assert chunk.lead is None or chunk.lead.end <= chunk.start
        assert chunk.parent is None or (
            chunk.parent.start <= chunk.start and chunk.end <= chunk.parent.end
        )
    assert all(a.start <= b.start and a.end < b.end for a, b in pairwise(chunks))
    if splitter.covers:
        _check_covered(text, chunks)
    return chunks


def _check_covered(text: str, chunks: tuple[Chunk, ...]) -> None:
    done = 0
    for chunk in chunks:
        assert not text[done : chunk.start].strip()
        done = chunk.end
    assert not text[done:].strip()
