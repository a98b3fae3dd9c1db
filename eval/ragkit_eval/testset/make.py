"""Make a labelled set: which documents are asked about, how often, and when to stop.

It takes documents in turn, so that each has about as many questions, and counts what was rejected.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Final, TypeVar

from ragkit.answer.quotations import fold
from ragkit.answer.templates import PromptLanguage
from ragkit.contracts import Store
from ragkit.errors import ModelServerError, UsageError
from ragkit.types import Document, Hit
from ragkit_eval.sets import Question
from ragkit_eval.testset.cloze import cloze_questions
from ragkit_eval.testset.made import named
from ragkit_eval.testset.sources import (
    Source,
    drawn,
    in_drawn_order,
    language_of,
    read_source,
    short_names,
)
from ragkit_eval.testset.swapped import unanswerable_questions
from ragkit_eval.testset.written import Writer

TRIES: Final = 3  # passages asked about for each question wanted; arbitrary
MOST_READ: Final = 2000  # documents, where each gives little; arbitrary
AT_ONCE: Final = 8  # requests to a language model; arbitrary
# Shorter passages hold no fact worth a question. Arbitrary.
PASSAGE_CHARS: Final[Mapping[PromptLanguage, int]] = {"en": 200, "zh": 80}

Progress = Callable[[int], None]
T = TypeVar("T")
_Passage = tuple[Hit, PromptLanguage]


@dataclass(frozen=True, slots=True)
class TestSet:
    """The questions that were made, and how many were rejected for which reason.

    `stopped` says why the language model could not be asked any longer.
    """

    __test__ = False  # no test class, whatever pytest thinks of its name

    questions: tuple[Question, ...]
    rejected: Mapping[str, int]
    documents: int
    stopped: str = ""

    @property
    def unanswerable(self) -> int:
        """Count the questions that the documents do not answer."""
        return sum(not question.answerable for question in self.questions)


def make(
    store: Store,
    collection: str,
    *,
    questions: int,
    unanswerable: float = 0.0,
    language: PromptLanguage | None = None,
    seed: int = 0,
    writer: Writer | None = None,
    progress: Progress = lambda done: None,
) -> TestSet:
    """Make questions about a collection's documents, a share of them unanswerable.

    `writer` writes them; without one they are made by cloze, always the same for a seed and the
    same documents. There are fewer where the documents give no more, or where the model's server
    fails after the first. Raises UsageError for a collection without documents, or without any in
    English or Chinese; ModelError when the model cannot be asked at all.
    """
    stored = store.documents(collection)
    names = short_names([document.uri for document in stored])
    documents = in_drawn_order(_fit(stored, collection, language), seed, names)
    without = round(questions * unanswerable)
    keeping = _Keeping(language, progress)
    stopped = ""
    try:
        for wanted, answerable in ((questions - without, True), (without, False)):
            offered = _offered(store, collection, documents, wanted, answerable, seed, writer)
            keeping.take(offered, wanted)
    except ModelServerError as error:
        if not keeping.kept:
            raise
        stopped = str(error)
    made = tuple(named(question, names[question.group]) for question in keeping.kept)
    return TestSet(made, dict(keeping.rejected), len(documents), stopped)


class _Keeping:
    """The questions that are kept, each once, and why others were not."""

    def __init__(self, language: PromptLanguage | None, progress: Progress) -> None:
        self.kept: list[Question] = []
        self.rejected: Counter[str] = Counter()
        self._language = language
        self._progress = progress
        self._known: set[str] = set()

    def take(self, offered: Iterator[Question | str], wanted: int) -> None:
        """Keep as many more of what is offered."""
        end = len(self.kept) + wanted
        while len(self.kept) < end and (one := next(offered, None)) is not None:
            fault = one if isinstance(one, str) else self._fault(one)
            if isinstance(one, str) or fault:
                self.rejected[fault] += 1
            else:
                self.kept.append(one)
                self._progress(len(self.kept))

    def _fault(self, question: Question) -> str:
        if self._language is not None and question.tags["language"] != self._language:
            return "another language"
        folded = fold(question.text).text
        if folded in self._known:
            return "the same question again"
        self._known.add(folded)
        return ""


def _fit(
    found: Sequence[Document], collection: str, language: PromptLanguage | None
) -> Sequence[Document]:
    """Leave out documents in other languages. Raises UsageError when none is left."""
    if not found:
        raise UsageError(
            f"collection {collection!r} has no documents: take some in with"
            f" `ragkit ingest FOLDER --collection {collection}`"
        )
    # One whose language nobody could name may hold some all the same.
    wanted = (language, "") if language else ("en", "zh", "")
    fit = [document for document in found if document.language in wanted]
    if not fit:
        named = {"en": "English", "zh": "Chinese", None: "English or Chinese"}[language]
        raise UsageError(
            f"none of the {len(found)} documents in collection {collection!r} is {named}:"
            " questions are made in these languages alone"
        )
    return fit


def _offered(
    store: Store,
    collection: str,
    documents: Sequence[Document],
    wanted: int,
    answerable: bool,
    seed: int,
    writer: Writer | None,
) -> Iterator[Question | str]:
    """Yield questions and reasons, one document after the other, round after round."""
    if wanted <= 0:
        return iter(())  # and no thread is started
    ordered = documents[: max(MOST_READ, wanted)]
    if writer is None:
        ask = cloze_questions if answerable else unanswerable_questions
        return _in_turn(store, ordered, lambda source: ask(store, collection, source, seed))
    write = writer.answerable if answerable else writer.unanswerable
    jobs = _in_turn(store, ordered, partial(_passages, seed=seed))
    return _written(jobs, write, most=TRIES * wanted + TRIES)


def _in_turn(
    store: Store, documents: Sequence[Document], offer: Callable[[Source], Iterator[T | str]]
) -> Iterator[T | str]:
    """Take what documents offer in turn: from each up to the first that is no reason."""
    waiting = deque(documents)
    offers: dict[int, Iterator[T | str]] = {}
    while waiting:
        document = waiting.popleft()
        if document.id not in offers:
            offers[document.id] = offer(read_source(store, document))
        for offered in offers[document.id]:
            yield offered
            if not isinstance(offered, str):
                waiting.append(document)
                break
        else:
            del offers[document.id]


def _passages(source: Source, seed: int) -> Iterator[_Passage | str]:
    """Yield a document's passages that are long enough to ask about, in a drawn order."""
    for passage in sorted(source.passages, key=lambda hit: drawn(seed, hit.start, hit.text)):
        language = language_of(passage.text, source.document)
        if language is None:
            yield "a passage neither English nor Chinese"
        elif len(passage.text) < PASSAGE_CHARS[language]:
            yield "a passage too short to ask about"
        else:
            yield passage, language


def _written(
    jobs: Iterator[_Passage | str],
    write: Callable[[Hit, PromptLanguage], Question | str],
    *,
    most: int,
) -> Iterator[Question | str]:
    """Have questions written about `most` passages at most, several at once, in their order."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        while most > 0:
            batch: list[_Passage] = []
            for job in jobs:
                if isinstance(job, str):
                    yield job
                    continue
                batch.append(job)
                if len(batch) == min(AT_ONCE, most):
                    break
            if not batch:
                return
            most -= len(batch)
            yield from pool.map(lambda job: write(*job), batch)
