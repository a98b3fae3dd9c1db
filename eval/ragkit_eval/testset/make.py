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
from ragkit_eval.testset.absent import Collected
from ragkit_eval.testset.cloze import cloze_questions
from ragkit_eval.testset.kinds import SHOWS, Kind
from ragkit_eval.testset.made import named
from ragkit_eval.testset.rules import Offer, answerable_steps, unanswerable_steps
from ragkit_eval.testset.sources import (
    Source,
    drawn,
    in_drawn_order,
    language_of,
    read_source,
    short_names,
)
from ragkit_eval.testset.written import Writer

TRIES: Final = 3  # passages asked about for each question wanted; arbitrary
MOST_READ: Final = 2000  # documents, where each gives little; arbitrary
AT_ONCE: Final = 8  # requests to a language model; arbitrary
# Shorter passages hold no fact worth a question. Arbitrary.
PASSAGE_CHARS: Final[Mapping[PromptLanguage, int]] = {"en": 200, "zh": 80}

_OF_SENTENCES: Final = frozenset(
    {"number", "definition", "cloze"}
)  # the same fact would be asked for twice

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
    def kinds(self) -> Mapping[Kind, int]:
        """Count the questions of each kind, in the order in which kinds are described."""
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

    `writer` writes them; without one they are made by rules, of several kinds unless `only_cloze`,
    always the same for a seed and the same documents. There are fewer where the documents give no
    more, or where the model's server fails after the first. Raises UsageError for a collection
    without documents, or without any in English or Chinese; ModelError when the model cannot be
    asked at all.
    """
    stored = store.documents(collection)
    names = short_names([document.uri for document in stored])
    documents = in_drawn_order(_fit(stored, collection, language), seed, names)
    without = round(questions * unanswerable)
    keeping = _Keeping(language, progress)
    stopped = ""
    try:
        for wanted, answerable in ((questions - without, True), (without, False)):
            if writer is not None:
                keeping.take(_by_model(store, documents, wanted, answerable, seed, writer), wanted)
                continue
            steps = answerable_steps(wanted) if answerable else unanswerable_steps(wanted)
            if answerable and only_cloze:
                steps = [(cloze_questions, wanted)]
            _by_rules(Collected(store, collection), documents, steps, wanted, seed, keeping)
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
        self._sentences: set[tuple[str, int, int]] = set()

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
        if question.tags["kind"] in _OF_SENTENCES:
            places = {(place.document, place.start, place.end) for place in question.excerpts}
            if places & self._sentences:
                return "the sentence was asked about already"
            self._sentences |= places
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


def _by_model(
    store: Store,
    documents: Sequence[Document],
    wanted: int,
    answerable: bool,
    seed: int,
    writer: Writer,
) -> Iterator[Question | str]:
    """Yield what the model writes about passages, one document after the other, in rounds."""
    if wanted <= 0:
        return iter(())  # and no thread is started
    ordered = documents[: max(MOST_READ, wanted)]
    write = writer.answerable if answerable else writer.unanswerable
    jobs = _in_turn(store, ordered, partial(_passages, seed=seed))
    return _written(jobs, write, most=TRIES * wanted + TRIES)


def _by_rules(
    collected: Collected,
    documents: Sequence[Document],
    steps: Sequence[tuple[Offer, int]],
    wanted: int,
    seed: int,
    keeping: _Keeping,
) -> None:
    """Take what each step offers up to its own number, all of them together `wanted`."""
    ordered = documents[: max(MOST_READ, wanted)]
    end = len(keeping.kept) + wanted
    offers: dict[Offer, Iterator[Question | str]] = {}
    for offer, most in steps:
        if offer not in offers:  # a step that comes again goes on where it was

            def of(source: Source, offer: Offer = offer) -> Iterator[Question | str]:
                return offer(collected, source, seed)

            offers[offer] = _in_turn(collected.store, ordered, of)
        keeping.take(offers[offer], min(most, end - len(keeping.kept)))


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
