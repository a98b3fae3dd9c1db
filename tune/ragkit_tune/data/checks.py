"""Checks of rows: what is wrong with one by itself, beside others, and across the split."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from ragkit.errors import UsageError
from ragkit.text.language import language
from ragkit.text.length import estimate_tokens
from ragkit.text.near_duplicates import signature
from ragkit.text.sentences import sentences
from ragkit.types import Hit
from ragkit_tune.data.clusters import Clusters, Division, NearTexts
from ragkit_tune.data.data_set import Split
from ragkit_tune.data.labelled import CHANGED, GONE, SPLIT_UP, UNLABELLED
from ragkit_tune.data.negatives import Rivals
from ragkit_tune.data.questions import Place, Question, folded

MIN_TOKENS: Final = 12  # of a passage, by the estimate: less teaches nothing; arbitrary
MIN_SENTENCE_TOKENS: Final = 8  # of a sentence that a query may not repeat; arbitrary

BLANK: Final = "the question is blank"
SHORT: Final = "the passage is too short"
EASY: Final = "the question repeats a sentence of the passage"
DUPLICATE: Final = "the same question and passage again"
ALREADY: Final = "another way made the same question and passage, which stay"
OTHER_LANGUAGE: Final = "another language than the passage"
UNWANTED_LANGUAGE: Final = "another language than --language"
ASKED_IN_TEST: Final = "its question is asked in another part"
HOLDS_QUERY: Final = "its passage holds a question of another part"
NEAR_PASSAGE: Final = "its passage is nearly one of another part"
OTHER_SPLIT: Final = "its document answers a question of another part"
GAP: Final = "a sentence with a gap is no question to test by"

FEWEST: Final = 50  # rows; fewer change a model by chance; arbitrary
MAX_FAULTS: Final = 0.1  # share of rows that may be left out by faults
# What is wrong with the data, not only unsuited: more than a tenth of it stops the command.
FAULTS: Final = frozenset(
    {
        *(BLANK, SHORT, EASY, DUPLICATE, OTHER_LANGUAGE, ASKED_IN_TEST, HOLDS_QUERY),
        *(GONE, CHANGED, SPLIT_UP, UNLABELLED),
    }
)
_WRITTEN: Final = frozenset({"headings", "tables", "numbers", "definitions", "cloze", "asked"})


@dataclass(frozen=True, slots=True)
class Row:
    """A question with one of its passages, in its split, and what a search says of it."""

    question: Question
    place: Place
    split: Split
    rivals: Rivals = field(default_factory=Rivals)


def check_faults(
    rows: int, left_out: Mapping[str, int], faults: Collection[str], *, allow_dropped: bool
) -> None:
    """Raise UsageError when over a tenth of all rows is left out for one of these faults."""
    counts = Counter({reason: n for reason, n in left_out.items() if reason in faults})
    considered = rows + sum(left_out.values())
    if counts.total() > MAX_FAULTS * considered and not allow_dropped:
        listed = ", ".join(f"{reason} ({n})" for reason, n in counts.most_common())
        raise UsageError(
            f"{counts.total()} of {considered} rows have a fault: {listed}: mend them, or leave"
            " them out with --allow-dropped"
        )


def check_questions(
    questions: Sequence[Question], requested: str, left_out: Counter[str]
) -> list[Question]:
    """Return the questions with those of their passages that pass, counting the others.

    Of what several ways made, the labelled question stays, else the first.
    """
    passing = []
    hows: dict[tuple[str, str], str] = {}
    for question in sorted(questions, key=lambda question: question.how != "labelled"):
        places = []
        new_pairs = set()
        for place in question.places:
            pair = (folded(question.text), folded(place.passage.text))
            fault = _fault(question, place, requested)
            if not fault and pair in hows:
                fault = DUPLICATE if hows[pair] == question.how else ALREADY
            if fault:
                left_out[fault] += 1
            else:
                new_pairs.add(pair)  # two spans of one passage are no duplicates
                places.append(place)
        hows |= dict.fromkeys(new_pairs, question.how)
        if places:
            passing.append(_with_places(question, tuple(places)))
    return passing


def _fault(question: Question, place: Place, requested: str) -> str:
    query, passage = folded(question.text), folded(place.passage.text)
    if not query:
        return BLANK
    if estimate_tokens(passage) < MIN_TOKENS:
        return SHORT
    query_language = language(question.text) or question.language
    answered = language(place.passage.text)
    if requested and (query_language or requested) != requested:
        return UNWANTED_LANGUAGE
    if question.how in _WRITTEN and query_language and answered and query_language != answered:
        return OTHER_LANGUAGE
    if query in passage and estimate_tokens(query) >= MIN_SENTENCE_TOKENS:
        return EASY
    return EASY if _repeats_sentence(query, place.passage.text) else ""


def _repeats_sentence(query: str, passage: str) -> bool:
    pieces = (folded(passage[span.start : span.end]) for span in sentences(passage))
    return any(
        piece in query
        for piece in pieces
        if len(piece) <= len(query) and estimate_tokens(piece) >= MIN_SENTENCE_TOKENS
    )


def make_rows(
    questions: Sequence[Question],
    clusters: Clusters,
    division: Division,
    left_out: Counter[str],
    blocked: Blocked,
) -> list[Row]:
    """Make a row of each question and passage, without what would leak across the split.

    A question of the test stays whole: a row of dev or train that touches it goes, and a row of
    train that touches dev. `blocked` is empty, and gets the rows of test and dev.
    """
    pairs = zip(questions, division.of_question, strict=True)
    proves = any(split == "test" and question.how != "cloze" for question, split in pairs)
    rows: list[Row] = []
    for split in ("test", "dev", "train"):
        passing: list[Row] = []
        for question, its_split in zip(questions, division.of_question, strict=True):
            if its_split != split:
                continue
            if split == "test" and proves and question.how == "cloze":
                left_out[GAP] += 1
                continue
            for place in {place.passage.chunk: place for place in question.places}.values():
                home = division.of_cluster[clusters.of[place.passage.uri]]
                fault = OTHER_SPLIT if home != split else blocked.fault(question, place)
                if fault:
                    left_out[fault] += 1
                else:
                    passing.append(Row(question, place, split))
        if split != "train":
            blocked.add(passing)
        rows = passing + rows
    return rows


class Blocked:
    """The queries and passages of dev and test, which no other split may touch."""

    def __init__(self) -> None:
        self._is_near: dict[int, bool] = {}
        self._queries: set[str] = set()
        self._long_queries: list[str] = []
        self._passages: list[str] = []
        self._near = NearTexts()

    def fault(self, question: Question, place: Place) -> str:
        """Return what a row of another split has in common with these; "" for nothing."""
        query, passage = folded(question.text), folded(place.passage.text)
        if query in self._queries:
            return ASKED_IN_TEST
        if any(text in passage for text in self._long_queries):
            return HOLDS_QUERY
        if estimate_tokens(query) >= MIN_SENTENCE_TOKENS and any(
            query in text for text in self._passages
        ):
            return HOLDS_QUERY
        return NEAR_PASSAGE if self.is_near(place.passage) else ""

    def is_near(self, passage: Hit) -> bool:
        """Tell whether a passage is nearly one of these."""
        if passage.chunk not in self._is_near:
            self._is_near[passage.chunk] = bool(self._near.near(signature(passage.text)))
        return self._is_near[passage.chunk]

    def add(self, rows: Sequence[Row]) -> None:
        """Block the queries and passages of some rows."""
        self._is_near.clear()
        self._queries |= {folded(row.question.text) for row in rows}
        self._long_queries = [
            query
            for query in sorted(self._queries)
            if estimate_tokens(query) >= MIN_SENTENCE_TOKENS
        ]
        passages = {row.place.passage.chunk: row.place.passage.text for row in rows}
        for text in passages.values():
            self._passages.append(folded(text))
            self._near.add(signature(text))


def _with_places(question: Question, places: tuple[Place, ...]) -> Question:
    return question if places == question.places else replace(question, places=places)
