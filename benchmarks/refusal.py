"""How well refusals tell questions that the documents answer from those that they do not."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from benchmarks.data import clapnq_answerable, clapnq_unanswerable, cmrc, knowledge_base
from benchmarks.everyday_set import NAMES, half_of, mixed_collection, questions
from ragkit import Hit, KnowledgeBase
from ragkit.answer.meaning import Meaning
from ragkit.answer.refuse.cutoff import QUOTED_FROM, Signals
from ragkit.answer.write.extract import answer_signals, pick
from ragkit.knowledge.base import PASSAGES
from ragkit.question.reading import read_question
from ragkit.retrieve.words.weights import term_weights
from ragkit.stats.roc import auc_interval
from ragkit_eval.sets import LabelledSet, Question

CMRC_EVERY = 4  # of its questions: 800 say enough
FALSE_REFUSALS = (0.03, 0.05, 0.10)
HEAD = f"""## Refusals

By the probability of an answer, below {QUOTED_FROM:g} of which quoted sentences are refused: the
area under the curve that tells answerable questions from the others, what is refused, and the share
of the others that would be refused at 3%, 5% and 10% of false refusals. CLAPNQ's unanswerable
questions are asked of a collection that holds their own passages, which do not answer them. Of
CMRC 2018 half of the articles are in the collection, and questions about the other half have no
answer there, only articles about the same topics. *Everyday*: near misses and foreign questions
asked of the mixed collection, also in the language that the documents are not in. The constants
were fitted on the other half, by document, of each set. In brackets 95% intervals by document.
"""


@dataclass(frozen=True, slots=True)
class Measured:
    """A question's signals and label; `half` 1 is reported, `group` names its document."""

    set: str
    half: int
    answerable: bool
    group: str
    signals: Signals

    @property
    def probability(self) -> float:
        return self.signals.probability


def run() -> str:
    measured = [one for one in measure() if one.half == 1]
    lines = [
        HEAD,
        "| set | answerable | others | AUC | answerable refused | others refused"
        " | at 3% | at 5% | at 10% |",
        "|" + "---|" * 9,
        *(_row(name, [one for one in measured if one.set == name]) for name in _names(measured)),
    ]
    return "\n".join(lines) + "\n"


def measure() -> Iterator[Measured]:
    """Ask every question of every set, and read its signals."""
    yield from _everyday()
    with knowledge_base(clapnq_answerable(), clapnq_unanswerable()) as kb:
        for labelled, answerable in ((clapnq_answerable(), True), (clapnq_unanswerable(), False)):
            yield from _asked(kb, "CLAPNQ", labelled.questions, answerable)
    kept = _half_of_articles(cmrc())
    with knowledge_base(kept) as kb:
        names = set(kept.documents)
        some = cmrc().questions[::CMRC_EVERY]
        for answerable in (True, False):
            asked = [q for q in some if (set(q.relevant) <= names) == answerable]
            yield from _asked(kb, "CMRC 2018", asked, answerable)


def _everyday() -> Iterator[Measured]:
    with mixed_collection() as kb:
        for file, name in NAMES.items():
            for asked in questions(file):
                group = asked.document or asked.id
                hits = kb.search(asked.question, k=PASSAGES)
                found = read_signals(kb, asked.question, hits)
                yield Measured(f"everyday, {name}", asked.half, asked.answerable, group, found)


def _asked(
    kb: KnowledgeBase, name: str, asked: Sequence[Question], answerable: bool
) -> Iterator[Measured]:
    for question in asked:
        group = min(question.relevant, default=question.id)
        hits = kb.search(question.text, k=PASSAGES)
        yield Measured(
            name, half_of(group), answerable, group, read_signals(kb, question.text, hits)
        )


def read_signals(kb: KnowledgeBase, question: str, hits: Sequence[Hit]) -> Signals:
    """Read the signals that the extractive generator judges by; all low where nothing is found."""
    asked, meaning = read_question(question), Meaning(kb.embedder)
    weights = term_weights(kb.store, kb.collection, asked.content)
    chosen = pick(question, hits, meaning=meaning)
    return answer_signals(asked, hits, weights, chosen, meaning)


def _half_of_articles(labelled: LabelledSet) -> LabelledSet:
    """Keep half of the documents, by another hash than the one that parts the questions."""
    kept = {name: text for name, text in labelled.documents.items() if half_of(f"kept {name}")}
    return replace(labelled, documents=kept)


def _names(measured: Iterable[Measured]) -> list[str]:
    """Name the sets, in the order of their first questions."""
    return list(dict.fromkeys(one.set for one in measured))


def _row(name: str, some: Sequence[Measured]) -> str:
    good = [one for one in some if one.answerable]
    bad = [one for one in some if not one.answerable]
    cells = [name, str(len(good)), str(len(bad))]
    auc = "–"
    if bad:
        scores, labels = [one.probability for one in some], [one.answerable for one in some]
        middle, low, high = auc_interval(scores, labels, [one.group for one in some])
        auc = f"{middle:.3f} ({low:.3f} to {high:.3f})"
    cells += [auc, *(_refused(half, QUOTED_FROM) for half in (good, bad))]
    cells += [_refused(bad, at(good, share)) for share in FALSE_REFUSALS]
    print(cells, flush=True)
    return f"| {' | '.join(cells)} |"


def at(good: Sequence[Measured], share: float) -> float:
    """Return the probability below which this share of the answerable questions is refused."""
    return sorted(one.probability for one in good)[int(share * len(good))]


def _refused(some: Sequence[Measured], least: float) -> str:
    return f"{fmean(one.probability < least for one in some):.1%}" if some else "–"
