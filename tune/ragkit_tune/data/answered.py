"""Questions with their answers: from thumbs up, labelled sets, and rows of pairs.

An answer cites the question's own places, [1] the first of them; which number each gets in a prompt
is decided where the prompt is made.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ragkit.text.analyse import analyse
from ragkit.text.language import language
from ragkit.text.markers import MARKER, find_markers
from ragkit.text.sentences import sentences
from ragkit.types import Span
from ragkit_tune.data.data_set import read_objects, read_pairs
from ragkit_tune.data.feedback import UNCITED
from ragkit_tune.data.feedback import _find_place as find_place
from ragkit_tune.data.labelled import CHANGED, GONE, SPLIT_UP, Label, read_labels, resolve
from ragkit_tune.data.negatives import Miner
from ragkit_tune.data.questions import Place, Question, digest
from ragkit_tune.data.sources import Sources

if TYPE_CHECKING:
    from ragkit.knowledge.base import KnowledgeBase
    from ragkit.settings.settings import Settings
    from ragkit.store.people.feedback import Rated, Rating

_CLOSING: Final = " \t\r\n.!?…。！？\"'”’」』）)"


@dataclass(frozen=True, slots=True)
class AnsweredQuestion:
    """A question, its places in the documents, and its answer, "" where none is known.

    A question without places is one that the documents do not answer.
    """

    text: str
    places: tuple[Place, ...]
    answer: str
    how: str
    language: str
    group: str = ""
    answers: tuple[str, ...] = ()
    grades: Mapping[str, int] | None = None

    @property
    def is_answerable(self) -> bool:
        """Whether the documents answer it."""
        return bool(self.places)

    @property
    def id(self) -> str:
        """Return a hash of the question, its first place and its answer."""
        first = self.places[0].passage if self.places else None
        where = (first.uri, first.start) if first else ("", 0)
        return digest(self.text, *where, self.answer)[:12]

    def as_question(self) -> Question:
        """Return the question with its labels. It must have places."""
        return Question(
            self.text,
            self.places,
            self.how,
            self.language,
            self.group,
            self.answers,
            self.grades or {},
        )


def rated_answers(
    kb: KnowledgeBase, settings: Settings, sources: Sources, rating: Rating, left_out: Counter[str]
) -> list[AnsweredQuestion]:
    """Return questions with the answers that users rated so, the oldest first.

    A refusal that was liked is a question that the documents do not answer.
    """
    from ragkit.store.people.feedback import Feedback

    if kb.database is None:
        return []
    ratings = Feedback(
        kb.database.pool, settings.tenant, settings.principal, keep_days=settings.serve_keep_days
    )
    documents = {document.uri: document for document in sources.documents}
    items = []
    for rated in ratings.all(rating=rating, collections=(kb.collection,)):
        item = _read_rated(rated, documents, sources)
        if isinstance(item, str):
            left_out[item] += 1
        else:
            items.append(item)
    return items[::-1]


def _read_rated(rated: Rated, documents: Any, sources: Sources) -> AnsweredQuestion | str:
    text = rated.query or rated.question
    if rated.refused:
        return AnsweredQuestion(text, (), rated.answer, "feedback", language(text))
    places: dict[int, Place] = {}
    numbers: dict[int, int] = {}
    for citation in rated.citations:
        place = find_place(citation, documents, sources)
        if isinstance(place, str):
            return place
        places.setdefault(place.passage.chunk, place)
        numbers[citation.n] = list(places).index(place.passage.chunk) + 1
    if not places:
        return UNCITED
    ordered = tuple(places.values())
    answer = renumbered(rated.answer, numbers)
    detected = language(text) or language(ordered[0].passage.text)
    return AnsweredQuestion(text, ordered, answer, "feedback", detected)


def labelled_answers(
    path: Path, sources: Sources, miner: Miner, left_out: Counter[str]
) -> list[AnsweredQuestion]:
    """Return the questions of a labelled set with their first reference, else their first answer.

    Raises NotFoundError, and UsageError naming FILE:LINE.
    """
    references = {where: values.get("references") or [] for where, values in read_objects(path)}
    items = []
    for label in read_labels(path):
        if not label.answerable and label.question.strip():
            items.append(_unanswerable(label))
            continue
        for question in resolve([label], sources, miner.best_passage, left_out):
            texts = [str(text) for text in references[label.where]] or list(label.answers)
            answer = cited(texts[0], question.places) if texts else ""
            items.append(_with_answer(question, answer))
    return items


def paired_questions(
    folder: Path, sources: Sources, left_out: Counter[str]
) -> list[AnsweredQuestion]:
    """Return the queries of rows of pairs, whose answers are still to be written."""
    documents = {document.uri: document for document in sources.documents}
    items = []
    for name in ("train.jsonl", "dev.jsonl"):
        for pair in read_pairs(folder / name):
            source = sources.read(documents[pair.document]) if pair.document in documents else None
            if source is None or source.text[pair.start : pair.end] != pair.positive:
                left_out[GONE if source is None else CHANGED] += 1
            elif (passage := source.holding(Span(pair.start, pair.end))) is None:
                left_out[SPLIT_UP] += 1
            else:
                place = Place(passage, Span(pair.start, pair.end))
                items.append(AnsweredQuestion(pair.query, (place,), "", pair.how, pair.language))
    return items


def _unanswerable(label: Label) -> AnsweredQuestion:
    detected = language(label.question) or label.tags.get("language", "")
    return AnsweredQuestion(label.question, (), "", "labelled", detected, label.group)


def _with_answer(question: Question, answer: str) -> AnsweredQuestion:
    return AnsweredQuestion(
        question.text,
        question.places,
        answer,
        question.how,
        question.language,
        question.group,
        question.answers,
        question.grades,
    )


def cited(text: str, places: Sequence[Place]) -> str:
    """Return an answer with a marker in each sentence: of the place that has most of its words.

    >>> from ragkit.types import Hit
    >>> hit = Hit(1, 1, "a", "A", None, 0, 12, "It is red.", 0.0)
    >>> cited("It is red. 白色。", [Place(hit, Span(0, 9))])
    'It is red [1]. 白色[1]。'
    """
    plain = MARKER.sub("", text).strip()
    terms = [set(analyse(place.passage.text)) for place in places]
    written, end = [], 0
    for span in sentences(plain):
        sentence = plain[span.start : span.end]
        terms_of_sentence = set(analyse(sentence))
        best = max(range(len(terms)), key=lambda n: (len(terms_of_sentence & terms[n]), -n))
        body = sentence.rstrip(_CLOSING)
        space = "" if language(sentence) == "zh" else " "
        written.append(plain[end : span.start] + body + f"{space}[{best + 1}]")
        end = span.start + len(body)
    return "".join(written) + plain[end:]


def renumbered(text: str, numbers: Mapping[int, int]) -> str:
    """Return an answer with other numbers in its markers; those without a new one are left out.

    >>> renumbered("Red [1][3], blue [2, 1].", {1: 4, 2: 5})
    'Red [4], blue [5][4].'
    """
    pieces, end = [], 0
    for marker in find_markers(text):
        numbers_here = dict.fromkeys(numbers[n] for n in marker.numbers if n in numbers)
        pieces += [text[end : marker.start], *(f"[{n}]" for n in numbers_here)]
        end = marker.end
    return "".join([*pieces, text[end:]])
