"""Make a labelled set: choose documents in turn, and stop at the requested number of questions.

Documents take turns so that each gets about as many questions; rejections are counted.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Final, TypeVar

from ragkit.answer.check.quotations import fold
from ragkit.contracts import Store
from ragkit.errors import ModelServerError, UsageError
from ragkit.prompts.templates import PromptLanguage
from ragkit.types import Document, Hit
from ragkit_eval.sets import Question
from ragkit_eval.testset.absent import Collected
from ragkit_eval.testset.cloze import cloze_questions
from ragkit_eval.testset.kinds import SHOWS, Kind
from ragkit_eval.testset.label import named
from ragkit_eval.testset.model_writer import Writer
from ragkit_eval.testset.rules import Offer, answerable_steps, unanswerable_steps
from ragkit_eval.testset.sources import (
    Source,
    drawn,
    in_drawn_order,
    language_of,
    read_source,
    short_names,
)

TRIES: Final = 3  # passages per requested question; arbitrary
MAX_DOCUMENTS: Final = 2000  # documents to read if each gives little; arbitrary
CONCURRENCY: Final = 8  # requests to a language model; arbitrary
# Shorter passages rarely hold a fact. Arbitrary.
PASSAGE_CHARS: Final[Mapping[PromptLanguage, int]] = {"en": 200, "zh": 80}

_SENTENCE_KINDS: Final = frozenset(
    {"number", "definition", "cloze"}
)  # kinds that could ask for one sentence's fact twice

Progress = Callable[[int], None]
T = TypeVar("T")
_Passage = tuple[Hit, PromptLanguage]


@dataclass(frozen=True, slots=True)
class TestSet:
    """The questions of a set, and the number of rejected candidates by reason.

    `stopped` is the error that ended the use of the language model.
    """

    __test__ = False  # pytest takes the name for a test class

    questions: tuple[Question, ...]
    rejected: Mapping[str, int]
    documents: int
    stopped: str = ""

    @property
    def kinds(self) -> Mapping[Kind, int]:
        """Count the questions of each kind, in the order of `SHOWS`."""
        counted = Counter(question.tags["kind"] for question in self.questions)
        return {kind: counted[kind] for kind in SHOWS if counted[kind]}

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
    only_cloze: bool = False,
    progress: Progress = lambda done: None,
) -> TestSet:
    """Make questions about a collection's documents, a share of them unanswerable.

    `writer` writes them; without it rules make them, of several kinds unless `only_cloze`, and the
    same ones for a seed and the same documents. There are fewer if the documents give no more, or
    if the model's server fails after the first question. Raises UsageError for a collection without
    documents, or without any in English or Chinese; ModelError when the model cannot be asked at
    all.
    """
    stored = store.documents(collection)
    names = short_names([document.uri for document in stored])
    documents = in_drawn_order(_filter_documents(stored, collection, language), seed, names)
    unanswerable_count = round(questions * unanswerable)
    collector = _Collector(language, progress)
    stopped = ""
    try:
        for count, answerable in (
            (questions - unanswerable_count, True),
            (unanswerable_count, False),
        ):
            if writer is not None:
                collector.take(_ask_model(store, documents, count, answerable, seed, writer), count)
                continue
            steps = answerable_steps(count) if answerable else unanswerable_steps(count)
            if answerable and only_cloze:
                steps = [(cloze_questions, count)]
            _apply_rules(Collected(store, collection), documents, steps, count, seed, collector)
    except ModelServerError as error:
        if not collector.questions:
            raise
        stopped = str(error)
    labelled = tuple(named(question, names[question.group]) for question in collector.questions)
    return TestSet(labelled, dict(collector.rejected), len(documents), stopped)


class _Collector:
    """Collects questions, each once, and counts the rejected ones by reason."""

    def __init__(self, language: PromptLanguage | None, progress: Progress) -> None:
        self.questions: list[Question] = []
        self.rejected: Counter[str] = Counter()
        self._language = language
        self._progress = progress
        self._folded: set[str] = set()
        self._sentences: set[tuple[str, int, int]] = set()

    def take(self, offered: Iterator[Question | str], count: int) -> None:
        """Collect up to `count` more of the offered questions."""
        end = len(self.questions) + count
        while len(self.questions) < end and (candidate := next(offered, None)) is not None:
            fault = candidate if isinstance(candidate, str) else self._fault(candidate)
            if isinstance(candidate, str) or fault:
                self.rejected[fault] += 1
            else:
                self.questions.append(candidate)
                self._progress(len(self.questions))

    def _fault(self, question: Question) -> str:
        if self._language is not None and question.tags["language"] != self._language:
            return "another language"
        folded = fold(question.text).text
        if folded in self._folded:
            return "the same question again"
        if question.tags["kind"] in _SENTENCE_KINDS:
            places = {(place.document, place.start, place.end) for place in question.excerpts}
            if places & self._sentences:
                return "the sentence was asked about already"
            self._sentences |= places
        self._folded.add(folded)
        return ""


def _filter_documents(
    documents: Sequence[Document], collection: str, language: PromptLanguage | None
) -> Sequence[Document]:
    """Leave out documents in other languages. Raises UsageError when none remains."""
    if not documents:
        raise UsageError(
            f"collection {collection!r} has no documents: take some in with"
            f" `ragkit ingest FOLDER --collection {collection}`"
        )
    # A document of unknown language may hold some passages in these languages.
    languages = (language, "") if language else ("en", "zh", "")
    suitable = [document for document in documents if document.language in languages]
    if not suitable:
        language_name = {"en": "English", "zh": "Chinese", None: "English or Chinese"}[language]
        raise UsageError(
            f"none of the {len(documents)} documents in collection {collection!r} is"
            f" {language_name}: questions are made in these languages alone"
        )
    return suitable


def _ask_model(
    store: Store,
    documents: Sequence[Document],
    count: int,
    answerable: bool,
    seed: int,
    writer: Writer,
) -> Iterator[Question | str]:
    """Yield what the model writes about passages, one document after the other, in rounds."""
    if count <= 0:
        return iter(())  # without starting a thread
    ordered = documents[: max(MAX_DOCUMENTS, count)]
    write = writer.answerable if answerable else writer.unanswerable
    jobs = _take_turns(store, ordered, partial(_draw_passages, seed=seed))
    return _write_concurrently(jobs, write, limit=TRIES * count + TRIES)


def _apply_rules(
    collected: Collected,
    documents: Sequence[Document],
    steps: Sequence[tuple[Offer, int]],
    count: int,
    seed: int,
    collector: _Collector,
) -> None:
    """Collect each step's questions up to its limit, `count` in total."""
    ordered = documents[: max(MAX_DOCUMENTS, count)]
    end = len(collector.questions) + count
    offers: dict[Offer, Iterator[Question | str]] = {}
    for offer, limit in steps:
        if offer not in offers:  # a repeated step continues

            def offer_for(source: Source, offer: Offer = offer) -> Iterator[Question | str]:
                return offer(collected, source, seed)

            offers[offer] = _take_turns(collected.store, ordered, offer_for)
        collector.take(offers[offer], min(limit, end - len(collector.questions)))


def _take_turns(
    store: Store, documents: Sequence[Document], offer: Callable[[Source], Iterator[T | str]]
) -> Iterator[T | str]:
    """Take from each document in turn: its reasons, up to and with its next question."""
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


def _draw_passages(source: Source, seed: int) -> Iterator[_Passage | str]:
    """Yield a document's passages of sufficient length, in a drawn order."""
    for passage in sorted(source.passages, key=lambda hit: drawn(seed, hit.start, hit.text)):
        language = language_of(passage.text, source.document)
        if language is None:
            yield "a passage neither English nor Chinese"
        elif len(passage.text) < PASSAGE_CHARS[language]:
            yield "a passage too short to ask about"
        else:
            yield passage, language


def _write_concurrently(
    jobs: Iterator[_Passage | str],
    write: Callable[[Hit, PromptLanguage], Question | str],
    *,
    limit: int,
) -> Iterator[Question | str]:
    """Let the model write about at most `limit` passages, several at once, in order."""
    with ThreadPoolExecutor(CONCURRENCY) as pool:
        while limit > 0:
            batch: list[_Passage] = []
            for job in jobs:
                if isinstance(job, str):
                    yield job
                    continue
                batch.append(job)
                if len(batch) == min(CONCURRENCY, limit):
                    break
            if not batch:
                return
            limit -= len(batch)
            yield from pool.map(lambda job: write(*job), batch)
