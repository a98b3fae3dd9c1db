"""Fit a cut-off for refusals to labelled questions, with a curve that holds for other questions."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ragkit.answer.refuse.cutoff import Signals, signals
from ragkit.answer.refuse.logistic import cross_validate
from ragkit.errors import UsageError
from ragkit.question.reading import read_question
from ragkit.retrieve.words.weights import term_weights
from ragkit.stats.cutoff import RERANKED, SIGNALS, Cutoff
from ragkit.stats.roc import auc_interval
from ragkit.text.analyse import analyse
from ragkit.types import Draft, Mode
from ragkit.upkeep.questions import read_lines, read_row

if TYPE_CHECKING:
    from ragkit.knowledge.base import KnowledgeBase
    from ragkit.store.people.calibration import Calibration

FEWEST = 20  # of each kind; arbitrary: 5% of false refusals are one question in twenty
FALSE_REFUSALS = (0.0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3)  # the rows of the printed curve


@dataclass(frozen=True, slots=True)
class Labelled:
    """A question and whether the documents answer it; questions of a group are not independent."""

    question: str
    answerable: bool
    group: str


@dataclass(frozen=True, slots=True)
class Point:
    """What a cut-off does: answerable questions refused, unanswerable ones let through, 0 to 1."""

    cutoff: float
    false_refusals: float
    false_answers: float


@dataclass(frozen=True, slots=True)
class Fit:
    """A fitted cut-off, each question's score from a fit without its group, and what they say.

    `auc_low` and `auc_high` bound 95% of the bootstrap samples of groups. `before` is what happens
    without calibration; its cut-off means nothing.
    """

    cutoff: Cutoff
    scores: tuple[float, ...]
    answerable: tuple[bool, ...]
    auc: float
    auc_low: float
    auc_high: float
    before: Point

    def at(self, cutoff: float) -> Point:
        """Say what a cut-off does to these questions."""
        good = [s for s, label in zip(self.scores, self.answerable, strict=True) if label]
        bad = [s for s, label in zip(self.scores, self.answerable, strict=True) if not label]
        refused = sum(score < cutoff for score in good) / len(good)
        return Point(cutoff, refused, sum(score >= cutoff for score in bad) / len(bad))

    def highest(self, max_false_refusals: float) -> Point:
        """Find the highest cut-off that refuses at most this share of the answerable questions."""
        good = sorted(s for s, label in zip(self.scores, self.answerable, strict=True) if label)
        allowed = min(int(max_false_refusals * len(good) + 1e-9), len(good) - 1)
        return self.at(good[allowed])

    def curve(self) -> list[Point]:
        """Return the points of the printed curve."""
        return [self.highest(share) for share in FALSE_REFUSALS]


def read_labelled(path: Path) -> list[Labelled]:
    """Read JSON lines of {"question", "answerable"} or {"question", "answers"}, and "group" if any.

    A question with answers is answerable, one with an empty list is not. Raises NotFoundError for
    a file that is not there, and UsageError naming the line that cannot be used.
    """
    return [_labelled(where, line) for where, line in read_lines(path)]


def _labelled(where: str, line: str) -> Labelled:
    row = read_row(where, line)
    question = row.get("question") if isinstance(row, dict) else None
    if not isinstance(question, str) or not analyse(question):
        raise UsageError(f'{where}: "question" must be a text with at least one word')
    label = row.get("answerable")
    if label is None and isinstance(row.get("answers"), list):
        label = bool(row["answers"])
    if not isinstance(label, bool):
        raise UsageError(f'{where}: write "answerable": true or false, or "answers": [...]')
    return Labelled(question, label, str(row.get("group", question)))


def data_hash(labelled: Sequence[Labelled]) -> str:
    """Return the sha256 of questions and labels, whatever their order."""
    lines = sorted(json.dumps([item.question, item.answerable]) for item in labelled)
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def language_note(kb: KnowledgeBase, questions: Sequence[Labelled], mode: Mode) -> str:
    """Say that questions are in another language than all documents are; "" when they are not."""
    from ragkit.embed.models import model_card
    from ragkit.text.other_language import Asked, crossing_note

    documents = [item.language for item in kb.store.documents(kb.collection)]
    model = ""
    if mode != "lexical":
        kb.embedder.load()
        model = kb.embedder.space.model
    questions_asked = [Asked(item.question, documents) for item in questions]
    return crossing_note(questions_asked, documents, model=model, reads=model_card(model).reads)


def fit(
    kb: KnowledgeBase,
    labelled: Sequence[Labelled],
    *,
    mode: Mode = "hybrid",
    max_false_refusals: float = 0.05,
    cutoff: float | None = None,
    progress: Callable[[int], None] = lambda done: None,
) -> Fit:
    """Search for every question, fit the cut-off, and score each by a fit without its group.

    The threshold is `cutoff`, or the highest that refuses at most `max_false_refusals` of the
    answerable questions. A question for which nothing is found scores 0: it is refused anyhow.
    With a reranker the cut-off is on its score alone, so that it holds for each passage.
    Raises UsageError for fewer than 20 questions of a kind.
    """
    _check_enough(labelled)
    kb = kb.adapted(refusal_threshold=0)  # what is fitted already drops nothing here
    names = SIGNALS if kb.reranker is None else RERANKED
    evidence: list[Signals | None] = []
    refused_by_default: list[bool] = []
    for item in labelled:
        signals_of_item, refused = _probe(kb, item.question, mode)
        evidence.append(signals_of_item)
        refused_by_default.append(refused)
        progress(len(evidence))
    labels = [item.answerable for item in labelled]
    groups = [item.group for item in labelled]
    cutoff_of_all, scores = cross_validate(evidence, labels, groups, names=names)
    auc, low, high = auc_interval(scores, labels, groups)
    default = Point(
        0.0,
        _share(refused_by_default, labels),
        1 - _share(refused_by_default, [not label for label in labels]),
    )
    fitted = Fit(cutoff_of_all, tuple(scores), tuple(labels), auc, low, high, default)
    threshold = fitted.highest(max_false_refusals).cutoff if cutoff is None else cutoff
    return replace(fitted, cutoff=replace(cutoff_of_all, threshold=threshold))


def _check_enough(labelled: Sequence[Labelled]) -> None:
    answerable = sum(item.answerable for item in labelled)
    if min(answerable, len(labelled) - answerable) < FEWEST:
        raise UsageError(
            f"{answerable} answerable and {len(labelled) - answerable} unanswerable questions are"
            f" too few to fit a cut-off: label at least {FEWEST} of each"
        )


def _share(chosen: Sequence[bool], of: Sequence[bool]) -> float:
    return sum(a and b for a, b in zip(chosen, of, strict=True)) / sum(of)


def _probe(kb: KnowledgeBase, question: str, mode: Mode) -> tuple[Signals | None, bool]:
    """Return a question's signals, None if nothing is found; and whether it is refused already."""
    from ragkit.answer.meaning import Meaning
    from ragkit.answer.refuse.gate import Gate
    from ragkit.answer.write.extract import ExtractiveGenerator
    from ragkit.knowledge.base import PASSAGES

    hits = kb.search(question, k=PASSAGES, mode=mode)
    if not hits:
        return None, True
    parsed = read_question(question)
    weights = term_weights(kb.store, kb.collection, parsed.content)
    meaning = Meaning(kb.embedder)
    gate = Gate(lambda terms: weights, meaning=meaning)
    refused = bool(gate.judge(question, hits, mode).reason)
    if not refused and isinstance(kb.generator, ExtractiveGenerator):
        drafts = kb.generator.generate(question, hits)
        refused = any(isinstance(piece, Draft) and piece.refused for piece in drafts)
    return signals(parsed, hits, weights, model=meaning.model()), refused


def calibration(
    kb: KnowledgeBase, fitted: Fit, labelled: Sequence[Labelled], mode: Mode
) -> Calibration:
    """Put a fit together with what it holds for."""
    from ragkit.store.people.calibration import Calibration, name_of, space_of

    answerable = sum(fitted.answerable)
    return Calibration(
        space=space_of(kb.embedder, mode),
        reranker=name_of(kb.reranker),
        mode=mode,
        cutoff=fitted.cutoff,
        data_hash=data_hash(labelled),
        answerable=answerable,
        unanswerable=len(fitted.answerable) - answerable,
        chunks=chunks_in(kb),
        auc=fitted.auc,
    )


def chunks_in(kb: KnowledgeBase) -> int:
    """Count the passages of the collection."""
    return sum(row.chunks for row in kb.store.collections() if row.name == kb.collection)
