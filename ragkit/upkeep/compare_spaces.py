"""Compare two embedding spaces of one collection: hits, speed and size.

Only vectors are compared, as words count the same for both.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from pathlib import Path
from statistics import fmean, median, stdev
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final

from ragkit.documents.names import FILE, URI, fit
from ragkit.errors import UsageError
from ragkit.text.analyse import analyse
from ragkit.text.sentences import sentences
from ragkit.upkeep.questions import read_lines, read_row

if TYPE_CHECKING:
    from ragkit.contracts import Embedder
    from ragkit.store.postgres import PostgresStore
    from ragkit.store.vectors.active_space import KeptSpace
    from ragkit.store.vectors.missing import Passage
    from ragkit.types import EmbeddingSpace, Hit

K: Final = 10
SAMPLED: Final = 200  # questions: the standard error of a share is then 0.035 at most
_NAMED: Final = (URI, FILE)  # how a label may name a document
FEWEST_TERMS: Final = 6  # of a sentence that half of is asked for; shorter ones say too little

Relevant = Callable[["Hit"], bool]


@dataclass(frozen=True, slots=True)
class Question:
    """A query, and what tells whether a passage answers it."""

    text: str
    relevant: Relevant


@dataclass(frozen=True, slots=True)
class Side:
    """What one space is worth: shares over the questions, seconds a query, bytes of its vectors.

    `name` is that of its model for people.
    """

    name: str
    space: EmbeddingSpace
    found: float
    reciprocal_rank: float
    p50_s: float
    vectors: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two spaces on the same questions.

    `difference` is the new space's mean reciprocal rank at 10 less the old one's, between `low` and
    `high` with 95% confidence, as pairs of one question. `overlap` is the share of the first 10
    that both find.
    """

    kind: str
    questions: int
    old: Side
    new: Side
    difference: float
    low: float
    high: float
    overlap: float


def compare(
    store: PostgresStore,
    collection: str,
    old: tuple[KeptSpace, Embedder],
    new: tuple[KeptSpace, Embedder],
    questions: Sequence[Question],
    *,
    kind: str,
) -> Comparison:
    """Ask both spaces all questions, in turn. Raises UsageError without a question."""
    if not questions:
        raise UsageError(
            f"collection {collection!r} has no sentence to ask for: give questions of your own"
        )
    ranks: tuple[list[float], list[float]] = ([], [])
    times: tuple[list[float], list[float]] = ([], [])
    overlaps: list[float] = []
    for _, embedder in (old, new):
        embedder.embed_query(questions[0].text)  # the first one warms it up
    for question in questions:
        results: list[list[int]] = []
        for side, (kept, embedder) in enumerate((old, new)):
            began = perf_counter()
            vector = embedder.embed_query(question.text)
            nearest = store.spaces.nearest(collection, kept.space, vector, K)
            times[side].append(perf_counter() - began)
            results.append([chunk for chunk, _ in nearest])
        for side, rank in enumerate(_reciprocal_ranks(store, question, results)):
            ranks[side].append(rank)
        overlaps.append(len(set(results[0]) & set(results[1])) / max(1, *map(len, results)))
    baseline, candidate = (
        Side(
            kept.name,
            kept.space,
            fmean(rank > 0 for rank in ranks[side]),
            fmean(ranks[side]),
            median(times[side]),
            *store.spaces.size(collection, kept.id),
        )
        for side, (kept, _) in enumerate((old, new))
    )
    differences = [late - early for early, late in zip(*ranks, strict=True)]
    mean, margin = fmean(differences), _margin(differences)
    return Comparison(
        kind,
        len(questions),
        baseline,
        candidate,
        mean,
        mean - margin,
        mean + margin,
        fmean(overlaps),
    )


def sampled(store: PostgresStore, collection: str, space_id: int) -> list[Question]:
    """Make questions of the collection itself: half of a sentence, whose passage is to be found.

    They share their words with the passage, which is kind to every model: good for noticing what
    breaks. What is sampled stays the same as long as the collection does.
    """
    drawn = store.spaces.gaps(collection, space_id).sample(SAMPLED)
    halves = [(passage, half) for passage in drawn if (half := _half(passage.text))]
    return [Question(half, _is(passage)) for passage, half in halves]


def labelled(path: Path) -> list[Question]:
    """Read JSON lines with "question" and "spans", "relevant" documents or "answers".

    The first of these that a line has says which passages are right; a line that has none, or an
    empty list of answers, is passed over. Raises NotFoundError for a file that is not there,
    UsageError naming a line that cannot be used.
    """
    rows = [_question(where, line) for where, line in read_lines(path)]
    questions = [question for question in rows if question is not None]
    if not questions:
        raise UsageError(
            f'{path} has no question with "spans", "relevant" or "answers": label some'
        )
    return questions


def _question(where: str, line: str) -> Question | None:
    row = read_row(where, line)
    text = row.get("question") if isinstance(row, dict) else None
    if not isinstance(text, str) or not analyse(text):
        raise UsageError(f'{where}: "question" must be a text with at least one word')
    try:
        relevant = _relevant(row)
    except (TypeError, KeyError, ValueError, AttributeError) as error:
        raise UsageError(
            f'{where}: write "spans": [{{"document", "start", "end"}}], "relevant": {{document: 1}}'
            ' or "answers": [text]'
        ) from error
    return None if relevant is None else Question(text, relevant)


def _relevant(row: Mapping[str, Any]) -> Relevant | None:
    if row.get("spans"):
        spans = [(str(s["document"]), int(s["start"]), int(s["end"])) for s in row["spans"]]
        return lambda hit: any(
            fit(hit.uri, document) in _NAMED and hit.start < end and start < hit.end
            for document, start, end in spans
        )
    if row.get("relevant"):
        documents = [str(name) for name, grade in row["relevant"].items() if float(grade) > 0]
        return lambda hit: any(fit(hit.uri, name) in _NAMED for name in documents)
    answers = [_flat(str(answer)) for answer in row.get("answers") or [] if str(answer).strip()]
    if not answers:
        return None
    return lambda hit: any(answer in _flat(hit.text) for answer in answers)


def _flat(text: str) -> str:
    return " ".join(text.casefold().split())


def _is(passage: Passage) -> Relevant:
    """Tell whether a hit is this passage, or says the very same."""
    return lambda hit: hit.chunk == passage.chunk or hit.text == passage.text


def _half(text: str) -> str:
    """Return the second half of a passage's longest sentence; "" where all are short."""
    spans = max(sentences(text), key=lambda span: span.end - span.start, default=None)
    sentence = text[spans.start : spans.end].strip() if spans else ""
    if len(analyse(sentence)) < FEWEST_TERMS:
        return ""
    middle = sentence.find(" ", len(sentence) // 2)
    half = sentence[middle if middle > 0 else len(sentence) // 2 :].strip()
    return half if analyse(half) else ""


def _reciprocal_ranks(
    store: PostgresStore, question: Question, results: Sequence[Sequence[int]]
) -> list[float]:
    chunks = sorted({chunk for of_side in results for chunk in of_side})
    with store.snapshot() as reader:
        right = {hit.chunk for hit in reader.hits(chunks) if question.relevant(hit)}
    return [
        next((1 / rank for rank, chunk in enumerate(of_side, 1) if chunk in right), 0.0)
        for of_side in results
    ]


def _margin(differences: Sequence[float]) -> float:
    if len(differences) < 2:
        return float("inf")
    return 1.96 * stdev(differences) / sqrt(len(differences))
