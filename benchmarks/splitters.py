"""What each splitter finds: recall, precision and IoU of the excerpts that answer a question.

The measures of "Evaluating Chunking Strategies for Retrieval" (Smith and Troynikov, Chroma, 2024),
by characters as their code counts them, over chunks ranked by the cosine of one model, and by both
legs of ragkit's search. BENCH_HOME keeps vectors, so that a long run can be continued.
BENCH_SPLITTERS names splitters, BENCH_CORPORA texts, with commas between: all of them take the
model through 6 million tokens.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from benchmarks.data import chunking
from benchmarks.excerpts import Measures, measures
from benchmarks.splitters_kept import Kept
from benchmarks.splitters_search import Piece, Search, by_cosine, searches
from ragkit.embed.local import LocalEmbedder
from ragkit.settings.ingest_options import IngestOptions
from ragkit.text.passage import words_of
from ragkit.types import Chunk, ParsedText
from ragkit_eval.sets import LabelledSet
from ragkit_ingest.parse.markup import markdown
from ragkit_ingest.parse.options import ParseOptions
from ragkit_ingest.split import splitter

HEAD = """## Splitters

chunking_evaluation: {questions} questions about {texts}, put into one collection, with the
excerpts that answer them. Chunks are ranked by the cosine of all-MiniLM-L6-v2. By characters, in
the first 5 chunks: *recall* of the excerpts, *precision* of what is shown, *IoU* of the two;
*bound*: precision if exactly the chunks that hold part of an excerpt were shown. *Shown*: tokens of
the first 5. *In 1,000*: recall of as many chunks, best first, as fit into 1,000 tokens, which is
what compares small chunks with large ones fairly. The two recalls *by both legs* are those of
ragkit's search as it is by default, by meaning and by words. *Splitting*: seconds for all texts,
tokenising apart. Parents, where there are any, count in their chunks' place, each once. *+ header*: title and headings are embedded before the chunk.

| splitter | size/overlap | chunks | tokens | shown | recall | precision | IoU | bound | in 1,000 | recall, both legs | in 1,000, both legs | splitting |
|---|---|---|---|---|---|---|---|---|---|---|---|---|"""  # noqa: E501  a table's header
_WAY = "langchain:RecursiveCharacterTextSplitter"


@dataclass(frozen=True, slots=True)
class Row:
    """One way to split; `header` embeds title and headings before each chunk."""

    name: str
    tokens: int
    overlap: int
    header: bool = False

    @property
    def options(self) -> IngestOptions:
        return IngestOptions(
            splitter=self.name, chunk_tokens=self.tokens, chunk_overlap_tokens=self.overlap
        )


# The sizes are the reference's 200 and 400 where the model reads them, and its halves. The most
# telling first: a run may be broken off.
ROWS = (
    *(Row("structural", tokens, tokens // 10) for tokens in (254, 128)),
    *(Row("fixed", tokens, tokens // 10) for tokens in (254, 128)),
    *(Row("structural", tokens, 0) for tokens in (128, 254, 64)),
    *(Row("parent-child", tokens, 0) for tokens in (512, 254)),
    *(Row("sentences", tokens, tokens // 10) for tokens in (128, 254)),
    Row("structural", 200, 0),
    *(Row(_WAY, tokens, 0) for tokens in (200, 128)),
    *(Row("structural", tokens, tokens // 10, header=True) for tokens in (128, 200)),
    Row("code", 254, 0),
)


def run() -> str:
    """Measure each row, and tabulate."""
    embedder = LocalEmbedder()
    embedder.load()
    kept = Kept(embedder)
    labelled = _labelled()
    texts = ", ".join(labelled.documents)
    lines = [HEAD.format(questions=len(labelled.questions), texts=texts)]
    with searches(kept) as search:
        for row in _wanted():
            lines.append(_line(row, kept, search))
            print(lines[-1], flush=True)
    return "\n".join(lines) + "\n"


def _wanted() -> Sequence[Row]:
    names = os.environ.get("BENCH_SPLITTERS")
    return [row for row in ROWS if names is None or row.name in names.split(",")]


@lru_cache
def _labelled() -> LabelledSet:
    """Return the texts asked for, and the questions about them."""
    whole, names = chunking(), os.environ.get("BENCH_CORPORA")
    wanted = names.split(",") if names else list(whole.documents)
    questions = [q for q in whole.questions if all(e.document in wanted for e in q.excerpts)]
    documents = {name: whole.documents[name] for name in wanted}
    return replace(whole, documents=documents, questions=tuple(questions))


def _line(row: Row, kept: Kept, search: Search) -> str:
    embedder, questions = kept.embedder, _labelled().questions
    pieces: list[Piece] = []
    seconds = 0.0
    for name, parsed in _parsed().items():
        spans = embedder.token_spans(parsed.text)
        reserve = 40 if row.header else 0  # arbitrary: longer headers are left out
        way = splitter(row.options, embedder, reserve=reserve)
        started = time.process_time()
        chunks = way.split(parsed, spans)
        seconds += time.process_time() - started
        for chunk in chunks:
            embedded = _header(name, chunk, embedder, row) + words_of(parsed.text, chunk)
            pieces.append(Piece(name, parsed.text, chunk, embedded))
    stretches = [piece.shown(embedder) for piece in pieces]
    asked = [question.text for question in questions]
    near = measures(questions, stretches, by_cosine(kept, pieces, asked))
    both = measures(questions, stretches, search(pieces, asked))
    return _shown(row, _mean_tokens(embedder, pieces), len(pieces), near, both, seconds)


def _mean_tokens(embedder: LocalEmbedder, pieces: Sequence[Piece]) -> float:
    return len(embedder.token_spans("\n".join(p.embedded for p in pieces))) / len(pieces)


def _shown(
    row: Row, tokens: float, chunks: int, near: Measures, both: Measures, seconds: float
) -> str:
    name = row.name.replace("TextSplitter", "") + (" + header" if row.header else "")
    cells = [
        *(name, f"{row.tokens}/{row.overlap}", str(chunks), f"{tokens:.0f}", f"{near.shown:.0f}"),
        *(f"{value:.3f}" for value in (near.recall, near.precision, near.iou, near.bound)),
        *(f"{near.recall_in_budget:.3f}", f"{both.recall:.3f}", f"{both.recall_in_budget:.3f}"),
        f"{seconds:.2f} s",
    ]
    return f"| {' | '.join(cells)} |"


def _header(name: str, chunk: Chunk, embedder: LocalEmbedder, row: Row) -> str:
    if not row.header:
        return ""
    header = " > ".join([name.replace("_", " "), *chunk.headings]) + "\n\n"
    room = embedder.max_tokens - chunk.tokens
    return header if len(embedder.token_spans(header)) <= room else ""


def _parsed() -> dict[str, ParsedText]:
    options = ParseOptions()
    return {
        name: _same(text, markdown.parse(text.encode(), options))
        for name, text in _labelled().documents.items()
    }


def _same(text: str, parsed: ParsedText) -> ParsedText:
    """Return what was parsed, if it is the text that the labels count in."""
    assert parsed.text == text, "the parser changed the text: its offsets are not the labels'"
    return parsed
